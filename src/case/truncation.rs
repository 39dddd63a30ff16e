//! The case that a runtime in effect executes when it truncates numbers to 32 bits.
//!
//! This defect shows in many ways: a wrong answer, a refusal, or an invalid model that is accepted. The proof is that the runtime
//! does exactly what the truncated case asks for.

use super::{Case, Contents, Single};
use crate::operator::AttributeValue;
use crate::tensor::ElementType;

impl Case {
    /// The case with int64 numbers cut to their low 32 bits: first the numbers of attributes and of operands other than data, then
    /// those of attributes alone, then those of operands alone. A case that equals this case or an earlier one is left out.
    pub fn truncated(&self) -> Vec<Case> {
        let Some(single) = self.single() else { return vec![] };
        let keep = |number| number;
        let mut cases = vec![single.with_numbers(low_half, low_half)];
        for one in [single.with_numbers(low_half, keep), single.with_numbers(keep, low_half)] {
            if !cases.contains(&one) {
                cases.push(one);
            }
        }
        cases.retain(|case| *case != single);
        cases.into_iter().map(Case::from).collect()
    }

    /// The case with the numbers that `truncated` cuts clamped to the range of 32 bits instead.
    #[must_use]
    pub fn saturated(&self) -> Case {
        let nearest = |number: i64| number.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
        self.single().map_or_else(|| self.clone(), |single| single.with_numbers(nearest, nearest).into())
    }
}

impl Single {
    fn with_numbers(&self, of_attributes: fn(i64) -> i64, of_operands: fn(i64) -> i64) -> Single {
        let mut changed = self.clone();
        for attribute in &mut changed.attributes {
            match &mut attribute.value {
                AttributeValue::Int(value) => *value = of_attributes(*value),
                AttributeValue::Ints(values) => values.iter_mut().for_each(|value| *value = of_attributes(*value)),
                AttributeValue::Float(_) | AttributeValue::String(_) | AttributeValue::Tensor(_) => {}
            }
        }
        let is_data: Vec<bool> = (0..self.operands.len()).map(|place| self.is_data(place)).collect();
        let operands = changed.operands.iter_mut().zip(is_data).filter(|(_, is_data)| !is_data);
        for operand in operands.filter_map(|(operand, _)| operand.as_mut()) {
            if let (ElementType::Int64, Contents::Bits(bits)) = (operand.element_type, &mut operand.contents) {
                for bits in bits {
                    let value = u64::try_from(*bits).unwrap_or_default().cast_signed();
                    *bits = u128::from(of_operands(value).cast_unsigned());
                }
            }
        }
        changed
    }
}

/// The low 32 bits of a number, sign-extended to 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "this is what a runtime that truncates does")]
fn low_half(value: i64) -> i64 {
    i64::from(value as i32)
}

#[cfg(test)]
mod tests {
    use crate::case::Case;

    fn truncated(line: &str) -> Option<String> {
        line.parse::<Case>().unwrap().truncated().first().map(ToString::to_string)
    }

    #[test]
    fn numbers_beyond_32_bits_lose_their_high_half() {
        let cut = truncated("Reshape@28 float[1] int64[2]{4294967297,-2147483649}");
        assert_eq!(cut.as_deref(), Some("Reshape@28 float[1] int64[2]{1,2147483647}"));
        assert_eq!(truncated("Shape@28 end=9223372036854775807 float[1]").as_deref(), Some("Shape@28 end=-1 float[1]"));
        assert_eq!(
            truncated("Reshape@1 shape=[-4294967297] float[1]").as_deref(),
            Some("Reshape@1 shape=[-1] float[1]")
        );
        let case: Case = "Reshape@28 allowzero=4294967296 float[1] int64[1]{4294967297}".parse().unwrap();
        let alone = ["allowzero=0 float[1] int64[1]{4294967297}", "allowzero=4294967296 float[1] int64[1]{1}"];
        let cases: Vec<String> = case.truncated().iter().map(ToString::to_string).collect();
        assert_eq!(cases[1..], alone.map(|rest| format!("Reshape@28 {rest}")));
        let case: Case = "Reshape@28 float[1] int64[2]{4294967297,-2147483649}".parse().unwrap();
        assert_eq!(case.saturated().to_string(), "Reshape@28 float[1] int64[2]{2147483647,-2147483648}");
    }

    #[test]
    fn what_fits_in_32_bits_is_read_as_it_is() {
        for line in ["Reshape@28 float[1] int64[2]{2147483647,-2147483648}", "Flatten@28 axis=-1 int64[2]"] {
            assert_eq!(truncated(line), None, "{line}");
        }
    }
}
