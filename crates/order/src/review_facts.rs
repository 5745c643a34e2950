//! Our facts about a commit's tests, in words for the reviewing agent: the experiment, changed tests of the base,
//! remarks, dependencies, mutants, and what was not checked.

use super::checks;
use super::comparison::ComparedBy;
use super::scrutiny::{Scrutiny, TestChange};
use super::test_run::TestRun;
use crate::bounds::MOST_NAMED;

/// Most changed tests of the base to list; the reviewer must address by name those whose old version fails.
const MOST_CHANGED: usize = 50;

/// Tests whose base version fails on the new code: a reviewer has to say whether the issue wants that.
pub(super) fn asked_about(run: &TestRun) -> Vec<String> {
    let changed = run.scrutiny.iter().flat_map(|scrutiny| scrutiny.changed_tests.iter().take(MOST_CHANGED));
    changed.filter(|test| test.how == TestChange::FailsAsItWas).map(|test| test.test.clone()).collect()
}

pub(super) fn of_tests(run: &TestRun) -> String {
    let mut lines = vec![checks::of_tests(run).feedback.summary];
    match &run.scrutiny {
        Some(scrutiny) => beside(scrutiny, &mut lines),
        None => lines.push("Not looked at: how the tests do without the change.".to_owned()),
    }
    lines.join("\n")
}

fn beside(scrutiny: &Scrutiny, lines: &mut Vec<String>) {
    let comparison = &scrutiny.comparison;
    let told: String =
        comparison.groups().map(|(what, _, tests)| format!(", {} {what}", tests.total)).collect();
    lines.push(format!(
        "Tests of the base on this code, {}: {} still passing{told}.",
        comparison.by, comparison.still_green
    ));
    lines.extend(scrutiny.shown().map(|shown| match &shown.tests[..] {
        [] => format!("{}.", shown.text),
        tests => {
            format!(
                "{}: {}.",
                shown.text,
                tests.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ")
            )
        }
    }));
    lines.extend(scrutiny.died.iter().map(|died| format!("{}.", died.sentence())));
    lines.extend(scrutiny.lies_sentence().map(|sentence| format!("{sentence}.")));
    if !scrutiny.changed_tests.is_empty() {
        lines.push("Tests of the base that the change edits, renames or removes. Say of each by name whether the issue asks for it; one that it does not ask for is at least major:".to_owned());
    }
    for test in scrutiny.changed_tests.iter().take(MOST_CHANGED) {
        lines.push(format!("- {}: {}", test.test, test.how.as_str()));
        let sides = [("before", &test.old), ("now", &test.new)];
        let sides = sides.into_iter().filter_map(|(what, text)| Some((what, text.as_ref()?)));
        lines.extend(sides.map(|(what, text)| format!("  {what}: {}", text.replace('\n', " / "))));
    }
    if scrutiny.changed_tests.iter().any(|test| test.how == TestChange::FailsAsItWas) {
        lines.push(
            "Answer in `changed_tests` for each of those whose base's version fails on the new code: its name as \
             above in `test`, in `wanted` whether the issue wants the new code to do otherwise than that test says, and in `why` \
             the words of the issue that say so. Without that the change is not verified."
                .to_owned(),
        );
    }
    if let Some(run) = &scrutiny.examination {
        lines.push(format!(
            "Somebody who never saw the change wrote down beforehand what has to hold: {}.",
            run.sentence()
        ));
        let open = run.statements.iter().filter(|statement| statement.is_for() != Some(true));
        lines.extend(open.take(MOST_NAMED).map(|statement| format!("- {}", statement.sentence())));
    }
    if !scrutiny.unnamed_inputs.is_empty() {
        lines.push(format!(
            "The issue names {}: no test and no check has them. Try them.",
            scrutiny.unnamed_inputs.join(", ")
        ));
    }
    let remarks = scrutiny.weakenings.iter().map(|remark| {
        let line = remark.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("Remark: {}{line}: {}", remark.path, remark.what)
    });
    lines.extend(remarks.take(MOST_NAMED));
    lines.extend(scrutiny.dependencies.iter().take(MOST_NAMED).map(|what| format!("Dependency: {what}")));
    if let Some(tally) = &scrutiny.mutants {
        lines.push(format!("{} of {} mutants of the changed lines are caught.", tally.caught, tally.tried));
        lines.extend(
            tally.survivors.iter().take(MOST_NAMED).map(|survivor| format!("- not caught: {survivor}")),
        );
        lines.extend(
            tally.not_tried_in().iter().take(MOST_NAMED).map(|what| format!("- not tried in {what}")),
        );
    }
    if comparison.by != ComparedBy::Test {
        lines.push("Not looked at: single tests, since the runner does not name them.".to_owned());
    }
}
