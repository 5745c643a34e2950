//! Tests that failed once and passed once on the change. They are excused only if the base does the same, or if it does
//! not happen again. What a pass rests on is not excused: it must pass every time, elsewhere too, and a fixed test must
//! fail on the base every time.

use std::collections::BTreeMap;

use super::EffectError;
use super::checkout_run::{CheckoutRun, RunPlace};
use super::experiment::ExperimentContext;
use journeyman_order::{CommitSha, ComparedBy, ComparisonVerdict, TestCaseStatus};
use journeyman_verify::experiment::{ExperimentResult, evidence_of, lie_told};

/// Runs on each side. A slow suite whose tests cannot be selected gets fewer.
const RUNS: usize = 6;
const RUNS_OF_LONG: usize = 2;
const LONG: f64 = 5.0;
/// How often the tests that a pass rests on are repeated, if that is fast.
const REPEATS: usize = 3;
const MOST: usize = 10;
/// A test that fails this often only with the change is broken, not flaky.
const TOO_OFTEN: usize = 2;

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    passed: usize,
    failed: usize,
}

impl ExperimentContext<'_> {
    /// Counts tests that are flaky only with the change against it.
    pub(super) async fn hold_flaky_against_base(
        &self,
        ran: &CheckoutRun,
        judgement: &mut ExperimentResult,
    ) -> Result<(), EffectError> {
        let known = self.baseline.reading.cases.as_ref().map(|cases| &cases.tests);
        let is_known = |name: &&String| known.is_some_and(|known| known.contains_key(*name));
        let names: Vec<String> =
            judgement.comparison.flaky.names.iter().filter(is_known).take(MOST).cloned().collect();
        if names.is_empty() {
            return Ok(());
        }
        let is_short = ran.seconds() < LONG || ran.can_select(self.named_by(), &names);
        let runs = if is_short { RUNS } else { RUNS_OF_LONG };
        let before = self.tallies("-flaky-base", &self.ask.base, &names, runs).await?;
        let steady: Vec<String> = names.into_iter().filter(|name| !is_both(before.get(name))).collect();
        if steady.is_empty() {
            return Ok(());
        }
        let after = self.tallies("-flaky", &self.ask.commit, &steady, runs).await?;
        let count =
            |side: &BTreeMap<String, Tally>, name: &String| side.get(name).copied().unwrap_or_default();
        // It has already failed once.
        let is_broken = |name: &&String| count(&after, name).failed + 1 >= TOO_OFTEN;
        let broken: Vec<&String> = steady.iter().filter(is_broken).collect();
        let comparison = &mut judgement.comparison;
        for name in &broken {
            comparison.flaky.remove(name);
            let list = match count(&before, name).failed {
                0 => &mut comparison.newly_broken,
                _ => &mut comparison.already_red,
            };
            list.add(name);
        }
        if !broken.is_empty() {
            judgement.judged = ComparisonVerdict::Failed;
        }
        Ok(())
    }

    /// A test that passes when it runs on the base again is not fixed.
    pub(super) async fn hold_fixed_against_base(
        &self,
        ran: &CheckoutRun,
        judgement: &mut ExperimentResult,
    ) -> Result<Option<CheckoutRun>, EffectError> {
        let fixed = judgement.comparison.fixed.names.clone();
        let is_named = judgement.comparison.by == ComparedBy::Test;
        if (is_named && fixed.is_empty()) || (!is_named && self.baseline.is_passed() != Some(false)) {
            return Ok(None);
        }
        let can_select = is_named && ran.can_select(self.named_by(), &fixed);
        let runs = if can_select || ran.seconds() < LONG { REPEATS } else { RUNS_OF_LONG };
        if is_named {
            let before = self.tallies("-fixed-base", &self.ask.base, &fixed, runs).await?;
            for name in fixed.iter().filter(|name| before.get(*name).is_some_and(|tally| tally.passed > 0)) {
                judgement.comparison.fixed.remove(name);
                judgement.comparison.flaky.add(name);
            }
            return Ok(None);
        }
        let each = (1..=runs).map(|number| async move {
            self.run(&format!("-fixed-base-{number}"), &self.ask.base, Vec::new(), None).await
        });
        let runs = futures_util::future::try_join_all(each).await?;
        Ok(runs.into_iter().find(|run| run.cell().is_green()))
    }

    /// Repeats the tests that the pass rests on, as they may run elsewhere, if they can be selected and are fast.
    pub(super) async fn repeat_evidence(
        &self,
        ran: &CheckoutRun,
        judgement: &mut ExperimentResult,
    ) -> Result<(), EffectError> {
        let (fixed, red) = evidence_of(judgement);
        // A list of tests has each once, but a test can be both fixed and proof.
        let red: Vec<String> = red.into_iter().filter(|name| !fixed.contains(name)).collect();
        let names: Vec<String> = fixed.into_iter().chain(red).take(MOST).collect();
        if names.is_empty() || ran.seconds() > LONG || !ran.can_select(self.named_by(), &names) {
            return Ok(());
        }
        let only = names.as_slice();
        let each = (1..=REPEATS).map(|number| async move {
            let what = format!("-repeat-{number}");
            self.run_at(&what, &self.ask.commit, Vec::new(), Some(only), RunPlace::Elsewhere).await
        });
        let runs = futures_util::future::try_join_all(each).await?;
        let fails = |name: &&String| runs.iter().any(|run| lie_told(&run.cell(), Some(name)) == Some(true));
        let failing: Vec<&String> = names.iter().filter(fails).collect();
        for name in &failing {
            judgement.comparison.new_failing.add(name);
        }
        if !failing.is_empty() {
            judgement.judged = ComparisonVerdict::Failed;
        }
        Ok(())
    }

    async fn tallies(
        &self,
        what: &str,
        commit: &CommitSha,
        names: &[String],
        runs: usize,
    ) -> Result<BTreeMap<String, Tally>, EffectError> {
        let each = (1..=runs).map(|number| async move {
            self.run(&format!("{what}-{number}"), commit, Vec::new(), Some(names)).await
        });
        let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
        for ran in futures_util::future::try_join_all(each).await? {
            let Some(cases) = &ran.reading.cases else { continue };
            for name in names {
                let tally = tallies.entry(name.clone()).or_default();
                match cases.tests.get(name) {
                    Some(TestCaseStatus::Passed) => tally.passed += 1,
                    Some(TestCaseStatus::Failed) => tally.failed += 1,
                    Some(TestCaseStatus::Skipped) | None => {}
                }
            }
        }
        Ok(tallies)
    }
}

fn is_both(tally: Option<&Tally>) -> bool {
    tally.is_some_and(|tally| tally.passed > 0 && tally.failed > 0)
}
