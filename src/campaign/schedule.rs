//! Executes cases on the runtimes, in batches where these are likely to succeed.
//!
//! A result in a batch counts if it is right, or wrong as a known issue is. All others are confirmed alone, so a verdict
//! never depends on the batch. A failure that shows only in a batch becomes a case of its own: of several nodes, or of
//! several runs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batch::{Aspects, Batch, Guess, Member, by_node, members};
use super::quarantine::{Budget, Known, Proven, Quarantine, Suspect, left_out};
use super::{Reduced, Trigger};
use crate::case::{Case, Generated};
use crate::model::Job;
use crate::runtime::{Execution, Gap, Outcome, Runtime, RuntimeId, Stop, execute_once, executions};
use crate::verdict::{Discrepancy, Judgement, Mismatch, judge_one, reaction};

/// The number of cases that a runtime is given at a time. They are many enough that the transfer takes little time, and few
/// enough that their answers take little memory until they are judged.
const AT_A_TIME: usize = 1024;

/// Executes cases, and confirms a failure in a batch by executing its cases alone.
#[derive(Debug)]
pub struct Scheduler<'a> {
    guess: Guess<'a>,
    /// Defects whose wrong answers need no confirmation.
    known: &'a [Trigger],
    /// Batches that fail although each of their cases is right alone. Each batch is recorded as one case.
    found: Vec<Generated>,
    /// The time for reducing such batches.
    reducing: Budget,
    /// The time since it was last taken: for models and their results, and in each runtime.
    times: (Duration, Vec<Duration>),
    failures: Failures<'a>,
    /// Whether to leave out a case whose output has too many elements to be judged. It would take memory and time for
    /// nothing.
    is_sparing: bool,
    /// When work under way is given up.
    stop: Stop,
    /// The time for cases that are likely to end a process.
    budget: Budget,
    /// Reduced cases that ended a process, since they were last taken.
    reduced: Vec<Reduced>,
}

/// How to treat a case that seems to have ended the process of a runtime.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failures<'a> {
    /// Execute it, and every case like it, alone in a new process with the full time.
    Confirm,
    /// Take the execution as it is. The caller confirms its own conclusions.
    Believe,
    /// Reduce and confirm it. Cases like it are left out if they take too much time.
    LookInto(&'a Quarantine),
}

/// The execution of a case, and the judgement of this execution by itself.
pub(super) type Done = (Execution, Judgement);

/// The cases for the runtimes, with their data.
struct Cases<'c> {
    members: Vec<Member<'c>>,
    /// The aspects of each case.
    aspects: Vec<Aspects>,
    /// The jobs of batches. Similar runtimes form the same batches, and use the same jobs.
    jobs: HashMap<Batch, Job>,
}

/// The cases that a runtime is given, and their results so far.
struct Round {
    /// The index of the runtime.
    place: usize,
    id: RuntimeId,
    /// The batches that are still to be run.
    batches: Vec<Batch>,
    /// Cases that are likely to end the process.
    doubtful: Vec<usize>,
    done: Vec<Option<Done>>,
    /// The batches that failed, each up to the case that shows the failure.
    suspects: Vec<(Batch, Suspicion)>,
}

/// The way in which a batch failed.
enum Suspicion {
    /// The batch was answered, but the result of this case does not count.
    Case(usize, Execution),
    /// The batch was not answered.
    Whole,
}

impl Cases<'_> {
    fn job(&mut self, batch: &Batch) -> &Job {
        if !self.jobs.contains_key(batch) {
            self.jobs.insert(batch.clone(), batch.job(&self.members));
        }
        &self.jobs[batch]
    }

    /// Judges an execution by itself. If an output is the expected one, it then shares the memory of its elements with it,
    /// because answers are held until all runtimes have given theirs.
    fn judge(&self, case: usize, execution: &mut Execution) -> Judgement {
        let expectation = &self.members[case].generated.expectation;
        if let (Outcome::Answer(outputs), Some(expected)) = (&mut execution.outcome, expectation.outputs()) {
            outputs.iter_mut().zip(expected).for_each(|(output, expected)| output.tensor.share_with(expected));
        }
        judge_one(expectation, execution)
    }
}

