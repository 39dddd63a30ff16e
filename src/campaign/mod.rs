//! The loop: generate cases, execute them on every runtime, judge, count.

mod batch;
mod checkpoint;
mod coverage;
mod examine;
mod merge;
mod quarantine;
mod schedule;
mod source;
mod statistics;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub use checkpoint::{Checkpoint, CheckpointError, Header, Limits, Manner, Opened, Saved};
pub use coverage::{
    CellReport, Counts, Coverage, CoverageReport, GraphReport, RuleReport, State, Subject, WrongReport,
};
pub use examine::{Contrary, Examination, Fault, examine, examine_all, examine_together};
pub(crate) use examine::{Scope, examine_some};
pub use merge::{Incomplete, MergeError, Merged, Origin};
pub use quarantine::Quarantine;
pub(crate) use quarantine::broken_rule;
pub(crate) use schedule::Failures;
pub use schedule::Scheduler;
pub use source::{Shard, Sharded, Source, Stream};
pub use statistics::{Group, Groups, Refusals, RuntimeStatistics, Statistics, Tally, Times, Trigger};

use rangemap::RangeSet;

use crate::case::Case;
use crate::runtime::{self, Execution, OpenError, Runtime, RuntimeId, Stop};
use crate::threads::{Leaving, lock};

/// A set of cases, by their numbers.
pub type Ranges = RangeSet<u64>;

/// Writes a map as a list of pairs, because JSON has only text as keys.
type Pairs = serde_with::As<Vec<(serde_with::Same, serde_with::Same)>>;

/// The options of a campaign.
#[expect(missing_debug_implementations, reason = "a source is anything that gives cases")]
pub struct Options<'a> {
    pub source: &'a dyn Source,
    /// The number of the first case.
    pub from: u64,
    /// The campaign ends before the case with this number. If it is `None`, the campaign runs until the source ends or it is
    /// stopped.
    pub cases: Option<u64>,
    /// Estimates the time for minimizing the mismatches so far. The campaign ends this much earlier than its stop.
    pub reserve: &'a (dyn Fn() -> Duration + Sync),
    /// At least 1. The result does not depend on it.
    pub threads: usize,
    /// The most cases that one model has as its nodes.
    pub batch: usize,
    /// Defects that may keep a runtime from answering. They affect only the choice of the cases for a batch.
    pub expected: &'a [Trigger],
    /// Defects whose mismatches are counted and not listed.
    pub known: &'a [Trigger],
    /// Ends the process. It is called if a thread still works long after the stop. Its argument is the counts, which are
    /// already saved.
    pub give_up: &'a (dyn Fn(&Statistics) + Sync),
}

/// Opens the runtimes of a campaign; called once on each thread.
pub type Opener<'a> = &'a (dyn Fn() -> Result<Vec<Box<dyn Runtime>>, OpenError> + Sync);

/// A thread takes at most `BLOCK` cases at a time for each node of a batch, so that the cases of one opset fill some batches.
/// The limit is at least `LEAST`. A thread uses the shared counts only between two such blocks of cases.
const BLOCK: u64 = 64;
const LEAST: u64 = 256;

/// The number of cases in the first block of a thread: few, because a case may take long. The next block is larger if a block
/// takes less than `SHORT`, and smaller if it takes more than `LONG`.
const FIRST: u64 = 4;
const SHORT: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_millis(1500);

/// The time between two reports of progress.
const TELL: Duration = Duration::from_millis(200);

/// How long threads may still work after the stop. Worker processes are ended long before, but a thread of this process
/// cannot be ended.
const LATE: Duration = Duration::from_secs(4);

/// The reduced form of a case that ended the process of a runtime.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The index of the runtime.
    pub(crate) place: usize,
    pub(crate) case: Case,
    pub(crate) execution: Execution,
}

/// Why a campaign cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

/// The data that the threads of a campaign share.
struct Shared<'a> {
    /// `None` until a block is counted.
    total: Option<Statistics>,
    /// `None` if nothing is to be saved.
    checkpoint: Option<&'a mut Checkpoint>,
}

impl Shared<'_> {
    /// Adds the counts of a block of cases, and gives them to the checkpoint.
    fn add(&mut self, cases: &Ranges, block: Statistics, ids: &[RuntimeId]) -> Result<&Statistics, CheckpointError> {
        let total = self.total.get_or_insert_with(|| Statistics::new(ids));
        let has_new_kinds = block.groups.keys().any(|group| !total.groups.contains_key(group));
        total.add(block);
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.keep(cases, total, has_new_kinds)?;
        }
        Ok(total)
    }
}

