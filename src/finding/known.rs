//! The ledger of known issues: for each runtime kind one file of entries, each a defect with its signature.
//!
//! It is strict both ways. A campaign fails on a signature that is not in it, and the replay fails on an entry that no
//! longer shows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use serde::{Deserialize, Serialize};
use toml_edit::{DocumentMut, Item, Table, TomlError};

use super::{Probe, Signature, minimize};
use crate::campaign::Trigger;
use crate::case::{Case, Features, complications};
use crate::files::{read_text, sha256, write_whole};
use crate::runtime::{KINDS, RuntimeId, by_number};
use crate::tensor::ElementType;
use crate::verdict::Mismatch;

/// Every known issue.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub entries: Vec<Known>,
}

/// One known issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Also the name of its regression case.
    pub id: String,
    pub title: String,
    /// What is wrong, in one sentence.
    pub wrong: String,
    /// The root cause, in one paragraph.
    pub cause: String,
    /// Where it is reported upstream, or `not reported`.
    pub link: String,
    /// What is to become of it; open, if the entry does not say.
    #[serde(default)]
    pub state: State,
    pub signature: Signature,
    /// The first and the last version known to have it.
    pub first_version: String,
    pub last_version: String,
    /// The minimized case.
    pub case: String,
}

/// What is to become of a known issue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum State {
    /// It is a defect, and is there.
    #[default]
    Open,
    /// The maintainers of the runtime mean it to be so. It is counted apart, and what else is wrong beside it is a defect.
    ByDesign,
    /// It is no more in this version, or in one that is older.
    FixedIn(String),
    /// It is a defect, and its maintainers leave it.
    WillNotBeFixed,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Open => f.write_str("open"),
            State::ByDesign => f.write_str("by design"),
            State::FixedIn(version) => write!(f, "{FIXED_IN}{version}"),
            State::WillNotBeFixed => f.write_str("will not be fixed"),
        }
    }
}

const FIXED_IN: &str = "fixed in ";

impl TryFrom<String> for State {
    type Error = String;

    fn try_from(text: String) -> Result<State, String> {
        if let Some(version) = text.strip_prefix(FIXED_IN) {
            return Ok(State::FixedIn(version.to_owned()));
        }
        let states = [State::Open, State::ByDesign, State::WillNotBeFixed];
        let is_it = |state: &State| state.to_string() == text;
        states.into_iter().find(is_it).ok_or_else(|| {
            format!("the state is `{text}`; it is `open`, `by design`, `{FIXED_IN}VERSION` or `will not be fixed`")
        })
    }
}

impl From<State> for String {
    fn from(state: State) -> String {
        state.to_string()
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    issue: Vec<Known>,
}

/// Why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("{path}: {reason}")]
    Damaged { path: String, reason: String },
    #[error("{path} cannot be written: {error}")]
    Write { path: PathBuf, error: std::io::Error },
}

/// The folder of the ledger in a checkout.
const FOLDER: &str = "known";

impl Ledger {
    /// The ledger of the checkout that this is run in, or else the one that the program was built with; and the entries
    /// that stand there for runtimes of the user's own.
    ///
    /// # Errors
    /// If a file is damaged; the message names file and line.
    pub fn load() -> Result<Ledger, LedgerError> {
        let built_in = KINDS.iter().map(|kind| (Path::new(FOLDER).join(format!("{}.toml", kind.name)), kind.known));
        let mut files: BTreeMap<PathBuf, &str> = built_in.collect();
        for entry in fs::read_dir(FOLDER).into_iter().flatten().flatten() {
            if entry.path().extension().is_some_and(|ending| ending == "toml") {
                files.entry(entry.path()).or_default();
            }
        }
        let mut ledger = Ledger::default();
        for (path, built_in) in files {
            let name = path.display().to_string();
            let text = match read_text(&path) {
                Ok(text) => Cow::Owned(text),
                Err(error) if error.kind() == ErrorKind::NotFound => Cow::Borrowed(built_in),
                Err(error) => return Err(LedgerError::Damaged { path: name, reason: error.to_string() }),
            };
            let File { issue } = read(&name, &text)?;
            ledger.entries.extend(issue);
        }
        Ok(ledger)
    }

