//! Reshape: the same elements with the requested dims.

mod target;

use super::draw::{MAX_DRAWN, OTHER_FLAGS};
use super::{
    Aim, Answer, AttributeKind, AttributeSpec, Call, Drawing, Expectation, InputSpec, Operator, OutputType, Role, Rule,
    Text, Topic, Types, Version, always, since, until,
};
use crate::tensor::{ElementType, Tensor, product};

pub(crate) static RESHAPE: Operator = Operator {
    name: "Reshape",
    versions: &[
        Version::new(
            1,
            ElementType::up_to(ElementType::Double),
            &[
                AttributeSpec::new("shape", AttributeKind::Ints, Role::TargetShape),
                AttributeSpec::new("consumed_inputs", AttributeKind::Ints, Role::Ignored),
            ],
            &[InputSpec::data("data")],
        ),
        version(5, ElementType::Complex128, &[]),
        version(13, ElementType::Bfloat16, &[]),
        version(14, ElementType::Bfloat16, ALLOWZERO),
        version(19, ElementType::Float8e5m2fnuz, ALLOWZERO),
        version(21, ElementType::Uint4, ALLOWZERO),
        version(23, ElementType::Float4e2m1, ALLOWZERO),
        version(24, ElementType::Float8e8m0, ALLOWZERO),
        version(25, ElementType::Uint2, ALLOWZERO),
    ],
    rules: &[
        since(5, Rule::SHAPE_TYPE),
        since(5, Rule::SHAPE_RANK),
        always(Rule::SEVERAL_INFERRED),
        always(Rule::BELOW_MINUS_ONE),
        always(Rule::ZERO_PAST_RANK),
        always(Rule::ELEMENT_COUNT),
        always(Rule::NOT_DIVISIBLE),
        since(14, Rule::ZERO_AND_INFERRED),
        always(Rule::COPIED_ZERO_AND_INFERRED),
        since(14, Rule::ALLOWZERO_VALUE),
        until(1, Rule::MISSING_SHAPE),
    ],
    catalogue: include_str!("../../corpus/catalogue/reshape.txt"),
    purpose: &[
        (
            5,
            "First input is the data tensor, second input is a shape tensor which specifies the output shape. It outputs \
             the reshaped tensor.",
        ),
        (1, "It takes a tensor as input and an argument `shape`. It outputs the reshaped tensor."),
    ],
    execute,
    draw,
    output_rank,
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

const ALLOWZERO: &[AttributeSpec] = &[AttributeSpec::new("allowzero", AttributeKind::Int, Role::Flag)];

const fn version(since: u8, last: ElementType, attributes: &'static [AttributeSpec]) -> Version {
    const INPUTS: &[InputSpec] = &[
        InputSpec::data("data"),
        InputSpec { types: Types::Int64(Rule::SHAPE_TYPE), ..InputSpec::int64("shape", Role::TargetShape) },
    ];
    Version::new(since, ElementType::up_to(last), attributes, INPUTS)
}

fn draw(d: &mut Drawing) -> arbitrary::Result<()> {
    fit_dims(d)?;
    // In about 4 % of the valid calls, the inferred dim comes from a division by a number that other draws seldom have.
    let mut drawn = None;
    if d.aim == Aim::Valid && d.is_free && d.ratio(1, 25)? {
        let (dims, target) = target::division(d.u)?;
        d.dims = dims;
        drawn = Some(target);
    }
    let has_flag = d.version.attributes.iter().any(|spec| spec.role == Role::Flag);
    let allowzero = if has_flag { d.int("allowzero", allowzero)?.unwrap_or(0) } else { 0 };
    let is_attribute = d.since() < 5;
    if is_attribute {
        d.ints("shape", |d| {
            if d.breaks(Rule::MISSING_SHAPE) { Ok(None) } else { target_for(d, drawn.take(), 0).map(Some) }
        })?;
        d.ints("consumed_inputs", |d| {
            if d.aim == Aim::Valid && d.ratio(1, 4)? { target::wild_target(d.u, &d.dims).map(Some) } else { Ok(None) }
        })?;
    }
    d.data();
    if !is_attribute {
        let target = target_for(d, drawn, allowzero)?;
        if d.breaks(Rule::SHAPE_RANK) { d.vector_of_other_rank(&target)? } else { d.vector(&target) }
    }
    Ok(())
}

/// Gives the data dims with which the rule can be broken, if its own do not allow it.
fn fit_dims(d: &mut Drawing) -> arbitrary::Result<()> {
    let must_have_elements = match d.aim {
        Aim::Break(Rule::NOT_DIVISIBLE) => true,
        Aim::Break(Rule::ELEMENT_COUNT) => d.dims.contains(&0) && d.ratio(1, 2)?,
        _ => false,
    };
    match d.aim {
        // A size that is valid only beside a 0 becomes 1, as the 0 does.
        _ if must_have_elements && d.dims.contains(&0) => {
            d.dims.iter_mut().filter(|dim| !(1..=MAX_DRAWN).contains(*dim)).for_each(|dim| *dim = 1);
        }
        Aim::Break(Rule::COPIED_ZERO_AND_INFERRED) => {
            d.dims.truncate(6);
            if d.dims.is_empty() {
                d.dims.push(2);
            }
            let position = d.u.choose_index(d.dims.len())?;
            d.dims[position] = 0;
        }
        _ => {}
    }
    Ok(())
}

fn allowzero(d: &mut Drawing) -> arbitrary::Result<Option<i64>> {
    let value = match d.aim {
        Aim::Break(Rule::ZERO_AND_INFERRED) => 1,
        Aim::Break(Rule::ALLOWZERO_VALUE) => d.choose(&OTHER_FLAGS)?,
        Aim::Break(Rule::ZERO_PAST_RANK | Rule::COPIED_ZERO_AND_INFERRED) => 0,
        Aim::Break(_) => i64::from(d.ratio(1, 2)?),
        Aim::Valid | Aim::Wild => {
            // The flag matters most for zero-size data.
            let often = if d.dims.contains(&0) { 9 } else { 5 };
            return if d.ratio(often, 10)? { Ok(Some(i64::from(d.ratio(3, 4)?))) } else { Ok(None) };
        }
    };
    // Absent and 0 mean the same.
    if value != 0 || d.ratio(1, 2)? { Ok(Some(value)) } else { Ok(None) }
}

/// The target shape that was drawn with the dims, or else a new one.
fn target_for(d: &mut Drawing, drawn: Option<Vec<i64>>, allowzero: i64) -> arbitrary::Result<Vec<i64>> {
    match (d.aim, drawn, d.length) {
        (_, Some(target), _) => Ok(target),
        (Aim::Wild, ..) => target::wild_target(d.u, &d.dims),
        (Aim::Break(rule), ..) => target::bent_target(d.u, rule, &d.dims, allowzero),
        (_, _, Some(length)) if length > 0 => {
            if !d.dims.contains(&0) && d.ratio(1, 25)? {
                target::division_of_length(d.u, &d.dims, length)
            } else {
                target::target_of_length(d.u, &d.dims, allowzero.clamp(0, 1), length)
            }
        }
        _ => target::target(d.u, &d.dims, allowzero.clamp(0, 1)),
    }
}

/// The length of the shape, if it is a vector.
fn output_rank(call: &Call) -> Option<usize> {
    let input = call.input(1).filter(|shape| shape.rank() == 1).map(Tensor::len);
    input.or_else(|| call.ints("shape").map(<[i64]>::len))
}

impl Rule {
    pub const SHAPE_TYPE: Rule = Rule(&Text {
        id: "shape-type",
        sentence: "The shape is a tensor(int64).",
        source: "Reshape-5 and later, input `shape`",
        topics: &[Topic::ElementType],
    });
    pub const SHAPE_RANK: Rule = Rule(&Text {
        id: "shape-rank",
        sentence: "The shape is a tensor of rank 1; what one of another rank means is not said.",
        source: "Reshape-5 and later, input `shape`; IR, static tensor shapes (U6)",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const SEVERAL_INFERRED: Rule = Rule(&Text {
        id: "several-inferred",
        sentence: "\"At most one dimension of the new shape can be -1.\"",
        source: "Reshape, all versions",
        topics: &[Topic::Value, Topic::Size, Topic::Dims],
    });
    pub const BELOW_MINUS_ONE: Rule = Rule(&Text {
        id: "below-minus-one",
        sentence: "A dimension is a size, 0 or -1; what a lower number means is not said.",
        source: "Reshape, all versions (U4)",
        topics: &[Topic::Value, Topic::Size, Topic::Dims],
    });
    pub const ZERO_PAST_RANK: Rule = Rule(&Text {
        id: "zero-past-rank",
        sentence: "\"A dimension could also be 0, in which case the actual dimension value is unchanged (i.e. taken from \
                     the input tensor).\" Past the input's rank there is none to take.",
        source: "Reshape, all versions",
        topics: &[Topic::Value, Topic::Size, Topic::Dims],
    });
    pub const ELEMENT_COUNT: Rule = Rule(&Text {
        id: "element-count",
        sentence: "\"The input tensor's shape and the output tensor's shape are required to have the same number of \
                     elements.\"",
        source: "Reshape, all versions",
        topics: &[Topic::Value, Topic::Size, Topic::Dims],
    });
    pub const NOT_DIVISIBLE: Rule = Rule(&Text {
        id: "not-divisible",
        sentence: "The value of -1 \"is inferred from the size of the tensor and the remaining dimensions\", and no size \
                     gives this number of elements.",
        source: "Reshape, all versions",
        topics: &[Topic::Value, Topic::Size, Topic::Dims],
    });
    pub const ZERO_AND_INFERRED: Rule = Rule(&Text {
        id: "zero-and-inferred",
        sentence: "\"If the attribute 'allowzero' is set, it is invalid for the specified shape to contain both a zero \
                     value and -1, as the value of the dimension corresponding to -1 cannot be determined uniquely.\"",
        source: "Reshape-14 and later, attribute `allowzero` (U2)",
        topics: &[Topic::Value, Topic::Size, Topic::Dims],
    });
    pub const COPIED_ZERO_AND_INFERRED: Rule = Rule(&Text {
        id: "copied-zero-and-inferred",
        sentence: "A -1 beside a 0 that copies a dimension of size 0 can be any size; no text says which.",
        source: "Reshape, all versions (U1, onnx issue 6104)",
        topics: &[Topic::Value, Topic::Size, Topic::Dims],
    });
    pub const ALLOWZERO_VALUE: Rule = Rule(&Text {
        id: "allowzero-value",
        sentence: "allowzero is 0 or 1; what another number means is not said.",
        source: "Reshape-14 and later, attribute `allowzero` (U3)",
        topics: &[Topic::Value, Topic::Size, Topic::Dims],
    });
    pub const MISSING_SHAPE: Rule = Rule(&Text {
        id: "missing-shape",
        sentence: "What Reshape does without a shape is not said.",
        source: "Reshape-1, attribute `shape` (U8)",
        topics: &[Topic::Attribute, Topic::Inputs],
    });
}

fn execute(call: &Call) -> Expectation {
    let data = call.data();
    if call.version.inputs.len() == 1 {
        return call.ints("shape").map_or_else(|| without_shape(data), |shape| reshape(data, shape, 0));
    }
    let operand = call.input(1).expect("a well-formed call has both inputs");
    let shape = operand.int64s().expect("a well-formed call has an int64 shape");
    let allowzero = call.int("allowzero").unwrap_or(0);
    if operand.rank() != 1 {
        // U6: only a one-element shape of another rank has an obvious reading.
        let reading = (shape.len() == 1).then(|| reshape(data, &shape, allowzero).into_answers());
        return Expectation::unspecified(
            Rule::SHAPE_RANK,
            [Answer::Refusal].into_iter().chain(reading.into_iter().flatten()),
        );
    }
    reshape(data, &shape, allowzero)
}

/// U8: a refusal, the unchanged data, or a scalar.
fn without_shape(data: &Tensor) -> Expectation {
    let scalar = data.with_dims(vec![]).ok().map(|scalar| Answer::Outputs(vec![scalar]));
    let answers = [Answer::Refusal, Answer::Outputs(vec![data.clone()])];
    Expectation::unspecified(Rule::MISSING_SHAPE, answers.into_iter().chain(scalar))
}

/// The expectation for data and the requested shape. `allowzero` may be any number.
fn reshape(data: &Tensor, shape: &[i64], allowzero: i64) -> Expectation {
    if !(0..=1).contains(&allowzero) {
        // U3: as 0, as 1, or refused.
        let answers = [0, 1].into_iter().flat_map(|flag| reshape(data, shape, flag).into_answers());
        return Expectation::unspecified(Rule::ALLOWZERO_VALUE, answers.chain([Answer::Refusal]));
    }
    let inferred = shape.iter().filter(|&&d| d == -1).count();
    let below = shape.iter().filter(|&&d| d < -1).count();
    if inferred > 1 {
        return Expectation::reject(Rule::SEVERAL_INFERRED);
    }
    if below > 0 {
        // U4: a single number below -1 may be read as if it were -1.
        let as_inferred: Vec<i64> = shape.iter().map(|&d| d.max(-1)).collect();
        let reading = (inferred + below == 1).then(|| reshape(data, &as_inferred, allowzero).into_answers());
        return Expectation::unspecified(
            Rule::BELOW_MINUS_ONE,
            [Answer::Refusal].into_iter().chain(reading.into_iter().flatten()),
        );
    }
    if allowzero == 1 && inferred == 1 && shape.contains(&0) {
        return Expectation::reject(Rule::ZERO_AND_INFERRED);
    }
    let Some(target) = with_copies(data.dims(), shape, allowzero) else {
        return Expectation::reject(Rule::ZERO_PAST_RANK);
    };
    let count = product(data.dims().iter().copied());
    let known = product(target.iter().copied().filter(|&d| d != -1));
    let Some(position) = target.iter().position(|&d| d == -1) else {
        let same = count.is_some() && count == known;
        return if same { answer(data, target) } else { Expectation::reject(Rule::ELEMENT_COUNT) };
    };
    let with_size = |size: i64| {
        let mut dims = target.clone();
        dims[position] = size;
        dims
    };
    match (count, known) {
        (Some(0), Some(0)) => copied_zero(data, shape, &target, with_size),
        // Data that is not empty cannot have a shape with a copied zero, whatever -1 stands for.
        (_, Some(0)) => Expectation::reject(Rule::NOT_DIVISIBLE),
        // Zero elements are divisible by any number, even by one past counting. The size is 0.
        (Some(0), _) => answer(data, with_size(0)),
        (Some(count), Some(known)) if count % known == 0 => match i64::try_from(count / known) {
            Ok(size) => answer(data, with_size(size)),
            Err(_) => Expectation::reject(Rule::VAST_DIMS),
        },
        _ => Expectation::reject(Rule::NOT_DIVISIBLE),
    }
}

/// The shape with each copying 0 replaced by the dimension that it copies; `None` if the data has no such dimension.
fn with_copies(dims: &[i64], shape: &[i64], allowzero: i64) -> Option<Vec<i64>> {
    shape
        .iter()
        .enumerate()
        .map(|(i, &d)| if d == 0 && allowzero == 0 { dims.get(i).copied() } else { Some(d) })
        .collect()
}

/// U1: -1 beside a copied dimension of size 0. A refusal is tolerated, and so is the result of leaving the copied dims out of both
/// products.
fn copied_zero(data: &Tensor, shape: &[i64], target: &[i64], with_size: impl Fn(i64) -> Vec<i64>) -> Expectation {
    let left = |dims: &[i64]| {
        let not_copied = dims.iter().enumerate().filter(|(i, _)| shape.get(*i) != Some(&0));
        product(not_copied.map(|(_, &d)| d).filter(|&d| d != -1))
    };
    let reading = match (left(data.dims()), left(target)) {
        (Some(count), Some(known)) if known != 0 && count % known == 0 => {
            i64::try_from(count / known).ok().and_then(|size| data.with_dims(with_size(size)).ok())
        }
        _ => None,
    };
    let reading = reading.map(|tensor| Answer::Outputs(vec![tensor]));
    Expectation::unspecified(Rule::COPIED_ZERO_AND_INFERRED, [Answer::Refusal].into_iter().chain(reading))
}

fn answer(data: &Tensor, dims: Vec<i64>) -> Expectation {
    data.with_dims(dims).map_or(Expectation::reject(Rule::ELEMENT_COUNT), |tensor| Expectation::Defined(vec![tensor]))
}
