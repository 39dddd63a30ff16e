//! `crosscheck known`: the ledger of known issues.

use std::io::{self, Write};
use std::path::Path;

use super::{Ending, RuntimeArguments, align_right, read_case, reproduce, table};
use crate::case::Features;
use crate::finding::{Known, Ledger, Masking, Probe, Sorted, State, Triage, masking};
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
    /// Measure what each known issue hides: its mismatch is planted in cases on which the runtime does nothing wrong, and the
    /// share is shown in which a known issue explains it
    #[command(after_help = "Example:\n  crosscheck known masking --cases 20000")]
    Masking {
        /// Cases to draw for each operator
        #[arg(long, value_name = "N", default_value_t = 20_000)]
        cases: u64,
        /// The seed that they are drawn from
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// The highest share that is no failure, in percent
        #[arg(long, value_name = "PERCENT", default_value_t = 2.0)]
        most: f64,
    },
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let ledger = Ledger::load()?;
    let rows = arguments.runtimes.select()?;
    let mut probe = Probe::new(arguments.runtimes.open(&rows)?);
    match &arguments.action {
        None => {
            let mut to = io::stdout().lock();
            list(&ledger, &mut probe, &mut to)
        }
        Some(Action::Add { case }) => {
            // What the replay runs, whichever release the issue is of.
            let mut saving = arguments.runtimes.place.open(&select(None)?)?;
            add(&ledger, case, &mut probe, &mut saving)
        }
        &Some(Action::Masking { cases, seed, most }) => {
            let measured = masking(&ledger, &mut probe, seed, cases);
            show_masking(&measured, most, &mut io::stdout().lock())
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
        let shows = if shows { "shows" } else { "no longer shows: fixed upstream? close it" };
        writeln!(to, "{} ({}; {shows})\n   {}\n   {}", known.id, known.state, known.title, known.wrong)?;
        let versions = if known.first_version == known.last_version {
            known.first_version.clone()
        } else {
            format!("{} to {}", known.first_version, known.last_version)
        };
        writeln!(to, "   {versions}; {}\n   {}\n", known.link, reproduce(&known.case))?;
    }
    let by_design = concerned.iter().filter(|known| known.state == State::ByDesign).count();
    let count = concerned.len();
    writeln!(to, "{count} known issues of these runtimes, {by_design} of them by design; {fixed} no longer show.")?;
    Ok(if fixed == 0 { Ending::NothingWrong } else { Ending::Finding })
}

fn show_masking(measured: &[Masking], most: f64, to: &mut impl Write) -> anyhow::Result<Ending> {
    let mut table = table(["known issue", "planted", "hidden", "percent"]);
    for masking in measured {
        let numbers = [masking.planted.to_string(), masking.hidden.to_string(), format!("{:.2}", masking.percent())];
        table.add_row([masking.known.id.clone()].into_iter().chain(numbers));
    }
    align_right(&mut table, 1);
    writeln!(to, "{}\n", table.trim_fmt())?;
    let over: Vec<&Masking> = measured.iter().filter(|masking| masking.percent() > most).collect();
    for masking in &over {
        let example = masking.example.as_deref().map(reproduce).unwrap_or_default();
        writeln!(to, "{} hides a fault like it in\n   {example}\n", masking.known.id)?;
    }
    let over = over.len();
    writeln!(
        to,
        "{} known issues of these runtimes, {over} of them hide more than {most} % of what is beside them.",
        measured.len()
    )?;
    Ok(if over == 0 { Ending::NothingWrong } else { Ending::Finding })
}

fn add(ledger: &Ledger, text: &str, probe: &mut Probe, saving: &mut [Box<dyn Runtime>]) -> anyhow::Result<Ending> {
    let case = read_case(text)?;
    let mismatches = probe.mismatches(&case);
    anyhow::ensure!(!mismatches.is_empty(), "{case} shows no mismatch on these runtimes");
    let mut triage = Triage::new(ledger.owned_triggers(probe).1);
    let mut new = 0;
    for (mismatch, shown) in &mismatches {
        let Sorted::New(finding) = triage.sort(shown, mismatch, &Features::of(shown), probe) else { continue };
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
