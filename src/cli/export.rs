//! `crosscheck export`: the saved regressions and the catalogue as test data for others.

use std::path::PathBuf;

use super::Ending;
use crate::finding::{self, CASES};

/// Write the saved regressions and the catalogue of edge cases in the layout of ONNX test data
///
/// Models that have one right answer come with it, from the in-house implementation; models that must be refused stand in a
/// folder of their own. A README in the folder tells how to use them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck export test-data && crosscheck replay test-data")]
pub(super) struct Arguments {
    /// The folder to write, which is new or empty
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The folder under which `corpus/regressions` stands
    #[arg(long, value_name = "DIR", default_value = ".")]
    from: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let saved = arguments.from.join(CASES);
    let regressions = if saved.is_dir() {
        finding::load(&arguments.from)?
    } else {
        eprintln!(
            "There are no saved regressions: {} is not a folder. The catalogue alone is written.",
            saved.display()
        );
        vec![]
    };
    let exported = finding::export(&arguments.folder, &regressions)?;
    println!(
        "{}: {} models with their outputs, {} that must be refused; {} cases that the specification leaves open are left \
         out.",
        arguments.folder.display(),
        exported.valid,
        exported.must_refuse,
        exported.left_open
    );
    Ok(Ending::NothingWrong)
}
