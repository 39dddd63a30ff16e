//! The parameters of a case: lists of numbers that decide about the output, as attributes or as operands. The target shape is the
//! parameter of Reshape.

use super::{Contents, MAX_RANK, Operand, Single};
use crate::operator::{Attribute, AttributeValue, Role};
use crate::tensor::{ElementType, Tensor, element_count};

impl Operand {
    /// The elements, if they are int64 and few enough to be a shape.
    pub fn int64s(&self) -> Option<Vec<i64>> {
        if self.element_type != ElementType::Int64 || element_count(&self.dims).is_none_or(|count| count > MAX_RANK) {
            return None;
        }
        match &self.contents {
            Contents::Bits(bits) => {
                Some(bits.iter().map(|&bits| u64::try_from(bits).unwrap_or_default().cast_signed()).collect())
            }
            contents => contents.tensor(self.element_type, &self.dims).int64s(),
        }
    }
}

impl Operand {
    /// The elements of an int32 or int64 parameter, if there are at most [`MAX_RANK`].
    pub fn numbers(&self) -> Option<Vec<i64>> {
        if self.element_type != ElementType::Int32 {
            return self.int64s();
        }
        element_count(&self.dims).filter(|&count| count <= MAX_RANK)?;
        let numbers = self.tensor().integers()?;
        Some(numbers.into_iter().filter_map(|number| i64::try_from(number).ok()).collect())
    }

    /// Gives a parameter other elements. An int32 parameter stays int32 if they fit; otherwise the type becomes int64. A rank other
    /// than 1 stays if the number of elements allows it.
    pub(super) fn set_numbers(&mut self, numbers: &[i64]) {
        let plain = Operand::vector(numbers);
        let dims = match (self.dims.len(), plain.dims[0]) {
            (0, 1) => vec![],
            (0 | 1, length) => vec![length],
            (rank, length) => (1..rank).map(|_| 1).chain([length]).collect(),
        };
        let (wiring, is_short) = (self.wiring, self.element_type == ElementType::Int32);
        *self = Operand { dims, wiring, ..plain };
        if is_short && numbers.iter().all(|&number| i32::try_from(number).is_ok()) {
            self.retype_numbers(ElementType::Int32);
        }
    }

    /// Gives a parameter another integer type. Each element keeps its low bits.
    pub(super) fn retype_numbers(&mut self, element_type: ElementType) {
        let Some(numbers) = self.numbers() else { return };
        let low = crate::tensor::mask(element_type.bits());
        let bits = numbers.iter().map(|number| u128::from(number.cast_unsigned()) & low);
        if let Ok(tensor) = Tensor::from_element_bits(element_type, self.dims.clone(), bits) {
            *self = Operand::of(&tensor, self.wiring);
        }
    }
}

/// The place of a parameter in a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetPlace {
    /// The place of an attribute.
    Attribute(usize),
    /// The place of an operand.
    Operand(usize),
}

impl Single {
    /// The target shape, from its attribute or its operand.
    pub fn target(&self) -> Option<Vec<i64>> {
        match self.target_place()? {
            TargetPlace::Operand(place) => self.operands[place].as_ref()?.int64s(),
            place @ TargetPlace::Attribute(_) => self.numbers(place),
        }
    }

    /// The parameters that are lists of numbers, the target shape first.
    pub(super) fn parameters(&self) -> Vec<TargetPlace> {
        let mut places: Vec<TargetPlace> = self.target_place().into_iter().collect();
        let role = |name: &str| {
            self.version().and_then(|version| version.attributes.iter().find(|spec| spec.name == name)).map(|s| s.role)
        };
        let is_parameter = |role: Option<Role>| role.is_some_and(|role| !matches!(role, Role::Data | Role::Ignored));
        let attributes = (0..self.attributes.len()).filter(|&place| is_parameter(role(&self.attributes[place].name)));
        let operands = (0..self.operands.len()).filter(|&place| self.is_parameter(place));
        let all = attributes.map(TargetPlace::Attribute).chain(operands.map(TargetPlace::Operand));
        let others: Vec<TargetPlace> =
            all.filter(|&place| !places.contains(&place) && self.numbers(place).is_some()).collect();
        places.extend(others);
        places
    }

    /// Whether an operand is a parameter: its values decide about the output.
    pub(super) fn is_parameter(&self, place: usize) -> bool {
        let spec = self.version().and_then(|version| version.input(place));
        spec.is_some_and(|spec| spec.role != Role::Data)
    }

    /// Whether an operand is data: its elements are moved or counted.
    pub(super) fn is_data(&self, place: usize) -> bool {
        match self.version() {
            Some(version) => version.input(place).is_some_and(|spec| spec.role == Role::Data),
            None => place == 0,
        }
    }

    /// Gives all data another type.
    pub fn retype_data(&mut self, element_type: ElementType) {
        for place in (0..self.operands.len()).filter(|&place| self.is_data(place)).collect::<Vec<_>>() {
            self.operands[place].iter_mut().for_each(|data| data.retype(element_type));
        }
    }

    /// The numbers of a parameter.
    pub(super) fn numbers(&self, place: TargetPlace) -> Option<Vec<i64>> {
        match place {
            TargetPlace::Attribute(place) => match &self.attributes[place].value {
                AttributeValue::Ints(numbers) => Some(numbers.clone()),
                _ => None,
            },
            TargetPlace::Operand(place) => self.operands[place].as_ref()?.numbers(),
        }
    }

    /// Sets the numbers of a parameter.
    pub(super) fn set_numbers(&mut self, place: TargetPlace, numbers: &[i64]) {
        match place {
            TargetPlace::Attribute(place) => self.attributes[place].value = AttributeValue::Ints(numbers.to_vec()),
            TargetPlace::Operand(place) => {
                if let Some(operand) = &mut self.operands[place] {
                    operand.set_numbers(numbers);
                }
            }
        }
    }

    /// The attribute that is the target shape at the opset, or else the operand that is the target shape at the newest opset.
    pub(super) fn target_place(&self) -> Option<TargetPlace> {
        let version = self.version()?;
        let is_target = |attribute: &Attribute| {
            version.attributes.iter().any(|spec| spec.role == Role::TargetShape && spec.name == attribute.name)
        };
        if let Some(place) = self.attributes.iter().position(is_target) {
            return Some(TargetPlace::Attribute(place));
        }
        let newest = self.operator.versions.last()?;
        let place = newest.target_input()?;
        self.operands.get(place)?.as_ref().map(|_| TargetPlace::Operand(place))
    }

    /// Sets the target shape, wherever the case has it.
    pub(super) fn set_target(&mut self, target: &[i64]) {
        if let Some(place) = self.target_place() {
            self.set_numbers(place, target);
        }
    }
}
