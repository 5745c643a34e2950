//! Foreign Markdown, filtered by an allowlist of shapes.

use super::text::{BoldHandling, code_block, code_span, markdown_word, visible};
use journeyman_order::length::{CUT_NOTE, shorten};
use journeyman_order::release_words::calmed;

/// Foreign Markdown made harmless, at most `most` characters of it.
///
/// Paragraphs, lists, quotes, bold, code spans and code blocks stay. Headings become bold lines, so that none looks
/// like ours. Links become their text and address. Images, HTML, tables, task lists and formulas become their source
/// text. Anything that could ping, refer, close or link becomes a code span.
pub fn markdown(text: &str, most: usize) -> String {
    // More text cannot reach the result: only blank lines and invisible characters are dropped.
    let text: String = text.chars().take(most.saturating_mul(8).min(1_000_000)).collect();
    let text = visible(&text);
    let mut paper = MarkdownBuffer::new(most);
    let mut lines = text.split('\n');
    while let Some(line) = lines.next() {
        if paper.full {
            break;
        }
        if let Some(fence) = CodeFence::opened_by(line) {
            let code: Vec<&str> = lines.by_ref().take_while(|line| !fence.is_closed_by(line)).collect();
            paper.add_code(&code.join("\n"));
        } else {
            paper.add_line(line);
        }
    }
    paper.finish()
}

struct CodeFence {
    sign: char,
    length: usize,
}

impl CodeFence {
    fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim_start();
        let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
        let length = line.chars().take_while(|character| *character == sign).count();
        let after = line.get(length..)?;
        // A backtick after the backticks makes it a code span.
        (length >= 3 && !(sign == '`' && after.contains('`'))).then_some(Self { sign, length })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|character| character == self.sign)
    }
}

/// The rendered text, and the space that is left.
struct MarkdownBuffer {
    text: String,
    left: usize,
    full: bool,
}

impl MarkdownBuffer {
    fn new(most: usize) -> Self {
        // Room for the note and the blank line before it.
        Self { text: String::new(), left: most.saturating_sub(CUT_NOTE.len() + 2), full: false }
    }

    fn push(&mut self, block: &str) -> bool {
        let length = block.chars().count() + 1;
        if length > self.left {
            self.full = true;
            return false;
        }
        self.left -= length;
        self.text.push_str(block);
        self.text.push('\n');
        true
    }

    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") && self.left > 0 {
            self.left -= 1;
            self.text.push('\n');
        }
    }

    fn add_line(&mut self, line: &str) {
        // Again, because a removal may have joined words.
        let rendered = calmed(&render_line(line));
        if rendered.is_empty() {
            self.blank();
        } else if !self.push(&rendered) {
            // Rendering expands one character to at most four.
            let part = render_line(&shorten(line, self.left / 4));
            self.push(&part);
            self.full = true;
        }
    }

    fn add_code(&mut self, code: &str) {
        if code.trim().is_empty() {
            return self.blank();
        }
        self.blank();
        if !self.push(&code_block(code)) {
            // The two fences are longer than any run within, and escaping `<!--` adds one character.
            let part = code_block(&shorten(code, self.left / 4));
            self.push(&part);
            self.full = true;
        }
        self.blank();
    }

    fn finish(self) -> String {
        let mut text = self.text;
        text.truncate(text.trim_end().len());
        if self.full {
            let gap = if text.is_empty() { "" } else { "\n\n" };
            text.push_str(gap);
            text.push_str(CUT_NOTE);
        }
        text
    }
}

/// One line outside a code block. Empty for a blank line, a rule and the underline of a heading.
fn render_line(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let mut rest = line.trim();
    let mut prefix = String::new();
    while let Some(quoted) = rest.strip_prefix('>') {
        prefix = "> ".to_owned();
        rest = quoted.trim_start();
    }
    // An underline would make the line above a heading.
    if is_rule(rest) {
        return String::new();
    }
    if let Some(heading) = heading(rest) {
        let text = inline(&heading.replace("**", ""), BoldHandling::Escaped);
        return if is_rule(&text) { String::new() } else { format!("{prefix}**{text}**") };
    }
    if let Some((marker, item)) = list_item(rest) {
        let depth = if prefix.is_empty() { (indent / 2 * 2).min(8) } else { 0 };
        return format!("{}{prefix}{marker} {}", " ".repeat(depth), inline(item, BoldHandling::Kept));
    }
    format!("{prefix}{}", inline(rest, BoldHandling::Kept))
}

