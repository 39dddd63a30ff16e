//! The report of a finding to the maintainers of a runtime: an issue in plain words, the model with its test data, and a program
//! that shows the finding without this project.

mod outside;
mod overview;
mod quote;
mod reproducer;
mod seen;
mod template;
mod unit_test;
mod words;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use minijinja::value::Serde;
use minijinja::{Value, context};
use prost::Message;
use serde::Serialize;

pub use self::overview::{OVERVIEW, overview, priority};
use self::quote::{Quote, quotes};
use self::reproducer::{Reproducer, VARIANT, Written, acceptable_file};
use self::seen::{FaultyConfiguration, Sightings, at_widest_opset};
use self::template::render;
use self::unit_test::UnitTest;
use super::{Cause, Known, Ledger, Probe, Variant, is_first_stage};
use crate::case::{Case, Encoding, Generated};
use crate::files::{reproduce, write_whole};
use crate::model::proto::{DimensionValue, ModelProto};
use crate::model::{self, Job, Versions, tensor_proto, test_data};
use crate::operator::{Expectation, Operator};
use crate::runtime::{RuntimeId, by_number};
use crate::tensor::Tensor;
use crate::verdict::{Discrepancy, Mismatch, Severity};

/// The file with the issue.
pub const ISSUE: &str = "issue.md";

/// What a report is about.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The name of the folder.
    pub name: String,
    /// The known issue that people have described, and the variant that the case shows.
    pub known: Option<(Cause, Variant)>,
    pub case: Case,
    pub mismatch: Mismatch,
    /// The stage of optimization and the passes that cause the mismatch, as the ledger has them.
    pub pass: Option<String>,
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

/// The sentences of the ONNX documents that decide a case.
pub(super) fn quoted(case: &Case, mismatch: &Mismatch) -> Vec<Quote> {
    quotes(&Generated::given(case.clone()), mismatch).0
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
    unit_test: Option<UnitTest>,
    variant: Option<Job>,
    also: Vec<Also>,
}

impl Subject {
    /// The subject of a known issue, by one of its variants, on a release in all its configurations.
    ///
    /// # Errors
    /// If the probe has the release, and the variant does not show on it.
    ///
    /// # Panics
    /// If there is no configuration.
    pub fn of_known(known: Known, ids: &[RuntimeId], probe: &mut Probe) -> Result<Subject, ReportError> {
        let Known { cause, variant } = known;
        let release = ids[0].release();
        let is_there = probe.ids().iter().any(|other| other.release() == release);
        let is_shown = known.triggers(probe).iter().any(|trigger| trigger.mismatch.runtime == release);
        let mismatch = match (is_shown, is_there) {
            (true, _) => Mismatch { runtime: release, ..variant.mismatch() },
            // The release cannot be run, so the mismatch is that of the ledger.
            (false, false) => variant.mismatch(),
            (false, true) => return Err(ReportError::NotShown { name: variant.id.clone(), release }),
        };
        Ok(Subject {
            name: cause.id.clone(),
            known: Some((cause.clone(), variant.clone())),
            case: variant.case(),
            mismatch,
            pass: variant.pass.clone(),
            ids: ids.to_vec(),
        })
    }

    /// The operator that it is about; `None` if its cause shows with several operators.
    fn operator(&self) -> Option<&'static Operator> {
        let own = self.case.nodes[0].operator;
        let is_own = |variant: &Variant| variant.case().nodes[0].operator.name == own.name;
        let variants = self.known.as_ref().map_or(&[][..], |(cause, _)| &cause.variants);
        variants.iter().all(is_own).then_some(own)
    }

    /// What is wrong, in one sentence: the title of the known issue, if there is one.
    fn wrong_words(&self, id: &RuntimeId) -> String {
        if let Some((cause, _)) = &self.known {
            return cause.title.clone();
        }
        let rule = self.mismatch.rule.map(|rule| format!(" ({})", rule.id().replace('-', " ")));
        let does = words::does(&self.mismatch.discrepancies);
        format!("{} {does}{}.", outside::public_name(&id.name), rule.unwrap_or_default())
    }
}

