//! The operators under test: their versions, and the in-house implementation that says what a call must give.
//!
//! Each operator is one file with one [`Operator`] in it and one row in [`OPERATORS`]. What every operator shares - the
//! arity, the declared attributes, the listed element types - is checked here, so an operator's own file holds only what
//! is special about it. No code or result of a runtime under test takes part in any of this.

mod flatten;
mod reshape;
mod rule;
mod shape;
mod size;
#[cfg(test)]
mod sonnx;

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};

pub(crate) use flatten::NEGATIVE_AXIS_SINCE;
pub use rule::{Rule, Text, Topic};

use crate::tensor::{ElementType, Tensor, product};

/// Every operator under test.
pub static OPERATORS: &[&Operator] = &[&shape::SHAPE, &flatten::FLATTEN, &reshape::RESHAPE, &size::SIZE];

/// The name of an operator under test.
pub type OperatorName = &'static str;

/// In place of an operator, for what concerns several nodes together.
pub const GRAPH: OperatorName = "graph";

/// The newest opset that a case may ask for.
pub const NEWEST_OPSET: u8 = 28;

/// An ONNX operator of the default domain.
pub struct Operator {
    /// The `op_type`, such as `Reshape`.
    pub name: &'static str,
    /// Oldest first.
    pub versions: &'static [Version],
    /// The rules that only calls of this operator can break or leave open, beside those on the form of any node.
    pub rules: &'static [Rule],
    /// Its edge cases, one a line in the notation of cases, each with what is demanded of it.
    pub catalogue: &'static str,
    /// What the specification demands of a call that is well-formed: see [`Operator::evaluate`].
    execute: fn(&Call) -> Expectation,
    /// The rank of the output as far as the call alone shows it, without looking at what it computes.
    output_rank: fn(&Call) -> Option<usize>,
    /// The dims of the output, as far as they follow from the attributes and the dims of the first input.
    output_dims: fn(&[Attribute], &[i64]) -> Option<Vec<i64>>,
    /// The element type of the output, where it is computed and not moved from the first input.
    output_type: Option<ElementType>,
}

/// A version of an operator: what holds from one opset until the next version.
#[derive(Debug)]
pub struct Version {
    /// The opset that brought it.
    pub since: u8,
    /// The types of the first input, in the order of [`ElementType::ALL`].
    pub element_types: &'static [ElementType],
    pub attributes: &'static [AttributeSpec],
    pub inputs: &'static [InputSpec],
}

impl Version {
    /// The place of the input with the target shape, if it has one.
    pub fn target_input(&self) -> Option<usize> {
        self.inputs.iter().position(|spec| spec.role == Role::TargetShape)
    }
}

/// An attribute that a version declares. No operator has a required one.
#[derive(Debug, PartialEq, Eq)]
pub struct AttributeSpec {
    pub name: &'static str,
    pub kind: AttributeKind,
    pub role: Role,
}

/// An input that a version declares. No operator has an optional one.
#[derive(Debug, PartialEq, Eq)]
pub struct InputSpec {
    pub name: &'static str,
    pub role: Role,
}

/// What an attribute or input is for, which tells a generator what values are of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The tensor that is worked on, of any type that the version lists.
    Data,
    /// Counts axes of the data, from the back when negative.
    Axis,
    /// 0 or 1.
    Flag,
    /// The dims asked for; as an input, an int64 tensor of rank 1.
    TargetShape,
    /// Declared, but without effect.
    Ignored,
}

/// The kind of an attribute's value (`AttributeProto.AttributeType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AttributeKind {
    Int,
    Ints,
    Float,
    String,
}

/// An attribute of a node. A node may carry one that its operator does not have, or one twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attribute {
    pub name: String,
    pub value: AttributeValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AttributeValue {
    Int(i64),
    Ints(Vec<i64>),
    /// The bits of a 32-bit float, so that values compare with `==`.
    Float(u32),
    String(String),
}

impl AttributeValue {
    pub fn kind(&self) -> AttributeKind {
        match self {
            AttributeValue::Int(_) => AttributeKind::Int,
            AttributeValue::Ints(_) => AttributeKind::Ints,
            AttributeValue::Float(_) => AttributeKind::Float,
            AttributeValue::String(_) => AttributeKind::String,
        }
    }
}

/// One node as an operator sees it.
#[derive(Debug)]
pub struct Call<'a> {
    pub version: &'static Version,
    pub attributes: &'a [Attribute],
    /// `None` is an input given by the empty name, which leaves it out.
    pub inputs: &'a [Option<Tensor>],
}

/// What the specification demands of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// Exactly these outputs. Any other answer, or a refusal, is a bug.
    Defined(Vec<Tensor>),
    /// The call breaks `rule`: to refuse it, at load or at run, is right and to answer is a bug. The `lenient` answer is
    /// what a later version of the operator, or an obvious reading, gives: a bug still, but a harmless one.
    Reject { rule: Rule, lenient: Option<Vec<Tensor>> },
    /// The texts are silent or contradict each other. Only an answer that is not tolerated is a bug. The first is the one
    /// that the texts lean to.
    Unspecified { rule: Rule, tolerated: Vec<Answer> },
}

