//! `GatherND`: the part of the data that each tuple of indices selects within its batch.

use std::iter;
use std::ops::RangeInclusive;

use super::draw::MAX_DRAWN;
use super::indices::{End, MAX_ENTRIES, draw_dims, draw_indices, from_the_front, nothing, runs};
use super::{
    Aim, AttributeKind, AttributeSpec, Call, Drawing, Expectation, InputSpec, Operator, OutputType, Role, Rule, Text,
    Topic, Version, always, since,
};
use crate::tensor::{ElementType, Tensor, element_count, product};

pub(crate) static GATHER_ND: Operator = Operator {
    name: "GatherND",
    versions: &[
        version(11, ElementType::Complex128, &[]),
        version(BATCHES_SINCE, ElementType::Complex128, BATCHES),
        version(13, ElementType::Bfloat16, BATCHES),
    ],
    rules: &[
        always(Rule::GATHER_ND_DATA_RANK),
        always(Rule::GATHER_ND_INDICES_RANK),
        since(BATCHES_SINCE, Rule::GATHER_ND_BATCH_RANGE),
        since(BATCHES_SINCE, Rule::GATHER_ND_BATCH_DIMS),
        always(Rule::GATHER_ND_TUPLE_LENGTH),
        always(Rule::GATHER_ND_EMPTY_TUPLE),
        always(Rule::GATHER_ND_INDEX_RANGE),
    ],
    catalogue: include_str!("../../corpus/catalogue/gather_nd.txt"),
    purpose: &[
        (
            BATCHES_SINCE,
            "Given `data` tensor of rank `r` >= 1, `indices` tensor of rank `q` >= 1, and `batch_dims` integer `b`, this \
             operator gathers slices of `data` into an output tensor of rank `q + r - indices_shape[-1] - 1 - b`.",
        ),
        (
            11,
            "Given `data` tensor of rank `r` >= 1, and `indices` tensor of rank `q` >= 1, this operator gathers slices of \
             `data` into an output tensor of rank `q + r - indices_shape[-1] - 1`.",
        ),
    ],
    execute,
    draw,
    output_rank,
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

const BATCH_DIMS: &str = "batch_dims";

/// The version that introduced `batch_dims`.
const BATCHES_SINCE: u8 = 12;

const BATCHES: &[AttributeSpec] = &[AttributeSpec::new(BATCH_DIMS, AttributeKind::Int, Role::Sizes)];

const fn version(since: u8, last: ElementType, attributes: &'static [AttributeSpec]) -> Version {
    const INPUTS: &[InputSpec] = &[InputSpec::data("data"), InputSpec::int64("indices", Role::Bound)];
    Version::new(since, ElementType::up_to(last), attributes, INPUTS)
}

fn draw(d: &mut Drawing) -> arbitrary::Result<()> {
    match d.aim {
        Aim::Break(Rule::GATHER_ND_DATA_RANK) => d.dims.clear(),
        Aim::Wild => {}
        _ => d.need_axis()?,
    }
    if d.breaks(Rule::GATHER_ND_BATCH_DIMS) && d.dims.len() == 1 {
        let size = d.choose(&[2, 1, 3])?;
        d.dims.push(size);
    }
    let asked = if d.version.attributes.is_empty() { None } else { d.int(BATCH_DIMS, batch_dims)? };
    d.data();
    // A number below the rank of the data is still out of range if it is not below the rank of the indices.
    let in_range = asked.and_then(|asked| usize::try_from(asked).ok()).filter(|&asked| asked < d.dims.len());
    let form = match in_range {
        Some(asked) if d.breaks(Rule::GATHER_ND_BATCH_RANGE) => {
            Form { most_rank: asked.saturating_sub(1), ..Form::draw(d, 0)? }
        }
        in_range => Form::draw(d, in_range.unwrap_or(0))?,
    };
    let dims = form.draw_dims(d)?;
    let indices = draw_indices(d, dims, &form.sizes, End::Either, Rule::GATHER_ND_INDEX_RANGE)?;
    d.values(indices);
    Ok(())
}

/// The most batch dims that are drawn. Indices also have a dim of tuples, and the dim that is the length of a tuple.
const MOST_BATCH_DIMS: i64 = 10;

/// The largest rank of drawn indices, and of outputs if the data has no larger rank.
const MOST_RANK: usize = 12;

/// The number of batch dims; `None` leaves it out.
fn batch_dims(d: &mut Drawing) -> arbitrary::Result<Option<i64>> {
    let (aim, rank) = (d.aim, d.rank());
    let most = MOST_BATCH_DIMS.min(rank - 1);
    match aim {
        Aim::Break(Rule::GATHER_ND_BATCH_RANGE) if rank > 1 && d.ratio(1, 2)? => d.between(1, rank - 1).map(Some),
        Aim::Break(Rule::GATHER_ND_BATCH_RANGE) => {
            d.choose(&[rank, -1, rank + 1, -rank, 1 << 32, -(1 << 32), i64::MAX, i64::MIN]).map(Some)
        }
        Aim::Break(Rule::GATHER_ND_BATCH_DIMS) => d.between(1, most).map(Some),
        Aim::Wild if d.ratio(1, 4)? => d.any_axis().map(Some),
        _ if d.ratio(1, 3)? => Ok(None),
        _ => {
            // If an index is to be out of bounds, there must be at least one index.
            let least = i128::from(d.breaks(Rule::GATHER_ND_INDEX_RANGE));
            let batches = |count: usize| product(d.dims.iter().copied().take(count));
            let will_do = |count: &usize| batches(*count).is_some_and(|n| (least..=MAX_ENTRIES.into()).contains(&n));
            let counts: Vec<i64> = (0..=usize::try_from(most).unwrap_or(0)).filter(will_do).map(counted).collect();
            d.choose(&counts).map(Some)
        }
    }
}

/// A small number as an i64, like the values of attributes.
fn counted(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The layout of indices: batches, in each batch dims of tuples, and in each tuple the indices.
struct Form {
    batches: Vec<i64>,
    /// How many dims may come between the batches and the length of a tuple.
    most_rank: usize,
    /// How many tuples a batch may have.
    tuples: RangeInclusive<i64>,
    /// The sizes that the indices of a tuple count along.
    sizes: Vec<i64>,
    is_scalar: bool,
}

impl Form {
    /// Draws a form for data with this many batch dims.
    fn draw(d: &mut Drawing, batch_dims: usize) -> arbitrary::Result<Form> {
        let mut batches = d.dims[..batch_dims].to_vec();
        if d.breaks(Rule::GATHER_ND_BATCH_DIMS) || d.is_wild() && batch_dims > 0 && d.ratio(1, 8)? {
            change_one(d, &mut batches)?;
        }
        let is_scalar = d.breaks(Rule::GATHER_ND_INDICES_RANK) || d.is_wild() && d.ratio(1, 10)?;
        let count = product(batches.iter().copied()).and_then(|n| i64::try_from(n).ok()).unwrap_or(i64::MAX);
        let length = match tuple_length(d, d.dims.len() - batch_dims, count)? {
            0 if is_scalar => 1,
            length => length,
        };
        // An index past the dims of the data has no size to count along. It gets a size of 1, as any value will do.
        let sizes: Vec<i64> = d.dims[batch_dims..].iter().copied().chain(iter::repeat(1)).take(length).collect();
        let part = product(d.dims.iter().copied().skip(batch_dims + length)).unwrap_or(i128::MAX);
        let breaks_bounds = d.breaks(Rule::GATHER_ND_INDEX_RANGE);
        // Along a size of 0, no index is valid.
        let needs_none = sizes.contains(&0) && !(breaks_bounds || d.is_wild());
        // Data without elements may have any number of batches.
        let has_many_batches = count > MAX_ENTRIES;
        let most = if needs_none || has_many_batches {
            0
        } else {
            let each = part.saturating_mul(count.into()).max(1);
            let answered = i64::try_from(i128::from(MAX_DRAWN) / each).unwrap_or(0);
            answered.min((MAX_ENTRIES / count.max(1) / counted(length.max(1))).max(1))
        };
        // Keeps the ranks of indices and output small. The output has the dims of a part in place of the length of a tuple.
        let room = d.dims.len().max(MOST_RANK) + length - d.dims.len();
        let most_rank = room.min(MOST_RANK.saturating_sub(batch_dims + 1).max(1));
        Ok(Form { batches, most_rank, tuples: breaks_bounds.into()..=most, sizes, is_scalar })
    }

    fn draw_dims(&self, d: &mut Drawing) -> arbitrary::Result<Vec<i64>> {
        if self.is_scalar {
            return Ok(vec![]);
        }
        let tuples = draw_dims(d, self.most_rank, &self.tuples)?;
        Ok([&self.batches, &tuples[..], &[counted(self.sizes.len())]].concat())
    }
}

/// The number of indices in a tuple. The data has `left` dims besides the batch dims, and there are `batches` batches.
fn tuple_length(d: &mut Drawing, left: usize, batches: i64) -> arbitrary::Result<usize> {
    let most = usize::try_from(MAX_ENTRIES / batches.max(1)).unwrap_or(0).max(1);
    Ok(match d.aim {
        Aim::Break(Rule::GATHER_ND_TUPLE_LENGTH) => left + d.choose(&[1, 2, 1, 5])?,
        Aim::Break(Rule::GATHER_ND_EMPTY_TUPLE) => 0,
        Aim::Wild => d.u.int_in_range(0..=left + 1)?,
        _ => match d.between(0, 2)? {
            0 => left,
            1 => 1,
            _ => d.u.int_in_range(1..=left.max(1))?,
        }
        .clamp(1, most),
    })
}

/// Makes one of the batch dims of the indices differ from that of the data, without too many batches.
fn change_one(d: &mut Drawing, batches: &mut [i64]) -> arbitrary::Result<()> {
    let mut changes = Vec::new();
    for (place, &dim) in batches.iter().enumerate() {
        for other in [1, dim.saturating_add(1), 0, 2, dim - 1] {
            let others = batches.iter().enumerate().map(|(at, &size)| if at == place { other } else { size });
            let is_few = product(others).is_some_and(|count| count <= MAX_ENTRIES.into());
            if other >= 0 && other != dim && is_few {
                changes.push((place, other));
            }
        }
    }
    let (place, other) = d.choose(&changes)?;
    batches[place] = other;
    Ok(())
}

fn output_rank(call: &Call) -> Option<usize> {
    let (data, indices) = (call.input(0)?, call.input(1)?);
    let length = usize::try_from(*indices.dims().last()?).ok()?;
    let batch_dims = usize::try_from(call.int(BATCH_DIMS).unwrap_or(0)).ok()?;
    (indices.rank() - 1 + data.rank()).checked_sub(batch_dims)?.checked_sub(length)
}

impl Rule {
    pub const GATHER_ND_DATA_RANK: Rule = Rule(&Text {
        id: "gather-nd-data-rank",
        sentence: "\"Tensor of rank r >= 1.\" A scalar has no part that an index could name.",
        source: "GatherND, all versions, input `data`",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const GATHER_ND_INDICES_RANK: Rule = Rule(&Text {
        id: "gather-nd-indices-rank",
        sentence: "\"Tensor of rank q >= 1.\" The last dim is the length of a tuple, and a scalar has none.",
        source: "GatherND, all versions, input `indices`",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const GATHER_ND_BATCH_RANGE: Rule = Rule(&Text {
        id: "gather-nd-batch-range",
        sentence: "\"b < min(q, r) is to be honored.\" As \"the number of batch dimensions\" b is not negative.",
        source: "GatherND-12 and later, salient point 3 and attribute `batch_dims`",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const GATHER_ND_BATCH_DIMS: Rule = Rule(&Text {
        id: "gather-nd-batch-dims",
        sentence: "\"The first `b` dimensions of the shape of `indices` tensor and `data` tensor must be equal.\"",
        source: "GatherND-12 and later, salient point 2",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const GATHER_ND_TUPLE_LENGTH: Rule = Rule(&Text {
        id: "gather-nd-tuple-length",
        sentence: "\"If `indices_shape[-1] > r-b` => error condition\"",
        source: "GatherND-12 and later, computation 1; in GatherND-11 `r`",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const GATHER_ND_EMPTY_TUPLE: Rule = Rule(&Text {
        id: "gather-nd-empty-tuple",
        sentence: "\"The `indices_shape[-1]` should have a value between 1 (inclusive) and rank `r-b` (inclusive)\"",
        source: "GatherND-12 and later, salient point 4; in GatherND-11 `r` (W27)",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const GATHER_ND_INDEX_RANGE: Rule = Rule(&Text {
        id: "gather-nd-index-range",
        sentence: "\"It is an error if any of the index values are out of bounds.\"",
        source: "GatherND, all versions, input `indices`",
        topics: &[Topic::Value, Topic::Dims],
    });
}

fn execute(call: &Call) -> Expectation {
    let (data, indices) = (call.data(), call.input(1).expect("a well-formed call has its indices"));
    let request = match Request::of(data, indices.dims(), call.int(BATCH_DIMS).unwrap_or(0)) {
        Ok(request) => request,
        Err(rule) => return Expectation::reject(rule),
    };
    let dims = [request.batches, request.tuples, request.part].concat();
    let values = call.integers(1).expect("indices are integers");
    let Some(places) = from_the_front(&values, request.sizes) else {
        return Expectation::reject_with_output(Rule::GATHER_ND_INDEX_RANGE, &dims);
    };
    let answer = (!call.is_vast_output(&dims)).then(|| vec![request.gather(&places, dims.clone())]);
    match answer {
        lenient if request.sizes.is_empty() => Expectation::Reject { rule: Rule::GATHER_ND_EMPTY_TUPLE, lenient },
        Some(outputs) => Expectation::Defined(outputs),
        None => Expectation::vast(&dims),
    }
}

/// The request of a call: one part of the data for each tuple of each batch.
struct Request<'a> {
    data: &'a Tensor,
    batches: &'a [i64],
    tuples: &'a [i64],
    /// The sizes that the indices of a tuple count along. The dims of a part follow them in the data.
    sizes: &'a [i64],
    part: &'a [i64],
}

impl<'a> Request<'a> {
    /// The request of a call with indices of these dims, or the rule that these dims break.
    fn of(data: &'a Tensor, indices: &'a [i64], batch_dims: i64) -> Result<Request<'a>, Rule> {
        let dims = data.dims();
        if dims.is_empty() {
            return Err(Rule::GATHER_ND_DATA_RANK);
        }
        let (length, before) = indices.split_last().ok_or(Rule::GATHER_ND_INDICES_RANK)?;
        // `batch_dims` is below the rank of the indices if it is at most the number of dims before the last.
        let batch_dims = usize::try_from(batch_dims).ok().filter(|&count| count <= before.len() && count < dims.len());
        let (batches, tuples) = before.split_at(batch_dims.ok_or(Rule::GATHER_ND_BATCH_RANGE)?);
        let (own, left) = dims.split_at(batches.len());
        if own != batches {
            return Err(Rule::GATHER_ND_BATCH_DIMS);
        }
        let length = usize::try_from(*length).ok();
        let (sizes, part) =
            length.and_then(|length| left.split_at_checked(length)).ok_or(Rule::GATHER_ND_TUPLE_LENGTH)?;
        Ok(Request { data, batches, tuples, sizes, part })
    }

    /// The parts that the tuples select, in these dims. `places` are the indices counted from the front.
    fn gather(&self, places: &[usize], dims: Vec<i64>) -> Tensor {
        if dims.contains(&0) {
            return nothing(self.data, dims);
        }
        let count = |dims: &[i64]| element_count(dims).expect("what has elements is in memory");
        let (batches, tuples, part) = (count(self.batches), count(self.tuples), count(self.part));
        let starts = (0..batches * tuples).map(|tuple| {
            let tuple_places = &places[tuple * self.sizes.len()..][..self.sizes.len()];
            let sizes = self.sizes.iter().map(|&size| usize::try_from(size).unwrap_or(0));
            tuple_places.iter().zip(sizes).fold(tuple / tuples, |start, (place, size)| start * size + place) * part
        });
        runs(self.data, dims, starts, part)
    }
}

#[cfg(test)]
mod tests {
    use super::super::indices::testing::{Of, answer, counting, inputs};
    use super::*;
    use crate::operator::{Attribute, AttributeValue};

    const MIN: i64 = i64::MIN;

    fn gather_nd(opset: u8, dims: &[i64], batch_dims: Option<i64>, indices: Of) -> Expectation {
        let attribute = |value| Attribute { name: BATCH_DIMS.to_owned(), value: AttributeValue::Int(value) };
        GATHER_ND.evaluate(opset, &batch_dims.map(attribute).into_iter().collect::<Vec<_>>(), &inputs(dims, indices), 1)
    }

    #[test]
    fn the_cells_are_those_of_the_document() {
        assert_eq!(GATHER_ND.cells(), 46);
    }

    #[test]
    fn a_tuple_names_a_part() {
        let rows: &[(&[i64], Of, Of)] = &[
            (&[2, 2], (&[2, 2], &[0, 0, 1, 1]), (&[2], &[0, 3])),
            (&[2, 2], (&[2, 1], &[1, 0]), (&[2, 2], &[2, 3, 0, 1])),
            (&[2, 2, 2], (&[2, 1, 2], &[0, 1, 1, 0]), (&[2, 1, 2], &[2, 3, 4, 5])),
            (&[3], (&[2, 1], &[2, 0]), (&[2], &[2, 0])),
            (&[3], (&[1], &[2]), (&[], &[2])),
            (&[3], (&[1], &[-1]), (&[], &[2])),
            (&[2, 3], (&[2], &[1, -3]), (&[], &[3])),
            (&[2, 3], (&[0, 2], &[]), (&[0], &[])),
            (&[2, 3], (&[0, 1], &[]), (&[0, 3], &[])),
            (&[0, 3], (&[0, 1], &[]), (&[0, 3], &[])),
            (&[2, 0], (&[1, 1], &[1]), (&[1, 0], &[])),
        ];
        for &(dims, indices, output) in rows {
            for (opset, batch_dims) in [(11, None), (12, Some(0)), (13, None)] {
                assert_eq!(gather_nd(opset, dims, batch_dims, indices), answer(output), "{dims:?} {indices:?}");
            }
        }
    }

    #[test]
    fn each_batch_has_tuples_of_its_own() {
        let rows: &[(&[i64], i64, Of, Of)] = &[
            (&[2, 3, 4], 1, (&[2, 1], &[0, 2]), (&[2, 4], &[0, 1, 2, 3, 20, 21, 22, 23])),
            (&[2, 2, 2], 1, (&[2, 1], &[1, 0]), (&[2, 2], &[2, 3, 4, 5])),
            (&[2, 3], 1, (&[2, 1], &[0, 2]), (&[2], &[0, 5])),
            (&[2, 2, 3], 2, (&[2, 2, 1], &[0, 2, 1, -1]), (&[2, 2], &[0, 5, 7, 11])),
            (&[2, 3], 1, (&[2, 2, 1], &[0, 2, 1, 1]), (&[2, 2], &[0, 2, 4, 4])),
            (&[0, 3], 1, (&[0, 2, 1], &[]), (&[0, 2], &[])),
            (&[2, 3], 1, (&[2, 0, 1], &[]), (&[2, 0], &[])),
        ];
        for &(dims, batch_dims, indices, output) in rows {
            assert_eq!(gather_nd(13, dims, Some(batch_dims), indices), answer(output), "{dims:?} {indices:?}");
        }
    }

    #[test]
    fn what_is_refused() {
        let rows: &[(&[i64], Option<i64>, Of, Rule)] = &[
            (&[3], None, (&[1], &[3]), Rule::GATHER_ND_INDEX_RANGE),
            (&[3], None, (&[1], &[-4]), Rule::GATHER_ND_INDEX_RANGE),
            (&[3], None, (&[2, 1], &[0, MIN]), Rule::GATHER_ND_INDEX_RANGE),
            (&[3], None, (&[1], &[1 << 32]), Rule::GATHER_ND_INDEX_RANGE),
            (&[2, 0], None, (&[1, 1], &[2]), Rule::GATHER_ND_INDEX_RANGE),
            (&[0, 3], None, (&[1, 1], &[0]), Rule::GATHER_ND_INDEX_RANGE),
            (&[2, 3], Some(1), (&[2, 1], &[0, 3]), Rule::GATHER_ND_INDEX_RANGE),
            (&[2, 3], None, (&[1, 3], &[0, 0, 0]), Rule::GATHER_ND_TUPLE_LENGTH),
            (&[3], None, (&[1, 2], &[0, 0]), Rule::GATHER_ND_TUPLE_LENGTH),
            (&[2, 3], Some(1), (&[2, 2], &[0, 0, 1, 1]), Rule::GATHER_ND_TUPLE_LENGTH),
            (&[], None, (&[1], &[0]), Rule::GATHER_ND_DATA_RANK),
            (&[3], None, (&[], &[0]), Rule::GATHER_ND_INDICES_RANK),
            (&[2, 3], Some(1), (&[3, 1], &[0, 1, 2]), Rule::GATHER_ND_BATCH_DIMS),
            (&[1, 3], Some(1), (&[2, 1], &[0, 0]), Rule::GATHER_ND_BATCH_DIMS),
            (&[2, 3], Some(-1), (&[1, 1], &[0]), Rule::GATHER_ND_BATCH_RANGE),
            (&[2, 3], Some(2), (&[2, 3], &[0, 1, 0, 0, 0, 0]), Rule::GATHER_ND_BATCH_RANGE),
            (&[2, 3], Some(1), (&[1], &[0]), Rule::GATHER_ND_BATCH_RANGE),
        ];
        for &(dims, batch_dims, indices, rule) in rows {
            let found = gather_nd(13, dims, batch_dims, indices);
            assert_eq!(found, Expectation::reject(rule), "{dims:?} {batch_dims:?} {indices:?}");
        }
        assert_eq!(gather_nd(11, &[2, 3], Some(0), (&[1, 1], &[0])).rule(), Some(Rule::UNDECLARED_ATTRIBUTE));
    }

    #[test]
    fn a_tuple_without_indices_may_name_all_of_its_batch() {
        let lenient = |dims, batch_dims, indices| match gather_nd(13, dims, batch_dims, indices) {
            Expectation::Reject { rule: Rule::GATHER_ND_EMPTY_TUPLE, lenient } => lenient,
            other => panic!("{other:?}"),
        };
        let (twice, all) = (counting(&[2, 3]), counting(&[3]));
        let twice = Tensor::assembled(ElementType::Int64, vec![2, 2, 3], (0..12).map(|place| (&twice, place % 6)));
        assert_eq!(lenient(&[2, 3], None, (&[2, 0], &[])), Some(vec![twice.unwrap()]));
        assert_eq!(lenient(&[3], None, (&[0], &[])), Some(vec![all]));
        assert_eq!(lenient(&[2, 3], Some(1), (&[2, 0], &[])), Some(vec![counting(&[2, 3])]));
        assert_eq!(lenient(&[3], None, (&[1 << 40, 0], &[])), None);
    }
}
