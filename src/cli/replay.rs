//! `crosscheck replay`: test data in the layout of ONNX on every runtime.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::known_failures::KnownFailures;
use super::{Ending, FailureArguments, RuntimeArguments, stop_on_signals, table, to_save};
use crate::finding::junit::{failed, skipped};
use crate::finding::{
    Authority, BY_DESIGN, DataSetResult, Ledger, Replay, RuntimeResult, Terms, Trial, Worst, backend, one_line, replay,
};
use crate::model::test_data;

/// Run test data in the layout of ONNX on every runtime, and say whether the stored outputs are right
///
/// A folder has a `model.onnx`, and `test_data_set_N/input_K.pb` and `output_K.pb`, like the backend tests of the `onnx` package.
/// Models of Shape, Flatten, Reshape, Size, Identity, Squeeze, Unsqueeze, Transpose, Expand, Tile, ConstantOfShape, Concat,
/// Split, Slice, Gather, Cast (between integers), Pad, GatherElements, GatherND, DepthToSpace, SpaceToDepth and Trilu are
/// compared with the specification, bit for bit; models of other operators are compared with the stored outputs, with a tolerance
/// for floating-point numbers. A model that a runtime does not support is no finding. Backend tests whose result depends on
/// chance or on the machine are counted and not run.
#[derive(Debug, clap::Args)]
#[expect(clippy::doc_markdown, reason = "it is shown as it is")]
#[command(after_help = "Examples:\n  crosscheck replay onnx/backend/test/data/node/test_reshape_*\n  \
                        crosscheck replay onnx/backend/test/data --skip 'test_resize_*' --skip test_stft --atol 1e-4\n  \
                        crosscheck replay test-data --runtimes in-house,ours --known-failures known-failures.txt --format junit")]
pub(super) struct Arguments {
    /// Folders with a model, or with such folders below them
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Leave out folders with this text in their path, where `*` stands for any text; may be given again
    #[arg(long, value_name = "PATTERN")]
    skip: Vec<String>,
    /// Also replay the backend tests whose result depends on chance or on the machine
    #[arg(long)]
    chance: bool,
    /// Relative tolerance of floating-point numbers against the stored ones [default: 0.001]
    #[arg(long, value_name = "NUMBER", value_parser = tolerance)]
    rtol: Option<f64>,
    /// Absolute tolerance, added to the relative one [default: 1e-7; 0.001 for the backend tests of DFT and STFT, whose sums
    /// cancel out]
    #[arg(long, value_name = "NUMBER", value_parser = tolerance)]
    atol: Option<f64>,
    /// A list of known failures: a runtime and a data set on each line, such as `ours test_add/test_data_set_0`, where `*` stands
    /// for any text. A listed failure does not count as a failure, but a line whose data set does not fail does
    #[arg(long, value_name = "FILE")]
    known_failures: Option<PathBuf>,
    #[command(flatten)]
    runtimes: RuntimeArguments,
    #[command(flatten)]
    failure: FailureArguments,
    /// How to show the results; JSON is one line for each data set
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    Junit,
}

pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    let number: Result<f64, _> = text.parse();
    number
        .ok()
        .filter(|number| number.is_finite() && *number >= 0.0)
        .ok_or("expected a number of 0 or more, such as 1e-4".to_owned())
}

impl Arguments {
    /// Why a folder is skipped: the group that it is counted in, and the reason.
    fn skips(&self, folder: &Path) -> Option<(&'static str, String)> {
        let path = folder.to_string_lossy();
        let asked = self.skip.iter().find(|pattern| is_in(pattern, &path));
        let asked = asked.map(|pattern| (ASKED, format!("--skip {pattern}")));
        let chance = || backend::by_chance(folder).filter(|_| !self.chance).map(|why| (CHANCE, why.to_owned()));
        asked.or_else(chance)
    }
}