    pub fn find(&self, signature: &Signature) -> Option<&Known> {
        self.entries.iter().find(|known| known.signature == *signature)
    }

    /// A checksum of all entries: that of another ledger is another.
    pub fn checksum(&self) -> String {
        sha256(serde_json::json!(&self.entries).to_string().as_bytes())
    }

    /// The entries that concern runtimes: those that may show on one of them.
    pub fn concerning<'a>(&'a self, ids: &'a [RuntimeId]) -> impl Iterator<Item = &'a Known> {
        self.entries.iter().filter(|known| ids.iter().any(|id| known.may_show_on(id)))
    }

    /// The entry that explains what a runtime did wrong in a case, by what is written in it: an entry says the same of the
    /// mismatch, and the case has all the features of the entry's.
    ///
    /// No runtime is asked, but for an entry with data of another type than the case has: `shows` then says whether the
    /// entry's case shows the mismatch with data of that type too.
    pub fn explaining(
        &self,
        case: &Case,
        mismatch: &Mismatch,
        id: &RuntimeId,
        shows: &mut dyn FnMut(&Case) -> bool,
    ) -> Option<&Known> {
        let alike = |known: &&Known| known.may_show_on(id) && known.signature.is_of(mismatch);
        let alike: Vec<&Known> = self.entries.iter().filter(alike).collect();
        let features = Features::of(case);
        let element_type = |case: &Case| case.call()?.element_type;
        let with_that_type =
            |known: &Known| variations(&known.case()).into_iter().find(|own| element_type(own) == element_type(case));
        let is_it = |known: &&&Known| known.features(&known.case()).are_within(&features);
        let mut may_be = |known: &&&Known| {
            with_that_type(known).is_some_and(|own| known.features(&own).are_within(&features) && shows(&own))
        };
        alike.iter().find(is_it).or_else(|| alike.iter().find(&mut may_be)).copied()
    }

    /// What each entry looks like on the runtimes of the probe, by its place; nothing if it does not show on them. An entry that
    /// ends a process, or takes all of its time, is not tried: what is written in it counts.
    ///
    /// A minimized case names one type where several may do. Those that are seen to do are triggers too.
    pub fn triggers(&self, probe: &mut Probe) -> Vec<Vec<Trigger>> {
        let of = |known: &Known| {
            if known.mismatch().is_costly() {
                return known.written_triggers(probe);
            }
            let mut triggers = known.triggers(probe);
            for trigger in triggers.clone() {
                let variations = variations(&known.case());
                let sightings = probe.look_all(&variations, &trigger.mismatch.runtime);
                for (case, sighting) in variations.iter().zip(sightings) {
                    if sighting.shows(&trigger.mismatch) {
                        let features = minimize::features(case, &trigger.mismatch, probe);
                        let own = Trigger { features, ..trigger.clone() };
                        if !triggers.contains(&own) {
                            triggers.push(own);
                        }
                    }
                }
            }
            triggers
        };
        self.entries.iter().map(of).collect()
    }

    /// The triggers of all entries in one list, and the entry of each.
    pub fn owned_triggers(&self, probe: &mut Probe) -> (Vec<&Known>, Vec<Trigger>) {
        let triggers = self.entries.iter().zip(self.triggers(probe));
        triggers.flat_map(|(known, own)| own.into_iter().map(move |trigger| (known, trigger))).unzip()
    }

    /// Writes the versions of an entry to the ledger of the checkout that this is run in.
    ///
    /// # Errors
    /// If there is none, or it cannot be written.
    pub fn write_versions(known: &Known) -> Result<PathBuf, LedgerError> {
        let path = Path::new(FOLDER).join(format!("{}.toml", known.runtime_name()));
        let failed = |error| LedgerError::Write { path: path.clone(), error };
        let text = read_text(&path).map_err(failed)?;
        let text = with_versions(&text, &known.id, &known.first_version, &known.last_version)
            .map_err(|error| LedgerError::Damaged { path: path.display().to_string(), reason: error.to_string() })?;
        write_whole(&path, text.as_bytes()).map_err(failed)?;
        Ok(path)
    }

    /// Adds an entry to the file of a runtime kind, in the checkout that this is run in.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(kind: &str, known: Known) -> Result<PathBuf, LedgerError> {
        append(kind, &File { issue: vec![known] })
    }
}

