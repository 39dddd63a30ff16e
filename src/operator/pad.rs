//! Pad: adds elements before and after those of each axis, or removes elements where the number is negative.

mod drawing;
mod fill;

use std::collections::HashSet;

use super::{
    Answer, AttributeKind, AttributeSpec, Call, Expectation, InputSpec, Operator, OutputType, Role, Rule, Text, Topic,
    Version, always, axis, since, until,
};
use crate::tensor::{ElementType, Tensor, places};

pub(crate) static PAD: Operator = Operator {
    name: "Pad",
    versions: &[
        Version::new(1, ElementType::up_to(ElementType::Double), ATTRIBUTES_OF_1, DATA),
        Version::new(2, ElementType::up_to(ElementType::Double), ATTRIBUTES_OF_2, DATA),
        version(INPUTS_SINCE, TYPES_OF_11),
        version(13, ElementType::up_to(ElementType::Bfloat16)),
        with_axes(AXES_SINCE, ElementType::Bfloat16),
        with_axes(WRAP_SINCE, ElementType::Bfloat16),
        with_axes(21, ElementType::Uint4),
        with_axes(23, ElementType::Float4e2m1),
        with_axes(24, ElementType::Float8e8m0),
        with_axes(25, ElementType::Uint2),
    ],
    rules: &[
        until(INPUTS_SINCE - 1, Rule::PAD_MODE).in_words_of(THREE_MODES, u8::MAX),
        since(INPUTS_SINCE, Rule::PAD_MODE).in_words_of(MODES_BEFORE_WRAP, WRAP_SINCE - 1),
        since(INPUTS_SINCE, Rule::PAD_OPERAND_RANK),
        always(Rule::PAD_LENGTH),
        since(AXES_SINCE, Rule::PAD_AXIS_RANGE),
        since(INPUTS_SINCE, Rule::PAD_FILL_COUNT),
        since(AXES_SINCE, Rule::PAD_REPEATED_AXIS),
        always(Rule::PAD_NEGATIVE_DIM),
        always(Rule::PAD_DIM_RANGE),
        always(Rule::PAD_NOTHING_TO_REPEAT),
        always(Rule::VAST_ANSWER),
        until(1, Rule::PAD_PADDINGS_ORDER),
        until(1, Rule::PAD_NEGATIVE_COUNT),
        always(Rule::PAD_SCALAR),
        since(INPUTS_SINCE, Rule::PAD_FILL_RANK),
        since(2, Rule::PAD_EXCESS_REMOVAL),
        since(2, Rule::PAD_ORDER),
        always(Rule::PAD_REFLECT_WIDTH),
        since(24, Rule::PAD_DEFAULT_FILL),
        until(2, Rule::PAD_VALUE),
    ],
    catalogue: include_str!("../../corpus/catalogue/pad.txt"),
    purpose: &[
        (
            INPUTS_SINCE,
            "Given a tensor containing the data to be padded (`data`), a tensor containing the number of start and end \
             pad values for axis (`pads`), (optionally) a `mode`, and (optionally) `constant_value`, a padded tensor \
             (`output`) is generated.",
        ),
        (2, "Given `data` tensor, pads, mode, and value."),
        (1, "Given `data` tensor, paddings, mode, and value."),
    ],
    execute,
    draw: drawing::draw,
    output_rank: |call| call.input(0).map(Tensor::rank),
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

const MODE: &str = "mode";
const VALUE: &str = "value";
const PADDINGS: &str = "paddings";
const PADS: &str = "pads";

/// The version that made the pads and the fill inputs.
const INPUTS_SINCE: u8 = 11;

/// The version that introduced axes.
const AXES_SINCE: u8 = 18;

/// The version that introduced the mode `wrap`.
const WRAP_SINCE: u8 = 19;

const DATA: &[InputSpec] = &[InputSpec::data("data")];

const INPUTS: &[InputSpec] = &[
    InputSpec::data("data"),
    InputSpec::int64(PADS, Role::Bound),
    InputSpec::data("constant_value").optional(),
    InputSpec::index("axes", Role::Axis).optional(),
];

/// The places of the inputs.
const PADS_INPUT: usize = 1;
const FILL_INPUT: usize = 2;
const AXES_INPUT: usize = 3;

const TYPES_OF_11: &[ElementType] = &[
    ElementType::Float16,
    ElementType::Float,
    ElementType::Double,
    ElementType::Int8,
    ElementType::Int16,
    ElementType::Int32,
    ElementType::Int64,
    ElementType::Uint8,
    ElementType::Uint16,
    ElementType::Uint32,
    ElementType::Uint64,
];

/// The attributes of the versions whose only input is the data.
const fn attributes(pads: &'static str) -> [AttributeSpec; 3] {
    [
        AttributeSpec::new(MODE, AttributeKind::String, Role::Choice),
        AttributeSpec::new(pads, AttributeKind::Ints, Role::Bound).required(),
        AttributeSpec::new(VALUE, AttributeKind::Float, Role::Ignored),
    ]
}

const ATTRIBUTES_OF_1: &[AttributeSpec] = &attributes(PADDINGS);
const ATTRIBUTES_OF_2: &[AttributeSpec] = &attributes(PADS);

const fn version(since: u8, element_types: &'static [ElementType]) -> Version {
    const ATTRIBUTES: &[AttributeSpec] = &[AttributeSpec::new(MODE, AttributeKind::String, Role::Choice)];
    Version::new(since, element_types, ATTRIBUTES, INPUTS.split_at(AXES_INPUT).0)
}

const fn with_axes(since: u8, last: ElementType) -> Version {
    Version { inputs: INPUTS, ..version(since, ElementType::up_to(last)) }
}

/// The modes, as the documents of versions 1 and 2 state them.
const THREE_MODES: Rule = Rule(&Text {
    id: "pad-three-modes",
    sentence: "\"Three modes: constant(default), reflect, edge\"",
    source: "Pad-1 and 2, attribute `mode`",
    topics: &[Topic::Value, Topic::Attribute],
});

/// The modes, as the documents of versions 11 to 18 state them.
const MODES_BEFORE_WRAP: Rule = Rule(&Text {
    id: "pad-modes-before-wrap",
    sentence: "\"Supported modes: `constant`(default), `reflect`, `edge`\"",
    source: "Pad-11 to Pad-18, attribute `mode`",
    topics: &[Topic::Value, Topic::Attribute],
});

impl Rule {
    pub const PAD_MODE: Rule = Rule(&Text {
        id: "pad-mode",
        sentence: "\"Supported modes: `constant`(default), `reflect`, `edge`, `wrap`\"",
        source: "Pad-19 and later, attribute `mode`; without `wrap` in earlier versions",
        topics: &[Topic::Value, Topic::Attribute],
    });
    pub const PAD_OPERAND_RANK: Rule = Rule(&Text {
        id: "pad-operand-rank",
        sentence: "\"`pads` should be a 1D tensor\", and the axes are a \"1-D tensor\".",
        source: "Pad-11 and later, inputs `pads` and `axes` (W9)",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const PAD_LENGTH: Rule = Rule(&Text {
        id: "pad-length",
        sentence: "There are two numbers for each axis of the data, or, where axes are given, for each of these.",
        source: "Pad-1, `paddings`; Pad-2 and later, `pads`",
        topics: &[Topic::Value, Topic::Dims, Topic::Inputs],
    });
    pub const PAD_AXIS_RANGE: Rule = Rule(&Text {
        id: "pad-axis-range",
        sentence: "\"Accepted range is [-r, r-1] where r = rank(data).\"",
        source: "Pad-18 and later, input `axes`",
        topics: &[Topic::Value],
    });
    pub const PAD_FILL_COUNT: Rule = Rule(&Text {
        id: "pad-fill-count",
        sentence: "What is added in the mode `constant` is \"a scalar value\", and not several or none.",
        source: "Pad-11 and later, input `constant_value`",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const PAD_REPEATED_AXIS: Rule = Rule(&Text {
        id: "pad-repeated-axis",
        sentence: "\"Behavior is undefined if an axis is repeated.\"",
        source: "Pad-18 and later, input `axes` (W11)",
        topics: &[Topic::Value],
    });
    pub const PAD_NEGATIVE_DIM: Rule = Rule(&Text {
        id: "pad-negative-dim",
        sentence: "No more elements can be removed from an axis than it has with those that are added.",
        source: "Pad, `pads`: \"the number of padding elements to add or remove (if negative)\"",
        topics: &[Topic::Value, Topic::Dims, Topic::Size],
    });
    pub const PAD_DIM_RANGE: Rule = Rule(&Text {
        id: "pad-dim-range",
        sentence: "A dim of the output is an int64, and this one would be larger than any.",
        source: "IR, static tensor shapes",
        topics: &[Topic::Size, Topic::Value, Topic::Dims],
    });
    pub const PAD_NOTHING_TO_REPEAT: Rule = Rule(&Text {
        id: "pad-nothing-to-repeat",
        sentence: "An axis without elements has none that the modes `edge`, `reflect` and `wrap` could repeat.",
        source: "Pad, attribute `mode` (W21)",
        topics: &[Topic::Value, Topic::Dims, Topic::Size],
    });
    pub const PAD_PADDINGS_ORDER: Rule = Rule(&Text {
        id: "pad-paddings-order",
        sentence: "\"`paddings` format should be as follow [x1_begin, x2_begin...x1_end, x2_end,...]\", but in the \
                   example the two numbers of an axis stand side by side.",
        source: "Pad-1, attribute `paddings` and example (W23)",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const PAD_NEGATIVE_COUNT: Rule = Rule(&Text {
        id: "pad-negative-count",
        sentence: "The paddings \"indicate the padding element count\"; whether a negative one removes elements, as in \
                   the next version, is not said.",
        source: "Pad-1, attribute `paddings` (W23)",
        topics: &[Topic::Value, Topic::Dims, Topic::Size],
    });
    pub const PAD_SCALAR: Rule = Rule(&Text {
        id: "pad-scalar",
        sentence: "A scalar has no axis to pad; whether none may be padded is not said.",
        source: "Pad (W13)",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const PAD_FILL_RANK: Rule = Rule(&Text {
        id: "pad-fill-rank",
        sentence: "What is added is \"a scalar value to be used if the mode chosen is `constant`\"; whether one element \
                   of another rank is one, or something else may stand there in another mode, is not said.",
        source: "Pad-11 and later, input `constant_value` (W22)",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const PAD_EXCESS_REMOVAL: Rule = Rule(&Text {
        id: "pad-excess-removal",
        sentence: "Whether more may be removed at one end than there is, if enough is added at the other, is not said.",
        source: "Pad-2 and later, mode `constant` (W19)",
        topics: &[Topic::Value, Topic::Dims, Topic::Size],
    });
    pub const PAD_ORDER: Rule = Rule(&Text {
        id: "pad-order",
        sentence: "Whether elements are added at one end of an axis before they are removed at the other, or after, is \
                   not said.",
        source: "Pad-2 and later, modes `edge`, `reflect` and `wrap` (W18, onnx issue 4294)",
        topics: &[Topic::Value, Topic::Dims, Topic::Size],
    });
    pub const PAD_REFLECT_WIDTH: Rule = Rule(&Text {
        id: "pad-reflect-width",
        sentence: "The \"vector mirrored on the first and last values\" is one element shorter than the axis; that more \
                   are added shows only in an example.",
        source: "Pad, mode `reflect` (W20)",
        topics: &[Topic::Value, Topic::Dims, Topic::Size],
    });
    pub const PAD_DEFAULT_FILL: Rule = Rule(&Text {
        id: "pad-default-fill",
        sentence: "The scalar value \"by default [..] is 0\", and float8e8m0 has no 0.",
        source: "Pad-24 and later, input `constant_value` (W24)",
        topics: &[Topic::Value, Topic::ElementType, Topic::Inputs],
    });
    pub const PAD_VALUE: Rule = Rule(&Text {
        id: "pad-value",
        sentence: "The value is a float, and how one that the type of the data does not have is converted is not said.",
        source: "Pad-1 and 2, attribute `value` (W25)",
        topics: &[Topic::Value, Topic::Attribute, Topic::ElementType],
    });
}

/// Which elements are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Constant,
    Edge,
    Reflect,
    Wrap,
}

impl Mode {
    /// The mode with this name, if the version has it. Without a name it is `constant`.
    fn of(since: u8, name: Option<&str>) -> Option<Mode> {
        match name {
            None | Some("constant") => Some(Mode::Constant),
            Some("edge") => Some(Mode::Edge),
            Some("reflect") => Some(Mode::Reflect),
            Some("wrap") if since >= WRAP_SINCE => Some(Mode::Wrap),
            Some(_) => None,
        }
    }
}

fn execute(call: &Call) -> Expectation {
    let Some(mode) = Mode::of(call.since(), call.string(MODE)) else { return Expectation::reject(Rule::PAD_MODE) };
    match call.since() {
        1 => paddings(call, mode, call.ints(PADDINGS).unwrap_or_default()),
        2 => pad(call, mode, call.ints(PADS).unwrap_or_default(), None),
        _ => {
            let pads = call.integers(PADS_INPUT).unwrap_or_default();
            let expectation = pad(call, mode, &pads, call.integers(AXES_INPUT).as_deref());
            if [PADS_INPUT, AXES_INPUT].iter().filter_map(|&place| call.input(place)).any(|list| list.rank() != 1) {
                let lenient = expectation.outputs().map(<[Tensor]>::to_vec);
                return Expectation::Reject { rule: Rule::PAD_OPERAND_RANK, lenient };
            }
            expectation
        }
    }
}

/// Pad-1. The texts leave open in which of two orders its paddings are, and whether they may be negative.
fn paddings(call: &Call, mode: Mode, paddings: &[i64]) -> Expectation {
    let (in_order, shown) = (pad(call, mode, paddings, None), pad(call, mode, &from_pairs(paddings), None));
    let answers = in_order.clone().into_answers();
    let both: Vec<Answer> = answers.iter().cloned().chain(shown.into_answers()).collect();
    let is_negative = paddings.iter().any(|&count| count < 0);
    if both.iter().all(|answer| *answer == Answer::Refusal) {
        in_order
    } else if is_negative {
        Expectation::unspecified(Rule::PAD_NEGATIVE_COUNT, both.into_iter().chain([Answer::Refusal]))
    } else if both.iter().all(|answer| answers.contains(answer)) {
        in_order
    } else {
        Expectation::unspecified(Rule::PAD_PADDINGS_ORDER, both)
    }
}

/// Numbers in pairs, one pair for each axis, reordered: first those for the beginnings of all axes, then those for the ends.
fn from_pairs(pairs: &[i64]) -> Vec<i64> {
    let every_second = |from: usize| pairs.iter().copied().skip(from).step_by(2);
    every_second(0).chain(every_second(1)).collect()
}

fn pad(call: &Call, mode: Mode, pads: &[i64], axes: Option<&[i64]>) -> Expectation {
    let data = call.data();
    let rank = data.rank();
    if pads.len() != 2 * axes.map_or(rank, <[i64]>::len) {
        return Expectation::reject(Rule::PAD_LENGTH);
    }
    let places: Option<Vec<usize>> = match axes {
        Some(axes) => axes.iter().map(|&value| axis(value, rank)).collect(),
        None => Some((0..rank).collect()),
    };
    let Some(places) = places else { return Expectation::reject(Rule::PAD_AXIS_RANGE) };
    let fill = call.input(FILL_INPUT).filter(|fill| fill.rank() > 0);
    if mode == Mode::Constant && fill.is_some_and(|fill| fill.len() != 1) {
        return Expectation::reject(Rule::PAD_FILL_COUNT);
    }
    if places.iter().collect::<HashSet<_>>().len() < places.len() {
        // In one reading every number counts, and then the output may be vast.
        let mut most = data.dims().to_vec();
        for (&place, &count) in places.iter().cycle().zip(pads) {
            most[place] = most[place].saturating_add(count.max(0));
        }
        let rule = if call.is_vast_output(&most) { Rule::VAST_ANSWER } else { Rule::PAD_REPEATED_AXIS };
        return Expectation::anything(rule);
    }
    let lines = lines(data.dims(), &places, pads);
    let dims = match dims(call, mode, &lines) {
        Ok(dims) => dims,
        Err(refused) => return refused,
    };
    let is_filled = is_filled(mode, &lines, &dims);
    let fills = if is_filled { fill::fills(call) } else { vec![Tensor::zero(data.element_type())] };
    let room = [(Rule::PAD_SCALAR, rank == 0), (Rule::PAD_FILL_RANK, fill.is_some())]
        .into_iter()
        .find_map(|(rule, is_open)| is_open.then_some(rule))
        .or_else(|| lines.iter().find_map(|line| line.room(mode, dims.contains(&0))));
    match fills.len() {
        0 => return Expectation::anything(Rule::PAD_DEFAULT_FILL),
        1 if room.is_none() => return Expectation::Defined(vec![padded(data, mode, &lines, &dims, &fills[0])]),
        _ => {}
    }
    let mut orders = vec![lines.clone()];
    orders.extend((mode != Mode::Constant).then(|| removed_first(&lines)).flatten());
    let outputs = orders.iter().flat_map(|lines| fills.iter().map(|fill| padded(data, mode, lines, &dims, fill)));
    let answers = outputs.map(|output| Answer::Outputs(vec![output])).chain([Answer::Refusal]);
    Expectation::unspecified(room.unwrap_or(Rule::PAD_VALUE), answers)
}

/// One axis: its number of elements, and how many are added before and after them. A number below 0 removes elements.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// The first element that is left, if elements are removed before any are added.
    first: i128,
    size: i128,
    before: i128,
    after: i128,
}

/// The axes of the data, of which those at `places` are padded.
fn lines(dims: &[i64], places: &[usize], pads: &[i64]) -> Vec<Line> {
    let whole = |&dim: &i64| Line { first: 0, size: i128::from(dim), before: 0, after: 0 };
    let mut lines: Vec<Line> = dims.iter().map(whole).collect();
    let (before, after) = pads.split_at(places.len());
    for ((&place, &before), &after) in places.iter().zip(before).zip(after) {
        lines[place] = Line { before: before.into(), after: after.into(), ..lines[place] };
    }
    lines
}

/// The dims of the output, or the expectation of a call whose output is not built.
fn dims(call: &Call, mode: Mode, lines: &[Line]) -> Result<Vec<i64>, Expectation> {
    if lines.iter().any(|line| line.count() < 0) {
        return Err(Expectation::reject(Rule::PAD_NEGATIVE_DIM));
    }
    let dims = lines.iter().map(|line| i64::try_from(line.count()));
    let dims: Vec<i64> = dims.collect::<Result<_, _>>().map_err(|_| Expectation::reject(Rule::PAD_DIM_RANGE))?;
    if !dims.contains(&0) && lines.iter().any(|line| line.has_nothing_to_repeat(mode)) {
        return Err(Expectation::reject(Rule::PAD_NOTHING_TO_REPEAT));
    }
    if call.is_vast_output(&dims) { Err(Expectation::vast(&dims)) } else { Ok(dims) }
}

/// Whether the output has an element that is the fill.
fn is_filled(mode: Mode, lines: &[Line], dims: &[i64]) -> bool {
    mode == Mode::Constant && !dims.contains(&0) && lines.iter().any(|line| line.before.max(line.after) > 0)
}

impl Line {
    /// The number of its elements in the output.
    fn count(self) -> i128 {
        self.size + self.before + self.after
    }

    fn has_nothing_to_repeat(self, mode: Mode) -> bool {
        mode != Mode::Constant && self.size == 0 && self.before.max(self.after) > 0
    }

    /// The rule that leaves its elements unspecified, if there is one. `is_empty` is whether the output has no elements.
    fn room(self, mode: Mode, is_empty: bool) -> Option<Rule> {
        let (most, least) = (self.before.max(self.after), self.before.min(self.after));
        match mode {
            _ if most <= 0 => None,
            Mode::Constant => (-least > self.size).then_some(Rule::PAD_EXCESS_REMOVAL),
            _ if self.has_nothing_to_repeat(mode) => Some(Rule::PAD_NOTHING_TO_REPEAT),
            _ if least < 0 && self.depends_on_order(mode, is_empty) => Some(Rule::PAD_ORDER),
            Mode::Reflect => (most > self.size - 1).then_some(Rule::PAD_REFLECT_WIDTH),
            Mode::Edge | Mode::Wrap => None,
        }
    }

    /// Whether the result depends on which comes first: adding elements at one end, or removing them at the other.
    fn depends_on_order(self, mode: Mode, is_empty: bool) -> bool {
        let (added, left) = (self.before.max(self.after), self.size + self.before.min(self.after));
        match mode {
            _ if left <= 0 => true,
            Mode::Constant | Mode::Edge => false,
            Mode::Reflect => added > left - 1,
            Mode::Wrap => !is_empty,
        }
    }

    /// The axis after its removals, before any additions; `None` if nothing is left, but elements are added.
    fn removed_first(self) -> Option<Line> {
        let (before, after) = (self.before.min(0), self.after.min(0));
        let size = self.size + before + after;
        let is_there = size > 0 || self.before.max(self.after) <= 0;
        is_there.then(|| Line { first: -before, size, before: self.before.max(0), after: self.after.max(0) })
    }

    /// The element of the data for an element of the output, if that is not the fill.
    fn source(self, mode: Mode, index: usize) -> Option<usize> {
        let (place, last) = (index as i128 - self.before, self.size - 1);
        let source = match mode {
            _ if (0..=last).contains(&place) => place,
            Mode::Constant => return None,
            Mode::Edge => place.clamp(0, last),
            Mode::Wrap => place.rem_euclid(self.size),
            // One element is its own mirror image.
            Mode::Reflect if last == 0 => 0,
            Mode::Reflect => {
                let turn = place.rem_euclid(2 * last);
                turn.min(2 * last - turn)
            }
        };
        Some(usize::try_from(self.first + source).expect("what is repeated is an element of the data"))
    }
}

/// Every axis after its removals.
fn removed_first(lines: &[Line]) -> Option<Vec<Line>> {
    lines.iter().map(|line| line.removed_first()).collect()
}

fn padded(data: &Tensor, mode: Mode, lines: &[Line], dims: &[i64], fill: &Tensor) -> Tensor {
    if dims == data.dims() && lines.iter().all(|line| line.before == 0 && line.first == 0) {
        return data.clone();
    }
    // Without elements, a dim may be vast.
    let has_elements = !dims.contains(&0);
    let along = |(line, &dim): (&Line, &i64)| {
        let sizes = 0..usize::try_from(dim).expect("no dim is negative");
        sizes.take_while(|_| has_elements).map(|index| line.source(mode, index)).collect::<Vec<_>>()
    };
    let along: Vec<_> = lines.iter().zip(dims).map(along).collect();
    let mut own = vec![0; lines.len()];
    let elements = places(dims, |index| {
        for ((own, sources), &index) in own.iter_mut().zip(&along).zip(index) {
            match sources[index] {
                Some(source) => *own = source,
                None => return (fill, 0),
            }
        }
        (data, data.place(&own))
    });
    let padded = Tensor::assembled(data.element_type(), dims.to_vec(), elements);
    padded.expect("no dim is negative, and each element has its source")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::{Attribute, AttributeValue, TOO_MANY};

    const MIN: i64 = i64::MIN;
    const MAX: i64 = i64::MAX;

    /// One element for each letter: 1 for `a`, 2 for `b` and so on, and 0 for the digit `0`.
    fn letters(text: &str) -> Tensor {
        let bits = text.bytes().map(|letter| if letter == b'0' { 0 } else { u128::from(letter - b'a') + 1 });
        Tensor::from_element_bits(ElementType::Int8, vec![i64::try_from(text.len()).unwrap()], bits).unwrap()
    }

    fn evaluate(mode: &str, data: Tensor, pads: &[i64], fill: Option<Tensor>) -> Expectation {
        let mode = Attribute { name: MODE.to_owned(), value: AttributeValue::String(mode.to_owned()) };
        PAD.evaluate(19, &[mode], &[Some(data), Some(Tensor::vector(pads)), fill], 1)
    }

    fn answers(texts: &[&str]) -> Vec<Answer> {
        let outputs = texts.iter().map(|text| Answer::Outputs(vec![letters(text)]));
        outputs.chain([Answer::Refusal]).collect()
    }

    #[test]
    fn each_mode_adds_and_removes() {
        assert_eq!(PAD.cells(), 160);
        let rows: &[(&str, &str, [i64; 2], &str)] = &[
            ("constant", "abc", [1, 2], "0abc00"),
            ("edge", "abc", [1, 2], "aabccc"),
            ("wrap", "abc", [1, 2], "cabcab"),
            ("reflect", "abc", [1, 2], "babcba"),
            ("wrap", "abc", [-1, -1], "b"),
            ("reflect", "abc", [-2, -1], ""),
            ("constant", "abc", [-3, 2], "00"),
            ("constant", "abc", [-1, 2], "bc00"),
            ("edge", "abc", [-1, 2], "bccc"),
            ("reflect", "abc", [-1, 1], "bcb"),
            ("wrap", "abc", [4, 5], "cabcabcabcab"),
            ("reflect", "ab", [1, 1], "baba"),
            ("constant", "", [1, 2], "000"),
            ("reflect", "", [0, 0], ""),
        ];
        for &(mode, data, pads, output) in rows {
            let expectation = evaluate(mode, letters(data), &pads, None);
            assert_eq!(expectation, Expectation::Defined(vec![letters(output)]), "{mode} {data} {pads:?}");
        }
    }

    #[test]
    fn what_is_left_open_has_its_answers() {
        type Row<'a> = (&'a str, &'a str, [i64; 2], Rule, &'a [&'a str]);
        let rows: &[Row] = &[
            ("constant", "abc", [-5, 4], Rule::PAD_EXCESS_REMOVAL, &["00"]),
            ("constant", "abc", [MIN, MAX], Rule::PAD_EXCESS_REMOVAL, &["00"]),
            ("wrap", "abc", [-1, 1], Rule::PAD_ORDER, &["bca", "bcb"]),
            ("reflect", "abcd", [-2, 2], Rule::PAD_ORDER, &["cdcb", "cdcd"]),
            ("edge", "abc", [-4, 2], Rule::PAD_ORDER, &["c"]),
            ("reflect", "abc", [5, 0], Rule::PAD_REFLECT_WIDTH, &["babcbabc"]),
            ("reflect", "a", [1, 1], Rule::PAD_REFLECT_WIDTH, &["aaa"]),
            ("edge", "", [1, -1], Rule::PAD_NOTHING_TO_REPEAT, &[""]),
        ];
        for &(mode, data, pads, rule, texts) in rows {
            let expectation = evaluate(mode, letters(data), &pads, None);
            let open = Expectation::Unspecified { rule, tolerated: answers(texts) };
            assert_eq!(expectation, open, "{mode} {data} {pads:?}");
        }
        let odd = evaluate("edge", letters("abc"), &[1, 1], Some(letters("ab")));
        let tolerated = answers(&["aabcc"]);
        assert_eq!(odd, Expectation::Unspecified { rule: Rule::PAD_FILL_RANK, tolerated });
    }

    #[test]
    fn an_axis_that_is_repeated_leaves_a_vast_output_open() {
        let axes = Tensor::vector(&[0, -1]);
        let rows = [([1, 1, 1, -1], Rule::PAD_REPEATED_AXIS), ([1, 1, 1 << 32, 1], Rule::VAST_ANSWER)];
        for (pads, rule) in rows {
            let inputs = [Some(letters("abc")), Some(Tensor::vector(&pads)), None, Some(axes.clone())];
            assert_eq!(PAD.evaluate(19, &[], &inputs, 1), Expectation::anything(rule), "{pads:?}");
        }
    }

    #[test]
    fn what_has_no_answer_is_refused() {
        let rows: &[(&str, &str, &[i64], Rule)] = &[
            ("mirror", "abc", &[1, 1], Rule::PAD_MODE),
            ("constant", "abc", &[1], Rule::PAD_LENGTH),
            ("constant", "abc", &[-2, -2], Rule::PAD_NEGATIVE_DIM),
            ("wrap", "abc", &[MIN, 0], Rule::PAD_NEGATIVE_DIM),
            ("edge", "", &[1, 0], Rule::PAD_NOTHING_TO_REPEAT),
            ("constant", "abc", &[MAX, 0], Rule::PAD_DIM_RANGE),
            ("edge", "abc", &[TOO_MANY, 0], Rule::VAST_ANSWER),
        ];
        for &(mode, data, pads, rule) in rows {
            let expectation = evaluate(mode, letters(data), pads, None);
            assert_eq!(expectation, Expectation::reject(rule), "{mode} {data} {pads:?}");
        }
        let fill = evaluate("constant", letters("abc"), &[1, 1], Some(letters("ab")));
        assert_eq!(fill, Expectation::reject(Rule::PAD_FILL_COUNT));
    }

    #[test]
    fn pad_1_has_paddings_in_two_orders() {
        let dims = |paddings: &[i64]| {
            let attribute = Attribute { name: PADDINGS.to_owned(), value: AttributeValue::Ints(paddings.to_vec()) };
            let data = Tensor::from_element_bits(ElementType::Float, vec![2, 2], 1..5).unwrap();
            let expectation = PAD.evaluate(1, &[attribute], &[Some(data)], 1);
            let of = |answer: Answer| match answer {
                Answer::Outputs(outputs) => Some(outputs[0].dims().to_vec()),
                _ => None,
            };
            (expectation.rule(), expectation.into_answers().into_iter().map(of).collect::<Vec<_>>())
        };
        assert_eq!(dims(&[1, 1, 1, 1]), (None, vec![Some(vec![4, 4])]));
        let both = vec![Some(vec![4, 2]), Some(vec![2, 4])];
        assert_eq!(dims(&[0, 0, 2, 0]), (Some(Rule::PAD_PADDINGS_ORDER), both));
        assert_eq!(dims(&[-1, 0, 0, 0]), (Some(Rule::PAD_NEGATIVE_COUNT), vec![Some(vec![1, 2]), None]));
    }

    #[test]
    fn a_value_is_converted_or_left_open() {
        let rows: &[(f32, ElementType, &[u128])] = &[
            (0.1, ElementType::Float16, &[0x2e66, 0x2e67]),
            (-0.5, ElementType::Float16, &[0xb800]),
            (65_519.0, ElementType::Float16, &[0x7bff, 0x7c00]),
            (1e6, ElementType::Float16, &[0x7c00, 0x7bff]),
            (f32::INFINITY, ElementType::Float16, &[0x7c00]),
            (-1e-10, ElementType::Float16, &[0x8000, 0x8001]),
            (f32::NAN, ElementType::Float16, &[0x7e00, 0x7e00, 0x7e00, 0xfe00]),
            (1.5, ElementType::Double, &[0x3ff8_0000_0000_0000]),
        ];
        for &(value, element_type, bits) in rows {
            assert_eq!(fill::conversions(value, element_type), bits, "{value} as {element_type}");
        }
    }
}
