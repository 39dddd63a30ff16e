//! Each operator has at least one planted fault. A campaign must find each fault within 20,000 cases of its operator.

use std::time::Duration;

use crate::campaign::{self, Options, Statistics, Stream};
use crate::case::{Generator, has_twice};
use crate::operator::cast::CAST;
use crate::operator::concat::CONCAT;
use crate::operator::constant_of_shape::CONSTANT_OF_SHAPE;
use crate::operator::depth_to_space::DEPTH_TO_SPACE;
use crate::operator::expand::EXPAND;
use crate::operator::flatten::FLATTEN;
use crate::operator::gather::GATHER;
use crate::operator::gather_elements::GATHER_ELEMENTS;
use crate::operator::gather_nd::GATHER_ND;
use crate::operator::identity::IDENTITY;
use crate::operator::pad::PAD;
use crate::operator::reshape::RESHAPE;
use crate::operator::shape::SHAPE;
use crate::operator::size::SIZE;
use crate::operator::slice::SLICE;
use crate::operator::space_to_depth::SPACE_TO_DEPTH;
use crate::operator::split::SPLIT;
use crate::operator::squeeze::SQUEEZE;
use crate::operator::tile::TILE;
use crate::operator::transpose::TRANSPOSE;
use crate::operator::trilu::TRILU;
use crate::operator::unsqueeze::UNSQUEEZE;
use crate::operator::{Attribute, AttributeValue, Expectation, OPERATORS, Operator};
use crate::runtime::planted::with_opinion;
use crate::runtime::{Runtime, Stop};
use crate::tensor::{ElementType, Tensor};

/// A planted fault: the result that the runtime takes for right in a call of an operator.
struct Planted {
    name: &'static str,
    operator: &'static Operator,
    takes_for_right: fn(Seen) -> Expectation,
}

