//! Which nodes of a model are enough for a runtime to go wrong.

use std::collections::BTreeSet;
use std::mem::discriminant;
use std::sync::Arc;

use super::graph::{Boundary, Part};
use super::judge::{furthest, is_near};
use super::{Graph, Values, job, shrink};
use crate::model::proto::ModelProto;
use crate::runtime::{Execution, Outcome, Output, Runtime, Stop, execute_once};
use crate::tensor::{Tensor, distance};

/// How it shows that a runtime is wrong.
#[derive(Clone, Debug)]
pub enum Sign {
    /// Its answer is not that of the reference.
    Differs,
    /// It gives no answer, in this way.
    Fails { outcome: Outcome, phrase: String },
}

/// How nodes were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// The value is the first that differs where values between are made graph outputs.
    ByValue(String),
    /// The model was cut. Nothing differs any more where values between are made graph outputs.
    HiddenByValues,
    /// The model was cut.
    ByCutting,
}

/// The nodes that are enough.
#[derive(Clone, Debug)]
pub struct Found {
    /// Their places in the model.
    pub nodes: Vec<usize>,
    pub how: How,
    /// They alone, with what they take, reduced.
    pub part: Part,
    /// What the reference gives for that.
    pub expected: Vec<Tensor>,
    /// What the runtime does with that.
    pub actual: Execution,
    /// Whether the rest of the model is right: none if that is unknown.
    pub rest_is_right: Option<bool>,
}

/// What is looked for, and what it took so far.
#[expect(missing_debug_implementations, reason = "runtimes have none")]
pub struct Search<'a> {
    pub graph: &'a Graph<'a>,
    pub feeds: &'a [(Arc<str>, Tensor)],
    pub runtime: &'a mut dyn Runtime,
    pub reference: &'a mut dyn Runtime,
    pub sign: Sign,
    /// In place of the tolerance of a type.
    pub relative: Option<f64>,
    pub stop: Stop,
    /// Called with a few words on what is done.
    pub progress: &'a dyn Fn(&str),
    /// How many models were run.
    pub runs: usize,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub enum Located {
    Found(Box<Found>),
    /// What comes in is a little off, and this node makes much of it; with what the reference gives, it is right.
    Amplified {
        node: usize,
        before: f64,
        after: f64,
    },
    /// This node gives the first value that differs, though it takes the same; alone, it is right, and so is every part that was cut out.
    OnlyAmongOthers {
        node: usize,
    },
    /// No part that is cut out shows it.
    Nowhere,
    /// The reference does not give the values between.
    NoValues,
}

impl Search<'_> {
    /// Looks for the nodes.
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

    /// Whether a value differs.
    fn differs(&self, name: &str, values: &Values, own: &Values) -> bool {
        match (values.get(name), own.get(name)) {
            (Some(expected), Some(actual)) => {
                let distance = distance(expected, actual);
                !is_near(expected, distance, self.graph.depth(name), self.relative)
            }
            _ => false,
        }
    }

    /// Whether a graph output differs where all values between are graph outputs too.
    fn graph_outputs_differ(&self, values: &Values, own: &Values) -> bool {
        self.graph.network.graph().output.iter().any(|info| self.differs(super::name(info), values, own))
    }

    /// The first node that gives a value which differs.
    fn first_difference(&self, values: &Values, own: &Values) -> Option<usize> {
        let mut given = self.graph.given();
        given.find(|name| self.differs(name, values, own)).and_then(|name| self.graph.giver(name))
    }

    /// How far off what a node takes is, and what it gives.
    fn distances(&self, node: usize, values: &Values, own: &Values) -> (f64, f64) {
        let off = |name: &String| match (values.get(name), own.get(name)) {
            (Some(expected), Some(actual)) => distance(expected, actual),
            _ => 0.0,
        };
        let proto = &self.graph.nodes()[node];
        let most = |names: &[String]| names.iter().map(off).fold(0.0, f64::max);
        (most(&proto.input), most(&proto.output))
    }

    /// The fewest nodes up to this one, as far as they are tried, that show it.
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

    /// Cuts the model off behind as few nodes as show it, then before as many, and leaves out what can be.
    fn by_cutting(&mut self, nodes: &[usize], values: &Values) -> Option<Vec<usize>> {
        (self.progress)("parts of the model");
        if !self.shows(nodes, values) {
            return None;
        }
        // What nodes give to no other is seen at the end, so a longer beginning mostly shows what a shorter one does.
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

    /// Leaves out nodes in ever smaller groups as long as it still shows.
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

    /// Whether nodes show it, if they take what the reference gives.
    fn shows(&mut self, nodes: &[usize], values: &Values) -> bool {
        !nodes.is_empty() && self.showing_part(nodes, values).is_some()
    }

    /// The part of these nodes that shows it.
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
            // A runtime that answers knows what it has to.
            if matches!((&self.sign, &execution.outcome), (Sign::Differs, Outcome::Answer(_))) {
                return None;
            }
        }
        None
    }

    /// What the runtime does with a part.
    pub(super) fn run(&mut self, part: &Part) -> Option<Execution> {
        self.runs += 1;
        let model = self.graph.network.serialized(&part.model).ok()?;
        Some(execute_once(self.runtime, &job(model, &part.feeds, 1)))
    }

    /// What the reference gives for a part.
    pub(super) fn expected(&mut self, part: &Part) -> Option<Vec<Tensor>> {
        self.runs += 1;
        let model = self.graph.network.serialized(&part.model).ok()?;
        match execute_once(self.reference, &job(model, &part.feeds, 1)).outcome {
            Outcome::Answer(outputs) => Some(outputs.into_iter().map(|output| output.tensor).collect()),
            _ => None,
        }
    }

    /// Whether an execution is what is looked for.
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
        // A runtime that goes wrong only now and then may not do so again.
        let Some((part, expected, actual)) = self.showing_part(&nodes, values) else { return Located::Nowhere };
        let rest_is_right = self.rest_is_right(&nodes, values);
        (self.progress)("smaller dims and plainer elements");
        let (part, expected, actual) = shrink::smaller(self, (part, expected, actual), nodes.len());
        Located::Found(Box::new(Found { nodes, how, part, expected, actual, rest_is_right }))
    }

    /// Whether the runtime agrees on the rest of the model, where what these nodes give is fed.
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

/// How often what nodes take from is added to them.
const WIDEST: usize = 4;
