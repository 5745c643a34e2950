//! What an environment is wanted for: a commit's files, how they are set up, and whose it is.

use std::path::PathBuf;

use journeyman_environment::{EnvironmentPlan, SetupNetwork};
use journeyman_order::{CommitSha, RepositoryName, TestingSettings};
use journeyman_workspace::SourceTree;

#[derive(Debug, Clone)]
pub(crate) struct EnvironmentRequest {
    pub(crate) repository: RepositoryName,
    pub(crate) plan: EnvironmentPlan,
    pub(crate) commit: CommitSha,
    pub(crate) source: SourceTree,
    pub(crate) laid: Vec<PathBuf>,
    pub(crate) network: SetupNetwork,
    pub(crate) owner: EnvironmentOwner,
    pub(crate) inside: PathBuf,
    pub(crate) version_tag: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EnvironmentOwner {
    /// The repository's: its setup ran on a commit of the default branch.
    Repository,
    Folder(PathBuf),
}

impl EnvironmentRequest {
    /// The environment of a commit without a change laid over it.
    pub(crate) fn of_base(
        settings: &TestingSettings,
        (repository, commit): (RepositoryName, CommitSha),
        source: SourceTree,
        plan: EnvironmentPlan,
        owner: EnvironmentOwner,
        inside: PathBuf,
    ) -> Self {
        let command = plan.setup_command().unwrap_or_default();
        let root = names_in_root(&source);
        let network =
            journeyman_environment::setup_network(&settings.setup_network, &root, &command, &[], true);
        let version_tag = version_tag(&plan, &source);
        Self { repository, plan, commit, source, laid: Vec::new(), network, owner, inside, version_tag }
    }
}

pub(crate) fn version_tag(plan: &EnvironmentPlan, source: &SourceTree) -> Option<String> {
    plan.version_from_git.then(|| source.version_tag()).flatten()
}

fn names_in_root(source: &SourceTree) -> Vec<String> {
    let mut names: Vec<String> = source
        .paths()
        .filter_map(|path| path.components().next())
        .filter_map(|name| name.as_os_str().to_str().map(str::to_owned))
        .collect();
    names.dedup();
    names
}
