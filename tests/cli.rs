//! The program as a user meets it: what it prints, and how it ends.

mod operators;

use std::fs;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use onnx_crosscheck::case::{Case, Generator};
use onnx_crosscheck::operator::OPERATORS;
use onnx_crosscheck::runtime::{KINDS, provision};
use operators::HEART;
use serde_json::Value;

/// Runs where a campaign may leave its folder.
fn crosscheck(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosscheck"));
    command.args(arguments).stdin(Stdio::null()).current_dir(env!("CARGO_TARGET_TMPDIR"));
    command
}

fn run(arguments: &[&str]) -> (i32, String, String) {
    ended(&crosscheck(arguments).output().unwrap())
}

fn ended(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

const RIGHT: &str = "Reshape@14 allowzero=1 float[0,3] int64[2]{3,0}:initializer";
const WRONG: &str = "Flatten@13 axis=3 float[2]";
/// Those that are linked into the program.
const LINKED: &str = "in-house,tract";

/// Runs a case that all of these agree on.
fn assert_all_agree(list: &str, runtimes: &str) {
    let (code, out, _) = run(&["run", RIGHT, "--runtimes", list]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains(&format!("{runtimes}\n    answer float[3,0]{{}}")), "{out}");
}

#[test]
fn a_case_that_all_agree_on_ends_with_0() {
    assert_all_agree(LINKED, "in-house, tract/typed, tract/optimized, tract/pinned");
}

/// A folder with a ledger that knows nothing.
fn without_known() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("known")).unwrap();
    for kind in KINDS {
        fs::write(folder.path().join(format!("known/{}.toml", kind.name)), "").unwrap();
    }
    folder
}

