//! `GatherElements`: for each index one element, at the index along one axis and at the place of the index along the others.

use super::draw::MAX_DRAWN;
use super::gather::{AXIS, counted, draw_axis};
use super::indices::{End, MAX_ENTRIES, draw_indices, fill, from_the_front, nothing};
use super::{
    Aim, Answer, AttributeKind, AttributeSpec, Call, Drawing, Expectation, InputSpec, Operator, OutputType, Role, Rule,
    Text, Topic, Version, always,
};
use crate::tensor::{ElementType, Tensor, places, product};

pub(crate) static GATHER_ELEMENTS: Operator = Operator {
    name: "GatherElements",
    versions: &[version(11, ElementType::Complex128), version(13, ElementType::Bfloat16)],
    rules: &[
        always(Rule::GATHER_ELEMENTS_DATA_RANK),
        always(Rule::GATHER_ELEMENTS_INDICES_RANK),
        always(Rule::GATHER_ELEMENTS_AXIS_RANGE),
        always(Rule::GATHER_ELEMENTS_OTHER_DIMS),
        always(Rule::GATHER_ELEMENTS_EMPTY_INDICES),
        always(Rule::GATHER_ELEMENTS_INDEX_RANGE),
    ],
    catalogue: include_str!("../../corpus/catalogue/gather_elements.txt"),
    purpose: &[(
        11,
        "GatherElements takes two inputs `data` and `indices` of the same rank r >= 1 and an optional attribute `axis` that \
         identifies an axis of `data` (by default, the outer-most axis, that is axis 0). It is an indexing operation that \
         produces its output by indexing into the input data tensor at index positions determined by elements of the \
         `indices` tensor.",
    )],
    execute,
    draw,
    output_rank: |call| Some(call.input(1).or(call.input(0))?.rank()),
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

const fn version(since: u8, last: ElementType) -> Version {
    const ATTRIBUTES: &[AttributeSpec] = &[AttributeSpec::new(AXIS, AttributeKind::Int, Role::Axis)];
    const INPUTS: &[InputSpec] = &[InputSpec::data("data"), InputSpec::index("indices", Role::Bound)];
    Version::new(since, ElementType::up_to(last), ATTRIBUTES, INPUTS)
}

fn draw(d: &mut Drawing) -> arbitrary::Result<()> {
    match d.aim {
        Aim::Break(Rule::GATHER_ELEMENTS_DATA_RANK) => d.dims.clear(),
        Aim::Break(Rule::GATHER_ELEMENTS_OTHER_DIMS | Rule::GATHER_ELEMENTS_EMPTY_INDICES) => need_two_axes(d)?,
        Aim::Wild => {}
        _ => d.need_axis()?,
    }
    let at = draw_axis(d, Rule::GATHER_ELEMENTS_AXIS_RANGE)?;
    fit_dims(d, at);
    let mut dims = index_dims(d, at)?;
    match d.aim {
        Aim::Break(Rule::GATHER_ELEMENTS_OTHER_DIMS) => exceed(d, &mut dims, at)?,
        Aim::Break(Rule::GATHER_ELEMENTS_EMPTY_INDICES) => exceed_without_entries(d, &mut dims, at)?,
        Aim::Break(Rule::GATHER_ELEMENTS_INDICES_RANK) => change_rank(d, &mut dims)?,
        Aim::Break(Rule::GATHER_ELEMENTS_DATA_RANK) => dims = d.choose(&[[].as_slice(), &[1], &[0]])?.to_vec(),
        Aim::Wild => unsettle(d, &mut dims)?,
        _ => {}
    }
    d.data();
    let size = d.dims.get(at).copied().unwrap_or(0);
    let indices = draw_indices(d, dims, &[size], End::Either, Rule::GATHER_ELEMENTS_INDEX_RANGE)?;
    d.values(indices);
    Ok(())
}

/// Gives the data at least two dims.
fn need_two_axes(d: &mut Drawing) -> arbitrary::Result<()> {
    while d.dims.len() < 2 {
        let size = d.choose(&[2, 1, 3])?;
        d.dims.push(size);
    }
    Ok(())
}

/// Gives the data elements, if the rule cannot be broken without them.
fn fit_dims(d: &mut Drawing, at: usize) {
    let is_empty_beside = d.dims.iter().enumerate().any(|(place, &dim)| place != at && dim == 0);
    let must_fill = match d.aim {
        Aim::Break(Rule::GATHER_ELEMENTS_INDEX_RANGE) => is_empty_beside,
        Aim::Break(Rule::GATHER_ELEMENTS_OTHER_DIMS) => d.dims[at] == 0,
        _ => false,
    };
    if must_fill {
        fill(&mut d.dims);
    }
}

/// Dims of indices that fit the data: of the same rank, and none larger except along the axis.
fn index_dims(d: &mut Drawing, at: usize) -> arbitrary::Result<Vec<i64>> {
    let must_have_entries =
        matches!(d.aim, Aim::Break(Rule::GATHER_ELEMENTS_INDEX_RANGE | Rule::GATHER_ELEMENTS_OTHER_DIMS));
    // Along an axis without elements, no index is valid.
    let is_empty = !must_have_entries && (d.dims.contains(&0) || d.ratio(1, 10)?);
    let (mut dims, mut count) = (Vec::new(), 1);
    for (place, size) in d.dims.clone().into_iter().enumerate() {
        let wish = match d.between(0, 3)? {
            _ if place == at => d.choose(&[1, 2, size, 3, 5, 8, 17, 0])?,
            0 => d.between(size.min(1), size)?,
            _ => size,
        };
        let room = if is_empty { i64::MAX } else { MAX_ENTRIES / count };
        let part = if is_empty { wish } else { wish.clamp(1, room.max(1)) };
        count = part.max(1).saturating_mul(count);
        dims.push(part);
    }
    if is_empty && !(dims.is_empty() || dims.contains(&0)) {
        let place = d.u.choose_index(dims.len())?;
        dims[place] = 0;
    }
    Ok(dims)
}

/// An axis other than `at`.
fn axis_beside(d: &mut Drawing, at: usize) -> arbitrary::Result<usize> {
    let place = d.u.choose_index(d.dims.len() - 1)?;
    Ok(place + usize::from(place >= at))
}

/// Makes the indices larger than the data along another axis than `at`.
fn exceed(d: &mut Drawing, dims: &mut [i64], at: usize) -> arbitrary::Result<()> {
    let place = axis_beside(d, at)?;
    if d.dims[place] > 64 {
        d.dims[place] = d.choose(&[2, 1, 3, 64])?;
    }
    dims[place] = d.dims[place] + d.choose(&[1, 2, 5])?;
    if product(dims.iter().copied()).is_none_or(|count| count > MAX_ENTRIES.into()) {
        dims.iter_mut().enumerate().filter(|(other, _)| *other != place).for_each(|(_, dim)| *dim = 1);
    }
    Ok(())
}

/// The same for indices without entries.
fn exceed_without_entries(d: &mut Drawing, dims: &mut [i64], at: usize) -> arbitrary::Result<()> {
    let place = axis_beside(d, at)?;
    dims[place] = d.dims[place].saturating_add(d.choose(&[1, 2, 5, 1000])?);
    if !dims.contains(&0) {
        dims[at] = 0;
    }
    Ok(())
}

/// Gives the indices one dim more or less.
fn change_rank(d: &mut Drawing, dims: &mut Vec<i64>) -> arbitrary::Result<()> {
    match d.between(0, 2)? {
        0 => dims.insert(0, 1),
        1 if !(dims.is_empty() || dims.contains(&0)) => dims.truncate(dims.len() - 1),
        _ => dims.push(1),
    }
    Ok(())
}

/// Perhaps changes the dims of the indices, which may then fit the data or not.
fn unsettle(d: &mut Drawing, dims: &mut Vec<i64>) -> arbitrary::Result<()> {
    match d.between(0, 3)? {
        0 => change_rank(d, dims)?,
        1 if !dims.is_empty() => {
            let place = d.u.choose_index(dims.len())?;
            let mut others = dims.clone();
            others[place] = d.choose(&[0, 1, 2, dims[place].saturating_add(1)])?;
            if product(others.iter().copied()).is_some_and(|count| count <= MAX_DRAWN.into()) {
                *dims = others;
            }
        }
        _ => {}
    }
    Ok(())
}

impl Rule {
    pub const GATHER_ELEMENTS_DATA_RANK: Rule = Rule(&Text {
        id: "gather-elements-data-rank",
        sentence: "\"Tensor of rank r >= 1.\" A scalar has no axis to gather on.",
        source: "GatherElements, all versions, input `data`",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const GATHER_ELEMENTS_INDICES_RANK: Rule = Rule(&Text {
        id: "gather-elements-indices-rank",
        sentence: "\"Tensor of int32/int64 indices, with the same rank r as the input.\"",
        source: "GatherElements, all versions, input `indices`",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const GATHER_ELEMENTS_AXIS_RANGE: Rule = Rule(&Text {
        id: "gather-elements-axis-range",
        sentence: "\"Accepted range is [-r, r-1] where r = rank(data).\"",
        source: "GatherElements, all versions, attribute `axis`",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const GATHER_ELEMENTS_OTHER_DIMS: Rule = Rule(&Text {
        id: "gather-elements-other-dims",
        sentence: "\"out[i][j][k] = input[index[i][j][k]][j][k] if axis = 0\", and the data has no such j or k where the \
                   indices are larger.",
        source: "GatherElements, all versions, the equations",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const GATHER_ELEMENTS_EMPTY_INDICES: Rule = Rule(&Text {
        id: "gather-elements-empty-indices",
        sentence: "Indices that are larger than the data along another axis, but have no entries, name no element that is \
                   missing; whether they are valid is not said.",
        source: "GatherElements, all versions, the equations (W26)",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const GATHER_ELEMENTS_INDEX_RANGE: Rule = Rule(&Text {
        id: "gather-elements-index-range",
        sentence: "\"It is an error if any of the index values are out of bounds.\"",
        source: "GatherElements, all versions, input `indices`",
        topics: &[Topic::Value, Topic::Dims],
    });
}

fn execute(call: &Call) -> Expectation {
    let (data, indices) = (call.data(), call.input(1).expect("a well-formed call has its indices"));
    if data.rank() == 0 {
        return Expectation::reject(Rule::GATHER_ELEMENTS_DATA_RANK);
    }
    if indices.rank() != data.rank() {
        return Expectation::reject(Rule::GATHER_ELEMENTS_INDICES_RANK);
    }
    let Some(at) = counted(call.int(AXIS), data.rank()) else {
        return Expectation::reject(Rule::GATHER_ELEMENTS_AXIS_RANGE);
    };
    let mut both = indices.dims().iter().zip(data.dims()).enumerate();
    if both.any(|(place, (own, limit))| place != at && own > limit) {
        if !indices.is_empty() {
            return Expectation::reject(Rule::GATHER_ELEMENTS_OTHER_DIMS);
        }
        let answer = Answer::Outputs(vec![nothing(data, indices.dims().to_vec())]);
        return Expectation::unspecified(Rule::GATHER_ELEMENTS_EMPTY_INDICES, [answer, Answer::Refusal]);
    }
    let values = call.integers(1).expect("indices are integers");
    let Some(places) = from_the_front(&values, &data.dims()[at..=at]) else {
        return Expectation::reject(Rule::GATHER_ELEMENTS_INDEX_RANGE);
    };
    Expectation::Defined(vec![gather_elements(data, at, places, indices.dims())])
}

/// The element at each of these places along an axis, in the dims of the indices.
fn gather_elements(data: &Tensor, at: usize, along: Vec<usize>, dims: &[i64]) -> Tensor {
    let mut along = along.into_iter();
    let mut own = vec![0; data.rank()];
    let elements = places(dims, |index| {
        own.copy_from_slice(index);
        own[at] = along.next().expect("there is a place for each index");
        (data, data.place(&own))
    });
    Tensor::assembled(data.element_type(), dims.to_vec(), elements).expect("there is an element for each index")
}

#[cfg(test)]
mod tests {
    use super::super::indices::testing::{Of, answer, inputs};
    use super::*;
    use crate::operator::{Attribute, AttributeValue};

    const MIN: i64 = i64::MIN;

    fn gather_elements(dims: &[i64], axis: Option<i64>, indices: Of) -> Expectation {
        let attribute = |value| Attribute { name: AXIS.to_owned(), value: AttributeValue::Int(value) };
        let attributes: Vec<_> = axis.map(attribute).into_iter().collect();
        let [first, last] =
            [11, 13].map(|opset| GATHER_ELEMENTS.evaluate(opset, &attributes, &inputs(dims, indices), 1));
        assert_eq!(first, last);
        last
    }

    #[test]
    fn the_cells_are_those_of_the_document() {
        assert_eq!(GATHER_ELEMENTS.cells(), 31);
    }

    #[test]
    fn an_index_names_an_element() {
        let rows: &[(&[i64], Option<i64>, Of, Of)] = &[
            (&[3], None, (&[4], &[2, 0, 0, 1]), (&[4], &[2, 0, 0, 1])),
            (&[3], None, (&[2], &[-1, -3]), (&[2], &[2, 0])),
            (&[3], None, (&[0], &[]), (&[0], &[])),
            (&[2, 3], None, (&[0, 3], &[]), (&[0, 3], &[])),
            (&[0, 3], None, (&[0, 3], &[]), (&[0, 3], &[])),
            (&[2, 0], None, (&[3, 0], &[]), (&[3, 0], &[])),
            (&[2, 3], None, (&[1, 3], &[0, 1, 0]), (&[1, 3], &[0, 4, 2])),
            (&[2, 3], Some(1), (&[2, 1], &[2, -3]), (&[2, 1], &[2, 3])),
            (&[2, 3], Some(-2), (&[3, 3], &[1, 1, 1, 0, 0, 0, 1, 0, 1]), (&[3, 3], &[3, 4, 5, 0, 1, 2, 3, 1, 5])),
            (&[2, 3], None, (&[1, 2], &[0, 1]), (&[1, 2], &[0, 4])),
            (&[2, 3], Some(1), (&[1, 2], &[0, 2]), (&[1, 2], &[0, 2])),
            (&[2, 3], Some(-1), (&[1, 1], &[-1]), (&[1, 1], &[2])),
        ];
        for &(dims, axis, indices, output) in rows {
            assert_eq!(gather_elements(dims, axis, indices), answer(output), "{dims:?} {axis:?} {indices:?}");
        }
    }

    #[test]
    fn what_is_refused() {
        let rows: &[(&[i64], Option<i64>, Of, Rule)] = &[
            (&[3], None, (&[1], &[3]), Rule::GATHER_ELEMENTS_INDEX_RANGE),
            (&[3], None, (&[1], &[-4]), Rule::GATHER_ELEMENTS_INDEX_RANGE),
            (&[3], None, (&[1], &[MIN]), Rule::GATHER_ELEMENTS_INDEX_RANGE),
            (&[3], None, (&[1], &[1 << 32]), Rule::GATHER_ELEMENTS_INDEX_RANGE),
            (&[0, 3], None, (&[1, 3], &[0, 0, 0]), Rule::GATHER_ELEMENTS_INDEX_RANGE),
            (&[0], None, (&[1], &[0]), Rule::GATHER_ELEMENTS_INDEX_RANGE),
            (&[2, 3], None, (&[1, 3], &[2, 0, 0]), Rule::GATHER_ELEMENTS_INDEX_RANGE),
            (&[2, 3], None, (&[1, 3], &[0, -3, 0]), Rule::GATHER_ELEMENTS_INDEX_RANGE),
            (&[2, 3], Some(1), (&[3, 1], &[0, 0, 0]), Rule::GATHER_ELEMENTS_OTHER_DIMS),
            (&[2, 3], None, (&[1, 4], &[0, 0, 0, 0]), Rule::GATHER_ELEMENTS_OTHER_DIMS),
            (&[2, 3], None, (&[2], &[0, 1]), Rule::GATHER_ELEMENTS_INDICES_RANK),
            (&[2, 3], None, (&[1, 1, 1], &[0]), Rule::GATHER_ELEMENTS_INDICES_RANK),
            (&[], None, (&[], &[0]), Rule::GATHER_ELEMENTS_DATA_RANK),
            (&[2, 3], Some(2), (&[1, 1], &[0]), Rule::GATHER_ELEMENTS_AXIS_RANGE),
            (&[2, 3], Some(-3), (&[1, 1], &[0]), Rule::GATHER_ELEMENTS_AXIS_RANGE),
            (&[2, 3], Some(1 << 32), (&[1, 1], &[0]), Rule::GATHER_ELEMENTS_AXIS_RANGE),
        ];
        for &(dims, axis, indices, rule) in rows {
            let found = gather_elements(dims, axis, indices);
            assert_eq!(found, Expectation::reject(rule), "{dims:?} {axis:?} {indices:?}");
        }
    }

    #[test]
    fn indices_without_entries_may_be_larger() {
        let (found, Expectation::Defined(outputs)) =
            (gather_elements(&[2, 3], None, (&[0, 5], &[])), answer((&[0, 5], &[])))
        else {
            unreachable!()
        };
        let open = [Answer::Outputs(outputs), Answer::Refusal];
        assert_eq!(found, Expectation::unspecified(Rule::GATHER_ELEMENTS_EMPTY_INDICES, open));
    }
}
