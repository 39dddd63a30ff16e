//! `crosscheck run`: one case, every runtime, one verdict.

use std::io::{self, BufRead, Write};

use anyhow::Context;
use serde_json::json;

use super::{Ending, FailureArguments, RuntimeArguments, to_save};
use crate::campaign::{execute_in_one, wrong_together};
use crate::case::{Case, Generated, MAX_LINE};
use crate::files::read_line;
use crate::finding::{Ledger, Report, Worst, one_line};
use crate::model::Versions;
use crate::runtime::Runtime;
use crate::verdict::{Judgement, Mismatch, judge_one, reaction, sentences};

/// Run a case on every runtime and say who is wrong
///
/// What a known issue explains, by its features, is shown with the name of the issue and is no failure.
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
    #[command(flatten)]
    failure: FailureArguments,
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
    let ledger = Ledger::load()?;
    if arguments.case == "-" {
        let mut runtimes = arguments.runtimes.open(&arguments.runtimes.select()?)?;
        let (worst, has_bad_lines) = run_lines(io::stdin().lock(), &mut runtimes, &ledger, io::stdout().lock())?;
        return Ok(if has_bad_lines { Ending::BadInput } else { arguments.failure.ending(worst) });
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
    let (mut worst, mut is_lost) = (Worst::default(), false);
    let ledger = Ledger::load()?;
    for runtime in &mut arguments.runtimes.open(&arguments.runtimes.select()?)? {
        let id = runtime.id().clone();
        writeln!(out, "{id}")?;
        let mut own = Worst::default();
        let mut is_answered = true;
        match execute_in_one(&generated, runtime.as_mut()) {
            Ok(executions) => {
                for (Generated { case, expectation, .. }, execution) in generated.iter().zip(&executions) {
                    let words = match judge_one(expectation, execution) {
                        Judgement::Agrees => "agrees".to_owned(),
                        Judgement::Tolerated(tolerance) => format!("tolerated ({})", tolerance.sentence()),
                        Judgement::Unsupported(_) => format!("unsupported ({})", reaction(&execution.outcome)),
                        Judgement::Wrong(found) => {
                            let mismatches = Mismatch::all(case.subject(), expectation.rule(), &id, execution, &found);
                            let alone = std::slice::from_mut(runtime);
                            let names = ledger.names(case, &mismatches, &id, alone, &mut own);
                            let known = names.names.iter().map(|name| format!(" (known as {name})"));
                            sentences(&found) + &known.collect::<String>()
                        }
                    };
                    writeln!(out, "   {words}: {case}")?;
                }
            }
            Err(execution) => {
                is_answered = false;
                writeln!(out, "   {}: {}", reaction(&execution.outcome), one_line(&execution.message))?;
            }
        }
        if !is_answered || own.of_new.is_some() {
            let cases: Vec<Case> = generated.iter().map(|generated| generated.case.clone()).collect();
            let what = wrong_together(&cases, runtime.as_mut()).unwrap_or_default();
            match ledger.explaining_batch(&id, &what, &cases) {
                Some(known) if !arguments.failure.ignore_known => {
                    writeln!(out, "   known as {}", known.id)?;
                    own = Worst::default();
                }
                _ => is_lost |= !is_answered,
            }
        }
        worst.join(own);
    }
    // What all cases come to together is no known issue of one of them.
    Ok(if is_lost { Ending::Finding } else { arguments.failure.ending(worst) })
}

/// Answers each line with one line. A line that is no case gets an answer too, and the others are not lost to it; whether
/// there was one is told.
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
