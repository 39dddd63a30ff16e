//! What every fuzz target is: cases from the corpus to `onnx_crosscheck::fuzzing`, and mutation by structure.

/// Makes a fuzz target of a name: an operator in lower case, or `any`.
#[macro_export]
macro_rules! target {
    ($target:literal) => {
        libfuzzer_sys::fuzz_target!(
            init: onnx_crosscheck::fuzzing::start($target),
            |input: onnx_crosscheck::fuzzing::Input| -> libfuzzer_sys::Corpus {
                if onnx_crosscheck::fuzzing::run(&input) {
                    libfuzzer_sys::Corpus::Keep
                } else {
                    libfuzzer_sys::Corpus::Reject
                }
            }
        );

        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            onnx_crosscheck::fuzzing::mutate($target, data, size, max_size, seed)
        });

        libfuzzer_sys::fuzz_crossover!(|first: &[u8], second: &[u8], out: &mut [u8], seed: u32| {
            onnx_crosscheck::fuzzing::cross_over($target, first, second, out, seed)
        });
    };
}
