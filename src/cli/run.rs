//! `crosscheck run`: one case, every runtime, one verdict.

use std::io::{self, BufRead, Write};
use std::path::Path;

use anyhow::Context;
use serde_json::json;

use super::{Ending, FailureArguments, Format, RuntimeArguments, read_case, to_save};
use crate::case::{Case, MAX_LINE};
use crate::files::read_line;
use crate::finding::{Ledger, Report, Worst};
use crate::runtime::Runtime;

/// Run a case on every runtime and say who is wrong
///
/// A mismatch that a known issue explains, by the features of the case, is shown with the name of the issue and is no failure.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck run 'Reshape@14 allowzero=1 float[0,3] int64[2]{3,0}:initializer'")]
pub(super) struct Arguments {
    /// The case, such as 'Shape@28 start=-1 float[2,3]', or a file that holds one; or `-` to read cases from standard input, one
    /// per line, and to answer each with one line of JSON
    case: String,
    #[command(flatten)]
    runtimes: RuntimeArguments,
    #[command(flatten)]
    failure: FailureArguments,
    /// How to show the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let rows = arguments.runtimes.select()?;
    let ledger = Ledger::load_for(&rows)?;
    if arguments.case == "-" {
        let mut runtimes = arguments.runtimes.open(&rows)?;
        let (worst, has_bad_lines) = run_lines(io::stdin().lock(), &mut runtimes, &ledger, io::stdout().lock())?;
        return Ok(if has_bad_lines { Ending::BadInput } else { arguments.failure.ending(worst) });
    }
    // The case is read before a runtime is opened, so that a typing error need not wait for a download.
    let case: Case = match arguments.case.parse() {
        Ok(case) => case,
        Err(_) if Path::new(&arguments.case).exists() => read_case(&arguments.case)?,
        Err(error) => {
            anyhow::bail!(
                "the case cannot be read: {error}\n  {}\n  {:>column$}",
                arguments.case,
                "^",
                column = error.column
            );
        }
    };
    let mut runtimes = arguments.runtimes.open(&rows)?;
    let report = Report::new(&case, &mut runtimes, &ledger);
    let mut out = io::stdout().lock();
    match arguments.format {
        Format::Text => {
            report.write(&mut out, true)?;
            if report.worst.of_new.is_some() {
                writeln!(out, "\n{}", to_save(&case))?;
            }
        }
        Format::Json => writeln!(out, "{}", serde_json::to_string(&report)?)?,
    }
    Ok(arguments.failure.ending(report.worst))
}

/// Answers each line with one line, which is an error for a line that is no case. Returns the worst findings, and whether there
/// was such a line.
fn run_lines(
    mut lines: impl BufRead,
    runtimes: &mut [Box<dyn Runtime>],
    ledger: &Ledger,
    mut out: impl Write,
) -> anyhow::Result<(Worst, bool)> {
    let (mut worst, mut has_bad_lines) = (Worst::default(), false);
    let mut number = 0_u64;
    loop {
        number += 1;
        let line = match read_line(&mut lines, MAX_LINE) {
            Ok(Some(line)) => line,
            Ok(None) => return Ok((worst, has_bad_lines)),
            // The line was read to its end, so the next one is whole.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                has_bad_lines = true;
                eprintln!("error: standard input, line {number}: {error}");
                writeln!(out, "{}", json!({ "error": { "line": number, "column": null, "expected": "UTF-8" } }))?;
                out.flush()?;
                continue;
            }
            Err(error) => return Err(error).with_context(|| format!("standard input, line {number}")),
        };
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.parse::<Case>() {
            Ok(case) => {
                let report = Report::new(&case, runtimes, ledger);
                worst.join(report.worst);
                writeln!(out, "{}", serde_json::to_string(&report)?)?;
            }
            Err(error) => {
                has_bad_lines = true;
                let answer = json!({ "line": number, "column": error.column, "expected": error.expected });
                writeln!(out, "{}", json!({ "error": answer }))?;
            }
        }
        out.flush()?;
    }
}
