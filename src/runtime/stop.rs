//! When work is to end: because somebody asks for it, or because its time is up.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// When work is to end. Clones belong together: what one is asked, all are.
///
/// Work ends in two steps. Nothing new begins once it [`is_asked`](Stop::is_asked); what is under way is given up once it
/// [`is_due`](Stop::is_due), which is later by the grace.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    asked: Arc<OnceLock<Instant>>,
    /// When nothing new begins, if nobody asks before.
    until: Option<Instant>,
    /// How long work under way may go on after that.
    grace: Duration,
}

impl Stop {
    /// The same with a time of its own at which nothing new begins.
    #[must_use]
    pub fn at(&self, until: Option<Instant>) -> Stop {
        Stop { until, ..self.clone() }
    }

    /// The same with a grace of its own.
    #[must_use]
    pub fn with_grace(&self, grace: Duration) -> Stop {
        Stop { grace, ..self.clone() }
    }

    /// Asks for the end.
    pub fn ask(&self) {
        // Who asks first counts.
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

    /// Whether nothing new is to begin that takes so long.
    pub fn is_asked_in(&self, time: Duration) -> bool {
        self.is_asked() || self.until.is_some_and(|until| until.saturating_duration_since(Instant::now()) <= time)
    }

    /// Whether what is under way is to be given up.
    pub fn is_due(&self) -> bool {
        self.since().is_some_and(|since| since.elapsed() >= self.grace)
    }

    /// Since when nothing new is to begin.
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
