//! Runtimes that end or hang their process: each is a finding, minimized, and the campaign goes on.

mod operators;
mod program;

use operators::HEART;
use program::crosscheck;

/// Runs a case in one process and in several.
fn assert_the_same_in_one_process(case: &str, runtimes: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| crosscheck(folder.path(), &[&["run", case, "--format", "json"], runtimes, more].concat());
    assert_eq!(run(&["--in-process"]), run(&[]));
}

#[test]
fn runtimes_do_in_processes_of_their_own_what_they_do_in_one() {
    assert_the_same_in_one_process("Flatten@13 axis=3 float[2]", &["--runtimes", "in-house,tract"]);
}

#[test]
fn a_runtime_that_ends_its_process_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out) = crosscheck(folder.path(), &["run", "Flatten@28 float[1,1,1,1]", "--runtimes", "planted/crash"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("WRONG") && out.contains("ends its process"), "{out}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_that_is_replaced_while_it_runs_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("crosscheck");
    std::fs::copy(env!("CARGO_BIN_EXE_crosscheck"), &copy).unwrap();
    let mut command = std::process::Command::new(&copy);
    let child = command.args(["run", "Flatten@28 float[2]", "--runtimes", "in-house"]).current_dir(folder.path());
    let child = child.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    std::fs::remove_file(&copy).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// It refuses each model, and ends at the second job that it reads.
#[cfg(unix)]
const WEARS_OUT: &str = r#"[[runtime]]
name = "worn"
kind = "command"
command = ["sh", "-c", """echo '{"protocol": 1}'; read -r line && echo '{"refused": "no"}'; read -r line && exit 3"""]
"#;

#[test]
#[cfg(unix)]
fn that_a_runtime_fails_at_a_job_that_is_not_the_cause_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("runtimes.toml"), WEARS_OUT).unwrap();
    let campaign = ["campaign", "--operator", "flatten", "--runtimes", "worn", "--cases", "40", "--seed", "1"];
    let (code, out) = crosscheck(folder.path(), &campaign);
    assert_eq!(code, Some(1), "{out}");
    assert_eq!(out.matches("at a job that does not make it fail by itself").count(), 1, "{out}");
    assert!(!out.contains("ends its process"), "{out}");
}

mod slow {
    use super::*;

    const LIMITS: [&str; 4] = ["--time-limit", "1s", "--memory-limit", "96MiB"];

    #[test]
    #[ignore = "slow: processes are ended again and again"]
    fn whatever_a_runtime_does_is_a_finding_and_no_case_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let campaign =
            ["campaign", "--operator", HEART, "--runtimes", "in-house,planted/fatal", "--cases", "1500", "--seed", "5"];
        let (code, out) = crosscheck(folder.path(), &[&campaign[..], &LIMITS].concat());
        assert_eq!(code, Some(1), "{out}");
        for (finding, case) in [
            ("planted of Flatten panics: panics at run: there is nothing to flatten", "Flatten@28 float[0]"),
            ("planted of Flatten ends its process: is aborted", "Flatten@28 float[1,1,1,1]"),
            ("planted of Shape ends its process: is ended by a fault", "Shape@28 float[0]"),
            ("planted of Reshape takes all of its time or memory", "Reshape@28 uint2[1] int64[1]{1}"),
            ("planted of Flatten ends its process", "Flatten@28 uint2[1]"),
            ("planted of Reshape takes all of its time or memory", "Reshape@28 int2[1] int64[1]{1}"),
            ("planted of Flatten answers what cannot be read", "Flatten@28 int2[1]"),
        ] {
            let found = out.lines().zip(out.lines().skip(1)).filter(|(title, _)| title.ends_with(finding));
            let minimized: Vec<&str> = found.map(|(_, command)| command).collect();
            let own = format!("crosscheck run '{case}'");
            assert!(minimized.iter().any(|command| command.contains(&own)), "{finding} was minimized to {minimized:?}");
        }
        assert!(out.contains("7 distinct findings") && out.contains("1500 cases in"), "{out}");
        // Each runtime did every case, once.
        for runtime in ["in-house", "planted/fatal"] {
            let row = out.lines().find(|line| line.trim_start().starts_with(runtime)).unwrap_or_default();
            let numbers: Vec<u64> = row.split_whitespace().skip(2).filter_map(|word| word.parse().ok()).collect();
            assert_eq!(numbers[..6].iter().sum::<u64>(), 1500, "{row}");
        }
    }
}

mod wheels {
    use super::*;

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn all_runtimes_do_in_processes_of_their_own_what_they_do_in_one() {
        assert_the_same_in_one_process("Reshape@26 allowzero=1 float[0] int64[2]{-1,0}", &[]);
    }
}
