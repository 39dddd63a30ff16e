//! How soon a campaign finds planted faults: the measure by which the generator is judged.
//!
//!     cargo bench --bench finding_power -- --page docs/finding-power.md    # all of them: half an hour on an idle machine
//!     cargo bench --bench finding_power -- reshape --for 5s                # those with this in their name
//!
//! Each runtime is right but for one fault. A campaign of one thread runs until it has a mismatch: on the cases that come before
//! those of the seed, which are the catalogue and a case for each cell, and then on the cases of each of some seeds.
//!
//! With `--fuzz FOLDER`, the fuzz targets in that folder look for each fault too, in as much time, with one seed. They are built
//! with
//!
//!     cargo build --release -p onnx-crosscheck-fuzz --features planted

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Parser;
use onnx_crosscheck::campaign::{self, Options, Statistics, Stream};
use onnx_crosscheck::case::{Generator, Nodes};
use onnx_crosscheck::runtime::planted::{self, Aspect};
use onnx_crosscheck::runtime::{self, Limits, Stop};
use plotters::prelude::*;

#[derive(Debug, Parser)]
struct Arguments {
    /// Only faults with this in their name or in what they depend on
    #[arg(default_value = "")]
    part: String,
    /// How long a fault is looked for with one seed
    #[arg(long = "for", value_name = "TIME", default_value = "20s", value_parser = humantime::parse_duration)]
    time: Duration,
    /// How many seeds each fault is looked for with
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// How many nodes a case has, such as `1` or `2..6`
    #[arg(long, default_value_t = Nodes::default())]
    nodes: Nodes,
    /// Also measure the fuzz targets in this folder, which are built with the feature `planted`
    #[arg(long, value_name = "FOLDER")]
    fuzz: Option<PathBuf>,
    /// Writes the results into this file, after the line `<!-- measured -->`, and the curve beside it as SVG
    #[arg(long)]
    page: Option<PathBuf>,
    /// `cargo bench` gives it
    #[arg(long, hide = true)]
    bench: bool,
}

/// The first finding of a fault with a seed: the time until then, and the number of cases, to the end of a block of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    time: Duration,
    cases: u64,
}

/// The results of a search by seed; `None` if the fault was not found in time.
type Results = Vec<Option<Found>>;

/// A fault with the results of the campaigns, and of the fuzz targets.
struct Measured {
    name: &'static str,
    aspect: Aspect,
    /// Whether the cases before those of the seed show it.
    is_in_catalogue: bool,
    results: Results,
    /// Empty if fuzz targets were not measured, or cannot find the fault.
    fuzzed: Results,
}

/// The median over the seeds; `None` if most of them did not find the fault.
fn median(results: &[Option<Found>]) -> Option<Found> {
    let mut sorted = results.to_vec();
    sorted.sort_by_key(|result| result.map_or(Duration::MAX, |found| found.time));
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().flatten()
}

/// The median in two columns: cases, and seconds.
fn columns(results: &[Option<Found>]) -> String {
    match median(results) {
        Some(found) => format!("{} | {:.2}", found.cases, found.time.as_secs_f64()),
        None => "- | -".to_owned(),
    }
}

impl Measured {
    fn median(&self) -> Option<Found> {
        median(&self.results)
    }

    fn difficulty(&self) -> &'static str {
        let median = self.median();
        DIFFICULTIES
            .iter()
            .find(|(_, most)| median.is_some_and(|found| found.time <= *most))
            .map_or("not found", |row| row.0)
    }

    fn line(&self) -> String {
        let found = self.results.iter().flatten().count();
        let listed = if self.is_in_catalogue { "yes" } else { "no" };
        let fuzzed = if self.fuzzed.is_empty() { String::new() } else { format!(" {} |", columns(&self.fuzzed)) };
        format!(
            "| {} | {} | {listed} | {found} of {} | {} |{fuzzed}",
            self.name,
            aspect(self.aspect),
            self.results.len(),
            columns(&self.results)
        )
    }
}

/// How hard a fault is to find: the longest median time.
const DIFFICULTIES: [(&str, Duration); 3] =
    [("easy", Duration::from_secs(1)), ("medium", Duration::from_secs(5)), ("hard", Duration::MAX)];

fn aspect(aspect: Aspect) -> String {
    <&str>::from(aspect).replace('-', " ")
}

