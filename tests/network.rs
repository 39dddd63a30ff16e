//! `crosscheck model`: somebody's own model, and the nodes in it that make a runtime go wrong.

mod program;
mod python;

use std::fs;
use std::path::Path;

use onnx_crosscheck::case::Case;
use onnx_crosscheck::model::proto::{EXTERNAL, ModelProto, NodeProto, StringStringEntryProto};
use onnx_crosscheck::model::{self, Job};
use program::crosscheck;
use prost::Message;

/// The model of a case.
fn model(line: &str) -> ModelProto {
    let case: Case = line.parse().unwrap();
    let Job { model, .. } = model::job(&case, &case.tensors());
    model.decode().unwrap()
}

/// Runs `crosscheck model` in a folder on a file of it.
fn run(folder: &Path, bytes: &[u8], arguments: &[&str]) -> (Option<i32>, String) {
    fs::write(folder.join("own.onnx"), bytes).unwrap();
    crosscheck(folder, &[&["model", "own.onnx"], arguments].concat())
}

const CHAIN: &str =
    "x=float[2,3,4]:input(symbolic); a=Transpose@21 x; b=Identity a; s=Shape b; n=Neg s; m=Neg n; Identity m";

#[test]
fn the_node_that_is_wrong_is_named_and_shown_as_a_case() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = model(CHAIN).encode_to_vec();
    let (code, out) = run(folder.path(), &bytes, &["--runtimes", "in-house,planted/short-shape"]);
    assert_eq!(code, Some(1), "{out}");
    for said in [
        "planted/short-shape 0 differs from in-house in the output",
        "It is wrong: the specification defines each bit",
        "1 node is enough of 6: Shape `",
        "is the first value that differs.",
        "on the rest of the untouched model",
        "crosscheck replay 'crosscheck-model/1'",
        "crosscheck run 'Shape@21 float[1,1,1]",
        "crosscheck bisect 'Shape@21 float[1,1,1]",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }
    let again = ["replay", "crosscheck-model/1", "--runtimes", "in-house,planted/short-shape"];
    let (code, out) = crosscheck(folder.path(), &again);
    assert!(code == Some(1) && out.contains("planted/short-shape"), "{out}");
    let (code, out) = run(folder.path(), &bytes, &["--runtimes", "in-house,planted/short-shape", "--no-locate"]);
    assert!(code == Some(1) && !out.contains("node is enough"), "{out}");
}

#[test]
fn where_all_agree_nothing_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--runtimes", "in-house,planted/right", "--dim", "d0=0,5"];
    let bytes = model(CHAIN).encode_to_vec();
    let symbol = crosscheck(folder.path(), &["model", "none.onnx"]);
    assert!(symbol.0 == Some(2) && symbol.1.contains("none.onnx"), "{symbol:?}");
    let (code, out) = run(folder.path(), &bytes, &["--runtimes", "in-house,planted/right"]);
    assert!(code == Some(0) && out.contains("Nothing differs"), "{out}");
    assert!(
        out.lines().any(|line| line.starts_with("sizes 4: ") && line.contains("=0")),
        "also with a dim of zero: {out}"
    );
    let (code, out) = run(folder.path(), &bytes, &arguments);
    assert!(code == Some(2) && out.contains("--dim: no input has a dim `d0`; there are "), "{out}");
}

#[test]
fn a_crash_that_comes_and_goes_is_no_other_result() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = model("Flatten@21 float[2,3]").encode_to_vec();
    let (code, out) = run(folder.path(), &bytes, &["--runtimes", "in-house,planted/crashes-at-times"]);
    assert_eq!(code, Some(1), "{out}");
    for said in [
        "FAILS at times: it is aborted",
        "planted/crashes-at-times 0 is not deterministic: with the same model and inputs, some runs give an answer, and in others it is aborted.",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }
    assert!(!out.contains("DIFFERS") && !out.contains("Nothing differs"), "{out}");
    let (code, out) = run(folder.path(), &bytes, &["--runtimes", "in-house,planted/differs-at-times"]);
    assert!(code == Some(1) && out.contains("DIFFERS from itself") && !out.contains("FAILS"), "{out}");
    let bytes = model("Flatten@21 float[0,3]").encode_to_vec();
    let (code, out) = run(folder.path(), &bytes, &["--runtimes", "in-house,planted/panic"]);
    assert!(code == Some(1) && out.contains("FAILS: it ") && !out.contains("deterministic"), "{out}");
}

