//! Reports of every known issue, and the programs in them: they run, and say what the ledger says.

mod compiled;
mod python;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use onnx_crosscheck::case::Case;
use onnx_crosscheck::finding::upstream::{Report, Subject};
use onnx_crosscheck::finding::{Cause, Ledger, Probe, State, is_first_stage, load};
use onnx_crosscheck::operator::Expectation;
use onnx_crosscheck::runtime::REFERENCE_VERSION;
use onnx_crosscheck::runtime::provision::{ONNXRUNTIME, ONNXRUNTIME_VERSION};
use onnx_crosscheck::runtime::{self, select};
use onnx_crosscheck::verdict::{Discrepancy, Mismatch};
use serde_json::Value;

/// Issues that are gone in the release under test, where their case shows another one, or is not supported: their programs still say
/// that it is wrong.
const WRONG_OTHERWISE: &[&str] = &[
    "tract-axis-ops-no-group-panic",
    "tract-gather-nd-inferred-dims",
    "tract-pad-wrap",
    "tract-shape-start-past-rank",
];

/// Issues whose model the text syntax of ONNX cannot express.
const WITHOUT_TEXT: &[&str] = &[];

/// What no maintainer of another project knows.
const TERMS: &[&str] = &[
    "wiring",
    "operand",
    "in-house",
    "ledger",
    "mismatch",
    "onnxruntime/",
    "tract/",
    "pinned",
    "(U1",
    "(U2",
    "(U3",
    "(U4",
    "(U5",
    "(U6",
    "(U7",
    "; rule ",
    "to be written",
];

fn ledger() -> &'static Ledger {
    static LEDGER: OnceLock<Ledger> = OnceLock::new();
    LEDGER.get_or_init(|| Ledger::load().unwrap())
}

/// Runs the program with no other releases at hand than the one under test, as on a fresh machine.
fn crosscheck(arguments: &[&str], library: Option<&Path>) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosscheck"));
    command.args(arguments).env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-cache"));
    command.envs(library.map(|library| (ONNXRUNTIME.variable, library)));
    let output = command.output().unwrap();
    (output.status.code(), text(&output))
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// Writes a report of every known issue of one of these runtimes into a folder of a name.
fn write_reports(name: &str, to: &[&str], arguments: &[&str], library: Option<&Path>) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    for runtime in to {
        let report = ["report", "--to", runtime, "--output", folder.to_str().unwrap()];
        let (code, out) = crosscheck(&[&report[..], arguments].concat(), library);
        assert_eq!(code, Some(0), "{out}");
        // What is fixed is reported where it is named.
        for cause in causes(runtime) {
            let is_fixed = matches!(cause.state, State::FixedIn(_));
            assert_eq!(folder.join(&cause.id).is_dir(), !is_fixed, "{}", cause.id);
            if is_fixed {
                let report = ["report", cause.id.as_str(), "--to", runtime, "--output", folder.to_str().unwrap()];
                let (code, out) = crosscheck(&[&report[..], arguments].concat(), library);
                assert_eq!(code, Some(0), "{out}");
            }
        }
    }
    folder
}

/// The folder with the reports to tract on the runtimes that are linked, written once.
fn reports_to_tract() -> &'static Path {
    static REPORTS: OnceLock<PathBuf> = OnceLock::new();
    REPORTS.get_or_init(|| write_reports("reports-to-tract", &["tract"], &["--runtimes", "in-house,tract"], None))
}

/// The causes of a runtime that are reported.
fn causes(runtime: &str) -> impl Iterator<Item = &'static Cause> {
    ledger().causes.iter().filter(move |cause| cause.runtime_name() == runtime && cause.is_defect())
}

