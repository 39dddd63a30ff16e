//! The inputs of a drawn Concat: inputs that fit one another, and among them inputs that break a rule.

use arbitrary::Result;

use super::{AXIS, DEFAULT, NEGATIVE_AXIS_SINCE, fits};
use crate::operator::draw::LARGE;
use crate::operator::{Aim, Drawing, MAX_DRAWN, Rule, axis, dims_of_rank};
use crate::tensor::product;

/// The dims of an input; `None` if it is left out.
type Operand = Option<Vec<i64>>;

pub(super) fn draw(d: &mut Drawing) -> Result<()> {
    fit_rank(d)?;
    let value = d.int(AXIS, axis_value)?.unwrap_or(DEFAULT);
    let axis = axis(value, d.dims.len()).unwrap_or(0);
    fit_sizes(d, axis)?;
    let mut operands: Vec<Operand> = vec![Some(d.dims.clone())];
    operands.extend(others(d, axis)?.into_iter().map(Some));
    misfit(d, axis, &mut operands)?;
    for operand in operands {
        match operand {
            Some(dims) => d.other_data(d.element_type, dims),
            None => d.skip(),
        }
    }
    Ok(())
}

/// Gives the data a rank with which the aim can be reached, if its own does not allow it. Data drawn for this call alone often gets
/// fewer elements, to leave room for the other inputs.
fn fit_rank(d: &mut Drawing) -> Result<()> {
    let rank = u8::try_from(d.dims.len()).unwrap_or(u8::MAX);
    if d.aim == Aim::Valid && d.is_free && d.ratio(1, 2)? {
        d.dims = dims_of_rank(d.u, rank, MAX_DRAWN / 8)?;
    }
    match d.aim {
        Aim::Break(Rule::CONCAT_SCALAR) => d.dims.clear(),
        Aim::Wild => {}
        _ => d.need_axis()?,
    }
    if d.breaks(Rule::CONCAT_OTHER_DIMS) || d.breaks(Rule::CONCAT_DIM_RANGE) {
        d.dims.resize(d.dims.len().max(2), 1);
    }
    d.widen()
}

fn axis_value(d: &mut Drawing) -> Result<Option<i64>> {
    let (aim, rank) = (d.aim, d.rank());
    let may_be_absent = d.since() == 1;
    let value = match aim {
        Aim::Break(Rule::CONCAT_NEGATIVE_AXIS) => d.between(-rank, -1)?,
        Aim::Break(Rule::CONCAT_SCALAR) | Aim::Wild if may_be_absent && d.ratio(1, 4)? => return Ok(None),
        Aim::Break(Rule::CONCAT_SCALAR) => d.choose(&[0, -1, 1])?,
        // The default axis is 1.
        Aim::Break(Rule::CONCAT_AXIS_RANGE) if may_be_absent && rank == 1 && d.ratio(1, 2)? => return Ok(None),
        Aim::Break(Rule::CONCAT_AXIS_RANGE) => d.axis_out_of_range(true)?,
        Aim::Wild if rank == 0 || d.ratio(1, 2)? => d.any_axis()?,
        Aim::Wild => d.axis_in_range(true)?,
        _ if may_be_absent && rank > 1 && d.ratio(1, 4)? => return Ok(None),
        _ => d.axis_in_range(d.since() >= NEGATIVE_AXIS_SINCE)?,
    };
    Ok(Some(value))
}

/// Gives the data sizes with which the rule can be broken, if its own do not allow it.
fn fit_sizes(d: &mut Drawing, axis: usize) -> Result<()> {
    match d.aim {
        // An input without elements breaks another rule. A size that is valid only beside a 0 becomes 1, as the 0 does.
        Aim::Break(Rule::CONCAT_OTHER_RANK | Rule::CONCAT_OTHER_DIMS) if d.dims.contains(&0) => {
            d.dims.iter_mut().filter(|dim| !(1..=MAX_DRAWN).contains(*dim)).for_each(|dim| *dim = 1);
        }
        // A runtime that takes a misfit for a fit would make as many elements as the large size asks for.
        _ if may_misfit(d.aim) => {
            d.dims.iter_mut().filter(|dim| **dim > MAX_DRAWN).for_each(|dim| *dim = 1);
        }
        Aim::Break(Rule::CONCAT_DIM_RANGE) => {
            d.dims.iter_mut().for_each(|dim| *dim = 1);
            d.dims[axis] = d.choose(&[1 << 62, i64::MAX, i64::MAX - 1])?;
            let zero = off_axis(d, axis)?;
            d.dims[zero] = 0;
        }
        _ => {}
    }
    Ok(())
}

/// Whether an input that does not fit may be drawn beside an input without elements.
fn may_misfit(aim: Aim) -> bool {
    matches!(aim, Aim::Break(Rule::CONCAT_EMPTY_MISFIT) | Aim::Wild)
}

/// The place of one of the dims other than that of the axis.
fn off_axis(d: &mut Drawing, axis: usize) -> Result<usize> {
    let places: Vec<usize> = (0..d.dims.len()).filter(|&place| place != axis).collect();
    d.choose(&places)
}

