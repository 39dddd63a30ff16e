//! The counts of a campaign. The counts of its parts add up to those of the whole, in any order.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::coverage::Coverage;
use super::examine::{Examination, Fault};
use super::schedule::mismatches;
use super::{Pairs, Reduced};
use crate::case::{Case, Features, Generated, Intent};
use crate::operator::{self, ANY, Expectation, GRAPH, OperatorName, Rule};
use crate::runtime::{Gap, Outcome, RuntimeId};
use crate::tensor::ElementType;
use crate::verdict::{Fit, Judgement, Mismatch, Tolerance, fit, judge_one};

/// The marks of a known defect: its mismatch, and the features of its minimized case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trigger {
    pub mismatch: Mismatch,
    pub features: Features,
    /// For a defect that ends a process: the rule that its case breaks, if any. If it is set, a case that breaks no rule is
    /// not left out.
    pub rule: Option<Rule>,
    /// Whether the runtime does this by design. Such a mismatch is counted apart, and is not a defect.
    pub by_design: bool,
}

impl Trigger {
    /// A trigger without a rule, of a defect that is not by design.
    pub fn new(mismatch: Mismatch, features: Features) -> Trigger {
        Trigger { mismatch, features, rule: None, by_design: false }
    }

    /// Whether this defect explains a mismatch in a case with these features. It also explains a similar panic or crash of a
    /// graph, if only of one node whose output is declared, that has a node of its operator. The inputs of that node may not be
    /// known, because the graph must be refused before.
    pub fn explains(&self, mismatch: &Mismatch, features: &Features) -> bool {
        self.mismatch.is_that_of(mismatch) && self.is_in(features)
            || mismatch.is_failure() && mismatch.is_like(&self.mismatch) && features.has_node(self.mismatch.operator)
    }

    /// Whether another trigger is this one with more features. Nothing can be removed from a minimized graph, so if a valid
    /// graph is refused, the words of the refusal do not matter.
    pub fn explains_all_of(&self, other: &Trigger) -> bool {
        let (own, others) = (&self.mismatch, &other.mismatch);
        self.explains(others, &other.features)
            || own.runtime == others.runtime
                && own.concerns(GRAPH)
                && own.is_refusal()
                && others.is_refusal()
                && self.is_in(&other.features)
    }

    /// Whether a case with these features has all features of the trigger. For a trigger of any operator, it is enough that
    /// one node of a graph has them.
    pub fn is_in(&self, features: &Features) -> bool {
        self.features.are_within(features) || self.mismatch.operator == ANY && features.have_node_with(&self.features)
    }
}

/// The results of a campaign, or of a part of one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Statistics {
    pub cases: u64,
    /// By what the specification demands: valid, invalid, unspecified.
    pub valid: u64,
    pub invalid: u64,
    pub unspecified: u64,
    /// Invalid cases that were drawn to break exactly one rule.
    pub invalid_by_intent: u64,
    /// The time that the campaign has run.
    pub elapsed: Duration,
    /// In the order in which the runtimes are listed.
    pub runtimes: Vec<RuntimeStatistics>,
    /// Mismatches that no known defect explains, the most severe first.
    #[serde(serialize_with = "write_groups", deserialize_with = "read_groups")]
    pub groups: Groups,
    /// The number of mismatches that each known defect explains, by the index of the defect in the list that the campaign was
    /// given.
    #[serde(with = "Pairs")]
    pub explained: BTreeMap<usize, u64>,
    pub coverage: Coverage,
    pub times: Times,
}

/// The time of all threads, by stage. The time of a runtime includes the transfer to its process and back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Times {
    /// Drawing cases, and finding out what the specification demands of them.
    pub generating: Duration,
    /// Making models of cases, dividing the results of the models among the cases, and comparing each result with the
    /// specification.
    pub modelling: Duration,
    /// By runtime.
    pub executing: Vec<Duration>,
    /// Comparing the results of the runtimes with each other and with those of variants, and recognizing truncation.
    pub judging: Duration,
    pub counting: Duration,
    /// The CPU time of the program and of the processes of the runtimes, with all their other work. Zero if it is not known.
    pub cpu: Duration,
    /// The time at which the last part of the campaign ended, since 1970-01-01, in whole seconds. Zero before that.
    pub ended: Duration,
}

