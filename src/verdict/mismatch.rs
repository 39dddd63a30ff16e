//! Mismatches, in words that tell one defect from another.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Discrepancy, Severity, sentences};
use crate::operator::{self, ANY, OperatorName, Rule};
use crate::runtime::{Execution, Gap, NativeType, Outcome, Output, Reason, RuntimeId, Stage};
use crate::text::gist;

/// One way in which the result of a runtime on a case is wrong, in neutral terms and without the values of the case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Mismatch {
    /// The most severe first, so that mismatches sort by severity.
    pub discrepancies: Vec<Discrepancy>,
    #[serde(deserialize_with = "operator::read_name")]
    pub operator: OperatorName,
    /// The runtime in any configuration: [`RuntimeId::release`].
    pub runtime: String,
    /// The rule that the verdict is about, if there is one: the case breaks it and was answered, or the rule leaves the case
    /// unspecified. A wrong answer or a panic is the same defect whatever else is special about the case.
    pub rule: Option<Rule>,
    /// The reaction of the runtime, as far as it is known: where and why it failed, or the wrong type of its output.
    pub reaction: String,
}

impl Mismatch {
    /// The mismatches for a runtime's discrepancies on a case. Some discrepancies are a defect of their own whatever else is
    /// wrong, so each of them is a separate mismatch: truncation, an output in a type that ONNX does not have, and a fault of a
    /// rewritten model.
    pub fn all(
        operator: OperatorName,
        rule: Option<Rule>,
        id: &RuntimeId,
        execution: &Execution,
        discrepancies: &[Discrepancy],
    ) -> Vec<Mismatch> {
        let is_native = matches!(&execution.outcome, Outcome::Answer(outputs) if outputs.iter().any(Output::is_native));
        let part = |found: Discrepancy| match found {
            Discrepancy::WrongType if is_native => 1,
            Discrepancy::Truncates => 2,
            Discrepancy::InvalidModel => 3,
            Discrepancy::ChangedInterface => 4,
            _ => 0,
        };
        let parts =
            [0, 1, 2, 3, 4].map(|own| discrepancies.iter().copied().filter(|&found| part(found) == own).collect());
        let parts = parts.into_iter().filter(|part: &Vec<Discrepancy>| !part.is_empty());
        parts.map(|part| Mismatch::new(operator, rule, id, execution, &part)).collect()
    }

    fn new(
        operator: OperatorName,
        rule: Option<Rule>,
        id: &RuntimeId,
        execution: &Execution,
        discrepancies: &[Discrepancy],
    ) -> Mismatch {
        let outcome = &execution.outcome;
        let reaction = match outcome {
            // If a runtime only disagrees with itself, it does not matter which side refuses: it is one mismatch. Nor does the
            // outcome of a truncated case matter.
            _ if discrepancies.iter().all(|d| d.severity() == Severity::Disagrees || *d == Discrepancy::Truncates) => {
                String::new()
            }
            _ if let Some(words) = execution.rewriting_words(discrepancies[0]) => gist(words),
            Outcome::Answer(outputs) if discrepancies.contains(&Discrepancy::WrongType) => {
                // Of several outputs, take the one in a type of the runtime's own.
                let wrong = outputs.iter().find(|output| output.is_native()).or(outputs.first());
                let given = wrong.map(|o| o.native_type.map_or(o.tensor.element_type().name(), NativeType::name));
                given.unwrap_or_default().to_owned()
            }
            _ => failure(execution),
        };
        let rule = rule.filter(|_| is_about_the_rule(discrepancies));
        Mismatch { discrepancies: discrepancies.to_vec(), operator, runtime: id.release(), rule, reaction }
    }

    /// Whether `other` is this mismatch. The operator does not matter if this mismatch is about any operator.
    pub fn is_that_of(&self, other: &Mismatch) -> bool {
        self.concerns(other.operator)
            && (&self.runtime, &self.discrepancies, self.rule) == (&other.runtime, &other.discrepancies, other.rule)
            && self.reaction == other.reaction
    }

    /// Whether this mismatch is about the operator, or about any operator.
    pub fn concerns(&self, operator: OperatorName) -> bool {
        self.operator == operator || self.operator == ANY
    }

