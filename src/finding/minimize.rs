//! The minimizer: from a case that shows a mismatch to one from which no single step can be taken.
//!
//! It works on the structure of a case, never on bytes. Its predicate is "the same mismatch", so that it does not slide
//! into another bug, and it is deterministic.

use std::collections::{BTreeSet, HashSet};

use crate::campaign::{Examination, examine_all};
use crate::case::{Case, Features, Generated, shrink};
use crate::operator::NEWEST_OPSET;
use crate::runtime::{Runtime, RuntimeId};
use crate::verdict::{Judgement, Mismatch, Severity};

/// How many candidates are run at a time, at most: most that are tried late do not show what is looked for.
const AT_A_TIME: usize = 32;

/// Runs cases on runtimes and says which mismatches they show.
#[expect(missing_debug_implementations, reason = "a runtime is anything that executes")]
pub struct Probe {
    /// By release, since a mismatch is one of a release.
    releases: Vec<Release>,
    executions: u64,
}

/// One runtime at one version, in each of its configurations.
type Release = (Vec<RuntimeId>, Vec<Box<dyn Runtime>>);

/// What a case shows on one release.
#[derive(Debug)]
pub struct Sighting {
    /// By configuration: the mismatches, and whether the case is unsupported.
    pub configurations: Vec<(RuntimeId, Vec<Mismatch>, bool)>,
    pub(super) examination: Examination,
}

impl Probe {
    pub fn new(runtimes: Vec<Box<dyn Runtime>>) -> Probe {
        let mut releases: Vec<Release> = Vec::new();
        for runtime in runtimes {
            let id = runtime.id().clone();
            match releases.iter_mut().find(|(ids, _)| id.is_release_of(&ids[0])) {
                Some((ids, runtimes)) => {
                    ids.push(id);
                    runtimes.push(runtime);
                }
                None => releases.push((vec![id], vec![runtime])),
            }
        }
        Probe { releases, executions: 0 }
    }

    /// The runtimes, by release.
    pub fn ids(&self) -> Vec<RuntimeId> {
        self.releases.iter().flat_map(|(ids, _)| ids.clone()).collect()
    }

    /// Cases run so far.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// What a case shows on a release, see [`RuntimeId::release`]; nothing if it is not there.
    pub fn look(&mut self, case: &Case, release: &str) -> Option<Sighting> {
        self.look_all(std::slice::from_ref(case), release).pop()
    }

    /// What each of several cases shows on a release; nothing if it is not there.
    pub(super) fn look_all(&mut self, cases: &[Case], release: &str) -> Vec<Sighting> {
        let Some((ids, runtimes)) = self.releases.iter_mut().find(|(ids, _)| ids[0].release() == release) else {
            return vec![];
        };
        self.executions += cases.len() as u64;
        let generated: Vec<Generated> = cases.iter().cloned().map(Generated::given).collect();
        let sighting = |(generated, examination): (&Generated, Examination)| {
            let configurations = ids.iter().enumerate().map(|(index, id)| {
                let unsupported = matches!(examination.judgements[index], Judgement::Unsupported(_));
                (id.clone(), examination.mismatches(generated, ids, index), unsupported)
            });
            Sighting { configurations: configurations.collect(), examination }
        };
        generated.iter().zip(examine_all(&generated, runtimes, ids)).map(sighting).collect()
    }

    /// Every mismatch that a case shows, each once, with the features of the case.
    pub fn mismatches(&mut self, case: &Case) -> Vec<(Mismatch, Features)> {
        let releases: BTreeSet<String> = self.ids().iter().map(RuntimeId::release).collect();
        let sightings = releases.iter().filter_map(|release| self.look(case, release)).collect::<Vec<_>>();
        let shown = sightings.into_iter().flat_map(|sighting| sighting.configurations);
        let shown: BTreeSet<Mismatch> = shown.flat_map(|(_, mismatches, _)| mismatches).collect();
        shown.into_iter().map(|mismatch| (mismatch, Features::of(case))).collect()
    }

    /// Whether a case shows a mismatch in any configuration.
    pub fn shows(&mut self, case: &Case, mismatch: &Mismatch) -> bool {
        self.look(case, &mismatch.runtime).is_some_and(|sighting| sighting.shows(mismatch))
    }

    /// The place of the first of several cases that shows a mismatch in any configuration.
    fn first_that_shows(&mut self, cases: &[Case], mismatch: &Mismatch) -> Option<usize> {
        // What crashes or hangs takes a process, or as long as a job may take: no more of it is run than has to be.
        let is_costly = mismatch.discrepancies.iter().any(|found| found.severity() == Severity::Crash);
        let mut count = 1;
        let mut first = 0;
        while first < cases.len() {
            let some = &cases[first..cases.len().min(first + count)];
            let sightings = self.look_all(some, &mismatch.runtime);
            if let Some(place) = sightings.iter().position(|sighting| sighting.shows(mismatch)) {
                // What was run beyond it does not count, so that the count does not depend on how many are run at a time.
                self.executions -= (some.len() - 1 - place) as u64;
                return Some(first + place);
            }
            first += some.len();
            count = if is_costly { 1 } else { (count * 2).min(AT_A_TIME) };
        }
        None
    }
}

