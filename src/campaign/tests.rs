//! Campaigns as a whole: on threads, stopped and resumed, alone and in batches.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::case::{Case, Features, Generated, Generator, variants};
use crate::model::Job;
use crate::operator::{ANY, GRAPH};
use crate::runtime::planted::{self, Fault};
use crate::runtime::{self, Execution, Gap, NativeType, Outcome, Output, execute_once};
use crate::verdict::{Discrepancy, Mismatch};

/// The options of a campaign without known issues, of this many cases or without end.
pub(super) fn options(source: &dyn Source, cases: Option<u64>, threads: usize) -> Options<'_> {
    let (reserve, give_up) = (&|| Duration::ZERO, &|_: &Statistics| {});
    Options { source, from: 0, cases, reserve, threads, batch: 64, expected: &[], known: &[], give_up }
}

/// Whether the model has a node of this operator. A name this long does not occur in a model by chance.
fn is_of(operator: &str, job: &Job) -> bool {
    let needle = format!("{operator}_");
    job.model.bytes().unwrap().windows(needle.len()).any(|window| window == needle.as_bytes())
}

/// Shape gives its answer in a type that ONNX does not have.
fn native_shape(job: &Job, execution: &mut Execution) {
    if planted::is(job, "Shape")
        && let Outcome::Answer(outputs) = &mut execution.outcome
    {
        for output in outputs {
            output.native_type = Some(NativeType::TDim);
        }
    }
}

#[test]
fn what_is_by_design_is_counted_apart_and_the_values_behind_it_are_judged() {
    let design = Trigger {
        mismatch: Mismatch {
            discrepancies: vec![Discrepancy::WrongType],
            operator: "Shape",
            runtime: "planted".to_owned(),
            rule: None,
            reaction: NativeType::TDim.name().to_owned(),
        },
        features: Features::of(&"Shape@28 float[1]".parse().unwrap()),
        rule: None,
        by_design: true,
    };
    let run_with = |faults: &'static [Fault], by_design| {
        let open = move || Ok(vec![planted::without_faults()?, planted::with_faults(faults)?]);
        let known = [Trigger { by_design, ..design.clone() }];
        let source = Stream::new(Generator::of_the_heart(), 7, vec![]);
        let options = Options { known: &known, ..options(&source, Some(2000), 2) };
        run(&options, None, &open, &Stop::default(), &|_| {}).unwrap()
    };
    let counts = |statistics: &Statistics| (statistics.runtimes[1].by_design, statistics.runtimes[1].wrong);
    let meant = run_with(&[native_shape], true);
    let (all, wrong) = counts(&meant);
    assert!(all > 300 && wrong == 0 && meant.groups.is_empty(), "{:?}", meant.groups);
    assert_eq!(counts(&run_with(&[native_shape], false)), (0, all), "a defect that is known is wrong all the same");
    let short = run_with(&[planted::short_shape, native_shape], true);
    let (meant, wrong) = counts(&short);
    assert!(meant + wrong == all && wrong > 30, "{meant} {wrong} {all}");
    let mismatches: Vec<&[Discrepancy]> = short.groups.keys().map(|key| &key.0.discrepancies[..]).collect();
    assert!(mismatches.iter().all(|own| *own == [Discrepancy::WrongDims]), "{mismatches:?}");
    assert_eq!(short.explained[&0], all, "each of them is handed over so, wrong or not");
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let run_with = |threads| {
        let open = || runtime::open(&runtime::select(Some("in-house,tract"))?);
        let source = Stream::new(Generator::of_the_heart(), 3, vec![]);
        let options = options(&source, Some(2000), threads);
        let statistics = run(&options, None, &open, &Stop::default(), &|_| {}).unwrap();
        format!("{:#?}\n{:#?}\n{:#?}", statistics.groups, statistics.runtimes, statistics.coverage)
    };
    let (one, three) = (run_with(1), run_with(3));
    assert_eq!(one, three);
    assert!(one.contains("tract"));
}

