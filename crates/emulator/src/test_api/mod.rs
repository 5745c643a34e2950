//! What tests do to the emulator from outside: people's acts, faults, and waiting for changes.

pub(crate) mod checks;
pub(crate) mod reviews;
mod setting;
pub(crate) mod views;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use secrecy::SecretString;

use crate::events::{NO_SHA, RefUpdate};
use crate::mutations::IssueEdit;
use crate::mutations::pulls::NewPull;
use crate::state::deliveries::{DeliveryAttempt, DeliveryResult};
use crate::state::{EmulatedIssueState, EmulatorState};
use crate::{Emulator, Fault, clock, repos};

/// A change between two commits, to be opened as a pull request.
#[derive(Debug, Clone)]
pub struct ProposedChange {
    pub base_branch: String,
    pub base: String,
    pub head_branch: String,
    pub head: String,
    pub title: String,
    pub body: String,
}

impl Emulator {
    /// Acts as this login, whose account is created if missing.
    pub(super) fn act<T, E: Into<anyhow::Error>>(
        &self,
        by: &str,
        act: impl FnOnce(&mut EmulatorState, u64) -> Result<T, E>,
    ) -> anyhow::Result<T> {
        let done = self.shared.change(|world| {
            let by = world.ensure_account(by);
            act(world, by)
        });
        done.map_err(Into::into)
    }

    /// `http://127.0.0.1:PORT`, the address of pages and git.
    pub fn origin(&self) -> String {
        self.shared.lock().origin.clone()
    }

    /// `http://127.0.0.1:PORT/api/v3`, as on GitHub Enterprise Server; GraphQL is at `…/api/graphql`.
    pub fn api_url(&self) -> String {
        self.shared.lock().api()
    }

    /// The installation that all owners share, except those with [`Self::install_apart`].
    pub fn installation_id(&self) -> u64 {
        self.shared.lock().app.installation
    }

    /// Sets the address for all further deliveries.
    pub fn set_webhook_url(&self, url: &str) {
        self.shared.change(|world| world.webhook_url = Some(url.to_owned()));
    }

    /// Allows sign-in with this callback address; returns the App's client ID and secret.
    pub fn let_sign_in(&self, callback: &str) -> (String, SecretString) {
        self.shared.change(|world| {
            world.app.callbacks.push(callback.to_owned());
            (world.client_id(), world.app.client_secret.clone())
        })
    }

    /// Stops naming the App that wrote something, as some servers and proxies do.
    pub fn hide_apps(&self) {
        self.shared.change(|world| world.names_apps = false);
    }

    /// A person opens an issue; returns its number.
    pub async fn open_issue(
        &self,
        repository: &str,
        by: &str,
        title: &str,
        body: &str,
    ) -> anyhow::Result<u64> {
        self.act(by, |world, by| world.open_issue(repository, by, title, body))
    }

    /// A person opens a pull request from a branch of the repository; returns its number.
    ///
    /// # Errors
    /// If there is no such branch, or it has no commit of its own.
    pub fn open_pull(
        &self,
        repository: &str,
        by: &str,
        (head, base): (&str, &str),
        (title, body): (&str, &str),
    ) -> anyhow::Result<u64> {
        let new = NewPull {
            title: title.to_owned(),
            body: body.to_owned(),
            head: head.to_owned(),
            base: base.to_owned(),
            draft: false,
        };
        self.act(by, |world, by| world.open_pull(repository, by, new))
    }

    /// A person opens a pull request with these files from their fork; returns its number.
    ///
    /// # Errors
    /// If there is no such repository, or the files make no tree.
    pub fn open_pull_from_fork(
        &self,
        repository: &str,
        by: &str,
        title: &str,
        files: &BTreeMap<String, Option<Vec<u8>>>,
    ) -> anyhow::Result<u64> {
        self.act(by, |world, by| world.push_to_fork(repository, by, (title, None), files))
    }

    /// A person pushes a commit with these files to the fork of a pull request.
    ///
    /// # Errors
    /// If there is no such pull request, or the files make no tree.
    pub fn push_to_fork(
        &self,
        repository: &str,
        by: &str,
        pull: u64,
        files: &BTreeMap<String, Option<Vec<u8>>>,
    ) -> anyhow::Result<()> {
        self.act(by, |world, by| world.push_to_fork(repository, by, ("More", Some(pull)), files).map(drop))
    }

    /// A person opens a pull request between two commits that the repository has. The base's branch becomes the
    /// default one.
    ///
    /// # Errors
    /// If there is no such repository or commit, or the head has no commit that the base lacks.
    pub fn propose(&self, repository: &str, by: &str, change: ProposedChange) -> anyhow::Result<u64> {
        self.act(by, |world, by| {
            let found = world.require_repository_mut(repository)?;
            for (branch, commit) in [(&change.base_branch, &change.base), (&change.head_branch, &change.head)]
            {
                repos::point(&found.git, branch, commit)?;
            }
            found.default_branch.clone_from(&change.base_branch);
            let ProposedChange { title, body, head_branch: head, base_branch: base, .. } = change;
            let new = NewPull { title, body, head, base, draft: false };
            anyhow::Ok(world.open_pull(repository, by, new)?)
        })
    }

    /// A person edits the text of an issue or pull request.
    pub async fn edit(
        &self,
        repository: &str,
        number: u64,
        by: &str,
        title: Option<&str>,
        body: Option<&str>,
    ) -> anyhow::Result<()> {
        let edit = IssueEdit { title: title.map(str::to_owned), body: body.map(str::to_owned) };
        self.act(by, |world, by| world.edit(repository, number, edit, by))
    }

