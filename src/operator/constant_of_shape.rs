//! `ConstantOfShape`: a tensor of the requested shape whose elements are all the same.

use super::draw::{MAX_DRAWN, dims_of_rank, is_laborious, max_drawn};
use super::{
    Aim, Answer, Attribute, AttributeKind, AttributeSpec, AttributeValue, Call, Drawing, Expectation, InputSpec,
    Operator, OutputType, Role, Rule, TOO_MANY, Text, Topic, Version, always, boundary_sizes, is_vast,
};
use crate::tensor::{Class, ElementType, Tensor, mask, product};

pub(crate) static CONSTANT_OF_SHAPE: Operator = Operator {
    name: "ConstantOfShape",
    versions: &[version(9, 12), version(20, 17), version(21, 19), version(23, 20), version(24, 21), version(25, 23)],
    rules: &[
        always(Rule::ELEMENT_TYPE),
        always(Rule::CONSTANT_OF_SHAPE_INPUT_RANK),
        always(Rule::CONSTANT_OF_SHAPE_NEGATIVE_DIM),
        always(Rule::CONSTANT_OF_SHAPE_VALUE_COUNT),
        always(Rule::CONSTANT_OF_SHAPE_VALUE_RANK),
        always(Rule::VAST_ANSWER),
        always(Rule::VAST_DIMS),
    ],
    catalogue: include_str!("../../corpus/catalogue/constant_of_shape.txt"),
    purpose: &[(9, "Generate a tensor with given value and shape.")],
    execute,
    draw,
    output_rank: |call| call.input(0).filter(|shape| shape.rank() == 1).map(Tensor::len),
    output_dims: |_, _| None,
    output_type: OutputType::Attribute(output_type),
};

const VALUE: &str = "value";

/// The types of the newest version, in the order in which operators began to accept them: neither strings nor complex numbers.
const TYPES: [ElementType; 23] = [
    ElementType::Float16,
    ElementType::Float,
    ElementType::Double,
    ElementType::Bool,
    ElementType::Int8,
    ElementType::Int16,
    ElementType::Int32,
    ElementType::Int64,
    ElementType::Uint8,
    ElementType::Uint16,
    ElementType::Uint32,
    ElementType::Uint64,
    ElementType::Bfloat16,
    ElementType::Float8e4m3fn,
    ElementType::Float8e4m3fnuz,
    ElementType::Float8e5m2,
    ElementType::Float8e5m2fnuz,
    ElementType::Int4,
    ElementType::Uint4,
    ElementType::Float4e2m1,
    ElementType::Float8e8m0,
    ElementType::Int2,
    ElementType::Uint2,
];

/// A version, and the number of types that it lists.
const fn version(since: u8, types: usize) -> Version {
    const ATTRIBUTES: &[AttributeSpec] = &[AttributeSpec::new(VALUE, AttributeKind::Tensor, Role::Data)];
    const INPUTS: &[InputSpec] = &[InputSpec::int64("input", Role::Sizes)];
    const ALL: &[ElementType] = &TYPES;
    Version::new(since, ALL.split_at(types).0, ATTRIBUTES, INPUTS)
}

/// Sizes that are drawn now and then beside a 0.
const BESIDE_ZERO: [i64; 6] = [65_537, 1 << 31, 1 << 32, (1 << 32) + 1, 1 << 40, 1 << 48];

/// Shapes of at least 2^50 elements. Counted in 64 bits, some have few or no elements.
const VAST: [&[i64]; 7] = [
    &[TOO_MANY],
    &[i64::MAX],
    &[1 << 31, 1 << 31],
    &[1 << 32, 1 << 32],
    &[1 << 62, 4],
    &[(1 << 32) + 1, 1 << 32],
    &[2, i64::MAX, i64::MAX],
];

/// Negative dims to draw. Some are 0, 1 or 2 when truncated to 32 bits.
const NEGATIVE: [i64; 8] = [-1, -2, i64::MIN, i64::MIN + 1, -(1 << 31), -(1 << 32), 1 - (1 << 32), 2 - (1 << 32)];

