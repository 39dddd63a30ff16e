//! Planted faults of whole models: they need nodes that are connected in a certain way, a declaration, or several runs.

use std::collections::HashSet;

use super::{Aspect, giver, wrong_last};
use crate::model::Job;
use crate::model::proto::{Dimension, DimensionValue, GraphProto, NodeProto, ValueInfoProto};
use crate::runtime::{Execution, Outcome};
use crate::tensor::Tensor;

/// A planted fault of a graph: what depends on the last node of a path gets a wrong last element.
pub(crate) struct GraphFault {
    /// The name of its row.
    pub name: &'static str,
    pub aspect: Aspect,
    /// The operators of nodes of which each takes an output of the one before. `Reshape.1` takes it as its input 1, the inputs
    /// counted from 0.
    path: &'static str,
    /// What else must be true of the nodes of the path, in order.
    holds: fn(&GraphProto, &[&NodeProto]) -> bool,
}

const ALWAYS: fn(&GraphProto, &[&NodeProto]) -> bool = |_, _| true;

pub(crate) const GRAPHS: &[GraphFault] = &[
    // An edge between two nodes.
    row("shape-to-gather", Aspect::Edge, "Shape Gather.0", ALWAYS),
    row("shape-as-target", Aspect::Edge, "Shape Reshape.1", ALWAYS),
    row("shape-of-reshaped", Aspect::Edge, "Reshape Shape", ALWAYS),
    row("shape-to-constant", Aspect::Edge, "Shape ConstantOfShape", ALWAYS),
    row("concat-as-target", Aspect::Edge, "Concat Reshape.1", ALWAYS),
    row("concat-as-dims-of-expand", Aspect::Edge, "Concat Expand.1", ALWAYS),
    row("gather-as-repeats", Aspect::Edge, "Gather Tile.1", ALWAYS),
    row("gather-as-ends", Aspect::Edge, "Gather Slice.2", ALWAYS),
    row("range-as-indices", Aspect::Edge, "Range Gather.1", ALWAYS),
    row("where-as-dims-of-expand", Aspect::Edge, "Where Expand.1", ALWAYS),
    row("transpose-of-transpose", Aspect::Edge, "Transpose Transpose", ALWAYS),
    row("transpose-of-concat", Aspect::Edge, "Concat Transpose", ALWAYS),
    row("transpose-of-pad", Aspect::Edge, "Pad Transpose", ALWAYS),
    row("reshape-of-reshape", Aspect::Edge, "Reshape Reshape.0", ALWAYS),
    row("reshape-of-flatten", Aspect::Edge, "Flatten Reshape.0", ALWAYS),
    row("squeeze-of-unsqueeze", Aspect::Edge, "Unsqueeze Squeeze", ALWAYS),
    row("unsqueeze-of-squeeze", Aspect::Edge, "Squeeze Unsqueeze", ALWAYS),
    row("concat-of-split", Aspect::Edge, "Split Concat", ALWAYS),
    row("split-of-concat", Aspect::Edge, "Concat Split", ALWAYS),
    row("slice-of-slice", Aspect::Edge, "Slice Slice.0", ALWAYS),
    row("gather-of-gather", Aspect::Edge, "Gather Gather.0", ALWAYS),
    row("slice-of-trilu", Aspect::Edge, "Trilu Slice.0", ALWAYS),
    row("gather-nd-of-cast-indices", Aspect::Edge, "Cast GatherND.1", ALWAYS),
    row("depth-to-space-of-pad", Aspect::Edge, "Pad DepthToSpace", ALWAYS),
    // Three nodes and more.
    row("target-of-dims", Aspect::Pattern, "Shape Gather.0 Concat Reshape.1", ALWAYS),
    row("target-of-dims-unsqueezed", Aspect::Pattern, "Shape Gather.0 Unsqueeze Concat Reshape.1", ALWAYS),
    row("target-of-product", Aspect::Pattern, "Shape Gather.0 Mul Concat Reshape.1", ALWAYS),
    row("target-in-32-bits", Aspect::Pattern, "Shape Cast Cast Reshape.1", ALWAYS),
    row("target-of-quotient", Aspect::Pattern, "Gather Div Concat Reshape.1", ALWAYS),
    row("dims-of-slice-of-shape", Aspect::Pattern, "Shape Slice.0 Concat", ALWAYS),
    row("ends-of-least-dim", Aspect::Pattern, "Shape Gather.0 Min Slice.2", ALWAYS),
    row("transpose-through-reshape", Aspect::Pattern, "Transpose Reshape.0 Transpose", ALWAYS),
    row("transpose-through-slice", Aspect::Pattern, "Transpose Slice.0 Transpose", ALWAYS),
    row("transpose-through-split", Aspect::Pattern, "Transpose Split.0 Transpose", ALWAYS),
    row("slices-of-one-value-joined", Aspect::Pattern, "Slice Concat", |graph, nodes| {
        let sliced = nodes[1].input.iter().filter_map(|name| giver(graph, "Slice", name));
        let data: Vec<Option<&String>> = sliced.map(|node| node.input.first()).collect();
        data.len() > 1 && data.iter().all(|name| *name == data[0])
    }),
    row("unsqueeze-at-computed-axes", Aspect::Pattern, "Shape Shape Unsqueeze.1", ALWAYS),
    row("two-takers-of-a-shape", Aspect::Pattern, "Shape Gather.0", |graph, nodes| takers(graph, nodes[0]) > 1),
    row("identical-nodes", Aspect::Pattern, "Cast", |graph, nodes| {
        let is_twin = |node: &&NodeProto| {
            node.op_type == nodes[0].op_type && node.input == nodes[0].input && node.attribute == nodes[0].attribute
        };
        graph.node.iter().filter(is_twin).count() > 1
    }),
    row("concat-of-a-value-with-itself", Aspect::Pattern, "Concat", |graph, nodes| {
        let names = &nodes[0].input;
        names.len() > 1
            && names.iter().all(|name| *name == names[0] && graph.node.iter().any(|node| node.output.contains(name)))
    }),
    // The way of an input into its node.
    row("target-fed-at-run", Aspect::Wiring, "Reshape", |graph, nodes| is_fed(graph, nodes[0], 1)),
    row("repeats-of-constant-node", Aspect::Wiring, "Tile", |graph, nodes| is_of_constant_node(graph, nodes[0], 1)),
    row("steps-of-initializer", Aspect::Wiring, "Slice", |graph, nodes| is_initializer(graph, nodes[0], 4)),
    row("axes-fed-at-run", Aspect::Wiring, "Squeeze", |graph, nodes| is_fed(graph, nodes[0], 1)),
    row("data-of-initializer", Aspect::Wiring, "Trilu", |graph, nodes| is_initializer(graph, nodes[0], 0)),
    row("initializer-that-may-be-fed", Aspect::Wiring, "Expand", |graph, nodes| {
        is_initializer(graph, nodes[0], 1) && is_fed(graph, nodes[0], 1)
    }),
    // What is declared.
    row("static-output-of-computed-target", Aspect::Declaration, "Concat Reshape.1", |graph, nodes| {
        outputs(graph, nodes[1]).any(has_static_dims)
    }),
    row("symbolic-output-of-slice", Aspect::Declaration, "Slice", |graph, nodes| {
        outputs(graph, nodes[0]).any(|info| dims(info).is_some_and(|dims| dims.len() > 1 && dims.iter().all(is_symbol)))
    }),
    row("symbolic-input-of-flatten", Aspect::Declaration, "Flatten", |graph, nodes| {
        input(graph, nodes[0], 0).is_some_and(has_symbol)
    }),
    row("unranked-input-of-transpose", Aspect::Declaration, "Transpose", |graph, nodes| {
        input(graph, nodes[0], 0).is_some_and(|info| dims(info).is_none())
    }),
    row("symbolic-inputs-of-concat", Aspect::Declaration, "Concat", |graph, nodes| {
        let inputs = || (0..nodes[0].input.len()).filter_map(|place| input(graph, nodes[0], place));
        inputs().count() > 1 && inputs().all(has_symbol)
    }),
    row("declared-dim-of-zero", Aspect::Declaration, "Expand", |graph, nodes| {
        let is_zero = |dim: &Dimension| matches!(dim.value, Some(DimensionValue::Size(0)));
        input(graph, nodes[0], 0).is_some_and(|info| dims(info).is_some_and(|dims| dims.iter().any(is_zero)))
    }),
    // Values that are also graph outputs, or also graph inputs.
    row("hidden-shape", Aspect::Observation, "Shape Reshape.1", |graph, nodes| is_hidden(graph, nodes[0])),
    row("shape-that-is-an-output", Aspect::Observation, "Shape Gather.0", |graph, nodes| !is_hidden(graph, nodes[0])),
    row("hidden-cast-between", Aspect::Observation, "Cast Cast", |graph, nodes| is_hidden(graph, nodes[0])),
    row("reshaped-that-is-an-output", Aspect::Observation, "Reshape Transpose", |graph, nodes| {
        !is_hidden(graph, nodes[0])
    }),
    row("identity-of-an-input", Aspect::Observation, "Identity", |graph, nodes| {
        is_fed(graph, nodes[0], 0) && !is_hidden(graph, nodes[0])
    }),
    row("split-with-a-hidden-output", Aspect::Observation, "Split", |graph, nodes| {
        (1..nodes[0].output.len()).contains(&outputs(graph, nodes[0]).count())
    }),
    // Several conditions at once.
    row(
        "static-output-of-a-target-of-hidden-dims",
        Aspect::Several,
        "Shape Gather.0 Concat Reshape.1",
        |graph, nodes| {
            outputs(graph, nodes[3]).any(has_static_dims) && nodes[..3].iter().all(|node| is_hidden(graph, node))
        },
    ),
    row("reshape-of-a-transposed-initializer", Aspect::Several, "Transpose Reshape.0", |graph, nodes| {
        is_initializer(graph, nodes[0], 0) && takers(graph, nodes[0]) > 1
    }),
    row("two-takers-of-a-hidden-cast-shape", Aspect::Several, "Shape Cast", |graph, nodes| {
        takers(graph, nodes[1]) > 1 && is_hidden(graph, nodes[1])
    }),
    row("slice-of-slice-of-a-symbolic-input", Aspect::Several, "Slice Slice.0 Concat", |graph, nodes| {
        input(graph, nodes[0], 0).is_some_and(has_symbol)
    }),
    row("expand-by-where-of-an-observed-shape", Aspect::Several, "Shape Equal Where Expand.1", |graph, nodes| {
        !is_hidden(graph, nodes[0])
    }),
    row("squeeze-of-two-unsqueezes", Aspect::Several, "Unsqueeze Unsqueeze Squeeze", |graph, nodes| {
        takers(graph, nodes[0]) == 1 && takers(graph, nodes[1]) == 1
    }),
];

