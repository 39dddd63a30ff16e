//! The contents of an operand: a short description of any number of elements.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::tensor::{Class, ElementType, Elements, FloatFormat, Strings, Tensor, TensorError, element_count, mask};

/// The elements of an operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Contents {
    /// 0, 1, 2, … as numbers of the type. Float types of up to 8 bits count in codes.
    Count,
    /// Random bits from a seed.
    Random(u64),
    /// The special values of the type, repeated: NaN payloads, -0, subnormals, infinities, extremes; strings that are empty, hold a
    /// NUL, or need four bytes a character.
    Special,
    /// Explicit elements of any type except string.
    Bits(Vec<u128>),
    /// Explicit strings.
    Strings(Vec<String>),
}

const SPECIAL_STRINGS: [&str; 6] = ["", "\0", "a\0b", "𝔘𝔫𝔦", "\u{10ffff}", "plain"];

impl Contents {
    /// The tensor of these contents. Explicit elements are repeated or cut to the number that the dims ask for, so that a case
    /// stays a case when its dims change.
    pub fn tensor(&self, element_type: ElementType, dims: &[i64]) -> Tensor {
        let count = element_count(dims).expect("an operand within its limits has a countable number of elements");
        let made = match element_type {
            ElementType::String => Tensor::from_strings(dims.to_vec(), self.strings(count)),
            _ => self.packed(element_type, dims.to_vec(), count),
        };
        made.expect("as many elements are made as the dims hold")
    }

    /// The explicit elements of a tensor. Bytes of a string that are not UTF-8 are replaced; no case has such bytes.
    pub fn of(tensor: &Tensor) -> Contents {
        match tensor.elements() {
            Elements::Packed(_) => Contents::Bits((0..tensor.len()).map(|index| tensor.element_bits(index)).collect()),
            Elements::Strings(strings) => {
                Contents::Strings(strings.iter().map(|s| String::from_utf8_lossy(s).into_owned()).collect())
            }
        }
    }

    /// A tensor of `count` elements. Each element is made only when it is packed.
    fn packed(&self, element_type: ElementType, dims: Vec<i64>, count: usize) -> Result<Tensor, TensorError> {
        match self {
            Contents::Count => {
                Tensor::from_element_bits(element_type, dims, (0..).map(|i| counted(element_type, i)).take(count))
            }
            Contents::Random(seed) => {
                let mut rng = ChaCha8Rng::seed_from_u64(*seed);
                let mask = own_bits(element_type);
                let mut bits = || (u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64())) & mask;
                Tensor::from_element_bits(element_type, dims, (0..count).map(|_| bits()))
            }
            Contents::Special => repeated(element_type, dims, &special(element_type), count),
            Contents::Bits(bits) if !bits.is_empty() => repeated(element_type, dims, bits, count),
            Contents::Bits(_) | Contents::Strings(_) => repeated(element_type, dims, &[0], count),
        }
    }

    fn strings(&self, count: usize) -> Strings {
        match self {
            Contents::Random(seed) => {
                let mut rng = ChaCha8Rng::seed_from_u64(*seed);
                let (mut text, mut ends) = (String::new(), Vec::with_capacity(count));
                for _ in 0..count {
                    let length = rng.next_u32() % 12;
                    text.extend((0..length).map(|_| char::from_u32(rng.next_u32() % 0x11_0000).unwrap_or('\0')));
                    ends.push(text.len());
                }
                Strings::from_parts(text.as_bytes(), &ends).expect("each string ends where the next one begins")
            }
            Contents::Special => SPECIAL_STRINGS.iter().cycle().take(count).collect(),
            Contents::Strings(strings) if !strings.is_empty() => strings.iter().cycle().take(count).collect(),
            Contents::Count | Contents::Strings(_) | Contents::Bits(_) => (0..count).map(|i| i.to_string()).collect(),
        }
    }
}

fn repeated(element_type: ElementType, dims: Vec<i64>, bits: &[u128], count: usize) -> Result<Tensor, TensorError> {
    let mask = own_bits(element_type);
    Tensor::from_element_bits(element_type, dims, bits.iter().map(|bits| bits & mask).cycle().take(count))
}

/// The bits of an element that its value uses: all bits, except that a bool uses only the lowest of its eight.
pub(super) fn own_bits(element_type: ElementType) -> u128 {
    mask(if element_type == ElementType::Bool { 1 } else { element_type.bits() })
}

