//! `crosscheck run`: one case, every runtime, one verdict.

use std::io::{self, BufRead, Write};

use anyhow::Context;
use serde_json::json;

use super::{Ending, RuntimeArguments};
use crate::case::{Case, MAX_LINE};
use crate::files::read_line;
use crate::finding::Report;
use crate::runtime::Runtime;

/// Run a case on every runtime and say who is wrong
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck run 'Reshape@14 allowzero=1 float[0,3] int64[2]{3,0}:initializer'")]
pub(super) struct Arguments {
    /// The case, such as 'Shape@28 start=-1 float[2,3]'; or `-` to read cases from standard input, one a line, and
    /// answer each with one line of JSON
    case: String,
    #[command(flatten)]
    runtimes: RuntimeArguments,
    /// How to show the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    if arguments.case == "-" {
        let mut runtimes = arguments.runtimes.open(&arguments.runtimes.select()?)?;
        return run_lines(io::stdin().lock(), &mut runtimes, io::stdout().lock());
    }
    // What can be said without a runtime is said first: a typing error need not wait for a download.
    let case: Case = match arguments.case.parse() {
        Ok(case) => case,
        Err(error) => {
            anyhow::bail!(
                "the case cannot be read: {error}\n  {}\n  {:>column$}",
                arguments.case,
                "^",
                column = error.column
            );
        }
    };
    let mut runtimes = arguments.runtimes.open(&arguments.runtimes.select()?)?;
    let report = Report::new(&case, &mut runtimes);
    let mut out = io::stdout().lock();
    match arguments.format {
        Format::Text => report.write(&mut out, true)?,
        Format::Json => writeln!(out, "{}", serde_json::to_string(&report)?)?,
    }
    Ok(if report.finding { Ending::Finding } else { Ending::NothingWrong })
}

/// Answers each line with one line. A line that is no case gets an answer too, and the others are not lost to it.
fn run_lines(
    mut lines: impl BufRead,
    runtimes: &mut [Box<dyn Runtime>],
    mut out: impl Write,
) -> anyhow::Result<Ending> {
    let mut ending = Ending::NothingWrong;
    let mut number = 0_u64;
    loop {
        number += 1;
        let line = read_line(&mut lines, MAX_LINE).with_context(|| format!("standard input, line {number}"))?;
        let Some(line) = line else { return Ok(ending) };
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.parse::<Case>() {
            Ok(case) => {
                let report = Report::new(&case, runtimes);
                if report.finding && ending == Ending::NothingWrong {
                    ending = Ending::Finding;
                }
                writeln!(out, "{}", serde_json::to_string(&report)?)?;
            }
            Err(error) => {
                ending = Ending::BadInput;
                let answer = json!({ "line": number, "column": error.column, "expected": error.expected });
                writeln!(out, "{}", json!({ "error": answer }))?;
            }
        }
        out.flush()?;
    }
}
