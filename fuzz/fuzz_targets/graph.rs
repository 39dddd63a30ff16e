//! Cases of two nodes or more, of all operators.
#![no_main]

onnx_crosscheck_fuzz::target!("graph");
