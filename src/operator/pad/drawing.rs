//! How Pad draws calls.

use arbitrary::Result;

use super::{AXES_SINCE, INPUTS_SINCE, Line, MODE, Mode, PADDINGS, PADS, VALUE, WRAP_SINCE, from_pairs};
use crate::operator::draw::is_laborious;
use crate::operator::{Aim, AttributeValue, Drawing, MAX_DRAWN, Rule, TOO_MANY, axis, is_vast};
use crate::tensor::{ElementType, Tensor, product};

/// Names of modes that no version has.
const OTHER_MODES: [&str; 8] = ["mirror", "Constant", "", "symmetric", "CONSTANT", "edges", " edge", "reflect101"];

/// Values that float16 does not have: inexact ones, ones beyond its range, and a NaN.
const ODD_VALUES: [f32; 10] =
    [f32::NAN, 0.1, -1e-10, 1e-7, 65_519.0, 65_520.0, -1e6, f32::MAX, f32::MIN_POSITIVE, 2049.0];

/// Values that every float type has.
const VALUES: [f32; 10] =
    [0.0, 1.0, -1.5, -0.0, 0.5, 65_504.0, f32::INFINITY, f32::NEG_INFINITY, 5.960_464_5e-8, -2048.0];

/// The pads of the axes, in pairs of the number before an axis and the number after it.
type Pairs = Vec<(i64, i64)>;

pub(super) fn draw(d: &mut Drawing) -> Result<()> {
    fit_data(d)?;
    let name = mode(d)?;
    let mode = Mode::of(d.since(), name.as_deref()).unwrap_or(Mode::Constant);
    let axes = if d.since() >= AXES_SINCE { axes(d)? } else { None };
    let places: Vec<usize> = match &axes {
        Some(axes) => axes.iter().filter_map(|&value| axis(value, d.dims.len())).collect(),
        None => (0..d.dims.len()).collect(),
    };
    let mut pairs = if d.is_wild() { wild_pairs(d, &places)? } else { pairs(d, mode, &places)? };
    // An axis out of range also has a pair.
    pairs.resize(axes.as_ref().map_or(places.len(), Vec::len), (0, 0));
    let mut pads = list(&pairs);
    if d.breaks(Rule::PAD_LENGTH) || d.is_wild() && d.ratio(1, 16)? {
        let count = usize::from(d.choose(&[1_u8, 2])?);
        let length = if pads.len() >= count && d.ratio(1, 2)? { pads.len() - count } else { pads.len() + count };
        pads.resize(length, 0);
    }
    if d.since() < INPUTS_SINCE {
        let is_first = d.since() == 1;
        if is_first && (d.aim == Aim::Valid || is_of_form(d)) {
            settle(d, mode, &mut pads);
        }
        d.ints(if is_first { PADDINGS } else { PADS }, |_| Ok(Some(pads)))?;
        value(d)?;
        d.data();
        return Ok(());
    }
    d.data();
    inputs(d, mode, &pads, axes.as_deref())
}

/// Gives the call data with which the rule can be broken, or data that can be padded.
fn fit_data(d: &mut Drawing) -> Result<()> {
    match d.aim {
        Aim::Break(Rule::PAD_DEFAULT_FILL) => d.element_type = ElementType::Float8e8m0,
        Aim::Break(Rule::PAD_VALUE) => d.element_type = ElementType::Float16,
        _ => {}
    }
    match d.aim {
        Aim::Break(Rule::PAD_SCALAR) => d.dims.clear(),
        Aim::Break(Rule::PAD_MODE | Rule::PAD_LENGTH | Rule::PAD_AXIS_RANGE) | Aim::Wild => {}
        Aim::Break(
            Rule::PAD_ORDER
            | Rule::PAD_EXCESS_REMOVAL
            | Rule::PAD_REFLECT_WIDTH
            | Rule::PAD_DEFAULT_FILL
            | Rule::PAD_VALUE
            | Rule::PAD_PADDINGS_ORDER
            | Rule::PAD_NEGATIVE_COUNT
            | Rule::PAD_DIM_RANGE
            | Rule::VAST_ANSWER,
        ) => {
            d.need_axis()?;
            if d.breaks(Rule::PAD_PADDINGS_ORDER) && d.dims.len() == 1 {
                d.dims.push(2);
            }
            let outside = d.dims.iter_mut().filter(|dim| !(1..=MAX_DRAWN).contains(*dim));
            outside.for_each(|dim| *dim = 1);
        }
        _ => d.need_axis()?,
    }
    Ok(())
}

