//! The command line: one file for each subcommand, and the code that they share.

mod bisect;
mod campaign;
mod cases;
mod compare;
mod completions;
mod conclusion;
mod coverage;
mod exhaust;
mod export;
mod known;
mod known_failures;
mod laws;
mod man;
mod matrix;
mod merge;
mod minimize;
mod model;
mod pass;
mod progress;
mod replay;
mod report;
mod run;
mod runtimes;
mod save;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context;
use bytesize::ByteSize;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use comfy_table::{CellAlignment, Table};
use strum::{EnumMessage, VariantArray};

use crate::case::Case;
use crate::files::{quoted, read_text, reproduce};
use crate::finding::Worst;
use crate::runtime::{self, Limits, OpenError, Row, Runtime, Stop, worker};
use crate::verdict::Severity;

/// Differential testing of ONNX runtimes: do they agree, and who is wrong?
#[derive(Debug, Parser)]
#[command(name = NAME, version, about, after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Arguments),
    Replay(replay::Arguments),
    Model(model::Arguments),
    Campaign(campaign::Arguments),
    Cases(cases::Arguments),
    Exhaust(exhaust::Arguments),
    Laws(laws::Arguments),
    Merge(merge::Arguments),
    Coverage(coverage::Arguments),
    Matrix(matrix::Arguments),
    Known(known::Arguments),
    Minimize(minimize::Arguments),
    Save(save::Arguments),
    Report(report::Arguments),
    Export(export::Arguments),
    Runtimes(runtimes::Arguments),
    Bisect(bisect::Arguments),
    Pass(pass::Arguments),
    Compare(compare::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
    /// Serve as the worker process of one runtime
    #[command(name = worker::COMMAND, hide = true)]
    Worker {
        row: String,
        folder: PathBuf,
    },
}

const NAME: &str = "crosscheck";

/// The default folder for the results of a campaign, which other commands read.
const OUTPUT: &str = "crosscheck-campaign";

const AFTER_HELP: &str = "Examples:
  crosscheck run 'Shape@28 start=-1 float[2,3]'
  crosscheck campaign --for 60s
  crosscheck help campaign

Exit status: 0 if nothing new is wrong, 1 on a finding that no known issue explains, 2 on bad input or a runtime that cannot take
part, 3 if a campaign was stopped before its end and nothing new was wrong until then.";

/// The runtimes that a subcommand uses, and their limits.
#[derive(Debug, clap::Args)]
struct RuntimeArguments {
    /// Runtimes to use, such as `onnxruntime,tract/optimized` [default: all]
    #[arg(long, value_name = "LIST", global = true)]
    runtimes: Option<String>,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Whether runtimes have processes of their own, and their limits.
#[derive(Clone, Copy, Debug, clap::Args)]
struct PlaceArguments {
    /// Run the runtimes in this process, for a debugger: a crash then ends the program, and nothing stops a hang
    #[arg(long, global = true)]
    in_process: bool,
    /// Time limit of a runtime for one case; it is longer for a large case or on a busy machine
    #[arg(long, global = true, value_name = "TIME", default_value = "2s", value_parser = time_limit)]
    time_limit: Duration,
    /// Memory limit of the process of a runtime, not counting the memory for its inputs
    #[arg(long, global = true, value_name = "BYTES", default_value = "4GiB", value_parser = memory_limit)]
    memory_limit: ByteSize,
}

impl RuntimeArguments {
    fn select(&self) -> Result<Vec<Row>, OpenError> {
        runtime::select(self.runtimes.as_deref())
    }

    fn open(&self, rows: &[Row]) -> Result<Vec<Box<dyn Runtime>>, OpenError> {
        self.place.open(rows)
    }

    /// The limits, to be shared by runtimes that are opened several times: they record which jobs end a process.
    fn limits(&self) -> Limits {
        self.place.limits()
    }

