//! Batches: several cases in one job, chosen because a runtime is likely to answer them. A batch is one model that is run
//! once for each case, with the feeds of that case, or one model with the nodes of all its cases, which is run once.
//!
//! The choice of the cases is a guess. It affects the cost of a campaign, but not its findings.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use smallvec::SmallVec;

use super::Trigger;
use super::quarantine::Suspect;
use crate::case::{Features, Generated, Node, Value, Wiring};
use crate::model::{self, Job, Part, Versions};
use crate::operator::{ANY, Expectation, OperatorName, Rule};
use crate::runtime::{Declaration, Execution, Gap, Outcome, Rewriting};
use crate::tensor::ElementType;
use crate::verdict::Discrepancy;

/// The most elements that an operand of a case in a batch may have. With more, almost all of the time goes to copying them.
const MOST_ELEMENTS: usize = 4096;

/// An aspect needs more than this many answers for each missing answer before its cases are put into batches. One case
/// without an answer costs its batch several more runs.
const LIKELY: u32 = 50;

/// A case that may be put into a batch, with the data that this needs. The data is computed at most once.
pub(super) struct Member<'a> {
    pub(super) generated: &'a Generated,
    /// The index of the first case that has the same model.
    model: usize,
    suspect: Suspect<'a>,
    /// The case as a part of a model.
    part: OnceCell<Part>,
}

impl<'a> Member<'a> {
    fn new(generated: &'a Generated, model: usize) -> Member<'a> {
        Member { generated, model, suspect: Suspect::of_generated(generated), part: OnceCell::new() }
    }

    /// The case, in the form that is compared with cases that ended a process.
    pub(super) fn suspect(&self) -> &Suspect<'a> {
        &self.suspect
    }

    pub(super) fn features(&self) -> &Features {
        self.suspect.features()
    }

    fn part(&self) -> &Part {
        self.part.get_or_init(|| part(self.generated, ""))
    }
}

fn part(generated: &Generated, prefix: &str) -> Part {
    Part::new(&generated.case, &generated.tensors, generated.values(), prefix)
}

/// Makes members of cases, and finds out which of them have the same model. The same model takes the same opset, nodes and
/// wirings. A case is compared only with the last model that has these.
pub(super) fn members(cases: &[Generated]) -> Vec<Member<'_>> {
    type Graph<'c> = (u8, &'c [Node], SmallVec<[Wiring; 2]>);
    let mut last: HashMap<Graph, usize> = HashMap::new();
    let mut members: Vec<Member> = Vec::with_capacity(cases.len());
    for (place, generated) in cases.iter().enumerate() {
        let case = &generated.case;
        let wirings = case.sources.iter().map(|operand| operand.wiring).collect();
        if !case.before.is_empty() {
            members.push(Member::new(generated, place));
            continue;
        }
        let before = last.entry((case.opset, &case.nodes, wirings)).or_insert(place);
        let is_same = |first: usize| part(generated, "").is_same_as(members[first].part());
        if *before != place && !is_same(*before) {
            *before = place;
        }
        members.push(Member::new(generated, *before));
    }
    members
}

/// Cases in one job, by their indices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Batch {
    /// All cases have the same model, and each is one run of it. A case alone is one run.
    Runs(Vec<usize>),
    /// The cases are independent parts of one model, which is run once.
    Nodes(Vec<usize>),
}

impl Batch {
    pub(super) fn alone(case: usize) -> Batch {
        Batch::Runs(vec![case])
    }

    /// Puts cases into one model: as its runs if all of them have the same model, else as its nodes.
    pub(super) fn of(cases: Vec<usize>, members: &[Member]) -> Batch {
        let is_one_model = cases.iter().all(|&case| members[case].model == members[cases[0]].model);
        if is_one_model { Batch::Runs(cases) } else { Batch::Nodes(cases) }
    }

    pub(super) fn cases(&self) -> &[usize] {
        let (Batch::Runs(cases) | Batch::Nodes(cases)) = self;
        cases
    }

    pub(super) fn cases_mut(&mut self) -> &mut Vec<usize> {
        let (Batch::Runs(cases) | Batch::Nodes(cases)) = self;
        cases
    }

    pub(super) fn job(&self, members: &[Member]) -> Job {
        let tensors = |case: usize| &members[case].generated.tensors;
        match self {
            // The case may have earlier runs in the same session.
            Batch::Runs(cases) if cases.len() == 1 => {
                let generated = members[cases[0]].generated;
                model::job_with(&generated.case, &generated.tensors, generated.values())
            }
            Batch::Runs(cases) => {
                let part = members[members[cases[0]].model].part();
                let runs = cases.iter().map(|&case| part.feeds(tensors(case)).collect()).collect();
                Job { model: model::join(&[part]).into(), inputs: part.inputs().collect(), runs }
            }
            Batch::Nodes(cases) => {
                let named = |&case: &usize| part(members[case].generated, &format!("case{case}_"));
                let parts: Vec<Part> = cases.iter().map(named).collect();
                let feeds = parts.iter().zip(cases).flat_map(|(part, &case)| part.feeds(tensors(case))).collect();
                let inputs = parts.iter().flat_map(Part::inputs).collect();
                Job { model: model::join(&parts.iter().collect::<Vec<_>>()).into(), inputs, runs: vec![feeds] }
            }
        }
    }
}

