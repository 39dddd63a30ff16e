//! Executes a case on every runtime, and judges the results.

use std::collections::{BTreeMap, BTreeSet};

use super::quarantine::left_out;
use super::schedule::{Scheduler, mismatches};
use crate::case::{Case, Generated, Relation, variants};
use crate::operator::{Answer, Expectation};
use crate::runtime::{Execution, Gap, Outcome, Runtime, RuntimeId};
use crate::tensor::Tensor;
use crate::verdict::{
    Discrepancy, Judgement, Mismatch, Severity, compare_configurations, differ, fail_alike, judge_one,
    tolerate_removed_nodes,
};

/// The results of one case.
#[derive(Debug)]
pub struct Examination {
    /// By runtime.
    pub executions: Vec<Execution>,
    pub judgements: Vec<Judgement>,
    /// By the index of a runtime that gives another result for a variant of the case: that variant.
    pub contrary: BTreeMap<usize, Contrary>,
    /// By the index of a runtime that is wrong in a graph: its faults with single nodes of the graph.
    pub of_nodes: BTreeMap<usize, Vec<Fault>>,
}

/// One way in which the result of a runtime is wrong.
#[derive(Clone, Debug)]
pub struct Fault {
    pub mismatch: Mismatch,
    /// The node that is wrong by itself; `None` if the mismatch is one of the whole case.
    pub node: Option<Case>,
}

impl Examination {
    /// The mismatches of the runtime with this index.
    pub fn mismatches(&self, generated: &Generated, ids: &[RuntimeId], place: usize) -> Vec<Mismatch> {
        let Judgement::Wrong(found) = &self.judgements[place] else { return vec![] };
        mismatches(generated, &ids[place], &self.executions[place], found)
    }

    /// The same mismatches as faults, each once. In a graph, the mismatch of a node that is wrong by itself replaces those
    /// that it may cause.
    pub fn faults(&self, generated: &Generated, ids: &[RuntimeId], place: usize) -> Vec<Fault> {
        let mut faults: Vec<Fault> = Vec::new();
        for mismatch in self.mismatches(generated, ids, place) {
            let of_nodes = self.of_nodes.get(&place).map_or(&[][..], Vec::as_slice);
            let fault = of_nodes.iter().find(|fault| fault.mismatch.may_cause(&mismatch)).cloned();
            let fault = fault.unwrap_or(Fault { mismatch, node: None });
            if faults.iter().all(|other| other.mismatch != fault.mismatch) {
                faults.push(fault);
            }
        }
        faults
    }

    /// Whether the judgement of any configuration of the release of the runtime with this index meets a condition.
    fn is_any_of_release(&self, ids: &[RuntimeId], index: usize, holds: impl Fn(&Judgement) -> bool) -> bool {
        let mut judged = ids.iter().zip(&self.judgements);
        judged.any(|(id, judgement)| id.is_release_of(&ids[index]) && holds(judgement))
    }

    /// Whether a runtime disagrees with itself.
    fn has_disagreement(&self) -> bool {
        let is_at_odds = |discrepancy: &Discrepancy| discrepancy.severity() == Severity::Disagrees;
        self.judgements
            .iter()
            .any(|judgement| matches!(judgement, Judgement::Wrong(found) if found.iter().any(is_at_odds)))
    }
}

/// A variant of a case for which a runtime gives another result.
#[derive(Debug)]
pub struct Contrary {
    pub case: String,
    pub execution: Execution,
}

/// Executes and judges a case.
///
/// If the specification demands one answer, a runtime must give it. If the specification leaves room, the variants of the
/// case are executed too. Then a runtime must give the same result in every wiring and at every opset.
pub fn examine(generated: &Generated, runtimes: &mut [Box<dyn Runtime>], ids: &[RuntimeId]) -> Examination {
    examine_all(std::slice::from_ref(generated), runtimes, ids).remove(0)
}

/// Executes and judges cases, each alone, with one call to each runtime for all of them.
pub fn examine_all(cases: &[Generated], runtimes: &mut [Box<dyn Runtime>], ids: &[RuntimeId]) -> Vec<Examination> {
    examine_together(cases, runtimes, ids, &mut Scheduler::new(1, &[], &[])).unwrap_or_default()
}

/// Executes and judges cases, in batches where these are likely to succeed; `None` if the work was stopped.
pub fn examine_together(
    cases: &[Generated],
    runtimes: &mut [Box<dyn Runtime>],
    ids: &[RuntimeId],
    scheduler: &mut Scheduler,
) -> Option<Vec<Examination>> {
    examine_some(cases, runtimes, ids, scheduler, Scope::ALL)
}

