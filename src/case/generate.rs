//! Generation by intent: first what a case should exercise is chosen, then values that do so.
//!
//! A case is drawn as a valid one, and then, if that is the intent, bent until it breaks exactly one rule. The result
//! is held against the in-house implementation, so a case always carries what the specification really says of it.

mod feeds;
mod graph;
mod mutate;
mod mutate_graph;

use std::ops::{Range, RangeInclusive};

use arbitrary::{Arbitrary, Unstructured};
use graph::Callee;
pub use graph::Nodes;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{Case, Contents, Declared, Operand, Single, Wiring};
use crate::operator::{Aim, Data, Drawn, Expectation, Given, OPERATORS, Operator, Rule, dims};
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

    /// Of Shape, Flatten, Reshape, Size and Identity, which the planted faults of the tests are about.
    #[cfg(test)]
    pub(crate) fn of_the_heart() -> Generator {
        Generator::new(OPERATORS[..5].to_vec())
    }

    /// Whether each node of a case is of one of its operators, or arithmetic between them.
    pub fn is_of(&self, case: &Case) -> bool {
        case.nodes.iter().all(|node| self.operators.contains(&node.operator) || node.operator.is_arithmetic())
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
                let rules: Vec<Rule> = operator.rules_of(version).filter(|rule| !rule.is_on_the_graph()).collect();
                Intent::Rule(*u.choose(&rules)?)
            }
            _ => Intent::Wild,
        };
        single(u, (operator, version), opset, intent, None)
    }

    /// A case for each cell of its operators (operator version and element type), valid where a valid one is drawn soon: the
    /// same on every machine.
    pub fn cells(&self) -> Vec<Case> {
        let cells = self.versions().flat_map(|callee| callee.1.element_types.iter().map(move |&of| (callee, of)));
        cells.filter_map(|(callee, element_type)| of_cell(callee, element_type)).collect()
    }
}

/// The seed of the cases of cells.
const CELLS: u64 = 0;

/// How many cases are drawn for a cell until one is valid.
const TRIES: u64 = 64;

/// A case of a cell, if one is drawn soon: the first that is valid, or else the first.
fn of_cell(callee: Callee, element_type: ElementType) -> Option<Case> {
    let draw = |index| {
        let bytes = entropy::<ENTROPY>(CELLS, index);
        let u = &mut Unstructured::new(&bytes);
        let data = Data { element_type, dims: dims(u).expect(ENOUGH) };
        let opset = int(u, callee.0.opsets(callee.1)).expect(ENOUGH);
        single(u, callee, opset, Intent::Valid, Some(data)).expect(ENOUGH)
    };
    let is_of_cell =
        |generated: &Generated| generated.case.call().is_some_and(|call| call.element_type == Some(element_type));
    let is_valid = |generated: &Generated| matches!(generated.expectation, Expectation::Defined(_));
    let drawn = || (0..TRIES).map(draw).filter(is_of_cell);
    drawn().find(is_valid).or_else(|| drawn().next()).map(|generated| generated.case)
}

/// A case of one node. Without data given, that is drawn as well.
fn single(
    u: &mut Unstructured,
    (operator, version): Callee,
    opset: u8,
    intent: Intent,
    data: Option<Data>,
) -> arbitrary::Result<Generated> {
    let Drawn { attributes, inputs, outputs } = operator.draw(u, version, intent.aim(), data)?;
    let operands = inputs.into_iter().map(|input| input.map(|input| operand(u, input)).transpose());
    let operands = operands.collect::<arbitrary::Result<_>>()?;
    let mut case = Case::from(Single { operator, opset, attributes, operands, outputs });
    let tensors = case.tensors();
    let mut expectation = case.expectation(&tensors);
    // An invalid model shows less than a valid one, so most inputs without a rank get one, where nothing else is wrong.
    if expectation.rule() == Some(Rule::UNRANKED) && u.ratio(3, 4)? {
        for operand in case.sources.iter_mut().filter(|operand| operand.wiring == Wiring::Input(Declared::Unranked)) {
            operand.wiring = Wiring::Input(Declared::Symbolic);
        }
        expectation = case.expectation(&tensors);
    }
    // A version of which the texts say nothing that holds is drawn like a valid one too.
    let intent = match (intent, &expectation) {
        (Intent::Valid, Expectation::Unspecified { rule, .. }) => Intent::Rule(*rule),
        _ => intent,
    };
    // Any other wiring that makes the model invalid is drawn like a valid one, and then it is what the case is for.
    let intent = expectation.rule().filter(|rule| rule.is_on_the_graph()).map_or(intent, Intent::Rule);
    Ok(Generated { case, intent, tensors, expectation })
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Case> {
        Ok(Generator::default().draw(u)?.case)
    }
}

fn int(u: &mut Unstructured, range: RangeInclusive<u8>) -> arbitrary::Result<u8> {
    u.int_in_range(range)
}

impl Intent {
    /// What the call of a case is drawn for.
    fn aim(self) -> Aim {
        match self {
            Intent::Rule(rule) => Aim::Break(rule),
            Intent::Wild => Aim::Wild,
            Intent::Valid | Intent::Given => Aim::Valid,
        }
    }
}

/// An input that was drawn, with a wiring, and data with contents.
fn operand(u: &mut Unstructured, input: Given) -> arbitrary::Result<Operand> {
    match input {
        Given::Data(Data { element_type, dims }) => {
            Ok(Operand { contents: contents(u)?, wiring: wiring(u)?, ..Operand::new(element_type, dims) })
        }
        Given::Values(tensor) => Ok(Operand::of(&tensor, parameter_wiring(u)?)),
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

/// A parameter is most often a constant, since that is what exporters write and what every runtime can take.
fn parameter_wiring(u: &mut Unstructured) -> arbitrary::Result<Wiring> {
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
mod boundaries;
#[cfg(test)]
mod tests;
