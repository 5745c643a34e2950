//! The tests of the base beside the same tests after the change.

use std::collections::{BTreeMap, BTreeSet};

use super::assertion::{Assertion, Hollow, Relation};
use super::change::{Change, Side};
use super::pairs::Pairs;
use super::read::{Call, Function, Mark, Test, likeness};
use crate::order::{Weakening, WeakeningKind};

/// Helpers that call helpers are followed so far.
const MOST_CALLS_DEEP: usize = 3;
/// Assertions of one test, those of its helpers included.
const MOST_ASSERTIONS: usize = 600;

/// Findings after which no more tests are looked at.
const MOST_FOUND: usize = 400;

/// Of what came in the place of an assertion, so many are compared with it.
const MOST_CANDIDATES: usize = 60;

/// Functions among the tests that assert something, by name.
pub(super) struct Helpers<'t> {
    by_name: BTreeMap<&'t str, Vec<&'t Function>>,
}

impl<'t> Helpers<'t> {
    pub(super) fn of(side: &'t Side<'_>) -> Self {
        let mut by_name: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for function in side.files.iter().flat_map(|file| &file.functions).filter(|one| one.is_support) {
            by_name.entry(function.name.as_str()).or_default().push(function);
        }
        Self { by_name }
    }

    /// What a test asserts, by itself and by what it calls.
    pub(super) fn effective(&self, test: &Test) -> Vec<Assertion> {
        let mut all = test.assertions.clone();
        self.called(&test.calls, 0, &mut all);
        all
    }

    fn called(&self, calls: &[Call], depth: usize, all: &mut Vec<Assertion>) {
        for call in calls {
            if depth > MOST_CALLS_DEEP || all.len() > MOST_ASSERTIONS {
                return;
            }
            match self.by_name.get(call.name.as_str()) {
                Some(found) => {
                    let start = all.len();
                    for function in found.iter().take(3) {
                        all.extend(function.assertions.iter().cloned());
                        self.called(&function.calls, depth + 1, all);
                    }
                    for inner in all.iter_mut().skip(start) {
                        inner.by_helper = true;
                        inner.hollow = inner.hollow.or(call.assertion.hollow);
                        inner.literals.extend(call.assertion.literals.iter().cloned());
                        // What it is called with is part of what is asserted.
                        inner.operands.extend(call.assertion.operands.iter().cloned());
                        inner.line = call.assertion.line;
                    }
                }
                None if sounds_asserting(&call.name) => all.push(call.assertion.clone()),
                None => {}
            }
        }
    }
}

fn sounds_asserting(name: &str) -> bool {
    let name = name.trim_start_matches('_').to_lowercase();
    ["assert", "check", "expect", "verify", "ensure"].iter().any(|word| name.starts_with(word))
}

/// All that is weaker in the tests.
pub(super) fn tests(change: &Change<'_>, pairs: &Pairs, found: &mut Vec<Weakening>) {
    let base = change.before.tests();
    let after = change.after.tests();
    let base_helpers = Helpers::of(&change.before);
    let after_helpers = Helpers::of(&change.after);
    let mut pool = BTreeSet::new();
    let partners: BTreeMap<usize, usize> = pairs.paired.iter().map(|(one, other)| (*other, *one)).collect();
    for (at, test) in after.iter().enumerate().filter(|(_, test)| test.marks.is_empty()) {
        let partner = partners.get(&at).and_then(|at| base.get(*at));
        if partner.is_some_and(|partner| partner.digest == test.digest) {
            continue;
        }
        let before: BTreeSet<Said> = partner
            .map(|partner| base_helpers.effective(partner))
            .unwrap_or_default()
            .iter()
            .map(key)
            .collect();
        let now = after_helpers.effective(test);
        pool.extend(now.iter().filter(|one| one.is_live()).map(key).filter(|key| !before.contains(key)));
    }
    let tables: Vec<&Test> = pairs
        .added
        .iter()
        .chain(pairs.paired.iter().map(|(_, after)| after))
        .filter_map(|at| after.get(*at).copied())
        .filter(|test| test.is_table || test.assertions.iter().any(|one| one.repeats))
        .collect();
    let gone = change.definitions_gone();
    let literals = pairs
        .added
        .iter()
        .filter_map(|at| after.get(*at))
        .filter(|test| test.marks.is_empty())
        .flat_map(|test| test.literals.iter().map(String::as_str))
        .collect();
    let context = Context { change, pool, tables, literals, gone };
    for (one, other) in &pairs.paired {
        if let (Some(before), Some(now)) = (base.get(*one), after.get(*other)) {
            if before.digest == now.digest
                && before.marks == now.marks
                && before.words == now.words
                && !context.helpers_changed(before)
            {
                continue;
            }
            context.pair(before, now, base_helpers.effective(before), after_helpers.effective(now), found);
        }
    }
    for at in &pairs.removed {
        if let Some(test) = base.get(*at) {
            if found.len() > MOST_FOUND {
                break;
            }
            context.removed(test, base_helpers.effective(test), found);
        }
    }
}

