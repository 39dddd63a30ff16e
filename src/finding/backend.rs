//! Backend tests of the `onnx` package that need special treatment, by the name of their folder.

use std::path::Path;

/// Tests whose result depends on chance or on the machine, and why.
const BY_CHANCE: &[(&str, &[&str])] = &[
    (
        "it draws random numbers",
        &[
            "test_bernoulli",
            "test_bernoulli_double",
            "test_bernoulli_double_expanded",
            "test_bernoulli_expanded",
            "test_bernoulli_seed",
            "test_bernoulli_seed_expanded",
            "test_training_dropout",
            "test_training_dropout_default",
            "test_training_dropout_default_mask",
            "test_training_dropout_mask",
        ],
    ),
    (
        "it needs the locale en_US.UTF-8, which not every machine has",
        &[
            "test_strnorm_model_monday_casesensintive_lower",
            "test_strnorm_model_monday_casesensintive_upper",
            "test_strnorm_model_monday_empty_output",
            "test_strnorm_model_monday_insensintive_upper_twodim",
            "test_strnormalizer_export_monday_casesensintive_lower",
            "test_strnormalizer_export_monday_casesensintive_upper",
            "test_strnormalizer_export_monday_empty_output",
            "test_strnormalizer_export_monday_insensintive_upper_twodim",
        ],
    ),
];

/// The tests that are compared with the stored output at an absolute tolerance of their own, by the beginnings of their names.
const ABSOLUTE: &[(&str, f64)] = &[
    // These are sums of up to a hundred terms, some of which cancel. Beside terms in the hundreds, a zero is zero only to six
    // digits. The tests of the reference evaluator in the `onnx` package have the same tolerance.
    ("test_dft", 1e-3),
    ("test_stft", 1e-3),
];

/// Why the result of a test depends on chance or on the machine; `None` if it does not.
pub fn by_chance(folder: &Path) -> Option<&'static str> {
    let name = folder.file_name()?.to_str()?;
    BY_CHANCE.iter().find(|(_, names)| names.contains(&name)).map(|(why, _)| *why)
}

/// The absolute tolerance of a test, if it has one of its own.
pub fn absolute(folder: &Path) -> Option<f64> {
    let name = folder.file_name()?.to_str()?;
    ABSOLUTE.iter().find(|(beginning, _)| name.starts_with(beginning)).map(|(_, absolute)| *absolute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_the_whole_name_of_their_folder() {
        assert!(by_chance(Path::new("node/test_training_dropout")).is_some());
        assert!(by_chance(Path::new("node/test_training_dropout_zero_ratio")).is_none());
        assert!(by_chance(Path::new("test_bernoulli/mine")).is_none());
        assert_eq!(absolute(Path::new("node/test_dft_axis")), Some(1e-3));
        assert_eq!(absolute(Path::new("node/test_add")), None);
    }
}
