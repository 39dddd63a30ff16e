//! `crosscheck campaign`: as many generated cases as there is time for, and the distinct findings.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::{Ending, RuntimeArguments, coverage, reproduce, stopped_by_ctrl_c};
use crate::campaign::{
    self, Header, JournalError, Kept, Limits, Manner, Opened, Options, RuntimeStatistics, Shard, Sharded, Source,
    Statistics, Stream,
};
use crate::case::{Case, Generator};
use crate::files::write_whole;
use crate::finding::{CASES, Finding, Known, Ledger, Probe, one_line, triage};
use crate::operator::{OPERATORS, Operator, UnknownOperator};
use crate::runtime::{Gap, Outcome, Row};
use crate::verdict::{Severity, reaction};

/// Generate cases, run them on every runtime, and list the distinct findings
///
/// The catalogue of edge cases comes first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck campaign --for 60s --seed 7 --operator reshape")]
pub(super) struct Arguments {
    /// How long to go on, such as `90s` or `8h` [default: until stopped, or as many as --cases]
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    time: Option<Duration>,
    /// How many cases to run, those of the catalogue included
    #[arg(long, value_name = "N")]
    cases: Option<u64>,
    /// The seed: the same one gives the same cases on every machine [default: 0]
    #[arg(long)]
    seed: Option<u64>,
    /// Operators to draw cases of, such as `shape,reshape` [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = operator)]
    operator: Vec<&'static Operator>,
    #[command(flatten)]
    common: Common,
}

/// What every subcommand takes that runs many cases.
#[derive(Debug, clap::Args)]
pub(super) struct Common {
    #[command(flatten)]
    runtimes: RuntimeArguments,
    /// Threads to use [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// How many cases are put into one model, at most; with 1 each is alone
    #[arg(long, value_name = "N", default_value_t = 64)]
    company: usize,
    /// Keep what known issues explain, and show it again
    #[arg(long)]
    ignore_known: bool,
    /// The least severe finding that is a failure [default: any new one]
    #[arg(long, value_name = "SEVERITY", value_enum)]
    fail_on: Option<Severity>,
    /// Run one part of so many: the parts are disjoint, together they are the whole, and `crosscheck merge` joins them
    /// [default: 1/1]
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// The folder for what other commands read
    #[arg(long, value_name = "DIR", default_value = super::OUTPUT)]
    output: PathBuf,
    /// Go on with the campaign in the folder, which was killed or stopped
    #[arg(long)]
    resume: bool,
    /// Start anew, though the campaign in the folder was not brought to its end
    #[arg(long, conflicts_with = "resume")]
    restart: bool,
}

impl Common {
    /// Opens the journal in the folder.
    pub(super) fn journal(&self) -> Result<Opened, JournalError> {
        let manner = match (self.resume, self.restart) {
            (true, _) => Manner::Resume,
            (false, true) => Manner::Restart,
            (false, false) => Manner::Begin,
        };
        Opened::open(&self.output, manner)
    }

    /// The shard: if none is given, that of the campaign that is gone on with.
    pub(super) fn shard(&self, journal: &Opened) -> Shard {
        self.shard.or(journal.kept().map(|kept| kept.header.shard)).unwrap_or_default()
    }
}

impl Arguments {
    /// The seed, the operators and the limits: what is not given is as it was in the campaign that is gone on with.
    fn with(&self, kept: Option<&Kept>) -> (u64, Vec<&'static Operator>, Limits) {
        let source = kept.map_or(&Value::Null, |kept| &kept.header.source);
        let seed = self.seed.or(source["seed"].as_u64()).unwrap_or(0);
        let names = source["operators"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let theirs = names.filter_map(|name| operator(name).ok()).collect();
        let operators = [self.operator.clone(), theirs, OPERATORS.to_vec()].into_iter().find(|list| !list.is_empty());
        let limits = kept.map(|kept| kept.limits).unwrap_or_default();
        let limits = Limits { cases: self.cases.or(limits.cases), time: self.time.or(limits.time) };
        (seed, operators.unwrap_or_default(), limits)
    }
}

pub(super) fn operator(name: &str) -> Result<&'static Operator, UnknownOperator> {
    name.trim().parse()
}

