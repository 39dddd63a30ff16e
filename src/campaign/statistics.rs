//! What a campaign counts. Counts of two parts add up to those of the whole, in any order.

use std::collections::BTreeMap;
use std::time::Duration;

use super::coverage::Coverage;
use super::examine::Examination;
use crate::case::{Generated, Intent};
use crate::operator::Expectation;
use crate::runtime::{Execution, Outcome, RuntimeId};
use crate::tensor::ElementType;
use crate::verdict::{Discrepancy, Judgement, Severity, Signature, Tolerance, reaction};

/// What a campaign, or a part of one, came to.
#[derive(Clone, Debug)]
pub struct Statistics {
    pub cases: u64,
    /// By what the specification demands: valid, invalid, unspecified.
    pub valid: u64,
    pub invalid: u64,
    pub unspecified: u64,
    /// Invalid cases that were drawn to break exactly one rule.
    pub invalid_by_intent: u64,
    /// Since the campaign began.
    pub elapsed: Duration,
    /// In the order in which the runtimes are listed.
    pub runtimes: Vec<RuntimeStatistics>,
    /// The distinct findings, the most severe first.
    pub findings: BTreeMap<Signature, Finding>,
    pub coverage: Coverage,
}

/// What one runtime did in a campaign.
#[derive(Clone, Debug)]
pub struct RuntimeStatistics {
    pub id: RuntimeId,
    pub agreed: u64,
    pub tolerated: BTreeMap<Tolerance, u64>,
    pub wrong: u64,
    /// By operator, version and type of the data, and by what is lacking.
    pub unsupported: BTreeMap<Tally, u64>,
    /// Failures in words that no table knows, wherever they were counted, with the shortest such message.
    pub unclassified: u64,
    pub unclassified_message: Option<String>,
}

/// What an unsupported case was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tally {
    pub operator: &'static str,
    /// The operator version.
    pub version: u8,
    /// `None` if the case leaves its data out.
    pub element_type: Option<ElementType>,
    pub gap: &'static str,
}

/// Mismatches with one signature.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The shortest case that shows it.
    pub case: String,
    pub count: u64,
    /// The configurations that show it.
    pub runtimes: Vec<RuntimeId>,
    /// The runtime's words in that case.
    pub message: String,
    /// A variant of that case with which the runtime does something else, where that is what is wrong.
    pub contrary: Option<String>,
}

impl Statistics {
    pub fn new(ids: &[RuntimeId]) -> Statistics {
        let runtimes = ids.iter().map(|id| RuntimeStatistics {
            id: id.clone(),
            agreed: 0,
            tolerated: BTreeMap::new(),
            wrong: 0,
            unsupported: BTreeMap::new(),
            unclassified: 0,
            unclassified_message: None,
        });
        Statistics {
            cases: 0,
            valid: 0,
            invalid: 0,
            unspecified: 0,
            invalid_by_intent: 0,
            elapsed: Duration::ZERO,
            runtimes: runtimes.collect(),
            findings: BTreeMap::new(),
            coverage: Coverage::default(),
        }
    }

