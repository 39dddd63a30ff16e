//! Cases that must have the same answer as a given case: the same call with another wiring, or in the operator version before or
//! after it, if the two versions differ only in types.
//!
//! If the specification has one answer, each case is compared with that answer. Variants help if the answer is unspecified: a
//! runtime must give the same answer in every wiring.

use super::{Case, Declared, Encoding, Generated, Single, Wiring};
use crate::operator::{Answer, Expectation};

/// How a variant differs from its case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    Wiring,
    Opset,
}

/// A case that must have the same answer as another.
#[derive(Clone, Debug)]
pub struct Variant {
    pub relation: Relation,
    pub generated: Generated,
}

/// The variants of a case: all its operands as graph inputs, as initializers and as constants; and the case in the version before
/// and after, if that version has the same attributes and inputs and supports the type of the data to the same extent.
pub fn variants(generated: &Generated) -> Vec<Variant> {
    let case = &generated.case;
    // If any answer is tolerated or the model is invalid, a runtime may give a different answer in each variant.
    let is_left_to_all = match &generated.expectation {
        Expectation::Unspecified { tolerated, .. } => tolerated.contains(&Answer::Any),
        _ => false,
    };
    if is_left_to_all || case.rule_on_the_graph().is_some() {
        return vec![];
    }
    let wirings =
        [Wiring::Input(Declared::Static), Wiring::Initializer(Encoding::Raw), Wiring::Constant(Encoding::Raw)];
    let rewired = wirings.into_iter().map(|wiring| (Relation::Wiring, case.rewired(wiring)));
    let moved = case
        .single()
        .map_or_else(Vec::new, |single| neighbours(&single))
        .into_iter()
        .map(|opset| (Relation::Opset, Case { opset, ..case.clone() }));
    rewired
        .chain(moved)
        .filter(|(_, variant)| variant != case)
        .map(|(relation, case)| Variant { relation, generated: Generated::given(case) })
        // The texts of two versions may differ although their attributes, inputs and types do not.
        .filter(|variant| variant.generated.expectation == generated.expectation)
        .collect()
}

/// The first opset of the version before, and of the version after, if that version differs only in types.
fn neighbours(case: &Single) -> Vec<u8> {
    let versions = case.operator.versions;
    let Some(index) = versions.iter().rposition(|v| v.since <= case.opset) else {
        return Vec::new();
    };
    let own = &versions[index];
    let data = match case.data_place() {
        Some(_) => case.data().map(|data| data.element_type),
        None => case.operator.output_type(&case.attributes, None),
    };
    [index.checked_sub(1), Some(index + 1)]
        .into_iter()
        .flatten()
        .filter_map(|i| versions.get(i))
        .filter(|other| other.attributes == own.attributes && other.inputs == own.inputs)
        .filter(|other| data.is_none_or(|t| other.element_types.contains(&t) == own.element_types.contains(&t)))
        .map(|version| version.since)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(line: &str) -> Vec<String> {
        variants(&Generated::given(line.parse().unwrap())).iter().map(|v| v.generated.case.to_string()).collect()
    }

    #[test]
    fn a_variant_differs_in_one_respect() {
        assert_eq!(
            lines("Reshape@21 float[2] int64[1]{2}:initializer"),
            [
                "Reshape@21 float[2] int64[1]{2}",
                "Reshape@21 float[2]:initializer int64[1]{2}:initializer",
                "Reshape@21 float[2]:constant int64[1]{2}:constant",
                "Reshape@19 float[2] int64[1]{2}:initializer",
                "Reshape@23 float[2] int64[1]{2}:initializer",
            ]
        );
    }

    #[test]
    fn an_invalid_model_has_no_variants_and_is_none() {
        let copied = "Reshape@14 float[0,3]:input(unranked) int64[2]{0,-1}";
        assert_eq!(lines(copied), [""; 0]);
        assert!(lines("Reshape@7 float[0,3] int64[2]{0,-1}").iter().all(|line| !line.contains("constant")));
    }

    #[test]
    fn an_opset_that_says_something_else_is_no_variant() {
        let opsets = |line: &str| lines(line).iter().filter(|l| !l.contains(&line[..10])).cloned().collect::<Vec<_>>();
        assert_eq!(opsets("Reshape@21 int4[2] int64[1]{2}"), ["Reshape@23 int4[2] int64[1]{2}"], "19 has no int4");
        assert_eq!(
            opsets("Reshape@14 float[2] int64[1]{2}"),
            ["Reshape@19 float[2] int64[1]{2}"],
            "13 has no allowzero"
        );
        assert_eq!(opsets("Flatten@11 axis=-1 float[2]"), ["Flatten@13 axis=-1 float[2]"], "9 has no negative axis");
        assert_eq!(opsets("Flatten@11 axis=1 float[2]"), ["Flatten@9 axis=1 float[2]", "Flatten@13 axis=1 float[2]"]);
    }
}
