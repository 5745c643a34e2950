//! Inspects a job's model request before it is passed on.
//!
//! A model's service can do more than answer: fetch URLs, contact other servers, keep running after the answer. A job
//! without a network could use these to get out and to avoid the metering. So tools that the service runs are removed,
//! and requests that make it fetch a URL are refused. The gateway sends its own serialization of what it parsed, so
//! that the service cannot read it differently.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::model::ModelOperation;
use journeyman_order::model_service::Provider;

/// A request that may be passed on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ModelRequest {
    pub(super) body: Vec<u8>,
    /// The model, as the job names it.
    pub(super) model: Option<String>,
    /// What was removed.
    pub(super) taken_out: Vec<String>,
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ModelRequestError {
    /// It does not parse as a request of this dialect.
    Unreadable,
    /// It asks for something that would be a way out.
    Refused(String),
}

/// Settings that let the service contact other servers, run in the background, or cost more than the model's price.
const TAKEN_OUT: &[&str] = &[
    "mcp_servers", "container", "speed", "service_tier", "web_search_options", "background", "prompt",
    "conversation", "plugins",
];

/// Whether the client runs the tool. A name that ends in `_` is the prefix of dated names.
fn runs_at_the_client(provider: Provider, kind: &str) -> bool {
    let (names, dated): (&[&str], &[&str]) = match provider {
        Provider::Anthropic => {
            (&["custom"], &["bash_", "text_editor_", "computer_", "memory_", "tool_search_tool_"])
        }
        Provider::OpenAi => {
            (&["function", "custom", "local_shell", "apply_patch", "namespace", "tool_search"], &[])
        }
    };
    names.contains(&kind) || dated.iter().any(|name| kind.starts_with(name))
}

/// Parses the body of a request to an operation that has one.
pub(super) fn read(
    provider: Provider,
    operation: ModelOperation,
    body: &[u8],
) -> Result<ModelRequest, ModelRequestError> {
    let mut body: BTreeMap<String, Box<RawValue>> =
        serde_json::from_slice(body).map_err(|_| ModelRequestError::Unreadable)?;
    let mut taken_out: Vec<String> = Vec::new();
    for name in TAKEN_OUT {
        if body.remove(*name).is_some_and(|value| !matters_not(name, value.get())) {
            taken_out.push((*name).to_owned());
        }
    }
    if let Some(tools) = body.remove("tools") {
        let mut tools: Vec<Value> =
            serde_json::from_str(tools.get()).map_err(|_| ModelRequestError::Unreadable)?;
        let before = tools.len();
        tools.retain(|tool| {
            let kind = match tool.get("type") {
                None => return true,
                Some(kind) => kind.as_str().unwrap_or("of no type"),
            };
            let stays = runs_at_the_client(provider, kind);
            if !stays {
                taken_out.push(format!("the tool {kind}"));
            }
            stays
        });
        if tools.is_empty() && before > 0 {
            return Err(ModelRequestError::Refused(taken_out.join(", ")));
        }
        body.insert("tools".to_owned(), raw(&Value::Array(tools))?);
    }
    for (name, value) in &body {
        if name == "tools" {
            continue;
        }
        if let Some(what) = fetches(provider, name, value)? {
            return Err(ModelRequestError::Refused(what));
        }
    }
    if operation == ModelOperation::ChatCompletions
        && body.get("stream").is_some_and(|streams| streams.get() == "true")
    {
        // Without it a stream does not report its usage.
        let options = body.get("stream_options").and_then(|options| serde_json::from_str(options.get()).ok());
        let mut options = options.filter(Value::is_object).unwrap_or_else(|| json!({}));
        options["include_usage"] = json!(true);
        body.insert("stream_options".to_owned(), raw(&options)?);
    }
    let model = body.get("model").and_then(|model| serde_json::from_str(model.get()).ok());
    let body = serde_json::to_vec(&body).map_err(|_| ModelRequestError::Unreadable)?;
    Ok(ModelRequest { body, model, taken_out })
}

fn raw(value: &Value) -> Result<Box<RawValue>, ModelRequestError> {
    serde_json::value::to_raw_value(value).map_err(|_| ModelRequestError::Unreadable)
}

/// Whether a removed setting has no effect, and so needs no line in the record.
fn matters_not(name: &str, value: &str) -> bool {
    matches!(
        value,
        "null" | "false" | "[]" | "{}" | "\"auto\"" | "\"default\"" | "\"standard\"" | "\"standard_only\""
    ) || (name == "service_tier" && value == "\"flex\"")
}