fn append(kind: &str, entries: &File) -> Result<PathBuf, LedgerError> {
    let path = Path::new(FOLDER).join(format!("{kind}.toml"));
    let failed = |error| LedgerError::Write { path: path.clone(), error };
    let text = match read_text(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        text => text.map_err(failed)?,
    };
    let entry = toml::to_string(entries)
        .map_err(|error| LedgerError::Damaged { path: path.display().to_string(), reason: error.to_string() })?;
    let gap = if text.is_empty() || text.ends_with("\n\n") { "" } else { "\n" };
    write_whole(&path, format!("{text}{gap}{entry}").as_bytes()).map_err(failed)?;
    Ok(path)
}

/// The text of a ledger with other versions in one entry, and everything else as it was.
fn with_versions(text: &str, id: &str, first: &str, last: &str) -> Result<String, TomlError> {
    let mut document: DocumentMut = text.parse()?;
    let entries = document.get_mut("issue").and_then(Item::as_array_of_tables_mut);
    let is_it = |entry: &&mut Table| entry.get("id").and_then(Item::as_str) == Some(id);
    if let Some(entry) = entries.and_then(|entries| entries.iter_mut().find(is_it)) {
        entry["first_version"] = first.into();
        entry["last_version"] = last.into();
    }
    Ok(document.to_string())
}

/// A minimized case with data of another type, where it is not the plain one.
fn variations(case: &Case) -> Vec<Case> {
    let Some(single) = case.single() else { return vec![] };
    let Some(data) = single.data().filter(|data| data.element_type != ElementType::Float) else { return vec![] };
    let types = ElementType::ALL.into_iter().filter(|&element_type| element_type != data.element_type);
    let cases = types.map(|element_type| {
        let mut other = single.clone();
        other.retype_data(element_type);
        other.into()
    });
    cases.collect()
}

fn read(path: &str, text: &str) -> Result<File, LedgerError> {
    let damaged = |reason: String| LedgerError::Damaged { path: path.to_owned(), reason };
    let file: File = toml::from_str(text).map_err(|error| match unreadable(text) {
        Some(id) => damaged(format!("the entry {id}: {error}")),
        None => damaged(error.to_string()),
    })?;
    let issues = file.issue.iter().map(|known| (&known.id, &known.case));
    for (id, case) in issues {
        case.parse::<Case>().map_err(|error| damaged(format!("the case of {id}: {error}")))?;
    }
    Ok(file)
}

/// The id of the first entry that cannot be read, where it has one.
fn unreadable(text: &str) -> Option<String> {
    let table: toml::Table = toml::from_str(text).ok()?;
    let damaged = table.get("issue")?.as_array()?.iter().find(|entry| Known::deserialize((*entry).clone()).is_err())?;
    Some(damaged.get("id")?.as_str()?.to_owned())
}

/// The version under test of a runtime; empty if it is not built in.
fn usual_version(runtime: &str) -> &'static str {
    KINDS.iter().find(|kind| kind.name == runtime).map_or("", |kind| kind.version)
}

/// Whether an issue of a runtime is about this one, and was not fixed before its version. What no version is known to have fixed
/// may show on any.
pub(super) fn may_show_on(runtime: &str, last_version: &str, id: &RuntimeId) -> bool {
    let last = by_number(last_version);
    runtime == id.name && (last >= by_number(usual_version(runtime)) || by_number(&id.version) <= last)
}

impl Known {
    /// An entry for a finding, with what only a person can say left to be filled in.
    pub fn of(id: String, trigger: &Trigger, case: &Case, version: &str) -> Known {
        Known {
            id,
            title: trigger.mismatch.to_string(),
            wrong: "to be written: what is wrong, in one sentence".to_owned(),
            cause: "to be written: the root cause".to_owned(),
            link: "not reported".to_owned(),
            state: State::Open,
            signature: Signature::of(trigger),
            first_version: version.to_owned(),
            last_version: version.to_owned(),
            case: case.to_string(),
        }
    }

