//! The graph of a case: the inputs and outputs of its nodes, and the expected answer.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::notation::{MAX_NODES, MAX_RUNS};
use super::overridden::complement;
use super::{Case, Contents, Declared, Fed, Operand, Wiring};
use crate::operator::{
    Answer, Attribute, Expectation, GRAPH, Operator, OperatorName, Role, Rule, Version, may_be_constant,
};
use crate::tensor::{ElementType, Tensor};

/// A node of a case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    pub operator: &'static Operator,
    pub attributes: Vec<Attribute>,
    /// `None` is an input left out by the empty name.
    pub inputs: Vec<Option<Value>>,
    /// The number of outputs that the node names, at least one.
    pub outputs: usize,
    /// How the outputs are shown, the same for all of them.
    pub shown: Shown,
}

impl Node {
    /// Whether an input is an output of another node.
    pub fn is_computed(&self, input: usize) -> bool {
        matches!(self.inputs.get(input), Some(Some(Value::Output { .. })))
    }

    /// The place of the data, if the operator has data at an opset. Before the first version of the operator, the place is 0.
    pub fn data_input(&self, opset: u8) -> Option<usize> {
        self.operator.version_at(opset).map_or(Some(0), Version::data_input)
    }
}

/// Where an input of a node comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// A source of the case, by its place.
    Source(usize),
    /// An output of an earlier node, by the places of the node and of the output.
    Output { node: usize, output: usize },
}

/// Whether the outputs of a node are graph outputs, and how the graph declares their dims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Shown {
    /// No graph output, and no declaration.
    Hidden,
    /// No graph output, but the graph has a `value_info` for each output.
    Info(Declares),
    /// A graph output.
    Output(Declares),
}

/// How the dims of a node output are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Declares {
    /// Each dim as a symbol of its own.
    Symbolic,
    /// Each dim as a number.
    Static,
    /// The number of dims alone.
    Rank,
}

/// An edge: an output of node `from` is input number `input` of node `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub input: usize,
}

/// One possible execution of the nodes of a case.
#[derive(Clone, PartialEq)]
struct Branch {
    /// The outputs of each node, up to the first node without outputs.
    values: Vec<Vec<Tensor>>,
    /// Whether a node refused.
    is_refused: bool,
    /// Whether a node should have refused, and gave a lenient answer.
    is_lenient: bool,
    /// Whether any answer of a node is tolerated, so that all later values are unknown.
    is_anything: bool,
}

/// All possible executions of the nodes of a case. The first is the one that the specification leans to.
struct Fold {
    branches: Vec<Branch>,
    /// The first node whose answer is unspecified, and the first node that must be refused, each with its rule.
    open: Option<(usize, Rule)>,
    reject: Option<(usize, Rule)>,
}

impl Case {
    /// The tensors of the sources, in order. Both the expectation and the model are made from them.
    pub fn tensors(&self) -> Vec<Tensor> {
        self.sources.iter().map(Operand::tensor).collect()
    }

    /// The same case with every element of its sources written out.
    pub fn with_elements(&self) -> Case {
        let written = |operand: &Operand| Operand { contents: Contents::of(&operand.tensor()), ..operand.clone() };
        Case { sources: self.sources.iter().map(written).collect(), ..self.clone() }
    }

    /// The same case with every source in one wiring.
    pub fn rewired(&self, wiring: Wiring) -> Case {
        let mut case = self.clone();
        case.sources.iter_mut().for_each(|operand| operand.wiring = wiring);
        case
    }

    /// The operator of its node, or [`GRAPH`] if the case has several nodes.
    pub fn subject(&self) -> OperatorName {
        match &self.nodes[..] {
            [node] => node.operator.name,
            _ => GRAPH,
        }
    }

    /// Every edge, in the order of the nodes that the edges lead to.
    pub fn edges(&self) -> impl Iterator<Item = Edge> {
        self.nodes.iter().enumerate().flat_map(|(to, node)| {
            node.inputs.iter().enumerate().filter_map(move |(input, value)| match value {
                Some(Value::Output { node: from, .. }) => Some(Edge { from: *from, to, input }),
                _ => None,
            })
        })
    }

