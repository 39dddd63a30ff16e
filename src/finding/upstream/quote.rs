//! The sentences of the ONNX documents about a case, word for word, and what they mean for it.

use std::ops::RangeInclusive;

use serde::Serialize;

use crate::case::{Declared, Encoding, Generated, Single, Wiring};
use crate::operator::{AttributeKind, Rule};
use crate::tensor::ElementType;
use crate::verdict::{Discrepancy, Mismatch};

/// A sentence of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(in crate::finding) struct Quote {
    /// The words of the document, without its line breaks.
    pub text: &'static str,
    /// Such as `Reshape-14`.
    pub document: String,
    pub url: String,
}

const REPOSITORY: &str = "https://github.com/onnx/onnx/blob/main";

impl Quote {
    /// A sentence from the document of the operator version that holds for a case.
    fn operator(case: &Single, text: &'static str) -> Quote {
        let document = case.operator_version();
        Quote { text, url: format!("{REPOSITORY}/docs/Changelog.md#{document}"), document }
    }

    fn ir(section: &str, text: &'static str) -> Quote {
        let document = "ONNX IR specification".to_owned();
        Quote { text, document, url: format!("{REPOSITORY}/docs/IR.md#{section}") }
    }

    fn proto(field: &str, text: &'static str) -> Quote {
        let document = format!("onnx.proto, {field}");
        Quote { text, document, url: format!("{REPOSITORY}/onnx/onnx.proto") }
    }
}

const SIGNATURE: &str = "The number of inputs and outputs in a node, their types, the set of attributes specified in a node \
                         and their types MUST satisfy the constraints imposed by the signature of the node’s operator.";
const UNIQUE: &str = "The name of the attribute. Must be unique among attributes, inputs, and outputs for any given operator \
                      and node.";
const OPTIONAL: &str = "Some operators have inputs that are marked as optional, which means that a referring node MAY forgo \
                        providing values for such inputs.";
const SHAPE_TENSOR: &str = "A tensor's shape S is a list but can be represented as a tensor with values S and shape [R] where \
                            R is the rank of the tensor.";
const RANKED: &str = "The main graph inputs and outputs are required to have a shape, indicating the rank, even though the \
                      exact dimensions need not be specified.";
const EMPTY: &str = "S can contain dimensions of value 0. If any dimensions are 0, V must have length 0.";
const VARIABLE: &str = "Each size in the list MAY be expressed as an integral value or as a \"dimension variable,\" a string \
                        denoting that the actual size of the dimension is not statically constrained to a particular number.";
const BOUND: &str = "All nodes in the ModelProto's graph will bind against the operator with the same-domain/same-op_type \
                     operator with the HIGHEST version in the referenced operator sets.";
const UINT64_DATA: &str =
    "For uint64 and uint32 values When this field is present, the data_type field MUST be UINT32 or UINT64";
const COPIED: &str = "A dimension could also be 0, in which case the actual dimension value is unchanged (i.e. taken from the \
                      input tensor).";
const HONORED: &str = "allowzero=1 indicates that if any value in the 'shape' input is set to zero, the zero value is honored, \
                       similar to NumPy.";

/// A sentence of an operator's document that decides a valid case, where the case has what the sentence is about.
struct Deciding {
    operator: &'static str,
    /// The operator versions whose documents have the sentence.
    versions: RangeInclusive<u8>,
    concerns: fn(&Single) -> bool,
    text: &'static str,
}

impl Deciding {
    const fn new(
        operator: &'static str,
        versions: RangeInclusive<u8>,
        concerns: fn(&Single) -> bool,
        text: &'static str,
    ) -> Deciding {
        Deciding { operator, versions, concerns, text }
    }
}

const NEWEST: u8 = u8::MAX;

