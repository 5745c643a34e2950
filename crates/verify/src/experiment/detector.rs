//! The lie detector: expectations of tests are made false, and the tests must notice. A lie that goes unnoticed is also
//! told on the base's code; if it is unnoticed there too, it says nothing. In other words nothing is false, and tests
//! that fail then as they fail on the base read their own text. So do those that also fail with a remark in their file.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::cell::lie_told;
use super::known::{ExperimentName, FinishedRun, KnownSoFar};
use super::lie::Lie;
use super::lies::TestTexts;
use super::reading::{ReadBy, TestReading};
use super::result::{ExperimentResult, evidence_of};
use super::rewording::RewordedRun;
use super::tellable::{NamedLies, TellableLies};
use journeyman_order::scrutiny::LieVerdict;
use journeyman_order::{Exit, Proof, TestCaseStatus};

/// Lies per test. Each has its own run if the runner can select tests.
const MOST_EACH: usize = 2;
const MOST_TESTS: usize = 8;
/// Lies if tests have no names: each needs a run of the whole suite.
const MOST_UNNAMED: usize = 2;

const ANYWHERE: [ExperimentName; 2] = [ExperimentName::LieAny, ExperimentName::LieAnyBase];
const IN_DATA: [ExperimentName; 2] = [ExperimentName::LieData, ExperimentName::LieDataBase];

/// What the lie detector comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct LieFindings {
    pub said: LieVerdict,
    /// Each lie that counts, and whether a test noticed it.
    pub told: Vec<(Lie, bool)>,
    /// The experiments whose runs it rests on. Those of one list belong together.
    pub runs: Vec<Vec<ExperimentName>>,
    /// The tests that still prove the change. `None`: all of them.
    sound: Option<Vec<String>>,
    /// Whether some of the others do not pass by themselves with the change.
    fails_alone: bool,
}

/// What can be told, given what the pass rests on. The texts are those of the change with the base's tests, of the
/// change, and of the base.
pub fn find_lies<'t>(
    known: &KnownSoFar<'_>,
    judgement: &ExperimentResult,
    [old, new, base]: [&'t [(String, Vec<u8>)]; 3],
) -> TellableLies<'t> {
    let [old, new, base] = [old, new, base].map(|files| TestTexts { files });
    let (fixed, red) = evidence_of(judgement);
    // The tests that prove the change must also mean what they say.
    let red = if fixed.is_empty() { red } else { Vec::new() };
    let before = known.baseline().output;
    let in_old = match &suite(known).cell.reading.cases {
        None => NamedLies::default(),
        Some(cases) if fixed.is_empty() => {
            let green = cases.tests.iter().filter(|(_, status)| **status == TestCaseStatus::Passed);
            let green: Vec<String> = green.map(|(name, _)| name.clone()).collect();
            let names = old.nearest(&green, known.of_change.own_words, MOST_TESTS);
            named_lies(known, [&old, &base], &names, "", 1)
        }
        Some(_) => named_lies(known, [&old, &base], &fixed, before, MOST_EACH),
    };
    let in_new = match red.is_empty() {
        true => NamedLies::default(),
        false => {
            let old_said = old_code(known).map_or("", |run| run.cell.output);
            named_lies(known, [&new, &base], &red, old_said, MOST_EACH)
        }
    };
    TellableLies { old, new, base, fixed, red, in_old, in_new, anywhere: OnceLock::new() }
}

