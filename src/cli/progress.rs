//! The progress of long work: a bar on a terminal, a plain line every ten seconds elsewhere; both on standard error.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The time before the first line, and between two lines after that.
const FIRST: Duration = Duration::from_millis(500);
const EVERY: Duration = Duration::from_secs(10);

pub(super) struct Progress {
    bar: Option<ProgressBar>,
    /// When the next line is due.
    next: Mutex<Instant>,
}

/// The templates of a bar whose end is known, and of one whose end is not.
const BAR: &str = "{spinner} [{elapsed}] {bar:20} {percent} %, {eta} left: {msg}";
const ENDLESS: &str = "{spinner} [{elapsed}] {msg}";

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Progress {
    pub(super) fn new() -> Progress {
        let bar = io::stderr().is_terminal().then(|| ProgressBar::new_spinner().with_style(style(ENDLESS)));
        Progress { bar, next: Mutex::new(Instant::now() + FIRST) }
    }

    /// Shows that `done` of `whole` is done, if `whole` is known. `text` is called only if its result is shown. A plain line
    /// begins with `time`; a bar has a clock of its own, which goes on if the progress was finished before.
    pub(super) fn show(&self, done: u64, whole: Option<u64>, time: Option<Duration>, text: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            if bar.is_finished() {
                let elapsed = bar.elapsed();
                bar.reset();
                bar.set_elapsed(elapsed);
            }
            if let Some(whole) = whole {
                if bar.length().is_none() {
                    bar.set_style(style(BAR));
                }
                bar.set_length(whole);
            }
            bar.set_position(done);
            bar.set_message(text());
            return;
        }
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if *next <= Instant::now() {
            *next = Instant::now() + EVERY;
            let time = time.map_or_else(String::new, |time| format!("{time:.0?}: "));
            eprintln!("{time}{}", text());
        }
    }

    /// Writes lines that stay, above the bar if there is one.
    pub(super) fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => eprintln!("{text}"),
        }
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