const DECIDING: &[Deciding] = &[
    Deciding::new(
        "Shape",
        15..=NEWEST,
        |case| !case.attributes.is_empty(),
        "Note that axes will be clamped to the range [0, r], where r is the rank of the input tensor if they are out-of-range \
         (after adding r in the case of negative axis).",
    ),
    Deciding::new("Reshape", 1..=NEWEST, |case| has_number(case, "shape", is_zero) && !is_allowzero(case), COPIED),
    Deciding::new("Reshape", 14..=NEWEST, |case| has_number(case, "shape", is_zero) && is_allowzero(case), HONORED),
    Deciding::new(
        "Reshape",
        1..=NEWEST,
        |case| has_number(case, "shape", is_negative),
        "In this case, the value is inferred from the size of the tensor and the remaining dimensions.",
    ),
    Deciding::new(
        "Squeeze",
        1..=NEWEST,
        |case| case.numbers_of("axes").is_none(),
        "If `axes` is not provided, all the single dimensions will be removed from the shape.",
    ),
    Deciding::new(
        "Expand",
        8..=NEWEST,
        |_| true,
        "Two corresponding dimensions must have the same value, or one of them is equal to 1.",
    ),
    Deciding::new(
        "ConstantOfShape",
        9..=NEWEST,
        |case| case.numbers_of("input").is_some_and(|sizes| sizes.is_empty()),
        "If empty tensor is given, the output would be a scalar.",
    ),
    Deciding::new(
        "Concat",
        11..=NEWEST,
        |_| true,
        "All input tensors must have the same shape, except for the dimension size of the axis to concatenate on.",
    ),
    Deciding::new(
        "Split",
        18..=NEWEST,
        |case| case.attribute("num_outputs").is_some(),
        "If the tensor is not evenly splittable into `num_outputs`, the last chunk will be smaller.",
    ),
    Deciding::new(
        "Slice",
        1..=12,
        |_| true,
        "If the value passed to start or end is larger than the `n` (the number of elements in this dimension), it represents `n`.",
    ),
    Deciding::new(
        "Slice",
        10..=12,
        |case| has_number(case, "steps", is_negative),
        "If a negative value is passed for step, it represents slicing backward.",
    ),
    Deciding::new(
        "Slice",
        13..=NEWEST,
        |_| true,
        "All negative values in `starts[i]` and `ends[i]` have `dims[axes[i]]` added to them, where `dims` are the dimensions of \
         `input`.",
    ),
    Deciding::new(
        "Slice",
        13..=NEWEST,
        |_| true,
        "The clamping for the adjusted `ends[i]` depends on the sign of `steps[i]` and must accommodate copying 0 through \
         `dims[axes[i]]` elements, so for positive stepping `ends[axes[i]]` is clamped to `[0, dims[axes[i]]]`, while for \
         negative stepping it is clamped to `[-1, dims[axes[i]]-1]`.",
    ),
    Deciding::new(
        "Gather",
        11..=NEWEST,
        |case| has_number(case, "indices", is_negative),
        "All index values are expected to be within bounds [-s, s-1] along axis of size s.",
    ),
];

const fn is_zero(number: i64) -> bool {
    number == 0
}

const fn is_negative(number: i64) -> bool {
    number < 0
}

/// Whether the attribute or the operand of this name holds such a number.
fn has_number(case: &Single, name: &str, wanted: fn(i64) -> bool) -> bool {
    case.numbers_of(name).is_some_and(|numbers| numbers.into_iter().any(wanted))
}

fn is_allowzero(case: &Single) -> bool {
    has_number(case, "allowzero", |number| number != 0)
}

/// The sentences that decide a valid case of one node: on the purpose of its operator, and on what is special about the case.
fn deciding(case: &Single) -> impl Iterator<Item = &'static str> {
    let is_of = |row: &&Deciding| {
        row.operator == case.operator.name && row.versions.contains(&case.since()) && (row.concerns)(case)
    };
    [purpose(case)].into_iter().chain(DECIDING.iter().filter(is_of).map(|row| row.text))
}

/// The sentences that decide a case, and what they mean for it. There is at least one.
pub(super) fn quotes(generated: &Generated, mismatch: &Mismatch) -> (Vec<Quote>, String) {
    // In a graph, the sentences are about the node that the rule concerns, or about the last node.
    let case = &generated.case;
    let values = case.values(&generated.tensors);
    let node = generated.expectation.rule().and_then(|rule| case.node_of(rule)).unwrap_or(case.nodes.len() - 1);
    // If the inputs of the node are not known, since a node before it is refused, the sentences are about that one.
    let of_node = |node: usize| case.alone(node, &values, Wiring::Input(Declared::Static));
    let alone = case.single().or_else(|| of_node(node)).or_else(|| (0..node).rev().find_map(of_node));
    let Some(case) = &alone else { return (vec![], String::new()) };
    let own = |text| Quote::operator(case, text);
    let (mut quotes, remark) = match generated.expectation.rule() {
        None => (deciding(case).map(own).collect::<Vec<_>>(), defined(case, mismatch)),
        Some(rule) => {
            let own_words = quoted(case.operator.words_of(rule, case.since())).map(own);
            let (others, remark) = ruled(case, rule);
            (own_words.into_iter().chain(others).collect(), remark)
        }
    };
    quotes.extend(circumstances(case, generated.expectation.rule()));
    (quotes, remark)
}

