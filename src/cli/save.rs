//! `crosscheck save`: a case, such as a fuzzer's artifact, brought down to saved regressions.

use std::path::{Path, PathBuf};

use super::{Ending, RuntimeArguments, read_case};
use crate::finding::{Finding, Ledger, Probe, Sorted, Triage};

/// Minimize what a case shows, and save it as regressions: a case file and a pending snapshot each
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck save fuzz/artifacts/reshape/crash-0123abcd")]
pub(super) struct Arguments {
    /// The case, or a file that holds one, such as an artifact of a fuzz target
    case: String,
    #[command(flatten)]
    runtimes: RuntimeArguments,
    /// The folder under which `corpus/regressions` and `snapshots` stand
    #[arg(long, value_name = "DIR", default_value = ".")]
    output: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let case = read_case(&arguments.case)?;
    let rows = arguments.runtimes.select()?;
    let mut probe = Probe::new(arguments.runtimes.open(&rows)?);
    let ledger = Ledger::load()?;
    let (owners, known) = ledger.owned_triggers(&mut probe);
    let mut triage = Triage::new(known);
    let mismatches = probe.mismatches(&case);
    anyhow::ensure!(!mismatches.is_empty(), "{case} shows no mismatch on these runtimes");
    let mut new: Vec<Finding> = Vec::new();
    for (mismatch, features) in &mismatches {
        match triage.sort(&case, mismatch, features, &mut probe) {
            Sorted::New(finding) => new.push(*finding),
            Sorted::Known(place) => {
                if let Some(known) = owners.get(place) {
                    println!("Known as {}: {}", known.id, known.title);
                }
            }
        }
    }
    let mut runtimes = arguments.runtimes.open(&rows)?;
    for finding in &new {
        println!("{}\n    {}", finding.trigger.mismatch, finding.case);
        println!("Saved {}", finding.save(Path::new(&arguments.output), &mut runtimes)?.display());
    }
    if !new.is_empty() {
        println!("Accept the snapshots with `cargo insta review`, and enter the issue with `crosscheck known add`.");
    }
    Ok(Ending::NothingWrong)
}
