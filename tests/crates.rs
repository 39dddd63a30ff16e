//! Runtimes that are crates and are not linked into this program: their workers, built.

mod installed;
mod program;

mod wheels {
    use onnx_crosscheck::runtime::{Supply, table::named};

    use super::*;

    #[test]
    #[ignore = "wheels: builds the workers"]
    fn every_known_issue_of_a_crate_still_shows_with_its_own_signature() {
        let crates: Vec<_> = named().filter(|kind| kind.supply == Supply::Worker).collect();
        assert!(!crates.is_empty());
        crates.into_iter().for_each(installed::assert_known_issues_show);
    }
}
