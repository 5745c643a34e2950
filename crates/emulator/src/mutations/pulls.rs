//! What only pull requests allow, beyond what any issue does.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde_json::json;

use crate::clock;
use crate::events::{NO_SHA, RefUpdate};
use crate::reply::{ActResult, EmulatedApiError};
use crate::repos;
use crate::state::{EmulatedIssueState, EmulatedPull, EmulatorState, MergeRecord};

/// The parameters of a new pull request.
pub(crate) struct NewPull {
    pub title: String,
    pub body: String,
    pub head: String,
    pub base: String,
    pub draft: bool,
}

impl EmulatorState {
    pub(crate) fn pull_mut(&mut self, repository: &str, number: u64) -> ActResult<&mut EmulatedPull> {
        self.thread_mut(repository, number)?.pull.as_mut().ok_or_else(EmulatedApiError::not_found)
    }

    pub(crate) fn open_pull(&mut self, repository: &str, author: u64, new: NewPull) -> ActResult<u64> {
        let kind = "PullRequest";
        let found = self.require_repository(repository)?;
        let owner = self.login(found.owner).to_owned();
        let head = match new.head.split_once(':') {
            Some((login, branch)) if login.eq_ignore_ascii_case(&owner) => branch.to_owned(),
            Some(_) => return Err(EmulatedApiError::invalid(kind, "head", "invalid")),
            None => new.head.clone(),
        };
        let Some(base_sha) = repos::head(&found.git, &new.base) else {
            return Err(EmulatedApiError::invalid(kind, "base", "invalid"));
        };
        let Some(head_sha) = repos::head(&found.git, &head) else {
            return Err(EmulatedApiError::invalid(kind, "head", "invalid"));
        };
        if repos::ahead(&found.git, &base_sha, &head_sha).unwrap_or(0) == 0 {
            let message = format!("No commits between {} and {head}", new.base);
            return Err(EmulatedApiError::custom(kind, message));
        }
        let taken = found.threads.values().any(|thread| {
            let is_it =
                |pull: &EmulatedPull| pull.fork.is_none() && pull.head == head && pull.base == new.base;
            thread.state == EmulatedIssueState::Open && thread.pull.as_ref().is_some_and(is_it)
        });
        if taken {
            return Err(EmulatedApiError::custom(
                kind,
                format!("A pull request already exists for {owner}:{head}."),
            ));
        }
        let number = self.add_thread(repository, author, &new.title, &new.body)?;
        let id = self.new_id();
        self.thread_mut(repository, number)?.pull = Some(EmulatedPull {
            id,
            head,
            base: new.base,
            head_sha,
            base_sha,
            draft: new.draft,
            ..EmulatedPull::default()
        });
        self.emit_thread(repository, number, "opened", author, json!({}));
        Ok(number)
    }

    /// A commit in somebody's fork, to a pull request or to a new one. It is here only as the pull request's head.
    pub(crate) fn push_to_fork(
        &mut self,
        repository: &str,
        by: u64,
        (title, pull): (&str, Option<u64>),
        files: &BTreeMap<String, Option<Vec<u8>>>,
    ) -> anyhow::Result<u64> {
        let found = self.require_repository(repository)?;
        let (git, base) = (found.git.clone(), found.default_branch.clone());
        let fork = format!("{}/{}", self.login(by), found.name);
        let base_sha = repos::head(&git, &base).context("an empty repository")?;
        let number = pull.map_or_else(|| self.add_thread(repository, by, title, ""), Ok)?;
        let head = format!("refs/pull/{number}/head");
        let to = repos::CommitTarget { branch: &head, start: Some(&base_sha) };
        let head_sha = repos::commit(&git, &to, self.login(by), title, files)?;
        let id = self.new_id();
        let thread = self.thread_mut(repository, number)?;
        thread.changed();
        let new = || EmulatedPull { id, base, base_sha, fork: Some(fork), ..EmulatedPull::default() };
        let pull = EmulatedPull {
            head: "patch-1".to_owned(),
            head_sha,
            pushed_at: Some(thread.updated_at),
            ..thread.pull.take().unwrap_or_else(new)
        };
        let action = if pull.id == id { "opened" } else { "synchronize" };
        thread.pull = Some(pull);
        self.emit_thread(repository, number, action, by, json!({}));
        Ok(number)
    }

    /// Marks a draft as ready; repeating it is harmless.
    pub(crate) fn mark_ready(&mut self, repository: &str, number: u64, by: u64) -> ActResult<()> {
        let pull = self.pull_mut(repository, number)?;
        if pull.draft {
            pull.draft = false;
            self.emit_thread(repository, number, "ready_for_review", by, json!({}));
        }
        Ok(())
    }

    /// Computes mergeability at the first request after a push. As on GitHub, the next request gets the answer.
    pub(crate) fn weigh(&mut self, repository: &str, number: u64) {
        let Ok(found) = self.require_repository(repository) else { return };
        let Some(pull) = found.threads.get(&number).and_then(|thread| thread.pull.as_ref()) else { return };
        let now = repos::head(&found.git, &pull.base).map(|base| (base, pull.head_sha.clone()));
        if let Ok(pull) = self.pull_mut(repository, number) {
            pull.weighed = now;
        }
    }

