//! Anthropic's dialect: Messages.

use serde_json::{Map, Value, json};

use super::ModelCall;
use super::answer::{ModelAnswer, StopReason};
use super::refusal::ApiRefusal;

pub(super) const PATH: &str = "v1/messages";
/// The version of the API.
pub(super) const VERSION: &str = "2023-06-01";

pub(super) fn body(call: &ModelCall<'_>, model: &str, max_tokens: u32) -> Value {
    let mut body = json!({
        "model": model,
        "max_tokens": max_tokens,
        "stream": true,
        "messages": [{ "role": "user", "content": call.prompt }],
    });
    if let Some(system) = call.system {
        body["system"] = json!(system);
    }
    body
}

/// An event that does not match its declared type.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MalformedEvent;

pub(super) fn read(event: &Value, answer: &mut ModelAnswer) -> Result<Option<ApiRefusal>, MalformedEvent> {
    let kind = event.get("type").and_then(Value::as_str).ok_or(MalformedEvent)?;
    match kind {
        "message_start" => count(event.pointer("/message/usage"), answer),
        "content_block_start" => {
            let text = event.pointer("/content_block/text").and_then(Value::as_str);
            answer.text.push_str(text.unwrap_or_default());
        }
        "content_block_delta" => match event.pointer("/delta/type").and_then(Value::as_str) {
            Some("text_delta") => {
                let text = event.pointer("/delta/text").and_then(Value::as_str).ok_or(MalformedEvent)?;
                answer.text.push_str(text);
            }
            // Thinking, signatures, citations.
            Some(_) => {}
            None => return Err(MalformedEvent),
        },
        "message_delta" => {
            count(event.get("usage"), answer);
            if let Some(reason) = event.pointer("/delta/stop_reason").and_then(Value::as_str) {
                answer.stop = Some(stop(reason, event));
                answer.has_usage = event.get("usage").is_some_and(Value::is_object);
            }
        }
        "message_stop" => answer.is_over = true,
        "error" => {
            let error = event.get("error").and_then(Value::as_object);
            return Ok(Some(ApiRefusal::of_error(error.unwrap_or(&Map::new()))));
        }
        // `ping`, the end of a block, and future events.
        _ => {}
    }
    Ok(None)
}

fn stop(reason: &str, event: &Value) -> StopReason {
    match reason {
        "end_turn" | "stop_sequence" => StopReason::End,
        "max_tokens" => StopReason::Limit("its answer reached max_output_tokens and is not whole"),
        "model_context_window_exceeded" => {
            StopReason::Limit("its answer reached the end of the model's context window")
        }
        "refusal" => {
            let why = event.pointer("/delta/stop_details/explanation").and_then(Value::as_str);
            StopReason::Refused(why.unwrap_or_default().to_owned())
        }
        other => StopReason::Other(other.to_owned()),
    }
}

/// Later counts are totals, not increments, and may omit what has not changed.
fn count(usage: Option<&Value>, answer: &mut ModelAnswer) {
    let tokens = &mut answer.tokens;
    for (key, count) in [
        ("input_tokens", &mut tokens.input),
        ("output_tokens", &mut tokens.output),
        ("cache_read_input_tokens", &mut tokens.cache_read),
        ("cache_creation_input_tokens", &mut tokens.cache_write),
    ] {
        if let Some(told) = usage.and_then(|usage| usage.get(key)).and_then(Value::as_u64) {
            *count = told.max(*count);
        }
    }
}