#[test]
fn a_case_without_quotes_and_a_file_in_its_place_are_answered() {
    let (code, _, error) = run(&["run", "--runtimes", LINKED, "Flatten@13", "axis=1", "float[2,3]"]);
    assert!(
        code == 2 && error.contains("A case is one argument, in quotes: 'Flatten@13 axis=1 float[2,3]'"),
        "{error}"
    );
    let (code, _, error) = run(&["run", "--runtime", LINKED, "Flatten@13 float[2,3]"]);
    assert!(code == 2 && !error.contains("in quotes"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("one.case"), format!("# A comment.\n{RIGHT}\n")).unwrap();
    let (code, out, _) = run(&["run", "--runtimes", LINKED, &path("one.case")]);
    assert!(code == 0 && out.starts_with(RIGHT), "{out}");
    fs::write(path("model.onnx"), b"\x08\x0d\xff").unwrap();
    let (code, _, error) = run(&["run", "--runtimes", LINKED, &path("model.onnx")]);
    assert!(code == 2 && error.contains("model.onnx holds no case; `crosscheck replay`"), "{error}");
}

#[test]
fn a_case_is_minimized_and_nothing_is_saved() {
    let case = "Flatten@13 axis=7 float[2,3,5]";
    let unknown = without_known();
    let known = tempfile::tempdir().unwrap();
    for (folder, status) in [(&known, 0), (&unknown, 1)] {
        let mut minimize = crosscheck(&["minimize", case, "--runtimes", LINKED]);
        let (code, out, error) = ended(&minimize.current_dir(folder.path()).output().unwrap());
        assert_eq!(code, status, "{out}{error}");
        assert!(
            out.contains("1 distinct finding, ") && out.contains("crosscheck run 'Flatten@28 axis=2 float[1]'"),
            "{out}"
        );
        assert_eq!(out.contains("known as tract-flatten-axis-range-panic"), status == 0, "{out}");
        assert!(!folder.path().join("corpus").exists());
    }
    let (code, _, error) = run(&["minimize", RIGHT, "--runtimes", LINKED]);
    assert!(code == 2 && error.contains("shows no mismatch on these runtimes"), "{error}");
}

#[test]
fn a_minimized_case_is_known_by_an_entry_with_fewer_features() {
    let case = "a=Flatten@28 float[2,2]; a1=Reshape int64[2]:initializer int64[1]:initializer; Slice a int64[2]{1,0}:initializer \
                int64[2]{-2147483648,4294967297}:initializer a1 int64[2]{-2147483648,4294967297}:initializer";
    let (code, out, error) = run(&["minimize", case, "--runtimes", LINKED]);
    assert_eq!(code, 0, "{out}{error}");
    assert!(out.contains("   known as tract-slice-32-bits\n") && !out.contains("resembles"), "{out}");
}

#[test]
fn the_ledger_is_brought_to_the_releases_under_test() {
    let folder = without_known();
    let entry = |id: &str, state: &str, last: &str, (case, feature): (&str, &str)| {
        let reaction = "panics at load: range end index out of range for slice of length";
        let signature = format!("tract | Flatten | panic | {reaction} | {feature}");
        let of = format!("id = \"{id}\"\ntitle = \"\"\nexplanation = \"\"\nlink = \"\"\nstate = \"{state}\"\n");
        let first = format!("id = \"{id}-1\"\nsignature = \"{signature}\"\nfirst_version = \"0.1\"\n");
        format!("[[cause]]\n{of}[[cause.variant]]\n{first}last_version = \"{last}\"\ncase = '{case}'\n")
    };
    let shows = ("Flatten@28 axis=2 float[1]", "axis:past-rank");
    let right = (RIGHT, "operand1:in-model");
    let before = [
        entry("known", "open", "0.1", shows),
        entry("back", "fixed in 0.2", "0.1", shows),
        entry("gone", "open", "0.1", right),
        entry("long-gone", "fixed in 0.2", "0.1", right),
    ];
    let path = folder.path().join("known/tract.toml");
    fs::write(&path, before.concat()).unwrap();
    let update = |runtimes: &str| {
        let mut update = crosscheck(&["known", "update", "--runtimes", runtimes]);
        ended(&update.current_dir(folder.path()).output().unwrap())
    };
    let (code, out, error) = update("tract");
    assert_eq!(code, 0, "{out}{error}");
    let version = KINDS.iter().find(|kind| kind.name == "tract").unwrap().version;
    let after = [
        entry("known", "open", version, shows),
        entry("back", "open", version, shows),
        entry("gone", &format!("fixed in {version}"), "0.1", right),
        entry("long-gone", "fixed in 0.2", "0.1", right),
    ];
    assert_eq!(fs::read_to_string(&path).unwrap(), after.concat());
    let said = format!("back is open\ngone is fixed in {version}\ntract {version}: 2 variants show, and 2 do not.\n");
    assert_eq!(out, said);
    assert_eq!(update("tract").1, format!("tract {version}: 2 variants show, and 2 do not.\n"));
}

/// Runs a case that tract, which is among these, has wrong.
fn assert_a_finding_names_tract(list: &str) {
    let folder = without_known();
    let mut command = crosscheck(&["run", WRONG, "--runtimes", list]);
    let (code, out, _) = ended(&command.current_dir(folder.path()).output().unwrap());
    assert_eq!(code, 1, "{out}");
    assert!(!out.contains("known as") && out.contains(&format!("crosscheck save '{WRONG}'")), "{out}");
    let lines: Vec<&str> = out.lines().filter(|line| line.contains("WRONG")).collect();
    let accused: Vec<&str> = lines.iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(accused, ["tract/typed", "tract/optimized", "tract/pinned"]);
    assert!(lines.iter().all(|line| line.ends_with("panics")), "{out}");
    assert!(out.contains("The value for axis must be in the range"), "{out}");
}

#[test]
fn a_finding_ends_with_1_and_names_who_is_wrong() {
    assert_a_finding_names_tract(LINKED);
}

#[test]
fn a_known_issue_is_named_and_is_a_failure_only_where_known_issues_are_ignored() {
    let run = |more: &[&str]| run(&[&["run", WRONG, "--runtimes", LINKED], more].concat());
    let (code, out, _) = run(&[]);
    assert_eq!(code, 0, "{out}");
    let known = "WRONG        panics\n                 known as tract-flatten-axis-range-panic\n";
    assert!(out.matches(known).count() == 3 && !out.contains("crosscheck save"), "{out}");
    for (more, expected) in [
        (&["--ignore-known"][..], 1),
        (&["--ignore-known", "--fail-on", "panic"], 1),
        (&["--ignore-known", "--fail-on", "crash"], 0),
        (&["--fail-on", "lenient"], 0),
    ] {
        let (code, out, _) = run(more);
        assert!(code == expected && out.contains("known as tract-flatten-axis-range-panic"), "{more:?}: {out}");
    }
}

/// Saves artifacts, with these runtimes or with all of them.
fn assert_an_artifact_is_saved_minimized(runtimes: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let artifact = folder.path().join("crash-1");
    fs::write(&artifact, "Flatten@13 axis=3 int8[2,1]:random(5):constant").unwrap();
    let save_all = |cases: &[&str]| {
        let path = folder.path();
        ended(&crosscheck(&[&["save"], cases, runtimes].concat()).current_dir(path).output().unwrap())
    };
    let save = |case: &str| save_all(&[case]);
    let artifact = artifact.to_str().unwrap();
    let (code, out, _) = save(artifact);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("Known as tract-flatten-axis-range-panic"), "{out}");
    // With an empty ledger it is new.
    fs::rename(without_known().path().join("known"), folder.path().join("known")).unwrap();
    let (code, out, _) = save(artifact);
    assert_eq!(code, 0, "{out}");
    let saved = out.lines().find_map(|line| line.strip_prefix("Saved ")).expect("a path");
    let text = fs::read_to_string(folder.path().join(saved)).unwrap();
    assert!(text.ends_with("\nFlatten@28 axis=2 float[1]\n"), "{text}");
    let (code, _, error) = save(RIGHT);
    assert_eq!(code, 2);
    assert!(error.contains("shows no mismatch"), "{error}");
    // One that shows nothing does not keep the others from being saved.
    let (code, out, error) = save_all(&[RIGHT, "Shape@28 float[1]", artifact]);
    assert!(code == 2 && error.contains("shows no mismatch"), "{error}");
    assert_eq!(out.lines().filter(|line| line.starts_with("Saved ")).count(), 2, "{out}");
}