    /// Whether `other` may be the same defect in a smaller part of a graph. The operator does not matter there, nor the way in
    /// which an answer is wrong.
    pub fn is_like(&self, other: &Mismatch) -> bool {
        let is_wrong = self.severity() == Severity::WrongAnswer && !self.is_native() && !other.is_native();
        (&self.runtime, self.severity(), self.rule) == (&other.runtime, other.severity(), other.rule)
            && (is_wrong || self.reaction == other.reaction)
    }

    /// Whether this mismatch, of a node alone, may be the cause of `other`, which shows in a graph. It may if both are alike, or
    /// if both refuse something valid for whatever reason. A wrong answer may also lead to a refusal, a panic or another answer.
    pub fn may_cause(&self, other: &Mismatch) -> bool {
        use Severity::{AcceptsInvalid, Disagrees, Lenient, Panic, RefusesValid, WrongAnswer};
        let may_follow: &[Severity] = match self.severity() {
            WrongAnswer if !self.is_native() => &[Panic, WrongAnswer, RefusesValid, Disagrees, AcceptsInvalid, Lenient],
            RefusesValid => &[RefusesValid],
            // The node is accepted although it breaks the rule of the graph.
            AcceptsInvalid | Lenient if self.rule == other.rule => &[AcceptsInvalid, Lenient],
            // A graph with such a node may be refused anyway, since a valid graph has none.
            AcceptsInvalid | Lenient => &[WrongAnswer],
            _ => &[],
        };
        self.is_like(other)
            || self.runtime == other.runtime && !other.is_native() && may_follow.contains(&other.severity())
    }

    /// Whether this mismatch and `other` may have the same cause in cases that hardly differ. Two panics or two refusals have one cause
    /// only if the words are the same, and two invalid cases that are accepted only if they break the same rule.
    pub fn may_share_a_cause_with(&self, other: &Mismatch) -> bool {
        use Severity::{AcceptsInvalid, Disagrees, Lenient, Panic, RefusesValid, WrongAnswer};
        let is_of_one_sort = match (self.severity(), other.severity()) {
            (Panic, Panic) | (RefusesValid, RefusesValid) => self.reaction == other.reaction,
            (WrongAnswer, WrongAnswer) if self.is_plainly_wrong() => other.is_plainly_wrong(),
            (WrongAnswer, WrongAnswer) => {
                (&self.discrepancies, &self.reaction) == (&other.discrepancies, &other.reaction)
            }
            (WrongAnswer, RefusesValid) => self.is_plainly_wrong(),
            (RefusesValid, WrongAnswer) => other.is_plainly_wrong(),
            (AcceptsInvalid | Lenient, AcceptsInvalid | Lenient) | (Disagrees, Disagrees) => self.rule == other.rule,
            _ => false,
        };
        self.runtime == other.runtime && is_of_one_sort
    }

    /// Whether an answer is wrong in a way that does not point to its cause, as truncation and a type of the runtime's own do.
    pub fn is_plainly_wrong(&self) -> bool {
        self.severity() == Severity::WrongAnswer
            && !self.is_native()
            && !self.discrepancies.contains(&Discrepancy::Truncates)
    }

    /// Whether it is nothing but the refusal of a valid model.
    pub fn is_refusal(&self) -> bool {
        self.discrepancies == [Discrepancy::RefusesValid]
    }

    /// Whether a case with this mismatch costs a process, or as much time as a job may take.
    pub fn is_costly(&self) -> bool {
        self.severity() == Severity::Crash
    }

    /// Whether it is a crash or a panic, which is wrong whatever is expected.
    pub fn is_failure(&self) -> bool {
        matches!(self.severity(), Severity::Crash | Severity::Panic)
    }

    /// Whether an output is in a type that ONNX does not have.
    fn is_native(&self) -> bool {
        self.reaction == NativeType::TDim.name()
    }

    /// The name of the runtime, without the version.
    pub fn runtime_name(&self) -> &str {
        self.runtime.split('@').next().unwrap_or("")
    }

