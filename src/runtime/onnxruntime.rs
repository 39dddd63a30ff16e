//! onnxruntime through the `ort` crate, which loads the library of the pinned release at run time.

mod provider;

use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::ptr;
use std::slice;
use std::sync::{Arc, OnceLock};

use ort::AsPointer;
use ort::environment::Environment;
use ort::logging::LogLevel;
use ort::memory::Allocator;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};
use ort::session::{Session, SessionInputValue};
use ort::value::{DynTensor, DynTensorRef, Shape, TensorElementType, ValueType};

use self::provider::Provider;
use super::caught::caught;
use super::{
    Class, Declaration, Execution, Gap, Kind, OpenError, Outcome, Output, Phrase, Reason, Row, Runtime, RuntimeId,
    Stage, Supply, by_number, provision,
};
use crate::model::{Job, Serialized};
use crate::tensor::{ElementType, Elements, Strings, Tensor, TensorError};

pub(super) static KIND: Kind = Kind {
    name: "onnxruntime",
    version: provision::ONNXRUNTIME_VERSION,
    configurations: &["disabled", "all"],
    stages: &["disabled", "basic", "extended", "all"],
    passes: &[
        "Level1_RuleBasedTransformer",
        "Level2_RuleBasedTransformer",
        "EliminateIdentity",
        "EliminateSlice",
        "UnsqueezeElimination",
        "ExpandElimination",
        "CastElimination",
        "CastChainElimination",
        "NoopElimination",
        "PreShapeNodeElimination",
        "DivMulFusion",
        "NotWhereFusion",
        "Pad_Fusion",
        "ConstantSharing",
        "CommonSubexpressionElimination",
        "ConstantFolding",
        "ReshapeFusion",
        "ConcatSliceElimination",
        "SliceConcatToSpaceToDepthFusion",
        "TransposeOptimizer",
        "GatherSliceToSplitFusion",
        "GatherToSliceFusion",
        "IdenticalChildrenConsolidation",
        "NchwcTransformer",
        "NhwcTransformer",
    ],
    supply: Supply::Library(&provision::ONNXRUNTIME),
    known: include_str!("../../known/onnxruntime.toml"),
    open,
};

