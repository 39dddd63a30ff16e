//! A runtime for tests: the in-house runtime with planted faults.

mod calls;
mod graphs;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prost::Message;

use super::{
    Declaration, Execution, Kind, OpenError, Outcome, Output, Reason, Runtime, RuntimeId, Stage, Supply, caught,
    demand, execute_once, open, select,
};
use crate::model::proto::{
    GraphProto, ModelProto, NodeProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use crate::model::{Job, tensor_proto};
use crate::operator::{Attribute, Expectation, Operator, Rule};
use crate::tensor::{ElementType, Tensor};

pub(crate) use calls::{CALLS, CallFault, SeenCall};
use graphs::{GRAPHS, SESSIONS, Shows, has_static_dims};

/// A planted fault. It may change the execution of a job of one run, or panic.
pub(crate) type Fault = fn(&Job, &mut Execution);

/// What must be special in a case for a fault to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Aspect {
    /// An attribute, a bound, an axis or a number of dims.
    Value,
    /// A dim or a length of zero.
    ZeroSize,
    /// A call that must be refused.
    Validity,
    /// One version of the operator.
    Version,
    ElementType,
    /// The bits of an element.
    Element,
    /// The way of an input into its node.
    Wiring,
    /// Two nodes, connected.
    Edge,
    /// Three nodes or more, connected.
    Pattern,
    /// The declared dims of a graph input or output.
    Declaration,
    /// Whether a value between two nodes is also a graph output.
    Observation,
    /// A run of a session after another one.
    Session,
    /// Two or more of these at once.
    Several,
    /// The process ends, hangs, takes too much memory, or answers garbage.
    Process,
}

/// The faults of which the benchmark `finding_power` measures how soon a campaign finds each: the name of the row of the kind
/// `planted`, and what the fault depends on.
pub fn to_find() -> impl Iterator<Item = (&'static str, Aspect)> {
    const OF_PROCESSES: [&str; 7] = ["panic", "crash", "hangs", "garbage", "null-pointer", "fills-memory", "exits"];
    let calls = CALLS.iter().map(|fault| (fault.name, fault.aspect));
    let graphs = GRAPHS.iter().map(|fault| (fault.name, fault.aspect));
    let sessions = SESSIONS.iter().map(|(name, _)| (*name, Aspect::Session));
    calls.chain(graphs).chain(sessions).chain(OF_PROCESSES.map(|name| (name, Aspect::Process)))
}

/// The planted faults, by name: one row for each discrepancy but those of rewriters, with the name of the discrepancy, and
/// further rows for tests. Faults that end the process, or use up its time or memory, need a runtime in a process of its own.
pub(crate) const PLANTED: &[(&str, &[Fault])] = &[
    ("crash", &[abort_on_high_rank]),
    ("exhaustion", &[hang_on_uint2, fill_memory_on_int2]),
    ("garbage", &[garbage_on_int2]),
    ("panic", &[panics_on_zero]),
    ("wrong-count", &[two_outputs]),
    ("wrong-value", &[wrong_last_element]),
    ("wrong-dims", &[swapped_flatten]),
    ("wrong-rank", &[vector_for_matrix]),
    ("wrong-type", &[wrong_type]),
    ("truncates", &[truncated_target]),
    ("undeclared", &[declares_another_row]),
    ("refuses-valid", &[no_high_rank]),
    ("configurations-disagree", &[refuses_open]),
    ("wirings-disagree", &[refuses_open_unless_fed]),
    ("opsets-disagree", &[refuses_open_at_one_version]),
    ("accepts-invalid", &[gives_data_as_it_is]),
    ("accepts-leniently", &[lenient_flatten]),
    ("nan-payload", &[other_nan_payload]),
    (IN_ONE_MODEL, &[panics_on_shape_beside_flatten]),
    (IN_A_GRAPH, &[turns_hidden_shape]),
    (IN_A_FUSION, &[fuses_computed_target]),
    ("in-a-fusion-Fusion", &[]),
    ("right", &[]),
    ("short-shape", &[short_shape]),
    ("hangs", &[hang_on_uint2]),
    ("null-pointer", &[null_on_zero]),
    ("fills-memory", &[fill_memory_on_int2]),
    ("exits", &[exit_on_uint2]),
    ("hangs-often", &[hang_on_flatten]),
    ("crashes-at-times", &[abort_on_third_flatten]),
    ("differs-at-times", &[wrong_on_third_flatten]),
    (
        "fatal",
        &[
            panics_on_zero,
            abort_on_high_rank,
            null_on_zero,
            hang_on_uint2,
            exit_on_uint2,
            fill_memory_on_int2,
            garbage_on_int2,
        ],
    ),
];

