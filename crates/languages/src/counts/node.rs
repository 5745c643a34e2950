//! `node --test`: its spec reporter, and TAP.

use std::collections::BTreeMap;

use super::{RunnerSummary, number, summary};
use crate::cases::CaseList;
use journeyman_order::{TestCaseStatus, TestCounts};

/// Seven consecutive lines of totals.
pub(crate) fn node(lines: &[&str]) -> Option<RunnerSummary> {
    let total = pattern!(r"^[ℹ#] (tests|suites|pass|fail|cancelled|skipped|todo) (\d+)$");
    let read = |line: &str| {
        let found = total.captures(line)?;
        Some((found.get(1)?.as_str().to_owned(), number(&found, 2)))
    };
    // Searched from the end: the last line of the last block, then the whole block.
    let end = lines.iter().rposition(|line| read(line).is_some_and(|(name, _)| name == "todo"))?;
    let block: Vec<(String, u64)> =
        lines.get(..=end)?.iter().rev().map_while(|line| read(line)).take(7).collect();
    if !["tests", "pass", "fail"].iter().all(|name| block.iter().any(|(found, _)| found == name)) {
        return None;
    }
    let mut counts = TestCounts::default();
    // Tests and suites together, since not every version says which of those with subtests are tests.
    let mut all = 0_u64;
    for (name, count) in &block {
        match name.as_str() {
            "pass" => counts.passed = *count,
            "fail" | "cancelled" => counts.failed = counts.failed.saturating_add(*count),
            "skipped" | "todo" => counts.skipped = counts.skipped.saturating_add(*count),
            "tests" | "suites" => all = all.saturating_add(*count),
            _ => {}
        }
    }
    let failed = pattern!(r"^✖ (.+) \([\d.]+m?s\)$");
    let mut failing: Vec<String> = lines
        .iter()
        .skip_while(|line| **line != "✖ failing tests:")
        .filter_map(|line| Some(failed.captures(line)?.get(1)?.as_str().to_owned()))
        .collect();
    if failing.is_empty() {
        failing = super::tap::failing(lines, super::tap::TapDepth::Any);
    }
    let above = lines.get(..=end.saturating_sub(block.len()))?;
    let is_spec = lines.get(end).is_some_and(|line| line.starts_with('ℹ'));
    let tree = if is_spec { spec(above)? } else { tap(above)? };
    let cases = tree.cases(&counts, all);
    Some(RunnerSummary { failing, cases, ..summary(counts, end) })
}

/// Nested tests and suites, built as their results are read.
#[derive(Default)]
struct NodeTestTree {
    /// Those that have started and may have subtests, outermost first.
    open: Vec<OpenNodeTest>,
    leaves: CaseList,
    /// The number of tests and suites with subtests that did not fail on their own.
    parents: u64,
    /// How many of them failed because a subtest did.
    parents_failed: u64,
}

struct OpenNodeTest {
    name: String,
    has_parts: bool,
    has_failed: bool,
}

impl NodeTestTree {
    fn begin(&mut self, depth: usize, name: &str) {
        self.open.truncate(depth);
        self.open.push(OpenNodeTest { name: name.to_owned(), has_parts: false, has_failed: false });
    }

    /// Adds a result. It belongs to a started test, or the test has no subtests.
    fn end(&mut self, depth: usize, name: &str, status: TestCaseStatus) {
        self.open.truncate(depth + 1);
        let begun = if self.open.len() > depth { self.open.pop() } else { None };
        let begun = begun.filter(|open| open.name == name && open.has_parts);
        if let Some(around) = self.open.last_mut() {
            around.has_parts = true;
            around.has_failed |= status == TestCaseStatus::Failed;
        }
        let has_failed = begun.as_ref().is_some_and(|open| open.has_failed);
        // A test with subtests is named only if it failed on its own.
        if begun.is_some() && (status != TestCaseStatus::Failed || has_failed) {
            self.parents += 1;
            self.parents_failed += u64::from(status == TestCaseStatus::Failed);
        } else {
            let around: String = self.open.iter().map(|open| format!("{} > ", open.name)).collect();
            self.leaves.add(&format!("{around}{}", file_name(name)), status);
        }
    }

    fn cases(self, counts: &TestCounts, all: u64) -> Option<BTreeMap<String, TestCaseStatus>> {
        let named = self.leaves.counts();
        let found = named.ran().saturating_add(named.skipped).saturating_add(self.parents);
        let adds_up = found == all
            && named.failed <= counts.failed
            && counts.failed <= named.failed.saturating_add(self.parents_failed);
        self.leaves.believed_if(adds_up)
    }
}

/// A file that failed as a whole is named by its path, which differs between checkouts.
pub(crate) fn file_name(name: &str) -> &str {
    if name.starts_with('/') { name.rsplit('/').next().unwrap_or(name) } else { name }
}

/// Removes the directive after `#`, which says that the result does not count.
fn without_directive(text: &str) -> (&str, bool) {
    match pattern!(r"(?i) # *(?:skip|todo)\b.*$").find(text) {
        Some(found) => (text.get(..found.start()).unwrap_or(text), true),
        None => (text, false),
    }
}

fn spec(lines: &[&str]) -> Option<NodeTestTree> {
    let line_of = pattern!(r"^( *)([✔✖﹣▶⚠]) (.+)$");
    let took = pattern!(r"^(.+) \([\d.]+ms\)$");
    let mut tree = NodeTestTree::default();
    for line in lines {
        let Some(found) = line_of.captures(line) else { continue };
        let depth = found.get(1)?.len() / 2;
        let (text, is_skipped) = without_directive(found.get(3)?.as_str());
        let ended = took.captures(text).and_then(|found| found.get(1)).map(|name| name.as_str());
        match (found.get(2)?.as_str(), ended) {
            ("▶", None) => tree.begin(depth, text),
            (_, None) => {}
            (_, Some(name)) if is_skipped => tree.end(depth, name, TestCaseStatus::Skipped),
            ("✖", Some(name)) => tree.end(depth, name, TestCaseStatus::Failed),
            ("﹣" | "⚠", Some(name)) => tree.end(depth, name, TestCaseStatus::Skipped),
            // Older versions end a suite without a result.
            ("▶", Some(name)) => {
                let has_failed = tree.open.get(depth).is_some_and(|open| open.has_failed);
                let status = if has_failed { TestCaseStatus::Failed } else { TestCaseStatus::Passed };
                tree.end(depth, name, status);
            }
            (_, Some(name)) => tree.end(depth, name, TestCaseStatus::Passed),
        }
    }
    Some(tree)
}

fn tap(lines: &[&str]) -> Option<NodeTestTree> {
    let begins = pattern!(r"^( *)# Subtest: (.+)$");
    let ends = pattern!(r"^( *)(not )?ok \d+ - (.+)$");
    let plain = |name: &str| name.replace("\\#", "#").replace("\\\\", "\\");
    let mut tree = NodeTestTree::default();
    for line in lines {
        if let Some(found) = begins.captures(line) {
            tree.begin(found.get(1)?.len() / 4, &plain(found.get(2)?.as_str()));
        } else if let Some(found) = ends.captures(line) {
            let (name, is_skipped) = without_directive(found.get(3)?.as_str());
            let status = match (is_skipped, found.get(2)) {
                (true, _) => TestCaseStatus::Skipped,
                (false, Some(_)) => TestCaseStatus::Failed,
                (false, None) => TestCaseStatus::Passed,
            };
            tree.end(found.get(1)?.len() / 4, &plain(name), status);
        }
    }
    Some(tree)
}
