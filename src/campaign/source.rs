//! Where the cases of a campaign come from: an unending stream of a seed, or every case of a space.

use crate::case::space::Bounds;
use crate::case::{Case, Generated, Generator, catalogue};

/// Cases by number. The same number is the same case on every machine.
pub trait Source: Sync {
    /// `None` past the end; a source without an end never gives it.
    fn case(&self, index: u64) -> Option<Generated>;
}

/// The catalogue of edge cases, and then what a seed gives, without end.
#[derive(Debug)]
pub struct Stream {
    catalogue: Vec<Case>,
    generator: Generator,
    seed: u64,
}

impl Stream {
    /// The stream of a seed; `first` are cases that come even before the catalogue.
    pub fn new(generator: Generator, seed: u64, first: Vec<Case>) -> Stream {
        let entries = generator.operators().iter().flat_map(|operator| catalogue::entries(operator));
        let first = first.into_iter().filter(|case| generator.operators().contains(&case.operator));
        Stream { catalogue: first.chain(entries.map(|entry| entry.case)).collect(), generator, seed }
    }
}

impl Source for Stream {
    fn case(&self, index: u64) -> Option<Generated> {
        let listed = usize::try_from(index).ok().and_then(|index| self.catalogue.get(index));
        Some(match listed {
            Some(case) => Generated::given(case.clone()),
            None => self.generator.case(self.seed, index - self.catalogue.len() as u64),
        })
    }
}

/// One shard of a space: every `of`-th case, from number `shard` on. The shards of a space are disjoint, and together
/// they are the space.
#[derive(Debug)]
pub struct Shard {
    pub bounds: Bounds,
    /// Counts from 0.
    pub shard: u64,
    pub of: u64,
    /// The case of the shard to begin with, to go on where another run ended.
    pub from: u64,
}

impl Shard {
    /// How many cases the shard holds, of a space that holds `space`.
    pub fn len_of(&self, space: u64) -> u64 {
        space / self.of + u64::from(self.shard < space % self.of)
    }
}

impl Source for Shard {
    fn case(&self, index: u64) -> Option<Generated> {
        let place = index.checked_add(self.from)?.checked_mul(self.of)?.checked_add(self.shard)?;
        self.bounds.case(place).map(Generated::given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_catalogue_comes_first() {
        let stream = Stream::new(Generator::default(), 7, vec![]);
        let first = stream.case(0).unwrap().case;
        assert_eq!(first.to_string(), "Shape@26 float[2,3,4]");
        let listed = stream.catalogue.len() as u64;
        assert_eq!(stream.case(listed).unwrap().case, Generator::default().case(7, 0).case);
    }

    #[test]
    fn shards_are_disjoint_and_make_up_the_whole() {
        let bounds = Bounds {
            operator: "Flatten".parse().unwrap(),
            opsets: vec![9, 11],
            max_rank: 2,
            max_dim: 2,
            max_target_rank: 0,
        };
        let len = bounds.len().unwrap();
        let whole: HashSet<Case> = (0..len).map(|i| bounds.case(i).unwrap()).collect();
        let mut parts = HashSet::new();
        for shard in 0..7 {
            let shard = Shard { bounds: bounds.clone(), shard, of: 7, from: 0 };
            let cases: Vec<Case> = (0..).map_while(|i| shard.case(i)).map(|g| g.case).collect();
            assert_eq!(cases.len() as u64, shard.len_of(len));
            let resumed = Shard { from: 5, ..shard };
            assert_eq!(resumed.case(0).unwrap().case, cases[5]);
            assert!(cases.into_iter().all(|case| parts.insert(case)), "a case is in two shards");
        }
        assert_eq!(parts, whole);
    }
}
