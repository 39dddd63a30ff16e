//! Compares the in-house implementation with every row of the tables of edge cases.
#![expect(clippy::type_complexity, reason = "a table of rows reads best with its type in one place")]

use super::*;
use std::collections::BTreeSet;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const MIN: i64 = i64::MIN;
const MAX: i64 = i64::MAX;

fn operator(name: &str) -> &'static Operator {
    name.parse().unwrap()
}

/// Counting-up bytes, so that moved elements can be distinguished.
fn data(element_type: ElementType, dims: &[i64]) -> Tensor {
    let count = crate::tensor::element_count(dims).unwrap();
    if element_type == ElementType::String {
        return Tensor::from_strings(dims.to_vec(), (0..count).map(|i| i.to_string()).collect()).unwrap();
    }
    let own = if element_type == ElementType::Bool { 1 } else { u128::MAX };
    Tensor::from_element_bits(element_type, dims.to_vec(), (0..count as u128).map(|i| (i * 7) & own)).unwrap()
}

fn int(name: &str, value: i64) -> Attribute {
    Attribute { name: name.to_owned(), value: AttributeValue::Int(value) }
}

fn ints(name: &str, values: &[i64]) -> Attribute {
    Attribute { name: name.to_owned(), value: AttributeValue::Ints(values.to_vec()) }
}

/// The opsets of an operator's versions from `since` on, and the newest opset.
fn opsets(name: &str, since: u8) -> Vec<u8> {
    let versions = operator(name).versions.iter().map(|v| v.since);
    versions.filter(|&v| v >= since).chain([NEWEST_OPSET]).collect()
}

fn shape(opset: u8, dims: &[i64], attributes: &[Attribute]) -> Expectation {
    operator("Shape").evaluate(opset, attributes, &[Some(data(ElementType::Float, dims))], 1)
}

fn flatten(opset: u8, dims: &[i64], axis: Option<i64>) -> Expectation {
    let attributes: Vec<_> = axis.into_iter().map(|a| int("axis", a)).collect();
    operator("Flatten").evaluate(opset, &attributes, &[Some(data(ElementType::Float, dims))], 1)
}

/// The expectation of Reshape at every version that can express this `allowzero`. All versions must agree.
fn reshape(dims: &[i64], target: &[i64], allowzero: i64) -> Expectation {
    let inputs = [Some(data(ElementType::Float, dims)), Some(Tensor::vector(target))];
    let mut results = Vec::new();
    for opset in opsets("Reshape", 14) {
        results.push(operator("Reshape").evaluate(opset, &[int("allowzero", allowzero)], &inputs, 1));
    }
    if allowzero == 0 {
        for opset in opsets("Reshape", 5) {
            results.push(operator("Reshape").evaluate(opset, &[], &inputs, 1));
        }
        let attributes = [ints("shape", target), ints("consumed_inputs", &[9])];
        for opset in 1..5 {
            results.push(operator("Reshape").evaluate(opset, &attributes, &inputs[..1], 1));
        }
    }
    results.dedup();
    assert_eq!(results.len(), 1, "the versions differ for {dims:?} by {target:?}: {results:?}");
    results.remove(0)
}

/// Asserts that the answer has these dims, and the elements of the data unchanged.
#[track_caller]
fn assert_dims(expectation: &Expectation, from: &[i64], dims: &[i64]) {
    let moved = data(ElementType::Float, from).with_dims(dims.to_vec()).unwrap();
    assert_eq!(expectation, &Expectation::Defined(vec![moved]));
}

#[track_caller]
fn assert_rejects(expectation: &Expectation, rule: Rule) {
    assert_eq!(expectation, &Expectation::reject(rule));
}

#[test]
fn the_versions_make_as_many_cells_as_the_operator_documents_have() {
    let cells = |name| operator(name).cells();
    assert_eq!((cells("Shape"), cells("Flatten"), cells("Reshape"), cells("Size")), (162, 144, 165, 146));
}