    /// Opens runtimes that give up their jobs once `stop` is due.
    fn open_until(&self, rows: &[Row], limits: &Limits, stop: &Stop) -> Result<Vec<Box<dyn Runtime>>, OpenError> {
        self.place.open_with(rows, &limits.until(stop))
    }
}

impl PlaceArguments {
    fn open(&self, rows: &[Row]) -> Result<Vec<Box<dyn Runtime>>, OpenError> {
        self.open_with(rows, &self.limits())
    }

    fn limits(&self) -> Limits {
        Limits::new(self.time_limit, self.memory_limit.as_u64())
    }

    fn open_with(&self, rows: &[Row], limits: &Limits) -> Result<Vec<Box<dyn Runtime>>, OpenError> {
        if self.in_process { runtime::open(rows) } else { runtime::open_apart(rows, limits) }
    }
}

/// The shortest time limit. Less is not enough to exchange messages with a process.
const SHORTEST: Duration = Duration::from_millis(10);

fn time_limit(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if time < SHORTEST => Err(format!("no runtime answers in so short a time: give {SHORTEST:?} or more")),
        parsed => parsed.map_err(|error| error.to_string()),
    }
}

/// The smallest memory limit: no process takes less.
const SMALLEST: ByteSize = ByteSize::mib(1);

fn memory_limit(text: &str) -> Result<ByteSize, String> {
    match text.parse::<ByteSize>()? {
        size if size < SMALLEST => Err(format!("no process takes so little: give {SMALLEST} or more, such as 4GiB")),
        size => Ok(size),
    }
}

/// Parses the name of a variant. The help lists all variants, each with its doc comment.
fn named<T>() -> impl TypedValueParser<Value = T>
where
    T: Copy + EnumMessage + FromStr<Err = strum::ParseError> + Into<&'static str> + VariantArray + Send + Sync,
{
    let value = |variant: &T| {
        let meaning = variant.get_documentation().map(|text| text.trim_end_matches('.'));
        PossibleValue::new((*variant).into()).help(meaning)
    };
    PossibleValuesParser::new(T::VARIANTS.iter().map(value)).try_map(|name| name.parse::<T>())
}

/// Which findings make the command fail.
#[derive(Clone, Copy, Debug, clap::Args)]
struct FailureArguments {
    /// Count mismatches that known issues explain as failures too
    #[arg(long)]
    ignore_known: bool,
    /// The least severe finding that is a failure [default: any new one]
    #[arg(long, value_name = "SEVERITY", value_parser = named::<Severity>())]
    fail_on: Option<Severity>,
}

impl FailureArguments {
    fn fails(self, worst: Worst) -> bool {
        let severity = if self.ignore_known { worst.of_all } else { worst.of_new };
        severity.is_some_and(|severity| self.fail_on.is_none_or(|least| severity <= least))
    }

    fn ending(self, worst: Worst) -> Ending {
        if self.fails(worst) { Ending::Finding } else { Ending::NothingWrong }
    }
}

/// The result of a subcommand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    NothingWrong,
    Finding,
    BadInput,
    /// The subcommand was stopped before its end; until then it found nothing wrong.
    Stopped,
}

impl Ending {
    /// The exit status.
    fn status(self) -> u8 {
        match self {
            Ending::NothingWrong => 0,
            Ending::Finding => 1,
            Ending::BadInput => 2,
            Ending::Stopped => 3,
        }
    }
}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let arguments = Arguments::try_parse().unwrap_or_else(|error| {
        let _ = error.print();
        if error.kind() == ErrorKind::UnknownArgument
            && let Some(case) = unquoted_case(std::env::args().skip(1))
        {
            eprintln!("\nA case is one argument, in quotes: '{case}'");
        }
        std::process::exit(error.exit_code())
    });
    let result = match arguments.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Model(arguments) => model::run(&arguments),
        Command::Campaign(arguments) => campaign::run(&arguments),
        Command::Cases(arguments) => cases::run(&arguments),
        Command::Exhaust(arguments) => exhaust::run(&arguments),
        Command::Laws(arguments) => laws::run(&arguments),
        Command::Merge(arguments) => merge::run(&arguments),
        Command::Coverage(arguments) => coverage::run(&arguments),
        Command::Matrix(arguments) => matrix::run(&arguments),
        Command::Known(arguments) => known::run(&arguments),
        Command::Minimize(arguments) => minimize::run(&arguments),
        Command::Save(arguments) => save::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Runtimes(arguments) => runtimes::run(&arguments),
        Command::Bisect(arguments) => bisect::run(&arguments),
        Command::Pass(arguments) => pass::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
        Command::Worker { row, folder } => {
            worker::serve(&row, &folder).map(|()| Ending::NothingWrong).map_err(Into::into)
        }
    };
    match result {
        Ok(ending) => ExitCode::from(ending.status()),
        // The reader of the output, such as `head`, closed the pipe. That is no error.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    kind == Some(std::io::ErrorKind::BrokenPipe)
}

