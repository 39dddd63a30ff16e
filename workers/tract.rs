//! The worker of one release of tract: the code that drives the release under test, linked with another release.

use std::process::ExitCode;

// `src/runtime/tract.rs` refers to these by `super::` and `crate::`.
use onnx_crosscheck::runtime::*;
use onnx_crosscheck::{model, tensor};

#[path = "../src/runtime/tract.rs"]
mod tract;

fn main() -> ExitCode {
    worker::main(&Kind { version: env!("CARGO_PKG_VERSION"), ..tract::KIND })
}
