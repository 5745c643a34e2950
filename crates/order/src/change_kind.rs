//! The kind of change that an issue asks for, which decides whether a test must fail on the base. Labels count first,
//! then the issue's words, then an agent's classification, which counts less if that agent is judged by it.

use super::journal::IssueText;
use super::words::words;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Bug,
    /// Something new is wanted.
    Feature,
    /// Upkeep without visible effect.
    Chore,
    /// Not a bug, but only according to the agent that makes the change.
    Unsaid,
}

words!(ChangeKind::words {
    Bug: "a bug",
    Feature: "a feature",
    Chore: "upkeep",
    Unsaid: "a change; only the role that makes it says of what kind"
});

/// Words in labels, by kind.
const LABELS: [(ChangeKind, &[&str]); 3] = [
    (ChangeKind::Bug, &["bug", "regression", "defect", "crash", "fix"]),
    (ChangeKind::Feature, &["enhancement", "feature", "proposal"]),
    (ChangeKind::Chore, &["chore", "documentation", "docs", "dependencies", "refactoring", "refactor"]),
];
/// Words of people who found a bug.
const WRONG: &str = "wrong wrongly bug bugs buggy crash crashes crashed broken breaks regression incorrect incorrectly \
    misbehaves traceback panics segfault unexpectedly corrupt corrupted faulty";
/// Phrases of people who found a bug.
const WRONG_PHRASES: [&str; 6] =
    ["does not work", "doesn't work", "no longer works", "stopped working", "fails with", "fails when"];

/// `class` is an agent's classification of the issue: `/bug`, `/feature`, `/chore`, or empty. `by_who_is_judged`: the
/// same role also makes the change.
pub fn kind_of(issue: &IssueText, class: &str, by_who_is_judged: bool) -> ChangeKind {
    let words = |text: &str| -> Vec<String> {
        text.to_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    for (kind, known) in LABELS {
        let is_said = |label: &[String], word: &str| match kind == ChangeKind::Bug {
            true => label.iter().any(|own| own == word),
            // An area of the code may have such a word in its name, like `feature-flags`.
            false => is_named(label, word),
        };
        let mut labels = issue.labels.iter().map(|label| words(label));
        if labels.any(|label| known.iter().any(|word| is_said(&label, word))) {
            return kind;
        }
    }
    let text = format!("{}\n{}", issue.title, issue.body);
    let lower = text.to_lowercase();
    let is_complaint = words(&text).iter().any(|word| WRONG.split(' ').any(|wrong| wrong == word))
        || WRONG_PHRASES.iter().any(|phrase| lower.contains(phrase));
    let is_wish =
        ["should", "expected", "instead of", "must be", "ought"].iter().any(|word| lower.contains(word));
    match class {
        "/bug" => ChangeKind::Bug,
        // If the pipeline classifies nothing, only labels count.
        "" => ChangeKind::Feature,
        _ if is_complaint => ChangeKind::Bug,
        // An issue that says how something should behave is not upkeep, unless another role than its maker says so.
        "/chore" if is_wish && by_who_is_judged => ChangeKind::Bug,
        _ if by_who_is_judged => ChangeKind::Unsaid,
        "/chore" => ChangeKind::Chore,
        _ => ChangeKind::Feature,
    }
}

/// Words in a label that do not change its kind: `kind/feature`, `type: feature request`.
const BESIDE: [&str; 11] =
    ["type", "kind", "category", "issue", "c", "t", "request", "requests", "new", "update", "updates"];

/// Whether this word of a label names the kind, rather than an area of the code.
fn is_named(words: &[String], word: &str) -> bool {
    let is_it = |own: &String| own == word || own.strip_suffix('s') == Some(word);
    words.iter().any(is_it) && words.iter().all(|own| is_it(own) || BESIDE.contains(&own.as_str()))
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
        kind_of(&issue, said, false)
    }

    #[test]
    fn a_bug_is_one_whatever_the_agent_calls_it() {
        let title = "Negative amounts are read wrongly";
        for said in ["/bug", "/feature", "/chore"] {
            assert_eq!(kind(title, "`cents(\"-3.50\")` is `-250`.", &[], said), ChangeKind::Bug, "{said}");
        }
        assert_eq!(kind("Read negative amounts", "", &["type: bug"], "/chore"), ChangeKind::Bug);
        assert_eq!(kind("Read negative amounts", "", &["area: feature-flags"], "/bug"), ChangeKind::Bug);
        assert_eq!(kind("Read negative amounts", "", &["area/docs"], "/bug"), ChangeKind::Bug);
        for label in [
            "feature", "kind/feature", "type: Feature Request", "✨ enhancement", "feature-request",
            "C-enhancement",
        ] {
            assert_eq!(kind("Read negative amounts", "", &[label], "/bug"), ChangeKind::Feature, "{label}");
        }
        assert_eq!(kind("Read negative amounts", "", &[], "/chore"), ChangeKind::Chore);
        assert_eq!(kind("Amounts", "It is 120 and should be 150.", &[], "/chore"), ChangeKind::Chore);
        assert_eq!(kind(title, "", &["enhancement"], "/bug"), ChangeKind::Feature);
        assert_eq!(
            kind("A third digit is rounded, not cut", "It should be 351.", &[], "/feature"),
            ChangeKind::Feature
        );
    }

    #[test]
    fn whoever_is_judged_by_it_cannot_call_it_a_chore() {
        let issue = IssueText {
            number: IssueNumber(1),
            title: "Read negative amounts".to_owned(),
            body: String::new(),
            url: String::new(),
            labels: Vec::new(),
        };
        let own = |class, issue: &IssueText| kind_of(issue, class, true);
        assert_eq!(own("/chore", &issue), ChangeKind::Unsaid);
        assert_eq!(own("/feature", &issue), ChangeKind::Unsaid);
        assert_eq!(own("/bug", &issue), ChangeKind::Bug);
        let wish = IssueText { body: "It is 120 and should be 150.".to_owned(), ..issue.clone() };
        assert_eq!(own("/chore", &wish), ChangeKind::Bug);
        let labelled = IssueText { labels: vec!["chore".to_owned()], ..issue };
        assert_eq!(own("/feature", &labelled), ChangeKind::Chore, "people say so");
    }
}