/// Lies in each of these tests: the first of each in one run, the second in another run if that is cheap. A program
/// that is called as its file has those in the tests that the file of the base has not.
fn named_lies(
    known: &KnownSoFar<'_>,
    [texts, base]: [&TestTexts<'_>; 2],
    names: &[String],
    old_said: &str,
    most_each: usize,
) -> NamedLies {
    let names = first_of(names);
    let mut lies = texts.of_tests(&names, known.baseline().output);
    for (name, own) in lies.iter_mut().filter(|(_, own)| own.is_empty()) {
        *own = texts.added_to_program(name, base, old_said);
    }
    // The old code's answer is the lie closest to the truth.
    let old = texts.old_answers(&lies, old_said);
    let round = |round: usize| lies.iter().filter_map(|(_, own)| own.get(round)).cloned().collect();
    let rounds = std::iter::once(old).chain((0..MOST_EACH).map(round));
    let most = if known.can_select(&names) { most_each } else { 1 };
    let rounds = rounds.filter(|now: &Vec<Lie>| !now.is_empty()).take(most).collect();
    let sure = lies.into_iter().filter_map(|(_, own)| own.into_iter().find(|lie| lie.is_sure)).collect();
    NamedLies { rounds, sure }
}

pub(super) fn first_of(names: &[String]) -> Vec<String> {
    names.iter().take(MOST_TESTS).cloned().collect()
}

/// The run of the base's tests with the change.
fn suite<'k, 'a>(known: &'k KnownSoFar<'a>) -> &'k FinishedRun<'a> {
    known.last(ExperimentName::OldTests).unwrap_or(&known.change)
}

fn old_code<'k, 'a>(known: &'k KnownSoFar<'a>) -> Option<&'k FinishedRun<'a>> {
    known.last(ExperimentName::OldCodeWhole).or_else(|| known.last(ExperimentName::OldCode))
}

fn was_green(known: &KnownSoFar<'_>) -> bool {
    known.baseline().exit == Some(Exit::Code(0))
}

/// What is fixed passes in other words.
pub(super) fn rewords_old(known: &KnownSoFar<'_>, lies: &TellableLies<'_>) -> Vec<Vec<Lie>> {
    let is_named = suite(known).cell.reading.cases.is_some();
    let sure = lies.in_old.sure.as_slice();
    let due = (is_named && !lies.fixed.is_empty() && !sure.is_empty()).then_some(sure);
    rewords(known, ExperimentName::Reworded, &lies.old, due)
}

/// A test that fails alone on the old code must pass alone on the new code.
pub(super) fn rewords_new(known: &KnownSoFar<'_>, lies: &TellableLies<'_>) -> Vec<Vec<Lie>> {
    let is_alone = old_code(known).is_some_and(|run| run.is_selected);
    let sure = lies.in_new.sure.as_slice();
    let due = (!lies.red.is_empty() && (is_alone || !sure.is_empty())).then_some(sure);
    rewords(known, ExperimentName::RewordedNew, &lies.new, due)
}

pub(super) fn rewords_anywhere(known: &KnownSoFar<'_>, lies: &TellableLies<'_>) -> Vec<Vec<Lie>> {
    let due = Some(mended_anywhere(known, lies)).filter(|all| !all.is_empty());
    rewords(known, ExperimentName::RewordedAny, &lies.old, due)
}

/// The edits of the next run in other words. Where it fails otherwise than the base, they may have broken the tests.
/// Then a remark follows, which breaks none.
fn rewords(
    known: &KnownSoFar<'_>,
    name: ExperimentName,
    texts: &TestTexts<'_>,
    due: Option<&[Lie]>,
) -> Vec<Vec<Lie>> {
    let mut runs = known.all(name);
    let next = match (runs.next(), runs.next()) {
        (None, _) => due,
        (Some(run), None) => unmet(run).filter(|_| !is_evidence(known, run, &[])).map(|_| run.lies),
        (Some(_), Some(_)) => None,
    };
    next.map(|lies| texts.in_other_words(&lies.iter().collect::<Vec<_>>())).into_iter().collect()
}

/// A fixed test also gets a lie closer to the truth and a rewording. A test that is red anyway shows nothing.
fn mended_anywhere<'l>(known: &KnownSoFar<'_>, lies: &'l TellableLies<'_>) -> &'l [Lie] {
    let is_mended = !was_green(known) && suite(known).cell.exit == Some(Exit::Code(0));
    if is_mended && tells_anywhere(known, lies) { anywhere(known, lies) } else { &[] }
}

