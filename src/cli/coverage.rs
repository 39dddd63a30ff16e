//! `crosscheck coverage`: which part of the input space the last campaign reached.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use minijinja::Environment;
use serde::Serialize;

use super::{Ending, align_right, table};
use crate::campaign::{CellReport, Counts, CoverageReport, GraphReport, RuleReport, State, Subject};
use crate::case::Wiring;
use crate::case::pattern::PATTERNS;
use crate::files::{read_text, write_whole};
use crate::operator::{OPERATORS, Rule};
use crate::tensor::ElementType;

/// Show which operator versions, element types, rules and wirings the last campaign reached
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck coverage --html coverage.html")]
pub(super) struct Arguments {
    /// Also write the coverage as one self-contained page, with a sample case and the findings of each cell
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Show the coverage of one runtime, such as `tract/typed` [default: all runtimes under test together]
    #[arg(long, value_name = "NAME")]
    runtime: Option<String>,
    /// The folder of the campaign
    #[arg(long, value_name = "DIR", default_value = super::OUTPUT)]
    output: PathBuf,
}

const FILE: &str = "coverage.json";
const PAGE: &str = "coverage.html";

/// Saves the coverage of a campaign as JSON for this program, and as a page. Each file is written whole or not at all.
pub(super) fn save(report: &CoverageReport, folder: &Path) -> anyhow::Result<()> {
    write(&folder.join(FILE), &serde_json::to_vec(report)?)?;
    write(&folder.join(PAGE), page(report)?.as_bytes())
}

fn write(path: &Path, contents: &[u8]) -> anyhow::Result<()> {
    write_whole(path, contents).with_context(|| format!("{} cannot be written", path.display()))
}

/// Reads the coverage of a campaign.
///
/// # Errors
/// If the file is missing, or was written by another version of the program.
pub(super) fn read(folder: &Path) -> anyhow::Result<CoverageReport> {
    let path = folder.join(FILE);
    let text = read_text(&path).with_context(|| {
        format!("{} cannot be read: run `crosscheck campaign` first, or name its --output", path.display())
    })?;
    serde_json::from_str(&text).with_context(|| {
        format!("{} is damaged, or of another version: run `crosscheck campaign` again", path.display())
    })
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let report = read(&arguments.output)?;
    let shown = match &arguments.runtime {
        None => None,
        Some(name) => {
            let names: Vec<String> = report.runtimes.iter().map(ToString::to_string).collect();
            let index = names.iter().position(|n| n == name);
            Some(index.with_context(|| format!("no runtime `{name}` took part; there were {}", names.join(", ")))?)
        }
    };
    show(&report, shown, io::stdout().lock())?;
    if let Some(path) = &arguments.html {
        write(path, page(&report)?.as_bytes())?;
    }
    Ok(Ending::NothingWrong)
}

/// How a state is shown.
#[derive(Debug, Serialize)]
struct Look {
    /// Its CSS class in the page.
    class: &'static str,
    /// Shown beside the colour, for readers who cannot tell the colours apart.
    sign: &'static str,
    name: &'static str,
    meaning: &'static str,
}

const fn look(state: State) -> Look {
    let (class, sign, name, meaning) = match state {
        State::Agreed => (
            "agreed",
            "✓",
            "agreed",
            "no case was wrong, and one was answered rightly or, under a rule, refused rightly",
        ),
        State::Wrong => ("wrong", "✗", "wrong", "at least one case was wrong: a finding, or a known issue"),
        State::ByDesign => (
            "by-design",
            "≈",
            "by design",
            "nothing was wrong but what the runtime does so by design: the values are right",
        ),
        State::Tolerated => ("tolerated", "!", "tolerated", "the specification leaves these cases open"),
        State::Unclassified => ("unclassified", "?", "unclassified", "an error message that crosscheck does not know"),
        State::Refused => {
            ("refused", "(✓)", "only refusals", "invalid cases were refused rightly; no valid case was run")
        }
        State::NotRun => {
            ("not-run", "○", "not run", "the cases were left out, or no process could be started for them")
        }
        State::Unsupported => {
            ("unsupported", "–", "not supported", "the runtime says that it lacks what the cases need")
        }
        State::UnsupportedByAll => {
            ("unsupported-by-all", "∅", "no runtime supports it", "every runtime under test says so")
        }
        State::NotReached => ("not-reached", "", "not reached", "the campaign generated no case: an empty cell"),
    };
    Look { class, sign, name, meaning }
}