impl<'a> Scheduler<'a> {
    /// `most` is the most cases that one model has as its nodes. `expected` are defects that may keep a runtime from
    /// answering. The wrong answers of the defects in `known` need no confirmation.
    pub fn new(most: usize, expected: &'a [Trigger], known: &'a [Trigger]) -> Scheduler<'a> {
        Scheduler {
            guess: Guess::new(most, expected),
            known,
            found: Vec::new(),
            reducing: Budget::new(),
            times: Default::default(),
            failures: Failures::Confirm,
            is_sparing: false,
            stop: Stop::default(),
            budget: Budget::new(),
            reduced: Vec::new(),
        }
    }

    /// The same scheduler for a search. It treats failures as given, leaves out cases with outputs too large to be judged,
    /// and ends at the stop.
    pub(crate) fn searching(self, failures: Failures<'a>, stop: &Stop) -> Scheduler<'a> {
        Scheduler { failures, is_sparing: true, stop: stop.clone(), ..self }
    }

    /// The same scheduler, but it executes each case alone.
    pub(super) fn alone(&self) -> Scheduler<'a> {
        Scheduler {
            failures: self.failures,
            is_sparing: self.is_sparing,
            stop: self.stop.clone(),
            ..Scheduler::new(1, &[], &[])
        }
    }

    /// Takes the reduced cases that ended a process, since the last call.
    pub(super) fn take_reduced(&mut self) -> Vec<Reduced> {
        std::mem::take(&mut self.reduced)
    }

    /// Whether cases may be put into batches.
    pub(super) fn puts_together(&self) -> bool {
        self.guess.puts_together()
    }

    /// Takes the batches that fail although each of their cases is right alone, since the last call. Each batch is one case.
    pub(super) fn take_found(&mut self) -> Vec<Generated> {
        std::mem::take(&mut self.found)
    }

    /// Takes the time since the last call: for models and their results, and in each runtime.
    pub(super) fn take_times(&mut self) -> (Duration, Vec<Duration>) {
        std::mem::take(&mut self.times)
    }

    /// Executes each case on each runtime. The results are sorted by case; `None` if the work was stopped. `is_wanted` takes
    /// the index of a case and the index of a runtime, and tells whether the runtime is given the case.
    pub(super) fn execute(
        &mut self,
        cases: &[Generated],
        runtimes: &mut [Box<dyn Runtime>],
        is_wanted: &dyn Fn(usize, usize) -> bool,
    ) -> Option<Vec<Vec<Option<Done>>>> {
        let began = Instant::now();
        self.times.1.resize(runtimes.len(), Duration::ZERO);
        let before: Duration = self.times.1.iter().sum();
        let members = members(cases);
        let aspects = members.iter().map(|member| self.guess.aspects(member)).collect();
        let mut all = Cases { members, aspects, jobs: HashMap::new() };
        let mut by_case: Vec<Vec<Option<Done>>> = cases.iter().map(|_| Vec::with_capacity(runtimes.len())).collect();
        for (place, runtime) in runtimes.iter_mut().enumerate() {
            let wanted = (0..cases.len()).filter(|&case| is_wanted(case, place));
            let done = self.execute_on(place, runtime.as_mut(), &mut all, wanted)?;
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
        cases: &mut Cases,
        wanted: impl Iterator<Item = usize>,
    ) -> Option<Vec<Option<Done>>> {
        let id = runtime.id().clone();
        let is_idle = |&case: &usize| self.is_sparing && cases.members[case].generated.expectation.is_beyond_judging();
        let (idle, wanted): (Vec<usize>, Vec<usize>) = wanted.partition(is_idle);
        let batches = self.guess.batches((place, &id.release()), &cases.members, &cases.aspects, wanted.into_iter());
        let done = cases.members.iter().map(|_| None).collect();
        let mut round = Round { place, id, batches, doubtful: vec![], done, suspects: vec![] };
        for case in idle {
            self.keep(cases, &mut round, case, left_out(Gap::VastOutput));
        }
        let mut known = Arc::default();
        loop {
            if self.stop.is_due() {
                return None;
            }
            self.set_aside(cases, &mut round, &mut known);
            if let Some(case) = round.doubtful.pop() {
                self.try_doubtful(runtime, cases, &mut round, case);
                continue;
            }
            let mut count = 0;
            let tried: Vec<Batch> = std::iter::from_fn(|| {
                let batch = round.batches.pop_if(|_| count < AT_A_TIME)?;
                count += batch.cases().len();
                Some(batch)
            })
            .collect();
            if tried.is_empty() {
                break;
            }
            for batch in &tried {
                cases.job(batch);
            }
            let jobs: Vec<&Job> = tried.iter().map(|batch| &cases.jobs[batch]).collect();
            let began = Instant::now();
            let mut executed = runtime.execute_all(&jobs).into_iter();
            self.times.1[place] += began.elapsed();
            if executed.len() == 0 {
                // The runtime was stopped, but this scheduler was not.
                round.batches.extend(tried);
                for case in std::mem::take(&mut round.batches).iter().flat_map(Batch::cases) {
                    self.keep(cases, &mut round, *case, left_out(Gap::Process));
                }
                break;
            }
            for batch in tried {
                match executed.next() {
                    Some(executions) => self.take(runtime, cases, &mut round, batch, executions),
                    None => round.batches.push(batch),
                }
            }
        }
        self.confirm(runtime, cases, &round);
        Some(round.done)
    }

    /// Sets aside the cases that are likely to end the process, or all cases if the runtime is left out. It does so only if
    /// more is known about such cases than before.
    fn set_aside(&self, cases: &Cases, round: &mut Round, known: &mut Arc<Known>) {
        let Failures::LookInto(quarantine) = self.failures else { return };
        let before = std::mem::replace(known, quarantine.known());
        if Arc::ptr_eq(&before, known) || known.is_empty() {
            return;
        }
        let release = round.id.release();
        let is_doubtful = |case: usize| {
            let member = &cases.members[case];
            known.is_out(round.place) || known.like(&release, member.suspect()).is_some()
        };
        for batch in &mut round.batches {
            round.doubtful.extend(batch.cases_mut().extract_if(.., |&mut case| is_doubtful(case)));
        }
        round.batches.retain(|batch| !batch.cases().is_empty());
    }

    /// Executes a case that is likely to end the process, with a short limit. Leaves it out if there is no time for such
    /// cases.
    fn try_doubtful(&mut self, runtime: &mut dyn Runtime, cases: &mut Cases, round: &mut Round, case: usize) {
        let Failures::LookInto(quarantine) = self.failures else { return };
        if quarantine.known().is_out(round.place) {
            return self.keep(cases, round, case, left_out(Gap::BackedOff));
        }
        if !self.budget.is_left() {
            return self.keep(cases, round, case, left_out(Gap::LeftOut));
        }
        let (began, batch) = (Instant::now(), Batch::alone(case));
        let executions = runtime.execute_all(&[cases.job(&batch)]).concat();
        self.times.1[round.place] += began.elapsed();
        self.take(runtime, cases, round, batch, executions);
        self.budget.spend(began.elapsed());
    }

    /// Confirms the execution of a case that seems to end the process of a runtime.
    fn look_into(
        &mut self,
        (place, runtime): (usize, &mut dyn Runtime),
        cases: &mut Cases,
        case: usize,
        seen: Execution,
    ) -> Execution {
        let quarantine = match self.failures {
            Failures::Believe => return seen,
            Failures::Confirm => return execute_once(runtime, cases.job(&Batch::alone(case))),
            Failures::LookInto(quarantine) => quarantine,
        };
        let member = &cases.members[case];
        match quarantine.look_into(&member.generated.case, &seen.outcome, runtime, &self.stop) {
            Ok((Proven { trigger, message }, new)) if trigger.mismatch.reaction == reaction(&seen.outcome) => {
                self.reduced.extend(new.map(|(case, execution)| Reduced { place, case, execution }));
                if message.is_empty() { seen } else { Execution { message, ..seen } }
            }
            Ok(_) => execute_once(runtime, cases.job(&Batch::alone(case))),
            Err(alone) => alone,
        }
    }

    /// The mismatch that ended the process of a runtime in a case like this one, which was left out.
    pub(super) fn reason_to_leave_out(&self, id: &RuntimeId, case: &Case) -> Option<Mismatch> {
        let Failures::LookInto(quarantine) = self.failures else { return None };
        let known = quarantine.known();
        known.like(&id.release(), &Suspect::new(case)).map(|proven| proven.trigger.mismatch.clone())
    }

    /// Keeps the results of a batch that count, and puts its other cases into batches again.
    fn take(
        &mut self,
        runtime: &mut dyn Runtime,
        cases: &mut Cases,
        round: &mut Round,
        batch: Batch,
        mut executions: Vec<Execution>,
    ) {
        let Some(last) = executions.last().cloned() else {
            // The runtime was stopped.
            return round.batches.push(batch);
        };
        let ends_process = last.outcome.ends_process();
        if let Failures::LookInto(quarantine) = self.failures {
            quarantine.count(round.place, &round.id, executions.len() as u64, ends_process.into());
        }
        if let &[case] = batch.cases() {
            let mut execution = last;
            if ends_process {
                let began = Instant::now();
                execution = self.look_into((round.place, runtime), cases, case, execution);
                self.times.1[round.place] += began.elapsed();
            }
            return self.keep(cases, round, case, execution);
        }
        let (cases_of, parts) = match &batch {
            Batch::Runs(runs) => {
                // A model that cannot be loaded has one execution, which holds for each of its cases alone.
                if executions.len() < runs.len() && !ends_process {
                    for &case in &runs[executions.len() - 1..] {
                        self.keep(cases, round, case, last.clone());
                    }
                    executions.pop();
                }
                (runs, executions)
            }
            Batch::Nodes(nodes) => {
                let Ok(parts) = by_node(last, &outputs(nodes, &cases.members)) else {
                    // A search for the culprit by halves would end several more processes.
                    let size = if ends_process { 1 } else { nodes.len().div_ceil(2) };
                    round.batches.extend(nodes.chunks(size).map(|some| Batch::of(some.to_vec(), &cases.members)));
                    return round.suspects.push((batch, Suspicion::Whole));
                };
                (nodes, parts)
            }
        };
        let count = parts.len();
        for (place, (&case, mut execution)) in cases_of.iter().zip(parts).enumerate() {
            let judgement = cases.judge(case, &mut execution);
            let is_certain = !execution.outcome.ends_process();
            if is_certain && self.counts(&round.id, &cases.members[case], &execution, &judgement) {
                self.guess.learn(round.place, &cases.aspects[case], &execution.outcome);
                round.done[case] = Some((execution, judgement));
                continue;
            }
            round.batches.push(Batch::alone(case));
            if is_certain {
                let until = match &batch {
                    Batch::Runs(runs) => Batch::Runs(runs[..=place].to_vec()),
                    Batch::Nodes(_) => batch.clone(),
                };
                round.suspects.push((until, Suspicion::Case(case, execution)));
            }
        }
        let left = cases_of[count..].iter().copied().filter(|&case| round.done[case].is_none()).collect::<Vec<_>>();
        if !left.is_empty() {
            round.batches.push(Batch::Runs(left));
        }
    }

    /// Keeps the result of a case that was executed alone or left out.
    fn keep(&mut self, cases: &Cases, round: &mut Round, case: usize, mut execution: Execution) {
        let judgement = cases.judge(case, &mut execution);
        self.guess.learn(round.place, &cases.aspects[case], &execution.outcome);
        round.done[case] = Some((execution, judgement));
    }

    /// Whether a result in a batch counts: it is right, or wrong as a known issue is.
    fn counts(&self, id: &RuntimeId, member: &Member, execution: &Execution, judgement: &Judgement) -> bool {
        let found = match judgement {
            Judgement::Wrong(found) => found,
            // If the specification leaves room, wirings are compared bit by bit. So an answer that is not exact must come
            // from the case alone.
            Judgement::Tolerated(_) => return is_exact(member.generated, execution),
            Judgement::Agrees | Judgement::Unsupported(_) => return true,
        };
        mismatches(member.generated, id, execution, found)
            .iter()
            .all(|mismatch| self.known.iter().any(|defect| defect.explains(mismatch, member.features())))
    }

    /// Keeps the batches that fail although their cases are right alone. Each is reduced to the smallest batch that fails, as
    /// long as this takes little of the time.
    fn confirm(&mut self, runtime: &mut dyn Runtime, cases: &Cases, round: &Round) {
        for (batch, suspicion) in &round.suspects {
            let alone = |case: usize| round.done[case].as_ref().map(|(execution, _)| &execution.outcome);
            let is_answered = |&case: &usize| match &round.done[case] {
                Some((_, Judgement::Wrong(found))) if found.contains(&Discrepancy::WrongCount) => false,
                alone => matches!(alone, Some((Execution { outcome: Outcome::Answer(_), .. }, _))),
            };
            let is_off = |case: usize, execution: &Execution| {
                let judgement = judge_one(&cases.members[case].generated.expectation, execution);
                matches!(judgement, Judgement::Wrong(_)) && Some(&execution.outcome) != alone(case)
            };
            let is_new = match suspicion {
                Suspicion::Case(case, execution) => is_off(*case, execution),
                Suspicion::Whole => batch.cases().iter().all(is_answered),
            };
            if !is_new || !self.reducing.is_left() {
                continue;
            }
            let began = Instant::now();
            let mut goes_wrong = |some: &[usize]| match execute_batch(some, &cases.members, runtime) {
                Ok(executed) => executed.iter().any(|(case, execution)| is_off(*case, execution)),
                Err(_) => true,
            };
            if !goes_wrong(batch.cases()) {
                // A failure that does not occur again cannot be shown to anyone.
                self.reducing.spend(began.elapsed());
                continue;
            }
            let smallest = without_surplus(batch.cases().to_vec(), &mut goes_wrong);
            let smallest: Vec<Case> = smallest.iter().map(|&case| cases.members[case].generated.case.clone()).collect();
            self.reducing.spend(began.elapsed());
            let case = match batch {
                Batch::Runs(_) => Case::in_turn(&smallest),
                Batch::Nodes(_) => Case::joined(&smallest),
            };
            self.found.extend(case.map(Generated::given));
        }
    }
}

