//! The lines of a `.gitattributes`, as git reads them.
//!
//! May know: the bytes of one such file. Must never know: where it lies, and what a pattern matches.

use std::borrow::Cow;

use journeyman_order::byte_order_mark;

/// Git passes over a line that is as long.
const LONGEST: usize = 2_048;
const MACRO: &[u8] = b"[attr]";
/// Names that git gives to nobody.
const RESERVED: &[u8] = b"builtin_";

/// A line that says something.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AttributeLine<'a> {
    pub(super) of: AttributeSubject<'a>,
    /// Attributes and what they are set to, in the order in which they stand there.
    pub(super) settings: Vec<(&'a [u8], AttributeValue<'a>)>,
}

/// What a line speaks of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AttributeSubject<'a> {
    Paths(Cow<'a, [u8]>),
    /// An attribute that stands for others.
    Macro(Cow<'a, [u8]>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttributeValue<'a> {
    Set,
    Text(&'a [u8]),
    /// Unset, or said to be as if nobody had spoken of it.
    Off,
}

/// Those of a file.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = AttributeLine<'_>> {
    let bytes = byte_order_mark::strip_bytes(bytes);
    bytes.split(|byte| *byte == b'\n').filter_map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        read(until_zero(line))
    })
}

/// To git a text ends there.
fn until_zero(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// None for a line that git passes over: one word that is wrong makes the whole line so.
fn read(line: &[u8]) -> Option<AttributeLine<'_>> {
    let text = from_word(line);
    if text.is_empty() || text.starts_with(b"#") || line.len() >= LONGEST {
        return None;
    }
    let (subject, rest) = match text.strip_prefix(b"\"").and_then(unquoted) {
        Some((quoted, rest)) => (Cow::Owned(until_zero(&quoted).to_vec()), rest),
        None => {
            let (word, rest) = word(text);
            (Cow::Borrowed(word), rest)
        }
    };
    let words = rest.split(is_blank).filter(|word| !word.is_empty());
    let settings = words.map(setting).collect::<Option<Vec<_>>>()?;
    let of = if subject.starts_with(MACRO) && subject.len() > MACRO.len() {
        let name = word(from_word(subject.get(MACRO.len()..)?)).0.to_vec();
        is_name(&name).then_some(AttributeSubject::Macro(name.into()))?
    } else if subject.starts_with(b"!") {
        return None;
    } else {
        AttributeSubject::Paths(subject)
    };
    Some(AttributeLine { of, settings })
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Without what is blank before the first word.
fn from_word(text: &[u8]) -> &[u8] {
    let begin = text.iter().position(|byte| !is_blank(byte)).unwrap_or(text.len());
    text.get(begin..).unwrap_or_default()
}

fn word(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().position(is_blank).unwrap_or(text.len()))
}

fn setting(word: &[u8]) -> Option<(&[u8], AttributeValue<'_>)> {
    let equals = word.iter().position(|byte| *byte == b'=');
    let name = word.get(..equals.unwrap_or(word.len()))?;
    let (name, value) = match (name.strip_prefix(b"-").or_else(|| name.strip_prefix(b"!")), equals) {
        (Some(name), _) => (name, AttributeValue::Off),
        (None, None) => (name, AttributeValue::Set),
        (None, Some(at)) => (name, AttributeValue::Text(word.get(at + 1..)?)),
    };
    is_name(name).then_some((name, value))
}

fn is_name(name: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let is_plain = !name.is_empty() && !name.starts_with(b"-") && name.iter().all(is_letter);
    is_plain && !name.starts_with(RESERVED)
}

/// What stands in quotes, of which the first is taken away already, and what comes behind them. None where it is no such
/// text: then the quote is a letter like any other.
fn unquoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (mut plain, mut bytes) = (Vec::new(), text.iter());
    loop {
        let byte = match bytes.next()? {
            b'"' => return Some((plain, bytes.as_slice())),
            b'\\' => match bytes.next()? {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                itself @ (b'\\' | b'"') => *itself,
                first @ b'0'..=b'3' => {
                    let mut digit = || bytes.next().filter(|byte| matches!(byte, b'0'..=b'7'));
                    let (second, third) = (digit()?, digit()?);
                    ((first - b'0') << 6) | ((second - b'0') << 3) | (third - b'0')
                }
                _ => return None,
            },
            letter => *letter,
        };
        plain.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_git_reads_it_and_one_with_a_wrong_word_says_nothing() {
        let one = |text: &'static str| lines(text.as_bytes()).next();
        let paths = |text: &str| AttributeSubject::Paths(Cow::Owned(text.as_bytes().to_vec()));
        assert_eq!(
            one(" *.bin\tfilter=lfs -text !x y\r\n"),
            Some(AttributeLine {
                of: paths("*.bin"),
                settings: vec![
                    (b"filter", AttributeValue::Text(b"lfs")),
                    (b"text", AttributeValue::Off),
                    (b"x", AttributeValue::Off),
                    (b"y", AttributeValue::Set),
                ],
            })
        );
        assert_eq!(one("\"a b\\t\\303\\274\\\"\"x").unwrap().of, paths("a b\tü\""));
        assert_eq!(one("\"a x").unwrap().of, paths("\"a"));
        assert_eq!(one("[attr]big x").unwrap().of, AttributeSubject::Macro(Cow::Borrowed(b"big")));
        assert_eq!(one("[attr] x").unwrap().of, paths("[attr]"));
        for nothing in ["", "# x y", "!a x", "a b=c =d", "a x!", "a --x", "[attr]-x y", "a builtin_x"] {
            assert_eq!(one(nothing), None, "{nothing}");
        }
        let long = format!("{} x", "a".repeat(LONGEST));
        assert_eq!(lines(long.as_bytes()).count(), 0);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(0_u8..=255, 0..200)) {
            lines(&bytes).count();
        }
    }
}
