//! The record of a campaign's minimized cases, on disk, so that a resumed campaign does not minimize them again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Minimized, Signature, Variant};
use crate::campaign::Trigger;
use crate::case::{Case, Features};
use crate::verdict::Mismatch;

/// The record of one campaign. It has a line for each case that was minimized.
#[derive(Debug)]
pub struct Record {
    file: File,
    /// The lines that were there.
    read: Vec<Line>,
}

/// A case that was minimized.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    mismatch: Mismatch,
    /// The case as it was drawn.
    case: String,
    minimized: String,
    /// The mismatch of the minimized case.
    shown: Mismatch,
    /// The features that could not be removed, as a signature has them.
    features: String,
    executions: u64,
    message: String,
}

/// The file of the record in the folder of a campaign.
const FILE: &str = "minimized.jsonl";

impl Record {
    /// Opens the record in the folder of a campaign, which nobody else may be writing to. That of a campaign that is not resumed is
    /// empty. A last line that was cut off by a kill is removed.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn open(folder: &Path, resumes: bool) -> io::Result<Record> {
        let path = folder.join(FILE);
        let text = if resumes && path.exists() { fs::read(&path)? } else { vec![] };
        let mut length = 0;
        let mut read = Vec::new();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let Ok(one) = serde_json::from_slice(line) else { break };
            if line.ends_with(b"\n") {
                length += line.len() as u64;
                read.push(one);
            }
        }
        let file = File::options().create(true).append(true).open(&path)?;
        file.set_len(length)?;
        Ok(Record { file, read })
    }

    /// The cases that an earlier part of the campaign minimized: each with the text of the case as it was drawn.
    pub(super) fn take(&mut self) -> impl Iterator<Item = (Mismatch, String, Minimized)> + use<> {
        std::mem::take(&mut self.read).into_iter().filter_map(Line::restored)
    }

    /// Adds a minimized case. If that fails, a resumed campaign minimizes it again.
    pub(super) fn add(&mut self, mismatch: &Mismatch, case: &str, minimized: &Minimized) {
        let line = Line {
            mismatch: mismatch.clone(),
            case: case.to_owned(),
            minimized: minimized.case.to_string(),
            shown: minimized.mismatch.clone(),
            features: minimized.features.to_string(),
            executions: minimized.executions,
            message: minimized.message.clone(),
        };
        let is_exact = line.features(&minimized.case) == minimized.features;
        let text = serde_json::to_string(&line).ok().filter(|_| is_exact);
        if let Some(text) = text {
            self.file.write_all(format!("{text}\n").as_bytes()).unwrap_or_default();
        }
    }
}

impl Line {
    /// The features with those that must be absent, which the words alone do not tell.
    fn features(&self, case: &Case) -> Features {
        let trigger = Trigger::new(self.shown.clone(), Features::of(case));
        let features = self.features.split(' ').map(str::to_owned).collect();
        Variant::written(Signature { features, ..Signature::of(&trigger) }, case).own_features()
    }

    fn restored(self) -> Option<(Mismatch, String, Minimized)> {
        let case: Case = self.minimized.parse().ok()?;
        let features = self.features(&case);
        let minimized =
            Minimized { case, mismatch: self.shown, features, executions: self.executions, message: self.message };
        Some((self.mismatch, self.case, minimized))
    }
}