/// The row of a fault that shows only in a whole model: each case of the model is right alone.
const IN_ONE_MODEL: &str = "in-one-model";

/// The row of a fault that needs two nodes and a hidden value between them.
const IN_A_GRAPH: &str = "in-a-graph";

/// The row of a fault that needs a chain of nodes and a graph output that is declared with static dims. The row is a stage of
/// optimization; the fault is not there without the pass `Fusion`.
const IN_A_FUSION: &str = "in-a-fusion";

/// The rows whose faults show in the model as a whole.
const OF_WHOLE_MODELS: [&str; 3] = [IN_ONE_MODEL, IN_A_GRAPH, IN_A_FUSION];

const NAMES: [&str; PLANTED.len() + CALLS.len() + GRAPHS.len() + SESSIONS.len()] = {
    let mut names = [""; PLANTED.len() + CALLS.len() + GRAPHS.len() + SESSIONS.len()];
    let mut place = 0;
    while place < names.len() {
        let of_calls = PLANTED.len();
        let of_graphs = of_calls + CALLS.len();
        let of_sessions = of_graphs + GRAPHS.len();
        names[place] = if place < of_calls {
            PLANTED[place].0
        } else if place < of_graphs {
            CALLS[place - of_calls].name
        } else if place < of_sessions {
            GRAPHS[place - of_graphs].name
        } else {
            SESSIONS[place - of_sessions].0
        };
        place += 1;
    }
    names
};

pub(crate) static KIND: Kind = Kind {
    name: "planted",
    version: "0",
    configurations: &NAMES,
    stages: &["right", IN_A_FUSION],
    passes: &["Fusion"],
    supply: Supply::Linked,
    known: "",
    open: |row| {
        let (id, name) = (row.id.clone(), row.id.configuration.as_str());
        if let Some(fault) = CALLS.iter().find(|fault| fault.name == name) {
            return Ok(with_call_fault(id, fault));
        }
        let graph = GRAPHS.iter().find(|fault| fault.name == name).map(Manner::Graphs);
        let session = || SESSIONS.iter().find(|(own, _)| *own == name).map(|(_, shows)| Manner::Sessions(*shows));
        let manner = match graph.or_else(session) {
            Some(manner) => manner,
            None if OF_WHOLE_MODELS.contains(&name) => Manner::Models(faults(name)?),
            None => Manner::Nodes(faults(name)?),
        };
        with(id, manner)
    },
};

struct Planted {
    id: RuntimeId,
    right: Box<dyn Runtime>,
    manner: Manner,
}

