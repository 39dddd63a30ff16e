//! The axes of Squeeze and Unsqueeze: an attribute at first, an input in later versions.

use super::{Aim, Answer, AttributeSpec, Call, Drawing, Expectation, InputSpec, Rule, Version, axis, boundary_axes};
use crate::tensor::ElementType;

/// The name of the attribute or of the input.
pub(super) const AXES: &str = "axes";

/// The version that introduced axes counted from the back.
pub(super) const NEGATIVE_SINCE: u8 = 11;

/// The version that made the attribute an input.
pub(super) const INPUT_SINCE: u8 = 13;

/// The version that asks for a tensor of rank 1. Earlier versions ask for a list.
pub(super) const VECTOR_SINCE: u8 = 23;

/// The versions of both operators. Those below [`INPUT_SINCE`] have the attributes, and the data as their only input.
pub(super) const fn versions(attributes: &'static [AttributeSpec], inputs: &'static [InputSpec]) -> [Version; 7] {
    let (data, _) = inputs.split_at(1);
    [
        Version::new(1, ElementType::up_to(ElementType::Complex128), attributes, data),
        Version::new(NEGATIVE_SINCE, ElementType::up_to(ElementType::Complex128), attributes, data),
        Version::new(INPUT_SINCE, ElementType::up_to(ElementType::Bfloat16), &[], inputs),
        Version::new(21, ElementType::up_to(ElementType::Uint4), &[], inputs),
        Version::new(VECTOR_SINCE, ElementType::up_to(ElementType::Float4e2m1), &[], inputs),
        Version::new(24, ElementType::up_to(ElementType::Float8e8m0), &[], inputs),
        Version::new(25, ElementType::up_to(ElementType::Uint2), &[], inputs),
    ]
}

/// The rules on axes that both operators have, each under its own name.
pub(super) struct AxesRules {
    /// An axis that the tensor does not have.
    pub(super) range: Rule,
    /// A negative axis below [`NEGATIVE_SINCE`].
    pub(super) negative: Rule,
    /// A tensor of axes whose rank is not 1.
    pub(super) rank: Rule,
}

/// The axes of a call, if it has any.
pub(super) fn of(call: &Call) -> Option<Vec<i64>> {
    if call.since() < INPUT_SINCE { call.ints(AXES).map(<[i64]>::to_vec) } else { call.integers(1) }
}

/// The places of the axes in a tensor of this rank, counted from the front and in ascending order; `None` if an axis is out of
/// range.
pub(super) fn places(axes: &[i64], rank: usize) -> Option<Vec<usize>> {
    let mut places: Vec<usize> = axes.iter().map(|&value| axis(value, rank)).collect::<Option<_>>()?;
    places.sort_unstable();
    Some(places)
}

/// The expectation of a call with these axes. `by_list` is the expectation for a list of the same axes in a version that counts
/// negative axes from the back.
pub(super) fn demanded(call: &Call, rules: &AxesRules, axes: &[i64], by_list: Expectation) -> Expectation {
    let lenient = |rule| Expectation::Reject { rule, lenient: by_list.outputs().map(<[_]>::to_vec) };
    let is_vector = call.since() < INPUT_SINCE || call.input(1).is_none_or(|input| input.rank() == 1);
    match call.since() {
        // V16: the lenient reading counts from the back.
        ..NEGATIVE_SINCE if axes.iter().any(|&axis| axis < 0) => lenient(rules.negative),
        _ if is_vector => by_list,
        // V3: the obvious reading takes the values as a list.
        ..VECTOR_SINCE => {
            Expectation::unspecified(rules.rank, by_list.into_answers().into_iter().chain([Answer::Refusal]))
        }
        _ => lenient(rules.rank),
    }
}

/// `count` of these places in any order, or all places if there are fewer.
pub(super) fn some_of(d: &mut Drawing, mut places: Vec<i64>, count: usize) -> arbitrary::Result<Vec<i64>> {
    let count = count.min(places.len());
    (0..count).map(|_| Ok(places.swap_remove(d.u.choose_index(places.len())?))).collect()
}

/// Adds one of the places a second time, if there is one.
pub(super) fn repeat_one(d: &mut Drawing, places: &mut Vec<i64>) -> arbitrary::Result<()> {
    if !places.is_empty() {
        let (again, position) = (d.choose(places)?, d.u.int_in_range(0..=places.len())?);
        places.insert(position, again);
    }
    Ok(())
}

