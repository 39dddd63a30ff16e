//! The page on the changes between two releases of a runtime, for people.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::report::{Report, ResultInWords, code};
use super::{Cause, Change, Comparison, Drift, DriftKind, Ledger};
use crate::operator::GRAPH;
use crate::runtime::{Gap, Runtime, Stop};
use crate::tensor::ElementType;
use crate::verdict::lack;

/// The comparison that a page is about.
#[derive(Clone, Debug)]
pub struct About<'a> {
    pub runtime: &'a str,
    /// The older release and the newer one.
    pub versions: [&'a str; 2],
    pub configurations: &'a [&'a str],
    /// The operators of the drawn cases, in words.
    pub operators: &'a str,
    /// The command that repeats the comparison.
    pub command: &'a str,
    /// Whether the comparison was brought to its end.
    pub is_whole: bool,
}

/// A part of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Of(DriftKind),
    /// The newer release shows a known defect. The older release has it too, but refused the case or could not run it.
    Old,
    /// The result is as wrong as before, with other elements or dims.
    WrongAsBefore,
}

/// The parts in order, and how much each tells about a change.
const SECTIONS: [(Section, Length); 9] = [
    (Section::Of(DriftKind::Broken), Length::Full),
    (Section::Of(DriftKind::Dropped), Length::Full),
    (Section::Of(DriftKind::AddedWrong), Length::Full),
    (Section::Of(DriftKind::Fixed), Length::Full),
    (Section::Of(DriftKind::Added), Length::Operators),
    (Section::Of(DriftKind::WrongOtherwise), Length::Full),
    (Section::Of(DriftKind::Changed), Length::Grouped),
    (Section::Old, Length::Line),
    (Section::WrongAsBefore, Length::Line),
];

#[derive(Clone, Copy, Debug)]
enum Length {
    /// The right result, and that of each release. Changes of one known issue are put together.
    Full,
    /// The result of the newer release.
    Line,
    /// Changes with the same words are put together, each with its case.
    Grouped,
    /// The same, without the case if the change concerns a whole opset.
    Operators,
}

/// A change, and the results of both releases for its case.
struct ShownChange<'a> {
    change: &'a Change,
    drift: &'a Drift,
    look: Look,
}

/// The page, in Markdown. Each minimized case is run once more on both releases, to show their results and messages. Both releases
/// have the configurations in the same order.
pub fn page(
    comparison: &Comparison,
    about: &About,
    ledger: &Ledger,
    releases: [Vec<Box<dyn Runtime>>; 2],
    stop: &Stop,
) -> String {
    let mut runtimes: Vec<Box<dyn Runtime>> = releases.into_iter().flatten().collect();
    let mut entry = |(change, drift): (&'_ Change, &'_ Drift)| {
        (!stop.is_asked()).then(|| Look::new(change, drift, about, ledger, &mut runtimes))
    };
    let mut entries: Vec<ShownChange> = Vec::new();
    for (change, drift) in comparison.roots() {
        entries.extend(entry((change, drift)).map(|look| ShownChange { change, drift, look }));
    }
    let sections = SECTIONS.map(|(section, length)| {
        let own = entries.iter().filter(|entry| entry.section() == section).collect::<Vec<_>>();
        (section.title(about), length, own)
    });
    let mut text = about.head();
    for (title, _, own) in &sections {
        let _ = writeln!(text, "| {title} | {} | {} |", own.len(), operators(own));
    }
    for (title, length, own) in sections.iter().filter(|(_, _, own)| !own.is_empty()) {
        text = format!("{}\n\n## {title}\n\n", text.trim_end());
        match length {
            Length::Full => {
                for together in by_issue(own) {
                    text += &heading(&together);
                    for ShownChange { change, drift, look } in together {
                        text += &look.table(drift, about);
                        for (_, with_it) in comparison.with_fix(change) {
                            let _ = writeln!(text, "The same change shows in {}.\n", case(with_it));
                        }
                    }
                }
            }
            Length::Line => own.iter().for_each(|entry| text += &entry.line()),
            Length::Grouped => text += &grouped(own, about, |_| true),
            Length::Operators => text += &grouped(own, about, |entry| !entry.is_of_an_opset()),
        }
    }
    format!("{}\n{}", text.trim_end(), about.foot(comparison.cases))
}

impl Section {
    fn title(self, about: &About) -> String {
        match self {
            Section::Of(kind) => kind.title().to_owned(),
            Section::Old => format!(
                "Not new: defects of {} too, which refused these cases or could not run them",
                about.versions[0]
            ),
            Section::WrongAsBefore => "As wrong as before, with other elements or dims".to_owned(),
        }
    }
}

