//! Lengths as floats, which version 1 has in its second input.

use half::f16;

use crate::tensor::{ElementType, Tensor};

/// A vector of lengths as floats, each half an element longer if it must not be whole. One past 16 bits is infinity.
pub(super) fn from_lengths(element_type: ElementType, lengths: &[i64], is_whole: bool) -> Option<Tensor> {
    let part = if is_whole { 0.0 } else { 0.5 };
    let float = |&length: &i64| part + i16::try_from(length).map_or(f32::INFINITY, f32::from);
    let bits: Option<Vec<u128>> = lengths.iter().map(float).map(|float| float_bits(element_type, float)).collect();
    Tensor::from_element_bits(element_type, vec![i64::try_from(lengths.len()).ok()?], bits?).ok()
}

/// The bits of a float of one of the types of version 1.
fn float_bits(element_type: ElementType, float: f32) -> Option<u128> {
    match element_type {
        ElementType::Float16 => Some(f16::from_f32(float).to_bits().into()),
        ElementType::Float => Some(float.to_bits().into()),
        ElementType::Double => Some(f64::from(float).to_bits().into()),
        _ => None,
    }
}

/// The numbers in a tensor of floats, if all are whole and fit in 64 bits. No dim is longer than that.
pub(super) fn whole_numbers(floats: &Tensor) -> Option<Vec<i64>> {
    // A float that is whole is written without a point; a NaN or an infinity is a word.
    (0..floats.len()).map(|place| float(floats, place)?.to_string().parse().ok()).collect()
}

/// An element of one of the types of version 1.
fn float(floats: &Tensor, place: usize) -> Option<f64> {
    let bits = floats.element_bits(place);
    match floats.element_type() {
        ElementType::Float16 => u16::try_from(bits).ok().map(|bits| f16::from_bits(bits).to_f64()),
        ElementType::Float => u32::try_from(bits).ok().map(|bits| f32::from_bits(bits).into()),
        ElementType::Double => u64::try_from(bits).ok().map(f64::from_bits),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_what_they_were_written_from() {
        for element_type in [ElementType::Float16, ElementType::Float, ElementType::Double] {
            let again = |lengths: &[i64], is_whole| {
                whole_numbers(&from_lengths(element_type, lengths, is_whole).expect("a float type"))
            };
            assert_eq!(again(&[2048, 0, -1], true), Some(vec![2048, 0, -1]));
            assert_eq!(again(&[2], false), None);
            assert_eq!(again(&[1 << 40], true), None);
        }
        assert_eq!(from_lengths(ElementType::String, &[1], true), None);
    }
}
