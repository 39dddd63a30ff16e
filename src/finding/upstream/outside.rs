//! Runtimes as people outside know them: a row for each, with the facts that a report needs.

use super::unit_test::Types;
use crate::runtime::REFERENCE;
use crate::tensor::ElementType;

/// A kind of program.
#[derive(Clone, Copy)]
pub(super) enum Program {
    /// A script in Python that uses a package.
    Python(Package),
    /// A script in Python that rewrites a model with a package.
    Rewriter(Rewriter),
    /// A Cargo package that uses crates.
    Crate(Crate),
}

/// The program for a runtime with a package for Python. It reads the case, so it is the same for each case.
#[derive(Clone, Copy)]
pub(super) struct Package {
    pub name: &'static str,
    /// The text of `repro.py`: that of the runtime, and the one that all share.
    pub program: &'static str,
    /// The setup of a run in a configuration, in terms of the program.
    pub setup: fn(&str) -> String,
}

const ONNXRUNTIME: Package = Package {
    name: "onnxruntime",
    program: concat!(
        include_str!("templates/onnxruntime.py"),
        include_str!("templates/apart.py"),
        include_str!("templates/case.py")
    ),
    setup: level_name,
};
const OPENVINO: Package = Package {
    name: "openvino",
    program: concat!(
        include_str!("templates/openvino.py"),
        include_str!("templates/apart.py"),
        include_str!("templates/case.py")
    ),
    setup: |_| "CPU".to_owned(),
};
const ONNX: Package = Package {
    name: "onnx",
    program: concat!(
        include_str!("templates/reference.py"),
        include_str!("templates/apart.py"),
        include_str!("templates/case.py")
    ),
    setup: |_| "ReferenceEvaluator".to_owned(),
};

/// The program for a runtime in Rust. It reads the case, so it is the same for each case.
#[derive(Clone, Copy)]
pub(super) struct Crate {
    /// The dependencies: the name of each, and the TOML that stands beside its version.
    pub dependencies: &'static [(&'static str, &'static str)],
    /// The text of `src/main.rs`.
    pub main: &'static str,
    /// The time that the first build takes on two cores, in words.
    pub builds: &'static str,
    /// The element types of tensors that it can be fed.
    pub fed: &'static [ElementType],
}

/// The file beside each `main.rs` that reads the case.
pub(super) const CASE: &str = include_str!("templates/case.rs");

const TRACT: Crate = Crate {
    dependencies: &[("tract-onnx", "default-features = false")],
    main: include_str!("templates/tract.rs"),
    builds: "four minutes",
    fed: {
        use ElementType::*;
        &[Float16, Float, Double, Bool, String, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64]
    },
};
const RTEN: Crate = Crate {
    dependencies: &[("rten", "default-features = false, features = [\"onnx_format\"]"), ("rten-tensor", "")],
    main: include_str!("templates/rten.rs"),
    builds: "a minute",
    fed: {
        use ElementType::*;
        &[Float, Double, Bool, Int8, Int32, Int64, Uint8]
    },
};
const CANDLE: Crate = Crate {
    dependencies: &[("candle-core", ""), ("candle-onnx", "")],
    main: include_str!("templates/candle-onnx.rs"),
    builds: "two minutes",
    fed: {
        use ElementType::*;
        &[Float16, Float, Double, Bool, Int64, Uint8, Uint32]
    },
};

const TRACT_TEST: Form = Form::Rust {
    template: "tract_test.rs",
    types: |element_type| {
        use ElementType::*;
        Some(match element_type {
            Float => "f32",
            Double => "f64",
            Bool => "bool",
            Int8 => "i8",
            Int16 => "i16",
            Int32 => "i32",
            Int64 => "i64",
            Uint8 => "u8",
            Uint16 => "u16",
            Uint32 => "u32",
            Uint64 => "u64",
            _ => return None,
        })
    },
};
const RTEN_TEST: Form = Form::Rust {
    template: "rten_test.rs",
    types: |element_type| {
        use ElementType::*;
        Some(match element_type {
            Float => "f32",
            Int32 | Int64 => "i32",
            Int8 => "i8",
            Uint8 => "u8",
            _ => return None,
        })
    },
};
const CANDLE_TEST: Form = Form::Rust {
    template: "candle_test.rs",
    types: |element_type| {
        use ElementType::*;
        Some(match element_type {
            Float => "f32",
            Double => "f64",
            Int64 => "i64",
            Uint8 => "u8",
            Uint32 => "u32",
            _ => return None,
        })
    },
};

/// The form of a test in a project.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// onnxruntime's tests of kernels and of passes.
    Cpp,
    Rust {
        template: &'static str,
        types: Types,
    },
    /// A function for pytest.
    Python,
}

/// A package that rewrites models.
#[derive(Clone, Copy)]
pub(super) struct Rewriter {
    pub package: &'static str,
    pub module: &'static str,
    /// The expression that rewrites `model`.
    pub call: &'static str,
}

struct Outside {
    /// Its name in this project.
    name: &'static str,
    /// Its name elsewhere.
    public_name: &'static str,
    /// The source of its releases, as text after the version.
    package: &'static str,
    /// Its setup in a configuration, in its own terms.
    setup: fn(&str) -> String,
    /// The kind of program that shows a finding.
    program: Option<Program>,
    /// The form of its tests, if a report has one.
    test: Option<Form>,
}

