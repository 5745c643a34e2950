//! The lies that can be told to the tests of a change, found once.

use std::sync::OnceLock;

use super::lie::Lie;
use super::lies::TestTexts;

/// Test files of a change, and the lies that can be told in them.
pub struct TellableLies<'a> {
    /// The change's code with the tests of the base, as far as they load.
    pub(super) old: TestTexts<'a>,
    /// The change as it is.
    pub(super) new: TestTexts<'a>,
    /// The base as it is.
    pub(super) base: TestTexts<'a>,
    /// The tests that the pass rests on. The change's own do not matter if tests of the base were fixed.
    pub(super) fixed: Vec<String>,
    pub(super) red: Vec<String>,
    pub(super) in_old: NamedLies,
    pub(super) in_new: NamedLies,
    /// Where tests are not named, or none of their lies says anything.
    pub(super) anywhere: OnceLock<Vec<Lie>>,
}

/// Lies in tests that are named.
#[derive(Default)]
pub(super) struct NamedLies {
    /// At most one lie of each test in a run.
    pub(super) rounds: Vec<Vec<Lie>>,
    /// Of each test the first that is surely an expectation.
    pub(super) sure: Vec<Lie>,
}

impl TellableLies<'_> {
    /// Of these lies the first of each test, where the base has the same file.
    pub(super) fn also_on_base<'l>(&self, lies: impl Iterator<Item = &'l Lie>) -> Vec<Lie> {
        let mut first: Vec<Lie> = Vec::new();
        for lie in lies.filter(|lie| self.base.file(&lie.path) == self.old.file(&lie.path)) {
            if lie.test.is_none() || !first.iter().any(|known| known.test == lie.test) {
                first.push(lie.clone());
            }
        }
        first
    }
}
