//! The operators under test: their versions, and the in-house implementation that gives the expected answer of a call.
//!
//! Each operator is one file with one [`Operator`] in it and one row in [`OPERATORS`]. What every operator shares - the arity, the
//! declared attributes, the listed element types - is checked here, so an operator's own file holds only its specifics. No code or
//! result of a runtime under test takes part in any of this.

pub(crate) mod arithmetic;
mod axes;
mod blocks;
pub(crate) mod cast;
pub(crate) mod concat;
pub(crate) mod constant_of_shape;
pub(crate) mod depth_to_space;
mod draw;
pub(crate) mod expand;
pub(crate) mod flatten;
pub(crate) mod gather;
pub(crate) mod gather_elements;
pub(crate) mod gather_nd;
pub(crate) mod identity;
mod indices;
pub(crate) mod pad;
pub(crate) mod reshape;
mod rule;
pub(crate) mod shape;
pub(crate) mod size;
pub(crate) mod slice;
#[cfg(test)]
mod sonnx;
pub(crate) mod space_to_depth;
pub(crate) mod split;
pub(crate) mod squeeze;
pub(crate) mod tile;
pub(crate) mod transpose;
pub(crate) mod trilu;
pub(crate) mod unsqueeze;

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};

use arbitrary::Unstructured;

pub(crate) use draw::{
    Aim, Data, Drawing, Drawn, Given, MAX_DRAWN, boundary_axes, boundary_sizes, dims, dims_of_rank, max_drawn, rank,
};
pub use rule::{Rule, Text, Topic};
use rule::{When, always, between, since, until};

use crate::tensor::{ElementType, Tensor, product};

/// Every operator under test.
pub static OPERATORS: &[&Operator] = &[
    &shape::SHAPE,
    &flatten::FLATTEN,
    &reshape::RESHAPE,
    &size::SIZE,
    &identity::IDENTITY,
    &squeeze::SQUEEZE,
    &unsqueeze::UNSQUEEZE,
    &transpose::TRANSPOSE,
    &expand::EXPAND,
    &tile::TILE,
    &constant_of_shape::CONSTANT_OF_SHAPE,
    &concat::CONCAT,
    &split::SPLIT,
    &slice::SLICE,
    &gather::GATHER,
    &cast::CAST,
    &pad::PAD,
    &gather_elements::GATHER_ELEMENTS,
    &gather_nd::GATHER_ND,
    &depth_to_space::DEPTH_TO_SPACE,
    &space_to_depth::SPACE_TO_DEPTH,
    &trilu::TRILU,
];

/// Every operator whose calls can be judged: those under test, and the arithmetic operators.
pub fn every() -> impl Iterator<Item = &'static Operator> {
    OPERATORS.iter().chain(arithmetic::ARITHMETIC).copied()
}

/// The name of an operator.
pub type OperatorName = &'static str;

/// Used in place of an operator if several nodes together are concerned.
pub const GRAPH: OperatorName = "graph";

/// Used in place of an operator for a defect that shows with every operator, alone or as a node of a graph.
pub const ANY: OperatorName = "any";

/// The newest opset that a case may ask for.
pub const NEWEST_OPSET: u8 = 28;

/// An ONNX operator of the default domain.
pub struct Operator {
    /// The `op_type`, such as `Reshape`.
    pub name: &'static str,
    /// The oldest first.
    pub versions: &'static [Version],
    /// The rules that calls of this operator can break or be left unspecified by, besides those on the form of any node. Each is
    /// listed with the versions that have it.
    rules: &'static [When],
    /// Its edge cases, one per line in the notation of cases, each with its expectation.
    pub catalogue: &'static str,
    /// Its purpose in the words of its document, with the first version whose document has them; the newest first.
    purpose: &'static [(u8, &'static str)],
    /// The expectation for a well-formed call: see [`Operator::evaluate`].
    execute: fn(&Call) -> Expectation,
    /// Draws a call: see [`Drawing`].
    draw: fn(&mut Drawing) -> arbitrary::Result<()>,
    /// The rank of the outputs, as far as the call alone shows it, without computing them.
    output_rank: fn(&Call) -> Option<usize>,
    /// The dims of the output, as far as they follow from the attributes and the dims of the data.
    output_dims: fn(&[Attribute], &[i64]) -> Option<Vec<i64>>,
    output_type: OutputType,
}

