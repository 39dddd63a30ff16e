//! The 26 element types of ONNX tensors, as one table.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// An element type of an ONNX tensor (`TensorProto.DataType`).
///
/// Declared in the order in which the operators began to accept them, so that the types of an operator
/// version are always a prefix of [`ElementType::ALL`]. Its name is that of the variant in lower case, as in the operator
/// documents: `float8e4m3fn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum ElementType {
    Float16,
    Float,
    Double,
    Bool,
    String,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Complex64,
    Complex128,
    Bfloat16,
    Float8e4m3fn,
    Float8e4m3fnuz,
    Float8e5m2,
    Float8e5m2fnuz,
    Int4,
    Uint4,
    Float4e2m1,
    Float8e8m0,
    Int2,
    Uint2,
}

/// The meaning of the bits of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Bool,
    String,
    /// Two's complement.
    Int,
    Uint,
    Float(FloatFormat),
    /// Two floats of half the element's bits, real part first.
    Complex(FloatFormat),
}

/// The layout of a binary floating-point number of 64 bits at the most. The sign bit, if there is one, is the highest bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatFormat {
    pub mantissa_bits: u32,
    pub nan: NanCodes,
}

/// Which codes of a float format are NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NanCodes {
    /// Exponent all ones and a mantissa that is not zero.
    Ieee,
    /// Exponent and mantissa all ones (the `fn` formats).
    AllOnes,
    /// Only the code of negative zero (the `fnuz` formats).
    NegativeZero,
    /// Only the code with every bit set (float8e8m0, which has no sign).
    EveryBit,
    None,
}

/// The field of a `TensorProto` that holds elements of a type when `raw_data` is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypedField {
    FloatData,
    DoubleData,
    Int32Data,
    Int64Data,
    Uint64Data,
    StringData,
}

struct TypeRow {
    data_type: i32,
    bits: u32,
    class: Class,
    field: TypedField,
    since_ir: u8,
}

const fn row(data_type: i32, bits: u32, class: Class, field: TypedField, since_ir: u8) -> TypeRow {
    TypeRow { data_type, bits, class, field, since_ir }
}

const fn float(mantissa_bits: u32, nan: NanCodes) -> Class {
    Class::Float(FloatFormat { mantissa_bits, nan })
}

const fn complex(mantissa_bits: u32) -> Class {
    Class::Complex(FloatFormat { mantissa_bits, nan: NanCodes::Ieee })
}

impl ElementType {
    /// Every element type, in the order in which the operators began to accept them.
    pub const ALL: [ElementType; Self::VARIANTS.len()] = *Self::VARIANTS.first_chunk().unwrap();

