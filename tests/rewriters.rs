//! Rewriters of models and backends of ONNX as runtimes: faults that are planted in them, and those that they have.

mod installed;
mod program;
#[cfg(target_os = "linux")]
mod python;

use std::fs;
use std::path::Path;

use program::crosscheck;

#[test]
fn a_rewriter_that_is_not_installed_is_named_with_what_installs_it() {
    let root = tempfile::tempdir().unwrap();
    let (code, out) = crosscheck(root.path(), &["run", "--runtimes", "onnxsim@0.0.1", "Shape@13 float[2]"]);
    assert!(code == Some(2) && out.contains("`crosscheck runtimes install onnxsim@0.0.1` installs it"), "{out}");
}

/// Only on Linux a cache folder is named by this variable.
#[cfg(target_os = "linux")]
#[test]
fn other_releases_that_are_installed_are_listed() {
    let cache = tempfile::tempdir().unwrap();
    for (folder, is_ready) in [("onnxsim-0.4.36", true), ("onnxslim-0.1.50", false)] {
        let folder = cache.path().join("onnx-crosscheck").join(folder);
        fs::create_dir_all(&folder).unwrap();
        if is_ready {
            fs::write(folder.join("ready"), "onnxsim==0.4.36").unwrap();
        }
    }
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_crosscheck"));
    let output = command.arg("runtimes").env("XDG_CACHE_HOME", cache.path()).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("\nOther releases that are ready: onnxsim@0.4.36\n"), "{out}");
}

/// Writes a module of Python and its row, which is called `mine`.
fn write(folder: &Path, kind: &str, python: &Path, module: &str) {
    fs::write(folder.join("mine.py"), module).unwrap();
    let row = format!("[[runtime]]\nname = \"mine\"\nkind = \"{kind}\"\ncommand = ['{}', 'mine']\n", python.display());
    fs::write(folder.join("runtimes.toml"), row).unwrap();
}

#[cfg(target_os = "linux")]
mod wheels {
    use std::process::Command;

    use onnx_crosscheck::runtime::REFERENCE;
    use onnx_crosscheck::runtime::provision::{self, ONNXRUNTIME_VERSION};
    use onnx_crosscheck::runtime::table::named;
    use onnx_crosscheck::runtime::{CHECKER_VERSION, Kind, Supply};

    use super::*;

    fn python() -> std::path::PathBuf {
        python::python(&[&format!("onnx=={CHECKER_VERSION}"), &format!("onnxruntime=={ONNXRUNTIME_VERSION}")])
    }

    /// What is said of `mine` on a case.
    fn judged(folder: &Path, case: &str) -> String {
        let (_, out) = crosscheck(folder, &["run", "--runtimes", "in-house,mine", case]);
        let line = out.lines().find(|line| line.starts_with("mine  ")).unwrap_or_else(|| panic!("{out}"));
        line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    }

    /// It removes each Identity and lets the consumers of its output read its input; an output of the graph has none.
    const DROPS_AN_OUTPUT: &str = "
def rewrite(model):
    graph = model.graph
    for node in [node for node in graph.node if node.op_type == 'Identity']:
        graph.node.remove(node)
        for other in graph.node:
            for place, name in enumerate(other.input):
                if name == node.output[0]:
                    other.input[place] = node.input[0]
        for output in graph.output:
            if output.name == node.output[0] and any(name == node.input[0] for other in graph.node for name in other.output):
                output.name = node.input[0]
    return model
";

    #[test]
    #[ignore = "wheels: the packages onnx and onnxruntime"]
    fn a_rewriter_that_drops_a_node_whose_value_is_an_output_is_found() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "rewriter", &python(), DROPS_AN_OUTPUT);
        assert_eq!(judged(root.path(), "a=Identity@13 float[2]; Flatten a"), "agrees");
        assert_eq!(judged(root.path(), "Identity@13 float[2]"), "WRONG gives a model that is not valid");
        let renamed = judged(root.path(), "a=Flatten@13 float[2]; Identity a");
        assert_eq!(renamed, "WRONG gives a model with another interface");
        let campaign = ["campaign", "--runtimes", "mine", "--operator", "identity", "--cases", "300", "--nodes", "1"];
        let (code, out) = crosscheck(root.path(), &[&campaign[..], &["--output", "out"]].concat());
        assert!(code == Some(1) && out.contains("gives a model that is not valid"), "{out}");
    }

    const FOLDS: &str = "
import onnx

def rewrite(model):
    graph = model.graph
    if [node.op_type for node in graph.node] == ['Shape']:
        dims = [dim.dim_value for dim in graph.input[0].type.tensor_type.shape.dim]
        del graph.node[0].input[:], graph.node[0].attribute[:]
        graph.node[0].op_type = 'Constant'
        graph.node[0].attribute.append(onnx.helper.make_attribute('value_ints', dims))
    return model
