//! The ways in which a runtime can be wrong, as one table.

use serde::{Deserialize, Serialize};

/// One way in which a runtime is wrong. The variants go from the most severe to the least. The name in output is that of the
/// variant, such as `wrong-value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Discrepancy {
    /// Its process ended.
    Crash,
    /// It gave no answer within the time limit, or exceeded the memory limit. Which limit it reaches first depends on the
    /// machine.
    Exhaustion,
    /// The answer of its process cannot be read.
    Garbage,
    /// It panicked.
    Panic,
    /// It gave another number of outputs than expected.
    WrongCount,
    /// The elements are wrong.
    WrongValue,
    /// The dims are wrong, and the rank is right.
    WrongDims,
    WrongRank,
    WrongType,
    /// Its result is right for the case with every number cut to 32 bits.
    Truncates,
    /// Its declaration at load contradicts its output at run.
    Undeclared,
    /// It rewrites a valid model to one that the checker of ONNX refuses.
    InvalidModel,
    /// It rewrites a model to one with another interface: for example, an input is gone or has other dims.
    ChangedInterface,
    /// It refuses a model that is valid.
    RefusesValid,
    /// Two of its configurations have different outcomes. Each outcome alone would be acceptable.
    ConfigurationsDisagree,
    /// Its outcomes differ between wirings of the operands. Each outcome alone would be acceptable.
    WiringsDisagree,
    /// Its outcome differs at a neighbouring opset that changed only types. Each outcome alone would be acceptable.
    OpsetsDisagree,
    /// It answers a case that it must refuse.
    AcceptsInvalid,
    /// It answers a case that it must refuse, with the answer of a later version or of an obvious reading.
    AcceptsLeniently,
}

/// The severity of a discrepancy, the worst first. The command line uses the same names.
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
    /// The severity, and the description to follow the name of the runtime.
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
            ChangedInterface => (Severity::WrongAnswer, "gives a model with another interface"),
            RefusesValid => (Severity::RefusesValid, "refuses a valid model"),
            ConfigurationsDisagree => (Severity::Disagrees, "does not do the same in all configurations"),
            WiringsDisagree => (Severity::Disagrees, "depends on how its operands are wired"),
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

    /// The description, to follow the name of the runtime.
    pub const fn sentence(self) -> &'static str {
        self.row().1
    }
}

/// The descriptions of discrepancies, to follow the name of the runtime.
pub fn sentences(discrepancies: &[Discrepancy]) -> String {
    discrepancies.iter().map(|discrepancy| discrepancy.sentence()).collect::<Vec<_>>().join(" and ")
}
