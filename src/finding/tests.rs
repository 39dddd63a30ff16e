//! Planted faults: each must be distinguished from the others, minimized to the end, and saved.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use super::*;
use crate::campaign::{self, Opener, Options, Statistics, Stream};
use crate::case::{Generator, shrink};
use crate::model::Job;
use crate::operator::concat::CONCAT;
use crate::runtime::planted::{
    Fault, fuses_computed_target, no_high_rank, panics_on_zero, refuses_behind_a_wrong_shape, short_shape,
    swapped_flatten, truncated_target, wrong_type,
};
use crate::runtime::{self, Execution, OpenError, Outcome, Reason, Row, Runtime, Stage, Stop};
use crate::tensor::{ElementType, Tensor};
use crate::verdict::Discrepancy;

fn with_faults(faults: &[Fault]) -> Result<Vec<Box<dyn Runtime>>, OpenError> {
    Ok(vec![runtime::planted::with_faults(faults)?])
}

/// The fault `swapped_flatten`, but only for uint8: the same kind of mismatch with another trigger.
fn swapped_on_unsigned(job: &Job, execution: &mut Execution) {
    if job.feeds(0).any(|(_, tensor)| tensor.element_type() == ElementType::Uint8) {
        swapped_flatten(job, execution);
    }
}

const FIVE: [Fault; 5] = [short_shape, swapped_flatten, no_high_rank, wrong_type, panics_on_zero];

fn run(faults: &[Fault], known: &[Trigger]) -> Statistics {
    let source = Stream::new(Generator::of_the_heart(), 7, vec![]);
    run_on(&source, 12_000, &|| with_faults(faults), known)
}

fn run_on(source: &Stream, cases: u64, open: Opener, known: &[Trigger]) -> Statistics {
    let options = Options {
        source,
        from: 0,
        cases: Some(cases),
        reserve: &|| Duration::ZERO,
        threads: 2,
        batch: 64,
        expected: known,
        known,
        give_up: &|_| {},
    };
    campaign::run(&options, None, open, &Stop::default(), &|_| {}).unwrap()
}

fn triaged(statistics: &Statistics, faults: &[Fault], issues: &[Trigger]) -> Vec<Finding> {
    let open = |_: &[Row], _: &Stop| with_faults(faults);
    let triage = Triage::new(&[], issues, 2, Duration::from_secs(10), &open);
    triage.finish(&statistics.groups, &Stop::default(), &|_, _| {}).unwrap().findings
}

fn findings(faults: &[Fault], known: &[Trigger]) -> Vec<Finding> {
    let statistics = run(faults, known);
    triaged(&statistics, faults, &[])
}

