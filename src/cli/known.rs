//! `crosscheck known`: the ledger of known issues.

use std::io::{self, Write};
use std::path::Path;

use super::{Ending, RuntimeArguments, align_right, read_case, reproduce, table};
use crate::case::Features;
use crate::finding::{Cause, Ledger, Masking, Probe, Sorted, State, Triage, Variant, masking};
use crate::runtime::{Runtime, by_number, select};

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
    /// Minimize what a case shows, and write each finding that is not known yet to the ledger: as a new cause, or as a variant of
    /// one that is there
    #[command(
        after_help = "Example:\n  crosscheck known add 'Flatten@13 axis=3 float[2]' --cause tract-flatten-axis-range-panic"
    )]
    Add {
        /// The case, or a file that holds one
        case: String,
        /// The cause that the findings are variants of
        #[arg(long, value_name = "ID")]
        cause: Option<String>,
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
        Some(Action::Add { case, cause }) => {
            // What the replay runs, whichever release the issue is of.
            let mut saving = arguments.runtimes.place.open(&select(None)?)?;
            add(&ledger, case, cause.as_deref(), &mut probe, &mut saving)
        }
        &Some(Action::Masking { cases, seed, most }) => {
            let measured = masking(&ledger, &mut probe, seed, cases);
            show_masking(&measured, most, &mut io::stdout().lock())
        }
    }
}

fn list(ledger: &Ledger, probe: &mut Probe, to: &mut impl Write) -> anyhow::Result<Ending> {
    let ids = probe.ids();
    let concerned: Vec<&Cause> = ledger.concerning(&ids).collect();
    let (mut variants, mut fixed) = (0, 0);
    for cause in &concerned {
        let own = cause.known().filter(|known| ids.iter().any(|id| known.variant.may_show_on(id)));
        let (shown, gone): (Vec<_>, Vec<_>) = own.partition(|known| !known.triggers(probe).is_empty());
        let of_cause = shown.len() + gone.len();
        (variants, fixed) = (variants + of_cause, fixed + gone.len());
        let s = if of_cause == 1 { "" } else { "s" };
        writeln!(to, "{} ({}; {of_cause} variant{s})\n   {}", cause.id, cause.state, cause.title)?;
        writeln!(to, "   {}; {}", versions(cause), cause.link)?;
        if let Some(first) = shown.first() {
            writeln!(to, "   {}", reproduce(&first.variant.case))?;
        }
        for known in gone {
            let Variant { id, case, .. } = known.variant;
            writeln!(to, "   {id} no longer shows: fixed upstream? close it: {}", reproduce(case))?;
        }
        writeln!(to)?;
    }
    let by_design = concerned.iter().filter(|cause| cause.state == State::ByDesign).count();
    let count = concerned.len();
    writeln!(
        to,
        "Known issues of these runtimes: {count}, {by_design} of them by design. Variants: {variants}, {fixed} no longer show."
    )?;
    Ok(if fixed == 0 { Ending::NothingWrong } else { Ending::Finding })
}

/// The versions that are known to have a cause, from the first to the last of its variants.
fn versions(cause: &Cause) -> String {
    let number = |version: &&String| by_number(version);
    let first = cause.variants.iter().map(|variant| &variant.first_version).min_by_key(number);
    let last = cause.variants.iter().map(|variant| &variant.last_version).max_by_key(number);
    match (first, last) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (first, _) => first.cloned().unwrap_or_default(),
    }
}

fn show_masking(measured: &[Masking], most: f64, to: &mut impl Write) -> anyhow::Result<Ending> {
    let mut table = table(["known issue", "variant", "planted", "hidden", "percent"]);
    for masking in measured {
        let numbers = [masking.planted.to_string(), masking.hidden.to_string(), format!("{:.2}", masking.percent())];
        let names = [masking.known.cause.id.clone(), masking.known.variant.id.clone()];
        table.add_row(names.into_iter().chain(numbers));
    }
    align_right(&mut table, 2);
    writeln!(to, "{}\n", table.trim_fmt())?;
    let over: Vec<&Masking> = measured.iter().filter(|masking| masking.percent() > most).collect();
    for masking in &over {
        let example = masking.example.as_deref().map(reproduce).unwrap_or_default();
        writeln!(to, "{} hides a fault like it in\n   {example}\n", masking.known.variant.id)?;
    }
    let over = over.len();
    writeln!(
        to,
        "{} variants of known issues of these runtimes, {over} of them hide more than {most} % of what is beside them.",
        measured.len()
    )?;
    Ok(if over == 0 { Ending::NothingWrong } else { Ending::Finding })
}

fn add(
    ledger: &Ledger,
    text: &str,
    of: Option<&str>,
    probe: &mut Probe,
    saving: &mut [Box<dyn Runtime>],
) -> anyhow::Result<Ending> {
    let case = read_case(text)?;
    if let Some(id) = of {
        let is_there = ledger.causes.iter().any(|cause| cause.id == id);
        anyhow::ensure!(is_there, "no known issue is called {id}: `crosscheck known` lists them");
    }
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
        let variant = Variant::of(finding.name(), &finding.trigger, &finding.case, &version);
        let path = Ledger::add(of, &variant)?;
        match of {
            Some(id) => println!("{} is a variant of {id} in {}", variant.id, path.display()),
            None => println!("{} is in {}: say there what is wrong and why", variant.id, path.display()),
        }
        if of.is_none() {
            for like in ledger.resembling(mismatch) {
                println!("   or is it a variant of {}? {}", like.id, like.title);
            }
        }
        println!("Saved {}", finding.save(Path::new("."), saving)?.display());
    }
    println!("{} mismatches, {new} new findings.", mismatches.len());
    Ok(Ending::NothingWrong)
}
