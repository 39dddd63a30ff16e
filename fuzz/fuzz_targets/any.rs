//! Cases of all operators.
#![no_main]

onnx_crosscheck_fuzz::target!("any");
