//! Cast: the elements converted to another type. Only casts of integers and booleans to int32 and int64 are judged.

use super::{
    Aim, Answer, Attribute, AttributeKind, AttributeSpec, AttributeValue, Call, Drawing, Expectation, InputSpec,
    Operator, OutputType, Role, Rule, Text, Topic, Types, Version, always, int, since, until,
};
use crate::tensor::{ElementType, Tensor, element_count};

pub(crate) static CAST: Operator = Operator {
    name: "Cast",
    versions: &[
        version(1, &[AttributeSpec::new(TO, AttributeKind::String, Role::Choice).required()]),
        version(NUMBERS_SINCE, &[NUMBER]),
        version(9, &[NUMBER]),
        version(PAIRS_SINCE, &[NUMBER]),
        version(SATURATE_SINCE, &[NUMBER, SATURATE]),
        version(21, &[NUMBER, SATURATE]),
        version(23, &[NUMBER, SATURATE]),
        version(24, &[NUMBER, SATURATE, ROUND_MODE]),
        version(25, &[NUMBER, SATURATE, ROUND_MODE]),
        version(FLOAT6_SINCE, &[NUMBER, SATURATE, ROUND_MODE]),
    ],
    rules: &[
        always(Rule::CAST_INPUT_TYPE),
        always(Rule::CAST_TARGET),
        always(Rule::CAST_NOT_JUDGED),
        until(NUMBERS_SINCE - 1, Rule::CAST_SPELLING),
        until(PAIRS_SINCE - 1, Rule::CAST_OVERFLOW),
        since(SATURATE_SINCE, Rule::CAST_IDLE_ATTRIBUTE),
    ],
    catalogue: include_str!("../../corpus/catalogue/cast.txt"),
    purpose: &[(
        1,
        "The operator casts the elements of a given input tensor to a data type specified by the 'to' argument and \
         returns an output tensor of the same size in the converted type.",
    )],
    execute,
    draw,
    output_rank: |call| call.input(0).map(Tensor::rank),
    output_dims: |_, _| None,
    output_type: OutputType::Attribute(target),
};

const TO: &str = "to";
const NUMBER: AttributeSpec = AttributeSpec::new(TO, AttributeKind::Int, Role::Choice).required();
const SATURATE: AttributeSpec = AttributeSpec::new("saturate", AttributeKind::Int, Role::Choice);
const ROUND_MODE: AttributeSpec = AttributeSpec::new("round_mode", AttributeKind::String, Role::Choice);

/// The defaults of `saturate` and `round_mode`.
const DEFAULT_SATURATE: i64 = 1;
const DEFAULT_ROUND_MODE: &str = "up";

/// The version that gives the target by number instead of by name.
const NUMBERS_SINCE: u8 = 6;

/// The version that introduced the rules for each pair of types.
const PAIRS_SINCE: u8 = 13;

const SATURATE_SINCE: u8 = 19;

/// The version that introduced float6e2m3 and float6e3m2, and their numbers. No tensor here is of these types.
const FLOAT6_SINCE: u8 = 28;
const FLOAT6: [i64; 2] = [27, 28];

/// Casts from these types to each of [`TARGETS`] are judged.
const JUDGED: &[ElementType] =
    &[ElementType::Bool, ElementType::Int8, ElementType::Int32, ElementType::Int64, ElementType::Uint8];
const TARGETS: [ElementType; 2] = [ElementType::Int32, ElementType::Int64];

const fn version(since: u8, attributes: &'static [AttributeSpec]) -> Version {
    const INPUTS: &[InputSpec] = &[InputSpec { types: Types::Any, ..InputSpec::data("input") }];
    Version::new(since, JUDGED, attributes, INPUTS)
}

/// Whether a version lists a type. It lists the same types for input and output.
fn is_listed(element_type: ElementType, version: u8) -> bool {
    let since = match element_type {
        ElementType::Complex64 | ElementType::Complex128 => return false,
        ElementType::String => 9,
        listed if listed <= ElementType::Uint64 => 1,
        listed if listed <= ElementType::Bfloat16 => PAIRS_SINCE,
        listed if listed <= ElementType::Float8e5m2fnuz => SATURATE_SINCE,
        listed if listed <= ElementType::Uint4 => 21,
        listed if listed <= ElementType::Float4e2m1 => 23,
        listed if listed <= ElementType::Float8e8m0 => 24,
        _ => 25,
    };
    since <= version
}

