//! The loop: generate cases, execute them on every runtime, judge, count.

mod coverage;
mod examine;
mod source;
mod statistics;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use coverage::{CellReport, Counts, Coverage, CoverageReport, RuleReport};
pub use examine::{Contrary, Examination, examine, examine_all};
pub use source::{Shard, Source, Stream};
pub use statistics::{Group, RuntimeStatistics, Statistics, Tally, Trigger};

use crate::case::Generated;
use crate::runtime::{OpenError, Runtime, RuntimeId};

/// What a campaign is to do.
#[expect(missing_debug_implementations, reason = "a source is anything that gives cases")]
pub struct Options<'a> {
    pub source: &'a dyn Source,
    /// The end, whichever comes first; with neither it goes on until the source ends or it is stopped.
    pub cases: Option<u64>,
    pub time: Option<Duration>,
    /// At least 1. The result does not depend on it.
    pub threads: usize,
    /// Defects whose mismatches are counted and not kept.
    pub known: &'a [Trigger],
}

/// Opens the runtimes of a campaign; called once on each thread.
pub type Opener<'a> = &'a (dyn Fn() -> Result<Vec<Box<dyn Runtime>>, OpenError> + Sync);

/// Cases that a thread takes at a time. Only between two such blocks does it look at anything that threads share.
const BLOCK: u64 = 64;

/// Runs a campaign until its end or until `stop` is set, and then as far as the blocks under way. `progress` is called
/// now and then with what there is so far.
///
/// The cases are those of the source from the first on, without a gap, so that a campaign of as many cases is the same
/// on every machine.
///
/// # Errors
/// If a runtime cannot be opened.
pub fn run(
    options: &Options,
    open: Opener,
    stop: &AtomicBool,
    progress: &(dyn Fn(&Statistics) + Sync),
) -> Result<Statistics, OpenError> {
    let started = Instant::now();
    let next = AtomicU64::new(0);
    let total: Mutex<Option<Statistics>> = Mutex::new(None);
    let failure: Mutex<Option<OpenError>> = Mutex::new(None);
    let work = || -> Result<(), OpenError> {
        let mut runtimes = open()?;
        let ids: Vec<RuntimeId> = runtimes.iter().map(|runtime| runtime.id().clone()).collect();
        let mut local = Statistics::new(&ids);
        loop {
            let out_of_time = options.time.is_some_and(|time| started.elapsed() >= time);
            if out_of_time || stop.load(Ordering::Relaxed) {
                break;
            }
            let first = next.fetch_add(BLOCK, Ordering::Relaxed);
            let end = options.cases.map_or(first + BLOCK, |cases| cases.min(first + BLOCK));
            if first >= end {
                break;
            }
            let cases: Vec<Generated> = (first..end).map_while(|index| options.source.case(index)).collect();
            for (generated, examination) in cases.iter().zip(examine_all(&cases, &mut runtimes, &ids)) {
                local.count(generated, &ids, &examination, options.known);
            }
            if local.cases == 0 {
                break;
            }
            let block = std::mem::replace(&mut local, Statistics::new(&ids));
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            let total = total.get_or_insert_with(|| Statistics::new(&ids));
            total.add(block);
            total.elapsed = started.elapsed();
            progress(total);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            scope.spawn(|| {
                if let Err(error) = work() {
                    stop.store(true, Ordering::Relaxed);
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            });
        }
    });
    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(total.unwrap_or_else(|| Statistics::new(&[])))
}

#[cfg(test)]
mod tests;
