//! A user's own model as a whole: its inputs, where runtimes differ on it, and the fewest nodes that show a difference.

mod feed;
mod graph;
mod judge;
mod locate;
mod shrink;
mod values;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use memmap2::Mmap;
use prost::Message;
use tempfile::TempDir;

pub use feed::{BOUNDS, Dim, FeedError, Input, MOST_SIZES, Sizes, feeds, read_feeds, sizes_to_try};
pub use graph::{Graph, Part};
pub use judge::{Agreement, Doubt, Group, Spread, Sureness, compare, depths, spread, tolerance, tolerated};
pub use locate::{Found, How, Located, Search, Sign};
pub use values::Values;

use crate::model::external::{self, Place};
use crate::model::proto::{GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};
use crate::model::{Job, Serialized};
use crate::tensor::Tensor;

use crate::operator::NEWEST_OPSET;

/// Why a file is refused.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    /// The file is no model, or an invalid one.
    #[error("{path}: {what}")]
    Broken { path: PathBuf, what: String },
}

/// A model from a file.
#[derive(Debug)]
pub struct Network {
    path: PathBuf,
    /// The size in bytes of the file and of the files beside it that hold elements.
    size: u64,
    /// The model. Its large tensors are mapped, or in the weights file of the workspace.
    model: ModelProto,
    /// The rules that the model bends, and how that is interpreted.
    notes: Vec<String>,
    /// The folder for parts of the model, if its weights are too large to be sent with each part.
    workspace: Option<TempDir>,
}

/// The most bytes of weights that are sent with each part of a model; larger weights are written to one file, once.
const MOST_SENT: u64 = 64 << 20;
/// The least size of a tensor that goes to that file, in bytes.
const LARGE: usize = 1 << 10;
/// The name of the weights file.
const WEIGHTS: &str = "weights";
/// The alignment of tensors in the weights file, in bytes.
const ALIGNMENT: u64 = 64;

