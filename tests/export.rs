//! The saved regressions and the catalogue as a data set: its parts, its crate, and its runner in Python.

#[expect(dead_code, reason = "the data set is read where it was written, and not where this was built")]
#[path = "../src/finding/corpus/lib.rs"]
mod corpus;
mod program;
mod python;

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use corpus::{Case, Elements, Right, cases_in, expected};
use onnx_crosscheck::case::pattern::PATTERNS;
use onnx_crosscheck::finding;
use onnx_crosscheck::model::Job;
use onnx_crosscheck::runtime::{self, Limits, Outcome, execute_once};
use onnx_crosscheck::tensor::{self, ElementType, Tensor};
use program::crosscheck;
use tempfile::TempDir;

const CHECKOUT: &str = env!("CARGO_MANIFEST_DIR");

/// A data set, and what was said of it.
fn exported(arguments: &[&str]) -> (TempDir, String) {
    let root = tempfile::tempdir().unwrap();
    let to = root.path().join("corpus");
    let (code, out) = crosscheck(Path::new(CHECKOUT), &[&["export", to.to_str().unwrap()], arguments].concat());
    assert_eq!(code, Some(0), "{out}");
    (root, out)
}

/// A data set as it is written by default, which tests only read.
fn usual() -> &'static Path {
    static EXPORTED: LazyLock<TempDir> = LazyLock::new(|| exported(&[]).0);
    EXPORTED.path()
}

fn tensor(of: &corpus::Tensor) -> Tensor {
    let element_type = ElementType::from_data_type(of.element_type).unwrap();
    match &of.elements {
        Elements::Bytes(bytes) => Tensor::from_packed(element_type, of.dims.clone(), bytes.as_slice()).unwrap(),
        Elements::Strings(strings) => Tensor::from_strings(of.dims.clone(), strings.iter().collect()).unwrap(),
    }
}

fn of_corpus(tensor: &Tensor) -> corpus::Tensor {
    let elements = match tensor.elements() {
        tensor::Elements::Packed(bytes) => Elements::Bytes(bytes.to_vec()),
        tensor::Elements::Strings(strings) => Elements::Strings(strings.iter().map(<[u8]>::to_vec).collect()),
    };
    let (element_type, dims) = (tensor.element_type().data_type(), tensor.dims().to_vec());
    corpus::Tensor { name: String::new(), element_type, dims, elements }
}

/// The folders of the cases that a runtime does not do right, as the crate sees it. Without those that take all of its time or
/// memory: whether a case that takes about 2 s is one of them depends on the machine.
fn wrong(cases: &[Case], name: &str) -> BTreeSet<String> {
    let limits = Limits::default().with_program(Path::new(env!("CARGO_BIN_EXE_crosscheck")));
    let mut runtime = runtime::open_apart(&runtime::select(Some(name)).unwrap(), &limits).unwrap().remove(0);
    let mut is_wrong = |case: &&Case| {
        let inputs = case.inputs().unwrap();
        let feeds = inputs.iter().map(|input| (input.name.as_str().into(), tensor(input)));
        let outputs = match execute_once(runtime.as_mut(), &Job::once(case.model().unwrap(), feeds)).outcome {
            Outcome::Answer(outputs) => {
                Some(outputs.iter().map(|output| of_corpus(&output.tensor)).collect::<Vec<_>>())
            }
            Outcome::Refused { .. } | Outcome::Unsupported(_) | Outcome::Unclassified { .. } => None,
            Outcome::TimedOut | Outcome::OutOfMemory => return false,
            _ => return true,
        };
        !case.is_right(outputs.as_deref()).unwrap()
    };
    cases.iter().filter(|case| is_wrong(case)).map(|case| case.folder.clone()).collect()
}

fn listed(root: &TempDir, file: &str) -> BTreeSet<String> {
    let file = root.path().join("corpus/expected").join(file);
    expected(&file).unwrap().into_iter().map(|(folder, _)| folder).collect()
}

#[test]
fn the_crate_lists_what_is_exported_and_tells_right_from_wrong() {
    let (root, out) = exported(&["--expected", "in-house,planted/short-shape"]);
    let cases = cases_in(&root.path().join("corpus")).unwrap();
    let count = |folder: &str| cases.iter().filter(|case| case.folder.starts_with(folder)).count();
    let counts = ["valid/", "must-refuse/", "left-open/"].map(count);
    let [valid, must_refuse, left_open] = counts;
    assert!(counts.iter().all(|count| *count > 200) && counts.iter().sum::<usize>() == cases.len(), "{counts:?}");
    let said = format!("{valid} models with their outputs, {must_refuse} that must be refused, {left_open} that");
    assert!(out.contains(&said), "{out}");
    let version = env!("CARGO_PKG_VERSION");
    assert!(wrong(&cases, "in-house").is_empty() && listed(&root, &format!("in-house-{version}.tsv")).is_empty());
    let wrong = wrong(&cases, "planted/short-shape");
    assert!(wrong.len() > 20, "{wrong:?}");
    assert_eq!(wrong, listed(&root, "planted-0-short-shape.tsv"));
}

