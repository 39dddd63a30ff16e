//! The layout of ONNX test data, such as the backend tests of the `onnx` package. A folder has a `model.onnx` and, beside it,
//! folders `test_data_set_N`. Each of these has a tensor `input_K.pb` for every graph input that is fed, and a tensor
//! `output_K.pb` for every graph output. A graph input that has a default, an initializer of its name, need not be fed.
//!
//! Files may come from anywhere, so their sizes are checked before memory is allocated for them.

use std::fs::{self, File};
use std::io::{self, Read};
use std::iter::repeat;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use prost::Message;

use super::proto::{DimensionValue, GraphProto, ModelProto, TensorProto, ValueInfoProto};
use super::{Job, tensor_proto};
use crate::case::Encoding;
use crate::files::write_whole;
use crate::tensor::{ElementType, Tensor};

/// The name of the file with the model.
pub const MODEL: &str = "model.onnx";
const DATA_SET: &str = "test_data_set_";
/// The folder of the first data set.
pub const FIRST: &str = "test_data_set_0";
const INPUT: &str = "input_";
const OUTPUT: &str = "output_";
const ENDING: &str = ".pb";

/// The most bytes that a file may have.
pub const MAX_FILE: u64 = 256 << 20;
/// The most files of a kind that a data set may have.
const MAX_TENSORS: usize = 10_000;
/// How many levels below a folder are searched.
const MAX_DEPTH: u32 = 8;

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TestDataError {
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("{path}: it has {size} bytes, and at most {MAX_FILE} are read")]
    TooLarge { path: PathBuf, size: u64 },
    /// The contents of the file cannot be right.
    #[error("{path}: {what}")]
    Broken { path: PathBuf, what: String },
    /// The contents may be right, but are of a kind that is not known here.
    #[error("{path}: {what}")]
    Foreign { path: PathBuf, what: String },
}

/// A folder with a model.
#[derive(Debug)]
pub struct Folder {
    model: Vec<u8>,
    /// The graph inputs that have to be fed.
    required: Vec<ValueInfoProto>,
    /// All graph inputs that can be fed. From IR 4 on, these include those that have a default.
    inputs: Vec<ValueInfoProto>,
    /// The number of graph outputs.
    outputs: usize,
    /// The paths of its data sets, in order.
    pub data_sets: Vec<PathBuf>,
}

/// The feeds of a model, and its expected outputs.
#[derive(Debug)]
pub struct DataSet {
    pub job: Job,
    /// `None` if the folder has no outputs.
    pub outputs: Option<Vec<Tensor>>,
}