/// Runs a campaign until its end or its stop. If the stop has a grace, cases under way are then finished. Cases that are not
/// finished are run when the campaign is resumed. `progress` is called with the counts so far after every block, and a few
/// times a second from the start. The cases in the checkpoint count as run, and all that are run are saved in it.
///
/// The campaign runs all cases of the source from its first case on. It leaves a gap only if cases under way were given up.
/// So a campaign with a given number of cases is the same on every machine.
///
/// # Errors
/// If a runtime cannot be opened, or the checkpoint cannot be written.
pub fn run(
    options: &Options,
    checkpoint: Option<&mut Checkpoint>,
    open: Opener,
    stop: &Stop,
    progress: &(dyn Fn(&Statistics) + Sync),
) -> Result<Statistics, CampaignError> {
    let total = checkpoint.as_ref().map(|checkpoint| checkpoint.counted().clone());
    let done = checkpoint.as_ref().map(|checkpoint| checkpoint.done().clone()).unwrap_or_default();
    let (started, earlier) = (Instant::now(), total.as_ref().map_or(Duration::ZERO, |total| total.elapsed));
    let elapsed = || earlier + started.elapsed();
    let most = (BLOCK * options.batch as u64).max(LEAST);
    let first = done.gaps(&(options.from..u64::MAX)).next().map_or(options.from, |gap| gap.start);
    let next = AtomicU64::new(first);
    let failure: Mutex<Option<CampaignError>> = Mutex::new(None);
    let threads = options.threads.max(1);
    let quarantine: OnceLock<Quarantine> = OnceLock::new();
    // The number of threads at work, and a signal that a thread has ended.
    let (working, ended) = (Mutex::new(threads), Condvar::new());
    // Whether the time is up, if the next block takes this long.
    let is_over = |block: Duration| stop.is_asked_in((options.reserve)() + block);
    // A campaign that is resumed at its end needs no runtime.
    let is_at_its_end =
        total.is_some() && (is_over(Duration::ZERO) || options.cases.is_some_and(|cases| first >= cases));
    let shared = Mutex::new(Shared { total, checkpoint });
    let work = || -> Result<(), CampaignError> {
        if is_at_its_end {
            return Ok(());
        }
        let mut runtimes = match open() {
            Err(_) if stop.is_due() => return Ok(()),
            opened => opened?,
        };
        let ids = runtime::ids(&runtimes);
        let mut local = Statistics::new(&ids);
        let failures = Failures::LookInto(quarantine.get_or_init(|| Quarantine::new(ids.len(), options.known)));
        let mut scheduler = Scheduler::new(options.batch, options.expected, options.known).searching(failures, stop);
        let mut size = FIRST.min(most);
        let mut last = Duration::ZERO;
        while !is_over(last) {
            let first = next.fetch_add(size, Ordering::Relaxed);
            let end = options.cases.map_or(first + size, |cases| cases.min(first + size));
            if first >= end {
                break;
            }
            let began = Instant::now();
            let wanted: Vec<u64> = (first..end).filter(|&index| !done.contains(&index)).collect();
            let block = options.source.cases(&wanted);
            let has_ended = block.len() < wanted.len();
            let generated = Instant::now();
            let Some(examinations) = examine_together(&block, &mut runtimes, &ids, &mut scheduler) else {
                // The block is lost, but the cases that were reduced before the stop count.
                for reduced in scheduler.take_reduced() {
                    local.add_reduced(reduced, &ids, options.known);
                }
                let mut shared = lock(&shared);
                shared.add(&Ranges::default(), local, &ids)?;
                break;
            };
            let examined = Instant::now();
            let mut cases = Ranges::default();
            for ((index, generated), examination) in wanted.into_iter().zip(&block).zip(examinations) {
                local.count(generated, &ids, &examination, options.known);
                cases.insert(index..index + 1);
            }
            let found = scheduler.take_found();
            let alone = examine_together(&found, &mut runtimes, &ids, &mut scheduler.alone());
            for (generated, alone) in found.iter().zip(alone.unwrap_or_default()) {
                local.add_found(generated, &ids, &alone, options.known);
            }
            for reduced in scheduler.take_reduced() {
                local.add_reduced(reduced, &ids, options.known);
            }
            let (modelling, executing) = scheduler.take_times();
            let examining = examined - generated;
            local.times = Times {
                cpu: Duration::ZERO,
                ended: Duration::ZERO,
                generating: generated - began,
                judging: examining.saturating_sub(modelling).saturating_sub(executing.iter().sum()),
                counting: examined.elapsed(),
                modelling,
                executing,
            };
            if local.cases > 0 {
                let mut block = std::mem::replace(&mut local, Statistics::new(&ids));
                let mut shared = lock(&shared);
                block.elapsed = elapsed();
                let total = shared.add(&cases, block, &ids)?;
                progress(total);
            }
            if has_ended {
                break;
            }
            last = began.elapsed();
            size = match last {
                short if short < SHORT => (size * 2).min(most),
                long if long > LONG => (size / 2).max(1),
                _ => size,
            };
        }
        Ok(())
    };
    let late = stop.with_grace(LATE);
    let tell = || -> Result<(), CampaignError> {
        let mut working = lock(&working);
        while *working > 0 {
            (working, _) = ended.wait_timeout(working, TELL).unwrap_or_else(PoisonError::into_inner);
            let mut shared = lock(&shared);
            let Shared { total, checkpoint } = &mut *shared;
            let nothing = Statistics::new(&[]);
            let so_far = total.as_ref().unwrap_or(&nothing);
            progress(so_far);
            if *working > 0 && late.is_due() {
                checkpoint.as_mut().map_or(Ok(()), |checkpoint| checkpoint.save(so_far))?;
                (options.give_up)(so_far);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (work, failure, working, ended) = (&work, &failure, &working, &ended);
            scope.spawn(move || {
                // This also runs if the thread panics, so that nobody waits for it.
                let _done = Leaving(|| {
                    *lock(working) -= 1;
                    ended.notify_all();
                });
                if let Err(error) = work() {
                    stop.ask();
                    lock(failure).get_or_insert(error);
                }
            });
        }
        if let Err(error) = tell() {
            stop.ask();
            lock(&failure).get_or_insert(error);
        }
    });
    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let Shared { total, checkpoint } = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    let total = total.unwrap_or_else(|| Statistics::new(&[]));
    checkpoint.map_or(Ok(()), |checkpoint| checkpoint.save(&total))?;
    Ok(total)
}

#[cfg(test)]
mod tests;
