//! A runtime of the user's own in another language: the example in Python, with the packages of onnxruntime and onnx.

mod program;
mod python;

use std::fs;
use std::path::Path;

use program::crosscheck;

const EXAMPLE: &str = "examples/onnxruntime_command.py";

fn example() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(EXAMPLE)).unwrap()
}

#[test]
fn the_example_is_as_short_as_it_is_said_to_be() {
    let lines = example().lines().count();
    let said = format!("a complete program of {lines} lines");
    assert!(lines <= 60 && include_str!("../docs/command.md").contains(&said), "{lines} lines");
}

mod wheels {
    use super::*;

    /// A folder with such a program, and a `runtimes.toml` that has it.
    fn folder(program: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("program.py"), program).unwrap();
        let python = python::python(&["onnx==1.22.0", "onnxruntime==1.26.0"]).display().to_string();
        let row =
            format!("[[runtime]]\nname = \"python\"\nkind = \"command\"\ncommand = [{python:?}, \"program.py\"]\n");
        fs::write(folder.path().join("runtimes.toml"), row).unwrap();
        folder
    }

    #[test]
    #[ignore = "wheels: a virtual environment with onnxruntime"]
    fn the_example_in_python_takes_part() {
        let folder = folder(&example());
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

    /// The cases that the row of the example counts, by what was thought of it: agreed first, and all of them.
    fn counts(out: &str) -> (u64, u64) {
        let row = out.lines().find(|line| line.trim_start().starts_with("python")).unwrap_or_default();
        let counts: Vec<u64> = row.split_whitespace().skip(2).filter_map(|word| word.parse().ok()).collect();
        (counts[0], counts[..6].iter().sum())
    }

    const CAMPAIGN: &[&str] = &[
        "campaign",
        "--runtimes",
        "in-house,python",
        "--cases",
        "600",
        "--operator",
        "shape",
        "--nodes",
        "1",
        "--threads",
        "1",
    ];

    #[test]
    #[ignore = "wheels: a virtual environment with onnxruntime"]
    fn a_campaign_with_the_example_counts_every_case_and_finds_nothing() {
        let folder = folder(&example());
        let (code, out) = crosscheck(folder.path(), CAMPAIGN);
        assert!(code == Some(0) && out.contains("No new findings"), "{out}");
        let (agreed, all) = counts(&out);
        assert!(agreed > 200 && all == 600, "{out}");
    }

    #[test]
    #[ignore = "wheels: a virtual environment with onnxruntime"]
    fn a_campaign_with_a_fault_in_the_example_finds_it() {
        let right = "outputs = session.run(None, feeds)";
        let wrong = "outputs = [output[:-1] for output in session.run(None, feeds)]";
        let faulty = example().replace(right, wrong);
        assert_ne!(faulty, example());
        let folder = folder(&faulty);
        let (code, out) = crosscheck(folder.path(), CAMPAIGN);
        assert!(code == Some(1) && out.contains("1 distinct finding, "), "{out}");
        assert!(out.contains("python of Shape gives other dims"), "{out}");
        assert_eq!(counts(&out).1, 600, "{out}");
    }
}
