//! Laws: pairs of graphs that must have the same outputs in any runtime.
//!
//! A law starts from a valid call, for example of Transpose, and builds two graphs from its operands: `Transpose(Transpose(x, p),
//! p')` and `x`. The check needs no expected answer from the specification or from the in-house implementation. So a law compares a
//! runtime with itself, and tests the in-house implementation too.

mod table;

use std::fmt;
use std::rc::Rc;
use std::str::FromStr;

pub use table::LAWS;

use super::notation::MAX_NODES;
use super::{Case, Declares, Encoding, Generated, Generator, Node, Operand, Shown, Single, Value, Wiring, has_twice};
use crate::operator::{Attribute, AttributeKind, AttributeValue, Expectation, Operator};
use crate::tensor::{Tensor, element_count};

/// Two graphs, built from one call, that must have the same outputs.
pub struct Law {
    /// Such as `transpose-inverse`.
    pub id: &'static str,
    /// In the form of an equation: `Transpose(Transpose(x, p), p') = x, p'[p[i]] = i`.
    pub says: &'static str,
    /// The operators whose calls the law starts from.
    pub of: &'static [&'static Operator],
    /// Both sides, each a list of outputs; `None` if the law does not hold for the call, or cannot be written for it.
    sides: fn(&StartCall) -> Option<Sides>,
}

/// The outputs of both sides of a law.
type Sides = (Vec<Term>, Vec<Term>);

/// Both graphs of a law, built from one call.
#[derive(Clone, Debug)]
pub struct Pair {
    pub law: &'static Law,
    /// The call from which the graphs are built.
    pub call: Case,
    pub left: Generated,
    pub right: Generated,
}

/// The most elements of an output of a law. More elements show nothing new.
const MAX_OUTPUT: usize = 1 << 16;

/// The most calls that are drawn until the law holds for one.
const DRAWS: u64 = 32;

/// The most attempts to find a pair of a law.
const FEW: u64 = 16;

impl Law {
    /// Both graphs for a call; `None` if it is no valid call of an operator of the law, or if the law does not hold for it.
    pub fn pair(&'static self, call: &Case) -> Option<Pair> {
        let single = call.single().filter(|single| self.of.contains(&single.operator))?;
        let is_valid = matches!(call.expectation(&call.tensors()), Expectation::Defined(_));
        if !is_valid {
            return None;
        }
        let given = StartCall { call: &single };
        let (left, right) = (self.sides)(&given)?;
        let side = |outputs: Vec<Term>| {
            let case = given.graph(outputs)?;
            let is_small = |tensor: &Tensor| element_count(tensor.dims()).is_some_and(|count| count <= MAX_OUTPUT);
            let is_valid = case.rule_on_the_graph().is_none() && has_all(&case);
            let generated = Some(Generated::given(case)).filter(|_| is_valid)?;
            let is_vast = generated.expectation.is_resource_limit();
            let outputs = generated.expectation.outputs().unwrap_or_default();
            (!is_vast && outputs.iter().all(is_small)).then_some(generated)
        };
        let (left, right) = (side(left)?, side(right)?);
        (left.case != right.case).then(|| Pair { law: self, call: call.clone(), left, right })
    }

    /// Whether both graphs can have nodes of these operators only, as far as a few draws show.
    pub fn is_within(&'static self, operators: &[&'static Operator]) -> bool {
        (0..FEW).any(|index| self.draw(operators, 0, index).is_some())
    }

    /// Both graphs for call `index` of a seed, with nodes of these operators only; `None` if the law holds for no call that is
    /// drawn.
    pub fn draw(&'static self, operators: &[&'static Operator], seed: u64, index: u64) -> Option<Pair> {
        let of: Vec<&'static Operator> =
            self.of.iter().copied().filter(|operator| operators.contains(operator)).collect();
        if of.is_empty() {
            return None;
        }
        let generator = Generator::new(of);
        let is_within = |pair: &Pair| {
            let mut nodes = pair.left.case.nodes.iter().chain(&pair.right.case.nodes);
            nodes.all(|node| operators.contains(&node.operator))
        };
        let draws = index * DRAWS..(index + 1) * DRAWS;
        draws.filter_map(|draw| self.pair(&generator.case(seed, draw).case)).find(is_within)
    }
}

/// Whether the opset has the operator of each node, and that operator accepts the type of its data.
fn has_all(case: &Case) -> bool {
    let tensors = case.tensors();
    let values = case.values(&tensors);
    case.nodes.iter().enumerate().all(|(place, node)| {
        let Some(version) = case.version(place) else { return false };
        let data = version.data_input().and_then(|input| node.inputs.get(input).copied().flatten());
        let data = data.and_then(|value| value.tensor(&tensors, &values)).map(Tensor::element_type);
        let made = || node.operator.output_type(&node.attributes, None).filter(|_| version.data_input().is_none());
        data.or_else(made).is_none_or(|element_type| version.element_types.contains(&element_type))
    })
}

