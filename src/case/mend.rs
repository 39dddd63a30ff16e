//! Advice for common mistakes in the notation of a case.

/// A test of the text before an error, a test of the text at the error, and the advice.
type Mistake = (fn(&str) -> bool, fn(&str) -> bool, &'static str);

const MISTAKES: &[Mistake] = &[
    (anything, |rest| starts(rest, "float32"), "ONNX calls this type `float`"),
    (anything, |rest| starts(rest, "float64"), "ONNX calls this type `double`"),
    (anything, |rest| starts(rest, "half"), "ONNX calls this type `float16`"),
    (anything, |rest| starts(rest, "bf16"), "ONNX calls this type `bfloat16`"),
    (anything, |rest| starts(rest, "int[") || starts(rest, "uint["), "the type has a size, as in `int64`"),
    (anything, |rest| starts(rest, "str["), "ONNX calls this type `string`"),
    (within_brackets, |rest| item(rest).starts_with(' '), "there are no spaces in brackets, as in `float[2,3]`"),
    (
        within_brackets,
        |rest| item(rest).starts_with(|c: char| c.is_alphabetic() || c == '?'),
        "each dim is a number; `float[2,3]:input(symbolic)` declares the dims as symbols",
    ),
    (
        |before| !before.contains('@') && before.ends_with(char::is_alphanumeric),
        |rest| rest.starts_with(' '),
        "the opset stands behind the first operator, as in `Flatten@13`",
    ),
    (|before| before.ends_with(' '), |rest| rest.starts_with('['), "a type stands before dims, as in `int64[2]{3,2}`"),
];

fn anything(_: &str) -> bool {
    true
}

fn within_brackets(before: &str) -> bool {
    before.rfind('[') > before.rfind(']')
}

/// The text without a leading comma.
fn item(rest: &str) -> &str {
    rest.strip_prefix(',').unwrap_or(rest)
}

fn starts(rest: &str, word: &str) -> bool {
    rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// The advice for an error at byte `at` of a line, if the mistake is a common one.
pub(super) fn mend(line: &str, at: usize) -> Option<&'static str> {
    let (before, rest) = line.split_at_checked(at)?;
    MISTAKES.iter().find(|(is_before, is_there, _)| is_before(before) && is_there(rest)).map(|(_, _, mend)| *mend)
}

#[cfg(test)]
mod tests {
    use crate::case::Case;

    #[test]
    fn frequent_mistakes_are_answered_with_the_mend() {
        for (line, mend) in [
            ("Flatten@13 axis=1 float32[2,3]", "`float`"),
            ("Flatten@13 Float64[2,3]", "`double`"),
            ("Reshape@13 float[2,3] int[2]", "`int64`"),
            ("Flatten@13 float[2, 3]", "no spaces"),
            ("Flatten@13 float[N,3]", "(symbolic)"),
            ("Flatten@13 float[2,N]", "(symbolic)"),
            ("Flatten float[2]", "`Flatten@13`"),
            ("Reshape@13 float[2,3] [3,2]", "a type stands before"),
        ] {
            let error = line.parse::<Case>().unwrap_err();
            assert!(error.mend.is_some_and(|text| text.contains(mend)), "{line}: {error}");
            assert!(error.to_string().ends_with(error.mend.unwrap()), "{error}");
        }
        for line in ["Relu@13 float[2]", "Flatten@13 float[2", "Flatten@13 float[2]{x}"] {
            assert_eq!(line.parse::<Case>().unwrap_err().mend, None, "{line}");
        }
    }
}
