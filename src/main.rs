//! The `crosscheck` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    onnx_crosscheck::cli::main()
}
