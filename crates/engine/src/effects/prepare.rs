//! Fetches the base branch and reads what the repository defines in it: settings, a pipeline, roles. Also fetches
//! commits that are missing or lost on this machine.

use super::{EffectContext, EffectResult, never, soon};
use crate::SETTINGS_FILE;
use journeyman_config::{RepositoryTemplatesError, ServerTemplates, load_repository_templates};
use journeyman_github::GitAccess;
use journeyman_order::bounds::LONGEST_DOCUMENT;
use journeyman_order::moves::{AgentTask, AgentTaskWorkspace, PreparedRepository, Retry};
use journeyman_order::pull_template::{may_hold_template, template_path};
use journeyman_order::{
    CommitSha, EffectError, EffectOutcome, Move, MoveKey, RepositoryName, RepositorySettings, byte_order_mark,
};
use journeyman_workspace::{GitError, JournaledCommits, Remote, Workspaces};

impl EffectContext {
    pub(super) async fn prepare(&self) -> EffectResult {
        let branch = self.opened().default_branch.clone();
        let wished = Some(self.base_branch()).filter(|wished| *wished != branch);
        let is_given = self.opened().change.is_some();
        let fetched = self.with_remote(move |workspaces, remote| {
            let default = workspaces.fetch(remote, &branch)?;
            // The default branch alone defines the repository's settings.
            let base = match &wished {
                Some(wished) => workspaces.fetch(remote, wished)?,
                None => default.clone(),
            };
            let file = workspaces.file(remote.repository, &default, SETTINGS_FILE)?;
            let subjects = workspaces.subjects(remote.repository, &base)?;
            let paths = workspaces.paths_within(remote.repository, &default, may_hold_template)?;
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let template = match template_path(&paths) {
                Some(path) => workspaces.file(remote.repository, &default, path)?,
                None => None,
            };
            Ok((base, default, file, subjects, template.and_then(text_of_template)))
        });
        let (base, default, file, subjects, template) = fetched.await?;
        let settings = match file {
            Some(yaml) => (self.parts.settings.read_repository_settings)(&yaml).map_err(never)?,
            None => RepositorySettings::default(),
        };
        // What is said about somebody else's pull request is a discussion, and no task.
        let (comments, attachments) = match is_given {
            true => Default::default(),
            false => self.task_extras(settings.task.comments).await?,
        };
        let parts = self.parts.clone();
        let opened = self.opened().clone();
        let request = &self.projection.trace.request;
        if let Some(agent) = request.agent() {
            self.parts.agents.get(agent).map_err(|error| never(format!("agent={agent}: {error}")))?;
        }
        let asked = request.pipeline().map(str::to_owned);
        let named_in = if asked.is_some() { "pipeline=" } else { SETTINGS_FILE };
        let (at, wanted) =
            (default.clone(), asked.or_else(|| settings.pipeline.clone().filter(|_| !is_given)));
        let own = self
            .git(move |workspaces, repository| {
                let known = ServerTemplates {
                    default: &opened.pipeline,
                    pipelines: &parts.settings.pipelines,
                    roles: &opened.roles,
                    named_in,
                };
                let read = |path: &str| workspaces.file(repository, &at, path);
                match load_repository_templates(wanted.as_deref(), known, read) {
                    Ok(own) => Ok(Ok(own)),
                    Err(RepositoryTemplatesError::Unusable(because)) => Ok(Err(because)),
                    Err(RepositoryTemplatesError::Read(error)) => Err(error),
                }
            })
            .await?
            .map_err(never)?;
        Ok(EffectOutcome::Prepared(Box::new(PreparedRepository {
            default: (default != base).then_some(default),
            base,
            settings,
            pipeline: own.pipeline,
            roles: own.roles,
            commands: own.commands,
            subjects,
            comments,
            attachments,
            template,
        })))
    }