fn draw(d: &mut Drawing) -> arbitrary::Result<()> {
    d.attribute(VALUE, value)?;
    let shape = shape(d)?;
    let has_other_rank = d.breaks(Rule::CONSTANT_OF_SHAPE_INPUT_RANK) || d.is_wild() && d.ratio(1, 12)?;
    if has_other_rank {
        return d.vector_of_other_rank(&shape);
    }
    d.vector(&shape);
    Ok(())
}

fn value(d: &mut Drawing) -> arbitrary::Result<Option<AttributeValue>> {
    // Without a value, the output is a float.
    let is_left_out = d.element_type == ElementType::Float && d.ratio(1, 2)? || d.is_free && d.ratio(1, 12)?;
    let dims = match d.aim {
        Aim::Break(Rule::CONSTANT_OF_SHAPE_VALUE_COUNT) => choose_dims(d, &[&[2], &[2, 2], &[0], &[3, 1], &[1, 0]])?,
        Aim::Break(Rule::CONSTANT_OF_SHAPE_VALUE_RANK) => choose_dims(d, &[&[], &[1, 1], &[1, 1, 1]])?,
        Aim::Wild => choose_dims(d, &[&[1], &[], &[1, 1], &[2], &[0]])?,
        Aim::Break(Rule::ELEMENT_TYPE) => vec![1],
        _ if is_left_out => return Ok(None),
        _ => vec![1],
    };
    tensor(d, dims).map(|value| Some(AttributeValue::Tensor(value)))
}

fn choose_dims(d: &mut Drawing, among: &[&[i64]]) -> arbitrary::Result<Vec<i64>> {
    Ok(d.choose(among)?.to_vec())
}

/// A tensor of a few elements, often ones that are easily changed on the way through a runtime.
fn tensor(d: &mut Drawing, dims: Vec<i64>) -> arbitrary::Result<Tensor> {
    let count = product(dims.iter().copied()).unwrap_or(0);
    let tensor = if d.element_type == ElementType::String {
        Tensor::from_strings(dims, (0..count).map(|place| place.to_string()).collect())
    } else {
        let pool = telling_bits(d.element_type);
        let any: u128 = d.u.arbitrary()?;
        let bits = if d.ratio(3, 4)? { d.choose(&pool)? } else { any };
        let own = if d.element_type == ElementType::Bool { 1 } else { mask(d.element_type.bits()) };
        // Each element differs from those before it.
        Tensor::from_element_bits(d.element_type, dims, (0..count.cast_unsigned()).map(|place| (bits ^ place) & own))
    };
    Ok(tensor.expect("there is one element for each place of the dims"))
}

/// 0, -0.0, the least and the greatest numbers, subnormal ones, and NaNs that are quiet, signalling or have a payload.
fn telling_bits(element_type: ElementType) -> Vec<u128> {
    let (all, top) = (mask(element_type.bits()), 1 << element_type.bits().saturating_sub(1));
    let mut bits = vec![0, 1, top, all, all >> 1, top | 1];
    if let Class::Float(format) = element_type.class() {
        let infinity = (all >> 1) & !mask(format.mantissa_bits);
        let quiet = infinity | 1 << format.mantissa_bits.saturating_sub(1);
        bits.extend([infinity, infinity | top, infinity | 1, quiet, quiet | 1]);
    }
    bits
}

fn shape(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    let is_planned = d.ratio(1, 3)?;
    match d.aim {
        Aim::Break(Rule::VAST_DIMS) => Ok(d.dims.clone()),
        Aim::Break(Rule::VAST_ANSWER) => choose_dims(d, &VAST),
        Aim::Break(Rule::CONSTANT_OF_SHAPE_NEGATIVE_DIM) => negative_shape(d),
        Aim::Wild if !is_planned => wild_shape(d),
        _ => valid_shape(d),
    }
}

/// The dims drawn for data, if they are small enough and have the wanted length, or else other dims.
fn valid_shape(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    let is_small = product(d.dims.iter().copied()).is_some_and(|count| count <= i128::from(MAX_DRAWN));
    let fits = is_small && !is_vast(&d.dims) && d.length.is_none_or(|length| length == d.dims.len());
    let mut shape = if fits {
        d.dims.clone()
    } else {
        let rank = d.length.map_or(Ok(2), u8::try_from).unwrap_or(u8::MAX);
        let most = max_drawn(d.u)?;
        dims_of_rank(d.u, rank, most)?
    };
    if shape.contains(&0) && d.ratio(1, 6)? {
        let mut larger = shape.clone();
        let place = d.u.choose_index(shape.len())?;
        larger[place] = d.choose(&BESIDE_ZERO)?;
        if larger.contains(&0) && !is_vast(&larger) {
            shape = larger;
        }
    }
    Ok(shape)
}

