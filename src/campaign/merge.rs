//! Merges campaigns: the shards of one campaign, or campaigns of several seeds.
//!
//! The checkpoints are merged, and each shard stays by itself, so a case is never counted twice. A shard that is already
//! there, or a part of it, adds nothing. So the result is the same in any order and in any number of steps.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Ranges;
use super::checkpoint::{self, CheckpointError, Header, Saved};
use super::source::Shard;
use super::statistics::Statistics;

/// Merged campaigns. No case is in two of them.
#[derive(Clone, Debug)]
pub struct Merged {
    /// Sorted by source, shard and number of cases; at least one.
    campaigns: Vec<Saved>,
    /// The number of campaigns that added nothing, because all their cases are in others.
    pub surplus: usize,
}

/// Why campaigns cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error("{folder} holds no campaign: name folders that `crosscheck campaign` or `crosscheck merge` wrote")]
    Nothing { folder: PathBuf },
    #[error("{folder} is of crosscheck {theirs}, and this is {}: merge with that version", Header::PROGRAM)]
    Version { folder: PathBuf, theirs: String },
    #[error("{folder} and {other} do not go together: {differences}")]
    Different { folder: PathBuf, other: PathBuf, differences: String },
    #[error(
        "{folder} holds shard {shard} and {other} shard {theirs} of the same cases, {cases}: merge shards of one \
         division only"
    )]
    Divided { folder: PathBuf, shard: Shard, other: PathBuf, theirs: Shard, cases: String },
    #[error(
        "{folder} and {other} hold some cases of shard {shard} both, and others each alone: bring one of them to its end \
         with `crosscheck campaign --resume`, and leave out the other"
    )]
    Overlap { folder: PathBuf, other: PathBuf, shard: Shard },
    #[error("{folder} holds a campaign that is not among those to be merged: name it as well, or another --output")]
    Occupied { folder: PathBuf },
}

/// One source of cases, and the part of it that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The source as the header of a checkpoint describes it, such as its seed and operators.
    pub source: Value,
    /// How many cases were run.
    pub cases: u64,
    /// Shards of the source that are missing or were not run to their end.
    pub incomplete: Vec<Incomplete>,
}

/// A shard that is missing or was not run to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Incomplete {
    pub shard: Shard,
    /// How many of its cases were run before it was stopped; `None` if the shard is missing.
    pub cases: Option<u64>,
}

impl Origin {
    /// `parts` are the shards that are there. Each has the number of its cases, and whether it was run to its end. All are
    /// shards of one division.
    pub fn new(source: Value, parts: &[(Shard, u64, bool)]) -> Origin {
        let there: BTreeSet<Shard> = parts.iter().map(|(shard, ..)| *shard).collect();
        let of = parts.first().map_or(1, |(shard, ..)| shard.of());
        let missing = (1..=of).filter_map(|number| Shard::new(number, of)).filter(|shard| !there.contains(shard));
        let killed = parts.iter().filter(|(.., has_ended)| !has_ended).map(|(shard, cases, _)| (*shard, Some(*cases)));
        let mut incomplete: Vec<_> = missing.map(|shard| (shard, None)).chain(killed).collect();
        incomplete.sort_unstable();
        let incomplete = incomplete.into_iter().map(|(shard, cases)| Incomplete { shard, cases }).collect();
        Origin { source, cases: parts.iter().map(|(_, cases, _)| cases).sum(), incomplete }
    }
}

impl Origin {
    /// Whether all shards are there and were run to their end.
    pub fn is_whole(&self) -> bool {
        self.incomplete.is_empty()
    }
}

impl Merged {
    /// Merges the campaigns in these folders.
    ///
    /// # Errors
    /// If a folder cannot be read or holds no campaign, or if two campaigns cannot be merged. The message says why, and what
    /// to do.
    pub fn read(folders: &[PathBuf]) -> Result<Merged, MergeError> {
        let mut all: Vec<(&Path, Saved)> = Vec::new();
        for folder in folders {
            let there = checkpoint::read(folder)?;
            if there.is_empty() {
                return Err(MergeError::Nothing { folder: folder.clone() });
            }
            all.extend(there.into_iter().map(|saved| (folder.as_path(), saved)));
        }
        Merged::of(all)
    }

