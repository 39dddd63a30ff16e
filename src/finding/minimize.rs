//! The minimizer: it reduces a case that shows a mismatch until no single step can make it simpler.
//!
//! It works on the structure of a case, never on bytes. Each step must show the same mismatch, so that the result is not another
//! bug. It is deterministic, unless the mismatch is that a case takes all of its time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::campaign::{Examination, Failures, Fault, Scheduler, Trigger, examine_together};
use crate::case::{Case, Features, Generated, complications, parts, shrink, with_other_operators};
use crate::operator::{GRAPH, NEWEST_OPSET};
use crate::runtime::{Gap, Runtime, RuntimeId, Stop};
use crate::verdict::{Judgement, Mismatch};

/// The most candidates that are run at a time. Late candidates are run together, since most of them do not show the mismatch.
const AT_A_TIME: usize = 32;

/// The time after which a case that ends a process, or takes all of its time, is simple enough: a number in it that decides how long
/// it takes could come nearer to the time limit bit by bit.
const ENOUGH: Duration = Duration::from_secs(12);

/// Runs cases on runtimes and says which mismatches they show.
#[expect(missing_debug_implementations, reason = "a runtime is anything that executes")]
pub struct Probe {
    /// The runtimes by release, since a mismatch belongs to a release.
    releases: Vec<Release>,
    executions: u64,
    /// When the probe gives up. Its results after that mean nothing.
    stop: Stop,
    /// Whether it is believed without confirmation that a case ends a process. Each confirmation takes long.
    believes: bool,
}

/// One runtime at one version, in each of its configurations.
type Release = (Vec<RuntimeId>, Vec<Box<dyn Runtime>>);

/// The results of a case on one release.
#[derive(Debug)]
pub struct Sighting {
    /// By configuration: the mismatches, and whether the case is unsupported.
    pub configurations: Vec<(RuntimeId, Vec<Mismatch>, bool)>,
    /// The faults of nodes of the case that are wrong when they are run alone.
    of_nodes: Vec<Fault>,
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
        Probe { releases, executions: 0, stop: Stop::default(), believes: false }
    }

    /// The same probe, but it gives up when the stop is due, as its runtimes do.
    #[must_use]
    pub fn until(self, stop: &Stop) -> Probe {
        Probe { stop: stop.clone(), ..self }
    }

    /// Whether the probe has given up.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_due()
    }

    /// The runtimes, by release.
    pub fn ids(&self) -> Vec<RuntimeId> {
        self.releases.iter().flat_map(|(ids, _)| ids.clone()).collect()
    }

    /// Cases run so far.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// Runs a case on a release, see [`RuntimeId::release`]; `None` if the probe does not have the release, or was stopped.
    pub fn look(&mut self, case: &Case, release: &str) -> Option<Sighting> {
        self.look_all(std::slice::from_ref(case), release).pop()
    }

    /// Runs several cases on a release. The list is empty if the probe does not have the release, or was stopped.
    pub(super) fn look_all(&mut self, cases: &[Case], release: &str) -> Vec<Sighting> {
        let Some((ids, runtimes)) = self.releases.iter_mut().find(|(ids, _)| ids[0].release() == release) else {
            return vec![];
        };
        self.executions += cases.len() as u64;
        let generated: Vec<Generated> = cases.iter().cloned().map(Generated::given).collect();
        let sighting = |(generated, examination): (&Generated, Examination)| {
            let mut of_nodes = Vec::new();
            let configurations = ids.iter().enumerate().map(|(index, id)| {
                let unsupported = matches!(examination.judgements[index], Judgement::Unsupported(_));
                let faults = examination.faults(generated, ids, index);
                let (own, alone): (Vec<Fault>, Vec<Fault>) = faults.into_iter().partition(|fault| fault.node.is_none());
                of_nodes.extend(alone);
                (id.clone(), own.into_iter().map(|fault| fault.mismatch).collect(), unsupported)
            });
            Sighting { configurations: configurations.collect(), of_nodes, examination }
        };
        let failures = if self.believes { Failures::Believe } else { Failures::Confirm };
        let mut scheduler = Scheduler::new(1, &[], &[]).searching(failures, &self.stop);
        let examinations = examine_together(&generated, runtimes, ids, &mut scheduler).unwrap_or_default();
        generated.iter().zip(examinations).map(sighting).collect()
    }

    /// Does `work` without confirming that a case ends a process. Each confirmation would take as long again.
    pub(super) fn believing<T>(&mut self, work: impl FnOnce(&mut Probe) -> T) -> T {
        self.believes = true;
        let result = work(self);
        self.believes = false;
        result
    }

    /// Every mismatch that a case shows, each once, with the case that shows it: the case itself, or one of its nodes alone.
    pub fn mismatches(&mut self, case: &Case) -> Vec<(Mismatch, Case)> {
        let releases: BTreeSet<String> = self.ids().iter().map(RuntimeId::release).collect();
        let sightings = releases.iter().filter_map(|release| self.look(case, release)).collect::<Vec<_>>();
        let mut shown: BTreeMap<Mismatch, Case> = BTreeMap::new();
        for Sighting { configurations, of_nodes, .. } in sightings {
            shown.extend(of_nodes.into_iter().filter_map(|fault| Some((fault.mismatch, fault.node?))));
            shown.extend(configurations.into_iter().flat_map(|(_, own, _)| own).map(|own| (own, case.clone())));
        }
        shown.into_iter().collect()
    }

    /// Whether a case shows a mismatch in any configuration.
    pub fn shows(&mut self, case: &Case, mismatch: &Mismatch) -> bool {
        self.look(case, &mismatch.runtime).is_some_and(|sighting| sighting.shows(mismatch))
    }

    /// The place of the first of several cases of which `is_it` is true on a release.
    pub(super) fn first_that(
        &mut self,
        cases: &[Case],
        release: &str,
        is_it: &dyn Fn(&Case, &Sighting) -> bool,
    ) -> Option<usize> {
        let mut count = 1;
        let mut first = 0;
        while first < cases.len() {
            let some = &cases[first..cases.len().min(first + count)];
            let sightings = self.look_all(some, release);
            if let Some(place) = some.iter().zip(&sightings).position(|(case, sighting)| is_it(case, sighting)) {
                // The cases after it do not count, so that the count does not depend on how many are run at a time.
                self.executions -= (some.len() - 1 - place) as u64;
                return Some(first + place);
            }
            first += some.len();
            count = (count * 2).min(AT_A_TIME);
        }
        None
    }
}

