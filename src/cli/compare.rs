//! `crosscheck compare`: what differs between two releases of a runtime.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use strum::VariantArray;

use super::campaign::{named_or_all, operator, stream};
use super::progress::Progress;
use super::{Ending, Format, PlaceArguments, reproduce, stop_on_signals, threads};
use crate::case::Nodes;
use crate::files::write_whole;
use crate::finding::{self, About, Change, CompareOptions, CompareProgress, Comparison, Drift, DriftKind, Ledger};
use crate::operator::{OPERATORS, Operator};
use crate::runtime::{Row, select};
use crate::tensor::ElementType;

/// Say what two releases of a runtime do differently
///
/// Runs the cases of the known issues, the catalogue of edge cases and generated cases on both, and lists what is newly
/// broken, newly fixed or changed, each as one minimized case.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  crosscheck compare onnxruntime@1.31.1 onnxruntime@1.32.0\n  crosscheck compare onnxruntime@previous onnxruntime@newest --page changes.md"
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
    /// Operators to draw cases of, such as `shape,reshape` [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = operator)]
    operator: Vec<&'static Operator>,
    /// How many nodes a case has, such as `1`, or `2..6` for graphs only; with `1..6` every other row of 32 cases has graphs only
    #[arg(long, value_name = "N..M", default_value_t = Nodes::default())]
    nodes: Nodes,
    /// Threads to use; if there is one for each core, each stays on its own core [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Also write the changes as a page, in Markdown
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// How to show the changes; JSON is one object
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    place: PlaceArguments,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let rows = [rows(&arguments.before)?, rows(&arguments.after)?];
    let configurations: [Vec<&str>; 2] = rows.each_ref().map(|rows| rows.iter().map(configuration).collect());
    anyhow::ensure!(
        configurations[0] == configurations[1],
        "{} and {} do not have the same configurations, so they cannot be compared",
        arguments.before,
        arguments.after
    );
    let open = |time: Duration| {
        let place = PlaceArguments { time_limit: time, ..arguments.place };
        Ok([place.open(&rows[0])?, place.open(&rows[1])?])
    };
    // Opened once here, so that provisioning and its errors come before anything else.
    let names = open(arguments.place.time_limit)?.map(|runtimes| {
        let id = runtimes[0].id();
        format!("{} {}", id.name, id.version)
    });
    let ledger = Ledger::load()?;
    let options = CompareOptions {
        source: &stream(&ledger, named_or_all(&arguments.operator), arguments.seed, arguments.nodes),
        cases: arguments.cases,
        threads: threads(arguments.threads),
        limit: arguments.place.time_limit,
        open: &open,
    };
    let stop = stop_on_signals()?;
    let progress = Progress::new();
    let show = |so_far: CompareProgress| match so_far {
        CompareProgress::Cases { done, changes } => {
            progress.show(done, Some(arguments.cases), None, || format!("{done} cases, {changes} changes"));
        }
        CompareProgress::Minimized { done, changes } => {
            let text = || format!("{done} of {changes} changes minimized");
            progress.show(done as u64, Some(changes as u64), None, text);
        }
    };
    let comparison = finding::compare(&options, &stop, &show)?;
    progress.finish();
    match arguments.format {
        Format::Text => write(&comparison, &names, &configurations[0], &mut io::stdout().lock())?,
        Format::Json => println!("{}", as_json(&comparison, &names, &configurations[0])),
    }
    if let Some(file) = &arguments.page {
        let chosen: Vec<&str> = arguments.operator.iter().map(|operator| operator.name).collect();
        let all = format!("the {} operators that move elements", OPERATORS.len());
        let versions = rows.each_ref().map(|rows| rows[0].id.version.as_str());
        let about = About {
            runtime: &rows[0][0].id.name,
            versions,
            configurations: &configurations[0],
            operators: &if chosen.is_empty() { all } else { chosen.join(", ") },
            command: &arguments.command(),
            is_whole: !stop.is_asked(),
        };
        let page = finding::page(&comparison, &about, &ledger, open(arguments.place.time_limit)?, &stop);
        write_whole(file, page.as_bytes()).with_context(|| file.display().to_string())?;
    }
    let is_broken = comparison.drifts.keys().any(|change| change.kind == DriftKind::Broken);
    Ok(if is_broken { Ending::Finding } else { Ending::NothingWrong })
}

