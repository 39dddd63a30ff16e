//! Simpler graphs than a given one: fewer nodes first, then plainer ones.

use super::{contents_rank, nearer, number, rank, size, type_rank, wiring_rank};
use crate::case::{Case, Contents, Declared, Declares, Encoding, Node, Operand, Shown, Value, Wiring};
use crate::operator::{AttributeValue, Expectation, NEWEST_OPSET};
use crate::tensor::{ElementType, Tensor};

/// The complexity of a graph. The parts are compared in order.
fn complexity(case: &Case) -> Vec<u128> {
    let nodes = || case.nodes.iter();
    let of_sources = |of: &dyn Fn(&Operand) -> u128| case.sources.iter().map(of).sum::<u128>();
    let values = nodes().flat_map(|node| &node.attributes).map(|attribute| match &attribute.value {
        AttributeValue::Int(value) => number(*value),
        AttributeValue::Ints(values) => values.iter().map(|&value| 1 + number(value)).sum(),
        AttributeValue::Float(_) | AttributeValue::String(_) => 0,
        AttributeValue::Tensor(tensor) => tensor.rank() as u128 + type_rank(true, tensor.element_type()),
    });
    vec![
        case.before.len() as u128,
        case.nodes.len() as u128,
        // A graph that must or may be refused is more complex than a valid one.
        match case.expectation(&case.tensors()) {
            Expectation::Defined(_) => 0,
            Expectation::Unspecified { .. } => 1,
            Expectation::Reject { .. } => 2,
        },
        nodes().map(|node| node.outputs as u128).sum(),
        nodes().map(|node| node.inputs.len() as u128).sum(),
        case.sources.len() as u128,
        case.passed.len() as u128,
        nodes().map(|node| node.attributes.len() as u128).sum(),
        nodes().enumerate().map(|(place, node)| shown_rank(case, place, node.shown)).sum(),
        of_sources(&|operand| rank(operand.dims.len())),
        of_sources(&|operand| type_rank(true, operand.element_type)),
        of_sources(&|operand| wiring_rank(operand.wiring)),
        of_sources(&|operand| match operand.contents {
            // Of int64 elements, which may be a shape, only the values count.
            Contents::Count | Contents::Bits(_) if operand.element_type == ElementType::Int64 => 0,
            // Other explicit elements carry no more information than a count.
            Contents::Bits(_) | Contents::Strings(_) => 1,
            ref contents => contents_rank(contents),
        }),
        u128::from(NEWEST_OPSET - case.opset.min(NEWEST_OPSET)),
        of_sources(&|operand| operand.dims.iter().map(|&dim| size(dim)).sum::<u128>() + entries(operand))
            + values.sum::<u128>(),
    ]
}

/// The distance of the int64 elements of a source from 1. More elements than a shape may have are farther than any that are read.
fn entries(operand: &Operand) -> u128 {
    const FARTHEST: u128 = 1 << 80;
    if operand.element_type != ElementType::Int64 {
        return 0;
    }
    let distance = |entry| if entry == 1 { 0 } else { 1 + number(entry) };
    operand.int64s().map_or(FARTHEST, |entries| entries.into_iter().map(distance).sum())
}

/// The plainest form is hidden for an output that a node uses, and a graph output with symbolic dims for any other.
fn shown_rank(case: &Case, node: usize, shown: Shown) -> u128 {
    let is_taken = case.is_taken(node);
    match shown {
        Shown::Hidden => u128::from(!is_taken) * 8,
        Shown::Output(declares) => u128::from(is_taken) + declares as u128,
        Shown::Info(declares) => 4 + declares as u128,
    }
}

/// Every single step from a graph, each strictly simpler, the boldest first.
pub(super) fn candidates(case: &Case) -> Vec<Case> {
    let tensors = case.tensors();
    let values = case.values(&tensors);
    let mut found = Vec::new();
    for node in (0..case.nodes.len()).rev() {
        drop_node(case, node, &mut found);
        cut(case, node, &values, &mut found);
        bypass(case, node, &mut found);
    }
    for run in 0..case.before.len() {
        found.push(with(case, |case| {
            case.before.remove(run);
        }));
    }
    declare_less(case, &mut found);
    merge_sources(case, &mut found);
    plainness(case, &mut found);
    sizes(case, &mut found);
    let own = complexity(case);
    let is_case = |candidate: &Case| candidate.sources.iter().all(|operand| operand.check_limits().is_ok());
    found.retain(|candidate| is_case(candidate) && complexity(candidate) < own);
    found
}

