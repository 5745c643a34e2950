//! Which bytes of a source file are code, text or comment, and where its strings are. Never recurses, and ends in a time
//! that is linear in the text, whatever the text is.

use std::ops::Range;

use super::opaque::{
    Heredoc, begins_pattern, comment_end, heredoc, heredoc_end, opaque_end, pattern_end, php_begins,
};
use crate::experiment::family::SourceLanguage;
use crate::experiment::text::{byte_before, is_of_name, line_end, name_before};
use journeyman_order::bounds::DEEPEST;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteKind {
    Code,
    Text,
    Comment,
}

/// A string as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StringLiteral {
    /// With prefix and quotes.
    pub(super) at: Range<usize>,
    /// Between the quotes.
    pub(super) inner: Range<usize>,
    /// Whether it is what is written: nothing is put into it, and it is no character, symbol or command.
    pub(super) is_plain: bool,
}

/// How a string ends.
#[derive(Debug, Clone, Copy)]
struct StringForm {
    quote: u8,
    /// How often the quote stands on either side.
    times: usize,
    /// How many `#` follow the last quote.
    hashes: usize,
    has_escapes: bool,
    /// Whether two quotes stand for one.
    is_doubled: bool,
    may_span: bool,
    /// What begins code within it.
    hole: Option<&'static [u8]>,
}

/// A string that begins.
struct Opening {
    form: StringForm,
    /// The length of its prefix.
    prefix: usize,
    is_plain: bool,
    /// Bytes that begin a name that is put into it.
    marks: &'static [u8],
}

#[derive(Clone, Copy)]
enum OpenPart {
    String(StringForm),
    Hole { close: u8, depth: usize },
}

/// What each byte is, and the strings in the order of the text.
pub(super) fn lexed(text: &str, language: SourceLanguage) -> (Vec<ByteKind>, Vec<StringLiteral>) {
    let bytes = text.as_bytes();
    let kinds = vec![ByteKind::Code; bytes.len()];
    let mut lexer =
        Lexer { bytes, language, kinds, strings: Vec::new(), bodies: Vec::new(), unclosed: [0; 256] };
    let mut at = 0;
    if language == SourceLanguage::Php {
        at = lexer.mark(0, php_begins(bytes, 0), ByteKind::Text);
    }
    while at < bytes.len() {
        at = lexer.after(at);
    }
    (lexer.kinds, lexer.strings)
}

struct Lexer<'a> {
    bytes: &'a [u8],
    language: SourceLanguage,
    kinds: Vec<ByteKind>,
    strings: Vec<StringLiteral>,
    /// Heredocs whose bodies begin on the next line.
    bodies: Vec<Heredoc<'a>>,
    /// For each byte that can begin a text: up to where no such text ends, so that its end is not looked for again.
    unclosed: [usize; 256],
}

