//! The part of the input space that each runtime reached: each cell (operator version and element type), each rule in each
//! wiring, and the parts that graphs are made of.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

use super::Pairs;
use super::examine::{Examination, Fault};
use crate::case::pattern::{self, PATTERNS, PatternId};
use crate::case::{Call, Case, Edge, Generated, Shown, Wiring};
use crate::operator::{self, OPERATORS, OperatorName, Rule};
use crate::runtime::{Gap, Outcome, RuntimeId};
use crate::tensor::ElementType;
use crate::verdict::{Discrepancy, Judgement, Severity, sentences};

/// The coverage of a campaign, counted while it runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Coverage {
    #[serde(with = "Pairs")]
    cells: BTreeMap<Cell, Reached>,
    #[serde(with = "Pairs")]
    rules: BTreeMap<(Option<Rule>, usize), CellCounts>,
    /// The patterns and declarations. Each graph has at least one.
    #[serde(with = "Pairs")]
    graphs: BTreeMap<Part, Reached>,
    /// There are a thousand edges, so only their counts are recorded.
    #[serde(with = "Pairs")]
    edges: BTreeMap<Part, CellCounts>,
}

/// A part that graphs are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Part {
    /// A pattern, by its id.
    Pattern(#[serde(deserialize_with = "pattern::read_id")] PatternId),
    /// A value that another node takes, by what the graph declares of it.
    Between(Shown),
    /// A source that is also a graph output.
    Passed,
    /// Two identical nodes.
    Twins,
    /// A node takes an output of another node. All values of a variadic input count as one input.
    Edge {
        #[serde(deserialize_with = "operator::read_name")]
        giver: OperatorName,
        #[serde(deserialize_with = "operator::read_name")]
        taker: OperatorName,
        input: usize,
    },
}

impl Part {
    /// The parts that a campaign of all operators should reach.
    fn all() -> impl Iterator<Item = Part> {
        let between = Shown::all().map(Part::Between);
        let takers =
            || OPERATORS.iter().flat_map(|taker| (0..taker.most_inputs()).map(move |input| (taker.name, input)));
        let edges = OPERATORS
            .iter()
            .flat_map(move |giver| takers().map(|(taker, input)| Part::Edge { giver: giver.name, taker, input }));
        let patterns = PATTERNS.iter().map(|pattern| Part::Pattern(pattern.id));
        patterns.chain(between).chain([Part::Passed, Part::Twins]).chain(edges)
    }

    /// The parts of a graph, each once.
    fn of(case: &Case) -> BTreeSet<Part> {
        let mut parts: BTreeSet<Part> =
            PATTERNS.iter().filter(|pattern| pattern.is_in(case)).map(|pattern| Part::Pattern(pattern.id)).collect();
        for (place, node) in case.nodes.iter().enumerate() {
            if case.is_taken(place) {
                parts.insert(Part::Between(node.shown));
            }
            if case.twins(place).len() > 1 {
                parts.insert(Part::Twins);
            }
        }
        parts.extend(case.edges().map(|Edge { from, to, input }| {
            let (giver, taker) = (case.nodes[from].operator, case.nodes[to].operator);
            let last = taker.most_inputs().saturating_sub(1);
            Part::Edge { giver: giver.name, taker: taker.name, input: input.min(last) }
        }));
        parts.extend(Some(Part::Passed).filter(|_| !case.passed.is_empty()));
        parts
    }

    /// The kind of the part, in words.
    fn kind(self) -> &'static str {
        match self {
            Part::Pattern(_) => "pattern",
            Part::Edge { .. } => EDGE,
            Part::Between(_) | Part::Passed | Part::Twins => "declaration",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Pattern(id) => f.write_str(id),
            Part::Between(shown) => write!(f, "a value between: {shown}"),
            Part::Passed => f.write_str("an input that is an output"),
            Part::Twins => f.write_str("identical nodes"),
            Part::Edge { giver, taker, input } => write!(f, "{taker}.{input}<{giver}"),
        }
    }
}

/// An operator version and an element type that it lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Cell {
    #[serde(deserialize_with = "operator::read_name")]
    operator: OperatorName,
    version: u8,
    element_type: ElementType,
}

