//! Tile: copies of a tensor side by side, with a number of copies along each axis.

mod first;

use super::draw::is_laborious;
use super::{
    Aim, Answer, Arity, Call, Drawing, Expectation, InputSpec, Operator, OutputType, Role, Rule, TOO_MANY, Text, Topic,
    Types, Version, boundary_sizes, is_vast, since, until,
};
use crate::tensor::{ElementType, Tensor};

pub(crate) static TILE: Operator = Operator {
    name: "Tile",
    versions: &[
        Version::new(
            1,
            ElementType::up_to(ElementType::Double),
            &[],
            &[
                InputSpec::data("input"),
                InputSpec { name: "tiles", types: Types::T, arity: Arity::One, role: Role::Sizes },
                InputSpec { name: "axis", types: Types::T, arity: Arity::One, role: Role::Axis },
            ],
        ),
        version(REPEATS_SINCE, ElementType::Complex128),
        version(13, ElementType::Bfloat16),
    ],
    rules: &[
        until(1, Rule::TILE_1),
        since(REPEATS_SINCE, Rule::TILE_REPEATS_RANK),
        since(REPEATS_SINCE, Rule::TILE_REPEATS_LENGTH),
        since(REPEATS_SINCE, Rule::TILE_NEGATIVE_REPEATS),
        since(REPEATS_SINCE, Rule::TILE_NEGATIVE_OVER_ZERO),
        since(REPEATS_SINCE, Rule::TILE_DIM_SIZE),
        since(REPEATS_SINCE, Rule::VAST_ANSWER),
    ],
    catalogue: include_str!("../../corpus/catalogue/tile.txt"),
    purpose: &[
        (
            REPEATS_SINCE,
            "Constructs a tensor by tiling a given tensor. This is the same as function `tile` in Numpy, but no \
             broadcast.",
        ),
        (1, "Repeat the elements of a tensor along an axis."),
    ],
    execute,
    draw,
    output_rank: |call| call.input(0).map(Tensor::rank),
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

/// The version that introduced repeats in place of tiles and an axis.
const REPEATS_SINCE: u8 = 6;

const fn version(since: u8, last: ElementType) -> Version {
    const INPUTS: &[InputSpec] = &[InputSpec::data("input"), InputSpec::int64("repeats", Role::Sizes)];
    Version::new(since, ElementType::up_to(last), &[], INPUTS)
}

/// Repeats to draw for a dim of 0, which stays 0.
const OVER_ZERO: [i64; 9] = [1, 2, 0, 3, 1 << 31, 1 << 32, 1 << 62, i64::MAX, i64::MAX - 1];

/// Repeats that are drawn now and then beside a dim of 0.
const BESIDE_ZERO: [i64; 5] = [65_537, 1 << 31, 1 << 32, (1 << 32) + 1, 1 << 40];

/// Negative repeats. Some are 0, 1 or 2 when truncated to 32 bits.
const NEGATIVE: [i64; 8] = [-1, -2, i64::MIN, i64::MIN + 1, -(1 << 31), -(1 << 32), 1 - (1 << 32), 2 - (1 << 32)];

fn draw(d: &mut Drawing) -> arbitrary::Result<()> {
    if d.since() < REPEATS_SINCE {
        return first::draw(d);
    }
    fit_dims(d)?;
    d.data();
    let repeats = repeats(d)?;
    let has_other_rank = d.breaks(Rule::TILE_REPEATS_RANK) || d.is_wild() && d.ratio(1, 12)?;
    if has_other_rank {
        return d.vector_of_other_rank(&repeats);
    }
    d.vector(&repeats);
    Ok(())
}

/// Gives the data dims with which the rule can be broken, if its own do not allow it.
fn fit_dims(d: &mut Drawing) -> arbitrary::Result<()> {
    let (suits, other): (fn(i64) -> bool, i64) = match d.aim {
        Aim::Break(Rule::TILE_NEGATIVE_REPEATS) => (|dim| dim != 0, 2),
        Aim::Break(Rule::TILE_NEGATIVE_OVER_ZERO) => (|dim| dim == 0, 0),
        Aim::Break(Rule::TILE_DIM_SIZE) => (|dim| dim > 1, d.choose(&[2, 3, 4, 1024])?),
        Aim::Break(Rule::VAST_ANSWER) => (|dim| dim != 0, 1),
        _ => return Ok(()),
    };
    d.need_axis()?;
    if !d.dims.iter().any(|&dim| suits(dim)) {
        let place = d.u.choose_index(d.dims.len())?;
        d.dims[place] = other;
    }
    if d.breaks(Rule::VAST_ANSWER) {
        d.need_elements();
    }
    Ok(())
}

fn repeats(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    if d.is_wild() && d.ratio(2, 3)? {
        return wild_repeats(d);
    }
    let mut repeats = valid_repeats(d)?;
    match d.aim {
        Aim::Break(Rule::TILE_REPEATS_LENGTH) => {
            let rank = repeats.len();
            let lengths = [0, rank.saturating_sub(1), rank + 1, rank + 2, 2 * rank];
            let others: Vec<usize> = lengths.into_iter().filter(|&length| length != rank).collect();
            let (length, more) = (d.choose(&others)?, d.choose(&[1, 2, 0])?);
            repeats.resize(length, more);
        }
        Aim::Break(Rule::TILE_NEGATIVE_REPEATS) => negate(d, &mut repeats, |dim| dim != 0)?,
        Aim::Break(Rule::TILE_NEGATIVE_OVER_ZERO) => negate(d, &mut repeats, |dim| dim == 0)?,
        Aim::Break(Rule::TILE_DIM_SIZE) => {
            let place = place_of(d, |dim| dim > 1)?;
            repeats[place] = repeat_past_a_size(d, d.dims[place])?;
        }
        Aim::Break(Rule::VAST_ANSWER) => {
            for repeat in &mut repeats {
                *repeat = (*repeat).max(1);
            }
            let place = place_of(d, |_| true)?;
            repeats[place] = d.choose(&[TOO_MANY, 1 << 52, i64::MAX / d.dims[place]])?;
            let other = place_of(d, |_| true)?;
            if other != place {
                repeats[other] = d.choose(&[1, 1 << 32, (1 << 32) + 1, 1 << 40])?;
            }
        }
        _ => {}
    }
    Ok(repeats)
}

/// Repeats that are valid for the data.
fn valid_repeats(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    // Several copies of vast dims would exceed an i64.
    let mut room = if d.breaks(Rule::VAST_DIMS) { 1 } else { d.copies()? };
    let mut repeats = Vec::with_capacity(d.dims.len());
    for place in 0..d.dims.len() {
        let repeat = if d.dims[place] == 0 { d.choose(&OVER_ZERO)? } else { d.size_within(room)? };
        if d.dims[place] != 0 {
            room /= repeat.max(1);
        }
        repeats.push(repeat);
    }
    if d.dims.contains(&0) && d.ratio(1, 6)? {
        let mut larger = repeats.clone();
        let place = d.u.choose_index(larger.len())?;
        larger[place] = d.choose(&BESIDE_ZERO)?;
        if tiled(&d.dims, &larger).is_some_and(|dims| !is_vast(&dims)) {
            repeats = larger;
        }
    }
    // Data of the largest size gets one copy along each axis.
    let is_fine = d.breaks(Rule::VAST_DIMS) || tiled(&d.dims, &repeats).is_some_and(|dims| !is_vast(&dims));
    Ok(if is_fine { repeats } else { vec![1; repeats.len()] })
}

/// Makes one of the repeats of suitable dims negative, or all of them.
fn negate(d: &mut Drawing, repeats: &mut [i64], suits: fn(i64) -> bool) -> arbitrary::Result<()> {
    let (one, negative) = (place_of(d, suits)?, d.choose(&NEGATIVE)?);
    let is_alone = d.ratio(1, 2)?;
    for (place, repeat) in repeats.iter_mut().enumerate() {
        if place == one || !is_alone && suits(d.dims[place]) {
            *repeat = negative;
        }
    }
    Ok(())
}

/// The place of one of the suitable dims. There is at least one.
fn place_of(d: &mut Drawing, suits: fn(i64) -> bool) -> arbitrary::Result<usize> {
    let places: Vec<usize> = (0..d.dims.len()).filter(|&place| suits(d.dims[place])).collect();
    d.choose(&places)
}

/// A number of copies with which a dim above 1 exceeds an i64. Counted in 64 bits, some of the results are small.
fn repeat_past_a_size(d: &mut Drawing, dim: i64) -> arbitrary::Result<i64> {
    let wrapped = (1_i128 << 64) / i128::from(dim);
    let repeats = [i128::from(i64::MAX), 1 << 62, i128::from(i64::MAX / dim) + 1, wrapped, wrapped + 1];
    let repeats: Vec<i64> = repeats.into_iter().filter_map(|repeat| i64::try_from(repeat).ok()).collect();
    let past: Vec<i64> = repeats.into_iter().filter(|repeat| repeat.checked_mul(dim).is_none()).collect();
    d.choose(&past)
}

/// Arbitrary boundary values.
fn wild_repeats(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    let (pool, rank) = (boundary_sizes(), d.dims.len());
    let length = if d.ratio(4, 5)? { rank } else { d.u.int_in_range(0..=rank + 1)? };
    let repeats = (0..length).map(|_| d.choose(&pool)).collect::<arbitrary::Result<Vec<i64>>>()?;
    let is_too_much = tiled(&d.dims, &repeats).is_some_and(|dims| is_laborious(&dims));
    Ok(if is_too_much { vec![1; length] } else { repeats })
}

impl Rule {
    pub const TILE_1: Rule = Rule(&Text {
        id: "tile-1",
        sentence: "\"Constrain tiles and axis's type to int64 tensors.\" But both are declared with the type of the input.",
        source: "Tile-1, inputs `tiles` and `axis` (V7)",
        topics: &[Topic::ElementType, Topic::Value, Topic::Dims, Topic::Size, Topic::Inputs],
    });
    pub const TILE_REPEATS_RANK: Rule = Rule(&Text {
        id: "tile-repeats-rank",
        sentence: "The repeats are a \"1D int64 tensor\".",
        source: "Tile-6 and later, input `repeats` (V6)",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const TILE_REPEATS_LENGTH: Rule = Rule(&Text {
        id: "tile-repeats-length",
        sentence: "The repeats are \"of the same length as input's dimension number\": \"no broadcast\".",
        source: "Tile-6 and later, input `repeats`",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const TILE_NEGATIVE_REPEATS: Rule = Rule(&Text {
        id: "tile-negative-repeats",
        sentence: "The repeats are \"numbers of repeated copies along input's dimensions\", and no number of copies is \
                     negative.",
        source: "Tile-6 and later, input `repeats`",
        topics: &[Topic::Value, Topic::Dims, Topic::Size],
    });
    pub const TILE_NEGATIVE_OVER_ZERO: Rule = Rule(&Text {
        id: "tile-negative-over-zero",
        sentence: "No number of copies is negative, but over a dim of 0 \"output_dim[i] = input_dim[i] * repeats[i]\" is a \
                     dim all the same.",
        source: "Tile-6 and later, output `output` (V8)",
        topics: &[Topic::Value, Topic::Dims, Topic::Size],
    });
    pub const TILE_DIM_SIZE: Rule = Rule(&Text {
        id: "tile-dim-size",
        sentence: "\"output_dim[i] = input_dim[i] * repeats[i]\", and a dim is at most 2^63 - 1.",
        source: "Tile-6 and later, output `output`; IR, static tensor shapes",
        topics: &[Topic::Size, Topic::Value, Topic::Dims],
    });
}

fn execute(call: &Call) -> Expectation {
    if call.since() < REPEATS_SINCE {
        return first::execute(call);
    }
    let operand = call.input(1).expect("a well-formed call has both inputs");
    let repeats = operand.int64s().expect("a well-formed call has int64 repeats");
    let answer = tile(call, &repeats);
    if operand.rank() == 1 {
        return answer;
    }
    // V6: the obvious reading takes the values as a list.
    Expectation::Reject { rule: Rule::TILE_REPEATS_RANK, lenient: answer.outputs().map(<[Tensor]>::to_vec) }
}

fn tile(call: &Call, repeats: &[i64]) -> Expectation {
    let data = call.data();
    if repeats.len() != data.rank() {
        return Expectation::reject(Rule::TILE_REPEATS_LENGTH);
    }
    let mut negative =
        data.dims().iter().zip(repeats).filter(|&(_, &repeat)| repeat < 0).map(|(&dim, _)| dim).peekable();
    if negative.peek().is_some() {
        if negative.any(|dim| dim != 0) {
            return Expectation::reject(Rule::TILE_NEGATIVE_REPEATS);
        }
        // V8: a refusal, or the result of the formula.
        let no_copies: Vec<i64> = repeats.iter().map(|&repeat| repeat.max(0)).collect();
        let reading = tile(call, &no_copies).into_answers();
        return Expectation::unspecified(Rule::TILE_NEGATIVE_OVER_ZERO, [Answer::Refusal].into_iter().chain(reading));
    }
    match tiled(data.dims(), repeats) {
        None => Expectation::reject(Rule::TILE_DIM_SIZE),
        Some(dims) if call.is_vast_output(&dims) => Expectation::vast(&dims),
        Some(dims) => Expectation::Defined(vec![copies(data, &dims)]),
    }
}

/// The dims of the copies, if there are as many repeats as dims, and each product fits in an i64.
fn tiled(dims: &[i64], repeats: &[i64]) -> Option<Vec<i64>> {
    let is_one_each = dims.len() == repeats.len();
    is_one_each.then(|| dims.iter().zip(repeats).map(|(dim, &repeat)| dim.checked_mul(repeat)).collect())?
}

/// The data, copied to fill these dims.
fn copies(data: &Tensor, dims: &[i64]) -> Tensor {
    // If the number of elements stays the same, the elements do too.
    data.with_dims(dims.to_vec()).unwrap_or_else(|_| {
        let sizes: Vec<usize> = data.dims().iter().filter_map(|&dim| usize::try_from(dim).ok()).collect();
        let copies = data.rearranged(dims, |axis, index, own| own[axis] = index % sizes[axis]);
        copies.expect("each element of the output is one of the data")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::product;

    const MIN: i64 = i64::MIN;
    const MAX: i64 = i64::MAX;

    /// Data whose elements count up.
    fn data(dims: &[i64]) -> Tensor {
        let count = product(dims.iter().copied()).unwrap();
        Tensor::from_element_bits(ElementType::Int32, dims.to_vec(), 0..count.cast_unsigned()).unwrap()
    }

    fn of(data: &Tensor, repeats: &Tensor) -> Expectation {
        let evaluate = |opset| TILE.evaluate(opset, &[], &[Some(data.clone()), Some(repeats.clone())], 1);
        assert_eq!(evaluate(6), evaluate(28));
        evaluate(28)
    }

    fn tiled(dims: &[i64], repeats: &[i64]) -> Expectation {
        of(&data(dims), &Tensor::vector(repeats))
    }

    #[test]
    fn the_versions_are_those_of_the_operator_document() {
        assert_eq!(TILE.cells(), 34);
    }

    #[test]
    #[expect(clippy::type_complexity, reason = "a table of rows reads best with its type in one place")]
    fn copies_lie_side_by_side() {
        let rows: &[(&[i64], &[i64], &[i64], &[u128])] = &[
            (&[2, 2], &[1, 2], &[2, 4], &[0, 1, 0, 1, 2, 3, 2, 3]),
            (&[2, 2], &[2, 1], &[4, 2], &[0, 1, 2, 3, 0, 1, 2, 3]),
            (&[3], &[1], &[3], &[0, 1, 2]),
            (&[3], &[2], &[6], &[0, 1, 2, 0, 1, 2]),
            (&[3, 1], &[1, 2], &[3, 2], &[0, 0, 1, 1, 2, 2]),
            (&[2, 3], &[1, 1], &[2, 3], &[0, 1, 2, 3, 4, 5]),
            (&[2, 3], &[0, 1], &[0, 3], &[]),
            (&[2, 3], &[0, 0], &[0, 0], &[]),
            (&[2, 3], &[2, 0], &[4, 0], &[]),
            (&[3], &[0], &[0], &[]),
            (&[], &[], &[], &[0]),
            (&[0], &[2], &[0], &[]),
            (&[0, 3], &[2, 2], &[0, 6], &[]),
            (&[2, 0], &[3, 4], &[6, 0], &[]),
            (&[0], &[MAX], &[0], &[]),
            (&[0, 1], &[1, 1 << 40], &[0, 1 << 40], &[]),
        ];
        for (dims, repeats, expected, elements) in rows {
            let elements = elements.iter().copied();
            let output = Tensor::from_element_bits(ElementType::Int32, expected.to_vec(), elements).unwrap();
            assert_eq!(tiled(dims, repeats), Expectation::Defined(vec![output]), "{dims:?} by {repeats:?}");
        }
    }

    #[test]
    fn repeats_that_count_no_copies_are_rejected() {
        let rows: &[(&[i64], &[i64], Rule)] = &[
            (&[], &[1], Rule::TILE_REPEATS_LENGTH),
            (&[], &[2], Rule::TILE_REPEATS_LENGTH),
            (&[2, 3], &[2], Rule::TILE_REPEATS_LENGTH),
            (&[2, 3], &[1, 1, 2], Rule::TILE_REPEATS_LENGTH),
            (&[2, 3], &[], Rule::TILE_REPEATS_LENGTH),
            (&[2], &[2, 2], Rule::TILE_REPEATS_LENGTH),
            (&[2, 3], &[-1, 1], Rule::TILE_NEGATIVE_REPEATS),
            (&[2, 3], &[-1, -1], Rule::TILE_NEGATIVE_REPEATS),
            (&[2, 3], &[1, -2], Rule::TILE_NEGATIVE_REPEATS),
            (&[2, 3], &[MIN, 1], Rule::TILE_NEGATIVE_REPEATS),
            (&[2, 3], &[0, -1], Rule::TILE_NEGATIVE_REPEATS),
            (&[0, 3], &[1, -1], Rule::TILE_NEGATIVE_REPEATS),
            (&[4], &[1 << 62], Rule::TILE_DIM_SIZE),
            (&[2], &[MAX], Rule::TILE_DIM_SIZE),
            (&[0, 4], &[1, 1 << 62], Rule::TILE_DIM_SIZE),
            (&[1], &[1 << 31], Rule::VAST_ANSWER),
            (&[1, 1], &[1 << 32, 1 << 32], Rule::VAST_ANSWER),
            (&[2], &[1 << 61], Rule::VAST_ANSWER),
        ];
        for (dims, repeats, rule) in rows {
            let found = tiled(dims, repeats);
            assert_eq!((found.rule(), found.outputs()), (Some(*rule), None), "{dims:?} by {repeats:?}");
        }
    }

    #[test]
    fn where_the_text_leaves_room() {
        let open = |rule, tolerated: Vec<Answer>| Expectation::Unspecified { rule, tolerated };
        let answer = |dims: &[i64]| Answer::Outputs(vec![data(dims)]);
        let rows: [(&[i64], &[i64], &[i64]); 3] =
            [(&[0], &[-1], &[0]), (&[0], &[MIN], &[0]), (&[0, 3], &[-2, 2], &[0, 6])];
        for (dims, repeats, expected) in rows {
            let tolerated = vec![Answer::Refusal, answer(expected)];
            assert_eq!(tiled(dims, repeats), open(Rule::TILE_NEGATIVE_OVER_ZERO, tolerated));
        }
        let lenient = |dims: &[i64]| Expectation::Reject {
            rule: Rule::TILE_REPEATS_RANK,
            lenient: tiled(&[2, 3], dims).outputs().map(<[Tensor]>::to_vec),
        };
        assert_eq!(of(&data(&[2, 3]), &Tensor::vector(&[1, 2]).with_dims(vec![1, 2]).unwrap()), lenient(&[1, 2]));
        assert_eq!(of(&data(&[2, 3]), &Tensor::scalar(2)), lenient(&[2]));
        let vast = tiled(&[0, 1, 1], &[1, 1 << 32, 1 << 32]);
        assert_eq!(vast, open(Rule::VAST_DIMS, vec![answer(&[0, 1 << 32, 1 << 32]), Answer::Refusal]));
    }
}
