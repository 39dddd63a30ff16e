//! What differs between two releases of a runtime: newly broken, newly fixed, and whatever else changed.

use std::collections::{BTreeMap, BTreeSet};

use super::minimize::reduce;
use crate::campaign::{Examination, examine_all};
use crate::case::{Case, Generated};
use crate::runtime::{self, Runtime, RuntimeId};
use crate::tensor::ElementType;
use crate::verdict::{Judgement, is_about_the_rule, reaction, same_reaction};

/// How a change is to be taken. The worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It was not wrong, and is now.
    Broken,
    /// It could do it, and cannot now.
    Dropped,
    /// It could not do it, and can now, but wrongly.
    AddedWrong,
    /// It is wrong in another way.
    WrongOtherwise,
    /// It was wrong, and is not now.
    Fixed,
    /// It could not do it, and can now.
    Added,
    /// It does something else, and neither is wrong.
    Changed,
}

/// A change, whatever the values in which it shows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    pub kind: Kind,
    pub operator: &'static str,
    pub before: String,
    pub after: String,
}

/// Where a change shows.
#[derive(Clone, Debug)]
pub struct Drift {
    /// The shortest case that shows it; minimized by [`Comparison::minimize`].
    pub case: Case,
    pub count: u64,
    pub versions: BTreeSet<u8>,
    /// Of the data.
    pub types: BTreeSet<ElementType>,
    pub configurations: BTreeSet<String>,
}

/// One release of a runtime, in its configurations.
type Release = (Vec<RuntimeId>, Vec<Box<dyn Runtime>>);

/// Two releases, and what is known to differ between them.
#[expect(missing_debug_implementations, reason = "a runtime is anything that executes")]
pub struct Comparison {
    before: Release,
    after: Release,
    pub cases: u64,
    pub drifts: BTreeMap<Change, Drift>,
}

impl Kind {
    pub const ALL: [Kind; 7] =
        [Kind::Broken, Kind::Dropped, Kind::AddedWrong, Kind::WrongOtherwise, Kind::Fixed, Kind::Added, Kind::Changed];

    pub const fn title(self) -> &'static str {
        match self {
            Kind::Broken => "Newly broken",
            Kind::Dropped => "No longer supported",
            Kind::AddedWrong => "Newly supported, and wrong",
            Kind::WrongOtherwise => "Wrong in another way",
            Kind::Fixed => "Newly fixed",
            Kind::Added => "Newly supported",
            Kind::Changed => "Changed, and neither is wrong",
        }
    }

    fn of(before: &Judgement, after: &Judgement) -> Kind {
        use Judgement::{Unsupported, Wrong};
        match (before, after) {
            (Wrong(_), Wrong(_)) => Kind::WrongOtherwise,
            (Unsupported(_), Wrong(_)) => Kind::AddedWrong,
            (_, Wrong(_)) => Kind::Broken,
            (Unsupported(_), Unsupported(_)) => Kind::Changed,
            (_, Unsupported(_)) => Kind::Dropped,
            (Wrong(_), _) => Kind::Fixed,
            (Unsupported(_), _) => Kind::Added,
            _ => Kind::Changed,
        }
    }
}

impl Comparison {
    /// Two releases whose configurations have the same names.
    pub fn new(before: Vec<Box<dyn Runtime>>, after: Vec<Box<dyn Runtime>>) -> Comparison {
        let with_ids = |runtimes: Vec<Box<dyn Runtime>>| (runtime::ids(&runtimes), runtimes);
        Comparison { before: with_ids(before), after: with_ids(after), cases: 0, drifts: BTreeMap::new() }
    }

    /// Runs cases on both, and keeps what differs.
    pub fn add(&mut self, cases: &[Generated]) {
        self.cases += cases.len() as u64;
        for (generated, changes) in cases.iter().zip(self.changes(cases)) {
            let case = &generated.case;
            for (configuration, change) in changes {
                let drift = self.drifts.entry(change).or_insert_with(|| Drift {
                    case: case.clone(),
                    count: 0,
                    versions: BTreeSet::new(),
                    types: BTreeSet::new(),
                    configurations: BTreeSet::new(),
                });
                drift.count += 1;
                drift.versions.extend(case.operator.version_at(case.opset).map(|version| version.since));
                drift.types.extend(case.operands.first().and_then(|data| data.as_ref().map(|data| data.element_type)));
                drift.configurations.insert(configuration);
                if case.to_string().len() < drift.case.to_string().len() {
                    drift.case = case.clone();
                }
            }
        }
    }

