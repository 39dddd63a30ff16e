//! A runtime in any language: a program of the user's own that speaks JSON lines on standard input and output. The protocol
//! is described in `docs/command.md`.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::mem;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost::Message;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::process::{Exchange, Isolated, Next, Protocol};
use super::{Declaration, Execution, Gap, Kind, Limits, OpenError, Outcome, Output, Rewriting, Row, Stage, Supply};
use crate::model::Job;
use crate::model::proto::TensorProto;
use crate::model::tensor_proto::{self, Encoding};
use crate::tensor::{ElementType, Tensor};
use crate::text::cut;

pub(super) static KIND: Kind = Kind {
    name: "command",
    version: "",
    configurations: &[""],
    stages: &[],
    passes: &[],
    supply: Supply::Program,
    known: "",
    open: |row| Ok(Box::new(start(row, &Limits::default())?.ready()?)),
};

/// The version of the protocol.
const PROTOCOL: u32 = 1;

/// The longest line that is read, in bytes: more than any case needs.
const MAX_LINE: u64 = 1 << 30;

/// The first line of the program.
#[derive(Deserialize)]
struct Hello {
    protocol: u32,
    #[serde(default)]
    version: String,
    /// Why it cannot take part.
    error: Option<String>,
}

/// A run of a job, on one line.
#[derive(Serialize)]
struct Question<'a> {
    /// A `ModelProto`, as base64.
    model: &'a str,
    /// By name of the graph input: a `TensorProto`, as base64.
    feeds: BTreeMap<&'a str, String>,
}

/// The result of a run, on one line. Exactly one of the first three fields is set.
#[derive(Deserialize)]
struct Reply {
    /// In the order of the graph: a `TensorProto` each, as base64.
    outputs: Option<Vec<String>>,
    /// Its message, if it says that the model or its inputs are invalid.
    refused: Option<String>,
    /// Its message, if it says that it lacks something.
    unsupported: Option<String>,
    /// The stage of a refusal: `load` or `run`.
    #[serde(default)]
    stage: StageName,
    /// The declarations of the outputs after the model was loaded.
    declared: Option<Vec<Declared>>,
    /// The checks of the rewritten model, if the program is a rewriter.
    rewriting: Option<Checks>,
}

/// A [`Rewriting`] on one line.
#[derive(Deserialize)]
struct Checks {
    invalid: Option<String>,
    interface: Option<String>,
    original: Option<Box<Reply>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StageName {
    Load,
    #[default]
    Run,
}

#[derive(Deserialize)]
struct Declared {
    /// A name such as `float` or `int64`; absent where it is left open.
    element_type: Option<String>,
    /// Absent where the rank is left open; a dim that is left open is null.
    dims: Option<Vec<Option<i64>>>,
}

struct JsonLines;

/// Starts the program of a row.
///
/// # Errors
/// If it cannot be started.
pub(super) fn start(row: &Row, limits: &Limits) -> Result<Isolated, OpenError> {
    Isolated::start(row, &JsonLines, limits)
}

impl Protocol for JsonLines {
    fn command(&self, row: &Row, _: &Limits) -> Result<Command, String> {
        let words = row.program()?;
        let (program, arguments) = words.split_first().ok_or("its row names no command")?;
        let mut command = Command::new(program);
        command.args(arguments);
        Ok(command)
    }

    fn exchange(&self) -> io::Result<Box<dyn Exchange>> {
        Ok(Box::new(Lines { questions: None, lines: None }))
    }
}

/// The exchange with a program: one thread writes the questions, another one reads the replies.
struct Lines {
    questions: Option<Chunks>,
    lines: Option<Receiver<Next>>,
}

impl Exchange for Lines {
    fn start(&mut self, command: &mut Command) -> io::Result<()> {
        command.stdout(Stdio::piped());
        Ok(())
    }

    fn begin(&mut self, input: ChildStdin, output: Option<ChildStdout>) -> Option<SyncSender<()>> {
        self.questions = Some(Chunks::to(input));
        let (send, lines) = channel();
        self.lines = Some(lines);
        if let Some(output) = output {
            thread::spawn(move || {
                let mut output = BufReader::new(output);
                let mut read: fn(&mut BufReader<ChildStdout>) -> io::Result<Next> = read_hello;
                loop {
                    let next = match mem::replace(&mut read, read_reply)(&mut output) {
                        Ok(next) => next,
                        Err(error) if error.kind() == ErrorKind::InvalidData => {
                            Next::Garbage { what: error.to_string(), lost: true }
                        }
                        Err(_) => return,
                    };
                    let is_garbage = matches!(next, Next::Garbage { .. });
                    if send.send(next).is_err() || is_garbage {
                        return;
                    }
                }
            });
        }
        None
    }

