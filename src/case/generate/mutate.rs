//! Mutation of a case by its structure, for a fuzzer: one small change, or a combination of two cases.
//!
//! Everything here is total: any case and any seed give a case that keeps the limits.

use arbitrary::{Result, Unstructured};
use mutatis::{Candidates, Mutate, Session};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{Generator, contents, parameter_wiring, wiring};
use crate::case::target::TargetPlace;
use crate::case::{Case, Contents, Operand, Single, shrink};
use crate::operator::{
    Attribute, AttributeKind, AttributeValue, Data, Given, Role, boundary_axes, boundary_sizes, dims, rank,
};
use crate::tensor::{ElementType, Tensor, element_count};

/// A change to a case. It leaves the case as it is if there is nothing to change.
type Move = fn(&mut Single, &mut Unstructured) -> Result<()>;

/// Every kind of change, with its weight.
const MOVES: &[(u32, Move)] = &[
    (5, change_entry),
    (3, change_length),
    (4, fit_parameters),
    (4, change_dim),
    (3, change_rank),
    (5, change_attribute),
    (3, toggle_attribute),
    (4, rewire),
    (3, retype),
    (1, refill),
    (3, change_opset),
    (1, change_operands),
    (1, reshape_parameter),
    (1, change_outputs),
];

/// The most elements of a mutated case in all. More elements only cost time.
pub(super) const MAX_ELEMENTS: usize = 1 << 14;
/// The most mutations that are tried before a new case is drawn.
pub(super) const TRIES: u64 = 8;

impl Generator {
    /// A mutated case. If no mutation succeeds, a new case is drawn.
    pub fn mutate(&self, case: &Case, seed: u64) -> Case {
        let mut session = Session::new().seed(seed);
        let Some(single) = case.single() else { return self.mutate_graph(case, seed) };
        for _ in 0..TRIES {
            let mut mutated = single.clone();
            if session.mutate_with(&mut Mutator, &mut mutated).is_ok() && mutated != single && self.takes(&mutated) {
                return mutated.into();
            }
        }
        self.case(seed, 0).case
    }

    /// A case that is simpler than the given one, or the given one if there is none.
    pub fn simplify(&self, case: &Case, seed: u64) -> Case {
        let Some(mut simpler) = case.single() else { return self.simplify_graph(case, seed) };
        match Session::new().seed(seed).shrink(true).mutate_with(&mut Mutator, &mut simpler) {
            Ok(()) if self.takes(&simpler) => simpler.into(),
            _ => case.clone(),
        }
    }

    /// A case with some parts of one and the rest of the other; the operator is that of the first.
    pub fn cross_over(&self, first: &Case, second: &Case, seed: u64) -> Case {
        let (Some(mut crossed), Some(second)) = (first.single(), second.single()) else {
            return self.mutate(first, seed);
        };
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut of_second = || rng.next_u32() % 2 == 1;
        if of_second() {
            crossed.opset = second.opset;
        }
        if of_second() {
            crossed.attributes.clone_from(&second.attributes);
        }
        for (mine, theirs) in crossed.operands.iter_mut().zip(&second.operands) {
            if of_second() {
                mine.clone_from(theirs);
            }
        }
        if self.takes(&crossed) { crossed.into() } else { self.mutate(first, seed) }
    }

    /// Whether a case is small and has an operator of this generator.
    fn takes(&self, case: &Single) -> bool {
        let counts = case.operands.iter().flatten().map(|operand| element_count(&operand.dims).unwrap_or(usize::MAX));
        self.operators.contains(&case.operator)
            && counts.fold(0, usize::saturating_add) <= MAX_ELEMENTS
            && case.operands.iter().flatten().all(|operand| operand.check_limits().is_ok())
    }
}

/// Mutates a case by one of [`MOVES`], or takes one step of the minimizer if it is to shrink.
pub(super) struct Mutator;

impl Mutate<Single> for Mutator {
    fn mutate(&mut self, candidates: &mut Candidates, case: &mut Single) -> mutatis::Result<()> {
        if candidates.shrink() {
            let simpler = shrink::of_single(case);
            let count = u32::try_from(simpler.len()).unwrap_or(u32::MAX);
            return candidates.mutation_group(count, |_, which| {
                *case = simpler[which as usize].clone();
                Ok(())
            });
        }
        for &(weight, change) in MOVES {
            candidates.mutation_group(weight, |context, _| {
                let mut entropy = [0; 256];
                context.rng().gen_bytes(&mut entropy);
                // Missing entropy is read as zeros, so this never fails.
                let _ = change(case, &mut Unstructured::new(&entropy));
                Ok(())
            })?;
        }
        Ok(())
    }
}

fn dims_of(case: &Single) -> Vec<i64> {
    case.data().map_or_else(Vec::new, |data| data.dims.clone())
}