/// The meaning of the messages of onnxruntime. Each message begins with the error code.
const PHRASES: &[Phrase] = {
    use Class::{Refused, Unsupported};
    &[
        // The code alone is enough: for some types the text is empty.
        (&["NotImplemented:"], Unsupported(Gap::Kernel)),
        (&["MLDataType for:", "is not currently registered or supported"], Unsupported(Gap::ElementType)),
        (&["Unhandled TensorProto_DataType"], Unsupported(Gap::ElementType)),
        (&["Unsupported model IR version"], Unsupported(Gap::Ir)),
        (&["only *guarantees* support for models stamped with official released onnx opset"], Unsupported(Gap::Opset)),
        (&["is not a registered function/op"], Unsupported(Gap::Kernel)),
        // The version of the operator has no type inference, and its output is the input of another node.
        (&["output arg", "type inference failed"], Unsupported(Gap::Kernel)),
        (&["InvalidGraph:", "Unrecognized attribute"], Refused(Reason::Attribute)),
        (&["InvalidGraph:", "Mismatched attribute type"], Refused(Reason::Attribute)),
        (&["InvalidGraph:", "appeared multiple times"], Refused(Reason::Attribute)),
        (&["Attribute shape is not set"], Refused(Reason::Attribute)),
        (&["InvalidGraph:", "has an empty string in the graph"], Refused(Reason::Inputs)),
        (&["InvalidGraph:", "input size", "not in range"], Refused(Reason::Inputs)),
        (&["InvalidGraph:", "Type Error: Type", "of input parameter", "is invalid"], Refused(Reason::ElementType)),
        (&["SafeIntOnOverflow"], Refused(Reason::Size)),
        (&["The requested shape has too many elements"], Refused(Reason::Size)),
        (&["The input shape has too many elements"], Refused(Reason::Size)),
        (&["[ShapeInferenceError]", "ParseData type mismatch for tensor"], Refused(Reason::ElementType)),
        (&["[ShapeInferenceError]", "Dimension product overflow"], Refused(Reason::Size)),
        (&["[ShapeInferenceError]", "for attribute 'axis'"], Refused(Reason::Value)),
        (&["[ShapeInferenceError]", "Dimension could not be inferred"], Refused(Reason::Value)),
        (&["[ShapeInferenceError]", "Invalid Target shape product of 0"], Refused(Reason::Value)),
        (&["[ShapeInferenceError]", "Invalid dimension value"], Refused(Reason::Value)),
        (&["[ShapeInferenceError]", "Invalid position of 0"], Refused(Reason::Value)),
        (&["[ShapeInferenceError]", "Target shape may not have multiple -1"], Refused(Reason::Value)),
        (&["[ShapeInferenceError]", "shape input must be 1D tensor"], Refused(Reason::Value)),
        (&["running Flatten node", "axis ", " is not in valid range"], Refused(Reason::Value)),
        (&["running Flatten node", "The rank of input tensor must be >= axis"], Refused(Reason::Value)),
        (&["running Reshape node", "cannot be reshaped to the requested shape"], Refused(Reason::Value)),
        (&["running Reshape node", "exceeds the dimension size of the input tensor"], Refused(Reason::Value)),
        (&["running Reshape node", "A dimension cannot be less than -1"], Refused(Reason::Value)),
        (&["running Reshape node", "At most one dimension can be -1"], Refused(Reason::Value)),
        (&["running Reshape node", "A shape tensor must be a vector tensor"], Refused(Reason::Value)),
        // For operators that are replayed and not generated.
        (&["Batchwise recurrent operations", "are not supported"], Unsupported(Gap::Kernel)),
        (&["Non per-tensor quantization is not supported"], Unsupported(Gap::Kernel)),
    ]
};

struct OnnxRuntime {
    id: RuntimeId,
    /// Whether the library's API numbers all element types as the `ort` crate does.
    numbers_all_types: bool,
    builder: SessionBuilder,
    allocator: Allocator,
}

/// A session with the declarations of its outputs.
struct Loaded {
    session: Session,
    declared: Arc<[Declaration]>,
}

/// Opens a session builder for a configuration. The configuration names the level of optimization; after a `-`, the passes to
/// turn off; after a `+`, an execution provider that takes precedence over the one for the CPU, see [`Provider::parse`]; and after a
/// `>`, the file to which the optimized model is written.
fn open(row: &Row) -> Result<Box<dyn Runtime>, OpenError> {
    let failed = |reason: String| OpenError::new(&row.id, reason);
    let configuration = row.id.configuration.as_str();
    let (configuration, file) = match configuration.split_once('>') {
        Some((configuration, file)) => (configuration, Some(file)),
        None => (configuration, None),
    };
    let (level, provider) = match configuration.split_once('+') {
        Some((level, provider)) => (level, Some(Provider::parse(provider).map_err(failed)?)),
        None => (configuration, None),
    };
    let (level, passes) = level.split_once('-').map_or((level, None), |(level, passes)| (level, Some(passes)));
    let level = LEVELS.iter().find(|(name, _)| *name == level).map(|(_, level)| *level).ok_or_else(|| {
        let names = LEVELS.map(|(name, _)| name).join(", ");
        failed(format!("there is no level of optimization `{level}`; there are {names}"))
    })?;
    let (environment, version) = environment(row).map_err(failed)?;
    let mut builder = Session::builder(environment)
        .and_then(|builder| Ok(builder.with_optimization_level(level)?.with_intra_threads(1)?.with_inter_threads(1)?))
        .and_then(|builder| Ok(builder.with_log_level(LogLevel::Fatal)?))
        .map_err(|error| failed(error.to_string()))?;
    if let Some(passes) = passes {
        builder = builder.with_config_entry(DISABLED_PASSES, passes).map_err(|error| failed(error.to_string()))?;
    }
    if let Some(file) = file {
        builder = builder.with_optimized_model_path(file).map_err(|error| failed(error.to_string()))?;
    }
    if let Some(provider) = provider {
        provider.add(&mut builder).map_err(failed)?;
    }
    // With the user's own library, the version is the one that the library reports.
    let id = RuntimeId { version: version.clone(), ..row.id.clone() };
    let numbers_all_types = by_number(&id.version) >= by_number(RENUMBERED);
    Ok(Box::new(OnnxRuntime { id, numbers_all_types, builder, allocator: Allocator::default() }))
}

