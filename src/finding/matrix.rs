//! The matrix: the status of each operator on each release of each runtime, as a page for people.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use minijinja::Environment;
use serde::Serialize;
use serde_json::json;

use super::summary::{FindingReport, Summary};
use super::{Known, Ledger, State, upstream};
use crate::campaign::{Counts, CoverageReport, WrongReport};
use crate::case::Case;
use crate::case::pattern::PATTERNS;
use crate::operator::OPERATORS;
use crate::runtime::{RuntimeId, by_number};
use crate::verdict::{Mismatch, Severity};

/// The results of a campaign, from its folder.
#[derive(Clone, Debug)]
pub struct Results {
    pub summary: Summary,
    pub coverage: CoverageReport,
}

/// The status of an operator, or of a part of it, on a release. Of several, the worst is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// At least one case is wrong.
    Wrong,
    /// Some cases are answered, and others are not supported.
    Partly,
    /// All mismatches are by design.
    ByDesign,
    Yes,
    Unsupported,
    /// No valid case was run.
    NotTried,
}

impl Status {
    pub const ALL: [Status; 6] =
        [Status::Wrong, Status::Partly, Status::ByDesign, Status::Yes, Status::Unsupported, Status::NotTried];

    fn of(counts: Counts) -> Status {
        let table = [
            (counts.wrong > 0, Status::Wrong),
            (counts.answered > 0 && counts.unsupported > 0, Status::Partly),
            (counts.by_design > 0, Status::ByDesign),
            (counts.answered > 0, Status::Yes),
            (counts.unsupported > 0, Status::Unsupported),
        ];
        table.iter().find(|(holds, _)| *holds).map_or(Status::NotTried, |(_, status)| *status)
    }

    /// The status of several parts together. No part hides another.
    fn of_all(parts: impl Iterator<Item = Status>) -> Status {
        let mut tried: Vec<Status> = parts.filter(|&status| status != Status::NotTried).collect();
        tried.sort_unstable();
        match tried[..] {
            [] => Status::NotTried,
            [first, .., Status::Unsupported] if first != Status::Wrong && first != Status::Unsupported => {
                Status::Partly
            }
            [first, ..] => first,
        }
    }

    pub fn name(self) -> &'static str {
        self.words()[1]
    }

    /// A sign, the name, and the meaning. The sign is for people who do not see the colour.
    const fn words(self) -> [&'static str; 3] {
        match self {
            Status::Wrong => ["✗", "wrong", "at least one case is wrong: the worst is named"],
            Status::Partly => ["◐", "partly", "some cases are answered, and others are not supported"],
            Status::ByDesign => ["≈", "by design", "nothing is wrong but what the runtime does so by design"],
            Status::Yes => ["✓", "yes", "each valid case is answered rightly"],
            Status::Unsupported => ["–", "not supported", "the runtime says that it lacks what the cases need"],
            Status::NotTried => ["·", "not tried", "no valid case was run"],
        }
    }
}

/// A release of a runtime, and its configurations by their places.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Column {
    name: String,
    version: String,
    rows: Vec<usize>,
}

impl Column {
    fn is(&self, name: &str, version: &str) -> bool {
        self.name == name && self.version == version
    }

