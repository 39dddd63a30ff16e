//! Target shapes: valid ones for data of some dims, those that break one rule, and arbitrary ones.

use arbitrary::{Result, Unstructured};

use super::super::draw::{LARGE, MAX_DRAWN, boundary_sizes, divisor};
use crate::operator::Rule;
use crate::tensor::product;

/// Dims of data, and a target with a -1 whose other sizes multiply to a divisor. The divisors are about equally likely.
pub(super) fn division(u: &mut Unstructured) -> Result<(Vec<i64>, Vec<i64>)> {
    let divisor = divisor(u)?;
    let quotient = u.int_in_range(1..=(MAX_DRAWN / divisor).min(32))?;
    let (rank, length) = (u.int_in_range(1..=6)?, u.int_in_range(1..=5)?);
    Ok((factors(u, divisor * quotient, rank)?, divided(u, divisor, length)?))
}

/// A target of this length, at least 1, for data of these dims, which are not empty: sizes that multiply to a divisor of the number
/// of elements, and a -1.
pub(super) fn division_of_length(u: &mut Unstructured, dims: &[i64], length: usize) -> Result<Vec<i64>> {
    let count = product(dims.iter().copied()).and_then(|n| i64::try_from(n).ok()).unwrap_or(1);
    let divisors: Vec<i64> = (1..=count).filter(|divisor| count % divisor == 0).collect();
    let divisor = if length == 1 { 1 } else { *u.choose(&divisors)? };
    divided(u, divisor, length - 1)
}

/// `sizes` sizes that multiply to a divisor, and a -1 anywhere between them.
fn divided(u: &mut Unstructured, divisor: i64, sizes: usize) -> Result<Vec<i64>> {
    let mut target = if sizes == 0 { vec![] } else { factors(u, divisor, sizes)? };
    target.insert(u.int_in_range(0..=sizes)?, -1);
    Ok(target)
}

/// A valid target shape for data of these dims; `allowzero` is 0 or 1.
pub(super) fn target(u: &mut Unstructured, dims: &[i64], allowzero: i64) -> Result<Vec<i64>> {
    if dims.contains(&0) {
        return zero_size_target(u, dims, allowzero);
    }
    let count = product(dims.iter().copied()).and_then(|n| i64::try_from(n).ok()).unwrap_or(1);
    let mut target = match u.int_in_range(0_u8..=9)? {
        0 if count == 1 => vec![],
        0 | 1 => dims.to_vec(),
        2 => vec![count],
        _ => any_factors(u, count)?,
    };
    if allowzero == 0 {
        for (i, size) in target.iter_mut().enumerate() {
            if dims.get(i) == Some(size) && u.ratio(1, 3)? {
                *size = 0;
            }
        }
    }
    if !target.is_empty() && u.ratio(2, 5)? {
        let position = u.choose_index(target.len())?;
        target[position] = -1;
    }
    Ok(target)
}

/// The prime factors of a count, spread at random over some dims that are 1 otherwise.
fn any_factors(u: &mut Unstructured, count: i64) -> Result<Vec<i64>> {
    let parts = u.int_in_range(1..=6)?;
    factors(u, count, parts)
}

/// The same over this many dims, at least one.
fn factors(u: &mut Unstructured, count: i64, parts: usize) -> Result<Vec<i64>> {
    let mut target = vec![1; parts];
    let mut rest = count;
    let mut divisor = 2;
    while rest > 1 {
        if divisor * divisor > rest {
            divisor = rest;
        }
        while rest % divisor == 0 {
            let part = u.choose_index(parts)?;
            target[part] *= divisor;
            rest /= divisor;
        }
        divisor += 1;
    }
    Ok(target)
}

/// A valid target for zero-size data: a 0 that copies a dimension of size 0; with allowzero, a 0 anywhere; or no 0, but a -1 that
/// is inferred as 0.
fn zero_size_target(u: &mut Unstructured, dims: &[i64], allowzero: i64) -> Result<Vec<i64>> {
    let size = |u: &mut Unstructured| u.choose(&[1, 2, 3, 5, 7, 16]).copied();
    let length = u.int_in_range(1..=dims.len().min(6) + 1)?;
    let mut target = Vec::new();
    for _ in 0..length {
        target.push(size(u)?);
    }
    if u.ratio(1, 16)? {
        let place = u.choose_index(length)?;
        target[place] = *u.choose(&LARGE)?;
    }
    let zeros: Vec<usize> = (0..dims.len()).filter(|&i| dims[i] == 0).collect();
    let position = *u.choose(&zeros)?;
    match u.int_in_range(0_u8..=2)? {
        0 => {
            let inferred = u.choose_index(length)?;
            target[inferred] = -1;
        }
        1 if allowzero == 1 => {
            let zero = u.choose_index(length)?;
            target[zero] = 0;
        }
        _ => {
            // At the place of a zero-size dimension, 0 is right whether it copies or not.
            target.resize(target.len().max(position + 1), 1);
            target[position] = 0;
            // A second 0 copies or does not, so the answer shows how allowzero was read.
            if u.ratio(1, 2)? {
                let other = u.choose_index(dims.len().min(target.len()))?;
                target[other] = 0;
            }
        }
    }
    Ok(target)
}

