//! Patterns: the idioms in which the operators occur in users' models, such as a target shape that is computed from a Shape.
//!
//! A pattern is a line of text, so that the table reads like the graphs in it:
//!
//! ```text
//! s=Shape x; d=Gather s [0]; t=Concat d [-1] axis=0; Reshape x t
//! ```
//!
//! `;` separates the statements, and `name=` binds the output of a node. A name that no statement binds, such as `x`, is any value.
//! `2` is an int64 scalar and `[0,-1]` an int64 vector. A capital letter stands for a number that is drawn, the same number
//! everywhere in the pattern. `axis=0` is an attribute or an input of that name, depending on the version of the operator. `?`
//! stands for a value that the operator draws for a valid call.

mod table;

use std::sync::LazyLock;

use serde::de::{Deserialize, Deserializer, Error};

use super::{Case, Value};
use crate::operator::Operator;

/// The id of a pattern.
pub type PatternId = &'static str;

/// An idiom: nodes that are connected in a certain way.
#[derive(Debug)]
pub struct Pattern {
    /// Such as `reshape-to-first-dim`.
    pub id: PatternId,
    /// The text of the pattern in the table.
    pub text: &'static str,
    pub(crate) statements: Vec<Statement>,
}

/// A node of a pattern.
#[derive(Debug)]
pub(crate) struct Statement {
    /// The names of the outputs. The last statement of a pattern may have none.
    pub outputs: Vec<&'static str>,
    pub operator: &'static Operator,
    pub inputs: Vec<Argument>,
    pub named: Vec<(&'static str, Argument)>,
}

/// An argument of a node of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Argument {
    /// An output of an earlier statement, or any value.
    Name(&'static str),
    Number(Number),
    Numbers(Vec<Number>),
    /// A value that the operator draws.
    Drawn,
}

/// A number, or a letter that stands for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Is(i64),
    Letter(char),
}

/// Every pattern.
pub static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let read = |&(id, text): &(&'static str, &'static str)| match statements(text) {
        Some(statements) => Pattern { id, text, statements },
        None => panic!("the pattern `{id}` cannot be read: {text}"),
    };
    table::TABLE.iter().map(read).collect()
});

/// The statements of a text; `None` if it cannot be read.
fn statements(text: &'static str) -> Option<Vec<Statement>> {
    text.split("; ").map(statement).collect()
}

fn statement(text: &'static str) -> Option<Statement> {
    let mut words = text.split(' ');
    let first = words.next()?;
    let (outputs, operator) = match first.split_once('=') {
        Some((outputs, operator)) => (outputs.split(',').collect(), operator),
        None => (vec![], first),
    };
    let mut statement = Statement { outputs, operator: operator.parse().ok()?, inputs: vec![], named: vec![] };
    for word in words {
        match word.split_once('=') {
            Some((name, word)) => statement.named.push((name, argument(word)?)),
            None => statement.inputs.push(argument(word)?),
        }
    }
    Some(statement)
}

fn argument(word: &'static str) -> Option<Argument> {
    if word == "?" {
        return Some(Argument::Drawn);
    }
    if let Some(list) = word.strip_prefix('[') {
        let list = list.strip_suffix(']')?;
        return Some(Argument::Numbers(list.split(',').map(number).collect::<Option<_>>()?));
    }
    match number(word) {
        Some(number) => Some(Argument::Number(number)),
        None => word.starts_with(|c: char| c.is_ascii_lowercase()).then_some(Argument::Name(word)),
    }
}

fn number(word: &str) -> Option<Number> {
    let mut letters = word.chars();
    match (letters.next()?, letters.next()) {
        (letter, None) if letter.is_ascii_uppercase() => Some(Number::Letter(letter)),
        _ => word.parse().ok().map(Number::Is),
    }
}

/// Reads the id of a pattern.
pub(crate) fn read_id<'de, D: Deserializer<'de>>(from: D) -> Result<PatternId, D::Error> {
    let id = String::deserialize(from)?;
    let pattern = PATTERNS.iter().find(|pattern| pattern.id == id);
    pattern.map(|pattern| pattern.id).ok_or_else(|| D::Error::custom(format!("no pattern is called `{id}`")))
}

impl Pattern {
    /// The number of nodes of the pattern.
    pub fn nodes(&self) -> usize {
        self.statements.len()
    }

