//! Literal values in a test file, and a different value for each.

use std::ops::Range;

use super::SourceScan;
use crate::experiment::family::LanguageFamily;
use crate::experiment::text::other_number;

impl SourceScan<'_> {
    /// Numbers, strings and booleans in a part, each with a replacement that differs.
    pub(super) fn literals(&self, part: &Range<usize>) -> Vec<(Range<usize>, String)> {
        let mut found = Vec::new();
        let numbers = pattern!(r"\b\d[\d_]*");
        for number in numbers.find_iter(self.part(part)) {
            let at = part.start + number.start()..part.start + number.end();
            let is_alone = !self.text.get(..at.start).is_some_and(|before| {
                before.ends_with('.') && before.trim_end_matches('.').ends_with(|c: char| c.is_ascii_digit())
                    || before.ends_with("0x")
                    || before.ends_with('#')
                    || before.ends_with('$')
            });
            if is_alone
                && self.is_code(at.start)
                && !self.text.get(at.end..).is_some_and(|rest| rest.starts_with(['x', 'b', 'o']))
            {
                found.extend(other_number(number.as_str()).map(|now| (at, now)));
            }
        }
        // In order, and not nested.
        let first = self.strings.partition_point(|string| string.start < part.start);
        let within = self.strings.get(first..).unwrap_or_default();
        for string in within.iter().take_while(|string| string.end <= part.end) {
            let text = self.part(string);
            let bare = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
            let prefix = &text[..text.len() - bare.len()];
            let quote: String = if bare.starts_with("\"\"\"") || bare.starts_with("'''") {
                bare.chars().take(3).collect()
            } else {
                bare.chars().take(1).collect()
            };
            let is_character = quote == "'"
                && matches!(self.family, LanguageFamily::Rust | LanguageFamily::C | LanguageFamily::Go);
            if let Some(inner) =
                bare.strip_prefix(quote.as_str()).and_then(|rest| rest.strip_suffix(quote.as_str()))
                && !is_character
                && !quote.starts_with('#')
            {
                found.push((string.clone(), format!("{prefix}{quote}q{inner}q{quote}")));
            }
        }
        let words = pattern!(r"\b(?:true|false|True|False)\b");
        for word in words.find_iter(self.part(part)) {
            let at = part.start + word.start()..part.start + word.end();
            let now = match word.as_str() {
                "true" => "false",
                "True" => "False",
                "False" => "True",
                _ => "true",
            };
            if self.is_code(at.start) {
                found.push((at, now.to_owned()));
            }
        }
        found.sort_by_key(|(at, _)| at.start);
        found
    }

    /// Whether a side is a literal value, possibly inside constructors.
    pub(super) fn is_value(&self, side: &Range<usize>) -> bool {
        const MAKERS: [&str; 34] = [
            "Some",
            "Ok",
            "Err",
            "vec",
            "Decimal",
            "Fraction",
            "String",
            "from",
            "to_owned",
            "to_string",
            "into",
            "new",
            "dict",
            "list",
            "set",
            "tuple",
            "frozenset",
            "BigInt",
            "Number",
            "Date",
            "datetime",
            "date",
            "u8",
            "i64",
            "u64",
            "i32",
            "f64",
            "Map",
            "Set",
            "Vec",
            "asList",
            "of",
            "float",
            "int",
        ];
        let names = pattern!(r"[A-Za-z_]\w*");
        let mut is_value = true;
        for name in names.find_iter(self.part(side)) {
            let at = side.start + name.start();
            let is_in_number = self
                .text
                .get(..at)
                .is_some_and(|before| before.ends_with(|c: char| c.is_ascii_digit() || c == '_'));
            let is_word = ["true", "false", "True", "False", "None", "null"].contains(&name.as_str());
            let is_key = self
                .text
                .get(at + name.len()..)
                .is_some_and(|rest| rest.trim_start().starts_with(':') && !rest.starts_with("::"));
            is_value &=
                !self.is_code(at) || is_in_number || is_word || is_key || MAKERS.contains(&name.as_str());
        }
        is_value
    }
}
