//! The plan's reproduction on both codes: a test that was written before there was a change.

use super::checkout_run::{CheckoutRun, RunPlace};
use super::experiment::ExperimentContext;
use super::{CommandOutput, EffectError};
use journeyman_order::reproduction::{ReproductionRun, ReproductionVerdict};
use journeyman_order::{Reproduction, TestCaseStatus};
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
        let own = || Overlay { path: path.clone(), action: OverlayAction::Write(text.clone().into_bytes()) };
        let beside = |tests: &[Overlay]| {
            let others = tests.iter().filter(|overlay| overlay.path != *path).cloned();
            others.chain([own()]).collect::<Vec<_>>()
        };
        // The tests of the change are left out: they may have the same names, or say which tests run. It is run as somebody
        // would run it, and not a machine that tests.
        let sides = &self.change.sides;
        let on_change = |what, tests: &[Overlay]| {
            self.run_at(what, &self.ask.commit, beside(tests), None, RunPlace::Elsewhere)
        };
        let (before, mut after) = tokio::try_join!(
            self.run_at("-reproduction-base", &self.ask.base, beside(&[]), None, RunPlace::Here),
            on_change("-reproduction", &sides.old_tests),
        )?;
        let mut outputs: Vec<CommandOutput> =
            [&before, &after].into_iter().flat_map(CheckoutRun::outputs).collect();
        if !sides.old_tests.is_empty() && self.is_unloaded(&after) {
            // Those of the base may not load on this code.
            after = on_change("-reproduction-own-tests", &[]).await?;
            outputs.extend(after.outputs());
        }
        let said = self.said_of(path, &before, &after);
        Ok((Some(ReproductionRun { path: path.clone(), said }), outputs))
    }

    /// Whether a run could not load something that the base's own run could.
    fn is_unloaded(&self, ran: &CheckoutRun) -> bool {
        let known = not_loaded(&self.baseline.cell());
        not_loaded(&ran.cell()).iter().any(|what| !known.contains(what))
    }

    fn said_of(&self, path: &str, before: &CheckoutRun, after: &CheckoutRun) -> ReproductionVerdict {
        let open = |because: &str| ReproductionVerdict::Open { because: because.to_owned() };
        if self.is_unloaded(before) {
            return open("it does not load on the code before the change");
        }
        let is_unloaded_now = self.is_unloaded(after);
        let (Some(cases), Some(known)) = (&before.reading.cases, &self.baseline.reading.cases) else {
            // Only how the commands ended is known: what was green alone is red for this file.
            let ran = |run: &CheckoutRun| run.reading.counts.map(|counts| counts.ran());
            // What dies or never ends is red.
            let ended = |run: &CheckoutRun| run.cell().exit.map(|_| run.cell().is_green());
            return match (self.baseline.is_passed(), ended(before), ended(after)) {
                (Some(true), Some(true), _) => open("it passes on the code before the change"),
                (Some(true), Some(false), Some(true)) if ran(after) >= ran(before) => {
                    ReproductionVerdict::Mended
                }
                (Some(true), Some(false), Some(_)) if is_unloaded_now => ReproductionVerdict::DoesNotLoad,
                (Some(true), Some(false), Some(_)) => ReproductionVerdict::StillFails { tests: Vec::new() },
                _ => open("how the tests end does not tell which of them fails"),
            };
        };
        let is_its_own = |name: &&String| !known.tests.contains_key(*name) || is_of(name, path) == Some(true);
        let own: Vec<&String> = cases.tests.keys().filter(is_its_own).collect();
        let red: Vec<&String> = own
            .iter()
            .copied()
            .filter(|name| cases.tests.get(*name) == Some(&TestCaseStatus::Failed))
            .collect();
        let fails = |name: &&String| after.cell().status(name) != Some(TestCaseStatus::Passed);
        let still: Vec<String> = red.iter().copied().filter(fails).take(MOST_NAMED).cloned().collect();
        match (red.is_empty(), own.is_empty()) {
            (true, true) => open("its tests are not among those that run"),
            (true, false) => open("it passes on the code before the change"),
            (false, _) if still.is_empty() => ReproductionVerdict::Mended,
            (false, _) if is_unloaded_now => ReproductionVerdict::DoesNotLoad,
            (false, _) => ReproductionVerdict::StillFails { tests: still },
        }
    }
}