impl Report {
    /// Runs the case of a subject on all runtimes of the probe, measures where it shows, and makes the report. `rewritten` gives
    /// the model that a stage of optimization makes, if the runtime can write it.
    pub fn new(
        subject: &Subject,
        ledger: &Ledger,
        probe: &mut Probe,
        rewritten: &dyn Fn(&Job, &str) -> Option<ModelProto>,
    ) -> Report {
        let Subject { name, known, mismatch, ids: all, .. } = subject;
        let case = at_widest_opset(&subject.case, mismatch, probe);
        let generated = Generated::given(case.clone());
        let job = model::job(&case, &generated.tensors);
        let seen = Sightings::new(&case, probe);
        let wrong = seen.wrong(mismatch);
        // A user's own program reports its version itself, so the id of a result comes first.
        let id = wrong.first().map_or(&all[0], |row| &row.id);
        let (variant, variant_did) = wrong.iter().find_map(|row| row.contrary.clone()).unzip();
        // If configurations disagree, all of them are needed to show it.
        let needs_all = mismatch.discrepancies == [Discrepancy::ConfigurationsDisagree] && variant.is_none();
        let ids: Vec<RuntimeId> =
            if wrong.is_empty() || needs_all { all.clone() } else { wrong.iter().map(|row| row.id.clone()).collect() };
        let variant_job = variant.as_ref().map(|variant| model::job(variant, &variant.tensors()));
        let title = words::title(subject.operator(), &subject.wrong_words(id));
        let given = wrong.first().map(FaultyConfiguration::outputs).unwrap_or_default();
        let reproducer = Reproducer {
            name,
            title: &title,
            ids: &ids,
            discrepancies: &mismatch.discrepancies,
            generated: &generated,
            variant: variant.as_ref(),
            output: wrong.first().map_or(0, |row| row.output(&generated.expectation)),
            given: &given,
            is_unwritten: known.as_ref().is_some_and(|(_, variant)| variant.is_unwritten),
        };
        let (unit_test, reproducer) = (reproducer.unit_test(), reproducer.write());
        let expected = words::expected(&generated.expectation, &mismatch.discrepancies);
        // Configurations that give the same are one row.
        let mut actual: Vec<Actual> = vec![];
        for row in &wrong {
            let setup = outside::setup(&row.id.name, &row.id.configuration);
            match actual.iter_mut().find(|other| other.did == row.did) {
                Some(other) => other.setup = format!("{}; {setup}", other.setup),
                None => actual.push(Actual { setup, did: row.did.clone() }),
            }
        }
        if actual.is_empty() {
            actual.push(Actual { setup: String::new(), did: words::does(&mismatch.discrepancies) });
        }
        let model_text = |job: &Job| model::text::text(&job.model.decode().unwrap_or_default());
        let text = model_text(&job);
        let optimized = subject.pass.as_deref().filter(|pass| !is_first_stage(&id.name, pass));
        let stage = optimized.map(|pass| pass.split_once(": ").map_or(pass, |(stage, _)| stage));
        let rewritten = stage.and_then(|stage| rewritten(&job, stage));
        let (quotes, remark) = quotes(&generated, mismatch);
        let extent = seen::extent(&case, mismatch, &wrong, probe);
        if let Some(did) = variant_did {
            let first = actual[0].setup.clone();
            actual.push(Actual { setup: format!("`variant/model.onnx`, {first}"), did });
        }
        let versions = Versions::of(&case);
        let also = known.as_ref().map_or_else(Vec::new, |(cause, variant)| Also::all_but(variant, cause));
        let context = context! {
            title => title.clone(), expected => expected.clone(), remark,
            quotes => Value::from(Serde(&quotes)), actual => Value::from(Serde(&actual)),
            what => instead(id, &expected, &actual, mismatch),
            cause => known.as_ref().map(|(cause, _)| cause.explanation.clone()),
            fixed => known.as_ref().and_then(|(_, variant)| fixed(variant)),
            also => Value::from(Serde(&AlsoRow::of(&also))),
            model_text => text.as_ref().ok(),
            inexpressible => text.as_ref().err().map(ToString::to_string),
            notes => notes(&job),
            feeds => words::feeds(&job),
            before => (0..job.runs.len().saturating_sub(1)).map(test_data::before).collect::<Vec<_>>(),
            variant => variant.as_ref().zip(variant_job.as_ref()).map(|(variant, job)| context! {
                difference => words::difference(&case, variant), text => model_text(job).ok(),
            }),
            runtime => outside::public_name(&id.name), version => id.version.clone(),
            rows => Value::from(Serde(seen.rows())),
            extent => extent.as_ref().ok().map(|lines| Value::from(Serde(lines))),
            no_extent => extent.as_ref().err(),
            since => known.as_ref().map(|(_, variant)| since(variant, ledger)).unwrap_or_default(),
            pass => subject.pass.as_deref().map(|pass| which_pass(&id.name, pass)),
            rewritten => rewritten.and_then(|model| model::text::text(&model).ok()),
            commands => reproducer.as_ref().map(|written| written.commands.clone()).unwrap_or_default(),
            builds => reproducer.as_ref().map_or("", |written| written.builds),
            no_reproducer => reproducer.as_ref().err(),
            test => unit_test.as_ref().map(|test| Value::from(Serde(test))),
            has_outputs => demanded(&generated.expectation).is_some(),
            package => outside::package(&id.name),
            platform => format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH),
            opset => versions.opset, ir => versions.ir, own_version => env!("CARGO_PKG_VERSION"),
            operators => words::operators(),
            command => reproduce(&case.to_string()),
        };
        Report {
            name: name.clone(),
            issue: render("issue.md", context),
            title,
            job,
            reproducer: reproducer.unwrap_or_default(),
            unit_test,
            variant: variant_job,
            generated,
            also,
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
        test_data::write(folder, &self.job, demanded(&self.generated.expectation))?;
        if let Some(variant) = &self.variant {
            test_data::write(&folder.join(VARIANT), variant, None)?;
        }
        for also in &self.also {
            let generated = Generated::given(also.case.clone());
            let job = model::job(&also.case, &generated.tensors);
            test_data::write(&folder.join(&also.folder), &job, demanded(&generated.expectation))?;
        }
        for (index, output) in self.reproducer.acceptable.iter().enumerate() {
            let proto = tensor_proto::write("output", output, Encoding::Raw);
            write_whole(&folder.join(acceptable_file(index)), &proto.encode_to_vec())?;
        }
        for (path, text) in &self.reproducer.files {
            write_whole(&folder.join(path), text.as_bytes())?;
        }
        if let Some(UnitTest { file, head, text, .. }) = &self.unit_test {
            write_whole(&folder.join(file), format!("{head}{text}").as_bytes())?;
        }
        write_whole(&folder.join(ISSUE), self.issue.as_bytes())
    }
}

