//! The arithmetic with which models compute shapes. It is exact for int32 and int64; most other types are not judged.
//!
//! These operators are not under test themselves. They stand between the operators under test in the graphs of models, so they have
//! no campaigns and no coverage.

use super::expand::{broadcast, repeated};
use super::{
    Arity, AttributeKind, AttributeSpec, Call, Drawing, Expectation, INDEX_TYPES, InputSpec, Operator, OutputType,
    Role, Rule, Text, Topic, Types, Version, always, since,
};
use crate::tensor::{ElementType, Tensor, mask, places, product};

/// Every arithmetic operator.
pub(super) static ARITHMETIC: &[&Operator] =
    &[&ADD, &SUB, &MUL, &DIV, &MOD, &NEG, &REDUCE_PROD, &RANGE, &EQUAL, &WHERE, &MIN, &MAX];

static ADD: Operator =
    binary("Add", &[(1, "Performs element-wise binary addition")], |call| elementwise(call, i128::checked_add));
static SUB: Operator =
    binary("Sub", &[(1, "Performs element-wise binary subtraction")], |call| elementwise(call, i128::checked_sub));
pub(crate) static MUL: Operator =
    binary("Mul", &[(1, "Performs element-wise binary multiplication")], |call| elementwise(call, i128::checked_mul));
/// "For integer inputs, the result is computed using truncating division (rounding toward zero)" (Div-7 and later).
static DIV: Operator =
    binary("Div", &[(1, "Performs element-wise binary division")], |call| elementwise(call, i128::checked_div));

static MOD: Operator = Operator {
    name: "Mod",
    versions: &[Version::new(10, NUMBERS, FMOD, PAIR), Version::new(13, NUMBERS_OR_BFLOAT16, FMOD, PAIR)],
    purpose: &[
        (13, "Performs an element-wise binary modulo operation."),
        (10, "Performs element-wise binary modulus (with Numpy-style broadcasting support)."),
    ],
    // "The sign of the remainder is the same as that of the Divisor" (Mod-10); fmod is for floats (Mod-13).
    execute: |call| match call.int("fmod").unwrap_or(0) {
        0 => elementwise(call, |a, b| {
            let remainder = a.checked_rem(b)?;
            Some(if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder })
        }),
        _ => Expectation::anything(Rule::ARITHMETIC_NOT_JUDGED),
    },
    ..PLAIN
};

static NEG: Operator = Operator {
    name: "Neg",
    versions: &[
        Version::new(1, FLOATS, CONSUMED, ONE),
        Version::new(6, SIGNED, &[], ONE),
        Version::new(13, SIGNED_OR_BFLOAT16, &[], ONE),
    ],
    purpose: &[(
        1,
        "Neg takes one input data (Tensor<T>) and produces one output data (Tensor<T>) where each element flipped \
         sign, y = -x, is applied to the tensor elementwise.",
    )],
    execute: |call| match integers(call.data()) {
        Some(elements) => computed(call.data(), elements.into_iter().map(i128::checked_neg)),
        None => Expectation::anything(Rule::ARITHMETIC_NOT_JUDGED),
    },
    draw: |d| {
        fit_type(d);
        d.data();
        Ok(())
    },
    ..PLAIN
};

static REDUCE_PROD: Operator = Operator {
    name: "ReduceProd",
    versions: &[
        Version::new(1, UNSIGNED_32, REDUCES, DATA),
        Version::new(11, UNSIGNED_32, REDUCES, DATA),
        Version::new(13, UNSIGNED_32_OR_BFLOAT16, REDUCES, DATA),
        Version::new(REDUCED_BY_INPUT_SINCE, UNSIGNED_32_OR_BFLOAT16, REDUCES_BY_INPUT, DATA_AND_AXES),
    ],
    rules: &[
        always(Rule::ARITHMETIC_NOT_JUDGED),
        always(Rule::ARITHMETIC_OVERFLOW),
        since(11, Rule::REDUCE_AXIS_RANGE),
    ],
    purpose: &[(1, "Computes the product of the input tensor's element along the provided axes.")],
    execute: reduce_prod,
    draw: |d| {
        fit_type(d);
        d.int("keepdims", |d| Ok(if d.ratio(1, 2)? { Some(0) } else { None }))?;
        d.data();
        Ok(())
    },
    output_rank: |call| Some(reduced(call)?.len()),
    ..PLAIN
};

