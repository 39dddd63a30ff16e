//! `crosscheck run`: one case, every runtime, one verdict.

use std::io::{self, BufRead, Write};

use anyhow::Context;
use serde_json::json;

use super::{Ending, RuntimeArguments};
use crate::campaign::execute_company;
use crate::case::{Case, Generated, MAX_LINE};
use crate::files::read_line;
use crate::finding::{Report, one_line};
use crate::model::Versions;
use crate::runtime::Runtime;
use crate::verdict::{Judgement, judge_one, reaction, sentences};

/// Run a case on every runtime and say who is wrong
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck run 'Reshape@14 allowzero=1 float[0,3] int64[2]{3,0}:initializer'")]
pub(super) struct Arguments {
    /// The case, such as 'Shape@28 start=-1 float[2,3]'; or `-` to read cases from standard input, one a line, and
    /// answer each with one line of JSON
    case: String,
    /// With `-`: put all cases into one model, as its nodes, and show what each runtime makes of it; cases that have one model
    /// are one node, which is fed each of them in turn
    #[arg(long)]
    together: bool,
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
    if arguments.together {
        anyhow::ensure!(arguments.case == "-", "--together reads cases from standard input: give `-` as the case");
        return run_together(io::stdin().lock(), arguments);
    }
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

/// Puts cases into one model, and shows what comes of each in it.
fn run_together(mut lines: impl BufRead, arguments: &Arguments) -> anyhow::Result<Ending> {
    let mut cases: Vec<Case> = Vec::new();
    while let Some(line) = read_line(&mut lines, MAX_LINE)? {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            cases.push(line.parse().with_context(|| format!("the case cannot be read: {line}"))?);
        }
    }
    let versions = cases.first().map(Versions::of).context("there is no case on standard input")?;
    let differs = cases.iter().find(|case| Versions::of(case) != versions);
    if let Some(case) = differs {
        anyhow::bail!("cases of one model have the same opset and need the same IR version; this one does not: {case}");
    }
    let generated: Vec<Generated> = cases.into_iter().map(Generated::given).collect();
    let mut out = io::stdout().lock();
    let mut ending = Ending::NothingWrong;
    for mut runtime in arguments.runtimes.open(&arguments.runtimes.select()?)? {
        writeln!(out, "{}", runtime.id())?;
        match execute_company(&generated, runtime.as_mut()) {
            Ok(executions) => {
                for (generated, execution) in generated.iter().zip(&executions) {
                    let wrong = match judge_one(&generated.expectation, execution) {
                        Judgement::Wrong(found) => sentences(&found),
                        Judgement::Agrees | Judgement::Tolerated(_) | Judgement::Unsupported(_) => "agrees".to_owned(),
                    };
                    ending = if wrong == "agrees" { ending } else { Ending::Finding };
                    writeln!(out, "   {wrong}: {}", generated.case)?;
                }
            }
            Err(execution) => {
                ending = Ending::Finding;
                writeln!(out, "   {}: {}", reaction(&execution.outcome), one_line(&execution.message))?;
            }
        }
    }
    Ok(ending)
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
