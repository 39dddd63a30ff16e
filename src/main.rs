//! The `crosscheck` program.

use std::process::ExitCode;

/// Much of the work of a runtime on small models is to allocate.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    onnx_crosscheck::cli::main()
}