#[test]
fn a_stopped_campaign_keeps_what_it_has() {
    let open = || runtime::open(&runtime::select(Some("in-house"))?);
    let source = Stream::new(Generator::of_the_heart(), 3, vec![]);
    let options = options(&source, None, 2);
    let stop = Stop::default();
    let statistics = run(&options, None, &open, &stop, &|so_far| {
        if so_far.cases >= 640 {
            stop.ask();
        }
    });
    let statistics = statistics.unwrap();
    assert!(statistics.cases >= 640, "{}", statistics.cases);
    assert_eq!(statistics.valid + statistics.invalid + statistics.unspecified, statistics.cases);
}

/// A campaign with a checkpoint in a folder, up to a number of cases or until at least `stop_at` are run.
fn with_checkpoint(folder: &std::path::Path, resumes: bool, threads: usize, cases: u64, stop_at: u64) -> Statistics {
    let open = || {
        Ok(vec![planted::without_faults()?, planted::with_faults(&[planted::short_shape, planted::panics_on_zero])?])
    };
    let ids: Vec<_> = open().unwrap().iter().map(|runtime| runtime.id().clone()).collect();
    let known = known_trigger();
    let triggers = known.iter().map(|_| "a known issue".to_owned()).collect();
    let header = Header::new(("a test".into(), Shard::WHOLE), ids, String::new(), triggers, false);
    let manner = if resumes { Manner::Resume } else { Manner::Begin };
    let mut checkpoint = Opened::open(folder, manner).unwrap().start(header, Limits::default()).unwrap();
    let source = Counted { stream: Stream::new(Generator::of_the_heart(), 3, vec![]), given: AtomicU64::new(0) };
    let options = Options { batch: 1, known: &known, ..options(&source, Some(cases), threads) };
    let (stop, before) = (Stop::default().with_grace(Duration::from_hours(1)), checkpoint.counted().cases);
    let statistics = run(&options, Some(&mut checkpoint), &open, &stop, &|so_far| {
        if so_far.cases >= stop_at {
            stop.ask();
        }
    });
    let statistics = statistics.unwrap();
    assert_eq!(before + source.given.into_inner(), statistics.cases, "each case is run once");
    statistics
}

/// Gives cases, and counts them.
struct Counted {
    stream: Stream,
    given: AtomicU64,
}

impl Source for Counted {
    fn cases(&self, indices: &[u64]) -> Vec<crate::case::Generated> {
        self.given.fetch_add(indices.len() as u64, Ordering::Relaxed);
        self.stream.cases(indices)
    }
}

/// The trigger of a panic on a dim of zero.
fn known_trigger() -> Vec<Trigger> {
    let open = || Ok(vec![planted::without_faults()?, planted::with_faults(&[planted::panics_on_zero])?]);
    let source = Stream::new(Generator::of_the_heart(), 7, vec![]);
    let options = Options { batch: 1, ..options(&source, Some(2000), 2) };
    let statistics = run(&options, None, &open, &Stop::default(), &|_| {}).unwrap();
    let simplest = statistics.groups.into_keys().min_by_key(|key| key.1.weight());
    simplest.map(|key| Trigger::new(key.0.clone(), key.1.clone())).into_iter().collect()
}

/// The statistics without those that depend on the time.
fn result(statistics: &Statistics) -> String {
    let statistics = Statistics { elapsed: Duration::ZERO, times: Times::default(), ..statistics.clone() };
    format!("{statistics:#?}")
}

#[track_caller]
fn assert_same(one: &Statistics, other: &Statistics) {
    let (one, other) = (result(one), result(other));
    let difference = one.lines().zip(other.lines()).enumerate().find(|(_, (one, other))| one != other);
    assert!(
        one == other,
        "{difference:?}, after {:#?}",
        difference.map(|(at, _)| one.lines().skip(at.saturating_sub(30)).take(30).collect::<Vec<_>>())
    );
}

