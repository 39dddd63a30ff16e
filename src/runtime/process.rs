//! A runtime in a process of its own, so that a crash, a hang or endless use of memory is an outcome of the job that caused it.
//!
//! Jobs are sent in batches and answered one by one, in order. A batch ends with the first job that ends the process. The outcome
//! of that job is only a suspicion, and costs little time. [`Runtime::execute`] gives the proof: it runs the job alone in a new
//! process, with its full time.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System};

use super::{Execution, Gap, OpenError, Outcome, Row, Runtime, RuntimeId, Stop};
use crate::model::{Job, Serialized};
use crate::tensor::{Elements, Tensor};

/// The limits of a runtime in a process of its own, and the request to stop.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The time for one run of a job. A run with a large model or large feeds gets more, see `Limits::time_for`. A run whose
    /// process waits for the machine gets up to `PATIENCE` times as long.
    pub time: Duration,
    /// The memory of the whole process, in bytes, beside the memory for the models and feeds of a batch.
    pub memory: u64,
    /// When jobs in progress are given up.
    pub stop: Stop,
    /// The `crosscheck` program, which workers run; `None` if this process runs it.
    program: Option<PathBuf>,
    /// Failures that were proven. Such a job is not run again: it would take as long each time.
    proven: Proven,
    /// The runtimes of which it was said that they failed at a job that is not the cause.
    doubted: Arc<Mutex<HashSet<RuntimeId>>>,
}

/// The executions of jobs that ran alone in a new process and ended it, by runtime and job.
type Proven = Arc<Mutex<HashMap<(RuntimeId, Job), Vec<Execution>>>>;

impl Limits {
    /// Limits without a request to stop.
    pub fn new(time: Duration, memory: u64) -> Limits {
        Limits {
            time,
            memory,
            stop: Stop::default(),
            program: None,
            proven: Proven::default(),
            doubted: Arc::default(),
        }
    }

    /// The same limits for a process that is not `crosscheck` itself, with the path of that program.
    #[must_use]
    pub fn with_program(&self, program: &Path) -> Limits {
        Limits { program: Some(program.to_owned()), ..self.clone() }
    }

    /// The program that workers run.
    pub(super) fn program(&self) -> io::Result<PathBuf> {
        if let Some(program) = &self.program {
            return Ok(program.clone());
        }
        // A build may have replaced or removed this program's file. Linux still has the program that runs.
        let has_still = Path::new("/proc/self/exe");
        let own = std::env::current_exe()?;
        Ok(if !own.exists() && has_still.exists() { has_still.to_owned() } else { own })
    }

    /// The same limits with another stop.
    #[must_use]
    pub fn until(&self, stop: &Stop) -> Limits {
        Limits { stop: stop.clone(), ..self.clone() }
    }

    /// The time for a run: `time`, and more for a large model or large feeds, in steps of a tenth of a second.
    fn time_for(time: Duration, model: &Serialized, feeds: &[Tensor]) -> Duration {
        time + Duration::from_secs_f64((weight(model, feeds) / BYTES_A_SECOND * 10.0).floor() / 10.0)
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::new(Duration::from_secs(2), 4 << 30)
    }
}

/// The least rate at which a runtime must handle a model and its feeds, in bytes per second; it is slow.
const BYTES_A_SECOND: f64 = 67_108_864.0;
/// How many copies of a model and its feeds a process may hold: as sent, decoded, in a tensor of its own, as output and as
/// answer.
const COPIES: f64 = 6.0;
/// The memory of a string beside its text, in bytes.
const STRING: usize = 48;

/// The size of a model and its feeds, in bytes of memory.
#[expect(clippy::cast_precision_loss, reason = "no limit is exact to the byte")]
fn weight(model: &Serialized, feeds: &[Tensor]) -> f64 {
    let of = |tensor: &Tensor| match tensor.elements() {
        Elements::Packed(bytes) => bytes.len(),
        Elements::Strings(strings) => strings.parts().0.len() + strings.len() * STRING,
    };
    (model.size() + feeds.iter().map(of).sum::<usize>() as u64) as f64
}

/// A job may take this many times its limit if it has not used the processor for as long as the limit: a busy machine is no hang
/// of a runtime.
const PATIENCE: u32 = 30;
/// How long a runtime may take to open.
const READY: Duration = Duration::from_mins(2);
/// A job of a batch gets its time divided by this. A job that takes longer is executed again alone.
const BATCH_PART: u32 = 16;
/// The interval between checks of a job that takes long.
const LOOK: Duration = Duration::from_millis(20);
/// How many attempts are made to start a process.
const TRIES: u32 = 3;
/// The byte that a process writes to standard error, among its text, when there are answers.
pub(super) const NOTICE: u8 = 0;
/// How many bytes of a process's standard error are stored: the last ones.
const WORDS: usize = 2000;

