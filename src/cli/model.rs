//! `crosscheck model`: runs a user's own model on every runtime, and finds the nodes that make the difference.

mod text;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use bytesize::ByteSize;

use super::progress::Progress;
use super::{Ending, memory_limit, stop_on_signals, time_limit};
use crate::finding::{Culprit, culprit};
use crate::model::test_data;
use crate::network::{
    Agreement, BOUNDS, Doubt, Found, Graph, Input, Located, MOST_SIZES, Network, Search, Sign, Sizes, Spread, compare,
    depths, feeds, job, read_feeds, sizes_to_try, spread, tolerated,
};
use crate::runtime::table::{State, reference};
use crate::runtime::{
    self, Execution, Gap, Limits, Outcome, Row, Runtime, RuntimeId, execute_once, executions, select,
};
use crate::tensor::Tensor;

/// Run a model of your own on every runtime, say who differs, and which node makes the difference
///
/// The model is any ONNX file. Its inputs are drawn from a seed by type and dims, for several sizes of each symbolic dim, or read
/// from files. Outputs are compared with each other, with a tolerance for each floating-point type; if all operators of the model
/// are implemented in-house, they are compared with the specification, bit for bit. If a runtime goes wrong, the values between
/// nodes are compared, and the model is cut down to the fewest nodes that show the difference. These nodes are written to a
/// folder, as a model with its test data.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  crosscheck model resnet.onnx\n  \
                        crosscheck model bert.onnx --dim batch=1,4 --dim sequence=7 --feed inputs.npz --runtimes onnxruntime,tract")]
pub(super) struct Arguments {
    /// The model
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Values of inputs: an .npz file, or a folder or file of .npy or .pb; the other inputs are drawn
    #[arg(long, value_name = "PATH")]
    feed: Option<PathBuf>,
    /// Sizes of a symbolic dim, tried one after the other; a dim without a name is INPUT.AXIS; may be given again
    #[arg(long, value_name = "SYMBOL=SIZE,…", value_parser = dim)]
    dim: Vec<(String, Vec<i64>)>,
    /// The seed of the inputs that are drawn
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Tolerance between outputs, relative to the largest number of a tensor [default: 1e-5 for float, more for a deep model]
    #[arg(long, value_name = "NUMBER", value_parser = super::replay::tolerance)]
    rtol: Option<f64>,
    /// Only compare the runtimes: do not search for the node
    #[arg(long)]
    no_locate: bool,
    /// The folder for the nodes that are found
    #[arg(long, value_name = "DIR", default_value = "crosscheck-model")]
    output: PathBuf,
    /// Runtimes to use, such as `onnxruntime,tract/optimized` [default: all, at each stage of their optimization]
    #[arg(long, value_name = "LIST")]
    runtimes: Option<String>,
    /// Time limit of a runtime to load the model, or to run it once; it is longer for a large model or on a busy machine
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = time_limit)]
    time_limit: Duration,
    /// Memory limit of the process of a runtime [default: 4GiB, and eight times the size of the model]
    #[arg(long, value_name = "BYTES", value_parser = memory_limit)]
    memory_limit: Option<ByteSize>,
}

fn dim(text: &str) -> Result<(String, Vec<i64>), String> {
    let read = || {
        let (symbol, sizes) = text.rsplit_once('=')?;
        let sizes: Option<Vec<i64>> =
            sizes.split(',').map(|size| size.parse().ok().filter(|size| *size >= 0)).collect();
        Some((symbol.to_owned(), sizes?))
    };
    read().ok_or_else(|| "expected a symbol and its sizes, such as batch=1,4".to_owned())
}

/// How often a model is run before it is loaded again and run once more: this shows a runtime that differs from itself.
const RUNS: usize = 3;

/// The size in bytes from which a model is large: if the processes of all runtimes hold such a model, memory could run out.
const LARGE: u64 = 256 << 20;

/// The result of one runtime on a model with one set of inputs.
struct ModelResult {
    /// The first execution with an answer, or else the first failure.
    execution: Execution,
    /// The first execution without an answer, if another one gave an answer.
    failure: Option<Execution>,
    /// How far apart its answers are.
    spread: Spread,
    /// The time to load the model and to run it once; `None` if that gave no answer.
    time: Option<Duration>,
    /// The most memory that its process has taken so far, in bytes.
    memory: Option<u64>,
}