#[test]
fn the_versions_are_those_of_the_operator_documents() {
    let rows = |name| operator(name).versions.iter().map(|v| (v.since, v.element_types.len())).collect::<Vec<_>>();
    assert_eq!(rows("Shape"), [(1, 15), (13, 16), (15, 16), (19, 20), (21, 22), (23, 23), (24, 24), (25, 26)]);
    assert_eq!(rows("Flatten"), [(1, 3), (9, 15), (11, 15), (13, 16), (21, 22), (23, 23), (24, 24), (25, 26)]);
    assert_eq!(
        rows("Reshape"),
        [(1, 3), (5, 15), (13, 16), (14, 16), (19, 20), (21, 22), (23, 23), (24, 24), (25, 26)]
    );
    assert_eq!(rows("Size"), [(1, 15), (13, 16), (19, 20), (21, 22), (23, 23), (24, 24), (25, 26)]);
    let names = |types: &[ElementType]| types.iter().map(|t| t.name()).collect::<BTreeSet<_>>();
    let version = |name: &str, opset| operator(name).version_at(opset).unwrap();
    assert_eq!(names(version("Flatten", 8).element_types), BTreeSet::from(["float16", "float", "double"]));
    let new_in_21: Vec<_> = version("Flatten", 21).element_types[16..].iter().map(|t| t.name()).collect();
    assert_eq!(new_in_21, ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "int4", "uint4"]);
    assert_eq!(version("Shape", 28).since, 25);
    assert_eq!(version("Reshape", 4).since, 1);
}

#[test]
fn every_cell_answers_and_every_other_type_is_rejected() {
    for operator in OPERATORS {
        for version in operator.versions {
            let is_checked = version.data_input().is_some_and(|place| version.inputs[place].types == Types::T);
            for element_type in ElementType::ALL {
                let is_listed = version.element_types.contains(&element_type);
                if !is_listed && !is_checked {
                    continue;
                }
                let data = Data { element_type, dims: vec![2, 3] };
                let (call, expectation) = drawn_for(operator, version, Aim::Valid, Some(data), 0);
                if expectation.rule() == Some(Rule::TILE_1) {
                    continue;
                }
                if is_listed {
                    let outputs = expectation.outputs().unwrap_or_else(|| panic!("{operator}: {call:?}"));
                    assert!(matches!(expectation, Expectation::Defined(_)), "{operator}: {call:?}");
                    if !operator.computes() {
                        assert!(outputs.iter().all(|output| output.element_type() == element_type), "{operator}");
                    }
                } else {
                    assert_rejects(&expectation, Rule::ELEMENT_TYPE);
                }
            }
        }
    }
}

#[test]
fn shape_clamps_both_bounds() {
    let (all, none): (&[i64], &[i64]) = (&[2, 3, 4], &[]);
    let rows: &[(Option<i64>, Option<i64>, &[i64])] = &[
        (None, None, all),
        (Some(0), None, all),
        (None, Some(3), all),
        (None, Some(4), all),
        (None, Some(10), all),
        (None, Some(1 << 32), all),
        (None, Some(MAX), all),
        (None, Some(0), none),
        (Some(-1), None, &[4]),
        (None, Some(-1), &[2, 3]),
        (Some(1), Some(2), &[3]),
        (Some(3), None, none),
        (Some(4), None, none),
        (Some(1 << 32), None, none),
        (Some(MAX), None, none),
        (Some(-4), None, all),
        (Some(-10), None, all),
        (Some(-500), None, all),
        (Some(MIN), None, all),
        (Some(MIN), Some(MAX), all),
        (Some(MAX), Some(MIN), none),
        (Some(MIN), Some(MIN), none),
        (Some(MAX), Some(MAX), none),
        (Some(2), Some(1), none),
        (Some(-1), Some(-2), none),
        (Some(1), Some(1), none),
    ];
    let past_the_front = [-4, -5, -6, MIN]
        .into_iter()
        .flat_map(|end| [None, Some(MIN), Some(-1), Some(0), Some(1), Some(MAX)].map(|start| (start, Some(end), none)));
    for (start, end, expected) in rows.iter().copied().chain(past_the_front) {
        let attributes: Vec<_> =
            [start.map(|v| int("start", v)), end.map(|v| int("end", v))].into_iter().flatten().collect();
        for opset in opsets("Shape", 15) {
            let answer = Expectation::Defined(vec![Tensor::vector(expected)]);
            assert_eq!(shape(opset, &[2, 3, 4], &attributes), answer, "start {start:?}, end {end:?}");
        }
        if attributes.is_empty() {
            for opset in 1..15 {
                assert_eq!(shape(opset, &[2, 3, 4], &[]).outputs(), Some(&[Tensor::vector(expected)][..]));
            }
        } else {
            for opset in [1, 13, 14] {
                assert_rejects(&shape(opset, &[2, 3, 4], &attributes), Rule::UNDECLARED_ATTRIBUTE);
            }
        }
    }
}

