//! Cases of `ConstantOfShape`.
#![no_main]

onnx_crosscheck_fuzz::target!("constantofshape");
