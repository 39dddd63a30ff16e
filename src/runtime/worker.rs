//! A runtime in a worker: this program again, or that of another version, started with the row that it is to open.
//!
//! Batches of jobs are put into a file, whose length goes to the worker's standard input. The result of a job is put into
//! another file as soon as it is done: it is safe there whatever the next job does, and nobody is woken for it. At the end of
//! a batch a byte on standard error says that there is something to read. Both files are in memory and are written over by
//! the next batch. The worker reads jobs where they are; the program maps neither file, since memory may be full and whatever
//! runs in the worker may cut its file. Standard output is nobody's but the runtime's: whatever comes there is held against
//! the job under way.

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

/// The subcommand that serves as a worker; its arguments are a row as JSON, and the folder of the files.
pub const COMMAND: &str = "worker";

/// The files in the folder of a worker.
const JOBS: &str = "jobs";
const ANSWERS: &str = "answers";
const OUTPUT: &str = "output";

/// What the file of answers begins with: how far it is written, as a `u64` of the machine.
const BEGINNING: usize = size_of::<u64>();
/// How large the files stay from batch to batch, in bytes.
const USUAL: usize = 1 << 22;
/// How much is stored of what a runtime writes to standard output, in characters.
const WORDS: usize = 10_000;
/// How much of a batch is written at a time, in bytes: so little that it is still at hand when it is copied.
const PIECE: usize = 1 << 16;

/// Says to mimalloc whether memory may come in huge pages. To clear them takes longer than all else in the start of a worker,
/// which fills few of them.
const HUGE_PAGES: &str = "MIMALLOC_ALLOW_THP";

/// Where files are in memory, on Linux.
const MEMORY: &str = "/dev/shm";
/// How much has to be free there, in bytes: a container may have little.
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
            // Here, so that it is fetched once for all workers.
            State::ToBeProvisioned => {
                kind.provision(&row.id.version).map_err(|error| error.to_string())?;
            }
            State::NotAvailable(why) => return Err(why),
        }
        let own = kind.place(&row.id.version).map_err(|error| error.to_string())?;
        let program = match own.filter(|_| kind.has_worker(&row.id.version)) {
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

/// The messages that a worker writes to a file, and the jobs that it reads from another.
struct Messages {
    folder: TempDir,
    /// The standard input of the worker.
    input: Option<Box<dyn Write>>,
    jobs: File,
    answers: File,
    output: File,
    /// What is yet to be written of a batch: empty between batches, and used again for the next one.
    piece: Vec<u8>,
    /// What was read of the answers, how far it was understood, and where in the file it ends.
    answered: Vec<u8>,
    understood: usize,
    read: u64,
    /// What was declared with the last answer.
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

    /// Reads what the worker added. Gives back whether there was anything.
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

    /// The next message, if it was read as a whole: the first, or one on a run that is fed this.
    fn understand(&mut self, feeds: Option<&[Tensor]>) -> Option<Next> {
        let message = message(&self.answered[self.understood..])?;
        self.understood += LENGTH + message.len();
        let Some(feeds) = feeds.filter(|_| !self.is_first) else {
            self.is_first = false;
            // Both sides have the files open: nothing stays behind, however they end.
            _ = std::fs::remove_dir_all(self.folder.path());
            return Some(Next::Ready(message::read_ready(message)));
        };
        Some(match message::read_response(feeds, message, &mut self.declared) {
            Ok(Some(execution)) => Next::Execution(execution),
            Ok(None) => Next::NoMore,
            // What follows a message that cannot be read may depend on it.
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

    /// Whatever was answered before was read: both files are written anew.
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
            // A pipe has room for it, since the worker read what was sent before. If it has ended, the first answer says so.
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
            // The worker of another version of this program knows nothing of the file.
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

/// Whether files of any size that a job makes have room there.
#[cfg(target_os = "linux")]
fn has_room(folder: &Path) -> bool {
    let found = nix::sys::statvfs::statvfs(folder);
    found.is_ok_and(|found| found.blocks_available() * found.fragment_size() >= ROOM)
}

#[cfg(not(target_os = "linux"))]
fn has_room(_: &Path) -> bool {
    false
}

/// What stands before every message: how long it is, in bytes, as a `u32`.
const LENGTH: usize = size_of::<u32>();

/// The first message among bytes, if it is there as a whole.
fn message(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH>()?;
    rest.get(..u32::from_le_bytes(*length) as usize)
}

/// Serves as the worker of a row of one of the kinds that this program is built with.
///
/// # Errors
/// If standard input or a file in the folder fails.
pub fn serve(row: &str, folder: &Path) -> io::Result<()> {
    serve_with(row, folder, |row| (row.kind()?.open)(row))
}

/// The whole of a program that is the worker of one kind, at one version.
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
    // SAFETY: the program writes to it before it asks, and not again until all is answered; this process cannot.
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
            // SAFETY: as where it is opened.
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

/// What was written to a file since it was so long.
fn words(file: &mut File, length: &mut u64) -> io::Result<String> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(*length))?;
    *length += file.read_to_end(&mut text)? as u64;
    Ok(cut(&String::from_utf8_lossy(&text), WORDS))
}

/// The file of answers as the worker sees it. What is written is there for others even if this process ends at once.
struct Written {
    file: File,
    map: MmapMut,
    end: usize,
}

impl Written {
    fn new(file: File) -> io::Result<Written> {
        // SAFETY: nobody but this process can make the file shorter, and nobody keeps a reference into it.
        let map = unsafe { MmapMut::map_mut(&file)? };
        Ok(Written { file, map, end: BEGINNING })
    }

    /// Begins anew.
    fn begin(&mut self) -> io::Result<()> {
        self.end = BEGINNING;
        if self.map.len() > USUAL { self.resize(USUAL) } else { Ok(()) }
    }

    /// Adds a message, which is there as a whole or not at all.
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
        // SAFETY: the file begins with a u64, a map begins at a page, and it is written here alone while a batch is run.
        let written = unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().cast()) };
        written.store(end as u64, Ordering::Release);
        Ok(())
    }

    fn resize(&mut self, length: usize) -> io::Result<()> {
        self.file.set_len(length as u64)?;
        // SAFETY: as where it is opened.
        self.map = unsafe { MmapMut::map_mut(&self.file)? };
        Ok(())
    }
}

fn notify() -> io::Result<()> {
    io::stderr().write_all(&[NOTICE])
}

/// A worker whose parent was killed while a job never ends would stay for ever.
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

    /// What the program understands of what a worker writes, message by message.
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

    /// The answers of an exchange as its worker sees them.
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
