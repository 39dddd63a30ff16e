//! The real runtimes, executed. These tests fail if one of them did not run.

use onnx_crosscheck::campaign::{Source, Stream};
use onnx_crosscheck::case::{Case, Generator};
use onnx_crosscheck::model::{self, Job};
use onnx_crosscheck::operator::{OPERATORS, Rule};
use onnx_crosscheck::runtime::{self, Execution, Gap, Outcome, Runtime, Stage, execute_once, executions};
use onnx_crosscheck::tensor::ElementType;
use onnx_crosscheck::verdict::{Discrepancy, Judgement, Tolerance, judge};

fn open(list: &str) -> Vec<Box<dyn Runtime>> {
    let ids = runtime::select(Some(list)).unwrap();
    runtime::open(&ids).unwrap_or_else(|error| panic!("{error}"))
}

/// What each of the runtimes does with a case, and what is thought of it.
fn run(runtimes: &mut [Box<dyn Runtime>], line: &str) -> Vec<(Execution, Judgement)> {
    let case: Case = line.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
    let tensors = case.tensors();
    let job = model::job(&case, &tensors);
    let ids: Vec<_> = runtimes.iter().map(|runtime| runtime.id().clone()).collect();
    let executions: Vec<Execution> = runtimes.iter_mut().map(|runtime| execute_once(runtime.as_mut(), &job)).collect();
    let results: Vec<_> = ids.iter().zip(&executions).collect();
    let judgements = judge(&case.expectation(&tensors), 1, &results);
    executions.into_iter().zip(judgements).collect()
}

#[test]
fn every_type_that_tract_has_makes_the_round_trip() {
    let mut runtimes = open("tract");
    for element_type in &ElementType::ALL[..13] {
        let results = run(&mut runtimes, &format!("Flatten@13 axis=-1 {element_type}[87,3]:special"));
        for (execution, judgement) in results {
            assert_eq!(judgement, Judgement::Agrees, "{element_type}: {}", execution.message);
        }
    }
    for element_type in &ElementType::ALL[13..] {
        let results = run(&mut runtimes, &format!("Flatten@25 {element_type}[2]"));
        assert!(results.iter().all(|(_, judgement)| *judgement == Judgement::Unsupported(Gap::ElementType)));
    }
}

#[test]
fn a_shape_that_is_fed_is_a_gap_of_tract() {
    for (execution, judgement) in run(&mut open("tract"), "Reshape@13 float[2,3] int64[1]{6}") {
        assert_eq!(judgement, Judgement::Unsupported(Gap::DynamicShape), "{}", execution.message);
    }
}

#[test]
fn a_panic_of_tract_is_an_outcome() {
    for (execution, judgement) in run(&mut open("tract"), "Flatten@13 axis=3 float[2]") {
        assert_eq!(execution.outcome, Outcome::Panicked { stage: Stage::Load });
        assert_eq!(judgement, Judgement::Wrong(vec![Discrepancy::Panic]));
        assert!(execution.message.contains("out of range"), "{}", execution.message);
    }
}

#[test]
fn the_foreign_type_of_tract_is_reported_and_its_numbers_are_read() {
    for (execution, judgement) in run(&mut open("tract"), "Shape@13 float[2,3]") {
        assert_eq!(judgement, Judgement::Wrong(vec![Discrepancy::WrongType]));
        let Outcome::Answer(outputs) = execution.outcome else { panic!("{}", execution.message) };
        assert_eq!(outputs[0].native_type, Some(onnx_crosscheck::runtime::NativeType::TDim));
        assert_eq!(outputs[0].tensor.int64s(), Some(vec![2, 3]));
    }
}

/// Runs that follow each other in one session are answered as they are alone.
fn assert_runs_are_independent(list: &str) {
    let stream = Stream::new(Generator::new(OPERATORS[..5].to_vec()), 3, vec![]);
    let cases = stream.cases(&(1000..3000).collect::<Vec<u64>>());
    let jobs: Vec<Job> = cases.iter().map(|generated| model::job(&generated.case, &generated.tensors)).collect();
    for mut runtime in open(list) {
        let mut of_model = 0;
        for alone in jobs.chunk_by(|one, other| one.model == other.model) {
            let together = Job { runs: alone.iter().map(|job| job.runs[0].clone()).collect(), ..alone[0].clone() };
            let mut together = executions(runtime.as_mut(), &together);
            of_model += usize::from(together.len() < alone.len());
            // A model that cannot be loaded has one execution.
            let held = together.last().cloned().unwrap();
            together.resize(alone.len(), held);
            for (job, together) in alone.iter().zip(together) {
                let alone = execute_once(runtime.as_mut(), job);
                assert_eq!((together.outcome, together.declared), (alone.outcome, alone.declared), "{}", runtime.id());
            }
        }
        let pinned = runtime.id().configuration == "pinned";
        assert!(pinned || of_model > 5, "{}: {of_model}", runtime.id());
    }
}

