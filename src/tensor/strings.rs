//! Strings, one after the other in one piece of memory.

use std::ops::Index;
use std::sync::Arc;

/// The elements of a tensor of strings. They are bytes: ONNX says UTF-8, but a runtime may answer with any bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Strings {
    bytes: Arc<[u8]>,
    /// Where each string ends and the next one begins.
    ends: Arc<[usize]>,
}

impl Strings {
    /// Strings from all their bytes, and where each of them ends. `None` if the last end is not the number of bytes, or an end is
    /// less than the one before it.
    pub fn from_parts(bytes: &[u8], ends: &[usize]) -> Option<Strings> {
        let is_whole = ends.is_sorted() && ends.last().copied().unwrap_or(0) == bytes.len();
        is_whole.then(|| Strings { bytes: bytes.into(), ends: ends.into() })
    }

    /// All their bytes, and where each of them ends.
    pub fn parts(&self) -> (&[u8], &[usize]) {
        (&self.bytes, &self.ends)
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| &self[index])
    }
}

impl Index<usize> for Strings {
    type Output = [u8];

    fn index(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }
}

impl<S: AsRef<[u8]>> FromIterator<S> for Strings {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Strings {
        let mut bytes = Vec::new();
        let end = |string: S| {
            bytes.extend_from_slice(string.as_ref());
            bytes.len()
        };
        let ends = strings.into_iter().map(end).collect();
        Strings { bytes: bytes.into(), ends }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_what_was_put_in() {
        let texts = ["", "a\0b", "", "𝔘𝔫𝔦"];
        let strings: Strings = texts.iter().collect();
        assert_eq!(strings.iter().collect::<Vec<_>>(), texts.map(str::as_bytes));
        assert_eq!((strings.len(), &strings[1]), (4, "a\0b".as_bytes()));
        let (bytes, ends) = strings.parts();
        assert_eq!(Strings::from_parts(bytes, ends), Some(strings.clone()));
        assert_ne!(strings, ["", "a\0", "b", "𝔘𝔫𝔦"].iter().collect());
    }

    #[test]
    fn ends_have_to_fit_the_bytes() {
        assert!(Strings::from_parts(b"", &[]).is_some());
        for ends in [&[][..], &[1], &[3], &[2, 1, 2]] {
            assert_eq!(Strings::from_parts(b"ab", ends), None, "{ends:?}");
        }
    }
}
