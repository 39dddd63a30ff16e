//! The checkpoint of a campaign: its counts so far, on disk, so that a campaign that was killed can be resumed.
//!
//! It is one file, which is written as a whole. When the campaign is resumed, the cases that were counted after the last
//! write are run again, with the same result. If campaigns were merged into a folder, the file holds them side by side.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::slice;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Ranges;
use super::source::Shard;
use super::statistics::Statistics;
use crate::files::sha256;
use crate::runtime::RuntimeId;

/// The file in the folder of a campaign.
const FILE: &str = "checkpoint.json";

/// The checkpoint is first written to this file, which then replaces the old one. A kill may leave it there until the next
/// write.
const NEW: &str = "checkpoint.json.new";

/// The process that writes the checkpoint locks this file. A lock on the checkpoint itself would end when the file is
/// replaced.
const LOCK: &str = "checkpoint.lock";

/// The text before the checksum of the campaigns, with the number of this format, and the text between checksum and
/// campaigns.
const HEAD: (&str, &str) = (r#"{"format":2,"sha256":""#, r#"","campaigns":"#);

/// The least time between two writes of the file.
const PAUSE: Duration = Duration::from_secs(2);

/// The same, if mismatches of a new kind are to be saved.
const SHORT_PAUSE: Duration = Duration::from_millis(200);

/// The pause is at least this many times as long as the last write.
const SHARE: u32 = 50;

/// The settings that define a campaign. Other settings do not change the counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the program that wrote it.
    pub(super) program: String,
    /// The source of the cases, as the caller describes it.
    pub source: Value,
    /// The shard of the source. The numbers of cases count within the shard.
    pub shard: Shard,
    pub runtimes: Vec<RuntimeId>,
    /// The checksum of the known issues.
    pub ledger: String,
    /// The known issue of each trigger on these runtimes.
    pub triggers: Vec<String>,
    pub ignore_known: bool,
}

/// The limits of a campaign, which ends at the first that it reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub cases: Option<u64>,
    pub time: Option<Duration>,
}

/// How to treat a campaign that is already in the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Overwrite it if it was run to its end.
    Begin,
    /// Overwrite it.
    Restart,
    /// Resume it.
    Resume,
}

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("{folder} is in use by another campaign: wait for its end, or choose another --output")]
    InUse { folder: PathBuf },
    #[error(
        "{folder} holds a campaign that was not brought to its end: go on with --resume, or start over with --restart or \
         another --output"
    )]
    Unended { folder: PathBuf },
    #[error("{folder} holds no campaign to go on with: start one without --resume")]
    Nothing { folder: PathBuf },
    #[error(
        "{folder} holds several campaigns that were merged: go on with each in its own folder, and merge them again, or \
         start over with another --output"
    )]
    Merged { folder: PathBuf },
    #[error(
        "{folder} holds another campaign: {differences}; give what it was given, or start over with --restart or another \
         --output"
    )]
    Another { folder: PathBuf, differences: String },
    #[error("{path}: {reason}; start over with --restart or another --output")]
    Damaged { path: PathBuf, reason: String },
    #[error("{path} cannot be read: {error}")]
    Read { path: PathBuf, error: io::Error },
    #[error(
        "{path} cannot be written: {error}; what it holds stays, and a campaign goes on with --resume once there is room"
    )]
    Write { path: PathBuf, error: io::Error },
}

/// The contents of the checkpoint of a campaign.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Saved {
    pub header: Header,
    /// The limits that were given last.
    pub limits: Limits,
    /// The cases that were counted.
    pub(super) cases: Ranges,
    pub(super) statistics: Statistics,
    pub(super) has_ended: bool,
}

/// The checkpoint in a locked folder, not yet written to.
#[derive(Debug)]
pub struct Opened {
    folder: PathBuf,
    lock: File,
    saved: Option<Saved>,
}

/// The checkpoint of a running campaign.
#[derive(Debug)]
pub struct Checkpoint {
    folder: PathBuf,
    /// Held until the end.
    _lock: File,
    saved: Saved,
    /// Whether mismatches of a new kind are not yet written.
    is_urgent: bool,
    /// When the file was last written, and how long that took.
    written: Instant,
    took: Duration,
}

