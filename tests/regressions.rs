//! Replays every saved regression: a runtime that changes its answer, for better or worse, shows as a readable diff.
//! `cargo insta review` is where a person accepts it.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use onnx_crosscheck::finding::{Ledger, Probe, load, snapshot};
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
    let fixed: Vec<_> = ledger.entries.iter().filter(|known| known.trigger(&mut probe).is_none()).collect();
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
