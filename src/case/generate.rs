//! Generation by intent: first what a case should exercise is chosen, then values that do so.
//!
//! A case is drawn as a valid one, and then, if that is the intent, bent until it breaks exactly one rule. What came out
//! is held against the in-house implementation, so a case always carries what the specification really says of it.

mod feeds;
mod graph;
mod mutate;
mod mutate_graph;
mod values;

use std::ops::{Range, RangeInclusive};

use arbitrary::{Arbitrary, Unstructured};
pub use graph::Nodes;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{Case, Contents, Declared, Operand, Single, Wiring};
use crate::operator::{
    Attribute, AttributeKind, AttributeSpec, AttributeValue, Expectation, NEGATIVE_AXIS_SINCE, OPERATORS, Operator,
    Role, Rule, Version, may_be_constant,
};
use crate::tensor::{ElementType, Tensor};

/// What a case is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Intent {
    /// Exactly one right answer.
    Valid,
    /// Breaks this rule and no other, or is left open by it.
    Rule(Rule),
    /// Boundary values without a plan.
    Wild,
    /// Not drawn: listed or enumerated.
    Given,
}

/// A case with what belongs to it.
#[derive(Clone, Debug)]
pub struct Generated {
    pub case: Case,
    pub intent: Intent,
    /// The tensors of the sources.
    pub tensors: Vec<Tensor>,
    /// What the specification demands.
    pub expectation: Expectation,
}

/// Draws cases of some operators.
#[derive(Clone, Debug)]
pub struct Generator {
    operators: Vec<&'static Operator>,
}

/// Bytes of randomness for one case; what a case asks for beyond them is drawn as if every further byte were 0.
const ENTROPY: usize = 768;

/// Values that have run out are drawn as zeros.
const ENOUGH: &str = "drawing never needs more than it is given";

/// The randomness of case `index` of a seed.
fn entropy<const BYTES: usize>(seed: u64, index: u64) -> [u8; BYTES] {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(index);
    let mut entropy = [0; BYTES];
    rng.fill_bytes(&mut entropy);
    entropy
}

impl Default for Generator {
    fn default() -> Self {
        Generator { operators: OPERATORS.to_vec() }
    }
}

impl Generator {
    /// A generator of cases of these operators.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(operators: Vec<&'static Operator>) -> Generator {
        assert!(!operators.is_empty(), "a generator needs an operator");
        Generator { operators }
    }

    /// Whether each node of a case is of one of its operators.
    pub fn is_of(&self, case: &Case) -> bool {
        case.nodes.iter().all(|node| self.operators.contains(&node.operator))
    }

    pub fn operators(&self) -> &[&'static Operator] {
        &self.operators
    }

    /// Case `index` of the stream of a seed: the same on every machine.
    pub fn case(&self, seed: u64, index: u64) -> Generated {
        self.draw(&mut Unstructured::new(&entropy::<ENTROPY>(seed, index))).expect(ENOUGH)
    }

    /// A case from fuzzer bytes or any other source of randomness.
    ///
    /// # Errors
    /// None in practice: values that have run out are drawn as zeros.
    pub fn draw(&self, u: &mut Unstructured) -> arbitrary::Result<Generated> {
        let operator: &'static Operator = u.choose(&self.operators)?;
        let version = u.choose(operator.versions)?;
        let opset = int(u, operator.opsets(version))?;
        let intent = match int(u, 0..=99)? {
            0..=65 => Intent::Valid,
            66..=93 => {
                let rules: Vec<Rule> = rules_of(operator, version).filter(|rule| !rule.is_on_the_graph()).collect();
                Intent::Rule(*u.choose(&rules)?)
            }
            _ => Intent::Wild,
        };
        let (dims, target) = match intent {
            // About 4 % of the valid ones divide by a number that any other draw seldom has.
            Intent::Valid if has_target(version) && u.ratio(1, 25)? => {
                let (dims, target) = values::division(u)?;
                (dims, Some(target))
            }
            _ => (values::dims(u)?, None),
        };
        let mut draft = Draft { operator, version, dims, target, attributes: Vec::new(), operands: Vec::new() };
        draft.fill(u, intent)?;
        if let Intent::Rule(rule) = intent {
            draft.bend(u, rule)?;
        }
        let mut case = Case::from(Single { operator, opset, attributes: draft.attributes, operands: draft.operands });
        let tensors = case.tensors();
        let mut expectation = case.expectation(&tensors);
        // An invalid model shows less than a valid one, so most inputs without a rank get one, where nothing else is wrong.
        if expectation.rule() == Some(Rule::UNRANKED) && u.ratio(3, 4)? {
            for operand in case.sources.iter_mut().filter(|operand| operand.wiring == Wiring::Input(Declared::Unranked))
            {
                operand.wiring = Wiring::Input(Declared::Symbolic);
            }
            expectation = case.expectation(&tensors);
        }
        // Any other wiring that makes the model invalid is drawn like a valid one, and then it is what the case is for.
        let intent = expectation.rule().filter(|rule| rule.is_on_the_graph()).map_or(intent, Intent::Rule);
        Ok(Generated { case, intent, tensors, expectation })
    }
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Case> {
        Ok(Generator::default().draw(u)?.case)
    }
}

