//! The values between the nodes of a model, as a runtime gives them.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Graph, job};
use crate::runtime::{Outcome, Runtime, execute_once};
use crate::tensor::Tensor;

/// Tensors by the names of their values.
#[derive(Clone, Debug, Default)]
pub struct Values {
    tensors: HashMap<String, Tensor>,
    /// How many models were run to get these values.
    pub runs: usize,
}

/// Operators that give no tensor.
const NO_TENSORS: &[&str] = &[
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceInsert",
    "SequenceErase",
    "SequenceMap",
    "SplitToSequence",
    "Optional",
    "ZipMap",
];

impl Values {
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// The values of a model with these inputs: the inputs, and all outputs of nodes that depend on them. The outputs of nodes
    /// are made graph outputs, all at once or, if the runtime fails on that, in smaller batches. A value that fails even alone is
    /// left out.
    pub fn of(graph: &Graph, feeds: &[(Arc<str>, Tensor)], runtime: &mut dyn Runtime) -> Values {
        let tensors = feeds.iter().map(|(name, tensor)| (name.to_string(), tensor.clone())).collect();
        let mut values = Values { tensors, runs: 0 };
        let is_tensor = |name: &&str| {
            let op_type = graph.giver(name).and_then(|place| graph.nodes()[place].op_type.as_deref());
            op_type.is_none_or(|op_type| !NO_TENSORS.contains(&op_type))
        };
        let names: Vec<&str> = graph.given().filter(is_tensor).collect();
        values.add(graph, feeds, &names, runtime);
        values
    }

    fn add(&mut self, graph: &Graph, feeds: &[(Arc<str>, Tensor)], names: &[&str], runtime: &mut dyn Runtime) {
        if names.is_empty() {
            return;
        }
        self.runs += 1;
        let model = graph.network.serialized(&graph.showing(names));
        let outcome = model.map(|model| execute_once(runtime, &job(model, feeds, 1)).outcome);
        match outcome {
            Ok(Outcome::Answer(outputs)) if outputs.len() == names.len() => {
                self.tensors
                    .extend(names.iter().zip(outputs).map(|(name, output)| ((*name).to_owned(), output.tensor)));
            }
            _ if names.len() > 1 => {
                let (first, second) = names.split_at(names.len() / 2);
                self.add(graph, feeds, first, runtime);
                self.add(graph, feeds, second, runtime);
            }
            _ => {}
        }
    }
}
