//! What tests can see of the emulator's state.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::state::deliveries::DeliveryAttempt;
use crate::state::{
    EmulatedComment, EmulatedIssue, EmulatedIssueState, EmulatedPull, EmulatedReaction, EmulatedRepository,
    EmulatorState,
};
use crate::{ApiCall, Emulator, repos};

/// The initial content of a repository.
#[derive(Debug, Clone)]
pub enum RepositorySource {
    /// Files by path, as the first commit on `main`.
    Files(BTreeMap<String, Vec<u8>>),
    /// A local git repository with all branches and tags; its `HEAD` names the default branch.
    Path(PathBuf),
}

/// An issue, or a pull request as an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueView {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub author: String,
    pub state: EmulatedIssueState,
    /// Its labels' names, in the order of adding.
    pub labels: Vec<String>,
    /// Its comments, oldest first.
    pub comments: Vec<CommentView>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentView {
    pub id: u64,
    pub author: String,
    /// Its current text.
    pub body: String,
    /// Who reacted and how, such as `eyes`, oldest first.
    pub reactions: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullView {
    /// Number, text, labels and comments.
    pub issue: IssueView,
    /// The branch to merge.
    pub head: String,
    /// That branch's commit.
    pub head_sha: String,
    /// The branch to merge into.
    pub base: String,
    pub draft: bool,
    /// The merge commit, once merged.
    pub merged: Option<String>,
    /// Its review threads, oldest first.
    pub threads: Vec<ReviewThreadView>,
    /// People with a pending review request.
    pub requested: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewThreadView {
    /// Its id in GraphQL.
    pub node_id: String,
    pub resolved: bool,
    /// Its comments, oldest first.
    pub comments: Vec<CommentView>,
}

fn comment_views(world: &EmulatorState, comments: &[EmulatedComment]) -> Vec<CommentView> {
    let reaction = |one: &EmulatedReaction| (world.login(one.by).to_owned(), one.content.to_owned());
    let view = |one: &EmulatedComment| CommentView {
        id: one.id,
        author: world.login(one.author).to_owned(),
        body: one.body.clone(),
        reactions: one.reactions.iter().map(reaction).collect(),
    };
    comments.iter().map(view).collect()
}

fn issue_view(world: &EmulatorState, thread: &EmulatedIssue) -> IssueView {
    IssueView {
        number: thread.number,
        title: thread.title.clone(),
        body: thread.body.clone(),
        author: world.login(thread.author).to_owned(),
        state: thread.state,
        labels: thread.labels.clone(),
        comments: comment_views(world, &thread.comments),
    }
}

fn pull_view(world: &EmulatorState, thread: &EmulatedIssue, pull: &EmulatedPull) -> PullView {
    let threads = pull.review_threads.iter().map(|of| ReviewThreadView {
        node_id: format!("PRRT_{}", of.id),
        resolved: of.resolved_by.is_some(),
        comments: comment_views(world, &of.comments),
    });
    PullView {
        issue: issue_view(world, thread),
        head: pull.head.clone(),
        head_sha: pull.head_sha.clone(),
        base: pull.base.clone(),
        draft: pull.draft,
        merged: pull.merged.as_ref().map(|merged| merged.commit.clone()),
        threads: threads.collect(),
        requested: pull.requested.iter().map(|one| world.login(*one).to_owned()).collect(),
    }
}

impl Emulator {
    fn with_repository<T>(
        &self,
        name: &str,
        look: impl FnOnce(&EmulatorState, &EmulatedRepository) -> T,
    ) -> Option<T> {
        let world = self.shared.lock();
        world.repository(name).map(|found| look(&world, found))
    }

    /// The issue or pull request with this number.
    pub fn issue(&self, repository: &str, number: u64) -> Option<IssueView> {
        self.with_repository(repository, |world, found| {
            found.threads.get(&number).map(|thread| issue_view(world, thread))
        })?
    }

    /// All pull requests, oldest first.
    pub fn pulls(&self, repository: &str) -> Vec<PullView> {
        self.with_repository(repository, |world, found| {
            let pulls =
                found.threads.values().filter_map(|thread| thread.pull.as_ref().map(|pull| (thread, pull)));
            pulls.map(|(thread, pull)| pull_view(world, thread, pull)).collect()
        })
        .unwrap_or_default()
    }

    /// The names of the repository's labels.
    pub fn repository_labels(&self, repository: &str) -> Vec<String> {
        self.with_repository(repository, |_, found| {
            found.labels.iter().map(|label| label.name.clone()).collect()
        })
        .unwrap_or_default()
    }

    /// A branch's head commit.
    pub fn branch_head(&self, repository: &str, branch: &str) -> Option<String> {
        self.with_repository(repository, |_, found| repos::head(&found.git, branch))?
    }

    /// All branches and their head commits.
    pub fn branches(&self, repository: &str) -> BTreeMap<String, String> {
        self.with_repository(repository, |_, found| repos::heads(&found.git)).unwrap_or_default()
    }

    /// A file at a branch, tag or commit.
    pub fn file(&self, repository: &str, reference: &str, path: &str) -> Option<Vec<u8>> {
        self.with_repository(repository, |_, found| match repos::find(&found.git, reference, path) {
            repos::ContentLookup::File(bytes) => Some(bytes),
            repos::ContentLookup::Folder
            | repos::ContentLookup::NoSuchRef
            | repos::ContentLookup::NoSuchPath => None,
        })?
    }

    /// Every call of the API and of git so far, in the order of completion.
    pub fn calls(&self) -> Vec<ApiCall> {
        self.shared.lock().calls.clone()
    }

    /// Every delivery attempt so far, oldest first.
    pub fn deliveries(&self) -> Vec<DeliveryAttempt> {
        self.shared.lock().deliveries.clone()
    }
}
