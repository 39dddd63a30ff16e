//! Replays test data on every runtime. The expected answer comes from the specification if the operators of the model are
//! implemented in-house, and else from the stored outputs. If there are none, nobody is the authority, and the runtimes are
//! compared with each other.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;

use super::{BY_DESIGN, Ledger, Worst, backend};
use crate::campaign::examine;
use crate::case::{Case, Generated, describe};
use crate::model::read;
use crate::model::test_data::{DataSet, Folder, TestDataError};
use crate::operator::Expectation;
use crate::runtime::{self, Execution, Outcome, Output, Runtime, RuntimeId, execute_once};
use crate::tensor::{Closeness, Tensor, are_close};
use crate::verdict::{Discrepancy, Judgement, Mismatch, Severity, judge, reaction, tolerate_removed_nodes};

/// The name of the stored outputs among the results.
const STORED: &str = "stored output";

/// One data set of a folder, or a folder that could not be used.
#[derive(Debug, Serialize)]
pub struct Replay {
    pub folder: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_set: Option<String>,
    #[serde(flatten)]
    pub result: DataSetResult,
}

/// The result of a data set.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DataSetResult {
    Judged(Box<Trial>),
    /// Why a data set that may be right cannot be replayed here.
    NotSupported(String),
    /// Why the data set is not to be replayed.
    Skipped(String),
    /// The data set cannot be right: the file, and what is wrong with it.
    Error(String),
}

/// All results of one data set.
#[derive(Debug, Serialize)]
pub struct Trial {
    /// The case of the model and its inputs, if there is one and the specification was consulted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<Case>,
    /// Why there is no case, though the specification was consulted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_case: Option<String>,
    /// The source of the expected answer.
    pub authority: Authority,
    /// Why the specification was not consulted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_consulted: Option<String>,
    /// The expected answer in words; empty if nobody is the authority.
    pub demand: String,
    /// How far floating-point numbers may be from the expected ones; `None` if every bit counts.
    #[serde(flatten)]
    pub tolerance: Option<Tolerance>,
    pub results: Vec<RuntimeResult>,
    /// Names runtimes that deviate from the stored outputs and agree with each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub finding: bool,
    /// Whether there is a mismatch that no known issue explains.
    pub new: bool,
}

/// The tolerance, with the names of the `onnx` package.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tolerance {
    pub rtol: f64,
    pub atol: f64,
}

/// The settings of a replay.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    pub ledger: &'a Ledger,
    /// Replaces the tolerance of a test, as does `absolute`.
    pub relative: Option<f64>,
    pub absolute: Option<f64>,
}

