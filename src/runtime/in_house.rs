//! The in-house implementation as a runtime. It reads the model as any runtime would. So a fault in how models are written shows
//! as a runtime that disagrees with its own specification.

use std::collections::HashMap;

use super::{
    Class, Declaration, Execution, Gap, Kind, Outcome, Output, Phrase, Reason, Runtime, RuntimeId, Stage, Supply,
};
use crate::model::proto::{GraphProto, NodeProto, ValueInfoProto, attribute_type};
use crate::model::read::{self, Reading};
use crate::model::{Job, Serialized, read_attribute, tensor_proto};
use crate::operator::{Answer, Attribute, Expectation, NEWEST_OPSET, Operator, Rule, may_be_constant};
use crate::tensor::Tensor;

pub(super) static KIND: Kind = Kind {
    name: "in-house",
    version: env!("CARGO_PKG_VERSION"),
    configurations: &[""],
    stages: &[],
    passes: &[],
    supply: Supply::Linked,
    known: include_str!("../../known/in-house.toml"),
    open: |row| Ok(Box::new(InHouse { id: row.id.clone(), evaluate: Box::new(Operator::evaluate) })),
};

struct InHouse {
    id: RuntimeId,
    evaluate: Box<Evaluate>,
}

/// The expectation of a call, from the opset, the attributes, the inputs and the number of outputs.
pub(crate) type Evaluate = dyn Fn(&'static Operator, u8, &[Attribute], &[Option<Tensor>], usize) -> Expectation;

/// The in-house runtime with other expectations, under an id.
#[cfg(any(test, feature = "planted"))]
pub(super) fn with(id: RuntimeId, evaluate: Box<Evaluate>) -> Box<dyn Runtime> {
    Box::new(InHouse { id, evaluate })
}

/// A decoded model.
struct Model {
    graph: GraphProto,
    opset: u8,
    /// The initializers and the outputs of Constant nodes, by name.
    constants: Vec<(String, Tensor)>,
}

/// All its messages are written here, so this table is complete.
const PHRASES: &[Phrase] = &[
    (&["no operator `"], Class::Unsupported(Gap::Kernel)),
    (&["opset"], Class::Unsupported(Gap::Opset)),
    (&[""], Class::Refused(Reason::Graph)),
];

impl Runtime for InHouse {
    fn id(&self) -> &RuntimeId {
        &self.id
    }

    fn execute(&mut self, job: &Job, done: &mut dyn FnMut(Execution)) {
        let failed = |message| Execution::failure(Stage::Load, message, PHRASES, None);
        match Model::read(&job.model) {
            Ok(model) => {
                let run = |run: usize| self::run(&model, job.feeds(run), &self.evaluate).unwrap_or_else(failed);
                (0..job.runs.len()).for_each(|number| done(run(number)));
            }
            Err(message) => done(failed(message)),
        }
    }
}

fn run<'a>(
    model: &'a Model,
    feeds: impl Iterator<Item = (&'a str, &'a Tensor)>,
    evaluate: &Evaluate,
) -> Result<Execution, String> {
    let mut values = model.values(feeds);
    for node in nodes(&model.graph) {
        let expectation = expectation(node, model.opset, &values, evaluate)?;
        match (expectation.outputs(), expectation.rule()) {
            (Some(outputs), _) => values.extend(node.output.iter().map(String::as_str).zip(outputs.to_vec())),
            (None, Some(rule)) if rule.is_out_of_reach() => {
                return Err(format!(
                    "no operator `{}` here for what it is given",
                    node.op_type.as_deref().unwrap_or("")
                ));
            }
            (None, Some(rule)) => return Ok(refusal(rule)),
            (None, None) => unreachable!("a defined expectation has outputs"),
        }
    }
    let outputs = outputs(&model.graph, &values)?;
    let declared = outputs.iter().map(|tensor| Declaration {
        element_type: Some(tensor.element_type()),
        dims: Some(tensor.dims().iter().map(|&d| Some(d)).collect()),
    });
    let declared: Vec<Declaration> = declared.collect();
    Ok(Execution::answer(outputs.into_iter().map(Output::new).collect(), declared))
}

