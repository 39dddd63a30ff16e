//! The graph of a case: what its nodes take and give, and what the specification demands of it.

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
    /// How many outputs it names, at least one.
    pub outputs: usize,
    /// Who sees them: all of them are shown alike.
    pub shown: Shown,
}

impl Node {
    /// Whether an input is what another node gives.
    pub fn is_computed(&self, input: usize) -> bool {
        matches!(self.inputs.get(input), Some(Some(Value::Output { .. })))
    }

    /// The place of the data, if the operator has data at an opset; one that it does not have yet has its data first.
    pub fn data_input(&self, opset: u8) -> Option<usize> {
        self.operator.version_at(opset).map_or(Some(0), Version::data_input)
    }
}

/// Where an input of a node comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// A source of the case, by its place.
    Source(usize),
    /// An output of a node before, both by their places.
    Output { node: usize, output: usize },
}

/// Who sees the outputs of a node, beside the nodes that take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Shown {
    /// Nobody, and nothing is declared of it.
    Hidden,
    /// Nobody, but the graph has a `value_info` of it.
    Info(Declares),
    /// It is a graph output.
    Output(Declares),
}

/// What is declared of the dims of a value that a node gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Declares {
    /// Each is a symbol of its own.
    Symbolic,
    /// They are the numbers that they are.
    Static,
    /// How many there are.
    Rank,
}

/// That a node takes an output of another as an input, by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub input: usize,
}

/// One way in which the nodes of a case may go.
#[derive(Clone, PartialEq)]
struct Branch {
    /// What each node gave, up to the one that gave nothing.
    values: Vec<Vec<Tensor>>,
    /// Whether a node refused.
    is_refused: bool,
    /// Whether a node should have refused, and gave a lenient answer.
    is_lenient: bool,
    /// Whether a node may have given anything, so that nothing is known of what follows.
    is_anything: bool,
}

/// All ways in which the nodes of a case may go, the one that the texts lean to first.
struct Fold {
    branches: Vec<Branch>,
    /// The first node that leaves room, and the first that must be refused, each with its rule.
    open: Option<(usize, Rule)>,
    reject: Option<(usize, Rule)>,
}

impl Case {
    /// The tensors of the sources, in order. They are what both the expectation and the model are made of.
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

    /// The operator that it is about, or [`GRAPH`] if it has several nodes.
    pub fn subject(&self) -> OperatorName {
        match &self.nodes[..] {
            [node] => node.operator.name,
            _ => GRAPH,
        }
    }

    /// Every edge, by the node that takes.
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

