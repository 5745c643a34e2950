//! Reactions: what can be said to an issue or a comment without words, once each by everybody.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::json::time;
use super::reply::EmulatedApiError;
use super::state::EmulatorState;

/// One that somebody gave.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedReaction {
    pub id: u64,
    pub by: u64,
    pub content: &'static str,
    pub at: DateTime<Utc>,
}

/// All that there are, with the sign that a page shows.
pub(crate) const CONTENTS: [(&str, &str); 8] = [
    ("+1", "👍"),
    ("-1", "👎"),
    ("laugh", "😄"),
    ("hooray", "🎉"),
    ("confused", "😕"),
    ("heart", "❤️"),
    ("rocket", "🚀"),
    ("eyes", "👀"),
];

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

/// Their counts, as everything that carries them has it.
pub(crate) fn rollup(given: &[EmulatedReaction], url: &str) -> Value {
    let mut fields = Map::from_iter([
        ("url".to_owned(), json!(format!("{url}/reactions"))),
        ("total_count".to_owned(), json!(given.len())),
    ]);
    for (content, _) in CONTENTS {
        let count = given.iter().filter(|one| one.content == content).count();
        fields.insert(content.to_owned(), json!(count));
    }
    fields.into()
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
        let given = EmulatedReaction { id: self.new_id(), by, content, at: Utc::now() };
        let all = self.reactions_mut(repository, on)?;
        if let Some(there) = all.iter().find(|one| one.by == by && one.content == *content) {
            return Ok((false, there.clone()));
        }
        all.push(given.clone());
        Ok((true, given))
    }

    pub(crate) fn reaction_json(&self, given: &EmulatedReaction) -> Value {
        json!({
            "id": given.id, "node_id": format!("REA_{}", given.id), "user": self.user_json(given.by),
            "content": given.content, "created_at": time(given.at),
        })
    }
}
