//! The `crosscheck` program.

use std::process::ExitCode;

use libmimalloc_sys::{mi_option_set_default, mi_option_t};

/// On small models, much of the work of a runtime is allocation. A runtime in a library, such as onnxruntime, takes its
/// memory from this allocator too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The number that `mimalloc.h` gives to the option `mi_option_purge_delay`: how long free memory is held before it is
/// returned to the system, in milliseconds.
const PURGE_DELAY: mi_option_t = 15;

fn main() -> ExitCode {
    // The next batch takes the memory that a batch frees, so it stays for some time unless `MIMALLOC_PURGE_DELAY` says
    // otherwise. If it stayed for good, a campaign would hold the most that it ever needed of each kind: more every hour.
    // SAFETY: the process has only one thread so far.
    unsafe { mi_option_set_default(PURGE_DELAY, 10_000) };
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
