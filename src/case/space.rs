//! Every case within bounds, without sampling, in a stable order: case `index` is a number written in mixed radix.
//!
//! From the slowest digit to the fastest: the opset; the dims of the data, by rank and then in lexical order; the
//! attributes that count axes, each absent and then from its lowest value to its highest; the flag; the target shape, by
//! rank and then in lexical order. The data is float and a graph input, a target shape is an initializer, or an attribute
//! where the version has it so.

use super::{Case, Encoding, Operand, Single, Wiring};
use crate::operator::{Attribute, AttributeSpec, AttributeValue, Operator, Role};
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

/// The entries of a target shape: -2 to 6, and the extremes.
fn target_entries() -> Vec<i64> {
    sorted((-2..=6).chain(EXTREMES))
}

/// The values of an attribute that counts axes of data of a rank: -r-2 to r+2, and the extremes.
fn axes(rank: u32) -> Vec<i64> {
    let rank = i64::from(rank);
    sorted((-rank - 2..=rank + 2).chain(EXTREMES))
}

/// The values of a flag: both that are defined, and one that is not.
const FLAGS: [i64; 3] = [0, 1, 2];

fn sorted(values: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values
}

impl Bounds {
    /// How many cases the space holds; `None` if it is more than 2^64.
    pub fn len(&self) -> Option<u64> {
        self.opsets.iter().try_fold(0_u64, |sum, &opset| sum.checked_add(self.at_opset(opset)?))
    }

    pub fn is_empty(&self) -> bool {
        self.opsets.is_empty()
    }

    fn at_opset(&self, opset: u8) -> Option<u64> {
        (0..=self.max_rank).try_fold(0_u64, |sum, rank| sum.checked_add(self.at_rank(opset, rank)?))
    }

    /// Cases at an opset with data of a rank.
    fn at_rank(&self, opset: u8, rank: u32) -> Option<u64> {
        let shapes = u64::try_from(self.max_dim + 1).ok()?.checked_pow(rank)?;
        let digits = self.digits(opset, rank)?;
        digits.into_iter().try_fold(shapes, u64::checked_mul)
    }

    /// How many values each attribute, and then the target shape if it is an operand, can have.
    fn digits(&self, opset: u8, rank: u32) -> Option<Vec<u64>> {
        let version = self.operator.version_at(opset)?;
        let of_role = |role| match role {
            Role::Axis => Some(1 + axes(rank).len() as u64),
            Role::Flag => Some(1 + FLAGS.len() as u64),
            Role::TargetShape => self.targets(),
            Role::Data | Role::Ignored => Some(1),
        };
        let attributes = version.attributes.iter().map(|spec| of_role(spec.role));
        let inputs = version.inputs.iter().map(|spec| of_role(spec.role));
        attributes.chain(inputs).collect()
    }

    /// How many target shapes there are.
    fn targets(&self) -> Option<u64> {
        let entries = target_entries().len() as u64;
        (0..=self.max_target_rank).try_fold(0_u64, |sum, rank| sum.checked_add(entries.checked_pow(rank)?))
    }

    /// Single `index` of the space; `None` past its end.
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
        let operands = version.inputs.iter().zip(of_inputs).map(|(spec, &digit)| {
            Some(match spec.role {
                Role::TargetShape => {
                    Operand { wiring: Wiring::Initializer(Encoding::Raw), ..Operand::vector(&self.target(digit)) }
                }
                _ => Operand::new(ElementType::Float, dims.clone()),
            })
        });
        let (attributes, operands) = (attributes.collect(), operands.collect());
        Some(Single { operator: self.operator, opset, attributes, operands }.into())
    }

    fn attribute(&self, spec: &AttributeSpec, digit: u64, rank: u32) -> Option<AttributeValue> {
        // Digit 0 is the attribute's absence.
        let place = usize::try_from(digit).ok()?.checked_sub(1);
        match spec.role {
            Role::Axis => axes(rank).get(place?).copied().map(AttributeValue::Int),
            Role::Flag => FLAGS.get(place?).copied().map(AttributeValue::Int),
            Role::TargetShape => Some(AttributeValue::Ints(self.target(digit))),
            Role::Data | Role::Ignored => None,
        }
    }

    fn target(&self, index: u64) -> Vec<i64> {
        let entries = target_entries();
        let mut rest = index;
        let of_rank = |rank| (entries.len() as u64).checked_pow(rank);
        let rank = (0..=self.max_target_rank).find(|&rank| skip(&mut rest, of_rank(rank)));
        word(rest, rank.unwrap_or(0), &entries)
    }
}

/// Whether an index falls into a part of a size; if not, the part is taken off it.
fn skip(index: &mut u64, size: Option<u64>) -> bool {
    let size = size.unwrap_or(u64::MAX);
    if *index < size {
        return true;
    }
    *index -= size;
    false
}

/// Word `index`, in lexical order, of a length over an alphabet.
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
            let cases: HashSet<Case> = (0..len).map(|index| space.case(index).unwrap()).collect();
            assert_eq!(cases.len() as u64, len);
            assert_eq!(space.case(len), None);
            assert!(cases.iter().all(|case| {
                let data = &case.sources[0];
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