/// The protocol between this program and a process.
pub(super) trait Protocol {
    /// The command to start. Its standard input and its standard error are pipes.
    fn command(&self, row: &Row, limits: &Limits) -> Result<Command, String>;

    /// A new exchange with the process.
    fn exchange(&self) -> io::Result<Box<dyn Exchange>>;
}

/// The exchange with a process: jobs and answers.
pub(super) trait Exchange {
    /// Called before the process is started: sets its standard output and adds arguments.
    fn start(&mut self, command: &mut Command) -> io::Result<()>;

    /// Called once the process runs, with its standard input, and its standard output if that is a pipe. The returned channel
    /// gets a message when a NUL comes from standard error: a hint that there are answers.
    fn begin(&mut self, input: ChildStdin, output: Option<ChildStdout>) -> Option<SyncSender<()>>;

    /// Sends a batch of jobs, and never waits for the process. All jobs before it have been answered.
    fn ask(&mut self, jobs: &[&Job]) -> io::Result<()>;

    /// The next answer, waited for no longer than `wait`. `feeds` are the feeds of the run that it answers; `None` for the first
    /// message.
    fn next(&mut self, feeds: Option<&[Tensor]>, wait: Duration) -> Next;
}

/// An answer, or why there is none.
pub(super) enum Next {
    /// The first message: the version that the runtime reports, or why it cannot be opened.
    Ready(Result<String, String>),
    Execution(Execution),
    /// The last execution holds for all further runs of its job.
    NoMore,
    /// A message that cannot be read. `lost` says whether the messages after it are lost too.
    Garbage {
        what: String,
        lost: bool,
    },
    /// No answer yet. `progress` says whether a part of one has arrived.
    Nothing {
        progress: bool,
    },
    /// No more answers: the process has ended, or closed its end.
    End,
}

/// A runtime whose jobs are executed in another process.
pub(super) struct Isolated {
    row: Row,
    protocol: &'static (dyn Protocol + Sync),
    limits: Limits,
    /// The usual time for a job of a batch.
    batch_time: Duration,
    process: Option<Process>,
    /// The failure that ended the last batch early; it is not proven.
    suspicion: Option<Execution>,
}

struct Process {
    child: Child,
    exchange: Box<dyn Exchange>,
    /// The last bytes of its standard error.
    words: Arc<Mutex<VecDeque<u8>>>,
    /// Whether it was sent jobs.
    is_used: bool,
}

/// How a batch ended.
enum Ended {
    Done,
    /// With a job that made the process unusable.
    Failed(Execution),
    /// Because it is time to stop.
    Stopped,
}

