//! `crosscheck campaign`: as many generated cases as there is time for, and the distinct findings.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use serde_json::{Value, json};

use super::conclusion::{self, Results, rate, unsupported};
use super::progress::Progress;
use super::{Ending, reproduce, stop_on_signals};
use crate::campaign::{
    self, CheckpointError, Header, Limits, Manner, Opened, Options, Origin, RuntimeStatistics, Saved, Shard, Sharded,
    Source, Statistics, Stream,
};
use crate::case::{Generator, Nodes};
use crate::finding::{Finding, Ledger, Probe, Record, Triage};
use crate::operator::{OPERATORS, Operator, UnknownOperator};
use crate::runtime::{Row, RuntimeId, Stop};

/// Generate cases, run them on every runtime, and list the distinct findings
///
/// The catalogue of edge cases comes first, and then a case for each operator version and element type.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck campaign --for 60s --seed 7 --operator reshape")]
pub(super) struct Arguments {
    /// How long to run, such as `90s` or `8h` [default: until stopped, or until --cases are run]
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
    /// How many nodes a case has, such as `1`, or `2..6` for graphs only; with `1..6` every other row of 32 cases has graphs only
    /// [default: 1..6]
    #[arg(long, value_name = "N..M")]
    nodes: Option<Nodes>,
    #[command(flatten)]
    common: Common,
}

/// The arguments of every subcommand that runs many cases.
#[derive(Debug, clap::Args)]
pub(super) struct Common {
    #[command(flatten)]
    conclusion: conclusion::Arguments,
    /// The most cases that are put into one model; with 1 each case is executed alone
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=4096))]
    batch: u16,
    /// Keep mismatches that known issues explain, and show them again
    #[arg(long)]
    ignore_known: bool,
    /// Run part I of N: the parts are disjoint, together they are the whole, and `crosscheck merge` joins them [default: 1/1]
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Continue the campaign in the folder, which was killed or stopped
    #[arg(long)]
    resume: bool,
    /// Start over, even if the campaign in the folder did not reach its end
    #[arg(long, conflicts_with = "resume")]
    restart: bool,
}

impl Common {
    /// Opens the checkpoint in the folder.
    pub(super) fn checkpoint(&self) -> Result<Opened, CheckpointError> {
        let manner = match (self.resume, self.restart) {
            (true, _) => Manner::Resume,
            (false, true) => Manner::Restart,
            (false, false) => Manner::Begin,
        };
        Opened::open(&self.conclusion.output, manner)
    }

    /// The shard: the one that is given, or that of the campaign that is resumed.
    pub(super) fn shard(&self, opened: &Opened) -> Shard {
        self.shard.or(opened.saved().map(|saved| saved.header.shard)).unwrap_or_default()
    }
}

