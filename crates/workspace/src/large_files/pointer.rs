//! The pointer that git stores for a file of Git LFS.
//!
//! May know: its text. Must never know: where the content is.

use std::ops::RangeInclusive;

/// Anything smaller or larger is not a pointer, however it begins.
pub(crate) const POINTER_SIZES: RangeInclusive<usize> = 125..=1_024;

const VERSION: &str = "version https://git-lfs.github.com/spec/v1";

/// A content's id: its SHA-256 in lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LargeFileId(String);

impl LargeFileId {
    pub(crate) fn new(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        (text.len() == 64 && text.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A pointer's data: the content's id and its size in bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LargeFilePointer {
    pub(crate) id: LargeFileId,
    pub(crate) size: u64,
}

impl LargeFilePointer {
    /// Parses a pointer; `None` for any other text. A pointer with an extension counts as other text, because the
    /// program for it is not here.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok().filter(|text| POINTER_SIZES.contains(&text.len()))?;
        let mut lines = text.lines();
        if lines.next() != Some(VERSION) {
            return None;
        }
        let id = LargeFileId::new(lines.next()?.strip_prefix("oid sha256:")?)?;
        let size = lines.next()?.strip_prefix("size ")?;
        let is_number = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
        let size = size.parse().ok().filter(|size| is_number && *size <= i64::MAX as u64)?;
        lines.all(|line| line.trim().is_empty()).then_some(Self { id, size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_read_as_git_lfs_writes_it_and_any_other_text_is_none() {
        let id = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
        let sound = format!("{VERSION}\noid sha256:{id}\nsize 12345\n");
        let read = LargeFilePointer::parse(sound.as_bytes()).unwrap();
        assert_eq!((read.id.as_str(), read.size), (id, 12_345));
        for bad in [
            String::new(),
            format!("{sound}{}", " ".repeat(1_024)),
            sound.replace("/v1", "/v2"),
            sound.replace("sha256", "sha1"),
            sound.replace(id, "../../../../etc/passwd"),
            sound.replace(id, &format!("{}/..", &id[3..])),
            sound.replace(id, &id.to_uppercase()),
            sound.replace(id, &id[1..]),
            sound.replace("12345", "-1"),
            sound.replace("12345", "+1"),
            sound.replace("12345", "99999999999999999999"),
            sound.replace("12345", "9223372036854775808"),
            sound.replace("size 12345\n", ""),
            sound.replace("oid", "ext-0-foo sha256:1\noid"),
            format!("{sound}more 1\n"),
        ] {
            assert_eq!(LargeFilePointer::parse(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(LargeFilePointer::parse(b"\xff\xfe"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(0_u8..=255, 0..300)) {
            LargeFilePointer::parse(&bytes);
            LargeFilePointer::parse(&[VERSION.as_bytes(), b"\n", &bytes].concat());
        }
    }
}
