//! The sources of the cases of a campaign: an endless stream of a seed, or every case of a space.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::case::space::Bounds;
use crate::case::{Case, Generated, Generator, Nodes, catalogue};

/// Gives cases by number. A number gives the same case on every machine.
pub trait Source: Sync {
    /// The cases with these numbers, in order, up to the end of the source. A source without an end has a case for every
    /// number.
    fn cases(&self, indices: &[u64]) -> Vec<Generated>;
}

/// The number of cases in a row. The cases of a row may have the same model, so a shard is given whole rows.
const ROW: u64 = 32;

/// The catalogue of edge cases, a case for each cell, and then the cases of a seed, without end.
///
/// The stream consists of rows. The first case of a row whose model leaves the feeds open gives its model to the rest of the
/// row. In a row of graphs, only the last quarter follows this rule, and each other case has its own model. If the stream has
/// graphs and cases of one node, every other row is a row of graphs.
#[derive(Debug)]
pub struct Stream {
    /// The cases before those of the seed: the given cases, the catalogue, and a case for each cell.
    catalogue: Vec<Case>,
    generator: Generator,
    seed: u64,
    /// The number of cases in a row.
    row: u64,
    nodes: Nodes,
}

/// The part of a row whose cases may have the same model, as far as it was drawn.
struct RowPart {
    first: u64,
    next: u64,
    open: Option<Generated>,
}

impl Stream {
    /// The stream of a seed. The cases in `first` come before the catalogue.
    pub fn new(generator: Generator, seed: u64, first: Vec<Case>) -> Stream {
        let listed = generator.operators().iter().flat_map(|operator| catalogue::cases(operator));
        let first = first.into_iter().filter(|case| generator.is_of(case));
        let catalogue = first.chain(listed).chain(generator.cells()).collect();
        Stream { catalogue, generator, seed, row: ROW, nodes: Nodes::ONE }
    }

    /// The same stream, but each case is drawn with a model of its own.
    #[must_use]
    pub fn without_rows(self) -> Stream {
        Stream { row: 1, ..self }
    }

    /// The same stream, but only with cases of these numbers of nodes. All others are left out, also those that come before
    /// the seed.
    #[must_use]
    pub fn with_nodes(self, nodes: Nodes) -> Stream {
        let catalogue = self.catalogue.into_iter().filter(|case| nodes.has(case)).collect();
        Stream { catalogue, nodes, ..self }
    }

    /// The number of the first case that is drawn from the seed: those before it are the same for every seed.
    pub fn first_drawn(&self) -> u64 {
        (self.catalogue.len() as u64).next_multiple_of(self.row)
    }

    /// Draws a case of the generator. `row` keeps the last row that was drawn.
    fn drawn(&self, index: u64, row: &mut RowPart) -> Generated {
        let graphs = self.nodes.of_graphs().filter(|_| !self.nodes.has_one() || index / self.row % 2 == 1);
        let draw = |index: u64| match &graphs {
            Some(nodes) => self.generator.graph_case(self.seed, index, nodes.clone()),
            None => self.generator.case(self.seed, index),
        };
        let apart = if graphs.is_some() { self.row - self.row / 4 } else { 0 };
        let first = index - index % self.row + apart;
        if index < first {
            return draw(index);
        }
        if row.first != first || row.next > index {
            *row = RowPart { first, next: first, open: None };
        }
        loop {
            if let Some(open) = &row.open {
                row.next = index.wrapping_add(1);
                return open.relative(self.seed, index);
            }
            let generated = draw(row.next);
            let is_last = row.next == index;
            if self.row > 1 && generated.is_open() {
                row.open = Some(generated.clone());
            }
            row.next = row.next.wrapping_add(1);
            if is_last {
                return generated;
            }
        }
    }
}

impl Source for Stream {
    fn cases(&self, indices: &[u64]) -> Vec<Generated> {
        let mut row = RowPart { first: 0, next: u64::MAX, open: None };
        // A row begins with case 0 of the seed. The rest of the row in which the catalogue ends is filled with the last cases
        // of the seed.
        let listed = self.first_drawn();
        let case = |&index: &u64| match usize::try_from(index).ok().and_then(|index| self.catalogue.get(index)) {
            Some(case) => Generated::given(case.clone()),
            None => self.drawn(index.wrapping_sub(listed), &mut row),
        };
        indices.iter().map(case).collect()
    }
}