impl Isolated {
    /// Starts the process of a row, and does not wait for it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start(
        row: &Row,
        protocol: &'static (dyn Protocol + Sync),
        limits: &Limits,
    ) -> Result<Isolated, OpenError> {
        let process = Some(Process::start(row, protocol, limits)?);
        let batch_time = limits.time / BATCH_PART;
        Ok(Isolated { row: row.clone(), protocol, limits: limits.clone(), batch_time, process, suspicion: None })
    }

    /// Waits until the runtime is open. Its id then has the version that it reports.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(super) fn ready(mut self) -> Result<Isolated, OpenError> {
        if let Some(process) = &mut self.process {
            self.row.id.version = process.ready(&self.row, &self.limits)?;
        }
        Ok(self)
    }

    /// A process that is ready: the current one, or a new one.
    fn process(&mut self) -> Result<Process, OpenError> {
        if let Some(process) = self.process.take() {
            return Ok(process);
        }
        let start = || {
            let mut process = Process::start(&self.row, self.protocol, &self.limits)?;
            process.ready(&self.row, &self.limits)?;
            Ok(process)
        };
        let mut started = start();
        for tried in 1..TRIES {
            if started.is_ok() {
                break;
            }
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(1) * tried && !self.limits.stop.is_due() {
                thread::sleep(LOOK);
            }
            started = start();
        }
        started
    }

    /// Runs jobs up to the first run that makes the process unusable. `time` is the usual time of a run.
    fn run(&mut self, jobs: &[&Job], time: Duration, done: &mut Vec<Vec<Execution>>) -> Ended {
        if self.limits.stop.is_due() {
            return Ended::Stopped;
        }
        match self.process() {
            Ok(mut process) => {
                let ended = process.run(jobs, time, &self.limits, done);
                if let Ended::Done = ended {
                    self.process = Some(process);
                }
                ended
            }
            Err(_) if self.limits.stop.is_due() => Ended::Stopped,
            // The process could be started before, so this is a fault of the machine and not of the runtime.
            Err(error) => {
                done.resize(jobs.len(), vec![no_process(error.to_string())]);
                Ended::Done
            }
        }
    }

    /// Runs a job alone in a process, with its full time. An error if the job ended the process.
    fn run_alone(&mut self, job: &Job) -> Result<Vec<Execution>, Vec<Execution>> {
        let mut done = Vec::new();
        let ended = self.run(&[job], self.limits.time, &mut done);
        let mut executions = done.pop().unwrap_or_default();
        match ended {
            Ended::Failed(execution) => {
                executions.push(execution);
                Err(executions)
            }
            Ended::Done => Ok(executions),
            Ended::Stopped => {
                // The reason may be there already: the job could not be sent.
                if executions.is_empty() {
                    executions.push(no_process("it was stopped".to_owned()));
                }
                Ok(executions)
            }
        }
    }

    /// Drops the suspicion: the job did not fail when it ran alone.
    fn take_back_suspicion(&mut self) {
        match self.suspicion.take() {
            // The runtime is slow. From now on its jobs get their full time in a batch too.
            Some(Execution { outcome: Outcome::TimedOut, .. }) => self.batch_time = self.limits.time,
            Some(suspicion) => {
                let mut doubted = self.limits.doubted.lock().unwrap_or_else(PoisonError::into_inner);
                if doubted.insert(self.row.id.clone()) {
                    let what = suspicion.message.lines().next().unwrap_or_default();
                    eprintln!(
                        "{} failed ({what}) at a job that does not make it fail by itself: one before it may have, or the \
                         machine was busy. This is said once",
                        self.row.id
                    );
                }
            }
            None => {}
        }
    }
}

fn no_process(why: String) -> Execution {
    Execution::without_answer(Outcome::Unsupported(Gap::Process), why)
}

impl Runtime for Isolated {
    fn id(&self) -> &RuntimeId {
        &self.row.id
    }

    /// An earlier job may have broken something, or the machine may have been busy. So a failure only counts if the job also
    /// fails alone in a new process.
    fn execute(&mut self, job: &Job, done: &mut dyn FnMut(Execution)) {
        let proven = Arc::clone(&self.limits.proven);
        let proven = || proven.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (self.row.id.clone(), job.clone());
        let known = proven().get(&key).cloned();
        if let Some(executions) = known {
            return executions.into_iter().for_each(done);
        }
        let is_new = self.process.as_ref().is_none_or(|process| !process.is_used);
        let mut executed = self.run_alone(job);
        if let Err(failed) = &executed
            && !is_new
        {
            self.suspicion = failed.last().cloned();
            executed = self.run_alone(job);
        }
        let executions = match executed {
            Ok(executions) => {
                // Without a process there is no result of the runtime.
                if executions.iter().all(|execution| execution.outcome != Outcome::Unsupported(Gap::Process)) {
                    self.take_back_suspicion();
                }
                executions
            }
            Err(executions) => {
                proven().insert(key, executions.clone());
                executions
            }
        };
        executions.into_iter().for_each(done);
    }

    fn execute_all(&mut self, jobs: &[&Job]) -> Vec<Vec<Execution>> {
        self.suspicion = None;
        let mut done = Vec::with_capacity(jobs.len());
        if let Ended::Failed(execution) = self.run(jobs, self.batch_time, &mut done) {
            self.suspicion = Some(execution.clone());
            done.last_mut().into_iter().for_each(|executions: &mut Vec<Execution>| executions.push(execution.clone()));
        }
        done
    }

    fn peak_memory(&self) -> Option<u64> {
        peak_memory(self.process.as_ref()?.child.id())
    }
}

/// The peak memory of a process since its start, in bytes, if the system counts it.
fn peak_memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix(" kB")?;
    Some(kilobytes.parse::<u64>().ok()? << 10)
}

impl Process {
    fn start(row: &Row, protocol: &dyn Protocol, limits: &Limits) -> Result<Process, OpenError> {
        let failed = |reason: String| OpenError::new(&row.id, reason);
        let pipes = |error: io::Error| failed(format!("its process cannot be spoken with: {error}"));
        let mut command = protocol.command(row, limits).map_err(failed)?;
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
        Ok(Process { child, exchange, words, is_used: false })
    }

