//! Cases of `Pad`.
#![no_main]

onnx_crosscheck_fuzz::target!("pad");
