//! Moves of the conversation on GitHub: what people say there is read, and they are answered.

use super::{EffectContext, EffectResult};
use journeyman_github::{
    ErrorKind, GitHubError, InstalledRepository, MentionMatcher, ReviewThreadSnapshot, RoundComment,
    ThreadAnswer,
};
use journeyman_order::conversation::{
    AnswerNote, CommentRef, CommentTarget, NoticeComment, PullReviewThread, PullSnapshot, Reaction,
    ThreadReply,
};
use journeyman_order::moves::ReviewNote;
use journeyman_order::{
    CommitSha, EffectError, EffectOutcome, IssueNumber, JournalEvent, Move, Person, PullNumber,
};
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
        let mut threads = Vec::new();
        for seen in talk.threads {
            threads.push(self.find_line(seen, &talk.head).await);
        }
        Ok(EffectOutcome::PullRead(Box::new(PullSnapshot {
            head: talk.head,
            state: talk.state,
            mergeable: talk.mergeable,
            threads,
            remarks: talk.remarks,
            checks: self.read_checks(&at, head).await?,
        })))
    }

    /// A thread that GitHub has lost the line of, with the line as it is in the head's version, if git still finds it.
    async fn find_line(&self, seen: ReviewThreadSnapshot, head: &CommitSha) -> PullReviewThread {
        let ReviewThreadSnapshot { mut thread, lost_since } = seen;
        if let (Some(old), Some(line)) = (lost_since, thread.original_line) {
            let (repository, new, path) =
                (self.opened().repository.clone(), head.clone(), thread.path.clone());
            let today =
                self.git(move |workspaces| workspaces.line_today(&repository, &old, &new, &path, line)).await;
            match today {
                Ok(line) => thread.line = line,
                Err(error) => {
                    tracing::info!(order = %self.order, message = error.message, "a line was not found again");
                }
            }
        }
        thread
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
        let body = render::notice(&self.journal, &self.survey, saying);
        let thread = match on {
            CommentTarget::Issue(issue) => issue,
            CommentTarget::Pull(pull) => IssueNumber(pull.0),
        };
        let marker = match saying {
            // Once on an issue, whichever order is told.
            NoticeComment::NoRight => "say:no-right".to_owned(),
            NoticeComment::Help
            | NoticeComment::UnknownCommand { .. }
            | NoticeComment::Status
            | NoticeComment::NotNow { .. }
            | NoticeComment::PullIsOpen { .. }
            | NoticeComment::TextKept { .. }
            | NoticeComment::Plan { .. }
            | NoticeComment::Questions { .. }
            | NoticeComment::Results
            | NoticeComment::PullClosed { .. } => {
                format!("say:{}:{}", self.order, self.key.file_name().replace('-', "."))
            }
        };
        self.parts.github.comment(&at, thread, &marker, &body).await?;
        Ok(EffectOutcome::Done)
    }

    pub(super) async fn show_answer(&self, note: &AnswerNote) -> EffectResult {
        let at = self.at().await?;
        let body = render::answer(&self.journal, note);
        self.parts.github.set_answer_comment(&at, note.pull, self.order, note.answer, &body).await?;
        self.minimize_old_comments(&at, note.pull).await?;
        Ok(EffectOutcome::Done)
    }

    /// Folds away what newer comments of ours have taken the place of.
    pub(super) async fn minimize_old_comments(
        &self,
        at: &InstalledRepository,
        pull: PullNumber,
    ) -> Result<(), EffectError> {
        let keep = in_force(self.journal.entries().iter().map(|entry| &entry.event), pull);
        self.parts.github.minimize_others(at, pull, self.order, &keep).await?;
        Ok(())
    }
}

/// What still holds of what was said on a pull request in rounds of review and in answers: the last answer, and of
/// each stage the last round, unless an answer came after it with another commit.
fn in_force<'a>(events: impl Iterator<Item = &'a JournalEvent>, pull: PullNumber) -> Vec<RoundComment<'a>> {
    let mut reviews: Vec<&ReviewNote> = Vec::new();
    let mut answer = None;
    for event in events {
        let JournalEvent::Intended { r#move, .. } = event else { continue };
        if let Move::ShowReview(note) = &**r#move
            && note.pull == pull
        {
            reviews.retain(|other| other.stage != note.stage);
            reviews.push(note);
        }
        if let Move::ShowAnswer(note) = &**r#move
            && note.pull == pull
        {
            answer = Some(note.answer);
            if let Some(commit) = &note.commit {
                reviews.retain(|review| review.commit == *commit);
            }
        }
    }
    let reviews =
        reviews.into_iter().map(|note| RoundComment::Review { stage: &note.stage, round: note.round });
    reviews.chain(answer.map(RoundComment::Answer)).collect()
}

/// Whether the same may succeed later, without anybody doing something about it.
fn passes_by_itself(error: &GitHubError) -> bool {
    match error.kind {
        ErrorKind::Unavailable { .. } | ErrorKind::Conflict | ErrorKind::Unexpected => true,
        ErrorKind::Unauthorized | ErrorKind::Forbidden | ErrorKind::NotFound | ErrorKind::Invalid => false,
    }
}
