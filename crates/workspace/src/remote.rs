//! The repository on GitHub: what is there, what is fetched, what is pushed.

use std::path::Path;

use git2::{Oid, Repository};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use url::Url;

use super::commit_origin::CommitOrigin;
use super::git_wire::{GitWire, PushAnswer, WireLimits};
use super::incoming::{FETCHED, IncomingObjects};
pub(super) use super::libgit2::{oid, sha};
use super::{GitError, GitErrorKind, Workspaces, address, version_tags};
use journeyman_order::{BranchName, CommitSha, OrderId, RepositoryName};

/// A repository on a server, and what opens it.
#[derive(Debug, Clone)]
pub struct Remote<'a> {
    /// Its name, which says where its mirror is.
    pub repository: &'a RepositoryName,
    /// Its address, `https://HOST/OWNER/NAME.git`, without a user or a password.
    pub url: Url,
    /// An installation token, shown to that address only and only when it is asked for.
    pub token: Option<SecretString>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushOutcome {
    /// The remote was asked afterwards, and the branch is at our commit.
    Pushed,
    /// The branch is not where the lease expected it. Nothing was changed.
    StaleLease {
        /// Where it is; none when it is gone.
        at: Option<CommitSha>,
    },
    /// The server does not take the commit.
    Declined { said: String },
}

/// Where a branch is in what a server lists.
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
    /// Brings one branch into the mirror and says where it is. Nothing is transferred when nothing is new.
    ///
    /// # Errors
    /// [`GitErrorKind::NotFound`] when the repository or the branch is not there; otherwise as the server answers.
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

    /// Where a branch is that has to be on the server.
    pub(super) fn require_remote_head(
        &self,
        remote: &Remote<'_>,
        branch: &str,
    ) -> Result<CommitSha, GitError> {
        require(self.remote_head(remote, branch)?, remote, branch)
    }

    /// Brings a branch that is at `there` into a repository of ours, under a reference of ours, and says where it is: it
    /// can have moved on.
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
        // What cannot be read is noticed by whoever needs it.
        if let Err(error) = self.tree_within(into, id)
            && error.kind == GitErrorKind::NotForUs
        {
            // It came before there was a measure; under no name it is in nobody's way.
            let forgotten = into.find_reference(kept).and_then(|mut fetched| fetched.delete());
            forgotten.map_err(|error| GitError::local("forget what was fetched", &error))?;
            return Err(error);
        }
        sha(id)
    }

    /// Brings a commit into the mirror that its branch no longer leads us to, under the branch's name.
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

    /// Fetches what a reference of the server's, or a commit, leads to. Of what is too much nothing stays, and what was there
    /// before is what orders at work rest on.
    fn bring(
        &self,
        (into, known): (&Repository, Vec<Oid>),
        remote: &Remote<'_>,
        what: &str,
        there: Oid,
        kept: &str,
    ) -> Result<Oid, GitError> {
        check_address(remote)?;
        let id = self.bring_objects((into, known), remote, what, there)?;
        let named = into.reference(kept, id, true, "");
        named.map(|_| id).map_err(|error| GitError::local("keep what was fetched", &error))
    }

    /// The same, without a name for it.
    fn bring_objects(
        &self,
        (into, known): (&Repository, Vec<Oid>),
        remote: &Remote<'_>,
        what: &str,
        there: Oid,
    ) -> Result<Oid, GitError> {
        let said = |error: git2::Error| GitError::local("look for what is here", &error);
        // A branch may have moved since, which only the server knows.
        if what == there.to_string() && into.odb().map_err(said)?.exists(there) {
            return self.tree_within(into, there).map(|_| there);
        }
        let coming = IncomingObjects::begin(into, &known)?;
        let fetched = self.wire(coming.path(), remote).run(&format!("+{what}:{FETCHED}"));
        fetched.map_err(|failure| failed(failure.kind, "fetch", remote, &failure.said))?;
        let id = coming.tip()?;
        self.tree_within(&coming.seen()?, id)?;
        coming.keep()?;
        Ok(id)
    }

    /// Where a branch is on the server; none when it does not exist.
    pub fn remote_head(&self, remote: &Remote<'_>, branch: &str) -> Result<Option<CommitSha>, GitError> {
        head_of(&self.remote_heads(remote)?, branch)
    }

    pub(super) fn remote_heads(&self, remote: &Remote<'_>) -> Result<Vec<(String, git2::Oid)>, GitError> {
        check_address(remote)?;
        let mirror = self.mirror(remote.repository)?;
        let listed = self.wire(mirror.path(), remote).list();
        listed.map_err(|failure| failed(failure.kind, "read", remote, &failure.said))
    }

    /// Puts a commit of ours on a branch, if the branch is where `lease` says (none: if it does not exist), and
    /// asks the remote afterwards. A branch that is at the commit already is fine: we were here before.
    ///
    /// The lease alone does not allow to take away what others pushed: whatever it leads to has to be ours, of this
    /// order, or in the new commit, or on the base branch. Otherwise the branch is taken.
    ///
    /// # Errors
    /// [`GitErrorKind::Broken`] when the commit was not made by us to be published, otherwise as the server answers. After an
    /// error the branch may be at the commit all the same: call it again.
    pub fn push(
        &self,
        order: OrderId,
        remote: &Remote<'_>,
        branch: &BranchName,
        commit: &CommitSha,
        lease: Option<&CommitSha>,
    ) -> Result<PushOutcome, GitError> {
        let (commits, id) = (self.commits(remote.repository)?, oid(commit)?);
        if !CommitOrigin::Bot.all(&commits, order)?.contains(&id) {
            let error = GitError::broken(format!("{commit} is not a commit of ours to publish"));
            // One that is not here may be lost.
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
        let pushed = self.send(remote, branch, commit, lease);
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

    /// Whether a branch that goes from `old` to `new` loses a commit that is not ours.
    fn would_lose(
        &self,
        order: OrderId,
        repository: &RepositoryName,
        old: &CommitSha,
        new: &CommitSha,
    ) -> Result<bool, GitError> {
        let commits = self.commits(repository)?;
        let said = |error: git2::Error| GitError::local("look at what a push would take away", &error);
        if !commits.odb().map_err(said)?.exists(oid(old)?) {
            return Ok(true);
        }
        let mut walk = commits.revwalk().map_err(said)?;
        walk.push(oid(old)?).map_err(said)?;
        walk.hide(oid(new)?).map_err(said)?;
        for base in self.known(repository)? {
            walk.hide(base).map_err(said)?;
        }
        let ours = CommitOrigin::Bot.all(&commits, order)?;
        for lost in walk {
            if !ours.contains(&lost.map_err(said)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The way to a server, from a repository of ours.
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
        branch: &BranchName,
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

/// Where the mirror keeps a branch: under a name of our own, so that no two are in each other's way (`a` and `a/b`).
pub(super) fn kept(branch: &str) -> String {
    kept_as(&hex::encode(Sha256::digest(branch)))
}

/// The reference of a name of ours.
pub(super) fn kept_as(name: &str) -> String {
    format!("refs/mirror/{name}")
}

/// An address of which nothing else could become: no helper's scheme, nothing secret in it.
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
    // Neither the network nor the server: something here cannot be read.
    if kind == GitErrorKind::Broken { error.of_ours() } else { error }
}

/// Takes the token out, should a server or a library repeat it.
fn clean(said: &str, remote: &Remote<'_>) -> String {
    match &remote.token {
        Some(token) if !token.expose_secret().is_empty() => said.replace(token.expose_secret(), "…"),
        Some(_) | None => said.to_owned(),
    }
}
