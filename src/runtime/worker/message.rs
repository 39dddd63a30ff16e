//! Jobs and their results, as the bytes that pass between the program and a worker.
//!
//! Data that the other side already has is not sent: the elements of an output that are those of a feed, and declarations that
//! have not changed.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use postcard::Result;
use postcard::ser_flavors::Flavor;
use serde::{Deserialize, Serialize};

use crate::model::{Job, Serialized};
use crate::runtime::{Declaration, Execution, Outcome, Output};
use crate::tensor::Tensor;

/// The number of the message format, with which the first message begins. It is raised when the format changes, because the
/// worker of another version may have been built before the change.
const FORMAT: u32 = 8;

pub(super) const OTHER_VERSION: &str = "its worker was built for another version of this program: install it again";

/// A job as it is sent.
#[derive(Serialize, Deserialize)]
struct Asked<'a, R> {
    #[serde(borrow)]
    model: AskedModel<'a>,
    #[serde(borrow)]
    inputs: Vec<&'a str>,
    runs: R,
}

/// A model as it is sent. A model in a file stays there, and its path is sent.
#[derive(Serialize, Deserialize)]
enum AskedModel<'a> {
    Bytes(#[serde(borrow, with = "serde_bytes")] &'a [u8]),
    File(PathBuf),
}

/// The result of a run as it is sent back.
#[derive(Serialize, Deserialize)]
enum Response<'a, E, O, D> {
    Execution(E),
    /// The declarations are left out if they are those of the answer before, in the same batch.
    Answer {
        #[serde(borrow)]
        outputs: Vec<SentOutput<'a, O>>,
        declared: Option<D>,
    },
    /// The runtime wrote something to standard output.
    Words(Cow<'a, str>),
    /// The last execution holds for all further runs of the job.
    NoMore,
}

#[derive(Serialize, Deserialize)]
enum SentOutput<'a, O> {
    Output(O),
    /// An output with the type and the elements of a feed, which is given by its place, and with dims of its own.
    Fed {
        place: usize,
        dims: Cow<'a, [i64]>,
    },
}

/// The first message: the format of all others, and the version of the runtime or why it cannot be opened.
pub(super) fn ready(version: &std::result::Result<String, String>) -> Result<Vec<u8>> {
    onto(FORMAT.to_le_bytes().to_vec(), version)
}

/// Reads the first message.
pub(super) fn read_ready(bytes: &[u8]) -> std::result::Result<String, String> {
    match bytes.split_first_chunk() {
        Some((format, rest)) if *format == FORMAT.to_le_bytes() => {
            postcard::from_bytes::<std::result::Result<String, String>>(rest)
                .map_err(|error| error.to_string())
                .flatten()
        }
        _ => Err(OTHER_VERSION.to_owned()),
    }
}

/// Adds a job to a batch.
pub(super) fn ask(job: &Job, batch: Vec<u8>) -> Result<Vec<u8>> {
    let inputs = job.inputs.iter().map(|name| &**name).collect();
    let model = match &job.model {
        Serialized::Bytes(bytes) => AskedModel::Bytes(bytes),
        Serialized::File(path) => AskedModel::File(path.to_path_buf()),
    };
    onto(batch, &Asked { model, inputs, runs: &job.runs })
}

/// Takes the first job from a batch.
pub(super) fn read_job(batch: &mut &[u8]) -> Result<Job> {
    let (Asked { model, inputs, runs }, rest) = postcard::take_from_bytes::<Asked<Vec<Vec<Tensor>>>>(batch)?;
    *batch = rest;
    let model = match model {
        AskedModel::Bytes(bytes) => bytes.into(),
        AskedModel::File(path) => Serialized::File(path.into()),
    };
    Ok(Job { model, inputs: inputs.into_iter().map(Into::into).collect(), runs })
}

/// Adds the execution of a run with these feeds to a message. `declared` holds the declarations of the answer before, and then
/// those of this answer.
pub(super) fn write_response(
    feeds: &[Tensor],
    execution: &Execution,
    declared: &mut Arc<[Declaration]>,
    message: Vec<u8>,
) -> Result<Vec<u8>> {
    type Message<'a> = Response<'a, &'a Execution, &'a Output, &'a [Declaration]>;
    let response: Message = match execution {
        Execution { outcome: Outcome::Answer(outputs), message, declared: Some(now), .. } if message.is_empty() => {
            let is_as_before = now == declared;
            if !is_as_before {
                declared.clone_from(now);
            }
            Response::Answer { outputs: given(feeds, outputs), declared: (!is_as_before).then_some(&**now) }
        }
        execution => Response::Execution(execution),
    };
    onto(message, &response)
}

/// Outputs as they are sent. Most outputs that have the elements of feeds come in the order of those feeds.
fn given<'a>(feeds: &[Tensor], outputs: &'a [Output]) -> Vec<SentOutput<'a, &'a Output>> {
    let mut next = 0;
    let one = |output: &'a Output| {
        let is_it = |fed: &Tensor| output.native_type.is_none() && output.tensor.has_elements_of(fed);
        match feeds[next..].iter().position(is_it) {
            Some(place) => {
                next += place + 1;
                SentOutput::Fed { place: next - 1, dims: output.tensor.dims().into() }
            }
            None => SentOutput::Output(output),
        }
    };
    outputs.iter().map(one).collect()
}

