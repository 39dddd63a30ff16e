//! Cases in company: put as independent nodes into one model, which a runtime loads once, and runs once for each of what it
//! is fed: cases of one family are fed to one node in turn.
//!
//! What is right in company counts. All else is confirmed alone, so a verdict never depends on the company; a case that
//! goes wrong in company only is a finding of its own, the smallest such company.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use indexmap::{IndexMap, IndexSet};
use smallvec::SmallVec;

use super::batch::{OTHER_ANSWER, not_answered, simplify};
use super::examine::mismatches;
use super::quarantine::{Budget, Known, Proven, Quarantine, left_out};
use super::{Reduced, Trigger};
use crate::case::{Case, Features, Generated, Wiring};
use crate::model::{self, Job, Part, Versions};
use crate::operator::{Expectation, OperatorName, Rule};
use crate::runtime::{Declaration, Execution, Gap, Outcome, Runtime, RuntimeId, Stop};
use crate::tensor::{ElementType, Tensor};
use crate::verdict::{Discrepancy, Judgement, judge_one};

/// The most elements that an operand of a case in company has: beyond that, copying them is all that takes time.
const MOST_ELEMENTS: usize = 4096;

/// The number of cases that a runtime is given at a time: so many that handing them over takes little, and so few that
/// their answers take little memory until they are looked at.
const AT_A_TIME: usize = 1024;

/// How long a company that goes wrong is simplified, at most.
const REDUCING: Duration = Duration::from_secs(1);

/// How often something has to be answered for every time that it was not, before it is put into company: one case that is
/// not answered costs its company several runs more.
const LIKELY: u32 = 50;

/// Puts cases together, and learns from what came of them which runtime is likely to answer which.
#[derive(Debug)]
pub struct Companies<'a> {
    /// How many cases are put into one model, at most.
    most: usize,
    /// Defects that may keep a runtime from answering.
    expected: &'a [Trigger],
    /// Defects whose wrong answers need no confirmation.
    known: &'a [Trigger],
    /// Whatever was met that may decide whether a runtime answers; it is named by its place here.
    aspects: IndexSet<Aspect>,
    /// By runtime.
    experience: Vec<Experience>,
    /// Companies that go wrong though each of their cases is right alone, with the runtime and what is wrong.
    found: Vec<((usize, String), Vec<Case>)>,
    /// For reducing such companies.
    reducing: Budget,
    /// The time since it was last asked for: spent on models and on what came of them, and in each runtime.
    times: (Duration, Vec<Duration>),
    failures: Failures<'a>,
    /// When work under way is given up.
    stop: Stop,
    /// For cases that are likely to end a process.
    budget: Budget,
    /// What cases that ended a process were reduced to since this was last asked for.
    reduced: Vec<Reduced>,
}

/// What is done about a case that ended the process of a runtime, as it seems.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failures<'a> {
    /// It is executed alone in a new process with all of its time, and so is every case like it.
    Confirm,
    /// Nothing: whoever asks confirms what he makes of it.
    Believe,
    /// It is reduced and confirmed, and cases like it are left out if they take too long.
    LookInto(&'a Quarantine),
}

/// What a runtime has been seen to answer, and what has kept it from that.
#[derive(Debug)]
struct Experience {
    /// Of the runtime.
    release: String,
    /// By aspect.
    seen: Vec<Seen>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    answered: u32,
    lacking: u32,
}

/// Discrepancies of a runtime that gives no answer.
const KEEPS_FROM_ANSWERING: [Discrepancy; 6] = [
    Discrepancy::Crash,
    Discrepancy::Hang,
    Discrepancy::Memory,
    Discrepancy::Garbage,
    Discrepancy::Panic,
    Discrepancy::RefusesValid,
];

/// What may decide whether a runtime can answer a case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Aspect {
    Versions(u8, u8),
    /// Of the data, by operator and its version.
    Type(OperatorName, u8, ElementType),
    /// Of each operand, and the rule that leaves the case open.
    Wiring(OperatorName, Vec<Option<Wiring>>, Option<Rule>),
    /// A known defect that it has all features of, by its place.
    Defect(usize),
}