impl ModelResult {
    /// Whether all runs gave close answers, or none gave an answer.
    fn is_steady(&self) -> bool {
        self.failure.is_none() && self.spread.is_close
    }

    /// The message of a run without an answer; empty if there is none.
    fn message(&self) -> &str {
        &self.failure.as_ref().unwrap_or(&self.execution).message
    }
}

/// The results of all runtimes on a model with one set of inputs.
struct Trial {
    sizes: Sizes,
    feeds: Feeds,
    seen: Vec<ModelResult>,
    agreement: Agreement,
    doubts: Vec<Doubt>,
}

/// The inputs of a model: a tensor for each graph input, by its name.
type Feeds = Vec<(Arc<str>, Tensor)>;

/// The runtimes that take part.
struct Runtimes {
    rows: Vec<Row>,
    limits: Limits,
    ids: Vec<RuntimeId>,
    open: Vec<Box<dyn Runtime>>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let mut network = Network::open(&arguments.file)?;
    let inputs = network.inputs()?;
    let given = arguments.feed.as_ref().map_or(Ok(vec![]), |path| read_feeds(path, &inputs))?;
    let memory = 8 * network.size() + (4 << 30);
    let memory = arguments.memory_limit.map_or(memory, |limit| limit.as_u64());
    let limits = Limits::new(arguments.time_limit, memory).until(&stop_on_signals()?);
    let mut runtimes = Runtimes::open(rows(arguments)?, limits)?;
    let mut out = io::stdout().lock();
    text::introduce(&network, &inputs, &mut out)?;

    let progress = Progress::new();
    let began = Instant::now();
    let show = |text: String| progress.show(0, None, Some(began.elapsed()), || text);
    show("looking for sizes and numbers that the model takes".to_owned());
    let chosen = choose(&network, &inputs, &given, arguments, &mut runtimes)?;
    let trials = trials(&network, chosen, &mut runtimes, arguments.rtol, show)?;
    progress.finish();

    text::results(&runtimes.ids, &trials, &mut out)?;
    let worked_on = worked_on(&runtimes.ids, &trials);
    let is_unsteady = text::unsteady(&runtimes.ids, &trials, &mut out)?;
    if worked_on.is_empty() {
        let answered = |seen: &ModelResult| matches!(seen.execution.outcome, Outcome::Answer(_));
        if !trials.iter().flat_map(|trial| &trial.seen).any(answered) {
            let hint = "if that is for what it is fed, give its inputs with --feed, or its dims with --dim";
            anyhow::bail!("no runtime runs this model{}: {hint}", text::own_operators(&network));
        }
        if is_unsteady {
            return Ok(Ending::Finding);
        }
        writeln!(out, "Nothing differs: every runtime that runs the model gives the same, within the tolerance.")?;
        return Ok(Ending::NothingWrong);
    }
    if !arguments.no_locate {
        network.prepare().with_context(|| format!("{}: its weights", arguments.file.display()))?;
    }
    for (number, (trial, doubt)) in worked_on.into_iter().enumerate() {
        text::accuse(&network, &runtimes.ids, trial, doubt, &mut out)?;
        if !arguments.no_locate && !runtimes.limits.stop.is_asked() {
            let folder = arguments.output.join((number + 1).to_string());
            locate(&network, &mut runtimes, trial, doubt, arguments.rtol, &folder, &mut out)?;
        }
        writeln!(out)?;
    }
    Ok(Ending::Finding)
}

/// The doubts to work on: for each release the first differing output and the first missing answer, unless the runtime differs
/// from itself.
fn worked_on<'a>(ids: &[RuntimeId], trials: &'a [Trial]) -> Vec<(&'a Trial, &'a Doubt)> {
    let mut known: Vec<(String, bool)> = Vec::new();
    let doubts = trials.iter().flat_map(|trial| trial.doubts.iter().map(move |doubt| (trial, doubt)));
    let mut first: Vec<(&Trial, &Doubt)> =
        doubts.filter(|(trial, doubt)| trial.seen[doubt.runtime].is_steady()).collect();
    first.retain(|(_, doubt)| {
        let key = (ids[doubt.runtime].release(), doubt.output.is_some());
        let is_new = !known.contains(&key);
        known.push(key);
        is_new
    });
    first
}

