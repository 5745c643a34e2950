//! Literal values in a test file, and a different value for each.

use std::ops::Range;

use super::SourceScan;
use crate::experiment::family::SourceLanguage;
use crate::experiment::text::{byte_before, is_of_name, last_before, name_before, other_number};

impl SourceScan<'_> {
    /// Numbers, strings and booleans in a part, each with a replacement that differs.
    pub(super) fn literals(&self, part: &Range<usize>) -> Vec<(Range<usize>, String)> {
        let mut found = self.numbers(part);
        // In order, and not nested.
        let first = self.strings.partition_point(|string| string.at.start < part.start);
        let within = self.strings.get(first..).unwrap_or_default();
        for string in within.iter().take_while(|string| string.at.end <= part.end) {
            if !self.is_of_a_type(&string.at) {
                let (at, inner) = (&string.at, &string.inner);
                let (opens, text) = (self.part(&(at.start..inner.start)), self.part(inner));
                let closes = self.part(&(inner.end..at.end));
                let now = match pattern!(r"^\r?\n[ \t]*").find(text) {
                    // The lines of a block begin and end with their quotes.
                    Some(first) => {
                        let (first, rest) = text.split_at(first.end());
                        format!("{opens}{first}q{rest}{closes}")
                    }
                    None => format!("{opens}q{text}q{closes}"),
                };
                found.push((at.clone(), now));
            }
        }
        let is_python = self.language == SourceLanguage::Python;
        let words = pattern!(r"\b(?:true|false|True|False)\b");
        for word in words.find_iter(self.part(part)) {
            let at = part.start + word.start()..part.start + word.end();
            let now = match word.as_str() {
                "true" if !is_python => "false",
                "false" if !is_python => "true",
                "True" if is_python => "False",
                "False" if is_python => "True",
                _ => continue,
            };
            let is_name = byte_before(self.text.as_bytes(), at.start)
                .is_some_and(|before| b".:$@-".contains(&before))
                || self.text.get(at.end..).is_some_and(|rest| rest.starts_with(['?', '!']));
            if self.is_code(at.start) && !is_name {
                found.push((at, now.to_owned()));
            }
        }
        found.sort_by_key(|(at, _)| at.start);
        found
    }

    fn numbers(&self, part: &Range<usize>) -> Vec<(Range<usize>, String)> {
        let bytes = self.text.as_bytes();
        let text = self.part(part);
        // Of a date or a time not every number is one.
        let is_dated = pattern!(r"(?i)(?:date|time)\w*(?:(?:\.|::)\w+)*\(").is_match(text);
        let numbers = pattern!(
            r"[0-9][0-9_]*(?:\.[0-9][0-9_]*)?[eE][+-][0-9]+|[0-9][0-9A-Za-z_]*(?:\.[0-9][0-9A-Za-z_]*)?"
        );
        let mut found = Vec::new();
        for number in numbers.find_iter(text) {
            let start = part.start + number.start();
            let whole = number.as_str();
            let digits = whole.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'_').count();
            let digits = whole.get(..digits).unwrap_or_default().trim_end_matches('_');
            let rest = whole.get(digits.len()..).unwrap_or_default();
            let before = byte_before(bytes, start).unwrap_or(b' ');
            let after = bytes.get(part.start + number.end()).copied().unwrap_or(b' ');
            let is_of_a_name = is_of_name(before) || b".$#@\\".contains(&before);
            let is_redirected =
                self.language.is_of_words() && (b"<>&".contains(&before) || b"<>".contains(&after));
            let has_base = digits == "0" && rest.starts_with(['x', 'X', 'b', 'B', 'o', 'O']);
            let is_octal = digits.len() > 1 && digits.starts_with('0');
            let is_length =
                self.language == SourceLanguage::Rust && self.before(start).trim_end().ends_with(';');
            if !self.is_code(start) || is_of_a_name || is_redirected || has_base || is_octal || is_length {
                continue;
            }
            let now = if is_dated { next_number(digits) } else { other_number(digits) };
            found.extend(now.map(|now| (start..start + digits.len(), now)));
        }
        found
    }

    /// Whether a string is a type of TypeScript.
    fn is_of_a_type(&self, at: &Range<usize>) -> bool {
        let bytes = self.text.as_bytes();
        let Some((place, last)) = last_before(bytes, at.start) else { return false };
        let is_choice = last == b'|' && byte_before(bytes, place) != Some(b'|');
        let word = name_before(bytes, place + 1);
        self.language == SourceLanguage::JavaScript
            && (last == b'<' || is_choice || [&b"as"[..], b"satisfies", b"is"].contains(&word))
    }

    /// Whether a side is a literal value, possibly inside constructors.
    pub(super) fn is_value(&self, side: &Range<usize>) -> bool {
        const MAKERS: [&str; 47] = [
            "Some", "Ok", "Err", "vec", "Decimal", "Fraction", "String", "from", "to_owned", "to_string",
            "into", "new", "dict", "list", "set", "tuple", "frozenset", "BigInt", "Number", "Date",
            "datetime", "date", "u8", "i64", "u64", "i32", "f64", "Map", "Set", "Vec", "asList", "of",
            "float", "int", "List", "Arrays", "listOf", "setOf", "mapOf", "arrayOf", "array", "BigDecimal",
            "BigInteger", "concat", "Array", "is", "equalTo",
        ];
        const WORDS: [&str; 10] =
            ["true", "false", "True", "False", "None", "null", "nil", "undef", "nullptr", "undefined"];
        let bytes = self.text.as_bytes();
        let names = pattern!(r"[A-Za-z_]\w*");
        names.find_iter(self.part(side)).all(|name| {
            let at = side.start + name.start();
            let before = byte_before(bytes, at).unwrap_or(b' ');
            let rest = self.text.get(at + name.len()..).unwrap_or_default();
            let is_in_number = before.is_ascii_digit() || before == b'_';
            let is_key = rest.trim_start().starts_with(':') && !rest.trim_start().starts_with("::");
            let has_symbols = matches!(self.language, SourceLanguage::Ruby | SourceLanguage::Elixir);
            let is_symbol = has_symbols && before == b':' && byte_before(bytes, at - 1) != Some(b':');
            !self.is_code(at)
                || is_in_number
                || is_key
                || is_symbol
                || WORDS.contains(&name.as_str())
                || MAKERS.contains(&name.as_str())
                || self.makes_a_value(at, name.as_str(), rest)
        })
    }

    /// Whether a name that is followed by this is a type of which a value is made.
    fn makes_a_value(&self, at: usize, name: &str, rest: &str) -> bool {
        let bytes = self.text.as_bytes();
        let is_type = name.starts_with(|first: char| first.is_ascii_uppercase());
        let is_new =
            || last_before(bytes, at).is_some_and(|(place, _)| name_before(bytes, place + 1) == b"new");
        is_type
            && self.language.lexis().made.iter().any(|made| match made.strip_prefix("new ") {
                Some(made) => rest.starts_with(made) && is_new(),
                None => rest.starts_with(made),
            })
    }
}

/// The number beside it.
fn next_number(number: &str) -> Option<String> {
    let value: u64 = number.replace('_', "").parse().ok()?;
    Some(if value > 1 { value - 1 } else { value + 1 }.to_string())
}
