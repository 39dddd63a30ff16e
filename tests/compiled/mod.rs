//! The programs of reports in Rust, compiled with crates that are built already.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use toml_edit::DocumentMut;

/// The program of a report in a folder, linked with the crates that its manifest names, out of a build of cargo with these
/// arguments. It reads its case when it is run.
pub fn compiled(report: &Path, to: &Path, build: &[&str]) -> PathBuf {
    linked(report, &report.join("src/main.rs"), &to.join(format!("repro{}", std::env::consts::EXE_SUFFIX)), &[], build)
}

/// The file of the test of a report.
pub const TEST: &str = "issue_test.rs";

/// The tests of reports in folders, as one program, linked as [`compiled`] is. A test is a module with the name of its folder.
pub fn compiled_tests(reports: &[PathBuf], to: &Path, build: &[&str]) -> PathBuf {
    let module = |report: &PathBuf| {
        let file = report.join(TEST);
        let text = fs::read_to_string(&file).unwrap();
        // The package of the report is not built, so its folder is written down.
        fs::write(&file, text.replace("env!(\"CARGO_MANIFEST_DIR\")", &format!("{:?}", report.to_str().unwrap())))
            .unwrap();
        format!("#[path = {:?}]\nmod {};\n", file.to_str().unwrap(), module_of(report))
    };
    let all = to.join("tests.rs");
    fs::write(&all, reports.iter().map(module).collect::<String>()).unwrap();
    linked(&reports[0], &all, &to.join(format!("tests{}", std::env::consts::EXE_SUFFIX)), &["--test"], build)
}

fn module_of(report: &Path) -> String {
    report.file_name().unwrap().to_str().unwrap().replace('-', "_")
}

/// Whether the test of a report passes. One that takes longer than 20 s does not.
pub fn passes(tests: &Path, report: &Path) -> bool {
    let mut command = Command::new(tests);
    command.arg(format!("{}::", module_of(report))).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
        }
        sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains("running 1 test"), "{}: {printed}", report.display());
    output.status.success()
}

/// A source, compiled with the crates that the manifest of a report names.
fn linked(report: &Path, source: &Path, program: &Path, more: &[&str], build: &[&str]) -> PathBuf {
    let manifest: DocumentMut = fs::read_to_string(report.join("Cargo.toml")).unwrap().parse().unwrap();
    let dependencies = manifest["dependencies"].as_table().unwrap();
    let crates: Vec<String> = dependencies.iter().map(|(name, _)| name.replace('-', "_")).collect();
    let libraries = libraries(build, &crates);
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    command.args(["--edition", "2021", "-D", "warnings", "-o"]).arg(program).arg(source).args(more);
    for (name, library) in crates.iter().zip(&libraries) {
        command.arg("--extern").arg(format!("{name}={}", library.display()));
    }
    command.arg("-L").arg(format!("dependency={}", libraries[0].parent().unwrap().display()));
    output(&mut command);
    program.to_owned()
}

/// Where the libraries of crates are. If they are built, cargo only says so.
fn libraries(build: &[&str], crates: &[String]) -> Vec<PathBuf> {
    let mut command = Command::new(env!("CARGO"));
    command.args(build).args(["--locked", "--message-format", "json"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let lines = String::from_utf8(output(&mut command).stdout).unwrap();
    let messages: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let library = |name: &String| {
        let files: Vec<PathBuf> = messages
            .iter()
            .filter(|message| message["target"]["name"] == **name)
            .flat_map(|message| message["filenames"].as_array().cloned().unwrap_or_default())
            .filter_map(|file| file.as_str().map(PathBuf::from))
            .filter(|file| file.extension().is_some_and(|ending| ending == "rlib"))
            .collect();
        let [file] = &files[..] else { panic!("one library {name}, not {files:?}") };
        file.clone()
    };
    crates.iter().map(library).collect()
}

fn output(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}
