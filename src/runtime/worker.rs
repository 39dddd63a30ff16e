//! A runtime in a process of its own, so that a crash or a hang is an outcome of the job that caused it.
//!
//! The worker is this program again. Jobs go to its standard input and what came of them comes from its standard output,
//! each as a length of 4 bytes and so many bytes; the first message says that it is ready.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Execution, OpenError, Outcome, Runtime, RuntimeId, open, select};
use crate::model::Job;

/// The longest message that is read: more than any case makes.
const MAX_MESSAGE: u32 = 1 << 30;
/// How long a runtime may take to open.
const READY: Duration = Duration::from_mins(2);

/// The subcommand that serves as a worker; its argument is the name of a runtime.
pub const COMMAND: &str = "worker";

/// A runtime that executes its jobs in a worker.
struct Isolated {
    id: RuntimeId,
    /// How long a job may take.
    limit: Duration,
    worker: Option<Worker>,
}

struct Worker {
    child: Child,
    jobs: BufWriter<ChildStdin>,
    /// Messages from the worker, read on a thread of their own; it ends with the worker.
    answers: Receiver<Vec<u8>>,
}

/// Opens runtimes in processes of their own, each job of which may take so long.
///
/// # Errors
/// If a worker cannot be started, or its runtime not opened.
pub fn open_isolated(ids: &[RuntimeId], limit: Duration) -> Result<Vec<Box<dyn Runtime>>, OpenError> {
    let open = |id: &RuntimeId| {
        let worker = Some(Worker::start(id)?);
        Ok(Box::new(Isolated { id: id.clone(), limit, worker }) as Box<dyn Runtime>)
    };
    ids.iter().map(open).collect()
}

impl Runtime for Isolated {
    fn id(&self) -> &RuntimeId {
        &self.id
    }

    fn execute(&mut self, jobs: &[Job]) -> Vec<Execution> {
        jobs.iter().map(|job| self.run(job)).collect()
    }
}

impl Isolated {
    fn run(&mut self, job: &Job) -> Execution {
        let worker = match self.worker.take().map_or_else(|| Worker::start(&self.id), Ok) {
            Ok(worker) => worker,
            // It worked before, so this is what the last job left behind, or the machine is at its end.
            Err(error) => return ended(Outcome::Crashed { signal: None }, error.to_string()),
        };
        let (execution, worker) = worker.run(job, self.limit);
        self.worker = worker;
        execution
    }
}

impl Worker {
    fn start(id: &RuntimeId) -> Result<Worker, OpenError> {
        let failed = |reason: String| OpenError { runtime: id.to_string(), reason };
        let program = std::env::current_exe().map_err(|error| failed(format!("this program is not found: {error}")))?;
        let mut child = Command::new(program)
            .args([COMMAND, &id.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(format!("its process cannot be started: {error}")))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("its process has no pipes".to_owned()));
        };
        let (send, answers) = sync_channel(1);
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Ok(message) = receive(&mut output) {
                if send.send(message).is_err() {
                    break;
                }
            }
        });
        let worker = Worker { child, jobs: BufWriter::new(input), answers };
        let ready = worker.answers.recv_timeout(READY).ok().and_then(|message| decode::<Result<(), String>>(&message));
        match ready {
            Some(Ok(())) => Ok(worker),
            Some(Err(reason)) => Err(failed(reason)),
            None => Err(failed("its process ended or hung before it was ready".to_owned())),
        }
    }

    /// Runs a job; the worker is gone if the job ended it.
    fn run(mut self, job: &Job, limit: Duration) -> (Execution, Option<Worker>) {
        if let Err(error) = send(&mut self.jobs, job) {
            return (self.crashed(&error.to_string()), None);
        }
        match self.answers.recv_timeout(limit) {
            Ok(message) => match decode(&message) {
                Some(execution) => (execution, Some(self)),
                None => (ended(Outcome::Crashed { signal: None }, "it answered garbage".to_owned()), None),
            },
            Err(RecvTimeoutError::Timeout) => (ended(Outcome::TimedOut, String::new()), None),
            Err(RecvTimeoutError::Disconnected) => (self.crashed("it ended"), None),
        }
    }

    /// What became of a worker that answers no more.
    fn crashed(&mut self, why: &str) -> Execution {
        // It may have closed its pipe without an end.
        let _ = self.child.kill();
        let status = self.child.wait().ok();
        let signal = status.and_then(signal);
        let message = status.map_or_else(|| why.to_owned(), |status| format!("{why}: {status}"));
        ended(Outcome::Crashed { signal }, message)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ended(outcome: Outcome, message: String) -> Execution {
    Execution { outcome, message, declared: None }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    status.signal()
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// Serves as the worker of a runtime until its standard input ends.
///
/// # Errors
/// If standard input or output fails.
pub fn serve(name: &str) -> io::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    let opened = select(Some(name)).and_then(|ids| open(&ids[..1]));
    let mut runtimes = match opened {
        Ok(runtimes) => runtimes,
        Err(error) => return send(&mut output, &Err::<(), String>(error.reason)),
    };
    send(&mut output, &Ok::<(), String>(()))?;
    let mut input = BufReader::new(io::stdin().lock());
    loop {
        let message = match receive(&mut input) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            message => message?,
        };
        let job: Job = decode(&message).ok_or_else(|| io::Error::other("a job that cannot be read"))?;
        let execution = runtimes.iter_mut().flat_map(|runtime| runtime.execute(std::slice::from_ref(&job))).next();
        send(&mut output, &execution.ok_or_else(|| io::Error::other("a job without an outcome"))?)?;
    }
}

fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let bytes = postcard::to_stdvec(message).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&bytes)?;
    to.flush()
}

fn receive(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > MAX_MESSAGE {
        return Err(io::Error::other("a message that is too long"));
    }
    // Memory is taken as the bytes come, not as they are announced.
    let mut bytes = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut bytes)?;
    if bytes.len() == length as usize { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Generated, Generator};
    use crate::model;
    use crate::runtime::liar;

    #[test]
    fn jobs_and_what_comes_of_them_survive_the_pipe() {
        let generator = Generator::default();
        let mut honest = liar::honest().unwrap();
        for index in 0..300 {
            let Generated { case, tensors, .. } = generator.case(2, index);
            let job = model::job(&case, &tensors);
            let execution = honest.execute(std::slice::from_ref(&job)).remove(0);
            let mut pipe = Vec::new();
            send(&mut pipe, &job).unwrap();
            send(&mut pipe, &execution).unwrap();
            let mut pipe = pipe.as_slice();
            let read: Job = decode(&receive(&mut pipe).unwrap()).unwrap();
            assert_eq!((&read.model, &read.feeds), (&job.model, &job.feeds));
            let read: Execution = decode(&receive(&mut pipe).unwrap()).unwrap();
            assert_eq!((&read.outcome, &read.declared), (&execution.outcome, &execution.declared), "{case}");
        }
    }

    #[test]
    fn garbage_in_the_pipe_is_an_error() {
        arbtest::arbtest(|u| {
            let bytes: Vec<u8> = u.arbitrary()?;
            if let Ok(message) = receive(&mut bytes.as_slice()) {
                let _: Option<Execution> = decode(&message);
            }
            let _: Option<Job> = decode(&bytes);
            Ok(())
        });
        assert!(receive(&mut [0xff, 0xff, 0xff, 0xff, 1].as_slice()).is_err());
    }
}
