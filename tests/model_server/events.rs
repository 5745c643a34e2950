//! An answer as sent: complete, or streamed like the API.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};

use actix_web::web::Bytes;
use futures_util::{Stream, stream};
use serde_json::{Value, json};

use super::reply::Say;
use super::request::Request;

/// Ids must be unique for every block: the client matches tools' results by them.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

fn new_id(prefix: &str) -> String {
    format!("{prefix}_loopback{:016}", NEXT_ID.fetch_add(1, Ordering::Relaxed))
}

/// Roughly the number of tokens in a text of this length.
pub fn tokens(text: &str) -> usize {
    text.len() / 4 + 1
}

/// The complete answer, as the API sends it without streaming.
pub fn message(request: &Request, blocks: &[Say]) -> Value {
    let content: Vec<Value> = blocks
        .iter()
        .map(|block| match block {
            Say::Text(text) => json!({ "type": "text", "text": text }),
            Say::Use { tool, input } => {
                json!({ "type": "tool_use", "id": new_id("toolu"), "name": tool, "input": input })
            }
        })
        .collect();
    let uses_tools = blocks.iter().any(|block| matches!(block, Say::Use { .. }));
    json!({
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": request.model(),
        "content": content,
        "stop_reason": if uses_tools { "tool_use" } else { "end_turn" },
        "stop_sequence": null,
        "usage": {
            "input_tokens": tokens(&request.body["messages"].to_string()),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": tokens(&Value::Array(content.clone()).to_string()),
            "service_tier": "standard",
        },
    })
}

/// The same answer as server-sent events, one HTTP chunk each.
pub fn stream(message: &Value) -> impl Stream<Item = Result<Bytes, Infallible>> + use<> {
    let wire = |(name, data): (&str, Value)| Ok(Bytes::from(format!("event: {name}\ndata: {data}\n\n")));
    stream::iter(events(message).into_iter().map(wire).collect::<Vec<_>>())
}

/// A text in OpenAI's format, as server-sent events.
pub fn openai_stream(request: &Request, text: &str) -> impl Stream<Item = Result<Bytes, Infallible>> + use<> {
    let id = new_id("chatcmpl");
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        json!({ "id": id, "object": "chat.completion.chunk", "choices": [choice], "usage": null })
    };
    let mut chunks = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    chunks.extend(pieces(text).into_iter().map(|piece| chunk(json!({ "content": piece }), Value::Null)));
    chunks.push(chunk(json!({}), json!("stop")));
    if request.body["stream_options"]["include_usage"] == true {
        let (read, written) = (tokens(&request.body["messages"].to_string()), tokens(text));
        let usage =
            json!({ "prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written });
        chunks.push(json!({ "id": id, "object": "chat.completion.chunk", "choices": [], "usage": usage }));
    }
    let events = chunks.into_iter().map(|chunk| format!("data: {chunk}\n\n"));
    let events = events.chain(["data: [DONE]\n\n".to_owned()]);
    stream::iter(events.map(|event| Ok(Bytes::from(event))).collect::<Vec<_>>())
}

fn events(message: &Value) -> Vec<(&'static str, Value)> {
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut events = vec![("message_start", json!({ "message": start })), ("ping", json!({}))];
    let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (index, block) in blocks.iter().enumerate() {
        let mut empty = block.clone();
        let (field, delta_type, whole) = if block["type"] == "tool_use" {
            empty["input"] = json!({});
            ("partial_json", "input_json_delta", block["input"].to_string())
        } else {
            empty["text"] = json!("");
            ("text", "text_delta", block["text"].as_str().unwrap_or_default().to_owned())
        };
        events.push(("content_block_start", json!({ "index": index, "content_block": empty })));
        for piece in pieces(&whole) {
            let delta = json!({ "type": delta_type, field: piece });
            events.push(("content_block_delta", json!({ "index": index, "delta": delta })));
        }
        events.push(("content_block_stop", json!({ "index": index })));
    }
    let delta = json!({ "stop_reason": message["stop_reason"], "stop_sequence": null });
    let usage = json!({ "output_tokens": message["usage"]["output_tokens"] });
    events.push(("message_delta", json!({ "delta": delta, "usage": usage })));
    events.push(("message_stop", json!({})));
    for (name, data) in &mut events {
        data["type"] = json!(name);
    }
    events
}

/// Small pieces, to catch a client that takes the first one for the whole text.
fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(40).map(|piece| piece.iter().collect()).collect()
}