/// The faults of a runtime, by what they apply to.
enum Manner {
    /// They apply to each node alone, as in a real runtime.
    Nodes(Vec<Fault>),
    /// They apply to the model as a whole.
    Models(Vec<Fault>),
    Graphs(&'static graphs::GraphFault),
    Sessions(Shows),
}

fn with(id: RuntimeId, manner: Manner) -> Result<Box<dyn Runtime>, OpenError> {
    Ok(Box::new(Planted { id, right: without_faults()?, manner }))
}

/// The in-house runtime with a fault of an operator.
fn with_call_fault(id: RuntimeId, fault: &'static CallFault) -> Box<dyn Runtime> {
    let evaluate = move |operator: &'static Operator,
                         opset: u8,
                         attributes: &[Attribute],
                         inputs: &[Option<Tensor>],
                         outputs: usize| {
        let call = SeenCall::new(operator, opset, attributes, inputs, outputs);
        if operator == fault.operator { (fault.takes_for_right)(call) } else { call.right() }
    };
    super::in_house::with(id, Box::new(evaluate))
}

/// The faults of a row.
fn faults(name: &str) -> Result<Vec<Fault>, OpenError> {
    let row = PLANTED.iter().find(|(own, _)| *own == name);
    let reason = || format!("there is no fault `{name}`; there are {}", NAMES.join(", "));
    row.map(|(_, faults)| faults.to_vec()).ok_or_else(|| OpenError::new(KIND.name, reason()))
}

/// The in-house runtime with faults planted in it, as a runtime of the kind `planted`.
pub(crate) fn with_faults(faults: &[Fault]) -> Result<Box<dyn Runtime>, OpenError> {
    with(id(), Manner::Nodes(faults.to_vec()))
}

/// The same at a version of its own.
#[cfg(test)]
pub(crate) fn release_with_faults(version: &str, faults: &[Fault]) -> Result<Box<dyn Runtime>, OpenError> {
    let id = RuntimeId { version: version.to_owned(), ..id() };
    with(id, Manner::Nodes(faults.to_vec()))
}

/// The same with faults that apply to the model as a whole.
#[cfg(test)]
pub(crate) fn on_whole_models(faults: &[Fault]) -> Result<Box<dyn Runtime>, OpenError> {
    with(id(), Manner::Models(faults.to_vec()))
}

/// The in-house runtime with other expectations, as a runtime of the kind `planted`.
#[cfg(test)]
pub(crate) fn with_opinion(evaluate: Box<super::in_house::Evaluate>) -> Box<dyn Runtime> {
    super::in_house::with(id(), evaluate)
}

/// The id of a runtime that is not one of the rows.
fn id() -> RuntimeId {
    RuntimeId { name: KIND.name.to_owned(), version: KIND.version.to_owned(), configuration: String::new() }
}

/// The in-house runtime with faults by name, such as `short-shape,wrong-type`.
pub(crate) fn named(list: &str) -> Result<Box<dyn Runtime>, OpenError> {
    with_faults(&list.split(',').map(faults).collect::<Result<Vec<_>, _>>()?.concat())
}

/// The in-house runtime.
pub(crate) fn without_faults() -> Result<Box<dyn Runtime>, OpenError> {
    Ok(open(&select(Some("in-house"))?)?.remove(0))
}

impl Runtime for Planted {
    fn id(&self) -> &RuntimeId {
        &self.id
    }

