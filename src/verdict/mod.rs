//! Judges the results of runtimes by the expectation of the specification.
//!
//! One defect never hides another: a judgement lists every discrepancy that it sees.

mod discrepancy;
mod mismatch;
mod reason;

use serde::{Deserialize, Serialize};

pub use discrepancy::{Discrepancy, Severity, sentences};
pub use mismatch::{Mismatch, fail_alike, is_about_the_rule, lack, reaction};
pub use reason::{Fit, fit};

use crate::operator::{Answer, Expectation, Rule};
use crate::runtime::{Execution, Gap, Outcome, Output, Reason, Rewriting, RuntimeId};
use crate::tensor::{Difference, Tensor, differences};

/// The judgement of one runtime on one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    Agrees,
    /// The texts lean to another outcome, or do not cover this one, but it is no bug.
    Tolerated(Tolerance),
    /// A gap, not a bug.
    Unsupported(Gap),
    /// At least one discrepancy, the most severe first.
    Wrong(Vec<Discrepancy>),
}

/// Why an outcome is tolerated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tolerance {
    /// The rule leaves room for the outcome.
    Rule(Rule),
    /// Only the payload of a NaN was changed, which no text forbids.
    NanPayload,
    /// A node that must be refused was optimized away, and another configuration of the release gives no answer.
    Removed,
    /// A model that is not valid was rewritten, which no text forbids.
    Rewritten,
}

impl Tolerance {
    /// The id of the rule, or the name of the other reason.
    pub const fn id(self) -> &'static str {
        match self {
            Tolerance::Rule(rule) => rule.id(),
            Tolerance::NanPayload => "nan-payload",
            Tolerance::Removed => "removed-node",
            Tolerance::Rewritten => "rewritten-invalid",
        }
    }

    pub fn sentence(self) -> String {
        match self {
            Tolerance::Rule(rule) if rule.is_on_the_graph() => format!("the model may be refused or answered ({rule})"),
            Tolerance::Rule(rule) => format!("the texts leave room ({rule})"),
            Tolerance::NanPayload => "the payload of a NaN is changed".to_owned(),
            Tolerance::Removed => "the node is optimized away, and another configuration gives no answer".to_owned(),
            Tolerance::Rewritten => "the model is not valid before it is rewritten".to_owned(),
        }
    }
}

/// Judges every runtime on a case with this number of nodes, in order.
pub fn judge(expectation: &Expectation, nodes: usize, results: &[(&RuntimeId, &Execution)]) -> Vec<Judgement> {
    let mut judgements: Vec<Judgement> =
        results.iter().map(|(_, execution)| judge_one(expectation, execution)).collect();
    compare_configurations(expectation, nodes, results.iter().copied(), &mut judgements);
    judgements
}

/// Judges whether configurations of one release disagree although each outcome alone is acceptable. If one of them is wrong
/// alone, that says more, and nothing is changed. `judgements` holds the judgement of each runtime alone, and then of all
/// together.
pub fn compare_configurations<'a>(
    expectation: &Expectation,
    nodes: usize,
    results: impl Iterator<Item = (&'a RuntimeId, &'a Execution)>,
    judgements: &mut [Judgement],
) {
    // Outcomes that agree with the specification are all the same.
    let has_room = judgements.iter().any(|judgement| matches!(judgement, Judgement::Tolerated(_)));
    if !has_room || expectation.is_resource_limit() || is_invalid_graph(expectation) || is_left_to_all(expectation) {
        return;
    }
    let results: Vec<(&RuntimeId, &Execution)> = results.collect();
    for i in 0..results.len() {
        let others = || (0..results.len()).filter(|&j| results[j].0.is_release_of(results[i].0));
        let acceptable = |j: usize| matches!(judgements[j], Judgement::Agrees | Judgement::Tolerated(_));
        if others().all(acceptable) && others().any(|j| differ(nodes, &results[i].1.outcome, &results[j].1.outcome)) {
            let disagree = Judgement::Wrong(vec![Discrepancy::ConfigurationsDisagree]);
            for j in others().collect::<Vec<_>>() {
                judgements[j] = disagree.clone();
            }
        }
    }
}

