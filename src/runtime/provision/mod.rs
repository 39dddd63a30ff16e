//! Installs code of runtimes, unless it is linked into this program, into the user's cache directory: the library of an
//! onnxruntime release, from its Python wheel; the worker of a release that is not linked, built with cargo; and Python packages.
//!
//! A file appears there whole or not at all.

mod onnxruntime;
mod package;
mod wheel;
mod worker;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use onnxruntime::{NO_TELEMETRY, ONNXRUNTIME, ONNXRUNTIME_VERSION};
pub use package::{Package, interpreter};
pub use wheel::Wheel;

use super::{Kind, Supply, by_number, kinds};

/// Why the code of a runtime is not available. Each error says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    #[error(
        "{variable} names {path}, which is not a file: set it to a library of the runtime, or unset it to have one fetched"
    )]
    Override { variable: &'static str, path: PathBuf },
    #[error(
        "there is no wheel of {package} for {platform}: set {variable} to a library of it, or leave the runtime out with \
         --runtimes in-house,tract"
    )]
    Platform { package: &'static str, variable: &'static str, platform: String },
    #[error("no cache directory is known: set HOME")]
    NoCache,
    #[error(
        "{package} {version} cannot be fetched: {reason}. Install Python 3 with pip and see that it reaches a package index \
         that has this release (`python3 -m pip index versions {package}` lists them); or set {variable} to a library of it; \
         or leave the runtime out with --runtimes in-house,tract"
    )]
    Pip { package: &'static str, variable: &'static str, version: String, reason: String },
    #[error("the wheel that pip fetched is not the pinned one: its SHA-256 is {found}, expected {expected}")]
    Sha256 { found: String, expected: &'static str },
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("the wheel of {package} cannot be unpacked: {reason}")]
    Wheel { package: &'static str, reason: String },
    #[error(
        "{wanted} cannot be installed: {reason}. Install Python 3 with pip and venv, and see that it reaches a package index \
         that has this release"
    )]
    Package { wanted: String, reason: String },
    #[error("the worker of {0} {1} cannot be built: {2}")]
    Worker(String, String, String),
    #[error("{0} is a program of your own: install it as it wants to be installed")]
    Own(&'static str),
}

impl Kind {
    /// The file that exists once a version is provisioned. `None` if there is nothing to provision: the version is linked into
    /// this program, or the code is the user's own.
    ///
    /// # Errors
    /// If the code is not available; the message says what to do.
    pub fn place(&self, version: &str) -> Result<Option<PathBuf>, ProvisionError> {
        match self.supply {
            Supply::Linked if version == self.version => Ok(None),
            Supply::Linked | Supply::Worker => worker::place(self.name, version).map(Some),
            Supply::Library(wheel) => wheel.place(version).map(Some),
            Supply::Package(_) => interpreter(self.name, version).map(|[_, ready]| Some(ready)),
            Supply::Program | Supply::Module(_) => Ok(None),
        }
    }

    /// Installs the code of a version unless it is there already, with progress on standard error. Returns the file to run or to
    /// load; `None` if the version is linked into this program.
    ///
    /// # Errors
    /// If the code is not available; the message says what to do.
    pub fn provision(&self, version: &str) -> Result<Option<PathBuf>, ProvisionError> {
        match self.supply {
            Supply::Linked if version == self.version => Ok(None),
            Supply::Linked | Supply::Worker => worker::build(self.name, version).map(Some),
            Supply::Library(wheel) => wheel.provision(version).map(Some),
            Supply::Package(package) => package::install(self.name, &package, version).map(Some),
            Supply::Program | Supply::Module(_) => Err(ProvisionError::Own(self.name)),
        }
    }

    /// The versions that were provisioned.
    fn installed(&self) -> Result<Vec<String>, ProvisionError> {
        match self.supply {
            Supply::Linked | Supply::Worker => worker::installed(self.name),
            Supply::Library(wheel) => wheel.installed(),
            Supply::Package(_) => package::installed(self.name),
            Supply::Program | Supply::Module(_) => Ok(vec![]),
        }
    }

    /// The available releases, the oldest first: for a library, those of the package index; for all other kinds, the provisioned
    /// ones and the linked one.
    ///
    /// # Errors
    /// If the releases cannot be listed, or the code is the user's own.
    pub fn releases(&self) -> Result<Vec<String>, ProvisionError> {
        let mut releases = match self.supply {
            Supply::Library(wheel) => wheel.releases()?,
            Supply::Program | Supply::Module(_) => return Err(ProvisionError::Own(self.name)),
            Supply::Linked => self.installed()?.into_iter().chain([self.version.to_owned()]).collect(),
            Supply::Worker | Supply::Package(_) => self.installed()?,
        };
        releases.sort_by_key(|version| by_number(version));
        releases.dedup();
        Ok(releases)
    }
}

/// The provisioned releases other than those under test, as NAME@VERSION.
pub fn other_releases() -> Vec<String> {
    let of = |kind: &'static Kind| {
        let versions = kind.installed().unwrap_or_default().into_iter();
        versions.filter(|version| version != kind.version).map(|version| format!("{}@{version}", kind.name))
    };
    kinds().flat_map(of).collect()
}

/// The folder of an item in the cache.
fn cache(item: &str) -> Result<PathBuf, ProvisionError> {
    let directories = directories::ProjectDirs::from("", "", "onnx-crosscheck").ok_or(ProvisionError::NoCache)?;
    Ok(directories.cache_dir().join(item))
}

/// The Python interpreter beside this program, as in a virtual environment with this program's package; otherwise the one that is
/// found by its name.
fn python() -> PathBuf {
    let name = if cfg!(windows) { "python.exe" } else { "python3" };
    let program = std::env::current_exe().ok();
    // An installer may leave only a link to this program.
    let program = program.map(|program| fs::read_link(&program).unwrap_or(program));
    let beside = program.map(|program| program.with_file_name(name)).filter(|path| path.is_file());
    beside.unwrap_or_else(|| PathBuf::from(name))
}

/// Runs a command to its end. Its output goes to standard error, since standard output is for results.
fn run(command: &mut Command, what: &str) -> Result<(), String> {
    match command.stdin(Stdio::null()).stdout(io::stderr()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{what}` ended with {status}")),
        Err(error) => Err(format!("`{}` cannot be started ({error})", command.get_program().display())),
    }
}

/// The names in a folder, sorted; none if there is no such folder.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}
