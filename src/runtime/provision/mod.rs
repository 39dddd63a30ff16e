//! Brings the code of runtimes that is not linked into this program into the user's cache directory: the library of an
//! onnxruntime release, from its Python wheel; the worker of a release that is not linked, built with cargo; and packages of
//! Python.
//!
//! A file appears there whole or not at all.

mod onnxruntime;
mod package;
mod worker;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use onnxruntime::{
    NO_TELEMETRY, OLDEST_ONNXRUNTIME, ONNXRUNTIME_VERSION, OVERRIDE, is_too_old, library, onnxruntime_library,
};
pub use package::{install_package, interpreter};
pub use worker::{build_worker, worker};

use super::table::named;
use super::{Kind, Supply, by_number, kinds};

/// Why the code of a runtime cannot be had. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    #[error(
        "{OVERRIDE} names {0}, which is not a file: set it to an onnxruntime library, or unset it to have one fetched"
    )]
    Override(PathBuf),
    #[error(
        "there is no wheel of onnxruntime for {0}: set {OVERRIDE} to an onnxruntime library, or leave the runtime out \
         with --runtimes in-house,tract"
    )]
    Platform(String),
    #[error("no cache directory is known: set HOME, or set {OVERRIDE} to an onnxruntime library")]
    NoCache,
    #[error(
        "onnxruntime {version} cannot be fetched: {reason}. Install Python 3 with pip and see that it reaches a package \
         index that has this release (`python3 -m pip index versions onnxruntime` lists them); or set {OVERRIDE} to an \
         onnxruntime library; or leave the runtime out with --runtimes in-house,tract"
    )]
    Pip { version: String, reason: String },
    #[error("the wheel that pip fetched is not the pinned one: its SHA-256 is {found}, expected {expected}")]
    Sha256 { found: String, expected: &'static str },
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("the wheel of onnxruntime cannot be unpacked: {0}")]
    Wheel(String),
    #[error(
        "{wanted} cannot be installed: {reason}. Install Python 3 with pip and venv, and see that it reaches a package index \
         that has this release"
    )]
    Package { wanted: String, reason: String },
    #[error("the worker of {0} {1} cannot be built: {2}")]
    Worker(String, String, String),
}

/// The folder of an item in the cache.
fn cache(item: &str) -> Result<PathBuf, ProvisionError> {
    let directories = directories::ProjectDirs::from("", "", "onnx-crosscheck").ok_or(ProvisionError::NoCache)?;
    Ok(directories.cache_dir().join(item))
}

/// The Python that stands beside this program, as in a virtual environment that a package of it was installed into; or else the
/// one that is found by its name.
fn python() -> PathBuf {
    let name = if cfg!(windows) { "python.exe" } else { "python3" };
    let program = std::env::current_exe().ok();
    // A tool that installs programs may leave no more than a link to this one.
    let program = program.map(|program| fs::read_link(&program).unwrap_or(program));
    let beside = program.map(|program| program.with_file_name(name)).filter(|path| path.is_file());
    beside.unwrap_or_else(|| PathBuf::from(name))
}

/// Runs a command to its end. What it prints goes to standard error, since standard output is for results.
fn run(command: &mut Command, what: &str) -> Result<(), String> {
    match command.stdin(Stdio::null()).stdout(io::stderr()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{what}` ended with {status}")),
        Err(error) => Err(format!("`{}` cannot be started ({error})", command.get_program().display())),
    }
}

/// The releases of a kind that can be looked at, the oldest first: those of the package index, the one that is linked and those
/// whose workers are built, or those that are installed.
///
/// # Errors
/// If they cannot be listed.
pub fn releases(kind: &Kind) -> Result<Vec<String>, ProvisionError> {
    let mut releases = match kind.supply {
        Supply::Library => onnxruntime::onnxruntime_releases()?,
        Supply::Linked => {
            let mut releases = worker::built_workers(kind.name)?;
            releases.push(kind.version.to_owned());
            releases
        }
        Supply::Worker => worker::built_workers(kind.name)?,
        Supply::Package(_) => package::installed(kind.name)?,
        Supply::Program | Supply::Module(_) => vec![],
    };
    releases.sort_by_key(|version| by_number(version));
    releases.dedup();
    Ok(releases)
}

/// The releases that were provisioned beside those under test, as NAME@VERSION.
///
/// # Errors
/// If no cache directory is known.
pub fn other_releases() -> Result<Vec<String>, ProvisionError> {
    let libraries = names_in(&cache("")?).into_iter().filter_map(|name| {
        let version = name.strip_prefix("onnxruntime-")?.split('-').next()?.to_owned();
        let is_there = library(&version).is_ok_and(|path| path.is_file());
        (is_there && version != ONNXRUNTIME_VERSION).then(|| format!("onnxruntime@{version}"))
    });
    let workers = names_in(&cache("workers")?).into_iter().filter_map(|name| {
        let (kind, version) = name.strip_suffix(std::env::consts::EXE_SUFFIX)?.rsplit_once('-')?;
        let is_usual = kinds().any(|of| of.name == kind && of.version == version);
        (!is_usual).then(|| format!("{kind}@{version}"))
    });
    let packages = named().filter(|kind| matches!(kind.supply, Supply::Package(_))).flat_map(|kind| {
        let there = package::installed(kind.name).unwrap_or_default().into_iter();
        there.filter(|version| version != kind.version).map(|version| format!("{}@{version}", kind.name))
    });
    Ok(libraries.chain(workers).chain(packages).collect())
}

/// The names in a folder, sorted; none if there is no such folder.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}
