//! Writes cases as a data set for the tests of other projects: models in the layout of ONNX test data, a manifest, a runner in
//! Python and a crate.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::Path;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Ledger, Regression, RegressionError};
use crate::campaign::{Fault, Trigger, examine};
use crate::case::pattern::PATTERNS;
use crate::case::{Case, Features, Generated, catalogue};
use crate::files::{sha256, write_whole};
use crate::model::{self, Job, test_data};
use crate::operator::{Answer, Expectation, OPERATORS, Rule, Text};
use crate::runtime::{self, OpenError, Outcome, Runtime, RuntimeId, Stop, execute_once};
use crate::tensor::Tensor;
use crate::threads::on_threads;
use crate::verdict::reaction;

/// The folder of the models that have one right answer.
pub const VALID: &str = "valid";
/// The folder of the models that are to be refused.
pub const MUST_REFUSE: &str = "must-refuse";
/// The folder of the models whose result the specification leaves open.
pub const LEFT_OPEN: &str = "left-open";
/// The folder of the lists of cases that runtimes fail.
pub const EXPECTED: &str = "expected";

/// The reaction of a runtime that gives memory which it never wrote.
const UNWRITTEN: &str = "answers with memory that it never wrote";
/// How often a case is run that may answer with such memory: some runs may be right.
const TRIES: usize = 4;

/// The fields of the manifest, in order.
const FIELDS: [&str; 11] =
    ["folder", "operators", "opset", "types", "rule", "sentence", "source", "patterns", "minimal", "right", "case"];

/// A case that was written.
#[derive(Debug)]
pub struct Exported {
    /// Its folder below that of the data set, such as `valid/shape-0123abcd`.
    pub folder: String,
    case: Case,
    expectation: Expectation,
    is_minimal: bool,
}

/// The cases that were written.
#[derive(Debug, Default)]
pub struct Corpus {
    /// In the order of their folders.
    pub cases: Vec<Exported>,
    /// How many cases were left out, since their files are too large.
    pub left_out: usize,
    /// How many cases were left out, since they need earlier runs of the same session.
    pub of_many_runs: usize,
}

/// The cases that a runtime fails: the folder of each, and the reaction of the runtime.
pub type Failures = Vec<(String, String)>;

/// Writes saved regressions and the catalogue of edge cases, each case once, into a folder that is new or empty. Cases of several
/// runs are left out, and so are cases whose files have more than `largest` bytes together.
///
/// # Errors
/// If the folder is not empty, or a file cannot be written.
pub fn export(to: &Path, regressions: &[Regression], largest: u64) -> Result<Corpus, RegressionError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| RegressionError::Io { path, error }
    };
    fs::create_dir_all(to).map_err(failed(to))?;
    if fs::read_dir(to).map_err(failed(to))?.next().is_some() {
        let error = std::io::Error::other("there is something in it: name a folder that is new or empty");
        return Err(RegressionError::Io { path: to.to_owned(), error });
    }
    let saved = regressions.iter().map(|regression| (regression.name.clone(), regression.case.clone(), true));
    let catalogue = OPERATORS.iter().flat_map(|operator| catalogue::cases(operator).into_iter().map(named));
    let mut corpus = Corpus::default();
    let mut seen = HashSet::new();
    for (name, case, is_minimal) in saved.chain(catalogue) {
        if !seen.insert(case.clone()) {
            continue;
        }
        if !case.before.is_empty() {
            corpus.of_many_runs += 1;
            continue;
        }
        let exported = Exported::new(&name, case, is_minimal);
        let files = exported.files().map_err(failed(to))?;
        if files.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>() > largest {
            corpus.left_out += 1;
            continue;
        }
        let folder = to.join(&exported.folder);
        fs::create_dir_all(folder.join(test_data::FIRST)).map_err(failed(&folder))?;
        for (path, bytes) in files {
            let path = folder.join(path);
            write_whole(&path, &bytes).map_err(failed(&path))?;
        }
        corpus.cases.push(exported);
    }
    corpus.cases.sort_by(|a, b| a.folder.cmp(&b.folder));
    let crate_manifest = CRATE.replace("VERSION", env!("CARGO_PKG_VERSION"));
    for (name, text) in [
        ("README.md", corpus.readme(largest)),
        ("manifest.tsv", corpus.manifest()),
        ("replay.py", include_str!("corpus/replay.py").to_owned()),
        ("Cargo.toml", crate_manifest),
        ("src/lib.rs", include_str!("corpus/lib.rs").to_owned()),
        ("tests/whole.rs", include_str!("corpus/test.rs").to_owned()),
    ] {
        let path = to.join(name);
        write_whole(&path, text.as_bytes()).map_err(failed(&path))?;
    }
    Ok(corpus)
}

