//! Reads a model as a case, if it is one. The model need not have been made from a case.
//!
//! A case has no place for some parts of a model, which are not read: its IR version, its names, the names of symbols (only which
//! of them are the same), dims that are declared some as numbers and some not (they are read as symbols), and the default of a
//! graph input that is fed.

use std::collections::{HashMap, HashSet};

use super::proto::{
    AttributeProto, DimensionValue, EXTERNAL, GraphProto, NodeProto, TensorProto, TensorShapeProto, ValueInfoProto,
    attribute_type,
};
use super::{Job, read_attribute, tensor_proto};
use crate::case::{
    Case, Contents, Declared, Declares, Encoding, Fed, MAX_NODES, MAX_RANK, Node, Operand, Shown, Value, Wiring,
};
use crate::operator::{NEWEST_OPSET, Operator, Role};
use crate::tensor::{ElementType, Tensor};

/// A case that was read from a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Its sources are in the order in which nodes take them. Large data is replaced: see `contents`.
    pub case: Case,
    /// The tensors of the sources in the first run of the job.
    pub tensors: Vec<Tensor>,
}

/// The case of a job: its model and the feeds of its first run. The model must have 1 to [`MAX_NODES`] nodes beside Constant
/// nodes, all of operators that are implemented in-house.
///
/// # Errors
/// Why the job is no case.
pub fn case(job: &Job) -> Result<Reading, String> {
    let model = job.model.decode().map_err(|error| format!("not a model: {error}"))?;
    let opset = model.opset_import.iter().find(|import| import.domain.as_deref().unwrap_or("").is_empty());
    let opset = opset.and_then(|import| import.version).ok_or("no opset of the default domain is imported")?;
    let opset = u8::try_from(opset).ok().filter(|opset| (1..=NEWEST_OPSET).contains(opset));
    let opset = opset.ok_or_else(|| format!("the opset is not one of 1 to {NEWEST_OPSET}"))?;
    let graph = model.graph.ok_or("the model has no graph")?;
    let mut reader = Reader::new(&graph, model.ir_version.unwrap_or(0), job)?;
    graph.node.iter().try_for_each(|node| reader.read(node))?;
    reader.finish(opset)
}

/// A tensor of the graph that no node has taken yet.
struct FreeTensor<'a> {
    name: &'a str,
    tensor: Tensor,
    wiring: Wiring,
}

/// The parts of a graph that have been read.
struct Reader<'a> {
    graph: &'a GraphProto,
    given: Vec<FreeTensor<'a>>,
    sources: Vec<(Tensor, Wiring)>,
    nodes: Vec<Node>,
    /// The sources, and the outputs of the nodes.
    values: HashMap<&'a str, Value>,
}