    fn release(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

/// A cell of the coverage, or a pattern or declaration of graphs, with the results of each configuration of each release.
#[derive(Clone, Debug, Serialize)]
struct MatrixEntry {
    /// Such as `Reshape-14 float`.
    name: String,
    /// The description of a pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'static str>,
    /// The counts of each configuration, in their order.
    #[serde(serialize_with = "numbers")]
    counts: Vec<Counts>,
    sample: Option<String>,
    wrong: Vec<WrongCell>,
}

fn numbers<S: serde::Serializer>(counts: &[Counts], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(counts.iter().map(|counts| counts.numbers()))
}

/// A mismatch of one configuration of a release, in an entry.
#[derive(Clone, Debug, Serialize)]
struct WrongCell {
    /// The place of the configuration.
    row: usize,
    severity: Severity,
    what: String,
    case: String,
    /// The place of its finding, if known.
    finding: Option<usize>,
    #[serde(skip)]
    known: Option<String>,
}

/// A known issue that shows, or a new finding.
#[derive(Clone, Debug, Serialize)]
struct Finding {
    id: String,
    runtime: String,
    severity: Severity,
    title: String,
    explanation: String,
    /// `new`, `not minimized`, or the state of the known issue.
    state: String,
    is_defect: bool,
    link: Option<String>,
    /// Sentences of the ONNX documents: each with its document and its address.
    sentences: Vec<[String; 3]>,
    case: String,
    pass: Option<String>,
    /// The command that writes the report for the maintainers.
    report: String,
    /// The places of the releases that show it.
    columns: Vec<usize>,
}

/// The changes since an earlier release or campaign.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Changes {
    /// The earlier release or campaign.
    since: String,
    changes: Vec<CellChange>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct CellChange {
    kind: ChangeKind,
    /// The place of the release.
    column: usize,
    /// The operator version, or the pattern or declaration of graphs.
    of: String,
    /// The element types, if it is an operator version.
    types: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum ChangeKind {
    NowWrong,
    NoLongerSupported,
    NoLongerWrong,
    NowSupported,
}

impl ChangeKind {
    fn of(before: Status, after: Status) -> Option<ChangeKind> {
        use Status::{NotTried, Unsupported, Wrong};
        match (before, after) {
            (NotTried, _) | (_, NotTried) | (Wrong, Wrong) | (Unsupported, Unsupported) => None,
            (_, Wrong) => Some(ChangeKind::NowWrong),
            (_, Unsupported) => Some(ChangeKind::NoLongerSupported),
            (Wrong, _) => Some(ChangeKind::NoLongerWrong),
            (Unsupported, _) => Some(ChangeKind::NowSupported),
            _ => None,
        }
    }
}

/// All campaigns put together.
#[derive(Debug, Default)]
struct Matrix {
    /// Every configuration of every release that is under test.
    rows: Vec<RuntimeId>,
    columns: Vec<Column>,
    /// By operator, version and element type.
    cells: IndexMap<(String, u8, String), MatrixEntry>,
    /// Patterns and declarations, by kind and name.
    parts: IndexMap<(String, String), MatrixEntry>,
}

/// The totals of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Total {
    pub release: String,
    /// The number of cells by status, in the order of [`Status::ALL`].
    pub cells: [usize; Status::ALL.len()],
    /// The number of known issues that show and of new findings, without issues that are by design.
    pub findings: usize,
}

/// The page, which needs no other file, and the totals of each release. `before` has the results of an earlier night.
///
/// # Panics
/// If the template is damaged.
pub fn matrix(results: &[Results], before: &[Results], ledger: &Ledger) -> (String, Vec<Total>) {
    let mut matrix = Matrix::new(results);
    let findings = matrix.findings(results, ledger);
    let totals: Vec<Total> = (0..matrix.columns.len()).map(|place| matrix.total(place, &findings)).collect();
    let data = json!({
        "statuses": Status::ALL.map(|status| (status, status.words())),
        "severities": severities(),
        "campaigns": results.iter().map(|results| results.summary.about()).collect::<Vec<_>>(),
        "rows": matrix.rows.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "columns": &matrix.columns,
        "totals": totals.iter().map(|total| total.cells).collect::<Vec<_>>(),
        "operators": OPERATORS.iter().map(|operator| operator.name).collect::<Vec<_>>(),
        "cells": matrix.cells.iter().map(|((operator, version, element_type), entry)| json!({
            "operator": operator, "version": version, "type": element_type, "entry": entry,
            "statuses": matrix.statuses(entry),
        })).collect::<Vec<_>>(),
        "parts": matrix.parts.iter().map(|((kind, _), entry)| json!({
            "kind": kind, "entry": entry, "statuses": matrix.statuses(entry),
        })).collect::<Vec<_>>(),
        "findings": findings,
        "changes": matrix.changes(&Matrix::new(before), before),
    });
    // Inside a script element no text may close it.
    let data = data.to_string().replace("</", "<\\/");
    let mut environment = Environment::new();
    environment.add_template("matrix.html", include_str!("matrix.html")).expect("the template is whole");
    let template = environment.get_template("matrix.html").expect("it was added");
    (template.render(minijinja::context! { data }).expect("the template fits the data"), totals)
}

fn severities() -> Vec<String> {
    <Severity as strum::VariantArray>::VARIANTS.iter().map(ToString::to_string).collect()
}

impl Matrix {
    fn new(results: &[Results]) -> Matrix {
        let mut matrix = Matrix::of(results.iter().flat_map(|results| &results.coverage.runtimes));
        for results in results {
            matrix.add(&results.coverage);
        }
        matrix
    }

    /// An empty matrix of those of these runtimes that are under test.
    fn of<'a>(ids: impl Iterator<Item = &'a RuntimeId>) -> Matrix {
        let mut matrix = Matrix::default();
        let mut ids: Vec<&RuntimeId> = ids.filter(|id| id.is_under_test()).collect();
        // Stable: configurations stay in the order of the campaign.
        ids.sort_by_key(|id| (&id.name, by_number(&id.version)));
        for id in ids {
            if !matrix.rows.contains(id) {
                matrix.rows.push(id.clone());
            }
        }
        for (place, id) in matrix.rows.iter().enumerate() {
            match matrix.columns.last_mut() {
                Some(column) if column.is(&id.name, &id.version) => column.rows.push(place),
                _ => matrix.columns.push(Column {
                    name: id.name.clone(),
                    version: id.version.clone(),
                    rows: vec![place],
                }),
            }
        }
        matrix
    }

    /// Adds the coverage of one campaign.
    fn add(&mut self, coverage: &CoverageReport) {
        let places: Vec<Option<usize>> =
            coverage.runtimes.iter().map(|id| self.rows.iter().position(|own| own == id)).collect();
        let count = self.rows.len();
        for cell in &coverage.cells {
            let key = (cell.operator.clone(), cell.version, cell.element_type.clone());
            let entry = self.cells.entry(key).or_insert_with(|| MatrixEntry::new(cell.name(), count));
            entry.add(&places, &cell.runtimes, cell.sample.as_ref(), &cell.wrong);
        }
        for part in coverage.graphs.iter().filter(|part| !part.is_edge()) {
            let key = (part.kind.clone(), part.name.clone());
            let entry = self.parts.entry(key).or_insert_with(|| MatrixEntry::new(part.name.clone(), count));
            entry.add(&places, &part.runtimes, part.sample.as_ref(), &part.wrong);
        }
    }

    /// The place of a release, if it is there.
    fn column(&self, name: &str, version: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.is(name, version))
    }