const RUNTIMES: [Outside; 12] = [
    Outside {
        name: "in-house",
        public_name: "onnx-crosscheck's own implementation of the operator documents",
        package: "",
        setup: plain,
        program: None,
        test: None,
    },
    Outside {
        name: "onnxruntime",
        public_name: "onnxruntime",
        package: " (the package of PyPI)",
        setup: |configuration| match configuration.split_once('+') {
            Some((level, provider)) => format!("`{}`, {provider} execution provider", level_name(level)),
            None => format!("`{}`", level_name(configuration)),
        },
        program: Some(Program::Python(ONNXRUNTIME)),
        test: Some(Form::Cpp),
    },
    Outside {
        name: "tract",
        public_name: "tract",
        package: " (the crate `tract-onnx`)",
        setup: |configuration| match configuration {
            "typed" => "`into_typed()`".to_owned(),
            "optimized" => "`into_optimized()`".to_owned(),
            "pinned" => "`set_input_fact()` with what is fed, `into_optimized()`".to_owned(),
            other => plain(other),
        },
        program: Some(Program::Crate(TRACT)),
        test: Some(TRACT_TEST),
    },
    Outside {
        name: REFERENCE,
        public_name: "onnx.reference",
        package: " (of the package `onnx` of that version)",
        setup: plain,
        program: Some(Program::Python(ONNX)),
        test: Some(Form::Python),
    },
    Outside {
        name: "openvino",
        public_name: "OpenVINO",
        package: " (the package of PyPI)",
        setup: |_| "the plugin for the CPU, with the precision hint `f32`".to_owned(),
        program: Some(Program::Python(OPENVINO)),
        test: None,
    },
    Outside {
        name: "rten",
        public_name: "rten",
        package: " (the crate)",
        setup: |configuration| match configuration {
            "plain" => "`enable_optimization(false)`, `shape_inference(Off)`".to_owned(),
            _ => "`ModelOptions::with_all_ops()`".to_owned(),
        },
        program: Some(Program::Crate(RTEN)),
        test: Some(RTEN_TEST),
    },
    Outside {
        name: "candle-onnx",
        public_name: "candle-onnx",
        package: " (the crate)",
        setup: |_| "`simple_eval`".to_owned(),
        program: Some(Program::Crate(CANDLE)),
        test: Some(CANDLE_TEST),
    },
    rewriter(
        "onnxoptimizer",
        "onnxoptimizer",
        Rewriter { package: "onnxoptimizer", module: "onnxoptimizer", call: "onnxoptimizer.optimize(model)" },
    ),
    rewriter(
        "onnxscript",
        "onnxscript",
        Rewriter {
            package: "onnxscript",
            module: "onnxscript.optimizer",
            call: "onnxscript.optimizer.optimize(model)",
        },
    ),
    rewriter(
        "onnxsim",
        "onnxsim",
        Rewriter { package: "onnxsim", module: "onnxsim", call: "onnxsim.simplify(model)[0]" },
    ),
    rewriter(
        "onnxslim",
        "onnxslim",
        Rewriter { package: "onnxslim", module: "onnxslim", call: "onnxslim.slim(model)" },
    ),
    rewriter(
        "onnx-version-converter",
        "onnx.version_converter",
        Rewriter {
            package: "onnx",
            module: "onnx.version_converter",
            call: "version_converter.convert_version(model, target(model))",
        },
    ),
];

const fn rewriter(name: &'static str, public_name: &'static str, rewriter: Rewriter) -> Outside {
    let program = Some(Program::Rewriter(rewriter));
    Outside { name, public_name, package: " (the package of PyPI)", setup: run_on_onnxruntime, program, test: None }
}

fn run_on_onnxruntime(_: &str) -> String {
    "what it gives is run on onnxruntime without optimization".to_owned()
}

fn of(name: &str) -> Option<&'static Outside> {
    RUNTIMES.iter().find(|runtime| runtime.name == name)
}

/// The name of a runtime for people outside.
pub(super) fn public_name(name: &str) -> &str {
    of(name).map_or(name, |runtime| runtime.public_name)
}

/// The source of the releases of a runtime, as text after the version; empty if it is not known.
pub(super) fn package(name: &str) -> &'static str {
    of(name).map_or("", |runtime| runtime.package)
}

/// The setup of a runtime in a configuration, in its own terms; empty if there is nothing to set.
pub(super) fn setup(name: &str, configuration: &str) -> String {
    of(name).map_or(plain as fn(&str) -> String, |runtime| runtime.setup)(configuration)
}

/// The kind of program that shows a finding on a runtime, if there is one.
pub(super) fn program(name: &str) -> Option<Program> {
    of(name)?.program
}

/// The form of the tests of a runtime, if a report has one.
pub(super) fn form(name: &str) -> Option<Form> {
    of(name)?.test
}

fn plain(configuration: &str) -> String {
    configuration.split('+').next().unwrap_or_default().to_owned()
}

/// The name of a level of optimization in the API of onnxruntime.
pub(super) fn level_name(level: &str) -> String {
    let level = if level == "disabled" { "disable_all".to_owned() } else { format!("enable_{level}") };
    format!("ORT_{}", level.to_uppercase())
}
