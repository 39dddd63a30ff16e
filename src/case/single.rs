//! A case of one node, in the form for code about one operator: its operands are in the order of its inputs.

use super::{Case, Declared, Declares, Encoding, Node, Operand, Shown, Value, Wiring};
use crate::operator::{Attribute, AttributeValue, Operator, Role, Version};
use crate::tensor::{ElementType, Tensor};

/// One call of one operator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Single {
    pub operator: &'static Operator,
    /// 1 to [`crate::operator::NEWEST_OPSET`].
    pub opset: u8,
    pub attributes: Vec<Attribute>,
    /// `None` is an operand left out by the empty name.
    pub operands: Vec<Option<Operand>>,
    /// How many outputs the node names.
    pub outputs: usize,
}

impl From<Single> for Case {
    /// A graph of this one node. The outputs of the node are graph outputs, with symbolic dims.
    fn from(single: Single) -> Case {
        let Single { operator, opset, attributes, operands, outputs } = single;
        let mut sources = Vec::with_capacity(operands.len());
        let mut input = |operand: Option<Operand>| {
            operand.map(|operand| {
                sources.push(operand);
                Value::Source(sources.len() - 1)
            })
        };
        let inputs = operands.into_iter().map(&mut input).collect();
        let node = Node { operator, attributes, inputs, outputs, shown: Shown::Output(Declares::Symbolic) };
        Case { opset, sources, nodes: vec![node], passed: vec![], before: vec![] }
    }
}

/// The call in a case of one node.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub operator: &'static Operator,
    /// `None` if the operator does not exist at the opset.
    pub version: Option<&'static Version>,
    /// The data. `None` if it is left out or the operator has no data.
    pub data: Option<&'a Operand>,
    /// The type of the type variable T: the type of the data, or of the output if the operator has no data.
    pub element_type: Option<ElementType>,
}

impl Case {
    /// The call, if the case has one node.
    pub fn call(&self) -> Option<Call<'_>> {
        let [node] = &self.nodes[..] else { return None };
        let version = self.version(0);
        let place = version.map_or(Some(0), Version::data_input);
        let data = match place.and_then(|place| node.inputs.get(place)) {
            Some(Some(Value::Source(place))) => self.sources.get(*place),
            _ => None,
        };
        let element_type = match place {
            Some(_) => data.map(|data| data.element_type),
            None => node.operator.output_type(&node.attributes, None),
        };
        Some(Call { operator: node.operator, version, data, element_type })
    }

    /// The case as a single call. `None` if it has several nodes, earlier runs, a source that is a graph output, a source that is
    /// not used exactly once in order, or an output that is not a graph output with symbolic dims.
    pub fn single(&self) -> Option<Single> {
        let [Node { operator, attributes, inputs, outputs, shown: Shown::Output(Declares::Symbolic) }] =
            &self.nodes[..]
        else {
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
        let attributes = attributes.clone();
        Some(Single { operator, opset: self.opset, attributes, operands, outputs: *outputs })
    }

    /// A node as a case of its own. Its inputs from other nodes become operands with this wiring. `values` are the outputs of the
    /// nodes. `None` if an input has no value.
    pub fn alone(&self, node: usize, values: &[Vec<Tensor>], wiring: Wiring) -> Option<Single> {
        let Node { operator, attributes, inputs, outputs, .. } = &self.nodes[node];
        let operand = |value: Value| match value {
            Value::Source(place) => self.sources.get(place).cloned(),
            Value::Output { .. } => Some(Operand::of(value.tensor(&[], values)?, wiring)),
        };
        let operand = |input: &Option<Value>| input.map_or(Some(None), |value| operand(value).map(Some));
        let operands = inputs.iter().map(operand).collect::<Option<_>>()?;
        let attributes = attributes.clone();
        Some(Single { operator, opset: self.opset, attributes, operands, outputs: *outputs })
    }

    /// Each node of a graph as a case of its own. Inputs from other nodes become graph inputs in one case, and initializers in
    /// another.
    pub fn each_alone(&self) -> Vec<Case> {
        self.each_alone_of(&self.used_values(&self.tensors()))
    }

    /// Like [`Case::each_alone`], from the [used values](Case::used_values).
    pub fn each_alone_of(&self, values: &[Vec<Tensor>]) -> Vec<Case> {
        let mut alone: Vec<Case> = Vec::new();
        for node in 0..self.nodes.len() {
            for wiring in [Wiring::Input(Declared::Static), Wiring::Initializer(Encoding::Raw)] {
                let case = self.alone(node, values, wiring).map(Case::from);
                alone.extend(case.filter(|case| !alone.contains(case)));
            }
        }
        alone
    }
}

