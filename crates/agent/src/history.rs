//! The feedback of earlier rounds, merged: newest first, each finding once, within a budget.

use super::text::{as_data, beginning_of};
use journeyman_order::bounds::{LONGEST_TEXT, MOST_IN_A_SENTENCE, MOST_NAMED};
use journeyman_order::pipeline::FeedbackMode;
use journeyman_order::{Category, Feedback, Finding};

/// Characters of the whole history. The newest round comes first; the oldest is cut.
pub(super) const BUDGET: usize = 12_000;
/// Reserved for the note that says what was left out.
const FOR_THE_NOTE: usize = 200;

/// The failed rounds in words. `rounds` and the text are newest first.
pub(super) fn merged(rounds: &[&Feedback], mode: FeedbackMode) -> String {
    let mut told = HistoryText { text: String::new(), characters: 0, listed: Vec::new() };
    for (age, feedback) in rounds.iter().enumerate() {
        if let Err(findings) = told.round(age, feedback, rounds, mode) {
            told.text.push_str(&left_out(findings, rounds.len() - age - 1));
            break;
        }
    }
    if told.text.is_empty() {
        told.text.push_str("Nothing in particular was named; see below.\n");
    }
    told.text
}

/// The history so far.
struct HistoryText<'a> {
    text: String,
    characters: usize,
    listed: Vec<&'a Finding>,
}

impl<'a> HistoryText<'a> {
    /// When the budget is used up, returns as error how many of the round's findings were left out.
    fn round(
        &mut self,
        age: usize,
        feedback: &'a Feedback,
        rounds: &[&'a Feedback],
        mode: FeedbackMode,
    ) -> Result<(), usize> {
        let mut findings: Vec<&Finding> = feedback.issues.iter().collect();
        findings.sort_by_key(|finding| finding.severity);
        let (list, words) = match mode {
            FeedbackMode::Both => (true, true),
            FeedbackMode::Structured => (true, false),
            FeedbackMode::Natural => (false, true),
        };
        let mut head = format!("{}:", when(age));
        if words {
            head.push_str(&format!(" {}", lead(&findings)));
        }
        let is_listed = list && findings.iter().any(|finding| finding.description == feedback.summary);
        if !is_listed && (words || findings.is_empty()) {
            head.push_str(&format!(" {}", summary(feedback, &findings)));
        }
        let (new, again): (Vec<&Finding>, Vec<&Finding>) =
            findings.iter().partition(|finding| !self.listed.iter().any(|known| is_same(known, finding)));
        if age > 0 && !again.is_empty() {
            let all = if new.is_empty() { "The same findings" } else { "Some findings" };
            head.push_str(&format!(" {all} as in a later attempt: what was tried in between did not help."));
        }
        self.add(&format!("{}\n\n", head.trim_end()), new.len())?;
        if list {
            for (place, finding) in new.iter().enumerate() {
                let times = rounds.iter().filter(|round| has(round, finding)).count();
                if self.listed.len() == MOST_NAMED {
                    return Err(new.len() - place);
                }
                self.add(&line_of(finding, times), new.len() - place)?;
                self.listed.push(finding);
            }
            if !new.is_empty() {
                self.text.push('\n');
            }
        } else {
            self.listed.extend(&new);
        }
        if words && age == 0 {
            self.add(&instruction(&findings, !list), 0)?;
        }
        Ok(())
    }

    fn add(&mut self, part: &str, findings: usize) -> Result<(), usize> {
        let characters = part.chars().count();
        if self.characters + characters > BUDGET - FOR_THE_NOTE {
            return Err(findings);
        }
        self.characters += characters;
        self.text.push_str(part);
        Ok(())
    }
}

fn is_same(one: &Finding, other: &Finding) -> bool {
    one.category == other.category && one.description == other.description && one.location == other.location
}

fn has(feedback: &Feedback, finding: &Finding) -> bool {
    feedback.issues.iter().any(|other| is_same(other, finding))
}

fn left_out(findings: usize, rounds: usize) -> String {
    let mut text = String::new();
    if findings > 0 {
        text.push_str(&format!("\nLeft out: {findings} further findings. Mend these first.\n"));
    }
    if rounds > 0 {
        text.push_str(&format!(
            "\nLeft out: {rounds} earlier attempts (at most {BUDGET} characters are told).\n"
        ));
    }
    text
}

fn when(age: usize) -> String {
    match age {
        0 => "In the last attempt".to_owned(),
        1 => "In the attempt before it".to_owned(),
        _ => format!("{age} attempts before the last"),
    }
}

fn summary(feedback: &Feedback, findings: &[&Finding]) -> String {
    if !feedback.summary.trim().is_empty() {
        return indented(&feedback.summary);
    }
    findings.first().map_or(String::new(), |finding| indented(&finding.description))
}

fn line_of(finding: &Finding, times: usize) -> String {
    let mut line = format!(
        "- **{}, {}**: {}\n",
        finding.severity.as_str(),
        finding.category.as_str(),
        indented(&finding.description)
    );
    if let Some(location) = &finding.location {
        line.push_str(&format!("  - where: {}\n", indented(location)));
    }
    if let Some(suggestion) = &finding.suggestion {
        line.push_str(&format!("  - suggestion: {}\n", indented(suggestion)));
    }
    if times > 1 {
        line.push_str(&format!("  - named in {times} attempts: mending it another way has not helped yet\n"));
    }
    line
}

/// Text from outside as part of a list item: shortened, and unable to start a line of its own.
fn indented(text: &str) -> String {
    beginning_of(&as_data(text).trim().replace('\n', "\n    "), LONGEST_TEXT)
}

/// The kind of the first finding, in words.
fn lead(findings: &[&Finding]) -> &'static str {
    match findings.first().map(|finding| finding.category) {
        Some(Category::LogicError) => "It does the wrong thing.",
        Some(Category::Security) => "It opens a hole.",
        Some(Category::Style) => "Its form was objected to.",
        Some(Category::TestFailure) => "The tests do not pass, or do not hold what they should.",
        Some(Category::Architecture) => "Its place or its shape was objected to.",
        Some(Category::MissingCommit) => "No new commit arrived.",
        Some(Category::Policy) => "It may not be published as it is.",
        Some(Category::InvalidOutput) => "The answer was not of the form that was asked for.",
        None => "It did not pass.",
    }
}