    fn execute(&mut self, job: &Job, done: &mut dyn FnMut(Execution)) {
        for run in 0..job.runs.len() {
            let own = job.only(run);
            done(match &self.manner {
                Manner::Nodes(faults) => execute_by_node(self.right.as_mut(), faults, &own),
                Manner::Models(faults) => execute_with(self.right.as_mut(), faults, &own),
                Manner::Graphs(fault) => {
                    let mut execution = execute_once(self.right.as_mut(), &own);
                    fault.apply(&own, &mut execution);
                    execution
                }
                Manner::Sessions(shows) => {
                    let mut execution = execute_once(self.right.as_mut(), &own);
                    if shows(job, run) {
                        graphs::spoil(&mut execution, |_| true);
                    }
                    execution
                }
            });
        }
    }
}

/// The execution of a job of one run, with faults.
fn execute_with(right: &mut dyn Runtime, faults: &[Fault], job: &Job) -> Execution {
    let mut execution = execute_once(right, job);
    match caught(|| faults.iter().for_each(|fault| fault(job, &mut execution))) {
        Ok(()) => execution,
        Err(message) => Execution::without_answer(Outcome::Panicked { stage: Stage::Run }, message),
    }
}

/// Executes each node alone, with the outputs of the nodes before it. The first execution that is no answer is that of the
/// job.
fn execute_by_node(right: &mut dyn Runtime, faults: &[Fault], job: &Job) -> Execution {
    let model = job.model.decode().unwrap_or_default();
    let graph = model.graph.clone().unwrap_or_default();
    let nodes: Vec<&NodeProto> = graph.node.iter().filter(|node| node.op_type.as_deref() != Some("Constant")).collect();
    // A fault expects the outputs of one node, without sources that are graph outputs too.
    if nodes.len() < 2 && nodes.iter().all(|node| node.output.len() >= graph.output.len()) {
        return execute_with(right, faults, job);
    }
    let mut values: HashMap<&str, Vec<Output>> =
        job.feeds(0).map(|(name, tensor)| (name, vec![Output::new(tensor.clone())])).collect();
    let mut declared: HashMap<&str, Declaration> = HashMap::new();
    for node in nodes {
        let execution = execute_with(right, faults, &alone(&model, &graph, node, &values));
        let Outcome::Answer(own) = execution.outcome else { return execution };
        let names = || node.output.iter().map(String::as_str);
        if own.len() == names().count() {
            values.extend(names().zip(own.into_iter().map(|output| vec![output])));
        } else {
            values.extend(names().take(1).map(|name| (name, own.clone())));
        }
        declared.extend(execution.declared.iter().flat_map(|own| names().zip(own.iter().cloned())));
    }
    let names = || graph.output.iter().filter_map(|info| info.name.as_deref());
    let open = Declaration { element_type: None, dims: None };
    let declared: Vec<Declaration> =
        names().map(|name| declared.get(name).cloned().unwrap_or_else(|| open.clone())).collect();
    // A source that is a graph output may be an initializer, or the output of a Constant node.
    let constant = |name: &str| {
        let of_node = graph.node.iter().filter(|node| node.output.first().is_some_and(|output| output == name));
        let tensors = of_node.flat_map(|node| &node.attribute).filter_map(|attribute| attribute.t.as_ref());
        let initializers = graph.initializer.iter().filter(|tensor| tensor.name.as_deref() == Some(name));
        let first = initializers.chain(tensors).next().and_then(|proto| tensor_proto::read(proto).ok());
        first.map(Output::new).into_iter().collect()
    };
    let outputs = names().flat_map(|name| values.get(name).cloned().unwrap_or_else(|| constant(name)));
    Execution::answer(outputs.collect(), declared)
}

/// The job of one node of a graph. The outputs of other nodes are fed.
fn alone(model: &ModelProto, graph: &GraphProto, node: &NodeProto, values: &HashMap<&str, Vec<Output>>) -> Job {
    let is_needed = |name: Option<&String>| name.is_some_and(|name| node.input.contains(name));
    let mut part = graph.clone();
    part.node.retain(|other| {
        other == node || is_needed(other.output.first()) && other.op_type.as_deref() == Some("Constant")
    });
    part.initializer.retain(|tensor| is_needed(tensor.name.as_ref()));
    part.input.retain(|info| is_needed(info.name.as_ref()));
    part.value_info.clear();
    let ranked = |name: Option<&String>| {
        let shape = Some(TensorShapeProto::default());
        let tensor_type = Some(TensorTypeProto { shape, ..TensorTypeProto::default() });
        ValueInfoProto {
            name: name.cloned(),
            r#type: Some(TypeProto { tensor_type, ..TypeProto::default() }),
            ..ValueInfoProto::default()
        }
    };
    let own = |name: &String| graph.output.iter().find(|info| info.name.as_ref() == Some(name)).cloned();
    part.output = node.output.iter().map(|name| own(name).unwrap_or_else(|| ranked(Some(name)))).collect();
    let mut inputs: Vec<&String> = node.input.iter().filter(|name| values.contains_key(name.as_str())).collect();
    inputs.dedup();
    for name in &inputs {
        if part.input.iter().all(|info| info.name.as_ref() != Some(name)) {
            part.input.push(ranked(Some(name)));
        }
    }
    let feeds = inputs
        .into_iter()
        .filter_map(|name| Some((name.as_str().into(), values.get(name.as_str())?.first()?.tensor.clone())));
    let feeds: Vec<(Arc<str>, Tensor)> = feeds.collect();
    Job::once(ModelProto { graph: Some(part), ..model.clone() }.encode_to_vec(), feeds)
}

pub(crate) fn is(job: &Job, operator: &str) -> bool {
    let graph = job.model.decode().ok().and_then(|model| model.graph);
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

fn refuse(execution: &mut Execution) {
    execution.outcome = Outcome::Refused { stage: Stage::Run, reason: Reason::Value };
}

/// The tensor with other bits in its elements; `None` for strings.
fn with_bits(tensor: &Tensor, change: impl Fn(usize, u128) -> u128) -> Option<Tensor> {
    let bits = (0..tensor.len()).map(|index| change(index, tensor.element_bits(index)));
    let is_packed = tensor.element_type() != ElementType::String;
    is_packed.then(|| Tensor::from_element_bits(tensor.element_type(), tensor.dims().to_vec(), bits).ok())?
}

/// The tensor with a wrong last element; `None` for strings.
fn wrong_last(tensor: &Tensor) -> Option<Tensor> {
    with_bits(tensor, |place, bits| bits ^ u128::from(place + 1 == tensor.len()))
}

/// Shape loses its last dim when there are three or more.
pub(crate) fn short_shape(job: &Job, execution: &mut Execution) {
    if is(job, "Shape") {
        let dims = answer(execution).and_then(Tensor::int64s).filter(|dims| dims.len() >= 3);
        give(execution, dims.map(|dims| Tensor::vector(&dims[..dims.len() - 1])));
    }
}

/// The Shape of a Reshape has a wrong last dim. A model in which another node follows is refused.
#[cfg(test)]
pub(crate) fn refuses_behind_a_wrong_shape(job: &Job, execution: &mut Execution) {
    let graph = job.model.decode().ok().and_then(|model| model.graph).unwrap_or_default();
    match graph.node.iter().map(NodeProto::op_type).collect::<Vec<_>>()[..] {
        ["Reshape", "Shape"] => {
            let wrong = answer(execution).and_then(wrong_last);
            give(execution, wrong);
        }
        ["Reshape", "Shape", ..] => refuse(execution),
        _ => {}
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
        refuse(execution);
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

/// Whether the job is a Flatten of zero-size data that was answered.
pub(crate) fn is_of_nothing(job: &Job, execution: &Execution) -> bool {
    is(job, "Flatten") && answer(execution).is_some_and(Tensor::is_empty)
}

/// Flatten panics on zero-size data.
pub(crate) fn panics_on_zero(job: &Job, execution: &mut Execution) {
    assert!(!is_of_nothing(job, execution), "there is nothing to flatten");
}

/// Flatten gives its output twice.
fn two_outputs(job: &Job, execution: &mut Execution) {
    if is(job, "Flatten")
        && let Outcome::Answer(outputs) = &mut execution.outcome
    {
        outputs.extend(outputs.clone());
    }
}

/// Flatten changes the last element of int64 data.
fn wrong_last_element(job: &Job, execution: &mut Execution) {
    let int64s = answer(execution).filter(|t| is(job, "Flatten") && t.element_type() == ElementType::Int64);
    give(execution, int64s.and_then(wrong_last));
}

/// Flatten gives a vector.
fn vector_for_matrix(job: &Job, execution: &mut Execution) {
    let matrix = answer(execution).filter(|_| is(job, "Flatten"));
    let vector = matrix.and_then(|t| t.with_dims(vec![i64::try_from(t.len()).ok()?]).ok());
    give(execution, vector);
}

/// Flatten declares one row more than it gives.
fn declares_another_row(job: &Job, execution: &mut Execution) {
    if let Some([rows, _]) = answer(execution).filter(|_| is(job, "Flatten")).map(Tensor::dims) {
        let dims = Some(vec![rows.checked_add(1), None]);
        execution.declared = Some([Declaration { element_type: None, dims }].into());
    }
}

/// A Flatten and a Shape in one model panic.
pub(crate) fn panics_on_shape_beside_flatten(job: &Job, _: &mut Execution) {
    assert!(!(is(job, "Flatten") && is(job, "Shape")), "a Shape beside a Flatten");
}

/// The node of an operator that gives a value.
fn giver<'a>(graph: &'a GraphProto, operator: &str, name: &String) -> Option<&'a NodeProto> {
    graph.node.iter().find(|node| node.op_type.as_deref() == Some(operator) && node.output.contains(name))
}

/// Reverses the dims of some outputs.
fn turn(job: &Job, execution: &mut Execution, is_turned: impl Fn(&GraphProto, &ValueInfoProto) -> bool) {
    let graph = job.model.decode().ok().and_then(|model| model.graph).unwrap_or_default();
    if let Outcome::Answer(outputs) = &mut execution.outcome {
        for (output, _) in outputs.iter_mut().zip(&graph.output).filter(|(_, info)| is_turned(&graph, info)) {
            let dims = output.tensor.dims().iter().rev().copied().collect();
            output.tensor = output.tensor.with_dims(dims).unwrap_or_else(|_| output.tensor.clone());
        }
    }
}

/// The name of the target of a Reshape that gives a graph output.
fn target<'a>(graph: &'a GraphProto, info: &ValueInfoProto) -> Option<&'a String> {
    giver(graph, "Reshape", info.name.as_ref()?)?.input.get(1)
}

