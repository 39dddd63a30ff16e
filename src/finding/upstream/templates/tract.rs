//! Checks tract on `case.json`. The exit code is 0 if tract does what is expected, and 1 while it does not. To run it:
//!
//!     cargo run --release

mod case;

use std::process::ExitCode;

use case::{Given, Task};
use tract_onnx::prelude::*;

fn main() -> ExitCode {
    case::main("tract", |task| run(task).map_err(|error| format!("{error:#}")))
}

fn run(task: &Task) -> TractResult<Given> {
    let mut model = tract_onnx::onnx().model_for_path(&task.model)?;
    if task.setup.starts_with("set_input_fact()") {
        for (index, (_, input)) in task.inputs.iter().enumerate() {
            model.set_input_fact(index, InferenceFact::dt_shape_from_tensor(&native(input)?))?;
        }
    }
    let model = if task.setup == "into_typed()" { model.into_typed()? } else { model.into_optimized()? };
    let declared = if task.is_declared { Some(model.output_fact(task.output)?.clone()) } else { None };
    let inputs = task.inputs.iter().map(|(_, input)| Ok(native(input)?.into())).collect::<TractResult<_>>()?;
    let output = model.into_runnable()?.run(inputs)?.remove(task.output).into_tensor();
    let of_fact = |fact: TypedFact| {
        let dims = fact.shape.iter().map(|dim| dim.to_i64().ok().and_then(|dim| usize::try_from(dim).ok()));
        (name(fact.datum_type), dims.collect())
    };
    Ok(Given { shown: format!("{output:?}"), tensor: tensor(&output), declared: declared.map(of_fact) })
}

/// By element type: the type in Rust, and the conversions from a number to an element and back.
macro_rules! types {
    ($($name:literal $rust:ty: $element:expr, $number:expr;)*) => {
        fn native(tensor: &case::Tensor) -> TractResult<Tensor> {
            match tensor.element_type.as_str() {
                $($name => {
                    let element: fn(i64) -> $rust = $element;
                    let elements: Vec<$rust> = tensor.elements.iter().copied().map(element).collect();
                    Tensor::from_shape(&tensor.dims, &elements)
                })*
                "string" => {
                    let dims = tensor.dims.clone();
                    Ok(tract_ndarray::ArrayD::from_shape_vec(dims, tensor.strings.clone())?.into_tensor())
                }
                other => Err(TractError::msg(format!("no tensor of {other}"))),
            }
        }

        fn name(of: DatumType) -> String {
            match of {
                $(of if of == <$rust>::datum_type() => $name.to_owned(),)*
                of if of == String::datum_type() => "string".to_owned(),
                of => format!("{of:?}"),
            }
        }

        fn tensor(output: &Tensor) -> case::Tensor {
            let mut tensor =
                case::Tensor { element_type: name(output.datum_type()), dims: output.shape().to_vec(), ..Default::default() };
            if output.len() > 0 {
                $(if let Ok(elements) = output.view().as_slice::<$rust>() {
                    let number: fn(&$rust) -> i64 = $number;
                    tensor.elements = elements.iter().map(number).collect();
                })*
                if let Ok(elements) = output.view().as_slice::<String>() {
                    tensor.strings = elements.to_vec();
                }
            }
            tensor
        }
    };
}

types! {
    "float16" f16: |bits| f16::from_bits(bits as u16), |element| element.to_bits().into();
    "float" f32: |bits| f32::from_bits(bits as u32), |element| element.to_bits().into();
    "double" f64: |bits| f64::from_bits(bits as u64), |element| element.to_bits() as i64;
    "bool" bool: |number| number != 0, |element| (*element).into();
    "int8" i8: |number| number as i8, |element| (*element).into();
    "int16" i16: |number| number as i16, |element| (*element).into();
    "int32" i32: |number| number as i32, |element| (*element).into();
    "int64" i64: |number| number, |element| *element;
    "uint8" u8: |number| number as u8, |element| (*element).into();
    "uint16" u16: |number| number as u16, |element| (*element).into();
    "uint32" u32: |number| number as u32, |element| (*element).into();
    "uint64" u64: |number| number as u64, |element| *element as i64;
}
