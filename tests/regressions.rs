//! Replays every saved regression: a runtime that changes its answer, for better or worse, shows as a readable diff.
//! `cargo insta review` is where a person accepts it.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use onnx_crosscheck::campaign::Trigger;
use onnx_crosscheck::case::{Features, Generated, Generator};
use onnx_crosscheck::finding::{Ledger, Probe, load, snapshot};
use onnx_crosscheck::operator::Expectation;
use onnx_crosscheck::runtime::{self, Runtime};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn open() -> Vec<Box<dyn Runtime>> {
    runtime::open(&runtime::select(None).unwrap()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_saved_regression_is_as_it_was() {
    let mut runtimes = open();
    let regressions = load(root()).unwrap_or_else(|error| panic!("{error}"));
    assert!(!regressions.is_empty());
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let changed: Vec<String> = regressions
        .into_iter()
        .filter_map(|regression| {
            let text = snapshot(&regression.case, &mut runtimes);
            let same = settings
                .bind(|| catch_unwind(AssertUnwindSafe(|| insta::assert_snapshot!(regression.name.as_str(), text))));
            same.is_err().then_some(regression.name)
        })
        .collect();
    assert!(changed.is_empty(), "changed: {}", changed.join(", "));
}

#[test]
fn every_known_issue_still_shows_with_its_own_signature() {
    let ledger = Ledger::load().unwrap_or_else(|error| panic!("{error}"));
    assert!(!ledger.entries.is_empty());
    let mut probe = Probe::new(open());
    let ids = probe.ids();
    let there = ledger.entries.iter().filter(|known| ids.iter().any(|id| known.may_show_on(id)));
    let fixed: Vec<_> = there.filter(|known| known.triggers(&mut probe).is_empty()).collect();
    assert!(fixed.is_empty(), "fixed upstream, or changed: close them: {fixed:#?}");
    let signatures: BTreeSet<_> = ledger.entries.iter().map(|known| &known.signature).collect();
    assert_eq!(signatures.len(), ledger.entries.len(), "a signature stands there twice");
    let unwritten: Vec<_> = ledger.entries.iter().filter(|known| known.cause.contains("to be written")).collect();
    assert!(unwritten.is_empty(), "say why: {unwritten:#?}");
}

#[test]
fn every_known_issue_has_its_regression_and_every_regression_its_issue() {
    let ledger = Ledger::load().unwrap_or_else(|error| panic!("{error}"));
    let known: BTreeSet<_> = ledger.entries.iter().map(|known| (known.id.clone(), known.case.clone())).collect();
    let saved = load(root()).unwrap_or_else(|error| panic!("{error}"));
    let saved: BTreeSet<_> = saved.into_iter().map(|saved| (saved.name, saved.case.to_string())).collect();
    assert_eq!(known, saved);
}

/// A fault is planted beside a known issue by giving its mismatch to a case on which the runtime does nothing wrong.
#[test]
fn a_fault_planted_beside_a_known_issue_is_new() {
    const CASES: u64 = 6000;
    let ledger = Ledger::load().unwrap_or_else(|error| panic!("{error}"));
    let mut probe = Probe::new(open());
    let triggers = ledger.triggers(&mut probe);
    let generator = Generator::default();
    let cases: Vec<Generated> = (0..CASES).map(|index| generator.case(5, index)).collect();
    let releases: BTreeSet<&str> = triggers.iter().flatten().map(|own| own.mismatch.runtime.as_str()).collect();
    for release in releases {
        let is_healthy = |case: &&Generated| {
            let sighting = probe.look(&case.case, release).expect("the runtime of a known issue");
            sighting.configurations.iter().all(|(_, mismatches, unsupported)| mismatches.is_empty() && !unsupported)
        };
        let healthy: Vec<(&Generated, Features)> =
            cases.iter().filter(is_healthy).map(|case| (case, Features::of(&case.case))).collect();
        for (known, own) in ledger.entries.iter().zip(&triggers) {
            let Some(Trigger { mismatch, .. }) = own.first() else { continue };
            // Where a rule is at stake the trigger is a case that breaks it, and a runtime that does nothing wrong with one
            // of these does so by accident.
            let is_beside = |case: &Generated| {
                matches!(case.expectation, Expectation::Defined(_))
                    && mismatch.runtime == release
                    && mismatch.rule.is_none()
                    && case.case.operator.name == mismatch.operator
            };
            let beside = healthy.iter().filter(|(case, _)| is_beside(case));
            let (explained, new): (Vec<_>, Vec<_>) = beside
                .partition(|(_, features)| triggers.iter().flatten().any(|known| known.explains(mismatch, features)));
            // The features of a case are coarser than the case, so a defect may seem to be at work where it is not.
            assert!(
                explained.len() <= new.len() / 4,
                "{} covers {} of {} cases beside it",
                known.id,
                explained.len(),
                explained.len() + new.len()
            );
        }
    }
}
