//! The feedback that a worker gets in a later round.

use super::expand::expand;
use super::history::merged;
use super::templates::{body, built_in};
use super::text::{as_data, beginning_of, end_of, fenced};
use journeyman_order::bounds::{LONGEST_DOCUMENT, LONGEST_LINE};
use journeyman_order::moves::{Diagnosis, Rework};
use journeyman_order::{Category, Feedback};

/// Characters shown of a failing test run, from its end.
const LONGEST_OUTPUT: usize = 3_000;
const MOST_FAILING_TESTS: usize = 50;

/// The feedback part of a prompt.
pub(super) fn feedback(rework: &Rework) -> String {
    let attempt = format!("{} of {}", rework.attempt, rework.of.max(rework.attempt));
    let advice = advice(rework);
    let failed: Vec<&Feedback> = rework.feedback.iter().filter(|feedback| !feedback.passed).collect();
    let ran_tests = !rework.failing_tests.is_empty() || rework.test_output.is_some();
    if failed.is_empty() && !ran_tests && !advice.is_empty() {
        return fill("feedback_advice", &[attempt, advice]);
    }
    let wrong = merged(&failed, rework.mode);
    let score = failed.first().map_or_else(String::new, |newest| previous_score(newest));
    if !ran_tests && failed.first().is_some_and(|newest| is_about_the_answer(newest)) {
        // A malformed answer says nothing about its quality.
        let score =
            if failed.first().is_some_and(|newest| newest.score > 0.0) { score } else { String::new() };
        return fill("again", &[attempt, advice, wrong, score]);
    }
    let tests = if ran_tests {
        let failing = names(&rework.failing_tests);
        fill("feedback_tests", &[failing, output(rework.test_output.as_deref())])
    } else {
        String::new()
    };
    fill("feedback", &[attempt, advice, wrong, tests, score])
}

/// The score that the failed check gave the last attempt, for comparison with the next.
fn previous_score(newest: &Feedback) -> String {
    format!("`previous_score`: {:.2}, where 0 is worthless and 1 leaves nothing to object.", newest.score)
}

/// Whether only the form of the answer was wrong.
fn is_about_the_answer(feedback: &Feedback) -> bool {
    !feedback.issues.is_empty()
        && feedback.issues.iter().all(|finding| finding.category == Category::InvalidOutput)
}

/// Fills one of our own templates. A paragraph whose placeholder is empty is dropped with it.
fn fill(name: &str, arguments: &[String]) -> String {
    // Ours are compiled in; if one is missing anyway, the feedback is shown without a frame.
    let Some(template) = built_in(name) else { return arguments.join("\n\n") };
    let arguments: Vec<String> = arguments.iter().map(|text| text.trim_end().to_owned()).collect();
    let is_empty = |paragraph: &str| {
        let place = paragraph.trim().strip_prefix('$').and_then(|place| place.parse::<usize>().ok());
        let argument = place.and_then(|place| place.checked_sub(1)).and_then(|index| arguments.get(index));
        argument.is_some_and(String::is_empty)
    };
    let paragraphs: Vec<&str> =
        body(&template).split("\n\n").filter(|paragraph| !is_empty(paragraph)).collect();
    expand(&format!("{}\n", paragraphs.join("\n\n").trim_end()), &arguments).text
}

/// Guidance from others, most important first: a person, then the tech lead.
fn advice(rework: &Rework) -> String {
    let mut sections = Vec::new();
    if let Some(words) = said(rework.guidance.as_deref()) {
        sections.push(format!("## What a person advises\n\n{words}"));
    }
    if let Some(Diagnosis { decision: _, diagnosis, guidance }) = &rework.diagnosis {
        let (guidance, diagnosis) = (said(Some(guidance)), said(Some(diagnosis)));
        if guidance.is_some() || diagnosis.is_some() {
            sections.push("## What the tech lead advises".to_owned());
        }
        sections.extend(guidance);
        sections.extend(diagnosis.map(|words| format!("The cause, in the tech lead's view:\n\n{words}")));
    }
    sections.join("\n\n")
}

fn said(text: Option<&str>) -> Option<String> {
    let text = as_data(text?);
    let text = text.trim();
    (!text.is_empty()).then(|| beginning_of(text, LONGEST_DOCUMENT))
}

fn names(failing: &[String]) -> String {
    if failing.is_empty() {
        return "Which tests fail could not be read from the output.".into();
    }
    let name = |name: &String| beginning_of(&as_data(name).trim().replace('\n', " "), LONGEST_LINE);
    let mut list: Vec<String> =
        failing.iter().take(MOST_FAILING_TESTS).map(|failing| format!("- {}", name(failing))).collect();
    if failing.len() > MOST_FAILING_TESTS {
        list.push(format!("- and {} more", failing.len() - MOST_FAILING_TESTS));
    }
    format!("Failing tests:\n\n{}", list.join("\n"))
}

fn output(output: Option<&str>) -> String {
    match output.map(end_of_output).filter(|text| !text.is_empty()) {
        Some(text) => format!("The end of the output:\n\n{}", fenced(&text, "text")),
        None => "The run printed nothing.".into(),
    }
}

/// Keeps tabs, unlike messages: many programs print them.
fn end_of_output(text: &str) -> String {
    end_of(&as_data(text).replace('\t', "    "), LONGEST_OUTPUT)
}
