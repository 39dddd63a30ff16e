//! The results of the runtimes for the case of a report, and where else the mismatch shows.

use std::time::Duration;

use serde::Serialize;

use super::{outside, words};
use crate::case::Case;
use crate::finding::minimize::Sighting;
use crate::finding::{Extent, Probe, Shown};
use crate::operator::{Answer, Expectation, NEWEST_OPSET};
use crate::runtime::{Execution, Outcome, Output, RuntimeId};
use crate::tensor::Tensor;
use crate::verdict::{Discrepancy, Judgement, Mismatch};

/// The results of every runtime for a case.
pub(super) struct Sightings {
    sightings: Vec<Sighting>,
}

/// A configuration that is at fault.
pub(super) struct FaultyConfiguration {
    pub id: RuntimeId,
    /// Its result in words.
    pub did: String,
    execution: Execution,
    /// The place of the output that is not as declared, if that is the mismatch.
    undeclared: Option<usize>,
    /// A variant of the case and its result in words, if the runtime disagrees with itself.
    pub contrary: Option<(Case, String)>,
}

impl FaultyConfiguration {
    /// The outputs that it gives; none if it gives no answer.
    pub fn outputs(&self) -> Vec<Tensor> {
        match &self.execution.outcome {
            Outcome::Answer(outputs) => outputs.iter().map(|output| output.tensor.clone()).collect(),
            _ => vec![],
        }
    }

    /// The place of the first output that is not as expected; 0 if there is none.
    pub fn output(&self, expectation: &Expectation) -> usize {
        if let Some(place) = self.undeclared {
            return place;
        }
        // If several results are right, the first that is an answer.
        let expected = match expectation {
            Expectation::Unspecified { tolerated, .. } => tolerated.iter().find_map(|answer| match answer {
                Answer::Outputs(outputs) => Some(&outputs[..]),
                Answer::Refusal | Answer::Any => None,
            }),
            defined => defined.outputs(),
        };
        let (Outcome::Answer(given), Some(expected)) = (&self.execution.outcome, expected) else { return 0 };
        let is_same = |(given, expected): (&Output, &Tensor)| given.native_type.is_none() && given.tensor == *expected;
        given.iter().zip(expected).position(|pair| !is_same(pair)).unwrap_or(0)
    }
}

/// A row of the table of all runtimes.
#[derive(Debug, Serialize)]
pub(super) struct TableRow {
    name: String,
    version: String,
    setup: String,
    did: String,
    mark: &'static str,
}

impl Sightings {
    /// Runs a case on all releases.
    pub fn new(case: &Case, probe: &mut Probe) -> Sightings {
        let mut releases: Vec<String> = probe.ids().iter().map(RuntimeId::release).collect();
        releases.dedup();
        Sightings { sightings: releases.iter().filter_map(|release| probe.look(case, release)).collect() }
    }

    /// The configurations that show a mismatch.
    pub fn wrong(&self, mismatch: &Mismatch) -> Vec<FaultyConfiguration> {
        let each = self.sightings.iter().flat_map(|sighting| {
            let shows = |place: &usize| sighting.configurations[*place].1.contains(mismatch);
            (0..sighting.configurations.len()).filter(shows).map(move |place| (sighting, place))
        });
        let wrong = each.map(|(sighting, place)| {
            let execution = &sighting.examination.executions[place];
            let is_undeclared = mismatch.discrepancies.contains(&Discrepancy::Undeclared);
            let undeclared = execution.undeclared_output().filter(|_| is_undeclared);
            let declared = undeclared.and_then(|place| declared(execution, place));
            let did = declared.unwrap_or_default() + &words::did(execution);
            let contrary = sighting.examination.contrary.get(&place);
            let contrary =
                contrary.and_then(|contrary| Some((contrary.case.parse().ok()?, words::did(&contrary.execution))));
            let execution = execution.clone();
            FaultyConfiguration { id: sighting.configurations[place].0.clone(), did, execution, undeclared, contrary }
        });
        wrong.collect()
    }

    /// The result of each configuration.
    pub fn rows(&self) -> Vec<TableRow> {
        let mut rows: Vec<TableRow> = Vec::new();
        for sighting in &self.sightings {
            let examination = &sighting.examination;
            for (place, (id, ..)) in sighting.configurations.iter().enumerate() {
                let row = TableRow {
                    name: outside::public_name(&id.name).to_owned(),
                    version: id.version.clone(),
                    setup: outside::setup(&id.name, &id.configuration),
                    did: did(id, &examination.executions[place]),
                    mark: words::mark(&examination.judgements[place]),
                };
                // Configurations of one release with the same result share a row.
                match rows.last_mut() {
                    Some(last) if last.is_like(&row) => last.setup = format!("{}; {}", last.setup, row.setup),
                    _ => rows.push(row),
                }
            }
        }
        rows
    }
}

impl TableRow {
    fn is_like(&self, other: &TableRow) -> bool {
        (&self.name, &self.version, &self.did, self.mark) == (&other.name, &other.version, &other.did, other.mark)
    }
}

