//! A case as an ONNX model with the feeds for its graph inputs.

pub mod external;
pub mod proto;
pub mod read;
pub mod tensor_proto;
pub mod test_data;
pub mod text;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};

use crate::case::{Case, Declared, Declares, Encoding, Fed, Operand, Shown, Value, Wiring};
use crate::operator::{Arity, Attribute, AttributeValue, InputSpec};
use crate::tensor::{ElementType, Tensor};
use proto::{
    AttributeProto, Dimension, DimensionValue, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorShapeProto,
    TensorTypeProto, TypeProto, ValueInfoProto, attribute_type,
};

/// A serialized `ModelProto`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Serialized {
    Bytes(Arc<[u8]>),
    /// A file, whose tensors may have their elements in other files of its folder.
    File(Arc<Path>),
}

impl<T: Into<Arc<[u8]>>> From<T> for Serialized {
    fn from(bytes: T) -> Serialized {
        Serialized::Bytes(bytes.into())
    }
}

impl Serialized {
    /// The bytes. A file is read.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn bytes(&self) -> io::Result<Cow<'_, [u8]>> {
        match self {
            Serialized::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
            Serialized::File(path) => fs::read(path).map(Cow::Owned),
        }
    }

    /// The bytes of the model with the elements that are in other files.
    ///
    /// # Errors
    /// If a file cannot be read, or is no model.
    pub fn self_contained(&self) -> io::Result<Cow<'_, [u8]>> {
        match self {
            Serialized::Bytes(_) => self.bytes(),
            Serialized::File(_) => Ok(Cow::Owned(self.decode_whole()?.encode_to_vec())),
        }
    }

    /// The model with the elements that are in other files.
    ///
    /// # Errors
    /// If a file cannot be read, or the bytes are no `ModelProto`.
    pub fn decode_whole(&self) -> io::Result<ModelProto> {
        let mut model = self.decode()?;
        if let Serialized::File(path) = self {
            external::inline(&mut model, path.parent().unwrap_or(Path::new("")))?;
        }
        Ok(model)
    }

    /// The model, without elements in other files.
    ///
    /// # Errors
    /// If the file cannot be read, or the bytes are no `ModelProto`.
    pub fn decode(&self) -> io::Result<ModelProto> {
        ModelProto::decode(&*self.bytes()?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// How many bytes it has, without those of other files.
    pub fn size(&self) -> u64 {
        match self {
            Serialized::Bytes(bytes) => bytes.len() as u64,
            Serialized::File(path) => fs::metadata(path).map_or(0, |metadata| metadata.len()),
        }
    }
}

/// A job for a runtime: a serialized model, which is loaded once, and the feeds of each run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    pub model: Serialized,
    /// The names of the graph inputs that are fed.
    pub inputs: Vec<Arc<str>>,
    /// At least one run: a tensor for each of these inputs, in order.
    pub runs: Vec<Vec<Tensor>>,
}

impl Job {
    /// A job of one run; a tensor for each graph input that is fed.
    pub fn once(model: impl Into<Serialized>, feeds: impl IntoIterator<Item = (Arc<str>, Tensor)>) -> Job {
        let (inputs, tensors) = feeds.into_iter().unzip();
        Job { model: model.into(), inputs, runs: vec![tensors] }
    }

    /// The feeds of a run, by the name of the graph input.
    pub fn feeds(&self, run: usize) -> impl Iterator<Item = (&str, &Tensor)> {
        self.inputs.iter().map(|name| &**name).zip(&self.runs[run])
    }

    /// The job with only one of the runs.
    #[must_use]
    pub fn only(&self, run: usize) -> Job {
        Job { model: self.model.clone(), inputs: self.inputs.clone(), runs: vec![self.runs[run].clone()] }
    }
}

