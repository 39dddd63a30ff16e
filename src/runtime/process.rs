//! A runtime in a process of its own, so that a crash, a hang or memory without end is an outcome of the job that caused it.
//!
//! Jobs are sent in batches and answered one by one, in order: when a process ends, the jobs that it answered are done, the
//! next one is the culprit if it ends a new process too, and another new one does the rest. No job that was answered is run twice.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System};

use super::{Execution, Gap, OpenError, Outcome, Row, Runtime, RuntimeId};
use crate::model::Job;

/// What a runtime may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For one job. One whose process waits for the machine is given up to [`PATIENCE`] times as long.
    pub time: Duration,
    /// Of its whole process, in bytes.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { time: Duration::from_secs(2), memory: 4 << 30 }
    }
}

/// How many times the limit a job may take that has not had the processor for as long as the limit: a busy machine is no
/// hang of a runtime.
const PATIENCE: u32 = 30;
/// How long a runtime may take to open.
const READY: Duration = Duration::from_mins(2);
/// How often a job that takes long is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How often a process that cannot be started is tried again.
const TRIES: u32 = 3;
/// What a process says on standard error, among its words, when there are answers.
pub(super) const NOTICE: u8 = 0;
/// How much of what a process says on standard error is kept: its last words.
const WORDS: usize = 2000;

/// How a process is spoken with.
pub(super) trait Protocol {
    /// What to start. Its standard input is a pipe, and its standard error too.
    fn command(&self, row: &Row) -> Result<Command, String>;

    /// What is to pass between it and this program.
    fn exchange(&self) -> io::Result<Box<dyn Exchange>>;
}

/// What a process is asked, and what it answers.
pub(super) trait Exchange {
    /// Called before the process is started: says where its standard output goes, and whatever it has to know.
    fn start(&mut self, command: &mut Command) -> io::Result<()>;

    /// Called once the process runs, with its standard input, and its standard output if that is a pipe. Whatever is sent to
    /// the notices, when a NUL comes from its standard error, is a hint that there are answers.
    fn begin(&mut self, input: ChildStdin, output: Option<ChildStdout>) -> Option<SyncSender<()>>;

    /// Sends a batch of jobs, and does not wait for the process, whatever that does. Everything before it is answered.
    fn ask(&mut self, jobs: &[&Job]) -> io::Result<()>;

    /// The next answer, which is to this job, and the first to none; it is waited for so long.
    fn next(&mut self, job: Option<&Job>, wait: Duration) -> Next;
}

/// An answer, or why there is none.
pub(super) enum Next {
    /// The first: the version that the runtime says it has, or why it cannot be opened.
    Ready(Result<String, String>),
    Execution(Execution),
    /// Something that cannot be read. Whether what follows can be read is in `lost`.
    Garbage {
        what: String,
        lost: bool,
    },
    /// Nothing yet. Jobs may have been done all the same, whose answers are still to come.
    Nothing {
        progress: bool,
    },
    /// Nothing more: the process has ended, or closed its end.
    End,
}

/// A runtime whose jobs are executed in another process.
pub(super) struct Isolated {
    row: Row,
    protocol: &'static (dyn Protocol + Sync),
    limits: Limits,
    process: Option<Process>,
}

struct Process {
    child: Child,
    exchange: Box<dyn Exchange>,
    /// The last words on standard error.
    words: Arc<Mutex<VecDeque<u8>>>,
}

impl Isolated {
    /// Starts the process of a row, and does not wait for it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start(
        row: &Row,
        protocol: &'static (dyn Protocol + Sync),
        limits: Limits,
    ) -> Result<Isolated, OpenError> {
        let process = Process::start(row, protocol)?;
        Ok(Isolated { row: row.clone(), protocol, limits, process: Some(process) })
    }

    /// Waits until the runtime is open. From then on it is known by the version that it says it has.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(super) fn ready(mut self) -> Result<Isolated, OpenError> {
        if let Some(process) = &mut self.process {
            self.row.id.version = process.ready(&self.row)?;
        }
        Ok(self)
    }

    /// What comes of a job that seemed to end its process, once it is alone in a new one. A job before it may have broken
    /// something, or the machine may have been busy: no job is accused of what it does not do by itself.
    fn confirmed(&mut self, job: &Job, culprit: Execution) -> Execution {
        let Ok(mut process) = self.process() else { return culprit };
        let mut done = Vec::new();
        if let Some(again) = process.run(&[job], self.limits, &mut done) {
            return again;
        }
        self.process = Some(process);
        let what = culprit.message.lines().next().unwrap_or_default();
        eprintln!(
            "{} failed ({what}) at a job that does not make it fail by itself: one before it may have, or the machine was \
             busy",
            self.row.id
        );
        done.pop().unwrap_or(culprit)
    }

    /// A process that is ready: the one there is, or a new one.
    fn process(&mut self) -> Result<Process, OpenError> {
        if let Some(process) = self.process.take() {
            return Ok(process);
        }
        let start = || {
            let mut process = Process::start(&self.row, self.protocol)?;
            process.ready(&self.row)?;
            Ok(process)
        };
        let mut started = start();
        for tried in 1..TRIES {
            if started.is_ok() {
                break;
            }
            thread::sleep(Duration::from_secs(1) * tried);
            started = start();
        }
        started
    }
}

