//! Finds everything that would stop the work before money is spent: on GitHub, on this machine, in the settings.
//! Reports all of it at once. It is quick, and an unanswered question is not a problem.

use std::fmt::Display;
use std::time::Duration;

use super::{EffectContext, EffectResult};
use journeyman_github::{BranchRestriction, InstallationGrants, InstalledRepository, ReadOnlyReason};
use journeyman_order::settings::BaseMovePolicy;
use journeyman_order::{BranchName, EffectOutcome, HeadBranch};

/// Timeout of a question. They are asked in parallel.
pub(super) const PATIENCE: Duration = Duration::from_millis(1_500);

/// Permissions that the App needs, by GitHub's name and in the words of its page.
const NEEDED: [(&str, &str); 4] = [
    ("contents", "Contents: Read and write"),
    ("pull_requests", "Pull requests: Read and write"),
    ("issues", "Issues: Read and write"),
    ("checks", "Checks: Read and write"),
];

const SIGNING: &str = "signing.key_file and signing.committer";

#[derive(Debug, Default)]
pub(super) struct PreflightReport {
    pub(super) problems: Vec<String>,
    pub(super) warnings: Vec<String>,
}

impl PreflightReport {
    pub(super) fn problem(&mut self, text: impl Into<String>) {
        push(&mut self.problems, text.into());
    }

    pub(super) fn warn(&mut self, text: impl Into<String>) {
        push(&mut self.warnings, text.into());
    }

    pub(super) fn join(&mut self, other: Self) {
        other.problems.into_iter().for_each(|text| self.problem(text));
        other.warnings.into_iter().for_each(|text| self.warn(text));
    }
}

fn push(texts: &mut Vec<String>, text: String) {
    if !texts.contains(&text) {
        texts.push(text);
    }
}

impl EffectContext {
    pub(super) async fn preflight(&self) -> EffectResult {
        let at = self.at().await?;
        // Before this, nothing is known about the repository.
        self.base()?;
        let (on_github, here) = tokio::join!(self.on_github(&at), self.readiness());
        let mut found = on_github;
        found.join(here);
        Ok(EffectOutcome::Preflighted { problems: found.problems, warnings: found.warnings })
    }

    async fn on_github(&self, at: &InstalledRepository) -> PreflightReport {
        let github = &self.parts.github;
        let branch = self.branch();
        let merges = self.settings().when_base_moves == BaseMovePolicy::Merge;
        let (grants, read_only, hindrances) = tokio::join!(
            self.ask_in_time("what the App was granted", github.grants(&at.repository)),
            self.ask_in_time("whether the repository can be written to", github.read_only(at)),
            self.ask_in_time(
                "which rules hold for the branch",
                github.branch_restrictions(at, branch.as_str(), merges)
            ),
        );
        let mut found = PreflightReport::default();
        if let Some(grants) = &grants {
            self.grants(grants, &mut found);
        }
        if let Some(Some(read_only)) = read_only {
            let name = &at.repository;
            found.problem(match read_only {
                ReadOnlyReason::Archived => {
                    format!("{name} is archived, so nothing can be pushed: unarchive it in its settings.")
                }
                ReadOnlyReason::Disabled => {
                    format!("{name} is disabled by GitHub, so nothing can be pushed: ask GitHub's support why.")
                }
                ReadOnlyReason::Mirror => {
                    format!("{name} is a mirror, so nothing can be pushed: label the issue in the original repository.")
                }
            });
        }
        let remedy = format!(
            "let the App bypass it, or leave {} out of it",
            branch
                .as_str()
                .split_once('/')
                .map_or("the branch".to_owned(), |(space, _)| format!("{space}/**"))
        );
        for hindrance in hindrances.unwrap_or_default() {
            match hindrance {
                BranchRestriction::Forbids(what) => {
                    found.problem(format!("For the branch {branch} a ruleset of the repository {what}: {remedy}."));
                }
                BranchRestriction::RequiresSignatures if self.parts.workspaces.signer().is_some() => {}
                BranchRestriction::RequiresSignatures => found.problem(format!(
                    "For the branch {branch} a ruleset of the repository requires signed commits: set {SIGNING} so that \
                     Journeyman signs its commits, {remedy}."
                )),
                BranchRestriction::MayForbid(what) => found.warn(format!(
                    "For the branch {branch} a ruleset of the repository {what}; if that blocks a push, {remedy}."
                )),
            }
        }
        found
    }

    fn grants(&self, grants: &InstallationGrants, found: &mut PreflightReport) {
        let page = if grants.html_url.starts_with("http") {
            format!(" ({})", grants.html_url)
        } else {
            String::new()
        };
        if grants.is_suspended() {
            found.problem(format!("The App's installation is suspended: unsuspend it on its page{page}."));
        }
        for (permission, words) in NEEDED {
            if !grants.may_write(permission) {
                found.problem(format!(
                    "The App lacks the permission \"{words}\": grant it on the App's page, then accept it on the \
                     installation's{page}."
                ));
            }
        }
        let ci = self.settings().ci;
        if ci.answer {
            for (permission, what) in [
                ("actions", "\"Actions: Read-only\", so logs of failing jobs are not read"),
                ("statuses", "\"Commit statuses: Read-only\", so they are not seen"),
            ] {
                if !grants.may_read(permission) {
                    found.warn(format!("The App lacks the permission {what}."));
                }
            }
        }
        if ci.rerun && !grants.may_write("actions") {
            found.warn(
                "The App lacks the permission \"Actions: Read and write\", so that failing jobs are not run again.",
            );
        }
    }

    fn branch(&self) -> HeadBranch {
        let issue = &self.opened().issue;
        let named = self.projection.trace.branch.clone();
        let own = named.unwrap_or_else(|| BranchName::for_issue(issue.number, &issue.title, 1));
        self.head_branch(&own)
    }

    /// The answer to a question. `None` if it fails or does not arrive in time.
    pub(super) async fn ask_in_time<T, E: Display>(
        &self,
        what: &str,
        question: impl Future<Output = Result<T, E>>,
    ) -> Option<T> {
        match tokio::time::timeout(PATIENCE, question).await {
            Ok(Ok(answer)) => Some(answer),
            Ok(Err(error)) => {
                tracing::warn!(order = %self.order, what, %error, "not known before the work begins");
                None
            }
            Err(_) => {
                tracing::warn!(order = %self.order, what, "not known before the work begins: no answer in time");
                None
            }
        }
    }
}
