//! One case on every runtime: what they did, and what is thought of it.

use crate::case::{Generated, Relation, variants};
use crate::model;
use crate::operator::Expectation;
use crate::runtime::{Execution, Runtime, RuntimeId};
use crate::verdict::{Discrepancy, Judgement, is_resource_limit, judge, same_reaction};

/// What came of one case.
#[derive(Debug)]
pub struct Examination {
    /// By runtime.
    pub executions: Vec<Execution>,
    pub judgements: Vec<Judgement>,
    /// For a runtime that does not do the same with a variant of the case: that variant.
    pub contrary: Vec<Option<Contrary>>,
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
                let acceptable =
                    |judgement: &Judgement| matches!(judgement, Judgement::Agrees | Judgement::Tolerated(_));
                let comparable = acceptable(&judgements[index]) && acceptable(&theirs[index]);
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
    Examination { executions, judgements, contrary }
}

fn execute(generated: &Generated, runtimes: &mut [Box<dyn Runtime>]) -> Vec<Execution> {
    let job = model::job(&generated.case, &generated.tensors);
    runtimes.iter_mut().flat_map(|runtime| runtime.execute(std::slice::from_ref(&job))).collect()
}

fn judge_all(generated: &Generated, ids: &[RuntimeId], executions: &[Execution]) -> Vec<Judgement> {
    let results: Vec<(&RuntimeId, &Execution)> = ids.iter().zip(executions).collect();
    judge(&generated.expectation, &results)
}