/// The type that `to` asks for, by its number or by its name in any mix of upper and lower case.
fn target(attributes: &[Attribute]) -> Option<ElementType> {
    if let Some(number) = int(attributes, TO) {
        return ElementType::from_data_type(i32::try_from(number).ok()?);
    }
    attributes.iter().find_map(|attribute| match &attribute.value {
        AttributeValue::String(name) if attribute.name == TO => name.to_ascii_lowercase().parse().ok(),
        _ => None,
    })
}

/// The name of a type in the enumeration of `TensorProto`.
fn enum_name(element_type: ElementType) -> String {
    element_type.name().to_ascii_uppercase()
}

fn execute(call: &Call) -> Expectation {
    let (data, version) = (call.data(), call.since());
    if !is_listed(data.element_type(), version) {
        return Expectation::reject(Rule::CAST_INPUT_TYPE);
    }
    let to = match target(call.attributes) {
        Some(to) if is_listed(to, version) => to,
        None if version >= FLOAT6_SINCE && call.int(TO).is_some_and(|number| FLOAT6.contains(&number)) => {
            return Expectation::anything(Rule::CAST_NOT_JUDGED);
        }
        _ => return Expectation::reject(Rule::CAST_TARGET),
    };
    if !JUDGED.contains(&data.element_type()) || !TARGETS.contains(&to) {
        return Expectation::anything(Rule::CAST_NOT_JUDGED);
    }
    let wrapped = cast(data, to, |value| value);
    let (least, most) = range(to);
    let saturated = cast(data, to, |value| value.clamp(least, most));
    let rule = if call.string(TO).is_some_and(|name| name != enum_name(to)) {
        Rule::CAST_SPELLING
    } else if version < PAIRS_SINCE && wrapped != saturated {
        Rule::CAST_OVERFLOW
    } else if has_idle_attribute(call) {
        Rule::CAST_IDLE_ATTRIBUTE
    } else {
        return Expectation::Defined(vec![wrapped]);
    };
    let mut readings = vec![wrapped];
    if version < PAIRS_SINCE {
        readings.push(saturated);
    }
    let answers = readings.into_iter().map(|reading| Answer::Outputs(vec![reading]));
    Expectation::unspecified(rule, answers.chain([Answer::Refusal]))
}

/// The elements as another type. Bits that do not fit in that type are dropped.
fn cast(data: &Tensor, to: ElementType, of: impl Fn(i128) -> i128) -> Tensor {
    if data.element_type() == to {
        return data.clone();
    }
    let integers = data.integers().unwrap_or_default();
    let bits = integers.into_iter().map(|value| of(value).cast_unsigned());
    Tensor::from_element_bits(to, data.dims().to_vec(), bits).expect("there are as many elements as before")
}

/// The least and the greatest number of a signed type.
fn range(element_type: ElementType) -> (i128, i128) {
    let end = 1 << (element_type.bits() - 1);
    (-end, end - 1)
}

/// Whether an attribute that has no effect on casts to integers has another value than its default.
fn has_idle_attribute(call: &Call) -> bool {
    call.int(SATURATE.name).is_some_and(|saturate| saturate != DEFAULT_SATURATE)
        || call.string(ROUND_MODE.name).is_some_and(|mode| mode != DEFAULT_ROUND_MODE)
}

/// Numbers of 64 bits that fit into 32.
const THAT_FIT: [i64; 12] =
    [0, 7, -1, 1, -7, 255, -128, 65_536, (1 << 31) - 1, -(1 << 31), (1 << 31) - 2, 1 - (1 << 31)];

/// Numbers of 64 bits around every boundary. None of them fits into 32 bits; when truncated, many change their sign or become 0.
const THAT_DO_NOT: [i64; 16] = [
    1 << 31,
    -(1 << 31) - 1,
    (1 << 32) - 1,
    1 << 32,
    (1 << 32) + 5,
    -(1 << 32),
    -(1 << 32) - 5,
    3_735_928_559,
    (1 << 52) - 1,
    (1 << 53) + 1,
    -(1 << 53) - 1,
    1 << 62,
    i64::MAX,
    i64::MAX - 1,
    i64::MIN,
    i64::MIN + 1,
];

/// Numbers that name no valid target in any version.
const NO_NUMBERS: [i64; 12] = [0, -1, 99, 29, 14, 15, 256 + 7, (1 << 32) + 6, (1 << 32) + 7, -7, i64::MIN, i64::MAX];
const NO_NAMES: [&str; 10] =
    ["INT65", "", "UNDEFINED", "INT", "LONG", "COMPLEX64", "STRING", "BFLOAT16", "INT4", "FLOAT6E2M3"];