#[test]
fn shape_of_scalars_and_of_zero_size_tensors() {
    for bounds in [&[][..], &[int("start", -1)], &[int("start", MIN), int("end", MAX)], &[int("end", 0)]] {
        assert_eq!(shape(28, &[], bounds), Expectation::Defined(vec![Tensor::vector(&[])]));
    }
    assert_eq!(Tensor::vector(&[]).dims(), [0]);
    let zero = |attributes: &[Attribute]| shape(28, &[0, 3], attributes).outputs().unwrap()[0].int64s().unwrap();
    assert_eq!(zero(&[]), [0, 3]);
    assert_eq!(zero(&[int("start", 1)]), [3]);
    assert_eq!(zero(&[int("end", -1)]), [0]);
}

#[test]
fn flatten_splits_at_the_axis() {
    let rows: &[(&[i64], Option<i64>, [i64; 2])] = &[
        (&[2, 3, 4], None, [2, 12]),
        (&[2, 3, 4], Some(0), [1, 24]),
        (&[2, 3, 4], Some(1), [2, 12]),
        (&[2, 3, 4], Some(2), [6, 4]),
        (&[2, 3, 4], Some(3), [24, 1]),
        (&[0, 3], Some(1), [0, 3]),
        (&[0, 3], Some(2), [0, 1]),
        (&[3, 0], Some(1), [3, 0]),
        (&[3, 0], Some(2), [0, 1]),
        (&[2, 0, 3], Some(0), [1, 0]),
        (&[2, 0, 3], Some(1), [2, 0]),
        (&[2, 0, 3], Some(2), [0, 3]),
        (&[2, 0, 3], Some(3), [0, 1]),
        (&[0], Some(0), [1, 0]),
        (&[0], Some(1), [0, 1]),
        (&[0, 0], Some(1), [0, 0]),
        (&[0, 0], Some(2), [0, 1]),
    ];
    for &(dims, axis, expected) in rows {
        for opset in opsets("Flatten", 1) {
            assert_dims(&flatten(opset, dims, axis), dims, &expected);
        }
    }
    for (axis, expected) in [(-1, [6, 4]), (-2, [2, 12]), (-3, [1, 24])] {
        for opset in opsets("Flatten", 11) {
            assert_dims(&flatten(opset, &[2, 3, 4], Some(axis)), &[2, 3, 4], &expected);
        }
        for opset in [1, 8, 9, 10] {
            let lenient = data(ElementType::Float, &[2, 3, 4]).with_dims(expected.to_vec()).unwrap();
            let expectation = Expectation::Reject { rule: Rule::NEGATIVE_AXIS, lenient: Some(vec![lenient]) };
            assert_eq!(flatten(opset, &[2, 3, 4], Some(axis)), expectation);
        }
    }
    assert_dims(&flatten(11, &[0, 3], Some(-1)), &[0, 3], &[0, 3]);
}

#[test]
fn flatten_rejects_an_axis_out_of_range() {
    for axis in [4, 1 << 31, 1 << 32, (1 << 32) + 1, MAX] {
        for opset in opsets("Flatten", 1) {
            assert_rejects(&flatten(opset, &[2, 3, 4], Some(axis)), Rule::AXIS_RANGE);
        }
    }
    for axis in [-4, -(1 << 32) - 1, MIN] {
        for opset in opsets("Flatten", 11) {
            assert_rejects(&flatten(opset, &[2, 3, 4], Some(axis)), Rule::AXIS_RANGE);
        }
        assert_rejects(&flatten(9, &[2, 3, 4], Some(axis)), Rule::NEGATIVE_AXIS);
    }
}

