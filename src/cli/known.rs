//! `crosscheck known`: the ledger of known issues.

use std::io::{self, Write};
use std::path::Path;

use super::{Ending, RuntimeArguments, read_case, reproduce};
use crate::finding::{Known, Ledger, Probe, Sorted, Triage};
use crate::runtime::{Runtime, select};

/// List the known issues with their state, or add one
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  crosscheck known\n  crosscheck known add 'Flatten@13 axis=3 float[2]'\n\n`crosscheck report` writes \
                  an issue for upstream."
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    runtimes: RuntimeArguments,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Minimize what a case shows, and write an entry for each finding that is not known yet
    #[command(after_help = "Example:\n  crosscheck known add 'Flatten@13 axis=3 float[2]'")]
    Add {
        /// The case, or a file that holds one
        case: String,
    },
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let ledger = Ledger::load()?;
    let rows = arguments.runtimes.select()?;
    let mut probe = Probe::new(arguments.runtimes.open(&rows)?);
    match &arguments.action {
        None => list(&ledger, &mut probe, &mut io::stdout().lock()),
        Some(Action::Add { case }) => {
            // What the replay runs, whichever release the issue is of.
            let mut saving = arguments.runtimes.place.open(&select(None)?)?;
            add(&ledger, case, &mut probe, &mut saving)
        }
    }
}

fn list(ledger: &Ledger, probe: &mut Probe, to: &mut impl Write) -> anyhow::Result<Ending> {
    let mut fixed = 0;
    let ids = probe.ids();
    let concerned: Vec<&Known> = ledger.concerning(&ids).collect();
    for known in &concerned {
        let shows = !known.triggers(probe).is_empty();
        fixed += usize::from(!shows);
        let state = if shows { "shows" } else { "no longer shows: fixed upstream? close it" };
        writeln!(to, "{} ({state})\n   {}\n   {}", known.id, known.title, known.wrong)?;
        let versions = if known.first_version == known.last_version {
            known.first_version.clone()
        } else {
            format!("{} to {}", known.first_version, known.last_version)
        };
        writeln!(to, "   {versions}; {}\n   {}\n", known.link, reproduce(&known.case))?;
    }
    writeln!(to, "{} known issues of these runtimes, {fixed} of them no longer show.", concerned.len())?;
    Ok(if fixed == 0 { Ending::NothingWrong } else { Ending::Finding })
}

fn add(ledger: &Ledger, text: &str, probe: &mut Probe, saving: &mut [Box<dyn Runtime>]) -> anyhow::Result<Ending> {
    let case = read_case(text)?;
    let mismatches = probe.mismatches(&case);
    anyhow::ensure!(!mismatches.is_empty(), "{case} shows no mismatch on these runtimes");
    let mut triage = Triage::new(ledger.owned_triggers(probe).1);
    let mut new = 0;
    for (mismatch, features) in &mismatches {
        let Sorted::New(finding) = triage.sort(&case, mismatch, features, probe) else { continue };
        new += 1;
        let mismatch = &finding.trigger.mismatch;
        let id = probe.ids().into_iter().find(|id| id.release() == mismatch.runtime);
        let version = id.map_or_else(String::new, |id| id.version);
        let known = Known::of(finding.name(), &finding.trigger, &finding.case, &version);
        let path = Ledger::add(mismatch.runtime_name(), known)?;
        println!("{} is in {}: say there what is wrong and why", finding.name(), path.display());
        println!("Saved {}", finding.save(Path::new("."), saving)?.display());
    }
    println!("{} mismatches, {new} new findings.", mismatches.len());
    Ok(Ending::NothingWrong)
}