impl Times {
    /// The stages of the program itself, by name.
    pub fn stages(&self) -> [(&'static str, Duration); 4] {
        [
            ("generating", self.generating),
            ("modelling", self.modelling),
            ("judging", self.judging),
            ("counting", self.counting),
        ]
    }

    fn add(&mut self, part: &Times) {
        self.generating += part.generating;
        self.modelling += part.modelling;
        self.judging += part.judging;
        self.counting += part.counting;
        self.cpu += part.cpu;
        self.ended = self.ended.max(part.ended);
        self.executing.resize(part.executing.len().max(self.executing.len()), Duration::ZERO);
        self.executing.iter_mut().zip(&part.executing).for_each(|(mine, theirs)| *mine += *theirs);
    }
}

/// The results of one runtime in a campaign.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RuntimeStatistics {
    pub id: RuntimeId,
    pub agreed: u64,
    #[serde(with = "Pairs")]
    pub tolerated: BTreeMap<Tolerance, u64>,
    /// Cases that are wrong only in ways that are by design of the runtime.
    pub by_design: u64,
    pub wrong: u64,
    /// Right refusals, by the rule that the case breaks and by the reason that the runtime gives.
    #[serde(with = "Pairs")]
    pub refusals: BTreeMap<Rule, Refusals>,
    /// Unsupported cases, by operator, version, type of the data, and gap.
    #[serde(with = "Pairs")]
    pub unsupported: BTreeMap<Tally, u64>,
    /// Failures with a message that is in no table, whatever their judgement, and the shortest such message.
    pub unclassified: u64,
    pub unclassified_message: Option<String>,
}

/// Refusals of cases that break one rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    pub count: u64,
    /// Refusals for another reason. They do not show that the runtime checks the rule.
    pub other: u64,
    /// Refusals without a reason that is understood.
    pub unstated: u64,
}

impl Refusals {
    fn count(&mut self, fit: Fit) {
        self.add(Refusals { count: 1, other: (fit == Fit::Other).into(), unstated: (fit == Fit::Unstated).into() });
    }

    fn add(&mut self, other: Refusals) {
        self.count += other.count;
        self.other += other.other;
        self.unstated += other.unstated;
    }
}

/// The kind of an unsupported case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tally {
    #[serde(deserialize_with = "operator::read_name")]
    pub operator: OperatorName,
    /// The operator version; 0 if there is none.
    pub version: u8,
    /// `None` if the case leaves its data out, or has several nodes.
    pub element_type: Option<ElementType>,
    pub gap: Gap,
}

impl RuntimeStatistics {
    /// The number of cases in which the runtime changed only the payload of a NaN.
    pub fn nan_payloads(&self) -> u64 {
        self.tolerated.get(&Tolerance::NanPayload).copied().unwrap_or(0)
    }

    /// The number of cases that the runtime does not support or was not given.
    pub fn unsupported(&self) -> u64 {
        self.unsupported.values().sum()
    }

    /// The number of cases that the runtime was not given, because they might end its process or have too large an output.
    pub fn left_out(&self) -> u64 {
        self.unsupported.iter().filter(|(tally, _)| tally.gap.is_left_out()).map(|(_, count)| count).sum()
    }
}

/// Mismatches of one kind in cases with the same features.
#[derive(Clone, Debug)]
pub struct Group {
    /// The shortest case that shows it.
    pub case: Arc<Case>,
    /// The text of that case.
    text: Arc<str>,
    pub count: u64,
}

impl Group {
    pub fn new(case: Case, count: u64) -> Group {
        Group { text: case.to_string().into(), case: Arc::new(case), count }
    }

