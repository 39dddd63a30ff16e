//! Checks laws on runtimes: a runtime that does not give the same for both graphs of a law is wrong in one of them, whatever the
//! specification says.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::campaign::{Examination, Failures, Opener, Quarantine, Scheduler, Trigger, examine_together};
use crate::case::law::{Law, Pair};
use crate::case::shrink::reduce;
use crate::case::{Case, Features, Generated};
use crate::operator::Operator;
use crate::runtime::{Execution, OpenError, Outcome, Runtime, RuntimeId, Stop, ids};
use crate::threads::on_threads;
use crate::verdict::{Judgement, Mismatch, agree};

use super::{Probe, Sorted, Sorter};

/// The settings of a check of laws.
#[expect(missing_debug_implementations, reason = "opening runtimes is a function")]
pub struct Options<'a> {
    /// At least one.
    pub laws: &'a [&'static Law],
    /// The graphs of a pair have nodes of these operators only.
    pub operators: &'a [&'static Operator],
    pub seed: u64,
    /// How many pairs to draw; `None` to go on until the stop.
    pub pairs: Option<u64>,
    /// At least 1. The result does not depend on it.
    pub threads: usize,
    /// How many nodes are put into one model, at most.
    pub batch: usize,
    /// The known defects of the runtimes.
    pub known: &'a [Trigger],
    pub open: Opener<'a>,
}

/// The results of laws on runtimes.
#[derive(Clone, Debug, Default)]
pub struct LawStatistics {
    /// The number of pairs that were drawn. `none` is the number of draws without a pair.
    pub pairs: u64,
    pub none: u64,
    /// The number of broken pairs whose breach a known issue explains once it is minimized.
    pub explained: u64,
    /// By runtime.
    pub tallies: BTreeMap<RuntimeId, Tally>,
    /// By law, by release, and by the mismatch of a graph of the pair; `None` if neither graph is wrong by itself.
    pub broken: BTreeMap<(&'static str, String, Option<Mismatch>), Breach>,
}

/// The results on one runtime, as numbers of pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub held: u64,
    /// The runtime lacks something that one of the graphs needs.
    pub unsupported: u64,
    /// The runtime refuses both graphs.
    pub refused: u64,
    /// A known issue explains the mismatch of a graph.
    pub known: u64,
    pub broken: u64,
}

/// The result of a law on one runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LawOutcome {
    Held,
    Unsupported,
    Refused,
    Known,
    /// With the mismatch of a graph, if one is wrong by itself, and the case that shows it: the graph, or a node of it.
    Broken(Option<(Mismatch, Case)>),
}

/// A law that a release breaks.
#[derive(Clone, Debug)]
pub struct Breach {
    /// The pair with the shortest call, as it was drawn or minimized.
    pub pair: Pair,
    pub is_minimized: bool,
    pub count: u64,
}

/// The results of the runtimes for both graphs of a pair.
#[derive(Debug)]
pub struct PairExamination {
    pub left: Examination,
    pub right: Examination,
}

/// Pairs that a thread takes at a time.
const BLOCK: u64 = 64;

