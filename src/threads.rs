//! Work on threads.

use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Locks data that is whole even if a thread panicked while it held the lock.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls a function when it is dropped, also if the thread panics.
pub struct Leaving<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for Leaving<F> {
    fn drop(&mut self) {
        self.0();
    }
}

/// What each of so many threads gives, at least one, once all have ended. They share the work: each goes on until there is
/// nothing more to take.
///
/// # Errors
/// The first error, in the order of the threads. A panic on a thread goes on here.
pub fn on_threads<T: Send, E: Send>(count: usize, work: impl Fn() -> Result<T, E> + Sync) -> Result<Vec<T>, E> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count.max(1)).map(|_| scope.spawn(&work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn each_piece_of_work_is_done_once_and_errors_and_panics_come_through() {
        let next = AtomicU32::new(0);
        let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&number| number < 100);
        let parts = on_threads(3, || Ok::<_, ()>(std::iter::from_fn(take).collect::<Vec<_>>())).unwrap();
        let mut all = parts.concat();
        all.sort_unstable();
        assert!(parts.len() == 3 && all == (0..100).collect::<Vec<_>>(), "{parts:?}");
        assert_eq!(on_threads(0, || Err::<(), _>("no runtime")), Err("no runtime"));
        let panics = || on_threads(2, || -> Result<(), ()> { panic!("on a thread") });
        assert!(std::panic::catch_unwind(panics).is_err());
    }
}