    pub fn severity(&self) -> Severity {
        self.discrepancies.first().map_or(Severity::Lenient, |d| d.severity())
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wrong = sentences(&self.discrepancies);
        write!(f, "{} of {} {wrong}", self.runtime, self.operator)?;
        if let Some(rule) = self.rule {
            write!(f, " ({rule})")?;
        }
        if self.reaction.is_empty() || self.reaction == wrong { Ok(()) } else { write!(f, ": {}", self.reaction) }
    }
}

/// Whether it matters which rule a case breaks or which rule leaves it unspecified. A wrong answer or a panic is the same defect
/// whatever else is special about the case.
pub fn is_about_the_rule(discrepancies: &[Discrepancy]) -> bool {
    discrepancies.iter().any(|discrepancy| discrepancy.severity() >= Severity::Disagrees)
}

/// A panic's message up to its first colon, without numbers and text in brackets, which differ from case to case.
fn without_numbers(message: &str) -> String {
    let mut depth = 0_u32;
    let mut outside = String::new();
    let head = message.split_once(": ").map_or(message, |(head, _)| head);
    for c in head.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            c if c.is_ascii_digit() => {}
            c if depth == 0 => outside.push(c),
            _ => {}
        }
    }
    outside.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether two executions fail in the same words, whatever numbers stand in them.
pub fn fail_alike(one: &Execution, other: &Execution) -> bool {
    let is_answer = |execution: &Execution| matches!(execution.outcome, Outcome::Answer(_));
    !is_answer(one) && !is_answer(other) && failure(one) == failure(other)
}

/// The description of a failed execution, with the runtime's own words without their numbers; empty for an answer.
fn failure(execution: &Execution) -> String {
    let outcome = &execution.outcome;
    match outcome {
        Outcome::Panicked { .. } => format!("{}: {}", reaction(outcome), without_numbers(&execution.message)),
        _ if execution.phrase.is_empty() => reaction(outcome).to_owned(),
        _ => format!("{}: {}", reaction(outcome), execution.phrase),
    }
}

/// The description of a failed outcome, the same for every runtime; empty for an answer.
pub fn reaction(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Answer(_) => "",
        Outcome::Crashed { signal: Some(6) } => "is aborted",
        Outcome::Crashed { signal: Some(9) } => "is killed",
        Outcome::Crashed { signal: Some(4 | 7 | 8 | 11) } => "is ended by a fault",
        Outcome::Crashed { .. } => "ends its process",
        Outcome::TimedOut | Outcome::OutOfMemory => Discrepancy::Exhaustion.sentence(),
        Outcome::Garbled => "answers what cannot be read",
        Outcome::Panicked { stage: Stage::Load } => "panics at load",
        Outcome::Panicked { stage: Stage::Run } => "panics at run",
        Outcome::Unclassified { stage: Stage::Load } => "fails at load in words that no table knows",
        Outcome::Unclassified { stage: Stage::Run } => "fails at run in words that no table knows",
        Outcome::Refused { reason, .. } => match reason {
            Reason::Attribute => "objects to an attribute",
            Reason::Inputs => "objects to the number of inputs",
            Reason::ElementType => "objects to an element type",
            Reason::Value => "objects to values",
            Reason::Inference => "contradicts its own inference",
            Reason::Graph => "objects to the graph",
            Reason::Size => "objects to sizes",
            Reason::Data => "cannot read the contents of a tensor",
            Reason::Optimization => "fails while it optimizes",
            Reason::Symbol => "leaves a symbol where a number is asked for",
            Reason::Unstated => "refuses",
        },
        Outcome::Unsupported(gap) => lack(*gap),
    }
}

