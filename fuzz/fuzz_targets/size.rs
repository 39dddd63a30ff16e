//! Cases of `Size`.
#![no_main]

onnx_crosscheck_fuzz::target!("size");