impl Aspect {
    fn all(member: &Member, known: &[Trigger]) -> Option<Vec<Aspect>> {
        let case = &member.generated.case;
        let versions = Versions::of(case);
        let version = case.version()?.since;
        let data = case.data()?.element_type;
        let wirings = case.operands.iter().map(|operand| operand.as_ref().map(|operand| operand.wiring)).collect();
        let mut aspects = vec![
            Aspect::Versions(versions.opset, versions.ir),
            Aspect::Type(case.operator.name, version, data),
            Aspect::Wiring(case.operator.name, wirings, member.generated.expectation.rule()),
        ];
        let defects = known.iter().enumerate().filter(|(_, defect)| {
            defect.mismatch.operator == case.operator.name
                && defect.mismatch.discrepancies.iter().any(|found| KEEPS_FROM_ANSWERING.contains(found))
                && defect.features.are_within(member.features())
        });
        aspects.extend(defects.map(|(place, _)| Aspect::Defect(place)));
        Some(aspects)
    }

    /// Whether it may decide what a release of a runtime does: a defect is that of one.
    fn concerns(&self, release: &str, known: &[Trigger]) -> bool {
        !matches!(self, Aspect::Defect(place) if known[*place].mismatch.runtime != release)
    }

    /// Whether this is what an outcome comes from that is no answer.
    fn is_behind(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Unsupported(Gap::Opset | Gap::Ir) => matches!(self, Aspect::Versions(..)),
            Outcome::Unsupported(Gap::ElementType | Gap::Kernel) => matches!(self, Aspect::Type(..)),
            Outcome::Unsupported(Gap::DynamicShape | Gap::Overriding) => matches!(self, Aspect::Wiring(..)),
            Outcome::Answer(_) | Outcome::Unsupported(_) => false,
            // Where the specification leaves room, a refusal is as likely as an answer.
            _ => matches!(self, Aspect::Wiring(_, _, Some(_)) | Aspect::Defect(_)),
        }
    }
}

impl Experience {
    fn learn(&mut self, aspects: &IndexSet<Aspect>, member: &Member, execution: &Execution) {
        self.seen.resize(aspects.len(), Seen::default());
        for &place in member.aspects.iter().flatten() {
            let seen = &mut self.seen[place];
            match &execution.outcome {
                Outcome::Answer(_) => seen.answered += 1,
                outcome => seen.lacking += u32::from(aspects[place].is_behind(outcome)),
            }
        }
    }
}

/// How likely it is that a runtime answers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Chance {
    /// It never did, if there was anything to be answered.
    None,
    Slim,
    Good,
}

/// Who is in company: for each node of a model, the cases that are fed to it in turn, by their places.
type Company = Vec<Vec<usize>>;

/// The jobs of companies, which runtimes that are alike put together alike.
type Joined = HashMap<Company, Vec<Job>>;

/// What a runtime did with a case, and what is thought of it by itself.
pub(super) type Done = (Execution, Judgement);

/// The way of cases through one runtime.
struct Way<'m, 'c> {
    /// Of the runtime.
    place: usize,
    members: &'m [Member<'c>],
    /// What is still to be run, in company and alone.
    companies: Vec<Company>,
    alone: Vec<usize>,
    /// Cases that are likely to end the process.
    doubtful: Vec<usize>,
    /// By one that is alone: others of its model, who come to the same if it is the model that it fails for.
    followers: HashMap<usize, Vec<usize>>,
    done: Vec<Option<Done>>,
    /// What went wrong in company: who was in it by then, in the order of time, and what came of whom.
    suspects: Vec<(Vec<usize>, Suspicion)>,
}

/// A case on its way through companies, with what is made of it at most once.
struct Member<'a> {
    generated: &'a Generated,
    /// The place among the cases of the first that has its model: of itself, or of one of its family.
    model: usize,
    /// By their places. `None` if it is always alone.
    aspects: Option<SmallVec<[usize; 4]>>,
    features: OnceCell<Features>,
    part: OnceCell<Part>,
    job: OnceCell<Job>,
}

impl<'a> Member<'a> {
    fn new(generated: &'a Generated, model: usize) -> Member<'a> {
        let (features, part, job) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Member { generated, model, aspects: None, features, part, job }
    }

    /// The same with what decides whether it is put into company.
    fn with_aspects(self, expected: &[Trigger], met: &mut IndexSet<Aspect>) -> Member<'a> {
        let is_small = || self.generated.tensors.iter().flatten().all(|tensor| tensor.len() <= MOST_ELEMENTS);
        let may_be_answered = !matches!(self.generated.expectation, Expectation::Reject { .. });
        let aspects = if may_be_answered && is_small() { Aspect::all(&self, expected) } else { None };
        let place = |aspect| met.insert_full(aspect).0;
        Member { aspects: aspects.map(|aspects| aspects.into_iter().map(place).collect()), ..self }
    }