";

    /// A bound of Shape is forgotten, and an unknown dim is taken for 0. Below opset 12 there is no attribute of this name.
    #[test]
    #[ignore = "wheels: the packages onnx and onnxruntime"]
    fn a_rewriter_that_folds_too_much_gives_other_elements() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "rewriter", &python(), FOLDS);
        assert_eq!(judged(root.path(), "Shape@15 float[2]"), "agrees");
        assert_eq!(judged(root.path(), "Shape@15 float[2]:input(symbolic)"), "WRONG gives other elements");
        assert_eq!(judged(root.path(), "Shape@15 start=1 float[2,3]"), "WRONG gives other dims");
        assert_eq!(judged(root.path(), "Shape@11 float[2]"), "WRONG gives a model that is not valid");
    }

    /// onnxruntime without optimization answers this model wrongly, or ends its process at it: no fault of a rewriter that changes
    /// nothing.
    #[test]
    #[ignore = "wheels: the packages onnx and onnxruntime"]
    fn what_onnxruntime_does_wrong_is_not_held_against_a_rewriter() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "rewriter", &python(), "rewrite = lambda model: model\n");
        for (case, said) in [
            ("Flatten@13 axis=2 float[1]", "agrees"),
            (WRONG_ON_ONNXRUNTIME, "cannot be judged: onnxruntime is not right about the original model"),
            (FATAL_ON_ONNXRUNTIME, "agrees"),
        ] {
            let judgement = judged(root.path(), case);
            assert!(judgement.contains(said) && !judgement.contains("WRONG"), "{case}: {judgement}");
        }
    }

    /// Where the specification leaves room, onnxruntime may do one thing at one opset and another at the next, and it is not a
    /// rewriter that disagrees with itself.
    #[test]
    #[ignore = "wheels: the packages onnx and onnxruntime"]
    fn a_rewriter_that_refuses_an_opset_does_not_disagree_with_itself() {
        let root = tempfile::tempdir().unwrap();
        let refuses = "
def rewrite(model):
    if model.opset_import[0].version < 9:
        raise ValueError('too old')
    return model
";
        write(root.path(), "rewriter", &python(), refuses);
        let judgement = judged(root.path(), "Cast@6 to=6 int64[1]{2147483648}");
        assert!(judgement.starts_with("tolerated"), "{judgement}");
    }

    /// A `DepthToSpace` that moves nothing becomes an Identity, and an Identity such a `DepthToSpace`. Neither is wrong.
    const EXCHANGES: &str = "
import onnx

def rewrite(model):
    for node in model.graph.node:
        if node.op_type == 'DepthToSpace':
            node.op_type = 'Identity'
            del node.attribute[:]
        elif node.op_type == 'Identity':
            node.op_type = 'DepthToSpace'
            node.attribute.append(onnx.helper.make_attribute('blocksize', 1))
    return model
";

    /// onnxruntime has no kernel for one of the two models: it cannot run the original one and moves the strings of the rewritten
    /// one wrongly, or it cannot run the rewritten one.
    #[test]
    #[ignore = "wheels: the packages onnx and onnxruntime"]
    fn what_onnxruntime_lacks_is_not_held_against_a_rewriter() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "rewriter", &python(), EXCHANGES);
        assert_eq!(judged(root.path(), "Identity@13 float[1,1,1,1]"), "agrees");
        let moved =
            judged(root.path(), "x=string[1,1,1,2]; a=DepthToSpace@13 blocksize=1 x :output; Gather x int64[1]{0}");
        assert_eq!(moved, "unsupported cannot be judged: onnxruntime is not right about the original model");
        assert_eq!(judged(root.path(), "Identity@13 bool[1,1,1,1]"), "unsupported lacks something");
    }

    /// Axes of Pad may be int32. onnxruntime reads those that are an initializer as int64, and no others.
    #[test]
    #[ignore = "wheels: the packages onnx and onnxruntime"]
    fn a_valid_model_that_onnxruntime_refuses_is_not_held_against_a_rewriter() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "rewriter", &python(), DROPS_AN_OUTPUT);
        let with_axes = |axes: &str| {
            judged(root.path(), &format!("a=Identity@21 {axes}[1]{{0}}:initializer; Pad float[1] int64[2]{{1,1}} _ a"))
        };
        assert_eq!([with_axes("int64"), with_axes("int32")], ["agrees", "unsupported lacks something"]);
    }

    const WRONG_ON_ONNXRUNTIME: &str = "Slice@26 float[1,1] int64[1]{1} int64[1]{2147483647} int64[1]{1} int64[1]{-1}";
    const FATAL_ON_ONNXRUNTIME: &str = "Split@26 num_outputs=1 float[1] => 2";

    /// The reference evaluator as a backend, which forgets the axis of Flatten where it is 0.
    const BACKEND: &str = "
import onnx.backend.base
from onnx.reference import ReferenceEvaluator

class Prepared(onnx.backend.base.BackendRep):
    def __init__(self, model):
        for node in model.graph.node:
            if node.op_type == 'Flatten' and [attribute.i for attribute in node.attribute] == [0]:
                del node.attribute[:]
        self.session = ReferenceEvaluator(model)

    def run(self, inputs, **kwargs):
        return self.session.run(None, dict(zip(self.session.input_names, inputs)))