    /// The versions of its operators, such as `Reshape-14`.
    pub fn operator_versions(&self) -> String {
        let mut versions: Vec<String> = Vec::new();
        for (place, node) in self.nodes.iter().enumerate() {
            let version = format!("{}-{}", node.operator, self.version(place).map_or(0, |version| version.since));
            if !versions.contains(&version) {
                versions.push(version);
            }
        }
        versions.join(" and ")
    }

    /// The version of the operator of a node at the opset, if the operator exists at that opset.
    pub fn version(&self, node: usize) -> Option<&'static Version> {
        self.nodes[node].operator.version_at(self.opset)
    }

    /// The case at each older opset at which a version of one of its operators begins, the newest first.
    pub fn at_older_opsets(&self) -> impl Iterator<Item = Case> {
        let versions = self.nodes.iter().flat_map(|node| node.operator.versions);
        let older: BTreeSet<u8> = versions.map(|version| version.since).filter(|&opset| opset < self.opset).collect();
        older.into_iter().rev().map(|opset| Case { opset, ..self.clone() })
    }

    /// The expected answer of the case. `tensors` are the tensors of its sources.
    pub fn expectation(&self, tensors: &[Tensor]) -> Expectation {
        let of_nodes = match &self.nodes[..] {
            // A shortcut for nearly all cases; the fold gives the same result.
            [node] if self.passed.is_empty() => self.evaluate(node, tensors, &[]),
            _ => self.fold(tensors).into_expectation(self, tensors),
        };
        match self.rule_on_the_graph() {
            Some(rule) => of_nodes.in_invalid_graph(rule),
            None => of_nodes,
        }
    }

    /// The expected answer of a node, if `values` are the outputs of the nodes before it.
    fn evaluate(&self, node: &Node, tensors: &[Tensor], values: &[Vec<Tensor>]) -> Expectation {
        let inputs: Vec<Option<Tensor>> =
            node.inputs.iter().map(|input| input.and_then(|value| value.tensor(tensors, values).cloned())).collect();
        node.operator.evaluate(self.opset, &node.attributes, &inputs, node.outputs)
    }

    fn fold(&self, tensors: &[Tensor]) -> Fold {
        let start = Branch { values: vec![], is_refused: false, is_lenient: false, is_anything: false };
        let mut fold = Fold { branches: vec![start], open: None, reject: None };
        for (place, node) in self.nodes.iter().enumerate() {
            let mut next: Vec<Branch> = Vec::new();
            for branch in std::mem::take(&mut fold.branches) {
                if branch.is_refused || branch.is_anything {
                    next.push(branch);
                    continue;
                }
                let with = |outputs: Vec<Tensor>, is_lenient: bool| {
                    let mut branch = branch.clone();
                    branch.values.push(outputs);
                    Branch { is_lenient, ..branch }
                };
                let refused = || Branch { is_refused: true, ..branch.clone() };
                match self.evaluate(node, tensors, &branch.values) {
                    Expectation::Defined(outputs) => next.push(with(outputs, branch.is_lenient)),
                    Expectation::Reject { rule, lenient } => {
                        fold.reject.get_or_insert((place, rule));
                        next.push(refused());
                        next.extend(lenient.map(|outputs| with(outputs, true)));
                    }
                    Expectation::Unspecified { rule, tolerated } => {
                        fold.open.get_or_insert((place, rule));
                        next.extend(tolerated.into_iter().map(|answer| match answer {
                            Answer::Outputs(outputs) => with(outputs, branch.is_lenient),
                            Answer::Refusal => refused(),
                            Answer::Any => Branch { is_anything: true, ..branch.clone() },
                        }));
                    }
                }
            }
            for branch in next {
                if !fold.branches.contains(&branch) {
                    fold.branches.push(branch);
                }
            }
        }
        fold
    }

    /// The outputs of each node, in the first execution without a refusal, a lenient answer or an unknown value. Without such an
    /// execution, the outputs of the first of those that get furthest, up to the node that gives none.
    pub fn values(&self, tensors: &[Tensor]) -> Vec<Vec<Tensor>> {
        let branches = self.fold(tensors).branches;
        let sound = branches.iter().find(|branch| !branch.is_refused && !branch.is_lenient && !branch.is_anything);
        let furthest = || branches.iter().rev().max_by_key(|branch| branch.values.len());
        sound.or_else(furthest).map(|branch| branch.values.clone()).unwrap_or_default()
    }

    /// The place of the node that breaks the rule, or whose answer the rule leaves unspecified. `None` if the expectation has
    /// another rule.
    pub fn node_of(&self, rule: Rule) -> Option<usize> {
        let Fold { open, reject, .. } = self.fold(&self.tensors());
        reject.into_iter().chain(open).find(|(_, own)| *own == rule).map(|(node, _)| node)
    }

    /// Whether the first node that must be refused has no graph output. A runtime may remove such a node.
    pub fn is_refused_unseen(&self) -> bool {
        if self.nodes.len() == 1 {
            return false;
        }
        let reject = self.fold(&self.tensors()).reject;
        reject.is_some_and(|(node, _)| !matches!(self.nodes[node].shown, Shown::Output(_)))
    }

    /// The rule that the wiring of a source breaks, whatever the nodes are.
    pub fn rule_on_the_graph(&self) -> Option<Rule> {
        self.sources.iter().find_map(|operand| match operand.wiring {
            Wiring::Input(Declared::Unranked) => Some(Rule::UNRANKED),
            Wiring::Constant(_) if !may_be_constant(operand.element_type, self.opset) => Some(Rule::CONSTANT_TYPE),
            _ => None,
        })
    }

    /// The places of the nodes that use a value, once for each input that uses it.
    pub fn takers(&self, value: Value) -> impl Iterator<Item = usize> {
        let times = move |node: &Node| node.inputs.iter().filter(|input| **input == Some(value)).count();
        self.nodes.iter().enumerate().flat_map(move |(place, node)| std::iter::repeat_n(place, times(node)))
    }

    /// The places of all nodes with the same operator, attributes, inputs and number of outputs as this node, which is one of them.
    pub fn twins(&self, node: usize) -> Vec<usize> {
        let call = |place: usize| {
            (
                self.nodes[place].operator.name,
                &self.nodes[place].attributes,
                &self.nodes[place].inputs,
                self.nodes[place].outputs,
            )
        };
        (0..self.nodes.len()).filter(|&place| call(place) == call(node)).collect()
    }

    /// The places of the sources that are fed when the model is run.
    pub fn fed(&self) -> impl Iterator<Item = usize> {
        let is_fed = |operand: &Operand| matches!(operand.wiring, Wiring::Input(_) | Wiring::Default(Fed::Operand));
        self.sources.iter().enumerate().filter(move |(_, operand)| is_fed(operand)).map(|(place, _)| place)
    }

    /// Puts the sources in the order in which nodes use them, and drops unused sources. Does the same for the earlier runs.
    pub(crate) fn settle_sources(&mut self) {
        let mut order: Vec<usize> = Vec::new();
        for input in self.nodes.iter_mut().flat_map(|node| &mut node.inputs) {
            if let Some(Value::Source(place)) = input {
                let new = order.iter().position(|other| other == place).unwrap_or_else(|| {
                    order.push(*place);
                    order.len() - 1
                });
                *place = new;
            }
        }
        self.passed = self.passed.iter().filter_map(|place| order.iter().position(|other| other == place)).collect();
        self.passed.sort_unstable();
        self.sources = order.iter().map(|&place| self.sources[place].clone()).collect();
        let fed: Vec<usize> = self.fed().collect();
        for run in &mut self.before {
            let own = |(place, &source): (usize, &usize)| match run.get(source).filter(|_| fed.contains(&place)) {
                Some(operand) => Operand { wiring: self.sources[place].wiring, ..operand.clone() },
                None => self.sources[place].clone(),
            };
            *run = order.iter().enumerate().map(own).collect();
        }
    }

    /// Several cases in one model, each as an independent part of it. `None` if their opsets differ, if one of several cases has
    /// earlier runs, or if the model would have more nodes than a case can have.
    pub fn joined(cases: &[Case]) -> Option<Case> {
        let mut joined = cases.first()?.clone();
        for other in &cases[1..] {
            let (sources, nodes) = (joined.sources.len(), joined.nodes.len());
            let moved = |value: Value| match value {
                Value::Source(place) => Value::Source(place + sources),
                Value::Output { node, output } => Value::Output { node: node + nodes, output },
            };
            joined.sources.extend(other.sources.iter().cloned());
            joined.passed.extend(other.passed.iter().map(|place| place + sources));
            joined.nodes.extend(other.nodes.iter().cloned().map(|mut node| {
                node.inputs.iter_mut().for_each(|input| *input = input.map(moved));
                node
            }));
            if other.opset != joined.opset || !(joined.before.is_empty() && other.before.is_empty()) {
                return None;
            }
        }
        (joined.nodes.len() <= MAX_NODES).then_some(joined)
    }

    /// The last of several cases of the same graph, with the others as earlier runs of its session. `None` if there are none or too
    /// many.
    pub fn in_turn(cases: &[Case]) -> Option<Case> {
        let (last, before) = cases.split_last()?;
        let before = before.iter().map(|case| case.sources.clone()).collect();
        (cases.len() <= MAX_RUNS).then(|| Case { before, ..last.clone() }.tidied())
    }

    /// Whether an input of a node is a parameter: its values decide about the output.
    pub fn is_parameter(&self, node: usize, input: usize) -> bool {
        let spec = self.version(node).and_then(|version| version.input(input));
        spec.is_some_and(|spec| spec.role != Role::Data)
    }

    /// The outputs of a node.
    pub fn outputs_of(&self, node: usize) -> impl Iterator<Item = Value> + use<> {
        (0..self.nodes[node].outputs).map(move |output| Value::Output { node, output })
    }

    /// Whether another node uses an output of this node.
    pub fn is_taken(&self, node: usize) -> bool {
        let is_of = |value: &Value| matches!(value, Value::Output { node: giver, .. } if *giver == node);
        self.nodes.iter().flat_map(|other| other.inputs.iter().flatten()).any(is_of)
    }

    /// The graph outputs: first the outputs of nodes, in order, then the sources that are also graph outputs.
    pub fn outputs(&self) -> impl Iterator<Item = Value> {
        let is_output = |place: &usize| matches!(self.nodes[*place].shown, Shown::Output(_));
        let of_nodes = (0..self.nodes.len()).filter(is_output).flat_map(|node| self.outputs_of(node));
        of_nodes.chain(self.passed.iter().map(|&place| Value::Source(place)))
    }
}