impl Lexer<'_> {
    fn mark(&mut self, start: usize, end: usize, kind: ByteKind) -> usize {
        let end = end.min(self.bytes.len());
        if let Some(part) = self.kinds.get_mut(start..end) {
            part.fill(kind);
        }
        end
    }

    /// Reads what begins here. Returns where the next begins.
    fn after(&mut self, at: usize) -> usize {
        let Some(byte) = self.bytes.get(at).copied() else { return at + 1 };
        let language = self.language;
        if byte == b'\n' && !self.bodies.is_empty() {
            let bodies = std::mem::take(&mut self.bodies);
            let end = bodies.iter().fold(at + 1, |at, body| heredoc_end(self.bytes, at, body, language));
            return self.mark(at + 1, end, ByteKind::Text);
        }
        if let Some(end) = comment_end(self.bytes, at, language) {
            return self.mark(at, end, ByteKind::Comment);
        }
        if language.is_of_words() && byte == b'\\' {
            return at + 2;
        }
        if let Some(found) = heredoc(self.bytes, at, language) {
            let end = found.marker_end;
            self.bodies.push(found);
            return self.mark(at, end, ByteKind::Text);
        }
        if self.unclosed[usize::from(byte)] > at {
            return at + 1;
        }
        if begins_pattern(self.bytes, at, language) {
            return match pattern_end(self.bytes, at, language) {
                Ok(end) => self.mark(at, end, ByteKind::Text),
                Err(until) => {
                    self.unclosed[usize::from(byte)] = until;
                    at + 1
                }
            };
        }
        if let Some(end) = opaque_end(self.bytes, at, language) {
            return self.mark(at, end, ByteKind::Text);
        }
        let Some(opening) = opening(self.bytes, at, language) else { return at + 1 };
        let form = opening.form;
        let Some((end, has_holes)) = string_end(self.bytes, at + form.times, form, language) else {
            self.unclosed[usize::from(byte)] = line_end(self.bytes, at);
            return at + 1;
        };
        let start = at - opening.prefix;
        let end = self.mark(start, end, ByteKind::Text);
        let first = (at + form.times).min(end);
        let inner = first..end.saturating_sub(form.times + form.hashes).max(first);
        let inside = self.bytes.get(inner.clone()).unwrap_or_default();
        let is_marked = inside.iter().any(|byte| opening.marks.contains(byte));
        let is_plain = opening.is_plain && !has_holes && !is_marked;
        self.strings.push(StringLiteral { at: start..end, inner, is_plain });
        end
    }
}

/// The end of a string, given where its content begins, and whether code stands within it. `None` if it does not end.
fn string_end(
    bytes: &[u8],
    from: usize,
    form: StringForm,
    language: SourceLanguage,
) -> Option<(usize, bool)> {
    let (mut open, mut at, mut has_holes) = (vec![OpenPart::String(form)], from, false);
    let mut no_pattern_until = 0;
    while let (Some(byte), Some(last)) = (bytes.get(at).copied(), open.last().copied()) {
        if byte == b'\n' && !form.may_span {
            return None;
        }
        let rest = bytes.get(at..).unwrap_or_default();
        match last {
            OpenPart::String(inner) => {
                let hole = inner.hole.filter(|hole| rest.starts_with(hole));
                if hole.is_some_and(|hole| hole == b"{") && rest.starts_with(b"{{") {
                    at += 2;
                } else if let Some(hole) = hole {
                    has_holes = true;
                    at += hole.len();
                    if open.len() >= DEEPEST {
                        return form.may_span.then_some((bytes.len(), true));
                    }
                    let close = match hole.last() {
                        Some(b'(') => b')',
                        Some(b'[') => b']',
                        _ => b'}',
                    };
                    open.push(OpenPart::Hole { close, depth: 1 });
                } else if (inner.has_escapes && byte == b'\\')
                    || (inner.is_doubled && rest.starts_with(&[inner.quote; 2]))
                {
                    at += 2;
                } else if inner.ends(rest) {
                    at += inner.times + inner.hashes;
                    open.pop();
                    if open.is_empty() {
                        return Some((at, has_holes));
                    }
                } else {
                    // A quote that is not closed begins no string.
                    if byte == b'\n' && !inner.may_span {
                        open.pop();
                    }
                    at += 1;
                }
            }
            OpenPart::Hole { close, depth } => {
                let opens = match close {
                    b')' => b'(',
                    b']' => b'[',
                    _ => b'{',
                };
                if byte == close || byte == opens {
                    open.pop();
                    let depth = if byte == close { depth - 1 } else { depth + 1 };
                    if depth > 0 {
                        open.push(OpenPart::Hole { close, depth });
                    }
                    at += 1;
                    continue;
                }
                if at >= no_pattern_until && begins_pattern(bytes, at, language) {
                    match pattern_end(bytes, at, language) {
                        Ok(end) => at = end,
                        Err(until) => no_pattern_until = until.max(at + 1),
                    }
                } else if let Some(opening) = opening(bytes, at, language).filter(|_| open.len() < DEEPEST) {
                    at += opening.form.times;
                    open.push(OpenPart::String(opening.form));
                } else {
                    at += 1;
                }
            }
        }
    }
    // What is not closed is no value.
    form.may_span.then_some((bytes.len(), true))
}