/// The expected outputs in the test data; `None` unless the specification has one answer.
fn demanded(expectation: &Expectation) -> Option<&[Tensor]> {
    match expectation {
        Expectation::Defined(outputs) => Some(outputs),
        _ => None,
    }
}

/// Other models of the same operators that show the same cause in the same way: a row of a table.
#[derive(Debug, Serialize)]
struct AlsoRow {
    folders: String,
    operators: String,
    opsets: String,
    does: String,
}

impl AlsoRow {
    fn of(also: &[Also]) -> Vec<AlsoRow> {
        let mut groups: Vec<Vec<&Also>> = vec![];
        for each in also {
            match groups.iter_mut().find(|own| own[0].operators == each.operators && own[0].does == each.does) {
                Some(own) => own.push(each),
                None => groups.push(vec![each]),
            }
        }
        let row = |own: Vec<&Also>| {
            let mut opsets: Vec<u8> = own.iter().map(|each| each.opset).collect();
            opsets.sort_unstable();
            opsets.dedup();
            AlsoRow {
                folders: own.iter().map(|each| format!("`{}`", each.folder)).collect::<Vec<_>>().join(", "),
                operators: own[0].operators.clone(),
                opsets: opsets.iter().map(u8::to_string).collect::<Vec<_>>().join(", "),
                does: own[0].does.clone(),
            }
        };
        groups.into_iter().map(row).collect()
    }
}

/// Another model that shows the same cause.
#[derive(Clone, Debug)]
struct Also {
    /// The folder of the model in that of the report.
    folder: String,
    operators: String,
    opset: u8,
    does: String,
    case: Case,
}

impl Also {
    /// All variants of a cause, except the one that is reported.
    fn all_but(reported: &Variant, cause: &Cause) -> Vec<Also> {
        let others = cause.variants.iter().filter(|variant| variant.id != reported.id);
        let also = |(number, variant): (usize, &Variant)| {
            let shown = variant.case();
            let operators: Vec<&str> = shown.nodes.iter().map(|node| node.operator.name).collect();
            Also {
                folder: format!("also/{number}"),
                operators: operators.join(", "),
                opset: shown.opset,
                does: words::does(&variant.signature.discrepancies),
                case: shown,
            }
        };
        (1..).zip(others).map(also).collect()
    }
}

