//! What can be said without words.

use crate::clock;
use crate::reply::EmulatedApiError;
use crate::state::EmulatorState;
use crate::state::reactions::{CONTENTS, EmulatedReaction};

/// What carries reactions.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReactionSubject {
    /// An issue or a pull request, by its number.
    Thread(u64),
    /// A comment on one, by its id.
    Comment(u64),
    /// A comment in a review, by its id.
    ReviewComment(u64),
}

impl EmulatorState {
    pub(crate) fn reactions_mut(
        &mut self,
        repository: &str,
        on: ReactionSubject,
    ) -> Result<&mut Vec<EmulatedReaction>, EmulatedApiError> {
        match on {
            ReactionSubject::Thread(number) => Ok(&mut self.thread_mut(repository, number)?.reactions),
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

    /// Reacts; the second of a kind is the first again. Whether it is new, and the reaction.
    pub(crate) fn react(
        &mut self,
        repository: &str,
        on: ReactionSubject,
        content: &str,
        by: u64,
    ) -> Result<(bool, EmulatedReaction), EmulatedApiError> {
        let known = CONTENTS.iter().find(|(name, _)| *name == content);
        let (content, _) =
            known.ok_or_else(|| EmulatedApiError::invalid("Reaction", "content", "invalid"))?;
        let given = EmulatedReaction { id: self.new_id(), by, content, at: clock::now() };
        let all = self.reactions_mut(repository, on)?;
        if let Some(there) = all.iter().find(|one| one.by == by && one.content == *content) {
            return Ok((false, there.clone()));
        }
        all.push(given.clone());
        Ok((true, given))
    }
}