static RANGE: Operator = Operator {
    name: "Range",
    versions: &[Version::new(11, RANGE_TYPES, &[], ENDS), Version::new(27, RANGE_TYPES_OR_SHORT_FLOATS, STASH, ENDS)],
    rules: &[always(Rule::ARITHMETIC_NOT_JUDGED), always(Rule::VAST_ANSWER)],
    purpose: &[(
        11,
        "Generate a tensor containing a sequence of numbers that begin at `start` and extends by increments of `delta` \
         up to `limit` (exclusive).",
    )],
    execute: range,
    draw: |d| {
        fit_type(d);
        let element_type = d.element_type;
        (0..3).for_each(|_| d.other_data(element_type, vec![]));
        Ok(())
    },
    output_rank: |_| Some(1),
    ..PLAIN
};

static EQUAL: Operator = Operator {
    name: "Equal",
    versions: &[
        Version::new(1, EQUAL_TYPES, BROADCAST, PAIR),
        Version::new(BROADCAST_SINCE, EQUAL_TYPES, &[], PAIR),
        Version::new(11, NUMBERS_OR_BOOL, &[], PAIR),
        Version::new(13, NUMBERS_BOOL_OR_BFLOAT16, &[], PAIR),
        Version::new(19, NUMBERS_BOOL_STRING_OR_BFLOAT16, &[], PAIR),
    ],
    purpose: &[(
        1,
        "Returns the tensor resulted from performing the `equal` logical operation elementwise on the input tensors \
         `A` and `B`",
    )],
    execute: equal,
    output_type: OutputType::Attribute(|_| Some(ElementType::Bool)),
    ..PLAIN
};

static WHERE: Operator = Operator {
    name: "Where",
    versions: &[
        Version::new(9, ElementType::up_to(ElementType::Complex128), &[], CHOICE),
        Version::new(16, ElementType::up_to(ElementType::Bfloat16), &[], CHOICE),
    ],
    rules: &[always(Rule::ARITHMETIC_BROADCAST), always(Rule::VAST_ANSWER), always(Rule::WHERE_CONDITION)],
    purpose: &[
        (16, "Return elements, either from X or Y, depending on condition."),
        (9, "Return elements, either from X or Y, depending on condition"),
    ],
    execute: choose,
    draw: |d| {
        let (element_type, dims) = (d.element_type, d.dims.clone());
        d.values(Tensor::from_element_bits(ElementType::Bool, vec![], [1]).expect("a scalar has one element"));
        d.other_data(element_type, dims.clone());
        d.other_data(element_type, dims);
        Ok(())
    },
    ..PLAIN
};

static MIN: Operator = variadic("Min", &[(1, "Element-wise min of each of the input tensors")], |call| {
    elementwise(call, |a, b| Some(a.min(b)))
});
static MAX: Operator = variadic("Max", &[(1, "Element-wise max of each of the input tensors")], |call| {
    elementwise(call, |a, b| Some(a.max(b)))
});

/// The version from which on a binary operator broadcasts as numpy does.
const BROADCAST_SINCE: u8 = 7;

/// The version from which on a reduction has its axes as an input.
const REDUCED_BY_INPUT_SINCE: u8 = 18;

/// The defaults of these operators.
const PLAIN: Operator = Operator {
    name: "",
    versions: &[],
    rules: &[
        always(Rule::ARITHMETIC_BROADCAST),
        always(Rule::ARITHMETIC_NOT_JUDGED),
        always(Rule::ARITHMETIC_OVERFLOW),
        always(Rule::VAST_ANSWER),
    ],
    catalogue: "",
    purpose: &[],
    execute: |_| Expectation::anything(Rule::ARITHMETIC_NOT_JUDGED),
    draw: |d| {
        fit_type(d);
        let (element_type, dims) = (d.element_type, d.dims.clone());
        d.data();
        d.other_data(element_type, dims);
        Ok(())
    },
    output_rank: |call| call.inputs.iter().flatten().map(Tensor::rank).max(),
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

type Purpose = &'static [(u8, &'static str)];

