//! Compares the answers of runtimes to the same model and inputs.

use crate::runtime::{Outcome, Output, RuntimeId};
use crate::tensor::{ElementType, Tensor, distance};

use super::Graph;

/// The tolerance between outputs, relative to the largest number of the tensor. It depends on the type and on the number of nodes
/// in a row before the output. Each runtime adds up sums in another order, and these errors add up as a random walk does.
pub fn tolerance(element_type: ElementType, depth: usize) -> f64 {
    let of_one = match element_type {
        ElementType::Double | ElementType::Complex128 => 1e-12,
        ElementType::Float | ElementType::Complex64 => 1e-5,
        ElementType::Float16 => 2e-3,
        ElementType::Bfloat16 => 1.6e-2,
        // Elements of other types must be equal.
        _ => return 0.0,
    };
    #[expect(clippy::cast_precision_loss, reason = "no model is so deep")]
    let depth = depth.max(1) as f64;
    (of_one * depth.sqrt()).min(MOST)
}

/// The largest tolerance, however deep the model is.
const MOST: f64 = 0.1;

/// The answers that agree with each other.
#[derive(Clone, Debug)]
pub struct Group {
    /// The places of the runtimes.
    pub members: Vec<usize>,
    /// How far the answer of each is from that of the first, as a part of the largest number.
    pub distances: Vec<f64>,
}

/// The answers of runtimes to a model with one set of inputs, in groups.
#[derive(Clone, Debug)]
pub struct Agreement {
    /// The group that is considered right comes first.
    pub groups: Vec<Group>,
    /// Runtimes that gave no answer.
    pub silent: Vec<usize>,
}

/// Why a runtime is considered wrong, from most to least certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sureness {
    /// The in-house implementation, which follows the specification, disagrees.
    Certain,
    /// The same release gives another result without optimization.
    AgainstItself,
    /// Several other implementations agree against it.
    Alone,
    /// It is one implementation against one: either may be wrong.
    Open,
}

/// A runtime that is considered wrong, and why.
#[derive(Clone, Debug)]
pub struct Doubt {
    pub runtime: usize,
    /// A runtime that is considered right.
    pub reference: usize,
    pub sureness: Sureness,
    /// The graph output with the largest distance, and that distance; `None` if the runtime gave no answer.
    pub output: Option<(usize, f64)>,
}

/// The tolerance between outcomes: none if the in-house implementation answers, because the specification then defines each bit.
pub fn tolerated(ids: &[RuntimeId], outcomes: &[&Outcome], relative: Option<f64>) -> Option<f64> {
    let is_specified =
        |(id, outcome): (&RuntimeId, &&Outcome)| !id.is_under_test() && matches!(outcome, Outcome::Answer(_));
    if ids.iter().zip(outcomes).any(is_specified) { Some(relative.unwrap_or(0.0)) } else { relative }
}

