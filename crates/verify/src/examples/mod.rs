//! The examples of an issue: the calls that it shows with the values next to them, and the answers of both codes.
//!
//! May know: the issue's text, and files of both sides. Must never know: who wrote the change, and, but for the neighbours of
//! their calls, its tests.
//!
//! An issue is hostile text: everything taken from it is bounded, and runs where the tests run.

use journeyman_order::bounds::{LONGEST_DOCUMENT, LONGEST_LINE};

mod judge;
mod neighbours;
mod program;

pub use judge::{comparable, judge_examples};
pub use neighbours::{TestedCall, neighbour_tally, tested_calls};
pub use program::{AskedCalls, ExampleProgram, answers, programs, ran_in};

const MOST: usize = 6;
/// How often a process asks an example, and how many seconds it has.
const TURNS: u32 = 25;
const SECONDS: u32 = 20;

/// Whether an example may call the code of a file.
pub fn can_be_called(path: &str) -> bool {
    journeyman_languages::example_runners().any(|runner| runner.takes(path))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueExample {
    pub code: String,
    /// Earlier lines of the same block, which it may need.
    pub setup: Vec<String>,
    /// Text about this example alone, with a mark in its place: its table row, or a comment behind it. Empty if there
    /// is none, since sentences may refer to several examples.
    pub own_text: String,
    /// The text around it: its paragraph, or the whole issue for a line in a block.
    pub text: String,
    /// Whether it is part of a sentence, which may then refer to it.
    pub is_in_sentence: bool,
}

impl IssueExample {
    pub fn asked(&self) -> AskedCalls {
        let (codes, setup) = (vec![self.code.clone()], self.setup.join("\n"));
        AskedCalls { codes, setup, turns: TURNS, seconds: SECONDS }
    }
}

/// The first name in a call: the called function or its owner.
fn root(code: &str) -> &str {
    let end = code.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(code.len());
    code.get(..end).unwrap_or_default()
}

/// The calls that an issue shows: in code spans, in sessions with a prompt, and as lines of code blocks.
pub fn examples(issue: &str) -> Vec<IssueExample> {
    let issue: String = issue.replace("\r\n", "\n").chars().take(LONGEST_DOCUMENT).collect();
    let (prose, blocks) = parted(&issue);
    let in_prose = prose.split("\n\n").flat_map(in_paragraph);
    let mut kept: Vec<IssueExample> = Vec::new();
    for example in in_prose.chain(blocks.iter().flat_map(|block| of_block(block, &issue))) {
        if kept.len() < MOST && kept.iter().all(|known| known.code != example.code) {
            kept.push(example);
        }
    }
    kept
}

/// An issue's prose, and the lines of each of its code blocks.
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

/// The placeholder for a call in the text about it.
const MARK: &str = "`…`";

fn in_paragraph(paragraph: &str) -> Vec<IssueExample> {
    // Code spans: the paragraph's backticks in pairs, in order.
    let ticks: Vec<usize> = paragraph.match_indices('`').map(|(at, _)| at).collect();
    let of = |pair: &[usize]| {
        let &[open, close] = pair else { return None };
        let code = call(paragraph.get(open + 1..close)?)?;
        let (before, span) = (paragraph.get(..open)?, paragraph.get(open..=close)?);
        let text = format!("{before}{MARK}{}", paragraph.get(close + 1..)?);
        let own_text = row(paragraph, open)
            .map_or_else(String::new, |(head, row)| format!("{head} {}", row.replace(span, MARK)));
        Some(IssueExample { code, setup: Vec::new(), own_text, text, is_in_sentence: true })
    };
    ticks.chunks_exact(2).filter_map(of).collect()
}

/// The table row that contains a place, with the table's head, or the list item.
fn row(paragraph: &str, at: usize) -> Option<(&str, &str)> {
    let start = paragraph.get(..at)?.rfind('\n').map_or(0, |line| line + 1);
    let row = paragraph.get(start..)?.lines().next()?;
    if pattern!(r"^\s*(?:[-*+]|\d+[.)])\s").is_match(row) {
        return Some(("", row));
    }
    let head = paragraph.lines().find(|line| line.trim_start().starts_with('|'))?;
    row.trim_start().starts_with('|').then_some((head, row))
}

/// The calls in a block: after prompts, otherwise every line that is a call.
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
        let (code, said) = match asserted(line) {
            Some((code, value)) => (Some(code), Some(format!("should be {value}"))),
            None => (call(shown(line)), remark(line).map(str::to_owned)),
        };
        match code {
            Some(code) => {
                let text = issue.replace(&code, " ");
                let own_text = said.map_or_else(String::new, |said| format!("{MARK} {said}"));
                let setup = setup.clone();
                found.push(IssueExample { code, setup, own_text, text, is_in_sentence: false });
            }
            // A statement that continues on another line cannot be separated.
            None if line.starts_with(char::is_whitespace) || line.trim_end().ends_with([':', '{', '(']) => {
                break;
            }
            None => setup.push(line.to_owned()),
        }
    }
    found
}

