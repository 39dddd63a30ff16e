//! Comparison of floating-point results of operators that compute. No text promises every bit of these results.

use half::{bf16, f16};

use super::{ElementType, Elements, Tensor};

/// How far an element may be from the expected one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closeness {
    /// The allowed difference as a part of the expected element.
    pub relative: f64,
    /// The allowed difference besides.
    pub absolute: f64,
}

impl Default for Closeness {
    /// The tolerance of the backend test runner of the `onnx` package.
    fn default() -> Closeness {
        Closeness { relative: 1e-3, absolute: 1e-7 }
    }
}

/// Whether two tensors have the same type and dims, and the same elements. Floating-point elements of 16 bits or more need only
/// be close. A NaN is close to every NaN, and an infinity only to itself.
pub fn are_close(expected: &Tensor, actual: &Tensor, closeness: Closeness) -> bool {
    if expected == actual {
        return true;
    }
    let element_type = expected.element_type;
    let is_same_form = element_type == actual.element_type && expected.dims == actual.dims;
    let (Elements::Packed(_), true) = (&expected.elements, is_same_form) else { return false };
    let Some(read) = parts(element_type) else { return false };
    (0..expected.len()).all(|index| {
        let (expected, actual) = (expected.element_bits(index), actual.element_bits(index));
        expected == actual || read(expected).into_iter().zip(read(actual)).all(|(a, b)| is_close(a, b, closeness))
    })
}

/// The distance of two tensors: the largest difference of two elements, as a part of the largest expected element or of 0.1,
/// whichever is larger. A result near 0 is often a function of larger numbers, as with Sigmoid and Softmax, hence the bound of
/// 0.1. The distance is 0 if the tensors are equal. It is infinite if their types or dims differ, if elements differ that are no
/// floating-point numbers of 16 bits or more, or if one element is not finite and the other is not the same.
pub fn distance(expected: &Tensor, actual: &Tensor) -> f64 {
    if expected == actual {
        return 0.0;
    }
    let element_type = expected.element_type;
    let is_same_form = element_type == actual.element_type && expected.dims == actual.dims;
    let (Elements::Packed(_), true, Some(read)) = (&expected.elements, is_same_form, parts(element_type)) else {
        return f64::INFINITY;
    };
    let (mut largest, mut furthest) = (0.1_f64, 0.0_f64);
    for index in 0..expected.len() {
        let pairs = read(expected.element_bits(index)).into_iter().zip(read(actual.element_bits(index)));
        for (expected, actual) in pairs {
            furthest = furthest.max(difference(expected, actual));
            if expected.is_finite() {
                largest = largest.max(expected.abs());
            }
        }
    }
    furthest / largest
}

/// A function that reads the real and the imaginary part of an element; the imaginary part of a real number is 0.
fn parts(element_type: ElementType) -> Option<fn(u128) -> [f64; 2]> {
    Some(match element_type {
        ElementType::Float16 => |bits| [f16::from_bits(low(bits)).to_f64(), 0.0],
        ElementType::Bfloat16 => |bits| [bf16::from_bits(low(bits)).to_f64(), 0.0],
        ElementType::Float => |bits| [single(bits), 0.0],
        ElementType::Double => |bits| [double(bits), 0.0],
        ElementType::Complex64 => |bits| [single(bits), single(bits >> 32)],
        ElementType::Complex128 => |bits| [double(bits), double(bits >> 64)],
        _ => return None,
    })
}

#[expect(clippy::cast_possible_truncation, reason = "only the element's own bits are wanted")]
fn low(bits: u128) -> u16 {
    bits as u16
}

#[expect(clippy::cast_possible_truncation, reason = "only the element's own bits are wanted")]
fn single(bits: u128) -> f64 {
    f32::from_bits(bits as u32).into()
}

#[expect(clippy::cast_possible_truncation, reason = "only the element's own bits are wanted")]
fn double(bits: u128) -> f64 {
    f64::from_bits(bits as u64)
}

fn is_close(expected: f64, actual: f64, closeness: Closeness) -> bool {
    let difference = difference(expected, actual);
    difference == 0.0
        || difference.is_finite() && difference <= closeness.absolute + closeness.relative * expected.abs()
}

