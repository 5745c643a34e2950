//! What a repository allows on its branches: rulesets and archiving.

use regex::Regex;
use serde_json::Value;

use super::EmulatedRepository;

#[derive(Debug, Clone)]
pub(crate) struct RulesetRule {
    pub ruleset: u64,
    /// Branch pattern in rulesets' syntax: `*` stops at a slash, `**` does not.
    pub pattern: String,
    /// `creation`, `update`, `required_signatures` …
    pub kind: String,
    pub parameters: Value,
    /// Whether the ruleset lets the App bypass it.
    pub bypass: bool,
}

#[derive(Debug, Default)]
pub(crate) struct RepositoryRules {
    pub rules: Vec<RulesetRule>,
    pub archived: bool,
}

/// The pattern as a regular expression for a branch's name, valid here and for `grep -E`.
fn expression(pattern: &str) -> String {
    let mut expression = String::from("^");
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '*' if characters.peek() == Some(&'*') => {
                characters.next();
                expression.push_str(".*");
            }
            '*' => expression.push_str("[^/]*"),
            '?' => expression.push_str("[^/]"),
            other if other.is_ascii_alphanumeric() || matches!(other, '/' | '-' | '_') => {
                expression.push(other)
            }
            other => expression.extend(['[', other, ']']),
        }
    }
    expression.push('$');
    expression
}

fn matches(pattern: &str, branch: &str) -> bool {
    Regex::new(&expression(pattern)).is_ok_and(|pattern| pattern.is_match(branch))
}

impl EmulatedRepository {
    pub(crate) fn rules_for(&self, branch: &str) -> impl Iterator<Item = &RulesetRule> {
        self.rules.rules.iter().filter(move |rule| matches(&rule.pattern, branch))
    }

    /// The rules for the push hook: one `KIND EXPRESSION` per line, followed by the rule's pattern if it has one.
    pub(crate) fn rules_for_pushes(&self, app: bool) -> String {
        let rules = self.rules.rules.iter().filter(|rule| !(app && rule.bypass));
        let pattern = |rule: &RulesetRule| rule.parameters["pattern"].as_str().unwrap_or_default().to_owned();
        let lines: Vec<String> = rules
            .map(|rule| format!("{} {} {}", rule.kind, expression(&rule.pattern), pattern(rule)))
            .collect();
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stops_at_a_slash_and_two_do_not() {
        for (pattern, branch, hit) in [
            ("journeyman/*", "journeyman/issue-1", true),
            ("journeyman/*", "journeyman/a/b", false),
            ("journeyman/**", "journeyman/a/b", true),
            ("*", "journeyman/issue-1", false),
            ("**", "journeyman/issue-1", true),
            ("release-1.?", "release-1.2", true),
            ("release-1.?", "release-112", false),
        ] {
            assert_eq!(matches(pattern, branch), hit, "{pattern} {branch}");
        }
    }
}
