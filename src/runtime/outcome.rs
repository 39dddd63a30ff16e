//! The result of a run of a job, in terms that are the same for every runtime.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::operator::Topic;
use crate::tensor::{ElementType, Tensor};
use crate::text::gist;

/// The result of one run of a job on a runtime.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Execution {
    pub outcome: Outcome,
    /// The runtime's own message, for people. Empty after an answer, unless a rewritten model has faults.
    pub message: String,
    /// The part of the message that does not depend on the case and tells one reason for a failure from another: the fragments of
    /// the table row that fits the message, or the gist of a message that no row fits. Empty for all other outcomes.
    pub phrase: String,
    /// The declarations of the outputs after the model was loaded; `None` if the runtime did not get that far. All executions of
    /// one session share them.
    pub declared: Option<Arc<[Declaration]>>,
    /// The checks of the rewritten model, if the runtime is a rewriter. A worker never has one.
    #[serde(skip)]
    pub rewriting: Option<Box<Rewriting>>,
}

/// The checks of a rewritten model, beside its result on onnxruntime.
#[derive(Clone, Debug, Default)]
pub struct Rewriting {
    /// Why the checker refuses the rewritten model, if it accepts the original one.
    pub invalid: Option<String>,
    /// How the inputs or outputs have changed for the users of the model.
    pub interface: Option<String>,
    /// The result of onnxruntime on the original model, if it gives another answer there, or an answer on one of the two only.
    pub original: Option<Execution>,
}

impl Rewriting {
    /// Whether the rewritten model is as good as the original one.
    pub fn is_faultless(&self) -> bool {
        self.invalid.is_none() && self.interface.is_none() && self.original.is_none()
    }

    /// The faults of the rewritten model, in words; empty if there are none.
    pub(super) fn words(&self) -> String {
        [&self.invalid, &self.interface].into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("; ")
    }
}

/// The outcome of a run, in neutral terms: equal outcomes of two runtimes compare equal, whatever their messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    Answer(Vec<Output>),
    /// The runtime says that the model or its inputs are invalid.
    Refused {
        stage: Stage,
        reason: Reason,
    },
    /// The runtime says that it lacks something: a gap, not a bug.
    Unsupported(Gap),
    /// It panicked, and the panic was caught.
    Panicked {
        stage: Stage,
    },
    /// Its process ended.
    Crashed {
        /// The signal that ended it, if it was one.
        signal: Option<i32>,
    },
    /// It gave no answer within the time limit.
    TimedOut,
    /// Its process took more memory than its limit.
    OutOfMemory,
    /// The answer of its process cannot be read.
    Garbled,
    /// It failed with a message that no table knows.
    Unclassified {
        stage: Stage,
    },
}

/// An output as the runtime returned it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Output {
    pub tensor: Tensor,
    /// The runtime's own element type, if ONNX has no such type. The tensor then holds the same numbers as int64.
    pub native_type: Option<NativeType>,
}

/// An element type that a runtime has and ONNX has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NativeType {
    /// tract's symbolic dimensions.
    TDim,
}

impl NativeType {
    pub const fn name(self) -> &'static str {
        match self {
            NativeType::TDim => "TDim",
        }
    }
}

/// The stage that a job had reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stage {
    /// Reading the model and making it ready to run.
    Load,
    /// Feeding the inputs and running it.
    Run,
}

/// Why a runtime refuses, as far as its message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// An attribute is unknown, doubled, or of the wrong kind.
    Attribute,
    /// Too many inputs, too few, or a missing one.
    Inputs,
    /// An element type is not allowed here.
    ElementType,
    /// A value is out of its range, or values do not fit each other.
    Value,
    /// A type or shape that the runtime inferred contradicts the declared or given one.
    Inference,
    /// The model breaks another rule of graphs.
    Graph,
    /// Dims or sizes are too large for the runtime to count.
    Size,
    /// The runtime cannot make sense of the contents of a tensor in the model.
    Data,
    /// It fails while it optimizes a model that it had accepted.
    Optimization,
    /// The runtime leaves a symbol where a number is needed.
    Symbol,
    /// No table gives the meaning of the runtime's messages.
    Unstated,
}

impl From<Topic> for Reason {
    fn from(topic: Topic) -> Reason {
        match topic {
            Topic::Attribute => Reason::Attribute,
            Topic::Inputs => Reason::Inputs,
            Topic::ElementType => Reason::ElementType,
            Topic::Value => Reason::Value,
            Topic::Dims => Reason::Inference,
            Topic::Size => Reason::Size,
            Topic::Graph => Reason::Graph,
        }
    }
}

/// What a runtime lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Gap {
    /// An operator version, or a kernel of it for this type.
    Kernel,
    /// An element type altogether.
    ElementType,
    Opset,
    Ir,
    /// A shape that is only known at run time.
    DynamicShape,
    /// Something that only the runtime's own message names.
    Unstated,
    /// A process to run in: the machine could not start it. No fault of the runtime.
    Process,
    /// Nothing: the case was left out, because a similar case had ended the process of the runtime.
    LeftOut,
    /// Nothing: all further cases are left out, because most cases before had ended the process of the runtime.
    BackedOff,
    /// Nothing: the case was left out, because its output has more elements than are judged, and a machine may have room for
    /// them.
    VastOutput,
    /// An operator with an input that is not a constant of the model.
    VariableInput,
    /// Feeding a graph input that has a default.
    Overriding,
    /// Nothing: onnxruntime, which runs the rewritten model, does not do the right thing with the original model.
    Judge,
}