    /// The dims of its operands.
    fn dims(&self) -> impl Iterator<Item = &[i64]> {
        self.generated.tensors.iter().flatten().map(Tensor::dims)
    }

    fn features(&self) -> &Features {
        self.features.get_or_init(|| Features::of(&self.generated.case))
    }

    /// The part of a model that is its own and that of all who have the same.
    fn part<'m>(&self, members: &'m [Member]) -> &'m Part {
        let Member { generated: Generated { case, tensors, .. }, part, .. } = &members[self.model];
        part.get_or_init(|| Part::new(case, tensors, &format!("case{}_", self.model)))
    }

    /// Lets an answer hold what is expected in place of the same once more: answers wait until all runtimes have given
    /// theirs.
    fn share_with(&self, execution: &mut Execution) {
        if let (Outcome::Answer(outputs), Some(expected)) =
            (&mut execution.outcome, self.generated.expectation.outputs())
        {
            outputs.iter_mut().zip(expected).for_each(|(output, expected)| output.tensor.share_with(expected));
        }
    }

    fn judge(&self, execution: &Execution) -> Judgement {
        judge_one(&self.generated.expectation, execution)
    }

    fn job(&self) -> &Job {
        self.job.get_or_init(|| model::job(&self.generated.case, &self.generated.tensors))
    }
}

