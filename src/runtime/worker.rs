//! A runtime in a worker: this program again, or that of another version, started with the row that it is to open.
//!
//! Batches of jobs go to its standard input. Its standard output is a file, to which what came of a job is added as soon as
//! it is done: it is safe there whatever the next job does, and nobody is woken for it. At the end of a batch a byte on
//! standard error says that there is something to read.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::Path;
use std::process::{ChildStdout, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use tempfile::NamedTempFile;

use super::process::{Answers, Chunks, Isolated, NOTICE, Next, Protocol};
use super::table::State;
use super::{Kind, Limits, OpenError, Row, Supply, provision};
use crate::model::Job;

/// The format of messages, which the first one begins with. It is raised when `Job` or `Execution` changes, since the worker
/// of another version may have been built before that.
const FORMAT: u32 = 1;

/// The subcommand that serves as a worker; its argument is a row as JSON.
pub const COMMAND: &str = "worker";

/// How long the allocator of this program keeps free memory to itself, in milliseconds; -1 is for ever.
const PURGE_DELAY: &str = "MIMALLOC_PURGE_DELAY";

struct Frames;

/// Starts the worker of a row.
///
/// # Errors
/// If it cannot be started.
pub(super) fn start(row: &Row, limits: Limits) -> Result<Isolated, OpenError> {
    Isolated::start(row, &Frames, limits)
}

impl Protocol for Frames {
    fn command(&self, row: &Row) -> Result<Command, String> {
        let kind = row.kind().map_err(|error| error.to_string())?;
        match row.state() {
            State::Ready => {}
            // Here, so that it is fetched once for all workers.
            State::ToBeProvisioned => {
                provision::onnxruntime_library(&row.id.version).map_err(|error| error.to_string())?;
            }
            State::NotAvailable(why) => return Err(why),
        }
        let program = if kind.supply == Supply::Linked && row.id.version != kind.version {
            provision::worker(kind.name, &row.id.version).map_err(|error| error.to_string())?
        } else {
            std::env::current_exe().map_err(|error| format!("this program is not found: {error}"))?
        };
        let mut command = Command::new(program);
        command.arg(COMMAND).arg(serde_json::to_string(row).map_err(|error| error.to_string())?);
        if std::env::var_os(PURGE_DELAY).is_none() {
            // What a job gave back the next one takes: between them it is not given to the system.
            command.env(PURGE_DELAY, "-1");
        }
        Ok(command)
    }

    fn answers(&self) -> io::Result<Box<dyn Answers>> {
        Ok(Box::new(Messages::new()?))
    }

    fn write(&self, jobs: &[&Job], to: &mut Chunks) -> io::Result<()> {
        let count = u32::try_from(jobs.len()).map_err(io::Error::other)?;
        to.write_all(&count.to_le_bytes())?;
        jobs.iter().try_for_each(|job| send(to, job))
    }
}

/// The messages that a worker adds to a file.
struct Messages {
    /// To be added to by the worker.
    file: NamedTempFile,
    /// The same, to read from the beginning.
    reader: File,
    /// What was read and not yet understood.
    unread: Vec<u8>,
    pending: VecDeque<Next>,
    notices: Option<Receiver<()>>,
    is_first: bool,
    has_ended: bool,
}

impl Messages {
    fn new() -> io::Result<Messages> {
        let mut builder = tempfile::Builder::new();
        let file = builder.append(true);
        let file = if Path::new(MEMORY).is_dir() { file.tempfile_in(MEMORY) } else { file.tempfile() }?;
        let reader = file.reopen()?;
        let (unread, pending) = (Vec::new(), VecDeque::new());
        Ok(Messages { file, reader, unread, pending, notices: None, is_first: true, has_ended: false })
    }

    /// Reads what the worker added. Gives back whether there was anything.
    fn read(&mut self) -> io::Result<bool> {
        let read = self.reader.read_to_end(&mut self.unread)?;
        let mut understood = 0;
        while let Some((message, length)) = cut(&self.unread[understood..]) {
            understood += length;
            let next = match message {
                Err(what) => Next::Garbage { what, lost: false },
                Ok(bytes) if std::mem::take(&mut self.is_first) => Next::Ready(ready(bytes)),
                Ok(bytes) => match postcard::from_bytes(bytes) {
                    Ok(execution) => Next::Execution(execution),
                    Err(error) => Next::Garbage { what: error.to_string(), lost: false },
                },
            };
            self.pending.push_back(next);
        }
        self.unread.drain(..understood);
        Ok(read > 0)
    }
}

impl Answers for Messages {
    fn output(&mut self) -> io::Result<Stdio> {
        Ok(self.file.as_file().try_clone()?.into())
    }

    fn listen(&mut self, _: Option<ChildStdout>) -> Option<SyncSender<()>> {
        let (send, notices) = sync_channel(1);
        self.notices = Some(notices);
        Some(send)
    }

    /// Empties the file: everything in it was understood.
    fn begin(&mut self) -> io::Result<()> {
        self.file.as_file().set_len(0)?;
        self.reader.rewind()
    }

    fn next(&mut self, wait: Duration) -> Next {
        if let Some(next) = self.pending.pop_front() {
            return next;
        }
        if self.has_ended {
            return Next::End;
        }
        let notice = self.notices.as_ref().map(|notices| notices.recv_timeout(wait));
        self.has_ended = matches!(notice, None | Some(Err(RecvTimeoutError::Disconnected)));
        match self.read() {
            Ok(progress) => {
                self.pending.pop_front().unwrap_or(if self.has_ended { Next::End } else { Next::Nothing { progress } })
            }
            Err(error) => Next::Garbage { what: error.to_string(), lost: true },
        }
    }
}

/// Where files are kept in memory, on Linux.
const MEMORY: &str = "/dev/shm";

/// What stands before every message, so that whatever else a runtime writes to standard output is told from it, and is held
/// against the job that wrote it.
const MARK: [u8; 8] = *b"\x00\xf5msg\xf5\x00\xff";

/// The first message among bytes, if it is there as a whole, and where it ends; an error is what stands in its place.
fn cut(bytes: &[u8]) -> Option<(Result<&[u8], String>, usize)> {
    let place = bytes.windows(MARK.len()).position(|window| window == MARK)?;
    let (length, rest) = bytes[place + MARK.len()..].split_at_checked(4)?;
    let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
    let message = rest.get(..length)?;
    let before = String::from_utf8_lossy(&bytes[..place]);
    let found = if place == 0 { Ok(message) } else { Err(before.trim().chars().take(200).collect()) };
    Some((found, bytes.len() - rest.len() + length))
}

/// The first message: the format of all others, and the version of the runtime or why it cannot be opened.
fn ready(bytes: &[u8]) -> Result<String, String> {
    match bytes.split_at_checked(4) {
        Some((format, rest)) if format == FORMAT.to_le_bytes() => {
            postcard::from_bytes::<Result<String, String>>(rest).map_err(|error| error.to_string()).flatten()
        }
        _ => Err("its worker was built for another version of this program: install it again".to_owned()),
    }
}

/// Serves as the worker of a row of one of the kinds that this program is built with.
///
/// # Errors
/// If standard input or output fails.
pub fn serve(row: &str) -> io::Result<()> {
    serve_with(row, |row| (row.kind()?.open)(row))
}

/// The whole of a program that is the worker of one kind, at one version.
pub fn main(kind: &Kind) -> ExitCode {
    super::take_no_back_traces();
    let row = std::env::args().nth(2).unwrap_or_default();
    let served = serve_with(&row, |row| {
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

fn serve_with(row: &str, open: impl Fn(&Row) -> Result<Box<dyn super::Runtime>, OpenError>) -> io::Result<()> {
    let row: Row = serde_json::from_str(row).map_err(io::Error::other)?;
    end_with_the_parent();
    let opened = open(&row);
    let version = match &opened {
        Ok(runtime) => Ok(runtime.id().version.clone()),
        Err(OpenError::Runtime { reason, .. } | OpenError::Table { reason, .. }) => Err(reason.clone()),
    };
    let mut first = FORMAT.to_le_bytes().to_vec();
    first.extend(postcard::to_stdvec(&version).map_err(io::Error::other)?);
    let mut output = output()?;
    answer(&mut output, &first)?;
    notify()?;
    let Ok(mut runtime) = opened else { return Ok(()) };
    // As much at a time as a pipe holds, so that the two ends seldom wait for each other.
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    loop {
        let mut count = [0; 4];
        match input.read_exact(&mut count) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        for _ in 0..u32::from_le_bytes(count) {
            let job: Job = receive(&mut input)?;
            answer(&mut output, &postcard::to_stdvec(&runtime.execute(&job)).map_err(io::Error::other)?)?;
        }
        notify()?;
    }
}

/// Adds a message to standard output, at once.
fn answer(output: &mut File, message: &[u8]) -> io::Result<()> {
    let length = u32::try_from(message.len()).map_err(io::Error::other)?;
    output.write_all(&[&MARK, &length.to_le_bytes()[..], message].concat())
}

/// Standard output as the file that it is, without a buffer.
#[cfg(unix)]
fn output() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

#[cfg(windows)]
fn output() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(io::stdout().as_handle().try_clone_to_owned()?.into())
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

fn send(to: &mut impl Write, job: &Job) -> io::Result<()> {
    let bytes = postcard::to_stdvec(job).map_err(io::Error::other)?;
    to.write_all(&u32::try_from(bytes.len()).map_err(io::Error::other)?.to_le_bytes())?;
    to.write_all(&bytes)
}

fn receive(from: &mut impl Read) -> io::Result<Job> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
    from.read_exact(&mut bytes)?;
    postcard::from_bytes(&bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Generated, Generator};
    use crate::model;
    use crate::runtime::Execution;
    use crate::runtime::liar;

    #[test]
    fn jobs_and_what_comes_of_them_survive_the_pipe() {
        let generator = Generator::default();
        let mut honest = liar::honest().unwrap();
        for index in 0..300 {
            let Generated { case, tensors, .. } = generator.case(2, index);
            let job = model::job(&case, &tensors);
            let mut pipe = Vec::new();
            send(&mut pipe, &job).unwrap();
            let read = receive(&mut pipe.as_slice()).unwrap();
            assert_eq!((&read.model, &read.feeds), (&job.model, &job.feeds));
            let execution = honest.execute(&job);
            let read: Execution = postcard::from_bytes(&postcard::to_stdvec(&execution).unwrap()).unwrap();
            assert_eq!((&read.outcome, &read.declared), (&execution.outcome, &execution.declared), "{case}");
        }
    }

    /// What a worker writes, as far as it is understood.
    fn understood(written: &[u8]) -> Vec<String> {
        let mut messages = Messages::new().unwrap();
        messages.file.write_all(written).unwrap();
        let mut seen = Vec::new();
        loop {
            seen.push(match messages.next(Duration::ZERO) {
                Next::Ready(ready) => format!("{ready:?}"),
                Next::Execution(execution) => execution.message,
                Next::Garbage { what, .. } => format!("garbage {what}"),
                Next::Nothing { .. } | Next::End => return seen,
            });
        }
    }

    fn message(bytes: &[u8]) -> Vec<u8> {
        [&MARK, &u32::try_from(bytes.len()).unwrap().to_le_bytes()[..], bytes].concat()
    }

    #[test]
    fn garbage_among_messages_is_held_against_the_job_that_wrote_it() {
        let first =
            message(&[&FORMAT.to_le_bytes()[..], &postcard::to_stdvec(&Ok::<_, String>("1.0")).unwrap()].concat());
        let job = |name: &str| {
            let execution = Execution::without_answer(super::super::Outcome::TimedOut, name.to_owned());
            message(&postcard::to_stdvec(&execution).unwrap())
        };
        let written =
            [&first[..], &job("a"), b"hello\n", &job("b"), &job("c"), &message(b"\xff"), &job("d")[..9]].concat();
        let seen = understood(&written);
        assert_eq!(seen[..4], ["Ok(\"1.0\")", "a", "garbage hello", "c"]);
        assert!(seen[4].starts_with("garbage ") && seen.len() == 5, "{seen:?}");
        let older = message(&[9, 9, 9, 9, 0]);
        assert!(understood(&older)[0].contains("install it again"));
    }

    #[test]
    fn no_bytes_are_too_much_for_it() {
        arbtest::arbtest(|u| {
            let bytes: Vec<u8> = u.arbitrary()?;
            understood(&[&message(&bytes)[..], &bytes].concat());
            Ok(())
        });
    }

    /// If this fails, raise `FORMAT`.
    #[test]
    fn the_format_of_messages_is_as_it_was() {
        use crate::runtime::{Declaration, Gap, Outcome, Output, Reason, Stage};
        use crate::tensor::Tensor;
        let job = Job { model: vec![7, 8], feeds: vec![("x".to_owned(), Tensor::vector(&[1]))] };
        let declared = vec![Declaration { element_type: None, dims: Some(vec![None, Some(2)]) }];
        let mut bytes = Vec::new();
        send(&mut bytes, &job).unwrap();
        let answer = Execution::answer(vec![Output::new(Tensor::vector(&[2]))], declared);
        bytes.extend(postcard::to_stdvec(&answer).unwrap());
        for outcome in [
            Outcome::Refused { stage: Stage::Run, reason: Reason::Unstated },
            Outcome::Unsupported(Gap::Process),
            Outcome::Unclassified { stage: Stage::Load },
        ] {
            bytes.extend(postcard::to_stdvec(&Execution::without_answer(outcome, String::new())).unwrap());
        }
        assert_eq!(FORMAT, 1);
        let expected: [&[u8]; 4] = [
            &[19, 0, 0, 0, 2, 7, 8, 1, 1, 120, 8, 1, 2, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0, 1, 8, 1, 2, 8, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 2, 0, 1, 4],
            &[1, 1, 10, 0, 0],
            &[2, 6, 0, 0, 8, 0, 0, 0],
        ];
        assert_eq!(bytes, expected.concat());
    }
}
