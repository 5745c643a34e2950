//! What kind of change an issue asks for, and so whether something has to be shown wrong before: by its labels, its own
//! words, and last by the word of the agent, which is the one who is judged by it.

use super::journal::IssueText;

/// What an issue asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// Something is wrong.
    Bug,
    /// Something new is wanted.
    Feature,
    /// Upkeep that nobody notices.
    Chore,
}

/// Words of labels, each for what it says.
const LABELS: [(&str, ChangeKind); 14] = [
    ("bug", ChangeKind::Bug),
    ("regression", ChangeKind::Bug),
    ("defect", ChangeKind::Bug),
    ("crash", ChangeKind::Bug),
    ("fix", ChangeKind::Bug),
    ("enhancement", ChangeKind::Feature),
    ("feature", ChangeKind::Feature),
    ("proposal", ChangeKind::Feature),
    ("chore", ChangeKind::Chore),
    ("documentation", ChangeKind::Chore),
    ("docs", ChangeKind::Chore),
    ("dependencies", ChangeKind::Chore),
    ("refactoring", ChangeKind::Chore),
    ("refactor", ChangeKind::Chore),
];
/// Words of people who found something wrong.
const WRONG: [&str; 21] = [
    "wrong",
    "wrongly",
    "bug",
    "bugs",
    "buggy",
    "crash",
    "crashes",
    "crashed",
    "broken",
    "breaks",
    "regression",
    "incorrect",
    "incorrectly",
    "misbehaves",
    "traceback",
    "panics",
    "segfault",
    "unexpectedly",
    "corrupt",
    "corrupted",
    "faulty",
];
/// And several of them.
const WRONG_PHRASES: [&str; 6] =
    ["does not work", "doesn't work", "no longer works", "stopped working", "fails with", "fails when"];

/// What an issue asks for. `said` is what the agent called it: `/bug`, `/feature` or `/chore`; empty where nobody did.
pub fn kind_of(issue: &IssueText, said: &str) -> ChangeKind {
    let words = |text: &str| -> Vec<String> {
        text.to_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let labels: Vec<String> = issue.labels.iter().flat_map(|label| words(label)).collect();
    let labelled = |kind: ChangeKind| {
        LABELS.iter().any(|(word, of)| *of == kind && labels.iter().any(|label| label == word))
    };
    for kind in [ChangeKind::Bug, ChangeKind::Feature, ChangeKind::Chore] {
        if labelled(kind) {
            return kind;
        }
    }
    let text = format!("{}\n{}", issue.title, issue.body);
    let lower = text.to_lowercase();
    let is_complaint = words(&text).iter().any(|word| WRONG.contains(&word.as_str()))
        || WRONG_PHRASES.iter().any(|phrase| lower.contains(phrase));
    // Upkeep is not asked for by saying what something should be.
    let is_wish =
        ["should", "expected", "instead of", "must be", "ought"].iter().any(|word| lower.contains(word));
    match said {
        "/bug" => ChangeKind::Bug,
        // A pipeline that classifies nothing asks for nothing but what labels say.
        "" => ChangeKind::Feature,
        _ if is_complaint => ChangeKind::Bug,
        "/chore" if is_wish => ChangeKind::Bug,
        "/chore" => ChangeKind::Chore,
        _ => ChangeKind::Feature,
    }
}

#[cfg(test)]
mod tests {
    use super::super::ids::IssueNumber;
    use super::*;

    fn kind(title: &str, body: &str, labels: &[&str], said: &str) -> ChangeKind {
        let issue = IssueText {
            number: IssueNumber(1),
            title: title.to_owned(),
            body: body.to_owned(),
            url: String::new(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        };
        kind_of(&issue, said)
    }

    #[test]
    fn a_bug_is_one_whatever_the_agent_calls_it() {
        let title = "Negative amounts are read wrongly";
        for said in ["/bug", "/feature", "/chore"] {
            assert_eq!(kind(title, "`cents(\"-3.50\")` is `-250`.", &[], said), ChangeKind::Bug, "{said}");
        }
        assert_eq!(kind("Read negative amounts", "", &["type: bug"], "/chore"), ChangeKind::Bug);
        assert_eq!(kind("Read negative amounts", "", &[], "/chore"), ChangeKind::Chore);
        assert_eq!(kind("Amounts", "It is 120 and should be 150.", &[], "/chore"), ChangeKind::Bug);
        assert_eq!(kind(title, "", &["enhancement"], "/bug"), ChangeKind::Feature);
        assert_eq!(
            kind("A third digit is rounded, not cut", "It should be 351.", &[], "/feature"),
            ChangeKind::Feature
        );
    }
}
