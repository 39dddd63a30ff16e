//! Text for people.

/// Between the beginning and the end of a message that is cut.
const CUT: &str = " … ";

/// A message on one line, of so many characters at the most. A longer one is cut in the middle: the reason stands at the
/// end.
pub(crate) fn cut(message: &str, longest: usize) -> String {
    let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = words.chars().count();
    if count <= longest {
        return words;
    }
    let kept = longest.saturating_sub(CUT.chars().count());
    let beginning: String = words.chars().take(kept / 2).collect();
    let end: String = words.chars().skip(count - (kept - kept / 2)).collect();
    format!("{}{CUT}{}", beginning.trim_end(), end.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_keeps_its_beginning_and_its_end() {
        assert_eq!(cut("a\n b  c", 5), "a b c");
        assert_eq!(cut("abcdefghij", 10), "abcdefghij");
        assert_eq!(cut("abcdefghijk", 10), "abc … hijk");
        assert_eq!(cut("äöü def ghi ßßß", 12), "äöü … i ßßß");
        let reason = format!("Error: {}the axis is 7", "of a call, ".repeat(99));
        let short = cut(&reason, 240);
        assert!(short.starts_with("Error: of a call") && short.ends_with("the axis is 7"), "{short}");
        assert!(short.chars().count() <= 240, "{short}");
    }
}
