//! The plan's reproduction on both codes: a test that was written before there was a change.

use super::checkout_run::{CheckoutRun, RunPlace};
use super::experiment::ExperimentContext;
use super::{CommandOutput, EffectError};
use journeyman_order::reproduction::{ReproductionRun, ReproductionVerdict};
use journeyman_order::{Exit, Reproduction, TestCaseStatus};
use journeyman_verify::experiment::{is_of, not_loaded};
use journeyman_verify::{Overlay, OverlayAction};

/// Failing tests that are named.
const MOST_NAMED: usize = 3;

impl ExperimentContext<'_> {
    /// Runs the tests with the plan's reproduction beside them on both codes: what they come to, and what they print. Nothing
    /// where the plan has none.
    pub(super) async fn reproduce(
        &self,
    ) -> Result<(Option<ReproductionRun>, Vec<CommandOutput>), EffectError> {
        let Some(Reproduction { path, text }) = &self.ask.reproduction else { return Ok((None, Vec::new())) };
        let overlay = Overlay { path: path.clone(), action: OverlayAction::Write(text.clone().into_bytes()) };
        let laid = || vec![overlay.clone()];
        // On the change as somebody would run it, and not a machine that tests.
        let (before, after) = tokio::try_join!(
            self.run_at("-reproduction-base", &self.ask.base, laid(), None, RunPlace::Here),
            self.run_at("-reproduction", &self.ask.commit, laid(), None, RunPlace::Elsewhere),
        )?;
        let said = self.said_of(path, &before, &after);
        let outputs = [&before, &after].into_iter().flat_map(CheckoutRun::outputs).collect();
        Ok((Some(ReproductionRun { path: path.clone(), said }), outputs))
    }

    fn said_of(&self, path: &str, before: &CheckoutRun, after: &CheckoutRun) -> ReproductionVerdict {
        let open = |because: &str| ReproductionVerdict::Open { because: because.to_owned() };
        let (old, new) = (before.cell(), after.cell());
        let (Some(cases), Some(known)) = (&before.reading.cases, &self.baseline.reading.cases) else {
            // Only how the commands ended is known.
            return match (self.baseline.is_passed(), old.exit, new.exit) {
                (Some(true), Some(Exit::Code(0)), _) => open("it passes on the code before the change"),
                (Some(true), Some(Exit::Code(_)), Some(Exit::Code(0))) if not_loaded(&old).is_empty() => {
                    ReproductionVerdict::Mended
                }
                (Some(true), Some(Exit::Code(_)), Some(Exit::Code(0))) => {
                    open("it cannot be built with the code before the change")
                }
                _ => open("how the tests end does not tell which of them fails"),
            };
        };
        let unloaded = not_loaded(&self.baseline.cell());
        if not_loaded(&old).iter().any(|what| !unloaded.contains(what)) {
            return open("it does not load on the code before the change");
        }
        let is_its_own = |name: &&String| !known.tests.contains_key(*name) || is_of(name, path) == Some(true);
        let status =
            |name: &String| after.reading.cases.as_ref().and_then(|cases| cases.tests.get(name)).copied();
        let own: Vec<&String> = cases.tests.keys().filter(is_its_own).collect();
        let red: Vec<&String> = own
            .iter()
            .copied()
            .filter(|name| cases.tests.get(*name) == Some(&TestCaseStatus::Failed))
            .collect();
        let fails = |name: &&String| match status(name) {
            Some(TestCaseStatus::Passed) => false,
            Some(TestCaseStatus::Failed | TestCaseStatus::Skipped) | None => true,
        };
        let still: Vec<String> = red.iter().copied().filter(fails).take(MOST_NAMED).cloned().collect();
        match (red.is_empty(), own.is_empty()) {
            (true, true) => open("its tests are not among those that run"),
            (true, false) => open("it passes on the code before the change"),
            (false, _) if still.is_empty() => ReproductionVerdict::Mended,
            (false, _) => ReproductionVerdict::StillFails { tests: still },
        }
    }
}