impl Header {
    /// The version of this program.
    pub const PROGRAM: &str = env!("CARGO_PKG_VERSION");

    pub fn new(
        (source, shard): (Value, Shard),
        runtimes: Vec<RuntimeId>,
        ledger: String,
        triggers: Vec<String>,
        ignore_known: bool,
    ) -> Header {
        let program = Header::PROGRAM.to_owned();
        Header { program, source, shard, runtimes, ledger, triggers, ignore_known }
    }

    /// This header with the source and the shard of another.
    pub(super) fn with_cases_of(&self, other: &Header) -> Header {
        Header { source: other.source.clone(), shard: other.shard, ..self.clone() }
    }

    /// The differences between two headers, in words; empty if there are none.
    pub(super) fn differences(&self, other: &Header) -> String {
        let runtimes = |header: &Header| {
            let names: Vec<String> = header.runtimes.iter().map(RuntimeId::with_version).collect();
            names.join(", ")
        };
        let known = |header: &Header| format!("{} triggers, checksum {:.12}", header.triggers.len(), header.ledger);
        let rows = [self, other].map(|header| {
            [
                ("the version of crosscheck is", header.program.clone()),
                ("its cases are", header.source.to_string()),
                ("its shard is", header.shard.to_string()),
                ("its runtimes are", runtimes(header)),
                ("its known issues are", known(header)),
                ("--ignore-known is", header.ignore_known.to_string()),
            ]
        });
        let [theirs, mine] = rows;
        let pairs = theirs.into_iter().zip(mine).filter(|(theirs, mine)| theirs != mine);
        let words = pairs.map(|((name, theirs), (_, mine))| format!("{name} {theirs} and not {mine}"));
        words.collect::<Vec<_>>().join("; ")
    }
}

impl Saved {
    /// How long the campaign has run so far.
    pub fn elapsed(&self) -> Duration {
        self.statistics.elapsed
    }
}

/// The campaigns in a folder: one, several if they were merged, or none.
///
/// # Errors
/// If the file cannot be read, or is damaged.
pub(super) fn read(folder: &Path) -> Result<Vec<Saved>, CheckpointError> {
    let path = folder.join(FILE);
    match fs::read(&path) {
        Ok(bytes) => parse(&bytes).map_err(|reason| CheckpointError::Damaged { path, reason }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        Err(error) => Err(CheckpointError::Read { path, error }),
    }
}

fn parse(bytes: &[u8]) -> Result<Vec<Saved>, String> {
    let text = str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let rest = text.strip_prefix(HEAD.0).ok_or("it is damaged, or another version of crosscheck wrote it")?;
    let parts = rest.strip_suffix("}\n").and_then(|rest| rest.split_once(HEAD.1));
    let (_, campaigns) =
        parts.filter(|(sum, campaigns)| *sum == sha256(campaigns.as_bytes())).ok_or("it is damaged")?;
    serde_json::from_str(campaigns).map_err(|error| error.to_string())
}

/// Replaces the campaigns in a locked folder.
///
/// # Errors
/// If the file cannot be written. The old file is then unchanged.
pub(super) fn write(folder: &Path, campaigns: &[Saved]) -> Result<(), CheckpointError> {
    let (path, new) = (folder.join(FILE), folder.join(NEW));
    let write = || {
        let campaigns = serde_json::to_string(campaigns)?;
        let (before, between) = HEAD;
        let mut file = File::create(&new)?;
        writeln!(file, "{before}{}{between}{campaigns}}}", sha256(campaigns.as_bytes()))?;
        file.sync_data()?;
        fs::rename(&new, &path)
    };
    write().map_err(|error| CheckpointError::Write { path, error })
}

/// Locks a folder. Nobody else can write campaigns into it as long as the returned file is open.
///
/// # Errors
/// If the folder is already locked, or cannot be written to.
pub(super) fn lock(folder: &Path) -> Result<File, CheckpointError> {
    let path = folder.join(LOCK);
    let open = || fs::create_dir_all(folder).and_then(|()| File::create(&path));
    let locked = open().map_err(TryLockError::Error).and_then(|file| file.try_lock().map(|()| file));
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => CheckpointError::InUse { folder: folder.to_owned() },
        TryLockError::Error(error) => CheckpointError::Write { path, error },
    })
}

