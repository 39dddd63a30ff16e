//! The operators that campaigns of tests draw: with all of them, what is looked for is met too seldom.

/// As `--operator` takes them.
pub const HEART: &str = "shape,flatten,reshape,size,identity";
