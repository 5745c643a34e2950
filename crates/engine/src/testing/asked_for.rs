//! What the base's tests say for and against a change, held against the words of the issue: what it mends beside the issue proves
//! nothing, and what it breaks beside it is not hidden by removing a test.

use std::collections::HashSet;

use super::EffectError;
use super::change::texts_of;
use super::checkout_run::CheckoutRun;
use super::experiment::ExperimentContext;
use journeyman_order::scrutiny::TestChange;
use journeyman_verify::experiment::{ExperimentResult, may_ask_for, speaks_of, title_of};

/// Removed tests that are looked at.
const MOST_REMOVED: usize = 10;

impl ExperimentContext<'_> {
    /// Of what is fixed nothing proves the change where no test of it has to do with the issue: the change mends something
    /// there, and nobody asked for it.
    pub(super) async fn hold_fixed_against_issue(
        &self,
        judgement: &mut ExperimentResult,
    ) -> Result<(), EffectError> {
        let fixed = std::mem::take(&mut judgement.comparison.fixed);
        if fixed.is_empty() {
            return Ok(());
        }
        let files = self.new_texts().await?;
        let speaks = |name: &String| speaks_of(&self.ask.issue, name, files, &self.change.own_words);
        if fixed.names.iter().any(speaks) {
            judgement.comparison.fixed = fixed;
        } else {
            judgement.comparison.fixed_beside = fixed;
        }
        Ok(())
    }

    /// Holds against the change what the base's tests say of it that it takes away, and that has nothing to do with the issue:
    /// whoever edits a test is named, and whoever removes one that fails now hides what is broken.
    pub(super) async fn hold_removed_against_issue(
        &self,
        ran: &CheckoutRun,
        judgement: &mut ExperimentResult,
    ) -> Result<(), EffectError> {
        let Some(after) = &ran.reading.cases else { return Ok(()) };
        let titles: HashSet<&str> = after.tests.keys().map(|known| title_of(known)).collect();
        let is_there = |name: &str| titles.contains(title_of(name));
        let failing = judgement.changed.iter().filter(|test| test.how == TestChange::FailsAsItWas);
        let removed: Vec<String> =
            failing.map(|test| test.test.clone()).filter(|name| !is_there(name)).take(MOST_REMOVED).collect();
        if removed.is_empty() {
            return Ok(());
        }
        let files = texts_of(self.testing, self.ask, &self.ask.base, &[]).await?;
        let is_beside = |name: &&String| !may_ask_for(&self.ask.issue, name, &files, &self.change.own_words);
        judgement.against.extend(removed.iter().find(is_beside).map(|name| {
            format!("{name} passed before, fails on this code, and is removed by the change; the issue does not speak of it")
        }));
        Ok(())
    }
}