impl About<'_> {
    fn head(&self) -> String {
        let [before, after] = self.versions;
        let stopped = if self.is_whole { "" } else { "**It was stopped before its end**: there may be more.\n\n" };
        format!(
            "# What changed from {} {before} to {after}\n\n{stopped}| | changes | operators |\n|---|---:|---|\n",
            self.runtime
        )
    }

    fn foot(&self, cases: u64) -> String {
        let [before, after] = self.versions;
        let configurations = match self.configurations {
            [] | [""] => String::new(),
            all => format!(
                ", in the configurations {}",
                all.iter().map(|name| code(name)).collect::<Vec<_>>().join(" and ")
            ),
        };
        format!(
            "\n## How it was made\n
{cases} cases of {operators} were run on both releases{configurations}, and held to the ONNX specification,
bit for bit. Each change is shown as one small case on one line. `crosscheck run` takes it, and `crosscheck report` makes a model of it
and a program that shows what is wrong:

    {command}
    crosscheck run --runtimes in-house,{runtime}@{before},{runtime}@{after} 'CASE'

Made by onnx-crosscheck {version}.
",
            runtime = self.runtime,
            operators = self.operators,
            version = env!("CARGO_PKG_VERSION"),
            command = self.command,
        )
    }
}

/// The results of both releases for the case of a change.
struct Look {
    report: Report,
    /// In the configuration in which the change shows.
    seen: [Option<ResultInWords>; 2],
    /// The known issues that explain the mismatches of either release.
    known: Vec<Cause>,
    /// Whether known issues explain the mismatch of the newer release, and the older release has all of them.
    is_old: bool,
}

impl Look {
    fn new(change: &Change, drift: &Drift, about: &About, ledger: &Ledger, runtimes: &mut [Box<dyn Runtime>]) -> Look {
        let report = Report::new(&drift.case, runtimes, ledger);
        let all = about.configurations.len();
        let is_wrong = |place: usize| report.seen(place).is_some_and(|seen| seen.kind == "wrong");
        let wanted = [
            matches!(change.kind, DriftKind::Fixed | DriftKind::WrongOtherwise),
            matches!(change.kind, DriftKind::Broken | DriftKind::AddedWrong | DriftKind::WrongOtherwise),
        ];
        let shows = |&place: &usize| [is_wrong(place), is_wrong(all + place)] == wanted;
        let place = (0..all).find(shows).or(drift.configurations.first().copied()).unwrap_or(0);
        let seen = [report.seen(place), report.seen(all + place)];
        let mut known: Vec<Cause> = Vec::new();
        let cause = |id: &String| ledger.causes.iter().find(|cause| cause.id == *id);
        for cause in seen.iter().flatten().flat_map(|seen| &seen.known_as).filter_map(cause) {
            if !known.contains(cause) {
                known.push(cause.clone());
            }
        }
        let after = seen[1].iter().flat_map(|seen| &seen.known_as).filter_map(cause).collect::<Vec<_>>();
        let is_old = !after.is_empty() && after.iter().all(|cause| cause.is_in(about.versions[0]));
        Look { report, seen, known, is_old }
    }

    /// The right result, the result of each release, and where the change was seen.
    fn table(&self, drift: &Drift, about: &About) -> String {
        let mut text = format!("    {}\n\n| | result | |\n|---|---|---|\n", drift.case);
        let _ = writeln!(text, "| right | {} | |", cell(&self.report.right().join(" or ")));
        for (version, seen) in about.versions.iter().zip(&self.seen) {
            if let Some(seen) = seen {
                let _ = writeln!(text, "| {version} | {} | {} |", cell(&seen.result), cell(&seen.opinion));
            }
        }
        text += "\n";
        if let Some(rule) = self.report.rule() {
            let _ = writeln!(text, "The rule: {} ({})\n", rule.sentence, rule.source);
        }
        text + &extent(drift, about.configurations) + "\n\n"
    }
}

