//! What the models are fed and what is expected of them, as `case.json` has it, and what is said of the result.

use std::fs::read;
use std::panic::catch_unwind;
use std::process::{Command, ExitCode};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A tensor. Of floating-point numbers `elements` has the bits; numbers of uint64 are in it as int64.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensor {
    /// As ONNX calls it, such as `float`.
    pub element_type: String,
    pub dims: Vec<usize>,
    pub elements: Vec<i64>,
    /// The elements of a tensor of strings.
    pub strings: Vec<String>,
}

/// A model, how it is prepared, and what it is fed. No runtime needs all of it.
#[allow(dead_code)]
pub struct Task {
    label: String,
    pub model: String,
    pub setup: String,
    /// By name, in the order of the graph inputs.
    pub inputs: Vec<(String, Tensor)>,
    /// The output that is looked at, by its place.
    pub output: usize,
    /// Its type, for a runtime that holds it in another one.
    pub output_type: String,
    /// Whether it is held against what was declared of it.
    pub is_declared: bool,
}

/// What a runtime gives.
pub struct Given {
    pub tensor: Tensor,
    /// In its own words.
    pub shown: String,
    /// Where that is asked for, what it declared when it loaded the model: a type, and each dim that is known.
    pub declared: Option<(String, Vec<Option<usize>>)>,
}

/// What a runtime gives, or the error that it returns, or the message with which it panics.
enum Outcome {
    Gives(Given),
    Error(String),
    Panics(String),
}

/// Holds a runtime against `case.json`: ends with 0 if it does what is expected, and with 1 if it does not.
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

/// Whether two outcomes are equal tensors, or errors both.
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

/// Runs this program once more, in a process whose end is not the end of this one.
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
