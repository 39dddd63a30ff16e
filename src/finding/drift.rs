//! The changes between two releases of a runtime: newly broken, newly fixed, and others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::slice;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::campaign::{Examination, Source, examine_all};
use crate::case::shrink::reduce;
use crate::case::{Case, Features, Generated};
use crate::model;
use crate::operator::{OperatorName, Rule};
use crate::runtime::{self, OpenError, Outcome, Runtime, RuntimeId, Stop, execute_once};
use crate::tensor::ElementType;
use crate::threads;
use crate::verdict::{Discrepancy, Judgement, is_about_the_rule, reaction, same_reaction, sentences};

/// The kinds of change, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::VariantArray)]
pub enum Kind {
    /// The result was not wrong, and is wrong now.
    Broken,
    /// The case was supported, and is not supported now.
    Dropped,
    /// The case was not supported. It is supported now, and the result is wrong.
    AddedWrong,
    /// The result was wrong, and is wrong in another way now.
    WrongOtherwise,
    /// The result was wrong, and is not wrong now.
    Fixed,
    /// The case was not supported, and is supported now.
    Added,
    /// The result changed, and neither result is wrong.
    Changed,
}

/// A change, without the values in which it shows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    pub kind: Kind,
    pub operator: OperatorName,
    pub before: Behaviour,
    /// `None` for [`Kind::Added`]: all results for cases that were not supported before are one change.
    pub after: Option<Behaviour>,
}

/// The reaction of a runtime and the judgement on it, without values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Behaviour {
    opinion: Opinion,
    /// See [`reaction`]: empty for an answer.
    reaction: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Opinion {
    Agrees,
    Tolerated,
    Unsupported,
    /// With the rule, if the discrepancies are about one.
    Wrong(Option<Rule>, Vec<Discrepancy>),
}

/// Where a change shows.
#[derive(Clone, Debug)]
pub struct Drift {
    /// The shortest case that shows it; minimized in the end.
    pub case: Case,
    pub count: u64,
    pub versions: BTreeSet<u8>,
    /// The types of the data.
    pub types: BTreeSet<ElementType>,
    /// The configurations that show it, by their places.
    pub configurations: BTreeSet<usize>,
}

/// The changes between two releases.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    pub cases: u64,
    pub drifts: BTreeMap<Change, Drift>,
}

/// The settings of a comparison.
#[expect(missing_debug_implementations, reason = "a source is anything that gives cases")]
pub struct Options<'a> {
    pub source: &'a dyn Source,
    pub cases: u64,
    /// At least 1. The result does not depend on it.
    pub threads: usize,
    /// How long a runtime may take for a case.
    pub limit: Duration,
    pub open: Opener<'a>,
}

/// Opens the older release and the newer one, with this time limit for a case. It is called on each thread. Both releases have the
/// same configurations, in the same order.
pub type Opener<'a> = &'a (dyn Fn(Duration) -> Result<[Vec<Box<dyn Runtime>>; 2], OpenError> + Sync);

/// How far a comparison got.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    Cases { done: u64, changes: usize },
    Minimized { done: usize, changes: usize },
}

/// Cases that a thread takes at a time.
const BLOCK: u64 = 64;

/// The first time limit. A case takes milliseconds, a hang takes the whole limit, and older releases hang often. A case that hits
/// this limit is a hang only if it hits the whole limit too.
const HASTY: Duration = Duration::from_millis(100);

/// The most hangs that minimizing one change may cost.
const MOST_HANGS: u32 = 40;

impl Kind {
    pub const fn title(self) -> &'static str {
        match self {
            Kind::Broken => "Newly broken",
            Kind::Dropped => "No longer supported",
            Kind::AddedWrong => "Newly supported, and wrong",
            Kind::WrongOtherwise => "Wrong in another way",
            Kind::Fixed => "Newly fixed",
            Kind::Added => "Newly supported",
            Kind::Changed => "Changed, and neither is wrong",
        }
    }

    /// `has_answered` is whether the older release gave an answer, right or wrong.
    fn of(before: &Judgement, has_answered: bool, after: &Judgement) -> Kind {
        use Judgement::{Unsupported, Wrong};
        match (before, after) {
            (Wrong(_), Unsupported(_)) if !has_answered => Kind::Fixed,
            (Wrong(_), Wrong(_)) => Kind::WrongOtherwise,
            (Unsupported(_), Wrong(_)) => Kind::AddedWrong,
            (_, Wrong(_)) => Kind::Broken,
            (Unsupported(_), Unsupported(_)) => Kind::Changed,
            (_, Unsupported(_)) => Kind::Dropped,
            (Wrong(_), _) => Kind::Fixed,
            (Unsupported(_), _) => Kind::Added,
            _ => Kind::Changed,
        }
    }
}