/// The first quotation from the specification in the text of a rule.
fn quoted(rule: Rule) -> Option<&'static str> {
    rule.text().sentence.split('"').nth(1)
}

/// The sentence on the purpose of the operator.
fn purpose(case: &Single) -> &'static str {
    case.operator.purpose(case.opset)
}

/// What is special about a case that has one right answer.
fn defined(case: &Single, mismatch: &Mismatch) -> String {
    if mismatch.discrepancies.contains(&Discrepancy::WrongType) {
        let declared = if case.operator.measures() {
            "The output is declared as `tensor(int64)`."
        } else {
            "Input and output have the same element type: both are of the type `T`."
        };
        return declared.to_owned();
    }
    match case.operator.name {
        _ if is_in_uint64_data(case) => {
            "The tensor in `model.onnx` has its elements in `uint64_data`, as the format demands, and no `raw_data`."
                .to_owned()
        }
        "Flatten" if has_dim(case, |dim| dim == 0) => {
            "The product of no sizes is 1, and one with a 0 in it is 0.".to_owned()
        }
        _ => String::new(),
    }
}

/// What a rule means for a case, and sentences that say so, if the rule itself has none from the document of the operator.
fn ruled(case: &Single, rule: Rule) -> (Vec<Quote>, String) {
    let version = case.operator_version();
    let specs = case.version().map_or(&[][..], |version| version.inputs);
    let declared = case.version().map_or(&[][..], |version| version.attributes);
    let data = case.data();
    let rank = data.map_or(0, |data| data.dims.len());
    let signature = || vec![Quote::ir("nodes", SIGNATURE)];
    let names = |names: &mut dyn Iterator<Item = &str>| {
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let attributes = || names(&mut declared.iter().map(|spec| spec.name));
    let twice = || {
        let of_name = |name: &str| case.attributes.iter().filter(|attribute| attribute.name == name).count();
        names(&mut case.attributes.iter().map(|a| a.name.as_str()).filter(|name| of_name(name) > 1).take(1))
    };
    let inputs = || names(&mut specs.iter().map(|spec| spec.name));
    match rule {
        Rule::NOT_IN_OPSET => {
            let remark = format!("{} does not exist at opset {}.", case.operator, case.opset);
            (vec![Quote::proto("ModelProto.opset_import", BOUND)], remark)
        }
        Rule::INPUT_COUNT => {
            let (has, given) = (specs.len(), case.operands.len());
            (signature(), format!("The inputs of {version} are {} ({has}); this node has {given}.", inputs()))
        }
        Rule::EMPTY_INPUT => {
            let quote = Quote::ir("optional-inputs-and-outputs", OPTIONAL);
            (vec![quote], format!("The inputs of {version} are {}, and none of them is optional.", inputs()))
        }
        Rule::UNDECLARED_ATTRIBUTE => {
            let foreign = case.attributes.iter().map(|a| a.name.as_str());
            let foreign = names(&mut foreign.filter(|name| declared.iter().all(|spec| spec.name != *name)));
            (signature(), format!("The attributes of {version} are: {}. This node has {foreign}.", attributes()))
        }
        Rule::ATTRIBUTE_KIND => {
            let wrong = case.attributes.iter().find_map(|attribute| {
                let spec = declared.iter().find(|spec| spec.name == attribute.name)?;
                (spec.kind != attribute.value.kind()).then_some((spec.kind, attribute))
            });
            let remark = wrong.map_or_else(String::new, |(kind, attribute)| {
                let kinds = (attribute_kind(kind), attribute_kind(attribute.value.kind()));
                format!("`{}` is of the type {}; on this node it is of the type {}.", attribute.name, kinds.0, kinds.1)
            });
            (signature(), remark)
        }
        Rule::DUPLICATE_ATTRIBUTE => {
            (vec![Quote::ir("attributes", UNIQUE)], format!("This node carries {} twice.", twice()))
        }
        Rule::ELEMENT_TYPE => {
            let listed = case.version().map_or(&[][..], |version| version.element_types);
            let listed: Vec<String> = listed.iter().map(|listed| format!("tensor({listed})")).collect();
            let given = data.map_or_else(String::new, |data| format!("tensor({})", data.element_type));
            (signature(), format!("The types of {version} are {}; this input is a {given}.", listed.join(", ")))
        }
        Rule::SHAPE_TYPE => {
            let given = case.operands.get(1).and_then(Option::as_ref).map(|shape| shape.element_type);
            let given = given.map_or_else(String::new, |given| format!("; here it is a `tensor({given})`"));
            (signature(), format!("The input `shape` of {version} is a `tensor(int64)`{given}."))
        }
        Rule::SHAPE_RANK => {
            let dims = case.operands.get(1).and_then(Option::as_ref).map(|shape| &shape.dims);
            let given = dims.map_or_else(String::new, |dims| format!("; here its own shape is {dims:?}"));
            let quotes = vec![
                Quote::operator(case, "second input is a shape tensor which specifies the output shape"),
                Quote::ir("tensor-definition", SHAPE_TENSOR),
            ];
            (quotes, format!("So `shape` is a tensor of rank 1{given}. What another rank means is not said."))
        }
        Rule::AXIS_RANGE => (vec![], format!("The input has rank {rank}, and `axis` is not in that range.")),
        Rule::NEGATIVE_AXIS => (vec![], "Flatten-11 introduced negative values of `axis`.".to_owned()),
        Rule::SCALAR_AXIS => (
            vec![],
            "The input is a scalar, of rank 0: 0 is the only `axis` in that range, and the default is 1.".to_owned(),
        ),
        Rule::SEVERAL_INFERRED => (vec![], "Here there is more than one.".to_owned()),
        Rule::BELOW_MINUS_ONE => {
            let quote = Quote::operator(case, quoted(Rule::SEVERAL_INFERRED).unwrap_or_default());
            (vec![quote], "A dimension is a size, 0 or -1; what a lower number means is not said.".to_owned())
        }
        Rule::ZERO_PAST_RANK => (
            vec![],
            format!("The input has rank {rank}, so for a 0 past that there is no dimension to take.").to_owned(),
        ),
        Rule::ELEMENT_COUNT => {
            let count = data.and_then(|data| crate::tensor::element_count(&data.dims));
            let count = count.map_or_else(String::new, |count| count.to_string());
            let target = case
                .target()
                .map_or_else(String::new, |target| format!("; the shape {target:?} asks for another number"));
            (vec![], format!("The input has {count} element(s){target}."))
        }
        Rule::NOT_DIVISIBLE => (vec![], "No size for the -1 gives the number of elements of the input.".to_owned()),
        Rule::ZERO_AND_INFERRED => (vec![], String::new()),
        Rule::COPIED_ZERO_AND_INFERRED => {
            let remark = "The dimension that the 0 copies is itself 0, so any size would do for the -1: the document does \
                          not say which, and both an error and an answer are acceptable.";
            (vec![Quote::operator(case, COPIED)], remark.to_owned())
        }
        Rule::ALLOWZERO_VALUE => {
            let remark = "What a value other than 0 and 1 means is not said, so it may be taken for set or for not set, or \
                          be refused; but not for one thing in one place and for another elsewhere.";
            (vec![Quote::operator(case, HONORED)], remark.to_owned())
        }
        Rule::MISSING_SHAPE => {
            (vec![Quote::operator(case, purpose(case))], "What no `shape` at all means is not said.".to_owned())
        }
        Rule::VAST_DIMS => {
            let remark = "A tensor with a dimension of 0 holds nothing, however large its other dimensions are. A runtime \
                          that cannot count them may refuse such a model with an error.";
            (vec![Quote::operator(case, purpose(case))], remark.to_owned())
        }
        Rule::UNRANKED => {
            let remark = "An input of this model has no shape, so an error is acceptable, but no other answer than that of a \
                          model with the shape.";
            (vec![Quote::operator(case, purpose(case)), Quote::ir("graphs", RANKED)], remark.to_owned())
        }
        Rule::CONSTANT_TYPE => {
            let remark = "The types of Constant at this opset do not include that of a Constant here, so an error is \
                          acceptable, but no other answer than that of a model with an initializer instead.";
            let quotes = [Quote::operator(case, purpose(case))].into_iter().chain(signature());
            (quotes.collect(), remark.to_owned())
        }
        Rule::MISSING_ATTRIBUTE => {
            let required = declared.iter().filter(|spec| spec.is_required).map(|spec| spec.name);
            (signature(), format!("{version} requires {}.", names(&mut required.into_iter())))
        }
        Rule::PARAMETER_TYPE | Rule::MIXED_TYPES => (signature(), rule.text().sentence.to_owned()),
        // The words of the rule itself are quoted already.
        rule if quoted(rule).is_some() => (vec![], String::new()),
        rule => (vec![Quote::operator(case, purpose(case))], rule.text().sentence.to_owned()),
    }
}

const fn attribute_kind(kind: AttributeKind) -> &'static str {
    match kind {
        AttributeKind::Int => "INT",
        AttributeKind::Ints => "INTS",
        AttributeKind::Float => "FLOAT",
        AttributeKind::String => "STRING",
        AttributeKind::Tensor => "TENSOR",
    }
}

