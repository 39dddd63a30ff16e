//! Cases in company: put as independent nodes into one model, which a runtime loads and runs once.
//!
//! What is right in company counts. All else is confirmed alone, so a verdict never depends on the company; a case that
//! goes wrong in company only is a finding of its own, the smallest such company.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use indexmap::IndexSet;

use super::Trigger;
use super::examine::mismatches;
use crate::case::{Case, Features, Generated, Wiring};
use crate::model::{self, Job, Part, Versions};
use crate::operator::{Expectation, OperatorName, Rule};
use crate::runtime::{Execution, Gap, Outcome, Runtime, RuntimeId};
use crate::tensor::ElementType;
use crate::verdict::{Discrepancy, Judgement, judge_one, reaction};

/// The most elements that an operand of a case in company has: beyond that, copying them is all that takes time.
const MOST_ELEMENTS: usize = 4096;

/// The number of cases that a runtime is given at a time: so many that handing them over takes little, and so few that
/// their answers take little memory until they are looked at.
const AT_A_TIME: usize = 1024;

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
    /// Companies that go wrong though each of their cases is right alone, by runtime and by what came of them.
    found: BTreeMap<(usize, String), Vec<Case>>,
    /// The time since it was last asked for: spent on models, and in each runtime.
    times: (Duration, Vec<Duration>),
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
            Outcome::Unsupported(Gap::DynamicShape) => matches!(self, Aspect::Wiring(..)),
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

/// A case on its way through companies, with what is made of it at most once.
struct Member<'a> {
    generated: &'a Generated,
    /// Its place among the cases.
    place: usize,
    /// By their places. `None` if it is always alone.
    aspects: Option<Vec<usize>>,
    features: OnceCell<Features>,
    part: OnceCell<Part>,
    job: OnceCell<Job>,
}

impl<'a> Member<'a> {
    fn new(generated: &'a Generated, place: usize) -> Member<'a> {
        let (features, part, job) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Member { generated, place, aspects: None, features, part, job }
    }

    /// The same with what decides whether it is put into company.
    fn with_aspects(self, expected: &[Trigger], met: &mut IndexSet<Aspect>) -> Member<'a> {
        let is_small = || self.generated.tensors.iter().flatten().all(|tensor| tensor.len() <= MOST_ELEMENTS);
        let may_be_answered = !matches!(self.generated.expectation, Expectation::Reject { .. });
        let aspects = if may_be_answered && is_small() { Aspect::all(&self, expected) } else { None };
        let place = |aspect| met.insert_full(aspect).0;
        Member { aspects: aspects.map(|aspects| aspects.into_iter().map(place).collect()), ..self }
    }

    fn features(&self) -> &Features {
        self.features.get_or_init(|| Features::of(&self.generated.case))
    }

