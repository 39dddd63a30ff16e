//! Chooses the cases that are minimized.
//!
//! Most inputs that a runtime gets wrong show a known issue in a new combination of features, and only minimizing shows that. It
//! takes as long as some twenty inputs. So the more cases of a mismatch in a row were known issues, the fewer of the next ones are
//! minimized. A new process begins again, so an input that is run alone is always minimized.

use std::collections::HashMap;

use crate::verdict::Mismatch;

/// For each mismatch, which of its cases are minimized.
#[derive(Debug, Default)]
pub(super) struct Sampling {
    pauses: HashMap<Mismatch, Pause>,
}

#[derive(Debug, Default)]
struct Pause {
    /// The number of cases that were known issues, since the last new finding.
    known: u32,
    /// The number of cases that are still passed over.
    left: u32,
}

impl Sampling {
    /// Whether the next case of a mismatch is minimized.
    pub(super) fn takes(&mut self, mismatch: &Mismatch) -> bool {
        let Some(pause) = self.pauses.get_mut(mismatch) else { return true };
        let is_over = pause.left == 0;
        pause.left = pause.left.saturating_sub(1);
        is_over
    }

    /// Notes whether the case that was taken is a new finding. After `n` known issues in a row, `n - 1` cases are passed over.
    pub(super) fn note(&mut self, mismatch: &Mismatch, is_new: bool) {
        let pause = self.pauses.entry(mismatch.clone()).or_default();
        let known = if is_new { 0 } else { pause.known + 1 };
        *pause = Pause { known, left: known.saturating_sub(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Probe;
    use crate::runtime::planted;

    #[test]
    fn the_longer_a_mismatch_is_known_the_fewer_of_its_cases_are_taken_until_one_is_new() {
        let mut probe = Probe::new(vec![planted::named("short-shape").unwrap()]);
        let shown = probe.mismatches(&"Shape@15 float[2,3,4]".parse().unwrap());
        let mismatch = &shown[0].0;
        let mut sampling = Sampling::default();
        let taken = |sampling: &mut Sampling, is_new: &dyn Fn(usize) -> bool| {
            let take = |case: &usize| {
                let takes = sampling.takes(mismatch);
                if takes {
                    sampling.note(mismatch, is_new(*case));
                }
                takes
            };
            (0..16).filter(take).collect::<Vec<_>>()
        };
        assert_eq!(taken(&mut sampling, &|_| false), [0, 1, 3, 6, 10, 15]);
        assert_eq!(taken(&mut Sampling::default(), &|case| case == 6), [0, 1, 3, 6, 7, 8, 10, 13]);
        assert!(sampling.takes(&Mismatch { reaction: "another".into(), ..mismatch.clone() }));
    }
}
