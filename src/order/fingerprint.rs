//! Whether a round failed as the one before it did: such a failure is not paid for a third time.

use std::collections::BTreeSet;

use super::feedback::Feedback;
use super::ids::TreeSha;
use super::rounds::Judge;
use super::test_run::TestRun;

/// What a failure is known by. Numbers are left out: lines move and times differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fingerprint {
    judge: Judge,
    tree: Option<TreeSha>,
    failing: BTreeSet<String>,
    messages: BTreeSet<String>,
}

impl Fingerprint {
    /// `answer` is what the worker said, where that is what failed.
    pub(super) fn of(
        judge: Judge,
        feedback: &Feedback,
        tests: Option<&TestRun>,
        tree: Option<&TreeSha>,
        answer: Option<&str>,
    ) -> Self {
        let mut messages: BTreeSet<String> =
            feedback.issues.iter().map(|finding| without_numbers(&finding.description)).collect();
        messages.insert(without_numbers(&feedback.summary));
        messages.extend(answer.map(without_numbers));
        messages.extend(tests.iter().flat_map(|run| run.tail.lines()).map(without_numbers));
        let failing = tests.iter().flat_map(|run| run.failing.iter().cloned()).collect();
        Self { judge, tree: tree.cloned(), failing, messages }
    }

    /// On the same tree, or with the same failing tests and the same messages. A missing commit is never the same: it
    /// has a small limit of its own.
    pub(super) fn is_same_as(&self, before: &Self) -> bool {
        if self.judge != before.judge || self.judge == Judge::PushedCommit {
            return false;
        }
        let same_tree = self.tree.is_some() && self.tree == before.tree;
        same_tree || (self.failing == before.failing && self.messages == before.messages)
    }
}

/// A line without digits, and without what differs from run to run because of them.
fn without_numbers(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut in_number = false;
    for c in text.trim().chars() {
        if c.is_ascii_digit() || (in_number && (c.is_ascii_hexdigit() || matches!(c, '.' | ':'))) {
            if !in_number {
                plain.push('#');
            }
            in_number = true;
        } else {
            in_number = false;
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::super::feedback::Category;
    use super::*;

    #[test]
    fn lines_and_times_make_no_difference() {
        let print = |text: &str| {
            let feedback = Feedback::failed(Category::TestFailure, text);
            Fingerprint::of(Judge::Tests, &feedback, None, None, None)
        };
        let first = print("src/lib.rs:14:5: expected 2.5, got 3 in 0.31s");
        assert!(print("src/lib.rs:19:5: expected 2.5, got 3 in 0.29s").is_same_as(&first));
        assert!(!print("src/lib.rs:14:5: index out of bounds").is_same_as(&first));
        let missing = Feedback::failed(Category::MissingCommit, "nothing was pushed");
        let missing = Fingerprint::of(Judge::PushedCommit, &missing, None, None, None);
        assert!(!missing.is_same_as(&missing));
    }
}
