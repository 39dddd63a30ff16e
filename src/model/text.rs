//! A model in the text syntax of ONNX, as `onnx.parser` reads it.
//!
//! The syntax has no `raw_data`: the elements of a tensor are read into the field of its type. Everything else is read as it was
//! before.

use std::fmt::Write as _;

use super::proto::{
    AttributeProto, DimensionValue, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, attribute_type,
};
use super::tensor_proto;
use crate::case::Encoding;
use crate::tensor::ElementType;

/// The most elements of a tensor that are written. Nobody reads more.
const MAX_ELEMENTS: usize = 1024;

/// A part of a model that the syntax cannot express, or only at a length that nobody reads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Inexpressible(String);

type Text = Result<String, Inexpressible>;

/// The text of a model.
///
/// # Errors
/// If the syntax cannot express a part of it; the error names the part.
pub fn text(model: &ModelProto) -> Text {
    let mut header = vec![format!("ir_version: {}", model.ir_version.unwrap_or(0))];
    let opsets = model.opset_import.iter().map(|opset| {
        let domain = quoted(opset.domain.as_deref().unwrap_or("").as_bytes())?;
        Ok(format!("{domain} : {}", opset.version.unwrap_or(0)))
    });
    header.push(format!("opset_import: [{}]", opsets.collect::<Result<Vec<_>, _>>()?.join(", ")));
    if let Some(producer) = &model.producer_name {
        header.push(format!("producer_name: {}", quoted(producer.as_bytes())?));
    }
    let graph = model.graph.as_ref().ok_or_else(|| Inexpressible("a model without a graph".to_owned()))?;
    Ok(format!("<\n  {}\n>\n{}", header.join(",\n  "), graph_text(graph)?))
}

fn graph_text(graph: &GraphProto) -> Text {
    let values =
        |values: &[ValueInfoProto]| -> Text { Ok(values.iter().map(value).collect::<Result<Vec<_>, _>>()?.join(", ")) };
    let name = identifier(graph.name.as_deref().unwrap_or(""))?;
    let mut text = format!("{name} ({}) => ({})", values(&graph.input)?, values(&graph.output)?);
    let known = graph.initializer.iter().map(tensor).chain(graph.value_info.iter().map(value));
    let known = known.collect::<Result<Vec<_>, _>>()?;
    if !known.is_empty() {
        let _ = write!(text, "\n<\n  {}\n>", known.join(",\n  "));
    }
    let nodes = graph.node.iter().map(node).collect::<Result<Vec<_>, _>>()?;
    let _ = write!(text, "\n{{\n  {}\n}}", nodes.join("\n  "));
    Ok(text)
}

fn value(value: &ValueInfoProto) -> Text {
    let tensor = value.r#type.as_ref().and_then(|t| t.tensor_type.as_ref());
    let tensor = tensor.ok_or_else(|| Inexpressible("a value that is no tensor".to_owned()))?;
    let dims = tensor.shape.as_ref().map(|shape| {
        let dim = |dim: &Option<DimensionValue>| match dim {
            Some(DimensionValue::Size(size)) => Ok(size.to_string()),
            Some(DimensionValue::Symbol(symbol)) => identifier(symbol),
            None => Ok("?".to_owned()),
        };
        shape.dim.iter().map(|d| dim(&d.value)).collect::<Result<Vec<_>, _>>()
    });
    // No brackets stand for a scalar; empty brackets leave the rank open.
    let dims = match dims.transpose()? {
        None => "[]".to_owned(),
        Some(dims) => bracketed(&dims),
    };
    let name = identifier(value.name.as_deref().unwrap_or(""))?;
    Ok(format!("{}{dims} {name}", type_name(tensor.elem_type)?))
}

fn bracketed(dims: &[String]) -> String {
    if dims.is_empty() { String::new() } else { format!("[{}]", dims.join(", ")) }
}

fn type_name(number: Option<i32>) -> Text {
    let element_type = ElementType::from_data_type(number.unwrap_or(0));
    let name = element_type.map(|element_type| element_type.name().to_owned());
    name.ok_or_else(|| Inexpressible(format!("the element type {number:?}")))
}

fn node(node: &NodeProto) -> Text {
    let names = |names: &[String], empty: &str| -> Text {
        let name = |name: &String| if name.is_empty() { Ok(empty.to_owned()) } else { identifier(name) };
        Ok(names.iter().map(name).collect::<Result<Vec<_>, _>>()?.join(", "))
    };
    if node.domain.as_deref().is_some_and(|domain| !domain.is_empty()) {
        return Err(Inexpressible("a node of another domain".to_owned()));
    }
    let mut text = String::new();
    if let Some(name) = &node.name {
        let _ = write!(text, "[{}] ", identifier(name)?);
    }
    let op_type = identifier(node.op_type.as_deref().unwrap_or(""))?;
    let _ = write!(text, "{} = {op_type}", names(&node.output, "\"\"")?);
    if !node.attribute.is_empty() {
        let attributes = node.attribute.iter().map(attribute).collect::<Result<Vec<_>, _>>()?;
        let _ = write!(text, " <{}>", attributes.join(", "));
    }
    let _ = write!(text, " ({})", names(&node.input, "\"\"")?);
    Ok(text)
}