class Backend(onnx.backend.base.Backend):
    @classmethod
    def prepare(cls, model, device='CPU', **kwargs):
        super().prepare(model, device, **kwargs)
        return Prepared(model)
";

    #[test]
    #[ignore = "wheels: the packages onnx and onnxruntime"]
    fn a_fault_in_a_backend_is_found() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "backend", &python(), BACKEND);
        assert_eq!(judged(root.path(), "Flatten@13 axis=1 float[2,3]"), "agrees");
        assert_eq!(judged(root.path(), "Flatten@13 axis=0 float[2,3]"), "WRONG gives other dims");
        assert_eq!(judged(root.path(), "Reshape@13 string[2]{\"a\",\"b\"} int64[2]{2,1}"), "agrees");
    }

    /// The program of each report to a rewriter exits with 1 in its environment, and says what is wrong.
    fn assert_programs_say_so(kind: &Kind) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().display().to_string();
        let (code, out) = crosscheck(
            Path::new("."),
            &["report", "--to", kind.name, "--runtimes", &format!("in-house,{}", kind.name), "--output", &folder],
        );
        assert!(code == Some(0) || kind.known.is_empty(), "{out}");
        let [interpreter, _] = provision::interpreter(kind.name, kind.version).unwrap();
        let mut tests = 0;
        for report in fs::read_dir(root.path()).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
            let program = report.path().join("repro.py");
            let issue = fs::read_to_string(report.path().join("issue.md")).unwrap();
            assert!(program.is_file() || issue.contains("There is no program"), "{issue}");
            if program.is_file() {
                let output = Command::new(&interpreter).arg(&program).output().unwrap();
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                assert!(output.status.code() == Some(1) && said.starts_with("WRONG: "), "{said}: {issue}");
            }
            let test = report.path().join("test_issue.py");
            if test.is_file() {
                let python = python::python(&[&format!("onnx=={}", kind.version), "pytest==9.0.2"]);
                let output = Command::new(&python).args(["-m", "pytest", "-q"]).arg(&test).output().unwrap();
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                // A crash ends pytest itself.
                let is_failure = output.status.code().is_none_or(|code| code == 1 && said.contains("1 failed"));
                assert!(is_failure, "{}: {said}", test.display());
                tests += 1;
            }
        }
        // ONNX tests its reference evaluator with pytest.
        assert_eq!(tests > 5, kind.name == REFERENCE, "{}: {tests}", kind.name);
    }

    #[test]
    #[ignore = "wheels: the packages onnx and opencv-python-headless"]
    fn the_example_of_a_backend_runs_models_on_opencv() {
        let root = tempfile::tempdir().unwrap();
        let python = python::python(&[&format!("onnx=={CHECKER_VERSION}"), "opencv-python-headless==5.0.0.93"]);
        write(root.path(), "backend", &python, include_str!("../examples/opencv_backend.py"));
        assert_eq!(judged(root.path(), "Reshape@13 float[2,3] int64[2]{3,2}"), "agrees");
        assert_eq!(judged(root.path(), "Flatten@13 axis=5 float[2]"), "agrees", "it is to be refused");
        assert_eq!(judged(root.path(), "Identity@13 string[2]"), "unsupported lacks something");
        let (_, out) = crosscheck(root.path(), &["runtimes"]);
        assert!(out.lines().any(|line| line.contains("mine") && line.contains("5.0.0")), "{out}");
    }

    #[test]
    #[ignore = "wheels: the package openvino"]
    fn openvino_gives_tensors_of_types_that_numpy_lacks() {
        let (code, out) = crosscheck(Path::new("."), &["runtimes", "install", "openvino"]);
        assert_eq!(code, Some(0), "{out}");
        for operand in
            ["bfloat16[3]:special", "int4[3]", "uint4[2,2]", "float8e4m3fn[2]:special", "float8e5m2[2]:special"]
        {
            let case = format!("Identity@23 {operand}:initializer");
            let (code, out) = crosscheck(Path::new("."), &["run", &case, "--runtimes", "in-house,openvino"]);
            assert!(code == Some(0) && out.contains("openvino  agrees"), "{case}: {out}");
        }
    }

    #[test]
    #[ignore = "wheels: the package openvino"]
    fn what_openvino_cannot_have_is_no_refusal() {
        let (code, out) = crosscheck(Path::new("."), &["runtimes", "install", "openvino"]);
        assert_eq!(code, Some(0), "{out}");
        let dims = ["1"; 33].join(",");
        for case in ["Identity@28 string[1]:initializer", &format!("Reshape@28 float[1] int64[33]{{{dims}}}")] {
            let (code, out) = crosscheck(Path::new("."), &["run", case, "--runtimes", "in-house,openvino"]);
            assert!(code == Some(0) && out.contains("openvino  unsupported"), "{case}: {out}");
        }
    }

    #[test]
    #[ignore = "wheels: the packages of Python that are runtimes"]
    fn every_known_issue_of_a_package_still_shows_with_its_own_signature() {
        for kind in named().filter(|kind| matches!(kind.supply, Supply::Package(_))) {
            installed::assert_known_issues_show(kind);
            assert_programs_say_so(kind);
        }
    }
}
