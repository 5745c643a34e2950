//! A test file, scanned by words and brackets: what is code, what is text, and where assertions are.
//!
//! Every edit puts a value in place of a value of the same kind, so that the program stays the same but for what it
//! expects. What a name stands for is not known, so a name is never edited.

use std::ops::Range;

use super::family::{AssertionFinder, SourceLanguage};
use journeyman_order::bounds::LONGEST_TEXT;

mod calls;
mod commands;
mod lexer;
mod site;
mod values;

use lexer::{ByteKind, StringLiteral};
use site::{AssertionKind, AssertionSite};

pub(super) struct SourceScan<'a> {
    text: &'a str,
    language: SourceLanguage,
    is: Vec<ByteKind>,
    strings: Vec<StringLiteral>,
    lines: Vec<usize>,
}

/// A file without its comments and, outside of its texts, without its layout. Where the language is not known, lines
/// that begin like a comment are one, and no text is told from code.
pub(crate) fn without_comments(path: &str, text: &str) -> String {
    let Some(language) = SourceLanguage::of(path, text) else {
        return pattern!(r"(?m)^[ \t]*(?:#|//|--|;|/?\*)[^\n]*|\s").replace_all(text, "").into_owned();
    };
    let scan = SourceScan::of(text, language);
    let is_code = |at: usize, c: char| !(scan.is_comment(at) || c.is_whitespace() && scan.is_code(at));
    text.char_indices().filter(|(at, c)| is_code(*at, *c)).map(|(_, c)| c).collect()
}

