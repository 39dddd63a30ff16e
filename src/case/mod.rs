//! A case: a small graph, its input tensors, and how each tensor reaches the nodes. With one node it is one call of one operator.
//!
//! A case describes the contents of its tensors and does not hold them. So it fits on one line (`notation`), whatever the size of
//! the tensors. The same line is corpus entry, command-line argument and report.

pub mod catalogue;
mod complications;
mod contents;
mod features;
mod generate;
mod graph;
pub mod law;
mod links;
mod mend;
mod notation;
mod overridden;
pub mod pattern;
pub mod shrink;
mod single;
pub mod space;
mod target;
mod truncation;
mod variants;

pub(crate) use complications::parts;
pub use complications::{complications, with_an_identity, with_other_operators};
pub use contents::Contents;
pub use features::{Features, Size, Tag};
pub use generate::{Generated, Generator, Intent, Nodes};
pub use graph::{Declares, Edge, Node, Outlet, Shown, Value};
pub use notation::{MAX_LINE, MAX_NODES, ParseCaseError, describe};
pub use single::{Call, Single};
pub use variants::{Relation, Variant, variants};

use crate::tensor::{ElementType, Tensor, element_count};

/// A small graph and its input tensors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    /// 1 to [`crate::operator::NEWEST_OPSET`].
    pub opset: u8,
    /// The tensors that no node computes, in the order in which nodes use them.
    pub sources: Vec<Operand>,
    /// At least one. A node stands after the nodes whose outputs it uses.
    pub nodes: Vec<Node>,
    /// The places of the sources that are also graph outputs.
    pub passed: Vec<usize>,
    /// The inputs of earlier runs in the same session, the oldest run first: one operand for each source. A source that is not fed
    /// is the same operand in every run.
    pub before: Vec<Vec<Operand>>,
}

/// An input tensor of a graph, and the way in which it reaches the node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    pub element_type: ElementType,
    /// Never negative.
    pub dims: Vec<i64>,
    pub contents: Contents,
    pub wiring: Wiring,
}

/// How an operand reaches the node. The right answer never depends on the wiring, but some wirings make the model invalid: see
/// [`Case::rule_on_the_graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wiring {
    /// As a graph input, fed at run time.
    Input(Declared),
    /// As an initializer of the graph.
    Initializer(Encoding),
    /// As the output of a Constant node.
    Constant(Encoding),
    /// As a graph input with a default: an initializer of the same name, in `raw_data`. The dims are declared as numbers. This
    /// needs IR 4: before IR 4, every initializer is also a graph input.
    Default(Fed),
}

/// What is fed to a graph input that has a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fed {
    /// Nothing: the default is the operand.
    Nothing,
    /// The operand, which overrides the default: see [`Case::overridden`].
    Operand,
}

/// How the dims of a graph input are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Declared {
    /// As numbers.
    Static,
    /// Each as a symbol of its own.
    Symbolic,
    /// As symbols. Equal dims have the same symbol.
    Shared,
    /// Not at all: no dims, so no rank either. A model with such an input is not valid.
    Unranked,
}

/// Which field of a `TensorProto` holds the elements. Strings are always in `string_data`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    Raw,
    /// The field of the element type, such as `float_data`.
    Typed,
}

/// Whether a list contains an item twice.
pub(crate) fn has_twice<T: PartialEq>(list: &[T]) -> bool {
    (1..list.len()).any(|at| list[..at].contains(&list[at]))
}

impl Wiring {
    /// Every wiring.
    pub const ALL: [Wiring; 10] = [
        Wiring::Input(Declared::Static),
        Wiring::Input(Declared::Symbolic),
        Wiring::Input(Declared::Shared),
        Wiring::Input(Declared::Unranked),
        Wiring::Initializer(Encoding::Raw),
        Wiring::Initializer(Encoding::Typed),
        Wiring::Constant(Encoding::Raw),
        Wiring::Constant(Encoding::Typed),
        Wiring::Default(Fed::Nothing),
        Wiring::Default(Fed::Operand),
    ];

    /// The oldest IR version that supports the wiring.
    pub const fn since_ir(self) -> u8 {
        match self {
            Wiring::Default(_) => 4,
            Wiring::Input(_) | Wiring::Initializer(_) | Wiring::Constant(_) => 3,
        }
    }
}

/// The most elements an operand may have: 2^24.
pub const MAX_ELEMENTS: usize = 1 << 24;
/// The highest rank an operand may have.
pub const MAX_RANK: usize = 1024;

/// The limit that an operand exceeds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    #[error("dims that hold at most {MAX_ELEMENTS} elements; these hold {0}")]
    Elements(String),
    #[error("at most {MAX_RANK} dims; these are {0}")]
    Rank(usize),
}

/// The most elements to which `set_dims` extends explicit elements by repetition.
const MOST_WRITTEN: usize = 64;

impl Operand {
    /// A graph input of static dims, whose elements count up.
    pub fn new(element_type: ElementType, dims: Vec<i64>) -> Operand {
        Operand { element_type, dims, contents: Contents::Count, wiring: Wiring::Input(Declared::Static) }
    }

    /// Gives the operand other dims. Explicit elements are cut or repeated to the new length. Strings, and elements that would
    /// become too many, are replaced by [`Contents::Count`].
    pub(crate) fn set_dims(&mut self, dims: Vec<i64>) {
        let written = match &self.contents {
            Contents::Bits(bits) => Some(&bits[..]),
            Contents::Strings(_) => Some(&[][..]),
            _ => None,
        };
        if let Some(bits) = written {
            let length =
                element_count(&dims).filter(|&length| !bits.is_empty() && length <= bits.len().max(MOST_WRITTEN));
            self.contents = length
                .map_or(Contents::Count, |length| Contents::Bits(bits.iter().copied().cycle().take(length).collect()));
        }
        self.dims = dims;
    }

    /// A rank-1 int64 tensor of these values as a graph input.
    pub fn vector(values: &[i64]) -> Operand {
        Operand {
            element_type: ElementType::Int64,
            dims: vec![i64::try_from(values.len()).unwrap_or(i64::MAX)],
            contents: Contents::Bits(values.iter().map(|v| u128::from(v.cast_unsigned())).collect()),
            wiring: Wiring::Input(Declared::Static),
        }
    }

    /// A tensor in a wiring, with explicit elements.
    pub fn of(tensor: &Tensor, wiring: Wiring) -> Operand {
        let (element_type, dims) = (tensor.element_type(), tensor.dims().to_vec());
        Operand { element_type, dims, contents: Contents::of(tensor), wiring }
    }

    /// Checks the limits of a case, before memory is allocated for elements.
    ///
    /// # Errors
    /// If the operand has more dims or elements than a case may have.
    pub fn check_limits(&self) -> Result<(), LimitError> {
        if self.dims.len() > MAX_RANK {
            return Err(LimitError::Rank(self.dims.len()));
        }
        match element_count(&self.dims) {
            Some(count) if count <= MAX_ELEMENTS => Ok(()),
            Some(count) => Err(LimitError::Elements(count.to_string())),
            None => Err(LimitError::Elements("more than memory can".to_owned())),
        }
    }

    /// Gives the operand another type. Explicit elements are not elements of that type, so [`Contents::Count`] replaces them.
    pub fn retype(&mut self, element_type: ElementType) {
        self.element_type = element_type;
        if matches!(self.contents, Contents::Bits(_) | Contents::Strings(_)) {
            self.contents = Contents::Count;
        }
    }

    /// The operand's tensor.
    pub fn tensor(&self) -> Tensor {
        self.contents.tensor(self.element_type, &self.dims)
    }
}
