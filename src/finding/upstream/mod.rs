//! A finding as its upstream maintainers receive it: an issue in plain words, the model with its test data, and a program
//! that shows it with nothing of this project in it.

mod quote;
mod reproducer;
mod words;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value, context};
use prost::Message;
use serde::Serialize;

use self::quote::quotes;
use self::reproducer::{Reproducer, VARIANT, Written, acceptable_file};
use super::minimize::Sighting;
use super::{Extent, Known, Ledger, Probe, Shown};
use crate::case::{Case, Encoding, Generated};
use crate::files::{reproduce, write_whole};
use crate::model::proto::{DimensionValue, ModelProto};
use crate::model::{self, Job, Versions, tensor_proto, test_data};
use crate::operator::{Expectation, NEWEST_OPSET};
use crate::runtime::table::REFERENCE;
use crate::runtime::{Execution, Outcome, RuntimeId, by_number, kind_of};
use crate::verdict::{Discrepancy, Judgement, Mismatch, Severity};

/// The file with the issue.
pub const ISSUE: &str = "issue.md";

/// What a report is about.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The name of the folder.
    pub name: String,
    /// What people have written about it.
    pub known: Option<Known>,
    pub case: Case,
    pub mismatch: Mismatch,
    /// The release that is at fault, in each of its configurations.
    pub ids: Vec<RuntimeId>,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("{name} does not show on {release}, so there is nothing to report: `crosscheck known` tells more")]
    NotShown { name: String, release: String },
    #[error("{path}: there is something in this folder that is no report; name another with --output")]
    Occupied { path: PathBuf },
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
}

/// A report, ready to be written.
#[derive(Clone, Debug)]
pub struct Report {
    pub name: String,
    pub title: String,
    job: Job,
    generated: Generated,
    issue: String,
    reproducer: Written,
    variant: Option<Job>,
}

impl Subject {
    /// An entry of the ledger, on a release in all its configurations.
    ///
    /// # Errors
    /// If the release is there and does not show it.
    ///
    /// # Panics
    /// If there is no configuration.
    pub fn of_known(known: &Known, ids: &[RuntimeId], probe: &mut Probe) -> Result<Subject, ReportError> {
        let release = ids[0].release();
        let is_there = probe.ids().iter().any(|other| other.release() == release);
        let shown = known.triggers(probe).into_iter().map(|trigger| trigger.mismatch).find(|m| m.runtime == release);
        let mismatch = match (shown, is_there) {
            (Some(mismatch), _) => mismatch,
            // What the ledger says has to do.
            (None, false) => known.mismatch(),
            (None, true) => return Err(ReportError::NotShown { name: known.id.clone(), release }),
        };
        Ok(Subject {
            name: known.id.clone(),
            known: Some(known.clone()),
            case: known.case(),
            mismatch,
            ids: ids.to_vec(),
        })
    }
}

