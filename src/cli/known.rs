//! `crosscheck known`: the ledger of known issues.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::campaign::{named_or_all, operator};
use super::save::new_among;
use super::{Ending, Format, RuntimeArguments, align_right, read_case, reproduce, table};
use crate::case::Case;
use crate::finding::{
    Cause, Finding, Known, Ledger, Masking, Probe, Signature, Sorter, State, Variant, masking, pass_of,
};
use crate::operator::Operator;
use crate::runtime::{OpenError, Runtime, RuntimeId, by_number, select};

/// List the known issues with their state, or add one
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  crosscheck known\n  crosscheck known add 'Flatten@13 axis=3 float[2]'\n\n`crosscheck report` writes \
                  an issue for upstream."
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// How to show the list; JSON is one line for each known issue
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    runtimes: RuntimeArguments,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Minimize the mismatches of a case, and write each finding that is not known yet to the ledger: as a new cause, or as a
    /// variant of an existing cause
    #[command(
        after_help = "Examples:\n  crosscheck known add 'Flatten@13 axis=3 float[2]' --cause tract-flatten-axis-range-panic\n  \
                      crosscheck known add 'Pad@28 undeclared=0 float[1] int64[2]' --cause tract-attributes --signature 'tract | any | \
                      accepts-invalid | undeclared-attribute | other:int'"
    )]
    Add {
        /// The case, or a file that holds one
        case: String,
        /// The cause that the findings are variants of
        #[arg(long, value_name = "ID")]
        cause: Option<String>,
        /// Enter the case as it is with this signature, which is less specific than that of the case: `any` in place of the
        /// operator, and only the features that matter
        #[arg(long, requires = "cause")]
        signature: Option<Signature>,
    },
    /// Update the ledger after a step to new releases under test: the last version of each variant that shows there, and the
    /// causes that are fixed
    #[command(after_help = "Example:\n  crosscheck known update --runtimes onnxruntime")]
    Update,
    /// Measure what each known issue hides: its mismatch is planted in cases on which the runtime does nothing wrong, and the
    /// share of them in which a known issue explains it is shown
    #[command(after_help = "Example:\n  crosscheck known masking --cases 20000")]
    Masking {
        /// Operators to draw cases of, such as `shape,reshape` [default: all]
        #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = operator)]
        operator: Vec<&'static Operator>,
        /// Cases to draw for each operator
        #[arg(long, value_name = "N", default_value_t = 20_000)]
        cases: u64,
        /// The seed that the cases are drawn from
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
            match arguments.format {
                Format::Text => list(&ledger, &mut probe, &mut to),
                Format::Json => list_as_json(&ledger, &mut probe, &mut to),
            }
        }
        Some(Action::Add { case, cause, signature }) => {
            let case = read_case(case)?;
            let of = cause.as_deref().map(|id| find(&ledger, id)).transpose()?;
            // The runtimes for the snapshot: those of the replay, whichever release has the issue.
            let mut saving = arguments.runtimes.place.open(&select(None)?)?;
            let pass = |finding: &Finding| pass_of(finding, &rows, &|rows| arguments.runtimes.open(rows));
            match (of, signature) {
                (Some(of), Some(signature)) => add_as_written(of, &case, signature, &mut probe, &mut saving),
                _ => add(&ledger, &case, of, &pass, &mut probe, &mut saving),
            }
        }
        Some(Action::Update) => update(&ledger, &mut probe, &mut io::stdout().lock()),
        Some(Action::Masking { operator, cases, seed, most }) => {
            let measured = masking(&ledger, &mut probe, &named_or_all(operator), *seed, *cases);
            show_masking(&measured, *most, &mut io::stdout().lock())
        }
    }
}

/// A known issue with its variants, and whether each of them shows on the available runtimes.
#[derive(Serialize)]
struct Listed<'a> {
    cause: &'a str,
    title: &'a str,
    explanation: &'a str,
    state: String,
    link: &'a str,
    variants: Vec<ListedVariant<'a>>,
}

#[derive(Serialize)]
struct ListedVariant<'a> {
    id: &'a str,
    signature: &'a Signature,
    case: &'a str,
    first_version: &'a str,
    last_version: &'a str,
    shows: bool,
}

