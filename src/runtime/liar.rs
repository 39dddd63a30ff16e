//! A runtime for tests: right, but for the faults that are planted in it.

use prost::Message;

use super::{Execution, Kind, OpenError, Outcome, Output, Reason, Runtime, RuntimeId, Stage, Supply, open, select};
use crate::model::Job;
use crate::model::proto::{ModelProto, NodeProto, ValueInfoProto};
use crate::tensor::{ElementType, Tensor};

/// A planted fault: may change what came of a job.
pub(crate) type Fault = fn(&Job, &mut Execution);

/// Faults to plant, by name.
pub(crate) const FAULTS: &[(&str, Fault)] = &[
    ("short-shape", short_shape),
    ("swapped-flatten", swapped_flatten),
    ("no-high-rank", no_high_rank),
    ("wrong-type", wrong_type),
    ("panics-on-zero", panics_on_zero),
    ("truncated-target", truncated_target),
];

/// Faults that take the whole process with them, or all that it has: only a runtime in a process of its own can have them.
const FATAL: &[Fault] = &[
    panics_on_zero,
    abort_on_high_rank,
    null_on_zero,
    hang_on_uint2,
    exit_on_uint2,
    fill_memory_on_int2,
    garbage_on_int2,
];

pub(super) static KIND: Kind = Kind {
    name: "liar",
    version: "0",
    configurations: &["fatal", "hangs-now-and-then", "hangs-often"],
    pinned: &[],
    supply: Supply::Linked,
    known: "",
    open: |row| {
        let faults = match row.id.configuration.as_str() {
            "hangs-now-and-then" => vec![hang_on_uint2 as Fault],
            "hangs-often" => vec![hang_on_flatten as Fault],
            _ => FATAL.to_vec(),
        };
        Ok(Box::new(Liar { id: row.id.clone(), honest: honest()?, faults, is_by_node: true }))
    },
};

struct Liar {
    id: RuntimeId,
    honest: Box<dyn Runtime>,
    faults: Vec<Fault>,
    /// Whether a fault shows in each node for itself, as it does in a real runtime, or in the model as a whole.
    is_by_node: bool,
}

/// The in-house runtime with faults planted in it, as a runtime of the kind `liar`.
pub(crate) fn liar(faults: &[Fault]) -> Result<Box<dyn Runtime>, OpenError> {
    planted(faults, true)
}

/// The same with faults that are given a model as a whole, whatever it holds.
#[cfg(test)]
pub(crate) fn on_whole_models(faults: &[Fault]) -> Result<Box<dyn Runtime>, OpenError> {
    planted(faults, false)
}

fn planted(faults: &[Fault], is_by_node: bool) -> Result<Box<dyn Runtime>, OpenError> {
    let id = RuntimeId { name: "liar".to_owned(), version: "0".to_owned(), configuration: String::new() };
    Ok(Box::new(Liar { id, honest: honest()?, faults: faults.to_vec(), is_by_node }))
}

/// The in-house runtime with faults by name, such as `short-shape,wrong-type`.
pub(crate) fn named(list: &str) -> Result<Box<dyn Runtime>, OpenError> {
    let fault = |name: &str| {
        let names = || FAULTS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let reason = || format!("there is no fault `{name}`; there are {}", names());
        let known = FAULTS.iter().find(|(own, _)| *own == name).map(|(_, fault)| *fault);
        known.ok_or_else(|| OpenError::new("liar", reason()))
    };
    liar(&list.split(',').map(fault).collect::<Result<Vec<Fault>, _>>()?)
}

/// The in-house runtime.
pub(crate) fn honest() -> Result<Box<dyn Runtime>, OpenError> {
    Ok(open(&select(Some("in-house"))?)?.remove(0))
}

impl Runtime for Liar {
    fn id(&self) -> &RuntimeId {
        &self.id
    }

