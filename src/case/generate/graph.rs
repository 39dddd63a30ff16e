//! Graphs: nodes that take what others give, drawn forwards from one or two sources.
//!
//! Each node is drawn like a case of one node whose data is a value that there is by then. Its output is computed on the way, so
//! that the nodes behind it suit it. At the end it is decided who sees each value.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use arbitrary::{Result, Unstructured};
use serde::{Deserialize, Serialize};

use super::feeds::MAX_RANK;
use super::values::{self, MAX_DRAWN};
use super::{Draft, ENOUGH, Generated, Generator, Intent, contents, entropy, has_target, int, rules_of, wiring};
use crate::case::{Case, Declared, Declares, MAX_NODES, Node, Operand, Shown, Value, Wiring};
use crate::operator::{Answer, Attribute, Expectation, Operator, Rule, Version, may_be_constant};
use crate::tensor::{ElementType, Tensor, product};

/// Bytes of randomness for one graph.
const ENTROPY: usize = 4096;

/// How many nodes drawn cases have: `1` is cases of one node, `2..6` graphs, and `1..6` both, by turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(u8, u8)", into = "(u8, u8)")]
pub struct Nodes {
    least: u8,
    most: u8,
}

impl Nodes {
    /// Cases of one node.
    pub const ONE: Nodes = Nodes { least: 1, most: 1 };

    /// From `least` to `most`; `None` unless these are in order, from 1 to 8.
    pub fn new(least: u8, most: u8) -> Option<Nodes> {
        (1 <= least && least <= most && usize::from(most) <= MAX_NODES).then_some(Nodes { least, most })
    }

    /// Whether a case has as many nodes as that.
    pub fn has(self, case: &Case) -> bool {
        (usize::from(self.least)..=usize::from(self.most)).contains(&case.nodes.len())
    }

    /// Whether cases of one node are among them.
    pub fn has_one(self) -> bool {
        self.least == 1
    }

    /// How many nodes the graphs have, if there are to be any.
    pub fn of_graphs(self) -> Option<RangeInclusive<u8>> {
        (self.most > 1).then_some(self.least.max(2)..=self.most)
    }
}

impl Default for Nodes {
    /// Single nodes and graphs of up to 6, by turns.
    fn default() -> Nodes {
        Nodes { least: 1, most: 6 }
    }
}

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.least == self.most { write!(f, "{}", self.most) } else { write!(f, "{}..{}", self.least, self.most) }
    }
}

/// Why a text or a pair of numbers is not a number of nodes.
const NODES: &str = "how many nodes is written N or N..M, such as 1..6, from 1 to 8";

impl FromStr for Nodes {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Nodes, &'static str> {
        let (least, most) = text.split_once("..").unwrap_or((text, text));
        let read = least.parse().ok().zip(most.trim_start_matches('=').parse().ok());
        read.and_then(|(least, most)| Nodes::new(least, most)).ok_or(NODES)
    }
}

impl TryFrom<(u8, u8)> for Nodes {
    type Error = &'static str;

    fn try_from((least, most): (u8, u8)) -> std::result::Result<Nodes, &'static str> {
        Nodes::new(least, most).ok_or(NODES)
    }
}

impl From<Nodes> for (u8, u8) {
    fn from(nodes: Nodes) -> (u8, u8) {
        (nodes.least, nodes.most)
    }
}

/// An operator in the version of the opset.
type Callee = (&'static Operator, &'static Version);

impl Generator {
    /// Graph `index` of the stream of a seed, of so many nodes: the same on every machine.
    pub fn graph_case(&self, seed: u64, index: u64, nodes: RangeInclusive<u8>) -> Generated {
        self.graph(&mut Unstructured::new(&entropy::<ENTROPY>(seed, index)), nodes).expect(ENOUGH)
    }

