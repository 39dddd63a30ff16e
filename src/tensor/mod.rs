//! Tensors as ONNX defines them: an element type, dims, and elements, which are held as bits.
//!
//! Nothing here computes with elements. The operators under test only move them, so equality is equality of bits.

mod assemble;
mod close;
mod compare;
mod element_type;
mod strings;

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use assemble::places;
pub use close::{Closeness, are_close, distance};
pub use compare::{Difference, differences};
pub use element_type::{Class, ElementType, FloatFormat, NanCodes, TypedField, mask};
pub use strings::Strings;

/// A tensor. Its dims are never negative, and the number of its elements is their product.
///
/// The elements are shared: a tensor with the same elements and other dims costs no copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    element_type: ElementType,
    dims: Vec<i64>,
    elements: Elements,
}

/// The elements of a tensor in row-major order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Elements {
    /// Packed as in `raw_data`: little-endian; types under 8 bits share a byte, first element in the lowest bits.
    Packed(Arc<[u8]>),
    Strings(Strings),
}

/// A tensor as it is sent between processes. A received tensor is checked.
#[derive(Serialize, Deserialize)]
struct Parts<'a> {
    element_type: ElementType,
    dims: Cow<'a, [i64]>,
    #[serde(borrow, with = "serde_bytes")]
    bytes: Cow<'a, [u8]>,
    /// Where each string ends, if it is a tensor of strings.
    ends: Cow<'a, [usize]>,
}

impl Serialize for Tensor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (bytes, ends) = match &self.elements {
            Elements::Packed(bytes) => (&bytes[..], &[][..]),
            Elements::Strings(strings) => strings.parts(),
        };
        let (dims, bytes, ends) = (Cow::from(&self.dims), Cow::from(bytes), Cow::from(ends));
        Parts { element_type: self.element_type, dims, bytes, ends }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Tensor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tensor, D::Error> {
        let Parts { element_type, dims, bytes, ends } = Parts::deserialize(deserializer)?;
        let dims = dims.into_owned();
        let tensor = match element_type {
            ElementType::String => {
                let strings = Strings::from_parts(&bytes, &ends);
                Tensor::from_strings(dims, strings.ok_or_else(|| D::Error::custom("strings end where they cannot"))?)
            }
            element_type => Tensor::from_packed(element_type, dims, &*bytes),
        };
        tensor.map_err(D::Error::custom)
    }
}

/// Why elements and dims do not make a tensor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    #[error("a dimension of {dims:?} is negative")]
    NegativeDim { dims: Vec<i64> },
    #[error("dims {dims:?} hold {expected} elements of {element_type}, but {found} were given")]
    Count { element_type: ElementType, dims: Vec<i64>, expected: String, found: String },
    #[error("{element_type} elements given as {found}")]
    Kind { element_type: ElementType, found: &'static str },
    #[error("a bool is 0 or 1, and element {index} is neither")]
    Bool { index: usize },
}

/// The error for dims that were given a wrong number of elements. `expected` is `None` if they hold more than can be counted.
fn miscounted(
    element_type: ElementType,
    dims: Vec<i64>,
    expected: Option<impl ToString>,
    found: String,
) -> TensorError {
    let expected = expected.map_or_else(|| "more than memory can hold".to_owned(), |n| n.to_string());
    TensorError::Count { element_type, dims, expected, found }
}

/// The exact product, or `None` if it exceeds the range of an i128. If a factor is 0, it is 0, however large the rest.
pub fn product(factors: impl IntoIterator<Item = i64>) -> Option<i128> {
    let mut result = Some(1_i128);
    for factor in factors {
        if factor == 0 {
            return Some(0);
        }
        result = result.and_then(|r| r.checked_mul(i128::from(factor)));
    }
    result
}

/// The number of elements that dims hold, or `None` if it does not fit in memory's address range.
pub fn element_count(dims: &[i64]) -> Option<usize> {
    product(dims.iter().copied()).and_then(|n| usize::try_from(n).ok())
}