impl<'a> Reader<'a> {
    /// The state before the first node is read.
    fn new(graph: &'a GraphProto, ir: i64, job: &'a Job) -> Result<Reader<'a>, String> {
        if !graph.sparse_initializer.is_empty() {
            return Err("it has a sparse initializer".to_owned());
        }
        let mut reader = Reader {
            graph,
            given: vec![],
            sources: vec![],
            nodes: vec![],
            values: HashMap::with_capacity(graph.node.len()),
        };
        let feeds: HashMap<&str, &Tensor> = job.feeds(0).collect();
        let symbols = symbols(graph, &feeds)?;
        let initializers = || graph.initializer.iter().map(|proto| (proto.name.as_deref().unwrap_or(""), proto));
        for input in &graph.input {
            let name = name(input);
            let initializer = initializers().find(|(other, _)| *other == name).map(|(_, proto)| proto);
            let (tensor, wiring) = match (feeds.get(name), initializer) {
                (Some(&fed), None) => (fed.clone(), Wiring::Input(declared(input, &symbols))),
                (Some(&fed), Some(default)) if default.dims == fed.dims() => {
                    (fed.clone(), Wiring::Default(Fed::Operand))
                }
                (Some(_), Some(_)) => return Err(format!("`{name}` has a default of other dims than it is fed")),
                (None, Some(proto)) => (tensor(name, proto)?, unfed(proto, ir)),
                (None, None) => return Err(format!("the input `{name}` is not fed")),
            };
            reader.give(name, tensor, wiring)?;
        }
        let is_input = |other: &str| graph.input.iter().any(|input| name(input) == other);
        for (name, proto) in initializers().filter(|(name, _)| !is_input(name)) {
            reader.give(name, tensor(name, proto)?, Wiring::Initializer(encoding(proto)))?;
        }
        Ok(reader)
    }

    fn give(&mut self, name: &'a str, tensor: Tensor, wiring: Wiring) -> Result<(), String> {
        self.check_new(name)?;
        self.given.push(FreeTensor { name, tensor, wiring });
        Ok(())
    }

    fn check_new(&self, name: &str) -> Result<(), String> {
        let is_there = self.values.contains_key(name) || self.given.iter().any(|given| given.name == name);
        if is_there { Err(format!("two values have the name `{name}`")) } else { Ok(()) }
    }

    fn read(&mut self, node: &'a NodeProto) -> Result<(), String> {
        let op_type = node.op_type.as_deref().unwrap_or("");
        if !matches!(node.domain.as_deref(), None | Some("" | "ai.onnx")) {
            return Err(format!("no operator `{}.{op_type}` here", node.domain.as_deref().unwrap_or("")));
        }
        let has_several = op_type.parse::<&Operator>().is_ok_and(Operator::has_outputs);
        let (output, others) = match &node.output[..] {
            [output, others @ ..] if others.is_empty() || has_several => (output, others),
            outputs => return Err(format!("a {op_type} has {} outputs", outputs.len())),
        };
        if others.contains(&String::new()) {
            return Err(format!("an output of a {op_type} has no name, which no case says"));
        }
        if op_type == "Constant" {
            let is_value = |attribute: &&AttributeProto| attribute.r#type == Some(attribute_type::TENSOR);
            let value = node.attribute.iter().find(is_value).and_then(|attribute| attribute.t.as_ref());
            let proto = value.ok_or_else(|| format!("the value of the Constant `{output}` is not a tensor"))?;
            return self.give(output, tensor(output, proto)?, Wiring::Constant(encoding(proto)));
        }
        let operator = op_type.parse().map_err(|error| format!("{error}"))?;
        let attribute = |proto: &AttributeProto| {
            let name = proto.name.as_deref().unwrap_or("");
            read_attribute(proto).ok_or_else(|| format!("the attribute `{name}` is of a kind that no case has"))
        };
        let attributes = node.attribute.iter().map(attribute).collect::<Result<_, _>>()?;
        let input = |name: &'a String| if name.is_empty() { Ok(None) } else { self.value(name).map(Some) };
        let inputs = node.input.iter().map(input).collect::<Result<_, _>>()?;
        for (place, name) in node.output.iter().enumerate() {
            self.check_new(name)?;
            self.values.insert(name, Value::Output { node: self.nodes.len(), output: place });
        }
        let shown_as = shown(output, self.graph);
        if others.iter().any(|other| shown(other, self.graph) != shown_as) {
            return Err(format!("the outputs of a {op_type} are not shown alike, which no case says"));
        }
        self.nodes.push(Node { operator, attributes, inputs, outputs: node.output.len(), shown: shown_as });
        Ok(())
    }

    /// The value of a name. A given tensor becomes a source here.
    fn value(&mut self, name: &'a str) -> Result<Value, String> {
        if let Some(value) = self.values.get(name) {
            return Ok(*value);
        }
        let place = self.given.iter().position(|given| given.name == name);
        let place = place.ok_or_else(|| format!("nothing before gives `{name}`, which is taken"))?;
        let FreeTensor { name, tensor, wiring } = self.given.remove(place);
        let value = Value::Source(self.sources.len());
        self.sources.push((tensor, wiring));
        self.values.insert(name, value);
        Ok(value)
    }

    fn finish(mut self, opset: u8) -> Result<Reading, String> {
        let count = self.nodes.len();
        if !(1..=MAX_NODES).contains(&count) {
            return Err(format!("it has {count} nodes beside Constant nodes, and a case has 1 to {MAX_NODES}"));
        }
        let outputs = self.graph.output.iter().map(|info| self.value(name(info))).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<&str> = self.given.iter().map(|given| given.name).collect();
        names.into_iter().try_for_each(|name| self.value(name).map(|_| ()))?;
        let passed = outputs.iter().filter_map(|output| match output {
            Value::Source(place) => Some(*place),
            Value::Output { .. } => None,
        });
        let (passed, decisive) = (passed.collect(), decisive(&self.nodes, opset));
        let (tensors, wirings): (Vec<Tensor>, Vec<Wiring>) = self.sources.into_iter().unzip();
        let operand = |(place, (tensor, wiring)): (usize, (&Tensor, Wiring))| Operand {
            element_type: tensor.element_type(),
            dims: tensor.dims().to_vec(),
            contents: contents(tensor, decisive.contains(&Value::Source(place))),
            wiring,
        };
        let sources: Vec<Operand> = tensors.iter().zip(wirings).enumerate().map(operand).collect();
        sources
            .iter()
            .try_for_each(Operand::check_limits)
            .map_err(|error| format!("a source of a case has {error}"))?;
        let mut case = Case { opset, sources, nodes: self.nodes, passed, before: vec![] };
        if outputs.is_empty() {
            return Err("it has no graph output".to_owned());
        }
        if !case.outputs().eq(outputs) {
            return Err("its graph outputs are in another order than its nodes".to_owned());
        }
        check_declarations(&mut case, &tensors, self.graph, &self.values)?;
        Ok(Reading { case, tensors })
    }
}