/// The description of a gap, to follow the name of the runtime.
pub fn lack(gap: Gap) -> &'static str {
    match gap {
        Gap::Kernel => "has no kernel",
        Gap::ElementType => "lacks the element type",
        Gap::Opset => "lacks the opset",
        Gap::Ir => "lacks the IR version",
        Gap::DynamicShape => "needs shapes that are known at load",
        Gap::Unstated => "lacks something",
        Gap::Process => "has no process to run in",
        Gap::LeftOut => "was left out, since a case like it had ended its process",
        Gap::BackedOff => "was left out, since most of its jobs had ended its process",
        Gap::VastOutput => "was left out, since the case asks for more elements than are judged",
        Gap::VariableInput => "needs a constant where the model has an input",
        Gap::Overriding => "cannot feed an input that has a default",
        Gap::Judge => "cannot be judged: onnxruntime is not right about the original model",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{Class, Phrase};
    use crate::tensor::Tensor;

    #[test]
    fn a_type_of_its_own_is_named_whichever_output_has_it() {
        let id = RuntimeId { name: "x".to_owned(), version: "1".to_owned(), configuration: String::new() };
        let native = Output { native_type: Some(NativeType::TDim), ..Output::new(Tensor::vector(&[1])) };
        let plain = Output::new(Tensor::vector(&[1]).with_dims(vec![1, 1]).unwrap());
        let reaction = |outputs: Vec<Output>| {
            let execution = Execution::answer(outputs, vec![]);
            Mismatch::all("Size", None, &id, &execution, &[Discrepancy::WrongType]).remove(0).reaction
        };
        assert_eq!(reaction(vec![native.clone()]), "TDim");
        assert_eq!(reaction(vec![plain, native]), "TDim");
    }

    #[test]
    fn refusals_in_other_words_are_other_mismatches() {
        const TABLE: &[Phrase] = &[
            (&["volume mismatch"], Class::Refused(Reason::Value)),
            (&["0 at position"], Class::Refused(Reason::Value)),
        ];
        let id = RuntimeId { name: "x".to_owned(), version: "1".to_owned(), configuration: String::new() };
        let mismatch = |message: &str| {
            let execution = Execution::failure(Stage::Load, message.to_owned(), TABLE, None);
            Mismatch::all("Reshape", None, &id, &execution, &[Discrepancy::RefusesValid]).remove(0)
        };
        let first = mismatch("volume mismatch: 3 and 4");
        assert_eq!(first.reaction, "objects to values: volume mismatch");
        assert_eq!(first, mismatch("at node_7: volume mismatch: 5 and 6"));
        assert_ne!(first, mismatch("0 at position 3"));
        assert_ne!(mismatch("no luck with [1, 2]"), mismatch("out of luck with [1, 2]"), "words that no table knows");
        assert_eq!(mismatch("no luck with [1, 2]"), mismatch("no luck with [3]"));
    }

    #[test]
    fn a_node_that_is_wrong_alone_may_be_behind_what_a_graph_shows() {
        let mismatch = |operator, discrepancy: Discrepancy, rule, reaction: &str| Mismatch {
            discrepancies: vec![discrepancy],
            operator,
            runtime: "x@1".to_owned(),
            rule,
            reaction: reaction.to_owned(),
        };
        let of_graph = |discrepancy, rule, reaction| mismatch(crate::operator::GRAPH, discrepancy, rule, reaction);
        let node = |discrepancy, rule, reaction| mismatch("Reshape", discrepancy, rule, reaction);
        let refused = of_graph(Discrepancy::RefusesValid, None, "objects to values");
        assert!(node(Discrepancy::RefusesValid, None, "refuses").may_cause(&refused), "in other words");
        assert!(node(Discrepancy::WrongDims, None, "").may_cause(&refused));
        assert!(!node(Discrepancy::AcceptsInvalid, Some(Rule::AXIS_RANGE), "").may_cause(&refused));
        assert!(!node(Discrepancy::WrongType, None, "TDim").may_cause(&refused), "its own type is only that");
        let accepted = of_graph(Discrepancy::AcceptsInvalid, Some(Rule::AXIS_RANGE), "");
        assert!(node(Discrepancy::AcceptsLeniently, Some(Rule::AXIS_RANGE), "").may_cause(&accepted));
        assert!(!node(Discrepancy::AcceptsInvalid, Some(Rule::ELEMENT_COUNT), "").may_cause(&accepted));
        assert!(node(Discrepancy::Truncates, None, "").may_cause(&accepted));
        assert!(!node(Discrepancy::RefusesValid, None, "").may_cause(&of_graph(Discrepancy::WrongValue, None, "")));
        let elsewhere = Mismatch { runtime: "y@1".to_owned(), ..node(Discrepancy::WrongDims, None, "") };
        assert!(!elsewhere.may_cause(&refused));
    }
}
