//! Runtimes that are packages or modules of Python. A Python program of this project runs each of them in a process of its own,
//! with the protocol of the kind `command`.

use super::provision::{ONNXRUNTIME_VERSION, Package};
use super::{Kind, Limits, Supply, command};

/// The source of a Python program: the part that all of them share, and its own part.
macro_rules! program {
    ($file:literal) => {
        concat!(include_str!("python/protocol.py"), include_str!(concat!("python/", $file)))
    };
}

const EVALUATOR: &str = program!("reference.py");
const REWRITER: &str = program!("rewriter.py");
const BACKEND: &str = program!("backend.py");
const OPENVINO: &str = program!("openvino.py");

/// The statement of the program for `openvino` that sets up a model. How many threads there are decides which code of the plugin
/// runs, so the program of a report needs it too.
pub fn openvino_settings() -> &'static str {
    OPENVINO.lines().find(|line| line.starts_with("SETTINGS = ")).expect("the program sets up a model")
}

/// The kind of the reference evaluator of the package `onnx`.
pub const REFERENCE: &str = "onnx-reference";

/// The release of the package `onnx` that the reference evaluator is taken from.
pub const REFERENCE_VERSION: &str = "1.22.0";

/// The packages that check and run a rewritten model.
const JUDGES: &[(&str, &str)] = &[("onnx", CHECKER_VERSION), ("onnxruntime", ONNXRUNTIME_VERSION)];

/// The release of the package `onnx` whose checker checks rewritten models.
pub const CHECKER_VERSION: &str = "1.23.2";

/// The kinds whose rows are packages or modules of Python. None takes part unless the user names it.
pub(super) static KINDS: [&Kind; 9] = [
    &package(
        REFERENCE,
        REFERENCE_VERSION,
        Package { name: "onnx", others: &[], program: EVALUATOR },
        include_str!("../../known/onnx-reference.toml"),
    ),
    &package(
        "openvino",
        "2026.4.1",
        Package { name: "openvino", others: &[("onnx", CHECKER_VERSION)], program: OPENVINO },
        include_str!("../../known/openvino.toml"),
    ),
    &rewriter("onnxoptimizer", "0.4.2", "onnxoptimizer", include_str!("../../known/onnxoptimizer.toml")),
    &rewriter("onnxscript", "0.7.2", "onnxscript", include_str!("../../known/onnxscript.toml")),
    &rewriter("onnxsim", "0.8.1", "onnxsim", include_str!("../../known/onnxsim.toml")),
    &rewriter("onnxslim", "0.1.98", "onnxslim", include_str!("../../known/onnxslim.toml")),
    &rewriter(
        "onnx-version-converter",
        CHECKER_VERSION,
        "onnx",
        include_str!("../../known/onnx-version-converter.toml"),
    ),
    &kind("rewriter", "", Supply::Module(REWRITER), ""),
    &kind("backend", "", Supply::Module(BACKEND), ""),
];

const fn kind(name: &'static str, version: &'static str, supply: Supply, known: &'static str) -> Kind {
    Kind {
        name,
        version,
        configurations: &[""],
        stages: &[],
        passes: &[],
        supply,
        known,
        open: |row| Ok(Box::new(command::start(row, &Limits::default())?.ready()?)),
    }
}

const fn package(name: &'static str, version: &'static str, package: Package, known: &'static str) -> Kind {
    kind(name, version, Supply::Package(package), known)
}

/// A package that rewrites models. The rewritten model is run on onnxruntime.
const fn rewriter(name: &'static str, version: &'static str, of: &'static str, known: &'static str) -> Kind {
    package(name, version, Package { name: of, others: JUDGES, program: REWRITER }, known)
}
