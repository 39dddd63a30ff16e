//! The one-line notation of a case.
//!
//! ```text
//! Reshape@14 allowzero=1 float[0,3] int64[2]{3,0}:initializer
//! ```
//!
//! A line is an operator and the opset, then attributes (`name=value`), then operands. An operand is an element type and dims, then
//! explicit elements in braces. Unusual contents and wirings follow after colons: `:special` or `:random(SEED)` contents,
//! `:initializer`, `:constant`, `:default` or `:input(symbolic)` wiring. `_` is an operand left out. If a case is printed and read
//! back, the result is the same case.
//!
//! ```text
//! x=float[2,3]:input(symbolic); a=Shape@21 x; Reshape x a :output(static)
//! ```
//!
//! In a graph, `;` separates the nodes, and `name=` binds the output of a node, or a source that is used more than once. The opset
//! stands at the first node. `:output` after a node makes its output a graph output, `:info` gives it a `value_info`, and `:hidden`
//! does neither. The default is `:output` for the last node, and `:hidden` for the others. `=> N` after the inputs of a node names
//! N outputs: `a` is the first, `a.1` the second and so on. All outputs of a node are shown alike. A source with `:output` is also
//! a graph output. The inputs of each earlier run in the session stand at the end, after the word `after`: an operand for each
//! graph input that is fed.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use winnow::ascii::{dec_int, dec_uint, digit1, space0, space1};
use winnow::combinator::{alt, cut_err, delimited, eof, opt, peek, preceded, repeat, separated, terminated};
use winnow::error::{StrContext, StrContextValue};
use winnow::prelude::*;
use winnow::token::{none_of, one_of, rest, take_while};

use super::mend::mend;
use super::{Case, Contents, Declared, Declares, Encoding, Fed, Node, Operand, Shown, Value, Wiring};
use crate::operator::{Attribute, AttributeValue, NEWEST_OPSET, OPERATORS, Operator};
use crate::tensor::{Class, ElementType, Elements, Tensor, element_count, mask};

/// The longest line that is read, in bytes: 1 MiB.
pub const MAX_LINE: usize = 1 << 20;

/// Why a line is not a case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: expected {expected}{}", mend.map(|mend| format!("; {mend}")).unwrap_or_default())]
pub struct ParseCaseError {
    /// 1 for the first character.
    pub column: usize,
    pub expected: String,
    /// Advice, if the mistake is a common one.
    pub mend: Option<&'static str>,
}

const CONTENTS: &str = "`special`, `random(SEED)` or `count`";

impl Case {
    /// Whether the line of this case is shorter than the line of another case, or has the same length and comes first in lexical
    /// order.
    pub fn is_shorter_than(&self, other: &Case) -> bool {
        let size = |case: &Case| {
            let line = case.to_string();
            (line.len(), line)
        };
        size(self) < size(other)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_bound: Vec<bool> = (0..self.sources.len()).map(|source| self.is_bound(source)).collect();
        for (source, operand) in self.sources.iter().enumerate().filter(|(source, _)| is_bound[*source]) {
            let output = if self.passed.contains(&source) { OUTPUT } else { "" };
            write!(f, "{}={operand}{output}; ", bound_name('x', source))?;
        }
        for (place, node) in self.nodes.iter().enumerate() {
            let is_last = place + 1 == self.nodes.len();
            if !is_last {
                write!(f, "{}=", bound_name('a', place))?;
            }
            f.write_str(node.operator.name)?;
            if place == 0 {
                write!(f, "@{}", self.opset)?;
            }
            for attribute in &node.attributes {
                write!(f, " {}={}", attribute.name, attribute.value)?;
            }
            for input in &node.inputs {
                match input {
                    None => f.write_str(" _")?,
                    Some(Value::Source(source)) if !is_bound[*source] => write!(f, " {}", self.sources[*source])?,
                    Some(Value::Source(source)) => write!(f, " {}", bound_name('x', *source))?,
                    Some(Value::Output { node, output: 0 }) => write!(f, " {}", bound_name('a', *node))?,
                    Some(Value::Output { node, output }) => write!(f, " {}.{output}", bound_name('a', *node))?,
                }
            }
            if node.outputs > 1 {
                write!(f, " => {}", node.outputs)?;
            }
            if node.shown != usually_shown(is_last) {
                write!(f, " :{}", node.shown)?;
            }
            f.write_str(if is_last { "" } else { "; " })?;
        }
        for run in &self.before {
            f.write_str(" after")?;
            for source in self.fed() {
                let wiring = Wiring::Input(Declared::Static);
                write!(f, " {}", Operand { wiring, ..run[source].clone() })?;
            }
        }
        Ok(())
    }
}