    /// A graph of so many nodes, from 1 to 8. In 78 of 100, each node has one right answer; in the others one node breaks a rule or
    /// is left open by it, or, in 4 of 100, is wild.
    ///
    /// # Errors
    /// None in practice: values that have run out are drawn as zeros.
    pub fn graph(&self, u: &mut Unstructured, nodes: RangeInclusive<u8>) -> Result<Generated> {
        let wanted = usize::from(int(u, nodes)?);
        // A byte in all its values, so that the shares are exact.
        let intent = match int(u, 0..=255)? {
            0..=199 => Intent::Valid,
            200..=245 => Intent::Rule(*u.choose(&self.rules_on_nodes())?),
            _ => Intent::Wild,
        };
        let callee = self.callee_for(u, intent)?;
        let opset = int(u, callee.0.opsets(callee.1))?;
        let mut sketch = Sketch::new(&self.operators, opset);
        let mut bends_at = match intent {
            Intent::Valid | Intent::Given => None,
            Intent::Rule(_) | Intent::Wild => Some(u.choose_index(wanted)?),
        };
        while sketch.nodes.len() < wanted {
            match bends_at {
                Some(place) if sketch.nodes.len() >= place => {
                    sketch.add_bent(u, callee, intent, wanted - sketch.nodes.len())?;
                    bends_at = None;
                }
                _ => sketch.step(u, bends_at.unwrap_or(wanted) - sketch.nodes.len())?,
            }
        }
        sketch.finished(u, intent)
    }

    /// The rules on nodes that a graph of its operators can break, each once.
    pub(super) fn rules_on_nodes(&self) -> Vec<Rule> {
        let can_be_broken: Vec<Rule> = self.versions().flat_map(|(o, v)| rules_of(o, v)).collect();
        Rule::all().filter(|rule| !rule.is_on_the_graph() && can_be_broken.contains(rule)).collect()
    }

    fn versions(&self) -> impl Iterator<Item = Callee> {
        self.operators.iter().flat_map(|&operator| operator.versions.iter().map(move |version| (operator, version)))
    }

    /// The version that decides the opset: for a rule, one that can break it.
    fn callee_for(&self, u: &mut Unstructured, intent: Intent) -> Result<Callee> {
        if let Intent::Rule(rule) = intent {
            let can: Vec<Callee> = self.versions().filter(|(o, v)| rules_of(o, v).any(|other| other == rule)).collect();
            return Ok(*u.choose(&can)?);
        }
        let operator: &'static Operator = u.choose(&self.operators)?;
        Ok((operator, u.choose(operator.versions)?))
    }
}

/// A graph on the way.
pub(super) struct Sketch<'a> {
    operators: &'a [&'static Operator],
    opset: u8,
    /// In any order, and perhaps more than nodes take.
    sources: Vec<Operand>,
    tensors: Vec<Tensor>,
    nodes: Vec<Node>,
    /// The output of each node; `None` is for no node to take.
    given: Vec<Option<Tensor>>,
    /// The node that is not to be valid.
    bent: Option<usize>,
}

