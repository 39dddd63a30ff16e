//! Turns mismatches into findings: each is minimized, distinguished by its signature, measured and saved.

mod alike;
pub mod backend;
mod bisect;
mod changes;
mod drift;
mod export;
mod extent;
pub(crate) mod junit;
mod known;
pub mod laws;
mod masking;
mod matrix;
mod minimize;
mod pass;
mod record;
mod regression;
mod replay;
mod report;
mod signature;
mod sorter;
mod summary;
mod triage;
pub mod upstream;

pub use alike::{Core, alike};
pub use bisect::{Bisection, bisect, range_around};
pub use changes::{About, page};
pub use drift::{
    Behaviour, Change, Comparison, Drift, Kind as DriftKind, Options as CompareOptions, Progress as CompareProgress,
    compare,
};
pub use export::{Corpus, Exported, Failures, LEFT_OPEN, MUST_REFUSE, VALID, export, write_failures};
pub use extent::{Extent, Shown};
pub use known::{Cause, Known, Ledger, LedgerError, State, Variant};
pub use masking::{Masking, masking};
pub use matrix::{Results, Status, Total, matrix};
pub use minimize::{Minimized, Probe, Sighting, minimize};
pub use pass::{Culprit, culprit, is_first_stage, pass_of};
pub use record::Record;
pub use regression::{CASES, Regression, RegressionError, SNAPSHOTS, load, name, snapshot};
pub use replay::{Authority, DataSetResult, Replay, RuntimeResult, Terms, Trial, replay};
pub use report::{BY_DESIGN, Names, Report, Worst, one_line};
pub use signature::{Signature, SignatureError};
pub use sorter::{Sorted, Sorter};
pub use summary::{Outline, Summary, SummaryError};
pub use triage::{Triage, Triaged};

use crate::campaign::Trigger;
use crate::case::{Case, Features};
use crate::verdict::Severity;

/// A distinct defect, as far as its mismatches show.
#[derive(Clone, Debug)]
pub struct Finding {
    pub trigger: Trigger,
    /// The minimized case.
    pub case: Case,
    /// How many raw mismatches were minimized to it.
    pub count: u64,
    /// How many cases were run to minimize it.
    pub executions: u64,
    /// The message of the runtime for the minimized case; empty if it gives an answer.
    pub message: String,
    pub extent: Extent,
    /// The stage of optimization and the passes that cause the mismatch, as [`Culprit::entry`] writes them; `None` if they were not
    /// searched for, or not found.
    pub pass: Option<String>,
    /// `None` if it was not searched for.
    pub core: Option<Core>,
}

impl Finding {
    /// A finding of mismatches that were not minimized.
    pub fn as_drawn(trigger: Trigger, case: Case, count: u64) -> Finding {
        let (message, extent) = (String::new(), Extent::default());
        Finding { trigger, case, count, executions: 0, message, extent, pass: None, core: None }
    }

    pub fn signature(&self) -> Signature {
        Signature::of(&self.trigger)
    }

    /// Whether a known defect explains this finding, by the trigger of the finding or by the features of its case. Where the
    /// trigger allows any operator, the features of the case name the operator.
    pub fn is_known_as(&self, known: &Trigger) -> bool {
        known.explains_all_of(&self.trigger) || known.explains(&self.trigger.mismatch, &Features::of(&self.case))
    }

    pub fn severity(&self) -> Severity {
        self.trigger.mismatch.severity()
    }
}

#[cfg(test)]
mod faults;
#[cfg(test)]
mod tests;
