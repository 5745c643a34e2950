//! The reproduction of an issue: a test that its plan holds, written before there is a change, and what it says of one.
//!
//! May know: the plan's text. Must never know: the change, and who made it.
//!
//! A plan is an agent's text: what is taken from it is bounded, is a file of tests, and runs where the tests run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::test_path::is_of_tests;

/// The section of a plan that has it.
const SECTION: &str = "reproduction";
/// Bytes of its file, and of its path.
const LONGEST: usize = 32 * 1024;
const LONGEST_PATH: usize = 200;

/// A file of tests that fails while the issue is not mended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reproduction {
    pub path: String,
    pub text: String,
}

impl Reproduction {
    /// The one that a plan has: in its section *Reproduction*, a path in backticks and then a block of code.
    pub fn of_plan(plan: &str) -> Option<Self> {
        let mut is_in_section = false;
        let mut path: Option<String> = None;
        let mut lines = plan.lines();
        while let Some(line) = lines.next() {
            let text = line.trim_start();
            if let Some(mark) = fence(text) {
                let indent = line.len() - text.len();
                let block = lines.by_ref().take_while(|line| !closes(line, mark));
                let block: String = block.map(|line| dedented(line, indent) + "\n").collect();
                // The path may stand behind the language.
                let words = text.trim_start_matches(mark).split([' ', ':', '=', '"', '\'']);
                path = path.or_else(|| words.map(plain_path).find(|word| is_path(word)).map(str::to_owned));
                // How it is run may be shown before it.
                let is_shown =
                    is_of_shell(text.trim_start_matches(mark)) && !path.as_deref().is_some_and(is_shell);
                if is_shown {
                    continue;
                }
                match path.take().filter(|_| is_in_section) {
                    Some(path) if block.trim().is_empty() || block.len() > LONGEST => drop(path),
                    Some(path) => return Some(Self { path, text: block }),
                    None => {}
                }
                continue;
            }
            if let Some(heading) = heading(text) {
                is_in_section = heading.to_lowercase().contains(SECTION);
                path = None;
            }
            if is_in_section && path.is_none() {
                let spans = line.split('`').skip(1).step_by(2).map(plain_path);
                path = spans.into_iter().find(|span| is_path(span)).map(str::to_owned);
            }
        }
        None
    }
}

/// The mark that opens a block of code.
fn fence(text: &str) -> Option<&str> {
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == mark).count();
    (length >= 3).then(|| text.get(..length)).flatten()
}

/// Whether the language of a block is one of commands, or of what they print.
fn is_of_shell(language: &str) -> bool {
    let language = language.split_whitespace().next().unwrap_or_default().to_lowercase();
    ["sh", "bash", "shell", "console", "shell-session", "zsh", "text", "diff"].contains(&language.as_str())
}

fn is_shell(path: &str) -> bool {
    [".sh", ".bats", ".bash", ".txt", ".t"].iter().any(|ending| path.ends_with(ending))
}

fn closes(line: &str, mark: &str) -> bool {
    let text = line.trim();
    text.len() >= mark.len() && text.chars().all(|c| mark.starts_with(c))
}

/// A line of a block that stands as far in as its item does.
fn dedented(line: &str, indent: usize) -> String {
    let own = line.len() - line.trim_start_matches(' ').len();
    line.get(own.min(indent)..).unwrap_or_default().to_owned()
}

/// What a heading says, or what stands in bold at the beginning of a line or an item.
fn heading(text: &str) -> Option<&str> {
    if let Some(heading) = text.strip_prefix('#') {
        return Some(heading.trim_start_matches('#'));
    }
    let bold = text.trim_start_matches(['-', '*', ' ']).split("**").next()?;
    let is_bold = text.trim_start_matches(['-', ' ']).starts_with("**");
    is_bold.then_some(bold)
}

/// A path without what says that it begins here.
fn plain_path(path: &str) -> &str {
    path.trim().trim_start_matches("./")
}

/// Whether a code span is the path of a file of tests within the repository.
fn is_path(span: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    span.len() <= LONGEST_PATH && span.contains('.') && span.split('/').all(is_plain) && is_of_tests(span)
}

/// What a reproduction says of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionRun {
    pub path: String,
    pub said: ReproductionVerdict,
}

/// What its runs on both codes come to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum ReproductionVerdict {
    /// It fails on the code before the change and passes with it.
    Mended,
    /// It fails on both.
    StillFails {
        /// Its failing tests, where the runner names them.
        tests: Vec<String>,
    },
    /// It fails on the code before the change, and cannot be loaded with it.
    DoesNotLoad,
    /// It says nothing.
    Open { because: String },
}

impl ReproductionRun {
    /// Whether it is for the change; none where it says nothing.
    pub fn is_for(&self) -> Option<bool> {
        match self.said {
            ReproductionVerdict::Mended => Some(true),
            ReproductionVerdict::StillFails { .. } | ReproductionVerdict::DoesNotLoad => Some(false),
            ReproductionVerdict::Open { .. } => None,
        }
    }