/// Whether what a program printed is what the ledger says of an issue.
fn assert_says_so(cause: &Cause, code: Option<i32>, printed: &str) {
    let is_wrong_otherwise = WRONG_OTHERWISE.contains(&cause.id.as_str());
    let is_fixed = matches!(cause.state, State::FixedIn(_)) && !is_wrong_otherwise;
    let (status, word) = if is_fixed { (0, "RIGHT: ") } else { (1, "WRONG: ") };
    let lines: Vec<&str> =
        printed.lines().filter(|line| line.starts_with("RIGHT") || line.starts_with("WRONG")).collect();
    assert!(
        code == Some(status) && lines.len() == 1 && lines[0].starts_with(word),
        "{}: {code:?}: {printed}",
        cause.id
    );
    if is_fixed {
        return;
    }
    if is_wrong_otherwise {
        assert!(!lines[0].contains("panics"), "{}", lines[0]);
        return;
    }
    let said = |words: &str| {
        let without_digits = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
        let spaced = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            spaced(&without_digits(lines[0])).contains(&without_digits(words)),
            "{} does not say `{words}`: {}",
            cause.id,
            lines[0]
        );
    };
    // The first variant is the one that is reported.
    let signature = &cause.variants[0].signature;
    let reaction = signature.reaction.as_str();
    match signature.discrepancies[0] {
        Discrepancy::Panic => said(&format!("panics: {}", reaction.split_once(": ").unwrap().1)),
        Discrepancy::AcceptsInvalid | Discrepancy::AcceptsLeniently | Discrepancy::Truncates => {
            assert!(!lines[0].contains("gives the error") && !lines[0].contains("panics"), "{}", lines[0]);
            // What is cut may be valid as it stands.
            let reported: Case = cause.variants[0].case.parse().unwrap();
            said(match reported.expectation(&reported.tensors()) {
                Expectation::Defined(_) => " tensor of shape [",
                _ => "; expected is an error, when the model is loaded or when it is run",
            });
        }
        Discrepancy::RefusesValid => said("gives the error: "),
        Discrepancy::WrongType => said(match reaction {
            "int32" => ",I32",
            "int64" => ",I64",
            "double" => ",F64",
            other => other,
        }),
        Discrepancy::WrongValue | Discrepancy::WrongDims | Discrepancy::WrongRank => {
            let (_, expected) = lines[0].split_once("; expected is ").unwrap();
            let is_declared = signature.discrepancies.contains(&Discrepancy::Undeclared)
                && expected.contains(" that the runtime itself declares");
            let is_tensor = expected.starts_with('a') && expected.contains(" tensor of shape [");
            assert!(is_tensor || is_declared, "{}", lines[0]);
        }
        Discrepancy::Crash => said("ends its process with"),
        Discrepancy::Exhaustion => said("gives no answer within s; expected is a"),
        Discrepancy::Undeclared => said("declares the shape "),
        Discrepancy::ConfigurationsDisagree | Discrepancy::WiringsDisagree | Discrepancy::OpsetsDisagree => {
            said("; expected is the same each time");
            // Each comes with how the model was prepared, in parentheses.
            let is_failure = lines[0].contains("gives the error") || lines[0].contains("panics");
            let answer = |text: &str| Some(text.split_once("gives ")?.1.rsplit_once(" (")?.0.to_owned());
            let (one, other) = lines[0].split_once(", but ").unwrap();
            assert!(is_failure || answer(one) != answer(other), "{}", lines[0]);
        }
        other => panic!("say here what a program prints of {other}"),
    }
}

/// Each kind of program, and models of which it says that the runtime is right.
const KINDS: [Discrepancy; 4] =
    [Discrepancy::Undeclared, Discrepancy::Crash, Discrepancy::WrongValue, Discrepancy::ConfigurationsDisagree];
const LINES: [&str; 6] = [
    "Flatten@13 float[2,2]",
    r#"Flatten@13 axis=0 string[3]{"a\"b","","ä"}"#,
    "Reshape@13 float16[2,2]:special int64[1]{4}:initializer",
    "Reshape@13 uint64[1]{18446744073709551615} int64[2]{1,1}:initializer",
    "Flatten@13 bool[2]",
    "Flatten@13 double[1]{-0.0}",
];

/// Reports of what is not so.
fn made_up_reports(runtime: &str, kinds: &[Discrepancy], lines: &[&str], root: &Path) -> Vec<(String, PathBuf)> {
    let cases = kinds.iter().flat_map(|kind| lines.iter().map(move |line| (*kind, *line)));
    let mut probe = Probe::new(runtime::open(&select(Some(runtime)).unwrap()).unwrap());
    let ids = probe.ids();
    let write = |(number, (kind, line)): (usize, (Discrepancy, &str))| {
        let case: Case = line.parse().unwrap();
        let mismatch = Mismatch {
            discrepancies: vec![kind],
            operator: case.subject(),
            runtime: ids[0].release(),
            rule: None,
            reaction: String::new(),
        };
        let name = format!("made-up-{}-{number}", kind.id());
        let subject = Subject { name: name.clone(), known: None, case, mismatch, pass: None, ids: ids.clone() };
        let folder = root.join(&name);
        Report::new(&subject, ledger(), &mut probe, &|_, _| None).write(&folder).unwrap();
        (name, folder)
    };
    cases.enumerate().map(write).collect()
}

