//! Simpler cases than a given one: each a single step of the minimizer, the boldest first.
//!
//! Every step makes a case strictly simpler by [`complexity`], so any walk along such steps ends.

mod graph;

use std::collections::HashSet;

use super::target::TargetPlace;
use super::{Case, Contents, Declared, Encoding, Fed, Operand, Single, Wiring};
use crate::operator::{Attribute, AttributeValue, NEWEST_OPSET, Role, Version};
use crate::tensor::{ElementType, Tensor, element_count, product};

/// The complexity of a case. The fields are compared in order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Complexity(Vec<u128>);

/// Wirings, the plainest first.
const WIRINGS: [Wiring; 10] = [
    Wiring::Input(Declared::Static),
    Wiring::Initializer(Encoding::Raw),
    Wiring::Constant(Encoding::Raw),
    Wiring::Input(Declared::Symbolic),
    Wiring::Input(Declared::Shared),
    Wiring::Initializer(Encoding::Typed),
    Wiring::Constant(Encoding::Typed),
    Wiring::Default(Fed::Nothing),
    Wiring::Default(Fed::Operand),
    Wiring::Input(Declared::Unranked),
];

/// The complexity of a case. Its fields are, in order: validity of the model, old form of the operator, outputs, operands,
/// attributes, ranks, types, wirings, contents, opset, and at last values.
pub fn complexity(case: &Single) -> Complexity {
    let operands = || case.operands.iter().flatten();
    let sum = |of: &dyn Fn(&Operand) -> u128| operands().map(of).sum::<u128>();
    let is_shape = |place: &usize| *place > 0 || case.is_parameter(*place);
    let shapes = || {
        let operands = (0..case.operands.len()).filter(is_shape).filter_map(|place| case.operands[place].as_ref());
        operands.filter_map(Operand::numbers)
    };
    let values = case.attributes.iter().map(|attribute| match &attribute.value {
        AttributeValue::Int(value) => number(*value),
        AttributeValue::Ints(values) => values.iter().map(|&v| 1 + entry_rank(v)).sum(),
        AttributeValue::Float(_) | AttributeValue::String(_) => 0,
        AttributeValue::Tensor(tensor) => tensor.rank() as u128,
    });
    Complexity(vec![
        // An invalid model is no evidence of anything, so it is more complex than every valid model.
        u128::from(is_invalid(case)),
        // The old form of an operator is more complex than the new form, whatever else differs.
        u128::from(is_old_form(case)),
        case.outputs as u128,
        case.operands.len() as u128,
        // An operand that is left out is simpler the later it comes.
        case.operands.iter().rev().zip(1..).map(|(operand, place)| if operand.is_none() { place } else { 0 }).sum(),
        case.attributes.len() as u128,
        case.attributes.iter().filter(|attribute| attribute.name != UNDECLARED).count() as u128,
        sum(&|operand| rank(operand.dims.len())) + shapes().map(|shape| rank(shape.len())).sum::<u128>(),
        case.target().map_or(0, |target| rank(target.len())),
        case.operands
            .iter()
            .enumerate()
            .filter_map(|(i, o)| Some(type_rank(case.is_data(i), o.as_ref()?.element_type)))
            .sum::<u128>()
            + case.attributes.iter().map(tensor_rank).sum::<u128>(),
        sum(&|operand| wiring_rank(operand.wiring)),
        sum(&|operand| contents_rank(&operand.contents)),
        u128::from(NEWEST_OPSET - case.opset.min(NEWEST_OPSET)),
        sum(&|operand| operand.dims.iter().map(|&dim| size(dim)).sum())
            + shapes().flatten().map(entry_rank).sum::<u128>()
            + values.sum::<u128>(),
        // Cases whose numbers have the same sum are compared number by number, to break the tie.
        tie(case),
    ])
}

/// Whether the wiring of an operand makes the model invalid.
fn is_invalid(case: &Single) -> bool {
    Case::from(case.clone()).rule_on_the_graph().is_some()
}

/// Whether the target shape is an attribute, as in old versions of the operator.
fn is_old_form(case: &Single) -> bool {
    let version = case.version();
    version.is_some_and(|v| v.attributes.iter().any(|spec| spec.role == Role::TargetShape))
}

