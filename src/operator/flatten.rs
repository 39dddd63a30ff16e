//! Flatten: a tensor as a matrix, the dims before an axis multiplied into its rows and the rest into its columns.

use super::{
    AttributeKind, AttributeSpec, Call, Expectation, InputSpec, Operator, Role, Rule, Text, Topic, Version, int,
};
use crate::tensor::{ElementType, Tensor, product};

pub(super) static FLATTEN: Operator = Operator {
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
    rules: &[Rule::AXIS_RANGE, Rule::NEGATIVE_AXIS, Rule::SCALAR_AXIS],
    catalogue: include_str!("../../corpus/catalogue/flatten.txt"),
    execute,
    output_rank: |_| Some(2),
    output_dims: |attributes, dims| matrix(dims, int(attributes, AXIS).unwrap_or(DEFAULT)),
    output_type: None,
};

const AXIS: &str = "axis";

/// The axis where none is given.
const DEFAULT: i64 = 1;

/// The version that brought axes that count from the back.
pub(crate) const NEGATIVE_AXIS_SINCE: u8 = 11;

const fn version(since: u8, last: ElementType) -> Version {
    Version {
        since,
        element_types: ElementType::up_to(last),
        attributes: &[AttributeSpec { name: AXIS, kind: AttributeKind::Int, role: Role::Axis }],
        inputs: &[InputSpec { name: "input", role: Role::Data }],
    }
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
        // In range, but the rows or columns are more than an i64 counts: no tensor can say so, which only a zero-size
        // tensor of vast dims can ask for.
        (None, _) if split(data.rank(), axis).is_some() => Expectation::reject(Rule::VAST_DIMS),
        (None, _) => Expectation::reject(Rule::AXIS_RANGE),
    }
}

/// The matrix, if the axis is in [-r, r] and its dims can be written as i64.
fn flatten(data: &Tensor, axis: i64) -> Option<Tensor> {
    data.with_dims(matrix(data.dims(), axis)?).ok()
}

/// The dims of that matrix.
fn matrix(dims: &[i64], axis: i64) -> Option<Vec<i64>> {
    let (rows, columns) = dims.split_at(split(dims.len(), axis)?);
    [rows, columns].into_iter().map(|part| i64::try_from(product(part.iter().copied())?).ok()).collect()
}

/// Where an axis in [-r, r] splits the dims.
fn split(rank: usize, axis: i64) -> Option<usize> {
    let counted = i128::from(axis) + if axis < 0 { rank as i128 } else { 0 };
    usize::try_from(counted).ok().filter(|&index| index <= rank)
}