/// Adds the text that a runtime wrote to standard output in place of an answer.
pub(super) fn write_words(words: &str, message: Vec<u8>) -> Result<Vec<u8>> {
    onto(message, &Response::<&Execution, &Output, &[Declaration]>::Words(words.into()))
}

/// The message that the last execution holds for all further runs of its job.
pub(super) fn no_more() -> Result<Vec<u8>> {
    onto(vec![], &Response::<&Execution, &Output, &[Declaration]>::NoMore)
}

/// Reads the execution of a run with these feeds; `None` if the last execution holds for all further runs. `declared` holds the
/// declarations of the answer before, and then those of this answer.
///
/// # Errors
/// If the message holds no answer: the text that the runtime wrote, or why the message cannot be read.
pub(super) fn read_response(
    feeds: &[Tensor],
    bytes: &[u8],
    declared: &mut Arc<[Declaration]>,
) -> std::result::Result<Option<Execution>, Garbage> {
    let unreadable = |error: String| Garbage { what: error, is_message: true };
    match postcard::from_bytes::<Response<Execution, Output, Vec<Declaration>>>(bytes)
        .map_err(|error| unreadable(error.to_string()))?
    {
        Response::Execution(execution) => Ok(Some(execution)),
        Response::NoMore => Ok(None),
        Response::Answer { outputs, declared: now } => {
            if let Some(now) = now {
                *declared = now.into();
            }
            let output = |given| match given {
                SentOutput::Output(output) => Ok(output),
                SentOutput::Fed { place, dims } => {
                    let fed = feeds.get(place).ok_or_else(|| unreadable(format!("there is no feed {place}")))?;
                    let tensor = fed.with_dims(dims.into_owned()).map_err(|error| unreadable(error.to_string()))?;
                    Ok(Output::new(tensor))
                }
            };
            let outputs = outputs.into_iter().map(output).collect::<std::result::Result<_, _>>()?;
            Ok(Some(Execution::answer(outputs, Arc::clone(declared))))
        }
        Response::Words(words) => Err(Garbage { what: words.into_owned(), is_message: false }),
    }
}

/// Adds a serialized value to bytes.
fn onto(bytes: Vec<u8>, value: &impl Serialize) -> Result<Vec<u8>> {
    postcard::serialize_with_flavor(value, Bytes(bytes))
}

/// A flavor that appends a slice as a whole, which `postcard::to_extend` does not.
struct Bytes(Vec<u8>);

impl Flavor for Bytes {
    type Output = Vec<u8>;

    fn try_push(&mut self, byte: u8) -> Result<()> {
        self.0.push(byte);
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> Result<Vec<u8>> {
        Ok(self.0)
    }
}

/// A message that is no answer.
#[derive(Debug)]
pub(super) struct Garbage {
    pub(super) what: String,
    /// Whether the message itself cannot be read.
    pub(super) is_message: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Generated, Generator};
    use crate::model;
    use crate::runtime::{Gap, Reason, Stage, execute_once, planted};
    use crate::tensor::ElementType;

    /// An execution after it was sent and read.
    fn sent(feeds: &[Tensor], execution: &Execution, declared: &mut [Arc<[Declaration]>; 2]) -> Execution {
        let [here, there] = declared;
        let message = write_response(feeds, execution, here, vec![]).unwrap();
        read_response(feeds, &message, there).unwrap().unwrap()
    }

    #[test]
    fn jobs_and_what_comes_of_them_survive_the_way() {
        let generator = Generator::default();
        let mut right = planted::without_faults().unwrap();
        let mut declared = [Arc::default(), Arc::default()];
        for index in 0..300 {
            let Generated { case, tensors, .. } = generator.case(2, index);
            let job = model::job(&case, &tensors);
            let twice = Job { runs: [&job.runs[..], &job.runs].concat(), ..job.clone() };
            let batch = ask(&twice, ask(&job, vec![]).unwrap()).unwrap();
            let mut rest = &batch[..];
            assert_eq!([(); 2].map(|()| read_job(&mut rest).unwrap()), [job.clone(), twice]);
            assert!(rest.is_empty());
            let execution = execute_once(right.as_mut(), &job);
            for _ in 0..2 {
                let read = sent(&job.runs[0], &execution, &mut declared);
                assert_eq!((&read.outcome, &read.declared), (&execution.outcome, &execution.declared), "{case}");
            }
        }
    }

    fn bytes(element_type: ElementType, dims: &[i64], byte: u8) -> Tensor {
        let size = dims.iter().product::<i64>().try_into().unwrap();
        Tensor::from_packed(element_type, dims.to_vec(), vec![byte; size]).unwrap()
    }