/// A case of the catalogue under the name of its operator and the beginning of its checksum; it is not minimized.
fn named(case: Case) -> (String, Case, bool) {
    let operator = case.subject().to_lowercase();
    (format!("{operator}-{:.8}", sha256(case.to_string().as_bytes())), case, false)
}

const CRATE: &str = "\
[package]
name = \"onnx-crosscheck-corpus\"
version = \"VERSION\"
edition = \"2021\"
description = \"Models on which ONNX runtimes go wrong, and what is right\"
license = \"MIT OR Apache-2.0\"
";

impl Exported {
    fn new(name: &str, case: Case, is_minimal: bool) -> Exported {
        let expectation = case.expectation(&case.tensors());
        let folder = match expectation {
            Expectation::Defined(_) => VALID,
            Expectation::Reject { .. } => MUST_REFUSE,
            Expectation::Unspecified { .. } => LEFT_OPEN,
        };
        Exported { folder: format!("{folder}/{name}"), case, expectation, is_minimal }
    }

    fn job(&self) -> Job {
        model::job(&self.case, &self.case.tensors())
    }

    /// The right results: the word of each in the manifest, and its outputs, which are in the folder of that name.
    fn right(&self) -> Vec<(String, Option<&[Tensor]>)> {
        match &self.expectation {
            Expectation::Defined(outputs) => vec![(test_data::FIRST.to_owned(), Some(outputs))],
            Expectation::Reject { .. } => vec![("refusal".to_owned(), None)],
            Expectation::Unspecified { tolerated, .. } => {
                let each = tolerated.iter().enumerate().map(|(place, answer)| match answer {
                    Answer::Outputs(outputs) => (format!("tolerated_{place}"), Some(&outputs[..])),
                    Answer::Refusal => ("refusal".to_owned(), None),
                    Answer::Any => ("any".to_owned(), None),
                });
                each.collect()
            }
        }
    }

    /// The files of the case, by their path below its folder.
    fn files(&self) -> std::io::Result<Vec<(String, Vec<u8>)>> {
        let job = self.job();
        let mut files = test_data::input_files(&job)?;
        for (folder, outputs) in self.right() {
            files.extend(test_data::output_files(&job, &folder, outputs.unwrap_or_default())?);
        }
        Ok(files)
    }

    /// Whether an outcome is right.
    fn is_right(&self, outcome: &Outcome) -> bool {
        self.right().iter().any(|(word, outputs)| match (outcome, outputs) {
            (Outcome::Answer(given), Some(outputs)) => given.iter().map(|given| &given.tensor).eq(outputs.iter()),
            (Outcome::Answer(_), None) => word == "any",
            (Outcome::Refused { .. } | Outcome::Unsupported(_) | Outcome::Unclassified { .. }, None) => {
                word == "refusal"
            }
            _ => false,
        })
    }

    /// Whether one of these triggers explains what a runtime does wrong, in one of [`TRIES`] runs.
    fn is_explained(&self, by: &[Trigger], runtime: &mut Box<dyn Runtime>) -> bool {
        let features = Features::of(&self.case);
        let may_explain = |trigger: &&Trigger| trigger.explains(&trigger.mismatch, &features);
        let by: Vec<&Trigger> = by.iter().filter(may_explain).collect();
        let (runtime, generated) = (slice::from_mut(runtime), Generated::given(self.case.clone()));
        let ids = runtime::ids(runtime);
        let is_explained = |fault: &Fault| by.iter().any(|trigger| trigger.explains(&fault.mismatch, &features));
        let mut shows = || examine(&generated, runtime, &ids).faults(&generated, &ids, 0).iter().any(is_explained);
        !by.is_empty() && (0..TRIES).any(|_| shows())
    }

    /// Its line in the manifest.
    fn line(&self) -> String {
        let list = |words: Vec<String>| words.join(" ");
        let rule = self.expectation.rule().map(Rule::text);
        let of_rule = |text: fn(Text) -> &'static str| rule.map_or("", text).to_owned();
        let mut types: Vec<String> = Vec::new();
        for operand in &self.case.sources {
            let name = operand.element_type.name().to_owned();
            types.extend((!types.contains(&name)).then_some(name));
        }
        let patterns = PATTERNS.iter().filter(|pattern| pattern.is_in(&self.case)).map(|pattern| pattern.id.to_owned());
        let fields: [String; FIELDS.len()] = [
            self.folder.clone(),
            self.case.operator_versions().replace(" and ", " "),
            self.case.opset.to_string(),
            list(types),
            of_rule(|text| text.id),
            of_rule(|text| text.sentence),
            of_rule(|text| text.source),
            list(patterns.collect()),
            if self.is_minimal { "yes" } else { "no" }.to_owned(),
            list(self.right().into_iter().map(|(word, _)| word).collect()),
            self.case.to_string(),
        ];
        fields.join("\t")
    }
}

