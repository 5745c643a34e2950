//! The change's tests on the base's code: which of them run there, and which of them ends the run too early.

use super::cell::not_loaded;
use super::died::{DeathOnOldCode, died};
use super::known::{ExperimentName, FinishedRun, KnownSoFar};
use super::names::is_of;
use journeyman_order::scrutiny::DiedTest;
use journeyman_order::{Exit, TestCaseStatus};

/// How many suspected tests run alone.
const MOST_SUSPECTED: usize = 3;

/// The tests that the change adds or edits. `None` if other tests differ too or the runner cannot select them.
pub(super) fn concerned(known: &KnownSoFar<'_>) -> Option<Vec<String>> {
    let cases = known.change.cell.reading.cases.as_ref()?;
    let baseline = known.baseline();
    let before = &baseline.reading.cases.as_ref()?.tests;
    let paths = &known.of_change.sides.test_paths;
    let has_own = |path: &String| cases.tests.keys().any(|name| is_of(name, path) == Some(true));
    let is_own = |name: &&String| {
        let is_new = !before.contains_key(*name);
        (is_new && paths.iter().any(|path| is_of(name, path) != Some(false)))
            || known.of_change.edited.iter().any(|edited| edited.is(name))
    };
    let own: Vec<String> = cases.tests.keys().filter(is_own).cloned().collect();
    let is_all = paths.iter().all(has_own)
        && cases.tests.keys().all(|name| before.contains_key(name) || is_own(&name));
    (is_all && known.can_select(&own)).then_some(own)
}

/// Looks for the test that killed the run of the change's tests on the base's code. If the runner can select tests, each
/// suspected one runs alone on both codes.
pub(super) fn death(known: &KnownSoFar<'_>) -> DeathOnOldCode {
    let Some(code) = known.last(ExperimentName::OldCode) else { return DeathOnOldCode::Alive };
    let (Some(exit), Some(after)) = (code.cell.exit, &known.change.cell.reading.cases) else {
        return DeathOnOldCode::Alive;
    };
    let death = died(&code.cell);
    let is_silent =
        code.cell.reading.cases.is_none() && exit != Exit::Code(0) && not_loaded(&code.cell).is_empty();
    if death.is_none() && !is_silent {
        return DeathOnOldCode::Alive;
    }
    let baseline = known.baseline();
    let is_own = |name: &str| {
        !baseline.reading.cases.as_ref().is_some_and(|before| before.tests.contains_key(name))
            || known.of_change.edited.iter().any(|edited| edited.is(name))
    };
    let is_suspected = |(name, status): &(&String, &TestCaseStatus)| {
        **status == TestCaseStatus::Passed && is_own(name) && code.cell.status(name).is_none()
    };
    let suspected: Vec<&String> =
        after.tests.iter().filter(is_suspected).map(|(name, _)| name).take(MOST_SUSPECTED).collect();
    let can_ask = |name: &&String| known.can_select(std::slice::from_ref(*name));
    if suspected.is_empty() || !suspected.iter().all(can_ask) {
        return match death {
            Some(exit @ (Exit::Signal(_) | Exit::TimedOut)) => DeathOnOldCode::OfAll(DiedTest {
                test: None,
                exit,
                after_seconds: code.seconds,
                with_the_change_seconds: known.change.seconds,
            }),
            Some(Exit::Code(_)) | None => DeathOnOldCode::Alive,
        };
    }
    for name in suspected {
        let run = |what| known.all(what).find(|run: &&FinishedRun<'_>| run.only == [name.as_str()]);
        let Some(with) = run(ExperimentName::Alone) else { return DeathOnOldCode::Suspected(name.clone()) };
        if with.cell.status(name) != Some(TestCaseStatus::Passed) {
            continue;
        }
        let Some(without) = run(ExperimentName::AloneOldCode) else {
            return DeathOnOldCode::PassesAlone(name.clone());
        };
        let cell = &without.cell;
        let exit = match cell.status(name) {
            Some(TestCaseStatus::Failed) => None,
            Some(TestCaseStatus::Passed | TestCaseStatus::Skipped) => continue,
            None if cell.exit == Some(Exit::Code(0)) || !not_loaded(cell).is_empty() => continue,
            None => died(cell).or(cell.exit),
        };
        let death = exit.map(|exit| DiedTest {
            test: Some(name.clone()),
            exit,
            after_seconds: without.seconds,
            with_the_change_seconds: with.seconds,
        });
        return DeathOnOldCode::Found(name.clone(), death);
    }
    DeathOnOldCode::NotFound
}
