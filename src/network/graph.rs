//! The nodes of a model and the values between them, and parts of the model as models of their own.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::{Network, Values, name};
use crate::case::Encoding;
use crate::model::proto::{
    Dimension, DimensionValue, GraphProto, ModelProto, NodeProto, TensorProto, TensorShapeProto, TensorTypeProto,
    TypeProto, ValueInfoProto,
};
use crate::model::tensor_proto;
use crate::tensor::{ElementType, Tensor};

/// The values that a node takes: its inputs, and those that its subgraphs take from outside.
pub(super) fn taken(node: &NodeProto) -> HashSet<&str> {
    let mut taken: HashSet<&str> = node.input.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    for attribute in &node.attribute {
        for graph in attribute.g.iter().chain(&attribute.graphs) {
            taken.extend(taken_from_outside(graph));
        }
    }
    taken
}

fn taken_from_outside(graph: &GraphProto) -> HashSet<&str> {
    let nodes = graph.node.iter();
    let mut taken: HashSet<&str> = nodes.clone().flat_map(taken).chain(graph.output.iter().map(name)).collect();
    let initializers = graph.initializer.iter().filter_map(|tensor| tensor.name.as_deref());
    let given = graph.input.iter().map(name).chain(initializers).chain(nodes.flat_map(outputs));
    given.for_each(|name| _ = taken.remove(name));
    taken
}

fn outputs(node: &NodeProto) -> impl Iterator<Item = &str> {
    node.output.iter().map(String::as_str).filter(|name| !name.is_empty())
}

/// The places of the nodes, sorted so that each node comes after the nodes whose outputs it takes. Apart from that, the nodes
/// keep their order.
///
/// # Errors
/// A node of a cycle.
pub(super) fn order(graph: &GraphProto) -> Result<Vec<usize>, &NodeProto> {
    let givers: HashMap<&str, usize> =
        graph.node.iter().enumerate().flat_map(|(place, node)| outputs(node).map(move |name| (name, place))).collect();
    let (mut order, mut state) = (Vec::with_capacity(graph.node.len()), vec![Visit::New; graph.node.len()]);
    for first in 0..graph.node.len() {
        // A node is entered once, and left when all nodes whose outputs it takes are done.
        let mut under_way = vec![first];
        while let Some(&place) = under_way.last() {
            match state[place] {
                Visit::New => {
                    state[place] = Visit::Entered;
                    for giver in taken(&graph.node[place]).into_iter().filter_map(|name| givers.get(name)) {
                        match state[*giver] {
                            Visit::New => under_way.push(*giver),
                            Visit::Entered => return Err(&graph.node[place]),
                            Visit::Done => {}
                        }
                    }
                }
                Visit::Entered => {
                    state[place] = Visit::Done;
                    order.push(place);
                    under_way.pop();
                }
                Visit::Done => _ = under_way.pop(),
            }
        }
    }
    Ok(order)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Entered,
    Done,
}

/// A model with indexes of its nodes and values.
#[derive(Debug)]
pub struct Graph<'a> {
    pub(super) network: &'a Network,
    /// The place of the node that gives a value.
    givers: HashMap<&'a str, usize>,
    /// The places of the nodes that take a value.
    takers: HashMap<&'a str, Vec<usize>>,
    /// The values that each node takes.
    taken: Vec<HashSet<&'a str>>,
    initializers: HashMap<&'a str, &'a TensorProto>,
    /// Values that do not depend on the graph inputs.
    constants: HashSet<&'a str>,
    outputs: HashSet<&'a str>,
    depths: HashMap<&'a str, usize>,
}

/// A part of a model as a model of its own, with its inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub model: ModelProto,
    pub feeds: Vec<(Arc<str>, Tensor)>,
}

/// How a part takes the values from outside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// As graph inputs, declared with their actual dims; inputs of the whole model keep their declaration.
    Fed,
    /// The same, except that small vectors of integers are initializers: sizes and axes that runtimes want to know at load.
    SizesKnown,
    /// As graph inputs, declared with a symbol for each size.
    Symbolic,
}

/// The most elements of a vector that [`Boundary::SizesKnown`] makes an initializer.
const MOST_SIZES: usize = 64;

/// Operators whose result differs from run to run.
const NO_CONSTANT: &[&str] = &[
    "RandomNormal",
    "RandomUniform",
    "RandomNormalLike",
    "RandomUniformLike",
    "Multinomial",
    "Bernoulli",
    // In training.
    "Dropout",
];