/// The newest IR version at the release of an opset.
pub fn usual_ir(opset: u8) -> u8 {
    /// The first opset of each IR version from 4 on.
    const FIRST_OPSETS: [(u8, u8); 11] =
        [(9, 4), (10, 5), (11, 6), (12, 7), (15, 8), (19, 9), (21, 10), (23, 11), (24, 12), (25, 13), (28, 14)];
    FIRST_OPSETS.iter().rev().find(|(first, _)| *first <= opset).map_or(3, |(_, ir)| *ir)
}

/// The versions that all parts of one model share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Versions {
    pub opset: u8,
    pub ir: u8,
}

impl Versions {
    /// The opset of a case, and the oldest IR version that has the opset and the types and wirings of its sources.
    pub fn of(case: &Case) -> Versions {
        let needed = case.sources.iter().map(|operand| operand.element_type.since_ir().max(operand.wiring.since_ir()));
        Versions { opset: case.opset, ir: needed.fold(usual_ir(case.opset), u8::max) }
    }
}

/// A case as a part of a model: its nodes and all that belongs to them, serialized once for all models that contain it.
#[derive(Clone, Debug)]
pub struct Part {
    versions: Versions,
    /// Fields of a `GraphProto`. All of them are repeated fields, so that those of many parts can follow each other.
    graph: Vec<u8>,
    /// The graph inputs to feed, each with the place of its source.
    inputs: Vec<(Arc<str>, usize)>,
}

/// The job of a case whose sources are `tensors`.
pub fn job(case: &Case, tensors: &[Tensor]) -> Job {
    job_with(case, tensors, &case.used_values(tensors))
}

/// The job of a case whose sources are `tensors`. `values` are its [used values](Case::used_values).
pub fn job_with(case: &Case, tensors: &[Tensor], values: &[Vec<Tensor>]) -> Job {
    let part = Part::new(case, tensors, values, "");
    let before = case.before.iter().map(|run| run.iter().map(Operand::tensor).collect::<Vec<Tensor>>());
    let mut runs: Vec<Vec<Tensor>> = before.map(|tensors| part.feeds(&tensors).collect()).collect();
    runs.push(part.feeds(tensors).collect());
    Job { model: join(&[&part]).into(), inputs: part.inputs().collect(), runs }
}

/// One model of all parts, which are independent of each other. Its outputs are in the order of the parts.
///
/// # Panics
/// If there is no part, or parts differ in their versions.
pub fn join(parts: &[&Part]) -> Arc<[u8]> {
    let versions = parts[0].versions;
    assert!(parts.iter().all(|part| part.versions == versions), "parts of one model have one opset and one IR version");
    let header = ModelProto {
        ir_version: Some(i64::from(versions.ir)),
        producer_name: Some("onnx-crosscheck".to_owned()),
        graph: None,
        opset_import: vec![OperatorSetIdProto {
            domain: Some(String::new()),
            version: Some(i64::from(versions.opset)),
        }],
        ..ModelProto::default()
    };
    let name = GraphProto { name: Some("crosscheck".to_owned()), ..GraphProto::default() }.encode_to_vec();
    let length = name.len() + parts.iter().map(|part| part.graph.len()).sum::<usize>();
    let mut model = Vec::with_capacity(length + 64);
    header.encode_raw(&mut model);
    encode_key(GRAPH, WireType::LengthDelimited, &mut model);
    encode_varint(length as u64, &mut model);
    model.extend(name);
    for part in parts {
        model.extend(&part.graph);
    }
    model.into()
}

/// The number of the field `graph` of a `ModelProto`.
const GRAPH: u32 = 7;

