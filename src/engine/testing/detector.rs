//! The lie detector: one expectation of a test after the other is made false, and the tests have to notice. What is not
//! noticed is told to the code of the base as well: a lie that nobody notices there says nothing.

use super::change::texts_of;
use super::experiment::{Bench, OldTestsRun};
use super::place::Ran;
use super::{Output, Trouble};
use crate::order::scrutiny::{LieDetector, LieVerdict, ToldLie};
use crate::order::test_run::CommandRun;
use crate::order::{CaseStatus, CommitSha, Exit, Proof};
use crate::verify::Overlay;
use crate::verify::experiment::{Judgement, Lie, TestTexts, evidence_of, lie_told};

/// Lies in one test, each in a run of its own, where the runner can be asked for some tests only.
const MOST_EACH: usize = 3;
/// Tests in which lies are told.
const MOST_TESTS: usize = 8;
/// Lies where tests are not named: each takes a run of all of them.
const MOST_UNNAMED: usize = 2;

/// What was told, and what came of it.
#[derive(Default)]
struct Session {
    told: Vec<(Lie, bool)>,
    runs: Vec<CommandRun>,
    outputs: Vec<Output>,
}

impl Bench<'_> {
    /// Tells lies on the code of the change. Tests that do not notice one are no evidence, and are taken out of the
    /// judgement.
    pub(super) async fn detect(
        &self,
        ran: &Ran,
        old_tests: Option<&OldTestsRun>,
        old_code_said: &str,
        judgement: &mut Judgement,
        outputs: &mut Vec<Output>,
    ) -> Result<LieDetector, Trouble> {
        let overlays = old_tests.map(|old| old.overlays.clone()).unwrap_or_default();
        let old = old_tests.map_or(ran, |old| &old.ran);
        let (fixed, red) = evidence_of(judgement);
        let mut session = Session::default();
        let commit = &self.ask.commit;
        let files = texts_of(self.testing, self.ask, commit, &overlays).await?;
        let texts = TestTexts { files: &files };
        let mut said = match &old.reading.cases {
            Some(cases) => {
                let mut names = fixed.clone();
                if names.is_empty() {
                    let green = cases.tests.iter().filter(|(_, status)| **status == CaseStatus::Passed);
                    let green: Vec<String> = green.map(|(name, _)| name.clone()).collect();
                    names = texts.nearest(&green, &self.change.own_words, MOST_TESTS);
                }
                let said = if fixed.is_empty() { "" } else { self.baseline.tail.as_str() };
                self.tell_tests(&texts, &names, &overlays, said, &mut session).await?;
                let said = self.of_named(&texts, !fixed.is_empty(), &mut session).await?;
                match said != LieVerdict::Unnoticed && !fixed.is_empty() {
                    true => {
                        let lies = self.sure_ones(&texts, &fixed);
                        self.reworded(&texts, &lies, Some(&fixed), &overlays, said, &mut session).await?
                    }
                    false => said,
                }
            }
            None => self.of_unnamed(&texts, old, &overlays, &mut session).await?,
        };
        if matches!(said, LieVerdict::NotTold { .. }) && old.reading.cases.is_some() {
            said = self.of_unnamed(&texts, old, &overlays, &mut session).await?;
        }
        if matches!(said, LieVerdict::NotTold { .. }) {
            let data: Vec<Lie> = texts.in_data().into_iter().take(MOST_UNNAMED).collect();
            said = self.tell_unnamed(&texts, data, &overlays, &mut session).await?;
        }
        // The tests that prove the change have to mean what they say as well.
        if said != LieVerdict::Unnoticed && fixed.is_empty() && !red.is_empty() {
            let files = texts_of(self.testing, self.ask, commit, &[]).await?;
            let before = session.told.len();
            let texts = TestTexts { files: &files };
            self.tell_tests(&texts, &red, &[], old_code_said, &mut session).await?;
            let lies = self.sure_ones(&texts, &red);
            said = self.reworded(&texts, &lies, Some(&red), &[], said, &mut session).await?;
            let is_void = |name: &String| {
                session
                    .told
                    .get(before..)
                    .unwrap_or_default()
                    .iter()
                    .any(|(lie, noticed)| lie.test.as_ref() == Some(name) && !noticed && lie.is_sure)
            };
            let sound: Vec<String> = red.iter().filter(|name| !is_void(name)).cloned().collect();
            if sound.len() < red.len()
                && let Some(Proof::Proven { red, .. }) = &mut judgement.proof
            {
                red.clone_from(&sound);
                if sound.is_empty() {
                    judgement.proof = Some(Proof::NotProven {
                        because:
                            "the tests that fail without the change pass with a wrong expectation as well"
                                .to_owned(),
                    });
                }
            }
            let noticed = session.told.get(before..).unwrap_or_default().iter().any(|(_, noticed)| *noticed);
            if noticed && matches!(said, LieVerdict::NotTold { .. }) {
                said = LieVerdict::Noticed;
            }
        }
        outputs.append(&mut session.outputs);
        let told = session.told.into_iter().map(|(lie, noticed)| ToldLie {
            path: lie.path,
            line: lie.line,
            test: lie.test,
            was: lie.was,
            now: lie.now,
            noticed,
        });
        Ok(LieDetector { said, told: told.collect(), runs: session.runs })
    }

    /// Lies in each of these tests: the first of each in one run, then the second, as long as that costs little.
    async fn tell_tests(
        &self,
        texts: &TestTexts<'_>,
        names: &[String],
        overlays: &[Overlay],
        old_said: &str,
        session: &mut Session,
    ) -> Result<(), Trouble> {
        let names = names.get(..names.len().min(MOST_TESTS)).unwrap_or_default();
        let lies = texts.of_tests(names, &self.baseline.tail);
        // What the old code answers is the lie that is nearest to the truth.
        let old = texts.old_answers(&lies, old_said);
        let first = usize::from(!old.is_empty());
        for round in 0..MOST_EACH + first {
            let now: Vec<&Lie> = match round.checked_sub(first) {
                None => old.iter().collect(),
                Some(round) => lies.iter().filter_map(|(_, own)| own.get(round)).collect(),
            };
            if now.is_empty() {
                break;
            }
            let own: Vec<String> = now.iter().filter_map(|lie| lie.test.clone()).collect();
            let ran = self.tell(texts, &now, overlays, &self.ask.commit, Some(&own), session).await?;
            for lie in now {
                let noticed = lie_told(&ran.cell(), lie.test.as_deref());
                session.told.extend(noticed.map(|noticed| (lie.clone(), noticed)));
            }
            if !ran.is_selected {
                break;
            }
        }
        Ok(())
    }

    /// The tests in other words, where nothing says that they run in continuous integration: nothing in them is false, so
    /// that they have to pass. What fails there knows more of its tests than it should.
    async fn reworded(
        &self,
        texts: &TestTexts<'_>,
        lies: &[Lie],
        names: Option<&[String]>,
        overlays: &[Overlay],
        said: LieVerdict,
        session: &mut Session,
    ) -> Result<LieVerdict, Trouble> {
        if lies.is_empty() {
            return Ok(said);
        }
        let laid = texts.reworded(&lies.iter().collect::<Vec<_>>());
        let is_kept = |overlay: &&Overlay| !laid.iter().any(|lie| lie.path == overlay.path);
        let mut all: Vec<Overlay> = overlays.iter().filter(is_kept).cloned().collect();
        all.extend(laid);
        let names = names.map(|names| names.get(..names.len().min(MOST_TESTS)).unwrap_or_default());
        let ran = self.run_elsewhere("-reworded", &self.ask.commit, all, names).await?;
        session.outputs.extend(ran.outputs());
        session.runs.extend(ran.test.as_ref().map(|ended| ended.run.clone()));
        for lie in lies {
            if lie_told(&ran.cell(), lie.test.as_deref()) == Some(true) {
                let told = Lie { now: format!("{} in other words", lie.was), ..lie.clone() };
                session.told.push((told, false));
                return Ok(LieVerdict::Unnoticed);
            }
        }
        Ok(said)
    }

    /// Of each of these tests the first expectation that is surely one.
    fn sure_ones(&self, texts: &TestTexts<'_>, names: &[String]) -> Vec<Lie> {
        let names = names.get(..names.len().min(MOST_TESTS)).unwrap_or_default();
        let lies = texts.of_tests(names, &self.baseline.tail);
        lies.into_iter().filter_map(|(_, own)| own.into_iter().find(|lie| lie.is_sure)).collect()
    }

    async fn tell(
        &self,
        texts: &TestTexts<'_>,
        lies: &[&Lie],
        overlays: &[Overlay],
        commit: &CommitSha,
        only: Option<&[String]>,
        session: &mut Session,
    ) -> Result<Ran, Trouble> {
        let laid = texts.told(lies);
        let is_kept = |overlay: &&Overlay| !laid.iter().any(|lie| lie.path == overlay.path);
        let mut all: Vec<Overlay> = overlays.iter().filter(is_kept).cloned().collect();
        all.extend(laid);
        let what = format!("-lie-{}", session.runs.len() + 1);
        let ran = self.run(&what, commit, all, only).await?;
        session.outputs.extend(ran.outputs());
        session.runs.extend(ran.test.as_ref().map(|ended| ended.run.clone()));
        Ok(ran)
    }

    /// What lies in named tests come to. A fixed test was red before, so that there is nothing to hold it against.
    async fn of_named(
        &self,
        texts: &TestTexts<'_>,
        are_fixed: bool,
        session: &mut Session,
    ) -> Result<LieVerdict, Trouble> {
        let unnoticed: Vec<Lie> =
            session.told.iter().filter(|(_, noticed)| !noticed).map(|(lie, _)| lie.clone()).collect();
        let has_noticed = |session: &Session, test: &Option<String>| {
            session.told.iter().any(|(lie, noticed)| *noticed && lie.test == *test)
        };
        if are_fixed {
            if unnoticed.iter().any(|lie| lie.is_sure || !has_noticed(session, &lie.test)) {
                return Ok(LieVerdict::Unnoticed);
            }
        } else if !unnoticed.is_empty() {
            // Only files that are the base's own can be told the same on the base.
            let noticed = self.noticed_on_the_base(texts, &unnoticed, session).await?;
            if !noticed.is_empty() {
                return Ok(LieVerdict::Unnoticed);
            }
            session.told.retain(|(_, noticed)| *noticed);
        }
        Ok(match session.told.iter().any(|(_, noticed)| *noticed) {
            true => LieVerdict::Noticed,
            false => LieVerdict::NotTold {
                because: "no expectation was found in its tests that could be made false".to_owned(),
            },
        })
    }

    /// Which of these lies the tests notice on the code of the base.
    async fn noticed_on_the_base(
        &self,
        texts: &TestTexts<'_>,
        lies: &[Lie],
        session: &mut Session,
    ) -> Result<Vec<Lie>, Trouble> {
        let base = texts_of(self.testing, self.ask, &self.ask.base, &[]).await?;
        let is_same = |lie: &&Lie| {
            let file = |files: &[(String, Vec<u8>)]| {
                files.iter().find(|(path, _)| *path == lie.path).map(|(_, bytes)| bytes.clone())
            };
            file(&base) == file(texts.files)
        };
        let own: Vec<&Lie> = lies.iter().filter(is_same).collect();
        if own.is_empty() {
            return Ok(Vec::new());
        }
        // Of one test one at a time: the first of each.
        let mut first: Vec<&Lie> = Vec::new();
        for lie in own {
            if lie.test.is_none() || !first.iter().any(|known| known.test == lie.test) {
                first.push(lie);
            }
        }
        let names: Vec<String> = first.iter().filter_map(|lie| lie.test.clone()).collect();
        let only = (!names.is_empty()).then_some(names.as_slice());
        let ran = self.tell(texts, &first, &[], &self.ask.base, only, session).await?;
        let told = first.into_iter().filter(|lie| lie_told(&ran.cell(), lie.test.as_deref()) == Some(true));
        Ok(told.cloned().collect())
    }

    /// Lies where the runner names no tests: one at a time, and all tests are run.
    async fn of_unnamed(
        &self,
        texts: &TestTexts<'_>,
        old: &Ran,
        overlays: &[Overlay],
        session: &mut Session,
    ) -> Result<LieVerdict, Trouble> {
        let was_green = self.baseline.exit() == Some(Exit::Code(0));
        let all = texts.anywhere(&self.baseline.tail);
        let answer = texts.old_answer_anywhere(&all, &self.baseline.tail).filter(|_| !was_green);
        let own = all.into_iter().filter(|lie| {
            answer.as_ref().is_none_or(|answer| answer.at != lie.at || answer.path != lie.path)
        });
        let lies: Vec<Lie> = answer.clone().into_iter().chain(own).take(MOST_UNNAMED).collect();
        let said = self.tell_unnamed(texts, lies.clone(), overlays, session).await?;
        // What is red anyway shows nothing.
        let is_green = old.cell().exit == Some(Exit::Code(0));
        if was_green || !is_green || said == LieVerdict::Unnoticed {
            return Ok(said);
        }
        // What was mended is told nearer to the truth as well, and in other words.
        let slight = lies.iter().filter(|lie| lie.is_sure).find_map(|lie| texts.slight(lie));
        if let Some(slight) = slight {
            let own = self.tell_unnamed(texts, vec![slight], overlays, session).await?;
            if own == LieVerdict::Unnoticed {
                return Ok(own);
            }
        }
        self.reworded(texts, &lies, None, overlays, said, session).await
    }

    /// These lies, one at a time, against all tests.
    async fn tell_unnamed(
        &self,
        texts: &TestTexts<'_>,
        lies: Vec<Lie>,
        overlays: &[Overlay],
        session: &mut Session,
    ) -> Result<LieVerdict, Trouble> {
        let was_green = self.baseline.exit() == Some(Exit::Code(0));
        for lie in lies {
            let ran = self.tell(texts, &[&lie], overlays, &self.ask.commit, None, session).await?;
            let Some(noticed) = lie_told(&ran.cell(), None) else { continue };
            session.told.push((lie.clone(), noticed));
            if noticed {
                return Ok(LieVerdict::Noticed);
            }
            let is_bent = match was_green {
                true => {
                    !self.noticed_on_the_base(texts, std::slice::from_ref(&lie), session).await?.is_empty()
                }
                false => lie.is_sure,
            };
            if is_bent {
                return Ok(LieVerdict::Unnoticed);
            }
            session.told.pop();
        }
        Ok(LieVerdict::NotTold {
            because: "no expectation was found in its tests that could be made false".to_owned(),
        })
    }
}