/// The difference of two numbers; infinite if one is not finite and the other is not the same.
#[expect(clippy::float_cmp, reason = "an infinity is close to nothing but itself")]
fn difference(expected: f64, actual: f64) -> f64 {
    if expected.is_finite() && actual.is_finite() {
        (expected - actual).abs()
    } else if expected == actual || (expected.is_nan() && actual.is_nan()) {
        0.0
    } else {
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_close(expected: &Tensor, actual: &Tensor) -> bool {
        super::are_close(expected, actual, Closeness::default())
    }

    #[test]
    fn the_tolerance_is_what_is_asked_for() {
        let (expected, actual) = (floats(&[100.0, 0.0]), floats(&[102.0, 0.5]));
        for (relative, absolute, close) in
            [(0.016, 0.5, true), (0.014, 0.5, false), (0.02, 0.4, false), (0.0, 2.0, true)]
        {
            assert_eq!(super::are_close(&expected, &actual, Closeness { relative, absolute }), close);
        }
    }

    fn floats(values: &[f32]) -> Tensor {
        let dims = vec![i64::try_from(values.len()).unwrap()];
        Tensor::from_element_bits(ElementType::Float, dims, values.iter().map(|v| u128::from(v.to_bits()))).unwrap()
    }

    #[test]
    fn what_is_within_the_tolerance_is_close_and_what_is_beyond_it_is_not() {
        let expected = floats(&[1000.0, 0.0, f32::INFINITY, f32::NAN]);
        assert!(are_close(&expected, &floats(&[1000.9, -0.0, f32::INFINITY, -f32::NAN])));
        for other in [[1001.1, 0.0, f32::INFINITY, f32::NAN], [1000.0, 2e-7, f32::INFINITY, f32::NAN]] {
            assert!(!are_close(&expected, &floats(&other)), "{other:?}");
        }
        for other in [[1000.0, 0.0, f32::NEG_INFINITY, f32::NAN], [1000.0, 0.0, f32::MAX, f32::NAN]] {
            assert!(!are_close(&expected, &floats(&other)), "{other:?}");
        }
        assert!(!are_close(&expected, &floats(&[1000.0, 0.0, f32::INFINITY, 1.0])));
    }

    #[test]
    fn integers_types_and_dims_are_exact() {
        assert!(!are_close(&Tensor::vector(&[100_000]), &Tensor::vector(&[100_001])));
        let two = floats(&[1.0, 2.0]);
        assert!(!are_close(&two, &two.with_dims(vec![2, 1]).unwrap()));
        let half = |bits| Tensor::from_element_bits(ElementType::Float16, vec![1], [bits]).unwrap();
        assert!(are_close(&half(0x3c00), &half(0x3c01)), "1 and 1.00098");
        assert!(!are_close(&half(0x3c00), &half(0x3c02)));
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "the numbers are exact")]
    fn the_distance_is_a_part_of_the_largest_number() {
        let expected = floats(&[0.0, -4.0, f32::INFINITY, f32::NAN]);
        assert_eq!(distance(&expected, &floats(&[-0.0, -4.0, f32::INFINITY, -f32::NAN])), 0.0);
        assert_eq!(distance(&expected, &floats(&[1.0, -4.5, f32::INFINITY, f32::NAN])), 0.25);
        assert_eq!(distance(&floats(&[0.0, 1e-7]), &floats(&[0.125, 1e-7])), 1.25, "as a part of 0.1");
        assert_eq!(distance(&Tensor::vector(&[3]), &Tensor::vector(&[3])), 0.0);
        for (expected, actual) in [
            (floats(&[f32::INFINITY]), floats(&[f32::MAX])),
            (floats(&[1.0]), floats(&[f32::NAN])),
            (floats(&[1.0]), floats(&[1.0, 1.0])),
            (Tensor::vector(&[3]), Tensor::vector(&[4])),
        ] {
            assert_eq!(distance(&expected, &actual), f64::INFINITY, "{expected:?} {actual:?}");
        }
    }

    #[test]
    fn both_parts_of_a_complex_number_count() {
        let complex = |re: f32, im: f32| {
            let bits = u128::from(re.to_bits()) | u128::from(im.to_bits()) << 32;
            Tensor::from_element_bits(ElementType::Complex64, vec![1], [bits]).unwrap()
        };
        assert!(are_close(&complex(1.0, 2.0), &complex(1.0005, 2.0)));
        assert!(!are_close(&complex(1.0, 2.0), &complex(1.0, 2.1)));
    }
}
