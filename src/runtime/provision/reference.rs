//! The reference evaluator of the `onnx` package, in a virtual environment.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{ProvisionError, cache, python, run};
use crate::files::write_whole;

/// The reference evaluator of the `onnx` package, as a program that speaks the protocol of the kind `command`.
const REFERENCE_PROGRAM: &str = include_str!("../onnx_reference.py");
/// The release of the package.
pub const REFERENCE_VERSION: &str = "1.22.0";
const REFERENCE_FILE: &str = "onnx_reference.py";

/// The interpreter and the program of the reference evaluator, where they are or will be once it is installed. The program
/// is the last thing that is written.
///
/// # Errors
/// If no cache directory is known.
pub fn reference() -> Result<[PathBuf; 2], ProvisionError> {
    let folder = cache(&format!("onnx-reference-{REFERENCE_VERSION}"))?;
    let (bin, python) = if cfg!(windows) { ("Scripts", "python.exe") } else { ("bin", "python3") };
    Ok([folder.join(bin).join(python), folder.join(REFERENCE_FILE)])
}

/// Makes a virtual environment with the `onnx` package, and puts the program into it.
///
/// # Errors
/// If Python, its package index or the disk fails; the message says what to do.
pub fn install_reference() -> Result<PathBuf, ProvisionError> {
    let [interpreter, program] = reference()?;
    let run = |command: &mut Command| {
        let program = command.get_program().display().to_string();
        run(command, &program).map_err(ProvisionError::Reference)
    };
    let folder = program.parent().unwrap_or(Path::new("."));
    if !program.is_file() {
        eprintln!("Installing onnx {REFERENCE_VERSION} with pip, once; it goes to {}", folder.display());
        run(Command::new(python()).args(["-m", "venv", "--clear"]).arg(folder))?;
        let package = format!("onnx=={REFERENCE_VERSION}");
        run(Command::new(&interpreter).args(["-m", "pip", "install", "-q", "--disable-pip-version-check", &package]))?;
    }
    // Again, since that of another version of this program may be there.
    write_whole(&program, REFERENCE_PROGRAM.as_bytes())
        .map_err(|error| ProvisionError::Io { path: program.clone(), error })?;
    Ok(program)
}
