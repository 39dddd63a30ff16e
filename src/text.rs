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
    let room = longest.saturating_sub(CUT.chars().count());
    let beginning: String = words.chars().take(room / 2).collect();
    let end: String = words.chars().skip(count - (room - room / 2)).collect();
    format!("{}{CUT}{}", beginning.trim_end(), end.trim_start())
}

/// How long the gist of a message is, at most.
const GIST: usize = 80;

/// What a message says whatever the values: its last clause that has words, without numbers, and without what is in brackets or in quotes.
pub(crate) fn gist(message: &str) -> String {
    let line = message.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let clauses = line.split(": ").map(without_values);
    let has_words = |clause: &String| clause.chars().any(char::is_alphabetic);
    cut(&clauses.filter(has_words).last().unwrap_or_default(), GIST)
}

/// A text without numbers, and without what is in brackets or in quotes.
fn without_values(text: &str) -> String {
    let (mut depth, mut quote) = (0_u32, None);
    let mut plain = String::new();
    let mut before = ' ';
    for c in text.chars() {
        match c {
            '\'' | '"' if quote == Some(c) => quote = None,
            // An apostrophe stands within a word.
            '\'' | '"' if quote.is_none() && !before.is_alphanumeric() => quote = Some(c),
            _ if quote.is_some() => {}
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth = depth.saturating_sub(1),
            _ if depth > 0 || c.is_ascii_digit() => {}
            _ => plain.push(c),
        }
        before = c;
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
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

    #[test]
    fn the_gist_of_a_message_does_not_depend_on_values() {
        for (message, expected) in [
            ("ValueError: cannot reshape array of size 6 into shape (4,)", "cannot reshape array of size into shape"),
            ("Error: it doesn't fit:\n  node 'x_3': dim 7 of [2, 3]\n", "dim of"),
            ("plain", "plain"),
            ("cannot unify dims: 1,2: [3], 4", "cannot unify dims"),
            ("[ONNXRuntimeError] : 2 : [1,2]", ""),
            ("", ""),
        ] {
            assert_eq!(gist(message), expected, "{message}");
        }
    }
}