    /// Brings the case of each change down to one from which no single step can be taken.
    /// `progress` hears how many changes are done.
    pub fn minimize(&mut self, progress: &dyn Fn(usize, usize)) {
        let mut drifts = std::mem::take(&mut self.drifts);
        let total = drifts.len();
        for (done, (change, drift)) in drifts.iter_mut().enumerate() {
            progress(done, total);
            let mut shows = |case: &Case| {
                let changes = self.changes(&[Generated::given(case.clone())]).concat();
                changes.iter().any(|(_, shown)| shown == change)
            };
            drift.case = reduce(drift.case.clone(), &mut shows);
        }
        self.drifts = drifts;
    }

    /// What differs in each case, by configuration.
    fn changes(&mut self, cases: &[Generated]) -> Vec<Vec<(String, Change)>> {
        let examine = |(ids, runtimes): &mut Release| examine_all(cases, runtimes, ids);
        let (before, after) = (examine(&mut self.before), examine(&mut self.after));
        let each = cases.iter().zip(before.iter().zip(&after));
        each.map(|(generated, (before, after))| self.changes_of(generated, before, after)).collect()
    }

    fn changes_of(&self, generated: &Generated, before: &Examination, after: &Examination) -> Vec<(String, Change)> {
        let place = |id: &RuntimeId| self.after.0.iter().position(|other| other.configuration == id.configuration);
        let pairs = self.before.0.iter().enumerate().filter_map(|(index, id)| Some((index, place(id)?)));
        let changed = pairs.filter(|&(one, other)| {
            let outcomes = (&before.executions[one].outcome, &after.executions[other].outcome);
            before.judgements[one] != after.judgements[other] || !same_reaction(outcomes.0, outcomes.1)
        });
        changed
            .map(|(one, other)| {
                let kind = Kind::of(&before.judgements[one], &after.judgements[other]);
                let after = match kind {
                    // What it does with what it could not do before is one change, however much of it there is.
                    Kind::Added => "supported".to_owned(),
                    _ => in_words(generated, after, other),
                };
                let (operator, before) = (generated.case.operator.name, in_words(generated, before, one));
                let change = Change { kind, operator, before, after };
                (self.before.0[one].configuration.clone(), change)
            })
            .collect()
    }
}

/// What a runtime did and what is thought of it, without values.
pub fn in_words(generated: &Generated, examination: &Examination, index: usize) -> String {
    let outcome = reaction(&examination.executions[index].outcome);
    let outcome = if outcome.is_empty() { "answers" } else { outcome };
    match &examination.judgements[index] {
        Judgement::Agrees => format!("agrees: {outcome}"),
        Judgement::Tolerated(_) => format!("tolerated: {outcome}"),
        Judgement::Unsupported(_) => format!("unsupported: {outcome}"),
        Judgement::Wrong(found) => {
            let sentences: Vec<&str> = found.iter().map(|discrepancy| discrepancy.sentence()).collect();
            let rule = generated.expectation.rule().filter(|_| is_about_the_rule(found));
            let rule = rule.map_or_else(String::new, |rule| format!(" ({rule})"));
            format!("wrong{rule}: {}: {outcome}", sentences.join(" and "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Generator;
    use crate::runtime::liar::{liar, short_shape, swapped_flatten};

    fn compared(before: &[crate::runtime::liar::Fault], after: &[crate::runtime::liar::Fault]) -> Comparison {
        let mut comparison = Comparison::new(vec![liar(before).unwrap()], vec![liar(after).unwrap()]);
        let generator = Generator::default();
        let cases: Vec<Generated> = (0..500).map(|index| generator.case(3, index)).collect();
        comparison.add(&cases);
        comparison.minimize(&|_, _| {});
        comparison
    }

    #[test]
    fn what_broke_and_what_was_fixed_is_found_and_minimized() {
        let found: Vec<String> = compared(&[short_shape], &[swapped_flatten])
            .drifts
            .iter()
            .map(|(change, drift)| format!("{}: {}", change.kind.title(), drift.case))
            .collect();
        let expected = ["Newly broken: Flatten@28 float[0]", "Newly fixed: Shape@28 float[1,1,1]"];
        assert!(expected.iter().all(|&change| found.contains(&change.to_owned())), "{found:?}");
        assert!(!found.iter().any(|change| change.contains("Reshape")), "{found:?}");
    }

    #[test]
    fn two_equal_releases_do_not_differ() {
        let same = compared(&[short_shape], &[short_shape]);
        assert!(same.drifts.is_empty() && same.cases == 500, "{:?}", same.drifts);
    }
}