    fn execute(&mut self, job: &Job) -> Execution {
        if self.is_by_node { self.lie_by_node(job) } else { self.lie(job) }
    }
}

impl Liar {
    fn lie(&mut self, job: &Job) -> Execution {
        let mut execution = self.honest.execute(job);
        self.faults.iter().for_each(|fault| fault(job, &mut execution));
        execution
    }

    /// What comes of each output, as if it were alone in its model; the first that is no answer is what comes of all.
    fn lie_by_node(&mut self, job: &Job) -> Execution {
        let parts = by_output(job);
        if parts.len() < 2 {
            return self.lie(job);
        }
        let (mut outputs, mut declared) = (Vec::new(), Vec::new());
        for part in &parts {
            let execution = self.lie(part);
            match execution.outcome {
                Outcome::Answer(own) => outputs.extend(own),
                _ => return execution,
            }
            declared.extend(execution.declared.iter().flat_map(|declared| declared.iter().cloned()));
        }
        Execution::answer(outputs, declared)
    }
}

/// The job of each output of a model: the node that gives it, and what that node is given.
fn by_output(job: &Job) -> Vec<Job> {
    let Ok(model) = ModelProto::decode(&job.model[..]) else { return vec![] };
    let Some(graph) = &model.graph else { return vec![] };
    let of = |output: &ValueInfoProto| {
        let gives = |node: &&NodeProto| output.name.as_ref().is_some_and(|name| node.output.contains(name));
        let node = graph.node.iter().find(gives)?;
        let is_needed = |name: Option<&str>| name.is_some_and(|name| node.input.iter().any(|input| input == name));
        let mut part = graph.clone();
        part.node.retain(|other| other == node || is_needed(other.output.first().map(String::as_str)));
        part.initializer.retain(|tensor| is_needed(tensor.name.as_deref()));
        part.input.retain(|info| is_needed(info.name.as_deref()));
        part.output = vec![output.clone()];
        let feeds = job.feeds.iter().filter(|(name, _)| is_needed(Some(name))).cloned().collect();
        Some(Job {
            model: ModelProto { graph: Some(part), ..model.clone() }.encode_to_vec().into(),
            feeds,
            continues: false,
        })
    };
    graph.output.iter().filter_map(of).collect()
}

pub(crate) fn is(job: &Job, operator: &str) -> bool {
    let graph = ModelProto::decode(&job.model[..]).ok().and_then(|model| model.graph);
    graph.is_some_and(|graph| graph.node.iter().any(|node| node.op_type.as_deref() == Some(operator)))
}

fn answer(execution: &Execution) -> Option<&Tensor> {
    match &execution.outcome {
        Outcome::Answer(outputs) => outputs.first().map(|output| &output.tensor),
        _ => None,
    }
}

fn give(execution: &mut Execution, tensor: Option<Tensor>) {
    if let Some(tensor) = tensor {
        *execution = Execution::answer(vec![Output::new(tensor)], vec![]);
    }
}

/// Shape loses its last dim when there are three or more.
pub(crate) fn short_shape(job: &Job, execution: &mut Execution) {
    if is(job, "Shape") {
        let dims = answer(execution).and_then(Tensor::int64s).filter(|dims| dims.len() >= 3);
        give(execution, dims.map(|dims| Tensor::vector(&dims[..dims.len() - 1])));
    }
}

/// Flatten swaps its halves.
pub(crate) fn swapped_flatten(job: &Job, execution: &mut Execution) {
    if is(job, "Flatten") {
        let swapped = answer(execution).and_then(|t| t.with_dims(t.dims().iter().rev().copied().collect()).ok());
        give(execution, swapped);
    }
}

/// Reshape refuses to give rank 4 and more.
pub(crate) fn no_high_rank(job: &Job, execution: &mut Execution) {
    if is(job, "Reshape") && answer(execution).is_some_and(|t| t.rank() >= 4) {
        execution.outcome = Outcome::Refused { stage: Stage::Run, reason: Reason::Value };
    }
}