/// The counts and samples of a cell, or of a part of graphs.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Reached {
    runtimes: CellCounts,
    /// The shortest case.
    sample: String,
    /// The mismatches, each with the shortest case that shows it.
    #[serde(with = "Pairs")]
    wrong: BTreeMap<MismatchKind, String>,
}

/// One kind of mismatch of a runtime.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct MismatchKind {
    /// The index of the runtime.
    runtime: usize,
    discrepancies: Vec<Discrepancy>,
    /// The index of the known defect that explains the mismatch.
    known: Option<usize>,
}

/// The results of a runtime for some cases. Each case is counted in one of these fields, and again in `answered` if it was
/// answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Answered with the answer that the specification demands.
    pub agreed: u64,
    /// Refused, as the specification demands.
    pub refused: u64,
    /// Answered or refused in a way that the specification leaves open.
    pub tolerated: u64,
    /// Failed with a message that is in no table, where the specification demands or allows a refusal.
    pub unclassified: u64,
    /// Wrong only in ways that are by design of the runtime.
    pub by_design: u64,
    pub wrong: u64,
    pub unsupported: u64,
    /// Not run. Such a case does not show what the runtime supports.
    pub not_run: u64,
    /// Answered in any way. Only an answer shows for certain that the runtime has what the case needs.
    pub answered: u64,
}

/// The kind of the cases that are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Cases that count as supported only if one of them is answered: those of an operator version and an element type, or
    /// the valid cases of a wiring.
    Answers,
    /// Cases that break a rule or that a rule leaves open. A refusal is a result too.
    Rule,
}

/// The state of some cases on a runtime, or on all runtimes under test together. The states are ordered by importance:
/// several runtimes together have the first state that one of them has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// At least one case was wrong.
    Wrong,
    /// A case was answered as the specification demands. For a rule, a case that was refused as the specification demands
    /// counts too.
    Agreed,
    /// Some cases were wrong, but only in ways that are by design of the runtime.
    ByDesign,
    /// A result that the specification leaves open, and none of the above.
    Tolerated,
    /// A failure with a message that is in no table.
    Unclassified,
    /// Only right refusals of invalid cases. No valid case was run.
    Refused,
    /// No case was run.
    NotRun,
    Unsupported,
    /// None of the runtimes under test supports it.
    UnsupportedByAll,
    /// There was no case.
    NotReached,
}

impl State {
    pub const ALL: [State; 10] = [
        State::Wrong,
        State::Agreed,
        State::ByDesign,
        State::Tolerated,
        State::Unclassified,
        State::Refused,
        State::NotRun,
        State::Unsupported,
        State::UnsupportedByAll,
        State::NotReached,
    ];

    /// The state of several runtimes together, from the state of each; `None` if there are no runtimes.
    fn together(states: impl Iterator<Item = State>) -> Option<State> {
        states.min().map(|state| if state == State::Unsupported { State::UnsupportedByAll } else { state })
    }
}

/// The counts of each runtime for some cases. They are written as bare numbers, because there are thousands of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Vec<[u64; 9]>", into = "Vec<[u64; 9]>")]
struct CellCounts(Vec<Counts>);

impl From<Vec<[u64; 9]>> for CellCounts {
    fn from(numbers: Vec<[u64; 9]>) -> CellCounts {
        let counts = numbers.into_iter().map(
            |[agreed, refused, tolerated, unclassified, by_design, wrong, unsupported, not_run, answered]| Counts {
                agreed,
                refused,
                tolerated,
                unclassified,
                by_design,
                wrong,
                unsupported,
                not_run,
                answered,
            },
        );
        CellCounts(counts.collect())
    }
}

impl From<CellCounts> for Vec<[u64; 9]> {
    fn from(row: CellCounts) -> Vec<[u64; 9]> {
        row.0.into_iter().map(Counts::numbers).collect()
    }
}

impl Counts {
    /// All counts, in the order of the fields.
    pub fn numbers(self) -> [u64; 9] {
        let Counts { agreed, refused, tolerated, unclassified, by_design, wrong, unsupported, not_run, answered } =
            self;
        [agreed, refused, tolerated, unclassified, by_design, wrong, unsupported, not_run, answered]
    }

