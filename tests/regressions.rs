//! Replays every saved regression: a runtime that changes its answer, for better or worse, shows as a readable diff.
//! `cargo insta review` is where a person accepts it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{iter, thread};

use onnx_crosscheck::finding::{Cause, Known, Ledger, Probe, load, masking, snapshot};
use onnx_crosscheck::operator::OPERATORS;
use onnx_crosscheck::runtime::{self, Limits, Runtime};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The runtimes that are linked into the program.
const LINKED: &str = "in-house,tract";

/// The time for a run, half of the default. What is saved as endless never ends, and everything else ends within it.
const TIME: Duration = Duration::from_secs(1);

/// Opens runtimes in processes of their own, since a saved regression may be a crash.
fn open(list: Option<&str>) -> Vec<Box<dyn Runtime>> {
    let limits = Limits::new(TIME, Limits::default().memory).with_program(Path::new(env!("CARGO_BIN_EXE_crosscheck")));
    runtime::open_apart(&runtime::select(list).unwrap(), &limits).unwrap_or_else(|error| panic!("{error}"))
}

/// What a snapshot says of each runtime: what it did, and what is thought of it.
fn by_runtime(snapshot: &str) -> BTreeMap<&str, Vec<String>> {
    let mut said: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut class: Vec<&str> = vec![];
    for line in snapshot.lines().filter(|line| !line.is_empty()) {
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.split_once(' ') {
            Some(("", _)) => class.iter().for_each(|runtime| said.entry(runtime).or_default().push(words.clone())),
            Some((runtime, judgement)) if !runtime.ends_with(',') => {
                said.entry(runtime).or_default().push(judgement.trim().to_owned());
                class = vec![runtime];
            }
            _ => class = line.split(", ").collect(),
        }
    }
    said
}

/// How many threads work at a time.
const THREADS: usize = 3;

/// The result of the work on each item, in their order. Each thread has runtimes of its own. Much of the time is that of cases that
/// never end, so it is shared.
fn on_threads<S, T: Sync, R: Send>(
    items: &[T],
    open: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let own = || {
        let mut runtimes = open();
        let item = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&place| place < items.len());
        iter::from_fn(item).map(|place| (place, work(&mut runtimes, &items[place]))).collect::<Vec<_>>()
    };
    let mut all: Vec<(usize, R)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(own)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, result)| result).collect()
}

#[test]
fn the_runtimes_that_are_linked_do_with_every_saved_regression_what_they_did() {
    let ids = runtime::ids(&open(Some(LINKED)));
    let regressions = load(root()).unwrap_or_else(|error| panic!("{error}"));
    assert!(!regressions.is_empty());
    let texts = on_threads(&regressions, || open(Some(LINKED)), |runtimes, own| snapshot(&own.case, runtimes));
    for (regression, now) in regressions.iter().zip(&texts) {
        let path = root().join("snapshots").join(format!("{}.snap", regression.name));
        let before = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (before, now) = (by_runtime(&before), by_runtime(now));
        for id in &ids {
            let id = id.to_string();
            assert!(now[&*id].len() >= 2, "{}: {now:?}", regression.name);
            assert_eq!(before.get(&*id), now.get(&*id), "{id} on {}", regression.name);
        }
    }
}

/// Holds the known issues of runtimes against what these do.
fn assert_known_issues_show(list: &str) {
    let ledger = Ledger::load().unwrap_or_else(|error| panic!("{error}"));
    let probe = || Probe::new(open(Some(list)));
    let ids = probe().ids();
    let there: Vec<Known> = ledger.known().filter(|known| ids.iter().any(|id| known.variant.may_show_on(id))).collect();
    assert!(!there.is_empty(), "{list} has no known issues");
    let shows = on_threads(&there, probe, |probe, known| !known.triggers(probe).is_empty());
    let fixed = there.iter().zip(shows).filter(|(_, shows)| !shows).map(|(known, _)| known.variant.id.as_str());
    assert_eq!(fixed.collect::<Vec<_>>(), Vec::<&str>::new(), "fixed upstream, or changed: close them");
}

#[test]
fn every_known_issue_of_what_is_linked_still_shows_with_its_own_signature() {
    assert_known_issues_show(LINKED);
}