/// The cases of a campaign. Known issues come first, so that one that no longer shows is seen at once.
pub(super) fn stream(ledger: &Ledger, operators: Vec<&'static Operator>, seed: u64) -> Stream {
    Stream::new(Generator::new(operators), seed, ledger.entries.iter().map(Known::case).collect())
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let journal = arguments.common.journal()?;
    let (seed, operators, limits) = arguments.with(journal.kept());
    let described = json!({ "seed": seed, "operators": operators.iter().map(|o| o.name).collect::<Vec<_>>() });
    let ledger = Ledger::load()?;
    let source = stream(&ledger, operators, seed);
    let shard = arguments.common.shard(&journal);
    let what = if shard == Shard::WHOLE { format!("Seed {seed}") } else { format!("Seed {seed}, shard {shard}") };
    let plan = Planned { source: &source, described, shard, from: 0, limits, what };
    Ok(conduct(&plan, &arguments.common, &ledger, journal)?.ending)
}

/// The cases that are to be run.
pub(super) struct Planned<'a> {
    pub(super) source: &'a dyn Source,
    /// The source as the journal tells it from others.
    pub(super) described: Value,
    /// The part of the source that is run.
    pub(super) shard: Shard,
    /// The case of the shard to begin with.
    pub(super) from: u64,
    /// Of the whole source.
    pub(super) limits: Limits,
    /// The same for a person.
    pub(super) what: String,
}

/// What a run of many cases came to.
pub(super) struct Conducted {
    pub(super) cases: u64,
    pub(super) ending: Ending,
}

/// Runs cases with progress and Ctrl-C, brings mismatches down to findings, shows what came of it, and saves new findings
/// and what other commands read.
pub(super) fn conduct(plan: &Planned, common: &Common, ledger: &Ledger, journal: Opened) -> anyhow::Result<Conducted> {
    let rows = common.runtimes.select()?;
    // Opened once here, so that provisioning and its errors come before anything else.
    let mut probe = Probe::new(common.runtimes.open(&rows)?);
    let opened = probe.ids();
    let (owners, known) = ledger.owned_triggers(&mut probe);
    let cases = (plan.described.clone(), plan.shard);
    let header = Header::new(cases, opened.clone(), ledger.checksum(), known.len(), common.ignore_known);
    let mut journal = journal.start(header, plan.limits)?;
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = common.threads.unwrap_or_else(cores);
    let options = Options {
        source: &Sharded { source: plan.source, shard: plan.shard },
        from: plan.from,
        cases: plan.limits.cases.map(|cases| plan.shard.share_of(cases)),
        time: plan.limits.time,
        threads,
        company: common.company,
        expected: &known,
        known: if common.ignore_known { &[] } else { &known },
    };
    let stop = stopped_by_ctrl_c()?;
    let names: Vec<String> = opened.iter().map(|id| format!("{id} {}", id.version)).collect();
    eprintln!("{}; runtimes: {}", plan.what, names.join(", "));
    let progress = Progress::new(&options);
    let show = |so_far: &Statistics| progress.show(so_far);
    let statistics = campaign::run(&options, Some(&mut journal), &|| common.runtimes.open(&rows), &stop, &show)?;
    progress.finish();
    coverage::save(&statistics.coverage.report(&opened), &common.output)?;
    let findings = triage(&statistics.groups, &|| common.runtimes.open(&rows), threads, &|done, total| {
        if done % 1000 == 0 && total > 1000 {
            eprintln!("Minimizing: {done} of {total} groups of mismatches");
        }
    })?;
    journal.end()?;
    let known_place = |finding: &Finding| known.iter().position(|known| known.explains_all_of(&finding.trigger));
    let (old, new): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().partition(|finding| !common.ignore_known && known_place(finding).is_some());
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (place, count) in &statistics.explained {
        *counts.entry(&owners[*place].id).or_default() += count;
    }
    for finding in old {
        if let Some(place) = known_place(finding) {
            *counts.entry(&owners[place].id).or_default() += finding.count;
        }
    }
    let mut out = io::stdout().lock();
    write(&statistics, &mut out)?;
    write_known(&counts, ledger, &mut out)?;
    write_findings(&new, ledger, &mut out)?;
    if !common.ignore_known {
        save(&new, common, &rows, &mut out)?;
    }
    write_companies(&statistics, &common.output, &mut out)?;
    write_times(&statistics, &mut out)?;
    let fails = !statistics.companies.is_empty()
        || new.iter().any(|finding| common.fail_on.is_none_or(|least| finding.severity() <= least));
    let ending = if fails { Ending::Finding } else { Ending::NothingWrong };
    Ok(Conducted { cases: statistics.cases, ending })
}