impl Part {
    /// The part of a case whose sources are `tensors`, with its [used values](Case::used_values). All its names begin with a
    /// prefix, which no other part of the same model has.
    pub fn new(case: &Case, tensors: &[Tensor], values: &[Vec<Tensor>], prefix: &str) -> Part {
        let versions = Versions::of(case);
        let mut graph = GraphProto::default();
        let mut inputs = Vec::new();
        let mut symbols = Symbols { prefix, by_size: HashMap::new() };
        let names = Names::of(case, prefix);
        for (place, (operand, tensor)) in case.sources.iter().zip(tensors).enumerate() {
            let name = &names.sources[place];
            match operand.wiring {
                Wiring::Input(declared) => {
                    let shape = symbols.shape(name, &operand.dims, declared);
                    graph.input.push(value_info(name, operand.element_type, shape));
                    inputs.push((name.as_str().into(), place));
                }
                Wiring::Initializer(encoding) => {
                    graph.initializer.push(tensor_proto::write(name, tensor, encoding));
                    if versions.ir < 4 {
                        // Before IR 4 every initializer is the default value of a graph input.
                        let shape = symbols.shape(name, &operand.dims, Declared::Static);
                        graph.input.push(value_info(name, operand.element_type, shape));
                    }
                }
                Wiring::Default(fed) => {
                    let default = match fed {
                        Fed::Nothing => None,
                        Fed::Operand => {
                            inputs.push((name.as_str().into(), place));
                            Some(case.overridden(place, tensors))
                        }
                    };
                    let default = default.as_ref().unwrap_or(tensor);
                    graph.initializer.push(tensor_proto::write(name, default, Encoding::Raw));
                    let shape = symbols.shape(name, &operand.dims, Declared::Static);
                    graph.input.push(value_info(name, operand.element_type, shape));
                }
                Wiring::Constant(encoding) => {
                    let value = AttributeProto {
                        name: Some("value".to_owned()),
                        t: Some(tensor_proto::write(name, tensor, encoding)),
                        r#type: Some(attribute_type::TENSOR),
                        ..AttributeProto::default()
                    };
                    graph.node.push(node("Constant", vec![], std::slice::from_ref(name), vec![value]));
                }
            }
        }
        for ((node, outlets), outputs) in case.nodes.iter().zip(case.outlets(tensors, values)).zip(&names.nodes) {
            let input =
                |input: &Option<Value>| input.map_or_else(String::new, |value| names.of_value(value).to_owned());
            let attributes = node.attributes.iter().map(attribute).collect();
            let inputs = node.inputs.iter().map(input).collect();
            graph.node.push(self::node(node.operator.name, inputs, outputs, attributes));
            for (outlet, output) in outlets.iter().zip(outputs) {
                let info = |declares: Declares| {
                    let shape = outlet.dims(declares).map(|dims| declared_shape(output, &dims, declares));
                    value_info(output, outlet.element_type, shape)
                };
                match node.shown {
                    Shown::Hidden => {}
                    Shown::Info(declares) => graph.value_info.push(info(declares)),
                    Shown::Output(declares) => graph.output.push(info(declares)),
                }
            }
        }
        for &place in &case.passed {
            let (name, operand) = (&names.sources[place], &case.sources[place]);
            let dims: Vec<Option<i64>> = operand.dims.iter().map(|&dim| Some(dim)).collect();
            let shape = declared_shape(&format!("{name}_passed"), &dims, Declares::Symbolic);
            graph.output.push(value_info(name, operand.element_type, Some(shape)));
        }
        Part { versions, graph: graph.encode_to_vec(), inputs }
    }

    /// The names of its graph inputs that are fed.
    pub fn inputs(&self) -> impl Iterator<Item = Arc<str>> {
        self.inputs.iter().map(|(name, _)| Arc::clone(name))
    }

    /// The feeds of these inputs, from the tensors of the sources.
    pub fn feeds(&self, tensors: &[Tensor]) -> impl Iterator<Item = Tensor> {
        self.inputs.iter().map(|(_, place)| tensors[*place].clone())
    }

    /// Whether two parts are the same model.
    pub fn is_same_as(&self, other: &Part) -> bool {
        (self.versions, &self.graph) == (other.versions, &other.graph)
    }
}

/// The names of the values of a case.
struct Names {
    sources: Vec<String>,
    /// The names of the outputs of each node.
    nodes: Vec<Vec<String>>,
}