impl fmt::Debug for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

impl PartialEq for Law {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// No law has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no law is called `{0}`; `crosscheck laws --list` names them")]
pub struct UnknownLaw(String);

impl FromStr for &'static Law {
    type Err = UnknownLaw;

    fn from_str(id: &str) -> Result<Self, UnknownLaw> {
        LAWS.iter().find(|law| law.id == id).ok_or_else(|| UnknownLaw(id.to_owned()))
    }
}

/// A value of a graph under construction.
#[derive(Clone, Debug, PartialEq)]
enum Term {
    Source(Operand),
    /// An int64 tensor: its dims and its elements.
    Integers(Vec<i64>, Vec<i64>),
    /// An output of a node, by its place.
    Output(Rc<Step>, usize),
}

/// A node of a graph under construction.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    operator: &'static Operator,
    /// The inputs by position, before the inputs by name.
    inputs: Vec<Term>,
    /// Each an attribute or an input, depending on the version.
    named: Vec<(String, Parameter)>,
    outputs: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Parameter {
    Attribute(AttributeValue),
    Input(Term),
}

impl From<i64> for Parameter {
    fn from(number: i64) -> Parameter {
        Parameter::Attribute(AttributeValue::Int(number))
    }
}

impl From<Vec<i64>> for Parameter {
    fn from(numbers: Vec<i64>) -> Parameter {
        Parameter::Attribute(AttributeValue::Ints(numbers))
    }
}

impl From<&str> for Parameter {
    fn from(text: &str) -> Parameter {
        Parameter::Attribute(AttributeValue::String(text.to_owned()))
    }
}

impl From<Term> for Parameter {
    fn from(term: Term) -> Parameter {
        Parameter::Input(term)
    }
}

/// The valid call that a law starts from.
struct StartCall<'a> {
    call: &'a Single,
}