/// The name of the mode; `None` is the default.
fn mode(d: &mut Drawing) -> Result<Option<String>> {
    let has_wrap = d.since() >= WRAP_SINCE;
    let all: &[&str] = &["constant", "edge", "reflect", "wrap"];
    let modes = if has_wrap { all } else { &all[..3] };
    let drawn = d.attribute(MODE, |d| {
        let aim = d.aim;
        let name = match aim {
            Aim::Break(Rule::PAD_MODE) if !has_wrap && d.ratio(1, 4)? => "wrap",
            Aim::Break(Rule::PAD_MODE) => d.choose(&OTHER_MODES)?,
            Aim::Break(Rule::PAD_FILL_COUNT | Rule::PAD_EXCESS_REMOVAL | Rule::PAD_DEFAULT_FILL | Rule::PAD_VALUE) => {
                "constant"
            }
            Aim::Break(Rule::PAD_NOTHING_TO_REPEAT | Rule::PAD_ORDER) => d.choose(&modes[1..])?,
            Aim::Break(Rule::PAD_REFLECT_WIDTH) => "reflect",
            Aim::Wild if d.ratio(1, 16)? => d.choose(&OTHER_MODES)?,
            _ => d.choose(modes)?,
        };
        // The default mode is `constant`.
        let is_there = name != "constant" || d.ratio(1, 2)?;
        Ok(is_there.then(|| AttributeValue::String(name.to_owned())))
    })?;
    Ok(match drawn {
        Some(AttributeValue::String(name)) => Some(name),
        _ => None,
    })
}

/// Distinct axes in range, or axes that break a rule on them. `None` stands for all axes.
fn axes(d: &mut Drawing) -> Result<Option<Vec<i64>>> {
    let rank = d.dims.len();
    let is_bent = matches!(d.aim, Aim::Break(Rule::PAD_AXIS_RANGE | Rule::PAD_REPEATED_AXIS));
    let (aim, wanted) = (d.aim, d.length.map(|length| length / 2).filter(|&count| count <= rank));
    let may_be_absent = wanted.is_none_or(|count| count == rank) && !is_bent;
    let count = match wanted {
        _ if may_be_absent && d.ratio(1, 2)? => return Ok(None),
        Some(count) => count,
        None if is_bent => d.u.int_in_range(rank.min(1)..=rank)?,
        // All axes are given, because the axis at which the rule can be broken must be among them.
        None if matches!(aim, Aim::Break(_)) => rank,
        None => d.u.int_in_range(0..=rank)?,
    };
    let mut left: Vec<i64> = (0..d.rank()).collect();
    let mut axes = Vec::with_capacity(count);
    for _ in 0..count {
        let at = d.u.choose_index(left.len())?;
        let place = left.swap_remove(at);
        axes.push(if d.ratio(1, 2)? { place } else { place - d.rank() });
    }
    let extra = match aim {
        Aim::Break(Rule::PAD_AXIS_RANGE) => Some(d.axis_out_of_range(true)?),
        Aim::Break(Rule::PAD_REPEATED_AXIS) => {
            let again = *d.u.choose(&axes)?;
            Some(if d.ratio(1, 2)? { again } else { again + if again < 0 { d.rank() } else { -d.rank() } })
        }
        Aim::Wild if d.ratio(1, 8)? => Some(d.any_axis()?),
        _ => None,
    };
    axes.extend(extra);
    Ok(Some(axes))
}

/// Adds the inputs other than the data.
fn inputs(d: &mut Drawing, mode: Mode, pads: &[i64], axes: Option<&[i64]>) -> Result<()> {
    let bent = d.breaks(Rule::PAD_OPERAND_RANK).then_some(axes.is_some() && d.ratio(1, 2)?);
    if bent == Some(false) {
        d.vector_of_other_rank(pads)?;
    } else {
        d.vector(pads);
    }
    match fill_dims(d, mode)? {
        Some(dims) => d.other_data(d.element_type, dims),
        None => d.skip(),
    }
    if let Some(axes) = axes {
        let vector = if d.ratio(1, 3)? { narrow(axes) } else { Tensor::vector(axes) };
        let vector = if bent == Some(true) { d.of_other_rank(&vector)? } else { vector };
        d.values(vector);
    } else if d.since() >= AXES_SINCE {
        d.skip();
    }
    d.trim()
}