impl Arguments {
    /// The command that makes the same comparison again.
    fn command(&self) -> String {
        let operators: Vec<String> = self.operator.iter().map(|operator| operator.name.to_lowercase()).collect();
        let operators =
            if operators.is_empty() { String::new() } else { format!(" --operator {}", operators.join(",")) };
        let Arguments { before, after, cases, seed, nodes, .. } = self;
        let [before, after] = [before, after].map(|release| with_number(release).unwrap_or_else(|_| release.clone()));
        format!("crosscheck compare {before} {after} --cases {cases} --seed {seed} --nodes {nodes}{operators}")
    }
}

fn configuration(row: &Row) -> &str {
    &row.id.configuration
}

/// The rows of a release, in the order of their configurations.
fn rows(release: &str) -> anyhow::Result<Vec<Row>> {
    let mut rows = select(Some(&with_number(release)?))?;
    let one = rows.iter().all(|row| row.id.is_release_of(&rows[0].id));
    anyhow::ensure!(one, "`{release}` names more than one runtime: two releases are compared");
    rows.sort_by(|a, b| configuration(a).cmp(configuration(b)));
    Ok(rows)
}

/// A release with its number in place of `newest` or `previous`.
fn with_number(release: &str) -> anyhow::Result<String> {
    let (name, before_newest) = match release.split_once('@') {
        Some((name, "newest")) => (name, 0),
        Some((name, "previous")) => (name, 1),
        _ => return Ok(release.to_owned()),
    };
    let releases = select(Some(name))?[0].kind()?.releases()?;
    let version = releases.iter().rev().nth(before_newest);
    let version = version.with_context(|| format!("there is no `{release}`: there are {}", releases.join(", ")))?;
    Ok(format!("{name}@{version}"))
}

fn write(comparison: &Comparison, names: &[String; 2], configurations: &[&str], to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "{} and {} on {} cases", names[0], names[1], comparison.cases)?;
    let roots = comparison.roots();
    for &kind in DriftKind::VARIANTS {
        let mut drifts = roots.iter().filter(|(change, _)| change.kind == kind).peekable();
        if drifts.peek().is_some() {
            writeln!(to, "\n{}:", kind.title())?;
        }
        for (change, drift) in drifts {
            writeln!(to, "  {}: {change}", change.operator)?;
            writeln!(to, "    {}", reproduce(&drift.case.to_string()))?;
            writeln!(to, "    {}", extent(drift, configurations))?;
            for (part, drift) in comparison.with_fix(change) {
                writeln!(to, "    with it: {part}")?;
                writeln!(to, "      {}", reproduce(&drift.case.to_string()))?;
            }
        }
    }
    if comparison.drifts.is_empty() {
        writeln!(to, "\nThey do the same.")?;
    }
    Ok(())
}

/// The comparison as JSON: every change, even one that is a part of another.
fn as_json(comparison: &Comparison, names: &[String; 2], configurations: &[&str]) -> Value {
    let change = |(change, drift): (&Change, &Drift)| {
        json!({
            "kind": change.kind.title(),
            "operator": change.operator,
            "before": change.before.to_string(),
            "after": change.after.as_ref().map(ToString::to_string),
            "case": drift.case,
            "count": drift.count,
            "operator_versions": drift.versions,
            "element_types": drift.types.iter().map(|of| of.name()).collect::<Vec<_>>(),
            "configurations": drift.configurations.iter().map(|&place| configurations[place]).collect::<Vec<_>>(),
        })
    };
    let changes: Vec<Value> = comparison.drifts.iter().map(change).collect();
    json!({ "releases": names, "cases": comparison.cases, "changes": changes })
}

/// Where a change was seen.
fn extent(drift: &Drift, configurations: &[&str]) -> String {
    let list = |names: Vec<String>| names.join(" ");
    let types = if drift.types.len() == ElementType::ALL.len() {
        "all types".to_owned()
    } else {
        list(drift.types.iter().map(|element_type| element_type.name().to_owned()).collect())
    };
    let versions = list(drift.versions.iter().map(u8::to_string).collect());
    let configurations = list(drift.configurations.iter().map(|&place| configurations[place].to_owned()).collect());
    let of_one_node = if versions.is_empty() { String::new() } else { format!(" versions {versions}; {types};") };
    format!("{} times;{of_one_node} {configurations}", drift.count)
}