/// The expectation of the specification for the first run of a job. There is one if the model is a case. There is also one if all
/// operators are implemented here, and each node is defined or is the only node. Otherwise the error says why there is none.
pub(crate) fn demand(job: &Job) -> Result<Expectation, String> {
    let expectation = match read::case(job) {
        Ok(Reading { case, tensors }) => case.expectation(&tensors),
        Err(_) => by_node(job)?,
    };
    match &expectation {
        Expectation::Unspecified { rule, tolerated } if tolerated.contains(&Answer::Any) => {
            Err(format!("any answer will do ({rule}): {}", rule.text().sentence))
        }
        _ => Ok(expectation),
    }
}

/// The same for a model that is no case.
fn by_node(job: &Job) -> Result<Expectation, String> {
    let (graph, opset) = decode(&job.model)?;
    if opset > NEWEST_OPSET {
        return Err(format!("opset {opset} is newer than {NEWEST_OPSET}, the newest that is known here"));
    }
    // An unknown operator is the reason to give, whatever else cannot be read.
    nodes(&graph).try_for_each(|node| known(node).map(|_| ()))?;
    let model = Model { constants: constants(&graph)?, graph, opset };
    let broken = rule_on_the_graph(&model);
    let in_graph = |expectation: Expectation| match broken {
        Some(rule) => expectation.in_invalid_graph(rule),
        None => expectation,
    };
    let mut values = model.values(job.feeds(0));
    for node in nodes(&model.graph) {
        match expectation(node, opset, &values, &Operator::evaluate)? {
            Expectation::Defined(outputs) => values.extend(node.output.iter().map(String::as_str).zip(outputs)),
            open if nodes(&model.graph).count() == 1 => return Ok(in_graph(open)),
            open => {
                let rule = open.rule().map(|rule| rule.to_string()).unwrap_or_default();
                return Err(format!("one node among others is invalid or left open ({rule})"));
            }
        }
    }
    outputs(&model.graph, &values).map(Expectation::Defined).map(in_graph)
}

/// The rule that the graph breaks around its nodes.
fn rule_on_the_graph(Model { graph, opset, constants }: &Model) -> Option<Rule> {
    let has_rank = |info: &ValueInfoProto| {
        info.r#type.as_ref().and_then(|t| t.tensor_type.as_ref()).is_some_and(|t| t.shape.is_some())
    };
    let is_initializer = |name: &str| graph.initializer.iter().any(|proto| proto.name.as_deref() == Some(name));
    let is_listed =
        |(name, tensor): &(String, Tensor)| is_initializer(name) || may_be_constant(tensor.element_type(), *opset);
    if !graph.input.iter().chain(&graph.output).all(has_rank) {
        Some(Rule::UNRANKED)
    } else if !constants.iter().all(is_listed) {
        Some(Rule::CONSTANT_TYPE)
    } else {
        None
    }
}

impl Model {
    fn read(model: &Serialized) -> Result<Model, String> {
        let (graph, opset) = decode(model)?;
        Ok(Model { constants: constants(&graph)?, graph, opset })
    }

    /// The values before the first node: constants, and feeds in place of defaults.
    fn values<'a>(&'a self, feeds: impl Iterator<Item = (&'a str, &'a Tensor)>) -> HashMap<&'a str, Tensor> {
        let constants = self.constants.iter().map(|(name, tensor)| (name.as_str(), tensor.clone()));
        constants.chain(feeds.map(|(name, tensor)| (name, tensor.clone()))).collect()
    }
}

/// The nodes of a graph other than Constant nodes.
fn nodes(graph: &GraphProto) -> impl Iterator<Item = &NodeProto> {
    graph.node.iter().filter(|node| node.op_type.as_deref() != Some("Constant"))
}

/// The graph of a model, and its opset.
fn decode(model: &Serialized) -> Result<(GraphProto, u8), String> {
    let model = model.decode_whole().map_err(|error| format!("not a model: {error}"))?;
    let opset = model.opset_import.iter().find(|import| import.domain.as_deref().unwrap_or("").is_empty());
    let opset = opset.and_then(|import| import.version).ok_or("no opset of the default domain is imported")?;
    let opset = u8::try_from(opset).map_err(|_| format!("opset {opset} is out of range"))?;
    Ok((model.graph.ok_or("the model has no graph")?, opset))
}

