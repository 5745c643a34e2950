//! Who wrote something, as REST and as GraphQL tell it.

use serde::Deserialize;

use super::read::Addressed;
use journeyman_order::conversation::Author;
use journeyman_order::{Person, UserId};

/// An account in REST.
#[derive(Debug, Deserialize)]
pub(super) struct UserWire {
    login: String,
    id: UserId,
    #[serde(default)]
    r#type: String,
}

/// An account in GraphQL.
#[derive(Debug, Deserialize)]
pub(super) struct ActorWire {
    #[serde(rename = "__typename")]
    kind: String,
    login: String,
    #[serde(rename = "databaseId")]
    id: Option<UserId>,
}

/// Who wrote something, by REST; none: the account is gone.
pub(super) fn by_rest(user: Option<UserWire>, us: &Addressed<'_>) -> Author {
    let Some(user) = user else { return Author::Other };
    match user.r#type.as_str() {
        "User" => Author::Person(Person { login: user.login, id: user.id }),
        "Bot" if user.login.strip_suffix("[bot]").is_some_and(|slug| us.is(slug)) => Author::Us,
        _ => Author::Other,
    }
}

/// Who wrote something, by GraphQL, where a bot's login has no `[bot]` behind it.
pub(super) fn by_graphql(actor: Option<ActorWire>, us: &Addressed<'_>) -> Author {
    let Some(actor) = actor else { return Author::Other };
    match (actor.kind.as_str(), actor.id) {
        ("User", Some(id)) => Author::Person(Person { login: actor.login, id }),
        ("Bot", _) if us.is(&actor.login) => Author::Us,
        _ => Author::Other,
    }
}
