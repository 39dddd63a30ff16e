//! The failing test of a report, as the project that receives the report writes its tests.

use std::sync::Arc;

use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Serialize;

use super::outside::{self, Form};
use super::reproducer::{Check, Reproducer};
use super::template::render;
use crate::case::{Declared, Operand, Shown, Value as Edge, Wiring};
use crate::model;
use crate::operator::{Attribute, AttributeValue, Expectation};
use crate::tensor::{ElementType, Elements, Tensor};
use crate::verdict::Discrepancy;

/// A test, and where it belongs.
#[derive(Clone, Debug, Serialize)]
pub(super) struct UnitTest {
    /// Its file in the folder of the report.
    pub file: &'static str,
    /// The comment at the head of the file, which says what is wrong.
    pub head: String,
    /// The text after it.
    pub text: String,
    /// The language of the file, as Markdown names it.
    language: &'static str,
    /// Its place in the source of the project, as a sentence.
    place: String,
}

/// The most elements of a tensor that a test has.
const MOST: usize = 64;

/// A tensor in the source of a test.
#[derive(Debug, Serialize)]
struct Literal {
    name: String,
    /// The type of the elements in the language of the test.
    element_type: &'static str,
    /// As the items of a list.
    dims: String,
    elements: String,
}

impl Reproducer<'_> {
    /// The test of a mismatch, if the project that gets the report has a form for it: one answer is right or none is, and the
    /// language can say each tensor.
    pub fn unit_test(&self) -> Option<UnitTest> {
        let first = self.ids.first()?;
        let form = outside::form(&first.name)?;
        let expected = match &self.generated.expectation {
            Expectation::Defined(outputs) => vec![outputs.get(self.output)?],
            Expectation::Reject { .. } => vec![],
            Expectation::Unspecified { .. } => return None,
        };
        // A test that takes all memory is of no use to anyone.
        let is_endless = self.discrepancies.contains(&Discrepancy::Exhaustion);
        if self.check() != Check::Answer || is_endless || !self.generated.case.before.is_empty() {
            return None;
        }
        let literals =
            |types: Types| expected.iter().map(|tensor| literal("", tensor, types)).collect::<Option<Vec<_>>>();
        match form {
            Form::Cpp => self.in_cpp(),
            Form::Rust { template, types } => {
                let place = format!(
                    "It reads `model.onnx` beside it, and `cargo test --release` runs it here.{}",
                    self.suite_line(&first.name)
                );
                let graph = self.model().model.decode().ok()?.graph?;
                let more = context! {
                    setup => first.configuration.as_str(), output_name => graph.output.get(self.output)?.name.as_deref(),
                };
                let text = self.render(template, &self.feeds(types)?, &literals(types)?, more);
                Some(UnitTest {
                    file: "issue_test.rs",
                    head: format!("//! {}\n\n", self.title),
                    text,
                    language: "rust",
                    place,
                })
            }
            Form::Python => {
                let model = model::text::text(&self.model().model.decode().ok()?)
                    .ok()
                    .filter(|text| !text.contains("\"\"\""))?;
                let text = self.render("test_issue.py", &self.feeds(NUMPY)?, &literals(NUMPY)?, context! { model });
                let place =
                    "For `onnx/test/reference_evaluator_test.py`; `pytest test_issue.py` runs it here.".to_owned();
                Some(UnitTest {
                    file: "test_issue.py",
                    head: format!("\"\"\"{}\"\"\"\n\n", self.title),
                    text,
                    language: "python",
                    place,
                })
            }
        }
    }

    fn model(&self) -> model::Job {
        model::job(&self.generated.case, &self.generated.tensors)
    }

    fn render(&self, template: &str, feeds: &[Literal], expected: &[Literal], more: Value) -> String {
        let common = context! {
            name => self.snake(), camel => self.camel(), output => self.output,
            opset => self.generated.case.opset,
            feeds => Value::from(Serde(feeds)),
            expected => expected.first().map(|expected| Value::from(Serde(expected))),
        };
        render(template, context! { ..more, ..common })
    }

    /// What the model is fed.
    fn feeds(&self, types: Types) -> Option<Vec<Literal>> {
        let job = self.model();
        let last = job.runs.last()?;
        let names = job.inputs.iter().zip(last);
        names.map(|(name, tensor): (&Arc<str>, &Tensor)| literal(name, tensor, types)).collect()
    }

    /// The name of the test: that of the finding, without the runtime.
    fn words(&self) -> impl Iterator<Item = &str> {
        let runtime = self.ids.first().map_or("", |id| &id.name);
        self.name.strip_prefix(runtime).unwrap_or(self.name).split(['-', '_']).filter(|word| !word.is_empty())
    }

    fn snake(&self) -> String {
        self.words().collect::<Vec<_>>().join("_")
    }

    fn camel(&self) -> String {
        let capitalized = |word: &str| word[..1].to_uppercase() + &word[1..];
        self.words().map(capitalized).collect()
    }

    /// The line that names the model in the suite of tract with ONNX's own tests, which all have outputs.
    fn suite_line(&self, runtime: &str) -> String {
        let has_outputs = self.generated.expectation.outputs().is_some();
        let line = || {
            let name = self.snake();
            format!(
                " In `test-rt/suite-onnx` it is the line `test_{name}` of `node.txt`, with this folder as `node/test_{name}` \
                 among the test data of ONNX."
            )
        };
        if runtime == "tract" && has_outputs { line() } else { String::new() }
    }

    /// A test of the kernel, for one node that is wrong without optimization, or a test of the passes, for a model that is right
    /// without them.
    fn in_cpp(&self) -> Option<UnitTest> {
        let case = &self.generated.case;
        let is_plain = self.ids.iter().any(|id| id.configuration == "disabled");
        let is_one_node = case.nodes.len() == 1;
        let outputs = self.generated.expectation.outputs();
        let (template, lines, place) = if is_plain && is_one_node {
            let place = "For a file of `onnxruntime/test/providers/cpu`.";
            ("op_test.cc", self.kernel_test(outputs)?, place)
        } else if !is_plain && outputs.is_some() && case.passed.is_empty() {
            let place = "For `onnxruntime/test/optimizer/graph_transform_test.cc`: it compares the outputs with those without \
                         optimization, which are right.";
            ("graph_test.cc", self.pass_test()?, place)
        } else {
            return None;
        };
        let operator = case.nodes[0].operator.name;
        let text = self.render(template, &[], &[], context! { operator, lines });
        Some(UnitTest {
            file: "issue_test.cc",
            head: format!("// {}\n\n", self.title),
            text,
            language: "cpp",
            place: place.to_owned(),
        })
    }

    /// The sources of the case, as graph inputs of a fixed shape and initializers.
    fn sources(&self) -> Option<Vec<(Literal, bool)>> {
        let with_tensors = self.generated.case.sources.iter().zip(&self.generated.tensors).enumerate();
        let source = |(place, (operand, tensor)): (usize, (&Operand, &Tensor))| {
            let is_initializer = match operand.wiring {
                Wiring::Input(Declared::Static) => false,
                Wiring::Initializer(_) | Wiring::Constant(_) => true,
                Wiring::Input(_) | Wiring::Default(_) => return None,
            };
            Some((literal(&format!("x{place}"), tensor, CPP)?, is_initializer))
        };
        with_tensors.map(source).collect()
    }

    /// The statements of a test with `OpTester`.
    fn kernel_test(&self, outputs: Option<&[Tensor]>) -> Option<Vec<String>> {
        let node = &self.generated.case.nodes[0];
        let sources = self.sources()?;
        let attributes = node.attributes.iter().map(|attribute| Some(format!("test.{};", added(attribute)?)));
        let mut lines: Vec<String> = attributes.collect::<Option<_>>()?;
        for (place, input) in node.inputs.iter().enumerate() {
            lines.push(match input {
                Some(Edge::Source(source)) => {
                    let (Literal { element_type, dims, .. }, is_initializer) = &sources[*source];
                    let end = if *is_initializer { ", true" } else { "" };
                    let elements = sources[*source].0.list();
                    format!("test.AddInput<{element_type}>(\"input_{place}\", {{{dims}}}, {elements}{end});")
                }
                _ => "test.AddOptionalInputEdge<int64_t>();".to_owned(),
            });
        }
        // The outputs of an invalid model are those that it has now: with others it could fail for another reason.
        let added_outputs = outputs.unwrap_or(self.given);
        if added_outputs.is_empty() {
            return None;
        }
        for (place, tensor) in added_outputs.iter().enumerate() {
            let output = literal("", tensor, CPP)?;
            let (of, dims) = (output.element_type, &output.dims);
            lines.push(format!("test.AddOutput<{of}>(\"output_{place}\", {{{dims}}}, {});", output.list()));
        }
        lines.push(match outputs {
            Some(_) => "test.Run();".to_owned(),
            None => "test.Run(OpTester::ExpectResult::kExpectFailure, \"\");  // The model is not valid.".to_owned(),
        });
        Some(lines)
    }

    /// The statements that build the graph of a test with `TransformerTester`.
    fn pass_test(&self) -> Option<Vec<String>> {
        let case = &self.generated.case;
        let mut lines = vec![];
        for (Literal { name, element_type: of, dims, elements, .. }, is_initializer) in self.sources()? {
            // The builder makes no tensor of these types.
            if matches!(of, "bool" | "std::string") {
                return None;
            }
            let make = if is_initializer { "MakeInitializer" } else { "MakeInput" };
            let arguments = format!("std::vector<int64_t>{{{dims}}}, std::vector<{of}>{{{elements}}}");
            lines.push(format!("NodeArg* {name} = builder.{make}<{of}>({arguments});"));
        }
        for (place, node) in case.nodes.iter().enumerate() {
            let make = match node.shown {
                Shown::Hidden => "MakeIntermediate",
                Shown::Output(_) => "MakeOutput",
                Shown::Info(_) => return None,
            };
            let outputs: Vec<String> = (0..node.outputs).map(|output| format!("n{place}_{output}")).collect();
            lines.extend(outputs.iter().map(|output| format!("NodeArg* {output} = builder.{make}();")));
            let input = |input: &Option<Edge>| match input {
                Some(Edge::Source(source)) => format!("x{source}"),
                Some(Edge::Output { node, output }) => format!("n{node}_{output}"),
                None => "builder.MakeEmptyInput()".to_owned(),
            };
            let inputs: Vec<String> = node.inputs.iter().map(input).collect();
            let (name, inputs, outputs) = (node.operator.name, inputs.join(", "), outputs.join(", "));
            let node_added = format!("builder.AddNode(\"{name}\", {{{inputs}}}, {{{outputs}}})");
            if node.attributes.is_empty() {
                lines.push(node_added + ";");
                continue;
            }
            lines.push(format!("Node& node_{place} = {node_added};"));
            let attributes = node.attributes.iter();
            let attributes = attributes.map(|attribute| Some(format!("node_{place}.{};", added(attribute)?)));
            lines.extend(attributes.collect::<Option<Vec<String>>>()?);
        }
        Some(lines)
    }
}