impl Terms<'_> {
    fn closeness(&self, folder: &Path) -> Closeness {
        let usual = Closeness::default();
        Closeness {
            relative: self.relative.unwrap_or(usual.relative),
            absolute: self.absolute.or(backend::absolute(folder)).unwrap_or(usual.absolute),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Authority {
    Specification,
    StoredOutput,
    Nobody,
}

/// The result of a runtime, or of the stored outputs.
#[derive(Debug, Serialize)]
pub struct RuntimeResult {
    pub name: String,
    pub version: String,
    /// `agrees`, `tolerated`, `unsupported`, `wrong`, `by design` if all mismatches are by design, or `differs` if nobody is the
    /// authority.
    pub kind: &'static str,
    pub sentence: String,
    /// The known issues that explain the mismatches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub known_as: Vec<String>,
    /// Whether there is a mismatch that none of them explains.
    #[serde(rename = "new")]
    pub is_new: bool,
    #[serde(skip)]
    pub worst: Worst,
    /// The runtime's own words; empty after an answer.
    pub message: String,
    /// The answer in words; empty if there is none.
    pub answer: String,
}

impl RuntimeResult {
    /// Whether it deviates from the expected answer, or from the other runtimes.
    pub fn is_deviation(&self) -> bool {
        matches!(self.kind, "wrong" | "differs")
    }
}

/// Replays every data set of a folder.
pub fn replay(path: &Path, runtimes: &mut [Box<dyn Runtime>], terms: &Terms) -> Vec<Replay> {
    let entry = |data_set: Option<&Path>, result| {
        let data_set = data_set.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        Replay { folder: path.display().to_string(), data_set, result }
    };
    let failed = |error: TestDataError| match error {
        TestDataError::Foreign { .. } => DataSetResult::NotSupported(error.to_string()),
        _ => DataSetResult::Error(error.to_string()),
    };
    let folder = match Folder::open(path) {
        Ok(folder) => folder,
        Err(error) => return vec![entry(None, failed(error))],
    };
    let replay_one = |data_set: &Path, runtimes: &mut [Box<dyn Runtime>]| match folder.data_set(data_set) {
        Ok(data) => DataSetResult::Judged(Box::new(Trial::new(data, runtimes, terms.ledger, terms.closeness(path)))),
        Err(error) => failed(error),
    };
    folder.data_sets.iter().map(|data_set| entry(Some(data_set), replay_one(data_set, runtimes))).collect()
}

impl Replay {
    /// The folder, and the data set in it.
    pub fn place(&self) -> String {
        let data_set = self.data_set.as_ref().map_or(String::new(), |data_set| format!("/{data_set}"));
        format!("{}{data_set}", self.folder)
    }

    /// A folder that is not to be replayed.
    pub fn skipped(path: &Path, why: String) -> Replay {
        Replay { folder: path.display().to_string(), data_set: None, result: DataSetResult::Skipped(why) }
    }
}

impl Trial {
    /// The case of a data set, if a runtime has a mismatch there that no known issue explains.
    pub fn to_save(&self) -> Option<&Case> {
        let shows_new = |result: &RuntimeResult| result.is_new && result.name != STORED;
        self.case.as_ref().filter(|_| self.results.iter().any(shows_new))
    }

    fn new(data: DataSet, runtimes: &mut [Box<dyn Runtime>], ledger: &Ledger, closeness: Closeness) -> Trial {
        let demand = runtime::demand(&data.job);
        let mut ids = runtime::ids(runtimes);
        let mut executions: Vec<Execution> =
            runtimes.iter_mut().map(|runtime| execute_once(runtime.as_mut(), &data.job)).collect();
        let stored = data.outputs.map(|outputs| outputs.into_iter().map(Output::new).collect::<Vec<_>>());
        if let Some(stored) = &stored {
            ids.insert(0, RuntimeId { name: STORED.to_owned(), version: String::new(), configuration: String::new() });
            executions.insert(0, Execution::answer(stored.clone(), vec![]));
        }
        let (expectation, authority, not_consulted) = match (demand, &stored) {
            (Ok(expectation), _) => (Some(expectation), Authority::Specification, None),
            (Err(why), Some(_)) => (first_answer(&executions), Authority::StoredOutput, Some(why)),
            (Err(why), None) => (first_answer(&executions), Authority::Nobody, Some(why)),
        };
        let given = executions.iter().map(|execution| shown(&execution.outcome)).collect::<Vec<_>>();
        let note = stored.as_deref().and_then(|stored| agreement_against(stored, &ids, &executions, closeness));
        if let (Some(Expectation::Defined(expected)), Some(_)) = (&expectation, &not_consulted) {
            for execution in &mut executions {
                forgive(expected, execution, closeness);
            }
        }
        let executed: Vec<(&RuntimeId, &Execution)> = ids.iter().zip(&executions).collect();
        let reference = ids.iter().zip(&executions).find(|(_, e)| is_answer(&e.outcome)).map(|(id, _)| id.to_string());
        // Only the operators of the ledger have known issues.
        let (case, no_case) = match (authority, read::case(&data.job)) {
            (Authority::Specification, Ok(reading)) => (Some(reading.case), None),
            (Authority::Specification, Err(why)) => (None, Some(why)),
            _ => (None, None),
        };
        let nodes = case.as_ref().map_or(1, |case| case.nodes.len());
        let mut judgements = expectation.as_ref().map(|expectation| judge(expectation, nodes, &executed));
        if let (Some(judgements), Some(case)) = (&mut judgements, &case)
            && case.is_refused_unseen()
        {
            tolerate_removed_nodes(executed.iter().copied(), judgements);
        }
        if let (Some(judgements), Some(case)) = (&mut judgements, &case) {
            let runtimes_from = usize::from(stored.is_some());
            recognize_truncation(case, runtimes, &ids[runtimes_from..], &mut judgements[runtimes_from..]);
        }
        let rule = expectation.as_ref().and_then(Expectation::rule);
        let results: Vec<RuntimeResult> = executed
            .iter()
            .zip(given)
            .enumerate()
            .map(|(index, ((id, execution), answer))| {
                let judgement = judgements.as_ref().map(|judgements| &judgements[index]);
                let (mut kind, sentence) = opinion(judgement, execution, authority, reference.as_deref());
                let mut worst = Worst::default();
                let mut known_as = Vec::new();
                match (judgement, &case) {
                    (Some(Judgement::Wrong(found)), Some(case)) => {
                        let mismatches = Mismatch::all(case.subject(), rule, id, execution, found);
                        let known = ledger.names(case, &mismatches, id, runtimes, &mut worst);
                        if known.are_by_design {
                            kind = BY_DESIGN;
                        }
                        known_as = known.names;
                    }
                    (Some(Judgement::Wrong(found)), None) => {
                        for discrepancy in found {
                            worst.add(discrepancy.severity(), false);
                        }
                    }
                    // If there is no answer to compare with, only what ends a runtime is wrong.
                    (None, _) if kind == "wrong" => worst.add(Severity::Crash, false),
                    _ => {}
                }
                let is_new = worst.of_new.is_some();
                let (name, version, message) = (id.to_string(), id.version.clone(), execution.message.clone());
                RuntimeResult { name, version, kind, sentence, known_as, is_new, worst, message, answer }
            })
            .collect();
        let tolerance = Tolerance { rtol: closeness.relative, atol: closeness.absolute };
        Trial {
            case,
            no_case,
            authority,
            not_consulted,
            demand: expectation.filter(|_| authority != Authority::Nobody).as_ref().map(demanded).unwrap_or_default(),
            tolerance: (authority != Authority::Specification).then_some(tolerance),
            finding: results.iter().any(RuntimeResult::is_deviation),
            new: results.iter().any(|result| result.is_new),
            results,
            note,
        }
    }
}

/// Corrects the judgement of each runtime that does what the case would ask for with numbers cut to 32 bits. To tell this, other
/// cases are run.
fn recognize_truncation(
    case: &Case,
    runtimes: &mut [Box<dyn Runtime>],
    ids: &[RuntimeId],
    judgements: &mut [Judgement],
) {
    let is_wrong = |judgement: &Judgement| matches!(judgement, Judgement::Wrong(_));
    if case.truncated().is_empty() || !judgements.iter().any(is_wrong) {
        return;
    }
    let examined = examine(&Generated::given(case.clone()), runtimes, ids).judgements;
    for (judgement, examined) in judgements.iter_mut().zip(examined) {
        let truncates = matches!(&examined, Judgement::Wrong(found) if found.contains(&Discrepancy::Truncates));
        if is_wrong(judgement) && truncates {
            *judgement = examined;
        }
    }
}

fn is_answer(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Answer(_))
}

fn first_answer(executions: &[Execution]) -> Option<Expectation> {
    executions.iter().find_map(|execution| match &execution.outcome {
        Outcome::Answer(outputs) => {
            Some(Expectation::Defined(outputs.iter().map(|output| output.tensor.clone()).collect()))
        }
        _ => None,
    })
}

/// Replaces each output that is close to the expected one by the expected one. No text promises every bit of an operator that
/// computes.
fn forgive(expected: &[Tensor], execution: &mut Execution, closeness: Closeness) {
    if let Outcome::Answer(outputs) = &mut execution.outcome {
        for (output, expected) in outputs.iter_mut().zip(expected) {
            if are_close(expected, &output.tensor, closeness) {
                output.tensor = expected.clone();
            }
        }
    }
}

/// Whether two answers are close to each other.
fn agree(a: &[Output], b: &[Output], closeness: Closeness) -> bool {
    let agree = |a: &Output, b: &Output| a.native_type == b.native_type && are_close(&a.tensor, &b.tensor, closeness);
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b))
}