const OTHER_SATURATES: [i64; 7] = [0, 2, -1, 256, 1 << 32, (1 << 32) + 1, i64::MIN];
const OTHER_ROUND_MODES: [&str; 5] = ["down", "nearest", "", "UP", "sideways"];

fn draw(d: &mut Drawing) -> arbitrary::Result<()> {
    d.element_type = element_type(d)?;
    let to = d.attribute(TO, |d| to(d).map(Some))?;
    let to = to.and_then(|value| target(&[Attribute { name: TO.to_owned(), value }]));
    let declared = d.version.attributes;
    // The place of one of the attributes after `to`. One past the last place stands for all of them.
    let idle = if d.breaks(Rule::CAST_IDLE_ATTRIBUTE) { Some(d.u.int_in_range(1..=declared.len())?) } else { None };
    for (place, spec) in declared.iter().enumerate().skip(1) {
        let is_idle =
            idle.is_some_and(|idle| idle == place || idle == declared.len()) || d.is_wild() && d.ratio(1, 4)?;
        if spec.kind == AttributeKind::Int {
            d.int(spec.name, |d| saturate(d, is_idle))?;
        } else {
            d.attribute(spec.name, |d| round_mode(d, is_idle))?;
        }
    }
    data(d, to)
}

/// The type of the data: the given type, unless the aim needs another.
fn element_type(d: &mut Drawing) -> arbitrary::Result<ElementType> {
    let (aim, version) = (d.aim, d.since());
    match aim {
        Aim::Break(Rule::CAST_OVERFLOW) => Ok(ElementType::Int64),
        Aim::Break(Rule::CAST_INPUT_TYPE) => choose_type(d, |other| !is_listed(other, version)),
        Aim::Break(Rule::CAST_NOT_JUDGED) if d.ratio(1, 2)? => {
            choose_type(d, |listed| is_listed(listed, version) && !JUDGED.contains(&listed))
        }
        Aim::Wild if d.is_free && d.ratio(1, 8)? => d.choose(&ElementType::ALL),
        _ => Ok(d.element_type),
    }
}

fn choose_type(d: &mut Drawing, is_such: impl Fn(ElementType) -> bool) -> arbitrary::Result<ElementType> {
    let such: Vec<ElementType> = ElementType::ALL.into_iter().filter(|&element_type| is_such(element_type)).collect();
    d.choose(&such)
}

fn to(d: &mut Drawing) -> arbitrary::Result<AttributeValue> {
    let (aim, version, is_judged) = (d.aim, d.since(), JUDGED.contains(&d.element_type));
    let is_other = |listed| is_listed(listed, version) && !(is_judged && TARGETS.contains(&listed));
    let element_type = match aim {
        Aim::Break(Rule::CAST_TARGET) => return no_target(d),
        Aim::Break(Rule::CAST_NOT_JUDGED) if version >= FLOAT6_SINCE && d.ratio(1, 8)? => {
            return d.choose(&FLOAT6).map(AttributeValue::Int);
        }
        Aim::Break(Rule::CAST_NOT_JUDGED) => choose_type(d, is_other)?,
        Aim::Break(Rule::CAST_OVERFLOW) => ElementType::Int32,
        Aim::Wild if d.ratio(1, 8)? => return no_target(d),
        Aim::Wild if d.ratio(1, 4)? => d.choose(&ElementType::ALL)?,
        _ => d.choose(&TARGETS)?,
    };
    if version >= NUMBERS_SINCE {
        return Ok(AttributeValue::Int(element_type.data_type().into()));
    }
    let name = enum_name(element_type);
    let is_misspelt = d.breaks(Rule::CAST_SPELLING) || d.is_wild() && d.ratio(1, 4)?;
    let name = match is_misspelt.then(|| d.between(0, 2)).transpose()? {
        None => name,
        Some(0) => name.to_ascii_lowercase(),
        Some(1) => name[..1].to_owned() + &name[1..].to_ascii_lowercase(),
        Some(_) => name[..1].to_ascii_lowercase() + &name[1..],
    };
    Ok(AttributeValue::String(name))
}

