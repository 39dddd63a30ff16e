//! What is called a valid model here, held against the checker of the `onnx` package.

mod python;

use std::path::Path;
use std::process::Command;

use onnx_crosscheck::case::Generator;
use onnx_crosscheck::model::{self, test_data};
use onnx_crosscheck::operator::Expectation;
use python::python;

/// Cases drawn: enough for hundreds of each operator, in every wiring and at every opset.
const DRAWN: u64 = 4000;

/// How many models in the folders of a folder were checked, those of an opset that the package knows, and what was said of
/// those that are not valid.
fn check(folder: &Path) -> (u64, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/check_models.py");
    let done = Command::new(python(&["onnx==1.22.0"])).arg(script).arg(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&done.stdout), text(&done.stderr));
    assert!(done.status.success(), "{error}");
    let (count, refused) = out.split_once('\n').unwrap();
    println!("{}: {count} models checked", folder.display());
    (count.parse().unwrap(), refused.to_owned())
}

mod wheels {
    use super::*;

    #[test]
    #[ignore = "wheels: a virtual environment with onnx"]
    fn the_checker_accepts_every_model_that_is_exported_as_valid_and_every_one_that_is_drawn_as_such() {
        let root = tempfile::tempdir().unwrap();
        let exported = root.path().join("exported");
        let checkout = env!("CARGO_MANIFEST_DIR");
        let mut export = Command::new(env!("CARGO_BIN_EXE_crosscheck"));
        assert!(export.arg("export").arg(&exported).args(["--from", checkout]).output().unwrap().status.success());
        let drawn = root.path().join("drawn");
        let generator = Generator::default();
        for index in 0..DRAWN {
            let drawn_case = generator.case(11, index);
            if let Expectation::Defined(outputs) = &drawn_case.expectation {
                let job = model::job(&drawn_case.case, &drawn_case.tensors);
                test_data::write(&drawn.join(index.to_string()), &job, Some(outputs)).unwrap();
            }
        }
        for (folder, least) in [(exported.join("valid"), 550), (drawn, DRAWN / 2)] {
            let (checked, refused) = check(&folder);
            assert!(refused.is_empty(), "{refused}");
            assert!(checked >= least, "{checked} models were checked");
        }
    }
}
