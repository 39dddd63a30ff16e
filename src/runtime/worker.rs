//! A runtime in a worker process: this program, or the worker program of another version, started with the row to open.
//!
//! A batch of jobs is written to a file, and its length goes to the worker's standard input. The worker writes the result of a
//! job to another file as soon as the job is done: there it is safe whatever the next job does, and this program is not woken for
//! it. At the end of a batch, a byte on standard error says that there are results. Both files are in memory if there is room,
//! and the next batch overwrites them. The worker reads the jobs in place. This program maps neither file, since memory may be
//! full and the code in the worker may cut its file. Standard output belongs to the runtime alone: any text there makes the
//! result of the job in progress garbage.

mod message;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::mem;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use memmap2::{Mmap, MmapMut};
use tempfile::TempDir;

use self::message::{Garbage, OTHER_VERSION};
use super::process::{Exchange, Isolated, NOTICE, Next, Protocol};
use super::table::State;
use super::{Declaration, ENVIRONMENT, Kind, Limits, OpenError, Row};
use crate::model::Job;
use crate::tensor::Tensor;
use crate::text::cut;

/// The subcommand for a worker. Its arguments are a row as JSON, and the folder of the files.
pub const COMMAND: &str = "worker";

/// The files in the folder of a worker.
const JOBS: &str = "jobs";
const ANSWERS: &str = "answers";
const OUTPUT: &str = "output";

/// The size of the number at the start of the answers file: how far the file is written, as a `u64` in the machine's byte order.
const BEGINNING: usize = size_of::<u64>();
/// The size that the files keep from batch to batch, in bytes.
const USUAL: usize = 1 << 22;
/// How many characters are stored of the text that a runtime writes to standard output.
const WORDS: usize = 10_000;
/// How many bytes of a batch are written at a time: so few that they are still in the cache when they are copied.
const PIECE: usize = 1 << 16;

/// The variable that tells mimalloc whether memory may come in huge pages. Clearing them takes longer than the rest of a worker's
/// start, and a worker fills few of them.
const HUGE_PAGES: &str = "MIMALLOC_ALLOW_THP";

/// The folder whose files are in memory, on Linux.
const MEMORY: &str = "/dev/shm";
/// How many bytes must be free there: a container may have few.
const ROOM: u64 = 1 << 30;

struct Files;

/// Starts the worker of a row.
///
/// # Errors
/// If it cannot be started.
pub(super) fn start(row: &Row, limits: &Limits) -> Result<Isolated, OpenError> {
    Isolated::start(row, &Files, limits)
}

impl Protocol for Files {
    fn command(&self, row: &Row, limits: &Limits) -> Result<Command, String> {
        let kind = row.kind().map_err(|error| error.to_string())?;
        match row.state() {
            State::Ready => {}
            // Fetched here, so once for all workers.
            State::ToBeProvisioned => {
                kind.provision(&row.id.version).map_err(|error| error.to_string())?;
            }
            State::NotAvailable(why) => return Err(why),
        }
        let own = if kind.has_worker(&row.id.version) { kind.place(&row.id.version) } else { Ok(None) };
        let program = match own.map_err(|error| error.to_string())? {
            Some(worker) => worker,
            None => limits.program().map_err(|error| format!("this program is not found: {error}"))?,
        };
        let mut command = Command::new(program);
        command.arg(COMMAND).arg(serde_json::to_string(row).map_err(|error| error.to_string())?);
        command.envs(ENVIRONMENT);
        if std::env::var_os(HUGE_PAGES).is_none() {
            command.env(HUGE_PAGES, "0");
        }
        Ok(command)
    }

    fn exchange(&self) -> io::Result<Box<dyn Exchange>> {
        Ok(Box::new(Messages::new()?))
    }
}

