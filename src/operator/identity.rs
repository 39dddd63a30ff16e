//! Identity: the data unchanged.

use super::{Expectation, InputSpec, Operator, OutputType, Version};
use crate::tensor::{ElementType, Tensor};

pub(crate) static IDENTITY: Operator = Operator {
    name: "Identity",
    versions: &[
        version(1, ElementType::Complex128),
        version(13, ElementType::Bfloat16),
        version(14, ElementType::Bfloat16),
        version(16, ElementType::Bfloat16),
        version(19, ElementType::Float8e5m2fnuz),
        version(21, ElementType::Uint4),
        version(23, ElementType::Float4e2m1),
        version(24, ElementType::Float8e8m0),
        version(25, ElementType::Uint2),
    ],
    rules: &[],
    catalogue: include_str!("../../corpus/catalogue/identity.txt"),
    purpose: &[(1, "Identity operator")],
    execute: |call| Expectation::Defined(vec![call.data().clone()]),
    draw: |d| {
        d.data();
        Ok(())
    },
    output_rank: |call| call.input(0).map(Tensor::rank),
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

/// From version 14 on the input may also be a sequence, and from 16 on an optional. Here it is always a tensor.
const fn version(since: u8, last: ElementType) -> Version {
    const INPUTS: &[InputSpec] = &[InputSpec::data("input")];
    Version::new(since, ElementType::up_to(last), &[], INPUTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_as_many_cells_as_its_document() {
        assert_eq!(IDENTITY.cells(), 178);
    }

    #[test]
    fn every_tensor_stays_as_it_is() {
        let shapes: [&[i64]; 9] =
            [&[2, 3, 4], &[], &[1], &[0], &[0, 3], &[3, 0], &[2, 0, 3], &[0, 0], &[1, 2, 1, 2, 1, 2, 1, 2]];
        for (version, dims) in IDENTITY.versions.iter().flat_map(|version| shapes.map(|dims| (version, dims))) {
            let count = usize::try_from(dims.iter().product::<i64>()).unwrap();
            // Signalling NaNs.
            let nans = (0x7f80_0001..).take(count);
            let data = Tensor::from_element_bits(ElementType::Float, dims.to_vec(), nans).unwrap();
            let expectation = IDENTITY.evaluate(version.since, &[], &[Some(data.clone())], 1);
            assert_eq!(expectation, Expectation::Defined(vec![data]), "{}: {dims:?}", version.since);
        }
    }
}