/// The call in C++ that adds an attribute; `None` if its value cannot be written.
fn added(Attribute { name, value }: &Attribute) -> Option<String> {
    let text = match value {
        AttributeValue::Int(number) => format!("static_cast<int64_t>({})", integer_in_cpp((*number).into())),
        AttributeValue::Ints(numbers) => {
            let numbers: Vec<String> = numbers.iter().map(|number| integer_in_cpp((*number).into())).collect();
            format!("std::vector<int64_t>{{{}}}", numbers.join(", "))
        }
        AttributeValue::String(text) => format!("std::string({})", quoted(text)?),
        AttributeValue::Float(_) | AttributeValue::Tensor(_) => return None,
    };
    Some(format!("AddAttribute(\"{name}\", {text})"))
}

impl Literal {
    /// The elements as an argument in C++.
    fn list(&self) -> String {
        match (self.elements.is_empty(), self.element_type) {
            (false, _) => format!("{{{}}}", self.elements),
            (true, "bool") => "std::initializer_list<bool>{}".to_owned(),
            (true, of) => format!("std::vector<{of}>()"),
        }
    }
}

/// By element type of ONNX, the type in a language; `None` if the project has none for it.
pub(super) type Types = fn(ElementType) -> Option<&'static str>;

const CPP: Types = |element_type| {
    use ElementType::*;
    Some(match element_type {
        Float => "float",
        Double => "double",
        Bool => "bool",
        Int8 => "int8_t",
        Int16 => "int16_t",
        Int32 => "int32_t",
        Int64 => "int64_t",
        Uint8 => "uint8_t",
        Uint16 => "uint16_t",
        Uint32 => "uint32_t",
        Uint64 => "uint64_t",
        String => "std::string",
        _ => return None,
    })
};

