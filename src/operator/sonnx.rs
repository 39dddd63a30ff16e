//! Shape as the safety-related profile of ONNX (SONNX) defines it, in an executable definition of its own.
//!
//! The profile describes two steps and states no error condition. This definition follows the profile's text and shares no code
//! with the ONNX algorithm. A test demands that both agree.

/// Shape of a tensor of these dims, with `start` and `end` as in the profile: both are given and may be any integers.
pub fn shape(dims: &[i64], start: i64, end: i64) -> Vec<i64> {
    let rank = dims.len() as i128;

    // Step 1, clamping. A negative start counts from the back, and one that is still negative becomes 0.
    let mut start = i128::from(start);
    if start < 0 {
        start += rank;
    }
    if start < 0 {
        start = 0;
    }
    // A negative end counts from the back, and one beyond the rank becomes the rank. It is not raised to 0.
    let mut end = i128::from(end);
    if end < 0 {
        end += rank;
    }
    if end > rank {
        end = rank;
    }

    // Step 2, slicing: element i - start of the result is dim i, for each i in [start, end[; there may be none.
    (0_i128..).zip(dims).filter(|(i, _)| (start..end).contains(i)).map(|(_, &dim)| dim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::shape::slice;

    #[test]
    fn the_profile_agrees_with_the_onnx_algorithm() {
        let extremes = [i64::MIN, i64::MIN + 1, -(1 << 32), -(1 << 31), 1 << 31, 1 << 32, i64::MAX - 1, i64::MAX];
        let bounds: Vec<i64> = (-10..=10).chain(extremes).collect();
        for rank in 0..=8 {
            let dims: Vec<i64> = (2..2 + rank).collect();
            for &start in &bounds {
                for &end in &bounds {
                    let onnx = slice(&dims, Some(start), Some(end));
                    assert_eq!(shape(&dims, start, end), onnx, "dims {dims:?}, start {start}, end {end}");
                }
            }
        }
    }

    #[test]
    fn the_examples_of_the_profile_hold() {
        let dims = [2, 3, 4];
        assert_eq!(shape(&dims, 0, 3), [2, 3, 4]);
        assert_eq!(shape(&dims, 1, 2), [3]);
        assert_eq!(shape(&dims, 2, 2), Vec::<i64>::new());
        assert_eq!(shape(&dims, -500, 2), [2, 3]);
        assert_eq!(shape(&dims, 0, 1000), [2, 3, 4]);
    }
}
