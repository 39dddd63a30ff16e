//! Runtimes that are crates and are not linked into this program. Each has a worker program in `workers/`, which cargo builds on
//! request. None takes part unless the user names it.

use super::{Execution, Gap, Kind, OpenError, Outcome, Output, Phrase, Stage, Supply, caught};
use crate::model::Job;
use crate::model::read::element_type;
use crate::tensor::ElementType;

/// rten, without its passes and with them.
pub static RTEN: Kind = Kind {
    configurations: &["plain", "optimized"],
    stages: &["plain", "optimized"],
    ..kind("rten", "0.27.0", include_str!("../../known/rten.toml"))
};

/// Candle's evaluator of ONNX models.
pub static CANDLE: Kind = kind("candle-onnx", "0.11.1", include_str!("../../known/candle-onnx.toml"));

/// The kinds that have workers only.
pub(super) static KINDS: [&Kind; 2] = [&RTEN, &CANDLE];

const fn kind(name: &'static str, version: &'static str, known: &'static str) -> Kind {
    Kind {
        name,
        version,
        configurations: &[""],
        stages: &[],
        passes: &[],
        supply: Supply::Worker,
        known,
        open: |row| Err(OpenError::new(&row.id, "it runs in its worker only: leave out --in-process")),
    }
}

/// Loads the model of a job and runs it with the feeds of each run, on a runtime in Rust whose errors are texts and which makes
/// each default a constant. A panic is an outcome. `run` gets the number of the run, and the element types that the model
/// declares for its outputs; `None` stands for a type that this program does not know.
pub fn execute<L>(
    job: &Job,
    phrases: &[Phrase],
    done: &mut dyn FnMut(Execution),
    load: impl FnOnce() -> Result<L, String>,
    run: impl Fn(&L, usize, &[Option<ElementType>]) -> Result<Vec<Output>, String>,
) {
    let load = || {
        let graph = job.model.decode().map_err(|error| error.to_string())?.graph.unwrap_or_default();
        let has_default = |name: &str| graph.initializer.iter().any(|tensor| tensor.name.as_deref() == Some(name));
        let types: Vec<_> = graph.output.iter().map(element_type).collect();
        match job.inputs.iter().find(|name| has_default(name)) {
            None => load().map(|model| Ok((model, types))),
            Some(name) => {
                Ok(Err(format!("the input {name} has a default, which becomes a constant, and cannot be fed")))
            }
        }
    };
    match attempt(Stage::Load, phrases, load) {
        Err(failed) => done(failed),
        Ok(Err(message)) => done(Execution::without_answer(Outcome::Unsupported(Gap::Overriding), message)),
        Ok(Ok((model, types))) => (0..job.runs.len()).for_each(|index| {
            let outputs = attempt(Stage::Run, phrases, || run(&model, index, &types));
            done(outputs.map_or_else(|failed| failed, |outputs| Execution::answer(outputs, vec![])));
        }),
    }
}

/// The result of a stage; or the execution, if the stage fails with an error or a panic.
fn attempt<T>(stage: Stage, phrases: &[Phrase], work: impl FnOnce() -> Result<T, String>) -> Result<T, Execution> {
    match caught(work) {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(message)) => Err(Execution::failure(stage, message, phrases, None)),
        Err(message) => Err(Execution::without_answer(Outcome::Panicked { stage }, message)),
    }
}
