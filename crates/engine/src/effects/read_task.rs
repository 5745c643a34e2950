//! The issue's comments that belong to the task, and the attachments of these and of the issue. GitHub says which
//! commenters have write access, and the amount is bounded.

use std::collections::BTreeMap;

use super::attachments::TextWithLinks;
use super::{EffectContext, EffectResult};
use journeyman_github::{AttachmentSource, IssueComment};
use journeyman_order::bounds::LONGEST_TEXT;
use journeyman_order::settings::TaskCommentPolicy;
use journeyman_order::{
    CommentRight, EffectError, EffectOutcome, Person, TaskAttachment, TaskComment, TaskComments, UserId,
};

const MOST_KEPT: usize = 30;
const MOST_CHARACTERS: usize = 40_000;
/// How many people GitHub is asked about, the most recent ones first. The rest count as having no write access.
const MOST_PEOPLE: usize = 50;

impl EffectContext {
    pub(super) async fn read_issue(&self) -> EffectResult {
        let (at, number) = (self.at().await?, self.opened().issue.number);
        let issue = self.parts.github.issue(&at, number).await?;
        let all = self.comments_on_issue().await?;
        let policy = self.settings().task.comments;
        let (comments, attachments) = self.extras(&issue.text.body, all, issue.author, policy).await?;
        Ok(EffectOutcome::IssueRead { title: issue.text.title, body: issue.text.body, comments, attachments })
    }

    /// The newest comments that belong to the task, with their attachments and the issue's.
    pub(super) async fn task_extras(
        &self,
        policy: TaskCommentPolicy,
    ) -> Result<(TaskComments, Vec<TaskAttachment>), EffectError> {
        let all = self.comments_on_issue().await?;
        let body = &self.opened().issue.body;
        if all.is_empty() && self.parts.github.attachment_links(body).is_empty() {
            return Ok(Default::default());
        }
        let (at, number) = (self.at().await?, self.opened().issue.number);
        let author = self.parts.github.issue(&at, number).await?.author;
        self.extras(body, all, author, policy).await
    }

    async fn extras(
        &self,
        body: &str,
        all: Vec<IssueComment>,
        author: Option<Person>,
        policy: TaskCommentPolicy,
    ) -> Result<(TaskComments, Vec<TaskAttachment>), EffectError> {
        let by = author.as_ref().map_or_else(|| "ghost".to_owned(), |person| person.login.clone());
        let source = AttachmentSource::Issue(self.opened().issue.number);
        let mut texts = vec![(source, by, body.to_owned())];
        let (comments, more) = self.belonging(all, author.map(|person| person.id), policy).await?;
        texts.extend(more);
        Ok((comments, self.attachments(texts).await?))
    }

    async fn comments_on_issue(&self) -> Result<Vec<IssueComment>, EffectError> {
        let (at, number) = (self.at().await?, self.opened().issue.number);
        let mut all = self.parts.github.issue_comments(&at, number).await?;
        // The comment that began the order is already advice, as far as it was addressed to us.
        all.retain(|comment| Some(comment.id) != self.opened().comment);
        Ok(all)
    }

    async fn belonging(
        &self,
        all: Vec<IssueComment>,
        author: Option<UserId>,
        policy: TaskCommentPolicy,
    ) -> Result<(TaskComments, Vec<TextWithLinks>), EffectError> {
        let mut comments = TaskComments::default();
        let mut texts = Vec::new();
        let mut known = BTreeMap::new();
        let mut room = MOST_CHARACTERS;
        for comment in all.into_iter().rev() {
            let right = self.right(&comment, author, &mut known).await?;
            if right == CommentRight::Other && policy == TaskCommentPolicy::Writers {
                continue;
            }
            let body = bounded(&self.without_secrets(&comment.body));
            let length = body.chars().count();
            if comments.left_out > 0 || comments.kept.len() == MOST_KEPT || length > room {
                comments.left_out += 1;
                continue;
            }
            room -= length;
            let source = AttachmentSource::Comment(comment.id);
            texts.push((source, comment.login.clone(), comment.body));
            comments.kept.push(TaskComment { by: comment.login, right, at: comment.at, body });
        }
        comments.kept.reverse();
        texts.reverse();
        Ok((comments, texts))
    }

    async fn right(
        &self,
        comment: &IssueComment,
        author: Option<UserId>,
        known: &mut BTreeMap<UserId, CommentRight>,
    ) -> Result<CommentRight, EffectError> {
        let Some(person) = &comment.person else { return Ok(CommentRight::Other) };
        if author == Some(person.id) {
            return Ok(CommentRight::Author);
        }
        if let Some(right) = known.get(&person.id) {
            return Ok(*right);
        }
        let may = known.len() < MOST_PEOPLE && self.parts.github.can_write(&self.at().await?, person).await?;
        let right = if may { CommentRight::Writer } else { CommentRight::Other };
        known.insert(person.id, right);
        Ok(right)
    }
}

fn bounded(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\0', "\u{fffd}");
    let text = text.trim();
    match text.char_indices().nth(LONGEST_TEXT) {
        None => text.to_owned(),
        Some((end, _)) => {
            format!("{}\n[cut after {LONGEST_TEXT} characters]", text.get(..end).unwrap_or_default())
        }
    }
}