impl Single {
    /// The version of the operator at the opset, if the operator exists at that opset.
    pub fn version(&self) -> Option<&'static Version> {
        self.operator.version_at(self.opset)
    }

    /// The opset that introduced this version; 0 if there is no version.
    pub fn since(&self) -> u8 {
        self.version().map_or(0, |version| version.since)
    }

    /// The name of this version, such as `Reshape-14`.
    pub fn operator_version(&self) -> String {
        format!("{}-{}", self.operator, self.since())
    }

    /// The place of the data among the operands, if the operator has data.
    pub fn data_place(&self) -> Option<usize> {
        self.version().map_or(Some(0), Version::data_input)
    }

    /// The data, unless it is left out.
    pub fn data(&self) -> Option<&Operand> {
        self.operands.get(self.data_place()?)?.as_ref()
    }

    /// The data, as a mutable reference.
    pub fn data_mut(&mut self) -> Option<&mut Operand> {
        let place = self.data_place()?;
        self.operands.get_mut(place)?.as_mut()
    }

    /// The value of an attribute, if it is given.
    pub fn attribute(&self, name: &str) -> Option<&AttributeValue> {
        self.attributes.iter().find(|attribute| attribute.name == name).map(|attribute| &attribute.value)
    }

    /// The operand for the input of this name, if the version has the input and the operand is given.
    pub fn operand(&self, name: &str) -> Option<&Operand> {
        let place = self.version()?.inputs.iter().position(|spec| spec.name == name)?;
        self.operands.get(place)?.as_ref()
    }

    /// The numbers of the attribute or the input of this name; `None` if they are not given.
    pub fn numbers_of(&self, name: &str) -> Option<Vec<i64>> {
        match self.attribute(name) {
            Some(AttributeValue::Int(number)) => Some(vec![*number]),
            Some(AttributeValue::Ints(numbers)) => Some(numbers.clone()),
            Some(_) => None,
            None => self.operand(name)?.numbers(),
        }
    }

    /// The dims, and the numbers of attributes and parameters, whose absolute value is 2^20 or more, in ascending order. Work in
    /// proportion to such a number may take long.
    pub fn large_numbers(&self) -> Vec<i64> {
        const LARGE: u64 = 1 << 20;
        let of_attributes = self.attributes.iter().filter_map(|attribute| self.numbers_of(&attribute.name)).flatten();
        let operands = self.operands.iter().enumerate().filter_map(|(place, operand)| Some((place, operand.as_ref()?)));
        let of_operands = operands.flat_map(|(place, operand)| {
            let numbers = operand.numbers().filter(|_| !self.is_data(place));
            operand.dims.iter().copied().chain(numbers.unwrap_or_default())
        });
        let mut large: Vec<i64> = of_attributes.chain(of_operands).collect();
        large.retain(|number| number.unsigned_abs() >= LARGE);
        large.sort_unstable();
        large
    }

    /// The role of an operand. An operand beyond the declared inputs is data.
    pub fn role(&self, place: usize) -> Role {
        self.version().and_then(|version| version.input(place)).map_or(Role::Data, |spec| spec.role)
    }

    /// The tensors of the operands, in order.
    pub fn tensors(&self) -> Vec<Option<Tensor>> {
        self.operands.iter().map(|operand| operand.as_ref().map(Operand::tensor)).collect()
    }
}
