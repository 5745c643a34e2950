//! The lie detector: makes the expectations of tests false one at a time, and the tests must notice. An unnoticed lie
//! is also told on the base's code; if it is unnoticed there too, it says nothing.

use std::collections::BTreeSet;

use super::change::texts_of;
use super::checkout_run::{CheckoutRun, RunPlace};
use super::experiment::{ExperimentContext, wanted};
use super::runner::ExperimentRun;
use super::{CommandOutput, EffectError};
use journeyman_order::scrutiny::{FalsifiedExpectation, LieDetector, LieVerdict};
use journeyman_order::test_run::CommandRun;
use journeyman_order::{Exit, Proof, TestCaseStatus};
use journeyman_verify::Overlay;
use journeyman_verify::experiment::{ExperimentResult, Lie, TestTexts, evidence_of, lie_told};

/// Lies per test. Each has its own run if the runner can select tests.
const MOST_EACH: usize = 2;
const MOST_TESTS: usize = 8;
/// Lies if tests have no names: each needs a run of the whole suite.
const MOST_UNNAMED: usize = 2;

#[derive(Default)]
struct LieSession {
    lies: Vec<(Lie, bool)>,
    runs: Vec<CommandRun>,
    outputs: Vec<CommandOutput>,
}

impl LieSession {
    fn record(&mut self, ran: &CheckoutRun) {
        self.outputs.extend(ran.outputs());
        self.runs.extend(ran.test.as_ref().map(|ended| ended.run.clone()));
    }

    fn join(&mut self, other: Self) {
        self.lies.extend(other.lies);
        self.runs.extend(other.runs);
        self.outputs.extend(other.outputs);
    }
}

#[derive(Default)]
struct RewordingResult {
    session: LieSession,
    /// Tests that fail although nothing in them is false.
    red: Vec<String>,
    unmet: Option<Lie>,
}

impl RewordingResult {
    /// Adds this result to the earlier verdict.
    fn after(self, said: LieVerdict, session: &mut LieSession) -> LieVerdict {
        session.join(self.session);
        let Some(lie) = self.unmet else { return said };
        let now = format!("{} in other words", lie.was);
        session.lies.push((Lie { now, ..lie }, false));
        LieVerdict::Unnoticed
    }
}

struct DetectorSuite<'a> {
    name: &'a str,
    texts: TestTexts<'a>,
    overlays: &'a [Overlay],
    ran: &'a CheckoutRun,
}

