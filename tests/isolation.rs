//! Runtimes that end or hang their process: each is a finding, minimized, and the campaign goes on.

use std::path::Path;
use std::process::Command;

fn crosscheck(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosscheck"));
    let output = command.args(arguments).current_dir(folder).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code(), text.concat())
}

const ISOLATED: [&str; 3] = ["--isolate", "--time-limit", "300ms"];

#[test]
fn crashes_and_hangs_are_findings_and_no_case_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let campaign = ["campaign", "--runtimes", "in-house,liar", "--cases", "1500", "--seed", "5"];
    let (code, out) = crosscheck(folder.path(), &[&campaign[..], &ISOLATED].concat());
    assert_eq!(code, Some(1), "{out}");
    for (finding, case) in [
        ("liar of Flatten ends its process: is aborted", "Flatten@28 float[1,1,1,1]"),
        ("liar of Shape ends its process: is ended by a fault", "Shape@28 float[0]"),
        ("liar of Reshape does not come to an end: does not come to an end", "Reshape@28 uint2[1]"),
        ("liar of Flatten ends its process: ends its process", "Flatten@28 uint2[1]"),
    ] {
        let mut lines = out.lines().skip_while(|line| !line.ends_with(finding));
        assert!(lines.next().is_some(), "no {finding} in {out}");
        let minimized = lines.next().unwrap_or_default();
        assert!(minimized.contains(&format!("crosscheck run '{case}")), "{finding} came down to {minimized}");
    }
    assert!(out.contains("4 distinct findings") && out.contains("1500 cases in"), "{out}");
    // A runtime that is not at fault did every case.
    let honest = out.lines().find(|line| line.trim_start().starts_with("in-house")).unwrap_or_default();
    let numbers: Vec<u64> = honest.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert_eq!(numbers.iter().sum::<u64>(), 1500, "{honest}");
}

#[test]
fn isolated_runtimes_do_what_they_do_in_process() {
    let folder = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| {
        let case = ["run", "Reshape@26 allowzero=1 float[0] int64[2]{-1,0}", "--format", "json"];
        crosscheck(folder.path(), &[&case[..], more].concat())
    };
    assert_eq!(run(&ISOLATED), run(&[]));
    let (code, out) = crosscheck(folder.path(), &["run", "Shape@28 float[0]", "--runtimes", "liar/null", "--isolate"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("WRONG") && out.contains("ends its process"), "{out}");
}