/// Holds the reports to a runtime against what its maintainers know.
fn assert_reports_need_no_term(runtime: &str, reports: &Path) {
    for cause in causes(runtime) {
        let issue = fs::read_to_string(reports.join(&cause.id).join("issue.md")).unwrap();
        // The last line says how to run the model here again, and what is quoted as code are the runtimes' own words.
        let lines = issue.lines().filter(|line| !line.contains("crosscheck run"));
        let plain: String = lines.flat_map(|line| line.split('`').step_by(2).chain(["\n"])).collect();
        let used: Vec<&&str> = TERMS.iter().filter(|term| plain.contains(**term)).collect();
        assert!(used.is_empty(), "{}: {used:?}", cause.id);
        let title = issue.lines().next().unwrap().trim_start_matches("# ");
        assert!(!issue.lines().skip(1).any(|line| line.contains(title)), "the title is said twice: {issue}");
        for number in 1..cause.variants.len() {
            let also = format!("also/{number}");
            let is_named = |line: &str| line.starts_with("| `also/") && line.contains(&format!("`{also}`"));
            assert!(issue.lines().any(is_named), "{issue}");
            assert!(reports.join(&cause.id).join(also).join("model.onnx").is_file(), "{}", cause.id);
        }
        let parts = [
            "# ",
            "\n## What ONNX says",
            "\n## The model",
            "\n## Expected and actual",
            "\n## What each runtime does",
            "\n## Where it shows",
            "\n## To reproduce",
            "\n## Versions",
            "\n## How it was found",
        ];
        assert!(parts.iter().all(|part| issue.contains(part)), "{issue}");
        let lines: Vec<&str> = issue.lines().collect();
        let is_apart = lines.windows(2).all(|pair| pair[0].is_empty() || !pair[1].starts_with("## "));
        assert!(is_apart && !plain.contains("{{") && !plain.contains("none |"), "{issue}");
    }
}

#[test]
fn a_report_to_tract_needs_no_term_of_this_project() {
    assert_reports_need_no_term("tract", reports_to_tract());
}

/// A package onnxruntime with faults, in place of the real one.
const FAKE: &str = r#"
import os, time
import numpy
from onnx import helper
__version__ = "0.0"
class GraphOptimizationLevel:
    ORT_DISABLE_ALL = ORT_ENABLE_ALL = 0
class SessionOptions:
    pass
class OrtValue:
    def __init__(self, array):
        self.array = numpy.ascontiguousarray(array)
    def ortvalue_from_shape_and_type(shape, element_type):
        return OrtValue(numpy.zeros(shape, helper.tensor_dtype_to_np_dtype(element_type)))
    def data_ptr(self):
        return self.array.ctypes.data
    def element_type(self):
        return helper.np_dtype_to_tensor_dtype(self.array.dtype)
    def shape(self):
        return list(self.array.shape)
    def tensor_size_in_bytes(self):
        return self.array.nbytes
class InferenceSession:
    def __init__(self, *arguments, **named):
        FAULT
    def run_with_ort_values(self, names, feeds):
        return [OrtValue(numpy.float32([[0, 1], [2, WRONG]]))]
    def get_outputs(self):
        return [type("Output", (), {"shape": [2, "x"]})]
"#;

mod slow {
    use super::compiled::{TEST, compiled, compiled_tests, passes};
    use super::*;

    /// The command that builds the tract that this test is linked with.
    fn build() -> Vec<String> {
        let executable = std::env::current_exe().unwrap();
        let profile = executable.parent().and_then(Path::parent).unwrap();
        let target = profile.parent().unwrap().to_str().unwrap();
        let mut build = vec!["test", "--no-run", "--test", "report", "--target-dir", target];
        if profile.ends_with("release") {
            build.push("--release");
        }
        build.into_iter().map(str::to_owned).collect()
    }