#[test]
fn runs_of_one_session_are_independent() {
    assert_runs_are_independent("tract");
}

/// onnxruntime: these tests fail if it was not executed.
mod wheels {
    use super::*;

    /// The types for which onnxruntime 1.32.0 has no kernel of each operator, without optimization.
    fn without_kernel(operator: &str) -> Vec<ElementType> {
        use ElementType::*;
        let narrow = vec![Int4, Uint4, Float4e2m1, Float8e8m0, Int2, Uint2];
        let mut lacking = vec![Complex64, Complex128];
        if operator == "Flatten" {
            lacking.extend([Float8e4m3fn, Float8e4m3fnuz, Float8e5m2, Float8e5m2fnuz]);
        }
        lacking.extend(narrow);
        lacking
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn every_type_makes_the_round_trip_through_onnxruntime_where_it_has_a_kernel() {
        let mut runtimes = open("onnxruntime/disabled");
        let wirings = [
            ":input",
            ":input(symbolic)",
            ":input(unranked)",
            ":initializer",
            ":initializer(typed)",
            ":constant",
            ":constant(typed)",
        ];
        for (operator, rest) in [("Flatten", ""), ("Reshape", " int64[2]{-1,3}")] {
            for element_type in ElementType::ALL {
                for wiring in wirings {
                    // 261 elements hold every special value, and are odd for the packed types.
                    let line = format!("{operator}@25 {element_type}[87,3]:special{wiring}{rest}");
                    let (execution, judgement) = run(&mut runtimes, &line).remove(0);
                    if without_kernel(operator).contains(&element_type) {
                        assert!(matches!(judgement, Judgement::Unsupported(_)), "{line}: {judgement:?}");
                    } else {
                        let right = match wiring {
                            ":input(unranked)" => Judgement::Tolerated(Tolerance::Rule(Rule::UNRANKED)),
                            _ => Judgement::Agrees,
                        };
                        assert_eq!(judgement, right, "{line}: {}", execution.message);
                        assert!(matches!(execution.outcome, Outcome::Answer(_)), "{line}");
                    }
                }
            }
        }
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn gaps_are_told_from_refusals() {
        let mut onnxruntime = open("onnxruntime");
        for (line, gap) in
            [("Shape@13 complex64[2]", Gap::ElementType), ("Reshape@25 int4[2] int64[1]{2}", Gap::Kernel)]
        {
            for (execution, judgement) in run(&mut onnxruntime, line) {
                assert_eq!(judgement, Judgement::Unsupported(gap), "{line}: {}", execution.message);
            }
        }
        for line in [
            "Flatten@13 axis=4 float[2,3]",
            "Flatten@13 axis=4 float[2,3]:input(unranked)",
            "Flatten@13 axis=1 axis=1 float[2,3]",
            "Shape@13 start=0 float[2]",
            "Reshape@13 float[2,3] int64[1]{5}",
            "Reshape@13 float[2,3] int64[2]{-1,-1}:initializer",
            "Reshape@13 float[2,3] int64[2,1]{2,3}",
            "Reshape@14 allowzero=1 float[2,3] int64[2]{0,-1}:initializer",
        ] {
            for (execution, judgement) in run(&mut onnxruntime, line) {
                assert_eq!(judgement, Judgement::Agrees, "{line}");
                let classed = matches!(execution.outcome, Outcome::Refused { .. });
                assert!(classed, "{line}: {:?}: {}", execution.outcome, execution.message);
            }
        }
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn what_a_runtime_declares_at_load_is_kept() {
        let (execution, _) =
            run(&mut open("onnxruntime/disabled"), "Flatten@13 float[2,3,4]:input(symbolic)").remove(0);
        let declared = execution.declared.unwrap();
        assert_eq!(declared[0].element_type, Some(ElementType::Float));
        assert_eq!(declared[0].dims.as_ref().map(Vec::len), Some(2));
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn runs_of_one_session_are_independent() {
        assert_runs_are_independent("onnxruntime");
    }
}