/// A value of `to` that names no type, or a type that this version does not list.
fn no_target(d: &mut Drawing) -> arbitrary::Result<AttributeValue> {
    let version = d.since();
    if version < NUMBERS_SINCE {
        return d.choose(&NO_NAMES).map(|name| AttributeValue::String(name.to_owned()));
    }
    let later = ElementType::ALL.into_iter().filter(|&element_type| !is_listed(element_type, version));
    let mut numbers: Vec<i64> = later.map(|element_type| element_type.data_type().into()).collect();
    numbers.extend(NO_NUMBERS);
    numbers.extend(FLOAT6.into_iter().filter(|_| version < FLOAT6_SINCE));
    d.choose(&numbers).map(AttributeValue::Int)
}

fn saturate(d: &mut Drawing, is_idle: bool) -> arbitrary::Result<Option<i64>> {
    let default = [None, Some(DEFAULT_SATURATE)];
    if is_idle { d.choose(&OTHER_SATURATES).map(Some) } else { d.choose(&default) }
}

fn round_mode(d: &mut Drawing, is_idle: bool) -> arbitrary::Result<Option<AttributeValue>> {
    let default = [None, Some(DEFAULT_ROUND_MODE)];
    let mode = if is_idle { Some(d.choose(&OTHER_ROUND_MODES)?) } else { d.choose(&default)? };
    Ok(mode.map(|mode| AttributeValue::String(mode.to_owned())))
}

/// Adds the data. In a cast from int64 to int32 its values matter: before [`PAIRS_SINCE`], none may be out of range unless that is
/// the aim.
fn data(d: &mut Drawing, to: Option<ElementType>) -> arbitrary::Result<()> {
    let narrows = d.element_type == ElementType::Int64 && to == Some(ElementType::Int32);
    let is_open = d.since() < PAIRS_SINCE;
    if !narrows || !is_open && d.ratio(1, 2)? {
        d.data();
        return Ok(());
    }
    let overflows = d.breaks(Rule::CAST_OVERFLOW);
    if overflows {
        d.need_elements();
    }
    let too_large: &[i64] = if overflows || d.is_wild() || !is_open { &THAT_DO_NOT } else { &[] };
    let pool = [too_large, &THAT_FIT].concat();
    let first = d.u.choose_index(if overflows { too_large.len() } else { pool.len() })?;
    let bits = pool.iter().map(|&value| i128::from(value).cast_unsigned()).cycle().skip(first);
    let count = element_count(&d.dims).unwrap_or(0);
    let values = Tensor::from_element_bits(ElementType::Int64, d.dims.clone(), bits.take(count));
    d.values(values.expect("there are as many elements as the dims have"));
    Ok(())
}

