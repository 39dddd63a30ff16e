//! What the fuzz targets call: a case from bytes, its mutation, its execution, and what to do about a finding.
//!
//! libFuzzer works on one thread of one process, and so does this module. The runtimes are opened once, in this process.

mod choice;
mod guidance;
mod input;
mod sampling;
mod settings;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process;
use std::rc::Rc;
use std::slice;
use std::time::{Duration, Instant};

pub use input::{Input, cross_over, mutate};
pub use settings::{SETTINGS, Settings, SettingsError};

use crate::campaign::{Examination, Fault, Quarantine, Scheduler, Scope, examine_some};
use crate::case::{Case, Features, Generated, Node, Operand};
use crate::files::{quoted, reproduce};
use crate::finding::{Finding, Ledger, Probe, Report, Signature, Sorted, Sorter};
use crate::model::Job;
use crate::operator::{Expectation, OPERATORS};
use crate::runtime::{self, Execution, Row, Runtime, RuntimeId};
use crate::verdict::Discrepancy;
use choice::{Choice, Chosen};
use guidance::{Observation, Reactions};
use sampling::Sampling;

/// A running fuzz target.
struct Fuzzer {
    /// The name of the target, such as `reshape`. `any` takes every operator, and `graph` takes cases of several nodes.
    target: &'static str,
    settings: Settings,
    runtimes: Vec<Box<dyn Runtime>>,
    ids: Vec<RuntimeId>,
    choice: Choice,
    scheduler: Scheduler<'static>,
    probe: Probe,
    sorter: Sorter,
    sampling: Sampling,
    /// Known defects that end a process or take all of its time. There is no other process for such a case, so it is not run.
    costly: Quarantine,
    /// The findings to look for; `None` for all.
    wanted: Option<BTreeSet<Signature>>,
    log: Option<Log>,
    in_runtimes: Rc<Cell<Duration>>,
}

thread_local! {
    static FUZZER: RefCell<Option<Fuzzer>> = const { RefCell::new(None) };
}

/// Whether this program and the runtimes that are linked into it are built with debug assertions, as `cargo fuzz` does
/// without `-O`. Then a panic may come from an assertion that a released runtime does not have, so a panic is no finding.
const ASSERTING: bool = cfg!(debug_assertions);

/// Opens the runtimes for a target. An error is printed, and ends the process with status 2.
pub fn start(target: &'static str) {
    // SAFETY: libFuzzer calls this before it starts a thread.
    unsafe { runtime::prepare_environment() };
    match Fuzzer::new(target) {
        Ok(fuzzer) => {
            if ASSERTING {
                eprintln!("Built with debug assertions: panics are not reported. `cargo fuzz run -O` reports them.");
            }
            FUZZER.with(|cell| *cell.borrow_mut() = Some(fuzzer));
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            process::exit(2);
        }
    }
}

/// Runs a case. Returns `false` if the target does not take the case, so that the corpus need not keep it.
///
/// A new finding is printed and ends the process, so that libFuzzer keeps the input. If the settings say to go on, the
/// finding is saved instead.
///
/// # Panics
/// If [`start`] was not called before.
pub fn run(input: &Input) -> bool {
    FUZZER.with(|cell| {
        let mut fuzzer = cell.borrow_mut();
        let fuzzer = fuzzer.as_mut().expect("a target starts first");
        fuzzer.run(input)
    })
}

impl Fuzzer {
    fn new(target: &'static str) -> anyhow::Result<Fuzzer> {
        let settings = Settings::from_environment()?;
        let rows = runtime::select(settings.runtimes.as_deref())?;
        let mut probe = Probe::new(open(&rows)?);
        let in_runtimes = Rc::new(Cell::new(Duration::ZERO));
        let runtimes: Vec<Box<dyn Runtime>> = open(&rows)?
            .into_iter()
            .map(|runtime| Box::new(Timed { runtime, total: Rc::clone(&in_runtimes) }) as Box<dyn Runtime>)
            .collect();
        let known = Ledger::load()?.triggers(&mut probe).concat();
        let costly = Quarantine::new(runtimes.len(), &known);
        let sorter = Sorter::new(if settings.ignore_known { vec![] } else { known });
        let wanted = under_minimization(env::args()).map(|case| signatures(&case, &mut sorter.clone(), &mut probe));
        let log = settings.log.as_deref().map(Log::open).transpose()?;
        let ids = runtime::ids(&runtimes);
        // While libFuzzer minimizes an input, the finding must show on whichever configuration it did.
        let choice = if wanted.is_some() { Choice::all() } else { Choice::new(&ids) };
        let scheduler = Scheduler::new(1, &[], &[]);
        Ok(Fuzzer {
            target,
            settings,
            runtimes,
            ids,
            choice,
            scheduler,
            probe,
            sorter,
            sampling: Sampling::default(),
            costly,
            wanted,
            log,
            in_runtimes,
        })
    }

