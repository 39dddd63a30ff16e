//! Every case within bounds, without sampling, in a stable order: case `index` is a number written in mixed radix.
//!
//! From the slowest digit to the fastest, the digits are: the opset; the dims of the data, by rank and then in lexical order; the
//! attributes; the parameters. An attribute is first absent, unless it is required, and then has its values from the lowest to the
//! highest. The same holds for a parameter, which is first left out if it is optional. Lists are ordered by length and then in
//! lexical order. All data has the same dims and is a graph input. Its type is float, or the first type that the version lists if
//! float is not among them. A parameter is an int64 initializer. A node has one output.

use super::{Case, Encoding, Operand, Single, Wiring};
use crate::operator::{Arity, Attribute, AttributeKind, AttributeSpec, AttributeValue, InputSpec, Operator, Role};
use crate::tensor::ElementType;

/// The bounds of a space of cases.
#[derive(Clone, Debug)]
pub struct Bounds {
    pub operator: &'static Operator,
    /// The opsets, in order.
    pub opsets: Vec<u8>,
    /// The highest rank of the data.
    pub max_rank: u32,
    /// The largest size of a dimension of the data.
    pub max_dim: i64,
    /// The highest rank of a target shape.
    pub max_target_rank: u32,
}

/// Values at the ends of 32 and 64 bits.
const EXTREMES: [i64; 8] =
    [i64::MIN, -(1 << 32) - 1, -(1 << 32), -(1 << 31), 1 << 31, 1 << 32, (1 << 32) + 1, i64::MAX];

/// The numbers of a role, for data of a rank. Data and ignored attributes have none.
fn numbers(role: Role, rank: u32) -> Vec<i64> {
    let rank = i64::from(rank);
    match role {
        // -r-2 to r+2, and the extremes.
        Role::Axis => sorted((-rank - 2..=rank + 2).chain(EXTREMES)),
        // The two values that are defined, and one that is not.
        Role::Flag => vec![0, 1, 2],
        Role::TargetShape => sorted((-2..=6).chain(EXTREMES)),
        Role::Sizes => sorted((-1..=4).chain(EXTREMES)),
        Role::Bound => sorted((-4..=4).chain(EXTREMES)),
        Role::Choice => vec![0, 1, 6, 7],
        Role::Data | Role::Ignored => vec![],
    }
}

/// The texts of an attribute that chooses by name: all defined names, and one that is not defined.
const TEXTS: [&str; 7] = ["constant", "reflect", "edge", "wrap", "DCR", "CRD", "none"];

/// Whether the attribute is absent from some cases. An attribute without effect is absent from all.
fn may_be_absent(spec: &AttributeSpec) -> bool {
    !spec.is_required || matches!(spec.role, Role::Data | Role::Ignored)
}

fn sorted(values: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values
}

impl Bounds {
    /// The number of cases in the space; `None` if it does not fit in 64 bits.
    pub fn len(&self) -> Option<u64> {
        self.opsets.iter().try_fold(0_u64, |sum, &opset| sum.checked_add(self.at_opset(opset)?))
    }

    pub fn is_empty(&self) -> bool {
        self.opsets.is_empty()
    }

    fn at_opset(&self, opset: u8) -> Option<u64> {
        (0..=self.max_rank).try_fold(0_u64, |sum, rank| sum.checked_add(self.at_rank(opset, rank)?))
    }

    /// The number of cases at an opset with data of a rank.
    fn at_rank(&self, opset: u8, rank: u32) -> Option<u64> {
        // Without data, there are no dims to enumerate.
        let has_data = self.operator.version_at(opset)?.data_input().is_some();
        let shapes = match (has_data, rank) {
            (true, _) => u64::try_from(self.max_dim + 1).ok()?.checked_pow(rank)?,
            (false, 0) => 1,
            (false, _) => 0,
        };
        let digits = self.digits(opset, rank)?;
        digits.into_iter().try_fold(shapes, u64::checked_mul)
    }

