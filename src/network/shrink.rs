//! Makes a part of a model smaller: smaller dims and simpler elements.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::graph::{Part, info};
use super::locate::Search;
use crate::case::Encoding;
use crate::model::tensor_proto;
use crate::runtime::Execution;
use crate::tensor::{Elements, Tensor};

/// A part that shows the fault, with the outputs of the reference and the execution of the runtime.
type Shown = (Part, Vec<Tensor>, Execution);

/// The most models that are tried.
const MOST_TRIES: usize = 400;

/// The smallest part that still shows the fault. Each size of a dim is made smaller in all places at once, then in one place at a
/// time; then all elements of a tensor are made 0 or 1.
pub(super) fn smaller(search: &mut Search, mut shown: Shown, depth: usize) -> Shown {
    let mut tries = 0..MOST_TRIES;
    loop {
        let candidates = candidates(search, &shown.0);
        let next = candidates.zip(&mut tries).find_map(|(part, _)| shows(search, part, depth));
        match next {
            Some(smaller) if !search.stop.is_asked() => shown = smaller,
            _ => return shown,
        }
    }
}

/// The part with its results, if the reference answers and the runtime shows the fault.
fn shows(search: &mut Search, mut part: Part, depth: usize) -> Option<Shown> {
    let expected = search.expected(&part)?;
    let declared = part.model.graph.iter_mut().flat_map(|graph| &mut graph.output);
    for (output, tensor) in declared.zip(&expected) {
        let own = info(super::name(output), Some(tensor));
        *output = own;
    }
    let execution = search.run(&part)?;
    search.is_sign(&expected, &execution, depth).then_some((part, expected, execution))
}

/// The tensors of a part by name: its inputs and its initializers.
fn tensors(search: &Search, part: &Part) -> Vec<(Arc<str>, Tensor)> {
    let initializers = part.model.graph.iter().flat_map(|graph| &graph.initializer);
    let read = initializers
        .filter_map(|proto| Some((Arc::from(proto.name.as_deref()?), search.graph.network.initializer(proto)?)));
    part.feeds.iter().cloned().chain(read).collect()
}

fn candidates<'a>(search: &Search, part: &'a Part) -> impl Iterator<Item = Part> + use<'a> {
    let tensors = tensors(search, part);
    let sizes: BTreeSet<i64> =
        tensors.iter().flat_map(|(_, tensor)| tensor.dims()).copied().filter(|&size| size > 1).collect();
    let lesser =
        |size: i64| BTreeSet::from([1, 2, size / 2, size - 1]).into_iter().filter(move |&new| 0 < new && new < size);
    let everywhere: Vec<Reduction> =
        sizes.iter().rev().flat_map(|&size| lesser(size).map(move |new| Reduction::Everywhere { size, new })).collect();
    let in_one_place = tensors.iter().flat_map(|(name, tensor)| {
        let sizes = tensor.dims().iter().enumerate().filter(|(_, size)| **size > 1);
        sizes.flat_map(move |(axis, &size)| {
            lesser(size).map(move |new| Reduction::Axis { name: Arc::clone(name), axis, new })
        })
    });
    let in_one_place: Vec<Reduction> = in_one_place.collect();
    let plainer = tensors
        .iter()
        .filter(|(_, tensor)| !tensor.is_empty())
        .flat_map(|(name, _)| [0, 1].map(|number| Reduction::Fill { name: Arc::clone(name), number }));
    let plainer: Vec<Reduction> = plainer.collect();
    let all = everywhere.into_iter().chain(in_one_place).chain(plainer);
    all.filter_map(move |change| {
        let changed: Vec<(Arc<str>, Tensor)> =
            tensors.iter().filter_map(|(name, tensor)| Some((Arc::clone(name), change.of(name, tensor)?))).collect();
        (!changed.is_empty()).then(|| with(part, &changed))
    })
}

/// One way to make a part smaller.
enum Reduction {
    /// Gives all dims of this size a new size.
    Everywhere {
        size: i64,
        new: i64,
    },
    Axis {
        name: Arc<str>,
        axis: usize,
        new: i64,
    },
    /// Makes all elements this number.
    Fill {
        name: Arc<str>,
        number: u8,
    },
}

impl Reduction {
    /// The tensor that replaces another one; `None` if it stays.
    fn of(&self, name: &str, tensor: &Tensor) -> Option<Tensor> {
        match self {
            Reduction::Everywhere { size, new } => {
                let dims: Vec<i64> = tensor.dims().iter().map(|dim| if dim == size { *new } else { *dim }).collect();
                (dims != tensor.dims()).then(|| first_of(tensor, &dims))?
            }
            Reduction::Axis { name: own, axis, new } if **own == *name => {
                let mut dims = tensor.dims().to_vec();
                dims[*axis] = *new;
                first_of(tensor, &dims)
            }
            Reduction::Fill { name: own, number } if **own == *name => {
                filled(tensor, *number).filter(|filled| filled != tensor)
            }
            _ => None,
        }
    }
}

/// The tensor cut down to smaller dims: the first elements of each axis; `None` for strings.
fn first_of(tensor: &Tensor, dims: &[i64]) -> Option<Tensor> {
    let Elements::Packed(_) = tensor.elements() else { return None };
    let count = crate::tensor::element_count(dims)?;
    let place = |index: usize| {
        let mut rest = i64::try_from(index).unwrap_or(0);
        let (mut place, mut stride) = (0, 1);
        for (&size, &old) in dims.iter().zip(tensor.dims()).rev() {
            place += rest % size * stride;
            rest /= size;
            stride *= old;
        }
        usize::try_from(place).unwrap_or(0)
    };
    let bits = (0..count).map(|index| tensor.element_bits(place(index)));
    Tensor::from_element_bits(tensor.element_type(), dims.to_vec(), bits).ok()
}

/// The tensor with all elements set to a number; `None` for strings.
fn filled(tensor: &Tensor, number: u8) -> Option<Tensor> {
    let Elements::Packed(_) = tensor.elements() else { return None };
    let bits = super::feed::float_or_integer(tensor.element_type(), number);
    Tensor::from_element_bits(tensor.element_type(), tensor.dims().to_vec(), (0..tensor.len()).map(|_| bits)).ok()
}

/// The part with other tensors. Inputs are declared with their new dims, and outputs with their element type only.
fn with(part: &Part, changed: &[(Arc<str>, Tensor)]) -> Part {
    let mut part = part.clone();
    let new = |name: &str| changed.iter().find(|(own, _)| **own == *name).map(|(_, tensor)| tensor);
    for (name, tensor) in &mut part.feeds {
        if let Some(new) = new(name) {
            tensor.clone_from(new);
        }
    }
    if let Some(graph) = &mut part.model.graph {
        for input in &mut graph.input {
            if let Some(tensor) = new(super::name(input)) {
                let own = info(super::name(input), Some(tensor));
                *input = own;
            }
        }
        for proto in &mut graph.initializer {
            let name = proto.name.clone().unwrap_or_default();
            if let Some(tensor) = new(&name) {
                *proto = tensor_proto::write(&name, tensor, Encoding::Raw);
            }
        }
        for output in &mut graph.output {
            let element_type = output.r#type.as_ref().and_then(|of| of.tensor_type.as_ref()?.elem_type);
            let name = super::name(output).to_owned();
            *output = info(&name, None);
            output.r#type = element_type.map(|element_type| crate::model::proto::TypeProto {
                tensor_type: Some(crate::model::proto::TensorTypeProto { elem_type: Some(element_type), shape: None }),
                ..Default::default()
            });
        }
    }
    part
}