/// Anything in a value that would make the service fetch a URL.
fn fetches(provider: Provider, name: &str, value: &RawValue) -> Result<Option<String>, ModelRequestError> {
    let mut found = None;
    let mut deserializer = serde_json::Deserializer::from_str(value.get());
    AddressVisitor { provider, key: name, found: &mut found }
        .deserialize(&mut deserializer)
        .map_err(|_| ModelRequestError::Unreadable)?;
    Ok(found)
}

/// Visits a value without storing it.
struct AddressVisitor<'a> {
    provider: Provider,
    key: &'a str,
    found: &'a mut Option<String>,
}

impl AddressVisitor<'_> {
    /// Whether the value is a URL to fetch, or an object with a `url`. In Anthropic's dialect such keys are a tool's
    /// input, between model and client.
    fn is_at_an_address(&self) -> bool {
        self.provider == Provider::OpenAi
            && ["image_url", "file_url", "video_url", "audio_url", "server_url"].contains(&self.key)
    }

    fn found_address(self) {
        *self.found = Some(format!("{}: an address for the service to fetch", self.key));
    }
}

impl<'de> DeserializeSeed<'de> for AddressVisitor<'_> {
    type Value = ValueKind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ValueKind, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// What a value's parent object needs to know about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    /// The text `url`, as the type of a source.
    TheWordUrl,
    /// A text that is not a `data:` URL.
    Address,
    Other,
}