/// What an assertion says, a tolerance aside.
type Said = (Relation, Vec<String>);

fn key(assertion: &Assertion) -> Said {
    (assertion.relation, assertion.operands.clone())
}

struct Context<'c> {
    change: &'c Change<'c>,
    /// What tests assert that are new, or that asserted something else before.
    pool: BTreeSet<Said>,
    /// Tests that run for many inputs.
    tables: Vec<&'c Test>,
    /// Strings and numbers in tests that are new.
    literals: BTreeSet<&'c str>,
    /// What the code no longer defines.
    gone: BTreeSet<String>,
}

impl Context<'_> {
    fn helpers_changed(&self, test: &Test) -> bool {
        test.calls.iter().any(|call| self.change.changed_helpers.contains(&call.name))
    }

    fn pair(
        &self,
        before: &Test,
        now: &Test,
        mut base: Vec<Assertion>,
        after: Vec<Assertion>,
        found: &mut Vec<Weakening>,
    ) {
        if before.marks.iter().any(|mark| matches!(mark, Mark::Skipped(_))) {
            return;
        }
        let report = Report { now, found };
        let Some(report) = marks(before, now, report) else { return };
        base.retain(Assertion::is_live);
        let (mut live, hollow): (Vec<_>, Vec<_>) = after.into_iter().partition(Assertion::is_live);
        let mut lost = Vec::new();
        for assertion in base {
            match live.iter().position(|other| other.says_as(&assertion)) {
                Some(at) => {
                    let other = live.swap_remove(at);
                    report_looser(&assertion, &other, report.found, now);
                    if other.is_conditional && !assertion.is_conditional {
                        report.found.push(weakening(
                            WeakeningKind::AssertionsRemoved,
                            now,
                            other.line,
                            "an assertion is now made only under a condition",
                            true,
                        ));
                    }
                }
                None => lost.push(assertion),
            }
        }
        lost.retain(|assertion| !self.pool.contains(&key(assertion)));
        if lost.is_empty() {
            self.rows(before, now, report.found);
            return;
        }
        if let Some((kind, line, what)) = hollowed(&lost, &hollow, &live) {
            report.found.push(weakening(kind, now, line, what, true));
            return;
        }
        self.match_up(lost, live, now, report.found);
    }

    /// Inputs of a table that are gone or others, under the same assertions.
    fn rows(&self, before: &Test, now: &Test, found: &mut Vec<Weakening>) {
        let is_table = |test: &Test| test.is_table || test.assertions.iter().any(|one| one.repeats);
        if !is_table(before) {
            return;
        }
        let missing: Vec<&String> = before
            .rows
            .iter()
            .filter(|literal| !now.literals.contains(*literal) && !self.literals.contains(literal.as_str()))
            .collect();
        let Some(first) = missing.first() else { return };
        if now.rows.len() < before.rows.len() {
            let what = format!("inputs of its table are gone, {first} among them");
            found.push(weakening(WeakeningKind::AssertionsRemoved, now, now.line, &what, true));
        } else {
            let grave = !self.change.touches_code;
            let what = format!("the table of its inputs was changed: {first} is gone");
            found.push(weakening(WeakeningKind::ExpectedValueChanged, now, now.line, &what, grave));
        }
    }

    /// Finds for every assertion that is gone what came in its place.
    fn match_up(
        &self,
        lost: Vec<Assertion>,
        mut gained: Vec<Assertion>,
        now: &Test,
        found: &mut Vec<Weakening>,
    ) {
        let total = lost.len();
        let mut missing = Vec::new();
        let mut words: Vec<Words> = gained.iter().map(words_of).collect();
        for assertion in lost {
            let own = words_of(&assertion);
            let best = gained
                .iter()
                .zip(&words)
                .take(MOST_CANDIDATES)
                .enumerate()
                .map(|(at, (other, words))| (closeness((&assertion, &own), (other, words)), at))
                .max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
            let Some((_, at)) = best else {
                missing.push(assertion);
                continue;
            };
            let Some(other) = gained.get(at).cloned() else { continue };
            // One that runs for many inputs, or in a helper, can stand for many: for those whose inputs are there.
            let stands_for_many = other.repeats || now.is_table || other.by_helper != assertion.by_helper;
            if !stands_for_many {
                gained.remove(at);
                words.remove(at);
            } else if !assertion.literals.iter().all(|literal| now.literals.contains(literal)) {
                missing.push(assertion);
                continue;
            }
            self.replaced(&assertion, &other, now, found);
        }
        missing.retain(|assertion| !self.covered(assertion, now) && !self.concerns_gone(assertion));
        if missing.is_empty() {
            return;
        }
        let what =
            if missing.len() == total && gained.is_empty() && now.assertions.iter().all(|one| !one.is_live())
            {
                "asserts nothing any more".to_owned()
            } else {
                format!(
                    "{} of its assertions {} gone",
                    missing.len(),
                    if missing.len() == 1 { "is" } else { "are" }
                )
            };
        found.push(weakening(WeakeningKind::AssertionsRemoved, now, now.line, &what, true));
    }

    fn replaced(&self, before: &Assertion, now: &Assertion, test: &Test, found: &mut Vec<Weakening>) {
        if now.relation < before.relation {
            if now.by_helper != before.by_helper || self.concerns_gone(before) {
                return;
            }
            let what = format!("an assertion is looser: `{}` became `{}`", said(before), said(now));
            found.push(weakening(WeakeningKind::AssertionLoosened, test, now.line, &what, true));
            return;
        }
        if before.relation == Relation::Near && now.relation == Relation::Near {
            report_looser(before, now, found, test);
        }
        let mut one = before.literals.clone();
        let mut other = now.literals.clone();
        one.sort();
        other.sort();
        if one == other
            || now.by_helper != before.by_helper
            || (now.repeats && one.iter().all(|literal| test.literals.contains(literal)))
        {
            return;
        }
        // What is raised may be asked for less closely than before.
        if before.relation == Relation::Raises && other.len() < one.len() && now.operands == before.operands {
            found.push(weakening(
                WeakeningKind::AssertionLoosened,
                test,
                now.line,
                "the message of an expected error is no longer looked at",
                true,
            ));
            return;
        }
        let grave = !self.change.touches_code;
        let what = if grave {
            format!(
                "the expected value was changed, and no code was: `{}` became `{}`",
                said(before),
                said(now)
            )
        } else {
            format!("the expected value was changed: `{}` became `{}`", said(before), said(now))
        };
        found.push(weakening(WeakeningKind::ExpectedValueChanged, test, now.line, &what, grave));
    }

    /// Whether a table of inputs holds what an assertion asserted.
    fn covered(&self, assertion: &Assertion, now: &Test) -> bool {
        let is_table = now.is_table || now.assertions.iter().any(|one| one.repeats);
        (is_table && holds(now, assertion)) || self.covered_elsewhere(assertion)
    }

    fn covered_elsewhere(&self, assertion: &Assertion) -> bool {
        self.tables.iter().any(|test| test.marks.is_empty() && holds(test, assertion))
    }

    /// Whether an assertion is about what the code no longer has.
    fn concerns_gone(&self, assertion: &Assertion) -> bool {
        let words = |text: &String| {
            text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| self.gone.contains(word))
        };
        assertion.operands.iter().any(words)
    }

    fn removed(&self, test: &Test, mut base: Vec<Assertion>, found: &mut Vec<Weakening>) {
        base.retain(Assertion::is_live);
        let in_pool = |assertion: &Assertion| self.pool.contains(&key(assertion));
        let is_kept = !base.is_empty()
            && base.iter().all(|assertion| in_pool(assertion) || self.covered_elsewhere(assertion));
        if is_kept {
            return;
        }
        let was_skipped = test.marks.iter().any(|mark| matches!(mark, Mark::Skipped(_)));
        let feature = test.names.iter().find(|name| self.gone.contains(*name));
        let (what, grave) = match (feature, was_skipped) {
            (Some(name), _) => (format!("is gone, together with `{name}`, which it tested"), false),
            (None, true) => ("is gone; it was skipped before".to_owned(), false),
            (None, false) => match self.hidden(test) {
                Some(how) => (how, true),
                None if self.change.unread.contains(&test.path) => {
                    ("cannot be seen: its file has become too large or too deep to be read".to_owned(), true)
                }
                None => ("is gone".to_owned(), true),
            },
        };
        let kind = if self.change.unread.contains(&test.path) {
            WeakeningKind::NotRead
        } else {
            WeakeningKind::TestRemoved
        };
        found.push(Weakening {
            kind,
            path: test.path.clone(),
            line: None,
            test: Some(test.name.clone()),
            what: format!("the test `{}` {what}", test.bare),
            grave,
        });
    }

    /// A function with the body of the test that no runner takes for one.
    fn hidden(&self, test: &Test) -> Option<String> {
        let last = test.bare.as_str();
        for file in &self.change.after.files {
            for function in &file.functions {
                let is_it = function.name == last
                    || (function.name.len() <= last.len() + 12
                        && function.name.contains(last.trim_start_matches("test_"))
                        && likeness(&function.words, &test.words) > 0.6);
                if is_it && file.path == test.path {
                    return Some(if function.name == last {
                        "is no longer one that the runner collects".to_owned()
                    } else {
                        format!("is no longer collected: it is called `{}` now", function.name)
                    });
                }
                if is_it && file.path != test.path {
                    return Some(format!(
                        "is no longer collected: it is in {} now, where no runner looks",
                        file.path
                    ));
                }
            }
        }
        None
    }
}