    /// The status of each release in an entry.
    fn statuses(&self, entry: &MatrixEntry) -> Vec<Status> {
        (0..self.columns.len()).map(|place| self.status(entry, place)).collect()
    }

    fn status(&self, entry: &MatrixEntry, column: usize) -> Status {
        Status::of_all(self.columns[column].rows.iter().map(|&row| Status::of(entry.counts[row])))
    }

    fn total(&self, column: usize, findings: &[Finding]) -> Total {
        let mut cells = [0; Status::ALL.len()];
        for entry in self.cells.values() {
            let status = self.status(entry, column);
            cells[Status::ALL.iter().position(|&other| other == status).expect("all are listed")] += 1;
        }
        let shows = |finding: &&Finding| finding.is_defect && finding.columns.contains(&column);
        Total { release: self.columns[column].release(), cells, findings: findings.iter().filter(shows).count() }
    }

    /// Every known issue that shows and every new finding, defects first, then by severity. Each mismatch of an entry that has a
    /// known issue gets the place of that issue in the list.
    fn findings(&mut self, results: &[Results], ledger: &Ledger) -> Vec<Finding> {
        let column_of = |row: usize| self.columns.iter().position(|column| column.rows.contains(&row));
        let mut found: IndexMap<String, Finding> = IndexMap::new();
        let mut causes: BTreeMap<String, String> = BTreeMap::new();
        for wrong in self.cells.values().chain(self.parts.values()).flat_map(|entry| &entry.wrong) {
            let Some(id) = &wrong.known else { continue };
            let known = ledger.known().find(|known| known.variant.id == *id);
            let cause = known.map_or_else(|| id.clone(), |known| known.cause.id.clone());
            let own = || known.map_or_else(|| Finding::unknown(id, wrong, &self.rows), Finding::known);
            let finding = found.entry(cause.clone()).or_insert_with(own);
            finding.severity = finding.severity.min(wrong.severity);
            finding.add(column_of(wrong.row));
            causes.insert(id.clone(), cause);
        }
        for (state, reports) in results.iter().flat_map(|results| results.summary.findings()) {
            for report in reports.iter().filter(|report| report.known_as.is_none()) {
                let finding = found.entry(report.name.clone()).or_insert_with(|| Finding::new(report, state));
                finding.add(self.column(&report.runtime, &report.version));
            }
        }
        let mut findings: Vec<Finding> = found.into_values().collect();
        findings.sort_by_key(|finding| (!finding.is_defect, finding.severity, finding.id.clone()));
        let places: BTreeMap<&str, usize> =
            findings.iter().enumerate().map(|(place, finding)| (finding.id.as_str(), place)).collect();
        for entry in self.cells.values_mut().chain(self.parts.values_mut()) {
            for wrong in &mut entry.wrong {
                let cause = wrong.known.as_ref().and_then(|id| causes.get(id));
                wrong.finding = cause.and_then(|cause| places.get(cause.as_str()).copied());
            }
        }
        findings
    }

