//! `crosscheck save`: minimizes a case, such as a fuzzer's artifact, and saves it as regressions.

use std::path::PathBuf;

use super::{Ending, RuntimeArguments, read_case};
use crate::case::{Case, Features};
use crate::finding::{Finding, Known, Ledger, Probe, Sorted, Sorter};
use crate::verdict::Mismatch;

/// Minimize the mismatches of cases, and save each as a regression: a case file and a pending snapshot
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck save fuzz/artifacts/reshape/*")]
pub(super) struct Arguments {
    /// The cases, or files that hold one each, such as the artifacts of a fuzz target
    #[arg(required = true, value_name = "CASE")]
    cases: Vec<String>,
    #[command(flatten)]
    runtimes: RuntimeArguments,
    /// The folder that holds `corpus/regressions` and `snapshots`
    #[arg(long, value_name = "DIR", default_value = ".")]
    output: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let cases = arguments.cases.iter().map(|text| read_case(text)).collect::<anyhow::Result<Vec<Case>>>()?;
    let rows = arguments.runtimes.select()?;
    let mut probe = Probe::new(arguments.runtimes.open(&rows)?);
    let ledger = Ledger::load()?;
    let (owners, known) = ledger.owned_triggers(&mut probe);
    let mut sorter = Sorter::new(known);
    let mut ending = Ending::NothingWrong;
    let mut new: Vec<Finding> = Vec::new();
    for case in &cases {
        let mismatches = probe.mismatches(case);
        if mismatches.is_empty() {
            // The other cases are still saved.
            eprintln!("error: {case} shows no mismatch on these runtimes");
            ending = Ending::BadInput;
        }
        new.extend(new_among(&mismatches, &owners, &mut sorter, &mut probe));
    }
    let mut runtimes = arguments.runtimes.open(&rows)?;
    for finding in &new {
        println!("{}\n    {}", finding.trigger.mismatch, finding.case);
        println!("Saved {}", finding.save(&arguments.output, &mut runtimes)?.display());
    }
    if !new.is_empty() {
        println!("Accept the snapshots with `cargo insta review`, and enter the issue with `crosscheck known add`.");
    }
    Ok(ending)
}

/// The new findings among mismatches. The known issues are printed; `owners` are those of the sorter's first triggers.
pub(super) fn new_among(
    mismatches: &[(Mismatch, Case)],
    owners: &[Known],
    sorter: &mut Sorter,
    probe: &mut Probe,
) -> Vec<Finding> {
    let mut new = Vec::new();
    for (mismatch, shown) in mismatches {
        match sorter.sort(shown, mismatch, &Features::of(shown), probe) {
            Sorted::New(finding) => new.push(*finding),
            Sorted::Known(place) => {
                if let Some(known) = owners.get(place) {
                    println!("Known as {}: {}", known.cause.id, known.cause.title);
                }
            }
        }
    }
    new
}