    #[test]
    #[ignore = "slow: tests are compiled"]
    fn the_tests_in_rust_fail_until_tract_is_right() {
        let root = tempfile::tempdir().unwrap();
        let build = build();
        let has_test = |folder: &PathBuf| folder.join(TEST).is_file();
        let of_ledger: Vec<(&Cause, PathBuf)> = causes("tract")
            .map(|cause| (cause, reports_to_tract().join(&cause.id)))
            .filter(|(_, folder)| has_test(folder))
            .collect();
        assert!(of_ledger.len() > 80, "{}", of_ledger.len());
        let folders: Vec<PathBuf> = of_ledger.iter().map(|(_, folder)| folder.clone()).collect();
        let build: Vec<&str> = build.iter().map(String::as_str).collect();
        let tests = compiled_tests(&folders, root.path(), &build);
        for (cause, folder) in of_ledger {
            let is_fixed = matches!(cause.state, State::FixedIn(_)) && !WRONG_OTHERWISE.contains(&cause.id.as_str());
            assert_eq!(passes(&tests, &folder), is_fixed, "{}", cause.id);
        }
    }

    #[test]
    #[ignore = "slow: a program is compiled"]
    fn the_program_in_rust_compiles_and_says_what_the_ledger_says() {
        let root = tempfile::tempdir().unwrap();
        let made_up = made_up_reports("tract", &KINDS, &LINES, root.path());
        let of_ledger: Vec<_> = causes("tract").map(|cause| (cause, reports_to_tract().join(&cause.id))).collect();
        let build = build();
        let program = compiled(&of_ledger[0].1, root.path(), &build.iter().map(String::as_str).collect::<Vec<_>>());
        let run = |folder: &Path| {
            let output = Command::new(&program).current_dir(folder).output().unwrap();
            (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
        };
        for (cause, folder) in &of_ledger {
            let (code, printed) = run(folder);
            assert_says_so(cause, code, &printed);
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            let last = &cause.variants[0].last_version;
            assert!(manifest.contains(&format!("tract-onnx = {{ version = \"={last}\"")), "{manifest}");
            let issue = fs::read_to_string(folder.join("issue.md")).unwrap();
            assert!(issue.contains(" The first build takes four minutes on two cores."), "{issue}");
        }
        // Of a model that tract does right, the program says so whatever it was written for.
        for (name, folder) in made_up {
            let (code, printed) = run(&folder);
            assert!(code == Some(0) && printed.starts_with("RIGHT: tract "), "{name}: {code:?}: {printed}");
        }
    }
}

mod wheels {
    use super::python::python;
    use super::*;

    /// The packages that a reproducer for the release under test asks for.
    fn packages() -> [String; 2] {
        [format!("onnxruntime=={ONNXRUNTIME_VERSION}"), format!("onnx=={REFERENCE_VERSION}")]
    }

    fn interpreter() -> PathBuf {
        python(&packages().each_ref().map(String::as_str))
    }

    /// Runs a script: its exit status and what it printed.
    fn run_python(interpreter: &Path, script: &Path, fake: Option<&Path>) -> (Option<i32>, String) {
        let mut command = Command::new(interpreter);
        command.arg(script);
        if let Some(fake) = fake {
            command.env("PYTHONPATH", fake);
        }
        let output = command.output().unwrap();
        (output.status.code(), text(&output))
    }

    /// The folder with all reports on all runtimes, written once.
    fn reports() -> &'static Path {
        static REPORTS: OnceLock<PathBuf> = OnceLock::new();
        REPORTS.get_or_init(|| write_reports("reports", &["onnxruntime", "tract"], &[], Some(&library())))
    }

    fn library() -> PathBuf {
        ONNXRUNTIME.provision(ONNXRUNTIME_VERSION).unwrap()
    }

    fn crosscheck(arguments: &[&str]) -> (Option<i32>, String) {
        super::crosscheck(arguments, Some(&library()))
    }

    #[test]
    #[ignore = "wheels: the packages of onnxruntime and onnx"]
    fn the_programs_in_python_say_what_the_ledger_says() {
        let interpreter = interpreter();
        for cause in causes("onnxruntime") {
            let folder = reports().join(&cause.id);
            let (code, printed) = run_python(&interpreter, &folder.join("repro.py"), None);
            assert_says_so(cause, code, &printed);
            assert!(printed.contains(&format!("onnxruntime {ONNXRUNTIME_VERSION} ")), "{printed}");
            // What is fixed is reported to the last release that has it.
            let last = cause.variants[0].last_version.as_str();
            let asked = format!("    pip install {}", packages().join(" ")).replace(ONNXRUNTIME_VERSION, last);
            assert!(fs::read_to_string(folder.join("issue.md")).unwrap().contains(&asked));
        }
    }