    pub fn total(self) -> u64 {
        let [cases @ .., _answered] = self.numbers();
        cases.iter().sum()
    }

    /// The state of these cases, from the first row of the table whose condition holds.
    pub fn state(self, of: Subject) -> State {
        let is_rule = of == Subject::Rule;
        let is_supported = is_rule || self.answered > 0;
        let table = [
            (self.wrong > 0, State::Wrong),
            (self.unsupported > 0 && !is_supported, State::Unsupported),
            (self.agreed > 0 || (self.refused > 0 && is_rule), State::Agreed),
            (self.by_design > 0, State::ByDesign),
            (self.tolerated > 0, State::Tolerated),
            (self.unclassified > 0, State::Unclassified),
            (self.refused > 0, State::Refused),
            (self.unsupported > 0, State::Unsupported),
            (self.not_run > 0, State::NotRun),
        ];
        table.iter().find(|(holds, _)| *holds).map_or(State::NotReached, |(_, state)| *state)
    }

    fn count(&mut self, judgement: &Judgement, outcome: &Outcome, is_by_design: bool) {
        self.answered += u64::from(matches!(outcome, Outcome::Answer(_)));
        *match (judgement, outcome) {
            (Judgement::Wrong(_), _) if is_by_design => &mut self.by_design,
            (Judgement::Wrong(_), _) => &mut self.wrong,
            (Judgement::Unsupported(gap), _) if *gap == Gap::Process || gap.is_left_out() => &mut self.not_run,
            (Judgement::Unsupported(_), _) => &mut self.unsupported,
            (_, Outcome::Unclassified { .. }) => &mut self.unclassified,
            (Judgement::Tolerated(_), _) => &mut self.tolerated,
            (Judgement::Agrees, Outcome::Answer(_)) => &mut self.agreed,
            (Judgement::Agrees, _) => &mut self.refused,
        } += 1;
    }

    pub fn add(&mut self, other: Counts) {
        let Counts { agreed, refused, tolerated, unclassified, by_design, wrong, unsupported, not_run, answered } =
            other;
        self.agreed += agreed;
        self.refused += refused;
        self.tolerated += tolerated;
        self.unclassified += unclassified;
        self.by_design += by_design;
        self.wrong += wrong;
        self.unsupported += unsupported;
        self.not_run += not_run;
        self.answered += answered;
    }
}

impl Coverage {
    /// Counts a case. For each runtime, `faults` has the mismatches, each with the known defect that explains it, and
    /// `by_design` tells whether the case is wrong only in ways that are by design.
    pub(super) fn count(
        &mut self,
        generated: &Generated,
        faults: &[Vec<(Fault, Option<usize>)>],
        by_design: &[bool],
        examination: &Examination,
    ) {
        let case = &generated.case;
        let runtimes = || CellCounts(vec![Counts::default(); by_design.len()]);
        let count = |row: &mut CellCounts| {
            for (index, counts) in row.0.iter_mut().enumerate() {
                let outcome = &examination.executions[index].outcome;
                counts.count(&examination.judgements[index], outcome, by_design[index]);
            }
        };
        let mut wirings: Vec<usize> = case
            .sources
            .iter()
            .filter_map(|operand| Wiring::ALL.iter().position(|&wiring| wiring == operand.wiring))
            .collect();
        wirings.sort_unstable();
        wirings.dedup();
        for wiring in wirings {
            count(self.rules.entry((generated.expectation.rule(), wiring)).or_insert_with(runtimes));
        }
        let wrong: Vec<MismatchKind> = (0..)
            .zip(faults)
            .flat_map(|(runtime, faults)| {
                faults.iter().map(move |(fault, known)| MismatchKind::new(runtime, fault, *known))
            })
            .collect();
        let new = || Reached { runtimes: runtimes(), sample: case.to_string(), wrong: BTreeMap::new() };
        let mut text = Text { case, exceeds: 0 };
        let mut reach = |reached: &mut Reached| {
            count(&mut reached.runtimes);
            text.replace_longer(&mut reached.sample);
            for wrong in &wrong {
                let shortest = reached.wrong.entry(wrong.clone());
                text.replace_longer(shortest.or_insert_with(|| case.to_string()));
            }
        };
        if case.nodes.len() > 1 {
            for part in Part::of(case) {
                match part {
                    Part::Edge { .. } => count(self.edges.entry(part).or_insert_with(runtimes)),
                    _ => reach(self.graphs.entry(part).or_insert_with(new)),
                }
            }
        }
        let called = case.call();
        let Some(Call { operator, version: Some(version), element_type: Some(element_type), .. }) = called else {
            return;
        };
        if !version.element_types.contains(&element_type) {
            return;
        }
        let cell = Cell { operator: operator.name, version: version.since, element_type };
        reach(self.cells.entry(cell).or_insert_with(new));
    }