impl Names {
    /// The names of the values. In a case of one node, a source has the operator's name for the input.
    fn of(case: &Case, prefix: &str) -> Names {
        if let [node] = &case.nodes[..] {
            let spec = |index: usize| case.version(0).and_then(|version| version.input(index));
            let name = |place: usize| {
                let index = node.inputs.iter().position(|input| *input == Some(Value::Source(place)));
                // A source that the node does not take has a name that no input has.
                let Some(index) = index else { return format!("{prefix}source{place}") };
                match spec(index) {
                    None => format!("{prefix}input_{index}"),
                    Some(InputSpec { name, arity: Arity::Variadic, .. }) => format!("{prefix}{name}_{index}"),
                    Some(spec) => format!("{prefix}{}", spec.name),
                }
            };
            return Names {
                sources: (0..case.sources.len()).map(name).collect(),
                nodes: vec![outputs(format!("{prefix}output"), node.outputs)],
            };
        }
        Names {
            sources: (0..case.sources.len()).map(|place| format!("{prefix}source{place}")).collect(),
            nodes: (0..)
                .zip(&case.nodes)
                .map(|(at, node)| outputs(format!("{prefix}node{at}"), node.outputs))
                .collect(),
        }
    }

    fn of_value(&self, value: Value) -> &str {
        match value {
            Value::Source(place) => &self.sources[place],
            Value::Output { node, output } => &self.nodes[node][output],
        }
    }
}

/// The names of `count` outputs of a node. The first one has the name of the node.
fn outputs(node: String, count: usize) -> Vec<String> {
    let others: Vec<String> = (1..count).map(|output| format!("{node}_{output}")).collect();
    [node].into_iter().chain(others).collect()
}

/// The declaration of the dims of a value; `None` stands for an unknown dim.
fn declared_shape(name: &str, dims: &[Option<i64>], declares: Declares) -> TensorShapeProto {
    let dim = |(axis, dim): (usize, &Option<i64>)| {
        let value = match (declares, dim) {
            (Declares::Static, Some(size)) => Some(DimensionValue::Size(*size)),
            (Declares::Rank, _) => None,
            _ => Some(DimensionValue::Symbol(format!("{name}_{axis}"))),
        };
        Dimension { value, ..Dimension::default() }
    };
    TensorShapeProto { dim: dims.iter().enumerate().map(dim).collect() }
}

fn node(op_type: &str, input: Vec<String>, output: &[String], attribute: Vec<AttributeProto>) -> NodeProto {
    NodeProto {
        input,
        output: output.to_vec(),
        name: output.first().map(|output| format!("{op_type}_{output}")),
        op_type: Some(op_type.to_owned()),
        attribute,
        ..NodeProto::default()
    }
}

fn attribute(attribute: &Attribute) -> AttributeProto {
    let mut proto = AttributeProto { name: Some(attribute.name.clone()), ..AttributeProto::default() };
    proto.r#type = Some(match &attribute.value {
        AttributeValue::Int(value) => {
            proto.i = Some(*value);
            attribute_type::INT
        }
        AttributeValue::Ints(values) => {
            proto.ints.clone_from(values);
            attribute_type::INTS
        }
        AttributeValue::Float(bits) => {
            proto.f = Some(f32::from_bits(*bits));
            attribute_type::FLOAT
        }
        AttributeValue::String(text) => {
            proto.s = Some(text.clone().into_bytes());
            attribute_type::STRING
        }
        AttributeValue::Tensor(tensor) => {
            proto.t = Some(tensor_proto::write("", tensor, Encoding::Raw));
            attribute_type::TENSOR
        }
    });
    proto
}

/// An attribute read back; `None` if it is of a kind that no case has.
pub fn read_attribute(proto: &AttributeProto) -> Option<Attribute> {
    let value = match proto.r#type? {
        // A missing value is the default of its kind.
        attribute_type::INT => AttributeValue::Int(proto.i.unwrap_or(0)),
        attribute_type::INTS => AttributeValue::Ints(proto.ints.clone()),
        attribute_type::FLOAT => AttributeValue::Float(proto.f.unwrap_or(0.0).to_bits()),
        attribute_type::STRING => AttributeValue::String(String::from_utf8(proto.s.clone().unwrap_or_default()).ok()?),
        attribute_type::TENSOR => AttributeValue::Tensor(tensor_proto::read(proto.t.as_ref()?).ok()?),
        _ => return None,
    };
    Some(Attribute { name: proto.name.clone().unwrap_or_default(), value })
}

