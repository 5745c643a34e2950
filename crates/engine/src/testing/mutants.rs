//! How strong the proof is: mutants of the changed lines, and the change without each of its parts, run against the tests
//! that a pass rests on, all in one checkout. If three or more mutants were tried and none was caught, the change is not
//! proven. Parts count apart: of a fix with a test, one is always noticed, and would hide that no mutant is caught.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::checkout_run::{CheckoutRun, CheckoutRunSpec, PreparedCheckout};
use super::context::ExperimentContext;
use super::{EffectError, blocking};
use crate::command::CommandOptions;
use crate::effect_error::soon;
use journeyman_order::TestCaseStatus;
use journeyman_order::bounds::MOST_NAMED;
use journeyman_order::scrutiny::MutantTally;
use journeyman_order::test_run::CommandRun;
use journeyman_verify::experiment::{ExperimentCell, died, not_loaded};

/// A mutant that runs this many times as long as the tests counts as endless.
const TIMES_AS_LONG: f64 = 3.0;
const AT_LEAST: Duration = Duration::from_secs(10);

impl ExperimentContext<'_> {
    /// Runs mutants of the changed lines against these tests, or against all if there are none, and adds the runs to
    /// `made`.
    pub(super) async fn mutants(
        &self,
        names: &[String],
        with_the_change: &CheckoutRun,
        made: &mut Vec<CommandRun>,
    ) -> Result<MutantTally, EffectError> {
        let (testing, took) = (self.basis.testing, with_the_change.seconds());
        let limit = self.basis.ask.settings.prove.mutants.map(|seconds| Duration::from_secs(seconds.into()));
        let limit = limit.unwrap_or(Duration::MAX).min(testing.settings.mutant_time);
        if limit.is_zero() {
            return Ok(MutantTally::untried("they are given no time here (prove.mutants)"));
        }
        // One checkout for several folders says nothing about a mutant.
        if !self.basis.plan.in_each_folder().is_empty() {
            return Ok(MutantTally::untried("the tests run in each folder by itself"));
        }
        // An unreadable file must not reduce their number, and none was tried in it.
        let untried = &self.change.untried;
        let mut tally = MutantTally {
            not_tried: u32::try_from(untried.len()).unwrap_or(u32::MAX),
            unread: untried.keys().take(MOST_NAMED).cloned().collect(),
            untried: untried.iter().take(MOST_NAMED).map(|(path, what)| format!("{path}: {what}")).collect(),
            ..MutantTally::default()
        };
        if self.change.mutants.iter().all(|one| one.is_part) {
            tally.because = Some(self.because_none(&tally));
        }
        if self.change.mutants.is_empty() {
            return Ok(tally);
        }
        let begun = Instant::now();
        let only = (!names.is_empty()).then(|| (names, self.named_by()));
        let plan = &self.basis.plan;
        let run = CheckoutRunSpec::all("-mutants", &self.basis.ask.commit, plan);
        let place = self.basis.place().await?;
        let (_, prepared) = Box::pin(self.basis.prepare(run, &place)).await?;
        if let Some(mut ready) = prepared {
            let most = AT_LEAST.max(Duration::from_secs_f64(took * TIMES_AS_LONG));
            let timeout = most.min(testing.settings.test_time);
            let access = self.basis.for_tests()?;
            let mut environment = ready.environment.clone();
            // Python's cache takes two mutants of one length within a second for the same file.
            environment.insert("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned());
            let how = move || CommandOptions {
                name: String::new(),
                access: access.clone(),
                timeout,
                environment: environment.clone(),
            };
            for (number, mutant) in (1_usize..).zip(&self.change.mutants) {
                let left = limit.saturating_sub(begun.elapsed());
                if left < AT_LEAST.min(Duration::from_secs_f64(took.max(0.5))) {
                    tally.not_tried = tally.not_tried.saturating_add(1);
                    continue;
                }
                let Some(bytes) = self.change.after.get(&mutant.path) else { continue };
                let kind = if mutant.is_part { "part" } else { "mutant" };
                let words = format!("tests: {kind} {number} of {}: ", self.change.mutants.len());
                let mistake = format!("{} in {}:{}", mutant.what, mutant.path, mutant.line);
                let _shown = testing.environments.board.show(words + &mistake);
                lay_one(&mut ready, &mutant.path, mutant.apply(bytes)).await?;
                let mut ran = testing.test((&ready, plan), only, how()).await?;
                made.extend(ran.iter().flat_map(CheckoutRun::commands).cloned());
                // Other tests may catch what the proving tests miss. Without time for all of them, nobody knows.
                let is_open = ran
                    .as_ref()
                    .is_some_and(|ran| ran.is_selected && leaves_open(&with_the_change.cell(), ran));
                let has_time = limit.saturating_sub(begun.elapsed()).as_secs_f64() >= took;
                if is_open && has_time {
                    ran = testing.test((&ready, plan), None, how()).await?;
                    made.extend(ran.iter().flat_map(CheckoutRun::commands).cloned());
                }
                lay_one(&mut ready, &mutant.path, bytes.clone()).await?;
                if is_open && !has_time {
                    tally.not_tried = tally.not_tried.saturating_add(1);
                    continue;
                }
                let Some(ran) = ran else { break };
                let (cell, counts) = (ran.cell(), ran.reading.counts);
                // A mutant that does not build was not caught by a test. Neither was one against which no test ran.
                let is_unbuilt = !not_loaded(&cell).is_empty();
                if is_unbuilt && counts.is_none_or(|counts| counts.ran() == 0)
                    || cell.is_green() && counts.is_some_and(|counts| counts.ran() == 0)
                {
                    continue;
                }
                let what = format!("{}:{}: {}", mutant.path, mutant.line, mutant.what);
                match (mutant.is_part, is_caught(&with_the_change.cell(), &cell)) {
                    (true, true) => tally.parts_noticed.push(what),
                    (true, false) => tally.parts_unnoticed.push(what),
                    (false, true) => tally.caught += 1,
                    (false, false) => tally.survivors.push(what),
                }
                tally.tried += u32::from(!mutant.is_part);
            }
        }
        if tally.tried == 0 && tally.because.is_none() {
            let is_late = tally.not_tried as usize > untried.len();
            let because =
                if is_late { "the tests took too long" } else { "those that were made do not build" };
            tally.because = Some(because.to_owned());
        }
        Ok(tally)
    }

    /// Why there is no mutant of the changed lines, as a clause.
    fn because_none(&self, tally: &MutantTally) -> String {
        let languages: Vec<&str> = self.change.unparsed.iter().copied().collect();
        match (&tally.not_tried_in()[..], &languages[..]) {
            ([], []) => "the changed lines have nothing that Journeyman can mutate".to_owned(),
            ([], _) => format!("Journeyman makes no mutants of {}", languages.join(" or ")),
            (unread, _) => format!("no changed file can be mutated: {}", unread.join("; ")),
        }
    }
}

