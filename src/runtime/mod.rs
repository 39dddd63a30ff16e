//! The runtimes under test, behind one trait.
//!
//! A runtime kind is a [`Kind`] in a file of this module; [`KINDS`] lists those that take part by default. A runtime is a row of
//! data, see [`table`].

mod caught;
mod command;
pub mod crates;
mod in_house;
#[cfg(feature = "onnxruntime")]
mod onnxruntime;
mod outcome;
#[cfg(any(test, feature = "planted"))]
pub mod planted;
mod process;
pub mod provision;
mod python;
mod stop;
pub mod table;
#[cfg(feature = "tract")]
mod tract;
pub mod worker;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use caught::caught;
pub(crate) use in_house::demand;
pub use outcome::{Class, Declaration, Execution, Gap, NativeType, Outcome, Output, Phrase, Reason, Rewriting, Stage};
pub use process::Limits;
pub use provision::{Package, Wheel};
pub use python::{CHECKER_VERSION, REFERENCE, REFERENCE_VERSION, openvino_settings};
pub use stop::Stop;
pub use table::{Row, by_number, select};

use crate::model::Job;

/// The runtime kinds that take part by default.
pub static KINDS: &[&Kind] = &[
    &in_house::KIND,
    #[cfg(feature = "onnxruntime")]
    &onnxruntime::KIND,
    #[cfg(feature = "tract")]
    &tract::KIND,
];

/// The runtime kinds that take part only if the user names them.
fn others() -> impl Iterator<Item = &'static Kind> {
    [&command::KIND].into_iter().chain(python::KINDS).chain(crates::KINDS)
}

/// All runtime kinds that can be named.
pub(crate) fn kinds() -> impl Iterator<Item = &'static Kind> {
    #[cfg(any(test, feature = "planted"))]
    let planted = [&planted::KIND];
    #[cfg(not(any(test, feature = "planted")))]
    let planted: [&'static Kind; 0] = [];
    KINDS.iter().copied().chain(others()).chain(planted)
}

/// Stands between passes that a configuration turns off, see [`Kind::passes`].
pub const PASS_SEPARATOR: &str = ";";

/// A runtime kind: how to open one, and how it can be configured.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub name: &'static str,
    /// The version under test; empty if only the runtime itself knows it.
    pub version: &'static str,
    /// At least one; a kind that has nothing to configure has one with an empty name.
    pub configurations: &'static [&'static str],
    /// The stages of optimization: configurations, each of which rewrites a model further than the one before. Empty if the kind
    /// has no such stages.
    pub stages: &'static [&'static str],
    /// The optimization passes that can be turned off: the configuration `STAGE-PASS` turns off one of them, and several are joined
    /// by [`PASS_SEPARATOR`]. If a kind can write the model that a stage produces, the configuration `STAGE>FILE` does so.
    pub passes: &'static [&'static str],
    pub supply: Supply,
    /// The ledger of the known issues of this kind, as it is built into the program.
    pub known: &'static str,
    /// Opens a runtime in this process, or starts its program. An error if it has only a worker.
    pub open: fn(&Row) -> Result<Box<dyn Runtime>, OpenError>,
}

impl Kind {
    /// Whether a version runs in a worker program of its own, because this program is not linked with it.
    pub fn has_worker(&self, version: &str) -> bool {
        match self.supply {
            Supply::Worker => true,
            Supply::Linked => version != self.version,
            _ => false,
        }
    }
}

/// Where the code of a runtime comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supply {
    /// One version is linked into this program. Any other version has a worker program of its own.
    Linked,
    /// A crate that is not linked into this program. Each version has a worker program of its own.
    Worker,
    /// A library that is loaded at run time, at any version. A process can load only one.
    Library(&'static Wheel),
    /// The user's own program.
    Program,
    /// The user's own Python module. The field is the Python program that runs it.
    Module(&'static str),
    /// A package of the Python package index, at any version.
    Package(Package),
}

impl Supply {
    /// Whether the user's own row must say what to run.
    pub const fn is_named_by_the_user(self) -> bool {
        matches!(self, Supply::Program | Supply::Module(_))
    }
}

/// One runtime at one version in one configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RuntimeId {
    /// The name of the kind, or the name in the user's own row.
    pub name: String,
    pub version: String,
    /// Empty where there is nothing to configure.
    pub configuration: String,
}

/// Something that executes ONNX models. It stays on the thread that opened it.
pub trait Runtime {
    fn id(&self) -> &RuntimeId;

    /// Loads the model of a job, runs it with the feeds of each run in turn, and keeps no state. Calls `done` with the execution
    /// of each run as soon as the run is over. If the model cannot be loaded, there is one execution, which holds for all runs.
    fn execute(&mut self, job: &Job, done: &mut dyn FnMut(Execution));

    /// The executions of each job, in order. The list is shorter if the work was stopped, or if a run ended the process of the
    /// runtime. That run is then the last one in the list, and its job must be executed alone before the result counts against
    /// the runtime.
    fn execute_all(&mut self, jobs: &[&Job]) -> Vec<Vec<Execution>> {
        jobs.iter().map(|job| executions(self, job)).collect()
    }

