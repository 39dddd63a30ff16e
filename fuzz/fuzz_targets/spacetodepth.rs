//! Cases of `SpaceToDepth`.
#![no_main]

onnx_crosscheck_fuzz::target!("spacetodepth");