impl Change {
    /// The behaviour of the older release, as [`Behaviour::in_words`] gives it.
    pub fn before_in_words(&self) -> String {
        self.before.in_words()
    }

    /// The place of the release that gives no answer in time, if there is one: 0 for the older, 1 for the newer.
    fn hanging(&self) -> Option<usize> {
        [Some(&self.before), self.after.as_ref()].into_iter().position(|side| side.is_some_and(Behaviour::is_hang))
    }

    /// Whether both releases behave alike, and only the values of their answers differ.
    fn is_of_values(&self) -> bool {
        self.after.as_ref() == Some(&self.before)
    }

    /// The reaction of the older release, if it failed.
    fn failure(&self) -> Option<&str> {
        Some(self.before.reaction).filter(|reaction| !reaction.is_empty())
    }
}

impl Behaviour {
    pub fn of(generated: &Generated, examination: &Examination, index: usize) -> Behaviour {
        let opinion = match &examination.judgements[index] {
            Judgement::Agrees => Opinion::Agrees,
            Judgement::Tolerated(_) => Opinion::Tolerated,
            Judgement::Unsupported(_) => Opinion::Unsupported,
            Judgement::Wrong(found) => {
                let rule = generated.expectation.rule().filter(|_| is_about_the_rule(found));
                Opinion::Wrong(rule, found.clone())
            }
        };
        Behaviour { opinion, reaction: reaction(&examination.executions[index].outcome) }
    }

    /// The behaviour in words, for people who do not know the terms of verdicts.
    pub fn in_words(&self) -> String {
        let refuses = if self.reaction.is_empty() { "gives an answer" } else { "refuses" };
        match &self.opinion {
            Opinion::Agrees => format!("{refuses}, rightly"),
            Opinion::Tolerated => format!("{refuses}, which the specification leaves room for"),
            Opinion::Unsupported => self.reaction.to_owned(),
            Opinion::Wrong(_, found) => sentences(found),
        }
    }

    fn is_hang(&self) -> bool {
        self.reaction == reaction(&Outcome::TimedOut)
    }
}

impl fmt::Display for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.opinion {
            Opinion::Agrees => f.write_str("agrees")?,
            Opinion::Tolerated => f.write_str("tolerated")?,
            Opinion::Unsupported => f.write_str("unsupported")?,
            Opinion::Wrong(None, found) => write!(f, "wrong: {}", sentences(found))?,
            Opinion::Wrong(Some(rule), found) => write!(f, "wrong ({rule}): {}", sentences(found))?,
        }
        write!(f, ": {}", if self.reaction.is_empty() { "answers" } else { self.reaction })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.after {
            Some(after) => write!(f, "{}; now {after}", self.before),
            None => write!(f, "{}; now supported", self.before),
        }
    }
}

