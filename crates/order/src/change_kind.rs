//! What kind of change an issue asks for, and so whether something has to be shown wrong before: by its labels, its own
//! words, and last by the word of an agent, which counts for less where it is the one who is judged by it.

use super::journal::IssueText;

/// What an issue asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Bug,
    /// Something new is wanted.
    Feature,
    /// Upkeep that nobody notices.
    Chore,
    /// No bug by the word of the one alone who makes the change.
    Unsaid,
}

impl ChangeKind {
    pub fn words(self) -> &'static str {
        match self {
            Self::Bug => "a bug",
            Self::Feature => "a feature",
            Self::Chore => "upkeep",
            Self::Unsaid => "a change; only the role that makes it says of what kind",
        }
    }
}

/// Words of labels, by what they say.
const LABELS: [(ChangeKind, &[&str]); 3] = [
    (ChangeKind::Bug, &["bug", "regression", "defect", "crash", "fix"]),
    (ChangeKind::Feature, &["enhancement", "feature", "proposal"]),
    (ChangeKind::Chore, &["chore", "documentation", "docs", "dependencies", "refactoring", "refactor"]),
];
/// Words of people who found something wrong.
const WRONG: &str = "wrong wrongly bug bugs buggy crash crashes crashed broken breaks regression incorrect incorrectly \
    misbehaves traceback panics segfault unexpectedly corrupt corrupted faulty";
/// And several of them.
const WRONG_PHRASES: [&str; 6] =
    ["does not work", "doesn't work", "no longer works", "stopped working", "fails with", "fails when"];

/// `class` is what an agent called the issue: `/bug`, `/feature` or `/chore`, empty where nobody said. `by_who_is_judged`:
/// its role makes the change as well.
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
            // An area of the code may have such a word in its name, as `feature-flags` has.
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
        // A pipeline that classifies nothing asks for nothing but what labels say.
        "" => ChangeKind::Feature,
        _ if is_complaint => ChangeKind::Bug,
        // Upkeep is not asked for by saying what something should be; where others than its maker call it that, it is.
        "/chore" if is_wish && by_who_is_judged => ChangeKind::Bug,
        _ if by_who_is_judged => ChangeKind::Unsaid,
        "/chore" => ChangeKind::Chore,
        _ => ChangeKind::Feature,
    }
}

/// Words that stand beside such a word in a label and change nothing: `kind/feature`, `type: feature request`.
const BESIDE: [&str; 11] =
    ["type", "kind", "category", "issue", "c", "t", "request", "requests", "new", "update", "updates"];

/// Whether a label names the kind by this word, and not an area of the code.
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
            "feature",
            "kind/feature",
            "type: Feature Request",
            "✨ enhancement",
            "feature-request",
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
