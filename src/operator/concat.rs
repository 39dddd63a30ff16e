//! Concat: tensors joined along an axis.

mod inputs;

use super::{
    Arity, AttributeKind, AttributeSpec, Call, Expectation, InputSpec, Operator, OutputType, Role, Rule, Text, Topic,
    Version, always, axis, until,
};
use crate::tensor::{ElementType, Tensor, element_count};

pub(crate) static CONCAT: Operator = Operator {
    name: "Concat",
    versions: &[
        Version::new(
            1,
            ElementType::up_to(ElementType::Double),
            &[AttributeSpec::new(AXIS, AttributeKind::Int, Role::Axis)],
            INPUTS,
        ),
        version(4, ElementType::Complex128),
        version(NEGATIVE_AXIS_SINCE, ElementType::Complex128),
        version(13, ElementType::Bfloat16),
    ],
    rules: &[
        always(Rule::CONCAT_SKIPPED_INPUT),
        always(Rule::CONCAT_OTHER_RANK),
        always(Rule::CONCAT_SCALAR),
        always(Rule::CONCAT_AXIS_RANGE),
        until(NEGATIVE_AXIS_SINCE - 1, Rule::CONCAT_NEGATIVE_AXIS),
        always(Rule::CONCAT_OTHER_DIMS),
        always(Rule::CONCAT_EMPTY_MISFIT),
        always(Rule::CONCAT_DIM_RANGE),
    ],
    catalogue: include_str!("../../corpus/catalogue/concat.txt"),
    purpose: &[
        (
            11,
            "Concatenate a list of tensors into a single tensor. All input tensors must have the same shape, except for \
             the dimension size of the axis to concatenate on.",
        ),
        (1, "Concatenate a list of tensors into a single tensor"),
    ],
    execute,
    draw: inputs::draw,
    output_rank: |call| Some(reference(&given(call))?.rank()),
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

const AXIS: &str = "axis";

/// The default axis, which only version 1 has.
const DEFAULT: i64 = 1;

/// The version that introduced axes counted from the back.
const NEGATIVE_AXIS_SINCE: u8 = 11;

const INPUTS: &[InputSpec] = &[InputSpec { arity: Arity::Variadic, ..InputSpec::data("inputs") }];

const fn version(since: u8, last: ElementType) -> Version {
    const ATTRIBUTES: &[AttributeSpec] = &[AttributeSpec::new(AXIS, AttributeKind::Int, Role::Axis).required()];
    Version::new(since, ElementType::up_to(last), ATTRIBUTES, INPUTS)
}

impl Rule {
    pub const CONCAT_SKIPPED_INPUT: Rule = Rule(&Text {
        id: "concat-skipped-input",
        sentence: "The empty name stands for an optional input; whether it may stand among the inputs of a list is not said.",
        source: "IR, optional inputs and outputs; Concat, input `inputs` (W3)",
        topics: &[Topic::Inputs],
    });
    pub const CONCAT_OTHER_RANK: Rule = Rule(&Text {
        id: "concat-other-rank",
        sentence: "\"All input tensors must have the same shape, except for the dimension size of the axis to concatenate \
                   on\", so they have one rank.",
        source: "Concat-11 and later; in Concat-1 and 4 no other result suggests itself",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const CONCAT_SCALAR: Rule = Rule(&Text {
        id: "concat-scalar",
        sentence: "A scalar has no axis to concatenate on.",
        source: "Concat, attribute `axis`",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const CONCAT_AXIS_RANGE: Rule = Rule(&Text {
        id: "concat-axis-range",
        sentence: "\"Accepted range is [-r, r-1] where r = rank(inputs).\"",
        source: "Concat-11 and later, attribute `axis`; in Concat-1 and 4 there is no other axis either",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const CONCAT_NEGATIVE_AXIS: Rule = Rule(&Text {
        id: "concat-negative-axis",
        sentence: "What a negative axis means is not said: \"Which axis to concat on\".",
        source: "Concat-1 and 4, attribute `axis` (W1)",
        topics: &[Topic::Value],
    });
    pub const CONCAT_OTHER_DIMS: Rule = Rule(&Text {
        id: "concat-other-dims",
        sentence: "\"All input tensors must have the same shape, except for the dimension size of the axis to concatenate \
                   on.\"",
        source: "Concat-11 and later; in Concat-1 and 4 no other result suggests itself",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const CONCAT_EMPTY_MISFIT: Rule = Rule(&Text {
        id: "concat-empty-misfit",
        sentence: "\"All input tensors must have the same shape, except for the dimension size of the axis to concatenate \
                   on\", and one without elements is no exception.",
        source: "Concat-11 and later; Concat-1 and 4 do not say (W2)",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const CONCAT_DIM_RANGE: Rule = Rule(&Text {
        id: "concat-dim-range",
        sentence: "The sizes along the axis add up to a dim, which is a 64-bit integer.",
        source: "Concat, output; IR, static tensor shapes (U10)",
        topics: &[Topic::Size, Topic::Dims, Topic::Value],
    });
}

fn execute(call: &Call) -> Expectation {
    let inputs = given(call);
    let Some(reference) = reference(&inputs) else { return Expectation::reject(Rule::CONCAT_SKIPPED_INPUT) };
    let joined = join(call, &inputs, reference);
    if inputs.len() < call.inputs.len() { joined.or_refusal(Rule::CONCAT_SKIPPED_INPUT) } else { joined }
}

/// The inputs that are not left out.
fn given<'a>(call: &Call<'a>) -> Vec<&'a Tensor> {
    call.inputs.iter().flatten().collect()
}

/// The input that the other inputs have to fit: the first with elements, or else the first.
fn reference<'a>(inputs: &[&'a Tensor]) -> Option<&'a Tensor> {
    inputs.iter().find(|input| !input.is_empty()).or(inputs.first()).copied()
}

fn fits(dims: &[i64], reference: &[i64], axis: usize) -> bool {
    let mut off_axis = dims.iter().zip(reference).enumerate().filter(|(place, _)| *place != axis);
    dims.len() == reference.len() && off_axis.all(|(_, (own, other))| own == other)
}

fn join(call: &Call, inputs: &[&Tensor], reference: &Tensor) -> Expectation {
    let rank = reference.rank();
    if inputs.iter().any(|input| !input.is_empty() && input.rank() != rank) {
        return Expectation::reject(Rule::CONCAT_OTHER_RANK);
    }
    if rank == 0 {
        return Expectation::reject(Rule::CONCAT_SCALAR);
    }
    let value = call.int(AXIS).unwrap_or(DEFAULT);
    let Some(axis) = axis(value, rank) else { return Expectation::reject(Rule::CONCAT_AXIS_RANGE) };
    let (fitting, misfits): (Vec<&Tensor>, Vec<&Tensor>) =
        inputs.iter().partition(|input| fits(input.dims(), reference.dims(), axis));
    if misfits.iter().any(|input| !input.is_empty()) {
        return Expectation::reject(Rule::CONCAT_OTHER_DIMS);
    }
    let Some(size) = fitting.iter().try_fold(0_i64, |sum, input| sum.checked_add(input.dims()[axis])) else {
        return Expectation::reject(Rule::CONCAT_DIM_RANGE);
    };
    let mut dims = reference.dims().to_vec();
    dims[axis] = size;
    let outputs = vec![joined(&fitting, dims, axis)];
    let is_early = call.since() < NEGATIVE_AXIS_SINCE;
    let expectation = match misfits.is_empty() {
        true => Expectation::Defined(outputs),
        false if is_early => Expectation::Defined(outputs).or_refusal(Rule::CONCAT_EMPTY_MISFIT),
        false => Expectation::Reject { rule: Rule::CONCAT_EMPTY_MISFIT, lenient: Some(outputs) },
    };
    if is_early && value < 0 { expectation.or_refusal(Rule::CONCAT_NEGATIVE_AXIS) } else { expectation }
}

/// Fitting inputs, joined along the axis. Each input contributes one run of elements for every index of the axes before it.
fn joined(inputs: &[&Tensor], dims: Vec<i64>, axis: usize) -> Tensor {
    let inputs: Vec<&Tensor> = match inputs.iter().filter(|input| !input.is_empty()).copied().collect::<Vec<_>>() {
        none if none.is_empty() => inputs[..1].to_vec(),
        some => some,
    };
    if let [only] = inputs[..] {
        return only.with_dims(dims).expect("the others have no elements");
    }
    let runs = element_count(&dims[..axis]).expect("the inputs hold as many elements at least");
    let elements = (0..runs).flat_map(|run| {
        inputs.iter().flat_map(move |&input| {
            let length = input.len() / runs;
            (run * length..(run + 1) * length).map(move |place| (input, place))
        })
    });
    Tensor::assembled(inputs[0].element_type(), dims, elements).expect("the inputs hold the elements of all runs")
}

#[cfg(test)]
mod tests {
    use super::super::{Answer, Attribute, AttributeValue};
    use super::*;
    use crate::tensor::places;

    /// The expectation of a row.
    #[derive(Clone, Copy, Debug)]
    enum Want {
        Dims(&'static [i64]),
        Reject(Rule),
        Lenient(Rule, &'static [i64]),
        /// A refusal, or an output of these dims.
        Open(Rule, &'static [i64]),
    }
    use Want::{Dims, Lenient, Open, Reject};

    type Row = (u8, Option<i64>, &'static [&'static [i64]], Want);

    const SKIPPED: &[i64] = &[-1];

    const ROWS: &[Row] = &[
        (13, Some(0), &[&[2, 3], &[1, 3]], Dims(&[3, 3])),
        (13, Some(0), &[&[2], &[1]], Dims(&[3])),
        (13, Some(0), &[&[3]], Dims(&[3])),
        (13, Some(-1), &[&[2, 3], &[2, 1]], Dims(&[2, 4])),
        (11, Some(-1), &[&[2, 3], &[2, 1]], Dims(&[2, 4])),
        (13, Some(1), &[&[2, 3, 2], &[2, 1, 2], &[2, 2, 2]], Dims(&[2, 6, 2])),
        (4, Some(-1), &[&[2, 3], &[2, 1]], Open(Rule::CONCAT_NEGATIVE_AXIS, &[2, 4])),
        (1, Some(-2), &[&[2, 3], &[1, 3]], Open(Rule::CONCAT_NEGATIVE_AXIS, &[3, 3])),
        (1, None, &[&[2, 3], &[2, 1]], Dims(&[2, 4])),
        (1, None, &[&[2], &[3]], Reject(Rule::CONCAT_AXIS_RANGE)),
        (4, None, &[&[2, 3], &[1, 3]], Reject(Rule::MISSING_ATTRIBUTE)),
        (13, None, &[&[2, 3], &[1, 3]], Reject(Rule::MISSING_ATTRIBUTE)),
        (13, Some(0), &[], Reject(Rule::INPUT_COUNT)),
        (13, Some(2), &[&[2, 3]], Reject(Rule::CONCAT_AXIS_RANGE)),
        (13, Some(-3), &[&[2, 3]], Reject(Rule::CONCAT_AXIS_RANGE)),
        (13, Some(1 << 32), &[&[2, 3]], Reject(Rule::CONCAT_AXIS_RANGE)),
        (13, Some(i64::MIN), &[&[2, 3]], Reject(Rule::CONCAT_AXIS_RANGE)),
        (13, Some(i64::MAX), &[&[2, 3]], Reject(Rule::CONCAT_AXIS_RANGE)),
        (4, Some(-3), &[&[2, 3]], Reject(Rule::CONCAT_AXIS_RANGE)),
        (13, Some(0), &[&[], &[]], Reject(Rule::CONCAT_SCALAR)),
        (13, Some(-1), &[&[]], Reject(Rule::CONCAT_SCALAR)),
        (4, Some(0), &[&[]], Reject(Rule::CONCAT_SCALAR)),
        (13, Some(0), &[&[0], &[2]], Dims(&[2])),
        (13, Some(0), &[&[0], &[0]], Dims(&[0])),
        (13, Some(0), &[&[0, 3], &[2, 3]], Dims(&[2, 3])),
        (13, Some(1), &[&[0, 3], &[0, 2]], Dims(&[0, 5])),
        (13, Some(1), &[&[2, 0], &[2, 3], &[2, 0]], Dims(&[2, 3])),
        (13, Some(1), &[&[0, 3]], Dims(&[0, 3])),
        (13, Some(0), &[&[0]], Dims(&[0])),
        (13, Some(0), &[&[0], &[1]], Dims(&[1])),
        (13, Some(0), &[&[1], &[0]], Dims(&[1])),
        (13, Some(0), &[&[0, 3], &[2, 4]], Lenient(Rule::CONCAT_EMPTY_MISFIT, &[2, 4])),
        (13, Some(0), &[&[0], &[2, 3]], Lenient(Rule::CONCAT_EMPTY_MISFIT, &[2, 3])),
        (13, Some(1), &[&[2, 4], &[0], &[2, 2]], Lenient(Rule::CONCAT_EMPTY_MISFIT, &[2, 6])),
        (11, Some(0), &[&[0, 3], &[2, 0]], Lenient(Rule::CONCAT_EMPTY_MISFIT, &[0, 3])),
        (4, Some(0), &[&[0], &[2, 3]], Open(Rule::CONCAT_EMPTY_MISFIT, &[2, 3])),
        (1, Some(0), &[&[2, 3], &[0]], Open(Rule::CONCAT_EMPTY_MISFIT, &[2, 3])),
        (13, Some(0), &[&[2, 3], &[3]], Reject(Rule::CONCAT_OTHER_RANK)),
        (13, Some(0), &[&[2, 3], &[]], Reject(Rule::CONCAT_OTHER_RANK)),
        (13, Some(0), &[&[], &[2, 3]], Reject(Rule::CONCAT_OTHER_RANK)),
        (13, Some(0), &[&[2, 3], &[2, 4]], Reject(Rule::CONCAT_OTHER_DIMS)),
        (13, Some(1), &[&[2, 3], &[3, 3]], Reject(Rule::CONCAT_OTHER_DIMS)),
        (13, Some(0), &[&[2], SKIPPED, &[1]], Open(Rule::CONCAT_SKIPPED_INPUT, &[3])),
        (4, Some(-1), &[&[2], SKIPPED], Open(Rule::CONCAT_SKIPPED_INPUT, &[2])),
        (13, Some(0), &[SKIPPED, SKIPPED], Reject(Rule::CONCAT_SKIPPED_INPUT)),
        (13, Some(2), &[&[2, 3], SKIPPED], Reject(Rule::CONCAT_AXIS_RANGE)),
        (13, Some(0), &[SKIPPED, &[0], &[2, 3]], Lenient(Rule::CONCAT_EMPTY_MISFIT, &[2, 3])),
        (13, Some(0), &[&[1 << 53, 0], &[1, 0]], Dims(&[(1 << 53) + 1, 0])),
        (13, Some(0), &[&[1 << 62, 0], &[1 << 62, 0]], Reject(Rule::CONCAT_DIM_RANGE)),
        (13, Some(0), &[&[i64::MAX, 0], &[1, 0]], Reject(Rule::CONCAT_DIM_RANGE)),
    ];

    #[test]
    fn every_row_of_the_edge_cases_holds() {
        for row in ROWS {
            let (opset, axis, inputs, want) = *row;
            let inputs: Vec<Option<Tensor>> = inputs
                .iter()
                .enumerate()
                .map(|(place, dims)| (*dims != SKIPPED).then(|| numbered(place, dims)))
                .collect();
            let outputs = |dims: &[i64]| {
                let axis = super::axis(axis.unwrap_or(DEFAULT), dims.len()).unwrap();
                vec![joined_one_by_one(&inputs.iter().flatten().collect::<Vec<_>>(), dims, axis)]
            };
            let expectation = match want {
                Dims(dims) => Expectation::Defined(outputs(dims)),
                Reject(rule) => Expectation::reject(rule),
                Lenient(rule, dims) => Expectation::Reject { rule, lenient: Some(outputs(dims)) },
                Open(rule, dims) => Expectation::unspecified(rule, [Answer::Refusal, Answer::Outputs(outputs(dims))]),
            };
            assert_eq!(evaluate(opset, axis, &inputs), expectation, "{row:?}");
        }
    }

    #[test]
    fn dims_past_counting_are_exact() {
        let inputs = [Some(numbered(0, &[1 << 62, 0])), Some(numbered(1, &[1 << 62, 0]))];
        let expectation = evaluate(13, Some(1), &inputs);
        assert_eq!(expectation.rule(), Some(Rule::VAST_DIMS));
        assert_eq!(expectation.outputs().unwrap()[0].dims(), [1 << 62, 0]);
    }

    #[test]
    fn the_versions_are_those_of_the_operator_document() {
        let rows: Vec<_> = CONCAT.versions.iter().map(|v| (v.since, v.element_types.len())).collect();
        assert_eq!((rows, CONCAT.cells()), (vec![(1, 3), (4, 15), (11, 15), (13, 16)], 49));
    }

    fn evaluate(opset: u8, axis: Option<i64>, inputs: &[Option<Tensor>]) -> Expectation {
        let attribute = |axis| Attribute { name: AXIS.to_owned(), value: AttributeValue::Int(axis) };
        CONCAT.evaluate(opset, &axis.map(attribute).into_iter().collect::<Vec<_>>(), inputs, 1)
    }

    /// A tensor that has no element in common with a tensor of another number.
    fn numbered(number: usize, dims: &[i64]) -> Tensor {
        let count = element_count(dims).unwrap();
        let elements = (0..count).map(|place| (1000 * number + place) as u128);
        Tensor::from_element_bits(ElementType::Float, dims.to_vec(), elements).unwrap()
    }

    /// The result of `joined`, found by looking up the input of each element.
    fn joined_one_by_one(inputs: &[&Tensor], dims: &[i64], axis: usize) -> Tensor {
        let elements = places(dims, |index| {
            let mut own = index.to_vec();
            for input in inputs.iter().filter(|input| !input.is_empty()) {
                let size = usize::try_from(input.dims()[axis]).unwrap();
                if own[axis] < size {
                    return (*input, input.place(&own));
                }
                own[axis] -= size;
            }
            unreachable!("the sizes along the axis add up")
        });
        Tensor::assembled(ElementType::Float, dims.to_vec(), elements).unwrap()
    }
}