impl Tensor {
    /// A tensor from elements packed as in `raw_data`. Padding bits of the last byte are cleared.
    ///
    /// # Errors
    /// If a dim is negative, the type is string, the number of bytes does not fit the dims, or a bool is neither 0 nor 1: a feed
    /// must be a value of its type, and a byte of 2 is no `bool` in Rust or C++.
    pub fn from_packed(
        element_type: ElementType,
        dims: Vec<i64>,
        bytes: impl Into<Arc<[u8]>>,
    ) -> Result<Tensor, TensorError> {
        let mut bytes = bytes.into();
        check_dims(&dims)?;
        if element_type == ElementType::String {
            return Err(TensorError::Kind { element_type, found: "packed bytes" });
        }
        let count = element_count(&dims);
        let size = count.and_then(|n| element_type.packed_bytes(n));
        if size != Some(bytes.len()) {
            return Err(miscounted(element_type, dims, count, format!("{} bytes", bytes.len())));
        }
        if element_type == ElementType::Bool
            && let Some(index) = bytes.iter().position(|&byte| byte > 1)
        {
            return Err(TensorError::Bool { index });
        }
        let used = count.unwrap_or(0).wrapping_mul(element_type.bits() as usize) % 8;
        if used > 0
            && let Some(last) = Arc::make_mut(&mut bytes).last_mut()
        {
            *last &= (1 << used) - 1;
        }
        Ok(Tensor { element_type, dims, elements: Elements::Packed(bytes) })
    }

    /// Whether another tensor has the same type and elements, whatever its dims. The number of elements is compared too: for
    /// types under 8 bits, different numbers of elements may take as many bytes.
    pub fn has_elements_of(&self, other: &Tensor) -> bool {
        let of = |tensor: &Tensor| (tensor.element_type, product(tensor.dims.iter().copied()));
        of(self) == of(other) && self.elements == other.elements
    }

    /// Shares its elements with another tensor that has the same ones.
    pub fn share_with(&mut self, other: &Tensor) {
        if self.elements == other.elements {
            self.elements = other.elements.clone();
        }
    }

    /// A tensor of strings.
    ///
    /// # Errors
    /// If a dim is negative or the count of strings is not that of the dims.
    pub fn from_strings(dims: Vec<i64>, strings: Strings) -> Result<Tensor, TensorError> {
        check_dims(&dims)?;
        let expected = element_count(&dims);
        if expected != Some(strings.len()) {
            return Err(miscounted(ElementType::String, dims, expected, strings.len().to_string()));
        }
        Ok(Tensor { element_type: ElementType::String, dims, elements: Elements::Strings(strings) })
    }

    /// A tensor from the bits of each element. Only the lowest [`ElementType::bits`] bits count; for a bool, all count.
    ///
    /// # Errors
    /// As [`Tensor::from_packed`].
    pub fn from_element_bits(
        element_type: ElementType,
        dims: Vec<i64>,
        elements: impl IntoIterator<Item = u128>,
    ) -> Result<Tensor, TensorError> {
        let bytes = match element_type.bits() {
            // A larger number is no bool either, though its low byte may look like one.
            8 if element_type == ElementType::Bool => whole_bytes::<1>(elements.into_iter().map(|bits| bits.min(2))),
            8 => whole_bytes::<1>(elements),
            16 => whole_bytes::<2>(elements),
            32 => whole_bytes::<4>(elements),
            64 => whole_bytes::<8>(elements),
            128 => whole_bytes::<16>(elements),
            width => shared_bytes(width, elements),
        };
        Tensor::from_packed(element_type, dims, bytes)
    }

    /// A rank-1 int64 tensor, such as the output of Shape or the target shape of Reshape.
    pub fn vector(values: &[i64]) -> Tensor {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let len = i64::try_from(values.len()).unwrap_or(i64::MAX);
        Tensor { element_type: ElementType::Int64, dims: vec![len], elements: Elements::Packed(bytes.into()) }
    }

    /// A rank-0 int64 tensor, such as the output of Size.
    pub fn scalar(value: i64) -> Tensor {
        Tensor { dims: Vec::new(), ..Tensor::vector(&[value]) }
    }

