//! Tells new defects from known ones, one mismatch at a time.

use std::collections::HashMap;
use std::time::Duration;

use super::{Extent, Finding, Minimized, Probe, minimize};
use crate::campaign::Trigger;
use crate::case::{Case, Features};
use crate::verdict::Mismatch;

/// Sorts mismatches into known defects and new ones, one at a time.
#[derive(Clone, Debug, Default)]
pub struct Sorter {
    known: Vec<Trigger>,
    /// Further triggers that were minimized to a known defect, each with the place of the defect in `known`.
    seen: Vec<(Trigger, usize)>,
    /// By mismatch and features: the place in `known` of the defect to which such a case was minimized.
    minimized: HashMap<Mismatch, HashMap<Features, usize>>,
}

/// The defect that a mismatch belongs to.
#[derive(Debug)]
pub enum Sorted {
    /// The defect at this place among the known ones.
    Known(usize),
    /// A new defect. From now on it is known, at the next place. Its count is 0.
    New(Box<Finding>),
}

/// The time limit for measuring the extent of a finding whose cases end a process or take all of their time.
const COSTLY: Duration = Duration::from_secs(2);

impl Sorter {
    pub fn new(known: Vec<Trigger>) -> Sorter {
        Sorter { known, ..Sorter::default() }
    }

    /// Sorts the mismatch of a case. If a trigger of a known defect explains it, it is that defect. If not, the case is
    /// minimized, and the minimized case, or a part of it that may cause the mismatch, is compared with the known defects. The
    /// extent of a new defect is measured.
    pub fn sort(&mut self, case: &Case, mismatch: &Mismatch, features: &Features, probe: &mut Probe) -> Sorted {
        if let Some(place) = self.explaining(mismatch, features) {
            return Sorted::Known(place);
        }
        let minimized = minimize(case, mismatch, probe);
        let minimized = minimized.known_part(&self.known, probe).unwrap_or(minimized);
        let mut sorted = self.enter(mismatch, features, minimized);
        if let Sorted::New(finding) = &mut sorted {
            finding.measure_extent(probe);
        }
        sorted
    }

    /// Whether a mismatch is explained without minimizing its case.
    pub fn explains(&self, mismatch: &Mismatch, features: &Features) -> bool {
        self.explaining(mismatch, features).is_some()
    }

    /// The place of the known defect whose trigger explains a mismatch.
    pub(super) fn explaining(&self, mismatch: &Mismatch, features: &Features) -> Option<usize> {
        let seen = self.seen.iter().find(|(trigger, _)| trigger.explains(mismatch, features)).map(|(_, place)| *place);
        let known = || self.known.iter().position(|known| known.explains(mismatch, features));
        let minimized = || self.minimized.get(mismatch)?.get(features).copied();
        seen.or_else(known).or_else(minimized)
    }

    /// Sorts a mismatch that no trigger explains and that was minimized. The extent of a new defect is not measured.
    pub(super) fn enter(&mut self, mismatch: &Mismatch, features: &Features, minimized: Minimized) -> Sorted {
        let shown = &minimized.mismatch;
        let trigger = Trigger::new(shown.clone(), minimized.features);
        let known = self.known.iter().position(|known| known.explains_all_of(&trigger));
        let place = known.unwrap_or(self.known.len());
        if mismatch.is_failure() || mismatch.is_refusal() {
            // The message of the runtime is evidence enough: a minimized graph may have another message than this one.
            if known.is_some() || shown != mismatch {
                self.seen.push((Trigger::new(mismatch.clone(), trigger.features.clone()), place));
            }
        } else if known.is_some_and(|place| features.weight() >= self.known[place].features.weight()) {
            // Features of less weight than those of the defect would cover more than the defect.
            self.seen.push((Trigger::new(mismatch.clone(), features.clone()), place));
        }
        self.minimized.entry(mismatch.clone()).or_default().insert(features.clone(), place);
        if known.is_some() {
            return Sorted::Known(place);
        }
        self.known.push(trigger.clone());
        Sorted::New(Box::new(Finding {
            extent: Extent::default(),
            trigger,
            case: minimized.case,
            count: 0,
            executions: minimized.executions,
            message: minimized.message,
            pass: None,
            core: None,
        }))
    }
}

impl Finding {
    /// The place of the known defect that explains the finding, or that explains a part of its graph which may cause it.
    pub fn place_among(&self, known: &[Trigger], probe: &mut Probe) -> Option<usize> {
        known.iter().position(|known| self.is_known_as(known)).or_else(|| {
            let minimized = Minimized {
                case: self.case.clone(),
                mismatch: self.trigger.mismatch.clone(),
                features: self.trigger.features.clone(),
                executions: self.executions,
                message: self.message.clone(),
            };
            let part = minimized.known_part(known, probe)?;
            let part = Trigger::new(part.mismatch, part.features);
            known.iter().position(|known| known.explains_all_of(&part))
        })
    }

    /// Measures where else the finding shows. It takes some fifty runs.
    pub(super) fn measure_extent(&mut self, probe: &mut Probe) {
        let mismatch = &self.trigger.mismatch;
        let time = if mismatch.is_costly() { COSTLY } else { Duration::MAX };
        self.extent = probe.believing(|probe| Extent::measure(&self.case, mismatch, probe, time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::planted;

    #[test]
    fn a_case_with_the_features_of_one_that_was_minimized_is_not_minimized_again() {
        let mut probe = Probe::new(vec![planted::named("short-shape").unwrap()]);
        let plain: Case = "Shape@15 float16[2,3,4]".parse().unwrap();
        let mismatch = probe.look(&plain, "planted").unwrap().configurations[0].1[0].clone();
        let minimized = minimize(&plain, &mismatch, &mut probe);
        // A defect with more features than the case, so that the case cannot stand for it.
        let special = "Shape@15 start=1 float16[2,3,0]:input(symbolic)".parse::<Case>().unwrap();
        let special = Features::of(&special);
        let features = Features::of(&plain);
        assert!(features.weight() < special.weight());
        let mut sorter = Sorter::new(vec![Trigger::new(mismatch.clone(), special.clone())]);
        assert_eq!(sorter.explaining(&mismatch, &features), None);
        let entered = sorter.enter(&mismatch, &features, Minimized { features: special, ..minimized });
        assert!(matches!(entered, Sorted::Known(0)));
        assert_eq!(sorter.explaining(&mismatch, &features), Some(0));
    }
}