/// Searches for the nodes that make the difference, writes them to a folder, and prints what was found.
fn locate(
    network: &Network,
    runtimes: &mut Runtimes,
    trial: &Trial,
    doubt: &Doubt,
    relative: Option<f64>,
    folder: &Path,
    to: &mut impl Write,
) -> anyhow::Result<()> {
    let seen: Vec<&Outcome> = trial.seen.iter().map(|seen| &seen.execution.outcome).collect();
    let relative = tolerated(&runtimes.ids, &seen, relative);
    let graph = Graph::new(network);
    let progress = Progress::new();
    let began = Instant::now();
    let (id, reference) = (runtimes.ids[doubt.runtime].clone(), runtimes.ids[doubt.reference].clone());
    let show = |text: &str| progress.show(0, None, Some(began.elapsed()), || format!("{id}: {text}"));
    let pair = runtimes.open.get_disjoint_mut([doubt.runtime, doubt.reference]);
    let [runtime, reference_runtime] = pair.map_err(|error| anyhow::anyhow!("{id}: {error}"))?;
    let mut search = Search {
        graph: &graph,
        feeds: &trial.feeds,
        runtime: runtime.as_mut(),
        reference: reference_runtime.as_mut(),
        sign: sign(&trial.seen[doubt.runtime].execution),
        relative,
        stop: runtimes.limits.stop.clone(),
        progress: &show,
        runs: 0,
    };
    let located = search.locate();
    let runs = search.runs;
    text::located(&located, &graph, &id, &reference, to)?;
    if let Located::Found(found) = &located {
        show("the other runtimes on these nodes");
        let found_job = job(
            prost::Message::encode_to_vec(&network.self_contained(found.part.model.clone())?).into(),
            &found.part.feeds,
            1,
        );
        let executions: Vec<Execution> =
            runtimes.open.iter_mut().map(|runtime| execute_once(runtime.as_mut(), &found_job)).collect();
        let outcomes: Vec<&Outcome> = executions.iter().map(|execution| &execution.outcome).collect();
        let depths = vec![found.nodes.len(); found.expected.len()];
        let agreement = compare(&runtimes.ids, &outcomes, &depths, relative);
        let doubts = agreement.doubts(&runtimes.ids, &outcomes, &depths, relative);
        text::sides(&runtimes.ids, &outcomes, &agreement, &doubts, doubt, to)?;
        show("the pass of its optimizer");
        let signs = |execution: &Execution| is_sign(found, execution, relative);
        text::pass(&id, pass(&runtimes.rows[doubt.runtime], &runtimes.limits, &found_job, &signs), to)?;
        let right = agreement.groups.first().and_then(|group| match outcomes[group.members[0]] {
            Outcome::Answer(outputs) => Some(outputs.iter().map(|output| output.tensor.clone()).collect::<Vec<_>>()),
            _ => None,
        });
        _ = fs::remove_dir_all(folder);
        test_data::write(folder, &found_job, Some(&right.unwrap_or_else(|| found.expected.clone())))
            .with_context(|| folder.display().to_string())?;
        text::next_steps(folder, &id, to)?;
    }
    progress.finish();
    writeln!(to, "  {runs} models were run for this, in {:.1?}.", began.elapsed())?;
    Ok(())
}

/// Whether an execution of the nodes that were found is wrong in the same way as that of the runtime.
fn is_sign(found: &Found, execution: &Execution, relative: Option<f64>) -> bool {
    match (&found.actual.outcome, &execution.outcome) {
        (Outcome::Answer(_), Outcome::Answer(_)) => {
            let expected = Outcome::Answer(found.expected.iter().cloned().map(runtime::Output::new).collect());
            !spread([&expected, &execution.outcome], &vec![found.nodes.len(); found.expected.len()], relative).is_close
        }
        _ => execution.phrase == found.actual.phrase && !matches!(execution.outcome, Outcome::Answer(_)),
    }
}

