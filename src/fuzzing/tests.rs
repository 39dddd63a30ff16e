//! The parts of a target that need no libFuzzer.

use super::*;
use crate::runtime::planted;

#[test]
fn a_target_takes_cases_of_its_operator_only() {
    let case: Case = "Shape@28 float[2]".parse().unwrap();
    assert_eq!(["shape", "flatten", "any"].map(|target| takes(target, &case)), [true, false, true]);
}

#[test]
fn what_is_minimized_is_known_from_the_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("crash");
    fs::write(&file, "Shape@15 float16[2,3,4]").unwrap();
    let file = file.to_str().unwrap();
    let case = |arguments: &[&str]| under_minimization(arguments.iter().map(ToString::to_string));
    assert_eq!(
        case(&["shape", "-minimize_crash_internal_step=1", file]).unwrap().to_string(),
        "Shape@15 float16[2,3,4]"
    );
    assert_eq!(case(&["shape", "-runs=5", file]), None);
    let mut probe = Probe::new(vec![planted::named("short-shape").unwrap()]);
    let case = case(&["shape", "-minimize_crash_internal_step=1", file]).unwrap();
    let signatures = signatures(&case, &mut Sorter::default(), &mut probe);
    assert_eq!(
        signatures.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["planted | Shape | wrong-dims | rank>=3"]
    );
}

#[test]
fn a_finding_is_described_with_commands_that_parse_back() {
    let mut runtimes = vec![planted::named("short-shape").unwrap()];
    let mut probe = Probe::new(vec![planted::named("short-shape").unwrap()]);
    let case: Case = "Shape@15 float16[2,3,4]".parse().unwrap();
    let mismatch = probe.look(&case, "planted").unwrap().configurations[0].1[0].clone();
    let mut sorter = Sorter::default();
    let features = Features::of(&case);
    let Sorted::New(finding) = sorter.sort(&case, &mismatch, &features, &mut probe) else { panic!("it is new") };
    let text = describe(&finding, &mut runtimes);
    assert!(text.contains("New finding: planted of Shape gives other dims"), "{text}");
    assert!(text.contains("WRONG") && text.contains("signature: planted | Shape"), "{text}");
    for command in ["run", "save"] {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("    crosscheck {command} ")));
        let quoted = line.unwrap_or_else(|| panic!("{command} in {text}"));
        assert_eq!(quoted.trim_matches('\'').parse(), Ok(finding.case.clone()));
    }
    assert!(matches!(sorter.sort(&case, &mismatch, &features, &mut probe), Sorted::Known(0)));
}

#[test]
fn a_shape_of_vast_rank_is_given_to_no_runtime_in_this_process() {
    let is_vast = |line: &str| may_ask_for_a_vast_rank(&line.parse().unwrap());
    assert!(is_vast("a=Reshape@21 int64[1] int64[2]{-1,560128656}; Reshape float[1] a"));
    assert!(is_vast("a=Reshape@21 int64[1] int64[2]{70000,70000}; a1=Reshape a int64[1]{-1}; Reshape float[1] a1"));
    assert!(!is_vast("a=Reshape@21 int64[1] int64[1]{1}; Reshape float[1] a"));
    assert!(!is_vast("a=Reshape@21 int64[1] int64[1]{560128656}; Shape a"), "its rank is 1");
}

#[test]
fn what_is_known_to_take_all_memory_is_given_to_no_runtime_in_this_process() {
    let runtimes = runtime::open(&runtime::select(Some("tract/typed")).unwrap()).unwrap();
    let ids = runtime::ids(&runtimes);
    let costly = Ledger::load().unwrap().triggers(&mut Probe::new(runtimes)).concat();
    let costly = Quarantine::new(ids.len(), &costly);
    let has = |line: &str| costly.has(&ids, &line.parse().unwrap());
    assert!(has("Transpose@28 perm=[0,0] float[2,3]"));
    assert!(has("a=Transpose@28 perm=[1,1] float[2,3]; Flatten a"), "as a node of a graph too");
    let open = "a=Reshape@28 allowzero=2 float[2,3] int64[2]{2,3}";
    assert!(has(&format!("{open}; Transpose perm=[0,0] a")), "behind a node that may refuse");
    assert!(!has("Transpose@28 perm=[1,0] float[2,3]"));
    let others = [RuntimeId { name: "in-house".to_owned(), ..ids[0].clone() }];
    assert!(!costly.has(&others, &"Transpose@28 perm=[0,0] float[2,3]".parse().unwrap()), "another takes it");
}