/// Divides the execution of a model among its parts, which have these numbers of outputs. The execution is given back as it
/// is if it is no answer, if it has another number of outputs, or if the rewriting of the model has a fault.
pub(super) fn by_node(execution: Execution, outputs: &[usize]) -> Result<Vec<Execution>, Execution> {
    let all: usize = outputs.iter().sum();
    match execution {
        Execution { outcome: Outcome::Answer(given), declared, rewriting, .. }
            if given.len() == all && rewriting.as_deref().is_none_or(Rewriting::is_faultless) =>
        {
            let declared = declared.filter(|declared| declared.len() == all);
            let mut given = given.into_iter();
            let mut first = 0;
            let execution = |&count: &usize| {
                let own = first..first + count;
                first += count;
                let declared: Arc<[Declaration]> = declared.as_ref().map_or_else(Arc::default, |all| all[own].into());
                let answer = Execution::answer(given.by_ref().take(count).collect(), declared);
                Execution { rewriting: rewriting.clone(), ..answer }
            };
            Ok(outputs.iter().map(execution).collect())
        }
        other => Err(other),
    }
}

/// Learns which cases each runtime is likely to answer.
#[derive(Debug)]
pub(super) struct Guess<'a> {
    /// The most cases that one model has as its nodes.
    most: usize,
    /// Defects that may keep a runtime from answering.
    expected: &'a [Trigger],
    /// By operator: the places of those that do.
    keeping: HashMap<OperatorName, Vec<usize>>,
    /// The aspects of all cases so far. Elsewhere an aspect is named by its index in this set.
    aspects: IndexSet<Aspect>,
    /// For each runtime, the counts of each aspect.
    experience: Vec<Vec<AspectCount>>,
}

/// How many cases with an aspect were answered, and how often the aspect prevented an answer.
#[derive(Clone, Copy, Debug, Default)]
struct AspectCount {
    answered: u32,
    lacking: u32,
}

/// An aspect of a case that may decide whether a runtime can answer the case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Aspect {
    Versions(Versions),
    /// The element type of a source that a node takes as its first input, with the operator of the node and its version.
    Type(OperatorName, u8, ElementType),
    /// The operator of the case (or [`GRAPH`](crate::operator::GRAPH)), the wiring of each source, and the rule that leaves
    /// the case open.
    Wiring(OperatorName, Vec<Wiring>, Option<Rule>),
    /// A known defect, by its index. The case has all of its features.
    Defect(usize),
}

/// The aspects of a case, by their indices; `None` if the case is always run alone.
pub(super) type Aspects = Option<SmallVec<[usize; 4]>>;

/// Discrepancies in which a runtime gives no answer.
const KEEPS_FROM_ANSWERING: [Discrepancy; 5] =
    [Discrepancy::Crash, Discrepancy::Exhaustion, Discrepancy::Garbage, Discrepancy::Panic, Discrepancy::RefusesValid];

impl Aspect {
    fn all(member: &Member, guess: &Guess) -> Option<Vec<Aspect>> {
        let Generated { case, expectation, .. } = member.generated;
        let subject = case.subject();
        let types = case.nodes.iter().enumerate().filter_map(|(place, node)| match node.inputs.first()? {
            Some(Value::Source(data)) => {
                Some(Aspect::Type(node.operator.name, case.version(place)?.since, case.sources[*data].element_type))
            }
            _ => None,
        });
        let types: SmallVec<[Aspect; 1]> = types.collect();
        if types.is_empty() {
            return None;
        }
        let keeping = [subject, ANY].into_iter().filter_map(|operator| guess.keeping.get(operator)).flatten();
        let defects =
            keeping.copied().filter(|&place| guess.expected[place].is_in(member.features())).map(Aspect::Defect);
        let wirings = case.sources.iter().map(|operand| operand.wiring).collect();
        let defects: Vec<Aspect> = defects.collect();
        let own = [Aspect::Versions(Versions::of(case)), Aspect::Wiring(subject, wirings, expectation.rule())];
        Some(own.into_iter().chain(types).chain(defects).collect())
    }