    /// The changes from each release of a runtime to the next one on the page, and those since the campaigns of `nights`.
    fn changes(&self, before: &Matrix, nights: &[Results]) -> Vec<Changes> {
        let mut all = Vec::new();
        for (place, pair) in self.columns.windows(2).enumerate().filter(|(_, pair)| pair[0].name == pair[1].name) {
            let changes = self.changes_of(place + 1, &|key| Some(self.status(self.entry(key)?, place)));
            all.push(Changes { since: pair[0].release(), changes });
        }
        if nights.is_empty() {
            return all;
        }
        let mut changes = Vec::new();
        for (place, column) in self.columns.iter().enumerate() {
            if let Some(earlier) = before.column(&column.name, &column.version) {
                changes.extend(self.changes_of(place, &|key| Some(before.status(before.entry(key)?, earlier))));
            }
        }
        changes.sort();
        let ends = nights.iter().map(|night| night.summary.ended()).max().unwrap_or_default();
        all.push(Changes { since: format!("the campaign of {ends}"), changes });
        all
    }

    fn entry(&self, key: &Key) -> Option<&MatrixEntry> {
        match key {
            Key::Cell(key) => self.cells.get(*key),
            Key::Part(key) => self.parts.get(*key),
        }
    }

    /// The changes in a release, sorted, with the types of each operator version together.
    fn changes_of(&self, column: usize, before: &dyn Fn(&Key) -> Option<Status>) -> Vec<CellChange> {
        let keys = self.cells.keys().map(Key::Cell).chain(self.parts.keys().map(Key::Part));
        let mut together: BTreeMap<(ChangeKind, String), Vec<String>> = BTreeMap::new();
        for key in keys {
            let after = self.entry(&key).map_or(Status::NotTried, |entry| self.status(entry, column));
            let Some(kind) = before(&key).and_then(|before| ChangeKind::of(before, after)) else { continue };
            let types = together.entry((kind, key.of())).or_default();
            if let Key::Cell((_, _, element_type)) = key {
                types.push(element_type.clone());
            }
        }
        together.into_iter().map(|((kind, of), types)| CellChange { kind, column, of, types }).collect()
    }
}

/// The key of an entry.
enum Key<'a> {
    Cell(&'a (String, u8, String)),
    Part(&'a (String, String)),
}

impl Key<'_> {
    /// The operator version, or the pattern or declaration of graphs.
    fn of(&self) -> String {
        match self {
            Key::Cell((operator, version, _)) => format!("{operator}-{version}"),
            Key::Part((_, name)) => name.clone(),
        }
    }
}