/// The folders with a model at a path or below it, sorted.
///
/// # Errors
/// If a folder cannot be read.
pub fn find(path: &Path) -> Result<Vec<PathBuf>, TestDataError> {
    let mut found = Vec::new();
    let mut waiting = vec![(path.to_owned(), 0)];
    while let Some((folder, depth)) = waiting.pop() {
        if folder.join(MODEL).is_file() {
            found.push(folder);
        } else if depth < MAX_DEPTH {
            waiting.extend(folders_in(&folder)?.into_iter().map(|below| (below, depth + 1)));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The folders in a folder. Links are not followed, so that they cannot form a cycle.
fn folders_in(folder: &Path) -> Result<Vec<PathBuf>, TestDataError> {
    let failed = |error| TestDataError::Io { path: folder.to_owned(), error };
    let entries = fs::read_dir(folder).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|file_type| file_type.is_dir());
    Ok(entries.iter().filter(|entry| is_folder(entry)).map(fs::DirEntry::path).collect())
}

impl Folder {
    /// Reads the model, and lists the data sets.
    ///
    /// # Errors
    /// If a file cannot be read, is no model, or has inputs or outputs that are not tensors. The error names it.
    pub fn open(path: &Path) -> Result<Folder, TestDataError> {
        let file = path.join(MODEL);
        let broken = |what: String| TestDataError::Broken { path: file.clone(), what };
        let model = read(&file)?;
        let proto = ModelProto::decode(&model[..]).map_err(|error| broken(format!("not an ONNX model: {error}")))?;
        let graph = proto.graph.ok_or_else(|| broken("the model has no graph".to_owned()))?;
        for (kind, value) in graph.input.iter().map(|v| ("input", v)).chain(graph.output.iter().map(|v| ("output", v)))
        {
            check_type(kind, value).map_err(|what| TestDataError::Foreign { path: file.clone(), what })?;
        }
        let mut data_sets: Vec<(u64, PathBuf)> = folders_in(path)?
            .into_iter()
            .filter_map(|folder| Some((numbered(&folder, DATA_SET, "")?, folder)))
            .collect();
        if data_sets.is_empty() {
            let what = format!("there is no {DATA_SET}0 here, with what to feed the model");
            return Err(TestDataError::Broken { path: path.to_owned(), what });
        }
        data_sets.sort_unstable();
        let required = required_inputs(&graph);
        let is_overridable = proto.ir_version.is_some_and(|ir| ir >= 4);
        Ok(Folder {
            inputs: if is_overridable { graph.input.clone() } else { required.clone() },
            required,
            outputs: graph.output.len(),
            model,
            data_sets: data_sets.into_iter().map(|(_, folder)| folder).collect(),
        })
    }

    /// Reads a data set.
    ///
    /// # Errors
    /// If a file cannot be read or is no tensor, or the files do not fit the graph. The error names the file.
    pub fn data_set(&self, path: &Path) -> Result<DataSet, TestDataError> {
        let inputs = tensors(path, INPUT, self.required.len()..=self.inputs.len())?;
        let fed = self.fed(&inputs).ok_or_else(|| {
            let (there, needed, all) = (inputs.len(), self.required.len(), self.inputs.len());
            let what = format!(
                "there are {there} files {INPUT}K{ENDING}, and {needed} of the model's {all} inputs have to be fed: which of \
                 the others are fed, the names of the tensors do not say"
            );
            TestDataError::Broken { path: path.to_owned(), what }
        })?;
        for (file, declared) in inputs.iter().zip(&fed) {
            let broken = |what| TestDataError::Broken { path: file.path.clone(), what };
            check_feed(&file.tensor, declared).map_err(broken)?;
        }
        let names = fed.into_iter().map(|input| input.name.as_deref().unwrap_or_default().into());
        let feeds = names.zip(inputs.into_iter().map(|file| file.tensor));
        let outputs = if count(path, OUTPUT)? == 0 {
            None
        } else {
            let outputs = tensors(path, OUTPUT, self.outputs..=self.outputs)?;
            Some(outputs.into_iter().map(|file| file.tensor).collect())
        };
        Ok(DataSet { job: Job::once(self.model.as_slice(), feeds), outputs })
    }

    /// The graph inputs that files are for. If the numbers fit, these are the required inputs or all inputs, in order; otherwise,
    /// the inputs with the names of the tensors.
    fn fed(&self, files: &[TensorFile]) -> Option<Vec<&ValueInfoProto>> {
        let in_order = [&self.required, &self.inputs].into_iter().find(|inputs| inputs.len() == files.len());
        if let Some(inputs) = in_order {
            return Some(inputs.iter().collect());
        }
        let named = |file: &TensorFile| self.inputs.iter().find(|input| input.name == file.name);
        let fed: Vec<&ValueInfoProto> = files.iter().map(named).collect::<Option<_>>()?;
        let is_fed_once = |input: &ValueInfoProto| fed.iter().filter(|fed| fed.name == input.name).count() == 1;
        (self.required.iter().all(is_fed_once) && fed.iter().all(|fed| is_fed_once(fed))).then_some(fed)
    }
}

/// Writes a job in the layout, with the expected outputs if there are any, each under the name of its graph output.
///
/// # Errors
/// If a file cannot be written, or the job has no model.
pub fn write(folder: &Path, job: &Job, outputs: Option<&[Tensor]>) -> io::Result<()> {
    fs::create_dir_all(folder.join(FIRST))?;
    let outputs = output_files(job, FIRST, outputs.unwrap_or_default())?;
    for (path, bytes) in input_files(job)?.into_iter().chain(outputs) {
        write_whole(&folder.join(path), &bytes)?;
    }
    Ok(())
}

/// The folder with the feeds of a run before the last. The first run has the number 0.
pub fn before(run: usize) -> String {
    format!("before_{run}")
}

/// The model of a job and the feeds of its runs, as files by their path. The last run is stored as the layout has it, and each
/// run before it in a folder of its own, see [`before`].
///
/// # Errors
/// If the model cannot be read.
pub fn input_files(job: &Job) -> io::Result<Vec<(String, Vec<u8>)>> {
    let last = job.runs.len().saturating_sub(1);
    let model = (MODEL.to_owned(), job.model.bytes()?.into_owned());
    let files = |folder: &str, run| numbered_files(&format!("{folder}/{INPUT}"), job.feeds(run)).collect::<Vec<_>>();
    let earlier = (0..last).flat_map(|run| files(&before(run), run));
    Ok([model].into_iter().chain(files(FIRST, last)).chain(earlier).collect())
}

/// The expected outputs of a job, as files in a folder, each under the name of its graph output.
///
/// # Errors
/// If the job has no model.
pub fn output_files(job: &Job, folder: &str, outputs: &[Tensor]) -> io::Result<Vec<(String, Vec<u8>)>> {
    let graph = job.model.decode()?.graph.unwrap_or_default();
    let names = graph.output.iter().map(|output| output.name.as_deref().unwrap_or_default()).chain(repeat(""));
    Ok(numbered_files(&format!("{folder}/{OUTPUT}"), names.zip(outputs)).collect())
}

fn numbered_files<'a>(
    start: &str,
    tensors: impl Iterator<Item = (&'a str, &'a Tensor)>,
) -> impl Iterator<Item = (String, Vec<u8>)> {
    tensors.enumerate().map(move |(index, (name, tensor))| {
        let proto = tensor_proto::write(name, tensor, Encoding::Raw);
        (format!("{start}{index}{ENDING}"), proto.encode_to_vec())
    })
}

/// The graph inputs that have to be fed: the others have their values in the model.
fn required_inputs(graph: &GraphProto) -> Vec<ValueInfoProto> {
    let is_initialized = |input: &&ValueInfoProto| graph.initializer.iter().any(|tensor| tensor.name == input.name);
    graph.input.iter().filter(|input| !is_initialized(input)).cloned().collect()
}

/// An error if a value is not a tensor of a known element type.
fn check_type(kind: &str, value: &ValueInfoProto) -> Result<(), String> {
    let name = value.name.as_deref().unwrap_or("");
    let Some(tensor_type) = value.r#type.as_ref().and_then(|t| t.tensor_type.as_ref()) else {
        return Err(format!("the {kind} `{name}` is a sequence, an optional, a map or a sparse tensor"));
    };
    let number = tensor_type.elem_type.unwrap_or(0);
    match ElementType::from_data_type(number) {
        Some(_) => Ok(()),
        None => Err(format!("the {kind} `{name}` is of the unknown element type {number}")),
    }
}

