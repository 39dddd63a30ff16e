//! How a drawn Split divides an axis.

use arbitrary::Result;

use super::PART_COUNT_SINCE;
use crate::operator::{Aim, Drawing, MAX_DRAWN, Rule, boundary_sizes};
use crate::tensor::product;

/// The request of a call: parts of these lengths, this many parts, or neither; and the number of outputs.
pub(super) struct Division {
    pub lengths: Option<Vec<i64>>,
    /// `num_outputs`, which only the newest version has.
    pub count: Option<i64>,
    pub outputs: usize,
}

impl Division {
    fn of(lengths: Vec<i64>) -> Division {
        let outputs = lengths.len();
        Division { lengths: Some(lengths), count: None, outputs }
    }

    fn unsaid(outputs: i64) -> Division {
        Division { lengths: None, count: None, outputs: usize::try_from(outputs).unwrap_or(1) }
    }

    fn counted(count: i64) -> Division {
        Division { count: Some(count), ..Division::unsaid(count) }
    }
}

/// Gives the data a size along the axis with which the rule can be broken, if its own does not allow it.
pub(super) fn fit_size(d: &mut Drawing, axis: usize) -> Result<()> {
    let (least, most) = match d.aim {
        Aim::Break(Rule::SPLIT_UNEVEN) => (1, MAX_DRAWN),
        // Small enough for so many parts that not only the last is smaller.
        Aim::Break(Rule::SPLIT_UNEQUAL_PARTS) => (1, 32),
        // Up to here, every whole number is exact in float16.
        Aim::Break(Rule::SPLIT_FLOAT_LENGTHS) => (0, 2048),
        _ => return Ok(()),
    };
    if !(least..=most).contains(&d.dims[axis]) {
        d.dims[axis] = d.choose(&[5, 1, 2, 3, 7, 12])?;
        if product(d.dims.iter().copied()).is_none_or(|count| count > MAX_DRAWN.into()) {
            (0..d.dims.len()).filter(|&place| place != axis).for_each(|place| d.dims[place] = 1);
        }
    }
    Ok(())
}

/// A division of an axis of this size.
pub(super) fn draw(d: &mut Drawing, size: i64) -> Result<Division> {
    if d.is_fixed() {
        return match d.length {
            Some(length) => cuts(d, size, length).map(Division::of),
            None => Ok(Division::unsaid(1)),
        };
    }
    let aim = d.aim;
    match aim {
        Aim::Wild => wild(d, size),
        Aim::Break(Rule::SPLIT_NEGATIVE_LENGTH) => negative(d, size).map(Division::of),
        Aim::Break(Rule::SPLIT_LENGTH_SUM) => missummed(d, size).map(Division::of),
        Aim::Break(Rule::SPLIT_OUTPUT_COUNT) => miscounted(d, size),
        Aim::Break(Rule::SPLIT_LENGTHS_RANK | Rule::SPLIT_FLOAT_LENGTHS | Rule::PARAMETER_TYPE) => {
            lengths(d, size).map(Division::of)
        }
        Aim::Break(Rule::SPLIT_UNEVEN) => {
            let counts: Vec<i64> = (2..=17).filter(|count| size % count != 0).collect();
            d.choose(&counts).map(Division::unsaid)
        }
        Aim::Break(Rule::SPLIT_UNEQUAL_PARTS) => {
            let counts: Vec<i64> = (2..=size + 6).filter(|&count| !has_smaller_last_only(size, count)).collect();
            d.choose(&counts).map(Division::counted)
        }
        Aim::Break(Rule::SPLIT_PART_COUNT) => {
            let count = d.choose(&[0, -1, -2, i64::MIN, -(1 << 31), -(1 << 32), 1 - (1 << 32), 2 - (1 << 32)])?;
            Ok(Division { outputs: d.choose(&[1, 2, 3])?, ..Division::counted(count) })
        }
        Aim::Break(Rule::SPLIT_NEITHER) => {
            let count = if d.ratio(3, 4)? { valid_count(d, size)? } else { d.between(1, 7)? };
            Ok(Division::unsaid(count))
        }
        Aim::Break(Rule::SPLIT_LENGTHS_AND_COUNT) => {
            let lengths = lengths(d, size)?;
            let own = i64::try_from(lengths.len()).unwrap_or(i64::MAX);
            Ok(Division { count: Some(d.choose(&[own, own, own + 1, 1, 0])?), ..Division::of(lengths) })
        }
        _ if d.ratio(2, 3)? => lengths(d, size).map(Division::of),
        _ if d.since() < PART_COUNT_SINCE => valid_count(d, size).map(Division::unsaid),
        _ => valid_count(d, size).map(Division::counted),
    }
}

/// Whether this many parts are equal except for the last, which may be smaller.
fn has_smaller_last_only(size: i64, count: i64) -> bool {
    let chunk = size / count + i64::from(size % count != 0);
    i128::from(count - 1) * i128::from(chunk) <= i128::from(size)
}