const fn binary(name: &'static str, purpose: Purpose, execute: fn(&Call) -> Expectation) -> Operator {
    const VERSIONS: &[Version] = &[
        Version::new(1, FLOATS, BROADCAST_AND_CONSUMED, PAIR),
        Version::new(6, UNSIGNED_32, BROADCAST, PAIR),
        Version::new(BROADCAST_SINCE, UNSIGNED_32, &[], PAIR),
        Version::new(13, UNSIGNED_32_OR_BFLOAT16, &[], PAIR),
        Version::new(14, NUMBERS_OR_BFLOAT16, &[], PAIR),
    ];
    Operator { name, versions: VERSIONS, execute, purpose, ..PLAIN }
}

const fn variadic(name: &'static str, purpose: Purpose, execute: fn(&Call) -> Expectation) -> Operator {
    const INPUTS: &[InputSpec] = &[InputSpec { arity: Arity::Variadic, ..InputSpec::data("data_0") }];
    const VERSIONS: &[Version] = &[
        Version::new(1, FLOATS, CONSUMED, INPUTS),
        Version::new(6, FLOATS, &[], INPUTS),
        Version::new(8, FLOATS, &[], INPUTS),
        Version::new(12, NUMBERS, &[], INPUTS),
        Version::new(13, NUMBERS_OR_BFLOAT16, &[], INPUTS),
    ];
    Operator { name, versions: VERSIONS, execute, purpose, ..PLAIN }
}

const FLOATS: &[ElementType] = {
    use ElementType::{Double, Float, Float16};
    &[Float16, Float, Double]
};
const SIGNED: &[ElementType] = {
    use ElementType::{Double, Float, Float16, Int8, Int16, Int32, Int64};
    &[Float16, Float, Double, Int8, Int16, Int32, Int64]
};
const SIGNED_OR_BFLOAT16: &[ElementType] = {
    use ElementType::{Bfloat16, Double, Float, Float16, Int8, Int16, Int32, Int64};
    &[Float16, Float, Double, Int8, Int16, Int32, Int64, Bfloat16]
};
const UNSIGNED_32: &[ElementType] = {
    use ElementType::{Double, Float, Float16, Int32, Int64, Uint32, Uint64};
    &[Float16, Float, Double, Int32, Int64, Uint32, Uint64]
};
const UNSIGNED_32_OR_BFLOAT16: &[ElementType] = {
    use ElementType::{Bfloat16, Double, Float, Float16, Int32, Int64, Uint32, Uint64};
    &[Float16, Float, Double, Int32, Int64, Uint32, Uint64, Bfloat16]
};
const NUMBERS: &[ElementType] = {
    use ElementType::{Double, Float, Float16, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64};
    &[Float16, Float, Double, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64]
};
const NUMBERS_OR_BFLOAT16: &[ElementType] = {
    use ElementType::{Bfloat16, Double, Float, Float16, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64};
    &[Float16, Float, Double, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Bfloat16]
};
const EQUAL_TYPES: &[ElementType] = {
    use ElementType::{Bool, Int32, Int64};
    &[Bool, Int32, Int64]
};
const NUMBERS_OR_BOOL: &[ElementType] = {
    use ElementType::{Bool, Double, Float, Float16, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64};
    &[Float16, Float, Double, Bool, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64]
};
const NUMBERS_BOOL_OR_BFLOAT16: &[ElementType] = {
    use ElementType::{
        Bfloat16, Bool, Double, Float, Float16, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64,
    };
    &[Float16, Float, Double, Bool, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Bfloat16]
};
const NUMBERS_BOOL_STRING_OR_BFLOAT16: &[ElementType] = &{
    let mut types = [ElementType::Bfloat16; 14];
    let mut place = 0;
    // All of the first 13 types, and bfloat16.
    while place < 13 {
        types[place] = ElementType::ALL[place];
        place += 1;
    }
    types
};
const RANGE_TYPES: &[ElementType] = {
    use ElementType::{Double, Float, Int16, Int32, Int64};
    &[Float, Double, Int16, Int32, Int64]
};
const RANGE_TYPES_OR_SHORT_FLOATS: &[ElementType] = {
    use ElementType::{Bfloat16, Double, Float, Float16, Int16, Int32, Int64};
    &[Float16, Float, Double, Int16, Int32, Int64, Bfloat16]
};

