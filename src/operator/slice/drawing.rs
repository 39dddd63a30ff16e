//! How Slice draws calls.

use arbitrary::Result;

use super::{AXES, Cut, ENDS, INPUTS_SINCE, Lists, NEGATIVE_AXIS_SINCE, STARTS};
use crate::operator::{Aim, Drawing, Rule};
use crate::tensor::{ElementType, Tensor};

const MIN32: i64 = i32::MIN as i64;
const MAX32: i64 = i32::MAX as i64;

/// Valid steps of every kind.
const STEPS: [i64; 20] = [
    1,
    1,
    -1,
    -1,
    2,
    -2,
    3,
    -3,
    5,
    -7,
    MAX32,
    MIN32,
    1 << 31,
    1 << 32,
    -(1 << 32),
    (1 << 32) + 1,
    1 << 62,
    i64::MAX,
    i64::MIN,
    i64::MIN + 1,
];

pub(super) fn draw(d: &mut Drawing) -> Result<()> {
    fit_dims(d)?;
    // The lists may be int32 if an int32 can count every element.
    let is_narrow = d.since() >= INPUTS_SINCE && d.dims.iter().all(|&dim| dim <= MAX32) && d.ratio(1, 4)?;
    let mut lists = lists(d, is_narrow)?;
    bend(d, &mut lists)?;
    if d.since() < INPUTS_SINCE {
        let Lists { starts, ends, axes, .. } = lists;
        d.ints(STARTS, |_| Ok(Some(starts)))?;
        d.ints(ENDS, |_| Ok(Some(ends)))?;
        d.ints(AXES, |_| Ok(axes))?;
        d.data();
        return Ok(());
    }
    d.data();
    inputs(d, lists, is_narrow)
}

/// Adds the lists as inputs.
fn inputs(d: &mut Drawing, lists: Lists, is_narrow: bool) -> Result<()> {
    let inputs = [Some(lists.starts), Some(lists.ends), lists.axes, lists.steps];
    let present = inputs.iter().flatten().count();
    let bent = if d.breaks(Rule::SLICE_OPERAND_RANK) { Some(d.u.choose_index(present)?) } else { None };
    let mut added = 0;
    for input in inputs {
        let Some(list) = input else {
            d.skip();
            continue;
        };
        let vector = if is_narrow { narrow(&list) } else { Tensor::vector(&list) };
        let vector = if bent == Some(added) { d.of_other_rank(&vector)? } else { vector };
        d.values(vector);
        added += 1;
    }
    d.trim()
}

fn narrow(list: &[i64]) -> Tensor {
    let dims = vec![i64::try_from(list.len()).unwrap_or(i64::MAX)];
    let bits = list.iter().map(|&value| i128::from(value.clamp(MIN32, MAX32)).cast_unsigned());
    Tensor::from_element_bits(ElementType::Int32, dims, bits).expect("there are as many as the dims say")
}

/// Gives the call data with which the rule can be broken, or data that can be sliced.
fn fit_dims(d: &mut Drawing) -> Result<()> {
    match d.aim {
        Aim::Break(Rule::SLICE_SCALAR) => d.dims.clear(),
        Aim::Break(Rule::SLICE_AXIS_RANGE | Rule::SLICE_EXCESS_STARTS) | Aim::Wild => {}
        Aim::Break(Rule::SLICE_BACKWARD_MAX | Rule::SLICE_START_BEFORE_FRONT) => {
            d.need_axis()?;
            if d.dims.iter().all(|&dim| dim == 0) {
                d.dims[0] = d.choose(&[3, 1, 2, 5])?;
            }
        }
        _ => d.need_axis()?,
    }
    d.widen()
}

/// Lists for distinct axes in range. The call is valid, except for what the aim asks of the number of entries.
fn lists(d: &mut Drawing, is_narrow: bool) -> Result<Lists> {
    let rank = d.dims.len();
    let has_steps = match d.aim {
        _ if d.since() < INPUTS_SINCE => false,
        Aim::Break(Rule::SLICE_STEP_ZERO | Rule::SLICE_BACKWARD_MAX | Rule::SLICE_START_BEFORE_FRONT) => true,
        _ => d.ratio(2, 3)?,
    };
    let places = if has_axes(d)? { Some(places(d)?) } else { None };
    let count = match (&places, d.aim) {
        (Some(places), _) => places.len(),
        (_, Aim::Break(Rule::SLICE_EXCESS_STARTS)) => rank + usize::from(d.choose(&[1_u8, 1, 2, 5])?),
        (_, Aim::Break(Rule::SLICE_FEWER_STARTS)) => d.u.int_in_range(0..=rank - 1)?,
        (_, Aim::Break(Rule::SLICE_EMPTY_AXES)) => d.u.int_in_range(1..=rank)?,
        (_, Aim::Wild) => d.u.int_in_range(0..=rank + 1)?,
        _ if d.since() < INPUTS_SINCE => d.u.int_in_range(0..=rank)?,
        _ => rank,
    };
    let mut lists = Lists { steps: has_steps.then(Vec::new), ..Lists::default() };
    for entry in 0..count {
        let place = places.as_ref().map_or(entry, |places| places[entry]);
        let size = d.dims.get(place).copied().unwrap_or(3);
        let cut = cut(d, size, has_steps, is_narrow)?;
        push(&mut lists, cut);
    }
    let mut axes = Vec::with_capacity(count);
    for place in places.iter().flatten() {
        let place = i64::try_from(*place).unwrap_or(0);
        let is_negative = d.since() >= NEGATIVE_AXIS_SINCE && d.ratio(1, 2)?;
        axes.push(if is_negative { place - d.rank() } else { place });
    }
    lists.axes = places.map(|_| axes);
    Ok(lists)
}