#[test]
fn a_resumed_campaign_comes_to_the_same() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let whole = with_checkpoint(folders[0].path(), false, 2, 2000, u64::MAX);
    assert!(whole.explained.values().sum::<u64>() > 0 && whole.groups.len() > 10);
    let folder = folders[1].path();
    let stopped = with_checkpoint(folder, false, 3, 2000, 640);
    assert!((640..2000).contains(&stopped.cases), "{}", stopped.cases);
    let further = with_checkpoint(folder, true, 1, 2000, 1200);
    assert!((1200..2000).contains(&further.cases) && further.elapsed >= stopped.elapsed, "{}", further.cases);
    let resumed = with_checkpoint(folder, true, 2, 2000, u64::MAX);
    assert_same(&resumed, &whole);
    // There is nothing left to do.
    assert_same(&with_checkpoint(folder, true, 2, 2000, u64::MAX), &whole);
}

#[test]
fn a_campaign_that_is_resumed_at_its_end_opens_no_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let source = Stream::new(Generator::of_the_heart(), 3, vec![]);
    let header = || Header::new(("a test".into(), Shard::WHOLE), vec![], String::new(), vec![], false);
    let campaign = |manner, cases, open: Opener, stop: &Stop| {
        let mut checkpoint = Opened::open(folder.path(), manner).unwrap().start(header(), Limits::default()).unwrap();
        run(&options(&source, Some(cases), 2), Some(&mut checkpoint), open, stop, &|_| {}).unwrap().cases
    };
    let in_house = || Ok(vec![planted::without_faults()?]);
    assert_eq!(campaign(Manner::Begin, 100, &in_house, &Stop::default()), 100);
    let none = || -> Result<Vec<Box<dyn Runtime>>, OpenError> { panic!("there is nothing to run") };
    assert_eq!(campaign(Manner::Resume, 100, &none, &Stop::default()), 100, "all cases are run");
    let is_due = Stop::default();
    is_due.ask();
    assert_eq!(campaign(Manner::Resume, 200, &none, &is_due), 100, "the time is up");
}

#[test]
fn a_limit_within_a_block_can_be_raised() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let whole = with_checkpoint(folders[0].path(), false, 2, 1000, u64::MAX);
    let cases = [100, 101, 130, 700, 1000];
    let parts = cases.map(|cases| with_checkpoint(folders[1].path(), cases > 100, 2, cases, u64::MAX));
    assert_eq!(parts.each_ref().map(|part| part.cases), cases);
    assert_same(&parts[4], &whole);
}

/// The mismatches of a runtime that is right with each case alone. Their cases have several nodes or several runs.
#[track_caller]
fn found(open: Opener) -> Vec<(Mismatch, Case)> {
    let source = Stream::new(Generator::of_the_heart(), 7, vec![]);
    let statistics = run(&options(&source, Some(9000), 2), None, open, &Stop::default(), &|_| {}).unwrap();
    assert_eq!(statistics.runtimes[1].wrong, 0, "each case is right alone");
    statistics.groups.into_iter().map(|(key, group)| (key.0.clone(), (*group.case).clone())).collect()
}

fn found_on_whole_models(fault: Fault) -> Vec<(Mismatch, Case)> {
    found(&move || Ok(vec![planted::without_faults()?, planted::on_whole_models(&[fault])?]))
}

#[test]
fn what_goes_wrong_in_a_batch_only_is_a_case_of_several_nodes() {
    let found = found_on_whole_models(planted::panics_on_shape_beside_flatten);
    assert!(!found.is_empty());
    for (mismatch, case) in found {
        assert_eq!((mismatch.operator, &mismatch.discrepancies[..]), (GRAPH, &[Discrepancy::Panic][..]), "{case}");
        let mut operators: Vec<&str> = case.nodes.iter().map(|node| node.operator.name).collect();
        operators.sort_unstable();
        assert_eq!(operators, ["Flatten", "Shape"]);
    }
}

/// The second of several answers gets other dims.
fn mixes_up_outputs(_: &Job, execution: &mut Execution) {
    if let Outcome::Answer(outputs) = &mut execution.outcome
        && let [_, second, ..] = &mut outputs[..]
        && let Some(flat) = second.tensor.with_dims(vec![i64::try_from(second.tensor.len()).unwrap(), 1, 1]).ok()
    {
        second.tensor = flat;
    }
}

#[test]
fn a_wrong_answer_in_a_batch_only_is_found_and_held_against_no_case() {
    let found = found_on_whole_models(mixes_up_outputs);
    assert!(!found.is_empty() && found.iter().all(|(_, case)| case.nodes.len() == 2), "{found:?}");
}

