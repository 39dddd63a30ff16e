//! Expand: a tensor repeated along its dims of 1, and along new dims before the first, until it has the requested shape.

use super::draw::is_laborious;
use super::{
    Aim, Call, Drawing, Expectation, InputSpec, Operator, OutputType, Role, Rule, TOO_MANY, Text, Topic, Version,
    always, boundary_sizes, is_vast,
};
use crate::tensor::{ElementType, Tensor};

pub(crate) static EXPAND: Operator = Operator {
    name: "Expand",
    versions: &[version(8, ElementType::Complex128), version(13, ElementType::Bfloat16)],
    rules: &[
        always(Rule::EXPAND_SHAPE_RANK),
        always(Rule::EXPAND_MINUS_ONE),
        always(Rule::EXPAND_NEGATIVE_DIM),
        always(Rule::EXPAND_DIMS),
        always(Rule::VAST_ANSWER),
    ],
    catalogue: include_str!("../../corpus/catalogue/expand.txt"),
    purpose: &[(8, "Broadcast the input tensor following the given shape and the broadcast rule.")],
    execute,
    draw,
    output_rank,
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

const fn version(since: u8, last: ElementType) -> Version {
    const INPUTS: &[InputSpec] = &[InputSpec::data("input"), InputSpec::int64("shape", Role::Sizes)];
    Version::new(since, ElementType::up_to(last), &[], INPUTS)
}

/// The largest rank of a drawn output, unless the data has a larger one.
const MAX_RANK: usize = 12;

/// Sizes that are drawn now and then beside a 0. Truncated to 16 bits, each is 0 or 1; most are so in 32 bits too.
const BESIDE_ZERO: [i64; 6] = [65_537, 1 << 31, 1 << 32, (1 << 32) + 1, 1 << 40, 1 << 48];

/// Shapes of at least 2^50 elements. Counted in 64 bits, some have few or no elements.
const VAST: [&[i64]; 7] = [
    &[TOO_MANY],
    &[i64::MAX],
    &[1 << 32, 1 << 32],
    &[1 << 62, 4],
    &[1 << 31, 1 << 31],
    &[(1 << 32) + 1, 1 << 32],
    &[i64::MAX, i64::MAX],
];

/// Sizes below -1. Some are 0, 1 or 2 when truncated to 32 bits.
const BELOW_MINUS_ONE: [i64; 8] =
    [-2, -3, i64::MIN, i64::MIN + 1, -(1 << 31), -(1 << 32), 1 - (1 << 32), 2 - (1 << 32)];

fn draw(d: &mut Drawing) -> arbitrary::Result<()> {
    fit_dims(d)?;
    d.data();
    let shape = shape(d)?;
    let has_other_rank = d.breaks(Rule::EXPAND_SHAPE_RANK) || d.is_wild() && d.ratio(1, 12)?;
    if has_other_rank {
        return d.vector_of_other_rank(&shape);
    }
    d.vector(&shape);
    Ok(())
}

/// Gives the data dims with which the rule can be broken. Data drawn for this call alone often gets dims of 1.
fn fit_dims(d: &mut Drawing) -> arbitrary::Result<()> {
    let has_ones = d.is_free && d.ratio(1, 2)?;
    match d.aim {
        Aim::Break(Rule::VAST_ANSWER) => d.need_elements(),
        Aim::Break(Rule::EXPAND_DIMS) if d.dims.iter().all(|&dim| dim == 1) => {
            d.need_axis()?;
            let place = d.u.choose_index(d.dims.len())?;
            d.dims[place] = d.choose(&[2, 3, 0, 5])?;
        }
        Aim::Valid | Aim::Wild if has_ones => {
            for place in 0..d.dims.len() {
                if d.dims[place] != 0 && d.ratio(1, 3)? {
                    d.dims[place] = 1;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn shape(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    if d.is_wild() && d.ratio(2, 3)? {
        return wild_shape(d);
    }
    let shape = valid_shape(d)?;
    match d.aim {
        Aim::Break(Rule::EXPAND_MINUS_ONE) => with_value(d, shape, -1),
        Aim::Break(Rule::EXPAND_NEGATIVE_DIM) => {
            let value = d.choose(&BELOW_MINUS_ONE)?;
            with_value(d, shape, value)
        }
        Aim::Break(Rule::EXPAND_DIMS) => unfit_shape(d, shape),
        Aim::Break(Rule::VAST_ANSWER) => vast_shape(d, shape),
        _ => Ok(shape),
    }
}

/// A shape to which the data can expand: over each of its dims that dim or 1, and over a 1, or in front, any size.
fn valid_shape(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    let rank = d.dims.len();
    let length = match d.length {
        Some(length) => length,
        None => d.u.int_in_range(0..=(rank + 2).min(MAX_RANK.max(rank)))?,
    };
    let mut room = d.copies()?;
    let mut shape = Vec::with_capacity(length);
    for place in 0..length {
        let size = match from_the_right(&d.dims, length, place) {
            1 => d.size_within(room)?,
            dim => d.choose(&[dim, 1])?,
        };
        if size > 1 {
            room /= size;
        }
        shape.push(size);
    }
    // If the output has no elements, a size is large now and then.
    if length > 0 && d.ratio(1, 6)? {
        let mut larger = shape.clone();
        let place = d.u.choose_index(length)?;
        larger[place] = d.choose(&BESIDE_ZERO)?;
        if broadcast(&d.dims, &larger).is_some_and(|dims| dims.contains(&0) && !is_vast(&dims)) {
            shape = larger;
        }
    }
    // A shape of ones changes nothing, so it suits data of the largest size.
    let is_fine = broadcast(&d.dims, &shape).is_some_and(|dims| !is_vast(&dims));
    Ok(if is_fine { shape } else { vec![1; length] })
}

/// The shape with a value in place of one of its sizes, or before the first.
fn with_value(d: &mut Drawing, mut shape: Vec<i64>, value: i64) -> arbitrary::Result<Vec<i64>> {
    let place = d.u.int_in_range(0..=shape.len())?;
    match shape.get_mut(place) {
        Some(old) => *old = value,
        None => shape.insert(0, value),
    }
    Ok(shape)
}

/// A shape with a size that is neither the dim it is aligned with nor 1. Truncated to 32 bits it may be one of the two.
fn unfit_shape(d: &mut Drawing, mut shape: Vec<i64>) -> arbitrary::Result<Vec<i64>> {
    let rank = d.dims.len();
    let places: Vec<usize> = (0..rank).filter(|&place| d.dims[place] != 1).collect();
    let place = d.choose(&places)?;
    let dim = d.dims[place];
    let near = [dim + 1, dim - 1, 2 * dim, dim / 2, 0, 2, 3];
    let far = [dim + (1 << 32), 1 << 32, (1 << 32) + 1, 1 << 31, i64::MAX];
    let sizes: Vec<i64> = near.into_iter().chain(far).filter(|&size| size >= 0 && size != 1 && size != dim).collect();
    let size = d.choose(&sizes)?;
    pad(&mut shape, rank - place);
    let over = shape.len() - (rank - place);
    shape[over] = size;
    Ok(shape)
}

/// A shape with more elements than any memory holds, for data that has elements.
fn vast_shape(d: &mut Drawing, mut shape: Vec<i64>) -> arbitrary::Result<Vec<i64>> {
    for size in &mut shape {
        *size = (*size).max(1);
    }
    pad(&mut shape, d.dims.len());
    // The last of the large sizes may be aligned with the first dim.
    if shape.len() == d.dims.len() && d.dims.first() == Some(&1) && d.ratio(1, 2)? {
        shape.remove(0);
    }
    let vast = d.choose(&VAST)?;
    Ok([vast, &shape].concat())
}

/// Arbitrary boundary values.
fn wild_shape(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    let pool: Vec<i64> = boundary_sizes().into_iter().chain(d.dims.iter().copied().take(4)).collect();
    let length = d.u.int_in_range(0_u8..=5)?;
    let mut shape = (0..length).map(|_| d.choose(&pool)).collect::<arbitrary::Result<Vec<i64>>>()?;
    // Read as "keep the dim", a -1 asks for as much as a 1.
    let readable: Vec<i64> = shape.iter().map(|&size| if size == -1 { 1 } else { size }).collect();
    if broadcast(&d.dims, &readable).is_some_and(|dims| is_laborious(&dims)) {
        shape.insert(0, TOO_MANY);
    }
    Ok(shape)
}

/// Extends a shape to at least this length, by ones before the first size.
fn pad(shape: &mut Vec<i64>, length: usize) {
    let missing = length.saturating_sub(shape.len());
    shape.splice(0..0, std::iter::repeat_n(1, missing));
}

/// The larger of the rank of the data and the length of the shape.
fn output_rank(call: &Call) -> Option<usize> {
    let shape = call.input(1).filter(|shape| shape.rank() == 1)?;
    Some(call.input(0)?.rank().max(shape.len()))
}

impl Rule {
    pub const EXPAND_SHAPE_RANK: Rule = Rule(&Text {
        id: "expand-shape-rank",
        sentence: "\"A 1-D tensor indicates the shape you want to expand to, following the broadcast rule\"",
        source: "Expand, input `shape` (V6)",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const EXPAND_MINUS_ONE: Rule = Rule(&Text {
        id: "expand-minus-one",
        sentence: "A -1 in the shape is no size, and no text says that it keeps the dim: \"Two corresponding dimensions \
                     must have the same value, or one of them is equal to 1.\"",
        source: "Expand, all versions (V16)",
        topics: &[Topic::Value, Topic::Dims, Topic::Size],
    });
    pub const EXPAND_NEGATIVE_DIM: Rule = Rule(&Text {
        id: "expand-negative-dim",
        sentence: "A number below -1 in the shape is no size: \"Two corresponding dimensions must have the same value, or \
                     one of them is equal to 1.\"",
        source: "Expand, all versions",
        topics: &[Topic::Value, Topic::Dims, Topic::Size],
    });
    pub const EXPAND_DIMS: Rule = Rule(&Text {
        id: "expand-dims",
        sentence: "\"Two corresponding dimensions must have the same value, or one of them is equal to 1.\"",
        source: "Expand, all versions",
        topics: &[Topic::Dims, Topic::Value, Topic::Size],
    });
}

fn execute(call: &Call) -> Expectation {
    let operand = call.input(1).expect("a well-formed call has both inputs");
    let shape = operand.int64s().expect("a well-formed call has an int64 shape");
    let answer = expand(call, &shape);
    if operand.rank() == 1 {
        return answer;
    }
    // V6: the obvious reading takes the values as a list.
    Expectation::Reject { rule: Rule::EXPAND_SHAPE_RANK, lenient: answer.outputs().map(<[Tensor]>::to_vec) }
}

fn expand(call: &Call, shape: &[i64]) -> Expectation {
    let data = call.data();
    if shape.iter().any(|&size| size < -1) {
        return Expectation::reject(Rule::EXPAND_NEGATIVE_DIM);
    }
    if shape.contains(&-1) {
        // V16: the lenient reading keeps the dim, as a 1 does.
        let sizes: Vec<i64> = shape.iter().map(|size| size.abs()).collect();
        let lenient = expand(call, &sizes).outputs().map(<[Tensor]>::to_vec);
        return Expectation::Reject { rule: Rule::EXPAND_MINUS_ONE, lenient };
    }
    let Some(dims) = broadcast(data.dims(), shape) else {
        return Expectation::reject(Rule::EXPAND_DIMS);
    };
    if call.is_vast_output(&dims) {
        return Expectation::vast(&dims);
    }
    Expectation::Defined(vec![repeated(data, &dims)])
}

/// The dims of the data broadcast to a shape, if the two are compatible.
pub(super) fn broadcast(dims: &[i64], shape: &[i64]) -> Option<Vec<i64>> {
    let rank = dims.len().max(shape.len());
    let pair = |place| match (from_the_right(dims, rank, place), from_the_right(shape, rank, place)) {
        (1, size) => Some(size),
        (dim, size) => (size == 1 || size == dim).then_some(dim),
    };
    (0..rank).map(pair).collect()
}

/// The entry at a place when a list has this length: a shorter list gets ones in front, a longer one keeps its last entries.
fn from_the_right(list: &[i64], length: usize, place: usize) -> i64 {
    (place + list.len()).checked_sub(length).map_or(1, |own| list[own])
}

/// The data, broadcast to these dims.
pub(super) fn repeated(data: &Tensor, dims: &[i64]) -> Tensor {
    // If the number of elements stays the same, the elements do too.
    data.with_dims(dims.to_vec()).unwrap_or_else(|_| {
        let first = dims.len() - data.rank();
        let repeated = data.rearranged(dims, |axis, index, own| {
            if let Some(axis) = axis.checked_sub(first).filter(|&axis| data.dims()[axis] != 1) {
                own[axis] = index;
            }
        });
        repeated.expect("each element of the output is one of the data")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::Answer;
    use crate::tensor::product;

    const MIN: i64 = i64::MIN;
    const MAX: i64 = i64::MAX;

    /// Data whose elements count up.
    fn data(dims: &[i64]) -> Tensor {
        let count = product(dims.iter().copied()).unwrap();
        Tensor::from_element_bits(ElementType::Float, dims.to_vec(), 0..count.cast_unsigned()).unwrap()
    }

    fn of(data: &Tensor, shape: &Tensor) -> Expectation {
        let evaluate = |opset| EXPAND.evaluate(opset, &[], &[Some(data.clone()), Some(shape.clone())], 1);
        assert_eq!(evaluate(8), evaluate(28));
        evaluate(28)
    }

    fn expanded(dims: &[i64], shape: &[i64]) -> Expectation {
        of(&data(dims), &Tensor::vector(shape))
    }

    #[test]
    fn the_versions_are_those_of_the_operator_document() {
        assert_eq!(EXPAND.cells(), 31);
    }

    #[test]
    fn dims_go_together_from_the_right() {
        let rows: &[(&[i64], &[i64], &[i64])] = &[
            (&[3, 1], &[2, 1, 6], &[2, 3, 6]),
            (&[3, 1], &[3, 4], &[3, 4]),
            (&[2, 2], &[1, 2], &[2, 2]),
            (&[2, 2], &[2, 1, 1], &[2, 2, 2]),
            (&[2, 2], &[1], &[2, 2]),
            (&[2, 2], &[], &[2, 2]),
            (&[2, 3], &[2, 3], &[2, 3]),
            (&[2, 3], &[1, 3], &[2, 3]),
            (&[2, 3], &[1, 1], &[2, 3]),
            (&[2, 3], &[3], &[2, 3]),
            (&[], &[], &[]),
            (&[], &[1], &[1]),
            (&[], &[0], &[0]),
            (&[], &[2, 0], &[2, 0]),
            (&[], &[2, 3], &[2, 3]),
            (&[1], &[], &[1]),
            (&[1], &[0], &[0]),
            (&[1], &[5], &[5]),
            (&[1], &[4, 1], &[4, 1]),
            (&[0], &[], &[0]),
            (&[0], &[1], &[0]),
            (&[0], &[0], &[0]),
            (&[0], &[2, 1], &[2, 0]),
            (&[0], &[2, 0], &[2, 0]),
            (&[0, 1], &[1, 4], &[0, 4]),
            (&[2, 1], &[2, 0], &[2, 0]),
            (&[1, 3], &[0, 1], &[0, 3]),
            (&[0], &[1 << 31, 1], &[1 << 31, 0]),
            (&[1], &[1 << 40, 0], &[1 << 40, 0]),
        ];
        for (dims, shape, expected) in rows {
            let expectation = expanded(dims, shape);
            assert!(matches!(expectation, Expectation::Defined(_)), "{dims:?} by {shape:?}");
            assert_eq!(expectation.outputs().unwrap()[0].dims(), *expected, "{dims:?} by {shape:?}");
        }
    }

    #[test]
    #[expect(clippy::type_complexity, reason = "a table of rows reads best with its type in one place")]
    fn elements_are_repeated_along_the_dims_of_one() {
        let rows: &[(&[i64], &[i64], &[i64], &[u128])] = &[
            (&[3, 1], &[3, 2], &[3, 2], &[0, 0, 1, 1, 2, 2]),
            (&[3], &[2, 1], &[2, 3], &[0, 1, 2, 0, 1, 2]),
            (&[2, 1, 2], &[2, 1], &[2, 2, 2], &[0, 1, 0, 1, 2, 3, 2, 3]),
        ];
        for (dims, shape, expected, elements) in rows {
            let elements = elements.iter().copied();
            let output = Tensor::from_element_bits(ElementType::Float, expected.to_vec(), elements).unwrap();
            assert_eq!(expanded(dims, shape), Expectation::Defined(vec![output]));
        }
    }

    #[test]
    fn what_does_not_go_together_is_rejected() {
        let rows: &[(&[i64], &[i64], Rule)] = &[
            (&[0], &[2], Rule::EXPAND_DIMS),
            (&[3], &[0], Rule::EXPAND_DIMS),
            (&[2, 3], &[0, 3], Rule::EXPAND_DIMS),
            (&[2, 3], &[3, 2], Rule::EXPAND_DIMS),
            (&[2, 3], &[4], Rule::EXPAND_DIMS),
            (&[2, 3], &[2], Rule::EXPAND_DIMS),
            (&[2, 3], &[2, 2, 2], Rule::EXPAND_DIMS),
            (&[4], &[2], Rule::EXPAND_DIMS),
            (&[2], &[(1 << 32) + 2], Rule::EXPAND_DIMS),
            (&[3], &[1 << 32], Rule::EXPAND_DIMS),
            (&[2, 3], &[(1 << 32) + 1, 3], Rule::EXPAND_DIMS),
            (&[3], &[-3], Rule::EXPAND_NEGATIVE_DIM),
            (&[1], &[-2], Rule::EXPAND_NEGATIVE_DIM),
            (&[1], &[MIN], Rule::EXPAND_NEGATIVE_DIM),
            (&[2, 3], &[0, -1], Rule::EXPAND_MINUS_ONE),
            (&[1], &[1 << 31, 1], Rule::VAST_ANSWER),
            (&[1], &[1 << 32, 1 << 32], Rule::VAST_ANSWER),
            (&[1], &[1 << 62, 4], Rule::VAST_ANSWER),
            (&[1], &[MAX], Rule::VAST_ANSWER),
        ];
        for (dims, shape, rule) in rows {
            let found = expanded(dims, shape);
            assert_eq!((found.rule(), found.outputs()), (Some(*rule), None), "{dims:?} by {shape:?}");
        }
    }

    #[test]
    fn where_the_text_leaves_room() {
        let lenient = |rule, dims: &[i64]| Expectation::Reject { rule, lenient: Some(vec![data(dims)]) };
        assert_eq!(expanded(&[2, 3], &[-1, 3]), lenient(Rule::EXPAND_MINUS_ONE, &[2, 3]));
        assert_eq!(expanded(&[1], &[-1]), lenient(Rule::EXPAND_MINUS_ONE, &[1]));
        let of_rank = |dims: Vec<i64>, values: &[i64]| Tensor::vector(values).with_dims(dims).unwrap();
        assert_eq!(of(&data(&[3]), &of_rank(vec![], &[3])), lenient(Rule::EXPAND_SHAPE_RANK, &[3]));
        assert_eq!(of(&data(&[2, 3]), &of_rank(vec![1, 2], &[2, 3])), lenient(Rule::EXPAND_SHAPE_RANK, &[2, 3]));
        for (dims, shape) in [(vec![1], vec![1 << 32, 1 << 32, 0]), (vec![0], vec![1 << 62, 1])] {
            let vast = expanded(&dims, &shape);
            let mut expected = shape;
            *expected.last_mut().unwrap() = 0;
            let tolerated = vec![Answer::Outputs(vec![data(&expected)]), Answer::Refusal];
            assert_eq!(vast, Expectation::Unspecified { rule: Rule::VAST_DIMS, tolerated });
        }
    }
}
