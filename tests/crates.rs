//! Runtimes that are crates and are not linked into this program: their workers, built, and the programs of reports to them.

mod installed;
mod program;

mod wheels {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use onnx_crosscheck::runtime::{Kind, Supply, table::named};

    use super::*;

    fn crates() -> Vec<&'static Kind> {
        let crates: Vec<_> = named().filter(|kind| kind.supply == Supply::Worker).collect();
        assert!(!crates.is_empty());
        crates
    }

    #[test]
    #[ignore = "wheels: builds the workers"]
    fn every_known_issue_of_a_crate_still_shows_with_its_own_signature() {
        crates().into_iter().for_each(installed::assert_known_issues_show);
    }

    /// Builds the program of a report, as its readers do but for what takes the compiler long.
    fn build(report: &Path, name: &str) -> PathBuf {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs-of-reports").join(name);
        let mut command = Command::new(env!("CARGO"));
        command.args(["build", "--target-dir"]).arg(&target).current_dir(report);
        let profile = [("DEBUG", "false"), ("OVERFLOW_CHECKS", "false"), ("OPT_LEVEL", "0")];
        command.envs(profile.map(|(key, value)| (format!("CARGO_PROFILE_DEV_{key}"), value)));
        let output = command.env("RUSTFLAGS", "-D warnings").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        target.join("debug").join(format!("repro{}", std::env::consts::EXE_SUFFIX))
    }

    #[test]
    #[ignore = "wheels: builds the programs of reports"]
    fn the_programs_of_reports_to_a_crate_say_that_it_is_wrong() {
        let root = tempfile::tempdir().unwrap();
        for Kind { name, .. } in crates() {
            let (folder, here) = (root.path().join(name), Path::new("."));
            let rows = format!("in-house,{name}");
            let (code, out) = program::crosscheck(here, &["runtimes", "install", name]);
            assert_eq!(code, Some(0), "{out}");
            let to = ["report", "--to", name, "--runtimes", &rows, "--output", folder.to_str().unwrap()];
            let (code, out) = program::crosscheck(here, &to);
            assert_eq!(code, Some(0), "{out}");
            let reports: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            assert!(reports.len() > 20, "{}", reports.len());
            let program = build(&reports[0], name);
            for report in reports {
                let output = Command::new(&program).current_dir(&report).output().unwrap();
                let printed = String::from_utf8_lossy(&output.stdout);
                let is_wrong = output.status.code() == Some(1) && printed.starts_with(&format!("WRONG: {name} "));
                assert!(is_wrong, "{}: {printed}", report.display());
            }
        }
    }
}
