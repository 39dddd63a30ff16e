//! Where the cases of a campaign come from: an unending stream of a seed, or every case of a space.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

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
        let listed = generator.operators().iter().flat_map(|operator| catalogue::cases(operator));
        let first = first.into_iter().filter(|case| generator.operators().contains(&case.operator));
        Stream { catalogue: first.chain(listed).collect(), generator, seed }
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

/// Every case of a space, once.
impl Source for Bounds {
    fn case(&self, index: u64) -> Option<Generated> {
        Bounds::case(self, index).map(Generated::given)
    }
}

/// One part of so many that a source is divided into, such as 3/16: every 16th case, from the third on. The parts are
/// disjoint, together they are the source, and each of them has its share of what comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// How many parts there are.
    of: u64,
    /// Counts from 1.
    number: u64,
}

impl Shard {
    /// The part that is everything.
    pub const WHOLE: Shard = Shard { of: 1, number: 1 };

    /// The most parts that a source is divided into.
    const MOST: u64 = 10_000;

    /// A part, if there is one of that number.
    pub fn new(number: u64, of: u64) -> Option<Shard> {
        ((1..=of).contains(&number) && of <= Shard::MOST).then_some(Shard { of, number })
    }

    /// How many parts there are.
    pub fn of(self) -> u64 {
        self.of
    }

    /// How many of so many cases are in it.
    pub fn share_of(self, cases: u64) -> u64 {
        cases / self.of + u64::from(self.number <= cases % self.of)
    }

    /// The number that a case of it has in the source.
    fn place(self, index: u64) -> Option<u64> {
        index.checked_mul(self.of)?.checked_add(self.number - 1)
    }
}

impl Default for Shard {
    fn default() -> Shard {
        Shard::WHOLE
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Shard, &'static str> {
        let parts = text.split_once('/').and_then(|(number, of)| Shard::new(number.parse().ok()?, of.parse().ok()?));
        parts.ok_or("a shard is written I/N, such as 3/16, with I from 1 to N, and N up to 10000")
    }
}

impl TryFrom<String> for Shard {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Shard, &'static str> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> String {
        shard.to_string()
    }
}

/// The cases of a source that are in a shard.
#[expect(missing_debug_implementations, reason = "a source is anything that gives cases")]
#[derive(Clone, Copy)]
pub struct Sharded<'a> {
    pub source: &'a dyn Source,
    pub shard: Shard,
}

impl Source for Sharded<'_> {
    fn case(&self, index: u64) -> Option<Generated> {
        self.source.case(self.shard.place(index)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_comes_first() {
        let stream = Stream::new(Generator::default(), 7, vec![]);
        let first = stream.case(0).unwrap().case;
        assert_eq!(first.to_string(), "Shape@26 float[2,3,4]");
        let listed = stream.catalogue.len() as u64;
        assert_eq!(stream.case(listed).unwrap().case, Generator::default().case(7, 0).case);
    }

    /// Holds the shards of a source against its first cases.
    #[track_caller]
    fn assert_divided(source: &dyn Source, len: u64) {
        let whole: Vec<Case> = (0..len).map(|index| source.case(index).unwrap().case).collect();
        for of in [1, 2, 7, 16] {
            let shards: Vec<Shard> = (1..=of).map(|number| Shard::new(number, of).unwrap()).collect();
            assert_eq!(shards.iter().map(|shard| shard.share_of(len)).sum::<u64>(), len);
            let mut next = shards.iter().map(|&shard| {
                let cases =
                    (0..shard.share_of(len)).map(move |index| Sharded { source, shard }.case(index).unwrap().case);
                cases.collect::<Vec<Case>>().into_iter()
            });
            let mut parts: Vec<_> = next.by_ref().collect();
            let dealt: Vec<Case> = (0..whole.len()).filter_map(|place| parts[place % shards.len()].next()).collect();
            assert_eq!(dealt, whole);
            assert!(parts.iter_mut().all(|rest| rest.next().is_none()), "a shard has more than its share");
        }
    }

    #[test]
    fn the_shards_of_a_seed_are_disjoint_and_make_up_the_whole() {
        let known: Case = "Flatten@13 axis=3 float[2]".parse().unwrap();
        assert_divided(&Stream::new(Generator::default(), 7, vec![known]), 1000);
    }

    #[test]
    fn the_shards_of_a_space_are_disjoint_and_make_up_the_whole() {
        let bounds = Bounds {
            operator: "Flatten".parse().unwrap(),
            opsets: vec![9, 11],
            max_rank: 2,
            max_dim: 2,
            max_target_rank: 0,
        };
        let len = bounds.len().unwrap();
        assert_divided(&bounds, len);
        let last = Sharded { source: &bounds, shard: Shard::new(7, 7).unwrap() };
        assert!(last.case(last.shard.share_of(len)).is_none(), "a space has an end");
    }

    #[test]
    fn shards_are_written_with_a_slash() {
        assert_eq!("2/8".parse(), Ok(Shard { number: 2, of: 8 }));
        assert_eq!("2/8".parse::<Shard>().unwrap().to_string(), "2/8");
        for wrong in ["0/8", "9/8", "2", "a/b", "1/0", "", "-1/8", "1/10001"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
