//! Moves of the conversation on GitHub: what people say there is read, and they are answered.

use super::{EffectContext, EffectResult};
use journeyman_github::{ErrorKind, GitHubError, MentionMatcher, ThreadAnswer};
use journeyman_order::conversation::{
    AnswerNote, CommentRef, CommentTarget, NoticeComment, PullSnapshot, Reaction, ThreadReply,
};
use journeyman_order::{CommitSha, EffectOutcome, IssueNumber, Person, PullNumber};
use journeyman_render as render;
use journeyman_webhook as webhook;

impl EffectContext {
    /// Everything that may be asked for on a pull request, and how the checks of others stand on `head`.
    pub(super) async fn read_pull(&self, pull: PullNumber, head: &CommitSha) -> EffectResult {
        let at = self.at().await?;
        if let Some(unmoved) = self.unmoved_by_base(&at, pull, head).await? {
            return Ok(EffectOutcome::PullRead(Box::new(unmoved)));
        }
        let us = self.parts.github.identity().await?;
        let named = |text: &str| webhook::names(text, &us.slug);
        let us = MentionMatcher { slug: &us.slug, mentions: &named };
        let talk = self.parts.github.pull_conversation(&at, pull, &us).await?;
        Ok(EffectOutcome::PullRead(Box::new(PullSnapshot {
            head: talk.head,
            state: talk.state,
            mergeable: talk.mergeable,
            threads: talk.threads,
            remarks: talk.remarks,
            checks: self.read_checks(&at, head).await?,
        })))
    }

    /// Every thread is answered, also when one of them cannot be.
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
            // Once on an issue, whichever order is told.
            true => "say:no-right".to_owned(),
            false => format!("say:{}:{}", self.order, self.key.file_name().replace('-', ".")),
        };
        self.parts.github.comment(&at, thread, &marker, &body).await?;
        Ok(EffectOutcome::Done)
    }

    pub(super) async fn show_answer(&self, note: &AnswerNote) -> EffectResult {
        let at = self.at().await?;
        let body = render::answer(&self.journal, note);
        self.parts.github.set_answer_comment(&at, note.pull, self.order, note.answer, &body).await?;
        Ok(EffectOutcome::Done)
    }
}

fn passes_by_itself(error: &GitHubError) -> bool {
    matches!(error.kind, ErrorKind::Unavailable { .. } | ErrorKind::Conflict | ErrorKind::Unexpected)
}