/// The rules that a call of this version can break or be left open by.
pub(crate) fn rules_of(operator: &'static Operator, version: &'static Version) -> impl Iterator<Item = Rule> {
    let has = |role| version.attributes.iter().any(|a| a.role == role);
    let has_input = |role| version.inputs.iter().any(|i| i.role == role);
    let applies = move |rule| match rule {
        Rule::ATTRIBUTE_KIND | Rule::DUPLICATE_ATTRIBUTE => !version.attributes.is_empty(),
        Rule::ELEMENT_TYPE => version.element_types.len() < ElementType::ALL.len(),
        Rule::NEGATIVE_AXIS => version.since < NEGATIVE_AXIS_SINCE,
        Rule::SHAPE_TYPE | Rule::SHAPE_RANK => has_input(Role::TargetShape),
        Rule::MISSING_SHAPE => has(Role::TargetShape),
        Rule::ZERO_AND_INFERRED | Rule::ALLOWZERO_VALUE => has(Role::Flag),
        Rule::CONSTANT_TYPE => {
            let mut types =
                version.element_types.iter().chain(has_input(Role::TargetShape).then_some(&ElementType::Int64));
            types.any(|&element_type| !may_be_constant(element_type, version.since))
        }
        _ => true,
    };
    Rule::FORM.iter().chain(operator.rules).copied().filter(move |&rule| applies(rule))
}

/// Whether a version has a target shape, as an attribute or as an input.
fn has_target(version: &Version) -> bool {
    let of_attributes = version.attributes.iter().map(|spec| spec.role);
    of_attributes.chain(version.inputs.iter().map(|spec| spec.role)).any(|role| role == Role::TargetShape)
}

fn int(u: &mut Unstructured, range: RangeInclusive<u8>) -> arbitrary::Result<u8> {
    u.int_in_range(range)
}

/// A case on the way: valid first, then bent.
struct Draft {
    operator: &'static Operator,
    version: &'static Version,
    /// The dims of the data.
    dims: Vec<i64>,
    /// The target shape, if it was drawn with the dims.
    target: Option<Vec<i64>>,
    attributes: Vec<Attribute>,
    operands: Vec<Option<Operand>>,
}