/// The part of an examination that is wanted.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// Whether a runtime is given a case, by the index of the case and that of the runtime. All others are left out.
    pub(crate) rows: &'a dyn Fn(usize, usize) -> bool,
    /// Whether a case is compared with a variant, by the index of the case, the number of the variant and the number of its
    /// variants.
    pub(crate) variants: &'a dyn Fn(usize, usize, usize) -> bool,
}

impl Scope<'_> {
    const ALL: Scope<'static> = Scope { rows: &|_, _| true, variants: &|_, _, _| true };
}

/// Like [`examine_together`], but only what is wanted.
pub(crate) fn examine_some(
    cases: &[Generated],
    runtimes: &mut [Box<dyn Runtime>],
    ids: &[RuntimeId],
    scheduler: &mut Scheduler,
    wanted: Scope,
) -> Option<Vec<Examination>> {
    let mut examinations = execute_and_compare(cases, runtimes, ids, scheduler, wanted)?;
    // A runtime may disagree with itself only because one of its results comes from a batch and another does not.
    let (places, doubtful): (Vec<usize>, Vec<Generated>) =
        (0..cases.len()).filter(|&i| examinations[i].has_disagreement()).map(|i| (i, cases[i].clone())).unzip();
    if scheduler.puts_together() && !doubtful.is_empty() {
        let rows = |case: usize, index: usize| (wanted.rows)(places[case], index);
        let variants = |case: usize, number: usize, of: usize| (wanted.variants)(places[case], number, of);
        let wanted = Scope { rows: &rows, variants: &variants };
        let again = execute_and_compare(&doubtful, runtimes, ids, &mut scheduler.alone(), wanted)?;
        places.into_iter().zip(again).for_each(|(place, alone)| examinations[place] = alone);
    }
    recognize_truncation(cases, runtimes, ids, scheduler, &mut examinations)?;
    look_at_nodes(cases, runtimes, ids, scheduler, &mut examinations)?;
    Some(examinations)
}

/// If a runtime is wrong in a graph, executes each node of the graph alone on its release. A mismatch that a node shows alone is a
/// defect of that node. If a node is left out and no other node explains the mismatch, its cause is not known, and the graph is
/// left out too.
fn look_at_nodes(
    cases: &[Generated],
    runtimes: &mut [Box<dyn Runtime>],
    ids: &[RuntimeId],
    scheduler: &mut Scheduler,
    examinations: &mut [Examination],
) -> Option<()> {
    let graphs = (0..cases.len()).filter(|&place| cases[place].case.single().is_none());
    let wrong = graphs.filter(|&place| examinations[place].judgements.iter().any(is_wrong));
    let (places, nodes): (Vec<usize>, Vec<Generated>) = wrong
        .flat_map(|place| {
            cases[place]
                .case
                .each_alone_of(cases[place].values())
                .into_iter()
                .map(move |case| (place, Generated::given(case)))
        })
        .unzip();
    if nodes.is_empty() {
        return Some(());
    }
    let rows = |node: usize, index: usize| examinations[places[node]].is_any_of_release(ids, index, is_wrong);
    let alone = examine_some(&nodes, runtimes, ids, scheduler, Scope { rows: &rows, ..Scope::ALL })?;
    let mut unknown: BTreeMap<(usize, usize), Gap> = BTreeMap::new();
    for ((place, node), alone) in places.into_iter().zip(&nodes).zip(alone) {
        let Examination { judgements, of_nodes, .. } = &mut examinations[place];
        for (index, _) in judgements.iter().enumerate().filter(|(_, judgement)| is_wrong(judgement)) {
            let found = match alone.judgements[index] {
                Judgement::Unsupported(gap) if gap.is_left_out() => {
                    unknown.insert((place, index), gap);
                    scheduler.reason_to_leave_out(&ids[index], &node.case).into_iter().collect()
                }
                _ => alone.mismatches(node, ids, index),
            };
            let faults = found.into_iter().map(|mismatch| Fault { mismatch, node: Some(node.case.clone()) });
            of_nodes.entry(index).or_default().extend(faults);
        }
    }
    for ((place, index), gap) in unknown {
        let examination = &mut examinations[place];
        if examination.faults(&cases[place], ids, index).iter().any(|fault| fault.node.is_none()) {
            examination.executions[index] = left_out(gap);
            examination.judgements[index] = Judgement::Unsupported(gap);
        }
    }
    Some(())
}

