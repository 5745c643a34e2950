//! Small questions about the text of a source file.

pub(super) fn line_end(bytes: &[u8], at: usize) -> usize {
    find(bytes, at, b"\n").unwrap_or(bytes.len())
}

pub(super) fn find(bytes: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(what.len()).position(|window| window == what).map(|at| from + at)
}

/// Whether a byte belongs to a name.
pub(super) fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// The name that ends here, without what is longer than a name is.
pub(super) fn name_before(bytes: &[u8], at: usize) -> &[u8] {
    const LONGEST: usize = 64;
    let before = bytes.get(..at).unwrap_or_default();
    let length = before.iter().rev().take(LONGEST).take_while(|byte| is_of_name(**byte)).count();
    &before[at.min(before.len()) - length..]
}

/// The byte before a place, and the last one that is no blank, with its place.
pub(super) fn byte_before(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at.checked_sub(1)?).copied()
}

pub(super) fn last_before(bytes: &[u8], at: usize) -> Option<(usize, u8)> {
    let before = bytes.get(..at)?;
    let found = before.iter().rposition(|byte| !byte.is_ascii_whitespace())?;
    Some((found, *before.get(found)?))
}

/// A shell word without special meaning.
pub(super) fn is_bare(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Another number that is valid wherever this one is.
pub(super) fn other_number(number: &str) -> Option<String> {
    let value: u64 = number.replace('_', "").parse().ok()?;
    Some(if value < 100 { value + 17 } else { value - 93 }.to_string())
}
