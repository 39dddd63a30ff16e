//! Triage: tells new defects from known ones, and reduces many mismatches to few findings.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{Extent, Finding, Probe, minimize};
use crate::campaign::{Group, Opener, Trigger};
use crate::case::{Case, Features};
use crate::operator::GRAPH;
use crate::runtime::{OpenError, Stop};
use crate::threads::on_threads;
use crate::verdict::Mismatch;

/// Sorts mismatches into known defects and new ones, one at a time.
#[derive(Clone, Debug, Default)]
pub struct Triage {
    known: Vec<Trigger>,
    /// Known issues. A finding that one of them explains is a defect of its own here, but its extent is not measured.
    issues: Arc<[Trigger]>,
    /// Further triggers that were minimized to a known defect, each with the place of the defect in `known`.
    seen: Vec<(Trigger, usize)>,
}

/// The defect that a mismatch belongs to.
#[derive(Debug)]
pub enum Sorted {
    /// The defect at this place among the known ones.
    Known(usize),
    /// A new defect. From now on it is known, at the next place. Its count is 0.
    New(Box<Finding>),
}

impl Triage {
    pub fn new(known: Vec<Trigger>) -> Triage {
        Triage { known, ..Triage::default() }
    }

    /// Sorts the mismatch of a case. If a trigger of a known defect explains it, it is that defect. If not, the case is
    /// minimized, and the minimized case is compared with the known defects.
    pub fn sort(&mut self, case: &Case, mismatch: &Mismatch, features: &Features, probe: &mut Probe) -> Sorted {
        let place = self.seen.iter().find(|(trigger, _)| trigger.explains(mismatch, features)).map(|(_, place)| *place);
        if let Some(place) = place.or_else(|| self.explaining(mismatch, features)) {
            return Sorted::Known(place);
        }
        let minimized = minimize(case, mismatch, probe);
        let shown = &minimized.mismatch;
        let trigger = Trigger::new(shown.clone(), minimized.features);
        let known = self.known.iter().position(|known| known.explains_all_of(&trigger));
        let place = known.unwrap_or(self.known.len());
        if mismatch.is_failure() || mismatch.is_refusal() {
            // The message of the runtime is evidence enough: a minimized graph may have another message than this one.
            if known.is_some() || shown != mismatch {
                self.seen.push((Trigger::new(mismatch.clone(), trigger.features.clone()), place));
            }
        } else if known.is_some_and(|place| features.weight() >= self.known[place].features.weight()) {
            // Features of less weight than those of the defect would cover more than the defect.
            self.seen.push((Trigger::new(mismatch.clone(), features.clone()), place));
        }
        if known.is_some() {
            return Sorted::Known(place);
        }
        self.known.push(trigger.clone());
        let mut finding = Finding {
            extent: Extent::default(),
            trigger,
            case: minimized.case,
            count: 0,
            executions: minimized.executions,
            message: minimized.message,
            pass: None,
        };
        if !self.issues.iter().any(|issue| finding.is_known_as(issue)) {
            let time = if mismatch.is_costly() { COSTLY } else { Duration::MAX };
            finding.extent =
                probe.believing(|probe| Extent::measure(&finding.case, &finding.trigger.mismatch, probe, time));
        }
        Sorted::New(Box::new(finding))
    }

    fn explaining(&self, mismatch: &Mismatch, features: &Features) -> Option<usize> {
        self.known.iter().position(|known| known.explains(mismatch, features))
    }
}

/// The findings of a triage, the most severe first.
#[derive(Debug, Default)]
pub struct Triaged {
    pub findings: Vec<Finding>,
    /// Mismatches that there was no time to minimize, each with its simplest case as it was drawn.
    pub unsorted: Vec<Finding>,
}

/// The time limit for measuring the extent of a finding whose cases end a process or take all of their time.
const COSTLY: Duration = Duration::from_secs(2);

/// The usual time to minimize: `FIRST` for each mismatch, and `OTHER` or `OTHER_GRAPH` for each of its groups. Most groups of cases
/// of one node take little time, since they are like one that was minimized before.
const FIRST: Duration = Duration::from_millis(100);
const OTHER: Duration = Duration::from_millis(4);
const OTHER_GRAPH: Duration = Duration::from_millis(250);

/// Estimates the time to minimize groups of mismatches on `threads` threads. `limit` is the time limit of a job.
pub fn time_to_triage(groups: &BTreeMap<(Mismatch, Features), Group>, threads: usize, limit: Duration) -> Duration {
    let mut mismatches: Vec<&Mismatch> = groups.keys().map(|(mismatch, _)| mismatch).collect();
    mismatches.dedup();
    let costly = mismatches.iter().filter(|mismatch| mismatch.is_costly()).count();
    let graphs = groups.keys().filter(|(mismatch, _)| mismatch.operator == GRAPH).count();
    let threads = threads.max(1);
    let rounds = |count: usize| u32::try_from(count.div_ceil(threads)).unwrap_or(u32::MAX);
    FIRST.saturating_mul(rounds(mismatches.len()))
        + OTHER.saturating_mul(rounds(groups.len() - graphs))
        + OTHER_GRAPH.saturating_mul(rounds(graphs))
        + (2 * limit).saturating_mul(rounds(costly))
}

