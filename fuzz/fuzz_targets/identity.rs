//! Cases of `Identity`.
#![no_main]

onnx_crosscheck_fuzz::target!("identity");