/// bfloat16 comes back as float16.
pub(crate) fn wrong_type(job: &Job, execution: &mut Execution) {
    if is(job, "Reshape") {
        let other = answer(execution).filter(|t| t.element_type() == ElementType::Bfloat16).and_then(|t| {
            let bits = (0..t.len()).map(|i| t.element_bits(i));
            Tensor::from_element_bits(ElementType::Float16, t.dims().to_vec(), bits).ok()
        });
        give(execution, other);
    }
}

/// Flatten panics on zero-size data.
pub(crate) fn panics_on_zero(job: &Job, execution: &mut Execution) {
    if is(job, "Flatten") && answer(execution).is_some_and(Tensor::is_empty) {
        execution.outcome = Outcome::Panicked { stage: Stage::Run };
    }
}

/// Entries of a target shape that is fed at run lose their high 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "the planted fault")]
pub(crate) fn truncated_target(job: &Job, execution: &mut Execution) {
    if !is(job, "Reshape") {
        return;
    }
    let mut cut = job.clone();
    for (_, tensor) in cut.feeds.iter_mut().skip(1) {
        let Some(numbers) = tensor.int64s() else { continue };
        let low = numbers.iter().map(|&number| i64::from(number as i32).cast_unsigned());
        if let Ok(cut) = Tensor::from_element_bits(ElementType::Int64, tensor.dims().to_vec(), low.map(u128::from)) {
            *tensor = cut;
        }
    }
    if let Ok(mut honest) = honest() {
        *execution = honest.execute(&cut);
    }
}

/// Whether the model is of an operator and the data is such.
fn is_with_data(job: &Job, operator: &str, holds: impl Fn(&Tensor) -> bool) -> bool {
    is(job, operator) && job.feeds.first().is_some_and(|(name, fed)| !name.ends_with("shape") && holds(fed))
}

/// Flatten of more than three dims aborts.
fn abort_on_high_rank(job: &Job, _: &mut Execution) {
    if is_with_data(job, "Flatten", |data| data.rank() > 3) {
        std::process::abort();
    }
}

/// Shape of zero-size data writes to address 0.
fn null_on_zero(job: &Job, _: &mut Execution) {
    if is_with_data(job, "Shape", Tensor::is_empty) {
        // SAFETY: it is not; that is the fault.
        unsafe { std::ptr::without_provenance_mut::<u8>(1).write_volatile(1) };
    }
}

/// Reshape of uint2 never ends: about one case in a hundred.
fn hang_on_uint2(job: &Job, _: &mut Execution) {
    while is_with_data(job, "Reshape", |data| data.element_type() == ElementType::Uint2) {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}

/// Flatten of one dim or more never ends: about a fifth of the cases.
fn hang_on_flatten(job: &Job, _: &mut Execution) {
    while is_with_data(job, "Flatten", |data| data.rank() > 0) {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}

/// Flatten of uint2 ends the process as if nothing were wrong.
fn exit_on_uint2(job: &Job, _: &mut Execution) {
    if is_with_data(job, "Flatten", |data| data.element_type() == ElementType::Uint2) {
        std::process::exit(0);
    }
}

/// Reshape of int2 takes more memory than any limit.
fn fill_memory_on_int2(job: &Job, _: &mut Execution) {
    let mut taken: Vec<Vec<u8>> = Vec::new();
    while is_with_data(job, "Reshape", |data| data.element_type() == ElementType::Int2) {
        taken.push(vec![1; 1 << 24]);
    }
}

/// Flatten of int2 writes to standard output, in the midst of a batch.
fn garbage_on_int2(job: &Job, _: &mut Execution) {
    if is_with_data(job, "Flatten", |data| data.element_type() == ElementType::Int2) {
        println!("A runtime in good spirits says hello, and writes it where answers are expected.");
    }
}