/// Axes that mean these places of a tensor of this rank. If the aim is to break a rule on single axes, one axis breaks it. Without
/// places, this is the only axis.
pub(super) fn meaning(d: &mut Drawing, rules: &AxesRules, places: &[i64], rank: i64) -> arbitrary::Result<Vec<i64>> {
    let may_be_negative = d.since() >= NEGATIVE_SINCE;
    let mut axes = Vec::with_capacity(places.len());
    for place in places {
        axes.push(if may_be_negative && d.ratio(1, 2)? { place - rank } else { *place });
    }
    let is_bent = |axis: &i64| match d.aim {
        Aim::Break(rule) if rule == rules.range => *axis >= rank || may_be_negative && *axis < -rank,
        Aim::Break(rule) if rule == rules.negative => *axis < 0,
        _ => false,
    };
    let bent: Vec<i64> = boundary_axes(rank).into_iter().filter(is_bent).collect();
    if bent.is_empty() {
        return Ok(axes);
    }
    if axes.is_empty() {
        axes.push(0);
    }
    let position = d.u.choose_index(axes.len())?;
    // A negative axis that later versions allow is the one that a runtime is most likely to accept.
    let is_lenient = d.breaks(rules.negative) && d.ratio(3, 4)?;
    axes[position] = if is_lenient { axes[position] - rank.max(1) } else { d.choose(&bent)? };
    Ok(axes)
}

/// Arbitrary axes.
pub(super) fn wild(d: &mut Drawing, count: usize, rank: i64) -> arbitrary::Result<Vec<i64>> {
    let boundary = boundary_axes(rank);
    (0..count).map(|_| if d.ratio(1, 2)? { d.between(-rank - 1, rank) } else { d.choose(&boundary) }).collect()
}

/// Adds the data, and the axes as an attribute or an input; `None` leaves the axes out.
pub(super) fn give(d: &mut Drawing, rules: &AxesRules, axes: Option<Vec<i64>>) -> arbitrary::Result<()> {
    if d.since() < INPUT_SINCE {
        d.ints(AXES, |_| Ok(axes))?;
        d.data();
        return Ok(());
    }
    d.data();
    match axes {
        None => {
            d.skip();
            d.trim()
        }
        Some(axes) if d.breaks(rules.rank) => d.vector_of_other_rank(&axes),
        Some(axes) => {
            d.vector(&axes);
            Ok(())
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Attribute, AttributeValue, Operator};
    use super::*;
    use crate::tensor::Tensor;

    /// Every opset that introduced a version, and the newest opset.
    pub(in super::super) const OPSETS: [u8; 8] = [1, 11, 13, 21, 23, 24, 25, 28];

    /// Data of these dims with distinct elements.
    pub(in super::super) fn data(dims: &[i64]) -> Tensor {
        let count = crate::tensor::element_count(dims).unwrap();
        Tensor::from_element_bits(ElementType::Int16, dims.to_vec(), (0..count as u128).map(|n| n * 3)).unwrap()
    }

    /// The answer that is the data of the dims `from` with the dims `to`.
    pub(in super::super) fn answer(from: &[i64], to: &[i64]) -> Vec<Tensor> {
        vec![data(from).with_dims(to.to_vec()).unwrap()]
    }

    /// The expectation for data of these dims and for axes. The axes are an attribute or an input, as the opset has it.
    pub(in super::super) fn with_axes(operator: &Operator, opset: u8, dims: &[i64], axes: &[i64]) -> Expectation {
        if opset >= INPUT_SINCE {
            return with_tensor(operator, opset, dims, Tensor::vector(axes));
        }
        let attribute = Attribute { name: AXES.to_owned(), value: AttributeValue::Ints(axes.to_vec()) };
        operator.evaluate(opset, &[attribute], &[Some(data(dims))], 1)
    }

    /// The expectation for data of these dims and a tensor of axes.
    pub(in super::super) fn with_tensor(operator: &Operator, opset: u8, dims: &[i64], axes: Tensor) -> Expectation {
        operator.evaluate(opset, &[], &[Some(data(dims)), Some(axes)], 1)
    }

    #[test]
    fn places_count_from_the_front_in_ascending_order() {
        assert_eq!(places(&[-1, 0, -3], 3), Some(vec![0, 0, 2]));
        assert_eq!(places(&[], 0), Some(vec![]));
        for axis in [3, -4, 1 << 32, i64::MIN, i64::MAX] {
            assert_eq!(places(&[0, axis], 3), None);
        }
    }
}