impl Draft {
    /// Fills attributes and operands with values for the dims: valid ones, or any if the intent is wild.
    fn fill(&mut self, u: &mut Unstructured, intent: Intent) -> arbitrary::Result<()> {
        self.attributes.clear();
        self.operands.clear();
        let wild = intent == Intent::Wild;
        let rank = values::rank(&self.dims);
        // The flag comes first, since it decides which target shapes are valid.
        let mut allowzero = 0;
        let specs = self.version.attributes;
        for spec in specs.iter().filter(|spec| spec.role == Role::Flag) {
            // Zero-size data is where the flag matters most.
            let often = if self.dims.contains(&0) { 9 } else { 5 };
            if u.ratio(often, 10)? {
                allowzero = i64::from(u.ratio(3, 4)?);
                self.push(spec, AttributeValue::Int(allowzero));
            }
        }
        for spec in specs {
            match spec.role {
                Role::Axis => {
                    let required = !wild && rank == 0 && !self.operator.rules.is_empty();
                    if required || u.ratio(4, 5)? {
                        let any = wild || self.operator.rules.is_empty();
                        let axis = if any { values::axis(u, rank)? } else { self.axis_in_range(u)? };
                        self.push(spec, AttributeValue::Int(axis));
                    }
                }
                Role::TargetShape => {
                    let target = self.draw_target(u, wild, 0)?;
                    self.push(spec, AttributeValue::Ints(target));
                }
                Role::Ignored => {
                    if u.ratio(1, 4)? {
                        let ignored = values::wild_target(u, &self.dims)?;
                        self.push(spec, AttributeValue::Ints(ignored));
                    }
                }
                Role::Flag | Role::Data => {}
            }
        }
        for spec in self.version.inputs {
            let operand = match spec.role {
                Role::TargetShape => {
                    let target = self.draw_target(u, wild, allowzero)?;
                    Operand { wiring: shape_wiring(u)?, ..Operand::vector(&target) }
                }
                _ => Operand {
                    contents: contents(u)?,
                    wiring: wiring(u)?,
                    ..Operand::new(*u.choose(self.version.element_types)?, self.dims.clone())
                },
            };
            self.operands.push(Some(operand));
        }
        Ok(())
    }

    /// The target shape that was drawn with the dims, or another: a valid one, or any if it is to be wild.
    fn draw_target(&mut self, u: &mut Unstructured, wild: bool, allowzero: i64) -> arbitrary::Result<Vec<i64>> {
        match self.target.take() {
            Some(target) => Ok(target),
            None if wild => values::wild_target(u, &self.dims),
            None => values::target(u, &self.dims, allowzero),
        }
    }

    /// An axis in [-r, r], or [0, r] where axes cannot be negative.
    fn axis_in_range(&self, u: &mut Unstructured) -> arbitrary::Result<i64> {
        let rank = values::rank(&self.dims);
        let lowest = if self.version.since < NEGATIVE_AXIS_SINCE { 0 } else { -rank };
        u.int_in_range(lowest..=rank)
    }

    fn push(&mut self, spec: &AttributeSpec, value: AttributeValue) {
        self.attributes.push(Attribute { name: spec.name.to_owned(), value });
    }

    /// Sets the attribute of a role.
    fn set(&mut self, role: Role, value: AttributeValue) {
        if let Some(spec) = self.version.attributes.iter().find(|spec| spec.role == role) {
            self.attributes.retain(|a| a.name != spec.name);
            self.push(spec, value);
        }
    }

    /// Sets the target shape, wherever the version has it.
    fn set_target(&mut self, target: &[i64]) {
        self.set(Role::TargetShape, AttributeValue::Ints(target.to_vec()));
        for (spec, operand) in self.version.inputs.iter().zip(&mut self.operands) {
            if let (Role::TargetShape, Some(operand)) = (spec.role, operand) {
                *operand = Operand { wiring: operand.wiring, ..Operand::vector(target) };
            }
        }
    }

    /// Starts again with other data dims.
    fn with_dims(&mut self, u: &mut Unstructured, dims: Vec<i64>) -> arbitrary::Result<()> {
        self.dims = dims;
        self.fill(u, Intent::Valid)
    }