/// A valid target of this length, at least one.
pub(super) fn target_of_length(u: &mut Unstructured, dims: &[i64], allowzero: i64, length: usize) -> Result<Vec<i64>> {
    let mut target = target(u, dims, allowzero)?;
    if target.len() > length {
        let rest = target.split_off(length - 1);
        match product(rest.iter().copied().filter(|&d| d > 0)).and_then(|n| i64::try_from(n).ok()) {
            Some(count) if rest.iter().all(|&d| d > 0) => target.push(count),
            _ if rest.contains(&0) => target = vec![-1],
            _ => target.push(-1),
        }
    }
    target.resize(length, 1);
    Ok(target)
}

/// An arbitrary target shape.
pub(super) fn wild_target(u: &mut Unstructured, dims: &[i64]) -> Result<Vec<i64>> {
    let pool = wild_sizes(dims);
    let length = u.int_in_range(0_u8..=5)?;
    (0..length).map(|_| u.choose(&pool).copied()).collect()
}

/// The values of an arbitrary target shape.
pub(super) fn wild_sizes(dims: &[i64]) -> Vec<i64> {
    let mut pool = boundary_sizes();
    pool.extend(dims.iter().take(4));
    pool
}

/// A target shape that breaks `rule` or is left unspecified by it, and is otherwise as valid as possible.
pub(super) fn bent_target(u: &mut Unstructured, rule: Rule, dims: &[i64], allowzero: i64) -> Result<Vec<i64>> {
    let zero_size = dims.contains(&0);
    let count = product(dims.iter().copied()).and_then(|n| i64::try_from(n).ok()).unwrap_or(1);
    let mut target = target(u, dims, allowzero.clamp(0, 1))?;
    let insert = |u: &mut Unstructured, target: &mut Vec<i64>, value: i64| -> Result<()> {
        let position = u.int_in_range(0..=target.len())?;
        target.insert(position, value);
        Ok(())
    };
    match rule {
        Rule::SEVERAL_INFERRED => {
            target.retain(|&d| d != -1);
            insert(u, &mut target, -1)?;
            insert(u, &mut target, -1)?;
        }
        Rule::BELOW_MINUS_ONE => {
            target.retain(|&d| d != -1);
            let below = [-2, -3, -count.max(2), -(1 << 31), -(1 << 32), -(1 << 32) - 1, i64::MIN, i64::MIN + 1];
            for _ in 0..=u.int_in_range(0_u8..=3)? / 3 {
                let value = *u.choose(&below)?;
                insert(u, &mut target, value)?;
            }
        }
        Rule::ZERO_PAST_RANK => {
            while target.len() < dims.len() {
                target.push(1);
            }
            target.push(0);
        }
        Rule::ELEMENT_COUNT => target = miscounted(u, count, zero_size)?,
        Rule::NOT_DIVISIBLE => {
            let divisor = *u.choose(&[count + 1, 2 * count, i64::MAX, 1 << 32, (1 << 32) + count, 1 << 62])?;
            target = if count % divisor == 0 { vec![count + 1, -1] } else { vec![divisor, -1] };
            if u.ratio(1, 3)? {
                insert(u, &mut target, 1)?;
            }
        }
        Rule::ZERO_AND_INFERRED => {
            target.retain(|&d| d != -1 && d != 0);
            target.truncate(5);
            insert(u, &mut target, -1)?;
            insert(u, &mut target, 0)?;
        }
        Rule::COPIED_ZERO_AND_INFERRED => {
            let position = dims.iter().position(|&d| d == 0).unwrap_or(0);
            target = dims.iter().map(|&d| if u.ratio(1, 2).unwrap_or(false) { 0 } else { d.max(1) }).collect();
            target[position] = 0;
            if position + 1 < target.len() && u.ratio(1, 2)? {
                target.truncate(position + 1);
                target.push(-1);
            } else if position > 0 && u.ratio(1, 2)? {
                target[position - 1] = -1;
            } else {
                target.push(-1);
            }
        }
        _ => {}
    }
    Ok(target)
}

/// A shape without 0 or -1 whose product is not `count`: off by a little, or equal to it only modulo 2^32 or 2^64.
fn miscounted(u: &mut Unstructured, count: i64, zero_size: bool) -> Result<Vec<i64>> {
    if zero_size {
        let root = 1 << 32;
        let wraps = [vec![1], vec![2, 3], vec![], vec![root], vec![root, root], vec![1 << 62, 4], vec![i64::MAX, 2]];
        return Ok(u.choose(&wraps)?.clone());
    }
    let mut target = any_factors(u, count)?;
    let position = u.choose_index(target.len())?;
    // The largest power of two in the count. Adding 2^(bits - power) to the other factor keeps the product modulo 2^bits.
    let power = count.trailing_zeros();
    let raised = |bits: u32| vec![(count >> power) + (1 << (bits - power)), 1 << power];
    match u.int_in_range(0_u8..=7)? {
        0 => target = vec![],
        1 => target = raised(32),
        2 if power >= 2 => target = raised(64),
        3 => target = vec![count + (1 << 32)],
        4 => target = vec![i64::MAX, i64::MAX],
        5 => target.push(2),
        6 if target[position] > 1 => target[position] -= 1,
        _ => target[position] += 1,
    }
    if target.is_empty() && count == 1 {
        target.push(2);
    }
    Ok(target)
}
