//! Cases of `Reshape`; see `onnx_crosscheck::fuzzing`.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_crossover, fuzz_mutator, fuzz_target};
use onnx_crosscheck::fuzzing::{self, Input};

const TARGET: &str = "reshape";

fuzz_target!(init: fuzzing::start(TARGET), |input: Input| -> Corpus {
    if fuzzing::run(&input) { Corpus::Keep } else { Corpus::Reject }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    fuzzing::mutate(TARGET, data, size, max_size, seed)
});

fuzz_crossover!(|first: &[u8], second: &[u8], out: &mut [u8], seed: u32| {
    fuzzing::cross_over(TARGET, first, second, out, seed)
});