/// The dims of other inputs that fit the data.
fn others(d: &mut Drawing, axis: usize) -> Result<Vec<Vec<i64>>> {
    let Some(&own) = d.dims.get(axis) else { return scalars(d) };
    let elsewhere = d.dims.iter().enumerate().filter(|(place, _)| *place != axis).map(|(_, &dim)| dim);
    // How far the sizes along the axis may still grow.
    let mut room = match product(elsewhere).map(i64::try_from) {
        Some(Ok(0)) => i64::MAX - own,
        Some(Ok(elements)) => (MAX_DRAWN / elements - own).max(0),
        _ => 0,
    };
    let count = match d.between(0, 19)? {
        0..=1 => i64::from(d.breaks(Rule::MIXED_TYPES)),
        2..=9 => 1,
        10..=14 => 2,
        15..=18 => d.between(3, 7)?,
        _ => d.between(8, 40)?,
    };
    let mut others = Vec::new();
    for _ in 0..count {
        let may_be_large = room > LARGE[2] && !may_misfit(d.aim);
        let large = if may_be_large { d.choose(&LARGE)? } else { room.min(MAX_DRAWN) };
        let size = d.choose(&[1, 2, 0, 3, own, 5, 1, 8, 16, 31, large])?.min(room);
        room -= size;
        let mut dims = d.dims.clone();
        dims[axis] = size;
        others.push(dims);
    }
    if d.breaks(Rule::CONCAT_DIM_RANGE) {
        let mut dims = d.dims.clone();
        dims[axis] = d.choose(&[i64::MAX, 1 << 62])?;
        others.push(dims);
    }
    Ok(others)
}

fn scalars(d: &mut Drawing) -> Result<Vec<Vec<i64>>> {
    let least = i64::from(d.breaks(Rule::MIXED_TYPES));
    (0..d.between(least, 2)?).map(|_| Ok(vec![])).collect()
}

/// Adds inputs that break the rule to inputs that fit one another. In a wild call, adds any inputs.
fn misfit(d: &mut Drawing, axis: usize, operands: &mut Vec<Operand>) -> Result<()> {
    let dims = d.dims.clone();
    let with = |place: usize, size: i64| {
        let mut dims = dims.clone();
        dims[place] = size;
        dims
    };
    match d.aim {
        Aim::Break(Rule::CONCAT_SKIPPED_INPUT) => {
            if d.is_free && d.ratio(1, 8)? {
                operands.fill(None);
            }
            for _ in 0..d.between(1, 2)? {
                insert(d, operands, None, true)?;
            }
        }
        Aim::Break(Rule::CONCAT_OTHER_RANK) => {
            let shorter = dims[1..].to_vec();
            let longer = [dims.clone(), vec![1]].concat();
            let other = d.u.choose(&[shorter, longer, [vec![1], dims.clone()].concat(), vec![]])?.clone();
            insert(d, operands, Some(other), true)?;
        }
        Aim::Break(Rule::CONCAT_OTHER_DIMS) => {
            let place = off_axis(d, axis)?;
            let own = dims[place];
            let sizes: Vec<i64> = [own + 1, own - 1, 1, 2 * own].into_iter().filter(|&d| d > 0 && d != own).collect();
            let other = with(place, d.choose(&sizes)?);
            insert(d, operands, Some(other), true)?;
        }
        Aim::Break(Rule::CONCAT_EMPTY_MISFIT) => {
            let mut misfits = vec![vec![0, 2], vec![0], vec![2, 0], vec![0, 0, 0], [dims.clone(), vec![0]].concat()];
            for place in (0..dims.len()).filter(|&place| place != axis) {
                misfits.push(with(place, 0));
                let mut other = with(place, dims[place].saturating_add(1));
                other[axis] = 0;
                misfits.push(other);
            }
            misfits.retain(|other| other.contains(&0) && !fits(other, &dims, axis));
            let other = d.u.choose(&misfits)?.clone();
            // If no other input has elements, the others have to fit the first input.
            let may_be_first = operands.iter().flatten().any(|dims| !dims.contains(&0));
            insert(d, operands, Some(other), may_be_first)?;
        }
        Aim::Wild => {
            for _ in 0..d.between(0, 3)? {
                let other = wild_dims(d)?;
                insert(d, operands, other, true)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Inserts an input anywhere among the others, but not before data that is given.
fn insert(d: &mut Drawing, operands: &mut Vec<Operand>, operand: Operand, may_be_first: bool) -> Result<()> {
    let least = usize::from(!(d.is_free && may_be_first));
    let place = d.u.int_in_range(least..=operands.len())?;
    operands.insert(place, operand);
    Ok(())
}

/// The dims of an input that may fit the data or not; `None` leaves the input out.
fn wild_dims(d: &mut Drawing) -> Result<Operand> {
    let mut dims = d.dims.clone();
    match d.between(0, 9)? {
        0 => dims.push(1),
        1 => drop(dims.pop()),
        2 => dims = vec![0],
        3 => dims.clear(),
        4 => return Ok(None),
        _ if !dims.is_empty() => {
            let place = d.u.choose_index(dims.len())?;
            dims[place] = d.choose(&[0, 1, 2, 3, 5])?;
        }
        _ => {}
    }
    let is_small = product(dims.iter().copied()).is_some_and(|count| count <= MAX_DRAWN.into());
    Ok(Some(if is_small { dims } else { vec![0] }))
}