impl<'a> Graph<'a> {
    pub fn new(network: &'a Network) -> Graph<'a> {
        let graph = network.graph();
        let taken: Vec<HashSet<&str>> = graph.node.iter().map(self::taken).collect();
        let mut takers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, taken) in taken.iter().enumerate() {
            for name in taken {
                takers.entry(name).or_default().push(place);
            }
        }
        let initializers: HashMap<&str, &TensorProto> =
            graph.initializer.iter().map(|tensor| (tensor.name.as_deref().unwrap_or(""), tensor)).collect();
        let inputs: HashSet<&str> = graph.input.iter().map(name).collect();
        let mut constants: HashSet<&str> = initializers.keys().copied().filter(|name| !inputs.contains(name)).collect();
        for (node, taken) in graph.node.iter().zip(&taken) {
            let is_random = node.op_type.as_deref().is_some_and(|op_type| NO_CONSTANT.contains(&op_type));
            if !is_random && taken.iter().all(|name| constants.contains(name)) {
                constants.extend(outputs(node));
            }
        }
        let mut depths: HashMap<&str, usize> = HashMap::new();
        for (node, taken) in graph.node.iter().zip(&taken) {
            let before = taken.iter().filter_map(|name| depths.get(name)).max().copied().unwrap_or(0);
            depths.extend(outputs(node).map(|name| (name, before + 1)));
        }
        Graph {
            network,
            depths,
            givers: graph
                .node
                .iter()
                .enumerate()
                .flat_map(|(place, node)| outputs(node).map(move |name| (name, place)))
                .collect(),
            takers,
            taken,
            initializers,
            constants,
            outputs: graph.output.iter().map(name).collect(),
        }
    }

    pub fn nodes(&self) -> &'a [NodeProto] {
        &self.network.graph().node
    }

    /// The place of the node that gives a value.
    pub fn giver(&self, name: &str) -> Option<usize> {
        self.givers.get(name).copied()
    }

    /// The nodes with an output that depends on the graph inputs.
    pub fn computing(&self) -> Vec<usize> {
        let depends = |place: &usize| outputs(&self.nodes()[*place]).any(|name| !self.constants.contains(name));
        (0..self.nodes().len()).filter(depends).collect()
    }

    /// The nodes whose outputs a node takes, except for constants.
    pub fn before(&self, place: usize) -> impl Iterator<Item = usize> {
        let is_constant = |name: &&&str| !self.constants.contains(**name);
        self.taken[place].iter().filter(is_constant).filter_map(|name| self.giver(name))
    }

    /// The outputs of nodes that depend on the graph inputs, in the order of the nodes.
    pub fn given(&self) -> impl Iterator<Item = &'a str> {
        self.nodes().iter().flat_map(outputs).filter(|name| !self.constants.contains(name))
    }

    /// The number of nodes on the longest path to a value; 1 for a value that no node gives.
    pub fn depth(&self, name: &str) -> usize {
        self.depths.get(name).copied().unwrap_or(1)
    }

    /// The outputs of a part: values of its nodes that are used, but by no node of the part.
    fn ends(&self, nodes: &[usize]) -> Vec<&'a str> {
        let inside: HashSet<usize> = nodes.iter().copied().collect();
        let given = nodes.iter().flat_map(|&place| outputs(&self.nodes()[place]));
        let is_end = |name: &&str| {
            let takers = self.takers.get(name).map_or(&[][..], Vec::as_slice);
            // An output of a node that nothing takes is left out.
            let is_of_use = !takers.is_empty() || self.outputs.contains(name);
            is_of_use && takers.iter().all(|taker| !inside.contains(taker))
        };
        given.filter(is_end).collect()
    }

    /// The nodes, and the nodes that give them constants, such as Constant nodes; in order.
    fn with_constants(&self, nodes: &[usize]) -> BTreeSet<usize> {
        let mut all: BTreeSet<usize> = nodes.iter().copied().collect();
        let mut under_way = nodes.to_vec();
        while let Some(place) = under_way.pop() {
            let constants = self.taken[place].iter().filter(|name| self.constants.contains(**name));
            for giver in constants.filter_map(|name| self.giver(name)) {
                if all.insert(giver) {
                    under_way.push(giver);
                }
            }
        }
        all
    }

    /// Makes a model of these nodes, in order, with the constants that they take. The outputs of other nodes become its inputs.
    ///
    /// # Errors
    /// The name of a value that the nodes take, if the value is not known.
    pub fn part(&self, nodes: &[usize], values: &Values, boundary: Boundary) -> Result<Part, String> {
        let own = self.nodes();
        let all = self.with_constants(nodes);
        let inside: HashSet<&str> = all.iter().flat_map(|&place| outputs(&own[place])).collect();
        let mut graph = GraphProto { name: Some("part".to_owned()), ..GraphProto::default() };
        graph.node = all.iter().map(|&place| own[place].clone()).collect();
        let mut outside: Vec<&str> =
            all.iter().flat_map(|&place| &self.taken[place]).filter(|name| !inside.contains(**name)).copied().collect();
        outside.sort_unstable();
        outside.dedup();
        let mut feeds: Vec<(Arc<str>, Tensor)> = Vec::new();
        for name in outside {
            if let Some(initializer) = self.initializers.get(name).filter(|_| self.constants.contains(name)) {
                graph.initializer.push((*initializer).clone());
                continue;
            }
            let value = values.get(name).ok_or_else(|| name.to_owned())?;
            let is_size = || {
                let is_integer = matches!(value.element_type(), ElementType::Int64 | ElementType::Int32);
                is_integer && value.rank() <= 1 && value.len() <= MOST_SIZES
            };
            if boundary == Boundary::SizesKnown && is_size() {
                graph.initializer.push(tensor_proto::write(name, value, Encoding::Raw));
            } else {
                let own = self.network.graph().input.iter().find(|info| self::name(info) == name);
                graph.input.push(match own {
                    Some(own) => own.clone(),
                    None if boundary == Boundary::Symbolic => symbolic(info(name, Some(value))),
                    None => info(name, Some(value)),
                });
                feeds.push((name.into(), value.clone()));
            }
        }
        graph.output = self.ends(nodes).into_iter().map(|name| info(name, values.get(name))).collect();
        let model = ModelProto { graph: Some(graph), ..self.network.model().clone_header() };
        Ok(Part { model, feeds })
    }

    /// The model with other values as its graph outputs.
    pub fn showing(&self, shown: &[&str]) -> ModelProto {
        let mut model = self.network.model().clone();
        if let Some(graph) = &mut model.graph {
            let known: HashMap<&str, &ValueInfoProto> =
                self.network.graph().output.iter().map(|info| (name(info), info)).collect();
            let info = |name: &&str| known.get(name).map_or_else(|| info(name, None), |info| (*info).clone());
            graph.output = shown.iter().map(info).collect();
        }
        model
    }

    /// The model without some of its nodes. The outputs of these nodes become inputs.
    ///
    /// # Errors
    /// The name of an output that is not known.
    pub fn without(&self, nodes: &[usize], feeds: &[(Arc<str>, Tensor)], values: &Values) -> Result<Part, String> {
        let mut model = self.network.model().clone();
        let mut feeds = feeds.to_vec();
        let graph = model.graph.get_or_insert_default();
        for name in nodes.iter().flat_map(|&place| outputs(&self.nodes()[place])) {
            let is_taken =
                self.takers.get(name).is_some_and(|takers| takers.iter().any(|taker| !nodes.contains(taker)));
            if is_taken || self.outputs.contains(name) {
                let value = values.get(name).ok_or_else(|| name.to_owned())?;
                graph.input.push(info(name, Some(value)));
                feeds.push((name.into(), value.clone()));
            }
        }
        let mut place = 0;
        graph.node.retain(|_| {
            place += 1;
            !nodes.contains(&(place - 1))
        });
        Ok(Part { model, feeds })
    }
}