/// The number of threads: `said`, or by default one for each core.
fn threads(said: Option<usize>) -> usize {
    said.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// The exit status of a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// Stops work in order on Ctrl-C or a termination signal. A second signal ends the process at once.
fn stop_on_signals() -> anyhow::Result<Stop> {
    let stop = Stop::default();
    let asked = stop.clone();
    let on_signal = move || {
        if asked.was_asked() {
            std::process::exit(INTERRUPTED);
        }
        asked.ask();
    };
    ctrlc::set_handler(on_signal).context("Ctrl-C cannot be caught")?;
    Ok(stop)
}

/// How a result is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// A table without lines.
fn table(header: impl Into<comfy_table::Row>) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header(header);
    table
}

/// Aligns all columns but the first `but` to the right, for numbers.
fn align_right(table: &mut Table, but: usize) {
    for column in table.column_iter_mut().skip(but) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// The hint how to save the new mismatches of a case.
fn to_save(case: &Case) -> String {
    let save = format!("crosscheck save {}", quoted(&case.to_string()));
    format!("The smallest case that shows what is new, and whether that is known: {save}")
}

/// The case that the arguments form when joined with spaces, for a user who left out the quotes.
fn unquoted_case(arguments: impl Iterator<Item = String>) -> Option<String> {
    let parts = arguments.skip_while(|part| !part.contains('@')).take_while(|part| !part.starts_with("--"));
    let parts: Vec<String> = parts.collect();
    let joined = parts.join(" ");
    (parts.len() > 1 && joined.parse::<Case>().is_ok()).then_some(joined)
}

/// Reads a case from its text, or from a file that holds one.
fn read_case(text: &str) -> anyhow::Result<Case> {
    let error = match text.parse::<Case>() {
        Ok(case) => return Ok(case),
        Err(error) => error,
    };
    let path = Path::new(text);
    let contents = read_text(path).with_context(|| {
        if path.exists() {
            format!("{text} holds no case; `crosscheck replay` takes folders with a model and its test data")
        } else {
            format!("`{text}` is neither a case ({error}) nor a file")
        }
    })?;
    let line = contents.lines().find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or("");
    line.parse().with_context(|| format!("{text} holds no case"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::OPERATORS;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_severity_is_a_possible_value_wherever_one_is_asked_for() {
        let command = Arguments::command();
        let arguments = command.get_subcommands().flat_map(clap::Command::get_arguments);
        let asked: Vec<_> = arguments.filter(|argument| argument.get_id() == "fail_on").collect();
        assert_eq!(asked.len(), 5);
        for argument in asked {
            let names: Vec<String> =
                argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
            assert_eq!(names, Severity::VARIANTS.iter().map(ToString::to_string).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_readme_lists_every_subcommand_and_no_other() {
        let readme = include_str!("../../README.md");
        let rows = readme.lines().filter_map(|line| line.strip_prefix("| `crosscheck "));
        let listed: Vec<&str> = rows.filter_map(|row| row.split([' ', '`']).next()).collect();
        let command = Arguments::command();
        let there: Vec<&str> =
            command.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name).collect();
        assert_eq!(listed, there);
    }

    #[test]
    fn the_help_of_replay_names_every_operator() {
        let command = Arguments::command();
        let help = command.find_subcommand("replay").and_then(clap::Command::get_long_about).unwrap().to_string();
        let missing: Vec<_> = OPERATORS.iter().filter(|operator| !help.contains(operator.name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    /// A command and its visible subcommands, at any depth.
    fn with_subcommands(command: &clap::Command) -> Vec<clap::Command> {
        let below = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
        [command.clone()].into_iter().chain(below.flat_map(with_subcommands)).collect()
    }

    /// The calls of this program on a line of shell, each as a list of words.
    fn calls(line: &str) -> Vec<Vec<String>> {
        let words = shlex::split(line).unwrap_or_else(|| panic!("no shell reads {line}"));
        let is_end = |word: &String| ["&&", "|", ">", "<", ";"].contains(&word.as_str());
        words
            .split(is_end)
            .filter(|call| call.first().is_some_and(|word| word == NAME))
            .map(<[String]>::to_vec)
            .collect()
    }

    fn assert_is_understood(line: &str, place: &str) {
        for call in calls(line) {
            if let Err(error) = Arguments::try_parse_from(&call) {
                assert!(!error.use_stderr(), "{place}: {line}\n{error}");
            }
        }
    }

    #[test]
    fn the_help_of_every_command_says_what_it_does_and_has_an_example_that_is_understood() {
        let mut command = Arguments::command();
        command.build();
        for command in with_subcommands(&command) {
            let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
            assert!(command.get_about().is_some(), "{name} does not say what it does");
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let mut lines = after.lines().skip_while(|line| !line.starts_with("Example")).skip(1);
            let example = lines.next().unwrap_or_default().trim();
            assert!(example.starts_with(&name), "the help of {name} has no example of it: {after}");
            after.lines().for_each(|line| assert_is_understood(line.trim(), &name));
            for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
                assert!(argument.get_help().is_some(), "{name} does not say what {} is", argument.get_id());
            }
        }
    }

    /// A line of shell or of a workflow with 1 in place of its variables.
    fn without_variables(line: &str) -> String {
        let mut parts = line.split('$');
        let first = parts.next().unwrap_or("").to_owned();
        parts.fold(first, |text, part| {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let rest = match part.strip_prefix("{{").map(|part| part.split_once("}}")) {
                Some(expression) => expression.map_or("", |(_, rest)| rest),
                None => part.trim_start_matches('{').trim_start_matches(is_name).trim_start_matches('}'),
            };
            text + "1" + rest
        })
    }

    /// The calls of this program in a document, a workflow or a script.
    fn shown(text: &str) -> Vec<String> {
        const BEFORE: [&str; 6] =
            ["- run: ", "run: ", "srun ", "exec ", "cargo run --release --locked -- ", "cargo run --release -- "];
        let mut lines: Vec<String> = Vec::new();
        for line in text.lines() {
            let line = line.trim().trim_end_matches('\\').trim_end();
            let call = BEFORE.iter().fold(line, |line, before| line.strip_prefix(before).unwrap_or(line));
            let is_call = call.len() < line.len() && line.contains("cargo run") || call.starts_with("crosscheck ");
            match lines.last_mut() {
                Some(last) if line.starts_with("--") => *last = format!("{last} {line}"),
                _ if is_call => lines.push(format!("{NAME} {}", call.trim_start_matches("crosscheck "))),
                _ => lines.push(String::new()),
            }
        }
        lines.retain(|line| !line.is_empty() && line.starts_with(NAME));
        lines
    }

    #[test]
    fn every_command_that_documents_workflows_and_scripts_show_is_understood() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folders =
            ["docs", ".github/workflows", "deploy"].map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
        let files = folders.into_iter().flatten().flatten().map(|entry| entry.path()).filter(|path| path.is_file());
        let mut seen = 0;
        for file in files.chain(["README.md", "action.yml"].map(|file| root.join(file))) {
            let place = file.display().to_string();
            for line in shown(&read_text(&file).unwrap()) {
                seen += 1;
                assert_is_understood(&without_variables(&line), &place);
            }
        }
        assert!(seen > 35, "only {seen} commands are shown");
    }
}
