//! Where strings and comments begin and end, and which words and numbers stand alone.

use super::family::LanguageFamily;

pub(super) fn is_comment_start(bytes: &[u8], at: usize) -> bool {
    at == 0
        || bytes.get(at - 1).is_none_or(|before| {
            before.is_ascii_whitespace() || matches!(before, b';' | b')' | b'}' | b']' | b',')
        })
}

pub(super) fn line_end(bytes: &[u8], at: usize) -> usize {
    find(bytes, at, b"\n").unwrap_or(bytes.len())
}

pub(super) fn find(bytes: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(what.len()).position(|window| window == what).map(|at| from + at)
}

/// The end of the string that begins here. `None` if no string begins here.
pub(super) fn string_end(bytes: &[u8], at: usize, family: LanguageFamily) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let quote = *rest.first()?;
    if family == LanguageFamily::Python && (rest.starts_with(b"\"\"\"") || rest.starts_with(b"'''")) {
        return Some(find(bytes, at + 3, &rest[..3]).map_or(bytes.len(), |end| end + 3));
    }
    if family == LanguageFamily::Rust
        && quote == b'r'
        && !at
            .checked_sub(1)
            .is_some_and(|before| bytes[before].is_ascii_alphanumeric() || bytes[before] == b'_')
    {
        let hashes = rest.iter().skip(1).take_while(|byte| **byte == b'#').count();
        if rest.get(1 + hashes) == Some(&b'"') {
            let mut end = vec![b'"'];
            end.extend(std::iter::repeat_n(b'#', hashes));
            return Some(find(bytes, at + 2 + hashes, &end).map_or(bytes.len(), |at| at + end.len()));
        }
        return None;
    }
    let is_quote = match quote {
        b'"' => true,
        b'`' => matches!(family, LanguageFamily::JavaScript | LanguageFamily::Go),
        // Not a lifetime.
        b'\'' if matches!(family, LanguageFamily::Rust) => {
            rest.get(1) == Some(&b'\\') || rest.get(2) == Some(&b'\'')
        }
        b'\'' => true,
        _ => false,
    };
    if !is_quote {
        return None;
    }
    let may_span = quote == b'`' || matches!(family, LanguageFamily::Rust | LanguageFamily::Shell);
    let mut end = at + 1;
    while end < bytes.len() {
        match bytes[end] {
            b'\\' if !(quote == b'`' && family == LanguageFamily::Go) => end += 2,
            byte if byte == quote => return Some(end + 1),
            // An unclosed quote is not a string.
            b'\n' if !may_span => return None,
            _ => end += 1,
        }
    }
    may_span.then_some(bytes.len())
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
