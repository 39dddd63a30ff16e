//! What is shown of one case: for people, or as JSON. Both show the same [`Report`].

use std::io::{self, Write};

use serde::Serialize;

use crate::campaign::{Contrary, examine};
use crate::case::{Case, Generated, describe};
use crate::operator::{Answer, Expectation, Rule, Text};
use crate::runtime::{self, Execution, NativeType, Outcome, Runtime, RuntimeId, Stage};
use crate::tensor::Tensor;
use crate::verdict::{Judgement, classes, reaction, sentences};

/// One case, executed and judged; serializes to JSON.
#[derive(Debug, Serialize)]
pub struct Report {
    case: String,
    /// Such as `Reshape-14`.
    operator_version: String,
    expectation: ExpectationReport,
    classes: Vec<ClassReport>,
    judgements: Vec<JudgementReport>,
    /// Whether a runtime is wrong.
    pub finding: bool,
}

#[derive(Debug, Serialize)]
struct ExpectationReport {
    /// `defined`, `reject` or `unspecified`.
    kind: &'static str,
    /// The outputs, or all that is tolerated; a refusal is `refusal`.
    answers: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<Text>,
}

#[derive(Debug, Serialize)]
struct ClassReport {
    /// `answer`, `refused`, `unsupported`, `panicked`, `crashed`, `timed out`, `out of memory`, `garbled` or `unclassified`.
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'static str>,
    /// The outputs of an answer.
    outputs: Vec<OutputReport>,
    /// What the runtime says, in neutral words and in its own; empty for an answer.
    reaction: &'static str,
    message: String,
    runtimes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct OutputReport {
    tensor: String,
    /// The runtime's own element type, where it is none of ONNX's.
    #[serde(skip_serializing_if = "Option::is_none")]
    native_type: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct JudgementReport {
    runtime: String,
    version: String,
    /// `agrees`, `tolerated`, `unsupported` or `wrong`.
    kind: &'static str,
    /// Every way in which it is wrong, by name.
    discrepancies: Vec<&'static str>,
    /// The same in words.
    sentence: String,
    /// A variant of the case with which the runtime does something else, where that is what is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    contrary: Option<ContraryReport>,
}

#[derive(Debug, Serialize)]
struct ContraryReport {
    case: String,
    outcome: ClassReport,
}

impl Report {
    /// Executes a case on every runtime and judges what they did.
    pub fn new(case: &Case, runtimes: &mut [Box<dyn Runtime>]) -> Report {
        let generated = Generated::given(case.clone());
        let ids = runtime::ids(runtimes);
        let examination = examine(&generated, runtimes, &ids);
        let results: Vec<(&RuntimeId, &Execution)> = ids.iter().zip(&examination.executions).collect();
        let classes = classes(&results);
        Report {
            case: case.to_string(),
            operator_version: case.operator_version(),
            expectation: ExpectationReport::new(&generated.expectation),
            classes: classes
                .iter()
                .map(|class| {
                    let runtimes = class.members.iter().map(|&i| ids[i].to_string()).collect();
                    ClassReport::new(class.outcome, class.message, runtimes)
                })
                .collect(),
            finding: examination.judgements.iter().any(|judgement| matches!(judgement, Judgement::Wrong(_))),
            judgements: results
                .iter()
                .zip(&examination.judgements)
                .enumerate()
                .map(|(place, ((id, execution), judgement))| {
                    JudgementReport::new(id, execution, judgement, examination.contrary.get(&place))
                })
                .collect(),
        }
    }

    /// Shows the report to a person. Without the runtimes' own words it is the same on every machine, and at every version
    /// of a runtime that does the same.
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
            if let Some(contrary) = &judgement.contrary {
                writeln!(to, "{:width$}  but with {}", "", contrary.case)?;
                writeln!(to, "{:width$}  {}", "", contrary.outcome.sentence())?;
            }
        }
        Ok(())
    }
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
            Outcome::TimedOut => ("timed out", None),
            Outcome::OutOfMemory => ("out of memory", None),
            Outcome::Garbled => ("garbled", None),
            Outcome::Unclassified { stage } => ("unclassified", Some(*stage)),
        };
        let stage = stage.map(|stage| match stage {
            Stage::Load => "load",
            Stage::Run => "run",
        });
        ClassReport { kind, stage, outputs, reaction: reaction(outcome), message: message.to_owned(), runtimes }
    }

    /// What came of the case, in one sentence.
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
    fn new(
        id: &RuntimeId,
        execution: &Execution,
        judgement: &Judgement,
        contrary: Option<&Contrary>,
    ) -> JudgementReport {
        let mut discrepancies = Vec::new();
        let (kind, sentence) = match judgement {
            Judgement::Agrees => ("agrees", String::new()),
            Judgement::Tolerated(tolerance) => ("tolerated", tolerance.sentence()),
            Judgement::Unsupported(_) => ("unsupported", reaction(&execution.outcome).to_owned()),
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
        JudgementReport { runtime, version, kind, discrepancies, sentence, contrary }
    }
}

/// A text as code in Markdown.
pub(super) fn code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// A message on one line, cut where it gets long.
pub fn one_line(message: &str) -> String {
    cut(message, 240)
}

/// A message on one line, of so many characters at the most.
pub(super) fn cut(message: &str, longest: usize) -> String {
    let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}