/// Gives the data other dims. Explicit contents no longer fit, so a count replaces them.
fn set_dims(case: &mut Single, dims: Vec<i64>) {
    if let Some(data) = case.data_mut() {
        if matches!(data.contents, Contents::Bits(_) | Contents::Strings(_)) {
            data.contents = Contents::Count;
        }
        data.dims = dims;
    }
}

/// A parameter, if the case has one.
fn parameter(case: &Single, u: &mut Unstructured) -> Result<Option<(TargetPlace, Vec<i64>)>> {
    let places = case.parameters();
    if places.is_empty() {
        return Ok(None);
    }
    let place = *u.choose(&places)?;
    Ok(case.numbers(place).map(|numbers| (place, numbers)))
}

/// A number near a boundary, or a number of the case, which may be changed by 1 or 2^32.
fn number(case: &Single, u: &mut Unstructured) -> Result<i64> {
    let mut pool = dims_of(case);
    pool.extend(case.parameters().into_iter().filter_map(|place| case.numbers(place)).flatten().take(64));
    if !pool.is_empty() && u.ratio(1, 4)? {
        let known = *u.choose(&pool)?;
        return Ok(known.wrapping_add(*u.choose(&[0, 1, -1, 1 << 32, -(1 << 32)])?));
    }
    let rank = rank(&dims_of(case));
    if u.ratio(1, 2)? { u.int_in_range(-rank - 2..=rank + 2) } else { Ok(*u.choose(&boundary_axes(rank))?) }
}

fn change_entry(case: &mut Single, u: &mut Unstructured) -> Result<()> {
    let Some((place, mut numbers)) = parameter(case, u)?.filter(|(_, numbers)| !numbers.is_empty()) else {
        return Ok(());
    };
    let entry = u.choose_index(numbers.len())?;
    numbers[entry] = if u.ratio(1, 2)? { *u.choose(&[-1, 0, 1, 2])? } else { number(case, u)? };
    case.set_numbers(place, &numbers);
    Ok(())
}

fn change_length(case: &mut Single, u: &mut Unstructured) -> Result<()> {
    let Some((place, mut numbers)) = parameter(case, u)? else { return Ok(()) };
    if numbers.is_empty() || u.ratio(1, 2)? {
        let entry = *u.choose(&[1, -1, 0, 2])?;
        numbers.insert(u.int_in_range(0..=numbers.len())?, entry);
    } else {
        let place = u.choose_index(numbers.len())?;
        numbers.remove(place);
    }
    case.set_numbers(place, &numbers);
    Ok(())
}

/// Draws new parameters that suit the data and the attributes.
fn fit_parameters(case: &mut Single, u: &mut Unstructured) -> Result<()> {
    let (Some(version), Some(data)) = (case.version(), case.data()) else { return Ok(()) };
    let data = Data { element_type: data.element_type, dims: data.dims.clone() };
    let drawn = case.operator.draw_inputs(u, version, &case.attributes, data, None)?;
    for (place, input) in drawn.into_iter().enumerate().take(case.operands.len()) {
        if let (Some(Given::Values(tensor)), Some(operand)) = (input, &mut case.operands[place]) {
            *operand = Operand::of(&tensor, operand.wiring);
        }
    }
    Ok(())
}

fn change_dim(case: &mut Single, u: &mut Unstructured) -> Result<()> {
    let mut dims = dims_of(case);
    if !dims.is_empty() {
        let place = u.choose_index(dims.len())?;
        let vast = dims.contains(&0) && u.ratio(1, 8)?;
        dims[place] =
            if vast { *u.choose(&[1 << 31, 1 << 32, 1 << 62, i64::MAX])? } else { *u.choose(&[0, 1, 2, 3, 7, 16])? };
        set_dims(case, dims);
    }
    Ok(())
}

fn change_rank(case: &mut Single, u: &mut Unstructured) -> Result<()> {
    let mut own = dims_of(case);
    match u.int_in_range(0_u8..=3)? {
        0 => own = dims(u)?,
        1 if !own.is_empty() => {
            let place = u.choose_index(own.len())?;
            own.remove(place);
        }
        _ => {
            let size = *u.choose(&[1, 0, 2, 3])?;
            own.insert(u.int_in_range(0..=own.len())?, size);
        }
    }
    set_dims(case, own);
    Ok(())
}

