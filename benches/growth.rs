//! What each part of the work takes, and how it grows with the rank of the data and the number of its elements.
//!
//!     cargo bench --bench growth               # everything, in about two minutes
//!     cargo bench --bench growth -- tract/optimized/rank    # only what has this in its name
//!
//! The runtimes run in this process, so what is measured is the runtime and not the way to it.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use onnx_crosscheck::campaign::{Scheduler, Source, Stream, examine_all, examine_together};
use onnx_crosscheck::case::{Case, Generated, Generator};
use onnx_crosscheck::finding::{Ledger, Probe, minimize};
use onnx_crosscheck::model;
use onnx_crosscheck::runtime::{self, Runtime, executions};

/// Cases at a time that are alone.
const BLOCK: u64 = 256;
/// Cases at a time, and nodes in one model, as a campaign has them.
const BLOCK_IN_BATCHES: u64 = 4096;
const BATCH: usize = 64;
const SEED: u64 = 7;
const RANKS: [usize; 5] = [0, 1, 4, 16, 64];
const ELEMENTS: [usize; 6] = [1, 1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 24];
/// Of these numbers of elements the data is in the model as well.
const STORED: [usize; 4] = [1, 1 << 10, 1 << 14, 1 << 18];

/// A valid Reshape that every runtime has, of data of these dims in this wiring.
fn reshape(dims: &[usize], wiring: &str) -> Generated {
    let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
    let line = format!("Reshape@13 float[{}]:{wiring} int64[1]{{-1}}:initializer", dims.join(","));
    Generated::given(line.parse().expect("the line is a case"))
}

/// The cases by rank, by number of elements that are fed, and by number of elements in the model. Those by rank have one
/// element each, so that only the rank grows.
fn growing() -> impl Iterator<Item = (BenchmarkId, Generated)> {
    let by_rank = RANKS.iter().map(|&rank| (BenchmarkId::new("rank", rank), reshape(&vec![1; rank], "input")));
    let fed = ELEMENTS.iter().map(|&count| (BenchmarkId::new("elements", count), reshape(&[count], "input")));
    let stored = STORED.iter().map(|&count| (BenchmarkId::new("stored", count), reshape(&[count], "initializer")));
    by_rank.chain(fed).chain(stored)
}

fn runtimes() -> Vec<Box<dyn Runtime>> {
    let rows = runtime::select(None).expect("the table of runtimes can be read");
    runtime::open(&rows).expect("every runtime can take part")
}

/// Measures some work on each of the growing cases.
fn measure<T>(criterion: &mut Criterion, name: &str, mut work: impl FnMut(&Generated) -> T) {
    let mut group = criterion.benchmark_group(name);
    for (id, generated) in growing() {
        group.bench_function(id, |bencher| bencher.iter(|| work(black_box(&generated))));
    }
}

/// Drawing cases, with their tensors and what the specification demands of them.
fn generate(criterion: &mut Criterion) {
    let generator = Generator::default();
    let mut group = criterion.benchmark_group("generate");
    group.throughput(Throughput::Elements(BLOCK));
    group.bench_function("block", |bencher| {
        bencher.iter(|| (0..BLOCK).map(|index| generator.case(SEED, black_box(index))).collect::<Vec<_>>());
    });
}

/// The in-house implementation: what the specification demands.
fn evaluate(criterion: &mut Criterion) {
    measure(criterion, "evaluate", |generated| generated.case.expectation(&generated.tensors));
}

/// A case as a serialized model with its feeds.
fn build_model(criterion: &mut Criterion) {
    measure(criterion, "model", |generated| model::job(&generated.case, &generated.tensors));
}

/// Each runtime by itself: loading the model and running it.
fn execute(criterion: &mut Criterion) {
    for mut runtime in runtimes() {
        let name = runtime.id().to_string();
        let mut group = criterion.benchmark_group(&name);
        for (id, generated) in growing() {
            let job = model::job(&generated.case, &generated.tensors);
            group.bench_function(id, |bencher| bencher.iter(|| executions(runtime.as_mut(), black_box(&job))));
        }
    }
}

/// The whole loop of a campaign but for drawing and counting: models, every runtime, judgements; with each case alone, and in
/// batches as a campaign has them.
fn examine(criterion: &mut Criterion) {
    let mut runtimes = runtimes();
    let ids = runtime::ids(&runtimes);
    let generator = Generator::default();
    let cases: Vec<Generated> = (0..BLOCK).map(|index| generator.case(SEED, index)).collect();
    let mut group = criterion.benchmark_group("examine");
    group.throughput(Throughput::Elements(BLOCK));
    group.bench_function("alone", |bencher| bencher.iter(|| examine_all(black_box(&cases), &mut runtimes, &ids)));

    let ledger = Ledger::load().expect("the ledger of known issues can be read");
    let (_, known) = ledger.owned_triggers(&mut Probe::new(self::runtimes()));
    let stream = Stream::new(generator, SEED, vec![]);
    // Beyond the catalogue, which comes first.
    let cases = stream.cases(&(BLOCK_IN_BATCHES..2 * BLOCK_IN_BATCHES).collect::<Vec<u64>>());
    let mut scheduler = Scheduler::new(BATCH, &known, &known);
    group.throughput(Throughput::Elements(BLOCK_IN_BATCHES));
    group.bench_function("batches", |bencher| {
        bencher.iter(|| examine_together(black_box(&cases), &mut runtimes, &ids, &mut scheduler));
    });
}

/// From a case that shows a known issue to the smallest one that does.
fn minimize_finding(criterion: &mut Criterion) {
    let line = "Shape@15 start=-9 float16[2,3,1,7,2]:special:constant(typed)";
    let case: Case = line.parse().expect("the line is a case");
    let mut probe = Probe::new(runtimes());
    let (mismatch, _) = probe.mismatches(&case).into_iter().next().expect("tract gives Shape a type of its own");
    criterion.bench_function("minimize", |bencher| bencher.iter(|| minimize(black_box(&case), &mismatch, &mut probe)));
}

/// Little time for each of some hundred measurements: what is looked for is growth, not a few percent.
fn briefly() -> Criterion {
    // SAFETY: nothing was started yet that has a thread of its own.
    unsafe { runtime::prepare_environment() };
    let times = (Duration::from_millis(200), Duration::from_millis(500));
    Criterion::default().sample_size(10).warm_up_time(times.0).measurement_time(times.1)
}

criterion_group! {
    name = growth;
    config = briefly();
    targets = generate, evaluate, build_model, execute, examine, minimize_finding
}
criterion_main!(growth);