impl Report {
    /// Runs the case of a subject on all runtimes of the probe, measures where it shows, and says so.
    pub fn new(subject: &Subject, ledger: &Ledger, probe: &mut Probe) -> Report {
        let Subject { name, known, mismatch, ids: all, .. } = subject;
        let case = at_widest_opset(&subject.case, mismatch, probe);
        let generated = Generated::given(case.clone());
        let job = model::job(&case, &generated.tensors);
        let seen = Seen::new(&case, probe, None);
        let wrong = seen.wrong(mismatch);
        // A program says itself which version it is.
        let id = wrong.first().map_or(&all[0], |row| &row.id);
        let ids: Vec<RuntimeId> =
            if wrong.is_empty() { all.clone() } else { wrong.iter().map(|row| row.id.clone()).collect() };
        let (variant, variant_did) = wrong.iter().find_map(|row| row.contrary.clone()).unzip();
        let variant_job = variant.as_ref().map(|variant| model::job(variant, &variant.tensors()));
        let operator = case.operator.name;
        let wrong_words = known.as_ref().map_or_else(
            || {
                let rule = mismatch.rule.map(|rule| format!(" ({})", rule.id().replace('-', " ")));
                let does = words::does(&mismatch.discrepancies);
                format!("{} {does}{}.", words::public_name(&id.name), rule.unwrap_or_default())
            },
            |known| known.wrong.clone(),
        );
        let sentence = words::without_stop(&wrong_words);
        let title = if sentence.contains(operator) {
            sentence.to_owned()
        } else {
            format!("{operator}: {}", words::uncapitalized(sentence))
        };
        let kind = kind_of(id);
        let reproducer = Reproducer {
            title: &title,
            kind,
            ids: &ids,
            discrepancies: &mismatch.discrepancies,
            generated: &generated,
            variant: variant.as_ref(),
        };
        let reproducer = reproducer.write();
        let expected = words::expected(&generated.expectation, &mismatch.discrepancies);
        let mut actual: Vec<Actual> = wrong
            .iter()
            .map(|row| Actual { setup: words::setup(kind, &row.id.configuration), did: row.did.clone() })
            .collect();
        if actual.is_empty() {
            actual.push(Actual { setup: String::new(), did: words::does(&mismatch.discrepancies) });
        }
        let model_text = |job: &Job| {
            let proto = ModelProto::decode(&job.model[..]).unwrap_or_default();
            model::text::text(&proto)
        };
        let text = model_text(&job);
        let (quotes, remark) = quotes(&generated, mismatch);
        let extent = Extents::measure(&case, mismatch, &wrong, probe);
        if let Some(did) = variant_did {
            let first = actual[0].setup.clone();
            actual.push(Actual { setup: format!("`variant/model.onnx`, {first}"), did });
        }
        let versions = Versions::of(&case);
        let context = context! {
            title => title.clone(), expected => expected.clone(), remark,
            quotes => Value::from(Serde(&quotes)), actual => Value::from(Serde(&actual)),
            what => format!("{} {}", sentence_with_stop(&wrong_words), instead(id, &expected, &actual, mismatch)),
            cause => known.as_ref().map(|known| known.cause.clone()),
            fixed => known.as_ref().and_then(fixed),
            model_text => text.as_ref().ok(),
            inexpressible => text.as_ref().err().map(ToString::to_string),
            notes => notes(&job),
            feeds => words::feeds(&job),
            variant => variant.as_ref().zip(variant_job.as_ref()).map(|(variant, job)| context! {
                difference => words::difference(&case, variant), text => model_text(job).ok(),
            }),
            runtime => words::public_name(&id.name), version => id.version.clone(),
            rows => Value::from(Serde(seen.rows())),
            extent => extent.as_ref().ok().map(|extents| Value::from(Serde(&extents.lines))),
            no_extent => extent.as_ref().err(),
            since => known.as_ref().map(|known| since(known, ledger)).unwrap_or_default(),
            commands => reproducer.as_ref().map(|written| written.commands.clone()).unwrap_or_default(),
            no_reproducer => reproducer.as_ref().err(),
            has_outputs => matches!(generated.expectation, Expectation::Defined(_)),
            package => match kind {
                "onnxruntime" => " (the package of PyPI)",
                "tract" => " (the crate `tract-onnx`)",
                "command" if id.name == REFERENCE => " (of the package `onnx` of that version)",
                _ => "",
            },
            platform => format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH),
            opset => versions.opset, ir => versions.ir, own_version => env!("CARGO_PKG_VERSION"),
            command => reproduce(&case.to_string()),
        };
        Report {
            name: name.clone(),
            issue: render("issue.md", context),
            title,
            job,
            reproducer: reproducer.unwrap_or_default(),
            variant: variant_job,
            generated,
        }
    }

    /// Writes the report as a folder, in place of the report that was there before.
    ///
    /// # Errors
    /// If there is something else in the folder, or it cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), ReportError> {
        let failed = |error| ReportError::Io { path: folder.to_owned(), error };
        let is_empty = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
        if folder.exists() && !is_empty && !folder.join(ISSUE).is_file() {
            return Err(ReportError::Occupied { path: folder.to_owned() });
        }
        let above = folder.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(above).map_err(failed)?;
        let scratch = tempfile::tempdir_in(above).map_err(failed)?;
        self.write_files(scratch.path()).map_err(failed)?;
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(failed)?;
        }
        let whole = scratch.keep();
        fs::rename(whole, folder).map_err(failed)
    }

    fn write_files(&self, folder: &Path) -> io::Result<()> {
        let outputs = match &self.generated.expectation {
            Expectation::Defined(outputs) => Some(&outputs[..]),
            _ => None,
        };
        test_data::write(folder, &self.job, outputs)?;
        if let Some(variant) = &self.variant {
            test_data::write(&folder.join(VARIANT), variant, None)?;
        }
        for (index, output) in self.reproducer.acceptable.iter().enumerate() {
            let proto = tensor_proto::write("output", output, Encoding::Raw);
            write_whole(&folder.join(acceptable_file(index)), &proto.encode_to_vec())?;
        }
        for (path, text) in &self.reproducer.files {
            write_whole(&folder.join(path), text.as_bytes())?;
        }
        write_whole(&folder.join(ISSUE), self.issue.as_bytes())
    }
}

