//! Test data in the layout of ONNX, replayed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use onnx_crosscheck::case::Case;
use onnx_crosscheck::model::proto::{
    AttributeProto, Dimension, DimensionValue, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorShapeProto,
    TensorTypeProto, TypeProto, ValueInfoProto, attribute_type,
};
use onnx_crosscheck::model::{self, Job, test_data};
use onnx_crosscheck::tensor::{ElementType, Tensor};
use prost::Message;
use serde_json::Value;

/// The in-house implementation, and a runtime that does the same.
const BOTH: &str = "in-house,planted/right";

/// The same text with single spaces.
fn plain(text: &str) -> String {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}

fn crosscheck(arguments: &[&str]) -> (Option<i32>, String, String) {
    ended(Command::new(env!("CARGO_BIN_EXE_crosscheck")).args(arguments))
}

fn ended(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn replay(runtimes: &str, folder: &Path, rest: &[&str]) -> (Option<i32>, String, String) {
    let folder = folder.to_str().unwrap();
    crosscheck(&[&["replay", "--runtimes", runtimes, folder], rest].concat())
}

/// A folder with a case, and what is stored as its outputs.
fn case(root: &Path, name: &str, line: &str, stored: Option<&[Tensor]>) -> PathBuf {
    let case: Case = line.parse().unwrap();
    let folder = root.join(name);
    test_data::write(&folder, &model::job(&case, &case.tensors()), stored).unwrap();
    folder
}

fn floats(values: &[f32]) -> Tensor {
    let dims = vec![i64::try_from(values.len()).unwrap()];
    Tensor::from_element_bits(ElementType::Float, dims, values.iter().map(|v| u128::from(v.to_bits()))).unwrap()
}

/// A folder with one node of an operator that is not implemented in-house, which adds 1 and 2.
fn sum(root: &Path, name: &str, op_type: &str, stored: Option<f32>) -> PathBuf {
    let value = |name: &str| ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(TypeProto {
            tensor_type: Some(TensorTypeProto { elem_type: Some(1), shape: None }),
            ..TypeProto::default()
        }),
        ..ValueInfoProto::default()
    };
    let node = NodeProto {
        input: vec!["a".to_owned(), "b".to_owned()],
        output: vec!["c".to_owned()],
        op_type: Some(op_type.to_owned()),
        ..NodeProto::default()
    };
    let graph = GraphProto {
        node: vec![node],
        name: Some("sum".to_owned()),
        input: vec![value("a"), value("b")],
        output: vec![value("c")],
        ..GraphProto::default()
    };
    let model = ModelProto {
        ir_version: Some(8),
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(15) }],
        ..ModelProto::default()
    };
    let job = Job::once(model.encode_to_vec(), [("a".into(), floats(&[1.0])), ("b".into(), floats(&[2.0]))]);
    let folder = root.join(name);
    test_data::write(&folder, &job, stored.map(|stored| [floats(&[stored])]).as_ref().map(|s| &s[..])).unwrap();
    folder
}

