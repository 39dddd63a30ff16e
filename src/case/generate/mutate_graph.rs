//! Mutation of a graph: of a single node, or of the connections between nodes.
//!
//! It is total, like the mutation of a case of one node.

use arbitrary::{Result, Unstructured};
use mutatis::Session;

use super::graph::{Sketch, shown};
use super::mutate::{MAX_ELEMENTS, Mutator, TRIES};
use super::{Generator, contents, entropy, wiring};
use crate::case::{Case, Contents, Encoding, MAX_NODES, Value, Wiring, shrink};
use crate::operator::Expectation;
use crate::tensor::element_count;

/// Bytes of randomness for one change.
const ENTROPY: usize = 1024;

/// The number of nodes of a graph that is drawn because no mutation succeeds.
const DRAWN: std::ops::RangeInclusive<u8> = 2..=6;

impl Generator {
    /// A mutated graph, which is again a graph. If no mutation succeeds, a new graph is drawn.
    pub(super) fn mutate_graph(&self, case: &Case, seed: u64) -> Case {
        for attempt in 0..TRIES {
            let bytes = entropy::<ENTROPY>(seed, attempt);
            // Missing bytes are read as zeros, so this never fails.
            if let Ok(Some(mutated)) = self.changed(case, &mut Unstructured::new(&bytes), seed.wrapping_add(attempt))
                && mutated != *case
                && mutated.nodes.len() >= case.nodes.len().min(2)
                && self.takes_graph(&mutated)
            {
                return mutated;
            }
        }
        self.graph_case(seed, 0, DRAWN).case
    }

    /// A graph that is simpler than the given one, or the given one if there is none.
    pub(super) fn simplify_graph(&self, case: &Case, seed: u64) -> Case {
        let mut simpler = shrink::candidates(case);
        if case.nodes.len() > 1 {
            let mut shorter = case.clone();
            shorter.nodes.pop();
            simpler.push(settled(shorter));
        }
        simpler.retain(|case| self.takes_graph(case));
        let count = simpler.len() as u64;
        if count == 0 { case.clone() } else { simpler.swap_remove(usize::try_from(seed % count).unwrap_or(0)) }
    }

    /// Whether a graph is small and has only operators of this generator.
    fn takes_graph(&self, case: &Case) -> bool {
        let counts = case.sources.iter().map(|operand| element_count(&operand.dims).unwrap_or(usize::MAX));
        self.is_of(case)
            && (1..=MAX_NODES).contains(&case.nodes.len())
            && counts.fold(0, usize::saturating_add) <= MAX_ELEMENTS
            && case.sources.iter().all(|operand| operand.check_limits().is_ok())
            && case.outputs().next().is_some()
    }

    fn changed(&self, case: &Case, u: &mut Unstructured, seed: u64) -> Result<Option<Case>> {
        let mut changed = case.clone();
        let node = u.choose_index(case.nodes.len())?;
        match u.int_in_range(0_u8..=15)? {
            0..=5 => return Ok(with_mutated_node(case, node, seed)),
            6 | 7 => changed.nodes[node].shown = shown(u)?,
            8 | 9 if !case.sources.is_empty() => {
                let place = u.choose_index(case.sources.len())?;
                changed.sources[place].wiring = wiring(u)?;
            }
            10 if !case.sources.is_empty() => {
                let place = u.choose_index(case.sources.len())?;
                // Explicit elements are most often a target shape.
                if !matches!(case.sources[place].contents, Contents::Bits(_)) {
                    changed.sources[place].contents = contents(u)?;
                }
            }
            11 => redirect(&mut changed, node, u)?,
            12 => {
                changed.nodes.pop();
            }
            13 if !case.sources.is_empty() => {
                let place = u.choose_index(case.sources.len())?;
                changed.passed = if case.passed.contains(&place) { vec![] } else { vec![place] };
            }
            _ if case.nodes.len() < MAX_NODES => {
                let mut sketch = Sketch::of(&self.operators, case);
                sketch.step(u, 1)?;
                let longer = sketch.into_case();
                // The new node is the last, so it does not change the places of the sources.
                changed = Case { passed: case.passed.clone(), ..longer };
            }
            _ => {}
        }
        Ok(Some(settled(changed)))
    }
}

/// The case without unused sources, with unused outputs of nodes as graph outputs, and without declared numbers that may be false.
fn settled(mut case: Case) -> Case {
    case.settle_sources();
    case.settle_outputs();
    if case.sources.iter().all(|operand| operand.check_limits().is_ok())
        && !matches!(case.expectation(&case.tensors()), Expectation::Defined(_))
    {
        case.declare_no_numbers();
    }
    case
}

/// The case with one node mutated like a case of that node. Inputs that other nodes compute stay as they are.
fn with_mutated_node(case: &Case, node: usize, seed: u64) -> Option<Case> {
    let values = case.values(&case.tensors());
    let mut single = case.alone(node, &values, Wiring::Initializer(Encoding::Raw))?;
    let before = single.clone();
    Session::new().seed(seed).mutate_with(&mut Mutator, &mut single).ok()?;
    let mut mutated = case.clone();
    mutated.opset = single.opset;
    mutated.nodes[node].attributes = single.attributes;
    if !case.is_taken(node) {
        mutated.nodes[node].outputs = single.outputs;
    }
    let earlier = std::mem::take(&mut mutated.nodes[node].inputs);
    let mut inputs = Vec::with_capacity(single.operands.len());
    for (place, operand) in single.operands.into_iter().enumerate() {
        let is_same = before.operands.get(place) == Some(&operand);
        inputs.push(match (operand, earlier.get(place).copied().flatten()) {
            (None, _) => None,
            (Some(_), Some(value)) if is_same => Some(value),
            (Some(_), Some(value @ Value::Output { .. })) => Some(value),
            (Some(operand), Some(Value::Source(source))) => {
                mutated.sources[source] = operand;
                Some(Value::Source(source))
            }
            (Some(operand), None) => {
                mutated.sources.push(operand);
                Some(Value::Source(mutated.sources.len() - 1))
            }
        });
    }
    mutated.nodes[node].inputs = inputs;
    Some(settled(mutated))
}

/// Replaces an input of a node by another value.
fn redirect(case: &mut Case, node: usize, u: &mut Unstructured) -> Result<()> {
    let sources = (0..case.sources.len()).map(Value::Source);
    let values: Vec<Value> = sources.chain((0..node).flat_map(|node| case.outputs_of(node))).collect();
    let inputs = &mut case.nodes[node].inputs;
    if !(inputs.is_empty() || values.is_empty()) {
        let place = u.choose_index(inputs.len())?;
        inputs[place] = Some(*u.choose(&values)?);
    }
    Ok(())
}