impl MatrixEntry {
    fn new(name: String, rows: usize) -> MatrixEntry {
        let text = PATTERNS.iter().find(|pattern| pattern.id == name).map(|pattern| pattern.text);
        MatrixEntry { name, text, counts: vec![Counts::default(); rows], sample: None, wrong: vec![] }
    }

    fn add(&mut self, places: &[Option<usize>], counts: &[Counts], sample: Option<&String>, wrong: &[WrongReport]) {
        for (place, counts) in places.iter().zip(counts) {
            if let Some(place) = place {
                self.counts[*place].add(*counts);
            }
        }
        let is_shorter = |case: &&String| self.sample.as_ref().is_none_or(|own| case.len() < own.len());
        if let Some(case) = sample.filter(is_shorter) {
            self.sample = Some(case.clone());
        }
        self.wrong.extend(wrong.iter().filter_map(|wrong| WrongCell::new(wrong, places)));
        // Of equal mismatches, the one with the shortest case comes first and stays.
        self.wrong.sort_by_key(|wrong| {
            (wrong.severity, wrong.row, wrong.what.clone(), wrong.known.clone(), wrong.case.len())
        });
        self.wrong.dedup_by(|b, a| (a.row, &a.what, &a.known) == (b.row, &b.what, &b.known));
    }
}

impl WrongCell {
    fn new(report: &WrongReport, places: &[Option<usize>]) -> Option<WrongCell> {
        let WrongReport { runtime, severity, what, known, case } = report.clone();
        Some(WrongCell { row: places[runtime]?, severity, what, case, finding: None, known })
    }
}

impl Finding {
    /// The finding of a known issue of the ledger.
    fn known(known: Known) -> Finding {
        let Known { cause, variant } = known;
        let first = &cause.variants[0];
        Finding {
            id: cause.id.clone(),
            runtime: variant.runtime_name().to_owned(),
            severity: variant.mismatch().severity(),
            title: cause.title.clone(),
            explanation: cause.explanation.trim().to_owned(),
            state: cause.state.to_string(),
            is_defect: cause.state != State::ByDesign,
            link: Some(cause.link.clone()).filter(|link| link.starts_with("https://")),
            sentences: sentences(&first.case(), &first.mismatch()),
            case: first.case.clone(),
            pass: first.pass.clone(),
            report: format!("crosscheck report {}", cause.id),
            columns: vec![],
        }
    }

    /// The finding of an issue that the campaign knew and this ledger does not have.
    fn unknown(id: &str, wrong: &WrongCell, rows: &[RuntimeId]) -> Finding {
        Finding {
            id: id.to_owned(),
            runtime: rows[wrong.row].name.clone(),
            severity: wrong.severity,
            title: format!("{} {}", rows[wrong.row].name, wrong.what),
            explanation: "The campaign knew this issue, and it is not among the known issues here.".to_owned(),
            state: State::Open.to_string(),
            is_defect: true,
            link: None,
            sentences: vec![],
            case: wrong.case.clone(),
            pass: None,
            report: crate::files::reproduce(&wrong.case),
            columns: vec![],
        }
    }

    /// A finding that no known issue explains.
    fn new(report: &FindingReport, state: &str) -> Finding {
        let mismatch = |case: &Case| Mismatch {
            discrepancies: report.signature.discrepancies.clone(),
            operator: case.subject(),
            runtime: report.runtime.clone(),
            rule: report.signature.rule,
            reaction: report.signature.reaction.clone(),
        };
        let case: Option<Case> = report.case.parse().ok();
        let sentences = case.map(|case| sentences(&case, &mismatch(&case))).unwrap_or_default();
        Finding {
            id: report.name.clone(),
            runtime: report.runtime.clone(),
            severity: report.severity,
            title: report.what.clone(),
            explanation: report.message.clone(),
            state: state.to_owned(),
            is_defect: true,
            link: None,
            sentences,
            case: report.case.clone(),
            pass: report.pass.clone(),
            report: format!("crosscheck report {} --to {}", crate::files::quoted(&report.case), report.runtime),
            columns: vec![],
        }
    }

    fn add(&mut self, column: Option<usize>) {
        if let Some(column) = column.filter(|column| !self.columns.contains(column)) {
            self.columns.push(column);
            self.columns.sort_unstable();
        }
    }
}

