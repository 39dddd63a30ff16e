//! The result of a test, for what shows the results of tests.

use quick_junit::{NonSuccessKind, TestCaseStatus};

/// What is wrong, in one sentence, and all that is to be said of it.
pub(crate) fn failed(kind: NonSuccessKind, what: &str, words: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(what).set_description(words);
    status
}

pub(crate) fn skipped(why: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(why);
    status
}