/// The exchange with a worker: it writes its messages to one file, and reads jobs from another.
struct Messages {
    folder: TempDir,
    /// The standard input of the worker.
    input: Option<Box<dyn Write>>,
    jobs: File,
    answers: File,
    output: File,
    /// The part of a batch that is not yet written. It is empty between batches, and its memory is used again for the next one.
    piece: Vec<u8>,
    /// The bytes that were read from the answers, how many of them were decoded, and where in the file they end.
    answered: Vec<u8>,
    understood: usize,
    read: u64,
    /// The declarations of the last answer.
    declared: Arc<[Declaration]>,
    notices: Option<Receiver<()>>,
    is_first: bool,
    has_ended: bool,
}

impl Messages {
    fn new() -> io::Result<Messages> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("crosscheck-");
        let folder = if has_room(Path::new(MEMORY)) { builder.tempdir_in(MEMORY) } else { builder.tempdir() }?;
        let file = |name| {
            File::options().read(true).append(name == OUTPUT).write(true).create(true).open(folder.path().join(name))
        };
        let (jobs, answers, output) = (file(JOBS)?, file(ANSWERS)?, file(OUTPUT)?);
        jobs.set_len(USUAL as u64)?;
        answers.set_len(USUAL as u64)?;
        let (answered, understood, declared) = (Vec::new(), 0, Arc::default());
        let (notices, is_first, has_ended) = (None, true, false);
        Ok(Messages {
            folder,
            input: None,
            jobs,
            answers,
            output,
            piece: Vec::with_capacity(2 * PIECE),
            answered,
            understood,
            read: BEGINNING as u64,
            declared,
            notices,
            is_first,
            has_ended,
        })
    }

    /// Reads the bytes that the worker has added. Returns whether there were any.
    fn read(&mut self) -> io::Result<bool> {
        self.answers.rewind()?;
        let mut written = [0; BEGINNING];
        self.answers.read_exact(&mut written)?;
        let added = u64::from_ne_bytes(written).saturating_sub(self.read);
        self.answers.seek(SeekFrom::Start(self.read))?;
        self.answered.drain(..std::mem::take(&mut self.understood));
        self.read += (&mut self.answers).take(added).read_to_end(&mut self.answered)? as u64;
        Ok(added > 0)
    }

    /// The next message, if it was read as a whole: the first message, or the answer to a run with these feeds.
    fn understand(&mut self, feeds: Option<&[Tensor]>) -> Option<Next> {
        let message = message(&self.answered[self.understood..])?;
        self.understood += LENGTH + message.len();
        let Some(feeds) = feeds.filter(|_| !self.is_first) else {
            self.is_first = false;
            // Both sides have the files open, so the folder can go: nothing stays behind, however the two processes end.
            _ = std::fs::remove_dir_all(self.folder.path());
            return Some(Next::Ready(message::read_ready(message)));
        };
        Some(match message::read_response(feeds, message, &mut self.declared) {
            Ok(Some(execution)) => Next::Execution(execution),
            Ok(None) => Next::NoMore,
            // The messages after an unreadable one may depend on it.
            Err(Garbage { what, is_message }) => Next::Garbage { what, lost: is_message },
        })
    }
}

impl Exchange for Messages {
    fn start(&mut self, command: &mut Command) -> io::Result<()> {
        command.arg(self.folder.path()).stdout(Stdio::from(self.output.try_clone()?));
        Ok(())
    }

    fn begin(&mut self, input: ChildStdin, _: Option<ChildStdout>) -> Option<SyncSender<()>> {
        self.input = Some(Box::new(input));
        let (send, notices) = sync_channel(1);
        self.notices = Some(notices);
        Some(send)
    }

