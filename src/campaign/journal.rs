//! The journal of a campaign: what was counted so far, on disk, so that a campaign that was killed can go on.
//!
//! It is a file of JSON lines that only grows. The first line says what the campaign is; a part holds what was counted of
//! some cases since the part before it. Every line has a checksum. Only the last line can be torn, and is then dropped;
//! damage anywhere else is an error. Journals that were merged stand one after another in one file.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Ranges;
use super::source::Shard;
use super::statistics::Statistics;
use crate::files::{sha256, write_whole};
use crate::runtime::RuntimeId;

/// The journal's file in the folder of a campaign.
const FILE: &str = "journal.jsonl";

/// The number of this format.
const FORMAT: u32 = 6;

/// What stands before the checksum of a line, and what stands between it and the record.
const HEAD: (&str, &str) = (r#"{"sum":""#, r#"","record":"#);

/// At least so long after a part comes the next.
const PAUSE: Duration = Duration::from_secs(2);

/// The same, where mismatches of a new kind are to be kept.
const SHORT_PAUSE: Duration = Duration::from_millis(200);

/// How many bytes a journal may grow by in a second: less than 60 MB in an hour. The longer the parts, the fewer there are
/// of them, and the more is run again after a kill.
const BYTES_A_SECOND: u64 = 16 << 10;

/// How many bytes more it may grow by, where mismatches of a new kind are to be kept.
const RESERVE: u64 = 1 << 20;

/// What a campaign is. What is not in it does not change what the campaign comes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    format: u32,
    /// The version of the program that wrote it.
    pub(super) program: String,
    /// Where the cases come from, in words of the caller's own.
    pub source: Value,
    /// Which of these cases they are. Cases are counted within it.
    #[serde(default)]
    pub shard: Shard,
    pub runtimes: Vec<RuntimeId>,
    /// The checksum of the known issues.
    pub ledger: String,
    /// The known issue that each trigger on these runtimes is of.
    #[serde(default)]
    pub triggers: Vec<String>,
    pub ignore_known: bool,
}

/// When a campaign is to end, whichever comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub cases: Option<u64>,
    pub time: Option<Duration>,
}

/// What is to be done about what a journal holds already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It is overwritten if its campaign was brought to its end.
    Begin,
    /// It is overwritten.
    Restart,
    /// It is gone on with.
    Resume,
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("{path} is in use by another campaign: wait for its end, or choose another --output")]
    InUse { path: PathBuf },
    #[error(
        "{folder} holds a campaign that was not brought to its end: go on with --resume, or start anew with --restart or \
         another --output"
    )]
    Unended { folder: PathBuf },
    #[error("{folder} holds no campaign to go on with: start one without --resume")]
    Nothing { folder: PathBuf },
    #[error(
        "{folder} holds several campaigns that were merged: go on with each in its own folder, and merge them again, or \
         start anew with another --output"
    )]
    Merged { folder: PathBuf },
    #[error(
        "{folder} holds another campaign: {differences}; give what it was given, or start anew with --restart or another \
         --output"
    )]
    Another { folder: PathBuf, differences: String },
    #[error(
        "{path}, line {line}: {reason}; start anew with --restart or another --output, or cut the file before that line \
         and go on with --resume"
    )]
    Damaged { path: PathBuf, line: u64, reason: String },
    #[error("{path} cannot be read: {error}")]
    Read { path: PathBuf, error: io::Error },
    #[error("{path} cannot be written: {error}; what it holds is kept, and --resume goes on once there is room")]
    Write { path: PathBuf, error: io::Error },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Record {
    Begun { campaign: Header, limits: Limits },
    Resumed { limits: Limits },
    Part(Part),
    Ended,
}

/// What was counted of some cases.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) cases: Ranges,
    pub(super) statistics: Statistics,
}

/// What a journal holds of a campaign.
#[derive(Clone, Debug)]
pub struct Kept {
    pub header: Header,
    /// Those that were asked for last.
    pub limits: Limits,
    pub(super) whole: Part,
    pub(super) has_ended: bool,
    /// The length in bytes up to the end of the last line that is not torn.
    length: u64,
}

