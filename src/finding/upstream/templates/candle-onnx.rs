//! Checks candle-onnx on `case.json`. The exit code is 0 if candle-onnx does what is expected, and 1 while it does not. To run it:
//!
//!     cargo run --release

mod case;

use std::collections::HashMap;
use std::error::Error;
use std::process::ExitCode;

use candle_core::{DType, Device, Tensor};
use case::{Given, Task};

fn main() -> ExitCode {
    case::main("candle-onnx", |task| run(task).map_err(|error| error.to_string()))
}

fn run(task: &Task) -> Result<Given, Box<dyn Error>> {
    let model = candle_onnx::read_file(&task.model)?;
    let mut inputs = HashMap::new();
    for (name, input) in &task.inputs {
        inputs.insert(name.clone(), native(input)?);
    }
    let outputs = candle_onnx::simple_eval(&model, inputs)?;
    let graph = model.graph.as_ref().ok_or("the model has no graph")?;
    let output = outputs.get(&graph.output[task.output].name).ok_or("there is no such output")?;
    Ok(Given { shown: format!("{output:?}"), tensor: tensor(output, &task.output_type)?, declared: None })
}

/// A tensor of candle, which holds bool as uint8.
fn native(tensor: &case::Tensor) -> Result<Tensor, Box<dyn Error>> {
    let (dtype, size) = match tensor.element_type.as_str() {
        "bool" | "uint8" => (DType::U8, 1),
        "float16" => (DType::F16, 2),
        "uint32" => (DType::U32, 4),
        "float" => (DType::F32, 4),
        "int64" => (DType::I64, 8),
        "double" => (DType::F64, 8),
        other => return Err(format!("no tensor of {other}").into()),
    };
    let bytes: Vec<u8> = tensor.elements.iter().flat_map(|element| element.to_le_bytes()[..size].to_vec()).collect();
    Ok(Tensor::from_raw_buffer(&bytes, dtype, &tensor.dims, &Device::Cpu)?)
}

/// The output of candle. If candle holds its type as another one, the result has the type that the model declares.
fn tensor(output: &Tensor, declared: &str) -> Result<case::Tensor, Box<dyn Error>> {
    let element_type = match (output.dtype(), declared) {
        (DType::U8, "bool") | (DType::I64, "int32") => declared,
        (DType::U8, _) => "uint8",
        (DType::F16, _) => "float16",
        (DType::U32, _) => "uint32",
        (DType::F32, _) => "float",
        (DType::I64, _) => "int64",
        (DType::F64, _) => "double",
        (other, _) => return Err(format!("the output is of the type {other:?}").into()),
    };
    let mut bytes = Vec::new();
    output.write_bytes(&mut bytes)?;
    let size = output.dtype().size_in_bytes();
    let element = |bytes: &[u8]| {
        let mut whole = [0; 8];
        whole[..size].copy_from_slice(bytes);
        i64::from_le_bytes(whole)
    };
    Ok(case::Tensor {
        element_type: element_type.to_owned(),
        dims: output.dims().to_vec(),
        elements: bytes.chunks(size).map(element).collect(),
        strings: vec![],
    })
}
