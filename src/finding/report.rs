//! The report on one case: as text for people, or as JSON. Both show the same [`Report`].

use std::io::{self, Write};

use serde::Serialize;

use super::Ledger;
use crate::campaign::{Contrary, Fault, examine};
use crate::case::{Case, Generated, describe};
use crate::operator::{Answer, Expectation, Rule, Text};
use crate::runtime::{self, Execution, NativeType, Outcome, Runtime, RuntimeId, Stage};
use crate::tensor::Tensor;
use crate::text::cut;
use crate::verdict::{Judgement, Mismatch, Severity, classes, lack, reaction, sentences};

/// One case, executed and judged; serializes to JSON.
#[derive(Debug, Serialize)]
pub struct Report {
    case: String,
    /// Such as `Reshape-14`.
    operator_version: String,
    expectation: ExpectationReport,
    classes: Vec<ClassReport>,
    judgements: Vec<JudgementReport>,
    /// Whether a runtime is wrong, and not by design.
    pub finding: bool,
    /// Whether a runtime is wrong in a way that no known issue explains.
    new: bool,
    #[serde(skip)]
    pub worst: Worst,
}

/// The severity of the worst mismatch; `None` if there is no mismatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worst {
    pub of_all: Option<Severity>,
    /// Of the mismatches that no known issue explains.
    pub of_new: Option<Severity>,
}

impl Worst {
    /// Counts a mismatch. `is_known` says whether a known issue explains it.
    pub fn add(&mut self, severity: Severity, is_known: bool) {
        self.join(Worst { of_all: Some(severity), of_new: (!is_known).then_some(severity) });
    }

    /// Counts the mismatches of another result as well.
    pub fn join(&mut self, other: Worst) {
        // The most severe comes first.
        let worse = |a: Option<Severity>, b: Option<Severity>| a.into_iter().chain(b).min();
        *self = Worst { of_all: worse(self.of_all, other.of_all), of_new: worse(self.of_new, other.of_new) };
    }
}

#[derive(Debug, Serialize)]
struct ExpectationReport {
    /// `defined`, `reject` or `unspecified`.
    kind: &'static str,
    /// The expected outputs, or each answer that is tolerated; a refusal is `refusal`.
    answers: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<Text>,
}

#[derive(Debug, Serialize)]
struct ClassReport {
    /// `answer`, `refused`, `unsupported`, `panicked`, `crashed`, `exhausted`, `garbled` or `unclassified`.
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'static str>,
    /// The outputs of an answer.
    outputs: Vec<OutputReport>,
    /// The failure in neutral words, and `message` in the words of the runtime; both are empty for an answer.
    reaction: &'static str,
    message: String,
    runtimes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct OutputReport {
    tensor: String,
    /// The runtime's own element type, if ONNX does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    native_type: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct JudgementReport {
    runtime: String,
    version: String,
    /// `agrees`, `tolerated`, `unsupported`, `wrong`, or `by design` if all mismatches are by design.
    kind: &'static str,
    /// The names of all discrepancies.
    discrepancies: Vec<&'static str>,
    /// The judgement in words.
    sentence: String,
    /// The known issues that explain the mismatches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    known_as: Vec<String>,
    /// The variant of the case for which the runtime gives another result, if that is the mismatch.
    #[serde(skip_serializing_if = "Option::is_none")]
    contrary: Option<ContraryReport>,
}

#[derive(Debug, Serialize)]
struct ContraryReport {
    case: String,
    outcome: ClassReport,
}

impl Report {
    /// Executes a case on every runtime and judges the results. Mismatches that issues of the ledger explain are marked as known.
    pub fn new(case: &Case, runtimes: &mut [Box<dyn Runtime>], ledger: &Ledger) -> Report {
        let generated = Generated::given(case.clone());
        let ids = runtime::ids(runtimes);
        let examination = examine(&generated, runtimes, &ids);
        let mut worst = Worst::default();
        let mut known_as: Vec<Names> = Vec::new();
        for (place, id) in ids.iter().enumerate() {
            let mut names = Names { names: vec![], are_by_design: true };
            for Fault { mismatch, node } in examination.faults(&generated, &ids, place) {
                let shown = node.as_ref().unwrap_or(case);
                names.join(ledger.names(shown, &[mismatch], id, runtimes, &mut worst));
            }
            names.are_by_design &= !names.names.is_empty();
            known_as.push(names);
        }
        let results: Vec<(&RuntimeId, &Execution)> = ids.iter().zip(&examination.executions).collect();
        let classes = classes(&results);
        Report {
            case: case.to_string(),
            operator_version: case.operator_versions(),
            expectation: ExpectationReport::new(&generated.expectation),
            classes: classes
                .iter()
                .map(|class| {
                    let runtimes = class.members.iter().map(|&i| ids[i].to_string()).collect();
                    ClassReport::new(class.outcome, class.message, runtimes)
                })
                .collect(),
            finding: known_as
                .iter()
                .zip(&examination.judgements)
                .any(|(known_as, judgement)| matches!(judgement, Judgement::Wrong(_)) && !known_as.are_by_design),
            new: worst.of_new.is_some(),
            worst,
            judgements: results
                .iter()
                .zip(&examination.judgements)
                .zip(known_as)
                .enumerate()
                .map(|(place, (((id, _), judgement), known_as))| {
                    let contrary = examination.contrary.get(&place);
                    let report = JudgementReport::new(id, judgement, contrary);
                    let kind = if known_as.are_by_design { BY_DESIGN } else { report.kind };
                    JudgementReport { kind, known_as: known_as.names, ..report }
                })
                .collect(),
        }
    }