    fn ask(&mut self, jobs: &[&Job]) -> io::Result<()> {
        let Some(to) = &mut self.questions else { return Ok(()) };
        for job in jobs {
            let model = STANDARD.encode(job.model.self_contained()?);
            for run in 0..job.runs.len() {
                let feeds = job.feeds(run).map(|(name, tensor)| {
                    let proto = tensor_proto::write(name, tensor, Encoding::Raw);
                    (name, STANDARD.encode(proto.encode_to_vec()))
                });
                let question = Question { model: &model, feeds: feeds.collect() };
                serde_json::to_writer(&mut *to, &question)?;
                to.write_all(b"\n")?;
            }
        }
        to.flush()
    }

    fn next(&mut self, _: Option<&[Tensor]>, wait: Duration) -> Next {
        match self.lines.as_ref().map(|lines| lines.recv_timeout(wait)) {
            Some(Ok(next)) => next,
            Some(Err(RecvTimeoutError::Timeout)) => Next::Nothing { progress: false },
            None | Some(Err(RecvTimeoutError::Disconnected)) => Next::End,
        }
    }
}

/// A writer that passes its bytes in chunks to a thread, which writes them to a program. So the program can work while the rest
/// of a batch is still being encoded, and a program that reads nothing does not block the caller. [`Write::flush`] passes on the
/// rest.
struct Chunks {
    begun: Vec<u8>,
    whole: Sender<Vec<u8>>,
}

/// The size of a chunk in bytes: the capacity of a pipe.
const CHUNK: usize = 1 << 16;

impl Chunks {
    /// Starts the thread.
    fn to(mut input: ChildStdin) -> Chunks {
        let (whole, to_write) = channel::<Vec<u8>>();
        thread::spawn(move || {
            // If the program has ended, the thread that waits for its answers notices.
            while let Ok(chunk) = to_write.recv()
                && input.write_all(&chunk).is_ok()
            {}
        });
        Chunks { begun: Vec::new(), whole }
    }
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        if self.begun.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    /// Never fails. If the program has ended, the first answer says so.
    fn flush(&mut self) -> io::Result<()> {
        _ = self.whole.send(std::mem::take(&mut self.begun));
        Ok(())
    }
}

fn read_hello(from: &mut BufReader<impl Read>) -> io::Result<Next> {
    let hello: Hello = read_line(from)?;
    Ok(Next::Ready(match hello {
        Hello { error: Some(reason), .. } => Err(reason),
        Hello { protocol: PROTOCOL, version, .. } => Ok(version),
        Hello { protocol, .. } => Err(format!("it speaks version {protocol} of the protocol, not {PROTOCOL}")),
    }))
}

fn read_reply(from: &mut BufReader<impl Read>) -> io::Result<Next> {
    read_line::<Reply>(from)?.read().map(Next::Execution)
}

impl Reply {
    fn read(self) -> io::Result<Execution> {
        let declared =
            self.declared.map(|all| all.iter().map(Declared::read).collect::<Result<Arc<[_]>, _>>()).transpose()?;
        let rewriting = self.rewriting.map(|checks| Box::new(checks.read()));
        let execution = match (self.outputs, self.refused, self.unsupported) {
            (Some(texts), None, None) => {
                let outputs: io::Result<Vec<Output>> =
                    texts.iter().map(|text| Ok(Output::new(tensor(text)?))).collect();
                match (outputs, rewriting.as_deref()) {
                    (Ok(outputs), checks) => {
                        let words = checks.map(Rewriting::words).unwrap_or_default();
                        Execution::without_answer(Outcome::Answer(outputs), words)
                    }
                    // It is onnxruntime that gave it, and not the rewriter.
                    (Err(error), Some(_)) => {
                        Execution::without_answer(Outcome::Unsupported(Gap::Judge), error.to_string())
                    }
                    (Err(error), None) => return Err(error),
                }
            }
            (None, Some(message), None) => {
                let stage = match self.stage {
                    StageName::Load => Stage::Load,
                    StageName::Run => Stage::Run,
                };
                Execution::refusal(stage, message)
            }
            (None, None, Some(message)) => Execution::without_answer(Outcome::Unsupported(Gap::Unstated), message),
            _ => return Err(garbage("a line has exactly one of `outputs`, `refused` and `unsupported`")),
        };
        Ok(Execution { declared, rewriting, ..execution })
    }
}

impl Checks {
    /// A result on the original model that cannot be read is no measure.
    fn read(self) -> Rewriting {
        let original = self.original.and_then(|reply| reply.read().ok());
        Rewriting { invalid: self.invalid, interface: self.interface, original }
    }
}

impl Declared {
    fn read(&self) -> io::Result<Declaration> {
        let element_type = self.element_type.as_deref().map(|name| {
            ElementType::from_str(name).map_err(|_| garbage(&format!("it declares the element type `{name}`")))
        });
        Ok(Declaration { element_type: element_type.transpose()?, dims: self.dims.clone() })
    }
}

fn tensor(text: &str) -> io::Result<Tensor> {
    let bytes = STANDARD.decode(text).map_err(|error| garbage(&format!("an output is not base64: {error}")))?;
    let proto =
        TensorProto::decode(&bytes[..]).map_err(|error| garbage(&format!("an output is no tensor: {error}")))?;
    tensor_proto::read(&proto).map_err(|error| garbage(&format!("an output cannot be read: {error}")))
}

fn read_line<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<T> {
    let mut line = Vec::new();
    from.take(MAX_LINE).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Err(ErrorKind::UnexpectedEof.into()),
        Some(b'\n') => serde_json::from_slice(&line)
            .map_err(|error| garbage(&format!("{error}: {}", cut(&String::from_utf8_lossy(&line), 1000)))),
        Some(_) => Err(garbage("a line without an end")),
    }
}