/// Replays what all agree on, and what a stored output has wrong, on the in-house implementation and on another one.
fn assert_both_are_held_to_the_specification(both: &str, other: &str) {
    let root = tempfile::tempdir().unwrap();
    let folder = case(root.path(), "shape", "Shape@15 start=1 float[2,3,4]", Some(&[Tensor::vector(&[3, 4])]));
    let (code, out, _) = replay(both, &folder, &[]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("the specification demands int64[2]{3,4}"), "{out}");
    for name in ["stored output", "in-house", other] {
        assert!(plain(&out).contains(&format!("{name} agrees\n")), "{out}");
    }

    case(root.path(), "wrong", "Shape@15 start=1 float[2,3,4]", Some(&[Tensor::vector(&[3, 5])]));
    let (code, out, _) = replay(both, root.path(), &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(plain(&out).contains("stored output WRONG gives other elements\n"), "{out}");
    assert!(plain(&out).contains(&format!("{other} agrees\n")) && !out.contains("/shape"), "{out}");
    assert!(out.contains("agree with each other, and not with the stored output"), "{out}");

    let folder = case(root.path(), "refused", "Flatten@13 axis=3 float[2]", None);
    let (code, out, _) = replay(both, &folder, &[]);
    assert!(code == Some(0) && out.contains("the specification demands a refusal (axis-range)"), "{out}");
    let wrong = case(root.path(), "answered", "Flatten@13 axis=3 float[2]", Some(&[floats(&[0.0, 1.0])]));
    let (code, out, _) = replay(both, &wrong, &[]);
    assert!(code == Some(1) && plain(&out).contains("stored output WRONG answers an invalid model\n"), "{out}");
}

#[test]
fn a_stored_output_and_all_runtimes_are_held_to_the_specification() {
    assert_both_are_held_to_the_specification(BOTH, "planted/right");
}

#[test]
fn a_runtime_that_deviates_ends_with_1_and_is_named() {
    let root = tempfile::tempdir().unwrap();
    let folder = case(
        root.path(),
        "crash",
        "Flatten@28 axis=0 float[1,1,1,1]",
        Some(&[floats(&[0.0]).with_dims(vec![1, 1]).unwrap()]),
    );
    let (code, out, _) = replay("in-house,planted/crash", &folder, &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(plain(&out).contains("planted/crash WRONG ends its process\n"), "{out}");
    assert!(plain(&out).contains("in-house agrees\n"), "{out}");
    assert!(out.contains("crosscheck save 'Flatten@28 axis=0 float[1,1,1,1]{0.0}'"), "{out}");
}

#[test]
fn a_graph_is_named_as_a_case_and_held_to_the_specification() {
    let root = tempfile::tempdir().unwrap();
    let line = "x=float[2,1]{0.0,1.0}:input(symbolic); a=Shape@21 x; a1=Flatten axis=0 x :output(static); Reshape a1 a";
    let flat = floats(&[0.0, 1.0]).with_dims(vec![1, 2]).unwrap();
    let whole = floats(&[0.0, 1.0]).with_dims(vec![2, 1]).unwrap();
    let folder = case(root.path(), "graph", line, Some(&[flat.clone(), whole]));
    let (code, out, _) = replay(BOTH, &folder, &[]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("the specification demands float[1,2]{0.0,1.0}, float[2,1]{0.0,1.0}\n"), "{out}");
    assert!(out.contains(&format!("    the case {line}\n")) && !out.contains("crosscheck save"), "{out}");
    for name in ["stored output", "in-house", "planted/right"] {
        assert!(plain(&out).contains(&format!("{name} agrees\n")), "{out}");
    }
    let (_, out, _) = replay(BOTH, &folder, &["--format", "json"]);
    let json: Value = serde_json::from_str(out.trim()).unwrap();
    assert_eq!(json["judged"]["case"], line);

    // One node is to be refused, and another is left open.
    for (name, line, said) in [
        ("refused", "a=Flatten@13 axis=7 float[2]; Shape a", "demands a refusal (axis-range)"),
        ("open", "a=Reshape@14 float[2] int64[]{2}; Shape a", "nothing for certain (shape-rank)"),
    ] {
        let folder = case(root.path(), name, line, None);
        let (code, out, _) = replay(BOTH, &folder, &[]);
        assert!(code == Some(0) && out.contains(said), "{line}: {out}");
    }
}

#[test]
fn what_is_wrong_with_a_graph_can_be_saved() {
    let root = tempfile::tempdir().unwrap();
    let line = "a=Flatten@21 axis=0 float[1,1,1,1]{0.0}; Shape a";
    let folder = case(root.path(), "graph", line, Some(&[Tensor::vector(&[1, 1])]));
    let (code, out, _) = replay("in-house,planted/crash", &folder, &[]);
    assert!(code == Some(1) && plain(&out).contains("planted/crash WRONG ends its process\n"), "{out}");
    assert!(out.contains(&format!("crosscheck save '{line}'\n")), "{out}");
    // What is stored is shown by no runtime.
    let wrong = case(root.path(), "wrong", line, Some(&[Tensor::vector(&[1, 2])]));
    let (code, out, _) = replay("in-house", &wrong, &[]);
    assert!(code == Some(1) && out.contains("WRONG") && !out.contains("crosscheck save"), "{out}");
}

#[test]
fn a_model_that_is_no_case_says_why() {
    let root = tempfile::tempdir().unwrap();
    let folder = case(root.path(), "order", "a=Shape@21 float[2] :output; Size a", None);
    rewrite(&folder, |proto| proto.graph.as_mut().unwrap().output.reverse());
    let (code, out, _) = replay(BOTH, &folder, &[]);
    assert!(code == Some(0) && out.contains("the specification demands int64[]{1}, int64[1]{2}"), "{out}");
    assert!(out.contains("no case: its graph outputs are in another order than its nodes\n"), "{out}");
}

#[test]
fn outputs_of_the_operators_under_test_are_held_to_every_bit() {
    let root = tempfile::tempdir().unwrap();
    let stored = floats(&[0.0, 1.000_000_1]);
    let folder =
        case(root.path(), "flatten", "Flatten@13 axis=0 float[2]", Some(&[stored.with_dims(vec![1, 2]).unwrap()]));
    let (code, out, _) = replay("in-house", &folder, &[]);
    assert!(code == Some(1) && out.contains("stored output  WRONG        gives other elements"), "{out}");
}

/// Replays a sum of floats, which no specification here judges, where these runtimes give it.
fn assert_the_stored_output_counts(runtimes: &str, giving: &[&str]) {
    let root = tempfile::tempdir().unwrap();
    let said = "no specification was consulted (any answer will do";
    for (name, stored, expected) in [("right", 3.0, 0), ("close", 3.002, 0), ("off", 3.01, 1)] {
        let folder = sum(root.path(), name, "Add", Some(stored));
        let (code, out, _) = replay(runtimes, &folder, &[]);
        assert!(code == Some(expected) && out.contains(said), "{name}: {out}");
        assert!(plain(&out).contains("in-house unsupported"), "{out}");
        let wrong = out.lines().filter(|line| line.contains("WRONG")).count();
        assert_eq!(wrong, if expected == 1 { giving.len() } else { 0 }, "{out}");
        let note = format!("{} agree with each other, and not with the stored output", giving.join(", "));
        assert_eq!(out.contains(&note), expected == 1 && giving.len() > 1, "{out}");
    }
}

#[test]
fn for_other_operators_the_stored_output_counts_and_it_is_said_that_no_specification_was_consulted() {
    assert_the_stored_output_counts("in-house,tract", &["tract/pinned"]);
}

#[test]
fn what_cuts_numbers_to_32_bits_is_told_as_such() {
    let root = tempfile::tempdir().unwrap();
    let folder = case(root.path(), "cut", "Reshape@28 float[1] int64[1]{4294967297}", None);
    let (code, out, _) = replay("planted/truncates,planted/right", &folder, &[]);
    let said = "planted/truncates  WRONG        does what 64-bit numbers cut to 32 bits would ask for";
    assert!(code == Some(1) && out.contains(said) && out.matches("WRONG").count() == 1, "{out}");
}

#[test]
fn without_stored_outputs_runtimes_are_compared_with_each_other() {
    let root = tempfile::tempdir().unwrap();
    let folder = sum(root.path(), "sum", "Add", None);
    let (code, out, _) = replay("tract", &folder, &[]);
    assert!(code == Some(0) && out.contains("and no output is stored: compared with each other"), "{out}");
    let nobody = sum(root.path(), "nobody", "NoSuchOperator", None);
    let (code, out, _) = replay("in-house,tract/typed", &nobody, &[]);
    assert!(code == Some(0) && out.contains("tract/typed  unsupported"), "{out}");
}

#[test]
fn what_known_issues_explain_is_no_failure_and_is_named() {
    let root = tempfile::tempdir().unwrap();
    let empty = Tensor::from_element_bits(ElementType::Float, vec![1, 0], []).unwrap();
    let folder = case(root.path(), "known", "Flatten@28 axis=0 float[0]", Some(&[empty]));
    let run = |folder: &Path, more: &[&str]| replay("in-house,tract/typed", folder, more);
    let (code, out, _) = run(&folder, &[]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("WRONG        refuses a valid model"), "{out}");
    assert!(out.contains("known as tract-flatten-zero-product"), "{out}");
    assert_eq!(last_row(&out), ["0", "0", "0", "0", "1", "1", "0"], "{out}");
    assert_eq!(run(&folder, &["--ignore-known"]).0, Some(1));
    assert_eq!(run(&folder, &["--ignore-known", "--fail-on", "panic"]).0, Some(0));
    let (_, out, _) = run(&folder, &["--format", "json"]);
    let line: Value = serde_json::from_str(out.trim()).unwrap();
    assert_eq!(line["judged"]["results"][2]["known_as"][0], "tract-flatten-zero-product");
    assert_eq!((&line["judged"]["finding"], &line["judged"]["new"]), (&true.into(), &false.into()));
    let junit = |more: &[&str]| {
        let (_, out, _) = run(&folder, &[&["--format", "junit"], more].concat());
        let suites = quick_junit::Report::deserialize_from_str(&out).unwrap().test_suites;
        (suites[2].failures, suites[2].skipped)
    };
    assert_eq!((junit(&[]), junit(&["--ignore-known"])), ((0, 1), (1, 0)));
    // A wrong stored output is explained by nothing.
    let wrong = case(root.path(), "wrong", "Shape@15 float[2]", Some(&[Tensor::vector(&[3])]));
    assert_eq!(run(&wrong, &[]).0, Some(1));
}

#[test]
fn a_list_of_known_failures_is_strict() {
    let root = tempfile::tempdir().unwrap();
    let stored = floats(&[0.0]).with_dims(vec![1, 1]).unwrap();
    for name in ["crash-1", "crash-2"] {
        case(root.path(), name, "Flatten@28 axis=0 float[1,1,1,1]", Some(std::slice::from_ref(&stored)));
    }
    case(root.path(), "right", "Shape@15 float[2]", Some(&[Tensor::vector(&[2])]));
    let list = root.path().join("known-failures.txt");
    let run = |lines: &str, more: &[&str]| {
        fs::write(&list, lines).unwrap();
        let more = [&["--known-failures", list.to_str().unwrap()], more].concat();
        replay("in-house,planted/crash", root.path(), &more)
    };

    // What is listed and fails is counted as known, and is not shown.
    let both = "# A comment, and an empty line.\n\nplanted  crash-1/test_data_set_0\nplanted/crash crash-2/*\n";
    let (code, out, error) = run(both, &[]);
    assert!(code == Some(0) && error.is_empty() && !out.contains("WRONG"), "{error}{out}");
    assert!(plain(&out).contains("planted/crash 1 0 0 0 2 2 0\n"), "{out}");

    // What fails and is not listed is named as a line for the list.
    let (code, out, error) = run("planted crash-1/test_data_set_0\n", &[]);
    assert!(code == Some(1) && out.contains("/crash-2/") && !out.contains("/crash-1/"), "{out}");
    let folder = root.path().file_name().unwrap().to_str().unwrap();
    let said = format!("known-failures.txt, and fails:\n    planted/crash {folder}/crash-2/test_data_set_0\n");
    assert!(error.ends_with(&said), "{error}");

    // What is listed and does not fail, or is not there, is a failure, and the line is named.
    for (line, why) in [
        ("planted right/*", format!("planted/crash {folder}/right/test_data_set_0 does not fail")),
        ("planted *", format!("planted/crash {folder}/right/test_data_set_0 does not fail")),
        ("planted gone/test_data_set_0", "nothing that was replayed is like it".to_owned()),
        ("other crash-1/*", "nothing that was replayed is like it".to_owned()),
        ("stored output crash-1/*", format!("stored output {folder}/crash-1/test_data_set_0 does not fail")),
    ] {
        let (code, _, error) = run(&format!("{both}{line}\n"), &[]);
        let said = format!("known-failures.txt:5: {line}: {why}\n");
        assert!(code == Some(1) && error.ends_with(&said) && error.contains("To be deleted from "), "{line}: {error}");
        let (code, out, _) = run(&format!("{both}{line}\n"), &["--format", "junit"]);
        let suites = quick_junit::Report::deserialize_from_str(&out).unwrap().test_suites;
        let counts: Vec<_> = suites.iter().map(|suite| (suite.name.as_str(), suite.failures, suite.skipped)).collect();
        let expected = [("stored output", 0, 0), ("in-house", 0, 0), ("planted/crash", 0, 2), ("known failures", 1, 0)];
        assert_eq!((code, counts), (Some(1), expected.to_vec()), "{line}");
    }

    // What is not severe enough to count does not fail.
    assert_eq!(run("", &["--fail-on", "crash"]).0, Some(1));
    assert_eq!(run("planted crash-*\n", &["--fail-on", "crash"]).0, Some(0));
    let wrong = root.path().join("wrong");
    case(&wrong, "wrong", "Shape@15 float[2]", Some(&[Tensor::vector(&[3])]));
    assert_eq!(run("planted crash-*\n", &["--fail-on", "crash"]).0, Some(0));
    assert_eq!(run("planted crash-*\nstored output wrong/*\n", &[]).0, Some(0));
    let (code, _, error) = run("planted crash-*\nstored output wrong/*\n", &["--fail-on", "crash"]);
    assert!(code == Some(1) && error.contains("wrong/wrong/test_data_set_0 does not fail"), "{error}");

    let (code, _, error) = run("planted\n", &[]);
    assert!(code == Some(2) && error.contains("known-failures.txt:1: expected a runtime and a data set"), "{error}");
    fs::remove_file(&list).unwrap();
    let (code, _, error) =
        replay("in-house", root.path(), &["--known-failures", root.path().join("none.txt").to_str().unwrap()]);
    assert!(code == Some(2) && error.contains("none.txt: "), "{error}");
}

/// What is counted of tract/typed.
fn last_row(out: &str) -> Vec<&str> {
    let row = out.lines().rfind(|line| line.trim_start().starts_with("tract/typed")).unwrap();
    row.split_whitespace().skip(1).collect()
}

#[test]
fn what_is_by_design_is_not_wrong_and_the_values_behind_it_are_judged() {
    let root = tempfile::tempdir().unwrap();
    let folder = case(root.path(), "design", "Shape@15 float[2]:input(symbolic)", Some(&[Tensor::vector(&[2])]));
    let run = |more: &[&str]| replay("in-house,tract/typed", &folder, more);
    let (code, out, _) = run(&[]);
    assert_eq!((code, last_row(&out)), (Some(0), vec!["0", "1", "0", "0", "0", "0", "0"]), "{out}");
    let (_, out, _) = run(&["--format", "json"]);
    let line: Value = serde_json::from_str(out.trim()).unwrap();
    let result = &line["judged"]["results"][2];
    assert_eq!((&result["kind"], &result["answer"]), (&"by design".into(), &"int64[1]{2} handed over as TDim".into()));
    assert_eq!(line["judged"]["finding"], false);
    assert_eq!(run(&["--ignore-known"]).0, Some(1));
}

#[test]
fn the_tolerance_can_be_given() {
    let root = tempfile::tempdir().unwrap();
    let folder = sum(root.path(), "off", "Add", Some(3.01));
    let run = |more: &[&str]| replay("tract/pinned", &folder, more);
    for (more, expected) in [
        (&[][..], 1),
        (&["--rtol", "0.004"], 0),
        (&["--rtol", "0", "--atol", "0.02"], 0),
        (&["--rtol", "0", "--atol", "0.001"], 1),
    ] {
        let (code, out, _) = run(more);
        assert_eq!(code, Some(expected), "{more:?}: {out}");
    }
    assert!(run(&["--rtol", "0", "--atol", "0.02"]).1.contains("by the stored output (rtol 0, atol 0.02)"));
    for wrong in ["--rtol=-1", "--atol=NaN", "--atol=much"] {
        let (code, _, error) = run(&[wrong]);
        assert!(code == Some(2) && error.contains("expected a number of 0 or more"), "{error}");
    }
    // Where sums cancel out more is allowed, unless it is said how much.
    let folder = sum(root.path(), "test_dft_mine", "Add", Some(3.0035));
    assert_eq!(replay("tract/pinned", &folder, &[]).0, Some(0));
    assert_eq!(replay("tract/pinned", &folder, &["--atol", "1e-7"]).0, Some(1));
}

#[test]
fn what_is_skipped_is_counted() {
    let root = tempfile::tempdir().unwrap();
    for name in ["test_training_dropout", "test_strnorm_model_monday_empty_output", "test_add", "test_add_bcast"] {
        sum(root.path(), name, "Add", Some(4.0));
    }
    let run = |more: &[&str]| replay("tract/pinned", root.path(), more);
    let (code, out, _) = run(&[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("2 data sets were judged"), "{out}");
    assert!(out.contains("2 skipped: depends on chance; --chance replays them"), "{out}");
    assert!(!out.contains("dropout"), "{out}");
    let (_, out, _) = run(&["--chance"]);
    assert!(out.contains("4 data sets were judged") && !out.contains("skipped"), "{out}");
    for (pattern, skipped) in [("add", 2), ("test*bcast", 1), ("add_*", 1), ("bcast*add", 0)] {
        let (_, out, _) = run(&["--chance", "--skip", pattern]);
        assert!(out.contains(&format!("{} data sets were judged", 4 - skipped)), "{pattern}: {out}");
        assert_eq!(out.contains(&format!("{skipped} skipped: as --skip says")), skipped > 0, "{pattern}: {out}");
    }
    assert_eq!(run(&["--skip", "add", "--skip", "no such"]).0, Some(0));
    let (_, out, _) = run(&["--format", "json"]);
    let reasons = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["skipped"].clone());
    let reasons: Vec<String> = reasons.filter_map(|reason| Some(reason.as_str()?.to_owned())).collect();
    assert!(reasons.len() == 2 && reasons.contains(&"depends on chance: it draws random numbers".to_owned()), "{out}");
}

/// Replaces the model of a folder.
fn rewrite(folder: &Path, change: impl FnOnce(&mut ModelProto)) {
    let model = folder.join("model.onnx");
    let mut proto = ModelProto::decode(&fs::read(&model).unwrap()[..]).unwrap();
    change(&mut proto);
    fs::write(&model, proto.encode_to_vec()).unwrap();
}

#[test]
fn an_input_whose_first_node_changes_nothing_is_fed() {
    let root = tempfile::tempdir().unwrap();
    let folder = sum(root.path(), "whole", "Add", Some(3.0));
    let ints = |name: &str, value: i64| AttributeProto {
        name: Some(name.to_owned()),
        ints: vec![value],
        r#type: Some(attribute_type::INTS),
        ..AttributeProto::default()
    };
    let whole = NodeProto {
        input: vec!["a".to_owned()],
        output: vec!["same".to_owned()],
        op_type: Some("Slice".to_owned()),
        attribute: vec![ints("axes", 0), ints("starts", 0), ints("ends", 1)],
        ..NodeProto::default()
    };
    rewrite(&folder, |proto| {
        let graph = proto.graph.as_mut().unwrap();
        graph.input.iter_mut().for_each(|input| {
            let shape = TensorShapeProto {
                dim: vec![Dimension { value: Some(DimensionValue::Size(1)), ..Dimension::default() }],
            };
            input.r#type.as_mut().unwrap().tensor_type.as_mut().unwrap().shape = Some(shape);
        });
        graph.node[0].input[0] = "same".to_owned();
        graph.node.insert(0, whole);
        // Its numbers became inputs with opset 10.
        proto.opset_import[0].version = Some(9);
    });
    let (code, out, _) = replay("tract", root.path(), &[]);
    assert!(code == Some(0) && out.matches("agrees\n").count() == 4, "{out}");
}

#[test]
fn what_a_runtime_lacks_of_another_operator_is_no_finding() {
    let root = tempfile::tempdir().unwrap();
    let names = ["a", "starts", "ends", "axes"];
    let folder = sum(root.path(), "slice", "Slice", Some(1.0));
    rewrite(&folder, |proto| {
        let graph = proto.graph.as_mut().unwrap();
        graph.node[0].input = names.map(str::to_owned).to_vec();
        let tensor_type = Some(TensorTypeProto { elem_type: Some(7), shape: None });
        let int64 = TypeProto { tensor_type, ..TypeProto::default() };
        let input = |name: &str| ValueInfoProto {
            name: Some(name.to_owned()),
            r#type: Some(int64.clone()),
            ..ValueInfoProto::default()
        };
        graph.input.truncate(1);
        graph.input.extend(names[1..].iter().map(|name| input(name)));
    });
    for (place, value) in [(1, 0), (2, 1), (3, 0)] {
        let tensor = Tensor::vector(&[value]);
        let proto = onnx_crosscheck::model::tensor_proto::write("", &tensor, onnx_crosscheck::case::Encoding::Raw);
        fs::write(folder.join(format!("test_data_set_0/input_{place}.pb")), proto.encode_to_vec()).unwrap();
    }
    let (code, out, _) = replay("tract/pinned", root.path(), &[]);
    assert_eq!(code, Some(0), "{out}");
    let said = "tract/pinned unsupported needs a constant where the model has an input\n";
    assert!(plain(&out).contains(said), "{out}");
}

#[test]
fn what_cannot_be_read_ends_with_2_names_the_file_and_the_rest_is_replayed() {
    let root = tempfile::tempdir().unwrap();
    let shape = |name: &str| case(root.path(), name, "Shape@15 float[2]", Some(&[Tensor::vector(&[2])]));
    shape("whole");
    let model = shape("cut").join("model.onnx");
    let bytes = fs::read(&model).unwrap();
    fs::write(&model, &bytes[..bytes.len() - 3]).unwrap();
    fs::write(shape("garbage").join("test_data_set_0/input_0.pb"), b"\xff\xff\xff").unwrap();
    let other_type = floats(&[1.0]);
    let other = case(root.path(), "other", "Shape@15 int8[1]", None);
    let proto = onnx_crosscheck::model::tensor_proto::write("data", &other_type, onnx_crosscheck::case::Encoding::Raw);
    fs::write(other.join("test_data_set_0/input_0.pb"), proto.encode_to_vec()).unwrap();
    let vast = fs::File::create(shape("vast").join("test_data_set_0/output_0.pb")).unwrap();
    vast.set_len(test_data::MAX_FILE + 1).unwrap();
    fs::remove_file(shape("missing").join("test_data_set_0/input_0.pb")).unwrap();
    fs::remove_dir_all(shape("empty").join("test_data_set_0")).unwrap();
    let (code, out, _) = replay("in-house", root.path(), &[]);
    assert_eq!(code, Some(2), "{out}");
    for said in [
        "cut/model.onnx: not an ONNX model: ",
        "garbage/test_data_set_0/input_0.pb: not a tensor: ",
        "other/test_data_set_0/input_0.pb: it holds float, and the model declares int8",
        "vast/test_data_set_0/output_0.pb: it has 268435457 bytes, and at most 268435456 are read",
        "missing/test_data_set_0: there are 0 files input_K.pb, and the model has 1",
        "empty: there is no test_data_set_0 here",
        "1 data sets were judged",
        "6 could not be read",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }
    let (code, out, error) = replay("in-house", &root.path().join("empty/nothing"), &[]);
    assert!(code == Some(2) && out.is_empty() && error.contains("empty/nothing"), "{error}");
}

#[test]
fn what_is_no_tensor_is_counted_as_not_supported() {
    let root = tempfile::tempdir().unwrap();
    let folder = sum(root.path(), "sequence", "SequenceAt", Some(3.0));
    let model = folder.join("model.onnx");
    let mut proto = ModelProto::decode(&fs::read(&model).unwrap()[..]).unwrap();
    proto.graph.as_mut().unwrap().input[0].r#type = Some(TypeProto::default());
    fs::write(&model, proto.encode_to_vec()).unwrap();
    let (code, out, _) = replay("in-house", root.path(), &[]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("the input `a` is a sequence") && out.contains("1 not supported here"), "{out}");
}

#[test]
fn the_other_formats_can_be_read_and_say_the_same() {
    let root = tempfile::tempdir().unwrap();
    case(root.path(), "right", "Shape@15 float[2]", Some(&[Tensor::vector(&[2])]));
    case(root.path(), "wrong", "Shape@15 float[2]", Some(&[Tensor::vector(&[3])]));
    sum(root.path(), "sum", "Add", Some(3.0));
    fs::write(case(root.path(), "zcut", "Shape@15 float[2]", None).join("model.onnx"), b"\x08").unwrap();
    let (code, out, _) = replay("in-house", root.path(), &["--format", "junit"]);
    assert_eq!(code, Some(2));
    let report = quick_junit::Report::deserialize_from_str(&out).unwrap();
    let suites: Vec<(&str, usize, usize, usize, usize)> = report
        .test_suites
        .iter()
        .map(|suite| (suite.name.as_str(), suite.tests, suite.failures, suite.skipped, suite.errors))
        .collect();
    assert_eq!(suites, [("stored output", 3, 1, 0, 0), ("in-house", 3, 0, 1, 0), ("test data", 1, 0, 0, 1)]);
    let (code, out, _) = replay("in-house", root.path(), &["--format", "json"]);
    assert_eq!(code, Some(2));
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["judged"]["authority"], "specification");
    assert_eq!((&lines[0]["judged"]["finding"], &lines[2]["judged"]["finding"]), (&false.into(), &true.into()));
    assert_eq!(lines[1]["judged"]["authority"], "stored-output");
    assert_eq!(lines[2]["judged"]["results"][0]["kind"], "wrong");
    assert!(lines[3]["error"].as_str().unwrap().contains("zcut/model.onnx"));
}

/// Replays models that are invalid around their node, with an answer that is right but for that, and with a wrong one.
fn assert_invalid_models_may_be_answered(both: &str) {
    let root = tempfile::tempdir().unwrap();
    let lines = ["Flatten@13 float[2,3]:input(unranked)", "Reshape@5 float[2,3] int64[1]{6}:constant"];
    let (right, wrong) = (floats(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), floats(&[6.0]));
    let right = [right.with_dims(vec![2, 3]).unwrap(), right];
    for (index, (line, right)) in lines.iter().zip(right).enumerate() {
        case(root.path(), &format!("{index}-right"), line, Some(&[right]));
        case(root.path(), &format!("{index}-wrong"), line, Some(std::slice::from_ref(&wrong)));
    }
    let (code, out, _) = replay(both, root.path(), &["--format", "json"]);
    assert_eq!(code, Some(1), "{out}");
    for (line, stored) in out.lines().zip(["tolerated", "wrong"].into_iter().cycle()) {
        let replay: Value = serde_json::from_str(line).unwrap();
        let results = replay["judged"]["results"].as_array().unwrap();
        assert_eq!(results[0]["kind"], stored, "{line}");
        assert!(results[1..].iter().all(|result| result["kind"] == "tolerated"), "{line}");
    }
    assert_eq!(out.lines().count(), 4);
}

#[test]
fn a_model_that_is_invalid_around_its_node_may_be_answered_and_only_rightly() {
    assert_invalid_models_may_be_answered(BOTH);
}

/// The program with a cache folder of its own, which is found by this variable on Linux.
#[cfg(target_os = "linux")]
fn with_cache(cache: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    ended(Command::new(env!("CARGO_BIN_EXE_crosscheck")).args(arguments).env("XDG_CACHE_HOME", cache))
}

#[cfg(target_os = "linux")]
const WITH_REFERENCE: [&str; 4] =
    ["run", "--runtimes", "in-house,onnx-reference", "Reshape@26 string[2]{\"a\",\"\\u0000\"} int64[2]{-1,1}"];

#[cfg(target_os = "linux")]
#[test]
fn where_the_reference_evaluator_is_not_installed_it_is_said_how() {
    let root = tempfile::tempdir().unwrap();
    let (code, _, error) = with_cache(root.path(), &WITH_REFERENCE);
    assert!(code == Some(2) && error.contains("`crosscheck runtimes install onnx-reference` installs it"), "{error}");
}

#[test]
fn the_program_of_the_reference_evaluator_is_short() {
    let parts = [include_str!("../src/runtime/python/protocol.py"), include_str!("../src/runtime/python/reference.py")];
    assert!(parts.concat().lines().count() < 90);
}

mod wheels {
    use super::*;

    const WITH_ONNXRUNTIME: &str = "in-house,onnxruntime";

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn a_stored_output_and_onnxruntime_are_held_to_the_specification() {
        assert_both_are_held_to_the_specification(WITH_ONNXRUNTIME, "onnxruntime/all");
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn for_other_operators_the_stored_output_counts_on_onnxruntime_too() {
        let giving = ["onnxruntime/disabled", "onnxruntime/all", "tract/pinned"];
        assert_the_stored_output_counts("in-house,onnxruntime,tract", &giving);
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn without_stored_outputs_what_two_runtimes_give_is_compared() {
        let root = tempfile::tempdir().unwrap();
        let folder = sum(root.path(), "sum", "Add", None);
        let (code, out, _) = replay("onnxruntime,tract", &folder, &[]);
        assert!(code == Some(0) && out.contains("and no output is stored: compared with each other"), "{out}");
        assert!(plain(&out).contains("onnxruntime/all agrees\n"), "{out}");
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn a_model_that_is_invalid_around_its_node_may_be_answered_by_onnxruntime_and_only_rightly() {
        assert_invalid_models_may_be_answered(WITH_ONNXRUNTIME);
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn a_long_message_is_shown_with_its_end_and_is_whole_as_json() {
        let root = tempfile::tempdir().unwrap();
        let folder = case(root.path(), "refused", "Reshape@14 float[3] int64[1]{2}", Some(&[floats(&[0.0, 1.0])]));
        let (_, out, _) = replay("onnxruntime/all", &folder, &["--format", "json"]);
        let json: Value = serde_json::from_str(out.trim()).unwrap();
        let message = json["judged"]["results"][1]["message"].as_str().unwrap();
        assert!(message.len() > 240 && !message.contains('…') && message.contains("requested shape:{2}"), "{message}");
        let (_, out, _) = crosscheck(&["run", "Reshape@14 float[3] int64[1]{2}", "--runtimes", "onnxruntime/all"]);
        let line = out.lines().find(|line| line.contains(" … ")).unwrap_or_else(|| panic!("{out}"));
        assert!(line.contains("Non-zero status code") && line.contains("requested shape:{2}"), "{line}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    #[ignore = "wheels: the package onnx"]
    fn the_reference_evaluator_is_installed_on_request_and_takes_part_where_it_is_named() {
        let root = tempfile::tempdir().unwrap();
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reference");
        let (code, out, error) = with_cache(&cache, &["runtimes", "install", "onnx-reference"]);
        assert!(code == Some(0) && out.contains("onnx-reference 1.22.0 is ready"), "{error}");
        let (code, out, error) = with_cache(&cache, &WITH_REFERENCE);
        assert!(code == Some(0) && out.contains("onnx-reference  agrees"), "{error}{out}");
        let (_, out, _) = with_cache(&cache, &["runtimes"]);
        let line = out.lines().find(|line| line.contains("onnx-reference")).unwrap_or_else(|| panic!("{out}"));
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["onnx-reference", "1.22.0", "ready"], "{out}");
        let stored = floats(&[0.0, 1.0]).with_dims(vec![2, 1]).unwrap();
        let folder = case(root.path(), "flatten", "Flatten@13 axis=1 float[2]", Some(&[stored]));
        let (code, out, _) = with_cache(&cache, &["replay", "--runtimes", "onnx-reference", folder.to_str().unwrap()]);
        assert!(code == Some(0) && out.contains("onnx-reference  agrees"), "{out}");
    }
}