fn execute_and_compare(
    cases: &[Generated],
    runtimes: &mut [Box<dyn Runtime>],
    ids: &[RuntimeId],
    scheduler: &mut Scheduler,
    wanted: Scope,
) -> Option<Vec<Examination>> {
    let executed = cases.iter().zip(scheduler.execute(cases, runtimes, wanted.rows)?);
    let not_wanted = || (left_out(Gap::LeftOut), Judgement::Unsupported(Gap::LeftOut));
    let examinations = executed.map(|(generated, done)| {
        let done = done.into_iter().map(|done| done.unwrap_or_else(not_wanted));
        let (executions, mut judgements): (Vec<Execution>, Vec<Judgement>) = done.unzip();
        compare_configurations(
            &generated.expectation,
            generated.case.nodes.len(),
            ids.iter().zip(&executions),
            &mut judgements,
        );
        if judgements.iter().any(is_wrong) && generated.case.is_refused_unseen() {
            tolerate_removed_nodes(ids.iter().zip(&executions), &mut judgements);
        }
        Examination { executions, judgements, contrary: BTreeMap::new(), of_nodes: BTreeMap::new() }
    });
    let mut examinations: Vec<Examination> = examinations.collect();
    compare_variants(cases, runtimes, ids, scheduler, wanted, &mut examinations)?;
    Some(examinations)
}

/// The most elements in an answer of a case whose variants are executed. With more, holding all variants takes gigabytes.
const MOST_IN_VARIANTS: usize = 1 << 16;

/// Executes the variants of the cases for which the specification leaves room, and compares the results of each runtime.
fn compare_variants(
    cases: &[Generated],
    runtimes: &mut [Box<dyn Runtime>],
    ids: &[RuntimeId],
    scheduler: &mut Scheduler,
    wanted: Scope,
    examinations: &mut [Examination],
) -> Option<()> {
    let is_small = |answer: &Answer| match answer {
        Answer::Outputs(outputs) => outputs.iter().map(Tensor::len).sum::<usize>() <= MOST_IN_VARIANTS,
        Answer::Refusal | Answer::Any => true,
    };
    let has_room = |generated: &Generated| match &generated.expectation {
        Expectation::Unspecified { tolerated, .. } => {
            !generated.expectation.is_resource_limit() && tolerated.iter().all(is_small)
        }
        Expectation::Defined(_) | Expectation::Reject { .. } => false,
    };
    let open = cases.iter().enumerate().filter(|(_, generated)| has_room(generated));
    let (places, variants): (Vec<(usize, Relation)>, Vec<Generated>) = open
        .flat_map(|(place, generated)| {
            let variants = variants(generated);
            let of = variants.len();
            let numbered = variants.into_iter().enumerate();
            let variants = numbered.filter(move |&(number, _)| (wanted.variants)(place, number, of));
            variants.map(move |(_, variant)| ((place, variant.relation), variant.generated))
        })
        .unzip();
    // Two outcomes are compared only if both are acceptable. Otherwise one of them is wrong, which says more. Whether the
    // outcome of a variant is acceptable depends on all configurations.
    let is_compared = |variant: usize, index: usize| {
        let (place, _) = places[variant];
        (wanted.rows)(place, index) && examinations[place].is_any_of_release(ids, index, is_acceptable)
    };
    let executed = variants.iter().zip(scheduler.execute(&variants, runtimes, &is_compared)?);
    for ((place, relation), (variant, done)) in places.iter().zip(executed) {
        let done = done.into_iter().enumerate().filter_map(|(index, done)| Some((index, done?)));
        let (indices, (others, mut theirs)): (Vec<usize>, (Vec<Execution>, Vec<Judgement>)) = done.unzip();
        let results = indices.iter().map(|&index| &ids[index]).zip(&others);
        let nodes = variant.case.nodes.len();
        compare_configurations(&variant.expectation, nodes, results, &mut theirs);
        let Examination { executions, judgements, contrary, .. } = &mut examinations[*place];
        for ((index, other), judgement) in indices.into_iter().zip(others).zip(theirs) {
            // A rewriter is compared with the result of onnxruntime for the model before, and that result may differ.
            let is_rewritten = executions[index].rewriting.is_some() || other.rewriting.is_some();
            let comparable = is_acceptable(&judgements[index]) && is_acceptable(&judgement) && !is_rewritten;
            if comparable && differ(nodes, &executions[index].outcome, &other.outcome) {
                let discrepancy = match relation {
                    Relation::Wiring => Discrepancy::WiringsDisagree,
                    Relation::Opset => Discrepancy::OpsetsDisagree,
                };
                judgements[index] = Judgement::Wrong(vec![discrepancy]);
                contrary.insert(index, Contrary { case: variant.case.to_string(), execution: other });
            }
        }
    }
    Some(())
}