    /// Bends the valid draft so that it breaks one rule, or is left open by it.
    fn bend(&mut self, u: &mut Unstructured, rule: Rule) -> arbitrary::Result<()> {
        match rule {
            Rule::INPUT_COUNT => {
                if u.ratio(1, 2)? {
                    self.operands.pop();
                } else {
                    self.operands.push(Some(Operand::new(ElementType::Int64, vec![1])));
                }
            }
            Rule::EMPTY_INPUT => {
                let index = u.choose_index(self.operands.len())?;
                self.operands[index] = None;
            }
            Rule::UNDECLARED_ATTRIBUTE => {
                let declared = self.version.attributes;
                let names = ["start", "end", "axis", "allowzero", "shape", "axes", "perm", "Axis"];
                let foreign: Vec<_> = names.into_iter().filter(|n| declared.iter().all(|a| a.name != *n)).collect();
                let value = AttributeValue::Int(*u.choose(&[0, 1, -1])?);
                self.attributes.push(Attribute { name: (*u.choose(&foreign)?).to_owned(), value });
            }
            Rule::ATTRIBUTE_KIND => {
                let spec = u.choose(self.version.attributes)?;
                let kinds = [AttributeKind::Int, AttributeKind::Ints, AttributeKind::Float, AttributeKind::String];
                let others: Vec<_> = kinds.into_iter().filter(|&kind| kind != spec.kind).collect();
                let value = match u.choose(&others)? {
                    AttributeKind::Int => AttributeValue::Int(1),
                    AttributeKind::Ints => AttributeValue::Ints(vec![1]),
                    AttributeKind::Float => AttributeValue::Float(1_f32.to_bits()),
                    AttributeKind::String => AttributeValue::String("1".to_owned()),
                };
                self.attributes.retain(|a| a.name != spec.name);
                self.push(spec, value);
            }
            Rule::DUPLICATE_ATTRIBUTE => {
                if self.attributes.is_empty() {
                    let spec = u.choose(self.version.attributes)?;
                    let value = match spec.kind {
                        AttributeKind::Ints => AttributeValue::Ints(vec![]),
                        _ => AttributeValue::Int(0),
                    };
                    self.push(spec, value);
                }
                let again = u.choose(&self.attributes)?.clone();
                self.attributes.push(again);
            }
            Rule::ELEMENT_TYPE => {
                let outside = &ElementType::ALL[self.version.element_types.len()..];
                if let Some(Some(data)) = self.operands.first_mut() {
                    data.element_type = *u.choose(outside)?;
                }
            }
            Rule::VAST_DIMS => {
                let dims = values::vast_dims(u)?;
                self.with_dims(u, dims)?;
            }
            Rule::SHAPE_TYPE => {
                let types: Vec<_> = ElementType::ALL.into_iter().filter(|&t| t != ElementType::Int64).collect();
                if let Some(Some(shape)) = self.operands.get_mut(1) {
                    shape.element_type = *u.choose(&types)?;
                    if shape.element_type.bits() < 64 {
                        shape.contents = Contents::Count;
                    }
                }
            }
            Rule::SHAPE_RANK => {
                if let Some(Some(shape)) = self.operands.get_mut(1) {
                    let length = shape.dims.iter().product();
                    shape.dims = match (length, int(u, 0..=2)?) {
                        (1, 0) => vec![],
                        (_, 1) => vec![1, length],
                        _ => vec![length, 1],
                    };
                }
            }
            Rule::AXIS_RANGE | Rule::NEGATIVE_AXIS | Rule::SCALAR_AXIS => self.bend_axis(u, rule)?,
            Rule::MISSING_SHAPE => {
                let declared = self.version.attributes.iter().find(|spec| spec.role == Role::TargetShape);
                self.attributes.retain(|a| declared.is_none_or(|spec| spec.name != a.name));
            }
            Rule::SEVERAL_INFERRED
            | Rule::BELOW_MINUS_ONE
            | Rule::ZERO_PAST_RANK
            | Rule::ELEMENT_COUNT
            | Rule::NOT_DIVISIBLE
            | Rule::ZERO_AND_INFERRED
            | Rule::COPIED_ZERO_AND_INFERRED
            | Rule::ALLOWZERO_VALUE => self.bend_target(u, rule)?,
            // The wiring breaks the one or the other, whatever it is drawn for, and no version is asked for before its time.
            _ => {}
        }
        Ok(())
    }

    fn bend_axis(&mut self, u: &mut Unstructured, rule: Rule) -> arbitrary::Result<()> {
        if rule == Rule::SCALAR_AXIS {
            self.with_dims(u, vec![])?;
        } else if self.dims.is_empty() {
            self.with_dims(u, vec![2])?;
        }
        let rank = values::rank(&self.dims);
        let negative_allowed = self.version.since >= NEGATIVE_AXIS_SINCE;
        let breaks = |axis: i64| match rule {
            Rule::NEGATIVE_AXIS => axis < 0,
            Rule::SCALAR_AXIS => axis != 0 && (axis > 0 || negative_allowed),
            _ => axis > rank || (negative_allowed && axis < -rank),
        };
        let choices: Vec<i64> = values::axes(rank).into_iter().filter(|&axis| breaks(axis)).collect();
        if rule == Rule::SCALAR_AXIS && u.ratio(1, 4)? {
            // Without an axis it is 1.
            self.attributes.clear();
        } else {
            self.set(Role::Axis, AttributeValue::Int(*u.choose(&choices)?));
        }
        Ok(())
    }