    /// Writes the report as text for people. Without the messages of the runtimes, it is the same on every machine, and for every
    /// version of a runtime with the same results.
    ///
    /// # Errors
    /// If `to` cannot be written to.
    pub fn write(&self, mut to: impl Write, with_messages: bool) -> io::Result<()> {
        writeln!(to, "{}\n", self.case)?;
        let demand = match self.expectation.kind {
            "defined" => "demands",
            "reject" => "demands a refusal",
            _ => "leaves open, and these are tolerated:",
        };
        writeln!(to, "The specification of {} {demand}", self.operator_version)?;
        for answer in self.expectation.answers.iter().filter(|_| self.expectation.kind != "reject") {
            writeln!(to, "    {answer}")?;
        }
        if let Some(rule) = &self.expectation.rule {
            writeln!(to, "    {} ({}; rule {})", rule.sentence, rule.source, rule.id)?;
        }
        writeln!(to)?;
        for class in &self.classes {
            writeln!(to, "{}\n    {}", class.runtimes.join(", "), class.sentence())?;
            if with_messages && !class.message.is_empty() {
                writeln!(to, "    \"{}\"", one_line(&class.message))?;
            }
        }
        writeln!(to)?;
        let width = self.judgements.iter().map(|j| j.runtime.len()).max().unwrap_or(0);
        for judgement in &self.judgements {
            let mark = if judgement.kind == "wrong" { "WRONG" } else { judgement.kind };
            let line = format!("{:width$}  {mark:11}  {}", judgement.runtime, judgement.sentence);
            writeln!(to, "{}", line.trim_end())?;
            for id in &judgement.known_as {
                writeln!(to, "{:width$}  known as {id}", "")?;
            }
            if let Some(contrary) = &judgement.contrary {
                writeln!(to, "{:width$}  but with {}", "", contrary.case)?;
                writeln!(to, "{:width$}  {}", "", contrary.outcome.sentence())?;
            }
        }
        Ok(())
    }
}

/// The result of a runtime for a case, and the judgement on it, in words.
#[derive(Debug)]
pub(super) struct ResultInWords {
    /// `agrees`, `tolerated`, `unsupported`, `wrong` or `by design`.
    pub kind: &'static str,
    /// The outputs, or the failure with the message of the runtime, as Markdown.
    pub result: String,
    /// The judgement, such as `right`, or what is wrong.
    pub opinion: String,
    /// The known issues that explain the mismatches.
    pub known_as: Vec<String>,
}

impl Report {
    /// The right results, as Markdown: one, or several if the specification leaves the result open.
    pub(super) fn right(&self) -> Vec<String> {
        let text = |answer: &String| match answer.as_str() {
            "refusal" => "an error".to_owned(),
            "any answer" => answer.clone(),
            outputs => code(outputs),
        };
        self.expectation.answers.iter().map(text).collect()
    }

    pub(super) fn rule(&self) -> Option<Text> {
        self.expectation.rule
    }