/// Further sentences that matter for a case: on dims of 0, symbols and fields.
fn circumstances(case: &Single, rule: Option<Rule>) -> Vec<Quote> {
    let is_open = matches!(rule, None | Some(Rule::VAST_DIMS | Rule::COPIED_ZERO_AND_INFERRED));
    let wired = |wanted: fn(Wiring) -> bool| case.operands.iter().flatten().any(|operand| wanted(operand.wiring));
    let symbolic = wired(|wiring| matches!(wiring, Wiring::Input(Declared::Symbolic | Declared::Shared)));
    let mut quotes = Vec::new();
    if is_open && has_dim(case, |dim| dim == 0) {
        quotes.push(Quote::ir("tensor-definition", EMPTY));
    }
    if symbolic {
        quotes.push(Quote::ir("static-tensor-shapes", VARIABLE));
    }
    if is_in_uint64_data(case) {
        quotes.push(Quote::proto("TensorProto.uint64_data", UINT64_DATA));
    }
    quotes
}

/// Whether the model has elements in the field `uint64_data`.
fn is_in_uint64_data(case: &Single) -> bool {
    case.operands.iter().flatten().any(|operand| {
        matches!(operand.element_type, ElementType::Uint32 | ElementType::Uint64)
            && matches!(operand.wiring, Wiring::Initializer(Encoding::Typed) | Wiring::Constant(Encoding::Typed))
    })
}