    /// Fetches a task's start commits if they are missing, as on another machine.
    pub(super) async fn bring_commits(&self, task: &AgentTask) -> Result<(), EffectError> {
        let begins = match &task.place {
            AgentTaskWorkspace::Workspace => task.start.clone(),
            AgentTaskWorkspace::Checkout { commit } => Some(commit.clone()),
        };
        let (order, base_branch, known) = (self.order, self.base_branch(), self.journaled_commits());
        let branch = task.branch.as_ref().or(self.projection.trace.branch.as_ref());
        let branch = branch.map(|own| self.head_branch(own));
        let given = self.opened().continued().map(|change| change.head.clone());
        let given = given.filter(|head| begins.as_ref() == Some(head));
        let (base, start, told) = (self.base()?, begins.clone(), known.clone());
        let base_there = base.clone();
        let needed = std::iter::once(base.clone()).chain(begins).collect();
        let (has_base, has_start) = self
            .git(move |workspaces, repository| {
                let has = |commit: &CommitSha| workspaces.tree_of(repository, commit).is_ok();
                workspaces.adopt(order, repository, &told)?;
                let start = start.filter(|commit| told.all().contains(commit));
                Ok((has(&base_there), start.as_ref().is_none_or(has)))
            })
            .await?;
        if !(has_base && has_start) {
            let fetched = self.with_remote(move |workspaces, remote| {
                if !has_base {
                    workspaces.fetch(remote, &base_branch)?;
                }
                match (branch.filter(|_| !has_start), given) {
                    (Some(_), Some(head)) => {
                        workspaces.fetch_change(order, remote, &head, (&base_branch, &base), None).map(drop)
                    }
                    (Some(branch), None) => workspaces.fetch_behind(order, remote, branch, &known),
                    (None, _) => Ok(()),
                }
            });
            fetched.await?;
        }
        self.bring_large_files(needed).await
    }