    /// The result of the runtime at a place.
    pub(super) fn seen(&self, place: usize) -> Option<ResultInWords> {
        let judgement = self.judgements.get(place)?;
        let class = self.classes.iter().find(|class| class.runtimes.contains(&judgement.runtime))?;
        let result = match (class.kind, class.stage) {
            ("answer", _) => class.outputs.iter().map(|output| code(&output.tensor)).collect::<Vec<_>>().join(", "),
            ("refused" | "unsupported" | "unclassified", stage) if !class.message.is_empty() => {
                let stage = stage.map_or(String::new(), |stage| format!(" at {stage}"));
                format!("error{stage}: {}", code(&one_line(&class.message)))
            }
            _ => class.reaction.to_owned(),
        };
        let opinion = match judgement.kind {
            "agrees" => "right".to_owned(),
            "tolerated" => format!("tolerated: {}", judgement.sentence),
            "unsupported" => format!("not supported: {}", judgement.sentence),
            _ => format!("**wrong**: {}", judgement.sentence),
        };
        Some(ResultInWords { kind: judgement.kind, result, opinion, known_as: judgement.known_as.clone() })
    }
}

impl Ledger {
    /// The issues that explain the mismatches of a runtime in a case. All mismatches are counted in `worst`.
    pub fn names(
        &self,
        case: &Case,
        mismatches: &[Mismatch],
        id: &RuntimeId,
        runtimes: &mut [Box<dyn Runtime>],
        worst: &mut Worst,
    ) -> Names {
        let (mut names, mut are_by_design) = (Vec::new(), !mismatches.is_empty());
        for mismatch in mismatches {
            let known = self.explaining(case, mismatch, id, &mut |case| shows(case, mismatch, runtimes));
            worst.add(mismatch.severity(), known.is_some());
            are_by_design &= known.is_some_and(|known| !known.cause.is_defect());
            names.extend(known.map(|known| known.cause.id.clone()).filter(|name| !names.contains(name)));
        }
        Names { names, are_by_design }
    }
}

/// The name of a judgement whose mismatches are all by design.
pub const BY_DESIGN: &str = "by design";

/// The names of known issues, each once.
#[derive(Debug)]
pub struct Names {
    pub names: Vec<String>,
    /// Whether there are mismatches, and issues that are by design explain all of them.
    pub are_by_design: bool,
}

impl Names {
    fn join(&mut self, other: Names) {
        self.are_by_design &= other.are_by_design;
        self.names.extend(other.names.into_iter().filter(|name| !self.names.contains(name)).collect::<Vec<_>>());
    }
}

/// Whether a case shows a mismatch on one of the runtimes.
fn shows(case: &Case, mismatch: &Mismatch, runtimes: &mut [Box<dyn Runtime>]) -> bool {
    let (generated, ids) = (Generated::given(case.clone()), runtime::ids(runtimes));
    let examination = examine(&generated, runtimes, &ids);
    (0..ids.len()).any(|place| examination.mismatches(&generated, &ids, place).contains(mismatch))
}

impl ExpectationReport {
    fn new(expectation: &Expectation) -> ExpectationReport {
        let text = |outputs: &Vec<Tensor>| outputs.iter().map(describe).collect::<Vec<_>>().join(", ");
        let (kind, answers) = match expectation {
            Expectation::Defined(outputs) => ("defined", vec![text(outputs)]),
            Expectation::Reject { .. } => ("reject", vec!["refusal".to_owned()]),
            Expectation::Unspecified { tolerated, .. } => {
                let answers = tolerated.iter().map(|answer| match answer {
                    Answer::Outputs(outputs) => text(outputs),
                    Answer::Refusal => "refusal".to_owned(),
                    Answer::Any => "any answer".to_owned(),
                });
                ("unspecified", answers.collect())
            }
        };
        ExpectationReport { kind, answers, rule: expectation.rule().map(Rule::text) }
    }
}

impl ClassReport {
    fn new(outcome: &Outcome, message: &str, runtimes: Vec<String>) -> ClassReport {
        let mut outputs = Vec::new();
        let (kind, stage) = match outcome {
            Outcome::Answer(answered) => {
                outputs.extend(answered.iter().map(|output| OutputReport {
                    tensor: describe(&output.tensor),
                    native_type: output.native_type.map(NativeType::name),
                }));
                ("answer", None)
            }
            Outcome::Refused { stage, .. } => ("refused", Some(*stage)),
            Outcome::Unsupported(_) => ("unsupported", None),
            Outcome::Panicked { stage } => ("panicked", Some(*stage)),
            Outcome::Crashed { .. } => ("crashed", None),
            Outcome::TimedOut | Outcome::OutOfMemory => ("exhausted", None),
            Outcome::Garbled => ("garbled", None),
            Outcome::Unclassified { stage } => ("unclassified", Some(*stage)),
        };
        let stage = stage.map(|stage| match stage {
            Stage::Load => "load",
            Stage::Run => "run",
        });
        ClassReport { kind, stage, outputs, reaction: reaction(outcome), message: message.to_owned(), runtimes }
    }

    /// The result of the case, in one sentence.
    fn sentence(&self) -> String {
        let outputs = self.outputs.iter().map(|output| match output.native_type {
            Some(native) => format!("{} handed over as {native}", output.tensor),
            None => output.tensor.clone(),
        });
        match (self.kind, self.stage) {
            ("answer", _) => format!("answer {}", outputs.collect::<Vec<_>>().join(", ")),
            (kind, Some(stage)) => format!("{kind} at {stage}: {}", self.reaction),
            (kind, None) => format!("{kind}: {}", self.reaction),
        }
    }
}

impl JudgementReport {
    fn new(id: &RuntimeId, judgement: &Judgement, contrary: Option<&Contrary>) -> JudgementReport {
        let mut discrepancies = Vec::new();
        let (kind, sentence) = match judgement {
            Judgement::Agrees => ("agrees", String::new()),
            Judgement::Tolerated(tolerance) => ("tolerated", tolerance.sentence()),
            Judgement::Unsupported(gap) => ("unsupported", lack(*gap).to_owned()),
            Judgement::Wrong(found) => {
                discrepancies.extend(found.iter().map(|d| d.id()));
                ("wrong", sentences(found))
            }
        };
        let (runtime, version) = (id.to_string(), id.version.clone());
        let contrary = contrary.map(|contrary| ContraryReport {
            case: contrary.case.clone(),
            outcome: ClassReport::new(&contrary.execution.outcome, &contrary.execution.message, vec![runtime.clone()]),
        });
        JudgementReport { runtime, version, kind, discrepancies, sentence, known_as: vec![], contrary }
    }
}

/// A text as code in Markdown.
pub(super) fn code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// A message on one line, of 240 characters at the most.
pub fn one_line(message: &str) -> String {
    cut(message, 240)
}