#[test]
fn every_known_issue_has_a_signature_of_its_own_and_a_cause() {
    let ledger = Ledger::load().unwrap_or_else(|error| panic!("{error}"));
    let signatures: BTreeSet<_> = ledger.known().map(|known| &known.variant.signature).collect();
    assert_eq!(signatures.len(), ledger.known().count(), "a signature stands there twice");
    let ids: BTreeSet<_> = ledger.causes.iter().map(|cause| &cause.id).collect();
    assert_eq!(ids.len(), ledger.causes.len(), "a cause has the name of another");
    assert!(!ids.contains(&String::new()), "a cause has no name");
    let texts: BTreeSet<_> = ledger.causes.iter().map(|cause| (&cause.explanation, cause.state.to_string())).collect();
    assert_eq!(texts.len(), ledger.causes.len(), "two causes have the same explanation: they are one");
    let is_unwritten =
        |cause: &&Cause| [&cause.title, &cause.explanation].iter().any(|text| text.contains("to be written"));
    let unwritten: Vec<_> = ledger.causes.iter().filter(is_unwritten).collect();
    assert!(unwritten.is_empty(), "say why: {unwritten:#?}");
}

#[test]
fn every_known_issue_has_its_regression_and_every_regression_its_issue() {
    let ledger = Ledger::load().unwrap_or_else(|error| panic!("{error}"));
    let known: BTreeSet<_> =
        ledger.known().map(|known| (known.variant.id.clone(), known.variant.case.clone())).collect();
    let saved = load(root()).unwrap_or_else(|error| panic!("{error}"));
    let saved: BTreeSet<_> = saved.into_iter().map(|saved| (saved.name, saved.case.to_string())).collect();
    assert_eq!(known, saved);
}

/// The highest share of the faults that are planted beside a known issue which it may hide, in percent.
const MOST_HIDDEN: f64 = 2.0;

fn assert_a_fault_beside_a_known_issue_is_new(list: &str) {
    let ledger = Ledger::load().unwrap_or_else(|error| panic!("{error}"));
    let measured = masking(&ledger, &mut Probe::new(open(Some(list))), &OPERATORS[..5], 5, 6000);
    assert!(measured.iter().map(|masking| masking.planted).sum::<usize>() > 1000, "{measured:#?}");
    let hiding: Vec<_> = measured.iter().filter(|masking| masking.percent() > MOST_HIDDEN).collect();
    assert!(hiding.is_empty(), "{hiding:#?}");
}

#[test]
fn a_fault_planted_beside_a_known_issue_of_what_is_linked_is_new() {
    assert_a_fault_beside_a_known_issue_is_new(LINKED);
}

/// The same of onnxruntime, and the snapshots as a whole.
mod wheels {
    use onnx_crosscheck::finding::Regression;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    const ONNXRUNTIME: &str = "onnxruntime";

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn every_saved_regression_is_as_it_was() {
        let ledger = Ledger::load().unwrap_or_else(|error| panic!("{error}"));
        // Memory that was never written is another each time: what onnxruntime does is left out.
        let unwritten: BTreeSet<_> =
            ledger.known().filter(|known| known.variant.is_unwritten).map(|known| &known.variant.id).collect();
        let regressions = load(root()).unwrap_or_else(|error| panic!("{error}"));
        assert!(!regressions.is_empty());
        let open = || (open(None), open(Some(LINKED)));
        let texts = on_threads(&regressions, open, |(runtimes, others), Regression { name, case }| {
            snapshot(case, if unwritten.contains(name) { others } else { runtimes })
        });
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(root().join("snapshots"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let is_same = |name: &str, text: &str| {
            settings.bind(|| catch_unwind(AssertUnwindSafe(|| insta::assert_snapshot!(name, text)))).is_ok()
        };
        let both = regressions.iter().map(|regression| regression.name.as_str()).zip(&texts);
        let changed: Vec<&str> = both.filter(|(name, text)| !is_same(name, text)).map(|(name, _)| name).collect();
        assert!(changed.is_empty(), "changed: {}", changed.join(", "));
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn every_known_issue_of_onnxruntime_still_shows_with_its_own_signature() {
        assert_known_issues_show(ONNXRUNTIME);
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn a_fault_planted_beside_a_known_issue_of_onnxruntime_is_new() {
        assert_a_fault_beside_a_known_issue_is_new(ONNXRUNTIME);
    }
}