impl Case {
    /// Whether a source has a name in the line: a source that is a graph output, or that is not used exactly once.
    fn is_bound(&self, source: usize) -> bool {
        let inputs = self.nodes.iter().flat_map(|node| &node.inputs);
        let uses = inputs.filter(|input| **input == Some(Value::Source(source))).count();
        uses != 1 || self.passed.contains(&source)
    }
}

/// The suffix of a source that is also a graph output.
const OUTPUT: &str = ":output";

/// The name that a value is bound to: sources are `x`, `x1` and so on, nodes `a`, `a1`.
fn bound_name(letter: char, place: usize) -> String {
    if place == 0 { letter.to_string() } else { format!("{letter}{place}") }
}

/// How the output of a node is shown if the line does not say it.
const fn usually_shown(is_last: bool) -> Shown {
    if is_last { Shown::Output(Declares::Symbolic) } else { Shown::Hidden }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(SHOWN_AS.iter().find(|(_, shown)| shown == self).map_or("", |(name, _)| name))
    }
}

impl Shown {
    /// Every way to show the output of a node.
    pub fn all() -> impl Iterator<Item = Shown> {
        SHOWN_AS.iter().map(|(_, shown)| *shown)
    }
}

/// Each way to show the output of a node, by its name.
const SHOWN_AS: [(&str, Shown); 7] = [
    ("hidden", Shown::Hidden),
    ("output", Shown::Output(Declares::Symbolic)),
    ("output(static)", Shown::Output(Declares::Static)),
    ("output(rank)", Shown::Output(Declares::Rank)),
    ("info", Shown::Info(Declares::Symbolic)),
    ("info(static)", Shown::Info(Declares::Static)),
    ("info(rank)", Shown::Info(Declares::Rank)),
];

impl fmt::Display for AttributeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttributeValue::Int(value) => write!(f, "{value}"),
            AttributeValue::Ints(values) => write!(f, "[{}]", join(values)),
            AttributeValue::Float(bits) => float(f, f64::from(f32::from_bits(*bits)), u128::from(*bits), 32),
            AttributeValue::String(text) => write!(f, "{}", quoted(text)),
            AttributeValue::Tensor(tensor) => Operand::of(tensor, Wiring::Input(Declared::Static)).fmt(f),
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.element_type, join(&self.dims))?;
        match &self.contents {
            Contents::Count => {}
            Contents::Random(seed) => write!(f, ":random({seed})")?,
            Contents::Special => f.write_str(":special")?,
            Contents::Bits(elements) => {
                f.write_str("{")?;
                for (i, &bits) in elements.iter().enumerate() {
                    f.write_str(if i > 0 { "," } else { "" })?;
                    element(f, self.element_type, bits)?;
                }
                f.write_str("}")?;
            }
            Contents::Strings(strings) => {
                let strings: Vec<String> = strings.iter().map(|s| quoted(s)).collect();
                write!(f, "{{{}}}", strings.join(","))?;
            }
        }
        match self.wiring {
            Wiring::Input(Declared::Static) => Ok(()),
            wiring => write!(f, ":{wiring}"),
        }
    }
}

impl fmt::Display for Wiring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(WIRINGS.iter().find(|(_, wiring)| wiring == self).map_or("", |(name, _)| name))
    }
}

/// Each wiring by its name.
const WIRINGS: [(&str, Wiring); 10] = [
    ("input", Wiring::Input(Declared::Static)),
    ("input(symbolic)", Wiring::Input(Declared::Symbolic)),
    ("input(shared)", Wiring::Input(Declared::Shared)),
    ("input(unranked)", Wiring::Input(Declared::Unranked)),
    ("initializer", Wiring::Initializer(Encoding::Raw)),
    ("initializer(typed)", Wiring::Initializer(Encoding::Typed)),
    ("constant", Wiring::Constant(Encoding::Raw)),
    ("constant(typed)", Wiring::Constant(Encoding::Typed)),
    ("default", Wiring::Default(Fed::Nothing)),
    ("default(overridden)", Wiring::Default(Fed::Operand)),
];

