//! Flatten: a tensor as a matrix. The dims before an axis are multiplied into its rows, the other dims into its columns.

use super::{
    Aim, AttributeKind, AttributeSpec, Call, Drawing, Expectation, InputSpec, Operator, OutputType, Role, Rule, Text,
    Topic, Version, always, boundary_axes, int, since, until,
};
use crate::tensor::{ElementType, Tensor, product};

pub(crate) static FLATTEN: Operator = Operator {
    name: "Flatten",
    versions: &[
        version(1, ElementType::Double),
        version(9, ElementType::Complex128),
        version(NEGATIVE_AXIS_SINCE, ElementType::Complex128),
        version(13, ElementType::Bfloat16),
        version(21, ElementType::Uint4),
        version(23, ElementType::Float4e2m1),
        version(24, ElementType::Float8e8m0),
        version(25, ElementType::Uint2),
    ],
    rules: &[
        always(Rule::AXIS_RANGE).in_words_of(Rule::NEGATIVE_AXIS, NEGATIVE_AXIS_SINCE - 1),
        until(NEGATIVE_AXIS_SINCE - 1, Rule::NEGATIVE_AXIS),
        until(NEGATIVE_AXIS_SINCE - 1, Rule::SCALAR_AXIS).in_words_of(Rule::NEGATIVE_AXIS, u8::MAX),
        since(NEGATIVE_AXIS_SINCE, Rule::SCALAR_AXIS).in_words_of(Rule::AXIS_RANGE, u8::MAX),
    ],
    catalogue: include_str!("../../corpus/catalogue/flatten.txt"),
    purpose: &[(
        1,
        "If input tensor has shape (d_0, d_1, ... d_n) then the output will have shape (d_0 X d_1 ... d_(axis-1), \
         d_axis X d_(axis+1) ... X dn).",
    )],
    execute,
    draw,
    output_rank: |_| Some(2),
    output_dims: |attributes, dims| matrix(dims, int(attributes, AXIS).unwrap_or(DEFAULT)),
    output_type: OutputType::Data,
};

const AXIS: &str = "axis";

/// The default axis.
const DEFAULT: i64 = 1;

/// The version that introduced axes counted from the back.
const NEGATIVE_AXIS_SINCE: u8 = 11;

const fn version(since: u8, last: ElementType) -> Version {
    const ATTRIBUTES: &[AttributeSpec] = &[AttributeSpec::new(AXIS, AttributeKind::Int, Role::Axis)];
    const INPUTS: &[InputSpec] = &[InputSpec::data("input")];
    Version::new(since, ElementType::up_to(last), ATTRIBUTES, INPUTS)
}

fn draw(d: &mut Drawing) -> arbitrary::Result<()> {
    match d.aim {
        Aim::Break(Rule::SCALAR_AXIS) => d.dims.clear(),
        Aim::Break(Rule::AXIS_RANGE | Rule::NEGATIVE_AXIS) => d.need_axis()?,
        _ => {}
    }
    d.int(AXIS, axis)?;
    d.data();
    Ok(())
}

fn axis(d: &mut Drawing) -> arbitrary::Result<Option<i64>> {
    let (rank, may_be_negative) = (d.rank(), d.since() >= NEGATIVE_AXIS_SINCE);
    let lowest = if may_be_negative { -rank } else { 0 };
    let breaks = |axis: &i64| match d.aim {
        Aim::Break(Rule::NEGATIVE_AXIS) => *axis < 0,
        Aim::Break(Rule::SCALAR_AXIS) => *axis > 0 || may_be_negative && *axis < 0,
        _ => *axis > rank || may_be_negative && *axis < -rank,
    };
    let broken: Vec<i64> = boundary_axes(rank).into_iter().filter(breaks).collect();
    // The default axis is 1.
    let is_there = match d.aim {
        Aim::Break(Rule::SCALAR_AXIS) => d.ratio(3, 4)?,
        Aim::Break(Rule::AXIS_RANGE | Rule::NEGATIVE_AXIS) => true,
        Aim::Wild => d.ratio(4, 5)?,
        _ => rank == 0 || d.ratio(4, 5)?,
    };
    let value = match d.aim {
        _ if !is_there => return Ok(None),
        Aim::Break(Rule::SCALAR_AXIS | Rule::AXIS_RANGE | Rule::NEGATIVE_AXIS) => d.choose(&broken)?,
        Aim::Wild => d.any_axis()?,
        _ => d.between(lowest, rank)?,
    };
    Ok(Some(value))
}

impl Rule {
    pub const AXIS_RANGE: Rule = Rule(&Text {
        id: "axis-range",
        sentence: "\"The value for axis must be in the range [-r, r], where r is the rank of the input tensor.\"",
        source: "Flatten-11 and later, attribute `axis`; [0, R] in Flatten-1 and 9",
        topics: &[Topic::Value],
    });
    pub const NEGATIVE_AXIS: Rule = Rule(&Text {
        id: "negative-axis",
        sentence: "\"The value for axis must be in the range [0, R], where R is the rank of the input tensor.\"",
        source: "Flatten-1 and 9, attribute `axis` (U5)",
        topics: &[Topic::Value],
    });
    pub const SCALAR_AXIS: Rule = Rule(&Text {
        id: "scalar-axis",
        sentence: "The rank of a scalar is 0, so 0 is the only axis that is in range; the default is 1.",
        source: "Flatten, attribute `axis` (U7)",
        topics: &[Topic::Value],
    });
}

fn execute(call: &Call) -> Expectation {
    let data = call.data();
    let axis = call.int(AXIS).unwrap_or(DEFAULT);
    let in_range = flatten(data, axis);
    if axis < 0 && call.version.since < NEGATIVE_AXIS_SINCE {
        return Expectation::Reject { rule: Rule::NEGATIVE_AXIS, lenient: in_range.map(|matrix| vec![matrix]) };
    }
    match (in_range, data.rank()) {
        (Some(matrix), _) => Expectation::Defined(vec![matrix]),
        (None, 0) => {
            Expectation::Reject { rule: Rule::SCALAR_AXIS, lenient: flatten(data, 0).map(|matrix| vec![matrix]) }
        }
        // The axis is in range, but the number of rows or columns exceeds an i64, so no tensor can have these dims. Only data with
        // a dim of 0 and vast other dims gets here.
        (None, _) if split(data.rank(), axis).is_some() => Expectation::reject(Rule::VAST_DIMS),
        (None, _) => Expectation::reject(Rule::AXIS_RANGE),
    }
}

/// The matrix, if the axis is in [-r, r] and the dims of the matrix fit in an i64.
fn flatten(data: &Tensor, axis: i64) -> Option<Tensor> {
    data.with_dims(matrix(data.dims(), axis)?).ok()
}

/// The dims of the matrix, under the same conditions.
fn matrix(dims: &[i64], axis: i64) -> Option<Vec<i64>> {
    let (rows, columns) = dims.split_at(split(dims.len(), axis)?);
    [rows, columns].into_iter().map(|part| i64::try_from(product(part.iter().copied())?).ok()).collect()
}

/// The place at which an axis in [-r, r] splits the dims.
fn split(rank: usize, axis: i64) -> Option<usize> {
    let counted = i128::from(axis) + if axis < 0 { rank as i128 } else { 0 };
    usize::try_from(counted).ok().filter(|&index| index <= rank)
}