/// Lies if the runner names no tests, those first in files that the change touches.
fn anywhere<'l>(known: &KnownSoFar<'_>, lies: &'l TellableLies<'_>) -> &'l [Lie] {
    lies.anywhere.get_or_init(|| {
        let (texts, before) = (&lies.old, known.baseline().output);
        let by = read_by(known, texts);
        let mut all = texts.anywhere(before);
        let (touched, words) = (&known.of_change.sides.test_paths, known.of_change.own_words);
        let near: BTreeSet<&str> = texts.files_with(words).collect();
        all.sort_by_key(|lie| {
            let by = by.get(lie.path.as_str()).copied();
            let is_near = near.contains(lie.path.as_str());
            (!by.is_some_and(ReadBy::is_likely), !touched.contains(&lie.path), !lie.is_sure, !is_near, by)
        });
        let answer = texts.old_answer_anywhere(&all, before).filter(|_| !was_green(known));
        let own = all.into_iter().filter(|lie| {
            answer.as_ref().is_none_or(|answer| answer.at != lie.at || answer.path != lie.path)
        });
        answer.clone().into_iter().chain(own).take(MOST_UNNAMED).collect()
    })
}

/// How it is known of test files that the runs read them.
fn read_by<'t>(known: &KnownSoFar<'_>, texts: &TestTexts<'t>) -> BTreeMap<&'t str, ReadBy> {
    let reading = suite(known).cell.reading;
    let tests = reading.cases.iter().flat_map(|cases| cases.tests.keys());
    let programs = reading.programs.iter().map(|program| &program.name);
    let names: Vec<String> = tests.chain(programs).cloned().collect();
    let output = format!("{}\n{}", known.baseline().output, suite(known).cell.output);
    texts.read_by(&TestReading { command: &known.command(), names: &names, output: &output })
}

pub(super) fn slight(known: &KnownSoFar<'_>, lies: &TellableLies<'_>) -> Vec<Lie> {
    let sure = mended_anywhere(known, lies).iter().filter(|lie| lie.is_sure);
    sure.filter_map(|lie| lies.old.slight_lie(lie)).take(1).collect()
}

/// Lies to tests of the base that were green before, and that went unnoticed: they are told on the base as well.
pub(super) fn unnoticed(known: &KnownSoFar<'_>, lies: &TellableLies<'_>) -> Vec<Lie> {
    if !lies.fixed.is_empty() {
        return Vec::new();
    }
    let told = told(known, ExperimentName::Lie);
    lies.also_on_base(told.iter().filter(|(_, noticed)| !noticed).map(|(lie, _)| lie))
}

/// The lies of an experiment that show something, and whether a test noticed them.
fn told(known: &KnownSoFar<'_>, name: ExperimentName) -> Vec<(Lie, bool)> {
    let each = known.all(name).flat_map(|run| run.lies.iter().map(move |lie| (run, lie)));
    let noticed = |run: &FinishedRun<'_>, lie: &Lie| lie_told(&run.cell, lie.test.as_deref());
    each.filter_map(|(run, lie)| Some((lie.clone(), noticed(run, lie)?))).collect()
}

fn was_told(known: &KnownSoFar<'_>, names: &[ExperimentName]) -> bool {
    names.iter().any(|name| known.all(*name).any(|run| run.cell.exit.is_some()))
}

/// What telling lies one at a time comes to.
pub(super) enum Telling {
    /// This is the next one to tell, in this experiment.
    Next(ExperimentName, Lie),
    Said(LieVerdict, Option<(Lie, bool)>),
}

impl Telling {
    /// The run of this experiment that is needed next.
    pub(super) fn next(self, name: ExperimentName) -> Vec<Vec<Lie>> {
        match self {
            Self::Next(of, lie) if of == name => vec![vec![lie]],
            Self::Next(..) | Self::Said(..) => Vec::new(),
        }
    }
}

/// Lies anywhere, where no lie in a named test says anything.
pub(super) fn tell_anywhere(known: &KnownSoFar<'_>, lies: &TellableLies<'_>) -> Telling {
    let all: &[Lie] = if tells_anywhere(known, lies) { anywhere(known, lies) } else { &[] };
    one_by_one(known, lies, ANYWHERE, all)
}