/// A shape with at least one dim below 0. Two of them have a product above 0.
fn negative_shape(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    let mut shape = valid_shape(d)?;
    for _ in 0..d.between(1, 2)? {
        let (value, place) = (d.choose(&NEGATIVE)?, d.u.int_in_range(0..=shape.len())?);
        match shape.get_mut(place) {
            Some(old) => *old = value,
            None => shape.push(value),
        }
    }
    Ok(shape)
}

/// Arbitrary boundary values.
fn wild_shape(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    let (pool, length) = (boundary_sizes(), d.u.int_in_range(0_u8..=5)?);
    let mut shape = (0..length).map(|_| d.choose(&pool)).collect::<arbitrary::Result<Vec<i64>>>()?;
    if is_laborious(&shape) {
        shape.push(TOO_MANY);
    }
    Ok(shape)
}

fn output_type(attributes: &[Attribute]) -> Option<ElementType> {
    match attributes.iter().find(|attribute| attribute.name == VALUE).map(|attribute| &attribute.value) {
        None => Some(ElementType::Float),
        Some(AttributeValue::Tensor(value)) => Some(value.element_type()),
        Some(_) => None,
    }
}

impl Rule {
    pub const CONSTANT_OF_SHAPE_INPUT_RANK: Rule = Rule(&Text {
        id: "constant-of-shape-input-rank",
        sentence: "\"1D tensor. The shape of the expected output tensor.\"",
        source: "ConstantOfShape, input `input` (V6)",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const CONSTANT_OF_SHAPE_NEGATIVE_DIM: Rule = Rule(&Text {
        id: "constant-of-shape-negative-dim",
        sentence: "\"All values must be >= 0.\"",
        source: "ConstantOfShape, input `input`",
        topics: &[Topic::Value, Topic::Dims, Topic::Size],
    });
    pub const CONSTANT_OF_SHAPE_VALUE_COUNT: Rule = Rule(&Text {
        id: "constant-of-shape-value-count",
        sentence: "\"The value of the output elements.Should be a one-element tensor.\"",
        source: "ConstantOfShape, attribute `value` (V9)",
        topics: &[Topic::Attribute, Topic::Value, Topic::Dims, Topic::Size],
    });
    pub const CONSTANT_OF_SHAPE_VALUE_RANK: Rule = Rule(&Text {
        id: "constant-of-shape-value-rank",
        sentence: "The value is \"a one-element tensor\", of whatever rank; but the schema, where it infers the output's \
                     type, wants one of rank 1.",
        source: "ConstantOfShape, attribute `value` (V10)",
        topics: &[Topic::Attribute, Topic::Value, Topic::Dims],
    });
}

fn execute(call: &Call) -> Expectation {
    let given = call.attributes.iter().find_map(|attribute| match &attribute.value {
        AttributeValue::Tensor(value) if attribute.name == VALUE => Some(value.clone()),
        _ => None,
    });
    let value = given.unwrap_or_else(zero);
    if !call.version.element_types.contains(&value.element_type()) {
        return Expectation::reject(Rule::ELEMENT_TYPE);
    }
    let operand = call.input(0).expect("a well-formed call has its shape");
    let shape = operand.int64s().expect("a well-formed call has an int64 shape");
    let answer = fill(call, shape, &value);
    // V6, V9: the obvious readings are the values of the shape as a list, and the first element of a value that has several.
    let rejected = |rule| Expectation::Reject { rule, lenient: answer.outputs().map(<[Tensor]>::to_vec) };
    match (&answer, value.dims()) {
        _ if operand.rank() != 1 => rejected(Rule::CONSTANT_OF_SHAPE_INPUT_RANK),
        _ if value.len() != 1 => rejected(Rule::CONSTANT_OF_SHAPE_VALUE_COUNT),
        (Expectation::Reject { .. }, _) | (_, [_]) => answer,
        // Any answer and a refusal are tolerated already.
        _ if answer.is_beyond_judging() => answer,
        _ => {
            let answers = answer.into_answers().into_iter().chain([Answer::Refusal]);
            Expectation::unspecified(Rule::CONSTANT_OF_SHAPE_VALUE_RANK, answers)
        }
    }
}

/// The default value: the float 0.0.
fn zero() -> Tensor {
    Tensor::zero(ElementType::Float).with_dims(vec![1]).expect("one element is as many as the dims hold")
}

/// The expectation of a tensor of this shape. Each element is the first element of the value.
fn fill(call: &Call, shape: Vec<i64>, value: &Tensor) -> Expectation {
    if shape.iter().any(|&dim| dim < 0) {
        return Expectation::reject(Rule::CONSTANT_OF_SHAPE_NEGATIVE_DIM);
    }
    if value.is_empty() {
        return Expectation::reject(Rule::CONSTANT_OF_SHAPE_VALUE_COUNT);
    }
    let count = product(shape.iter().copied()).and_then(|count| usize::try_from(count).ok());
    match count.filter(|_| !call.is_vast_output(&shape)) {
        None => Expectation::vast(&shape),
        Some(count) => {
            let elements = std::iter::repeat_n((value, 0), count);
            let filled = Tensor::assembled(value.element_type(), shape, elements);
            Expectation::Defined(vec![filled.expect("the elements are as many as the dims hold")])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: i64 = i64::MIN;
    const MAX: i64 = i64::MAX;

    fn bits(element_type: ElementType, dims: &[i64], bits: &[u128]) -> Tensor {
        Tensor::from_element_bits(element_type, dims.to_vec(), bits.iter().copied()).unwrap()
    }

    fn of(opset: u8, shape: Tensor, value: Option<Tensor>) -> Expectation {
        let value = value.map(|value| Attribute { name: VALUE.to_owned(), value: AttributeValue::Tensor(value) });
        CONSTANT_OF_SHAPE.evaluate(opset, value.as_slice(), &[Some(shape)], 1)
    }

    fn filled(shape: &[i64], value: Option<Tensor>) -> Expectation {
        of(28, Tensor::vector(shape), value)
    }

    fn seven(dims: &[i64]) -> Tensor {
        Tensor::scalar(7).with_dims(dims.to_vec()).unwrap()
    }

    #[test]
    fn the_versions_are_those_of_the_operator_document() {
        assert_eq!(CONSTANT_OF_SHAPE.cells(), 112);
        let last = |opset| CONSTANT_OF_SHAPE.version_at(opset).unwrap().element_types.last().unwrap().name();
        let names = [9, 20, 21, 23, 24, 25].map(last);
        assert_eq!(names, ["uint64", "float8e5m2fnuz", "uint4", "float4e2m1", "float8e8m0", "uint2"]);
        let others: Vec<_> = ElementType::ALL.into_iter().filter(|other| !TYPES.contains(other)).collect();
        assert_eq!(others, [ElementType::String, ElementType::Complex64, ElementType::Complex128]);
        assert!(TYPES.is_sorted());
    }

    #[test]
    fn each_element_is_that_of_the_value() {
        let zeros = bits(ElementType::Float, &[2, 3], &[0; 6]);
        assert_eq!(filled(&[2, 3], None), Expectation::Defined(vec![zeros]));
        assert_eq!(filled(&[], Some(seven(&[1]))), Expectation::Defined(vec![Tensor::scalar(7)]));
        let rows = [
            (ElementType::Float, 0x8000_0000),
            (ElementType::Float, 0x7f80_0001),
            (ElementType::Float16, 1),
            (ElementType::Int4, 8),
            (ElementType::Bool, 1),
            (ElementType::Uint64, u128::from(u64::MAX)),
            (ElementType::Uint2, 2),
        ];
        for (element_type, element) in rows {
            let output = bits(element_type, &[3], &[element; 3]);
            assert_eq!(filled(&[3], Some(bits(element_type, &[1], &[element]))), Expectation::Defined(vec![output]));
        }
        for shape in [&[0][..], &[2, 0], &[0, 0, 3], &[1], &[1, 1, 1, 1], &[0, 1 << 40]] {
            let expectation = filled(shape, Some(seven(&[1])));
            let output = &expectation.outputs().unwrap()[0];
            assert_eq!((output.dims(), output.element_type()), (shape, ElementType::Int64));
            assert!(matches!(expectation, Expectation::Defined(_)), "{shape:?}");
        }
    }

    #[test]
    fn shapes_that_no_tensor_has_are_rejected() {
        for shape in [&[-1][..], &[2, -1], &[0, -1], &[-1, -1], &[MIN], &[-(1 << 32)]] {
            assert_eq!(filled(shape, None), Expectation::reject(Rule::CONSTANT_OF_SHAPE_NEGATIVE_DIM), "{shape:?}");
        }
        for shape in [&[1 << 31, 1 << 31][..], &[1 << 32, 1 << 32], &[MAX]] {
            assert_eq!(filled(shape, None), Expectation::reject(Rule::VAST_ANSWER), "{shape:?}");
        }
        let vast = filled(&[1 << 32, 1 << 32, 0], None);
        assert_eq!(
            (vast.rule(), vast.outputs().map(|o| o[0].dims())),
            (Some(Rule::VAST_DIMS), Some(&[1 << 32, 1 << 32, 0][..]))
        );
    }

    #[test]
    fn where_the_text_leaves_room() {
        let sevens = |dims: &[i64]| vec![bits(ElementType::Int64, dims, &[7; 3][..])];
        let rejected = |rule, lenient| Expectation::Reject { rule, lenient };
        let several = bits(ElementType::Int64, &[2], &[7, 8]);
        assert_eq!(filled(&[3], Some(several)), rejected(Rule::CONSTANT_OF_SHAPE_VALUE_COUNT, Some(sevens(&[3]))));
        let none = bits(ElementType::Int64, &[0], &[]);
        for shape in [&[3][..], &[0]] {
            assert_eq!(filled(shape, Some(none.clone())), rejected(Rule::CONSTANT_OF_SHAPE_VALUE_COUNT, None));
        }
        for dims in [&[][..], &[1, 1], &[1, 1, 1]] {
            let tolerated = vec![Answer::Outputs(sevens(&[3])), Answer::Refusal];
            let open = Expectation::Unspecified { rule: Rule::CONSTANT_OF_SHAPE_VALUE_RANK, tolerated };
            assert_eq!(filled(&[3], Some(seven(dims))), open);
            let negative = Expectation::reject(Rule::CONSTANT_OF_SHAPE_NEGATIVE_DIM);
            assert_eq!(filled(&[-3], Some(seven(dims))), negative);
            assert!(filled(&[i32::MAX.into()], Some(seven(dims))).is_beyond_judging());
        }
        let of_rank =
            |dims: Vec<i64>, values: &[i64]| of(28, Tensor::vector(values).with_dims(dims).unwrap(), Some(seven(&[1])));
        let rule = Rule::CONSTANT_OF_SHAPE_INPUT_RANK;
        assert_eq!(of_rank(vec![], &[3]), rejected(rule, Some(sevens(&[3]))));
        assert_eq!(of_rank(vec![1, 2], &[1, 3]), rejected(rule, Some(sevens(&[1, 3]))));
    }

    #[test]
    fn the_value_is_of_a_type_of_the_version() {
        for (opset, element_type) in [
            (28, ElementType::String),
            (28, ElementType::Complex64),
            (19, ElementType::Bfloat16),
            (19, ElementType::Float8e4m3fn),
            (20, ElementType::Int4),
            (22, ElementType::Float4e2m1),
            (23, ElementType::Float8e8m0),
            (24, ElementType::Int2),
        ] {
            let value = match element_type {
                ElementType::String => Tensor::from_strings(vec![1], ["a"].into_iter().collect()).unwrap(),
                _ => bits(element_type, &[1], &[0]),
            };
            let type_of = Attribute { name: VALUE.to_owned(), value: AttributeValue::Tensor(value.clone()) };
            assert_eq!(CONSTANT_OF_SHAPE.output_type(&[type_of], None), Some(element_type));
            assert_eq!(of(opset, Tensor::vector(&[2]), Some(value)), Expectation::reject(Rule::ELEMENT_TYPE));
        }
        assert_eq!(CONSTANT_OF_SHAPE.output_type(&[], None), Some(ElementType::Float));
        assert_eq!(of(8, Tensor::vector(&[2]), None), Expectation::reject(Rule::NOT_IN_OPSET));
    }
}