    /// The minimized case.
    ///
    /// # Panics
    /// If it cannot be read, which a ledger that was loaded rules out.
    pub fn case(&self) -> Case {
        self.case.parse().unwrap_or_else(|error| panic!("the case of {}: {error}", self.id))
    }

    /// What the entry looks like on the releases of the probe that may have it, where it shows with its own signature.
    pub fn triggers(&self, probe: &mut Probe) -> Vec<Trigger> {
        let (case, releases) = (self.case(), self.releases(probe));
        let trigger = |release: &String| {
            let sighting = probe.look(&case, release)?;
            let shown = sighting.configurations.iter().flat_map(|(_, mismatches, _)| mismatches.clone());
            shown.into_iter().find_map(|mismatch| {
                let features = minimize::features(&case, &mismatch, probe);
                let trigger = Trigger { by_design: !self.is_defect(), ..Trigger::new(mismatch, features) };
                (Signature::of(&trigger) == self.signature).then_some(trigger)
            })
        };
        releases.iter().filter_map(trigger).collect()
    }

    /// The same as it is written in the entry, without a look at the runtimes.
    fn written_triggers(&self, probe: &Probe) -> Vec<Trigger> {
        let features = self.features(&self.case());
        let trigger = |runtime: String| Trigger {
            by_design: !self.is_defect(),
            ..Trigger::new(Mismatch { runtime, ..self.mismatch() }, features.clone())
        };
        self.releases(probe).into_iter().map(trigger).collect()
    }

    /// The releases of the probe that may have it.
    fn releases(&self, probe: &Probe) -> Vec<String> {
        let mut releases: Vec<String> =
            probe.ids().iter().filter(|id| self.may_show_on(id)).map(RuntimeId::release).collect();
        releases.dedup();
        releases
    }

    /// The features of a case as those of the entry: with its version, with what must not be there, and with any operator in the
    /// place of a node, if these are in the signature.
    fn features(&self, case: &Case) -> Features {
        let words = &self.signature.features;
        let features = Features::of(case);
        let added = complications(case, false).iter().map(Features::of).collect::<Vec<_>>();
        let added = added.iter().flat_map(|other| features.added_in(other));
        let without = added.filter(|tag| words.contains(&format!("!{tag}"))).collect();
        let features = features.clone().without(without);
        let is_old = words.iter().any(|word| word.starts_with("version<="));
        let features = if is_old { features.up_to_this_version() } else { features };
        let with_any = (0..1_u32 << case.nodes.len()).map(|places| {
            let places: Vec<usize> = (0..case.nodes.len()).filter(|place| places >> place & 1 == 1).collect();
            features.clone().with_any_operator(&places)
        });
        let written = words.join(" ");
        with_any.into_iter().find(|features| features.to_string() == written).unwrap_or(features)
    }

    /// What the signature says of the mismatch, where no runtime is at hand to show it.
    pub fn mismatch(&self) -> Mismatch {
        Mismatch {
            discrepancies: self.signature.discrepancies.clone(),
            operator: self.case().subject(),
            runtime: format!("{}@{}", self.runtime_name(), self.last_version),
            rule: self.signature.rule,
            reaction: self.signature.reaction.clone(),
        }
    }

    /// The name of the runtime that the entry is about.
    pub fn runtime_name(&self) -> &str {
        &self.signature.runtime
    }

    /// Whether it is a defect, and not by design.
    pub fn is_defect(&self) -> bool {
        self.state != State::ByDesign
    }