/// Lies in the data of tests, where no lie in a test says anything: the last number of a file.
pub(super) fn tell_in_data(known: &KnownSoFar<'_>, lies: &TellableLies<'_>) -> Telling {
    let is_open = in_tests_of_the_base(known, lies).is_open();
    let all = lies.old.in_data().into_iter().filter(|_| is_open).take(MOST_UNNAMED);
    one_by_one(known, lies, IN_DATA, &all.collect::<Vec<_>>())
}

/// Tells lies to tests that are not named: one at a time, each with a run of all tests.
fn one_by_one(
    known: &KnownSoFar<'_>,
    lies: &TellableLies<'_>,
    [name, on_base]: [ExperimentName; 2],
    all: &[Lie],
) -> Telling {
    let with = |name, lie: &Lie| known.all(name).find(|run| run.lies == std::slice::from_ref(lie));
    // Where it was red there is nothing to compare it with, and what no run reads shows nothing.
    let by = LazyCell::new(|| read_by(known, &lies.old));
    let is_likely = |lie: &Lie| by.get(lie.path.as_str()).copied().is_some_and(ReadBy::is_likely);
    let is_unread = |lie: &Lie| by.get(lie.path.as_str()) == Some(&ReadBy::Unlikely);
    let mut unheard = None;
    for lie in all {
        let Some(run) = with(name, lie) else { return Telling::Next(name, lie.clone()) };
        let Some(noticed) = lie_told(&run.cell, None) else { continue };
        if noticed {
            return Telling::Said(LieVerdict::Noticed, Some((lie.clone(), true)));
        }
        let is_bent = if !was_green(known) {
            lie.is_sure && is_likely(lie)
        } else if lies.also_on_base(std::iter::once(lie)).is_empty() {
            false
        } else {
            let Some(run) = with(on_base, lie) else { return Telling::Next(on_base, lie.clone()) };
            lie_told(&run.cell, None) == Some(true)
        };
        if is_bent {
            return Telling::Said(LieVerdict::Unnoticed, Some((lie.clone(), false)));
        }
        let says_more = unheard.is_none() || !is_unread(lie);
        unheard = Some(lie).filter(|lie| lie.is_sure && says_more).or(unheard);
    }
    // If no file is called a test, the tests are in one that is not.
    let is_of_tests = |lie: &&Lie| {
        let is_unclear = by.get(lie.path.as_str()) == Some(&ReadBy::Unknown);
        is_unclear && name != ExperimentName::LieSlight && !all.iter().any(is_likely)
    };
    if let Some(lie) = unheard.filter(|lie| !was_green(known) && is_of_tests(lie)) {
        return Telling::Said(LieVerdict::Unnoticed, Some((lie.clone(), false)));
    }
    if let Some(Lie { path, line, .. }) = unheard.filter(|lie| is_unread(lie)) {
        let because = format!(
            "the tests also pass with a false expectation in {path}, line {line}, and no run shows that this file is built \
             or read"
        );
        return Telling::Said(LieVerdict::NotTold { because }, None);
    }
    Telling::Said(not_told(unheard, was_told(known, &[name, on_base])), None)
}

impl LieFindings {
    fn of(said: LieVerdict) -> Self {
        Self { said, told: Vec::new(), runs: Vec::new(), sound: None, fails_alone: false }
    }

    /// Adds the runs in other words: a test that fails in them reads its own text.
    fn reworded(&mut self, known: &KnownSoFar<'_>, name: ExperimentName) {
        if known.is_made(name) {
            self.runs.push(vec![name]);
        }
        let mut runs = known.all(name);
        let evidence = runs.find_map(|run| unmet(run).filter(|_| is_evidence(known, run, &self.told)));
        if let Some(lie) = evidence {
            self.told.push((lie.clone(), false));
            self.said = LieVerdict::Unnoticed;
        }
    }

    fn add(&mut self, runs: &[ExperimentName], telling: Telling) -> Option<LieVerdict> {
        self.runs.push(runs.to_vec());
        let Telling::Said(said, told) = telling else { return None };
        self.told.extend(told);
        Some(said)
    }

