//! Signatures, which distinguish one defect from another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::campaign::Trigger;
use crate::operator::{ANY, Rule};
use crate::verdict::{Discrepancy, Mismatch};

/// A mismatch, and the features of the minimized case that shows it. A person may keep only the features that matter. A signature
/// has no values, no versions of runtimes, and no types or opsets that do not matter.
///
/// It is written on one line: `RUNTIME | OPERATOR | DISCREPANCIES | [RULE |] [REACTION |] FEATURES`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Signature {
    /// The name of the runtime, without a version.
    pub runtime: String,
    /// The name of an operator, `graph` or `any`.
    pub operator: String,
    pub discrepancies: Vec<Discrepancy>,
    pub rule: Option<Rule>,
    /// See [`Mismatch::reaction`].
    pub reaction: String,
    /// The features as text, one word each: `rank>=2`, `!target-zero`.
    pub features: Vec<String>,
}

/// Why a text is no signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("a signature is `RUNTIME | OPERATOR | DISCREPANCIES | [RULE |] [REACTION |] FEATURES`; here are {0} parts")]
    Parts(usize),
    #[error("no discrepancy is called `{0}`")]
    Discrepancy(String),
}

const BETWEEN_PARTS: &str = " | ";
const BETWEEN_DISCREPANCIES: &str = "+";
const BETWEEN_FEATURES: &str = " ";

impl Signature {
    pub fn of(trigger: &Trigger) -> Signature {
        let Trigger { mismatch, features, .. } = trigger;
        Signature {
            runtime: mismatch.runtime_name().to_owned(),
            operator: mismatch.operator.to_owned(),
            discrepancies: mismatch.discrepancies.clone(),
            rule: mismatch.rule,
            reaction: mismatch.reaction.clone(),
            features: words(&features.to_string()),
        }
    }

    /// Whether it is a signature of a mismatch, whatever its features. The operator `any` fits every operator.
    pub fn is_of(&self, mismatch: &Mismatch) -> bool {
        (self.operator == mismatch.operator || self.operator == ANY)
            && self.runtime == mismatch.runtime_name()
            && (&self.discrepancies, self.rule) == (&mismatch.discrepancies, mismatch.rule)
            && self.reaction == mismatch.reaction
    }

    /// How much another signature of the same mismatch is like this one, where the operator and the features may differ: whether
    /// the operator is the same, and how many in a thousand of the features of both are shared. `None` for another mismatch.
    pub fn likeness(&self, other: &Signature) -> Option<(bool, usize)> {
        let is_it = self.runtime == other.runtime
            && (&self.discrepancies, self.rule) == (&other.discrepancies, other.rule)
            && self.reaction == other.reaction;
        let shared = self.features.iter().filter(|feature| other.features.contains(feature)).count();
        let all = self.features.len() + other.features.len() - shared;
        is_it.then(|| (self.operator == other.operator, shared * 1000 / all.max(1)))
    }
}

fn words(features: &str) -> Vec<String> {
    features.split(BETWEEN_FEATURES).map(str::to_owned).collect()
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let discrepancies: Vec<&str> = self.discrepancies.iter().map(|found| found.id()).collect();
        let (discrepancies, features) =
            (discrepancies.join(BETWEEN_DISCREPANCIES), self.features.join(BETWEEN_FEATURES));
        let rule = self.rule.map(Rule::id);
        let reaction = Some(self.reaction.as_str()).filter(|reaction| !reaction.is_empty());
        let parts =
            [Some(self.runtime.as_str()), Some(&self.operator), Some(&discrepancies), rule, reaction, Some(&features)];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(BETWEEN_PARTS))
    }
}

impl FromStr for Signature {
    type Err = SignatureError;

    /// The reaction has a runtime's own words, which may contain the separator of the parts. So the first three parts are read from
    /// the left, and the features from the right. The reaction begins with words of [`reaction`](crate::verdict::reaction), so it
    /// is not taken for a rule.
    fn from_str(text: &str) -> Result<Signature, SignatureError> {
        let parts: Vec<&str> = text.splitn(4, BETWEEN_PARTS).collect();
        let [runtime, operator, discrepancies, rest] = parts[..] else {
            return Err(SignatureError::Parts(parts.len()));
        };
        let discrepancy = |name: &str| name.parse().map_err(|_| SignatureError::Discrepancy(name.to_owned()));
        let (said, features) = rest.rsplit_once(BETWEEN_PARTS).unwrap_or(("", rest));
        let (first, others) = said.split_once(BETWEEN_PARTS).unwrap_or((said, ""));
        let (rule, reaction) = first.parse().map_or((None, said), |rule| (Some(rule), others));
        Ok(Signature {
            runtime: runtime.to_owned(),
            operator: operator.to_owned(),
            discrepancies: discrepancies.split(BETWEEN_DISCREPANCIES).map(discrepancy).collect::<Result<_, _>>()?,
            rule,
            reaction: reaction.to_owned(),
            features: words(features),
        })
    }
}

impl TryFrom<String> for Signature {
    type Error = SignatureError;

    fn try_from(text: String) -> Result<Signature, SignatureError> {
        text.parse()
    }
}

impl From<Signature> for String {
    fn from(signature: Signature) -> String {
        signature.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let made = |rule: Option<Rule>, reaction: &str, features: &str| Signature {
            runtime: "tract".to_owned(),
            operator: "Size".to_owned(),
            discrepancies: vec![Discrepancy::WrongValue, Discrepancy::WrongType],
            rule,
            reaction: reaction.to_owned(),
            features: words(features),
        };
        for (signature, text) in [
            (made(None, "", "rank>=1"), "tract | Size | wrong-value+wrong-type | rank>=1"),
            (made(None, "int64", "scalar !a"), "tract | Size | wrong-value+wrong-type | int64 | scalar !a"),
            (
                made(Some(Rule::AXIS_RANGE), "", "scalar !a"),
                "tract | Size | wrong-value+wrong-type | axis-range | scalar !a",
            ),
            (
                made(Some(Rule::AXIS_RANGE), "refuses: a | b |", "scalar"),
                "tract | Size | wrong-value+wrong-type | axis-range | refuses: a | b | | scalar",
            ),
            (
                made(None, "refuses: | axis-range", "scalar"),
                "tract | Size | wrong-value+wrong-type | refuses: | axis-range | scalar",
            ),
        ] {
            assert_eq!(signature.to_string(), text);
            assert_eq!(text.parse(), Ok(signature));
        }
    }

    #[test]
    fn what_is_no_signature_is_said() {
        let error = |text: &str| text.parse::<Signature>().unwrap_err();
        assert_eq!(error("tract | Size | panic"), SignatureError::Parts(3));
        assert_eq!(error("tract | Size | wrong | rank>=1"), SignatureError::Discrepancy("wrong".to_owned()));
    }
}
