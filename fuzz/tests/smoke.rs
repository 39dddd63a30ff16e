//! The targets as libFuzzer runs them, on any toolchain: without instrumentation all that guides them is what they show of
//! the runtimes.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use onnx_crosscheck::fuzzing;

fn run(target: &str, folder: &Path, settings: &[(&str, &str)], arguments: &[&str]) -> (Output, String) {
    // The first corpus is the one that grows, so the seeds are never it.
    fs::create_dir_all(folder.join("corpus")).unwrap();
    let artifacts = format!("-artifact_prefix={}/", folder.display());
    // All targets are built beside each other.
    let binary = Path::new(env!("CARGO_BIN_EXE_any")).with_file_name(format!("{target}{EXE_SUFFIX}"));
    let mut command = Command::new(binary);
    // Those that are linked: the others are fetched on first use.
    command.current_dir(folder).env("CROSSCHECK_RUNTIMES", "in-house,tract").envs(settings.iter().copied());
    command.arg("corpus").args(arguments).arg(artifacts).arg("-seed=1");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, text)
}

fn seeds(target: &str) -> String {
    format!("{}/../corpus/{target}", env!("CARGO_MANIFEST_DIR"))
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn there_is_a_target_for_each_operator_and_one_for_all() {
    let manifest = include_str!("../Cargo.toml");
    let names = manifest.split("[[bin]]\nname = \"").skip(1).filter_map(|rest| rest.split('"').next());
    assert_eq!(names.collect::<Vec<_>>(), fuzzing::targets());
}

#[test]
fn every_target_runs_its_seeds_and_mutates_them() {
    for target in fuzzing::targets() {
        let folder = tempfile::tempdir().unwrap();
        let grown = folder.path().join("corpus");
        // Elsewhere a runtime may take all of the memory of this process.
        let is_mild = ["shape", "flatten", "reshape", "size", "identity"].contains(&target.as_str());
        let settings: &[_] = if is_mild { &[] } else { &[("CROSSCHECK_RUNTIMES", "in-house")] };
        let (output, text) = run(&target, folder.path(), settings, &["-runs=600", &seeds(&target)]);
        assert!(output.status.success() && text.contains("Done 600 runs"), "{target}: {text}");
        assert!(count(&grown) > 20, "{target} found nothing to keep beside the seeds: {text}");
    }
}

#[test]
fn from_nothing_only_guidance_keeps_cases() {
    for (guidance, keeps) in [("0", false), ("1", true)] {
        let folder = tempfile::tempdir().unwrap();
        let grown = folder.path().join("corpus");
        let settings = [("CROSSCHECK_GUIDANCE", guidance), ("CROSSCHECK_SAVE_TO", "findings")];
        let (output, text) = run("any", folder.path(), &settings, &["-runs=300"]);
        assert!(output.status.success(), "{text}");
        assert_eq!(count(&grown) > 20, keeps, "guidance {guidance} saved {}", count(&grown));
    }
}

#[test]
fn a_new_finding_ends_the_run_with_its_case_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let ignore = ("CROSSCHECK_IGNORE_KNOWN", "1");
    let (output, text) = run("flatten", folder.path(), &[ignore], &["-runs=300", &seeds("flatten")]);
    assert!(!output.status.success());
    for part in ["New finding: tract of Flatten", "signature: tract | Flatten", "crosscheck run '", "crosscheck save '"]
    {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let mut files = fs::read_dir(folder.path()).unwrap().flatten();
    let artifact = files.find(|file| file.file_name().to_string_lossy().starts_with("crash-")).expect("an artifact");
    let case = fs::read_to_string(artifact.path()).unwrap();
    assert!(case.parse::<onnx_crosscheck::case::Case>().is_ok(), "{case}");

    let folder = tempfile::tempdir().unwrap();
    let settings = [ignore, ("CROSSCHECK_SAVE_TO", "findings")];
    let (output, text) = run("flatten", folder.path(), &settings, &["-runs=300", &seeds("flatten")]);
    assert!(output.status.success(), "{text}");
    assert!(count(&folder.path().join("findings/corpus/regressions")) > 5, "{text}");
}

#[test]
fn a_setting_that_cannot_be_ends_with_2() {
    let folder = tempfile::tempdir().unwrap();
    for (name, value) in [("CROSSCHECK_GUIDANCE", "maybe"), ("CROSSCHECK_RUNTIMES", "onnxruntme")] {
        let (output, text) = run("shape", folder.path(), &[(name, value)], &["-runs=1"]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(value), "{text}");
    }
}