/// The sentences of the ONNX documents about a case: each with its document and its address.
fn sentences(case: &Case, mismatch: &Mismatch) -> Vec<[String; 3]> {
    upstream::quoted(case, mismatch)
        .into_iter()
        .map(|quote| [quote.text.to_owned(), quote.document, quote.url])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::summary::tests::full;
    use super::*;
    use crate::campaign::{Coverage, GraphReport};

    fn id(name: &str, version: &str, configuration: &str) -> RuntimeId {
        RuntimeId { name: name.to_owned(), version: version.to_owned(), configuration: configuration.to_owned() }
    }

    const NONE: Counts = Counts {
        agreed: 0,
        refused: 0,
        tolerated: 0,
        unclassified: 0,
        by_design: 0,
        wrong: 0,
        unsupported: 0,
        not_run: 0,
        answered: 0,
    };
    const YES: Counts = Counts { agreed: 5, answered: 5, ..NONE };
    const WRONG: Counts = Counts { wrong: 1, answered: 5, ..YES };
    const UNSUPPORTED: Counts = Counts { unsupported: 5, ..NONE };

    #[test]
    fn the_status_is_decided_from_the_counts() {
        for (counts, status) in [
            (NONE, Status::NotTried),
            (YES, Status::Yes),
            (WRONG, Status::Wrong),
            (Counts { unsupported: 1, ..WRONG }, Status::Wrong),
            (Counts { unsupported: 1, ..YES }, Status::Partly),
            (Counts { by_design: 1, answered: 1, ..NONE }, Status::ByDesign),
            (Counts { by_design: 1, ..YES }, Status::ByDesign),
            (UNSUPPORTED, Status::Unsupported),
            // A right refusal shows no support.
            (Counts { refused: 3, ..UNSUPPORTED }, Status::Unsupported),
            (Counts { refused: 3, ..NONE }, Status::NotTried),
            (Counts { not_run: 3, ..NONE }, Status::NotTried),
        ] {
            assert_eq!(Status::of(counts), status, "{counts:?}");
        }
    }

    #[test]
    fn of_several_parts_none_hides_another() {
        use Status::{ByDesign, NotTried, Partly, Unsupported, Wrong, Yes};
        for (parts, together) in [
            (&[][..], NotTried),
            (&[Yes, NotTried], Yes),
            (&[Yes, Unsupported], Partly),
            (&[ByDesign, Unsupported], Partly),
            (&[Unsupported, Unsupported], Unsupported),
            (&[Yes, ByDesign], ByDesign),
            (&[Unsupported, Wrong, Yes], Wrong),
        ] {
            assert_eq!(Status::of_all(parts.iter().copied()), together, "{parts:?}");
        }
    }

    /// The coverage of a campaign with these counts of the runtimes in the first cells.
    fn coverage(ids: &[RuntimeId], cells: &[&[Counts]]) -> CoverageReport {
        let mut report = Coverage::default().report(ids, &[]);
        for (cell, counts) in report.cells.iter_mut().zip(cells) {
            cell.runtimes = counts.to_vec();
        }
        report
    }

    fn matrix_of(reports: &[CoverageReport]) -> Matrix {
        let mut ids: Vec<RuntimeId> = reports.iter().flat_map(|report| report.runtimes.clone()).collect();
        ids.dedup();
        let mut matrix = Matrix::of(ids.iter());
        for report in reports {
            matrix.add(report);
        }
        matrix
    }

    #[test]
    fn releases_stand_side_by_side_with_all_of_their_configurations() {
        let ids = [id("in-house", "1", ""), id("b", "1.10", "all"), id("b", "1.10", "none"), id("b", "1.9", "all")];
        let matrix =
            matrix_of(&[coverage(&ids, &[&[YES, YES, UNSUPPORTED, WRONG]]), coverage(&[id("a", "2", "")], &[&[YES]])]);
        let columns: Vec<(String, usize)> = matrix
            .columns
            .iter()
            .map(|column| (format!("{} {}", column.name, column.version), column.rows.len()))
            .collect();
        assert_eq!(columns, [("a 2".to_owned(), 1), ("b 1.9".to_owned(), 1), ("b 1.10".to_owned(), 2)]);
        assert_eq!(matrix.statuses(&matrix.cells[0]), [Status::Yes, Status::Wrong, Status::Partly]);
        assert_eq!(matrix.total(2, &[]).cells.iter().sum::<usize>(), matrix.cells.len(), "each cell counts once");
    }

    #[test]
    fn campaigns_of_the_same_runtime_are_added() {
        let ids = [id("a", "1", "")];
        let matrix = matrix_of(&[coverage(&ids, &[&[YES]]), coverage(&ids, &[&[UNSUPPORTED]])]);
        assert_eq!(matrix.statuses(&matrix.cells[0]), [Status::Partly]);
    }

    #[test]
    fn what_is_otherwise_in_the_next_release_is_listed_by_operator_version() {
        let ids = [id("a", "1", ""), id("a", "2", "")];
        let cells: [&[Counts]; 5] = [&[YES, WRONG], &[YES, WRONG], &[WRONG, YES], &[UNSUPPORTED, YES], &[NONE, WRONG]];
        let matrix = matrix_of(&[coverage(&ids, &cells)]);
        let [Changes { since, changes }] = &matrix.changes(&Matrix::default(), &[])[..] else { panic!("one pair") };
        assert_eq!(since, "a 1");
        let listed: Vec<(ChangeKind, &str, usize)> =
            changes.iter().map(|change| (change.kind, change.of.as_str(), change.types.len())).collect();
        // A cell that was not tried before is no change.
        assert_eq!(
            listed,
            [
                (ChangeKind::NowWrong, "Shape-1", 2),
                (ChangeKind::NoLongerWrong, "Shape-1", 1),
                (ChangeKind::NowSupported, "Shape-1", 1)
            ]
        );
        assert!(changes.iter().all(|change| change.column == 1));
    }

    #[test]
    fn what_is_wrong_in_a_graph_is_a_finding_too() {
        let mut report = coverage(&[id("a", "1", "")], &[]);
        let wrong = WrongReport {
            runtime: 0,
            severity: Severity::Panic,
            what: "panics".to_owned(),
            known: Some("of another ledger".to_owned()),
            case: "Shape@28 float[1]".to_owned(),
        };
        let part: &mut GraphReport = report.graphs.iter_mut().find(|part| part.kind == "pattern").unwrap();
        part.wrong = vec![wrong];
        let findings = matrix_of(&[report]).findings(&[], &Ledger::default());
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].severity, &findings[0].columns[..]), (Severity::Panic, &[0][..]));
    }

    /// Two releases of `tract`, of which the newer has a new finding and a known issue, and another runtime.
    fn page() -> String {
        let ids = [id("tract", "0.23.8", ""), id("tract", "0.23.9", ""), id("other", "1", "")];
        let mut report = coverage(&ids, &[&[YES, WRONG, UNSUPPORTED], &[YES, YES, YES]]);
        let variant = &Ledger::load().unwrap().causes.into_iter().find(|cause| cause.id.starts_with("tract-")).unwrap();
        report.cells[0].wrong = vec![WrongReport {
            runtime: 1,
            severity: Severity::WrongAnswer,
            what: "gives other </script> elements".to_owned(),
            known: Some(variant.variants[0].id.clone()),
            case: r#"Shape@1 string[1]{"'</script>"}"#.to_owned(),
        }];
        matrix(&[Results { summary: full(), coverage: report }], &[], &Ledger::load().unwrap()).0
    }

    #[test]
    fn the_page_needs_nothing_but_itself() {
        let page = page();
        for fetched in ["src=", "<link", "@import", "url("] {
            assert!(!page.contains(fetched), "{fetched}");
        }
        assert!(!page.contains("{{") && !page.contains("{%"), "all of the template is filled in");
        assert_eq!(page.matches("</script>").count(), page.matches("<script").count(), "no text closes a script");
    }

    mod wheels {
        use std::process::Command;

        use super::*;

        /// The page as a browser shows it at an address, in a window of this width, after this script.
        fn shown(address: &str, width: u32, script: &str) -> String {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("matrix.html");
            std::fs::write(&file, page().replace("</body>", &format!("<script>{script}</script></body>"))).unwrap();
            let browsers = ["chromium", "chromium-browser", "google-chrome"];
            let url = format!("file://{}{address}", file.display());
            let window = format!("--window-size={width},900");
            let options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"];
            let run = |browser: &&str| Command::new(browser).args(options).args([&window, &url]).output().ok();
            let output = browsers.iter().find_map(run).expect("Chromium or Chrome is installed");
            String::from_utf8(output.stdout).unwrap()
        }

        /// The part of the page that begins with this, up to the end of the element.
        fn part<'a>(dom: &'a str, begin: &str, end: &str) -> &'a str {
            let (_, rest) = dom.split_once(begin).unwrap_or_else(|| panic!("{begin}: {dom}"));
            rest.split_once(end).unwrap().0
        }

        #[test]
        #[ignore = "wheels: Chromium"]
        fn a_browser_shows_the_page() {
            let dom = shown("", 1280, "");
            let matrix = part(&dom, "<table id=\"matrix\">", "</table>");
            assert!(matrix.contains("tract<small>0.23.9</small>") && matrix.contains("✗ wrong-answer"), "{matrix}");
            assert!(matrix.contains("Shape on other 1: partly"), "{matrix}");
            assert!(part(&dom, "id=\"changes\">", "</div>").contains("Changed since tract 0.23.8: 1 wrong now"));
            assert!(part(&dom, "id=\"findings\">", "</ol>").contains("tract of Shape panics: `unwrap`"));
            assert!(!part(&dom, "<dialog", ">").contains("open"));
        }

        #[test]
        #[ignore = "wheels: Chromium"]
        fn each_cell_and_finding_has_an_address() {
            let dom = shown("#/cell/Shape/tract@0.23.9", 1280, "");
            let dialog = part(&dom, "<dialog", "</dialog>");
            assert!(dialog.contains("open=") && dialog.contains("Shape on tract 0.23.9"), "{dialog}");
            let dom = shown("#/finding/tract-shape-panic-0", 1280, "");
            assert!(part(&dom, "<dialog", "</dialog>").contains("crosscheck report "), "{dom}");
            let cell = "#/cell/Shape/1/".to_owned() + &Coverage::default().report(&[], &[]).cells[0].element_type;
            let dom = shown(&format!("{cell}/tract@0.23.9"), 1280, "");
            let dialog = part(&dom, "<dialog", "</dialog>");
            for said in
                ["gives other &lt;/script&gt; elements", "5 right, 1 wrong", "<blockquote>", "crosscheck report tract-"]
            {
                assert!(dialog.contains(said), "{said}: {dialog}");
            }
        }

        #[test]
        #[ignore = "wheels: Chromium"]
        fn filters_and_clicks_change_the_address() {
            let dom = shown("#?fails=1&only=tract%400.23.9", 1280, "");
            let matrix = part(&dom, "<table id=\"matrix\">", "</table>");
            assert!(
                matrix.contains(">Shape<") && !matrix.contains(">Flatten<") && !matrix.contains("other"),
                "{matrix}"
            );
            let clicked = |address: &str, what: &str| {
                let reports = "addEventListener('hashchange', () => { document.title = `at ${location.hash}`; });";
                let dom = shown(address, 1280, &format!("{reports} document.querySelector('{what}').click();"));
                part(&dom, "<title>", "</title>").to_owned()
            };
            assert_eq!(clicked("", "#matrix button"), "at #/cell/Shape/other%401");
            assert_eq!(clicked("#/finding/tract-shape-panic-0", "dialog form button"), "at ");
            assert_eq!(clicked("", "#fails"), "at #?fails=1");
        }

        #[test]
        #[ignore = "wheels: Chromium"]
        fn it_is_as_wide_as_a_phone() {
            let dom = shown("", 400, "document.title = document.documentElement.scrollWidth");
            let width: u32 = part(&dom, "<title>", "</title>").parse().unwrap();
            assert!(width <= 500, "{width}");
        }
    }
}