/// The element type of the outputs of an operator.
#[derive(Clone, Copy, Debug)]
pub enum OutputType {
    /// The type of the data. The operator moves elements of the data.
    Data,
    /// int64. The operator computes with dims.
    Int64,
    /// The type that the attributes name.
    Attribute(fn(&[Attribute]) -> Option<ElementType>),
}

/// A version of an operator. It holds from one opset until the next version.
#[derive(Debug)]
pub struct Version {
    /// The opset that introduced it.
    pub since: u8,
    /// The types that the type variable T stands for: the types of the data, or of the output if there is no data.
    pub element_types: &'static [ElementType],
    pub attributes: &'static [AttributeSpec],
    pub inputs: &'static [InputSpec],
    /// Whether it has as many outputs as a node names, instead of just one.
    pub has_outputs: bool,
}

impl Version {
    /// A version with one output.
    const fn new(
        since: u8,
        element_types: &'static [ElementType],
        attributes: &'static [AttributeSpec],
        inputs: &'static [InputSpec],
    ) -> Version {
        Version { since, element_types, attributes, inputs, has_outputs: false }
    }

    /// The place of the data: the first input whose elements are moved or counted.
    pub fn data_input(&self) -> Option<usize> {
        self.inputs.iter().position(|spec| spec.role == Role::Data)
    }

    /// The input at a place. A variadic input, which is the last, also stands for all later places.
    pub fn input(&self, place: usize) -> Option<&'static InputSpec> {
        self.inputs.get(place).or_else(|| self.inputs.last().filter(|last| last.arity == Arity::Variadic))
    }

    /// The place of the input with the target shape, if it has one.
    pub fn target_input(&self) -> Option<usize> {
        self.inputs.iter().position(|spec| spec.role == Role::TargetShape)
    }

    /// The place of the first input whose values control the output.
    pub fn parameter(&self) -> Option<usize> {
        self.inputs.iter().position(|spec| spec.role != Role::Data)
    }

    /// The fewest and the most inputs that a node has.
    pub fn input_counts(&self) -> (usize, usize) {
        let least = self.inputs.iter().rposition(|spec| spec.arity != Arity::Optional).map_or(0, |place| place + 1);
        let is_variadic = self.inputs.iter().any(|spec| spec.arity == Arity::Variadic);
        (least, if is_variadic { usize::MAX } else { self.inputs.len() })
    }
}

/// An attribute that a version declares.
#[derive(Debug, PartialEq, Eq)]
pub struct AttributeSpec {
    pub name: &'static str,
    pub kind: AttributeKind,
    pub role: Role,
    pub is_required: bool,
}

impl AttributeSpec {
    /// An optional attribute.
    const fn new(name: &'static str, kind: AttributeKind, role: Role) -> AttributeSpec {
        AttributeSpec { name, kind, role, is_required: false }
    }

    const fn required(self) -> AttributeSpec {
        AttributeSpec { is_required: true, ..self }
    }
}

/// An input that a version declares.
#[derive(Debug, PartialEq, Eq)]
pub struct InputSpec {
    pub name: &'static str,
    pub types: Types,
    pub arity: Arity,
    pub role: Role,
}

/// The types that an input may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Types {
    /// The type variable T: one type for all of these inputs.
    T,
    /// The type variable Tind: int32 or int64, the same for all of these inputs.
    Index,
    /// Any type. The operator itself checks which types it accepts.
    Any,
    /// int64. Any other type breaks this rule.
    Int64(Rule),
}

/// How many inputs of a node it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    One,
    /// It may be left out by the empty name, or at the end by no name.
    Optional,
    /// At least one. It is the last input.
    Variadic,
}

impl InputSpec {
    const fn data(name: &'static str) -> InputSpec {
        InputSpec { name, types: Types::T, arity: Arity::One, role: Role::Data }
    }

    /// An int64 tensor whose values control the output.
    const fn int64(name: &'static str, role: Role) -> InputSpec {
        InputSpec { name, types: Types::Int64(Rule::PARAMETER_TYPE), arity: Arity::One, role }
    }

    /// An int32 or int64 tensor whose values control the output.
    const fn index(name: &'static str, role: Role) -> InputSpec {
        InputSpec { name, types: Types::Index, arity: Arity::One, role }
    }

    const fn optional(self) -> InputSpec {
        InputSpec { arity: Arity::Optional, ..self }
    }
}

