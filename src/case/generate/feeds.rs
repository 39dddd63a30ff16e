//! Cases with one model, which is fed other tensors in each of them.

use arbitrary::{Result, Unstructured};

use super::values::{self, MAX_DRAWN};
use super::{ENOUGH, ENTROPY, Generated, Intent, entropy};
use crate::case::{Case, Declared, Declares, Fed, Node, Operand, Shown, Value, Wiring};
use crate::operator::{AttributeValue, Expectation, Role, Version};
use crate::tensor::{ElementType, product};

/// The highest rank of the data where a model has several cases: beyond it, one case may take a runtime as long as a thousand
/// others.
pub(super) const MAX_RANK: usize = 12;

/// The most elements that most data has which is drawn for a model that is there: with more, copying them is all that takes
/// time.
const USUAL: i64 = 256;

/// How often other tensors are drawn for a graph until it has an answer.
const TRIES: u32 = 4;

impl Generated {
    /// Whether the model of the case leaves open what it is fed, the dims of its data or the values of its target shapes,
    /// and there is an answer for what it is fed here.
    pub fn is_open(&self) -> bool {
        let Generated { case, expectation, .. } = self;
        if matches!(expectation, Expectation::Reject { .. }) || case.nodes.iter().any(declares_numbers) {
            return false;
        }
        let targets = targets(case);
        let is_target = |source: usize| targets.iter().any(|(_, target)| *target == source);
        // What the model holds in place of an overridden target shape depends on the dims of the data.
        let is_overridden = |source: usize| case.sources[source].wiring == Wiring::Default(Fed::Operand);
        let is_low = |source: usize| is_target(source) || case.sources[source].dims.len() <= MAX_RANK;
        let is_open = |source: usize| match &case.sources[source] {
            operand if is_target(source) => is_open_target(operand),
            operand => is_open_data(operand),
        };
        let mut sources = 0..case.sources.len();
        sources.clone().all(is_low)
            && !sources.clone().any(|source| is_target(source) && is_overridden(source))
            && sources.any(is_open)
    }

    /// Case `index` of a seed if it is to have the model of this one, which is open. Most such cases are valid.
    ///
    /// In a graph, what is declared of a value may depend on whether the specification gives it, so there all of them are
    /// answered; if none is found, it is this one.
    pub fn relative(&self, seed: u64, index: u64) -> Generated {
        let entropy = entropy::<ENTROPY>(seed, index);
        let mut u = Unstructured::new(&entropy);
        let mut draw = || Generated::given(fed_otherwise(&self.case, &mut u).expect(ENOUGH));
        let is_answered = |drawn: &Generated| !matches!(drawn.expectation, Expectation::Reject { .. });
        let given = match self.case.nodes.len() {
            1 => draw(),
            _ => (0..TRIES).map(|_| draw()).find(is_answered).unwrap_or_else(|| self.clone()),
        };
        let intent = if matches!(given.expectation, Expectation::Defined(_)) { Intent::Valid } else { Intent::Wild };
        Generated { intent, ..given }
    }
}

/// Whether the dims of the output of a node are declared as numbers, which hold for one case only.
fn declares_numbers(node: &Node) -> bool {
    matches!(node.shown, Shown::Info(Declares::Static) | Shown::Output(Declares::Static))
}

/// The target shapes that are sources: the places of the node, and of the source.
fn targets(case: &Case) -> Vec<(usize, usize)> {
    let target = |node: usize| match target(case, node) {
        Some(Value::Source(source)) => Some((node, source)),
        _ => None,
    };
    (0..case.nodes.len()).filter_map(target).collect()
}

/// What a node takes as its target shape.
fn target(case: &Case, node: usize) -> Option<Value> {
    let input = case.version(node).and_then(Version::target_input)?;
    case.nodes[node].inputs.get(input).copied().flatten()
}

fn is_open_target(operand: &Operand) -> bool {
    matches!(operand.wiring, Wiring::Input(_)) && operand.dims.len() == 1 && operand.dims[0] > 0
}

fn is_open_data(operand: &Operand) -> bool {
    matches!(operand.wiring, Wiring::Input(declared) if declared != Declared::Static) && !operand.dims.is_empty()
}