/// What a runtime at fault does, by how it is set up.
#[derive(Clone, Debug, Serialize)]
struct Actual {
    setup: String,
    did: String,
}

/// What every runtime made of a case.
struct Seen {
    sightings: Vec<Sighting>,
}

/// A configuration that is at fault.
struct Wrong {
    id: RuntimeId,
    /// What it did.
    did: String,
    /// A variant of the case, and what it made of that, where it is at odds with itself.
    contrary: Option<(Case, String)>,
}

/// A row of the table of all runtimes.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    version: String,
    setup: String,
    did: String,
    mark: &'static str,
}

impl Seen {
    /// What all releases made of a case, but for one that may be left out.
    fn new(case: &Case, probe: &mut Probe, left_out: Option<&String>) -> Seen {
        let mut releases: Vec<String> = probe.ids().iter().map(RuntimeId::release).collect();
        releases.dedup();
        releases.retain(|release| Some(release) != left_out);
        Seen { sightings: releases.iter().filter_map(|release| probe.look(case, release)).collect() }
    }

    /// The configurations that show a mismatch.
    fn wrong(&self, mismatch: &Mismatch) -> Vec<Wrong> {
        let each = self.sightings.iter().flat_map(|sighting| {
            let shows = |place: &usize| sighting.configurations[*place].1.contains(mismatch);
            (0..sighting.configurations.len()).filter(shows).map(move |place| (sighting, place))
        });
        let wrong = each.map(|(sighting, place)| {
            let execution = &sighting.examination.executions[place];
            let declared = declared(execution).filter(|_| mismatch.discrepancies.contains(&Discrepancy::Undeclared));
            let did = declared.unwrap_or_default() + &words::did(execution);
            let contrary = sighting.examination.contrary[place].as_ref();
            let contrary =
                contrary.and_then(|contrary| Some((contrary.case.parse().ok()?, words::did(&contrary.execution))));
            Wrong { id: sighting.configurations[place].0.clone(), did, contrary }
        });
        wrong.collect()
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for sighting in &self.sightings {
            let examination = &sighting.examination;
            for (place, (id, ..)) in sighting.configurations.iter().enumerate() {
                let row = Row {
                    name: words::public_name(&id.name).to_owned(),
                    version: id.version.clone(),
                    setup: words::setup(kind_of(id), &id.configuration),
                    did: did(id, &examination.executions[place]),
                    mark: words::mark(&examination.judgements[place]),
                };
                // What several configurations of one release do is said once.
                match rows.last_mut() {
                    Some(last) if last.is_like(&row) => last.setup = format!("{}; {}", last.setup, row.setup),
                    _ => rows.push(row),
                }
            }
        }
        rows
    }
}

impl Row {
    fn is_like(&self, other: &Row) -> bool {
        (&self.name, &self.version, &self.did, self.mark) == (&other.name, &other.version, &other.did, other.mark)
    }
}

/// What shape a runtime declared of its output, before the words for what it then did.
fn declared(execution: &Execution) -> Option<String> {
    let dims = execution.declared.as_ref()?.first()?.dims.as_ref()?;
    let dims: Vec<String> = dims.iter().map(|dim| dim.map_or_else(|| "?".to_owned(), |dim| dim.to_string())).collect();
    Some(format!("declares an output of shape [{}], and ", dims.join(", ")))
}

/// What a runtime did. Errors of the implementation of this project tell people outside nothing.
fn did(id: &RuntimeId, execution: &Execution) -> String {
    match &execution.outcome {
        Outcome::Refused { .. } if id.name == "in-house" => "gives an error".to_owned(),
        _ => words::did(execution),
    }
}