    /// All earlier answers have been read, so both files are written from the start.
    fn ask(&mut self, jobs: &[&Job]) -> io::Result<()> {
        self.jobs.rewind()?;
        let (mut length, mut piece) = (0, mem::take(&mut self.piece));
        for (index, job) in jobs.iter().enumerate() {
            piece = message::ask(job, piece).map_err(io::Error::other)?;
            if piece.len() >= PIECE || index + 1 == jobs.len() {
                self.jobs.write_all(&piece)?;
                length += piece.len() as u64;
                piece.clear();
                piece.shrink_to(2 * PIECE);
            }
        }
        self.piece = piece;
        if length < USUAL as u64 && self.jobs.metadata()?.len() > USUAL as u64 {
            self.jobs.set_len(USUAL as u64)?;
        }
        self.answers.rewind()?;
        self.answers.write_all(&(BEGINNING as u64).to_ne_bytes())?;
        self.read = BEGINNING as u64;
        self.answered.clear();
        self.answered.shrink_to(USUAL);
        self.understood = 0;
        self.declared = Arc::default();
        if let Some(input) = &mut self.input {
            // The pipe has room, since the worker has read everything sent before. If the worker has ended, the first answer says
            // so.
            _ = input.write_all(&[(jobs.len() as u64).to_le_bytes(), length.to_le_bytes()].concat());
        }
        Ok(())
    }

    fn next(&mut self, feeds: Option<&[Tensor]>, wait: Duration) -> Next {
        if let Some(next) = self.understand(feeds) {
            return next;
        }
        if self.has_ended {
            return Next::End;
        }
        let notice = self.notices.as_ref().map(|notices| notices.recv_timeout(wait));
        self.has_ended = matches!(notice, None | Some(Err(RecvTimeoutError::Disconnected)));
        match self.read() {
            // The worker of another version of this program does not know the file, and writes to standard output.
            Ok(false) if self.is_first && self.output.metadata().is_ok_and(|output| output.len() > 0) => {
                Next::Ready(Err(OTHER_VERSION.to_owned()))
            }
            Ok(progress) => {
                self.understand(feeds).unwrap_or(if self.has_ended { Next::End } else { Next::Nothing { progress } })
            }
            Err(error) => Next::Garbage { what: error.to_string(), lost: true },
        }
    }
}

/// Whether the folder has room for the files of any job.
#[cfg(target_os = "linux")]
fn has_room(folder: &Path) -> bool {
    let found = nix::sys::statvfs::statvfs(folder);
    found.is_ok_and(|found| found.blocks_available() * found.fragment_size() >= ROOM)
}

#[cfg(not(target_os = "linux"))]
fn has_room(_: &Path) -> bool {
    false
}

/// The size of the number before every message: the length of the message in bytes, as a `u32`.
const LENGTH: usize = size_of::<u32>();

/// The first message of the bytes, if it is complete.
fn message(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH>()?;
    rest.get(..u32::from_le_bytes(*length) as usize)
}

/// Serves as the worker of a row, of a kind that is built into this program.
///
/// # Errors
/// If standard input or a file in the folder fails.
pub fn serve(row: &str, folder: &Path) -> io::Result<()> {
    serve_with(row, folder, |row| (row.kind()?.open)(row))
}