    fn part(&self) -> &Part {
        let Generated { case, tensors, .. } = self.generated;
        self.part.get_or_init(|| Part::new(case, tensors, &format!("case{}_", self.place)))
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
            found: BTreeMap::new(),
            times: Default::default(),
        }
    }

    /// Whether a case may be executed otherwise than alone.
    pub(super) fn are_possible(&self) -> bool {
        self.most > 1
    }

    /// What was found since this was last called: what came of it, and the smallest company, by runtime.
    pub(super) fn take_found(&mut self) -> BTreeMap<(usize, String), Vec<Case>> {
        std::mem::take(&mut self.found)
    }

    /// The time since this was last called: spent on models, and in each runtime.
    pub(super) fn take_times(&mut self) -> (Duration, Vec<Duration>) {
        std::mem::take(&mut self.times)
    }

    /// What each runtime does with each case, by case.
    pub(super) fn execute(&mut self, cases: &[Generated], runtimes: &mut [Box<dyn Runtime>]) -> Vec<Vec<Execution>> {
        let began = Instant::now();
        if self.experience.is_empty() {
            let releases = runtimes.iter().map(|runtime| runtime.id().release());
            self.experience = releases.map(|release| Experience { release, seen: vec![] }).collect();
        }
        self.times.1.resize(runtimes.len(), Duration::ZERO);
        let before: Duration = self.times.1.iter().sum();
        let are_possible = self.are_possible();
        let member = |(place, generated)| {
            let member = Member::new(generated, place);
            if are_possible { member.with_aspects(self.expected, &mut self.aspects) } else { member }
        };
        let members: Vec<Member> = cases.iter().enumerate().map(member).collect();
        let mut by_case: Vec<Vec<Execution>> = cases.iter().map(|_| Vec::with_capacity(runtimes.len())).collect();
        for (place, runtime) in runtimes.iter_mut().enumerate() {
            let executions = self.execute_on(place, runtime.as_mut(), &members);
            by_case.iter_mut().zip(executions).for_each(|(row, execution)| row.push(execution));
        }
        let in_runtimes = self.times.1.iter().sum::<Duration>().saturating_sub(before);
        self.times.0 += began.elapsed().saturating_sub(in_runtimes);
        by_case
    }

    fn execute_on(&mut self, place: usize, runtime: &mut dyn Runtime, members: &[Member]) -> Vec<Execution> {
        let id = runtime.id().clone();
        let mut done: Vec<Option<Execution>> = members.iter().map(|_| None).collect();
        let (mut companies, mut alone) = self.divide(place, members);
        // What went wrong in company: who was in it, and what came of whom.
        let mut suspects: Vec<(Vec<usize>, Suspicion)> = Vec::new();
        while !companies.is_empty() || !alone.is_empty() {
            let tried = last(&mut companies, (AT_A_TIME / self.most.max(1)).max(1));
            let cases: usize = tried.iter().map(Vec::len).sum();
            let single = last(&mut alone, AT_A_TIME.saturating_sub(cases));
            let joined: Vec<Job> = tried.iter().map(|company| join(company, members)).collect();
            let jobs: Vec<&Job> = joined.iter().chain(single.iter().map(|&index| members[index].job())).collect();
            let began = Instant::now();
            let mut executions = runtime.execute_all(&jobs).into_iter();
            self.times.1[place] += began.elapsed();
            for (company, execution) in tried.into_iter().zip(executions.by_ref()) {
                match divided(execution, company.len()) {
                    Ok(parts) => {
                        for (&index, mut execution) in company.iter().zip(parts) {
                            members[index].share_with(&mut execution);
                            if self.counts(&id, &members[index], &execution) {
                                self.experience[place].learn(&self.aspects, &members[index], &execution);
                                done[index] = Some(execution);
                            } else {
                                alone.push(index);
                                suspects.push((company.clone(), Suspicion::Member(index, execution)));
                            }
                        }
                    }
                    Err(execution) => {
                        let (left, right) = company.split_at(company.len() / 2);
                        for half in [left, right] {
                            if let [index] = *half { alone.push(index) } else { companies.push(half.to_vec()) }
                        }
                        suspects.push((company, Suspicion::Whole(execution)));
                    }
                }
            }
            for (index, mut execution) in single.into_iter().zip(executions) {
                members[index].share_with(&mut execution);
                self.experience[place].learn(&self.aspects, &members[index], &execution);
                done[index] = Some(execution);
            }
        }
        let done: Vec<Execution> = done.into_iter().flatten().collect();
        assert_eq!(done.len(), members.len(), "every case is executed");
        self.confirm(place, runtime, members, &done, suspects);
        done
    }

    /// Companies of cases of the same versions that are likely to be answered, and those that go alone.
    fn divide(&self, place: usize, members: &[Member]) -> (Vec<Vec<usize>>, Vec<usize>) {
        let mut groups: BTreeMap<Versions, Vec<usize>> = BTreeMap::new();
        let mut alone = Vec::new();
        for (index, member) in members.iter().enumerate() {
            if member.aspects.as_ref().is_some_and(|aspects| self.expects_an_answer(place, aspects)) {
                groups.entry(Versions::of(&member.generated.case)).or_default().push(index);
            } else {
                alone.push(index);
            }
        }
        let mut companies = Vec::new();
        for chunk in groups.values().flat_map(|group| group.chunks(self.most.max(1))) {
            if let [index] = *chunk { alone.push(index) } else { companies.push(chunk.to_vec()) }
        }
        (companies, alone)
    }

    /// Whether a runtime is likely to answer a case with these aspects.
    fn expects_an_answer(&self, place: usize, aspects: &[usize]) -> bool {
        let Experience { release, seen } = &self.experience[place];
        let is_likely = |seen: &Seen| seen.answered > seen.lacking.saturating_mul(LIKELY);
        aspects.iter().all(|&aspect| {
            seen.get(aspect).is_some_and(is_likely) || !self.aspects[aspect].concerns(release, self.expected)
        })
    }

    /// Whether an answer that was given in company counts: it is right, or wrong in a known way.
    fn counts(&self, id: &RuntimeId, member: &Member, execution: &Execution) -> bool {
        let generated = member.generated;
        let found = match judge_one(&generated.expectation, execution) {
            Judgement::Wrong(found) => found,
            // Where the specification leaves room, wirings are compared bit by bit, so it has to be what comes alone.
            Judgement::Tolerated(_) => return is_exact(generated, execution),
            Judgement::Agrees | Judgement::Unsupported(_) => return true,
        };
        mismatches(generated, id, execution, &found)
            .iter()
            .all(|mismatch| self.known.iter().any(|defect| defect.explains(mismatch, member.features())))
    }

    /// Keeps what went wrong in company and right alone, once for each runtime and reaction, in the smallest such company.
    fn confirm(
        &mut self,
        place: usize,
        runtime: &mut dyn Runtime,
        members: &[Member],
        alone: &[Execution],
        suspects: Vec<(Vec<usize>, Suspicion)>,
    ) {
        for (company, suspicion) in suspects {
            let is_answered = |&index: &usize| matches!(alone[index].outcome, Outcome::Answer(_));
            let is_off = |index: usize, part: &Execution| {
                let judgement = judge_one(&members[index].generated.expectation, part);
                matches!(judgement, Judgement::Wrong(_)) && part.outcome != alone[index].outcome
            };
            let what = match &suspicion {
                Suspicion::Member(index, execution) if is_off(*index, execution) => {
                    "answers otherwise than alone".to_owned()
                }
                Suspicion::Whole(execution) if company.iter().all(is_answered) => {
                    format!("{}, though each case is answered alone", reaction(&execution.outcome))
                }
                _ => continue,
            };
            if self.found.contains_key(&(place, what.clone())) {
                continue;
            }
            let mut goes_wrong = |company: &[usize]| {
                let execution = runtime.execute(&join(company, members));
                match divided(execution, company.len()) {
                    Ok(parts) => company.iter().zip(&parts).any(|(&index, part)| is_off(index, part)),
                    Err(_) => true,
                }
            };
            if !goes_wrong(&company) {
                // What does not come again cannot be shown to anyone.
                continue;
            }
            let smallest = without_surplus(company, &mut goes_wrong);
            let cases = smallest.iter().map(|&index| members[index].generated.case.clone()).collect();
            self.found.insert((place, what), cases);
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

/// What a runtime does with cases as the nodes of one model.
///
/// # Errors
/// What came of the model, if it was not answered.
///
/// # Panics
/// If there is no case, or cases differ in their versions.
pub fn execute_company(cases: &[Generated], runtime: &mut dyn Runtime) -> Result<Vec<Execution>, Execution> {
    let members: Vec<Member> = cases.iter().zip(0..).map(|(generated, place)| Member::new(generated, place)).collect();
    let everyone: Vec<usize> = (0..cases.len()).collect();
    divided(runtime.execute(&join(&everyone, &members)), cases.len())
}

/// The model of a company.
fn join(company: &[usize], members: &[Member]) -> Job {
    model::join(&company.iter().map(|&index| members[index].part()).collect::<Vec<_>>())
}

/// What came of each case of a company that was answered; the execution itself if it was not.
fn divided(execution: Execution, count: usize) -> Result<Vec<Execution>, Execution> {
    match execution {
        Execution { outcome: Outcome::Answer(outputs), declared, .. } if outputs.len() == count => {
            let declared = declared.filter(|declared| declared.len() == count);
            let mut declared = declared.into_iter().flatten();
            let part = |output| {
                let declared = declared.next().map(|one| vec![one]).unwrap_or_default();
                Execution::answer(vec![output], declared)
            };
            Ok(outputs.into_iter().map(part).collect())
        }
        other => Err(other),
    }
}