/// The case with other tensors for its graph inputs, of the same ranks: a target shape has as many dims as it had, since
/// they are the rank that the model declares of its output.
fn fed_otherwise(case: &Case, u: &mut Unstructured) -> Result<Case> {
    let targets = targets(case);
    // In a graph, int64 may be a target shape further on.
    let is_data = |(source, operand): &(usize, &mut Operand)| {
        targets.iter().all(|(_, target)| target != source)
            && (case.nodes.len() == 1 || operand.element_type != ElementType::Int64)
    };
    let mut fed = case.clone();
    for (_, Operand { dims, contents, wiring, .. }) in fed.sources.iter_mut().enumerate().filter(is_data) {
        let Wiring::Input(declared) = wiring else { continue };
        *contents = super::contents(u)?;
        if *declared != Declared::Static {
            // A target shape that is not fed seldom suits data of any other number of elements.
            let keeps_count = has_fixed_target(case) && u.ratio(3, 4)?;
            let rank = u8::try_from(dims.len()).unwrap_or(0);
            let most = if u.ratio(1, 8)? { MAX_DRAWN } else { USUAL };
            *dims = if keeps_count { shuffled(u, dims)? } else { values::dims_of_rank(u, rank, most)? };
        }
    }
    let is_small = |data: &Operand| product(data.dims.iter().copied()).is_some_and(|count| count <= MAX_DRAWN.into());
    if !(has_same_symbols(case, &fed) && fed.sources.iter().all(is_small)) {
        fed.sources.clone_from(&case.sources);
    }
    for (node, source) in targets {
        let target = &fed.sources[source];
        if !is_open_target(target) {
            continue;
        }
        let (wiring, length) = (target.wiring, usize::try_from(target.dims[0]).unwrap_or(1));
        let dims = data_dims(&fed, node);
        let mut target = if !dims.contains(&0) && u.ratio(1, 25)? {
            values::division_of_length(u, &dims, length)?
        } else {
            values::target_of_length(u, &dims, allowzero(case, node), length)?
        };
        if u.ratio(1, 4)? {
            let position = u.choose_index(length)?;
            target[position] = *u.choose(&values::wild_sizes(&dims))?;
        }
        fed.sources[source] = Operand { wiring, ..Operand::vector(&target) };
    }
    Ok(fed)
}

/// The dims of the first input of a node; none if a node before it has no answer.
fn data_dims(case: &Case, node: usize) -> Vec<i64> {
    match case.nodes[node].inputs.first() {
        Some(Some(Value::Source(data))) => case.sources[*data].dims.clone(),
        Some(Some(value)) => {
            let values = case.values(&case.tensors());
            value.tensor(&[], &values).map_or_else(Vec::new, |tensor| tensor.dims().to_vec())
        }
        _ => vec![],
    }
}

/// Whether a target shape is part of the model, or computed.
fn has_fixed_target(case: &Case) -> bool {
    let is_fed = |value: Value| match value {
        Value::Source(source) => matches!(case.sources[source].wiring, Wiring::Input(_)),
        Value::Output { .. } => false,
    };
    let has_attribute = |node: usize| {
        let attributes = case.version(node).map_or(&[][..], |version| version.attributes);
        attributes.iter().any(|spec| spec.role == Role::TargetShape)
    };
    (0..case.nodes.len()).any(|node| has_attribute(node) || target(case, node).is_some_and(|value| !is_fed(value)))
}

/// The flag of a node, 0 or 1.
fn allowzero(case: &Case, node: usize) -> i64 {
    let specs = case.version(node).map_or(&[][..], |version| version.attributes);
    let is_flag = |name: &str| specs.iter().any(|spec| spec.role == Role::Flag && spec.name == name);
    let value = case.nodes[node].attributes.iter().find_map(|attribute| match attribute.value {
        AttributeValue::Int(value) if is_flag(&attribute.name) => Some(value),
        _ => None,
    });
    value.unwrap_or(0).clamp(0, 1)
}

/// The dims in another order, one of them perhaps a few times as large.
fn shuffled(u: &mut Unstructured, dims: &[i64]) -> Result<Vec<i64>> {
    let mut dims = dims.to_vec();
    for last in (1..dims.len()).rev() {
        let other = u.int_in_range(0..=last)?;
        dims.swap(last, other);
    }
    if let Some(size) = dims.first_mut() {
        *size = size.saturating_mul(*u.choose(&[1, 1, 2, 3])?);
    }
    Ok(dims)
}

/// Whether dims that are declared as shared are equal in one case exactly where they are in the other: equal ones have one
/// symbol.
fn has_same_symbols(case: &Case, other: &Case) -> bool {
    let symbols = |case: &Case| -> Vec<Option<usize>> {
        let shared = |operand: &&Operand| operand.wiring == Wiring::Input(Declared::Shared);
        let sizes: Vec<i64> = case.sources.iter().filter(shared).flat_map(|operand| operand.dims.clone()).collect();
        sizes.iter().map(|size| sizes.iter().position(|first| first == size)).collect()
    };
    symbols(case) == symbols(other)
}