    /// A person adds a label.
    pub async fn label(&self, repository: &str, number: u64, label: &str, by: &str) -> anyhow::Result<()> {
        self.act(by, |world, by| world.add_labels(repository, number, &[label.to_owned()], by))
    }

    /// A person removes a label.
    pub async fn unlabel(&self, repository: &str, number: u64, label: &str, by: &str) -> anyhow::Result<()> {
        self.act(by, |world, by| world.remove_label(repository, number, label, by))
    }

    /// A person comments; returns the comment's id.
    pub async fn comment(&self, repository: &str, number: u64, by: &str, text: &str) -> anyhow::Result<u64> {
        self.act(by, |world, by| world.comment(repository, number, by, text))
    }

    /// A person edits a comment.
    pub async fn edit_comment(
        &self,
        repository: &str,
        comment: u64,
        by: &str,
        text: &str,
    ) -> anyhow::Result<()> {
        self.act(by, |world, by| world.edit_comment(repository, comment, text, by).map(|_| ()))
    }

    /// A person closes an issue, or a pull request without merging it.
    pub async fn close(&self, repository: &str, number: u64, by: &str) -> anyhow::Result<()> {
        self.set_state(repository, number, by, EmulatedIssueState::Closed)
    }

    /// A person reopens an issue or a pull request.
    pub async fn reopen(&self, repository: &str, number: u64, by: &str) -> anyhow::Result<()> {
        self.set_state(repository, number, by, EmulatedIssueState::Open)
    }

    fn set_state(
        &self,
        repository: &str,
        number: u64,
        by: &str,
        state: EmulatedIssueState,
    ) -> anyhow::Result<()> {
        self.act(by, |world, by| world.set_state(repository, number, state, by))
    }

    /// A person merges a pull request; returns the merge commit.
    pub async fn merge(&self, repository: &str, pull: u64, by: &str) -> anyhow::Result<String> {
        self.act(by, |world, by| world.merge(repository, pull, by))
    }

    /// A person adds a pull request to the merge queue; returns the commit of its merge group. An error if it is closed,
    /// a draft or in conflict.
    pub fn enqueue(&self, repository: &str, pull: u64, by: &str) -> anyhow::Result<String> {
        self.act(by, |world, by| world.enqueue(repository, pull, by))
    }

    /// A person takes a pull request out of the merge queue. An error if it is not there.
    pub fn dequeue(&self, repository: &str, pull: u64, by: &str) -> anyhow::Result<()> {
        self.act(by, |world, _| world.dequeue(repository, pull))
    }

    /// A person pushes a commit that sets these files or, with `None`, deletes them; returns the commit. A new branch
    /// starts at the default branch.
    pub async fn push_commit(
        &self,
        repository: &str,
        branch: &str,
        by: &str,
        message: &str,
        files: BTreeMap<String, Option<Vec<u8>>>,
    ) -> anyhow::Result<String> {
        self.shared.change(|world| {
            let account = world.ensure_account(by);
            let found = world.require_repository(repository)?;
            let git = found.git.clone();
            let start = repos::head(&git, &found.default_branch);
            let before = repos::head(&git, branch).unwrap_or_else(|| NO_SHA.to_owned());
            let to = repos::CommitTarget { branch, start: start.as_deref() };
            let after = repos::commit(&git, &to, by, message, &files)?;
            let moved = RefUpdate { reference: format!("refs/heads/{branch}"), before, after: after.clone() };
            world.pushed(repository, &[moved], account);
            Ok(after)
        })
    }

    /// Injects a fault into future calls.
    pub fn inject(&self, fault: Fault) {
        self.shared.change(|world| world.faults.push(fault));
    }

    /// Removes the faults that have not occurred yet.
    pub fn clear_faults(&self) {
        self.shared.change(|world| world.faults.clear());
    }

    /// Sends a delivery again, with the same GUID.
    pub async fn redeliver(&self, guid: &str) -> anyhow::Result<()> {
        self.shared.change(|world| {
            let newest = world.deliveries.iter().rev().find(|one| one.guid == guid).cloned();
            let newest = newest.with_context(|| format!("no delivery has the GUID {guid}"))?;
            let (id, at, outcome) = (world.new_id(), clock::now(), DeliveryResult::Queued);
            world.deliveries.push(DeliveryAttempt { id, at, redelivery: true, outcome, ..newest });
            Ok(())
        })
    }

    /// Waits until `look` returns something. It is called at once and after every change of the emulator's state.
    pub async fn wait_for<T>(
        &self,
        what: &str,
        most: Duration,
        mut look: impl FnMut(&Self) -> Option<T>,
    ) -> anyhow::Result<T> {
        let mut news = self.shared.watch();
        let waiting = async {
            loop {
                news.mark_unchanged();
                if let Some(seen) = look(self) {
                    return Ok(seen);
                }
                news.changed().await.context("the emulator has stopped")?;
            }
        };
        tokio::time::timeout(most, waiting)
            .await
            .with_context(|| format!("waited {most:?} in vain: {what}"))?
    }

    /// The path of the bare repository.
    pub fn git_dir(&self, repository: &str) -> anyhow::Result<PathBuf> {
        Ok(self.shared.lock().require_repository(repository)?.git.clone())
    }
}