/// The meaning of the values of an attribute or input, which determines the values of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Elements that are moved or counted, of any type that the version lists.
    Data,
    /// Counts axes of the data, from the back when negative.
    Axis,
    /// 0 or 1.
    Flag,
    /// The requested dims, some of which may be inferred or copied.
    TargetShape,
    /// Counts elements or copies. A list has one count for each axis.
    Sizes,
    /// Counts elements along an axis, from the back when negative.
    Bound,
    /// Chooses among a few alternatives.
    Choice,
    /// Declared, but has no effect.
    Ignored,
}

/// The kind of an attribute's value (`AttributeProto.AttributeType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AttributeKind {
    Int,
    Ints,
    Float,
    String,
    Tensor,
}

/// An attribute of a node. A node may carry an attribute that its operator does not declare, or carry one twice.
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
    Tensor(Tensor),
}

impl AttributeValue {
    pub fn kind(&self) -> AttributeKind {
        match self {
            AttributeValue::Int(_) => AttributeKind::Int,
            AttributeValue::Ints(_) => AttributeKind::Ints,
            AttributeValue::Float(_) => AttributeKind::Float,
            AttributeValue::String(_) => AttributeKind::String,
            AttributeValue::Tensor(_) => AttributeKind::Tensor,
        }
    }
}

/// One node as an operator sees it.
#[derive(Debug)]
pub struct Call<'a> {
    pub version: &'static Version,
    pub attributes: &'a [Attribute],
    /// `None` is an input that is left out by the empty name.
    pub inputs: &'a [Option<Tensor>],
    /// The number of outputs that the node names, at least one.
    pub outputs: usize,
    /// The most elements of an output that is built.
    pub most: i128,
}

/// What the specification demands of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// Exactly these outputs. Any other answer, or a refusal, is a bug.
    Defined(Vec<Tensor>),
    /// The call breaks `rule`. A refusal, at load or at run, is right, and an answer is a bug. The `lenient` answer is that of a
    /// later version of the operator, or of an obvious reading. It is still a bug, but a harmless one.
    Reject { rule: Rule, lenient: Option<Vec<Tensor>> },
    /// The texts are silent or contradict each other. Only an answer that is not tolerated is a bug. The first tolerated answer is
    /// the one that the texts favor.
    Unspecified { rule: Rule, tolerated: Vec<Answer> },
}

/// Something a runtime may do where the specification leaves room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Outputs(Vec<Tensor>),
    Refusal,
    /// Any outputs.
    Any,
}

impl Expectation {
    /// The rule that the call breaks, or that leaves it unspecified.
    pub fn rule(&self) -> Option<Rule> {
        match self {
            Expectation::Defined(_) => None,
            Expectation::Reject { rule, .. } | Expectation::Unspecified { rule, .. } => Some(*rule),
        }
    }

    /// Whether the only permitted difference is that a runtime cannot count sizes beyond 64 bits. How far a runtime can count may
    /// depend on its configuration, so configurations of one runtime may disagree there.
    pub fn is_resource_limit(&self) -> bool {
        matches!(self.rule(), Some(Rule::VAST_DIMS | Rule::VAST_ANSWER))
    }

    /// Whether nothing is judged because an output has too many elements, although a machine may have the memory for it. In a graph
    /// that is invalid for another reason, this holds for any call that may have any answer.
    pub fn is_beyond_judging(&self) -> bool {
        let Expectation::Unspecified { rule, tolerated } = self else { return false };
        tolerated.contains(&Answer::Any) && (*rule == Rule::VAST_ANSWER || rule.is_on_the_graph())
    }

    /// The outputs that the specification demands or favors; `None` if it demands or favors none.
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

    /// The expectation of a call in a graph that breaks `rule`. The model is not valid, so a refusal is right, whatever the call.
    /// But most runtimes do not need what the rule asks for, and no text says that they must refuse. So an answer is no bug if it
    /// is right for the same call in a valid model. An answer that is lenient there is no bug either, because an invalid model is
    /// no evidence of it. If the call itself must be refused, it must be refused here too.
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

    /// The expectation of a call that the texts leave to the runtime: any answer, or a refusal.
    fn anything(rule: Rule) -> Expectation {
        Expectation::unspecified(rule, [Answer::Any, Answer::Refusal])
    }

    /// The expectation of a call whose output is vast. If no memory holds the output, it is a refusal; otherwise nothing is judged.
    fn vast(dims: &[i64]) -> Expectation {
        match product(dims.iter().copied()) {
            Some(count) if count < i128::from(TOO_MANY) => Expectation::anything(Rule::VAST_ANSWER),
            _ => Expectation::reject(Rule::VAST_ANSWER),
        }
    }

