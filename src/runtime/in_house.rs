//! The in-house implementation as a runtime: it reads the model as any runtime would, so a fault in how models are
//! written shows as a runtime that disagrees with its own specification.

use std::collections::HashMap;

use prost::Message;

use super::{
    Class, Declaration, Execution, Gap, Kind, Outcome, Output, Phrase, Reason, Runtime, RuntimeId, Stage, Supply,
};
use crate::model::proto::{GraphProto, ModelProto, NodeProto, attribute_type};
use crate::model::{Job, read_attribute, tensor_proto};
use crate::operator::{Expectation, Operator, Rule};
use crate::tensor::Tensor;

pub(super) static KIND: Kind = Kind {
    name: "in-house",
    version: env!("CARGO_PKG_VERSION"),
    configurations: &[""],
    supply: Supply::Linked,
    known: include_str!("../../known/in-house.toml"),
    open: |row| Ok(Box::new(InHouse { id: row.id.clone() })),
};

struct InHouse {
    id: RuntimeId,
}

/// It fails in its own words only, so this table is complete.
const PHRASES: &[Phrase] = &[
    (&["no operator `"], Class::Unsupported(Gap::Kernel)),
    (&["opset"], Class::Unsupported(Gap::Opset)),
    (&[""], Class::Refused(Reason::Graph)),
];

impl Runtime for InHouse {
    fn id(&self) -> &RuntimeId {
        &self.id
    }

    fn execute(&mut self, jobs: &[Job]) -> Vec<Execution> {
        jobs.iter().map(execute).collect()
    }
}

fn execute(job: &Job) -> Execution {
    match run(job) {
        Ok(execution) => execution,
        Err(message) => Execution::failure(Stage::Load, message, PHRASES, None),
    }
}

fn run(job: &Job) -> Result<Execution, String> {
    let model = ModelProto::decode(&job.model[..]).map_err(|error| format!("not a model: {error}"))?;
    let opset = model.opset_import.iter().find(|import| import.domain.as_deref().unwrap_or("").is_empty());
    let opset = opset.and_then(|import| import.version).ok_or("no opset of the default domain is imported")?;
    let opset = u8::try_from(opset).map_err(|_| format!("opset {opset} is out of range"))?;
    let graph = model.graph.as_ref().ok_or("the model has no graph")?;
    let mut values = constants(graph)?;
    values.extend(job.feeds.iter().map(|(name, tensor)| (name.as_str(), tensor.clone())));
    for node in &graph.node {
        if node.op_type.as_deref() == Some("Constant") {
            continue;
        }
        match evaluate(node, opset, &values)? {
            Ok(outputs) => values.extend(node.output.iter().map(String::as_str).zip(outputs)),
            Err(rule) => return Ok(refusal(rule)),
        }
    }
    let outputs = graph.output.iter().map(|output| {
        let name = output.name.as_deref().unwrap_or("");
        values.get(name).cloned().ok_or_else(|| format!("nothing gives the output `{name}`"))
    });
    let outputs = outputs.collect::<Result<Vec<Tensor>, String>>()?;
    let declared = outputs.iter().map(|tensor| Declaration {
        element_type: Some(tensor.element_type()),
        dims: Some(tensor.dims().iter().map(|&d| Some(d)).collect()),
    });
    let declared = declared.collect();
    Ok(Execution::answer(outputs.into_iter().map(Output::new).collect(), declared))
}

/// The initializers and the outputs of Constant nodes.
fn constants(graph: &GraphProto) -> Result<HashMap<&str, Tensor>, String> {
    let initializers = graph.initializer.iter().map(|proto| (proto.name.as_deref().unwrap_or(""), proto));
    let nodes = graph.node.iter().filter(|node| node.op_type.as_deref() == Some("Constant")).filter_map(|node| {
        let value = node.attribute.iter().find(|a| a.r#type == Some(attribute_type::TENSOR))?;
        Some((node.output.first()?.as_str(), value.t.as_ref()?))
    });
    initializers
        .chain(nodes)
        .map(|(name, proto)| tensor_proto::read(proto).map(|t| (name, t)).map_err(|error| format!("`{name}`: {error}")))
        .collect()
}

fn evaluate(node: &NodeProto, opset: u8, values: &HashMap<&str, Tensor>) -> Result<Result<Vec<Tensor>, Rule>, String> {
    let op_type = node.op_type.as_deref().unwrap_or("");
    let operator: &'static Operator = op_type.parse().map_err(|error| format!("{error}"))?;
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
    let expectation = operator.evaluate(opset, &attributes, &inputs);
    Ok(match expectation.outputs() {
        Some(outputs) => Ok(outputs.to_vec()),
        None => Err(match expectation {
            Expectation::Reject { rule, .. } | Expectation::Unspecified { rule, .. } => rule,
            Expectation::Defined(_) => unreachable!("a defined expectation has outputs"),
        }),
    })
}

fn refusal(rule: Rule) -> Execution {
    let reason = match rule {
        Rule::UndeclaredAttribute | Rule::AttributeKind | Rule::DuplicateAttribute => Reason::Attribute,
        Rule::InputCount | Rule::EmptyInput => Reason::Inputs,
        Rule::ElementType | Rule::ShapeType => Reason::ElementType,
        Rule::VastDims => Reason::Size,
        _ => Reason::Value,
    };
    let outcome = Outcome::Refused { stage: Stage::Run, reason };
    Execution { outcome, message: format!("{rule}: {}", rule.text().sentence), declared: None }
}