#[test]
fn flatten_of_a_scalar() {
    let matrix = data(ElementType::Float, &[]).with_dims(vec![1, 1]).unwrap();
    for opset in opsets("Flatten", 1) {
        assert_eq!(flatten(opset, &[], Some(0)), Expectation::Defined(vec![matrix.clone()]));
        for axis in [None, Some(1)] {
            let expectation = Expectation::Reject { rule: Rule::SCALAR_AXIS, lenient: Some(vec![matrix.clone()]) };
            assert_eq!(flatten(opset, &[], axis), expectation);
        }
    }
    assert_eq!(flatten(11, &[], Some(-1)).rule(), Some(Rule::SCALAR_AXIS));
    assert_rejects(&flatten(9, &[], Some(-1)), Rule::NEGATIVE_AXIS);
}

#[test]
fn reshape_gives_the_dims_asked_for() {
    let rows: &[(&[i64], &[i64], &[i64], &[i64])] = &[
        (&[2, 3, 4], &[24], &[24], &[0, 1]),
        (&[2, 3, 4], &[4, 6], &[4, 6], &[0, 1]),
        (&[2, 3, 4], &[2, -1], &[2, 12], &[0, 1]),
        (&[2, 3, 4], &[-1], &[24], &[0, 1]),
        (&[2, 3, 4], &[0, -1], &[2, 12], &[0]),
        (&[2, 3, 4], &[0, 0, -1], &[2, 3, 4], &[0]),
        (&[2, 3, 4], &[0, 0, 4, 1], &[2, 3, 4, 1], &[0]),
        (&[1], &[], &[], &[0, 1]),
        (&[1, 1, 1], &[], &[], &[0, 1]),
        (&[], &[], &[], &[0, 1]),
        (&[], &[1], &[1], &[0, 1]),
        (&[], &[-1], &[1], &[0, 1]),
        (&[], &[1, -1, 1], &[1, 1, 1], &[0, 1]),
        (&[0, 3], &[-1], &[0], &[0, 1]),
        (&[0, 3], &[3, -1], &[3, 0], &[0, 1]),
        (&[0, 3], &[-1, 3], &[0, 3], &[0, 1]),
        (&[0, 3], &[-1, 5], &[0, 5], &[0, 1]),
        (&[0, 3], &[-1, 0], &[0, 3], &[0]),
        (&[3, 0], &[0, -1], &[3, 0], &[0]),
        (&[2, 0, 3], &[0, -1], &[2, 0], &[0]),
        (&[0, 3], &[3, 0], &[3, 0], &[1]),
        (&[0, 3], &[0], &[0], &[1]),
        (&[0, 3], &[0, 7], &[0, 7], &[1]),
        (&[0, 3, 4], &[3, 4, 0], &[3, 4, 0], &[1]),
        (&[0, 3], &[0, 3], &[0, 3], &[0]),
        (&[0, 3], &[0], &[0], &[0]),
        (&[0, 3], &[0, 7], &[0, 7], &[0]),
        (&[3, 0], &[0, 0], &[3, 0], &[0]),
    ];
    for &(dims, target, expected, flags) in rows {
        for &allowzero in flags {
            assert_dims(&reshape(dims, target, allowzero), dims, expected);
        }
    }
}

