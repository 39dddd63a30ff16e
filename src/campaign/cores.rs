//! A core for each thread of a campaign. A thread and its workers take turns: where all that they have at hand is in the
//! caches of one core, none of them waits for it.

/// Keeps this thread, and what it starts from now on, to one of the cores that it may use: the one of its number among as
/// many threads. Does nothing if there are more cores or fewer: then the system knows better where there is room.
#[cfg(target_os = "linux")]
pub(super) fn keep_to_one(number: usize, threads: usize) {
    use nix::sched::{CpuSet, sched_setaffinity};
    let cores = usable();
    if cores.len() == threads {
        let mut one = CpuSet::new();
        // It only costs time if it fails.
        _ = one.set(cores[number]).and_then(|()| sched_setaffinity(THIS, &one));
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn keep_to_one(_: usize, _: usize) {}

#[cfg(target_os = "linux")]
const THIS: nix::unistd::Pid = nix::unistd::Pid::from_raw(0);

/// The cores that this thread may use, by number.
#[cfg(target_os = "linux")]
fn usable() -> Vec<usize> {
    use nix::sched::{CpuSet, sched_getaffinity};
    let set = sched_getaffinity(THIS);
    (0..CpuSet::count()).filter(|&core| set.is_ok_and(|set| set.is_set(core).unwrap_or(false))).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::thread;

    use super::*;

    /// The cores that each of so many threads may use.
    fn kept(threads: usize) -> Vec<Vec<usize>> {
        let one = |number| {
            thread::spawn(move || {
                keep_to_one(number, threads);
                thread::spawn(usable).join().unwrap()
            })
        };
        (0..threads).map(|number| one(number).join().unwrap()).collect()
    }

    #[test]
    fn each_thread_has_a_core_of_its_own_if_there_are_as_many() {
        let cores = usable();
        let alone: Vec<Vec<usize>> = cores.iter().map(|&core| vec![core]).collect();
        assert_eq!(kept(cores.len()), alone);
        assert_eq!(kept(cores.len() + 1), vec![cores.clone(); cores.len() + 1]);
        assert_eq!(usable(), cores, "the others stay free");
    }
}
