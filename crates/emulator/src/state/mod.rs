//! The state of the emulated GitHub, and the one lock around it.

pub(crate) mod calls;
pub(crate) mod checks;
pub(crate) mod deliveries;
pub(crate) mod rules;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use jsonwebtoken::DecodingKey;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use self::calls::{ApiCall, Fault};
use self::checks::EmulatedChecks;
use self::deliveries::DeliveryAttempt;
use self::rules::RepositoryRules;
use crate::{WebPages, lines};

/// A person's role in a repository: GitHub's five roles, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RepositoryRole {
    None,
    Read,
    /// May also set labels and close.
    Triage,
    /// May also push and merge.
    Write,
    /// May also change some settings.
    Maintain,
    Admin,
}

impl RepositoryRole {
    /// The API's older `permission`, which has only four values: maintain is `write`, triage is `read`.
    pub fn permission(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read | Self::Triage => "read",
            Self::Write | Self::Maintain => "write",
            Self::Admin => "admin",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EmulatedIssueState {
    Open,
    /// Closed; a merged pull request too.
    Closed,
}

/// The verdict of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewState {
    Approved,
    ChangesRequested,
    Commented,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmulatedAccountKind {
    Person,
    Bot,
}

#[derive(Debug, Clone)]
pub(crate) struct EmulatedAccount {
    pub id: u64,
    pub login: String,
    pub kind: EmulatedAccountKind,
}

#[derive(Debug, Clone)]
pub(crate) struct EmulatedLabel {
    pub id: u64,
    pub name: String,
    pub color: String,
}

/// A reaction to a comment; everyone can give each kind once.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedReaction {
    pub by: u64,
    pub content: &'static str,
}

/// All reactions, with their emoji.
pub(crate) const REACTIONS: [(&str, &str); 8] = [
    ("+1", "👍"),
    ("-1", "👎"),
    ("laugh", "😄"),
    ("hooray", "🎉"),
    ("confused", "😕"),
    ("heart", "❤️"),
    ("rocket", "🚀"),
    ("eyes", "👀"),
];

/// A comment on an issue or a pull request, or on a line of its diff.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedComment {
    pub id: u64,
    /// The review it belongs to; `None` for a comment that is on no line.
    pub review: Option<u64>,
    pub author: u64,
    pub body: String,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub reactions: Vec<EmulatedReaction>,
}

/// A review thread on a line of a file on the branch.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedReviewThread {
    pub id: u64,
    pub path: String,
    /// The line it was started on.
    pub line: u64,
    /// The branch's head when it was started.
    pub commit: String,
    /// The diff hunk it was started on, down to its line.
    pub hunk: String,
    pub resolved_by: Option<u64>,
    pub comments: Vec<EmulatedComment>,
}

impl EmulatedReviewThread {
    /// Its current line, if no later commit changed it and the diff still contains it; `None` if outdated.
    pub(crate) fn current_line(&self, repository: &EmulatedRepository, pull: &EmulatedPull) -> Option<u64> {
        let line = lines::follow(&repository.git, &self.commit, &pull.head_sha, &self.path, self.line)?;
        let diff = (pull.base_sha.as_str(), pull.head_sha.as_str());
        lines::hunk(&repository.git, diff, &self.path, line).map(|_| line)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct EmulatedReview {
    pub id: u64,
    pub author: u64,
    pub state: ReviewState,
    pub body: String,
    pub commit: String,
    pub at: DateTime<Utc>,
}

#[derive(Debug, Clone)]
pub(crate) struct MergeRecord {
    pub commit: String,
    pub at: DateTime<Utc>,
}

/// What a pull request has beyond an issue.
#[derive(Debug, Clone, Default)]
pub(crate) struct EmulatedPull {
    pub id: u64,
    pub head: String,
    pub base: String,
    pub head_sha: String,
    pub base_sha: String,
    pub draft: bool,
    pub merged: Option<MergeRecord>,
    pub reviews: Vec<EmulatedReview>,
    pub review_threads: Vec<EmulatedReviewThread>,
    /// People with a pending review request.
    pub requested: Vec<u64>,
    /// Heads of base and branch whose mergeability was requested. The next request gets the answer.
    pub weighed: Option<(String, String)>,
    /// The repository of the head, if it is another one. Its branches are not here.
    pub fork: Option<String>,
    /// When the fork was pushed to.
    pub pushed_at: Option<DateTime<Utc>>,
}

/// An act on an issue or a pull request of a kind that GitHub records.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedIssueEvent {
    pub id: u64,
    pub event: String,
    pub actor: u64,
    pub at: DateTime<Utc>,
    pub label: Option<String>,
}

/// An issue or a pull request: GitHub numbers, labels and comments them alike.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedIssue {
    pub id: u64,
    pub number: u64,
    pub author: u64,
    pub title: String,
    pub body: String,
    pub state: EmulatedIssueState,
    pub labels: Vec<String>,
    pub comments: Vec<EmulatedComment>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub events: Vec<EmulatedIssueEvent>,
    pub pull: Option<EmulatedPull>,
}