    /// The expectation of a call that breaks `rule`, if a runtime may check the rule only after it allocates the output. It is a
    /// refusal, unless the output is vast and [`Expectation::vast`] judges nothing.
    fn reject_with_output(rule: Rule, dims: &[i64]) -> Expectation {
        match exceeds(dims, MAX_OUTPUT).then(|| Expectation::vast(dims)) {
            Some(open @ Expectation::Unspecified { .. }) => open,
            _ => Expectation::reject(rule),
        }
    }

    /// The expectation of a call whose validity no text states: a refusal, or the answers of this expectation, which is that of one
    /// reading. If this expectation is a refusal, it stays one.
    fn or_refusal(self, rule: Rule) -> Expectation {
        match self {
            Expectation::Reject { .. } => self,
            open => Expectation::unspecified(rule, [Answer::Refusal].into_iter().chain(open.into_answers())),
        }
    }

    /// Every acceptable answer of a call with this expectation, each once.
    fn into_answers(self) -> Vec<Answer> {
        match self {
            Expectation::Defined(outputs) => vec![Answer::Outputs(outputs)],
            Expectation::Reject { .. } => vec![Answer::Refusal],
            Expectation::Unspecified { tolerated, .. } => tolerated,
        }
    }

    /// An expectation that tolerates `answers`. If the only one is a refusal, it demands a refusal.
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

    /// Whether it is an arithmetic operator, which stands between the others in graphs and is not under test itself.
    pub fn is_arithmetic(&self) -> bool {
        arithmetic::ARITHMETIC.contains(&self)
    }

    /// The most inputs that a version declares. A variadic input counts as one.
    pub fn most_inputs(&self) -> usize {
        self.versions.iter().map(|version| version.inputs.len()).max().unwrap_or(0)
    }

    /// Whether its output has a type of its own, instead of the elements of its data.
    pub fn computes(&self) -> bool {
        !matches!(self.output_type, OutputType::Data)
    }

    /// Whether a node of some version of it may have several outputs.
    pub fn has_outputs(&self) -> bool {
        self.versions.iter().any(|version| version.has_outputs)
    }

    /// Whether its output is numbers about the dims of its data.
    pub fn measures(&self) -> bool {
        matches!(self.output_type, OutputType::Int64)
    }

    /// The dims of the output, as far as they follow from the attributes and the dims of the data; the call need not be valid.
    pub fn output_dims(&self, attributes: &[Attribute], dims: &[i64]) -> Option<Vec<i64>> {
        (self.output_dims)(attributes, dims)
    }