/// The coverage of one runtime, by its place in the report, or of all runtimes under test together.
#[derive(Clone, Copy, Debug)]
struct View<'a> {
    report: &'a CoverageReport,
    runtime: Option<usize>,
}

/// The counts of a cell, of a rule in a wiring, or of a part of graphs.
#[derive(Clone, Copy, Debug)]
struct SubjectCounts<'a> {
    counts: &'a [Counts],
    subject: Subject,
}

impl<'a> From<&'a CellReport> for SubjectCounts<'a> {
    fn from(cell: &'a CellReport) -> SubjectCounts<'a> {
        SubjectCounts { counts: &cell.runtimes, subject: Subject::Answers }
    }
}

impl<'a> From<&'a RuleReport> for SubjectCounts<'a> {
    fn from(rule: &'a RuleReport) -> SubjectCounts<'a> {
        SubjectCounts { counts: &rule.runtimes, subject: rule.subject() }
    }
}

impl<'a> From<&'a GraphReport> for SubjectCounts<'a> {
    fn from(part: &'a GraphReport) -> SubjectCounts<'a> {
        SubjectCounts { counts: &part.runtimes, subject: Subject::Answers }
    }
}

impl View<'_> {
    /// All views: first that of all runtimes under test together, then that of each runtime.
    fn all(report: &CoverageReport) -> impl Iterator<Item = View<'_>> {
        [None].into_iter().chain((0..report.runtimes.len()).map(Some)).map(|runtime| View { report, runtime })
    }

    fn name(self) -> String {
        match self.runtime.map(|place| &self.report.runtimes[place]) {
            None => "all runtimes under test".to_owned(),
            Some(id) if id.is_under_test() => id.with_version(),
            Some(id) => format!("{} (not under test)", id.with_version()),
        }
    }

    fn state<'a>(self, entry: impl Into<SubjectCounts<'a>>) -> State {
        let SubjectCounts { counts, subject } = entry.into();
        self.report.state(self.runtime, counts, subject)
    }

    /// The number beside the sign: the cases of one runtime, or how many of the runtimes under test agreed.
    fn number<'a>(self, entry: impl Into<SubjectCounts<'a>>) -> String {
        let entry @ SubjectCounts { counts, subject } = entry.into();
        match (self.state(entry), self.runtime) {
            (State::NotReached, _) => String::new(),
            (_, Some(place)) => counts[place].total().to_string(),
            (State::Agreed | State::Wrong, None) => {
                let states = self.report.under_test().map(|place| counts[place].state(subject));
                let agreed = states.filter(|&state| state == State::Agreed).count();
                format!("{agreed}/{}", self.report.under_test().count())
            }
            (_, None) => String::new(),
        }
    }

    fn text<'a>(self, entry: impl Into<SubjectCounts<'a>>) -> String {
        let entry = entry.into();
        format!("{} {}", look(self.state(entry)).sign, self.number(entry)).trim().to_owned()
    }

    /// How many of the entries are in each state.
    fn totals<'a>(self, entries: impl Iterator<Item = SubjectCounts<'a>>) -> Vec<usize> {
        let mut totals = vec![0; State::ALL.len()];
        for entry in entries {
            let state = self.state(entry);
            totals[State::ALL.iter().position(|&s| s == state).expect("all states are listed")] += 1;
        }
        totals
    }
}