/// A tensor in a file.
struct TensorFile {
    path: PathBuf,
    /// The name of the tensor.
    name: Option<String>,
    tensor: Tensor,
}

/// The tensors of a data set. The range is the numbers of tensors that the model allows.
fn tensors(data_set: &Path, kind: &str, wanted: RangeInclusive<usize>) -> Result<Vec<TensorFile>, TestDataError> {
    let there = count(data_set, kind)?;
    if !wanted.contains(&there) {
        let wanted = if there < *wanted.start() { wanted.start() } else { wanted.end() };
        let what = format!("there are {there} files {kind}K{ENDING}, and the model has {wanted}");
        return Err(TestDataError::Broken { path: data_set.to_owned(), what });
    }
    (0..there).map(|index| tensor(data_set.join(format!("{kind}{index}{ENDING}")))).collect()
}

fn count(data_set: &Path, kind: &str) -> Result<usize, TestDataError> {
    let failed = |error| TestDataError::Io { path: data_set.to_owned(), error };
    let entries = fs::read_dir(data_set).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let count = entries.iter().filter(|entry| numbered(&entry.path(), kind, ENDING).is_some()).count();
    if count > MAX_TENSORS {
        let what = format!("{count} files {kind}K{ENDING}; at most {MAX_TENSORS} are read");
        return Err(TestDataError::Broken { path: data_set.to_owned(), what });
    }
    Ok(count)
}

/// The number in the name of a file or folder.
fn numbered(path: &Path, prefix: &str, ending: &str) -> Option<u64> {
    path.file_name()?.to_str()?.strip_prefix(prefix)?.strip_suffix(ending)?.parse().ok()
}

/// The tensor in a file.
fn tensor(path: PathBuf) -> Result<TensorFile, TestDataError> {
    let broken = |what: String| TestDataError::Broken { path: path.clone(), what };
    let proto = TensorProto::decode(&read(&path)?[..]).map_err(|error| broken(format!("not a tensor: {error}")))?;
    let tensor = tensor_proto::read(&proto).map_err(|error| broken(error.to_string()))?;
    Ok(TensorFile { path, name: proto.name, tensor })
}

/// Checks a tensor against the model's declaration. Otherwise a wrong tensor would count against the runtime.
fn check_feed(tensor: &Tensor, declared: &ValueInfoProto) -> Result<(), String> {
    let element_type = declared.r#type.as_ref().and_then(|t| t.tensor_type.as_ref()).and_then(|t| t.elem_type);
    let declared_type = element_type.and_then(ElementType::from_data_type);
    match declared_type.filter(|&declared| declared != tensor.element_type()) {
        Some(declared) => Err(format!("it holds {}, and the model declares {declared}", tensor.element_type())),
        None if fits(declared, tensor.dims()) => Ok(()),
        None => Err(format!("its dims {:?} are not those that the model declares", tensor.dims())),
    }
}

