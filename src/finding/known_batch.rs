//! Known issues of batches: cases that go wrong as the nodes of one model, though each is right alone.

use serde::{Deserialize, Serialize};

use super::State;
use super::known::may_show_on;
use crate::campaign::{traits_of, wrong_together};
use crate::case::{Case, Features};
use crate::files::sha256;
use crate::runtime::{Runtime, RuntimeId};

/// One known issue that shows only where several cases are in one model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownBatch {
    pub id: String,
    /// What is wrong, in one sentence.
    pub wrong: String,
    /// The root cause, in one paragraph.
    pub cause: String,
    /// Where it is reported upstream, or `not reported`.
    pub link: String,
    #[serde(default)]
    pub state: State,
    /// The name of the runtime.
    pub runtime: String,
    /// What it does with the model.
    pub what: String,
    /// The first and the last version known to have it.
    pub first_version: String,
    pub last_version: String,
    /// The smallest and simplest such cases.
    pub cases: Vec<String>,
}

impl KnownBatch {
    /// An entry for what goes wrong together on a runtime, with what only a person can say left to be filled in.
    pub fn of(id: &RuntimeId, what: &str, cases: &[Case]) -> KnownBatch {
        let hash = sha256(format!("{} | {what} | {}", id.name, traits_of(cases)).as_bytes());
        KnownBatch {
            id: format!("{}-together-{hash:.6}", id.name),
            wrong: "to be written: what is wrong, in one sentence".to_owned(),
            cause: "to be written: the root cause".to_owned(),
            link: "not reported".to_owned(),
            state: State::Open,
            runtime: id.name.clone(),
            what: what.to_owned(),
            first_version: id.version.clone(),
            last_version: id.version.clone(),
            cases: cases.iter().map(Case::to_string).collect(),
        }
    }

    /// Its cases.
    ///
    /// # Panics
    /// If one cannot be read, which a ledger that was loaded rules out.
    pub fn cases(&self) -> Vec<Case> {
        let read = |line: &String| line.parse().unwrap_or_else(|error| panic!("a case of {}: {error}", self.id));
        self.cases.iter().map(read).collect()
    }

    /// Whether the entry is about this runtime, and was not fixed before its version.
    pub fn may_show_on(&self, id: &RuntimeId) -> bool {
        may_show_on(&self.runtime, &self.last_version, id)
    }

    /// Whether it explains what a runtime does wrong with cases in one model, of which none can be left out: it says the same of
    /// them, and each has all the features of one of its own.
    pub fn explains(&self, id: &RuntimeId, what: &str, cases: &[Case]) -> bool {
        let own = self.cases();
        self.may_show_on(id) && self.what == what && own.len() == cases.len() && are_within(&own, cases)
    }

    /// Whether it shows on a runtime.
    pub fn shows(&self, runtime: &mut dyn Runtime) -> bool {
        self.may_show_on(runtime.id()) && wrong_together(&self.cases(), runtime).is_some_and(|what| what == self.what)
    }
}

/// Whether each of some cases has its features within those of another one of as many.
fn are_within(own: &[Case], others: &[Case]) -> bool {
    let Some((first, rest)) = own.split_first() else { return true };
    let is_like =
        |other: &Case| other.subject() == first.subject() && Features::of(first).are_within(&Features::of(other));
    (0..others.len()).filter(|&place| is_like(&others[place])).any(|place| {
        let mut left = others.to_vec();
        left.remove(place);
        are_within(rest, &left)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_explains_those_that_have_all_of_it_and_no_others() {
        let id = RuntimeId { name: "liar".to_owned(), version: "0".to_owned(), configuration: String::new() };
        let cases = |lines: &[&str]| lines.iter().map(|line| line.parse().unwrap()).collect::<Vec<Case>>();
        let known = KnownBatch::of(&id, "panics", &cases(&["Flatten@28 float[0]", "Shape@28 float[1]"]));
        let explains = |what: &str, lines: &[&str]| known.explains(&id, what, &cases(lines));
        assert!(explains("panics", &["Shape@28 int8[1]", "Flatten@28 float[0,2]"]), "in any order");
        assert!(!explains("refuses", &["Shape@28 int8[1]", "Flatten@28 float[0,2]"]));
        assert!(!explains("panics", &["Shape@28 int8[1]", "Flatten@28 float[1]"]), "no zero");
        assert!(!explains("panics", &["Flatten@28 float[0]"]));
        assert!(!explains("panics", &["Flatten@28 float[0]", "Flatten@28 float[0]"]));
        let other = RuntimeId { name: "tract".to_owned(), ..id.clone() };
        assert!(!known.explains(&other, "panics", &known.cases()));
    }
}