fn tie(case: &Single) -> u128 {
    let dims = case.operands.iter().flatten().flat_map(|operand| operand.dims.iter().map(|&dim| size(dim)));
    let target = case.target().unwrap_or_default().into_iter().map(entry_rank);
    dims.chain(target).take(16).fold(0, |tie, value| tie << 7 | value.min(127))
}

/// Rank 1 is the simplest, since scalars and empty shapes are special; then 0, then 2 and so on.
fn rank(rank: usize) -> u128 {
    match rank {
        1 => 0,
        0 => 1,
        more => more as u128,
    }
}

/// The magnitudes from 2^31 on at which behaviour changes.
const BOUNDARIES: [u64; 7] = [1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 62, i64::MAX as u64, 1 << 63];

/// The smaller, the simpler; but beyond 31 bits, all other magnitudes are less simple than a boundary. A runtime that takes only the
/// low bits of a number makes a tensor of any size of the others.
fn magnitude(value: u64) -> u128 {
    let is_between = value > BOUNDARIES[0] && !BOUNDARIES.contains(&value);
    (u128::from(is_between) << 64) + u128::from(value)
}

/// 0, 1, -1, 2, -2 and so on: the nearer to zero, the simpler.
fn number(value: i64) -> u128 {
    magnitude(value.unsigned_abs()) * 2 - u128::from(value > 0)
}

/// An entry of a target shape: 1 is the simplest, since 0 and -1 have a meaning of their own. The others have the order of
/// `number`.
fn entry_rank(entry: i64) -> u128 {
    if entry == 1 { 0 } else { 1 + number(entry) }
}

/// A dim: 1 is the simplest, then 2 and so on. A 0 is special, so it comes after small dims that are not special.
fn size(dim: i64) -> u128 {
    match dim {
        1 => 0,
        0 => 16,
        more => magnitude(more.unsigned_abs()),
    }
}

/// The complexity of the type of a tensor in an attribute.
fn tensor_rank(attribute: &Attribute) -> u128 {
    match &attribute.value {
        AttributeValue::Tensor(tensor) => type_rank(true, tensor.element_type()),
        _ => 0,
    }
}

/// Float is the plainest type for data, and int64 for a parameter. The others follow in the order in which operators began to
/// accept them.
fn type_rank(is_data: bool, element_type: ElementType) -> u128 {
    let plain = if is_data { ElementType::Float } else { ElementType::Int64 };
    if element_type == plain { 0 } else { 1 + element_type as u128 }
}

fn wiring_rank(wiring: Wiring) -> u128 {
    WIRINGS.iter().position(|&plainer| plainer == wiring).unwrap_or(0) as u128
}

fn contents_rank(contents: &Contents) -> u128 {
    match contents {
        Contents::Count | Contents::Bits(_) | Contents::Strings(_) => 0,
        Contents::Special => 1,
        Contents::Random(seed) => 2 + u128::from(*seed),
    }
}

/// Takes steps as long as the simpler case still shows the defect. `first` returns the place of the first candidate that shows it.
/// After [`MOST_STEPS`] the case is simple enough.
pub(crate) fn reduce(mut case: Case, first: &mut dyn FnMut(&[Case]) -> Option<usize>) -> Case {
    let mut tried = HashSet::new();
    for _ in 0..MOST_STEPS {
        let mut steps = candidates(&case);
        let mut known = HashSet::new();
        steps.retain(|candidate| {
            let text = candidate.to_string();
            !tried.contains(&text) && known.insert(text)
        });
        let place = first(&steps);
        let done = place.map_or(steps.len(), |place| place + 1);
        tried.extend(steps[..done].iter().map(Case::to_string));
        match place {
            Some(place) => case = steps.swap_remove(place),
            None => break,
        }
    }
    case
}

/// The most steps of a case towards a simpler one. Numbers that depend on each other could come nearer to zero in 2^40 steps.
const MOST_STEPS: usize = 1000;

/// A number whose low 32 bits are 1.
const BEYOND_32_BITS: i64 = (1 << 32) + 1;

/// Like [`reduce`], but starts from the first of the simplest cases that shows the defect, if there is one. Then nothing about the
/// given case matters.
pub(crate) fn from_simplest(case: &Case, first: &mut dyn FnMut(&[Case]) -> Option<usize>) -> Case {
    let mut simplest = simplest(case);
    let start = first(&simplest).map_or_else(|| case.clone(), |place| simplest.swap_remove(place));
    reduce(start, first)
}