impl<'a> Companies<'a> {
    /// Companies of at most so many cases. `expected` are defects that may keep a runtime from answering, `known` those whose
    /// wrong answers need no confirmation.
    pub fn new(most: usize, expected: &'a [Trigger], known: &'a [Trigger]) -> Companies<'a> {
        Companies {
            most,
            expected,
            known,
            aspects: IndexSet::new(),
            experience: Vec::new(),
            found: Vec::new(),
            reducing: Budget::new(),
            times: Default::default(),
            failures: Failures::Confirm,
            stop: Stop::default(),
            budget: Budget::new(),
            reduced: Vec::new(),
        }
    }

    /// The same, which does another thing about failures and ends when it is to stop.
    pub(crate) fn with_failures(self, failures: Failures<'a>, stop: &Stop) -> Companies<'a> {
        Companies { failures, stop: stop.clone(), ..self }
    }

    /// The same for cases that are each alone.
    pub(super) fn alone(&self) -> Companies<'a> {
        Companies::new(1, &[], &[]).with_failures(self.failures, &self.stop)
    }

    /// What cases that ended a process were reduced to since this was last called.
    pub(super) fn take_reduced(&mut self) -> Vec<Reduced> {
        std::mem::take(&mut self.reduced)
    }

    /// Whether a case may be executed otherwise than alone.
    pub(super) fn are_possible(&self) -> bool {
        self.most > 1
    }

    /// What was found since this was last called: the runtime, what is wrong, and the smallest company.
    pub(super) fn take_found(&mut self) -> Vec<((usize, String), Vec<Case>)> {
        std::mem::take(&mut self.found)
    }

    /// The time since this was last called: spent on models and on what came of them, and in each runtime.
    pub(super) fn take_times(&mut self) -> (Duration, Vec<Duration>) {
        std::mem::take(&mut self.times)
    }

    /// What each runtime does with each case, by case; nothing if it was stopped. A runtime is spared the cases that are not
    /// wanted of it; both are given by their places.
    pub(super) fn execute<'c>(
        &mut self,
        cases: &'c [Generated],
        runtimes: &mut [Box<dyn Runtime>],
        is_wanted: &dyn Fn(usize, usize) -> bool,
    ) -> Option<Vec<Vec<Option<Done>>>> {
        let began = Instant::now();
        if self.experience.is_empty() {
            let releases = runtimes.iter().map(|runtime| runtime.id().release());
            self.experience = releases.map(|release| Experience { release, seen: vec![] }).collect();
        }
        self.times.1.resize(runtimes.len(), Duration::ZERO);
        let before: Duration = self.times.1.iter().sum();
        let are_possible = self.are_possible();
        let mut firsts = HashMap::new();
        let member = |(place, generated): (usize, &'c Generated)| {
            let family = generated.family.map(|family| (family, generated.case.opset));
            let first = family.map_or(place, |family| *firsts.entry(family).or_insert(place));
            let member = Member::new(generated, first);
            if are_possible { member.with_aspects(self.expected, &mut self.aspects) } else { member }
        };
        let members: Vec<Member> = cases.iter().enumerate().map(member).collect();
        let mut by_case: Vec<Vec<Option<Done>>> = cases.iter().map(|_| Vec::with_capacity(runtimes.len())).collect();
        let mut joined = Joined::new();
        for (place, runtime) in runtimes.iter_mut().enumerate() {
            let wanted: Vec<usize> = (0..cases.len()).filter(|&case| is_wanted(case, place)).collect();
            let done = self.execute_on(place, runtime.as_mut(), &members, &wanted, &mut joined)?;
            by_case.iter_mut().zip(done).for_each(|(row, done)| row.push(done));
        }
        let in_runtimes = self.times.1.iter().sum::<Duration>().saturating_sub(before);
        self.times.0 += began.elapsed().saturating_sub(in_runtimes);
        Some(by_case)
    }

    fn execute_on(
        &mut self,
        place: usize,
        runtime: &mut dyn Runtime,
        members: &[Member],
        wanted: &[usize],
        joined: &mut Joined,
    ) -> Option<Vec<Option<Done>>> {
        let id = runtime.id().clone();
        let mut way = self.divide(place, &id, members, wanted);
        let mut known = Arc::default();
        loop {
            if self.stop.is_due() {
                return None;
            }
            self.set_aside(&id, &mut way, &mut known);
            if let Some(index) = way.doubtful.pop() {
                self.try_doubtful(runtime, &mut way, index);
                continue;
            }
            if way.companies.is_empty() && way.alone.is_empty() {
                break;
            }
            let mut cases = 0;
            let mut tried: Vec<Company> = std::iter::from_fn(|| {
                let company = way.companies.pop_if(|_| cases < AT_A_TIME)?;
                cases += company.iter().map(Vec::len).sum::<usize>();
                Some(company)
            })
            .collect();
            let mut single = last(&mut way.alone, AT_A_TIME.saturating_sub(cases));
            for company in &tried {
                if !joined.contains_key(company) {
                    joined.insert(company.clone(), jobs(company, members));
                }
            }
            let in_company = tried.iter().flat_map(|company| &joined[company]);
            let jobs: Vec<&Job> = in_company.chain(single.iter().map(|&index| members[index].job())).collect();
            let began = Instant::now();
            let mut executions = runtime.execute_all(&jobs);
            self.times.1[place] += began.elapsed();
            self.tally(&id, place, &executions);
            for company in tried.drain(..) {
                let rounds = rounds(&company);
                let own = executions.drain(..rounds.min(executions.len()));
                if own.len() == 0 {
                    way.companies.push(company);
                } else {
                    self.come_in_company(&id, &mut way, &company, own);
                }
            }
            // The list ends with whatever ended the process.
            way.alone.extend(single.drain(executions.len()..));
            for (index, execution) in single.into_iter().zip(executions) {
                let execution = if execution.outcome.ends_process() {
                    let began = Instant::now();
                    let execution = self.look_into(runtime, place, &members[index], execution);
                    self.times.1[place] += began.elapsed();
                    execution
                } else {
                    execution
                };
                self.come_alone(&mut way, index, execution);
            }
        }
        let Way { done, suspects, .. } = way;
        assert!(wanted.iter().all(|&index| done[index].is_some()), "every case is executed");
        self.confirm(place, runtime, members, &done, suspects);
        Some(done)
    }

    /// Sets aside what is left out, and what is likely to end the process, if more is known of that than before.
    fn set_aside(&self, id: &RuntimeId, way: &mut Way, known: &mut Arc<Known>) {
        let Failures::LookInto(quarantine) = self.failures else { return };
        let before = std::mem::replace(known, quarantine.known());
        if Arc::ptr_eq(&before, known) || known.is_empty() {
            return;
        }
        let (members, release) = (way.members, id.release());
        let is_doubtful = |index: usize| {
            let member = &members[index];
            let operator = member.generated.case.operator.name;
            known.is_out(way.place) || known.like(&release, operator, member.features()).is_some()
        };
        for company in &mut way.companies {
            for column in company.iter_mut() {
                way.doubtful.extend(column.extract_if(.., |&mut index| is_doubtful(index)));
            }
            company.retain(|column| !column.is_empty());
        }
        way.companies.retain(|company| !company.is_empty());
        let mut alone = std::mem::take(&mut way.alone);
        while let Some(index) = alone.pop() {
            if is_doubtful(index) {
                way.doubtful.push(index);
                alone.extend(way.followers.remove(&index).into_iter().flatten());
            } else {
                way.alone.push(index);
            }
        }
        way.alone.reverse();
    }

    /// Takes a case that is likely to end the process: it has a short time, if there is any.
    fn try_doubtful(&mut self, runtime: &mut dyn Runtime, way: &mut Way, index: usize) {
        let Failures::LookInto(quarantine) = self.failures else { return };
        let (member, known, place) = (&way.members[index], quarantine.known(), way.place);
        let execution = if known.is_out(place) {
            left_out(Gap::BackedOff)
        } else if !self.budget.is_left() {
            left_out(Gap::LeftOut)
        } else {
            let began = Instant::now();
            let execution = runtime.execute_all(&[member.job()]).pop();
            self.tally(runtime.id(), place, execution.as_slice());
            // It was stopped, if there is none.
            let execution = match execution.unwrap_or_else(|| left_out(Gap::LeftOut)) {
                failed if failed.outcome.ends_process() => self.look_into(runtime, place, member, failed),
                other => other,
            };
            self.budget.spend(began.elapsed());
            self.times.1[place] += began.elapsed();
            execution
        };
        self.come_alone(way, index, execution);
    }

    fn tally(&self, id: &RuntimeId, place: usize, executions: &[Execution]) {
        if let Failures::LookInto(quarantine) = self.failures {
            let ended = executions.iter().filter(|execution| execution.outcome.ends_process()).count();
            quarantine.count(place, id, executions.len() as u64, ended as u64);
        }
    }

    /// What a runtime does with a case that seems to end its process.
    fn look_into(&mut self, runtime: &mut dyn Runtime, place: usize, member: &Member, seen: Execution) -> Execution {
        let quarantine = match self.failures {
            Failures::Believe => return seen,
            Failures::Confirm => return runtime.execute(member.job()),
            Failures::LookInto(quarantine) => quarantine,
        };
        let (case, release) = (&member.generated.case, runtime.id().release());
        let is_known = quarantine.known().like(&release, case.operator.name, member.features()).is_some();
        match quarantine.look_into(case, &seen.outcome, runtime, &self.stop) {
            Some(proven) if proven.execution.outcome == seen.outcome => {
                let Proven { case, execution, .. } = proven;
                let message = execution.message.clone();
                if !is_known {
                    self.reduced.push(Reduced { place, case, execution });
                }
                Execution { message, ..seen }
            }
            _ => runtime.execute(member.job()),
        }
    }

    /// Takes the executions of the first rounds of a company.
    fn come_in_company(
        &mut self,
        id: &RuntimeId,
        way: &mut Way,
        company: &Company,
        executions: impl ExactSizeIterator<Item = Execution>,
    ) {
        let tried = executions.len();
        // Whoever was in a round that failed as a whole.
        let mut rest: Company = company.iter().map(|_| vec![]).collect();
        let mut declared = Declared::default();
        for (round, execution) in executions.enumerate() {
            match divided(execution, company.len(), &mut declared) {
                Ok(parts) => {
                    for (&index, mut execution) in in_round(company, round).zip(parts).filter_map(present) {
                        way.members[index].share_with(&mut execution);
                        let judgement = way.members[index].judge(&execution);
                        let is_certain = !execution.outcome.ends_process();
                        if is_certain && self.counts(id, &way.members[index], &execution, &judgement) {
                            self.keep(way, index, execution, judgement);
                        } else {
                            way.alone.push(index);
                            if is_certain {
                                way.suspects.push((until(company, round), Suspicion::Member(index, execution)));
                            }
                        }
                    }
                }
                Err(execution) => {
                    let ends_process = execution.outcome.ends_process();
                    if rest.iter().all(Vec::is_empty) {
                        way.suspects.push((until(company, round), Suspicion::Whole(execution)));
                    }
                    if ends_process {
                        // To look for the culprit by halves would end several processes more.
                        way.alone.extend(in_round(company, round).flatten());
                    } else {
                        rest.iter_mut().zip(in_round(company, round)).for_each(|(rest, index)| rest.extend(index));
                    }
                }
            }
        }
        let later: Company = company.iter().filter_map(|column| column.get(tried..)).map(<[usize]>::to_vec).collect();
        let (left, right) = rest.split_at(rest.len() / 2);
        for part in [left, right, &later] {
            let part: Company = part.iter().filter(|column| !column.is_empty()).cloned().collect();
            match &part[..] {
                [] => {}
                [column] if column.len() == 1 => way.alone.extend(column),
                _ => way.companies.push(part),
            }
        }
    }

    /// Takes what came of a case that was alone, and of those who come to the same for its model.
    fn come_alone(&mut self, way: &mut Way, index: usize, mut execution: Execution) {
        way.members[index].share_with(&mut execution);
        match way.followers.remove(&index) {
            Some(followers) if execution.is_of_model => {
                for follower in followers {
                    let judgement = way.members[follower].judge(&execution);
                    self.keep(way, follower, execution.clone(), judgement);
                }
            }
            Some(followers) if execution.outcome.ends_process() => way.alone.extend(followers),
            Some(followers) => way.companies.push(vec![followers]),
            None => {}
        }
        let judgement = way.members[index].judge(&execution);
        self.keep(way, index, execution, judgement);
    }

    fn keep(&mut self, way: &mut Way, index: usize, execution: Execution, judgement: Judgement) {
        self.experience[way.place].learn(&self.aspects, &way.members[index], &execution);
        way.done[index] = Some((execution, judgement));
    }

    /// Companies of cases of the same versions that are likely to be answered, or else of one model; and those that go alone.
    fn divide<'m, 'c>(&self, place: usize, id: &RuntimeId, members: &'m [Member<'c>], wanted: &[usize]) -> Way<'m, 'c> {
        let done = members.iter().map(|_| None).collect();
        let (companies, alone, doubtful, followers, suspects) = Default::default();
        let mut way = Way { place, members, companies, alone, doubtful, followers, done, suspects };
        if !self.are_possible() {
            way.alone = wanted.to_vec();
            return way;
        }
        let mut columns: IndexMap<(usize, Chance), Vec<usize>> = IndexMap::new();
        for &index in wanted {
            let member = &members[index];
            columns.entry((member.model, self.chance(place, member))).or_default().push(index);
        }
        // Those that are fed in turn are apart from those that are fed once, which would be fed the same again each time.
        let mut groups: BTreeMap<(Versions, bool), Company> = BTreeMap::new();
        let is_pinned = id.is_pinned();
        for ((model, chance), mut column) in columns {
            if is_pinned {
                // One load serves all that are fed the same dims, if they follow each other.
                column.sort_by(|&one, &other| members[one].dims().cmp(members[other].dims()));
            }
            match chance {
                Chance::Good => {
                    let versions = Versions::of(&members[model].generated.case);
                    groups.entry((versions, column.len() > 1)).or_default().push(column);
                }
                Chance::Slim if column.len() > 1 => way.companies.push(vec![column]),
                Chance::Slim => way.alone.extend(column),
                Chance::None => {
                    let followers = column.split_off(1);
                    way.alone.extend(&column);
                    way.followers.extend((!followers.is_empty()).then_some((column[0], followers)));
                }
            }
        }
        for mut group in groups.into_values() {
            group.sort_by_key(|column| std::cmp::Reverse(column.len()));
            // Where a model is loaded for each round, other nodes bring nothing.
            let most = if is_pinned && group[0].len() > 1 { 1 } else { self.most };
            for company in group.chunks(most) {
                match company {
                    [column] if column.len() == 1 => way.alone.extend(column),
                    _ => way.companies.push(company.to_vec()),
                }
            }
        }
        way
    }

    /// Whether a runtime is likely to answer a case.
    fn chance(&self, place: usize, member: &Member) -> Chance {
        let Experience { release, seen } = &self.experience[place];
        let Some(aspects) = &member.aspects else { return Chance::Slim };
        let concerned = aspects.iter().filter(|&&aspect| self.aspects[aspect].concerns(release, self.expected));
        let chance = |&aspect: &usize| match seen.get(aspect).copied().unwrap_or_default() {
            Seen { answered: 0, .. } => Chance::None,
            Seen { answered, lacking } if answered > lacking.saturating_mul(LIKELY) => Chance::Good,
            Seen { .. } => Chance::Slim,
        };
        concerned.map(chance).min().unwrap_or(Chance::Good)
    }

    /// Whether an answer that was given in company counts: it is right, or wrong in a known way.
    fn counts(&self, id: &RuntimeId, member: &Member, execution: &Execution, judgement: &Judgement) -> bool {
        let generated = member.generated;
        let found = match judgement {
            Judgement::Wrong(found) => found,
            // Where the specification leaves room, wirings are compared bit by bit, so it has to be what comes alone.
            Judgement::Tolerated(_) => return is_exact(generated, execution),
            Judgement::Agrees | Judgement::Unsupported(_) => return true,
        };
        mismatches(generated, id, execution, found)
            .iter()
            .all(|mismatch| self.known.iter().any(|defect| defect.explains(mismatch, member.features())))
    }

    /// Keeps what went wrong in company and right alone, in the smallest and simplest such company, as long as that takes little
    /// of the time.
    fn confirm(
        &mut self,
        place: usize,
        runtime: &mut dyn Runtime,
        members: &[Member],
        done: &[Option<Done>],
        suspects: Vec<(Vec<usize>, Suspicion)>,
    ) {
        for (company, suspicion) in suspects {
            let alone = |index: usize| done[index].as_ref().map(|(execution, _)| &execution.outcome);
            let is_answered = |&index: &usize| match &done[index] {
                Some((_, Judgement::Wrong(found))) if found.contains(&Discrepancy::WrongCount) => false,
                alone => matches!(alone, Some((Execution { outcome: Outcome::Answer(_), .. }, _))),
            };
            let is_off = |index: usize, part: &Execution| {
                matches!(members[index].judge(part), Judgement::Wrong(_)) && Some(&part.outcome) != alone(index)
            };
            let what = match &suspicion {
                Suspicion::Member(index, execution) if is_off(*index, execution) => OTHER_ANSWER.to_owned(),
                Suspicion::Whole(execution) if company.iter().all(is_answered) => not_answered(&execution.outcome),
                _ => continue,
            };
            if !self.reducing.is_left() {
                continue;
            }
            let began = Instant::now();
            let mut goes_wrong = |company: &[usize]| match execute_once(company, members, runtime) {
                Ok(parts) => parts.iter().any(|(index, part)| is_off(*index, part)),
                Err(_) => true,
            };
            if !goes_wrong(&company) {
                // What does not come again cannot be shown to anyone.
                self.reducing.spend(began.elapsed());
                continue;
            }
            let smallest = without_surplus(company, &mut goes_wrong);
            let cases = smallest.iter().map(|&index| members[index].generated.case.clone()).collect();
            let is_over = || began.elapsed() >= REDUCING || self.stop.is_due();
            let cases = simplify(cases, &what, runtime, &is_over);
            self.reducing.spend(began.elapsed());
            self.found.push(((place, what), cases));
        }
    }
}