impl Gap {
    /// Whether the runtime was not given the case.
    pub const fn is_left_out(self) -> bool {
        matches!(self, Gap::LeftOut | Gap::BackedOff | Gap::VastOutput)
    }
}

/// The meaning of a runtime's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Refused(Reason),
    Unsupported(Gap),
}

/// A row of a runtime's table of messages. The message must contain every fragment, in this order.
pub type Phrase = (&'static [&'static str], Class);

/// The declaration of an output by a runtime, before the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declaration {
    /// `None` if the runtime leaves the type open, or if ONNX does not have the type.
    pub element_type: Option<ElementType>,
    /// `None` if the runtime leaves the rank open; a dim that it leaves open is `None`.
    pub dims: Option<Vec<Option<i64>>>,
}

impl Execution {
    pub fn answer(outputs: Vec<Output>, declared: impl Into<Arc<[Declaration]>>) -> Execution {
        let declared = Some(declared.into());
        Execution { declared, ..Execution::without_answer(Outcome::Answer(outputs), String::new()) }
    }

    /// The execution of a run without outputs.
    pub fn without_answer(outcome: Outcome, message: String) -> Execution {
        Execution { outcome, message, phrase: String::new(), declared: None, rewriting: None }
    }

    /// A refusal whose reason is known only from the runtime's own message.
    pub fn refusal(stage: Stage, message: String) -> Execution {
        let outcome = Outcome::Refused { stage, reason: Reason::Unstated };
        Execution { phrase: gist(&message), ..Execution::without_answer(outcome, message) }
    }

    /// The execution of a run whose outputs are no valid tensors, although the runtime gave them as an answer.
    pub fn garbled(error: &dyn fmt::Display, declared: &Arc<[Declaration]>) -> Execution {
        let declared = Some(Arc::clone(declared));
        let message = format!("its output cannot be read: {error}");
        Execution { declared, ..Execution::without_answer(Outcome::Garbled, message) }
    }

    /// A failure, classified by the first row of the table that fits the message.
    pub fn failure(stage: Stage, message: String, table: &[Phrase], declared: Option<Arc<[Declaration]>>) -> Execution {
        let (outcome, phrase) = match table.iter().find(|(fragments, _)| contains_in_order(&message, fragments)) {
            Some((fragments, Class::Refused(reason))) => {
                (Outcome::Refused { stage, reason: *reason }, joined(fragments))
            }
            Some((_, Class::Unsupported(gap))) => (Outcome::Unsupported(*gap), String::new()),
            None => (Outcome::Unclassified { stage }, gist(&message)),
        };
        Execution { phrase, declared, ..Execution::without_answer(outcome, message) }
    }
}

impl Outcome {
    /// Whether the process of the runtime ended or became unusable.
    pub const fn ends_process(&self) -> bool {
        self.is_exhaustion() || matches!(self, Outcome::Crashed { .. } | Outcome::Garbled)
    }

    /// Whether the runtime used up its time or memory. Which limit it reaches first differs from run to run.
    pub const fn is_exhaustion(&self) -> bool {
        matches!(self, Outcome::TimedOut | Outcome::OutOfMemory)
    }
}

fn joined(fragments: &[&str]) -> String {
    fragments.iter().map(|fragment| fragment.trim()).collect::<Vec<_>>().join(" … ")
}

fn contains_in_order(text: &str, fragments: &[&str]) -> bool {
    fragments
        .iter()
        .try_fold(text, |rest, fragment| rest.find(fragment).map(|at| &rest[at + fragment.len()..]))
        .is_some()
}

impl Output {
    pub fn new(tensor: Tensor) -> Output {
        Output { tensor, native_type: None }
    }

    /// Whether the runtime returned it in a type that ONNX does not have.
    pub fn is_native(&self) -> bool {
        self.native_type.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_classed_by_the_first_row_that_fits() {
        const TABLE: &[Phrase] =
            &[(&["no kernel", "Shape"], Class::Unsupported(Gap::Kernel)), (&["axis"], Class::Refused(Reason::Value))];
        let outcome = |message: &str| Execution::failure(Stage::Run, message.to_owned(), TABLE, None).outcome;
        assert_eq!(outcome("there is no kernel for Shape(1)"), Outcome::Unsupported(Gap::Kernel));
        assert_eq!(outcome("Shape has no kernel: axis"), Outcome::Refused { stage: Stage::Run, reason: Reason::Value });
        assert_eq!(outcome("out of luck"), Outcome::Unclassified { stage: Stage::Run });
    }

    #[test]
    fn a_refusal_has_the_words_that_do_not_depend_on_the_case() {
        const TABLE: &[Phrase] =
            &[(&["axis ", " past"], Class::Refused(Reason::Value)), (&["no"], Class::Unsupported(Gap::Kernel))];
        let phrase = |message: &str| Execution::failure(Stage::Run, message.to_owned(), TABLE, None).phrase;
        assert_eq!(phrase("at node_3: axis 7 is past the rank 2"), "axis … past");
        assert_eq!(phrase("no kernel"), "");
        assert_eq!(phrase("at 'x_3': out of 17 lucky [1, 2] ways"), "out of lucky ways");
    }
}
