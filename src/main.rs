//! The `crosscheck` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Errors of tract are outcomes here, by the thousand a second: taking a back-trace of each would be most of the work.
    if std::env::var_os("RUST_LIB_BACKTRACE").is_none() {
        // SAFETY: no other thread runs yet.
        unsafe { std::env::set_var("RUST_LIB_BACKTRACE", "0") };
    }
    onnx_crosscheck::cli::main()
}
