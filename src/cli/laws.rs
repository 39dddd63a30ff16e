//! `crosscheck laws`: pairs of graphs that must give the same result on one runtime.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::campaign::{named_or_all, operator};
use super::progress::Progress;
use super::{Ending, RuntimeArguments, align_right, quoted, stop_on_signals, table, threads};
use crate::case::law::{LAWS, Law, Pair};
use crate::case::{Case, describe};
use crate::finding::laws::{Breach, LawStatistics, Options, PairExamination, examine_pair, hold, minimize};
use crate::finding::{Ledger, Probe, one_line};
use crate::operator::Operator;
use crate::runtime::{Execution, Outcome, RuntimeId, ids};
use crate::verdict::{Judgement, reaction, sentences};

/// Test runtimes with laws: pairs of graphs that must give the same result
///
/// An example is `Transpose(Transpose(x, p), q) = x`, where q is the inverse of p. Each runtime is compared with itself, so a
/// broken law shows a defect without an expected answer. A broken law that a known issue explains is counted separately.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  crosscheck laws --list\n  crosscheck laws --for 60s\n  crosscheck laws 'Transpose@28 perm=[1,0] float[2,3]'"
)]
pub(super) struct Arguments {
    /// A call: shows both graphs of each law that holds for it, and the results of each runtime [default: draw calls]
    call: Option<Case>,
    /// Print the laws
    #[arg(long)]
    list: bool,
    /// Only these laws, such as `transpose-inverse,tile-of-tile`
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    law: Vec<&'static Law>,
    /// How long to run [default: until --pairs are run]
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    time: Option<Duration>,
    /// How many pairs to draw [default: 20000, or as many as there is time for]
    #[arg(long, value_name = "N")]
    pairs: Option<u64>,
    /// The seed: the same one gives the same pairs on every machine
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Operators that the graphs may have, such as `shape,reshape` [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = operator)]
    operator: Vec<&'static Operator>,
    #[command(flatten)]
    runtimes: RuntimeArguments,
    /// Threads to use [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The most graphs that are put into one model; with 1 each graph is executed alone
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=512))]
    batch: u16,
}

/// How many pairs are drawn if neither `--pairs` nor `--for` is given.
const PAIRS: u64 = 20_000;

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let named = &arguments.law;
    let laws: Vec<&'static Law> = LAWS.iter().filter(|law| named.is_empty() || named.contains(law)).collect();
    if arguments.list {
        return list(&laws, &mut io::stdout().lock());
    }
    match &arguments.call {
        Some(call) => show(call, &laws, arguments),
        None => draw(&laws, arguments),
    }
}