fn change_attribute(case: &mut Single, u: &mut Unstructured) -> Result<()> {
    if case.attributes.is_empty() {
        return toggle_attribute(case, u);
    }
    let place = u.choose_index(case.attributes.len())?;
    let value = if u.ratio(1, 3)? { *u.choose(&[0, 1, -1, 2])? } else { number(case, u)? };
    case.attributes[place].value = match &case.attributes[place].value {
        AttributeValue::Ints(own) => AttributeValue::Ints(own.iter().copied().chain([value]).take(8).collect()),
        AttributeValue::Int(_) => AttributeValue::Int(value),
        other if u.ratio(7, 8)? => other.clone(),
        _ => AttributeValue::Int(value),
    };
    Ok(())
}

/// Adds an attribute, most often a declared one, or takes one away.
fn toggle_attribute(case: &mut Single, u: &mut Unstructured) -> Result<()> {
    let declared = case.version().map_or(&[][..], |version| version.attributes);
    if !case.attributes.is_empty() && u.ratio(2, 5)? {
        let place = u.choose_index(case.attributes.len())?;
        case.attributes.remove(place);
    } else if !declared.is_empty() {
        let spec = u.choose(declared)?;
        let value = match (spec.kind, spec.role) {
            (AttributeKind::Ints, _) => {
                let length = u.int_in_range(0_u8..=5)?;
                AttributeValue::Ints((0..length).map(|_| Ok(*u.choose(&boundary_sizes())?)).collect::<Result<_>>()?)
            }
            (AttributeKind::Int, Role::Flag) => AttributeValue::Int(*u.choose(&[0, 1, 1, 2, -1])?),
            (AttributeKind::Int, _) => AttributeValue::Int(number(case, u)?),
            (AttributeKind::Float, _) => AttributeValue::Float(u.choose(&[0.0_f32, 1.0, -0.0])?.to_bits()),
            (AttributeKind::String, _) => AttributeValue::String(
                (*u.choose(&["constant", "edge", "reflect", "wrap", "DCR", "CRD", ""])?).to_owned(),
            ),
            (AttributeKind::Tensor, _) => AttributeValue::Tensor(Tensor::vector(&[number(case, u)?])),
        };
        // An attribute is seldom given twice.
        if u.ratio(7, 8)? {
            case.attributes.retain(|attribute| attribute.name != spec.name);
        }
        case.attributes.push(Attribute { name: spec.name.to_owned(), value });
    } else {
        case.attributes.push(Attribute { name: "axis".to_owned(), value: AttributeValue::Int(0) });
    }
    Ok(())
}

/// Draws an operand that is not left out.
fn operand<'a>(case: &'a mut Single, u: &mut Unstructured) -> Result<Option<(usize, &'a mut Operand)>> {
    let mut operands: Vec<_> =
        case.operands.iter_mut().enumerate().filter_map(|(i, o)| Some((i, o.as_mut()?))).collect();
    if operands.is_empty() {
        return Ok(None);
    }
    let place = u.choose_index(operands.len())?;
    Ok(Some(operands.swap_remove(place)))
}

fn rewire(case: &mut Single, u: &mut Unstructured) -> Result<()> {
    let is_data: Vec<bool> = (0..case.operands.len()).map(|place| case.is_data(place)).collect();
    if let Some((place, operand)) = operand(case, u)? {
        operand.wiring = if is_data[place] { wiring(u)? } else { parameter_wiring(u)? };
    }
    Ok(())
}

fn retype(case: &mut Single, u: &mut Unstructured) -> Result<()> {
    let own = case.version().map_or(&ElementType::ALL[..], |version| version.element_types);
    let is_data: Vec<bool> = (0..case.operands.len()).map(|place| case.is_data(place)).collect();
    let element_type = if u.ratio(7, 8)? { *u.choose(own)? } else { *u.choose(&ElementType::ALL)? };
    if u.ratio(3, 4)? {
        // All data has one type.
        let operands = case.operands.iter_mut().zip(is_data).filter(|(_, is_data)| *is_data);
        operands.filter_map(|(operand, _)| operand.as_mut()).for_each(|operand| operand.retype(element_type));
    } else if let Some((place, operand)) = operand(case, u)? {
        // A parameter seldom gets another type.
        if is_data[place] || u.ratio(1, 8)? {
            operand.retype(element_type);
        }
    }
    Ok(())
}

fn refill(case: &mut Single, u: &mut Unstructured) -> Result<()> {
    if let Some(data) = case.data_mut() {
        data.contents = contents(u)?;
    }
    Ok(())
}

/// Changes to a version of the operator. The target shape becomes an attribute or an operand, as that version declares it.
fn change_opset(case: &mut Single, u: &mut Unstructured) -> Result<()> {
    let versions = case.operator.versions;
    let newer = u.choose(versions)?;
    let target = case.target();
    case.opset = u.int_in_range(case.operator.opsets(newer))?;
    let Some(target) = target else { return Ok(()) };
    let spec = newer.attributes.iter().find(|spec| spec.role == Role::TargetShape);
    case.attributes.retain(|attribute| !matches!(attribute.value, AttributeValue::Ints(_)));
    if let Some(spec) = spec {
        case.operands.truncate(newer.inputs.len());
        case.attributes.push(Attribute { name: spec.name.to_owned(), value: AttributeValue::Ints(target) });
    } else if case.operands.len() < newer.input_counts().0 {
        case.operands.push(Some(Operand { wiring: parameter_wiring(u)?, ..Operand::vector(&target) }));
    }
    Ok(())
}

