//! Cases of `DepthToSpace`.
#![no_main]

onnx_crosscheck_fuzz::target!("depthtospace");