const PLANTED: &[Planted] = &[
    row("the last dim is lost of rank 4", &SHAPE, |seen| seen.altered(|t| (t.len() == 4).then(|| cut(t, 3)))),
    row("a 0 in the shape is a size", &RESHAPE, |seen| {
        seen.with_attribute("allowzero", AttributeValue::Int(1)).right()
    }),
    row("a negative axis is one too low", &FLATTEN, |seen| {
        seen.with_numbers("axis", |a| if a < 0 { a.saturating_sub(1) } else { a }).right()
    }),
    row("a dim of zero is not counted", &SIZE, |mut seen| {
        seen.fill_empty();
        seen.right()
    }),
    row("the second half of a packed byte", &IDENTITY, |seen| seen.altered(without_odd_nibbles)),
    row("long strings are cut", &IDENTITY, |seen| {
        seen.altered(|t| strings(t, |s| if s.len() > 16 { &s[..16] } else { s }))
    }),
    row("a duplicate axis takes two dims", &SQUEEZE, |seen| {
        if seen.has_repeat("axes") {
            seen.altered(|t| t.dims().iter().position(|&dim| dim == 1).and_then(|axis| without_dim(t, axis)))
        } else {
            seen.right()
        }
    }),
    row("a dim of zero is squeezed", &SQUEEZE, |seen| {
        if seen.data().is_some_and(Tensor::is_empty) {
            seen.altered(|t| t.dims().iter().position(|&dim| dim == 0).and_then(|axis| without_dim(t, axis)))
        } else {
            seen.right()
        }
    }),
    row("axes that are not in order are put in as they come", &UNSQUEEZE, |seen| {
        let is_in_order = seen.numbers("axes").is_none_or(|axes| axes.is_sorted());
        if is_in_order {
            seen.right()
        } else {
            seen.altered(|t| t.with_dims(t.dims().iter().rev().copied().collect()).ok())
        }
    }),
    row("a duplicate axis is taken once", &UNSQUEEZE, |mut seen| {
        if seen.has_repeat("axes") {
            seen.set_numbers("axes", Vec::dedup);
        }
        seen.right()
    }),
    row("strings stay where they were", &TRANSPOSE, |seen| {
        let data = seen.data().filter(|data| data.element_type() == ElementType::String).cloned();
        seen.altered(|t| data.as_ref()?.with_dims(t.dims().to_vec()).ok())
    }),
    row("bytes are moved, and not the two elements in each", &TRANSPOSE, |seen| seen.altered(swapped_nibbles)),
    row("a dim of zero in the shape is 1", &EXPAND, |seen| {
        seen.with_numbers("shape", |dim| if dim == 0 { 1 } else { dim }).right()
    }),
    row("a shape that is too short is refused", &EXPAND, |seen| {
        let rank = seen.data().map_or(0, Tensor::rank);
        if seen.numbers("shape").is_some_and(|dims| dims.len() < rank) { refused() } else { seen.right() }
    }),
    row("no copies are one copy", &TILE, |seen| seen.with_numbers("repeats", |count| count.max(1)).right()),
    row("an empty shape gives nothing", &CONSTANT_OF_SHAPE, |seen| {
        seen.altered(|t| (t.rank() == 0).then(|| cut(t, 0)))
    }),
    row("the value keeps 32 bits", &CONSTANT_OF_SHAPE, |seen| seen.altered(|t| bits(t, |_, bits| bits & 0xffff_ffff))),
    row("an input without elements is skipped", &CONCAT, |mut seen| {
        let full: Vec<Option<Tensor>> =
            seen.inputs.iter().filter(|t| t.as_ref().is_none_or(|t| !t.is_empty())).cloned().collect();
        if !full.is_empty() {
            seen.inputs = full;
        }
        seen.right()
    }),
    row("a negative axis is one too low", &CONCAT, |seen| {
        seen.with_numbers("axis", |a| if a < 0 { a.saturating_sub(1) } else { a }).right()
    }),
    row("the last part of an uneven split is as long as the others", &SPLIT, |seen| {
        let is_counted = seen.numbers("split").is_none() && seen.outputs > 1;
        match seen.right() {
            Expectation::Defined(parts)
                if is_counted && parts.last().map(Tensor::dims) != parts.first().map(Tensor::dims) =>
            {
                let mut parts = parts;
                let last = parts.len() - 1;
                parts[last] = parts[0].clone();
                Expectation::Defined(parts)
            }
            right => right,
        }
    }),
    row("a part of no length is refused", &SPLIT, |seen| {
        if seen.numbers("split").is_some_and(|lengths| lengths.contains(&0)) { refused() } else { seen.right() }
    }),
    row("the end is one too low", &SLICE, |seen| {
        seen.with_numbers("ends", |end| if end > 0 && end < 1 << 40 { end - 1 } else { end }).right()
    }),
    row("a negative step goes forward", &SLICE, |seen| seen.with_numbers("steps", i64::saturating_abs).right()),
    row("the greatest end is an element", &SLICE, |seen| {
        seen.with_numbers("ends", |end| if end == i64::MAX { -1 } else { end }).right()
    }),
    row("the last index is the first", &GATHER, |seen| {
        let axis = seen.numbers("axis").and_then(|axis| axis.first().copied()).unwrap_or(0);
        let dims = seen.data().map(Tensor::dims).unwrap_or_default();
        let place = if axis < 0 { axis.saturating_add(i64::try_from(dims.len()).unwrap_or(0)) } else { axis };
        let dim = usize::try_from(place).ok().and_then(|place| dims.get(place).copied()).unwrap_or(0);
        seen.with_numbers("indices", |index| if index > 0 && index == dim - 1 { 0 } else { index }).right()
    }),
    row("the index at the end is accepted", &GATHER, |seen| {
        let axis = seen.numbers("axis").and_then(|axis| axis.first().copied()).unwrap_or(0);
        let dim = usize::try_from(axis).ok().and_then(|place| seen.data()?.dims().get(place).copied()).unwrap_or(0);
        seen.with_numbers("indices", |index| if index == dim { index - 1 } else { index }).right()
    }),
    row("what does not fit is the nearest that does", &CAST, |seen| {
        let is_narrowed = seen.data().is_some_and(|data| data.element_type() == ElementType::Int64);
        let data = seen.data().cloned();
        seen.altered(|t| {
            let numbers = data.as_ref().filter(|_| is_narrowed && t.element_type() == ElementType::Int32)?.int64s()?;
            let near = |number: &i64| i32::try_from(*number).unwrap_or(if *number < 0 { i32::MIN } else { i32::MAX });
            let near = |number: &i64| u128::from(near(number).cast_unsigned());
            Tensor::from_element_bits(ElementType::Int32, t.dims().to_vec(), numbers.iter().map(near)).ok()
        })
    }),
    row("true is 255", &CAST, |seen| {
        let is_bool = seen.data().is_some_and(|data| data.element_type() == ElementType::Bool);
        seen.altered(|t| is_bool.then(|| bits(t, |_, bits| bits * 255))?)
    }),
    row("reflect repeats the edge", &PAD, |seen| {
        if seen.text("mode") == Some("reflect") {
            seen.with_attribute("mode", AttributeValue::String("edge".to_owned())).right()
        } else {
            seen.right()
        }
    }),
    row("negative pads add nothing and take nothing", &PAD, |seen| seen.with_numbers("pads", |pad| pad.max(0)).right()),
    row("a negative index is the first", &GATHER_ELEMENTS, |seen| {
        seen.with_numbers("indices", |index| index.max(0)).right()
    }),
    row("batches are not looked at", &GATHER_ND, |seen| {
        seen.with_attribute("batch_dims", AttributeValue::Int(0)).right()
    }),
    row("a negative index is the first", &GATHER_ND, |seen| seen.with_numbers("indices", |index| index.max(0)).right()),
    row("CRD is DCR", &DEPTH_TO_SPACE, |seen| {
        if seen.text("mode") == Some("CRD") {
            seen.with_attribute("mode", AttributeValue::String("DCR".to_owned())).right()
        } else {
            seen.right()
        }
    }),
    row("the last element is lost", &SPACE_TO_DEPTH, |seen| {
        seen.altered(|t| bits(t, |place, bits| if place + 1 == t.len() { 0 } else { bits }))
    }),
    row("the lower triangle has one diagonal more", &TRILU, |seen| {
        if seen.numbers("upper") == Some(vec![0]) {
            seen.with_numbers("k", |k| k.saturating_add(1)).right()
        } else {
            seen.right()
        }
    }),
    row("k keeps 32 bits", &TRILU, |seen| seen.with_numbers("k", |k| k << 32 >> 32).right()),
];

