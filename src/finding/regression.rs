//! Saved regressions: each is a case file under `corpus/regressions/`, with a snapshot of the results of every runtime.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::report::Report;
use super::{Finding, Ledger, Signature};
use crate::campaign::Trigger;
use crate::case::{Case, ParseCaseError};
use crate::files::{read_text, sha256, write_whole};
use crate::runtime::Runtime;

/// A saved case.
#[derive(Clone, Debug)]
pub struct Regression {
    /// The name of its file, without the ending.
    pub name: String,
    pub case: Case,
}

/// Why saved cases cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RegressionError {
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("{path}, line {line}: {error}")]
    Case { path: PathBuf, line: usize, error: ParseCaseError },
    #[error("{path}: expected one line that is a case; here are {count}")]
    Count { path: PathBuf, count: usize },
}

/// The folders of cases and snapshots in a checkout.
pub const CASES: &str = "corpus/regressions";
pub const SNAPSHOTS: &str = "snapshots";
const ENDING: &str = "case";
/// The test that replays the saved cases; a snapshot names it.
const TEST: &str = "tests/regressions.rs";

/// The saved cases under a checkout, by name.
///
/// # Errors
/// If a file cannot be read or is no case; the message names file and line.
pub fn load(root: &Path) -> Result<Vec<Regression>, RegressionError> {
    let folder = root.join(CASES);
    let entries = fs::read_dir(&folder).map_err(|error| RegressionError::Io { path: folder.clone(), error })?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
    paths.sort_unstable();
    paths.into_iter().map(|path| read(&path)).collect()
}

fn read(path: &Path) -> Result<Regression, RegressionError> {
    let text = read_text(path).map_err(|error| RegressionError::Io { path: path.to_owned(), error })?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let cases = lines.map(|(number, line)| {
        line.parse::<Case>().map_err(|error| RegressionError::Case { path: path.to_owned(), line: number, error })
    });
    let mut cases = cases.collect::<Result<Vec<Case>, _>>()?;
    match (cases.pop(), cases.len()) {
        (Some(case), 0) => {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Ok(Regression { name, case })
        }
        (_, more) => Err(RegressionError::Count { path: path.to_owned(), count: more }),
    }
}

/// The results of every runtime for a case, as text that is the same on every machine.
pub fn snapshot(case: &Case, runtimes: &mut [Box<dyn Runtime>]) -> String {
    let mut text = Vec::new();
    Report::new(case, runtimes, &Ledger::default()).write(&mut text, false).expect("memory can be written to");
    String::from_utf8_lossy(&text).trim_end().to_owned()
}

/// A name for files: runtime, operator, verdict and the beginning of a hash of the signature.
pub fn name(trigger: &Trigger) -> String {
    let mismatch = &trigger.mismatch;
    let verdict = mismatch.discrepancies.first().map_or("", |d| d.id());
    let hash = sha256(Signature::of(trigger).to_string().as_bytes());
    format!("{}-{}-{verdict}-{hash:.6}", mismatch.runtime_name(), mismatch.operator.to_lowercase())
}

impl Finding {
    /// A name for files, see [`name`].
    pub fn name(&self) -> String {
        name(&self.trigger)
    }

    /// Saves the minimized case in a checkout, and its snapshot for `cargo insta review` to accept. A case that is already saved is
    /// not changed.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, root: &Path, runtimes: &mut [Box<dyn Runtime>]) -> Result<PathBuf, RegressionError> {
        self.save_with(root, || Some(snapshot(&self.case, runtimes)))
    }

    /// The same as [`Finding::save`], with a snapshot that is made only if the case is not saved yet. There may be no snapshot.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save_with(
        &self,
        root: &Path,
        snapshot: impl FnOnce() -> Option<String>,
    ) -> Result<PathBuf, RegressionError> {
        let path = self.path(root);
        if path.exists() { Ok(path) } else { self.write(root, snapshot().as_deref()) }
    }

    /// Writes the minimized case and its snapshot, also if the case is already saved.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, root: &Path, snapshot: Option<&str>) -> Result<PathBuf, RegressionError> {
        let path = self.path(root);
        let text = format!("# {}.\n# {}\n{}\n", self.trigger.mismatch, self.signature(), self.case);
        write(&path, &text)?;
        if let Some(snapshot) = snapshot {
            write(&root.join(SNAPSHOTS).join(format!("{}.snap.new", self.name())), &pending_snapshot(snapshot))?;
        }
        Ok(path)
    }

    fn path(&self, root: &Path) -> PathBuf {
        root.join(CASES).join(format!("{}.{ENDING}", self.name()))
    }
}

/// A snapshot in the form in which insta leaves it for review.
fn pending_snapshot(contents: &str) -> String {
    format!("---\nsource: {TEST}\nexpression: snapshot\n---\n{contents}\n")
}

fn write(path: &Path, text: &str) -> Result<(), RegressionError> {
    write_whole(path, text.as_bytes()).map_err(|error| RegressionError::Io { path: path.to_owned(), error })
}
