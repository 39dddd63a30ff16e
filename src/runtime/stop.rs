//! The request to end work: because somebody asks for it, or because its time is up.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The request to end work. Clones share it: asking one of them asks all.
///
/// Work ends in two steps. Once the stop [`is_asked`](Stop::is_asked), nothing new begins. Once it [`is_due`](Stop::is_due),
/// which is later by the grace, work in progress is given up.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    asked: Arc<OnceLock<Instant>>,
    /// The time from which nothing new begins, even if nobody asks.
    until: Option<Instant>,
    /// How long work in progress may go on after that.
    grace: Duration,
}

impl Stop {
    /// The same stop with its own time from which nothing new begins.
    #[must_use]
    pub fn at(&self, until: Option<Instant>) -> Stop {
        Stop { until, ..self.clone() }
    }

    /// The same stop with its own grace.
    #[must_use]
    pub fn with_grace(&self, grace: Duration) -> Stop {
        Stop { grace, ..self.clone() }
    }

    /// Asks for the end.
    pub fn ask(&self) {
        // The first request counts.
        _ = self.asked.set(Instant::now());
    }

    /// Whether somebody asked for the end.
    pub fn was_asked(&self) -> bool {
        self.asked.get().is_some()
    }

    /// Whether nothing new is to begin.
    pub fn is_asked(&self) -> bool {
        self.since().is_some()
    }

    /// Whether nothing new may begin that takes `time`.
    pub fn is_asked_in(&self, time: Duration) -> bool {
        self.is_asked() || self.until.is_some_and(|until| until.saturating_duration_since(Instant::now()) <= time)
    }

    /// Whether work in progress is to be given up.
    pub fn is_due(&self) -> bool {
        self.since().is_some_and(|since| since.elapsed() >= self.grace)
    }

    /// The time from which nothing new is to begin, if it has come.
    fn since(&self) -> Option<Instant> {
        let passed = self.until.filter(|until| *until <= Instant::now());
        self.asked.get().copied().into_iter().chain(passed).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_given_up_later_than_nothing_new_begins() {
        let (stop, hour) = (Stop::default(), Duration::from_hours(1));
        let (patient, over) = (stop.with_grace(hour), stop.at(Some(Instant::now())));
        assert!(!stop.is_asked() && !patient.is_asked(), "there is no end unless one is given");
        assert!(over.is_asked() && over.is_due() && !over.was_asked());
        assert!(over.with_grace(hour).is_asked() && !over.with_grace(hour).is_due());
        patient.ask();
        assert!(stop.is_due() && stop.was_asked(), "clones belong together");
        assert!(patient.is_asked() && !patient.is_due());
    }
}