/// The type, rank and dims of a node output, as far as they are known.
#[derive(Clone, Debug)]
pub struct Outlet {
    pub element_type: ElementType,
    /// `None` if the rank is unknown.
    rank: Option<usize>,
    /// The expected dims; `None` if they are unknown.
    dims: Option<Vec<i64>>,
}

impl Outlet {
    /// The dims to declare. An unknown dim is `None`. If the rank is unknown, the whole result is `None`.
    pub fn dims(&self, declares: Declares) -> Option<Vec<Option<i64>>> {
        match (declares, &self.dims) {
            (Declares::Static, Some(dims)) => Some(dims.iter().map(|&dim| Some(dim)).collect()),
            _ => self.rank.map(|rank| vec![None; rank]),
        }
    }
}

impl Case {
    /// The [values](Case::values), as far as nodes take them or a model declares their dims: none for a node alone whose dims are not
    /// declared.
    pub fn used_values(&self, tensors: &[Tensor]) -> Vec<Vec<Tensor>> {
        let declares =
            |node: &Node| matches!(node.shown, Shown::Output(Declares::Static) | Shown::Info(Declares::Static));
        let are_used = self.nodes.len() > 1 || self.nodes.iter().any(declares);
        if are_used { self.values(tensors) } else { vec![] }
    }