    /// Every type up to and including `last`, in the order of [`ElementType::ALL`].
    pub const fn up_to(last: ElementType) -> &'static [ElementType] {
        Self::ALL.split_at(last as usize + 1).0
    }

    /// Its number in `TensorProto.DataType`, the bits of an element, their meaning, its typed field, and the first IR version
    /// that has it.
    const fn row(self) -> TypeRow {
        use Class::{Bool, Int, String, Uint};
        use TypedField::{DoubleData, FloatData, Int32Data, Int64Data, StringData, Uint64Data};
        match self {
            Self::Float16 => row(10, 16, float(10, NanCodes::Ieee), Int32Data, 3),
            Self::Float => row(1, 32, float(23, NanCodes::Ieee), FloatData, 3),
            Self::Double => row(11, 64, float(52, NanCodes::Ieee), DoubleData, 3),
            Self::Bool => row(9, 8, Bool, Int32Data, 3),
            Self::String => row(8, 0, String, StringData, 3),
            Self::Int8 => row(3, 8, Int, Int32Data, 3),
            Self::Int16 => row(5, 16, Int, Int32Data, 3),
            Self::Int32 => row(6, 32, Int, Int32Data, 3),
            Self::Int64 => row(7, 64, Int, Int64Data, 3),
            Self::Uint8 => row(2, 8, Uint, Int32Data, 3),
            Self::Uint16 => row(4, 16, Uint, Int32Data, 3),
            Self::Uint32 => row(12, 32, Uint, Uint64Data, 3),
            Self::Uint64 => row(13, 64, Uint, Uint64Data, 3),
            Self::Complex64 => row(14, 64, complex(23), FloatData, 3),
            Self::Complex128 => row(15, 128, complex(52), DoubleData, 3),
            Self::Bfloat16 => row(16, 16, float(7, NanCodes::Ieee), Int32Data, 4),
            Self::Float8e4m3fn => row(17, 8, float(3, NanCodes::AllOnes), Int32Data, 9),
            Self::Float8e4m3fnuz => row(18, 8, float(3, NanCodes::NegativeZero), Int32Data, 9),
            Self::Float8e5m2 => row(19, 8, float(2, NanCodes::Ieee), Int32Data, 9),
            Self::Float8e5m2fnuz => row(20, 8, float(2, NanCodes::NegativeZero), Int32Data, 9),
            Self::Int4 => row(22, 4, Int, Int32Data, 10),
            Self::Uint4 => row(21, 4, Uint, Int32Data, 10),
            Self::Float4e2m1 => row(23, 4, float(1, NanCodes::None), Int32Data, 11),
            Self::Float8e8m0 => row(24, 8, float(0, NanCodes::EveryBit), Int32Data, 12),
            Self::Int2 => row(26, 2, Int, Int32Data, 13),
            Self::Uint2 => row(25, 2, Uint, Int32Data, 13),
        }
    }

    /// The name in the operator documents, such as `float` or `float8e4m3fn`.
    pub const fn name(self) -> &'static str {
        self.into_str()
    }

    /// The number in `TensorProto.DataType`.
    pub const fn data_type(self) -> i32 {
        self.row().data_type
    }

    /// The type with this number in `TensorProto.DataType`, if there is one.
    pub fn from_data_type(number: i32) -> Option<ElementType> {
        Self::ALL.into_iter().find(|t| t.data_type() == number)
    }

    /// The bits of one element: 2 to 128, and 0 for strings, which have no fixed size.
    pub const fn bits(self) -> u32 {
        self.row().bits
    }

    pub const fn class(self) -> Class {
        self.row().class
    }

    /// The `TensorProto` field for elements of this type when `raw_data` is not used.
    pub const fn typed_field(self) -> TypedField {
        self.row().field
    }

    /// The first IR version whose `TensorProto.DataType` has this type.
    pub const fn since_ir(self) -> u8 {
        self.row().since_ir
    }

    /// Bytes that `count` elements take when packed as ONNX packs them; `None` if that is more than a `usize` holds.
    pub fn packed_bytes(self, count: usize) -> Option<usize> {
        count.checked_mul(self.bits() as usize).map(|bits| bits.div_ceil(8)).or_else(|| {
            // A count of wide elements can overflow in bits and still fit in bytes.
            count.checked_mul(self.bits().div_ceil(8) as usize)
        })
    }

    /// Whether these bits, or one half of a complex number in them, are a NaN.
    pub fn is_nan(self, bits: u128) -> bool {
        match self.class() {
            Class::Float(format) => format.is_nan(bits, self.bits()),
            Class::Complex(format) => {
                let half = self.bits() / 2;
                format.is_nan(bits & mask(half), half) || format.is_nan(bits >> half, half)
            }
            Class::Bool | Class::String | Class::Int | Class::Uint => false,
        }
    }

    /// The value of these bits, for integers and booleans.
    pub fn integer(self, bits: u128) -> Option<i128> {
        match self.class() {
            Class::Uint | Class::Bool => i128::try_from(bits).ok(),
            Class::Int => {
                let unused = 128 - self.bits();
                // Sign extension: the shift to the right of a signed number copies its highest bit.
                Some((bits << unused).cast_signed() >> unused)
            }
            Class::String | Class::Float(_) | Class::Complex(_) => None,
        }
    }
}

impl FloatFormat {
    fn is_nan(self, bits: u128, width: u32) -> bool {
        let magnitude = bits & mask(width - 1);
        let infinity = mask(width - 1) & !mask(self.mantissa_bits);
        match self.nan {
            NanCodes::Ieee => magnitude > infinity,
            NanCodes::AllOnes => magnitude == mask(width - 1),
            NanCodes::NegativeZero => bits == 1 << (width - 1),
            NanCodes::EveryBit => bits == mask(width),
            NanCodes::None => false,
        }
    }
}

/// The lowest `bits` bits set; `bits` is 0 to 128.
pub const fn mask(bits: u32) -> u128 {
    if bits == 0 { 0 } else { u128::MAX >> (128 - bits) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_type_and_no_number_twice() {
        for element_type in ElementType::ALL {
            assert_eq!(ElementType::from_data_type(element_type.data_type()), Some(element_type));
            assert_eq!(element_type.name().parse(), Ok(element_type));
        }
        assert_eq!(ElementType::from_data_type(0), None, "0 is UNDEFINED");
    }

    #[test]
    fn nan_codes_are_counted_format_by_format() {
        let nans = |t: ElementType| (0..1u128 << t.bits()).filter(|&bits| t.is_nan(bits)).count();
        assert_eq!(nans(ElementType::Float16), 2 * 1023);
        assert_eq!(nans(ElementType::Bfloat16), 2 * 127);
        assert_eq!(nans(ElementType::Float8e4m3fn), 2);
        assert_eq!(nans(ElementType::Float8e4m3fnuz), 1);
        assert_eq!(nans(ElementType::Float8e5m2), 2 * 3);
        assert_eq!(nans(ElementType::Float8e5m2fnuz), 1);
        assert_eq!(nans(ElementType::Float8e8m0), 1);
        assert_eq!(nans(ElementType::Float4e2m1), 0);
        assert_eq!(nans(ElementType::Int4), 0);
        assert!(ElementType::Complex64.is_nan(u128::from(f32::NAN.to_bits()) << 32), "the imaginary half counts");
    }

    #[test]
    fn integers_are_sign_extended() {
        assert_eq!(ElementType::Int2.integer(0b10), Some(-2));
        assert_eq!(ElementType::Uint2.integer(0b10), Some(2));
        assert_eq!(ElementType::Int64.integer(u128::from(u64::MAX)), Some(-1));
        assert_eq!(ElementType::Uint64.integer(u128::from(u64::MAX)), Some(i128::from(u64::MAX)));
        assert_eq!(ElementType::Float.integer(0), None);
    }
}
