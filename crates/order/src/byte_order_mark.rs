//! The byte order mark that some Windows editors write at the start of a file. It is not part of the text.

const MARK: char = '\u{feff}';
const MARK_IN_UTF_8: &[u8] = b"\xef\xbb\xbf";

pub fn strip(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// The same for bytes that may be UTF-8.
pub fn strip_bytes(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK_IN_UTF_8).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mark_at_the_beginning_is_no_part_of_the_text() {
        for (text, expected) in [
            ("\u{feff}a: 1", "a: 1"),
            ("a: 1", "a: 1"),
            ("a\u{feff}", "a\u{feff}"),
            ("\u{feff}", ""),
            ("", ""),
        ] {
            assert_eq!(strip(text), expected);
            assert_eq!(strip_bytes(text.as_bytes()), expected.as_bytes());
        }
        assert_eq!(strip("\u{feff}\u{feff}a"), "\u{feff}a");
        assert_eq!(strip_bytes(b"\xff\xfea\0"), b"\xff\xfea\0", "UTF-16 stays as it is");
    }
}