/// Whether a run of a job shows a fault.
pub(super) type Shows = fn(&Job, usize) -> bool;

/// Faults of a session, each with the runs that show it. All outputs of such a run get a wrong last element.
pub(crate) const SESSIONS: &[(&str, Shows)] = &[
    ("third-run", |_, run| run == 2),
    ("second-run-of-reshape", |job, run| run == 1 && super::is(job, "Reshape")),
    ("more-elements-than-before", |job, run| run > 0 && elements(job, run) > 2 * elements(job, run - 1)),
    ("fewer-elements-than-before", |job, run| run > 0 && 4 * elements(job, run) < elements(job, run - 1)),
    ("after-a-run-of-nothing", |job, run| run > 0 && job.runs[run - 1].iter().any(Tensor::is_empty)),
    ("eighth-run", |_, run| run == 7),
];

const fn row(
    name: &'static str,
    aspect: Aspect,
    path: &'static str,
    holds: fn(&GraphProto, &[&NodeProto]) -> bool,
) -> GraphFault {
    GraphFault { name, aspect, path, holds }
}

impl GraphFault {
    /// Changes the execution of a job of one run as the fault has it.
    pub fn apply(&self, job: &Job, execution: &mut Execution) {
        let graph = job.model.decode().ok().and_then(|model| model.graph).unwrap_or_default();
        let last: Vec<&NodeProto> = self.paths(&graph).into_iter().filter_map(|nodes| nodes.last().copied()).collect();
        if !last.is_empty() {
            let wrong = dependents(&graph, &last);
            spoil(execution, |place| {
                graph.output.get(place).and_then(|info| info.name.as_deref()).is_some_and(|name| wrong.contains(name))
            });
        }
    }