/// Runs all cases on two releases, and then minimizes one case for each change. Both end when `stop` is set. `progress` is called
/// now and then.
///
/// # Errors
/// If a release cannot be opened.
pub fn compare(options: &Options, stop: &Stop, progress: &(dyn Fn(Progress) + Sync)) -> Result<Comparison, OpenError> {
    let (next, total) = (AtomicU64::new(0), Mutex::new(Comparison::default()));
    on_threads(options, &|thread| {
        while !stop.is_asked() {
            let first = next.fetch_add(BLOCK, Ordering::Relaxed);
            let indices = first..options.cases.min(first + BLOCK);
            let cases = options.source.cases(&indices.collect::<Vec<u64>>());
            if cases.is_empty() {
                break;
            }
            let changes = thread.changes(&cases)?;
            let mut total = lock(&total);
            total.add(&cases, changes);
            progress(Progress::Cases { done: total.cases, changes: total.drifts.len() });
        }
        Ok(())
    })?;
    let mut comparison = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    let changes = comparison.drifts.len();
    let (work, done) = (Mutex::new(comparison.drifts.iter_mut()), AtomicUsize::new(0));
    on_threads(options, &|thread| {
        while !stop.is_asked() {
            let Some((change, drift)) = lock(&work).next() else { break };
            drift.case = thread.minimize(change, drift.case.clone(), stop)?;
            progress(Progress::Minimized { done: done.fetch_add(1, Ordering::Relaxed) + 1, changes });
        }
        Ok(())
    })?;
    Ok(comparison)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does the work on each thread, with both releases opened there.
fn on_threads(
    options: &Options,
    work: &(dyn Fn(&mut Thread) -> Result<(), OpenError> + Sync),
) -> Result<(), OpenError> {
    let thread = || {
        let hasty = Pair::new((options.open)(options.limit.min(HASTY))?);
        work(&mut Thread { options, hasty, patient: None, confirmed: BTreeSet::new() })
    };
    threads::on_threads(options.threads, thread).map(drop)
}

impl Comparison {
    /// The changes, without those that a fix reveals, in the order of their kinds and operators.
    pub fn roots(&self) -> Vec<(&Change, &Drift)> {
        self.sorted(|change| self.fix_behind(change).is_none())
    }

    /// The changes that a fix reveals.
    pub fn with_fix(&self, fix: &Change) -> Vec<(&Change, &Drift)> {
        self.sorted(|change| self.fix_behind(change) == Some(fix))
    }

    fn sorted(&self, is_it: impl Fn(&Change) -> bool) -> Vec<(&Change, &Drift)> {
        let mut drifts: Vec<(&Change, &Drift)> = self.drifts.iter().filter(|(change, _)| is_it(change)).collect();
        drifts.sort_by_cached_key(|(change, _)| (change.kind, change.operator, change.to_string()));
        drifts
    }

    /// The fix that reveals a change, if there is one. The older release fails in the same way on the simpler case of the fix, so
    /// it did not get as far as the newer one does in the change.
    pub fn fix_behind<'a>(&'a self, change: &'a Change) -> Option<&'a Change> {
        let measured = |change| {
            let features = Features::of(&self.drifts.get(change)?.case);
            Some((features.weight(), change, features))
        };
        let own = measured(change)?;
        let fixes = self.drifts.keys().filter(|fix| {
            let is_same = (fix.operator, fix.failure()) == (change.operator, change.failure());
            fix.kind == Kind::Fixed && is_same && fix.failure().is_some()
        });
        let fixes = fixes.filter_map(measured).filter(|fix| (fix.0, fix.1) < (own.0, own.1));
        fixes.filter(|(_, _, features)| features.are_within(&own.2)).min().map(|(_, fix, _)| fix)
    }

    /// Counts cases and their changes.
    fn add(&mut self, cases: &[Generated], changes: Vec<Vec<(usize, Change)>>) {
        self.cases += cases.len() as u64;
        for (Generated { case, .. }, changes) in cases.iter().zip(changes) {
            for (configuration, change) in changes {
                let drift = self.drifts.entry(change).or_insert_with(|| Drift {
                    case: case.clone(),
                    count: 0,
                    versions: BTreeSet::new(),
                    types: BTreeSet::new(),
                    configurations: BTreeSet::new(),
                });
                drift.count += 1;
                let call = case.call();
                drift.versions.extend(call.and_then(|call| call.version).map(|version| version.since));
                drift.types.extend(call.and_then(|call| call.element_type));
                drift.configurations.insert(configuration);
                if case.is_shorter_than(&drift.case) {
                    drift.case = case.clone();
                }
            }
        }
    }
}

/// The state of a thread.
struct Thread<'a> {
    options: &'a Options<'a>,
    /// Both releases with a short time limit.
    hasty: Pair,
    /// Both releases with the whole time limit, for cases that seem to hang. They are opened when they are needed.
    patient: Option<Pair>,
    /// Changes that were seen at the whole time limit.
    confirmed: BTreeSet<Change>,
}

