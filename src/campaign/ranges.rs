//! Which cases of a campaign were run.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Half-open ranges of case numbers: in order, and as few as there can be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Adds a range, unless a part of it is there already or there is nothing in it.
    pub fn add(&mut self, range: Range<u64>) -> bool {
        let (mut first, mut end) = (range.start, range.end);
        let place = self.0.partition_point(|&(_, before)| before < first);
        let overlaps = self.0[place..].iter().take_while(|&&(start, _)| start < end).any(|&(_, before)| before > first);
        if overlaps || first >= end {
            return false;
        }
        // A neighbour on either side becomes one with it.
        while let Some(&(start, before)) = self.0.get(place).filter(|&&(start, _)| start <= end) {
            (first, end) = (first.min(start), end.max(before));
            self.0.remove(place);
        }
        self.0.insert(place, (first, end));
        true
    }

    /// Adds ranges that have nothing in common with these; whether that was so.
    pub fn add_all(&mut self, other: &Ranges) -> bool {
        other.0.iter().all(|&(first, end)| self.add(first..end))
    }

    /// Whether all of these are there.
    pub fn contains_all(&self, other: &Ranges) -> bool {
        let holds = |&(first, end): &(u64, u64)| {
            let place = self.0.partition_point(|&(_, before)| before <= first);
            self.0.get(place).is_some_and(|&(start, before)| start <= first && end <= before)
        };
        other.0.iter().all(holds)
    }

    /// Whether none of these is there.
    pub fn is_disjoint(&self, other: &Ranges) -> bool {
        self.clone().add_all(other)
    }

    pub fn contains(&self, case: u64) -> bool {
        let place = self.0.partition_point(|&(_, end)| end <= case);
        self.0.get(place).is_some_and(|&(first, _)| first <= case)
    }

    /// The lowest case that is not there.
    pub fn first_missing(&self) -> u64 {
        self.0.first().filter(|(first, _)| *first == 0).map_or(0, |(_, end)| *end)
    }

    /// How many cases there are.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|(first, end)| end - first).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryFrom<Vec<(u64, u64)>> for Ranges {
    type Error = &'static str;

    fn try_from(pairs: Vec<(u64, u64)>) -> Result<Ranges, &'static str> {
        let mut ranges = Ranges::default();
        let are_disjoint = pairs.into_iter().all(|(first, end)| ranges.add(first..end));
        if are_disjoint { Ok(ranges) } else { Err("ranges of cases overlap or are empty") }
    }
}

impl From<Ranges> for Vec<(u64, u64)> {
    fn from(ranges: Ranges) -> Vec<(u64, u64)> {
        ranges.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn neighbours_become_one() {
        let mut ranges = Ranges::default();
        assert!(ranges.add(64..128) && ranges.add(192..256) && ranges.add(320..330));
        assert_eq!((ranges.first_missing(), ranges.len()), (0, 138));
        assert!(ranges.add(128..192));
        assert_eq!(ranges.0, [(64, 256), (320, 330)]);
        assert!(ranges.add(0..64) && ranges.add(330..384));
        assert_eq!(ranges.0, [(0, 256), (320, 384)]);
        assert_eq!(ranges.first_missing(), 256);
        assert!(!ranges.add(255..257) && !ranges.add(0..1000) && !ranges.add(300..300) && !ranges.add(383..384));
        assert!(ranges.contains(0) && ranges.contains(255) && !ranges.contains(256) && !ranges.contains(384));
    }

    #[test]
    fn ranges_are_sets() {
        arbtest::arbtest(|u| {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for _ in 0..u.int_in_range(0..=20)? {
                let first = u.int_in_range(0..=60)?;
                let range: Range<u64> = first..first + u.int_in_range(0..=8)?;
                let is_new = !range.is_empty() && range.clone().all(|case| !set.contains(&case));
                assert_eq!(ranges.add(range.clone()), is_new);
                set.extend(range.filter(|_| is_new));
            }
            assert_eq!(ranges.len(), set.len() as u64);
            assert!((0..80).all(|case| ranges.contains(case) == set.contains(&case)));
            let mut other = Ranges::default();
            for _ in 0..u.int_in_range(0..=3)? {
                let first = u.int_in_range(0..=60)?;
                other.add(first..first + u.int_in_range(0..=8)?);
            }
            let of_other = || (0..80).filter(|&case| other.contains(case));
            assert_eq!(ranges.contains_all(&other), of_other().all(|case| set.contains(&case)));
            assert_eq!(ranges.is_disjoint(&other), !of_other().any(|case| set.contains(&case)));
            assert_eq!(Some(ranges.first_missing()), (0..=80).find(|case| !set.contains(case)));
            let pairs = Vec::from(ranges.clone());
            assert!(pairs.is_sorted() && pairs.windows(2).all(|pair| pair[0].1 < pair[1].0));
            assert_eq!(Ranges::try_from(pairs), Ok(ranges));
            Ok(())
        });
    }
}
