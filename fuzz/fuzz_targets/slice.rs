//! Cases of `Slice`.
#![no_main]

onnx_crosscheck_fuzz::target!("slice");