#[test]
fn reshape_rejects_what_has_no_answer() {
    let both: &[i64] = &[0, 1];
    let rows: &[(&[i64], &[i64], &[i64], Rule)] = &[
        (&[2, 3, 4], &[4, 0, 0], &[0], Rule::ELEMENT_COUNT),
        (&[2, 3, 4], &[24, 0], &[0], Rule::ELEMENT_COUNT),
        (&[2, 3, 4], &[0, 0, 0, 0], &[0], Rule::ZERO_PAST_RANK),
        (&[], &[0], &[0], Rule::ZERO_PAST_RANK),
        (&[0], &[1, 0], &[0], Rule::ZERO_PAST_RANK),
        (&[2, 3, 4], &[-1, -1], both, Rule::SEVERAL_INFERRED),
        (&[0], &[-1, -1], both, Rule::SEVERAL_INFERRED),
        (&[2, 3, 4], &[-2, -2], both, Rule::BELOW_MINUS_ONE),
        (&[2, 3, 4], &[-1, MIN], both, Rule::BELOW_MINUS_ONE),
        (&[2, 3, 4], &[25], both, Rule::ELEMENT_COUNT),
        (&[2, 3, 4], &[], both, Rule::ELEMENT_COUNT),
        (&[0, 3], &[], both, Rule::ELEMENT_COUNT),
        (&[2, 3, 4], &[5, -1], both, Rule::NOT_DIVISIBLE),
        (&[2, 3], &[0, -1], &[1], Rule::ZERO_AND_INFERRED),
        (&[0, 3], &[0, -1], &[1], Rule::ZERO_AND_INFERRED),
        (&[], &[0, -1], &[1], Rule::ZERO_AND_INFERRED),
        (&[2, 3], &[0, 3], &[1], Rule::ELEMENT_COUNT),
        (&[], &[0], &[1], Rule::ELEMENT_COUNT),
        (&[0], &[1], both, Rule::ELEMENT_COUNT),
        (&[0, 3], &[3, 0], &[0], Rule::ELEMENT_COUNT),
        (&[0, 3, 4], &[3, 4, 0], &[0], Rule::ELEMENT_COUNT),
        (&[2, 2], &[(1 << 62) + 1, 4], both, Rule::ELEMENT_COUNT),
        (&[0], &[1 << 32, 1 << 32], both, Rule::ELEMENT_COUNT),
        (&[4, 4], &[1 << 32, 1 << 32, 16], both, Rule::ELEMENT_COUNT),
        (&[1], &[MAX, MAX], both, Rule::ELEMENT_COUNT),
    ];
    for &(dims, target, flags, rule) in rows {
        for &allowzero in flags {
            assert_rejects(&reshape(dims, target, allowzero), rule);
        }
    }
}

#[test]
fn reshape_where_the_specification_leaves_room() {
    let answer = |dims: &[i64], to: &[i64]| {
        Answer::Outputs(vec![data(ElementType::Float, dims).with_dims(to.to_vec()).unwrap()])
    };
    let rows: &[(&[i64], &[i64], i64, Rule, Vec<Answer>)] = &[
        // U1: -1 beside a copied dimension of size 0.
        (&[0, 3], &[0, -1], 0, Rule::COPIED_ZERO_AND_INFERRED, vec![Answer::Refusal, answer(&[0, 3], &[0, 3])]),
        (&[3, 0], &[-1, 0], 0, Rule::COPIED_ZERO_AND_INFERRED, vec![Answer::Refusal, answer(&[3, 0], &[3, 0])]),
        (
            &[2, 0, 3],
            &[0, 0, -1],
            0,
            Rule::COPIED_ZERO_AND_INFERRED,
            vec![Answer::Refusal, answer(&[2, 0, 3], &[2, 0, 3])],
        ),
        (&[0, 0], &[0, -1], 0, Rule::COPIED_ZERO_AND_INFERRED, vec![Answer::Refusal, answer(&[0, 0], &[0, 0])]),
        // U3: as 0, as 1, or refused.
        (&[2, 3], &[3, 2], 2, Rule::ALLOWZERO_VALUE, vec![answer(&[2, 3], &[3, 2]), Answer::Refusal]),
        (&[0, 3], &[0, 7], -1, Rule::ALLOWZERO_VALUE, vec![answer(&[0, 3], &[0, 7]), Answer::Refusal]),
        (
            &[3, 0],
            &[0, 0],
            MAX,
            Rule::ALLOWZERO_VALUE,
            vec![answer(&[3, 0], &[3, 0]), answer(&[3, 0], &[0, 0]), Answer::Refusal],
        ),
        // U4: one number below -1 may be read as -1.
        (&[2, 3], &[2, -2], 0, Rule::BELOW_MINUS_ONE, vec![Answer::Refusal, answer(&[2, 3], &[2, 3])]),
        (&[2, 3], &[MIN], 1, Rule::BELOW_MINUS_ONE, vec![Answer::Refusal, answer(&[2, 3], &[6])]),
        // U10: dims that pass 64 bits, with a zero among them.
        (&[0], &[1 << 62, -1], 0, Rule::VAST_DIMS, vec![answer(&[0], &[1 << 62, 0]), Answer::Refusal]),
    ];
    for (dims, target, allowzero, rule, tolerated) in rows {
        let expectation = Expectation::Unspecified { rule: *rule, tolerated: tolerated.clone() };
        assert_eq!(reshape(dims, target, *allowzero), expectation, "{dims:?} by {target:?}");
    }
}

