//! Indices into data: the second input of `Gather`, `GatherElements` and `GatherND`.

use std::ops::RangeInclusive;

use arbitrary::Result;

use super::draw::MAX_DRAWN;
use super::{Aim, Drawing, Rule, Types, axis};
use crate::tensor::{ElementType, Tensor, element_count};

/// The most entries that drawn indices have, if so few are possible.
pub(super) const MAX_ENTRIES: i64 = 200;

/// Each index counted from the front, or `None` if one is not in [-s, s-1]. The sizes s take turns: the first index counts along
/// the first size, and after the last size the first follows again.
pub(super) fn from_the_front(indices: &[i64], sizes: &[i64]) -> Option<Vec<usize>> {
    let place = |(&index, &size): (&i64, &i64)| axis(index, usize::try_from(size).ok()?);
    indices.iter().zip(sizes.iter().cycle()).map(place).collect()
}

/// A tensor of runs of elements. Each run is `length` elements that are adjacent in the data, from one of the `starts` on.
///
/// # Panics
/// If the runs do not have as many elements as the dims hold.
pub(super) fn runs(data: &Tensor, dims: Vec<i64>, starts: impl Iterator<Item = usize>, length: usize) -> Tensor {
    let elements = starts.flat_map(|start| (start..start + length).map(|place| (data, place)));
    Tensor::assembled(data.element_type(), dims, elements).expect("the runs hold as many elements as the dims")
}

/// A tensor without elements, of the type of the data.
///
/// # Panics
/// If no dim is 0.
pub(super) fn nothing(data: &Tensor, dims: Vec<i64>) -> Tensor {
    Tensor::assembled(data.element_type(), dims, []).expect("one of the dims is 0")
}

/// Gives zero-size data elements, but not too many. A size that is valid only beside a 0 becomes 1, as the 0 does.
pub(super) fn fill(dims: &mut [i64]) {
    dims.iter_mut().filter(|dim| !(1..=MAX_DRAWN).contains(*dim)).for_each(|dim| *dim = 1);
}

/// Dims of a rank up to `most_rank`, whose number of entries is in `entries`. If that may be 0, one in sixteen has none.
pub(super) fn draw_dims(d: &mut Drawing, most_rank: usize, entries: &RangeInclusive<i64>) -> Result<Vec<i64>> {
    let (least, most) = (*entries.start(), *entries.end());
    let is_empty = most_rank > 0 && least == 0 && (most == 0 || d.ratio(1, 16)?);
    let rank = d.choose(&[1, 0, 1, 2, 1, 2, 0, 2, 3, 1, 3, 4, 6, 11])?.min(most_rank).max(usize::from(is_empty));
    let mut dims = Vec::with_capacity(rank);
    let mut count = 1;
    for _ in 0..rank {
        let size = d.choose(&[1, 2, 3, 4, 2, 5, 7, 8, 1, 16, 17, 33, 64, 129])?;
        let size = if count * size > most { 1 } else { size };
        count *= size;
        dims.push(size);
    }
    if is_empty {
        let place = d.u.choose_index(rank)?;
        dims[place] = 0;
    }
    Ok(dims)
}

/// How the values of indices follow one another. Indices that are to be out of bounds are an exception.
#[derive(Clone, Copy)]
enum Course {
    Any,
    Up,
    Down,
    Same,
}

/// The end of an axis from which indices count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Front,
    Back,
    Either,
}

/// Indices of these dims, along sizes that take turns. If the aim is to break the rule on bounds, some are out of bounds. Along a
/// size of 0, all are.
pub(super) fn draw_indices(
    d: &mut Drawing,
    dims: Vec<i64>,
    sizes: &[i64],
    from: End,
    bounds_rule: Rule,
) -> Result<Tensor> {
    let out_of_bounds = match d.aim {
        Aim::Break(rule) if rule == bounds_rule => d.choose(&[1, 1, 2, 9])?,
        Aim::Wild => d.choose(&[0, 0, 1, 2])?,
        _ => 0,
    };
    // No int32 is out of bounds along a size beyond the range of an int32.
    let has_such_int32 = out_of_bounds == 0 || sizes.iter().all(|&size| size <= i64::from(i32::MAX));
    let may_be_int32 = has_such_int32 && d.version.inputs.iter().any(|spec| spec.types == Types::Index);
    let is_int32 = may_be_int32 && d.ratio(1, 3)?;
    let count = element_count(&dims).unwrap_or(0);
    let bounds: Vec<_> = sizes.iter().map(|&size| bounds(size, from, is_int32)).collect();
    let mut indices = values(d, count, &bounds)?;
    for _ in 0..out_of_bounds.min(count) {
        let place = d.u.choose_index(count)?;
        indices[place] = d.choose(&beyond(sizes[place % sizes.len()], is_int32))?;
    }
    let element_type = if is_int32 { ElementType::Int32 } else { ElementType::Int64 };
    let bits = indices.into_iter().map(|index| u128::from(index.cast_unsigned()));
    Ok(Tensor::from_element_bits(element_type, dims, bits).expect("there are as many indices as the dims hold"))
}

