//! The runtimes under test, behind one trait.
//!
//! A runtime kind is one file with one [`Kind`] in it and one row in [`KINDS`]; a runtime is a row of data, see
//! [`table`].

mod caught;
mod command;
pub mod crates;
mod in_house;
#[cfg(feature = "onnxruntime")]
mod onnxruntime;
mod outcome;
#[cfg(any(test, feature = "planted"))]
pub(crate) mod planted;
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
pub use python::{CHECKER_VERSION, REFERENCE, REFERENCE_VERSION};
pub use stop::Stop;
pub use table::{Row, by_number, select};

use crate::model::Job;

/// Every runtime kind that takes part unless others are named.
pub static KINDS: &[&Kind] = &[
    &in_house::KIND,
    #[cfg(feature = "onnxruntime")]
    &onnxruntime::KIND,
    #[cfg(feature = "tract")]
    &tract::KIND,
];

/// The runtime kinds that a user names, beside [`KINDS`].
fn others() -> impl Iterator<Item = &'static Kind> {
    [&command::KIND].into_iter().chain(python::KINDS).chain(crates::KINDS)
}

/// Every runtime kind that can be named.
pub(crate) fn kinds() -> impl Iterator<Item = &'static Kind> {
    #[cfg(any(test, feature = "planted"))]
    let planted = [&planted::KIND];
    #[cfg(not(any(test, feature = "planted")))]
    let planted: [&'static Kind; 0] = [];
    KINDS.iter().copied().chain(others()).chain(planted)
}

/// A runtime kind: how to open one, and how it can be configured.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub name: &'static str,
    /// The version under test; empty if only the runtime itself can say.
    pub version: &'static str,
    /// At least one; a kind that has nothing to configure has one with an empty name.
    pub configurations: &'static [&'static str],
    /// Configurations in the order in which they rewrite a model more and more; none if the kind has no such stages.
    pub stages: &'static [&'static str],
    /// The passes that the configuration `STAGE-PASS` turns off, if there are any. A kind that can write a model as a stage
    /// leaves it does so with the configuration `STAGE>FILE`.
    pub passes: &'static [&'static str],
    pub supply: Supply,
    /// The entries of the known-issue ledger that the program is built with.
    pub known: &'static str,
    /// Opens a runtime in this process, or tells how it is reached from it.
    pub open: fn(&Row) -> Result<Box<dyn Runtime>, OpenError>,
}

impl Kind {
    /// Whether a version of it has a program of its own, since this program is not linked with it.
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
    /// It is linked into this program, at one version; any other has a program of its own, which serves as its worker.
    Linked,
    /// It is a crate, of which each version has a program of its own, which serves as its worker.
    Worker,
    /// It is a library that is loaded, at any version; one in a process.
    Library(&'static Wheel),
    /// It is the user's own program.
    Program,
    /// It is the user's own module of Python, which this program runs.
    Module(&'static str),
    /// It is a package of the Python package index, at any version.
    Package(Package),
}

impl Supply {
    /// Whether only a row of the user's can say what is run.
    pub const fn is_named_by_the_user(self) -> bool {
        matches!(self, Supply::Program | Supply::Module(_))
    }
}

/// One runtime at one version in one configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RuntimeId {
    /// The name of its kind, or the one that its row gives it.
    pub name: String,
    pub version: String,
    /// Empty where there is nothing to configure.
    pub configuration: String,
}

/// Something that executes ONNX models. It stays on the thread that opened it.
pub trait Runtime {
    fn id(&self) -> &RuntimeId;

    /// Loads the model of a job, runs it with each of its feeds in turn, and keeps nothing. `done` is called with the
    /// execution of each run as soon as it is there. A model that cannot be loaded has one execution, which holds for all
    /// runs.
    fn execute(&mut self, job: &Job, done: &mut dyn FnMut(Execution));

    /// The executions of each job, in order. The list may be shorter: it then ends with the run that ended the process of
    /// the runtime, which is to be executed by itself before the runtime is accused; or the work was stopped.
    fn execute_all(&mut self, jobs: &[&Job]) -> Vec<Vec<Execution>> {
        jobs.iter().map(|job| executions(self, job)).collect()
    }

    /// The most memory that its process has taken so far, in bytes; nothing if it has none of its own, or that is not known.
    fn peak_memory(&self) -> Option<u64> {
        None
    }
}

/// The executions of the runs of a job: one for each, or fewer, of which the last holds for the rest.
pub fn executions<R: Runtime + ?Sized>(runtime: &mut R, job: &Job) -> Vec<Execution> {
    let mut all = Vec::with_capacity(job.runs.len());
    runtime.execute(job, &mut |execution| all.push(execution));
    all
}

/// What a runtime does with a job of one run.
///
/// # Panics
/// If the runtime has nothing to say.
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
    /// The runtime at its version, in whichever configuration: its name, and its version unless it is the one under test.
    pub fn release(&self) -> String {
        let usual = kinds().find(|kind| kind.name == self.name).map_or("", |kind| kind.version);
        if usual.is_empty() || usual == self.version {
            self.name.clone()
        } else {
            format!("{}@{}", self.name, self.version)
        }
    }

    /// Whether it is under test. The in-house implementation is not: what a case must give comes from it.
    pub fn is_under_test(&self) -> bool {
        self.name != in_house::KIND.name
    }

    /// The same with its version, for people.
    pub fn with_version(&self) -> String {
        format!("{self} {}", self.version)
    }

    /// Its name and its version, for people.
    pub fn with_version_only(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// Whether the two differ in nothing but their configuration.
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

/// What runtimes are called, in their order.
pub fn ids(runtimes: &[Box<dyn Runtime>]) -> Vec<RuntimeId> {
    runtimes.iter().map(|runtime| runtime.id().clone()).collect()
}

/// What runtimes read from the environment of their process. An error of a runtime in Rust is an outcome like any other, and
/// there are many, so none takes a back-trace; and onnxruntime writes nothing about its user to the disk.
const ENVIRONMENT: [(&str, &str); 2] = [("RUST_LIB_BACKTRACE", "0"), provision::NO_TELEMETRY];

/// Sets what runtimes read from the environment of their process.
///
/// # Safety
/// No other thread may run meanwhile: it could be reading the environment.
pub unsafe fn prepare_environment() {
    for (name, value) in ENVIRONMENT {
        // SAFETY: the caller says that there is no other thread.
        unsafe { std::env::set_var(name, value) };
    }
}

/// Opens runtimes in this process. None of them is left out in silence: the first that cannot take part is the error.
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

/// Opens runtimes in processes of their own, so that a crash, a hang or a limit that is exceeded is the outcome of the job that
/// caused it.
///
/// # Errors
/// If a runtime cannot be opened; the message says what to do.
pub fn open_apart(rows: &[Row], limits: &Limits) -> Result<Vec<Box<dyn Runtime>>, OpenError> {
    let start = |row: &Row| match row.kind()?.supply {
        Supply::Program | Supply::Module(_) | Supply::Package(_) => command::start(row, limits),
        Supply::Linked | Supply::Worker | Supply::Library(_) => worker::start(row, limits),
    };
    // All of them are started before one is waited for.
    let started = rows.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    started.into_iter().map(|isolated| Ok(Box::new(isolated.ready()?) as Box<dyn Runtime>)).collect()
}
