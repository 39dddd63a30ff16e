//! Cases with one more special feature than a given case. If a defect does not show in one of them, the absence of that feature
//! belongs to the trigger of the defect.

use std::iter;
use std::mem::discriminant;

use super::{Case, Declared, Encoding, Operand, Single, Value, Wiring};
use crate::operator::flatten::FLATTEN;
use crate::operator::identity::IDENTITY;
use crate::operator::reshape::RESHAPE;
use crate::operator::shape::SHAPE;
use crate::operator::size::SIZE;
use crate::operator::{Attribute, AttributeKind, AttributeSpec, AttributeValue, Operator, Role};
use crate::tensor::Tensor;

/// The complications of a case: those with the same expectation, or all of them.
pub fn complications(case: &Case, with_the_same_expectation: bool) -> Vec<Case> {
    let Some(single) = case.single() else { return vec![] };
    let all = in_the_model(&single).chain(other_entries(&single)).chain(axes(&single)).map(Case::from);
    if !with_the_same_expectation {
        return all.collect();
    }
    let expectation = |case: &Case| case.expectation(&case.tensors());
    let own = expectation(case);
    all.filter(|other| expectation(other) == own).collect()
}

/// Adds an axis attribute that is left out.
fn axes(case: &Single) -> impl Iterator<Item = Single> {
    let specs = case.version().map_or(&[][..], |version| version.attributes);
    let is_left_out = |name: &str| case.attributes.iter().all(|attribute| attribute.name != name);
    let is_axis = |spec: &&AttributeSpec| spec.role == Role::Axis && spec.kind == AttributeKind::Int;
    specs.iter().filter(is_axis).filter(move |spec| is_left_out(spec.name)).map(|spec| {
        let mut other = case.clone();
        other.attributes.push(Attribute { name: spec.name.to_owned(), value: AttributeValue::Int(0) });
        other
    })
}

/// Makes an operand that is fed an initializer, one operand at a time.
fn in_the_model(case: &Single) -> impl Iterator<Item = Single> {
    let is_fed = |place: &usize| {
        case.operands[*place].as_ref().is_some_and(|operand| operand.wiring == Wiring::Input(Declared::Static))
    };
    (0..case.operands.len()).filter(is_fed).map(|place| {
        let mut other = case.clone();
        other.operands[place].iter_mut().for_each(|operand| operand.wiring = Wiring::Initializer(Encoding::Raw));
        other
    })
}

/// Replaces an entry of the target shape by -1 (inferred) or 0 (copied), or adds an entry of 2 to a target with a -1.
fn other_entries(case: &Single) -> impl Iterator<Item = Single> {
    let target = case.target().unwrap_or_default();
    let fixed: Vec<usize> = (0..target.len()).filter(|&entry| target[entry] > 0).take(MOST_ENTRIES).collect();
    let special: Vec<i64> = [-1, 0].into_iter().filter(|special| !target.contains(special)).collect();
    let changes = special.into_iter().flat_map(|special| fixed.iter().map(move |&entry| (entry, special)));
    let replaced = changes.map(|(entry, special)| {
        let mut target = target.clone();
        target[entry] = special;
        target
    });
    let divided = target.contains(&-1).then(|| [&target[..], &[2]].concat());
    let targets: Vec<Vec<i64>> = replaced.chain(divided).collect();
    targets.into_iter().map(|target| {
        let mut other = case.clone();
        other.set_target(&target);
        other
    })
}

/// The most entries that are replaced. A defect treats the other entries in the same way.
const MOST_ENTRIES: usize = 4;

/// The operators that replace another operator. They accept any data, and need no parameter except a target shape.
const OTHERS: [&Operator; 5] = [&SHAPE, &FLATTEN, &RESHAPE, &SIZE, &IDENTITY];

/// The graph with each other operator of `OTHERS` in the place of a node and its twins. The operator takes the first input of that
/// node, and -1 as a target shape. Only graphs stay whose expectation is of the same kind, with the same rule.
pub fn with_other_operators(case: &Case, node: usize) -> Vec<Case> {
    let demand = |case: &Case| {
        let expectation = case.expectation(&case.tensors());
        (discriminant(&expectation), expectation.rule())
    };
    if case.twins(node).into_iter().any(|twin| has_takers_of_further_outputs(case, twin)) {
        return vec![];
    }
    let own = demand(case);
    let others = OTHERS.iter().copied().filter(|operator| *operator != case.nodes[node].operator);
    let replaced = others.filter_map(|operator| {
        let mut other = case.clone();
        let version = operator.version_at(case.opset)?;
        let takes_data_first = version.data_input() == Some(0) && case.nodes[node].data_input(case.opset) == Some(0);
        if !takes_data_first {
            return None;
        }
        let target = (version.target_input() == Some(1)).then(|| {
            other.sources.push(Operand::of(&Tensor::vector(&[-1]), Wiring::Initializer(Encoding::Raw)));
            Some(Value::Source(other.sources.len() - 1))
        });
        for place in case.twins(node) {
            let replaced = &mut other.nodes[place];
            replaced.operator = operator;
            replaced.attributes.clear();
            replaced.outputs = 1;
            replaced.inputs.truncate(1);
            replaced.inputs.extend(target);
        }
        Some(other.tidied())
    });
    replaced.filter(|other| other.nodes.len() == case.nodes.len() && demand(other) == own).collect()
}

/// Whether other nodes use an output of a node that is not its first.
fn has_takers_of_further_outputs(case: &Case, node: usize) -> bool {
    case.outputs_of(node).skip(1).any(|output| case.takers(output).next().is_some())
}