fn outputs(graph: &GraphProto, values: &HashMap<&str, Tensor>) -> Result<Vec<Tensor>, String> {
    let outputs = graph.output.iter().map(|output| {
        let name = output.name.as_deref().unwrap_or("");
        values.get(name).cloned().ok_or_else(|| format!("nothing gives the output `{name}`"))
    });
    outputs.collect()
}

/// The initializers and the outputs of Constant nodes, by name.
fn constants(graph: &GraphProto) -> Result<Vec<(String, Tensor)>, String> {
    let initializers = graph.initializer.iter().map(|proto| (proto.name.as_deref().unwrap_or(""), proto));
    let nodes = graph.node.iter().filter(|node| node.op_type.as_deref() == Some("Constant")).filter_map(|node| {
        let value = node.attribute.iter().find(|a| a.r#type == Some(attribute_type::TENSOR))?;
        Some((node.output.first()?.as_str(), value.t.as_ref()?))
    });
    initializers
        .chain(nodes)
        .map(|(name, proto)| {
            tensor_proto::read(proto).map(|t| (name.to_owned(), t)).map_err(|error| format!("`{name}`: {error}"))
        })
        .collect()
}

/// The operator of a node.
fn known(node: &NodeProto) -> Result<&'static Operator, String> {
    let op_type = node.op_type.as_deref().unwrap_or("");
    match node.domain.as_deref().unwrap_or("") {
        "" | "ai.onnx" => op_type.parse().map_err(|error| format!("{error}")),
        domain => Err(format!("no operator `{domain}.{op_type}` here: only the default domain is known")),
    }
}

fn expectation(
    node: &NodeProto,
    opset: u8,
    values: &HashMap<&str, Tensor>,
    evaluate: &Evaluate,
) -> Result<Expectation, String> {
    let operator = known(node)?;
    let attributes = node.attribute.iter().map(|proto| {
        read_attribute(proto)
            .ok_or_else(|| format!("attribute `{}` cannot be read", proto.name.as_deref().unwrap_or("")))
    });
    let attributes = attributes.collect::<Result<Vec<_>, String>>()?;
    let inputs = node.input.iter().map(|name| match (name.as_str(), values.get(name.as_str())) {
        ("", _) => Ok(None),
        (_, Some(tensor)) => Ok(Some(tensor.clone())),
        (name, None) => Err(format!("nothing gives the input `{name}`")),
    });
    let inputs = inputs.collect::<Result<Vec<_>, String>>()?;
    Ok(evaluate(operator, opset, &attributes, &inputs, node.output.len()))
}

fn refusal(rule: Rule) -> Execution {
    let reason = rule.text().topics.first().map_or(Reason::Unstated, |&topic| Reason::from(topic));
    let outcome = Outcome::Refused { stage: Stage::Run, reason };
    Execution::without_answer(outcome, format!("{rule}: {}", rule.text().sentence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;
    use crate::model;
    use crate::runtime::execute_once;

    #[test]
    fn what_is_fed_holds_over_the_default() {
        let row = &super::super::select(Some("in-house")).unwrap()[0];
        for line in [
            "Flatten@28 float[2,3]:default",
            "Flatten@28 float[2,3]:default(overridden)",
            "Reshape@28 float[2,3]:default(overridden) int64[2]{3,2}:default(overridden)",
        ] {
            let case: Case = line.parse().unwrap();
            let job = model::job(&case, &case.tensors());
            let expected = case.expectation(&case.tensors());
            let mut runtime = (KIND.open)(row).unwrap();
            let Outcome::Answer(outputs) = execute_once(runtime.as_mut(), &job).outcome else { panic!("{line}") };
            let given: Vec<Tensor> = outputs.into_iter().map(|output| output.tensor).collect();
            assert_eq!(expected.outputs(), Some(&given[..]), "{line}");
            assert_eq!(demand(&job), Ok(expected), "{line}");
        }
    }
}
