//! Each operator has at least one planted fault. A campaign must find each fault within 20,000 cases of its operator.

use std::time::Duration;

use crate::campaign::{self, Options, Statistics, Stream};
use crate::case::Generator;
use crate::operator::{OPERATORS, Operator};
use crate::runtime::planted::{CALLS, CallFault};
use crate::runtime::{Stop, open, select};

/// The number of cases of a fault's operator until the fault is found; `None` if `most` cases do not show it.
fn cases_until_found(fault: &CallFault, most: u64) -> Option<u64> {
    let row = select(Some(&format!("planted/{}", fault.name))).unwrap();
    let open = || open(&row);
    let source = Stream::new(Generator::new(vec![fault.operator]), 3, vec![]);
    let options = Options {
        source: &source,
        from: 0,
        cases: Some(most),
        reserve: &|| Duration::ZERO,
        threads: 1,
        batch: 64,
        expected: &[],
        known: &[],
        give_up: &|_| {},
    };
    let stop = Stop::default();
    let found = campaign::run(&options, None, &open, &stop, &|so_far: &Statistics| {
        if !so_far.groups.is_empty() {
            stop.ask();
        }
    });
    let found = found.unwrap();
    (!found.groups.is_empty()).then_some(found.cases)
}

#[test]
fn a_fault_in_each_operator_is_found_within_20_000_cases() {
    let without: Vec<_> =
        OPERATORS.iter().filter(|operator| CALLS.iter().all(|row| row.operator != **operator)).collect();
    assert!(without.is_empty(), "no fault is planted in {without:?}");
    let found: Vec<(&str, &Operator, Option<u64>)> =
        CALLS.iter().map(|row| (row.name, row.operator, cases_until_found(row, 20_000))).collect();
    let missed: Vec<_> = found.iter().filter(|(.., cases)| cases.is_none()).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