/// Why folders are skipped.
const ASKED: &str = "as --skip says";
const CHANCE: &str = "depends on chance";

/// The column of the wrong results that known issues explain or a list of known failures contains.
const KNOWN: &str = "known";

/// Whether a text holds a pattern, in which `*` stands for any text.
fn is_in(pattern: &str, text: &str) -> bool {
    let find = |rest: &str, part: &str| rest.find(part).map(|at| at + part.len());
    pattern.split('*').try_fold(text, |rest, part| find(rest, part).map(|end| &rest[end..])).is_some()
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let mut folders = Vec::new();
    for folder in &arguments.folders {
        let found = test_data::find(folder)?;
        anyhow::ensure!(!found.is_empty(), "{}: there is no {} here or below", folder.display(), test_data::MODEL);
        folders.extend(found);
    }
    let rows = arguments.runtimes.select()?;
    let ledger = Ledger::load_for(&rows)?;
    let terms = Terms { ledger: &ledger, relative: arguments.rtol, absolute: arguments.atol };
    let known_failures = arguments.known_failures.as_deref().map(KnownFailures::read);
    let mut known_failures = known_failures.transpose()?.unwrap_or_default();
    let mut runtimes = arguments.runtimes.open(&rows)?;
    let stop = stop_on_signals()?;
    let mut out = io::stdout().lock();
    let mut summary = Summary::default();
    let mut suites = Suites::default();
    for folder in &folders {
        if stop.is_asked() {
            eprintln!("Stopped: {} of {} folders were replayed.", summary.folders, folders.len());
            break;
        }
        summary.folders += 1;
        let replays = match arguments.skips(folder) {
            Some((group, why)) => {
                *summary.skipped.entry(group).or_default() += 1;
                vec![Replay::skipped(folder, format!("{group}: {why}"))]
            }
            None => replay(folder, &mut runtimes, &terms),
        };
        for replay in replays {
            let listed = known_failures.listed(&replay, arguments.failure);
            summary.add(&replay, &listed);
            match arguments.format {
                Format::Text => write(&replay, &listed, folders.len() == 1, &mut out)?,
                Format::Json => writeln!(out, "{}", serde_json::to_string(&replay)?)?,
                Format::Junit => suites.add(&replay, &listed, arguments.failure.ignore_known),
            }
        }
    }
    let stale = if summary.folders == folders.len() { known_failures.stale() } else { Vec::new() };
    match arguments.format {
        Format::Text => summary.write(&mut out)?,
        Format::Json => {}
        Format::Junit => {
            suites.add_stale(&stale);
            suites.write(&mut out)?;
        }
    }
    if arguments.known_failures.is_some() {
        eprint!("{}", known_failures.complaint(&stale));
    }
    Ok(match arguments.failure.ending(summary.worst) {
        _ if summary.errors > 0 => Ending::BadInput,
        Ending::NothingWrong if !stale.is_empty() => Ending::Finding,
        ending => ending,
    })
}

