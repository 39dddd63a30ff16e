//! The rules of the specification that a call can break or be left unspecified by, each with its source.

use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

use super::{Arity, Operator, Types, Version, may_be_constant};
use crate::tensor::ElementType;

/// A rule of the ONNX specification. The rules on the form of any node, and on the graph around it, are defined here. The rules of
/// one operator are defined with that operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule(pub(super) &'static Text);

/// A rule of an operator, and the versions that have it.
pub(super) struct When {
    pub(super) rule: Rule,
    /// From the first version to the last.
    pub(super) versions: RangeInclusive<u8>,
    /// Up to this version, the documents state it in the words of this other rule; later ones in its own words.
    pub(super) words: Option<(u8, Rule)>,
}

impl When {
    /// The same rule, stated in the words of another rule in the documents up to version `last`.
    pub(super) const fn in_words_of(self, rule: Rule, last: u8) -> When {
        When { words: Some((last, rule)), ..self }
    }
}

/// A rule of every version.
pub(super) const fn always(rule: Rule) -> When {
    between(1, u8::MAX, rule)
}

/// A rule of a version and those after it.
pub(super) const fn since(version: u8, rule: Rule) -> When {
    between(version, u8::MAX, rule)
}

/// A rule of a version and those before it.
pub(super) const fn until(version: u8, rule: Rule) -> When {
    between(1, version, rule)
}

/// A rule of some versions, from the first to the last.
pub(super) const fn between(first: u8, last: u8, rule: Rule) -> When {
    When { rule, versions: first..=last, words: None }
}

/// The text of a [`Rule`], and what is known about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Text {
    /// Its unique name in output and in known issues, such as `axis-range`.
    pub id: &'static str,
    /// What it says. Text between quotation marks is quoted from the specification.
    pub sentence: &'static str,
    /// The source of the sentence: operator and version, or document.
    pub source: &'static str,
    /// Its subjects. The first is the subject of the rule; a runtime may refuse because of any of the others instead.
    #[serde(skip)]
    pub topics: &'static [Topic],
}

/// The subject of a rule.
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
    pub const MISSING_ATTRIBUTE: Rule = Rule(&Text {
        id: "missing-attribute",
        sentence: "A node carries each attribute that its operator version requires.",
        source: "operator, Attributes",
        topics: &[Topic::Attribute],
    });
    pub const PARAMETER_TYPE: Rule = Rule(&Text {
        id: "parameter-type",
        sentence: "An input is of one of the types that the operator version lists for it.",
        source: "operator, Type Constraints",
        topics: &[Topic::ElementType],
    });
    pub const MIXED_TYPES: Rule = Rule(&Text {
        id: "mixed-types",
        sentence: "Inputs of one type variable have one type.",
        source: "operator, Type Constraints",
        topics: &[Topic::ElementType],
    });
    pub const VAST_ANSWER: Rule = Rule(&Text {
        id: "vast-answer",
        sentence: "An answer that no memory can hold is valid, but nobody can give it.",
        source: "IR, tensor definition (V13)",
        topics: &[Topic::Size, Topic::Value, Topic::Dims],
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
    /// The rules on the form of a node and on the graph around it, which cases of any operator can break.
    pub(crate) const FORM: &[Rule] = &[
        Rule::INPUT_COUNT,
        Rule::EMPTY_INPUT,
        Rule::UNDECLARED_ATTRIBUTE,
        Rule::ATTRIBUTE_KIND,
        Rule::DUPLICATE_ATTRIBUTE,
        Rule::MISSING_ATTRIBUTE,
        Rule::ELEMENT_TYPE,
        Rule::PARAMETER_TYPE,
        Rule::MIXED_TYPES,
        Rule::VAST_DIMS,
        Rule::UNRANKED,
        Rule::CONSTANT_TYPE,
    ];

    /// Every rule, each once: first the rules that any operator has, then those of each operator.
    pub fn all() -> impl Iterator<Item = Rule> {
        static ALL: LazyLock<Vec<Rule>> = LazyLock::new(|| {
            let of_operators = super::every().flat_map(Operator::own_rules);
            let all = [Rule::NOT_IN_OPSET].into_iter().chain(Rule::FORM.iter().copied()).chain(of_operators);
            let mut seen = HashSet::new();
            all.filter(|rule| seen.insert(*rule)).collect()
        });
        ALL.iter().copied()
    }

    /// For a rule on the form of a node or on the graph around it: whether a call of a version can break it.
    pub(super) fn is_of_form(self, version: &Version) -> bool {
        let has_data = version.data_input().is_some();
        let has = |of: fn(&Types) -> bool| version.inputs.iter().filter(|spec| of(&spec.types)).count();
        let is_variadic = version.inputs.iter().any(|spec| spec.arity == Arity::Variadic);
        match self {
            Rule::EMPTY_INPUT => version.inputs.iter().any(|spec| spec.arity == Arity::One),
            Rule::ATTRIBUTE_KIND | Rule::DUPLICATE_ATTRIBUTE => !version.attributes.is_empty(),
            Rule::MISSING_ATTRIBUTE => version.attributes.iter().any(|spec| spec.is_required),
            Rule::ELEMENT_TYPE => {
                has(|types| *types == Types::T) > 0 && version.element_types.len() < ElementType::ALL.len()
            }
            Rule::PARAMETER_TYPE => has(|types| matches!(types, Types::Index | Types::Int64(Rule::PARAMETER_TYPE))) > 0,
            Rule::MIXED_TYPES => {
                let of_data = has(|types| *types == Types::T) > 1 || is_variadic;
                (of_data && version.element_types.len() > 1) || has(|types| *types == Types::Index) > 1
            }
            Rule::VAST_DIMS => has_data,
            Rule::CONSTANT_TYPE => {
                let data = version.element_types.iter().filter(|_| has_data);
                let parameters =
                    version.inputs.iter().filter(|spec| matches!(spec.types, Types::Index | Types::Int64(_)));
                let mut types = data.chain(parameters.map(|_| &ElementType::Int64));
                types.any(|&element_type| !may_be_constant(element_type, version.since))
            }
            _ => true,
        }
    }

    pub const fn text(self) -> Text {
        *self.0
    }

    /// Whether it is on the graph around a node and not on the node. If so, the result of a runtime on a case that breaks it says
    /// nothing about the operator: see [`Expectation::in_invalid_graph`](super::Expectation::in_invalid_graph).
    pub fn is_on_the_graph(self) -> bool {
        matches!(self, Rule::UNRANKED | Rule::CONSTANT_TYPE)
    }

    /// Whether it says that the in-house implementation does not support a call, so that nothing is judged.
    pub fn is_out_of_reach(self) -> bool {
        matches!(self, Rule::ARITHMETIC_NOT_JUDGED | Rule::CAST_NOT_JUDGED)
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

/// The error for a text that names no [`Rule`].
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