    pub(super) fn add(&mut self, part: Coverage) {
        add_all(&mut self.cells, part.cells, Reached::add);
        add_all(&mut self.rules, part.rules, |mine, theirs| mine.add(&theirs));
        add_all(&mut self.graphs, part.graphs, Reached::add);
        add_all(&mut self.edges, part.edges, |mine, theirs| mine.add(&theirs));
    }

    /// The coverage as it is saved, with every cell and every rule, reached or not. `known` has the names of the known
    /// defects.
    pub fn report(&self, ids: &[RuntimeId], known: &[String]) -> CoverageReport {
        let none = || vec![Counts::default(); ids.len()];
        let counts = |reached: Option<&Reached>| reached.map_or_else(none, |reached| reached.runtimes.0.clone());
        let wrong = |reached: Option<&Reached>| reached.map(|reached| reached.report(known)).unwrap_or_default();
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
                        runtimes: counts(reached),
                        sample: reached.map(|reached| reached.sample.clone()),
                        wrong: wrong(reached),
                    });
                }
            }
        }
        let rules = [None].into_iter().chain(Rule::all().filter(|&rule| rule != Rule::NOT_IN_OPSET).map(Some));
        let rules = rules.flat_map(|rule| {
            Wiring::ALL.iter().enumerate().map(move |(index, wiring)| RuleReport {
                rule: rule.map_or(VALID, Rule::id).to_owned(),
                wiring: wiring.to_string(),
                runtimes: self.rules.get(&(rule, index)).map_or_else(none, |row| row.0.clone()),
            })
        });
        let reached = self.graphs.keys().chain(self.edges.keys());
        let parts: BTreeSet<Part> = Part::all().chain(reached.copied()).collect();
        let graphs = parts.into_iter().map(|part| {
            let reached = self.graphs.get(&part);
            GraphReport {
                kind: part.kind().to_owned(),
                name: part.to_string(),
                runtimes: self.edges.get(&part).map_or_else(|| counts(reached), |row| row.0.clone()),
                sample: reached.map(|reached| reached.sample.clone()),
                wrong: wrong(reached),
            }
        });
        CoverageReport { runtimes: ids.to_vec(), cells, rules: rules.collect(), graphs: graphs.collect() }
    }
}

fn add_all<K: Ord, V>(mine: &mut BTreeMap<K, V>, theirs: BTreeMap<K, V>, add: impl Fn(&mut V, V)) {
    for (key, theirs) in theirs {
        match mine.entry(key) {
            Entry::Vacant(vacant) => {
                vacant.insert(theirs);
            }
            Entry::Occupied(mut occupied) => add(occupied.get_mut(), theirs),
        }
    }
}

impl Reached {
    fn add(&mut self, other: Reached) {
        self.runtimes.add(&other.runtimes);
        if is_shorter(&other.sample, &self.sample) {
            self.sample = other.sample;
        }
        for (wrong, case) in other.wrong {
            let shortest = self.wrong.entry(wrong).or_insert_with(|| case.clone());
            if is_shorter(&case, shortest) {
                *shortest = case;
            }
        }
    }

    fn report(&self, known: &[String]) -> Vec<WrongReport> {
        let report = |(wrong, case): (&MismatchKind, &String)| WrongReport {
            runtime: wrong.runtime,
            severity: wrong.discrepancies.first().map_or(Severity::Lenient, |found| found.severity()),
            what: sentences(&wrong.discrepancies),
            known: wrong.known.map(|place| known[place].clone()),
            case: case.clone(),
        };
        self.wrong.iter().map(report).collect()
    }
}