impl ExperimentContext<'_> {
    /// Lies to the tests on the change's code. Tests that do not notice are no evidence.
    pub(super) async fn detect(
        &self,
        ran: &CheckoutRun,
        (old_tests, old_code): (Option<&ExperimentRun>, Option<&ExperimentRun>),
        judgement: &mut ExperimentResult,
        outputs: &mut Vec<CommandOutput>,
    ) -> Result<LieDetector, EffectError> {
        let overlays = old_tests.map(|old| old.overlays.as_slice()).unwrap_or_default();
        let (fixed, red) = evidence_of(judgement);
        // The tests that prove the change must also mean what they say.
        let red = if fixed.is_empty() { red } else { Vec::new() };
        let commit = &self.ask.commit;
        let files = texts_of(self.testing, self.ask, commit, overlays).await?;
        let base = DetectorSuite {
            name: "",
            texts: TestTexts { files: &files },
            overlays,
            ran: old_tests.and_then(|old| old.ran.as_ref()).unwrap_or(ran),
        };
        let of_change = async {
            if red.is_empty() {
                return Ok(None);
            }
            let files = self.new_texts().await?;
            let change = DetectorSuite { name: "-new", texts: TestTexts { files }, overlays: &[], ran };
            let old_code = old_code.and_then(|code| code.ran.as_ref());
            let said = old_code.map_or("", CheckoutRun::last_output);
            let is_alone = old_code.is_some_and(|ran| ran.is_selected);
            let lies = self.sure_ones(&change.texts, &red);
            let told = self.tell_tests(&change, &red, said, MOST_EACH);
            // A test that fails alone on the old code must pass alone on the new code.
            let reworded = self.reworded(&change, &lies, Some(&red));
            tokio::try_join!(told, wanted(is_alone || !lies.is_empty(), reworded)).map(Some)
        };
        let (of_base, of_change) = tokio::try_join!(self.of_base(&base, &fixed), of_change)?;
        let (mut said, mut session) = of_base;
        if let (Some((told, reworded)), true) = (of_change, said != LieVerdict::Unnoticed) {
            let before = session.lies.len();
            session.join(told);
            let reworded = reworded.unwrap_or_default();
            let failing = reworded.red.clone();
            said = reworded.after(said, &mut session);
            let own = session.lies.get(before..).unwrap_or_default();
            let is_void = |name: &String| {
                let of_it = || own.iter().filter(|(lie, _)| lie.test.as_ref() == Some(name));
                // If one expectation states what is right, another may only exclude what is wrong.
                let says_something = of_it().any(|(_, noticed)| *noticed);
                let is_unheard = |(lie, noticed): &(Lie, bool)| {
                    !noticed && (lie.is_sure || (lie.is_negative && !says_something))
                };
                failing.contains(name) || of_it().any(is_unheard)
            };
            let sound: Vec<String> = red.iter().filter(|name| !is_void(name)).cloned().collect();
            if sound.len() < red.len()
                && let Some(Proof::Proven { red, .. }) = &mut judgement.proof
            {
                red.clone_from(&sound);
                if sound.is_empty() {
                    judgement.proof = Some(Proof::NotProven {
                        because: match failing.is_empty() {
                            true => {
                                "the tests that fail without the change pass with a wrong expectation as well"
                            }
                            false => {
                                "the tests that fail without the change do not pass by themselves with it"
                            }
                        }
                        .to_owned(),
                    });
                }
            }
            if own.iter().any(|(_, noticed)| *noticed) && matches!(said, LieVerdict::NotTold { .. }) {
                said = LieVerdict::Noticed;
            }
        }
        outputs.append(&mut session.outputs);
        let told = session.lies.into_iter().map(|(lie, noticed)| FalsifiedExpectation {
            path: lie.path,
            line: lie.line,
            test: lie.test,
            was: lie.was,
            now: lie.now,
            noticed,
        });
        Ok(LieDetector { said, told: told.collect(), runs: session.runs })
    }

    /// Lies to the base's tests: to the fixed ones, or else to those nearest to the change.
    async fn of_base(
        &self,
        suite: &DetectorSuite<'_>,
        fixed: &[String],
    ) -> Result<(LieVerdict, LieSession), EffectError> {
        let mut session = LieSession::default();
        let texts = &suite.texts;
        let mut said = match &suite.ran.reading.cases {
            Some(cases) if fixed.is_empty() => {
                let green = cases.tests.iter().filter(|(_, status)| **status == TestCaseStatus::Passed);
                let green: Vec<String> = green.map(|(name, _)| name.clone()).collect();
                let names = texts.nearest(&green, &self.change.own_words, MOST_TESTS);
                session.join(self.tell_tests(suite, &names, "", 1).await?);
                self.of_named(texts, false, &mut session).await?
            }
            Some(_) => {
                let lies = self.sure_ones(texts, fixed);
                let told = self.tell_tests(suite, fixed, &self.baseline.tail, MOST_EACH);
                let reworded = wanted(!lies.is_empty(), self.reworded(suite, &lies, Some(fixed)));
                let (told, reworded) = tokio::try_join!(told, reworded)?;
                session.join(told);
                match self.of_named(texts, true, &mut session).await? {
                    LieVerdict::Unnoticed => LieVerdict::Unnoticed,
                    said @ (LieVerdict::Noticed | LieVerdict::NotTold { .. }) => {
                        reworded.unwrap_or_default().after(said, &mut session)
                    }
                }
            }
            None => self.of_unnamed(suite, &mut session).await?,
        };
        if matches!(said, LieVerdict::NotTold { .. }) && suite.ran.reading.cases.is_some() {
            said = said_at_last(said, self.of_unnamed(suite, &mut session).await?);
        }
        if matches!(said, LieVerdict::NotTold { .. }) {
            let data: Vec<Lie> = texts.in_data().into_iter().take(MOST_UNNAMED).collect();
            let (told, own) = self.tell_unnamed(suite, "-data", data).await?;
            session.join(own);
            said = said_at_last(said, told);
        }
        Ok((said, session))
    }

    /// Lies in each of these tests: the first of each in one run, the second in another run if that is cheap.
    async fn tell_tests(
        &self,
        suite: &DetectorSuite<'_>,
        names: &[String],
        old_said: &str,
        most_each: usize,
    ) -> Result<LieSession, EffectError> {
        let names = names.get(..names.len().min(MOST_TESTS)).unwrap_or_default();
        let lies = suite.texts.of_tests(names, &self.baseline.tail);
        // The old code's answer is the lie closest to the truth.
        let old = suite.texts.old_answers(&lies, old_said);
        let round = |round: usize| lies.iter().filter_map(|(_, own)| own.get(round)).collect::<Vec<&Lie>>();
        let rounds = std::iter::once(old.iter().collect()).chain((0..MOST_EACH).map(round));
        let most = if suite.ran.can_select(self.named_by(), names) { most_each } else { 1 };
        let rounds = rounds.filter(|now: &Vec<&Lie>| !now.is_empty()).take(most);
        let told = rounds.enumerate().map(|(number, now)| async move {
            let own: Vec<String> = now.iter().filter_map(|lie| lie.test.clone()).collect();
            let what = format!("-lie{}-{}", suite.name, number + 1);
            let ran = self.tell(suite, &what, &now, Some(&own)).await?;
            let mut session = LieSession::default();
            session.record(&ran);
            for lie in now {
                let noticed = lie_told(&ran.cell(), lie.test.as_deref());
                session.lies.extend(noticed.map(|noticed| (lie.clone(), noticed)));
            }
            Ok::<_, EffectError>(session)
        });
        let mut session = LieSession::default();
        for told in futures_util::future::try_join_all(told).await? {
            session.join(told);
        }
        Ok(session)
    }

    /// Runs the tests in other words. Nothing in them is false, so they must pass.
    async fn reworded(
        &self,
        suite: &DetectorSuite<'_>,
        lies: &[Lie],
        names: Option<&[String]>,
    ) -> Result<RewordingResult, EffectError> {
        let all = over(suite.overlays, suite.texts.reworded(&lies.iter().collect::<Vec<_>>()));
        let names = names.map(|names| names.get(..names.len().min(MOST_TESTS)).unwrap_or_default());
        let ran = self.run_at("-reworded", &self.ask.commit, all, names, RunPlace::Elsewhere).await?;
        let mut session = LieSession::default();
        session.record(&ran);
        let is_unmet = |lie: &&Lie| lie_told(&ran.cell(), lie.test.as_deref()) == Some(true);
        let fails = |name: &&String| lie_told(&ran.cell(), Some(name)) == Some(true);
        let red = names.unwrap_or_default().iter().filter(fails).cloned().collect();
        Ok(RewordingResult { session, red, unmet: lies.iter().find(is_unmet).cloned() })
    }

    fn sure_ones(&self, texts: &TestTexts<'_>, names: &[String]) -> Vec<Lie> {
        let names = names.get(..names.len().min(MOST_TESTS)).unwrap_or_default();
        let lies = texts.of_tests(names, &self.baseline.tail);
        lies.into_iter().filter_map(|(_, own)| own.into_iter().find(|lie| lie.is_sure)).collect()
    }

    async fn tell(
        &self,
        suite: &DetectorSuite<'_>,
        what: &str,
        lies: &[&Lie],
        only: Option<&[String]>,
    ) -> Result<CheckoutRun, EffectError> {
        let all = over(suite.overlays, suite.texts.overlays_of(lies));
        self.run_at(what, &self.ask.commit, all, only, RunPlace::Here).await
    }

    /// The verdict on lies in named tests. A fixed test was red before, so there is nothing to compare it with.
    async fn of_named(
        &self,
        texts: &TestTexts<'_>,
        are_fixed: bool,
        session: &mut LieSession,
    ) -> Result<LieVerdict, EffectError> {
        let unnoticed: Vec<Lie> =
            session.lies.iter().filter(|(_, noticed)| !noticed).map(|(lie, _)| lie.clone()).collect();
        if are_fixed {
            let is_noticed = |test: &Option<String>| {
                session.lies.iter().any(|(lie, noticed)| *noticed && lie.test == *test)
            };
            if unnoticed.iter().any(|lie| lie.is_sure || !is_noticed(&lie.test)) {
                return Ok(LieVerdict::Unnoticed);
            }
        } else if !unnoticed.is_empty() {
            // Only the base's own files can carry the same lie on the base.
            if self.is_noticed_on_the_base(texts, &unnoticed, session).await? {
                return Ok(LieVerdict::Unnoticed);
            }
            session.lies.retain(|(_, noticed)| *noticed);
        }
        Ok(match session.lies.iter().any(|(_, noticed)| *noticed) {
            true => LieVerdict::Noticed,
            false => not_told(unnoticed.iter().find(|lie| lie.is_sure), !session.runs.is_empty()),
        })
    }

    async fn is_noticed_on_the_base(
        &self,
        texts: &TestTexts<'_>,
        lies: &[Lie],
        session: &mut LieSession,
    ) -> Result<bool, EffectError> {
        let base = texts_of(self.testing, self.ask, &self.ask.base, &[]).await?;
        let is_same = |lie: &&Lie| {
            let file = |files: &[(String, Vec<u8>)]| {
                files.iter().find(|(path, _)| *path == lie.path).map(|(_, bytes)| bytes.clone())
            };
            file(&base) == file(texts.files)
        };
        let own: Vec<&Lie> = lies.iter().filter(is_same).collect();
        if own.is_empty() {
            return Ok(false);
        }
        // One lie per test at a time: the first of each.
        let mut first: Vec<&Lie> = Vec::new();
        for lie in own {
            if lie.test.is_none() || !first.iter().any(|known| known.test == lie.test) {
                first.push(lie);
            }
        }
        let names: Vec<String> = first.iter().filter_map(|lie| lie.test.clone()).collect();
        let only = (!names.is_empty()).then_some(names.as_slice());
        let all = over(&[], texts.overlays_of(&first));
        let ran = self.run_at("-lie-base", &self.ask.base, all, only, RunPlace::Here).await?;
        session.record(&ran);
        Ok(first.into_iter().any(|lie| lie_told(&ran.cell(), lie.test.as_deref()) == Some(true)))
    }

    /// Tells lies if the runner names no tests: one at a time, each with a run of all tests.
    async fn of_unnamed(
        &self,
        suite: &DetectorSuite<'_>,
        session: &mut LieSession,
    ) -> Result<LieVerdict, EffectError> {
        let texts = &suite.texts;
        let was_green = self.baseline.exit() == Some(Exit::Code(0));
        let mut all = texts.anywhere(&self.baseline.tail);
        // Prefer tests that have to do with the change.
        let (touched, words) = (&self.change.sides.test_paths, &self.change.own_words);
        let near: BTreeSet<&str> = texts.files_with(words).collect();
        all.sort_by_key(|lie| {
            (!lie.is_sure, !touched.contains(&lie.path), !near.contains(lie.path.as_str()))
        });
        let answer = texts.old_answer_anywhere(&all, &self.baseline.tail).filter(|_| !was_green);
        let own = all.into_iter().filter(|lie| {
            answer.as_ref().is_none_or(|answer| answer.at != lie.at || answer.path != lie.path)
        });
        let lies: Vec<Lie> = answer.clone().into_iter().chain(own).take(MOST_UNNAMED).collect();
        // A fixed test also gets a lie closer to the truth and a rewording. A test that is red anyway shows nothing.
        let is_mended = !was_green && suite.ran.cell().exit == Some(Exit::Code(0)) && !lies.is_empty();
        let slight = lies.iter().filter(|lie| lie.is_sure && is_mended).find_map(|lie| texts.slight_lie(lie));
        let (told, slight, reworded) = tokio::try_join!(
            self.tell_unnamed(suite, "-any", lies.clone()),
            self.tell_unnamed(suite, "-slight", slight.into_iter().collect()),
            wanted(is_mended, self.reworded(suite, &lies, None)),
        )?;
        session.join(told.1);
        session.join(slight.1);
        match (told.0, slight.0) {
            (LieVerdict::Unnoticed, _) | (_, LieVerdict::Unnoticed) => Ok(LieVerdict::Unnoticed),
            (said, _) => Ok(reworded.unwrap_or_default().after(said, session)),
        }
    }

    async fn tell_unnamed(
        &self,
        suite: &DetectorSuite<'_>,
        name: &str,
        lies: Vec<Lie>,
    ) -> Result<(LieVerdict, LieSession), EffectError> {
        let mut session = LieSession::default();
        let was_green = self.baseline.exit() == Some(Exit::Code(0));
        let mut unheard = None;
        for (number, lie) in lies.into_iter().enumerate() {
            let what = format!("-lie{name}-{}", number + 1);
            let ran = self.tell(suite, &what, &[&lie], None).await?;
            session.record(&ran);
            let Some(noticed) = lie_told(&ran.cell(), None) else { continue };
            session.lies.push((lie.clone(), noticed));
            if noticed {
                return Ok((LieVerdict::Noticed, session));
            }
            let is_bent = match was_green {
                true => {
                    let lie = std::slice::from_ref(&lie);
                    self.is_noticed_on_the_base(&suite.texts, lie, &mut session).await?
                }
                false => lie.is_sure,
            };
            if is_bent {
                return Ok((LieVerdict::Unnoticed, session));
            }
            session.lies.pop();
            unheard = Some(lie).filter(|lie| lie.is_sure).or(unheard);
        }
        Ok((not_told(unheard.as_ref(), !session.runs.is_empty()), session))
    }
}