    #[test]
    fn what_is_there_is_not_sent_and_what_only_looks_like_it_is() {
        use ElementType::{Bool, Int8, Uint8};
        let feeds = [bytes(Uint8, &[900], 1), bytes(Uint8, &[30, 30], 2)];
        let size = |outputs: &[Tensor]| {
            let outputs: Vec<Output> = outputs.iter().map(|tensor| Output::new(tensor.clone())).collect();
            let execution = Execution::answer(outputs, vec![]);
            assert_eq!(sent(&feeds, &execution, &mut Default::default()).outcome, execution.outcome);
            write_response(&feeds, &execution, &mut Arc::default(), vec![]).unwrap().len()
        };
        assert!(size(&[bytes(Uint8, &[9, 100], 1), bytes(Uint8, &[900], 2)]) < 34);
        assert!(size(&[bytes(Uint8, &[900], 2), bytes(Uint8, &[900], 2)]) > 900, "each feed is the answer to one");
        assert!(size(&[bytes(Int8, &[900], 1)]) > 900, "a type of its own");
        assert!(size(&[bytes(Uint8, &[900], 3)]) > 900, "elements of its own");
        assert!(size(&[bytes(Uint8, &[899], 1)]) > 899, "fewer elements");
        assert!(size(&[bytes(Bool, &[], 1)]) < 30);
    }

    #[test]
    fn an_answer_of_as_many_bytes_and_fewer_elements_than_a_feed_survives_the_way() {
        let int4 = |dims: &[i64]| {
            let elements = [1, 2, 3, 0].into_iter().take(dims.iter().product::<i64>().try_into().unwrap());
            Tensor::from_element_bits(ElementType::Int4, dims.to_vec(), elements).unwrap()
        };
        let feeds = [int4(&[4]), int4(&[3])];
        let execution = Execution::answer(vec![Output::new(int4(&[1, 3]))], vec![]);
        assert_eq!(sent(&feeds, &execution, &mut Default::default()).outcome, execution.outcome);
    }

    #[test]
    fn what_is_declared_is_sent_when_it_changes() {
        let declaration = |size| vec![Declaration { element_type: None, dims: Some(vec![Some(size)]) }];
        let mut declared = [Arc::default(), Arc::default()];
        for now in [vec![], declaration(1), declaration(1), declaration(2), vec![], declaration(2)] {
            let execution = Execution::answer(vec![], now.clone());
            assert_eq!(sent(&[], &execution, &mut declared).declared, Some(now.into()));
        }
    }

    #[test]
    fn what_cannot_be_is_no_answer() {
        let feeds = [Tensor::vector(&[1, 2])];
        for (place, dims) in [(0, vec![3]), (0, vec![-1]), (1, vec![2])] {
            let response: Response<Execution, Output, Vec<Declaration>> =
                Response::Answer { outputs: vec![SentOutput::Fed { place, dims: dims.into() }], declared: None };
            let garbage =
                read_response(&feeds, &postcard::to_stdvec(&response).unwrap(), &mut Arc::default()).unwrap_err();
            assert!(garbage.is_message, "{garbage:?}");
        }
        assert!(read_job(&mut &[1, 0][..]).is_err(), "a model of one byte, which is not there");
    }

    /// If this fails, raise `FORMAT`.
    #[test]
    fn the_format_of_messages_is_as_it_was() {
        let job = Job::once([7, 8], [("x".into(), Tensor::vector(&[1]))]);
        let declared = vec![Declaration { element_type: None, dims: Some(vec![None, Some(2)]) }];
        let mut bytes = ask(&job, vec![]).unwrap();
        let mut before = Arc::default();
        let strings = Tensor::from_strings(vec![2], ["a", "bc"].iter().collect()).unwrap();
        let outputs = [Tensor::vector(&[2]), job.runs[0][0].clone(), strings].map(Output::new).to_vec();
        let answer = Execution::answer(outputs, declared);
        for _ in 0..2 {
            bytes = write_response(&job.runs[0], &answer, &mut before, bytes).unwrap();
        }
        for outcome in [
            Outcome::Refused { stage: Stage::Run, reason: Reason::Unstated },
            Outcome::Unsupported(Gap::Process),
            Outcome::Unclassified { stage: Stage::Load },
        ] {
            let execution = Execution::without_answer(outcome, String::new());
            bytes = write_response(&job.runs[0], &execution, &mut before, bytes).unwrap();
        }
        bytes = [write_words("a", bytes).unwrap(), no_more().unwrap()].concat();
        assert_eq!(FORMAT, 8);
        // A vector of one number: its type, its dims, its elements, and no strings.
        let vector = |value| [8, 1, 2, 8, value, 0, 0, 0, 0, 0, 0, 0, 0];
        let outputs = [&[0][..], &vector(2), &[0, 1, 0, 1, 2, 0, 4, 1, 4, 3, 97, 98, 99, 2, 1, 3, 0]].concat();
        let expected = [
            &[0, 2, 7, 8, 1, 1, 120, 1, 1][..],
            &vector(1),
            &[1, 3],
            &outputs,
            &[1, 1, 0, 1, 2, 0, 1, 4],
            &[1, 3],
            &outputs,
            &[0],
            &[0, 1, 1, 10, 0, 0, 0, 0, 2, 6, 0, 0, 0, 0, 8, 0, 0, 0, 0, 2, 1, 97, 3],
        ];
        assert_eq!(bytes, expected.concat());
    }
}