#[test]
fn a_file_that_cannot_be_right_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let whole = model(CHAIN);
    let bytes = whole.encode_to_vec();
    let with = |change: &dyn Fn(&mut ModelProto)| {
        let mut model = whole.clone();
        change(&mut model);
        model.encode_to_vec()
    };
    let external = |length: &'static str| {
        move |model: &mut ModelProto| {
            let entry = |key: &str, value: &str| StringStringEntryProto {
                key: Some(key.to_owned()),
                value: Some(value.to_owned()),
            };
            let mut other = self::model("Reshape@21 float[2] int64[1]{2}:initializer");
            let tensor = &mut other.graph.as_mut().unwrap().initializer[0];
            (tensor.raw_data, tensor.int64_data) = (None, vec![]);
            tensor.data_location = Some(EXTERNAL);
            tensor.external_data = vec![entry("location", "weights.bin"), entry("length", length)];
            *model = other;
        }
    };
    let foreign = |model: &mut ModelProto| {
        let node = &mut model.graph.as_mut().unwrap().node[0];
        (node.domain, node.op_type) = (Some("my.domain".to_owned()), Some("Warp".to_owned()));
    };
    let circle = |model: &mut ModelProto| {
        let graph = model.graph.as_mut().unwrap();
        let last = graph.node.last().unwrap().output[0].clone();
        graph.node[0].input[0] = last;
    };
    fs::write(folder.path().join("short.bin"), [0; 7]).unwrap();
    for (bytes, said) in [
        (bytes[..bytes.len() / 2].to_vec(), "it is no ONNX model, or the file is cut off"),
        (vec![], "the file is empty"),
        (b"version https://git-lfs.github.com/spec/v1\n".to_vec(), "`git lfs pull` fetches that"),
        (with(&external("8")), "weights.bin is not there, which holds the elements of 1 tensors"),
        (with(&foreign), "no runtime runs this model; it has the operators my.domain.Warp"),
        (with(&circle), "its nodes take from each other in a circle"),
        (with(&|model| model.graph.as_mut().unwrap().node.clear()), "the model has no nodes"),
    ] {
        let (code, out) = run(folder.path(), &bytes, &["--runtimes", "in-house"]);
        assert!(code == Some(2) && out.contains(said), "{said}: {out}");
    }
    fs::write(folder.path().join("weights.bin"), [0; 7]).unwrap();
    let (code, out) = run(folder.path(), &with(&external("8")), &["--runtimes", "in-house"]);
    assert!(code == Some(2) && out.contains("weights.bin is cut off: it has 7 bytes"), "{out}");
    fs::write(folder.path().join("weights.bin"), 2_i64.to_le_bytes()).unwrap();
    let (code, out) = run(folder.path(), &with(&external("8")), &["--runtimes", "in-house"]);
    assert!(code == Some(0) && out.contains("Nothing differs"), "{out}");
    let (code, out) = crosscheck(folder.path(), &["model", "."]);
    assert!(code == Some(2) && out.contains("`crosscheck replay` takes folders"), "{out}");
}

#[test]
fn what_real_models_bend_is_taken_with_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let mut bent = model(CHAIN);
    bent.opset_import.push(onnx_crosscheck::model::proto::OperatorSetIdProto {
        domain: Some("not.used".to_owned()),
        version: Some(1),
    });
    let graph = bent.graph.as_mut().unwrap();
    let shape = graph.input[0].r#type.as_mut().unwrap().tensor_type.as_mut().unwrap().shape.as_mut().unwrap();
    shape.dim[0].value = Some(onnx_crosscheck::model::proto::DimensionValue::Size(-1));
    shape.dim[1].value = Some(onnx_crosscheck::model::proto::DimensionValue::Symbol("?".to_owned()));
    let mut unused = graph.input[0].clone();
    unused.name = Some("unused".to_owned());
    graph.input.push(unused);
    graph.node.iter_mut().for_each(|node: &mut NodeProto| node.name = None);
    let (code, out) = run(folder.path(), &bent.encode_to_vec(), &["--runtimes", "in-house,planted/right"]);
    assert_eq!(code, Some(0), "{out}");
    for said in [
        "declares its dim 0 as -1, which is no size: it is taken as unknown",
        "no node takes its input `unused`",
        "no node is of the domain `not.used`, which it imports",
        "unused.1=",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }
    bent.graph.as_mut().unwrap().node.reverse();
    let (_, out) = run(folder.path(), &bent.encode_to_vec(), &["--runtimes", "in-house"]);
    assert!(out.contains("note: its nodes are not in the order in which they take from each other"), "{out}");
}