/// The most elements of a tensor that are shown.
const SHOWN: usize = 16;

/// A tensor in the notation of an operand. Only the first 16 elements are shown.
pub fn describe(tensor: &Tensor) -> String {
    struct Element(ElementType, u128);
    impl fmt::Display for Element {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            element(f, self.0, self.1)
        }
    }
    let shown = 0..tensor.len().min(SHOWN);
    let elements: Vec<String> = match tensor.elements() {
        Elements::Packed(_) => {
            shown.map(|i| Element(tensor.element_type(), tensor.element_bits(i)).to_string()).collect()
        }
        Elements::Strings(strings) => shown.map(|i| quoted(&String::from_utf8_lossy(&strings[i]))).collect(),
    };
    let rest = if tensor.len() > SHOWN { ",…" } else { "" };
    format!("{}[{}]{{{}{rest}}}", tensor.element_type(), join(tensor.dims()), elements.join(","))
}

fn join(values: &[i64]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Integers as decimal numbers, float and double as decimal numbers unless they are NaN, the rest as hexadecimal bits.
fn element(f: &mut fmt::Formatter<'_>, element_type: ElementType, bits: u128) -> fmt::Result {
    let width = element_type.bits();
    match (element_type, element_type.integer(bits)) {
        (_, Some(number)) => write!(f, "{number}"),
        (ElementType::Float, None) => {
            let value = f32::from_bits(u32::try_from(bits).unwrap_or_default());
            float(f, f64::from(value), bits, width)
        }
        (ElementType::Double, None) => {
            let value = f64::from_bits(u64::try_from(bits).unwrap_or_default());
            float(f, value, bits, width)
        }
        (_, None) => hexadecimal(f, bits, width),
    }
}

fn float(f: &mut fmt::Formatter<'_>, value: f64, bits: u128, width: u32) -> fmt::Result {
    if value.is_nan() { hexadecimal(f, bits, width) } else { write!(f, "{value:?}") }
}

fn hexadecimal(f: &mut fmt::Formatter<'_>, bits: u128, width: u32) -> fmt::Result {
    write!(f, "0x{bits:0digits$x}", digits = width.div_ceil(4) as usize)
}

impl FromStr for Case {
    type Err = ParseCaseError;

    fn from_str(line: &str) -> Result<Case, ParseCaseError> {
        if line.len() > MAX_LINE {
            let expected =
                format!("the end of the line: a case is at most {MAX_LINE} bytes long, this is {}", line.len());
            return Err(ParseCaseError { column: MAX_LINE + 1, expected, mend: None });
        }
        case.parse(line).map_err(|error| {
            let column = line.get(..error.offset()).map_or(error.offset(), |before| before.chars().count()) + 1;
            let inner = error.inner();
            let mut expected: Vec<String> = inner
                .context()
                .filter_map(|context| match context {
                    StrContext::Expected(value) => Some(value.to_string()),
                    _ => None,
                })
                .collect();
            expected.extend(inner.cause().map(ToString::to_string));
            if expected.is_empty() {
                expected.push("an attribute `name=value`, an operand `type[dims]`, or the end of the line".to_owned());
            }
            ParseCaseError { column, expected: expected.join(", "), mend: mend(line, error.offset()) }
        })
    }
}

/// A case is serialized as its line.
impl Serialize for Case {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Case {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Case, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// A message that says what was expected, from inside a parser.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Expected(String);

fn expected(description: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(description))
}

/// The most nodes that a case may have.
pub const MAX_NODES: usize = 8;

/// The most runs of one session that a case may have, its own included.
pub const MAX_RUNS: usize = 8;

/// A case while it is read.
#[derive(Default)]
struct Draft {
    opset: Option<u8>,
    /// Values by name. A source has no place until a node uses it.
    bound: Vec<(String, Bound)>,
    sources: Vec<Operand>,
    nodes: Vec<Node>,
    /// The names of sources that are also graph outputs.
    passed: Vec<String>,
    /// The operands that are fed in each earlier run.
    before: Vec<Vec<Operand>>,
}

#[derive(Clone)]
enum Bound {
    Pending(Operand),
    Value(Value),
}

fn case(input: &mut &str) -> ModalResult<Case> {
    let mut draft = Draft::default();
    loop {
        let name: Option<&str> = opt(terminated(identifier, (space0, '='))).parse_next(input)?;
        space0.parse_next(input)?;
        let is_operand = is_operand(input);
        match name {
            Some(name) if is_operand => {
                let operand = operand.parse_next(input)?;
                if opt(OUTPUT).parse_next(input)?.is_some() {
                    draft.passed.push(name.to_owned());
                }
                draft.bind(input, name, Bound::Pending(operand))?;
            }
            _ => {
                let node = call(input, &mut draft)?;
                draft.nodes.push(node);
                let place = draft.nodes.len() - 1;
                if let Some(name) = name {
                    draft.bind(input, name, Bound::Value(Value::Output { node: place, output: 0 }))?;
                }
            }
        }
        while let Some(run) = opt(preceded((space1, AFTER), repeat(0.., preceded(space1, fed)))).parse_next(input)? {
            draft.before.push(run);
        }
        space0.parse_next(input)?;
        let is_end = opt(eof).parse_next(input)?.is_some();
        match name {
            None if is_end => return draft.finished(input),
            None => return cut_err(winnow::combinator::fail).parse_next(input),
            Some(_) => {
                cut_err((';', space0)).context(expected("`;` and what the value is used for")).parse_next(input)?;
            }
        }
    }
}

impl Draft {
    fn bind(&mut self, input: &mut &str, name: &str, bound: Bound) -> ModalResult<()> {
        let is_new = self.bound.iter().all(|(other, _)| other != name);
        let checked = winnow::combinator::empty.try_map(|()| {
            is_new.then_some(()).ok_or_else(|| Expected(format!("another name than `{name}`, which is bound")))
        });
        cut_err(checked).parse_next(input)?;
        self.bound.push((name.to_owned(), bound));
        Ok(())
    }

    /// Adds a source that a node uses.
    fn source(&mut self, operand: Operand) -> Value {
        self.sources.push(operand);
        Value::Source(self.sources.len() - 1)
    }

    /// The value of a name.
    fn value(&mut self, name: &str) -> Result<Value, Expected> {
        let place = self.bound.iter().position(|(bound, _)| bound == name).ok_or_else(|| {
            not_among(
                "a value that was bound before, an element type, or the end",
                self.bound.iter().map(|(name, _)| &**name),
            )
        })?;
        let value = match self.bound[place].1.clone() {
            Bound::Value(value) => value,
            Bound::Pending(operand) => self.source(operand),
        };
        self.bound[place].1 = Bound::Value(value);
        Ok(value)
    }

    /// Another output of the node that computes a value.
    fn output(&self, value: Value, output: usize) -> Result<Value, Expected> {
        match value {
            Value::Output { node, .. } if output < self.nodes[node].outputs => Ok(Value::Output { node, output }),
            _ => Err(Expected("an output that the node has".to_owned())),
        }
    }

    fn finished(mut self, input: &mut &str) -> ModalResult<Case> {
        // Sources that no node uses come last.
        for (name, bound) in self.bound.clone() {
            if let Bound::Pending(_) = bound {
                let _ = self.value(&name);
            }
        }
        let names = std::mem::take(&mut self.passed);
        let mut passed: Vec<usize> = names
            .iter()
            .filter_map(|name| match self.value(name) {
                Ok(Value::Source(place)) => Some(place),
                _ => None,
            })
            .collect();
        passed.sort_unstable();
        let Draft { opset, sources, nodes, before, .. } = self;
        let (count, runs) = (nodes.len(), before.len() + 1);
        let mut case = Case { opset: opset.unwrap_or(NEWEST_OPSET), sources, nodes, passed, before: vec![] };
        let fed: Vec<usize> = case.fed().collect();
        let is_fed = before.iter().all(|run| run.len() == fed.len());
        for run in before {
            let mut sources = case.sources.clone();
            for (&place, operand) in fed.iter().zip(run) {
                sources[place] = Operand { wiring: sources[place].wiring, ..operand };
            }
            case.before.push(sources);
        }
        let has_output = case.outputs().next().is_some();
        let checked = winnow::combinator::empty.try_map(move |()| match () {
            () if count > MAX_NODES => Err(Expected(format!("at most {MAX_NODES} nodes; here are {count}"))),
            () if runs > MAX_RUNS => Err(Expected(format!("at most {MAX_RUNS} runs; here are {runs}"))),
            () if !is_fed => Err(Expected(format!("{} operands after `{AFTER}`, one for each graph input", fed.len()))),
            () if !has_output => Err(Expected("a graph output: a node that is not `:hidden`".to_owned())),
            () => Ok(()),
        });
        cut_err(checked).parse_next(input)?;
        Ok(case)
    }
}

/// Whether a word with a bracket follows.
fn is_operand(input: &str) -> bool {
    let rest = input.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    rest.len() < input.len() && rest.starts_with('[')
}

fn identifier<'a>(input: &mut &'a str) -> ModalResult<&'a str> {
    take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_').parse_next(input)
}