fn push(lists: &mut Lists, cut: Cut) {
    lists.starts.push(cut.start);
    lists.ends.push(cut.end);
    lists.steps.iter_mut().for_each(|steps| steps.push(cut.step));
}

fn has_axes(d: &mut Drawing) -> Result<bool> {
    match d.aim {
        Aim::Break(Rule::SLICE_AXIS_RANGE | Rule::SLICE_NEGATIVE_AXIS | Rule::SLICE_REPEATED_AXIS) => Ok(true),
        Aim::Break(Rule::SLICE_EXCESS_STARTS | Rule::SLICE_FEWER_STARTS | Rule::SLICE_EMPTY_AXES) => Ok(false),
        _ if d.length.is_some_and(|length| length < d.dims.len()) => Ok(true),
        _ => d.ratio(2, 3),
    }
}

/// Some of the axes in any order, none of them twice.
fn places(d: &mut Drawing) -> Result<Vec<usize>> {
    let rank = d.dims.len();
    let count = match (d.aim, d.length) {
        (Aim::Break(Rule::SLICE_BACKWARD_MAX | Rule::SLICE_START_BEFORE_FRONT), _) => rank,
        (Aim::Break(Rule::SLICE_NEGATIVE_AXIS | Rule::SLICE_REPEATED_AXIS | Rule::SLICE_STEP_ZERO), _) => {
            d.u.int_in_range(1..=rank)?
        }
        (Aim::Valid, Some(length)) if length <= rank => length,
        _ => d.u.int_in_range(0..=rank)?,
    };
    let mut left: Vec<usize> = (0..rank).collect();
    let mut places = Vec::with_capacity(count);
    for _ in 0..count {
        let at = d.u.choose_index(left.len())?;
        places.push(left.swap_remove(at));
    }
    Ok(places)
}

/// Bounds and a step whose meaning the version defines, unless the call is wild.
fn cut(d: &mut Drawing, size: i64, has_step: bool, is_narrow: bool) -> Result<Cut> {
    let step = match has_step {
        false => 1,
        true if d.is_wild() && d.ratio(1, 16)? => 0,
        true if d.ratio(1, 16)? => size.max(1),
        true => d.choose(&STEPS)?,
    };
    let (start, end) = if d.ratio(4, 5)? { within(d, size, step > 0)? } else { (bound(d, size)?, bound(d, size)?) };
    let fit = |value: i64| if is_narrow { value.clamp(MIN32, MAX32) } else { value };
    let cut = Cut { start: fit(start), end: fit(end), step: fit(step) };
    let is_open = step != 0 && cut.open(d.since(), size).is_some();
    Ok(if is_open && !d.is_wild() { Cut { step: 1, ..cut } } else { cut })
}

/// Bounds with elements between them, counted from the front, counted from the back, or past the ends.
fn within(d: &mut Drawing, size: i64, is_forward: bool) -> Result<(i64, i64)> {
    let first = if d.ratio(1, 2)? { 0 } else { d.between(0, size)? };
    let last = if d.ratio(1, 2)? { size } else { d.between(first, size)? };
    let (start, end) = if is_forward { (first, last) } else { (last - 1, first - 1) };
    let start = if start < size && d.ratio(1, 3)? { start - size } else { start };
    let end = match end {
        // Before the first element: -1 would be the last one.
        -1 => d.choose(&[i64::MIN, MIN32, size.saturating_neg().saturating_sub(1)])?,
        _ if end == size => d.choose(&[size, i64::MAX, MAX32.max(size), size.saturating_add(1)])?,
        _ if d.ratio(1, 3)? => end - size,
        _ => end,
    };
    Ok((start, end))
}

