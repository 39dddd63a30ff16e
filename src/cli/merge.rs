//! `crosscheck merge`: the results of several campaigns together, such as the shards of one.

use std::path::PathBuf;

use super::{Ending, conclusion, stop_on_signals};
use crate::campaign::{Merged, Origin};
use crate::finding::{Ledger, Probe, Triage, Triaged};
use crate::runtime::{self, Row, RuntimeId, Stop};

/// Join the folders of several campaigns, such as the shards of one or those of several seeds
///
/// Counters, coverage and costs are added, and findings are distinguished by their signatures, as in one campaign over all cases.
/// No case is counted twice: a case that is in several folders counts once, so the result can be merged again. The order of the
/// folders does not matter. Runtimes are needed only if there are mismatches that no known issue explains.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck merge shard-1 shard-2 shard-3 --output merged")]
pub(super) struct Arguments {
    /// Folders that `crosscheck campaign`, `exhaust` or `merge` wrote
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Merge even if a shard is missing, or did not reach its end
    #[arg(long)]
    incomplete: bool,
    #[command(flatten)]
    conclusion: conclusion::Arguments,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let merged = Merged::read(&arguments.folders)?;
    let (header, conclusion) = (merged.header(), &arguments.conclusion);
    let ledger = Ledger::load()?;
    anyhow::ensure!(
        ledger.checksum() == header.ledger,
        "the known issues here are not those of the campaigns: merge in the same checkout, or with the same program"
    );
    let origins = merged.origins();
    let lacking = origins.iter().flat_map(|origin| origin.incomplete.iter().map(move |part| (origin, part)));
    let lacking: Vec<String> = lacking
        .map(|(origin, part)| {
            let what = part.cases.map_or("is not there".to_owned(), |cases| format!("was stopped after {cases} cases"));
            format!("shard {} of {} {what}", part.shard, origin.source)
        })
        .collect();
    anyhow::ensure!(
        arguments.incomplete || lacking.is_empty(),
        "{}: run what is missing, go on with what was stopped by --resume, or merge what there is with --incomplete",
        lacking.join("; ")
    );
    for part in &lacking {
        eprintln!("Incomplete: {part}");
    }
    let stop = stop_on_signals()?;
    let statistics = merged.total();
    let names: Vec<String> = header.runtimes.iter().map(RuntimeId::to_string).collect();
    let (mut rows, mut known, mut triaged) = (vec![], vec![], Triaged::default());
    let limits = conclusion.runtimes.limits();
    if !statistics.groups.is_empty() {
        let list = conclusion.runtimes.runtimes.clone().unwrap_or_else(|| names.join(","));
        rows = runtime::select(Some(&list))?;
        let mut probe = Probe::new(conclusion.runtimes.open(&rows)?);
        let in_words = |ids: &[RuntimeId]| ids.iter().map(RuntimeId::with_version).collect::<Vec<_>>().join(", ");
        anyhow::ensure!(
            probe.ids() == header.runtimes,
            "the campaigns were run on {}, and here are {}: name the same with --runtimes",
            in_words(&header.runtimes),
            in_words(&probe.ids())
        );
        let (owners, triggers) = ledger.owned_triggers(&mut probe);
        anyhow::ensure!(
            owners.iter().map(|known| &known.variant.id).eq(&header.triggers),
            "known issues do not show here as they did in the campaigns: merge on a machine of the same kind"
        );
        known = triggers;
        let to_ignore = if header.ignore_known { &[][..] } else { &known };
        let open = |rows: &[Row], stop: &Stop| conclusion.runtimes.open_until(rows, &limits, stop);
        let triage = Triage::new(&rows, to_ignore, conclusion.threads(), limits.time, &open);
        triaged = conclusion::finish(&triage, &statistics, &stop)?;
    }
    merged.write(&conclusion.output)?;
    if merged.surplus > 0 {
        eprintln!("Campaigns that add nothing, since all their cases are in others: {}", merged.surplus);
    }
    let results = conclusion::Results {
        header,
        origins: &origins,
        statistics: &statistics,
        triaged: &triaged,
        known: &known,
        ledger: &ledger,
        is_part: false,
        is_whole: origins.iter().all(Origin::is_whole) && triaged.unsorted.is_empty(),
        may_be_incomplete: arguments.incomplete,
        open: &|| conclusion.runtimes.open_until(&rows, &limits, &stop),
        stop: &stop,
    };
    conclusion.conclude(&results)
}