    /// The version under test of that runtime; empty if it is not built in.
    pub(super) fn usual_version(&self) -> &'static str {
        usual_version(self.runtime_name())
    }

    /// Whether the entry is about this runtime, and was not fixed before its version. What no version is known to have
    /// fixed may show on any.
    pub fn may_show_on(&self, id: &RuntimeId) -> bool {
        may_show_on(self.runtime_name(), &self.last_version, id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_another_type_has_elements_of_that_type() {
        let case: Case = "Shape@28 int8[2]{-2,1}".parse().unwrap();
        let varied = variations(&case);
        assert_eq!(varied.len(), 25);
        for case in varied {
            assert_eq!(case.to_string().parse().as_ref(), Ok(&case), "{case}");
        }
    }

    #[test]
    fn only_the_versions_of_one_entry_are_written() {
        let text = include_str!("../../known/tract.toml");
        let known = read("", text).unwrap().issue.remove(3);
        let changed = with_versions(text, &known.id, "0.1", "0.2").unwrap();
        let expected = Known { first_version: "0.1".to_owned(), last_version: "0.2".to_owned(), ..known.clone() };
        assert_eq!(read("", &changed).unwrap().issue[3], expected);
        let others: Vec<(&str, &str)> = text.lines().zip(changed.lines()).filter(|(old, new)| old != new).collect();
        assert_eq!(others.len(), 2, "{others:?}");
        assert_eq!(text.lines().count(), changed.lines().count());
        assert!(with_versions(text, "no such entry", "0.1", "0.2").unwrap() == text);
    }

    #[test]
    fn an_entry_explains_what_has_all_that_is_written_in_it() {
        let built_in = KINDS.iter().flat_map(|kind| read(kind.name, kind.known).unwrap().issue);
        let ledger = Ledger { entries: built_in.collect() };
        let of = |id: &str| ledger.entries.iter().find(|known| known.id == id).unwrap();
        let on = |name: &str, version: &str| RuntimeId {
            name: name.to_owned(),
            version: version.to_owned(),
            configuration: String::new(),
        };
        let explaining = |case: &str, mismatch: &Mismatch, version: &str, shows: bool| {
            let id = on(mismatch.runtime_name(), version);
            let mut asked = 0;
            let mut shows = |_: &Case| {
                asked += 1;
                shows
            };
            let known = ledger.explaining(&case.parse().unwrap(), mismatch, &id, &mut shows);
            (known.map(|known| known.id.as_str()), asked)
        };
        // What is written in an entry are the features of its case.
        for known in ledger.entries.iter().filter(|known| known.runtime_name() == "tract") {
            let own = known.features(&known.case()).to_string();
            assert!(own == known.signature.features.join(" "), "{own}: {}", known.signature);
        }
        let typed = of("tract-size-refuses-valid-370fae");
        let mismatch = typed.mismatch();
        let (id, version) = (Some(typed.id.as_str()), typed.last_version.as_str());
        assert_eq!(explaining("Size@14 uint32[2,3]:constant(typed)", &mismatch, version, false), (id, 0));
        assert_eq!(explaining("Size@14 uint64[2,3]:constant(typed)", &mismatch, version, true), (id, 1));
        assert_eq!(explaining("Size@14 uint64[2,3]:constant(typed)", &mismatch, version, false), (None, 1));
        assert_eq!(explaining("Size@14 uint32[2,3]:constant", &mismatch, version, true), (None, 0));
        let other = Mismatch { reaction: "objects to values".to_owned(), ..mismatch };
        assert_eq!(explaining("Size@14 uint32[2,3]:constant(typed)", &other, version, true), (None, 0));
    }

    #[test]
    fn the_state_of_an_issue_is_one_of_four_and_fits_its_versions() {
        for state in ["open", "by design", "fixed in 1.2", "will not be fixed"] {
            assert_eq!(State::try_from(state.to_owned()).map(|state| state.to_string()), Ok(state.to_owned()));
        }
        assert!(State::try_from("closed".to_owned()).unwrap_err().contains("`will not be fixed`"));
        for known in KINDS.iter().flat_map(|kind| read(kind.name, kind.known).unwrap().issue) {
            let is_old = by_number(&known.last_version) < by_number(known.usual_version());
            let is_fixed =
                matches!(&known.state, State::FixedIn(fixed) if by_number(fixed) > by_number(&known.last_version));
            assert_eq!(is_fixed, is_old, "{}", known.id);
        }
    }

    #[test]
    fn what_was_fixed_may_show_on_older_releases_only() {
        let mut known = read("", include_str!("../../known/onnxruntime.toml")).unwrap().issue.remove(0);
        let at = |version: &str| RuntimeId {
            name: "onnxruntime".to_owned(),
            version: version.to_owned(),
            configuration: String::new(),
        };
        assert!(known.may_show_on(&at("1.20.1")) && known.may_show_on(&at("99.0.0")));
        known.last_version = "1.24.0".to_owned();
        assert!(known.may_show_on(&at("1.20.1")) && !known.may_show_on(&at("1.24.1")));
    }
}