impl Network {
    /// Opens a model file of any name. The elements of its tensors stay in the file, and in the files beside it that it names.
    ///
    /// # Errors
    /// If the file is no model or is cut off, if a file that it names is missing or cut off, or if its nodes form a cycle.
    pub fn open(path: &Path) -> Result<Network, NetworkError> {
        let failed = |error| NetworkError::Io { path: path.to_owned(), error };
        let broken = |what: String| NetworkError::Broken { path: path.to_owned(), what };
        let path = path.canonicalize().map_err(failed)?;
        let file = File::open(&path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            let what = "it is a folder; `crosscheck replay` takes folders with a model and its test data";
            return Err(broken(what.to_owned()));
        }
        if metadata.len() == 0 {
            return Err(broken("the file is empty".to_owned()));
        }
        // SAFETY: the user vouches for the file; one that shrinks meanwhile ends this program, as it would any other that maps it.
        let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
        let bytes = Bytes::from_owner(map);
        if bytes.starts_with(b"version https://git-lfs") {
            return Err(broken("it is a pointer of Git LFS, not the model: `git lfs pull` fetches that".to_owned()));
        }
        let model = ModelProto::decode(bytes)
            .map_err(|error| broken(format!("it is no ONNX model, or the file is cut off: {error}")))?;
        let graph = model.graph.as_ref().ok_or_else(|| broken("the model has no graph".to_owned()))?;
        if graph.node.is_empty() {
            return Err(broken("the model has no nodes".to_owned()));
        }
        let mut network =
            Network { notes: notes(&model, graph), size: metadata.len(), model, path: path.clone(), workspace: None };
        network.size += network.check_external_data().map_err(broken)?;
        network.sort_nodes().map_err(broken)?;
        Ok(network)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The size of its files in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub fn model(&self) -> &ModelProto {
        &self.model
    }

    pub fn graph(&self) -> &GraphProto {
        self.model.graph.as_ref().expect("a network has a graph")
    }

    /// The model as it stands in the file.
    pub fn untouched(&self) -> Serialized {
        Serialized::File(Arc::from(&*self.path))
    }

    /// The opset of the default domain; 0 if none is imported.
    pub fn opset(&self) -> i64 {
        let default = self.model.opset_import.iter().find(|import| is_default(import.domain.as_deref()));
        default.and_then(|import| import.version).unwrap_or(0)
    }

    /// The operators outside the domains that ONNX defines, each once.
    pub fn own_operators(&self) -> Vec<String> {
        let nodes = self.graph().node.iter();
        let own =
            nodes.filter(|node| !is_default(node.domain.as_deref()) && node.domain.as_deref() != Some("ai.onnx.ml"));
        let mut names: Vec<String> = own.map(full_name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Checks that the files with elements of tensors exist and are long enough. Returns their size in bytes.
    fn check_external_data(&mut self) -> Result<u64, String> {
        let folder = self.path.parent().unwrap_or(Path::new("")).to_owned();
        let mut ends: HashMap<PathBuf, (u64, usize)> = HashMap::new();
        external::for_each_tensor(&mut self.model, |tensor| {
            if let Some(place) = external::place(tensor)? {
                let end = ends.entry(place.file).or_default();
                end.0 = end.0.max(place.offset + place.length.unwrap_or(0));
                end.1 += 1;
            }
            Ok::<(), String>(())
        })?;
        let mut size = 0;
        for (file, (end, tensors)) in ends {
            let there = std::fs::metadata(folder.join(&file)).map(|metadata| metadata.len());
            match there {
                Ok(length) if length >= end => size += length,
                Ok(length) => {
                    return Err(format!(
                        "{} is cut off: it has {length} bytes, and tensors end at {end}",
                        file.display()
                    ));
                }
                Err(_) => {
                    return Err(format!(
                        "{} is not there, which holds the elements of {tensors} tensors",
                        file.display()
                    ));
                }
            }
        }
        Ok(size)
    }

    /// Sorts the nodes: each comes after the nodes whose outputs it takes.
    fn sort_nodes(&mut self) -> Result<(), String> {
        let order = graph::order(self.graph()).map_err(|node| {
            let name = node.output.first().map_or("", String::as_str);
            format!(
                "its nodes take from each other in a circle, which holds the {} that gives `{name}`",
                full_name(node)
            )
        })?;
        if order.windows(2).all(|pair| pair[0] < pair[1]) {
            return Ok(());
        }
        self.notes.push("its nodes are not in the order in which they take from each other".to_owned());
        let graph = self.model.graph.as_mut().expect("a network has a graph");
        let mut nodes: Vec<Option<NodeProto>> = std::mem::take(&mut graph.node).into_iter().map(Some).collect();
        graph.node = order.into_iter().filter_map(|place| nodes[place].take()).collect();
        Ok(())
    }

    /// Prepares for writing parts of the model: moves its weights into the model, or into one file.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn prepare(&mut self) -> io::Result<()> {
        self.prepare_with(MOST_SENT)
    }

    fn prepare_with(&mut self, most_sent: u64) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("")).to_owned();
        if self.size <= most_sent {
            return external::inline(&mut self.model, &folder);
        }
        let workspace = tempfile::Builder::new().prefix("crosscheck-").tempdir()?;
        let mut weights = io::BufWriter::new(File::create(workspace.path().join(WEIGHTS))?);
        let mut end = 0;
        let graph = self.model.graph.as_mut().expect("a network has a graph");
        for tensor in &mut graph.initializer {
            let place = external::place(tensor).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            let bytes = match (&tensor.raw_data, place) {
                (Some(raw), _) if raw.len() >= LARGE => raw.clone(),
                (_, Some(place)) => Bytes::from(place.read(&folder)?),
                _ => continue,
            };
            let offset = u64::next_multiple_of(end, ALIGNMENT);
            weights.write_all(&vec![0; usize::try_from(offset - end).unwrap_or(0)])?;
            weights.write_all(&bytes)?;
            end = offset + bytes.len() as u64;
            external::refer(tensor, &Place { file: WEIGHTS.into(), offset, length: Some(bytes.len() as u64) });
        }
        weights.flush()?;
        // The tensors that are left are small: attributes of nodes.
        let weights = Path::new(WEIGHTS);
        external::for_each_tensor(&mut self.model, |tensor| {
            let place = external::place(tensor).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            if let Some(place) = place.filter(|place| place.file != weights) {
                tensor.raw_data = Some(place.read(&folder)?.into());
                tensor.data_location = None;
                tensor.external_data.clear();
            }
            Ok::<(), io::Error>(())
        })?;
        self.workspace = Some(workspace);
        Ok(())
    }