/// The session configuration entry with the passes that are turned off, separated by [`super::PASS_SEPARATOR`].
const DISABLED_PASSES: &str = "optimization.disable_specified_optimizers";

const LEVELS: [(&str, GraphOptimizationLevel); 4] = [
    ("disabled", GraphOptimizationLevel::Disable),
    ("basic", GraphOptimizationLevel::Level1),
    ("extended", GraphOptimizationLevel::Level2),
    ("all", GraphOptimizationLevel::All),
];

/// The one library of this process.
struct Library {
    library: PathBuf,
    /// Its environment, and its version.
    opened: (Environment, String),
}

/// The one environment of this process and the version of its library; the library is provisioned on first use.
fn environment(row: &Row) -> Result<&'static (Environment, String), String> {
    static LOADED: OnceLock<Result<Library, String>> = OnceLock::new();
    let library = match &row.library {
        Some(library) => library.clone(),
        None => provision::ONNXRUNTIME.provision(&row.id.version).map_err(|error| error.to_string())?,
    };
    let loaded = LOADED.get_or_init(|| {
        let version = library_version(&library)?;
        if provision::ONNXRUNTIME.is_too_old(&version) {
            let (library, oldest) = (library.display(), provision::ONNXRUNTIME.oldest);
            return Err(format!(
                "{library} is onnxruntime {version}, which is too old: the oldest release that can be loaded is {oldest}"
            ));
        }
        let builder = ort::init_from(&library).map_err(|error| format!("{}: {error}", library.display()))?;
        let environment = builder.with_telemetry(false).build().map_err(|error| error.to_string())?;
        environment.set_log_level(LogLevel::Fatal);
        Ok(Library { library: library.clone(), opened: (environment, version) })
    });
    match loaded {
        Ok(loaded) if loaded.library == library => Ok(&loaded.opened),
        Ok(loaded) => {
            let library = loaded.library.display();
            Err(format!("this process has loaded {library} already: leave out --in-process"))
        }
        Err(reason) => Err(reason.clone()),
    }
}

/// The version that a library reports. An error if the file is not an onnxruntime library.
fn library_version(path: &Path) -> Result<String, String> {
    type GetApiBase = unsafe extern "C" fn() -> *const ort::sys::OrtApiBase;
    let failed = |error: libloading::Error| format!("{} is not an onnxruntime library: {error}", path.display());
    // SAFETY: loading runs the library's initializers; the user, or provisioning, vouches for the file.
    let library = unsafe { libloading::Library::new(path) }.map_err(failed)?;
    // SAFETY: this is the type of the symbol in onnxruntime's C API.
    let get_base = unsafe { library.get::<GetApiBase>(b"OrtGetApiBase") }.map_err(failed)?;
    // SAFETY: the function takes nothing and returns a static structure, or null.
    let base = unsafe { get_base().as_ref() }.ok_or_else(|| format!("{} has no API", path.display()))?;
    // SAFETY: the function takes nothing and returns a static string.
    let version = unsafe { CStr::from_ptr((base.GetVersionString)()) };
    Ok(version.to_string_lossy().into_owned())
}

impl Runtime for OnnxRuntime {
    fn id(&self) -> &RuntimeId {
        &self.id
    }

