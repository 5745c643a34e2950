//! The comments on the issue that belong to the task: whose they are is asked of GitHub, and how much is read is bounded.

use std::collections::BTreeMap;

use super::{EffectContext, EffectResult};
use journeyman_github::IssueComment;
use journeyman_order::settings::TaskCommentPolicy;
use journeyman_order::{CommentRight, EffectError, EffectOutcome, TaskComment, TaskComments, UserId};

/// How many comments are kept.
const MOST_KEPT: usize = 30;
/// Characters of one of them, and of all together.
const LONGEST_COMMENT: usize = 4_000;
const MOST_CHARACTERS: usize = 40_000;
/// How many people GitHub is asked about, those first who wrote last. Of others nothing is believed.
const MOST_PEOPLE: usize = 50;

impl EffectContext {
    /// The issue as it is now.
    pub(super) async fn read_issue(&self) -> EffectResult {
        let (at, number) = (self.at().await?, self.opened().issue.number);
        let issue = self.parts.github.issue(&at, number).await?;
        let author = issue.author.map(|person| person.id);
        let all = self.comments_on_issue().await?;
        let comments = self.belonging(all, author, self.settings().task.comments).await?;
        Ok(EffectOutcome::IssueRead { title: issue.text.title, body: issue.text.body, comments })
    }

    /// The newest comments that belong to the task, as they are now.
    pub(super) async fn task_comments(&self, policy: TaskCommentPolicy) -> Result<TaskComments, EffectError> {
        let all = self.comments_on_issue().await?;
        if all.is_empty() {
            return Ok(TaskComments::default());
        }
        let (at, number) = (self.at().await?, self.opened().issue.number);
        let author = self.parts.github.issue(&at, number).await?.author.map(|person| person.id);
        self.belonging(all, author, policy).await
    }

    async fn comments_on_issue(&self) -> Result<Vec<IssueComment>, EffectError> {
        let (at, number) = (self.at().await?, self.opened().issue.number);
        let mut all = self.parts.github.issue_comments(&at, number).await?;
        // The one that began the order is advice already, as far as it was said to us.
        all.retain(|comment| Some(comment.id) != self.opened().comment);
        Ok(all)
    }

    /// Those of all comments that belong to the task.
    async fn belonging(
        &self,
        all: Vec<IssueComment>,
        author: Option<UserId>,
        policy: TaskCommentPolicy,
    ) -> Result<TaskComments, EffectError> {
        let mut comments = TaskComments::default();
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
            comments.kept.push(TaskComment { by: comment.login, right, at: comment.at, body });
        }
        comments.kept.reverse();
        Ok(comments)
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

/// The beginning of a comment, with a mark where more was.
fn bounded(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\0', "\u{fffd}");
    let text = text.trim();
    match text.char_indices().nth(LONGEST_COMMENT) {
        None => text.to_owned(),
        Some((end, _)) => {
            format!("{}\n[cut after {LONGEST_COMMENT} characters]", text.get(..end).unwrap_or_default())
        }
    }
}