    /// The text of its case.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Groups of mismatches, by the mismatch and the features of its case. A long campaign has a hundred thousand of them, so copies share
/// their parts.
pub type Groups = BTreeMap<Arc<(Mismatch, Features)>, Group>;

/// Writes groups as a list, without the features, which follow from the case.
fn write_groups<S: Serializer>(groups: &Groups, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(groups.iter().map(|(key, group)| (&key.0, &*group.case, group.count)))
}

fn read_groups<'de, D: Deserializer<'de>>(from: D) -> Result<Groups, D::Error> {
    let groups = Vec::<(Mismatch, Case, u64)>::deserialize(from)?.into_iter();
    Ok(groups
        .map(|(mismatch, case, count)| (Arc::new((mismatch, Features::of(&case))), Group::new(case, count)))
        .collect())
}

impl Statistics {
    pub fn new(ids: &[RuntimeId]) -> Statistics {
        let runtimes = ids.iter().map(|id| RuntimeStatistics {
            id: id.clone(),
            agreed: 0,
            tolerated: BTreeMap::new(),
            by_design: 0,
            wrong: 0,
            refusals: BTreeMap::new(),
            unsupported: BTreeMap::new(),
            unclassified: 0,
            unclassified_message: None,
        });
        Statistics {
            cases: 0,
            valid: 0,
            invalid: 0,
            unspecified: 0,
            invalid_by_intent: 0,
            elapsed: Duration::ZERO,
            runtimes: runtimes.collect(),
            groups: BTreeMap::new(),
            explained: BTreeMap::new(),
            coverage: Coverage::default(),
            times: Times::default(),
        }
    }

    /// Counts one case, with the execution and the judgement of each runtime.
    pub fn count(&mut self, generated: &Generated, ids: &[RuntimeId], examination: &Examination, known: &[Trigger]) {
        let own = OnceCell::new();
        let features = |fault: &Fault| match &fault.node {
            Some(node) => Cow::Owned(Features::of(node)),
            None => Cow::Borrowed(own.get_or_init(|| Features::of_generated(generated))),
        };
        let explain = |index: usize| -> Vec<(Fault, Option<usize>)> {
            let place = |fault: &Fault| {
                let features = features(fault);
                known.iter().position(|defect| defect.explains(&fault.mismatch, &features))
            };
            let faults = examination.faults(generated, ids, index).into_iter();
            faults
                .map(|fault| {
                    let place = place(&fault);
                    (fault, place)
                })
                .collect()
        };
        let explained: Vec<Vec<(Fault, Option<usize>)>> = (0..ids.len()).map(explain).collect();
        let is_by_design = |found: &Vec<(Fault, Option<usize>)>| {
            !found.is_empty() && found.iter().all(|(_, place)| place.is_some_and(|place| known[place].by_design))
        };
        let by_design: Vec<bool> = explained.iter().map(is_by_design).collect();
        self.coverage.count(generated, &explained, &by_design, examination);
        self.cases += 1;
        match &generated.expectation {
            Expectation::Defined(_) => self.valid += 1,
            Expectation::Reject { .. } => {
                self.invalid += 1;
                self.invalid_by_intent += u64::from(matches!(generated.intent, Intent::Rule(_)));
            }
            Expectation::Unspecified { .. } => self.unspecified += 1,
        }
        for ((index, runtime), explained) in self.runtimes.iter_mut().enumerate().zip(explained) {
            let (execution, judgement) = (&examination.executions[index], &examination.judgements[index]);
            if let Outcome::Unclassified { .. } = execution.outcome {
                runtime.unclassified += 1;
                keep_shortest(&mut runtime.unclassified_message, Some(execution.message.clone()));
            }
            if let Expectation::Reject { rule, .. } = generated.expectation
                && let Some(fit) = fit(rule, &execution.outcome)
            {
                runtime.refusals.entry(rule).or_default().count(fit);
            }
            match judgement {
                Judgement::Agrees => runtime.agreed += 1,
                Judgement::Tolerated(tolerance) => *runtime.tolerated.entry(*tolerance).or_default() += 1,
                Judgement::Unsupported(gap) => {
                    let case = &generated.case;
                    let call = case.call();
                    let tally = Tally {
                        operator: case.subject(),
                        version: call.and_then(|call| call.version).map_or(0, |version| version.since),
                        element_type: call.and_then(|call| call.element_type),
                        gap: *gap,
                    };
                    *runtime.unsupported.entry(tally).or_default() += 1;
                }
                Judgement::Wrong(_) => {
                    *if by_design[index] { &mut runtime.by_design } else { &mut runtime.wrong } += 1;
                    for (fault, place) in explained {
                        if let Some(place) = place {
                            *self.explained.entry(place).or_default() += 1;
                        } else {
                            let features = features(&fault).into_owned();
                            let case = fault.node.unwrap_or_else(|| generated.case.clone());
                            add_group(&mut self.groups, Arc::new((fault.mismatch, features)), Group::new(case, 1));
                        }
                    }
                }
            }
        }
    }

