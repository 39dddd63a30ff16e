//! Graphs: nodes that use the outputs of other nodes, drawn from the sources to the outputs.
//!
//! Each node is drawn like a case of one node, with an existing value as its data. Its output is computed at once, so that later
//! nodes suit it. At the end, the generator decides how each value is shown.

mod weave;

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use arbitrary::{Result, Unstructured};
use serde::{Deserialize, Serialize};

use super::feeds::MAX_RANK;
use super::{ENOUGH, Generated, Generator, Intent, contents, entropy, int, operand, wiring};
use crate::case::pattern::Pattern;
use crate::case::{Case, Declared, Declares, MAX_NODES, Node, Operand, Shown, Value, Wiring};
use crate::operator::{
    Aim, Answer, Attribute, Data, Drawn, Expectation, Given, MAX_DRAWN, Operator, Role, Rule, Version, dims,
    dims_of_rank, max_drawn, may_be_constant,
};
use crate::tensor::{ElementType, Tensor, product};

/// Bytes of randomness for one graph.
const ENTROPY: usize = 4096;

/// The number of nodes of drawn cases: `1` for cases of one node, `2..6` for graphs, and `1..6` for both, by turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(u8, u8)", into = "(u8, u8)")]
pub struct Nodes {
    least: u8,
    most: u8,
}

impl Nodes {
    /// Cases of one node.
    pub const ONE: Nodes = Nodes { least: 1, most: 1 };

    /// From `least` to `most` nodes; `None` unless 1 <= `least` <= `most` <= 8.
    pub fn new(least: u8, most: u8) -> Option<Nodes> {
        (1 <= least && least <= most && usize::from(most) <= MAX_NODES).then_some(Nodes { least, most })
    }

    /// Whether the number of nodes of a case is in this range.
    pub fn has(self, case: &Case) -> bool {
        (usize::from(self.least)..=usize::from(self.most)).contains(&case.nodes.len())
    }

    /// Whether cases of one node are in this range.
    pub fn has_one(self) -> bool {
        self.least == 1
    }

    /// The number of nodes of the graphs, if this range has graphs.
    pub fn of_graphs(self) -> Option<RangeInclusive<u8>> {
        (self.most > 1).then_some(self.least.max(2)..=self.most)
    }
}

impl Default for Nodes {
    /// Single nodes and graphs of up to 6 nodes, by turns.
    fn default() -> Nodes {
        Nodes { least: 1, most: 6 }
    }
}

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.least == self.most { write!(f, "{}", self.most) } else { write!(f, "{}..{}", self.least, self.most) }
    }
}

/// The error for a text or a pair of numbers that is not a number of nodes.
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

/// An operator, and its version at the opset.
pub(super) type Callee = (&'static Operator, &'static Version);

impl Generator {
    /// Graph `index` of the stream of a seed, with a number of nodes in this range: the same on every machine.
    pub fn graph_case(&self, seed: u64, index: u64, nodes: RangeInclusive<u8>) -> Generated {
        self.graph(&mut Unstructured::new(&entropy::<ENTROPY>(seed, index)), nodes).expect(ENOUGH)
    }

