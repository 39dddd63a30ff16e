//! The worker of a runtime that is a crate, built with cargo: of a release other than the linked one, or of a crate that is not
//! linked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{ProvisionError, cache, names_in, run};

/// The folder with the sources of workers, in a checkout.
const WORKERS: &str = "workers";

/// The path of the worker of a release, built or not.
///
/// # Errors
/// If no cache directory is known.
pub(super) fn place(kind: &str, version: &str) -> Result<PathBuf, ProvisionError> {
    Ok(cache("workers")?.join(format!("{kind}-{version}{}", std::env::consts::EXE_SUFFIX)))
}

/// The releases of a runtime whose workers are built.
///
/// # Errors
/// If no cache directory is known.
pub(super) fn installed(kind: &str) -> Result<Vec<String>, ProvisionError> {
    let prefix = format!("{kind}-");
    let version =
        |name: &String| Some(name.strip_prefix(&prefix)?.strip_suffix(std::env::consts::EXE_SUFFIX)?.to_owned());
    Ok(names_in(&cache("workers")?).iter().filter_map(version).collect())
}

/// Builds the worker of a release. The current folder is a checkout.
///
/// # Errors
/// If the current folder is no checkout, the checkout has no such worker, or cargo fails.
pub(super) fn build(kind: &str, version: &str) -> Result<PathBuf, ProvisionError> {
    let failed = |reason: String| ProvisionError::Worker(kind.to_owned(), version.to_owned(), reason);
    let name = format!("{kind}-{version}");
    let manifest = Path::new(WORKERS).join(&name).join("Cargo.toml");
    if !manifest.is_file() {
        let there = fs::read_dir(WORKERS).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut there: Vec<String> =
            there.filter(|path| path.is_dir()).map(|path| path.display().to_string()).collect();
        there.sort_unstable();
        let reason = if there.is_empty() {
            format!("run this in a checkout of the project, which has the folder {WORKERS}")
        } else {
            format!("there is no {}; there are {}", manifest.display(), there.join(", "))
        };
        return Err(failed(reason));
    }
    let target = Path::new("target").join(WORKERS);
    let mut command = Command::new("cargo");
    command.args(["build", "--release", "--locked", "--manifest-path"]).arg(&manifest);
    run(command.arg("--target-dir").arg(&target), "cargo build").map_err(failed)?;
    let built = target.join("release").join(format!("{kind}-worker{}", std::env::consts::EXE_SUFFIX));
    let worker = place(kind, version)?;
    let io = |error| ProvisionError::Io { path: worker.clone(), error };
    let directory = worker.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(io)?;
    let scratch = tempfile::tempdir_in(directory).map_err(io)?;
    let copy = scratch.path().join(&name);
    fs::copy(&built, &copy).and_then(|_| fs::rename(&copy, &worker)).map_err(io)?;
    Ok(worker)
}