    fn is_open(&self) -> bool {
        matches!(self.said, LieVerdict::NotTold { .. })
    }

    /// The verdict of both: if no more lies were found, the earlier one stays.
    fn at_last(&mut self, now: Option<LieVerdict>) {
        if let Some(said) = now.filter(|said| *said != not_told(None, false)) {
            self.said = said;
        }
    }
}

/// The first edit in other words whose test fails.
fn unmet<'a>(run: &FinishedRun<'a>) -> Option<&'a Lie> {
    run.lies.iter().find(|lie| lie_told(&run.cell, lie.test.as_deref()) == Some(true))
}

/// Whether a test that fails in other words is evidence, and not broken by the edit.
fn is_evidence(known: &KnownSoFar<'_>, run: &FinishedRun<'_>, told: &[(Lie, bool)]) -> bool {
    // The second run has a remark, and nothing else that a test could fail for.
    if known.all(run.name).skip(1).any(|second| std::ptr::eq(second, run)) {
        return true;
    }
    let is_new = run.name == ExperimentName::RewordedNew;
    let (passing, failing) = match is_new {
        true => (&known.change, old_code(known).map(|run| run.cell)),
        false => (suite(known), Some(known.baseline())),
    };
    RewordedRun {
        edits: run.lies,
        output: run.cell.output,
        passing: passing.cell.output,
        failing: failing.map_or("", |cell| cell.output),
    }
    .is_evidence(told)
}

/// Whether lies are told anywhere, since no lie in a named test says anything.
fn tells_anywhere(known: &KnownSoFar<'_>, lies: &TellableLies<'_>) -> bool {
    of_named(known, lies).is_none_or(|found| found.is_open())
}

/// What was found in tests that are named. `None` if the runner names none.
fn of_named(known: &KnownSoFar<'_>, lies: &TellableLies<'_>) -> Option<LieFindings> {
    suite(known).cell.reading.cases.as_ref()?;
    let mut told = told(known, ExperimentName::Lie);
    let unnoticed: Vec<Lie> =
        told.iter().filter(|(_, noticed)| !noticed).map(|(lie, _)| lie.clone()).collect();
    // A fixed test was red before, so there is nothing to compare it with.
    let is_bent = if lies.fixed.is_empty() {
        self::told(known, ExperimentName::LieBase).iter().any(|(_, noticed)| *noticed)
    } else {
        let is_noticed =
            |test: &Option<String>| told.iter().any(|(lie, noticed)| *noticed && lie.test == *test);
        // A test need not notice that it is asked something else.
        unnoticed.iter().any(|lie| lie.is_sure || !lie.is_input && !is_noticed(&lie.test))
    };
    if lies.fixed.is_empty() && !is_bent {
        told.retain(|(_, noticed)| *noticed);
    }
    let said = if is_bent {
        LieVerdict::Unnoticed
    } else if told.iter().any(|(_, noticed)| *noticed) {
        LieVerdict::Noticed
    } else {
        let was_told = was_told(known, &[ExperimentName::Lie, ExperimentName::LieBase]);
        not_told(unnoticed.iter().find(|lie| lie.is_sure), was_told)
    };
    let runs = vec![vec![ExperimentName::Lie, ExperimentName::LieBase]];
    let mut found = LieFindings { told, runs, ..LieFindings::of(said) };
    if !is_bent {
        found.reworded(known, ExperimentName::Reworded);
    }
    Some(found)
}

/// What was found in tests of the base, as far as lies were told.
fn in_tests_of_the_base(known: &KnownSoFar<'_>, lies: &TellableLies<'_>) -> LieFindings {
    let mut found = of_named(known, lies).unwrap_or_else(|| LieFindings::of(not_told(None, false)));
    if found.is_open() {
        let mut any = LieFindings::of(not_told(None, false));
        let said = any.add(&ANYWHERE, one_by_one(known, lies, ANYWHERE, anywhere(known, lies)));
        // What was red on the base shows nothing there.
        let slight = one_by_one(known, lies, [ExperimentName::LieSlight; 2], &slight(known, lies));
        let slight = any.add(&[ExperimentName::LieSlight], slight);
        if [&said, &slight].contains(&&Some(LieVerdict::Unnoticed)) {
            any.said = LieVerdict::Unnoticed;
        } else {
            any.said = said.unwrap_or(any.said.clone());
            any.reworded(known, ExperimentName::RewordedAny);
        }
        found.told.append(&mut any.told);
        found.runs.append(&mut any.runs);
        found.at_last(Some(any.said));
    }
    found
}

