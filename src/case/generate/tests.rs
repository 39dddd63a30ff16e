//! The generator held to its promises, over many cases of a fixed seed.

use std::collections::{BTreeMap, HashMap};

use super::*;

const SEED: u64 = 7;
const CASES: u64 = 200_000;

#[test]
fn every_cell_rule_and_wiring_pair_is_reached() {
    let generator = Generator::default();
    let (mut cells, mut rules, mut wirings): (HashMap<_, u32>, HashMap<_, u32>, HashMap<_, u32>) = Default::default();
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    let mut strays: BTreeMap<String, (u32, String)> = BTreeMap::new();
    for index in 0..CASES {
        let Generated { case, intent, expectation, .. } = generator.case(SEED, index);
        let version = case.operator.version_at(case.opset).unwrap();
        let kind = match &expectation {
            Expectation::Defined(_) => "valid",
            Expectation::Reject { .. } => "invalid",
            Expectation::Unspecified { .. } => "unspecified",
        };
        *kinds.entry(kind).or_default() += 1;
        let kept = match intent {
            Intent::Valid => {
                matches!(expectation, Expectation::Defined(_)) || expectation.rule() == Some(Rule::ScalarData)
            }
            Intent::Rule(rule) => expectation.rule() == Some(rule),
            Intent::Wild => true,
        };
        if !kept {
            let stray = format!("{}-{} {intent:?} -> {:?}", case.operator, version.since, expectation.rule());
            strays.entry(stray).or_insert_with(|| (0, case.to_string())).0 += 1;
        }
        if let Intent::Rule(rule) = intent {
            *rules.entry((case.operator.name, version.since, rule)).or_default() += 1;
        }
        if intent == Intent::Valid {
            let data = case.operands[0].as_ref().unwrap();
            assert!(version.element_types.contains(&data.element_type));
            *cells.entry((case.operator.name, version.since, data.element_type)).or_default() += 1;
            let wiring: Vec<Wiring> = case.operands.iter().flatten().map(|o| o.wiring).collect();
            *wirings.entry(wiring).or_default() += 1;
        }
    }
    assert!(strays.is_empty(), "not what was intended: {strays:#?}");
    for operator in OPERATORS {
        for version in operator.versions {
            for element_type in version.element_types {
                let reached = cells.get(&(operator.name, version.since, *element_type)).copied().unwrap_or(0);
                assert!(reached >= 10, "{operator}-{} of {element_type} reached {reached} times", version.since);
            }
            for rule in rules_of(operator, version) {
                let reached = rules.get(&(operator.name, version.since, rule)).copied().unwrap_or(0);
                assert!(reached >= 10, "{operator}-{} with {rule} reached {reached} times", version.since);
            }
        }
    }
    for first in Wiring::ALL {
        assert!(wirings.get(&vec![first]).is_some_and(|&n| n >= 10));
        for second in Wiring::ALL {
            assert!(wirings.get(&vec![first, second]).is_some_and(|&n| n >= 10), "{first} with {second}");
        }
    }
    assert!(kinds["valid"] * 100 >= CASES * 60, "{kinds:?}");
    assert!(kinds["invalid"] * 100 >= CASES * 15, "{kinds:?}");
}

#[test]
fn printing_a_case_and_reading_it_back_gives_the_same_case() {
    let generator = Generator::default();
    for index in 0..20_000 {
        let case = generator.case(SEED + 1, index).case;
        let line = case.to_string();
        assert_eq!(line.parse().as_ref(), Ok(&case), "{line}");
    }
    // The same for cases that no intent would draw: any attribute, any contents, any bytes.
    arbtest::arbtest(|u| {
        let mut case: Case = u.arbitrary()?;
        for operand in case.operands.iter_mut().flatten() {
            operand.dims.truncate(3);
            if operand.check_limits().is_err() {
                operand.dims = vec![3];
            }
            operand.contents = arbitrary_contents(u, operand)?;
        }
        let value = match u.int_in_range(0..=3)? {
            0 => AttributeValue::Int(u.arbitrary()?),
            1 => AttributeValue::Ints(u.arbitrary()?),
            2 => AttributeValue::Float(u.arbitrary()?),
            _ => AttributeValue::String(u.arbitrary()?),
        };
        case.attributes.push(Attribute { name: "any_name1".to_owned(), value });
        let line = case.to_string();
        assert!(!line.contains('\n'), "{line:?} is one line");
        assert_eq!(line.parse().as_ref(), Ok(&case), "{line}");
        Ok(())
    });
}

fn arbitrary_contents(u: &mut Unstructured, operand: &Operand) -> arbitrary::Result<Contents> {
    let count = crate::tensor::element_count(&operand.dims).unwrap_or(0);
    let explicit = count <= 1000;
    Ok(match (u.int_in_range(0..=3)?, operand.element_type) {
        (0, _) => Contents::Random(u.arbitrary()?),
        (1, _) => Contents::Special,
        (2, ElementType::String) if explicit => {
            Contents::Strings((0..count).map(|_| u.arbitrary()).collect::<arbitrary::Result<_>>()?)
        }
        (2, element_type) if explicit && element_type != ElementType::String => {
            let bits = |u: &mut Unstructured| Ok(u.arbitrary::<u128>()? & crate::tensor::mask(element_type.bits()));
            let bool_bits = |bits: u128| if element_type == ElementType::Bool { bits & 1 } else { bits };
            Contents::Bits((0..count).map(|_| bits(u).map(bool_bits)).collect::<arbitrary::Result<_>>()?)
        }
        _ => Contents::Count,
    })
}

#[test]
fn a_seed_gives_the_same_cases_for_ever() {
    let generator = Generator::default();
    let lines: Vec<String> = (0..5).map(|index| generator.case(SEED, index).case.to_string()).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    Flatten@20 axis=-2 float[2,1,1]:special:input(symbolic)
    Flatten@12 axis=-1 float8e5m2fnuz[11]:constant(typed)
    Shape@9 complex128[17,64,1,2,1,1,1,1]
    Reshape@24 complex64[64,32]:special:input(symbolic) int64[6]{2,2,2,2,16,8}:input(shared)
    Shape@14 uint16[3,7]:special
    ");
}