impl Sighting {
    pub fn shows(&self, mismatch: &Mismatch) -> bool {
        self.shown(mismatch).is_some()
    }

    /// Whether no configuration has the opset of the case.
    pub(super) fn lacks_the_opset(&self) -> bool {
        let is_lacking = |judgement: &Judgement| matches!(judgement, Judgement::Unsupported(Gap::Opset | Gap::Ir));
        self.examination.judgements.iter().all(is_lacking)
    }

    /// The mismatch that the case itself shows, with the place of the first configuration that shows it. For a mismatch of a graph,
    /// one that may be the same defect is enough. A mismatch of a node alone is another defect, unless it is a panic in the same
    /// words or a crash of the same kind.
    fn shown(&self, mismatch: &Mismatch) -> Option<(usize, &Mismatch)> {
        let is_it = |shown: &&Mismatch| *shown == mismatch || mismatch.operator == GRAPH && mismatch.is_like(shown);
        let by_configuration = self.configurations.iter().enumerate();
        let own = by_configuration.flat_map(|(index, (_, shown, _))| shown.iter().map(move |shown| (index, shown)));
        let of_nodes = self.of_nodes.iter().filter(|_| mismatch.is_failure()).map(|fault| (0, &fault.mismatch));
        // The same mismatch comes before one that is like it.
        own.chain(of_nodes).filter(|(_, shown)| is_it(shown)).min_by_key(|(index, shown)| (*shown != mismatch, *index))
    }
}

/// The result of minimizing.
#[derive(Clone, Debug)]
pub struct Minimized {
    pub case: Case,
    /// The mismatch that the minimized case shows. In a smaller graph, or in one node, it may differ from the given one.
    pub mismatch: Mismatch,
    /// The features that could not be removed.
    pub features: Features,
    /// How many cases were run.
    pub executions: u64,
    /// The message of the runtime for the minimized case.
    pub message: String,
}

impl Minimized {
    /// The part of a graph that shows a known issue by itself, if that may cause the mismatch of the graph: what follows a wrong
    /// value or a wrong declaration depends on the node that takes it. `None` if there is no such part, or if the mismatch of the
    /// whole graph is known.
    pub(super) fn known_part(&self, issues: &[Trigger], probe: &mut Probe) -> Option<Minimized> {
        let trigger = Trigger::new(self.mismatch.clone(), self.features.clone());
        let is_new = !issues.iter().any(|issue| issue.explains_all_of(&trigger));
        if !is_new || self.mismatch.is_costly() {
            return None;
        }
        parts(&self.case).into_iter().find_map(|case| {
            let sighting = probe.look(&case, &self.mismatch.runtime)?;
            let features = Features::of(&case);
            let mut shown = sighting.configurations.into_iter().flat_map(|(_, own, _)| own);
            let mismatch = shown.find(|shown| {
                let is_known = issues.iter().any(|issue| issue.explains(shown, &features));
                is_known && shown.may_cause(&self.mismatch)
            })?;
            Some(Minimized { case, mismatch, features, ..self.clone() })
        })
    }
}

