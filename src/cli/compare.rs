//! `crosscheck compare`: what differs between two releases of a runtime.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::{Ending, PlaceArguments, reproduce, stopped_by_ctrl_c};
use crate::campaign::{Source, Stream};
use crate::case::{Case, Generator};
use crate::finding::{Comparison, Drift, DriftKind, Known, Ledger};
use crate::runtime::{Runtime, provision, select};
use crate::tensor::ElementType;

/// Say what two releases of a runtime do differently
///
/// Runs the cases of the known issues, the catalogue of edge cases and generated cases on both, and lists what is newly
/// broken, newly fixed or changed, each as one minimized case.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  crosscheck compare onnxruntime@1.30.0 onnxruntime@1.31.1\n  crosscheck compare onnxruntime@previous onnxruntime@newest"
)]
pub(super) struct Arguments {
    /// The older release, such as `onnxruntime@1.30.0`, or `onnxruntime@previous`: the one before the newest
    before: String,
    /// The newer one, such as `onnxruntime@newest`; without a version it is the release under test
    after: String,
    /// How many cases to run
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    cases: u64,
    /// The seed: the same one gives the same cases on every machine
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    place: PlaceArguments,
}

/// How often it is said how far it came.
const EVERY: Duration = Duration::from_secs(10);

/// Cases that are run at a time.
const BLOCK: u64 = 256;

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let (before, after) = (open(&arguments.before, arguments.place)?, open(&arguments.after, arguments.place)?);
    let configurations = |runtimes: &[Box<dyn Runtime>]| -> BTreeSet<String> {
        runtimes.iter().map(|runtime| runtime.id().configuration.clone()).collect()
    };
    anyhow::ensure!(
        configurations(&before) == configurations(&after),
        "{} and {} do not have the same configurations, so they cannot be compared",
        arguments.before,
        arguments.after
    );
    let names = [&before, &after].map(|runtimes| format!("{} {}", runtimes[0].id().name, runtimes[0].id().version));
    let first: Vec<Case> = Ledger::load()?.entries.iter().map(Known::case).collect();
    let source = Stream::new(Generator::default(), arguments.seed, first);
    let mut comparison = Comparison::new(before, after);
    let stop = stopped_by_ctrl_c()?;
    let mut shown = Instant::now();
    while comparison.cases < arguments.cases && !stop.load(Ordering::Relaxed) {
        let first = comparison.cases;
        let end = arguments.cases.min(first + BLOCK);
        let cases: Vec<_> = (first..end).map_while(|index| source.case(index)).collect();
        comparison.add(&cases);
        if shown.elapsed() >= EVERY {
            shown = Instant::now();
            eprintln!("{} cases, {} changes", comparison.cases, comparison.drifts.len());
        }
    }
    let shown = Cell::new(Instant::now());
    comparison.minimize(&|done, total| {
        if shown.get().elapsed() >= EVERY {
            shown.set(Instant::now());
            eprintln!("Minimizing: {done} of {total} changes");
        }
    });
    write(&comparison, &names, &mut io::stdout().lock())?;
    let is_broken = comparison.drifts.keys().any(|change| change.kind == DriftKind::Broken);
    Ok(if is_broken { Ending::Finding } else { Ending::NothingWrong })
}

fn open(release: &str, place: PlaceArguments) -> anyhow::Result<Vec<Box<dyn Runtime>>> {
    let rows = select(Some(&with_number(release)?))?;
    let one = rows.iter().all(|row| row.id.is_release_of(&rows[0].id));
    anyhow::ensure!(one, "`{release}` names more than one runtime: two releases are compared");
    Ok(place.open(&rows)?)
}

/// A release with its number in place of `newest` or `previous`.
fn with_number(release: &str) -> anyhow::Result<String> {
    let (name, before_newest) = match release.split_once('@') {
        Some((name, "newest")) => (name, 0),
        Some((name, "previous")) => (name, 1),
        _ => return Ok(release.to_owned()),
    };
    let releases = provision::releases(select(Some(name))?[0].kind()?)?;
    let version = releases.iter().rev().nth(before_newest);
    let version = version.with_context(|| format!("there is no `{release}`: there are {}", releases.join(", ")))?;
    Ok(format!("{name}@{version}"))
}

fn write(comparison: &Comparison, names: &[String; 2], to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "{} and {} on {} cases", names[0], names[1], comparison.cases)?;
    for kind in DriftKind::ALL {
        let mut drifts = comparison.drifts.iter().filter(|(change, _)| change.kind == kind).peekable();
        if drifts.peek().is_some() {
            writeln!(to, "\n{}:", kind.title())?;
        }
        for (change, drift) in drifts {
            writeln!(to, "  {}: {}; now {}", change.operator, change.before, change.after)?;
            writeln!(to, "    {}", reproduce(&drift.case.to_string()))?;
            writeln!(to, "    {}", extent(drift))?;
        }
    }
    if comparison.drifts.is_empty() {
        writeln!(to, "\nThey do the same.")?;
    }
    Ok(())
}

/// Where a change was seen.
fn extent(drift: &Drift) -> String {
    let list = |names: Vec<String>| names.join(" ");
    let types = if drift.types.len() == ElementType::ALL.len() {
        "all types".to_owned()
    } else {
        list(drift.types.iter().map(|element_type| element_type.name().to_owned()).collect())
    };
    let versions = list(drift.versions.iter().map(u8::to_string).collect());
    let configurations = list(drift.configurations.iter().cloned().collect());
    format!("{} times; versions {versions}; {types}; {configurations}", drift.count)
}