/// Reverses the dims of the output of a Reshape whose target is the output of a Shape and no graph output.
fn turns_hidden_shape(job: &Job, execution: &mut Execution) {
    turn(job, execution, |graph, info| {
        let is_output = |name: &String| graph.output.iter().any(|info| info.name.as_ref() == Some(name));
        target(graph, info).is_some_and(|name| giver(graph, "Shape", name).is_some() && !is_output(name))
    });
}

/// Reverses the dims of the output of a Reshape whose target is a Concat of a Gather of a Shape, if the output is declared with
/// static dims.
pub(crate) fn fuses_computed_target(job: &Job, execution: &mut Execution) {
    turn(job, execution, |graph, info| {
        let concat = target(graph, info).and_then(|name| giver(graph, "Concat", name));
        let mut gathers = concat.iter().flat_map(|node| &node.input).filter_map(|name| giver(graph, "Gather", name));
        let is_chain = gathers.any(|node| node.input.first().is_some_and(|name| giver(graph, "Shape", name).is_some()));
        is_chain && has_static_dims(info)
    });
}

/// Reshape refuses unspecified calls.
fn refuses_open(job: &Job, execution: &mut Execution) {
    if is(job, "Reshape") && matches!(demand(job), Ok(Expectation::Unspecified { .. })) {
        refuse(execution);
    }
}