impl<'de> Visitor<'de> for AddressVisitor<'_> {
    type Value = ValueKind;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("anything")
    }

    fn visit_str<E>(self, text: &str) -> Result<ValueKind, E> {
        let is = match text {
            "url" => ValueKind::TheWordUrl,
            text if text.trim_start().get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:")) => {
                ValueKind::Other
            }
            _ => ValueKind::Address,
        };
        if is != ValueKind::Other && self.is_at_an_address() {
            self.found_address();
        }
        Ok(is)
    }

    fn visit_bool<E>(self, _: bool) -> Result<ValueKind, E> {
        Ok(ValueKind::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<ValueKind, E> {
        Ok(ValueKind::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<ValueKind, E> {
        Ok(ValueKind::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<ValueKind, E> {
        Ok(ValueKind::Other)
    }

    fn visit_unit<E>(self) -> Result<ValueKind, E> {
        Ok(ValueKind::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<ValueKind, A::Error> {
        while all
            .next_element_seed(AddressVisitor { provider: self.provider, key: self.key, found: self.found })?
            .is_some()
        {}
        Ok(ValueKind::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<ValueKind, A::Error> {
        let (mut typed, mut addressed) = (false, false);
        while let Some(key) = all.next_key::<String>()? {
            let look = AddressVisitor { provider: self.provider, key: &key, found: self.found };
            let is = all.next_value_seed(look)?;
            typed |= key == "type" && is == ValueKind::TheWordUrl;
            addressed |= key == "url" && is != ValueKind::Other;
        }
        if addressed && (typed || self.is_at_an_address()) {
            self.found_address();
        }
        Ok(ValueKind::Other)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn messages(body: &str) -> Result<ModelRequest, ModelRequestError> {
        read(Provider::Anthropic, ModelOperation::Messages, body.as_bytes())
    }

    fn sent(asked: &ModelRequest) -> Value {
        serde_json::from_slice(&asked.body).unwrap()
    }

    #[test]
    fn an_ordinary_request_is_passed_on_as_it_is() {
        let body = json!({
            "model": "claude-sonnet-5-5", "max_tokens": 9, "stream": true,
            "system": [{ "type": "text", "text": "url", "cache_control": { "type": "ephemeral" } }],
            "tools": [
                { "name": "WebFetch", "input_schema": { "properties": { "url": { "type": "string" } } } },
                { "type": "bash_20250124", "name": "bash" },
            ],
            "messages": [
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "t", "name": "WebFetch",
                    "input": { "url": "https://registry.example", "prompt": "read" } }] },
                { "role": "user", "content": [{ "type": "image", "source": { "type": "base64",
                    "media_type": "image/png", "data": "aGk=" } }] },
            ],
        });
        let asked = messages(&body.to_string()).unwrap();
        assert_eq!(
            (sent(&asked), asked.taken_out, asked.model.as_deref()),
            (body, vec![], Some("claude-sonnet-5-5"))
        );
        let body = json!({
            "model": "gpt-5.1", "stream": true, "store": false, "service_tier": "auto", "background": false,
            "tools": [{ "type": "function", "name": "shell" }, { "type": "custom", "name": "apply_patch" }],
            "input": [{ "type": "message", "role": "user", "content": [
                { "type": "input_image", "image_url": "data:image/png;base64,aGk=" }] }],
        });
        let asked = read(Provider::OpenAi, ModelOperation::Responses, body.to_string().as_bytes()).unwrap();
        assert!(asked.taken_out.is_empty());
        assert_eq!(sent(&asked)["input"], body["input"]);
        assert_eq!(sent(&asked)["tools"], body["tools"]);
    }

    #[test]
    fn tools_that_the_service_runs_are_taken_out() {
        let body = r#"{"model":"m","mcp_servers":[{"type":"url","url":"https://evil.example"}],
            "tools":[{"type":"web_fetch_20250910","name":"web_fetch"},{"name":"Bash","input_schema":{}}],
            "mcp_servers":[{"url":"https://evil.example"}],"messages":[]}"#;
        let asked = messages(body).unwrap();
        assert_eq!(asked.taken_out, ["mcp_servers", "the tool web_fetch_20250910"]);
        assert_eq!(
            sent(&asked),
            json!({ "model": "m", "messages": [], "tools": [{ "name": "Bash", "input_schema": {} }] })
        );
        let hosted = r#"{"model":"m","background":true,"tools":[{"type":"function"},{"type":"mcp","server_url":"x"},
            {"type":"web_search"},{"type":7}],"input":"hi"}"#;
        let asked = read(Provider::OpenAi, ModelOperation::Responses, hosted.as_bytes()).unwrap();
        assert_eq!(sent(&asked), json!({ "model": "m", "input": "hi", "tools": [{ "type": "function" }] }));
        assert_eq!(asked.taken_out.len(), 4);
        let only = r#"{"tools":[{"type":"web_search_20250305","name":"web_search"}],"messages":[]}"#;
        assert_eq!(messages(only), Err(ModelRequestError::Refused("the tool web_search_20250305".into())));
    }

    #[test]
    fn an_address_that_the_service_would_fetch_is_refused() {
        for content in [
            r#"[{"type":"image","source":{"type":"url","url":"https://evil.example/secret"}}]"#,
            r#"[{"type":"image","source":{"url":"https://evil.example/secret","type":"\u0075rl"}}]"#,
            r#"[{"type":"document","source":{"type":"base64","type":"url","url":"https://evil.example"}}]"#,
            r#"[{"type":"tool_result","content":[{"type":"image","source":{"type":"url","url":"http://e.example"}}]}]"#,
            r#"[{"type":"tool_use","input":{"a":{"source":{"type":"url","url":"http://e.example"}}}}]"#,
        ] {
            let body = format!(r#"{{"messages":[{{"role":"user","content":{content}}}]}}"#);
            assert!(matches!(messages(&body), Err(ModelRequestError::Refused(_))), "{body}");
        }
        for content in [
            r#"[{"type":"image_url","image_url":{"url":"https://evil.example/secret"}}]"#,
            r#"[{"type":"image_url","image_url":{"detail":"low","\u0075rl":" HTTPS://evil.example"}}]"#,
            r#"[{"type":"input_image","image_url":"https://evil.example"}]"#,
            r#"[{"type":"input_file","file_url":"https://evil.example"}]"#,
            r#"[{"type":"mcp_call","server_url":"https://evil.example"}]"#,
        ] {
            for name in ["messages", "input"] {
                let body = format!(r#"{{"{name}":[{{"role":"user","content":{content}}}]}}"#);
                let read = read(Provider::OpenAi, ModelOperation::Responses, body.as_bytes());
                assert!(matches!(read, Err(ModelRequestError::Refused(_))), "{body}");
            }
        }
    }

    #[test]
    fn a_stream_of_completions_has_to_tell_what_it_used() {
        for options in ["", r#","stream_options":null"#, r#","stream_options":{"include_usage":false}"#] {
            let body = format!(r#"{{"model":"m","stream":true{options}}}"#);
            let asked = read(Provider::OpenAi, ModelOperation::ChatCompletions, body.as_bytes()).unwrap();
            assert_eq!(sent(&asked)["stream_options"], json!({ "include_usage": true }));
        }
    }

    proptest! {
        #[test]
        fn any_body_is_read_without_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            json in "(\\{\"messages\":|\\{\"tools\":|\\{\"type\":|\"url\"|[\\[\\]{},:\"0-9e.-]|null){0,30}",
        ) {
            for body in [&bytes[..], json.as_bytes()] {
                if let Ok(asked) = read(Provider::Anthropic, ModelOperation::Messages, body) {
                    // Parsing its output again removes nothing more.
                    let again = read(Provider::Anthropic, ModelOperation::Messages, &asked.body).unwrap();
                    prop_assert_eq!((&again.body, again.taken_out.len()), (&asked.body, 0));
                }
            }
        }

        #[test]
        fn however_deep_a_body_is(depth in 1_usize..100_000) {
            let body = format!("{{\"messages\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
            let _ = messages(&body);
        }
    }
}
