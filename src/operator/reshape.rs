//! Reshape: the same elements with the dims asked for.

use super::{Answer, AttributeKind, AttributeSpec, Call, Expectation, InputSpec, Operator, Role, Rule, Version};
use crate::tensor::{ElementType, Tensor, product};

pub(super) static RESHAPE: Operator = Operator {
    name: "Reshape",
    versions: &[
        Version {
            since: 1,
            element_types: ElementType::up_to(ElementType::Double),
            attributes: &[
                AttributeSpec { name: "shape", kind: AttributeKind::Ints, role: Role::TargetShape },
                AttributeSpec { name: "consumed_inputs", kind: AttributeKind::Ints, role: Role::Ignored },
            ],
            inputs: &[DATA],
        },
        version(5, ElementType::Complex128, &[]),
        version(13, ElementType::Bfloat16, &[]),
        version(14, ElementType::Bfloat16, ALLOWZERO),
        version(19, ElementType::Float8e5m2fnuz, ALLOWZERO),
        version(21, ElementType::Uint4, ALLOWZERO),
        version(23, ElementType::Float4e2m1, ALLOWZERO),
        version(24, ElementType::Float8e8m0, ALLOWZERO),
        version(25, ElementType::Uint2, ALLOWZERO),
    ],
    rules: &[
        Rule::ShapeType,
        Rule::ShapeRank,
        Rule::SeveralInferred,
        Rule::BelowMinusOne,
        Rule::ZeroPastRank,
        Rule::ElementCount,
        Rule::NotDivisible,
        Rule::ZeroAndInferred,
        Rule::CopiedZeroAndInferred,
        Rule::AllowzeroValue,
        Rule::MissingShape,
    ],
    catalogue: include_str!("../../corpus/catalogue/reshape.txt"),
    execute,
    output_rank,
    output_dims: |_, _| None,
    output_type: None,
};

const DATA: InputSpec = InputSpec { name: "data", role: Role::Data };

const ALLOWZERO: &[AttributeSpec] = &[AttributeSpec { name: "allowzero", kind: AttributeKind::Int, role: Role::Flag }];

const fn version(since: u8, last: ElementType, attributes: &'static [AttributeSpec]) -> Version {
    Version {
        since,
        element_types: ElementType::up_to(last),
        attributes,
        inputs: &[DATA, InputSpec { name: "shape", role: Role::TargetShape }],
    }
}

/// As many dims as the shape has elements, where it has the rank that it must have.
fn output_rank(call: &Call) -> Option<usize> {
    let input = call.input(1).filter(|shape| shape.rank() == 1).map(Tensor::len);
    input.or_else(|| call.ints("shape").map(<[i64]>::len))
}

fn execute(call: &Call) -> Expectation {
    let data = call.data();
    if call.version.inputs.len() == 1 {
        return call.ints("shape").map_or_else(|| without_shape(data), |shape| reshape(data, shape, 0));
    }
    let operand = call.input(1).expect("a well-formed call has both inputs");
    let shape = operand.int64s().expect("a well-formed call has an int64 shape");
    let allowzero = call.int("allowzero").unwrap_or(0);
    if operand.rank() != 1 {
        // U6: only a one-element shape of another rank has a reading that suggests itself.
        let reading = (shape.len() == 1).then(|| reshape(data, &shape, allowzero).into_answers());
        return Expectation::unspecified(
            Rule::ShapeRank,
            [Answer::Refusal].into_iter().chain(reading.into_iter().flatten()),
        );
    }
    reshape(data, &shape, allowzero)
}

/// U8: to refuse, the data as it is, or a scalar.
fn without_shape(data: &Tensor) -> Expectation {
    let scalar = data.with_dims(vec![]).ok().map(|scalar| Answer::Outputs(vec![scalar]));
    let answers = [Answer::Refusal, Answer::Outputs(vec![data.clone()])];
    Expectation::unspecified(Rule::MissingShape, answers.into_iter().chain(scalar))
}

