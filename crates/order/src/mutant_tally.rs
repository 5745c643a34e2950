//! The results of mutants of a change's lines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::length::some_of;

/// If this many mutants of the changed lines were tried and none was caught, the tests do not check those lines.
const ENOUGH_MUTANTS: u32 = 3;

/// Mutants of the changed lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MutantTally {
    /// How many were tried.
    pub tried: u32,
    /// Why none were, as a clause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// How many the tests catch.
    pub caught: u32,
    /// Those they do not: path, line and what was changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<String>,
    /// Parts of the change that were taken back, each alone, and that a test run notices: path, line and which. No
    /// verdict rests on parts: if a fix is proven, one is noticed anyway, and what tidies up beside it is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts_noticed: Vec<String>,
    /// Those that none does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts_unnoticed: Vec<String>,
    /// How many mutants and parts were not tried: there was no time, or none to run all tests where the selected ones
    /// miss them, or their file cannot be read, which counts as one.
    #[serde(default)]
    pub not_tried: u32,
    /// Paths of such files; at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Of each of them how many of its lines were not tried, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untried: Vec<String>,
}

impl MutantTally {
    /// No mutants were tried, with the reason.
    pub fn untried(because: impl Into<String>) -> Self {
        Self { because: Some(because.into()), ..Self::default() }
    }

    /// What was not tried, by file, with a short reason.
    pub fn not_tried_in(&self) -> Vec<String> {
        // Older journals have only the paths.
        match self.untried.is_empty() {
            true => self.unread.iter().map(|path| format!("{path}: it cannot be read")).collect(),
            false => self.untried.clone(),
        }
    }

    /// The unreadable files in words; `None` if there are none.
    pub(super) fn unread_words(&self) -> Option<String> {
        let named = some_of(&self.unread, self.unread.len() as u64);
        (!self.unread.is_empty()).then(|| format!("{named} cannot be read"))
    }

    /// Why it is unknown whether the tests check the changed lines: no mutant was caught among those that were tried
    /// and the files that could not be read.
    pub(super) fn none_caught(&self) -> Option<String> {
        let known = u64::from(self.tried) + self.unread.len() as u64;
        if self.caught > 0 || known < u64::from(ENOUGH_MUTANTS) {
            return None;
        }
        let mutants = if self.tried == 1 { "mutant" } else { "mutants" };
        let none = format!("the tests catch none of {} {mutants} of the changed lines", self.tried);
        Some(match (self.unread_words(), self.tried) {
            (None, _) => none,
            (Some(unread), 0) => format!("no mutant of the changed lines was tried: {unread}"),
            (Some(unread), _) => format!("{none}, and others were not tried: {unread}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_read_are_told_as_not_tried_and_leave_a_proof_open_all_the_same() {
        let said = |tried, caught, unread: &[&str]| {
            let unread = unread.iter().map(|path| (*path).to_owned()).collect();
            MutantTally { tried, caught, unread, ..MutantTally::default() }.none_caught()
        };
        let none = "no mutant of the changed lines was tried: a, b, c, d, e and 1 more cannot be read";
        assert_eq!(said(0, 0, &["a", "b", "c", "d", "e", "f"]).as_deref(), Some(none));
        let some = "the tests catch none of 1 mutant of the changed lines, and others were not tried: a, b cannot be read";
        assert_eq!(said(1, 0, &["a", "b"]).as_deref(), Some(some));
        let all = "the tests catch none of 3 mutants of the changed lines";
        assert_eq!(said(3, 0, &[]).as_deref(), Some(all));
        assert_eq!((said(1, 0, &["a"]), said(3, 1, &["a", "b", "c"])), (None, None));
    }

    #[test]
    fn what_was_not_tried_is_told_with_the_reason_and_of_older_journals_by_its_path() {
        let older = MutantTally { unread: vec!["a.py".to_owned()], ..MutantTally::default() };
        assert_eq!(older.not_tried_in(), ["a.py: it cannot be read"]);
        let untried = vec!["a.py: 8 lines, since it is too tangled".to_owned()];
        assert_eq!(MutantTally { untried: untried.clone(), ..older }.not_tried_in(), untried);
    }
}