    /// The zero of a type, of rank 0: positive zero for floats, the empty string for strings.
    pub fn zero(element_type: ElementType) -> Tensor {
        let zero = match element_type {
            ElementType::String => Tensor::from_strings(vec![], [""].into_iter().collect()),
            _ => Tensor::from_element_bits(element_type, vec![], [0]),
        };
        zero.expect("a scalar has one element")
    }

    /// The same elements with other dims, sharing them.
    ///
    /// # Errors
    /// If a dim is negative or the dims hold another number of elements.
    pub fn with_dims(&self, dims: Vec<i64>) -> Result<Tensor, TensorError> {
        check_dims(&dims)?;
        let expected = product(dims.iter().copied());
        if expected != product(self.dims.iter().copied()) {
            return Err(miscounted(self.element_type, dims, expected, self.len().to_string()));
        }
        Ok(Tensor { element_type: self.element_type, dims, elements: self.elements.clone() })
    }

    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    pub fn elements(&self) -> &Elements {
        &self.elements
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        element_count(&self.dims).unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }

    /// The bits of element `index`, without padding and other elements. The tensor must not be one of strings.
    ///
    /// # Panics
    /// If there is no such element, or it is a string.
    pub fn element_bits(&self, index: usize) -> u128 {
        let Elements::Packed(bytes) = &self.elements else { panic!("a string has no fixed bits") };
        let width = self.element_type.bits();
        if width < 8 {
            let bit = index * width as usize;
            u128::from(bytes[bit / 8]) >> (bit % 8) & mask(width)
        } else {
            let size = width as usize / 8;
            let mut buffer = [0; 16];
            buffer[..size].copy_from_slice(&bytes[index * size..(index + 1) * size]);
            u128::from_le_bytes(buffer)
        }
    }

    /// The elements as integers, if the type is an integer or boolean one.
    pub fn integers(&self) -> Option<Vec<i128>> {
        (0..self.len())
            .map(|i| match &self.elements {
                Elements::Packed(_) => self.element_type.integer(self.element_bits(i)),
                Elements::Strings(_) => None,
            })
            .collect()
    }

    /// The elements as i64, if that is their type.
    pub fn int64s(&self) -> Option<Vec<i64>> {
        match (&self.elements, self.element_type) {
            (Elements::Packed(bytes), ElementType::Int64) => {
                Some(bytes.as_chunks().0.iter().map(|chunk| i64::from_le_bytes(*chunk)).collect())
            }
            _ => None,
        }
    }
}

/// The bytes of elements of `SIZE` bytes each.
fn whole_bytes<const SIZE: usize>(elements: impl IntoIterator<Item = u128>) -> Vec<u8> {
    let low = |bits: u128| *bits.to_le_bytes().first_chunk::<SIZE>().expect("no element is larger");
    elements.into_iter().map(low).collect::<Vec<_>>().into_flattened()
}

/// The bytes of elements of less than a byte each. Strings have no width and no bytes; [`Tensor::from_packed`] reports them.
fn shared_bytes(width: u32, elements: impl IntoIterator<Item = u128>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let per_byte = 8_u32.checked_div(width).unwrap_or(1);
    for (i, bits) in (0..per_byte).cycle().zip(elements) {
        let [low, ..] = (bits & mask(width)).to_le_bytes();
        match bytes.last_mut() {
            Some(last) if i > 0 => *last |= low << (i * width),
            _ => bytes.push(low),
        }
    }
    bytes
}