/// The main function of a program that is the worker of one kind, at one version.
pub fn main(kind: &Kind) -> ExitCode {
    let mut arguments = std::env::args().skip(2);
    let (row, folder) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
    let served = serve_with(&row, Path::new(&folder), |row| {
        if row.kind == kind.name && row.id.version == kind.version {
            (kind.open)(row)
        } else {
            Err(OpenError::new(&row.id, format!("this is the worker of {} {}", kind.name, kind.version)))
        }
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn serve_with(
    row: &str,
    folder: &Path,
    open: impl Fn(&Row) -> Result<Box<dyn super::Runtime>, OpenError>,
) -> io::Result<()> {
    let row: Row = serde_json::from_str(row).map_err(io::Error::other)?;
    end_with_the_parent();
    let (jobs, mut output) = (File::open(folder.join(JOBS))?, File::open(folder.join(OUTPUT))?);
    let answers = File::options().read(true).write(true).open(folder.join(ANSWERS))?;
    let mut answers = Written::new(answers)?;
    let opened = open(&row);
    let version = match &opened {
        Ok(runtime) => Ok(runtime.id().version.clone()),
        Err(OpenError::Runtime { reason, .. } | OpenError::Table { reason, .. }) => Err(reason.clone()),
    };
    let mut message = message::ready(&version).map_err(io::Error::other)?;
    answers.add(&message)?;
    notify()?;
    let Ok(mut runtime) = opened else { return Ok(()) };
    let mut input = io::stdin().lock();
    // SAFETY: the parent writes to the file before it asks, and not again until all is answered; this process cannot write to it.
    let mut map = unsafe { Mmap::map(&jobs)? };
    let mut said = output.seek(SeekFrom::End(0))?;
    loop {
        let [mut count, mut length] = [[0; 8]; 2];
        match input.read_exact(&mut count) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        input.read_exact(&mut length)?;
        let length = usize::try_from(u64::from_le_bytes(length)).map_err(io::Error::other)?;
        if length > map.len() {
            // SAFETY: as for the first map.
            map = unsafe { Mmap::map(&jobs)? };
        }
        answers.begin()?;
        let mut rest = map.get(..length).unwrap_or_default();
        let mut declared = Arc::default();
        for _ in 0..u64::from_le_bytes(count) {
            let job = message::read_job(&mut rest).map_err(io::Error::other)?;
            let mut runs = job.runs.iter();
            let mut sent = Ok(());
            runtime.execute(&job, &mut |execution| {
                let feeds = runs.next().map_or(&[][..], Vec::as_slice);
                let mut respond = || -> io::Result<()> {
                    message.clear();
                    let empty = mem::take(&mut message);
                    message = if output.seek(SeekFrom::End(0))? == said {
                        message::write_response(feeds, &execution, &mut declared, empty)
                    } else {
                        message::write_words(&words(&mut output, &mut said)?, empty)
                    }
                    .map_err(io::Error::other)?;
                    answers.add(&message)
                };
                if sent.is_ok() {
                    sent = respond();
                }
            });
            sent?;
            if runs.next().is_some() {
                answers.add(&message::no_more().map_err(io::Error::other)?)?;
            }
        }
        notify()?;
    }
}

/// The text that was written to a file since it had `length` bytes.
fn words(file: &mut File, length: &mut u64) -> io::Result<String> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(*length))?;
    *length += file.read_to_end(&mut text)? as u64;
    Ok(cut(&String::from_utf8_lossy(&text), WORDS))
}

/// The answers file on the worker's side. Other processes see what is written, even if this process ends at once.
struct Written {
    file: File,
    map: MmapMut,
    end: usize,
}

impl Written {
    fn new(file: File) -> io::Result<Written> {
        // SAFETY: only this process can make the file shorter, and nobody keeps a reference into it.
        let map = unsafe { MmapMut::map_mut(&file)? };
        Ok(Written { file, map, end: BEGINNING })
    }

    /// Begins a new batch.
    fn begin(&mut self) -> io::Result<()> {
        self.end = BEGINNING;
        if self.map.len() > USUAL { self.resize(USUAL) } else { Ok(()) }
    }

    /// Adds a message. Other processes see all of it or nothing.
    fn add(&mut self, message: &[u8]) -> io::Result<()> {
        let length = u32::try_from(message.len()).map_err(io::Error::other)?;
        let text = self.end + LENGTH;
        let end = text + message.len();
        if end > self.map.len() {
            self.resize(end.next_power_of_two())?;
        }
        self.map[self.end..text].copy_from_slice(&length.to_le_bytes());
        self.map[text..end].copy_from_slice(message);
        self.end = end;
        // SAFETY: the file begins with a u64, a map begins at a page, and only this code writes the number while a batch runs.
        let written = unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().cast()) };
        written.store(end as u64, Ordering::Release);
        Ok(())
    }

    fn resize(&mut self, length: usize) -> io::Result<()> {
        self.file.set_len(length as u64)?;
        // SAFETY: as for the first map.
        self.map = unsafe { MmapMut::map_mut(&self.file)? };
        Ok(())
    }
}

fn notify() -> io::Result<()> {
    io::stderr().write_all(&[NOTICE])
}

