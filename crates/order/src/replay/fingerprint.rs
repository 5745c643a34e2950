//! Whether a round failed like the one before it. Such a failure is not paid for a third time.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::judge::{FailedRound, RoundCheck};
use crate::ids::TreeSha;

/// What identifies a failure. Places and times are left out, because they vary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailureFingerprint {
    judge: RoundCheck,
    tree: Option<TreeSha>,
    failing: BTreeSet<String>,
    messages: BTreeSet<String>,
}

impl FailureFingerprint {
    /// `answer` is the worker's answer, if that is what failed.
    pub(crate) fn of(failed: &FailedRound, answer: Option<&str>) -> Self {
        let FailedRound { by, feedback, tests, tree, .. } = failed;
        let mut messages: BTreeSet<String> =
            feedback.issues.iter().map(|finding| without_numbers(&finding.description)).collect();
        messages.insert(without_numbers(&feedback.summary));
        messages.extend(answer.map(without_numbers));
        messages.extend(tests.iter().flat_map(|run| run.tail.lines()).map(without_numbers));
        let failing = tests.iter().flat_map(|run| run.failing.iter().cloned()).collect();
        Self { judge: *by, tree: tree.clone(), failing, messages }
    }

    /// The same tree, or the same failing tests and messages. A person's request is never the same, because they may
    /// repeat it.
    pub(crate) fn is_same_as(&self, before: &Self) -> bool {
        if self.judge != before.judge || self.judge == RoundCheck::Person {
            return false;
        }
        let same_tree = self.tree.is_some() && self.tree == before.tree;
        same_tree || (self.failing == before.failing && self.messages == before.messages)
    }
}

/// Places, times, addresses and process ids, which vary between otherwise identical runs. Expected and actual values
/// are numbers too, and stay unless they are written like one of these: the 5 of `a:5` goes.
static PASSING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        0x[0-9a-fA-F]+
        | \d{4}-\d\d-\d\d[T\x20]\d\d:\d\d:\d\d(\.\d+)?
        | (:\d+)+\b
        | \b[Ll]ine\x20\d+
        | \b(duration|elapsed)(_\w+)?\W{1,3}\d+(\.\d+)?
        | \b\d+(\.\d+)?\x20?(ns|us|µs|ms|s|secs?|seconds?|minutes?)\b
        | \(\d{3,}\)",
    )
    .ok()
});

fn without_numbers(text: &str) -> String {
    match PASSING.as_ref() {
        Some(passing) => passing.replace_all(text.trim(), "#").into_owned(),
        None => text.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::{Category, Feedback};

    fn print_of(by: RoundCheck, category: Category, text: &str) -> FailureFingerprint {
        let feedback = Feedback::failed(category, text);
        let failed = FailedRound { by, feedback, tests: None, tree: None, candidate: None };
        FailureFingerprint::of(&failed, None)
    }

    #[test]
    fn lines_and_times_make_no_difference() {
        let print = |text: &str| print_of(RoundCheck::Tests, Category::TestFailure, text);
        let first = print("src/lib.rs:14:5: expected 2.5, got 3 in 0.31s");
        assert!(print("src/lib.rs:19:5: expected 2.5, got 3 in 0.29s").is_same_as(&first));
        assert!(!print("src/lib.rs:14:5: index out of bounds").is_same_as(&first));
        assert!(
            !print("src/lib.rs:14:5: expected 2.5, got 4 in 0.31s").is_same_as(&first),
            "that is progress"
        );
        let thread = print("thread 'sum' (16431) panicked at line 14");
        assert!(
            print("thread 'sum' (17) panicked at line 15")
                .is_same_as(&print("thread 'sum' (17) panicked at line 9"))
        );
        assert!(print("thread 'sum' (20001) panicked at line 15").is_same_as(&thread));
        let node = print("✖ sum\n# duration_ms 103.218\n  duration_ms: 1.5\n\"elapsed\": 3");
        assert!(print("✖ sum\n# duration_ms 99\n  duration_ms: 12.25\n\"elapsed\": 4").is_same_as(&node));
        assert!(!print("✖ sum\n# duration_ms 99\nexpected 4").is_same_as(&node));
        let missing = print_of(RoundCheck::PushedCommit, Category::MissingCommit, "nothing was pushed");
        assert!(missing.is_same_as(&missing));
    }
}