    /// Waits for the first message.
    fn ready(&mut self, row: &Row, limits: &Limits) -> Result<String, OpenError> {
        let began = Instant::now();
        let reason = loop {
            break match self.exchange.next(None, LOOK) {
                Next::Ready(Ok(version)) => match self.used().memory {
                    memory if memory > limits.memory => format!(
                        "its process takes {} before its first job, and the limit is {}: raise --memory-limit",
                        ByteSize(memory),
                        ByteSize(limits.memory)
                    ),
                    _ => return Ok(version),
                },
                Next::Ready(Err(reason)) => reason,
                Next::Garbage { what, .. } => format!("its first message cannot be read: {what}"),
                Next::Execution(_) | Next::NoMore => "it answers before it is asked".to_owned(),
                Next::Nothing { .. } if limits.stop.is_due() => "it was stopped before it was ready".to_owned(),
                Next::Nothing { .. } if !self.is_over(READY, began.elapsed(), Duration::ZERO) => continue,
                Next::Nothing { .. } => format!("it is not ready after {:.0?}", began.elapsed()),
                Next::End => format!("it ended before it was ready: {}", self.end().1),
            };
        };
        Err(OpenError::new(&row.id, reason))
    }

    /// Runs jobs up to the first run that makes the process unusable. `time` is the usual time of a run.
    fn run(&mut self, jobs: &[&Job], time: Duration, limits: &Limits, done: &mut Vec<Vec<Execution>>) -> Ended {
        self.is_used = true;
        if let Err(error) = self.exchange.ask(jobs) {
            // A fault of the machine: no job of a case is too large to be written.
            done.push(vec![no_process(error.to_string())]);
            return Ended::Stopped;
        }
        let memory = limits.memory.saturating_add(memory_for(jobs));
        for job in jobs {
            let mut executions = Vec::with_capacity(job.runs.len());
            let mut ended = Ended::Done;
            for feeds in &job.runs {
                let time = Limits::time_for(time, &job.model, feeds);
                match self.next(feeds, time, memory, &limits.stop) {
                    Ok(Some(execution)) => executions.push(execution),
                    Ok(None) => break,
                    Err(early) => {
                        ended = early;
                        break;
                    }
                }
            }
            if !matches!(ended, Ended::Stopped) {
                done.push(executions);
            }
            if !matches!(ended, Ended::Done) {
                return ended;
            }
        }
        Ended::Done
    }

    /// The execution of the run in progress; `None` if the execution before it holds for this run too.
    fn next(&mut self, feeds: &[Tensor], time: Duration, memory: u64, stop: &Stop) -> Result<Option<Execution>, Ended> {
        let mut began = Instant::now();
        let mut spent_before = None;
        let (outcome, message) = loop {
            match self.exchange.next(Some(feeds), LOOK) {
                Next::Execution(execution) => return Ok(Some(execution)),
                Next::NoMore => return Ok(None),
                Next::Garbage { what, lost: false } => {
                    return Ok(Some(Execution::without_answer(Outcome::Garbled, what)));
                }
                Next::Garbage { what, lost: true } => break (Outcome::Garbled, what),
                Next::Ready(_) => break (Outcome::Garbled, "it says that it is ready in mid-batch".to_owned()),
                Next::End => break self.end(),
                Next::Nothing { progress: true } => (began, spent_before) = (Instant::now(), None),
                Next::Nothing { progress: false } if stop.is_due() => return Err(Ended::Stopped),
                Next::Nothing { progress: false } => {
                    let used = self.used();
                    if used.memory > memory {
                        let (used, limit) = (ByteSize(used.memory), ByteSize(memory));
                        break (Outcome::OutOfMemory, format!("it takes {used}, and its limit is {limit}"));
                    }
                    if self.is_over(time, began.elapsed(), *spent_before.get_or_insert(used.time)) {
                        break (Outcome::TimedOut, format!("no answer within {time:?}"));
                    }
                }
            }
        };
        Err(Ended::Failed(Execution::without_answer(outcome, message)))
    }

    fn used(&self) -> Used {
        Used::of(self.child.id()).unwrap_or_default()
    }

    /// Whether a job has had its time. `passed` is the time since its start, and `spent_before` the processor time of the process
    /// before it.
    fn is_over(&self, limit: Duration, passed: Duration, spent_before: Duration) -> bool {
        let used = self.used();
        is_over(limit, passed, used.waits.then(|| used.time.saturating_sub(spent_before)))
    }