#[test]
fn the_manifest_says_what_each_case_is() {
    let cases = cases_in(&usual().join("corpus")).unwrap();
    let folders: BTreeSet<&str> = cases.iter().map(|case| case.folder.as_str()).collect();
    assert_eq!(folders.len(), cases.len());
    let find = |text: &str| cases.iter().find(|case| case.text == text).unwrap_or_else(|| panic!("there is no {text}"));
    let refused = find("Reshape@26 allowzero=1 float[0] int64[2]{-1,0}");
    assert_eq!(refused.rule.as_deref(), Some("zero-and-inferred"));
    assert!(refused.source.starts_with("Reshape-14 and later"));
    assert!(refused.sentence.contains("it is invalid for the specified shape to contain both") && refused.is_minimal);
    assert_eq!((&refused.operators[..], refused.opset), (&["Reshape-25".to_owned()][..], 26));
    assert_eq!(refused.types, ["float", "int64"]);
    assert_eq!(refused.right, [Right::Refusal]);
    let saved = finding::load(Path::new(CHECKOUT)).unwrap();
    let of_one_run = saved.into_iter().map(|saved| saved.case).filter(|case| case.before.is_empty());
    let minimal = of_one_run.collect::<HashSet<_>>().len();
    assert_eq!(cases.iter().filter(|case| case.is_minimal).count(), minimal);
    for case in &cases {
        let is_valid = case.folder.starts_with("valid/");
        assert_eq!(case.rule.is_none(), is_valid, "{}", case.folder);
        assert!(!is_valid || matches!(&case.right[..], [Right::Outputs(folder)] if folder == "test_data_set_0"));
    }
    assert!(cases.iter().any(|case| case.right.contains(&Right::Any)));
    assert!(cases.iter().flat_map(|case| &case.patterns).all(|id| PATTERNS.iter().any(|pattern| pattern.id == id)));
    assert!(cases.iter().any(|case| !case.patterns.is_empty()));
}

#[test]
fn the_layout_is_that_of_onnx_and_is_replayed_without_a_deviation() {
    let to = usual().join("corpus");
    for entry in fs::read_dir(to.join("must-refuse")).unwrap() {
        let data_set = entry.unwrap().path().join("test_data_set_0");
        assert!(data_set.is_dir() && !data_set.join("output_0.pb").exists());
    }
    let folders = ["corpus/valid", "corpus/must-refuse"];
    let (code, out) = crosscheck(usual(), &[&["replay", "--runtimes", "in-house"], &folders[..]].concat());
    assert_eq!(code, Some(0), "{out}");
    let cases = cases_in(&to).unwrap();
    let closed = cases.iter().filter(|case| !case.folder.starts_with("left-open/")).count();
    assert!(out.contains(&format!("{closed} by the specification")), "{out}");
}

/// How many bytes the files below a folder have.
fn bytes(folder: &Path) -> u64 {
    let of = |entry: fs::DirEntry| {
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() { bytes(&entry.path()) } else { metadata.len() }
    };
    fs::read_dir(folder).unwrap().flatten().map(of).sum()
}

#[test]
fn what_is_large_is_left_out_and_counted() {
    let (small, out) = exported(&["--largest", "400"]);
    let cases = |root: &Path| cases_in(&root.join("corpus")).unwrap().len();
    let mut numbers = out.split_whitespace().filter_map(|word| word.parse::<usize>().ok());
    let left_out = numbers.nth(3).unwrap();
    assert!(out.contains(" of more than 400 B and "), "{out}");
    assert!(left_out > 100 && cases(small.path()) + left_out > cases(usual()), "{out}");
    assert!(cases_in(&small.path().join("corpus")).unwrap().iter().all(|case| bytes(&case.path()) <= 400));
    let readme = fs::read_to_string(small.path().join("corpus/README.md")).unwrap();
    assert!(readme.contains(&format!("{left_out} cases of more than 400 bytes are left out")), "{readme}");
}

#[test]
fn a_case_that_needs_runs_before_is_left_out_and_counted() {
    let several = finding::load(Path::new(CHECKOUT)).unwrap().into_iter().filter(|saved| !saved.case.before.is_empty());
    let names: BTreeSet<String> = several.map(|saved| saved.name).collect();
    assert!(!names.is_empty());
    let cases = cases_in(&usual().join("corpus")).unwrap();
    let is_one = |case: &Case| names.contains(case.folder.rsplit('/').next().unwrap());
    assert!(!cases.iter().any(|case| is_one(case) || case.text.contains(" after ")));
    let readme = fs::read_to_string(usual().join("corpus/README.md")).unwrap();
    assert!(
        readme.contains(" cases are\nleft out because they go wrong only in a session that was run before"),
        "{readme}"
    );
}