/// The case with an Identity of one of its inputs in the place of a node, for each node and each of its inputs.
pub fn with_an_identity(case: &Case) -> Vec<Case> {
    (0..case.nodes.len()).flat_map(|place| with_an_identity_at(case, place)).collect()
}

/// The same for one node.
fn with_an_identity_at(case: &Case, place: usize) -> Vec<Case> {
    if case.nodes[place].operator == &IDENTITY || has_takers_of_further_outputs(case, place) {
        return vec![];
    }
    let replaced = |input: Value| {
        let mut other = case.clone();
        let node = &mut other.nodes[place];
        (node.operator, node.outputs, node.inputs) = (&IDENTITY, 1, vec![Some(input)]);
        node.attributes.clear();
        other.tidied()
    };
    case.nodes[place].inputs.iter().flatten().map(|input| replaced(*input)).collect()
}

/// The parts of a graph, the smallest first: the nodes up to one of them, whose outputs become graph outputs or are taken by an
/// Identity. A runtime may treat a graph output as it treats no other value.
pub(crate) fn parts(case: &Case) -> Vec<Case> {
    let up_to = |count: usize| {
        let mut part = case.clone();
        part.nodes.truncate(count);
        part.tidied()
    };
    let with_a_taker = |count: usize| {
        let mut part = case.clone();
        part.nodes.truncate(count + 1);
        with_an_identity_at(&part, count).into_iter().filter(|part| part.edges().next().is_some())
    };
    (1..case.nodes.len()).flat_map(|count| iter::once(up_to(count)).chain(with_a_taker(count))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_ends_at_a_node_or_at_an_identity_of_its_output() {
        let case = "a=Shape@21 float[2]; a1=Gather a int64[1]; Reshape float[2]:initializer a1".parse().unwrap();
        let parts: Vec<String> = parts(&case).iter().map(ToString::to_string).collect();
        assert_eq!(
            parts,
            [
                "Shape@21 float[2]",
                "a=Shape@21 float[2]; Identity a",
                "a=Shape@21 float[2]; Gather a int64[1]",
                "a=Shape@21 float[2]; a1=Gather a int64[1]; Identity a1",
            ]
        );
    }

    #[test]
    fn any_operator_goes_in_the_place_of_a_node() {
        let others = |line: &str, node: usize| -> Vec<String> {
            let others = with_other_operators(&line.parse().unwrap(), node);
            let mut others: Vec<String> = others.iter().map(ToString::to_string).collect();
            others.sort();
            others
        };
        let line = "a=Shape@21 float[2] :info; Flatten axis=0 a";
        assert_eq!(
            others(line, 1),
            [
                "a=Shape@21 float[2] :info; Identity a",
                "a=Shape@21 float[2] :info; Reshape a int64[1]{-1}:initializer",
                "a=Shape@21 float[2] :info; Shape a",
                "a=Shape@21 float[2] :info; Size a",
            ]
        );
        assert_eq!(others("a=Shape@21 float[2]; Reshape float[2,1] a", 0).len(), 0, "they are no shape of the data");
    }

    #[test]
    fn a_node_stays_if_others_use_more_than_its_first_output() {
        // The first node must be refused, so the others give no values.
        let case = "a=Flatten@18 axis=9 float[1]; a1=Split num_outputs=2 a => 2; Shape a1.1".parse().unwrap();
        assert_eq!(with_other_operators(&case, 1), []);
        let lines: Vec<String> = with_an_identity(&case).iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "a=Identity@18 float[1]; a1=Split num_outputs=2 a => 2; Shape a1.1",
                "a=Flatten@18 axis=9 float[1]; a1=Split num_outputs=2 a => 2; Identity a1.1"
            ]
        );
    }

    #[test]
    fn an_identity_of_each_input_goes_in_the_place_of_a_node() {
        let lines = |line: &str| -> Vec<String> {
            with_an_identity(&line.parse().unwrap()).iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            lines("a=Shape@21 float[2]; Reshape float[2,1] a after float[3] float[3,1]"),
            [
                "a=Identity@21 float[2]; Reshape float[2,1] a after float[3] float[3,1]",
                "Identity@21 float[2,1] after float[3,1]",
                "a=Shape@21 float[2]; Identity a after float[3]",
            ]
        );
        assert_eq!(lines("Split@18 num_outputs=2 float[2] => 2"), ["Identity@18 float[2]"]);
        assert_eq!(lines("Identity@21 float[2]"), [""; 0]);
    }

    #[test]
    fn a_complication_has_the_same_answer_and_more_to_it() {
        let lines = |line: &str| -> Vec<String> {
            complications(&line.parse().unwrap(), true).iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            lines("Reshape@28 float[2,3] int64[2]{2,3}"),
            [
                "Reshape@28 float[2,3]:initializer int64[2]{2,3}",
                "Reshape@28 float[2,3] int64[2]{2,3}:initializer",
                "Reshape@28 float[2,3] int64[2]{-1,3}",
                "Reshape@28 float[2,3] int64[2]{2,-1}",
                "Reshape@28 float[2,3] int64[2]{0,3}",
                "Reshape@28 float[2,3] int64[2]{2,0}",
            ]
        );
        assert_eq!(
            lines("Reshape@28 float[3]:input(symbolic) int64[1]{4}:initializer"),
            [""; 0],
            "no other is invalid"
        );
        assert_eq!(lines("Size@28 float[3]:input(symbolic)"), [""; 0]);
        assert_eq!(lines("Flatten@28 float[]"), ["Flatten@28 float[]:initializer"]);
        let all = complications(&"Flatten@28 float[]".parse().unwrap(), false);
        assert_eq!(all[1].to_string(), "Flatten@28 axis=0 float[]");
    }
}