fn narrow(list: &[i64]) -> Tensor {
    let dims = vec![i64::try_from(list.len()).unwrap_or(i64::MAX)];
    let narrowed = list.iter().map(|&value| value.clamp(i32::MIN.into(), i32::MAX.into()));
    let bits = narrowed.map(|value| i128::from(value).cast_unsigned());
    Tensor::from_element_bits(ElementType::Int32, dims, bits).expect("there are as many as the dims say")
}

/// The dims of the fill, if the call has a fill.
fn fill_dims(d: &mut Drawing, mode: Mode) -> Result<Option<Vec<i64>>> {
    let is_needed = d.element_type == ElementType::Float8e8m0 && mode == Mode::Constant;
    let aim = d.aim;
    Ok(match aim {
        Aim::Break(Rule::PAD_DEFAULT_FILL) => None,
        Aim::Break(Rule::PAD_FILL_COUNT) => Some(d.u.choose(&[vec![2], vec![0], vec![1, 2], vec![3, 0]])?.clone()),
        Aim::Break(Rule::PAD_FILL_RANK) if mode != Mode::Constant => {
            Some(d.u.choose(&[vec![1], vec![2], vec![0], vec![1, 1], vec![2, 3]])?.clone())
        }
        Aim::Break(Rule::PAD_FILL_RANK) => Some(d.u.choose(&[vec![1], vec![1, 1], vec![1, 1, 1]])?.clone()),
        Aim::Wild if d.ratio(1, 8)? => Some(d.u.choose(&[vec![1], vec![2], vec![0]])?.clone()),
        Aim::Break(Rule::MIXED_TYPES) => Some(vec![]),
        _ if is_needed || d.ratio(1, 2)? => Some(vec![]),
        _ => None,
    })
}

/// Adds the attribute with the fill.
fn value(d: &mut Drawing) -> Result<()> {
    d.attribute(VALUE, |d| {
        let aim = d.aim;
        let value = match aim {
            Aim::Break(Rule::PAD_VALUE) => d.choose(&ODD_VALUES)?,
            Aim::Wild if d.ratio(1, 4)? => d.choose(&ODD_VALUES)?,
            _ if d.ratio(1, 3)? => return Ok(None),
            // A value that only wider types have.
            _ if d.element_type != ElementType::Float16 && d.ratio(1, 4)? => 0.1,
            _ => d.choose(&VALUES)?,
        };
        Ok(Some(AttributeValue::Float(value.to_bits())))
    })?;
    Ok(())
}

/// Pads for the axes at these places. They are valid, except that they break a rule if the aim asks for it.
fn pairs(d: &mut Drawing, mode: Mode, places: &[usize]) -> Result<Pairs> {
    let mut pairs = vec![(0, 0); places.len()];
    if let Some((at, pair)) = bent_pair(d, mode, places)? {
        pairs[at] = pair;
        return Ok(pairs);
    }
    let mut dims = d.dims.clone();
    for (pair, &place) in pairs.iter_mut().zip(places) {
        let (before, after) = valid_pair(d, mode, dims[place], &dims)?;
        let padded = with_dim(&dims, place, (before, after));
        if let Some(padded) = padded.filter(|padded| is_valid(d, mode, dims[place], (before, after), padded)) {
            (*pair, dims) = ((before, after), padded);
        }
    }
    Ok(pairs)
}

/// The pairs as an input or attribute has them: the numbers before all axes, then the numbers after all axes.
fn list(pairs: &[(i64, i64)]) -> Vec<i64> {
    pairs.iter().map(|pair| pair.0).chain(pairs.iter().map(|pair| pair.1)).collect()
}

/// Whether the aim is a rule on the form of a node, so that the pads play no part in it.
fn is_of_form(d: &Drawing) -> bool {
    match d.aim {
        Aim::Break(rule) => Rule::FORM.contains(&rule),
        _ => false,
    }
}

/// The dims with the dim at a place padded, if the result is not negative and fits in an i64.
fn with_dim(dims: &[i64], place: usize, (before, after): (i64, i64)) -> Option<Vec<i64>> {
    let mut padded = dims.to_vec();
    padded[place] = i64::try_from(i128::from(dims[place]) + i128::from(before) + i128::from(after)).ok()?;
    (padded[place] >= 0).then_some(padded)
}