impl Thread<'_> {
    fn patient(&mut self) -> Result<&mut Pair, OpenError> {
        match &mut self.patient {
            Some(pair) => Ok(pair),
            none => Ok(none.insert(Pair::new((self.options.open)(self.options.limit)?))),
        }
    }

    /// The changes in each case, by configuration.
    fn changes(&mut self, cases: &[Generated]) -> Result<Vec<Vec<(usize, Change)>>, OpenError> {
        let mut changes = self.hasty.changes(cases);
        for (generated, changes) in cases.iter().zip(&mut changes) {
            while let Some((index, change)) = changes.iter().find(|(_, change)| self.is_in_doubt(change)).cloned() {
                let pair = self.patient()?;
                if change.hanging().is_some_and(|side| pair.times_out(side, index, generated)) {
                    self.confirmed.insert(change);
                } else {
                    *changes = pair.changes(slice::from_ref(generated)).remove(0);
                    self.confirmed.extend(changes.iter().map(|(_, change)| change.clone()));
                }
            }
        }
        Ok(changes)
    }

    fn is_in_doubt(&self, change: &Change) -> bool {
        change.hanging().is_some() && !self.confirmed.contains(change)
    }

    /// Minimizes the case of a change until no single step can make it simpler, or until [`MOST_HANGS`] hangs are spent.
    fn minimize(&mut self, change: &Change, case: Case, stop: &Stop) -> Result<Case, OpenError> {
        let mut hangs = 0;
        let mut shows = |case: &Case| {
            let can_go_on = hangs < MOST_HANGS && !stop.is_asked();
            can_go_on && self.hasty.shows(change, &Generated::given(case.clone()), &mut hangs)
        };
        let minimized = reduce(case.clone(), &mut |candidates| candidates.iter().position(&mut shows));
        let Some(side) = change.hanging() else { return Ok(minimized) };
        let (pair, generated) = (self.patient()?, Generated::given(minimized));
        let hangs = pair.configurations().any(|index| pair.times_out(side, index, &generated));
        Ok(if hangs { generated.case } else { case })
    }
}

/// Whether two results of a case differ in a configuration.
fn is_other(a: &Examination, b: &Examination, index: usize) -> bool {
    let is_same = same_reaction(&a.executions[index].outcome, &b.executions[index].outcome);
    a.judgements[index] != b.judgements[index] || !is_same
}

/// The older release and the newer one, in the same configurations.
struct Pair {
    releases: [Vec<Box<dyn Runtime>>; 2],
    ids: [Vec<RuntimeId>; 2],
}

impl Pair {
    fn new(releases: [Vec<Box<dyn Runtime>>; 2]) -> Pair {
        Pair { ids: releases.each_ref().map(|runtimes| runtime::ids(runtimes)), releases }
    }

    fn examine(&mut self, side: usize, cases: &[Generated]) -> Vec<Examination> {
        examine_all(cases, &mut self.releases[side], &self.ids[side])
    }

    /// The changes in each case, by configuration. Results that differ each time are no change: a case that shows one is run again.
    fn changes(&mut self, cases: &[Generated]) -> Vec<Vec<(usize, Change)>> {
        let results = [0, 1].map(|side| self.examine(side, cases));
        let mut all = Vec::new();
        for (place, generated) in cases.iter().enumerate() {
            let first = results.each_ref().map(|results| &results[place]);
            let mut changes = self.changes_of(generated, first);
            if changes.iter().any(|(_, change)| change.hanging().is_none()) {
                let again = [0, 1].map(|side| self.examine(side, slice::from_ref(generated)).remove(0));
                let changes_again = self.changes_of(generated, again.each_ref());
                let is_steady = |index| (0..2).all(|side| !is_other(first[side], &again[side], index));
                changes.retain(|one @ (index, change)| {
                    let is_repeated = changes_again.contains(one) && (!change.is_of_values() || is_steady(*index));
                    is_repeated || change.hanging().is_some()
                });
            }
            all.push(changes);
        }
        all
    }

    fn changes_of(&self, generated: &Generated, [before, after]: [&Examination; 2]) -> Vec<(usize, Change)> {
        let change = |index: usize| {
            let has_answered = matches!(before.executions[index].outcome, Outcome::Answer(_));
            let kind = Kind::of(&before.judgements[index], has_answered, &after.judgements[index]);
            let after = (kind != Kind::Added).then(|| Behaviour::of(generated, after, index));
            let (operator, before) = (generated.case.subject(), Behaviour::of(generated, before, index));
            (index, Change { kind, operator, before, after })
        };
        self.configurations().filter(|&index| is_other(before, after, index)).map(change).collect()
    }