impl MismatchKind {
    fn new(runtime: usize, fault: &Fault, known: Option<usize>) -> MismatchKind {
        MismatchKind { runtime, discrepancies: fault.mismatch.discrepancies.clone(), known }
    }
}

impl CellCounts {
    fn add(&mut self, other: &CellCounts) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| mine.add(*theirs));
    }
}

/// The text of a case, which is compared with the shortest text so far. This is done for every case, so the text is written
/// only as far as the comparison needs it.
struct Text<'a> {
    case: &'a Case,
    /// The text is longer than this number of bytes.
    exceeds: usize,
}

impl Text<'_> {
    /// Replaces `shortest` if it is longer than the text, or if it is as long and comes later in the alphabet.
    fn replace_longer(&mut self, shortest: &mut String) {
        if shortest.len() <= self.exceeds {
            return;
        }
        if write!(Room(shortest.len()), "{}", self.case).is_err() {
            self.exceeds = shortest.len();
            return;
        }
        let text = self.case.to_string();
        if is_shorter(&text, shortest) {
            *shortest = text;
        }
    }
}

/// A writer that takes this number of bytes and stores none of them.
struct Room(usize);

impl fmt::Write for Room {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
        Ok(())
    }
}

/// Whether a case is shorter than another, or as long and earlier in the alphabet.
fn is_shorter(case: &str, than: &str) -> bool {
    (case.len(), case) < (than.len(), than)
}

/// The kind of a part that is an edge.
const EDGE: &str = "edge";

/// Takes the place of a rule for the valid cases.
const VALID: &str = "valid";

/// The coverage of a campaign, as it is saved and shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoverageReport {
    pub runtimes: Vec<RuntimeId>,
    /// All cells, by operator, version and type.
    pub cells: Vec<CellReport>,
    /// All rules in all wirings; `valid` comes first.
    pub rules: Vec<RuleReport>,
    /// The parts that graphs are made of: patterns, declarations and edges. Edges with an arithmetic operator are listed only
    /// if they were reached.
    pub graphs: Vec<GraphReport>,
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
    pub wrong: Vec<WrongReport>,
}

/// One kind of mismatch of a runtime in some cases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongReport {
    /// The index of the runtime.
    pub runtime: usize,
    pub severity: Severity,
    /// The mismatch in words that follow the name of the runtime.
    pub what: String,
    /// The variant of a known issue that explains the mismatch.
    pub known: Option<String>,
    /// The shortest case.
    pub case: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleReport {
    pub rule: String,
    /// A case with operands in two wirings counts in both.
    pub wiring: String,
    pub runtimes: Vec<Counts>,
}

/// A pattern, a declaration or an edge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphReport {
    /// `pattern`, `declaration` or `edge`.
    pub kind: String,
    /// An edge is named by the input of a node and the operator that gives it, such as `Reshape.1<Concat`.
    pub name: String,
    /// A graph counts in each part that it has.
    pub runtimes: Vec<Counts>,
    /// The shortest case; `None` for an edge.
    pub sample: Option<String>,
    /// Empty for an edge, because its mismatches are also listed under a declaration.
    pub wrong: Vec<WrongReport>,
}

impl GraphReport {
    /// Whether this part is an edge, and no pattern or declaration.
    pub fn is_edge(&self) -> bool {
        self.kind == EDGE
    }

    /// The number of generated graphs. Each runtime counts all of them.
    pub fn cases(&self) -> u64 {
        cases(&self.runtimes)
    }
}

impl CellReport {
    pub fn name(&self) -> String {
        format!("{}-{} {}", self.operator, self.version, self.element_type)
    }

    /// The number of generated cases. Each runtime counts all of them.
    pub fn cases(&self) -> u64 {
        cases(&self.runtimes)
    }
}

impl RuleReport {
    pub fn name(&self) -> String {
        format!("{}, {}", self.rule, self.wiring)
    }

    /// The kind of its cases.
    pub fn subject(&self) -> Subject {
        if self.rule == VALID { Subject::Answers } else { Subject::Rule }
    }
}

