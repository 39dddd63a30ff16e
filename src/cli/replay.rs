//! `crosscheck replay`: test data in the layout of ONNX on every runtime.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::{Ending, RuntimeArguments, stop_on_signals, table};
use crate::finding::junit::{failed, skipped};
use crate::finding::{Authority, Came, Replay, Trial, Witness, replay};
use crate::model::test_data;
use crate::tensor::{ABSOLUTE, RELATIVE};

/// Run test data in the layout of ONNX on every runtime, with the stored outputs as one more witness
///
/// A folder has a `model.onnx`, and `test_data_set_N/input_K.pb` and `output_K.pb`, as the backend tests of the `onnx`
/// package. Models of Shape, Flatten, Reshape and Size are held to the specification, bit for bit; those of other operators to
/// the stored outputs, where floating-point numbers may be a little off.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck replay onnx/backend/test/data/node/test_reshape_*")]
pub(super) struct Arguments {
    /// Folders with a model, or with such folders below them
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    #[command(flatten)]
    runtimes: RuntimeArguments,
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

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let mut folders = Vec::new();
    for folder in &arguments.folders {
        let found = test_data::find(folder)?;
        anyhow::ensure!(!found.is_empty(), "{}: there is no {} here or below", folder.display(), test_data::MODEL);
        folders.extend(found);
    }
    let mut runtimes = arguments.runtimes.open(&arguments.runtimes.select()?)?;
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
        for replay in replay(folder, &mut runtimes) {
            summary.add(&replay);
            match arguments.format {
                Format::Text => write(&replay, folders.len() == 1, &mut out)?,
                Format::Json => writeln!(out, "{}", serde_json::to_string(&replay)?)?,
                Format::Junit => suites.add(&replay),
            }
        }
    }
    match arguments.format {
        Format::Text => summary.write(&mut out)?,
        Format::Json => {}
        Format::Junit => suites.write(&mut out)?,
    }
    Ok(summary.ending())
}

/// Shows a data set to a person: all of it, or what is wrong.
fn write(replay: &Replay, all: bool, to: &mut impl Write) -> io::Result<()> {
    let trial = match &replay.came {
        Came::Judged(trial) => trial,
        Came::NotSupported(why) => return writeln!(to, "not supported here: {why}\n"),
        Came::Error(why) => return writeln!(to, "ERROR: {why}\n"),
    };
    if !(all || trial.finding) {
        return Ok(());
    }
    writeln!(to, "{}\n    {}", place(replay), in_words(trial))?;
    let width = trial.witnesses.iter().map(|witness| witness.name.len()).max().unwrap_or(0);
    for witness in &trial.witnesses {
        let mark = if witness.kind == "wrong" { "WRONG" } else { witness.kind };
        let line = format!("    {:width$}  {mark:11}  {}", witness.name, witness.sentence);
        writeln!(to, "{}", line.trim_end())?;
        let is_contrary = matches!(witness.kind, "wrong" | "differs");
        for words in [&witness.answer, &witness.message].into_iter().filter(|words| is_contrary && !words.is_empty()) {
            writeln!(to, "    {:width$}    {words}", "")?;
        }
    }
    if let Some(note) = &trial.note {
        writeln!(to, "    {note}")?;
    }
    writeln!(to)
}

/// The folder, and the data set in it.
fn place(replay: &Replay) -> String {
    let data_set = replay.data_set.as_ref().map_or(String::new(), |data_set| format!("/{data_set}"));
    format!("{}{data_set}", replay.folder)
}

/// Who is held to be right, and what that demands.
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

/// What is counted over all folders.
#[derive(Default)]
struct Summary {
    folders: usize,
    by_specification: u64,
    by_stored: u64,
    by_nobody: u64,
    not_supported: u64,
    errors: u64,
    finding: bool,
    /// By witness, in the order in which they appear.
    witnesses: Vec<(String, BTreeMap<&'static str, u64>)>,
}

impl Summary {
    fn add(&mut self, replay: &Replay) {
        let trial = match &replay.came {
            Came::Judged(trial) => trial,
            Came::NotSupported(_) => return self.not_supported += 1,
            Came::Error(_) => return self.errors += 1,
        };
        match trial.authority {
            Authority::Specification => self.by_specification += 1,
            Authority::StoredOutput => self.by_stored += 1,
            Authority::Nobody => self.by_nobody += 1,
        }
        self.finding |= trial.finding;
        for Witness { name, kind, .. } in &trial.witnesses {
            let place = self.witnesses.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                self.witnesses.push((name.clone(), BTreeMap::new()));
                self.witnesses.len() - 1
            });
            *self.witnesses[place].1.entry(kind).or_default() += 1;
        }
    }

    fn ending(&self) -> Ending {
        match (self.errors, self.finding) {
            (1.., _) => Ending::BadInput,
            (0, true) => Ending::Finding,
            (0, false) => Ending::NothingWrong,
        }
    }

    fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let kinds = ["agrees", "tolerated", "unsupported", "wrong", "differs"];
        let mut table = table(["witness"].into_iter().chain(kinds));
        for (name, counts) in &self.witnesses {
            let counts = kinds.map(|kind| counts.get(kind).copied().unwrap_or(0).to_string());
            table.add_row([name.clone()].into_iter().chain(counts));
        }
        writeln!(to, "{}\n", table.trim_fmt())?;
        let judged = self.by_specification + self.by_stored + self.by_nobody;
        writeln!(to, "{judged} data sets were judged")?;
        for (count, how) in [
            (self.by_specification, "by the specification, bit for bit".to_owned()),
            (
                self.by_stored,
                format!("by the stored output (rtol {RELATIVE}, atol {ABSOLUTE}); no specification was consulted"),
            ),
            (self.by_nobody, "by each other; no specification was consulted, and no output is stored".to_owned()),
        ] {
            if count > 0 {
                writeln!(to, "    {count} {how}")?;
            }
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

/// A suite for each witness with a test for each data set, and one for what could not be judged.
#[derive(Default)]
struct Suites {
    suites: Vec<(String, TestSuite)>,
}

impl Suites {
    fn add(&mut self, replay: &Replay) {
        let name = place(replay);
        let mut add = |suite: &str, status: TestCaseStatus| {
            let place = self.suites.iter().position(|(known, _)| known == suite).unwrap_or_else(|| {
                self.suites.push((suite.to_owned(), TestSuite::new(suite)));
                self.suites.len() - 1
            });
            self.suites[place].1.add_test_case(TestCase::new(name.as_str(), status));
        };
        match &replay.came {
            Came::NotSupported(why) => add("test data", skipped(why)),
            Came::Error(why) => add("test data", failed(NonSuccessKind::Error, why, "")),
            Came::Judged(trial) => {
                for witness in &trial.witnesses {
                    let status = match witness.kind {
                        "wrong" | "differs" => {
                            let words = [in_words(trial).as_str(), &witness.answer, &witness.message].join("\n");
                            failed(NonSuccessKind::Failure, &witness.sentence, &words)
                        }
                        "unsupported" => skipped(&witness.sentence),
                        _ => TestCaseStatus::success(),
                    };
                    add(&witness.name, status);
                }
            }
        }
    }

    fn write(self, to: &mut impl Write) -> anyhow::Result<()> {
        let mut report = quick_junit::Report::new("crosscheck replay");
        report.add_test_suites(self.suites.into_iter().map(|(_, suite)| suite));
        let text = report.to_string().context("the report cannot be written as JUnit XML")?;
        Ok(write!(to, "{text}")?)
    }
}
