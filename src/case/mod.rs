//! A case: one call of one operator, complete with how its operands reach it.
//!
//! A case is small: it describes its contents instead of holding them, so that it can be written on one line
//! ([`notation`]) whatever its size. The same line is corpus entry, command-line argument and report.

pub mod catalogue;
mod complications;
mod contents;
mod features;
mod generate;
mod misread;
mod notation;
mod overridden;
pub mod shrink;
pub mod space;
mod target;
mod variants;

pub use complications::complications;
pub use contents::Contents;
pub use features::{Features, Size, Tag};
pub use generate::{Generated, Generator, Intent};
pub use notation::{MAX_LINE, ParseCaseError, describe};
pub use variants::{Relation, Variant, variants};

use crate::operator::{Attribute, Expectation, Operator, Rule, Version, may_be_constant};
use crate::tensor::{ElementType, Tensor, element_count};

/// One call of one operator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    pub operator: &'static Operator,
    /// 1 to [`crate::operator::NEWEST_OPSET`].
    pub opset: u8,
    pub attributes: Vec<Attribute>,
    /// `None` is an operand left out by the empty name.
    pub operands: Vec<Option<Operand>>,
}

/// A tensor that a case feeds to its operator, and the way it takes to get there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    pub element_type: ElementType,
    /// Never negative.
    pub dims: Vec<i64>,
    pub contents: Contents,
    pub wiring: Wiring,
}

/// How an operand reaches the node. The right answer never depends on it, but some make the model invalid: see
/// [`Case::rule_on_the_graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wiring {
    /// As a graph input, fed at run time.
    Input(Declared),
    /// As an initializer of the graph.
    Initializer(Encoding),
    /// As the output of a Constant node.
    Constant(Encoding),
    /// As a graph input that has a default: an initializer, in `raw_data`, of the same name. Its dims are declared as the
    /// numbers that they are. It needs IR 4: before that every initializer is a graph input too.
    Default(Fed),
}

/// What is fed to a graph input that has a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fed {
    /// Nothing: the default is the operand.
    Nothing,
    /// The operand, which holds in place of the default: see [`Case::overridden`].
    Operand,
}

/// How the dims of a graph input are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Declared {
    /// As the numbers that they are.
    Static,
    /// Each as a symbol of its own.
    Symbolic,
    /// As symbols, equal dims by the same symbol.
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

    /// The oldest IR version that has it.
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

/// Why an operand is not one that a case may have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    #[error("dims that hold at most {MAX_ELEMENTS} elements; these hold {0}")]
    Elements(String),
    #[error("at most {MAX_RANK} dims; these are {0}")]
    Rank(usize),
}

impl Operand {
    /// A graph input of static dims, its contents counting up.
    pub fn new(element_type: ElementType, dims: Vec<i64>) -> Operand {
        Operand { element_type, dims, contents: Contents::Count, wiring: Wiring::Input(Declared::Static) }
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

    /// Checked before any memory is taken for elements.
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

    /// Gives the operand another type. Elements that are written out are no elements of it, so it counts up instead.
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

impl Case {
    /// The version of the operator that holds at the opset, if the operator existed by then.
    pub fn version(&self) -> Option<&'static Version> {
        self.operator.version_at(self.opset)
    }

    /// The opset that brought that version; 0 if there is none.
    pub fn since(&self) -> u8 {
        self.version().map_or(0, |version| version.since)
    }

    /// The name of that version, such as `Reshape-14`.
    pub fn operator_version(&self) -> String {
        format!("{}-{}", self.operator, self.since())
    }

    /// The first operand, which is the tensor that is worked on, unless it is left out.
    pub fn data(&self) -> Option<&Operand> {
        self.operands.first()?.as_ref()
    }

    /// The same case with every operand in one wiring.
    pub fn rewired(&self, wiring: Wiring) -> Case {
        let mut case = self.clone();
        case.operands.iter_mut().flatten().for_each(|operand| operand.wiring = wiring);
        case
    }

    /// The tensors of the operands, in order. They are what both the expectation and the model are made of.
    pub fn tensors(&self) -> Vec<Option<Tensor>> {
        self.operands.iter().map(|operand| operand.as_ref().map(Operand::tensor)).collect()
    }

    /// The same case with every element of its operands written out.
    pub fn with_elements(&self) -> Case {
        let written = |operand: &Operand| Operand { contents: Contents::of(&operand.tensor()), ..operand.clone() };
        let operands = self.operands.iter().map(|operand| operand.as_ref().map(written)).collect();
        Case { operands, ..self.clone() }
    }

    /// What the specification demands of the case, whose operands are `tensors`.
    pub fn expectation(&self, tensors: &[Option<Tensor>]) -> Expectation {
        let of_call = self.operator.evaluate(self.opset, &self.attributes, tensors);
        match self.rule_on_the_graph() {
            Some(rule) => of_call.in_invalid_graph(rule),
            None => of_call,
        }
    }

    /// The rule that the model breaks by the way in which an operand reaches the node, whatever the call.
    pub fn rule_on_the_graph(&self) -> Option<Rule> {
        self.operands.iter().flatten().find_map(|operand| match operand.wiring {
            Wiring::Input(Declared::Unranked) => Some(Rule::Unranked),
            Wiring::Constant(_) if !may_be_constant(operand.element_type, self.opset) => Some(Rule::ConstantType),
            _ => None,
        })
    }
}