/// The simplest cases for a start. For a graph, they are its nodes, each alone. For one node, they are the simplest valid cases of
/// its operator at each opset from the newest down to its own, since a runtime may lack the newest. If the case has a number beyond
/// 32 bits, the same cases follow with a target shape whose low 32 bits are valid.
fn simplest(case: &Case) -> Vec<Case> {
    let Some(Single { operator, opset: oldest, .. }) = case.single() else { return case.each_alone() };
    let lines = |opset: u8| match operator.version_at(opset).and_then(Version::target_input) {
        Some(_) => {
            ["", ":initializer"].map(|wiring| format!("{operator}@{opset} float[1] int64[1]{{1}}{wiring}")).to_vec()
        }
        None => vec![format!("{operator}@{opset} float[1]")],
    };
    let opsets = (oldest..=NEWEST_OPSET).rev();
    let mut cases: Vec<Case> = opsets.flat_map(lines).filter_map(|line| line.parse().ok()).collect();
    // If the case of these lines is not valid for an operator, that operator has no trivial case.
    cases.retain(|case| case.expectation(&case.tensors()).outputs().is_some());
    if !case.truncated().is_empty() {
        let beyond: Vec<Case> = cases.iter().filter_map(|case| with_target(case, &[BEYOND_32_BITS])).collect();
        cases.extend(beyond);
    }
    cases
}

/// Every single step from a case, each strictly simpler, the boldest first. A case of one node has no step twice.
pub fn candidates(case: &Case) -> Vec<Case> {
    match case.single() {
        Some(single) => of_single(&single).into_iter().map(Case::from).collect(),
        None => graph::candidates(case),
    }
}

pub(super) fn of_single(case: &Single) -> Vec<Single> {
    let mut found = Vec::new();
    operand_counts(case, &mut found);
    attributes(case, &mut found);
    ranks(case, &mut found);
    targets(case, &mut found);
    together(case, &mut found);
    plainness(case, &mut found);
    sizes(case, &mut found);
    let own = complexity(case);
    // Beside a dim of 0, large dims hold no elements. Without the 0, memory would be needed for their elements.
    let most = elements(case).max(64);
    let mut simpler: Vec<Single> = Vec::new();
    for candidate in found {
        if elements(&candidate) <= most && complexity(&candidate) < own && !simpler.contains(&candidate) {
            simpler.push(candidate);
        }
    }
    simpler
}

/// The number of elements of all operands together.
fn elements(case: &Single) -> usize {
    let counts = case.operands.iter().flatten().map(|operand| element_count(&operand.dims).unwrap_or(usize::MAX));
    counts.fold(0, usize::saturating_add)
}

fn with(case: &Single, change: impl FnOnce(&mut Single)) -> Single {
    let mut changed = case.clone();
    change(&mut changed);
    changed
}

fn operand_counts(case: &Single, found: &mut Vec<Single>) {
    for index in (0..case.operands.len()).rev() {
        found.push(with(case, |c| {
            c.operands.remove(index);
        }));
    }
    for index in 1..case.operands.len() {
        if case.operands[index - 1].is_none() {
            found.push(with(case, |c| c.operands.swap(index - 1, index)));
        }
    }
}

fn attributes(case: &Single, found: &mut Vec<Single>) {
    let version = case.version();
    let declared = |name: &str| version.is_some_and(|v| v.attributes.iter().any(|spec| spec.name == name));
    for (index, attribute) in case.attributes.iter().enumerate() {
        let without = with(case, |c| {
            c.attributes.remove(index);
        });
        // An attribute may be needed only because of the dims, so both change in one step.
        let single = with(&all_ones(&without), |c| {
            if let Some(data) = c.data_mut() {
                data.set_dims(vec![1]);
            }
        });
        found.extend([single, all_ones(&without), without]);
        // The name of an undeclared attribute hardly ever matters.
        if !declared(&attribute.name) {
            let anonymous = Attribute { name: UNDECLARED.to_owned(), value: AttributeValue::Int(0) };
            found.push(with(case, |c| c.attributes[index] = anonymous));
        }
    }
}

/// The case with all dims of the data and all entries of the target shape set to 1.
fn all_ones(case: &Single) -> Single {
    with(case, |c| {
        if let Some(data) = c.data_mut() {
            data.set_dims(vec![1; data.dims.len()]);
        }
        if let Some(target) = c.target() {
            c.set_target(&vec![1; target.len()]);
        }
    })
}