    #[test]
    #[ignore = "wheels: the packages of releases of onnxruntime, and of onnx"]
    fn the_program_of_what_is_fixed_says_that_it_is_wrong_on_the_last_release_that_has_it() {
        let mut releases = BTreeSet::new();
        // What lies in memory that was never written may be right by chance.
        let is_written = |cause: &&Cause| !cause.variants[0].is_unwritten;
        for cause in causes("onnxruntime").filter(|cause| matches!(cause.state, State::FixedIn(_))).filter(is_written) {
            let last = &cause.variants[0].last_version;
            let interpreter = python(&[&format!("onnxruntime=={last}"), &packages()[1]]);
            let (code, printed) = run_python(&interpreter, &reports().join(&cause.id).join("repro.py"), None);
            let says = printed.contains(&format!("WRONG: onnxruntime {last} "));
            assert!(code == Some(1) && says, "{}: {code:?}: {printed}", cause.id);
            releases.insert(last);
        }
        assert!(releases.len() > 5, "{releases:?}");
    }

    /// The headers that the tests in C++ include.
    const HEADERS: [&str; 4] = [
        "gtest/gtest.h",
        "test/providers/provider_test_utils.h",
        "test/optimizer/graph_transform_test_builder.h",
        "test/optimizer/graph_transform_test_fixture.h",
    ];

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn the_tests_in_cpp_compile_with_the_calls_of_onnxruntimes_test_library() {
        let root = tempfile::tempdir().unwrap();
        let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cpp/onnxruntime_tests.h");
        for header in HEADERS {
            let header = root.path().join(header);
            fs::create_dir_all(header.parent().unwrap()).unwrap();
            fs::write(header, format!("#include \"{}\"\n", library.display())).unwrap();
        }
        let files = causes("onnxruntime").map(|cause| reports().join(&cause.id).join("issue_test.cc"));
        let files: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
        let texts: Vec<String> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        for form in ["OpTester test(", "TransformerTester("] {
            let count = texts.iter().filter(|text| text.contains(form)).count();
            assert!(count > 5, "{form}: {count}");
        }
        let (all, program) = (root.path().join("all.cc"), root.path().join("all"));
        let lines = files.iter().map(|file| format!("#include \"{}\"\n", file.display()));
        fs::write(&all, lines.chain(["int main() {}\n".to_owned()]).collect::<String>()).unwrap();
        let mut compiler = Command::new(std::env::var_os("CXX").unwrap_or("c++".into()));
        compiler.args(["-std=c++20", "-Wall", "-Werror", "-Wno-unused-variable", "-I"]).arg(root.path());
        let output = compiler.arg(&all).arg("-o").arg(&program).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let output = Command::new(&program).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        assert_eq!(text(&output).lines().filter(|line| *line == "ran").count(), files.len());
    }

    #[test]
    #[ignore = "wheels: the library of onnxruntime"]
    fn what_a_pass_leaves_of_the_model_stands_in_the_report() {
        let is_open = |cause: &&Cause| !matches!(cause.state, State::FixedIn(_));
        let mut with_pass = 0;
        let is_optimized =
            |cause: &&Cause| cause.variants[0].pass.as_ref().is_some_and(|pass| !is_first_stage("onnxruntime", pass));
        for cause in causes("onnxruntime").filter(is_open).filter(is_optimized) {
            let issue = fs::read_to_string(reports().join(&cause.id).join("issue.md")).unwrap();
            // A stage that ends with an error leaves no model.
            let ends_with_an_error = issue.contains("| `ORT_ENABLE_ALL` | gives an error when the model is loaded");
            let has_model = issue.contains("The model as that stage leaves it:\n\n```\n<\n");
            assert_eq!(has_model, !ends_with_an_error, "{issue}");
            with_pass += usize::from(has_model);
        }
        assert!(with_pass > 2);
    }

    /// Defects that are new, each with the release before it.
    const RIGHT_BEFORE: [(&str, &str, &str); 2] = [
        ("onnxruntime-tile-size-of-nothing", "1.26.0", "gives float32 of shape [0, 1073741825]"),
        ("onnxruntime-zero-and-inferred", "1.28.0", "gives the error: "),
    ];

