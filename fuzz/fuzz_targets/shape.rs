//! Cases of `Shape`.
#![no_main]

onnx_crosscheck_fuzz::target!("shape");