/// The case of one node with another target shape, if it has one.
pub fn with_target(case: &Case, target: &[i64]) -> Option<Case> {
    Some(targeted(&case.single()?, target).into())
}

fn targeted(case: &Single, target: &[i64]) -> Single {
    with(case, |c| c.set_target(target))
}

/// The dims with another size in one place.
fn with_size(dims: &[i64], place: usize, size: i64) -> Vec<i64> {
    let mut dims = dims.to_vec();
    dims[place] = size;
    dims
}

/// The name that the minimizer gives to an undeclared attribute.
const UNDECLARED: &str = "undeclared";

fn ranks(case: &Single, found: &mut Vec<Single>) {
    let target = case.target();
    for (place, operand) in case.operands.iter().enumerate() {
        let Some(operand) = operand else { continue };
        let set = |dims: Vec<i64>| {
            with(case, |c| {
                if let Some(Some(operand)) = c.operands.get_mut(place) {
                    operand.set_dims(dims);
                }
            })
        };
        let dims = &operand.dims;
        if dims.len() > 1 {
            found.push(set(dims[..dims.len() / 2].to_vec()));
            found.push(set(dims[dims.len() / 2..].to_vec()));
        }
        if case.is_data(place) {
            found.push(set(vec![1]));
            found.push(set(vec![]));
        }
        if !case.is_data(place) && dims.len() == 1 && operand.numbers().is_some() {
            // Its length changes with the target, in `targets`.
            continue;
        }
        for (index, pair) in dims.windows(2).enumerate() {
            // Two dims are merged, which keeps the number of elements.
            if let Some(merged) = pair[0].checked_mul(pair[1]).filter(|&merged| merged > 1) {
                found.push(set([&dims[..index], &[merged], &dims[index + 2..]].concat()));
            }
        }
        for (index, three) in dims.windows(3).enumerate() {
            // Or the two dims on both sides of a 0 are merged.
            if let (&[before, 0, after], Some(merged)) = (three, three[0].checked_mul(three[2]))
                && before > 0
                && after > 0
            {
                found.push(set([&dims[..index], &[0, merged], &dims[index + 3..]].concat()));
            }
        }
        for index in 0..dims.len() {
            let without = |dims: &[i64]| [&dims[..index], &dims[index + 1..]].concat();
            found.push(set(without(dims)));
            // The target loses the removed dim too: an equal entry is removed, or an entry is divided by the dim.
            for (at, &entry) in target.iter().flatten().enumerate() {
                let own = target.as_deref().unwrap_or_default();
                let shorter = (entry == dims[index]).then(|| [&own[..at], &own[at + 1..]].concat());
                let smaller = scale(entry, dims[index], 1).map(|scaled| {
                    let mut target = own.to_vec();
                    target[at] = scaled;
                    target
                });
                for target in shorter.into_iter().chain(smaller) {
                    let mut both = set(without(dims));
                    both.set_target(&target);
                    found.push(both);
                }
            }
        }
    }
}

/// A number with one of its factors exchanged for another.
fn scale(number: i64, factor: i64, by: i64) -> Option<i64> {
    let rest = number.checked_div(factor).filter(|_| number != 0 && number % factor == 0)?;
    rest.checked_mul(by)
}

fn targets(case: &Single, found: &mut Vec<Single>) {
    let Some(target) = case.target() else {
        // A target shape that is not int64 has no readable entries, and may have no effect.
        if let Some(TargetPlace::Operand(place)) = case.target_place() {
            found.push(with(case, |c| {
                let wiring = Wiring::Initializer(Encoding::Raw);
                c.operands[place] = Some(Operand { wiring, ..Operand::vector(&[1]) });
            }));
        }
        return;
    };
    let data = case.data().map(|data| data.dims.clone()).unwrap_or_default();
    let count = product(data.iter().copied()).and_then(|n| i64::try_from(n).ok());
    // The last is the same target with explicit elements.
    let mut simple = vec![vec![], vec![1], vec![-1], vec![0], data.clone(), target.clone()];
    simple.extend(count.map(|count| vec![count]));
    simple.extend([&target[..target.len() / 2], &target[target.len() / 2..]].map(<[i64]>::to_vec));
    for index in 0..target.len() {
        simple.push([&target[..index], &target[index + 1..]].concat());
    }
    for (index, pair) in target.windows(2).enumerate() {
        // Two entries are merged, which keeps the number of elements asked for.
        simple
            .extend(pair[0].checked_mul(pair[1]).map(|one| [&target[..index], &[one], &target[index + 2..]].concat()));
    }
    for target in simple {
        found.push(targeted(case, &target));
    }
    if target.is_empty() {
        // A runtime may need a non-empty target shape at load, so the wiring changes in the same step.
        let filled = with(&targeted(case, &[1]), |c| {
            c.operands.iter_mut().skip(1).flatten().for_each(|o| o.wiring = Wiring::Initializer(Encoding::Raw));
        });
        found.push(filled);
    }
}

