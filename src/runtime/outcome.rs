//! What a runtime did with a run of a job, in terms that are the same for every runtime.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::operator::Topic;
use crate::tensor::{ElementType, Tensor, TensorError};
use crate::text::gist;

/// What a runtime did with one run of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Execution {
    pub outcome: Outcome,
    /// The runtime's own words, for people; empty after an answer, unless there is more to say of a model that was rewritten.
    pub message: String,
    /// Those of its words that are the same whatever the case, and tell one reason of a refusal from another: the fragments of
    /// the row by which the message was classed, or the gist of a message that no row fits. Empty for anything but a refusal.
    pub phrase: String,
    /// What it declared about its outputs once the model was loaded; `None` if it did not get that far. All executions of
    /// one session share it.
    pub declared: Option<Arc<[Declaration]>>,
    /// What else there is to say of a model that was rewritten, where a rewriter is the runtime. No worker has one.
    #[serde(skip)]
    pub rewriting: Option<Box<Rewriting>>,
}

/// What there is to say of a model that a rewriter gave, beside what onnxruntime does with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewriting {
    /// Why the checker refuses it, where it takes the model before.
    pub invalid: Option<String>,
    /// What is no longer as it was for whoever runs the model.
    pub interface: Option<String>,
    /// Whether onnxruntime does the same with the model before.
    pub is_as_before: bool,
}

impl Rewriting {
    /// Whether the model is as good as the one before.
    pub fn is_faultless(&self) -> bool {
        self.invalid.is_none() && self.interface.is_none() && self.is_as_before
    }

    /// What is wrong with the model, in words; empty if nothing is.
    pub(super) fn words(&self) -> String {
        [&self.invalid, &self.interface].into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("; ")
    }
}

/// The result of a job. Neutral: equal outcomes of two runtimes compare equal, whatever their words.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    Answer(Vec<Output>),
    /// It says that the model or its inputs are not right.
    Refused {
        stage: Stage,
        reason: Reason,
    },
    /// It says that it lacks something: a gap, not a bug.
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
    /// Its process answered something that cannot be read.
    Garbled,
    /// It failed in words that no table knows.
    Unclassified {
        stage: Stage,
    },
}

/// An output as a runtime handed it over.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Output {
    pub tensor: Tensor,
    /// The runtime's own element type, where ONNX has no such type; the tensor then holds the same numbers as int64.
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

/// How far a job had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stage {
    /// Reading the model and making it ready to run.
    Load,
    /// Feeding the inputs and running it.
    Run,
}

/// Why a runtime refuses, as far as its words tell.
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
    /// The type or shape that it inferred contradicts what is declared or given.
    Inference,
    /// The model breaks another rule of graphs.
    Graph,
    /// Dims or sizes are too large for it to count.
    Size,
    /// The contents of a tensor in the model do not make sense to it.
    Data,
    /// It fails while it optimizes a model that it had accepted.
    Optimization,
    /// It leaves a symbol where a number is asked for.
    Symbol,
    /// It has no table of what its words mean.
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
    /// What it is, only its own words tell.
    Unstated,
    /// A process to run in: the machine could not start it. No fault of the runtime.
    Process,
    /// Nothing: the case was left out, since one like it had ended the process of the runtime.
    LeftOut,
    /// Nothing: every case is left out, since most had ended the process of the runtime.
    BackedOff,
    /// Nothing: the case was left out, since its output has more elements than are judged and may be had all the same.
    VastOutput,
    /// An operator whose input is not a constant of the model.
    VariableInput,
    /// Feeding a graph input that has a default.
    Overriding,
    /// Nothing: what runs the rewritten model goes wrong with the model before in the same way.
    Judge,
}

impl Gap {
    /// Whether the runtime was not given the case.
    pub const fn is_left_out(self) -> bool {
        matches!(self, Gap::LeftOut | Gap::BackedOff | Gap::VastOutput)
    }
}

/// What words of a runtime mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Refused(Reason),
    Unsupported(Gap),
}

/// A row of a runtime's table of messages: every fragment has to be in the message, in this order.
pub type Phrase = (&'static [&'static str], Class);

/// What a runtime declares about an output before it is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declaration {
    /// `None` if it leaves the type open, or has one that ONNX does not have.
    pub element_type: Option<ElementType>,
    /// `None` if it leaves the rank open; a dim it leaves open is `None`.
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

    /// A refusal by a runtime that says no more of the reason than its own words.
    pub fn refusal(stage: Stage, message: String) -> Execution {
        let outcome = Outcome::Refused { stage, reason: Reason::Unstated };
        Execution { phrase: gist(&message), ..Execution::without_answer(outcome, message) }
    }

    /// Outputs that are no tensors, though the runtime takes them for some.
    pub fn garbled(error: &TensorError, declared: &Arc<[Declaration]>) -> Execution {
        let declared = Some(Arc::clone(declared));
        let message = format!("its output cannot be read: {error}");
        Execution { declared, ..Execution::without_answer(Outcome::Garbled, message) }
    }

    /// An error, put into its class by the first row of the table that fits it.
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
    /// Whether the process of the runtime ended, or was of no more use.
    pub const fn ends_process(&self) -> bool {
        self.is_exhaustion() || matches!(self, Outcome::Crashed { .. } | Outcome::Garbled)
    }

    /// Whether it took all of its time or memory. Which of the two comes to its end first differs from run to run.
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

    /// Whether it was handed over in a type that ONNX does not have.
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