/// Compares the outcomes of runtimes. `depths` are those of the graph outputs; `relative` replaces the tolerance of a type.
pub fn compare(ids: &[RuntimeId], outcomes: &[&Outcome], depths: &[usize], relative: Option<f64>) -> Agreement {
    let relative = tolerated(ids, outcomes, relative);
    let mut groups: Vec<Group> = Vec::new();
    let mut silent = Vec::new();
    for (place, outcome) in outcomes.iter().enumerate() {
        let Outcome::Answer(own) = outcome else {
            silent.push(place);
            continue;
        };
        let near = groups.iter_mut().find_map(|group| {
            let Outcome::Answer(first) = outcomes[group.members[0]] else { return None };
            let furthest = furthest(first, own, depths, relative);
            furthest.is_close.then_some((group, furthest.distance))
        });
        match near {
            Some((group, distance)) => {
                group.members.push(place);
                group.distances.push(distance);
            }
            None => groups.push(Group { members: vec![place], distances: vec![0.0] }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(weight(ids, group)));
    Agreement { groups, silent }
}

/// The weight of a group: first the in-house implementation, which follows the specification; then the number of independent
/// implementations, then one that optimizes nothing, then its size.
fn weight(ids: &[RuntimeId], group: &Group) -> (bool, usize, bool, usize) {
    let mut names: Vec<&str> = group.members.iter().map(|&place| ids[place].name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let is_specified = group.members.iter().any(|&place| !ids[place].is_under_test());
    (is_specified, names.len(), group.members.iter().any(|&place| is_plain(&ids[place])), group.members.len())
}

/// Whether a runtime optimizes nothing.
fn is_plain(id: &RuntimeId) -> bool {
    matches!(id.configuration.as_str(), "" | "disabled" | "typed" | "right")
}

/// The distance between two answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Furthest {
    /// The place of the output that is furthest off.
    pub output: usize,
    pub distance: f64,
    pub is_close: bool,
}

pub(super) fn furthest(expected: &[Output], actual: &[Output], depths: &[usize], relative: Option<f64>) -> Furthest {
    if expected.len() != actual.len() {
        return Furthest { output: 0, distance: f64::INFINITY, is_close: false };
    }
    let mut found = Furthest { output: 0, distance: 0.0, is_close: true };
    for (place, (expected, actual)) in expected.iter().zip(actual).enumerate() {
        let depth = depths.get(place).copied().unwrap_or(1);
        let distance = distance(&expected.tensor, &actual.tensor);
        let is_close = is_near(&expected.tensor, distance, depth, relative);
        if (found.is_close && !is_close) || (is_close == found.is_close && distance > found.distance) {
            found = Furthest { output: place, distance, is_close };
        }
    }
    found
}

/// Whether tensors at this distance count as equal.
pub(super) fn is_near(expected: &Tensor, distance: f64, depth: usize, relative: Option<f64>) -> bool {
    let usual = tolerance(expected.element_type(), depth);
    distance <= if usual > 0.0 { relative.unwrap_or(usual) } else { 0.0 }
}

impl Agreement {
    /// The runtimes that are considered wrong. A runtime that refuses or crashes where others answer is one of them; a runtime
    /// that says that it lacks something is not.
    pub fn doubts(
        &self,
        ids: &[RuntimeId],
        outcomes: &[&Outcome],
        depths: &[usize],
        relative: Option<f64>,
    ) -> Vec<Doubt> {
        let relative = tolerated(ids, outcomes, relative);
        let Some((right, others)) = self.groups.split_first() else { return vec![] };
        let plain = right.members.iter().copied().find(|&place| is_plain(&ids[place]));
        let reference = plain.unwrap_or(right.members[0]);
        let sureness = |place: usize| {
            let is_its_own = |other: &usize| ids[*other].is_release_of(&ids[place]) && is_plain(&ids[*other]);
            let (_, implementations, ..) = weight(ids, right);
            if right.members.iter().any(|&member| !ids[member].is_under_test()) {
                Sureness::Certain
            } else if right.members.iter().any(is_its_own) {
                Sureness::AgainstItself
            } else if implementations > 1 {
                Sureness::Alone
            } else {
                Sureness::Open
            }
        };
        let answered = others.iter().flat_map(|group| &group.members).map(|&place| {
            let output = match (outcomes[reference], outcomes[place]) {
                (Outcome::Answer(expected), Outcome::Answer(actual)) => {
                    let furthest = furthest(expected, actual, depths, relative);
                    Some((furthest.output, furthest.distance))
                }
                _ => None,
            };
            Doubt { runtime: place, reference, sureness: sureness(place), output }
        });
        let fails = |place: usize| ids[place].is_under_test() && !matches!(outcomes[place], Outcome::Unsupported(_));
        let failed = self.silent.iter().filter(|&&place| fails(place));
        let failed = failed.map(|&place| Doubt { runtime: place, reference, sureness: sureness(place), output: None });
        answered.chain(failed).collect()
    }
}

/// The distance between answers to the same model and inputs: 0 if they are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub distance: f64,
    /// Whether the distance is within the tolerance.
    pub is_close: bool,
}

/// The largest distance of an answer from the first one. Outcomes without an answer are left out.
pub fn spread<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>, depths: &[usize], relative: Option<f64>) -> Spread {
    let mut answers = outcomes.into_iter().filter_map(|outcome| match outcome {
        Outcome::Answer(outputs) => Some(outputs),
        _ => None,
    });
    let mut widest = Spread { distance: 0.0, is_close: true };
    let Some(first) = answers.next() else { return widest };
    for other in answers {
        let own = furthest(first, other, depths, relative);
        widest = Spread { distance: widest.distance.max(own.distance), is_close: widest.is_close && own.is_close };
    }
    widest
}

