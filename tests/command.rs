//! A runtime of the user's own in another language: the example in Python, with the packages of onnxruntime and onnx.

mod program;
mod python;

use std::fs;
use std::path::Path;

use program::crosscheck;

const EXAMPLE: &str = "examples/onnxruntime_command.py";

/// A folder whose `runtimes.toml` has the example.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join(EXAMPLE);
    let command =
        [python::python(&["onnx==1.22.0", "onnxruntime==1.26.0"]).display().to_string(), example.display().to_string()];
    let row = format!("[[runtime]]\nname = \"python\"\nkind = \"command\"\ncommand = {command:?}\n");
    fs::write(folder.path().join("runtimes.toml"), row).unwrap();
    folder
}

#[test]
fn the_example_in_python_takes_part() {
    let folder = folder();
    let (code, out) = crosscheck(folder.path(), &["runtimes"]);
    let row = out.lines().find(|line| line.contains("python")).unwrap_or_default();
    assert!(code == Some(0) && row.contains("1.26.0") && row.contains("ready"), "{out}");
    for (case, said) in [
        ("Reshape@14 allowzero=1 float[0,3] int64[2]{3,0}:initializer", "python    agrees"),
        ("Flatten@13 axis=1 string[2,2]{\"a\",\"ä\",\"\",\"d\"}", "python    agrees"),
        ("Reshape@21 bfloat16[2,2] int64[1]{4}", "python    unsupported"),
        ("Shape@13 float[2,3]:input(unranked)", "python    tolerated"),
        ("Flatten@13 axis=4 float[2,3]", "python    agrees"),
        ("Shape@28 float[1]", "python    unsupported"),
    ] {
        let (code, out) = crosscheck(folder.path(), &["run", "--runtimes", "in-house,python", case]);
        assert!(code == Some(0) && out.contains(said), "{case}: {out}");
    }
}

#[test]
fn a_campaign_with_the_example_counts_every_case_and_finds_what_is_wrong_with_it() {
    let folder = folder();
    let campaign = ["campaign", "--runtimes", "in-house,python", "--cases", "1200", "--seed", "2", "--threads", "1"];
    let (code, out) = crosscheck(folder.path(), &campaign);
    assert!(matches!(code, Some(0 | 1)), "{out}");
    let row = out.lines().find(|line| line.trim_start().starts_with("python")).unwrap_or_default();
    let counts: Vec<u64> = row.split_whitespace().skip(2).filter_map(|word| word.parse().ok()).collect();
    assert_eq!(counts[..5].iter().sum::<u64>(), 1200, "{out}");
    assert!(counts[0] > 400, "{out}");
}

#[test]
fn the_example_is_as_short_as_it_is_said_to_be() {
    let example = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(EXAMPLE)).unwrap();
    let lines = example.lines().count();
    let said = format!("a complete program of {lines} lines");
    assert!(lines <= 60 && include_str!("../docs/command.md").contains(&said), "{lines} lines");
}
