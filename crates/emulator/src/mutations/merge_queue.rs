//! The merge queue. Its first group is merged, or leaves the queue, once the required check on it has a conclusion.

use serde_json::{Value, json};

use super::pulls::not_mergeable;
use crate::events::{NO_SHA, RefUpdate};
use crate::json::with;
use crate::reply::{ActResult, EmulatedApiError};
use crate::repos;
use crate::state::checks::CheckConclusion;
use crate::state::{EmulatedMergeGroup, EmulatorState};

/// The App's check run that a merge needs.
const REQUIRED_CHECK: &str = "journeyman";

impl EmulatorState {
    /// Adds an open pull request at the end, and returns its group's head.
    pub(crate) fn enqueue(&mut self, repository: &str, number: u64, by: u64) -> ActResult<String> {
        let login = self.login(by).to_owned();
        let (pull, message) = self.require_mergeable(repository, number, by)?;
        let found = self.require_repository(repository)?;
        let git = found.git.clone();
        let before = found.merge_queue.iter().rfind(|group| group.base == pull.base);
        let base_sha = before.map(|group| group.head.clone()).or_else(|| repos::head(&git, &pull.base));
        let base_sha = base_sha.ok_or_else(EmulatedApiError::not_found)?;
        let branch = format!("gh-readonly-queue/{}/pr-{number}-{base_sha}", pull.base);
        if repos::merges(&git, &base_sha, &pull.head_sha) != Some(true) {
            return Err(not_mergeable());
        }
        repos::point(&git, &branch, &base_sha).map_err(EmulatedApiError::broken)?;
        let head = repos::merge(&git, &branch, &pull.head_sha, &login, &message)
            .map_err(EmulatedApiError::broken)?
            .ok_or_else(not_mergeable)?;
        let group =
            EmulatedMergeGroup { pull: number, base: pull.base, base_sha, branch, head: head.clone(), by };
        self.emit_merge_group(repository, &group, "checks_requested", json!({}));
        self.require_repository_mut(repository)?.merge_queue.push(group);
        Ok(head)
    }

    /// Takes a pull request out. The groups behind it are made anew.
    pub(crate) fn dequeue(&mut self, repository: &str, number: u64) -> ActResult<()> {
        let queue = &mut self.require_repository_mut(repository)?.merge_queue;
        let place = queue.iter().position(|group| group.pull == number);
        let taken_out = queue.split_off(place.ok_or_else(EmulatedApiError::not_found)?);
        for group in &taken_out {
            let reason = if group.pull == number { "dequeued" } else { "invalidated" };
            self.destroy(repository, group, reason)?;
        }
        for group in taken_out.iter().filter(|group| group.pull != number) {
            self.enqueue(repository, group.pull, group.by)?;
        }
        Ok(())
    }

    /// Merges the first groups that have passed the check, and takes out one that has not.
    pub(crate) fn advance_merge_queue(&mut self, repository: &str) -> ActResult<()> {
        while let Some((group, conclusion)) = self.first_checked_group(repository) {
            if !conclusion.is_fine() {
                self.dequeue(repository, group.pull)?;
                continue;
            }
            let found = self.require_repository_mut(repository)?;
            found.merge_queue.remove(0);
            let git = found.git.clone();
            let before = repos::head(&git, &group.base).unwrap_or_else(|| NO_SHA.to_owned());
            repos::point(&git, &group.base, &group.head).map_err(EmulatedApiError::broken)?;
            self.destroy(repository, &group, "merged")?;
            let reference = format!("refs/heads/{}", group.base);
            let moved = RefUpdate { reference, before, after: group.head };
            self.merged(repository, group.pull, group.by, &moved)?;
        }
        Ok(())
    }

    fn first_checked_group(&self, repository: &str) -> Option<(EmulatedMergeGroup, CheckConclusion)> {
        let found = self.repository(repository)?;
        let group = found.merge_queue.first()?;
        let mut runs = found.checks.runs.iter().filter(|run| run.by_app && run.name == REQUIRED_CHECK);
        let run = runs.rfind(|run| run.head_sha == group.head)?;
        Some((group.clone(), run.conclusion?))
    }

    fn destroy(&mut self, repository: &str, group: &EmulatedMergeGroup, reason: &str) -> ActResult<()> {
        let git = self.require_repository(repository)?.git.clone();
        repos::delete(&git, &group.branch).map_err(EmulatedApiError::broken)?;
        self.emit_merge_group(repository, group, "destroyed", json!({"reason": reason}));
        Ok(())
    }

    fn emit_merge_group(&mut self, repository: &str, group: &EmulatedMergeGroup, action: &str, more: Value) {
        if !self.receives_event("merge_queues") {
            return;
        }
        let about = json!({"merge_group": {
            "head_sha": group.head, "head_ref": format!("refs/heads/{}", group.branch),
            "base_sha": group.base_sha, "base_ref": format!("refs/heads/{}", group.base),
        }});
        self.emit(repository, "merge_group", Some(action), group.by, with(about, more));
    }
}
