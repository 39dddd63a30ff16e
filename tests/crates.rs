//! Runtimes that are crates and are not linked into this program: their workers, built, and the programs of reports to them.

mod compiled;
mod installed;
mod program;

mod wheels {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::compiled::{TEST, compiled, compiled_tests, passes};

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
            let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            let reports: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
            assert!(reports.len() > 20, "{}", reports.len());
            let manifest = fs::read_to_string(reports[0].join("Cargo.toml")).unwrap();
            assert!(manifest.contains(&format!("\"={}\"", kind.version)), "{manifest}");
            // What its worker is built with.
            let manifest = format!("workers/{}-{}/Cargo.toml", kind.name, kind.version);
            let build = ["build", "--release", "--target-dir", "target/workers", "--manifest-path", &manifest];
            let program = compiled(&reports[0], root.path(), &build);
            let with_tests: Vec<PathBuf> =
                reports.iter().filter(|folder| folder.join(TEST).is_file()).cloned().collect();
            assert!(with_tests.len() > 10, "{}", with_tests.len());
            let tests = compiled_tests(&with_tests, root.path(), &build);
            for report in &with_tests {
                assert!(!passes(&tests, report), "{}", report.display());
            }
            for report in reports {
                let output = Command::new(&program).current_dir(&report).output().unwrap();
                let printed = String::from_utf8_lossy(&output.stdout);
                let is_wrong = output.status.code() == Some(1) && printed.starts_with(&format!("WRONG: {name} "));
                assert!(is_wrong, "{}: {printed}", report.display());
            }
        }
    }
}
