//! Searches for the fewest nodes of a model on which a runtime goes wrong.

use std::collections::BTreeSet;
use std::mem::discriminant;
use std::sync::Arc;

use super::graph::{Boundary, Part};
use super::judge::{furthest, is_near};
use super::{Graph, Values, job, shrink};
use crate::model::proto::ModelProto;
use crate::runtime::{Execution, Outcome, Output, Runtime, Stop, execute_once};
use crate::tensor::{Tensor, distance};

/// The sign that a runtime is wrong.
#[derive(Clone, Debug)]
pub enum Sign {
    /// Its answer differs from that of the reference.
    Differs,
    /// It gives no answer, with this outcome and phrase.
    Fails { outcome: Outcome, phrase: String },
}

/// How nodes were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// By the first value that differs, with all values between nodes as graph outputs.
    ByValue(String),
    /// By cutting the model. With the values between nodes as graph outputs, the original outputs no longer differ.
    HiddenByValues,
    /// By cutting the model.
    ByCutting,
}

/// The nodes that are enough to show the fault.
#[derive(Clone, Debug)]
pub struct Found {
    /// Their places in the model.
    pub nodes: Vec<usize>,
    pub how: How,
    /// A model of these nodes alone, with its inputs, reduced.
    pub part: Part,
    /// The outputs of the reference for that part.
    pub expected: Vec<Tensor>,
    /// The execution of that part on the runtime.
    pub actual: Execution,
    /// Whether the runtime is right on the rest of the model; `None` if that is unknown.
    pub rest_is_right: Option<bool>,
}

/// A search for nodes: its parameters, and the runs so far.
#[expect(missing_debug_implementations, reason = "runtimes have none")]
pub struct Search<'a> {
    pub graph: &'a Graph<'a>,
    pub feeds: &'a [(Arc<str>, Tensor)],
    pub runtime: &'a mut dyn Runtime,
    pub reference: &'a mut dyn Runtime,
    pub sign: Sign,
    /// Replaces the tolerance of a type.
    pub relative: Option<f64>,
    pub stop: Stop,
    /// Called with a few words on the current step.
    pub progress: &'a dyn Fn(&str),
    /// How many models were run.
    pub runs: usize,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub enum Located {
    Found(Box<Found>),
    /// This node amplifies a small difference of its inputs. With the inputs of the reference, it is right.
    Amplified {
        node: usize,
        before: f64,
        after: f64,
    },
    /// This node gives the first value that differs, from equal inputs. Alone it is right, and so is every part that was cut out.
    OnlyAmongOthers {
        node: usize,
    },
    /// No part that was cut out shows the fault.
    Nowhere,
    /// The reference does not give the values between the nodes.
    NoValues,
}

