//! The worker of rten. It has four element types: it holds int64 and bool as int32, and double as float.

use std::process::ExitCode;
use std::sync::Arc;

use onnx_crosscheck::model::{Job, Serialized};
use onnx_crosscheck::runtime::{
    Class, Execution, Gap, Kind, OpenError, Output, Phrase, Reason, Row, Runtime, RuntimeId, crates, worker,
};
use onnx_crosscheck::tensor::{ElementType, Tensor};
use rten::{Model, ModelOptions, RunOptions, ShapeInferenceMode, ThreadPool, Value};
use rten_tensor::prelude::*;

fn main() -> ExitCode {
    worker::main(&Kind { version: env!("CARGO_PKG_VERSION"), open, ..crates::RTEN })
}

/// The meaning of rten's messages.
const PHRASES: &[Phrase] = {
    use Class::{Refused, Unsupported};
    &[
        (&["no tensor of"], Unsupported(Gap::ElementType)),
        (&["unsupported data type"], Unsupported(Gap::ElementType)),
        (&["unsupported input type"], Unsupported(Gap::ElementType)),
        (&["conversion error for input", "expected tensor"], Unsupported(Gap::ElementType)),
        (&["operator not supported"], Unsupported(Gap::Kernel)),
        (&["unsupported input or attribute value"], Unsupported(Gap::Kernel)),
        (&["unsupported or duplicated attributes"], Refused(Reason::Attribute)),
        (&["error in attribute"], Refused(Reason::Attribute)),
        (&["required inputs were missing"], Refused(Reason::Inputs)),
        (&["incompatible input shapes"], Refused(Reason::Value)),
        (&["has invalid value"], Refused(Reason::Value)),
    ]
};

struct Rten {
    id: RuntimeId,
    options: ModelOptions,
    /// One thread, as for every runtime here.
    run: RunOptions,
}

fn open(row: &Row) -> Result<Box<dyn Runtime>, OpenError> {
    let is_optimized = row.id.configuration == "optimized";
    let mut options = ModelOptions::with_all_ops();
    options.enable_optimization(is_optimized);
    options.shape_inference(if is_optimized { ShapeInferenceMode::On } else { ShapeInferenceMode::Off });
    let run = RunOptions::default().with_thread_pool(Some(Arc::new(ThreadPool::with_num_threads(1))));
    Ok(Box::new(Rten { id: row.id.clone(), options, run }))
}

impl Runtime for Rten {
    fn id(&self) -> &RuntimeId {
        &self.id
    }

    fn execute(&mut self, job: &Job, done: &mut dyn FnMut(Execution)) {
        let load = || {
            let model = match &job.model {
                Serialized::Bytes(bytes) => self.options.load(bytes.to_vec()),
                Serialized::File(path) => self.options.load_file(path),
            };
            model.map_err(|error| error.to_string())
        };
        crates::execute(job, PHRASES, done, load, |model, run, types| self.outputs(model, types, job, run));
    }
}

impl Rten {
    fn outputs(
        &self,
        model: &Model,
        types: &[Option<ElementType>],
        job: &Job,
        run: usize,
    ) -> Result<Vec<Output>, String> {
        let feed = |(name, tensor)| {
            let node = model.node_id(name).map_err(|error| error.to_string())?;
            Ok((node, native(tensor)?.into()))
        };
        let feeds = job.feeds(run).map(feed).collect::<Result<_, String>>()?;
        let values = model.run(feeds, model.output_ids(), Some(self.run.clone())).map_err(|error| error.to_string())?;
        values.iter().enumerate().map(|(place, value)| output(value, types.get(place).copied().flatten())).collect()
    }
}

/// A value of rten with the same elements; an error if an element would change.
fn native(tensor: &Tensor) -> Result<Value, String> {
    let lacking = || format!("no tensor of {} holds these elements", tensor.element_type());
    let dims: Vec<usize> =
        tensor.dims().iter().map(|&dim| usize::try_from(dim)).collect::<Result<_, _>>().map_err(|_| lacking())?;
    macro_rules! value {
        ($element:expr) => {{
            let element: fn(u128) -> Option<_> = $element;
            let elements = (0..tensor.len())
                .map(|place| element(tensor.element_bits(place)))
                .collect::<Option<Vec<_>>>()
                .ok_or_else(lacking)?;
            Value::from_shape(dims, elements).map_err(|error| error.to_string())
        }};
    }
    match tensor.element_type() {
        ElementType::Float => value!(|bits| Some(f32::from_bits(bits as u32))),
        ElementType::Double => value!(|bits| {
            let narrow = f64::from_bits(bits as u64) as f32;
            (u128::from(f64::from(narrow).to_bits()) == bits).then_some(narrow)
        }),
        ElementType::Int64 => value!(|bits| i32::try_from(bits as i64).ok()),
        ElementType::Int32 | ElementType::Bool => value!(|bits| Some(bits as i32)),
        ElementType::Int8 => value!(|bits| Some(bits as i8)),
        ElementType::Uint8 => value!(|bits| Some(bits as u8)),
        _ => Err(lacking()),
    }
}

/// An output of rten: in the declared type, if rten holds that type in another one and the elements fit.
fn output(value: &Value, declared: Option<ElementType>) -> Result<Output, String> {
    use ElementType::{Bool, Double, Float, Int8, Int32, Int64, Uint8};
    let (native, bits): (_, Vec<u128>) = match value {
        Value::FloatTensor(tensor) => (Float, tensor.iter().map(|element| element.to_bits().into()).collect()),
        Value::Int32Tensor(tensor) => (Int32, tensor.iter().map(|element| element.cast_unsigned().into()).collect()),
        Value::Int8Tensor(tensor) => (Int8, tensor.iter().map(|element| element.cast_unsigned().into()).collect()),
        Value::UInt8Tensor(tensor) => (Uint8, tensor.iter().map(|&element| element.into()).collect()),
        _ => return Err("the output is no tensor".to_owned()),
    };
    let dims: Vec<i64> = value.shape().iter().map(|&dim| dim as i64).collect();
    let tensor = |element_type, bits: Vec<u128>| Tensor::from_element_bits(element_type, dims.clone(), bits);
    let in_declared = match (native, declared) {
        (Float, Some(Double)) => {
            tensor(Double, bits.iter().map(|&bits| f64::from(f32::from_bits(bits as u32)).to_bits().into()).collect())
        }
        (Int32, Some(Int64)) => {
            tensor(Int64, bits.iter().map(|&bits| i64::from(bits as i32).cast_unsigned().into()).collect())
        }
        (Int32, Some(Bool)) => tensor(Bool, bits.clone()),
        _ => tensor(native, bits.clone()),
    };
    // A tensor of bool holds 0 and 1 only.
    in_declared.or_else(|_| tensor(native, bits)).map(Output::new).map_err(|error| error.to_string())
}
