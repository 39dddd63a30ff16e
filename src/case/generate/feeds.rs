//! Several cases with the same model, which is fed other tensors in each of them.

use arbitrary::{Result, Unstructured};

use super::{ENOUGH, ENTROPY, Generated, Intent, entropy};
use crate::case::{Case, Declared, Declares, Fed, Node, Operand, Shown, Value, Wiring};
use crate::operator::{Answer, Data, Expectation, Given, MAX_DRAWN, Role, boundary_sizes, dims_of_rank, max_drawn};
use crate::tensor::{ElementType, Tensor, product};

/// The highest rank of data in a model with several cases. Beyond this rank, one case may take a runtime as long as a thousand
/// others.
pub(super) const MAX_RANK: usize = 12;

/// The most attempts to draw other tensors for which a graph has an answer.
const TRIES: u32 = 4;

impl Generated {
    /// Whether the model of the case can be fed other dims of its data or other values of its parameters, and the case need not be
    /// refused.
    pub fn is_open(&self) -> bool {
        let Generated { case, expectation, .. } = self;
        if matches!(expectation, Expectation::Reject { .. }) || case.nodes.iter().any(declares_numbers) {
            return false;
        }
        let parameters = parameters(case);
        let is_parameter = |source: usize| parameters.iter().any(|parameter| parameter.source == source);
        // The default of an overridden parameter depends on the dims of the data.
        let is_overridden = |source: usize| case.sources[source].wiring == Wiring::Default(Fed::Operand);
        let is_low = |source: usize| is_parameter(source) || case.sources[source].dims.len() <= MAX_RANK;
        let is_open = |source: usize| match &case.sources[source] {
            operand if is_parameter(source) => is_open_parameter(operand),
            operand => is_open_data(operand),
        };
        let mut sources = 0..case.sources.len();
        sources.clone().all(is_low)
            && !sources.clone().any(|source| is_parameter(source) && is_overridden(source))
            && sources.any(is_open)
    }

    /// Case `index` of a seed, with the model of this case, which must be open. Most such cases are valid.
    ///
    /// In a graph, the declaration of a value may depend on whether the specification gives that value. So for a graph, only cases
    /// are drawn that have an answer. If no drawn case fits the model, the result is this case.
    pub fn relative(&self, seed: u64, index: u64) -> Generated {
        let entropy = entropy::<ENTROPY>(seed, index);
        let mut u = Unstructured::new(&entropy);
        let mut draw = || Generated::given(fed_otherwise(&self.case, &mut u).expect(ENOUGH));
        let is_answered = |drawn: &Generated| !matches!(drawn.expectation, Expectation::Reject { .. });
        // The model declares the rank of an output, which may depend on the dims of the data.
        let has_ranks = |drawn: &Generated| ranks(self).zip(ranks(drawn)).is_none_or(|(own, theirs)| own == theirs);
        let is_fit = |drawn: &Generated| (self.case.nodes.len() == 1 || is_answered(drawn)) && has_ranks(drawn);
        let given = (0..TRIES).map(|_| draw()).find(is_fit).unwrap_or_else(|| self.clone());
        let intent = if matches!(given.expectation, Expectation::Defined(_)) { Intent::Valid } else { Intent::Wild };
        Generated { intent, ..given }
    }
}

/// The ranks of the outputs in each answer; `None` if the case must be refused.
fn ranks(generated: &Generated) -> Option<Vec<Vec<usize>>> {
    let of = |outputs: &Vec<Tensor>| outputs.iter().map(Tensor::rank).collect();
    match &generated.expectation {
        Expectation::Defined(outputs) => Some(vec![of(outputs)]),
        Expectation::Unspecified { tolerated, .. } => {
            let answers = tolerated.iter().filter_map(|answer| match answer {
                Answer::Outputs(outputs) => Some(of(outputs)),
                Answer::Refusal | Answer::Any => None,
            });
            Some(answers.collect())
        }
        Expectation::Reject { .. } => None,
    }
}

/// Whether the dims of the output of a node are declared as numbers, which hold for one case only.
fn declares_numbers(node: &Node) -> bool {
    matches!(node.shown, Shown::Info(Declares::Static) | Shown::Output(Declares::Static))
}

/// A parameter of a node that is a source.
struct Parameter {
    node: usize,
    source: usize,
}

/// The parameters that are sources, one for each input of a node.
fn parameters(case: &Case) -> Vec<Parameter> {
    let of_node = |node: usize| {
        case.nodes[node].inputs.iter().enumerate().filter_map(move |(input, value)| match value {
            Some(Value::Source(source)) if case.is_parameter(node, input) => Some(Parameter { node, source: *source }),
            _ => None,
        })
    };
    (0..case.nodes.len()).flat_map(of_node).collect()
}

fn is_open_parameter(operand: &Operand) -> bool {
    matches!(operand.wiring, Wiring::Input(_)) && operand.dims.len() == 1 && operand.dims[0] > 0
}

fn is_open_data(operand: &Operand) -> bool {
    matches!(operand.wiring, Wiring::Input(declared) if declared != Declared::Static) && !operand.dims.is_empty()
}

