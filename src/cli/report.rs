//! `crosscheck report`: findings as their upstream maintainers receive them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::Context;

use super::{Ending, RuntimeArguments, pass, read_case};
use crate::campaign::Trigger;
use crate::case::{Case, Features};
use crate::files::write_whole;
use crate::finding::upstream::{OVERVIEW, Report, Subject, overview, priority};
use crate::finding::{self, Cause, Known, Ledger, Probe, Sorted, Sorter, pass_of};
use crate::model::Job;
use crate::runtime::table::State;
use crate::runtime::{Row, RuntimeId, select};

/// Write a finding as its upstream maintainers receive it: an issue, the model with its test data, and a program that shows it
///
/// A report does not need this project: its program uses the package of the runtime and exits with 1 while the runtime is wrong,
/// and with 0 once it is right.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  crosscheck report onnxruntime-zero-and-inferred --to onnxruntime\n  \
                        crosscheck report 'Flatten@13 axis=2 float[1]' --to tract\n  crosscheck report --to tract")]
pub(super) struct Arguments {
    /// The name of a known issue or of a variant of one, a case, or a file that holds a case, such as a saved regression
    /// [default: every known issue of the runtime that is not fixed]
    #[arg(value_name = "FINDING")]
    finding: Option<String>,
    /// The runtime to report to, such as `onnxruntime` or `tract@0.23.4`; if it is missing or shows nothing wrong, the error
    /// names the runtimes that do
    #[arg(long, value_name = "RUNTIME")]
    to: Option<String>,
    /// The folder for the reports; each has a folder of its own in it
    #[arg(long, value_name = "DIR", default_value = "reports")]
    output: PathBuf,
    /// Report the case as it is, without minimizing it
    #[arg(long)]
    no_minimize: bool,
    #[command(flatten)]
    runtimes: RuntimeArguments,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let ledger = Ledger::load()?;
    let at_fault = match arguments.at_fault() {
        Ok(rows) => rows,
        Err(error) => anyhow::bail!("{error:#}; {}", advice(&arguments.shown_by(&ledger)?)),
    };
    let id = &at_fault[0].id;
    let known: Vec<Known> = match &arguments.finding {
        None => {
            let is_open = |cause: &&Cause| cause.is_defect() && !matches!(cause.state, finding::State::FixedIn(_));
            let own = ledger.causes.iter().filter(|cause| cause.runtime_name() == id.name).filter(is_open);
            own.filter_map(|cause| to_report(cause, id)).collect()
        }
        Some(name) => named(&ledger, name, id).into_iter().collect(),
    };
    if let Some(foreign) = known.iter().find(|known| known.cause.runtime_name() != id.name) {
        anyhow::bail!("{} is an issue of {}: say --to {1}", foreign.cause.id, foreign.cause.runtime_name());
    }
    if let (Some(_), Some(known)) = (&arguments.finding, known.iter().find(|known| !known.cause.is_defect())) {
        anyhow::bail!("{} is by design: there is nothing to report", known.cause.id);
    }
    if known.is_empty() {
        let Some(finding) = &arguments.finding else {
            anyhow::bail!(
                "no issue of {} is known: name a case, or {}",
                id.name,
                advice(&arguments.shown_by(&ledger)?)
            );
        };
        return report_case(&read_case(finding)?, &at_fault, &ledger, arguments);
    }
    // A fixed issue is reported on the last release that has it.
    let mut releases: BTreeMap<String, (Vec<Row>, Vec<Known>)> = BTreeMap::new();
    for known in known {
        let rows = if known.variant.may_show_on(id) {
            at_fault.clone()
        } else {
            select(Some(&format!("{}@{}", id.name, known.variant.last_version)))?
        };
        releases.entry(rows[0].id.release()).or_insert((rows, vec![])).1.push(known);
    }
    let mut written = vec![];
    for (rows, mut known) in releases.into_values() {
        let mut probe = arguments.probe(&rows)?;
        known.sort_by_key(|known| priority(known.variant.mismatch().severity()));
        for known in known {
            match Subject::of_known(known, &ids(&rows), &mut probe) {
                Ok(subject) => {
                    let title = arguments.write(&subject, &ledger, &mut probe)?;
                    written.push((subject.mismatch.severity(), subject.name, title));
                }
                Err(error) if arguments.finding.is_none() => eprintln!("{error}"),
                Err(error) => return Err(error.into()),
            }
        }
    }
    if arguments.finding.is_none() {
        let path = arguments.output.join(OVERVIEW);
        fs::create_dir_all(&arguments.output).with_context(|| arguments.output.display().to_string())?;
        write_whole(&path, overview(&id.name, &written).as_bytes()).with_context(|| path.display().to_string())?;
        println!("{}", path.display());
    }
    Ok(Ending::NothingWrong)
}

/// The variant that represents a cause in a report on a release: the first that may show on it, or else the first of all.
fn to_report<'a>(cause: &'a Cause, id: &RuntimeId) -> Option<Known<'a>> {
    cause.known().find(|known| known.variant.may_show_on(id)).or_else(|| cause.known().next())
}

/// The known issue or the variant with this name.
fn named<'a>(ledger: &'a Ledger, name: &str, id: &RuntimeId) -> Option<Known<'a>> {
    let cause = ledger.causes.iter().find(|cause| cause.id == name);
    cause.map_or_else(|| ledger.known().find(|known| known.variant.id == name), |cause| to_report(cause, id))
}

