//! Cases with the same expectation as a given one and one special thing more. Where a defect does not show in one of them, the
//! absence of that thing belongs to what triggers the defect.

use super::{Case, Declared, Encoding, Generated, Wiring};

/// The complications of a case.
pub fn complications(case: &Case) -> Vec<Case> {
    let expectation = Generated::given(case.clone()).expectation;
    let all = in_the_model(case).chain(other_entries(case));
    all.filter(|other| Generated::given(other.clone()).expectation == expectation).collect()
}

/// What is fed is part of the model: one operand at a time.
fn in_the_model(case: &Case) -> impl Iterator<Item = Case> {
    let is_fed = |place: &usize| {
        case.operands[*place].as_ref().is_some_and(|operand| operand.wiring == Wiring::Input(Declared::Static))
    };
    (0..case.operands.len()).filter(is_fed).map(|place| {
        let mut other = case.clone();
        other.operands[place].iter_mut().for_each(|operand| operand.wiring = Wiring::Initializer(Encoding::Raw));
        other
    })
}

/// An entry of the target shape is inferred, or copied.
fn other_entries(case: &Case) -> impl Iterator<Item = Case> {
    let target = case.target().unwrap_or_default();
    let fixed: Vec<usize> = (0..target.len()).filter(|&entry| target[entry] > 0).take(MOST_ENTRIES).collect();
    let special: Vec<i64> = [-1, 0].into_iter().filter(|special| !target.contains(special)).collect();
    let changes =
        special.into_iter().flat_map(move |special| fixed.clone().into_iter().map(move |entry| (entry, special)));
    changes.map(move |(entry, special)| {
        let (mut other, mut target) = (case.clone(), target.clone());
        target[entry] = special;
        other.set_target(target);
        other
    })
}

/// So many entries are enough: what a defect does with one of them it does with the others.
const MOST_ENTRIES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complication_has_the_same_answer_and_more_to_it() {
        let lines = |line: &str| -> Vec<String> {
            complications(&line.parse().unwrap()).iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            lines("Reshape@28 float[2,3] int64[2]{2,3}"),
            [
                "Reshape@28 float[2,3]:initializer int64[2]{2,3}",
                "Reshape@28 float[2,3] int64[2]{2,3}:initializer",
                "Reshape@28 float[2,3] int64[2]{-1,3}",
                "Reshape@28 float[2,3] int64[2]{2,-1}",
                "Reshape@28 float[2,3] int64[2]{0,3}",
                "Reshape@28 float[2,3] int64[2]{2,0}",
            ]
        );
        assert_eq!(
            lines("Reshape@28 float[3]:input(symbolic) int64[1]{4}:initializer"),
            [""; 0],
            "no other is invalid"
        );
        assert_eq!(lines("Shape@28 float[3]:input(symbolic)"), [""; 0]);
    }
}