    fn of(mut all: Vec<(&Path, Saved)>) -> Result<Merged, MergeError> {
        let key = |saved: &Saved| (saved.header.source.to_string(), saved.header.shard);
        // The campaign with the most cases comes first, so a campaign that adds nothing comes after the one that has its
        // cases.
        let order = |saved: &Saved| (key(saved), Reverse(saved.statistics.cases), !saved.has_ended);
        let text = |saved: &Saved| serde_json::json!((&saved.cases, &saved.statistics)).to_string();
        all.sort_by(|(_, a), (_, b)| order(a).cmp(&order(b)).then_with(|| text(a).cmp(&text(b))));
        let mut merged: Vec<(&Path, Saved)> = Vec::new();
        let mut surplus = 0;
        for (folder, saved) in all {
            let theirs = &saved.header.program;
            if theirs != Header::PROGRAM {
                return Err(MergeError::Version { folder: folder.to_owned(), theirs: theirs.clone() });
            }
            if let Some((other, first)) = merged.first() {
                let differences = saved.header.with_cases_of(&first.header).differences(&first.header);
                if !differences.is_empty() {
                    let (folder, other) = (folder.to_owned(), (*other).to_owned());
                    return Err(MergeError::Different { folder, other, differences });
                }
            }
            if let Some((other, theirs)) = merged.last()
                && theirs.header.source == saved.header.source
                && theirs.header.shard.of() != saved.header.shard.of()
            {
                let (shard, theirs) = (saved.header.shard, theirs.header.shard);
                let (folder, other) = (folder.to_owned(), (*other).to_owned());
                return Err(MergeError::Divided {
                    folder,
                    shard,
                    other,
                    theirs,
                    cases: saved.header.source.to_string(),
                });
            }
            let same = merged.iter().rev().take_while(|(_, theirs)| key(theirs) == key(&saved));
            let overlaps = |(_, theirs): &&(&Path, Saved)| theirs.cases.intersection(&saved.cases).next().is_some();
            match same.clone().find(overlaps) {
                Some((_, theirs)) if contains_all(&theirs.cases, &saved.cases) => surplus += 1,
                Some((other, _)) => {
                    let (folder, other) = (folder.to_owned(), (*other).to_owned());
                    return Err(MergeError::Overlap { folder, other, shard: saved.header.shard });
                }
                None => merged.push((folder, saved)),
            }
        }
        Ok(Merged { campaigns: merged.into_iter().map(|(_, saved)| saved).collect(), surplus })
    }

    /// The header that all campaigns have in common. Its source and its shard are those of the first campaign.
    pub fn header(&self) -> &Header {
        &self.campaigns[0].header
    }

    /// The counts of all campaigns together. The elapsed time is the sum of theirs.
    pub fn total(&self) -> Statistics {
        let mut total = Statistics::new(&self.header().runtimes);
        let mut elapsed = Duration::ZERO;
        for saved in &self.campaigns {
            elapsed += saved.statistics.elapsed;
            total.add(saved.statistics.clone());
        }
        Statistics { elapsed, ..total }
    }

    /// The sources of the cases, each with the shards that it lacks.
    pub fn origins(&self) -> Vec<Origin> {
        let mut sources: BTreeMap<String, Vec<&Saved>> = BTreeMap::new();
        for saved in &self.campaigns {
            sources.entry(saved.header.source.to_string()).or_default().push(saved);
        }
        let part = |saved: &Saved| (saved.header.shard, saved.statistics.cases, saved.has_ended);
        let origin = |campaigns: Vec<&Saved>| {
            let parts: Vec<_> = campaigns.iter().map(|saved| part(saved)).collect();
            Origin::new(campaigns[0].header.source.clone(), &parts)
        };
        sources.into_values().map(origin).collect()
    }

    /// Writes the campaigns into a folder, which can then be merged with others.
    ///
    /// # Errors
    /// If the folder cannot be written to, or if a campaign in it would be lost.
    pub fn write(&self, folder: &Path) -> Result<(), MergeError> {
        let _lock = checkpoint::lock(folder)?;
        if !checkpoint::read(folder)?.iter().all(|saved| self.covers(saved)) {
            return Err(MergeError::Occupied { folder: folder.to_owned() });
        }
        Ok(checkpoint::write(folder, &self.campaigns)?)
    }

    /// Whether these campaigns include the given one, or one that was resumed from it.
    fn covers(&self, saved: &Saved) -> bool {
        let goes_on = |mine: &Saved| mine.header == saved.header && contains_all(&mine.cases, &saved.cases);
        self.campaigns.iter().any(goes_on)
    }
}