    /// Adds the mismatches of a reduced case, so that nothing more has to be removed from it. It does not count as a case.
    pub(super) fn add_reduced(&mut self, reduced: Reduced, ids: &[RuntimeId], known: &[Trigger]) {
        let Reduced { place, case, execution } = reduced;
        let features = Features::of(&case);
        let generated = Generated::given(case);
        let Judgement::Wrong(found) = judge_one(&generated.expectation, &execution) else { return };
        for mismatch in mismatches(&generated, &ids[place], &execution, &found) {
            if !known.iter().any(|defect| defect.explains(&mismatch, &features)) {
                add_group(
                    &mut self.groups,
                    Arc::new((mismatch, features.clone())),
                    Group::new(generated.case.clone(), 1),
                );
            }
        }
    }

    /// Adds the mismatches of a case whose parts are right. It does not count as a case.
    pub(super) fn add_found(
        &mut self,
        generated: &Generated,
        ids: &[RuntimeId],
        examination: &Examination,
        known: &[Trigger],
    ) {
        for Fault { mismatch, node } in (0..ids.len()).flat_map(|place| examination.faults(generated, ids, place)) {
            let case = node.unwrap_or_else(|| generated.case.clone());
            let features = Features::of(&case);
            match known.iter().position(|defect| defect.explains(&mismatch, &features)) {
                Some(place) => *self.explained.entry(place).or_default() += 1,
                None => add_group(&mut self.groups, Arc::new((mismatch, features)), Group::new(case, 1)),
            }
        }
    }

    /// Adds the counts of another part of the same campaign.
    pub fn add(&mut self, part: Statistics) {
        self.cases += part.cases;
        self.valid += part.valid;
        self.invalid += part.invalid;
        self.unspecified += part.unspecified;
        self.invalid_by_intent += part.invalid_by_intent;
        self.elapsed = self.elapsed.max(part.elapsed);
        for (mine, theirs) in self.runtimes.iter_mut().zip(part.runtimes) {
            mine.agreed += theirs.agreed;
            mine.by_design += theirs.by_design;
            mine.wrong += theirs.wrong;
            for (rule, refusals) in theirs.refusals {
                mine.refusals.entry(rule).or_default().add(refusals);
            }
            mine.unclassified += theirs.unclassified;
            keep_shortest(&mut mine.unclassified_message, theirs.unclassified_message);
            add_counts(&mut mine.tolerated, theirs.tolerated);
            add_counts(&mut mine.unsupported, theirs.unsupported);
        }
        self.coverage.add(part.coverage);
        self.times.add(&part.times);
        add_counts(&mut self.explained, part.explained);
        for (key, group) in part.groups {
            add_group(&mut self.groups, key, group);
        }
    }
}

/// Keeps the shorter of two messages. Of equally long ones it keeps the first in the alphabet, so their order does not
/// matter.
fn keep_shortest(shortest: &mut Option<String>, new: Option<String>) {
    let is_better =
        |new: &String| shortest.as_ref().is_none_or(|shortest| (new.len(), new) < (shortest.len(), shortest));
    if let Some(new) = new.filter(is_better) {
        *shortest = Some(new);
    }
}

fn add_counts<K: Ord>(mine: &mut BTreeMap<K, u64>, theirs: BTreeMap<K, u64>) {
    for (key, count) in theirs {
        *mine.entry(key).or_default() += count;
    }
}

/// Adds mismatches to their group. The case of the group is the shortest, or the first in the alphabet of the shortest ones,
/// so the order of the cases does not matter.
fn add_group(groups: &mut Groups, key: Arc<(Mismatch, Features)>, new: Group) {
    match groups.entry(key) {
        Entry::Vacant(vacant) => {
            vacant.insert(new);
        }
        Entry::Occupied(mut occupied) => {
            let known = occupied.get_mut();
            let count = known.count + new.count;
            if (new.text.len(), &new.text) < (known.text.len(), &known.text) {
                *known = new;
            }
            known.count = count;
        }
    }
}
