//! Chooses the part of its examination that an input has.
//!
//! Loading a model takes most of the time of an execution, and a case with one right answer needs no second configuration to
//! be judged. So an input is run on one configuration of each release. Where the specification leaves room, it is compared
//! with one variant, or its configurations with each other. The input decides which: so the same input always does the same,
//! and together the inputs of a run reach all of them.

use super::guidance::number;
use crate::case::Generated;
use crate::operator::Expectation;
use crate::runtime::RuntimeId;

/// How the part is chosen.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// The place of each row among the configurations of its release; `None` if every input has its whole examination.
    places: Option<Vec<Place>>,
}

/// The place of a row among the configurations of its release.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The first row of the release.
    release: usize,
    number: usize,
    of: usize,
}

/// What was chosen for a case.
#[derive(Clone, Debug)]
pub(super) enum Chosen {
    /// The whole examination.
    All,
    /// Every configuration, to compare them with each other, and no variant.
    Configurations,
    /// These rows, and one variant: that of this number, divided by the number of variants.
    Part { rows: Vec<bool>, variant: usize },
}

/// Of the cases in which the specification leaves room, one in so many is run on every configuration.
const COMPARED: usize = 4;

impl Choice {
    /// Every input has its whole examination.
    pub(super) fn all() -> Choice {
        Choice { places: None }
    }

    /// One configuration of each release of these rows.
    pub(super) fn new(ids: &[RuntimeId]) -> Choice {
        let place = |id: &RuntimeId| {
            let rows: Vec<usize> = (0..ids.len()).filter(|&row| ids[row].is_release_of(id)).collect();
            let number = rows.iter().position(|&row| ids[row] == *id).unwrap_or(0);
            Place { release: rows[0], number, of: rows.len() }
        };
        Choice { places: Some(ids.iter().map(place).collect()) }
    }

    /// The choice for a case.
    pub(super) fn of(&self, generated: &Generated) -> Chosen {
        let Some(places) = &self.places else { return Chosen::All };
        let draw =
            |what: usize, of: usize| usize::try_from(number((&generated.case, what)) % of.max(1) as u64).unwrap_or(0);
        let has_room = matches!(generated.expectation, Expectation::Unspecified { .. });
        if has_room && draw(places.len(), COMPARED) == 0 {
            return Chosen::Configurations;
        }
        let rows = places.iter().map(|place| draw(place.release, place.of) == place.number).collect();
        Chosen::Part { rows, variant: draw(places.len() + 1, usize::MAX) }
    }
}

impl Chosen {
    pub(super) fn has_row(&self, row: usize) -> bool {
        match self {
            Chosen::All | Chosen::Configurations => true,
            Chosen::Part { rows, .. } => rows[row],
        }
    }

    pub(super) fn has_variant(&self, number: usize, of: usize) -> bool {
        match self {
            Chosen::All => true,
            Chosen::Configurations => false,
            Chosen::Part { variant, .. } => variant % of == number,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::runtime;

    fn generated(case: &str) -> Generated {
        Generated::given(case.parse().unwrap())
    }

    #[test]
    fn together_the_inputs_reach_every_configuration_and_every_variant() {
        let runtimes = runtime::open(&runtime::select(Some("in-house,tract")).unwrap()).unwrap();
        let ids = runtime::ids(&runtimes);
        let choice = Choice::new(&ids);
        let rows = |chosen: &Chosen| (0..ids.len()).filter(|&row| chosen.has_row(row)).collect::<Vec<usize>>();
        let variants = |chosen: &Chosen| (0..5).filter(|&number| chosen.has_variant(number, 5)).collect::<Vec<usize>>();
        let mut reached = BTreeSet::new();
        for size in 0..20 {
            let sound = generated(&format!("Shape@28 float[{size}]"));
            let chosen = rows(&choice.of(&sound));
            assert_eq!(chosen.len(), 2, "one of each release");
            assert_eq!(chosen, rows(&choice.of(&sound)), "the same input does the same");
            reached.extend(chosen);
        }
        assert_eq!(reached.len(), ids.len());
        let mut reached = BTreeSet::new();
        for size in 1..60 {
            let open = generated(&format!("Reshape@28 allowzero=-1 float[{size}] int64[1]{{{size}}}"));
            assert!(matches!(open.expectation, Expectation::Unspecified { .. }));
            let chosen = choice.of(&open);
            let (rows, variants) = (rows(&chosen).len(), variants(&chosen));
            assert!((rows, variants.len()) == (2, 1) || (rows, variants.len()) == (ids.len(), 0), "{chosen:?}");
            reached.extend(variants);
        }
        assert_eq!(reached.len(), 5);
        let all = Choice::all().of(&generated("Shape@28 float[2]"));
        assert_eq!((rows(&all).len(), variants(&all).len()), (ids.len(), 5));
    }
}