impl Rule {
    pub const CAST_INPUT_TYPE: Rule = Rule(&Text {
        id: "cast-input-type",
        sentence: "The data is of one of the types that the operator version lists: \"Casting from complex is not \
                   supported.\"",
        source: "Cast, Type Constraints, T1; of strings and complex numbers in Cast-1 and 6",
        topics: &[Topic::ElementType],
    });
    pub const CAST_TARGET: Rule = Rule(&Text {
        id: "cast-target",
        sentence: "\"The data type to which the elements of the input tensor are cast. Strictly must be one of the \
                   types from DataType enum in TensorProto\", and one that the operator version lists.",
        source: "Cast, attribute `to` and Type Constraints, T2",
        topics: &[Topic::Value, Topic::ElementType, Topic::Attribute],
    });
    pub const CAST_NOT_JUDGED: Rule = Rule(&Text {
        id: "cast-not-judged",
        sentence: "A cast from another type than bool, int8, uint8, int32, int64, or to another than int32, int64, is \
                   valid, but not judged here.",
        source: "Cast, this project's scope",
        topics: &[Topic::ElementType, Topic::Value],
    });
    pub const CAST_SPELLING: Rule = Rule(&Text {
        id: "cast-spelling",
        sentence: "\"Strictly must be one of the types from DataType enum in TensorProto\", whose names are in capital \
                   letters; no text says that other letters name no type.",
        source: "Cast-1, attribute `to` (W17)",
        topics: &[Topic::Value, Topic::ElementType, Topic::Attribute],
    });
    pub const CAST_OVERFLOW: Rule = Rule(&Text {
        id: "cast-overflow",
        sentence: "\"User must be aware of precision loss and value change caused by range difference between two \
                   types.\" What an integer becomes that is out of range is said from version 13 on only.",
        source: "Cast-9; nothing in Cast-1 and 6 (W16)",
        topics: &[Topic::Value, Topic::ElementType],
    });
    pub const CAST_IDLE_ATTRIBUTE: Rule = Rule(&Text {
        id: "cast-idle-attribute",
        sentence: "Of `saturate`: \"It only applies for float 8 conversion\", and of `round_mode`: \"It only applies \
                   to casting to float8e8m0\". No text says whether another cast may have them.",
        source: "Cast-19 and later, attribute `saturate`; Cast-24 and later, attribute `round_mode` (W28)",
        topics: &[Topic::Attribute, Topic::Value],
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN32: i64 = i32::MIN as i64;
    const MAX32: i64 = i32::MAX as i64;

    fn tensor(element_type: ElementType, values: &[i64]) -> Tensor {
        let bits = values.iter().map(|&value| i128::from(value).cast_unsigned());
        Tensor::from_element_bits(element_type, vec![i64::try_from(values.len()).unwrap()], bits).unwrap()
    }

    fn number(name: &str, value: i64) -> Attribute {
        Attribute { name: name.to_owned(), value: AttributeValue::Int(value) }
    }

    fn text(name: &str, value: &str) -> Attribute {
        Attribute { name: name.to_owned(), value: AttributeValue::String(value.to_owned()) }
    }

    fn cast_at(opset: u8, data: &Tensor, attributes: &[Attribute]) -> Expectation {
        CAST.evaluate(opset, attributes, &[Some(data.clone())], 1)
    }

    /// The attribute `to` for a type, as a version asks for it.
    fn to(opset: u8, to: ElementType) -> Attribute {
        if opset < 6 { text(TO, &enum_name(to)) } else { number(TO, to.data_type().into()) }
    }

    fn open(rule: Rule, readings: impl IntoIterator<Item = Tensor>) -> Expectation {
        let readings = readings.into_iter().map(|reading| Answer::Outputs(vec![reading]));
        Expectation::Unspecified { rule, tolerated: readings.chain([Answer::Refusal]).collect() }
    }

    #[test]
    fn the_versions_make_as_many_cells_as_are_judged() {
        let listed = |version: &Version| ElementType::ALL.into_iter().filter(|&t| is_listed(t, version.since)).count();
        let counts: Vec<(u8, usize)> = CAST.versions.iter().map(|version| (version.since, listed(version))).collect();
        // Version 28 also lists the two types of 6 bits, which do not exist here.
        let all = [(1, 12), (6, 12), (9, 13), (13, 14), (19, 18), (21, 20), (23, 21), (24, 22), (25, 24), (28, 24)];
        assert_eq!((counts.as_slice(), CAST.cells()), (&all[..], 50));
    }

    #[test]
    fn what_fits_stays_in_every_version() {
        use ElementType::{Bool, Int8, Int32, Int64, Uint8};
        let rows: [(ElementType, &[i64]); 5] = [
            (Bool, &[0, 1]),
            (Int8, &[-128, -1, 127]),
            (Uint8, &[0, 128, 255]),
            (Int32, &[5, -1, MIN32, MAX32]),
            (Int64, &[7, -7, MIN32, MAX32]),
        ];
        for opset in CAST.versions.iter().map(|version| version.since) {
            for (from, values) in rows {
                for target in TARGETS {
                    let expectation = cast_at(opset, &tensor(from, values), &[to(opset, target)]);
                    assert_eq!(expectation, Expectation::Defined(vec![tensor(target, values)]), "{from} at {opset}");
                }
            }
            let wide = tensor(Int64, &[i64::MIN, (1 << 53) + 1, i64::MAX]);
            assert_eq!(cast_at(opset, &wide, &[to(opset, Int64)]), Expectation::Defined(vec![wide]));
        }
    }

    #[test]
    fn higher_bits_are_dropped_where_a_text_says_so() {
        let rows: &[(i64, i64)] = &[
            (MAX32 + 1, MIN32),
            (MIN32 - 1, MAX32),
            (1 << 32, 0),
            ((1 << 32) + 5, 5),
            (-(1 << 32) - 5, -5),
            (i64::MAX, -1),
            (i64::MIN, 0),
            (3_735_928_559, -559_038_737),
            ((1 << 53) + 1, 1),
        ];
        for opset in CAST.versions.iter().map(|version| version.since) {
            for &(value, wrapped) in rows {
                let data = tensor(ElementType::Int64, &[value]);
                let expectation = cast_at(opset, &data, &[to(opset, ElementType::Int32)]);
                let wrapped = tensor(ElementType::Int32, &[wrapped]);
                let saturated = tensor(ElementType::Int32, &[value.clamp(MIN32, MAX32)]);
                let demanded = match opset {
                    1..PAIRS_SINCE => open(Rule::CAST_OVERFLOW, [wrapped, saturated]),
                    _ => Expectation::Defined(vec![wrapped]),
                };
                assert_eq!(expectation, demanded, "{value} at {opset}");
            }
        }
    }

    #[test]
    fn a_target_is_one_that_the_version_lists() {
        let five = tensor(ElementType::Int64, &[5]);
        let rows: &[(u8, i64)] = &[
            (6, 8),
            (6, 16),
            (9, 14),
            (13, 0),
            (13, 99),
            (25, 15),
            (27, 27),
            (28, 29),
            (26, (1 << 32) + 7),
            (28, i64::MIN),
        ];
        for &(opset, number_of) in rows {
            let expectation = cast_at(opset, &five, &[number(TO, number_of)]);
            assert_eq!(expectation, Expectation::reject(Rule::CAST_TARGET), "{number_of} at {opset}");
        }
        for name in NO_NAMES {
            assert_eq!(cast_at(1, &five, &[text(TO, name)]), Expectation::reject(Rule::CAST_TARGET), "{name}");
        }
        for opset in [9, 28] {
            let complex = Tensor::from_element_bits(ElementType::Complex64, vec![1], [0]).unwrap();
            let expectation = cast_at(opset, &complex, &[number(TO, 7)]);
            assert_eq!(expectation, Expectation::reject(Rule::CAST_INPUT_TYPE));
        }
    }

    #[test]
    fn a_name_in_other_letters_is_open() {
        let five = tensor(ElementType::Int64, &[5]);
        let demanded = open(Rule::CAST_SPELLING, [tensor(ElementType::Int32, &[5])]);
        assert_eq!(cast_at(1, &five, &[text(TO, "int32")]), demanded);
        let large = tensor(ElementType::Int64, &[(1 << 32) + 5]);
        let both = [tensor(ElementType::Int32, &[5]), tensor(ElementType::Int32, &[MAX32])];
        assert_eq!(cast_at(5, &large, &[text(TO, "Int32")]), open(Rule::CAST_SPELLING, both));
    }

    #[test]
    fn attributes_of_other_casts_are_ignored_or_refused() {
        let (five, cast) = (tensor(ElementType::Int32, &[5]), tensor(ElementType::Int64, &[5]));
        for attribute in [number("saturate", 1), text("round_mode", "up")] {
            assert_eq!(cast_at(24, &five, &[number(TO, 7), attribute]), Expectation::Defined(vec![cast.clone()]));
        }
        for attribute in
            [number("saturate", 0), number("saturate", 2), text("round_mode", "down"), text("round_mode", "")]
        {
            let demanded = open(Rule::CAST_IDLE_ATTRIBUTE, [cast.clone()]);
            assert_eq!(cast_at(24, &five, &[number(TO, 7), attribute]), demanded);
        }
        for (opset, attribute) in [(13, number("saturate", 1)), (21, text("round_mode", "up"))] {
            let demanded = Expectation::reject(Rule::UNDECLARED_ATTRIBUTE);
            assert_eq!(cast_at(opset, &five, &[number(TO, 7), attribute]), demanded);
        }
    }

    #[test]
    fn other_casts_are_not_judged() {
        let (integer, float) = (tensor(ElementType::Int64, &[5]), tensor(ElementType::Float, &[0]));
        let anything = Expectation::anything(Rule::CAST_NOT_JUDGED);
        for (opset, data, number_of) in
            [(28, &integer, 1), (28, &integer, 27), (28, &integer, 9), (26, &float, 7), (6, &float, 6)]
        {
            assert_eq!(cast_at(opset, data, &[number(TO, number_of)]), anything, "{number_of} at {opset}");
        }
    }

    #[test]
    fn the_output_type_is_what_to_names() {
        let rows = [
            (number(TO, 7), Some(ElementType::Int64)),
            (text(TO, "INT32"), Some(ElementType::Int32)),
            (text(TO, "int32"), Some(ElementType::Int32)),
            (number(TO, 99), None),
            (text(TO, "INT65"), None),
            (number("from", 7), None),
        ];
        for (attribute, element_type) in rows {
            assert_eq!(
                CAST.output_type(std::slice::from_ref(&attribute), Some(ElementType::Bool)),
                element_type,
                "{attribute:?}"
            );
        }
    }
}