/// Draws pairs of the laws in turn and checks the runtimes on them, until the number of pairs in the options is reached or `stop`
/// is set. `progress` is called now and then.
///
/// # Errors
/// If a runtime cannot be opened.
pub fn hold(
    options: &Options,
    stop: &Stop,
    progress: &(dyn Fn(&LawStatistics) + Sync),
) -> Result<LawStatistics, OpenError> {
    let (next, total) = (AtomicU64::new(0), Mutex::new(LawStatistics::default()));
    let quarantine: OnceLock<Quarantine> = OnceLock::new();
    on_threads(options.threads, || {
        let mut runtimes = (options.open)()?;
        let ids = ids(&runtimes);
        let failures = Failures::LookInto(quarantine.get_or_init(|| Quarantine::new(ids.len(), options.known)));
        let mut scheduler = Scheduler::new(options.batch, options.known, options.known).searching(failures, stop);
        while !stop.is_asked() {
            let first = next.fetch_add(BLOCK, Ordering::Relaxed);
            let end = options.pairs.map_or(first + BLOCK, |pairs| pairs.min(first + BLOCK));
            if first >= end {
                break;
            }
            let pairs: Vec<Pair> = (first..end).filter_map(|index| options.draw(index)).collect();
            let Some(examinations) = examine(&pairs, &mut runtimes, &ids, &mut scheduler) else { break };
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            total.none += end - first - pairs.len() as u64;
            for (pair, examination) in pairs.iter().zip(examinations) {
                total.add(pair, &examination, &ids, options.known);
            }
            progress(&total);
        }
        Ok(())
    })?;
    Ok(total.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Minimizes the call of each breach, until `stop` is due. If a known issue explains the minimized call, though not the drawn one,
/// the breach is removed and counted as explained.
///
/// # Errors
/// If a runtime cannot be opened.
pub fn minimize(statistics: &mut LawStatistics, known: &[Trigger], open: Opener, stop: &Stop) -> Result<(), OpenError> {
    if statistics.broken.is_empty() || stop.is_due() {
        return Ok(());
    }
    let mut probe = Probe::new(open()?).until(stop);
    let mut runtimes = open()?;
    let mut sorter = Sorter::new(known.to_vec());
    for ((law, release, wrong), mut breach) in std::mem::take(&mut statistics.broken) {
        let is_it = |outcome: &LawOutcome| match outcome {
            LawOutcome::Broken(own) => own.as_ref().map(|(mismatch, _)| mismatch) == wrong.as_ref(),
            _ => false,
        };
        let (pair, outcome) = reduce_pair(&breach.pair, &release, &is_it, &mut runtimes, known, stop);
        let is_known = match outcome {
            Some(LawOutcome::Broken(Some((mismatch, case)))) => {
                let defect = sorter.sort(&case, &mismatch, &Features::of(&case), &mut probe);
                matches!(defect, Sorted::Known(place) if place < known.len())
            }
            _ => false,
        };
        // A result after the stop means nothing.
        if !stop.is_due() {
            if is_known {
                statistics.explained += breach.count;
                continue;
            }
            breach = Breach { pair, is_minimized: true, ..breach };
        }
        statistics.broken.insert((law, release, wrong), breach);
    }
    Ok(())
}

impl Options<'_> {
    /// Pair `index` of the seed, of the laws in turn.
    fn draw(&self, index: u64) -> Option<Pair> {
        let count = self.laws.len() as u64;
        let law = self.laws[usize::try_from(index % count).unwrap_or(0)];
        law.draw(self.operators, self.seed, index / count)
    }
}

/// Executes both graphs of pairs; `None` if it was stopped.
fn examine(
    pairs: &[Pair],
    runtimes: &mut [Box<dyn Runtime>],
    ids: &[RuntimeId],
    scheduler: &mut Scheduler,
) -> Option<Vec<PairExamination>> {
    let graphs: Vec<Generated> = pairs.iter().flat_map(|pair| [pair.left.clone(), pair.right.clone()]).collect();
    let mut examinations = examine_together(&graphs, runtimes, ids, scheduler)?.into_iter();
    let next = || Some(PairExamination { left: examinations.next()?, right: examinations.next()? });
    Some(std::iter::from_fn(next).collect())
}

/// Executes both graphs of a pair, each alone.
pub fn examine_pair(pair: &Pair, runtimes: &mut [Box<dyn Runtime>]) -> Option<PairExamination> {
    let ids = ids(runtimes);
    examine(std::slice::from_ref(pair), runtimes, &ids, &mut Scheduler::new(1, &[], &[]))?.pop()
}

impl LawStatistics {
    fn add(&mut self, pair: &Pair, examination: &PairExamination, ids: &[RuntimeId], known: &[Trigger]) {
        self.pairs += 1;
        let mut keys: Vec<(&'static str, String, Option<Mismatch>)> = Vec::new();
        for (place, id) in ids.iter().enumerate() {
            let tally = self.tallies.entry(id.clone()).or_default();
            match examination.outcome(pair, ids, place, known) {
                LawOutcome::Held => tally.held += 1,
                LawOutcome::Unsupported => tally.unsupported += 1,
                LawOutcome::Refused => tally.refused += 1,
                LawOutcome::Known => tally.known += 1,
                LawOutcome::Broken(wrong) => {
                    tally.broken += 1;
                    let key = (pair.law.id, id.release(), wrong.map(|(mismatch, _)| mismatch));
                    keys.extend(Some(key).filter(|key| !keys.contains(key)));
                }
            }
        }
        for key in keys {
            let new = || Breach { pair: pair.clone(), count: 0, is_minimized: false };
            let breach = self.broken.entry(key).or_insert_with(new);
            breach.count += 1;
            if pair.call.is_shorter_than(&breach.pair.call) {
                breach.pair = pair.clone();
            }
        }
    }
}

impl PairExamination {
    /// The executions of the two graphs on the runtime at a place.
    fn executions(&self, place: usize) -> [&Execution; 2] {
        [&self.left, &self.right].map(|examination| &examination.executions[place])
    }

    /// Whether the runtime at a place breaks the law, and no known issue explains it.
    pub fn is_broken(&self, pair: &Pair, ids: &[RuntimeId], place: usize, known: &[Trigger]) -> bool {
        matches!(self.outcome(pair, ids, place, known), LawOutcome::Broken(_))
    }

    fn outcome(&self, pair: &Pair, ids: &[RuntimeId], place: usize, known: &[Trigger]) -> LawOutcome {
        let sides = [(&pair.left, &self.left), (&pair.right, &self.right)];
        if sides.iter().any(|(_, side)| matches!(side.judgements[place], Judgement::Unsupported(_))) {
            return LawOutcome::Unsupported;
        }
        let is_refusal = |outcome: &Outcome| matches!(outcome, Outcome::Refused { .. } | Outcome::Unclassified { .. });
        match self.executions(place).map(|execution| &execution.outcome) {
            [Outcome::Answer(left), Outcome::Answer(right)] if agree(left, right) => return LawOutcome::Held,
            [left, right] if is_refusal(left) && is_refusal(right) => return LawOutcome::Refused,
            _ => {}
        }
        let faults = sides.into_iter().flat_map(|(graph, side)| {
            let of_side = side.faults(graph, ids, place).into_iter();
            of_side.map(|fault| (fault.mismatch, fault.node.unwrap_or_else(|| graph.case.clone())))
        });
        let faults: Vec<(Mismatch, Case)> = faults.collect();
        let is_known = |(mismatch, case): &(Mismatch, Case)| {
            let features = Features::of(case);
            known.iter().any(|known| known.explains(mismatch, &features))
        };
        if faults.iter().any(is_known) {
            return LawOutcome::Known;
        }
        LawOutcome::Broken(faults.into_iter().min_by(|(a, _), (b, _)| a.cmp(b)))
    }
}

/// The pair with the smallest call whose outcome on a release fits `is_it`, and that outcome; `None` if it does not show again.
fn reduce_pair(
    pair: &Pair,
    release: &str,
    is_it: &dyn Fn(&LawOutcome) -> bool,
    runtimes: &mut [Box<dyn Runtime>],
    known: &[Trigger],
    stop: &Stop,
) -> (Pair, Option<LawOutcome>) {
    let ids = ids(runtimes);
    let places: Vec<usize> = (0..ids.len()).filter(|&place| ids[place].release() == release).collect();
    let mut scheduler = Scheduler::new(1, &[], &[]).searching(Failures::Believe, stop);
    let mut outcome_of = |pair: &Pair| {
        let examination = examine(std::slice::from_ref(pair), runtimes, &ids, &mut scheduler)?.pop()?;
        places.iter().map(|&place| examination.outcome(pair, &ids, place, known)).find(|outcome| is_it(outcome))
    };
    let mut smallest = (pair.clone(), outcome_of(pair));
    reduce(pair.call.clone(), &mut |calls| {
        let pairs = calls.iter().enumerate().filter_map(|(place, call)| Some((place, pair.law.pair(call)?)));
        let shown = |(place, pair): (usize, Pair)| outcome_of(&pair).map(|outcome| (place, (pair, Some(outcome))));
        let (place, smaller) = pairs.into_iter().find_map(shown)?;
        smallest = smaller;
        Some(place)
    });
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::law::LAWS;
    use crate::operator::{Expectation, OPERATORS};
    use crate::runtime::planted::with_opinion;
    use crate::tensor::Tensor;

    /// A runtime whose Transpose of rank 3 and more moves nothing but the dims.
    fn lazy_transpose() -> Box<dyn Runtime> {
        with_opinion(Box::new(|operator, opset, attributes, inputs, outputs| {
            let right = operator.evaluate(opset, attributes, inputs, outputs);
            match (operator.name, &right, inputs.first()) {
                ("Transpose", Expectation::Defined(moved), Some(Some(data))) if data.rank() >= 3 => {
                    let lazy = |moved: &Tensor| data.with_dims(moved.dims().to_vec()).unwrap();
                    Expectation::Defined(moved.iter().map(lazy).collect())
                }
                _ => right,
            }
        }))
    }

    fn held(pairs: u64, known: &[Trigger]) -> LawStatistics {
        let laws: Vec<&'static Law> = LAWS.iter().filter(|law| law.id.contains("transpose")).collect();
        let options = Options {
            laws: &laws,
            operators: OPERATORS,
            seed: 5,
            pairs: Some(pairs),
            threads: 2,
            batch: 64,
            known,
            open: &|| Ok(vec![lazy_transpose()]),
        };
        let mut held = hold(&options, &Stop::default(), &|_| {}).unwrap();
        assert!(held.broken.values().all(|breach| !breach.is_minimized));
        let stopped = Stop::default();
        stopped.ask();
        minimize(&mut held, known, options.open, &stopped).unwrap();
        assert!(held.broken.values().all(|breach| !breach.is_minimized), "it is to stop");
        minimize(&mut held, known, options.open, &Stop::default()).unwrap();
        held
    }

    #[test]
    fn a_law_that_a_runtime_breaks_is_found_with_both_graphs() {
        let held = held(2000, &[]);
        let laws: Vec<&str> = held.broken.keys().map(|(law, ..)| *law).collect();
        assert!(laws.contains(&"transpose-of-slice") && laws.contains(&"trilu-of-transpose"), "{laws:?}");
        assert!(!laws.contains(&"transpose-inverse"), "there both graphs are wrong alike: {laws:?}");
        assert!(held.broken.values().all(|breach| breach.is_minimized));
        let (_, Breach { pair, count, .. }) =
            held.broken.iter().find(|((law, ..), _)| *law == "transpose-of-tile").unwrap();
        assert!(*count > 5, "{count}");
        assert_eq!(pair.call.to_string(), "Tile@28 float[1,2,1] int64[3]{2,1,1}");
        assert_eq!(
            [&pair.left, &pair.right].map(|side| side.case.to_string()),
            [
                "a=Tile@28 float[1,2,1] int64[3]{2,1,1}; Transpose perm=[1,2,0] a",
                "a=Transpose@28 perm=[1,2,0] float[1,2,1]; Tile a int64[3]{1,1,2}",
            ]
        );
        let tally = held.tallies.values().next().unwrap();
        assert_eq!(tally.held + tally.broken, held.pairs, "{tally:?}");
    }
}