#[test]
fn an_artifact_of_a_fuzzer_is_saved_minimized() {
    assert_an_artifact_is_saved_minimized(&["--runtimes", LINKED]);
}

#[test]
fn what_is_no_case_ends_with_2_and_names_the_column() {
    let (code, out, error) = run(&["run", "Shape@28 flaot[2]"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(error.contains("column 10: expected an element type"), "{error}");
    for (arguments, there_is) in [
        (&["run", "Shape@28 float[2]", "--runtimes", "onnxruntme"][..], "there are in-house, onnxruntime"),
        (&["campaign", "--operator", "relu"], "there are Shape, Flatten, Reshape"),
    ] {
        let (code, _, error) = run(arguments);
        assert!(code == 2 && error.contains(there_is), "{error}");
    }
}

#[test]
fn json_holds_the_expectation_the_classes_and_the_judgements() {
    let (code, out, _) = run(&["run", WRONG, "--format", "json", "--runtimes", LINKED]);
    assert_eq!(code, 0);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["case"], WRONG);
    assert_eq!(report["operator_version"], "Flatten-13");
    assert_eq!(report["expectation"]["kind"], "reject");
    assert_eq!(report["expectation"]["rule"]["id"], "axis-range");
    assert_eq!(report["classes"][1]["kind"], "panicked");
    assert_eq!(report["judgements"][1]["runtime"], "tract/typed");
    assert_eq!(report["judgements"][1]["version"], "0.23.9");
    assert_eq!(report["judgements"][1]["discrepancies"][0], "panic");
    assert_eq!(report["judgements"][1]["known_as"], serde_json::json!(["tract-flatten-axis-range-panic"]));
    assert_eq!(report["judgements"][0]["known_as"], Value::Null);
    assert_eq!((&report["finding"], &report["new"]), (&true.into(), &false.into()));
}

#[test]
fn cases_from_standard_input_are_answered_in_order() {
    let mut child = crosscheck(&["run", "-", "--runtimes", "in-house,tract"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = format!("# a comment\n{RIGHT}\n\nShape@99 float[]\n{WRONG}\n").into_bytes();
    input.extend(b"Shape@28 float[\xff]\n# \xff\nFlatten@13 float[2]\n");
    child.stdin.take().unwrap().write_all(&input).unwrap();
    let (code, out, error) = ended(&child.wait_with_output().unwrap());
    let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 6, "{out}");
    for (answer, line) in [(3, 6), (4, 7)] {
        assert_eq!(
            (&answers[answer]["error"]["line"], &answers[answer]["error"]["expected"]),
            (&line.into(), &"UTF-8".into())
        );
        assert!(error.contains(&format!("standard input, line {line}: invalid utf-8")), "{error}");
    }
    assert_eq!(answers[5]["finding"], false);
    assert_eq!((&answers[0]["case"], &answers[0]["finding"]), (&RIGHT.into(), &false.into()));
    assert_eq!((&answers[1]["error"]["line"], &answers[1]["error"]["column"]), (&4.into(), &7.into()));
    assert_eq!((&answers[2]["case"], &answers[2]["finding"]), (&WRONG.into(), &true.into()));
    assert_eq!(code, 2, "a line that is no case is not passed over in silence");
}

/// A finding as it is shown, without its extent if that was measured as long as there was time.
fn without_timed_extent(finding: &str) -> String {
    let is_timed = finding.contains("takes all of its time or memory");
    let is_extent = |line: &str| {
        ["versions", "types", "wirings", "configurations"].iter().any(|word| line.trim().starts_with(word))
    };
    let lines = finding.lines().filter(|line| !(is_timed && is_extent(line)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Runs a campaign on these runtimes or on all of them, and each of its findings again.
fn assert_findings_reproduce(runtimes: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    let campaign = ["campaign", "--operator", HEART, "--cases", "3000", "--seed", "7", "--ignore-known", "--verbose"];
    let arguments = [&campaign[..], &["--output", output], runtimes].concat();
    let (code, out, error) = run(&arguments);
    assert_eq!(code, 1, "{out}{error}");
    // The same seed gives the same findings, line by line.
    let findings = |out: &str| {
        let (found, rest) = out.split_once("distinct findings").unwrap().1.split_once("\n3000 cases in ").unwrap();
        let (_, time) = rest.rsplit_once("\nTime: ").unwrap();
        assert!(time.contains("in-house ") && time.contains(" tract/pinned ") && time.contains("judging "), "{time}");
        found.split("\n\n").map(without_timed_extent).collect::<Vec<_>>()
    };
    assert_eq!(findings(&run(&arguments).1), findings(&out));
    // Each says how to see it again, and so it is.
    let commands: Vec<&str> = out.lines().filter_map(|line| line.trim().strip_prefix("crosscheck run '")).collect();
    assert!(commands.len() >= 10, "{out}");
    for case in commands {
        let case = case.strip_suffix('\'').unwrap();
        let (code, out, _) = run(&[&["run", case, "--ignore-known"], runtimes].concat());
        assert_eq!(code, 1, "{case}: {out}");
    }
}

#[test]
fn a_campaign_ends_with_findings_that_reproduce() {
    assert_findings_reproduce(&["--runtimes", LINKED]);
}

#[test]
fn a_campaign_of_one_operator_draws_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let campaign = ["campaign", "--cases", "640", "--operator", "shape", "--runtimes", "tract", "--ignore-known"];
    let (_, out, _) = run(&[&campaign[..], &["--output", folder.path().to_str().unwrap()]].concat());
    assert!(out.contains("of Shape") && !out.contains("of Flatten") && !out.contains("of Reshape"), "{out}");
    assert!(!out.contains("onnxruntime"), "{out}");
}

#[test]
fn laws_are_held_and_shown_with_both_graphs() {
    let (status, out, err) = run(&["laws", "--runtimes", "in-house", "--pairs", "500"]);
    assert_eq!(status, 0, "{out}{err}");
    assert!(out.contains(" in-house") && out.contains("pairs of 78 laws"), "{out}");
    let call = "Transpose@26 perm=[1,0] float[2,3]";
    let (status, out, _) = run(&["laws", "--runtimes", "in-house", "--law", "transpose-inverse", call]);
    assert_eq!(status, 0, "{out}");
    for part in ["left   a=Transpose@26 perm=[1,0] float[2,3]; Transpose perm=[1,0] a", "right  Identity@26 float[2,3]"]
    {
        assert!(out.contains(part), "{out}");
    }
    let (status, _, err) = run(&["laws", "--runtimes", "in-house", "Shape@26 end=1 start=9 float"]);
    assert!(status == 2 && err.contains("expected"), "{err}");
    let (status, _, err) = run(&["laws", "--runtimes", "in-house", "Flatten@26 axis=9 float[2]"]);
    assert!(status == 2 && err.contains("no law holds for Flatten@26 axis=9 float[2]"), "{err}");
    let (status, out, _) = run(&["laws", "--runtimes", "planted/wrong-rank", "Flatten@26 float[2,3]"]);
    assert!(status == 1 && out.contains("(wrong: gives another rank)"), "{out}");
    let timed =
        ["laws", "--runtimes", "planted/wrong-rank", "--law", "flatten-as-reshape", "--pairs", "300", "--for", "1m"];
    let (status, out, err) = run(&timed);
    assert_eq!(status, 1, "{out}{err}");
    assert!(out.contains(" times; minimized:") && out.contains("  of     Flatten@28 float[1]\n"), "{out}");
}

#[test]
fn the_cases_of_a_seed_are_printed_and_stay_what_they_are_with_every_element_written_out() {
    let cases = |operators: &str, more: &[&str]| {
        let cases = ["cases", "--operator", operators, "--seed", "7", "--cases", "2600"];
        let (code, out, error) = run(&[&cases, more].concat());
        assert_eq!(code, 0, "{error}");
        out.lines().map(|line| line.parse().unwrap()).collect::<Vec<Case>>()
    };
    let (short, long) = (cases(HEART, &[]), cases(HEART, &["--elements"]));
    assert_eq!(short.len(), 2600);
    assert_ne!(short, long);
    for (short, long) in short.iter().zip(&long) {
        assert_eq!(short.tensors(), long.tensors(), "{short}");
        assert_eq!((short.opset, &short.nodes), (long.opset, &long.nodes));
    }
    // What follows on the catalogue is what the generator draws, up to the first case whose model has others.
    let generator = Generator::new(OPERATORS[..5].to_vec());
    let drawn: Vec<Case> = (0..2600).map(|index| generator.case(7, index).case).collect();
    let found = short.iter().filter(|case| drawn.contains(case)).count();
    assert!(found > 20, "{found}");
    // A saved graph may have arithmetic on shapes beside it.
    let is_shape =
        |case: &Case| case.nodes.iter().all(|node| node.operator.name == "Shape" || node.operator.is_arithmetic());
    assert!(cases("shape", &[]).iter().all(is_shape));
}

#[test]
fn a_library_that_is_none_is_an_error_and_never_a_silent_absence() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("libonnxruntime.so");
    fs::write(&text, "no library").unwrap();
    for path in [directory.path().join("absent.so"), text] {
        let output = crosscheck(&["run", RIGHT]).env("ORT_DYLIB_PATH", &path).output().unwrap();
        let (code, out, error) = ended(&output);
        assert_eq!((code, out.as_str()), (2, ""), "{error}");
        assert!(error.contains(&path.display().to_string()), "{error}");
        // Leaving it out is the user's own choice.
        let arguments = ["run", RIGHT, "--runtimes", "in-house,tract"];
        let output = crosscheck(&arguments).env("ORT_DYLIB_PATH", &path).output().unwrap();
        assert_eq!(ended(&output).0, 0);
    }
}

/// Runs with an empty cache and a `python3` of the test's own.
#[cfg(unix)]
fn with_python(script: &str) -> (i32, String, Vec<std::path::PathBuf>) {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let (bin, home) = (directory.path().join("bin"), directory.path().join("home"));
    fs::create_dir(&bin).unwrap();
    fs::create_dir(&home).unwrap();
    if !script.is_empty() {
        let python = bin.join("python3");
        fs::write(&python, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = crosscheck(&["run", RIGHT]);
    command.env_remove("ORT_DYLIB_PATH").env_remove("XDG_CACHE_HOME").env("HOME", &home).env("PATH", &bin);
    let (code, _, error) = ended(&command.output().unwrap());
    let mut left = Vec::new();
    let mut folders = vec![home];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { left.push(path) }
        }
    }
    (code, error, left)
}

#[cfg(unix)]
#[test]
fn provisioning_that_fails_says_what_to_do_and_leaves_nothing() {
    let (code, error, left) = with_python("");
    assert_eq!((code, left.len()), (2, 0), "{error}");
    assert!(error.contains("`python3` cannot be started") && error.contains("ORT_DYLIB_PATH"), "{error}");

    let (code, error, left) = with_python("exit 1");
    assert_eq!((code, left.len()), (2, 0), "{error}");
    assert!(error.contains("pip") && error.contains("--runtimes in-house,tract"), "{error}");

    // The destination is the argument after --dest.
    let forged = "while [ $# -gt 0 ]; do [ \"$1\" = --dest ] && echo forged > \"$2/onnxruntime.whl\"; shift; done";
    let (code, error, left) = with_python(forged);
    assert_eq!((code, left.len()), (2, 0), "{error}");
    assert!(error.contains("SHA-256"), "{error}");
}

/// In a virtual environment that it was installed into, no other Python needs to have pip.
#[cfg(target_os = "linux")]
#[test]
fn the_python_that_stands_beside_the_program_is_the_one_that_fetches() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (program, python) = (directory.path().join("crosscheck"), directory.path().join("python3"));
    fs::hard_link(env!("CARGO_BIN_EXE_crosscheck"), &program).unwrap();
    std::os::unix::fs::symlink("/bin/false", &python).unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&program, &link).unwrap();
    for program in [program, link] {
        let mut command = Command::new(program);
        command.args(["runtimes", "install", "onnxruntime"]).env_remove("ORT_DYLIB_PATH");
        command.envs(["HOME", "XDG_CACHE_HOME"].map(|name| (name, directory.path())));
        let (code, _, error) = ended(&command.output().unwrap());
        let said = format!("`{} -m pip download` ended with exit status: 1", python.display());
        assert!(code == 2 && error.contains(&said), "{error}");
    }
}

#[test]
fn exhaust_runs_every_planned_case_and_can_be_divided_and_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    let exhaust = |more: &[&str]| {
        let bounds = ["exhaust", "--operator", "flatten", "--max-rank", "2", "--max-dim", "2", "--opset", "9,13"];
        run(&[&bounds[..], &["--runtimes", "in-house", "--output", output], more].concat())
    };
    let (code, out, error) = exhaust(&[]);
    assert_eq!(code, 0, "{out}{error}");
    assert!(error.contains("The space holds 448 cases, shard 1/1 448 of them, to run 448"), "{error}");
    assert!(out.contains("All 448 planned cases were run: 0 to 448"), "{out}");
    let (_, out, _) = exhaust(&["--shard", "3/5", "--from", "40"]);
    assert!(out.contains("All 56 planned cases were run: 40 to 96 of the 96"), "{out}");
    let (code, _, error) = exhaust(&["--shard", "6/5"]);
    assert!(code == 2 && error.contains("I from 1 to N"), "{error}");
    let (code, _, error) = exhaust(&["--from", "449"]);
    assert!(code == 2 && error.contains("past the 448 cases"), "{error}");
    let (code, _, error) = run(&["exhaust", "--operator", "shape", "--max-rank", "30", "--output", output]);
    assert!(code == 2 && error.contains("more than"), "{error}");
}

