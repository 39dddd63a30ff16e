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
pub use merge::{Incomplete, MergeError, Merged, Origin};
pub use quarantine::Quarantine;
pub(crate) use quarantine::broken_rule;
pub(crate) use schedule::Failures;
pub use schedule::Scheduler;
pub use source::{Shard, Sharded, Source, Stream};
pub use statistics::{Group, Refusals, RuntimeStatistics, Statistics, Tally, Times, Trigger};

use rangemap::RangeSet;

use crate::case::Case;
use crate::runtime::{self, Execution, OpenError, Runtime, RuntimeId, Stop};

/// Cases by their number.
pub type Ranges = RangeSet<u64>;

/// How a map with any keys is written: JSON has no keys but text, so it is a list of pairs.
type Pairs = serde_with::As<Vec<(serde_with::Same, serde_with::Same)>>;

/// What a campaign is to do.
#[expect(missing_debug_implementations, reason = "a source is anything that gives cases")]
pub struct Options<'a> {
    pub source: &'a dyn Source,
    /// The number of the case to begin with.
    pub from: u64,
    /// The number of the case before which it ends. Without it, it goes on until the source ends or it is stopped.
    pub cases: Option<u64>,
    /// The time that it will take to minimize what was found: it ends so much before it is to stop.
    pub reserve: &'a (dyn Fn(&Statistics) -> Duration + Sync),
    /// At least 1. The result does not depend on it.
    pub threads: usize,
    /// How many nodes are put into one model, at most.
    pub batch: usize,
    /// Defects that may keep a runtime from answering: what is put into a batch depends on them, and nothing else does.
    pub expected: &'a [Trigger],
    /// Defects whose mismatches are counted and not listed.
    pub known: &'a [Trigger],
    /// Ends the process: called with the counts, already saved, when a thread still works long after the stop.
    pub give_up: &'a (dyn Fn(&Statistics) + Sync),
}

/// Opens the runtimes of a campaign; called once on each thread.
pub type Opener<'a> = &'a (dyn Fn() -> Result<Vec<Box<dyn Runtime>>, OpenError> + Sync);

/// Cases that a thread takes at a time, at most: so many for each node of a batch that those of one opset fill some, and
/// not fewer than `LEAST`. Only between two such blocks does a thread look at anything that threads share.
const BLOCK: u64 = 64;
const LEAST: u64 = 256;

/// The cases of the first block of a thread: few, since a case may take long. Each block is larger than the one before as
/// long as one takes less than `SHORT`, and smaller where it took more than `LONG`.
const FIRST: u64 = 4;
const SHORT: Duration = Duration::from_millis(250);
const LONG: Duration = Duration::from_millis(750);

/// How often a campaign tells how far it is.
const TELL: Duration = Duration::from_millis(200);

/// How long threads may still work after the stop. Other processes are ended long before; what runs in a thread of this
/// process cannot be.
const LATE: Duration = Duration::from_secs(4);

/// What a case that ended the process of a runtime was reduced to.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// Of the runtime.
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

/// What the threads of a campaign share.
struct Shared<'a> {
    /// `None` until there is something.
    total: Option<Statistics>,
    /// `None` if nothing is to be saved.
    checkpoint: Option<&'a mut Checkpoint>,
}

impl Shared<'_> {
    /// Counts a block of cases and keeps it.
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

/// Runs a campaign until its end or until it is to stop. Cases under way are then finished if the stop has a grace, and
/// those that are not are left to whoever resumes it. `progress` is called after every block and a few times a second, from
/// the start, with what there is so far. What the checkpoint holds counts as run, and all that is run is saved in it.
///
/// The cases are those of the source from the one to begin with on, without a gap unless cases under way were given up, so
/// that a campaign of as many cases is the same on every machine.
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
    // Threads that are at work, and a signal that one is no more.
    let (working, ended) = (Mutex::new(threads), Condvar::new());
    let reserve = Mutex::new(Duration::ZERO);
    let is_over = || stop.is_asked_in(*reserve.lock().unwrap_or_else(PoisonError::into_inner));
    // A campaign that is resumed at its end needs no runtime.
    let is_at_its_end = total.is_some() && (is_over() || options.cases.is_some_and(|cases| first >= cases));
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
        while !is_over() {
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
                // What a case was reduced to before the stop is not lost with its block.
                for reduced in scheduler.take_reduced() {
                    local.add_reduced(reduced, &ids, options.known);
                }
                let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
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
                let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                block.elapsed = elapsed();
                let total = shared.add(&cases, block, &ids)?;
                *reserve.lock().unwrap_or_else(PoisonError::into_inner) = (options.reserve)(total);
                progress(total);
            }
            if has_ended {
                break;
            }
            size = match began.elapsed() {
                short if short < SHORT => (size * 2).min(most),
                long if long > LONG => (size / 2).max(1),
                _ => size,
            };
        }
        Ok(())
    };
    let late = stop.with_grace(LATE);
    let tell = || -> Result<(), CampaignError> {
        let mut working = working.lock().unwrap_or_else(PoisonError::into_inner);
        while *working > 0 {
            (working, _) = ended.wait_timeout(working, TELL).unwrap_or_else(PoisonError::into_inner);
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
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
                // Also if it panics, so that nobody waits for it.
                let _done = Leaving(|| {
                    *working.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
                    ended.notify_all();
                });
                if let Err(error) = work() {
                    stop.ask();
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            });
        }
        if let Err(error) = tell() {
            stop.ask();
            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
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

/// Does something when it is left, however that is.
struct Leaving<F: FnMut()>(F);

impl<F: FnMut()> Drop for Leaving<F> {
    fn drop(&mut self) {
        self.0();
    }
}

#[cfg(test)]
mod tests;
