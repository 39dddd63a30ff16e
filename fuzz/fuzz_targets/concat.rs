//! Cases of `Concat`.
#![no_main]

onnx_crosscheck_fuzz::target!("concat");
