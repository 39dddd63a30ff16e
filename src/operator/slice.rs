//! Slice: along each requested axis, the elements from a start to an end, forwards or backwards, in steps.

mod drawing;

use std::collections::HashSet;
use std::ops::RangeInclusive;

use super::{
    Answer, AttributeKind, AttributeSpec, Call, Expectation, InputSpec, Operator, OutputType, Role, Rule, Text, Topic,
    Version, always, axis, between, since, until,
};
use crate::tensor::{ElementType, Tensor};

pub(crate) static SLICE: Operator = Operator {
    name: "Slice",
    versions: &[
        Version::new(
            1,
            ElementType::up_to(ElementType::Complex128),
            &[
                AttributeSpec::new(STARTS, AttributeKind::Ints, Role::Bound).required(),
                AttributeSpec::new(ENDS, AttributeKind::Ints, Role::Bound).required(),
                AttributeSpec::new(AXES, AttributeKind::Ints, Role::Axis),
            ],
            &[InputSpec::data("data")],
        ),
        version(INPUTS_SINCE, ElementType::Complex128),
        version(NEGATIVE_AXIS_SINCE, ElementType::Complex128),
        version(13, ElementType::Bfloat16),
    ],
    rules: &[
        since(INPUTS_SINCE, Rule::SLICE_OPERAND_RANK),
        always(Rule::SLICE_LENGTHS),
        since(INPUTS_SINCE, Rule::SLICE_STEP_ZERO),
        always(Rule::SLICE_EMPTY_AXES),
        always(Rule::SLICE_EXCESS_STARTS),
        since(INPUTS_SINCE, Rule::SLICE_FEWER_STARTS),
        always(Rule::SLICE_AXIS_RANGE),
        until(NEGATIVE_AXIS_SINCE - 1, Rule::SLICE_NEGATIVE_AXIS),
        always(Rule::SLICE_REPEATED_AXIS),
        always(Rule::SLICE_SCALAR),
        between(*BACKWARD_MAX_IN.start(), *BACKWARD_MAX_IN.end(), Rule::SLICE_BACKWARD_MAX),
        between(*START_BEFORE_FRONT_IN.start(), *START_BEFORE_FRONT_IN.end(), Rule::SLICE_START_BEFORE_FRONT),
    ],
    catalogue: include_str!("../../corpus/catalogue/slice.txt"),
    purpose: &[(1, "Produces a slice of the input tensor along multiple axes.")],
    execute,
    draw: drawing::draw,
    output_rank: |call| call.input(0).map(Tensor::rank),
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

const STARTS: &str = "starts";
const ENDS: &str = "ends";
const AXES: &str = "axes";
const STEPS: &str = "steps";

/// The version that made the attributes inputs, and introduced steps.
const INPUTS_SINCE: u8 = 10;

/// The version that introduced axes counted from the back.
const NEGATIVE_AXIS_SINCE: u8 = 11;

/// The versions that leave open what `INT_MAX` means as the end of a backward slice.
const BACKWARD_MAX_IN: RangeInclusive<u8> = 10..=10;

/// The versions that leave open where a backward slice starts if its start is before the first element.
const START_BEFORE_FRONT_IN: RangeInclusive<u8> = 10..=11;

const fn version(since: u8, last: ElementType) -> Version {
    const INPUTS: &[InputSpec] = &[
        InputSpec::data("data"),
        InputSpec::index(STARTS, Role::Bound),
        InputSpec::index(ENDS, Role::Bound),
        InputSpec::index(AXES, Role::Axis).optional(),
        InputSpec::index(STEPS, Role::Bound).optional(),
    ];
    Version::new(since, ElementType::up_to(last), &[], INPUTS)
}

impl Rule {
    pub const SLICE_OPERAND_RANK: Rule = Rule(&Text {
        id: "slice-operand-rank",
        sentence: "Each of starts, ends, axes and steps is a \"1-D tensor\".",
        source: "Slice-10 and later, Inputs (W9)",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const SLICE_LENGTHS: Rule = Rule(&Text {
        id: "slice-lengths",
        sentence: "starts, ends, axes and steps, those that are given, have one number for each axis that is sliced.",
        source: "Slice, starts, ends, axes, steps",
        topics: &[Topic::Value, Topic::Dims, Topic::Inputs],
    });
    pub const SLICE_STEP_ZERO: Rule = Rule(&Text {
        id: "slice-step-zero",
        sentence: "\"'steps' cannot be 0.\"",
        source: "Slice-11 and later, input `steps`; unsaid in Slice-10, where no other reading of a 0 is possible",
        topics: &[Topic::Value],
    });
    pub const SLICE_EMPTY_AXES: Rule = Rule(&Text {
        id: "slice-empty-axes",
        sentence: "Empty axes name no axis that starts could be for; they are not the same as absent ones.",
        source: "Slice, axes (W14)",
        topics: &[Topic::Value, Topic::Dims, Topic::Attribute, Topic::Inputs],
    });
    pub const SLICE_EXCESS_STARTS: Rule = Rule(&Text {
        id: "slice-excess-starts",
        sentence: "Without axes, there are no more starts than the data has axes.",
        source: "Slice, axes: \"If `axes` are omitted, they are set to\" all axes",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const SLICE_FEWER_STARTS: Rule = Rule(&Text {
        id: "slice-fewer-starts",
        sentence: "\"If `axes` are omitted, they are set to\" all axes of the data; what fewer starts than that mean is \
                   not said.",
        source: "Slice-10 and later (W10)",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const SLICE_AXIS_RANGE: Rule = Rule(&Text {
        id: "slice-axis-range",
        sentence: "\"Accepted range is [-r, r-1] where r = rank(data).\"",
        source: "Slice-11 and later, input `axes`; no axis outside it exists in Slice-1 and 10",
        topics: &[Topic::Value],
    });
    pub const SLICE_NEGATIVE_AXIS: Rule = Rule(&Text {
        id: "slice-negative-axis",
        sentence: "What a negative axis means is not said; the next version counts it from the back.",
        source: "Slice-1 and 10, axes (W1)",
        topics: &[Topic::Value],
    });
    pub const SLICE_REPEATED_AXIS: Rule = Rule(&Text {
        id: "slice-repeated-axis",
        sentence: "\"Behavior is undefined if an axis is repeated.\"",
        source: "Slice-13, input `axes`; unsaid in earlier versions (W11)",
        topics: &[Topic::Value],
    });
    pub const SLICE_SCALAR: Rule = Rule(&Text {
        id: "slice-scalar",
        sentence: "A scalar has no axis to slice; whether none may be sliced is not said.",
        source: "Slice (W13)",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const SLICE_BACKWARD_MAX: Rule = Rule(&Text {
        id: "slice-backward-max",
        sentence: "\"For slicing to the end of a dimension with unknown size, it is recommended to pass in `INT_MAX`\"; \
                   whether that goes for a slice that runs backwards is not said.",
        source: "Slice-10; Slice-11 and later recommend INT_MIN there (W12)",
        topics: &[Topic::Value],
    });
    pub const SLICE_START_BEFORE_FRONT: Rule = Rule(&Text {
        id: "slice-start-before-front",
        sentence: "A slice that runs backwards from before the first element to before it takes that element if its \
                   start is clamped, as in the next version, and none if it is \"similar to numpy\".",
        source: "Slice-10 and 11 (W29)",
        topics: &[Topic::Value],
    });
}

/// The request of a call: each list that is given has a number for each axis that is sliced.
#[derive(Clone, Debug, Default)]
struct Lists {
    starts: Vec<i64>,
    ends: Vec<i64>,
    axes: Option<Vec<i64>>,
    steps: Option<Vec<i64>>,
}

impl Lists {
    fn of(call: &Call) -> Lists {
        let list = |place, name| match call.since() {
            INPUTS_SINCE.. => call.integers(place),
            _ => call.ints(name).map(<[i64]>::to_vec),
        };
        Lists {
            starts: list(1, STARTS).unwrap_or_default(),
            ends: list(2, ENDS).unwrap_or_default(),
            axes: list(3, AXES),
            steps: list(4, STEPS),
        }
    }

    /// Start, end and step for each axis that is sliced.
    fn cuts(&self) -> impl Iterator<Item = Cut> {
        let steps = self.steps.iter().flatten().copied().chain(std::iter::repeat(1));
        self.starts.iter().zip(&self.ends).zip(steps).map(|((&start, &end), step)| Cut { start, end, step })
    }
}

fn execute(call: &Call) -> Expectation {
    let expectation = slice(call.since(), call.data(), &Lists::of(call));
    if call.inputs.iter().skip(1).flatten().any(|list| list.rank() != 1) {
        return lenient(Rule::SLICE_OPERAND_RANK, &expectation);
    }
    expectation
}

/// The expectation of a refusal. If the other expectation has an answer, that answer is lenient.
fn lenient(rule: Rule, other: &Expectation) -> Expectation {
    Expectation::Reject { rule, lenient: other.outputs().map(<[Tensor]>::to_vec) }
}

fn slice(since: u8, data: &Tensor, lists: &Lists) -> Expectation {
    let (rank, count) = (data.rank(), lists.starts.len());
    if lists.ends.len() != count || lists.steps.as_ref().is_some_and(|steps| steps.len() != count) {
        return Expectation::reject(Rule::SLICE_LENGTHS);
    }
    if lists.cuts().any(|cut| cut.step == 0) {
        return Expectation::reject(Rule::SLICE_STEP_ZERO);
    }
    let axes: Vec<i64> = match &lists.axes {
        Some(axes) if axes.is_empty() && count > 0 => return with_empty_axes(since, data, lists),
        Some(axes) if axes.len() != count => return Expectation::reject(Rule::SLICE_LENGTHS),
        Some(axes) => axes.clone(),
        None if count > rank => return Expectation::reject(Rule::SLICE_EXCESS_STARTS),
        None => (0..).take(count).collect(),
    };
    let Some(places) = axes.iter().map(|&value| axis(value, rank)).collect::<Option<Vec<usize>>>() else {
        return Expectation::reject(Rule::SLICE_AXIS_RANGE);
    };
    if places.iter().collect::<HashSet<_>>().len() < count {
        return Expectation::anything(Rule::SLICE_REPEATED_AXIS);
    }
    let rooms = [
        (Rule::SLICE_SCALAR, rank == 0),
        (Rule::SLICE_NEGATIVE_AXIS, since < NEGATIVE_AXIS_SINCE && axes.iter().any(|&value| value < 0)),
        (Rule::SLICE_FEWER_STARTS, since >= INPUTS_SINCE && lists.axes.is_none() && count < rank),
    ];
    let may_refuse = rooms.into_iter().find(|&(_, is_open)| is_open).map(|(rule, _)| rule);
    let cuts: Vec<(usize, Cut)> = places.into_iter().zip(lists.cuts()).collect();
    let read_otherwise = cuts.iter().find_map(|(place, cut)| cut.open(since, data.dims()[*place]));
    let plain = take(data, &cuts, Reading::default());
    let Some(rule) = may_refuse.or(read_otherwise) else { return Expectation::Defined(vec![plain]) };
    let others = readings(since).map(|(_, reading)| take(data, &cuts, reading));
    let answers = [plain].into_iter().chain(others).map(|tensor| Answer::Outputs(vec![tensor]));
    Expectation::unspecified(rule, answers.chain(may_refuse.map(|_| Answer::Refusal)))
}

/// Empty axes, although there are starts. They are read as absent, or refused.
fn with_empty_axes(since: u8, data: &Tensor, lists: &Lists) -> Expectation {
    let as_absent = slice(since, data, &Lists { axes: None, ..lists.clone() });
    match as_absent {
        Expectation::Reject { .. } => as_absent,
        _ if since >= INPUTS_SINCE => lenient(Rule::SLICE_EMPTY_AXES, &as_absent),
        _ => {
            let answers = as_absent.into_answers().into_iter().chain([Answer::Refusal]);
            Expectation::unspecified(Rule::SLICE_EMPTY_AXES, answers)
        }
    }
}

/// The request along one axis.
#[derive(Clone, Copy, Debug)]
struct Cut {
    start: i64,
    end: i64,
    /// Not 0.
    step: i64,
}

/// How a version is read where it leaves room. The default is the reading of the newest version.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    /// `INT_MAX` as the end of a backward slice is before the first element.
    max_is_before_front: bool,
    /// In a backward slice, a start before the first element stays there instead of being clamped to it.
    start_stays_before_front: bool,
}

/// The other possible readings of a version, each with the rule that allows it.
fn readings(since: u8) -> impl Iterator<Item = (Rule, Reading)> {
    let (max, start) = (BACKWARD_MAX_IN.contains(&since), START_BEFORE_FRONT_IN.contains(&since));
    let reading =
        |max_is_before_front, start_stays_before_front| Reading { max_is_before_front, start_stays_before_front };
    let all = [
        (Rule::SLICE_BACKWARD_MAX, reading(true, false), max),
        (Rule::SLICE_START_BEFORE_FRONT, reading(false, true), start),
        (Rule::SLICE_BACKWARD_MAX, reading(true, true), max && start),
    ];
    all.into_iter().filter(|&(_, _, is_open)| is_open).map(|(rule, reading, _)| (rule, reading))
}

/// The elements taken along one axis: `count` elements from `first` on, `step` apart.
struct Run {
    first: i128,
    step: i128,
    count: i64,
}

impl Cut {
    /// The elements that it takes from an axis of this size (Slice-13, which spells out the clamping).
    fn run(self, size: i64, reading: Reading) -> Run {
        let step = i128::from(self.step);
        let counted = |bound: i64| i128::from(bound) + if bound < 0 { i128::from(size) } else { 0 };
        let (start, end) = (counted(self.start), counted(self.end));
        let is_max = self.end == i64::MAX || self.end == i64::from(i32::MAX);
        let (size, front) = (i128::from(size), if reading.start_stays_before_front { -1 } else { 0 });
        let (first, distance) = match step {
            _ if size == 0 => (0, 0),
            1.. => {
                let first = start.clamp(0, size);
                (first, end.clamp(0, size) - first)
            }
            _ => {
                let first = start.clamp(front, size - 1);
                let end = if reading.max_is_before_front && is_max { -1 } else { end.clamp(-1, size - 1) };
                (first, first - end)
            }
        };
        // Rounded up: if the last step passes the end, the element before that step is still taken.
        let count = (distance.max(0) + step.abs() - 1) / step.abs();
        Run { first, step, count: i64::try_from(count).expect("a slice has no more elements than its axis") }
    }

    /// The rule that leaves unspecified how many elements it takes from an axis of this size, if there is one.
    fn open(self, since: u8, size: i64) -> Option<Rule> {
        let count = self.run(size, Reading::default()).count;
        readings(since).find(|&(_, reading)| self.run(size, reading).count != count).map(|(rule, _)| rule)
    }
}

/// The elements that the cuts take, each cut along its own axis. The other axes stay whole.
fn take(data: &Tensor, cuts: &[(usize, Cut)], reading: Reading) -> Tensor {
    let mut runs: Vec<Run> = data.dims().iter().map(|&size| Run { first: 0, step: 1, count: size }).collect();
    for &(place, cut) in cuts {
        runs[place] = cut.run(data.dims()[place], reading);
    }
    let dims: Vec<i64> = runs.iter().map(|run| run.count).collect();
    // Every axis has all its elements, in forward order: this is the data itself.
    if dims == data.dims() && runs.iter().all(|run| run.step > 0 || run.count <= 1) {
        return data.clone();
    }
    let taken = data.rearranged(&dims, |axis, index, own| {
        let place = runs[axis].first + index as i128 * runs[axis].step;
        own[axis] = usize::try_from(place).expect("what a slice takes is an element of the data");
    });
    taken.expect("no dim is larger than that of the data")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::{Attribute, AttributeValue};

    const MIN: i64 = i64::MIN;
    const MAX: i64 = i64::MAX;

    fn data(dims: &[i64]) -> Tensor {
        let count = crate::tensor::element_count(dims).unwrap() as u128;
        Tensor::from_element_bits(ElementType::Int8, dims.to_vec(), 0..count).unwrap()
    }

    fn call(opset: u8, dims: &[i64], lists: &Lists) -> Expectation {
        let lists = [Some(&lists.starts), Some(&lists.ends), lists.axes.as_ref(), lists.steps.as_ref()];
        let labels = [STARTS, ENDS, AXES, STEPS];
        if opset < INPUTS_SINCE {
            let attributes = labels.into_iter().zip(lists).filter_map(|(name, list)| {
                Some(Attribute { name: name.to_owned(), value: AttributeValue::Ints(list?.clone()) })
            });
            return SLICE.evaluate(opset, &attributes.collect::<Vec<_>>(), &[Some(data(dims))], 1);
        }
        let lists = lists.into_iter().map(|list| list.map(|list| Tensor::vector(list)));
        SLICE.evaluate(opset, &[], &[Some(data(dims))].into_iter().chain(lists).collect::<Vec<_>>(), 1)
    }

    /// One slice of data whose one axis has five elements.
    fn cut(opset: u8, [start, end, step]: [i64; 3]) -> Expectation {
        let steps = (opset >= INPUTS_SINCE).then(|| vec![step]);
        call(opset, &[5], &Lists { starts: vec![start], ends: vec![end], axes: None, steps })
    }

    fn vector(elements: &[u128]) -> Tensor {
        let dims = vec![i64::try_from(elements.len()).unwrap()];
        Tensor::from_element_bits(ElementType::Int8, dims, elements.iter().copied()).unwrap()
    }

    #[test]
    fn bounds_are_clamped_and_steps_counted() {
        assert_eq!(SLICE.cells(), 61);
        let rows: &[([i64; 3], &[u128])] = &[
            ([MIN, MAX, 1], &[0, 1, 2, 3, 4]),
            ([-4, -2, 1], &[1, 2]),
            ([5, 9, 1], &[]),
            ([1 << 32, MAX, 1], &[]),
            ([0, -(1 << 32), 1], &[]),
            ([0, 5, 2], &[0, 2, 4]),
            ([3, MAX, MAX], &[3]),
            ([MAX, MIN, -1], &[4, 3, 2, 1, 0]),
            ([-1, i32::MIN.into(), -2], &[4, 2, 0]),
            ([3, 0, -1], &[3, 2, 1]),
            ([2, MIN, MIN], &[2]),
            ([4, 4, -1], &[]),
            ([-5, -6, -1], &[0]),
        ];
        for (bounds, elements) in rows {
            for opset in [10, 11, 13] {
                assert_eq!(
                    cut(opset, *bounds),
                    Expectation::Defined(vec![vector(elements)]),
                    "Slice-{opset} {bounds:?}"
                );
            }
            if bounds[2] == 1 {
                assert_eq!(cut(1, *bounds), Expectation::Defined(vec![vector(elements)]), "Slice-1 {bounds:?}");
            }
        }
    }

    #[test]
    fn older_versions_leave_bounds_open_that_the_newest_defines() {
        type Row<'a> = (u8, [i64; 3], Rule, &'a [&'a [u128]]);
        let rows: &[Row] = &[
            (10, [4, MAX, -1], Rule::SLICE_BACKWARD_MAX, &[&[], &[4, 3, 2, 1, 0]]),
            (10, [2, i32::MAX.into(), -2], Rule::SLICE_BACKWARD_MAX, &[&[], &[2, 0]]),
            (10, [-9, MAX, -1], Rule::SLICE_BACKWARD_MAX, &[&[], &[0]]),
            (10, [-6, MIN, -1], Rule::SLICE_START_BEFORE_FRONT, &[&[0], &[]]),
            (11, [-9, -9, -1], Rule::SLICE_START_BEFORE_FRONT, &[&[0], &[]]),
        ];
        for &(opset, bounds, rule, elements) in rows {
            let tolerated = elements.iter().map(|elements| Answer::Outputs(vec![vector(elements)])).collect();
            assert_eq!(cut(opset, bounds), Expectation::Unspecified { rule, tolerated }, "Slice-{opset} {bounds:?}");
            assert_eq!(cut(13, bounds), Expectation::Defined(vec![vector(elements[0])]));
        }
    }

    #[test]
    fn what_is_refused_may_have_a_lenient_answer() {
        let with_axes = |axes: &[i64]| Lists { starts: vec![1], ends: vec![2], axes: Some(axes.to_vec()), steps: None };
        let row = || data(&[2, 3]).rearranged(&[1, 3], |axis, index, own| own[axis] = [1, index][axis]).unwrap();
        let open =
            |rule| Expectation::Unspecified { rule, tolerated: vec![Answer::Outputs(vec![row()]), Answer::Refusal] };
        let empty = Expectation::Reject { rule: Rule::SLICE_EMPTY_AXES, lenient: Some(vec![row()]) };
        assert_eq!(call(13, &[2, 3], &with_axes(&[])), empty);
        assert_eq!(call(1, &[2, 3], &with_axes(&[])), open(Rule::SLICE_EMPTY_AXES));
        assert_eq!(call(10, &[2, 3], &with_axes(&[-2])), open(Rule::SLICE_NEGATIVE_AXIS));
        assert_eq!(call(13, &[2, 3], &with_axes(&[2])), Expectation::reject(Rule::SLICE_AXIS_RANGE));
        let fewer = Lists { axes: None, ..with_axes(&[]) };
        assert_eq!(call(13, &[2, 3], &fewer), open(Rule::SLICE_FEWER_STARTS));
        assert_eq!(call(1, &[2, 3], &fewer), Expectation::Defined(vec![row()]));
        let scalar =
            SLICE.evaluate(13, &[], &[Some(data(&[2])), Some(Tensor::scalar(0)), Some(Tensor::vector(&[1]))], 1);
        let rule = Rule::SLICE_OPERAND_RANK;
        assert_eq!(scalar, Expectation::Reject { rule, lenient: Some(vec![vector(&[0])]) });
    }
}