/// The word before the operands of an earlier run.
const AFTER: &str = "after";

fn is_after(input: &str) -> bool {
    input.strip_prefix(AFTER).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// The operand that a graph input is fed in an earlier run.
fn fed(input: &mut &str) -> ModalResult<Operand> {
    if !is_operand(input) {
        return winnow::combinator::fail.parse_next(input);
    }
    operand.parse_next(input)
}

/// A call of an operator. The first one names the opset.
fn call(input: &mut &str, draft: &mut Draft) -> ModalResult<Node> {
    let operator = take_while(0.., |c: char| c.is_ascii_alphanumeric())
        .try_map(|name: &str| name.parse().map_err(|_| not_among("an operator", OPERATORS.iter().map(|o| o.name))))
        .parse_next(input)?;
    if draft.opset.is_none() {
        cut_err('@').context(expected("`@` and the opset")).parse_next(input)?;
        let opset = cut_err(dec_uint::<_, u8, _>.verify(|opset| (1..=NEWEST_OPSET).contains(opset)))
            .context(expected("an opset from 1 to 28"))
            .parse_next(input)?;
        draft.opset = Some(opset);
    }
    let attributes = repeat(0.., preceded(space1, attribute)).parse_next(input)?;
    let mut inputs = Vec::new();
    while let Some(given) = opt(preceded(space1, |input: &mut &str| argument(input, draft))).parse_next(input)? {
        inputs.push(given);
    }
    let outputs =
        opt(preceded((space1, "=>", space0), |input: &mut &str| outputs(input, operator))).parse_next(input)?;
    let shown = opt(preceded((space1, ':'), shown)).parse_next(input)?;
    let rest = input.trim_start();
    let is_last = rest.is_empty() || is_after(rest);
    let shown = shown.unwrap_or(usually_shown(is_last));
    Ok(Node { operator, attributes, inputs, outputs: outputs.unwrap_or(1), shown })
}

/// The most outputs that a node may name.
const MAX_OUTPUTS: usize = 1024;

/// The number of outputs that a node names. Only some operators may have several.
fn outputs(input: &mut &str, operator: &Operator) -> ModalResult<usize> {
    let most = if operator.has_outputs() { MAX_OUTPUTS } else { 1 };
    let read = |count: usize| {
        let is_one = (1..=most).contains(&count);
        is_one.then_some(count).ok_or_else(|| Expected(format!("a number of outputs from 1 to {most}")))
    };
    cut_err(dec_uint.try_map(read)).parse_next(input)
}

fn shown(input: &mut &str) -> ModalResult<Shown> {
    let word = take_while(1.., |c: char| c.is_ascii_alphanumeric() || matches!(c, '(' | ')'));
    let names = || not_among("how the output is shown", SHOWN_AS.iter().map(|(name, _)| *name));
    let read = |word: &str| SHOWN_AS.iter().find(|(name, _)| *name == word).map(|(_, shown)| *shown).ok_or_else(names);
    cut_err(word.try_map(read)).parse_next(input)
}

/// An input of a node: `_`, a name, or an operand.
fn argument(input: &mut &str, draft: &mut Draft) -> ModalResult<Option<Value>> {
    if opt(('_', peek(alt((space1, eof, ";"))))).parse_next(input)?.is_some() {
        return Ok(None);
    }
    peek(one_of(|c: char| c.is_ascii_alphanumeric())).parse_next(input)?;
    if is_after(input) {
        return winnow::combinator::fail.parse_next(input);
    }
    if draft.bound.is_empty() || is_operand(input) {
        return operand.map(|operand| Some(draft.source(operand))).parse_next(input);
    }
    let value = cut_err(identifier.try_map(|name| draft.value(name))).parse_next(input)?;
    let read = |output: usize| draft.output(value, output);
    Ok(Some(opt(preceded('.', cut_err(dec_uint.try_map(read)))).parse_next(input)?.unwrap_or(value)))
}

fn not_among<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Expected {
    Expected(format!("{what}: {}", names.collect::<Vec<_>>().join(", ")))
}

fn attribute(input: &mut &str) -> ModalResult<Attribute> {
    let name = take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_');
    let name: &str = terminated(name, '=').parse_next(input)?;
    let value = cut_err(attribute_value)
        .context(expected("a value: an integer, `[integers]`, a number with a point, a \"string\", or a tensor `type[dims]{elements}`"))
        .parse_next(input)?;
    Ok(Attribute { name: name.to_owned(), value })
}

fn attribute_value(input: &mut &str) -> ModalResult<AttributeValue> {
    if is_operand(input) {
        return operand.map(|operand| AttributeValue::Tensor(operand.tensor())).parse_next(input);
    }
    let value_end = || peek(alt((space1, eof, ";")));
    alt((
        terminated(dec_int, value_end()).map(AttributeValue::Int),
        delimited('[', separated(0.., dec_int::<_, i64, _>, ','), ']').map(AttributeValue::Ints),
        string.map(AttributeValue::String),
        number.try_map(float_attribute).map(AttributeValue::Float),
    ))
    .parse_next(input)
}

/// A number that is not an integer. Digits alone are an integer that is too large for an attribute.
fn float_attribute(text: &str) -> Result<u32, Expected> {
    let is_integer = text.trim_start_matches(['-', '+']).chars().all(|c| c.is_ascii_digit());
    let bits = element_bits(text, ElementType::Float).ok().and_then(|bits| u32::try_from(bits).ok());
    bits.filter(|_| !is_integer).ok_or_else(|| Expected("a 64-bit integer or a 32-bit float".to_owned()))
}

fn operand(input: &mut &str) -> ModalResult<Operand> {
    peek(one_of(|c: char| c.is_ascii_alphanumeric())).parse_next(input)?;
    let element_type = cut_err(take_while(1.., |c: char| c.is_ascii_alphanumeric()).try_map(|name: &str| {
        name.parse::<ElementType>().map_err(|_| not_among("an element type", ElementType::ALL.iter().map(|t| t.name())))
    }))
    .parse_next(input)?;
    let dims: Vec<i64> = cut_err(delimited('[', separated(0.., dimension, ','), ']'))
        .context(expected("dims in brackets, such as `[2,3]`, none of them negative"))
        .parse_next(input)?;
    let mut operand = Operand::new(element_type, dims);
    cut_err(winnow::combinator::empty.try_map(|()| operand.check_limits())).parse_next(input)?;
    let count = element_count(&operand.dims).unwrap_or(0);
    if let Some(contents) = opt(|input: &mut &str| elements(input, element_type, count)).parse_next(input)? {
        operand.contents = contents;
    }
    while !input.starts_with(OUTPUT) && opt(':').parse_next(input)?.is_some() {
        cut_err(|input: &mut &str| option(input, &mut operand))
            .context(expected(CONTENTS))
            .context(expected("or a wiring, such as `initializer`, `constant(typed)` or `input(symbolic)`"))
            .parse_next(input)?;
    }
    Ok(operand)
}

fn dimension(input: &mut &str) -> ModalResult<i64> {
    preceded(peek(one_of('0'..='9')), cut_err(digit1.try_map(str::parse))).parse_next(input)
}

/// Explicit elements: as many as the dims hold.
fn elements(input: &mut &str, element_type: ElementType, count: usize) -> ModalResult<Contents> {
    '{'.parse_next(input)?;
    let contents = if element_type == ElementType::String {
        cut_err(separated(0.., preceded(peek(none_of('}')), cut_err(string)), ','))
            .context(expected("\"strings\""))
            .map(Contents::Strings)
            .parse_next(input)?
    } else {
        let bits = preceded(peek(none_of('}')), cut_err(number.try_map(|text: &str| element_bits(text, element_type))));
        cut_err(separated(0.., bits, ',')).context(expected("elements")).map(Contents::Bits).parse_next(input)?
    };
    let given = match &contents {
        Contents::Strings(strings) => strings.len(),
        Contents::Bits(bits) => bits.len(),
        Contents::Count | Contents::Random(_) | Contents::Special => 0,
    };
    let checked = winnow::combinator::empty.try_map(|()| {
        if given == count {
            Ok(())
        } else {
            Err(Expected(format!("{count} elements, as the dims hold; here are {given}")))
        }
    });
    cut_err(checked).parse_next(input)?;
    cut_err('}').context(expected("`,` and an element, or `}`")).parse_next(input)?;
    Ok(contents)
}

fn option(input: &mut &str, operand: &mut Operand) -> ModalResult<()> {
    let seed = delimited("random(", dec_uint, ')').map(Contents::Random);
    let contents = alt(("special".value(Contents::Special), "count".value(Contents::Count), seed));
    if let Some(contents) = opt(contents).parse_next(input)? {
        operand.contents = contents;
        return Ok(());
    }
    let end = input.find(|c: char| c == ':' || c == ';' || c.is_ascii_whitespace()).unwrap_or(input.len());
    match WIRINGS.iter().find(|(name, _)| *name == &input[..end]) {
        Some((_, wiring)) => {
            operand.wiring = *wiring;
            *input = &input[end..];
            Ok(())
        }
        None => winnow::combinator::fail.parse_next(input),
    }
}

fn number<'a>(input: &mut &'a str) -> ModalResult<&'a str> {
    take_while(1.., |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+')).parse_next(input)
}

