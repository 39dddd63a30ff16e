//! The status of a test in a `JUnit` report.

use quick_junit::{NonSuccessKind, TestCaseStatus};

/// The status of a failed test: `what` says in one sentence what is wrong, and `words` is the full description.
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