/// Whether the answer is the very one that the specification gives or leans to.
fn is_exact(generated: &Generated, execution: &Execution) -> bool {
    let Outcome::Answer(outputs) = &execution.outcome else { return false };
    let given = outputs.iter().filter(|output| output.native_type.is_none()).map(|output| &output.tensor);
    generated.expectation.outputs().is_some_and(|expected| given.eq(expected))
}

/// What went wrong in a company.
enum Suspicion {
    /// It was answered, but not right for this case.
    Member(usize, Execution),
    /// It was not answered.
    Whole(Execution),
}

/// Takes the last of several, at most so many.
fn last<T>(several: &mut Vec<T>, count: usize) -> Vec<T> {
    several.split_off(several.len().saturating_sub(count))
}

/// The company without everyone that it goes wrong without.
fn without_surplus(mut company: Vec<usize>, goes_wrong: &mut impl FnMut(&[usize]) -> bool) -> Vec<usize> {
    let mut size = company.len() / 2;
    while size > 0 {
        let mut first = 0;
        while first < company.len() && company.len() > 1 {
            let end = (first + size).min(company.len());
            let rest = [&company[..first], &company[end..]].concat();
            if !rest.is_empty() && goes_wrong(&rest) {
                company = rest;
            } else {
                first = end;
            }
        }
        size /= 2;
    }
    company
}