/// Steps that change several operands or parameters at once, because a change of one of them alone would break a rule.
fn together(case: &Single, found: &mut Vec<Single>) {
    let parameters = case.parameters();
    let has_target = case.target_place().is_some();
    let data: Vec<usize> = (0..case.operands.len()).filter(|&place| case.is_data(place)).collect();
    let rank = case.data().map_or(0, |data| data.dims.len());
    let on_data = |c: &mut Single, change: &dyn Fn(&mut Operand)| {
        for &place in &data {
            if let Some(operand) = &mut c.operands[place] {
                change(operand);
            }
        }
    };
    // Removes the entry of an axis from each parameter: one entry from a list with one per axis, two from a list with two per axis.
    let without_entry = |c: &mut Single, entry: usize, length: usize| {
        for &place in &parameters {
            let Some(mut numbers) = c.numbers(place) else { continue };
            if numbers.len() == 2 * length {
                numbers.remove(length + entry);
            }
            if entry < numbers.len() && (numbers.len() == length || numbers.len() + 1 == 2 * length) {
                numbers.remove(entry);
            }
            c.set_numbers(place, &numbers);
        }
    };
    if data.len() > 1 || !has_target {
        for axis in 0..rank {
            let without_axis = |operand: &mut Operand| {
                if operand.dims.len() == rank {
                    operand.set_dims([&operand.dims[..axis], &operand.dims[axis + 1..]].concat());
                }
            };
            found.push(with(case, |c| {
                on_data(c, &without_axis);
                without_entry(c, axis, rank);
            }));
            found.push(with(case, |c| on_data(c, &without_axis)));
            let own = case.data().map_or(1, |data| data.dims[axis]);
            for simpler in [1, 2, 3].into_iter().filter(|&simpler| size(simpler) < size(own)) {
                let set = |operand: &mut Operand| {
                    if operand.dims.get(axis) == Some(&own) {
                        operand.set_dims(with_size(&operand.dims, axis, simpler));
                    }
                };
                found.push(with(case, |c| on_data(c, &set)));
                // An entry of a parameter that equals the dim changes with it.
                found.push(with(case, |c| {
                    on_data(c, &set);
                    for &place in &parameters {
                        let numbers = c.numbers(place).unwrap_or_default();
                        let scaled: Vec<i64> = numbers.iter().map(|&n| if n == own { simpler } else { n }).collect();
                        if scaled != numbers {
                            c.set_numbers(place, &scaled);
                        }
                    }
                }));
            }
        }
    }
    if !has_target {
        entries(case, &parameters, &without_entry, found);
    }
    let mut types = vec![ElementType::Float, ElementType::Int64];
    types.extend(ElementType::ALL);
    for element_type in types.into_iter().filter(|_| data.len() > 1) {
        found.push(with(case, |c| on_data(c, &|operand| operand.retype(element_type))));
    }
    // The index operands share a type variable, so all of them change.
    found.push(with(case, |c| {
        for &place in &parameters {
            if let TargetPlace::Operand(place) = place
                && let Some(operand) = &mut c.operands[place]
            {
                operand.retype_numbers(ElementType::Int64);
            }
        }
    }));
    for (index, attribute) in case.attributes.iter().enumerate() {
        if let AttributeValue::Tensor(_) = attribute.value
            && let Ok(one) = Tensor::from_element_bits(ElementType::Float, vec![1], [1])
        {
            found.push(with(case, |c| c.attributes[index].value = AttributeValue::Tensor(one)));
        }
    }
    if case.outputs > 1 {
        found.push(with(case, |c| c.outputs -= 1));
        let last = case.outputs - 1;
        found.push(with(case, |c| {
            c.outputs -= 1;
            without_entry(c, last, case.outputs);
        }));
        found.push(with(case, |c| {
            c.outputs = 1;
            for &place in &parameters {
                let all = c.numbers(place).unwrap_or_default().iter().fold(0_i64, |sum, &n| sum.saturating_add(n));
                c.set_numbers(place, &[all]);
            }
        }));
    }
}