fn with(case: &Case, change: impl FnOnce(&mut Case)) -> Case {
    let mut changed = case.clone();
    change(&mut changed);
    changed.tidied()
}

impl Case {
    /// The case without nodes and sources that are not needed; a step may leave some. The sources are in the order in which nodes
    /// use them. The last node gives a graph output.
    #[must_use]
    pub(crate) fn tidied(mut self) -> Case {
        if let Some(last) = self.nodes.last_mut().filter(|last| !matches!(last.shown, Shown::Output(_))) {
            last.shown = Shown::Output(Declares::Symbolic);
        }
        let mut needed = vec![false; self.nodes.len()];
        for place in (0..self.nodes.len()).rev() {
            needed[place] |= matches!(self.nodes[place].shown, Shown::Output(_));
            if needed[place] {
                for value in self.nodes[place].inputs.iter().flatten() {
                    if let Value::Output { node, .. } = value {
                        needed[*node] = true;
                    }
                }
            }
        }
        let mut places = Vec::with_capacity(self.nodes.len());
        let mut left: Vec<Node> = Vec::new();
        for (node, is_needed) in std::mem::take(&mut self.nodes).into_iter().zip(needed) {
            places.push(left.len());
            left.extend(is_needed.then_some(node));
        }
        for value in left.iter_mut().flat_map(|node| &mut node.inputs).flatten() {
            if let Value::Output { node, .. } = value {
                *node = places[*node];
            }
        }
        self.nodes = left;
        self.settle_sources();
        self
    }
}

/// Replaces a value in all inputs of nodes.
fn replace(case: &mut Case, old: Value, new: Option<Value>) {
    let inputs = case.nodes.iter_mut().flat_map(|node| &mut node.inputs);
    inputs.filter(|input| **input == Some(old)).for_each(|input| *input = new);
}

/// Removes a node whose outputs no node uses.
fn drop_node(case: &Case, node: usize, found: &mut Vec<Case>) {
    let is_taken = case.is_taken(node);
    if !is_taken && case.nodes.len() > 1 {
        found.push(with(case, |case| {
            case.nodes.remove(node);
            for value in case.nodes.iter_mut().flat_map(|node| &mut node.inputs).flatten() {
                if let Value::Output { node: place, .. } = value {
                    *place -= usize::from(*place > node);
                }
            }
        }));
    }
}

/// Replaces the outputs of a node with sources that hold the same values.
fn cut(case: &Case, node: usize, values: &[Vec<Tensor>], found: &mut Vec<Case>) {
    let outputs: Vec<(Value, &Tensor)> =
        case.outputs_of(node).filter_map(|output| Some((output, output.tensor(&[], values)?))).collect();
    if outputs.is_empty() {
        return;
    }
    for wiring in [Wiring::Input(Declared::Static), Wiring::Initializer(Encoding::Raw)] {
        found.push(with(case, |case| {
            for (output, tensor) in &outputs {
                case.sources.push(Operand::of(tensor, wiring));
                let source = Value::Source(case.sources.len() - 1);
                replace(case, *output, Some(source));
            }
            if case.nodes.len() > node + 1 {
                case.nodes[node].shown = Shown::Hidden;
            }
        }));
    }
}

/// Replaces the outputs of a node with one of its inputs.
fn bypass(case: &Case, node: usize, found: &mut Vec<Case>) {
    for input in case.nodes[node].inputs.iter().flatten() {
        found.push(with(case, |case| {
            for output in case.outputs_of(node) {
                replace(case, output, Some(*input));
            }
            if case.nodes.len() > node + 1 {
                case.nodes[node].shown = Shown::Hidden;
            }
        }));
    }
}