    /// Serializes a model that was made from this one, for the runtimes.
    ///
    /// # Errors
    /// If it cannot be written.
    fn serialized(&self, model: &ModelProto) -> io::Result<Serialized> {
        let Some(workspace) = &self.workspace else { return Ok(model.encode_to_vec().into()) };
        let path = workspace.path().join("part.onnx");
        std::fs::write(&path, model.encode_to_vec())?;
        Ok(Serialized::File(path.into()))
    }

    /// A model that was made from this one, with all its weights inside.
    ///
    /// # Errors
    /// If its weights cannot be read.
    pub fn self_contained(&self, mut model: ModelProto) -> io::Result<ModelProto> {
        if let Some(workspace) = &self.workspace {
            external::inline(&mut model, workspace.path())?;
        }
        Ok(model)
    }

    /// The tensor of an initializer.
    fn initializer(&self, proto: &TensorProto) -> Option<Tensor> {
        let mut proto = proto.clone();
        if let (Ok(Some(place)), Some(workspace)) = (external::place(&proto), &self.workspace) {
            proto.raw_data = Some(place.read(workspace.path()).ok()?.into());
        }
        crate::model::tensor_proto::read(&proto).ok()
    }
}

/// A job that runs a model `runs` times, each time with the same inputs.
pub fn job(model: Serialized, feeds: &[(Arc<str>, Tensor)], runs: usize) -> Job {
    let tensors: Vec<Tensor> = feeds.iter().map(|(_, tensor)| tensor.clone()).collect();
    Job { model, inputs: feeds.iter().map(|(name, _)| Arc::clone(name)).collect(), runs: vec![tensors; runs] }
}

fn is_default(domain: Option<&str>) -> bool {
    matches!(domain, None | Some("" | "ai.onnx"))
}

/// The operator of a node, with its domain if that is not the default one.
pub fn full_name(node: &NodeProto) -> String {
    let op_type = node.op_type.as_deref().unwrap_or("");
    match node.domain.as_deref() {
        domain if is_default(domain) => op_type.to_owned(),
        domain => format!("{}.{op_type}", domain.unwrap_or("")),
    }
}

/// The name of a value.
fn name(info: &ValueInfoProto) -> &str {
    info.name.as_deref().unwrap_or("")
}

/// The rules that a model bends. onnxruntime, which most models are made for, allows each of these.
fn notes(model: &ModelProto, graph: &GraphProto) -> Vec<String> {
    let mut notes = Vec::new();
    for info in graph.input.iter().chain(&graph.output) {
        let sizes = feed::declared_sizes(info).into_iter().enumerate();
        for (axis, size) in sizes.filter_map(|(axis, size)| Some((axis, size.filter(|&size| size < 0)?))) {
            notes.push(format!(
                "`{}` declares its dim {axis} as {size}, which is no size: it is taken as unknown",
                name(info)
            ));
        }
    }
    let is_taken = |name: &str| {
        graph.node.iter().any(|node| graph::taken(node).contains(name))
            || graph.output.iter().any(|info| self::name(info) == name)
    };
    let unused: Vec<&str> = graph.input.iter().map(name).filter(|name| !is_taken(name)).collect();
    if !unused.is_empty() {
        notes.push(format!("no node takes its input {}", quoted(&unused)));
    }
    let imports = || model.opset_import.iter();
    let is_used = |domain: Option<&str>| {
        let same = |of: Option<&str>| if is_default(domain) { is_default(of) } else { of == domain };
        graph.node.iter().any(|node| same(node.domain.as_deref()))
    };
    let idle: Vec<&str> = imports()
        .filter(|import| !is_used(import.domain.as_deref()))
        .filter_map(|import| import.domain.as_deref())
        .collect();
    if !idle.is_empty() && model.functions.is_empty() {
        notes.push(format!("no node is of the domain {}, which it imports", quoted(&idle)));
    }
    let newest =
        imports().filter(|import| is_default(import.domain.as_deref())).filter_map(|import| import.version).max();
    match newest {
        None => notes.push("it imports no opset of the default domain".to_owned()),
        Some(opset) if opset > i64::from(NEWEST_OPSET) => {
            notes.push(format!("its opset {opset} is newer than {NEWEST_OPSET}, the newest that is known here"));
        }
        Some(_) => {}
    }
    notes
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