    /// Whether a case shows a change. Adds to `hangs` if the case hangs. The release that is not expected to hang is run first, and
    /// a case that hangs is not run again in its variants.
    fn shows(&mut self, change: &Change, generated: &Generated, hangs: &mut u32) -> bool {
        let case = slice::from_ref(generated);
        let Some(side) = change.hanging() else {
            let is_hang = (0..2).any(|side| self.configurations().any(|index| self.times_out(side, index, generated)));
            *hangs += u32::from(is_hang);
            return !is_hang && self.changes(case).concat().iter().any(|(_, shown)| shown == change);
        };
        let expected = [change.after.as_ref(), Some(&change.before)][side];
        let other = self.examine(1 - side, case).remove(0);
        let is_expected = |&index: &usize| expected == Some(&Behaviour::of(generated, &other, index));
        let is_hang = self.configurations().filter(is_expected).any(|index| self.times_out(side, index, generated));
        *hangs += u32::from(is_hang);
        is_hang
    }

    /// Whether a release in one configuration gives no answer in time, or takes all of its memory before.
    fn times_out(&mut self, side: usize, index: usize, generated: &Generated) -> bool {
        let job = model::job(&generated.case, &generated.tensors);
        execute_once(self.releases[side][index].as_mut(), &job).outcome.is_exhaustion()
    }