impl ModelProto {
    /// The same without its graph.
    fn clone_header(&self) -> ModelProto {
        ModelProto {
            graph: None,
            opset_import: self.opset_import.clone(),
            functions: self.functions.clone(),
            ir_version: self.ir_version,
            ..ModelProto::default()
        }
    }
}

/// A value whose dims are declared with a symbol for each size.
fn symbolic(mut info: ValueInfoProto) -> ValueInfoProto {
    let tensor = info.r#type.as_mut().and_then(|of| of.tensor_type.as_mut());
    for dim in tensor.and_then(|tensor| tensor.shape.as_mut()).into_iter().flat_map(|shape| &mut shape.dim) {
        if let Some(DimensionValue::Size(size)) = dim.value {
            dim.value = Some(DimensionValue::Symbol(format!("size_{size}")));
        }
    }
    info
}

/// The declaration of a value, with the type and dims of its tensor if that is known.
pub(super) fn info(name: &str, value: Option<&Tensor>) -> ValueInfoProto {
    let r#type = value.map(|value| {
        let size = |&size: &i64| Dimension { value: Some(DimensionValue::Size(size)), ..Dimension::default() };
        let shape = Some(TensorShapeProto { dim: value.dims().iter().map(size).collect() });
        let tensor_type = Some(TensorTypeProto { elem_type: Some(value.element_type().data_type()), shape });
        TypeProto { tensor_type, ..TypeProto::default() }
    });
    ValueInfoProto { name: Some(name.to_owned()), r#type, ..ValueInfoProto::default() }
}