/// Tolerates answers to a graph whose invalid node gives no graph output. An optimization may remove that node, and no text says
/// that a runtime must look for errors in a node that it need not compute. So an answer is tolerated if another configuration of
/// the same release refuses the model, which shows that the rule is checked, or has no kernel for the node.
pub fn tolerate_removed_nodes<'a>(
    results: impl Iterator<Item = (&'a RuntimeId, &'a Execution)>,
    judgements: &mut [Judgement],
) {
    const TOLERABLE: [Discrepancy; 2] = [Discrepancy::AcceptsInvalid, Discrepancy::AcceptsLeniently];
    let results: Vec<(&RuntimeId, &Execution)> = results.collect();
    let does_not_answer = |outcome: &Outcome| {
        matches!(outcome, Outcome::Refused { .. } | Outcome::Unclassified { .. } | Outcome::Unsupported(_))
    };
    for (index, judgement) in judgements.iter_mut().enumerate() {
        let mut release = results.iter().filter(|(id, _)| id.is_release_of(results[index].0));
        let is_tolerable =
            matches!(judgement, Judgement::Wrong(found) if found.iter().all(|found| TOLERABLE.contains(found)));
        if is_tolerable && release.any(|(_, execution)| does_not_answer(&execution.outcome)) {
            *judgement = Judgement::Tolerated(Tolerance::Removed);
        }
    }
}

/// Whether any answer is tolerated, so that configurations of a runtime may differ.
fn is_left_to_all(expectation: &Expectation) -> bool {
    matches!(expectation, Expectation::Unspecified { tolerated, .. } if tolerated.contains(&Answer::Any))
}

/// Whether the outcome is left open because the graph around the node is invalid. A refusal is then right at any stage, in any
/// configuration and for any reason.
fn is_invalid_graph(expectation: &Expectation) -> bool {
    expectation.rule().is_some_and(Rule::is_on_the_graph)
}

/// Whether two acceptable outcomes of one runtime show that it disagrees with itself. In a graph, a refusal proves nothing: it
/// may concern another node, or a node that an optimization removes.
pub fn differ(nodes: usize, a: &Outcome, b: &Outcome) -> bool {
    match (a, b) {
        (Outcome::Answer(a), Outcome::Answer(b)) => !agree(a, b),
        (a, b) => nodes == 1 && !same_reaction(a, b),
    }
}

/// Whether two outcomes are the same answer, or both are no answer.
pub fn same_reaction(a: &Outcome, b: &Outcome) -> bool {
    match (a, b) {
        (Outcome::Answer(a), Outcome::Answer(b)) => a == b,
        (a, b) => matches!(a, Outcome::Answer(_)) == matches!(b, Outcome::Answer(_)),
    }
}

