//! Batches that go wrong: cases as the nodes of one model that a runtime does not get right, though each is right alone.

use super::schedule::execute_in_one;
use crate::case::{Case, Declared, Features, Generated, Operand, Single, Wiring, shrink};
use crate::model::{self, Versions};
use crate::operator::{InputSpec, NEWEST_OPSET, OPERATORS, Operator, Role};
use crate::runtime::{Outcome, Runtime, execute_once};
use crate::tensor::ElementType;
use crate::verdict::{Discrepancy, Judgement, judge_one, reaction};

/// What is wrong where the batch is answered.
pub(super) const OTHER_ANSWER: &str = "answers otherwise than alone";

/// What is wrong where the batch is not answered.
pub(super) fn not_answered(outcome: &Outcome) -> String {
    let what = match outcome {
        Outcome::Answer(_) => Discrepancy::WrongCount.sentence(),
        failed => reaction(failed),
    };
    format!("{what}, though each case is answered alone")
}

/// What is special about the cases of a batch, in any order.
pub fn traits_of(cases: &[Case]) -> String {
    let mut traits: Vec<String> =
        cases.iter().map(|case| format!("{} {}", case.subject(), Features::of(case))).collect();
    traits.sort_unstable();
    traits.join(" + ")
}

/// What a runtime does wrong with cases in one model, though each is right alone; nothing if it does not.
pub fn wrong_together(cases: &[Case], runtime: &mut dyn Runtime) -> Option<String> {
    let versions = cases.first().map(Versions::of)?;
    if cases.iter().any(|case| Versions::of(case) != versions) {
        return None;
    }
    let cases: Vec<Generated> = cases.iter().cloned().map(Generated::given).collect();
    let is_right = |generated: &Generated| {
        let execution = execute_once(runtime, &model::job(&generated.case, &generated.tensors));
        matches!(execution.outcome, Outcome::Answer(_))
            && !matches!(judge_one(&generated.expectation, &execution), Judgement::Wrong(_))
    };
    if !cases.iter().all(is_right) {
        return None;
    }
    match execute_in_one(&cases, runtime) {
        Err(execution) => Some(not_answered(&execution.outcome)),
        Ok(executions) => {
            let mut judged = cases.iter().zip(&executions).map(|(one, done)| judge_one(&one.expectation, done));
            judged.any(|judgement| matches!(judgement, Judgement::Wrong(_))).then(|| OTHER_ANSWER.to_owned())
        }
    }
}

/// Batches with nothing special in them: two nodes of different operators, and one node that is fed twice. What goes wrong in
/// one of these has nothing to do with its cases.
fn plain_batches() -> Vec<Vec<Case>> {
    let plain = |operator: &'static Operator| fed_with(operator, 1, Declared::Static);
    let pairs = OPERATORS.iter().enumerate().flat_map(|(place, &first)| {
        OPERATORS[place + 1..].iter().map(move |&second| vec![plain(first), plain(second)])
    });
    let twice =
        OPERATORS.iter().map(|&operator| [1, 2].map(|dim| fed_with(operator, dim, Declared::Symbolic)).to_vec());
    pairs.chain(twice).collect()
}

/// A call with float data of one dim, and a target shape that takes whatever it is.
fn fed_with(operator: &'static Operator, dim: i64, declared: Declared) -> Case {
    let inputs = operator.version_at(NEWEST_OPSET).map_or(&[][..], |version| version.inputs);
    let operand = |spec: &InputSpec| match spec.role {
        Role::TargetShape => Operand::vector(&[-1]),
        _ => Operand { wiring: Wiring::Input(declared), ..Operand::new(ElementType::Float, vec![dim]) },
    };
    let operands = inputs.iter().map(|spec| Some(operand(spec))).collect();
    Single { operator, opset: NEWEST_OPSET, attributes: vec![], operands }.into()
}

/// The simplest cases that go wrong together in the same way, without those that need not be there; as far as there is time.
pub fn simplify(mut cases: Vec<Case>, what: &str, runtime: &mut dyn Runtime, is_over: &dyn Fn() -> bool) -> Vec<Case> {
    let mut goes_wrong =
        |cases: &[Case]| !is_over() && wrong_together(cases, runtime).is_some_and(|found| found == what);
    if let Some(plain) = plain_batches().into_iter().find(|plain| goes_wrong(plain)) {
        return plain;
    }
    let mut place = 0;
    while place < cases.len() && cases.len() > 1 {
        let mut fewer = cases.clone();
        fewer.remove(place);
        if goes_wrong(&fewer) { cases = fewer } else { place += 1 }
    }
    let newest: Vec<Case> = cases.iter().map(|case| Case { opset: NEWEST_OPSET, ..case.clone() }).collect();
    if goes_wrong(&newest) {
        cases = newest;
    }
    for place in 0..cases.len() {
        let before = cases.clone();
        let mut first = |candidates: &[Case]| {
            candidates.iter().position(|candidate| {
                let mut others = before.clone();
                others[place] = candidate.clone();
                goes_wrong(&others)
            })
        };
        cases[place] = shrink::from_simplest(&before[place], &mut first);
    }
    cases
}