    /// The version that holds at an opset, if the operator exists there.
    pub fn version_at(&self, opset: u8) -> Option<&'static Version> {
        self.versions.iter().rev().find(|v| v.since <= opset)
    }

    /// Its purpose, in the words of the document of the version that holds at an opset.
    pub fn purpose(&self, opset: u8) -> &'static str {
        self.purpose.iter().find(|(since, _)| *since <= opset).map_or("", |(_, text)| text)
    }

    /// The rules that calls of this operator can break or be left unspecified by, besides those on the form of any node.
    pub fn own_rules(&self) -> impl Iterator<Item = Rule> + use<> {
        self.rules.iter().map(|when| when.rule)
    }

    /// The rule whose words state `rule` in the document of a version: `rule` itself, or another rule.
    pub fn words_of(&self, rule: Rule, since: u8) -> Rule {
        let own = self.rules.iter().find(|when| when.rule == rule && when.versions.contains(&since));
        let own = own.and_then(|when| when.words);
        own.filter(|(last, _)| since <= *last).map_or(rule, |(_, words)| words)
    }

    /// The rules that a call of this version can break or be left unspecified by.
    pub fn rules_of(&self, version: &'static Version) -> impl Iterator<Item = Rule> + use<> {
        let own = self.rules.iter().filter(|when| when.versions.contains(&version.since)).map(|when| when.rule);
        Rule::FORM.iter().copied().filter(|rule| rule.is_of_form(version)).chain(own)
    }

    /// Draws a call of a version. `data` is the type and dims of its data, if they are given. The call has other data if it cannot
    /// use these.
    ///
    /// # Errors
    /// None in practice: once the random bytes run out, zeros are drawn.
    pub(crate) fn draw(
        &self,
        u: &mut Unstructured,
        version: &'static Version,
        aim: Aim,
        data: Option<Data>,
    ) -> arbitrary::Result<Drawn> {
        let mut drawing = Drawing::new(u, version, aim, data)?;
        (self.draw)(&mut drawing)?;
        drawing.finish()
    }

    /// Draws a valid call of a version with some attributes given. The other attributes are drawn.
    ///
    /// # Errors
    /// None in practice: once the random bytes run out, zeros are drawn.
    pub(crate) fn draw_with(
        &self,
        u: &mut Unstructured,
        version: &'static Version,
        attributes: &[Attribute],
        data: Option<Data>,
    ) -> arbitrary::Result<Drawn> {
        let mut drawing = Drawing::new(u, version, Aim::Valid, data)?;
        drawing.give(attributes);
        (self.draw)(&mut drawing)?;
        drawing.finish()
    }

    /// Draws other inputs for a call that keeps its attributes. Its data has this type and these dims; `length` is the number of
    /// entries of its first parameter.
    ///
    /// # Errors
    /// None in practice: once the random bytes run out, zeros are drawn.
    pub(crate) fn draw_inputs(
        &self,
        u: &mut Unstructured,
        version: &'static Version,
        attributes: &[Attribute],
        data: Data,
        length: Option<usize>,
    ) -> arbitrary::Result<Vec<Option<Given>>> {
        let mut drawing = Drawing::new(u, version, Aim::Valid, Some(data))?;
        drawing.fix(attributes, length);
        (self.draw)(&mut drawing)?;
        Ok(drawing.finish()?.inputs)
    }

    /// The expectation for a node of this operator at an opset. The node names `outputs` outputs.
    pub fn evaluate(
        &self,
        opset: u8,
        attributes: &[Attribute],
        inputs: &[Option<Tensor>],
        outputs: usize,
    ) -> Expectation {
        self.evaluate_up_to(MAX_OUTPUT, opset, attributes, inputs, outputs)
    }

    /// Like [`Operator::evaluate`], but outputs of more than `most` elements are not built: such a call has the expectation of a vast
    /// one.
    pub fn evaluate_up_to(
        &self,
        most: i128,
        opset: u8,
        attributes: &[Attribute],
        inputs: &[Option<Tensor>],
        outputs: usize,
    ) -> Expectation {
        let Some(version) = self.version_at(opset) else {
            return Expectation::reject(Rule::NOT_IN_OPSET);
        };
        let call = Call { version, attributes, inputs, outputs, most };
        let expectation = match call.malformed() {
            Some(rule) => return Expectation::reject(rule),
            None => (self.execute)(&call),
        };
        // U10 applies to every operator: a runtime may refuse dims that no machine can count.
        let given = inputs.iter().flatten().any(|t| is_vast(t.dims()));
        let asked = expectation.outputs().is_some_and(|outputs| outputs.iter().any(|t| is_vast(t.dims())));
        if matches!(expectation, Expectation::Reject { .. }) || !(given || asked) {
            return expectation;
        }
        let answers = expectation.into_answers().into_iter().chain([Answer::Refusal]);
        Expectation::unspecified(Rule::VAST_DIMS, answers)
    }

    /// The element type of the outputs of a node whose data has the type `data`, as far as it is known.
    pub fn output_type(&self, attributes: &[Attribute], data: Option<ElementType>) -> Option<ElementType> {
        match self.output_type {
            OutputType::Data => data,
            OutputType::Int64 => Some(ElementType::Int64),
            OutputType::Attribute(of) => of(attributes),
        }
    }

    /// The rank of the outputs, as far as the node alone shows it.
    pub fn output_rank(&self, opset: u8, attributes: &[Attribute], inputs: &[Option<Tensor>]) -> Option<usize> {
        let version = self.version_at(opset)?;
        (self.output_rank)(&Call { version, attributes, inputs, outputs: 1, most: MAX_OUTPUT })
    }
}

/// From each of these opsets on, the last type that the value of a Constant may have, in the order of [`ElementType::ALL`]
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

/// Whether the nonzero dims have a product above 2^59. At 16 bytes an element, the elements would not fit in 2^63 bytes. So a
/// runtime that counts them, or their bytes, in 64 bits may find that it cannot.
fn is_vast(dims: &[i64]) -> bool {
    product(dims.iter().copied().filter(|&d| d != 0)).is_none_or(|n| n > 1 << 59)
}

/// The most elements of an output that is built here: 2^22.
const MAX_OUTPUT: i128 = 1 << 22;

