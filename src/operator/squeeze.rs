//! Squeeze: the same elements without some or all of the dims of 1.

use super::axes::{self, AXES, AxesRules, INPUT_SINCE, NEGATIVE_SINCE, VECTOR_SINCE};
use super::{
    Aim, Answer, AttributeKind, AttributeSpec, Call, Drawing, Expectation, InputSpec, Operator, OutputType, Role, Rule,
    Text, Topic, always, since, until,
};
use crate::tensor::Tensor;

pub(crate) static SQUEEZE: Operator = Operator {
    name: "Squeeze",
    versions: &axes::versions(
        &[AttributeSpec::new(AXES, AttributeKind::Ints, Role::Axis)],
        &[InputSpec::data("data"), InputSpec::int64(AXES, Role::Axis).optional()],
    ),
    rules: &[
        always(Rule::SQUEEZE_AXIS_RANGE),
        until(NEGATIVE_SINCE - 1, Rule::SQUEEZE_NEGATIVE_AXIS),
        always(Rule::SQUEEZE_NOT_ONE),
        always(Rule::SQUEEZE_EMPTY_AXES),
        always(Rule::SQUEEZE_REPEATED_AXIS),
        since(INPUT_SINCE, Rule::SQUEEZE_AXES_RANK).in_words_of(AXES_LIST, VECTOR_SINCE - 1),
    ],
    catalogue: include_str!("../../corpus/catalogue/squeeze.txt"),
    purpose: &[(1, "Remove single-dimensional entries from the shape of a tensor.")],
    execute,
    draw,
    output_rank,
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

/// The statement on the axes in the documents that do not yet call them a vector.
const AXES_LIST: Rule = Rule(&Text {
    id: "squeeze-axes-list",
    sentence: "The axes are a \"List of integers indicating the dimensions to squeeze\"; what a tensor of another rank means is \
               not said.",
    source: "Squeeze-13 and Squeeze-21, input `axes` (V3)",
    topics: &[Topic::Value, Topic::Dims],
});

const AXES_RULES: AxesRules =
    AxesRules { range: Rule::SQUEEZE_AXIS_RANGE, negative: Rule::SQUEEZE_NEGATIVE_AXIS, rank: Rule::SQUEEZE_AXES_RANK };

fn draw(d: &mut Drawing) -> arbitrary::Result<()> {
    fit_dims(d)?;
    let axes = if is_left_out(d)? { None } else { Some(draw_axes(d)?) };
    axes::give(d, &AXES_RULES, axes)
}

/// Gives the data dims with which the rule can be broken. Data drawn for this call alone often gets a few dims of 1.
fn fit_dims(d: &mut Drawing) -> arbitrary::Result<()> {
    if d.is_free && d.rank() < 10 && d.ratio(1, 2)? {
        for _ in 0..d.between(1, 3)? {
            insert_one(d)?;
        }
    }
    match d.aim {
        Aim::Break(Rule::SQUEEZE_EMPTY_AXES | Rule::SQUEEZE_REPEATED_AXIS) if !d.dims.contains(&1) => insert_one(d)?,
        Aim::Break(Rule::SQUEEZE_NOT_ONE) if d.dims.iter().all(|&dim| dim == 1) => {
            d.need_axis()?;
            let place = d.u.choose_index(d.dims.len())?;
            d.dims[place] = d.choose(&[2, 0, 3, 5])?;
        }
        _ => {}
    }
    Ok(())
}

fn insert_one(d: &mut Drawing) -> arbitrary::Result<()> {
    let place = d.u.int_in_range(0..=d.dims.len())?;
    d.dims.insert(place, 1);
    Ok(())
}

/// Whether the call has no axes. It must have axes if their number is given, or if a rule on them is to be broken.
fn is_left_out(d: &mut Drawing) -> arbitrary::Result<bool> {
    match d.aim {
        Aim::Break(Rule::PARAMETER_TYPE) => Ok(false),
        Aim::Break(rule) if SQUEEZE.own_rules().any(|own| own == rule) => Ok(false),
        _ => Ok(d.length.is_none_or(|length| length == 0) && d.ratio(1, 4)?),
    }
}

/// Axes of dims of 1, at least one if there is such a dim. If a rule is to be broken, the axes break it.
fn draw_axes(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    let rank = d.rank();
    let (ones, others) = (places_where(&d.dims, |dim| dim == 1), places_where(&d.dims, |dim| dim != 1));
    let least = ones.len().min(1);
    let drawn = d.u.int_in_range(least..=ones.len())?;
    let count = d.length.map_or(drawn, |length| length.clamp(least, ones.len()));
    let mut places = axes::some_of(d, ones, count)?;
    match d.aim {
        Aim::Break(Rule::SQUEEZE_EMPTY_AXES) => places.clear(),
        Aim::Break(Rule::SQUEEZE_REPEATED_AXIS) => axes::repeat_one(d, &mut places)?,
        Aim::Break(Rule::SQUEEZE_NOT_ONE) => {
            let (place, position) = (d.choose(&others)?, d.u.int_in_range(0..=places.len())?);
            places.insert(position, place);
            if d.ratio(1, 8)? {
                axes::repeat_one(d, &mut places)?;
            }
        }
        Aim::Wild => {
            let count = d.u.int_in_range(0..=4)?;
            return axes::wild(d, count, rank);
        }
        _ => {}
    }
    axes::meaning(d, &AXES_RULES, &places, rank)
}

/// The places of the dims that satisfy a condition.
fn places_where(dims: &[i64], is_such: impl Fn(i64) -> bool) -> Vec<i64> {
    (0..).zip(dims).filter(|(_, dim)| is_such(**dim)).map(|(place, _)| place).collect()
}

/// Unknown if the texts leave open how many dims are removed.
fn output_rank(call: &Call) -> Option<usize> {
    let data = call.input(0)?;
    let ones = data.dims().iter().filter(|&&dim| dim == 1).count();
    match axes::of(call) {
        None => Some(data.rank() - ones),
        Some(axes) if axes.is_empty() && ones > 0 => None,
        Some(axes) => {
            let mut places = axes::places(&axes, data.rank())?;
            places.dedup();
            Some(data.rank() - places.len())
        }
    }
}

impl Rule {
    pub const SQUEEZE_AXIS_RANGE: Rule = Rule(&Text {
        id: "squeeze-axis-range",
        sentence: "\"Accepted range is [-r, r-1] where r = rank(data).\"",
        source: "Squeeze-11 and later, `axes`; [0, r-1] in Squeeze-1",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const SQUEEZE_NEGATIVE_AXIS: Rule = Rule(&Text {
        id: "squeeze-negative-axis",
        sentence: "The axes are a \"List of non-negative integers\".",
        source: "Squeeze-1, attribute `axes` (V16)",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const SQUEEZE_NOT_ONE: Rule = Rule(&Text {
        id: "squeeze-not-one",
        sentence: "\"If an axis is selected with shape entry not equal to one, an error is raised.\"",
        source: "Squeeze, all versions",
        topics: &[Topic::Dims, Topic::Value, Topic::Size],
    });
    pub const SQUEEZE_EMPTY_AXES: Rule = Rule(&Text {
        id: "squeeze-empty-axes",
        sentence: "\"If `axes` is not provided, all the single dimensions will be removed from the shape.\" Whether an \
                   empty list is provided is not said.",
        source: "Squeeze, all versions (V1)",
        topics: &[Topic::Value],
    });
    pub const SQUEEZE_REPEATED_AXIS: Rule = Rule(&Text {
        id: "squeeze-repeated-axis",
        sentence: "Whether the axes may name a dimension twice is not said.",
        source: "Squeeze, all versions, `axes` (V2)",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const SQUEEZE_AXES_RANK: Rule = Rule(&Text {
        id: "squeeze-axes-rank",
        sentence: "The axes are a \"1D tensor of integers indicating the dimensions to squeeze\"; before version 23, a \
                   \"List of integers\", and what a tensor of another rank means is not said.",
        source: "Squeeze-13 and later, input `axes` (V3)",
        topics: &[Topic::Value, Topic::Dims],
    });
}

fn execute(call: &Call) -> Expectation {
    let data = call.data();
    match axes::of(call) {
        None => Expectation::Defined(vec![without_ones(data)]),
        Some(axes) => axes::demanded(call, &AXES_RULES, &axes, squeeze(data, &axes)),
    }
}

/// The expectation for a list of axes. Negative axes are counted from the back.
fn squeeze(data: &Tensor, axes: &[i64]) -> Expectation {
    let Some(mut places) = axes::places(axes, data.rank()) else {
        return Expectation::reject(Rule::SQUEEZE_AXIS_RANGE);
    };
    if places.iter().any(|&place| data.dims()[place] != 1) {
        return Expectation::reject(Rule::SQUEEZE_NOT_ONE);
    }
    places.dedup();
    let answer = without(data, |place| places.binary_search(&place).is_ok());
    if axes.is_empty() && data.dims().contains(&1) {
        let answers = [answer, without_ones(data)].map(|tensor| Answer::Outputs(vec![tensor]));
        Expectation::unspecified(Rule::SQUEEZE_EMPTY_AXES, answers)
    } else if places.len() < axes.len() {
        Expectation::unspecified(Rule::SQUEEZE_REPEATED_AXIS, [Answer::Outputs(vec![answer]), Answer::Refusal])
    } else {
        Expectation::Defined(vec![answer])
    }
}

fn without_ones(data: &Tensor) -> Tensor {
    without(data, |place| data.dims()[place] == 1)
}

/// The data without the dims at some places, which are all 1.
fn without(data: &Tensor, is_dropped: impl Fn(usize) -> bool) -> Tensor {
    let left = data.dims().iter().enumerate().filter(|(place, _)| !is_dropped(*place));
    data.with_dims(left.map(|(_, &dim)| dim).collect()).expect("a dim of 1 counts no elements")
}

#[cfg(test)]
#[expect(clippy::type_complexity, reason = "a table of rows reads best with its type in one place")]
mod tests {
    use super::axes::tests::{OPSETS, answer, data, with_axes, with_tensor};
    use super::*;

    const X: &[i64] = &[1, 3, 1, 2];

    #[test]
    fn the_versions_make_as_many_cells_as_the_operator_documents_have() {
        let rows: Vec<_> = SQUEEZE.versions.iter().map(|v| (v.since, v.element_types.len())).collect();
        assert_eq!(rows, [(1, 15), (11, 15), (13, 16), (21, 22), (23, 23), (24, 24), (25, 26)]);
        assert_eq!(SQUEEZE.cells(), 141);
    }

    #[test]
    fn without_axes_every_dim_of_1_goes() {
        let rows: &[(&[i64], &[i64])] = &[
            (X, &[3, 2]),
            (&[1, 1, 1], &[]),
            (&[], &[]),
            (&[5], &[5]),
            (&[2, 3], &[2, 3]),
            (&[0], &[0]),
            (&[1, 0], &[0]),
            (&[0, 1, 3], &[0, 3]),
            (&[1, 0, 1], &[0]),
        ];
        for &(from, to) in rows {
            let expected = Expectation::Defined(answer(from, to));
            for opset in OPSETS {
                assert_eq!(SQUEEZE.evaluate(opset, &[], &[Some(data(from))], 1), expected, "{opset} {from:?}");
            }
            for opset in [13, 28] {
                assert_eq!(SQUEEZE.evaluate(opset, &[], &[Some(data(from)), None], 1), expected, "{opset} {from:?}");
            }
        }
    }

    #[test]
    fn axes_name_the_dims_that_go() {
        let rows: &[(u8, &[i64], &[i64], &[i64])] = &[
            (1, X, &[0], &[3, 1, 2]),
            (1, X, &[2], &[1, 3, 2]),
            (1, X, &[0, 2], &[3, 2]),
            (1, X, &[2, 0], &[3, 2]),
            (11, X, &[-4], &[3, 1, 2]),
            (11, X, &[-2], &[1, 3, 2]),
            (11, X, &[-2, 0], &[3, 2]),
            (11, X, &[-2, -4], &[3, 2]),
            (1, &[3, 2], &[], &[3, 2]),
            (1, &[], &[], &[]),
            (1, &[1, 1, 1], &[0, 1, 2], &[]),
            (1, &[1, 1, 1], &[1], &[1, 1]),
            (1, &[1], &[0], &[]),
            (1, &[1, 0], &[0], &[0]),
            (1, &[0, 1, 3], &[1], &[0, 3]),
        ];
        for &(since, from, axes, to) in rows {
            for opset in OPSETS.into_iter().filter(|&opset| opset >= since) {
                let expectation = with_axes(&SQUEEZE, opset, from, axes);
                assert_eq!(expectation, Expectation::Defined(answer(from, to)), "{opset} {from:?} {axes:?}");
            }
        }
    }

    #[test]
    fn what_has_no_answer_is_rejected() {
        let (range, not_one) = (Rule::SQUEEZE_AXIS_RANGE, Rule::SQUEEZE_NOT_ONE);
        let rows: &[(u8, &[i64], &[&[i64]], Rule)] = &[
            (1, X, &[&[1], &[3], &[0, 1], &[1, 1]], not_one),
            (1, &[0], &[&[0]], not_one),
            (1, &[0, 1, 3], &[&[0]], not_one),
            (1, &[1, 0], &[&[1]], not_one),
            (1, X, &[&[4], &[0, 4], &[1 << 31], &[1 << 32], &[(1 << 32) + 1], &[i64::MAX]], range),
            (11, X, &[&[-5], &[-(1 << 32) - 1], &[i64::MIN]], range),
            (1, &[], &[&[0]], range),
            (11, &[], &[&[-1]], range),
        ];
        for &(since, from, lists, rule) in rows {
            for opset in OPSETS.into_iter().filter(|&opset| opset >= since) {
                for axes in lists {
                    let expectation = with_axes(&SQUEEZE, opset, from, axes);
                    assert_eq!(expectation, Expectation::reject(rule), "{opset} {from:?} {axes:?}");
                }
            }
        }
    }

    #[test]
    fn negative_axes_before_version_11() {
        let rows: &[(&[i64], Option<&[i64]>)] = &[
            (&[-4], Some(&[3, 1, 2])),
            (&[-2, 0], Some(&[3, 2])),
            (&[0, -4], Some(&[3, 1, 2])),
            (&[-1], None),
            (&[-5], None),
            (&[i64::MIN], None),
        ];
        for &(axes, to) in rows {
            let lenient = to.map(|to| answer(X, to));
            let expected = Expectation::Reject { rule: Rule::SQUEEZE_NEGATIVE_AXIS, lenient };
            assert_eq!(with_axes(&SQUEEZE, 10, X, axes), expected, "{axes:?}");
        }
    }

    #[test]
    fn empty_axes_and_repeats_leave_room() {
        for opset in OPSETS {
            let either = [X, &[3, 2]].map(|to| Answer::Outputs(answer(X, to)));
            let expected = Expectation::Unspecified { rule: Rule::SQUEEZE_EMPTY_AXES, tolerated: either.to_vec() };
            assert_eq!(with_axes(&SQUEEZE, opset, X, &[]), expected);
            let rows: &[(u8, &[i64], &[i64], &[i64])] = &[
                (1, X, &[0, 0], &[3, 1, 2]),
                (1, X, &[2, 0, 2], &[3, 2]),
                (11, X, &[0, -4], &[3, 1, 2]),
                (1, &[1, 1, 3], &[0, 0], &[1, 3]),
            ];
            for &(_, from, axes, to) in rows.iter().filter(|row| row.0 <= opset) {
                let tolerated = vec![Answer::Outputs(answer(from, to)), Answer::Refusal];
                let expected = Expectation::Unspecified { rule: Rule::SQUEEZE_REPEATED_AXIS, tolerated };
                assert_eq!(with_axes(&SQUEEZE, opset, from, axes), expected, "{opset} {from:?} {axes:?}");
            }
        }
    }

    #[test]
    fn axes_that_are_no_vector() {
        let rule = Rule::SQUEEZE_AXES_RANK;
        let rows: &[(&[i64], &[i64], &[i64])] = &[(&[], &[0], &[3, 1, 2]), (&[1, 2], &[0, 2], &[3, 2])];
        for &(dims, axes, to) in rows {
            let axes = Tensor::vector(axes).with_dims(dims.to_vec()).unwrap();
            let tolerated = vec![Answer::Outputs(answer(X, to)), Answer::Refusal];
            let open = Expectation::Unspecified { rule, tolerated };
            let lenient = Expectation::Reject { rule, lenient: Some(answer(X, to)) };
            for (opset, expected) in [(13, &open), (22, &open), (23, &lenient), (28, &lenient)] {
                assert_eq!(&with_tensor(&SQUEEZE, opset, X, axes.clone()), expected, "{opset} {dims:?}");
            }
        }
        let out_of_range = Tensor::vector(&[4]).with_dims(vec![]).unwrap();
        assert_eq!(with_tensor(&SQUEEZE, 13, X, out_of_range), Expectation::reject(rule));
    }

    #[test]
    fn vast_dims_keep_their_sizes() {
        let vast = 1 << 32;
        let expectation = with_axes(&SQUEEZE, 28, &[1, vast, vast, 0], &[0]);
        assert_eq!(expectation.rule(), Some(Rule::VAST_DIMS));
        assert_eq!(expectation.outputs().unwrap()[0].dims(), [vast, vast, 0]);
    }
}