impl ShownChange<'_> {
    fn section(&self) -> Section {
        match self.change.kind {
            DriftKind::Broken | DriftKind::AddedWrong if self.look.is_old => Section::Old,
            DriftKind::WrongOtherwise if self.is_as_before() => Section::WrongAsBefore,
            kind => Section::Of(kind),
        }
    }

    /// Whether the results of the two releases differ only in values.
    fn is_as_before(&self) -> bool {
        let [before, after] = self.look.seen.each_ref().map(|seen| seen.as_ref().map(|seen| &seen.opinion));
        self.change.after.as_ref() == Some(&self.change.before) || before == after
    }

    /// The result of the newer release, on one line.
    fn line(&self) -> String {
        let Some(after) = &self.look.seen[1] else { return String::new() };
        let known = self.look.known.iter().map(|cause| format!(" Known as {}: {}", code(&cause.id), cause.title));
        format!("- {}: {}.{}\n", case(self.drift), after.opinion, known.collect::<String>())
    }

    /// Whether the older release lacked the opset or the IR version, whatever the operator.
    fn is_of_an_opset(&self) -> bool {
        let opset = [Gap::Opset, Gap::Ir].map(lack);
        opset.contains(&self.change.before_in_words().as_str())
    }
}

/// Puts changes that the same known issues explain together, in the order of the first change of each group.
fn by_issue<'a, 'b>(entries: &[&'b ShownChange<'a>]) -> Vec<Vec<&'b ShownChange<'a>>> {
    let mut all: Vec<Vec<&ShownChange>> = Vec::new();
    for entry in entries {
        let same =
            |other: &&mut Vec<&ShownChange>| !entry.look.known.is_empty() && other[0].look.known == entry.look.known;
        match all.iter_mut().find(same) {
            Some(together) => together.push(entry),
            None => all.push(vec![entry]),
        }
    }
    all
}

/// The heading above the changes that the same known issues explain, or above one change.
fn heading(entries: &[&ShownChange]) -> String {
    let known = &entries[0].look.known;
    if known.is_empty() {
        return format!("### {}\n\n", entries[0].drift.case.operator_versions());
    }
    let titles: Vec<&str> = known.iter().map(|cause| cause.title.trim_end_matches('.')).collect();
    let mut text = format!("### {}\n\n", titles.join("; "));
    for cause in known {
        let _ = writeln!(text, "{}\n\nKnown as {} ({}).\n", cause.explanation, code(&cause.id), cause.link);
    }
    text
}