/// Whether dims fit the declared dims.
fn fits(declared: &ValueInfoProto, dims: &[i64]) -> bool {
    let shape = declared.r#type.as_ref().and_then(|t| t.tensor_type.as_ref()).and_then(|t| t.shape.as_ref());
    shape.is_none_or(|shape| {
        let fits = |declared: &Option<DimensionValue>, dim: i64| match declared {
            Some(DimensionValue::Size(size)) => *size == dim,
            Some(DimensionValue::Symbol(_)) | None => true,
        };
        shape.dim.len() == dims.len() && shape.dim.iter().zip(dims).all(|(declared, &dim)| fits(&declared.value, dim))
    })
}

/// The contents of a file, unless it is too large. A file that grows too large while it is read is an error as well.
fn read(path: &Path) -> Result<Vec<u8>, TestDataError> {
    let failed = |error| TestDataError::Io { path: path.to_owned(), error };
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(TestDataError::Broken { path: path.to_owned(), what: "it is not a file".to_owned() });
    }
    let mut bytes = Vec::new();
    let mut size = metadata.len();
    if size <= MAX_FILE {
        File::open(path).map_err(failed)?.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
        size = bytes.len() as u64;
    }
    if size > MAX_FILE { Err(TestDataError::TooLarge { path: path.to_owned(), size }) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;
    use crate::model::job;

    fn written(line: &str) -> (tempfile::TempDir, Job) {
        let case: Case = line.parse().unwrap();
        let (folder, job) = (tempfile::tempdir().unwrap(), job(&case, &case.tensors()));
        write(folder.path(), &job, None).unwrap();
        (folder, job)
    }

    fn read_back(folder: &Path) -> Result<Job, TestDataError> {
        let folder = Folder::open(folder)?;
        Ok(folder.data_set(&folder.data_sets[0])?.job)
    }

    #[test]
    fn what_is_fed_is_read_back_whichever_inputs_have_a_default() {
        const WIRINGS: [&str; 4] = ["", ":initializer", ":default", ":default(overridden)"];
        for opset in [8, 14] {
            for (data, shape) in WIRINGS.iter().flat_map(|data| WIRINGS.map(|shape| (data, shape))) {
                let line = format!("Reshape@{opset} float[2,3]{data} int64[2]{{3,2}}{shape}");
                let (folder, job) = written(&line);
                assert_eq!(read_back(folder.path()).unwrap(), job, "{line}");
            }
        }
    }

    #[test]
    fn each_output_has_a_file_and_the_name_of_its_graph_output() {
        let case: Case = "x=float[2]:output; a=Shape@21 x :output; a1=Flatten x; Reshape a1 a".parse().unwrap();
        let (folder, tensors) = (tempfile::tempdir().unwrap(), case.tensors());
        let job = job(&case, &tensors);
        let expectation = case.expectation(&tensors);
        write(folder.path(), &job, expectation.outputs()).unwrap();
        let files: Vec<TensorFile> = super::tensors(&folder.path().join("test_data_set_0"), OUTPUT, 3..=3).unwrap();
        let names: Vec<Option<&str>> = files.iter().map(|file| file.name.as_deref()).collect();
        assert_eq!(names, [Some("node0"), Some("node2"), Some("source0")]);
        let graph = job.model.decode().unwrap().graph.unwrap();
        assert_eq!(names, graph.output.iter().map(|output| output.name.as_deref()).collect::<Vec<_>>());
        let tensors: Vec<Tensor> = files.into_iter().map(|file| file.tensor).collect();
        assert_eq!(Some(&tensors[..]), expectation.outputs());
    }

    #[test]
    fn what_fits_no_input_is_an_error() {
        let (folder, _) = written("Reshape@14 float[2,3]:default int64[2]{3,2}:default(overridden)");
        let input = folder.path().join("test_data_set_0/input_0.pb");
        let proto = tensor_proto::write("another", &Tensor::vector(&[3, 2]), Encoding::Raw);
        fs::write(&input, proto.encode_to_vec()).unwrap();
        let error = read_back(folder.path()).unwrap_err().to_string();
        assert!(error.contains("the names of the tensors do not say"), "{error}");
        let (folder, _) = written("Flatten@8 float[2,3]:initializer");
        fs::write(folder.path().join("test_data_set_0/input_0.pb"), proto.encode_to_vec()).unwrap();
        let error = read_back(folder.path()).unwrap_err().to_string();
        assert!(error.contains("there are 1 files input_K.pb, and the model has 0"), "{error}");
    }
}