/// Ends the worker once its parent has ended. Otherwise it would stay for ever if its job never ends.
#[cfg(unix)]
fn end_with_the_parent() {
    use std::os::unix::process::parent_id;
    let parent = parent_id();
    std::thread::spawn(move || {
        while parent_id() == parent {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
        std::process::exit(2);
    });
}

#[cfg(not(unix))]
fn end_with_the_parent() {}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::runtime::{Execution, Outcome};

    /// What the program reads from the messages of a worker, message by message.
    fn understood(messages: &[Vec<u8>]) -> Vec<String> {
        let mut exchange = Messages::new().unwrap();
        let mut written = written(&exchange);
        let mut seen = Vec::new();
        for message in messages {
            written.add(message).unwrap();
            exchange.read().unwrap();
            assert!(!exchange.read().unwrap(), "nothing is read twice");
            seen.extend(exchange.understand(Some(&[])).map(|next| match next {
                Next::Ready(ready) => format!("{ready:?}"),
                Next::Execution(execution) => execution.message,
                Next::Garbage { what, lost } => format!("garbage {what}{}", if lost { ", and lost" } else { "" }),
                Next::NoMore => "no more".to_owned(),
                Next::Nothing { .. } | Next::End => panic!("a message is something"),
            }));
            assert!(exchange.understand(Some(&[])).is_none(), "nothing is understood twice");
        }
        seen
    }

    /// The answers file of an exchange, on the worker's side.
    fn written(exchange: &Messages) -> Written {
        let path = exchange.folder.path().join(ANSWERS);
        Written::new(File::options().read(true).write(true).open(path).unwrap()).unwrap()
    }

    static JOB: LazyLock<Job> = LazyLock::new(|| Job::once([7], []));

    fn first() -> Vec<u8> {
        message::ready(&Ok("1.0".to_owned())).unwrap()
    }

    fn answer(message: &str) -> Vec<u8> {
        let execution = Execution::without_answer(Outcome::TimedOut, message.to_owned());
        message::write_response(&[], &execution, &mut Arc::default(), vec![]).unwrap()
    }

    #[test]
    fn messages_of_any_size_are_read_as_they_are_written() {
        let long = "x".repeat(3 * USUAL);
        let garbage = message::write_words("hello", vec![]).unwrap();
        let seen = understood(&[first(), answer("a"), answer(&long), garbage, answer("b"), vec![255]]);
        assert_eq!(seen[..5], ["Ok(\"1.0\")", "a", &long, "garbage hello", "b"]);
        assert!(seen[5].starts_with("garbage ") && seen[5].ends_with(", and lost") && seen.len() == 6, "{:?}", seen[5]);
        assert!(understood(&[vec![9, 9, 9, 9, 0]])[0].contains("install it again"));
    }

    #[test]
    fn a_batch_takes_the_place_of_the_one_before() {
        let mut exchange = Messages::new().unwrap();
        let mut written = written(&exchange);
        let (mut input, end) = io::pipe().unwrap();
        exchange.input = Some(Box::new(end));
        for message in [first(), answer(&"x".repeat(5 * USUAL))] {
            written.add(&message).unwrap();
        }
        assert!(exchange.read().unwrap());
        assert!(matches!(exchange.understand(None), Some(Next::Ready(Ok(_)))));
        exchange.ask(&[&JOB, &JOB]).unwrap();
        let mut sent = [0; 16];
        input.read_exact(&mut sent).unwrap();
        assert_eq!(sent[..], [2_u64.to_le_bytes(), 12_u64.to_le_bytes()].concat());
        assert!(!exchange.read().unwrap(), "what was answered before is no answer to this");
        assert!(exchange.understand(Some(&[])).is_none());
        written.begin().unwrap();
        written.add(&answer("a")).unwrap();
        assert!(exchange.read().unwrap());
        assert!(matches!(exchange.understand(Some(&[])), Some(Next::Execution(_))));
        assert_eq!(exchange.answers.metadata().unwrap().len(), USUAL as u64);
    }

    #[test]
    fn no_bytes_are_too_much_for_it() {
        arbtest::arbtest(|u| {
            let bytes: Vec<u8> = u.arbitrary()?;
            understood(&[first(), bytes.clone()]);
            assert!(message(&bytes).is_none_or(|message| message.len() < bytes.len()));
            Ok(())
        });
    }
}
