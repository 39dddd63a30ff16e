//! Cases of `Unsqueeze`.
#![no_main]

onnx_crosscheck_fuzz::target!("unsqueeze");