fn declare_less(case: &Case, found: &mut Vec<Case>) {
    for node in 0..case.nodes.len() {
        // A graph output can have the same declaration, and needs no node that uses it.
        if let Shown::Info(declares) = case.nodes[node].shown {
            found.push(with(case, |case| case.nodes[node].shown = Shown::Output(declares)));
            found.push(with(case, |case| {
                case.nodes.truncate(node + 1);
                case.nodes[node].shown = Shown::Output(declares);
            }));
        }
        for shown in [Shown::Hidden, Shown::Output(Declares::Symbolic)] {
            found.push(with(case, |case| case.nodes[node].shown = shown));
        }
    }
    for place in 0..case.passed.len() {
        found.push(with(case, |case| {
            case.passed.remove(place);
        }));
    }
}

/// Merges two sources with the same type, dims and contents.
fn merge_sources(case: &Case, found: &mut Vec<Case>) {
    for second in 1..case.sources.len() {
        let is_same = |first: &usize| {
            let (first, second) = (&case.sources[*first], &case.sources[second]);
            (first.element_type, &first.dims, &first.contents) == (second.element_type, &second.dims, &second.contents)
        };
        for first in (0..second).filter(is_same) {
            found.push(with(case, |case| replace(case, Value::Source(second), Some(Value::Source(first)))));
        }
    }
}

fn plainness(case: &Case, found: &mut Vec<Case>) {
    for opset in (case.opset + 1..=NEWEST_OPSET).rev() {
        found.push(Case { opset, ..case.clone() });
    }
    for node in 0..case.nodes.len() {
        for attribute in 0..case.nodes[node].attributes.len() {
            found.push(with(case, |case| {
                case.nodes[node].attributes.remove(attribute);
            }));
        }
        let last = Value::Output { node, output: case.nodes[node].outputs - 1 };
        if case.nodes[node].outputs > 1 && case.takers(last).next().is_none() {
            found.push(with(case, |case| case.nodes[node].outputs -= 1));
        }
        for input in (0..case.nodes[node].inputs.len()).rev() {
            found.push(with(case, |case| {
                case.nodes[node].inputs.remove(input);
            }));
        }
    }
    let types: Vec<ElementType> = case.sources.iter().map(|operand| operand.element_type).collect();
    for element_type in types.into_iter().filter(|&element_type| element_type != ElementType::Int64) {
        found.push(with(case, |case| {
            let same = case.sources.iter_mut().filter(|operand| operand.element_type == element_type);
            same.for_each(|operand| operand.retype(ElementType::Float));
        }));
    }
    for source in 0..case.sources.len() {
        let set = |change: &dyn Fn(&mut Operand)| with(case, |case| change(&mut case.sources[source]));
        found.push(set(&|operand| operand.retype(ElementType::Float)));
        for wiring in super::WIRINGS {
            found.push(set(&|operand| operand.wiring = wiring));
        }
        found.push(set(&|operand| operand.contents = Contents::Count));
    }
}

fn sizes(case: &Case, found: &mut Vec<Case>) {
    let dims = |case: &Case| case.sources.iter().flat_map(|operand| operand.dims.clone()).collect::<Vec<i64>>();
    let mut sizes: Vec<i64> = dims(case);
    sizes.extend(case.sources.iter().flat_map(few_entries).filter(|&entry| entry > 1));
    sizes.sort_unstable();
    sizes.dedup();
    // A size changes everywhere at once: as a dim, and as an element of a shape.
    for &old in sizes.iter().filter(|&&old| old > 1) {
        for new in [1, 2, 3].into_iter().filter(|&new| new < old) {
            found.push(with(case, |case| {
                for operand in &mut case.sources {
                    change_entries(operand, &|entry| if entry == old { new } else { entry });
                    operand.set_dims(operand.dims.iter().map(|&dim| if dim == old { new } else { dim }).collect());
                }
            }));
        }
    }
    for source in 0..case.sources.len() {
        for axis in 0..case.sources[source].dims.len() {
            found.push(with(case, |case| {
                let operand = &mut case.sources[source];
                let mut dims = operand.dims.clone();
                dims.remove(axis);
                operand.set_dims(dims);
            }));
            found.push(with(case, |case| {
                let operand = &mut case.sources[source];
                let mut dims = operand.dims.clone();
                dims[axis] = 1;
                operand.set_dims(dims);
            }));
        }
        for (place, entry) in few_entries(&case.sources[source]).into_iter().enumerate() {
            for simpler in [1].into_iter().chain(nearer(entry, 1)).filter(|&simpler| simpler != entry).take(8) {
                found.push(with(case, |case| {
                    let mut at = 0;
                    change_entries_mut(&mut case.sources[source], &mut |entry| {
                        at += 1;
                        if at == place + 1 { simpler } else { entry }
                    });
                }));
            }
        }
    }
    for (place, node) in case.nodes.iter().enumerate() {
        for (index, attribute) in node.attributes.iter().enumerate() {
            let mut set = |value: AttributeValue| {
                found.push(with(case, |case| case.nodes[place].attributes[index].value = value));
            };
            match &attribute.value {
                AttributeValue::Int(value) => {
                    for simpler in nearer(*value, 1) {
                        set(AttributeValue::Int(simpler));
                    }
                }
                AttributeValue::Ints(values) => {
                    for at in 0..values.len() {
                        set(AttributeValue::Ints([&values[..at], &values[at + 1..]].concat()));
                        for simpler in nearer(values[at], 1).into_iter().take(8) {
                            let mut values = values.clone();
                            values[at] = simpler;
                            set(AttributeValue::Ints(values));
                        }
                    }
                }
                AttributeValue::Float(_) | AttributeValue::String(_) | AttributeValue::Tensor(_) => {}
            }
        }
    }
}