/// Blank, or only the characters of rules and underlines.
fn is_rule(line: &str) -> bool {
    line.chars().all(|character| matches!(character, '-' | '=' | '_' | '*' | '+' | ' '))
}

fn heading(line: &str) -> Option<&str> {
    let level = line.chars().take_while(|character| *character == '#').count();
    let text = line.get(level..)?;
    ((1..=6).contains(&level) && text.starts_with(' ')).then(|| text.trim().trim_end_matches('#').trim_end())
}

fn list_item(line: &str) -> Option<(String, &str)> {
    if let Some(item) = ["- ", "* ", "+ "].iter().find_map(|marker| line.strip_prefix(marker)) {
        return Some(("-".to_owned(), item.trim_start()));
    }
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let item = line.get(digits..)?.strip_prefix(['.', ')'])?.strip_prefix(' ')?;
    (1..=9).contains(&digits).then(|| (format!("{}.", &line[..digits]), item.trim_start()))
}

/// The text of a line: code spans stay, words are escaped, and words that would act become code spans.
fn inline(text: &str, bold: BoldHandling) -> String {
    let mut line = String::with_capacity(text.len() * 2);
    let mut rest = text;
    while !rest.is_empty() {
        let before = tick(rest).unwrap_or(rest.len());
        let (words_before, after) = rest.split_at(before);
        push_words(&mut line, words_before, bold);
        let run = after.len() - after.trim_start_matches('`').len();
        let (ticks, behind) = after.split_at(run);
        rest = match closing(behind, run) {
            Some(end) => {
                push_apart(&mut line, &code_span(&behind[..end]));
                &behind[end + run..]
            }
            None => {
                line.push_str(&"\\`".repeat(ticks.len()));
                behind
            }
        };
    }
    line.trim().to_owned()
}

/// The position of the first backtick that is not escaped.
fn tick(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, character)| {
        let found = character == '`' && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        found.then_some(at)
    })
}

/// The start of the backtick run that closes a code span opened by a run of this length.
fn closing(text: &str, length: usize) -> Option<usize> {
    let mut from = 0;
    loop {
        let start = from + text.get(from..)?.find('`')?;
        let run = text[start..].len() - text[start..].trim_start_matches('`').len();
        if run == length {
            return Some(start);
        }
        from = start + run;
    }
}

fn push_words(line: &mut String, text: &str, bold: BoldHandling) {
    for (index, one) in text.split(' ').enumerate() {
        if index > 0 && !line.is_empty() && !line.ends_with(' ') {
            line.push(' ');
        }
        match markdown_word(one, bold) {
            Ok(word) => line.push_str(&word),
            Err(code) => push_apart(line, &code),
        }
    }
}

/// Two adjacent runs of backticks would merge.
fn push_apart(line: &mut String, code: &str) {
    if line.ends_with('`') {
        line.push(' ');
    }
    line.push_str(code);
}

/// Harmless foreign text as a quote, separate from our own words.
pub(super) fn quoted(text: &str) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| if line.is_empty() { ">".to_owned() } else { format!("> {line}") }).collect();
    lines.join("\n")
}

/// Foreign Markdown made harmless and quoted, in at most `most` characters; `None` if nothing is visible.
pub(super) fn quoted_within(text: &str, most: usize) -> Option<String> {
    let mut room = most;
    // Each short line adds a quote sign, so the text shrinks until the result fits.
    while room >= 100 {
        let text = markdown(text, room);
        if text.is_empty() {
            return None;
        }
        let quoted = quoted(&text);
        if quoted.chars().count() <= most {
            return Some(quoted);
        }
        room = room * 2 / 3;
    }
    None
}
