//! The conclusion of a campaign, or of several merged ones: it shows the results, and writes them to the folder.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use anyhow::Context;

use super::progress::Progress;
use super::{Ending, RuntimeArguments, align_right, coverage, named, reproduce, table, threads};
use crate::campaign::{Header, Opener, Origin, Refusals, RuntimeStatistics, Statistics, Trigger};
use crate::files::write_whole;
use crate::finding::{
    CASES, Cause, Finding, Ledger, Outline, State, Summary, Triage, Triaged, Variant, alike, is_first_stage, one_line,
    snapshot,
};
use crate::operator::{GRAPH, Rule};
use crate::percentages::percentages;
use crate::runtime::{Gap, OpenError, RuntimeId, Stop};
use crate::verdict::{Mismatch, Severity, lack};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const BOLD: Style = Style::new().bold();

/// The arguments of every subcommand that concludes with findings.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) runtimes: RuntimeArguments,
    /// Threads to use; if there is one for each core, each stays on its own core [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The least severe finding that is a failure [default: any new one]
    #[arg(long, value_name = "SEVERITY", value_parser = named::<Severity>())]
    fail_on: Option<Severity>,
    /// The folder for the results: summary, findings, coverage, and the checkpoint
    #[arg(long, value_name = "DIR", default_value = super::OUTPUT)]
    pub(super) output: PathBuf,
    /// Also show each known issue, the gaps of each runtime, and where the time went
    #[arg(long, short)]
    pub(super) verbose: bool,
}

/// The results of a campaign.
pub(super) struct Results<'a> {
    pub(super) header: &'a Header,
    pub(super) origins: &'a [Origin],
    pub(super) statistics: &'a Statistics,
    /// The findings of the mismatches that no known issue explains directly.
    pub(super) triaged: &'a Triaged,
    /// The triggers of the known issues, in the order of the header; needed if there are findings.
    pub(super) known: &'a [Trigger],
    pub(super) ledger: &'a Ledger,
    /// Whether the campaign is one shard of several: its findings then stay in its folder.
    pub(super) is_part: bool,
    /// Whether all cases were run and all mismatches minimized.
    pub(super) is_whole: bool,
    /// Whether an incomplete campaign is no failure.
    pub(super) may_be_incomplete: bool,
    /// Opens the runtimes, to save findings.
    pub(super) open: Opener<'a>,
    /// When to give up work that is not necessary.
    pub(super) stop: &'a Stop,
}

impl Arguments {
    pub(super) fn threads(&self) -> usize {
        threads(self.threads)
    }

    /// Shows the results of a campaign, and writes them into the folder.
    pub(super) fn conclude(&self, results: &Results) -> anyhow::Result<Ending> {
        let Results { header, statistics, ledger, .. } = *results;
        let place = |finding: &Finding| results.known.iter().position(|known| finding.is_known_as(known));
        let (old, new): (Vec<&Finding>, Vec<&Finding>) =
            results.triaged.findings.iter().partition(|finding| !header.ignore_known && place(finding).is_some());
        // These have the same mismatch as a known issue, or one that a known issue may cause in a graph. There was no time to
        // tell them apart.
        let is_like_known = |finding: &&Finding| {
            let shown = &finding.trigger.mismatch;
            let is_like =
                |known: &Mismatch| known.is_that_of(shown) || shown.operator == GRAPH && known.may_cause(shown);
            !header.ignore_known && results.known.iter().any(|known| is_like(&known.mismatch))
        };
        let (open, unsorted): (Vec<&Finding>, Vec<&Finding>) = results.triaged.unsorted.iter().partition(is_like_known);
        let mut met: BTreeMap<&str, u64> = BTreeMap::new();
        let met_again = old.iter().filter_map(|finding| Some((place(finding)?, finding.count)));
        for (place, count) in statistics.explained.iter().map(|(place, count)| (*place, *count)).chain(met_again) {
            *met.entry(&header.triggers[place]).or_default() += count;
        }
        let coverage = statistics.coverage.report(&header.runtimes, &header.triggers);
        let outline = Outline {
            header,
            origins: results.origins,
            statistics,
            coverage: &coverage,
            ledger,
            new: &new,
            unsorted: &unsorted,
            is_whole: results.is_whole,
            met: &met,
        };
        let summary = Summary::new(&outline);
        let mut out = anstream::stdout().lock();
        let known_as = |finding: &Finding| Some(ledger.find(finding)?.cause.id.as_str());
        write_findings(&new, ledger, &known_as, &mut out)?;
        write_unsorted(&unsorted, open.len(), self.verbose, &mut out)?;
        write(statistics, &mut out)?;
        write_known(&met, ledger, &header.runtimes, self.verbose, &mut out)?;
        if self.verbose {
            write_details(statistics, &mut out)?;
        }
        coverage::save(&coverage, &self.output)?;
        for (name, text) in [
            ("summary.json", summary.json()),
            ("summary.md", summary.markdown()),
            ("junit.xml", summary.junit(&coverage)),
        ] {
            let path = self.output.join(name);
            write_whole(&path, text.as_bytes()).with_context(|| format!("{} cannot be written", path.display()))?;
        }
        self.save(&new, results, &mut out)?;
        if !self.verbose {
            let summary = self.output.join("summary.md");
            writeln!(out, "\n{} has the details, and --verbose shows them.", summary.display())?;
        }
        if !results.is_whole {
            writeln!(out, "\nNot brought to its end, after {} cases: `--resume` goes on with it", statistics.cases)?;
        }
        let is_failure = |finding: &&&Finding| self.fail_on.is_none_or(|least| finding.severity() <= least);
        Ok(if new.iter().chain(&unsorted).any(|finding| is_failure(&finding)) {
            Ending::Finding
        } else if results.is_whole || results.may_be_incomplete {
            Ending::NothingWrong
        } else {
            Ending::Stopped
        })
    }