    #[test]
    #[ignore = "wheels: the packages of onnxruntime and onnx"]
    fn a_program_in_python_ends_with_0_on_a_release_that_is_right() {
        for (id, release, says) in RIGHT_BEFORE {
            let older = python(&[&format!("onnxruntime=={release}"), &packages()[1]]);
            let (code, printed) = run_python(&older, &reports().join(id).join("repro.py"), None);
            let is_right = code == Some(0) && printed.starts_with(&format!("RIGHT: onnxruntime {release} {says}"));
            assert!(is_right, "{id}: {code:?}: {printed}");
        }
    }

    #[test]
    #[ignore = "wheels: the packages of onnxruntime and onnx"]
    fn a_program_in_python_says_that_a_model_is_too_new_for_a_release() {
        // The second one may end the process, so it runs apart.
        for (id, release) in
            [("onnxruntime-space-to-depth-rank", "1.31.1"), ("onnxruntime-slice-of-negative-dim", "1.24.4")]
        {
            let older = python(&[&format!("onnxruntime=={release}"), &packages()[1]]);
            let (code, printed) = run_python(&older, &reports().join(id).join("repro.py"), None);
            let says = printed.starts_with("NOT RUN: model.onnx, ")
                && printed.contains(&format!("too new for onnxruntime {release}\n"));
            assert!(code == Some(125) && says, "{id}: {code:?}: {printed}");
        }
    }

