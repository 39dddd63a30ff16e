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

/// The reasons that fit a rule.
const fn fitting(rule: Rule) -> &'static [Reason] {
    match rule {
        Rule::UndeclaredAttribute | Rule::AttributeKind | Rule::DuplicateAttribute => &[Reason::Attribute],
        Rule::InputCount | Rule::EmptyInput => &[Reason::Inputs],
        Rule::MissingShape => &[Reason::Attribute, Reason::Inputs],
        Rule::ElementType | Rule::ShapeType | Rule::ConstantType => &[Reason::ElementType],
        Rule::AxisRange | Rule::NegativeAxis | Rule::ScalarAxis => &[Reason::Value],
        Rule::ShapeRank => &[Reason::Value, Reason::Inference],
        Rule::VastDims => &[Reason::Size, Reason::Value],
        // Many a runtime finds out by comparing the products.
        Rule::SeveralInferred
        | Rule::BelowMinusOne
        | Rule::ZeroPastRank
        | Rule::ElementCount
        | Rule::NotDivisible
        | Rule::ZeroAndInferred
        | Rule::CopiedZeroAndInferred
        | Rule::AllowzeroValue => &[Reason::Value, Reason::Size, Reason::Inference],
        Rule::NotInOpset | Rule::Unranked => &[Reason::Graph],
    }
}

/// How the reason of a failure stands to a rule; nothing if it is no refusal.
pub fn fit(rule: Rule, outcome: &Outcome) -> Option<Fit> {
    match outcome {
        Outcome::Refused { reason: Reason::Unstated, .. } | Outcome::Unclassified { .. } => Some(Fit::Unstated),
        Outcome::Refused { reason, .. } if fitting(rule).contains(reason) => Some(Fit::Fits),
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
            (Rule::InputCount, refused(Reason::Inputs), Some(Fit::Fits)),
            (Rule::InputCount, refused(Reason::Value), Some(Fit::Other)),
            (Rule::ElementCount, refused(Reason::Size), Some(Fit::Fits)),
            (Rule::ElementCount, refused(Reason::Data), Some(Fit::Other)),
            (Rule::ElementCount, refused(Reason::Unstated), Some(Fit::Unstated)),
            (Rule::ElementCount, Outcome::Unclassified { stage: Stage::Run }, Some(Fit::Unstated)),
            (Rule::ElementCount, Outcome::Answer(vec![]), None),
        ] {
            assert_eq!(fit(rule, &outcome), expected, "{rule} {outcome:?}");
        }
    }
}