    /// The known properties of the outputs of each node. `values` are the [used values](Case::used_values).
    pub fn outlets(&self, tensors: &[Tensor], values: &[Vec<Tensor>]) -> Vec<Vec<Outlet>> {
        let mut outlets: Vec<Vec<Outlet>> = Vec::with_capacity(self.nodes.len());
        for (place, node) in self.nodes.iter().enumerate() {
            let inputs: Vec<Option<Tensor>> = node
                .inputs
                .iter()
                .map(|input| input.and_then(|value| value.tensor(tensors, values).cloned()))
                .collect();
            // If an earlier node has no answer, the data has no value, but its type is known.
            let data = node.data_input(self.opset).and_then(|place| node.inputs.get(place).copied().flatten());
            let data = data.and_then(|value| match (value.tensor(tensors, values), value) {
                (Some(tensor), _) => Some(tensor.element_type()),
                (None, Value::Output { node, output }) => Some(outlets[node].get(output)?.element_type),
                (None, Value::Source(_)) => None,
            });
            let element_type = node.operator.output_type(&node.attributes, data).unwrap_or(ElementType::Float);
            let rank = node.operator.output_rank(self.opset, &node.attributes, &inputs);
            let dims = |output: usize| Some(values.get(place)?.get(output)?.dims().to_vec());
            outlets.push((0..node.outputs).map(|output| Outlet { element_type, rank, dims: dims(output) }).collect());
        }
        outlets
    }