fn check_dims(dims: &[i64]) -> Result<(), TensorError> {
    if dims.iter().any(|&d| d < 0) { Err(TensorError::NegativeDim { dims: dims.to_vec() }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_byte_types_pack_the_first_element_low() {
        let t = Tensor::from_element_bits(ElementType::Uint4, vec![3], [1, 2, 3]).unwrap();
        assert_eq!(t.elements(), &Elements::Packed(vec![0x21, 0x03].into()));
        let t = Tensor::from_element_bits(ElementType::Int2, vec![5], [3, 0, 1, 2, 3]).unwrap();
        assert_eq!(t.elements(), &Elements::Packed(vec![0b10_01_00_11, 0b11].into()));
        assert_eq!((0..5).map(|i| t.element_bits(i)).collect::<Vec<_>>(), [3, 0, 1, 2, 3]);
        assert_eq!(t.integers(), Some(vec![-1, 0, 1, -2, -1]));
    }

    #[test]
    fn padding_is_no_element() {
        let int4 = |dims: &[i64], elements: &[u128]| {
            Tensor::from_element_bits(ElementType::Int4, dims.to_vec(), elements.iter().copied()).unwrap()
        };
        let (three, four) = (int4(&[3], &[1, 2, 3]), int4(&[4], &[1, 2, 3, 0]));
        assert_eq!(three.elements(), four.elements());
        assert!(!three.has_elements_of(&four) && !four.has_elements_of(&three));
        assert!(int4(&[3, 1], &[1, 2, 3]).has_elements_of(&three));
        assert!(!int4(&[3], &[1, 2, 4]).has_elements_of(&three));
    }

    #[test]
    fn padding_bits_do_not_count() {
        let padded = Tensor::from_packed(ElementType::Int4, vec![1], vec![0xf7]).unwrap();
        assert_eq!(padded, Tensor::from_packed(ElementType::Int4, vec![1], vec![0x07]).unwrap());
    }

    #[test]
    fn every_type_keeps_its_element_bits() {
        for element_type in
            ElementType::ALL.into_iter().filter(|t| !matches!(t, ElementType::String | ElementType::Bool))
        {
            let bits = [0, 1, mask(element_type.bits()), 1, 1 << (element_type.bits() - 1)];
            let t = Tensor::from_element_bits(element_type, vec![5], bits).unwrap();
            assert_eq!((0..5).map(|i| t.element_bits(i)).collect::<Vec<_>>(), bits, "{element_type}");
        }
    }

    #[test]
    fn a_bool_is_0_or_1() {
        let packed = |bytes: &[u8]| Tensor::from_packed(ElementType::Bool, vec![2], bytes);
        assert!(packed(&[0, 1]).is_ok());
        assert_eq!(packed(&[1, 2]), Err(TensorError::Bool { index: 1 }));
        for bits in [2, 255, 256, u128::MAX] {
            let element = Tensor::from_element_bits(ElementType::Bool, vec![1], [bits]);
            assert_eq!(element, Err(TensorError::Bool { index: 0 }), "{bits}");
        }
        let bytes = postcard::to_stdvec(&Tensor::from_packed(ElementType::Uint8, vec![1], vec![2]).unwrap()).unwrap();
        let other = [&[ElementType::Bool as u8][..], &bytes[1..]].concat();
        assert!(postcard::from_bytes::<Tensor>(&bytes).is_ok() && postcard::from_bytes::<Tensor>(&other).is_err());
    }

    #[test]
    fn counts_are_exact_at_any_size() {
        assert_eq!(product([i64::MAX, i64::MAX]), Some(i128::from(i64::MAX) * i128::from(i64::MAX)));
        assert_eq!(product([i64::MAX, i64::MAX, i64::MAX]), None);
        assert_eq!(product([i64::MAX, i64::MAX, i64::MAX, 0]), Some(0));
        assert_eq!(product([]), Some(1));
        assert_eq!(element_count(&[1 << 40, 1 << 40]), None);
    }

    #[test]
    fn a_tensor_holds_what_its_dims_say() {
        assert!(Tensor::from_packed(ElementType::Float, vec![2], vec![0; 4]).is_err());
        assert!(Tensor::from_packed(ElementType::Float, vec![-1], vec![]).is_err());
        assert!(Tensor::from_packed(ElementType::String, vec![0], vec![]).is_err());
        assert!(Tensor::from_strings(vec![2], [""].iter().collect()).is_err());
        let empty = Tensor::from_packed(ElementType::Int64, vec![1 << 40, 1 << 40, 0], vec![]).unwrap();
        assert!(empty.is_empty());
        assert_eq!(empty.with_dims(vec![0]).unwrap().dims(), [0]);
        assert!(empty.with_dims(vec![]).is_err());
    }
}