/// Shows a data set to a person. Without `all`, data sets that are skipped or have no unlisted deviation are left out.
fn write(replay: &Replay, listed: &[Option<String>], all: bool, to: &mut impl Write) -> io::Result<()> {
    let trial = match &replay.result {
        DataSetResult::Judged(trial) => trial,
        DataSetResult::NotSupported(why) => return writeln!(to, "not supported here: {why}\n"),
        DataSetResult::Skipped(why) if all => return writeln!(to, "skipped: {why}\n"),
        DataSetResult::Skipped(_) => return Ok(()),
        DataSetResult::Error(why) => return writeln!(to, "ERROR: {why}\n"),
    };
    let is_news = |(result, line): (&RuntimeResult, &Option<String>)| result.is_deviation() && line.is_none();
    if !all && !trial.results.iter().zip(listed).any(is_news) {
        return Ok(());
    }
    writeln!(to, "{}\n    {}", replay.place(), in_words(trial))?;
    if let Some(case) = &trial.case {
        writeln!(to, "    the case {case}")?;
    } else if let Some(why) = &trial.no_case {
        writeln!(to, "    no case: {why}")?;
    }
    let width = trial.results.iter().map(|result| result.name.len()).max().unwrap_or(0);
    for (result, line) in trial.results.iter().zip(listed) {
        let mark = if result.kind == "wrong" { "WRONG" } else { result.kind };
        writeln!(to, "{}", format!("    {:width$}  {mark:11}  {}", result.name, result.sentence).trim_end())?;
        if !matches!(result.kind, "wrong" | "differs" | BY_DESIGN) {
            continue;
        }
        let known = result.known_as.iter().map(|id| format!("known as {id}"));
        let listed = line.iter().map(|line| format!("known failure: {line}"));
        let words = [result.answer.clone(), one_line(&result.message)];
        for words in known.chain(listed).chain(words).filter(|words| !words.is_empty()) {
            writeln!(to, "    {:width$}    {words}", "")?;
        }
    }
    if let Some(note) = &trial.note {
        writeln!(to, "    {note}")?;
    }
    if let Some(case) = trial.to_save() {
        writeln!(to, "    {}", to_save(case))?;
    }
    writeln!(to)
}

/// The authority for the expected outputs, and what it demands.
fn in_words(trial: &Trial) -> String {
    let why = trial.not_consulted.as_deref().unwrap_or_default();
    match trial.authority {
        Authority::Specification => format!("the specification demands {}", trial.demand),
        Authority::StoredOutput => {
            format!("no specification was consulted ({why}); held to the stored output {}", trial.demand)
        }
        Authority::Nobody => {
            format!("no specification was consulted ({why}), and no output is stored: compared with each other")
        }
    }
}

/// Counts over all folders.
#[derive(Default)]
struct Summary {
    folders: usize,
    by_specification: u64,
    /// By the tolerance.
    by_stored: BTreeMap<String, u64>,
    by_nobody: u64,
    not_supported: u64,
    /// By the reason.
    skipped: BTreeMap<&'static str, u64>,
    errors: u64,
    worst: Worst,
    /// By runtime, in the order in which they appear.
    results: Vec<(String, BTreeMap<&'static str, u64>)>,
}

impl Summary {
    fn add(&mut self, replay: &Replay, listed: &[Option<String>]) {
        let trial = match &replay.result {
            DataSetResult::Judged(trial) => trial,
            DataSetResult::NotSupported(_) => return self.not_supported += 1,
            DataSetResult::Skipped(_) => return,
            DataSetResult::Error(_) => return self.errors += 1,
        };
        match trial.authority {
            Authority::Specification => self.by_specification += 1,
            Authority::StoredOutput => {
                let tolerance = trial.tolerance.map(|t| format!("rtol {}, atol {}", t.rtol, t.atol));
                *self.by_stored.entry(tolerance.unwrap_or_default()).or_default() += 1;
            }
            Authority::Nobody => self.by_nobody += 1,
        }
        for (RuntimeResult { name, kind, is_new, worst, .. }, line) in trial.results.iter().zip(listed) {
            if line.is_none() {
                self.worst.join(*worst);
            }
            let place = self.results.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                self.results.push((name.clone(), BTreeMap::new()));
                self.results.len() - 1
            });
            *self.results[place].1.entry(kind).or_default() += 1;
            if *kind == "wrong" && (line.is_some() || !is_new) {
                *self.results[place].1.entry(KNOWN).or_default() += 1;
            }
        }
    }

    fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let kinds = ["agrees", BY_DESIGN, "tolerated", "unsupported", "wrong", KNOWN, "differs"];
        let mut table = table(["runtime"].into_iter().chain(kinds));
        for (name, counts) in &self.results {
            let counts = kinds.map(|kind| counts.get(kind).copied().unwrap_or(0).to_string());
            table.add_row([name.clone()].into_iter().chain(counts));
        }
        writeln!(to, "{}\n", table.trim_fmt())?;
        let judged = self.by_specification + self.by_stored.values().sum::<u64>() + self.by_nobody;
        writeln!(to, "{judged} data sets were judged")?;
        let stored = self.by_stored.iter().map(|(tolerance, count)| {
            (*count, format!("by the stored output ({tolerance}); no specification was consulted"))
        });
        let specification = (self.by_specification, "by the specification, bit for bit".to_owned());
        let nobody =
            (self.by_nobody, "by each other; no specification was consulted, and no output is stored".to_owned());
        for (count, how) in [specification].into_iter().chain(stored).chain([nobody]).filter(|(count, _)| *count > 0) {
            writeln!(to, "    {count} {how}")?;
        }
        for (why, count) in &self.skipped {
            let how = if *why == CHANCE { "; --chance replays them" } else { "" };
            writeln!(to, "{count} skipped: {why}{how}")?;
        }
        if self.not_supported > 0 {
            writeln!(to, "{} not supported here, and not judged", self.not_supported)?;
        }
        if self.errors > 0 {
            writeln!(to, "{} could not be read", self.errors)?;
        }
        Ok(())
    }
}