    /// The places of the configurations.
    fn configurations(&self) -> Range<usize> {
        0..self.ids[0].len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Generator;
    use crate::runtime::planted::{
        Fault, is, is_of_nothing, panics_on_zero, short_shape, swapped_flatten, with_faults,
    };
    use crate::runtime::{Execution, Gap, Output};
    use crate::tensor::Tensor;

    /// Drawn cases, without the catalogue.
    struct Drawn(Generator);

    impl Source for Drawn {
        fn cases(&self, indices: &[u64]) -> Vec<Generated> {
            indices.iter().map(|&index| self.0.case(3, index)).collect()
        }
    }

    const CASES: u64 = 2000;
    const LIMIT: Duration = Duration::from_secs(2);

    /// Compares a release that has the faults `before`, and those of `hasty` when it has little time, with one that has those of
    /// `after`.
    fn compared(before: &[Fault], hasty: &[Fault], after: &[Fault]) -> Comparison {
        let open = |time: Duration| {
            let own: Vec<Fault> = before.iter().chain(if time < LIMIT { hasty } else { &[] }).copied().collect();
            Ok([vec![with_faults(&own)?], vec![with_faults(after)?]])
        };
        let source = Drawn(Generator::new(vec!["Shape".parse().unwrap(), "Flatten".parse().unwrap()]));
        let options = Options { source: &source, cases: CASES, threads: 2, limit: LIMIT, open: &open };
        compare(&options, &Stop::default(), &|_| {}).unwrap()
    }

    fn lines(comparison: &Comparison) -> Vec<String> {
        let line = |(change, drift): (&Change, &Drift)| format!("{}: {}", change.kind.title(), drift.case);
        comparison.drifts.iter().map(line).collect()
    }

    /// The answer to Flatten of bool data cannot be read.
    fn wrong_flatten_of_bool(job: &model::Job, execution: &mut Execution) {
        let is_bool = job.feeds(0).next().is_some_and(|(_, data)| data.element_type() == ElementType::Bool);
        if is(job, "Flatten") && is_bool {
            execution.outcome = Outcome::Garbled;
        }
    }

    fn hangs_on_zero(job: &model::Job, execution: &mut Execution) {
        if is_of_nothing(job, execution) {
            execution.outcome = Outcome::TimedOut;
        }
    }

    #[test]
    fn what_broke_and_what_was_fixed_is_found_and_minimized() {
        let found = lines(&compared(&[short_shape], &[], &[swapped_flatten]));
        let expected = ["Newly broken: Flatten@28 float[2]", "Newly fixed: Shape@28 float[1,1,1]"];
        assert!(expected.iter().all(|&change| found.contains(&change.to_owned())), "{found:?}");
        assert!(!found.iter().any(|change| change.contains("Reshape")), "{found:?}");
    }

    fn lacks_flatten(job: &model::Job, execution: &mut Execution) {
        if is(job, "Flatten") {
            execution.outcome = Outcome::Unsupported(Gap::Kernel);
        }
    }

    fn ends_in_flatten(job: &model::Job, execution: &mut Execution) {
        if is(job, "Flatten") {
            execution.outcome = Outcome::Crashed { signal: Some(6) };
        }
    }

    #[test]
    fn only_what_gave_an_answer_is_no_longer_supported() {
        let kinds = |before: &[Fault]| -> BTreeSet<Kind> {
            compared(before, &[], &[lacks_flatten]).drifts.keys().map(|change| change.kind).collect()
        };
        assert!(kinds(&[]).contains(&Kind::Dropped));
        assert!(!kinds(&[ends_in_flatten]).contains(&Kind::Dropped));
        assert!(kinds(&[ends_in_flatten]).contains(&Kind::Fixed));
    }

    #[test]
    fn two_equal_releases_do_not_differ() {
        let same = compared(&[short_shape], &[], &[short_shape]);
        assert!(same.drifts.is_empty() && same.cases == CASES, "{:?}", same.drifts);
    }

    /// Flatten of int64 data gives elements that differ each time, as if it read memory that was never written.
    fn other_elements_each_time(job: &model::Job, execution: &mut Execution) {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let Outcome::Answer(outputs) = &mut execution.outcome else { return };
        for Output { tensor, .. } in outputs {
            if is(job, "Flatten") && tensor.element_type() == ElementType::Int64 {
                let bits = u128::from(RUNS.fetch_add(1, Ordering::Relaxed));
                let elements = vec![bits; tensor.len()];
                *tensor = Tensor::from_element_bits(ElementType::Int64, tensor.dims().to_vec(), elements).unwrap();
            }
        }
    }

    #[test]
    fn what_differs_each_time_is_no_change() {
        let same = compared(&[other_elements_each_time], &[], &[other_elements_each_time]);
        assert!(same.drifts.is_empty(), "{:?}", same.drifts);
        let shape = compared(&[other_elements_each_time], &[], &[other_elements_each_time, short_shape]);
        assert!(lines(&shape).contains(&"Newly broken: Shape@28 float[1,1,1]".to_owned()), "{:?}", shape.drifts);
    }

    #[test]
    fn a_hang_is_found_and_minimized() {
        let found = compared(&[hangs_on_zero], &[], &[]);
        assert!(found.drifts.keys().all(|change| change.hanging() == Some(0)), "{:?}", found.drifts);
        // The specification leaves the second one open.
        let vast = "Flatten@28 float[4611686018427387904,0]";
        assert_eq!(lines(&found), ["Newly fixed: Flatten@28 float[0]", &format!("Newly fixed: {vast}")]);
    }

    #[test]
    fn what_a_fix_brings_to_light_comes_with_it() {
        let found = compared(&[panics_on_zero], &[], &[wrong_flatten_of_bool]);
        let with_fix: Vec<String> = found
            .drifts
            .iter()
            .map(|(change, drift)| format!("{}: {}", drift.case, found.fix_behind(change).is_some()))
            .collect();
        let vast = "Flatten@28 float[4611686018427387904,0]: true";
        let expected = ["Flatten@28 bool[1]: false", "Flatten@28 bool[0]: true", "Flatten@28 float[0]: false", vast];
        assert!(expected.iter().all(|&line| with_fix.contains(&line.to_owned())), "{with_fix:?}");
    }

    #[test]
    fn what_only_takes_long_is_no_hang_and_hides_nothing() {
        assert_eq!(lines(&compared(&[], &[hangs_on_zero], &[])), [""; 0]);
        let slow = compared(&[panics_on_zero], &[hangs_on_zero], &[]);
        let panics = slow.drifts.keys().filter(|change| change.before.to_string().contains("panics")).count();
        assert!(panics > 0 && panics == slow.drifts.len(), "{:?}", slow.drifts);
    }

    #[test]
    fn a_comparison_that_is_stopped_says_what_there_is() {
        let open = |_| Ok([vec![with_faults(&[short_shape])?], vec![with_faults(&[])?]]);
        let source = Drawn(Generator::default());
        let options = Options { source: &source, cases: u64::MAX, threads: 2, limit: LIMIT, open: &open };
        let stop = Stop::default();
        let progress = |progress| match progress {
            Progress::Cases { changes: 0, .. } => {}
            Progress::Cases { .. } => stop.ask(),
            Progress::Minimized { .. } => panic!("it goes on"),
        };
        let comparison = compare(&options, &stop, &progress).unwrap();
        assert!(comparison.cases > 0 && !comparison.drifts.is_empty(), "{comparison:?}");
    }
}
