//! Patterns that become parts of a graph. Each pattern is drawn until all its nodes are valid.

use arbitrary::{Result, Unstructured};

use super::{Callee, Sketch, dims, dims_of_rank, int, is_small, max_drawn};
use crate::case::generate::feeds::MAX_RANK;
use crate::case::generate::{contents, operand, parameter_wiring, wiring};
use crate::case::pattern::{Argument, Number, PATTERNS, Pattern, Statement};
use crate::case::{Operand, Value};
use crate::operator::arithmetic::MUL;
use crate::operator::cast::CAST;
use crate::operator::concat::CONCAT;
use crate::operator::expand::EXPAND;
use crate::operator::gather::GATHER;
use crate::operator::gather_elements::GATHER_ELEMENTS;
use crate::operator::identity::IDENTITY;
use crate::operator::pad::PAD;
use crate::operator::slice::SLICE;
use crate::operator::split::SPLIT;
use crate::operator::squeeze::SQUEEZE;
use crate::operator::tile::TILE;
use crate::operator::transpose::TRANSPOSE;
use crate::operator::unsqueeze::UNSQUEEZE;
use crate::operator::{
    Attribute, AttributeKind, AttributeValue, Data, Drawn, Expectation, INDEX_TYPES, Operator, Types, Version,
};
use crate::tensor::{ElementType, Tensor};

/// The most attempts to draw a pattern with valid nodes only.
const TRIES: u8 = 16;

/// The numbers that a letter may stand for: most often a small axis or bound.
const LETTERS: [i64; 12] = [0, 0, 1, 1, -1, -1, 2, -2, 3, -3, 4, 7];

