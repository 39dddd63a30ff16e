//! Generation by intent: the generator first chooses what a case exercises, and then draws values that do so.
//!
//! A case is drawn as a valid case. If the intent is a rule, the case is then changed until it breaks exactly that rule. The
//! in-house implementation evaluates the result, so a case always has its actual expected answer.

mod feeds;
mod graph;
mod mutate;
mod mutate_graph;

use std::ops::{Range, RangeInclusive};
use std::sync::OnceLock;

use arbitrary::{Arbitrary, Unstructured};
use graph::Callee;
pub use graph::Nodes;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{Case, Contents, Declared, Operand, Single, Wiring};
use crate::operator::{Aim, Data, Drawn, Expectation, Given, OPERATORS, Operator, Rule, dims};
use crate::tensor::{ElementType, Tensor};

/// The purpose of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Intent {
    /// Exactly one right answer.
    Valid,
    /// The case breaks this rule and no other, or the rule leaves its answer unspecified.
    Rule(Rule),
    /// Boundary values without a plan.
    Wild,
    /// Not drawn: listed or enumerated.
    Given,
}

/// A case with its intent, its tensors and its expected answer.
#[derive(Clone, Debug)]
pub struct Generated {
    pub case: Case,
    pub intent: Intent,
    /// The tensors of the sources.
    pub tensors: Vec<Tensor>,
    /// The expected answer.
    pub expectation: Expectation,
    /// Its used values, once they were asked for.
    values: OnceLock<Vec<Vec<Tensor>>>,
}

/// Draws cases of some operators.
#[derive(Clone, Debug)]
pub struct Generator {
    operators: Vec<&'static Operator>,
}

/// Bytes of randomness for one case. All further bytes are read as 0.
const ENTROPY: usize = 768;

/// Missing bytes are read as zeros, so drawing does not fail.
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

    /// A generator for Shape, Flatten, Reshape, Size and Identity. The planted faults of the tests are in these operators.
    #[cfg(test)]
    pub(crate) fn of_the_heart() -> Generator {
        Generator::new(OPERATORS[..5].to_vec())
    }

    /// Whether each node of a case has one of the generator's operators, or an arithmetic operator.
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
    /// None in practice: missing bytes are read as zeros.
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

    /// A case for each cell of the operators (operator version and element type): a valid one if a few draws give one. The cases
    /// are the same on every machine.
    pub fn cells(&self) -> Vec<Case> {
        let cells = self.versions().flat_map(|callee| callee.1.element_types.iter().map(move |&of| (callee, of)));
        cells.filter_map(|(callee, element_type)| of_cell(callee, element_type)).collect()
    }
}

/// The seed of the cases of cells.
const CELLS: u64 = 0;

/// The most cases that are drawn for a cell.
const TRIES: u64 = 64;

/// A case of a cell: the first valid one, or else the first. `None` if no draw gives a case of the cell.
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

/// A case of one node. The data is drawn too if it is not given.
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
    // An invalid model shows less than a valid one, so most inputs without a rank get one, if nothing else is invalid.
    if expectation.rule() == Some(Rule::UNRANKED) && u.ratio(3, 4)? {
        for operand in case.sources.iter_mut().filter(|operand| operand.wiring == Wiring::Input(Declared::Unranked)) {
            operand.wiring = Wiring::Input(Declared::Symbolic);
        }
        expectation = case.expectation(&tensors);
    }
    // A version whose text leaves every answer unspecified is drawn like a valid one.
    let intent = match (intent, &expectation) {
        (Intent::Valid, Expectation::Unspecified { rule, .. }) => Intent::Rule(*rule),
        _ => intent,
    };
    // A wiring that makes the model invalid is drawn for any intent. The rule that it breaks then becomes the intent.
    let intent = expectation.rule().filter(|rule| rule.is_on_the_graph()).map_or(intent, Intent::Rule);
    Ok(Generated::new(case, intent, tensors, expectation))
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
    /// The aim with which the call of a case is drawn.
    fn aim(self) -> Aim {
        match self {
            Intent::Rule(rule) => Aim::Break(rule),
            Intent::Wild => Aim::Wild,
            Intent::Valid | Intent::Given => Aim::Valid,
        }
    }
}

/// An operand for a drawn input: the wiring is drawn, and for data also the contents.
fn operand(u: &mut Unstructured, input: Given) -> arbitrary::Result<Operand> {
    match input {
        Given::Data(Data { element_type, dims }) => {
            Ok(Operand { contents: contents(u)?, wiring: wiring(u)?, ..Operand::new(element_type, dims) })
        }
        Given::Values(tensor) => Ok(Operand::of(&tensor, parameter_wiring(u)?)),
    }
}

/// The initializers and Constants in [`Wiring::ALL`].
const IN_MODEL: Range<usize> = 4..8;
/// The graph inputs with a default in [`Wiring::ALL`].
const DEFAULTS: Range<usize> = 8..10;

/// Draws a wiring. About 6 % have a default: not every runtime can be fed such an input.
fn wiring(u: &mut Unstructured) -> arbitrary::Result<Wiring> {
    match int(u, 0..=63)? {
        0..=3 => Ok(*u.choose(&Wiring::ALL[DEFAULTS])?),
        4..=18 => Ok(Wiring::ALL[0]),
        _ => Ok(*u.choose(&Wiring::ALL[..DEFAULTS.start])?),
    }
}

/// Draws the wiring of a parameter. Most are initializers or Constants, since exporters write these and every runtime can take
/// them.
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
    /// A case that was not drawn, with its tensors and its expected answer.
    pub fn given(case: Case) -> Generated {
        let tensors = case.tensors();
        let expectation = case.expectation(&tensors);
        Generated::new(case, Intent::Given, tensors, expectation)
    }

    fn new(case: Case, intent: Intent, tensors: Vec<Tensor>, expectation: Expectation) -> Generated {
        Generated { case, intent, tensors, expectation, values: OnceLock::new() }
    }

    /// The [used values](Case::used_values) of the case. They are computed once.
    pub fn values(&self) -> &[Vec<Tensor>] {
        self.values.get_or_init(|| self.case.used_values(&self.tensors))
    }
}

#[cfg(test)]
mod boundaries;
#[cfg(test)]
mod tests;
