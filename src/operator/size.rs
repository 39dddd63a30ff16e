//! Size: the number of elements of a tensor, as an int64 scalar.

use super::{Call, Expectation, InputSpec, Operator, OutputType, Version};
use crate::tensor::{ElementType, Tensor};

pub(crate) static SIZE: Operator = Operator {
    name: "Size",
    versions: &[
        version(1, ElementType::Complex128),
        version(13, ElementType::Bfloat16),
        version(19, ElementType::Float8e5m2fnuz),
        version(21, ElementType::Uint4),
        version(23, ElementType::Float4e2m1),
        version(24, ElementType::Float8e8m0),
        version(25, ElementType::Uint2),
    ],
    rules: &[],
    catalogue: include_str!("../../corpus/catalogue/size.txt"),
    purpose: &[(
        1,
        "Takes a tensor as input and outputs a int64 scalar that equals to the total number of elements of the input \
         tensor.",
    )],
    execute,
    draw: |d| {
        d.data();
        Ok(())
    },
    output_rank: |_| Some(0),
    output_dims: |_, _| Some(vec![]),
    output_type: OutputType::Int64,
};

const fn version(since: u8, last: ElementType) -> Version {
    const INPUTS: &[InputSpec] = &[InputSpec::data("data")];
    Version::new(since, ElementType::up_to(last), &[], INPUTS)
}

/// "Outputs a int64 scalar that equals to the total number of elements of the input tensor" (Size, all versions): the
/// empty product of a scalar is 1, and a dim of 0 makes it 0.
fn execute(call: &Call) -> Expectation {
    let count = i64::try_from(call.data().len()).expect("a tensor in memory has fewer than 2^63 elements");
    Expectation::Defined(vec![Tensor::scalar(count)])
}