impl Search<'_> {
    /// Searches for the nodes.
    pub fn locate(&mut self) -> Located {
        (self.progress)("the values between, from the reference");
        let values = Values::of(self.graph, self.feeds, self.reference);
        self.runs += values.runs;
        let nodes = self.graph.computing();
        let last = nodes.iter().rev().flat_map(|&place| &self.graph.nodes()[place].output);
        if last.take(1).any(|name| values.get(name).is_none()) && values.runs > nodes.len() {
            return Located::NoValues;
        }
        let mut among_others = None;
        let mut how = How::ByCutting;
        if let Sign::Differs = self.sign {
            (self.progress)("the values between, from the runtime");
            let own = Values::of(self.graph, self.feeds, self.runtime);
            self.runs += own.runs;
            if !self.graph_outputs_differ(&values, &own) {
                how = How::HiddenByValues;
            } else if let Some(first) = self.first_difference(&values, &own) {
                if let Some(found) = self.around(first, &values) {
                    let value = self.graph.nodes()[first].output.first().cloned().unwrap_or_default();
                    return self.finish(found, How::ByValue(value), &values);
                }
                let (before, after) = self.distances(first, &values, &own);
                if before > 0.0 {
                    return Located::Amplified { node: first, before, after };
                }
                among_others = Some(Located::OnlyAmongOthers { node: first });
            }
        }
        if let Some(found) = self.by_cutting(&nodes, &values) {
            return self.finish(found, how, &values);
        }
        among_others.unwrap_or(Located::Nowhere)
    }

    /// Whether a known value differs by more than the tolerance.
    fn differs(&self, name: &str, values: &Values, own: &Values) -> bool {
        match (values.get(name), own.get(name)) {
            (Some(expected), Some(actual)) => {
                let distance = distance(expected, actual);
                !is_near(expected, distance, self.graph.depth(name), self.relative)
            }
            _ => false,
        }
    }

    /// Whether a graph output differs when all values between nodes are graph outputs too.
    fn graph_outputs_differ(&self, values: &Values, own: &Values) -> bool {
        self.graph.network.graph().output.iter().any(|info| self.differs(super::name(info), values, own))
    }

    /// The first node that gives a value which differs.
    fn first_difference(&self, values: &Values, own: &Values) -> Option<usize> {
        let mut given = self.graph.given();
        given.find(|name| self.differs(name, values, own)).and_then(|name| self.graph.giver(name))
    }

    /// The largest distance among the inputs of a node, and among its outputs.
    fn distances(&self, node: usize, values: &Values, own: &Values) -> (f64, f64) {
        let off = |name: &String| match (values.get(name), own.get(name)) {
            (Some(expected), Some(actual)) => distance(expected, actual),
            _ => 0.0,
        };
        let proto = &self.graph.nodes()[node];
        let most = |names: &[String]| names.iter().map(off).fold(0.0, f64::max);
        (most(&proto.input), most(&proto.output))
    }

    /// Searches for the fewest nodes that show the fault, among this node and those shortly before it.
    fn around(&mut self, node: usize, values: &Values) -> Option<Vec<usize>> {
        (self.progress)("the node that gives the first value that differs");
        let mut nodes = BTreeSet::from([node]);
        for _ in 0..WIDEST {
            let part: Vec<usize> = nodes.iter().copied().collect();
            if self.shows(&part, values) {
                return Some(self.fewest(part, values));
            }
            let before: Vec<usize> = nodes.iter().flat_map(|&place| self.graph.before(place)).collect();
            let count = nodes.len();
            nodes.extend(before);
            if nodes.len() == count || self.stop.is_asked() {
                return None;
            }
        }
        None
    }

    /// Cuts off as much of the end of the model as possible, then of its beginning, and then leaves out nodes in between.
    fn by_cutting(&mut self, nodes: &[usize], values: &Values) -> Option<Vec<usize>> {
        (self.progress)("parts of the model");
        if !self.shows(nodes, values) {
            return None;
        }
        // The unused values of a part are its outputs, so a longer beginning mostly shows the fault if a shorter one does.
        let (mut without, mut with) = (0, nodes.len());
        while with - without > 1 && !self.stop.is_asked() {
            let middle = usize::midpoint(without, with);
            if self.shows(&nodes[..middle], values) { with = middle } else { without = middle }
        }
        let (mut first, mut too_late) = (0, with);
        while too_late - first > 1 && !self.stop.is_asked() {
            let middle = usize::midpoint(first, too_late);
            if self.shows(&nodes[middle..with], values) { first = middle } else { too_late = middle }
        }
        Some(self.fewest(nodes[first..with].to_vec(), values))
    }

    /// Leaves out nodes in ever smaller groups, as long as the rest shows the fault.
    fn fewest(&mut self, mut nodes: Vec<usize>, values: &Values) -> Vec<usize> {
        let mut group = nodes.len() / 2;
        while group > 0 {
            (self.progress)(&format!("{} nodes", nodes.len()));
            let mut place = 0;
            while place < nodes.len() && nodes.len() > 1 && !self.stop.is_asked() {
                let end = (place + group).min(nodes.len());
                let fewer: Vec<usize> = [&nodes[..place], &nodes[end..]].concat();
                if !fewer.is_empty() && self.shows(&fewer, values) {
                    nodes = fewer;
                } else {
                    place = end;
                }
            }
            group /= 2;
        }
        nodes
    }

    /// Whether nodes show the fault with the values of the reference as their inputs.
    fn shows(&mut self, nodes: &[usize], values: &Values) -> bool {
        !nodes.is_empty() && self.showing_part(nodes, values).is_some()
    }

    /// The part of these nodes that shows the fault, the expected outputs, and the execution.
    fn showing_part(&mut self, nodes: &[usize], values: &Values) -> Option<(Part, Vec<Tensor>, Execution)> {
        for boundary in [Boundary::Fed, Boundary::SizesKnown, Boundary::Symbolic] {
            let part = self.graph.part(nodes, values, boundary).ok()?;
            let names = part.model.graph.iter().flat_map(|graph| &graph.output);
            let expected: Vec<Tensor> =
                names.map(|info| values.get(super::name(info)).cloned()).collect::<Option<_>>()?;
            if expected.is_empty() {
                return None;
            }
            let execution = self.run(&part)?;
            if self.is_sign(&expected, &execution, nodes.len()) {
                return Some((part, expected, execution));
            }
            // A runtime that answers knew all sizes that it needs.
            if matches!((&self.sign, &execution.outcome), (Sign::Differs, Outcome::Answer(_))) {
                return None;
            }
        }
        None
    }

    /// Runs a part on the runtime.
    pub(super) fn run(&mut self, part: &Part) -> Option<Execution> {
        self.runs += 1;
        let model = self.graph.network.serialized(&part.model).ok()?;
        Some(execute_once(self.runtime, &job(model, &part.feeds, 1)))
    }

    /// The outputs of the reference for a part.
    pub(super) fn expected(&mut self, part: &Part) -> Option<Vec<Tensor>> {
        self.runs += 1;
        let model = self.graph.network.serialized(&part.model).ok()?;
        match execute_once(self.reference, &job(model, &part.feeds, 1)).outcome {
            Outcome::Answer(outputs) => Some(outputs.into_iter().map(|output| output.tensor).collect()),
            _ => None,
        }
    }

    /// Whether an execution shows the fault.
    pub(super) fn is_sign(&self, expected: &[Tensor], execution: &Execution, depth: usize) -> bool {
        match (&self.sign, &execution.outcome) {
            (Sign::Differs, Outcome::Answer(actual)) => {
                let expected: Vec<Output> = expected.iter().cloned().map(Output::new).collect();
                !furthest(&expected, actual, &vec![depth; actual.len()], self.relative).is_close
            }
            (Sign::Fails { outcome, phrase }, own) => {
                discriminant(outcome) == discriminant(own) && *phrase == execution.phrase
            }
            _ => false,
        }
    }

    fn finish(&mut self, nodes: Vec<usize>, how: How, values: &Values) -> Located {
        // A runtime that goes wrong only sometimes may be right this time.
        let Some((part, expected, actual)) = self.showing_part(&nodes, values) else { return Located::Nowhere };
        let rest_is_right = self.rest_is_right(&nodes, values);
        (self.progress)("smaller dims and plainer elements");
        let (part, expected, actual) = shrink::smaller(self, (part, expected, actual), nodes.len());
        Located::Found(Box::new(Found { nodes, how, part, expected, actual, rest_is_right }))
    }

    /// Whether the runtime agrees on the rest of the model, with the outputs of these nodes as inputs.
    fn rest_is_right(&mut self, nodes: &[usize], values: &Values) -> Option<bool> {
        let rest = self.graph.without(nodes, self.feeds, values).ok()?;
        let names = |model: &ModelProto| -> Vec<String> {
            model.graph.iter().flat_map(|graph| &graph.output).map(|info| super::name(info).to_owned()).collect()
        };
        let expected: Vec<Tensor> =
            names(&rest.model).iter().map(|name| values.get(name).cloned()).collect::<Option<_>>()?;
        let execution = self.run(&rest)?;
        let Outcome::Answer(actual) = &execution.outcome else { return None };
        let depths: Vec<usize> = names(&rest.model).iter().map(|name| self.graph.depth(name)).collect();
        let expected: Vec<Output> = expected.into_iter().map(Output::new).collect();
        Some(furthest(&expected, actual, &depths, self.relative).is_close)
    }
}

/// How many parts are tried around a node, each with one more layer of nodes before it.
const WIDEST: usize = 4;