    /// Whether this aspect can be the reason for an outcome that is not an answer.
    fn is_behind(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Unsupported(Gap::Opset | Gap::Ir) => matches!(self, Aspect::Versions(_)),
            Outcome::Unsupported(Gap::ElementType | Gap::Kernel) => matches!(self, Aspect::Type(..)),
            Outcome::Unsupported(Gap::DynamicShape | Gap::Overriding) => matches!(self, Aspect::Wiring(..)),
            Outcome::Answer(_) | Outcome::Unsupported(_) => false,
            // Where the specification leaves room, a refusal is as likely as an answer.
            _ => matches!(self, Aspect::Wiring(_, _, Some(_)) | Aspect::Defect(_)),
        }
    }
}

impl<'a> Guess<'a> {
    /// `most` is the most cases that one model has as its nodes. `expected` are defects that may keep a runtime from
    /// answering.
    pub(super) fn new(most: usize, expected: &'a [Trigger]) -> Guess<'a> {
        let mut keeping: HashMap<OperatorName, Vec<usize>> = HashMap::new();
        for (place, Trigger { mismatch, .. }) in expected.iter().enumerate() {
            if mismatch.discrepancies.iter().any(|found| KEEPS_FROM_ANSWERING.contains(found)) {
                keeping.entry(mismatch.operator).or_default().push(place);
            }
        }
        Guess { most, expected, keeping, aspects: IndexSet::new(), experience: vec![] }
    }

    /// Whether cases may be put into batches.
    pub(super) fn puts_together(&self) -> bool {
        self.most > 1
    }

    /// Finds the aspects of a case, and remembers the new ones.
    pub(super) fn aspects(&mut self, member: &Member) -> Aspects {
        let is_small = || member.generated.tensors.iter().all(|tensor| tensor.len() <= MOST_ELEMENTS);
        let may_be_answered = !matches!(member.generated.expectation, Expectation::Reject { .. });
        let all = (self.puts_together() && may_be_answered && is_small()).then(|| Aspect::all(member, self));
        Some(all??.into_iter().map(|aspect| self.aspects.insert_full(aspect).0).collect())
    }

    /// Counts the outcome of a case with these aspects on a runtime, which is given by its index.
    pub(super) fn learn(&mut self, runtime: usize, aspects: &Aspects, outcome: &Outcome) {
        if self.experience.len() <= runtime {
            self.experience.resize(runtime + 1, vec![]);
        }
        let seen = &mut self.experience[runtime];
        seen.resize(self.aspects.len(), AspectCount::default());
        for &place in aspects.iter().flatten() {
            match outcome {
                Outcome::Answer(_) => seen[place].answered += 1,
                other => seen[place].lacking += u32::from(self.aspects[place].is_behind(other)),
            }
        }
    }

    /// Puts cases, given by their indices, into batches. The cases of one model are one batch. A case with a model of its own
    /// that the runtime is likely to answer is put together with others of the same opset and IR version. An expected defect
    /// counts only for the release that has it.
    pub(super) fn batches(
        &self,
        (runtime, release): (usize, &str),
        members: &[Member],
        aspects: &[Aspects],
        wanted: impl Iterator<Item = usize>,
    ) -> Vec<Batch> {
        if !self.puts_together() {
            return wanted.map(Batch::alone).collect();
        }
        let seen = self.experience.get(runtime).map_or(&[][..], Vec::as_slice);
        let concerns = |place: &&usize| match self.aspects[**place] {
            Aspect::Defect(defect) => self.expected[defect].mismatch.runtime == release,
            _ => true,
        };
        let is_answered =
            |&place: &usize| seen.get(place).is_some_and(|seen| seen.answered > seen.lacking.saturating_mul(LIKELY));
        let is_likely =
            |case: usize| aspects[case].as_ref().is_some_and(|own| own.iter().filter(concerns).all(is_answered));
        let mut models: IndexMap<(usize, bool), Vec<usize>> = IndexMap::new();
        for case in wanted {
            models.entry((members[case].model, is_likely(case))).or_default().push(case);
        }
        let mut batches = Vec::new();
        let mut single: BTreeMap<Versions, Vec<usize>> = BTreeMap::new();
        for ((model, is_likely), cases) in models {
            if is_likely && cases.len() == 1 {
                single.entry(Versions::of(&members[model].generated.case)).or_default().extend(cases);
            } else {
                // Half of the cases of a graph are run alone, so that its model is loaded again for each of them.
                let is_graph = members[model].generated.case.nodes.len() > 1;
                let again = if is_graph { cases.len().div_ceil(2) } else { cases.len() };
                batches.extend(cases[again..].iter().map(|&case| Batch::alone(case)));
                batches.push(Batch::Runs(cases[..again].to_vec()));
            }
        }
        for cases in single.into_values() {
            batches.extend(cases.chunks(self.most).map(|some| Batch::of(some.to_vec(), members)));
        }
        batches
    }
}