    fn run(&mut self, input: &Input) -> bool {
        let case = input.case();
        if !takes(self.target, case) || may_ask_for_a_vast_rank(case) || self.costly.has(&self.ids, case) {
            return false;
        }
        let generated = Generated::given(case.clone());
        if generated.expectation.is_beyond_judging() {
            return false;
        }
        let mut examination = self.examine(&generated, &self.choice.of(&generated));
        // Which of several disagreements counts, and what explains it, is decided by all of them.
        let has_room = matches!(generated.expectation, Expectation::Unspecified { .. });
        if has_room && self.faults(&generated, &examination).iter().any(|fault| !self.is_known(&generated, fault)) {
            examination = self.examine(&generated, &Chosen::All);
        }
        let observation = Observation::of(&generated, &examination, &self.ids);
        if self.settings.guidance {
            observation.show();
        }
        if let Some(log) = &mut self.log {
            log.count(&observation, self.in_runtimes.get());
        }
        for finding in self.new_findings(&generated, &examination) {
            if self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&finding.signature())) {
                self.report(&finding);
            }
        }
        true
    }

    fn examine(&mut self, generated: &Generated, chosen: &Chosen) -> Examination {
        let rows = |_, row| chosen.has_row(row);
        let variants = |_, number, of| chosen.has_variant(number, of);
        let (cases, wanted) = (slice::from_ref(generated), Scope { rows: &rows, variants: &variants });
        let examined = examine_some(cases, &mut self.runtimes, &self.ids, &mut self.scheduler, wanted);
        examined.unwrap_or_default().remove(0)
    }

    /// The faults of all runtimes, without those that do not count.
    fn faults(&self, generated: &Generated, examination: &Examination) -> Vec<Fault> {
        let all = (0..self.ids.len()).flat_map(|index| examination.faults(generated, &self.ids, index));
        all.filter(|fault| !(ASSERTING && fault.mismatch.discrepancies.contains(&Discrepancy::Panic))).collect()
    }

    /// Whether a fault is explained without minimizing its case.
    fn is_known(&self, generated: &Generated, Fault { mismatch, node }: &Fault) -> bool {
        self.sorter.explains(mismatch, &Features::of(node.as_ref().unwrap_or(&generated.case)))
    }

    fn new_findings(&mut self, generated: &Generated, examination: &Examination) -> Vec<Finding> {
        let mut found = Vec::new();
        for fault in self.faults(generated, examination) {
            if self.is_known(generated, &fault) || !self.sampling.takes(&fault.mismatch) {
                continue;
            }
            let Fault { mismatch, node } = fault;
            let case = node.as_ref().unwrap_or(&generated.case);
            let sorted = self.sorter.sort(case, &mismatch, &Features::of(case), &mut self.probe);
            self.sampling.note(&mismatch, matches!(sorted, Sorted::New(_)));
            if let Sorted::New(finding) = sorted {
                found.push(*finding);
            }
        }
        found
    }

    /// Saves the finding, or else prints it with the commands to go on and ends the process.
    fn report(&mut self, finding: &Finding) {
        if let Some(log) = &mut self.log {
            log.found(finding);
        }
        let text = describe(finding, &mut self.runtimes);
        let saved = self.settings.save_to.as_ref().map(|folder| finding.save(folder, &mut self.runtimes));
        match saved {
            Some(Ok(path)) => eprintln!("Saved {}", path.display()),
            // A finding that cannot be saved must not be lost.
            Some(Err(error)) => {
                eprintln!("{text}\nerror: {error}");
                process::abort();
            }
            None => {
                eprintln!("{text}");
                process::abort();
            }
        }
    }
}

/// The case that libFuzzer is minimizing in this process, according to its arguments. libFuzzer accepts any crash, so it
/// would slide from one finding into another.
fn under_minimization(arguments: impl Iterator<Item = String>) -> Option<Case> {
    let (flags, files): (Vec<String>, Vec<String>) = arguments.skip(1).partition(|argument| argument.starts_with('-'));
    let is_step = flags.iter().any(|flag| flag == "-minimize_crash_internal_step=1");
    let file = files.first().filter(|_| is_step)?;
    input::read(&fs::read(file).ok()?)
}

/// The signatures of the new findings that a case shows.
fn signatures(case: &Case, sorter: &mut Sorter, probe: &mut Probe) -> BTreeSet<Signature> {
    let mismatches = probe.mismatches(case);
    let each = mismatches.iter().map(|(mismatch, shown)| sorter.sort(shown, mismatch, &Features::of(shown), probe));
    let new = each.filter_map(|sorted| match sorted {
        Sorted::New(finding) => Some(finding.signature()),
        Sorted::Known(_) => None,
    });
    new.collect()
}