    fn execute(&mut self, job: &Job, done: &mut dyn FnMut(Execution)) {
        let Loaded { mut session, declared } = match self.load(&job.model) {
            Ok(loaded) => loaded,
            Err(execution) => return done(execution),
        };
        for run in 0..job.runs.len() {
            done(match self.feed_and_run(&mut session, job, run) {
                Ok(Ok(outputs)) => Execution::answer(outputs, Arc::clone(&declared)),
                Ok(Err(error)) => Execution::garbled(&error, &declared),
                Err(error) => failure(Stage::Run, &error, Some(Arc::clone(&declared))),
            });
        }
    }
}

fn failure(stage: Stage, error: &ort::Error, declared: Option<Arc<[Declaration]>>) -> Execution {
    Execution::failure(stage, format!("{:?}: {}", error.code(), error.message()), PHRASES, declared)
}

impl OnnxRuntime {
    /// A session; or the execution of the job, if the model cannot be loaded.
    fn load(&mut self, model: &Serialized) -> Result<Loaded, Execution> {
        let session = match model {
            Serialized::Bytes(bytes) => self.builder.commit_from_memory(bytes),
            Serialized::File(path) => self.builder.commit_from_file(path),
        };
        let session = session.map_err(|error| failure(Stage::Load, &error, None))?;
        let outlets = || session.inputs().iter().chain(session.outputs());
        if let Some(other) = outlets().find(|outlet| outlet.dtype().tensor_type().is_none()) {
            let message = format!("only tensors are fed and read here, and `{}` is a {}", other.name(), other.dtype());
            return Err(Execution::without_answer(Outcome::Unsupported(Gap::Unstated), message));
        }
        let types = outlets().map(|outlet| outlet.dtype().tensor_type());
        if !self.numbers_all_types && types.flatten().any(is_renumbered) {
            let message = format!("the API numbers this element type otherwise since {RENUMBERED}");
            return Err(Execution::without_answer(Outcome::Unsupported(Gap::ElementType), message));
        }
        let declared = session.outputs().iter().map(|outlet| declaration(outlet.dtype())).collect();
        Ok(Loaded { session, declared })
    }

    fn feed_and_run(&self, session: &mut Session, job: &Job, run: usize) -> ort::Result<Result<Vec<Output>, String>> {
        let mut feeds = Vec::with_capacity(job.inputs.len());
        for (name, tensor) in job.feeds(run) {
            feeds.push((name, SessionInputValue::from(self.value(tensor)?)));
        }
        // The crate panics if onnxruntime leaves an output without a value and reports no error.
        let outputs = match caught(|| session.run(feeds)) {
            Ok(outputs) => outputs?,
            Err(panic) => return Ok(Err(format!("it has no value: {panic}"))),
        };
        let output = |tensor: Result<Tensor, TensorError>| tensor.map(Output::new).map_err(|error| error.to_string());
        outputs.values().map(|value| Ok(output(read(&value.downcast()?)?))).collect()
    }

    /// A tensor of onnxruntime with the same elements.
    fn value(&self, tensor: &Tensor) -> ort::Result<DynTensor> {
        let element_type = native_type(tensor.element_type());
        let mut value = DynTensor::new(&self.allocator, element_type, Shape::new(tensor.dims().iter().copied()))?;
        match tensor.elements() {
            Elements::Packed(bytes) if !bytes.is_empty() => {
                // SAFETY: onnxruntime allocated as many bytes as the elements take when packed, and the tensor holds exactly so
                // many; the two buffers are not the same.
                unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), value.data_ptr_mut().cast(), bytes.len()) };
            }
            Elements::Packed(_) => {}
            Elements::Strings(strings) => {
                for (index, string) in strings.iter().enumerate() {
                    fill_string(&mut value, index, string)?;
                }
            }
        }
        Ok(value)
    }
}