    /// Fetches missing Git LFS content. Without it a checkout would hold pointers.
    pub(super) async fn bring_large_files(&self, commits: Vec<CommitSha>) -> Result<(), EffectError> {
        let lacks = self.git(move |workspaces, repository| {
            // A missing commit is reported where it is needed.
            let lacks = |commit: &CommitSha| !workspaces.has_large_files(repository, commit).unwrap_or(true);
            Ok(commits.into_iter().filter(lacks).collect::<Vec<_>>())
        });
        let lacking = lacks.await?;
        if lacking.is_empty() {
            return Ok(());
        }
        self.with_remote(move |workspaces, remote| {
            lacking.iter().try_for_each(|commit| workspaces.fetch_large_files(remote, commit))
        })
        .await
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "no other outcome is a commit that the order rests on"
    )]
    pub(super) fn journaled_commits(&self) -> JournaledCommits {
        let mut known = JournaledCommits::default();
        for outcome in self.outcomes() {
            match outcome {
                EffectOutcome::Committed { commit, .. } | EffectOutcome::BranchUpdated { commit, .. } => {
                    known.made.push(commit.clone());
                }
                EffectOutcome::TakenIn { commit, .. } => known.taken.push(commit.clone()),
                EffectOutcome::ChangeFetched { .. } => {
                    known.taken.extend(self.opened().continued().map(|change| change.head.clone()));
                }
                _ => {}
            }
        }
        known
    }

    /// Works with the repository on GitHub, with a read-only token that lives only that long.
    pub(super) async fn with_remote<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Workspaces, &Remote<'_>) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, EffectError> {
        let done = self.blocking_with_remote(GitAccess::Read, work).await?;
        self.unless_damaged(done).await
    }

    pub(super) async fn blocking_with_remote<T: Send + 'static>(
        &self,
        access: GitAccess,
        work: impl FnOnce(&Workspaces, &Remote<'_>) -> Result<T, GitError> + Send + 'static,
    ) -> Result<Result<T, GitError>, EffectError> {
        let at = self.at().await?;
        let token = self.parts.github.git_token(&at, access).await?;
        let (url, secret) = (self.parts.github.git_url(&at.repository), token.secret.clone());
        // The mirror keeps the name that the order knows.
        let work = move |workspaces: &Workspaces, repository: &RepositoryName| {
            work(workspaces, &Remote { repository, url, token: Some(secret) })
        };
        let done = self.blocking_git(work).await;
        token.revoke().await;
        done
    }

    /// Handles trouble with a test run, whose cause may be an unreadable commit.
    pub(super) async fn after_trouble(&self, trouble: EffectError) -> EffectError {
        if trouble.retry == Retry::Never { self.fetched_again(trouble).await } else { trouble }
    }

    /// Deletes our damaged repository and fetches it again. A commit that is gone everywhere needs a person.
    pub(super) async fn fetched_again(&self, error: EffectError) -> EffectError {
        let (order, known) = (self.order, self.journaled_commits());
        let branch = self.projection.trace.branch.as_ref().map(|own| self.head_branch(own));
        let heads = [
            self.base().ok().map(|base| (self.base_branch(), base)),
            self.default_commit().ok().map(|default| (self.opened().default_branch.clone(), default)),
        ];
        let needed: Vec<String> =
            heads.iter().flatten().map(|(_, head)| head.to_string()).chain(self.about()).collect();
        let fetched = self.blocking_with_remote(GitAccess::Read, move |workspaces, remote| {
            let is_lost = |wanted: &&String| workspaces.read_through(remote.repository, wanted).is_err();
            let lost = || needed.iter().find(is_lost).cloned();
            if !workspaces.discard_damaged(remote.repository, &needed)? && lost().is_none() {
                return Ok((true, None));
            }
            for (branch, head) in heads.iter().flatten() {
                workspaces.fetch_again(remote, branch, head)?;
            }
            let gone = workspaces.adopt(order, remote.repository, &known)?;
            if let Some(branch) = branch.filter(|_| !gone.is_empty()) {
                // What we pushed is still on GitHub.
                workspaces.fetch_behind(order, remote, branch, &known)?;
            }
            Ok((false, lost()))
        });
        match fetched.await.and_then(|fetched| fetched.map_err(EffectError::from)) {
            Ok((true, _)) => error,
            Ok((false, None)) => soon(format!("{}; what was lost here was fetched again", error.message)),
            Ok((false, Some(lost))) => never(format!(
                "the commit {lost} is gone from the machine that Journeyman runs on, and is not on the order's branch on \
                 GitHub: take the label away and set it again ({})",
                error.message
            )),
            Err(trouble) => {
                let message = format!("{}; {}", error.message, trouble.message);
                EffectError { message, ..trouble }
            }
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "no other move is about a commit of ours")]
    fn about(&self) -> Vec<String> {
        let Some(intended) = self.journal.intended(&self.key).next_back() else { return Vec::new() };
        match intended {
            Move::RunTests { commit } | Move::Push { commit, .. } => vec![commit.to_string()],
            Move::Commit { tree, parent, .. } => vec![tree.to_string(), parent.to_string()],
            Move::Import { base, .. } => vec![base.to_string()],
            Move::UpdateBranch { head, .. } => vec![head.to_string()],
            Move::RunAgent(task) => match &task.place {
                AgentTaskWorkspace::Checkout { commit } => vec![commit.to_string()],
                AgentTaskWorkspace::Workspace => task.start.iter().map(ToString::to_string).collect(),
            },
            _ => Vec::new(),
        }
    }

    /// The result of a round's effect. If this machine lost what the agent pushed, the round has no result and the next
    /// one begins.
    pub(super) async fn unless_lost(&self, of: &str, tried: EffectResult) -> EffectResult {
        let Err(EffectError { message, retry: Retry::Never }) = &tried else { return tried };
        let round = self.key.0.strip_suffix(of);
        let import = round.map(|round| MoveKey(format!("{round}import")));
        if import.is_none_or(|import| self.journal.observed(&import).next().is_none()) {
            return tried;
        }
        let about = self.about();
        let read = self.blocking_git(move |workspaces, repository| {
            about.iter().try_for_each(|wanted| workspaces.read_through(repository, wanted))
        });
        if !matches!(read.await, Ok(Err(error)) if error.is_ours) {
            return tried;
        }
        tracing::error!(order = %self.order, "what was pushed is lost: {message}");
        let because = "what was pushed before is gone from the machine that Journeyman runs on".to_owned();
        Ok(EffectOutcome::NothingPushed { because })
    }
}

fn text_of_template(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?.replace("\r\n", "\n").replace('\0', "\u{fffd}");
    let text = byte_order_mark::strip(&text);
    Some(text.chars().take(LONGEST_DOCUMENT).collect::<String>()).filter(|text| !text.trim().is_empty())
}
