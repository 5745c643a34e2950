//! The repository on GitHub: listing, fetching and pushing.

use std::path::Path;

use git2::{Oid, Repository};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use url::Url;

use super::commit_origin::CommitOrigin;
use super::git_wire::{GitWire, PushAnswer, WireLimits};
use super::incoming::{FETCHED, IncomingObjects};
pub(super) use super::libgit2::{oid, sha};
use super::{GitError, GitErrorKind, Workspaces, address, version_tags, walk};
use journeyman_order::{CommitSha, HeadBranch, OrderId, RepositoryName};

/// A repository on a server, and its credential.
#[derive(Debug, Clone)]
pub struct Remote<'a> {
    /// Its name, which determines the mirror's folder.
    pub repository: &'a RepositoryName,
    /// Its address, `https://HOST/OWNER/NAME.git`, without user or password.
    pub url: Url,
    /// An installation token, sent only to that address and only on request.
    pub token: Option<SecretString>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushOutcome {
    /// A check after the push confirmed our commit on the branch.
    Pushed,
    /// The branch is not where the lease expects it. Nothing changed.
    StaleLease {
        /// Where it is; `None` if it is gone.
        at: Option<CommitSha>,
    },
    /// The server rejects the commit.
    Declined { said: String },
}

/// A branch's commit in a server's listing.
fn head_of(heads: &[(String, git2::Oid)], branch: &str) -> Result<Option<CommitSha>, GitError> {
    let reference = format!("refs/heads/{branch}");
    if !git2::Reference::is_valid_name(&reference) {
        return Err(GitError::broken(format!("{branch:?} is not a branch's name")));
    }
    heads.iter().find(|(name, _)| *name == reference).map(|(_, id)| sha(*id)).transpose()
}

fn require(head: Option<CommitSha>, remote: &Remote<'_>, branch: &str) -> Result<CommitSha, GitError> {
    head.ok_or_else(|| {
        let message =
            format!("the branch {branch:?} is not in {}: has anything been pushed?", remote.repository);
        GitError::new(GitErrorKind::NotFound, message)
    })
}

impl Workspaces {
    /// Fetches a branch into the mirror and returns its commit. If nothing is new, nothing is transferred.
    ///
    /// # Errors
    /// [`GitErrorKind::NotFound`] if the repository or the branch is missing; otherwise as the server answers.
    pub fn fetch(&self, remote: &Remote<'_>, branch: &str) -> Result<CommitSha, GitError> {
        let mirror = self.mirror(remote.repository)?;
        let heads = self.remote_heads(remote)?;
        address::keep(mirror.path(), remote.url.as_str())?;
        version_tags::keep(mirror.path(), heads.iter().map(|(name, id)| (name.as_str(), *id)))?;
        let there = require(head_of(&heads, branch)?, remote, branch)?;
        let base = self.fetch_into(&mirror, remote, branch, &there, &kept(branch))?;
        self.fetch_submodules(remote, &base)?;
        self.fetch_large_files(remote, &base)?;
        Ok(base)
    }

    /// A branch's commit on the server; an error if the branch is missing.
    pub(super) fn require_remote_head(
        &self,
        remote: &Remote<'_>,
        branch: &str,
    ) -> Result<CommitSha, GitError> {
        require(self.remote_head(remote, branch)?, remote, branch)
    }

    /// Fetches a branch, last seen at `there`, into one of our repositories under our own reference. Returns its
    /// commit, which may be newer.
    pub(super) fn fetch_into(
        &self,
        into: &Repository,
        remote: &Remote<'_>,
        branch: &str,
        there: &CommitSha,
        kept: &str,
    ) -> Result<CommitSha, GitError> {
        let known = self.known(remote.repository)?;
        let _held = self.lock(remote.repository);
        let there = oid(there)?;
        let id = match into.refname_to_id(kept) {
            Ok(here) if here == there => here,
            Ok(_) | Err(_) => {
                self.bring((into, known), remote, &format!("refs/heads/{branch}"), there, kept)?
            }
        };
        sha(id)
    }