const NUMPY: Types = |element_type| {
    use ElementType::*;
    Some(match element_type {
        Float => "float32",
        Double => "float64",
        String => "object_",
        Bool => "bool_",
        Int8 | Int16 | Int32 | Int64 | Uint8 | Uint16 | Uint32 | Uint64 => element_type.name(),
        _ => return None,
    })
};

/// A tensor in the language of a table of types; `None` if that language or the project cannot say it.
fn literal(name: &str, tensor: &Tensor, types: Types) -> Option<Literal> {
    let element_type = types(tensor.element_type())?;
    if tensor.len() > MOST {
        return None;
    }
    let elements: Vec<String> = match tensor.elements() {
        Elements::Strings(all) => all.iter().map(|bytes| quoted(str::from_utf8(bytes).ok()?)).collect::<Option<_>>()?,
        Elements::Packed(_) => {
            (0..tensor.len()).map(|index| number(tensor, index, element_type)).collect::<Option<_>>()?
        }
    };
    let dims: Vec<String> = tensor.dims().iter().map(ToString::to_string).collect();
    Some(Literal { name: name.to_owned(), element_type, dims: dims.join(", "), elements: elements.join(", ") })
}

/// A string in quotes, if all languages write it alike.
fn quoted(text: &str) -> Option<String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') && !text.contains(['"', '\\']);
    is_plain.then(|| format!("\"{text}\""))
}

