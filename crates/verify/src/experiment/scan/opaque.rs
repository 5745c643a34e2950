//! Comments, and texts that hold no expectation: patterns, heredocs, lists of words.

use crate::experiment::family::SourceLanguage;
use crate::experiment::text::{byte_before, find, is_of_name, last_before, line_end, name_before};
use journeyman_order::bounds::{LONGEST_NAME, LONGEST_TEXT};

/// A text of lines that begins below the line that announces it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heredoc<'a> {
    /// The line that ends it.
    word: &'a [u8],
    is_indented: bool,
    pub(super) marker_end: usize,
}

fn is_line_start(bytes: &[u8], at: usize) -> bool {
    byte_before(bytes, at).is_none_or(|before| before == b'\n')
}

/// Where the code of PHP begins.
pub(super) fn php_begins(bytes: &[u8], from: usize) -> usize {
    let Some(at) = find(bytes, from, b"<?") else { return bytes.len() };
    if bytes.get(at..).is_some_and(|rest| rest.starts_with(b"<?php")) { at + 5 } else { at + 2 }
}

/// The end of the comment that begins here. `None` if none begins here.
pub(super) fn comment_end(bytes: &[u8], at: usize, language: SourceLanguage) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let (byte, before) = (*rest.first()?, byte_before(bytes, at));
    let line = || line_end(bytes, at);
    let until = |word: &[u8]| find(bytes, at, word).map_or(bytes.len(), |end| line_end(bytes, end + 1));
    let in_slashes = || {
        if rest.starts_with(b"//") {
            return Some(line());
        }
        rest.starts_with(b"/*").then(|| block_end(bytes, at + 2, language))
    };
    match language {
        SourceLanguage::Python | SourceLanguage::Elixir => (byte == b'#' && before != Some(b'?')).then(line),
        SourceLanguage::Shell | SourceLanguage::Tcl => {
            let begins_word = before.is_none_or(|byte| {
                byte.is_ascii_whitespace() || matches!(byte, b';' | b')' | b'}' | b']' | b',' | b'(')
            });
            (byte == b'#' && begins_word).then(line)
        }
        SourceLanguage::Ruby => match byte {
            b'#' if before != Some(b'?') => Some(line()),
            b'=' if is_line_start(bytes, at) && rest.starts_with(b"=begin") => Some(until(b"\n=end")),
            _ => None,
        },
        SourceLanguage::Perl => match byte {
            b'#' if before != Some(b'$') => Some(line()),
            b'=' if is_line_start(bytes, at) && rest.get(1).is_some_and(u8::is_ascii_alphabetic) => {
                Some(until(b"\n=cut"))
            }
            _ => None,
        },
        SourceLanguage::Php => match byte {
            b'#' if rest.get(1) != Some(&b'[') => Some(line()),
            _ => in_slashes(),
        },
        SourceLanguage::Rust
        | SourceLanguage::JavaScript
        | SourceLanguage::Go
        | SourceLanguage::Java
        | SourceLanguage::Kotlin
        | SourceLanguage::Swift
        | SourceLanguage::Scala
        | SourceLanguage::Groovy
        | SourceLanguage::Dart
        | SourceLanguage::C
        | SourceLanguage::Cpp
        | SourceLanguage::CSharp
        | SourceLanguage::Zig => in_slashes(),
    }
}

fn is_first_of_line(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(..at).unwrap_or_default();
    let blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    is_line_start(bytes, at - blanks)
}

/// The end of a line for the preprocessor, with the lines that continue it: a macro is no test.
fn directive_end(bytes: &[u8], at: usize) -> usize {
    let mut end = line_end(bytes, at);
    while end < bytes.len() && byte_before(bytes, end) == Some(b'\\') {
        end = line_end(bytes, end + 1);
    }
    end
}