impl<'a> SourceScan<'a> {
    pub(super) fn of(text: &'a str, language: SourceLanguage) -> Self {
        let (is, strings) = lexer::lexed(text, language);
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, language, is, strings, lines }
    }

    /// Counted from 1.
    pub(super) fn line(&self, at: usize) -> u32 {
        u32::try_from(self.lines.partition_point(|start| *start <= at)).unwrap_or(u32::MAX)
    }

    pub(super) fn is_code(&self, at: usize) -> bool {
        self.is.get(at) == Some(&ByteKind::Code)
    }

    pub(super) fn is_comment(&self, at: usize) -> bool {
        self.is.get(at) == Some(&ByteKind::Comment)
    }

    fn part(&self, range: &Range<usize>) -> &'a str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    fn before(&self, at: usize) -> &'a str {
        self.text.get(..at).unwrap_or_default()
    }

    fn trimmed(&self, range: &Range<usize>) -> Range<usize> {
        let text = self.part(range);
        let start = range.start + text.len() - text.trim_start().len();
        start..start + text.trim().len()
    }

    /// Every assertion that this scan recognizes.
    pub(super) fn assertions(&self) -> Vec<AssertionSite> {
        let finders = self.language.lexis().finders.iter();
        let found = finders.flat_map(|finder| match finder {
            AssertionFinder::Calls => self.calls(),
            AssertionFinder::OpenCalls => self.open_calls(),
            AssertionFinder::Statements => self.statements(),
            AssertionFinder::FailingConditions => self.failing_conditions(),
            AssertionFinder::TestMacros => self.macros_of_tests(),
            AssertionFinder::RubyMatchers => self.ruby_matchers(),
            AssertionFinder::ShellCommands => self.shell_commands(),
        });
        found.collect()
    }

    /// Calls of this file's macros that generate tests, such as `t!(adds: "1+1" => "2");`.
    fn macros_of_tests(&self) -> Vec<AssertionSite> {
        let definitions = pattern!(r"(?s)macro_rules![ \t]*(\w+)[ \t]*\{(.{0,2000}?)\n[ \t]*\}\n");
        let makers = definitions.captures_iter(self.text);
        let makers: Vec<&str> = makers
            .filter(|found| found.get(2).is_some_and(|body| body.as_str().contains("#[test]")))
            .filter_map(|found| found.get(1).map(|name| name.as_str()))
            .collect();
        let calls = pattern!(r"(?m)^[ \t]*(\w+)![ \t]*[(\[{]");
        let found = calls.captures_iter(self.text);
        found
            .filter_map(|found| {
                let (whole, name) = (found.get(0)?, found.get(1)?);
                let is_one = makers.contains(&name.as_str()) && self.is_code(name.start());
                let arguments = is_one.then(|| self.arguments(whole.end() - 1)).flatten()?;
                Some(AssertionSite::of(AssertionKind::Something, vec![arguments.last()?.clone()]))
            })
            .collect()
    }

    /// The places in a part that are code and in no bracket, each with its byte.
    fn top<'s>(&'s self, part: &Range<usize>) -> impl Iterator<Item = (usize, u8)> + use<'s, 'a> {
        let bytes = self.text.as_bytes();
        let part = part.start..part.end.min(bytes.len());
        let mut depth = 0_i32;
        part.filter(move |at| self.is_code(*at)).filter_map(move |at| {
            let byte = bytes.get(at).copied()?;
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some((at, byte))
        })
    }

    /// The first occurrence of `word` outside brackets and strings.
    fn find_top(&self, part: &Range<usize>, word: &str) -> Option<usize> {
        let bytes = self.text.as_bytes().get(..part.end)?;
        let is_there = |at: usize| bytes.get(at..).is_some_and(|rest| rest.starts_with(word.as_bytes()));
        self.top(part).map(|(at, _)| at).find(|at| is_there(*at))
    }

    /// Whether a name is given a value in it, as for an argument that is named.
    fn has_assignment(&self, part: &Range<usize>) -> bool {
        let bytes = self.text.as_bytes();
        self.top(part).any(|(at, byte)| {
            let before = at.checked_sub(1).and_then(|before| bytes.get(before)).copied().unwrap_or(b' ');
            let after = bytes.get(at + 1).copied().unwrap_or(b' ');
            byte == b'=' && !b"=!<>~:".contains(&before) && !b"=~>".contains(&after)
        })
    }

    /// The parts of a text between commas.
    fn split(&self, part: &Range<usize>) -> Vec<Range<usize>> {
        let mut from = part.start;
        let mut parts = Vec::new();
        for (at, _) in self.top(part).filter(|(_, byte)| *byte == b',') {
            parts.push(from..at);
            from = at + 1;
        }
        if !self.part(&(from..part.end)).trim().is_empty() {
            parts.push(from..part.end);
        }
        parts
    }

    /// The rest of the statement.
    fn statement(&self, from: usize) -> Range<usize> {
        let bytes = self.text.as_bytes();
        let continues = self.language.lexis().continues;
        let end = bytes.len().min(from + LONGEST_TEXT);
        let mut depth = 0_i32;
        for (at, byte) in bytes.iter().enumerate().take(end).skip(from) {
            match (self.is[at], byte) {
                (ByteKind::Code, b'(' | b'[' | b'{') => depth += 1,
                (ByteKind::Code, b')' | b']' | b'}') if depth > 0 => depth -= 1,
                (ByteKind::Code, b')' | b']' | b'}') => return from..at,
                (ByteKind::Comment, _) | (ByteKind::Code, b';') if depth == 0 => return from..at,
                (ByteKind::Code, b'\n') if depth == 0 => {
                    let said = self.part(&(from..at)).trim_end_matches([' ', '\t', '\r']);
                    if !said.ends_with(continues) {
                        return from..at;
                    }
                }
                _ => {}
            }
        }
        from..end
    }

    /// The arguments of the call whose bracket opens here. `None` if the bracket is not closed near by.
    fn arguments(&self, open: usize) -> Option<Vec<Range<usize>>> {
        let (close, _) =
            self.top(&(open..open + LONGEST_TEXT)).next().filter(|(_, byte)| b")]}".contains(byte))?;
        Some(self.split(&(open + 1..close)))
    }
}

#[cfg(test)]
mod tests;