impl Corpus {
    /// How many cases are below a folder.
    pub fn count(&self, folder: &str) -> usize {
        self.cases.iter().filter(|case| case.folder.starts_with(folder)).count()
    }

    fn manifest(&self) -> String {
        let head =
            format!("# onnx-crosscheck {}, format 1: README.md describes the fields\n", env!("CARGO_PKG_VERSION"));
        let lines = self.cases.iter().map(|case| case.line() + "\n");
        [head, FIELDS.join("\t") + "\n"].into_iter().chain(lines).collect()
    }

    /// Runs every case, and returns the cases that each runtime fails; `None` if it was stopped. `progress` is called now and then
    /// with the number of cases that are done.
    ///
    /// An answer that a variant of the ledger with memory that was never written explains is not the same each time. So it is
    /// listed with the reaction [`UNWRITTEN`], whether it is right this time or not.
    ///
    /// # Errors
    /// If a runtime cannot be opened.
    pub fn failures(
        &self,
        ledger: &Ledger,
        open: &(dyn Fn() -> Result<Vec<Box<dyn Runtime>>, OpenError> + Sync),
        threads: usize,
        stop: &Stop,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Option<Vec<Failures>>, OpenError> {
        let next = AtomicUsize::new(0);
        let parts = on_threads(threads, || {
            let mut runtimes = open()?;
            let mut failures = vec![Failures::new(); runtimes.len()];
            let unwritten: Vec<Vec<Trigger>> = runtime::ids(&runtimes).iter().map(|id| ledger.unwritten(id)).collect();
            while let Some(case) = self.cases.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !stop.is_asked()) {
                let job = case.job();
                for ((runtime, failures), unwritten) in runtimes.iter_mut().zip(&mut failures).zip(&unwritten) {
                    let outcome = execute_once(runtime.as_mut(), &job).outcome;
                    let reaction = match &outcome {
                        Outcome::Answer(_) if case.is_explained(unwritten, runtime) => UNWRITTEN,
                        _ if case.is_right(&outcome) => continue,
                        Outcome::Answer(_) => "answers",
                        _ => reaction(&outcome),
                    };
                    failures.push((case.folder.clone(), reaction.to_owned()));
                }
                progress(next.load(Ordering::Relaxed).min(self.cases.len()));
            }
            Ok(failures)
        })?;
        let together = |place: usize| {
            let all: BTreeSet<_> = parts.iter().flat_map(|part| part[place].iter().cloned()).collect();
            all.into_iter().collect()
        };
        let runtimes = parts.first().map_or(0, Vec::len);
        Ok((!stop.is_asked()).then(|| (0..runtimes).map(together).collect()))
    }
}

/// Writes the list of cases that a runtime fails beside the cases.
///
/// # Errors
/// If the file cannot be written.
pub fn write_failures(to: &Path, id: &RuntimeId, failures: &Failures) -> Result<(), RegressionError> {
    let name = [&id.name, &id.version, &id.configuration].map(|part| part.replace(['/', '\\'], "_"));
    let name = name.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("-");
    let head = format!("# What {} {} {} does not do right, and what it does\n", id.name, id.version, id.configuration);
    let lines = failures.iter().map(|(folder, reaction)| format!("{folder}\t{reaction}\n"));
    let path = to.join(EXPECTED).join(format!("{name}.tsv"));
    let text: String = [head].into_iter().chain(lines).collect();
    write_whole(&path, text.as_bytes()).map_err(|error| RegressionError::Io { path, error })
}

impl Corpus {
    /// The text that tells people how to use the folder.
    fn readme(&self, largest: u64) -> String {
        format!(
            include_str!("corpus/README.md"),
            operators = OPERATORS.iter().map(|operator| operator.name).collect::<Vec<_>>().join(", "),
            version = env!("CARGO_PKG_VERSION"),
            valid = self.count(VALID),
            must_refuse = self.count(MUST_REFUSE),
            left_open = self.count(LEFT_OPEN),
            left_out = self.left_out,
            of_many_runs = self.of_many_runs,
            largest = largest,
        )
    }
}