    /// The operators of its nodes.
    pub fn operators(&self) -> impl Iterator<Item = &'static Operator> {
        self.statements.iter().map(|statement| statement.operator)
    }

    /// Whether a case contains nodes with these operators that are connected in this way.
    pub fn is_in(&self, case: &Case) -> bool {
        let mut found = Found { names: vec![], nodes: vec![] };
        self.nodes() <= case.nodes.len() && self.is_found(case, &mut found)
    }

    /// Finds a node for the next statement, and then nodes for the statements after it.
    fn is_found(&self, case: &Case, found: &mut Found) -> bool {
        let Some(statement) = self.statements.get(found.nodes.len()) else { return true };
        (0..case.nodes.len()).any(|node| {
            let names = found.names.len();
            if !found.nodes.contains(&node) && found.takes(case, statement, node) {
                found.nodes.push(node);
                let outputs = statement.outputs.iter().enumerate();
                found.names.extend(outputs.map(|(output, name)| (*name, Value::Output { node, output })));
                if self.is_found(case, found) {
                    return true;
                }
                found.nodes.pop();
            }
            found.names.truncate(names);
            false
        })
    }
}

/// The part of a pattern that is found in a case.
struct Found {
    /// The value of each name.
    names: Vec<(&'static str, Value)>,
    /// The node of each statement.
    nodes: Vec<usize>,
}

impl Found {
    /// Whether a node matches a statement. A name that is bound must be bound to the input of the node. A new name is bound to that
    /// input.
    fn takes(&mut self, case: &Case, statement: &Statement, node: usize) -> bool {
        let call = &case.nodes[node];
        if call.operator != statement.operator || call.outputs < statement.outputs.len() {
            return false;
        }
        let place_of = |name: &str| case.version(node)?.inputs.iter().position(|spec| spec.name == name);
        let positional = statement.inputs.iter().enumerate().map(|(place, argument)| (Some(place), argument));
        let named = statement.named.iter().map(|(name, argument)| (place_of(name), argument));
        positional.chain(named).all(|(place, argument)| {
            let value = place.and_then(|place| call.inputs.get(place).copied().flatten());
            match (argument, value) {
                (Argument::Name(name), Some(value)) => {
                    if let Some((_, bound)) = self.names.iter().find(|(other, _)| other == name) {
                        return *bound == value;
                    }
                    self.names.push((name, value));
                    true
                }
                (Argument::Name(_), None) => false,
                (Argument::Number(number), Some(value)) => is_constant(case, value, std::slice::from_ref(number)),
                (Argument::Numbers(numbers), Some(value)) => is_constant(case, value, numbers),
                // A number that is no input is an attribute, and attributes are not compared. `Drawn` matches any value.
                (Argument::Number(_) | Argument::Numbers(_), None) | (Argument::Drawn, _) => true,
            }
        })
    }
}

/// Whether a value is a source with these numbers. A letter matches any number.
fn is_constant(case: &Case, value: Value, numbers: &[Number]) -> bool {
    let Value::Source(place) = value else { return false };
    let operand = &case.sources[place];
    let has_as_many = i64::try_from(numbers.len()).is_ok_and(|count| operand.dims.iter().product::<i64>() == count);
    has_as_many
        && operand.tensor().integers().is_some_and(|own| {
            let is_such = |(number, own): (&Number, i128)| match number {
                Number::Is(number) => i128::from(*number) == own,
                Number::Letter(_) => true,
            };
            numbers.iter().zip(own).all(is_such)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::has_twice;

    #[test]
    fn each_pattern_has_a_name_and_a_text_of_its_own() {
        let ids: Vec<&str> = PATTERNS.iter().map(|pattern| pattern.id).collect();
        let texts: Vec<&str> = PATTERNS.iter().map(|pattern| pattern.text).collect();
        assert!(!has_twice(&ids) && !has_twice(&texts));
        assert!(PATTERNS.len() >= 25, "{} patterns", PATTERNS.len());
    }

    #[test]
    fn a_pattern_is_found_by_its_edges() {
        let find = |text: &str| {
            let case: Case = text.parse().unwrap();
            PATTERNS.iter().filter(|pattern| pattern.is_in(&case)).map(|pattern| pattern.id).collect::<Vec<_>>()
        };
        let case = "x=float[2,3]; s=Shape@21 x; d=Gather s int64[1]{0}; t=Concat axis=0 d int64[1]{-1}; Reshape x t";
        assert_eq!(find(case), ["reshape-to-first-dim"]);
        // Another constant, another value for `x`, and another order of the nodes.
        assert_eq!(find(&case.replace("{-1}", "{-2}")), [""; 0]);
        assert_eq!(find(&case.replace("Reshape x t", "Reshape float[2,3] t")), [""; 0]);
        let turned = "x=float[2,3]; i=Identity@21 x; s=Shape i; d=Gather s int64[1]{0}; t=Concat axis=0 d int64[1]{-1}; \
                      Reshape i t";
        assert_eq!(find(turned), ["reshape-to-first-dim"]);
    }
}