impl<'a> Sketch<'a> {
    fn new(operators: &'a [&'static Operator], opset: u8) -> Sketch<'a> {
        Sketch { operators, opset, sources: vec![], tensors: vec![], nodes: vec![], given: vec![], bent: None }
    }

    /// A case to go on from. Nobody takes the output of a node that refuses, or of one behind it.
    pub(super) fn of(operators: &'a [&'static Operator], case: &Case) -> Sketch<'a> {
        let tensors = case.tensors();
        let mut given: Vec<Option<Tensor>> =
            case.values(&tensors).into_iter().map(|outputs| outputs.into_iter().next()).collect();
        given.resize(case.nodes.len(), None);
        let Case { opset, sources, nodes, .. } = case.clone();
        Sketch { operators, opset, sources, tensors, nodes, given, bent: None }
    }

    /// The case as far as it is drawn, its sources in the order in which nodes take them. Nothing is said of who sees its values.
    pub(super) fn into_case(self) -> Case {
        let mut case =
            Case { opset: self.opset, sources: self.sources, nodes: self.nodes, passed: vec![], before: vec![] };
        case.settle_sources();
        case
    }

    fn tensor(&self, value: Value) -> Option<&Tensor> {
        match value {
            Value::Source(place) => self.tensors.get(place),
            Value::Output { node, .. } => self.given.get(node)?.as_ref(),
        }
    }

    /// All that a node may take.
    fn values(&self) -> Vec<Value> {
        let sources = (0..self.sources.len()).map(Value::Source);
        let outputs = (0..self.given.len()).map(|node| Value::Output { node, output: 0 });
        let is_low = |value: &Value| self.tensor(*value).is_some_and(|tensor| tensor.rank() <= MAX_RANK);
        sources.chain(outputs).filter(is_low).collect()
    }

    fn callees(&self) -> Vec<Callee> {
        self.operators.iter().filter_map(|&operator| Some((operator, operator.version_at(self.opset)?))).collect()
    }

    /// An operator whose version lists a type; those that take a target shape are twice as frequent.
    fn callee(&self, u: &mut Unstructured, of: Option<ElementType>) -> Result<Option<Callee>> {
        let takes = |version: &Version| of.is_none_or(|of| version.element_types.contains(&of));
        let mut callees: Vec<Callee> = self.callees().into_iter().filter(|(_, version)| takes(version)).collect();
        callees.extend(callees.clone().into_iter().filter(|(_, version)| has_target(version)));
        if callees.is_empty() { Ok(None) } else { u.choose(&callees).copied().map(Some) }
    }

    /// A source for nodes to take. Few of them make the model invalid.
    fn add_source(&mut self, u: &mut Unstructured, mut operand: Operand) -> Result<Value> {
        operand.wiring = match operand.wiring {
            Wiring::Input(Declared::Unranked) if u.ratio(31, 32)? => Wiring::Input(Declared::Symbolic),
            Wiring::Constant(encoding) if !may_be_constant(operand.element_type, self.opset) && u.ratio(31, 32)? => {
                Wiring::Initializer(encoding)
            }
            wiring => wiring,
        };
        self.tensors.push(operand.tensor());
        self.sources.push(operand);
        Ok(Value::Source(self.sources.len() - 1))
    }

    fn add_node(
        &mut self,
        callee: Callee,
        attributes: Vec<Attribute>,
        inputs: Vec<Option<Value>>,
        given: Option<Tensor>,
    ) -> Value {
        self.nodes.push(Node { operator: callee.0, attributes, inputs, shown: Shown::Hidden });
        self.given.push(given);
        Value::Output { node: self.nodes.len() - 1, output: 0 }
    }

    fn evaluate(&self, callee: Callee, attributes: &[Attribute], inputs: &[Option<Value>]) -> Expectation {
        let inputs: Vec<Option<Tensor>> =
            inputs.iter().map(|input| input.and_then(|value| self.tensor(value)).cloned()).collect();
        callee.0.evaluate(self.opset, attributes, &inputs)
    }

    /// One node more, or two where the first computes a target shape for the second; `room` is how many there may be.
    pub(super) fn step(&mut self, u: &mut Unstructured, room: usize) -> Result<()> {
        if !self.nodes.is_empty() && u.ratio(1, 12)? && self.repeat(u)? {
            return Ok(());
        }
        let value = self.pick(u)?;
        let of = value.and_then(|value| self.tensor(value)).map(Tensor::element_type);
        let (callee, data) = match (self.callee(u, of)?, value) {
            (Some(callee), Some(data)) => (callee, data),
            (Some(callee), None) => (callee, self.add_data(u, callee.1)?),
            (None, _) => {
                let callees = self.callees();
                let callee = *u.choose(&callees)?;
                (callee, self.add_data(u, callee.1)?)
            }
        };
        self.add_valid(u, callee, data, room)
    }

    /// The data of the next node: most often what the last one gave. `None` is a new source.
    fn pick(&self, u: &mut Unstructured) -> Result<Option<Value>> {
        let values = self.values();
        let Some(&last) = values.last() else { return Ok(None) };
        let is_taken = |value: Value| self.nodes.iter().any(|node| node.inputs.contains(&Some(value)));
        let is_source = |value: &Value| matches!(value, Value::Source(_));
        let of = |among: Vec<Value>, u: &mut Unstructured| -> Result<Option<Value>> {
            if among.is_empty() { Ok(Some(last)) } else { u.choose(&among).copied().map(Some) }
        };
        match int(u, 0..=15)? {
            0..=7 => Ok(Some(last)),
            8..=10 => of(values.into_iter().filter(|&value| !is_source(&value) && !is_taken(value)).collect(), u),
            11 | 12 => of(values.into_iter().filter(is_source).collect(), u),
            13 | 14 => of(values, u),
            _ => Ok(None),
        }
    }

    /// A source of a type that a version lists: half of them of a type that every runtime has.
    fn add_data(&mut self, u: &mut Unstructured, version: &Version) -> Result<Value> {
        let dims = values::dims(u)?;
        let dims = if dims.len() > MAX_RANK { values::dims_of_rank(u, 3, MAX_DRAWN)? } else { dims };
        let usual = [ElementType::Float, ElementType::Int64];
        let element_type = *if u.ratio(1, 2)? { u.choose(&usual)? } else { u.choose(version.element_types)? };
        let operand = Operand { contents: contents(u)?, wiring: wiring(u)?, ..Operand::new(element_type, dims) };
        self.add_source(u, operand)
    }

    /// A node that there is, once more.
    fn repeat(&mut self, u: &mut Unstructured) -> Result<bool> {
        let places: Vec<usize> = (0..self.nodes.len()).filter(|place| self.bent != Some(*place)).collect();
        if places.is_empty() {
            return Ok(false);
        }
        let place = *u.choose(&places)?;
        self.nodes.push(self.nodes[place].clone());
        self.given.push(self.given[place].clone());
        Ok(true)
    }

    /// A node as it is drawn alone for data of these dims and this type.
    fn draft(&self, u: &mut Unstructured, callee: Callee, data: Value, intent: Intent) -> Result<Draft> {
        let (operator, version) = callee;
        let tensor = self.tensor(data);
        let dims = tensor.map_or_else(Vec::new, |tensor| tensor.dims().to_vec());
        let mut draft = Draft { operator, version, dims, target: None, attributes: vec![], operands: vec![] };
        draft.fill(u, intent)?;
        if let (Some(Some(operand)), Some(tensor)) = (draft.operands.first_mut(), tensor) {
            operand.element_type = tensor.element_type();
        }
        Ok(draft)
    }

    /// A node that takes data and has one right answer.
    fn add_valid(&mut self, u: &mut Unstructured, callee: Callee, data: Value, room: usize) -> Result<()> {
        let Draft { attributes, operands, .. } = self.draft(u, callee, data, Intent::Valid)?;
        let mut inputs = vec![Some(data)];
        for operand in operands.into_iter().skip(1) {
            inputs.push(match operand {
                Some(planned) => Some(self.target(u, callee, &attributes, data, planned, room)?),
                None => None,
            });
        }
        let given = match self.evaluate(callee, &attributes, &inputs) {
            Expectation::Defined(outputs) => outputs.into_iter().next(),
            _ => None,
        };
        self.add_node(callee, attributes, inputs, given);
        Ok(())
    }

    /// A target shape for data: a value that suits it, the output of a new node, or a source, as planned.
    fn target(
        &mut self,
        u: &mut Unstructured,
        callee: Callee,
        attributes: &[Attribute],
        data: Value,
        planned: Operand,
        room: usize,
    ) -> Result<Value> {
        let tensor = self.tensor(data).cloned();
        let result = |target: Tensor| match callee.0.evaluate(self.opset, attributes, &[tensor.clone(), Some(target)]) {
            Expectation::Defined(outputs) if outputs.iter().all(|output| output.rank() <= MAX_RANK) => {
                outputs.into_iter().next()
            }
            _ => None,
        };
        let suits = |target: &Tensor| result(target.clone()).is_some();
        let there: Vec<Value> =
            self.values().into_iter().filter(|&value| self.tensor(value).is_some_and(suits)).collect();
        let place = int(u, 0..=15)?;
        if place < 6 && !there.is_empty() {
            return Ok(*u.choose(&there)?);
        }
        if place > 11 || room < 2 {
            return self.add_source(u, planned);
        }
        match int(u, 0..=3)? {
            0 | 1 => {
                let ways: Vec<(Callee, Value, Tensor)> =
                    self.computed().into_iter().filter(|(_, _, tensor)| suits(tensor)).collect();
                if !ways.is_empty() {
                    let (callee, value, given) = u.choose(&ways)?.clone();
                    return Ok(self.add_node(callee, vec![], vec![Some(value)], Some(given)));
                }
            }
            2 => {
                let dims = result(planned.tensor()).map(|output| output.dims().to_vec());
                let target = dims.as_deref().map(Tensor::vector).filter(suits);
                if let (Some(dims), Some(target)) = (dims, target)
                    && let Some(value) = self.measured(u, &dims, &target)?
                {
                    return Ok(value);
                }
            }
            _ => return self.reshaped(u, planned),
        }
        self.reshaped(u, planned)
    }

    /// What operators that compute their output would give for each value, without attributes.
    fn computed(&self) -> Vec<(Callee, Value, Tensor)> {
        let mut found = Vec::new();
        for callee in self.callees().into_iter().filter(|callee| callee.0.computes()) {
            for value in self.values() {
                if let Expectation::Defined(outputs) = self.evaluate(callee, &[], &[Some(value)]) {
                    found.extend(outputs.into_iter().next().map(|output| (callee, value, output)));
                }
            }
        }
        found
    }

    /// A node that computes a target shape from the dims of a new source, which are what the target asks for.
    fn measured(&mut self, u: &mut Unstructured, dims: &[i64], target: &Tensor) -> Result<Option<Value>> {
        let gives = |(operator, version): &Callee| {
            let element_type = version.element_types.first().copied().unwrap_or(ElementType::Float);
            let tensor = Operand::new(element_type, dims.to_vec()).tensor();
            operator.evaluate(self.opset, &[], &[Some(tensor)]) == Expectation::Defined(vec![target.clone()])
        };
        let callees: Vec<Callee> = self.callees().into_iter().filter(gives).collect();
        if callees.is_empty() {
            return Ok(None);
        }
        let callee = *u.choose(&callees)?;
        let operand = Operand { wiring: wiring(u)?, ..Operand::new(*u.choose(callee.1.element_types)?, dims.to_vec()) };
        let source = self.add_source(u, operand)?;
        Ok(Some(self.add_node(callee, vec![], vec![Some(source)], Some(target.clone()))))
    }

    /// A node that brings a new source, of the same elements as planned, into the dims that are planned; or the source itself, if
    /// no operator does.
    fn reshaped(&mut self, u: &mut Unstructured, planned: Operand) -> Result<Value> {
        let length: i64 = planned.dims.iter().product();
        let does = |(_, version): &Callee| has_target(version) && version.element_types.contains(&planned.element_type);
        let callees: Vec<Callee> = self.callees().into_iter().filter(does).collect();
        if callees.is_empty() {
            return self.add_source(u, planned);
        }
        let callee = *u.choose(&callees)?;
        let mut shapes = vec![vec![1, length], vec![length, 1], vec![length], vec![1, length, 1]];
        if length == 1 {
            shapes.push(vec![]);
        }
        let dims = u.choose(&shapes)?.clone();
        let source = self.add_source(u, Operand { dims, ..planned.clone() })?;
        let mut draft = self.draft(u, callee, source, Intent::Valid)?;
        let is_inferred = planned.dims.len() == 1 && (length == 0 || u.ratio(1, 2)?);
        draft.set_target(if is_inferred { &[-1] } else { &planned.dims });
        let Draft { attributes, operands, .. } = draft;
        let mut inputs = vec![Some(source)];
        for operand in operands.into_iter().skip(1).flatten() {
            inputs.push(Some(self.add_source(u, operand)?));
        }
        match self.evaluate(callee, &attributes, &inputs) {
            Expectation::Defined(outputs) if outputs.iter().all(|output| output.dims() == planned.dims) => {
                Ok(self.add_node(callee, attributes, inputs, outputs.into_iter().next()))
            }
            _ => self.add_source(u, planned),
        }
    }

    /// The node that breaks the rule of the intent or is left open by it, or is wild. Those that take its output are drawn for what
    /// a lenient runtime gives, or for what it gives without the rule.
    fn add_bent(&mut self, u: &mut Unstructured, callee: Callee, intent: Intent, room: usize) -> Result<()> {
        let picked = self.pick(u)?.filter(|&value| {
            self.tensor(value).is_some_and(|tensor| callee.1.element_types.contains(&tensor.element_type()))
        });
        let data = match picked {
            Some(data) => data,
            None => self.add_data(u, callee.1)?,
        };
        let (draft, data) = self.bent(u, callee, intent, data)?;
        let Draft { attributes, operands, .. } = draft;
        let mut inputs = Vec::with_capacity(operands.len());
        for (place, operand) in operands.into_iter().enumerate() {
            inputs.push(match operand {
                Some(_) if place == 0 => Some(data),
                Some(operand) => Some(self.bent_target(u, operand, intent, room)?),
                None => None,
            });
        }
        let expectation = self.evaluate(callee, &attributes, &inputs);
        let is_vast = expectation.rule() == Some(Rule::VAST_DIMS);
        let outputs = match expectation {
            Expectation::Defined(outputs) => Some(outputs),
            Expectation::Reject { lenient, .. } => lenient,
            Expectation::Unspecified { tolerated, .. } => tolerated.into_iter().find_map(|answer| match answer {
                Answer::Outputs(outputs) => Some(outputs),
                Answer::Refusal => None,
            }),
        };
        let given = outputs.and_then(|outputs| outputs.into_iter().next()).or_else(|| self.tensor(data).cloned());
        self.bent = Some(self.nodes.len());
        self.add_node(callee, attributes, inputs, given.filter(|_| !is_vast));
        Ok(())
    }

    /// The draft of that node, and its data: a new source where the rule needs other dims or another type.
    fn bent(&mut self, u: &mut Unstructured, callee: Callee, intent: Intent, data: Value) -> Result<(Draft, Value)> {
        let filled = if intent == Intent::Wild { Intent::Wild } else { Intent::Valid };
        let mut data = data;
        loop {
            let mut draft = self.draft(u, callee, data, filled)?;
            let dims = draft.dims.clone();
            if let Intent::Rule(rule) = intent {
                draft.bend(u, rule)?;
            }
            let is_other = draft.dims != dims || intent == Intent::Rule(Rule::ELEMENT_TYPE);
            let Some(Some(operand)) = draft.operands.first().cloned().filter(|_| is_other) else {
                return Ok((draft, data));
            };
            if product(operand.dims.iter().copied()).is_some_and(|count| count <= MAX_DRAWN.into()) {
                data = self.add_source(u, operand)?;
                return Ok((draft, data));
            }
            // Dims that only a 0 beside them allowed.
            let small = Operand::new(operand.element_type, vec![2, 3]);
            data = self.add_source(u, small)?;
        }
    }

    /// A further input of that node: as planned, perhaps computed; a wild one may be any int64 scalar or vector.
    fn bent_target(&mut self, u: &mut Unstructured, planned: Operand, intent: Intent, room: usize) -> Result<Value> {
        let is_target = |tensor: &Tensor| tensor.element_type() == ElementType::Int64 && tensor.rank() <= 1;
        let there: Vec<Value> =
            self.values().into_iter().filter(|&value| self.tensor(value).is_some_and(is_target)).collect();
        if intent == Intent::Wild && !there.is_empty() && u.ratio(1, 2)? {
            return Ok(*u.choose(&there)?);
        }
        if room > 1 && u.ratio(1, 2)? { self.reshaped(u, planned) } else { self.add_source(u, planned) }
    }

    /// The graph with what belongs to it, and with who sees each value.
    fn finished(self, u: &mut Unstructured, intent: Intent) -> Result<Generated> {
        let mut case = self.into_case();
        for place in 0..case.nodes.len() {
            case.nodes[place].shown = shown(u)?;
        }
        if !case.sources.is_empty() && u.ratio(1, 16)? {
            case.passed.push(u.choose_index(case.sources.len())?);
        }
        case.settle_outputs();
        let tensors = case.tensors();
        let expectation = case.expectation(&tensors);
        if !matches!(expectation, Expectation::Defined(_)) {
            case.declare_no_numbers();
        }
        let intent = match (expectation.rule(), intent) {
            (Some(rule), _) if rule.is_on_the_graph() => Intent::Rule(rule),
            (None, Intent::Valid) => Intent::Valid,
            (rule, Intent::Rule(of)) if rule == Some(of) => intent,
            _ => Intent::Wild,
        };
        Ok(Generated { case, intent, tensors, expectation })
    }
}