    /// Counts one case with what each runtime did and what is thought of it.
    pub fn count(&mut self, generated: &Generated, ids: &[RuntimeId], examination: &Examination) {
        self.coverage.count(generated, ids, examination);
        self.cases += 1;
        match &generated.expectation {
            Expectation::Defined(_) => self.valid += 1,
            Expectation::Reject { .. } => {
                self.invalid += 1;
                self.invalid_by_intent += u64::from(matches!(generated.intent, Intent::Rule(_)));
            }
            Expectation::Unspecified { .. } => self.unspecified += 1,
        }
        for (index, (runtime, id)) in self.runtimes.iter_mut().zip(ids).enumerate() {
            let (execution, judgement) = (&examination.executions[index], &examination.judgements[index]);
            if let Outcome::Unclassified { .. } = execution.outcome {
                runtime.unclassified += 1;
                keep_shortest(&mut runtime.unclassified_message, Some(execution.message.clone()));
            }
            match judgement {
                Judgement::Agrees => runtime.agreed += 1,
                Judgement::Tolerated(tolerance) => *runtime.tolerated.entry(*tolerance).or_default() += 1,
                Judgement::Unsupported(_) => {
                    let case = &generated.case;
                    let tally = Tally {
                        operator: case.operator.name,
                        version: case.operator.version_at(case.opset).map_or(0, |version| version.since),
                        element_type: case.operands.first().and_then(|o| o.as_ref().map(|o| o.element_type)),
                        gap: reaction(&execution.outcome),
                    };
                    *runtime.unsupported.entry(tally).or_default() += 1;
                }
                Judgement::Wrong(discrepancies) => {
                    runtime.wrong += 1;
                    let finding = Finding {
                        case: generated.case.to_string(),
                        count: 1,
                        runtimes: vec![id.clone()],
                        message: execution.message.clone(),
                        contrary: examination.contrary[index].as_ref().map(|contrary| contrary.case.clone()),
                    };
                    let signature = signature(generated, id, execution, discrepancies);
                    record(&mut self.findings, signature, finding);
                }
            }
        }
    }

    /// Adds what another part of the same campaign counted.
    pub fn add(&mut self, part: Statistics) {
        self.cases += part.cases;
        self.valid += part.valid;
        self.invalid += part.invalid;
        self.unspecified += part.unspecified;
        self.invalid_by_intent += part.invalid_by_intent;
        self.elapsed = self.elapsed.max(part.elapsed);
        for (mine, theirs) in self.runtimes.iter_mut().zip(part.runtimes) {
            mine.agreed += theirs.agreed;
            mine.wrong += theirs.wrong;
            mine.unclassified += theirs.unclassified;
            keep_shortest(&mut mine.unclassified_message, theirs.unclassified_message);
            add_counts(&mut mine.tolerated, theirs.tolerated);
            add_counts(&mut mine.unsupported, theirs.unsupported);
        }
        self.coverage.add(part.coverage);
        for (signature, finding) in part.findings {
            record(&mut self.findings, signature, finding);
        }
    }
}

/// Of two messages the shorter, or the first in the alphabet of equally long ones: whichever came first.
fn keep_shortest(kept: &mut Option<String>, new: Option<String>) {
    let is_better = |new: &String| kept.as_ref().is_none_or(|kept| (new.len(), new) < (kept.len(), kept));
    if let Some(new) = new.filter(is_better) {
        *kept = Some(new);
    }
}

fn add_counts<K: Ord>(mine: &mut BTreeMap<K, u64>, theirs: BTreeMap<K, u64>) {
    for (key, count) in theirs {
        *mine.entry(key).or_default() += count;
    }
}

fn signature(generated: &Generated, id: &RuntimeId, execution: &Execution, found: &[Discrepancy]) -> Signature {
    // Where a runtime only disagrees with itself, which of the two refuses says nothing: it is one finding.
    let disagree = found.iter().all(|d| d.severity() == Severity::Disagrees);
    Signature {
        discrepancies: found.to_vec(),
        operator: generated.case.operator.name,
        runtime: id.kind.clone(),
        rule: generated.expectation.rule(),
        reaction: if disagree { "" } else { reaction(&execution.outcome) },
    }
}

/// Adds mismatches to the finding that they belong to. Its case is the shortest, or the first in the alphabet of these,
/// so it does not depend on the order in which cases come.
fn record(findings: &mut BTreeMap<Signature, Finding>, signature: Signature, new: Finding) {
    let Some(known) = findings.get_mut(&signature) else {
        findings.insert(signature, new);
        return;
    };
    known.count += new.count;
    for id in new.runtimes {
        if let Err(position) = known.runtimes.binary_search(&id) {
            known.runtimes.insert(position, id);
        }
    }
    if (new.case.len(), &new.case, &new.message) < (known.case.len(), &known.case, &known.message) {
        known.case = new.case;
        known.message = new.message;
        known.contrary = new.contrary;
    }
}