/// The shape that a runtime declared for an output, in words that stand before those for its result.
fn declared(execution: &Execution, place: usize) -> Option<String> {
    let dims = execution.declared.as_ref()?.get(place)?.dims.as_ref()?;
    let dims: Vec<String> = dims.iter().map(|dim| dim.map_or_else(|| "?".to_owned(), |dim| dim.to_string())).collect();
    Some(format!("declares an output of shape [{}], and ", dims.join(", ")))
}

/// The result of a runtime in words, without error messages of the in-house implementation: they tell people outside nothing.
fn did(id: &RuntimeId, execution: &Execution) -> String {
    match &execution.outcome {
        Outcome::Refused { .. } if id.name == "in-house" => "gives an error".to_owned(),
        _ => words::did(execution),
    }
}

/// The case at the opset at which the mismatch shows and the most runtimes take part; of several such opsets, at the newest. A
/// model that only one runtime can read tells its maintainers less.
pub(super) fn at_widest_opset(case: &Case, mismatch: &Mismatch, probe: &mut Probe) -> Case {
    // Each run of a case that ends or hangs a process takes long, and other runtimes may do the same.
    if mismatch.is_costly() {
        return case.clone();
    }
    let expectation = case.expectation(&case.tensors());
    let at_fault_is_there = probe.ids().iter().any(|id| id.release() == mismatch.runtime);
    let mut best: Option<(usize, Case)> = None;
    for opset in (1..=case.opset.min(NEWEST_OPSET)).rev() {
        let candidate = Case { opset, ..case.clone() };
        // A Constant of its type may not be valid at that opset.
        if candidate.rule_on_the_graph() != case.rule_on_the_graph() {
            continue;
        }
        let seen = Sightings::new(&candidate, probe);
        let shows = if at_fault_is_there {
            seen.sightings.iter().any(|sighting| sighting.shows(mismatch))
        } else {
            candidate.expectation(&candidate.tensors()) == expectation
        };
        let judgements = seen.sightings.iter().flat_map(|sighting| &sighting.examination.judgements);
        let taking_part = judgements.filter(|judgement| !matches!(judgement, Judgement::Unsupported(_))).count();
        if shows && best.as_ref().is_none_or(|(most, _)| taking_part > *most) {
            best = Some((taking_part, candidate));
        }
    }
    best.map_or_else(|| case.clone(), |(_, best)| best)
}

/// Where a finding shows in one respect, in words.
#[derive(Debug, Serialize)]
pub(super) struct ExtentLine {
    what: &'static str,
    shows: String,
    not: String,
    unsupported: String,
}

impl ExtentLine {
    fn new<T>(what: &'static str, rows: &[(T, Shown)], name: impl Fn(&T) -> String) -> ExtentLine {
        let names = |wanted: Shown| {
            let names: Vec<String> =
                rows.iter().filter(|(_, shown)| *shown == wanted).map(|(row, _)| name(row)).collect();
            match names.len() {
                0 => "-".to_owned(),
                count if count == rows.len() && count > 1 => format!("all: {}", names.join("; ")),
                _ => names.join("; "),
            }
        };
        ExtentLine { what, shows: names(Shown::Yes), not: names(Shown::No), unsupported: names(Shown::Unsupported) }
    }
}

/// Measures where a mismatch shows.
///
/// # Errors
/// If that is not measured; the error says why.
pub(super) fn extent(
    case: &Case,
    mismatch: &Mismatch,
    wrong: &[FaultyConfiguration],
    probe: &mut Probe,
) -> Result<Vec<ExtentLine>, String> {
    let Some(FaultyConfiguration { id, .. }) = wrong.first() else {
        return Err(format!(
            "This was not measured again for this report: {} was not at hand.",
            mismatch.runtime.replace('@', " ")
        ));
    };
    if mismatch.is_costly() {
        return Err(
            "This was not measured: each look at it would take a process with it, or the whole time limit.".to_owned()
        );
    }
    let extent = Extent::measure(case, mismatch, probe, Duration::MAX);
    let operator = case.nodes[0].operator.name;
    let setup =
        |name: &String| outside::setup(&id.name, name.split_once('/').map_or("", |(_, configuration)| configuration));
    let mut lines = vec![
        ExtentLine::new("operator version", &extent.versions, |since| format!("{operator}-{since}")),
        ExtentLine::new("element type", &extent.types, ToString::to_string),
        ExtentLine::new("all inputs of the node given as", &extent.wirings, |wiring| words::wiring(*wiring).to_owned()),
    ];
    let of_graph =
        [("an edge replaced by a graph input", &extent.edges), ("a declaration taken away", &extent.declarations)];
    for (what, rows) in of_graph.into_iter().filter(|(_, rows)| !rows.is_empty()) {
        lines.push(ExtentLine::new(what, rows, Clone::clone));
    }
    if extent.configurations.len() > 1 {
        lines.push(ExtentLine::new("set up with", &extent.configurations, setup));
    }
    Ok(lines)
}
