//! Checks that the corpus is complete.

use onnx_crosscheck_corpus::{cases, Right};

#[test]
fn every_case_has_a_model_and_each_tensor_can_be_read() {
    let cases = cases().unwrap();
    assert!(!cases.is_empty());
    for case in &cases {
        assert!(!case.model().unwrap().is_empty() && !case.right.is_empty(), "{}", case.folder);
        case.inputs().unwrap();
        for right in &case.right {
            let Right::Outputs(folder) = right else { continue };
            let outputs = case.outputs(folder).unwrap();
            assert!(!outputs.is_empty() && case.is_right(Some(&outputs)).unwrap(), "{}", case.folder);
        }
        assert_eq!(case.is_right(None).unwrap(), case.right.contains(&Right::Refusal), "{}", case.folder);
    }
}