/// Checks the graph's declarations of the outputs of nodes, which in a case are true. If a `value_info` has no dims though they
/// are known, the output is read as hidden.
fn check_declarations(
    case: &mut Case,
    tensors: &[Tensor],
    graph: &GraphProto,
    names: &HashMap<&str, Value>,
) -> Result<(), String> {
    let values = case.values(tensors);
    let outlets = case.outlets(tensors, &values);
    for info in graph.value_info.iter().chain(&graph.output) {
        let name = name(info);
        let Some(&Value::Output { node, output }) = names.get(name) else { continue };
        let computed = values.get(node).and_then(|outputs| outputs.get(output));
        let declared_type = element_type(info);
        if let Some(computed) = computed.filter(|computed| Some(computed.element_type()) != declared_type) {
            return Err(format!("`{name}` is not declared as {}, which it is", computed.element_type()));
        }
        let node_shown = &mut case.nodes[node].shown;
        match (shape(info), *node_shown) {
            (Some(shape), _) if computed.is_some_and(|computed| !fits(shape, computed.dims())) => {
                return Err(format!("`{name}` is declared with other dims than it has"));
            }
            (None, Shown::Info(declares)) if outlets[node][output].dims(declares).is_some() => {
                *node_shown = Shown::Hidden;
            }
            (None, Shown::Output(declares)) if outlets[node][output].dims(declares).is_some() => {
                return Err(format!("no dims are declared of the graph output `{name}`"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn name(info: &ValueInfoProto) -> &str {
    info.name.as_deref().unwrap_or("")
}

fn shape(info: &ValueInfoProto) -> Option<&TensorShapeProto> {
    info.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref()
}

pub(crate) fn element_type(info: &ValueInfoProto) -> Option<ElementType> {
    ElementType::from_data_type(info.r#type.as_ref()?.tensor_type.as_ref()?.elem_type?)
}

/// Whether dims fit the declared dims.
fn fits(declared: &TensorShapeProto, dims: &[i64]) -> bool {
    let fits = |(declared, dim): (&Option<DimensionValue>, &i64)| match declared {
        Some(DimensionValue::Size(size)) => size == dim,
        Some(DimensionValue::Symbol(_)) | None => true,
    };
    declared.dim.len() == dims.len() && declared.dim.iter().map(|dim| &dim.value).zip(dims).all(fits)
}

/// The tensor of an initializer or a Constant node.
fn tensor(name: &str, proto: &TensorProto) -> Result<Tensor, String> {
    if proto.data_location == Some(EXTERNAL) {
        return Err(format!("the elements of `{name}` are in another file"));
    }
    tensor_proto::read(proto).map_err(|error| format!("`{name}`: {error}"))
}

fn encoding(proto: &TensorProto) -> Encoding {
    if proto.raw_data.is_some() { Encoding::Raw } else { Encoding::Typed }
}

/// The wiring of an initializer that is also a graph input and is not fed.
fn unfed(proto: &TensorProto, ir: i64) -> Wiring {
    // Strings have only one encoding. For other types, a typed encoding matters more than that the initializer could be fed.
    let is_usual = proto.raw_data.is_some() || proto.data_type == Some(ElementType::String.data_type());
    if ir >= 4 && is_usual { Wiring::Default(Fed::Nothing) } else { Wiring::Initializer(encoding(proto)) }
}

/// The most elements that are written out whatever the tensor is for.
const MAX_WRITTEN: usize = MAX_RANK;

/// The elements of a small or decisive tensor. Nothing depends on other elements, so they are replaced.
fn contents(tensor: &Tensor, is_decisive: bool) -> Contents {
    if is_decisive || tensor.len() <= MAX_WRITTEN { Contents::of(tensor) } else { Contents::Random(0) }
}

/// The values whose elements decide more than the elements of an output: those that become a parameter.
fn decisive(nodes: &[Node], opset: u8) -> HashSet<Value> {
    let mut decisive = HashSet::new();
    for (place, node) in nodes.iter().enumerate().rev() {
        let version = node.operator.version_at(opset);
        let is_of = |value: &Value| matches!(value, Value::Output { node, .. } if *node == place);
        let moves_such = !node.operator.measures() && decisive.iter().any(is_of);
        for (index, input) in node.inputs.iter().enumerate() {
            let spec = version.and_then(|version| version.input(index));
            let is_data = spec.is_none_or(|spec| matches!(spec.role, Role::Data | Role::Ignored));
            if moves_such || !is_data {
                decisive.extend(*input);
            }
        }
    }
    decisive
}

/// For each symbol, the number of dims of graph inputs that are declared as it.
fn symbols<'a>(graph: &'a GraphProto, feeds: &HashMap<&str, &Tensor>) -> Result<HashMap<&'a str, usize>, String> {
    let mut symbols: HashMap<&str, (i64, usize)> = HashMap::new();
    for input in &graph.input {
        let (Some(shape), Some(fed)) = (shape(input), feeds.get(name(input))) else { continue };
        for (dim, &size) in shape.dim.iter().zip(fed.dims()) {
            if let Some(DimensionValue::Symbol(symbol)) = &dim.value {
                let (first, count) = symbols.entry(symbol).or_insert((size, 0));
                if *first != size {
                    return Err(format!("the dim `{symbol}` is {first} and {size}"));
                }
                *count += 1;
            }
        }
    }
    Ok(symbols.into_iter().map(|(symbol, (_, count))| (symbol, count)).collect())
}

/// How the dims of a graph input are declared.
fn declared(input: &ValueInfoProto, symbols: &HashMap<&str, usize>) -> Declared {
    let Some(shape) = shape(input) else { return Declared::Unranked };
    let is_shared = |value: &Option<DimensionValue>| match value {
        Some(DimensionValue::Symbol(symbol)) => symbols.get(symbol.as_str()).is_some_and(|&count| count > 1),
        _ => false,
    };
    if shape.dim.iter().all(|dim| matches!(dim.value, Some(DimensionValue::Size(_)))) {
        Declared::Static
    } else if shape.dim.iter().any(|dim| is_shared(&dim.value)) {
        Declared::Shared
    } else {
        Declared::Symbolic
    }
}

/// How the graph shows the output of a node, by its name.
fn shown(output: &str, graph: &GraphProto) -> Shown {
    let is_it = |info: &&ValueInfoProto| name(info) == output;
    let of_output = graph.output.iter().find(is_it).map(|info| Shown::Output(declares(shape(info))));
    let info = || graph.value_info.iter().find(is_it).map(|info| Shown::Info(declares(shape(info))));
    of_output.or_else(info).unwrap_or(Shown::Hidden)
}

/// How the dims of the output of a node are declared. Without dims, all ways are the same.
fn declares(shape: Option<&TensorShapeProto>) -> Declares {
    let dims = shape.map_or(&[][..], |shape| &shape.dim);
    if dims.is_empty() {
        Declares::Symbolic
    } else if dims.iter().all(|dim| matches!(dim.value, Some(DimensionValue::Size(_)))) {
        Declares::Static
    } else if dims.iter().all(|dim| dim.value.is_none()) {
        Declares::Rank
    } else {
        Declares::Symbolic
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Features, Generator};
    use crate::model::job;
    use crate::model::proto::ModelProto;
    use prost::Message;

    fn of(case: &Case) -> Result<Reading, String> {
        super::case(&job(case, &case.tensors()))
    }

    #[test]
    fn a_generated_case_makes_the_round_trip_with_all_its_features() {
        let generator = Generator::new(crate::operator::OPERATORS.to_vec());
        let mut seen = 0;
        for generated in (0..3000).map(|index| generator.case(3, index).case) {
            let (tensors, read) =
                (generated.tensors(), of(&generated).unwrap_or_else(|why| panic!("{generated}: {why}")));
            assert_eq!(read.tensors, tensors, "{generated}");
            let read = read.case;
            assert_eq!((read.opset, &read.nodes), (generated.opset, &generated.nodes), "{generated}");
            // A symbol of only one dim is not shared, and large data is replaced.
            let has_shared = generated.to_string().contains(":input(shared)");
            if !has_shared {
                assert_same_model(&generated, &read);
            }
            let is_plain = generated.sources.iter().all(|operand| !operand.dims.is_empty());
            if generated.call().is_some() && is_plain && !has_shared {
                seen += 1;
                assert!(Features::of(&generated).are_within(&Features::of(&read)), "{generated} was read as {read}");
            }
        }
        assert!(seen > 1500, "only {seen} cases were compared");
    }

    /// Checks that two cases are the same model, unless they have large data.
    fn assert_same_model(a: &Case, b: &Case) {
        if a.tensors().iter().all(|tensor| tensor.len() <= MAX_WRITTEN) {
            assert_eq!(job(a, &a.tensors()), job(b, &b.tensors()), "{a} was read as {b}");
        }
    }

    /// Each of these lines is written as it is read.
    const GRAPHS: [&str; 26] = [
        "x=float[2,3]{0.0,1.0,2.0,3.0,4.0,5.0}:input(symbolic); a=Shape@21 x; Reshape x a",
        "x=int8[2,1]{4,5}; a=Shape@21 start=1 x :output(static); a1=Reshape x a :info; Flatten axis=0 a1 :output(rank)",
        "x=bool[2]{0,1}:initializer:output; a=Shape@21 x; a1=Shape a :output; Reshape x a :hidden",
        "a=Flatten@21 _; Reshape a int64[1]{-1}:initializer _",
        "a=Shape@28 int8[2,3]{1,2,3,4,5,6}:constant; a1=Shape end=1 a :info(rank); Size a1 :output(static)",
        "a=Shape@15 int8[2]{1,2}:default; Reshape a int64[2]{1,1}:default(overridden)",
        "a=Flatten@13 axis=-1 int8[2,2]{1,2,3,4}:default(overridden) :info(static); Flatten axis=0 a",
        "a=Reshape@14 int8[4]{1,2,3,4} int64[2]{2,2}:input(symbolic); a1=Reshape a int64[1]{4}; Shape a1",
        "a=Flatten@9 string[2]{\"\",\"b\"}:initializer(typed); Shape a",
        "a=Flatten@9 float[1]{0x7fc00001}:constant(typed); Shape a",
        "a=Shape@24 uint2[3]{1,2,3}:initializer(typed); a1=Shape a; a2=Shape a1; a3=Shape a2; Shape a3",
        "a=Shape@24 int8[0]{}; a1=Shape a; a2=Shape a1; a3=Shape a2; a4=Shape a3; a5=Shape a4; a6=Shape a5; Shape a6",
        "x=int64[1]{1}; a=Reshape@14 x x; Reshape a x",
        "x=int64[1]{1}:initializer; Reshape@14 x x",
        "x=int8[2,2]{1,2,3,4}:input(shared); a=Flatten@21 x; Flatten a :output(static)",
        "a=Flatten@21 int8[2,3]{1,2,3,4,5,6}:input(shared); Reshape a int64[2]{3,2}:input(shared)",
        "a=Shape@21 int8[1]{1}:input(unranked); Shape a",
        "x=int8[1]{7}:output; Shape@21 int8[2]{1,2}",
        "x=int8[1]{7}:output; x1=int8[1]{7}:constant:output; x2=int8[]{7}:output; Flatten@21 x :hidden",
        "x=int8[1]{7}; Shape@21 int8[2]{1,2}",
        "a=Shape@21 int8[2]{1,2} :output; a1=Shape int8[1]{1} :output(rank); Size int8[]{1}",
        "a=Flatten@13 axis=7 int8[2]{1,2}; Shape a",
        "a=Reshape@14 allowzero=1 int8[0,2]{} int64[2]{-1,0}; Flatten a :output(rank)",
        "a=Flatten@21 axis=0 float[0]{}; a1=Size a :info; Shape start=1 end=\"x\" _ _",
        "a=Size@28 int8[1]{1} :output(rank); Size a :info",
        "Size@28 int8[1]{1}",
    ];

    #[test]
    fn a_graph_makes_the_round_trip_to_the_letter() {
        for line in GRAPHS {
            let mut case: Case = line.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
            // Without dims, all declarations are the same.
            let scalar = |node: &Node| node.operator.name == "Size";
            for node in case.nodes.iter_mut().filter(|node| scalar(node)) {
                node.shown = match node.shown {
                    Shown::Hidden => Shown::Hidden,
                    Shown::Info(_) => Shown::Info(Declares::Symbolic),
                    Shown::Output(_) => Shown::Output(Declares::Symbolic),
                };
            }
            let read = of(&case).unwrap_or_else(|why| panic!("{line}: {why}"));
            assert_eq!(read.tensors, case.tensors(), "{line}");
            assert_same_model(&case, &read.case);
            // If no output is defined, its dims are not in the model.
            if matches!(case.expectation(&case.tensors()), crate::operator::Expectation::Defined(_)) {
                assert_eq!((read.case.to_string(), read.case), (case.to_string(), case.clone()));
            }
        }
    }

    /// Two cases in a chain: the output of the first is the data of the second.
    fn chained(first: &Case, second: &Case, shown: Shown) -> Option<Case> {
        let mut case = first.clone();
        let (sources, nodes) = (case.sources.len(), case.nodes.len());
        if second.nodes[0].inputs.first()? != &Some(Value::Source(0)) {
            return None;
        }
        case.nodes[nodes - 1].shown = shown;
        case.sources.extend_from_slice(&second.sources[1..]);
        let mut node = second.nodes[0].clone();
        for (place, input) in node.inputs.iter_mut().enumerate() {
            *input = match *input {
                Some(Value::Source(0)) if place == 0 => Some(Value::Output { node: nodes - 1, output: 0 }),
                Some(Value::Source(other)) => Some(Value::Source(sources + other - 1)),
                other => other,
            };
        }
        case.nodes.push(node);
        Some(case)
    }

    #[test]
    fn chains_of_generated_cases_make_the_round_trip() {
        let generator = Generator::new(crate::operator::OPERATORS.to_vec());
        let ways = [
            Shown::Hidden,
            Shown::Info(Declares::Static),
            Shown::Output(Declares::Rank),
            Shown::Info(Declares::Symbolic),
            Shown::Output(Declares::Static),
        ];
        let mut seen = 0;
        for index in 0..600 {
            let drawn = (0..4).map(|place| generator.case(5, 4 * index + place).case);
            let mut drawn = drawn.filter(|case| case.single().is_some());
            let Some(mut case) = drawn.next() else { continue };
            for (next, shown) in drawn.zip(ways.iter().cycle().skip(usize::try_from(index).unwrap())) {
                case = chained(&case, &next, *shown).unwrap_or(case);
            }
            if case.to_string().contains(":input(shared)") {
                continue;
            }
            let read = of(&case).unwrap_or_else(|why| panic!("{case}: {why}"));
            assert_eq!(read.tensors, case.tensors(), "{case}");
            assert_eq!(
                read.case.expectation(&read.tensors),
                case.expectation(&case.tensors()),
                "{case} was read as {}",
                read.case
            );
            assert_same_model(&case, &read.case);
            seen += usize::from(case.nodes.len() > 1);
        }
        assert!(seen > 200, "only {seen} graphs were read");
    }

    #[test]
    fn large_data_is_replaced_unless_it_becomes_a_target_shape() {
        let read = |line: &str| of(&line.parse().unwrap()).unwrap();
        assert_eq!(read("Flatten@21 float[2000]").case.to_string(), "Flatten@21 float[2000]:random(0)");
        let target: Vec<&str> = std::iter::repeat_n("1", 1500).collect();
        let target = format!("int64[1500]{{{}}}", target.join(","));
        for line in [
            format!("Reshape@21 float[1]{{0.0}} {target}"),
            format!("a=Flatten@21 axis=0 {target}; a1=Reshape a int64[1]{{-1}}; Reshape float[1]{{0.0}} a1"),
        ] {
            assert_eq!(read(&line).case.to_string(), line);
        }
        let line = format!("a=Shape@21 {target}; Reshape float[1500] a");
        assert_eq!(
            read(&line).case.to_string(),
            "a=Shape@21 int64[1500]:random(0); Reshape float[1500]:random(0) a",
            "a Shape takes the dims alone"
        );
    }

    /// A change of a model, and the expected text.
    type Row<'a> = (&'a dyn Fn(&mut ModelProto), &'a str);

    fn graph(model: &mut ModelProto) -> &mut GraphProto {
        model.graph.as_mut().unwrap()
    }

    #[test]
    fn what_no_case_has_is_named() {
        let why = |change: &dyn Fn(&mut ModelProto)| {
            let case: Case = "a=Shape@21 int8[2]; Reshape int64[2]{1,2}:initializer a".parse().unwrap();
            let mut job = job(&case, &case.tensors());
            let mut model = job.model.decode().unwrap();
            change(&mut model);
            job.model = model.encode_to_vec().into();
            super::case(&job).map_or_else(|why| why, |read| read.case.to_string())
        };
        let rows: &[Row] = &[
            (&|_| {}, "a=Shape@21 int8[2]{0,1}; Reshape int64[2]{1,2}:initializer a"),
            (&|model| model.opset_import[0].version = Some(29), "the opset is not one of 1 to 28"),
            (&|model| model.opset_import.clear(), "no opset of the default domain"),
            (&|model| model.graph = None, "no graph"),
            (&|model| graph(model).node.clear(), "it has 0 nodes beside Constant nodes"),
            (&|model| graph(model).node.reverse(), "nothing before gives `node0`, which is taken"),
            (&|model| graph(model).node[0].op_type = Some("Erf".to_owned()), "no operator `Erf`"),
            (&|model| graph(model).node[0].domain = Some("com.example".to_owned()), "no operator `com.example.Shape`"),
            (&|model| graph(model).node[0].output.push("more".to_owned()), "a Shape has 2 outputs"),
            (&|model| graph(model).node[0].output[0] = "source0".to_owned(), "two values have the name `source0`"),
            (&|model| graph(model).sparse_initializer.push(vec![]), "a sparse initializer"),
            (&|model| graph(model).initializer[0].data_location = Some(EXTERNAL), "`source1` are in another file"),
            (&|model| graph(model).initializer.clear(), "nothing before gives `source1`"),
            (&|model| graph(model).output.clear(), "no graph output"),
            (
                &|model| {
                    let twice = graph(model).output[0].clone();
                    graph(model).output.push(twice);
                },
                "another order",
            ),
            (&|model| graph(model).output[0].name = Some("other".to_owned()), "nothing before gives `other`"),
            (&|model| graph(model).input[0].name = Some("other".to_owned()), "the input `other` is not fed"),
            (&|model| declare(graph(model), None), "no dims are declared of the graph output `node1`"),
            (&|model| declare(graph(model), Some(&[7])), "`node1` is declared with other dims than it has"),
            (
                &|model| declare(graph(model), Some(&[2])),
                "a=Shape@21 int8[2]{0,1}; Reshape int64[2]{1,2}:initializer a",
            ),
            (
                &|model| {
                    let body =
                        AttributeProto { name: Some("body".to_owned()), r#type: Some(5), ..AttributeProto::default() };
                    graph(model).node[0].attribute.push(body);
                },
                "the attribute `body` is of a kind that no case has",
            ),
            (
                &|model| {
                    let node = graph(model).node[0].clone();
                    let name = |place: usize| NodeProto { output: vec![format!("more{place}")], ..node.clone() };
                    graph(model).node.extend((0..7).map(name));
                },
                "it has 9 nodes beside Constant nodes, and a case has 1 to 8",
            ),
        ];
        for (change, expected) in rows {
            let said = why(*change);
            assert!(said.contains(expected), "{expected}: {said}");
        }
    }

    /// Declares the dims of the graph output.
    fn declare(graph: &mut GraphProto, dims: Option<&[i64]>) {
        let dim = |&size: &i64| crate::model::proto::Dimension {
            value: Some(DimensionValue::Size(size)),
            ..Default::default()
        };
        let shape = dims.map(|dims| TensorShapeProto { dim: dims.iter().map(dim).collect() });
        graph.output[0].r#type.as_mut().unwrap().tensor_type.as_mut().unwrap().shape = shape;
    }

    #[test]
    fn a_dead_node_is_kept() {
        let case: Case = "a=Shape@21 int8[2]{0,1}; Shape int8[2]{0,1}".parse().unwrap();
        assert_eq!(of(&case).unwrap().case, case);
    }
}