/// Whether two answers are the same, apart from the payload of a NaN.
pub fn agree(a: &[Output], b: &[Output]) -> bool {
    let is_payload = |difference: Difference| matches!(difference, Difference::NanPayload(_));
    let same = |(a, b): (&Output, &Output)| {
        a.native_type == b.native_type && differences(&a.tensor, &b.tensor).into_iter().all(is_payload)
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

/// Judges one runtime alone.
pub fn judge_one(expectation: &Expectation, execution: &Execution) -> Judgement {
    let judgement = judge_outcome(expectation, execution);
    match &execution.rewriting {
        Some(rewriting) => judge_rewriting(expectation, judgement, rewriting),
        None => judgement,
    }
}

/// Judges a rewriter. `judgement` is that of onnxruntime on the rewritten model. The rewriter is at fault only if onnxruntime is
/// right about the original model; otherwise the fault may be its own. If the rewritten model is invalid or its interface has
/// changed, a refusal of it is not reported as well.
fn judge_rewriting(expectation: &Expectation, judgement: Judgement, rewriting: &Rewriting) -> Judgement {
    let is_right =
        |original: &Execution| matches!(judge_one(expectation, original), Judgement::Agrees | Judgement::Tolerated(_));
    let mut found = match &judgement {
        Judgement::Wrong(found) if rewriting.original.as_ref().is_some_and(is_right) => found.clone(),
        _ => vec![],
    };
    if !matches!(expectation, Expectation::Reject { .. }) {
        let own = [
            rewriting.invalid.as_ref().map(|_| Discrepancy::InvalidModel),
            rewriting.interface.as_ref().map(|_| Discrepancy::ChangedInterface),
        ];
        if own.iter().any(Option::is_some) {
            found.retain(|found| *found != Discrepancy::RefusesValid);
        }
        found.extend(own.into_iter().flatten());
        found.sort_unstable();
    }
    let accepts = |found: &Discrepancy| matches!(found, Discrepancy::AcceptsInvalid | Discrepancy::AcceptsLeniently);
    match judgement {
        Judgement::Wrong(found) if found.iter().all(accepts) => Judgement::Tolerated(Tolerance::Rewritten),
        _ if !found.is_empty() => Judgement::Wrong(found),
        Judgement::Wrong(_) => Judgement::Unsupported(Gap::Judge),
        other => other,
    }
}

fn judge_outcome(expectation: &Expectation, execution: &Execution) -> Judgement {
    match &execution.outcome {
        Outcome::Crashed { .. } => Judgement::Wrong(vec![Discrepancy::Crash]),
        // Another machine may have enough time and memory.
        Outcome::TimedOut | Outcome::OutOfMemory if expectation.is_beyond_judging() => {
            Judgement::Tolerated(Tolerance::Rule(Rule::VAST_ANSWER))
        }
        Outcome::TimedOut | Outcome::OutOfMemory => Judgement::Wrong(vec![Discrepancy::Exhaustion]),
        Outcome::Garbled => Judgement::Wrong(vec![Discrepancy::Garbage]),
        Outcome::Panicked { .. } => Judgement::Wrong(vec![Discrepancy::Panic]),
        Outcome::Unsupported(gap) => Judgement::Unsupported(*gap),
        Outcome::Refused { .. } | Outcome::Unclassified { .. } => match expectation {
            Expectation::Reject { .. } => Judgement::Agrees,
            // A failure that has nothing to do with the unspecified point is not a tolerated refusal.
            Expectation::Unspecified { rule, tolerated }
                if tolerated.contains(&Answer::Refusal)
                    && (is_invalid_graph(expectation) || !is_beside_the_point(&execution.outcome)) =>
            {
                Judgement::Tolerated(Tolerance::Rule(*rule))
            }
            Expectation::Defined(_) | Expectation::Unspecified { .. } => {
                Judgement::Wrong(vec![Discrepancy::RefusesValid])
            }
        },
        Outcome::Answer(outputs) => {
            let (mut found, tolerance) = judge_answer(expectation, outputs);
            if execution.undeclared_output().is_some() {
                found.push(Discrepancy::Undeclared);
            }
            found.sort_unstable();
            found.dedup();
            match (found.is_empty(), tolerance) {
                (false, _) => Judgement::Wrong(found),
                (true, Some(tolerance)) => Judgement::Tolerated(tolerance),
                (true, None) => Judgement::Agrees,
            }
        }
    }
}

/// Whether a refusal cannot concern the call: the contents of a tensor are always well-formed, and a model that is accepted
/// before its optimization is not refused for what it demands.
fn is_beside_the_point(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Refused { reason: Reason::Data | Reason::Optimization, .. })
}

fn judge_answer(expectation: &Expectation, outputs: &[Output]) -> (Vec<Discrepancy>, Option<Tolerance>) {
    match expectation {
        Expectation::Defined(expected) => compare(expected, outputs),
        Expectation::Reject { lenient, .. } => {
            let is_lenient = lenient.as_ref().is_some_and(|lenient| compare(lenient, outputs).0.is_empty());
            (vec![if is_lenient { Discrepancy::AcceptsLeniently } else { Discrepancy::AcceptsInvalid }], None)
        }
        Expectation::Unspecified { rule, tolerated } => {
            let answers = tolerated.iter().filter_map(|answer| match answer {
                Answer::Outputs(expected) => Some(compare(expected, outputs).0),
                Answer::Any => Some(vec![]),
                Answer::Refusal => None,
            });
            // The nearest of the tolerated answers is taken for the intended one.
            match answers.min_by_key(Vec::len) {
                Some(found) => (found, Some(Tolerance::Rule(*rule))),
                None => (vec![Discrepancy::AcceptsInvalid], None),
            }
        }
    }
}

fn compare(expected: &[Tensor], outputs: &[Output]) -> (Vec<Discrepancy>, Option<Tolerance>) {
    let mut found = Vec::new();
    let mut tolerance = None;
    if expected.len() != outputs.len() {
        found.push(Discrepancy::WrongCount);
    }
    for (expected, output) in expected.iter().zip(outputs) {
        if output.native_type.is_some() {
            found.push(Discrepancy::WrongType);
        }
        for difference in differences(expected, &output.tensor) {
            match difference {
                Difference::ElementType => found.push(Discrepancy::WrongType),
                Difference::Rank => found.push(Discrepancy::WrongRank),
                Difference::Dims => found.push(Discrepancy::WrongDims),
                Difference::Values(_) => found.push(Discrepancy::WrongValue),
                Difference::NanPayload(_) => tolerance = Some(Tolerance::NanPayload),
            }
        }
    }
    (found, tolerance)
}

impl Execution {
    /// The description of a fault of the rewritten model, if the discrepancy is one.
    fn rewriting_words(&self, found: Discrepancy) -> Option<&str> {
        let rewriting = self.rewriting.as_ref()?;
        match found {
            Discrepancy::InvalidModel => rewriting.invalid.as_deref(),
            Discrepancy::ChangedInterface => rewriting.interface.as_deref(),
            _ => None,
        }
    }

    /// The place of the first output that contradicts its declaration. A type, rank or dim that is left open contradicts nothing.
    pub fn undeclared_output(&self) -> Option<usize> {
        let (Some(declared), Outcome::Answer(outputs)) = (&self.declared, &self.outcome) else { return None };
        declared.iter().zip(outputs).position(|(declaration, output)| {
            let tensor = &output.tensor;
            let other_type =
                output.native_type.is_none() && declaration.element_type.is_some_and(|t| t != tensor.element_type());
            let other_dims = declaration.dims.as_ref().is_some_and(|dims| {
                dims.len() != tensor.rank()
                    || dims.iter().zip(tensor.dims()).any(|(declared, &given)| declared.is_some_and(|d| d != given))
            });
            other_type || other_dims
        })
    }
}

/// A class of equal outcomes, with its runtimes. A timeout and running out of memory count as equal.
#[derive(Debug)]
pub struct OutcomeClass<'a> {
    pub outcome: &'a Outcome,
    /// The message of the first runtime; empty after an answer.
    pub message: &'a str,
    /// Indices into the results.
    pub members: Vec<usize>,
}