    /// How many values each attribute, and then each input, can have.
    fn digits(&self, opset: u8, rank: u32) -> Option<Vec<u64>> {
        let version = self.operator.version_at(opset)?;
        let attributes = version.attributes.iter().map(|spec| {
            let values = match spec.kind {
                _ if matches!(spec.role, Role::Data | Role::Ignored) => 0,
                AttributeKind::Int => numbers(spec.role, rank).len() as u64,
                AttributeKind::Ints => self.lists(spec.role, rank)?,
                AttributeKind::String => TEXTS.len() as u64,
                AttributeKind::Float | AttributeKind::Tensor => 0,
            };
            Some(values + u64::from(may_be_absent(spec)))
        });
        let inputs = version.inputs.iter().map(|spec| match spec.role {
            Role::Data => Some(1),
            role => Some(self.lists(role, rank)? + u64::from(spec.arity == Arity::Optional)),
        });
        attributes.chain(inputs).collect()
    }

    /// The number of lists of the numbers of a role.
    fn lists(&self, role: Role, rank: u32) -> Option<u64> {
        let entries = numbers(role, rank).len() as u64;
        (0..=self.max_target_rank).try_fold(0_u64, |sum, length| sum.checked_add(entries.checked_pow(length)?))
    }

    /// Case `index` of the space; `None` past its end.
    pub fn case(&self, index: u64) -> Option<Case> {
        let mut rest = index;
        let opset = *self.opsets.iter().find(|&&opset| skip(&mut rest, self.at_opset(opset)))?;
        let rank = (0..=self.max_rank).find(|&rank| skip(&mut rest, self.at_rank(opset, rank)))?;
        let version = self.operator.version_at(opset)?;
        // The fastest digit is the last.
        let digits = self.digits(opset, rank)?;
        let mut values = vec![0; digits.len()];
        for (value, radix) in values.iter_mut().zip(&digits).rev() {
            (*value, rest) = (rest % radix, rest / radix);
        }
        let dims = word(rest, rank, &(0..=self.max_dim).collect::<Vec<_>>());
        let (of_attributes, of_inputs) = values.split_at(version.attributes.len());
        let attributes = version.attributes.iter().zip(of_attributes).filter_map(|(spec, &digit)| {
            self.attribute(spec, digit, rank).map(|value| Attribute { name: spec.name.to_owned(), value })
        });
        let plain = if version.element_types.contains(&ElementType::Float) {
            ElementType::Float
        } else {
            *version.element_types.first()?
        };
        let operands = version.inputs.iter().zip(of_inputs).map(|(spec, &digit)| match spec.role {
            Role::Data => Some(Operand::new(plain, dims.clone())),
            _ => self.parameter(spec, digit, rank),
        });
        let (attributes, operands) = (attributes.collect(), operands.collect());
        Some(Single { operator: self.operator, opset, attributes, operands, outputs: 1 }.into())
    }

    fn parameter(&self, spec: &InputSpec, digit: u64, rank: u32) -> Option<Operand> {
        // Digit 0 of an optional input leaves it out.
        let place = digit.checked_sub(u64::from(spec.arity == Arity::Optional))?;
        let list = self.list(place, spec.role, rank);
        Some(Operand { wiring: Wiring::Initializer(Encoding::Raw), ..Operand::vector(&list) })
    }

    fn attribute(&self, spec: &AttributeSpec, digit: u64, rank: u32) -> Option<AttributeValue> {
        // Digit 0 of an attribute that may be absent leaves it out.
        let place = digit.checked_sub(u64::from(may_be_absent(spec)))?;
        let at = usize::try_from(place).ok()?;
        match spec.kind {
            AttributeKind::Int => numbers(spec.role, rank).get(at).copied().map(AttributeValue::Int),
            AttributeKind::Ints => Some(AttributeValue::Ints(self.list(place, spec.role, rank))),
            AttributeKind::String => TEXTS.get(at).map(|text| AttributeValue::String((*text).to_owned())),
            AttributeKind::Float | AttributeKind::Tensor => None,
        }
    }

