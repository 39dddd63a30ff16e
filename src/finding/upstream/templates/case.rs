//! Reads `case.json`, which has the inputs and expected results of the models, and prints the verdict.

use std::fs::read;
use std::panic::catch_unwind;
use std::process::{Command, ExitCode};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A tensor. `elements` has the bits of floating-point numbers, and has numbers of uint64 as int64.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensor {
    /// The name in ONNX, such as `float`.
    pub element_type: String,
    pub dims: Vec<usize>,
    pub elements: Vec<i64>,
    /// The elements of a tensor of strings.
    pub strings: Vec<String>,
}

/// A model, its setup and its inputs. No runtime needs all of the fields.
#[allow(dead_code)]
pub struct Task {
    label: String,
    pub model: String,
    pub setup: String,
    /// By name, in the order of the graph inputs.
    pub inputs: Vec<(String, Tensor)>,
    /// The place of the output that is checked.
    pub output: usize,
    /// The type of that output, for a runtime that holds it in another type.
    pub output_type: String,
    /// Whether that output is compared with its declaration.
    pub is_declared: bool,
}

/// The output of a runtime.
pub struct Given {
    pub tensor: Tensor,
    /// The tensor as the runtime prints it.
    pub shown: String,
    /// The declaration of the output when the model was loaded, if the check needs it: a type, and each dim that is known.
    pub declared: Option<(String, Vec<Option<usize>>)>,
}

/// The output of a runtime, the error that it returns, or the message of its panic.
enum Outcome {
    Gives(Given),
    Error(String),
    Panics(String),
}

/// Checks a runtime on `case.json`. The exit code is 0 if the runtime does what is expected, and 1 if it does not.
pub fn main(runtime: &str, run: fn(&Task) -> Result<Given, String>) -> ExitCode {
    let json = read("case.json").expect("there is a case.json here");
    let case: Value = serde_json::from_slice(&json).expect("case.json is JSON");
    let expected = text(&case["expected"]);
    if std::env::var_os("REPRO_HERE").is_none() {
        return apart(runtime, &expected);
    }
    let mut results: Vec<(String, Outcome)> = Vec::new();
    for task in tasks(&case) {
        let outcome = match catch_unwind(|| run(&task)) {
            Ok(Ok(given)) => Outcome::Gives(given),
            Ok(Err(error)) => Outcome::Error(error),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or(panic.downcast_ref::<&str>().copied());
                Outcome::Panics(text.unwrap_or("without a message").to_owned())
            }
        };
        results.push((task.label, outcome));
        let (label, outcome) = &results[results.len() - 1];
        let (first, before) = &results[0];
        if case["check"] == "same" && !is_same(before, outcome) {
            let (one, other) = (show(before), show(outcome));
            println!("WRONG: {runtime} {one} ({first}), but {other} ({label}); expected is {expected}");
            return ExitCode::FAILURE;
        }
        if case["check"] != "same" && !is_right(&case, outcome) {
            println!("WRONG: {runtime} {} ({label}); expected is {expected}", show(outcome));
            return ExitCode::FAILURE;
        }
    }
    println!("RIGHT: {runtime} {}; expected is {expected}", show(&results[results.len() - 1].1));
    ExitCode::SUCCESS
}

/// Each model in each setup.
fn tasks(case: &Value) -> Vec<Task> {
    let mut tasks = Vec::new();
    for model in list(&case["models"]) {
        for setup in list(&case["setups"]) {
            let (file, setup) = (text(&model["file"]), text(setup));
            let is_one = list(&case["models"]).len() == 1;
            tasks.push(Task {
                label: if is_one { setup.clone() } else { format!("{file}, {setup}") },
                setup,
                inputs: list(&model["inputs"]).iter().map(|input| (text(&input["name"]), tensor(input))).collect(),
                output: case["output"].as_u64().expect("a place") as usize,
                output_type: text(&case["output_type"]),
                is_declared: case["check"] == "declared",
                model: file,
            });
        }
    }
    tasks
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn tensor(value: &Value) -> Tensor {
    Tensor {
        element_type: text(&value["type"]),
        dims: list(&value["dims"]).iter().map(|dim| dim.as_u64().expect("a dim") as usize).collect(),
        elements: list(&value["elements"]).iter().map(|element| element.as_i64().expect("a number")).collect(),
        strings: list(&value["strings"]).iter().map(text).collect(),
    }
}

fn is_right(case: &Value, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Gives(given) if case["check"] == "declared" => given.declared.as_ref().is_some_and(|(of, dims)| {
            let Tensor { element_type, dims: own, .. } = &given.tensor;
            let is_own = |(dim, own): (&Option<usize>, &usize)| dim.is_none_or(|dim| dim == *own);
            of == element_type && dims.len() == own.len() && dims.iter().zip(own).all(is_own)
        }),
        Outcome::Gives(given) => list(&case["acceptable"]).iter().any(|acceptable| tensor(acceptable) == given.tensor),
        Outcome::Error(_) => case["error_is_right"] == true,
        Outcome::Panics(_) => false,
    }
}

/// Whether two outcomes are equal tensors, or both errors.
fn is_same(a: &Outcome, b: &Outcome) -> bool {
    match (a, b) {
        (Outcome::Gives(a), Outcome::Gives(b)) => a.tensor == b.tensor,
        (Outcome::Error(_), Outcome::Error(_)) => true,
        _ => false,
    }
}

fn show(outcome: &Outcome) -> String {
    let text = match outcome {
        Outcome::Gives(Given { shown, declared: None, .. }) => format!("gives {shown}"),
        Outcome::Gives(Given { shown, declared: Some((of, dims)), .. }) => {
            let dims = dims.iter().map(|dim| dim.map_or("?".to_owned(), |dim| dim.to_string())).collect::<Vec<_>>();
            format!("declares the shape [{}] of {of}, and gives {shown}", dims.join(","))
        }
        Outcome::Error(error) => format!("gives the error: {error}"),
        Outcome::Panics(message) => format!("panics: {message}"),
    };
    let text = text.split("Stack backtrace:").next().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs this program once more in another process, so that a crash or a hang there does not end this one.
fn apart(runtime: &str, expected: &str) -> ExitCode {
    const LIMIT: Duration = Duration::from_secs(20);
    let program = std::env::current_exe().expect("this program has a path");
    let mut child = Command::new(program).env("REPRO_HERE", "1").spawn().expect("it can be started");
    let began = Instant::now();
    let does = loop {
        match child.try_wait().expect("it can be waited for") {
            Some(status) if status.success() => return ExitCode::SUCCESS,
            Some(status) if status.code() == Some(1) => return ExitCode::FAILURE,
            Some(status) => break format!("ends its process with {status}"),
            None if began.elapsed() > LIMIT => {
                let _ = child.kill();
                break format!("gives no answer within {LIMIT:?}");
            }
            None => sleep(Duration::from_millis(20)),
        }
    };
    println!("WRONG: {runtime} {does}; expected is {expected}");
    ExitCode::FAILURE
}
