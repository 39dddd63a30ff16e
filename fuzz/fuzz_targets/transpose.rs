//! Cases of `Transpose`.
#![no_main]

onnx_crosscheck_fuzz::target!("transpose");
