//! From mismatch to finding: minimized, told apart from others by its signature, measured, saved.

mod extent;
mod known;
mod minimize;
mod regression;
mod report;

use std::collections::BTreeMap;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

pub use extent::{Extent, Shown};
pub use known::{Known, Ledger, LedgerError};
pub use minimize::{Minimized, Probe, minimize};
pub use regression::{CASES, Regression, RegressionError, SNAPSHOTS, load, pending_snapshot, snapshot};
pub use report::{Report, one_line};

use crate::campaign::{Group, Opener, Trigger};
use crate::case::{Case, Features};
use crate::runtime::OpenError;
use crate::verdict::{Mismatch, Severity};

/// A distinct defect, as far as its mismatches show.
#[derive(Clone, Debug)]
pub struct Finding {
    pub trigger: Trigger,
    /// The minimized case.
    pub case: Case,
    /// How many raw mismatches came down to it.
    pub count: u64,
    /// Executions that it took to minimize.
    pub executions: u64,
    /// What the runtime says in the minimized case; empty for an answer.
    pub message: String,
    pub extent: Extent,
}

/// What tells one defect from another, on one line: operator, kind of verdict, runtime kind, the rule or error class, and
/// the features of the minimized case. Values, versions of runtimes, and types or opsets that do not matter are not in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Signature(String);

impl Signature {
    pub fn of(trigger: &Trigger) -> Signature {
        let Trigger { mismatch, features } = trigger;
        let discrepancies: Vec<&str> = mismatch.discrepancies.iter().map(|d| d.id()).collect();
        let discrepancies = discrepancies.join("+");
        let mut parts = vec![mismatch.runtime.as_str(), mismatch.operator, &discrepancies];
        parts.extend(mismatch.rule.map(crate::operator::Rule::id));
        if !mismatch.reaction.is_empty() {
            parts.push(&mismatch.reaction);
        }
        Signature(format!("{} | {features}", parts.join(" | ")))
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for Signature {
    fn from(text: String) -> Signature {
        Signature(text)
    }
}

impl Finding {
    pub fn signature(&self) -> Signature {
        Signature::of(&self.trigger)
    }

    pub fn severity(&self) -> Severity {
        self.trigger.mismatch.severity()
    }
}

/// Brings groups of mismatches down to findings, the most severe first; `progress` hears how many groups are done.
///
/// Those of one mismatch are taken in order, the ones with the fewest features first. A group whose features hold the
/// trigger of a finding that is already there is that finding; any other is minimized. The result does not depend on the
/// number of threads.
///
/// # Errors
/// If a runtime cannot be opened.
pub fn triage(
    groups: &BTreeMap<(Mismatch, Features), Group>,
    open: Opener,
    threads: usize,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Finding>, OpenError> {
    let mut mismatches: BTreeMap<&Mismatch, Vec<(&Features, &Group)>> = BTreeMap::new();
    for ((mismatch, features), group) in groups {
        mismatches.entry(mismatch).or_default().push((features, group));
    }
    // The longest work first, so that no thread is left alone with it.
    let mut work: Vec<_> = mismatches.into_iter().collect();
    work.sort_by_key(|(_, groups)| groups.len());
    let threads = threads.clamp(1, work.len().max(1));
    let (work, done) = (Mutex::new(work), AtomicUsize::new(0));
    let take = || work.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let thread = || -> Result<Vec<Finding>, OpenError> {
        let mut probe = Probe::new(open()?);
        let mut findings = Vec::new();
        while let Some((mismatch, own)) = take() {
            let count = || progress(done.fetch_add(1, Ordering::Relaxed) + 1, groups.len());
            findings.extend(triage_one(mismatch, own, &mut probe, &count));
        }
        Ok(findings)
    };
    let parts: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(thread)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let mut findings = parts.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    findings.sort_by(|a, b| (a.severity(), &a.trigger).cmp(&(b.severity(), &b.trigger)));
    Ok(findings)
}

/// The findings among the groups of one mismatch.
fn triage_one(
    mismatch: &Mismatch,
    mut groups: Vec<(&Features, &Group)>,
    probe: &mut Probe,
    count: &dyn Fn(),
) -> Vec<Finding> {
    groups
        .sort_by_cached_key(|(features, group)| (features.weight(), group.case.to_string().len(), (*features).clone()));
    let mut findings: Vec<Finding> = Vec::new();
    // What was seen to lead to a finding, beside its own trigger.
    let mut paths: Vec<(&Features, usize)> = Vec::new();
    for (features, group) in groups {
        count();
        let path = paths.iter().find(|(path, _)| path.are_within(features)).map(|(_, place)| *place);
        if let Some(place) = path.or_else(|| explaining(&findings, mismatch, features)) {
            findings[place].count += group.count;
            continue;
        }
        let minimized = minimize(&group.case, mismatch, probe);
        if let Some(place) = explaining(&findings, mismatch, &minimized.features) {
            findings[place].count += group.count;
            // Less than the trigger would cover more than the defect.
            if features.weight() >= findings[place].trigger.features.weight() {
                paths.push((features, place));
            }
            continue;
        }
        findings.push(Finding {
            extent: Extent::measure(&minimized.case, mismatch, probe),
            trigger: Trigger { mismatch: mismatch.clone(), features: minimized.features },
            case: minimized.case,
            count: group.count,
            executions: minimized.executions,
            message: minimized.message,
        });
    }
    findings
}

/// The place of the finding that explains a mismatch in a case with these features.
fn explaining(findings: &[Finding], mismatch: &Mismatch, features: &Features) -> Option<usize> {
    findings.iter().position(|finding| finding.trigger.explains(mismatch, features))
}

#[cfg(test)]
mod tests;