/// Minimizes a case that shows a mismatch. A case that does not show it comes back as it is.
pub fn minimize(case: &Case, mismatch: &Mismatch, probe: &mut Probe) -> Minimized {
    let before = probe.executions();
    let mut attempt = || {
        let (current, features) = probe.believing(|probe| reduce(case, mismatch, probe));
        let sighting = probe.look(&current, &mismatch.runtime);
        let shown = sighting.as_ref().and_then(|sighting| {
            let (index, shown) = sighting.shown(mismatch)?;
            Some((shown.clone(), sighting.examination.executions[index].message.clone()))
        });
        let is_shown = shown.is_some();
        let (mismatch, message) = shown.unwrap_or_else(|| (mismatch.clone(), String::new()));
        let executions = probe.executions() - before;
        (Minimized { case: current, mismatch, features, executions, message }, is_shown)
    };
    match attempt() {
        // The runtime was only slow in this attempt. From now on it is given its whole time limit.
        (_, false) if mismatch.is_costly() => match attempt() {
            (minimized, true) => minimized,
            (minimized, false) => Minimized { case: case.clone(), features: Features::of(case), ..minimized },
        },
        (minimized, _) => minimized,
    }
}

/// Removes the parts of a case without which it still shows a mismatch. Returns the reduced case and its features.
fn reduce(case: &Case, mismatch: &Mismatch, probe: &mut Probe) -> (Case, Features) {
    let mut current = case.clone();
    if probe.shows(&current, mismatch) {
        // As few costly cases as possible are run. A candidate with features that the case does not have is not tried. So the
        // features of the result are the trigger of all cases like the given one, and these need not be run.
        let own = Features::of(case);
        let began = Instant::now();
        let mut first = |candidates: &[Case]| {
            if !mismatch.is_costly() {
                return probe.first_that(candidates, &mismatch.runtime, &|_, sighting| sighting.shows(mismatch));
            }
            let mut candidates = candidates.iter().take_while(|_| began.elapsed() < ENOUGH);
            candidates.position(|case| Features::of(case).are_within(&own) && probe.shows(case, mismatch))
        };
        current = shrink::from_simplest(case, &mut first);
    }
    let features = features(&current, mismatch, probe);
    (current, features)
}

/// The features of a minimized case. The operator version is one of them if the case runs at a newer opset and does not show the
/// mismatch there. The absence of a feature is one of them if the mismatch disappears when the feature is added to the case.
pub(super) fn features(case: &Case, mismatch: &Mismatch, probe: &mut Probe) -> Features {
    let features = Features::of(case);
    let newer: Vec<Case> = (case.opset + 1..=NEWEST_OPSET).map(|opset| Case { opset, ..case.clone() }).collect();
    let is_without = |sighting: &Sighting| {
        !sighting.shows(mismatch) && !sighting.configurations.iter().all(|(_, _, unsupported)| *unsupported)
    };
    let gone = probe.look_all(&newer, &mismatch.runtime).iter().any(is_without);
    let features = if gone { features.up_to_this_version() } else { features };
    // Each of the following cases would end a process, or take all of its time.
    if mismatch.is_costly() {
        return features;
    }
    let features = with_any_operators(features, case, mismatch, probe);
    let others = complications(case, !mismatch.is_failure());
    let sightings = probe.look_all(&others, &mismatch.runtime);
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for (other, sighting) in others.iter().zip(&sightings) {
        let other = Features::of(other);
        if sighting.shows(mismatch) {
            with.extend(features.added_in(&other));
        } else if is_without(sighting) {
            without.extend(features.added_in(&other));
        }
    }
    without.retain(|tag| !with.contains(tag));
    features.without(without)
}

/// The features, without the operators of those nodes that show the mismatch with any other operator too.
fn with_any_operators(features: Features, case: &Case, mismatch: &Mismatch, probe: &mut Probe) -> Features {
    // The mismatch of a single node belongs to its operator.
    let nodes = if case.nodes.len() > 1 { 0..case.nodes.len() } else { 0..0 };
    nodes.fold(features, |features, node| {
        let others = with_other_operators(case, node);
        let is_any = others.len() >= FEWEST_OTHERS
            && probe.look_all(&others, &mismatch.runtime).iter().all(|sighting| sighting.shows(mismatch));
        if is_any { features.with_any_operator(&case.twins(node)) } else { features }
    })
}

/// The least number of other operators that must be tried before the operator of a node may be any.
const FEWEST_OTHERS: usize = 2;