/// What to give for data of some dims and the shape asked for; `allowzero` is any number.
fn reshape(data: &Tensor, shape: &[i64], allowzero: i64) -> Expectation {
    if !(0..=1).contains(&allowzero) {
        // U3: as 0, as 1, or refused.
        let answers = [0, 1].into_iter().flat_map(|flag| reshape(data, shape, flag).into_answers());
        return Expectation::unspecified(Rule::AllowzeroValue, answers.chain([Answer::Refusal]));
    }
    let inferred = shape.iter().filter(|&&d| d == -1).count();
    let below = shape.iter().filter(|&&d| d < -1).count();
    if inferred > 1 {
        return Expectation::reject(Rule::SeveralInferred);
    }
    if below > 0 {
        // U4: a single number below -1 may be read as if it were -1.
        let as_inferred: Vec<i64> = shape.iter().map(|&d| d.max(-1)).collect();
        let reading = (inferred + below == 1).then(|| reshape(data, &as_inferred, allowzero).into_answers());
        return Expectation::unspecified(
            Rule::BelowMinusOne,
            [Answer::Refusal].into_iter().chain(reading.into_iter().flatten()),
        );
    }
    if allowzero == 1 && inferred == 1 && shape.contains(&0) {
        return Expectation::reject(Rule::ZeroAndInferred);
    }
    let Some(target) = with_copies(data.dims(), shape, allowzero) else {
        return Expectation::reject(Rule::ZeroPastRank);
    };
    let count = product(data.dims().iter().copied());
    let known = product(target.iter().copied().filter(|&d| d != -1));
    let Some(position) = target.iter().position(|&d| d == -1) else {
        let same = count.is_some() && count == known;
        return if same { answer(data, target) } else { Expectation::reject(Rule::ElementCount) };
    };
    let with_size = |size: i64| {
        let mut dims = target.clone();
        dims[position] = size;
        dims
    };
    match (count, known) {
        (Some(0), Some(0)) => copied_zero(data, shape, &target, with_size),
        // Data that is not empty cannot take a shape with a copied zero in it, whatever -1 stands for.
        (_, Some(0)) => Expectation::reject(Rule::NotDivisible),
        // No elements are divided among more than can be counted: none each.
        (Some(0), _) => answer(data, with_size(0)),
        (Some(count), Some(known)) if count % known == 0 => match i64::try_from(count / known) {
            Ok(size) => answer(data, with_size(size)),
            Err(_) => Expectation::reject(Rule::VastDims),
        },
        _ => Expectation::reject(Rule::NotDivisible),
    }
}

/// The shape with each 0 that copies replaced by the dimension it copies; `None` if there is none to copy.
fn with_copies(dims: &[i64], shape: &[i64], allowzero: i64) -> Option<Vec<i64>> {
    shape
        .iter()
        .enumerate()
        .map(|(i, &d)| if d == 0 && allowzero == 0 { dims.get(i).copied() } else { Some(d) })
        .collect()
}

/// U1: -1 beside a copied dimension of size 0. To refuse is tolerated, and so is to leave the copied dims out of both
/// products.
fn copied_zero(data: &Tensor, shape: &[i64], target: &[i64], with_size: impl Fn(i64) -> Vec<i64>) -> Expectation {
    let left = |dims: &[i64]| {
        let not_copied = dims.iter().enumerate().filter(|(i, _)| shape.get(*i) != Some(&0));
        product(not_copied.map(|(_, &d)| d).filter(|&d| d != -1))
    };
    let reading = match (left(data.dims()), left(target)) {
        (Some(count), Some(known)) if known != 0 && count % known == 0 => {
            i64::try_from(count / known).ok().and_then(|size| data.with_dims(with_size(size)).ok())
        }
        _ => None,
    };
    let reading = reading.map(|tensor| Answer::Outputs(vec![tensor]));
    Expectation::unspecified(Rule::CopiedZeroAndInferred, [Answer::Refusal].into_iter().chain(reading))
}

fn answer(data: &Tensor, dims: Vec<i64>) -> Expectation {
    data.with_dims(dims).map_or(Expectation::reject(Rule::ElementCount), |tensor| Expectation::Defined(vec![tensor]))
}
