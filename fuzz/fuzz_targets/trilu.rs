//! Cases of `Trilu`.
#![no_main]

onnx_crosscheck_fuzz::target!("trilu");