    /// Merges with a merge commit, and closes the issues that the pull request's text names.
    pub(crate) fn merge(&mut self, repository: &str, number: u64, by: u64) -> ActResult<String> {
        let login = self.login(by).to_owned();
        let git = self.require_repository(repository)?.git.clone();
        let (pull, message) = self.require_mergeable(repository, number, by)?;
        let before = repos::head(&git, &pull.base).unwrap_or_else(|| NO_SHA.to_owned());
        let commit = repos::merge(&git, &pull.base, &pull.head_sha, &login, &message)
            .map_err(EmulatedApiError::broken)?
            .ok_or_else(not_mergeable)?;
        let moved =
            RefUpdate { reference: format!("refs/heads/{}", pull.base), before, after: commit.clone() };
        self.merged(repository, number, by, &moved)?;
        Ok(commit)
    }

    /// A pull request that is open and no draft, and the message of its merge commit.
    pub(crate) fn require_mergeable(
        &self,
        repository: &str,
        number: u64,
        by: u64,
    ) -> ActResult<(EmulatedPull, String)> {
        let thread = self.thread(repository, number)?;
        let pull = thread.pull.clone().ok_or_else(EmulatedApiError::not_found)?;
        if thread.state == EmulatedIssueState::Closed || pull.draft {
            return Err(not_mergeable());
        }
        let (login, title) = (self.login(by), &thread.title);
        let message = format!("Merge pull request #{number} from {login}/{}\n\n{title}\n", pull.head);
        Ok((pull, message))
    }

    /// The consequences of a merge: closes the pull request, and the issues that its text names.
    pub(crate) fn merged(
        &mut self,
        repository: &str,
        number: u64,
        by: u64,
        moved: &RefUpdate,
    ) -> ActResult<()> {
        let default_branch = format!("refs/heads/{}", self.require_repository(repository)?.default_branch);
        let closes = closing_references(&self.thread(repository, number)?.body);
        let merged = MergeRecord { commit: moved.after.clone(), at: clock::now() };
        self.pull_mut(repository, number)?.merged = Some(merged);
        let thread = self.thread_mut(repository, number)?;
        thread.state = EmulatedIssueState::Closed;
        thread.changed();
        self.emit_thread(repository, number, "closed", by, json!({}));
        self.emit_push(repository, moved, by);
        for issue in closes.into_iter().filter(|_| moved.reference == default_branch) {
            // A number that is no issue here must not fail the merge.
            let _ = self.set_state(repository, issue, EmulatedIssueState::Closed, by);
        }
        Ok(())
    }

    /// The consequences of moved references: the `push` event, and new heads of pull requests.
    pub(crate) fn pushed(&mut self, repository: &str, moved: &[RefUpdate], by: u64) {
        for one in moved {
            self.emit_push(repository, one, by);
            let Some(branch) = one.reference.strip_prefix("refs/heads/") else { continue };
            let Some(found) = self.repository_mut(repository) else { continue };
            let git = found.git.clone();
            let mut synchronized = Vec::new();
            let mut orphaned = Vec::new();
            for thread in found.threads.values_mut().filter(|thread| thread.state == EmulatedIssueState::Open)
            {
                let is_here = |pull: &&mut EmulatedPull| pull.fork.is_none() && pull.head == branch;
                let Some(pull) = thread.pull.as_mut().filter(is_here) else { continue };
                if one.after == NO_SHA {
                    orphaned.push(thread.number);
                } else {
                    pull.head_sha.clone_from(&one.after);
                    // The comparison uses the current head of the base branch.
                    if let Some(base) = repos::head(&git, &pull.base) {
                        pull.base_sha = base;
                    }
                    thread.changed();
                    synchronized.push(thread.number);
                }
            }
            for number in synchronized {
                let more = json!({"before": one.before, "after": one.after});
                self.emit_thread(repository, number, "synchronize", by, more);
            }
            for number in orphaned {
                // GitHub closes a pull request when its branch is deleted.
                let _ = self.set_state(repository, number, EmulatedIssueState::Closed, by);
            }
        }
    }
}

pub(crate) fn not_mergeable() -> EmulatedApiError {
    EmulatedApiError::new(405, "Pull Request is not mergeable")
}

/// The issues of this repository that merging this text closes.
pub(crate) fn closing_references(body: &str) -> Vec<u64> {
    let words: Vec<&str> = body.split_whitespace().collect();
    let mut found = Vec::new();
    for pair in words.windows(2) {
        let [keyword, reference] = pair else { continue };
        let keyword = keyword.trim_end_matches(':').to_ascii_lowercase();
        let closes =
            ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"];
        let number =
            reference.strip_prefix('#').map(|rest| rest.trim_end_matches(|c: char| !c.is_ascii_digit()));
        if closes.contains(&keyword.as_str())
            && let Some(Ok(number)) = number.map(str::parse)
        {
            found.push(number);
        }
    }
    found
}
