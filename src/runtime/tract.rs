//! tract, linked into this program. A panic in it is caught and is an outcome.
//!
//! The workers of other releases are built from this file too, so it uses only what all of these releases have.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use tract_onnx::prelude::*;
use tract_onnx::tract_hir::internal::{DatumType as Datum, Symbol, SymbolValues, TDim};

use super::{
    Class, Declaration, Execution, Gap, Kind, NativeType, OpenError, Outcome, Output, Phrase, Reason, Runtime,
    RuntimeId, Stage, Supply, caught,
};
use crate::model::{Job, Serialized};
use crate::tensor::{self, ElementType, Elements, TensorError};

pub static KIND: Kind = Kind {
    name: "tract",
    version: "0.23.9",
    configurations: &["typed", "optimized", "pinned"],
    stages: &["typed", "decluttered", "optimized"],
    passes: &[],
    supply: Supply::Linked,
    known: include_str!("../../known/tract.toml"),
    open: |row| {
        let stage = match row.id.configuration.as_str() {
            "typed" => Rewriting::Typed,
            "decluttered" => Rewriting::Decluttered,
            "optimized" | "pinned" => Rewriting::Optimized,
            other => {
                let there = "there are typed, decluttered, optimized and pinned";
                return Err(OpenError::new(&row.id, format!("there is no configuration `{other}`; {there}")));
            }
        };
        let pin = row.id.configuration == "pinned";
        Ok(Box::new(TractRuntime { id: row.id.clone(), onnx: tract_onnx::onnx(), stage, pin }))
    },
};

/// The meaning of the messages of tract. A message is the whole chain of causes, outermost first.
const PHRASES: &[Phrase] = {
    use Class::{Refused, Unsupported};
    &[
        (&["Unknown DatumType"], Unsupported(Gap::ElementType)),
        (&["unknown ONNX TensorProto.DataType"], Unsupported(Gap::ElementType)),
        (&["no datum type for the element type"], Unsupported(Gap::ElementType)),
        (&["provide explicit input facts to your model"], Unsupported(Gap::DynamicShape)),
        (&["shape input is variable"], Unsupported(Gap::DynamicShape)),
        (&["Can not compute a shape with square of symbols"], Unsupported(Gap::DynamicShape)),
        (&["Streaming dimensions with strides are not supported"], Unsupported(Gap::DynamicShape)),
        (&["Undetermined symbol in expression"], Refused(Reason::Symbol)),
        (&["TDim is not a number"], Refused(Reason::Symbol)),
        // For operators that are replayed and not generated.
        (&["Unimplemented("], Unsupported(Gap::Kernel)),
        (&["as a constant"], Unsupported(Gap::VariableInput)),
        (&["to be a const"], Unsupported(Gap::VariableInput)),
        (&["must be a const"], Unsupported(Gap::VariableInput)),
        (&["attribute '", "expected "], Refused(Reason::Attribute)),
        (&["Wrong input number"], Refused(Reason::Inputs)),
        (&["ShapeError/OutOfBounds"], Refused(Reason::Data)),
        (&["ShapeError/Overflow"], Refused(Reason::Size)),
        (&["Overflow in TDim multiplication"], Refused(Reason::Size)),
        (&["tensor shape", "overflows"], Refused(Reason::Size)),
        (&["tensor shape", "is too large"], Refused(Reason::Size)),
        (&["mismatch after rewiring"], Refused(Reason::Inference)),
        (&["Unifying shapes", "Impossible to unify"], Refused(Reason::Inference)),
        (&["running pass codegen"], Refused(Reason::Optimization)),
        (&["Reshape", "volume mismatch"], Refused(Reason::Value)),
        (&["Reshape: ", "should be equal to"], Refused(Reason::Size)),
        (&["Reshape: 0 at position"], Refused(Reason::Value)),
        (&["Reshape: dimension", "is still negative after inference"], Refused(Reason::Value)),
        (&["Reshape: allowzero is set, so"], Refused(Reason::Value)),
        (&["Reshape: -1 in target shape", "cannot be inferred"], Refused(Reason::Value)),
        (&["Reshaping", ": invalid"], Refused(Reason::Value)),
        // The message goes on with the elements of the tensor.
        (&["MultiBroadcastTo: Broadcasting"], Refused(Reason::Value)),
        (&["Can't translate slice"], Refused(Reason::Value)),
        (&["Invalid slicing range"], Refused(Reason::Value)),
        (&["Invalid range", "for slicing"], Refused(Reason::Value)),
        (&["`start <= end`"], Refused(Reason::Value)),
        (&["`end <= len`"], Refused(Reason::Value)),
        (&["`start + len == end`"], Refused(Reason::Value)),
        (&["running pass PushSliceUp"], Refused(Reason::Optimization)),
        (&["Symbol <", "points to an invalid"], Refused(Reason::Symbol)),
        (&["expected attribute '"], Refused(Reason::Attribute)),
        // Pad and Tile have no kernel for these.
        (&["Bool is not a number"], Unsupported(Gap::ElementType)),
        (&["String is not a number"], Unsupported(Gap::ElementType)),
        (&["doesn't implement num_traits::Zero"], Unsupported(Gap::ElementType)),
        (&["Unsupported operator set"], Unsupported(Gap::Kernel)),
        (&["Clashing resolution for expression"], Refused(Reason::Inference)),
        (&["Impossible to unify", "Sym("], Refused(Reason::Inference)),
        // More rows for replayed operators. They come last, so that they do not change the class of other messages.
        (&["BatchNorm", "Params are not const"], Unsupported(Gap::VariableInput)),
        (&["StftWindow", "Expect constant input size"], Unsupported(Gap::VariableInput)),
        (&["STFT", "expects a constant"], Unsupported(Gap::VariableInput)),
        (&["Dft", "must be a known scalar"], Unsupported(Gap::VariableInput)),
        (&["MelWeightMatrix", "Expect all inputs to be constants"], Unsupported(Gap::VariableInput)),
        (&["OneHot", "Expected dim and value to be determined"], Unsupported(Gap::VariableInput)),
        (&["Pad", "Expect padding to be constant"], Unsupported(Gap::VariableInput)),
        (&["Pad", "constant input must be constant"], Unsupported(Gap::VariableInput)),
        (&["StridedSlice is typable only if", "is a const"], Unsupported(Gap::VariableInput)),
        // The node has scales or sizes, but as inputs.
        (&["Resize", "scale: None, sizes: None"], Unsupported(Gap::VariableInput)),
        (&["Non constant seq_len is not supported"], Unsupported(Gap::VariableInput)),
        // The dims of the output depend on the elements of an input.
        (&["Compress", "can not be typed"], Unsupported(Gap::DynamicShape)),
        (&["blocked quantization is not supported"], Unsupported(Gap::Kernel)),
        (&["(Pad)", "Unsupported mode"], Unsupported(Gap::Kernel)),
        (&["Dropout in training mode", "is not supported"], Unsupported(Gap::Kernel)),
        // tract has the output for inference, and not the outputs for training.
        (&["BatchNorm", "Wrong number of outputs"], Unsupported(Gap::Kernel)),
        (&["QLinearMatMul", "Applying rule", "datum_type", "Impossible to unify"], Unsupported(Gap::Kernel)),
    ]
};

