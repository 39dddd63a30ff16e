//! Triage: telling a new defect from those that are known, and bringing many mismatches down to few findings.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
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
    /// What was seen to lead to a known defect, beside its own trigger.
    seen: Vec<(Trigger, usize)>,
}

/// What a mismatch turned out to be.
#[derive(Debug)]
pub enum Sorted {
    /// The defect at this place among the known ones.
    Known(usize),
    /// A new one, which is known from now on: the next place is its own. Its count is 0.
    New(Box<Finding>),
}

impl Triage {
    pub fn new(known: Vec<Trigger>) -> Triage {
        Triage { known, seen: Vec::new() }
    }

    /// Sorts the mismatch of a case. One whose features hold the trigger of a known defect is that defect; any other is
    /// minimized, and then looked at again.
    pub fn sort(&mut self, case: &Case, mismatch: &Mismatch, features: &Features, probe: &mut Probe) -> Sorted {
        let place = self.seen.iter().find(|(trigger, _)| trigger.explains(mismatch, features)).map(|(_, place)| *place);
        if let Some(place) = place.or_else(|| self.explaining(mismatch, features)) {
            return Sorted::Known(place);
        }
        let minimized = minimize(case, mismatch, probe);
        let shown = &minimized.mismatch;
        let trigger = Trigger::new(shown.clone(), minimized.features);
        if let Some(place) = self.known.iter().position(|known| known.explains_all_of(&trigger)) {
            // Less than the trigger would cover more than the defect.
            if features.weight() >= self.known[place].features.weight() {
                self.seen.push((Trigger::new(mismatch.clone(), features.clone()), place));
            }
            return Sorted::Known(place);
        }
        self.known.push(trigger.clone());
        Sorted::New(Box::new(Finding {
            extent: probe.believing(|probe| {
                let time = if mismatch.is_costly() { COSTLY } else { Duration::MAX };
                Extent::measure(&minimized.case, shown, probe, time)
            }),
            trigger,
            case: minimized.case,
            count: 0,
            executions: minimized.executions,
            message: minimized.message,
            pass: None,
        }))
    }

    fn explaining(&self, mismatch: &Mismatch, features: &Features) -> Option<usize> {
        self.known.iter().position(|known| known.explains(mismatch, features))
    }
}

/// What groups of mismatches were brought down to, the most severe first.
#[derive(Debug, Default)]
pub struct Triaged {
    pub findings: Vec<Finding>,
    /// Mismatches for which there was no time, each with its simplest case as it was drawn.
    pub unsorted: Vec<Finding>,
}

/// How long the extent of a finding is measured whose cases end a process, or take all of their time.
const COSTLY: Duration = Duration::from_secs(2);

/// How long it takes to minimize the first groups of a mismatch, as a rule, and each of the others: of one node, most are like
/// one that was minimized before.
const FIRST: Duration = Duration::from_millis(100);
const OTHER: Duration = Duration::from_millis(4);
const OTHER_GRAPH: Duration = Duration::from_millis(250);

/// How long it will take to minimize groups of mismatches on so many threads, where a job may take so long.
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

/// Brings groups of mismatches down to findings; `progress` hears how many groups are done.
///
/// Those of one mismatch are taken in order, the ones with the fewest features first. The result does not depend on the
/// number of threads, unless it is to stop.
///
/// # Errors
/// If a runtime cannot be opened.
pub fn triage(
    groups: &BTreeMap<(Mismatch, Features), Group>,
    open: Opener,
    threads: usize,
    stop: &Stop,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Triaged, OpenError> {
    let mut mismatches: BTreeMap<&Mismatch, Vec<(&Features, &Group)>> = BTreeMap::new();
    for ((mismatch, features), group) in groups {
        mismatches.entry(mismatch).or_default().push((features, group));
    }
    // The longest work first, so that no thread is left alone with it; but what ends a process, or takes all of its time, last, so
    // that it does not take the time of the others.
    let mut work: Vec<_> = mismatches.into_iter().collect();
    work.sort_by_key(|(mismatch, groups)| (!mismatch.is_costly(), groups.len()));
    let threads = threads.min(work.len());
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
            triage_one(mismatch, own, &mut probe, &count, &mut triaged);
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

/// The findings, without those that another explains: mismatches of graphs may come down to one of another kind, and to one that
/// is found later.
fn told_apart(mut findings: Vec<Finding>) -> Vec<Finding> {
    // In an order that does not depend on which thread found what.
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

/// Adds the findings among the groups of one mismatch.
fn triage_one(
    mismatch: &Mismatch,
    mut groups: Vec<(&Features, &Group)>,
    probe: &mut Probe,
    count: &dyn Fn(),
    triaged: &mut Triaged,
) {
    groups
        .sort_by_cached_key(|(features, group)| (features.weight(), group.case.to_string().len(), (*features).clone()));
    let (mut triage, mut findings) = (Triage::default(), Vec::<Finding>::new());
    let mut rest = groups.into_iter();
    for (features, group) in rest.by_ref() {
        let sorted = if probe.is_stopped() { None } else { Some(triage.sort(&group.case, mismatch, features, probe)) };
        match sorted {
            // What was found out on the way to a stop means nothing.
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