fn show(report: &CoverageReport, runtime: Option<usize>, mut to: impl Write) -> io::Result<()> {
    let view = View { report, runtime };
    let numbers = if runtime.is_some() { "the number of cases" } else { "how many of the runtimes agreed" };
    writeln!(to, "{}, by element type and operator version: a sign, and {numbers}.", capitalized(&view.name()))?;
    let by_name = by_name(report);
    for operator in OPERATORS {
        let versions = operator.versions.iter().map(|version| format!("{}-{}", operator.name, version.since));
        let mut table = table([String::new()].into_iter().chain(versions));
        for element_type in ElementType::ALL {
            let cells = operator.versions.iter().map(|version| {
                let cell = by_name.get(&(operator.name, version.since, element_type.name()));
                cell.map_or(String::new(), |&cell| view.text(cell))
            });
            table.add_row([element_type.name().to_owned()].into_iter().chain(cells));
        }
        align_right(&mut table, 1);
        writeln!(to, "\n{}", table.trim_fmt())?;
    }
    let mut table = table(["rule".to_owned()].into_iter().chain(Wiring::ALL.iter().map(ToString::to_string)));
    for rules in report.rules.chunk_by(|a, b| a.rule == b.rule) {
        let cells = rules.iter().map(|rule| view.text(rule));
        table.add_row([rules[0].rule.clone()].into_iter().chain(cells));
    }
    align_right(&mut table, 1);
    writeln!(
        to,
        "\nThe same by rule and wiring; a case with operands in two wirings counts in both:\n\n{}",
        table.trim_fmt()
    )?;
    let mut parts = super::table(["in graphs", ""].map(str::to_owned));
    for part in report.graphs.iter().filter(|part| !part.is_edge()) {
        parts.add_row([part.name.clone(), view.text(part)]);
    }
    writeln!(
        to,
        "\nThe same by pattern of nodes, and by what is declared of the values between:\n\n{}",
        parts.trim_fmt()
    )?;
    write_edges(view, &mut to)?;
    write_summary(view, &mut to)
}

/// Splits an edge such as `Reshape.1<Concat` into the operator that gives the value and the input that takes it.
fn ends(edge: &str) -> (&str, &str) {
    let (taker, giver) = edge.split_once('<').unwrap_or((edge, ""));
    (giver, taker)
}

/// Writes how many edges between nodes were reached, and lists those that were not.
fn write_edges(view: View, to: &mut impl Write) -> io::Result<()> {
    let edges = || view.report.graphs.iter().filter(|part| part.is_edge());
    let reached = edges().filter(|edge| edge.cases() > 0).count();
    writeln!(to, "\n{reached} edges between nodes were reached, such as Reshape.1<Concat; the page shows them all.")?;
    let missed: Vec<&str> = edges().filter(|edge| edge.cases() == 0).map(|edge| edge.name.as_str()).collect();
    if missed.is_empty() { Ok(()) } else { writeln!(to, "Not reached, {}: {}", missed.len(), missed.join(", ")) }
}

fn by_name(report: &CoverageReport) -> BTreeMap<(&str, u8, &str), &CellReport> {
    report.cells.iter().map(|cell| ((cell.operator.as_str(), cell.version, cell.element_type.as_str()), cell)).collect()
}

fn capitalized(text: &str) -> String {
    let (first, rest) = text.split_at(text.len().min(1));
    first.to_uppercase() + rest
}

/// Writes how many cells are in each state, by runtime, and names those that were not reached, not run or not supported.
fn write_summary(view: View, to: &mut impl Write) -> io::Result<()> {
    let report = view.report;
    let looks = State::ALL.map(look);
    let mut totals = table(["cells"].into_iter().chain(looks.iter().map(|look| look.name)));
    for row in View::all(report) {
        let numbers =
            row.totals(report.cells.iter().map(SubjectCounts::from)).into_iter().map(|number| number.to_string());
        totals.add_row([row.name()].into_iter().chain(numbers));
    }
    align_right(&mut totals, 1);
    writeln!(to, "\n{}\n", totals.trim_fmt())?;
    for Look { sign, name, meaning, .. } in looks {
        writeln!(to, "{sign:>3} {name}: {meaning}")?;
    }
    let of_state = |state: State| -> Vec<String> {
        report.cells.iter().filter(|&cell| view.state(cell) == state).map(CellReport::name).collect()
    };
    let missed = of_state(State::NotReached);
    writeln!(to, "\n{} of {} cells were reached.", report.cells.len() - missed.len(), report.cells.len())?;
    for (what, names) in [
        ("Not reached", missed),
        ("Not run", of_state(State::NotRun)),
        ("Not supported", of_state(State::Unsupported)),
        ("No runtime supports", of_state(State::UnsupportedByAll)),
    ] {
        if !names.is_empty() {
            writeln!(to, "{what}, {}: {}", names.len(), names.join(", "))?;
        }
    }
    Ok(())
}

