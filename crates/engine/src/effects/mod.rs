//! How each move is executed. One function tries one move once and returns what it observed; the order decides what
//! follows.

mod agent_context;
mod agent_filesystem;
mod archive;
mod attachments;
mod checks;
mod conversation;
mod cut_off;
mod github;
mod job_log;
mod pay;
mod preflight;
mod prepare;
mod publish;
mod read_task;
mod readiness;
mod run_agent;
mod run_tests;
mod sessions;
#[cfg(test)]
mod tests;
mod workspace;
mod write_artifact;

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;

use super::EngineParts;
use super::effect_error::{disk, never, soon};
use super::live_journal::JournalSnapshot;
use super::whereabouts;
pub use readiness::missing_for_agent;
pub(crate) use run_agent::STREAM;

use journeyman_github::{GitHubError, InstalledRepository};
use journeyman_order::moves::Retry;
use journeyman_order::next::OrderProjection;
use journeyman_order::{
    BranchName, CommitSha, EffectError, EffectOutcome, HeadBranch, Journal, JournalEvent, Move, MoveKey,
    OrderId, OrderInput, RepositorySettings,
};

pub(super) struct Effect {
    pub(super) key: MoveKey,
    /// Which try this is, from 1: the number of this move's outcomes in the journal, plus one.
    pub(super) attempt: usize,
    pub(super) r#move: Move,
}

pub(super) struct EffectContext {
    parts: Arc<EngineParts>,
    order: OrderId,
    key: MoveKey,
    attempt: usize,
    /// The journal when the effect began, with its own intent. Later entries concern other moves.
    journal: Arc<Journal>,
    projection: Arc<OrderProjection>,
    /// The journal now: a status waits behind all other writes, and must show the latest state.
    turns: watch::Receiver<JournalSnapshot>,
}

#[async_trait]
pub(super) trait EffectPerformer: Send + Sync {
    async fn perform(
        &self,
        parts: Arc<EngineParts>,
        order: OrderId,
        effect: Effect,
        turns: watch::Receiver<JournalSnapshot>,
    ) -> EffectOutcome;
}

pub(super) struct RealEffects;

#[async_trait]
impl EffectPerformer for RealEffects {
    async fn perform(
        &self,
        parts: Arc<EngineParts>,
        order: OrderId,
        effect: Effect,
        turns: watch::Receiver<JournalSnapshot>,
    ) -> EffectOutcome {
        let context = EffectContext::of(parts, order, (effect.key, effect.attempt), turns);
        let is_on_github = is_on_github(&effect.r#move);
        let tried_at = if is_on_github { context.known_place().await } else { None };
        let tried = match effect.r#move {
            Move::Authorize { person } => context.authorize(&person).await,
            Move::Prepare => context.prepare().await,
            Move::RunAgent(task) => Box::pin(context.run_agent(task)).await,
            Move::FindFiles { glob } => context.find_files(&glob).await,
            Move::Import { branch, base } => context.import(&branch, &base).await,
            Move::Commit { tree, parent, merges, message, date } => {
                let made = context.commit(tree, (parent, merges), message, date).await;
                context.unless_lost("commit", made).await
            }
            Move::RunTests { commit } => {
                let tested = context.run_tests(&commit).await;
                context.unless_lost("tests", tested).await
            }
            Move::Push { branch, commit, lease } => context.push(branch, commit, lease).await,
            Move::OpenPull { branch, title, summary } => context.open_pull(&branch, &title, &summary).await,
            Move::FinishPull { pull, title, summary, ready } => {
                context.finish_pull(pull, &title, &summary, ready).await
            }
            Move::WriteArtifact { answer, branch, artifact } => {
                context.write_artifact(&answer, &branch, &artifact).await
            }
            Move::Archive { stage, parts } => context.archive(&stage, &parts).await,
            Move::ShowReview(note) => context.show_review(&note).await,
            Move::ShowStatus { .. } => context.show_status().await,
            Move::RerunJobs { head: _, jobs } => context.rerun_jobs(&jobs).await,
            Move::ShowCheck { head, state } => context.show_check(&head, state).await,
            Move::ReadIssue => context.read_issue().await,
            Move::Preflight => context.preflight().await,
            Move::PrepareEnvironment => Box::pin(context.prepare_environment()).await,
            Move::ReadPull { pull, head } => context.read_pull(pull, &head).await,
            Move::FetchChange { head } => context.fetch_change(head).await,
            Move::TakeIn { branch, head } => context.fetch_human(branch, head).await,
            Move::UpdateBranch { head, how, date } => context.update_branch(head, how, date).await,
            Move::AnswerThreads { pull, replies } => context.answer_threads(pull, &replies).await,
            Move::RequestReview { pull, reviewers } => context.request_review(pull, &reviewers).await,
            Move::ShowAnswer(note) => context.show_answer(&note).await,
            Move::React { comment, reaction } => context.react(comment, reaction).await,
            Move::Say { on, saying } => context.say(on, &saying).await,
            Move::Tidy { branch } => context.tidy(branch).await,
        };
        match tried {
            Ok(outcome) => outcome,
            Err(error) if error.retry == Retry::Never && is_on_github => {
                EffectOutcome::Trouble(context.unless_elsewhere(error, tried_at).await)
            }
            Err(error) => EffectOutcome::Trouble(error),
        }
    }
}