fn attribute(attribute: &AttributeProto) -> Text {
    let name = identifier(attribute.name.as_deref().unwrap_or(""))?;
    Ok(match attribute.r#type {
        Some(attribute_type::INT) => format!("{name}: int = {}", attribute.i.unwrap_or(0)),
        Some(attribute_type::FLOAT) => {
            format!("{name}: float = {}", float(f64::from(attribute.f.unwrap_or(0.0)), true)?)
        }
        Some(attribute_type::STRING) => format!("{name}: string = {}", quoted(attribute.s.as_deref().unwrap_or(&[]))?),
        Some(attribute_type::INTS) => format!("{name}: ints = [{}]", joined(&attribute.ints)),
        Some(attribute_type::TENSOR) => match &attribute.t {
            Some(value) => format!("{name}: tensor = {}", tensor(value)?),
            None => return Err(Inexpressible("an attribute without its value".to_owned())),
        },
        other => return Err(Inexpressible(format!("an attribute of the kind {other:?}"))),
    })
}

fn tensor(proto: &TensorProto) -> Text {
    let broken = |error| Inexpressible(format!("a tensor that cannot be read: {error}"));
    let contents = tensor_proto::read(proto).map_err(broken)?;
    if contents.len() > MAX_ELEMENTS {
        return Err(Inexpressible(format!("{} elements, which nobody reads", contents.len())));
    }
    let typed = tensor_proto::write("", &contents, Encoding::Typed);
    let floats = typed.float_data.iter().map(|&value| float(f64::from(value), true));
    let doubles = typed.double_data.iter().map(|&value| float(value, false));
    let strings = typed.string_data.iter().map(|bytes| quoted(bytes));
    let elements = floats.chain(doubles).chain(strings).collect::<Result<Vec<_>, _>>()?;
    let numbers = [joined(&typed.int32_data), joined(&typed.int64_data), joined(&typed.uint64_data)];
    let elements = [elements.join(", ")].into_iter().chain(numbers).collect::<String>();
    let dims: Vec<String> = proto.dims.iter().map(ToString::to_string).collect();
    // The value of an attribute has no name.
    let name = match proto.name.as_deref() {
        None | Some("") => String::new(),
        Some(name) => format!("{} = ", identifier(name)?),
    };
    Ok(format!("{}{} {name}{{{elements}}}", type_name(proto.data_type)?, bracketed(&dims)))
}

fn joined<T: ToString>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A number as text that is read back as the same bits; `single` if the number has 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "the value was one of 32 bits")]
fn float(value: f64, single: bool) -> Text {
    let is_subnormal = if single { (value as f32).is_subnormal() } else { value.is_subnormal() };
    if value.is_nan() {
        return Err(Inexpressible("the bits of a NaN".to_owned()));
    }
    if is_subnormal {
        return Err(Inexpressible("a subnormal number, which the parser takes for out of range".to_owned()));
    }
    Ok(if single { format!("{:?}", value as f32) } else { format!("{value:?}") })
}

fn identifier(name: &str) -> Text {
    let mut characters = name.chars();
    let is_first = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if is_first && characters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        Ok(name.to_owned())
    } else {
        Err(Inexpressible(format!("the name {name:?}, which is no identifier")))
    }
}

fn quoted(bytes: &[u8]) -> Text {
    match str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => {
            Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
        }
        _ => Err(Inexpressible("a string with control characters or without UTF-8".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;
    use crate::model::job;

    fn of(line: &str) -> Text {
        let case: Case = line.parse().unwrap();
        text(&job(&case, &case.tensors()).model.decode().unwrap())
    }

    #[test]
    fn the_value_of_an_attribute_has_no_name() {
        let text = of("ConstantOfShape@26 value=int64[1]{7} int64[1]{2}").unwrap();
        assert!(text.contains("output = ConstantOfShape <value: tensor = int64[1] {7}> (input)"), "{text}");
    }

    #[test]
    fn a_model_is_written_as_people_read_it() {
        let text =
            of("Reshape@14 allowzero=1 allowzero=0 float[0,3]:input(symbolic) int64[2]{3,-1}:initializer _").unwrap();
        insta::assert_snapshot!(text, @r#"
        <
          ir_version: 7,
          opset_import: ["" : 14],
          producer_name: "onnx-crosscheck"
        >
        crosscheck (float[data_0, data_1] data) => (float[output_0, output_1] output)
        <
          int64[2] shape = {3, -1}
        >
        {
          [Reshape_output] output = Reshape <allowzero: int = 1, allowzero: int = 0> (data, shape, "")
        }
        "#);
    }

    #[test]
    fn what_has_no_text_is_said() {
        let why = |line: &str| of(line).unwrap_err().to_string();
        assert_eq!(why("Shape@28 float[1]{0x7fc00001}:initializer"), "the bits of a NaN");
        assert!(why("Shape@28 double[1]{5e-324}:initializer").contains("subnormal"));
        assert!(why(r#"Shape@28 string[1]{"\u0000"}:initializer"#).contains("control characters"));
        assert!(why("Shape@28 float[2000]:initializer").contains("2000 elements"));
        assert!(of("Shape@28 float[2]{1.0e38,-0.0}:initializer").unwrap().contains("{1e38, -0.0}"));
    }
}