/// Fewer entries of the parameters, and simpler ones.
fn entries(
    case: &Single,
    parameters: &[TargetPlace],
    without_entry: &dyn Fn(&mut Single, usize, usize),
    found: &mut Vec<Single>,
) {
    let rank = case.data().map_or(0, |data| data.dims.len());
    for &place in parameters {
        let numbers = case.numbers(place).unwrap_or_default();
        if numbers.len() > MOST_ENTRIES {
            for half in [&numbers[..numbers.len() / 2], &numbers[numbers.len() / 2..]] {
                found.push(with(case, |c| c.set_numbers(place, half)));
            }
            continue;
        }
        found.extend(both_nearer(&numbers).into_iter().map(|nearer| with(case, |c| c.set_numbers(place, &nearer))));
        for entry in 0..numbers.len() {
            found.push(with(case, |c| without_entry(c, entry, numbers.len())));
            found.push(with(case, |c| {
                let mut fewer = numbers.clone();
                fewer.remove(entry);
                c.set_numbers(place, &fewer);
            }));
            for simpler in [1].into_iter().chain(nearer(numbers[entry], rank)) {
                found.push(with(case, |c| {
                    let mut nearer = numbers.clone();
                    nearer[entry] = simpler;
                    c.set_numbers(place, &nearer);
                }));
            }
        }
    }
}

/// The most entries of a parameter that are changed one by one. Longer lists are halved first.
const MOST_ENTRIES: usize = 32;

/// The case at a newer opset with its target shape as an operand instead of an attribute, in two wirings. Empty if the versions do
/// not differ in this way.
fn with_target_operand(case: &Single, opset: u8) -> Vec<Single> {
    let (Some(own), Some(newer)) = (case.version(), case.operator.version_at(opset)) else {
        return vec![];
    };
    let attribute = own.attributes.iter().find(|spec| spec.role == Role::TargetShape);
    let place = newer.target_input();
    let (Some(attribute), Some(place), Some(target)) = (attribute, place, case.target()) else { return vec![] };
    if case.operands.len() != place {
        return vec![];
    }
    let wirings = [Wiring::Input(Declared::Static), Wiring::Initializer(Encoding::Raw)];
    let moved = wirings.map(|wiring| {
        let mut moved = Single { opset, ..case.clone() };
        moved.attributes.retain(|a| a.name != attribute.name);
        moved.operands.push(Some(Operand { wiring, ..Operand::vector(&target) }));
        moved
    });
    moved.to_vec()
}

/// Dims above this value matter only by their size.
const VAST: i64 = 1 << 32;

fn plainness(case: &Single, found: &mut Vec<Single>) {
    for opset in (case.opset + 1..=NEWEST_OPSET).rev() {
        found.push(Single { opset, ..case.clone() });
        found.extend(with_target_operand(case, opset));
    }
    for (place, operand) in case.operands.iter().enumerate() {
        let Some(operand) = operand else { continue };
        let set = |change: &dyn Fn(&mut Operand)| {
            with(case, |c| {
                if let Some(Some(operand)) = c.operands.get_mut(place) {
                    change(operand);
                }
            })
        };
        let is_data = case.is_data(place);
        let mut types = vec![ElementType::Float, ElementType::Int64];
        types.extend(ElementType::ALL);
        for element_type in types {
            if type_rank(is_data, element_type) < type_rank(is_data, operand.element_type) {
                found.push(set(&|o| o.retype(element_type)));
                // A tensor larger than the address range in bytes may need larger dims in another type.
                if operand.dims.iter().any(|&dim| dim > VAST) {
                    found.push(set(&|o| {
                        o.retype(element_type);
                        o.dims.iter_mut().filter(|dim| **dim > VAST).for_each(|dim| *dim = 1 << 62);
                    }));
                }
            }
        }
        for wiring in WIRINGS {
            if wiring_rank(wiring) < wiring_rank(operand.wiring) {
                found.push(set(&|o| o.wiring = wiring));
            }
        }
        if contents_rank(&operand.contents) > 0 {
            found.push(set(&|o| o.contents = Contents::Count));
            found.push(set(&|o| o.contents = Contents::Special));
            found.push(set(&|o| o.contents = Contents::Random(0)));
        }
    }
}

