// {{ title }}
//
// Exits with 0 when tract does what is expected of it, and with 1 while it does not. To run it:
//
//     cargo run --release

use std::panic::catch_unwind;
{% if apart %}
use std::process::{Command, ExitCode};
use std::thread::sleep;
use std::time::{Duration, Instant};
{% else %}
use std::process::ExitCode;
{% endif %}

use tract_onnx::prelude::*;

{% if models|length > 1 %}
/// Each model, and how it is prepared.
const RUNS: &[(&str, &[u8], &str)] = &[
{% for model in models %}
{% for setup in setups %}
    ("{{ model.folder }}model.onnx", include_bytes!("../{{ model.folder }}model.onnx"), {{ setup|rust }}),
{% endfor %}
{% endfor %}
];
{% else %}
/// The model, and how it is prepared.
const RUNS: &[(&[u8], &str)] = &[
{% for setup in setups %}
    (include_bytes!("../model.onnx"), {{ setup|rust }}),
{% endfor %}
];
{% endif %}

const EXPECTED: &str = {{ expected|rust }};

{% if models|length > 1 %}
/// What a model is fed, in the order of its graph inputs.
fn inputs(name: &str) -> TractResult<Vec<Tensor>> {
    Ok(match name {
{% for model in models %}
        {{ (model.folder ~ "model.onnx")|rust if not loop.last else "_" }} => vec![
{% for input in model.inputs %}
            {{ input }},
{% endfor %}
        ],
{% endfor %}
    })
}
{% else %}
/// What the model is fed, in the order of its graph inputs.
fn inputs() -> TractResult<Vec<Tensor>> {
{% if models[0].inputs %}
    Ok(vec![
{% for input in models[0].inputs %}
        {{ input }},
{% endfor %}
    ])
{% else %}
    Ok(vec![])
{% endif %}
}
{% endif %}

{% if check == "declared" %}
/// What tract declares of the output of a model, and what it then gives; or the error that it returns.
fn run({{ "name: &str, " if models|length > 1 }}model: &[u8], setup: &str) -> TractResult<(TypedFact, Tensor)> {
{% else %}
/// What tract gives for a model, or the error that it returns.
fn run({{ "name: &str, " if models|length > 1 }}model: &[u8], setup: &str) -> TractResult<Tensor> {
{% endif %}
    let {% if pinned %}mut {% endif %}model = tract_onnx::onnx().model_for_read(&mut &model[..])?;
{% if pinned %}
    if setup.starts_with("set_input_fact()") {
        for (index, input) in inputs({{ "name" if models|length > 1 }})?.iter().enumerate() {
            model.set_input_fact(index, InferenceFact::dt_shape_from_tensor(input))?;
        }
    }
{% endif %}
    let model = if setup == "into_typed()" { model.into_typed()? } else { model.into_optimized()? };
{% if check == "declared" %}
    let declared = model.output_fact({{ output }})?.clone();
{% endif %}
    // Not before the model is read: what is wrong may be that alone.
    let inputs = inputs({{ "name" if models|length > 1 }})?.into_iter().map(|input| input.into()).collect();
{% if check == "declared" %}
    Ok((declared, model.into_runnable()?.run(inputs)?.remove({{ output }}).into_tensor()))
{% else %}
    Ok(model.into_runnable()?.run(inputs)?.remove({{ output }}).into_tensor())
{% endif %}
}

{% if check == "answer" %}
{% if numbers %}
/// Whether a tensor has this type, this shape and these elements, to the bit.
fn is<T: Datum + Copy>(output: &Tensor, shape: &[usize], elements: &[T]) -> bool {
    let expected = || Tensor::from_shape(shape, elements);
    output.datum_type() == T::datum_type()
        && output.shape() == shape
        && (elements.is_empty() || expected().is_ok_and(|expected| expected.as_bytes() == output.as_bytes()))
}

{% endif %}
{% if strings %}
/// Whether a tensor is one of strings with this shape and these elements.
fn is_strings(output: &Tensor, shape: &[usize], elements: &[String]) -> bool {
    output.datum_type() == String::datum_type()
        && output.shape() == shape
        && (elements.is_empty() || output.view().as_slice::<String>().is_ok_and(|given| given == elements))
}

{% endif %}
/// Whether the result of the model is not what is expected.
fn wrong(result: &std::thread::Result<TractResult<Tensor>>) -> bool {
    match result {
{% if acceptable|length == 1 %}
        Ok(Ok(output)) => !{{ acceptable[0] }},
{% elif acceptable %}
        Ok(Ok(output)) => !({{ acceptable|join(" || ") }}),
{% else %}
        Ok(Ok(_)) => true,
{% endif %}
        Ok(Err(_)) => {{ "false" if error_is_right else "true" }},
        Err(_) => true,
    }
}
{% elif check == "same" %}
/// Whether two models have the same result: equal outputs, or an error of both.
fn same(a: &std::thread::Result<TractResult<Tensor>>, b: &std::thread::Result<TractResult<Tensor>>) -> bool {
    match (a, b) {
        (Ok(Ok(a)), Ok(Ok(b))) => a == b,
        (Ok(Err(_)), Ok(Err(_))) => true,
        _ => false,
    }
}
{% else %}
/// Whether an output is what was declared of it.
fn is_declared(declared: &TypedFact, output: &Tensor) -> bool {
    let mut dims = declared.shape.iter().zip(output.shape());
    declared.datum_type == output.datum_type()
        && declared.shape.rank() == output.rank()
        && dims.all(|(declared, &given)| declared.to_i64().map_or(true, |declared| declared == given as i64))
}
{% endif %}

fn show<T: std::fmt::Debug>(result: &std::thread::Result<TractResult<T>>) -> String {
    let text = match result {
        Ok(Ok(output)) => format!("gives {output:?}"),
        Ok(Err(error)) => format!("gives the error: {error:#}"),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            format!("panics: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a message"))
        }
    };
    let text = text.split("Stack backtrace:").next().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