/// Runs a campaign until the first mismatch: on the cases of a seed, or on those before them.
fn look_for(fault: &str, aspect: Aspect, seed: Option<u64>, arguments: &Arguments) -> Option<Found> {
    let rows = runtime::select(Some(&format!("planted/{fault}"))).expect("each fault is a row");
    let limits =
        Limits::new(Duration::from_millis(500), 256 << 20).with_program(Path::new(env!("CARGO_BIN_EXE_crosscheck")));
    let needs_process = aspect == Aspect::Process;
    let open = || if needs_process { runtime::open_apart(&rows, &limits) } else { runtime::open(&rows) };
    let source = Stream::new(Generator::default(), seed.unwrap_or_default(), vec![]).with_nodes(arguments.nodes);
    let options = Options {
        source: &source,
        from: seed.map_or(0, |_| source.first_drawn()),
        cases: seed.is_none().then(|| source.first_drawn()),
        reserve: &|| Duration::ZERO,
        threads: 1,
        batch: 64,
        expected: &[],
        known: &[],
        give_up: &|_| std::process::exit(2),
    };
    let began = Instant::now();
    let stop = Stop::default().at(Some(began + arguments.time));
    let first = std::sync::OnceLock::new();
    let look = |so_far: &Statistics| {
        if !so_far.groups.is_empty() {
            first.get_or_init(|| Found { time: began.elapsed(), cases: so_far.cases });
            stop.ask();
        }
    };
    campaign::run(&options, None, &open, &stop, &look).expect("a planted row can take part");
    first.get().copied()
}

/// Runs fuzz targets from their seeds until the first finding: `graph` if the fault needs several nodes, and else `any` and, if
/// that does not find it, `graph`.
fn fuzz_for(fault: &str, aspect: Aspect, seed: u64, folder: &Path, most: Duration) -> Option<Found> {
    use Aspect::{Declaration, Edge, Observation, Pattern, Session};
    let needs_graph = matches!(aspect, Edge | Pattern | Declaration | Observation | Session);
    let targets = if needs_graph { &["graph"][..] } else { &["any", "graph"] };
    targets.iter().find_map(|target| {
        let own = tempfile::tempdir().expect("a folder can be made");
        let log = own.path().join("log");
        let mut command = Command::new(folder.join(target));
        command.env("CROSSCHECK_RUNTIMES", format!("planted/{fault}")).env("CROSSCHECK_LOG", &log);
        command.arg(own.path()).arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target));
        command.arg(format!("-artifact_prefix={}/", own.path().display()));
        command.args([format!("-max_total_time={}", most.as_secs()), format!("-seed={seed}")]);
        let output = command.output().unwrap_or_else(|error| panic!("{target} cannot be run: {error}"));
        // A target that cannot begin ends with 2. It found nothing, but says nothing about the fault.
        assert!(output.status.code() != Some(2), "{target}: {}", String::from_utf8_lossy(&output.stderr));
        // `SECONDS s, N cases: finding SIGNATURE`
        let log = fs::read_to_string(log).unwrap_or_default();
        let line = log.lines().find(|line| line.contains(": finding "))?;
        let (time, rest) = line.split_once(" s, ")?;
        let found =
            Found { time: Duration::from_secs_f64(time.parse().ok()?), cases: rest.split_once(' ')?.0.parse().ok()? };
        Some(found).filter(|found| found.time <= most)
    })
}

/// What stands on the page: the counts by aspect and by difficulty, and each fault, the hardest last.
fn page(all: &mut [Measured], arguments: &Arguments, curve: &str) -> String {
    let fuzz = if arguments.fuzz.is_some() { " (fuzz targets: one)" } else { "" };
    let mut text = format!(
        "{} faults, {} seeds each{fuzz}, one thread, at most {} for a seed; cases of {} nodes.\n\n![Faults found over time]({curve})\n\n",
        all.len(),
        arguments.seeds,
        humantime::format_duration(arguments.time),
        arguments.nodes
    );
    let mut by_aspect: BTreeMap<Aspect, Vec<&Measured>> = BTreeMap::new();
    for measured in &*all {
        by_aspect.entry(measured.aspect).or_default().push(measured);
    }
    text += "| the fault depends on | faults | easy | medium | hard | not found |\n|---|---|---|---|---|---|\n";
    let row = |name: &str, of: &[&Measured]| {
        let count = |difficulty: &str| of.iter().filter(|measured| measured.difficulty() == difficulty).count();
        let counts = ["easy", "medium", "hard", "not found"].map(|difficulty| count(difficulty).to_string());
        format!("| {name} | {} | {} |\n", of.len(), counts.join(" | "))
    };
    for (of, list) in &by_aspect {
        text += &row(&aspect(*of), list);
    }
    text += &row("all", &all.iter().collect::<Vec<_>>());
    let (fuzz, line) = if arguments.fuzz.is_some() { (" fuzzing: cases | seconds |", "---|---|") } else { ("", "") };
    writeln!(
        text,
        "\n| fault | depends on | in the catalogue | seeds that found it | cases, median | seconds, median |{fuzz}\n|---|---|---|---|---|---|{line}"
    )
    .expect("text can be written");
    all.sort_by_key(|measured| measured.median().map_or(Duration::MAX, |found| found.time));
    for measured in all {
        writeln!(text, "{}", measured.line()).expect("text can be written");
    }
    text
}