struct TractRuntime {
    id: RuntimeId,
    onnx: tract_onnx::Onnx,
    stage: Rewriting,
    /// Whether the inputs are declared with the types and dims of their feeds, whatever the model declares.
    pin: bool,
}

/// How far a model is rewritten before it is run.
#[derive(Clone, Copy, Debug)]
enum Rewriting {
    Typed,
    Decluttered,
    Optimized,
}

/// The declared dims of the pinned inputs of a model; empty if the inputs stay as the model declares them.
type Pins = Vec<Vec<i64>>;

/// Executes a run of a job. The type of tract's own plans does not have the same name in all releases.
type Plan = dyn Fn(&Job, usize) -> TractResult<Result<Vec<Output>, TensorError>>;

/// A plan with the declarations of its outputs.
struct Loaded {
    plan: Box<Plan>,
    declared: Arc<[Declaration]>,
}

impl Runtime for TractRuntime {
    fn id(&self) -> &RuntimeId {
        &self.id
    }

    fn execute(&mut self, job: &Job, done: &mut dyn FnMut(Execution)) {
        let read = match self.read(job) {
            Ok(read) => read,
            Err(execution) => return done(execution),
        };
        // A pinned plan is only for the dims of its run.
        let dims = |run: usize| -> Pins {
            let of = |tensor: &tensor::Tensor| tensor.dims().to_vec();
            if self.pin { job.runs[run].iter().map(of).collect() } else { vec![] }
        };
        let mut plans: HashMap<Pins, Loaded> = HashMap::new();
        for run in 0..job.runs.len() {
            let Loaded { plan, declared } = match plans.entry(dims(run)) {
                Entry::Occupied(there) => there.into_mut(),
                Entry::Vacant(vacant) => match self.plan(read.clone(), job, run) {
                    Ok(loaded) => vacant.insert(loaded),
                    Err(execution) if self.pin => {
                        done(execution);
                        continue;
                    }
                    Err(execution) => return done(execution),
                },
            };
            let execution = match result(Stage::Run, Some(declared), || plan(job, run)) {
                Ok(Ok(outputs)) => Execution::answer(outputs, Arc::clone(declared)),
                Ok(Err(error)) => Execution::garbled(&error, declared),
                Err(failed) => failed,
            };
            if matches!(execution.outcome, Outcome::Panicked { .. }) {
                // A plan is not used again after a panic.
                plans.remove(&dims(run));
            }
            done(execution);
        }
    }
}