/// Gives the result of the first run of a session in each other run of it too.
struct Stale(Box<dyn Runtime>);

impl Runtime for Stale {
    fn id(&self) -> &RuntimeId {
        self.0.id()
    }

    fn execute(&mut self, job: &Job, done: &mut dyn FnMut(Execution)) {
        let first = execute_once(self.0.as_mut(), &job.only(0));
        job.runs.iter().for_each(|_| done(first.clone()));
    }
}

#[test]
fn what_a_session_keeps_from_one_run_to_the_next_is_a_case_of_two_runs() {
    let open = || Ok(vec![planted::without_faults()?, Box::new(Stale(planted::without_faults()?)) as Box<dyn Runtime>]);
    let found = found(&open);
    assert!(!found.is_empty());
    for (mismatch, case) in found {
        assert_eq!((case.nodes.len(), case.before.len()), (1, 1), "{case}");
        let mut runtimes = open().unwrap();
        let ids = runtime::ids(&runtimes);
        let generated = Generated::given(case);
        let again = examine(&generated, &mut runtimes, &ids);
        assert!(again.mismatches(&generated, &ids, 1).contains(&mismatch), "{} shows it again", generated.case);
    }
}

/// A runtime without Flatten, which reports that when it loads the model, or in each run.
struct WithoutFlatten {
    right: Box<dyn Runtime>,
    at_load: bool,
    asked: Arc<AtomicUsize>,
}

impl Runtime for WithoutFlatten {
    fn id(&self) -> &RuntimeId {
        self.right.id()
    }

    fn execute(&mut self, job: &Job, done: &mut dyn FnMut(Execution)) {
        if !is_of("Flatten", job) {
            return self.right.execute(job, done);
        }
        let times = if self.at_load { 1 } else { job.runs.len() };
        self.asked.fetch_add(times, Ordering::Relaxed);
        for _ in 0..times {
            done(Execution::without_answer(Outcome::Unsupported(Gap::Kernel), "no Flatten".to_owned()));
        }
    }
}

#[test]
fn a_model_that_cannot_be_loaded_is_tried_once_for_all_cases_that_have_it() {
    let run_with = |batch, at_load| {
        let asked = Arc::new(AtomicUsize::new(0));
        let open = || {
            let without = WithoutFlatten { right: planted::without_faults()?, at_load, asked: Arc::clone(&asked) };
            Ok(vec![planted::without_faults()?, Box::new(without) as Box<dyn Runtime>])
        };
        let source = Stream::new(Generator::of_the_heart(), 7, vec![]);
        let options = Options { batch, ..options(&source, Some(9000), 2) };
        let statistics = run(&options, None, &open, &Stop::default(), &|_| {}).unwrap();
        let result = format!("{:#?}\n{:#?}\n{:#?}", statistics.groups, statistics.runtimes, statistics.coverage);
        (result, asked.load(Ordering::Relaxed))
    };
    let (alone, each) = run_with(1, true);
    let ((once, few), (again, many)) = (run_with(64, true), run_with(64, false));
    assert!(once == alone && again == alone, "{alone}\n{once}\n{again}");
    assert!(each > 1000 && many >= each && few * 2 < each, "{each} {many} {few}");
}

/// A runtime that was stopped. It gives no results.
struct Stopped(Box<dyn Runtime>);

impl Runtime for Stopped {
    fn id(&self) -> &RuntimeId {
        self.0.id()
    }

    fn execute(&mut self, _: &Job, _: &mut dyn FnMut(Execution)) {}

    fn execute_all(&mut self, _: &[&Job]) -> Vec<Vec<Execution>> {
        vec![]
    }
}

#[test]
fn a_runtime_that_was_stopped_holds_up_nobody() {
    let mut runtimes = vec![Box::new(Stopped(planted::without_faults().unwrap())) as Box<dyn Runtime>];
    let ids = runtime::ids(&runtimes);
    let generated = Generated::given("Shape@28 float[1]".parse().unwrap());
    let examination = examine(&generated, &mut runtimes, &ids);
    assert_eq!(examination.executions[0].outcome, Outcome::Unsupported(Gap::Process));
}