    /// What it comes to, in one sentence without its sign.
    pub fn sentence(&self) -> String {
        let path = &self.path;
        match &self.said {
            ReproductionVerdict::Mended => {
                format!(
                    "the plan's reproduction {path} fails on the code before the change and passes with it"
                )
            }
            ReproductionVerdict::StillFails { tests } if tests.is_empty() => {
                format!("the plan's reproduction {path} still fails with the change")
            }
            ReproductionVerdict::StillFails { tests } => {
                format!("the plan's reproduction {path} still fails with the change: {}", tests.join(", "))
            }
            ReproductionVerdict::DoesNotLoad => {
                format!("the plan's reproduction {path} does not load with the change")
            }
            ReproductionVerdict::Open { because } => {
                format!("the plan's reproduction {path} says nothing of the change: {because}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(plan: &str) -> Option<(String, String)> {
        Reproduction::of_plan(plan).map(|found| (found.path, found.text))
    }

    fn own(path: &str, text: &str) -> Option<(String, String)> {
        Some((path.to_owned(), text.to_owned()))
    }

    #[test]
    fn a_plan_has_a_path_and_a_file_in_its_section() {
        let sections = "# Plan\n\n## Cause\n\nSee `tests/test_a.py`:\n\n```python\nassert False\n```\n\n## Reproduction\n\n\
            In `amounts.py`, as `tests/test_issue.py`:\n\n```python\ndef test_it():\n    assert 1\n```\n\n## Change\n";
        assert_eq!(taken(sections), own("tests/test_issue.py", "def test_it():\n    assert 1\n"));
        let list = "- **Cause**: `cents`.\n- **Reproduction**: `src/a.test.js`\n\n  ~~~js\n  test('a', () => {\n    x();\n  });\n  ~~~\n- **Change**: none\n";
        assert_eq!(taken(list), own("src/a.test.js", "test('a', () => {\n  x();\n});\n"));
        let shown = "## Reproduction\n\n`tests/test_a.py`\n\n```sh\npytest tests/test_a.py\n```\n\n```python\nx\n```\n";
        assert_eq!(taken(shown), own("tests/test_a.py", "x\n"));
        assert_eq!(taken("## Reproduction\n`tests/a.sh`\n```sh\nfalse\n```\n"), own("tests/a.sh", "false\n"));
        for path in [
            "`./tests/test_a.py`\n\n```python",
            "```python tests/test_a.py",
            "```py title=\"tests/test_a.py\"",
        ] {
            let plan = format!("## Reproduction\n\n{path}\nx\n```\n");
            assert_eq!(taken(&plan), own("tests/test_a.py", "x\n"), "{path}");
        }
        // Ended by the end of the plan, or by more of the same mark.
        let open = "**Reproduction**\n`a_test.go`\n````go\n```\n";
        assert_eq!(taken(open), own("a_test.go", "```\n"));
    }

    #[test]
    fn what_is_no_file_of_tests_within_the_repository_is_not_taken() {
        let plan = |path: &str, text: &str| format!("## Reproduction\n\n`{path}`\n\n```\n{text}\n```\n");
        assert_eq!(taken(&plan("tests/test_a.py", "x")), own("tests/test_a.py", "x\n"));
        for path in [
            "/tests/test_a.py",
            "../tests/test_a.py",
            "tests/../../test_a.py",
            ".git/hooks/test_a.py",
            "tests/.git/test_a.py",
            "src/amounts.py",
            "tests/",
            "tests/a b.py",
            "tests/a\u{200c}.py",
            "pytest -q tests/test_a.py",
            &format!("tests/{}.py", "a".repeat(LONGEST_PATH)),
        ] {
            assert_eq!(taken(&plan(path, "x")), None, "{path}");
        }
        assert_eq!(taken(&plan("tests/test_a.py", " ")), None);
        assert_eq!(taken(&plan("tests/test_a.py", &"x".repeat(LONGEST))), None);
        assert_eq!(taken("## Reproduction\n\n```\nx\n```\n"), None, "no path");
        assert_eq!(
            taken("## Reproduction\n\n`tests/test_a.py` fails today.\n\n## Change\n\n```\nx\n```\n"),
            None
        );
    }

    #[test]
    fn a_reproduction_is_for_a_change_or_against_it_or_says_nothing() {
        let run = |said| ReproductionRun { path: "tests/test_a.py".to_owned(), said };
        let named = |tests: &[&str]| tests.iter().map(|name| (*name).to_owned()).collect();
        let runs = [
            run(ReproductionVerdict::Mended),
            run(ReproductionVerdict::DoesNotLoad),
            run(ReproductionVerdict::StillFails { tests: named(&["a", "b"]) }),
            run(ReproductionVerdict::StillFails { tests: Vec::new() }),
            run(ReproductionVerdict::Open { because: "it passes before the change".to_owned() }),
        ];
        assert_eq!(
            runs.each_ref().map(ReproductionRun::is_for),
            [Some(true), Some(false), Some(false), Some(false), None]
        );
        insta::assert_snapshot!(runs.each_ref().map(ReproductionRun::sentence).join("\n"), @r###"
        the plan's reproduction tests/test_a.py fails on the code before the change and passes with it
        the plan's reproduction tests/test_a.py does not load with the change
        the plan's reproduction tests/test_a.py still fails with the change: a, b
        the plan's reproduction tests/test_a.py still fails with the change
        the plan's reproduction tests/test_a.py says nothing of the change: it passes before the change
        "###);
    }
}