impl Opened {
    /// Locks the folder of a campaign and opens its checkpoint. It is read unless the manner is [`Manner::Restart`].
    ///
    /// # Errors
    /// If another campaign uses the folder, if the checkpoint is damaged, or if its contents do not allow the manner.
    pub fn open(folder: &Path, manner: Manner) -> Result<Opened, CheckpointError> {
        let resumes = manner == Manner::Resume;
        if resumes && !folder.join(FILE).exists() {
            return Err(CheckpointError::Nothing { folder: folder.to_owned() });
        }
        let lock = lock(folder)?;
        let mut all = if manner == Manner::Restart { vec![] } else { read(folder)? };
        let folder = folder.to_owned();
        match (all.pop(), &all[..]) {
            (None, _) if resumes => Err(CheckpointError::Nothing { folder }),
            (Some(_), [_, ..]) => Err(CheckpointError::Merged { folder }),
            (Some(saved), []) if !resumes && !saved.has_ended => Err(CheckpointError::Unended { folder }),
            (saved, _) => Ok(Opened { folder, lock, saved: saved.filter(|_| resumes) }),
        }
    }

    /// The campaign to resume, if there is one.
    pub fn saved(&self) -> Option<&Saved> {
        self.saved.as_ref()
    }

    /// Begins or resumes a campaign, and writes the checkpoint.
    ///
    /// # Errors
    /// If the folder holds another campaign, or cannot be written to.
    pub fn start(self, header: Header, limits: Limits) -> Result<Checkpoint, CheckpointError> {
        let Opened { folder, lock, saved } = self;
        let saved = if let Some(saved) = saved {
            let differences = saved.header.differences(&header);
            if !differences.is_empty() {
                return Err(CheckpointError::Another { folder, differences });
            }
            Saved { limits, has_ended: false, ..saved }
        } else {
            let statistics = Statistics::new(&header.runtimes);
            Saved { header, limits, cases: Ranges::new(), statistics, has_ended: false }
        };
        let (written, took) = (Instant::now(), Duration::ZERO);
        let mut checkpoint = Checkpoint { folder, _lock: lock, saved, is_urgent: false, written, took };
        checkpoint.write()?;
        Ok(checkpoint)
    }
}

impl Checkpoint {
    /// The cases that were counted.
    pub fn done(&self) -> &Ranges {
        &self.saved.cases
    }

    /// The counts of these cases at the last write of the checkpoint.
    pub fn counted(&self) -> &Statistics {
        &self.saved.statistics
    }

    /// Adds cases that were counted. `total` has the counts of all cases, and `is_urgent` tells whether there are mismatches
    /// of a new kind. The file is written if the pause since the last write is over.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&mut self, cases: &Ranges, total: &Statistics, is_urgent: bool) -> Result<(), CheckpointError> {
        self.saved.cases.extend(cases.iter().cloned());
        self.is_urgent |= is_urgent;
        if self.written.elapsed() < pause(self.is_urgent, self.took) { Ok(()) } else { self.save(total) }
    }

    /// Writes the file, with the counts of all cases so far.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&mut self, total: &Statistics) -> Result<(), CheckpointError> {
        self.saved.statistics = total.clone();
        self.write()
    }

    /// Writes the CPU time since the campaign was begun or resumed, the current time since 1970-01-01, and whether the
    /// campaign was run to its end.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end(mut self, cpu: Duration, now: Duration, is_whole: bool) -> Result<(), CheckpointError> {
        self.saved.statistics.times.cpu += cpu;
        self.saved.statistics.times.ended = now;
        self.saved.has_ended = is_whole;
        self.write()
    }

    fn write(&mut self) -> Result<(), CheckpointError> {
        let began = Instant::now();
        write(&self.folder, slice::from_ref(&self.saved))?;
        (self.is_urgent, self.written, self.took) = (false, Instant::now(), began.elapsed());
        Ok(())
    }
}

/// The pause after a write of the file that took this long.
fn pause(is_urgent: bool, took: Duration) -> Duration {
    (if is_urgent { SHORT_PAUSE } else { PAUSE }).max(took * SHARE)
}

#[cfg(test)]
mod tests;