/// More elements than an address space of 47 bits holds, even at 2 bits an element: 2^50. A system may grant a runtime the memory
/// for fewer elements, page by page, until no memory is left.
const TOO_MANY: i64 = 1 << 50;

/// Whether a tensor of these dims has more elements than `most`.
fn exceeds(dims: &[i64], most: i128) -> bool {
    product(dims.iter().copied()).is_none_or(|count| count > most)
}

/// The types that Tind stands for.
pub(crate) const INDEX_TYPES: [ElementType; 2] = [ElementType::Int32, ElementType::Int64];

/// The place of an axis in a tensor of this rank, counted from the front; `None` if it is not in [-r, r-1].
fn axis(value: i64, rank: usize) -> Option<usize> {
    let counted = i128::from(value) + if value < 0 { rank as i128 } else { 0 };
    usize::try_from(counted).ok().filter(|&index| index < rank)
}

/// The value of an INT attribute, if it is there.
fn int(attributes: &[Attribute], name: &str) -> Option<i64> {
    attributes.iter().find_map(|a| match a.value {
        AttributeValue::Int(value) if a.name == name => Some(value),
        _ => None,
    })
}

impl Call<'_> {
    /// Whether an output of these dims has more elements than are built.
    fn is_vast_output(&self, dims: &[i64]) -> bool {
        exceeds(dims, self.most)
    }

    /// The first rule on the form of a node that this call breaks: arity, attributes, element types.
    fn malformed(&self) -> Option<Rule> {
        let (least, most) = self.version.input_counts();
        if !(least..=most).contains(&self.inputs.len()) {
            return Some(Rule::INPUT_COUNT);
        }
        let specs = || (0..self.inputs.len()).filter_map(|place| self.version.input(place));
        if specs().zip(self.inputs).any(|(spec, input)| spec.arity == Arity::One && input.is_none()) {
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
        let is_there = |spec: &AttributeSpec| self.attributes.iter().any(|attribute| attribute.name == spec.name);
        if self.version.attributes.iter().any(|spec| spec.is_required && !is_there(spec)) {
            return Some(Rule::MISSING_ATTRIBUTE);
        }
        let (mut data, mut index) = (None, None);
        for (spec, input) in specs().zip(self.inputs) {
            let Some(element_type) = input.as_ref().map(Tensor::element_type) else { continue };
            match spec.types {
                Types::T if !self.version.element_types.contains(&element_type) => return Some(Rule::ELEMENT_TYPE),
                Types::T if *data.get_or_insert(element_type) != element_type => return Some(Rule::MIXED_TYPES),
                Types::Index if !INDEX_TYPES.contains(&element_type) => return Some(Rule::PARAMETER_TYPE),
                Types::Index if *index.get_or_insert(element_type) != element_type => return Some(Rule::MIXED_TYPES),
                Types::Int64(rule) if element_type != ElementType::Int64 => return Some(rule),
                _ => {}
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

    /// The value of a STRING attribute, if it is there.
    fn string(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find_map(|a| match &a.value {
            AttributeValue::String(value) if a.name == name => Some(value.as_str()),
            _ => None,
        })
    }

    fn input(&self, index: usize) -> Option<&Tensor> {
        self.inputs.get(index).and_then(Option::as_ref)
    }

    /// The first input.
    ///
    /// # Panics
    /// If the call is malformed, or the operator has no data.
    fn data(&self) -> &Tensor {
        self.input(0).expect("a well-formed call has its first input")
    }

    /// The values of an input of integers, if it is there.
    fn integers(&self, index: usize) -> Option<Vec<i64>> {
        let integers = self.input(index)?.integers()?;
        Some(integers.into_iter().filter_map(|value| i64::try_from(value).ok()).collect())
    }

    /// The opset that introduced the version of the operator.
    fn since(&self) -> u8 {
        self.version.since
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
        every()
            .find(|operator| operator.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| UnknownOperator(name.to_owned()))
    }
}

/// Reads the name of an operator under test, [`GRAPH`] or [`ANY`].
pub(crate) fn read_name<'de, D: Deserializer<'de>>(from: D) -> Result<OperatorName, D::Error> {
    let name = String::deserialize(from)?;
    if let Some(special) = [GRAPH, ANY].into_iter().find(|&special| special == name) {
        return Ok(special);
    }
    let operator: &'static Operator = name.parse().map_err(D::Error::custom)?;
    Ok(operator.name)
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no operator `{0}` here: there are {names}", names = names())]
pub struct UnknownOperator(String);

fn names() -> String {
    every().map(|operator| operator.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