/// Every case of a space, once.
impl Source for Bounds {
    fn cases(&self, indices: &[u64]) -> Vec<Generated> {
        indices.iter().map_while(|&index| self.case(index)).map(Generated::given).collect()
    }
}

/// One of the parts into which a source is divided. Shard 3/16 has every 16th row of cases, starting with the third. The
/// shards are disjoint, together they are the source, and each has its share of the first cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// The number of shards.
    of: u64,
    /// The number of this shard, from 1.
    number: u64,
}

impl Shard {
    /// The shard that is the whole source.
    pub const WHOLE: Shard = Shard { of: 1, number: 1 };

    /// The most shards into which a source is divided.
    const MOST: u64 = 10_000;

    /// Shard `number` of `of`, if there is one.
    pub fn new(number: u64, of: u64) -> Option<Shard> {
        ((1..=of).contains(&number) && of <= Shard::MOST).then_some(Shard { of, number })
    }

    /// The number of shards.
    pub fn of(self) -> u64 {
        self.of
    }

    /// How many of the first `cases` cases of the source are in this shard.
    pub fn share_of(self, cases: u64) -> u64 {
        let (rounds, rest) = (cases / ROW / self.of, cases % (ROW * self.of));
        rounds * ROW + rest.saturating_sub((self.number - 1) * ROW).min(ROW)
    }

