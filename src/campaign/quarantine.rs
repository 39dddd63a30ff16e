//! Cases that a runtime is not given, because similar cases ended its process. So one hang does not take all the time of a
//! campaign.
//!
//! The first such case is executed alone in a new process, with its full time. If it ends the process in the same way again,
//! it is reduced at once. A graph is reduced to one of its nodes if this node alone ends the process. The features of the
//! reduced case are recorded, and whether it breaks a rule. From then on, a case of the same operator is similar if it has these
//! features, and breaks a rule if the reduced case does. A graph with such a node is similar too. Similar cases are executed
//! with a short limit, as long as they take little of the time. The rest is left out, and counted as left out. A runtime is
//! left out altogether if half of its jobs end its process.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Trigger;
use crate::case::{Case, Features, Generated, shrink};
use crate::model::{self, Job};
use crate::operator::{Expectation, Rule};
use crate::runtime::{Execution, Gap, Outcome, Runtime, RuntimeId, Stop, execute_once};
use crate::verdict::{Judgement, Mismatch, judge_one};

/// Cases that are likely to end a process take at most this part of the time: one of so many.
const SHARE: u32 = 8;
/// A runtime is left out if at least this many of its jobs ended its process, and if they are at least half of its jobs.
const MANY: u64 = 8;
/// The most time for reducing one case.
const REDUCING: Duration = Duration::from_secs(5);

/// The knowledge of the threads of a campaign about cases that end a process.
#[derive(Debug)]
pub struct Quarantine {
    known: Mutex<Arc<Known>>,
    /// Held by the thread that looks into a case. The other threads wait for its result.
    turn: Mutex<()>,
}

/// The knowledge at one time.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// By the release that has them.
    proven: HashMap<String, Vec<Proven>>,
    /// By runtime: how many jobs it was given, how many of them ended its process, and whether it is left out.
    tallies: Vec<(u64, u64, bool)>,
}

/// A proven cause for the end of the process of a runtime.
#[derive(Clone, Debug)]
pub(super) struct Proven {
    /// Its mismatch, and the features of the reduced case.
    pub(super) trigger: Trigger,
    /// The message of the runtime; empty for a known issue.
    pub(super) message: String,
}

impl Quarantine {
    /// A quarantine for this number of runtimes. From the start it knows those of the given defects that end a process.
    pub fn new(runtimes: usize, defects: &[Trigger]) -> Quarantine {
        let mut known = Known { tallies: vec![(0, 0, false); runtimes], ..Known::default() };
        for defect in defects.iter().filter(|defect| defect.mismatch.is_costly()) {
            known.add(Proven { trigger: defect.clone(), message: String::new() });
        }
        Quarantine { known: Mutex::new(Arc::new(known)), turn: Mutex::new(()) }
    }

    /// Whether a case is like one that is known to end the process of one of these runtimes.
    pub fn has(&self, ids: &[RuntimeId], case: &Case) -> bool {
        let (known, suspect) = (self.known(), Suspect::new(case));
        let mut releases: Vec<String> = ids.iter().map(RuntimeId::release).collect();
        releases.dedup();
        releases.iter().any(|release| known.like(release, &suspect).is_some())
    }