/// Whether pads of an axis of this size have exactly one meaning, and the output has few enough elements.
fn is_valid(d: &Drawing, mode: Mode, size: i64, (before, after): (i64, i64), padded: &[i64]) -> bool {
    let line = Line { first: 0, size: size.into(), before: before.into(), after: after.into() };
    let is_small = product(padded.iter().copied()).is_some_and(|count| count <= MAX_DRAWN.into());
    // With an axis twice, a runtime may do what adds elements, and not what removes them.
    let may_be_negative = d.since() > 1 && !d.breaks(Rule::PAD_REPEATED_AXIS);
    let is_defined = line.room(mode, false).is_none() && (may_be_negative || before.min(after) >= 0);
    is_small && is_defined && (d.breaks(Rule::VAST_DIMS) || !is_vast(padded))
}

/// Pads for an axis of this size that are likely to be valid.
fn valid_pair(d: &mut Drawing, mode: Mode, size: i64, dims: &[i64]) -> Result<(i64, i64)> {
    let most = match mode {
        Mode::Reflect => (size - 1).clamp(0, 7),
        _ if d.ratio(1, 8)? => 33,
        _ => 4,
    };
    let is_nothing = size == 0 || dims.iter().filter(|&&dim| dim == 0).count() > 1;
    // The more numbers a kind has here, the more often it is drawn.
    Ok(match d.between(0, 9)? {
        0 => (0, 0),
        1 if size == 0 && mode != Mode::Constant => (0, 0),
        1..=4 => (d.between(0, most)?, d.between(0, most)?),
        5 => (0, d.between(0, most)?),
        6 => (-d.between(0, size)?, 0),
        7 => {
            let before = d.between(0, size)?;
            (-before, -d.between(0, size - before)?)
        }
        8 => {
            let (removed, added) = (-d.between(0, size)?, d.between(0, most)?);
            if d.ratio(1, 2)? { (removed, added) } else { (added, removed) }
        }
        // Beside a dim of 0, numbers beyond 32 bits are possible.
        _ if mode != Mode::Reflect && (is_nothing || dims.contains(&0)) => {
            (d.choose(&[1 << 31, 1 << 32, (1 << 32) + 1, 1 << 40, 0])?, d.choose(&[0, 1, 1 << 33])?)
        }
        _ => (d.between(0, most)?, 0),
    })
}

/// The pair that breaks the rule, and the index of its axis in `places`; `None` if the rule is not on one pair. Pad-1 leaves the
/// order of the numbers open, except for the first and the last.
fn bent_pair(d: &mut Drawing, mode: Mode, places: &[usize]) -> Result<Option<(usize, (i64, i64))>> {
    let Aim::Break(rule) = d.aim else { return Ok(None) };
    if places.is_empty() || Rule::FORM.contains(&rule) {
        return Ok(None);
    }
    let last = places.len() - 1;
    let (is_first_version, mut at) = (d.since() == 1, d.u.choose_index(places.len())?);
    if is_first_version && rule != Rule::PAD_PADDINGS_ORDER {
        at = if at > 0 { last } else { 0 };
    }
    if rule == Rule::PAD_NOTHING_TO_REPEAT {
        d.dims[places[at]] = 0;
    }
    let size = d.dims[places[at]];
    let small = d.between(1, 3)?;
    let pair = match rule {
        Rule::PAD_NEGATIVE_DIM => {
            let removed =
                d.choose(&[i64::MIN, -(1 << 40), (-size).saturating_sub(1), (-size).saturating_sub(small)])?;
            let removed = removed.min((-size).saturating_sub(1));
            (removed, if is_first_version || d.ratio(1, 2)? { 0 } else { -1 })
        }
        Rule::PAD_DIM_RANGE => {
            (i64::MAX, if is_first_version || d.ratio(1, 2)? { 0 } else { d.choose(&[1, i64::MAX])? })
        }
        Rule::VAST_ANSWER => (d.choose(&[TOO_MANY, 2 * TOO_MANY, 1 << 62, TOO_MANY + 1])?, 0),
        Rule::PAD_NEGATIVE_COUNT => (-d.between(1, size)?, 0),
        Rule::PAD_NOTHING_TO_REPEAT | Rule::PAD_DEFAULT_FILL | Rule::PAD_VALUE => {
            (small, if is_first_version { 0 } else { d.between(0, 2)? })
        }
        Rule::PAD_REFLECT_WIDTH => (size + d.between(0, 4)?, if is_first_version { 0 } else { d.between(0, 2)? }),
        Rule::PAD_EXCESS_REMOVAL => match d.between(0, 3)? {
            0 => (i64::MIN, i64::MAX),
            1 => (-(1 << 40) - size, 1 << 40),
            _ => (-size - small, small + d.between(0, 3)?),
        },
        Rule::PAD_ORDER => removal_and_addition(d, mode, size)?,
        Rule::PAD_PADDINGS_ORDER => return differing_paddings(d, places.len(), small).map(Some),
        _ => return Ok(None),
    };
    let is_turned = if is_first_version { at == last && (at > 0 || d.ratio(1, 2)?) } else { d.ratio(1, 2)? };
    Ok(Some((at, if is_turned { (pair.1, pair.0) } else { pair })))
}

