//! Results in words that need no term of this project.

use crate::case::{Case, Declared, Encoding, Fed, Wiring, describe};
use crate::finding::report::code;
use crate::model::Job;
use crate::operator::{Answer, Expectation, OPERATORS, Operator};
use crate::runtime::{Execution, Outcome, Reason, Stage};
use crate::tensor::Tensor;
use crate::text::cut;
use crate::verdict::{Discrepancy, Judgement};

/// The most characters of a message that are shown.
const LONGEST: usize = 240;

/// A tensor: its type, its shape, and its elements if they are few.
pub(super) fn tensor(tensor: &Tensor) -> String {
    tensor_of(tensor.element_type().name(), tensor)
}

/// A tensor with this name for its element type.
fn tensor_of(type_name: &str, tensor: &Tensor) -> String {
    let dims = tensor.dims();
    if tensor.is_empty() {
        return format!("an empty {type_name} tensor of shape {dims:?}");
    }
    let text = describe(tensor);
    let elements = text.split_once('{').map_or("", |(_, elements)| elements.trim_end_matches('}')).replace(',', ", ");
    format!("{} {type_name} tensor of shape {dims:?} that holds {elements}", article(type_name))
}

fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" }
}

fn tensors(tensors: &[Tensor]) -> String {
    tensors.iter().map(tensor).collect::<Vec<_>>().join(", and ")
}

/// The expected result of a model.
pub(super) fn expected(expectation: &Expectation, discrepancies: &[Discrepancy]) -> String {
    if discrepancies.contains(&Discrepancy::Undeclared) {
        return "an output of the type and shape that the runtime itself declares for it once the model is loaded"
            .to_owned();
    }
    if discrepancies.iter().any(|found| matches!(found, Discrepancy::InvalidModel | Discrepancy::ChangedInterface)) {
        return "a model that the checker of ONNX takes, with the inputs and outputs of the model that is rewritten"
            .to_owned();
    }
    let same = |what: &str| format!("the same each time, an answer or an error, {what}");
    match discrepancies.first() {
        Some(Discrepancy::ConfigurationsDisagree) => return same("however the model is prepared"),
        Some(Discrepancy::WiringsDisagree) => return same("however the inputs reach the node"),
        Some(Discrepancy::OpsetsDisagree) => {
            return same("at both opsets, between which only the list of types changed");
        }
        _ => {}
    }
    match expectation {
        Expectation::Defined(outputs) => tensors(outputs),
        Expectation::Reject { .. } => "an error, when the model is loaded or when it is run".to_owned(),
        Expectation::Unspecified { tolerated, .. } => {
            let answers = tolerated.iter().map(|answer| match answer {
                Answer::Outputs(outputs) => tensors(outputs),
                Answer::Refusal => "an error".to_owned(),
                Answer::Any => "any answer".to_owned(),
            });
            answers.collect::<Vec<_>>().join(", or ")
        }
    }
}

/// The result of a runtime, as words after its name.
pub(super) fn did(execution: &Execution) -> String {
    let at = |stage: &Stage| match stage {
        Stage::Load => "when the model is loaded",
        Stage::Run => "when it is run",
    };
    let message = || match cut(&execution.message, LONGEST) {
        nothing if nothing.is_empty() => "(no message)".to_owned(),
        words => code(&words),
    };
    if let Some(rewriting) = execution.rewriting.as_deref() {
        let faults = [("is not valid", &rewriting.invalid), ("has another interface", &rewriting.interface)];
        let said = |(what, words): (&str, &Option<String>)| {
            words.as_ref().map(|words| format!("gives a model that {what}: {}", code(&cut(words, LONGEST))))
        };
        let said: Vec<String> = faults.into_iter().filter_map(said).collect();
        if !said.is_empty() {
            return said.join(" and ");
        }
    }
    match &execution.outcome {
        Outcome::Answer(outputs) => {
            let words = outputs.iter().map(|output| match output.native_type {
                Some(native) => tensor_of(&format!("`{}`", native.name()), &output.tensor),
                None => tensor(&output.tensor),
            });
            format!("gives {}", words.collect::<Vec<_>>().join(", and "))
        }
        // Only when the output is read does it show that it has no numbers.
        Outcome::Refused { reason: Reason::Symbol, stage: Stage::Run } => {
            format!("gives an output of symbols that has no numbers: {}", message())
        }
        Outcome::Refused { stage, .. } | Outcome::Unclassified { stage } => {
            format!("gives an error {}: {}", at(stage), message())
        }
        Outcome::Unsupported(_) => format!("does not support it: {}", message()),
        Outcome::Panicked { stage } => format!("panics {}: {}", at(stage), message()),
        Outcome::Crashed { signal: Some(signal) } => format!("is ended by signal {signal}"),
        Outcome::Crashed { signal: None } => "ends its process".to_owned(),
        Outcome::TimedOut => "gives no answer within the time limit".to_owned(),
        Outcome::OutOfMemory => "takes more memory than its limit".to_owned(),
        Outcome::Garbled => "gives something that cannot be read".to_owned(),
    }
}