/// The values of the names and letters of a pattern that are drawn so far.
#[derive(Default)]
struct Bound {
    names: Vec<(&'static str, Value)>,
    letters: Vec<(char, i64)>,
}

impl Sketch<'_> {
    /// A pattern of at most `most` nodes whose operators may be used and exist at the opset.
    pub(super) fn any_pattern(&self, u: &mut Unstructured, most: usize) -> Result<Option<&'static Pattern>> {
        let fits = |pattern: &&Pattern| {
            pattern.nodes() <= most && pattern.operators().all(|operator| self.callee_of(operator).is_some())
        };
        let patterns: Vec<&'static Pattern> = PATTERNS.iter().filter(fits).collect();
        if patterns.is_empty() { Ok(None) } else { u.choose(&patterns).copied().map(Some) }
    }

    /// An operator and its version at the opset, if the operator may be used and exists at the opset.
    fn callee_of(&self, operator: &'static Operator) -> Option<Callee> {
        let may_be = self.operators.contains(&operator) || operator.is_arithmetic();
        operator.version_at(self.opset).filter(|_| may_be).map(|version| (operator, version))
    }

    /// Adds the nodes of a pattern. If no attempt makes all of them valid, nothing changes.
    pub(super) fn weave(&mut self, u: &mut Unstructured, pattern: &'static Pattern) -> Result<()> {
        let (sources, nodes) = (self.sources.len(), self.nodes.len());
        for attempt in 0..TRIES {
            if self.drawn_pattern(u, pattern, attempt)? {
                break;
            }
            self.forget(sources, nodes);
        }
        Ok(())
    }

    /// Draws the nodes of a pattern once; `false` if one of them is not valid.
    fn drawn_pattern(&mut self, u: &mut Unstructured, pattern: &'static Pattern, attempt: u8) -> Result<bool> {
        let mut bound = Bound::default();
        for statement in &pattern.statements {
            let Some(version) = statement.operator.version_at(self.opset) else { return Ok(false) };
            for name in names(statement) {
                if bound.value(name).is_none() {
                    let value = self.any_value(u, pattern, name, attempt)?;
                    bound.names.push((name, value));
                }
            }
            if !self.drawn_statement(u, statement, (statement.operator, version), &mut bound)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The value of a name that no statement binds: an existing value, or a new source.
    fn any_value(&mut self, u: &mut Unstructured, pattern: &'static Pattern, name: &str, attempt: u8) -> Result<Value> {
        let takers = pattern.statements.iter().filter(|statement| names(statement).any(|other| other == name));
        let versions: Vec<&Version> =
            takers.filter_map(|statement| statement.operator.version_at(self.opset)).collect();
        let is_taken = |of: ElementType| versions.iter().all(|version| version.element_types.contains(&of));
        let picked = if u.ratio(3, 4)? { self.pick(u)? } else { None };
        let picked = picked.filter(|&value| self.tensor(value).is_some_and(|tensor| is_taken(tensor.element_type())));
        if let Some(value) = picked {
            return Ok(value);
        }
        let types: Vec<ElementType> = ElementType::ALL.into_iter().filter(|&of| is_taken(of)).collect();
        let is_usual = types.is_empty() || u.ratio(1, 2)?;
        let element_type =
            if is_usual { *u.choose(&[ElementType::Float, ElementType::Int64])? } else { *u.choose(&types)? };
        // Dims at the boundaries suit few patterns.
        let rank = int(u, 1..=4)?;
        let most = max_drawn(u)?;
        let drawn = if attempt.is_multiple_of(3) { dims(u)? } else { dims_of_rank(u, rank, most)? };
        let dims = if drawn.len() > MAX_RANK { dims_of_rank(u, 3, most)? } else { drawn };
        let source = Operand { contents: contents(u)?, wiring: wiring(u)?, ..Operand::new(element_type, dims) };
        self.add_source(u, source)
    }

    /// Draws the node of a statement; `false` if the version does not allow the node, or if the node is not valid.
    fn drawn_statement(
        &mut self,
        u: &mut Unstructured,
        statement: &Statement,
        callee: Callee,
        bound: &mut Bound,
    ) -> Result<bool> {
        let version = callee.1;
        let mut attributes = Vec::new();
        let mut drawn_attributes = Vec::new();
        let mut arguments: Vec<Option<&Argument>> = statement.inputs.iter().map(Some).collect();
        for (name, argument) in &statement.named {
            let spec = version.attributes.iter().find(|spec| spec.name == *name);
            let place = version.inputs.iter().position(|spec| spec.name == *name);
            match (spec, place, argument) {
                (Some(_), _, Argument::Drawn) => drawn_attributes.push(*name),
                (Some(spec), _, argument) => match bound.attribute(u, spec.kind, argument)? {
                    Some(value) => attributes.push(Attribute { name: (*name).to_owned(), value }),
                    None => return Ok(false),
                },
                (None, Some(place), argument) => {
                    if arguments.len() <= place {
                        arguments.resize(place + 1, None);
                    }
                    arguments[place] = Some(argument);
                }
                (None, None, Argument::Drawn) => {}
                (None, None, _) => return Ok(false),
            }
        }
        let is_drawn = !drawn_attributes.is_empty() || arguments.contains(&Some(&Argument::Drawn));
        let outputs = statement.outputs.len().max(1);
        let data = version.data_input().and_then(|place| bound.value_of(*arguments.get(place)?));
        let draft = if is_drawn { Some(self.draft_with(u, callee, data, &attributes)?) } else { None };
        if let Some(draft) = &draft {
            let is_drawn = |attribute: &&Attribute| drawn_attributes.contains(&attribute.name.as_str());
            attributes.extend(draft.attributes.iter().filter(is_drawn).cloned());
            if draft.outputs != outputs {
                return Ok(false);
            }
        }
        let mut inputs = Vec::with_capacity(arguments.len());
        for (place, argument) in arguments.iter().enumerate() {
            inputs.push(match argument {
                None => None,
                Some(Argument::Name(name)) => bound.value(name),
                Some(Argument::Drawn) => {
                    match draft.as_ref().and_then(|draft| draft.inputs.get(place).cloned().flatten()) {
                        Some(given) => {
                            let source = operand(u, given)?;
                            Some(self.add_source(u, source)?)
                        }
                        None => None,
                    }
                }
                Some(Argument::Number(number)) => {
                    let number = bound.number(u, *number)?;
                    Some(self.literal(u, version, place, &arguments, bound, &Tensor::scalar(number))?)
                }
                Some(Argument::Numbers(numbers)) => {
                    let numbers = numbers.iter().map(|number| bound.number(u, *number)).collect::<Result<Vec<_>>>()?;
                    Some(self.literal(u, version, place, &arguments, bound, &Tensor::vector(&numbers))?)
                }
            });
        }
        while inputs.last() == Some(&None) {
            inputs.pop();
        }
        let Expectation::Defined(given) = self.evaluate(callee, &attributes, &inputs, outputs) else {
            return Ok(false);
        };
        if given.iter().any(|output| output.rank() > MAX_RANK) || !is_small(&given) {
            return Ok(false);
        }
        self.add_node(callee, attributes, inputs, outputs, given);
        let node = self.nodes.len() - 1;
        let names = statement.outputs.iter().enumerate();
        bound.names.extend(names.map(|(output, name)| (*name, Value::Output { node, output })));
        Ok(true)
    }

    /// Adds a node that computes the planned int64 numbers; `None` if no operator does.
    pub(super) fn computed_numbers(&mut self, u: &mut Unstructured, planned: &Operand) -> Result<Option<Value>> {
        let wanted = planned.tensor();
        let Some(numbers) = wanted.int64s() else { return Ok(None) };
        let statements = statements_for(&numbers, wanted.rank()).into_iter();
        let there: Vec<(Statement, Callee)> =
            statements.filter_map(|statement| self.callee_of(statement.operator).map(|of| (statement, of))).collect();
        if there.is_empty() {
            return Ok(None);
        }
        let (statement, callee) = u.choose(&there)?;
        let (sources, nodes) = (self.sources.len(), self.nodes.len());
        if self.drawn_statement(u, statement, *callee, &mut Bound::default())? {
            let outputs = self.outputs_of(nodes);
            if let Some(value) = outputs.into_iter().find(|value| self.tensor(*value) == Some(&wanted)) {
                return Ok(Some(value));
            }
        }
        self.forget(sources, nodes);
        Ok(None)
    }

    /// The outputs of a node.
    fn outputs_of(&self, node: usize) -> Vec<Value> {
        (0..self.nodes[node].outputs).map(|output| Value::Output { node, output }).collect()
    }

    /// Keeps only the first `sources` sources and the first `nodes` nodes.
    fn forget(&mut self, sources: usize, nodes: usize) {
        self.sources.truncate(sources);
        self.tensors.truncate(sources);
        self.nodes.truncate(nodes);
        self.given.truncate(nodes);
    }

    /// A call that is drawn for the data, with some attributes given.
    fn draft_with(
        &self,
        u: &mut Unstructured,
        callee: Callee,
        data: Option<Value>,
        attributes: &[Attribute],
    ) -> Result<Drawn> {
        let data = data.and_then(|data| self.tensor(data));
        let data = data.map(|data| Data { element_type: data.element_type(), dims: data.dims().to_vec() });
        callee.0.draw_with(u, callee.1, attributes, data)
    }

    /// A source of integers: of the type of the values beside it if the input shares their type variable, else int64. An existing
    /// source with the same contents is often used instead.
    fn literal(
        &mut self,
        u: &mut Unstructured,
        version: &Version,
        place: usize,
        arguments: &[Option<&Argument>],
        bound: &Bound,
        integers: &Tensor,
    ) -> Result<Value> {
        let beside = arguments.iter().find_map(|argument| self.tensor(bound.value_of(*argument)?));
        let element_type = beside.map(Tensor::element_type).filter(|of| {
            let is_tied = version.input(place).is_some_and(|spec| spec.types == Types::T);
            is_tied && INDEX_TYPES.contains(of)
        });
        let mut literal = Operand::of(integers, parameter_wiring(u)?);
        literal.element_type = element_type.unwrap_or(ElementType::Int64);
        let is_same = |operand: &Operand| {
            (operand.element_type, &operand.dims, &operand.contents)
                == (literal.element_type, &literal.dims, &literal.contents)
        };
        match self.sources.iter().position(is_same) {
            Some(place) if u.ratio(1, 2)? => Ok(Value::Source(place)),
            _ => self.add_source(u, literal),
        }
    }
}

/// Statements that compute the numbers from constants: as a vector, or as a scalar.
fn statements_for(numbers: &[i64], rank: usize) -> Vec<Statement> {
    let of = |numbers: &[i64]| Argument::Numbers(numbers.iter().map(|&number| Number::Is(number)).collect());
    let one = |number: i64| Argument::Number(Number::Is(number));
    let statement = |operator, inputs: Vec<Argument>, named: Vec<(&'static str, Argument)>| Statement {
        outputs: vec![],
        operator,
        inputs,
        named,
    };
    let length = i64::try_from(numbers.len()).unwrap_or(i64::MAX);
    if let ([number], 0) = (numbers, rank) {
        return vec![
            statement(&GATHER, vec![of(&[7, *number]), one(1)], vec![]),
            statement(&SQUEEZE, vec![of(numbers)], vec![("axes", of(&[0]))]),
            statement(&CAST, vec![one(*number)], vec![("to", one(INT64))]),
            statement(&IDENTITY, vec![one(*number)], vec![]),
            statement(&MUL, vec![one(*number), one(1)], vec![]),
        ];
    }
    if rank != 1 {
        return vec![];
    }
    let (first, rest) = numbers.split_at(numbers.len() / 2);
    let turned: Vec<i64> = numbers.iter().rev().copied().collect();
    let longer: Vec<i64> = numbers.iter().copied().chain([7]).collect();
    let mut statements = vec![
        statement(&IDENTITY, vec![of(numbers)], vec![]),
        statement(&TRANSPOSE, vec![of(numbers)], vec![]),
        statement(&CAST, vec![of(numbers)], vec![("to", one(INT64))]),
        statement(&CONCAT, vec![of(first), of(rest)], vec![("axis", one(0))]),
        statement(&TILE, vec![of(numbers), of(&[1])], vec![]),
        statement(&EXPAND, vec![of(numbers), of(&[length])], vec![]),
        statement(&SLICE, vec![of(&longer)], vec![("starts", of(&[0])), ("ends", of(&[length]))]),
        statement(&PAD, vec![of(first)], vec![("pads", of(&[0, length - length / 2]))]),
        statement(&MUL, vec![of(numbers), one(1)], vec![]),
    ];
    let places: Vec<i64> = (0..length).rev().collect();
    for operator in [&GATHER, &GATHER_ELEMENTS] {
        statements.push(statement(operator, vec![of(&turned), of(&places)], vec![]));
    }
    if let [number] = numbers {
        statements.push(statement(&UNSQUEEZE, vec![one(*number)], vec![("axes", of(&[0]))]));
    }
    let halves = Statement {
        outputs: vec!["a", "b"],
        ..statement(&SPLIT, vec![of(&longer)], vec![("split", of(&[length, 1]))])
    };
    statements.push(halves);
    statements
}

/// int64 as the target of a Cast.
const INT64: i64 = ElementType::Int64.data_type() as i64;

/// The names that a statement uses as inputs.
fn names(statement: &Statement) -> impl Iterator<Item = &'static str> {
    let named = statement.named.iter().map(|(_, argument)| argument);
    statement.inputs.iter().chain(named).filter_map(|argument| match argument {
        Argument::Name(name) => Some(*name),
        _ => None,
    })
}