impl StartCall<'_> {
    /// The data.
    fn x(&self) -> Option<Term> {
        self.call.data().cloned().map(Term::Source)
    }

    /// The dims of the data.
    fn dims(&self) -> Option<&[i64]> {
        Some(&self.call.data()?.dims)
    }

    fn rank(&self) -> Option<usize> {
        Some(self.dims()?.len())
    }

    fn attribute(&self, name: &str) -> Option<&AttributeValue> {
        self.call.attribute(name)
    }

    fn operand(&self, name: &str) -> Option<&Operand> {
        self.call.operand(name)
    }

    /// See [`Single::numbers_of`].
    fn numbers(&self, name: &str) -> Option<Vec<i64>> {
        self.call.numbers_of(name)
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.numbers(name)?.first().copied()
    }

    fn text(&self, name: &str) -> Option<&str> {
        match self.attribute(name)? {
            AttributeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// The call itself, without its outputs.
    fn step(&self) -> Step {
        let version = self.call.version();
        let mut inputs = Vec::new();
        let mut named = Vec::new();
        for (place, operand) in self.call.operands.iter().enumerate() {
            let Some(term) = operand.clone().map(Term::Source) else { continue };
            match version.and_then(|version| version.inputs.get(place)) {
                Some(spec) if place > 0 => named.push((spec.name.to_owned(), Parameter::Input(term))),
                _ => inputs.push(term),
            }
        }
        let attributes = self.call.attributes.iter().cloned();
        named.extend(attributes.map(|attribute| (attribute.name, Parameter::Attribute(attribute.value))));
        Step { operator: self.call.operator, inputs, named, outputs: self.call.outputs }
    }

    /// The first output of the call itself.
    fn y(&self) -> Term {
        Term::Output(Rc::new(self.step()), 0)
    }

    /// All outputs of the call itself.
    fn ys(&self) -> Vec<Term> {
        let step = Rc::new(self.step());
        (0..self.call.outputs).map(|output| Term::Output(Rc::clone(&step), output)).collect()
    }

    /// The wiring of integers in a graph: that of the parameter of the call, or else that of its data.
    fn wiring(&self) -> Wiring {
        let parameter = self.call.version().and_then(|version| self.call.operands.get(version.parameter()?)?.as_ref());
        parameter.or(self.call.data()).map_or(Wiring::Initializer(Encoding::Raw), |operand| operand.wiring)
    }

    /// The case of a graph with these outputs; `None` if the opset cannot express it, if it is too large, or if an output occurs
    /// twice.
    fn graph(&self, outputs: Vec<Term>) -> Option<Case> {
        let case = Case { opset: self.call.opset, sources: vec![], nodes: vec![], passed: vec![], before: vec![] };
        let mut graph = Graph { case, made: vec![], wiring: self.wiring() };
        if has_twice(&outputs) {
            return None;
        }
        for output in outputs {
            // The outputs of a node are graph outputs only all together. One output of several, or a source, goes through an
            // Identity.
            let is_whole = matches!(&output, Term::Output(step, _) if step.outputs == 1);
            let output = if is_whole { output } else { table::identity(output) };
            let Value::Output { node, .. } = graph.value(&output)? else { return None };
            graph.case.nodes[node].shown = Shown::Output(Declares::Symbolic);
        }
        (graph.case.nodes.len() <= MAX_NODES).then(|| graph.case.tidied())
    }
}

/// A case under construction. Equal terms are one value.
struct Graph {
    case: Case,
    made: Vec<(Term, Value)>,
    wiring: Wiring,
}

impl Graph {
    fn value(&mut self, term: &Term) -> Option<Value> {
        if let Some((_, value)) = self.made.iter().find(|(made, _)| made == term) {
            return Some(*value);
        }
        let value = match term {
            Term::Source(operand) => self.source(operand.clone()),
            Term::Integers(dims, numbers) => {
                self.source(Operand { dims: dims.clone(), wiring: self.wiring, ..Operand::vector(numbers) })
            }
            Term::Output(step, output) => {
                let same = self.made.iter().find_map(|(made, value)| match (made, value) {
                    (Term::Output(other, _), Value::Output { node, .. }) if other == step => Some(*node),
                    _ => None,
                });
                let node = match same {
                    Some(node) => node,
                    None => self.node(step)?,
                };
                Value::Output { node, output: *output }
            }
        };
        self.made.push((term.clone(), value));
        Some(value)
    }

    fn source(&mut self, operand: Operand) -> Value {
        self.case.sources.push(operand);
        Value::Source(self.case.sources.len() - 1)
    }

    /// Adds the node of a step, after its inputs.
    fn node(&mut self, step: &Step) -> Option<usize> {
        let version = step.operator.version_at(self.case.opset)?;
        let inputs = step.inputs.iter().map(|input| self.value(input).map(Some));
        let mut inputs = inputs.collect::<Option<Vec<Option<Value>>>>()?;
        let mut attributes = Vec::new();
        for (name, parameter) in &step.named {
            let spec = version.attributes.iter().find(|spec| spec.name == name);
            let place = version.inputs.iter().position(|spec| spec.name == name);
            match (spec, place, parameter) {
                (Some(spec), _, Parameter::Attribute(value)) => {
                    let value = match (spec.kind, value) {
                        (AttributeKind::Ints, AttributeValue::Int(number)) => AttributeValue::Ints(vec![*number]),
                        _ => value.clone(),
                    };
                    attributes.push(Attribute { name: name.clone(), value });
                }
                (None, Some(place), parameter) => {
                    let term = match parameter {
                        Parameter::Input(term) => term.clone(),
                        Parameter::Attribute(AttributeValue::Int(number)) => Term::Integers(vec![], vec![*number]),
                        Parameter::Attribute(AttributeValue::Ints(numbers)) => table::vector(numbers.clone()),
                        Parameter::Attribute(_) => return None,
                    };
                    if inputs.len() <= place {
                        inputs.resize(place + 1, None);
                    }
                    inputs[place] = Some(self.value(&term)?);
                }
                _ => return None,
            }
        }
        let Step { operator, outputs, .. } = *step;
        self.case.nodes.push(Node { operator, attributes, inputs, outputs, shown: Shown::Hidden });
        Some(self.case.nodes.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::OPERATORS;

    /// Whether both graphs have the same outputs in the in-house implementation.
    fn holds(pair: &Pair) -> bool {
        match (&pair.left.expectation, &pair.right.expectation) {
            (Expectation::Defined(left), Expectation::Defined(right)) => left == right,
            _ => false,
        }
    }

    /// Draws pairs of each law and checks that the law holds. At least half of the draws must give a pair.
    fn assert_each_law_holds(seed: u64, draws: u64) {
        let mut broken = Vec::new();
        for law in LAWS {
            let mut count = 0;
            for pair in (0..draws).filter_map(|index| law.draw(OPERATORS, seed, index)) {
                count += 1;
                if !holds(&pair) {
                    let sides = [&pair.left, &pair.right].map(|side| (side.case.to_string(), side.expectation.rule()));
                    broken.push((law.id, pair.call.to_string(), sides));
                }
            }
            assert!(count * 2 > draws, "{law:?} is drawn {count} times of {draws}");
        }
        assert!(broken.is_empty(), "{broken:#?}");
    }

    #[test]
    fn each_law_is_drawn_and_holds_for_the_in_house_implementation() {
        assert_each_law_holds(1, 400);
    }

    mod slow {
        #[test]
        #[ignore = "slow: 100,000 pairs of graphs"]
        fn no_law_is_broken_in_many_pairs() {
            super::assert_each_law_holds(2, 2000);
        }
    }
}
