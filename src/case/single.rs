//! A case of one node, as the code sees it that is about one operator: its operands are in the order of its inputs.

use super::{Case, Declared, Declares, Encoding, Node, Operand, Shown, Value, Wiring};
use crate::operator::{Attribute, Operator, Version};
use crate::tensor::Tensor;

/// One call of one operator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Single {
    pub operator: &'static Operator,
    /// 1 to [`crate::operator::NEWEST_OPSET`].
    pub opset: u8,
    pub attributes: Vec<Attribute>,
    /// `None` is an operand left out by the empty name.
    pub operands: Vec<Option<Operand>>,
}

impl From<Single> for Case {
    /// The graph of the node, whose output is the only one, of declared rank.
    fn from(single: Single) -> Case {
        let Single { operator, opset, attributes, operands } = single;
        let mut sources = Vec::with_capacity(operands.len());
        let mut input = |operand: Option<Operand>| {
            operand.map(|operand| {
                sources.push(operand);
                Value::Source(sources.len() - 1)
            })
        };
        let inputs = operands.into_iter().map(&mut input).collect();
        let node = Node { operator, attributes, inputs, shown: Shown::Output(Declares::Symbolic) };
        Case { opset, sources, nodes: vec![node], passed: vec![], before: vec![] }
    }
}

/// What a case of one node calls.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub operator: &'static Operator,
    /// `None` if the operator did not exist by then.
    pub version: Option<&'static Version>,
    /// The first operand, which is the tensor that is worked on, unless it is left out.
    pub data: Option<&'a Operand>,
}

impl Case {
    /// What it calls, if it has one node.
    pub fn call(&self) -> Option<Call<'_>> {
        let [node] = &self.nodes[..] else { return None };
        let data = match node.inputs.first() {
            Some(Some(Value::Source(place))) => self.sources.get(*place),
            _ => None,
        };
        Some(Call { operator: node.operator, version: self.version(0), data })
    }

    /// The call that the case is, if it is nothing but that.
    pub fn single(&self) -> Option<Single> {
        let [Node { operator, attributes, inputs, shown: Shown::Output(Declares::Symbolic) }] = &self.nodes[..] else {
            return None;
        };
        let sources = inputs.iter().flatten().map(|&value| match value {
            Value::Source(place) => place,
            Value::Output { .. } => usize::MAX,
        });
        let is_plain = self.passed.is_empty() && self.before.is_empty();
        if !is_plain || !sources.eq(0..self.sources.len()) {
            return None;
        }
        let mut sources = self.sources.iter().cloned();
        let operands = inputs.iter().map(|input| input.and_then(|_| sources.next())).collect();
        Some(Single { operator, opset: self.opset, attributes: attributes.clone(), operands })
    }

    /// A node by itself: what other nodes give to it, it has in a wiring. `None` if that is not known. `values` are what the
    /// nodes gave.
    pub fn alone(&self, node: usize, values: &[Vec<Tensor>], wiring: Wiring) -> Option<Single> {
        let Node { operator, attributes, inputs, .. } = &self.nodes[node];
        let operand = |value: Value| match value {
            Value::Source(place) => self.sources.get(place).cloned(),
            Value::Output { .. } => Some(Operand::of(value.tensor(&[], values)?, wiring)),
        };
        let operand = |input: &Option<Value>| input.map_or(Some(None), |value| operand(value).map(Some));
        let operands = inputs.iter().map(operand).collect::<Option<_>>()?;
        Some(Single { operator, opset: self.opset, attributes: attributes.clone(), operands })
    }

    /// Each node of a graph by itself: what others give to it, it is fed, or has as an initializer.
    pub fn each_alone(&self) -> Vec<Case> {
        let values = self.values(&self.tensors());
        let mut alone: Vec<Case> = Vec::new();
        for node in 0..self.nodes.len() {
            for wiring in [Wiring::Input(Declared::Static), Wiring::Initializer(Encoding::Raw)] {
                let case = self.alone(node, &values, wiring).map(Case::from);
                alone.extend(case.filter(|case| !alone.contains(case)));
            }
        }
        alone
    }
}

impl Single {
    /// The version of the operator that holds at the opset, if the operator existed by then.
    pub fn version(&self) -> Option<&'static Version> {
        self.operator.version_at(self.opset)
    }

    /// The opset that brought that version; 0 if there is none.
    pub fn since(&self) -> u8 {
        self.version().map_or(0, |version| version.since)
    }

    /// The name of that version, such as `Reshape-14`.
    pub fn operator_version(&self) -> String {
        format!("{}-{}", self.operator, self.since())
    }

    /// The first operand, which is the tensor that is worked on, unless it is left out.
    pub fn data(&self) -> Option<&Operand> {
        self.operands.first()?.as_ref()
    }

    /// The tensors of the operands, in order.
    pub fn tensors(&self) -> Vec<Option<Tensor>> {
        self.operands.iter().map(|operand| operand.as_ref().map(Operand::tensor)).collect()
    }
}
