//! Cases of `Reshape`.
#![no_main]

onnx_crosscheck_fuzz::target!("reshape");