    /// Saves new findings in the folder, in the layout of a checkout. They are saved in the current checkout too, unless the
    /// campaign is one shard of several or did not consider known issues.
    fn save(&self, new: &[&Finding], results: &Results, to: &mut impl Write) -> anyhow::Result<()> {
        let here = Path::new(".");
        let is_for_checkout = here.join(CASES).is_dir() && !results.is_part && !results.header.ignore_known;
        let mut runtimes = match (results.open)() {
            _ if new.is_empty() => vec![],
            Err(_) if results.stop.is_due() => vec![],
            opened => opened?,
        };
        for finding in new {
            let snapshot = snapshot(&finding.case, &mut runtimes);
            // A runtime that was stopped has no known result.
            let snapshot = (!results.stop.is_due()).then_some(snapshot);
            let saved = finding.write(&self.output, snapshot.as_deref())?;
            let path = if is_for_checkout { finding.save_with(here, || snapshot)? } else { saved };
            writeln!(to, "Saved {}", path.display())?;
        }
        Ok(())
    }
}

/// Brings a triage to its end, and shows the progress.
pub(super) fn finish(triage: &Triage, statistics: &Statistics, stop: &Stop) -> Result<Triaged, OpenError> {
    let progress = Progress::new();
    let show = |done: usize, total: usize| {
        let text = || format!("Minimizing: {done} of {total} groups of mismatches");
        progress.show(done as u64, Some(total as u64), None, text);
    };
    let triaged = triage.finish(&statistics.groups, stop, &show);
    progress.finish();
    triaged
}

/// Writes how many known issues were met; if verbose, also what each one is, and a command that shows it.
fn write_known(
    counts: &BTreeMap<&str, u64>,
    ledger: &Ledger,
    runtimes: &[RuntimeId],
    is_verbose: bool,
    to: &mut impl Write,
) -> io::Result<()> {
    if counts.is_empty() {
        return Ok(());
    }
    let met: Vec<Met> = ledger.causes.iter().filter_map(|cause| Met::of(cause, counts)).collect();
    let concerned = ledger.concerning(runtimes).count();
    let end = if is_verbose { ':' } else { '.' };
    writeln!(to, "\n{} of {concerned} known issues of these runtimes were met{end}", met.len())?;
    if !is_verbose {
        return Ok(());
    }
    for Met { cause, count, most, variants } in met {
        let state = if cause.state == State::Open { String::new() } else { format!(" ({})", cause.state) };
        let variants = if variants > 1 { format!(" in {variants} variants") } else { String::new() };
        writeln!(to, "   {}{state}: {}{variants}\n      {}", cause.id, times(count), cause.title)?;
        writeln!(to, "      {}", reproduce(&most.case))?;
    }
    Ok(())
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// How often a cause was met.
struct Met<'a> {
    cause: &'a Cause,
    count: u64,
    /// The variant that was met most often.
    most: &'a Variant,
    /// How many of its variants were met.
    variants: usize,
}

impl Met<'_> {
    /// `None` if the cause was not met; `counts` has the counts of the variants, by id.
    fn of<'a>(cause: &'a Cause, counts: &BTreeMap<&str, u64>) -> Option<Met<'a>> {
        let met = cause.variants.iter().filter_map(|variant| Some((*counts.get(variant.id.as_str())?, variant)));
        let met: Vec<(u64, &Variant)> = met.collect();
        let (_, most) = met.iter().rev().max_by_key(|(count, _)| count)?;
        Some(Met { cause, count: met.iter().map(|(count, _)| count).sum(), most, variants: met.len() })
    }
}