/// The mismatches of a runtime that was found wrong in a case.
pub(super) fn mismatches(
    generated: &Generated,
    id: &RuntimeId,
    execution: &Execution,
    found: &[Discrepancy],
) -> Vec<Mismatch> {
    Mismatch::all(generated.case.subject(), generated.expectation.rule(), id, execution, found)
}

/// Whether the answer is exactly the one that the specification demands or leans to.
fn is_exact(generated: &Generated, execution: &Execution) -> bool {
    let Outcome::Answer(outputs) = &execution.outcome else { return false };
    let given = outputs.iter().filter(|output| output.native_type.is_none()).map(|output| &output.tensor);
    generated.expectation.outputs().is_some_and(|expected| given.eq(expected))
}

/// Removes the cases without which the batch still fails.
fn without_surplus(mut batch: Vec<usize>, goes_wrong: &mut impl FnMut(&[usize]) -> bool) -> Vec<usize> {
    let mut size = batch.len() / 2;
    while size > 0 {
        let mut first = 0;
        while first < batch.len() && batch.len() > 1 {
            let end = (first + size).min(batch.len());
            let rest = [&batch[..first], &batch[end..]].concat();
            if !rest.is_empty() && goes_wrong(&rest) {
                batch = rest;
            } else {
                first = end;
            }
        }
        size /= 2;
    }
    batch
}

/// Executes cases in one model: as its runs if all of them have the same model, else as its nodes.
///
/// # Errors
/// The execution of the model, if it is no answer that can be divided among the cases.
fn execute_batch(
    cases: &[usize],
    members: &[Member],
    runtime: &mut dyn Runtime,
) -> Result<Vec<(usize, Execution)>, Execution> {
    let batch = Batch::of(cases.to_vec(), members);
    let mut executions = executions(runtime, &batch.job(members));
    match (&batch, executions.last().cloned()) {
        (Batch::Nodes(nodes), Some(last)) => executions = by_node(last, &outputs(nodes, members))?,
        (Batch::Runs(runs), Some(last)) if runs.len() == 1 => executions = vec![last],
        (Batch::Runs(runs), Some(last)) => executions.resize(runs.len(), last),
        (_, None) => {}
    }
    Ok(cases.iter().copied().zip(executions).collect())
}

/// The number of outputs of each case.
fn outputs(cases: &[usize], members: &[Member]) -> Vec<usize> {
    cases.iter().map(|&case| members[case].generated.case.outputs().count()).collect()
}