    /// The version of the operator of a node that holds at the opset, if the operator existed by then.
    pub fn version(&self, node: usize) -> Option<&'static Version> {
        self.nodes[node].operator.version_at(self.opset)
    }

    /// What the specification demands of the case, whose sources are `tensors`.
    pub fn expectation(&self, tensors: &[Tensor]) -> Expectation {
        let of_nodes = match &self.nodes[..] {
            // Nearly all cases are such; the fold gives the same.
            [node] if self.passed.is_empty() => self.evaluate(node, tensors, &[]),
            _ => self.fold(tensors).into_expectation(self, tensors),
        };
        match self.rule_on_the_graph() {
            Some(rule) => of_nodes.in_invalid_graph(rule),
            None => of_nodes,
        }
    }

    /// What the specification demands of a node, if the nodes before it gave these values.
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

    /// What each node gives, as far as the texts lean to an answer.
    pub fn values(&self, tensors: &[Tensor]) -> Vec<Vec<Tensor>> {
        let branches = self.fold(tensors).branches;
        let sound = branches.iter().find(|branch| !branch.is_refused && !branch.is_lenient && !branch.is_anything);
        sound.or(branches.first()).map(|branch| branch.values.clone()).unwrap_or_default()
    }

    /// The node that breaks a rule or that the rule leaves open, by its place, if it is a rule of the expectation.
    pub fn node_of(&self, rule: Rule) -> Option<usize> {
        let Fold { open, reject, .. } = self.fold(&self.tensors());
        reject.into_iter().chain(open).find(|(_, own)| *own == rule).map(|(node, _)| node)
    }

    /// Whether the first node that must be refused gives no graph output, so that a runtime may do without it.
    pub fn is_refused_unseen(&self) -> bool {
        if self.nodes.len() == 1 {
            return false;
        }
        let reject = self.fold(&self.tensors()).reject;
        reject.is_some_and(|(node, _)| !matches!(self.nodes[node].shown, Shown::Output(_)))
    }

    /// The rule that the model breaks by the way in which a source reaches its node, whatever the nodes.
    pub fn rule_on_the_graph(&self) -> Option<Rule> {
        self.sources.iter().find_map(|operand| match operand.wiring {
            Wiring::Input(Declared::Unranked) => Some(Rule::UNRANKED),
            Wiring::Constant(_) if !may_be_constant(operand.element_type, self.opset) => Some(Rule::CONSTANT_TYPE),
            _ => None,
        })
    }

    /// The places of the nodes that take a value, once for each input.
    pub fn takers(&self, value: Value) -> impl Iterator<Item = usize> {
        let times = move |node: &Node| node.inputs.iter().filter(|input| **input == Some(value)).count();
        self.nodes.iter().enumerate().flat_map(move |(place, node)| std::iter::repeat_n(place, times(node)))
    }

    /// The places of the nodes that are the same call of the same operator as one of them, that one included.
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

    /// The sources that are fed when the model is run, by their places.
    pub fn fed(&self) -> impl Iterator<Item = usize> {
        let is_fed = |operand: &Operand| matches!(operand.wiring, Wiring::Input(_) | Wiring::Default(Fed::Operand));
        self.sources.iter().enumerate().filter(move |(_, operand)| is_fed(operand)).map(|(place, _)| place)
    }

    /// Brings the sources into the order in which nodes take them, and drops those that none takes; also in the runs before.
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

    /// Several cases in one model, each an independent part of it, whose nodes all give outputs. `None` if their opsets differ,
    /// or if they are more than a case can have.
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

    /// The last of several cases of the same graph, after the others in one session. `None` if they are too many.
    pub fn in_turn(cases: &[Case]) -> Option<Case> {
        let (last, before) = cases.split_last()?;
        let before = before.iter().map(|case| case.sources.clone()).collect();
        (cases.len() <= MAX_RUNS).then(|| Case { before, ..last.clone() }.tidied())
    }

    /// Whether the values of an input of a node decide about its output.
    pub fn is_parameter(&self, node: usize, input: usize) -> bool {
        let spec = self.version(node).and_then(|version| version.input(input));
        spec.is_some_and(|spec| spec.role != Role::Data)
    }

    /// What a node gives.
    pub fn outputs_of(&self, node: usize) -> impl Iterator<Item = Value> + use<> {
        (0..self.nodes[node].outputs).map(move |output| Value::Output { node, output })
    }

    /// Whether another node takes something that a node gives.
    pub fn is_taken(&self, node: usize) -> bool {
        let is_of = |value: &Value| matches!(value, Value::Output { node: giver, .. } if *giver == node);
        self.nodes.iter().flat_map(|other| other.inputs.iter().flatten()).any(is_of)
    }

    /// The graph outputs: those of nodes, in order, and then the sources that are passed on.
    pub fn outputs(&self) -> impl Iterator<Item = Value> {
        let is_output = |place: &usize| matches!(self.nodes[*place].shown, Shown::Output(_));
        let of_nodes = (0..self.nodes.len()).filter(is_output).flat_map(|node| self.outputs_of(node));
        of_nodes.chain(self.passed.iter().map(|&place| Value::Source(place)))
    }
}

/// What is known of an output of a node, whatever the node computes.
#[derive(Clone, Debug)]
pub struct Outlet {
    pub element_type: ElementType,
    /// `None` if not even the rank is known.
    rank: Option<usize>,
    /// The dims that it is to have; `None` if it must be refused.
    dims: Option<Vec<i64>>,
}

impl Outlet {
    /// The dims to declare; a dim that is not known is `None`, and so is all of it if the rank is not known.
    pub fn dims(&self, declares: Declares) -> Option<Vec<Option<i64>>> {
        match (declares, &self.dims) {
            (Declares::Static, Some(dims)) => Some(dims.iter().map(|&dim| Some(dim)).collect()),
            _ => self.rank.map(|rank| vec![None; rank]),
        }
    }
}

impl Case {
    /// What is known of the outputs of each node.
    pub fn outlets(&self, tensors: &[Tensor]) -> Vec<Vec<Outlet>> {
        let is_alone = self.nodes.len() == 1 && self.nodes[0].shown != Shown::Output(Declares::Static);
        let values = if is_alone { vec![] } else { self.values(tensors) };
        let mut outlets: Vec<Vec<Outlet>> = Vec::with_capacity(self.nodes.len());
        for (place, node) in self.nodes.iter().enumerate() {
            let inputs: Vec<Option<Tensor>> = node
                .inputs
                .iter()
                .map(|input| input.and_then(|value| value.tensor(tensors, &values).cloned()))
                .collect();
            // The type of data that is not there, since a node before has no answer, is known all the same.
            let data = node.data_input(self.opset).and_then(|place| node.inputs.get(place).copied().flatten());
            let data = data.and_then(|value| match (value.tensor(tensors, &values), value) {
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

    /// What the initializer of a source holds that is fed: a tensor of the same type and dims, so that a runtime which takes it
    /// for what is fed gives another answer, as far as there is such a tensor.
    pub fn overridden(&self, source: usize, tensors: &[Tensor]) -> Tensor {
        let taker = self.single().and_then(|single| {
            let place = self.nodes[0].inputs.iter().position(|input| *input == Some(Value::Source(source)))?;
            single.overridden(place)
        });
        taker.unwrap_or_else(|| complement(&tensors[source]))
    }
}

impl Value {
    /// The tensor that it is, if the nodes gave these values.
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