/// The classes of outcome, in the order in which they first appear.
pub fn classes<'a>(results: &[(&'a RuntimeId, &'a Execution)]) -> Vec<OutcomeClass<'a>> {
    let mut classes: Vec<OutcomeClass<'a>> = Vec::new();
    for (index, (_, execution)) in results.iter().enumerate() {
        let outcome = &execution.outcome;
        let is_like = |other: &Outcome| other == outcome || other.is_exhaustion() && outcome.is_exhaustion();
        match classes.iter_mut().find(|class| is_like(class.outcome)) {
            Some(class) => class.members.push(index),
            None => classes.push(OutcomeClass { outcome, message: &execution.message, members: vec![index] }),
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Declaration;
    use crate::runtime::{NativeType, Stage};
    use crate::tensor::ElementType;

    fn id(kind: &str, configuration: &str) -> RuntimeId {
        RuntimeId { name: kind.to_owned(), version: "1".to_owned(), configuration: configuration.to_owned() }
    }

    fn answer(tensor: Tensor) -> Execution {
        Execution::answer(vec![Output::new(tensor)], vec![])
    }

    fn refusal() -> Execution {
        let outcome = Outcome::Refused { stage: Stage::Load, reason: Reason::Value };
        Execution::without_answer(outcome, "no".to_owned())
    }

    fn one(expectation: &Expectation, execution: &Execution) -> Judgement {
        judge(expectation, 1, &[(&id("x", ""), execution)]).remove(0)
    }

    #[test]
    fn every_discrepancy_is_listed() {
        let expected = Expectation::Defined(vec![Tensor::vector(&[2, 3])]);
        assert_eq!(one(&expected, &answer(Tensor::vector(&[2, 3]))), Judgement::Agrees);
        let int32 = Tensor::from_element_bits(ElementType::Int32, vec![2, 1], [2, 4]).unwrap();
        assert_eq!(
            one(&expected, &answer(int32)),
            Judgement::Wrong(vec![Discrepancy::WrongValue, Discrepancy::WrongRank, Discrepancy::WrongType])
        );
        assert_eq!(one(&expected, &refusal()), Judgement::Wrong(vec![Discrepancy::RefusesValid]));
        let nothing = Execution::answer(vec![], vec![]);
        assert_eq!(one(&expected, &nothing), Judgement::Wrong(vec![Discrepancy::WrongCount]));
    }

    #[test]
    fn a_foreign_type_is_wrong_but_its_numbers_count() {
        let expected = Expectation::Defined(vec![Tensor::vector(&[2, 3])]);
        let foreign = |values: &[i64]| {
            let output = Output { tensor: Tensor::vector(values), native_type: Some(NativeType::TDim) };
            one(&expected, &Execution::answer(vec![output], vec![]))
        };
        assert_eq!(foreign(&[2, 3]), Judgement::Wrong(vec![Discrepancy::WrongType]));
        assert_eq!(foreign(&[2, 4]), Judgement::Wrong(vec![Discrepancy::WrongValue, Discrepancy::WrongType]));
    }

    #[test]
    fn a_rewriter_is_held_to_the_original_model_and_to_what_it_changes() {
        let expected = Expectation::Defined(vec![Tensor::scalar(1)]);
        let (right, wrong) = (answer(Tensor::scalar(1)), answer(Tensor::scalar(2)));
        let judged = |execution: &Execution, invalid: bool, interface: bool, original: Option<i64>| {
            let words = |is: bool| is.then(|| "why".to_owned());
            let original = original.map(|value| answer(Tensor::scalar(value)));
            let rewriting = Rewriting { invalid: words(invalid), interface: words(interface), original };
            one(&expected, &Execution { rewriting: Some(Box::new(rewriting)), ..execution.clone() })
        };
        assert_eq!(judged(&right, false, false, None), Judgement::Agrees);
        assert_eq!(judged(&wrong, false, false, Some(1)), Judgement::Wrong(vec![Discrepancy::WrongValue]));
        assert_eq!(judged(&wrong, false, false, None), Judgement::Unsupported(Gap::Judge));
        // onnxruntime is wrong about the original model in another way.
        assert_eq!(judged(&wrong, false, false, Some(3)), Judgement::Unsupported(Gap::Judge));
        assert_eq!(judged(&refusal(), false, false, Some(3)), Judgement::Unsupported(Gap::Judge));
        assert_eq!(judged(&refusal(), false, false, Some(1)), Judgement::Wrong(vec![Discrepancy::RefusesValid]));
        let open = Expectation::Unspecified {
            rule: Rule::ALLOWZERO_VALUE,
            tolerated: vec![Answer::Refusal, Answer::Outputs(vec![Tensor::scalar(1)])],
        };
        // The original model may be refused, and the answer to the rewritten one is none of those that are tolerated.
        let rewriting = Some(Box::new(Rewriting { original: Some(refusal()), ..Rewriting::default() }));
        assert_eq!(
            one(&open, &Execution { rewriting, ..wrong.clone() }),
            Judgement::Wrong(vec![Discrepancy::WrongValue])
        );
        assert_eq!(judged(&right, true, false, None), Judgement::Wrong(vec![Discrepancy::InvalidModel]));
        assert_eq!(judged(&refusal(), false, true, Some(1)), Judgement::Wrong(vec![Discrepancy::ChangedInterface]));
        assert_eq!(
            judged(&wrong, true, true, Some(1)),
            Judgement::Wrong(vec![Discrepancy::WrongValue, Discrepancy::InvalidModel, Discrepancy::ChangedInterface])
        );
        let reject = Expectation::Reject { rule: Rule::NEGATIVE_AXIS, lenient: None };
        let rewriting = Some(Box::new(Rewriting { invalid: Some("why".to_owned()), ..Rewriting::default() }));
        let invalid = |execution: Execution| one(&reject, &Execution { rewriting: rewriting.clone(), ..execution });
        assert_eq!(invalid(refusal()), Judgement::Agrees);
        assert_eq!(invalid(answer(Tensor::scalar(1))), Judgement::Tolerated(Tolerance::Rewritten));
    }

    #[test]
    fn what_must_be_rejected_may_not_be_answered() {
        let expected = Expectation::Reject { rule: Rule::NEGATIVE_AXIS, lenient: Some(vec![Tensor::vector(&[1])]) };
        assert_eq!(one(&expected, &refusal()), Judgement::Agrees);
        assert_eq!(
            one(&expected, &answer(Tensor::vector(&[1]))),
            Judgement::Wrong(vec![Discrepancy::AcceptsLeniently])
        );
        assert_eq!(one(&expected, &answer(Tensor::vector(&[2]))), Judgement::Wrong(vec![Discrepancy::AcceptsInvalid]));
    }

    #[test]
    fn what_is_left_open_is_tolerated_within_the_set() {
        let rule = Rule::ALLOWZERO_VALUE;
        let tolerated =
            vec![Answer::Outputs(vec![Tensor::vector(&[1])]), Answer::Outputs(vec![Tensor::vector(&[2, 2])])];
        let open = Expectation::Unspecified { rule, tolerated };
        let within = Judgement::Tolerated(Tolerance::Rule(rule));
        assert_eq!(one(&open, &answer(Tensor::vector(&[1]))), within);
        assert_eq!(one(&open, &answer(Tensor::vector(&[2, 2]))), within);
        assert_eq!(one(&open, &answer(Tensor::vector(&[3]))), Judgement::Wrong(vec![Discrepancy::WrongValue]));
        assert_eq!(one(&open, &refusal()), Judgement::Wrong(vec![Discrepancy::RefusesValid]));
        let refusable = Expectation::Unspecified { rule, tolerated: vec![Answer::Refusal] };
        assert_eq!(one(&refusable, &refusal()), within);
        assert_eq!(one(&refusable, &answer(Tensor::vector(&[1]))), Judgement::Wrong(vec![Discrepancy::AcceptsInvalid]));
    }

    #[test]
    fn to_run_out_of_memory_is_wrong_unless_another_machine_may_have_enough() {
        let beyond =
            Expectation::Unspecified { rule: Rule::VAST_ANSWER, tolerated: vec![Answer::Any, Answer::Refusal] };
        let others = [
            Expectation::Reject { rule: Rule::VAST_ANSWER, lenient: None },
            Expectation::Reject { rule: Rule::AXIS_RANGE, lenient: None },
            Expectation::Defined(vec![Tensor::scalar(1)]),
        ];
        for outcome in [Outcome::TimedOut, Outcome::OutOfMemory] {
            let execution = Execution::without_answer(outcome, String::new());
            let tolerated = Judgement::Tolerated(Tolerance::Rule(Rule::VAST_ANSWER));
            assert_eq!(judge_one(&beyond, &execution), tolerated);
            for other in &others {
                assert_eq!(judge_one(other, &execution), Judgement::Wrong(vec![Discrepancy::Exhaustion]));
            }
        }
    }

    #[test]
    fn a_refusal_that_cannot_be_meant_is_wrong_whatever_is_left_open() {
        let open = Expectation::Unspecified { rule: Rule::ALLOWZERO_VALUE, tolerated: vec![Answer::Refusal] };
        for reason in [Reason::Data, Reason::Optimization] {
            let outcome = Outcome::Refused { stage: Stage::Load, reason };
            let refused = Execution { outcome, ..refusal() };
            assert_eq!(one(&open, &refused), Judgement::Wrong(vec![Discrepancy::RefusesValid]));
        }
    }

    #[test]
    fn an_invalid_graph_may_be_refused_anyhow_and_answered_rightly() {
        let right = vec![Tensor::vector(&[1])];
        let open = Expectation::Defined(right).in_invalid_graph(Rule::UNRANKED);
        let within = Judgement::Tolerated(Tolerance::Rule(Rule::UNRANKED));
        for reason in [Reason::Value, Reason::Data, Reason::Optimization] {
            let outcome = Outcome::Refused { stage: Stage::Load, reason };
            assert_eq!(one(&open, &Execution { outcome, ..refusal() }), within);
        }
        assert_eq!(one(&open, &answer(Tensor::vector(&[2]))), Judgement::Wrong(vec![Discrepancy::WrongValue]));
        let (a, b) = (id("x", "a"), id("x", "b"));
        let judgements = judge(&open, 1, &[(&a, &answer(Tensor::vector(&[1]))), (&b, &refusal())]);
        assert_eq!(judgements, [within.clone(), within]);
    }

    #[test]
    fn a_declaration_that_rules_the_answer_out_is_wrong() {
        let expected = Expectation::Defined(vec![Tensor::vector(&[2, 3])]);
        let declared = |element_type, dims: Option<Vec<Option<i64>>>| {
            let declaration = Declaration { element_type, dims };
            one(&expected, &Execution::answer(vec![Output::new(Tensor::vector(&[2, 3]))], vec![declaration]))
        };
        let wrong = Judgement::Wrong(vec![Discrepancy::Undeclared]);
        assert_eq!(declared(None, None), Judgement::Agrees);
        assert_eq!(declared(Some(ElementType::Int64), Some(vec![None])), Judgement::Agrees);
        assert_eq!(declared(Some(ElementType::Int32), None), wrong);
        assert_eq!(declared(None, Some(vec![])), wrong);
        assert_eq!(declared(None, Some(vec![Some(3)])), wrong);
    }

    #[test]
    fn configurations_that_differ_are_wrong_where_each_alone_is_tolerated() {
        let rule = Rule::COPIED_ZERO_AND_INFERRED;
        let tolerated = vec![Answer::Refusal, Answer::Outputs(vec![Tensor::vector(&[1])])];
        let open = Expectation::Unspecified { rule, tolerated };
        let (a, b, other) = (id("x", "a"), id("x", "b"), id("y", ""));
        let (yes, no) = (answer(Tensor::vector(&[1])), refusal());
        let judgements = judge(&open, 1, &[(&a, &yes), (&other, &yes), (&b, &no)]);
        let disagree = Judgement::Wrong(vec![Discrepancy::ConfigurationsDisagree]);
        assert_eq!(judgements, [disagree.clone(), Judgement::Tolerated(Tolerance::Rule(rule)), disagree]);
        let in_a_graph = judge(&open, 2, &[(&a, &yes), (&b, &no)]);
        assert!(in_a_graph.iter().all(|j| matches!(j, Judgement::Tolerated(_))), "another node may refuse");
        let agreeing = judge(&open, 1, &[(&a, &yes), (&b, &yes)]);
        assert!(agreeing.iter().all(|j| matches!(j, Judgement::Tolerated(_))));
        let nan = |bits| Tensor::from_element_bits(ElementType::Float, vec![1], [bits]).unwrap();
        let open = Expectation::unspecified(rule, [Answer::Refusal, Answer::Outputs(vec![nan(0x7fc0_0001)])]);
        let payloads = judge(&open, 1, &[(&a, &answer(nan(0x7fc0_0001))), (&b, &answer(nan(0x7fc0_0002)))]);
        assert!(payloads.iter().all(|j| matches!(j, Judgement::Tolerated(_))), "{payloads:?}");
    }

    #[test]
    fn a_node_may_be_optimized_away_if_another_configuration_refuses_the_model() {
        let expected = Expectation::Reject { rule: Rule::ELEMENT_COUNT, lenient: None };
        let ids = [id("x", "a"), id("y", ""), id("x", "b")];
        let judged = |executions: [Execution; 3]| {
            let results: Vec<(&RuntimeId, &Execution)> = ids.iter().zip(&executions).collect();
            let mut judgements = judge(&expected, 2, &results);
            tolerate_removed_nodes(results.into_iter(), &mut judgements);
            judgements
        };
        let yes = |value: i64| answer(Tensor::vector(&[value]));
        let wrong = Judgement::Wrong(vec![Discrepancy::AcceptsInvalid]);
        let removed = Judgement::Tolerated(Tolerance::Removed);
        assert_eq!(judged([refusal(), yes(1), yes(1)]), [Judgement::Agrees, wrong.clone(), removed]);
        assert_eq!(judged([yes(1), refusal(), yes(1)]), [wrong.clone(), Judgement::Agrees, wrong]);
    }

    #[test]
    fn a_changed_nan_payload_is_no_bug_and_is_told_apart() {
        let nan = |bits| Tensor::from_element_bits(ElementType::Float, vec![1], [bits]).unwrap();
        let expected = Expectation::Defined(vec![nan(0x7fc0_0001)]);
        assert_eq!(one(&expected, &answer(nan(0x7fc0_0000))), Judgement::Tolerated(Tolerance::NanPayload));
        assert_eq!(one(&expected, &answer(nan(0))), Judgement::Wrong(vec![Discrepancy::WrongValue]));
    }

    #[test]
    fn equal_outcomes_are_one_class_whatever_their_words() {
        let (a, b, c) = (id("a", ""), id("b", ""), id("c", ""));
        let (first, second) = (refusal(), Execution { message: "never".to_owned(), ..refusal() });
        let third = answer(Tensor::vector(&[1]));
        let results = [(&a, &first), (&b, &third), (&c, &second)];
        let members: Vec<Vec<usize>> = classes(&results).into_iter().map(|class| class.members).collect();
        assert_eq!(members, [vec![0, 2], vec![1]]);
    }

    #[test]
    fn out_of_time_and_out_of_memory_are_one_class() {
        let (a, b) = (id("a", ""), id("b", ""));
        let [time, memory] =
            [Outcome::TimedOut, Outcome::OutOfMemory].map(|outcome| Execution::without_answer(outcome, String::new()));
        assert_eq!(classes(&[(&a, &time), (&b, &memory)]).len(), 1);
    }
}