const NONE_FOUND: &str = "no expectation was found in its tests that could be made false";

/// The verdict if no lie is conclusive. An `unheard` lie went unnoticed on the base too.
fn not_told(unheard: Option<&Lie>, was_told: bool) -> LieVerdict {
    let because = match unheard {
        None if was_told => {
            "expectations of its tests were made false, and no run shows whether a test notices that"
                .to_owned()
        }
        None => NONE_FOUND.to_owned(),
        Some(Lie { path, line, .. }) => format!(
            "the tests also pass with a false expectation in {path}, line {line}, on the base commit as well; a test command \
             has to end with an exit code other than 0 where a test fails"
        ),
    };
    LieVerdict::NotTold { because }
}

/// The verdict of both: if no more lies were found, the earlier one stays.
fn said_at_last(before: LieVerdict, now: LieVerdict) -> LieVerdict {
    match now {
        LieVerdict::NotTold { because } if because == NONE_FOUND => before,
        LieVerdict::NotTold { .. } | LieVerdict::Noticed | LieVerdict::Unnoticed => now,
    }
}

fn over(overlays: &[Overlay], laid: Vec<Overlay>) -> Vec<Overlay> {
    let is_kept = |overlay: &&Overlay| !laid.iter().any(|own| own.path == overlay.path);
    let kept: Vec<Overlay> = overlays.iter().filter(is_kept).cloned().collect();
    kept.into_iter().chain(laid).collect()
}
