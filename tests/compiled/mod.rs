//! The programs of reports in Rust, compiled with crates that are built already.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use toml_edit::DocumentMut;

/// The program of a report in a folder, linked with the crates that its manifest names, out of a build of cargo with these
/// arguments. It reads its case when it is run.
pub fn compiled(report: &Path, to: &Path, build: &[&str]) -> PathBuf {
    let program = to.join(format!("repro{}", std::env::consts::EXE_SUFFIX));
    let manifest: DocumentMut = fs::read_to_string(report.join("Cargo.toml")).unwrap().parse().unwrap();
    let dependencies = manifest["dependencies"].as_table().unwrap();
    let crates: Vec<String> = dependencies.iter().map(|(name, _)| name.replace('-', "_")).collect();
    let libraries = libraries(build, &crates);
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    command.args(["--edition", "2021", "-D", "warnings", "-o"]).arg(&program).arg(report.join("src/main.rs"));
    for (name, library) in crates.iter().zip(&libraries) {
        command.arg("--extern").arg(format!("{name}={}", library.display()));
    }
    command.arg("-L").arg(format!("dependency={}", libraries[0].parent().unwrap().display()));
    output(&mut command);
    program
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
