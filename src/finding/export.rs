//! Cases written in the layout of ONNX test data, so that the test runners of others can use them.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Regression, RegressionError};
use crate::case::{Case, catalogue};
use crate::files::write_whole;
use crate::model::{self, test_data};
use crate::operator::{Expectation, OPERATORS};

/// The folder of the models that have one right answer.
pub const VALID: &str = "valid";
/// The folder of the models that are to be refused.
pub const MUST_REFUSE: &str = "must-refuse";
const README: &str = "README.md";

/// How many cases were written, and how many were not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    pub valid: u64,
    pub must_refuse: u64,
    /// The specification leaves open what is to come of them.
    pub left_open: u64,
}

/// Writes saved regressions and the catalogue of edge cases, each case once, into a folder that is new or empty.
///
/// # Errors
/// If the folder holds something, or a file cannot be written.
pub fn export(to: &Path, regressions: &[Regression]) -> Result<Exported, RegressionError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| RegressionError::Io { path, error }
    };
    fs::create_dir_all(to).map_err(failed(to))?;
    if fs::read_dir(to).map_err(failed(to))?.next().is_some() {
        let error = std::io::Error::other("there is something in it: name a folder that is new or empty");
        return Err(RegressionError::Io { path: to.to_owned(), error });
    }
    let saved = regressions.iter().map(|regression| (regression.name.clone(), regression.case.clone()));
    let catalogue = OPERATORS.iter().flat_map(|operator| {
        let name = operator.name.to_lowercase();
        (1..).zip(catalogue::cases(operator)).map(move |(number, case)| (format!("{name}-{number:03}"), case))
    });
    let mut exported = Exported::default();
    let mut seen = HashSet::new();
    for (name, case) in saved.chain(catalogue) {
        if seen.insert(case.clone()) {
            write(to, &name, &case, &mut exported).map_err(failed(&to.join(&name)))?;
        }
    }
    let readme: PathBuf = to.join(README);
    write_whole(&readme, exported.readme().as_bytes()).map_err(failed(&readme))?;
    Ok(exported)
}

fn write(to: &Path, name: &str, case: &Case, exported: &mut Exported) -> std::io::Result<()> {
    let tensors = case.tensors();
    let expectation = case.expectation(&tensors);
    let (folder, count) = match &expectation {
        Expectation::Defined(_) => (VALID, &mut exported.valid),
        Expectation::Reject { .. } => (MUST_REFUSE, &mut exported.must_refuse),
        Expectation::Unspecified { .. } => {
            exported.left_open += 1;
            return Ok(());
        }
    };
    *count += 1;
    let folder = to.join(folder).join(name);
    test_data::write(&folder, &model::job(case, &tensors), expectation.outputs())?;
    let rule = expectation.rule().map(|rule| format!("# {rule}: {}\n", rule.text().sentence)).unwrap_or_default();
    write_whole(&folder.join("case.txt"), format!("{rule}{case}\n").as_bytes())
}

impl Exported {
    /// What tells people how to use the folder.
    fn readme(self) -> String {
        format!(
            "\
# Test data for the ONNX operators {operators}

Written by `crosscheck export`: the saved regressions and the catalogue of edge cases of onnx-crosscheck {version}, in the
layout of the backend tests of the `onnx` package.

| folder | models | what is to come of them |
|---|---|---|
| `{VALID}` | {valid} | exactly the stored outputs, bit for bit |
| `{MUST_REFUSE}` | {must_refuse} | an error, at load or at run; nothing else is right, so no outputs are stored |

{left_open} cases were left out, because the specification leaves open what is to come of them.

Each folder holds

- `model.onnx`, the model;
- `test_data_set_0/input_K.pb`, a `TensorProto` with the name of the graph input that it is fed to. An input that is an
  initializer too has a default: it is fed, and the default is not to be used, or it is not fed;
- `test_data_set_0/output_K.pb`, the `TensorProto` that the graph output K is to be, with its name, under `{VALID}`;
- `case.txt`, the same as one line that `crosscheck run` takes, under `{MUST_REFUSE}` with the rule that it breaks.

The outputs are from an implementation that follows the ONNX specification version by version; none is from a runtime.

To use them, load each model, feed the inputs by their names, and compare. onnxruntime's own runner takes a folder as it is:

    onnx_test_runner {VALID}

In Python, with any backend of the `onnx` package:

    import glob, onnx, onnx.reference
    from onnx import numpy_helper

    def tensor(path):
        return numpy_helper.to_array(onnx.load_tensor(path))

    for folder in sorted(glob.glob(\"{VALID}/*\")):
        model = onnx.load(folder + \"/model.onnx\")
        inputs = [onnx.load_tensor(path) for path in glob.glob(folder + \"/test_data_set_0/input_*.pb\")]
        feeds = {{fed.name: numpy_helper.to_array(fed) for fed in inputs}}
        places = range(len(model.graph.output))
        expected = [tensor(f\"{{folder}}/test_data_set_0/output_{{place}}.pb\") for place in places]
        try:
            outputs = onnx.reference.ReferenceEvaluator(model).run(None, feeds)
        except Exception as error:
            print(\"FAIL\", folder, error)
            continue
        bits = lambda array: array.tolist() if array.dtype == object else array.tobytes()
        same = lambda a, b: (a.dtype, a.shape, bits(a)) == (b.dtype, b.shape, bits(b))
        print(\"ok  \" if all(map(same, outputs, expected)) else \"FAIL\", folder)

`crosscheck replay {VALID} {MUST_REFUSE}` runs them through every runtime that it knows.
",
            operators = OPERATORS.iter().map(|operator| operator.name).collect::<Vec<_>>().join(", "),
            version = env!("CARGO_PKG_VERSION"),
            valid = self.valid,
            must_refuse = self.must_refuse,
            left_open = self.left_open,
        )
    }
}