impl Sighting {
    pub fn shows(&self, mismatch: &Mismatch) -> bool {
        self.configurations.iter().any(|(_, shown, _)| shown.contains(mismatch))
    }

    /// The runtime's words in the first configuration that shows a mismatch.
    fn message(&self, mismatch: &Mismatch) -> String {
        let index = self.configurations.iter().position(|(_, shown, _)| shown.contains(mismatch));
        index.map_or_else(String::new, |index| self.examination.executions[index].message.clone())
    }
}

/// What the minimizer came to.
#[derive(Clone, Debug)]
pub struct Minimized {
    pub case: Case,
    /// What could not be taken away.
    pub features: Features,
    /// How often a case was run.
    pub executions: u64,
    /// The runtime's words in the minimized case.
    pub message: String,
}

/// Minimizes a case that shows a mismatch. A case that does not show it comes back as it is.
pub fn minimize(case: &Case, mismatch: &Mismatch, probe: &mut Probe) -> Minimized {
    let before = probe.executions();
    let mut current = case.clone();
    if probe.shows(&current, mismatch) {
        // Where the simplest cases show it, nothing about this one matters.
        let trivial = trivial(case);
        if let Some(place) = probe.first_that_shows(&trivial, mismatch) {
            current.clone_from(&trivial[place]);
        }
        current = reduce(current, &mut |candidates| probe.first_that_shows(candidates, mismatch));
    }
    let features = features(&current, mismatch, probe);
    let message = probe.look(&current, &mismatch.runtime).map_or_else(String::new, |s| s.message(mismatch));
    Minimized { case: current, features, executions: probe.executions() - before, message }
}

/// Takes steps that keep what a case shows, until there is none that does. `first` gives the place of the first candidate
/// that shows it too.
pub(super) fn reduce(mut case: Case, first: &mut dyn FnMut(&[Case]) -> Option<usize>) -> Case {
    let mut tried = HashSet::new();
    loop {
        let mut candidates = shrink::candidates(&case);
        let mut known = HashSet::new();
        candidates.retain(|candidate| {
            let text = candidate.to_string();
            !tried.contains(&text) && known.insert(text)
        });
        let place = first(&candidates);
        let done = place.map_or(candidates.len(), |place| place + 1);
        tried.extend(candidates[..done].iter().map(Case::to_string));
        match place {
            Some(place) => case = candidates.swap_remove(place),
            None => return case,
        }
    }
}

/// 1, to one who sees its low 32 bits only.
const BEYOND_32_BITS: i64 = (1 << 32) + 1;

/// The simplest valid cases of an operator, newest opset first, so that the trivial case is one that a runtime has; and
/// with a number whose low 32 bits are valid, if the case has one beyond them.
fn trivial(case: &Case) -> Vec<Case> {
    let lines = |opset: u8| match case.operator.version_at(opset).map(|version| version.inputs.len()) {
        Some(2) => ["", ":initializer"]
            .map(|wiring| format!("{}@{opset} float[1] int64[1]{{1}}{wiring}", case.operator))
            .to_vec(),
        _ => vec![format!("{}@{opset} float[1]", case.operator)],
    };
    let opsets = (case.opset..=NEWEST_OPSET).rev();
    let mut cases: Vec<Case> = opsets.flat_map(lines).filter_map(|line| line.parse().ok()).collect();
    if !case.truncated().is_empty() {
        let beyond: Vec<Case> = cases.iter().map(|case| shrink::with_target(case, vec![BEYOND_32_BITS])).collect();
        cases.extend(beyond);
    }
    cases
}

/// The features of a minimized case. Its version is one of them if the case is executed at a newer opset without showing
/// the mismatch there.
pub(super) fn features(case: &Case, mismatch: &Mismatch, probe: &mut Probe) -> Features {
    let features = Features::of(case);
    let newer: Vec<Case> = (case.opset + 1..=NEWEST_OPSET).map(|opset| Case { opset, ..case.clone() }).collect();
    let is_without = |sighting: &Sighting| {
        !sighting.shows(mismatch) && !sighting.configurations.iter().all(|(_, _, unsupported)| *unsupported)
    };
    let gone = probe.look_all(&newer, &mismatch.runtime).iter().any(is_without);
    if gone { features.up_to_this_version() } else { features }
}