/// The depths of the graph outputs of a model.
pub fn depths(graph: &Graph) -> Vec<usize> {
    graph.network.graph().output.iter().map(|info| graph.depth(super::name(info))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{Gap, Stage};

    fn id(text: &str) -> RuntimeId {
        let (name, configuration) = text.split_once('/').unwrap_or((text, ""));
        RuntimeId { name: name.to_owned(), configuration: configuration.to_owned(), version: "1".to_owned() }
    }

    fn answer(numbers: &[f32]) -> Outcome {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let dims = vec![i64::try_from(numbers.len()).unwrap()];
        Outcome::Answer(vec![Output::new(Tensor::from_packed(ElementType::Float, dims, bytes).unwrap())])
    }

    /// The doubts by name: the runtime, its reference, and why it is considered wrong.
    fn doubts(seen: &[(&str, Outcome)]) -> Vec<(String, String, Sureness)> {
        let ids: Vec<RuntimeId> = seen.iter().map(|(name, _)| id(name)).collect();
        let outcomes: Vec<&Outcome> = seen.iter().map(|(_, outcome)| outcome).collect();
        let doubts = compare(&ids, &outcomes, &[1], None).doubts(&ids, &outcomes, &[1], None);
        doubts
            .iter()
            .map(|doubt| (ids[doubt.runtime].to_string(), ids[doubt.reference].to_string(), doubt.sureness))
            .collect()
    }

    fn wrong(runtime: &str, reference: &str, sureness: Sureness) -> (String, String, Sureness) {
        (runtime.to_owned(), reference.to_owned(), sureness)
    }

    #[test]
    fn who_stands_alone_is_held_to_be_wrong() {
        let (one, two) = (answer(&[1.0]), answer(&[2.0]));
        let near = answer(&[1.0 + 5e-6]);
        let lacks = Outcome::Unsupported(Gap::Kernel);
        let refused = Outcome::Unclassified { stage: Stage::Run };
        assert_eq!(
            doubts(&[("a", one.clone()), ("b", near.clone()), ("c", lacks)]),
            [],
            "near enough, and a gap is no fault"
        );
        assert_eq!(
            doubts(&[("a", near), ("in-house", one.clone())]),
            [wrong("a", "in-house@1", Sureness::Certain)],
            "the specification defines each bit"
        );
        assert_eq!(
            doubts(&[("a", two.clone()), ("b", one.clone()), ("c", one.clone())]),
            [wrong("a", "b", Sureness::Alone)]
        );
        assert_eq!(
            doubts(&[("a", one.clone()), ("b", one.clone()), ("c", refused)]),
            [wrong("c", "a", Sureness::Alone)]
        );
        assert_eq!(
            doubts(&[("a/all", two.clone()), ("a/extended", two.clone()), ("a/disabled", one.clone())]),
            [("a/all", "a/disabled"), ("a/extended", "a/disabled")].map(|(own, other)| wrong(
                own,
                other,
                Sureness::AgainstItself
            )),
            "what optimizes nothing is believed, also against more"
        );
        assert_eq!(
            doubts(&[("a", one.clone()), ("b", two.clone())]).iter().map(|doubt| doubt.2).collect::<Vec<_>>(),
            [Sureness::Open]
        );
        assert_eq!(
            doubts(&[("a", two.clone()), ("b", two), ("in-house", one)]),
            ["a", "b"].map(|own| wrong(own, "in-house@1", Sureness::Certain)),
            "the specification is right against all"
        );
    }

    #[test]
    fn the_tolerance_is_that_of_the_type_and_grows_with_the_depth() {
        let close = |other: &[f32], depth| spread([&answer(&[1.0, 1000.0]), &answer(other)], &[depth], None).is_close;
        assert!(close(&[1.009, 1000.0], 1), "a part of the largest number of the tensor");
        assert!(!close(&[1.0, 1000.02], 1) && close(&[1.0, 1000.02], 9));
        assert!(!close(&[1.0, 1000.0, 0.0], 9), "other dims");
        assert!(!close(&[1.0, f32::NAN], usize::MAX) && !close(&[1.0, 1101.0], usize::MAX), "however deep it is");
        assert!(tolerance(ElementType::Int32, 100) == 0.0 && tolerance(ElementType::String, 1) == 0.0);
    }
}