/// A runtime that counts its jobs, and may have no kernel for them.
struct Counting {
    id: RuntimeId,
    right: Box<dyn Runtime>,
    has_kernel: bool,
    log: Log,
}

/// The number of jobs of each runtime.
type Log = Arc<Mutex<BTreeMap<RuntimeId, usize>>>;

/// Counts the jobs of a runtime under a name and a configuration of its own.
fn counting(
    log: &Log,
    (name, configuration): (&str, &str),
    right: Box<dyn Runtime>,
    has_kernel: bool,
) -> Box<dyn Runtime> {
    let [name, version, configuration] = [name, "1", configuration].map(str::to_owned);
    let id = RuntimeId { name, version, configuration };
    Box::new(Counting { id, right, has_kernel, log: Arc::clone(log) })
}

impl Runtime for Counting {
    fn id(&self) -> &RuntimeId {
        &self.id
    }

    fn execute(&mut self, job: &Job, done: &mut dyn FnMut(Execution)) {
        *self.log.lock().unwrap().entry(self.id.clone()).or_default() += 1;
        let lacking = || Execution::without_answer(Outcome::Unsupported(Gap::Kernel), "no kernel".to_owned());
        if self.has_kernel { self.right.execute(job, done) } else { done(lacking()) }
    }
}

#[test]
fn variants_are_for_runtimes_that_can_be_held_against_themselves() {
    let open = Generated::given("Reshape@21 allowzero=2 float[2] int64[1]{2}".parse().unwrap());
    let variants = variants(&open).len();
    assert!(variants > 1);
    let log = Arc::new(Mutex::new(BTreeMap::new()));
    let rows = [("a", "has", true), ("a", "has-not", false), ("b", "has-not", false)];
    let counting = |(name, configuration, has_kernel)| {
        counting(&log, (name, configuration), planted::without_faults().unwrap(), has_kernel)
    };
    let mut runtimes = Vec::from(rows.map(counting));
    let ids = runtime::ids(&runtimes);
    examine(&open, &mut runtimes, &ids);
    let asked: Vec<usize> = log.lock().unwrap().values().copied().collect();
    assert_eq!(asked, [1 + variants, 1 + variants, 1], "what a variant comes to depends on all configurations");
}

#[test]
fn the_nodes_of_a_graph_are_for_the_releases_that_are_wrong_in_it() {
    let graph = Generated::given("a=Flatten@28 float[2,3]; Shape a".parse().unwrap());
    let log = Arc::new(Mutex::new(BTreeMap::new()));
    let rows: [(_, _, &[Fault]); 3] = [("a", "wrong", &[native_shape]), ("a", "right", &[]), ("b", "right", &[])];
    let counting = |(name, configuration, faults)| {
        counting(&log, (name, configuration), planted::with_faults(faults).unwrap(), true)
    };
    let mut runtimes = Vec::from(rows.map(counting));
    let ids = runtime::ids(&runtimes);
    let examination = examine(&graph, &mut runtimes, &ids);
    let of_nodes: Vec<usize> = examination.of_nodes.into_keys().collect();
    let wrong = ids.iter().position(|id| id.configuration == "wrong").unwrap();
    assert_eq!(of_nodes, [wrong]);
    let asked =
        |name: &str| log.lock().unwrap().iter().filter(|(id, _)| id.name == name).map(|(_, count)| *count).collect();
    let all = 1 + graph.case.each_alone().len();
    assert_eq!((asked("a"), asked("b")), (vec![all, all], vec![1]));
}

