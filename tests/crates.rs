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

    /// Builds the program of a report, with the crates that the worker is built with.
    fn build(report: &Path, kind: &Kind) -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let worker = root.join("workers").join(format!("{}-{}", kind.name, kind.version));
        fs::copy(worker.join("Cargo.lock"), report.join("Cargo.lock")).unwrap();
        let target = root.join("target/workers");
        let mut command = Command::new(env!("CARGO"));
        command.args(["build", "--release", "--target-dir"]).arg(&target).current_dir(report);
        let profile = [("OPT_LEVEL", "1"), ("OVERFLOW_CHECKS", "false"), ("DEBUG", "false")];
        command.envs(profile.map(|(key, value)| (format!("CARGO_PROFILE_RELEASE_{key}"), value)));
        let output = command.env("RUSTFLAGS", "-D warnings").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        target.join("release").join(format!("repro{}", std::env::consts::EXE_SUFFIX))
    }

    #[test]
    #[ignore = "wheels: builds the programs of reports"]
    fn the_programs_of_reports_to_a_crate_say_that_it_is_wrong() {
        let root = tempfile::tempdir().unwrap();
        for kind in crates() {
            let name = kind.name;
            let (folder, here) = (root.path().join(name), Path::new("."));
            let rows = format!("in-house,{name}");
            let (code, out) = program::crosscheck(here, &["runtimes", "install", name]);
            assert_eq!(code, Some(0), "{out}");
            let to = ["report", "--to", name, "--runtimes", &rows, "--output", folder.to_str().unwrap()];
            let (code, out) = program::crosscheck(here, &to);
            assert_eq!(code, Some(0), "{out}");
            let reports: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            assert!(reports.len() > 20, "{}", reports.len());
            let program = build(&reports[0], kind);
            for report in reports {
                let output = Command::new(&program).current_dir(&report).output().unwrap();
                let printed = String::from_utf8_lossy(&output.stdout);
                let is_wrong = output.status.code() == Some(1) && printed.starts_with(&format!("WRONG: {name} "));
                assert!(is_wrong, "{}: {printed}", report.display());
            }
        }
    }
}