#[test]
fn coverage_shows_what_the_last_campaign_reached() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("campaign");
    let (output, page) = (output.to_str().unwrap(), folder.path().join("coverage.html"));
    let (code, _, error) = run(&["coverage", "--output", output]);
    assert!(code == 2 && error.contains("run `crosscheck campaign` first"), "{error}");

    let campaign = [
        "campaign",
        "--operator",
        HEART,
        "--cases",
        "50000",
        "--seed",
        "7",
        "--nodes",
        "1",
        "--runtimes",
        "in-house,tract/typed",
    ];
    run(&[&campaign[..], &["--output", output]].concat());
    let (code, out, error) = run(&["coverage", "--output", output, "--html", page.to_str().unwrap()]);
    assert_eq!(code, 0, "{error}");
    let cells: usize = OPERATORS.iter().map(|operator| operator.cells()).sum();
    assert!(out.contains(&format!("of {cells} cells were reached.")), "{out}");
    assert!(
        out.contains("(not under test)") && out.contains("✓ 1/1") && out.contains(": Shape-1 complex64, "),
        "{out}"
    );
    assert!(fs::read_to_string(&page).unwrap().contains("Reshape"));
    let (code, out, _) = run(&["coverage", "--output", output, "--runtime", "tract/typed"]);
    assert!(code == 0 && out.contains("✗ ") && out.contains('–'), "{out}");
    let (code, _, error) = run(&["coverage", "--output", output, "--runtime", "none"]);
    assert!(code == 2 && error.contains("there were in-house, tract/typed"), "{error}");

    fs::write(folder.path().join("campaign/coverage.json"), "{").unwrap();
    let (code, _, error) = run(&["coverage", "--output", output]);
    assert!(code == 2 && error.contains("coverage.json is damaged"), "{error}");
}