/// Something a runtime may do where the specification leaves room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Outputs(Vec<Tensor>),
    Refusal,
}

impl Expectation {
    /// The rule that the call breaks, or that leaves it open.
    pub fn rule(&self) -> Option<Rule> {
        match self {
            Expectation::Defined(_) => None,
            Expectation::Reject { rule, .. } | Expectation::Unspecified { rule, .. } => Some(*rule),
        }
    }

    /// The outputs that the specification demands or leans to; `None` when that is to refuse.
    pub fn outputs(&self) -> Option<&[Tensor]> {
        match self {
            Expectation::Defined(outputs) => Some(outputs),
            Expectation::Unspecified { tolerated, .. } => match tolerated.first() {
                Some(Answer::Outputs(outputs)) => Some(outputs),
                _ => None,
            },
            Expectation::Reject { .. } => None,
        }
    }

    fn reject(rule: Rule) -> Expectation {
        Expectation::Reject { rule, lenient: None }
    }

    /// The expectation of a call in a graph that breaks `rule`. The model is not valid, so to refuse it is right, whatever the
    /// call. But most runtimes have no need of what the rule asks for, and no text says that they must refuse at all, so an
    /// answer is no bug if it is that of the same call in a valid model. Nor is one that is lenient there: an invalid model is
    /// no evidence of that. What is to be refused for the call itself is to be refused here too.
    #[must_use]
    pub fn in_invalid_graph(self, rule: Rule) -> Expectation {
        match self {
            Expectation::Reject { lenient: None, .. } => self,
            Expectation::Reject { lenient: Some(outputs), .. } => {
                Expectation::unspecified(rule, [Answer::Refusal, Answer::Outputs(outputs)])
            }
            open => Expectation::unspecified(rule, open.into_answers().into_iter().chain([Answer::Refusal])),
        }
    }

    /// All that is acceptable in a call with this expectation, each once.
    fn into_answers(self) -> Vec<Answer> {
        match self {
            Expectation::Defined(outputs) => vec![Answer::Outputs(outputs)],
            Expectation::Reject { .. } => vec![Answer::Refusal],
            Expectation::Unspecified { tolerated, .. } => tolerated,
        }
    }

    /// An expectation that leaves room for `answers`, or demands a refusal where nothing else is among them.
    pub(crate) fn unspecified(rule: Rule, answers: impl IntoIterator<Item = Answer>) -> Expectation {
        let mut tolerated: Vec<Answer> = Vec::new();
        for answer in answers {
            if !tolerated.contains(&answer) {
                tolerated.push(answer);
            }
        }
        if tolerated == [Answer::Refusal] {
            Expectation::reject(rule)
        } else {
            Expectation::Unspecified { rule, tolerated }
        }
    }
}

impl Operator {
    /// The opsets at which a version holds: from its own to the one before the next version.
    pub fn opsets(&self, version: &Version) -> std::ops::RangeInclusive<u8> {
        let next = self.versions.iter().map(|v| v.since).find(|&since| since > version.since);
        version.since..=next.map_or(NEWEST_OPSET, |since| since - 1)
    }

    /// How many cells it has: pairs of a version and an element type that the version lists.
    pub fn cells(&self) -> usize {
        self.versions.iter().map(|version| version.element_types.len()).sum()
    }

    /// Whether it computes its output, rather than moving the elements of its first input.
    pub fn computes(&self) -> bool {
        self.output_type.is_some()
    }

    /// The dims of the output, as far as they follow from the attributes and the dims of the first input; the call need not be
    /// valid.
    pub fn output_dims(&self, attributes: &[Attribute], dims: &[i64]) -> Option<Vec<i64>> {
        (self.output_dims)(attributes, dims)
    }

    /// The version that holds at an opset, if the operator existed by then.
    pub fn version_at(&self, opset: u8) -> Option<&'static Version> {
        self.versions.iter().rev().find(|v| v.since <= opset)
    }

    /// What the specification demands of a node of this operator at an opset.
    pub fn evaluate(&self, opset: u8, attributes: &[Attribute], inputs: &[Option<Tensor>]) -> Expectation {
        let Some(version) = self.version_at(opset) else {
            return Expectation::reject(Rule::NOT_IN_OPSET);
        };
        let call = Call { version, attributes, inputs };
        let expectation = match call.malformed() {
            Some(rule) => return Expectation::reject(rule),
            None => (self.execute)(&call),
        };
        // The room that U10 leaves is the same for every operator: dims that no machine can count are anyone's to refuse.
        let given = inputs.iter().flatten().any(|t| is_vast(t.dims()));
        let asked = expectation.outputs().is_some_and(|outputs| outputs.iter().any(|t| is_vast(t.dims())));
        if matches!(expectation, Expectation::Reject { .. }) || !(given || asked) {
            return expectation;
        }
        let answers = expectation.into_answers().into_iter().chain([Answer::Refusal]);
        Expectation::unspecified(Rule::VAST_DIMS, answers)
    }

    /// The type and rank to declare for the output: the type always, the rank as far as the node alone shows it.
    pub fn declared_output(
        &self,
        opset: u8,
        attributes: &[Attribute],
        inputs: &[Option<Tensor>],
    ) -> (ElementType, Option<usize>) {
        let first = inputs.first().and_then(|t| t.as_ref().map(Tensor::element_type));
        let rank = self.version_at(opset).and_then(|version| (self.output_rank)(&Call { version, attributes, inputs }));
        (self.output_type.or(first).unwrap_or(ElementType::Float), rank)
    }
}