/// An element as a number of a type in a language; `None` for one that is no number, and for an integer that the type lacks.
fn number(tensor: &Tensor, index: usize, element_type: &str) -> Option<String> {
    let (of, bits) = (tensor.element_type(), tensor.element_bits(index));
    // The shortest text of a float is another than that of the same double.
    let float = match of {
        ElementType::Float => {
            Some(f32::from_bits(u32::try_from(bits).ok()?)).map(|value| (value.into(), format!("{value:?}")))
        }
        ElementType::Double => {
            Some(f64::from_bits(u64::try_from(bits).ok()?)).map(|value| (value, format!("{value:?}")))
        }
        _ => None,
    };
    if let Some((value, text)) = float {
        let value: f64 = value;
        let sign = if value < 0.0 { "-" } else { "" };
        return match element_type {
            _ if value.is_nan() => None,
            "float" | "double" if value.is_infinite() => {
                Some(format!("{sign}std::numeric_limits<{element_type}>::infinity()"))
            }
            "float32" | "float64" if value.is_infinite() => Some(format!("{sign}np.inf")),
            _ if value.is_infinite() => Some(format!("{sign}{element_type}::INFINITY")),
            "float" => Some(text + "f"),
            _ => Some(text),
        };
    }
    let integer = of.integer(bits)?;
    Some(match element_type {
        "bool" => (integer != 0).to_string(),
        "bool_" => if integer == 0 { "False" } else { "True" }.to_owned(),
        "i32" => i32::try_from(integer).ok()?.to_string(),
        "uint64_t" => format!("{integer}ULL"),
        "int64_t" => integer_in_cpp(integer),
        _ => integer.to_string(),
    })
}