/// Searches for the pass that makes a runtime go wrong. `None` if it has no stages or cannot be opened.
fn pass(row: &Row, limits: &Limits, job: &crate::model::Job, is_sign: &dyn Fn(&Execution) -> bool) -> Option<Culprit> {
    let kind = row.kind().ok().filter(|kind| !kind.stages.is_empty())?;
    culprit(kind, |configuration| -> Result<bool, runtime::OpenError> {
        let mut row = row.clone();
        configuration.clone_into(&mut row.id.configuration);
        let mut open = runtime::open_apart(&[row], limits)?;
        Ok(is_sign(&execute_once(open[0].as_mut(), job)))
    })
    .ok()
}

impl Runtimes {
    fn open(rows: Vec<Row>, limits: Limits) -> anyhow::Result<Runtimes> {
        let open = runtime::open_apart(&rows, &limits)?;
        Ok(Runtimes { ids: runtime::ids(&open), rows, limits, open })
    }

    /// The place of the runtime that tries out sizes and inputs: one that optimizes nothing, if there is one.
    fn guide(&self) -> usize {
        let plain = self.ids.iter().position(|id| id.configuration == "disabled");
        plain.or_else(|| self.ids.iter().position(RuntimeId::is_under_test)).unwrap_or(0)
    }

    /// Starts a new process for a runtime that has run a large model. The old one would keep memory that the next runtime needs.
    ///
    /// # Errors
    /// If no process can be started.
    fn free(&mut self, place: usize, network: &Network) -> anyhow::Result<()> {
        if network.size() >= LARGE && !self.limits.stop.is_asked() {
            self.open.splice(place..=place, runtime::open_apart(&self.rows[place..=place], &self.limits)?);
        }
        Ok(())
    }
}

/// Runs the model on every runtime, with each set of inputs.
///
/// # Errors
/// If it is stopped, or no process can be started.
fn trials(
    network: &Network,
    chosen: Vec<(Sizes, Feeds)>,
    runtimes: &mut Runtimes,
    relative: Option<f64>,
    show: impl Fn(String),
) -> anyhow::Result<Vec<Trial>> {
    let depths = depths(&Graph::new(network));
    let mut trials: Vec<Trial> = Vec::new();
    for (sizes, feeds) in chosen {
        let mut seen: Vec<ModelResult> = Vec::new();
        let count = runtimes.ids.len();
        for place in 0..count {
            show(format!("{} ({} of {count}) {sizes}", runtimes.ids[place], place + 1));
            seen.push(look(runtimes.open[place].as_mut(), network, &feeds, &depths, relative));
            runtimes.free(place, network)?;
            anyhow::ensure!(!runtimes.limits.stop.is_asked(), "it was stopped");
        }
        let outcomes: Vec<&Outcome> = seen.iter().map(|seen| &seen.execution.outcome).collect();
        let agreement = compare(&runtimes.ids, &outcomes, &depths, relative);
        let doubts = agreement.doubts(&runtimes.ids, &outcomes, &depths, relative);
        trials.push(Trial { sizes, feeds, seen, agreement, doubts });
    }
    Ok(trials)
}

/// The runtimes that take part. Unless `--runtimes` names them, each also takes part at every stage of its optimization, and the
/// reference evaluator takes part if it is installed.
fn rows(arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let mut rows = select(arguments.runtimes.as_deref())?;
    if arguments.runtimes.is_some() {
        return Ok(rows);
    }
    for row in rows.clone() {
        for stage in row.kind()?.stages {
            let mut staged = row.clone();
            (*stage).clone_into(&mut staged.id.configuration);
            if !rows.contains(&staged) {
                let last = rows.iter().rposition(|other| other.id.is_release_of(&row.id)).unwrap_or(0);
                rows.insert(last, staged);
            }
        }
    }
    rows.extend(reference().filter(|row| row.state() == State::Ready));
    Ok(rows)
}