/// The int64 elements of a source, which may be a shape. Empty if there are more than 16: then other steps must reduce them first.
fn few_entries(operand: &Operand) -> Vec<i64> {
    operand.int64s().filter(|entries| entries.len() <= 16).unwrap_or_default()
}

fn change_entries(operand: &mut Operand, change: &dyn Fn(i64) -> i64) {
    change_entries_mut(operand, &mut |entry| change(entry));
}

fn change_entries_mut(operand: &mut Operand, change: &mut dyn FnMut(i64) -> i64) {
    let Some(entries) = operand.int64s() else { return };
    let changed: Vec<i64> = entries.iter().map(|&entry| change(entry)).collect();
    if changed != entries {
        operand.contents = Contents::Bits(changed.into_iter().map(|entry| u128::from(entry.cast_unsigned())).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_strictly_simpler_and_a_case_of_the_notation() {
        for line in [
            "x=float[2,3]:input(symbolic); a=Shape@21 x; Reshape x a :output(static)",
            "x=int8[2,3]:special:output; a=Flatten@13 axis=0 x :info; a1=Shape a :output; Reshape x a1",
            "a=Reshape@14 float[2,3] int64[1]{6}; a1=Reshape a int64[2]{3,2}:initializer; Shape a1",
        ] {
            let case: Case = line.parse().unwrap();
            let steps = candidates(&case);
            assert!(steps.iter().any(|step| step.nodes.len() < case.nodes.len()), "{line}");
            for step in steps {
                assert!(step.nodes.len() == 1 || complexity(&step) < complexity(&case), "{step} of {line}");
                assert_eq!(step.to_string().parse().as_ref(), Ok(&step), "{step} of {line}");
            }
        }
    }

    #[test]
    fn a_source_with_more_elements_than_a_shape_may_have_becomes_smaller() {
        for line in ["a=Flatten@28 float[16,1]; Concat axis=1 a int64[16,255]:special", "a=Neg@28 int64[2000]; Neg a"] {
            let case: Case = line.parse().unwrap();
            let count =
                |case: &Case| case.sources.iter().map(|source| source.dims.iter().product::<i64>()).sum::<i64>();
            let is_smaller = |step: &Case| step.nodes.len() == 2 && count(step) < count(&case);
            assert!(candidates(&case).iter().any(is_smaller), "{line}");
        }
    }

    #[test]
    fn a_graph_is_cut_dropped_and_bypassed() {
        let case: Case = "x=float[2,3]; a=Shape@21 x; a1=Reshape x a; Flatten a1".parse().unwrap();
        let steps: Vec<String> = candidates(&case).iter().map(ToString::to_string).collect();
        for step in [
            "x=float[2,3]; a=Shape@21 x; Reshape x a",
            "a=Reshape@21 float[2,3] int64[2]{2,3}; Flatten a",
            "a=Reshape@21 float[2,3] int64[2]{2,3}:initializer; Flatten a",
            "Flatten@21 float[2,3]",
        ] {
            assert!(steps.iter().any(|other| other == step), "{step} in {steps:#?}");
        }
    }
}
