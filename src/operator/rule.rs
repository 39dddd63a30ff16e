//! The rules of the specification that a call can break, or that leave it open, each with the text that it comes from.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// A rule of the ONNX specification. Its name in output and in known issues is that of the variant, such as `axis-range`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Rule {
    NotInOpset,
    InputCount,
    EmptyInput,
    UndeclaredAttribute,
    AttributeKind,
    DuplicateAttribute,
    ElementType,
    ShapeType,
    ShapeRank,
    AxisRange,
    NegativeAxis,
    ScalarAxis,
    SeveralInferred,
    BelowMinusOne,
    ZeroPastRank,
    ElementCount,
    NotDivisible,
    ZeroAndInferred,
    CopiedZeroAndInferred,
    AllowzeroValue,
    MissingShape,
    VastDims,
    Unranked,
    ConstantType,
}

/// What is known of a [`Rule`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Text {
    /// Its name in output and in known issues, such as `axis-range`.
    pub id: &'static str,
    /// What it says. Between quotation marks, the specification's own words.
    pub sentence: &'static str,
    /// Where that stands: operator and version, or document.
    pub source: &'static str,
}

impl Rule {
    pub const ALL: [Rule; Rule::VARIANTS.len()] = *Rule::VARIANTS.first_chunk().unwrap();

    pub const fn text(self) -> Text {
        let (sentence, source) = match self {
            Rule::NotInOpset => ("The operator does not exist in this opset.", "ONNX versioning: operator sets"),
            Rule::InputCount => ("A node has as many inputs as its operator declares.", "operator, Inputs"),
            Rule::EmptyInput => (
                "The empty name leaves an input out, and only an optional input may be left out.",
                "IR, optional inputs and outputs",
            ),
            Rule::UndeclaredAttribute => {
                ("A node carries no attribute that its operator version does not declare.", "operator, Attributes")
            }
            Rule::AttributeKind => ("An attribute has the kind that its operator declares.", "operator, Attributes"),
            Rule::DuplicateAttribute => ("A node carries each attribute at most once.", "IR, nodes: attributes"),
            Rule::ElementType => {
                ("The data is of one of the types that the operator version lists.", "operator, Type Constraints")
            }
            Rule::ShapeType => ("The shape is a tensor(int64).", "Reshape-5 and later, input `shape`"),
            Rule::ShapeRank => (
                "The shape is a tensor of rank 1; what one of another rank means is not said.",
                "Reshape-5 and later, input `shape`; IR, static tensor shapes (U6)",
            ),
            Rule::AxisRange => (
                "\"The value for axis must be in the range [-r, r], where r is the rank of the input tensor.\"",
                "Flatten-11 and later, attribute `axis`; [0, R] in Flatten-1 and 9",
            ),
            Rule::NegativeAxis => (
                "\"The value for axis must be in the range [0, R], where R is the rank of the input tensor.\"",
                "Flatten-1 and 9, attribute `axis` (U5)",
            ),
            Rule::ScalarAxis => (
                "The rank of a scalar is 0, so 0 is the only axis that is in range; the default is 1.",
                "Flatten, attribute `axis` (U7)",
            ),
            Rule::SeveralInferred => ("\"At most one dimension of the new shape can be -1.\"", "Reshape, all versions"),
            Rule::BelowMinusOne => {
                ("A dimension is a size, 0 or -1; what a lower number means is not said.", "Reshape, all versions (U4)")
            }
            Rule::ZeroPastRank => (
                "\"A dimension could also be 0, in which case the actual dimension value is unchanged (i.e. taken from \
                     the input tensor).\" Past the input's rank there is none to take.",
                "Reshape, all versions",
            ),
            Rule::ElementCount => (
                "\"The input tensor's shape and the output tensor's shape are required to have the same number of \
                     elements.\"",
                "Reshape, all versions",
            ),
            Rule::NotDivisible => (
                "The value of -1 \"is inferred from the size of the tensor and the remaining dimensions\", and no size \
                     gives this number of elements.",
                "Reshape, all versions",
            ),
            Rule::ZeroAndInferred => (
                "\"If the attribute 'allowzero' is set, it is invalid for the specified shape to contain both a zero \
                     value and -1, as the value of the dimension corresponding to -1 cannot be determined uniquely.\"",
                "Reshape-14 and later, attribute `allowzero` (U2)",
            ),
            Rule::CopiedZeroAndInferred => (
                "A -1 beside a 0 that copies a dimension of size 0 can be any size; no text says which.",
                "Reshape, all versions (U1, onnx issue 6104)",
            ),
            Rule::AllowzeroValue => (
                "allowzero is 0 or 1; what another number means is not said.",
                "Reshape-14 and later, attribute `allowzero` (U3)",
            ),
            Rule::MissingShape => {
                ("What Reshape does without a shape is not said.", "Reshape-1, attribute `shape` (U8)")
            }
            Rule::VastDims => (
                "Dims that multiply past 64 bits are a valid shape when one of them is 0, but hardly a countable one.",
                "IR, static tensor shapes (U10)",
            ),
            Rule::Unranked => ("A graph input or output has a shape, which tells its rank.", "IR, graphs (U19)"),
            Rule::ConstantType => (
                "The value of a Constant is of one of the types that its version lists: a float type below opset 9.",
                "Constant, Type Constraints",
            ),
        };
        Text { id: self.id(), sentence, source }
    }

    /// Whether it is on the graph around a node and not on the node, so that what a runtime makes of a case that breaks it says
    /// nothing about the operator: see [`Expectation::in_invalid_graph`](super::Expectation::in_invalid_graph).
    pub const fn is_on_the_graph(self) -> bool {
        matches!(self, Rule::Unranked | Rule::ConstantType)
    }

    /// Its name.
    pub const fn id(self) -> &'static str {
        self.into_str()
    }
}