{% if apart %}
/// Runs this program once more, in a process whose end is not the end of this one.
fn apart() -> ExitCode {
    const LIMIT: Duration = Duration::from_secs(20);
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new(program);
    let mut child = command.args(std::env::args_os().skip(1)).env("REPRO_HERE", "1").spawn().expect("it can be started");
    let begin = Instant::now();
    loop {
        match child.try_wait().expect("it can be waited for") {
            Some(status) if status.success() => return ExitCode::SUCCESS,
            Some(status) if status.code() == Some(1) => return ExitCode::FAILURE,
            Some(status) => {
                println!("WRONG: tract ends its process with {status}; expected is {EXPECTED}");
                return ExitCode::FAILURE;
            }
            None if begin.elapsed() > LIMIT => {
                let _ = child.kill();
                println!("WRONG: tract gives no answer within {LIMIT:?}; expected is {EXPECTED}");
                return ExitCode::FAILURE;
            }
            None => sleep(Duration::from_millis(20)),
        }
    }
}

{% endif %}
fn main() -> ExitCode {
{% if apart %}
    if std::env::var_os("REPRO_HERE").is_none() {
        return apart();
    }
{% endif %}
{% if models|length > 1 %}
    let run = |&(name, model, setup): &(&'static str, &'static [u8], &'static str)| {
        catch_unwind(move || run(name, model, setup))
    };
{% else %}
    let run = |&(model, setup): &(&'static [u8], &'static str)| catch_unwind(move || run(model, setup));
{% endif %}
{% if check == "same" %}
    let results: Vec<_> = RUNS.iter().map(run).collect();
    for (each, result) in RUNS.iter().zip(&results) {
        if !same(&results[0], result) {
            let (one, other) = (show(&results[0]), show(result));
{% if models|length > 1 %}
            let (first, last) = (format!("{}, {}", RUNS[0].0, RUNS[0].2), format!("{}, {}", each.0, each.2));
{% else %}
            let (first, last) = (RUNS[0].1, each.1);
{% endif %}
            println!("WRONG: tract {one} ({first}), but {other} ({last}); expected is {EXPECTED}");
            return ExitCode::FAILURE;
        }
    }
    println!("RIGHT: tract {}; expected is {EXPECTED}", show(&results[0]));
{% else %}
    let mut shown = String::new();
    for each in RUNS {
        let result = run(each);
        shown = show(&result);
{% if check == "answer" %}
        if wrong(&result) {
{% else %}
        if !matches!(&result, Ok(Ok((declared, output))) if is_declared(declared, output)) {
{% endif %}
            println!("WRONG: tract {shown} ({}); expected is {EXPECTED}", each.{{ 2 if models|length > 1 else 1 }});
            return ExitCode::FAILURE;
        }
    }
    println!("RIGHT: tract {shown}; expected is {EXPECTED}");
{% endif %}
    ExitCode::SUCCESS
}