    pub(super) fn known(&self) -> Arc<Known> {
        Arc::clone(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the jobs that a runtime was given, and those that ended its process. If these are too many, the runtime is left
    /// out from now on.
    pub(super) fn count(&self, place: usize, id: &RuntimeId, jobs: u64, ended: u64) {
        let mut known = self.lock();
        let (all, fatal, is_out) = &mut Arc::make_mut(&mut known).tallies[place];
        *all += jobs;
        *fatal += ended;
        if !*is_out && *fatal >= MANY && *fatal * 2 >= *all {
            *is_out = true;
            eprintln!(
                "{id} is left out from now on: {fatal} of its {all} jobs ended its process, or had no answer in time"
            );
        }
    }

    /// Reduces a case that ended the process of a runtime, and keeps the result. Returns the proven cause, with the reduced
    /// case and its execution. If the cause is known already, perhaps from another thread, returns only the cause.
    ///
    /// # Errors
    /// The execution of the case alone in a new process, if the outcome is another one or is not wrong.
    pub(super) fn look_into(
        &self,
        whole: &Case,
        outcome: &Outcome,
        runtime: &mut dyn Runtime,
        stop: &Stop,
    ) -> Result<(Proven, Option<(Case, Execution)>), Execution> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let release = runtime.id().release();
        let suspect = Suspect::new(whole);
        if let Some(proven) = self.known().like(&release, &suspect) {
            return Ok((proven.clone(), None));
        }
        let alone = execute_once(runtime, &job(whole));
        if alone.outcome != *outcome {
            return Err(alone);
        }
        let began = Instant::now();
        let is_over = || began.elapsed() >= REDUCING || stop.is_due();
        let mut ends_it = |case: &Case| {
            let executions = runtime.execute_all(&[&job(case)]).concat();
            executions.first().is_some_and(|execution| execution.outcome == *outcome)
        };
        let node = suspect.nodes().iter().map(|node| &*node.case).find(|node| !is_over() && ends_it(node));
        let case = node.unwrap_or(whole);
        let features = Features::of(case);
        // While it is reduced, a case has less time than in the last execution. A number that decides how long a case takes
        // would be reduced until the case takes just too long here, but not there.
        let takes_long = outcome.is_exhaustion();
        let large = |case: &Case| case.single().filter(|_| takes_long).map(|single| single.large_numbers());
        let as_large = large(case);
        let mut first = |candidates: &[Case]| {
            // A candidate with a feature that the case does not have would be similar to fewer cases, not to more.
            let is_less = |candidate: &Case| Features::of(candidate).are_within(&features);
            let is_judged = |candidate: &Case| !candidate.expectation(&candidate.tensors()).is_beyond_judging();
            let may_do = |candidate: &Case| {
                !is_over() && is_less(candidate) && large(candidate) == as_large && is_judged(candidate)
            };
            candidates.iter().position(|candidate| may_do(candidate) && ends_it(candidate))
        };
        let reduced = shrink::from_simplest(case, &mut first);
        let again = execute_once(runtime, &job(&reduced));
        let (case, execution) =
            if again.outcome == *outcome { (reduced, again) } else { (whole.clone(), alone.clone()) };
        let Judgement::Wrong(found) = judge_one(&Generated::given(case.clone()).expectation, &execution) else {
            return Err(alone);
        };
        let mismatches = Mismatch::all(case.subject(), None, runtime.id(), &execution, &found);
        let Some(mismatch) = mismatches.into_iter().next() else { return Err(alone) };
        let trigger = Trigger { rule: broken_rule(&case), ..Trigger::new(mismatch, Features::of(&case)) };
        let proven = Proven { trigger, message: execution.message.clone() };
        Arc::make_mut(&mut self.lock()).add(proven.clone());
        Ok((proven, Some((case, execution))))
    }
}

/// The rule for which a case must be refused; `None` if it need not be refused.
pub(crate) fn broken_rule(case: &Case) -> Option<Rule> {
    match case.expectation(&case.tensors()) {
        Expectation::Reject { rule, .. } => Some(rule),
        Expectation::Defined(_) | Expectation::Unspecified { .. } => None,
    }
}

fn job(case: &Case) -> Job {
    let generated = Generated::given(case.clone());
    model::job(&generated.case, &generated.tensors)
}

impl Known {
    fn add(&mut self, proven: Proven) {
        self.proven.entry(proven.trigger.mismatch.runtime.clone()).or_default().push(proven);
    }

    /// Whether nothing is left out.
    pub(super) fn is_empty(&self) -> bool {
        self.proven.is_empty() && !self.tallies.iter().any(|(.., is_out)| *is_out)
    }

    /// Whether the runtime with this index is left out.
    pub(super) fn is_out(&self, place: usize) -> bool {
        self.tallies[place].2
    }

