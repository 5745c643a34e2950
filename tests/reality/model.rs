//! How the scripted model answers Journeyman's prompts on a small Python repository: it reads them like a model and
//! works with Claude Code's own tools.

use crate::model_server::{Reply, Request};

/// `total` forgets its first number.
pub const FILES: &[(&str, &str)] = &[
    ("total.py", "def total(numbers):\n    return sum(numbers[1:])\n"),
    (
        "test_total.py",
        "import unittest\nfrom total import total\n\n\nclass Total(unittest.TestCase):\n    \
         def test_of_some(self):\n        self.assertEqual(total([1, 2, 3]), 6)\n\n    \
         def test_of_none(self):\n        self.assertEqual(total([]), 0)\n",
    ),
    (".github/journeyman.yml", "test: python3 -m unittest -v\n"),
    ("CLAUDE.md", "Our rules are in @docs/rules.md.\n"),
    ("docs/rules.md", "Sums are never rounded here.\n"),
];

pub const ISSUE: (&str, &str) = ("total() forgets a number", "`total([1, 2, 3])` is 5. It should be 6.");

/// The examination by a role that only sees the issue.
const EXAMINATION: &str = r#"{"statements": [
    {"kind": "changes", "quote": "It should be 6.", "source": "issue", "programs": [{"file": "sums.py",
      "source": "from total import total\nprint(total([1, 2, 3]))\nprint(total([7]))\n",
      "answers": [{"input": "total([1, 2, 3])", "expected": "6"}, {"input": "total([7])", "expected": "7"}]}]},
    {"kind": "stays", "quote": "Sums are never rounded here.", "source": "docs/rules.md", "programs": [{"file": "none.py",
      "source": "from total import total\nprint(total([]))\nprint(total([0, 0.125]))\n",
      "answers": [{"input": "total([])", "expected": "0"}, {"input": "total([0, 0.125])", "expected": "0.125"}]}]}
]}"#;

/// The claim after the wrong fix; only the tests decide.
pub const BOAST: &str = "I fixed the issue and all tests pass.";

/// The task of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    Classify,
    Examine,
    ReadAgain,
    Branch,
    Plan,
    Implement,
    Rework,
    PullRequest,
    Review,
}

/// Finds the task from the newest prompt. If none matches, the order's outcome shows the failure.
pub fn task(request: &Request) -> Option<Task> {
    let prompt = request.prompt();
    [
        ("This is attempt", Task::Rework),
        ("Classify issue #", Task::Classify),
        ("Say what a change for issue #", Task::Examine),
        ("Somebody says what some programs have to print", Task::ReadAgain),
        ("Name the branch", Task::Branch),
        ("Write the plan for issue #", Task::Plan),
        ("Carry out the plan below", Task::Implement),
        ("title and the text of the pull request", Task::PullRequest),
        ("Review the change below", Task::Review),
    ]
    .into_iter()
    .find_map(|(words, task)| prompt.contains(words).then_some(task))
}

/// The wrong fix first, and the right one after feedback.
pub fn reply(request: &Request) -> Reply {
    let Some(task) = task(request) else { return Reply::text("I do not know what is wanted.") };
    let file = |name: &str| format!("{}/{name}", folder(request));
    match (task, request.step()) {
        (Task::Classify, _) => Reply::text("/bug"),
        (Task::Examine, _) => Reply::text(EXAMINATION),
        (Task::ReadAgain, _) => Reply::text(r#"{"readings": [{"statement": 1, "expected": "6"}]}"#),
        (Task::Branch, _) => Reply::text("total-of-all-numbers"),
        (Task::Plan, 0) => Reply::write(
            &file(".journeyman/plans/issue-1-total.md"),
            "# Plan\n\nSum all numbers in `total.py`; run `python3 -m unittest`.\n",
        ),
        (Task::Plan, _) => Reply::text(".journeyman/plans/issue-1-total.md"),
        (Task::Implement | Task::Rework, 0) => Reply::read(&file("total.py")),
        (Task::Implement, 1) => Reply::edit(&file("total.py"), "numbers[1:]", "numbers[:-1]"),
        (Task::Rework, 1) => Reply::edit(&file("total.py"), "numbers[:-1]", "numbers"),
        (Task::Implement | Task::Rework, 2) => Reply::bash(
            "git add -A && git commit -q -m 'Sum all numbers in total' -m 'The first one was left out.' && \
             git push -q origin HEAD && git rev-parse HEAD",
        ),
        (Task::Implement, _) => Reply::text(BOAST),
        (Task::Rework, _) => Reply::text("Now every number is summed."),
        (Task::PullRequest, _) => {
            Reply::text("Sum all numbers in total\n\n`total` left the first number out. Now it sums all.")
        }
        (Task::Review, _) => Reply::text(
            r#"{"passed": true, "score": 1, "summary": "Every number is summed, and tested.", "issues": []}"#,
        ),
    }
}

/// The folder that Claude Code reports as its own; its file tools need absolute paths.
fn folder(request: &Request) -> String {
    let body = request.body.to_string();
    let path = body.split_once("orking directory: ").map(|(_, rest)| rest);
    let path = path.and_then(|rest| rest.split(|c: char| c.is_whitespace() || "\\\"`".contains(c)).next());
    path.map_or_else(|| panic!("no working directory in {body}"), str::to_owned)
}