#[test]
fn reshape_needs_an_int64_shape_of_rank_1() {
    let evaluate = |shape: Tensor| {
        operator("Reshape").evaluate(14, &[], &[Some(data(ElementType::Float, &[2, 3])), Some(shape)], 1)
    };
    assert_rejects(&evaluate(data(ElementType::Int32, &[2])), Rule::SHAPE_TYPE);
    assert_rejects(&evaluate(data(ElementType::Float, &[2])), Rule::SHAPE_TYPE);
    assert_rejects(&evaluate(Tensor::vector(&[3, 2]).with_dims(vec![1, 2]).unwrap()), Rule::SHAPE_RANK);
    assert_rejects(&evaluate(Tensor::vector(&[5]).with_dims(vec![]).unwrap()), Rule::SHAPE_RANK);
    let scalar = evaluate(Tensor::vector(&[6]).with_dims(vec![]).unwrap());
    let flat = data(ElementType::Float, &[2, 3]).with_dims(vec![6]).unwrap();
    let tolerated = vec![Answer::Refusal, Answer::Outputs(vec![flat])];
    assert_eq!(scalar, Expectation::Unspecified { rule: Rule::SHAPE_RANK, tolerated });
}

#[test]
fn reshape_1_without_a_shape() {
    let evaluate = |dims: &[i64]| operator("Reshape").evaluate(1, &[], &[Some(data(ElementType::Float, dims))], 1);
    let same = |dims: &[i64]| Answer::Outputs(vec![data(ElementType::Float, dims)]);
    let pair = Expectation::Unspecified { rule: Rule::MISSING_SHAPE, tolerated: vec![Answer::Refusal, same(&[2])] };
    assert_eq!(evaluate(&[2]), pair);
    let single = vec![Answer::Refusal, same(&[1]), same(&[])];
    assert_eq!(evaluate(&[1]), Expectation::Unspecified { rule: Rule::MISSING_SHAPE, tolerated: single });
}

#[test]
fn size_counts_the_elements() {
    let rows: &[(&[i64], i64)] = &[
        (&[], 1),
        (&[1], 1),
        (&[7], 7),
        (&[2, 3, 4], 24),
        (&[0], 0),
        (&[0, 3], 0),
        (&[2, 0, 3], 0),
        (&[0, 0], 0),
        (&[1, 1, 1, 1, 1, 1, 1, 1, 2], 2),
    ];
    for (dims, count) in rows {
        for opset in opsets("Size", 1) {
            let expectation = operator("Size").evaluate(opset, &[], &[Some(data(ElementType::Float, dims))], 1);
            let outputs = expectation.outputs().unwrap();
            assert_eq!(
                (outputs[0].dims(), outputs[0].int64s()),
                (&[][..], Some(vec![*count])),
                "Size@{opset} {dims:?}"
            );
            assert!(matches!(expectation, Expectation::Defined(_)), "Size@{opset} {dims:?}");
        }
    }
}

#[test]
fn size_counts_elements_and_not_bytes() {
    for element_type in operator("Size").version_at(NEWEST_OPSET).unwrap().element_types {
        let expectation = operator("Size").evaluate(NEWEST_OPSET, &[], &[Some(data(*element_type, &[3, 1]))], 1);
        assert_eq!(expectation, Expectation::Defined(vec![Tensor::scalar(3)]), "{element_type}");
    }
}