/// Describes a finding: its mismatch, its minimized case on every runtime, and the commands that reproduce and save it.
fn describe(finding: &Finding, runtimes: &mut [Box<dyn Runtime>]) -> String {
    let mut text = Vec::new();
    let case = finding.case.to_string();
    let (run, save) = (reproduce(&case), format!("crosscheck save {}", quoted(&case)));
    let report = Report::new(&finding.case, runtimes, &Ledger::default());
    let written = writeln!(text, "\nNew finding: {}\n", finding.trigger.mismatch)
        .and_then(|()| report.write(&mut text, true))
        .and_then(|()| writeln!(text, "\n{}signature: {}\n", finding.extent, finding.signature()))
        .and_then(|()| writeln!(text, "Minimized in {} executions. Reproduce it with", finding.executions))
        .and_then(|()| writeln!(text, "    {run}\nand save it with\n    {save}"));
    written.expect("memory can be written to");
    String::from_utf8_lossy(&text).into_owned()
}

/// Whether a case belongs to the target.
fn takes(target: &str, case: &Case) -> bool {
    if target == GRAPH {
        return case.nodes.len() > 1;
    }
    target == ANY || case.nodes.iter().all(|node| node.operator.name.eq_ignore_ascii_case(target))
}

/// Whether a node takes a computed parameter that may have a vast number of entries, because another parameter asks for as
/// many elements. onnxruntime infers a dim for each entry while it loads the model, before it sees that there are fewer, and
/// so takes gigabytes. In a campaign it does so in a process of its own.
fn may_ask_for_a_vast_rank(case: &Case) -> bool {
    let takes_computed = |(place, node): (usize, &Node)| {
        (0..node.inputs.len()).any(|input| case.is_parameter(place, input) && node.is_computed(input))
    };
    let elements = |entries: Vec<i64>| {
        let sizes = entries.into_iter().map(i64::unsigned_abs).filter(|&size| size > 1);
        sizes.fold(1, u64::saturating_mul)
    };
    case.nodes.iter().enumerate().any(takes_computed)
        && case.sources.iter().filter_map(Operand::int64s).map(elements).any(|elements| elements > MOST_DIMS)
}

/// A shape of this many dims is inferred in no time.
const MOST_DIMS: u64 = 1 << 16;

/// The target of every operator.
const ANY: &str = "any";

/// The target of cases of two nodes or more.
const GRAPH: &str = "graph";

/// Every target: the operators, all of them together, and graphs.
pub fn targets() -> Vec<String> {
    let operators = OPERATORS.iter().map(|operator| operator.name.to_lowercase());
    operators.chain([ANY, GRAPH].map(str::to_owned)).collect()
}

/// Opens runtimes, and the one with a planted fault if `CROSSCHECK_PLANTED` names one.
fn open(rows: &[Row]) -> anyhow::Result<Vec<Box<dyn Runtime>>> {
    #[cfg_attr(not(feature = "planted"), expect(unused_mut, reason = "only a planted fault is added"))]
    let mut runtimes = runtime::open(rows)?;
    #[cfg(feature = "planted")]
    if let Ok(name) = std::env::var("CROSSCHECK_PLANTED") {
        runtimes.push(runtime::planted::named(&name)?);
    }
    Ok(runtimes)
}

/// A runtime with the total time of its executions.
struct Timed {
    runtime: Box<dyn Runtime>,
    total: Rc<Cell<Duration>>,
}

impl Runtime for Timed {
    fn id(&self) -> &RuntimeId {
        self.runtime.id()
    }

    fn execute(&mut self, job: &Job, done: &mut dyn FnMut(Execution)) {
        let started = Instant::now();
        self.runtime.execute(job, done);
        self.total.set(self.total.get() + started.elapsed());
    }
}

/// A file that logs the progress of a run: a line every few seconds, and one for each finding.
struct Log {
    file: File,
    started: Instant,
    shown: Instant,
    cases: u64,
    seen: Reactions,
}

impl Log {
    const EVERY: Duration = Duration::from_secs(2);

    fn open(path: &Path) -> Result<Log, SettingsError> {
        let file = File::options().create(true).append(true).open(path);
        let file = file.map_err(|error| SettingsError::Log { path: path.to_owned(), error })?;
        let now = Instant::now();
        Ok(Log { file, started: now, shown: now, cases: 0, seen: Reactions::default() })
    }

    fn count(&mut self, observation: &Observation, in_runtimes: Duration) {
        self.cases += 1;
        self.seen.add(observation);
        if self.shown.elapsed() >= Self::EVERY {
            self.shown = Instant::now();
            self.line(&format!(
                "{:.1} s in runtimes, {} outcome vectors, {} cells",
                in_runtimes.as_secs_f64(),
                self.seen.outcomes.len(),
                self.seen.cells.len()
            ));
        }
    }

    fn found(&mut self, finding: &Finding) {
        self.line(&format!("finding {}", finding.signature()));
    }

    fn line(&mut self, what: &str) {
        let line = format!("{:.2} s, {} cases: {what}\n", self.started.elapsed().as_secs_f64(), self.cases);
        // A log that cannot be written does not stop the run, but the error is reported.
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            let _ = writeln!(io::stderr(), "the log cannot be written: {error}");
        }
    }
}

#[cfg(test)]
mod tests;