/// A JSON string.
fn string(input: &mut &str) -> ModalResult<String> {
    peek('"').parse_next(input)?;
    let mut stream = serde_json::Deserializer::from_str(input).into_iter::<String>();
    match stream.next() {
        Some(Ok(text)) => {
            *input = &input[stream.byte_offset()..];
            Ok(text)
        }
        _ => cut_err(rest.try_map(|_: &str| Err::<String, _>(Expected("a string as in JSON".to_owned()))))
            .parse_next(input),
    }
}

/// An element from its text. `0x…` gives the bits of an element of any type; a decimal number is a value of the type.
fn element_bits(text: &str, element_type: ElementType) -> Result<u128, Expected> {
    let width = element_type.bits();
    let bits = match (text.strip_prefix("0x"), element_type.class()) {
        (Some(digits), Class::Bool) => u128::from_str_radix(digits, 16).ok().filter(|&bits| bits <= 1),
        (None, Class::Bool) => text.parse().ok().filter(|&bits| bits <= 1),
        (Some(digits), _) => u128::from_str_radix(digits, 16).ok().filter(|&bits| bits <= mask(width)),
        (None, Class::Uint) => text.parse().ok().filter(|&bits| bits <= mask(width)),
        (None, Class::Int) => text.parse::<i128>().ok().map(|n| n.cast_unsigned() & mask(width)).filter(|&bits| {
            // No bits were cut off if the result is the same number.
            element_type.integer(bits).is_some_and(|n| Ok(n) == text.parse())
        }),
        (None, _) => decimal_float(text, element_type),
    };
    bits.ok_or_else(|| match element_type {
        ElementType::Bool => Expected("an element of bool, which is 0 or 1".to_owned()),
        _ => Expected(format!("an element of {element_type}, in decimal or as `0x` bits")),
    })
}

