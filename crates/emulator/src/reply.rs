//! Answers in GitHub's shapes: JSON, its errors, its pages.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) enum EmulatedReplyBody {
    Nothing,
    Json(Value),
    /// What is asked for is at this address.
    Redirect(String),
}

#[derive(Debug)]
pub(crate) struct EmulatedApiReply {
    pub status: u16,
    pub body: EmulatedReplyBody,
    /// The `Link` header of a paged answer.
    pub link: Option<String>,
}

impl EmulatedApiReply {
    pub(crate) fn json(status: u16, value: Value) -> Self {
        Self { status, body: EmulatedReplyBody::Json(value), link: None }
    }

    pub(crate) fn ok(value: Value) -> Self {
        Self::json(200, value)
    }

    pub(crate) fn no_content() -> Self {
        Self { status: 204, body: EmulatedReplyBody::Nothing, link: None }
    }

    pub(crate) fn into_response(self) -> HttpResponse {
        let mut response = HttpResponse::build(status(self.status));
        if let Some(link) = self.link {
            response.insert_header(("Link", link));
        }
        match self.body {
            EmulatedReplyBody::Nothing => response.finish(),
            EmulatedReplyBody::Json(value) => {
                response.insert_header(("Content-Type", "application/json; charset=utf-8"));
                response.body(value.to_string())
            }
            EmulatedReplyBody::Redirect(location) => response.insert_header(("Location", location)).finish(),
        }
    }
}

pub(crate) fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// An error as GitHub words it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{status} {message} {}", self.errors_text())]
pub(crate) struct EmulatedApiError {
    pub status: u16,
    pub message: String,
    pub errors: Vec<Value>,
    /// Where it is now, when it has moved.
    pub location: Option<String>,
}

impl EmulatedApiError {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), errors: Vec::new(), location: None }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, "Not Found")
    }

    pub(crate) fn forbidden() -> Self {
        Self::new(403, "Resource not accessible by integration")
    }

    pub(crate) fn suspended() -> Self {
        Self::new(403, "This installation has been suspended")
    }

    pub(crate) fn bad_credentials() -> Self {
        Self::new(401, "Bad credentials")
    }

    pub(crate) fn broken(what: impl std::fmt::Display) -> Self {
        Self::new(500, format!("the emulator failed: {what}"))
    }

    /// 422 for one field.
    pub(crate) fn invalid(resource: &str, field: &str, code: &str) -> Self {
        let errors = vec![json!({"resource": resource, "field": field, "code": code})];
        Self { errors, ..Self::new(422, "Validation Failed") }
    }

    /// 422 with words.
    pub(crate) fn custom(resource: &str, message: String) -> Self {
        let errors = vec![json!({"resource": resource, "code": "custom", "message": message})];
        Self { errors, ..Self::new(422, "Validation Failed") }
    }

    fn errors_text(&self) -> String {
        self.errors.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn into_reply(self) -> EmulatedApiReply {
        if let Some(location) = self.location {
            return EmulatedApiReply {
                body: EmulatedReplyBody::Redirect(location),
                ..EmulatedApiReply::json(self.status, Value::Null)
            };
        }
        let mut body = json!({
            "message": self.message,
            "documentation_url": "https://docs.github.com/rest",
            "status": self.status.to_string(),
        });
        if !self.errors.is_empty()
            && let Some(fields) = body.as_object_mut()
        {
            fields.insert("errors".to_owned(), Value::Array(self.errors));
        }
        EmulatedApiReply::json(self.status, body)
    }
}

pub(crate) type EmulatedApiResult = Result<EmulatedApiReply, EmulatedApiError>;

/// As [`page`], of a list that is read by cursors; the newest come first.
pub(crate) fn page_by_cursor(
    items: Vec<Value>,
    address: &str,
    query: &[(String, String)],
) -> EmulatedApiReply {
    let asked = |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let per_page = asked("per_page").and_then(|count| count.parse().ok()).unwrap_or(30_usize).clamp(1, 100);
    let id = |item: &Value| item["id"].as_u64().unwrap_or_default();
    let from =
        asked("cursor").and_then(|cursor| cursor.strip_prefix("v1_")?.parse().ok()).unwrap_or(u64::MAX);
    let mut items: Vec<Value> = items.into_iter().filter(|item| id(item) <= from).collect();
    let next =
        (items.len() > per_page).then(|| items.split_off(per_page)).and_then(|rest| rest.first().map(id));
    let link = next.map(|next| format!("<{address}?per_page={per_page}&cursor=v1_{next}>; rel=\"next\""));
    EmulatedApiReply { link, ..EmulatedApiReply::ok(Value::Array(items)) }
}

/// One page of a list, with the `Link` header that leads to the others. 30 a page unless asked, at most 100.
pub(crate) fn page(items: Vec<Value>, address: &str, query: &[(String, String)]) -> EmulatedApiReply {
    let number = |name: &str, otherwise: usize| {
        query
            .iter()
            .find(|(key, _)| key == name)
            .and_then(|(_, value)| value.parse::<usize>().ok())
            .filter(|value| *value > 0)
            .unwrap_or(otherwise)
    };
    let per_page = number("per_page", 30).min(100);
    let page = number("page", 1);
    let last = items.len().div_ceil(per_page).max(1);
    let link = |to: usize, rel: &str| {
        let mut pairs = url::form_urlencoded::Serializer::new(String::new());
        pairs.extend_pairs(query.iter().filter(|(key, _)| key != "page"));
        pairs.append_pair("page", &to.to_string());
        format!("<{address}?{}>; rel=\"{rel}\"", pairs.finish())
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

/// As [`page`], of a list that stands in an object beside its length.
pub(crate) fn counted(
    field: &str,
    list: Vec<Value>,
    address: &str,
    query: &[(String, String)],
) -> EmulatedApiReply {
    let total = list.len();
    let reply = page(list, address, query);
    let EmulatedReplyBody::Json(list) = reply.body else { return reply };
    EmulatedApiReply { body: EmulatedReplyBody::Json(json!({"total_count": total, field: list})), ..reply }
}