    /// The paths of the graph on which the fault shows.
    fn paths<'a>(&self, graph: &'a GraphProto) -> Vec<Vec<&'a NodeProto>> {
        let mut steps = self.path.split(' ');
        let first = steps.next().unwrap_or_default();
        let mut paths: Vec<Vec<&NodeProto>> =
            graph.node.iter().filter(|node| is_a(node, first)).map(|node| vec![node]).collect();
        for step in steps {
            let (operator, place) = match step.split_once('.') {
                Some((operator, place)) => (operator, place.parse::<usize>().ok()),
                None => (step, None),
            };
            let takes = |node: &NodeProto, from: &NodeProto| {
                let mut inputs =
                    node.input.iter().enumerate().filter(|(own, _)| place.is_none_or(|place| place == *own));
                inputs.any(|(_, name)| !name.is_empty() && from.output.contains(name))
            };
            let longer = |path: &Vec<&'a NodeProto>| {
                let next = graph.node.iter().filter(|node| is_a(node, operator) && takes(node, path[path.len() - 1]));
                next.map(|node| path.iter().copied().chain([node]).collect()).collect::<Vec<Vec<&NodeProto>>>()
            };
            paths = paths.iter().flat_map(longer).collect();
        }
        paths.retain(|path| (self.holds)(graph, path));
        paths
    }
}

