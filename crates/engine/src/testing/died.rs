//! Tests of the change whose process dies on the base's code, or that never end there. That counts as red. If the
//! runner can select tests, each is run alone on both codes to find the culprit.

use std::collections::BTreeMap;
use std::time::Duration;

use super::checkout_run::{CheckoutRun, CheckoutRunSpec};
use super::experiment::{ExperimentContext, OldCodeDeath, OldTestsRun, time_on_old_code};
use super::{CommandOutput, EffectError};
use journeyman_order::scrutiny::DiedTest;
use journeyman_order::{CommitSha, Exit, TestCaseStatus, TestCases};
use journeyman_verify::Overlay;
use journeyman_verify::experiment::{died, not_loaded};

const MOST: usize = 3;
impl ExperimentContext<'_> {
    /// Looks for the test that killed the run of the change's tests on the base's code.
    pub(super) async fn look_for_death(
        &self,
        ran: &CheckoutRun,
        code: &mut OldTestsRun,
        outputs: &mut Vec<CommandOutput>,
    ) -> Result<OldCodeDeath, EffectError> {
        let (Some(exit), Some(after)) = (code.ran.cell().exit, &ran.reading.cases) else {
            return Ok(OldCodeDeath::Alive);
        };
        let death = died(&code.ran.cell());
        let is_silent = code.ran.reading.cases.is_none()
            && exit != Exit::Code(0)
            && not_loaded(&code.ran.cell()).is_empty();
        if death.is_none() && !is_silent {
            return Ok(OldCodeDeath::Alive);
        }
        let known = self.baseline.reading.cases.as_ref();
        let is_own = |name: &str| {
            !known.is_some_and(|known| known.tests.contains_key(name))
                || self.change.edited_tests.iter().any(|edited| edited.is(name))
        };
        let is_open = |(name, status): &(&String, &TestCaseStatus)| {
            **status == TestCaseStatus::Passed && is_own(name) && code.ran.cell().status(name).is_none()
        };
        let open: Vec<String> =
            after.tests.iter().filter(is_open).map(|(name, _)| name.clone()).take(MOST).collect();
        let can_ask = |name: &String| ran.can_select(self.named_by(), std::slice::from_ref(name));
        if open.is_empty() || !open.iter().all(can_ask) {
            return Ok(match death {
                Some(exit @ (Exit::Signal(_) | Exit::TimedOut)) => OldCodeDeath::OfAll(DiedTest {
                    test: None,
                    exit,
                    after_seconds: code.ran.seconds(),
                    with_the_change_seconds: ran.seconds(),
                }),
                Some(Exit::Code(_)) | None => OldCodeDeath::Alive,
            });
        }
        for name in open {
            let most = self.testing.settings.test_time;
            let with = self.alone("-alone", &self.ask.commit, &[], &name, most).await?;
            if with.cell().status(&name) != Some(TestCaseStatus::Passed) {
                continue;
            }
            let most = time_on_old_code(with.seconds(), most);
            let without = self.alone("-alone-old-code", &self.ask.base, &code.overlays, &name, most).await?;
            outputs.extend(without.outputs());
            let cell = without.cell();
            let exit = match cell.status(&name) {
                Some(TestCaseStatus::Failed) => None,
                Some(TestCaseStatus::Passed | TestCaseStatus::Skipped) => continue,
                None if cell.exit == Some(Exit::Code(0)) || !not_loaded(&cell).is_empty() => continue,
                None => died(&cell).or(cell.exit),
            };
            let (named_by, seconds) = (after.named_by.clone(), without.seconds());
            let cases = &mut code.ran.reading.cases;
            let cases = cases.get_or_insert_with(|| TestCases { named_by, tests: BTreeMap::new() });
            cases.tests.insert(name.clone(), TestCaseStatus::Failed);
            return Ok(OldCodeDeath::Found(exit.map(|exit| DiedTest {
                test: Some(name),
                exit,
                after_seconds: seconds,
                with_the_change_seconds: with.seconds(),
            })));
        }
        Ok(OldCodeDeath::NotFound)
    }

    async fn alone(
        &self,
        what: &str,
        commit: &CommitSha,
        overlays: &[Overlay],
        name: &String,
        time: Duration,
    ) -> Result<CheckoutRun, EffectError> {
        let run = CheckoutRunSpec {
            overlays: overlays.to_vec(),
            only: Some((std::slice::from_ref(name), self.named_by())),
            time: Some(time),
            ..CheckoutRunSpec::all(what, commit, &self.basis.plan)
        };
        self.testing.run_in_checkout(self.ask, self.basis, run).await
    }
}
