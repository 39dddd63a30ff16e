//! A package of the Python package index, in a virtual environment of its own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{ProvisionError, cache, names_in, python, run};
use crate::files::write_whole;

/// A package of the Python package index, and the program that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name in the index.
    pub name: &'static str,
    /// The packages that are installed beside it: names and versions.
    pub others: &'static [(&'static str, &'static str)],
    /// The Python program that runs it.
    pub program: &'static str,
}

/// The file that is written last into a virtual environment.
const READY: &str = "ready";

/// The paths for a kind at a version, installed or not: its Python interpreter, and the file that marks it as installed.
///
/// # Errors
/// If no cache directory is known.
pub fn interpreter(kind: &str, version: &str) -> Result<[PathBuf; 2], ProvisionError> {
    let folder = cache(&format!("{kind}-{version}"))?;
    let (bin, python) = if cfg!(windows) { ("Scripts", "python.exe") } else { ("bin", "python3") };
    Ok([folder.join(bin).join(python), folder.join(READY)])
}

/// Makes a virtual environment with a package at a version and the packages beside it. Returns its Python interpreter.
///
/// # Errors
/// If Python, its package index or the disk fails; the message says what to do.
pub(super) fn install(kind: &str, package: &Package, version: &str) -> Result<PathBuf, ProvisionError> {
    let [interpreter, ready] = interpreter(kind, version)?;
    let wanted = format!("{}=={version}", package.name);
    let run = |command: &mut Command| {
        let program = command.get_program().display().to_string();
        run(command, &program).map_err(|reason| ProvisionError::Package { wanted: wanted.clone(), reason })
    };
    let folder = ready.with_file_name("");
    // The package may be in its own list of others, at another version.
    let others = package.others.iter().filter(|(name, _)| *name != package.name);
    let others = others.map(|(name, version)| format!("{name}=={version}"));
    let wanted: Vec<String> = [wanted.clone()].into_iter().chain(others).collect();
    let is_there = fs::read_to_string(&ready).is_ok_and(|there| there == wanted.join("\n"));
    if !is_there {
        eprintln!("Installing {} with pip, once; it goes to {}", wanted.join(", "), folder.display());
        run(Command::new(python()).args(["-m", "venv", "--clear"]).arg(&folder))?;
        run(Command::new(&interpreter)
            .args(["-m", "pip", "install", "-q", "--disable-pip-version-check"])
            .args(&wanted))?;
        write_whole(&ready, wanted.join("\n").as_bytes())
            .map_err(|error| ProvisionError::Io { path: ready.clone(), error })?;
    }
    Ok(interpreter)
}

/// The versions of a kind that are installed.
///
/// # Errors
/// If no cache directory is known.
pub(super) fn installed(kind: &str) -> Result<Vec<String>, ProvisionError> {
    let prefix = format!("{kind}-");
    let version = |name: String| {
        let version = name.strip_prefix(&prefix)?.to_owned();
        let is_ready = version.starts_with(|c: char| c.is_ascii_digit())
            && interpreter(kind, &version).is_ok_and(|[_, ready]| ready.is_file());
        is_ready.then_some(version)
    };
    Ok(names_in(&cache("")?).into_iter().filter_map(version).collect())
}
