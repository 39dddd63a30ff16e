//! The layout that ONNX keeps test data in, such as the backend tests of the `onnx` package: a folder with a `model.onnx`,
//! and beside it folders `test_data_set_N`, each with a tensor for every graph input, `input_K.pb`, and one for every graph
//! output, `output_K.pb`.
//!
//! Files come from anywhere, so their sizes are looked at before memory is taken for them.

use std::fs::{self, File};
use std::io::{self, Read};
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
const INPUT: &str = "input_";
const OUTPUT: &str = "output_";
const ENDING: &str = ".pb";

/// The most bytes that a file may have.
pub const MAX_FILE: u64 = 256 << 20;
/// The most files of a kind that a data set may have.
const MAX_TENSORS: usize = 10_000;
/// How deep below a folder others are looked for.
const MAX_DEPTH: u32 = 8;

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TestDataError {
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("{path}: it has {size} bytes, and at most {MAX_FILE} are read")]
    TooLarge { path: PathBuf, size: u64 },
    /// The file says something that cannot be.
    #[error("{path}: {what}")]
    Broken { path: PathBuf, what: String },
    /// It may well be right, but is of a kind that is not known here.
    #[error("{path}: {what}")]
    Foreign { path: PathBuf, what: String },
}

/// A folder with a model.
#[derive(Debug)]
pub struct Folder {
    model: Vec<u8>,
    /// The graph inputs that are fed.
    inputs: Vec<ValueInfoProto>,
    /// How many graph outputs there are.
    outputs: usize,
    /// The paths of its data sets, in order.
    pub data_sets: Vec<PathBuf>,
}

/// What a model is fed, and what is to come of it.
#[derive(Debug)]
pub struct DataSet {
    pub job: Job,
    /// `None` if there are none in the folder.
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

/// The folders in a folder. Links are left alone, so that they cannot lead round in a circle.
fn folders_in(folder: &Path) -> Result<Vec<PathBuf>, TestDataError> {
    let failed = |error| TestDataError::Io { path: folder.to_owned(), error };
    let entries = fs::read_dir(folder).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|file_type| file_type.is_dir());
    Ok(entries.iter().filter(|entry| is_folder(entry)).map(fs::DirEntry::path).collect())
}

impl Folder {
    /// Reads the model, and looks what data sets there are.
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
        Ok(Folder {
            inputs: fed_inputs(&graph),
            outputs: graph.output.len(),
            model,
            data_sets: data_sets.into_iter().map(|(_, folder)| folder).collect(),
        })
    }

    /// Reads a data set.
    ///
    /// # Errors
    /// If a file cannot be read or is no tensor, or the files are not those of the graph. The error names the file.
    pub fn data_set(&self, path: &Path) -> Result<DataSet, TestDataError> {
        let inputs = tensors(path, INPUT, self.inputs.len())?;
        for ((path, tensor), declared) in inputs.iter().zip(&self.inputs) {
            check_feed(tensor, declared).map_err(|what| TestDataError::Broken { path: path.clone(), what })?;
        }
        let names = self.inputs.iter().map(|input| input.name.as_deref().unwrap_or_default().into());
        let inputs = inputs.into_iter().map(|(_, tensor)| tensor);
        let outputs = if count(path, OUTPUT)? == 0 {
            None
        } else {
            Some(tensors(path, OUTPUT, self.outputs)?.into_iter().map(|(_, tensor)| tensor).collect())
        };
        let feeds = names.zip(inputs).collect();
        Ok(DataSet { job: Job { model: self.model.as_slice().into(), feeds, continues: false }, outputs })
    }
}

/// Writes a job in the layout, with the outputs that are to come of it if any are.
///
/// # Errors
/// If a file cannot be written.
pub fn write(folder: &Path, job: &Job, outputs: Option<&[Tensor]>) -> io::Result<()> {
    write_whole(&folder.join(MODEL), &job.model)?;
    let data_set = folder.join(format!("{DATA_SET}0"));
    fs::create_dir_all(&data_set)?;
    let inputs = job.feeds.iter().map(|(name, tensor)| (INPUT, &**name, tensor));
    let outputs = outputs.unwrap_or_default().iter().map(|tensor| (OUTPUT, "output", tensor));
    for numbered in [inputs.collect::<Vec<_>>(), outputs.collect()] {
        for (index, (kind, name, tensor)) in numbered.into_iter().enumerate() {
            let proto = tensor_proto::write(name, tensor, Encoding::Raw);
            write_whole(&data_set.join(format!("{kind}{index}{ENDING}")), &proto.encode_to_vec())?;
        }
    }
    Ok(())
}

/// The graph inputs that are fed: the others have their values in the model.
fn fed_inputs(graph: &GraphProto) -> Vec<ValueInfoProto> {
    let is_initialized = |input: &&ValueInfoProto| graph.initializer.iter().any(|tensor| tensor.name == input.name);
    graph.input.iter().filter(|input| !is_initialized(input)).cloned().collect()
}

/// What is not a tensor of a known element type is not known here.
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

/// The tensors of a data set with their paths, as many as the model has.
fn tensors(data_set: &Path, kind: &str, wanted: usize) -> Result<Vec<(PathBuf, Tensor)>, TestDataError> {
    let there = count(data_set, kind)?;
    if there != wanted {
        let what = format!("there are {there} files {kind}K{ENDING}, and the model has {wanted}");
        return Err(TestDataError::Broken { path: data_set.to_owned(), what });
    }
    let paths = (0..there).map(|index| data_set.join(format!("{kind}{index}{ENDING}")));
    paths.map(|path| tensor(&path).map(|tensor| (path, tensor))).collect()
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
fn tensor(path: &Path) -> Result<Tensor, TestDataError> {
    let broken = |what: String| TestDataError::Broken { path: path.to_owned(), what };
    let proto = TensorProto::decode(&read(path)?[..]).map_err(|error| broken(format!("not a tensor: {error}")))?;
    tensor_proto::read(&proto).map_err(|error| broken(error.to_string()))
}

/// Whether a tensor is as the model declares it. One that is not would be held against whoever runs it.
fn check_feed(tensor: &Tensor, declared: &ValueInfoProto) -> Result<(), String> {
    let element_type = declared.r#type.as_ref().and_then(|t| t.tensor_type.as_ref()).and_then(|t| t.elem_type);
    let declared_type = element_type.and_then(ElementType::from_data_type);
    match declared_type.filter(|&declared| declared != tensor.element_type()) {
        Some(declared) => Err(format!("it holds {}, and the model declares {declared}", tensor.element_type())),
        None if fits(declared, tensor.dims()) => Ok(()),
        None => Err(format!("its dims {:?} are not those that the model declares", tensor.dims())),
    }
}

/// Whether dims are among those that are declared.
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

/// The contents of a file, unless it is too large. One that grows meanwhile is too large as well.
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