/// Known issues that were met: what is wrong, and how to see it.
fn write_known(counts: &BTreeMap<&str, u64>, ledger: &Ledger, to: &mut impl Write) -> io::Result<()> {
    if counts.is_empty() {
        return Ok(());
    }
    writeln!(to, "\n{} of {} known issues were met:", counts.len(), ledger.entries.len())?;
    for known in &ledger.entries {
        if let Some(count) = counts.get(known.id.as_str()) {
            writeln!(to, "   {}: {count} times\n      {}\n      {}", known.id, known.wrong, reproduce(&known.case))?;
        }
    }
    Ok(())
}

fn write_findings(findings: &[&Finding], ledger: &Ledger, to: &mut impl Write) -> io::Result<()> {
    if findings.is_empty() {
        return writeln!(to, "\nNo new findings.");
    }
    writeln!(to, "\n{} distinct findings, the most severe first:", findings.len())?;
    for (number, finding) in (1..).zip(findings) {
        let mismatch = &finding.trigger.mismatch;
        writeln!(to, "\n{number}. {mismatch}")?;
        writeln!(to, "   {}", reproduce(&finding.case.to_string()))?;
        if let Some(known) = ledger.find(&finding.signature()) {
            writeln!(to, "   known as {}", known.id)?;
        }
        if let Some(rule) = mismatch.rule {
            writeln!(to, "   {} ({})", rule.text().sentence, rule.text().source)?;
        }
        if !finding.message.is_empty() {
            writeln!(to, "   \"{}\"", one_line(&finding.message))?;
        }
        writeln!(to, "   {} mismatches, minimized in {} executions", finding.count, finding.executions)?;
        for line in finding.extent.to_string().lines() {
            writeln!(to, "   {line}")?;
        }
        writeln!(to, "   signature: {}", finding.signature())?;
    }
    Ok(())
}

/// Saves new findings: in the checkout that this is run in, or else in the folder of the campaign.
fn save(findings: &[&Finding], common: &Common, rows: &[Row], to: &mut impl Write) -> anyhow::Result<()> {
    let here = Path::new(".");
    let root = if here.join(CASES).is_dir() { here } else { &common.output };
    let mut runtimes = if findings.is_empty() { vec![] } else { common.runtimes.open(rows)? };
    for finding in findings {
        let path = finding.save(root, &mut runtimes)?;
        writeln!(to, "Saved {}", path.display())?;
    }
    Ok(())
}

/// A bar on a terminal, a plain line every few seconds elsewhere; both on standard error.
struct Progress {
    bar: Option<ProgressBar>,
    shown: Mutex<Instant>,
}

impl Progress {
    const EVERY: Duration = Duration::from_secs(10);