    /// Fetches a commit, wherever the server has it, into one of our repositories under our own reference.
    pub(super) fn fetch_commit_into(
        &self,
        into: &Repository,
        remote: &Remote<'_>,
        commit: &CommitSha,
        kept: &str,
    ) -> Result<(), GitError> {
        let known = self.known(remote.repository)?;
        let _held = self.lock(remote.repository);
        let id = oid(commit)?;
        if into.refname_to_id(kept).ok() != Some(id) {
            self.bring((into, known), remote, commit.as_str(), id, kept)?;
        }
        self.tree_within(into, id).map(drop)
    }

    /// Fetches a commit that its branch no longer leads to, into the mirror under the branch's name.
    pub(super) fn fetch_commit(
        &self,
        remote: &Remote<'_>,
        branch: &str,
        commit: &CommitSha,
    ) -> Result<(), GitError> {
        let (mirror, known) = (self.mirror(remote.repository)?, self.known(remote.repository)?);
        let _held = self.lock(remote.repository);
        self.bring((&mirror, known), remote, commit.as_str(), oid(commit)?, &kept(branch)).map(drop)
    }

    /// Fetches a server's reference or a commit. A fetch over the limits leaves nothing behind, and running orders keep
    /// the earlier objects.
    fn bring(
        &self,
        (into, known): (&Repository, Vec<Oid>),
        remote: &Remote<'_>,
        what: &str,
        there: Oid,
        kept: &str,
    ) -> Result<Oid, GitError> {
        check_address(remote)?;
        // A branch may have moved since, and only the server knows.
        let id = if what == there.to_string() && into.odb()?.exists(there) {
            self.tree_within(into, there)?;
            there
        } else {
            let coming = IncomingObjects::begin(into, &known)?;
            let fetched = self.wire(coming.path(), remote).run(&format!("+{what}:{FETCHED}"));
            fetched.map_err(|failure| failed(failure.kind, "fetch", remote, &failure.said))?;
            let id = coming.tip()?;
            self.tree_within(&coming.seen()?, id)?;
            coming.keep()?;
            id
        };
        into.reference(kept, id, true, "")?;
        Ok(id)
    }

    /// A branch's commit on the server; `None` if the branch does not exist.
    pub fn remote_head(&self, remote: &Remote<'_>, branch: &str) -> Result<Option<CommitSha>, GitError> {
        head_of(&self.remote_heads(remote)?, branch)
    }

    pub(super) fn remote_heads(&self, remote: &Remote<'_>) -> Result<Vec<(String, git2::Oid)>, GitError> {
        check_address(remote)?;
        let mirror = self.mirror(remote.repository)?;
        let listed = self.wire(mirror.path(), remote).list();
        listed.map_err(|failure| failed(failure.kind, "read", remote, &failure.said))
    }

    /// Pushes one of our commits if the branch matches `lease` (`None`: it does not exist), then checks the remote. A
    /// branch already at the commit is fine: we pushed it before.
    ///
    /// The lease alone does not allow dropping other people's commits: those behind it must be ours from this order, in
    /// the new commit, or on the base branch. Otherwise the branch counts as taken.
    ///
    /// # Errors
    /// [`GitErrorKind::Broken`] if the commit was not made by us for publishing, otherwise as the server answers. After
    /// an error the branch may be at the commit nevertheless: call it again.
    pub fn push(
        &self,
        order: OrderId,
        remote: &Remote<'_>,
        branch: impl Into<HeadBranch>,
        commit: &CommitSha,
        lease: Option<&CommitSha>,
    ) -> Result<PushOutcome, GitError> {
        let branch = branch.into();
        let (commits, id) = (self.commits(remote.repository)?, oid(commit)?);
        if !CommitOrigin::Bot.all(&commits, order)?.contains(&id) {
            let error = GitError::broken(format!("{commit} is not a commit of ours to publish"));
            // A missing commit may be lost.
            return Err(if commits.find_commit(id).is_ok() { error } else { error.of_ours() });
        }
        let before = self.remote_head(remote, branch.as_str())?;
        if before.as_ref() == Some(commit) {
            return Ok(PushOutcome::Pushed);
        }
        if before.as_ref() != lease {
            return Ok(PushOutcome::StaleLease { at: before });
        }
        if let Some(old) = lease
            && self.would_lose(order, remote.repository, old, commit)?
        {
            return Ok(PushOutcome::StaleLease { at: before });
        }
        let pushed = self.send(remote, &branch, commit, lease);
        let after = self.remote_head(remote, branch.as_str())?;
        if after.as_ref() == Some(commit) {
            return Ok(PushOutcome::Pushed);
        }
        if after.as_ref() != lease {
            return Ok(PushOutcome::StaleLease { at: after });
        }
        let message = match pushed? {
            PushAnswer::Declined(said) => return Ok(PushOutcome::Declined { said: clean(&said, remote) }),
            PushAnswer::Stale => format!("the branch {branch} has moved"),
            PushAnswer::Taken => {
                format!("{} took the push to {branch} but the branch is not there", remote.repository)
            }
        };
        Err(GitError::new(GitErrorKind::Refused, message))
    }