/// Chooses sizes and inputs: the first sizes with which the guide runs the model, each with the first integers that it accepts;
/// and the first such sizes of which one is 0.
fn choose(
    network: &Network,
    inputs: &[Input],
    given: &Feeds,
    arguments: &Arguments,
    runtimes: &mut Runtimes,
) -> anyhow::Result<Vec<(Sizes, Feeds)>> {
    let most = arguments.dim.iter().map(|(_, sizes)| sizes.len()).max().unwrap_or(MOST_SIZES);
    let mut chosen: Vec<(Sizes, Feeds)> = Vec::new();
    let mut with_nothing: Option<(Sizes, Feeds)> = None;
    let mut first: Option<(Sizes, Feeds)> = None;
    let guide = runtimes.guide();
    for sizes in sizes_to_try(inputs, &arguments.dim, given)? {
        let has_nothing = sizes.0.values().any(|&size| size == 0) && !given_sizes(arguments, &sizes);
        if if has_nothing { with_nothing.is_some() } else { chosen.len() >= most } {
            continue;
        }
        anyhow::ensure!(!runtimes.limits.stop.is_asked(), "it was stopped");
        let mut tried: Vec<Feeds> =
            BOUNDS.iter().filter_map(|&bound| feeds(inputs, given, &sizes, arguments.seed, bound)).collect();
        tried.dedup();
        let Some(one) = tried.first() else { continue };
        first.get_or_insert_with(|| (sizes.clone(), one.clone()));
        let mut all = job(network.untouched(), one, 0);
        all.runs = tried.iter().map(|feeds| feeds.iter().map(|(_, tensor)| tensor.clone()).collect()).collect();
        let answers = executions(runtimes.open[guide].as_mut(), &all);
        let is_answer = |execution: &Execution| matches!(execution.outcome, Outcome::Answer(_));
        if let Some(feeds) = answers.iter().position(is_answer).and_then(|place| tried.get(place)) {
            let own = (sizes, feeds.clone());
            if has_nothing { with_nothing = Some(own) } else { chosen.push(own) }
        }
    }
    runtimes.free(guide, network)?;
    chosen.extend(with_nothing);
    if chosen.is_empty() {
        // Other runtimes may accept what the guide refuses.
        chosen.extend(first);
    }
    anyhow::ensure!(
        !chosen.is_empty(),
        "an input is too large to be drawn: give it with --feed, or its dims with --dim"
    );
    Ok(chosen)
}

/// Whether `--dim` asks for one of these sizes.
fn given_sizes(arguments: &Arguments, sizes: &Sizes) -> bool {
    arguments.dim.iter().any(|(symbol, asked)| sizes.0.get(symbol).is_some_and(|size| asked.contains(size)))
}

/// Loads the model twice, and runs it several times. If a runtime lacks something, or exceeds its time or memory, the model is
/// not loaded again.
fn look(
    runtime: &mut dyn Runtime,
    network: &Network,
    feeds: &Feeds,
    depths: &[usize],
    relative: Option<f64>,
) -> ModelResult {
    let mut all = executions(runtime, &job(network.untouched(), feeds, RUNS));
    let is_answer = |execution: &Execution| matches!(execution.outcome, Outcome::Answer(_));
    let mut time = None;
    let last = all.last().map(|last| &last.outcome);
    if !matches!(last, None | Some(Outcome::Unsupported(_) | Outcome::TimedOut | Outcome::OutOfMemory)) {
        let began = Instant::now();
        all.extend(executions(runtime, &job(network.untouched(), feeds, 1)));
        time = all.last().filter(|last| is_answer(last)).map(|_| began.elapsed());
    }
    let no_answer = || Execution::without_answer(Outcome::Unsupported(Gap::Process), "it was stopped".to_owned());
    let spread = spread(all.iter().map(|execution| &execution.outcome), depths, relative);
    let (answers, failures): (Vec<Execution>, Vec<Execution>) = all.into_iter().partition(is_answer);
    let (answer, failure) = (answers.into_iter().next(), failures.into_iter().next());
    let (execution, failure) = match answer {
        Some(answer) => (answer, failure),
        None => (failure.unwrap_or_else(no_answer), None),
    };
    ModelResult { execution, failure, spread, time, memory: runtime.peak_memory() }
}

/// The sign of the fault to search for.
fn sign(execution: &Execution) -> Sign {
    match &execution.outcome {
        Outcome::Answer(_) => Sign::Differs,
        outcome => Sign::Fails { outcome: outcome.clone(), phrase: execution.phrase.clone() },
    }
}
