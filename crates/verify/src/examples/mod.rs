//! The examples of an issue: calls that it shows, with the values that it names beside them, and what both codes answer to
//! them.
//!
//! May know: the issue's text, and files of both sides. Must never know: who wrote the change, and its tests.
//!
//! An issue is hostile text: what is taken from it is bounded, and runs where the tests run.

mod judge;
mod program;

pub use judge::judge_examples;
pub use program::{ExampleProgram, answers, program};

/// Examples that are run.
const MOST: usize = 6;
/// Characters of one of them, and of what is said around it.
const LONGEST_CODE: usize = 300;
const LONGEST_TEXT: usize = 20_000;

/// A call that an issue shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueExample {
    /// What is evaluated.
    pub code: String,
    /// Lines of the same block before it, which it may need.
    pub setup: Vec<String>,
    /// What is said around it: its paragraph, or of a line in a block the whole issue.
    pub text: String,
    /// Whether it stands in a sentence, so that what is said there is said of it.
    pub is_in_sentence: bool,
}

impl IssueExample {
    /// The first name in its code: what is called, or what that belongs to.
    fn root(&self) -> &str {
        let end = self.code.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.code.len());
        self.code.get(..end).unwrap_or_default()
    }
}

/// The calls that an issue shows: in code spans, in sessions with a prompt, and as lines of blocks.
pub fn examples(issue: &str) -> Vec<IssueExample> {
    let issue: String = issue.replace("\r\n", "\n").chars().take(LONGEST_TEXT).collect();
    let (prose, blocks) = parted(&issue);
    let mut found: Vec<IssueExample> = Vec::new();
    for paragraph in prose.split("\n\n") {
        for (code, text) in spans(paragraph) {
            found.push(IssueExample { code, setup: Vec::new(), text, is_in_sentence: true });
        }
    }
    for block in &blocks {
        found.extend(of_block(block, &issue));
    }
    let mut kept: Vec<IssueExample> = Vec::new();
    for example in found {
        if kept.len() < MOST && kept.iter().all(|known| known.code != example.code) {
            kept.push(example);
        }
    }
    kept
}

/// An issue's prose, and the lines of each of its blocks of code.
fn parted(issue: &str) -> (String, Vec<Vec<String>>) {
    let (mut prose, mut blocks) = (String::new(), Vec::new());
    let mut open: Option<(String, Vec<String>)> = None;
    for line in issue.lines() {
        let fence: String = line.trim_start().chars().take_while(|c| matches!(c, '`' | '~')).collect();
        match &mut open {
            Some((mark, lines)) => {
                if fence.len() >= mark.len() && line.trim().len() == fence.len() {
                    blocks.push(std::mem::take(lines));
                    open = None;
                } else {
                    lines.push(line.to_owned());
                }
            }
            None if fence.len() >= 3 => open = Some((fence, Vec::new())),
            None => {
                prose.push_str(line);
                prose.push('\n');
            }
        }
    }
    blocks.extend(open.map(|(_, lines)| lines));
    (prose, blocks)
}

/// The calls in a paragraph's code spans, each with the paragraph without it.
fn spans(paragraph: &str) -> Vec<(String, String)> {
    let parts: Vec<&str> = paragraph.split('`').collect();
    let is_call = |at: &usize| at % 2 == 1 && parts.get(*at).is_some_and(|part| call(part).is_some());
    let of = |at: usize| {
        let code = call(parts.get(at)?)?;
        let rest = parts.iter().enumerate().map(|(other, part)| if other == at { "…" } else { *part });
        Some((code, rest.collect::<Vec<_>>().join("`")))
    };
    (0..parts.len()).filter(is_call).filter_map(of).collect()
}

/// The calls in a block: behind prompts, or else every line that is one.
fn of_block(lines: &[String], issue: &str) -> Vec<IssueExample> {
    let prompts = [">>> ", "> ", "In [1]: "];
    let prompt = prompts.into_iter().find(|prompt| lines.iter().any(|line| line.starts_with(prompt)));
    let mut found = Vec::new();
    let mut setup: Vec<String> = Vec::new();
    for line in lines {
        let line = match prompt {
            Some(prompt) => match line.strip_prefix(prompt) {
                Some(line) => line,
                None => continue,
            },
            None => line.as_str(),
        };
        match call(&shown(line)) {
            Some(code) => {
                let text = issue.replace(&code, " ");
                found.push(IssueExample { code, setup: setup.clone(), text, is_in_sentence: false });
            }
            // What goes on in another line is none that can be told apart.
            None if line.starts_with(char::is_whitespace) || line.trim_end().ends_with([':', '{', '(']) => {
                break;
            }
            None => setup.push(line.to_owned()),
        }
    }
    found
}

/// A line's expression: without what prints it, and without a remark.
fn shown(line: &str) -> String {
    let mut line = line.trim().trim_end_matches(';');
    for remark in ["  #", " # ", " //", "\t#"] {
        line = line.split_once(remark).map_or(line, |(code, _)| code).trim().trim_end_matches(';');
    }
    for print in ["print(", "console.log("] {
        if let Some(inner) = line.strip_prefix(print).and_then(|rest| rest.strip_suffix(')')) {
            line = inner;
        }
    }
    line.to_owned()
}

/// A text that is one call, and nothing that is defined, assigned or chained to it by a statement.
fn call(text: &str) -> Option<String> {
    let text = text.trim();
    let is_call = pattern!(r#"^[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::)[A-Za-z_][A-Za-z0-9_]*)*!?\(.+\)$"#)?;
    let keywords =
        ["def", "fn", "func", "function", "if", "while", "for", "return", "assert", "print", "import"];
    let first = text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let is_one =
        text.chars().count() <= LONGEST_CODE && !text.contains(['\n', ';', '\0']) && !text.contains("...");
    (is_one && is_call.is_match(text) && !keywords.contains(&first)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_in_sentences_sessions_and_blocks() {
        let issue = "# Negative amounts are read wrongly\n\n`cents(\"-3.50\")` is `-250`. It should be `-350`.\n\n\
            See `parse.py` and `cents()`, `def cents(text)`.\n\n```python\nfrom amounts import total\na = [1]\n\
            print(total(a))  # 2\n```\n\n```\n>>> total([1, 2])\n4\n```\n";
        let found = examples(issue);
        let codes: Vec<&str> = found.iter().map(|example| example.code.as_str()).collect();
        assert_eq!(codes, ["cents(\"-3.50\")", "total(a)", "total([1, 2])"]);
        assert_eq!(found[0].text, "`…` is `-250`. It should be `-350`.");
        assert_eq!(found[1].setup, ["from amounts import total", "a = [1]"]);
        assert_eq!(found[0].root(), "cents");
    }
}