mod wheels {
    use super::*;

    const PACKAGES: &[&str] = &["onnx==1.22.0", "onnxruntime==1.26.0"];

    /// A folder with the network, and a runtime `faulty` with this fault.
    fn folder(fault: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let python = python::python(PACKAGES);
        let script = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(name);
        let mut write = std::process::Command::new(&python);
        let written = write.arg(script("network.py")).arg(folder.path().join("network.onnx")).status().unwrap();
        assert!(written.success());
        let command = [python, script("faulty.py")].map(|path| path.display().to_string());
        let [python, program] = &command;
        let row = format!(
            "[[runtime]]\nname = \"faulty\"\nkind = \"command\"\ncommand = [{python:?}, {program:?}, {fault:?}]\n"
        );
        fs::write(folder.path().join("runtimes.toml"), row).unwrap();
        folder
    }

    /// What is said of the network with this fault.
    fn said(fault: &str) -> String {
        let folder = folder(fault);
        let (code, out) =
            crosscheck(folder.path(), &["model", "network.onnx", "--runtimes", "onnxruntime,tract,faulty"]);
        assert_eq!(code, Some(1), "{out}");
        assert!(out.contains("network.onnx: 40 nodes, opset 17"), "{out}");
        let accused = "faulty 1.26.0 differs from onnxruntime/disabled in the output `shares` with batch=1";
        assert!(out.contains(accused) && out.matches(" differs from ").count() == 1, "{out}");
        assert!(out.contains("It is likely wrong: several independent implementations agree against it."), "{out}");
        assert!(out.contains("with the right value there, faulty agrees on the rest of the untouched model"), "{out}");
        let sides = "onnxruntime/disabled, onnxruntime/all, tract/typed, tract/optimized, tract/pinned against faulty";
        assert!(out.contains(sides), "{out}");
        for (runtime, expected) in [("faulty", Some(1)), ("onnxruntime", Some(0))] {
            let (code, out) = crosscheck(folder.path(), &["replay", "crosscheck-model/1", "--runtimes", runtime]);
            assert_eq!(code, expected, "{runtime}: {out}");
        }
        out
    }

    #[test]
    #[ignore = "wheels: onnxruntime, and a virtual environment with it"]
    fn a_node_that_is_wrong_for_one_shape_is_found() {
        let out = said("one-shape");
        assert!(out.contains("1 node is enough of 40: Relu `relu_5`."), "{out}");
        assert!(out.contains("`relu_5` is the first value that differs."), "{out}");
    }

    #[test]
    #[ignore = "wheels: onnxruntime, and a virtual environment with it"]
    fn a_fusion_that_is_wrong_is_found_with_both_of_its_nodes() {
        let out = said("pair");
        assert!(out.contains("2 nodes are enough of 40: Mul `mul_4` -> Sub `sub_4`."), "{out}");
        assert!(out.contains("`sub_4` is the first value that differs."), "{out}");
    }

    #[test]
    #[ignore = "wheels: onnxruntime, and a virtual environment with it"]
    fn a_fault_that_is_gone_where_values_are_seen_is_found_by_cutting() {
        let out = said("hidden-pair");
        assert!(out.contains("2 nodes are enough of 40: Mul `mul_4` -> Sub `sub_4`."), "{out}");
        assert!(out.contains("The difference is gone where values between nodes are made graph outputs"), "{out}");
    }
}