pub(super) fn write_findings<'a>(
    findings: &[&Finding],
    ledger: &Ledger,
    known_as: &dyn Fn(&Finding) -> Option<&'a str>,
    to: &mut impl Write,
) -> io::Result<()> {
    if findings.is_empty() {
        return writeln!(to, "{GOOD}No new findings.{GOOD:#}");
    }
    let standing = alike(findings);
    let causes = standing.iter().enumerate().filter(|(place, own)| place == *own).count();
    match findings.len() {
        1 => writeln!(to, "{BAD}1 distinct finding, minimized:{BAD:#}")?,
        many => {
            let alike = match causes {
                1 => ", which look like one cause".to_owned(),
                causes if causes < many => format!(", which look like {causes} causes"),
                _ => String::new(),
            };
            writeln!(to, "{BAD}{many} distinct findings{alike}, the most severe first:{BAD:#}")?;
        }
    }
    let leading = findings.iter().enumerate().filter(|(place, _)| standing[*place] == *place);
    for (number, (place, finding)) in (1..).zip(leading) {
        let mismatch = &finding.trigger.mismatch;
        writeln!(to, "\n{BOLD}{number}. {mismatch}{BOLD:#}")?;
        writeln!(to, "   {}", reproduce(&finding.case.to_string()))?;
        if let Some(id) = known_as(finding) {
            writeln!(to, "   known as {id}")?;
        } else {
            for cause in ledger.resembling(&finding.signature()) {
                writeln!(to, "   resembles {}: {}", cause.id, cause.title)?;
            }
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
        if let Some(pass) = &finding.pass {
            let is_none = is_first_stage(&finding.signature().runtime, pass);
            let none = if is_none { "none; it shows before anything is optimized, in the stage " } else { "" };
            writeln!(to, "   pass           {none}{pass}")?;
        }
        writeln!(to, "   signature: {}", finding.signature())?;
        let others = findings.iter().enumerate().filter(|(other, _)| *other != place && standing[*other] == place);
        for (number, (_, other)) in (1..).zip(others) {
            if number == 1 {
                writeln!(to, "   These look like the same cause:")?;
            }
            writeln!(to, "      {}\n         {}", other.trigger.mismatch, reproduce(&other.case.to_string()))?;
        }
    }
    Ok(())
}

/// How many mismatches that were not minimized are shown, unless verbose.
const SHOWN_UNSORTED: usize = 5;

/// Writes the mismatches that there was no time to minimize.
fn write_unsorted(unsorted: &[&Finding], like_known: usize, is_verbose: bool, to: &mut impl Write) -> io::Result<()> {
    if !unsorted.is_empty() {
        writeln!(
            to,
            "\n{BAD}{} new kinds of mismatch were not minimized, since there was no time left:{BAD:#}",
            unsorted.len()
        )?;
    }
    let shown = if is_verbose { unsorted.len() } else { SHOWN_UNSORTED.min(unsorted.len()) };
    for finding in &unsorted[..shown] {
        writeln!(to, "   {}: {} mismatches", finding.trigger.mismatch, finding.count)?;
        writeln!(to, "      {}", reproduce(&finding.case.to_string()))?;
    }
    if shown < unsorted.len() {
        writeln!(to, "   … and {} more", unsorted.len() - shown)?;
    }
    if like_known > 0 {
        writeln!(
            to,
            "\n{like_known} kinds of mismatch may be known issues, or new: there was no time left to minimize them"
        )?;
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a rate is shown in whole cases")]
pub(super) fn rate(statistics: &Statistics) -> f64 {
    statistics.cases as f64 / statistics.elapsed.as_secs_f64().max(1e-9)
}

pub(super) fn unsupported(runtime: &RuntimeStatistics) -> u64 {
    runtime.unsupported() - runtime.left_out()
}

fn write(statistics: &Statistics, to: &mut impl Write) -> io::Result<()> {
    let percent = percentages(&[statistics.valid, statistics.invalid, statistics.unspecified]);
    writeln!(
        to,
        "\n{} cases in {:.1?}, {:.0} a second: {} % valid, {} % invalid ({} % by exactly one rule), {} % left open\n",
        statistics.cases,
        statistics.elapsed,
        rate(statistics),
        percent[0],
        percent[1],
        statistics.invalid_by_intent * 100 / statistics.cases.max(1),
        percent[2],
    )?;
    let mut table = table([
        "runtime",
        "version",
        "agreed",
        "by design",
        "tolerated",
        "unsupported",
        "left out",
        "wrong",
        "unclassified",
    ]);
    for runtime in &statistics.runtimes {
        table.add_row([
            runtime.id.to_string(),
            runtime.id.version.clone(),
            runtime.agreed.to_string(),
            runtime.by_design.to_string(),
            runtime.tolerated.values().sum::<u64>().to_string(),
            unsupported(runtime).to_string(),
            runtime.left_out().to_string(),
            runtime.wrong.to_string(),
            runtime.unclassified.to_string(),
        ]);
    }
    align_right(&mut table, 2);
    writeln!(to, "{}", table.trim_fmt())
}

/// Writes details that are no findings: gaps, refusals, NaN payloads, unclassified failures, and where the time went.
fn write_details(statistics: &Statistics, to: &mut impl Write) -> io::Result<()> {
    write_gaps(statistics, to)?;
    write_refusals(statistics, to)?;
    write_nan_payloads(statistics, to)?;
    for runtime in &statistics.runtimes {
        if let Some(message) = &runtime.unclassified_message {
            writeln!(to, "\n{} fails in words that no table knows, such as \"{}\"", runtime.id, one_line(message))?;
        }
    }
    write_times(statistics, to)
}

/// Writes which runtimes change the payload of a NaN: that is no finding, but it is not passed over in silence.
fn write_nan_payloads(statistics: &Statistics, to: &mut impl Write) -> io::Result<()> {
    for runtime in statistics.runtimes.iter().filter(|runtime| runtime.nan_payloads() > 0) {
        let (count, s) = (runtime.nan_payloads(), if runtime.nan_payloads() == 1 { "" } else { "s" });
        writeln!(to, "\n{} changes the payload of a NaN in {count} case{s}, which no text forbids", runtime.id)?;
    }
    Ok(())
}

/// Writes where the time of all threads together went.
fn write_times(statistics: &Statistics, to: &mut impl Write) -> io::Result<()> {
    let times = &statistics.times;
    let own = times.stages();
    let runtimes =
        statistics.runtimes.iter().map(|runtime| runtime.id.to_string()).zip(times.executing.iter().copied());
    let (names, spent): (Vec<String>, Vec<u64>) = runtimes
        .chain(own.map(|(stage, time)| (stage.to_owned(), time)))
        .map(|(name, time)| (name, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
        .unzip();
    let parts = names.iter().zip(percentages(&spent)).map(|(name, percent)| format!("{name} {percent} %"));
    let parts: Vec<String> = parts.collect();
    writeln!(to, "\nTime: {}", parts.join(", "))
}

/// Writes the right refusals for another reason than the broken rule, on one line for each runtime.
fn write_refusals(statistics: &Statistics, to: &mut impl Write) -> io::Result<()> {
    for runtime in &statistics.runtimes {
        let sum = |of: fn(&Refusals) -> u64| runtime.refusals.values().map(of).sum::<u64>();
        let (count, other, unstated) = (sum(|r| r.count), sum(|r| r.other), sum(|r| r.unstated));
        if other + unstated == 0 {
            continue;
        }
        let mut rules: Vec<(&Rule, &Refusals)> = runtime.refusals.iter().filter(|(_, rule)| rule.other > 0).collect();
        rules.sort_by_key(|(_, refusals)| std::cmp::Reverse(refusals.other));
        let rules: Vec<String> =
            rules.iter().map(|(rule, refusals)| format!("{rule} {} of {}", refusals.other, refusals.count)).collect();
        let rules = if rules.is_empty() { String::new() } else { format!(": {}", rules.join(", ")) };
        let unstated = if unstated == 0 { String::new() } else { format!("; for {unstated} no reason is known") };
        writeln!(
            to,
            "\n{} refuses {count} invalid cases, {other} for another reason than the broken rule{rules}{unstated}",
            runtime.id
        )?;
    }
    Ok(())
}

/// Writes every gap of each runtime, by operator version, on one line for each gap.
fn write_gaps(statistics: &Statistics, to: &mut impl Write) -> io::Result<()> {
    for runtime in &statistics.runtimes {
        let mut gaps: Vec<(Gap, Vec<String>, u64)> = Vec::new();
        for (tally, count) in &runtime.unsupported {
            let cell = match tally.operator {
                GRAPH => "graphs".to_owned(),
                operator => format!("{operator}-{}", tally.version),
            };
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
                0 => String::new(),
                1..=12 => format!(" ({})", types.iter().map(|t| t.name()).collect::<Vec<_>>().join(" ")),
                many => format!(" ({many} types)"),
            };
            let gap = lack(gap);
            writeln!(to, "\n{} {gap}: {count} cases of {}{types}", runtime.id, cells.join(" "))?;
        }
    }
    Ok(())
}
