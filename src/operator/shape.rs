//! Shape: the dims of a tensor, or a slice of them, as an int64 tensor of rank 1.

use super::{AttributeKind, AttributeSpec, Call, Drawing, Expectation, InputSpec, Operator, OutputType, Role, Version};
use crate::tensor::{ElementType, Tensor};

pub(crate) static SHAPE: Operator = Operator {
    name: "Shape",
    versions: &[
        version(1, ElementType::Complex128, &[]),
        version(13, ElementType::Bfloat16, &[]),
        version(15, ElementType::Bfloat16, SLICE),
        version(19, ElementType::Float8e5m2fnuz, SLICE),
        version(21, ElementType::Uint4, SLICE),
        version(23, ElementType::Float4e2m1, SLICE),
        version(24, ElementType::Float8e8m0, SLICE),
        version(25, ElementType::Uint2, SLICE),
    ],
    rules: &[],
    catalogue: include_str!("../../corpus/catalogue/shape.txt"),
    purpose: &[(1, "Takes a tensor as input and outputs an 1D int64 tensor containing the shape of the input tensor.")],
    execute,
    draw,
    output_rank: |_| Some(1),
    output_dims: |_, _| None,
    output_type: OutputType::Int64,
};

const SLICE: &[AttributeSpec] = &[
    AttributeSpec::new("start", AttributeKind::Int, Role::Axis),
    AttributeSpec::new("end", AttributeKind::Int, Role::Axis),
];

const fn version(since: u8, last: ElementType, attributes: &'static [AttributeSpec]) -> Version {
    const INPUTS: &[InputSpec] = &[InputSpec::data("data")];
    Version::new(since, ElementType::up_to(last), attributes, INPUTS)
}

/// Any bound is valid.
fn draw(d: &mut Drawing) -> arbitrary::Result<()> {
    for spec in d.version.attributes {
        d.int(spec.name, |d| if d.ratio(4, 5)? { d.any_axis().map(Some) } else { Ok(None) })?;
    }
    d.data();
    Ok(())
}

fn execute(call: &Call) -> Expectation {
    let dims = call.data().dims();
    let slice = slice(dims, call.int("start"), call.int("end"));
    Expectation::Defined(vec![Tensor::vector(slice)])
}

/// The dims from `start` (0 when absent) to `end` (the rank when absent), both clamped to [0, r] after adding r to a
/// negative one (Shape-25: "axes will be clamped to the range [0, r]").
pub(super) fn slice(dims: &[i64], start: Option<i64>, end: Option<i64>) -> &[i64] {
    let rank = dims.len();
    let clamp = |bound: i64| -> usize {
        let counted = i128::from(bound) + if bound < 0 { rank as i128 } else { 0 };
        // A bound too large for a usize is past the rank.
        usize::try_from(counted.max(0)).map_or(rank, |index| index.min(rank))
    };
    let start = start.map_or(0, clamp);
    let end = end.map_or(rank, clamp);
    &dims[start..end.max(start)]
}
