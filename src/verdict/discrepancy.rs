//! The ways in which a runtime can be wrong, as one table.

use serde::{Deserialize, Serialize};

/// One way in which a runtime is wrong. Declared from the most severe to the least. Its name in output is that of the variant,
/// such as `wrong-value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Discrepancy {
    /// Its process ended.
    Crash,
    /// It gave no answer within the time limit, or took more memory than it may: which of the two comes first depends on the
    /// machine.
    Exhaustion,
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
    /// It rewrites a valid model to one that the checker of ONNX refuses.
    InvalidModel,
    /// It rewrites a model to one that cannot be used as the one before: an input is gone, or its dims are others.
    ChangedInterface,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[derive(strum::Display, strum::EnumMessage, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Severity {
    /// A crash, too much time or memory, or an answer that cannot be read.
    Crash,
    Panic,
    WrongAnswer,
    RefusesValid,
    Disagrees,
    AcceptsInvalid,
    Lenient,
}

impl Discrepancy {
    /// How bad it is, and what is wrong, after the name of the runtime.
    const fn row(self) -> (Severity, &'static str) {
        use Discrepancy::*;
        match self {
            Crash => (Severity::Crash, "ends its process"),
            Exhaustion => (Severity::Crash, "takes all of its time or memory"),
            Garbage => (Severity::Crash, "answers what cannot be read"),
            Panic => (Severity::Panic, "panics"),
            WrongCount => (Severity::WrongAnswer, "gives another number of outputs"),
            WrongValue => (Severity::WrongAnswer, "gives other elements"),
            WrongDims => (Severity::WrongAnswer, "gives other dims"),
            WrongRank => (Severity::WrongAnswer, "gives another rank"),
            WrongType => (Severity::WrongAnswer, "gives another element type"),
            Truncates => (Severity::WrongAnswer, "does what 64-bit numbers cut to 32 bits would ask for"),
            Undeclared => (Severity::WrongAnswer, "gives something else than it declared at load"),
            InvalidModel => (Severity::WrongAnswer, "gives a model that is not valid"),
            ChangedInterface => (Severity::WrongAnswer, "gives a model that is used otherwise"),
            RefusesValid => (Severity::RefusesValid, "refuses a valid model"),
            ConfigurationsDisagree => (Severity::Disagrees, "does not do the same in all configurations"),
            WiringsDisagree => (Severity::Disagrees, "does not do the same when the operands are wired otherwise"),
            OpsetsDisagree => {
                (Severity::Disagrees, "does not do the same at a neighbouring opset that changed only types")
            }
            AcceptsInvalid => (Severity::AcceptsInvalid, "answers an invalid model"),
            AcceptsLeniently => {
                (Severity::Lenient, "answers an invalid model, as a later version or an obvious reading would")
            }
        }
    }

    pub const fn id(self) -> &'static str {
        self.into_str()
    }

    pub const fn severity(self) -> Severity {
        self.row().0
    }

    /// What is wrong, after the name of the runtime.
    pub const fn sentence(self) -> &'static str {
        self.row().1
    }
}

/// All that is wrong, after the name of the runtime.
pub fn sentences(discrepancies: &[Discrepancy]) -> String {
    discrepancies.iter().map(|discrepancy| discrepancy.sentence()).collect::<Vec<_>>().join(" and ")
}
