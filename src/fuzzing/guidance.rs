//! Shows libFuzzer how a prebuilt library reacts, which it cannot see itself. Each new reaction is shown as if it were a new
//! branch, so that libFuzzer keeps the case that led to it.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::campaign::Examination;
use crate::case::{Generated, Size};
use crate::operator::Expectation;
use crate::runtime::{Execution, Gap, Outcome, RuntimeId};
use crate::verdict::{Discrepancy, Judgement, reaction};

/// The number of counters, of one byte each. It is large enough that some thousands of reactions rarely share a counter.
const COUNTERS: usize = 1 << 15;

/// libFuzzer reads these counters after each run, as it does its own, and sets them to 0 before it. Nothing else reads them,
/// so without `used` they would be optimized away.
#[repr(align(64))]
struct Counters([AtomicU8; COUNTERS]);

#[cfg_attr(target_os = "linux", unsafe(link_section = "__libfuzzer_extra_counters"))]
#[used]
static EXTRA_COUNTERS: Counters = Counters([const { AtomicU8::new(0) }; COUNTERS]);

/// Hashes of the results of a case.
#[derive(Clone, Debug, Default)]
pub(super) struct Observation {
    /// The outcomes of all runtimes together.
    pub(super) outcomes: u64,
    /// Operator version and element type.
    pub(super) cell: u64,
    /// Other results that are worth keeping a case for.
    others: Vec<u64>,
}

impl Observation {
    /// A row that was not given the case does not count, and configurations of a release that react alike count once.
    pub(super) fn of(generated: &Generated, examination: &Examination, ids: &[RuntimeId]) -> Observation {
        let case = &generated.case;
        let call = case.call();
        let version = call.and_then(|call| call.version).map(|version| version.since);
        let rule = generated.expectation.rule();
        let kind = match &generated.expectation {
            Expectation::Defined(_) => 0_u8,
            Expectation::Reject { .. } => 1,
            Expectation::Unspecified { .. } => 2,
        };
        let name = case.subject();
        let rows = ids.iter().zip(&examination.executions).zip(&examination.judgements);
        let rows = rows.filter(|(_, judgement)| **judgement != Judgement::Unsupported(Gap::LeftOut));
        let reaction = |((id, execution), judgement): ((&RuntimeId, &Execution), &Judgement)| {
            number((&id.name, &id.version, react(execution), verdict(judgement)))
        };
        let mut reactions: Vec<u64> = rows.map(reaction).collect();
        reactions.dedup();
        let mut others = vec![number((name, version, kind, rule))];
        others.extend(reactions.iter().map(|reaction| number((name, version, reaction))));
        Observation {
            outcomes: number((name, kind, rule, &reactions)),
            cell: number((name, version, call.and_then(|call| call.element_type))),
            others,
        }
    }

    /// Shows the results to libFuzzer.
    pub(super) fn show(&self) {
        for &number in [self.outcomes, self.cell].iter().chain(&self.others) {
            let index = usize::try_from(number % COUNTERS as u64).unwrap_or(0);
            EXTRA_COUNTERS.0[index].store(1, Ordering::Relaxed);
        }
    }
}

/// The reaction of a runtime, without values: the kind of outcome, the neutral class of an error, the rank and the kinds of
/// dims of an answer.
fn react(execution: &Execution) -> impl Hash + use<> {
    let outcome = &execution.outcome;
    // The words for every other outcome already name its stage, if it has one.
    let stage = match outcome {
        Outcome::Refused { stage, .. } => Some(*stage),
        _ => None,
    };
    let answers = match outcome {
        Outcome::Answer(outputs) => outputs.as_slice(),
        _ => &[],
    };
    let shapes = answers.iter().map(|output| {
        let dims = output.tensor.dims();
        let mut sizes: Vec<Size> = dims.iter().map(|&dim| Size::of(dim)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        (dims.len().min(9), sizes)
    });
    (reaction(outcome), stage, shapes.collect::<Vec<(usize, Vec<Size>)>>())
}

/// The kind of a judgement, and the discrepancies if it is wrong.
fn verdict(judgement: &Judgement) -> (u8, &[Discrepancy]) {
    match judgement {
        Judgement::Agrees => (0, &[]),
        Judgement::Tolerated(_) => (1, &[]),
        Judgement::Unsupported(_) => (2, &[]),
        Judgement::Wrong(found) => (3, found),
    }
}

/// A hash of a value, which is the same as long as the program is the same.
pub(super) fn number(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The distinct results that a run has seen so far.
#[derive(Debug, Default)]
pub(super) struct Reactions {
    pub(super) outcomes: HashSet<u64>,
    pub(super) cells: HashSet<u64>,
}

impl Reactions {
    pub(super) fn add(&mut self, observation: &Observation) {
        self.outcomes.insert(observation.outcomes);
        self.cells.insert(observation.cell);
    }
}
