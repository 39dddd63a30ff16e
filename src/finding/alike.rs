//! Puts together the new findings that look like one cause.
//!
//! One defect may show in several ways: other dims in one case, a refusal in the next, and with each operator that follows it in a
//! graph. So the case of a finding is reduced further, for as long as the release is wrong in any way that may have the same cause.
//! The result is the core of the finding. If the features of one core are among those of another, both findings look like one cause.

use super::{Finding, Probe, Sighting};
use crate::campaign::Trigger;
use crate::case::{Case, Features, shrink, with_an_identity};
use crate::verdict::{Mismatch, Severity};

/// The simplest case that was reached from a finding where the release is still wrong, by its features and by how it is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core {
    mismatch: Mismatch,
    features: Features,
}

impl Core {
    fn of_finding(finding: &Finding) -> Core {
        Core { mismatch: finding.trigger.mismatch.clone(), features: Features::of(&finding.case) }
    }

    /// Whether a case with the features of `other` has those of this core too.
    fn is_in(&self, other: &Core) -> bool {
        self.mismatch.operator == other.mismatch.operator
            && self.mismatch.may_share_a_cause_with(&other.mismatch)
            && self.features.are_within(&other.features)
    }
}

/// The core of a finding. Known issues are none of its causes. The case of a finding that ends a process, or takes all of its time,
/// is not reduced further: each of its cases costs as much.
pub(super) fn core(finding: &Finding, known: &[Trigger], probe: &mut Probe) -> Core {
    let mismatch = &finding.trigger.mismatch;
    let release = &mismatch.runtime;
    if mismatch.is_costly() {
        return Core::of_finding(finding);
    }
    // A wrong answer to a valid case is better evidence than an invalid case that is accepted.
    let is_accepted = mismatch.severity() >= Severity::AcceptsInvalid;
    let may_be_it = |shown: &Mismatch| {
        shown.may_share_a_cause_with(mismatch) || is_accepted && shown.is_plainly_wrong() && shown.runtime == *release
    };
    let wrong = |case: &Case, sighting: &Sighting| {
        let shown = sighting.configurations.iter().flat_map(|(_, shown, _)| shown);
        let like: Vec<&Mismatch> = shown.filter(|shown| may_be_it(shown)).collect();
        // The features take long for a large graph.
        let features = like.first().map(|_| Features::of(case))?;
        let is_new = |shown: &&Mismatch| !known.iter().any(|issue| issue.explains(shown, &features));
        let mismatch = like.into_iter().find(is_new)?.clone();
        Some(Core { mismatch, features })
    };
    let is_wrong = |case: &Case, sighting: &Sighting| wrong(case, sighting).is_some();
    probe.believing(|probe| {
        let mut case = finding.case.clone();
        loop {
            case = shrink::from_simplest(&case, &mut |cases| probe.first_that(cases, release, &is_wrong));
            // A defect that an Identity shows does not belong to the operator.
            let mut plain = with_an_identity(&case);
            match probe.first_that(&plain, release, &is_wrong) {
                Some(place) => case = plain.swap_remove(place),
                None => break,
            }
        }
        let sighting = probe.look(&case, release);
        sighting.and_then(|sighting| wrong(&case, &sighting)).unwrap_or_else(|| Core::of_finding(finding))
    })
}

/// For each finding, the place of the one that stands for all that look like the same cause: the most severe one, with the fewest
/// features.
pub fn alike(findings: &[&Finding]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..findings.len()).collect();
    order.sort_by_key(|&place| findings[place].core.as_ref().map(|core| core.features.weight()));
    // Each list begins with the place of the finding whose core explains the others.
    let mut causes: Vec<Vec<usize>> = Vec::new();
    for place in order {
        let explains = |leader: usize| {
            let cores = findings[leader].core.as_ref().zip(findings[place].core.as_ref());
            cores.is_some_and(|(leading, own)| leading.is_in(own))
        };
        match causes.iter_mut().find(|cause| explains(cause[0])) {
            Some(cause) => cause.push(place),
            None => causes.push(vec![place]),
        }
    }
    let mut standing: Vec<usize> = (0..findings.len()).collect();
    for cause in causes {
        let weight = |place: &usize| {
            let finding = findings[*place];
            (finding.severity(), finding.trigger.features.weight(), finding.case.to_string().len(), *place)
        };
        let best = cause.iter().copied().min_by_key(weight);
        for place in cause {
            standing[place] = best.unwrap_or(place);
        }
    }
    standing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{open, select};

    #[test]
    fn a_core_is_valid_if_it_can_be_and_no_known_issue() {
        let row = select(Some("planted/concat-negative-axis-too-low")).unwrap();
        let mut probe = Probe::new(open(&row).unwrap());
        let case: Case = "Concat@28 axis=-1 float[2,1] float[1,1]".parse().unwrap();
        let mismatch = probe.look(&case, "planted").unwrap().configurations[0].1[0].clone();
        assert_eq!(mismatch.severity(), Severity::AcceptsInvalid);
        let finding = Finding::as_drawn(Trigger::new(mismatch, Features::of(&case)), case, 1);
        let first = core(&finding, &[], &mut probe);
        assert!(first.mismatch.is_plainly_wrong(), "{first:?}");
        let known = Trigger::new(first.mismatch.clone(), first.features.clone());
        let second = core(&finding, std::slice::from_ref(&known), &mut probe);
        assert!(!known.explains(&second.mismatch, &second.features), "{second:?}");
    }
}