/// The result of a stage in tract; or the execution, if the stage fails with an error or a panic.
fn result<T>(
    stage: Stage,
    declared: Option<&Arc<[Declaration]>>,
    work: impl FnOnce() -> TractResult<T>,
) -> Result<T, Execution> {
    let declared = || declared.cloned();
    match caught(work) {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => Err(Execution::failure(stage, format!("{error:#}"), PHRASES, declared())),
        Err(message) => {
            let panicked = Execution::without_answer(Outcome::Panicked { stage }, message);
            Err(Execution { declared: declared(), ..panicked })
        }
    }
}

impl TractRuntime {
    /// Reads the model of a job.
    fn read(&self, job: &Job) -> Result<InferenceModel, Execution> {
        let model = result(Stage::Load, None, || match &job.model {
            Serialized::Bytes(bytes) => self.onnx.model_for_read(&mut &**bytes),
            Serialized::File(path) => self.onnx.model_for_path(path),
        })?;
        match default_that_is_fed(&model, job) {
            None => Ok(model),
            Some(name) => {
                let message = format!("the input {name} has a default, which becomes a constant, and cannot be fed");
                Err(Execution::without_answer(Outcome::Unsupported(Gap::Overriding), message))
            }
        }
    }

    /// A plan for a run. Unless it is pinned, it is for every run.
    fn plan(&self, mut model: InferenceModel, job: &Job, run: usize) -> Result<Loaded, Execution> {
        // Inputs are found by their place: if tract drops the first node as a no-op, the input takes the name of that node's
        // output.
        let inputs: Vec<String> = model.inputs.iter().map(|outlet| model.node(outlet.node).name.clone()).collect();
        let (typed, declared, symbols) = result(Stage::Load, None, || {
            if self.pin {
                pin_inputs(&mut model, job, run)?;
            }
            let typed = match self.stage {
                Rewriting::Typed => model.into_typed()?,
                Rewriting::Decluttered => model.into_typed()?.into_decluttered()?,
                Rewriting::Optimized => model.into_optimized()?,
            };
            let outputs = (0..typed.outputs.len()).map(|i| typed.output_fact(i).map(declaration));
            let declared = outputs.collect::<TractResult<Arc<[Declaration]>>>()?;
            let symbols = symbols(&typed)?;
            Ok((typed, declared, symbols))
        })?;
        let plan = result(Stage::Load, Some(&declared), || typed.into_runnable())?;
        let run = move |job: &Job, run: usize| {
            let fed = inputs.iter().map(|name| {
                let feed = job.feeds(run).find(|(fed, _)| fed == name);
                feed.map(|(_, tensor)| tensor).ok_or_else(|| TractError::msg(format!("no feed for the input {name}")))
            });
            let fed = fed.collect::<TractResult<Vec<&tensor::Tensor>>>()?;
            let mut values = SymbolValues::default();
            for (symbol, input, axis) in &symbols {
                fed[*input].dims().get(*axis).into_iter().for_each(|&dim| values.set(symbol, dim));
            }
            let feeds =
                fed.into_iter().map(|tensor| Ok(native(tensor)?.into())).collect::<TractResult<TVec<TValue>>>()?;
            plan.run(feeds)?.iter().map(|value| output(value, &values)).collect()
        };
        Ok(Loaded { plan: Box::new(run), declared })
    }
}

/// A graph input that is fed although tract has made it a constant, as it does with each input that has a default.
fn default_that_is_fed<'a>(read: &InferenceModel, job: &'a Job) -> Option<&'a str> {
    let is_input = |name: &str| read.inputs.iter().any(|outlet| read.node(outlet.node).name == name);
    job.inputs.iter().map(|name| &**name).find(|name| !is_input(name))
}