/// An integer in C++, which has no literal for the least one of 64 bits.
fn integer_in_cpp(number: i128) -> String {
    if number == i64::MIN.into() { "std::numeric_limits<int64_t>::min()".to_owned() } else { number.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Generated;
    use crate::runtime::RuntimeId;

    /// The test of a report to a configuration of a runtime, which gives one output of one element.
    fn test_of(runtime: &str, configuration: &str, case: &str, found: Discrepancy) -> Option<UnitTest> {
        let (name, version) = (runtime.to_owned(), "1".to_owned());
        let ids = [RuntimeId { name, version, configuration: configuration.to_owned() }];
        let generated = Generated::given(case.parse().unwrap());
        let reproducer = Reproducer {
            name: &format!("{runtime}-it-is-wrong"),
            title: "It is wrong",
            ids: &ids,
            discrepancies: &[found],
            generated: &generated,
            variant: None,
            output: 0,
            given: &[Operand::vector(&[7]).tensor()],
            is_unwritten: false,
        };
        reproducer.unit_test()
    }

    #[test]
    fn each_language_says_the_elements_to_the_bit() {
        let text = |runtime: &str, configuration: &str, case: &str| {
            test_of(runtime, configuration, case, Discrepancy::WrongValue).unwrap().text
        };
        let doubles = "Flatten@13 double[4]{-inf,-0.0,5e-324,1.5}";
        let [cpp, rust, python] = [("onnxruntime", "disabled"), ("tract", "typed"), ("onnx-reference", "")]
            .map(|(runtime, configuration)| text(runtime, configuration, doubles));
        assert!(cpp.contains("{4}, {-std::numeric_limits<double>::infinity(), -0.0, 5e-324, 1.5}"), "{cpp}");
        assert!(rust.contains("<f64>(&[4], &[-f64::INFINITY, -0.0, 5e-324, 1.5])"), "{rust}");
        assert!(python.contains("[-np.inf, -0.0, 5e-324, 1.5], np.float64).reshape([4])"), "{python}");
        let integers = "Flatten@13 int64[2]{-9223372036854775808,9223372036854775807}";
        let cpp = text("onnxruntime", "disabled", integers);
        assert!(cpp.contains("{std::numeric_limits<int64_t>::min(), 9223372036854775807}"), "{cpp}");
        let bools = "Flatten@13 bool[2]{0,1}";
        assert!(text("onnxruntime", "disabled", bools).contains("{false, true}"));
        assert!(text("onnx-reference", "", bools).contains("[False, True], np.bool_)"));
        assert!(text("candle-onnx", "", "Flatten@13 float[0]").contains("Vec::<f32>::from([])"));
    }

    #[test]
    fn a_test_demands_an_error_of_an_invalid_model() {
        let invalid = "Flatten@13 axis=3 float[2]";
        let text = |runtime: &str, configuration: &str| {
            test_of(runtime, configuration, invalid, Discrepancy::AcceptsInvalid).unwrap().text
        };
        let cpp = text("onnxruntime", "disabled");
        assert!(cpp.contains("kExpectFailure") && cpp.contains("AddOutput<int64_t>(\"output_0\", {1}, {7})"), "{cpp}");
        assert!(text("tract", "typed").contains("if let Ok(outputs) = outputs()"));
        assert!(text("onnx-reference", "").contains("with pytest.raises(Exception):"));
    }

    #[test]
    fn there_is_no_test_where_none_can_say_what_is_wrong() {
        let none = |runtime: &str, case: &str, found| {
            let configuration = if runtime == "tract" { "typed" } else { "disabled" };
            assert!(test_of(runtime, configuration, case, found).is_none(), "{runtime}: {case}");
        };
        none("tract", "Flatten@13 float[2]", Discrepancy::Exhaustion);
        none("tract", "Flatten@13 float[2]", Discrepancy::ConfigurationsDisagree);
        none("tract", "Flatten@13 float[1]{nan}", Discrepancy::WrongValue);
        none("tract", "Flatten@13 float[65]", Discrepancy::WrongValue);
        none("tract", "Flatten@13 string[1]", Discrepancy::WrongValue);
        none("rten", "Flatten@13 int64[1]{2147483648}", Discrepancy::WrongValue);
        none("onnxruntime", "Flatten@13 float[2]:input(symbolic)", Discrepancy::WrongValue);
        none("onnxruntime", "a=Flatten@13 float[2]; Flatten a", Discrepancy::WrongValue);
        none("openvino", "Flatten@13 float[2]", Discrepancy::WrongValue);
    }
}