/// Number `i` as an element of a type. A type that cannot count as far starts again at 0.
#[expect(clippy::cast_precision_loss, reason = "counting up is for telling elements apart, not for exact numbers")]
fn counted(element_type: ElementType, i: u64) -> u128 {
    match element_type {
        ElementType::Bool => u128::from(i & 1),
        ElementType::Float16 => u128::from(half::f16::from_f64((i % 2048) as f64).to_bits()),
        ElementType::Bfloat16 => u128::from(half::bf16::from_f64((i % 256) as f64).to_bits()),
        ElementType::Float => u128::from((i as f32).to_bits()),
        ElementType::Double => u128::from((i as f64).to_bits()),
        ElementType::Complex64 => u128::from((-(i as f32)).to_bits()) << 32 | u128::from((i as f32).to_bits()),
        ElementType::Complex128 => u128::from((-(i as f64)).to_bits()) << 64 | u128::from((i as f64).to_bits()),
        narrow_or_integer => u128::from(i) & mask(narrow_or_integer.bits()),
    }
}

/// The special values of a type: those that a runtime most easily loses.
fn special(element_type: ElementType) -> Vec<u128> {
    let width = element_type.bits();
    match element_type.class() {
        Class::Bool => vec![1, 0],
        Class::Int | Class::Uint => {
            let (sign, all) = (1 << (width - 1), mask(width));
            let mut values = vec![sign, sign - 1, all, 0, 1];
            for bits in [8, 16, 24, 31, 32, 53].into_iter().filter(|&bits| bits < width) {
                values.extend([1 << bits, (1 << bits) + 1]);
            }
            values
        }
        Class::Float(format) => special_floats(format, width),
        Class::Complex(format) => {
            let half = special_floats(format, width / 2);
            // The imaginary part is three places ahead of the real part in the list.
            half.iter().zip(half.iter().cycle().skip(3)).map(|(re, im)| im << (width / 2) | re).collect()
        }
        Class::String => Vec::new(),
    }
}

/// Quiet and signalling NaNs with payloads, both zeros, infinities, subnormals, the largest numbers, ±1 in bits, each where the
/// format has them. A format of up to 8 bits gives all its codes.
fn special_floats(format: FloatFormat, width: u32) -> Vec<u128> {
    if width <= 8 {
        return (0..1 << width).rev().collect();
    }
    let sign = 1_u128 << (width - 1);
    let infinity = mask(width - 1) & !mask(format.mantissa_bits);
    let quiet = 1 << (format.mantissa_bits - 1);
    let magnitudes = [
        infinity | quiet,           // the usual quiet NaN
        infinity | quiet | 1,       // a quiet NaN with a payload
        infinity | 1,               // a signalling NaN
        mask(width - 1),            // every payload bit
        0,                          // zero
        1,                          // the smallest subnormal
        mask(format.mantissa_bits), // the largest subnormal
        1 << format.mantissa_bits,  // the smallest normal number
        infinity - 1,               // the largest finite number
        infinity,                   // infinity
        infinity >> 1 & infinity,   // about one
    ];
    magnitudes.into_iter().flat_map(|m| [m | sign, m]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_contents_of_every_kind() {
        for element_type in ElementType::ALL {
            for contents in [Contents::Count, Contents::Random(7), Contents::Special] {
                let tensor = contents.tensor(element_type, &[7, 19]);
                assert_eq!(tensor.len(), 133);
                let distinct: std::collections::HashSet<_> = match tensor.elements() {
                    Elements::Packed(_) => (0..133).map(|i| tensor.element_bits(i).to_le_bytes().to_vec()).collect(),
                    Elements::Strings(strings) => strings.iter().map(<[u8]>::to_vec).collect(),
                };
                assert!(distinct.len() >= 2, "{contents:?} of {element_type} does not tell elements apart");
            }
        }
    }

    #[test]
    fn special_floats_hold_nans_zeros_and_infinities() {
        for element_type in [ElementType::Float16, ElementType::Bfloat16, ElementType::Float, ElementType::Double] {
            let values = special(element_type);
            let sign = 1 << (element_type.bits() - 1);
            assert!(values.contains(&0) && values.contains(&sign) && values.contains(&1));
            assert_eq!(values.iter().filter(|&&v| element_type.is_nan(v)).count(), 8);
        }
        assert_eq!(special(ElementType::Float8e5m2).len(), 256);
        assert_eq!(special(ElementType::Float4e2m1).len(), 16);
        assert!(special(ElementType::Complex64).iter().any(|&v| ElementType::Complex64.is_nan(v)));
    }

    #[test]
    fn the_same_seed_gives_the_same_elements_for_ever() {
        let tensor = Contents::Random(7).tensor(ElementType::Uint64, &[2]);
        assert_eq!(
            [tensor.element_bits(0), tensor.element_bits(1)],
            [3_098_856_782_162_503_994, 13_406_010_708_265_417_443]
        );
    }
}