/// The case with other tensors of the same ranks for its graph inputs. A parameter keeps its number of entries, since this number
/// may be the declared rank of an output.
fn fed_otherwise(case: &Case, u: &mut Unstructured) -> Result<Case> {
    let parameters = parameters(case);
    // In a graph, int64 data may be a parameter of a later node.
    let is_data = |(source, operand): &(usize, &mut Operand)| {
        parameters.iter().all(|parameter| parameter.source != *source)
            && (case.nodes.len() == 1 || operand.element_type != ElementType::Int64)
    };
    let data_inputs =
        |node: usize| (0..case.nodes[node].inputs.len()).filter(move |&input| !case.is_parameter(node, input));
    let has_several_data = (0..case.nodes.len()).any(|node| data_inputs(node).count() > 1);
    let mut fed = case.clone();
    for (_, Operand { dims, contents, wiring, .. }) in fed.sources.iter_mut().enumerate().filter(is_data) {
        let Wiring::Input(declared) = wiring else { continue };
        *contents = super::contents(u)?;
        if *declared != Declared::Static {
            // A parameter that is not fed seldom suits data with another number of elements.
            let keeps_count = has_fixed_parameter(case) && u.ratio(3, 4)?;
            let rank = u8::try_from(dims.len()).unwrap_or(0);
            let most = max_drawn(u)?;
            *dims = if keeps_count { shuffled(u, dims)? } else { dims_of_rank(u, rank, most)? };
        }
    }
    // If data has to fit other data, a large size would give the fitted data too many elements.
    let is_small = |data: &Operand| {
        product(data.dims.iter().copied()).is_some_and(|count| count <= MAX_DRAWN.into())
            && !(has_several_data && data.dims.iter().any(|dim| *dim > MAX_DRAWN))
    };
    let restore_unfit = |fed: &mut Case| {
        if !(has_same_symbols(case, fed) && fed.sources.iter().all(is_small)) {
            fed.sources.clone_from(&case.sources);
        }
    };
    restore_unfit(&mut fed);
    for node in 0..case.nodes.len() {
        let own: Vec<&Parameter> = parameters.iter().filter(|parameter| parameter.node == node).collect();
        let length = own.first().and_then(|first| usize::try_from(*case.sources[first.source].dims.first()?).ok());
        if own.is_empty() && case.nodes[node].inputs.len() < 2 {
            continue;
        }
        let drawn = inputs(&fed, node, length, u)?;
        for (input, drawn) in drawn.into_iter().enumerate() {
            let Some(Some(Value::Source(source))) = case.nodes[node].inputs.get(input) else { continue };
            let operand = &mut fed.sources[*source];
            match drawn {
                Some(Given::Values(tensor))
                    if is_open_parameter(operand)
                        && (tensor.dims(), tensor.element_type()) == (&operand.dims[..], operand.element_type) =>
                {
                    *operand = Operand::of(&tensor, operand.wiring);
                }
                // Further data, which has to fit the first.
                Some(Given::Data(data))
                    if is_open_data(operand)
                        && Some(input) != case.nodes[node].data_input(case.opset)
                        && data.dims.len() == operand.dims.len() =>
                {
                    operand.set_dims(data.dims);
                }
                _ => {}
            }
        }
        if let Some(Parameter { source, .. }) = own.first()
            && is_open_parameter(&fed.sources[*source])
            && let Some(mut numbers) = fed.sources[*source].int64s()
            && u.ratio(1, 4)?
        {
            let position = u.choose_index(numbers.len())?;
            let mut pool = boundary_sizes();
            pool.extend(data_dims(&fed, node).iter().take(4));
            numbers[position] = *u.choose(&pool)?;
            let wiring = fed.sources[*source].wiring;
            fed.sources[*source] = Operand { wiring, ..Operand::vector(&numbers) };
        }
    }
    restore_unfit(&mut fed);
    Ok(fed)
}

/// Inputs for a node that suit its data and its attributes.
fn inputs(case: &Case, node: usize, length: Option<usize>, u: &mut Unstructured) -> Result<Vec<Option<Given>>> {
    let Some(version) = case.version(node) else { return Ok(vec![]) };
    let Node { operator, attributes, .. } = &case.nodes[node];
    let data = Data { element_type: ElementType::Float, dims: data_dims(case, node) };
    operator.draw_inputs(u, version, attributes, data, length)
}

/// The dims of the data of a node. Empty if an earlier node has no answer.
fn data_dims(case: &Case, node: usize) -> Vec<i64> {
    let data = case.nodes[node].data_input(case.opset).and_then(|place| case.nodes[node].inputs.get(place));
    match data {
        Some(Some(Value::Source(data))) => case.sources[*data].dims.clone(),
        Some(Some(value)) => {
            let values = case.values(&case.tensors());
            value.tensor(&[], &values).map_or_else(Vec::new, |tensor| tensor.dims().to_vec())
        }
        _ => vec![],
    }
}

/// Whether a parameter is part of the model, or computed by a node.
fn has_fixed_parameter(case: &Case) -> bool {
    let is_fed = |value: Value| match value {
        Value::Source(source) => matches!(case.sources[source].wiring, Wiring::Input(_)),
        Value::Output { .. } => false,
    };
    let has_attribute = |node: usize| {
        let attributes = case.version(node).map_or(&[][..], |version| version.attributes);
        attributes.iter().any(|spec| spec.role == Role::TargetShape)
    };
    let is_fixed = |node: usize| {
        let inputs = case.nodes[node].inputs.iter().enumerate();
        let mut values = inputs.filter(|(input, _)| case.is_parameter(node, *input)).filter_map(|(_, value)| *value);
        values.any(|value| !is_fed(value))
    };
    (0..case.nodes.len()).any(|node| has_attribute(node) || is_fixed(node))
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

/// Whether two dims that are declared as shared are equal in one case exactly if they are equal in the other. Equal dims have one
/// symbol.
fn has_same_symbols(case: &Case, other: &Case) -> bool {
    let symbols = |case: &Case| -> Vec<Option<usize>> {
        let shared = |operand: &&Operand| operand.wiring == Wiring::Input(Declared::Shared);
        let sizes: Vec<i64> = case.sources.iter().filter(shared).flat_map(|operand| operand.dims.clone()).collect();
        sizes.iter().map(|size| sizes.iter().position(|first| first == size)).collect()
    };
    symbols(case) == symbols(other)
}
