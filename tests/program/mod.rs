//! The program, run to its end.

use std::path::Path;
use std::process::Command;

/// Runs the program in a folder: its exit status, and all that it printed.
pub fn crosscheck(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_crosscheck")).args(arguments).current_dir(folder).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code(), text.concat())
}