    /// The number in the source of a case of this shard; `None` if it is too large.
    fn place(self, index: u64) -> Option<u64> {
        let row = (index / ROW).checked_mul(self.of)?.checked_add(self.number - 1)?;
        row.checked_mul(ROW)?.checked_add(index % ROW)
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
    fn cases(&self, indices: &[u64]) -> Vec<Generated> {
        let place = |&index| self.shard.place(index);
        self.source.cases(&indices.iter().map_while(place).collect::<Vec<u64>>())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::model;
    use crate::operator::Expectation;

    #[test]
    fn the_catalogue_comes_first() {
        let stream = Stream::new(Generator::default(), 7, vec![]);
        let cases = stream.cases(&[0, (stream.catalogue.len() as u64).next_multiple_of(ROW)]);
        assert_eq!(cases[0].case.to_string(), "Shape@26 float[2,3,4]");
        assert_eq!(cases[1].case, Generator::default().case(7, 0).case);
    }

    /// Asserts that the rows of a stream have few models from case `apart` of a row on, and that more than `least` percent of
    /// the cases with a common model are valid.
    fn assert_few_models(stream: &Stream, apart: usize, least: usize) {
        let first = (stream.catalogue.len() as u64).next_multiple_of(ROW);
        let indices: Vec<u64> = (first..first + 250 * ROW).collect();
        let cases = stream.cases(&indices);
        let mut related: Vec<&Generated> = Vec::new();
        for row in cases.chunks(usize::try_from(ROW).unwrap()) {
            // Each case before the first open one has its own model. All cases after it have the model of the open one.
            let row = &row[apart..];
            let open = row.iter().position(Generated::is_open).unwrap_or(row.len() - 1);
            let model =
                |generated: &Generated| model::job_with(&generated.case, &generated.tensors, generated.values()).model;
            for other in &row[open..] {
                assert!(model(other) == model(&row[open]), "{} and {}", row[open].case, other.case);
            }
            related.extend(&row[open..]);
        }
        let valid = related.iter().filter(|generated| matches!(generated.expectation, Expectation::Defined(_))).count();
        let most = 250 * (usize::try_from(ROW).unwrap() - apart);
        assert!(related.len() * 2 > most && valid * 100 > related.len() * least, "{valid} of {}", related.len());
        let different: HashSet<&Case> = related.iter().map(|generated| &generated.case).collect();
        assert!(different.len() * 100 > related.len() * 65, "{} of {}", different.len(), related.len());
        // A case does not depend on the other cases that are asked for.
        for place in [5, 17, 4099, 7999] {
            assert_eq!(stream.cases(&indices[place..=place])[0].case, cases[place].case);
        }
    }

    #[test]
    fn the_cases_of_a_row_have_few_models_and_most_are_valid() {
        assert_few_models(&Stream::new(Generator::of_the_heart(), 7, vec![]), 0, 70);
    }

    #[test]
    fn the_last_quarter_of_a_row_of_graphs_has_few_models() {
        let graphs = Stream::new(Generator::of_the_heart(), 7, vec![]).with_nodes("2..6".parse().unwrap());
        assert_few_models(&graphs, 24, 50);
    }

    fn lines(stream: &Stream, indices: std::ops::Range<u64>) -> Vec<String> {
        let cases = stream.cases(&indices.collect::<Vec<u64>>());
        cases.into_iter().map(|generated| generated.case.to_string()).collect()
    }

    #[test]
    fn graphs_are_every_other_row_beside_single_nodes_or_all_there_is() {
        let stream = |nodes: &str| {
            let known: Case = "a=Shape@21 float[2]; Size a".parse().unwrap();
            let stream = Stream::new(Generator::default(), 7, vec![known]);
            let nodes: Nodes = nodes.parse().unwrap();
            (stream.with_nodes(nodes), nodes)
        };
        let (single, _) = stream("1");
        assert!(single.catalogue.iter().all(|case| case.nodes.len() == 1) && single.catalogue.len() > 100);
        let ((mixed, _), first) = (stream("1..6"), 10 * ROW + single.catalogue.len() as u64);
        assert_eq!(mixed.catalogue.len(), single.catalogue.len() + 1);
        let (rows, of_one) = (lines(&mixed, first..first + 40 * ROW), |line: &String| !line.contains("; "));
        let share = rows.iter().filter(|line| of_one(line)).count();
        assert_eq!(share, rows.len() / 2);
        let (graphs, nodes) = stream("2..4");
        assert_eq!(graphs.catalogue.len(), 1);
        let generated = graphs.cases(&(0..3000).collect::<Vec<u64>>());
        assert!(generated.iter().all(|generated| nodes.has(&generated.case)));
        assert_divided(&mixed, 1003);
    }

    #[test]
    fn numbers_of_nodes_are_a_number_or_a_range() {
        for (text, written) in [("1", "1"), ("1..1", "1"), ("2..6", "2..6"), ("8", "8"), ("1..=6", "1..6")] {
            assert_eq!(text.parse::<Nodes>().unwrap().to_string(), written);
        }
        for wrong in ["0", "0..3", "3..2", "1..9", "", "a", "1.."] {
            assert!(wrong.parse::<Nodes>().is_err(), "{wrong}");
        }
        let nodes: Nodes = "2..6".parse().unwrap();
        assert_eq!(serde_json::to_string(&nodes).unwrap(), "[2,6]");
        assert_eq!(serde_json::from_str::<Nodes>("[2,6]").unwrap(), nodes);
        assert!(serde_json::from_str::<Nodes>("[2,9]").is_err());
    }

    /// Asserts that the shards of a source are disjoint, and that together they are its first `len` cases.
    #[track_caller]
    fn assert_divided(source: &dyn Source, len: u64) {
        let cases = |source: &dyn Source, len: u64| -> Vec<Case> {
            source.cases(&(0..len).collect::<Vec<u64>>()).into_iter().map(|generated| generated.case).collect()
        };
        let (whole, row) = (cases(source, len), usize::try_from(ROW).unwrap());
        assert_eq!(whole.len() as u64, len);
        for of in [1, 2, 7, 16] {
            let shards: Vec<Shard> = (1..=of).map(|number| Shard::new(number, of).unwrap()).collect();
            let part = |&shard: &Shard| {
                let part = cases(&Sharded { source, shard }, shard.share_of(len));
                assert_eq!(part.len() as u64, shard.share_of(len));
                part.into_iter()
            };
            let mut parts: Vec<_> = shards.iter().map(part).collect();
            let dealt: Vec<Case> =
                (0..whole.len()).filter_map(|place| parts[place / row % shards.len()].next()).collect();
            assert_eq!(dealt, whole);
            assert!(parts.iter_mut().all(|rest| rest.next().is_none()), "a shard has more than its share");
        }
    }

    #[test]
    fn the_shards_of_a_seed_are_disjoint_and_make_up_the_whole() {
        let known: Case = "Flatten@13 axis=3 float[2]".parse().unwrap();
        let stream = Stream::new(Generator::default(), 7, vec![known]);
        assert_divided(&stream, 1003);
        assert_divided(&stream.without_rows(), 1000);
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
        assert!(last.cases(&[last.shard.share_of(len)]).is_empty(), "a space has an end");
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