const ONE: &[InputSpec] = &[InputSpec::data("X")];
const PAIR: &[InputSpec] = &[InputSpec::data("A"), InputSpec::data("B")];
const DATA: &[InputSpec] = &[InputSpec::data("data")];
const DATA_AND_AXES: &[InputSpec] = &[InputSpec::data("data"), InputSpec::int64("axes", Role::Axis).optional()];
const ENDS: &[InputSpec] = &[InputSpec::data("start"), InputSpec::data("limit"), InputSpec::data("delta")];
const CHOICE: &[InputSpec] = &[
    InputSpec { name: "condition", types: Types::Any, arity: Arity::One, role: Role::Choice },
    InputSpec::data("X"),
    InputSpec::data("Y"),
];

const CONSUMED_INPUTS: AttributeSpec = AttributeSpec::new("consumed_inputs", AttributeKind::Ints, Role::Ignored);
const OLD_AXIS: AttributeSpec = AttributeSpec::new("axis", AttributeKind::Int, Role::Axis);
const OLD_BROADCAST: AttributeSpec = AttributeSpec::new("broadcast", AttributeKind::Int, Role::Flag);
const KEEPDIMS: AttributeSpec = AttributeSpec::new("keepdims", AttributeKind::Int, Role::Flag);
const CONSUMED: &[AttributeSpec] = &[CONSUMED_INPUTS];
const BROADCAST: &[AttributeSpec] = &[OLD_AXIS, OLD_BROADCAST];
const BROADCAST_AND_CONSUMED: &[AttributeSpec] = &[OLD_AXIS, OLD_BROADCAST, CONSUMED_INPUTS];
const FMOD: &[AttributeSpec] = &[AttributeSpec::new("fmod", AttributeKind::Int, Role::Flag)];
const STASH: &[AttributeSpec] = &[AttributeSpec::new("stash_type", AttributeKind::Int, Role::Choice)];
const REDUCES: &[AttributeSpec] = &[AttributeSpec::new("axes", AttributeKind::Ints, Role::Axis), KEEPDIMS];
const REDUCES_BY_INPUT: &[AttributeSpec] =
    &[AttributeSpec::new("noop_with_empty_axes", AttributeKind::Int, Role::Flag), KEEPDIMS];

/// Gives the data a type that is judged.
fn fit_type(d: &mut Drawing) {
    if !INDEX_TYPES.contains(&d.element_type) {
        d.element_type = ElementType::Int64;
    }
}