impl Runtime for Isolated {
    fn id(&self) -> &RuntimeId {
        &self.row.id
    }

    fn execute(&mut self, job: &Job) -> Execution {
        self.execute_all(&[job]).remove(0)
    }

    fn execute_all(&mut self, jobs: &[&Job]) -> Vec<Execution> {
        let mut done = Vec::with_capacity(jobs.len());
        while done.len() < jobs.len() {
            match self.process() {
                Ok(mut process) => match process.run(&jobs[done.len()..], self.limits, &mut done) {
                    None => self.process = Some(process),
                    Some(culprit) => {
                        drop(process);
                        done.push(self.confirmed(jobs[done.len()], culprit));
                    }
                },
                // It worked before, so this is the machine's fault and not the runtime's.
                Err(error) => {
                    let lacking = Execution::without_answer(Outcome::Unsupported(Gap::Process), error.to_string());
                    done.resize(jobs.len(), lacking);
                }
            }
        }
        done
    }
}

impl Process {
    fn start(row: &Row, protocol: &dyn Protocol) -> Result<Process, OpenError> {
        let failed = |reason: String| OpenError::new(&row.id, reason);
        let pipes = |error: io::Error| failed(format!("its process cannot be spoken with: {error}"));
        let mut command = protocol.command(row).map_err(failed)?;
        let mut exchange = protocol.exchange().map_err(pipes)?;
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        exchange.start(&mut command).map_err(pipes)?;
        apart_from_the_terminal(&mut command);
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().map_err(|error| failed(format!("`{program}` cannot be started: {error}")))?;
        let (Some(input), Some(errors)) = (child.stdin.take(), child.stderr.take()) else {
            return Err(failed("its process has no pipes".to_owned()));
        };
        let notices = exchange.begin(input, child.stdout.take());
        let words = Arc::new(Mutex::new(VecDeque::new()));
        let heard = Arc::clone(&words);
        thread::spawn(move || listen(errors, &heard, notices.as_ref()));
        Ok(Process { child, exchange, words })
    }

    /// Waits for the first message.
    fn ready(&mut self, row: &Row) -> Result<String, OpenError> {
        let began = Instant::now();
        let reason = loop {
            break match self.exchange.next(None, LOOK) {
                Next::Ready(Ok(version)) => return Ok(version),
                Next::Ready(Err(reason)) => reason,
                Next::Garbage { what, .. } => format!("its first message cannot be read: {what}"),
                Next::Execution(_) => "it answers before it is asked".to_owned(),
                Next::Nothing { .. } if began.elapsed() < READY => continue,
                Next::Nothing { .. } => format!("it is not ready after {READY:?}"),
                Next::End => format!("it ended before it was ready: {}", self.end().1),
            };
        };
        Err(OpenError::new(&row.id, reason))
    }

    /// Runs jobs. What came of a job that ended the process is given back; the jobs before it are done.
    fn run(&mut self, jobs: &[&Job], limits: Limits, done: &mut Vec<Execution>) -> Option<Execution> {
        if let Err(error) = self.exchange.ask(jobs) {
            // The machine's fault: no job of a case is too large to be written.
            return Some(Execution::without_answer(Outcome::Unsupported(Gap::Process), error.to_string()));
        }
        for job in jobs {
            match self.next(job, limits) {
                Ok(execution) => done.push(execution),
                Err(culprit) => return Some(culprit),
            }
        }
        None
    }