/// Numbers nearer to zero that may show the same defect: the simplest ones, the boundaries, and the value less a power of two.
fn nearer(value: i64, rank: usize) -> Vec<i64> {
    let rank = i64::try_from(rank).unwrap_or(0);
    let sign = value.signum();
    let mut values = vec![0, 1, -1, 2, -2, rank, -rank, rank + 1, -rank - 1, 3, -3];
    // Behaviour changes at powers of two and their neighbours. Any other bound is approached bit by bit, since there may be 2^63
    // steps of one. Numbers beyond 31 bits may take long, so few of them are tried.
    let powers = || (2..=62).map(|bit| 1_i64 << bit);
    if value.unsigned_abs() > BOUNDARIES[0] {
        values.extend(BOUNDARIES.iter().filter_map(|&boundary| Some(sign * i64::try_from(boundary).ok()?)));
    } else {
        values.extend(powers().flat_map(|power| [power * sign, (power + 1) * sign, (power - 1) * sign]));
    }
    values.extend(powers().rev().filter_map(|power| value.checked_sub(power * sign)).filter(|v| v.signum() == sign));
    values.push(value - sign);
    values.retain(|&v| number(v) < number(value));
    values
}

/// The numbers with two vast ones among them moved towards zero by the same amount. A defect may need their sum, as that of two pads,
/// or their difference, so neither can come nearer to zero alone.
fn both_nearer(numbers: &[i64]) -> Vec<Vec<i64>> {
    let vast = |from: usize| (from..numbers.len()).filter(|&place| numbers[place].unsigned_abs() > VAST.unsigned_abs());
    let pairs = vast(0).flat_map(|first| vast(first + 1).map(move |second| (first, second)));
    pairs
        .flat_map(|(first, second)| {
            let all = numbers[first].saturating_abs().min(numbers[second].saturating_abs());
            let powers = (2..=62).rev().map(|bit| 1_i64 << bit).filter(move |&power| power < all);
            [all, all - 1].into_iter().chain(powers).filter_map(move |by| {
                let mut nearer = numbers.to_vec();
                for place in [first, second] {
                    nearer[place] = nearer[place].checked_sub(by.checked_mul(nearer[place].signum())?)?;
                }
                Some(nearer)
            })
        })
        .collect()
}

