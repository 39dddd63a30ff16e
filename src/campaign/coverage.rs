//! Which part of the input space was reached: each cell (operator version and element type), and each rule in each
//! wiring, by runtime.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

use super::examine::Examination;
use super::form;
use crate::case::{Case, Generated, Wiring};
use crate::operator::{self, OPERATORS, OperatorName, Rule};
use crate::runtime::{Outcome, RuntimeId};
use crate::tensor::ElementType;
use crate::verdict::{Discrepancy, Judgement, sentences};

/// What was reached, counted while a campaign runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Coverage {
    #[serde(with = "form::pairs")]
    cells: BTreeMap<Cell, CellCoverage>,
    #[serde(with = "form::pairs")]
    rules: BTreeMap<(Option<Rule>, usize), Row>,
}

/// An operator version and an element type that it lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Cell {
    #[serde(deserialize_with = "operator::read_name")]
    operator: OperatorName,
    version: u8,
    element_type: ElementType,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct CellCoverage {
    runtimes: Row,
    /// The shortest case; `None` in a part if it is another part's.
    sample: Option<String>,
    /// What went wrong, by the place of the runtime, each with the shortest case.
    #[serde(with = "form::pairs")]
    findings: BTreeMap<(usize, Vec<Discrepancy>), String>,
}

/// What a runtime did with some cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub agreed: u64,
    pub tolerated: u64,
    pub unsupported: u64,
    pub wrong: u64,
    /// Cases that were answered: whether the runtime has what they need is certain only then.
    pub answered: u64,
}

/// What each runtime did with some cases, written as bare numbers: there are thousands of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Vec<[u64; 5]>", into = "Vec<[u64; 5]>")]
struct Row(Vec<Counts>);

impl From<Vec<[u64; 5]>> for Row {
    fn from(numbers: Vec<[u64; 5]>) -> Row {
        let counts = numbers.into_iter().map(|[agreed, tolerated, unsupported, wrong, answered]| Counts {
            agreed,
            tolerated,
            unsupported,
            wrong,
            answered,
        });
        Row(counts.collect())
    }
}

impl From<Row> for Vec<[u64; 5]> {
    fn from(row: Row) -> Vec<[u64; 5]> {
        row.0.iter().map(|c| [c.agreed, c.tolerated, c.unsupported, c.wrong, c.answered]).collect()
    }
}

impl Counts {
    pub fn total(self) -> u64 {
        self.agreed + self.tolerated + self.wrong + self.unsupported
    }

    fn count(&mut self, judgement: &Judgement, outcome: &Outcome) {
        self.answered += u64::from(matches!(outcome, Outcome::Answer(_)));
        *match judgement {
            Judgement::Agrees => &mut self.agreed,
            Judgement::Tolerated(_) => &mut self.tolerated,
            Judgement::Unsupported(_) => &mut self.unsupported,
            Judgement::Wrong(_) => &mut self.wrong,
        } += 1;
    }

    fn add(&mut self, other: Counts) {
        self.agreed += other.agreed;
        self.tolerated += other.tolerated;
        self.unsupported += other.unsupported;
        self.wrong += other.wrong;
        self.answered += other.answered;
    }
}

impl Coverage {
    pub(super) fn count(&mut self, generated: &Generated, ids: &[RuntimeId], examination: &Examination) {
        let case = &generated.case;
        let runtimes = || Row(vec![Counts::default(); ids.len()]);
        let count = |row: &mut Row| {
            for (index, counts) in row.0.iter_mut().enumerate() {
                counts.count(&examination.judgements[index], &examination.executions[index].outcome);
            }
        };
        let mut wirings: Vec<usize> = case
            .operands
            .iter()
            .flatten()
            .filter_map(|operand| Wiring::ALL.iter().position(|&wiring| wiring == operand.wiring))
            .collect();
        wirings.sort_unstable();
        wirings.dedup();
        for wiring in wirings {
            count(self.rules.entry((generated.expectation.rule(), wiring)).or_insert_with(runtimes));
        }
        let data = case.data().map(|data| data.element_type);
        let (Some(version), Some(element_type)) = (case.version(), data) else { return };
        if !version.element_types.contains(&element_type) {
            return;
        }
        let cell = Cell { operator: case.operator.name, version: version.since, element_type };
        let new = || CellCoverage { runtimes: runtimes(), sample: None, findings: BTreeMap::new() };
        let cell = self.cells.entry(cell).or_insert_with(new);
        count(&mut cell.runtimes);
        let mut text = Text { case, exceeds: 0 };
        text.replace_longer(cell.sample.get_or_insert_with(|| case.to_string()));
        for (index, judgement) in examination.judgements.iter().enumerate() {
            if let Judgement::Wrong(found) = judgement {
                let kept = cell.findings.entry((index, found.clone()));
                text.replace_longer(kept.or_insert_with(|| case.to_string()));
            }
        }
    }

    pub(super) fn add(&mut self, part: Coverage) {
        for (cell, theirs) in part.cells {
            match self.cells.entry(cell) {
                std::collections::btree_map::Entry::Vacant(vacant) => {
                    vacant.insert(theirs);
                }
                std::collections::btree_map::Entry::Occupied(mut occupied) => {
                    let mine = occupied.get_mut();
                    mine.runtimes.add(&theirs.runtimes);
                    let is_better = |case: &String| mine.sample.as_ref().is_none_or(|kept| is_shorter(case, kept));
                    if theirs.sample.as_ref().is_some_and(is_better) {
                        mine.sample = theirs.sample;
                    }
                    for (finding, case) in theirs.findings {
                        let kept = mine.findings.entry(finding).or_insert_with(|| case.clone());
                        if is_shorter(&case, kept) {
                            *kept = case;
                        }
                    }
                }
            }
        }
        for (key, theirs) in part.rules {
            let none = || Row(vec![Counts::default(); theirs.0.len()]);
            self.rules.entry(key).or_insert_with(none).add(&theirs);
        }
    }