/// A number of parts that is valid without lengths.
fn valid_count(d: &mut Drawing, size: i64) -> Result<i64> {
    let most = if d.ratio(1, 8)? { 128 } else { 12 };
    let must_be_even = d.since() < PART_COUNT_SINCE;
    let is_valid = |count: &i64| if must_be_even { size % count == 0 } else { has_smaller_last_only(size, *count) };
    let counts: Vec<i64> = (1..=most).filter(is_valid).collect();
    d.choose(&counts)
}

/// Valid lengths: often few, seldom many. Now and then all are 1, or some are 0.
fn lengths(d: &mut Drawing, size: i64) -> Result<Vec<i64>> {
    let length = match d.between(0, 15)? {
        0..=1 => 1,
        2..=9 => d.between(2, 4)?,
        10..=13 => d.between(5, 12)?,
        14 => d.between(13, 64)?,
        _ if (1..=64).contains(&size) => return Ok(vec![1; usize::try_from(size).unwrap_or(1)]),
        _ => 2,
    };
    cuts(d, size, usize::try_from(length).unwrap_or(1))
}

/// This many lengths that add up to the size.
fn cuts(d: &mut Drawing, size: i64, length: usize) -> Result<Vec<i64>> {
    let mut cuts = Vec::new();
    for _ in 1..length {
        let cut = match d.between(0, 5)? {
            0 => 0,
            1 => size,
            _ => d.between(0, size)?,
        };
        cuts.push(cut);
    }
    cuts.sort_unstable();
    if length > 0 {
        cuts.push(size);
    }
    let mut last = 0;
    Ok(cuts.into_iter().map(|cut| cut - std::mem::replace(&mut last, cut)).collect())
}

/// Lengths that add up to the size because one is negative.
fn negative(d: &mut Drawing, size: i64) -> Result<Vec<i64>> {
    let mut lengths = lengths(d, size)?;
    if d.ratio(1, 8)? {
        lengths.extend([i64::MAX, i64::MIN, 1]);
        return Ok(lengths);
    }
    let amount = d.choose(&[1, 2, size.max(1), 1 << 31, 1 << 32, 1 << 62])?;
    let place = d.u.choose_index(lengths.len())?;
    lengths[place] = lengths[place].saturating_add(amount);
    let place = d.u.int_in_range(0..=lengths.len())?;
    lengths.insert(place, -amount);
    Ok(lengths)
}

/// Lengths that do not add up to the size, or do so only modulo 2^32 or 2^64.
fn missummed(d: &mut Drawing, size: i64) -> Result<Vec<i64>> {
    let mut lengths = lengths(d, size)?;
    let place = d.u.choose_index(lengths.len())?;
    let own = lengths[place];
    match d.between(0, 6)? {
        0 => lengths = vec![i64::MAX, i64::MAX, size.saturating_add(2)],
        1 => lengths.fill(0),
        2 if own > 0 => lengths[place] = own - 1,
        3 => lengths[place] = own.saturating_add(1 << 32),
        4 => lengths.push(size),
        5 => lengths[place] = i64::MAX,
        _ => lengths[place] = own.saturating_add(1),
    }
    if lengths.iter().copied().map(i128::from).sum::<i128>() == i128::from(size) {
        lengths.push(1);
    }
    Ok(lengths)
}

/// A division whose number of outputs is not its number of parts.
fn miscounted(d: &mut Drawing, size: i64) -> Result<Division> {
    if d.since() >= PART_COUNT_SINCE && d.ratio(1, 2)? {
        let count = d.choose(&[2, 1, 3, 4, 5, (1 << 32) + 1, (1 << 32) + 2, 1 << 31, i64::MAX])?;
        let outputs: Vec<i64> = (1..=6).filter(|&outputs| outputs != count).collect();
        return Ok(Division { count: Some(count), ..Division::unsaid(d.choose(&outputs)?) });
    }
    let division = Division::of(lengths(d, size)?);
    let own = division.outputs;
    let outputs: Vec<usize> = [own + 1, own - 1, own + 2, 1].into_iter().filter(|&n| n > 0 && n != own).collect();
    Ok(Division { outputs: d.choose(&outputs)?, ..division })
}

fn wild(d: &mut Drawing, size: i64) -> Result<Division> {
    let mut pool = boundary_sizes();
    pool.extend([size, size, size / 2, size - size / 2, size.saturating_add(1)]);
    let count = if d.ratio(1, 2)? { Some(d.choose(&pool)?) } else { None };
    let lengths = if d.ratio(1, 2)? {
        let length = d.between(0, 5)?;
        Some((0..length).map(|_| d.choose(&pool)).collect::<Result<Vec<i64>>>()?)
    } else {
        None
    };
    let like_lengths = lengths.as_ref().map_or(1, Vec::len);
    let outputs = if d.ratio(1, 2)? { like_lengths } else { d.choose(&[1, 2, 3, 5])? };
    Ok(Division { lengths, count, outputs })
}