/// What a runtime does wrong, in words that need no result of it.
pub(super) fn does(discrepancies: &[Discrepancy]) -> String {
    discrepancies.iter().map(|discrepancy| plain(*discrepancy)).collect::<Vec<_>>().join(" and ")
}

/// A discrepancy, as words after the name of a runtime.
fn plain(discrepancy: Discrepancy) -> &'static str {
    match discrepancy {
        Discrepancy::WrongDims => "gives an output of another shape",
        Discrepancy::WrongRank => "gives an output of another rank",
        Discrepancy::Truncates => "does what the 64-bit numbers of the model would ask for if they were cut to 32 bits",
        Discrepancy::Undeclared => "gives an output that is not of the type and shape that it declares at load",
        Discrepancy::ConfigurationsDisagree => "does not do the same however the model is prepared",
        Discrepancy::WiringsDisagree => "does not do the same however the inputs reach the node",
        Discrepancy::OpsetsDisagree => {
            "does not do the same at two opsets between which only the list of types changed"
        }
        Discrepancy::AcceptsInvalid => "gives an output for an invalid model",
        Discrepancy::AcceptsLeniently => "gives an output for an invalid model, as if it were one of a later version",
        other => other.sentence(),
    }
}

/// The judgement on a runtime, in a table.
pub(super) fn mark(judgement: &Judgement) -> &'static str {
    match judgement {
        Judgement::Agrees => "right",
        Judgement::Tolerated(_) => "acceptable",
        Judgement::Unsupported(_) => "not supported",
        Judgement::Wrong(_) => "**wrong**",
    }
}

/// How the inputs of a node reach it.
pub(super) const fn wiring(wiring: Wiring) -> &'static str {
    match wiring {
        Wiring::Input(Declared::Static) => "graph inputs of a fixed shape",
        Wiring::Input(Declared::Symbolic) => "graph inputs with a symbol for each dimension",
        Wiring::Input(Declared::Shared) => "graph inputs with one symbol for equal dimensions",
        Wiring::Input(Declared::Unranked) => "graph inputs of unknown rank",
        Wiring::Initializer(Encoding::Raw) => "initializers (`raw_data`)",
        Wiring::Initializer(Encoding::Typed) => "initializers (typed field, such as `float_data`)",
        Wiring::Constant(Encoding::Raw) => "Constant nodes (`raw_data`)",
        Wiring::Constant(Encoding::Typed) => "Constant nodes (typed field)",
        Wiring::Default(Fed::Nothing) => "graph inputs with a default, not fed",
        Wiring::Default(Fed::Operand) => "graph inputs with a default, fed",
    }
}

/// The difference between a second model and the first, in words.
pub(super) fn difference(case: &Case, other: &Case) -> String {
    if case.opset != other.opset {
        return format!("the same at opset {}", other.opset);
    }
    let wired = other.sources.iter().map(|operand| operand.wiring).next();
    format!("the same call with its inputs as {}", wired.map_or("graph inputs", wiring))
}

/// The inputs that a model is fed, a line each.
pub(super) fn feeds(job: &Job) -> Vec<String> {
    job.feeds(job.runs.len().saturating_sub(1)).map(|(name, fed)| format!("`{name}` is {}", tensor(fed))).collect()
}

/// The operators of generated models.
pub(super) fn operators() -> String {
    let names: Vec<&str> = OPERATORS.iter().map(|operator| operator.name).collect();
    names.split_last().map_or(String::new(), |(last, others)| format!("{} and {last}", others.join(", ")))
}

/// A sentence without its full stop.
pub(super) fn without_stop(sentence: &str) -> &str {
    sentence.trim_end().trim_end_matches('.')
}

/// A sentence on what is wrong, as a title. The title names the operator, if there is one and the sentence names none.
pub(super) fn title(operator: Option<&Operator>, sentence: &str) -> String {
    let sentence = without_stop(sentence);
    let names_one = || OPERATORS.iter().any(|operator| sentence.contains(operator.name));
    match operator {
        Some(operator) if !names_one() => format!("{operator}: {}", uncapitalized(sentence)),
        _ => sentence.to_owned(),
    }
}

/// A sentence as it is written after a colon.
fn uncapitalized(sentence: &str) -> String {
    let mut characters = sentence.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_names_an_operator_once() {
        let reshape = OPERATORS.iter().copied().find(|operator| operator.name == "Reshape");
        assert_eq!(title(reshape, "An axis is not checked."), "Reshape: an axis is not checked");
        assert_eq!(title(reshape, "An axis of Flatten is not checked."), "An axis of Flatten is not checked");
        assert_eq!(title(None, "An axis is not checked."), "An axis is not checked");
    }
}
