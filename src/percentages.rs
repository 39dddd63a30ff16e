//! Parts of a whole in whole percent that add up to 100.

/// Each part in percent of their sum. What is lost by rounding down goes to the parts that lost most, the first of equal
/// ones first. Of nothing each part is 0.
pub fn percentages(parts: &[u64]) -> Vec<u64> {
    let whole: u128 = parts.iter().map(|&part| u128::from(part)).sum();
    if whole == 0 {
        return vec![0; parts.len()];
    }
    let hundredfold = |part: u64| u128::from(part) * 100;
    let down = |part: u64| u64::try_from(hundredfold(part) / whole).expect("a part is at most the whole");
    let mut percentages: Vec<u64> = parts.iter().map(|&part| down(part)).collect();
    let lost = 100 - percentages.iter().sum::<u64>();
    let mut places: Vec<usize> = (0..parts.len()).collect();
    places.sort_by_key(|&place| std::cmp::Reverse(hundredfold(parts[place]) % whole));
    for (place, _) in places.into_iter().zip(0..lost) {
        percentages[place] += 1;
    }
    percentages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_add_up_to_100_and_are_at_most_one_off() {
        assert_eq!(percentages(&[7, 5, 3]), [47, 33, 20]);
        assert_eq!(percentages(&[1, 1, 1]), [34, 33, 33]);
        assert_eq!(percentages(&[999, 1]), [100, 0]);
        assert_eq!(percentages(&[0, u64::MAX, u64::MAX]), [0, 50, 50]);
        assert_eq!((percentages(&[0, 0]), percentages(&[])), (vec![0, 0], vec![]));
    }
}