#[test]
fn five_faults_at_once_are_five_findings() {
    let found = findings(&FIVE, &[]);
    let causes: BTreeSet<usize> = alike(&found.iter().collect::<Vec<_>>()).into_iter().collect();
    assert_eq!(causes.len(), FIVE.len(), "and look like five causes");
    let signatures: Vec<String> = found.iter().map(|finding| finding.signature().to_string()).collect();
    insta::assert_snapshot!(signatures.join("\n"), @r"
    planted | Flatten | panic | panics at run: there is nothing to flatten | operand0:dim-zero
    planted | Flatten | wrong-dims | rank>=1
    planted | Shape | wrong-dims | rank>=3
    planted | Reshape | wrong-type | float16 | operand0:bfloat16
    planted | Reshape | refuses-valid | objects to values | rank>=4
    ");
}

#[test]
fn the_findings_of_one_defect_look_like_one_cause() {
    let row = runtime::select(Some("planted/concat-negative-axis-too-low")).unwrap();
    let source = Stream::new(Generator::new(vec![&CONCAT]), 7, vec![]);
    let open = |_: &[Row], _: &Stop| runtime::open(&row);
    let statistics = run_on(&source, 3_000, &|| runtime::open(&row), &[]);
    let triage = Triage::new(&[], &[], 2, Duration::from_secs(10), &open);
    let findings = triage.finish(&statistics.groups, &Stop::default(), &|_, _| {}).unwrap().findings;
    let severities: BTreeSet<Severity> = findings.iter().map(Finding::severity).collect();
    assert!(severities.is_superset(&[Severity::WrongAnswer, Severity::AcceptsInvalid].into()), "{severities:?}");
    let standing = alike(&findings.iter().collect::<Vec<_>>());
    assert!(standing.iter().all(|place| *place == standing[0]), "{standing:?}");
    assert_eq!(findings[standing[0]].severity(), Severity::WrongAnswer, "the most severe one stands for all");
}

#[test]
fn a_refusal_behind_a_value_that_is_known_to_be_wrong_is_known() {
    let open = || Ok(vec![runtime::planted::on_whole_models(&[refuses_behind_a_wrong_shape])?]);
    let found = |case: &str, issues: &[Trigger]| {
        let source = Stream::new(Generator::of_the_heart(), 7, vec![case.parse().unwrap()]);
        let source = source.with_nodes("2..3".parse().unwrap());
        let statistics = run_on(&source, 1, &open, issues);
        let open = |_: &[Row], _: &Stop| open();
        let triage = Triage::new(&[], issues, 2, Duration::from_secs(10), &open);
        triage.finish(&statistics.groups, &Stop::default(), &|_, _| {}).unwrap().findings.remove(0)
    };
    let part = found("a=Reshape@28 float[2] int64[1]{2}; Shape a", &[]);
    assert_eq!(part.severity(), Severity::WrongAnswer);
    let whole = "a=Reshape@28 float[2] int64[1]{2}; a1=Shape a; Identity a1";
    let new = found(whole, &[]);
    assert!(new.severity() == Severity::RefusesValid && !new.is_known_as(&part.trigger), "{}", new.case);
    assert!(found(whole, std::slice::from_ref(&part.trigger)).is_known_as(&part.trigger));
    let mut probe = Probe::new(open().unwrap());
    assert_eq!(new.place_among(std::slice::from_ref(&part.trigger), &mut probe), Some(0));
    let sorted =
        Sorter::new(vec![part.trigger]).sort(&new.case, &new.trigger.mismatch, &new.trigger.features, &mut probe);
    assert!(matches!(sorted, Sorted::Known(0)), "{sorted:?}");
    let other = triaged(&run(&[short_shape], &[]), &[short_shape], &[]).remove(0).trigger;
    let still_new = found(whole, std::slice::from_ref(&other));
    assert_eq!((still_new.trigger, still_new.case), (new.trigger, new.case));
}

#[test]
fn the_extent_of_a_known_issue_is_not_measured() {
    let statistics = run(&[short_shape], &[]);
    let new = triaged(&statistics, &[short_shape], &[]).remove(0);
    assert!(new.extent.versions.iter().any(|(_, shown)| *shown == Shown::Yes), "{}", new.extent);
    let known = triaged(&statistics, &[short_shape], std::slice::from_ref(&new.trigger)).remove(0);
    assert_eq!((&known.case, known.extent.versions.len()), (&new.case, 0));
}

#[test]
fn new_findings_are_announced_during_a_campaign() {
    let statistics = run(&FIVE, &[]);
    let open = |_: &[Row], _: &Stop| with_faults(&FIVE);
    let triage = Triage::new(&[], &[], 2, Duration::from_secs(10), &open);
    let announced = Mutex::new(Vec::new());
    let announce = |finding: &Finding| announced.lock().unwrap().push(finding.signature().to_string());
    triage.during(&announce, &Stop::default(), || {
        triage.offer(&statistics.groups);
        assert!(triage.groups_left() > 0 && triage.time_left() > Duration::ZERO);
        while announced.lock().unwrap().len() < FIVE.len() {
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let again = |finding: &Finding| panic!("{} was announced before", finding.signature());
    triage.during(&again, &Stop::default(), || std::thread::sleep(Duration::from_millis(200)));
    let found = triage.finish(&statistics.groups, &Stop::default(), &|_, _| {}).unwrap().findings;
    let whole =
        |findings: &[Finding]| -> Vec<String> { findings.iter().map(|finding| format!("{finding:?}")).collect() };
    assert_eq!(whole(&found), whole(&triaged(&statistics, &FIVE, &[])));
    let found: BTreeSet<String> = found.iter().map(|finding| finding.signature().to_string()).collect();
    assert_eq!(announced.into_inner().unwrap().into_iter().collect::<BTreeSet<_>>(), found);
}

#[test]
fn a_campaign_stops_if_the_sorting_beside_it_panics() {
    let statistics = run(&[short_shape], &[]);
    let open = |_: &[Row], _: &Stop| with_faults(&[short_shape]);
    let triage = Triage::new(&[], &[], 1, Duration::from_secs(10), &open);
    let stop = Stop::default();
    let ended = AtomicUsize::new(0);
    let panics = |_: &Finding| panic!("the sorting is at its end");
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        triage.during(&panics, &stop, || {
            triage.offer(&statistics.groups);
            while !stop.is_asked() {
                std::thread::sleep(Duration::from_millis(10));
            }
            ended.store(1, Ordering::Relaxed);
        });
    }));
    assert!(outcome.is_err());
    assert_eq!(ended.into_inner(), 1, "the work ended by itself");
}

/// A run with five faults, and their findings as known issues.
fn run_of_known_faults() -> (Statistics, Vec<Trigger>) {
    let statistics = run(&FIVE, &[]);
    let issues = triaged(&statistics, &FIVE, &[]).into_iter().map(|finding| finding.trigger).collect();
    (statistics, issues)
}

#[test]
fn groups_that_were_sorted_during_a_campaign_are_not_minimized_again() {
    let (statistics, issues) = run_of_known_faults();
    let opened = AtomicUsize::new(0);
    let open = |_: &[Row], _: &Stop| {
        opened.fetch_add(1, Ordering::Relaxed);
        with_faults(&FIVE)
    };
    let triage = Triage::new(&[], &issues, 2, Duration::from_secs(10), &open);
    let announce = |finding: &Finding| panic!("{} is known", finding.signature());
    triage.during(&announce, &Stop::default(), || {
        triage.offer(&statistics.groups);
        while triage.groups_left() > 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let found = triage.finish(&statistics.groups, &Stop::default(), &|_, _| {}).unwrap();
    assert_eq!(found.findings.iter().map(|finding| finding.trigger.clone()).collect::<Vec<_>>(), issues);
    assert_eq!(opened.load(Ordering::Relaxed), 1, "the end needs no runtime");
}

#[test]
fn a_resumed_campaign_does_not_minimize_again() {
    let folder = tempfile::tempdir().unwrap();
    let (statistics, issues) = run_of_known_faults();
    let opened = AtomicUsize::new(0);
    let open = |_: &[Row], _: &Stop| {
        opened.fetch_add(1, Ordering::Relaxed);
        with_faults(&FIVE)
    };
    let finish = |resumes| {
        let record = Record::open(folder.path(), resumes).unwrap();
        let triage = Triage::new(&[], &issues, 1, Duration::from_secs(10), &open).recorded(record);
        let found = triage.finish(&statistics.groups, &Stop::default(), &|_, _| {}).unwrap().findings;
        let found: Vec<String> = found.iter().map(|finding| format!("{finding:?}")).collect();
        (found, opened.swap(0, Ordering::Relaxed))
    };
    let (first, _) = finish(false);
    assert_eq!(finish(true), (first.clone(), 0), "all is in the record");
    // A kill in the middle of a line.
    let path = folder.path().join("minimized.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 20]).unwrap();
    assert_eq!(finish(true), (first.clone(), 1), "one case is minimized again");
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "and is recorded again");
    assert_eq!(finish(false), (first, 1), "another campaign begins with an empty record");
}

#[test]
fn what_takes_all_of_its_time_does_not_keep_the_others_from_their_details() {
    static STOP: OnceLock<Stop> = OnceLock::new();
    fn takes_all_time(job: &Job, execution: &mut Execution) {
        let is_bfloat16 = |tensor: &Tensor| tensor.element_type() == ElementType::Bfloat16;
        let nodes = job.model.decode().ok().and_then(|model| model.graph).unwrap_or_default().node;
        if nodes[0].op_type() == "Reshape" && job.feeds(0).any(|(_, tensor)| is_bfloat16(tensor)) {
            execution.outcome = Outcome::TimedOut;
            if let Some(stop) = STOP.get() {
                stop.ask();
            }
        }
    }
    let faults: [Fault; 2] = [short_shape, takes_all_time];
    let statistics = run(&faults, &[]);
    let open = |_: &[Row], _: &Stop| with_faults(&faults);
    let triage = Triage::new(&[], &[], 1, Duration::from_secs(10), &open);
    let triaged = triage.finish(&statistics.groups, STOP.get_or_init(Stop::default), &|_, _| {}).unwrap();
    assert_eq!((triaged.findings.len(), triaged.unsorted.len()), (1, 1), "{triaged:#?}");
    assert!(triaged.unsorted[0].trigger.mismatch.is_costly());
    let extent = &triaged.findings[0].extent;
    assert!(extent.versions.iter().any(|(_, shown)| *shown == Shown::Yes), "{extent}");
}

#[test]
fn no_single_step_can_be_taken_from_a_minimized_case() {
    for fault in FIVE.into_iter().chain([truncated_target as Fault]) {
        let mut probe = Probe::new(with_faults(&[fault]).unwrap());
        let found = findings(&[fault], &[]);
        assert!(!found.is_empty());
        for finding in found {
            let mismatch = &finding.trigger.mismatch;
            assert!(probe.shows(&finding.case, mismatch), "{}", finding.case);
            for simpler in shrink::candidates(&finding.case) {
                assert!(!probe.shows(&simpler, mismatch), "{} could be {simpler}", finding.case);
            }
            assert!(finding.executions > 0 && finding.count > 0);
        }
    }
}

#[test]
fn a_truncated_target_is_one_finding_however_it_shows() {
    let found = findings(&[truncated_target], &[]);
    let signatures: Vec<String> = found.iter().map(|finding| finding.signature().to_string()).collect();
    assert_eq!(signatures, ["planted | Reshape | truncates | target-vast !operand0:in-model !operand1:in-model"]);
    assert!(found[0].count > 20, "{} mismatches", found[0].count);
}

#[test]
fn an_answer_in_one_wiring_and_a_tolerated_refusal_in_another_are_explained_by_truncation() {
    // The lowest 32 bits of the target are 1. An allowzero of -1 leaves open whether the case is refused.
    let case: Case = "Reshape@28 allowzero=-1 float[1] int64[1]{-4294967295}".parse().unwrap();
    let mut probe = Probe::new(with_faults(&[truncated_target]).unwrap());
    let sighting = probe.look(&case, "planted").unwrap();
    assert_eq!(sighting.configurations[0].1[0].discrepancies, [Discrepancy::Truncates]);
}

#[test]
fn a_refusal_is_explained_by_truncation_only_if_the_truncated_case_is_refused_in_the_same_words() {
    fn refuses_large_sizes(job: &Job, execution: &mut Execution) {
        let is_vast = |tensor: &Tensor| tensor.int64s().is_some_and(|sizes| sizes.contains(&4_294_967_295));
        if job.feeds(0).any(|(_, tensor)| is_vast(tensor)) {
            execution.outcome = Outcome::Refused { stage: Stage::Run, reason: Reason::Size };
            execution.phrase = "overflow".into();
        }
    }
    // Cut to 32 bits, the target is [-1, 0], which must be refused.
    let case: Case = "Reshape@28 allowzero=1 float[0] int64[2]{4294967295,0}".parse().unwrap();
    let faults =
        [(truncated_target as Fault, Discrepancy::Truncates), (refuses_large_sizes, Discrepancy::RefusesValid)];
    for (fault, discrepancy) in faults {
        let mut probe = Probe::new(with_faults(&[fault]).unwrap());
        let sighting = probe.look(&case, "planted").unwrap();
        assert_eq!(sighting.configurations[0].1[0].discrepancies, [discrepancy]);
    }
}

#[test]
fn time_that_runs_out_is_not_explained_by_truncation_to_what_is_not_judged() {
    fn takes_all_time(_: &Job, execution: &mut Execution) {
        execution.outcome = Outcome::TimedOut;
    }
    // More than 2^60 elements. Cut to 32 bits, the number is 2^31 - 1, and some machines have the memory for these.
    let case: Case = "ConstantOfShape@28 int64[1]{1152921506754330623}".parse().unwrap();
    let mut probe = Probe::new(with_faults(&[takes_all_time]).unwrap());
    let sighting = probe.look(&case, "planted").unwrap();
    assert_eq!(sighting.configurations[0].1[0].discrepancies, [Discrepancy::Exhaustion]);
}

#[test]
fn minimizing_is_deterministic_and_keeps_the_mismatch() {
    let case: Case = "Shape@15 start=-9 float16[2,3,1,7,2]:special:constant(typed)".parse().unwrap();
    let mut probe = Probe::new(with_faults(&[short_shape]).unwrap());
    let sighting = probe.look(&case, "planted").unwrap();
    let mismatch = sighting.configurations[0].1[0].clone();
    let first = minimize(&case, &mismatch, &mut probe);
    let second = minimize(&case, &mismatch, &mut probe);
    assert_eq!(first.case.to_string(), "Shape@28 float[1,1,1]");
    assert_eq!((first.case, first.executions), (second.case, second.executions));
    // A case that does not show the mismatch comes back as it is.
    let right: Case = "Shape@15 float16[2,3]".parse().unwrap();
    assert_eq!(minimize(&right, &mismatch, &mut probe).case, right);
}

#[test]
fn a_known_defect_covers_itself_and_not_another_beside_it() {
    let known: Vec<Trigger> = findings(&[swapped_flatten], &[]).into_iter().map(|finding| finding.trigger).collect();
    let again = findings(&[swapped_flatten], &known);
    assert!(again.iter().all(|finding| known.contains(&finding.trigger)), "the known defect is all there is");
    let typed: Vec<Trigger> = findings(&[swapped_on_unsigned], &[]).into_iter().map(|f| f.trigger).collect();
    assert!(typed.iter().all(|trigger| trigger.features.to_string().contains("operand0:uint8")), "{typed:?}");
    let beside = findings(&[swapped_flatten], &typed);
    assert!(!beside.is_empty(), "a defect of one type does not cover that of every type");
}

#[test]
fn a_finding_whose_case_a_known_defect_explains_is_that_defect_though_its_operator_may_be_any() {
    let mismatch = findings(&[short_shape], &[]).remove(0).trigger.mismatch;
    let case: Case = "a=Shape@21 float[2] :info; Flatten axis=0 a".parse().unwrap();
    let known = Trigger::new(mismatch.clone(), Features::of(&case));
    let of_any = Trigger::new(mismatch, Features::of(&case).with_any_operator(&[0]));
    assert!(!known.explains_all_of(&of_any));
    assert!(Finding::as_drawn(of_any.clone(), case, 1).is_known_as(&known));
    let elsewhere: Case = "a=Size@21 float[2] :info; Flatten axis=0 a".parse().unwrap();
    assert!(!Finding::as_drawn(of_any, elsewhere, 1).is_known_as(&known));
}

#[test]
fn the_extent_says_where_a_finding_shows() {
    let found = findings(&[wrong_type], &[]);
    let extent = &found[0].extent;
    let shows = |types: &[(ElementType, Shown)]| {
        types.iter().filter(|(_, s)| *s == Shown::Yes).map(|(t, _)| *t).collect::<BTreeSet<_>>()
    };
    assert_eq!(shows(&extent.types), BTreeSet::from([ElementType::Bfloat16]));
    let versions: Vec<u8> = extent.versions.iter().filter(|(_, s)| *s == Shown::Yes).map(|(v, _)| *v).collect();
    assert_eq!(versions, [13, 14, 19, 21, 23, 24, 25]);
    assert!(extent.wirings.iter().all(|(_, shown)| *shown == Shown::Yes));
    assert!(extent.to_string().contains("wirings        shows: all"), "{extent}");
}

#[test]
fn the_extent_names_the_edge_and_the_declaration_without_which_nothing_shows() {
    let mut probe = Probe::new(vec![runtime::planted::on_whole_models(&[fuses_computed_target]).unwrap()]);
    let case: Case = "a=Shape@28 float[2,3]; a1=Gather a int64[1]{1}; a2=Concat axis=0 a1 int64[1]{2}; Reshape \
                      float[6]:input(symbolic) a2 :output(static)"
        .parse()
        .unwrap();
    let (mismatch, _) = probe.mismatches(&case).remove(0);
    let extent = Extent::measure(&case, &mismatch, &mut probe, Duration::MAX);
    let words =
        |rows: &[(String, Shown)]| rows.iter().map(|(words, shown)| format!("{words}: {shown}")).collect::<Vec<_>>();
    let edges = ["Shape as data of Gather", "Gather as inputs 0 of Concat", "Concat as shape of Reshape"];
    assert_eq!(words(&extent.edges), edges.map(|edge| format!("{edge}: does not")));
    let declarations = ["data of Reshape as input(symbolic): shows", "Reshape as output(static): does not"];
    assert_eq!(words(&extent.declarations), declarations);
    let text = extent.to_string();
    assert!(text.contains(&format!("without edge   does not: {}\n", edges.join(", "))), "{text}");
    assert!(text.contains(&format!("undeclared     shows: {}", &declarations[0][..34])), "{text}");
}

#[test]
fn a_finding_is_saved_as_a_case_and_a_pending_snapshot() {
    let root = tempfile::tempdir().unwrap();
    let finding = findings(&[short_shape], &[]).remove(0);
    let mut runtimes = with_faults(&[short_shape]).unwrap();
    let path = finding.save(root.path(), &mut runtimes).unwrap();
    let saved = load(root.path()).unwrap();
    assert_eq!(saved.len(), 1);
    assert_eq!((&saved[0].case, &saved[0].name), (&finding.case, &finding.name()));
    let pending = root.path().join(SNAPSHOTS).join(format!("{}.snap.new", finding.name()));
    let text = std::fs::read_to_string(pending).unwrap();
    assert!(text.starts_with("---\nsource: tests/regressions.rs\n") && text.contains("planted"), "{text}");

    std::fs::write(&path, "# a comment\nShape@28 flaot[1]\n").unwrap();
    let error = load(root.path()).unwrap_err().to_string();
    assert!(error.contains("line 2: column 10: expected an element type"), "{error}");
    std::fs::write(&path, "Shape@28 float[1]\nShape@28 float[2]\n").unwrap();
    assert!(load(root.path()).unwrap_err().to_string().contains("one line that is a case"));
}