/// `count` values, within bounds that take turns.
fn values(d: &mut Drawing, count: usize, bounds: &[RangeInclusive<i64>]) -> Result<Vec<i64>> {
    let course = d.choose(&[Course::Any, Course::Up, Course::Any, Course::Down, Course::Any, Course::Same])?;
    let mut indices: Vec<i64> = Vec::with_capacity(count);
    for (place, range) in (0..count).zip(bounds.iter().cycle()) {
        let previous = place.checked_sub(bounds.len()).map(|before| indices[before]);
        indices.push(match (course, previous) {
            (Course::Any, _) | (_, None) => within(d, range)?,
            (Course::Up, Some(index)) if index >= *range.end() => *range.start(),
            (Course::Up, Some(index)) => index + 1,
            (Course::Down, Some(index)) if index <= *range.start() => *range.end(),
            (Course::Down, Some(index)) => index - 1,
            (Course::Same, Some(index)) => index,
        });
    }
    Ok(indices)
}

/// The valid indices along a size that fit in the type.
fn bounds(size: i64, from: End, is_int32: bool) -> RangeInclusive<i64> {
    let least = if from == End::Front { 0 } else { -size };
    let most = if from == End::Back { -1 } else { size - 1 };
    if is_int32 { least.max(i64::from(i32::MIN))..=most.min(i64::from(i32::MAX)) } else { least..=most }
}

/// An index within bounds, often at an end of them or beside 0. If there is none, 0.
fn within(d: &mut Drawing, bounds: &RangeInclusive<i64>) -> Result<i64> {
    let (least, most) = (*bounds.start(), *bounds.end());
    Ok(match d.between(0, 7)? {
        _ if bounds.is_empty() => 0,
        0 => most,
        1 => least,
        2 => 0.clamp(least, most),
        3 => (-1).clamp(least, most),
        _ => d.between(least, most)?,
    })
}

/// Indices out of bounds: just past them, and around the ends of 8, 16, 32 and 64 bits, where a truncated one would be in bounds.
fn beyond(size: i64, is_int32: bool) -> Vec<i64> {
    let size = i128::from(size);
    let mut found = vec![size, -size - 1, size + 1, -size - 2, 2 * size, -2 * size - 1];
    for bit in [8, 16, 31, 32, 33, 62, 63] {
        for near in [-1, 0, 1, size - 1] {
            found.extend([(1 << bit) + near, -(1 << bit) + near]);
        }
    }
    let fits = |index: &i64| !is_int32 || i32::try_from(*index).is_ok();
    let is_beyond = |index: &i64| !(-size..size).contains(&i128::from(*index));
    found
        .into_iter()
        .filter_map(|index| i64::try_from(index).ok())
        .filter(|index| fits(index) && is_beyond(index))
        .collect()
}

#[cfg(test)]
pub(super) mod testing {
    use super::super::Expectation;
    use super::*;

    /// An int64 tensor by its dims and its elements.
    pub(in crate::operator) type Of<'a> = (&'a [i64], &'a [i64]);

    pub(in crate::operator) fn tensor((dims, values): Of) -> Tensor {
        Tensor::vector(values).with_dims(dims.to_vec()).unwrap()
    }

    /// Data whose elements count up from 0, so that each element tells its place.
    pub(in crate::operator) fn counting(dims: &[i64]) -> Tensor {
        let count = i64::try_from(element_count(dims).unwrap()).unwrap();
        tensor((dims, &(0..count).collect::<Vec<_>>()))
    }

    /// Data that counts up, and indices, as the inputs of a call.
    pub(in crate::operator) fn inputs(dims: &[i64], indices: Of) -> [Option<Tensor>; 2] {
        [Some(counting(dims)), Some(tensor(indices))]
    }

    pub(in crate::operator) fn answer(output: Of) -> Expectation {
        Expectation::Defined(vec![tensor(output)])
    }
}