/// What a runtime does with cases as the nodes of one model. Those that have one model are fed to one node, in turn.
///
/// # Errors
/// What came of the model, if it was not answered.
///
/// # Panics
/// If there is no case, or cases differ in their versions.
pub fn execute_company(cases: &[Generated], runtime: &mut dyn Runtime) -> Result<Vec<Execution>, Execution> {
    let parts: Vec<Part> = cases.iter().map(|generated| Part::new(&generated.case, &generated.tensors, "")).collect();
    let first = |part: &Part| parts.iter().position(|other| other.is_same_as(part));
    let member = |((place, generated), part)| Member::new(generated, first(part).unwrap_or(place));
    let members: Vec<Member> = cases.iter().enumerate().zip(&parts).map(member).collect();
    let everyone: Vec<usize> = (0..cases.len()).collect();
    let mut executions = execute_once(&everyone, &members, runtime)?;
    executions.sort_by_key(|(index, _)| *index);
    Ok(executions.into_iter().map(|(_, execution)| execution).collect())
}

/// What a runtime does with a company, whose members are given in any order; what came of the model, if it was not answered.
fn execute_once(
    company: &[usize],
    members: &[Member],
    runtime: &mut dyn Runtime,
) -> Result<Vec<(usize, Execution)>, Execution> {
    let mut columns: IndexMap<usize, Vec<usize>> = IndexMap::new();
    for &index in company {
        columns.entry(members[index].model).or_default().push(index);
    }
    let company: Company = columns.into_values().collect();
    let jobs = jobs(&company, members);
    let (mut all, mut declared) = (Vec::new(), Declared::default());
    for (round, job) in jobs.iter().enumerate() {
        let parts = divided(runtime.execute(job), company.len(), &mut declared)?;
        all.extend(in_round(&company, round).zip(parts).filter_map(present).map(|(&index, part)| (index, part)));
    }
    Ok(all)
}