    /// The proven cause that may end the process of a release in this case. The case, or one of its nodes alone, has all
    /// features of the cause.
    pub(super) fn like(&self, release: &str, suspect: &Suspect) -> Option<&Proven> {
        let own = self.proven.get(release)?;
        let find = |suspect: &Suspect, is_in: &dyn Fn(&Trigger) -> bool| {
            let subject = suspect.case.subject();
            // A case that must be refused says nothing about a case that need not be refused.
            own.iter().find(|Proven { trigger, .. }| {
                trigger.mismatch.concerns(subject)
                    && is_in(trigger)
                    && (trigger.rule.is_none() || suspect.must_be_refused())
            })
        };
        find(suspect, &|trigger| trigger.is_in(suspect.features())).or_else(|| {
            let concerns_one = |Proven { trigger, .. }: &Proven| {
                suspect.case.nodes.iter().any(|node| trigger.mismatch.concerns(node.operator.name))
            };
            own.iter().find(|proven| concerns_one(proven))?;
            let like = |node: &Suspect| find(node, &|trigger| trigger.features.are_within(node.features()));
            suspect.nodes().iter().find_map(like)
        })
    }
}

/// A case that may be similar to one that ended a process. The data for the comparison is made when it is first needed.
pub(super) struct Suspect<'c> {
    case: Cow<'c, Case>,
    /// The same case with its data, if that is there.
    generated: Option<&'c Generated>,
    features: OnceCell<Features>,
    must_be_refused: OnceCell<bool>,
    nodes: OnceCell<Vec<Suspect<'static>>>,
}