/// Whether a test has all that is compared in an assertion.
fn holds(test: &Test, assertion: &Assertion) -> bool {
    !assertion.literals.is_empty() && assertion.literals.iter().all(|literal| test.literals.contains(literal))
}

struct Report<'r, 't> {
    now: &'t Test,
    found: &'r mut Vec<Weakening>,
}

/// New marks. None: the test does not run at all, so that nothing more needs to be said.
fn marks<'r, 't>(before: &Test, now: &Test, report: Report<'r, 't>) -> Option<Report<'r, 't>> {
    let Report { now: test, found } = report;
    let mut stops = false;
    let new: BTreeSet<&Mark> = now.marks.iter().filter(|mark| !before.marks.contains(mark)).collect();
    for mark in new {
        match mark {
            Mark::Skipped(how) => {
                stops = true;
                found.push(weakening(
                    WeakeningKind::TestSkipped,
                    test,
                    test.line,
                    &format!("is skipped now: `{how}`"),
                    true,
                ));
            }
            Mark::ExpectedToFail(how) => {
                stops = true;
                found.push(weakening(
                    WeakeningKind::ExpectedToFail,
                    test,
                    test.line,
                    &format!("is expected to fail now: `{how}`"),
                    true,
                ));
            }
        }
    }
    (!stops).then_some(Report { now: test, found })
}