/// How many times a company is fed.
fn rounds(company: &Company) -> usize {
    company.iter().map(Vec::len).max().unwrap_or(0)
}

/// Who is fed to each node of a company in a round; nobody new, if there is no more.
fn in_round(company: &Company, round: usize) -> impl Iterator<Item = Option<&usize>> {
    company.iter().map(move |column| column.get(round))
}

/// What came of a node, if somebody was fed to it.
fn present<T>((index, part): (Option<&usize>, T)) -> Option<(&usize, T)> {
    Some((index?, part))
}

/// Who was fed to a company up to a round, and in it.
fn until(company: &Company, round: usize) -> Vec<usize> {
    (0..=round).flat_map(|round| in_round(company, round).flatten().copied()).collect()
}

/// The jobs of a company, one for each round. A node that has no more to be fed is fed the last once more.
fn jobs(company: &Company, members: &[Member]) -> Vec<Job> {
    let parts: Vec<&Part> = company.iter().map(|column| members[column[0]].part(members)).collect();
    let model = model::join(&parts);
    let job = |round| {
        let mut feeds = Vec::with_capacity(2 * company.len());
        for (part, column) in parts.iter().zip(company) {
            let member = &members[column[column.len().min(round + 1) - 1]];
            feeds.extend(part.feeds(&member.generated.tensors));
        }
        Job { model: Arc::clone(&model), feeds, continues: round > 0 }
    };
    (0..rounds(company)).map(job).collect()
}

/// What came of each node of a company; the execution itself if it was not answered, unless there is but one node.
fn divided(execution: Execution, count: usize, declared: &mut Declared) -> Result<Vec<Execution>, Execution> {
    match execution {
        execution if count == 1 => Ok(vec![execution]),
        Execution { outcome: Outcome::Answer(outputs), declared: now, .. } if outputs.len() == count => {
            let mut declared = declared.of_each(now.filter(|now| now.len() == count).unwrap_or_default()).iter();
            let part = |output| Execution::answer(vec![output], declared.next().cloned().unwrap_or_default());
            Ok(outputs.into_iter().map(part).collect())
        }
        other => Err(other),
    }
}

/// What is declared of the nodes of a company. All rounds of a session share it, so it is divided once.
#[derive(Default)]
struct Declared {
    whole: Arc<[Declaration]>,
    of_each: Vec<Arc<[Declaration]>>,
}

impl Declared {
    fn of_each(&mut self, whole: Arc<[Declaration]>) -> &[Arc<[Declaration]>] {
        if !Arc::ptr_eq(&self.whole, &whole) {
            self.of_each = whole.iter().map(|one| [one.clone()].into()).collect();
            self.whole = whole;
        }
        &self.of_each
    }
}