/// A number of elements to remove at one end and a number to add at the other, with which the order of the two matters.
fn removal_and_addition(d: &mut Drawing, mode: Mode, size: i64) -> Result<(i64, i64)> {
    let small = d.between(1, 3)?;
    let is_whole = mode == Mode::Edge || d.ratio(1, 3)?;
    let removed = if is_whole { size + d.between(0, small)? } else { d.between(1, size)? };
    // A mirror image is shorter than the elements that are mirrored.
    let added = if mode == Mode::Reflect { (size - removed).max(0) + small } else { small };
    Ok((-removed, added))
}

/// A padding other than the first and the last, because these two stand for the same axis in either order.
fn differing_paddings(d: &mut Drawing, rank: usize, count: i64) -> Result<(usize, (i64, i64))> {
    let place = d.u.int_in_range(1..=2 * rank - 2)?;
    Ok(if place < rank { (place, (count, 0)) } else { (place - rank, (0, count)) })
}

/// Makes the paddings mean the same in both orders, or else sets all of them to 0: numbers that the orders read at each other's
/// places are made equal.
fn settle(d: &Drawing, mode: Mode, pads: &mut [i64]) {
    let places: Vec<i64> = (0_i64..).take(pads.len()).collect();
    let other = from_pairs(&places);
    for start in 0..pads.len() {
        let mut at = start;
        while let Some(next) = other.get(at).and_then(|&next| usize::try_from(next).ok()).filter(|&next| next != start)
        {
            pads[next] = pads[start];
            at = next;
        }
    }
    let rank = d.dims.len();
    let mut dims = d.dims.clone();
    for place in 0..rank {
        let pair = (pads[place], pads[rank + place]);
        let padded = with_dim(&dims, place, pair);
        match padded.filter(|padded| is_valid(d, mode, d.dims[place], pair, padded)) {
            Some(padded) => dims = padded,
            None => return pads.fill(0),
        }
    }
}

/// Pads around every boundary, except those with which the output is large but can still be built.
fn wild_pairs(d: &mut Drawing, places: &[usize]) -> Result<Pairs> {
    let mut pairs = Pairs::with_capacity(places.len());
    for &place in places {
        let size = d.dims[place];
        let far = [size, -size, i64::MIN, i64::MAX, i64::MAX - size, 1 << 62, -(1 << 32), -(1 << 31), 1 << 40, -1];
        let one = |d: &mut Drawing| if d.ratio(7, 8)? { d.between(-3, 3) } else { d.choose(&far) };
        let pair = (one(d)?, one(d)?);
        pairs.push(pair);
    }
    // In Pad-1 the numbers may be read in another order.
    let list = list(&pairs);
    let orders = [list.clone(), from_pairs(&list)];
    if orders.iter().any(|list| is_large(&d.dims, places, list)) {
        pairs.fill((0, 0));
    }
    Ok(pairs)
}

/// Whether the output of these pads is larger than drawn outputs, but not so large that no runtime will try to build it.
fn is_large(dims: &[i64], places: &[usize], pads: &[i64]) -> bool {
    let mut sizes: Vec<i128> = dims.iter().map(|&dim| dim.into()).collect();
    for (entry, &place) in places.iter().enumerate() {
        sizes[place] += i128::from(pads[entry]) + i128::from(pads[places.len() + entry]);
    }
    let sizes = sizes.into_iter().map(|size| i64::try_from(size.max(0)).unwrap_or(i64::MAX));
    is_laborious(&sizes.collect::<Vec<i64>>())
}