/// The coverage as one self-contained page.
fn page(report: &CoverageReport) -> anyhow::Result<String> {
    let mut environment = Environment::new();
    environment.add_template("coverage.html", include_str!("coverage.html"))?;
    let views: Vec<View> = View::all(report).collect();
    let mut entries = Vec::new();
    let mut add = |name: String, entry: SubjectCounts, more: serde_json::Value| {
        let shown = |view: &View| (look(view.state(entry)).class, view.text(entry));
        let shown: Vec<(&str, String)> = views.iter().map(shown).collect();
        let counts: Vec<[u64; 9]> = entry.counts.iter().map(|counts| counts.numbers()).collect();
        let place = entries.len();
        let cell = serde_json::json!({ "place": place, "name": name, "class": shown[0].0, "text": shown[0].1 });
        entries.push(serde_json::json!({ "name": name, "views": shown, "counts": counts, "more": more }));
        cell
    };
    let by_name = by_name(report);
    let mut operators = Vec::new();
    for operator in OPERATORS {
        let mut rows = Vec::new();
        for element_type in ElementType::ALL {
            let mut cells = Vec::new();
            for version in operator.versions {
                let cell = by_name.get(&(operator.name, version.since, element_type.name()));
                cells.push(cell.map(|&cell| {
                    let more = serde_json::json!({ "sample": cell.sample, "wrong": cell.wrong });
                    add(cell.name(), SubjectCounts::from(cell), more)
                }));
            }
            rows.push(serde_json::json!({ "name": element_type.name(), "cells": cells }));
        }
        let columns: Vec<String> = operator.versions.iter().map(|v| format!("{}-{}", operator.name, v.since)).collect();
        operators.push(serde_json::json!({ "name": operator.name, "columns": columns, "rows": rows }));
    }
    let mut rules = Vec::new();
    for row in report.rules.chunk_by(|a, b| a.rule == b.rule) {
        let sentence = Rule::all().find(|rule| rule.id() == row[0].rule).map(|rule| rule.text().sentence);
        let more = serde_json::json!({ "rule": sentence });
        let cells: Vec<_> = row.iter().map(|rule| add(rule.name(), SubjectCounts::from(rule), more.clone())).collect();
        rules.push(serde_json::json!({ "name": row[0].rule, "sentence": sentence, "cells": cells }));
    }
    let mut parts = Vec::new();
    for part in report.graphs.iter().filter(|part| !part.is_edge()) {
        let pattern = PATTERNS.iter().find(|pattern| pattern.id == part.name).map(|pattern| pattern.text);
        let more = serde_json::json!({ "pattern": pattern, "sample": part.sample, "wrong": part.wrong });
        let cell = add(part.name.clone(), SubjectCounts::from(part), more);
        parts.push(serde_json::json!({ "name": part.name, "cell": cell }));
    }
    let edges = report.graphs.iter().filter(|part| part.is_edge());
    let edges: BTreeMap<(&str, &str), &GraphReport> = edges.map(|part| (ends(&part.name), part)).collect();
    let takers: BTreeSet<&str> = edges.keys().map(|(_, taker)| *taker).collect();
    let givers: BTreeSet<&str> = edges.keys().map(|(giver, _)| *giver).collect();
    let mut rows = Vec::new();
    for giver in givers {
        let edge = |taker: &&str| edges.get(&(giver, *taker)).copied();
        let mut shown = |edge: &GraphReport| add(edge.name.clone(), SubjectCounts::from(edge), serde_json::json!({}));
        let cells: Vec<_> = takers.iter().map(|taker| edge(taker).map(&mut shown)).collect();
        rows.push(serde_json::json!({ "name": giver, "cells": cells }));
    }
    let totals = |entries: Vec<SubjectCounts>| -> Vec<(String, Vec<usize>)> {
        views.iter().map(|view| (view.name(), view.totals(entries.iter().copied()))).collect()
    };
    let looks = State::ALL.map(look);
    let runtimes: Vec<String> = views.iter().map(|view| view.name()).collect();
    // This text stands in a script element, which it must not close.
    let data = serde_json::json!({ "runtimes": runtimes, "states": looks, "entries": entries });
    let data = data.to_string().replace("</", "<\\/");
    let context = serde_json::json!({
        "data": data,
        "states": looks,
        "runtimes": runtimes,
        "cell_totals": totals(report.cells.iter().map(SubjectCounts::from).collect()),
        "rule_totals": totals(report.rules.iter().map(SubjectCounts::from).collect()),
        "reached": report.cells.iter().filter(|cell| cell.cases() > 0).count(),
        "cells": report.cells.len(),
        "operators": operators,
        "wirings": Wiring::ALL.map(|wiring| wiring.to_string()),
        "rules": rules,
        "graph_totals": totals(report.graphs.iter().map(SubjectCounts::from).collect()),
        "parts": parts,
        "takers": takers,
        "edges": rows,
    });
    Ok(environment.get_template("coverage.html")?.render(minijinja::value::Serde(context))?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::campaign::Coverage;
    use crate::runtime::RuntimeId;

    fn report(names: &[&str]) -> CoverageReport {
        let id =
            |name: &&str| RuntimeId { name: (*name).to_owned(), version: "1".to_owned(), configuration: String::new() };
        Coverage::default().report(&names.iter().map(id).collect::<Vec<RuntimeId>>(), &[])
    }

    /// A report of four cells and a rule: the in-house implementation is right in all of them, and the two others are not.
    fn mixed() -> CoverageReport {
        let mut report = report(&["in-house", "a", "b"]);
        let none = Counts::default();
        let agreed = Counts { agreed: 7, answered: 7, ..none };
        let unsupported = Counts { unsupported: 7, ..none };
        let wrong = Counts { wrong: 1, agreed: 6, answered: 7, ..none };
        let refused = Counts { refused: 7, ..none };
        report.cells[0].runtimes = vec![agreed, unsupported, unsupported];
        report.cells[1].runtimes = vec![agreed, agreed, unsupported];
        report.cells[2].runtimes = vec![agreed, agreed, wrong];
        report.cells[3].runtimes = vec![agreed, Counts { not_run: 7, ..none }, unsupported];
        let rule = report.rules.iter_mut().find(|rule| rule.rule == "axis-range").unwrap();
        rule.runtimes = vec![refused, refused, Counts { unsupported: 5, refused: 2, ..none }];
        report
    }

    /// The class and the text of a cell in the page, by its place.
    fn shown(page: &str, place: usize) -> (String, String) {
        let mark = format!("\" data-entry=\"{place}\">");
        let (before, after) = page.split_once(&mark).unwrap();
        let class = before.rsplit_once("class=\"cell ").unwrap().1;
        (class.to_owned(), after.split_once('<').unwrap().0.replace("&#x2f;", "/"))
    }

    #[test]
    fn a_cell_is_green_only_where_a_runtime_under_test_agreed() {
        let report = mixed();
        let page = page(&report).unwrap();
        let together = View { report: &report, runtime: None };
        for (place, class, text) in [
            (0, "unsupported-by-all", "∅"),
            (1, "agreed", "✓ 1/2"),
            (2, "wrong", "✗ 1/2"),
            (3, "not-run", "○"),
            (4, "not-reached", ""),
        ] {
            assert_eq!(together.text(&report.cells[place]), text);
            // The page has the cells in another order: by type first.
            let data: serde_json::Value = data(&page);
            let entries = data["entries"].as_array().unwrap();
            let found = entries.iter().position(|entry| entry["name"] == report.cells[place].name().as_str()).unwrap();
            assert_eq!(shown(&page, found), (class.to_owned(), text.to_owned()));
            assert_eq!(entries[found]["views"][0], serde_json::json!([class, text]));
        }
    }

    fn data(page: &str) -> serde_json::Value {
        let (_, rest) = page.split_once("id=\"data\">").unwrap();
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
    }

    #[test]
    fn a_right_refusal_is_success_under_a_rule() {
        let report = mixed();
        let rule = report.rules.iter().find(|rule| rule.rule == "axis-range").unwrap();
        for (runtime, text) in [(None, "✓ 2/2"), (Some(1), "✓ 7"), (Some(2), "✓ 7")] {
            assert_eq!(View { report: &report, runtime }.text(rule), text);
        }
    }

    #[test]
    fn totals_count_every_cell_once() {
        let report = mixed();
        for view in View::all(&report) {
            let totals = view.totals(report.cells.iter().map(SubjectCounts::from));
            assert_eq!(totals.iter().sum::<usize>(), report.cells.len());
        }
        let totals = View { report: &report, runtime: None }.totals(report.cells.iter().map(SubjectCounts::from));
        let of = |state| totals[State::ALL.iter().position(|&s| s == state).unwrap()];
        assert_eq!([State::Agreed, State::Wrong, State::UnsupportedByAll, State::NotRun].map(of), [1; 4]);
        assert_eq!(of(State::NotReached), report.cells.len() - 4);
    }

    #[test]
    fn every_state_has_a_sign_and_a_look_of_its_own() {
        let page = page(&mixed()).unwrap();
        let looks = State::ALL.map(look);
        for said in [looks.each_ref().map(|look| look.class), looks.each_ref().map(|look| look.sign)] {
            assert_eq!(said.iter().collect::<BTreeSet<_>>().len(), looks.len(), "{said:?}");
        }
        for Look { class, sign, name, meaning } in &looks {
            let row = format!("<li><i class=\"{class}\">{sign}</i>{name}: {meaning}</li>");
            assert!(page.contains(&row), "the legend has no row {row}");
        }
    }

    #[test]
    fn what_is_shown_in_the_terminal_says_the_same() {
        let report = mixed();
        let text = |runtime| {
            let mut text = Vec::new();
            show(&report, runtime, &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        let together = text(None);
        let name = report.cells[0].name();
        assert!(together.contains("✓ 1/2") && together.contains("✗ 1/2") && together.contains("✓ 2/2"), "{together}");
        assert!(together.contains(&format!("No runtime supports, 1: {name}\n")), "{together}");
        assert!(text(Some(1)).contains(&format!("Not supported, 1: {name}\n")), "{}", text(Some(1)));
        assert!(text(Some(1)).contains("Not run, 1: "), "{}", text(Some(1)));
    }

    #[test]
    fn what_is_saved_can_be_read_again() {
        let report = mixed();
        assert_eq!(
            report.cells.len(),
            crate::operator::OPERATORS.iter().map(|operator| operator.cells()).sum::<usize>()
        );
        let folder = tempfile::tempdir().unwrap();
        save(&report, &folder.path().join("a/b")).unwrap();
        let text = fs::read_to_string(folder.path().join("a/b").join(FILE)).unwrap();
        assert_eq!(serde_json::from_str::<CoverageReport>(&text).unwrap(), report);
    }

    #[test]
    fn the_page_needs_nothing_but_itself() {
        let mut report = report(&["in-house"]);
        report.cells[0].sample = Some(r#"Shape@1 string[1]{"</script>"}"#.to_owned());
        let page = page(&report).unwrap();
        for fetched in ["http://", "https://", "src=", "<link", "@import", "url("] {
            assert!(!page.contains(fetched), "{fetched}");
        }
        assert!(!page.contains("<macro") && !page.contains("{%"), "all of the template is filled in");
        assert!(page.contains(&format!("0 of {} cells were reached", report.cells.len())), "the page has the totals");
        assert_eq!(page.matches("</script>").count(), page.matches("<script").count(), "no text closes a script");
    }

    #[test]
    fn each_operator_is_a_step_away() {
        let page = page(&report(&["in-house"])).unwrap();
        for place in OPERATORS.iter().map(|operator| operator.name).chain(["rules", "graphs"]) {
            let (link, heading) = (format!("<a href=\"#{place}\">"), format!("<h2 id=\"{place}\">"));
            assert!(page.contains(&link) && page.contains(&heading), "{place}");
        }
    }
}