/// A suite for each runtime with a test for each data set, one for data sets that were not judged, and one for stale lines.
#[derive(Default)]
struct Suites {
    suites: Vec<(String, TestSuite)>,
}

impl Suites {
    /// Adds a data set. A result that known issues explain is marked as skipped, unless `with_known` is set.
    fn add(&mut self, replay: &Replay, listed: &[Option<String>], with_known: bool) {
        let name = replay.place();
        let mut add = |suite: &str, status: TestCaseStatus| self.add_test(suite, &name, status);
        match &replay.result {
            DataSetResult::NotSupported(why) | DataSetResult::Skipped(why) => add("test data", skipped(why)),
            DataSetResult::Error(why) => add("test data", failed(NonSuccessKind::Error, why, "")),
            DataSetResult::Judged(trial) => {
                for (result, line) in trial.results.iter().zip(listed) {
                    let status = match (line, result.kind) {
                        (Some(line), _) => skipped(&format!("known failure, {line}: {}", result.sentence)),
                        (None, "wrong" | BY_DESIGN) if !result.is_new && !with_known => {
                            skipped(&format!("known as {}: {}", result.known_as.join(", "), result.sentence))
                        }
                        (None, "wrong" | "differs" | BY_DESIGN) => {
                            let words = [in_words(trial).as_str(), &result.answer, &result.message].join("\n");
                            failed(NonSuccessKind::Failure, &result.sentence, &words)
                        }
                        (None, "unsupported") => skipped(&result.sentence),
                        (None, _) => TestCaseStatus::success(),
                    };
                    add(&result.name, status);
                }
            }
        }
    }

    /// Adds the lines that are to be deleted from a list of known failures.
    fn add_stale(&mut self, stale: &[String]) {
        for line in stale {
            self.add_test("known failures", line, failed(NonSuccessKind::Failure, "to be deleted from the list", ""));
        }
    }

    fn add_test(&mut self, suite: &str, name: &str, status: TestCaseStatus) {
        let place = self.suites.iter().position(|(known, _)| known == suite).unwrap_or_else(|| {
            self.suites.push((suite.to_owned(), TestSuite::new(suite)));
            self.suites.len() - 1
        });
        self.suites[place].1.add_test_case(TestCase::new(name, status));
    }

    fn write(self, to: &mut impl Write) -> anyhow::Result<()> {
        let mut report = quick_junit::Report::new("crosscheck replay");
        report.add_test_suites(self.suites.into_iter().map(|(_, suite)| suite));
        let text = report.to_string().context("the report cannot be written as JUnit XML")?;
        Ok(write!(to, "{text}")?)
    }
}
