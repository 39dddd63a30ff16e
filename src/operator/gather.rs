//! Gather: the parts of the data at indices along one axis, arranged in the dims of the indices.

use super::draw::MAX_DRAWN;
use super::indices::{End, MAX_ENTRIES, draw_dims, draw_indices, fill, from_the_front, nothing, runs};
use super::{
    Aim, Answer, AttributeKind, AttributeSpec, Call, Drawing, Expectation, InputSpec, Operator, OutputType, Role, Rule,
    Text, Topic, Version, always, axis, until,
};
use crate::tensor::{ElementType, Tensor, element_count, product};

pub(crate) static GATHER: Operator = Operator {
    name: "Gather",
    versions: &[
        version(1, ElementType::Complex128),
        version(NEGATIVE_INDEX_SINCE, ElementType::Complex128),
        version(13, ElementType::Bfloat16),
    ],
    rules: &[
        always(Rule::GATHER_DATA_RANK),
        always(Rule::GATHER_AXIS_RANGE),
        always(Rule::GATHER_INDEX_RANGE),
        until(NEGATIVE_INDEX_SINCE - 1, Rule::GATHER_NEGATIVE_INDEX),
    ],
    catalogue: include_str!("../../corpus/catalogue/gather.txt"),
    purpose: &[(
        1,
        "Given `data` tensor of rank r >= 1, and `indices` tensor of rank q, gather entries of the axis dimension of \
         `data` (by default outer-most one as axis=0) indexed by `indices`, and concatenates them in an output tensor of \
         rank q + (r - 1).",
    )],
    execute,
    draw,
    output_rank,
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

pub(super) const AXIS: &str = "axis";

/// The version that introduced indices counted from the back.
const NEGATIVE_INDEX_SINCE: u8 = 11;

const fn version(since: u8, last: ElementType) -> Version {
    const ATTRIBUTES: &[AttributeSpec] = &[AttributeSpec::new(AXIS, AttributeKind::Int, Role::Axis)];
    const INPUTS: &[InputSpec] = &[InputSpec::data("data"), InputSpec::index("indices", Role::Bound)];
    Version::new(since, ElementType::up_to(last), ATTRIBUTES, INPUTS)
}

fn draw(d: &mut Drawing) -> arbitrary::Result<()> {
    match d.aim {
        Aim::Break(Rule::GATHER_DATA_RANK) => d.dims.clear(),
        Aim::Wild => {}
        _ => d.need_axis()?,
    }
    let at = draw_axis(d, Rule::GATHER_AXIS_RANGE)?;
    if d.breaks(Rule::GATHER_NEGATIVE_INDEX) && d.dims[at] == 0 {
        fill(&mut d.dims);
    }
    d.data();
    let from = match d.aim {
        Aim::Break(Rule::GATHER_NEGATIVE_INDEX) => End::Back,
        Aim::Wild => End::Either,
        _ if d.since() < NEGATIVE_INDEX_SINCE => End::Front,
        _ => End::Either,
    };
    let dims = index_dims(d, at)?;
    let size = d.dims.get(at).copied().unwrap_or(0);
    let indices = draw_indices(d, dims, &[size], from, Rule::GATHER_INDEX_RANGE)?;
    d.values(indices);
    Ok(())
}

/// Draws an `axis`, or leaves it out, and returns the place of the axis. An axis that is out of range, as the rule `range` needs
/// it, has the place 0.
pub(super) fn draw_axis(d: &mut Drawing, range: Rule) -> arbitrary::Result<usize> {
    let aim = d.aim;
    let axis = d.int(AXIS, |d| match aim {
        Aim::Break(rule) if rule == range => d.axis_out_of_range(true).map(Some),
        _ if d.ratio(1, 4)? => Ok(None),
        Aim::Wild => d.any_axis().map(Some),
        _ if d.dims.is_empty() => d.between(-1, 1).map(Some),
        _ => d.axis_in_range(true).map(Some),
    })?;
    Ok(counted(axis, d.dims.len()).unwrap_or(0))
}

/// The axis counted from the front. The default is the first axis.
pub(super) fn counted(value: Option<i64>, rank: usize) -> Option<usize> {
    axis(value.unwrap_or(0), rank)
}

/// Dims of indices with which the output has no more elements and no larger rank than a drawn output may have.
fn index_dims(d: &mut Drawing, at: usize) -> arbitrary::Result<Vec<i64>> {
    let must_have_entries = matches!(d.aim, Aim::Break(Rule::GATHER_INDEX_RANGE | Rule::GATHER_NEGATIVE_INDEX));
    let others = d.dims.iter().enumerate().filter(|(place, _)| *place != at).map(|(_, &dim)| dim);
    let most = match product(others).map(i64::try_from) {
        // Along an axis without elements, no index is valid.
        _ if !(d.is_wild() || must_have_entries) && d.dims.get(at) == Some(&0) => 0,
        Some(Ok(part)) => MAX_DRAWN / part.max(1),
        _ => 0,
    };
    if let Some(length) = d.length.and_then(|length| i64::try_from(length).ok()) {
        return Ok(vec![length.min(most)]);
    }
    let most_rank = 13_usize.saturating_sub(d.dims.len()).max(1);
    draw_dims(d, most_rank, &(i64::from(must_have_entries)..=most.min(MAX_ENTRIES)))
}

fn output_rank(call: &Call) -> Option<usize> {
    let (data, indices) = (call.input(0)?, call.input(1)?);
    Some(data.rank().checked_sub(1)? + indices.rank())
}

impl Rule {
    pub const GATHER_DATA_RANK: Rule = Rule(&Text {
        id: "gather-data-rank",
        sentence: "\"Tensor of rank r >= 1.\" A scalar has no axis to gather on.",
        source: "Gather, all versions, input `data`",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const GATHER_AXIS_RANGE: Rule = Rule(&Text {
        id: "gather-axis-range",
        sentence: "\"Accepted range is [-r, r-1]\"",
        source: "Gather, all versions, attribute `axis`",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const GATHER_INDEX_RANGE: Rule = Rule(&Text {
        id: "gather-index-range",
        sentence: "\"It is an error if any of the index values are out of bounds.\"",
        source: "Gather, all versions, input `indices`",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const GATHER_NEGATIVE_INDEX: Rule = Rule(&Text {
        id: "gather-negative-index",
        sentence: "\"All index values are expected to be within bounds.\" Whether the bounds are [-s, s-1] as from version \
                   11 on, so that a negative index counts from the back, is not said.",
        source: "Gather-1, input `indices` (W15)",
        topics: &[Topic::Value, Topic::Dims],
    });
}

fn execute(call: &Call) -> Expectation {
    let (data, indices) = (call.data(), call.input(1).expect("a well-formed call has its indices"));
    let values = call.integers(1).expect("indices are integers");
    if data.rank() == 0 {
        return Expectation::reject(Rule::GATHER_DATA_RANK);
    }
    let Some(at) = counted(call.int(AXIS), data.rank()) else {
        return Expectation::reject(Rule::GATHER_AXIS_RANGE);
    };
    let dims = [&data.dims()[..at], indices.dims(), &data.dims()[at + 1..]].concat();
    let Some(places) = from_the_front(&values, &data.dims()[at..=at]) else {
        return Expectation::reject_with_output(Rule::GATHER_INDEX_RANGE, &dims);
    };
    if call.is_vast_output(&dims) {
        return Expectation::vast(&dims);
    }
    let outputs = vec![gather(data, at, &places, dims)];
    if call.since() < NEGATIVE_INDEX_SINCE && values.iter().any(|&index| index < 0) {
        return Expectation::unspecified(Rule::GATHER_NEGATIVE_INDEX, [Answer::Outputs(outputs), Answer::Refusal]);
    }
    Expectation::Defined(outputs)
}

/// The parts of the data at these places along an axis, in these dims.
fn gather(data: &Tensor, at: usize, places: &[usize], dims: Vec<i64>) -> Tensor {
    if dims.contains(&0) {
        return nothing(data, dims);
    }
    let count = |dims: &[i64]| element_count(dims).expect("data with elements is in memory");
    let (before, size, part) = (&data.dims()[..at], &data.dims()[at..=at], &data.dims()[at + 1..]);
    let (size, part) = (count(size), count(part));
    let starts = (0..count(before)).flat_map(|outer| places.iter().map(move |place| (outer * size + place) * part));
    runs(data, dims, starts, part)
}

#[cfg(test)]
mod tests {
    use super::super::indices::testing::{Of, answer, inputs};
    use super::*;
    use crate::operator::{Attribute, AttributeValue};

    const MIN: i64 = i64::MIN;
    const MAX: i64 = i64::MAX;

    fn gather(opset: u8, dims: &[i64], axis: Option<i64>, indices: Of) -> Expectation {
        let attribute = |value| Attribute { name: AXIS.to_owned(), value: AttributeValue::Int(value) };
        GATHER.evaluate(opset, &axis.map(attribute).into_iter().collect::<Vec<_>>(), &inputs(dims, indices), 1)
    }

    #[test]
    fn the_cells_are_those_of_the_document() {
        assert_eq!(GATHER.cells(), 46);
    }

    #[test]
    fn an_index_names_a_part() {
        let rows: &[(&[i64], Option<i64>, Of, Of)] = &[
            (&[3], None, (&[2], &[2, 0]), (&[2], &[2, 0])),
            (&[3], None, (&[], &[1]), (&[], &[1])),
            (&[3, 2], None, (&[], &[2]), (&[2], &[4, 5])),
            (&[3], None, (&[2, 2], &[0, 1, 2, 2]), (&[2, 2], &[0, 1, 2, 2])),
            (&[3, 2], Some(1), (&[1, 3], &[0, 1, 0]), (&[3, 1, 3], &[0, 1, 0, 2, 3, 2, 4, 5, 4])),
            (&[3, 2], Some(1), (&[], &[1]), (&[3], &[1, 3, 5])),
            (&[3, 2], Some(-1), (&[1], &[1]), (&[3, 1], &[1, 3, 5])),
            (&[2, 3, 2], Some(1), (&[2, 1], &[0, 2]), (&[2, 2, 1, 2], &[0, 1, 4, 5, 6, 7, 10, 11])),
            (&[2, 3], Some(-2), (&[3], &[1, 1, 1]), (&[3, 3], &[3, 4, 5, 3, 4, 5, 3, 4, 5])),
            (&[3], None, (&[0], &[]), (&[0], &[])),
            (&[3], None, (&[0, 4], &[]), (&[0, 4], &[])),
            (&[3], None, (&[2, 0], &[]), (&[2, 0], &[])),
            (&[0, 3], None, (&[0], &[]), (&[0, 3], &[])),
            (&[0], None, (&[0], &[]), (&[0], &[])),
            (&[3, 0], None, (&[2], &[1, 1]), (&[2, 0], &[])),
            (&[0, 3], Some(1), (&[1], &[2]), (&[0, 1], &[])),
        ];
        for &(dims, axis, indices, output) in rows {
            for opset in [1, 11, 13] {
                assert_eq!(gather(opset, dims, axis, indices), answer(output), "{dims:?} {axis:?} {indices:?}");
            }
        }
    }

    #[test]
    fn a_negative_index_counts_from_the_back_since_version_11() {
        let rows: &[(&[i64], Of, Of)] = &[
            (&[3], (&[2], &[-1, -3]), (&[2], &[2, 0])),
            (&[3, 2], (&[], &[-1]), (&[2], &[4, 5])),
            (&[3, 0], (&[1], &[-3]), (&[1, 0], &[])),
        ];
        for &(dims, indices, output) in rows {
            let counted = answer(output);
            assert_eq!(
                (gather(11, dims, None, indices), gather(13, dims, None, indices)),
                (counted.clone(), counted.clone())
            );
            let open = [Answer::Outputs(counted.outputs().unwrap().to_vec()), Answer::Refusal];
            let expected = Expectation::unspecified(Rule::GATHER_NEGATIVE_INDEX, open);
            assert_eq!(gather(1, dims, None, indices), expected);
        }
    }

    #[test]
    fn what_is_refused() {
        let (index, axis) = (Rule::GATHER_INDEX_RANGE, Rule::GATHER_AXIS_RANGE);
        let beyond = [3, -4, MIN, MAX, 1 << 32, -(1 << 32), i64::from(i32::MIN)];
        let mut rows: Vec<(&[i64], Option<i64>, Of, Rule)> = vec![
            (&[3], None, (&[3], &[0, 3, 0]), index),
            (&[0, 3], None, (&[1], &[0]), index),
            (&[0, 3], None, (&[1], &[-1]), index),
            (&[0], None, (&[], &[0]), index),
            (&[0, 3], Some(1), (&[1], &[3]), index),
            (&[], None, (&[1], &[0]), Rule::GATHER_DATA_RANK),
            (&[], Some(0), (&[], &[0]), Rule::GATHER_DATA_RANK),
            (&[], None, (&[0], &[]), Rule::GATHER_DATA_RANK),
        ];
        for value in beyond.chunks(1) {
            rows.extend([(&[3][..], None, (&[1][..], value), index), (&[3, 0], None, (&[1], value), index)]);
        }
        for value in [2, -3, 1 << 32, MIN, MAX] {
            rows.push((&[3, 2], Some(value), (&[1], &[0]), axis));
        }
        for (dims, axis, indices, rule) in rows {
            for opset in [1, 11, 13] {
                let found = gather(opset, dims, axis, indices);
                assert_eq!(found, Expectation::reject(rule), "{dims:?} {axis:?} {indices:?}");
            }
        }
    }

    #[test]
    fn an_index_is_compared_with_dims_of_any_size() {
        for (value, is_valid) in [(1 << 61, true), (-(1 << 62), true), (1 << 62, false), (-(1 << 62) - 1, false)] {
            let found = gather(13, &[1 << 62, 0], None, (&[1], &[value]));
            let rule = if is_valid { Rule::VAST_DIMS } else { Rule::GATHER_INDEX_RANGE };
            assert_eq!((found.rule(), found.outputs().is_some()), (Some(rule), is_valid), "{value}");
        }
    }

    #[test]
    fn an_answer_past_memory_is_never_put_together() {
        for index in [0, 1] {
            let found = gather(13, &[1, 1 << 16], None, (&[1 << 13], &vec![index; 1 << 13]));
            assert_eq!(found, Expectation::anything(Rule::VAST_ANSWER), "{index}");
        }
    }
}
