//! What can be said without words.

use crate::reply::EmulatedApiError;
use crate::state::{EmulatedReaction, EmulatorState, REACTIONS};

/// What carries reactions.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReactionSubject {
    /// A comment on an issue or a pull request, by its id.
    Comment(u64),
    /// A comment in a review, by its id.
    ReviewComment(u64),
}

impl EmulatorState {
    fn reactions_mut(
        &mut self,
        repository: &str,
        on: ReactionSubject,
    ) -> Result<&mut Vec<EmulatedReaction>, EmulatedApiError> {
        match on {
            ReactionSubject::Comment(id) => {
                let number = self.thread_of_comment(repository, id)?;
                let comments = &mut self.thread_mut(repository, number)?.comments;
                let found = comments.iter_mut().find(|one| one.id == id);
                found.map(|one| &mut one.reactions).ok_or_else(EmulatedApiError::not_found)
            }
            ReactionSubject::ReviewComment(id) => {
                self.review_comment_mut(repository, id).map(|one| &mut one.reactions)
            }
        }
    }

    /// Reacts; the second of a kind is the first again. Whether it is new.
    pub(crate) fn react(
        &mut self,
        repository: &str,
        on: ReactionSubject,
        content: &str,
        by: u64,
    ) -> Result<bool, EmulatedApiError> {
        let known = REACTIONS.iter().find(|(name, _)| *name == content);
        let (content, _) =
            known.ok_or_else(|| EmulatedApiError::invalid("Reaction", "content", "invalid"))?;
        let all = self.reactions_mut(repository, on)?;
        let is_new = !all.iter().any(|one| one.by == by && one.content == *content);
        if is_new {
            all.push(EmulatedReaction { by, content });
        }
        Ok(is_new)
    }
}