    fn new(options: &Options) -> Progress {
        let bar = io::stderr().is_terminal().then(|| {
            let whole = options.time.map(|time| time.as_secs()).or(options.cases);
            let bar = whole.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
            let style = ProgressStyle::with_template("{spinner} [{elapsed}] {wide_bar} {msg}");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Progress { bar, shown: Mutex::new(Instant::now()) }
    }

    fn show(&self, so_far: &Statistics) {
        if let Some(bar) = &self.bar {
            let by_time = bar.length().is_some_and(|length| length != so_far.cases);
            bar.set_position(if by_time { so_far.elapsed.as_secs() } else { so_far.cases });
            bar.set_message(line(so_far));
            return;
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.elapsed() >= Self::EVERY {
            *shown = Instant::now();
            eprintln!("{:.0?}: {}", so_far.elapsed, line(so_far));
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn line(so_far: &Statistics) -> String {
    let unsupported: Vec<String> = so_far
        .runtimes
        .iter()
        .filter(|runtime| !runtime.unsupported.is_empty())
        .map(|runtime| format!("{} {}", runtime.id, unsupported(runtime)))
        .collect();
    let kinds = so_far.groups.keys().map(|(mismatch, _)| mismatch).collect::<BTreeSet<_>>().len();
    let unsupported = if unsupported.is_empty() { "none".to_owned() } else { unsupported.join(", ") };
    let rate = rate(so_far);
    format!("{} cases, {rate:.0} a second, {kinds} kinds of new mismatch; unsupported: {unsupported}", so_far.cases)
}

#[expect(clippy::cast_precision_loss, reason = "a rate is shown in whole cases")]
fn rate(statistics: &Statistics) -> f64 {
    statistics.cases as f64 / statistics.elapsed.as_secs_f64().max(1e-9)
}

fn unsupported(runtime: &RuntimeStatistics) -> u64 {
    runtime.unsupported.values().sum()
}

fn write(statistics: &Statistics, to: &mut impl Write) -> io::Result<()> {
    let percent = |part: u64| part * 100 / statistics.cases.max(1);
    writeln!(
        to,
        "{} cases in {:.1?}, {:.0} a second: {} % valid, {} % invalid ({} % by exactly one rule), {} % left open\n",
        statistics.cases,
        statistics.elapsed,
        rate(statistics),
        percent(statistics.valid),
        percent(statistics.invalid),
        percent(statistics.invalid_by_intent),
        percent(statistics.unspecified),
    )?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["runtime", "version", "agreed", "tolerated", "unsupported", "wrong", "unclassified"]);
    for runtime in &statistics.runtimes {
        table.add_row([
            runtime.id.to_string(),
            runtime.id.version.clone(),
            runtime.agreed.to_string(),
            runtime.tolerated.values().sum::<u64>().to_string(),
            unsupported(runtime).to_string(),
            runtime.wrong.to_string(),
            runtime.unclassified.to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(to, "{}", table.trim_fmt())?;
    write_gaps(statistics, to)?;
    for runtime in &statistics.runtimes {
        if let Some(message) = &runtime.unclassified_message {
            writeln!(to, "\n{} fails in words that no table knows, such as \"{}\"", runtime.id, one_line(message))?;
        }
    }
    Ok(())
}

/// Cases that go wrong in company only, each company in a file of the folder, one case a line.
fn write_companies(statistics: &Statistics, folder: &Path, to: &mut impl Write) -> anyhow::Result<()> {
    for (number, ((runtime, what), company)) in (1..).zip(&statistics.companies) {
        let id = &statistics.runtimes[*runtime].id;
        let lines: Vec<String> = company.iter().map(Case::to_string).collect();
        let path = folder.join("companies").join(format!("{number}.cases"));
        let text = format!("# {id} {what}, as nodes of one model\n{}\n", lines.join("\n"));
        write_whole(&path, text.as_bytes()).with_context(|| path.display().to_string())?;
        writeln!(to, "\n{id} {what}: {} cases as nodes of one model, each right alone", lines.len())?;
        lines.iter().try_for_each(|line| writeln!(to, "   {line}"))?;
        writeln!(to, "   crosscheck run --together - --runtimes {id} < {}", path.display())?;
    }
    Ok(())
}

/// Where the time went, of all threads together.
fn write_times(statistics: &Statistics, to: &mut impl Write) -> io::Result<()> {
    let times = &statistics.times;
    let own = [
        ("generating", times.generating),
        ("modelling", times.modelling),
        ("judging", times.judging),
        ("counting", times.counting),
    ];
    let whole: Duration = times.executing.iter().chain(own.iter().map(|(_, time)| time)).sum();
    let percent = |time: Duration| 100.0 * time.as_secs_f64() / whole.as_secs_f64().max(1e-9);
    let runtimes = statistics.runtimes.iter().zip(&times.executing);
    let runtimes = runtimes.map(|(runtime, time)| format!("{} {:.0} %", runtime.id, percent(*time)));
    let own = own.map(|(stage, time)| format!("{stage} {:.0} %", percent(time)));
    let parts: Vec<String> = runtimes.chain(own).collect();
    writeln!(to, "\nTime: {}", parts.join(", "))
}

/// What each runtime lacks, by operator version: never in silence, and on one line a gap.
fn write_gaps(statistics: &Statistics, to: &mut impl Write) -> io::Result<()> {
    for runtime in &statistics.runtimes {
        let mut gaps: Vec<(Gap, Vec<String>, u64)> = Vec::new();
        for (tally, count) in &runtime.unsupported {
            let cell = format!("{}-{}", tally.operator, tally.version);
            match gaps.iter_mut().find(|(gap, _, _)| *gap == tally.gap) {
                Some((_, cells, sum)) => {
                    *sum += count;
                    if !cells.contains(&cell) {
                        cells.push(cell);
                    }
                }
                None => gaps.push((tally.gap, vec![cell], *count)),
            }
        }
        for (gap, cells, count) in gaps {
            let types = runtime.unsupported.keys().filter(|t| t.gap == gap).filter_map(|t| t.element_type);
            let types: BTreeSet<_> = types.collect();
            let types = match types.len() {
                0..=12 => types.iter().map(|t| t.name()).collect::<Vec<_>>().join(" "),
                many => format!("{many} types"),
            };
            let gap = reaction(&Outcome::Unsupported(gap));
            writeln!(to, "\n{} {gap}: {count} cases of {} ({types})", runtime.id, cells.join(" "))?;
        }
    }
    Ok(())
}
