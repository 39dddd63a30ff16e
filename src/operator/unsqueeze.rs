//! Unsqueeze: the same elements with dims of 1 inserted.

use super::axes::{self, AXES, AxesRules, INPUT_SINCE, NEGATIVE_SINCE, VECTOR_SINCE};
use super::{
    Aim, Answer, AttributeKind, AttributeSpec, Call, Drawing, Expectation, InputSpec, Operator, OutputType, Role, Rule,
    Text, Topic, always, since, until,
};
use crate::tensor::Tensor;

pub(crate) static UNSQUEEZE: Operator = Operator {
    name: "Unsqueeze",
    versions: &axes::versions(
        &[AttributeSpec::new(AXES, AttributeKind::Ints, Role::Axis).required()],
        &[InputSpec::data("data"), InputSpec::int64(AXES, Role::Axis)],
    ),
    rules: &[
        always(Rule::UNSQUEEZE_AXIS_RANGE),
        until(NEGATIVE_SINCE - 1, Rule::UNSQUEEZE_NEGATIVE_AXIS),
        since(NO_REPEAT_SINCE, Rule::UNSQUEEZE_REPEATED_AXIS),
        until(NO_REPEAT_SINCE - 1, Rule::UNSQUEEZE_REPEAT_UNSAID),
        since(INPUT_SINCE, Rule::UNSQUEEZE_AXES_RANK).in_words_of(AXES_LIST, VECTOR_SINCE - 1),
    ],
    catalogue: include_str!("../../corpus/catalogue/unsqueeze.txt"),
    purpose: &[
        (11, "Insert single-dimensional entries to the shape of an input tensor (`data`)."),
        (1, "Insert single-dimensional entries to the shape of a tensor."),
    ],
    execute,
    draw,
    output_rank,
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

/// The statement on the axes in the documents that do not yet call them a vector.
const AXES_LIST: Rule = Rule(&Text {
    id: "unsqueeze-axes-list",
    sentence: "The axes are a \"List of integers indicating the dimensions to be inserted\"; what a tensor of another rank means is \
               not said.",
    source: "Unsqueeze-13 and Unsqueeze-21, input `axes` (V3)",
    topics: &[Topic::Value, Topic::Dims],
});

const AXES_RULES: AxesRules = AxesRules {
    range: Rule::UNSQUEEZE_AXIS_RANGE,
    negative: Rule::UNSQUEEZE_NEGATIVE_AXIS,
    rank: Rule::UNSQUEEZE_AXES_RANK,
};

/// The version that forbids naming a dimension twice.
const NO_REPEAT_SINCE: u8 = 11;

/// The largest rank to which drawn axes raise the data, unless its rank is higher already.
const MAX_RANK: usize = 12;

fn draw(d: &mut Drawing) -> arbitrary::Result<()> {
    let axes = draw_axes(d)?;
    axes::give(d, &AXES_RULES, Some(axes))
}

fn draw_axes(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    let count = count(d)?;
    let rank = d.dims.len() + count;
    let counted = i64::try_from(rank).expect("a rank is small");
    if d.is_wild() {
        return axes::wild(d, count, counted);
    }
    let repeats = d.breaks(Rule::UNSQUEEZE_REPEATED_AXIS) || d.breaks(Rule::UNSQUEEZE_REPEAT_UNSAID);
    let mut places = axes::some_of(d, (0..counted).collect(), count - usize::from(repeats))?;
    if repeats {
        axes::repeat_one(d, &mut places)?;
    }
    axes::meaning(d, &AXES_RULES, &places, counted)
}

/// The number of axes of the call: as many as the rule needs, and few enough to keep the rank small.
fn count(d: &mut Drawing) -> arbitrary::Result<usize> {
    let least = match d.aim {
        Aim::Break(Rule::UNSQUEEZE_REPEATED_AXIS | Rule::UNSQUEEZE_REPEAT_UNSAID) => 2,
        Aim::Break(Rule::UNSQUEEZE_AXIS_RANGE | Rule::UNSQUEEZE_NEGATIVE_AXIS) => 1,
        _ => 0,
    };
    let room = if d.dims.len() > MAX_RANK { 2 } else { MAX_RANK - d.dims.len() };
    let drawn = d.choose(&[1, 1, 1, 2, 2, 3, 0, 4, room])?;
    Ok(d.length.unwrap_or(drawn).min(room).max(least))
}

/// Unknown if the texts leave open how many dims are inserted.
fn output_rank(call: &Call) -> Option<usize> {
    let (data, axes) = (call.input(0)?, axes::of(call)?);
    let rank = data.rank() + axes.len();
    let mut places = axes::places(&axes, rank)?;
    places.dedup();
    (places.len() == axes.len()).then_some(rank)
}

impl Rule {
    pub const UNSQUEEZE_AXIS_RANGE: Rule = Rule(&Text {
        id: "unsqueeze-axis-range",
        sentence: "\"Each value in `axes` should be within the (inclusive) range [-output_rank , output_rank - 1].\"",
        source: "Unsqueeze-11 and later; [0, output_rank - 1] in Unsqueeze-1",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const UNSQUEEZE_NEGATIVE_AXIS: Rule = Rule(&Text {
        id: "unsqueeze-negative-axis",
        sentence: "The axes are a \"List of non-negative integers\".",
        source: "Unsqueeze-1, attribute `axes` (V16)",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const UNSQUEEZE_REPEATED_AXIS: Rule = Rule(&Text {
        id: "unsqueeze-repeated-axis",
        sentence: "`axes` \"should not contain any duplicate entries. It is an error if it contains duplicates.\"",
        source: "Unsqueeze-11 and later",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const UNSQUEEZE_REPEAT_UNSAID: Rule = Rule(&Text {
        id: "unsqueeze-repeat-unsaid",
        sentence: "Whether the axes may name a dimension twice, and how many are put in then, is not said.",
        source: "Unsqueeze-1, attribute `axes` (V4)",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const UNSQUEEZE_AXES_RANK: Rule = Rule(&Text {
        id: "unsqueeze-axes-rank",
        sentence: "The axes are a \"1D tensor of integers indicating the dimensions to be inserted\"; before version \
                   23, a \"List of integers\", and what a tensor of another rank means is not said.",
        source: "Unsqueeze-13 and later, input `axes` (V3)",
        topics: &[Topic::Value, Topic::Dims],
    });
}

fn execute(call: &Call) -> Expectation {
    let axes = axes::of(call).expect("a well-formed call has axes");
    axes::demanded(call, &AXES_RULES, &axes, unsqueeze(call, &axes))
}

/// The expectation for a list of axes. Negative axes are counted from the back.
fn unsqueeze(call: &Call, axes: &[i64]) -> Expectation {
    let data = call.data();
    let Some(places) = axes::places(axes, data.rank() + axes.len()) else {
        return Expectation::reject(Rule::UNSQUEEZE_AXIS_RANGE);
    };
    let mut distinct = places.clone();
    distinct.dedup();
    if distinct.len() == places.len() {
        let answer = with_ones(data, &places).expect("the places are those of the dims of the answer");
        return Expectation::Defined(vec![answer]);
    }
    if call.since() >= NO_REPEAT_SINCE {
        return Expectation::reject(Rule::UNSQUEEZE_REPEATED_AXIS);
    }
    // V4: each distinct place gets one dim, or each value gets one if the rank has room for that.
    let readings = [distinct, places].into_iter().filter_map(|places| with_ones(data, &places));
    let answers = readings.map(|tensor| Answer::Outputs(vec![tensor]));
    Expectation::unspecified(Rule::UNSQUEEZE_REPEAT_UNSAID, [Answer::Refusal].into_iter().chain(answers))
}

/// The data with a dim of 1 inserted at each place in turn; `None` if a place is past the dims that exist at that point. Distinct
/// places in ascending order remain the places of the inserted dims.
fn with_ones(data: &Tensor, places: &[usize]) -> Option<Tensor> {
    let mut dims = data.dims().to_vec();
    for &place in places {
        if place > dims.len() {
            return None;
        }
        dims.insert(place, 1);
    }
    data.with_dims(dims).ok()
}

#[cfg(test)]
#[expect(clippy::type_complexity, reason = "a table of rows reads best with its type in one place")]
mod tests {
    use super::axes::tests::{OPSETS, answer, with_axes, with_tensor};
    use super::*;

    const X: &[i64] = &[3, 4];

    #[test]
    fn the_versions_make_as_many_cells_as_the_operator_documents_have() {
        let rows: Vec<_> = UNSQUEEZE.versions.iter().map(|v| (v.since, v.element_types.len())).collect();
        assert_eq!(rows, [(1, 15), (11, 15), (13, 16), (21, 22), (23, 23), (24, 24), (25, 26)]);
        assert_eq!(UNSQUEEZE.cells(), 141);
    }

    #[test]
    fn axes_are_places_in_the_output() {
        let rows: &[(u8, &[i64], &[i64], &[i64])] = &[
            (1, X, &[0], &[1, 3, 4]),
            (1, X, &[1], &[3, 1, 4]),
            (1, X, &[2], &[3, 4, 1]),
            (1, X, &[0, 3], &[1, 3, 4, 1]),
            (1, X, &[3, 0], &[1, 3, 4, 1]),
            (1, X, &[0, 1], &[1, 1, 3, 4]),
            (1, X, &[2, 1], &[3, 1, 1, 4]),
            (1, X, &[2, 3], &[3, 4, 1, 1]),
            (1, X, &[0, 2], &[1, 3, 1, 4]),
            (11, X, &[-1], &[3, 4, 1]),
            (11, X, &[-2], &[3, 1, 4]),
            (11, X, &[-3], &[1, 3, 4]),
            (11, X, &[-1, 0], &[1, 3, 4, 1]),
            (11, X, &[-4, -1], &[1, 3, 4, 1]),
            (11, X, &[-1, -2], &[3, 4, 1, 1]),
            (11, X, &[-3, 0], &[1, 1, 3, 4]),
            (1, X, &[], X),
            (1, &[], &[0], &[1]),
            (11, &[], &[-1], &[1]),
            (1, &[], &[0, 1], &[1, 1]),
            (1, &[], &[1, 0], &[1, 1]),
            (1, &[], &[], &[]),
            (1, &[0], &[0], &[1, 0]),
            (1, &[0], &[1], &[0, 1]),
            (1, &[0], &[0, 2], &[1, 0, 1]),
            (1, &[2, 0, 3], &[1], &[2, 1, 0, 3]),
            (1, &[0, 0], &[2], &[0, 0, 1]),
            (1, X, &[0, 1, 2, 3], &[1, 1, 1, 1, 3, 4]),
            (1, X, &[5, 4, 3, 2], &[3, 4, 1, 1, 1, 1]),
        ];
        for &(since, from, axes, to) in rows {
            for opset in OPSETS.into_iter().filter(|&opset| opset >= since) {
                let expectation = with_axes(&UNSQUEEZE, opset, from, axes);
                assert_eq!(expectation, Expectation::Defined(answer(from, to)), "{opset} {from:?} {axes:?}");
            }
        }
    }

    #[test]
    fn what_has_no_answer_is_rejected() {
        let (range, repeated) = (Rule::UNSQUEEZE_AXIS_RANGE, Rule::UNSQUEEZE_REPEATED_AXIS);
        let rows: &[(u8, &[i64], &[&[i64]], Rule)] = &[
            (1, X, &[&[3], &[0, 4], &[1 << 31], &[1 << 32], &[(1 << 32) + 1], &[0, i64::MAX]], range),
            (11, X, &[&[-4], &[-5, 0], &[-(1 << 32) - 1], &[i64::MIN]], range),
            (1, &[], &[&[1]], range),
            (11, &[], &[&[-2]], range),
            (11, X, &[&[0, 0], &[0, -4], &[1, -3], &[2, 2, 0]], repeated),
        ];
        for &(since, from, lists, rule) in rows {
            for opset in OPSETS.into_iter().filter(|&opset| opset >= since) {
                for axes in lists {
                    let expectation = with_axes(&UNSQUEEZE, opset, from, axes);
                    assert_eq!(expectation, Expectation::reject(rule), "{opset} {from:?} {axes:?}");
                }
            }
        }
    }

    #[test]
    fn negative_axes_before_version_11() {
        let rows: &[(&[i64], Option<&[i64]>)] = &[
            (&[-1], Some(&[3, 4, 1])),
            (&[-1, 0], Some(&[1, 3, 4, 1])),
            (&[0, -4], None),
            (&[-4], None),
            (&[i64::MIN], None),
        ];
        for &(axes, to) in rows {
            let lenient = to.map(|to| answer(X, to));
            let expected = Expectation::Reject { rule: Rule::UNSQUEEZE_NEGATIVE_AXIS, lenient };
            assert_eq!(with_axes(&UNSQUEEZE, 10, X, axes), expected, "{axes:?}");
        }
    }

    #[test]
    fn a_repeat_in_version_1_leaves_room() {
        let rows: &[(&[i64], &[i64], &[&[i64]])] = &[
            (X, &[0, 0], &[&[1, 3, 4], &[1, 1, 3, 4]]),
            (X, &[2, 2], &[&[3, 4, 1], &[3, 4, 1, 1]]),
            (X, &[1, 0, 1], &[&[1, 1, 3, 4], &[1, 1, 1, 3, 4]]),
            (X, &[0, 3, 3], &[&[1, 3, 4, 1], &[1, 3, 4, 1, 1]]),
            (&[], &[0, 0], &[&[1], &[1, 1]]),
            // There is no place 4 unless both zeros insert a dim.
            (X, &[0, 0, 4], &[&[1, 1, 3, 4, 1]]),
        ];
        let rule = Rule::UNSQUEEZE_REPEAT_UNSAID;
        for &(from, axes, readings) in rows {
            let answers = readings.iter().map(|to| Answer::Outputs(answer(from, to)));
            let expected = Expectation::unspecified(rule, [Answer::Refusal].into_iter().chain(answers));
            assert_eq!(with_axes(&UNSQUEEZE, 1, from, axes), expected, "{from:?} {axes:?}");
        }
        assert_eq!(with_axes(&UNSQUEEZE, 1, X, &[3, 3]), Expectation::reject(rule));
    }

    #[test]
    fn axes_that_are_no_vector() {
        let rule = Rule::UNSQUEEZE_AXES_RANK;
        let rows: &[(&[i64], &[i64], &[i64])] = &[(&[], &[0], &[1, 3, 4]), (&[1, 2], &[0, 3], &[1, 3, 4, 1])];
        for &(dims, axes, to) in rows {
            let axes = Tensor::vector(axes).with_dims(dims.to_vec()).unwrap();
            let tolerated = vec![Answer::Outputs(answer(X, to)), Answer::Refusal];
            let open = Expectation::Unspecified { rule, tolerated };
            let lenient = Expectation::Reject { rule, lenient: Some(answer(X, to)) };
            for (opset, expected) in [(13, &open), (22, &open), (23, &lenient), (28, &lenient)] {
                assert_eq!(&with_tensor(&UNSQUEEZE, opset, X, axes.clone()), expected, "{opset} {dims:?}");
            }
        }
    }

    #[test]
    fn vast_dims_keep_their_sizes() {
        let vast = 1 << 32;
        let expectation = with_axes(&UNSQUEEZE, 28, &[vast, 0, vast], &[-1]);
        assert_eq!(expectation.rule(), Some(Rule::VAST_DIMS));
        assert_eq!(expectation.outputs().unwrap()[0].dims(), [vast, 0, vast, 1]);
    }
}
