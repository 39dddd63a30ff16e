//! Cases of `GatherElements`.
#![no_main]

onnx_crosscheck_fuzz::target!("gatherelements");