    fn bend_target(&mut self, u: &mut Unstructured, rule: Rule) -> arbitrary::Result<()> {
        // A size that only a 0 beside it allows goes with the 0.
        let nonzero = |dims: &[i64]| -> Vec<i64> {
            dims.iter().map(|&d| if (1..=values::MAX_DRAWN).contains(&d) { d } else { 1 }).collect()
        };
        match rule {
            Rule::NOT_DIVISIBLE | Rule::ELEMENT_COUNT
                if self.dims.contains(&0) && (rule == Rule::NOT_DIVISIBLE || u.ratio(1, 2)?) =>
            {
                let dims = nonzero(&self.dims);
                self.with_dims(u, dims)?;
            }
            Rule::COPIED_ZERO_AND_INFERRED => {
                let mut dims = self.dims.clone();
                dims.truncate(6);
                if dims.is_empty() {
                    dims.push(2);
                }
                let position = u.choose_index(dims.len())?;
                dims[position] = 0;
                self.with_dims(u, dims)?;
            }
            _ => {}
        }
        let allowzero = match rule {
            Rule::ZERO_AND_INFERRED => 1,
            Rule::ZERO_PAST_RANK | Rule::COPIED_ZERO_AND_INFERRED => 0,
            Rule::ALLOWZERO_VALUE => *u.choose(&[2, -1, 256, 1 << 31, 1 << 32, (1 << 32) + 1, i64::MIN, i64::MAX])?,
            _ => i64::from(self.version.attributes.iter().any(|a| a.role == Role::Flag) && u.ratio(1, 2)?),
        };
        // Absent and 0 mean the same.
        if allowzero != 0 || u.ratio(1, 2)? {
            self.set(Role::Flag, AttributeValue::Int(allowzero));
        } else {
            let flags = self.version.attributes.iter().filter(|spec| spec.role == Role::Flag);
            let names: Vec<_> = flags.map(|spec| spec.name).collect();
            self.attributes.retain(|a| !names.contains(&a.name.as_str()));
        }
        let target = values::bent_target(u, rule, &self.dims, allowzero)?;
        self.set_target(&target);
        Ok(())
    }
}

/// The places in [`Wiring::ALL`] of those with the contents in the model.
const IN_MODEL: Range<usize> = 4..8;
/// The places there of a graph input that has a default.
const DEFAULTS: Range<usize> = 8..10;

/// About 6 % have a default, which not every runtime can be fed.
fn wiring(u: &mut Unstructured) -> arbitrary::Result<Wiring> {
    match int(u, 0..=63)? {
        0..=3 => Ok(*u.choose(&Wiring::ALL[DEFAULTS])?),
        4..=18 => Ok(Wiring::ALL[0]),
        _ => Ok(*u.choose(&Wiring::ALL[..DEFAULTS.start])?),
    }
}

/// A target shape is most often a constant, since that is what exporters write and what every runtime can take.
fn shape_wiring(u: &mut Unstructured) -> arbitrary::Result<Wiring> {
    match int(u, 0..=63)? {
        0..=1 => Ok(*u.choose(&Wiring::ALL[DEFAULTS])?),
        2..=33 => Ok(*u.choose(&Wiring::ALL[IN_MODEL])?),
        _ => wiring(u),
    }
}

fn contents(u: &mut Unstructured) -> arbitrary::Result<Contents> {
    Ok(match int(u, 0..=7)? {
        0..=2 => Contents::Count,
        3 | 4 => Contents::Random(u64::from(u.arbitrary::<u16>()?)),
        _ => Contents::Special,
    })
}

impl Generated {
    /// A case that was not drawn, with what belongs to it.
    pub fn given(case: Case) -> Generated {
        let tensors = case.tensors();
        let expectation = case.expectation(&tensors);
        Generated { case, intent: Intent::Given, tensors, expectation }
    }
}

#[cfg(test)]
mod tests;
