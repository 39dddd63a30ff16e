//! The worker of candle's evaluator of ONNX models. It holds bool as uint8, and a constant of int32 as int64.

use std::process::ExitCode;

use candle_core::{DType, Device, Tensor as Native};
use candle_onnx::onnx::ModelProto;
use onnx_crosscheck::model::Job;
use onnx_crosscheck::runtime::{
    Class, Execution, Gap, Kind, OpenError, Output, Phrase, Reason, Row, Runtime, RuntimeId, crates, worker,
};
use onnx_crosscheck::tensor::{ElementType, Elements, Tensor};
use prost::Message;

fn main() -> ExitCode {
    worker::main(&Kind { version: env!("CARGO_PKG_VERSION"), open, ..crates::CANDLE })
}

/// The meaning of candle's messages.
const PHRASES: &[Phrase] = {
    use Class::{Refused, Unsupported};
    &[
        (&["no tensor of"], Unsupported(Gap::ElementType)),
        (&["unsupported 'value' data-type"], Unsupported(Gap::ElementType)),
        (&["has an unsupported data_type"], Unsupported(Gap::ElementType)),
        (&["unsupported type", "for 'to' attribute"], Unsupported(Gap::ElementType)),
        (&["unsupported 'to' value"], Unsupported(Gap::ElementType)),
        (&["was an invalid data_type"], Unsupported(Gap::ElementType)),
        (&["unsupported op_type"], Unsupported(Gap::Kernel)),
        (&["not yet implemented"], Unsupported(Gap::Kernel)),
        (&["unsupported 'mode' value"], Unsupported(Gap::Kernel)),
        (&["unsupported number of inputs"], Unsupported(Gap::Kernel)),
        (&["cannot find the '", "' attribute"], Refused(Reason::Attribute)),
        (&["unsupported type", "attribute in"], Refused(Reason::Attribute)),
        (&["unexpected rank"], Refused(Reason::Value)),
        (&["out of range"], Refused(Reason::Value)),
        (&["is too large"], Refused(Reason::Value)),
        (&["is too small"], Refused(Reason::Value)),
        (&["hape mismatch"], Refused(Reason::Value)),
        (&["cannot broadcast"], Refused(Reason::Value)),
        (&["cannot find"], Refused(Reason::Inputs)),
        (&["dtype mismatch"], Refused(Reason::ElementType)),
    ]
};

struct Candle {
    id: RuntimeId,
}

fn open(row: &Row) -> Result<Box<dyn Runtime>, OpenError> {
    Ok(Box::new(Candle { id: row.id.clone() }))
}

impl Runtime for Candle {
    fn id(&self) -> &RuntimeId {
        &self.id
    }

    fn execute(&mut self, job: &Job, done: &mut dyn FnMut(Execution)) {
        let load = || {
            let bytes = job.model.self_contained().map_err(|error| error.to_string())?;
            ModelProto::decode(&*bytes).map_err(|error| error.to_string())
        };
        crates::execute(job, PHRASES, done, load, |model, run, types| {
            let feeds = job.feeds(run).map(|(name, tensor)| Ok((name.to_owned(), native(tensor)?)));
            let feeds = feeds.collect::<Result<_, String>>()?;
            let values = candle_onnx::simple_eval(model, feeds).map_err(|error| error.to_string())?;
            let outputs = model.graph.iter().flat_map(|graph| &graph.output).zip(types);
            let outputs = outputs.map(|(info, declared)| {
                let value = values.get(&info.name).ok_or_else(|| format!("there is no output {}", info.name))?;
                output(value, *declared)
            });
            outputs.collect()
        });
    }
}

const fn native_type(element_type: ElementType) -> Option<DType> {
    Some(match element_type {
        ElementType::Uint8 | ElementType::Bool => DType::U8,
        ElementType::Uint32 => DType::U32,
        ElementType::Int64 => DType::I64,
        ElementType::Float16 => DType::F16,
        ElementType::Float => DType::F32,
        ElementType::Double => DType::F64,
        _ => return None,
    })
}

/// A tensor of candle with the same elements.
fn native(tensor: &Tensor) -> Result<Native, String> {
    let lacking = || format!("no tensor of {}", tensor.element_type());
    let (Some(native), Elements::Packed(bytes)) = (native_type(tensor.element_type()), tensor.elements()) else {
        return Err(lacking());
    };
    let dims = tensor.dims().iter().map(|&dim| usize::try_from(dim)).collect::<Result<Vec<_>, _>>();
    let dims = dims.map_err(|error| error.to_string())?;
    Native::from_raw_buffer(bytes, native, &dims, &Device::Cpu).map_err(|error| error.to_string())
}

/// An output of candle: in the declared type, if candle holds that type in another one and the elements fit.
fn output(value: &Native, declared: Option<ElementType>) -> Result<Output, String> {
    let of_native = |wanted: DType| {
        ElementType::ALL.into_iter().find(|&of| native_type(of) == Some(wanted) && of != ElementType::Bool)
    };
    let native = of_native(value.dtype()).ok_or_else(|| format!("the output is of the type {:?}", value.dtype()))?;
    let dims: Vec<i64> = value.dims().iter().map(|&dim| dim as i64).collect();
    let mut bytes = Vec::new();
    value.write_bytes(&mut bytes).map_err(|error| error.to_string())?;
    let tensor = |element_type, bytes: Vec<u8>| Tensor::from_packed(element_type, dims.clone(), bytes);
    // A tensor of bool holds 0 and 1 only.
    let in_declared = match (native, declared) {
        (ElementType::Uint8, Some(ElementType::Bool)) => tensor(ElementType::Bool, bytes.clone()).ok(),
        (ElementType::Int64, Some(ElementType::Int32)) => {
            in_32_bits(&bytes).and_then(|bytes| tensor(ElementType::Int32, bytes).ok())
        }
        _ => None,
    };
    let tensor = in_declared.map_or_else(|| tensor(native, bytes), Ok);
    tensor.map(Output::new).map_err(|error| error.to_string())
}

/// Numbers of 64 bits in 32, if all of them fit.
fn in_32_bits(bytes: &[u8]) -> Option<Vec<u8>> {
    let numbers = bytes.as_chunks().0.iter().map(|bytes| i32::try_from(i64::from_le_bytes(*bytes)).ok());
    Some(numbers.collect::<Option<Vec<i32>>>()?.into_iter().flat_map(i32::to_le_bytes).collect())
}
