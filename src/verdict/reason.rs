//! Whether a runtime refuses a case because of the rule that the case breaks, as far as its message says.

use crate::operator::Rule;
use crate::runtime::{Outcome, Reason};

/// Whether the reason of a refusal fits the rule that the case breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The reason fits the rule.
    Fits,
    /// The reason is another one. The refusal is right, but does not show that the runtime checks the rule.
    Other,
    /// The runtime gives no reason, or its message is in no table.
    Unstated,
}

/// Whether the reason of a refusal fits a rule; `None` if the outcome is no refusal.
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