    /// Whether moving a branch from `old` to `new` loses a commit that is not ours.
    fn would_lose(
        &self,
        order: OrderId,
        repository: &RepositoryName,
        old: &CommitSha,
        new: &CommitSha,
    ) -> Result<bool, GitError> {
        let commits = self.commits(repository)?;
        if !commits.odb()?.exists(oid(old)?) {
            return Ok(true);
        }
        let ours = CommitOrigin::Bot.all(&commits, order)?;
        for lost in walk(&commits, oid(old)?, self.known(repository)?.into_iter().chain([oid(new)?]))? {
            if !ours.contains(&lost?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The connection to a server from one of our repositories.
    pub(super) fn wire<'a>(&'a self, ours: &'a Path, remote: &'a Remote<'_>) -> GitWire<'a> {
        GitWire {
            ours,
            url: &remote.url,
            token: remote.token.as_ref(),
            outgoing: &self.outgoing,
            limits: WireLimits::USUAL,
            is_given_up: &self.is_given_up,
        }
    }

    fn send(
        &self,
        remote: &Remote<'_>,
        branch: &HeadBranch,
        commit: &CommitSha,
        lease: Option<&CommitSha>,
    ) -> Result<PushAnswer, GitError> {
        check_address(remote)?;
        let commits = self.commits(remote.repository)?;
        let wire = self.wire(commits.path(), remote);
        let sent = wire.push(oid(commit)?, &branch.reference(), lease.map(oid).transpose()?);
        sent.map_err(|failure| failed(failure.kind, "push to", remote, &failure.said))
    }
}

/// The mirror's reference for a branch, hashed so that `a` and `a/b` do not collide.
pub(super) fn kept(branch: &str) -> String {
    format!("refs/mirror/{}", hex::encode(Sha256::digest(branch)))
}

/// Checks for a plain HTTP address without credentials, so that no helper's scheme can run.
fn check_address(remote: &Remote<'_>) -> Result<(), GitError> {
    let url = &remote.url;
    if !matches!(url.scheme(), "https" | "http") || !url.username().is_empty() || url.password().is_some() {
        let message = format!(
            "the address of {} has to be http(s) without a user: see github.api_url",
            remote.repository
        );
        return Err(GitError::broken(message));
    }
    Ok(())
}

pub(super) fn failed(kind: GitErrorKind, what: &str, remote: &Remote<'_>, said: &str) -> GitError {
    let said = clean(said, remote);
    let advice = match kind {
        GitErrorKind::Unavailable => "it will be tried again",
        GitErrorKind::Unauthorized => "the installation token is not accepted",
        GitErrorKind::Forbidden => {
            "the App needs the permission `contents` on this repository, to read or to write"
        }
        GitErrorKind::NotFound => "is the App installed on this repository?",
        GitErrorKind::Refused | GitErrorKind::NotForUs | GitErrorKind::Broken => "see what was said",
    };
    let error = GitError::new(kind, format!("could not {what} {}: {said} ({advice})", remote.repository));
    // Not a network or server error: something here is unreadable.
    if kind == GitErrorKind::Broken { error.of_ours() } else { error }
}

/// Removes the token from a message, in case a server or library repeats it.
fn clean(said: &str, remote: &Remote<'_>) -> String {
    match &remote.token {
        Some(token) if !token.expose_secret().is_empty() => said.replace(token.expose_secret(), "…"),
        Some(_) | None => said.to_owned(),
    }
}