fn sizes(case: &Single, found: &mut Vec<Single>) {
    found.push(all_ones(case));
    let target = case.target();
    let rank = case.data().map_or(0, |data| data.dims.len());
    for (index, attribute) in case.attributes.iter().enumerate() {
        if let AttributeValue::Int(value) = attribute.value {
            for value in nearer(value, rank) {
                found.push(with(case, |c| c.attributes[index].value = AttributeValue::Int(value)));
            }
        }
    }
    if let Some(data) = case.data() {
        for (index, &dim) in data.dims.iter().enumerate() {
            let asked = target.iter().flatten().copied();
            let simpler = [1, 2].into_iter().chain(asked).chain([0]).chain(nearer(dim, rank));
            for simpler in simpler.filter(|&d| d >= 0 && size(d) < size(dim)) {
                let set = |c: &mut Single| {
                    if let Some(data) = c.data_mut() {
                        data.set_dims(with_size(&data.dims, index, simpler));
                    }
                };
                found.push(with(case, set));
                // An entry of the target that is a multiple of the dim changes with it.
                for (at, &entry) in target.iter().flatten().enumerate() {
                    if let Some(scaled) = scale(entry, dim, simpler) {
                        let mut target = target.clone().unwrap_or_default();
                        target[at] = scaled;
                        let mut both = with(case, set);
                        both.set_target(&target);
                        found.push(both);
                    }
                }
            }
        }
    }
    if let Some(target) = target {
        for (at, &entry) in target.iter().enumerate() {
            for simpler in [1].into_iter().chain(nearer(entry, rank)) {
                let mut target = target.clone();
                target[at] = simpler;
                found.push(with(case, |c| c.set_target(&target)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Generator;

    #[test]
    fn every_step_is_strictly_simpler_and_a_case_of_the_notation() {
        let generator = Generator::new(crate::operator::OPERATORS.to_vec());
        for index in 0..2000 {
            let case = generator.case(5, index).case.single().unwrap();
            let own = complexity(&case);
            for candidate in of_single(&case) {
                assert!(complexity(&candidate) < own, "{candidate:?} is not simpler than {case:?}");
                let candidate = Case::from(candidate);
                assert_eq!(candidate.to_string().parse().as_ref(), Ok(&candidate), "{candidate}");
            }
        }
    }

    #[test]
    fn no_step_leads_into_an_invalid_model_and_one_leads_out_of_it() {
        let generator = Generator::new(crate::operator::OPERATORS.to_vec());
        for index in 0..4000 {
            let case = generator.case(6, index).case;
            let steps = candidates(&case);
            if case.rule_on_the_graph().is_none() {
                assert!(steps.iter().all(|step| step.rule_on_the_graph().is_none()), "{case}");
                continue;
            }
            let is_wrong = |operand: &&Operand| {
                Case { sources: vec![(*operand).clone()], ..case.clone() }.rule_on_the_graph().is_some()
            };
            let wrong = |case: &Case| case.sources.iter().filter(is_wrong).count();
            let is_rewired = |step: &&Case| step.rewired(Wiring::ALL[0]) == case.rewired(Wiring::ALL[0]);
            assert!(steps.iter().filter(is_rewired).any(|step| wrong(step) < wrong(&case)), "{case}");
        }
    }

    /// The simplest form of a case of which something is true, which takes fewer steps than `most`.
    fn reduced(case: Case, most: usize, is_it: &dyn Fn(&Case) -> bool) -> Case {
        assert!(is_it(&case), "{case}");
        let mut steps = 0;
        reduce(case, &mut |candidates| {
            steps += 1;
            assert!(steps < most, "{}", candidates[0]);
            candidates.iter().position(is_it)
        })
    }

    #[test]
    fn two_numbers_that_must_stay_apart_go_towards_zero_together() {
        let case: Case =
            "Pad@28 int64[1] int64[2]{-9223372036850581504,9223372036854775807}:initializer".parse().unwrap();
        let length = |case: &Case| {
            let pads = case.sources.get(1)?.int64s().filter(|pads| pads.len() == 2)?;
            pads[0].checked_add(pads[1]).filter(|sum| (1 << 20..1 << 22).contains(sum))
        };
        let minimized = reduced(case, 100, &|case| length(case).is_some());
        assert_eq!(minimized.to_string(), "Pad@28 float[1] int64[2]{1,1048575}");
    }

    #[test]
    fn a_number_of_which_only_the_low_bits_count_becomes_a_boundary() {
        let case: Case = "ConstantOfShape@28 int64[1]{-4290938879}:initializer".parse().unwrap();
        let low_bits = |case: &Case| {
            let number = *case.sources.first()?.int64s()?.first()?;
            Some(number & 0xffff_ffff).filter(|low| number < 0 && (1..1 << 23).contains(low))
        };
        let minimized = reduced(case, 10, &|case| low_bits(case).is_some());
        assert_eq!(minimized.to_string(), "ConstantOfShape@28 int64[1]{-4294967295}");
    }

    #[test]
    fn dims_on_both_sides_of_a_zero_become_one() {
        let steps = candidates(&"Flatten@28 float[2,3,0,5]".parse().unwrap());
        assert!(steps.iter().any(|step| step.to_string() == "Flatten@28 float[2,0,15]"), "{steps:#?}");
    }

    #[test]
    fn a_default_goes_to_a_plain_input_or_initializer_first() {
        for wiring in ["default", "default(overridden)"] {
            let case: Case = format!("Flatten@28 float[1]:{wiring}").parse().unwrap();
            let steps: Vec<String> = candidates(&case).iter().map(ToString::to_string).collect();
            let place = |line: &str| steps.iter().position(|step| step == line).unwrap();
            assert!(place("Flatten@28 float[1]") < place("Flatten@28 float[1]:initializer"), "{steps:#?}");
        }
    }

    #[test]
    fn the_simplest_case_has_no_step() {
        for line in ["Shape@28", "Flatten@28", "Reshape@28"] {
            assert_eq!(candidates(&line.parse().unwrap()), []);
        }
    }
}