/// Assertions that are still written down and assert nothing.
fn hollowed(
    lost: &[Assertion],
    hollow: &[Assertion],
    live: &[Assertion],
) -> Option<(WeakeningKind, u32, &'static str)> {
    let same = hollow.iter().find(|other| lost.iter().any(|one| one.says_as(other)));
    match same {
        Some(other) => Some(match other.hollow {
            Some(Hollow::Swallowed) => {
                (WeakeningKind::AssertionsRemoved, other.line, "a failing assertion is caught and forgotten")
            }
            Some(Hollow::Unreachable) | None if live.is_empty() => {
                (WeakeningKind::TestSkipped, other.line, "its assertions are no longer reached")
            }
            Some(Hollow::Unreachable) | None => {
                (WeakeningKind::AssertionsRemoved, other.line, "an assertion is no longer reached")
            }
        }),
        None => {
            let trivial = hollow.iter().find(|other| other.relation == Relation::Trivial)?;
            (live.is_empty()
                || hollow.iter().filter(|one| one.relation == Relation::Trivial).count() >= lost.len())
            .then_some((
                WeakeningKind::AssertionsRemoved,
                trivial.line,
                "an assertion can no longer be false",
            ))
        }
    }
}

fn report_looser(before: &Assertion, now: &Assertion, found: &mut Vec<Weakening>, test: &Test) {
    if let Some(limit) = now.tolerance
        && before.tolerance.is_some_and(|was| limit > was * 1.000_001)
    {
        let was = before.tolerance.unwrap_or_default();
        let what = format!("values may be {limit} apart now, {was} before");
        found.push(weakening(WeakeningKind::AssertionLoosened, test, now.line, &what, true));
    }
}

type Words = BTreeMap<String, u32>;

fn words_of(assertion: &Assertion) -> Words {
    let mut words = Words::new();
    for word in assertion.operands.iter().flat_map(|operand| operand.split(' ')) {
        *words.entry(word.to_owned()).or_default() += 1;
    }
    words
}

/// How likely one assertion came in the place of another.
fn closeness((one, words): (&Assertion, &Words), (other, others): (&Assertion, &Words)) -> f64 {
    let shared = one.operands.iter().filter(|operand| other.operands.contains(operand)).count();
    let shared = u32::try_from(shared).unwrap_or(0);
    let same = if one.relation == other.relation { 0.2 } else { 0.0 };
    f64::from(shared) + likeness(words, others) + same
}

fn said(assertion: &Assertion) -> String {
    let joint = match assertion.relation {
        Relation::Equal => " == ",
        Relation::Near => " ≈ ",
        Relation::Trivial | Relation::Exists | Relation::Holds | Relation::RaisesAny | Relation::Raises => {
            " , "
        }
    };
    super::read::clipped(&assertion.operands.join(joint), 100)
}

fn weakening(kind: WeakeningKind, test: &Test, line: u32, what: &str, grave: bool) -> Weakening {
    Weakening {
        kind,
        path: test.path.clone(),
        line: Some(line),
        test: Some(test.name.clone()),
        what: format!("the test `{}`: {what}", test.bare),
        grave,
    }
}