    #[test]
    #[ignore = "wheels: the packages of onnxruntime and onnx"]
    fn the_programs_in_python_catch_what_they_are_written_for_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let interpreter = interpreter();
        let run = |folder: &Path, fault: &str, last: &str| {
            let fake = root.path().join("fake");
            fs::create_dir_all(&fake).unwrap();
            fs::write(fake.join("onnxruntime.py"), FAKE.replace("FAULT", fault).replace("WRONG", last)).unwrap();
            run_python(&interpreter, &folder.join("repro.py"), Some(&fake))
        };
        for (name, folder) in made_up_reports("onnxruntime", &KINDS, &LINES, root.path()) {
            let (code, printed) = run_python(&interpreter, &folder.join("repro.py"), None);
            assert!(code == Some(0) && printed.starts_with("RIGHT: onnxruntime"), "{name}: {code:?}: {printed}");
            // The first of the cases of each kind is the one that the package above answers.
            let first = name.rsplit('-').next().unwrap().parse::<usize>().unwrap() % LINES.len() == 0;
            if !first {
                continue;
            }
            let (code, printed) = run(&folder, "pass", "3");
            assert!(code == Some(0) && printed.starts_with("RIGHT: onnxruntime 0.0 "), "{name}: {printed}");
            let refused = run(&folder, "raise ValueError('no')", "3");
            // That all refuse it is the same for all.
            assert_eq!(refused.0, Some(i32::from(!name.contains("disagree"))), "{name}: {}", refused.1);
            if name.contains("crash") {
                let (code, printed) = run(&folder, "os.abort()", "3");
                assert!(code == Some(1) && printed.contains("WRONG: onnxruntime 0.0 ends its process"), "{printed}");
            }
            if name.contains("wrong-value") {
                let (code, printed) = run(&folder, "pass", "4");
                assert!(code == Some(1) && printed.starts_with("WRONG: onnxruntime 0.0 gives float32"), "{printed}");
            }
            if name.contains("undeclared") {
                let case = fs::read_to_string(folder.join("case.json")).unwrap();
                assert!(case.contains("\"check\": \"declared\""), "{case}");
            }
        }
    }

    #[test]
    #[ignore = "wheels: the packages of onnxruntime and onnx"]
    fn types_that_numpy_lacks_are_fed_and_read_all_the_same() {
        let root = tempfile::tempdir().unwrap();
        let output = root.path().to_str().unwrap();
        let interpreter = interpreter();
        for element_type in ["float16", "string", "bool", "uint64", "bfloat16", "float8e4m3fn", "float8e5m2fnuz"] {
            let case = format!("Reshape@21 allowzero=-1 {element_type}[3] int64[2]{{0,-1}}");
            let (code, out) =
                crosscheck(&["report", &case, "--to", "onnxruntime", "--no-minimize", "--output", output]);
            assert_eq!(code, Some(0), "{element_type}: {out}");
            let folder = PathBuf::from(out.lines().next().unwrap());
            let (code, printed) = run_python(&interpreter, &folder.join("repro.py"), None);
            assert!(code == Some(1) && printed.starts_with("WRONG: onnxruntime"), "{element_type}: {printed}");
            assert!(printed.contains("of shape [3, 1]"), "{element_type}: {printed}");
        }
        // Of these onnxruntime has a kernel for Shape only, and only when that is folded.
        let lines = [
            "Shape@21 int4[3]",
            "Shape@21 uint4[3]",
            "Shape@23 float4e2m1[3]",
            "Shape@25 int2[3]",
            "Shape@25 uint2[3]",
        ];
        for (name, folder) in made_up_reports("onnxruntime/all", &[Discrepancy::WrongValue], &lines, root.path()) {
            let (code, printed) = run_python(&interpreter, &folder.join("repro.py"), None);
            assert!(code == Some(0) && printed.contains("gives int64 of shape [1]"), "{name}: {printed}");
        }
    }

    #[test]
    #[ignore = "wheels: the packages of onnxruntime and onnx"]
    fn the_text_of_a_model_is_the_model_and_what_is_quoted_stands_in_the_documents() {
        let defects = ["onnxruntime", "tract"].into_iter().flat_map(causes);
        let folders: Vec<PathBuf> = defects.map(|cause| reports().join(&cause.id)).collect();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/report_check.py");
        let output = Command::new(interpreter()).arg(script).args(&folders).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let lines = String::from_utf8(output.stdout).unwrap();
        let results: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(results.len(), folders.len());
        let mut without_text = Vec::new();
        for result in &results {
            let name = result["name"].as_str().unwrap();
            if result["text"].is_null() {
                without_text.push(name);
            } else {
                assert_eq!(result["same"], true, "{name}: {}", result["text"]);
            }
            assert_eq!(result["unquoted"].as_array().unwrap().len(), 0, "{name}: {}", result["unquoted"]);
        }
        assert_eq!(without_text, WITHOUT_TEXT);
        assert!(results.iter().filter(|result| result["checked"] == true).count() > 10);
    }

    #[test]
    #[ignore = "wheels: the packages of onnxruntime and onnx"]
    fn what_cannot_be_reported_is_said() {
        let root = tempfile::tempdir().unwrap();
        let output = root.path().to_str().unwrap();
        let saved = load(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let saved = saved.into_iter().find(|saved| saved.name.starts_with("onnxruntime-")).unwrap().name;
        let file = format!("corpus/regressions/{saved}.case");
        let is_saved = |cause: &&Cause| cause.variants.iter().any(|variant| variant.id == saved);
        let folder = root.path().join(&ledger().causes.iter().find(is_saved).unwrap().id);
        let (code, out) = crosscheck(&["report", &file, "--to", "onnxruntime", "--output", output]);
        assert!(code == Some(0) && folder.join("issue.md").is_file(), "{out}");
        fs::create_dir(root.path().join("tract-uint64-data")).unwrap();
        fs::write(root.path().join("tract-uint64-data/notes.txt"), "mine").unwrap();
        for (finding, to, said) in [
            ("Shape@13 float[1]", "onnxruntime", "shows nothing wrong with onnxruntime"),
            ("no-such-issue", "tract", "neither a case"),
            ("tract-uint64-data", "onnxruntime", "say --to tract"),
            ("tract-uint64-data", "tract", "there is something in this folder that is no report"),
            ("tract-tdim-output", "tract", "is by design"),
            ("Shape@13 float[1]", "tract/typed", "without a configuration"),
        ] {
            let (code, out) = crosscheck(&["report", finding, "--to", to, "--output", output]);
            assert!(code == Some(2) && out.contains(said), "{finding}: {out}");
        }
        assert_eq!(fs::read_to_string(root.path().join("tract-uint64-data/notes.txt")).unwrap(), "mine");
    }

    #[test]
    #[ignore = "wheels: the packages of onnxruntime and onnx"]
    fn a_report_on_all_runtimes_needs_no_term_of_this_project() {
        assert_reports_need_no_term("onnxruntime", reports());
        assert_reports_need_no_term("tract", reports());
    }
}
