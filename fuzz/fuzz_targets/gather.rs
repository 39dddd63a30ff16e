//! Cases of `Gather`.
#![no_main]

onnx_crosscheck_fuzz::target!("gather");