    /// Leaves out the cases that are no shorter than those of another part.
    pub(super) fn leave_out(&mut self, there: &Coverage) {
        for (cell, mine) in &mut self.cells {
            let Some(theirs) = there.cells.get(cell) else { continue };
            let is_better = |case: &String, kept: Option<&String>| kept.is_none_or(|kept| is_shorter(case, kept));
            mine.sample.take_if(|case| !is_better(case, theirs.sample.as_ref()));
            mine.findings.retain(|finding, case| is_better(case, theirs.findings.get(finding)));
        }
    }

    /// Whether all that was counted was counted of so many runtimes.
    pub(super) fn is_of(&self, runtimes: usize) -> bool {
        let mut rows = self.cells.values().map(|cell| &cell.runtimes).chain(self.rules.values());
        let mut findings = self.cells.values().flat_map(|cell| cell.findings.keys());
        rows.all(|row| row.0.len() == runtimes) && findings.all(|(place, _)| *place < runtimes)
    }

    /// The coverage as it is saved: every cell and every rule there is, reached or not.
    pub fn report(&self, ids: &[RuntimeId]) -> CoverageReport {
        let mut cells = Vec::new();
        for operator in OPERATORS {
            for version in operator.versions {
                for &element_type in version.element_types {
                    let reached =
                        self.cells.get(&Cell { operator: operator.name, version: version.since, element_type });
                    cells.push(CellReport {
                        operator: operator.name.to_owned(),
                        version: version.since,
                        element_type: element_type.name().to_owned(),
                        runtimes: reached.map_or_else(|| vec![Counts::default(); ids.len()], |c| c.runtimes.0.clone()),
                        sample: reached.and_then(|c| c.sample.clone()),
                        findings: reached.map(|c| c.told(ids)).unwrap_or_default(),
                    });
                }
            }
        }
        let rules = [None].into_iter().chain(Rule::ALL.into_iter().filter(|&r| r != Rule::NotInOpset).map(Some));
        let rules = rules.flat_map(|rule| {
            Wiring::ALL.iter().enumerate().map(move |(index, wiring)| RuleReport {
                rule: rule.map_or("valid", Rule::id).to_owned(),
                wiring: wiring.to_string(),
                runtimes: self
                    .rules
                    .get(&(rule, index))
                    .map_or_else(|| vec![Counts::default(); ids.len()], |row| row.0.clone()),
            })
        });
        CoverageReport { runtimes: ids.to_vec(), cells, rules: rules.collect() }
    }
}

impl CellCoverage {
    /// What went wrong in sentences, each with the shortest case.
    fn told(&self, ids: &[RuntimeId]) -> BTreeMap<String, String> {
        let told = |((place, found), case): (&(usize, Vec<Discrepancy>), &String)| {
            (format!("{} {}", ids[*place], sentences(found)), case.clone())
        };
        self.findings.iter().map(told).collect()
    }
}

impl Row {
    fn add(&mut self, other: &Row) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| mine.add(*theirs));
    }
}

/// The text of a case. No more of it is written than tells whether it is short, since that is asked of every case.
struct Text<'a> {
    case: &'a Case,
    /// It is longer than so many bytes.
    exceeds: usize,
}

impl Text<'_> {
    /// Puts it in place of one that is longer, or that is as long and comes later in the alphabet.
    fn replace_longer(&mut self, kept: &mut String) {
        if kept.len() <= self.exceeds {
            return;
        }
        if write!(Room(kept.len()), "{}", self.case).is_err() {
            self.exceeds = kept.len();
            return;
        }
        let text = self.case.to_string();
        if is_shorter(&text, kept) {
            *kept = text;
        }
    }
}

/// Room for so many bytes of text, which is not kept.
struct Room(usize);

impl fmt::Write for Room {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
        Ok(())
    }
}

/// Whether a case is shorter than another, or comes first in the alphabet of equally long ones.
fn is_shorter(case: &str, than: &str) -> bool {
    (case.len(), case) < (than.len(), than)
}

/// What a campaign reached, as it is saved and shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoverageReport {
    pub runtimes: Vec<RuntimeId>,
    /// All cells, by operator, version and type.
    pub cells: Vec<CellReport>,
    /// All rules in all wirings; `valid` stands first.
    pub rules: Vec<RuleReport>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellReport {
    pub operator: String,
    pub version: u8,
    pub element_type: String,
    /// In the order of the runtimes.
    pub runtimes: Vec<Counts>,
    /// The shortest case.
    pub sample: Option<String>,
    /// What went wrong, each with the shortest case.
    pub findings: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleReport {
    pub rule: String,
    /// A case with operands in two wirings counts in both.
    pub wiring: String,
    pub runtimes: Vec<Counts>,
}

impl CellReport {
    pub fn name(&self) -> String {
        format!("{}-{} {}", self.operator, self.version, self.element_type)
    }

    /// Cases that were run, on whichever runtime ran most of them.
    pub fn cases(&self) -> u64 {
        self.runtimes.iter().map(|counts| counts.total()).max().unwrap_or(0)
    }
}