/// A note if runtimes of different names agree with each other and not with the stored outputs. Then the stored outputs are in
/// doubt.
fn agreement_against(
    stored: &[Output],
    ids: &[RuntimeId],
    executions: &[Execution],
    closeness: Closeness,
) -> Option<String> {
    let answers = ids.iter().zip(executions).filter_map(|(id, execution)| match &execution.outcome {
        Outcome::Answer(outputs) if !agree(stored, outputs, closeness) => Some((id, outputs)),
        _ => None,
    });
    let answers: Vec<(&RuntimeId, &Vec<Output>)> = answers.collect();
    answers.iter().find_map(|(_, reference)| {
        let together: Vec<&RuntimeId> =
            answers.iter().filter(|(_, outputs)| agree(reference, outputs, closeness)).map(|(id, _)| *id).collect();
        let names: BTreeSet<&str> = together.iter().map(|id| id.name.as_str()).collect();
        let list = together.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        (names.len() > 1).then(|| format!("{list} agree with each other, and not with the {STORED}"))
    })
}

/// The judgement on a result, and the reason for it.
fn opinion(
    judgement: Option<&Judgement>,
    execution: &Execution,
    authority: Authority,
    reference: Option<&str>,
) -> (&'static str, String) {
    let said = || reaction(&execution.outcome).to_owned();
    match judgement {
        Some(Judgement::Agrees) => ("agrees", String::new()),
        Some(Judgement::Tolerated(tolerance)) => ("tolerated", tolerance.sentence()),
        Some(Judgement::Unsupported(_)) => ("unsupported", said()),
        Some(Judgement::Wrong(found)) => {
            let sentence = |d: &Discrepancy| match (d, authority) {
                // Only a specification could say whether the model is valid.
                (Discrepancy::RefusesValid, Authority::StoredOutput | Authority::Nobody) => said(),
                _ => d.sentence().to_owned(),
            };
            let sentence = found.iter().map(sentence).collect::<Vec<_>>().join(" and ");
            match (authority, reference) {
                (Authority::Nobody, Some(reference)) => ("differs", format!("{sentence}, unlike {reference}")),
                _ => ("wrong", sentence),
            }
        }
        // There is no answer that the runtime could contradict.
        None => match &execution.outcome {
            Outcome::Unsupported(_) | Outcome::Refused { .. } | Outcome::Unclassified { .. } => ("unsupported", said()),
            _ => ("wrong", said()),
        },
    }
}

/// The expected answer in words.
fn demanded(expectation: &Expectation) -> String {
    match (expectation, expectation.outputs()) {
        (Expectation::Defined(_), Some(outputs)) => list(outputs),
        (Expectation::Reject { rule, .. }, _) => format!("a refusal ({rule})"),
        (_, leaning) => {
            let leaning = leaning.map_or("a refusal".to_owned(), list);
            let rule = expectation.rule().map(|rule| rule.to_string()).unwrap_or_default();
            format!("nothing for certain ({rule}); the texts lean to {leaning}")
        }
    }
}

fn list(tensors: &[Tensor]) -> String {
    tensors.iter().map(describe).collect::<Vec<_>>().join(", ")
}

/// An answer in words; empty for any other outcome.
fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Answer(outputs) => {
            let outputs = outputs.iter().map(|output| match output.native_type {
                Some(native) => format!("{} handed over as {}", describe(&output.tensor), native.name()),
                None => describe(&output.tensor),
            });
            outputs.collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    }
}
