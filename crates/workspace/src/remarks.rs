//! The report of an examination, worded for the agent and for people. It never contains a secret's value.

use super::secrets::SecretFinding;
use journeyman_order::bounds::{LONGEST_LINE, MOST_NAMED};
use journeyman_order::{Category, Finding, Severity};

#[derive(Debug, Default)]
pub(super) struct ExaminationReport {
    /// Reasons against publishing; empty if there are none.
    pub(super) findings: Vec<Finding>,
    /// What may be published but people should know.
    pub(super) warnings: Vec<Finding>,
    ended: bool,
}

impl ExaminationReport {
    /// Whether further examination is pointless.
    pub(super) fn are_enough(&self) -> bool {
        self.ended || self.findings.len() >= MOST_NAMED
    }

    /// Refuses a path, or everything if it is empty.
    pub(super) fn refuse(&mut self, path: &str, why: &str) {
        let suggestion = "Leave it as it is in the base commit, and push again.";
        self.push(path, None, why, suggestion.to_owned());
    }

    /// Refuses a path and ends the examination.
    pub(super) fn end(&mut self, path: &str, why: &str) {
        self.refuse(path, why);
        self.ended = true;
    }

    /// Adds a warning for people; the path may be published.
    pub(super) fn tell(&mut self, path: &str, why: &str) {
        if self.warnings.len() < MOST_NAMED {
            let shown = shown(path);
            self.warnings.push(Finding {
                severity: Severity::Minor,
                category: Category::Policy,
                description: format!("`{shown}` changes: {why}."),
                location: (!shown.is_empty()).then_some(shown),
                suggestion: None,
            });
        }
    }

    pub(super) fn spot(&mut self, path: &str, spot: &SecretFinding) {
        match spot {
            SecretFinding::Ours { name, line } => {
                let why = format!("line {line} holds {name}, or a piece of it");
                self.push(path, Some(*line), &why, "Take it out, and push again.".to_owned());
            }
            SecretFinding::Formed { rule, line, may: true, .. } => {
                self.tell(path, &format!("line {line} has the form of a secret (`{rule}`)"));
            }
            SecretFinding::Formed { rule, line, may: false, fingerprint } => {
                let why = format!("line {line} has the form of a secret (`{rule}`)");
                let suggestion = format!(
                    "Take it out, and push again: tests can put such a value together as they run. If it is no secret, \
                     a maintainer can add `{fingerprint}` to `allowed_secrets` in .github/journeyman.yml on the default \
                     branch."
                );
                self.push(path, Some(*line), &why, suggestion);
            }
        }
    }

    fn push(&mut self, path: &str, line: Option<usize>, why: &str, suggestion: String) {
        if self.findings.len() >= MOST_NAMED {
            return;
        }
        let shown = shown(path);
        let place = if shown.is_empty() { "the change".to_owned() } else { format!("`{shown}`") };
        let location = match line {
            Some(line) => format!("{shown}:{line}"),
            None => shown.clone(),
        };
        self.findings.push(Finding {
            severity: Severity::Critical,
            category: Category::Policy,
            description: format!("{place} cannot be published: {why}."),
            location: (!shown.is_empty()).then_some(location),
            suggestion: Some(suggestion),
        });
    }
}

fn shown(path: &str) -> String {
    path.escape_debug().to_string().chars().take(LONGEST_LINE).collect()
}
