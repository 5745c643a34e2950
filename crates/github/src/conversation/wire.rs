//! An author in REST and in GraphQL, and whether that is us.

use serde::Deserialize;

use crate::identity::UserWire;
use journeyman_order::conversation::CommentAuthor;
use journeyman_order::{Person, UserId};

/// Our name, and how to tell whether a text mentions us.
pub struct MentionMatcher<'a> {
    pub slug: &'a str,
    pub mentions: &'a (dyn Fn(&str) -> bool + Send + Sync),
}

impl MentionMatcher<'_> {
    pub(super) fn is_slug(&self, slug: &str) -> bool {
        self.slug.eq_ignore_ascii_case(slug)
    }

    pub(super) fn is_mentioned_in(&self, text: &str) -> bool {
        (self.mentions)(text)
    }
}

/// A GraphQL list, with null for entries that we may not see.
#[derive(Deserialize)]
pub(super) struct NodeList<T> {
    pub(super) nodes: Vec<Option<T>>,
}

/// An object known only by its number. Numbers of this size come as text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NumberedWire {
    pub(super) full_database_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ActorWire {
    #[serde(rename = "__typename")]
    kind: String,
    login: String,
    #[serde(rename = "databaseId")]
    id: Option<UserId>,
}

/// The author in REST; `None` if the account was deleted.
pub(super) fn by_rest(user: Option<UserWire>, us: &MentionMatcher<'_>) -> CommentAuthor {
    let Some(user) = user else { return CommentAuthor::Other };
    let slug = user.login.strip_suffix("[bot]");
    match (user.r#type.as_str(), user.id) {
        ("User", Some(id)) => CommentAuthor::Person(Person { login: user.login, id }),
        ("Bot", _) if slug.is_some_and(|slug| us.is_slug(slug)) => CommentAuthor::Us,
        _ => CommentAuthor::Other,
    }
}

/// The author in GraphQL, where a bot's login lacks the suffix `[bot]`.
pub(super) fn by_graphql(actor: Option<ActorWire>, us: &MentionMatcher<'_>) -> CommentAuthor {
    let Some(actor) = actor else { return CommentAuthor::Other };
    match (actor.kind.as_str(), actor.id) {
        ("User", Some(id)) => CommentAuthor::Person(Person { login: actor.login, id }),
        ("Bot", _) if us.is_slug(&actor.login) => CommentAuthor::Us,
        _ => CommentAuthor::Other,
    }
}
