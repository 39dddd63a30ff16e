//! The list of known failures of `crosscheck replay`. It is strict: a listed data set has to fail.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::FailureArguments;
use crate::files::read_text;
use crate::finding::{DataSetResult, Replay, RuntimeResult};

/// A list of known failures, compared with the results so far.
#[derive(Debug, Default)]
pub(super) struct KnownFailures {
    file: PathBuf,
    lines: Vec<Line>,
    /// Failures that are not listed, as lines for the list.
    unlisted: Vec<String>,
}

/// A runtime, and the data sets in which it is known to fail.
#[derive(Debug)]
struct Line {
    number: usize,
    runtime: String,
    /// A pattern for the end of the path of a data set, after a `/`; `*` stands for any text.
    pattern: String,
    is_met: bool,
    /// The first data set that matches the line and does not fail.
    passes: Option<String>,
}

impl KnownFailures {
    /// Reads a list: each line has the name of a runtime and a pattern; empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// If the file cannot be read, or a line has no pattern; the message names the line.
    pub(super) fn read(file: &Path) -> anyhow::Result<KnownFailures> {
        let text = read_text(file).with_context(|| file.display().to_string())?;
        let numbered = (1..).zip(text.lines().map(str::trim));
        let lines = numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let read = |(number, line): (usize, &str)| {
            let (runtime, pattern) = line.rsplit_once(char::is_whitespace).with_context(|| {
                format!(
                    "{}:{number}: expected a runtime and a data set, such as `ours test_add/test_data_set_0`",
                    file.display()
                )
            })?;
            let (runtime, pattern) = (runtime.trim_end().to_owned(), pattern.to_owned());
            Ok(Line { number, runtime, pattern, is_met: false, passes: None })
        };
        let lines = lines.map(read).collect::<anyhow::Result<_>>()?;
        Ok(KnownFailures { file: file.to_owned(), lines, unlisted: Vec::new() })
    }

    /// For each result of a data set, the line that lists it, if there is one and the result is a failure.
    pub(super) fn listed(&mut self, replay: &Replay, failure: FailureArguments) -> Vec<Option<String>> {
        let DataSetResult::Judged(trial) = &replay.result else { return Vec::new() };
        let place = replay.place().replace('\\', "/");
        trial.results.iter().map(|result| self.line_of(result, &place, failure.fails(result.worst))).collect()
    }

    fn line_of(&mut self, RuntimeResult { name, .. }: &RuntimeResult, place: &str, fails: bool) -> Option<String> {
        let what = format!("{name} {}", end(place));
        let mut number = None;
        for line in self.lines.iter_mut().filter(|line| line.is_about(name, place)) {
            line.is_met = true;
            line.passes = line.passes.take().or_else(|| (!fails).then(|| what.clone()));
            number = Some(line.number);
        }
        self.unlisted.extend((fails && number.is_none()).then_some(what));
        number.filter(|_| fails).map(|number| format!("{}:{number}", self.file.display()))
    }

    /// The lines that are to be deleted, each with the reason.
    pub(super) fn stale(&self) -> Vec<String> {
        let stale = |line: &Line| {
            let own = format!("{} {}", line.runtime, line.pattern);
            let why = match &line.passes {
                Some(what) if *what == own => "it does not fail".to_owned(),
                Some(what) => format!("{what} does not fail"),
                None if line.is_met => return None,
                None => "nothing that was replayed is like it".to_owned(),
            };
            Some(format!("{}:{}: {own}: {why}", self.file.display(), line.number))
        };
        self.lines.iter().filter_map(stale).collect()
    }

    /// The errors of the list: the failures that it lacks, and its stale lines.
    pub(super) fn complaint(&self, stale: &[String]) -> String {
        let file = self.file.display();
        let lists = [
            (format!("Not in {file}, and fails:"), &self.unlisted[..]),
            (format!("To be deleted from {file}:"), stale),
        ];
        let paragraph = |(header, lines): (String, &[String])| format!("{header}\n    {}\n", lines.join("\n    "));
        lists.into_iter().filter(|(_, lines)| !lines.is_empty()).map(paragraph).collect()
    }
}

impl Line {
    fn is_about(&self, name: &str, place: &str) -> bool {
        let is_named = name.strip_prefix(&self.runtime).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let mut ends = place.match_indices('/').map(|(at, _)| &place[at + 1..]).chain([place]);
        is_named && ends.any(|end| is_like(&self.pattern, end))
    }
}

/// Whether a text matches a pattern, in which `*` stands for any text.
fn is_like(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            text.char_indices().map(|(at, _)| at).chain([text.len()]).any(|at| is_like(rest, &text[at..]))
        }),
    }
}

/// The last three names of a path: they identify a data set, wherever the folders are.
fn end(place: &str) -> &str {
    place.rmatch_indices('/').nth(2).map_or(place, |(at, _)| &place[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(runtime: &str, pattern: &str) -> Line {
        Line { number: 1, runtime: runtime.to_owned(), pattern: pattern.to_owned(), is_met: false, passes: None }
    }

    #[test]
    fn a_line_is_about_a_runtime_in_all_of_its_configurations_and_whole_names_of_folders() {
        let place = "/data/valid/shape-001/test_data_set_0";
        for (name, runtime, is_about) in [
            ("ours", "ours", true),
            ("ours/all", "ours", true),
            ("ours/all", "ours/all", true),
            ("ours2", "ours", false),
        ] {
            assert_eq!(line(runtime, "valid/*").is_about(name, place), is_about, "{runtime}: {name}");
        }
        for (pattern, is_about) in [
            (place, true),
            ("shape-001/test_data_set_0", true),
            ("valid/shape-*", true),
            ("valid/*-001/test*0", true),
            ("*", true),
            ("hape-001/test_data_set_0", false),
            ("shape-001", false),
            ("valid/shape-*1", false),
        ] {
            assert_eq!(line("ours", pattern).is_about("ours", place), is_about, "{pattern}");
        }
    }

    #[test]
    fn the_end_of_a_path_is_its_last_three_names() {
        for (path, last) in [("/a/b/c/d", "b/c/d"), ("b/c/d", "b/c/d"), ("d", "d")] {
            assert_eq!(end(path), last);
        }
    }
}
