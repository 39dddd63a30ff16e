//! The element that Pad adds in the mode `constant`.

use half::f16;

use super::{FILL_INPUT, INPUTS_SINCE, VALUE};
use crate::operator::{AttributeValue, Call};
use crate::tensor::{ElementType, Tensor};

/// The elements that may be added, as scalars, the most likely first. There are none if it may be any element.
pub(super) fn fills(call: &Call) -> Vec<Tensor> {
    let element_type = call.data().element_type();
    if call.since() < INPUTS_SINCE {
        return conversions(value(call), element_type).into_iter().map(|bits| scalar(element_type, bits)).collect();
    }
    match call.input(FILL_INPUT) {
        Some(fill) => vec![fill.clone()],
        // The type has no 0.
        None if element_type == ElementType::Float8e8m0 => vec![],
        None => vec![Tensor::zero(element_type)],
    }
}

fn scalar(element_type: ElementType, bits: u128) -> Tensor {
    Tensor::from_element_bits(element_type, vec![], [bits]).expect("a scalar is one element")
}

/// The attribute with the fill, or 0 if it is absent.
fn value(call: &Call) -> f32 {
    let value = call.attributes.iter().find_map(|attribute| match attribute.value {
        AttributeValue::Float(bits) if attribute.name == VALUE => Some(f32::from_bits(bits)),
        _ => None,
    });
    value.unwrap_or_default()
}

/// The bits that a value may have in one of the float types of Pad-1 and Pad-2. There are several if the type does not have the
/// value.
pub(super) fn conversions(value: f32, element_type: ElementType) -> Vec<u128> {
    match element_type {
        ElementType::Float => vec![value.to_bits().into()],
        ElementType::Double if value.is_nan() => nans(value, 52, 11),
        ElementType::Double => vec![f64::from(value).to_bits().into()],
        _ if value.is_nan() => nans(value, 10, 5),
        _ => halves(value),
    }
}

/// A value as float16: itself, or its two neighbours. Beyond the largest float16, these are the largest one and infinity.
fn halves(value: f32) -> Vec<u128> {
    let nearest = f16::from_f32(value);
    let (found, sought) = (nearest.to_f32(), value);
    let bits = nearest.to_bits();
    match found.abs().total_cmp(&sought.abs()) {
        std::cmp::Ordering::Equal => vec![bits.into()],
        // Without their sign, floats are in the order of their bits.
        std::cmp::Ordering::Less => vec![bits.into(), (bits + 1).into()],
        std::cmp::Ordering::Greater => vec![bits.into(), (bits - 1).into()],
    }
}

/// A NaN in a type with this many mantissa and exponent bits. It has as much of the payload as fits, and is quiet or as it was; or
/// it is the quiet NaN without payload, of either sign.
fn nans(value: f32, mantissa: u32, exponent: u32) -> Vec<u128> {
    let (bits, sign) = (u128::from(value.to_bits()), 1 << (mantissa + exponent));
    let (infinity, quiet) = (((1 << exponent) - 1) << mantissa, 1 << (mantissa - 1));
    let payload = ((bits & ((1 << 23) - 1)) << mantissa) >> 23;
    let plain = infinity | payload | if value.is_sign_negative() { sign } else { 0 };
    let others = [infinity | quiet, infinity | quiet | sign];
    [plain | quiet].into_iter().chain((payload != 0).then_some(plain)).chain(others).collect()
}