/// Declares each input with the type and dims of its feed in a run.
fn pin_inputs(model: &mut InferenceModel, job: &Job, run: usize) -> TractResult<()> {
    for index in 0..model.inputs.len() {
        let outlet = model.inputs[index];
        let feed = job.feeds(run).find(|(fed, _)| *fed == model.node(outlet.node).name);
        if let Some((_, tensor)) = feed
            && let Some(native) = native_type(tensor.element_type())
        {
            model.set_input_fact(index, InferenceFact::dt_shape(native, native_dims(tensor)?))?;
        }
    }
    Ok(())
}

fn native_dims(tensor: &tensor::Tensor) -> TractResult<Vec<usize>> {
    Ok(tensor.dims().iter().map(|&d| usize::try_from(d)).collect::<Result<_, _>>()?)
}

fn native_type(element_type: ElementType) -> Option<Datum> {
    Some(match element_type {
        ElementType::Float16 => Datum::F16,
        ElementType::Float => Datum::F32,
        ElementType::Double => Datum::F64,
        ElementType::Bool => Datum::Bool,
        ElementType::String => Datum::String,
        ElementType::Int8 => Datum::I8,
        ElementType::Int16 => Datum::I16,
        ElementType::Int32 => Datum::I32,
        ElementType::Int64 => Datum::I64,
        ElementType::Uint8 => Datum::U8,
        ElementType::Uint16 => Datum::U16,
        ElementType::Uint32 => Datum::U32,
        ElementType::Uint64 => Datum::U64,
        _ => return None,
    })
}

fn our_type(native: Datum) -> Option<ElementType> {
    ElementType::ALL.into_iter().find(|&t| native_type(t) == Some(native))
}

/// A tensor of tract with the same elements.
fn native(tensor: &tensor::Tensor) -> TractResult<Tensor> {
    let dims = native_dims(tensor)?;
    match tensor.elements() {
        Elements::Strings(strings) => {
            let strings = strings.iter().map(|s| String::from_utf8(s.to_vec())).collect::<Result<Vec<_>, _>>();
            let strings =
                strings.map_err(|_| TractError::msg("no datum type for the element type string that is not UTF-8"))?;
            // Not from an ndarray: there tract unwraps an error.
            // SAFETY: tract fills a tensor of strings with empty strings.
            let mut native = unsafe { Tensor::uninitialized_dt(Datum::String, &dims)? };
            // SAFETY: the tensor was made with this type.
            let places = unsafe { native.as_slice_mut_unchecked::<String>() };
            places.iter_mut().zip(strings).for_each(|(place, string)| *place = string);
            Ok(native)
        }
        Elements::Packed(bytes) => {
            let element_type = tensor.element_type();
            let native = native_type(element_type)
                .ok_or_else(|| TractError::msg(format!("no datum type for the element type {element_type}")))?;
            // SAFETY: the datum type has a fixed size. Every bit pattern is a value of it, or it is bool, and no tensor of ours
            // holds a bool other than 0 and 1. tract checks the length.
            unsafe { Tensor::from_raw_dt(native, &dims, bytes) }
        }
    }
}

/// The symbols that stand for dims of inputs, each with the place of the input and the axis.
fn symbols(typed: &TypedModel) -> TractResult<Vec<(Symbol, usize, usize)>> {
    let mut symbols = Vec::new();
    for input in 0..typed.inputs.len() {
        let dims = typed.input_fact(input)?.shape.iter().enumerate();
        symbols.extend(dims.filter_map(|(axis, dim)| match dim {
            TDim::Sym(symbol) => Some((symbol.clone(), input, axis)),
            _ => None,
        }));
    }
    Ok(symbols)
}

/// Converts an output of tract. Its `TDim`, a symbolic dimension that tract uses where ONNX says int64, is marked. `values` are
/// the values of the symbols, from the feeds.
fn output(value: &Tensor, values: &SymbolValues) -> TractResult<Result<Output, TensorError>> {
    let dims: Vec<i64> = value.shape().iter().map(|&d| i64::try_from(d)).collect::<Result<_, _>>()?;
    if value.datum_type() == Datum::TDim {
        let view = value.view();
        // An empty tensor may have no address.
        let symbolic = if value.len() == 0 { &[] } else { view.as_slice::<TDim>()? };
        let numbers = symbolic.iter().map(|dim| dim.eval_to_i64(values)).collect::<TractResult<Vec<i64>>>()?;
        let bits = numbers.into_iter().map(|number| u128::from(number.cast_unsigned()));
        let tensor = tensor::Tensor::from_element_bits(ElementType::Int64, dims, bits)?;
        return Ok(Ok(Output { tensor, native_type: Some(NativeType::TDim) }));
    }
    let element_type = our_type(value.datum_type())
        .ok_or_else(|| TractError::msg(format!("the output is of the foreign type {:?}", value.datum_type())))?;
    if element_type == ElementType::String {
        // An empty tensor may have no address.
        let view = value.view();
        let strings = if value.len() == 0 { &[] } else { view.as_slice::<String>()? };
        return Ok(tensor::Tensor::from_strings(dims, strings.iter().collect()).map(Output::new));
    }
    Ok(tensor::Tensor::from_packed(element_type, dims, value.as_bytes()).map(Output::new))
}