#[test]
fn what_asks_for_more_elements_than_are_judged_is_left_out() {
    struct Listed(Vec<Case>);
    impl Source for Listed {
        fn cases(&self, indices: &[u64]) -> Vec<Generated> {
            let case = |&index: &u64| self.0.get(usize::try_from(index).ok()?).cloned();
            indices.iter().map_while(case).map(Generated::given).collect()
        }
    }
    // No machine has the memory for the first case. Some machines have it for the next three. The others are judged.
    let lines = [
        "Expand@26 float[1] int64[1]{1125899906842624}",
        "Expand@26 float[1] int64[1]{1125899906842623}",
        "Expand@26 float[1] int64[1]{4194305}",
        "Expand@26 float[1]:input(unranked) int64[1]{4194305}",
        "Expand@26 float[1] int64[1]{4194304}",
        "Expand@26 float[1] int64[1]{2}",
    ];
    let source = Listed(lines.map(|line| line.parse().unwrap()).to_vec());
    let log = Arc::new(Mutex::new(BTreeMap::new()));
    let open = || {
        let right = planted::without_faults()?;
        let counting = Counting { id: right.id().clone(), right, has_kernel: true, log: Arc::clone(&log) };
        Ok(vec![Box::new(counting) as Box<dyn Runtime>])
    };
    let options = Options { batch: 1, ..options(&source, Some(6), 1) };
    let statistics = run(&options, None, &open, &Stop::default(), &|_| {}).unwrap();
    assert_eq!(log.lock().unwrap().values().copied().collect::<Vec<_>>(), [3]);
    assert_eq!(statistics.runtimes[0].left_out(), 3);
}

#[test]
fn findings_do_not_depend_on_batches() {
    let wrong = |batch: usize| {
        let open = || {
            Ok(vec![
                planted::without_faults()?,
                planted::with_faults(&[planted::short_shape, planted::wrong_type, planted::panics_on_zero])?,
            ])
        };
        let source = Stream::new(Generator::of_the_heart(), 11, vec![]);
        let options = Options { batch, ..options(&source, Some(12_000), 2) };
        let statistics = run(&options, None, &open, &Stop::default(), &|_| {}).unwrap();
        let groups = statistics.groups.iter().map(|(key, group)| (key.clone(), group.case.to_string(), group.count));
        groups.collect::<Vec<_>>()
    };
    let alone = wrong(1);
    assert!(alone.len() > 3);
    assert_eq!(wrong(64), alone);
}

#[test]
fn a_minimized_graph_is_refused_for_one_defect_in_whatever_words_and_panics_as_its_node_does() {
    let trigger = |operator, discrepancy, reaction: &str, line: &str| {
        let mismatch = Mismatch {
            discrepancies: vec![discrepancy],
            operator,
            runtime: "x@1".to_owned(),
            rule: None,
            reaction: reaction.to_owned(),
        };
        Trigger::new(mismatch, Features::of(&line.parse().unwrap()))
    };
    let refused = |reaction, line| trigger(GRAPH, Discrepancy::RefusesValid, reaction, line);
    let declared = refused("one", "a=Shape@28 float[1] :info; Reshape a int64[1]{1}");
    let more = refused("other", "a=Shape@28 float[1] :info; a1=Reshape a int64[1]{1}; Flatten a1");
    assert!(declared.explains_all_of(&more) && !more.explains_all_of(&declared));
    assert!(!declared.explains(&more.mismatch, &more.features), "it may be another as long as it is not minimized");
    let wrong =
        trigger(GRAPH, Discrepancy::WrongValue, "", "a=Shape@28 float[1] :info; a1=Reshape a int64[1]{1}; Flatten a1");
    assert!(!declared.explains_all_of(&wrong));
    let node = trigger("Flatten", Discrepancy::Panic, "index", "Flatten@28 float[]");
    let panics = |reaction, line| {
        let graph = trigger(GRAPH, Discrepancy::Panic, reaction, line);
        node.explains(&graph.mismatch, &graph.features)
    };
    assert!(panics("index", "a=Reshape@28 float[1] float[0]; Flatten a"));
    assert!(!panics("index", "a=Reshape@28 float[1] float[0]; Shape a"), "it has no such node");
    assert!(!panics("overflow", "a=Reshape@28 float[1] float[0]; Flatten a"));
}