impl Bound {
    fn value(&self, name: &str) -> Option<Value> {
        self.names.iter().find(|(other, _)| *other == name).map(|(_, value)| *value)
    }

    fn value_of(&self, argument: Option<&Argument>) -> Option<Value> {
        match argument {
            Some(Argument::Name(name)) => self.value(name),
            _ => None,
        }
    }

    fn number(&mut self, u: &mut Unstructured, number: Number) -> Result<i64> {
        let letter = match number {
            Number::Is(number) => return Ok(number),
            Number::Letter(letter) => letter,
        };
        if let Some((_, number)) = self.letters.iter().find(|(other, _)| *other == letter) {
            return Ok(*number);
        }
        let number = *u.choose(&LETTERS)?;
        self.letters.push((letter, number));
        Ok(number)
    }

    /// An argument as an attribute of a kind; `None` if it cannot be one.
    fn attribute(
        &mut self,
        u: &mut Unstructured,
        kind: AttributeKind,
        argument: &Argument,
    ) -> Result<Option<AttributeValue>> {
        Ok(match (kind, argument) {
            (AttributeKind::Int, Argument::Number(number)) => Some(AttributeValue::Int(self.number(u, *number)?)),
            (AttributeKind::Ints, Argument::Numbers(numbers)) => {
                let numbers = numbers.iter().map(|number| self.number(u, *number)).collect::<Result<Vec<_>>>()?;
                Some(AttributeValue::Ints(numbers))
            }
            _ => None,
        })
    }
}