#[derive(Debug)]
pub(crate) struct EmulatedRepository {
    pub id: u64,
    pub owner: u64,
    pub name: String,
    pub full_name: String,
    /// Visible only to accounts with a role.
    pub is_private: bool,
    pub default_branch: String,
    pub git: PathBuf,
    pub labels: Vec<EmulatedLabel>,
    pub threads: BTreeMap<u64, EmulatedIssue>,
    pub roles: BTreeMap<u64, RepositoryRole>,
    pub checks: EmulatedChecks,
    pub rules: RepositoryRules,
    /// The merge queue, first come first.
    pub merge_queue: Vec<EmulatedMergeGroup>,
    /// Serializes pushes, so that comparing before and after shows what each one changed.
    pub receiving: Arc<tokio::sync::Mutex<()>>,
}

/// A merge group in the merge queue: a pull request merged into its base, or into the group before it.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedMergeGroup {
    pub pull: u64,
    /// The branch to merge into.
    pub base: String,
    pub base_sha: String,
    /// The group's own branch, and its commit.
    pub branch: String,
    pub head: String,
    pub by: u64,
}

/// The level of an App's permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PermissionLevel {
    Read,
    Write,
}

pub(crate) type AppPermissions = BTreeMap<String, PermissionLevel>;

#[derive(Debug, Clone)]
pub(crate) enum TokenHolder {
    /// An installation's token: these permissions on these repositories; `None` for all of them.
    Installation { id: u64, repositories: Option<BTreeSet<u64>>, permissions: AppPermissions },
    /// A person's own token, for git.
    Person(u64),
}

#[derive(Debug, Clone)]
pub(crate) struct EmulatedToken {
    pub holder: TokenHolder,
    pub expires_at: DateTime<Utc>,
}

/// A submitted manifest. GitHub keeps it for an hour or until its code is converted.
#[derive(Debug, Clone)]
pub(crate) struct PendingManifest {
    pub manifest: serde_json::Value,
    /// The suggested name; the page lets people choose another.
    pub name: String,
}

/// A confirmed sign-in, until the App presents its code.
#[derive(Debug, Clone)]
pub(crate) struct PendingSignIn {
    pub account: u64,
    /// The `redirect_uri` that the code was sent to.
    pub back: String,
    pub challenge: String,
    pub until: DateTime<Utc>,
}

/// What a signed address opens without credentials.
#[derive(Debug, Clone)]
pub(crate) enum SignedContent {
    Bytes(Vec<u8>),
    /// A redirect to another host, which GitHub never does.
    Elsewhere(String),
}

/// An uploaded file.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedAttachment {
    pub id: u64,
    pub repository: String,
    /// The path of the link in texts.
    pub path: String,
    pub uuid: String,
    pub content: SignedContent,
}

/// How far the App's setup has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppStage {
    /// There is no App.
    None,
    /// It exists, but is not installed.
    Made,
    Installed,
}

pub(crate) struct EmulatedApp {
    pub id: u64,
    pub stage: AppStage,
    pub slug: String,
    pub bot: u64,
    pub installation: u64,
    /// Owners with an installation of their own instead of the shared one.
    pub apart: BTreeMap<u64, u64>,
    /// Whether it is suspended: then it can do nothing and gets no events.
    pub suspended: bool,
    pub hook: u64,
    pub permissions: AppPermissions,
    pub key: DecodingKey,
    pub webhook_secret: SecretString,
    pub client_secret: SecretString,
    /// Redirect addresses allowed for sign-in.
    pub callbacks: Vec<String>,
}

pub(crate) struct EmulatorState {
    pub origin: String,
    pub pages: WebPages,
    pub app: EmulatedApp,
    pub accounts: BTreeMap<u64, EmulatedAccount>,
    /// By full name in lower case: GitHub's names ignore case.
    pub repositories: BTreeMap<String, EmulatedRepository>,
    /// Former names of repositories in lower case, with the repositories' ids.
    pub moved: BTreeMap<String, u64>,
    /// By conversion code.
    pub manifests: BTreeMap<String, PendingManifest>,
    /// By code.
    pub sign_ins: BTreeMap<String, PendingSignIn>,
    pub attachments: Vec<EmulatedAttachment>,
    /// Contents that can be read without credentials, with expiry, by token.
    pub signed: HashMap<String, (SignedContent, DateTime<Utc>)>,
    pub tokens: HashMap<String, EmulatedToken>,
    pub deliveries: Vec<DeliveryAttempt>,
    pub calls: Vec<ApiCall>,
    pub faults: Vec<Fault>,
    pub webhook_url: Option<String>,
    /// Whether answers contain `performed_via_github_app`.
    pub names_apps: bool,
    pub last_id: u64,
}