fn block_end(bytes: &[u8], from: usize, language: SourceLanguage) -> usize {
    let is_nested = matches!(
        language,
        SourceLanguage::Rust
            | SourceLanguage::Swift
            | SourceLanguage::Kotlin
            | SourceLanguage::Scala
            | SourceLanguage::Dart
    );
    let (mut depth, mut at) = (1_usize, from);
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else if is_nested && rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// Whether a slash begins a pattern here, and does not divide.
pub(super) fn begins_pattern(bytes: &[u8], at: usize, language: SourceLanguage) -> bool {
    const OPERATORS: &[u8] = b"(,=:[!&|?{;+-*%~^>";
    let words: &[&str] = match language {
        SourceLanguage::JavaScript => &[
            "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "do", "else", "await",
            "yield",
        ],
        SourceLanguage::Ruby => {
            &["return", "when", "if", "unless", "while", "until", "and", "or", "not", "elsif", "then", "in"]
        }
        SourceLanguage::Perl => {
            &["return", "if", "unless", "while", "until", "and", "or", "not", "elsif", "split", "grep"]
        }
        SourceLanguage::Python
        | SourceLanguage::Rust
        | SourceLanguage::Go
        | SourceLanguage::C
        | SourceLanguage::Cpp
        | SourceLanguage::Java
        | SourceLanguage::Kotlin
        | SourceLanguage::CSharp
        | SourceLanguage::Swift
        | SourceLanguage::Php
        | SourceLanguage::Scala
        | SourceLanguage::Groovy
        | SourceLanguage::Dart
        | SourceLanguage::Zig
        | SourceLanguage::Shell
        | SourceLanguage::Tcl
        | SourceLanguage::Elixir => return false,
    };
    if bytes.get(at) != Some(&b'/') {
        return false;
    }
    let Some((place, last)) = last_before(bytes, at) else { return true };
    if OPERATORS.contains(&last) || language != SourceLanguage::JavaScript && matches!(last, b'<' | b'}') {
        return true;
    }
    let word = name_before(bytes, place + 1);
    let next = bytes.get(at + 1).copied().unwrap_or(b' ');
    // The pattern may be a method's argument, without brackets.
    let is_argument = language == SourceLanguage::Ruby
        && word.first().is_some_and(|first| !first.is_ascii_digit())
        && place + 1 < at
        && !next.is_ascii_whitespace()
        && next != b'=';
    is_argument || words.iter().any(|known| known.as_bytes() == word)
}

/// The end of the pattern that begins here, or up to where none ends.
pub(super) fn pattern_end(bytes: &[u8], at: usize, language: SourceLanguage) -> Result<usize, usize> {
    let last = last_before(bytes, at).map(|(_, last)| last);
    let may_span = language == SourceLanguage::Ruby && last.is_some_and(|last| b"(=,|".contains(&last));
    let (mut end, mut is_in_class) = (at + 1, false);
    while let Some(byte) = bytes.get(end).filter(|_| end < at + LONGEST_TEXT) {
        match byte {
            b'\n' if !may_span => break,
            b'\\' => end += 1,
            b'[' => is_in_class = true,
            b']' => is_in_class = false,
            b'/' if !is_in_class => return Ok(end + 1),
            _ => {}
        }
        end += 1;
    }
    Err(end)
}

/// The end of another text without expectations that begins here.
pub(super) fn opaque_end(bytes: &[u8], at: usize, language: SourceLanguage) -> Option<usize> {
    let rest = bytes.get(at..)?;
    match (language, rest.first()?) {
        (SourceLanguage::Php, b'?') if rest.starts_with(b"?>") => Some(php_begins(bytes, at)),
        (SourceLanguage::C | SourceLanguage::Cpp | SourceLanguage::CSharp, b'#')
            if is_first_of_line(bytes, at) =>
        {
            Some(directive_end(bytes, at))
        }
        (SourceLanguage::Zig, b'\\') if rest.starts_with(b"\\\\") => Some(line_end(bytes, at)),
        // Data follows.
        (SourceLanguage::Ruby | SourceLanguage::Perl, b'_') if is_line_start(bytes, at) => {
            let line = bytes.get(at..line_end(bytes, at))?.trim_ascii_end();
            [&b"__END__"[..], b"__DATA__"].contains(&line).then_some(bytes.len())
        }
        (SourceLanguage::Ruby, b'%') => percent_end(bytes, at),
        (SourceLanguage::Elixir, b'~') => sigil_end(bytes, at),
        (SourceLanguage::Perl, b'q' | b'm' | b's' | b't' | b'y') => quoted_end(bytes, at),
        (SourceLanguage::Cpp, b'"') => raw_end(bytes, at),
        // A name between backticks.
        (SourceLanguage::Kotlin | SourceLanguage::Swift | SourceLanguage::Scala, b'`') => {
            let line = bytes.get(at + 1..line_end(bytes, at))?;
            line.iter().position(|byte| *byte == b'`').map(|end| at + end + 2)
        }
        _ => None,
    }
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

/// Ruby's `%w[a b]` and its like.
fn percent_end(bytes: &[u8], at: usize) -> Option<usize> {
    let (kind, next) = (*bytes.get(at + 1)?, bytes.get(at + 2).copied().unwrap_or(b' '));
    let is_kind = b"wWiIqQrsx".contains(&kind) && next.is_ascii_punctuation() && next != b'=';
    if !is_kind && !b"([{<|!".contains(&kind) {
        return None;
    }
    let divides = last_before(bytes, at).is_some_and(|(place, last)| {
        let is_value = is_of_name(last) || b")]}\"'".contains(&last);
        is_value && !(is_kind && place + 1 < at)
    });
    (!divides).then(|| delimited_end(bytes, if is_kind { at + 2 } else { at + 1 }))
}

/// Elixir's `~r/a/` and its like.
fn sigil_end(bytes: &[u8], at: usize) -> Option<usize> {
    let letters = bytes.iter().skip(at + 1).take(LONGEST_NAME).take_while(|byte| byte.is_ascii_alphabetic());
    let opens = at + 1 + letters.count();
    let delimiter = bytes.get(opens).filter(|byte| opens > at + 1 && b"/([{<|\"'".contains(byte))?;
    if bytes.get(opens..).is_some_and(|rest| rest.starts_with(&[*delimiter; 3])) {
        return Some(find(bytes, opens + 3, &[*delimiter; 3]).map_or(bytes.len(), |end| end + 3));
    }
    Some(delimited_end(bytes, opens))
}

/// Perl's `q(a)`, `s/a/b/` and their like.
fn quoted_end(bytes: &[u8], at: usize) -> Option<usize> {
    if byte_before(bytes, at).is_some_and(|before| is_of_name(before) || b"$@%&>{-".contains(&before)) {
        return None;
    }
    let rest = bytes.get(at..)?;
    let length = rest.iter().take(3).take_while(|byte| is_of_name(**byte)).count();
    let word = rest.get(..length)?;
    let words = [&b"q"[..], b"qq", b"qw", b"qr", b"m", b"s", b"tr", b"y"];
    let blanks = rest.iter().skip(length).take_while(|byte| byte.is_ascii_whitespace()).count();
    let delimiter = *rest.get(length + blanks)?;
    let is_one = b"/([{<|!~\"'`".contains(&delimiter) || (delimiter == b'#' && blanks == 0);
    if !words.contains(&word) || !is_one {
        return None;
    }
    let first = delimited_end(bytes, at + length + blanks);
    if ![&b"s"[..], b"tr", b"y"].contains(&word) {
        return Some(first);
    }
    if !b"([{<".contains(&delimiter) {
        return Some(delimited_end(bytes, first - 1));
    }
    let between = bytes.iter().skip(first).take_while(|byte| byte.is_ascii_whitespace()).count();
    Some(delimited_end(bytes, first + between))
}

/// The end of a raw string of C++.
fn raw_end(bytes: &[u8], at: usize) -> Option<usize> {
    const LONGEST: usize = 16;
    if ![&b"R"[..], b"LR", b"uR", b"UR", b"u8R"].contains(&name_before(bytes, at)) {
        return None;
    }
    let length = bytes.iter().skip(at + 1).take(LONGEST + 1).position(|byte| *byte == b'(')?;
    let delimiter = bytes.get(at + 1..at + 1 + length)?;
    let end = [&b")"[..], delimiter, b"\""].concat();
    Some(find(bytes, at + 1, &end).map_or(bytes.len(), |found| found + end.len()))
}

/// The heredoc that is announced here.
pub(super) fn heredoc(bytes: &[u8], at: usize, language: SourceLanguage) -> Option<Heredoc<'_>> {
    let rest = bytes.get(at..).filter(|rest| rest.starts_with(b"<<"))?;
    let before = byte_before(bytes, at);
    let mut length = 2;
    let mut is_indented = false;
    match language {
        SourceLanguage::Php => {
            length = 3;
            is_indented = true;
            if !rest.starts_with(b"<<<") {
                return None;
            }
        }
        SourceLanguage::Shell | SourceLanguage::Ruby | SourceLanguage::Perl => {
            if before == Some(b'<') {
                return None;
            }
            if rest.get(2).is_some_and(|sign| matches!(sign, b'-' | b'~')) {
                is_indented = true;
                length = 3;
            }
        }
        SourceLanguage::Python
        | SourceLanguage::Rust
        | SourceLanguage::JavaScript
        | SourceLanguage::Go
        | SourceLanguage::C
        | SourceLanguage::Cpp
        | SourceLanguage::Java
        | SourceLanguage::Kotlin
        | SourceLanguage::CSharp
        | SourceLanguage::Swift
        | SourceLanguage::Scala
        | SourceLanguage::Groovy
        | SourceLanguage::Dart
        | SourceLanguage::Zig
        | SourceLanguage::Tcl
        | SourceLanguage::Elixir => return None,
    }
    if language != SourceLanguage::Ruby && language != SourceLanguage::Perl {
        length += rest.iter().skip(length).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    }
    let quote = rest.get(length).copied().filter(|byte| b"\"'`\\".contains(byte));
    length += usize::from(quote.is_some());
    let word = rest.get(length..)?;
    let word = word.get(..word.iter().take(LONGEST_NAME).take_while(|byte| is_of_name(**byte)).count())?;
    let first = *word.first().filter(|first| !first.is_ascii_digit())?;
    length += word.len();
    if let Some(quote) = quote.filter(|quote| *quote != b'\\') {
        (rest.get(length) == Some(&quote)).then_some(())?;
        length += 1;
    }
    if matches!(language, SourceLanguage::Ruby | SourceLanguage::Perl) && !is_indented {
        // `list <<value` adds, and `class << self` opens.
        let adds = before.is_some_and(is_of_name) || quote.is_none() && !first.is_ascii_uppercase();
        let opens =
            last_before(bytes, at).is_some_and(|(place, _)| name_before(bytes, place + 1) == b"class");
        if adds || opens {
            return None;
        }
    }
    if language == SourceLanguage::Php && !rest.get(length).is_some_and(|byte| matches!(byte, b'\r' | b'\n'))
    {
        return None;
    }
    Some(Heredoc { word, is_indented, marker_end: at + length })
}

/// Where the text of a heredoc ends that begins here.
pub(super) fn heredoc_end(
    bytes: &[u8],
    from: usize,
    heredoc: &Heredoc<'_>,
    language: SourceLanguage,
) -> usize {
    let mut at = from;
    while at < bytes.len() {
        let end = line_end(bytes, at);
        let line = bytes.get(at..end).unwrap_or_default().trim_ascii_end();
        let own = if heredoc.is_indented { line.trim_ascii_start() } else { line };
        if own == heredoc.word {
            return end;
        }
        let after = own.strip_prefix(heredoc.word).and_then(|rest| rest.first());
        if language == SourceLanguage::Php && after.is_some_and(|after| !is_of_name(*after)) {
            return at + (line.len() - own.len()) + heredoc.word.len();
        }
        at = end + 1;
    }
    bytes.len()
}
