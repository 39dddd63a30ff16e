//! Cases of `Expand`.
#![no_main]

onnx_crosscheck_fuzz::target!("expand");
