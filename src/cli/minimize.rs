//! `crosscheck minimize`: the smallest cases that show the mismatches of a case.

use super::conclusion::write_findings;
use super::{Ending, RuntimeArguments, read_case};
use crate::case::Features;
use crate::finding::{Finding, Ledger, Probe, Sorted, Sorter, pass_of};

/// Print the smallest cases that show the mismatches of a case, where else they show, and the optimizer pass that causes them
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck minimize 'Flatten@13 axis=7 float[2,3,5]' --runtimes tract")]
pub(super) struct Arguments {
    /// The case, or a file that holds one
    case: String,
    #[command(flatten)]
    runtimes: RuntimeArguments,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let case = read_case(&arguments.case)?;
    let rows = arguments.runtimes.select()?;
    let ledger = Ledger::load_for(&rows)?;
    let mut probe = Probe::new(arguments.runtimes.open(&rows)?);
    let mismatches = probe.mismatches(&case);
    anyhow::ensure!(!mismatches.is_empty(), "{case} shows no mismatch on these runtimes");
    let mut sorter = Sorter::default();
    let mut findings: Vec<Finding> = Vec::new();
    for (mismatch, shown) in &mismatches {
        match sorter.sort(shown, mismatch, &Features::of(shown), &mut probe) {
            Sorted::New(finding) => findings.push(Finding { count: 1, ..*finding }),
            Sorted::Known(place) => findings[place].count += 1,
        }
    }
    for finding in &mut findings {
        finding.pass = pass_of(finding, &rows, &|rows| arguments.runtimes.open(rows))?;
    }
    let (owners, known) = ledger.owned_triggers(&mut probe);
    let places: Vec<Option<usize>> = findings.iter().map(|finding| finding.place_among(&known, &mut probe)).collect();
    let known_as = |finding: &Finding| {
        let place = findings.iter().position(|other| std::ptr::eq(other, finding))?;
        Some(owners[places[place]?].cause.id.as_str())
    };
    let shown: Vec<&Finding> = findings.iter().collect();
    write_findings(&shown, &ledger, &known_as, &mut anstream::stdout().lock())?;
    Ok(if places.iter().all(Option::is_some) { Ending::NothingWrong } else { Ending::Finding })
}