/// Gives some outputs of an answer a wrong last element. Strings and outputs without elements stay right.
pub(super) fn spoil(execution: &mut Execution, is_wrong: impl Fn(usize) -> bool) {
    if let Outcome::Answer(outputs) = &mut execution.outcome {
        for (_, output) in outputs.iter_mut().enumerate().filter(|(place, _)| is_wrong(*place)) {
            output.tensor = wrong_last(&output.tensor).unwrap_or_else(|| output.tensor.clone());
        }
    }
}

/// The names of all values that are computed from some nodes.
fn dependents<'a>(graph: &'a GraphProto, of: &[&'a NodeProto]) -> HashSet<&'a str> {
    let mut names: HashSet<&str> = of.iter().flat_map(|node| &node.output).map(String::as_str).collect();
    for node in &graph.node {
        if node.input.iter().any(|name| names.contains(name.as_str())) {
            names.extend(node.output.iter().map(String::as_str));
        }
    }
    names
}

fn is_a(node: &NodeProto, operator: &str) -> bool {
    node.op_type.as_deref() == Some(operator)
}

/// How many nodes take an output of a node.
fn takers(graph: &GraphProto, node: &NodeProto) -> usize {
    graph.node.iter().filter(|other| other.input.iter().any(|name| node.output.contains(name))).count()
}

/// The outputs of a node that are graph outputs.
fn outputs<'a>(graph: &'a GraphProto, node: &NodeProto) -> impl Iterator<Item = &'a ValueInfoProto> {
    graph.output.iter().filter(|info| info.name.as_ref().is_some_and(|name| node.output.contains(name)))
}

/// Whether no output of a node is a graph output.
fn is_hidden(graph: &GraphProto, node: &NodeProto) -> bool {
    outputs(graph, node).next().is_none()
}

/// The graph input that is an input of a node.
fn input<'a>(graph: &'a GraphProto, node: &NodeProto, place: usize) -> Option<&'a ValueInfoProto> {
    let name = node.input.get(place)?;
    graph.input.iter().find(|info| info.name.as_ref() == Some(name))
}

fn is_fed(graph: &GraphProto, node: &NodeProto, place: usize) -> bool {
    input(graph, node, place).is_some()
}

fn is_initializer(graph: &GraphProto, node: &NodeProto, place: usize) -> bool {
    node.input.get(place).is_some_and(|name| graph.initializer.iter().any(|tensor| tensor.name.as_ref() == Some(name)))
}

fn is_of_constant_node(graph: &GraphProto, node: &NodeProto, place: usize) -> bool {
    node.input.get(place).is_some_and(|name| giver(graph, "Constant", name).is_some())
}

/// The declared dims of a value, if any are declared.
fn dims(info: &ValueInfoProto) -> Option<&[Dimension]> {
    Some(&info.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref()?.dim)
}

fn is_symbol(dim: &Dimension) -> bool {
    !matches!(dim.value, Some(DimensionValue::Size(_)))
}

/// Whether a value is declared with dims, and one of them is no number.
fn has_symbol(info: &ValueInfoProto) -> bool {
    dims(info).is_some_and(|dims| dims.iter().any(is_symbol))
}

/// Whether each dim of a value is declared as a number.
pub(super) fn has_static_dims(info: &ValueInfoProto) -> bool {
    dims(info).is_some_and(|dims| !dims.iter().any(is_symbol))
}

/// The number of elements that a run is fed.
fn elements(job: &Job, run: usize) -> usize {
    job.runs[run].iter().map(Tensor::len).sum()
}
