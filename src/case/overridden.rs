//! The default of a graph input that is fed: the contents of its initializer.

use super::contents::own_bits;
use super::{Operand, Single};
use crate::operator::{Expectation, Role, Types};
use crate::tensor::{ElementType, Elements, Strings, Tensor, mask, product};

impl Single {
    /// The default that the operand overrides: a tensor of the same type and dims. If possible, it is chosen such that a runtime
    /// that uses the default by mistake gives another answer. `None` if the operand is left out.
    pub fn overridden(&self, place: usize) -> Option<Tensor> {
        let tensors = &self.tensors();
        let fed = tensors.get(place)?.as_ref()?;
        let types = self.version().and_then(|version| version.input(place)).map(|spec| spec.types);
        let is_of_type = fed.element_type() == ElementType::Int64 || types == Some(Types::Index);
        let is_parameter = self.is_parameter(place) && is_of_type;
        match self.operands[place].as_ref().filter(|_| is_parameter).and_then(Operand::numbers) {
            Some(numbers) => Some(self.other_parameter(place, tensors, fed, &numbers)),
            None => Some(complement(fed)),
        }
    }

    /// Another parameter with which the call is valid and has another answer, so that no runtime may refuse the model for its
    /// default. If there is none, the parameter that is fed.
    fn other_parameter(&self, place: usize, tensors: &[Option<Tensor>], fed: &Tensor, numbers: &[i64]) -> Tensor {
        let count = self.data().and_then(|data| i64::try_from(product(data.dims.iter().copied())?).ok());
        let is_target = self.role(place) == Role::TargetShape;
        let all_at = |at: usize| {
            let mut target = vec![1; fed.len()];
            *target.get_mut(at)? = count?;
            Some(target)
        };
        let reversed = numbers.iter().rev().copied().collect();
        let alike = |number: i64| (!is_target).then(|| vec![number; fed.len()]);
        let of_target = |at: usize| all_at(at).filter(|_| is_target);
        let last = fed.len().wrapping_sub(1);
        let candidates = [of_target(0), of_target(last), Some(reversed), alike(0), alike(1), alike(2), alike(-1)];
        let demanded = |target: &Tensor| {
            let mut tensors = tensors.to_vec();
            tensors[place] = Some(target.clone());
            self.operator.evaluate(self.opset, &self.attributes, &tensors, self.outputs)
        };
        let own = demanded(fed);
        let is_other = |target: &Tensor| matches!(demanded(target), other @ Expectation::Defined(_) if other != own);
        let candidates = candidates.into_iter().flatten();
        let of_numbers = |numbers: Vec<i64>| {
            let low = mask(fed.element_type().bits());
            let bits = numbers.into_iter().map(|number| u128::from(number.cast_unsigned()) & low);
            Tensor::from_element_bits(fed.element_type(), fed.dims().to_vec(), bits).ok()
        };
        let mut shaped = candidates.filter_map(of_numbers);
        shaped.find(is_other).unwrap_or_else(|| fed.clone())
    }
}

/// A tensor that differs in every element. A NaN becomes 0.
pub(super) fn complement(tensor: &Tensor) -> Tensor {
    let (element_type, dims) = (tensor.element_type(), tensor.dims().to_vec());
    let made = match tensor.elements() {
        Elements::Strings(strings) => Tensor::from_strings(dims, strings.iter().map(other_string).collect::<Strings>()),
        Elements::Packed(_) => {
            let own = own_bits(element_type);
            let other = |bits: u128| if element_type.is_nan(bits) { 0 } else { !bits & own };
            let elements = (0..tensor.len()).map(|index| other(tensor.element_bits(index)));
            Tensor::from_element_bits(element_type, dims, elements)
        }
    };
    made.unwrap_or_else(|_| tensor.clone())
}

fn other_string(string: &[u8]) -> Vec<u8> {
    [b"not ", string].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;
    use crate::tensor::{Difference, differences};

    fn overridden(line: &str, place: usize) -> (Tensor, Tensor) {
        let case: Single = line.parse::<Case>().unwrap().single().unwrap(); // line.parse().unwrap();
        let tensors = case.tensors();
        let default = case.overridden(place).unwrap();
        (tensors[place].clone().unwrap(), default)
    }

    #[test]
    fn every_element_of_the_data_is_another() {
        for element_type in ElementType::ALL {
            for contents in ["", ":special", ":random(7)"] {
                let (fed, default) = overridden(&format!("Flatten@28 {element_type}[7,3]{contents}"), 0);
                assert_eq!((fed.element_type(), fed.dims()), (default.element_type(), default.dims()));
                let found = differences(&fed, &default);
                assert!(matches!(found[..], [Difference::Values(_)]), "{element_type}{contents}: {found:?}");
                let differs = |index: usize| match (fed.elements(), default.elements()) {
                    (Elements::Strings(fed), Elements::Strings(default)) => fed[index] != default[index],
                    _ => fed.element_bits(index) != default.element_bits(index),
                };
                assert!((0..fed.len()).all(differs), "{element_type}{contents}");
            }
        }
    }

    #[test]
    fn another_target_is_valid_and_gives_another_answer() {
        let target = |line: &str| overridden(line, 1).1.int64s().unwrap();
        assert_eq!(target("Reshape@28 float[2,3] int64[2]{3,2}"), [6, 1]);
        assert_eq!(target("Reshape@28 float[2,3] int64[2]{6,1}"), [1, 6]);
        assert_eq!(target("Reshape@28 float[2,3] int64[2]{-1,1}"), [1, 6], "[6,1] gives the same");
        assert_eq!(target("Reshape@28 float[0,3] int64[2]{0,3}"), [0, 1]);
        assert_eq!(target("Reshape@28 float[3,0] int64[2]{3,0}"), [1, 0], "the 0 of [0,1] copies a 3");
        assert_eq!(target("Reshape@28 float[2,3] int64[1]{6}"), [6], "there is no other of this length");
        assert_eq!(target("Reshape@28 float[] int64[0]{}"), [0; 0]);
        assert_eq!(target("Reshape@28 float[2,3] int64[1]{7}"), [6], "nobody may refuse the default");
        let (fed, default) = overridden("Reshape@28 float[2] int32[1]", 1);
        assert_ne!(fed, default, "what is no target shape is data");
    }
}