/// The case at the newest opset at which the same mismatch shows and the most runtimes take part. What only one runtime can
/// read tells its maintainers less.
fn at_widest_opset(case: &Case, mismatch: &Mismatch, probe: &mut Probe) -> Case {
    let expectation = case.expectation(&case.tensors());
    // To look at what ends or hangs a process takes long, so there the others are asked first.
    let is_slow = mismatch.discrepancies.iter().any(|discrepancy| discrepancy.severity() == Severity::Crash);
    let at_fault_is_there = probe.ids().iter().any(|id| id.release() == mismatch.runtime);
    let mut best: Option<(usize, Case)> = None;
    for opset in (1..=case.opset.min(NEWEST_OPSET)).rev() {
        let candidate = Case { opset, ..case.clone() };
        let seen = Seen::new(&candidate, probe, is_slow.then_some(&mismatch.runtime));
        let shows = if is_slow || !at_fault_is_there {
            candidate.expectation(&candidate.tensors()) == expectation
        } else {
            seen.sightings.iter().any(|sighting| sighting.shows(mismatch))
        };
        let judgements = seen.sightings.iter().flat_map(|sighting| &sighting.examination.judgements);
        let taking_part = judgements.filter(|judgement| !matches!(judgement, Judgement::Unsupported(_))).count();
        if shows && best.as_ref().is_none_or(|(most, _)| taking_part > *most) {
            best = Some((taking_part, candidate));
        }
    }
    let best = best.map_or_else(|| case.clone(), |(_, best)| best);
    let holds = !is_slow || !at_fault_is_there || best == *case || probe.shows(&best, mismatch);
    if holds { best } else { case.clone() }
}

/// Where a finding shows, in words.
struct Extents {
    lines: Vec<ExtentLine>,
}

#[derive(Debug, Serialize)]
struct ExtentLine {
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

impl Extents {
    /// Measures where a mismatch shows; or says why not.
    fn measure(case: &Case, mismatch: &Mismatch, wrong: &[Wrong], probe: &mut Probe) -> Result<Extents, String> {
        let Some(Wrong { id, .. }) = wrong.first() else {
            return Err(format!(
                "This was not measured again for this report: {} was not at hand.",
                mismatch.runtime.replace('@', " ")
            ));
        };
        if mismatch.discrepancies.iter().any(|discrepancy| discrepancy.severity() == Severity::Crash) {
            return Err(
                "This was not measured: each look at it would take a process with it, or the whole time limit."
                    .to_owned(),
            );
        }
        let extent = Extent::measure(case, mismatch, probe);
        let operator = case.operator.name;
        let kind = kind_of(id);
        let setup =
            |name: &String| words::setup(kind, name.split_once('/').map_or("", |(_, configuration)| configuration));
        let mut lines = vec![
            ExtentLine::new("operator version", &extent.versions, |since| format!("{operator}-{since}")),
            ExtentLine::new("element type", &extent.types, ToString::to_string),
            ExtentLine::new("all inputs of the node given as", &extent.wirings, |wiring| {
                words::wiring(*wiring).to_owned()
            }),
        ];
        if extent.configurations.len() > 1 {
            lines.push(ExtentLine::new("set up with", &extent.configurations, setup));
        }
        Ok(Extents { lines })
    }
}

/// What people should know about the text of a model.
fn notes(job: &Job) -> Vec<&'static str> {
    let proto = ModelProto::decode(&job.model[..]).unwrap_or_default();
    let graph = proto.graph.unwrap_or_default();
    let constants = graph.node.iter().flat_map(|node| &node.attribute).filter_map(|attribute| attribute.t.as_ref());
    let in_raw_data = graph.initializer.iter().chain(constants).any(|tensor| tensor.raw_data.is_some());
    let shapes = graph.input.iter().map(|value| value.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref());
    let (mut unranked, mut scalar, mut symbolic) = (false, false, false);
    for shape in shapes {
        match shape {
            None => unranked = true,
            Some(shape) => {
                scalar |= shape.dim.is_empty();
                symbolic |= shape.dim.iter().any(|dim| matches!(dim.value, Some(DimensionValue::Symbol(_))));
            }
        }
    }
    let notes = [
        (
            in_raw_data,
            "In `model.onnx` the elements of the tensor are in `raw_data`, for which the text syntax has no words.",
        ),
        (unranked, "In this syntax `float[]` is a tensor whose rank is not declared."),
        (scalar, "In this syntax a type without brackets is that of a scalar, of rank 0."),
        (symbolic, "Names in the brackets of an input are symbols (`dim_param`): its sizes are known when it is fed."),
    ];
    notes.into_iter().filter(|(holds, _)| *holds).map(|(_, note)| note).collect()
}