fn garbage(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use std::time::Instant;

    use crate::runtime::{Runtime, RuntimeId, Stop, execute_once};

    /// A program in a few lines of shell. It logs every line that it reads, and acts on the model in the line.
    const PROGRAM: &str = r#"
        echo '{"protocol": 1, "version": "7"}'
        while read -r line; do
            echo "$line" >> "$0"
            case "$line" in
                *ZXhpdA*) exit 0 ;;
                *Z2FyYmFnZQ*) echo 'not a line of JSON' ;;
                *aGFuZw*) sleep 100 ;;
                *bGFjaw*) echo '{"unsupported": "has no such operator"}' ;;
                *) echo '{"refused": "does not like it", "stage": "load"}' ;;
            esac
        done
    "#;

    fn row(log: &Path, program: &str) -> Row {
        let command = ["sh", "-c", program, &log.display().to_string()].map(str::to_owned).to_vec();
        let id = RuntimeId { name: "shell".to_owned(), version: String::new(), configuration: String::new() };
        Row { id, kind: "command".to_owned(), library: None, command }
    }

    /// The outcome of each job in a batch. A job that ends the batch is executed again alone.
    fn execute_each(runtime: &mut Isolated, jobs: &[Job]) -> Vec<Outcome> {
        let mut done: Vec<Execution> = vec![];
        while done.len() < jobs.len() {
            done.extend(runtime.execute_all(&jobs[done.len()..].iter().collect::<Vec<_>>()).concat());
            let last = done.len() - 1;
            if done[last].outcome.ends_process() {
                done[last] = execute_once(runtime, &jobs[last]);
            }
        }
        done.into_iter().map(|execution| execution.outcome).collect()
    }

    /// A slow program: it answers within the time of a job alone, but not within the time of a job of a batch.
    const SLOW: &str = r#"
        echo '{"protocol": 1}'
        while read -r line; do sleep 0.4; echo '{"refused": "no"}'; done
    "#;

    #[test]
    fn a_slow_program_is_given_its_time_once_it_is_known_to_be_slow() {
        let mut runtime = start(&row(Path::new("x"), SLOW), &Limits::default()).unwrap().ready().unwrap();
        let jobs = ["a", "b"].map(|model| Job::once(model.as_bytes(), []));
        assert_eq!(runtime.execute_all(&[&jobs[0]])[0][0].outcome, Outcome::TimedOut, "so far it is only suspected");
        assert!(matches!(execute_once(&mut runtime, &jobs[0]).outcome, Outcome::Refused { .. }));
        let done = runtime.execute_all(&jobs.each_ref()).concat();
        assert!(done.len() == 2 && done.iter().all(|done| matches!(done.outcome, Outcome::Refused { .. })), "{done:?}");
    }

    #[test]
    fn a_batch_ends_when_it_is_to_stop() {
        let stop = Stop::default();
        let limits = Limits::default().until(&stop);
        let mut runtime = start(&row(Path::new("x"), SLOW), &limits).unwrap().ready().unwrap();
        let jobs = vec![Job::once(&b"a"[..], []); 500];
        assert!(!execute_once(&mut runtime, &jobs[0]).outcome.ends_process());
        let (began, asked) = (Instant::now(), stop.clone());
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            asked.ask();
        });
        assert!(runtime.execute_all(&jobs.iter().collect::<Vec<_>>()).len() < 500);
        assert!(began.elapsed() < Duration::from_secs(20), "it went on for {:?}", began.elapsed());
    }

    #[test]
    fn what_ends_a_program_is_held_against_its_job_and_no_job_is_run_twice() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let limits = Limits::new(Duration::from_millis(500), 4 << 30);
        let mut runtime = start(&row(&log, PROGRAM), &limits).unwrap().ready().unwrap();
        assert_eq!(runtime.id().version, "7");
        let models = ["a", "exit", "b", "hang", "c", "lack", "d", "garbage"];
        let jobs: Vec<Job> = models.iter().map(|model| Job::once(model.as_bytes(), [])).collect();
        let done = execute_each(&mut runtime, &jobs);
        let refused = Execution::refusal(Stage::Load, String::new()).outcome;
        let expected = [
            refused.clone(),
            Outcome::Crashed { signal: None },
            refused.clone(),
            Outcome::TimedOut,
            refused.clone(),
            Outcome::Unsupported(Gap::Unstated),
            refused,
            Outcome::Garbled,
        ];
        assert_eq!(done, expected);
        // A proven failure is not run again.
        assert_eq!(execute_once(&mut runtime, &jobs[3]).outcome, Outcome::TimedOut);
        let lines = fs::read_to_string(log).unwrap();
        for model_name in models {
            let model = STANDARD.encode(model_name);
            // A job that ends the program is run once more, alone.
            let times = if ["exit", "hang", "garbage"].contains(&model_name) { 2 } else { 1 };
            assert_eq!(lines.lines().filter(|line| line.contains(&model)).count(), times, "{model_name} in {lines}");
        }
    }

    #[test]
    fn a_bool_that_is_not_0_or_1_is_no_answer() {
        let reply = |byte| {
            let proto = TensorProto {
                dims: vec![1],
                data_type: Some(9),
                raw_data: Some(vec![byte].into()),
                ..TensorProto::default()
            };
            let line = format!("{{\"outputs\": [\"{}\"]}}\n", STANDARD.encode(proto.encode_to_vec()));
            read_reply(&mut BufReader::new(line.as_bytes()))
        };
        assert!(matches!(reply(1), Ok(Next::Execution(_))));
        let error = reply(2).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert_eq!(error.to_string(), "an output cannot be read: a bool is 0 or 1, and element 0 is neither");
    }

    /// A program that fails at the second job that it reads, whatever the job.
    const WEARS_OUT: &str = r#"
        echo '{"protocol": 1}'
        read -r line && echo '{"refused": "no"}'
        read -r line && exit 3
    "#;

    #[test]
    fn a_job_is_not_accused_of_what_it_does_not_do_by_itself() {
        let mut runtime = start(&row(Path::new("x"), WEARS_OUT), &Limits::default()).unwrap().ready().unwrap();
        let jobs = ["a", "b", "c"].map(|model| Job::once(model.as_bytes(), []));
        let done = execute_each(&mut runtime, &jobs);
        assert!(done.iter().all(|outcome| matches!(outcome, Outcome::Refused { .. })), "{done:?}");
    }

    #[test]
    fn a_program_that_cannot_take_part_says_why() {
        for (program, why) in [
            ("echo 'no such module' >&2; exit 3", "no such module"),
            (r#"echo '{"protocol": 1, "error": "no device"}'"#, "no device"),
            (r#"echo '{"protocol": 9}'; cat"#, "version 9 of the protocol"),
            ("echo hello; cat", "cannot be read: "),
        ] {
            let started = start(&row(Path::new("x"), program), &Limits::default()).and_then(Isolated::ready);
            let error = started.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.starts_with("shell cannot take part: ") && error.contains(why), "{error}");
        }
    }
}
