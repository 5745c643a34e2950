//! Moves of the conversation on GitHub: reads what people say and answers them.

use super::{EffectContext, EffectResult};
use journeyman_github::{ErrorKind, GitHubError, InstalledRepository, MentionMatcher, ThreadAnswer};
use journeyman_order::conversation::{
    AnswerNote, ChecksSnapshot, CommentRef, CommentTarget, Mergeability, NoticeComment, PullSnapshot,
    PullSnapshotState, Reaction, ThreadReply,
};
use journeyman_order::{CommitSha, EffectOutcome, IssueNumber, JournalEvent, Person, PullNumber, SignalKind};
use journeyman_render as render;
use journeyman_webhook as webhook;

impl EffectContext {
    /// Everything that may be asked for on a pull request, and the state of others' checks on `head`.
    pub(super) async fn read_pull(&self, pull: PullNumber, head: &CommitSha) -> EffectResult {
        let at = self.at().await?;
        if let Some(unmoved) = self.unmoved_by_base(&at, pull, head).await? {
            return Ok(EffectOutcome::PullRead(Box::new(unmoved)));
        }
        let us = self.parts.github.identity().await?;
        let named = |text: &str| webhook::names(text, &us.slug);
        let us = MentionMatcher { slug: &us.slug, mentions: &named };
        let talk = self.parts.github.pull_conversation(&at, pull, &us).await?;
        let checks = self.read_checks(&at, head).await?;
        Ok(EffectOutcome::PullRead(Box::new(PullSnapshot { checks, ..talk })))
    }

    /// Answers every thread, even if one of them fails.
    pub(super) async fn answer_threads(&self, pull: PullNumber, replies: &[ThreadReply]) -> EffectResult {
        let at = self.at().await?;
        let mut refused = None;
        for reply in replies {
            let body = render::reply(&self.journal, reply);
            let answer = ThreadAnswer { order: self.order, reply, body: &body };
            match self.parts.github.answer_thread(&at, pull, &answer).await {
                Ok(()) => {}
                Err(error) if passes_by_itself(&error) => return Err(error.into()),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        refused.map_or(Ok(EffectOutcome::Done), |error| Err(error.into()))
    }

    pub(super) async fn request_review(&self, pull: PullNumber, reviewers: &[Person]) -> EffectResult {
        let at = self.at().await?;
        let logins: Vec<&str> = reviewers.iter().map(|person| person.login.as_str()).collect();
        self.parts.github.request_review(&at, pull, &logins).await?;
        Ok(EffectOutcome::Done)
    }

    pub(super) async fn react(&self, comment: CommentRef, reaction: Reaction) -> EffectResult {
        let at = self.at().await?;
        self.parts.github.react(&at, comment, reaction).await?;
        Ok(EffectOutcome::Done)
    }

    pub(super) async fn say(&self, on: CommentTarget, saying: &NoticeComment) -> EffectResult {
        let at = self.at().await?;
        let body = render::notice(&self.journal, &self.projection, saying);
        let thread = match on {
            CommentTarget::Issue(issue) => issue,
            CommentTarget::Pull(pull) => IssueNumber(pull.0),
        };
        let marker = match *saying == NoticeComment::NoRight {
            // Once on an issue, whichever order says it.
            true => "say:no-right".to_owned(),
            false => format!("say:{}:{}", self.order, self.key.file_name().replace('-', ".")),
        };
        self.parts.github.comment(&at, thread, &marker, &body).await?;
        Ok(EffectOutcome::Done)
    }

    pub(super) async fn show_answer(&self, note: &AnswerNote) -> EffectResult {
        let at = self.at().await?;
        let body = render::answer(&self.journal, note);
        let marker = format!("answer:{}:{}", self.order, note.answer);
        self.parts.github.set_pull_comment(&at, note.pull, &marker, &body).await?;
        Ok(EffectOutcome::Done)
    }

    /// The last reading, if only the base branch is known to have changed since and the pull request merges. Every open
    /// pull request hears of a push to its base, and most need nothing.
    async fn unmoved_by_base(
        &self,
        at: &InstalledRepository,
        pull: PullNumber,
        head: &CommitSha,
    ) -> Result<Option<PullSnapshot>, GitHubError> {
        let Some(known) = self.known_before_base_moved(head) else { return Ok(None) };
        let (now, state, mergeable) = self.parts.github.pull_standing(at, pull).await?;
        let is_as_it_was =
            now == *head && state == PullSnapshotState::Open && mergeable == Mergeability::Cleanly;
        Ok(is_as_it_was.then_some(PullSnapshot { head: now, state, mergeable, ..known }))
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all but what is named says something else")]
    fn known_before_base_moved(&self, head: &CommitSha) -> Option<PullSnapshot> {
        let mut known: Option<PullSnapshot> = None;
        let mut has_moved = false;
        for entry in self.journal.entries() {
            match &entry.event {
                JournalEvent::Observed { outcome, .. } => match &**outcome {
                    EffectOutcome::PullRead(reading) => {
                        (known, has_moved) = (Some((**reading).clone()), false)
                    }
                    // Nothing has been said about this commit yet.
                    EffectOutcome::Pushed => (known, has_moved) = (Some(unread(head)), false),
                    _ => {}
                },
                JournalEvent::Signaled { signal, .. } => match signal.kind {
                    SignalKind::BaseMoved { .. } => has_moved = true,
                    _ => known = None,
                },
                JournalEvent::Opened(_) | JournalEvent::Intended { .. } => {}
            }
        }
        // What was answered looks different by now.
        known.filter(|known| has_moved && known.threads.is_empty() && known.checks.failing.is_empty())
    }
}

fn passes_by_itself(error: &GitHubError) -> bool {
    matches!(error.kind, ErrorKind::Unavailable { .. } | ErrorKind::Conflict | ErrorKind::Unexpected)
}

fn unread(head: &CommitSha) -> PullSnapshot {
    PullSnapshot {
        head: head.clone(),
        state: PullSnapshotState::Open,
        mergeable: Mergeability::Cleanly,
        threads: Vec::new(),
        remarks: Vec::new(),
        checks: ChecksSnapshot::default(),
    }
}
