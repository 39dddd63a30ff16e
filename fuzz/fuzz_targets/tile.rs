//! Cases of `Tile`.
#![no_main]

onnx_crosscheck_fuzz::target!("tile");