/// Any bound.
fn bound(d: &mut Drawing, size: i64) -> Result<i64> {
    if d.ratio(1, 2)? {
        return d.between(size.saturating_neg().saturating_sub(2), size.saturating_add(2));
    }
    let far = [
        0,
        -1,
        1,
        size,
        -size,
        i64::MAX,
        i64::MIN,
        i64::MAX - 1,
        i64::MIN + 1,
        MAX32,
        MIN32,
        1 << 31,
        MIN32 - 1,
        1 << 32,
        -(1 << 32),
        (1 << 32) + 1,
        (1 << 53) + 1,
        -size.saturating_add(1),
        size.saturating_sub(1),
    ];
    d.choose(&far)
}

/// Breaks a rule on the values of the lists, or on how they fit each other.
fn bend(d: &mut Drawing, lists: &mut Lists) -> Result<()> {
    let rank = d.rank();
    match d.aim {
        Aim::Break(Rule::SLICE_LENGTHS) => bend_lengths(d, lists)?,
        Aim::Break(Rule::SLICE_EMPTY_AXES) => lists.axes = Some(vec![]),
        Aim::Break(Rule::SLICE_STEP_ZERO) => {
            let steps = lists.steps.get_or_insert_default();
            let at = d.u.choose_index(steps.len())?;
            steps[at] = 0;
        }
        Aim::Break(Rule::SLICE_AXIS_RANGE) => {
            let (out, cut) = (d.axis_out_of_range(true)?, cut(d, 3, lists.steps.is_some(), true)?);
            lists.axes.get_or_insert_default().push(out);
            push(lists, cut);
        }
        Aim::Break(Rule::SLICE_NEGATIVE_AXIS) => {
            let axes = lists.axes.get_or_insert_default();
            let at = d.u.choose_index(axes.len())?;
            axes[at] -= rank;
        }
        Aim::Break(Rule::SLICE_REPEATED_AXIS) => {
            let axes = lists.axes.get_or_insert_default();
            let again = *d.u.choose(axes)?;
            let is_turned = d.since() >= NEGATIVE_AXIS_SINCE && d.ratio(1, 2)?;
            axes.push(if is_turned { again + if again < 0 { rank } else { -rank } } else { again });
            let cut = cut(d, 3, lists.steps.is_some(), true)?;
            push(lists, cut);
        }
        Aim::Break(rule @ (Rule::SLICE_BACKWARD_MAX | Rule::SLICE_START_BEFORE_FRONT)) => leave_open(d, lists, rule)?,
        Aim::Wild => {
            for axis in lists.axes.iter_mut().flatten() {
                *axis = if d.ratio(1, 8)? { d.any_axis()? } else { *axis };
            }
            if d.ratio(1, 8)? {
                bend_lengths(d, lists)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Makes one of the lists longer or shorter, but does not make the axes empty.
fn bend_lengths(d: &mut Drawing, lists: &mut Lists) -> Result<()> {
    let Lists { starts, ends, axes, steps } = lists;
    let mut present: Vec<&mut Vec<i64>> =
        [Some(starts), Some(ends), axes.as_mut(), steps.as_mut()].into_iter().flatten().collect();
    let at = d.u.choose_index(present.len())?;
    let list = &mut *present[at];
    if list.len() > 1 && d.ratio(1, 2)? {
        list.pop();
    } else {
        list.push(1);
    }
    Ok(())
}

/// Changes the cut of an axis with elements so that the version leaves it unspecified. The lists must cut every axis.
fn leave_open(d: &mut Drawing, lists: &mut Lists, rule: Rule) -> Result<()> {
    let rank = d.rank();
    let place = |entry: usize| match &lists.axes {
        Some(axes) => usize::try_from(axes[entry] + if axes[entry] < 0 { rank } else { 0 }).unwrap_or(0),
        None => entry,
    };
    let sizes: Vec<i64> = (0..lists.starts.len()).map(|entry| d.dims[place(entry)]).collect();
    let with_elements: Vec<usize> = (0..sizes.len()).filter(|&entry| sizes[entry] > 0).collect();
    let at = d.choose(&with_elements)?;
    let size = sizes[at];
    if rule == Rule::SLICE_BACKWARD_MAX {
        lists.starts[at] = bound(d, size)?;
        lists.ends[at] = d.choose(&[i64::MAX, MAX32])?;
    } else {
        let boundaries = [-size - 1, i64::MIN, i64::MIN + 1, (-size).saturating_sub(3), MIN32, -(1 << 40)];
        let before: Vec<i64> = boundaries.into_iter().filter(|&bound| bound < -size).collect();
        lists.starts[at] = d.choose(&before)?;
        lists.ends[at] = d.choose(&before)?;
    }
    let step = d.choose(&[-1, -2, -3, i64::MIN])?;
    lists.steps.iter_mut().for_each(|steps| steps[at] = step);
    Ok(())
}
