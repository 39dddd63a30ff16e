//! One case on every runtime: what they did, and what is thought of it.

use std::collections::BTreeSet;

use crate::case::{Generated, Relation, variants};
use crate::model;
use crate::operator::Expectation;
use crate::runtime::{Execution, Runtime, RuntimeId};
use crate::verdict::{Discrepancy, Judgement, Mismatch, Severity, is_resource_limit, judge, judge_one, same_reaction};

/// What came of one case.
#[derive(Debug)]
pub struct Examination {
    /// By runtime.
    pub executions: Vec<Execution>,
    pub judgements: Vec<Judgement>,
    /// For a runtime that does not do the same with a variant of the case: that variant.
    pub contrary: Vec<Option<Contrary>>,
}

impl Examination {
    /// What the runtime at a place did wrong in the case.
    pub fn mismatches(&self, generated: &Generated, ids: &[RuntimeId], place: usize) -> Vec<Mismatch> {
        let Judgement::Wrong(found) = &self.judgements[place] else { return vec![] };
        let (operator, rule) = (generated.case.operator.name, generated.expectation.rule());
        Mismatch::all(operator, rule, &ids[place], &self.executions[place], found)
    }
}

/// A variant of a case with which a runtime does something else.
#[derive(Debug)]
pub struct Contrary {
    pub case: String,
    pub execution: Execution,
}

/// Executes and judges a case.
///
/// Where the specification has one answer, a runtime is held to it. Where it leaves room, the variants of the case are
/// executed too: whatever a runtime makes of the room, it must make the same of it in every wiring and at every opset.
pub fn examine(generated: &Generated, runtimes: &mut [Box<dyn Runtime>], ids: &[RuntimeId]) -> Examination {
    let executions = execute(generated, runtimes);
    let mut judgements = judge_all(generated, ids, &executions);
    let mut contrary: Vec<Option<Contrary>> = executions.iter().map(|_| None).collect();
    let has_room = matches!(generated.expectation, Expectation::Unspecified { .. });
    if has_room && !is_resource_limit(&generated.expectation) {
        for variant in variants(generated) {
            let others = execute(&variant.generated, runtimes);
            let theirs = judge_all(&variant.generated, ids, &others);
            for (index, other) in others.into_iter().enumerate() {
                // Only two acceptable outcomes are compared: elsewhere one of them is wrong, which says more.
                let comparable = is_acceptable(&judgements[index]) && is_acceptable(&theirs[index]);
                if comparable && !same_reaction(&executions[index].outcome, &other.outcome) {
                    let discrepancy = match variant.relation {
                        Relation::Wiring => Discrepancy::WiringsDisagree,
                        Relation::Opset => Discrepancy::OpsetsDisagree,
                    };
                    judgements[index] = Judgement::Wrong(vec![discrepancy]);
                    contrary[index] = Some(Contrary { case: variant.generated.case.to_string(), execution: other });
                }
            }
        }
    }
    let mut examination = Examination { executions, judgements, contrary };
    recognize_truncation(generated, runtimes, ids, &mut examination);
    examination
}

/// Where a runtime is wrong because it does what the truncated case asks for, that is what is wrong with it. The proof is
/// that what is wrong does not show where there is nothing to cut.
fn recognize_truncation(
    generated: &Generated,
    runtimes: &mut [Box<dyn Runtime>],
    ids: &[RuntimeId],
    examination: &mut Examination,
) {
    let is_wrong = |judgement: &Judgement| matches!(judgement, Judgement::Wrong(_));
    if !examination.judgements.iter().any(is_wrong) {
        return;
    }
    let truncated = generated.case.truncated().into_iter();
    let asked: Vec<Expectation> = truncated.map(|case| Generated::given(case).expectation).collect();
    let residue = |index| asked.iter().find_map(|asked| residue(asked, ids, examination, index));
    let residues: Vec<_> = (0..ids.len()).map(residue).collect();
    if residues.iter().all(Option::is_none) {
        return;
    }
    let control = examine(&Generated::given(generated.case.saturated()), runtimes, ids);
    for (index, residue) in residues.into_iter().enumerate() {
        let Some(mut wrong) = residue else { continue };
        let Judgement::Wrong(found) = &examination.judgements[index] else { continue };
        let elsewhere = match &control.judgements[index] {
            Judgement::Wrong(elsewhere) => elsewhere.as_slice(),
            _ => &[],
        };
        if !found.iter().any(|discrepancy| !wrong.contains(discrepancy) && elsewhere.contains(discrepancy)) {
            wrong.push(Discrepancy::Truncates);
            wrong.sort_unstable();
            examination.judgements[index] = Judgement::Wrong(wrong);
        }
    }
}

fn is_acceptable(judgement: &Judgement) -> bool {
    matches!(judgement, Judgement::Agrees | Judgement::Tolerated(_))
}

/// What is still wrong with a runtime if `asked` is what it was asked for; `None` if that explains nothing.
fn residue(
    asked: &Expectation,
    ids: &[RuntimeId],
    examination: &Examination,
    index: usize,
) -> Option<Vec<Discrepancy>> {
    let Judgement::Wrong(found) = &examination.judgements[index] else { return None };
    if found.contains(&Discrepancy::Panic) {
        return None;
    }
    if found.iter().all(|discrepancy| discrepancy.severity() == Severity::Disagrees) {
        // Of those that disagree, some do what is asked for and some do not.
        let rows = ids.iter().zip(&examination.executions).filter(|(id, _)| id.kind == ids[index].kind);
        let contrary = examination.contrary[index].as_ref().map(|contrary| &contrary.execution);
        let involved = rows.map(|(_, execution)| execution).chain(contrary);
        let so: BTreeSet<bool> = involved.map(|execution| is_acceptable(&judge_one(asked, execution))).collect();
        return (so.len() == 2).then(Vec::new);
    }
    let is_answer = found.iter().all(|discrepancy| discrepancy.severity() == Severity::WrongAnswer);
    match judge_one(asked, &examination.executions[index]) {
        Judgement::Agrees | Judgement::Tolerated(_) => Some(vec![]),
        Judgement::Wrong(rest) => {
            let is_less = rest.len() < found.len() || (!is_answer && rest == [Discrepancy::WrongType]);
            is_less.then_some(rest)
        }
        Judgement::Unsupported(_) => None,
    }
}

fn execute(generated: &Generated, runtimes: &mut [Box<dyn Runtime>]) -> Vec<Execution> {
    let job = model::job(&generated.case, &generated.tensors);
    runtimes.iter_mut().flat_map(|runtime| runtime.execute(std::slice::from_ref(&job))).collect()
}

fn judge_all(generated: &Generated, ids: &[RuntimeId], executions: &[Execution]) -> Vec<Judgement> {
    let results: Vec<(&RuntimeId, &Execution)> = ids.iter().zip(executions).collect();
    judge(&generated.expectation, &results)
}
