//! How soon a campaign finds planted faults: the measure by which the generator is judged.
//!
//!     cargo bench --bench finding_power -- --page docs/finding-power.md    # all of them: half an hour on an idle machine
//!     cargo bench --bench finding_power -- reshape --for 5s                # those with this in their name
//!
//! Each runtime is right but for one fault. A campaign of one thread runs until it has a mismatch: on the cases that come before
//! those of the seed, which are the catalogue and a case for each cell, and then on the cases of each of some seeds.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
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

/// A fault with the result of each seed; `None` if it was not found in time.
struct Measured {
    name: &'static str,
    aspect: Aspect,
    /// Whether the cases before those of the seed show it.
    is_in_catalogue: bool,
    results: Vec<Option<Found>>,
}

impl Measured {
    /// The median over the seeds; `None` if most of them did not find it.
    fn median(&self) -> Option<Found> {
        let mut sorted = self.results.clone();
        sorted.sort_by_key(|result| result.map_or(Duration::MAX, |found| found.time));
        sorted[(sorted.len() - 1) / 2]
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
        let (cases, time) = match self.median() {
            Some(found) => (found.cases.to_string(), format!("{:.2}", found.time.as_secs_f64())),
            None => ("-".to_owned(), "-".to_owned()),
        };
        let listed = if self.is_in_catalogue { "yes" } else { "no" };
        format!(
            "| {} | {} | {listed} | {found} of {} | {cases} | {time} |",
            self.name,
            aspect(self.aspect),
            self.results.len()
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

/// What stands on the page: the counts by aspect and by difficulty, and each fault, the hardest last.
fn page(all: &mut [Measured], arguments: &Arguments, curve: &str) -> String {
    let mut text = format!(
        "{} faults, {} seeds each, one thread, at most {} for a seed; cases of {} nodes.\n\n![Faults found over time]({curve})\n\n",
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
    text += "\n| fault | depends on | in the catalogue | seeds that found it | cases, median | seconds, median |\n|---|---|---|---|---|---|\n";
    all.sort_by_key(|measured| measured.median().map_or(Duration::MAX, |found| found.time));
    for measured in all {
        writeln!(text, "{}", measured.line()).expect("text can be written");
    }
    text
}

/// Draws how many of all searches, each for a fault with a seed, have found it after a time.
fn draw(all: &[Measured], most: Duration, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut times: Vec<f64> =
        all.iter().flat_map(|measured| &measured.results).flatten().map(|found| found.time.as_secs_f64()).collect();
    times.sort_by(f64::total_cmp);
    let searches = all.iter().map(|measured| measured.results.len()).sum::<usize>();
    let percent = |count: usize| {
        #[expect(clippy::cast_precision_loss, reason = "a share for a picture")]
        let share = count as f64 / searches as f64;
        100.0 * share
    };
    let area = SVGBackend::new(path, (800, 400)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(50)
        .build_cartesian_2d((0.001..most.as_secs_f64()).log_scale(), 0.0..100.0)?;
    chart.configure_mesh().x_desc("seconds, one thread").y_desc("found, in percent").draw()?;
    let steps =
        times.iter().enumerate().flat_map(|(place, &time)| [(time, percent(place)), (time, percent(place + 1))]);
    let end = (most.as_secs_f64(), percent(times.len()));
    chart.draw_series(LineSeries::new(steps.chain([end]), BLUE.stroke_width(2)))?;
    area.present()?;
    Ok(())
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
        let measured = Measured { name, aspect, is_in_catalogue, results };
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
            let whole = std::fs::read_to_string(path)?;
            let (before, _) = whole.split_once(MARK).ok_or("the page has no line `<!-- measured -->`")?;
            std::fs::write(path, format!("{before}{MARK}\n{text}"))?;
        }
        None => print!("{text}"),
    }
    Ok(())
}
