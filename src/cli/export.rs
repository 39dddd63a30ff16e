//! `crosscheck export`: the saved regressions and the catalogue as a data set for others.

use std::path::PathBuf;

use bytesize::ByteSize;

use super::progress::Progress;
use super::{Ending, PlaceArguments, stop_on_signals, threads};
use crate::finding::{self, CASES, LEFT_OPEN, Ledger, MUST_REFUSE, VALID};
use crate::runtime::{self, select};

/// Write the saved regressions and the catalogue of edge cases as a data set for the tests of a runtime
///
/// Models with one right answer come with that answer, from the in-house implementation; models that must be refused, and models
/// whose right result the specification leaves open, are in folders of their own, all in the layout of ONNX test data. The data
/// set also has a manifest, a runner in Python, a crate without dependencies for tests in Rust, and a README.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  crosscheck export test-data && crosscheck replay test-data\n  \
                        crosscheck export corpus --expected onnxruntime && python corpus/replay.py")]
pub(super) struct Arguments {
    /// The folder to write, which is new or empty
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The folder that holds `corpus/regressions`
    #[arg(long, value_name = "DIR", default_value = ".")]
    from: PathBuf,
    /// The most bytes that the files of a case may have together; larger cases are left out
    #[arg(long, value_name = "BYTES", default_value = "64KiB")]
    largest: ByteSize,
    /// Runtimes, such as `onnxruntime,tract/optimized`: run the cases on each, and list those that it does not get right under
    /// `expected/`
    #[arg(long, value_name = "LIST")]
    expected: Option<String>,
    /// Threads to use for --expected [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    place: PlaceArguments,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    // Opened once here, so that provisioning and its errors come before anything else.
    let rows = arguments.expected.as_ref().map(|list| select(Some(list))).transpose()?.unwrap_or_default();
    let ids = runtime::ids(&arguments.place.open(&rows)?);
    let ledger = Ledger::load_for(&rows)?;
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
    let corpus = finding::export(&arguments.folder, &regressions, arguments.largest.as_u64())?;
    println!(
        "{}: {} models with their outputs, {} that must be refused, {} that the specification leaves open; {} of more than {} \
         and {} of several runs are left out.",
        arguments.folder.display(),
        corpus.count(VALID),
        corpus.count(MUST_REFUSE),
        corpus.count(LEFT_OPEN),
        corpus.left_out,
        arguments.largest,
        corpus.of_many_runs,
    );
    if rows.is_empty() {
        return Ok(Ending::NothingWrong);
    }
    let open = || arguments.place.open(&rows);
    let stop = stop_on_signals()?;
    let progress = Progress::new();
    let all = corpus.cases.len();
    let show =
        |done: usize| progress.show(done as u64, Some(all as u64), None, || format!("{done} of {all} cases run"));
    let failures = corpus.failures(&ledger, &open, threads(arguments.threads), &stop, &show)?;
    progress.finish();
    let Some(failures) = failures else {
        eprintln!("Stopped: what runtimes do not do right is not listed.");
        return Ok(Ending::Stopped);
    };
    for (id, failures) in ids.iter().zip(&failures) {
        finding::write_failures(&arguments.folder, id, failures)?;
        println!("{id}: {} cases are right, and {} are not", all - failures.len(), failures.len());
    }
    Ok(Ending::NothingWrong)
}