#[test]
fn vast_dims_never_wrap() {
    let vast = 1 << 32;
    assert_rejects(&flatten(11, &[vast, vast, 0], Some(2)), Rule::VAST_DIMS);
    let expectation = flatten(11, &[vast, vast, 0], Some(3));
    assert_eq!(expectation.rule(), Some(Rule::VAST_DIMS));
    assert_eq!(expectation.outputs().unwrap()[0].dims(), [0, 1]);
    assert_eq!(shape(28, &[vast, vast, 0], &[]).outputs().unwrap()[0].int64s().unwrap(), [vast, vast, 0]);
    let size = operator("Size").evaluate(28, &[], &[Some(data(ElementType::Float, &[vast, vast, 0]))], 1);
    assert_eq!((size.rule(), size.outputs()), (Some(Rule::VAST_DIMS), Some(&[Tensor::scalar(0)][..])));
}

#[test]
fn the_form_of_a_node_is_checked() {
    let x = || Some(data(ElementType::Float, &[2]));
    let shape =
        |attributes: &[Attribute], inputs: &[Option<Tensor>]| operator("Shape").evaluate(15, attributes, inputs, 1);
    assert_rejects(&shape(&[], &[]), Rule::INPUT_COUNT);
    assert_rejects(&shape(&[], &[x(), x()]), Rule::INPUT_COUNT);
    assert_rejects(&shape(&[], &[None]), Rule::EMPTY_INPUT);
    assert_rejects(&shape(&[int("axis", 0)], &[x()]), Rule::UNDECLARED_ATTRIBUTE);
    let float = Attribute { name: "start".to_owned(), value: AttributeValue::Float(0) };
    assert_rejects(&shape(&[float], &[x()]), Rule::ATTRIBUTE_KIND);
    assert_rejects(&shape(&[int("start", 0), int("start", 0)], &[x()]), Rule::DUPLICATE_ATTRIBUTE);
    let reshape = |opset, attributes: &[Attribute], inputs: &[Option<Tensor>]| {
        operator("Reshape").evaluate(opset, attributes, inputs, 1)
    };
    assert_rejects(
        &reshape(13, &[int("allowzero", 0)], &[x(), Some(Tensor::vector(&[2]))]),
        Rule::UNDECLARED_ATTRIBUTE,
    );
    assert_rejects(&reshape(5, &[ints("shape", &[2])], &[x(), Some(Tensor::vector(&[2]))]), Rule::UNDECLARED_ATTRIBUTE);
    assert_rejects(&reshape(5, &[], &[x()]), Rule::INPUT_COUNT);
}

#[test]
fn rules_have_distinct_names() {
    let ids: BTreeSet<_> = Rule::all().map(Rule::id).collect();
    assert_eq!(ids.len(), Rule::all().count());
}

#[test]
fn a_constant_has_type_lists_of_its_own() {
    let count = |opset| ElementType::ALL.into_iter().filter(|&t| may_be_constant(t, opset)).count();
    let counts: Vec<usize> = [1, 8, 9, 12, 13, 18, 19, 20, 21, 22, 23, 24, 25, 28].map(count).to_vec();
    assert_eq!(counts, [3, 3, 15, 15, 16, 16, 20, 20, 22, 22, 23, 24, 26, 26]);
    assert!(!may_be_constant(ElementType::Int64, 8) && may_be_constant(ElementType::Double, 1));
}

#[test]
fn in_an_invalid_graph_a_refusal_is_right_and_no_other_answer_than_in_a_valid_one() {
    let (rule, outputs) = (Rule::UNRANKED, vec![Tensor::vector(&[1])]);
    let open = |answers: &[Answer]| Expectation::Unspecified { rule, tolerated: answers.to_vec() };
    let (answer, refusal) = (Answer::Outputs(outputs.clone()), Answer::Refusal);
    let both = [answer.clone(), refusal.clone()];
    assert_eq!(Expectation::Defined(outputs.clone()).in_invalid_graph(rule), open(&both));
    let invalid = Expectation::reject(Rule::AXIS_RANGE);
    assert_eq!(invalid.clone().in_invalid_graph(rule), invalid);
    let lenient = Expectation::Reject { rule: Rule::NEGATIVE_AXIS, lenient: Some(outputs) };
    assert_eq!(lenient.in_invalid_graph(rule), open(&[refusal, answer]));
    let room = Expectation::Unspecified { rule: Rule::ALLOWZERO_VALUE, tolerated: both.to_vec() };
    assert_eq!(room.in_invalid_graph(rule), open(&both));
}