    /// The peak memory of the runtime's process so far, in bytes; `None` if it has no process of its own, or the peak is unknown.
    fn peak_memory(&self) -> Option<u64> {
        None
    }
}

/// The executions of a job: one for each run, or fewer. If there are fewer, the last one holds for the remaining runs.
pub fn executions<R: Runtime + ?Sized>(runtime: &mut R, job: &Job) -> Vec<Execution> {
    let mut all = Vec::with_capacity(job.runs.len());
    runtime.execute(job, &mut |execution| all.push(execution));
    all
}

/// The execution of a job of one run.
///
/// # Panics
/// If the runtime gives no execution.
pub fn execute_once<R: Runtime + ?Sized>(runtime: &mut R, job: &Job) -> Execution {
    executions(runtime, job).pop().expect("each job has an execution")
}

/// Why a runtime cannot take part.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{runtime} cannot take part: {reason}")]
    Runtime { runtime: String, reason: String },
    #[error("{path}: {reason}")]
    Table { path: &'static str, reason: String },
}

impl OpenError {
    pub fn new(runtime: impl fmt::Display, reason: impl fmt::Display) -> OpenError {
        OpenError::Runtime { runtime: runtime.to_string(), reason: reason.to_string() }
    }
}

impl RuntimeId {
    /// The release, without the configuration: `NAME`, or `NAME@VERSION` if the version is not the one under test.
    pub fn release(&self) -> String {
        let usual = kinds().find(|kind| kind.name == self.name).map_or("", |kind| kind.version);
        if usual.is_empty() || usual == self.version {
            self.name.clone()
        } else {
            format!("{}@{}", self.name, self.version)
        }
    }

    /// Whether the runtime is under test. The in-house implementation is not: the expected answer comes from it.
    pub fn is_under_test(&self) -> bool {
        self.name != in_house::KIND.name
    }

    /// The display name and the version, for people.
    pub fn with_version(&self) -> String {
        format!("{self} {}", self.version)
    }

    /// The name and the version without the configuration, for people.
    pub fn with_version_only(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// Whether both are the same release: only the configuration may differ.
    pub fn is_release_of(&self, other: &RuntimeId) -> bool {
        (&self.name, &self.version) == (&other.name, &other.version)
    }
}

impl fmt::Display for RuntimeId {
    /// `release/configuration`, which [`select`] understands.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.release())?;
        if self.configuration.is_empty() { Ok(()) } else { write!(f, "/{}", self.configuration) }
    }
}

/// The ids of runtimes, in order.
pub fn ids(runtimes: &[Box<dyn Runtime>]) -> Vec<RuntimeId> {
    runtimes.iter().map(|runtime| runtime.id().clone()).collect()
}

/// The environment variables for the process of a runtime. One turns off backtraces: an error of a runtime in Rust is an ordinary
/// outcome, and there are many. The other keeps onnxruntime from writing data about its user to the disk.
const ENVIRONMENT: [(&str, &str); 2] = [("RUST_LIB_BACKTRACE", "0"), provision::NO_TELEMETRY];

/// Sets the environment variables that runtimes read, in this process.
///
/// # Safety
/// No other thread may run meanwhile: it could be reading the environment.
pub unsafe fn prepare_environment() {
    for (name, value) in ENVIRONMENT {
        // SAFETY: the caller guarantees that there is no other thread.
        unsafe { std::env::set_var(name, value) };
    }
}

/// Opens the runtimes of rows.
pub type OpenRows<'a> = &'a dyn Fn(&[Row]) -> Result<Vec<Box<dyn Runtime>>, OpenError>;

/// Opens runtimes in this process. No runtime is skipped silently: the first one that cannot take part is the error.
///
/// # Errors
/// If a runtime cannot be opened; the message says what to do.
pub fn open(rows: &[Row]) -> Result<Vec<Box<dyn Runtime>>, OpenError> {
    let open_one = |row: &Row| {
        let kind = row.kind()?;
        if kind.has_worker(&row.id.version) {
            let reason =
                format!("{} is not linked into this program: leave out --in-process", row.id.with_version_only());
            return Err(OpenError::new(&row.id, reason));
        }
        (kind.open)(row)
    };
    rows.iter().map(open_one).collect()
}

/// Opens each runtime in a process of its own, so that a crash, a hang or an exceeded limit is the outcome of the job that caused
/// it.
///
/// # Errors
/// If a runtime cannot be opened; the message says what to do.
pub fn open_apart(rows: &[Row], limits: &Limits) -> Result<Vec<Box<dyn Runtime>>, OpenError> {
    let start = |row: &Row| match row.kind()?.supply {
        Supply::Program | Supply::Module(_) | Supply::Package(_) => command::start(row, limits),
        Supply::Linked | Supply::Worker | Supply::Library(_) => worker::start(row, limits),
    };
    // Start all of them before waiting for the first one.
    let started = rows.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    started.into_iter().map(|isolated| Ok(Box::new(isolated.ready()?) as Box<dyn Runtime>)).collect()
}
