//! Cases with one model, which is fed other tensors in each of them.

use arbitrary::{Result, Unstructured};

use super::values::{self, MAX_DRAWN};
use super::{ENOUGH, ENTROPY, Generated, Intent, entropy};
use crate::case::{Declared, Fed, Operand, Single, Wiring};
use crate::operator::{AttributeValue, Expectation, Role};
use crate::tensor::product;

/// The highest rank of the data where a model has several cases: beyond it, one case may take a runtime as long as a thousand
/// others.
pub(super) const MAX_RANK: usize = 12;

/// The most elements that most data has which is drawn for a model that is there: with more, copying them is all that takes
/// time.
const USUAL: i64 = 256;

impl Generated {
    /// Whether the model of the case leaves open what it is fed, the dims of its data or the values of its target shape,
    /// and there is an answer for what it is fed here.
    pub fn is_open(&self) -> bool {
        let Some(single) = self.case.single() else { return false };
        let is_low = single.data().is_some_and(|data| data.dims.len() <= MAX_RANK);
        let may_be_answered = !matches!(self.expectation, Expectation::Reject { .. });
        let operands = || by_role(&single).map(|(role, place)| (role, single.operands[place].as_ref()));
        // What the model holds in place of an overridden target shape depends on the dims of the data.
        let is_overridden = |(role, operand): (Role, Option<&Operand>)| {
            role == Role::TargetShape && operand.is_some_and(|operand| operand.wiring == Wiring::Default(Fed::Operand))
        };
        is_low
            && may_be_answered
            && !operands().any(is_overridden)
            && operands().any(|(role, operand)| operand.is_some_and(|operand| is_open(role, operand)))
    }

    /// Single `index` of a seed if it is to have the model of this one, which is open. Most such cases are valid.
    pub fn relative(&self, seed: u64, index: u64) -> Generated {
        let Some(single) = self.case.single() else { return self.clone() };
        let case = fed_otherwise(&single, &mut Unstructured::new(&entropy::<ENTROPY>(seed, index))).expect(ENOUGH);
        let given = Generated::given(case.into());
        let intent = if matches!(given.expectation, Expectation::Defined(_)) { Intent::Valid } else { Intent::Wild };
        Generated { intent, ..given }
    }
}

/// The roles of the operands of a case, and their places.
fn by_role(case: &Single) -> impl Iterator<Item = (Role, usize)> {
    let specs = case.version().map_or(&[][..], |version| version.inputs);
    specs.iter().map(|spec| spec.role).zip(0..case.operands.len())
}

fn is_open(role: Role, operand: &Operand) -> bool {
    match (role, operand.wiring) {
        (Role::TargetShape, Wiring::Input(_)) => operand.dims.len() == 1 && operand.dims[0] > 0,
        (_, Wiring::Input(declared)) => declared != Declared::Static && !operand.dims.is_empty(),
        _ => false,
    }
}

/// The case with other tensors for its graph inputs, of the same ranks: a target shape has as many dims as it had, since
/// they are the rank that the model declares of its output.
fn fed_otherwise(case: &Single, u: &mut Unstructured) -> Result<Single> {
    let mut fed = case.clone();
    if let Some(Some(Operand { dims, contents, wiring: Wiring::Input(declared), .. })) = fed.operands.first_mut() {
        *contents = super::contents(u)?;
        if *declared != Declared::Static {
            // A target shape that is part of the model seldom suits data of any other number of elements.
            let keeps_count = has_fixed_target(case) && u.ratio(3, 4)?;
            let rank = u8::try_from(dims.len()).unwrap_or(0);
            let most = if u.ratio(1, 8)? { MAX_DRAWN } else { USUAL };
            *dims = if keeps_count { shuffled(u, dims)? } else { values::dims_of_rank(u, rank, most)? };
        }
    }
    let is_small = |data: &Operand| product(data.dims.iter().copied()).is_some_and(|count| count <= MAX_DRAWN.into());
    if !(has_same_symbols(case, &fed) && fed.data().is_some_and(is_small)) {
        fed.operands.clone_from(&case.operands);
    }
    let dims = fed.data().map_or_else(Vec::new, |data| data.dims.clone());
    for (role, place) in by_role(case) {
        let Some(operand) = fed.operands[place].as_mut().filter(|operand| is_open(role, operand)) else { continue };
        if role == Role::TargetShape {
            let length = usize::try_from(operand.dims[0]).unwrap_or(1);
            let mut target = if !dims.contains(&0) && u.ratio(1, 25)? {
                values::division_of_length(u, &dims, length)?
            } else {
                values::target_of_length(u, &dims, allowzero(case), length)?
            };
            if u.ratio(1, 4)? {
                let position = u.choose_index(length)?;
                target[position] = *u.choose(&values::wild_sizes(&dims))?;
            }
            *operand = Operand { wiring: operand.wiring, ..Operand::vector(&target) };
        }
    }
    Ok(fed)
}

/// Whether the target shape is part of the model.
fn has_fixed_target(case: &Single) -> bool {
    let attributes = case.version().map_or(&[][..], |version| version.attributes);
    let is_fixed = |place: usize| case.operands[place].as_ref().is_some_and(|o| !matches!(o.wiring, Wiring::Input(_)));
    attributes.iter().any(|spec| spec.role == Role::TargetShape)
        || by_role(case).any(|(role, place)| role == Role::TargetShape && is_fixed(place))
}

/// The flag of a case, 0 or 1.
fn allowzero(case: &Single) -> i64 {
    let specs = case.version().map_or(&[][..], |version| version.attributes);
    let is_flag = |name: &str| specs.iter().any(|spec| spec.role == Role::Flag && spec.name == name);
    let value = case.attributes.iter().find_map(|attribute| match attribute.value {
        AttributeValue::Int(value) if is_flag(&attribute.name) => Some(value),
        _ => None,
    });
    value.unwrap_or(0).clamp(0, 1)
}

/// The dims in another order, one of them perhaps a few times as large.
fn shuffled(u: &mut Unstructured, dims: &[i64]) -> Result<Vec<i64>> {
    let mut dims = dims.to_vec();
    for last in (1..dims.len()).rev() {
        let other = u.int_in_range(0..=last)?;
        dims.swap(last, other);
    }
    if let Some(size) = dims.first_mut() {
        *size = size.saturating_mul(*u.choose(&[1, 1, 2, 3])?);
    }
    Ok(dims)
}

/// Whether dims that are declared as shared are equal in one case exactly where they are in the other: equal ones have one
/// symbol.
fn has_same_symbols(case: &Single, other: &Single) -> bool {
    let symbols = |case: &Single| -> Vec<Option<usize>> {
        let shared = |operand: &&Operand| operand.wiring == Wiring::Input(Declared::Shared);
        let sizes: Vec<i64> = case.operands.iter().flatten().filter(shared).flat_map(|o| o.dims.clone()).collect();
        sizes.iter().map(|size| sizes.iter().position(|first| first == size)).collect()
    };
    symbols(case) == symbols(other)
}
