//! The rules of the specification that a call can break, or that leave it open, each with the text that it comes from.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

use super::OPERATORS;

/// A rule of the ONNX specification. Those on the form of any node, and on the graph around it, are defined here, and those of one
/// operator beside that operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule(pub(super) &'static Text);

/// What is known of a [`Rule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Text {
    /// Its name in output and in known issues, such as `axis-range`; no other rule has it.
    pub id: &'static str,
    /// What it says. Between quotation marks, the specification's own words.
    pub sentence: &'static str,
    /// Where that stands: operator and version, or document.
    pub source: &'static str,
    /// What it is about; the first is what it names, the others are what a runtime may find wrong in its place.
    #[serde(skip)]
    pub topics: &'static [Topic],
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Which attributes there are, and of which kind.
    Attribute,
    /// How many inputs there are.
    Inputs,
    ElementType,
    /// Values of attributes and inputs.
    Value,
    /// Dims that do not fit each other.
    Dims,
    /// Dims and counts that are too large.
    Size,
    Graph,
}

/// The rules on the form of any node, and on the graph around it.
impl Rule {
    pub const NOT_IN_OPSET: Rule = Rule(&Text {
        id: "not-in-opset",
        sentence: "The operator does not exist in this opset.",
        source: "ONNX versioning: operator sets",
        topics: &[Topic::Graph],
    });
    pub const INPUT_COUNT: Rule = Rule(&Text {
        id: "input-count",
        sentence: "A node has as many inputs as its operator declares.",
        source: "operator, Inputs",
        topics: &[Topic::Inputs],
    });
    pub const EMPTY_INPUT: Rule = Rule(&Text {
        id: "empty-input",
        sentence: "The empty name leaves an input out, and only an optional input may be left out.",
        source: "IR, optional inputs and outputs",
        topics: &[Topic::Inputs],
    });
    pub const UNDECLARED_ATTRIBUTE: Rule = Rule(&Text {
        id: "undeclared-attribute",
        sentence: "A node carries no attribute that its operator version does not declare.",
        source: "operator, Attributes",
        topics: &[Topic::Attribute],
    });
    pub const ATTRIBUTE_KIND: Rule = Rule(&Text {
        id: "attribute-kind",
        sentence: "An attribute has the kind that its operator declares.",
        source: "operator, Attributes",
        topics: &[Topic::Attribute],
    });
    pub const DUPLICATE_ATTRIBUTE: Rule = Rule(&Text {
        id: "duplicate-attribute",
        sentence: "A node carries each attribute at most once.",
        source: "IR, nodes: attributes",
        topics: &[Topic::Attribute],
    });
    pub const ELEMENT_TYPE: Rule = Rule(&Text {
        id: "element-type",
        sentence: "The data is of one of the types that the operator version lists.",
        source: "operator, Type Constraints",
        topics: &[Topic::ElementType],
    });
    pub const VAST_DIMS: Rule = Rule(&Text {
        id: "vast-dims",
        sentence: "Dims that multiply past 64 bits are a valid shape when one of them is 0, but hardly a countable one.",
        source: "IR, static tensor shapes (U10)",
        topics: &[Topic::Size, Topic::Value],
    });
    pub const UNRANKED: Rule = Rule(&Text {
        id: "unranked",
        sentence: "A graph input or output has a shape, which tells its rank.",
        source: "IR, graphs (U19)",
        topics: &[Topic::Graph],
    });
    pub const CONSTANT_TYPE: Rule = Rule(&Text {
        id: "constant-type",
        sentence: "The value of a Constant is of one of the types that its version lists: a float type below opset 9.",
        source: "Constant, Type Constraints",
        topics: &[Topic::ElementType],
    });
}

impl Rule {
    /// Those on the form of a node and on the graph around it, which cases of any operator can break.
    pub(crate) const FORM: &[Rule] = &[
        Rule::INPUT_COUNT,
        Rule::EMPTY_INPUT,
        Rule::UNDECLARED_ATTRIBUTE,
        Rule::ATTRIBUTE_KIND,
        Rule::DUPLICATE_ATTRIBUTE,
        Rule::ELEMENT_TYPE,
        Rule::VAST_DIMS,
        Rule::UNRANKED,
        Rule::CONSTANT_TYPE,
    ];

    /// Every rule, each once: those that any operator has first, then those of each operator.
    pub fn all() -> impl Iterator<Item = Rule> {
        let of_operators = OPERATORS.iter().flat_map(|operator| operator.rules);
        [Rule::NOT_IN_OPSET].into_iter().chain(Rule::FORM.iter().chain(of_operators).copied())
    }

    pub const fn text(self) -> Text {
        *self.0
    }

    /// Whether it is on the graph around a node and not on the node, so that what a runtime makes of a case that breaks it says
    /// nothing about the operator: see [`Expectation::in_invalid_graph`](super::Expectation::in_invalid_graph).
    pub fn is_on_the_graph(self) -> bool {
        matches!(self, Rule::UNRANKED | Rule::CONSTANT_TYPE)
    }

    /// Its name.
    pub const fn id(self) -> &'static str {
        self.0.id
    }
}

impl Hash for Rule {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

/// Why a text is no [`Rule`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no rule is called `{0}`")]
pub struct UnknownRule(String);

impl FromStr for Rule {
    type Err = UnknownRule;

    fn from_str(id: &str) -> Result<Rule, UnknownRule> {
        Rule::all().find(|rule| rule.id() == id).ok_or_else(|| UnknownRule(id.to_owned()))
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.id())
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Rule, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}