#[test]
fn a_folder_with_something_in_it_and_a_runtime_that_there_is_not_are_errors() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("mine"), "").unwrap();
    let (code, out) = crosscheck(root.path(), &["export", "."]);
    assert!(code == Some(2) && out.contains("name a folder that is new or empty"), "{out}");
    let (code, out) = crosscheck(root.path(), &["export", "another", "--expected", "theirs"]);
    assert!(code == Some(2) && out.contains("theirs"), "{out}");
    assert!(!root.path().join("another").exists(), "the folder is written before the error");
}

#[test]
fn the_runner_in_python_is_short() {
    assert!(include_str!("../src/finding/corpus/replay.py").lines().count() <= 60);
}

#[test]
fn the_folder_is_a_crate_of_its_own_whose_tests_pass() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--offline"]).current_dir(usual().join("corpus"));
    let output = cargo.env("CARGO_TARGET_DIR", usual().join("target")).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && text.contains("each_tensor_can_be_read ... ok"), "{text}");
}

mod wheels {
    use super::*;

    /// Runs the runner of a data set: its exit status, and what it printed.
    fn run(root: &TempDir) -> (Option<i32>, String) {
        let version = runtime::select(Some("onnxruntime/all")).unwrap().remove(0).id.version;
        let python = python::python(&["onnx==1.22.0", &format!("onnxruntime=={version}")]);
        let output = Command::new(python).arg(root.path().join("corpus/replay.py")).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime, and a virtual environment with onnx and onnxruntime"]
    fn the_runner_in_python_finds_onnxruntime_as_it_is_listed_and_fails_on_all_else() {
        let (root, _) = exported(&["--expected", "onnxruntime/all"]);
        let cases = cases_in(&root.path().join("corpus")).unwrap();
        let version = runtime::select(Some("onnxruntime/all")).unwrap().remove(0).id.version;
        let list = root.path().join(format!("corpus/expected/onnxruntime-{version}-all.tsv"));
        let text = fs::read_to_string(&list).unwrap();
        let known = expected(&list).unwrap();
        let (code, out) = run(&root);
        let said = format!("{} cases, {} known not to be right, 0 FAIL", cases.len(), known.len());
        assert!(code == Some(0) && out.contains(&said), "{out}");
        let listed = |begins: &str| -> BTreeSet<String> {
            let lines = known.iter().filter(|(_, reaction)| reaction.starts_with(begins));
            lines.map(|(folder, _)| folder.clone()).collect()
        };
        let (exhausted, unwritten) = (listed("takes all"), listed("answers with memory"));
        let cast = cases.iter().find(|case| case.text == "Cast@26 to=7 saturate=2 int32[1]{5}").unwrap();
        assert!(unwritten.contains(&cast.folder) && unwritten.len() < 100, "{unwritten:?}");
        let same_each_time = |folders: BTreeSet<String>| &(&folders - &exhausted) - &unwritten;
        assert_eq!(same_each_time(wrong(&cases, "onnxruntime/all")), same_each_time(listed("")));
        // One that is no longer known, one that is right, and one that is held to another output.
        let (gone, _) = known.iter().find(|(_, reaction)| reaction == "answers").unwrap();
        let is_right = |case: &&Case| case.folder.starts_with("valid/shape-") && !text.contains(&case.folder);
        let mut right = cases.iter().filter(is_right);
        let (added, changed) = (right.next().unwrap(), right.next().unwrap());
        let other = cases.iter().find(|case| case.folder.starts_with("valid/flatten-")).unwrap();
        let output = "test_data_set_0/output_0.pb";
        fs::copy(other.path().join(output), changed.path().join(output)).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with(gone.as_str())).map(|line| format!("{line}\n"));
        let changed_text: String = lines.chain([format!("{}\tanswers\n", added.folder)]).collect();
        fs::write(&list, changed_text).unwrap();
        let (code, out) = run(&root);
        let failed: BTreeSet<&str> =
            out.lines().filter_map(|line| line.strip_prefix("FAIL ")?.split(' ').next()).collect();
        assert_eq!(failed, BTreeSet::from([gone.as_str(), &added.folder, &changed.folder]), "{out}");
        assert_eq!(code, Some(1), "{out}");
        fs::remove_file(&list).unwrap();
        assert_eq!(run(&root).0, Some(2), "there is no list for this version");
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn what_is_exported_as_valid_deviates_on_onnxruntime_in_known_ways_only() {
        let folder = usual().join("corpus/valid");
        let valid = fs::read_dir(&folder).unwrap().count();
        let replay = ["replay", "--runtimes", "onnxruntime/all"];
        let (code, out) = crosscheck(Path::new(CHECKOUT), &[&replay[..], &[folder.to_str().unwrap()]].concat());
        assert!(code == Some(0) && out.contains(&format!("{valid} data sets were judged")), "{out}");
    }
}