/// Writes a line of JSON for each known issue.
fn list_as_json(ledger: &Ledger, probe: &mut Probe, to: &mut impl Write) -> anyhow::Result<Ending> {
    let ids = probe.ids();
    let mut is_any_gone = false;
    for cause in ledger.concerning(&ids) {
        let own = cause.known().filter(|known| ids.iter().any(|id| known.variant.may_show_on(id)));
        let variants = own.map(|known| {
            let shows = !known.triggers(probe).is_empty();
            is_any_gone |= !shows;
            let Variant { id, signature, case, first_version, last_version, .. } = known.variant;
            ListedVariant { id, signature, case, first_version, last_version, shows }
        });
        let variants = variants.collect();
        let Cause { id, title, explanation, link, state, .. } = cause;
        let listed = Listed { cause: id, title, explanation, state: state.to_string(), link, variants };
        writeln!(to, "{}", serde_json::to_string(&listed)?)?;
    }
    Ok(if is_any_gone { Ending::Finding } else { Ending::NothingWrong })
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

/// Writes to the ledger which variants show on the releases of the probe, and which causes are fixed in them. These must be the
/// releases under test.
fn update(ledger: &Ledger, probe: &mut Probe, to: &mut impl Write) -> anyhow::Result<Ending> {
    let mut releases = probe.ids();
    releases.dedup_by(|one, other| one.is_release_of(other));
    for RuntimeId { name, version, .. } in &releases {
        let (mut shown, mut fixed) = (0, 0);
        for cause in ledger.causes.iter().filter(|cause| cause.runtime_name() == name) {
            let usual = cause.usual_version();
            anyhow::ensure!(version == usual, "{name} {version} is not the release under test, which is {usual}");
            let (here, gone): (Vec<_>, Vec<_>) = cause.known().partition(|known| known.shows_on(version, probe));
            for known in here.iter().filter(|known| known.variant.last_version != *version) {
                Ledger::write_versions(&Variant { last_version: version.clone(), ..known.variant.clone() })?;
            }
            let state = match &cause.state {
                _ if here.is_empty() => State::FixedIn(version.clone()),
                State::FixedIn(_) => State::Open,
                state => state.clone(),
            };
            let was_fixed = matches!(cause.state, State::FixedIn(_));
            if was_fixed != here.is_empty() {
                Ledger::write_state(cause, &state)?;
                writeln!(to, "{} is {state}", cause.id)?;
            }
            shown += here.len();
            for Known { variant: Variant { id, last_version, case, .. }, .. } in gone {
                fixed += 1;
                if last_version == version {
                    writeln!(to, "{id} does not show, and is known of {version}: {}", reproduce(case))?;
                }
            }
        }
        writeln!(to, "{name} {version}: {shown} variants show, and {fixed} do not.")?;
    }
    Ok(Ending::NothingWrong)
}

/// The versions that are known to have a cause, from the first version of its variants to the last.
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

fn find<'a>(ledger: &'a Ledger, id: &str) -> anyhow::Result<&'a Cause> {
    let cause = ledger.causes.iter().find(|cause| cause.id == id);
    cause.ok_or_else(|| anyhow::anyhow!("no known issue is called {id}: `crosscheck known` lists them"))
}

fn add(
    ledger: &Ledger,
    case: &Case,
    of: Option<&Cause>,
    pass: &dyn Fn(&Finding) -> Result<Option<String>, OpenError>,
    probe: &mut Probe,
    saving: &mut [Box<dyn Runtime>],
) -> anyhow::Result<Ending> {
    let mismatches = probe.mismatches(case);
    anyhow::ensure!(!mismatches.is_empty(), "{case} shows no mismatch on these runtimes");
    let (owners, known) = ledger.owned_triggers(probe);
    let new = new_among(&mismatches, &owners, &mut Sorter::new(known), probe);
    let count = new.len();
    for mut finding in new {
        finding.pass = pass(&finding)?;
        enter(&finding, of, probe, saving)?;
        if of.is_none() {
            for like in ledger.resembling(&finding.signature()) {
                println!("   or is it a variant of {}? {}", like.id, like.title);
            }
        }
    }
    println!("{} mismatches, {count} new findings.", mismatches.len());
    Ok(Ending::NothingWrong)
}

/// Enters a case with a signature that a person wrote.
fn add_as_written(
    of: &Cause,
    case: &Case,
    signature: &Signature,
    probe: &mut Probe,
    saving: &mut [Box<dyn Runtime>],
) -> anyhow::Result<Ending> {
    let is_there = of.variants.iter().any(|variant| variant.signature == *signature);
    anyhow::ensure!(!is_there, "{} has a variant with this signature", of.id);
    let variant = Variant::written(signature.clone(), case);
    let trigger = Known { cause: of, variant: &variant }.triggers(probe).into_iter().next();
    let trigger = trigger.filter(|trigger| Signature::of(trigger) == *signature);
    let Some(trigger) = trigger else {
        anyhow::bail!(
            "{case} does not show `{signature}` on these runtimes: `crosscheck run` and `crosscheck save` say what it shows"
        );
    };
    let is_covered = |known: &Known| {
        let shown = known.triggers(probe);
        shown.iter().any(|shown| trigger.explains(&shown.mismatch, &shown.features))
    };
    for known in of.known().filter(is_covered) {
        println!("{} is a part of it now: remove it, its case and its snapshot", known.variant.id);
    }
    enter(&Finding::as_drawn(trigger, case.clone(), 1), Some(of), probe, saving)?;
    Ok(Ending::NothingWrong)
}

/// Writes a finding to the ledger, and saves its case.
fn enter(finding: &Finding, of: Option<&Cause>, probe: &Probe, saving: &mut [Box<dyn Runtime>]) -> anyhow::Result<()> {
    let id = probe.ids().into_iter().find(|id| id.release() == finding.trigger.mismatch.runtime);
    let version = id.map_or_else(String::new, |id| id.version);
    let pass = finding.pass.clone();
    let variant = Variant { pass, ..Variant::of(finding.name(), &finding.trigger, &finding.case, &version) };
    let path = Ledger::add(of.map(|cause| cause.id.as_str()), &variant)?;
    match of {
        Some(cause) => println!("{} is a variant of {} in {}", variant.id, cause.id, path.display()),
        None => println!("{} is in {}: say there what is wrong and why", variant.id, path.display()),
    }
    println!("Saved {}", finding.save(Path::new("."), saving)?.display());
    Ok(())
}