/// Reduces groups of mismatches to findings. `progress` gets the number of groups that are done, and the number of all groups. The
/// extent of a finding that one of the `issues` explains is not measured.
///
/// The groups of one mismatch are taken in order, those with the fewest features first. The result does not depend on the number
/// of threads, unless the triage is stopped.
///
/// # Errors
/// If a runtime cannot be opened.
pub fn triage(
    groups: &BTreeMap<(Mismatch, Features), Group>,
    issues: &[Trigger],
    open: Opener,
    threads: usize,
    stop: &Stop,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Triaged, OpenError> {
    let mut mismatches: BTreeMap<&Mismatch, Vec<(&Features, &Group)>> = BTreeMap::new();
    for ((mismatch, features), group) in groups {
        mismatches.entry(mismatch).or_default().push((features, group));
    }
    // Threads take work from the end. The longest work comes first, so that no thread is left alone with it. Mismatches that end a
    // process, or take all of its time, come last, so that they do not take the time of the others.
    let mut work: Vec<_> = mismatches.into_iter().collect();
    work.sort_by_key(|(mismatch, groups)| (!mismatch.is_costly(), groups.len()));
    let threads = threads.min(work.len());
    let issues: Arc<[Trigger]> = issues.into();
    let (work, done) = (Mutex::new(work), AtomicUsize::new(0));
    let take = || work.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let thread = || -> Result<Triaged, OpenError> {
        let mut probe = Probe::new(match open() {
            Err(_) if stop.is_due() => vec![],
            opened => opened?,
        })
        .until(stop);
        let mut triaged = Triaged::default();
        while let Some((mismatch, own)) = take() {
            let count = || progress(done.fetch_add(1, Ordering::Relaxed) + 1, groups.len());
            triage_one(mismatch, own, &issues, &mut probe, &count, &mut triaged);
        }
        Ok(triaged)
    };
    let mut whole = Triaged::default();
    for part in on_threads(threads, thread)? {
        whole.findings.extend(part.findings);
        whole.unsorted.extend(part.unsorted);
    }
    whole.findings = told_apart(whole.findings);
    for findings in [&mut whole.findings, &mut whole.unsorted] {
        findings.sort_by(|a, b| (a.severity(), &a.trigger).cmp(&(b.severity(), &b.trigger)));
    }
    Ok(whole)
}

/// Merges findings that another finding explains into that one. A mismatch of a graph may be minimized to one of another kind,
/// which may also be found later.
fn told_apart(mut findings: Vec<Finding>) -> Vec<Finding> {
    // This order does not depend on which thread found which finding.
    findings.sort_by_cached_key(|Finding { trigger, case, executions, .. }| {
        let text = case.to_string();
        (trigger.features.weight(), trigger.clone(), text.len(), text, *executions)
    });
    let mut apart: Vec<Finding> = Vec::new();
    for finding in findings {
        match apart.iter_mut().find(|other| other.trigger.explains_all_of(&finding.trigger)) {
            Some(other) => other.count += finding.count,
            None => apart.push(finding),
        }
    }
    apart
}

/// Sorts the groups of one mismatch, and adds their findings to `triaged`.
fn triage_one(
    mismatch: &Mismatch,
    mut groups: Vec<(&Features, &Group)>,
    issues: &Arc<[Trigger]>,
    probe: &mut Probe,
    count: &dyn Fn(),
    triaged: &mut Triaged,
) {
    groups
        .sort_by_cached_key(|(features, group)| (features.weight(), group.case.to_string().len(), (*features).clone()));
    let mut triage = Triage { issues: Arc::clone(issues), ..Triage::default() };
    let mut findings = Vec::<Finding>::new();
    let mut rest = groups.into_iter();
    for (features, group) in rest.by_ref() {
        let sorted = if probe.is_stopped() { None } else { Some(triage.sort(&group.case, mismatch, features, probe)) };
        match sorted {
            // The result of a probe that was stopped means nothing.
            _ if probe.is_stopped() => {
                let trigger = Trigger::new(mismatch.clone(), features.clone());
                let count = group.count + rest.map(|(_, group)| group.count).sum::<u64>();
                triaged.unsorted.push(Finding::as_drawn(trigger, group.case.clone(), count));
                break;
            }
            Some(Sorted::Known(place)) => findings[place].count += group.count,
            Some(Sorted::New(finding)) => findings.push(Finding { count: group.count, ..*finding }),
            None => {}
        }
        count();
    }
    triaged.findings.extend(findings);
}
