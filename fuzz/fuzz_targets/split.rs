//! Cases of `Split`.
#![no_main]

onnx_crosscheck_fuzz::target!("split");