/// Since which release an issue is there, of those that were tried.
fn since(known: &Known, ledger: &Ledger) -> String {
    let of_runtime = ledger.entries.iter().filter(|other| other.runtime_name() == known.runtime_name());
    let oldest = of_runtime.map(|other| &other.first_version).min_by_key(|version| by_number(version));
    let oldest = oldest.unwrap_or(&known.first_version);
    let (name, first, last) = (known.runtime_name(), &known.first_version, &known.last_version);
    if first == oldest {
        format!("**First bad release:** {name} {first}, the oldest that was tried, has it already; {last} has it too.")
    } else if first == last {
        format!("**First bad release:** {name} {first}, of those that were tried, from {oldest} on.")
    } else {
        format!("**First bad release:** {name} {first}, of those that were tried, from {oldest} on; {last} has it too.")
    }
}

/// That an issue is gone in the release under test, if it is.
fn fixed(known: &Known) -> Option<String> {
    let usual = crate::runtime::KINDS.iter().find(|kind| kind.name == known.runtime_name())?.version;
    let is_old = by_number(&known.last_version) < by_number(usual);
    is_old.then(|| {
        format!(
            "**{} {usual} no longer does this**; {} is the last release that was seen to.",
            known.runtime_name(),
            known.last_version
        )
    })
}

/// What should come of the model, and what does.
fn instead(id: &RuntimeId, expected: &str, actual: &[Actual], mismatch: &Mismatch) -> String {
    let (name, version, first) = (words::public_name(&id.name), &id.version, &actual[0]);
    let does_not_agree = mismatch.discrepancies.iter().all(|discrepancy| discrepancy.severity() == Severity::Disagrees);
    let other = actual.iter().find(|each| does_not_agree && each.did != first.did);
    let words = words::without_stop;
    match other {
        Some(other) => format!(
            "For the model below, {name} {version} should do {expected}; instead, with {}, it {}; but with {}, it {}.",
            first.setup,
            words(&first.did),
            other.setup,
            words(&other.did)
        ),
        None => {
            format!("For the model below, {name} {version} should give {expected}; instead it {}.", words(&first.did))
        }
    }
}

fn sentence_with_stop(sentence: &str) -> String {
    format!("{}.", words::without_stop(sentence))
}

/// A template, filled in.
///
/// # Panics
/// If the template is not well-formed, which a test of every template rules out.
fn render(name: &str, context: Value) -> String {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the usual delimiters are well-formed"));
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    // A string as a literal of the language.
    environment.add_filter("rust", |text: String| format!("{text:?}"));
    environment.add_filter("python", |text: String| serde_json::Value::from(text).to_string());
    environment.add_filter("cell", |text: String| text.replace('|', "\\|"));
    for (name, text) in TEMPLATES {
        environment.add_template(name, text).unwrap_or_else(|error| panic!("{error:#}"));
    }
    let template = environment.get_template(name).unwrap_or_else(|error| panic!("{error:#}"));
    let text = template.render(context).unwrap_or_else(|error| panic!("{name}: {error:#}"));
    // Parts that are left out leave their empty lines behind.
    let mut kept = String::with_capacity(text.len());
    let most = if name == "repro.py" { 2 } else { 1 };
    let mut empty = 0;
    for line in text.lines() {
        empty = if line.trim().is_empty() { empty + 1 } else { 0 };
        if empty <= most {
            kept.push_str(line.trim_end());
            kept.push('\n');
        }
    }
    format!("{}\n", kept.trim())
}

const TEMPLATES: [(&str, &str); 4] = [
    ("issue.md", include_str!("templates/issue.md")),
    ("repro.py", include_str!("templates/repro.py")),
    ("main.rs", include_str!("templates/main.rs")),
    ("Cargo.toml", include_str!("templates/Cargo.toml")),
];