impl EmulatorState {
    pub(crate) fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(crate) fn repository(&self, full_name: &str) -> Option<&EmulatedRepository> {
        self.repositories.get(&full_name.to_ascii_lowercase())
    }

    pub(crate) fn repository_mut(&mut self, full_name: &str) -> Option<&mut EmulatedRepository> {
        self.repositories.get_mut(&full_name.to_ascii_lowercase())
    }

    /// The installation for this account's repositories.
    pub(crate) fn installation_of(&self, owner: u64) -> u64 {
        self.app.apart.get(&owner).copied().unwrap_or(self.app.installation)
    }

    /// One owner of these repositories per installation.
    pub(crate) fn owners<'a>(&self, of: impl Iterator<Item = &'a EmulatedRepository>) -> Vec<u64> {
        let mut owners: Vec<u64> = Vec::new();
        for one in of {
            let there = self.installation_of(one.owner);
            if owners.iter().all(|owner| self.installation_of(*owner) != there) {
                owners.push(one.owner);
            }
        }
        owners
    }

    pub(crate) fn account_by_login(&self, login: &str) -> Option<&EmulatedAccount> {
        self.accounts.values().find(|account| account.login.eq_ignore_ascii_case(login))
    }

    /// The account with this login, created if missing.
    pub(crate) fn ensure_account(&mut self, login: &str) -> u64 {
        if let Some(account) = self.account_by_login(login) {
            return account.id;
        }
        let id = self.new_id();
        self.accounts
            .insert(id, EmulatedAccount { id, login: login.to_owned(), kind: EmulatedAccountKind::Person });
        id
    }

    pub(crate) fn login(&self, id: u64) -> &str {
        self.accounts.get(&id).map_or("ghost", |account| account.login.as_str())
    }
}

impl EmulatedRepository {
    /// An account's role; without one, it may read what is public.
    pub(crate) fn role(&self, account: u64) -> RepositoryRole {
        match self.roles.get(&account) {
            Some(role) => *role,
            None if account == self.owner => RepositoryRole::Admin,
            None if self.is_private => RepositoryRole::None,
            None => RepositoryRole::Read,
        }
    }

    /// The pull request and thread of this comment.
    pub(crate) fn review_comment(
        &self,
        id: u64,
    ) -> Option<(&EmulatedIssue, &EmulatedReviewThread, &EmulatedComment)> {
        self.threads.values().find_map(|thread| {
            thread.review_threads().find_map(|one| {
                let comment = one.comments.iter().find(|comment| comment.id == id)?;
                Some((thread, one, comment))
            })
        })
    }

    /// The pull request and thread with this id.
    pub(crate) fn review_thread(&self, id: u64) -> Option<(&EmulatedIssue, &EmulatedReviewThread)> {
        self.threads.values().find_map(|thread| {
            let found = thread.review_threads().find(|one| one.id == id)?;
            Some((thread, found))
        })
    }

    pub(crate) fn thread_of_pull(&self, id: u64) -> Option<&EmulatedIssue> {
        self.threads.values().find(|thread| thread.pull.as_ref().is_some_and(|pull| pull.id == id))
    }
}

impl EmulatedIssue {
    fn review_threads(&self) -> impl Iterator<Item = &EmulatedReviewThread> {
        self.pull.iter().flat_map(|pull| &pull.review_threads)
    }
}

/// The state behind its lock, with notification of changes.
pub(crate) struct SharedEmulatorState {
    state: Mutex<EmulatorState>,
    changed: watch::Sender<u64>,
    /// Contains the repositories and git's settings; deleted on drop.
    pub directory: tempfile::TempDir,
}

impl SharedEmulatorState {
    pub(crate) fn new(world: EmulatorState, place: tempfile::TempDir) -> Self {
        Self { state: Mutex::new(world), changed: watch::Sender::new(0), directory: place }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, EmulatorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes everyone who waits for changes.
    pub(crate) fn change<T>(&self, act: impl FnOnce(&mut EmulatorState) -> T) -> T {
        let done = act(&mut self.lock());
        self.changed.send_modify(|version| *version += 1);
        done
    }

    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(crate) fn version(&self) -> u64 {
        *self.changed.borrow()
    }
}
