//! Trilu: the upper or lower triangle of each matrix in a tensor, and zeros in the rest.

use super::draw::OTHER_FLAGS;
use super::{
    Aim, Answer, AttributeKind, AttributeSpec, Call, Drawing, Expectation, InputSpec, MAX_DRAWN, Operator, OutputType,
    Role, Rule, Text, Topic, Version, always, dims_of_rank,
};
use crate::tensor::{ElementType, Tensor, places};

pub(crate) static TRILU: Operator = Operator {
    name: "Trilu",
    versions: &[Version::new(
        14,
        ElementType::up_to(ElementType::Bfloat16),
        &[AttributeSpec::new(UPPER, AttributeKind::Int, Role::Flag)],
        &[InputSpec::data("input"), InputSpec::int64("k", Role::Bound).optional()],
    )],
    rules: &[
        always(Rule::TRILU_RANK),
        always(Rule::TRILU_K_COUNT),
        always(Rule::TRILU_K_RANK),
        always(Rule::TRILU_UPPER),
        always(Rule::TRILU_STRINGS),
    ],
    catalogue: include_str!("../../corpus/catalogue/trilu.txt"),
    purpose: &[(
        14,
        "Given a 2-D matrix or batches of 2-D matrices, returns the upper or lower triangular part of the tensor(s).",
    )],
    execute,
    draw,
    output_rank: |call| call.input(0).map(Tensor::rank),
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

const UPPER: &str = "upper";

fn draw(d: &mut Drawing) -> arbitrary::Result<()> {
    fit_data(d)?;
    let triangle = Triangle::of(d.int(UPPER, upper)?.unwrap_or(1));
    d.data();
    draw_k(d, triangle)
}

/// Gives the call data with which it can reach its aim, if its own data does not allow it.
fn fit_data(d: &mut Drawing) -> arbitrary::Result<()> {
    if d.is_free && d.aim == Aim::Valid && d.ratio(1, 3)? {
        let rank = d.between(2, 4)?;
        d.dims = (0..rank).map(|_| d.choose(&[3, 2, 4, 5, 1, 3, 2, 7, 0])).collect::<Result<_, _>>()?;
    }
    if d.breaks(Rule::TRILU_RANK) {
        let rank = usize::from(d.ratio(3, 4)?);
        d.dims.truncate(rank);
        keep_small(&mut d.dims, 0);
    } else if d.dims.len() < 2 && !d.is_wild() {
        d.dims = dims_of_rank(d.u, 2, MAX_DRAWN)?;
    }
    if d.breaks(Rule::TRILU_STRINGS) {
        d.element_type = ElementType::String;
        keep_small(&mut d.dims, 1);
    }
    Ok(())
}

/// Sets a size to 1 if it is below `least`, or if it would give the data more elements than drawn data may have.
fn keep_small(dims: &mut [i64], least: i64) {
    let mut count = 1;
    for dim in dims {
        if !(least..=MAX_DRAWN / count).contains(dim) {
            *dim = 1;
        }
        count *= (*dim).max(1);
    }
}

fn upper(d: &mut Drawing) -> arbitrary::Result<Option<i64>> {
    let is_other = match d.aim {
        Aim::Break(Rule::TRILU_UPPER) => true,
        Aim::Wild => d.ratio(1, 3)?,
        _ => false,
    };
    if is_other {
        return d.choose(&OTHER_FLAGS).map(Some);
    }
    if d.ratio(1, 4)? { Ok(None) } else { Ok(Some(i64::from(d.ratio(1, 2)?))) }
}

/// Draws k, or leaves it out.
fn draw_k(d: &mut Drawing, triangle: Triangle) -> arbitrary::Result<()> {
    let must_be_there =
        [Rule::PARAMETER_TYPE, Rule::TRILU_K_COUNT, Rule::TRILU_K_RANK].iter().any(|&rule| d.breaks(rule));
    if !must_be_there && suits(d, triangle, 0) && d.ratio(1, 5)? {
        d.skip();
        return d.trim();
    }
    let k = diagonal(d, triangle)?;
    if d.breaks(Rule::TRILU_K_COUNT) {
        let count = d.choose(&[2, 0, 3])?;
        d.vector(&[k, 0, k][..count]);
        return Ok(());
    }
    let rank = match d.aim {
        Aim::Break(Rule::TRILU_K_RANK) => d.choose(&[1, 1, 2, 3])?,
        Aim::Wild => usize::from(d.ratio(1, 5)?),
        _ => 0,
    };
    d.values(Tensor::scalar(k).with_dims(vec![1; rank]).expect("dims of 1 hold one element"));
    Ok(())
}

/// A diagonal, often one at which the result changes: where the first or last element stays, or at the ends of 32 and 64 bits.
fn diagonal(d: &mut Drawing, triangle: Triangle) -> arbitrary::Result<i64> {
    let size = |from_the_back: usize| d.dims.iter().rev().nth(from_the_back).map_or(1, |&dim| dim.min(MAX_DRAWN));
    let (rows, columns) = (size(1), size(0));
    let any = d.between(-rows - 1, columns + 1)?;
    if suits(d, triangle, any) && d.ratio(1, 2)? {
        return Ok(any);
    }
    let mut diagonals = vec![0, 1, -1, columns - 2, columns - 1, columns, 2 - rows, 1 - rows, -rows];
    for bit in [31, 32] {
        diagonals.extend([-1, 0, 1].iter().flat_map(|near| [(1 << bit) + near, -(1 << bit) + near]));
    }
    diagonals.extend([1 << 62, i64::MAX - 1, i64::MAX, -(1 << 62), i64::MIN + 1, i64::MIN]);
    diagonals.retain(|&k| suits(d, triangle, k));
    d.choose(&diagonals)
}

/// Whether a call with this k can reach its aim. A valid call on strings drops no element.
fn suits(d: &Drawing, triangle: Triangle, k: i64) -> bool {
    match d.aim {
        Aim::Wild => true,
        Aim::Break(Rule::TRILU_STRINGS) => !triangle.keeps_all(&d.dims, k),
        _ => d.element_type != ElementType::String || triangle.keeps_all(&d.dims, k),
    }
}

impl Rule {
    pub const TRILU_RANK: Rule = Rule(&Text {
        id: "trilu-rank",
        sentence: "\"Input tensor of rank 2 or higher.\"",
        source: "Trilu-14, input `input`",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const TRILU_K_COUNT: Rule = Rule(&Text {
        id: "trilu-k-count",
        sentence: "\"A 0-D tensor containing a single value\" holds neither several values nor none.",
        source: "Trilu-14, input `k`",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const TRILU_K_RANK: Rule = Rule(&Text {
        id: "trilu-k-rank",
        sentence: "\"A 0-D tensor containing a single value\" has no dims, not even one of 1.",
        source: "Trilu-14, input `k` (V15)",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const TRILU_UPPER: Rule = Rule(&Text {
        id: "trilu-upper",
        sentence: "\"Boolean. Indicates whether upper or lower part of matrix is retained.\" What a number other than 0 and 1 \
                   means is not said.",
        source: "Trilu-14, attribute `upper` (V11)",
        topics: &[Topic::Value, Topic::Attribute],
    });
    pub const TRILU_STRINGS: Rule = Rule(&Text {
        id: "trilu-strings",
        sentence: "\"All other elements in the matrix are set to zero.\" What zero is among strings is not said.",
        source: "Trilu-14 (V12)",
        topics: &[Topic::ElementType, Topic::Value],
    });
}

/// The part of a matrix that stays.
#[derive(Clone, Copy)]
enum Triangle {
    Upper,
    Lower,
}

impl Triangle {
    /// The triangle that `upper` asks for. Any number except 0 stands for the upper one.
    fn of(upper: i64) -> Triangle {
        if upper == 0 { Triangle::Lower } else { Triangle::Upper }
    }

    /// Whether it has the elements of a diagonal. Diagonals above the main one have positive numbers, those below it negative ones.
    fn has(self, diagonal: i128, k: i64) -> bool {
        match self {
            Triangle::Upper => diagonal >= k.into(),
            Triangle::Lower => diagonal <= k.into(),
        }
    }

    /// Whether it has every element of each matrix. A tensor that holds no matrix loses nothing.
    fn keeps_all(self, dims: &[i64], k: i64) -> bool {
        let &[.., rows, columns] = dims else { return true };
        let farthest = match self {
            Triangle::Upper => 1 - i128::from(rows),
            Triangle::Lower => i128::from(columns) - 1,
        };
        dims.contains(&0) || self.has(farthest, k)
    }
}

fn execute(call: &Call) -> Expectation {
    let data = call.data();
    if data.rank() < 2 {
        return Expectation::reject(Rule::TRILU_RANK);
    }
    let upper = call.int(UPPER).unwrap_or(1);
    let (Some(k), Some(values)) = (call.input(1), call.integers(1)) else {
        return trilu(data, upper, 0);
    };
    let &[value] = values.as_slice() else {
        return Expectation::reject(Rule::TRILU_K_COUNT);
    };
    let answer = trilu(data, upper, value);
    if k.rank() == 0 {
        return answer;
    }
    Expectation::Reject { rule: Rule::TRILU_K_RANK, lenient: answer.outputs().map(<[Tensor]>::to_vec) }
}

/// The expectation for matrices. `upper` may be any number.
fn trilu(data: &Tensor, upper: i64, k: i64) -> Expectation {
    if !(0..=1).contains(&upper) {
        // V11: as 1, as 0, or refused.
        let answers = [1, 0].into_iter().flat_map(|flag| trilu(data, flag, k).into_answers());
        return Expectation::unspecified(Rule::TRILU_UPPER, answers.chain([Answer::Refusal]));
    }
    let triangle = Triangle::of(upper);
    if triangle.keeps_all(data.dims(), k) {
        return Expectation::Defined(vec![data.clone()]);
    }
    let outputs = vec![with_zeros(data, triangle, k)];
    if data.element_type() == ElementType::String {
        // V12: empty strings, or refused.
        return Expectation::unspecified(Rule::TRILU_STRINGS, [Answer::Outputs(outputs), Answer::Refusal]);
    }
    Expectation::Defined(outputs)
}

/// The elements of a triangle, and zeros in place of the others.
fn with_zeros(data: &Tensor, triangle: Triangle, k: i64) -> Tensor {
    let zero = Tensor::zero(data.element_type());
    let is_kept = places(data.dims(), |index| match *index {
        [.., row, column] => triangle.has(column as i128 - row as i128, k),
        _ => true,
    });
    let element = |(place, is_kept)| if is_kept { (data, place) } else { (&zero, 0) };
    Tensor::assembled(data.element_type(), data.dims().to_vec(), is_kept.enumerate().map(element))
        .expect("there is an element at each place of the data")
}

#[cfg(test)]
#[expect(clippy::type_complexity, reason = "a table of rows reads best with its type in one place")]
mod tests {
    use super::super::{Attribute, AttributeValue};
    use super::*;

    const MIN: i64 = i64::MIN;
    const MAX: i64 = i64::MAX;

    fn tensor(dims: &[i64], elements: impl IntoIterator<Item = u128>) -> Tensor {
        Tensor::from_element_bits(ElementType::Int8, dims.to_vec(), elements).unwrap()
    }

    /// Elements that count up from 1.
    fn counting(dims: &[i64]) -> Tensor {
        tensor(dims, (1..).take(usize::try_from(dims.iter().product::<i64>()).unwrap()))
    }

    fn strings(texts: [&str; 4]) -> Tensor {
        Tensor::from_strings(vec![2, 2], texts.into_iter().collect()).unwrap()
    }

    fn evaluate(data: Tensor, upper: Option<i64>, k: Option<Tensor>) -> Expectation {
        let upper = upper.map(|value| Attribute { name: UPPER.to_owned(), value: AttributeValue::Int(value) });
        TRILU.evaluate(14, &Vec::from_iter(upper), &[Some(data), k], 1)
    }

    #[test]
    fn it_has_as_many_cells_as_its_document() {
        assert_eq!(TRILU.cells(), 16);
    }

    #[test]
    fn one_triangle_is_kept() {
        let (all, none) = (&[1, 2, 3, 4, 5, 6], &[0; 6]);
        let rows: &[(&[i64], i64, &[i64], &[u128])] = &[
            (&[3, 3], 1, &[0], &[1, 2, 3, 0, 5, 6, 0, 0, 9]),
            (&[3, 3], 0, &[0], &[1, 0, 0, 4, 5, 0, 7, 8, 9]),
            (&[2, 3], 1, &[1], &[0, 2, 3, 0, 0, 6]),
            (&[2, 3], 1, &[-1], all),
            (&[2, 3], 0, &[1], &[1, 2, 0, 4, 5, 6]),
            (&[2, 3], 1, &[3, 1 << 31, 1 << 32, MAX], none),
            (&[2, 3], 0, &[3, 1 << 31, 1 << 32, MAX], all),
            (&[2, 3], 1, &[-2, -(1 << 32), MIN], all),
            (&[2, 3], 0, &[-2, -(1 << 32), MIN], none),
            (&[2, 2, 2], 1, &[0], &[1, 2, 0, 4, 5, 6, 0, 8]),
            (&[2, 2, 2], 0, &[0], &[1, 0, 3, 4, 5, 0, 7, 8]),
            (&[0, 3], 1, &[0, MAX], &[]),
            (&[3, 0], 0, &[0, MIN], &[]),
            (&[2, 0, 2], 1, &[0, 1], &[]),
        ];
        for (dims, upper, diagonals, expected) in rows {
            let expected = Expectation::Defined(vec![tensor(dims, expected.iter().copied())]);
            for &k in *diagonals {
                let given = evaluate(counting(dims), Some(*upper), Some(Tensor::scalar(k)));
                assert_eq!(given, expected, "{dims:?}, upper {upper}, k {k}");
            }
            if diagonals.contains(&0) {
                assert_eq!(evaluate(counting(dims), Some(*upper), None), expected, "{dims:?}, upper {upper}");
            }
            if diagonals.contains(&0) && *upper == 1 {
                assert_eq!(evaluate(counting(dims), None, None), expected, "{dims:?}");
            }
        }
    }

    #[test]
    fn what_is_dropped_becomes_a_positive_zero() {
        let bits = |elements: [u128; 4]| Tensor::from_element_bits(ElementType::Float, vec![2, 2], elements).unwrap();
        let (nan, infinity, minus_zero) = (0x7f80_0001, 0xff80_0000, 0x8000_0000);
        let given = evaluate(bits([minus_zero, nan, infinity, nan]), None, Some(Tensor::scalar(1)));
        assert_eq!(given, Expectation::Defined(vec![bits([0, nan, 0, 0])]));
    }

    #[test]
    fn only_matrices_and_one_value_of_k_will_do() {
        for dims in [&[][..], &[3], &[0]] {
            assert_eq!(evaluate(counting(dims), None, None), Expectation::reject(Rule::TRILU_RANK));
        }
        for k in [&[0, 1][..], &[]] {
            let given = evaluate(counting(&[3, 3]), None, Some(Tensor::vector(k)));
            assert_eq!(given, Expectation::reject(Rule::TRILU_K_COUNT));
        }
        let lenient = evaluate(counting(&[3, 3]), None, Some(Tensor::scalar(1))).outputs().map(<[Tensor]>::to_vec);
        let vector = evaluate(counting(&[3, 3]), None, Some(Tensor::vector(&[1])));
        assert_eq!(vector, Expectation::Reject { rule: Rule::TRILU_K_RANK, lenient });
        let int32 = evaluate(counting(&[3, 3]), None, Some(tensor(&[], [0])));
        assert_eq!(int32, Expectation::reject(Rule::PARAMETER_TYPE));
    }

    #[test]
    fn upper_is_0_or_1() {
        for upper in OTHER_FLAGS {
            let answer = |elements| Answer::Outputs(vec![tensor(&[2, 2], elements)]);
            let tolerated = vec![answer([1, 2, 0, 4]), answer([1, 0, 3, 4]), Answer::Refusal];
            let open = Expectation::Unspecified { rule: Rule::TRILU_UPPER, tolerated };
            assert_eq!(evaluate(counting(&[2, 2]), Some(upper), None), open, "{upper}");
        }
    }

    #[test]
    fn a_string_that_is_dropped_becomes_empty() {
        let words = || strings(["a", "b", "c", "d"]);
        let tolerated = vec![Answer::Outputs(vec![strings(["a", "b", "", "d"])]), Answer::Refusal];
        let open = Expectation::Unspecified { rule: Rule::TRILU_STRINGS, tolerated };
        assert_eq!(evaluate(words(), None, None), open);
        assert_eq!(evaluate(words(), None, Some(Tensor::scalar(-1))), Expectation::Defined(vec![words()]));
    }
}
