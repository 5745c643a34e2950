//! Who wrote something, as REST and as GraphQL tell it, and whether that is us.

use serde::Deserialize;

use crate::identity::UserWire;
use journeyman_order::conversation::CommentAuthor;
use journeyman_order::{Person, UserId};

/// How we are called, and how it is told whether a text calls us.
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

/// A list of GraphQL's; null in place of what may not be seen.
#[derive(Deserialize)]
pub(super) struct NodeList<T> {
    pub(super) nodes: Vec<Option<T>>,
}

/// What is only known by its number. Numbers of this size come as text.
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

/// Who wrote something, by REST; none: the account is gone.
pub(super) fn by_rest(user: Option<UserWire>, us: &MentionMatcher<'_>) -> CommentAuthor {
    let Some(user) = user else { return CommentAuthor::Other };
    let slug = user.login.strip_suffix("[bot]");
    match (user.r#type.as_str(), user.id) {
        ("User", Some(id)) => CommentAuthor::Person(Person { login: user.login, id }),
        ("Bot", _) if slug.is_some_and(|slug| us.is_slug(slug)) => CommentAuthor::Us,
        _ => CommentAuthor::Other,
    }
}

/// Who wrote something, by GraphQL, where a bot's login has no `[bot]` behind it.
pub(super) fn by_graphql(actor: Option<ActorWire>, us: &MentionMatcher<'_>) -> CommentAuthor {
    let Some(actor) = actor else { return CommentAuthor::Other };
    match (actor.kind.as_str(), actor.id) {
        ("User", Some(id)) => CommentAuthor::Person(Person { login: actor.login, id }),
        ("Bot", _) if us.is_slug(&actor.login) => CommentAuthor::Us,
        _ => CommentAuthor::Other,
    }
}
