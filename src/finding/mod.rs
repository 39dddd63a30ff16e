//! From mismatch to finding: minimized, told apart from others by its signature, measured, saved.

mod extent;
mod known;
mod minimize;
mod regression;
mod report;

use std::collections::BTreeMap;
use std::fmt;

pub use extent::{Extent, Shown};
pub use known::{Known, Ledger, LedgerError};
pub use minimize::{Minimized, Probe, minimize};
pub use regression::{CASES, Regression, RegressionError, SNAPSHOTS, load, pending_snapshot, snapshot};
pub use report::{Report, one_line};

use crate::campaign::{Group, Trigger};
use crate::case::{Case, Features};
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

/// Brings groups of mismatches down to findings, the most severe first.
///
/// Groups are taken in order, those with the fewest features first. A group whose features hold the trigger of a finding
/// that is already there, with the same mismatch, is that finding; any other is minimized. `progress` hears how far it is.
pub fn triage(
    groups: &BTreeMap<(Mismatch, Features), Group>,
    probe: &mut Probe,
    progress: &dyn Fn(usize, usize),
) -> Vec<Finding> {
    let mut ordered: Vec<_> = groups.iter().collect();
    ordered.sort_by_cached_key(|((mismatch, features), group)| {
        (mismatch.clone(), features.weight(), group.case.to_string().len(), features.clone())
    });
    let total = ordered.len();
    let mut findings: Vec<Finding> = Vec::new();
    for (done, ((mismatch, features), group)) in ordered.into_iter().enumerate() {
        progress(done, total);
        if let Some(known) = findings.iter_mut().find(|finding| finding.trigger.explains(mismatch, features)) {
            known.count += group.count;
            continue;
        }
        let minimized = minimize(&group.case, mismatch, probe);
        let trigger = Trigger { mismatch: mismatch.clone(), features: minimized.features };
        if let Some(known) = findings.iter_mut().find(|finding| finding.trigger == trigger) {
            known.count += group.count;
            continue;
        }
        findings.push(Finding {
            extent: Extent::measure(&minimized.case, mismatch, probe),
            trigger,
            case: minimized.case,
            count: group.count,
            executions: minimized.executions,
            message: minimized.message,
        });
    }
    findings.sort_by(|a, b| (a.severity(), &a.trigger).cmp(&(b.severity(), &b.trigger)));
    findings
}

#[cfg(test)]
mod tests;
