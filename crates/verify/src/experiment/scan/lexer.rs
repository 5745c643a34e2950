//! Which bytes of a source file are code, text or comment, and where its strings are: the tokens of its language, one
//! after the other. Never recurses, and ends in a time that is linear in the text, whatever the text is.

use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::Regex;

use crate::experiment::family::{SourceLanguage, TokenKind};
use crate::experiment::text::{find, is_of_name, line_end};

/// How deep brackets are read in code within a text.
const DEEPEST_CODE: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteKind {
    Code,
    Text,
    Comment,
}

/// A string that is its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StringLiteral {
    /// With prefix and quotes.
    pub(super) at: Range<usize>,
    /// Between the quotes.
    pub(super) inner: Range<usize>,
}

/// What each byte is, and the strings in the order of the text.
pub(super) fn lexed(text: &str, language: SourceLanguage) -> (Vec<ByteKind>, Vec<StringLiteral>) {
    let bytes = text.as_bytes();
    let mut kinds = vec![ByteKind::Code; bytes.len()];
    let (mut strings, mut heredocs, mut from) = (Vec::new(), Vec::new(), 0);
    let reader = reader(language);
    let mut groups = reader.capture_locations();
    while from < bytes.len() && reader.captures_read_at(&mut groups, bytes, from).is_some() {
        let mut tokens = language.lexis().tokens.iter().zip(1..);
        let found = tokens.find_map(|(token, group)| Some((token.0, groups.get(group)?)));
        let Some((token, (start, end))) = found else { break };
        let own = text.get(start..end).unwrap_or_default();
        let (kind, part) = match token {
            TokenKind::Code => (ByteKind::Code, start..end),
            TokenKind::Comment => (ByteKind::Comment, start..end),
            TokenKind::Text => (ByteKind::Text, start..end),
            TokenKind::Plain => {
                strings.push(string_at(start, own));
                (ByteKind::Text, start..end)
            }
            TokenKind::Delimited => (ByteKind::Text, start..delimited_end(bytes, end - 1)),
            TokenKind::Twice => (ByteKind::Text, start..second_end(bytes, end - 1)),
            TokenKind::RawString => {
                let closes = format!("){}\"", own.trim_matches(['"', '(']));
                let found = find(bytes, end, closes.as_bytes());
                (ByteKind::Text, start..found.map_or(bytes.len(), |at| at + closes.len()))
            }
            TokenKind::Heredoc => {
                heredocs.push(own);
                (ByteKind::Text, start..end)
            }
            TokenKind::Line => {
                let bodies = heredocs.drain(..);
                (ByteKind::Text, end..bodies.fold(end, |at, marker| heredoc_end(bytes, at, marker)))
            }
        };
        from = part.end.max(end);
        if let Some(part) = kinds.get_mut(part) {
            part.fill(kind);
        }
    }
    (kinds, strings)
}

/// One pattern for all tokens of a language, with a group for each.
fn reader(language: SourceLanguage) -> &'static Regex {
    static READERS: [OnceLock<Regex>; 20] = [const { OnceLock::new() }; 20];
    READERS[language as usize].get_or_init(|| {
        let tokens = language.lexis().tokens.iter();
        let tokens: Vec<String> =
            tokens.map(|(_, before, own)| format!("(?:{before})({})", with_code(own))).collect();
        let pattern = format!("(?s-u){}", tokens.join("|"));
        Regex::new(&pattern).unwrap_or_else(|error| unreachable!("a pattern of ours: {error}"))
    })
}

/// The pattern of a token with what its short forms stand for.
fn with_code(token: &str) -> String {
    let token = token.replace("CLASS", r"\[(?:\\.|[^\]\\\n])*\]");
    [("{", "}"), ("(", ")"), ("[", "]")].into_iter().fold(token, |token, (opens, closes)| {
        let mark = format!("CODE{closes}");
        if token.contains(&mark) { token.replace(&mark, &code_up_to(opens, closes)) } else { token }
    })
}

/// Code up to a bracket: strings, patterns, and brackets within. Commands of a shell may have strings of several lines.
fn code_up_to(opens: &str, closes: &str) -> String {
    let line = if opens == "(" { "" } else { r"\n" };
    let strings = format!(r#""(?:\\.|[^"\\{line}])*"|'(?:\\.|[^'\\{line}])*'|`(?:\\.|[^`\\])*`"#);
    let pattern = r"[(,=:]\s*/(?:\\.|[^/\\\n*])(?:\\.|[^/\\\n])*/";
    let one = format!(r#"{strings}|{pattern}|\\.|[^\{opens}\{closes}"'`\\]"#);
    let code = (0..DEEPEST_CODE)
        .fold(format!("(?:{one})*"), |inner, _| format!(r"(?:{one}|\{opens}{inner}\{closes})*"));
    format!(r"(?:{code}\{closes}|.*)")
}

/// The string that is written here.
fn string_at(start: usize, own: &str) -> StringLiteral {
    let at = start..start + own.len();
    let prefix = own.find(['"', '\'', '`']).unwrap_or_default();
    let quoted = own.get(prefix..).unwrap_or_default().trim_end_matches('#');
    let is_block = quoted.len() >= 6 && ["\"\"\"", "'''"].iter().any(|quotes| quoted.starts_with(quotes));
    let quotes = if is_block { 3 } else { 1 };
    let first = start + prefix + quotes;
    let hashes = own.len() - prefix - quoted.len();
    StringLiteral { inner: first..(at.end - hashes - quotes).max(first), at }
}

/// The end of a text between delimiters, which nest if they are brackets.
fn delimited_end(bytes: &[u8], at: usize) -> usize {
    let opens = bytes.get(at).copied().unwrap_or_default();
    let closes = match opens {
        b'(' => b')',
        b'[' => b']',
        b'{' => b'}',
        b'<' => b'>',
        same => same,
    };
    let (mut depth, mut end) = (1_usize, at + 1);
    while let Some(byte) = bytes.get(end).copied() {
        if byte == closes {
            depth -= 1;
            if depth == 0 {
                return end + 1;
            }
        } else if byte == opens {
            depth += 1;
        }
        end += if byte == b'\\' { 2 } else { 1 };
    }
    bytes.len()
}

/// The end of the second of two such texts, which share a delimiter that is no bracket.
fn second_end(bytes: &[u8], at: usize) -> usize {
    let first = delimited_end(bytes, at);
    if !bytes.get(at).is_some_and(|opens| b"([{<".contains(opens)) {
        return delimited_end(bytes, first - 1);
    }
    let blanks = bytes.iter().skip(first).take_while(|byte| byte.is_ascii_whitespace()).count();
    delimited_end(bytes, first + blanks)
}

/// Where the text ends that begins here and was announced by this marker.
fn heredoc_end(bytes: &[u8], from: usize, marker: &str) -> usize {
    let word = marker.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_').as_bytes();
    // In PHP, code may follow in the last line.
    let is_php = marker.starts_with("<<<");
    let is_indented = is_php || marker.starts_with("<<-") || marker.starts_with("<<~");
    let mut at = from;
    while at < bytes.len() {
        let end = line_end(bytes, at);
        let line = bytes.get(at..end).unwrap_or_default().trim_ascii_end();
        let own = if is_indented { line.trim_ascii_start() } else { line };
        let rest = own
            .strip_prefix(word)
            .filter(|rest| rest.first().is_none_or(|byte| is_php && !is_of_name(*byte)));
        if let Some(rest) = rest {
            return at + line.len() - rest.len();
        }
        at = end + 1;
    }
    bytes.len()
}