/// The bits of a decimal number, for the two float types that have a decimal notation here.
fn decimal_float(text: &str, element_type: ElementType) -> Option<u128> {
    match element_type {
        ElementType::Float => text.parse::<f32>().ok().map(|value| u128::from(value.to_bits())),
        ElementType::Double => text.parse::<f64>().ok().map(|value| u128::from(value.to_bits())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(line: &str) -> (usize, String) {
        let error = line.parse::<Case>().expect_err(line);
        (error.column, error.expected)
    }

    #[test]
    fn every_part_of_the_notation_reads_and_prints() {
        for line in [
            "Shape@28 float[2,3,4]",
            "Shape@15 start=-9223372036854775808 end=9223372036854775807 string[]",
            "Shape@15 start=1.5 start=\"a b\" start=0x7fc00001 float[0]",
            "Flatten@9 axis=-1 complex128[2,3]:random(18446744073709551615):input(shared)",
            "Reshape@14 allowzero=1 float[0,3]:special:constant(typed) int64[2]{3,0}:initializer",
            "Reshape@1 shape=[2,-1,0] consumed_inputs=[] double[2]{-0.0,0x7ff0000000000001}:input(unranked)",
            "Reshape@5 _ _",
            "Shape@25 int2[3]{-2,1,0} uint4[1]{15} bool[2]{0,1} float16[1]{0x7e01} complex64[1]{0x7fc000003f800000}",
            "x=float[2,3]:input(symbolic); a=Shape@21 x; Reshape x a",
            "x=float[2,3]; a=Shape@21 start=1 x :output(static); a1=Reshape x a :info; Flatten axis=0 a1 :output(rank)",
            "x=float[2]:initializer:output; a=Shape@21 x; a1=Shape a :output; Reshape x a :hidden",
            "a=Flatten@21 _; Reshape a int64[1]{-1}:initializer _",
            "Flatten@21 float[2]:input(symbolic) after float[3] after float[4]:special",
            "x=float[2]:input(symbolic); a=Shape@21 x; Reshape x a after float[3]",
            "Shape@21 float[2]:initializer after",
            r#"Shape@25 string[4]{"","a\u0000b","ü, }","\""}:initializer(typed)"#,
            "Reshape@14 float[2]:special:default int64[1]{2}:default(overridden)",
        ] {
            let case: Case = line.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!(case.to_string(), line);
        }
        let spelled: Case = "shape@28   start=0  float[2]{1,2}:count:input  ".parse().unwrap();
        assert_eq!(spelled.to_string(), "Shape@28 start=0 float[2]");
    }

    #[test]
    fn errors_name_the_column_and_what_was_expected_there() {
        let rows: &[(&str, usize, &str)] = &[
            ("", 1, "an operator: Shape, "),
            ("Sharp@1 float[]", 1, "an operator: Shape, "),
            ("Shape float[]", 6, "`@` and the opset"),
            ("Shape@0 float[]", 7, "an opset from 1 to 28"),
            ("Shape@29 float[]", 7, "an opset from 1 to 28"),
            ("Shape@28 flot[]", 10, "an element type"),
            ("Shape@28 float[-1]", 16, "dims in brackets"),
            ("Shape@28 float[2", 17, "dims in brackets"),
            ("Shape@28 float[2,99999999999999999999]", 18, "dims in brackets"),
            ("Shape@28 float[4096,4097]", 26, "at most 16777216 elements"),
            ("Shape@28 float[2]{1}", 20, "2 elements"),
            ("Shape@28 int8[1]{128}", 18, "an element of int8"),
            ("Shape@28 bool[1]{2}", 18, "an element of bool, which is 0 or 1"),
            ("Shape@28 bool[2]{0x1,0x2}", 22, "an element of bool, which is 0 or 1"),
            ("Shape@28 float[2]:raw", 19, "`special`"),
            ("Shape@28 start= float[2]", 16, "a value"),
            ("Shape@28 start=9223372036854775808 float[2]", 16, "a value"),
            ("Shape@28 float[2] start=1", 19, "an element type"),
            ("Shape@28 string[1]{a}", 20, "\"strings\""),
            ("a=Shape@28 float[1]", 20, "`;` and what the value is used for"),
            ("a=Shape@28 float[1]; Flatten b", 30, "a value that was bound before"),
            ("a=Shape@28 float[1]; a=Shape a; Flatten a", 31, "another name than `a`"),
            ("Shape@28 float[1] :hidden", 26, "a graph output"),
            ("Shape@28 float[1] :shown", 20, "how the output is shown"),
            ("Shape@28 float[1] after", 24, "1 operands after `after`"),
        ];
        let misses: Vec<_> = rows
            .iter()
            .map(|&(line, column, expected)| (line, column, expected, fails(line)))
            .filter(|(_, column, expected, (at, what))| at != column || !what.contains(expected))
            .collect();
        assert!(misses.is_empty(), "{misses:#?}");
    }

    #[test]
    fn what_is_too_large_is_an_error_before_memory_is_taken() {
        let long = format!("Shape@28 float[{}]", vec!["1"; 1_000_000].join(","));
        assert!(fails(&long).1.contains("1048576 bytes"));
        let deep = format!("Shape@28 float[{}]", vec!["1"; 2000].join(","));
        assert!(fails(&deep).1.contains("at most 1024 dims"));
        assert!(fails("Shape@28 float[4294967296,4294967296]").1.contains("16777216 elements"));
    }
}
