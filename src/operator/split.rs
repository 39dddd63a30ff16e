//! Split: a tensor cut into parts along an axis.

mod cut;
mod division;
mod floats;

use cut::Cut;

use super::{
    Aim, Answer, AttributeKind, AttributeSpec, Call, Drawing, Expectation, InputSpec, Operator, OutputType, Role, Rule,
    Text, Topic, Types, Version, always, axis, since, until,
};
use crate::tensor::{ElementType, Tensor};

pub(crate) static SPLIT: Operator = Operator {
    name: "Split",
    versions: &[
        version(
            1,
            ElementType::Double,
            &[LENGTHS, AXIS],
            &[DATA, InputSpec { types: Types::T, ..InputSpec::int64("split", Role::Sizes).optional() }],
        ),
        version(2, ElementType::Complex128, &[LENGTHS, AXIS], &[DATA]),
        version(NEGATIVE_AXIS_SINCE, ElementType::Complex128, &[LENGTHS, AXIS], &[DATA]),
        version(LENGTHS_INPUT_SINCE, ElementType::Bfloat16, &[AXIS], INPUTS),
        version(PART_COUNT_SINCE, ElementType::Bfloat16, &[PART_COUNT, AXIS], INPUTS),
    ],
    rules: &[
        until(1, Rule::SPLIT_MISSING_AXIS),
        always(Rule::SPLIT_SCALAR),
        always(Rule::SPLIT_AXIS_RANGE),
        until(NEGATIVE_AXIS_SINCE - 1, Rule::SPLIT_NEGATIVE_AXIS),
        until(1, Rule::SPLIT_FLOAT_LENGTHS),
        since(LENGTHS_INPUT_SINCE, Rule::SPLIT_LENGTHS_RANK),
        always(Rule::SPLIT_NEGATIVE_LENGTH),
        always(Rule::SPLIT_LENGTH_SUM),
        always(Rule::SPLIT_OUTPUT_COUNT),
        until(PART_COUNT_SINCE - 1, Rule::SPLIT_UNEVEN),
        since(PART_COUNT_SINCE, Rule::SPLIT_LENGTHS_AND_COUNT),
        since(PART_COUNT_SINCE, Rule::SPLIT_NEITHER),
        since(PART_COUNT_SINCE, Rule::SPLIT_PART_COUNT),
        since(PART_COUNT_SINCE, Rule::SPLIT_UNEQUAL_PARTS),
    ],
    catalogue: include_str!("../../corpus/catalogue/split.txt"),
    purpose: &[
        (
            18,
            "Split a tensor into a list of tensors, along the specified 'axis'. Either input 'split' or the attribute \
             'num_outputs' should be specified, but not both.",
        ),
        (
            13,
            "Split a tensor into a list of tensors, along the specified 'axis'. Lengths of the parts can be specified \
             using input 'split'. Otherwise, the tensor is split to equal sized parts.",
        ),
        (
            2,
            "Split a tensor into a list of tensors, along the specified 'axis'. Lengths of the parts can be specified \
             using argument 'split'. Otherwise, the tensor is split to equal sized parts.",
        ),
        (
            1,
            "Split a tensor into a list of tensors, along the specified 'axis'. The lengths of the split can be \
             specified using argument 'axis' or optional second input blob to the operator. Otherwise, the tensor is \
             split to equal sized parts.",
        ),
    ],
    execute,
    draw,
    output_rank: |call| call.input(0).map(Tensor::rank),
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

const AXIS: AttributeSpec = AttributeSpec::new("axis", AttributeKind::Int, Role::Axis);
const LENGTHS: AttributeSpec = AttributeSpec::new("split", AttributeKind::Ints, Role::Sizes);
const PART_COUNT: AttributeSpec = AttributeSpec::new("num_outputs", AttributeKind::Int, Role::Sizes);
const DATA: InputSpec = InputSpec::data("input");
const INPUTS: &[InputSpec] = &[DATA, InputSpec::int64("split", Role::Sizes).optional()];

/// The default axis, from version 2 on.
const DEFAULT: i64 = 0;

/// The version that introduced axes counted from the back.
const NEGATIVE_AXIS_SINCE: u8 = 11;

/// The version that made the lengths an input.
const LENGTHS_INPUT_SINCE: u8 = 13;

/// The version that introduced `num_outputs`, and allows unequal parts without lengths.
const PART_COUNT_SINCE: u8 = 18;

const fn version(
    since: u8,
    last: ElementType,
    attributes: &'static [AttributeSpec],
    inputs: &'static [InputSpec],
) -> Version {
    Version { has_outputs: true, ..Version::new(since, ElementType::up_to(last), attributes, inputs) }
}

fn draw(d: &mut Drawing) -> arbitrary::Result<()> {
    match d.aim {
        Aim::Break(Rule::SPLIT_SCALAR) => d.dims.clear(),
        Aim::Wild => {}
        _ => d.need_axis()?,
    }
    let value = d.int(AXIS.name, axis_value)?.unwrap_or(DEFAULT);
    let place = axis(value, d.dims.len()).unwrap_or(0);
    division::fit_size(d, place)?;
    let division = division::draw(d, d.dims.get(place).copied().unwrap_or(1))?;
    let is_attribute = d.since() < LENGTHS_INPUT_SINCE;
    if is_attribute {
        // In version 1 the lengths may be both an attribute and an input.
        let is_input = d.breaks(Rule::SPLIT_FLOAT_LENGTHS) && d.ratio(3, 4)?;
        d.ints(LENGTHS.name, |_| Ok(division.lengths.clone().filter(|_| !is_input)))?;
    }
    if d.since() >= PART_COUNT_SINCE {
        d.int(PART_COUNT.name, |_| Ok(division.count))?;
    }
    d.data();
    match division.lengths {
        _ if d.since() == 1 => float_lengths(d, division.lengths)?,
        _ if is_attribute => {}
        Some(lengths) if d.breaks(Rule::SPLIT_LENGTHS_RANK) => d.vector_of_other_rank(&lengths)?,
        Some(lengths) => d.vector(&lengths),
        None => absent(d)?,
    }
    d.outputs(division.outputs);
    Ok(())
}

/// Leaves the lengths out, by the empty name or by no name.
fn absent(d: &mut Drawing) -> arbitrary::Result<()> {
    d.skip();
    d.trim()
}

/// The second input of version 1, which is of the type of the data.
fn float_lengths(d: &mut Drawing, lengths: Option<Vec<i64>>) -> arbitrary::Result<()> {
    let aim = d.aim;
    match aim {
        Aim::Break(Rule::MIXED_TYPES) => {
            d.other_data(d.element_type, vec![2]);
            return Ok(());
        }
        Aim::Break(Rule::SPLIT_FLOAT_LENGTHS) => {}
        Aim::Wild if d.ratio(1, 4)? => {}
        _ => return absent(d),
    }
    let lengths = lengths.filter(|lengths| !lengths.is_empty()).unwrap_or_else(|| vec![1]);
    let is_whole = !d.ratio(1, 8)?;
    match floats::from_lengths(d.element_type, &lengths, is_whole) {
        Some(floats) => d.values(floats),
        None => d.skip(),
    }
    Ok(())
}

fn axis_value(d: &mut Drawing) -> arbitrary::Result<Option<i64>> {
    let (aim, may_be_absent) = (d.aim, d.since() > 1);
    let value = match aim {
        Aim::Break(Rule::SPLIT_MISSING_AXIS) => return Ok(None),
        Aim::Break(Rule::SPLIT_NEGATIVE_AXIS) => d.between(-d.rank(), -1)?,
        Aim::Break(Rule::SPLIT_AXIS_RANGE) => d.axis_out_of_range(true)?,
        Aim::Break(Rule::SPLIT_SCALAR) | Aim::Wild if d.ratio(1, 4)? => return Ok(None),
        Aim::Break(Rule::SPLIT_SCALAR) => d.choose(&[0, -1, 1])?,
        Aim::Wild if d.dims.is_empty() || d.ratio(1, 2)? => d.any_axis()?,
        Aim::Wild => d.axis_in_range(true)?,
        _ if may_be_absent && d.ratio(1, 4)? => return Ok(None),
        _ => d.axis_in_range(d.since() >= NEGATIVE_AXIS_SINCE)?,
    };
    Ok(Some(value))
}

impl Rule {
    pub const SPLIT_MISSING_AXIS: Rule = Rule(&Text {
        id: "split-missing-axis",
        sentence: "\"Which axis to split on\": which it is where none is given is not said.",
        source: "Split-1, attribute `axis` (W5)",
        topics: &[Topic::Attribute, Topic::Value],
    });
    pub const SPLIT_SCALAR: Rule = Rule(&Text {
        id: "split-scalar",
        sentence: "A scalar has no axis to split on.",
        source: "Split, attribute `axis`",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const SPLIT_AXIS_RANGE: Rule = Rule(&Text {
        id: "split-axis-range",
        sentence: "\"Accepted range is [-rank, rank-1] where r = rank(input).\"",
        source: "Split-11 and later, attribute `axis`; in Split-1 and 2 there is no other axis either",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const SPLIT_NEGATIVE_AXIS: Rule = Rule(&Text {
        id: "split-negative-axis",
        sentence: "What a negative axis means is not said: \"Which axis to split on\".",
        source: "Split-1 and 2, attribute `axis` (W1)",
        topics: &[Topic::Value],
    });
    pub const SPLIT_FLOAT_LENGTHS: Rule = Rule(&Text {
        id: "split-float-lengths",
        sentence: "\"Optional list of output lengths (see also arg 'split')\", of the type of the input, which is a float \
                   type: how a float is a length is not said.",
        source: "Split-1, input `split` (W5)",
        topics: &[Topic::Inputs, Topic::ElementType, Topic::Value, Topic::Size, Topic::Dims],
    });
    pub const SPLIT_LENGTHS_RANK: Rule = Rule(&Text {
        id: "split-lengths-rank",
        sentence: "\"Optional length of each output.\" What lengths in a tensor of another rank than 1 mean is not said.",
        source: "Split-13 and later, input `split` (W9)",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const SPLIT_NEGATIVE_LENGTH: Rule = Rule(&Text {
        id: "split-negative-length",
        sentence: "\"Values should be >= 0.\"",
        source: "Split-11, attribute `split`, and later, input `split`; in Split-1 and 2 no tensor has such a length",
        topics: &[Topic::Value, Topic::Size, Topic::Dims],
    });
    pub const SPLIT_LENGTH_SUM: Rule = Rule(&Text {
        id: "split-length-sum",
        sentence: "\"Sum of the values must be equal to the dim value at 'axis' specified.\"",
        source: "Split-13 and later, input `split`; in Split-1 to 11 the parts would not make up the tensor",
        topics: &[Topic::Value, Topic::Size, Topic::Dims],
    });
    pub const SPLIT_OUTPUT_COUNT: Rule = Rule(&Text {
        id: "split-output-count",
        sentence: "There are as many outputs as lengths, the \"length of each output\", or as num_outputs says, the \
                   \"Number of outputs to split parts of the tensor into\".",
        source: "Split, `split`; Split-18, attribute `num_outputs` (W8)",
        topics: &[Topic::Value, Topic::Size, Topic::Dims, Topic::Inputs, Topic::Attribute],
    });
    pub const SPLIT_UNEVEN: Rule = Rule(&Text {
        id: "split-uneven",
        sentence: "\"Otherwise, the tensor is split to equal sized parts.\"",
        source: "Split-1 to 13",
        topics: &[Topic::Size, Topic::Dims, Topic::Value],
    });
    pub const SPLIT_LENGTHS_AND_COUNT: Rule = Rule(&Text {
        id: "split-lengths-and-count",
        sentence: "\"Either input 'split' or the attribute 'num_outputs' should be specified, but not both.\"",
        source: "Split-18 (W7)",
        topics: &[Topic::Attribute, Topic::Inputs, Topic::Value],
    });
    pub const SPLIT_NEITHER: Rule = Rule(&Text {
        id: "split-neither",
        sentence: "\"Either input 'split' or the attribute 'num_outputs' should be specified\"; what a call without both \
                   means is not said.",
        source: "Split-18 (W7)",
        topics: &[Topic::Attribute, Topic::Inputs, Topic::Value],
    });
    pub const SPLIT_PART_COUNT: Rule = Rule(&Text {
        id: "split-part-count",
        sentence: "\"Number of outputs to split parts of the tensor into\": there is at least one.",
        source: "Split-18, attribute `num_outputs`",
        topics: &[Topic::Value, Topic::Attribute, Topic::Size],
    });
    pub const SPLIT_UNEQUAL_PARTS: Rule = Rule(&Text {
        id: "split-unequal-parts",
        sentence: "With num_outputs \"the tensor is split into equal sized parts\", and \"the last chunk will be smaller\": \
                   of so many parts, others would be too.",
        source: "Split-18, attribute `num_outputs` (W6, onnx issue 5766)",
        topics: &[Topic::Value, Topic::Size, Topic::Dims],
    });
}

fn execute(call: &Call) -> Expectation {
    match call.int(AXIS.name) {
        // A refusal, or the answer for axis 0 or for axis 1.
        None if call.since() == 1 => room(Rule::SPLIT_MISSING_AXIS, [0, 1].map(|axis| split_on(call, axis)).to_vec()),
        axis => split_on(call, axis.unwrap_or(DEFAULT)),
    }
}

/// A refusal is right, and so is the answer of any of these readings. If none has an answer, the first reading tells why.
fn room(rule: Rule, readings: Vec<Expectation>) -> Expectation {
    if readings.iter().all(|reading| matches!(reading, Expectation::Reject { .. })) {
        return readings.into_iter().next().unwrap_or(Expectation::reject(rule));
    }
    let answers = readings.into_iter().flat_map(Expectation::into_answers);
    Expectation::unspecified(rule, [Answer::Refusal].into_iter().chain(answers))
}

fn split_on(call: &Call, value: i64) -> Expectation {
    let data = call.data();
    if data.rank() == 0 {
        return Expectation::reject(Rule::SPLIT_SCALAR);
    }
    let Some(axis) = axis(value, data.rank()) else { return Expectation::reject(Rule::SPLIT_AXIS_RANGE) };
    let expectation = split(call, &Cut { data, axis, size: data.dims()[axis], outputs: call.outputs.max(1) });
    if value < 0 && call.since() < NEGATIVE_AXIS_SINCE {
        expectation.or_refusal(Rule::SPLIT_NEGATIVE_AXIS)
    } else {
        expectation
    }
}

fn split(call: &Call, cut: &Cut) -> Expectation {
    let operand = call.input(1);
    let lengths = call.ints(LENGTHS.name).map(<[i64]>::to_vec);
    if let (Some(floats), 1) = (operand, call.since()) {
        let by_floats = floats::whole_numbers(floats)
            .map_or(Expectation::reject(Rule::SPLIT_FLOAT_LENGTHS), |lengths| cut.by_lengths(&lengths));
        let readings = [by_floats].into_iter().chain(lengths.map(|lengths| cut.by_lengths(&lengths)));
        return room(Rule::SPLIT_FLOAT_LENGTHS, readings.collect());
    }
    let expectation = match (operand.and_then(Tensor::int64s).or(lengths), call.int(PART_COUNT.name)) {
        (Some(lengths), None) => cut.by_lengths(&lengths),
        (Some(lengths), Some(count)) => cut.by_lengths_and_count(&lengths, count),
        (None, Some(count)) => cut.by_count(count),
        (None, None) if call.since() < PART_COUNT_SINCE => cut.evenly(),
        (None, None) => cut.by_count(cut.own_count()).or_refusal(Rule::SPLIT_NEITHER),
    };
    if operand.is_some_and(|operand| operand.rank() != 1) {
        expectation.or_refusal(Rule::SPLIT_LENGTHS_RANK)
    } else {
        expectation
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Attribute, AttributeValue};
    use super::*;
    use crate::tensor::element_count;

    /// The expectation of a row. Parts are distinguished by their lengths.
    #[derive(Clone, Copy, Debug)]
    enum Want {
        Parts(&'static [i64]),
        Reject(Rule),
        Lenient(Rule, &'static [i64]),
        /// A refusal, or any of these.
        Open(Rule, &'static [&'static [i64]]),
    }
    use Want::{Lenient, Open, Parts, Reject};

    /// A call: its data, its attributes, its second input, and its number of outputs.
    #[derive(Clone, Debug)]
    struct SplitCall {
        opset: u8,
        dims: &'static [i64],
        axis: Option<i64>,
        lengths: Option<&'static [i64]>,
        count: Option<i64>,
        outputs: usize,
    }

    const MAX: i64 = i64::MAX;

    fn row(opset: u8, dims: &'static [i64], outputs: usize) -> SplitCall {
        SplitCall { opset, dims, axis: (opset == 1).then_some(0), lengths: None, count: None, outputs }
    }

    impl SplitCall {
        fn axis(self, axis: i64) -> SplitCall {
            SplitCall { axis: Some(axis), ..self }
        }

        fn lengths(self, lengths: &'static [i64]) -> SplitCall {
            SplitCall { lengths: Some(lengths), ..self }
        }

        fn count(self, count: i64) -> SplitCall {
            SplitCall { count: Some(count), ..self }
        }

        fn data(&self) -> Tensor {
            let count = element_count(self.dims).unwrap();
            Tensor::from_element_bits(ElementType::Float, self.dims.to_vec(), 0..count as u128).unwrap()
        }

        fn evaluate(&self, operand: Option<Tensor>) -> Expectation {
            let mut inputs = vec![Some(self.data()), operand];
            if self.opset >= 13
                && let Some(lengths) = self.lengths
            {
                inputs[1] = Some(Tensor::vector(lengths));
            }
            inputs.truncate(if inputs[1].is_some() { 2 } else { 1 });
            let int = |spec: AttributeSpec, value: Option<i64>| Some((spec.name, AttributeValue::Int(value?)));
            let lengths = self.lengths.filter(|_| self.opset < 13);
            let attributes: Vec<Attribute> = [
                int(AXIS, self.axis),
                int(PART_COUNT, self.count),
                lengths.map(|l| (LENGTHS.name, AttributeValue::Ints(l.to_vec()))),
            ]
            .into_iter()
            .flatten()
            .map(|(name, value)| Attribute { name: name.to_owned(), value })
            .collect();
            SPLIT.evaluate(self.opset, &attributes, &inputs, self.outputs)
        }

        /// The parts of the data of these lengths, element by element.
        fn parts(&self, lengths: &[i64], place: usize) -> Vec<Tensor> {
            let mut from = 0;
            let part = |&length: &i64| {
                let mut dims = self.dims.to_vec();
                dims[place] = length;
                let part = self.data().rearranged(&dims, |axis, index, own| {
                    own[axis] = if axis == place { from + index } else { index };
                });
                from += usize::try_from(length).unwrap();
                part.unwrap()
            };
            lengths.iter().map(part).collect()
        }

        #[track_caller]
        fn wants(&self, want: Want) {
            let place = axis(self.axis.unwrap_or(DEFAULT), self.dims.len());
            let parts = |lengths| self.parts(lengths, place.unwrap());
            let expectation = match want {
                Parts(lengths) => Expectation::Defined(parts(lengths)),
                Reject(rule) => Expectation::reject(rule),
                Lenient(rule, lengths) => Expectation::Reject { rule, lenient: Some(parts(lengths)) },
                Open(rule, answers) => {
                    let answers = answers.iter().map(|lengths| Answer::Outputs(parts(lengths)));
                    Expectation::unspecified(rule, [Answer::Refusal].into_iter().chain(answers))
                }
            };
            assert_eq!(self.evaluate(None), expectation, "{self:?}");
        }
    }

    #[test]
    fn every_row_of_the_edge_cases_holds() {
        let (six, five, three): (&[i64], &[i64], &[i64]) = (&[6], &[5], &[3]);
        let rows = [
            (row(18, six, 2).lengths(&[2, 4]), Parts(&[2, 4])),
            (row(2, six, 2).lengths(&[2, 4]), Parts(&[2, 4])),
            (row(18, six, 3).lengths(&[0, 6, 0]), Parts(&[0, 6, 0])),
            (row(11, six, 2).lengths(&[0, 6]), Parts(&[0, 6])),
            (row(18, six, 1).lengths(&[6]), Parts(&[6])),
            (row(18, three, 1).count(1), Parts(&[3])),
            (row(13, three, 1), Parts(&[3])),
            (row(18, six, 3).count(3), Parts(&[2, 2, 2])),
            (row(13, six, 3), Parts(&[2, 2, 2])),
            (row(2, six, 3), Parts(&[2, 2, 2])),
            (row(18, &[7], 4).count(4), Parts(&[2, 2, 2, 1])),
            (row(18, &[4], 3).count(3), Parts(&[2, 2, 0])),
            (row(18, &[1], 2).count(2), Parts(&[1, 0])),
            (row(18, five, 4).count(4), Open(Rule::SPLIT_UNEQUAL_PARTS, &[&[2, 2, 1, 0], &[2, 1, 1, 1]])),
            (row(18, &[2], 5).count(5), Open(Rule::SPLIT_UNEQUAL_PARTS, &[&[1, 1, 0, 0, 0]])),
            (row(18, &[0], 2).count(2), Parts(&[0, 0])),
            (row(13, &[0], 3), Parts(&[0, 0, 0])),
            (row(18, &[2, 0], 2).count(2), Parts(&[1, 1])),
            (row(18, &[2, 0], 2).axis(1).lengths(&[0, 0]), Parts(&[0, 0])),
            (row(13, five, 2), Lenient(Rule::SPLIT_UNEVEN, &[3, 2])),
            (row(11, five, 2), Lenient(Rule::SPLIT_UNEVEN, &[3, 2])),
            (row(18, six, 2).lengths(&[2, 2]), Reject(Rule::SPLIT_LENGTH_SUM)),
            (row(18, six, 2).lengths(&[3, 4]), Reject(Rule::SPLIT_LENGTH_SUM)),
            (row(18, six, 2).lengths(&[7, -1]), Reject(Rule::SPLIT_NEGATIVE_LENGTH)),
            (row(18, &[2], 3).lengths(&[MAX, MAX, 4]), Reject(Rule::SPLIT_LENGTH_SUM)),
            (row(11, &[2], 3).lengths(&[MAX, MAX, 4]), Reject(Rule::SPLIT_LENGTH_SUM)),
            (row(2, three, 2).lengths(&[4, -1]), Reject(Rule::SPLIT_NEGATIVE_LENGTH)),
            (row(18, three, 1).lengths(&[1 << 32]), Reject(Rule::SPLIT_LENGTH_SUM)),
            (row(18, six, 3).lengths(&[2, 4]), Reject(Rule::SPLIT_OUTPUT_COUNT)),
            (row(18, six, 1).lengths(&[2, 4]), Lenient(Rule::SPLIT_OUTPUT_COUNT, &[2])),
            (row(18, six, 2).lengths(&[2, 4]).count(2), Lenient(Rule::SPLIT_LENGTHS_AND_COUNT, &[2, 4])),
            (row(18, six, 2).lengths(&[2, 4]).count(3), Reject(Rule::SPLIT_LENGTHS_AND_COUNT)),
            (row(18, six, 2), Open(Rule::SPLIT_NEITHER, &[&[3, 3]])),
            (row(18, five, 2), Open(Rule::SPLIT_NEITHER, &[&[3, 2]])),
            (row(18, five, 4), Open(Rule::SPLIT_NEITHER, &[&[2, 2, 1, 0], &[2, 1, 1, 1]])),
            (row(18, six, 1).count(0), Reject(Rule::SPLIT_PART_COUNT)),
            (row(18, six, 1).count(-1), Reject(Rule::SPLIT_PART_COUNT)),
            (row(18, six, 3).count(2), Reject(Rule::SPLIT_OUTPUT_COUNT)),
            (row(18, six, 2).count(3), Lenient(Rule::SPLIT_OUTPUT_COUNT, &[2, 2])),
            (row(18, five, 2).count(MAX), Lenient(Rule::SPLIT_OUTPUT_COUNT, &[1, 1])),
            (row(18, &[2, 3], 2).axis(1).lengths(&[1, 2]), Parts(&[1, 2])),
            (row(18, &[2, 3], 2).axis(-1).lengths(&[1, 2]), Parts(&[1, 2])),
            (row(18, &[2, 3, 4], 3).axis(1).lengths(&[1, 0, 2]), Parts(&[1, 0, 2])),
            (row(2, &[2, 3], 2).axis(-1).lengths(&[1, 2]), Open(Rule::SPLIT_NEGATIVE_AXIS, &[&[1, 2]])),
            (row(18, &[2, 3], 1).axis(2).lengths(&[3]), Reject(Rule::SPLIT_AXIS_RANGE)),
            (row(18, &[2, 3], 1).axis(-3).lengths(&[2]), Reject(Rule::SPLIT_AXIS_RANGE)),
            (row(18, &[2, 3], 1).axis(1 << 32).lengths(&[2]), Reject(Rule::SPLIT_AXIS_RANGE)),
            (row(18, &[], 1).lengths(&[1]), Reject(Rule::SPLIT_SCALAR)),
            (row(2, &[], 1), Reject(Rule::SPLIT_SCALAR)),
            (row(18, &[1 << 32, 0], 2).count(2), Parts(&[1 << 31, 1 << 31])),
        ];
        for (row, want) in rows {
            row.wants(want);
        }
    }

    #[test]
    fn version_1_without_an_axis() {
        let without = SplitCall { axis: None, ..row(1, &[4, 2], 2) };
        let answers = [without.parts(&[2, 2], 0), without.parts(&[1, 1], 1)].map(Answer::Outputs);
        let open = |answers: &[Answer]| Expectation::unspecified(Rule::SPLIT_MISSING_AXIS, answers.iter().cloned());
        assert_eq!(without.evaluate(None), open(&[vec![Answer::Refusal], answers.to_vec()].concat()));
        let by_lengths = without.lengths(&[1, 3]);
        let only = Answer::Outputs(by_lengths.parts(&[1, 3], 0));
        assert_eq!(by_lengths.evaluate(None), open(&[Answer::Refusal, only]));
        let scalar = SplitCall { axis: None, ..row(1, &[], 1) };
        assert_eq!(scalar.evaluate(None), Expectation::reject(Rule::SPLIT_SCALAR));
    }

    #[test]
    fn lengths_that_are_floats() {
        let floats = |floats: &[f32]| {
            let dims = vec![i64::try_from(floats.len()).unwrap()];
            Tensor::from_element_bits(ElementType::Float, dims, floats.iter().map(|f| f.to_bits().into())).ok()
        };
        let (six, both) = (row(1, &[6], 2), row(1, &[6], 2).lengths(&[3, 3]));
        let open = |parts: &[&[i64]]| {
            let answers = parts.iter().map(|lengths| Answer::Outputs(six.parts(lengths, 0)));
            Expectation::unspecified(Rule::SPLIT_FLOAT_LENGTHS, [Answer::Refusal].into_iter().chain(answers))
        };
        let rows: &[(&SplitCall, &[f32], Expectation)] = &[
            (&six, &[2.0, 4.0], open(&[&[2, 4]])),
            (&six, &[6.0, -0.0], open(&[&[6, 0]])),
            (&both, &[2.0, 4.0], open(&[&[2, 4], &[3, 3]])),
            (&both, &[2.5, 3.5], open(&[&[3, 3]])),
            (&six, &[2.5, 3.5], Expectation::reject(Rule::SPLIT_FLOAT_LENGTHS)),
            (&six, &[f32::NAN, f32::INFINITY], Expectation::reject(Rule::SPLIT_FLOAT_LENGTHS)),
            (&six, &[1e30, 2.0], Expectation::reject(Rule::SPLIT_FLOAT_LENGTHS)),
            (&six, &[7.0, -1.0], Expectation::reject(Rule::SPLIT_NEGATIVE_LENGTH)),
            (&six, &[2.0, 2.0], Expectation::reject(Rule::SPLIT_LENGTH_SUM)),
        ];
        for (row, lengths, expectation) in rows {
            assert_eq!(&row.evaluate(floats(lengths)), expectation, "{row:?} by {lengths:?}");
        }
    }

    #[test]
    fn lengths_of_another_rank() {
        let six = row(13, &[6], 2);
        let square = Tensor::vector(&[2, 4]).with_dims(vec![1, 2]).unwrap();
        let answer = Answer::Outputs(six.parts(&[2, 4], 0));
        let open = Expectation::unspecified(Rule::SPLIT_LENGTHS_RANK, [Answer::Refusal, answer]);
        assert_eq!(six.evaluate(Some(square)), open);
        let scalar = Tensor::vector(&[5]).with_dims(vec![]).unwrap();
        assert_eq!(six.evaluate(Some(scalar)), Expectation::reject(Rule::SPLIT_LENGTH_SUM));
    }

    #[test]
    fn sizes_past_counting_are_exact() {
        let vast = row(18, &[MAX, 0], 2).count(2).evaluate(None);
        assert_eq!(vast.rule(), Some(Rule::VAST_DIMS));
        let dims: Vec<&[i64]> = vast.outputs().unwrap().iter().map(Tensor::dims).collect();
        assert_eq!(dims, [[1 << 62, 0], [(1 << 62) - 1, 0]]);
    }

    #[test]
    fn the_versions_are_those_of_the_operator_document() {
        let rows: Vec<_> = SPLIT.versions.iter().map(|v| (v.since, v.element_types.len())).collect();
        assert_eq!((rows, SPLIT.cells()), (vec![(1, 3), (2, 15), (11, 15), (13, 16), (18, 16)], 65));
        assert!(SPLIT.versions.iter().all(|version| version.has_outputs));
    }
}
