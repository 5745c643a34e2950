//! Describes a receipt: what is verified by which evidence and, just as plainly, what is not.

use super::super::live::line;
use crate::attest::{KeyId, Statement};
use crate::order::bounds::{LONGEST_LINE, MOST_NAMED};
use crate::order::receipt::TestEvidence;
use crate::order::scrutiny::{LieVerdict, MutantTally, Scrutiny};
use crate::order::test_run::CommandRun;
use crate::order::{TestCounts, TestVerdict};

pub(super) fn in_words(statement: &Statement, keys: &[KeyId]) -> String {
    let claims = &statement.claims;
    let verdict = line(&claims.verdict, 60);
    let mut lines =
        vec![format!("{}#{}: {verdict} ({})", claims.repository, claims.issue, statement.result.word())];
    if let Some(because) = &claims.because {
        lines.push(format!("  {}", line(because, 400)));
    }
    let mut field = |name: &str, value: String| lines.push(format!("  {name:<10}{value}"));
    field("commit", claims.commit.to_string());
    field("tree", claims.tree.to_string());
    if let Some(base) = &claims.base {
        field("base", base.to_string());
    }
    if let Some(branch) = &claims.branch {
        let there =
            if claims.on_remote { "where it was seen on the remote" } else { "not seen on the remote" };
        field("branch", format!("{branch}, {there}"));
    }
    field("order", claims.order.to_string());
    field("time", statement.time.to_rfc3339());
    let at = statement
        .verifier
        .url
        .as_ref()
        .map(|url| format!(" at {}", line(url, LONGEST_LINE)))
        .unwrap_or_default();
    field("verifier", format!("{}{at}", line(&statement.verifier.name, 60)));
    for (name, version) in &statement.verifier.versions {
        field("", format!("{} {}", line(name, 40), line(version, 120)));
    }
    match keys {
        [] => field("signature", "not checked; it names no key".to_owned()),
        keys => {
            keys.iter().for_each(|key| field("signature", format!("not checked; it names the key {key}")))
        }
    }
    let (verified, open) = evidence(statement);
    for (title, items) in [("verified", verified), ("not verified", open)] {
        if !items.is_empty() {
            lines.push(format!("\n{title}"));
            lines.extend(items.iter().map(|item| format!("  - {item}")));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// What the evidence covers, and what it does not.
fn evidence(statement: &Statement) -> (Vec<String>, Vec<String>) {
    let claims = &statement.claims;
    let (mut verified, mut open) = (Vec::new(), Vec::new());
    match &claims.tests {
        Some(tests) => of_tests(tests, &mut verified, &mut open),
        None => open.push("tests: none were run on this commit".to_owned()),
    }
    match &claims.review {
        Some(review) if review.passed => {
            verified.push(format!("a second agent reviewed it: {}", line(&review.summary, LONGEST_LINE)));
        }
        Some(review) => {
            open.push(format!("a second agent objects: {}", line(&review.summary, LONGEST_LINE)));
        }
        None => open.push("the change itself: no second agent has reviewed this commit".to_owned()),
    }
    if let Some(by) = &claims.approved_by {
        open.push(format!("{} accepted it as it is", line(by, 60)));
    }
    (verified, open)
}

fn of_tests(tests: &TestEvidence, verified: &mut Vec<String>, open: &mut Vec<String>) {
    if let Some(setup) = &tests.setup {
        let list = if setup.exit == crate::order::Exit::Code(0) { &mut *verified } else { &mut *open };
        list.push(ran("setup", setup, None, &tests.sandbox));
    }
    if let Some(test) = &tests.test {
        let list = if tests.verdict.is_pass() && tests.doubt.is_none() { &mut *verified } else { &mut *open };
        list.push(ran("tests", test, tests.counts, &tests.sandbox));
    }
    if let Some(image) = &tests.image {
        verified.push(format!("image: they ran in {}", line(image, LONGEST_LINE)));
    }
    match tests.verdict {
        TestVerdict::Passed | TestVerdict::Failed | TestVerdict::SetupFailed => {}
        TestVerdict::Weakened => {
            open.push("the change weakens the tests that were there before it".to_owned())
        }
        TestVerdict::Unmended => open.push("what the issue itself shows is not mended".to_owned()),
        TestVerdict::NoTests => open.push("tests: there are none, or none ran".to_owned()),
    }
    if let Some(doubt) = &tests.doubt {
        open.push(line(doubt, LONGEST_LINE));
    }
    if !tests.failing.is_empty() {
        open.push(format!("failing: {}", names(&tests.failing, tests.failing.len())));
    }
    if let Some(skipped) = tests.counts.map(|counts| counts.skipped).filter(|skipped| *skipped > 0) {
        open.push(format!("skipped: {skipped}"));
    }
    if tests.sandbox == "none" {
        open.push("isolation: the tests ran without a sandbox".to_owned());
    }
    match &tests.scrutiny {
        Some(scrutiny) => beside(scrutiny, verified, open),
        None if tests.test.is_some() => {
            open.push("test results without the change: the tests ran on this commit only".to_owned());
        }
        None => {}
    }
}

/// The checks on the test run itself.
fn beside(scrutiny: &Scrutiny, verified: &mut Vec<String>, open: &mut Vec<String>) {
    let comparison = &scrutiny.comparison;
    verified.push(format!(
        "compared with the base commit {}, {}: {} still passing, {} fixed, {} new",
        scrutiny.baseline.commit.short(),
        comparison.by,
        comparison.still_green,
        comparison.fixed.total,
        comparison.new.total
    ));
    for (what, _, tests) in comparison.groups().filter(|(_, is_against, _)| *is_against) {
        let total = usize::try_from(tests.total).unwrap_or(usize::MAX);
        open.push(format!("{what}: {}", names(&tests.names, total)));
    }
    if let Some(shown) = scrutiny.shown() {
        let text = line(&shown.text, LONGEST_LINE);
        let text = match &shown.tests[..] {
            [] => text,
            tests => format!("{text}: {}", names(tests, tests.len())),
        };
        if shown.is_shown { verified.push(text) } else { open.push(text) }
    }
    verified.extend(scrutiny.died.iter().map(|died| line(&died.sentence(), LONGEST_LINE)));
    if let (Some(lies), Some(sentence)) = (&scrutiny.lies, scrutiny.lies_sentence()) {
        let sentence = line(&sentence, LONGEST_LINE);
        if lies.said == LieVerdict::Noticed { verified.push(sentence) } else { open.push(sentence) }
    }
    for statement in scrutiny.examination.iter().flat_map(|run| &run.statements) {
        let list = if statement.is_for() == Some(true) { &mut *verified } else { &mut *open };
        list.push(line(&statement.sentence(), LONGEST_LINE));
    }
    for (sentence, is_for) in scrutiny.from_outside() {
        let list = if is_for == Some(true) { &mut *verified } else { &mut *open };
        list.push(line(&sentence, LONGEST_LINE));
    }
    let mutants = scrutiny.mutants.as_ref().and_then(MutantTally::none_tried);
    open.extend(mutants.map(|sentence| line(&sentence, LONGEST_LINE)));
    for test in scrutiny.changed_tests.iter().take(MOST_NAMED) {
        open.push(format!("test of the base changed: {}, {}", line(&test.test, 120), test.how.as_str()));
    }
    let objections = scrutiny.objections().0.len();
    if objections > 0 {
        open.push(format!(
            "{objections} objection(s) to how the change treats the tests; the JSON names them"
        ));
    }
}

fn ran(what: &str, run: &CommandRun, counts: Option<TestCounts>, sandbox: &str) -> String {
    let counts = counts.map(|counts| format!(", {} passed, {} failed", counts.passed, counts.failed));
    format!(
        "{what}: `{}`, {}{}, in the sandbox {}, output sha256 {}",
        line(&run.command, LONGEST_LINE),
        run.exit,
        counts.unwrap_or_default(),
        line(sandbox, 40),
        line(&run.output_sha256, 64)
    )
}

fn names(names: &[String], total: usize) -> String {
    let shown: Vec<String> = names.iter().take(MOST_NAMED).map(|name| line(name, 80)).collect();
    let more = total.saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
