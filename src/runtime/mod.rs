//! The runtimes under test, behind one trait, and the table of them.
//!
//! A runtime kind is one file with one [`Kind`] in it and one row in [`KINDS`].

mod in_house;
#[cfg(any(test, feature = "planted"))]
pub(crate) mod liar;
mod onnxruntime;
mod outcome;
pub mod provision;
mod tract;
pub mod worker;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use outcome::{Class, Declaration, Execution, Gap, NativeType, Outcome, Output, Phrase, Reason, Stage};

use crate::model::Job;

/// Every runtime kind that takes part unless others are named.
pub static KINDS: &[&Kind] = &[&in_house::KIND, &onnxruntime::KIND, &tract::KIND];

/// Every runtime kind that can be named.
fn kinds() -> impl Iterator<Item = &'static Kind> {
    #[cfg(any(test, feature = "planted"))]
    let planted = [&liar::KIND];
    #[cfg(not(any(test, feature = "planted")))]
    let planted: [&'static Kind; 0] = [];
    KINDS.iter().copied().chain(planted)
}

/// A runtime kind: how to open one, and how it can be configured.
#[derive(Debug)]
pub struct Kind {
    pub name: &'static str,
    /// The version under test.
    pub version: &'static str,
    /// At least one; a kind that has nothing to configure has one with an empty name.
    pub configurations: &'static [&'static str],
    /// The entries of the known-issue ledger that the program is built with.
    pub known: &'static str,
    /// Opens a runtime in one of the configurations.
    open: fn(&RuntimeId) -> Result<Box<dyn Runtime>, OpenError>,
}

/// One runtime at one version in one configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RuntimeId {
    pub kind: String,
    pub version: String,
    /// Empty where there is nothing to configure.
    pub configuration: String,
}

/// Something that executes ONNX models. It stays on the thread that opened it.
pub trait Runtime {
    fn id(&self) -> &RuntimeId;

    /// What the runtime does with each job, in order. Jobs are independent: one cannot change what another gives.
    fn execute(&mut self, jobs: &[Job]) -> Vec<Execution>;
}

/// Why a runtime cannot take part.
#[derive(Debug, thiserror::Error)]
#[error("{runtime} cannot take part: {reason}")]
pub struct OpenError {
    pub runtime: String,
    pub reason: String,
}

impl fmt::Display for RuntimeId {
    /// `kind/configuration`; the version is shown once, where the runtimes are listed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if self.configuration.is_empty() { Ok(()) } else { write!(f, "/{}", self.configuration) }
    }
}

/// The runtimes that a list of names asks for, such as `in-house,onnxruntime,tract/optimized`; without a configuration
/// a name stands for all of them. `None` asks for every runtime.
///
/// # Errors
/// If a name is not that of a runtime. Which one, and which there are, is in the message.
pub fn select(list: Option<&str>) -> Result<Vec<RuntimeId>, OpenError> {
    let Some(list) = list else {
        return Ok(KINDS.iter().flat_map(|kind| kind.rows()).collect());
    };
    let mut selected = Vec::new();
    for name in list.split(',').map(str::trim) {
        let all = kinds().flat_map(Kind::rows);
        let rows: Vec<RuntimeId> = all.filter(|id| id.kind == name || id.to_string() == name).collect();
        if rows.is_empty() {
            let names: Vec<String> = KINDS
                .iter()
                .flat_map(|kind| kind.rows().map(|id| id.to_string()).chain([kind.name.to_owned()]))
                .collect();
            let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
            names.sort_unstable();
            names.dedup();
            let reason = format!("there is no such runtime; there are {}", names.join(", "));
            return Err(OpenError { runtime: format!("`{name}`"), reason });
        }
        selected.extend(rows.into_iter().filter(|id| !selected.contains(id)).collect::<Vec<_>>());
    }
    Ok(selected)
}

/// Keeps errors of runtimes in Rust from taking a back-trace each: they are outcomes like any other, and many. To be called
/// before a thread is started and an error is made.
pub fn take_no_back_traces() {
    // SAFETY: the caller has not started a thread, so none reads the environment meanwhile.
    unsafe { std::env::set_var("RUST_LIB_BACKTRACE", "0") };
}

/// Opens runtimes. None of them is left out in silence: the first that cannot take part is the error.
///
/// # Errors
/// If a runtime cannot be opened; the message says what to do.
pub fn open(ids: &[RuntimeId]) -> Result<Vec<Box<dyn Runtime>>, OpenError> {
    let open_one = |id: &RuntimeId| {
        let kind = kinds().find(|kind| kind.name == id.kind);
        let kind =
            kind.ok_or_else(|| OpenError { runtime: id.to_string(), reason: "its kind is unknown".to_owned() })?;
        (kind.open)(id)
    };
    ids.iter().map(open_one).collect()
}

impl Kind {
    fn rows(&self) -> impl Iterator<Item = RuntimeId> {
        self.configurations.iter().map(|configuration| RuntimeId {
            kind: self.name.to_owned(),
            version: self.version.to_owned(),
            configuration: (*configuration).to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_selected_by_name() {
        let names = |list| select(list).map(|ids| ids.iter().map(ToString::to_string).collect::<Vec<_>>());
        let all =
            ["in-house", "onnxruntime/disabled", "onnxruntime/all", "tract/typed", "tract/optimized", "tract/pinned"];
        assert_eq!(names(None).unwrap(), all);
        assert_eq!(
            names(Some("tract, in-house")).unwrap(),
            ["tract/typed", "tract/optimized", "tract/pinned", "in-house"]
        );
        assert_eq!(names(Some("tract/typed,tract")).unwrap(), ["tract/typed", "tract/optimized", "tract/pinned"]);
        let error = names(Some("onnxruntme")).unwrap_err().to_string();
        assert!(error.contains("`onnxruntme`") && error.contains("onnxruntime, onnxruntime/all"), "{error}");
    }
}
