//! `crosscheck campaign`: as many generated cases as there is time for, and the distinct findings.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use serde_json::{Value, json};

use super::conclusion::{self, Came, rate, unsupported};
use super::progress::Progress;
use super::{Ending, stopped_by_ctrl_c};
use crate::campaign::{
    self, Header, JournalError, Kept, Limits, Manner, Opened, Options, Origin, Shard, Sharded, Source, Statistics,
    Stream,
};
use crate::case::Generator;
use crate::finding::{Known, Ledger, Probe};
use crate::operator::{OPERATORS, Operator, UnknownOperator};
use crate::runtime::RuntimeId;

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
    /// How many cases in a row may have one model, which is fed otherwise in each; with 1 each is drawn with a model of its
    /// own [default: 32]
    #[arg(long, value_name = "N", value_parser = family())]
    family: Option<u64>,
    #[command(flatten)]
    common: Common,
}

/// How many cases in a row may have one model, unless another number is given.
pub(super) const FAMILY: u64 = 32;

pub(super) fn family() -> RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=1024)
}

/// What every subcommand takes that runs many cases.
#[derive(Debug, clap::Args)]
pub(super) struct Common {
    #[command(flatten)]
    conclusion: conclusion::Arguments,
    /// How many cases are put into one model, at most; with 1 each is alone
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=4096))]
    company: u16,
    /// Keep what known issues explain, and show it again
    #[arg(long)]
    ignore_known: bool,
    /// Run one part of so many: the parts are disjoint, together they are the whole, and `crosscheck merge` joins them
    /// [default: 1/1]
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
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
        Opened::open(&self.conclusion.output, manner)
    }

    /// The shard: if none is given, that of the campaign that is gone on with.
    pub(super) fn shard(&self, journal: &Opened) -> Shard {
        self.shard.or(journal.kept().map(|kept| kept.header.shard)).unwrap_or_default()
    }
}

impl Arguments {
    /// The seed, the operators, the family and the limits: what is not given is as it was in the campaign that is gone on
    /// with.
    fn with(&self, kept: Option<&Kept>) -> (u64, Vec<&'static Operator>, u64, Limits) {
        let source = kept.map_or(&Value::Null, |kept| &kept.header.source);
        let seed = self.seed.or(source["seed"].as_u64()).unwrap_or(0);
        let names = source["operators"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let theirs = names.filter_map(|name| operator(name).ok()).collect();
        let operators = [self.operator.clone(), theirs, OPERATORS.to_vec()].into_iter().find(|list| !list.is_empty());
        let limits = kept.map(|kept| kept.limits).unwrap_or_default();
        let limits = Limits { cases: self.cases.or(limits.cases), time: self.time.or(limits.time) };
        let family = self.family.or(source["family"].as_u64()).unwrap_or(FAMILY);
        (seed, operators.unwrap_or_default(), family, limits)
    }
}

pub(super) fn operator(name: &str) -> Result<&'static Operator, UnknownOperator> {
    name.trim().parse()
}

/// The cases of a campaign. Known issues come first, so that one that no longer shows is seen at once.
pub(super) fn stream(ledger: &Ledger, operators: Vec<&'static Operator>, seed: u64, family: u64) -> Stream {
    let known = ledger.entries.iter().map(Known::case).collect();
    Stream::new(Generator::new(operators), seed, known).in_families(family)
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let journal = arguments.common.journal()?;
    let (seed, operators, family, limits) = arguments.with(journal.kept());
    let names: Vec<&str> = operators.iter().map(|operator| operator.name).collect();
    let described = json!({ "seed": seed, "operators": names, "family": family });
    let ledger = Ledger::load()?;
    let source = stream(&ledger, operators, seed, family);
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
    let conclusion = &common.conclusion;
    let rows = conclusion.runtimes.select()?;
    // Opened once here, so that provisioning and its errors come before anything else.
    let mut probe = Probe::new(conclusion.runtimes.open(&rows)?);
    let opened = probe.ids();
    let (owners, known) = ledger.owned_triggers(&mut probe);
    drop(probe);
    let cases = (plan.described.clone(), plan.shard);
    let owners = owners.into_iter().map(|known| known.id.clone()).collect();
    let header = Header::new(cases, opened.clone(), ledger.checksum(), owners, common.ignore_known);
    let mut journal = journal.start(header.clone(), plan.limits)?;
    let options = Options {
        source: &Sharded { source: plan.source, shard: plan.shard },
        from: plan.from,
        cases: plan.limits.cases.map(|cases| plan.shard.share_of(cases, plan.source.family())),
        time: plan.limits.time,
        threads: conclusion.threads(),
        company: common.company.into(),
        expected: &known,
        known: if common.ignore_known { &[] } else { &known },
    };
    let stop = stopped_by_ctrl_c()?;
    let names: Vec<String> = opened.iter().map(RuntimeId::with_version).collect();
    eprintln!("{}; runtimes: {}", plan.what, names.join(", "));
    let progress = Progress::new();
    let show = |so_far: &Statistics| {
        let (done, whole) = match options.time {
            Some(time) => (so_far.elapsed.as_secs(), Some(time.as_secs())),
            None => (so_far.cases, options.cases),
        };
        progress.show(done, whole, Some(so_far.elapsed), || line(so_far));
    };
    let open = || conclusion.runtimes.open(&rows);
    let mut statistics = campaign::run(&options, Some(&mut journal), &open, &stop, &show)?;
    progress.finish();
    let findings = conclusion.triage(&statistics, &rows)?;
    let cpu = cpu_time();
    journal.end(cpu)?;
    statistics.times.cpu += cpu;
    let origin = Origin::new(plan.described.clone(), &[(plan.shard, statistics.cases, true)]);
    let came = Came {
        header: &header,
        origins: &[origin],
        statistics: &statistics,
        findings: &findings,
        known: &known,
        ledger,
        is_part: plan.shard != Shard::WHOLE,
    };
    Ok(Conducted { cases: statistics.cases, ending: conclusion.conclude(&came, &rows)? })
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
