//! The ways in which a runtime can be wrong, as one table.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One way in which a runtime is wrong. Declared from the most severe to the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
pub enum Discrepancy {
    /// Its process came to an end.
    Crash,
    /// It gave no answer within the time limit.
    Hang,
    /// It took more memory than it may.
    Memory,
    /// Its process answered something that cannot be read.
    Garbage,
    /// It panicked.
    Panic,
    /// It gave another number of outputs than the operator has.
    WrongCount,
    /// The elements are other ones.
    WrongValue,
    /// The dims are other ones, of the right rank.
    WrongDims,
    WrongRank,
    WrongType,
    /// It does what the case asks for with every number cut to 32 bits.
    Truncates,
    /// What it declared at load contradicts what it gave at run.
    Undeclared,
    /// It refuses a model that is valid.
    RefusesValid,
    /// Two configurations of it do not do the same, where either alone would be acceptable.
    ConfigurationsDisagree,
    /// It does not do the same when the operands are wired otherwise, where either alone would be acceptable.
    WiringsDisagree,
    /// It does not do the same at a neighbouring opset that changed only types, where either alone would be acceptable.
    OpsetsDisagree,
    /// It answers what it must refuse.
    AcceptsInvalid,
    /// It answers what it must refuse, with the answer that a later version or an obvious reading gives.
    AcceptsLeniently,
}

/// How bad a discrepancy is, the worst first. Its names are those of the command line too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, clap::ValueEnum)]
pub enum Severity {
    /// A crash, no answer within the time limit, too much memory, or an answer that cannot be read.
    Crash,
    Panic,
    WrongAnswer,
    RefusesValid,
    Disagrees,
    AcceptsInvalid,
    Lenient,
}

impl Discrepancy {
    /// Its name, how bad it is, and what is wrong, after the name of the runtime.
    const fn row(self) -> (&'static str, Severity, &'static str) {
        use Discrepancy::*;
        match self {
            Crash => ("crash", Severity::Crash, "ends its process"),
            Hang => ("hang", Severity::Crash, "gives no answer within the time limit"),
            Memory => ("memory", Severity::Crash, "takes more memory than its limit"),
            Garbage => ("garbage", Severity::Crash, "answers what cannot be read"),
            Panic => ("panic", Severity::Panic, "panics"),
            WrongCount => ("wrong-count", Severity::WrongAnswer, "gives another number of outputs"),
            WrongValue => ("wrong-value", Severity::WrongAnswer, "gives other elements"),
            WrongDims => ("wrong-dims", Severity::WrongAnswer, "gives other dims"),
            WrongRank => ("wrong-rank", Severity::WrongAnswer, "gives another rank"),
            WrongType => ("wrong-type", Severity::WrongAnswer, "gives another element type"),
            Truncates => ("truncates", Severity::WrongAnswer, "does what 64-bit numbers cut to 32 bits would ask for"),
            Undeclared => ("undeclared", Severity::WrongAnswer, "gives something else than it declared at load"),
            RefusesValid => ("refuses-valid", Severity::RefusesValid, "refuses a valid model"),
            ConfigurationsDisagree => {
                ("configurations-disagree", Severity::Disagrees, "does not do the same in all configurations")
            }
            WiringsDisagree => {
                ("wirings-disagree", Severity::Disagrees, "does not do the same when the operands are wired otherwise")
            }
            OpsetsDisagree => (
                "opsets-disagree",
                Severity::Disagrees,
                "does not do the same at a neighbouring opset that changed only types",
            ),
            AcceptsInvalid => ("accepts-invalid", Severity::AcceptsInvalid, "answers an invalid model"),
            AcceptsLeniently => (
                "accepts-leniently",
                Severity::Lenient,
                "answers an invalid model, as a later version or an obvious reading would",
            ),
        }
    }

    pub const fn id(self) -> &'static str {
        self.row().0
    }

    pub const fn severity(self) -> Severity {
        self.row().1
    }

    /// What is wrong, after the name of the runtime.
    pub const fn sentence(self) -> &'static str {
        self.row().2
    }
}

/// All that is wrong, after the name of the runtime.
pub fn sentences(discrepancies: &[Discrepancy]) -> String {
    discrepancies.iter().map(|discrepancy| discrepancy.sentence()).collect::<Vec<_>>().join(" and ")
}

impl fmt::Display for Discrepancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}