    /// The default of a source that is fed: a tensor of the same type and dims. If possible, it is chosen such that a runtime that
    /// uses the default by mistake gives another answer.
    pub fn overridden(&self, source: usize, tensors: &[Tensor]) -> Tensor {
        let taker = self.single().and_then(|single| {
            let place = self.nodes[0].inputs.iter().position(|input| *input == Some(Value::Source(source)))?;
            single.overridden(place)
        });
        taker.unwrap_or_else(|| complement(&tensors[source]))
    }
}

impl Value {
    /// The tensor of the value. `tensors` are the tensors of the sources, and `values` the outputs of the nodes.
    pub fn tensor<'a>(self, tensors: &'a [Tensor], values: &'a [Vec<Tensor>]) -> Option<&'a Tensor> {
        match self {
            Value::Source(place) => tensors.get(place),
            Value::Output { node, output } => values.get(node)?.get(output),
        }
    }
}

impl Fold {
    fn into_expectation(self, case: &Case, tensors: &[Tensor]) -> Expectation {
        let outputs = |branch: &Branch| -> Vec<Tensor> {
            case.outputs().filter_map(|value| value.tensor(tensors, &branch.values).cloned()).collect()
        };
        let sound = self.branches.iter().filter(|branch| !branch.is_lenient);
        let answers: Vec<Answer> = sound
            .map(|branch| match branch {
                Branch { is_refused: true, .. } => Answer::Refusal,
                Branch { is_anything: true, .. } => Answer::Any,
                branch => Answer::Outputs(outputs(branch)),
            })
            .collect();
        match (self.open.or(self.reject), &answers[..]) {
            (None, [Answer::Outputs(outputs)]) => Expectation::Defined(outputs.clone()),
            (rule, answers) if answers.iter().all(|answer| *answer == Answer::Refusal) => {
                let rule = self.reject.or(rule).map_or(Rule::NOT_IN_OPSET, |(_, rule)| rule);
                let lenient =
                    self.branches.iter().find(|branch| branch.is_lenient && !branch.is_refused && !branch.is_anything);
                Expectation::Reject { rule, lenient: lenient.map(outputs) }
            }
            (rule, _) => {
                let rule = rule.map_or(Rule::NOT_IN_OPSET, |(_, rule)| rule);
                Expectation::unspecified(rule, answers)
            }
        }
    }
}
