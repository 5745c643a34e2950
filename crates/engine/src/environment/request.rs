//! What an environment is for: a commit's files, their setup and their owner. Its name is the digest of everything that
//! decides its content.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use super::Environments;
use journeyman_environment::{EnvironmentPlan, SetupNetwork};
use journeyman_order::{CommitSha, RepositoryName, TestingSettings};
use journeyman_workspace::SourceTree;

const FORM: &str = "form 2";

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
    /// Shared by the repository: its setup ran on a commit of the default branch.
    Repository,
    Folder(PathBuf),
}

impl EnvironmentRequest {
    /// The environment of a commit without overlays.
    pub(crate) fn of_base(
        settings: &TestingSettings,
        (repository, commit): (RepositoryName, CommitSha),
        source: SourceTree,
        plan: EnvironmentPlan,
        owner: EnvironmentOwner,
        inside: PathBuf,
    ) -> Self {
        let command = plan.setup_command().unwrap_or_default();
        let first = source.paths().filter_map(|path| path.components().next());
        let mut root: Vec<String> =
            first.filter_map(|name| name.as_os_str().to_str().map(str::to_owned)).collect();
        root.dedup();
        let network =
            journeyman_environment::setup_network(&settings.setup_network, &root, &command, &[], true);
        let version_tag = plan.version_from_git.then(|| source.version_tag()).flatten();
        Self { repository, plan, commit, source, laid: Vec::new(), network, owner, inside, version_tag }
    }
}

impl Environments {
    /// Includes the digest of the sources if they decide too.
    pub(super) fn key(&self, ask: &EnvironmentRequest, sources: Option<[u8; 32]>) -> String {
        let mut digest = Sha256::new();
        let mut add = |part: &[u8]| {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        };
        add(FORM.as_bytes());
        add(self.inner.sandbox.mode().to_string().as_bytes());
        add(format!("{:?}", self.inner.method).as_bytes());
        add(ask.inside.as_os_str().as_bytes());
        add(ask.plan.image.as_deref().unwrap_or("host").as_bytes());
        let setup = ask.plan.setup_command().unwrap_or_default();
        add(setup.as_bytes());
        for (name, value) in &ask.plan.variables {
            add(name.as_bytes());
            add(value.as_bytes());
        }
        add(&ask.source.digest(Some(&ask.plan.decisive_files)));
        for service in &ask.plan.services {
            add(service.name.as_bytes());
            add(service.image.as_bytes());
            for (name, value) in &service.env {
                add(name.as_bytes());
                add(value.as_bytes());
            }
        }
        // A checkout has the files of those submodules that could be fetched by then.
        for (path, commit) in ask.source.submodules() {
            add(path.as_os_str().as_bytes());
            add(commit);
        }
        // The same holds for Git LFS content.
        for (path, content) in ask.source.large_files() {
            add(path.as_os_str().as_bytes());
            add(content.as_bytes());
        }
        if let Some(version) = &ask.version_tag {
            add(version.as_bytes());
        }
        // The digest of an image covers its programs.
        if ask.plan.image.is_none() {
            for program in self.programs_of(&setup) {
                add(program.as_bytes());
            }
        }
        add(&sources.unwrap_or_default());
        let name = hex::encode(digest.finalize());
        name.get(..32).unwrap_or(&name).to_owned()
    }

    fn programs_of(&self, setup: &str) -> Vec<String> {
        let separators = |c: char| c.is_whitespace() || ";&|()<>=\"'`$".contains(c);
        let mut words: Vec<&str> = setup.split(separators).filter(|word| !word.contains('/')).collect();
        words.sort_unstable();
        words.dedup();
        let identity = |word: &&str| {
            let path = self.inner.sandbox.locate(word)?.canonicalize().ok()?;
            let found = std::fs::metadata(&path).ok()?;
            Some(format!("{} {} {}.{}", path.display(), found.len(), found.mtime(), found.mtime_nsec()))
        };
        words.iter().filter_map(identity).collect()
    }
}
