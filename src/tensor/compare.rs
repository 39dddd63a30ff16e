//! Bit-exact comparison of two tensors that lists every difference, not only the first kind.

use super::{Elements, Tensor};

/// One way in which a tensor differs from the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    ElementType,
    Rank,
    /// Same rank, other dims.
    Dims,
    /// Elements that are not the same.
    Values(Differing),
    /// Elements that are NaN on both sides, with different bits.
    NanPayload(Differing),
}

/// Which elements differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differing {
    /// Row-major index of the first.
    pub first: usize,
    pub count: usize,
}

/// Every difference between the expected tensor and the actual one; empty when they are equal.
///
/// A wrong type hides nothing: integers of different types are compared as numbers. Wrong dims hide nothing either: as
/// long as the number of elements is the same, these are compared in row-major order.
pub fn differences(expected: &Tensor, actual: &Tensor) -> Vec<Difference> {
    if expected == actual {
        return Vec::new();
    }
    let mut found = Vec::new();
    if expected.element_type != actual.element_type {
        found.push(Difference::ElementType);
    }
    if expected.rank() != actual.rank() {
        found.push(Difference::Rank);
    } else if expected.dims != actual.dims {
        found.push(Difference::Dims);
    }
    if expected.len() == actual.len() {
        let (values, payloads) = differing(expected, actual);
        found.extend(values.map(Difference::Values));
        found.extend(payloads.map(Difference::NanPayload));
    }
    found
}

/// The elements that differ in value, and those that differ in NaN payload alone.
fn differing(expected: &Tensor, actual: &Tensor) -> (Option<Differing>, Option<Differing>) {
    let (mut values, mut payloads) = (None, None);
    let mut note = |is_payload: bool, index: usize| {
        let slot = if is_payload { &mut payloads } else { &mut values };
        slot.get_or_insert(Differing { first: index, count: 0 }).count += 1;
    };
    let same_type = expected.element_type == actual.element_type;
    match (&expected.elements, &actual.elements) {
        (Elements::Packed(a), Elements::Packed(b)) if same_type && a == b => {}
        (Elements::Packed(_), Elements::Packed(_)) if same_type => {
            let element_type = expected.element_type;
            for i in 0..expected.len() {
                let (a, b) = (expected.element_bits(i), actual.element_bits(i));
                if a != b {
                    note(element_type.is_nan(a) && element_type.is_nan(b), i);
                }
            }
        }
        (Elements::Strings(a), Elements::Strings(b)) => {
            for (i, _) in a.iter().zip(b.iter()).enumerate().filter(|(_, (a, b))| a != b) {
                note(false, i);
            }
        }
        _ => {
            // The types differ: only integers can be compared as numbers.
            if let (Some(a), Some(b)) = (expected.integers(), actual.integers()) {
                for (i, _) in a.iter().zip(&b).enumerate().filter(|(_, (a, b))| a != b) {
                    note(false, i);
                }
            }
        }
    }
    (values, payloads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::ElementType;

    fn floats(values: &[u32]) -> Tensor {
        let dims = vec![i64::try_from(values.len()).unwrap()];
        Tensor::from_element_bits(ElementType::Float, dims, values.iter().map(|&v| u128::from(v))).unwrap()
    }

    #[test]
    fn one_changed_bit_is_a_difference() {
        let zero = floats(&[0, 0]);
        assert_eq!(differences(&zero, &zero), []);
        let negative_zero = floats(&[0, 0x8000_0000]);
        assert_eq!(differences(&zero, &negative_zero), [Difference::Values(Differing { first: 1, count: 1 })]);
    }

    #[test]
    fn a_changed_nan_payload_is_told_apart() {
        let (quiet, other, number) = (0x7fc0_0000, 0x7fc0_0001, 0x3f80_0000);
        assert_eq!(
            differences(&floats(&[quiet, quiet]), &floats(&[other, other])),
            [Difference::NanPayload(Differing { first: 0, count: 2 })]
        );
        assert_eq!(
            differences(&floats(&[quiet, quiet]), &floats(&[number, other])),
            [
                Difference::Values(Differing { first: 0, count: 1 }),
                Difference::NanPayload(Differing { first: 1, count: 1 })
            ]
        );
    }

    #[test]
    fn a_wrong_type_does_not_hide_a_wrong_number() {
        let expected = Tensor::vector(&[2, 3]);
        let int32 = |a, b| Tensor::from_element_bits(ElementType::Int32, vec![2], [a, b]).unwrap();
        assert_eq!(differences(&expected, &int32(2, 3)), [Difference::ElementType]);
        assert_eq!(
            differences(&expected, &int32(2, 4)),
            [Difference::ElementType, Difference::Values(Differing { first: 1, count: 1 })]
        );
    }

    #[test]
    fn wrong_dims_do_not_hide_wrong_values() {
        let expected = Tensor::vector(&[2, 3]);
        let swapped = Tensor::vector(&[3, 2]);
        let differing = Differing { first: 0, count: 2 };
        assert_eq!(
            differences(&expected, &swapped.with_dims(vec![2, 1]).unwrap()),
            [Difference::Rank, Difference::Values(differing.clone())]
        );
        let matrix = expected.with_dims(vec![1, 2]).unwrap();
        assert_eq!(
            differences(&matrix, &swapped.with_dims(vec![2, 1]).unwrap()),
            [Difference::Dims, Difference::Values(differing)]
        );
        assert_eq!(differences(&expected, &Tensor::vector(&[2])), [Difference::Dims]);
    }
}