impl CoverageReport {
    /// The indices of the runtimes under test.
    pub fn under_test(&self) -> impl Iterator<Item = usize> {
        self.runtimes.iter().enumerate().filter(|(_, id)| id.is_under_test()).map(|(place, _)| place)
    }

    /// The state of one runtime, given by its index, or of all runtimes under test together. `counts` are those of every
    /// runtime for the same cases.
    pub fn state(&self, runtime: Option<usize>, counts: &[Counts], of: Subject) -> State {
        if let Some(place) = runtime {
            return counts[place].state(of);
        }
        let reached = if cases(counts) == 0 { State::NotReached } else { State::NotRun };
        State::together(self.under_test().map(|place| counts[place].state(of))).unwrap_or(reached)
    }
}

/// The number of generated cases. Each runtime counts all of them.
fn cases(runtimes: &[Counts]) -> u64 {
    runtimes.iter().map(|counts| counts.total()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{Reason, Stage};
    use crate::verdict::Tolerance;

    #[test]
    fn the_state_is_decided_from_the_counts() {
        use State::{Agreed, ByDesign, NotReached, NotRun, Refused, Tolerated, Unclassified, Unsupported, Wrong};
        let none = Counts::default();
        let agreed = Counts { agreed: 5, answered: 5, ..none };
        let open = Counts { tolerated: 2, answered: 2, ..none };
        // Counts, the state of a cell, the state of a rule.
        let table = [
            (none, NotReached, NotReached),
            (agreed, Agreed, Agreed),
            (Counts { refused: 3, ..none }, Refused, Agreed),
            (open, Tolerated, Tolerated),
            (Counts { tolerated: 2, ..none }, Tolerated, Tolerated),
            (Counts { unclassified: 1, ..none }, Unclassified, Unclassified),
            (Counts { wrong: 1, ..none }, Wrong, Wrong),
            (Counts { by_design: 3, answered: 3, ..none }, ByDesign, ByDesign),
            (Counts { by_design: 3, wrong: 1, ..none }, Wrong, Wrong),
            (Counts { by_design: 3, answered: 3, tolerated: 1, unsupported: 1, ..none }, ByDesign, ByDesign),
            (Counts { unsupported: 4, ..none }, Unsupported, Unsupported),
            (Counts { not_run: 4, ..none }, NotRun, NotRun),
            // One wrong case is not hidden by any other.
            (Counts { wrong: 1, refused: 9, unsupported: 9, not_run: 9, ..agreed }, Wrong, Wrong),
            // A type with an answer is supported, even if one of its cases is not.
            (Counts { unsupported: 1, ..agreed }, Agreed, Agreed),
            (Counts { unsupported: 1, ..open }, Tolerated, Tolerated),
            // A refusal of an invalid case does not show that a type is supported. It is all that a rule demands.
            (Counts { unsupported: 9, refused: 1, ..none }, Unsupported, Agreed),
            (Counts { unsupported: 9, tolerated: 1, ..none }, Unsupported, Tolerated),
            (Counts { refused: 1, ..open }, Tolerated, Agreed),
            // Cases that were not run do not affect the state.
            (Counts { not_run: 9, unsupported: 1, ..none }, Unsupported, Unsupported),
            (Counts { not_run: 9, ..agreed }, Agreed, Agreed),
        ];
        for (counts, of_cell, of_rule) in table {
            assert_eq!(counts.state(Subject::Answers), of_cell, "{counts:?}");
            assert_eq!(counts.state(Subject::Rule), of_rule, "{counts:?}");
        }
    }

    #[test]
    fn the_state_of_all_is_the_one_that_says_most() {
        use State::{Agreed, NotReached, NotRun, Unsupported, UnsupportedByAll, Wrong};
        for (states, together) in [
            (&[Unsupported, Agreed][..], Some(Agreed)),
            (&[Agreed, Wrong], Some(Wrong)),
            (&[Unsupported, Unsupported], Some(UnsupportedByAll)),
            (&[Unsupported, NotRun], Some(NotRun)),
            (&[NotReached, NotReached], Some(NotReached)),
            (&[], None),
        ] {
            assert_eq!(State::together(states.iter().copied()), together, "{states:?}");
        }
        assert!(State::ALL.is_sorted(), "all of them stand in their order");
    }

    #[test]
    fn the_in_house_implementation_is_not_under_test() {
        let id =
            |name: &str| RuntimeId { name: name.to_owned(), version: "1".to_owned(), configuration: String::new() };
        let report = |names: &[&str]| CoverageReport {
            runtimes: names.iter().map(|name| id(name)).collect(),
            cells: vec![],
            rules: vec![],
            graphs: vec![],
        };
        let none = Counts::default();
        let agreed = Counts { agreed: 7, answered: 7, ..none };
        let unsupported = Counts { unsupported: 7, ..none };
        let (alone, both) = (report(&["in-house"]), report(&["in-house", "other"]));
        let together = |report: &CoverageReport, counts: &[Counts]| report.state(None, counts, Subject::Answers);
        assert_eq!(together(&both, &[agreed, unsupported]), State::UnsupportedByAll);
        assert_eq!(together(&both, &[agreed, agreed]), State::Agreed);
        assert_eq!(together(&both, &[none, none]), State::NotReached);
        assert_eq!(together(&alone, &[agreed]), State::NotRun);
        assert_eq!(together(&alone, &[none]), State::NotReached);
        assert_eq!(alone.state(Some(0), &[agreed], Subject::Answers), State::Agreed);
    }

    #[test]
    fn each_case_is_counted_once() {
        let none = Counts::default();
        let answer = Outcome::Answer(vec![]);
        let refusal = Outcome::Refused { stage: Stage::Load, reason: Reason::Value };
        let unknown = Outcome::Unclassified { stage: Stage::Load };
        let wrong = Judgement::Wrong(vec![Discrepancy::RefusesValid]);
        let tolerated = Judgement::Tolerated(Tolerance::NanPayload);
        let gap = |gap| (Judgement::Unsupported(gap), Outcome::Unsupported(gap));
        for ((judgement, outcome), expected) in [
            ((Judgement::Agrees, answer.clone()), Counts { agreed: 1, answered: 1, ..none }),
            ((Judgement::Agrees, refusal.clone()), Counts { refused: 1, ..none }),
            ((Judgement::Agrees, unknown.clone()), Counts { unclassified: 1, ..none }),
            ((tolerated.clone(), answer.clone()), Counts { tolerated: 1, answered: 1, ..none }),
            ((tolerated.clone(), refusal.clone()), Counts { tolerated: 1, ..none }),
            ((tolerated, unknown.clone()), Counts { unclassified: 1, ..none }),
            ((wrong.clone(), answer), Counts { wrong: 1, answered: 1, ..none }),
            ((wrong.clone(), refusal), Counts { wrong: 1, ..none }),
            ((wrong, unknown), Counts { wrong: 1, ..none }),
            (gap(Gap::Kernel), Counts { unsupported: 1, ..none }),
            (gap(Gap::Process), Counts { not_run: 1, ..none }),
            (gap(Gap::LeftOut), Counts { not_run: 1, ..none }),
            (gap(Gap::BackedOff), Counts { not_run: 1, ..none }),
            (gap(Gap::VastOutput), Counts { not_run: 1, ..none }),
        ] {
            let mut counts = Counts::default();
            counts.count(&judgement, &outcome, false);
            assert_eq!(counts, expected, "{judgement:?} {outcome:?}");
            assert_eq!(counts.total(), 1);
            let by_design = Counts { wrong: 0, by_design: expected.wrong, ..expected };
            let mut counts = Counts::default();
            counts.count(&judgement, &outcome, true);
            assert_eq!(counts, by_design, "{judgement:?} {outcome:?}");
        }
    }

    #[test]
    fn counts_are_read_as_they_are_written() {
        let counts = CellCounts::from(vec![[1, 2, 3, 4, 5, 6, 7, 8, 9]]);
        assert_eq!(Vec::from(counts.clone()), [[1, 2, 3, 4, 5, 6, 7, 8, 9]]);
        let mut sum = counts.clone();
        sum.add(&counts);
        assert_eq!(Vec::from(sum), [[2, 4, 6, 8, 10, 12, 14, 16, 18]]);
    }
}