    /// How the process ended, with the last bytes of its standard error.
    fn end(&mut self) -> (Outcome, String) {
        // The process may have closed its pipe without ending.
        let status = self.child.try_wait().ok().flatten().or_else(|| {
            thread::sleep(LOOK);
            self.child.try_wait().ok().flatten().or_else(|| {
                end_group(&mut self.child);
                self.child.wait().ok()
            })
        });
        // Its last text may still be on its way.
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

/// The memory that jobs may take beyond the limit, in bytes.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no limit is exact to the byte")]
fn memory_for(jobs: &[&Job]) -> u64 {
    (jobs.iter().map(|job| weight(&job.model, &job.runs.concat())).sum::<f64>() * COPIES) as u64
}

impl Drop for Process {
    fn drop(&mut self) {
        // After the process was waited for, its number may be that of another process.
        if let Ok(None) = self.child.try_wait() {
            end_group(&mut self.child);
        }
    }
}

/// Ends a process that was not waited for, with all processes that it started.
fn end_group(child: &mut Child) {
    #[cfg(unix)]
    if let Ok(group) = i32::try_from(child.id()) {
        _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(group), nix::sys::signal::Signal::SIGKILL);
    }
    _ = child.kill();
    _ = child.wait();
}

/// Keeps the last bytes of a process's standard error, and passes its notices on.
fn listen(mut errors: impl Read, words: &Mutex<VecDeque<u8>>, notices: Option<&SyncSender<()>>) {
    let mut buffer = [0; 512];
    while let Ok(count @ 1..) = errors.read(&mut buffer) {
        let heard = &buffer[..count];
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.extend(heard.iter().filter(|&&byte| byte != NOTICE));
        let surplus = words.len().saturating_sub(WORDS);
        words.drain(..surplus);
        if let Some(notices) = notices.filter(|_| heard.contains(&NOTICE)) {
            // A notice that is still waiting says the same.
            let _ = notices.try_send(());
        }
    }
}

/// The resources that a process uses.
#[derive(Clone, Copy, Default)]
struct Used {
    /// In bytes.
    memory: u64,
    /// Processor time since its start.
    time: Duration,
    /// Whether it is ready to run or waits for the disk.
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

/// Whether a job has had its time. `spent` is its processor time, if the process waits for the machine.
fn is_over(limit: Duration, passed: Duration, spent: Option<Duration>) -> bool {
    passed >= limit && (spent.is_none_or(|spent| spent >= limit) || passed >= limit * PATIENCE)
}

/// Keeps Ctrl-C from a process: it is meant for this program, which ends its processes itself. On Linux, no process outlives this
/// program, whatever ends it.
#[cfg(unix)]
fn apart_from_the_terminal(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
    #[cfg(target_os = "linux")]
    // SAFETY: the call between fork and exec takes no lock and allocates no memory.
    unsafe {
        command.pre_exec(|| Ok(nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?));
    }
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
    fn what_is_large_has_more_time_and_memory() {
        let fed = |tensor: Tensor| Job::once([7], [("data".into(), tensor)]);
        let numbers = |count: usize| Tensor::vector(&vec![7; count]);
        let (small, large) = (fed(numbers(1000)), fed(numbers(1 << 23)));
        let usual = Duration::from_secs(2);
        let time_for = |job: &Job| Limits::time_for(usual, &job.model, &job.runs[0]);
        assert_eq!(time_for(&small), usual);
        assert_eq!(time_for(&large), usual + Duration::from_secs(1), "64 MiB");
        let (little, much) = (memory_for(&[&small]), memory_for(&[&small, &large]));
        assert!(little < 1 << 16 && much > 5 << 26, "{little} {much}");
        let long = fed(Tensor::from_strings(vec![1], [vec![b'a'; 64 << 20]].into_iter().collect()).unwrap());
        assert_eq!(time_for(&long), usual + Duration::from_secs(1), "64 MiB of text");
    }

    #[test]
    fn a_busy_machine_is_no_hang_and_a_hang_is_one_on_any_machine() {
        let seconds = Duration::from_secs;
        for (passed, spent, expected) in
            [(1, None, false), (2, None, true), (2, Some(2), true), (9, Some(1), false), (60, Some(1), true)]
        {
            assert_eq!(is_over(seconds(2), seconds(passed), spent.map(seconds)), expected, "{passed} {spent:?}");
        }
        let used = Used::of(std::process::id()).unwrap();
        assert!(peak_memory(std::process::id()).is_none_or(|peak| peak > 1 << 20), "as `used` says, or unknown");
        assert!(used.memory > 1 << 20 && used.time <= seconds(3600), "{} {:?}", used.memory, used.time);
    }
}