    /// A graph with a number of nodes in this range, from 1 to 8. In 78 of 100 graphs, each node has one right answer. In the
    /// others, one node breaks a rule or is left unspecified by it, or, in 4 of 100, is wild.
    ///
    /// # Errors
    /// None in practice: values that have run out are drawn as zeros.
    pub fn graph(&self, u: &mut Unstructured, nodes: RangeInclusive<u8>) -> Result<Generated> {
        let most = *nodes.end();
        let wanted = usize::from(int(u, nodes)?);
        // All values of a byte, so that the shares are exact.
        let intent = match int(u, 0..=255)? {
            0..=199 => Intent::Valid,
            200..=245 => Intent::Rule(*u.choose(&self.rules_on_nodes())?),
            _ => Intent::Wild,
        };
        let callee = self.callee_for(u, intent)?;
        let opset = int(u, callee.0.opsets(callee.1))?;
        let mut sketch = Sketch::new(&self.operators, opset);
        // If the intent is not a valid graph, the node that is not valid comes in addition to the nodes of the pattern.
        let most = usize::from(most) - usize::from(intent != Intent::Valid);
        let pattern = if u.ratio(1, 2)? { sketch.any_pattern(u, most)? } else { None };
        let of_pattern = pattern.map_or(0, Pattern::nodes);
        let wanted = wanted.max(of_pattern + usize::from(intent != Intent::Valid));
        let mut bends_at = match intent {
            Intent::Valid | Intent::Given => None,
            Intent::Rule(_) | Intent::Wild => Some(u.choose_index(wanted)?),
        };
        let mut woven = match pattern {
            Some(pattern) => Some((pattern, u.int_in_range(0..=wanted - of_pattern)?)),
            None => None,
        };
        while sketch.nodes.len() < wanted {
            // Nodes that compute parameters may have taken the room of the pattern.
            if let Some((pattern, place)) = woven
                && sketch.nodes.len() >= place
            {
                woven = None;
                if sketch.nodes.len() + pattern.nodes() <= most {
                    sketch.weave(u, pattern)?;
                }
                continue;
            }
            match bends_at {
                Some(place) if sketch.nodes.len() >= place => {
                    sketch.add_bent(u, callee, intent, wanted - sketch.nodes.len())?;
                    bends_at = None;
                }
                _ => sketch.step(u, bends_at.unwrap_or(wanted).saturating_sub(sketch.nodes.len()))?,
            }
        }
        sketch.finished(u, intent)
    }

    /// The rules on nodes that a graph of its operators can break, each once.
    pub(super) fn rules_on_nodes(&self) -> Vec<Rule> {
        let can_be_broken: Vec<Rule> = self.versions().flat_map(|(o, v)| o.rules_of(v)).collect();
        Rule::all().filter(|rule| !rule.is_on_the_graph() && can_be_broken.contains(rule)).collect()
    }

    pub(super) fn versions(&self) -> impl Iterator<Item = Callee> {
        self.operators.iter().flat_map(|&operator| operator.versions.iter().map(move |version| (operator, version)))
    }

    /// The version that decides the opset. If the intent is a rule, it is a version that can break this rule.
    fn callee_for(&self, u: &mut Unstructured, intent: Intent) -> Result<Callee> {
        if let Intent::Rule(rule) = intent {
            let can: Vec<Callee> = self.versions().filter(|(o, v)| o.rules_of(v).any(|other| other == rule)).collect();
            return Ok(*u.choose(&can)?);
        }
        let operator: &'static Operator = u.choose(&self.operators)?;
        Ok((operator, u.choose(operator.versions)?))
    }
}

/// The most drafts of a node until one has one right answer.
const DRAFTS: u32 = 4;

/// A call whose parameters are still to be found.
#[derive(Clone, Copy)]
struct Call<'a> {
    callee: Callee,
    attributes: &'a [Attribute],
    inputs: &'a [Option<Value>],
    outputs: usize,
}

/// Whether tensors have so few elements that other nodes may use them.
fn is_small(tensors: &[Tensor]) -> bool {
    tensors.iter().map(Tensor::len).fold(0, usize::saturating_add) <= usize::try_from(MAX_DRAWN).unwrap_or(0)
}

/// A graph under construction.
pub(super) struct Sketch<'a> {
    operators: &'a [&'static Operator],
    opset: u8,
    /// In any order. Some may be unused.
    sources: Vec<Operand>,
    tensors: Vec<Tensor>,
    nodes: Vec<Node>,
    /// The outputs of each node. A node without outputs here cannot be used by other nodes.
    given: Vec<Vec<Tensor>>,
    /// The node that is drawn not to be valid.
    bent: Option<usize>,
}