impl StringForm {
    /// On one line, with escapes.
    fn simple(quote: u8) -> Self {
        Self { quote, times: 1, hashes: 0, has_escapes: true, is_doubled: false, may_span: false, hole: None }
    }

    /// Between triple quotes where three stand here, else on one line.
    fn block(quote: u8, rest: &[u8]) -> Self {
        let is_block = rest.starts_with(&[quote; 3]);
        Self { times: if is_block { 3 } else { 1 }, may_span: is_block, ..Self::simple(quote) }
    }

    fn spanning(quote: u8) -> Self {
        Self { may_span: true, ..Self::simple(quote) }
    }

    fn ends(&self, rest: &[u8]) -> bool {
        let quotes = rest.get(..self.times).is_some_and(|part| part.iter().all(|byte| *byte == self.quote));
        let hashes = rest.get(self.times..self.times + self.hashes);
        quotes && hashes.is_some_and(|part| part.iter().all(|byte| *byte == b'#'))
    }
}

impl Opening {
    fn plain(form: StringForm) -> Self {
        Self { form, prefix: 0, is_plain: true, marks: b"" }
    }

    fn opaque(form: StringForm) -> Self {
        Self { is_plain: false, ..Self::plain(form) }
    }
}

/// The string that begins with this quote. `None` if it is no quote, or begins none.
fn opening(bytes: &[u8], at: usize, language: SourceLanguage) -> Option<Opening> {
    let rest = bytes.get(at..)?;
    let quote = rest.first().copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
    let before = byte_before(bytes, at);
    let word = name_before(bytes, at);
    // A quote after `:` makes a name, unless a key stands before it.
    let is_symbol = before == Some(b':') && !byte_before(bytes, at - 1).is_some_and(is_of_name);
    let is_character = || rest.get(1) == Some(&b'\\') || character_ends(rest);
    match language {
        SourceLanguage::Python => {
            let is_prefix = word.len() <= 2 && word.iter().all(|byte| b"rRbBfFuUtT".contains(byte));
            let is_filled = is_prefix && word.iter().any(|byte| b"fFtT".contains(byte));
            let hole: Option<&'static [u8]> = if is_filled { Some(b"{") } else { None };
            let form = StringForm { hole, ..StringForm::block(quote, rest) };
            let prefix = if is_prefix { word.len() } else { 0 };
            (quote != b'`').then_some(Opening { prefix, ..Opening::plain(form) })
        }
        SourceLanguage::Rust if quote == b'"' => Some(rust_string(bytes, at)),
        SourceLanguage::Rust | SourceLanguage::Scala if quote == b'\'' => {
            is_character().then(|| Opening::opaque(StringForm::simple(quote)))
        }
        SourceLanguage::Scala if quote == b'"' => {
            let is_filled = !word.is_empty() && word.is_ascii();
            let block = StringForm::block(quote, rest);
            let hole: Option<&'static [u8]> = if is_filled { Some(b"${") } else { None };
            let form = StringForm { hole, has_escapes: block.times == 1, ..block };
            let marks: &[u8] = if is_filled { b"$" } else { b"" };
            let prefix = if is_filled { word.len() } else { 0 };
            Some(Opening { prefix, marks, ..Opening::plain(form) })
        }
        SourceLanguage::JavaScript if quote == b'`' => {
            let is_tagged = before.is_some_and(|byte| is_of_name(byte) || matches!(byte, b')' | b']'));
            let form = StringForm { hole: Some(b"${"), ..StringForm::spanning(quote) };
            Some(Opening { is_plain: !is_tagged, ..Opening::plain(form) })
        }
        SourceLanguage::JavaScript => Some(Opening::plain(StringForm::simple(quote))),
        SourceLanguage::Go if quote == b'`' => {
            Some(Opening::plain(StringForm { has_escapes: false, ..StringForm::spanning(quote) }))
        }
        SourceLanguage::C | SourceLanguage::Cpp if quote == b'"' => {
            let is_prefix = [&b"L"[..], b"u", b"U", b"u8"].contains(&word);
            let prefix = if is_prefix { word.len() } else { 0 };
            Some(Opening { prefix, ..Opening::plain(StringForm::simple(quote)) })
        }
        // In 1'000'000 it is no quote.
        SourceLanguage::C | SourceLanguage::Cpp if quote == b'\'' => {
            let is_in_number = word.first().is_some_and(u8::is_ascii_digit);
            (!is_in_number).then(|| Opening::opaque(StringForm::simple(quote)))
        }
        SourceLanguage::Go
        | SourceLanguage::Java
        | SourceLanguage::Kotlin
        | SourceLanguage::CSharp
        | SourceLanguage::Zig
            if quote == b'\'' =>
        {
            Some(Opening::opaque(StringForm::simple(quote)))
        }
        SourceLanguage::Go | SourceLanguage::Zig if quote == b'"' => {
            Some(Opening::plain(StringForm::simple(quote)))
        }
        SourceLanguage::Java if quote == b'"' => Some(Opening::plain(StringForm::block(quote, rest))),
        SourceLanguage::Kotlin if quote == b'"' => {
            let block = StringForm::block(quote, rest);
            let form = StringForm { hole: Some(b"${"), has_escapes: block.times == 1, ..block };
            Some(Opening { marks: b"$", ..Opening::plain(form) })
        }
        SourceLanguage::CSharp if quote == b'"' => Some(csharp_string(bytes, at)),
        SourceLanguage::Swift if quote == b'"' => {
            Some(Opening::plain(StringForm { hole: Some(b"\\("), ..StringForm::block(quote, rest) }))
        }
        SourceLanguage::Php if quote == b'"' => {
            let form = StringForm { hole: Some(b"{$"), ..StringForm::spanning(quote) };
            Some(Opening { marks: b"$", ..Opening::plain(form) })
        }
        SourceLanguage::Php => {
            Some(Opening { is_plain: quote == b'\'', ..Opening::plain(StringForm::spanning(quote)) })
        }
        SourceLanguage::Groovy | SourceLanguage::Dart if quote != b'`' => {
            let is_raw = word == b"r";
            let hole: Option<&'static [u8]> = if is_raw { None } else { Some(b"${") };
            let form = StringForm { hole, has_escapes: !is_raw, ..StringForm::block(quote, rest) };
            let marks: &[u8] = if is_raw { b"" } else { b"$" };
            Some(Opening { prefix: usize::from(is_raw), marks, ..Opening::plain(form) })
        }
        SourceLanguage::Shell if quote == b'\'' => {
            let has_escapes = before == Some(b'$');
            let form = StringForm { has_escapes, ..StringForm::spanning(quote) };
            Some(Opening { is_plain: !has_escapes, ..Opening::plain(form) })
        }
        SourceLanguage::Shell if quote == b'"' => {
            let form = StringForm { hole: Some(b"$("), ..StringForm::spanning(quote) };
            Some(Opening { marks: b"$`", ..Opening::plain(form) })
        }
        SourceLanguage::Tcl if quote == b'"' && !before.is_some_and(is_of_name) => {
            let form = StringForm { hole: Some(b"["), ..StringForm::spanning(quote) };
            Some(Opening { marks: b"$", ..Opening::plain(form) })
        }
        SourceLanguage::Ruby => {
            // `$'` is a variable, and `?'` a character.
            let is_asked = before == Some(b'?') && !byte_before(bytes, at - 1).is_some_and(is_of_name);
            let hole: Option<&'static [u8]> = if quote == b'\'' { None } else { Some(b"#{") };
            let form = StringForm { hole, ..StringForm::spanning(quote) };
            let is_plain = quote != b'`' && !is_symbol;
            (before != Some(b'$') && !is_asked).then_some(Opening { is_plain, ..Opening::plain(form) })
        }
        SourceLanguage::Perl => {
            let is_variable = before.is_some_and(|byte| b"$&@".contains(&byte));
            let is_in_name = quote == b'\'' && before.is_some_and(is_of_name);
            let marks: &[u8] = if quote == b'\'' { b"" } else { b"$@" };
            let opening = Opening { marks, ..Opening::plain(StringForm::spanning(quote)) };
            (!is_variable && !is_in_name).then_some(Opening { is_plain: quote != b'`', ..opening })
        }
        SourceLanguage::Elixir if quote != b'`' && before != Some(b'?') => {
            let block = StringForm::block(quote, rest);
            let form = StringForm { hole: Some(b"#{"), may_span: true, ..block };
            Some(Opening { is_plain: quote == b'"' && !is_symbol, ..Opening::plain(form) })
        }
        SourceLanguage::Rust
        | SourceLanguage::Scala
        | SourceLanguage::Go
        | SourceLanguage::C
        | SourceLanguage::Cpp
        | SourceLanguage::Java
        | SourceLanguage::Kotlin
        | SourceLanguage::CSharp
        | SourceLanguage::Zig
        | SourceLanguage::Swift
        | SourceLanguage::Groovy
        | SourceLanguage::Dart
        | SourceLanguage::Shell
        | SourceLanguage::Tcl
        | SourceLanguage::Elixir => None,
    }
}