/// Puts changes with the same words together. A change for which `with_case` is false is listed by opset and operator, without its
/// case.
fn grouped(entries: &[&ShownChange], about: &About, with_case: impl Fn(&ShownChange) -> bool) -> String {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for ShownChange { change, drift, .. } in entries.iter().filter(|entry| with_case(entry)) {
        let [before, after] = about.versions;
        let now = change.after.as_ref().map(|now| format!(", and {after} {}", now.in_words()));
        let words = format!("{before} {}{}", change.before_in_words(), now.unwrap_or_default());
        groups.entry(words).or_default().push(case(drift));
    }
    for ShownChange { change, drift, .. } in entries.iter().filter(|entry| !with_case(entry)) {
        let members = groups.entry(format!("opset {}", drift.case.opset)).or_default();
        members.extend((change.operator != GRAPH).then(|| change.operator.to_owned()));
    }
    let lines = groups.into_iter().map(|(words, members)| format!("- {words}: {}", members.join(", ")));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// The operators that changes are about, each once.
fn operators(entries: &[&ShownChange]) -> String {
    let names: BTreeSet<&str> = entries
        .iter()
        .flat_map(|entry| {
            entry
                .drift
                .case
                .nodes
                .iter()
                .map(|node| node.operator.name)
                .filter(|name| entry.change.operator == GRAPH || *name == entry.change.operator)
        })
        .collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

fn case(drift: &Drift) -> String {
    code(&drift.case.to_string())
}

/// Where a change was seen.
fn extent(drift: &Drift, configurations: &[&str]) -> String {
    let types: Vec<&str> = drift.types.iter().map(|element_type| element_type.name()).collect();
    let types = match types.len() {
        0 => String::new(),
        all if all == ElementType::ALL.len() => " of all types".to_owned(),
        _ => format!(" of {}", types.join(", ")),
    };
    let places = drift.configurations.iter().map(|&place| code(configurations[place])).collect::<Vec<_>>();
    let places =
        if places.len() == configurations.len() { "every configuration".to_owned() } else { places.join(", ") };
    format!("Seen {} time{}{types}, in {places}.", drift.count, if drift.count == 1 { "" } else { "s" })
}

/// A text in a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::Source;
    use crate::case::{Features, Generated};
    use crate::finding::{CompareOptions, Signature, State, Variant, compare};
    use crate::runtime::planted::{Fault, release_with_faults, short_shape, swapped_flatten};
    use std::time::Duration;

    struct Cases(&'static [&'static str]);

    impl Source for Cases {
        fn cases(&self, indices: &[u64]) -> Vec<Generated> {
            let case = |&index: &u64| self.0[usize::try_from(index).unwrap()].parse().unwrap();
            indices.iter().map(case).map(Generated::given).collect()
        }
    }

    const CASES: &[&str] = &["Shape@28 float[2,3,4]", "Flatten@28 axis=0 float[2,3]"];

    /// The page about release 1 with some faults and release 2 with others.
    fn page_of(before: &[Fault], after: &[Fault], ledger: &Ledger, is_whole: bool) -> String {
        let open = |_| Ok([vec![release_with_faults("1", before)?], vec![release_with_faults("2", after)?]]);
        let limit = Duration::from_secs(2);
        let options =
            CompareOptions { source: &Cases(CASES), cases: CASES.len() as u64, threads: 1, limit, open: &open };
        let comparison = compare(&options, &Stop::default(), &|_| {}).unwrap();
        let about = About {
            runtime: "planted",
            versions: ["1", "2"],
            configurations: &[""],
            operators: "Shape, Flatten",
            command: "crosscheck compare planted@1 planted@2",
            is_whole,
        };
        page(&comparison, &about, ledger, open(limit).unwrap(), &Stop::default())
    }

    /// A ledger with the fault of Flatten, known in the releases from `first` to `last`.
    fn ledger(first: &str, last: &str) -> Ledger {
        let line = "Flatten@28 float[2]";
        let features = Features::of(&line.parse().unwrap());
        let signature: Signature = format!("planted | Flatten | wrong-dims | {features}").parse().unwrap();
        let variant = Variant {
            id: "planted-flatten-wrong-dims".to_owned(),
            signature,
            first_version: first.to_owned(),
            last_version: last.to_owned(),
            case: line.to_owned(),
            is_unwritten: false,
            pass: None,
        };
        let cause = Cause {
            id: "planted-flatten".to_owned(),
            title: "Flatten swaps its dims.".to_owned(),
            explanation: "A fault is planted.".to_owned(),
            link: "not reported".to_owned(),
            state: State::Open,
            variants: vec![variant],
        };
        Ledger { causes: vec![cause] }
    }

    #[test]
    fn what_broke_and_what_was_fixed_is_shown_with_what_both_releases_do() {
        let page = page_of(&[short_shape], &[swapped_flatten], &Ledger::default(), true);
        for line in [
            "# What changed from planted 1 to 2",
            "| Newly broken | 1 | Flatten |",
            "| No longer supported | 0 |  |",
            "| Newly fixed | 1 | Shape |",
            "## Newly broken",
            "    Flatten@28 float[2]",
            "| right | `float[2,1]{0.0,1.0}` | |",
            "| 1 | `float[2,1]{0.0,1.0}` | right |",
            "| 2 | `float[1,2]{0.0,1.0}` | **wrong**: gives other dims |",
            "## Newly fixed",
            "2 cases of Shape, Flatten were run on both releases, and held to the ONNX specification,",
            "    crosscheck compare planted@1 planted@2",
        ] {
            assert!(page.lines().any(|own| own == line), "{line}\n{page}");
        }
        assert_eq!(page.matches("\nSeen 1 time of ").count(), 2, "{page}");
        assert!(!page.contains("## No longer supported") && !page.contains("stopped"), "{page}");
    }

    #[test]
    fn a_known_defect_is_named_and_is_not_new_where_the_older_release_has_it() {
        let new = page_of(&[], &[swapped_flatten], &ledger("2", "2"), true);
        assert!(new.contains("## Newly broken\n\n### Flatten swaps its dims\n\nA fault is planted."), "{new}");
        assert!(new.contains("Known as `planted-flatten` (not reported)."), "{new}");
        let old = page_of(&[], &[swapped_flatten], &ledger("0", "2"), true);
        assert!(old.contains("| Newly broken | 0 |") && old.contains("## Not new: defects of 1 too"), "{old}");
        let line =
            "- `Flatten@28 float[2]`: **wrong**: gives other dims. Known as `planted-flatten`: Flatten swaps its dims.";
        assert!(old.contains(line), "{old}");
    }

    #[test]
    fn a_page_about_two_equal_releases_says_so_and_one_that_was_stopped_too() {
        let page = page_of(&[short_shape], &[short_shape], &Ledger::default(), false);
        assert!(page.contains("| Newly broken | 0 |") && !page.contains("## New"), "{page}");
        assert!(page.contains("**It was stopped before its end**"), "{page}");
    }
}
