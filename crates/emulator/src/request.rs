//! A request of the API, its caller, and the requested page of a list.

use actix_web::http::header::{HeaderMap, HeaderName};
use serde_json::{Value, json};

use super::auth::Credentials;
use super::reply::{ActResult, EmulatedApiError, EmulatedApiReply, EmulatedReplyBody};
use super::state::{EmulatorState, TokenHolder};

pub(crate) struct EmulatedApiRequest {
    pub method: String,
    /// The decoded segments of the path below the API's address.
    pub segments: Vec<String>,
    pub query: Vec<(String, String)>,
    pub accept: String,
    pub body: Value,
    pub credentials: Credentials,
}

impl EmulatedApiRequest {
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self, field: &str) -> Option<String> {
        self.body.get(field).and_then(Value::as_str).map(str::to_owned)
    }

    /// The token's holder. Anonymous callers see nothing here, and an App's own token only opens `/app`.
    pub(crate) fn holder(&self) -> ActResult<&TokenHolder> {
        match &self.credentials {
            Credentials::Nobody => Err(EmulatedApiError::new(401, "Requires authentication")),
            Credentials::App => Err(EmulatedApiError::new(
                403,
                "You must authenticate with an installation access token in order to access this resource",
            )),
            Credentials::Token { holder, .. } => Ok(holder),
        }
    }

    /// The acting account: the App's bot, or the person.
    pub(crate) fn actor(&self, world: &EmulatorState) -> ActResult<u64> {
        Ok(match self.holder()? {
            TokenHolder::Installation { .. } => world.app.bot,
            TokenHolder::Person(id) => *id,
        })
    }

    fn address(&self, world: &EmulatorState) -> String {
        format!("{}/{}", world.api(), self.segments.join("/"))
    }

    /// One page of a list, with a `Link` header to the others. 30 per page by default, at most 100.
    pub(crate) fn page(&self, world: &EmulatorState, items: Vec<Value>) -> EmulatedApiReply {
        let number = |name: &str, otherwise: usize| {
            let asked = self.query(name).and_then(|value| value.parse::<usize>().ok());
            asked.filter(|value| *value > 0).unwrap_or(otherwise)
        };
        let per_page = number("per_page", 30).min(100);
        let page = number("page", 1);
        let last = items.len().div_ceil(per_page).max(1);
        let link = |to: usize, rel: &str| {
            let mut pairs = url::form_urlencoded::Serializer::new(String::new());
            pairs.extend_pairs(self.query.iter().filter(|(key, _)| key != "page"));
            pairs.append_pair("page", &to.to_string());
            format!("<{}?{}>; rel=\"{rel}\"", self.address(world), pairs.finish())
        };
        let links = [
            (page > 1).then(|| link((page - 1).min(last), "prev")),
            (page < last).then(|| link(page + 1, "next")),
        ];
        let links: Vec<String> = links.into_iter().flatten().collect();
        let link = (!links.is_empty()).then(|| links.join(", "));
        let items = items.into_iter().skip((page - 1).saturating_mul(per_page)).take(per_page).collect();
        EmulatedApiReply { link, ..EmulatedApiReply::ok(Value::Array(items)) }
    }

    /// Like [`Self::page`], for a list with cursors, newest first.
    pub(crate) fn page_by_cursor(&self, world: &EmulatorState, items: Vec<Value>) -> EmulatedApiReply {
        let per_page = self.query("per_page").and_then(|count| count.parse().ok()).unwrap_or(30_usize);
        let per_page = per_page.clamp(1, 100);
        let id = |item: &Value| item["id"].as_u64().unwrap_or_default();
        let from = self.query("cursor").and_then(|cursor| cursor.strip_prefix("v1_")?.parse().ok());
        let from = from.unwrap_or(u64::MAX);
        let mut items: Vec<Value> = items.into_iter().filter(|item| id(item) <= from).collect();
        let rest = (items.len() > per_page).then(|| items.split_off(per_page));
        let next = rest.and_then(|rest| rest.first().map(id));
        let link = next.map(|next| {
            format!("<{}?per_page={per_page}&cursor=v1_{next}>; rel=\"next\"", self.address(world))
        });
        EmulatedApiReply { link, ..EmulatedApiReply::ok(Value::Array(items)) }
    }

    /// Like [`Self::page`], for a list in an object with a total count.
    pub(crate) fn counted(&self, world: &EmulatorState, field: &str, list: Vec<Value>) -> EmulatedApiReply {
        let total = list.len();
        let reply = self.page(world, list);
        let EmulatedReplyBody::Json(list) = reply.body else { return reply };
        EmulatedApiReply {
            body: EmulatedReplyBody::Json(json!({"total_count": total, field: list})),
            ..reply
        }
    }
}

pub(crate) fn header(headers: &HeaderMap, name: &str) -> String {
    let found = HeaderName::try_from(name).ok().and_then(|name| headers.get(name));
    found.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).unwrap_or_default()
}
