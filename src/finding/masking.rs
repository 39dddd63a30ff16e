//! Measures how many other faults the known issues may hide.
//!
//! An issue explains a mismatch by the features of the case, which are coarser than the case. So a mismatch with another cause may
//! be mistaken for the issue. To measure how often, the mismatch of the issue is planted in cases that the runtime handles right.
//! A planted mismatch is hidden if a known issue explains it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Known, Ledger, Probe, Sighting};
use crate::campaign::Trigger;
use crate::case::{Case, Features, Generated, Generator};
use crate::operator::{Operator, OperatorName, Rule};
use crate::runtime::{Execution, RuntimeId};
use crate::verdict::{Discrepancy, Fit, Mismatch, fit};

/// The measurement for one known issue.
#[derive(Debug)]
pub struct Masking<'a> {
    pub known: Known<'a>,
    /// The number of cases in which its mismatch was planted.
    pub planted: usize,
    /// The number of these cases in which a known issue, this one or another, explains the mismatch.
    pub hidden: usize,
    /// The shortest case in which the mismatch is hidden.
    pub example: Option<String>,
}

impl Masking<'_> {
    /// The share that is hidden, in percent.
    #[expect(clippy::cast_precision_loss, reason = "a share is shown with two digits")]
    pub fn percent(&self) -> f64 {
        self.hidden as f64 * 100.0 / self.planted.max(1) as f64
    }
}

/// A group of cases in which a fault can be planted: an operator, and the rule of the expectation, if there is one.
type Field = (OperatorName, Option<Rule>);

/// A case on which a runtime shows no mismatch, except those by design.
struct Sound {
    case: Case,
    features: Features,
    by_design: Vec<Mismatch>,
}

/// Measures each issue that shows on the runtimes of the probe. For each operator, `cases` cases of the seed are drawn.
pub fn masking<'a>(
    ledger: &'a Ledger,
    probe: &mut Probe,
    operators: &[&'static Operator],
    seed: u64,
    cases: u64,
) -> Vec<Masking<'a>> {
    let by_issue = ledger.triggers(probe);
    let all: Vec<&Trigger> = by_issue.iter().flatten().collect();
    let releases: BTreeSet<&str> = all.iter().map(|trigger| trigger.mismatch.runtime.as_str()).collect();
    let mut measured = Vec::new();
    for release in releases {
        let sound = sound_cases(release, &all, probe, operators, seed, cases);
        for (known, own) in ledger.known().zip(&by_issue) {
            let Some(Trigger { mismatch, .. }) = own.iter().find(|own| own.mismatch.runtime == release) else {
                continue;
            };
            let fields =
                sound.iter().filter(|((operator, rule), _)| mismatch.concerns(operator) && mismatch.rule == *rule);
            let planted = fields.flat_map(|(&(operator, _), sound)| {
                sound.iter().map(move |sound| (Mismatch { operator, ..mismatch.clone() }, sound))
            });
            let beside: Vec<_> = planted.filter(|(planted, sound)| !sound.by_design.contains(planted)).collect();
            let hidden = beside.iter().filter(|(planted, sound)| is_explained(&all, planted, &sound.features));
            let hidden: Vec<String> = hidden.map(|(_, sound)| sound.case.to_string()).collect();
            let example = hidden.iter().min_by_key(|line| line.len()).cloned();
            measured.push(Masking { known, planted: beside.len(), hidden: hidden.len(), example });
        }
    }
    measured
}

/// The number of cases that are run together.
const AT_A_TIME: usize = 256;

fn sound_cases(
    release: &str,
    triggers: &[&Trigger],
    probe: &mut Probe,
    operators: &[&'static Operator],
    seed: u64,
    cases: u64,
) -> BTreeMap<Field, Vec<Sound>> {
    let mut sound: BTreeMap<Field, Vec<Sound>> = BTreeMap::new();
    for &operator in operators {
        let generator = Generator::new(vec![operator]);
        for first in (0..cases).step_by(AT_A_TIME) {
            let drawn: Vec<Generated> =
                (first..cases.min(first + AT_A_TIME as u64)).map(|index| generator.case(seed, index)).collect();
            let looked: Vec<Case> = drawn.iter().map(|generated| generated.case.clone()).collect();
            for (generated, sighting) in drawn.into_iter().zip(probe.look_all(&looked, release)) {
                let field = (operator.name, generated.expectation.rule());
                if let Some(case) = Sound::of(generated, &sighting, triggers) {
                    sound.entry(field).or_default().push(case);
                }
            }
        }
    }
    sound
}

impl Sound {
    /// Returns a case if it is supported and all of its mismatches are by design. If the case has a rule, a refusal must be for
    /// that rule: its reason must fit the rule, and it must not be a reaction with which a known issue refuses valid cases.
    fn of(generated: Generated, sighting: &Sighting, triggers: &[&Trigger]) -> Option<Sound> {
        let (case, rule) = (generated.case, generated.expectation.rule());
        let features = Features::of(&case);
        let is_by_design =
            |mismatch: &Mismatch| triggers.iter().any(|known| known.by_design && known.explains(mismatch, &features));
        let is_accident = |(id, execution): (&RuntimeId, &Execution)| {
            let Some(fit) = rule.and_then(|rule| fit(rule, &execution.outcome)) else { return false };
            let refusal = Mismatch::all(case.subject(), None, id, execution, &[Discrepancy::RefusesValid]);
            fit == Fit::Other
                || triggers.iter().any(|known| refusal.iter().any(|refusal| known.mismatch.is_that_of(refusal)))
        };
        let mut by_design = Vec::new();
        for (_, mismatches, is_unsupported) in &sighting.configurations {
            if *is_unsupported || !mismatches.iter().all(is_by_design) {
                return None;
            }
            by_design.extend(mismatches.iter().cloned());
        }
        let ids = sighting.configurations.iter().map(|(id, ..)| id);
        if ids.zip(&sighting.examination.executions).any(is_accident) {
            return None;
        }
        Some(Sound { case, features, by_design })
    }
}

fn is_explained(triggers: &[&Trigger], mismatch: &Mismatch, features: &Features) -> bool {
    triggers.iter().any(|known| known.explains(mismatch, features))
}