#[test]
fn what_any_operator_shows_is_known_alone_and_in_a_graph() {
    let trigger = |operator, reaction: &str, features: Features| {
        let mismatch = Mismatch {
            discrepancies: vec![Discrepancy::RefusesValid],
            operator,
            runtime: "x@1".to_owned(),
            rule: None,
            reaction: reaction.to_owned(),
        };
        Trigger::new(mismatch, features)
    };
    let features = |line: &str| Features::of(&line.parse().unwrap());
    let words = ["operand0:uint32", "operand0:in-model"].map(str::to_owned);
    let own = features("Identity@28 uint32[0]:initializer");
    let any = trigger(ANY, "one", own.clone().as_written(&own, &words));
    assert_eq!(any.features.to_string(), words.join(" "));
    let explains = |operator, reaction: &str, line: &str| {
        let other = trigger(operator, reaction, features(line));
        any.explains(&other.mismatch, &other.features)
    };
    assert!(explains("Flatten", "one", "Flatten@13 axis=0 uint32[2]:constant"));
    assert!(!explains("Flatten", "one", "Flatten@13 axis=0 uint32[2]"), "a feature is missing");
    assert!(!explains("Flatten", "other", "Flatten@13 axis=0 uint32[2]:constant"));
    assert!(explains(GRAPH, "one", "a=Shape@28 float[1]; b=Size uint32[2]:constant; Reshape b a"));
    assert!(!explains(GRAPH, "one", "a=Size@28 float[1]:initializer; Reshape uint32[1] a"), "no node has both");
    let of_graph = features("a=Size@28 uint32[2]:constant; Reshape a int64[1]{1}");
    let more = trigger(GRAPH, "other", of_graph);
    assert!(any.explains_all_of(&more), "a minimized graph is refused in whichever words");
}

/// A runtime that is right when a graph with a Reshape and a Shape is loaded for the first time. After that, its outputs have
/// another rank.
struct WrongWhenLoadedAgain {
    right: Box<dyn Runtime>,
    loaded: HashSet<crate::model::Serialized>,
}

impl Runtime for WrongWhenLoadedAgain {
    fn id(&self) -> &RuntimeId {
        self.right.id()
    }

    fn execute(&mut self, job: &Job, done: &mut dyn FnMut(Execution)) {
        let is_again = !self.loaded.insert(job.model.clone()) && is_of("Reshape", job) && is_of("Shape", job);
        self.right.execute(job, &mut |mut execution| {
            if let Outcome::Answer(outputs) = &mut execution.outcome
                && is_again
            {
                for Output { tensor, .. } in outputs {
                    *tensor = tensor.with_dims([&[1], tensor.dims()].concat()).unwrap();
                }
            }
            done(execution);
        });
    }
}

#[test]
fn what_goes_wrong_when_a_graph_is_loaded_again_is_found() {
    let open = || {
        let right = planted::with_faults(&[])?;
        let again: Box<dyn Runtime> = Box::new(WrongWhenLoadedAgain { right, loaded: HashSet::new() });
        Ok(vec![planted::without_faults()?, again])
    };
    let source = Stream::new(Generator::of_the_heart(), 3, vec![]).with_nodes("2..6".parse().unwrap());
    let statistics = run(&options(&source, Some(3000), 1), None, &open, &Stop::default(), &|_| {}).unwrap();
    let count: u64 = statistics.groups.values().map(|group| group.count).sum();
    assert!(count > 40, "not only where a case is confirmed alone: {count}");
    for (mismatch, _) in statistics.groups.keys().map(|key| &**key) {
        assert!(mismatch.operator == GRAPH && mismatch.discrepancies[0] == Discrepancy::WrongRank, "{mismatch}");
    }
}

#[test]
fn a_hang_of_a_node_explains_that_of_the_node_with_a_declared_output() {
    let features = |case: &str| Features::of(&case.parse::<Case>().unwrap());
    let mismatch = |operator, found| Mismatch {
        discrepancies: vec![found],
        operator,
        runtime: "planted".to_owned(),
        rule: None,
        reaction: String::new(),
    };
    let declared = features("Flatten@28 float[1] :output(static)");
    let explains = |operator, found| {
        let known = Trigger::new(mismatch(operator, found), features("Flatten@28 float[1]"));
        known.explains(&mismatch("Flatten", found), &declared)
    };
    assert!(explains("Flatten", Discrepancy::Exhaustion));
    assert!(!explains("Reshape", Discrepancy::Exhaustion));
    assert!(!explains("Flatten", Discrepancy::WrongValue), "the declaration may be the cause");
}
