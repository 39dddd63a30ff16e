//! Cases of `GatherND`.
#![no_main]

onnx_crosscheck_fuzz::target!("gathernd");