impl Arguments {
    /// The seed, the operators, the numbers of nodes and the limits. A value that is not given is that of the campaign that is
    /// resumed.
    fn with(&self, saved: Option<&Saved>) -> (u64, Vec<&'static Operator>, Nodes, Limits) {
        let source = saved.map_or(&Value::Null, |saved| &saved.header.source);
        let seed = self.seed.or(source["seed"].as_u64()).unwrap_or(0);
        let names = source["operators"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let theirs = names.filter_map(|name| operator(name).ok()).collect();
        let operators = [self.operator.clone(), theirs].into_iter().find(|list| !list.is_empty());
        let limits = saved.map(|saved| saved.limits).unwrap_or_default();
        let limits = Limits { cases: self.cases.or(limits.cases), time: self.time.or(limits.time) };
        let nodes = self.nodes.or_else(|| serde_json::from_value(source["nodes"].clone()).ok()).unwrap_or_default();
        (seed, named_or_all(&operators.unwrap_or_default()), nodes, limits)
    }
}

/// The operators that are named, or else all of them.
pub(super) fn named_or_all(named: &[&'static Operator]) -> Vec<&'static Operator> {
    if named.is_empty() { OPERATORS.to_vec() } else { named.to_vec() }
}

pub(super) fn operator(name: &str) -> Result<&'static Operator, UnknownOperator> {
    name.trim().parse()
}

/// The cases of a campaign. Those of the known issues come first, so that an issue that no longer shows is noticed at once.
pub(super) fn stream(ledger: &Ledger, operators: Vec<&'static Operator>, seed: u64, nodes: Nodes) -> Stream {
    let known = ledger.known().map(|known| known.variant.case()).collect();
    Stream::new(Generator::new(operators), seed, known).with_nodes(nodes)
}

/// The description of a stream by which a checkpoint recognizes it.
fn described(seed: u64, operators: &[&'static Operator], nodes: Nodes) -> Value {
    let names: Vec<&str> = operators.iter().map(|operator| operator.name).collect();
    json!({ "seed": seed, "operators": names, "nodes": nodes })
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let opened = arguments.common.checkpoint()?;
    let (seed, operators, nodes, limits) = arguments.with(opened.saved());
    let described = described(seed, &operators, nodes);
    let ledger = Ledger::load()?;
    let source = stream(&ledger, operators, seed, nodes);
    let shard = arguments.common.shard(&opened);
    let what = if shard == Shard::WHOLE { format!("Seed {seed}") } else { format!("Seed {seed}, shard {shard}") };
    let plan = Planned { source: &source, described, shard, from: 0, limits, what };
    Ok(conduct(&plan, &arguments.common, &ledger, opened)?.ending)
}

/// The cases that are to be run.
pub(super) struct Planned<'a> {
    pub(super) source: &'a dyn Source,
    /// The description of the source by which the checkpoint recognizes it.
    pub(super) described: Value,
    /// The part of the source that is run.
    pub(super) shard: Shard,
    /// The number of the first case of the shard to run.
    pub(super) from: u64,
    /// The limits for the whole source.
    pub(super) limits: Limits,
    /// The plan in words, for a person.
    pub(super) what: String,
}

/// The result of a run of many cases.
pub(super) struct Conducted {
    pub(super) cases: u64,
    pub(super) ending: Ending,
}

/// At most this part of the time is reserved for minimizing what is not minimized while cases are run: two thirds.
const RESERVE: (u32, u32) = (2, 3);

/// If less time than this is left after minimizing, no more cases are run.
const LAST_ROUND: Duration = Duration::from_secs(2);

/// How long work under way may go on after a signal or the end of the time: cases, then minimizing, then all the rest.
const GRACE: [Duration; 3] = [Duration::from_millis(400), Duration::from_secs(1), Duration::from_millis(1400)];

/// Runs cases, and shows the progress and new findings, until there are no more, a signal comes, or the time is up. It minimizes
/// mismatches meanwhile, and the rest of them at the end. Then it shows the result, and saves new findings and the files that
/// other commands read.
pub(super) fn conduct(plan: &Planned, common: &Common, ledger: &Ledger, opened: Opened) -> anyhow::Result<Conducted> {
    let (began, cpu_before) = (Instant::now(), cpu_time());
    let conclusion = &common.conclusion;
    let rows = conclusion.runtimes.select()?;
    let earlier = opened.saved().map_or(Duration::ZERO, Saved::elapsed);
    let left = plan.limits.time.map(|time| time.saturating_sub(earlier));
    let signals = stop_on_signals()?;
    // If a resumed campaign has no time left, it minimizes without a time limit.
    let end = left.filter(|left| !left.is_zero()).map(|left| began + left);
    let [for_cases, for_minimizing, for_the_rest] = GRACE.map(|grace| signals.at(end).with_grace(grace));
    // Minimizing and the rest may take a second more than the time that was asked for.
    let [for_minimizing, for_the_rest] =
        [for_minimizing, for_the_rest].map(|stop| stop.at(end.map(|end| end + Duration::from_secs(1))));
    let limits = conclusion.runtimes.limits();
    let threads = conclusion.threads();
    let open_probe = || conclusion.runtimes.open_until(&rows, &limits, &signals).map(Probe::new);
    // Opened once here, so that provisioning and its errors come before anything else.
    let ids = open_probe()?.ids();
    let known = ledger.owned_triggers_on(threads, &open_probe);
    if signals.was_asked() {
        eprintln!("Stopped before the first case");
        return Ok(Conducted { cases: 0, ending: Ending::Stopped });
    }
    let (owners, known) = known?;
    let cases = (plan.described.clone(), plan.shard);
    let owners = owners.into_iter().map(|known| known.variant.id.clone()).collect();
    let header = Header::new(cases, ids.clone(), ledger.checksum(), owners, common.ignore_known);
    let record = Record::open(&conclusion.output, opened.saved().is_some())
        .with_context(|| format!("the record of minimized cases in {}", conclusion.output.display()))?;
    let mut checkpoint = opened.start(header.clone(), plan.limits)?;
    let to_ignore = if common.ignore_known { &[][..] } else { &known };
    let open_rows = |rows: &[Row], stop: &Stop| conclusion.runtimes.open_until(rows, &limits, stop);
    let triage = Triage::new(&rows, to_ignore, threads, limits.time, &open_rows).recorded(record);
    let options = Options {
        source: &Sharded { source: plan.source, shard: plan.shard },
        from: plan.from,
        cases: plan.limits.cases.map(|cases| plan.shard.share_of(cases)),
        reserve: &|| triage.time_left().min(left.unwrap_or_default() * RESERVE.0 / RESERVE.1),
        threads,
        batch: common.batch.into(),
        expected: &known,
        known: to_ignore,
        give_up: &|so_far| give_up(so_far),
    };
    let names: Vec<String> = ids.iter().map(RuntimeId::with_version).collect();
    eprintln!("{}; runtimes: {}", plan.what, names.join(", "));
    let progress = Progress::new();
    let found = AtomicUsize::new(0);
    let announce = |finding: &Finding| {
        found.fetch_add(1, Ordering::Relaxed);
        progress.say(&announcement(finding));
    };
    let show = |so_far: &Statistics| {
        triage.offer(&so_far.groups);
        let elapsed = earlier + began.elapsed();
        let (done, whole) = match plan.limits.time {
            Some(time) => (elapsed.as_secs(), Some(time.as_secs())),
            None => (so_far.cases, options.cases),
        };
        progress.show(done, whole, Some(elapsed), || line(so_far, found.load(Ordering::Relaxed), triage.groups_left()));
    };
    // No case is run if the time is up already.
    let for_cases = if left.is_some_and(|left| left.is_zero()) { for_cases.at(Some(began)) } else { for_cases };
    let open = || conclusion.runtimes.open_until(&rows, &limits, &for_cases);
    let mut cases_before = 0;
    // Minimizing may need less time than was reserved for it. Then more cases are run.
    let (mut statistics, triaged) = loop {
        let run = || campaign::run(&options, Some(&mut checkpoint), &open, &for_cases, &show);
        let statistics = triage.during(&announce, &for_cases, run)?;
        progress.finish();
        let triaged = conclusion::finish(&triage, &statistics, &for_minimizing)?;
        let is_over = end.is_none_or(|end| end < Instant::now() + LAST_ROUND) || for_cases.is_asked();
        if is_over || !triaged.unsorted.is_empty() || statistics.cases == cases_before {
            break (statistics, triaged);
        }
        cases_before = statistics.cases;
    };
    let cpu = cpu_time().saturating_sub(cpu_before);
    let is_whole = !signals.was_asked() && triaged.unsorted.is_empty();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Duration::from_secs(now.as_secs());
    checkpoint.end(cpu, now, is_whole)?;
    statistics.times.cpu += cpu;
    statistics.times.ended = now;
    let origin = Origin::new(plan.described.clone(), &[(plan.shard, statistics.cases, is_whole)]);
    let open = || conclusion.runtimes.open_until(&rows, &limits, &for_the_rest);
    let results = Results {
        header: &header,
        origins: &[origin],
        statistics: &statistics,
        triaged: &triaged,
        known: &known,
        ledger,
        is_part: plan.shard != Shard::WHOLE,
        is_whole,
        may_be_incomplete: false,
        open: &open,
        stop: &for_the_rest,
    };
    Ok(Conducted { cases: statistics.cases, ending: conclusion.conclude(&results)? })
}

/// Ends the process, though a thread still works.
fn give_up(so_far: &Statistics) {
    eprintln!(
        "Stopped after {} cases, without a summary: a thread of this process did not end in time; it generates, judges or runs \
         a case. The counts are saved, and `--resume` goes on from there",
        so_far.cases
    );
    std::process::exit(Ending::Stopped.status().into());
}

/// The CPU time of this process, and of those that it started and that have ended.
#[cfg(unix)]
fn cpu_time() -> Duration {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;
    let of = |who| {
        let usage = getrusage(who).ok()?;
        u64::try_from((usage.user_time() + usage.system_time()).num_microseconds()).ok()
    };
    [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN].into_iter().filter_map(of).map(Duration::from_micros).sum()
}

#[cfg(not(unix))]
fn cpu_time() -> Duration {
    Duration::ZERO
}

/// A new finding, as it is announced during a campaign.
fn announcement(finding: &Finding) -> String {
    format!("New: {}\n   {}", finding.trigger.mismatch, reproduce(&finding.case.to_string()))
}

/// The progress of a campaign: `found` is the number of new findings so far, and `open` that of groups of mismatches that are not
/// minimized yet. These may be new or known.
fn line(so_far: &Statistics, found: usize, open: usize) -> String {
    let list = |of: &dyn Fn(&RuntimeStatistics) -> u64| {
        let counts = so_far.runtimes.iter().map(|runtime| (&runtime.id, of(runtime))).filter(|(_, count)| *count > 0);
        counts.map(|(id, count)| format!("{id} {count}")).collect::<Vec<_>>().join(", ")
    };
    let new = match found {
        0 => "nothing new".to_owned(),
        1 => "1 new finding".to_owned(),
        many => format!("{many} new findings"),
    };
    let open = match open {
        0 => String::new(),
        1 => ", 1 group of mismatches to minimize".to_owned(),
        many => format!(", {many} groups of mismatches to minimize"),
    };
    let lists = [("unsupported", list(&unsupported)), ("left out", list(&RuntimeStatistics::left_out))];
    let lists = lists.into_iter().filter(|(_, counts)| !counts.is_empty());
    let parts = [new + &open].into_iter().chain(lists.map(|(what, counts)| format!("{what}: {counts}")));
    format!("{} cases, {:.0} a second, {}", so_far.cases, rate(so_far), parts.collect::<Vec<_>>().join("; "))
}
