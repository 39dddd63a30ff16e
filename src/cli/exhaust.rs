//! `crosscheck exhaust`: every case within bounds, without sampling.

use anyhow::Context;
use serde_json::json;

use super::Ending;
use super::campaign::{Common, Planned, conduct, operator};
use crate::campaign::Limits;
use crate::case::space::Bounds;
use crate::finding::Ledger;
use crate::operator::{NEWEST_OPSET, Operator};

/// Run every case within bounds, without sampling
///
/// The data is a graph input of type float, with all shapes of up to --max-rank dims from 0 to --max-dim. An attribute that
/// counts axes is absent, in [-r-2, r+2] for rank r, or at the limits of 32 and 64 bits; allowzero is absent, 0, 1 or 2; a target
/// shape has up to --max-target-rank entries from -2 to 6 or at the limits of 32 and 64 bits, and is an initializer (an attribute
/// in Reshape-1). The order of the cases is stable: by opset, dims, attributes, target shape.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck exhaust --operator shape --max-rank 4 --shard 2/8")]
pub(super) struct Arguments {
    /// The operator
    #[arg(long, value_parser = operator)]
    operator: &'static Operator,
    /// The highest rank of the data
    #[arg(long, value_name = "N", default_value_t = 3)]
    max_rank: u32,
    /// The largest size of a dimension of the data
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(i64).range(0..=1000))]
    max_dim: i64,
    /// The highest rank of a target shape
    #[arg(long, value_name = "N", default_value_t = 4)]
    max_target_rank: u32,
    /// Opsets, such as `14,26` [default: the first of every version]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=i64::from(NEWEST_OPSET)))]
    opset: Vec<u8>,
    /// The number of the first case of the shard to run, to continue a run that was stopped
    #[arg(long, value_name = "N", default_value_t = 0)]
    from: u64,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let opsets = if arguments.opset.is_empty() {
        arguments.operator.versions.iter().map(|version| version.since).collect()
    } else {
        arguments.opset.clone()
    };
    let bounds = Bounds {
        operator: arguments.operator,
        opsets,
        max_rank: arguments.max_rank,
        max_dim: arguments.max_dim,
        max_target_rank: arguments.max_target_rank,
    };
    check_limits(&bounds)?;
    let space = bounds.len().context("the space holds more than 2^64 cases: choose narrower bounds")?;
    let described = json!({
        "operator": bounds.operator.name,
        "opsets": bounds.opsets,
        "max_rank": bounds.max_rank,
        "max_dim": bounds.max_dim,
        "max_target_rank": bounds.max_target_rank,
    });
    let (common, from) = (&arguments.common, arguments.from);
    let opened = common.checkpoint()?;
    let shard = common.shard(&opened);
    let held = shard.share_of(space);
    let planned =
        held.checked_sub(from).with_context(|| format!("--from {from} is past the {held} cases of shard {shard}"))?;
    let what = format!("The space holds {space} cases, shard {shard} {held} of them, to run {planned}");
    let limits = Limits { cases: Some(space), time: None };
    let plan = Planned { source: &bounds, described, shard, from, limits, what };
    let conducted = conduct(&plan, common, &Ledger::load()?, opened)?;
    if conducted.cases >= planned {
        println!("\nAll {planned} planned cases were run: {from} to {held} of the {held} of the shard.");
    } else {
        println!("\nStopped after {} of {planned} planned cases; go on with --resume", conducted.cases);
    }
    Ok(conducted.ending)
}

/// Checks that no case of the space exceeds the limits of a case.
fn check_limits(bounds: &Bounds) -> anyhow::Result<()> {
    use crate::case::{MAX_ELEMENTS, MAX_RANK};
    let elements = u64::try_from(bounds.max_dim).ok().and_then(|dim| dim.checked_pow(bounds.max_rank));
    anyhow::ensure!(
        elements.is_some_and(|n| n <= MAX_ELEMENTS as u64) && bounds.max_rank as usize <= MAX_RANK,
        "--max-rank {} and --max-dim {} give tensors of more than {MAX_ELEMENTS} elements or {MAX_RANK} dims",
        bounds.max_rank,
        bounds.max_dim,
    );
    anyhow::ensure!(bounds.max_target_rank as usize <= MAX_RANK, "--max-target-rank can be at most {MAX_RANK}");
    Ok(())
}