/// What to do about the newest round, by category, most severe first. Without a list beside it, adds the suggestions.
fn instruction(findings: &[&Finding], with_suggestions: bool) -> String {
    let mut known = Vec::new();
    let mut text = String::new();
    for finding in findings {
        if known.contains(&finding.category) {
            continue;
        }
        known.push(finding.category);
        text.push_str(what_to_do(finding.category));
        text.push('\n');
    }
    let suggestions = findings.iter().filter_map(|finding| finding.suggestion.as_deref());
    for suggestion in suggestions.take(if with_suggestions { MOST_IN_A_SENTENCE } else { 0 }) {
        text.push_str(&format!("What would mend it: {}\n", indented(suggestion)));
    }
    text
}

fn what_to_do(category: Category) -> &'static str {
    match category {
        Category::LogicError => {
            "Where it does the wrong thing: write the input that goes wrong as a test, then mend the cause."
        }
        Category::Security => {
            "Where it opens a hole: close it where the input comes in, for every input of the kind, and add the test."
        }
        Category::Style => "Where the form is wrong: follow the code around it, and change nothing else.",
        Category::TestFailure => {
            "Where tests fail: read the first failure to its end and mend its cause; the others often follow from it."
        }
        Category::Architecture => {
            "Where it stands in the wrong place: move it, with its tests and everybody who calls it. Leave no second copy."
        }
        Category::MissingCommit => {
            "Where no commit arrived: do the last step of the task again, and look at its end whether the branch in \
             `origin` is at your commit."
        }
        Category::Policy => {
            "Where it may not be published: take what is named out of the commit. However good it is, it is refused."
        }
        Category::InvalidOutput => {
            "Where the answer has the wrong form: give it again, whole, in exactly the form that was asked for."
        }
    }
}