/// Whether one character and a quote follow the quote that begins here.
fn character_ends(rest: &[u8]) -> bool {
    let length = match rest.get(1) {
        None | Some(b'\'') => return false,
        Some(0..0x80) => 1,
        Some(0x80..0xe0) => 2,
        Some(0xe0..0xf0) => 3,
        Some(0xf0..) => 4,
    };
    rest.get(1 + length) == Some(&b'\'')
}

fn rust_string(bytes: &[u8], at: usize) -> Opening {
    let before = bytes.get(..at).unwrap_or_default();
    let hashes = before.iter().rev().take_while(|byte| **byte == b'#').count();
    let word = name_before(bytes, at - hashes);
    let spanning = StringForm::spanning(b'"');
    if [&b"r"[..], b"br", b"cr"].contains(&word) {
        let form = StringForm { hashes, has_escapes: false, ..spanning };
        return Opening { prefix: hashes + word.len(), ..Opening::plain(form) };
    }
    let is_prefix = hashes == 0 && [&b"b"[..], b"c"].contains(&word);
    Opening { prefix: if is_prefix { word.len() } else { 0 }, ..Opening::plain(spanning) }
}

fn csharp_string(bytes: &[u8], at: usize) -> Opening {
    let before = bytes.get(..at).unwrap_or_default();
    let prefix = before.iter().rev().take(3).take_while(|byte| b"$@".contains(byte)).count();
    let signs = before.get(at - prefix..).unwrap_or_default();
    let quotes = bytes.iter().skip(at).take_while(|byte| **byte == b'"').count();
    let hole: Option<&'static [u8]> = if signs.contains(&b'$') { Some(b"{") } else { None };
    let simple = StringForm { hole, ..StringForm::simple(b'"') };
    let form = if quotes >= 3 {
        StringForm { times: quotes, has_escapes: false, may_span: true, ..simple }
    } else if signs.contains(&b'@') {
        StringForm { has_escapes: false, is_doubled: true, may_span: true, ..simple }
    } else {
        simple
    };
    Opening { prefix, ..Opening::plain(form) }
}
