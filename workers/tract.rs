//! The worker of one release of tract: the code that drives the release under test, linked with another.

use std::process::ExitCode;

// What the code of the runtime kind sees around it where it is at home.
use onnx_crosscheck::runtime::*;
use onnx_crosscheck::{model, tensor};

#[path = "../src/runtime/tract.rs"]
mod tract;

fn main() -> ExitCode {
    worker::main(&Kind { version: env!("CARGO_PKG_VERSION"), ..tract::KIND })
}