fn list(laws: &[&'static Law], to: &mut impl Write) -> anyhow::Result<Ending> {
    for law in laws {
        let of: Vec<&str> = law.of.iter().map(|operator| operator.name).collect();
        writeln!(to, "{} (of {})\n  {}", law.id, of.join(", "), law.says)?;
    }
    Ok(Ending::NothingWrong)
}

/// Shows both graphs of each law for a call.
fn show(call: &Case, laws: &[&'static Law], arguments: &Arguments) -> anyhow::Result<Ending> {
    let pairs: Vec<Pair> = laws.iter().filter_map(|law| law.pair(call)).collect();
    anyhow::ensure!(
        !pairs.is_empty(),
        "no law holds for {call}: it begins with a valid call of one node; `crosscheck laws --list` names the operators"
    );
    let rows = arguments.runtimes.select()?;
    let mut runtimes = arguments.runtimes.open(&rows)?;
    let (_, known) = Ledger::load()?.owned_triggers(&mut Probe::new(arguments.runtimes.open(&rows)?));
    let mut out = io::stdout().lock();
    let mut is_broken = false;
    let ids = ids(&runtimes);
    for pair in &pairs {
        let Some(examination) = examine_pair(pair, &mut runtimes) else { break };
        write_pair(pair, &examination, ids.iter().enumerate(), &mut out)?;
        is_broken |= (0..ids.len()).any(|place| examination.is_broken(pair, &ids, place, &known));
    }
    Ok(if is_broken { Ending::Finding } else { Ending::NothingWrong })
}

/// 1/`RESERVE` of the time is reserved for minimizing.
const RESERVE: u32 = 4;

fn draw(laws: &[&'static Law], arguments: &Arguments) -> anyhow::Result<Ending> {
    let operators = named_or_all(&arguments.operator);
    let laws: Vec<&'static Law> = laws.iter().copied().filter(|law| law.is_within(&operators)).collect();
    anyhow::ensure!(!laws.is_empty(), "no law is about these operators alone; `crosscheck laws --list` names them all");
    let began = Instant::now();
    let signals = stop_on_signals()?;
    let until = |time: Option<Duration>| signals.at(time.map(|time| began + time));
    let for_pairs = until(arguments.time.map(|time| time.saturating_sub(time / RESERVE)));
    let for_minimizing = until(arguments.time);
    let rows = arguments.runtimes.select()?;
    let limits = arguments.runtimes.limits();
    let mut probe = Probe::new(arguments.runtimes.open_until(&rows, &limits, &signals)?);
    let (_, known) = Ledger::load()?.owned_triggers(&mut probe);
    drop(probe);
    let pairs = arguments.pairs.or_else(|| arguments.time.is_none().then_some(PAIRS));
    let options = Options {
        laws: &laws,
        operators: &operators,
        seed: arguments.seed,
        pairs,
        threads: threads(arguments.threads),
        batch: arguments.batch.into(),
        known: &known,
        open: &|| arguments.runtimes.open_until(&rows, &limits, &for_pairs),
    };
    let progress = Progress::new();
    let mut held = hold(&options, &for_pairs, &|so_far| {
        let done = so_far.pairs + so_far.none;
        progress
            .show(done, pairs, Some(began.elapsed()), || format!("{done} pairs, {} laws broken", so_far.broken.len()));
    })?;
    progress.finish();
    let open = || arguments.runtimes.open_until(&rows, &limits, &for_minimizing);
    minimize(&mut held, &known, &open, &for_minimizing)?;
    let mut out = io::stdout().lock();
    write_held(&held, laws.len(), &mut out)?;
    let mut runtimes = if held.broken.is_empty() { vec![] } else { arguments.runtimes.open(&rows)? };
    let ids = ids(&runtimes);
    for ((law, release, _), Breach { pair, is_minimized, count }) in &held.broken {
        let how = if *is_minimized { "minimized" } else { "as it was drawn" };
        writeln!(out, "\n{law} is broken on {release}, {count} times; {how}:\n")?;
        if let Some(examination) = examine_pair(pair, &mut runtimes) {
            write_pair(
                pair,
                &examination,
                ids.iter().enumerate().filter(|(_, id)| id.release() == *release),
                &mut out,
            )?;
        }
        writeln!(out, "  To see it again:\n    crosscheck laws --law {law} {}", quoted(&pair.call.to_string()))?;
    }
    Ok(match (held.broken.is_empty(), signals.was_asked()) {
        (false, _) => Ending::Finding,
        (true, true) => Ending::Stopped,
        (true, false) => Ending::NothingWrong,
    })
}

fn write_held(held: &LawStatistics, laws: usize, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "{} pairs of {laws} laws; {} draws for which the law does not hold\n", held.pairs, held.none)?;
    let mut rows = table(["runtime", "held", "known issue", "unsupported", "both refused", "broken"]);
    for (id, tally) in &held.tallies {
        let counts = [tally.held, tally.known, tally.unsupported, tally.refused, tally.broken];
        rows.add_row([id.to_string()].into_iter().chain(counts.iter().map(u64::to_string)));
    }
    align_right(&mut rows, 1);
    writeln!(to, "{rows}")?;
    match held.explained {
        0 => Ok(()),
        explained => {
            writeln!(to, "\nOf those that are broken, known issues explain {explained} once they are minimized.")
        }
    }
}

/// Writes both graphs of a pair, and the results of the runtimes; each runtime comes with its place.
fn write_pair<'a>(
    pair: &Pair,
    examination: &PairExamination,
    runtimes: impl Iterator<Item = (usize, &'a RuntimeId)>,
    to: &mut impl Write,
) -> io::Result<()> {
    writeln!(to, "{}: {}", pair.law.id, pair.law.says)?;
    writeln!(to, "  of     {}", pair.call)?;
    writeln!(to, "  left   {}", pair.left.case)?;
    writeln!(to, "  right  {}", pair.right.case)?;
    for (place, id) in runtimes {
        writeln!(to, "  {id}")?;
        for (name, side) in [("left", &examination.left), ("right", &examination.right)] {
            let (execution, judgement) = (&side.executions[place], &side.judgements[place]);
            writeln!(to, "    {name:<6} {}{}", result(execution), opinion(judgement))?;
        }
    }
    Ok(())
}

/// The result of a runtime on a graph, on one line.
fn result(execution: &Execution) -> String {
    match &execution.outcome {
        Outcome::Answer(outputs) => outputs.iter().map(|output| describe(&output.tensor)).collect::<Vec<_>>().join(" "),
        outcome => format!("{}: {}", reaction(outcome), one_line(&execution.message)),
    }
}

/// What is wrong according to the specification; empty if nothing is.
fn opinion(judgement: &Judgement) -> String {
    match judgement {
        Judgement::Wrong(found) => format!("   (wrong: {})", sentences(found)),
        _ => String::new(),
    }
}