/// What is said of bad input, with exit status 2, in a folder with a file that holds something.
#[track_caller]
fn assert_refused(file: &str, contents: &str, arguments: &[&str], said: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, contents).unwrap();
    let (code, _, error) = ended(&crosscheck(arguments).current_dir(folder.path()).output().unwrap());
    assert_eq!(code, 2, "{error}");
    assert!(said.iter().all(|said| error.contains(said)) && !error.contains("panicked"), "{error}");
}

#[test]
fn what_is_too_large_to_be_meant_is_refused() {
    let huge = format!("Shape@28 float[{}1]\n", "1,".repeat(5_000_000));
    assert_refused("huge.case", &huge, &["run", "huge.case"], &["column 1"]);
    assert_refused("huge.case", &huge, &["save", "huge.case"], &["huge.case", "at most 1048576 bytes"]);
    let deep = format!("Shape@28 float[{}1]\n", "1,".repeat(400_000));
    assert_refused("deep.case", &deep, &["save", "deep.case"], &["deep.case", "at most 1024 dims; these are 400001"]);
    assert_refused("x", "", &["run", "Shape@28 float[99999999999]"], &["elements"]);
    for batch in ["0", "4097"] {
        assert_refused("x", "", &["campaign", "--batch", batch], &["--batch <N>", "4096"]);
    }

    let mut child = crosscheck(&["run", "-", "--runtimes", "in-house"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = huge + "Shape@28 float[1]\n";
    std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    let lines: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    assert!(lines.len() == 2 && lines[0].contains("at most 1048576 bytes"), "{lines:?}");
    assert!(lines[1].contains("\"agrees\""), "{lines:?}");
}

#[test]
fn damaged_files_are_named_with_their_line() {
    let row = "[[runtime]]\nname = \"a\"\nkind = \"tract\"\nversoin = \"1\"\n";
    assert_refused("runtimes.toml", row, &["runtimes"], &["runtimes.toml", "line 4", "versoin"]);
    assert_refused("runtimes.toml", row, &["run", "Shape@28 float[1]"], &["runtimes.toml", "line 4"]);
    assert_refused("known/tract.toml", "[[cause]]\nid = 7\n", &["known"], &["tract.toml", "line 2"]);
    let known = KINDS.iter().find(|kind| kind.name == "tract").unwrap().known;
    let damaged = known.replacen("signature = \"tract | ", "signature = \"tract ; ", 1);
    assert_refused(
        "known/tract.toml",
        &damaged,
        &["known"],
        &["tract.toml", "line 12", "entry tract-reshape-wrong-dims", "here are 3 parts"],
    );
    assert_refused("case.txt", "# a case\nShape@28 flaot[1]\n", &["save", "case.txt"], &["case.txt", "column 10"]);
    assert_refused(
        "c/coverage.json",
        "{\n\"runtimes\": 7",
        &["coverage", "--output", "c"],
        &["coverage.json", "line 2"],
    );
    assert_refused(
        "c/checkpoint.json",
        "hello\nhello\n",
        &["campaign", "--resume", "--output", "c"],
        &["checkpoint.json: it is damaged", "--restart"],
    );
}

#[test]
fn releases_that_cannot_be_had_say_what_to_do() {
    let run = |release| ["run", "Shape@28 float[1]", "--runtimes", release];
    assert_refused("x", "", &run("tract@0.1.0"), &["it is not installed", "runtimes install tract@0.1.0"]);
    assert_refused("x", "", &["runtimes", "install", "tract@0.1.0"], &["run this in a checkout"]);
    let two = ["run", "Shape@28 float[1]", "--in-process", "--runtimes", "tract@0.1.0"];
    assert_refused("x", "", &two, &["leave out --in-process"]);
    assert_refused("x", "", &["compare", "tract", "in-house"], &["the same configurations"]);
    let (old, oldest) = ("onnxruntime@1.17.0", ["1.17.0", "the oldest release that can be loaded is 1.20.0"]);
    assert_refused("x", "", &run(old), &oldest);
    assert_refused("x", "", &["runtimes", "install", old], &oldest);
    let rows = "[[runtime]]\nname = \"ours\"\nkind = \"onnxruntime\"\nversion = \"1.17.0\"\n";
    assert_refused("runtimes.toml", rows, &["campaign", "--cases", "1"], &oldest);
}

#[cfg(unix)]
/// A graph that tract refuses once it is decluttered.
const DECLUTTERED: &str = "x1=int64[1]{1}:initializer; a=Transpose@26 float[1,1]; Slice a x1 x1 x1";

#[test]
fn the_stage_from_which_on_a_case_goes_wrong_is_named() {
    let (code, out, error) = run(&["pass", DECLUTTERED, "--runtime", "tract"]);
    assert!(code == 0 && out.contains("does so from the stage `decluttered` on"), "{out}{error}");
    let (code, out, error) = run(&["pass", WRONG, "--runtime", "tract"]);
    assert!(code == 0 && out.contains("in the stage `typed`: no pass is to blame"), "{out}{error}");
    let (code, out, _) = run(&["pass", RIGHT, "--runtime", "tract"]);
    assert!(code == 0 && out.contains("does nothing wrong here"), "{out}");
    let (code, _, error) = run(&["pass", RIGHT, "--runtime", "in-house"]);
    assert!(code == 2 && error.contains("no stages of optimization"), "{error}");
}

#[test]
fn completions_are_scripts_that_their_shell_can_read() {
    let (code, script, _) = run(&["completions", "bash"]);
    assert_eq!(code, 0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("completions.bash");
    fs::write(&path, &script).unwrap();
    // What bash offers after `crosscheck `, and after `crosscheck campaign --fo`.
    let ask = r#"
        source "$0"
        offer() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
                  _crosscheck crosscheck "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"; echo "${COMPREPLY[*]}"; }
        offer crosscheck ""
        offer crosscheck campaign --fo
    "#;
    let output = Command::new("bash").args(["-c", ask]).arg(&path).output().unwrap();
    let offered = String::from_utf8_lossy(&output.stdout).into_owned();
    let offered: Vec<&str> = offered.lines().collect();
    assert!(offered[0].contains("campaign") && offered[0].contains("known") && !offered[0].contains("worker"));
    assert_eq!(offered[1], "--for");
    for shell in ["elvish", "fish", "powershell", "zsh"] {
        let (code, script, _) = run(&["completions", shell]);
        assert!(code == 0 && script.contains("crosscheck") && script.contains("campaign"), "{shell}");
    }
}

#[test]
fn the_manual_has_a_page_for_the_program_and_for_every_subcommand() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("share/man1");
    let (code, _, errors) = run(&["man", pages.to_str().unwrap()]);
    assert_eq!(code, 0, "{errors}");
    let page = |name: &str| fs::read_to_string(pages.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(page("crosscheck.1").contains("crosscheck\\-campaign(1)"));
    let campaign = page("crosscheck-campaign.1");
    assert!(campaign.contains(r"\-\-seed") && campaign.contains("Example:"), "{campaign}");
    assert!(page("crosscheck-runtimes-install.1").contains("onnxruntime@1.26.0"));
    assert!(!pages.join("crosscheck-worker.1").exists(), "what is hidden has no page");
}

mod wheels {
    use super::*;

    const THREE: &str = "in-house,onnxruntime,tract";

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn the_runtime_to_report_to_is_named_where_another_is_given() {
        let report = |arguments: &[&str]| {
            let (code, _, error) = run(&[&["report"], arguments].concat());
            assert_eq!(code, 2, "{error}");
            error
        };
        let known = "tract-any-refuses-valid-195b61";
        let panics = "Flatten@13 axis=2 float[1]";
        for arguments in [
            &[known][..],
            &[known, "--to", "onnxruntime"],
            &[known, "--to", "trakt"],
            &[panics],
            &[panics, "--to", "onnxruntime"],
            &[panics, "--to", "tract/typed"],
        ] {
            let error = report(arguments);
            assert!(error.trim_end().ends_with("say --to tract"), "{arguments:?}: {error}");
        }
        let all = report(&[]);
        assert!(
            ["--to onnxruntime or ", "--to onnxsim or ", "or --to tract"].iter().all(|to| all.contains(to)),
            "{all}"
        );
        assert!(report(&[RIGHT, "--to", "tract"]).contains("there is nothing to report"));
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn a_row_with_a_library_of_its_own_needs_no_other() {
        let library = provision::ONNXRUNTIME.provision(provision::ONNXRUNTIME_VERSION).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let row = format!("[[runtime]]\nname = \"ours\"\nkind = \"onnxruntime\"\nlibrary = '{}'\n", library.display());
        fs::write(folder.path().join("runtimes.toml"), row).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_crosscheck"));
        command.args(["run", RIGHT, "--runtimes", "ours"]).current_dir(folder.path());
        let (code, out, error) = ended(&command.env(provision::ONNXRUNTIME.variable, "none").output().unwrap());
        assert_eq!(code, 0, "{out}{error}");
    }

    #[cfg(unix)]
    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn a_library_beside_the_program_is_used_and_nothing_is_fetched() {
        let library = provision::ONNXRUNTIME.provision(provision::ONNXRUNTIME_VERSION).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("crosscheck");
        fs::copy(env!("CARGO_BIN_EXE_crosscheck"), &program).unwrap();
        let run = || {
            let mut command = Command::new(&program);
            command.args(["run", RIGHT, "--runtimes", "onnxruntime"]).current_dir(folder.path());
            ended(&command.env_clear().env("HOME", folder.path()).env("PATH", folder.path()).output().unwrap())
        };
        assert_eq!(run().0, 2, "there is neither a library nor anything to fetch it with");
        fs::copy(&library, folder.path().join(library.file_name().unwrap())).unwrap();
        let (code, out, error) = run();
        assert_eq!(code, 0, "{out}{error}");
    }

    #[cfg(unix)]
    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn onnxruntime_writes_nothing_below_the_home_of_its_user() {
        let library = provision::ONNXRUNTIME.provision(provision::ONNXRUNTIME_VERSION).unwrap();
        for place in [&[][..], &["--in-process"]] {
            let home = tempfile::tempdir().unwrap();
            let mut command = crosscheck(&["run", RIGHT, "--runtimes", "onnxruntime"]);
            command.args(place).env(provision::ONNXRUNTIME.variable, &library).env_remove(provision::NO_TELEMETRY.0);
            command.envs(["HOME", "XDG_CACHE_HOME", "TMPDIR"].map(|name| (name, home.path())));
            let (code, out, error) = ended(&command.output().unwrap());
            assert_eq!(code, 0, "{out}{error}");
            let written: Vec<_> = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
            assert!(written.is_empty(), "{place:?}: {written:?}");
        }
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn the_pass_of_onnxruntime_without_which_a_case_is_right_is_named() {
        for (case, said) in [
            (
                "a=Reshape@26 int64[1] int64[1]{1}; Unsqueeze int64[]{1} a :output(static)",
                "from the stage `basic` on, and not without the pass `ReshapeFusion`",
            ),
            ("Size@5 float16[1]", "before it optimizes anything"),
        ] {
            let (code, out, error) = run(&["pass", case, "--runtime", "onnxruntime"]);
            assert!(code == 0 && out.contains(said), "{out}{error}");
            let models: Vec<&str> = out.split("The model:\n").skip(1).flat_map(|rest| rest.split("What the")).collect();
            assert_eq!(models.len(), if said.contains("ReshapeFusion") { 2 } else { 0 }, "{out}");
            if let [before, after] = models[..] {
                assert!(before.contains("Unsqueeze") && !after.contains("Unsqueeze"), "{out}");
            }
        }
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn onnxruntime_is_judged_beside_the_others() {
        let runtimes = "in-house, onnxruntime/disabled, onnxruntime/all, tract/typed, tract/optimized, tract/pinned";
        assert_all_agree(THREE, runtimes);
        assert_a_finding_names_tract(THREE);
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn an_artifact_is_saved_with_all_runtimes() {
        assert_an_artifact_is_saved_minimized(&[]);
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn all_runtimes_are_judged_as_json() {
        let (code, out, _) = run(&["run", WRONG, "--format", "json"]);
        assert_eq!(code, 0);
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["judgements"][1]["runtime"], "onnxruntime/disabled");
        assert_eq!(report["judgements"][1]["version"], provision::ONNXRUNTIME_VERSION);
        assert_eq!(report["judgements"][1]["known_as"], Value::Null);
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn a_campaign_on_all_runtimes_ends_with_findings_that_reproduce() {
        assert_findings_reproduce(&[]);
    }
}

#[test]
fn what_lists_something_does_so_as_json_too() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("known")).unwrap();
    let ledger = fs::read_to_string("known/tract.toml").unwrap();
    let entry = ledger.split("[[cause]]").find(|entry| entry.contains("\"tract-cast-1\"")).unwrap();
    for kind in KINDS {
        let issues = if kind.name == "tract" { format!("[[cause]]{entry}") } else { String::new() };
        fs::write(folder.path().join(format!("known/{}.toml", kind.name)), issues).unwrap();
    }
    let json = |arguments: &[&str]| -> Vec<Value> {
        let arguments = [arguments, &["--format", "json"]].concat();
        let (code, out, error) = ended(&crosscheck(&arguments).current_dir(folder.path()).output().unwrap());
        assert_eq!(code, 0, "{arguments:?}: {out}{error}");
        out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
    };
    let [runtimes] = &json(&["runtimes"])[..] else { panic!("one object") };
    let first = &runtimes["runtimes"][0];
    assert!(first["runtime"] == "in-house" && first["state"] == "ready", "{first}");
    assert!(runtimes["named"].as_array().unwrap().iter().any(|entry| entry["runtime"] == "openvino"));
    let [known] = &json(&["known", "--runtimes", "tract"])[..] else { panic!("one cause") };
    let variant = &known["variants"][0];
    assert!(known["cause"] == "tract-cast-1" && variant["shows"] == true, "{known}");
    assert!(variant["signature"].as_str().unwrap().starts_with("tract | Cast | "), "{variant}");
    let case = variant["case"].as_str().unwrap();
    let [bisected] = &json(&["bisect", case, "--runtime", "tract", "--from", "0.23.9", "--to", "0.23.9"])[..] else {
        panic!("one object")
    };
    assert!(bisected["changed_in"].is_null() && bisected["releases"]["0.23.9"]["is_wrong"] == true, "{bisected}");
    let [compared] = &json(&["compare", "tract", "tract", "--cases", "200", "--operator", "shape"])[..] else {
        panic!("one object")
    };
    assert!(compared["cases"] == 200 && compared["changes"].as_array().unwrap().is_empty(), "{compared}");
}