    fn list(&self, index: u64, role: Role, rank: u32) -> Vec<i64> {
        let entries = numbers(role, rank);
        let mut rest = index;
        let of_length = |length| (entries.len() as u64).checked_pow(length);
        let length = (0..=self.max_target_rank).find(|&length| skip(&mut rest, of_length(length)));
        word(rest, length.unwrap_or(0), &entries)
    }
}

/// Whether an index is below the size of a part. If not, the size is subtracted from the index.
fn skip(index: &mut u64, size: Option<u64>) -> bool {
    let size = size.unwrap_or(u64::MAX);
    if *index < size {
        return true;
    }
    *index -= size;
    false
}

/// Word number `index`, in lexical order, of the words of a length over an alphabet.
fn word(index: u64, length: u32, alphabet: &[i64]) -> Vec<i64> {
    let radix = alphabet.len() as u64;
    let mut rest = index;
    let mut letters: Vec<i64> = (0..length)
        .map(|_| {
            let letter = usize::try_from(rest % radix).map_or(0, |place| alphabet[place]);
            rest /= radix;
            letter
        })
        .collect();
    letters.reverse();
    letters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::OPERATORS;
    use std::collections::HashSet;

    fn bounds(name: &str, opsets: &[u8]) -> Bounds {
        let operator = name.parse().unwrap();
        Bounds { operator, opsets: opsets.to_vec(), max_rank: 2, max_dim: 2, max_target_rank: 2 }
    }

    #[test]
    fn the_count_is_the_product_of_the_choices() {
        // Ranks 0, 1, 2 with 3 sizes; bounds absent or one of 5, 7, 9 values and 8 extremes.
        assert_eq!(bounds("Shape", &[1]).len(), Some(1 + 3 + 9));
        assert_eq!(bounds("Shape", &[15]).len(), Some(14 * 14 + 3 * 16 * 16 + 9 * 18 * 18));
        assert_eq!(bounds("Flatten", &[9, 25]).len(), Some(2 * (14 + 3 * 16 + 9 * 18)));
        assert_eq!(bounds("Reshape", &[5]).len(), Some(13 * (1 + 17 + 17 * 17)));
        assert_eq!(bounds("Reshape", &[14]).len(), Some(13 * 4 * (1 + 17 + 17 * 17)));
        let vast = Bounds { max_rank: 64, max_dim: 6, ..bounds("Shape", &[15]) };
        assert_eq!(vast.len(), None);
    }

    #[test]
    fn every_case_is_there_once_and_within_the_bounds() {
        for operator in OPERATORS {
            let opsets: Vec<u8> = operator.versions.iter().map(|v| v.since).take(4).collect();
            let space = bounds(operator.name, &opsets);
            let len = space.len().unwrap();
            // If there are too many cases, a regular sample of the whole space.
            let step = (len / 100_000).max(1);
            let indices: Vec<u64> = (0..len).step_by(usize::try_from(step).unwrap()).collect();
            let cases: HashSet<Case> = indices.iter().map(|&index| space.case(index).unwrap()).collect();
            assert_eq!(cases.len(), indices.len(), "{operator}");
            assert_eq!(space.case(len), None);
            assert!(cases.iter().all(|case| {
                let Some(data) = case.call().and_then(|call| call.data) else { return true };
                opsets.contains(&case.opset) && data.dims.len() <= 2 && data.dims.iter().all(|d| (0..=2).contains(d))
            }));
        }
    }

    #[test]
    fn the_order_is_as_stated() {
        let space = bounds("Shape", &[13, 15]);
        let lines: Vec<String> = [0, 1, 4, 13, 14, 27, 28].map(|i| space.case(i).unwrap().to_string()).to_vec();
        assert_eq!(
            lines,
            [
                "Shape@13 float[]",
                "Shape@13 float[0]",
                "Shape@13 float[0,0]",
                "Shape@15 float[]",
                "Shape@15 end=-9223372036854775808 float[]",
                "Shape@15 start=-9223372036854775808 float[]",
                "Shape@15 start=-9223372036854775808 end=-9223372036854775808 float[]",
            ]
        );
    }
}