/// The last of the types, in the order of [`ElementType::ALL`], that the value of a Constant may have, from an opset on
/// (Constant, Type Constraints).
const CONSTANT_TYPES: [(u8, ElementType); 8] = [
    (1, ElementType::Double),
    (9, ElementType::Complex128),
    (13, ElementType::Bfloat16),
    (19, ElementType::Float8e5m2fnuz),
    (21, ElementType::Uint4),
    (23, ElementType::Float4e2m1),
    (24, ElementType::Float8e8m0),
    (25, ElementType::Uint2),
];

/// Whether the value of a Constant may be of a type at an opset.
pub fn may_be_constant(element_type: ElementType, opset: u8) -> bool {
    CONSTANT_TYPES.iter().any(|&(since, last)| since <= opset && element_type <= last)
}

/// Whether the dims that are not zero multiply to more than 2^59: the elements would not fit in 2^63 bytes at 16 bytes an
/// element, so a runtime that counts them, or their bytes, in 64 bits may find that it cannot.
fn is_vast(dims: &[i64]) -> bool {
    product(dims.iter().copied().filter(|&d| d != 0)).is_none_or(|n| n > 1 << 59)
}

/// The value of an INT attribute, if it is there.
fn int(attributes: &[Attribute], name: &str) -> Option<i64> {
    attributes.iter().find_map(|a| match a.value {
        AttributeValue::Int(value) if a.name == name => Some(value),
        _ => None,
    })
}

impl Call<'_> {
    /// The first rule on the form of a node that this call breaks: arity, attributes, element types.
    fn malformed(&self) -> Option<Rule> {
        let specs = self.version.inputs;
        if self.inputs.len() != specs.len() {
            return Some(Rule::INPUT_COUNT);
        }
        if self.inputs.iter().any(Option::is_none) {
            return Some(Rule::EMPTY_INPUT);
        }
        for (i, attribute) in self.attributes.iter().enumerate() {
            match self.version.attributes.iter().find(|spec| spec.name == attribute.name) {
                None => return Some(Rule::UNDECLARED_ATTRIBUTE),
                Some(spec) if spec.kind != attribute.value.kind() => return Some(Rule::ATTRIBUTE_KIND),
                Some(_) if self.attributes[..i].iter().any(|a| a.name == attribute.name) => {
                    return Some(Rule::DUPLICATE_ATTRIBUTE);
                }
                Some(_) => {}
            }
        }
        for (spec, tensor) in specs.iter().zip(self.inputs.iter().flatten()) {
            let element_type = tensor.element_type();
            if spec.role == Role::TargetShape {
                if element_type != ElementType::Int64 {
                    return Some(Rule::SHAPE_TYPE);
                }
            } else if !self.version.element_types.contains(&element_type) {
                return Some(Rule::ELEMENT_TYPE);
            }
        }
        None
    }

    /// The value of an INT attribute, if it is there.
    fn int(&self, name: &str) -> Option<i64> {
        int(self.attributes, name)
    }

    /// The value of an INTS attribute, if it is there.
    fn ints(&self, name: &str) -> Option<&[i64]> {
        self.attributes.iter().find_map(|a| match &a.value {
            AttributeValue::Ints(values) if a.name == name => Some(values.as_slice()),
            _ => None,
        })
    }

    fn input(&self, index: usize) -> Option<&Tensor> {
        self.inputs.get(index).and_then(Option::as_ref)
    }

    /// The first input.
    ///
    /// # Panics
    /// If the call is malformed.
    fn data(&self) -> &Tensor {
        self.input(0).expect("a well-formed call has its first input")
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl PartialEq for Operator {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Operator {}

impl std::hash::Hash for Operator {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl FromStr for &'static Operator {
    type Err = UnknownOperator;

    fn from_str(name: &str) -> Result<Self, UnknownOperator> {
        OPERATORS
            .iter()
            .copied()
            .find(|o| o.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| UnknownOperator(name.to_owned()))
    }
}

/// Reads the name of an operator under test, or [`GRAPH`].
pub(crate) fn read_name<'de, D: Deserializer<'de>>(from: D) -> Result<OperatorName, D::Error> {
    let name = String::deserialize(from)?;
    if name == GRAPH {
        return Ok(GRAPH);
    }
    let operator: &'static Operator = name.parse().map_err(D::Error::custom)?;
    Ok(operator.name)
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no operator `{0}` here: there are {names}", names = names())]
pub struct UnknownOperator(String);

fn names() -> String {
    OPERATORS.iter().map(|o| o.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