/// Who sees a value between: in half of the cases nobody.
pub(super) fn shown(u: &mut Unstructured) -> Result<Shown> {
    let declares = *u.choose(&[Declares::Symbolic, Declares::Static, Declares::Rank])?;
    Ok(match int(u, 0..=15)? {
        0..=7 => Shown::Hidden,
        8..=11 => Shown::Info(declares),
        _ => Shown::Output(declares),
    })
}

impl Case {
    /// Makes graph outputs of the last node and of the nodes whose output no other takes.
    pub(super) fn settle_outputs(&mut self) {
        for place in 0..self.nodes.len() {
            let value = Some(Value::Output { node: place, output: 0 });
            let is_taken = self.nodes.iter().any(|node| node.inputs.contains(&value));
            let shown = &mut self.nodes[place].shown;
            if !is_taken {
                *shown = match *shown {
                    Shown::Hidden => Shown::Output(Declares::Symbolic),
                    Shown::Info(declares) | Shown::Output(declares) => Shown::Output(declares),
                };
            }
        }
    }

    /// Declares symbols in place of numbers, which are not known to be true.
    pub(super) fn declare_no_numbers(&mut self) {
        for node in &mut self.nodes {
            node.shown = match node.shown {
                Shown::Info(Declares::Static) => Shown::Info(Declares::Symbolic),
                Shown::Output(Declares::Static) => Shown::Output(Declares::Symbolic),
                shown => shown,
            };
        }
    }
}
