//! `crosscheck cases`: the cases of a campaign, for other programs to use.

use std::io::{self, BufWriter, Write};

use super::Ending;
use super::campaign::{named_or_all, operator, stream};
use crate::campaign::Source;
use crate::case::Nodes;
use crate::finding::Ledger;
use crate::operator::Operator;

/// Print the cases that a campaign of the same seed, operators and `--nodes` runs, one a line
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck cases --seed 7 --cases 1000 | crosscheck run -")]
pub(super) struct Arguments {
    /// How many cases to print: those of the known issues, those of the catalogue, and then those of the seed
    #[arg(long, value_name = "N", default_value_t = 1000)]
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
    /// Write out every element, also where a case has `:random(7)`, `:special` or elements that count up
    #[arg(long)]
    elements: bool,
}

/// How many cases are drawn before they are printed.
const AT_A_TIME: usize = 4096;

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let operators = named_or_all(&arguments.operator);
    let source = stream(&Ledger::load()?, operators, arguments.seed, arguments.nodes);
    let mut out = BufWriter::new(io::stdout().lock());
    for first in (0..arguments.cases).step_by(AT_A_TIME) {
        let indices = (first..arguments.cases).take(AT_A_TIME);
        for generated in source.cases(&indices.collect::<Vec<u64>>()) {
            let case = if arguments.elements { generated.case.with_elements() } else { generated.case };
            writeln!(out, "{case}")?;
        }
    }
    out.flush()?;
    Ok(Ending::NothingWrong)
}