/// A journal that nobody else can use, not yet written to.
#[derive(Debug)]
pub struct Opened {
    folder: PathBuf,
    path: PathBuf,
    file: File,
    kept: Option<Kept>,
}

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// What it held when it was opened.
    earlier: Part,
    /// What was counted since the last part.
    pending: Part,
    /// Whether mismatches of a new kind are pending.
    is_urgent: bool,
    started: Instant,
    /// When the last part was written.
    written: Instant,
    /// How many bytes were written since it was started.
    grown: u64,
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
        Header { format: FORMAT, program, source, shard, runtimes, ledger, triggers, ignore_known }
    }

    /// The header of a campaign that is this one in all but its cases, which are those of another.
    pub(super) fn with_cases_of(&self, other: &Header) -> Header {
        Header { source: other.source.clone(), shard: other.shard, ..self.clone() }
    }

    /// What another has otherwise, in words; empty if nothing.
    pub(super) fn differences(&self, other: &Header) -> String {
        let runtimes = |header: &Header| {
            let names: Vec<String> = header.runtimes.iter().map(RuntimeId::with_version).collect();
            names.join(", ")
        };
        let known = |header: &Header| format!("{} triggers, checksum {:.12}", header.triggers.len(), header.ledger);
        let rows = [self, other].map(|header| {
            [
                ("the format is", header.format.to_string()),
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

/// How many cases there are.
fn count(cases: &Ranges) -> u64 {
    cases.iter().map(|range| range.end - range.start).sum()
}

impl Part {
    fn new(ids: &[RuntimeId]) -> Part {
        Part { cases: Ranges::default(), statistics: Statistics::new(ids) }
    }

    /// A part of the same campaign without any cases.
    fn none(&self) -> Part {
        let ids: Vec<RuntimeId> = self.statistics.runtimes.iter().map(|runtime| runtime.id.clone()).collect();
        Part::new(&ids)
    }

    /// Adds a part that has no case in common with this one; whether that was so.
    fn add(&mut self, other: Part) -> bool {
        let is_disjoint = self.cases.intersection(&other.cases).next().is_none();
        if is_disjoint {
            self.cases.extend(other.cases);
            self.statistics.add(other.statistics);
        }
        is_disjoint
    }
}

impl Kept {
    /// A campaign that was brought to its end.
    #[cfg(test)]
    pub(super) fn new(header: Header, limits: Limits, whole: Part) -> Kept {
        Kept { header, limits, whole, has_ended: true, length: 0 }
    }

    /// How long the campaign took so far.
    pub fn elapsed(&self) -> Duration {
        self.whole.statistics.elapsed
    }

    /// Takes in a line, which is about the last campaign or begins another. An error leaves everything as it was.
    fn take(all: &mut Vec<Kept>, line: &[u8]) -> Result<(), String> {
        match (all.last_mut(), read_line(line)?) {
            (_, Record::Begun { campaign, .. }) if campaign.format != FORMAT => {
                let theirs = campaign.format;
                return Err(format!("another version of crosscheck wrote it: its format is {theirs}, not {FORMAT}"));
            }
            (_, Record::Begun { campaign, limits }) => {
                let whole = Part::new(&campaign.runtimes);
                all.push(Kept { header: campaign, limits, whole, has_ended: false, length: 0 });
            }
            (None, _) => return Err("it does not say what the campaign is".to_owned()),
            (Some(kept), Record::Resumed { limits }) => {
                kept.limits = limits;
                kept.has_ended = false;
            }
            (Some(kept), Record::Part(part)) => kept.add(part)?,
            (Some(kept), Record::Ended) => kept.has_ended = true,
        }
        if let Some(kept) = all.last_mut() {
            kept.length += line.len() as u64;
        }
        Ok(())
    }

    fn add(&mut self, part: Part) -> Result<(), String> {
        let statistics = &part.statistics;
        if !statistics.is_of(&self.header.runtimes, self.header.triggers.len())
            || statistics.cases != count(&part.cases)
        {
            return Err("its counts are not those of its cases and runtimes".to_owned());
        }
        if self.whole.add(part) { Ok(()) } else { Err("it counts cases that are counted already".to_owned()) }
    }
}

fn read_line(line: &[u8]) -> Result<Record, String> {
    let text = line.strip_suffix(b"\n").and_then(|line| str::from_utf8(line).ok()).ok_or("it is torn")?;
    let parts = text.strip_prefix(HEAD.0).and_then(|rest| rest.strip_suffix('}')?.split_once(HEAD.1));
    let (sum, record) = parts.ok_or("it is no record")?;
    if sum != checksum(record) {
        return Err("its checksum is another".to_owned());
    }
    serde_json::from_str(record).map_err(|error| error.to_string())
}

fn write_line(record: &Record) -> io::Result<String> {
    let record = serde_json::to_string(record)?;
    Ok(format!("{}{}{}{record}}}\n", HEAD.0, checksum(&record), HEAD.1))
}

fn checksum(record: &str) -> String {
    let mut sum = sha256(record.as_bytes());
    sum.truncate(16);
    sum
}

/// What a file holds, but for a torn last line.
fn read(path: &Path, file: &File) -> Result<Vec<Kept>, JournalError> {
    let (mut reader, mut line, mut all, mut damage) = (BufReader::new(file), Vec::new(), Vec::new(), None);
    for number in 1.. {
        line.clear();
        let length =
            reader.read_until(b'\n', &mut line).map_err(|error| JournalError::Read { path: path.to_owned(), error })?;
        if length == 0 {
            break;
        }
        // The line before was not the last.
        if let Some(damage) = damage.take() {
            return Err(damage);
        }
        if let Err(reason) = Kept::take(&mut all, &line) {
            damage = Some(JournalError::Damaged { path: path.to_owned(), line: number, reason });
        }
    }
    Ok(all)
}

/// What the journal in a folder holds: a campaign, several if they were merged, or nothing.
///
/// # Errors
/// If there is none, if a campaign is writing it, or if it is damaged.
pub(super) fn read_all(folder: &Path) -> Result<Vec<Kept>, JournalError> {
    let path = folder.join(FILE);
    let file = File::open(&path).map_err(|error| JournalError::Read { path: path.clone(), error })?;
    lock(&path, File::try_lock_shared(&file))?;
    read(&path, &file)
}

/// Writes the journals of campaigns into a folder, one after another, each in as few lines as there can be.
///
/// # Errors
/// If the file of that path cannot be written.
pub(super) fn write_all(folder: &Path, all: &[Kept]) -> Result<(), (PathBuf, io::Error)> {
    let path = folder.join(FILE);
    let mut text = String::new();
    for Kept { header, limits, whole, has_ended, .. } in all.iter().cloned() {
        let ended = has_ended.then_some(Record::Ended);
        for record in [Record::Begun { campaign: header, limits }, Record::Part(whole)].into_iter().chain(ended) {
            text += &write_line(&record).map_err(|error| (path.clone(), error))?;
        }
    }
    write_whole(&path, text.as_bytes()).map_err(|error| (path, error))
}

fn lock(path: &Path, locked: Result<(), TryLockError>) -> Result<(), JournalError> {
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => JournalError::InUse { path: path.to_owned() },
        TryLockError::Error(error) => JournalError::Write { path: path.to_owned(), error },
    })
}

impl Opened {
    /// Opens the journal in the folder of a campaign, and reads it if that is the manner.
    ///
    /// # Errors
    /// If another campaign has it, if it is damaged, or if it holds what the manner does not go with.
    pub fn open(folder: &Path, manner: Manner) -> Result<Opened, JournalError> {
        let (folder, path) = (folder.to_owned(), folder.join(FILE));
        let resumes = manner == Manner::Resume;
        if resumes && !path.exists() {
            return Err(JournalError::Nothing { folder });
        }
        let open = || {
            fs::create_dir_all(&folder)?;
            File::options().read(true).write(true).create(true).truncate(false).open(&path)
        };
        let file = open().map_err(|error| JournalError::Write { path: path.clone(), error })?;
        lock(&path, file.try_lock())?;
        let mut all = if manner == Manner::Restart { vec![] } else { read(&path, &file)? };
        match (all.pop(), &all[..]) {
            (None, _) if resumes => Err(JournalError::Nothing { folder }),
            (Some(_), [_, ..]) => Err(JournalError::Merged { folder }),
            (Some(kept), []) if !resumes && !kept.has_ended => Err(JournalError::Unended { folder }),
            (kept, _) => Ok(Opened { folder, path, file, kept: kept.filter(|_| resumes) }),
        }
    }

    /// What there is to go on with.
    pub fn kept(&self) -> Option<&Kept> {
        self.kept.as_ref()
    }

    /// Begins the journal of a campaign, or goes on with it.
    ///
    /// # Errors
    /// If it is that of another campaign, or cannot be written.
    pub fn start(self, header: Header, limits: Limits) -> Result<Journal, JournalError> {
        let Opened { folder, path, mut file, kept } = self;
        let (length, earlier, record) = match kept {
            None => (0, Part::new(&header.runtimes), Record::Begun { campaign: header, limits }),
            Some(kept) => {
                let differences = kept.header.differences(&header);
                if !differences.is_empty() {
                    return Err(JournalError::Another { folder, differences });
                }
                (kept.length, kept.whole, Record::Resumed { limits })
            }
        };
        let cut = file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length)));
        cut.map_err(|error| JournalError::Write { path: path.clone(), error })?;
        let (pending, now) = (earlier.none(), Instant::now());
        let mut journal =
            Journal { path, file, earlier, pending, is_urgent: false, started: now, written: now, grown: 0 };
        journal.append(&record)?;
        Ok(journal)
    }
}