impl<'a> Sketch<'a> {
    fn new(operators: &'a [&'static Operator], opset: u8) -> Sketch<'a> {
        Sketch { operators, opset, sources: vec![], tensors: vec![], nodes: vec![], given: vec![], bent: None }
    }

    /// A case to continue from. New nodes use no output of a node that refuses, or of a node after it.
    pub(super) fn of(operators: &'a [&'static Operator], case: &Case) -> Sketch<'a> {
        let tensors = case.tensors();
        let mut given = case.values(&tensors);
        given.resize(case.nodes.len(), vec![]);
        let Case { opset, sources, nodes, .. } = case.clone();
        Sketch { operators, opset, sources, tensors, nodes, given, bent: None }
    }

    /// The case as drawn so far, with its sources in the order in which nodes use them. It does not yet decide how values are
    /// shown.
    pub(super) fn into_case(self) -> Case {
        let mut case =
            Case { opset: self.opset, sources: self.sources, nodes: self.nodes, passed: vec![], before: vec![] };
        case.settle_sources();
        case
    }

    fn tensor(&self, value: Value) -> Option<&Tensor> {
        match value {
            Value::Source(place) => self.tensors.get(place),
            Value::Output { node, output } => self.given.get(node)?.get(output),
        }
    }

    /// All values that a new node may use.
    fn values(&self) -> Vec<Value> {
        let sources = (0..self.sources.len()).map(Value::Source);
        let outputs_of = |node: usize| (0..self.given[node].len()).map(move |output| Value::Output { node, output });
        let outputs = (0..self.given.len()).flat_map(outputs_of);
        let is_low = |value: &Value| self.tensor(*value).is_some_and(|tensor| tensor.rank() <= MAX_RANK);
        sources.chain(outputs).filter(is_low).collect()
    }

    fn callees(&self) -> Vec<Callee> {
        self.operators.iter().filter_map(|&operator| Some((operator, operator.version_at(self.opset)?))).collect()
    }

    /// An operator whose version lists a type, or that has no data. Operators with a parameter are twice as frequent.
    fn callee(&self, u: &mut Unstructured, of: Option<ElementType>) -> Result<Option<Callee>> {
        let takes = |version: &Version| {
            version.data_input().is_none() || of.is_none_or(|of| version.element_types.contains(&of))
        };
        let mut callees: Vec<Callee> = self.callees().into_iter().filter(|(_, version)| takes(version)).collect();
        callees.extend(callees.clone().into_iter().filter(|(_, version)| version.parameter().is_some()));
        if callees.is_empty() { Ok(None) } else { u.choose(&callees).copied().map(Some) }
    }

    /// Adds a source. Few sources make the model invalid.
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
        outputs: usize,
        given: Vec<Tensor>,
    ) -> Value {
        self.nodes.push(Node { operator: callee.0, attributes, inputs, outputs, shown: Shown::Hidden });
        self.given.push(given);
        Value::Output { node: self.nodes.len() - 1, output: 0 }
    }

    fn evaluate(
        &self,
        callee: Callee,
        attributes: &[Attribute],
        inputs: &[Option<Value>],
        outputs: usize,
    ) -> Expectation {
        callee.0.evaluate(self.opset, attributes, &self.tensors_of(inputs), outputs)
    }

    fn tensors_of(&self, inputs: &[Option<Value>]) -> Vec<Option<Tensor>> {
        inputs.iter().map(|input| input.and_then(|value| self.tensor(value)).cloned()).collect()
    }

    /// Adds one node, or several if some compute parameters for it; `room` is the most.
    pub(super) fn step(&mut self, u: &mut Unstructured, room: usize) -> Result<()> {
        if !self.nodes.is_empty() && u.ratio(1, 12)? && self.repeat(u)? {
            return Ok(());
        }
        let value = self.pick(u)?;
        let of = value.and_then(|value| self.tensor(value)).map(Tensor::element_type);
        let callee = match self.callee(u, of)? {
            Some(callee) => callee,
            None => *u.choose(&self.callees())?,
        };
        let takes = |value: &Value| {
            let element_type = self.tensor(*value).map(Tensor::element_type);
            element_type.is_some_and(|element_type| callee.1.element_types.contains(&element_type))
        };
        let data = match value.filter(takes) {
            _ if callee.1.data_input().is_none() => None,
            Some(data) => Some(data),
            None => Some(self.add_data(u, callee.1)?),
        };
        self.add_valid(u, callee, data, room)
    }

    /// The data of the next node: most often the output of the last node. `None` is a new source.
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

    /// Adds a source of a type that the version lists: half of the sources have a type that every runtime supports.
    fn add_data(&mut self, u: &mut Unstructured, version: &Version) -> Result<Value> {
        let dims = dims(u)?;
        let most = max_drawn(u)?;
        let dims = if dims.len() > MAX_RANK { dims_of_rank(u, 3, most)? } else { dims };
        let is_usual = |of: &ElementType| matches!(of, ElementType::Float | ElementType::Int64);
        let usual: Vec<ElementType> = version.element_types.iter().copied().filter(is_usual).collect();
        let is_any = usual.is_empty() || u.ratio(1, 2)?;
        let element_type = if is_any { *u.choose(version.element_types)? } else { *u.choose(&usual)? };
        let operand = Operand { contents: contents(u)?, wiring: wiring(u)?, ..Operand::new(element_type, dims) };
        self.add_source(u, operand)
    }

    /// Repeats an existing node. `false` if there is none to repeat.
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

    /// A node, drawn like a case of one node for data of these dims and this type.
    fn draft(&self, u: &mut Unstructured, callee: Callee, data: Option<Value>, aim: Aim) -> Result<Drawn> {
        let of = |tensor: &Tensor| Data { element_type: tensor.element_type(), dims: tensor.dims().to_vec() };
        let data = data.and_then(|data| self.tensor(data)).map(of);
        let data = if let Some(data) = data {
            data
        } else {
            let (element_type, most) = (*u.choose(callee.1.element_types)?, max_drawn(u)?);
            Data { element_type, dims: dims_of_rank(u, 2, most)? }
        };
        callee.0.draw(u, callee.1, aim, Some(data))
    }

    /// Adds a node that uses the data, and has one right answer if one of the drafts has.
    fn add_valid(&mut self, u: &mut Unstructured, callee: Callee, data: Option<Value>, room: usize) -> Result<()> {
        let before = self.nodes.len();
        for attempt in 1..=DRAFTS {
            let Drawn { attributes, inputs: drawn, outputs } = self.draft(u, callee, data, Aim::Valid)?;
            let mut inputs = self.inputs(u, callee, data, &drawn)?;
            for (place, given) in drawn.into_iter().enumerate() {
                if let Some(given @ Given::Values(_)) = given {
                    let planned = operand(u, given)?;
                    let call = Call { callee, attributes: &attributes, inputs: &inputs, outputs };
                    let room = room.saturating_sub(self.nodes.len() - before);
                    inputs[place] = Some(self.parameter(u, &call, place, planned, room)?);
                }
            }
            let given = match self.evaluate(callee, &attributes, &inputs, outputs) {
                Expectation::Defined(outputs) => outputs,
                _ if attempt < DRAFTS => continue,
                _ => vec![],
            };
            self.add_node(callee, attributes, inputs, outputs, given);
            break;
        }
        Ok(())
    }

    /// The inputs of a node, as drawn. The data is the given value, or a new source if the draft needs other data. Further data is
    /// a value of the same type and dims, or a new source. A parameter is a new source for now, which is dropped later if no node
    /// uses it.
    fn inputs(
        &mut self,
        u: &mut Unstructured,
        callee: Callee,
        data: Option<Value>,
        drawn: &[Option<Given>],
    ) -> Result<Vec<Option<Value>>> {
        let mut inputs = Vec::with_capacity(drawn.len());
        for (place, given) in drawn.iter().enumerate() {
            inputs.push(match given {
                None => None,
                Some(given @ Given::Values(tensor)) => {
                    let planned = operand(u, given.clone())?;
                    self.tensors.push(tensor.clone());
                    self.sources.push(planned);
                    Some(Value::Source(self.sources.len() - 1))
                }
                Some(given @ Given::Data(Data { element_type, dims })) => {
                    let is_such =
                        |tensor: &Tensor| (tensor.element_type(), tensor.dims()) == (*element_type, &dims[..]);
                    let own = data.filter(|value| self.tensor(*value).is_some_and(is_such));
                    let there: Vec<Value> =
                        self.values().into_iter().filter(|&value| self.tensor(value).is_some_and(is_such)).collect();
                    match own {
                        Some(own) if Some(place) == callee.1.data_input() => Some(own),
                        _ if !there.is_empty() && Some(place) != callee.1.data_input() && u.ratio(1, 2)? => {
                            Some(*u.choose(&there)?)
                        }
                        _ => {
                            let source = operand(u, given.clone())?;
                            Some(self.add_source(u, source)?)
                        }
                    }
                }
            });
        }
        Ok(inputs)
    }

    /// A parameter of a call: an existing value that suits it, the output of a new node, or a source with the planned contents.
    fn parameter(
        &mut self,
        u: &mut Unstructured,
        call: &Call,
        place: usize,
        planned: Operand,
        room: usize,
    ) -> Result<Value> {
        let Call { callee, attributes, inputs, outputs } = *call;
        let tensors = self.tensors_of(inputs);
        let result = |parameter: Tensor| {
            let mut tensors = tensors.clone();
            tensors[place] = Some(parameter);
            let is_low = |output: &Tensor| output.rank() <= MAX_RANK;
            // An output that is not small need not be built.
            match callee.0.evaluate_up_to(MAX_DRAWN.into(), self.opset, attributes, &tensors, outputs) {
                Expectation::Defined(given) if given.iter().all(is_low) && is_small(&given) => given.into_iter().next(),
                _ => None,
            }
        };
        let suits = |parameter: &Tensor| {
            parameter.element_type() == planned.element_type && result(parameter.clone()).is_some()
        };
        let choice = int(u, 0..=15)?;
        if choice < 6 {
            let there: Vec<Value> =
                self.values().into_iter().filter(|&value| self.tensor(value).is_some_and(suits)).collect();
            if !there.is_empty() {
                return Ok(*u.choose(&there)?);
            }
        }
        if choice > 11 || room < 2 {
            return self.add_source(u, planned);
        }
        match int(u, 0..=5)? {
            0 | 1 => {
                let candidates: Vec<(Callee, Value, Tensor)> =
                    self.computed().into_iter().filter(|(_, _, tensor)| suits(tensor)).collect();
                if !candidates.is_empty() {
                    let (callee, value, given) = u.choose(&candidates)?.clone();
                    return Ok(self.add_node(callee, vec![], vec![Some(value)], 1, vec![given]));
                }
            }
            2 => {
                let dims = result(planned.tensor()).map(|output| output.dims().to_vec());
                let wanted = dims.as_deref().map(Tensor::vector).filter(suits);
                if let (Some(dims), Some(wanted)) = (dims, wanted)
                    && let Some(value) = self.measured(u, &dims, &wanted)?
                {
                    return Ok(value);
                }
            }
            3 | 4 => {
                if let Some(value) = self.computed_numbers(u, &planned)? {
                    return Ok(value);
                }
            }
            _ => {}
        }
        self.reshaped(u, planned)
    }

    /// The output of each operator that measures dims, such as Shape, for each value, without attributes.
    fn computed(&self) -> Vec<(Callee, Value, Tensor)> {
        let mut found = Vec::new();
        for callee in self.callees().into_iter().filter(|callee| callee.0.measures()) {
            for value in self.values() {
                if let Expectation::Defined(outputs) = self.evaluate(callee, &[], &[Some(value)], 1) {
                    found.extend(outputs.into_iter().next().map(|output| (callee, value, output)));
                }
            }
        }
        found
    }

    /// Adds a node that computes a target shape from a new source, whose dims are those that the target asks for.
    fn measured(&mut self, u: &mut Unstructured, dims: &[i64], target: &Tensor) -> Result<Option<Value>> {
        let gives = |(operator, version): &Callee| {
            let element_type = version.element_types.first().copied().unwrap_or(ElementType::Float);
            let tensor = Operand::new(element_type, dims.to_vec()).tensor();
            operator.evaluate(self.opset, &[], &[Some(tensor)], 1) == Expectation::Defined(vec![target.clone()])
        };
        let callees: Vec<Callee> =
            self.callees().into_iter().filter(|callee| callee.0.measures()).filter(gives).collect();
        if callees.is_empty() {
            return Ok(None);
        }
        let callee = *u.choose(&callees)?;
        let operand = Operand { wiring: wiring(u)?, ..Operand::new(*u.choose(callee.1.element_types)?, dims.to_vec()) };
        let source = self.add_source(u, operand)?;
        Ok(Some(self.add_node(callee, vec![], vec![Some(source)], 1, vec![target.clone()])))
    }

    /// Adds a source with the planned elements, and a node that reshapes it to the planned dims. If no operator can do so, adds the
    /// planned source itself.
    fn reshaped(&mut self, u: &mut Unstructured, planned: Operand) -> Result<Value> {
        let length = product(planned.dims.iter().copied()).and_then(|n| i64::try_from(n).ok()).unwrap_or(0);
        let does = |(_, version): &Callee| {
            let has_target = version.target_input().is_some()
                || version.attributes.iter().any(|spec| spec.role == Role::TargetShape);
            has_target && version.element_types.contains(&planned.element_type)
        };
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
        let is_inferred = planned.dims.len() == 1 && (length == 0 || u.ratio(1, 2)?);
        let target = if is_inferred { vec![-1] } else { planned.dims.clone() };
        let source = self.add_source(u, Operand { dims, ..planned.clone() })?;
        let mut drawn = self.draft(u, callee, Some(source), Aim::Valid)?;
        drawn.set_target(callee.1, &target);
        let mut inputs = vec![Some(source)];
        for given in drawn.inputs.into_iter().skip(1) {
            inputs.push(match given {
                Some(given) => {
                    let operand = operand(u, given)?;
                    Some(self.add_source(u, operand)?)
                }
                None => None,
            });
        }
        match self.evaluate(callee, &drawn.attributes, &inputs, 1) {
            Expectation::Defined(outputs) if outputs.iter().all(|output| output.dims() == planned.dims) => {
                Ok(self.add_node(callee, drawn.attributes, inputs, 1, outputs))
            }
            _ => self.add_source(u, planned),
        }
    }

    /// Adds the node that breaks the rule of the intent, or is left unspecified by it, or is wild, and the nodes that compute its
    /// parameters; `room` is the most. Nodes after it are drawn for its lenient or tolerated outputs, or else for copies of its data.
    fn add_bent(&mut self, u: &mut Unstructured, callee: Callee, intent: Intent, room: usize) -> Result<()> {
        let before = self.nodes.len();
        let picked = self.pick(u)?.filter(|&value| {
            self.tensor(value).is_some_and(|tensor| callee.1.element_types.contains(&tensor.element_type()))
        });
        let data = match picked {
            _ if callee.1.data_input().is_none() => None,
            Some(data) => Some(data),
            None => Some(self.add_data(u, callee.1)?),
        };
        let Drawn { attributes, inputs: drawn, outputs } = self.bent(u, callee, intent, data)?;
        let mut inputs = self.inputs(u, callee, data, &drawn)?;
        for (place, given) in drawn.into_iter().enumerate() {
            if let Some(given @ Given::Values(_)) = given {
                let planned = operand(u, given)?;
                let room = room.saturating_sub(self.nodes.len() - before);
                inputs[place] = Some(self.bent_parameter(u, planned, intent, room)?);
            }
        }
        let expectation = self.evaluate(callee, &attributes, &inputs, outputs);
        let is_vast = expectation.rule() == Some(Rule::VAST_DIMS);
        let given = match expectation {
            Expectation::Defined(outputs) => Some(outputs),
            Expectation::Reject { lenient, .. } => lenient,
            Expectation::Unspecified { tolerated, .. } => tolerated.into_iter().find_map(|answer| match answer {
                Answer::Outputs(outputs) => Some(outputs),
                Answer::Refusal | Answer::Any => None,
            }),
        };
        let otherwise = || data.and_then(|data| self.tensor(data)).map(|tensor| vec![tensor.clone(); outputs]);
        let given = given.or_else(otherwise).filter(|given| !is_vast && is_small(given)).unwrap_or_default();
        self.bent = Some(self.nodes.len());
        self.add_node(callee, attributes, inputs, outputs, given);
        Ok(())
    }

    /// The draft for `add_bent`. The data may have dims that only a 0 beside them allows, and the rule may need data without the 0.
    /// Then the node is drawn for small data.
    fn bent(&mut self, u: &mut Unstructured, callee: Callee, intent: Intent, data: Option<Value>) -> Result<Drawn> {
        let drawn = self.draft(u, callee, data, intent.aim())?;
        let is_small = |given: &Given| product(given.dims().iter().copied()).is_some_and(|n| n <= MAX_DRAWN.into());
        if drawn.inputs.iter().flatten().all(is_small) {
            return Ok(drawn);
        }
        let small = Data { element_type: *u.choose(callee.1.element_types)?, dims: vec![2, 3] };
        callee.0.draw(u, callee.1, intent.aim(), Some(small))
    }

    /// A parameter for `add_bent`: as planned, and perhaps computed. For a wild node, it may be any scalar or vector of its type.
    fn bent_parameter(&mut self, u: &mut Unstructured, planned: Operand, intent: Intent, room: usize) -> Result<Value> {
        let is_such = |tensor: &Tensor| tensor.element_type() == planned.element_type && tensor.rank() <= 1;
        let there: Vec<Value> =
            self.values().into_iter().filter(|&value| self.tensor(value).is_some_and(is_such)).collect();
        if intent == Intent::Wild && !there.is_empty() && u.ratio(1, 2)? {
            return Ok(*u.choose(&there)?);
        }
        if room > 1 && u.ratio(1, 2)? { self.reshaped(u, planned) } else { self.add_source(u, planned) }
    }

    /// The finished graph, with its tensors and its expected answer. Decides how each value is shown.
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
        Ok(Generated::new(case, intent, tensors, expectation))
    }
}

/// How a value inside the graph is shown: half of them are hidden.
pub(super) fn shown(u: &mut Unstructured) -> Result<Shown> {
    let declares = *u.choose(&[Declares::Symbolic, Declares::Static, Declares::Rank])?;
    Ok(match int(u, 0..=15)? {
        0..=7 => Shown::Hidden,
        8..=11 => Shown::Info(declares),
        _ => Shown::Output(declares),
    })
}

impl Case {
    /// Makes graph outputs of the nodes whose outputs no other node uses, such as the last node.
    pub(super) fn settle_outputs(&mut self) {
        for place in 0..self.nodes.len() {
            let is_taken = self.is_taken(place);
            let shown = &mut self.nodes[place].shown;
            if !is_taken {
                *shown = match *shown {
                    Shown::Hidden => Shown::Output(Declares::Symbolic),
                    Shown::Info(declares) | Shown::Output(declares) => Shown::Output(declares),
                };
            }
        }
    }

    /// Replaces declared numbers by symbols, because the numbers may be false.
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