fn value_info(name: &str, element_type: ElementType, shape: Option<TensorShapeProto>) -> ValueInfoProto {
    ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(TypeProto {
            tensor_type: Some(TensorTypeProto { elem_type: Some(element_type.data_type()), shape }),
            ..TypeProto::default()
        }),
        ..ValueInfoProto::default()
    }
}

/// The symbols of a part. Dims that are declared as shared have one symbol for each size.
struct Symbols<'a> {
    prefix: &'a str,
    by_size: HashMap<i64, String>,
}

impl Symbols<'_> {
    fn shape(&mut self, name: &str, dims: &[i64], declared: Declared) -> Option<TensorShapeProto> {
        let dim = |(i, &size): (usize, &i64)| {
            let value = match declared {
                Declared::Static | Declared::Unranked => DimensionValue::Size(size),
                Declared::Symbolic => DimensionValue::Symbol(format!("{name}_{i}")),
                Declared::Shared => {
                    let next = format!("{}shared_{}", self.prefix, self.by_size.len());
                    DimensionValue::Symbol(self.by_size.entry(size).or_insert(next).clone())
                }
            };
            Dimension { value: Some(value), ..Dimension::default() }
        };
        let dim: Vec<Dimension> = dims.iter().enumerate().map(dim).collect();
        (declared != Declared::Unranked).then_some(TensorShapeProto { dim })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(line: &str) -> (ModelProto, Vec<(Arc<str>, Tensor)>) {
        let case: Case = line.parse().unwrap();
        let Job { model, inputs, mut runs } = job(&case, &case.tensors());
        (model.decode().unwrap(), inputs.into_iter().zip(runs.remove(0)).collect())
    }

    fn dims(info: &ValueInfoProto) -> Option<Vec<String>> {
        let shape = info.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref()?;
        let text = |dim: &Dimension| match dim.value.as_ref().unwrap() {
            DimensionValue::Size(size) => size.to_string(),
            DimensionValue::Symbol(symbol) => symbol.clone(),
        };
        Some(shape.dim.iter().map(text).collect())
    }

    #[test]
    fn the_ir_version_fits_opset_and_types() {
        let ir = |line| model(line).0.ir_version.unwrap();
        let usual: Vec<u8> = (1..=28).map(usual_ir).collect();
        assert_eq!(usual, [3, 3, 3, 3, 3, 3, 3, 3, 4, 5, 6, 7, 7, 7, 8, 8, 8, 8, 9, 9, 10, 10, 11, 12, 13, 13, 13, 14]);
        assert_eq!(ir("Shape@13 float[1]"), 7);
        assert_eq!(ir("Shape@1 int2[1]"), 13, "a type that is not the version's own still needs its IR");
    }

    #[test]
    fn operands_are_wired_as_the_case_says() {
        let (proto, feeds) =
            model("Reshape@14 allowzero=0 float[2,3,2]:input(shared) int64[2]{3,4}:initializer(typed)");
        let graph = proto.graph.unwrap();
        assert_eq!(graph.node.len(), 1);
        assert_eq!(graph.node[0].input, ["data", "shape"]);
        assert_eq!(graph.node[0].attribute[0].i, Some(0), "a 0 is written");
        assert_eq!(dims(&graph.input[0]).unwrap(), ["shared_0", "shared_1", "shared_0"]);
        assert_eq!(graph.initializer[0].int64_data, [3, 4]);
        assert_eq!(dims(&graph.output[0]).unwrap(), ["output_0", "output_1"]);
        assert_eq!(feeds.len(), 1);

        let (proto, feeds) = model("Reshape@5 float[2]:input(unranked) int64[1]{2}:constant");
        let graph = proto.graph.unwrap();
        assert_eq!((graph.node.len(), graph.input.len(), feeds.len()), (2, 1, 1));
        assert_eq!(graph.node[0].op_type.as_deref(), Some("Constant"));
        assert_eq!(dims(&graph.input[0]), None);

        let (proto, feeds) = model("Shape@8 float[2]:initializer");
        let graph = proto.graph.unwrap();
        assert_eq!((graph.input.len(), feeds.len()), (1, 0), "an initializer of IR 3 is a graph input too");

        let (proto, _) = model("Reshape@5 float[2] _");
        assert_eq!(proto.graph.unwrap().node[0].input, ["data", ""]);
    }

    #[test]
    fn the_output_of_a_single_node_is_declared_as_the_case_says() {
        let graph = |line| model(line).0.graph.unwrap();
        assert_eq!(dims(&graph("Flatten@21 float[2,3] :output(static)").output[0]).unwrap(), ["2", "3"]);
        let graph = graph("x=float[2,3]:output; Flatten@21 x :info(static)");
        assert_eq!(dims(&graph.value_info[0]).unwrap(), ["2", "3"]);
    }

    #[test]
    fn a_default_is_an_initializer_and_a_graph_input_and_fed_where_it_is_overridden() {
        let (proto, feeds) = model("Reshape@14 float[2,3]:default int64[2]{3,2}:default(overridden)");
        let graph = proto.graph.unwrap();
        let names = |infos: &[ValueInfoProto]| infos.iter().filter_map(|info| info.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&graph.input), ["data", "shape"]);
        assert_eq!(dims(&graph.input[0]).unwrap(), ["2", "3"]);
        let held: Vec<Tensor> = graph.initializer.iter().map(|proto| tensor_proto::read(proto).unwrap()).collect();
        let case: Case = "Reshape@14 float[2,3] int64[2]{6,1}".parse().unwrap();
        assert_eq!(held, case.tensors());
        assert_eq!(feeds, [("shape".into(), Tensor::vector(&[3, 2]))]);
        let (proto, feeds) = model("Shape@8 float[2]:default");
        assert_eq!((proto.ir_version, feeds.len()), (Some(4), 0), "IR 4 introduced it");
    }

    #[test]
    fn parts_of_one_model_share_nothing() {
        let lines = [
            "Reshape@14 allowzero=0 float[2,3,2]:input(shared) int64[2]{3,4}:initializer(typed)",
            "Reshape@14 float[2,3]:input(shared) int64[1]{6}:constant",
            "Shape@14 float[2]:input(symbolic)",
            "Flatten@14 float[2]:default(overridden)",
        ];
        let cases: Vec<Case> = lines.iter().map(|line| line.parse().unwrap()).collect();
        let parts: Vec<Part> = cases
            .iter()
            .zip(["a_", "b_", "c_", "d_"])
            .map(|(case, name)| Part::new(case, &case.tensors(), &[], name))
            .collect();
        let model = join(&parts.iter().collect::<Vec<_>>());
        let graph = ModelProto::decode(&model[..]).unwrap().graph.unwrap();
        let outputs: Vec<&str> = graph.output.iter().filter_map(|info| info.name.as_deref()).collect();
        assert_eq!(outputs, ["a_output", "b_output", "c_output", "d_output"]);
        assert_eq!(graph.node.len(), 5);
        let inputs: Vec<Arc<str>> = parts.iter().flat_map(Part::inputs).collect();
        assert_eq!(inputs, ["a_data", "b_data", "c_data", "d_input"].map(Into::into));
        assert_eq!(dims(&graph.input[1]).unwrap(), ["b_shared_0", "b_shared_1"]);
    }

    #[test]
    fn an_attribute_of_zero_goes_on_the_wire() {
        let case: Case = "Shape@15 end=0 float[2]".parse().unwrap();
        let job = job(&case, &case.tensors());
        // Field 3 (`i`), a varint, with the value 0.
        assert!(job.model.bytes().unwrap().windows(2).any(|pair| pair == [0x18, 0x00]));
    }
}