/// What all lies come to. `None` until they can be told.
pub fn lie_findings(known: &KnownSoFar<'_>) -> Option<LieFindings> {
    let lies = known.lies?;
    let mut found = in_tests_of_the_base(known, lies);
    if found.is_open() {
        let said = found.add(&IN_DATA, tell_in_data(known, lies));
        found.at_last(said);
    }
    if !lies.red.is_empty() && found.said != LieVerdict::Unnoticed {
        in_tests_of_the_change(known, lies, &mut found);
    }
    Some(found)
}

/// The change's tests prove nothing if they pass with a wrong expectation as well, or fail by themselves.
fn in_tests_of_the_change(known: &KnownSoFar<'_>, lies: &TellableLies<'_>, found: &mut LieFindings) {
    let before = found.told.len();
    found.told.extend(told(known, ExperimentName::LieNew));
    found.runs.push(vec![ExperimentName::LieNew]);
    found.reworded(known, ExperimentName::RewordedNew);
    let own = found.told.get(before..).unwrap_or_default();
    let reworded = known.all(ExperimentName::RewordedNew).filter(|run| is_evidence(known, run, own));
    let reworded: Vec<_> = reworded.collect();
    let fails = |name: &String| reworded.iter().any(|run| lie_told(&run.cell, Some(name)) == Some(true));
    let failing: Vec<String> = first_of(&lies.red).into_iter().filter(fails).collect();
    let is_void = |name: &String| {
        let of_it = || own.iter().filter(|(lie, _)| lie.test.as_ref() == Some(name));
        // If one expectation states what is right, another may only exclude what is wrong.
        let says_something = of_it().any(|(lie, noticed)| *noticed && !lie.is_opposite);
        let is_unheard =
            |(lie, noticed): &(Lie, bool)| !noticed && (lie.is_sure || (lie.is_negative && !says_something));
        failing.contains(name) || of_it().any(is_unheard)
    };
    let sound: Vec<String> = lies.red.iter().filter(|name| !is_void(name)).cloned().collect();
    if own.iter().any(|(_, noticed)| *noticed) && found.is_open() {
        found.said = LieVerdict::Noticed;
    }
    found.fails_alone = !failing.is_empty();
    found.sound = (sound.len() < lies.red.len()).then_some(sound);
}

/// Takes the proof of tests that do not mean what they say.
pub(super) fn hold_against_lies(known: &KnownSoFar<'_>, judgement: &mut ExperimentResult) {
    let Some(LieFindings { sound: Some(sound), fails_alone, .. }) = lie_findings(known) else { return };
    let Some(Proof::Proven { red, .. }) = &mut judgement.proof else { return };
    if !sound.is_empty() {
        *red = sound;
        return;
    }
    let because = match fails_alone {
        false => "the tests that fail without the change pass with a wrong expectation as well",
        true => "the tests that fail without the change do not pass by themselves with it",
    };
    judgement.proof = Some(Proof::NotProven { because: because.to_owned() });
}

/// The verdict if no lie is conclusive. An `unheard` lie went unnoticed on the base too.
fn not_told(unheard: Option<&Lie>, was_told: bool) -> LieVerdict {
    let because = match unheard {
        None if was_told => {
            "expectations of its tests were made false, and no run shows whether a test notices that"
                .to_owned()
        }
        None => "no expectation was found in its tests that could be made false".to_owned(),
        Some(Lie { path, line, .. }) => format!(
            "the tests also pass with a false expectation in {path}, line {line}, on the base commit as well; a test command \
             has to end with an exit code other than 0 where a test fails"
        ),
    };
    LieVerdict::NotTold { because }
}