impl Rule {
    pub const ARITHMETIC_BROADCAST: Rule = Rule(&Text {
        id: "arithmetic-broadcast",
        sentence: "The inputs are broadcast to one shape: aligned at their last dims, two dims are equal, or one of them \
                   is 1 or not there.",
        source: "Broadcasting in ONNX",
        topics: &[Topic::Dims, Topic::Size],
    });
    pub const ARITHMETIC_OVERFLOW: Rule = Rule(&Text {
        id: "arithmetic-overflow",
        sentence: "What becomes of integers that their type does not hold, or of a division by zero, is not said.",
        source: "Add, Sub, Mul, Div, Mod, Neg, ReduceProd, all versions",
        topics: &[Topic::Value],
    });
    pub const ARITHMETIC_NOT_JUDGED: Rule = Rule(&Text {
        id: "arithmetic-not-judged",
        sentence: "Only arithmetic of int32 and int64 is judged here, from the versions on that broadcast.",
        source: "this project",
        topics: &[Topic::Value, Topic::ElementType, Topic::Dims],
    });
    pub const REDUCE_AXIS_RANGE: Rule = Rule(&Text {
        id: "reduce-axis-range",
        sentence: "\"Accepted range is [-r, r-1] where r = rank(data).\"",
        source: "ReduceProd-11 and later, `axes`",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const WHERE_CONDITION: Rule = Rule(&Text {
        id: "where-condition",
        sentence: "The condition is a tensor of bool.",
        source: "Where, all versions, Type Constraints",
        topics: &[Topic::ElementType],
    });
}

/// A tensor of the type and dims of another with these elements; unspecified if one is `None` or does not fit the type.
fn computed(like: &Tensor, elements: impl Iterator<Item = Option<i128>>) -> Expectation {
    in_dims(like.dims().to_vec(), like, elements)
}

/// As `computed`, with other dims.
fn in_dims(dims: Vec<i64>, like: &Tensor, elements: impl Iterator<Item = Option<i128>>) -> Expectation {
    let bits = like.element_type().bits();
    let range = -(1_i128 << (bits - 1))..1_i128 << (bits - 1);
    let in_range = |element: Option<i128>| element.filter(|element| range.contains(element));
    let Some(elements) = elements.map(in_range).collect::<Option<Vec<i128>>>() else {
        return Expectation::anything(Rule::ARITHMETIC_OVERFLOW);
    };
    let elements = elements.into_iter().map(|element| element.cast_unsigned() & mask(bits));
    let answer = Tensor::from_element_bits(like.element_type(), dims, elements);
    Expectation::Defined(vec![answer.expect("one element for each place")])
}

/// The inputs, broadcast to one shape; or the expectation if they cannot be, or if the output is too large to build.
fn aligned(call: &Call) -> Result<Vec<Tensor>, Expectation> {
    let inputs = call.inputs.iter().flatten();
    let dims = inputs.clone().map(Tensor::dims).try_fold(vec![], |dims, own| broadcast(&dims, own));
    let dims = dims.ok_or_else(|| Expectation::reject(Rule::ARITHMETIC_BROADCAST))?;
    if call.is_vast_output(&dims) {
        return Err(Expectation::vast(&dims));
    }
    Ok(inputs.map(|input| repeated(input, &dims)).collect())
}

/// The inputs combined element by element, from the first input to the last.
fn elementwise(call: &Call, combine: fn(i128, i128) -> Option<i128>) -> Expectation {
    if call.since() < BROADCAST_SINCE {
        return Expectation::anything(Rule::ARITHMETIC_NOT_JUDGED);
    }
    let inputs = match aligned(call) {
        Ok(inputs) => inputs,
        Err(expectation) => return expectation,
    };
    let Some(columns) = inputs.iter().map(integers).collect::<Option<Vec<_>>>() else {
        return Expectation::anything(Rule::ARITHMETIC_NOT_JUDGED);
    };
    let at = |place: usize| {
        let mut values = columns.iter().map(|column| column[place]);
        let first = values.next()?;
        values.try_fold(first, combine)
    };
    computed(&inputs[0], (0..inputs[0].len()).map(at))
}

/// Whether elements are equal. Floats are not judged, since a NaN equals nothing.
fn equal(call: &Call) -> Expectation {
    if call.since() < BROADCAST_SINCE {
        return Expectation::anything(Rule::ARITHMETIC_NOT_JUDGED);
    }
    let inputs = match aligned(call) {
        Ok(inputs) => inputs,
        Err(expectation) => return expectation,
    };
    let [Some(left), Some(right)] = [0, 1].map(|place| inputs[place].integers()) else {
        return Expectation::anything(Rule::ARITHMETIC_NOT_JUDGED);
    };
    let elements: Vec<u128> = left.iter().zip(right).map(|(&left, right)| u128::from(left == right)).collect();
    let answer = Tensor::from_element_bits(ElementType::Bool, inputs[0].dims().to_vec(), elements);
    Expectation::Defined(vec![answer.expect("one element for each place")])
}

/// Where. It moves elements, so it is exact for every type.
fn choose(call: &Call) -> Expectation {
    if call.input(0).is_some_and(|condition| condition.element_type() != ElementType::Bool) {
        return Expectation::reject(Rule::WHERE_CONDITION);
    }
    let inputs = match aligned(call) {
        Ok(inputs) => inputs,
        Err(expectation) => return expectation,
    };
    let [condition, x, y] = &inputs[..] else { return Expectation::reject(Rule::EMPTY_INPUT) };
    let chosen = (0..x.len()).map(|place| (if condition.element_bits(place) == 0 { y } else { x }, place));
    let answer = Tensor::assembled(x.element_type(), x.dims().to_vec(), chosen);
    Expectation::Defined(vec![answer.expect("one element for each place")])
}

/// `number_of_elements = max( ceil( (limit - start) / delta ) , 0 )` (Range-11).
fn range(call: &Call) -> Expectation {
    let is_scalar = |tensor: &&Tensor| tensor.rank() == 0;
    let inputs: Vec<&Tensor> = call.inputs.iter().flatten().filter(|tensor| is_scalar(tensor)).collect();
    let [Some(start), Some(limit), Some(delta)] = [0, 1, 2].map(|place| integers(inputs.get(place)?)?.first().copied())
    else {
        return Expectation::anything(Rule::ARITHMETIC_NOT_JUDGED);
    };
    if delta == 0 {
        return Expectation::anything(Rule::ARITHMETIC_NOT_JUDGED);
    }
    let count = ((limit - start + delta - delta.signum()) / delta).max(0);
    let dims = [i64::try_from(count).unwrap_or(i64::MAX)];
    if call.is_vast_output(&dims) {
        return Expectation::vast(&dims);
    }
    in_dims(dims.to_vec(), call.data(), (0..count).map(|place| Some(start + place * delta)))
}

/// The axes of a reduction, from the attribute or the input; `None` if there are none.
fn axes(call: &Call) -> Option<Vec<i64>> {
    let given =
        if call.since() < REDUCED_BY_INPUT_SINCE { call.ints("axes").map(<[i64]>::to_vec) } else { call.integers(1) };
    given.filter(|axes| !axes.is_empty())
}

/// The dims of the output of a reduction, as far as the call alone shows them.
fn reduced(call: &Call) -> Option<Vec<i64>> {
    let dims = call.input(0)?.dims();
    let is_reduced = reduced_axes(call)?;
    let keeps = call.int("keepdims").unwrap_or(1) != 0;
    let own = dims.iter().zip(is_reduced);
    Some(
        own.filter(|(_, is_reduced)| keeps || !is_reduced)
            .map(|(&dim, is_reduced)| if is_reduced { 1 } else { dim })
            .collect(),
    )
}

/// Whether each axis of the data is reduced; `None` if an axis is out of range.
fn reduced_axes(call: &Call) -> Option<Vec<bool>> {
    let rank = call.input(0)?.rank();
    let Some(axes) = axes(call) else {
        let is_kept = call.int("noop_with_empty_axes").unwrap_or(0) != 0;
        return Some(vec![!is_kept; rank]);
    };
    let mut is_reduced = vec![false; rank];
    for value in axes {
        is_reduced[super::axis(value, rank)?] = true;
    }
    Some(is_reduced)
}

/// "Reduction over an empty set of values yields 1" (ReduceProd-18).
fn reduce_prod(call: &Call) -> Expectation {
    let given = axes(call).unwrap_or_default();
    let is_open = match call.since() {
        1 => given.iter().any(|&axis| axis < 0),
        // Only from version 18 on do the texts say what an empty list of axes means.
        since => since < REDUCED_BY_INPUT_SINCE && call.ints("axes").is_some_and(<[i64]>::is_empty),
    };
    let Some(is_reduced) = reduced_axes(call) else { return Expectation::reject(Rule::REDUCE_AXIS_RANGE) };
    let is_repeated = is_reduced.iter().filter(|&&is_reduced| is_reduced).count() < given.len();
    let other_rank = call.input(1).is_some_and(|axes| axes.rank() != 1);
    let (Some(parts), false) = (integers(call.data()), is_open || is_repeated || other_rank) else {
        return Expectation::anything(Rule::ARITHMETIC_NOT_JUDGED);
    };
    let data = call.data();
    let ones: Vec<i64> =
        data.dims().iter().zip(&is_reduced).map(|(&dim, &is_reduced)| if is_reduced { 1 } else { dim }).collect();
    let Some(count) = product(ones.iter().copied()).and_then(|count| usize::try_from(count).ok()) else {
        return Expectation::anything(Rule::ARITHMETIC_NOT_JUDGED);
    };
    if call.is_vast_output(&ones) {
        return Expectation::vast(&ones);
    }
    let mut products = vec![Some(1_i128); count];
    let target = |index: &[usize]| {
        let own = ones.iter().zip(index).map(|(&dim, &at)| (dim, if dim == 1 { 0 } else { at }));
        own.fold(0, |place, (dim, at)| place * usize::try_from(dim).unwrap_or(0) + at)
    };
    for (target, value) in places(data.dims(), target).zip(parts) {
        products[target] = products[target].and_then(|product: i128| product.checked_mul(value));
    }
    in_dims(reduced(call).unwrap_or(ones), data, products.into_iter())
}

/// The elements of an int32 or int64 tensor.
fn integers(tensor: &Tensor) -> Option<Vec<i128>> {
    INDEX_TYPES.contains(&tensor.element_type()).then(|| tensor.integers()).flatten()
}

#[cfg(test)]
#[expect(clippy::unnecessary_wraps, reason = "a call takes inputs that may be left out")]
mod tests {
    use super::*;
    use crate::operator::{Answer, Attribute, AttributeValue, NEWEST_OPSET};

    fn tensor(element_type: ElementType, dims: &[i64], values: &[i64]) -> Option<Tensor> {
        let bits = values.iter().map(|&value| u128::from(value.cast_unsigned()) & mask(element_type.bits()));
        Some(Tensor::from_element_bits(element_type, dims.to_vec(), bits).unwrap())
    }

    fn vector(values: &[i64]) -> Option<Tensor> {
        Some(Tensor::vector(values))
    }

    fn scalar(value: i64) -> Option<Tensor> {
        Some(Tensor::scalar(value))
    }

    fn evaluate(operator: &Operator, attributes: &[(&str, i64)], inputs: &[Option<Tensor>]) -> Expectation {
        let attribute =
            |&(name, value): &(&str, i64)| Attribute { name: name.into(), value: AttributeValue::Int(value) };
        let attributes: Vec<Attribute> = attributes.iter().map(attribute).collect();
        operator.evaluate(NEWEST_OPSET, &attributes, inputs, 1)
    }

    #[track_caller]
    fn assert_gives(
        operator: &Operator,
        attributes: &[(&str, i64)],
        inputs: &[Option<Tensor>],
        output: Option<Tensor>,
    ) {
        let expected = Expectation::Defined(output.into_iter().collect());
        assert_eq!(evaluate(operator, attributes, inputs), expected, "{operator} {inputs:?}");
    }

    #[test]
    fn each_operator_computes_element_by_element() {
        let (a, b) = (vector(&[7, -7, 7, -7]), vector(&[2, 2, -2, -2]));
        let rows: [(&Operator, &[i64]); 8] = [
            (&ADD, &[9, -5, 5, -9]),
            (&SUB, &[5, -9, 9, -5]),
            (&MUL, &[14, -14, -14, 14]),
            // Toward zero.
            (&DIV, &[3, -3, -3, 3]),
            // With the sign of the divisor.
            (&MOD, &[1, 1, -1, -1]),
            (&MIN, &[2, -7, -2, -7]),
            (&MAX, &[7, 2, 7, -2]),
            (&WHERE, &[7, 2, 7, -2]),
        ];
        for (operator, output) in rows {
            let mut inputs = vec![a.clone(), b.clone()];
            if operator == &WHERE {
                inputs.insert(0, tensor(ElementType::Bool, &[4], &[1, 0, 1, 0]));
            }
            assert_gives(operator, &[], &inputs, vector(output));
        }
        assert_gives(&EQUAL, &[], &[a.clone(), vector(&[7])], tensor(ElementType::Bool, &[4], &[1, 0, 1, 0]));
        assert_gives(&NEG, &[], &[a], vector(&[-7, 7, -7, 7]));
        assert_gives(&MAX, &[], &[scalar(1), scalar(3), scalar(2)], scalar(3));
        assert_gives(&MIN, &[], &[scalar(1)], scalar(1));
        let int32 = |dims: &[i64], values: &[i64]| tensor(ElementType::Int32, dims, values);
        assert_gives(&MUL, &[], &[int32(&[2, 1], &[2, -3]), int32(&[2], &[5, 0])], int32(&[2, 2], &[10, 0, -15, 0]));
        assert_gives(&ADD, &[], &[int32(&[0, 1], &[]), int32(&[3], &[1, 2, 3])], int32(&[0, 3], &[]));
    }

    #[test]
    fn a_range_ends_before_its_limit() {
        for (ends, output) in [
            ([3, 9, 3], &[3, 6][..]),
            ([10, 4, -2], &[10, 8, 6]),
            ([0, 5, 2], &[0, 2, 4]),
            ([5, 0, -2], &[5, 3, 1]),
            ([0, 0, 1], &[]),
            ([3, 0, 1], &[]),
            ([i64::MAX - 1, i64::MAX, 5], &[i64::MAX - 1]),
        ] {
            assert_gives(&RANGE, &[], &ends.map(scalar), vector(output));
        }
        assert_eq!(evaluate(&RANGE, &[], &[0, i64::MAX, 1].map(scalar)), Expectation::vast(&[i64::MAX]));
    }

    #[test]
    fn a_product_is_over_the_axes_that_are_named() {
        let data = tensor(ElementType::Int64, &[2, 3], &[1, 2, 3, 4, 5, -6]);
        let of = |dims: &[i64], values: &[i64]| tensor(ElementType::Int64, dims, values);
        let rows = [
            (vec![], None, of(&[1, 1], &[-720])),
            (vec![("keepdims", 0)], None, of(&[], &[-720])),
            (vec![], vector(&[0]), of(&[1, 3], &[4, 10, -18])),
            (vec![("keepdims", 0)], vector(&[-1]), of(&[2], &[6, -120])),
            (vec![("noop_with_empty_axes", 1)], vector(&[]), data.clone()),
        ];
        for (attributes, axes, output) in rows {
            assert_gives(&REDUCE_PROD, &attributes, &[data.clone(), axes], output);
        }
        assert_gives(&REDUCE_PROD, &[], &[of(&[0, 2], &[])], of(&[1, 1], &[1]));
        assert_gives(&REDUCE_PROD, &[], &[of(&[0, 2], &[]), vector(&[0])], of(&[1, 2], &[1, 1]));
        let refused = evaluate(&REDUCE_PROD, &[], &[data, vector(&[2])]);
        assert_eq!(refused, Expectation::reject(Rule::REDUCE_AXIS_RANGE));
    }

    #[test]
    fn what_is_no_exact_integer_is_left_open() {
        let open = |expectation: Expectation| matches!(&expectation, Expectation::Unspecified { tolerated, .. } if tolerated.contains(&Answer::Any));
        let floats = || tensor(ElementType::Float, &[1], &[1]);
        let rows: [(&Operator, Vec<Option<Tensor>>); 8] = [
            (&ADD, vec![scalar(i64::MAX), scalar(1)]),
            (&MUL, vec![tensor(ElementType::Int32, &[], &[1 << 16]), tensor(ElementType::Int32, &[], &[1 << 15])]),
            (&NEG, vec![scalar(i64::MIN)]),
            (&DIV, vec![scalar(i64::MIN), scalar(-1)]),
            (&DIV, vec![scalar(1), scalar(0)]),
            (&MOD, vec![scalar(1), scalar(0)]),
            (&ADD, vec![floats(), floats()]),
            (&RANGE, vec![scalar(0), scalar(1), scalar(0)]),
        ];
        for (operator, inputs) in rows {
            assert!(open(evaluate(operator, &[], &inputs)), "{operator} {inputs:?}");
        }
        // Before version 7, the attributes of a node say how it broadcasts.
        assert!(open(ADD.evaluate(6, &[], &[scalar(1), scalar(1)], 1)));
    }

    #[test]
    fn what_cannot_be_broadcast_is_rejected() {
        let inputs = [vector(&[1, 2]), vector(&[1, 2, 3])];
        assert_eq!(evaluate(&ADD, &[], &inputs), Expectation::reject(Rule::ARITHMETIC_BROADCAST));
        let [a, _] = inputs;
        assert_eq!(evaluate(&WHERE, &[], &[a.clone(), a.clone(), a]), Expectation::reject(Rule::WHERE_CONDITION));
    }
}