/// Sets one element of a string tensor. The length is given, so that an embedded NUL is an ordinary byte.
fn fill_string(value: &mut DynTensor, index: usize, string: &[u8]) -> ort::Result<()> {
    let mut buffer: *mut c_char = ptr::null_mut();
    // SAFETY: the value is a live string tensor; onnxruntime checks the index and gives a buffer of the length.
    unsafe {
        let fill = ort::api().GetResizedStringTensorElementBuffer;
        ort::Error::result_from_status(fill(value.ptr_mut(), index, string.len(), &raw mut buffer))?;
        if !string.is_empty() {
            ptr::copy_nonoverlapping(string.as_ptr(), buffer.cast(), string.len());
        }
    }
    Ok(())
}

/// Converts a value of onnxruntime to a tensor.
fn read(value: &DynTensorRef) -> ort::Result<Result<Tensor, TensorError>> {
    let broken = |what: String| ort::Error::new(format!("the output cannot be read: {what}"));
    let element_type =
        our_type(*value.data_type()).ok_or_else(|| broken(format!("its type is {}", value.data_type())))?;
    let dims: Vec<i64> = value.shape().iter().copied().collect();
    let count = crate::tensor::element_count(&dims).ok_or_else(|| broken(format!("its dims are {dims:?}")))?;
    if element_type == ElementType::String {
        return Ok(Tensor::from_strings(dims, read_strings(value, count)?));
    }
    let size = element_type.packed_bytes(count).ok_or_else(|| broken(format!("its dims are {dims:?}")))?;
    // SAFETY: an output of this type and these dims holds `size` bytes. An empty output may have no address and is not read.
    let bytes = if size > 0 { unsafe { slice::from_raw_parts(value.data_ptr().cast::<u8>(), size) } } else { &[] };
    Ok(Tensor::from_packed(element_type, dims, bytes))
}

fn read_strings(value: &DynTensor, count: usize) -> ort::Result<Strings> {
    let mut length = 0;
    // SAFETY: the value is a live string tensor, and the length is written.
    unsafe {
        ort::Error::result_from_status((ort::api().GetStringTensorDataLength)(value.ptr(), &raw mut length))?;
    }
    let (mut bytes, mut starts) = (vec![0_u8; length], vec![0_usize; count]);
    let (to, starts_to) = (bytes.as_mut_ptr().cast(), starts.as_mut_ptr());
    // SAFETY: as above; both buffers have the lengths that are given, which onnxruntime checks.
    unsafe {
        let get = ort::api().GetStringTensorContent;
        ort::Error::result_from_status(get(value.ptr(), to, length, starts_to, count))?;
    }
    let ends: Vec<usize> = starts.into_iter().skip(1).chain((count > 0).then_some(length)).collect();
    Strings::from_parts(&bytes, &ends).ok_or_else(|| ort::Error::new("the strings of the output overlap"))
}

fn declaration(declared: &ValueType) -> Declaration {
    let dims = declared.tensor_shape().map(|shape| shape.iter().map(|&d| (d >= 0).then_some(d)).collect::<Vec<_>>());
    // The API gives no dims both for a scalar and for a rank that is left open.
    Declaration { element_type: declared.tensor_type().and_then(our_type), dims: dims.filter(|dims| !dims.is_empty()) }
}

/// The first release that numbers the element types in [`is_renumbered`] as the `ort` crate does. In older releases their numbers
/// stand for other types.
const RENUMBERED: &str = "1.31.0";

fn is_renumbered(native: TensorElementType) -> bool {
    matches!(native, TensorElementType::Int2 | TensorElementType::Uint2 | TensorElementType::Float8E8M0)
}

fn our_type(native: TensorElementType) -> Option<ElementType> {
    ElementType::ALL.into_iter().find(|&t| native_type(t) == native)
}