type EffectResult = Result<EffectOutcome, EffectError>;

fn is_on_github(r#move: &Move) -> bool {
    !matches!(
        r#move,
        Move::RunAgent(_)
            | Move::RunTests { .. }
            | Move::PrepareEnvironment
            | Move::FindFiles { .. }
            | Move::Import { .. }
            | Move::Commit { .. }
            | Move::WriteArtifact { .. }
            | Move::Archive { .. }
    )
}

impl EffectContext {
    pub(super) fn of(
        parts: Arc<EngineParts>,
        order: OrderId,
        (key, attempt): (MoveKey, usize),
        turns: watch::Receiver<JournalSnapshot>,
    ) -> Self {
        let JournalSnapshot { journal, projection } = turns.borrow().clone();
        Self { parts, order, key, attempt, journal, projection, turns }
    }

    /// The outcomes so far, earliest first.
    fn outcomes(&self) -> impl DoubleEndedIterator<Item = &EffectOutcome> {
        self.journal.entries().iter().filter_map(|entry| match &entry.event {
            JournalEvent::Observed { outcome, .. } => Some(&**outcome),
            JournalEvent::Opened(_) | JournalEvent::Signaled { .. } | JournalEvent::Intended { .. } => None,
        })
    }

    fn opened(&self) -> &OrderInput {
        self.journal.opened()
    }

    fn base_branch(&self) -> String {
        let opened = self.opened();
        let given = opened.change.as_ref().map(|change| change.base.as_str());
        let chosen = given.or_else(|| self.projection.trace.request.base());
        chosen.unwrap_or(&opened.default_branch).to_owned()
    }

    /// What the server calls the order's branch.
    fn head_branch(&self, own: &BranchName) -> HeadBranch {
        self.opened().adopted_branch().cloned().unwrap_or_else(|| own.into())
    }

    fn is_on_the_default_branch(&self) -> bool {
        self.base_branch() == self.opened().default_branch
    }

    async fn at(&self) -> Result<InstalledRepository, GitHubError> {
        if let Some(at) = self.known_place().await {
            return Ok(at);
        }
        let repository = self.opened().repository.clone();
        let installation = self.parts.github.installation(&repository).await?;
        Ok(InstalledRepository { repository, installation })
    }

    /// As it was last seen, or as the order was opened with. `None` if GitHub has to be asked.
    async fn known_place(&self) -> Option<InstalledRepository> {
        let opened = self.opened();
        if let Some(at) = whereabouts::last_seen(&self.parts.store, opened.repository_id).await {
            return Some(at);
        }
        let installation = opened.installation?;
        Some(InstalledRepository { repository: opened.repository.clone(), installation })
    }

    fn base(&self) -> Result<CommitSha, EffectError> {
        let prepared = self.journal.prepared().map(|prepared| prepared.base.clone());
        prepared.ok_or_else(|| never("the base commit is not known yet"))
    }

    /// The default branch's commit that defines how work is done: settings, commands, instructions.
    fn default_commit(&self) -> Result<CommitSha, EffectError> {
        let chosen = self.journal.prepared().and_then(|prepared| prepared.default.clone());
        chosen.map_or_else(|| self.base(), Ok)
    }

    fn settings(&self) -> RepositorySettings {
        self.journal.prepared().map(|prepared| prepared.settings.clone()).unwrap_or_default()
    }

    /// Makes the effect retry if the repository has moved, or if no installation includes it at the moment.
    async fn unless_elsewhere(
        &self,
        error: EffectError,
        tried_at: Option<InstalledRepository>,
    ) -> EffectError {
        let id = self.opened().repository_id;
        let because = match whereabouts::find(&self.parts.github, id).await {
            Ok(Some(now)) if tried_at.as_ref() != Some(&now) => {
                return match whereabouts::learn(&self.parts.store, id, &now.repository, now.installation)
                    .await
                {
                    Ok(()) => EffectError { retry: Retry::Soon, ..error },
                    Err(unkept) => unkept.into(),
                };
            }
            Ok(Some(_)) => return error,
            Ok(None) => error.message,
            Err(unasked) => unasked.message,
        };
        EffectError {
            message: format!(
                "no installation of the App includes the repository, or lets Journeyman in: install it there, or lift its \
                 suspension ({because})"
            ),
            retry: Retry::Outage,
        }
    }
}
