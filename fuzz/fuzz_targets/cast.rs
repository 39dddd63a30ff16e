//! Cases of `Cast`.
#![no_main]

onnx_crosscheck_fuzz::target!("cast");
