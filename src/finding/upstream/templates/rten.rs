//! Checks rten on `case.json`. The exit code is 0 if rten does what is expected, and 1 while it does not. To run it:
//!
//!     cargo run --release

mod case;

use std::error::Error;
use std::process::ExitCode;

use case::{Given, Task, Tensor};
use rten::{ModelOptions, ShapeInferenceMode, Value};
use rten_tensor::prelude::*;

fn main() -> ExitCode {
    case::main("rten", |task| run(task).map_err(|error| error.to_string()))
}

fn run(task: &Task) -> Result<Given, Box<dyn Error>> {
    let mut options = ModelOptions::with_all_ops();
    if task.setup.starts_with("enable_optimization(false)") {
        options.enable_optimization(false);
        options.shape_inference(ShapeInferenceMode::Off);
    }
    let model = options.load_file(&task.model)?;
    let mut inputs = Vec::new();
    for (name, input) in &task.inputs {
        inputs.push((model.node_id(name)?, native(input)?.into()));
    }
    let output = model.run(inputs, model.output_ids(), None)?.remove(task.output);
    Ok(Given { shown: format!("{output:?}"), tensor: tensor(&output, &task.output_type)?, declared: None })
}

/// A tensor of rten, which holds int64 and bool as int32, and double as float.
fn native(tensor: &Tensor) -> Result<Value, Box<dyn Error>> {
    let (dims, elements) = (tensor.dims.as_slice(), tensor.elements.iter().copied());
    Ok(match tensor.element_type.as_str() {
        "float" => Value::from_shape(dims, elements.map(|bits| f32::from_bits(bits as u32)).collect::<Vec<_>>())?,
        "double" => Value::from_shape(dims, elements.map(|bits| f64::from_bits(bits as u64) as f32).collect::<Vec<_>>())?,
        "int32" | "int64" | "bool" => Value::from_shape(dims, elements.map(|number| number as i32).collect::<Vec<_>>())?,
        "int8" => Value::from_shape(dims, elements.map(|number| number as i8).collect::<Vec<_>>())?,
        "uint8" => Value::from_shape(dims, elements.map(|number| number as u8).collect::<Vec<_>>())?,
        other => return Err(format!("no tensor of {other}").into()),
    })
}

/// The output of rten. If rten holds its type as another one, the result has the type that the model declares.
fn tensor(value: &Value, declared: &str) -> Result<Tensor, Box<dyn Error>> {
    let (element_type, elements): (&str, Vec<i64>) = match value {
        Value::FloatTensor(tensor) if declared == "double" => {
            ("double", tensor.iter().map(|&element| f64::from(element).to_bits() as i64).collect())
        }
        Value::FloatTensor(tensor) => ("float", tensor.iter().map(|element| element.to_bits().into()).collect()),
        Value::Int32Tensor(tensor) => {
            let element_type = if matches!(declared, "int64" | "bool") { declared } else { "int32" };
            (element_type, tensor.iter().map(|&element| element.into()).collect())
        }
        Value::Int8Tensor(tensor) => ("int8", tensor.iter().map(|&element| element.into()).collect()),
        Value::UInt8Tensor(tensor) => ("uint8", tensor.iter().map(|&element| element.into()).collect()),
        _ => return Err("the output is no tensor".into()),
    };
    Ok(Tensor { element_type: element_type.to_owned(), dims: value.shape().to_vec(), elements, strings: vec![] })
}