const fn row(name: &'static str, operator: &'static Operator, takes_for_right: fn(Seen) -> Expectation) -> Planted {
    Planted { name, operator, takes_for_right }
}

/// A call as the faulty runtime sees it.
struct Seen {
    operator: &'static Operator,
    opset: u8,
    attributes: Vec<Attribute>,
    inputs: Vec<Option<Tensor>>,
    outputs: usize,
}

impl Seen {
    /// What the specification demands.
    fn right(&self) -> Expectation {
        self.operator.evaluate(self.opset, &self.attributes, &self.inputs, self.outputs)
    }

    /// The right outputs, but each is replaced by the tensor that `other` gives for it, if any.
    fn altered(&self, other: impl Fn(&Tensor) -> Option<Tensor>) -> Expectation {
        let right = self.right();
        let altered = |outputs: &[Tensor]| outputs.iter().map(|t| other(t).unwrap_or_else(|| t.clone())).collect();
        right.outputs().map(altered).map_or_else(|| right.clone(), Expectation::Defined)
    }

    fn data(&self) -> Option<&Tensor> {
        self.inputs.first()?.as_ref()
    }

    /// The place of an input by its name.
    fn place(&self, name: &str) -> Option<usize> {
        self.operator.version_at(self.opset)?.inputs.iter().position(|spec| spec.name == name)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|attribute| attribute.name == name).and_then(|attribute| match &attribute.value {
            AttributeValue::String(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The numbers of an attribute or of an input.
    fn numbers(&self, name: &str) -> Option<Vec<i64>> {
        match self.attributes.iter().find(|attribute| attribute.name == name).map(|attribute| &attribute.value) {
            Some(AttributeValue::Int(number)) => Some(vec![*number]),
            Some(AttributeValue::Ints(numbers)) => Some(numbers.clone()),
            Some(_) => None,
            None => integers(self.inputs.get(self.place(name)?)?.as_ref()?),
        }
    }

    fn has_repeat(&self, name: &str) -> bool {
        self.numbers(name).is_some_and(|numbers| has_twice(&numbers))
    }

    fn with_numbers(mut self, name: &str, change: impl Fn(i64) -> i64) -> Seen {
        self.set_numbers(name, |numbers| numbers.iter_mut().for_each(|number| *number = change(*number)));
        self
    }

    /// Changes the numbers of an attribute or of an input, if there are any.
    fn set_numbers(&mut self, name: &str, change: impl Fn(&mut Vec<i64>)) {
        let place = self.place(name);
        if let Some(attribute) = self.attributes.iter_mut().find(|attribute| attribute.name == name) {
            match &mut attribute.value {
                AttributeValue::Int(number) => {
                    let mut numbers = vec![*number];
                    change(&mut numbers);
                    *number = numbers[0];
                }
                AttributeValue::Ints(numbers) => change(numbers),
                _ => {}
            }
        } else if let Some(Some(tensor)) = place.and_then(|place| self.inputs.get_mut(place))
            && let Some(mut numbers) = integers(tensor)
        {
            change(&mut numbers);
            let mask =
                if tensor.element_type() == ElementType::Int32 { u128::from(u32::MAX) } else { u128::from(u64::MAX) };
            let dims = if numbers.len() == tensor.len() {
                tensor.dims().to_vec()
            } else {
                vec![i64::try_from(numbers.len()).unwrap()]
            };
            let bits = numbers.iter().map(|number| u128::from(number.cast_unsigned()) & mask);
            *tensor = Tensor::from_element_bits(tensor.element_type(), dims, bits).unwrap();
        }
    }

    /// The call with an attribute, if its version has it.
    fn with_attribute(mut self, name: &str, value: AttributeValue) -> Seen {
        let version = self.operator.version_at(self.opset);
        if version.is_some_and(|version| version.attributes.iter().any(|spec| spec.name == name)) {
            self.attributes.retain(|attribute| attribute.name != name);
            self.attributes.push(Attribute { name: name.to_owned(), value });
        }
        self
    }

    /// Replaces data without elements by one element.
    fn fill_empty(&mut self) {
        if let Some(Some(data)) = self.inputs.first_mut().filter(|data| data.as_ref().is_some_and(Tensor::is_empty)) {
            *data = Tensor::zero(data.element_type());
        }
    }
}

fn refused() -> Expectation {
    Expectation::Reject { rule: crate::operator::Rule::VAST_DIMS, lenient: None }
}

fn integers(tensor: &Tensor) -> Option<Vec<i64>> {
    let is_index = matches!(tensor.element_type(), ElementType::Int32 | ElementType::Int64);
    let numbers = tensor.integers().filter(|_| is_index)?;
    numbers.into_iter().map(|number| i64::try_from(number).ok()).collect()
}

/// The tensor with other bits in its elements; `None` for strings.
fn bits(tensor: &Tensor, change: impl Fn(usize, u128) -> u128) -> Option<Tensor> {
    if tensor.element_type() == ElementType::String {
        return None;
    }
    let bits = (0..tensor.len()).map(|place| change(place, tensor.element_bits(place)));
    Tensor::from_element_bits(tensor.element_type(), tensor.dims().to_vec(), bits).ok()
}

fn strings(tensor: &Tensor, change: impl Fn(&[u8]) -> &[u8]) -> Option<Tensor> {
    let crate::tensor::Elements::Strings(all) = tensor.elements() else { return None };
    let changed = (0..tensor.len()).map(|place| change(&all[place]));
    Tensor::from_strings(tensor.dims().to_vec(), changed.collect()).ok()
}

/// The first few elements, as a vector.
fn cut(tensor: &Tensor, count: usize) -> Tensor {
    let first = (0..count).map(|place| (tensor, place));
    Tensor::assembled(tensor.element_type(), vec![i64::try_from(count).unwrap()], first).unwrap()
}

fn without_dim(tensor: &Tensor, axis: usize) -> Option<Tensor> {
    let mut dims = tensor.dims().to_vec();
    dims.remove(axis);
    Tensor::assembled(tensor.element_type(), dims, (0..tensor.len()).map(|place| (tensor, place))).ok()
}

fn is_nibble(tensor: &Tensor) -> bool {
    matches!(tensor.element_type(), ElementType::Int4 | ElementType::Uint4 | ElementType::Float4e2m1)
}

fn without_odd_nibbles(tensor: &Tensor) -> Option<Tensor> {
    is_nibble(tensor).then(|| bits(tensor, |place, bits| if place % 2 == 1 { 0 } else { bits }))?
}

fn swapped_nibbles(tensor: &Tensor) -> Option<Tensor> {
    let is_swapped = is_nibble(tensor) && tensor.rank() > 1 && tensor.len().is_multiple_of(2);
    is_swapped.then(|| bits(tensor, |place, _| tensor.element_bits(place ^ 1)))?
}

/// The number of cases of a fault's operator until the fault is found; `None` if `most` cases do not show it.
fn cases_until_found(planted: &Planted, most: u64) -> Option<u64> {
    let open = || {
        let Planted { operator: faulty, takes_for_right, .. } = *planted;
        let opinion = move |operator: &'static Operator,
                            opset: u8,
                            attributes: &[Attribute],
                            inputs: &[Option<Tensor>],
                            outputs: usize| {
            let seen = Seen { operator, opset, attributes: attributes.to_vec(), inputs: inputs.to_vec(), outputs };
            if operator == faulty { takes_for_right(seen) } else { seen.right() }
        };
        Ok(vec![with_opinion(Box::new(opinion)) as Box<dyn Runtime>])
    };
    let source = Stream::new(Generator::new(vec![planted.operator]), 3, vec![]);
    let options = Options {
        source: &source,
        from: 0,
        cases: Some(most),
        reserve: &|_| Duration::ZERO,
        threads: 1,
        batch: 64,
        expected: &[],
        known: &[],
        give_up: &|_| {},
    };
    let stop = Stop::default();
    let found = campaign::run(&options, None, &open, &stop, &|so_far: &Statistics| {
        if !so_far.groups.is_empty() {
            stop.ask();
        }
    });
    let found = found.unwrap();
    (!found.groups.is_empty()).then_some(found.cases)
}

#[test]
fn a_fault_in_each_operator_is_found_within_20_000_cases() {
    let without: Vec<_> =
        OPERATORS.iter().filter(|operator| PLANTED.iter().all(|row| row.operator != **operator)).collect();
    assert!(without.is_empty(), "no fault is planted in {without:?}");
    let found: Vec<(&str, &Operator, Option<u64>)> =
        PLANTED.iter().map(|row| (row.name, row.operator, cases_until_found(row, 20_000))).collect();
    let missed: Vec<_> = found.iter().filter(|(.., cases)| cases.is_none()).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