impl Journal {
    /// The cases that were run before it was opened.
    pub fn done(&self) -> &Ranges {
        &self.earlier.cases
    }

    /// What was counted of them.
    pub fn counted(&self) -> &Statistics {
        &self.earlier.statistics
    }

    /// Keeps what was counted of some cases beside those of `total`, on disk as soon as a part is due.
    ///
    /// # Errors
    /// If it cannot be written. Nothing more may then be kept.
    pub fn keep(&mut self, cases: &Ranges, block: &Statistics, total: &Statistics) -> Result<(), JournalError> {
        self.is_urgent |= block.groups.keys().any(|group| !total.groups.contains_key(group));
        let mut statistics = block.clone();
        statistics.coverage.leave_out(&total.coverage);
        self.pending.add(Part { cases: cases.clone(), statistics });
        if self.is_due() { self.write_pending() } else { Ok(()) }
    }

    /// Whether a part is to be written: not too soon after the last one, and not if the journal grows too fast.
    fn is_due(&self) -> bool {
        let (pause, reserve) = if self.is_urgent { (SHORT_PAUSE, RESERVE) } else { (PAUSE, 0) };
        self.written.elapsed() >= pause && self.grown <= reserve + self.started.elapsed().as_secs() * BYTES_A_SECOND
    }

    /// Writes what is still to be written.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_pending(&mut self) -> Result<(), JournalError> {
        if self.pending.cases.is_empty() {
            return Ok(());
        }
        let none = self.pending.none();
        let part = std::mem::replace(&mut self.pending, none);
        self.is_urgent = false;
        self.append(&Record::Part(part))?;
        self.written = Instant::now();
        Ok(())
    }

    /// Writes the CPU time that the campaign took since the journal was opened, and whether it was brought to its end.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end(mut self, cpu: Duration, is_whole: bool) -> Result<(), JournalError> {
        self.write_pending()?;
        let mut last = self.pending.none();
        last.statistics.times.cpu = cpu;
        self.append(&Record::Part(last))?;
        if is_whole {
            self.append(&Record::Ended)?;
        }
        self.file.sync_data().map_err(|error| JournalError::Write { path: self.path, error })
    }

    /// Writes a line as a whole.
    fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        let written = write_line(record).and_then(|line| self.file.write_all(line.as_bytes()).map(|()| line.len()));
        self.grown += written.map_err(|error| JournalError::Write { path: self.path.clone(), error })? as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
