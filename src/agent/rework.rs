//! What a worker is told when it is sent back.

use super::expand::expand;
use super::templates::{body, built_in};
use super::text::{as_data, beginning_of, end_of, fenced};
use crate::order::moves::Rework;
use crate::order::{Category, Feedback, Finding, Severity};

/// The most of a failing test run that is shown, in characters from its end.
const LONGEST_OUTPUT: usize = 3_000;
/// The most findings that are listed: a worker that gets a hundred mends none.
const MOST_FINDINGS: usize = 30;
const MOST_FAILING_TESTS: usize = 50;
const LONGEST_TEXT: usize = 2_000;

/// The feedback part of a prompt.
pub(super) fn feedback(rework: &Rework) -> String {
    let tests = if rework.failing_tests.is_empty() && rework.test_output.is_none() {
        String::new()
    } else {
        let failing: Vec<String> = rework.failing_tests.iter().map(|name| as_data(name)).collect();
        fill("feedback_tests", &[names(&failing), output(rework.test_output.as_deref())])
    };
    let guidance = rework.guidance.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let guidance = guidance.map_or(String::new(), |text| {
        format!("## What a person advises\n\n{}\n", beginning_of(&as_data(text), 10_000))
    });
    let arguments = [
        format!("{} of {}", rework.attempt, rework.of.max(rework.attempt)),
        findings(&rework.feedback),
        tests,
        guidance,
    ];
    let text = fill("feedback", &arguments);
    // Sections that have nothing to say leave empty lines behind.
    let mut tidy = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines() {
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty <= 1 {
            tidy.push_str(line);
            tidy.push('\n');
        }
    }
    tidy
}

fn fill(name: &str, arguments: &[String]) -> String {
    // Ours are compiled in; should one be missing all the same, what was wrong is said without a frame.
    match built_in(name) {
        Some(template) => expand(body(&template), arguments).text,
        None => arguments.join("\n\n"),
    }
}

fn findings(all: &[Feedback]) -> String {
    let mut text = String::new();
    let mut listed = 0;
    for (age, feedback) in all.iter().filter(|feedback| !feedback.passed).enumerate() {
        let when = match age {
            0 => "In the last attempt".to_owned(),
            1 => "In the attempt before it".to_owned(),
            _ => format!("{} attempts before the last", age),
        };
        let is_said_below = feedback.issues.iter().any(|finding| finding.description == feedback.summary);
        let summary = if is_said_below { String::new() } else { format!(" {}", short(&feedback.summary)) };
        text.push_str(&format!("{when}:{summary}\n\n"));
        for finding in &feedback.issues {
            if listed == MOST_FINDINGS {
                text.push_str("- further findings are left out; mend these first\n");
                return text;
            }
            listed += 1;
            text.push_str(&line_of(finding));
        }
        text.push('\n');
    }
    if text.is_empty() {
        text.push_str("Nothing in particular was named; see below.\n");
    }
    text
}

fn line_of(finding: &Finding) -> String {
    let mut line = format!(
        "- **{}, {}**: {}\n",
        severity(finding.severity),
        category(finding.category),
        indented(&short(&finding.description))
    );
    if let Some(location) = &finding.location {
        line.push_str(&format!("  - where: {}\n", indented(&short(location))));
    }
    if let Some(suggestion) = &finding.suggestion {
        line.push_str(&format!("  - suggestion: {}\n", indented(&short(suggestion))));
    }
    line
}

fn names(failing: &[String]) -> String {
    if failing.is_empty() {
        return "Which tests fail could not be read from the output.".into();
    }
    let mut list: Vec<String> =
        failing.iter().take(MOST_FAILING_TESTS).map(|name| format!("- {}", indented(&short(name)))).collect();
    if failing.len() > MOST_FAILING_TESTS {
        list.push(format!("- and {} more", failing.len() - MOST_FAILING_TESTS));
    }
    format!("Failing tests:\n\n{}", list.join("\n"))
}

fn output(output: Option<&str>) -> String {
    match output.map(end_of_output).filter(|text| !text.is_empty()) {
        Some(text) => format!("The end of the output:\n\n{}", fenced(&text)),
        None => "The run printed nothing.".into(),
    }
}

/// Tabs stay, unlike in messages: they are part of many programs' output.
fn end_of_output(text: &str) -> String {
    end_of(&as_data(text).replace('\t', "    "), LONGEST_OUTPUT)
}

fn short(text: &str) -> String {
    beginning_of(as_data(text).trim(), LONGEST_TEXT)
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n    ")
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "critical",
        Severity::Major => "major",
        Severity::Minor => "minor",
    }
}

fn category(category: Category) -> &'static str {
    match category {
        Category::LogicError => "logic_error",
        Category::Security => "security",
        Category::Style => "style",
        Category::TestFailure => "test_failure",
        Category::Architecture => "architecture",
        Category::MissingCommit => "missing_commit",
        Category::Policy => "policy",
        Category::InvalidOutput => "invalid_output",
    }
}
