//! The catalogue of targeted edge cases, as readable lines under `corpus/catalogue/`.
//!
//! A line is a case and its expected answer: the dims of the outputs, the elements for Shape and Size, or the outputs with all
//! their elements; `reject RULE`; or `open RULE` and the answer that the specification leans to. A test compares each line with the
//! in-house implementation.

use super::{Case, ParseCaseError};
use crate::operator::Operator;

/// The edge cases of an operator, in the order of its file.
///
/// # Panics
/// If a line cannot be read. A test reads every line.
pub fn cases(operator: &'static Operator) -> Vec<Case> {
    let lines = read(operator.catalogue);
    let lines = lines.unwrap_or_else(|(line, error)| panic!("catalogue of {operator}, line {line}: {error}"));
    lines.into_iter().map(|(case, _)| case).collect()
}

/// Each case with its expected answer. An error comes with the number of its line.
fn read(text: &'static str) -> Result<Vec<(Case, &'static str)>, (usize, ParseCaseError)> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(number, line)| {
            let (case, demand) = line.rsplit_once("  # ").unwrap_or((line, ""));
            Ok((case.parse().map_err(|error| (number, error))?, demand))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::describe;
    use crate::operator::{Answer, Expectation, OPERATORS, Rule};
    use crate::tensor::Tensor;
    use std::collections::HashSet;

    /// A list of numbers, or the single number of a scalar.
    fn numbers(values: &[i64], rank: usize) -> String {
        let list = values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        if rank == 0 { list } else { format!("[{list}]") }
    }

    /// The tensors of outputs that are written with all their elements.
    fn written(outputs: &str) -> Vec<Tensor> {
        let tensor = |text: &str| format!("Size@26 {text}").parse::<Case>().map(|case| case.tensors().remove(0)).ok();
        outputs.split(' ').filter(|text| text.contains('[')).filter_map(tensor).collect()
    }

    /// The expectation in the notation of the catalogue. It equals `demanded` if the two agree.
    fn demand(case: &Case, demanded: &str) -> String {
        let expectation = case.expectation(&case.tensors());
        if demanded.contains('{') && expectation.outputs() == Some(&written(demanded)[..]) {
            let rule = expectation.rule().map_or(String::new(), |rule| format!("open {rule} "));
            let written = demanded.strip_prefix(&rule).unwrap_or(demanded);
            return format!("{rule}{written}");
        }
        let output = |output: &Tensor| match output {
            _ if demanded.contains('{') => describe(output),
            computed if case.nodes[0].operator.measures() => numbers(&computed.int64s().unwrap(), computed.rank()),
            moved => numbers(moved.dims(), 1),
        };
        let outputs = |outputs: &[Tensor]| outputs.iter().map(output).collect::<Vec<_>>().join(" ");
        let is_any = matches!(&expectation, Expectation::Unspecified { tolerated, .. } if tolerated[0] == Answer::Any);
        let without = if is_any { "any" } else { "refusal" };
        let leaning = expectation.outputs().map_or(without.to_owned(), outputs);
        match &expectation {
            Expectation::Defined(_) => leaning,
            Expectation::Reject { rule, .. } => format!("reject {rule}"),
            Expectation::Unspecified { rule, .. } => format!("open {rule} {leaning}"),
        }
    }

    #[test]
    fn every_line_is_what_the_in_house_implementation_gives() {
        for operator in OPERATORS {
            let entries = read(operator.catalogue).unwrap_or_else(|(line, error)| panic!("{operator}:{line}: {error}"));
            assert!(!entries.is_empty(), "{operator} has no edge cases");
            let mut seen = HashSet::new();
            for (case, demanded) in &entries {
                assert_eq!(case.single().unwrap().operator, *operator);
                assert_eq!(demand(case, demanded), *demanded, "{case}");
                assert!(operator.catalogue.contains(&format!("{case}  # ")), "{case} is not written as it prints");
                assert!(seen.insert(case), "{case} stands there twice");
            }
        }
    }

    #[test]
    fn every_rule_is_in_the_catalogue() {
        let cases = OPERATORS.iter().flat_map(|operator| cases(operator));
        let rules: HashSet<_> = cases.filter_map(|case| case.expectation(&case.tensors()).rule()).collect();
        let of_operators = OPERATORS.iter().flat_map(|operator| operator.own_rules());
        let missing: Vec<_> = of_operators.chain(Rule::FORM.iter().copied()).filter(|r| !rules.contains(r)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