/// The call and the value of a line that asserts their equality.
fn asserted(line: &str) -> Option<(String, String)> {
    let forms = [
        pattern!(r"^assert\s+(.+\))\s*==\s*(.+)$"),
        pattern!(r"^expect\((.+\))\)\.(?:toBe|toEqual|toStrictEqual)\((.+)\)$"),
        pattern!(r"^assert\.(?:equal|strictEqual|deepEqual|deepStrictEqual)\((.+\)),\s*([^,]+)\)$"),
        pattern!(r"^self\.assertEqual\((.+\)),\s*([^,]+)\)$"),
    ];
    let line = without_remark(line);
    let found = forms.iter().find_map(|form| form.captures(line))?;
    Some((call(found.get(1)?.as_str())?, found.get(2)?.as_str().trim().to_owned()))
}

const REMARKS: [&str; 4] = ["  #", " # ", " //", "\t#"];

fn remark(line: &str) -> Option<&str> {
    REMARKS.iter().find_map(|sign| Some(line.split_once(sign)?.1.trim()))
}

fn without_remark(line: &str) -> &str {
    let mut line = line.trim().trim_end_matches(';');
    for sign in REMARKS {
        line = line.split_once(sign).map_or(line, |(code, _)| code).trim().trim_end_matches(';');
    }
    line
}

/// A line's expression without the print call around it and without a comment.
fn shown(line: &str) -> &str {
    ["print(", "console.log("].iter().fold(without_remark(line), |line, print| {
        line.strip_prefix(print).and_then(|rest| rest.strip_suffix(')')).unwrap_or(line)
    })
}

/// A text that is exactly one call: no definition, no assignment, no further statement.
fn call(text: &str) -> Option<String> {
    let text = text.trim();
    // An access to a part of the result is allowed.
    let is_call = pattern!(
        r#"^[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::)[A-Za-z_][A-Za-z0-9_]*)*!?\(.+\)(?:\.[A-Za-z_][A-Za-z0-9_]*|\[\w+\])*$"#
    );
    let keywords =
        ["def", "fn", "func", "function", "if", "while", "for", "return", "assert", "print", "import"];
    let first = text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let is_one =
        text.chars().count() <= LONGEST_LINE && !text.contains(['\n', ';', '\0']) && !text.contains("...");
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
        assert_eq!(root(&found[0].code), "cents");
        let parts = "`uri.parse('urn:foo:bar').nss` is `'bar'`, `split('a b')[0]` is `'a b'`, `parse(x).nss of` and `f().`\n";
        let codes: Vec<String> = examples(parts).into_iter().map(|example| example.code).collect();
        assert_eq!(codes, ["uri.parse('urn:foo:bar').nss", "split('a b')[0]"]);
        let list =
            "Wrong:\n\n- `cents('1h')` is 3600, should be 5400\n- `cents('2h')` is 7200, should be 7205\n";
        let own: Vec<String> = examples(list).into_iter().map(|example| example.own_text).collect();
        assert_eq!(own, [" - `…` is 3600, should be 5400", " - `…` is 7200, should be 7205"]);
        let block = "```\nassert cents('1h') == 5400  # not 3600\nexpect(read('a b')).toEqual([1, 2]);\nassert.strictEqual(inc('1', 2), '1.1')\nassert x == 3\n```\n";
        let told: Vec<(String, String)> =
            examples(block).into_iter().map(|example| (example.code, example.own_text)).collect();
        assert_eq!(
            told,
            [("cents('1h')", "5400"), ("read('a b')", "[1, 2]"), ("inc('1', 2)", "'1.1'")]
                .map(|(code, value)| (code.to_owned(), format!("`…` should be {value}")))
        );
    }
}