/// The result of a runtime at fault, and its setup.
#[derive(Clone, Debug, Serialize)]
struct Actual {
    setup: String,
    did: String,
}

/// What people should know about the text of a model.
fn notes(job: &Job) -> Vec<&'static str> {
    let proto = job.model.decode().unwrap_or_default();
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

/// The first release with an issue, and the releases that were searched for it: those that the ledger names.
fn since(known: &Variant, ledger: &Ledger) -> String {
    let of_runtime =
        ledger.known().map(|other| other.variant).filter(|other| other.runtime_name() == known.runtime_name());
    let mut releases: Vec<&str> =
        of_runtime.chain([known]).flat_map(|other| [&*other.first_version, &*other.last_version]).collect();
    releases.sort_by_key(|version| by_number(version));
    releases.dedup();
    let (name, first, last) = (outside::public_name(known.runtime_name()), &known.first_version, &known.last_version);
    if releases.len() == 1 {
        return format!("**First bad release:** {name} {first}; no other was tried.");
    }
    let until = if first == last { String::new() } else { format!("; {last} has it too") };
    let of = if releases[0] == first { "the oldest that was tried" } else { "of those that were tried" };
    format!("**First bad release:** {name} {first}, {of} ({}){until}.", releases.join(", "))
}

/// The stage of optimization from which on an issue shows, and the passes without which it does not show, if they are known.
fn which_pass(runtime: &str, pass: &str) -> String {
    if is_first_stage(runtime, pass) {
        return format!("**Which pass:** none; it shows before anything is optimized, in the stage `{pass}`.");
    }
    let (stage, passes) = pass.split_once(": ").map_or((pass, None), |(stage, passes)| (stage, Some(passes)));
    let without = match passes.map(|passes| passes.replace(", ", "` or `")) {
        Some(passes) => format!("; it is gone where the pass `{passes}` is turned off"),
        None => String::new(),
    };
    format!("**Which pass:** it shows from the stage of optimization `{stage}` on{without}.")
}

/// A sentence for an issue that is gone in the release under test.
fn fixed(known: &Variant) -> Option<String> {
    let usual = known.usual_version();
    let is_old = by_number(&known.last_version) < by_number(usual);
    is_old.then(|| {
        format!(
            "**{} {usual} no longer does this**; {} is the last release that was seen to.",
            outside::public_name(known.runtime_name()),
            known.last_version
        )
    })
}

/// A sentence with the expected result of the model and the actual one.
fn instead(id: &RuntimeId, expected: &str, actual: &[Actual], mismatch: &Mismatch) -> String {
    let (name, version, first) = (outside::public_name(&id.name), &id.version, &actual[0]);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::REFERENCE_VERSION;

    #[test]
    fn the_releases_that_were_searched_are_named() {
        let ledger = Ledger::load().unwrap();
        let of = |runtime: &str| ledger.known().find(|known| known.variant.runtime_name() == runtime).unwrap().variant;
        let reference = since(of("onnx-reference"), &ledger);
        let said = format!("**First bad release:** onnx.reference {REFERENCE_VERSION}; no other was tried.");
        assert_eq!(reference, said);
        let of_tract = |first: &str, last: &str| {
            let versions =
                Variant { first_version: first.to_owned(), last_version: last.to_owned(), ..of("tract").clone() };
            since(&versions, &ledger)
        };
        let said = [
            (
                of_tract("0.23.4", "0.23.9"),
                "0.23.4, of those that were tried (0.22.1, 0.23.4, 0.23.9); 0.23.9 has it too.",
            ),
            (
                of_tract("0.22.1", "0.23.9"),
                "0.22.1, the oldest that was tried (0.22.1, 0.23.4, 0.23.9); 0.23.9 has it too.",
            ),
            (of_tract("0.23.9", "0.23.9"), "0.23.9, of those that were tried (0.22.1, 0.23.4, 0.23.9)."),
        ];
        for (given, wanted) in said {
            assert_eq!(given, format!("**First bad release:** tract {wanted}"));
        }
    }
}
