//! The `crosscheck` program.

use std::process::ExitCode;

use libmimalloc_sys::{mi_option_set_default, mi_option_t};

/// Much of the work of a runtime on small models is to allocate. A runtime in a library, such as onnxruntime, takes its
/// memory from here too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long free memory is not given back to the system, in milliseconds: `mi_option_purge_delay`, as `mimalloc.h` numbers it.
const PURGE_DELAY: mi_option_t = 15;

fn main() -> ExitCode {
    // What one batch gave back the next one takes, so it is never given back unless `MIMALLOC_PURGE_DELAY` says otherwise.
    // SAFETY: there is one thread as yet.
    unsafe { mi_option_set_default(PURGE_DELAY, -1) };
    // SAFETY: as above.
    unsafe { onnx_crosscheck::runtime::prepare_environment() };
    onnx_crosscheck::cli::main()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mimalloc_numbers_its_options_as_expected() {
        // SAFETY: nobody sets an option here.
        let usual = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert!(usual == 1000 || std::env::var_os("MIMALLOC_PURGE_DELAY").is_some(), "{usual}");
    }
}