/// Draws how many of all searches, each for a fault with a seed, have found it after a time.
fn draw(all: &[Measured], most: Duration, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::new(path, (800, 400)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(50)
        .build_cartesian_2d((0.001..most.as_secs_f64()).log_scale(), 0.0..100.0)?;
    chart.configure_mesh().x_desc("seconds, one thread").y_desc("found, in percent").draw()?;
    let campaigns = all.iter().flat_map(|measured| measured.results.clone()).collect();
    let fuzzed: Results = all.iter().flat_map(|measured| measured.fuzzed.clone()).collect();
    for (name, results, color) in
        [("campaign, cases of a seed", campaigns, BLUE), ("fuzz target, from its seeds", fuzzed, RED)]
    {
        if results.is_empty() {
            continue;
        }
        let curve = LineSeries::new(steps(&results, most), color.stroke_width(2));
        let sample = move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(2));
        chart.draw_series(curve)?.label(name).legend(sample);
    }
    let place = SeriesLabelPosition::LowerRight;
    chart.configure_series_labels().position(place).background_style(WHITE).border_style(BLACK).draw()?;
    area.present()?;
    Ok(())
}

/// The points of a curve: time, and the share of the searches that have found their fault, in percent.
fn steps(results: &[Option<Found>], most: Duration) -> Vec<(f64, f64)> {
    let mut times: Vec<f64> = results.iter().flatten().map(|found| found.time.as_secs_f64().max(0.001)).collect();
    times.sort_by(f64::total_cmp);
    let percent = |count: usize| {
        #[expect(clippy::cast_precision_loss, reason = "a share for a picture")]
        let share = count as f64 / results.len() as f64;
        100.0 * share
    };
    let steps =
        times.iter().enumerate().flat_map(|(place, &time)| [(time, percent(place)), (time, percent(place + 1))]);
    steps.chain([(most.as_secs_f64(), percent(times.len()))]).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // SAFETY: nothing was started yet that has a thread of its own.
    unsafe { runtime::prepare_environment() };
    let arguments = Arguments::parse();
    let is_wanted = |name: &str, of: Aspect| name.contains(&arguments.part) || aspect(of).contains(&arguments.part);
    let faults: Vec<_> = planted::to_find().filter(|(name, aspect)| is_wanted(name, *aspect)).collect();
    let mut all = Vec::new();
    for (place, &(name, aspect)) in faults.iter().enumerate() {
        let is_in_catalogue = look_for(name, aspect, None, &arguments).is_some();
        let results = (1..=arguments.seeds).map(|seed| look_for(name, aspect, Some(seed), &arguments)).collect();
        // A target is one process with the runtimes, so it is not made for faults of processes.
        let fuzz = arguments.fuzz.as_deref().filter(|_| aspect != Aspect::Process);
        let fuzzed = fuzz.map(|folder| fuzz_for(name, aspect, 1, folder, arguments.time)).into_iter().collect();
        let measured = Measured { name, aspect, is_in_catalogue, results, fuzzed };
        eprintln!("{}/{} {}", place + 1, faults.len(), measured.line());
        all.push(measured);
    }
    let curve = arguments.page.as_deref().map(|page| page.with_extension("svg"));
    if let Some(path) = &curve {
        draw(&all, arguments.time, path)?;
    }
    let name = curve.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let text = page(&mut all, &arguments, &name);
    match &arguments.page {
        Some(path) => {
            const MARK: &str = "<!-- measured -->\n";
            let whole = fs::read_to_string(path)?;
            let (before, _) = whole.split_once(MARK).ok_or("the page has no line `<!-- measured -->`")?;
            fs::write(path, format!("{before}{MARK}\n{text}"))?;
        }
        None => print!("{text}"),
    }
    Ok(())
}
