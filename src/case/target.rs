//! The target shape of a case: what a Reshape is asked for, as the attribute that it was or the operand that it is.

use super::{Contents, MAX_RANK, Operand, Single};
use crate::operator::{Attribute, AttributeValue, Role};
use crate::tensor::{ElementType, element_count};

impl Operand {
    /// The elements as int64, where they are of that type and few enough to be a shape.
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

/// Where a case has its target shape.
pub(super) enum TargetPlace {
    /// The place of an attribute.
    Attribute(usize),
    /// The place of an operand.
    Operand(usize),
}

impl Single {
    /// The target shape, as the attribute or the operand that it is.
    pub fn target(&self) -> Option<Vec<i64>> {
        match self.target_place()? {
            TargetPlace::Attribute(place) => match &self.attributes[place].value {
                AttributeValue::Ints(target) => Some(target.clone()),
                _ => None,
            },
            TargetPlace::Operand(place) => self.operands[place].as_ref()?.int64s(),
        }
    }

    /// The attribute or the operand that is the target shape at its opset; or the operand that would be at the newest.
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
    pub(super) fn set_target(&mut self, target: Vec<i64>) {
        match self.target_place() {
            Some(TargetPlace::Attribute(place)) => self.attributes[place].value = AttributeValue::Ints(target),
            Some(TargetPlace::Operand(place)) => {
                let Some(operand) = &mut self.operands[place] else { return };
                let plain = Operand::vector(&target);
                // A shape operand of a wrong rank keeps it, as far as its length lets it.
                let dims = match (operand.dims.len(), plain.dims[0]) {
                    (0, 1) => vec![],
                    (0 | 1, length) => vec![length],
                    (rank, length) => (1..rank).map(|_| 1).chain([length]).collect(),
                };
                *operand = Operand { wiring: operand.wiring, dims, ..plain };
            }
            None => {}
        }
    }
}