fn declaration(fact: &TypedFact) -> Declaration {
    let dims = fact.shape.iter().map(|dim| dim.to_i64().ok()).collect();
    Declaration { element_type: our_type(fact.datum_type), dims: Some(dims) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dims, some of them 0. Some multiply past the address range.
    const DIMS: [i64; 6] = [0, 1, 2, 3, 1 << 40, 768_614_336_404_564_651];

    /// A tensor of these dims, if it is small.
    fn small(element_type: ElementType, dims: Vec<i64>) -> Option<tensor::Tensor> {
        let count = tensor::element_count(&dims).filter(|count| *count < 100)?;
        let tensor = match element_type {
            ElementType::String => tensor::Tensor::from_strings(dims, (0..count).map(|i| i.to_string()).collect()),
            _ => tensor::Tensor::from_element_bits(element_type, dims, (0..count).map(|i| i as u128 % 2)),
        };
        Some(tensor.unwrap())
    }

    #[test]
    fn a_configuration_that_there_is_not_is_refused() {
        let mut row = crate::runtime::table::rows_of(&KIND).remove(0);
        assert!((KIND.open)(&row).is_ok());
        row.id.configuration = "optimised".to_owned();
        let error = (KIND.open)(&row).err().unwrap().to_string();
        assert!(error.contains("there is no configuration `optimised`"), "{error}");
    }

    #[test]
    fn a_string_that_tract_cannot_hold_is_a_gap() {
        let tensor = tensor::Tensor::from_strings(vec![1], [b"\xff"].into_iter().collect()).unwrap();
        let message = native(&tensor).unwrap_err().to_string();
        let outcome = Execution::failure(Stage::Run, message, PHRASES, None).outcome;
        assert_eq!(outcome, Outcome::Unsupported(Gap::ElementType));
    }

    #[test]
    fn an_input_that_has_a_default_cannot_be_fed() {
        use crate::case::Case;
        use crate::model;
        use crate::runtime::execute_once;
        for configuration in KIND.configurations {
            let row = &super::super::select(Some(&format!("tract/{configuration}"))).unwrap()[0];
            let mut runtime = (KIND.open)(row).unwrap();
            let mut outcome = |line: &str| {
                let case: Case = line.parse().unwrap();
                execute_once(runtime.as_mut(), &model::job(&case, &case.tensors())).outcome
            };
            assert!(matches!(outcome("Flatten@13 float[2,3]:default"), Outcome::Answer(_)));
            for line in
                ["Flatten@13 float[2,3]:default(overridden)", "Reshape@13 float[2,3] int64[1]{6}:default(overridden)"]
            {
                assert_eq!(outcome(line), Outcome::Unsupported(Gap::Overriding), "{line}");
            }
        }
    }

    #[test]
    fn a_tensor_is_handed_over_whole_or_tract_refuses_it_and_nothing_panics() {
        let (mut handed_over, mut refused) = (0, 0);
        arbtest::arbtest(|u| {
            let element_type = *u.choose(&ElementType::ALL)?;
            let rank = u.int_in_range(0..=4)?;
            let dims = (0..rank).map(|_| u.choose(&DIMS).copied()).collect::<Result<Vec<_>, _>>()?;
            let Some(tensor) = small(element_type, dims) else { return Ok(()) };
            match native(&tensor) {
                Ok(native) => {
                    assert_eq!(output(&native, &SymbolValues::default()).unwrap().unwrap().tensor, tensor);
                    handed_over += 1;
                }
                Err(error) => {
                    let outcome = Execution::failure(Stage::Run, format!("{error:#}"), PHRASES, None).outcome;
                    let is_vast = tensor.dims().iter().any(|&dim| dim > 3);
                    match outcome {
                        Outcome::Unsupported(Gap::ElementType) => assert_eq!(native_type(element_type), None),
                        Outcome::Refused { reason: Reason::Size, .. } => assert!(is_vast, "{tensor:?}"),
                        _ => panic!("{tensor:?}: {error:#}"),
                    }
                    refused += 1;
                }
            }
            Ok(())
        });
        assert!(handed_over > 100 && refused > 10, "{handed_over} {refused}");
    }
}
