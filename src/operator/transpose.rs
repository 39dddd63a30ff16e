//! Transpose: the axes of a tensor in another order.

use super::{
    Aim, Answer, AttributeKind, AttributeSpec, Call, Drawing, Expectation, InputSpec, Operator, OutputType, Role, Rule,
    Text, Topic, Version, always, axis,
};
use crate::tensor::{ElementType, Tensor};

pub(crate) static TRANSPOSE: Operator = Operator {
    name: "Transpose",
    versions: &[
        version(1, ElementType::Complex128),
        version(13, ElementType::Bfloat16),
        version(21, ElementType::Uint4),
        version(23, ElementType::Float4e2m1),
        version(24, ElementType::Float8e8m0),
        version(25, ElementType::Uint2),
    ],
    rules: &[
        always(Rule::TRANSPOSE_PERM_LENGTH),
        always(Rule::TRANSPOSE_PERM_RANGE),
        always(Rule::TRANSPOSE_PERM_REPEAT),
        always(Rule::TRANSPOSE_NEGATIVE_PERM),
        always(Rule::TRANSPOSE_EMPTY_PERM),
    ],
    catalogue: include_str!("../../corpus/catalogue/transpose.txt"),
    purpose: &[(1, "Returns a transpose of the input tensor. (Similar to `numpy.transpose`).")],
    execute,
    draw,
    output_rank,
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

const PERM: &str = "perm";

const fn version(since: u8, last: ElementType) -> Version {
    const ATTRIBUTES: &[AttributeSpec] = &[AttributeSpec::new(PERM, AttributeKind::Ints, Role::Axis)];
    const INPUTS: &[InputSpec] = &[InputSpec::data("data")];
    Version::new(since, ElementType::up_to(last), ATTRIBUTES, INPUTS)
}

fn draw(d: &mut Drawing) -> arbitrary::Result<()> {
    match d.aim {
        Aim::Break(Rule::TRANSPOSE_PERM_REPEAT) => {
            d.need_axis()?;
            if d.dims.len() == 1 {
                d.dims.push(1);
            }
        }
        Aim::Break(Rule::TRANSPOSE_PERM_RANGE | Rule::TRANSPOSE_NEGATIVE_PERM | Rule::TRANSPOSE_EMPTY_PERM) => {
            d.need_axis()?;
        }
        _ => {}
    }
    d.ints(PERM, perm)?;
    d.data();
    Ok(())
}

fn perm(d: &mut Drawing) -> arbitrary::Result<Option<Vec<i64>>> {
    let rank = d.rank();
    let perm = match d.aim {
        Aim::Wild => wild_perm(d)?,
        Aim::Break(Rule::TRANSPOSE_EMPTY_PERM) => vec![],
        Aim::Break(Rule::TRANSPOSE_PERM_LENGTH) => perm_of_other_length(d)?,
        Aim::Break(Rule::TRANSPOSE_PERM_RANGE) => perm_out_of_range(d)?,
        Aim::Break(Rule::TRANSPOSE_PERM_REPEAT) => perm_with_repeat(d)?,
        Aim::Break(Rule::TRANSPOSE_NEGATIVE_PERM) => perm_from_the_back(d)?,
        _ => return if d.ratio(1, 5)? { Ok(None) } else { permutation(d, rank).map(Some) },
    };
    Ok(Some(perm))
}

/// The numbers below `length` in some order: as they are, backwards, rotated, with two exchanged, or any.
fn permutation(d: &mut Drawing, length: i64) -> arbitrary::Result<Vec<i64>> {
    let mut perm: Vec<i64> = (0..length).collect();
    if perm.len() < 2 {
        return Ok(perm);
    }
    match d.between(0, 5)? {
        0 => {}
        1 => perm.reverse(),
        2 => {
            let by = d.u.choose_index(perm.len())?;
            perm.rotate_left(by);
        }
        3 => {
            let (one, other) = (d.u.choose_index(perm.len())?, d.u.choose_index(perm.len())?);
            perm.swap(one, other);
        }
        _ => {
            for place in 1..perm.len() {
                let other = d.u.choose_index(place + 1)?;
                perm.swap(place, other);
            }
        }
    }
    Ok(perm)
}

/// A perm of another length than the rank: too few axes, though at least one; more axes than there are; or one axis twice.
fn perm_of_other_length(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    let rank = d.rank();
    if rank > 1 && d.ratio(1, 2)? {
        let length = d.between(1, rank - 1)?;
        return permutation(d, length);
    }
    let is_repeated = rank > 0 && d.ratio(1, 2)?;
    let more = d.between(1, 2)?;
    let mut perm = permutation(d, if is_repeated { rank } else { rank + more })?;
    if is_repeated {
        perm.push(d.axis_in_range(false)?);
    }
    Ok(perm)
}

/// A perm with one number that is no axis, even if counted from the back.
fn perm_out_of_range(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    let mut perm = permutation(d, d.rank())?;
    let place = d.u.choose_index(perm.len())?;
    perm[place] = d.axis_out_of_range(true)?;
    Ok(perm)
}

/// A perm with one axis in place of another, or of all others.
fn perm_with_repeat(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    let mut perm = permutation(d, d.rank())?;
    let place = d.u.choose_index(perm.len())?;
    let other = (place + 1 + d.u.choose_index(perm.len() - 1)?) % perm.len();
    let again = perm[other];
    if d.ratio(1, 4)? {
        perm.fill(again);
    } else {
        perm[place] = again;
    }
    Ok(perm)
}

/// A perm with at least one axis counted from the back.
fn perm_from_the_back(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    let rank = d.rank();
    let mut perm = permutation(d, rank)?;
    let place = d.u.choose_index(perm.len())?;
    let are_all = d.ratio(1, 4)?;
    for (at, value) in perm.iter_mut().enumerate() {
        if at == place || are_all || d.ratio(1, 4)? {
            *value -= rank;
        }
    }
    Ok(perm)
}

/// A permutation, perhaps with one axis too few or too many, and with boundary values here and there.
fn wild_perm(d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
    let length = d.rank() + d.choose(&[0, 0, -1, 1])?;
    let mut perm = permutation(d, length)?;
    for value in &mut perm {
        if d.ratio(1, 4)? {
            *value = d.any_axis()?;
        }
    }
    Ok(perm)
}

/// The rank of the data. If the data is unknown, it is the length of a perm that is not empty.
fn output_rank(call: &Call) -> Option<usize> {
    let named = || call.ints(PERM).map(<[i64]>::len).filter(|&length| length > 0);
    call.input(0).map(Tensor::rank).or_else(named)
}

impl Rule {
    pub const TRANSPOSE_PERM_LENGTH: Rule = Rule(&Text {
        id: "transpose-perm-length",
        sentence: "\"The optional attribute `perm` must be a permutation of the dimensions of the input tensor.\" It has as \
                   many numbers as the tensor has dimensions.",
        source: "Transpose, all versions; the last part in so many words from Transpose-21 on, attribute `perm`",
        topics: &[Topic::Value, Topic::Dims, Topic::Attribute],
    });
    pub const TRANSPOSE_PERM_RANGE: Rule = Rule(&Text {
        id: "transpose-perm-range",
        sentence: "\"The optional attribute `perm` must be a permutation of the dimensions of the input tensor.\" Each of \
                   its numbers is one of 0 to the rank less 1.",
        source: "Transpose, all versions",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const TRANSPOSE_PERM_REPEAT: Rule = Rule(&Text {
        id: "transpose-perm-repeat",
        sentence: "\"The optional attribute `perm` must be a permutation of the dimensions of the input tensor.\" It names \
                   none of them twice.",
        source: "Transpose, all versions",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const TRANSPOSE_NEGATIVE_PERM: Rule = Rule(&Text {
        id: "transpose-negative-perm",
        sentence: "\"The optional attribute `perm` must be a permutation of the dimensions of the input tensor.\" No version \
                   lets it count them from the back.",
        source: "Transpose, all versions (V16)",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const TRANSPOSE_EMPTY_PERM: Rule = Rule(&Text {
        id: "transpose-empty-perm",
        sentence: "An empty `perm` is no permutation of the dimensions, where there are any; that it means the same as none \
                   is not said.",
        source: "Transpose, all versions, attribute `perm` (V5)",
        topics: &[Topic::Value, Topic::Dims, Topic::Attribute],
    });
}

fn execute(call: &Call) -> Expectation {
    let data = call.data();
    let reversed = || vec![transpose(data, &(0..data.rank()).rev().collect::<Vec<_>>())];
    match call.ints(PERM) {
        None => Expectation::Defined(reversed()),
        // V5: a refusal, or the answer without a perm.
        Some([]) if data.rank() > 0 => {
            Expectation::unspecified(Rule::TRANSPOSE_EMPTY_PERM, [Answer::Refusal, Answer::Outputs(reversed())])
        }
        Some(perm) => permute(data, perm),
    }
}

/// The expectation for data and a given perm.
fn permute(data: &Tensor, perm: &[i64]) -> Expectation {
    let rank = data.rank();
    if perm.len() != rank {
        return Expectation::reject(Rule::TRANSPOSE_PERM_LENGTH);
    }
    let Some(axes) = perm.iter().map(|&value| axis(value, rank)).collect::<Option<Vec<usize>>>() else {
        return Expectation::reject(Rule::TRANSPOSE_PERM_RANGE);
    };
    let mut seen = vec![false; rank];
    if axes.iter().any(|&axis| std::mem::replace(&mut seen[axis], true)) {
        return Expectation::reject(Rule::TRANSPOSE_PERM_REPEAT);
    }
    let outputs = vec![transpose(data, &axes)];
    if perm.iter().any(|&value| value < 0) {
        return Expectation::Reject { rule: Rule::TRANSPOSE_NEGATIVE_PERM, lenient: Some(outputs) };
    }
    Expectation::Defined(outputs)
}

/// Axis `i` of the output is axis `axes[i]` of the data.
fn transpose(data: &Tensor, axes: &[usize]) -> Tensor {
    let dims: Vec<i64> = axes.iter().map(|&axis| data.dims()[axis]).collect();
    let moved = if keeps_order(data.dims(), axes) {
        data.with_dims(dims)
    } else {
        data.rearranged(&dims, |axis, index, own| own[axes[axis]] = index)
    };
    moved.expect("the dims in another order hold as many elements")
}

/// Whether the elements keep their order. Dims of 1 may move anywhere; if there are no elements, all dims may.
fn keeps_order(dims: &[i64], axes: &[usize]) -> bool {
    dims.contains(&0) || axes.iter().filter(|&&axis| dims[axis] != 1).is_sorted()
}

#[cfg(test)]
#[expect(clippy::type_complexity, reason = "a table of rows reads best with its type in one place")]
mod tests {
    use super::super::{Attribute, AttributeValue};
    use super::*;

    const MIN: i64 = i64::MIN;
    const MAX: i64 = i64::MAX;

    fn tensor(dims: &[i64], elements: impl IntoIterator<Item = u128>) -> Tensor {
        Tensor::from_element_bits(ElementType::Int4, dims.to_vec(), elements).unwrap()
    }

    /// The expectation of every version for elements that count up. All versions must agree.
    fn evaluate(dims: &[i64], perm: Option<&[i64]>) -> Expectation {
        let count = dims.iter().product::<i64>();
        let data =
            Tensor::from_element_bits(ElementType::Int8, dims.to_vec(), (0..).take(usize::try_from(count).unwrap()));
        let perm = perm.map(|perm| Attribute { name: PERM.to_owned(), value: AttributeValue::Ints(perm.to_vec()) });
        let (attributes, inputs) = (Vec::from_iter(perm), [Some(data.unwrap())]);
        let mut demands = TRANSPOSE.versions.iter().map(|v| TRANSPOSE.evaluate(v.since, &attributes, &inputs, 1));
        let first = demands.next().unwrap();
        assert!(demands.all(|other| other == first));
        first
    }

    fn elements(tensor: &Tensor) -> Vec<i128> {
        tensor.integers().unwrap()
    }

    #[test]
    fn it_has_as_many_cells_as_its_document() {
        assert_eq!(TRANSPOSE.cells(), 126);
    }

    #[test]
    fn axes_come_in_the_order_asked_for() {
        let rows: &[(&[i64], Option<&[i64]>, &[i64])] = &[
            (&[2, 3, 4], None, &[4, 3, 2]),
            (&[2, 3, 4], Some(&[0, 1, 2]), &[2, 3, 4]),
            (&[2, 3, 4], Some(&[1, 0, 2]), &[3, 2, 4]),
            (&[2, 3, 4], Some(&[0, 2, 1]), &[2, 4, 3]),
            (&[2, 3, 4], Some(&[2, 0, 1]), &[4, 2, 3]),
            (&[2, 3, 4], Some(&[1, 2, 0]), &[3, 4, 2]),
            (&[], None, &[]),
            (&[], Some(&[]), &[]),
            (&[5], None, &[5]),
            (&[5], Some(&[0]), &[5]),
            (&[0, 3], None, &[3, 0]),
            (&[2, 0, 3], Some(&[1, 2, 0]), &[0, 3, 2]),
            (&[0, 0], None, &[0, 0]),
        ];
        for (dims, perm, expected) in rows {
            let Expectation::Defined(outputs) = evaluate(dims, *perm) else { panic!("{dims:?} by {perm:?}") };
            assert_eq!(outputs[0].dims(), *expected, "{dims:?} by {perm:?}");
        }
    }

    #[test]
    fn elements_go_with_their_axes() {
        let rows: &[(&[i64], Option<&[i64]>, &[i128])] = &[
            (&[2, 3], None, &[0, 3, 1, 4, 2, 5]),
            (&[2, 2, 2], Some(&[1, 2, 0]), &[0, 4, 1, 5, 2, 6, 3, 7]),
            (&[2, 2, 2], Some(&[2, 0, 1]), &[0, 2, 4, 6, 1, 3, 5, 7]),
            (&[1, 3, 2], Some(&[1, 0, 2]), &[0, 1, 2, 3, 4, 5]),
            (&[2, 1, 3], Some(&[1, 0, 2]), &[0, 1, 2, 3, 4, 5]),
            (&[2, 1, 3], Some(&[2, 1, 0]), &[0, 3, 1, 4, 2, 5]),
        ];
        for (dims, perm, expected) in rows {
            assert_eq!(elements(&evaluate(dims, *perm).outputs().unwrap()[0]), *expected, "{dims:?} by {perm:?}");
        }
        let turned = TRANSPOSE.evaluate(21, &[], &[Some(tensor(&[2, 3], 1..7))], 1);
        assert_eq!(turned, Expectation::Defined(vec![tensor(&[3, 2], [1, 4, 2, 5, 3, 6])]));
    }

    #[test]
    fn what_is_no_permutation_is_rejected() {
        let three: &[i64] = &[2, 3, 4];
        let rows: &[(&[i64], &[&[i64]], Rule)] = &[
            (three, &[&[0, 1], &[0, 1, 2, 3], &[2]], Rule::TRANSPOSE_PERM_LENGTH),
            (&[], &[&[0]], Rule::TRANSPOSE_PERM_LENGTH),
            (three, &[&[0, 0, 1], &[0, 1, 1], &[2, 2, 2], &[0, 1, -3]], Rule::TRANSPOSE_PERM_REPEAT),
            (three, &[&[0, 1, 3], &[1, 2, 3], &[0, 1, 1 << 31], &[0, 1, 1 << 32]], Rule::TRANSPOSE_PERM_RANGE),
            (three, &[&[0, 1, (1 << 32) + 2], &[0, 1, -(1 << 32) - 1]], Rule::TRANSPOSE_PERM_RANGE),
            (three, &[&[0, 1, MIN], &[0, 1, MAX], &[0, 1, -4]], Rule::TRANSPOSE_PERM_RANGE),
            (&[5], &[&[1]], Rule::TRANSPOSE_PERM_RANGE),
        ];
        for (dims, perms, rule) in rows {
            for perm in *perms {
                assert_eq!(evaluate(dims, Some(perm)), Expectation::reject(*rule), "{dims:?} by {perm:?}");
            }
        }
    }

    #[test]
    fn to_count_from_the_back_is_lenient() {
        let rows: &[(&[i64], &[i64], &[i64])] =
            &[(&[2, 3, 4], &[0, 1, -1], &[0, 1, 2]), (&[2, 3, 4], &[-1, -2, -3], &[2, 1, 0]), (&[5], &[-1], &[0])];
        for (dims, perm, counted) in rows {
            let lenient = evaluate(dims, Some(counted)).outputs().map(<[Tensor]>::to_vec);
            assert!(lenient.is_some());
            let rejected = Expectation::Reject { rule: Rule::TRANSPOSE_NEGATIVE_PERM, lenient };
            assert_eq!(evaluate(dims, Some(perm)), rejected, "{dims:?} by {perm:?}");
        }
    }

    #[test]
    fn an_empty_perm_is_refused_or_reverses() {
        for dims in [&[2, 3, 4][..], &[5]] {
            let reversed = evaluate(dims, None).outputs().unwrap().to_vec();
            let tolerated = vec![Answer::Refusal, Answer::Outputs(reversed)];
            let open = Expectation::Unspecified { rule: Rule::TRANSPOSE_EMPTY_PERM, tolerated };
            assert_eq!(evaluate(dims, Some(&[])), open, "{dims:?}");
        }
    }
}