fn change_operands(case: &mut Single, u: &mut Unstructured) -> Result<()> {
    match u.int_in_range(0_u8..=2)? {
        0 => {
            case.operands.pop();
        }
        1 if case.operands.len() < 4 => case.operands.push(Some(Operand::vector(&[1]))),
        _ => {
            if let Some(last) = case.operands.last_mut() {
                *last = None;
            }
        }
    }
    Ok(())
}

fn change_outputs(case: &mut Single, u: &mut Unstructured) -> Result<()> {
    if case.version().is_some_and(|version| version.has_outputs) {
        case.outputs = u.int_in_range(1..=5)?;
    }
    Ok(())
}

/// Gives the second operand, the parameter after the data, another rank.
fn reshape_parameter(case: &mut Single, u: &mut Unstructured) -> Result<()> {
    if let Some(Some(shape)) = case.operands.get_mut(1) {
        let length = element_count(&shape.dims).and_then(|count| i64::try_from(count).ok()).unwrap_or(0);
        shape.dims = match (length, u.int_in_range(0_u8..=2)?) {
            (1, 0) => vec![],
            (_, 1) => vec![1, length],
            _ => vec![length],
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::case::Features;

    #[test]
    fn a_mutated_case_is_another_one_of_the_notation_and_the_same_for_the_same_seed() {
        let generator = Generator::new(crate::operator::OPERATORS.to_vec());
        for index in 0..3000 {
            let case = generator.case(3, index).case;
            let mutated = generator.mutate(&case, index);
            assert_ne!(mutated, case);
            assert_eq!(mutated, generator.mutate(&case, index));
            assert_eq!(mutated.to_string().parse().as_ref(), Ok(&mutated), "{mutated}");
            // The expectation can always be computed.
            let _ = mutated.expectation(&mutated.tensors());
        }
    }

    #[test]
    fn from_one_case_mutation_reaches_every_version_wiring_and_most_types() {
        let generator = Generator::new(vec!["Reshape".parse().unwrap()]);
        let mut case: Case = "Reshape@28 float[2,3] int64[1]{6}".parse().unwrap();
        let mut seen: [BTreeSet<String>; 4] = Default::default();
        for seed in 0..20_000 {
            case = generator.mutate(&case, seed);
            assert_eq!(case.subject(), "Reshape");
            seen[0].insert(case.version(0).unwrap().since.to_string());
            for operand in &case.sources {
                seen[1].insert(operand.wiring.to_string());
                seen[2].insert(operand.element_type.to_string());
            }
            seen[3].insert(Features::of(&case).to_string());
        }
        assert_eq!((seen[0].len(), seen[1].len(), seen[2].len()), (9, 10, 26));
        assert!(seen[3].len() > 5000, "{} sets of features", seen[3].len());
    }

    #[test]
    fn crossing_over_takes_parts_of_both() {
        let generator = Generator::new(crate::operator::OPERATORS.to_vec());
        let first: Case = "Flatten@9 axis=2 float[2,3]".parse().unwrap();
        let second: Case = "Flatten@25 axis=-1 int8[7]:constant".parse().unwrap();
        let crossed: BTreeSet<String> =
            (0..64).map(|seed| generator.cross_over(&first, &second, seed).to_string()).collect();
        for line in
            ["Flatten@25 axis=2 float[2,3]", "Flatten@9 axis=-1 float[2,3]", "Flatten@9 axis=2 int8[7]:constant"]
        {
            assert!(crossed.contains(line), "{crossed:#?}");
        }
    }

    #[test]
    fn each_simplification_is_simpler_until_there_is_nothing_simpler() {
        let generator = Generator::new(crate::operator::OPERATORS.to_vec());
        for index in 0..40 {
            let mut case = generator.case(1, index).case;
            let mut steps = 0;
            while !shrink::candidates(&case).is_empty() {
                let simpler = generator.simplify(&case, steps);
                let complexity = |case: &Case| shrink::complexity(&case.single().unwrap());
                assert!(complexity(&simpler) < complexity(&case), "{simpler} of {case}");
                (case, steps) = (simpler, steps + 1);
                assert!(steps < 1000, "{case} is not reached in {steps} steps");
            }
            assert_eq!(generator.simplify(&case, steps), case, "there is nothing simpler");
        }
    }
}
