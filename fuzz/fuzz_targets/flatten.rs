//! Cases of `Flatten`.
#![no_main]

onnx_crosscheck_fuzz::target!("flatten");