    /// What came of the job under way; an error if the process is of no use any more.
    fn next(&mut self, job: &Job, limits: Limits) -> Result<Execution, Execution> {
        let mut began = Instant::now();
        let mut spent_before = None;
        let (outcome, message) = loop {
            match self.exchange.next(Some(job), LOOK) {
                Next::Execution(execution) => return Ok(execution),
                Next::Garbage { what, lost: false } => {
                    return Ok(Execution::without_answer(Outcome::Garbled, what));
                }
                Next::Garbage { what, lost: true } => break (Outcome::Garbled, what),
                Next::Ready(_) => break (Outcome::Garbled, "it says that it is ready in mid-batch".to_owned()),
                Next::End => break self.end(),
                Next::Nothing { progress: true } => (began, spent_before) = (Instant::now(), None),
                Next::Nothing { progress: false } => {
                    let used = Used::of(self.child.id()).unwrap_or_default();
                    if used.memory > limits.memory {
                        let mib = 1 << 20;
                        let message = format!("{} MiB of at most {}", used.memory / mib, limits.memory / mib);
                        break (Outcome::OutOfMemory, message);
                    }
                    let spent = used.time.saturating_sub(*spent_before.get_or_insert(used.time));
                    if is_over(limits.time, began.elapsed(), used.waits.then_some(spent)) {
                        break (Outcome::TimedOut, format!("no answer within {:?}", limits.time));
                    }
                }
            }
        };
        Err(Execution::without_answer(outcome, message))
    }

    /// How the process ended, with its last words.
    fn end(&mut self) -> (Outcome, String) {
        // It may have closed its pipe without an end.
        let status = self.child.try_wait().ok().flatten().or_else(|| {
            thread::sleep(LOOK);
            let _ = self.child.kill();
            self.child.wait().ok()
        });
        // Its last words may still be on their way.
        thread::sleep(LOOK);
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect::<Vec<u8>>();
        let words = String::from_utf8_lossy(&words).trim().to_owned();
        let mut message = status.map_or_else(|| "it ended".to_owned(), |status| status.to_string());
        if !words.is_empty() {
            message = format!("{message}: {words}");
        }
        (Outcome::Crashed { signal: status.and_then(signal) }, message)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Keeps what a process says on its standard error, and passes its notices on.
fn listen(mut errors: impl Read, words: &Mutex<VecDeque<u8>>, notices: Option<&SyncSender<()>>) {
    let mut buffer = [0; 512];
    while let Ok(count @ 1..) = errors.read(&mut buffer) {
        let heard = &buffer[..count];
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.extend(heard.iter().filter(|&&byte| byte != NOTICE));
        let surplus = words.len().saturating_sub(WORDS);
        words.drain(..surplus);
        if let Some(notices) = notices.filter(|_| heard.contains(&NOTICE)) {
            // One that is still unheard says the same.
            let _ = notices.try_send(());
        }
    }
}

/// What a process takes.
#[derive(Clone, Copy, Default)]
struct Used {
    /// In bytes.
    memory: u64,
    /// Of processors, since it was started.
    time: Duration,
    /// Whether it would go on if only the machine let it.
    waits: bool,
}

impl Used {
    fn of(process: u32) -> Option<Used> {
        let pid = Pid::from_u32(process);
        let mut system = System::new();
        let what = ProcessRefreshKind::nothing().with_memory().with_cpu();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, what);
        let process = system.process(pid)?;
        let time = Duration::from_millis(process.accumulated_cpu_time());
        let waits = matches!(process.status(), ProcessStatus::Run | ProcessStatus::UninterruptibleDiskSleep);
        Some(Used { memory: process.memory(), time, waits })
    }
}

/// Whether a job has had its time: so much has passed, and the process, if it waits for the machine, has spent so much.
fn is_over(limit: Duration, passed: Duration, spent: Option<Duration>) -> bool {
    passed >= limit && (spent.is_none_or(|spent| spent >= limit) || passed >= limit * PATIENCE)
}

/// Ctrl-C is meant for this program, which ends its workers itself.
#[cfg(unix)]
fn apart_from_the_terminal(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(not(unix))]
fn apart_from_the_terminal(_: &mut Command) {}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    status.signal()
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_no_hang_and_a_hang_is_one_on_any_machine() {
        let seconds = Duration::from_secs;
        for (passed, spent, expected) in
            [(1, None, false), (2, None, true), (2, Some(2), true), (9, Some(1), false), (60, Some(1), true)]
        {
            assert_eq!(is_over(seconds(2), seconds(passed), spent.map(seconds)), expected, "{passed} {spent:?}");
        }
        let used = Used::of(std::process::id()).unwrap();
        assert!(used.memory > 1 << 20 && used.time <= seconds(3600), "{} {:?}", used.memory, used.time);
    }
}
