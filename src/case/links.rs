//! The edges and declarations of a graph, and the graph without one of them.

use super::{Case, Declared, Declares, Edge, Operand, Shown, Value, Wiring};
use crate::operator::{Arity, Version};
use crate::tensor::Tensor;

/// The wiring and the output that declare nothing beyond what each graph must.
const PLAIN: Wiring = Wiring::Input(Declared::Static);
const PLAIN_OUTPUT: Shown = Shown::Output(Declares::Symbolic);

impl Case {
    /// Each edge in words, such as `Shape as shape of Reshape`, with the case in which a graph input of static dims holds the value
    /// in its place. `values` are those of the nodes. An edge whose value does not exist is left out.
    pub fn without_edges(&self, values: &[Vec<Tensor>]) -> Vec<(String, Case)> {
        let without = |edge: Edge| {
            let tensor = self.nodes[edge.to].inputs[edge.input]?.tensor(&[], values)?;
            let mut case = self.clone();
            case.sources.push(Operand::of(tensor, PLAIN));
            case.nodes[edge.to].inputs[edge.input] = Some(Value::Source(self.sources.len()));
            Some((format!("{} as {}", self.node_name(edge.from), self.input_name(edge.to, edge.input)), case.tidied()))
        };
        self.edges().filter_map(without).collect()
    }

    /// Each declaration of a graph that is not plain, in words, such as `data of Shape as input(symbolic)`, with the case in which it
    /// is plain: a source is a graph input of static dims, an output that no node takes has symbolic dims, and no other value is
    /// a graph output or declared.
    pub fn without_declarations(&self) -> Vec<(String, Case)> {
        let mut found = Vec::new();
        let mut add = |words: String, change: &dyn Fn(&mut Case)| {
            let mut case = self.clone();
            change(&mut case);
            found.push((words, case.tidied()));
        };
        for (place, source) in self.sources.iter().enumerate() {
            let name = self.source_name(place);
            if source.wiring != PLAIN {
                add(format!("{name} as {}", source.wiring), &|case| case.sources[place].wiring = PLAIN);
            }
            if self.passed.contains(&place) {
                add(format!("{name} as graph output"), &|case| case.passed.retain(|passed| *passed != place));
            }
        }
        for (place, node) in self.nodes.iter().enumerate() {
            let plain = if self.is_taken(place) { Shown::Hidden } else { PLAIN_OUTPUT };
            if node.shown != plain {
                add(format!("{} as {}", self.node_name(place), node.shown), &|case| case.nodes[place].shown = plain);
            }
        }
        found
    }

    /// The operator of a node, with a number if the graph has the operator before it.
    fn node_name(&self, node: usize) -> String {
        let operator = self.nodes[node].operator;
        let before = self.nodes[..node].iter().filter(|other| other.operator.name == operator.name).count();
        if before == 0 { operator.name.to_owned() } else { format!("{}#{}", operator.name, before + 1) }
    }

    /// The name of an input in the operator document, and its node.
    fn input_name(&self, node: usize, input: usize) -> String {
        let spec = self.version(node).and_then(|version: &Version| version.input(input));
        let name = match spec {
            None => format!("input {input}"),
            Some(spec) if spec.arity == Arity::Variadic => format!("{} {input}", spec.name),
            Some(spec) => spec.name.to_owned(),
        };
        format!("{name} of {}", self.node_name(node))
    }

    /// The first input that a source is.
    fn source_name(&self, source: usize) -> String {
        let is_it = |value: &Option<Value>| *value == Some(Value::Source(source));
        let taker =
            self.nodes.iter().enumerate().find_map(|(at, node)| Some((at, node.inputs.iter().position(is_it)?)));
        taker.map_or_else(|| format!("source {source}"), |(node, input)| self.input_name(node, input))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(of: &[(String, Case)]) -> Vec<(String, String)> {
        of.iter().map(|(words, case)| (words.clone(), case.to_string())).collect()
    }

    #[test]
    fn each_edge_and_each_declaration_is_taken_away_alone() {
        let case: Case =
            "a=Shape@28 float[2,3]:input(symbolic) :output; a1=Gather a int64[1]{1}:initializer; Reshape float[3] a1 \
             :output(static)"
                .parse()
                .unwrap();
        let line = |words: &str, case: &str| (words.to_owned(), case.parse::<Case>().unwrap().to_string());
        assert_eq!(
            without(&case.without_edges(&case.used_values(&case.tensors()))),
            [
                line(
                    "Shape as data of Gather",
                    "a=Shape@28 float[2,3]:input(symbolic) :output; a1=Gather int64[2]{2,3} int64[1]{1}:initializer; Reshape \
                     float[3] a1 :output(static)"
                ),
                line(
                    "Gather as shape of Reshape",
                    "a=Shape@28 float[2,3]:input(symbolic) :output; Reshape float[3] int64[1]{3} :output(static)"
                ),
            ]
        );
        let rest = "a1=Gather a int64[1]{1}:initializer; Reshape float[3] a1 :output(static)";
        assert_eq!(
            without(&case.without_declarations()),
            [
                line("data of Shape as input(symbolic)", &format!("a=Shape@28 float[2,3] :output; {rest}")),
                line(
                    "indices of Gather as initializer",
                    "a=Shape@28 float[2,3]:input(symbolic) :output; a1=Gather a int64[1]{1}; Reshape float[3] a1 \
                     :output(static)"
                ),
                line("Shape as output", &format!("a=Shape@28 float[2,3]:input(symbolic); {rest}")),
                line(
                    "Reshape as output(static)",
                    "a=Shape@28 float[2,3]:input(symbolic) :output; a1=Gather a int64[1]{1}:initializer; Reshape float[3] a1"
                ),
            ]
        );
    }
}