/// The tensor of a drawn input.
fn given(input: &Given) -> Tensor {
    match input {
        Given::Data(Data { element_type, dims }) => data(*element_type, dims),
        Given::Values(tensor) => tensor.clone(),
    }
}

/// The random bytes of a seed.
fn entropy_of(seed: u64) -> [u8; 768] {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut entropy = [0; 768];
    rng.fill_bytes(&mut entropy);
    entropy
}

/// The call that a seed draws, and its expectation.
fn drawn(operator: &'static Operator, version: &'static Version, aim: Aim, seed: u64) -> (Drawn, Expectation) {
    drawn_for(operator, version, aim, None, seed)
}

/// The same for given data.
fn drawn_for(
    operator: &'static Operator,
    version: &'static Version,
    aim: Aim,
    decided: Option<Data>,
    seed: u64,
) -> (Drawn, Expectation) {
    let entropy = entropy_of(seed);
    let drawn = operator.draw(&mut Unstructured::new(&entropy), version, aim, decided).unwrap();
    let inputs: Vec<Option<Tensor>> = drawn.inputs.iter().map(|input| input.as_ref().map(given)).collect();
    let expectation = operator.evaluate(version.since, &drawn.attributes, &inputs, drawn.outputs);
    (drawn, expectation)
}

/// Other data may be drawn for a call that keeps its attributes. If one dim of the data is 0, the other dims may have any size.
#[test]
fn inputs_for_vast_data_are_few() {
    for operator in OPERATORS {
        for version in operator.versions {
            for seed in 0..200 {
                let (Drawn { attributes, inputs, .. }, _) = drawn(operator, version, Aim::Valid, seed);
                let Some(rank) = inputs.iter().flatten().find_map(|input| match input {
                    Given::Data(data) => Some(data.dims.len()),
                    Given::Values(_) => None,
                }) else {
                    continue;
                };
                for (vast, zero) in (0..rank).flat_map(|vast| (0..rank).map(move |zero| (vast, zero))) {
                    let mut dims = vec![1; rank];
                    dims[vast] = 1 << 20;
                    dims[zero] = 0;
                    let data = Data { element_type: ElementType::Float, dims: dims.clone() };
                    let entropy = entropy_of(seed);
                    let again =
                        operator.draw_inputs(&mut Unstructured::new(&entropy), version, &attributes, data, None);
                    let is_small = |input: &Given| match input {
                        Given::Data(_) => true,
                        Given::Values(tensor) => tensor.len() <= usize::try_from(MAX_DRAWN).unwrap(),
                    };
                    let again = again.unwrap();
                    assert!(
                        again.iter().flatten().all(is_small),
                        "{operator}-{} {attributes:?} {dims:?}",
                        version.since
                    );
                }
            }
        }
    }
}

#[test]
fn a_call_is_what_it_is_drawn_for() {
    for operator in OPERATORS {
        for version in operator.versions {
            for seed in 0..400 {
                let (drawn, expectation) = drawn(operator, version, Aim::Valid, seed);
                // The texts on Tile-1 contradict each other, so no call of it is valid.
                if expectation.rule() == Some(Rule::TILE_1) {
                    continue;
                }
                assert!(
                    matches!(expectation, Expectation::Defined(_)),
                    "{operator}-{}: {drawn:?}: {expectation:?}",
                    version.since
                );
                let most = usize::try_from(MAX_DRAWN).unwrap();
                assert!(
                    expectation.outputs().unwrap().iter().all(|output| output.len() <= most),
                    "{operator}: {drawn:?}"
                );
            }
            for rule in operator.rules_of(version).filter(|rule| !rule.is_on_the_graph()) {
                for seed in 0..100 {
                    let (drawn, expectation) = drawn(operator, version, Aim::Break(rule), seed);
                    assert_eq!(
                        expectation.rule(),
                        Some(rule),
                        "{operator}-{}: {drawn:?}: {expectation:?}",
                        version.since
                    );
                }
            }
            for seed in 0..100 {
                let _ = drawn(operator, version, Aim::Wild, seed);
            }
        }
    }
}