/// If a runtime is wrong because it does what the truncated case asks for, reports truncation in place of the discrepancies
/// that this explains. The proof is that these do not occur with numbers that fit into 32 bits, and that a runtime which fails
/// fails in the same words for the truncated case.
fn recognize_truncation(
    cases: &[Generated],
    runtimes: &mut [Box<dyn Runtime>],
    ids: &[RuntimeId],
    scheduler: &mut Scheduler,
    examinations: &mut [Examination],
) -> Option<()> {
    let explained = cases.iter().zip(&*examinations).enumerate();
    let explained: Vec<(usize, Explanation)> = explained
        .flat_map(|(place, (generated, examination))| {
            explanations(generated, ids, examination).into_iter().map(move |explanation| (place, explanation))
        })
        .collect();
    if explained.is_empty() {
        return Some(());
    }
    let saturated = explained.iter().map(|(place, _)| Generated::given(cases[*place].case.saturated()));
    let truncated = explained.iter().map(|(_, explanation)| explanation.truncated.clone());
    let controls: Vec<Generated> = saturated.chain(truncated).collect();
    let mut saturated = examine_together(&controls, runtimes, ids, scheduler)?;
    let truncated = saturated.split_off(explained.len());
    for ((place, explanation), (saturated, truncated)) in explained.into_iter().zip(saturated.iter().zip(&truncated)) {
        let Examination { executions, judgements, .. } = &mut examinations[place];
        for (index, mut remaining) in explanation.remaining {
            let Judgement::Wrong(found) = &judgements[index] else { continue };
            let elsewhere = match &saturated.judgements[index] {
                Judgement::Wrong(elsewhere) => elsewhere.as_slice(),
                _ => &[],
            };
            let disagrees = found.iter().all(|discrepancy| discrepancy.severity() == Severity::Disagrees);
            let is_answer = matches!(executions[index].outcome, Outcome::Answer(_));
            let is_alike = disagrees || is_answer || fail_alike(&executions[index], &truncated.executions[index]);
            let shows_elsewhere = |found: &Discrepancy| !remaining.contains(found) && elsewhere.contains(found);
            if is_alike && !found.iter().any(shows_elsewhere) {
                remaining.push(Discrepancy::Truncates);
                remaining.sort_unstable();
                judgements[index] = Judgement::Wrong(remaining);
            }
        }
    }
    Some(())
}

/// A truncated case that runtimes seem to do in place of the case.
struct Explanation {
    truncated: Generated,
    /// By the index of such a runtime: the discrepancies that remain if it was asked for the truncated case.
    remaining: BTreeMap<usize, Vec<Discrepancy>>,
}

/// The truncated cases that explain some of what is wrong, each runtime with the first that does.
fn explanations(generated: &Generated, ids: &[RuntimeId], examination: &Examination) -> Vec<Explanation> {
    let mut open: Vec<usize> = (0..ids.len()).filter(|&index| is_wrong(&examination.judgements[index])).collect();
    if open.is_empty() {
        return vec![];
    }
    let mut explanations = Vec::new();
    for truncated in generated.case.truncated().into_iter().map(Generated::given) {
        let asked = &truncated.expectation;
        // If the truncated case is not judged, any result is right, so it explains nothing.
        if asked.is_beyond_judging() {
            continue;
        }
        let remaining = |&index: &usize| Some((index, residue(asked, ids, examination, index)?));
        let remaining: BTreeMap<usize, Vec<Discrepancy>> = open.iter().filter_map(remaining).collect();
        open.retain(|index| !remaining.contains_key(index));
        if !remaining.is_empty() {
            explanations.push(Explanation { truncated, remaining });
        }
    }
    explanations
}

fn is_wrong(judgement: &Judgement) -> bool {
    matches!(judgement, Judgement::Wrong(_))
}

fn is_acceptable(judgement: &Judgement) -> bool {
    matches!(judgement, Judgement::Agrees | Judgement::Tolerated(_))
}

/// The discrepancies of a runtime that remain if `asked` is what it was asked for; `None` if that explains nothing.
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
        // Truncation explains a disagreement if some of the executions do what is asked for and some do not.
        let rows = ids.iter().zip(&examination.executions).filter(|(id, _)| id.is_release_of(&ids[index]));
        let contrary = examination.contrary.get(&index).map(|contrary| &contrary.execution);
        let involved = rows.map(|(_, execution)| execution).chain(contrary);
        // Where an answer is asked for, a refusal of another wiring that is tolerated does not do it.
        let is_of_wirings = contrary.is_some();
        let does = |execution: &Execution| {
            let judgement = judge_one(asked, execution);
            let is_refusal =
                is_of_wirings && matches!(execution.outcome, Outcome::Refused { .. } | Outcome::Unclassified { .. });
            judgement == Judgement::Agrees || matches!(judgement, Judgement::Tolerated(_)) && !is_refusal
        };
        let so: BTreeSet<bool> = involved.map(does).collect();
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
