//! Moves on repositories: import, commit, what others pushed, and reading the agent's files inside its sandbox.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use globset::GlobBuilder;
use tempfile::TempDir;

use super::agent_filesystem::AgentFilesystem;
use super::{EffectContext, EffectResult, disk, never, soon};
use crate::job::{blocking, failed_job, make_folder, readable, remove, short_job, succeed, writable};
use crate::place::EnvironmentPlace;
use journeyman_order::bounds::{MOST_LISTED, MOST_PRINTED};
use journeyman_order::conversation::BranchUpdateMethod;
use journeyman_order::{BranchName, CommitSha, EffectError, EffectOutcome, Exit, RepositoryName, TreeSha};
use journeyman_sandbox::{CollectedOutput, Job, Mount, Relocation};
use journeyman_workspace::{
    BranchUpdate, BranchUpdateOutcome, FetchedBranch, GitError, ImportOutcome, ImportRules, NewCommit,
    ORIGIN_DAMAGED, StartPoint, Workspaces, default_protected,
};

const LONGEST_FILE: usize = 256 * 1024;
const EXPORT: &str = "export";

impl EffectContext {
    /// Runs git off the async runtime, and stops it when dropped.
    pub(super) async fn git<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Workspaces, &RepositoryName) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, EffectError> {
        let done = self.blocking_git(work).await?;
        self.unless_damaged(done).await
    }

    /// The result of git. Fetches our repository again if it is damaged.
    pub(super) async fn unless_damaged<T: Send>(&self, done: Result<T, GitError>) -> Result<T, EffectError> {
        match done {
            Ok(done) => Ok(done),
            Err(error) if error.is_ours => Err(Box::pin(self.fetched_again(soon(error.message))).await),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn blocking_git<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Workspaces, &RepositoryName) -> Result<T, GitError> + Send + 'static,
    ) -> Result<Result<T, GitError>, EffectError> {
        let (workspaces, _until_dropped) = self.parts.workspaces.until_dropped();
        let repository = self.opened().repository.clone();
        blocking(move || work(&workspaces, &repository)).await
    }

    /// The agent's repository and its origin. If the origin is damaged, the next try recreates both.
    pub(super) async fn ready_workspace(
        &self,
        branch: Option<&BranchName>,
        start: Option<&CommitSha>,
    ) -> Result<AgentFilesystem, EffectError> {
        let (order, base, base_branch) = (self.order, self.base()?, self.base_branch());
        let start = match (start, branch) {
            (Some(commit), Some(branch)) => Some((commit.clone(), branch.clone())),
            (Some(_), None) => return Err(never("work cannot start from a commit without a branch")),
            (None, _) => None,
        };
        let is_anew = self
            .git(move |workspaces, repository| {
                let start = start.as_ref().map(|(commit, branch)| StartPoint { commit, branch });
                workspaces.create_origin(order, repository, &base, &base_branch, start)
            })
            .await?;
        let folder = self.order_root();
        let inside = self.parts.environments.inside(&folder);
        let kept = EnvironmentPlace::kept(&folder, &inside).filter(|_| !is_anew);
        let mut mounts = self.origin_mounts(writable);
        let (place, index) = match kept {
            Some(kept) => (kept, None),
            None => {
                let (ask, environment) = self.environment().await?;
                let made = Arc::clone(&environment);
                let made = move || made.lasting_place(&ask, (&folder, &inside));
                match blocking(made).await? {
                    Ok(place) => (place, environment.index().map(|index| (index, environment))),
                    Err(error) => {
                        let trouble = disk("make the agent's work tree")(error);
                        return Err(self.after_trouble(trouble).await);
                    }
                }
            }
        };
        let seen = index.as_ref().map(|(index, _)| index.as_path());
        mounts.extend(seen.map(readable));
        mounts.push(place.tree_mount());
        let address = self.git(|workspaces, repository| Ok(workspaces.public_address(repository))).await?;
        let dirs = self.seen_dirs();
        let script = Workspaces::clone_command(&dirs, branch, seen, address.as_deref(), &place.installed);
        let mut said = CollectedOutput::default();
        let ended = self.parts.sandbox.run(place.short_job(script, mounts, Vec::new()), &mut said).await?;
        match ended.exit {
            Exit::Code(0) => self.held(place, self.origin_mounts(writable)).await,
            Exit::Code(ORIGIN_DAMAGED) => {
                self.git(move |workspaces, _| workspaces.lose_origin(order)).await?;
                Err(soon("the agent's repository cannot be read, and is made anew"))
            }
            Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut => {
                Err(failed_job("readying the agent's workspace", &ended, &said))
            }
        }
    }

    pub(super) async fn in_place(
        &self,
        place: &EnvironmentPlace,
        program: Vec<OsString>,
        mut mounts: Vec<Mount>,
        stdin: Vec<u8>,
    ) -> Result<Vec<u8>, EffectError> {
        mounts.push(place.tree_mount());
        let job = place.short_job(program, mounts, stdin);
        succeed(&self.parts.sandbox, job, "a command in the agent's workspace").await
    }

    /// Finds and reads the agent's files inside its sandbox, so that links in them lead nowhere else.
    pub(super) async fn find_files(&self, glob: &str) -> EffectResult {
        let matcher = GlobBuilder::new(glob).literal_separator(true).build();
        let matcher = matcher.map_err(|error| never(format!("glob {glob:?}: {error}")))?.compile_matcher();
        let plain = glob.split(['*', '?', '[', '{']).next().unwrap_or_default();
        let folder = plain.rsplit_once('/').map_or(".".to_owned(), |(folder, _)| format!("./{folder}"));
        let list = ["sh", "-c", r#"[ -d "$1" ] || exit 0; exec find "$1" -type f -print0"#, "find", &folder];
        // An agent without a work tree, such as a model's API, has written no files.
        let folder = self.order_root();
        let kept = EnvironmentPlace::kept(&folder, &self.parts.environments.inside(&folder));
        let Some(place) = kept else {
            return Ok(EffectOutcome::FilesFound { files: Vec::new(), content: None });
        };
        let run = |program: &[&str]| {
            let program = program.iter().map(OsString::from).collect();
            self.in_place(&place, program, Vec::new(), Vec::new())
        };
        let listed = run(&list).await?;
        let mut files: Vec<String> = listed
            .split(|byte| *byte == 0)
            .filter_map(|path| std::str::from_utf8(path).ok())
            .map(|path| path.trim_start_matches("./").to_owned())
            .filter(|path| !path.is_empty() && matcher.is_match(path))
            .collect();
        files.sort();
        files.truncate(MOST_LISTED);
        let content = match &files[..] {
            [file] => {
                let most = LONGEST_FILE.to_string();
                let content = run(&["head", "-c", &most, "--", file]).await?;
                Some(String::from_utf8_lossy(&content).into_owned())
            }
            _ => None,
        };
        Ok(EffectOutcome::FilesFound { files, content })
    }

    pub(super) async fn import(&self, branch: &BranchName, base: &CommitSha) -> EffectResult {
        if !self.parts.workspaces.order_dirs(self.order).origin.is_dir() {
            let because =
                "what was pushed is lost on the machine that Journeyman runs on, with the work tree";
            return Ok(EffectOutcome::NothingPushed { because: because.to_owned() });
        }
        let folder = self.export(branch, base).await?;
        let (order, base, branch, protected) = (self.order, base.clone(), branch.clone(), self.protected());
        let (known, allowed_secrets) =
            (self.parts.settings.secrets.clone(), self.settings().allowed_secrets.unwrap_or_default());
        let imported = self.git(move |workspaces, repository| {
            let rules = ImportRules {
                branch: &branch,
                protected: &protected,
                secrets: &known,
                allowed_secrets: &allowed_secrets,
            };
            workspaces.import(order, repository, &base, &folder.path().join(EXPORT), rules)
        });
        Ok(match imported.await? {
            ImportOutcome::Imported { pushed, tree, message, changed, warnings } => {
                EffectOutcome::Imported { pushed, tree, message, changed, warnings }
            }
            ImportOutcome::NothingPushed { because } => EffectOutcome::NothingPushed { because },
            ImportOutcome::Refused(feedback) => EffectOutcome::ImportRefused(feedback),
        })
    }

    /// Paths that no agent may change: the defaults and those that the repository names.
    pub(super) fn protected(&self) -> Vec<String> {
        let mut protected = default_protected();
        protected.extend(self.settings().protected.unwrap_or_default());
        protected
    }

    /// What the agent pushed, as data through a pipe, in the file [`EXPORT`] of a folder. It needs nothing from the
    /// place in which the agent works.
    async fn export(&self, branch: &BranchName, base: &CommitSha) -> Result<TempDir, EffectError> {
        let origin = self.parts.workspaces.order_dirs(self.order).origin;
        let host = self.order_root();
        let folder = tempfile::Builder::new().prefix("export-").tempdir_in(self.run_folder()?);
        let folder = folder.map_err(|error| soon(format!("cannot make a folder for an export: {error}")))?;
        let home = folder.path().join("home");
        let unwritten = |error: std::io::Error| soon(format!("cannot write an export: {error}"));
        let file = std::fs::File::create(folder.path().join(EXPORT)).map_err(unwritten)?;
        let mut export = ExportFile { file, stderr: Vec::new(), fault: None };
        let program = Workspaces::export_command(&self.seen_dirs(), branch, base);
        let inside = self.parts.environments.inside(&host);
        let job = Job {
            relocations: (host != inside).then_some(Relocation { host, inside }).into_iter().collect(),
            most_output: MOST_PRINTED,
            ..short_job(program, &origin, &home, self.origin_mounts(readable))
        };
        let ended = self.parts.sandbox.run(job, &mut export).await?;
        remove(&home).await?;
        if let Some(error) = export.fault {
            return Err(unwritten(error));
        }
        // The exit code says nothing: git read the agent's repository. The output is examined.
        if ended.exit != Exit::Code(0) {
            let said = String::from_utf8_lossy(&export.stderr);
            tracing::warn!(exit = %ended.exit, said = said.trim(), "reading what the agent pushed");
        }
        Ok(folder)
    }

    pub(super) async fn commit(
        &self,
        tree: TreeSha,
        parents: (CommitSha, Option<CommitSha>),
        message: String,
        date: DateTime<Utc>,
    ) -> EffectResult {
        let (order, name) = (self.order, self.key.file_name());
        let (base, base_branch) = (self.base()?, self.base_branch());
        let (commit, patch) = self
            .git(move |workspaces, repository| {
                let (parent, merges) = (&parents.0, parents.1.as_ref());
                let new =
                    NewCommit { order, name: &name, tree: &tree, parent, merges, message: &message, date };
                let commit = workspaces.commit(repository, new)?;
                let fork = workspaces.fork(repository, &base_branch, &base, &commit)?;
                let patch = workspaces.patch(repository, &fork, &commit)?;
                Ok((commit, patch))
            })
            .await?;
        Ok(EffectOutcome::Committed { commit, patch })
    }

    /// Fetches people's commits on our branch, from which the next round starts. Takes the branch as it is now, which
    /// may include unannounced commits.
    pub(super) async fn fetch_human(&self, branch: BranchName, head: CommitSha) -> EffectResult {
        let (order, base_branch, base) = (self.order, self.base_branch(), self.base()?);
        let branch = self.head_branch(&branch);
        let taken = self
            .with_remote(move |workspaces, remote| {
                workspaces.fetch_human(order, remote, branch, &base_branch, &base)
            })
            .await?;
        let FetchedBranch { commit, tree, changed, patch } = taken;
        if commit != head {
            tracing::info!(order = %self.order, heard = %head, there = %commit, "the branch has moved on");
        }
        Ok(EffectOutcome::TakenIn { commit, tree, changed, patch })
    }

    /// Fetches the commit of somebody else's pull request. A fork's that goes to a branch of ours must leave alone what
    /// steers CI there.
    pub(super) async fn fetch_change(&self, head: CommitSha) -> EffectResult {
        let (order, base_branch, base) = (self.order, self.base_branch(), self.base()?);
        let published = self.opened().continued().filter(|change| change.fork.is_some());
        let protected = published.map(|_| self.protected());
        let fetched = self.with_remote(move |workspaces, remote| {
            workspaces.fetch_change(order, remote, &head, (&base_branch, &base), protected.as_deref())
        });
        let FetchedBranch { commit: _, tree, changed, patch } = fetched.await?;
        Ok(EffectOutcome::ChangeFetched { tree, changed, patch })
    }

    /// Brings the base branch into ours.
    pub(super) async fn update_branch(
        &self,
        head: CommitSha,
        how: BranchUpdateMethod,
        date: DateTime<Utc>,
    ) -> EffectResult {
        let (order, name, base_branch) = (self.order, self.key.file_name(), self.base_branch());
        let branch = self.projection.trace.branch.clone();
        let branch = branch.filter(|_| self.opened().adopted_branch().is_none());
        let protected = self.protected();
        let updated = self
            .with_remote(move |workspaces, remote| {
                let new = BranchUpdate {
                    order,
                    name: &name,
                    head: &head,
                    branch: branch.as_ref(),
                    base_branch: &base_branch,
                    how,
                    date,
                    protected: &protected,
                };
                workspaces.update_branch(remote, new)
            })
            .await?;
        Ok(match updated {
            BranchUpdateOutcome::UpToDate => EffectOutcome::UpToDate,
            BranchUpdateOutcome::Clean { base, commit, tree, changed, patch } => {
                EffectOutcome::BranchUpdated { base, commit, tree, changed, patch }
            }
            BranchUpdateOutcome::Conflicts { base, marked, paths } => {
                EffectOutcome::Conflicted { base, marked, paths }
            }
        })
    }

    /// The folder where this effect keeps its state; outside every sandbox.
    pub(super) fn run_folder(&self) -> Result<PathBuf, EffectError> {
        let runs = self.parts.workspaces.order_dirs(self.order).runs;
        let folder = runs.join(format!("{}.{}", self.key.file_name(), self.attempt));
        make_folder(&folder)?;
        Ok(folder)
    }
}

struct ExportFile {
    file: std::fs::File,
    stderr: Vec<u8>,
    fault: Option<std::io::Error>,
}

impl journeyman_sandbox::Sink for ExportFile {
    fn stdout(&mut self, bytes: &[u8]) {
        if let Err(error) = std::io::Write::write_all(&mut self.file, bytes) {
            self.fault.get_or_insert(error);
        }
    }

    fn stderr(&mut self, bytes: &[u8]) {
        let room = 2_000_usize.saturating_sub(self.stderr.len());
        self.stderr.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}
