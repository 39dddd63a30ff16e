//! Cases of `Squeeze`.
#![no_main]

onnx_crosscheck_fuzz::target!("squeeze");