fn has_dim(case: &Single, wanted: fn(i64) -> bool) -> bool {
    case.data().is_some_and(|data| data.dims.iter().any(|&dim| wanted(dim)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_special_about_a_valid_case_is_quoted() {
        for (case, words) in [
            ("Shape@28 start=-3 float[2]", &["clamped to the range [0, r]"][..]),
            ("Shape@28 float[2]", &[]),
            ("Reshape@28 float[2,3] int64[2]{0,-1}", &["could also be 0", "is inferred from"]),
            ("Reshape@28 allowzero=1 float[0] int64[1]{0}", &["allowzero=1 indicates"]),
            ("Squeeze@28 float[1]", &["If `axes` is not provided"]),
            ("Squeeze@28 float[1] int64[1]{0}", &[]),
            ("Slice@10 float[2] int64[1]{1} int64[1]{-5} int64[1]{0} int64[1]{-1}", &["represents `n`", "backward"]),
            ("Slice@28 float[2] int64[1]{0} int64[1]{5}", &["added to them", "The clamping for"]),
        ] {
            let case: Single = case.parse::<crate::case::Case>().unwrap().single().unwrap();
            let quoted: Vec<_> = deciding(&case).skip(1).collect();
            assert_eq!(quoted.len(), words.len(), "{quoted:?}");
            assert!(quoted.iter().zip(words).all(|(text, words)| text.contains(words)), "{quoted:?}");
        }
    }
}