/// The same if nothing is fed.
fn refuses_open_unless_fed(job: &Job, execution: &mut Execution) {
    if job.inputs.is_empty() {
        refuses_open(job, execution);
    }
}

/// The same at the opset of Reshape-24.
fn refuses_open_at_one_version(job: &Job, execution: &mut Execution) {
    let imports = job.model.decode().map(|model| model.opset_import).unwrap_or_default();
    if imports.iter().any(|import| import.version == Some(24)) {
        refuses_open(job, execution);
    }
}

/// A Reshape to another number of elements is answered with the data as it is.
fn gives_data_as_it_is(job: &Job, execution: &mut Execution) {
    let data = job.feeds(0).next().filter(|(name, _)| !name.ends_with("shape")).map(|(_, data)| data.clone());
    if is(job, "Reshape") && matches!(demand(job), Ok(Expectation::Reject { rule: Rule::ELEMENT_COUNT, .. })) {
        give(execution, data);
    }
}

/// Flatten answers a negative axis at opsets that have none.
fn lenient_flatten(job: &Job, execution: &mut Execution) {
    if let Ok(Expectation::Reject { rule: Rule::NEGATIVE_AXIS, lenient: Some(outputs) }) = demand(job) {
        give(execution, outputs.into_iter().next());
    }
}

/// Quiet NaNs of float get another payload.
fn other_nan_payload(_: &Job, execution: &mut Execution) {
    const QUIET: u128 = 0x7fc0_0000;
    let floats = answer(execution).filter(|t| t.element_type() == ElementType::Float);
    let changed = floats.and_then(|t| with_bits(t, |_, bits| bits ^ u128::from(bits & QUIET == QUIET)));
    give(execution, changed);
}

/// Entries of a target shape that is fed at run lose their high 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "the planted fault")]
pub(crate) fn truncated_target(job: &Job, execution: &mut Execution) {
    if !is(job, "Reshape") {
        return;
    }
    let mut cut = job.clone();
    for tensor in cut.runs[0].iter_mut().skip(1) {
        let Some(numbers) = tensor.int64s() else { continue };
        let low = numbers.iter().map(|&number| i64::from(number as i32).cast_unsigned());
        if let Ok(cut) = Tensor::from_element_bits(ElementType::Int64, tensor.dims().to_vec(), low.map(u128::from)) {
            *tensor = cut;
        }
    }
    if let Ok(mut right) = without_faults() {
        *execution = execute_once(right.as_mut(), &cut);
    }
}

/// Whether the model has a node of an operator and the data meets a condition.
fn is_with_data(job: &Job, operator: &str, holds: impl Fn(&Tensor) -> bool) -> bool {
    is(job, operator) && job.feeds(0).next().is_some_and(|(name, fed)| !name.ends_with("shape") && holds(fed))
}

/// Whether it is the third Flatten of a process.
fn is_third_flatten(job: &Job) -> bool {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    is(job, "Flatten") && SEEN.fetch_add(1, Ordering::Relaxed) == 2
}

/// The third Flatten of a process aborts.
fn abort_on_third_flatten(job: &Job, _: &mut Execution) {
    if is_third_flatten(job) {
        std::process::abort();
    }
}

/// The third Flatten of a process has other bits.
fn wrong_on_third_flatten(job: &Job, execution: &mut Execution) {
    if is_third_flatten(job) {
        let flipped = answer(execution).and_then(|tensor| with_bits(tensor, |_, bits| !bits));
        give(execution, flipped);
    }
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
        // SAFETY: this is not safe, on purpose: it is the planted fault.
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
