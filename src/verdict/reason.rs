//! Whether a runtime refuses for the rule that a case breaks, as far as its words tell.

use crate::operator::Rule;
use crate::runtime::{Outcome, Reason};

/// How the reason of a refusal stands to the rule that the case breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It may well be that rule.
    Fits,
    /// It is another one: the refusal is right, and does not show that the rule is checked.
    Other,
    /// The runtime does not say, or in words that no table knows.
    Unstated,
}

/// How the reason of a failure stands to a rule; nothing if it is no refusal.
pub fn fit(rule: Rule, outcome: &Outcome) -> Option<Fit> {
    match outcome {
        Outcome::Refused { reason: Reason::Unstated, .. } | Outcome::Unclassified { .. } => Some(Fit::Unstated),
        Outcome::Refused { reason, .. } if rule.text().topics.iter().any(|&topic| Reason::from(topic) == *reason) => {
            Some(Fit::Fits)
        }
        Outcome::Refused { .. } => Some(Fit::Other),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Stage;

    #[test]
    fn a_refusal_for_something_else_is_told_from_one_for_the_rule() {
        let refused = |reason| Outcome::Refused { stage: Stage::Load, reason };
        for (rule, outcome, expected) in [
            (Rule::INPUT_COUNT, refused(Reason::Inputs), Some(Fit::Fits)),
            (Rule::INPUT_COUNT, refused(Reason::Value), Some(Fit::Other)),
            (Rule::MISSING_SHAPE, refused(Reason::Attribute), Some(Fit::Fits)),
            (Rule::MISSING_SHAPE, refused(Reason::Value), Some(Fit::Other)),
            (Rule::ELEMENT_COUNT, refused(Reason::Size), Some(Fit::Fits)),
            (Rule::ELEMENT_COUNT, refused(Reason::Data), Some(Fit::Other)),
            (Rule::ELEMENT_COUNT, refused(Reason::Unstated), Some(Fit::Unstated)),
            (Rule::ELEMENT_COUNT, Outcome::Unclassified { stage: Stage::Run }, Some(Fit::Unstated)),
            (Rule::ELEMENT_COUNT, Outcome::Answer(vec![]), None),
        ] {
            assert_eq!(fit(rule, &outcome), expected, "{rule} {outcome:?}");
        }
    }
}
