//! `crosscheck pass`: which pass of a runtime makes a case go wrong.

use std::fs;

use prost::Message;

use super::bisect::look;
use super::{Ending, PlaceArguments, read_case};
use crate::case::Case;
use crate::finding::{Culprit, Ledger, Variant, culprit};
use crate::model::proto::ModelProto;
use crate::model::{self, Job};
use crate::runtime::{OpenRows, PASS_SEPARATOR, Row, executions, select};

/// Say from which stage of optimization on a case goes wrong, and which pass causes that
///
/// For onnxruntime, the stages are the levels of optimization, and its passes are turned off, all of them and then fewer, down to
/// single ones; for tract, the stages are typed, decluttered and optimized. If a known issue of the ledger in this folder has this
/// case, the pass is written there.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  crosscheck pass 'x=float[2,3]; a=Transpose@21 x; Squeeze a int64[0]{}:initializer' --runtime onnxruntime"
)]
pub(super) struct Arguments {
    /// The case, or a file that holds one
    case: String,
    /// The runtime, such as `onnxruntime`, or a release of it, such as `onnxruntime@1.26.0`
    #[arg(long, value_name = "NAME")]
    runtime: String,
    #[command(flatten)]
    place: PlaceArguments,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let case = read_case(&arguments.case)?;
    let name = &arguments.runtime;
    anyhow::ensure!(!name.contains('/'), "--runtime names a runtime without a configuration");
    let row = select(Some(name))?.swap_remove(0);
    let kind = row.kind()?;
    anyhow::ensure!(!kind.stages.is_empty(), "{name} has no stages of optimization that are known here");
    let ledger = Ledger::load()?;
    let known =
        ledger.known().find(|known| known.variant.runtime_name() == row.id.name && known.variant.case() == case);
    println!("{case}\n");
    let found = culprit(kind, |configuration| -> anyhow::Result<bool> {
        let mut row: Row = row.clone();
        configuration.clone_into(&mut row.id.configuration);
        let seen = look(&case, known, arguments.place.open(&[row])?);
        let is_several = configuration.contains(PASS_SEPARATOR);
        if !configuration.contains('-') || !seen.shows && !is_several {
            print!("{}", seen.text());
        }
        Ok(seen.shows)
    })?;
    let release = row.id.with_version_only();
    println!("\n{}", sentence(&found, &release));
    if let Culprit::Passes { stage, .. } = found {
        show_models(&case, stage, &row, &|rows| arguments.place.open(rows));
    }
    if let (Some(known), Some(pass)) = (known, found.entry()) {
        let variant = Variant { pass: Some(pass), ..known.variant.clone() };
        match Ledger::write_pass(&variant) {
            Ok(path) => println!("Written to {}: {}", path.display(), variant.id),
            Err(error) => println!("{} is not written to a ledger of this folder: {error}", variant.id),
        }
    }
    Ok(Ending::NothingWrong)
}

/// Prints the model before and after a stage of optimization, if the runtime can write the model after it.
fn show_models(case: &Case, stage: &str, row: &Row, open: OpenRows) {
    let job = model::job(case, &case.tensors());
    if let Some(after) = rewritten(&job, stage, row, open) {
        let before = job.model.decode().unwrap_or_default();
        for (title, model) in [("The model", before), ("What the stage leaves of it", after)] {
            let text = model::text::text(&model);
            println!("\n{title}:\n\n{}", text.unwrap_or_else(|reason| format!("It cannot be shown as text: {reason}")));
        }
    }
}

/// The model after a stage of a runtime's optimization; `None` if the runtime cannot write it.
pub(super) fn rewritten(job: &Job, stage: &str, row: &Row, open: OpenRows) -> Option<ModelProto> {
    let folder = tempfile::tempdir().ok()?;
    let file = folder.path().join("model.onnx");
    let mut row = row.clone();
    row.id.configuration = format!("{stage}>{}", file.display());
    executions(open(&[row]).ok()?.first_mut()?.as_mut(), job);
    ModelProto::decode(&*fs::read(file).ok()?).ok()
}

/// The result of the search, as a sentence for people.
pub(super) fn sentence(found: &Culprit, release: &str) -> String {
    match found {
        Culprit::FirstStage(stage) => {
            format!("{release} does so before it optimizes anything, in the stage `{stage}`: no pass is to blame.")
        }
        Culprit::Nowhere => format!("{release} does nothing wrong here, in no stage of its optimization."),
        Culprit::Passes { stage, passes } => match &passes[..] {
            [] => format!(
                "{release} does so from the stage `{stage}` on; no single pass is known to make the difference."
            ),
            [pass] => format!("{release} does so from the stage `{stage}` on, and not without the pass `{pass}`."),
            passes => format!(
                "{release} does so from the stage `{stage}` on, and not without any of the passes `{}`.",
                passes.join("`, `")
            ),
        },
    }
}
