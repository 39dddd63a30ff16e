//! Tensors as `TensorProto` messages, in `raw_data` or in the field of their type.

use bytes::Bytes;

use super::proto::TensorProto;
pub use crate::case::Encoding;
use crate::tensor::{ElementType, Elements, Tensor, TensorError, TypedField, element_count};

/// Why a `TensorProto` is not a tensor.
#[derive(Debug, thiserror::Error)]
pub enum ReadTensorError {
    #[error("element type {0} is unknown")]
    ElementType(i32),
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// The lowest 32 bits, as two's complement.
#[expect(clippy::cast_possible_truncation, reason = "only the element's own bits are wanted")]
fn low_i32(bits: u128) -> i32 {
    bits as i32
}

/// The lowest 32 bits as a float.
fn low_f32(bits: u128) -> f32 {
    f32::from_bits(low_i32(bits).cast_unsigned())
}

/// The lowest 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "only the element's own bits are wanted")]
fn low_u64(bits: u128) -> u64 {
    bits as u64
}

/// The message for a tensor.
pub fn write(name: &str, tensor: &Tensor, encoding: Encoding) -> TensorProto {
    let element_type = tensor.element_type();
    let mut proto = TensorProto {
        dims: tensor.dims().to_vec(),
        data_type: Some(element_type.data_type()),
        name: Some(name.to_owned()),
        ..TensorProto::default()
    };
    let bytes = match (tensor.elements(), encoding) {
        (Elements::Strings(strings), _) => {
            proto.string_data = strings.iter().map(<[u8]>::to_vec).collect();
            return proto;
        }
        (Elements::Packed(bytes), Encoding::Raw) => {
            proto.raw_data = Some(Bytes::copy_from_slice(bytes));
            return proto;
        }
        (Elements::Packed(bytes), Encoding::Typed) => bytes,
    };
    let elements = || (0..tensor.len()).map(|i| tensor.element_bits(i));
    let is_complex = matches!(element_type, ElementType::Complex64 | ElementType::Complex128);
    match element_type.typed_field() {
        TypedField::FloatData if is_complex => {
            proto.float_data = elements().flat_map(|bits| [low_f32(bits), low_f32(bits >> 32)]).collect();
        }
        TypedField::FloatData => proto.float_data = elements().map(low_f32).collect(),
        TypedField::DoubleData if is_complex => {
            let half = |bits| f64::from_bits(low_u64(bits));
            proto.double_data = elements().flat_map(|bits| [half(bits), half(bits >> 64)]).collect();
        }
        TypedField::DoubleData => proto.double_data = elements().map(|bits| f64::from_bits(low_u64(bits))).collect(),
        TypedField::Int64Data => proto.int64_data = elements().map(|bits| low_u64(bits).cast_signed()).collect(),
        TypedField::Uint64Data => proto.uint64_data = elements().map(low_u64).collect(),
        // Types under 8 bits stay packed: each int32 holds one byte of them.
        TypedField::Int32Data if element_type.bits() < 8 => {
            proto.int32_data = bytes.iter().map(|&byte| i32::from(byte)).collect();
        }
        TypedField::Int32Data => {
            proto.int32_data = elements()
                .map(|bits| element_type.integer(bits).map_or(low_i32(bits), |number| low_i32(number.cast_unsigned())))
                .collect();
        }
        TypedField::StringData => {}
    }
    proto
}

/// The tensor of a message.
///
/// # Errors
/// If the type is unknown, or the elements are not those of the dims.
pub fn read(proto: &TensorProto) -> Result<Tensor, ReadTensorError> {
    let number = proto.data_type.unwrap_or(0);
    let element_type = ElementType::from_data_type(number).ok_or(ReadTensorError::ElementType(number))?;
    let dims = proto.dims.clone();
    if element_type == ElementType::String {
        return Ok(Tensor::from_strings(dims, proto.string_data.iter().collect())?);
    }
    if let Some(raw) = &proto.raw_data {
        return Ok(Tensor::from_packed(element_type, dims, &raw[..])?);
    }
    let is_complex = matches!(element_type, ElementType::Complex64 | ElementType::Complex128);
    let float_bits = |value: &f32| u128::from(value.to_bits());
    let double_bits = |value: &f64| u128::from(value.to_bits());
    let bits: Vec<u128> = match element_type.typed_field() {
        TypedField::FloatData if is_complex => {
            proto.float_data.chunks(2).map(|pair| join(pair.iter().map(float_bits), 32)).collect()
        }
        TypedField::FloatData => proto.float_data.iter().map(float_bits).collect(),
        TypedField::DoubleData if is_complex => {
            proto.double_data.chunks(2).map(|pair| join(pair.iter().map(double_bits), 64)).collect()
        }
        TypedField::DoubleData => proto.double_data.iter().map(double_bits).collect(),
        TypedField::Int64Data => proto.int64_data.iter().map(|v| u128::from(v.cast_unsigned())).collect(),
        TypedField::Uint64Data => proto.uint64_data.iter().map(|&v| u128::from(v)).collect(),
        TypedField::Int32Data if element_type.bits() < 8 => {
            let bytes = proto.int32_data.iter().map(|v| v.to_le_bytes()[0]).collect::<Vec<u8>>();
            let size = element_count(&dims).and_then(|n| element_type.packed_bytes(n));
            let bytes = if size == Some(bytes.len()) { bytes } else { Vec::new() };
            return Ok(Tensor::from_packed(element_type, dims, bytes)?);
        }
        TypedField::Int32Data => proto.int32_data.iter().map(|v| u128::from(v.cast_unsigned())).collect(),
        TypedField::StringData => Vec::new(),
    };
    Ok(Tensor::from_element_bits(element_type, dims, bits)?)
}

/// Two halves as one number, the first in the low bits.
fn join(halves: impl Iterator<Item = u128>, width: u32) -> u128 {
    halves.zip([0, width]).fold(0, |whole, (half, shift)| whole | half << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Contents;
    use prost::Message;

    #[test]
    fn every_type_makes_the_round_trip_in_both_encodings() {
        for element_type in ElementType::ALL {
            for encoding in [Encoding::Raw, Encoding::Typed] {
                for contents in [Contents::Count, Contents::Special, Contents::Random(3)] {
                    for dims in [&[][..], &[0, 3], &[7], &[5, 61]] {
                        let tensor = contents.tensor(element_type, dims);
                        let bytes = write("t", &tensor, encoding).encode_to_vec();
                        let back = read(&TensorProto::decode(&bytes[..]).unwrap()).unwrap();
                        assert_eq!(back, tensor, "{element_type} {encoding:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_bool_that_is_not_0_or_1_is_no_tensor() {
        let proto = TensorProto { dims: vec![1], data_type: Some(9), ..TensorProto::default() };
        for number in [2, -1, 255, 256] {
            let typed = TensorProto { int32_data: vec![number], ..proto.clone() };
            assert_eq!(read(&typed).unwrap_err().to_string(), "a bool is 0 or 1, and element 0 is neither");
        }
        assert!(read(&TensorProto { raw_data: Some(vec![2].into()), ..proto.clone() }).is_err());
        assert!(read(&TensorProto { raw_data: Some(vec![1].into()), ..proto }).is_ok());
    }

    #[test]
    fn a_typed_int4_tensor_has_two_elements_to_a_number() {
        let tensor = Tensor::from_element_bits(ElementType::Int4, vec![3], [0xf, 1, 2]).unwrap();
        assert_eq!(write("t", &tensor, Encoding::Typed).int32_data, [0x1f, 0x02]);
        let int8 = Tensor::from_element_bits(ElementType::Int8, vec![1], [0xff]).unwrap();
        assert_eq!(write("t", &int8, Encoding::Typed).int32_data, [-1]);
        let half = Tensor::from_element_bits(ElementType::Float16, vec![1], [0xfc00]).unwrap();
        assert_eq!(write("t", &half, Encoding::Typed).int32_data, [0xfc00]);
    }
}