impl<'c> Suspect<'c> {
    pub(super) fn new(case: &'c Case) -> Suspect<'c> {
        Suspect::of(Cow::Borrowed(case))
    }

    pub(super) fn of_generated(generated: &'c Generated) -> Suspect<'c> {
        Suspect { generated: Some(generated), ..Suspect::new(&generated.case) }
    }

    fn of(case: Cow<'c, Case>) -> Suspect<'c> {
        let (features, must_be_refused, nodes) = Default::default();
        Suspect { case, generated: None, features, must_be_refused, nodes }
    }

    pub(super) fn features(&self) -> &Features {
        self.features.get_or_init(|| match self.generated {
            Some(generated) => Features::of_generated(generated),
            None => Features::of(&self.case),
        })
    }

    fn must_be_refused(&self) -> bool {
        *self.must_be_refused.get_or_init(|| match self.generated {
            Some(generated) => matches!(generated.expectation, Expectation::Reject { .. }),
            None => broken_rule(&self.case).is_some(),
        })
    }

    /// Each node of a graph as a case of its own; empty if the case has one node.
    fn nodes(&self) -> &[Suspect<'static>] {
        self.nodes.get_or_init(|| match self.case.nodes.len() {
            0 | 1 => vec![],
            _ => {
                let alone = match self.generated {
                    Some(generated) => self.case.each_alone_of(generated.values()),
                    None => self.case.each_alone(),
                };
                alone.into_iter().map(|node| Suspect::of(Cow::Owned(node))).collect()
            }
        })
    }
}

/// Limits the part of its time that a thread gives to one kind of work, such as cases that are likely to end a process.
#[derive(Debug)]
pub(super) struct Budget {
    began: Instant,
    spent: Duration,
}

impl Budget {
    pub(super) fn new() -> Budget {
        Budget { began: Instant::now(), spent: Duration::ZERO }
    }

    pub(super) fn is_left(&self) -> bool {
        self.spent * SHARE <= self.began.elapsed()
    }

    pub(super) fn spend(&mut self, time: Duration) {
        self.spent += time;
    }
}

/// The execution of a case that a runtime is not given.
pub(super) fn left_out(gap: Gap) -> Execution {
    Execution::without_answer(Outcome::Unsupported(gap), String::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::examine_together;
    use crate::campaign::schedule::{Failures, Scheduler};
    use crate::operator::OperatorName;
    use crate::runtime::planted;
    use crate::verdict::Discrepancy;

    /// A runtime whose time depends on the largest dim: 2^31 takes too long, and 2^24 if there is less time.
    struct Slow(RuntimeId);

    impl Slow {
        fn execution(limit: i64, job: &Job) -> Execution {
            let dims = job.feeds(0).flat_map(|(_, tensor)| tensor.dims().to_vec());
            let outcome = if dims.max() < Some(limit) { Outcome::Answer(vec![]) } else { Outcome::TimedOut };
            Execution::without_answer(outcome, String::new())
        }
    }

    impl Runtime for Slow {
        fn id(&self) -> &RuntimeId {
            &self.0
        }

        fn execute(&mut self, job: &Job, done: &mut dyn FnMut(Execution)) {
            done(Slow::execution(1 << 31, job));
        }

        fn execute_all(&mut self, jobs: &[&Job]) -> Vec<Vec<Execution>> {
            jobs.iter().map(|job| vec![Slow::execution(1 << 24, job)]).collect()
        }
    }

    #[test]
    fn what_takes_long_is_reduced_to_what_takes_as_long() {
        let mut slow = Slow(planted::without_faults().unwrap().id().clone());
        let quarantine = Quarantine::new(1, &[]);
        let case: Case = "Transpose@26 perm=[1,0,2] uint16[4611686018427387904,0,3]:special".parse().unwrap();
        let found = quarantine.look_into(&case, &Outcome::TimedOut, &mut slow, &Stop::default());
        let (reduced, _) = found.unwrap().1.unwrap();
        assert_eq!(reduced.to_string(), "Transpose@28 float[4611686018427387904,0]");
        let is_known = |line: &str| quarantine.has(&[slow.0.clone()], &line.parse().unwrap());
        assert!(is_known("Transpose@13 int8[2147483648,0]:initializer"));
        assert!(!is_known("Transpose@13 int8[2147483647,0]:initializer"));
    }

    fn costly(id: &RuntimeId, operator: OperatorName, case: &Case) -> Trigger {
        let mismatch = Mismatch {
            discrepancies: vec![Discrepancy::Exhaustion],
            operator,
            runtime: id.release(),
            rule: None,
            reaction: String::new(),
        };
        Trigger::new(mismatch, Features::of(case))
    }

    #[test]
    fn a_case_that_does_not_break_the_rule_is_not_kept_from_the_runtime() {
        let id = planted::without_faults().unwrap().id().clone();
        let case: Case = "Split@26 num_outputs=2 float[2] => 3".parse().unwrap();
        let trigger = Trigger { rule: broken_rule(&case), ..costly(&id, "Split", &case) };
        let quarantine = Quarantine::new(1, &[trigger]);
        let is_known = |line: &str| quarantine.has(std::slice::from_ref(&id), &line.parse().unwrap());
        assert!(is_known("Split@26 num_outputs=4 int8[6] => 3"));
        assert!(!is_known("Split@26 num_outputs=3 int8[6] => 3"));
        assert!(is_known("a=Split@26 num_outputs=4 int8[6] => 3; Shape a.1"));
        assert!(!is_known("a=Split@26 num_outputs=3 int8[6] => 3; Shape a.1"));
    }

    #[test]
    fn a_graph_is_left_out_where_it_is_not_known_what_its_nodes_do_alone() {
        // The graph takes all the time for cases that are likely to end a process.
        let slow: planted::Fault = |_, _| std::thread::sleep(Duration::from_millis(50));
        let mut runtimes = vec![planted::with_faults(&[slow, planted::swapped_flatten]).unwrap()];
        let ids = vec![runtimes[0].id().clone()];
        let generated = Generated::given("a=Flatten@13 float[2,3,1]; Identity a".parse().unwrap());
        let node: Case = "Flatten@13 float[2,3,1]".parse().unwrap();
        let mut examined = |known: &[Trigger]| {
            let quarantine = Quarantine::new(1, known);
            let scheduler = Scheduler::new(1, &[], &[]);
            let mut scheduler = scheduler.searching(Failures::LookInto(&quarantine), &Stop::default());
            let examined = examine_together(std::slice::from_ref(&generated), &mut runtimes, &ids, &mut scheduler);
            examined.unwrap().remove(0)
        };
        let alone = examined(&[]);
        assert!(matches!(alone.judgements[0], Judgement::Wrong(_)));
        let faults = alone.faults(&generated, &ids, 0);
        assert!(faults.iter().all(|fault| fault.node.as_ref() == Some(&node)), "{faults:?}");
        let doubtful = examined(&[costly(&ids[0], "Flatten", &node)]);
        assert_eq!(doubtful.judgements[0], Judgement::Unsupported(Gap::LeftOut));
    }
}
