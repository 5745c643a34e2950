//! The findings about a commit's tests for the reviewing agent.

use super::checks;
use super::findings::{FindingGroup, findings, groups};
use super::scrutiny::{NeighbourTally, TestChange};
use super::test_run::{TestEvidence, TestRun};
use super::weakening::{Weakening, WeakeningKind};

/// Most changed tests of the base to list; the reviewer must address by name those whose old version fails.
const MOST_CHANGED: usize = 50;
/// Most details of one line; more than changed tests, which come before what is settled.
const MOST_DETAILS: usize = 100;

/// Tests whose base version fails on the new code: a reviewer has to say whether the issue wants that.
pub(super) fn asked_about(run: &TestRun) -> Vec<String> {
    let changed = run.scrutiny.iter().flat_map(|scrutiny| scrutiny.changed_tests.iter().take(MOST_CHANGED));
    changed.filter(|test| test.how == TestChange::FailsAsItWas).map(|test| test.test.clone()).collect()
}

/// The findings, and what the reviewer has to do about them.
pub(super) fn of_tests(run: &TestRun) -> String {
    let mut lines = vec![checks::of_tests(run).feedback.summary];
    for FindingGroup { line, details } in groups(&findings(Some(&TestEvidence::of(run)), Vec::new())) {
        lines.push(format!("{}: {}", line.line.label(), line.sentence));
        lines.extend(details.iter().take(MOST_DETAILS).map(|detail| format!("- {}", detail.sentence)));
    }
    let scrutiny = run.scrutiny.as_deref();
    let changed = scrutiny.map_or(&[][..], |scrutiny| &scrutiny.changed_tests);
    if !changed.is_empty() {
        lines.push("Say of each existing test that changed, by name, whether the issue asks for it; one that it does not ask for is at least major.".to_owned());
    }
    if changed.iter().any(|test| test.how == TestChange::FailsAsItWas) {
        lines.push(
            "Answer in `changed_tests` for each of those whose base's version fails on the new code: its name as \
             above in `test`, in `wanted` whether the issue wants the new code to do otherwise than that test says, and in `why` \
             the words of the issue that say so. Without that the change is not verified."
                .to_owned(),
        );
    }
    let remarks = scrutiny.map_or(&[][..], |scrutiny| &scrutiny.weakenings);
    let around = remarks.iter().filter(|remark| remark.kind == WeakeningKind::LooksAround);
    let around: Vec<String> = around.map(Weakening::place).collect();
    if !around.is_empty() {
        lines.push(format!(
            "The change looks at where it runs: {}. Say of each of these lines in `summary`, by file and line, why a user \
             needs it, in the words of the issue. One for which the issue gives no reason is at least major.",
            around.join(", ")
        ));
    }
    if scrutiny.is_some_and(|scrutiny| scrutiny.examination.is_some()) {
        lines.push("The statements are from somebody who never saw the change.".to_owned());
    }
    let neighbours = scrutiny.and_then(|scrutiny| scrutiny.neighbours.as_ref());
    if neighbours.is_some_and(NeighbourTally::is_of_tested_inputs_alone) {
        lines.push("Check whether the change only knows the inputs of its tests.".to_owned());
    }
    if scrutiny.is_some_and(|scrutiny| !scrutiny.unnamed_inputs.is_empty()) {
        lines.push("Try the inputs of the issue that no test and no check has.".to_owned());
    }
    lines.join("\n")
}