/// Whether all cases of `some` are in `all`.
fn contains_all(all: &Ranges, some: &Ranges) -> bool {
    some.iter().all(|range| all.gaps(range).next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::Limits;
    use crate::runtime;

    /// A shard of a seed, with some of its cases.
    fn shard(seed: u64, shard: &str, cases: &[(u64, u64)]) -> Saved {
        let ids = vec![runtime::select(Some("in-house")).unwrap().remove(0).id];
        let cases: Ranges = cases.iter().map(|&(first, end)| first..end).collect();
        let mut statistics = Statistics::new(&ids);
        statistics.cases = cases.iter().map(|range| range.end - range.start).sum();
        statistics.elapsed = Duration::from_secs(statistics.cases);
        let source = (serde_json::json!({ "seed": seed }), shard.parse().unwrap());
        let header = Header::new(source, ids, String::new(), vec![], false);
        Saved { header, limits: Limits::default(), cases, statistics, has_ended: true }
    }

    fn merge(all: &[Saved]) -> Result<Merged, String> {
        Merged::of(all.iter().map(|saved| (Path::new("a folder"), saved.clone())).collect()).map_err(|e| e.to_string())
    }

    #[test]
    fn nothing_counts_twice_in_whichever_order() {
        let mut all = [
            shard(7, "1/3", &[(0, 100)]),
            shard(7, "1/3", &[(0, 100)]),
            shard(7, "1/3", &[(20, 40)]),
            shard(7, "3/3", &[(0, 50)]),
            shard(7, "3/3", &[(60, 90)]),
            shard(8, "1/1", &[(0, 1000)]),
        ];
        for turn in 0..all.len() {
            all.rotate_left(turn);
            let merged = merge(&all).unwrap();
            let total = merged.total();
            assert_eq!((total.cases, total.elapsed, merged.surplus), (1180, Duration::from_secs(1180), 2));
            let origins = merged.origins();
            let missing = Incomplete { shard: "2/3".parse().unwrap(), cases: None };
            assert_eq!(origins.iter().map(|origin| origin.cases).collect::<Vec<_>>(), [180, 1000]);
            assert_eq!(origins[0].incomplete[0], missing);
            assert_eq!(origins[1].incomplete.len(), 0);
            // The result can be merged again.
            let again = merge(&[&merged.campaigns[..], &all[..3]].concat()).unwrap();
            assert_eq!(format!("{:?}", again.campaigns), format!("{:?}", merged.campaigns));
        }
    }

    #[test]
    fn a_folder_takes_several_campaigns_unless_it_is_in_use() {
        let merged = Merged::of(vec![
            (Path::new("one"), shard(7, "1/2", &[(0, 100)])),
            (Path::new("other"), shard(8, "1/1", &[(0, 5), (7, 9)])),
        ]);
        let (merged, folder) = (merged.unwrap(), tempfile::tempdir().unwrap());
        let lock = checkpoint::lock(folder.path()).unwrap();
        let error = merged.write(folder.path()).unwrap_err().to_string();
        assert!(error.contains("is in use by another campaign"), "{error}");
        drop(lock);
        merged.write(folder.path()).unwrap();
        let again = Merged::read(&[folder.path().to_owned()]).unwrap();
        assert_eq!(format!("{:?}", again.campaigns), format!("{:?}", merged.campaigns));
    }

    #[test]
    fn what_does_not_go_together_is_said() {
        let whole = shard(7, "1/2", &[(0, 100)]);
        let other = |change: &dyn Fn(&mut Header)| {
            let mut other = shard(7, "2/2", &[(0, 100)]);
            change(&mut other.header);
            other
        };
        for (other, said) in [
            (shard(7, "1/2", &[(50, 150)]), "hold some cases of shard 1/2 both"),
            (shard(7, "1/3", &[(0, 10)]), "shard 1/2 of the same cases, {\"seed\":7}: merge shards of one division"),
            (
                other(&|header| header.runtimes[0].version = "9".to_owned()),
                "its runtimes are in-house 9 and not in-house",
            ),
            (other(&|header| header.ledger = "another".to_owned()), "its known issues are"),
            (other(&|header| header.ignore_known = true), "--ignore-known is true and not false"),
            (other(&|header| header.program = "9.9".to_owned()), "is of crosscheck 9.9, and this is"),
        ] {
            for pair in [[&whole, &other], [&other, &whole]] {
                let error = merge(&pair.map(Clone::clone)).unwrap_err();
                let is_mirrored = said.contains(" and not ");
                assert!(error.contains(said) || is_mirrored && error.contains(" and not "), "{error}");
            }
        }
    }
}