/// Reports the mismatches of a case on a runtime: known issues as such, others minimized unless `--no-minimize` is given.
fn report_case(case: &Case, at_fault: &[Row], ledger: &Ledger, arguments: &Arguments) -> anyhow::Result<Ending> {
    let release = at_fault[0].id.release();
    let mut probe = arguments.probe(at_fault)?;
    let mut mismatches = probe.mismatches(case);
    let shown_by = mismatches.iter().map(|(mismatch, _)| mismatch.runtime.clone()).collect();
    mismatches.retain(|(mismatch, _)| mismatch.runtime == release);
    anyhow::ensure!(!mismatches.is_empty(), "{case} shows nothing wrong with {release}; {}", advice(&shown_by));
    let (owners, triggers) = ledger.owned_triggers(&mut probe);
    let mut sorter = Sorter::new(triggers.clone());
    for (mismatch, shown) in mismatches {
        let features = Features::of(&shown);
        let subject = if arguments.no_minimize {
            let place = triggers.iter().position(|known| known.explains(&mismatch, &features));
            let known = place.map(|place| (owners[place].cause.clone(), owners[place].variant.clone()));
            let trigger = Trigger::new(mismatch, features);
            Subject {
                name: finding::name(&trigger),
                known,
                case: shown,
                mismatch: trigger.mismatch,
                pass: None,
                ids: ids(at_fault),
            }
        } else {
            match sorter.sort(&shown, &mismatch, &features, &mut probe) {
                Sorted::New(found) => {
                    let pass = pass_of(&found, at_fault, &|rows| arguments.runtimes.open(rows))?;
                    let (name, mismatch) = (found.name(), found.trigger.mismatch);
                    Subject { name, known: None, case: found.case, mismatch, pass, ids: ids(at_fault) }
                }
                Sorted::Known(place) => match owners.get(place) {
                    Some(&known) => Subject::of_known(known, &ids(at_fault), &mut probe)?,
                    // This finding was reported a moment ago.
                    None => continue,
                },
            }
        };
        arguments.write(&subject, ledger, &mut probe)?;
    }
    Ok(Ending::NothingWrong)
}

/// The end of an error message: the runtimes that `--to` may name.
fn advice(shown_by: &BTreeSet<String>) -> String {
    if shown_by.is_empty() {
        return "no runtime that takes part shows anything wrong, so there is nothing to report".to_owned();
    }
    format!("say {}", shown_by.iter().map(|name| format!("--to {name}")).collect::<Vec<_>>().join(" or "))
}

fn ids(rows: &[Row]) -> Vec<RuntimeId> {
    rows.iter().map(|row| row.id.clone()).collect()
}

impl Arguments {
    /// The rows of the runtime to report to.
    fn at_fault(&self) -> anyhow::Result<Vec<Row>> {
        let to = self.to.as_deref().context("--to is missing: the runtime that it is reported to")?;
        anyhow::ensure!(!to.contains('/'), "--to names a runtime without a configuration");
        let rows = select(Some(to))?;
        anyhow::ensure!(rows.iter().all(|row| row.id.is_release_of(&rows[0].id)), "--to names one runtime");
        Ok(rows)
    }

    /// The runtimes on which the finding shows: according to the ledger, or to a run of the case.
    fn shown_by(&self, ledger: &Ledger) -> anyhow::Result<BTreeSet<String>> {
        let is_it = |cause: &&Cause| {
            let has_id = |id: &String| cause.id == *id || cause.variants.iter().any(|variant| variant.id == *id);
            self.finding.as_ref().is_none_or(has_id)
        };
        let known = ledger.causes.iter().filter(is_it);
        let names: BTreeSet<String> = known.map(|cause| cause.runtime_name().to_owned()).collect();
        match &self.finding {
            Some(finding) if names.is_empty() => {
                let mismatches = self.probe(&[])?.mismatches(&read_case(finding)?);
                Ok(mismatches.into_iter().map(|(mismatch, _)| mismatch.runtime).collect())
            }
            _ => Ok(names),
        }
    }

    /// A probe of the runtimes that take part, and of the release at fault if that is available.
    fn probe(&self, at_fault: &[Row]) -> anyhow::Result<Probe> {
        let mut rows = self.runtimes.select()?;
        for row in at_fault.iter().filter(|row| !matches!(row.state(), State::NotAvailable(_))) {
            if !rows.contains(row) {
                rows.push(row.clone());
            }
        }
        Ok(Probe::new(self.runtimes.open(&rows)?))
    }

    /// Writes a report, and returns its title.
    fn write(&self, subject: &Subject, ledger: &Ledger, probe: &mut Probe) -> anyhow::Result<String> {
        let at_fault = select(Some(&subject.ids[0].release()))?;
        let rewritten =
            |job: &Job, stage: &str| pass::rewritten(job, stage, at_fault.first()?, &|rows| self.runtimes.open(rows));
        let report = Report::new(subject, ledger, probe, &rewritten);
        let folder = self.output.join(&report.name);
        report.write(&folder)?;
        println!("{}\n   {}", folder.display(), report.title);
        Ok(report.title)
    }
}