fn native_type(element_type: ElementType) -> TensorElementType {
    match element_type {
        ElementType::Float16 => TensorElementType::Float16,
        ElementType::Float => TensorElementType::Float32,
        ElementType::Double => TensorElementType::Float64,
        ElementType::Bool => TensorElementType::Bool,
        ElementType::String => TensorElementType::String,
        ElementType::Int8 => TensorElementType::Int8,
        ElementType::Int16 => TensorElementType::Int16,
        ElementType::Int32 => TensorElementType::Int32,
        ElementType::Int64 => TensorElementType::Int64,
        ElementType::Uint8 => TensorElementType::Uint8,
        ElementType::Uint16 => TensorElementType::Uint16,
        ElementType::Uint32 => TensorElementType::Uint32,
        ElementType::Uint64 => TensorElementType::Uint64,
        ElementType::Complex64 => TensorElementType::Complex64,
        ElementType::Complex128 => TensorElementType::Complex128,
        ElementType::Bfloat16 => TensorElementType::Bfloat16,
        ElementType::Float8e4m3fn => TensorElementType::Float8E4M3FN,
        ElementType::Float8e4m3fnuz => TensorElementType::Float8E4M3FNUZ,
        ElementType::Float8e5m2 => TensorElementType::Float8E5M2,
        ElementType::Float8e5m2fnuz => TensorElementType::Float8E5M2FNUZ,
        ElementType::Int4 => TensorElementType::Int4,
        ElementType::Uint4 => TensorElementType::Uint4,
        ElementType::Float4e2m1 => TensorElementType::Float4E2M1,
        ElementType::Float8e8m0 => TensorElementType::Float8E8M0,
        ElementType::Int2 => TensorElementType::Int2,
        ElementType::Uint2 => TensorElementType::Uint2,
    }
}

#[cfg(test)]
mod wheels {
    use prost::Message;

    use super::*;
    use crate::case::Case;
    use crate::model;
    use crate::runtime::execute_once;

    #[test]
    #[ignore = "wheels: the onnxruntime library"]
    fn a_default_is_used_where_nothing_is_fed_and_what_is_fed_holds_over_it() {
        for configuration in KIND.configurations {
            let row = &super::super::select(Some(&format!("onnxruntime/{configuration}"))).unwrap()[0];
            let mut runtime = open(row).unwrap();
            for line in [
                "Flatten@26 float[2,3]:default",
                "Flatten@26 float[2,3]:default(overridden)",
                "Flatten@8 float[2,3]:default(overridden)",
                "Reshape@26 float[2,3]:default(overridden) int64[2]{3,2}:default(overridden)",
                "Reshape@26 float[2,3]:default(overridden) int64[2]{3,2}:default",
            ] {
                let case: Case = line.parse().unwrap();
                let execution = execute_once(runtime.as_mut(), &model::job(&case, &case.tensors()));
                let expected = case.expectation(&case.tensors());
                let expected = expected.outputs().map(|outputs| outputs.iter().cloned().map(Output::new).collect());
                assert_eq!(Some(execution.outcome), expected.map(Outcome::Answer), "{line}: {}", execution.message);
            }
        }
    }

    /// An output that this program cannot read is a gap of this program, and no refusal of onnxruntime.
    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn a_model_that_gives_no_tensor_is_not_supported() {
        let case: Case = "Flatten@15 float[2]".parse().unwrap();
        let job = model::job(&case, &case.tensors());
        let mut runtime = open(&super::super::select(Some("onnxruntime/all")).unwrap()[0]).unwrap();
        assert!(matches!(execute_once(runtime.as_mut(), &job).outcome, Outcome::Answer(_)));
        for operator in ["SequenceConstruct", "Optional"] {
            let mut model = job.model.decode().unwrap();
            let graph = model.graph.as_mut().unwrap();
            graph.node[0].op_type = Some(operator.to_owned());
            graph.output[0].r#type = None;
            let execution = execute_once(runtime.as_mut(), &Job { model: model.encode_to_vec().into(), ..job.clone() });
            assert_eq!(execution.outcome, Outcome::Unsupported(Gap::Unstated), "{}", execution.message);
            assert!(execution.message.starts_with("only tensors are fed and read here"), "{}", execution.message);
        }
    }
}