/// Whether a run of some tests leaves open what all tests say of a mutant.
fn leaves_open(without: &ExperimentCell<'_>, ran: &CheckoutRun) -> bool {
    let reading = &ran.reading;
    let ran_none = reading.counts.is_some_and(|counts| counts.ran() == 0);
    // A program with a harness of its own may fail because it is asked for some tests.
    let is_unsure = reading.cases.is_none() || reading.programs.iter().any(|program| !program.passed);
    ran_none || is_unsure || !is_caught(without, &ran.cell())
}

/// Whether a test notices the mutant. If others are red anyway, a test that passes without the mutant must fail.
fn is_caught(without: &ExperimentCell<'_>, with: &ExperimentCell<'_>) -> bool {
    if without.is_green() || with.is_green() {
        return !with.is_green();
    }
    let passing = without.reading.cases.iter().flat_map(|cases| &cases.tests);
    let mut passing = passing.filter(|(_, status)| **status == TestCaseStatus::Passed);
    let programs = without.reading.programs.iter().filter(|program| program.passed);
    let mut programs = programs.map(|program| with.reading.status_of_program(&program.name));
    died(with).is_some()
        || passing.any(|(name, _)| with.status(name) == Some(TestCaseStatus::Failed))
        || programs.any(|status| status == Some(TestCaseStatus::Failed))
}

async fn lay_one(ready: &mut PreparedCheckout, path: &str, bytes: Vec<u8>) -> Result<(), EffectError> {
    let (mut tree, mut source, path) = (ready.place.tree.clone(), ready.source.clone(), PathBuf::from(path));
    (ready.place.tree, ready.source) = blocking(move || {
        source.lay(&path, Some(&bytes)).map_err(std::io::Error::other)?;
        tree.lay(std::slice::from_ref(&path), &source)?;
        Ok::<_, std::io::Error>((tree, source))
    })
    .await?
    .map_err(|error| soon(format!("cannot write a mutant: {error}")))?;
    Ok(())
}
