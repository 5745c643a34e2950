//! Every test of a run by name, as far as the names can be trusted.

use std::collections::BTreeMap;

use journeyman_order::bounds::MOST_ITEMS;
use journeyman_order::{TestCaseStatus, TestCounts};

/// The longest name in characters, without the number that distinguishes equal names.
const LONGEST_NAME: usize = 290;

pub(crate) fn count(counts: &mut TestCounts, status: TestCaseStatus) {
    *match status {
        TestCaseStatus::Passed => &mut counts.passed,
        TestCaseStatus::Failed => &mut counts.failed,
        TestCaseStatus::Skipped => &mut counts.skipped,
    } += 1;
}

/// How little a result says for a test.
fn badness(status: TestCaseStatus) -> Option<usize> {
    let from_best = [TestCaseStatus::Passed, TestCaseStatus::Skipped, TestCaseStatus::Failed];
    from_best.iter().position(|one| *one == status)
}

/// The sum of the tests of two runs.
pub fn counted_together(one: TestCounts, other: TestCounts) -> TestCounts {
    TestCounts {
        passed: one.passed.saturating_add(other.passed),
        failed: one.failed.saturating_add(other.failed),
        skipped: one.skipped.saturating_add(other.skipped),
    }
}

/// Tests in the order in which they were read.
#[derive(Debug, Default)]
pub(crate) struct CaseList {
    tests: BTreeMap<String, TestCaseStatus>,
    /// How often each name occurred, and in which source first.
    seen: BTreeMap<String, (u32, usize)>,
    /// How many sources came before this one.
    source: usize,
    /// Results of all tests, repeated names included.
    counts: TestCounts,
    is_broken: bool,
}

impl CaseList {
    /// What follows may be from another writer, who may repeat a name to hide how its test ended.
    pub(crate) fn next_source(&mut self) {
        self.source += 1;
    }

    /// Adds a test. A repeated name counts as another test. Of several sources, the worse result goes to the first.
    pub(crate) fn add(&mut self, name: &str, mut status: TestCaseStatus) {
        let Some(name) = self.counted(name, status) else { return };
        let (times, source) = self.seen.entry(name.clone()).or_insert((0, self.source));
        *times += 1;
        if *source != self.source
            && let Some(first) = self.tests.get_mut(&name)
            && badness(status) > badness(*first)
        {
            std::mem::swap(first, &mut status);
        }
        let name = if *times == 1 { name } else { format!("{name} ({times})") };
        self.is_broken |= self.tests.insert(name, status).is_some();
    }

    /// Adds a result of a test. If the test is already known, the worse result counts. For runners whose test names are
    /// unique, but that may report several results for one test.
    pub(crate) fn add_again(&mut self, name: &str, status: TestCaseStatus) {
        let Some(name) = self.counted(name, status) else { return };
        let known = self.tests.entry(name).or_insert(status);
        if badness(status) > badness(*known) {
            *known = status;
        }
    }

    fn counted(&mut self, name: &str, status: TestCaseStatus) -> Option<String> {
        let name = name.trim();
        // A memory address, or Java's hash of an object, says nothing about the test and changes with each run.
        let name = pattern!(r"(\b0x)[0-9a-fA-F]{6,16}\b|(@)[0-9a-f]{5,8}\b").replace_all(name, "${1}${2}…");
        let name: String = name.chars().take(LONGEST_NAME).collect();
        if name.is_empty() || self.tests.len() >= MOST_ITEMS {
            self.is_broken = true;
        }
        if self.is_broken {
            return None;
        }
        count(&mut self.counts, status);
        Some(name)
    }

    /// Results of all tests, repeated names included.
    pub(crate) fn counts(&self) -> TestCounts {
        self.counts
    }

    /// The tests, if the list is complete. The caller checks that it adds up.
    pub(crate) fn believed_if(self, adds_up: bool) -> Option<BTreeMap<String, TestCaseStatus>> {
        (adds_up && !self.is_broken).then_some(self.tests)
    }

    /// The tests, if they match the counts.
    pub(crate) fn adding_up_to(self, counts: &TestCounts) -> Option<BTreeMap<String, TestCaseStatus>> {
        let adds_up = self.counts == *counts;
        self.believed_if(adds_up)
    }
}
