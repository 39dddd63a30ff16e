//! The case that a model is, where it is one: the way back from a model that was not made of a case.

use prost::Message;

use super::proto::{DimensionValue, GraphProto, ModelProto, TensorProto, attribute_type};
use super::{Job, read_attribute};
use crate::case::{Case, Contents, Declared, Encoding, Fed, MAX_RANK, Operand, Single, Wiring};
use crate::operator::NEWEST_OPSET;
use crate::tensor::Tensor;

/// The case that a job is, if its model has one node beside Constant nodes, of an operator that is implemented in-house.
/// The data is no part of it: no operator here looks at that, and it may be large. `None` for any other model.
pub fn case(job: &Job) -> Option<Case> {
    let model = ModelProto::decode(&job.model[..]).ok()?;
    let opset = model.opset_import.iter().find(|import| import.domain.as_deref().unwrap_or("").is_empty())?.version?;
    let opset = u8::try_from(opset).ok().filter(|opset| (1..=NEWEST_OPSET).contains(opset))?;
    let ir = model.ir_version.unwrap_or(0);
    let graph = model.graph?;
    let mut nodes = graph.node.iter().filter(|node| node.op_type.as_deref() != Some("Constant"));
    let (Some(node), None) = (nodes.next(), nodes.next()) else { return None };
    if !matches!(node.domain.as_deref(), None | Some("" | "ai.onnx")) {
        return None;
    }
    let operand = |name: &String| if name.is_empty() { Some(None) } else { operand(name, &graph, ir, job).map(Some) };
    let single = Single {
        operator: node.op_type.as_deref()?.parse().ok()?,
        opset,
        attributes: node.attribute.iter().map(read_attribute).collect::<Option<_>>()?,
        operands: node.input.iter().map(operand).collect::<Option<_>>()?,
    };
    Some(single.into())
}

/// What reaches a node under a name, in a graph of an IR version.
fn operand(name: &str, graph: &GraphProto, ir: i64, job: &Job) -> Option<Operand> {
    let fed = job.feeds(0).find(|(fed, _)| fed == &name).map(|(_, tensor)| tensor.clone());
    let read = |proto: &TensorProto, wiring: fn(Encoding) -> Wiring| {
        let encoding = if proto.raw_data.is_some() { Encoding::Raw } else { Encoding::Typed };
        Some((super::tensor_proto::read(proto).ok()?, wiring(encoding)))
    };
    let is_default = ir >= 4 && graph.input.iter().any(|input| input.name.as_deref() == Some(name));
    let initializer = graph.initializer.iter().find(|proto| proto.name.as_deref() == Some(name));
    let (tensor, wiring) = if let Some(tensor) = fed {
        (tensor, initializer.map_or_else(|| Wiring::Input(declared(name, graph)), |_| Wiring::Default(Fed::Operand)))
    } else if let Some(proto) = initializer {
        // Of strings there is but one encoding. Of other types the typed one matters more than that it could be fed.
        let is_usual = proto.raw_data.is_some() || !proto.string_data.is_empty();
        let wiring = if is_default && is_usual { |_| Wiring::Default(Fed::Nothing) } else { Wiring::Initializer };
        read(proto, wiring)?
    } else {
        let node = graph.node.iter().find(|node| node.output.iter().any(|output| output == name))?;
        let value = node.attribute.iter().find(|attribute| attribute.r#type == Some(attribute_type::TENSOR))?;
        read(value.t.as_ref()?, Wiring::Constant)?
    };
    Some(Operand {
        element_type: tensor.element_type(),
        dims: tensor.dims().to_vec(),
        contents: contents(&tensor),
        wiring,
    })
}

/// The elements of what may be a target shape; anything for what is too large to be one.
fn contents(tensor: &Tensor) -> Contents {
    if tensor.len() <= MAX_RANK { Contents::of(tensor) } else { Contents::Random(0) }
}

/// How the dims of a graph input are declared.
fn declared(name: &str, graph: &GraphProto) -> Declared {
    let input = graph.input.iter().find(|input| input.name.as_deref() == Some(name));
    let tensor_type = input.and_then(|input| input.r#type.as_ref()?.tensor_type.as_ref());
    let Some(shape) = tensor_type.and_then(|tensor_type| tensor_type.shape.as_ref()) else { return Declared::Unranked };
    let symbols = shape.dim.iter().filter_map(|dim| match &dim.value {
        Some(DimensionValue::Symbol(symbol)) => Some(symbol),
        _ => None,
    });
    let mut symbols: Vec<&String> = symbols.collect();
    symbols.sort_unstable();
    if shape.dim.iter().all(|dim| matches!(dim.value, Some(DimensionValue::Size(_)))) {
        Declared::Static
    } else if symbols.windows(2).any(|two| two[0] == two[1]) {
        Declared::Shared
    } else {
        Declared::Symbolic
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Features, Generator};
    use crate::model::job;

    #[test]
    fn a_model_that_was_made_of_a_case_is_a_case_with_all_its_features() {
        let generator = Generator::default();
        let mut seen = 0;
        for generated in (0..3000).map(|index| generator.case(3, index).case) {
            // What reaches no node is not in the model, nor is how a dim is declared where there is none.
            let Some(read) = case(&job(&generated, &generated.tensors())) else { continue };
            seen += 1;
            assert_eq!((read.opset, &read.nodes), (generated.opset, &generated.nodes), "{generated}");
            let is_plain = generated.sources.iter().all(|operand| !operand.dims.is_empty());
            let has_shared = generated.to_string().contains(":input(shared)");
            if is_plain && !has_shared {
                assert!(Features::of(&generated).are_within(&Features::of(&read)), "{generated} was read as {read}");
            }
        }
        assert!(seen > 2000, "only {seen} models were read");
    }

    #[test]
    fn a_model_of_two_nodes_is_no_case() {
        let generated: Case = "Shape@15 float[2]".parse().unwrap();
        let mut job = job(&generated, &generated.tensors());
        let mut model = ModelProto::decode(&job.model[..]).unwrap();
        let graph = model.graph.as_mut().unwrap();
        graph.node.push(graph.node[0].clone());
        job.model = model.encode_to_vec().into();
        assert_eq!(case(&job), None);
    }
}
