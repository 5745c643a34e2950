//! Red, then green: the tests of a change, run on the code before it.

use crate::order::comparison::MOST_NAMED;
use crate::order::{CaseStatus, Exit, Proof, Reading};
use crate::verify::names::{Printed, SourceName, SourceNames};
use crate::verify::overlay::{Lay, Overlay};

/// Path, old file and new file to the old file with the new file's tests; none where there are none in it.
pub type Graft<'a> = dyn Fn(&str, &[u8], &[u8]) -> Option<Vec<u8>> + 'a;

/// The parts of the change's tree that tests are made of.
pub struct TestFiles<'a> {
    /// Every path that the change added, edited or removed.
    pub changed: &'a [String],
    /// Whether a path holds tests, or what tests need: fixtures, helpers, snapshots.
    pub is_test: &'a dyn Fn(&str) -> bool,
    /// A file of the base commit.
    pub read_base: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    /// A file of the change.
    pub read_after: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    /// Where tests stand beside the code they test.
    pub graft: &'a Graft<'a>,
}

/// What to lay over a checkout of the base commit, so that it has the old code and the new tests. Empty: no test
/// changed.
pub fn new_tests_on_old_code(files: &TestFiles<'_>) -> Vec<Overlay> {
    let mut overlays = Vec::new();
    for path in files.changed {
        let (old, new) = ((files.read_base)(path), (files.read_after)(path));
        let lay = match (old, new) {
            (_, Some(new)) if (files.is_test)(path) => Some(Lay::Write(new)),
            (Some(_), None) if (files.is_test)(path) => Some(Lay::Remove),
            (Some(old), Some(new)) => {
                (files.graft)(path, &old, &new).filter(|grafted| *grafted != old).map(Lay::Write)
            }
            (None | Some(_), None) | (None, Some(_)) => None,
        };
        overlays.extend(lay.map(|lay| Overlay { path: path.clone(), lay }));
    }
    overlays
}

/// What the run of the new tests on the old code proves.
///
/// `old` is that run, `new` the run on the change; `changed` are the tests that the change adds or edits, as they are
/// called in the source; `flaky` are those of which nothing follows.
pub fn proof(old: (&Exit, &Reading), new: &Reading, changed: &[String], flaky: &[String]) -> Proof {
    if changed.is_empty() {
        return Proof::NoTestsChanged;
    }
    let cannot_tell = |because: &str| Proof::CannotTell { because: because.to_owned() };
    let (exit, before) = old;
    let changed = SourceNames::new(changed.iter().map(String::as_str));
    let is_changed = |name: &str| changed.find(&Printed::new(name)).is_some();
    let mut red: Vec<String> = Vec::new();
    let mut red_still = false;
    let mut is_silent = false;
    for name in failing(before).into_iter().filter(|name| is_changed(name)) {
        if flaky.iter().any(|flaky| flaky == name) {
            continue;
        }
        match passes(new, name) {
            Some(true) if red.len() < MOST_NAMED => red.push(name.to_owned()),
            Some(true) => {}
            Some(false) => red_still = true,
            None => is_silent = true,
        }
    }
    if !red.is_empty() {
        return Proof::Proven { red };
    }
    if is_silent {
        return cannot_tell("the run on the new code does not name the tests that pass");
    }
    if red_still {
        return Proof::NotProven {
            because: "the tests that fail on the old code do not pass on the new code either".to_owned(),
        };
    }
    // A test may print the words of a compiler: where all passed, everything was loaded.
    if !before.unloaded.is_empty() && *exit != Exit::Code(0) {
        return cannot_tell("the new tests did not compile or load on the old code");
    }
    match exit {
        Exit::TimedOut => return cannot_tell("the run on the old code did not end in its time"),
        Exit::Signal(_) => return cannot_tell("the run on the old code was ended by a signal"),
        Exit::Code(_) => {}
    }
    match &before.cases {
        Some(cases) => {
            let ran = cases.tests.iter().any(|(name, status)| {
                *status != CaseStatus::Skipped && is_changed(name) && !flaky.iter().any(|flaky| flaky == name)
            });
            if ran {
                let because = "the tests that were added or edited pass on the old code as well".to_owned();
                Proof::NotProven { because }
            } else {
                cannot_tell("none of the tests that were added or edited is named in the run on the old code")
            }
        }
        None if *exit == Exit::Code(0) && before.counts.is_some_and(|counts| counts.ran() > 0) => {
            Proof::NotProven { because: "all tests pass on the old code as well".to_owned() }
        }
        None => cannot_tell("the run on the old code does not name its tests"),
    }
}

/// A file that does not load is named like a test by some runners.
fn failing(reading: &Reading) -> Vec<&str> {
    let names: Vec<&str> = match &reading.cases {
        Some(cases) => cases
            .tests
            .iter()
            .filter(|(_, status)| **status == CaseStatus::Failed)
            .map(|(name, _)| name.as_str())
            .collect(),
        None => reading.failing.iter().map(String::as_str).collect(),
    };
    names.into_iter().filter(|name| !reading.unloaded.iter().any(|unloaded| unloaded == name)).collect()
}

/// Whether a test passes in a run; none when the run does not say.
fn passes(reading: &Reading, name: &str) -> Option<bool> {
    if let Some(cases) = &reading.cases {
        // What failed may be named in short, and what passed in full.
        let short = SourceName::new(name);
        let mut same = cases.tests.iter().filter(|(full, _)| short.is(&Printed::new(full)).is_some());
        let status = match cases.tests.get(name) {
            Some(status) => Some(status),
            None => same.next().map(|(_, status)| status).filter(|_| same.next().is_none()),
        };
        return status.map(|status| *status == CaseStatus::Passed);
    }
    if reading.failing.iter().any(|failing| failing == name) {
        return Some(false);
    }
    // Where nothing failed and nothing was skipped, it has passed.
    let counts = reading.counts?;
    (counts.passed > 0 && counts.failed == 0 && counts.skipped == 0).then_some(true)
}

#[cfg(test)]
mod tests;
