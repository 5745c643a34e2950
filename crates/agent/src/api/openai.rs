//! OpenAI's dialect: chat completions, as OpenAI and many other servers speak it.

use serde_json::{Value, json};

use super::ModelCall;
use super::answer::{ModelAnswer, StopReason};
use super::anthropic::MalformedEvent;
use super::refusal::ApiRefusal;

pub(super) const PATH: &str = "chat/completions";
/// The data of a stream's last event.
pub(super) const DONE: &str = "[DONE]";

pub(super) fn body(call: &ModelCall<'_>, model: &str, max_tokens: u32, host: Option<&str>) -> Value {
    let mut messages = Vec::new();
    if let Some(system) = call.system {
        messages.push(json!({ "role": "system", "content": system }));
    }
    messages.push(json!({ "role": "user", "content": call.prompt }));
    let mut body = json!({
        "model": model,
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    // OpenAI's newer models reject the old name; some other servers do not know the new one.
    let is_openai = host.is_some_and(|host| host == "api.openai.com" || host.ends_with(".openai.azure.com"));
    body[if is_openai { "max_completion_tokens" } else { "max_tokens" }] = json!(max_tokens);
    body
}

pub(super) fn read(event: &Value, answer: &mut ModelAnswer) -> Result<Option<ApiRefusal>, MalformedEvent> {
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        let of_text = || ApiRefusal::of_text(error.as_str().unwrap_or_default());
        return Ok(Some(error.as_object().map_or_else(of_text, ApiRefusal::of_error)));
    }
    let usage = event.get("usage").filter(|usage| usage.is_object());
    if let Some(usage) = usage {
        count(usage, answer);
    }
    let Some(choices) = event.get("choices").and_then(Value::as_array) else {
        return if usage.is_some() { Ok(None) } else { Err(MalformedEvent) };
    };
    // The last event of a stream has no choices.
    let Some(choice) = choices.iter().find(|choice| choice.get("index").is_none_or(|index| index == 0))
    else {
        return Ok(None);
    };
    let said = |key: &str| choice.pointer(key).and_then(Value::as_str);
    answer.text.push_str(said("/delta/content").unwrap_or_default());
    answer.refusal.push_str(said("/delta/refusal").unwrap_or_default());
    if let Some(reason) = said("/finish_reason") {
        answer.stop = Some(match reason {
            "stop" if answer.refusal.is_empty() => StopReason::End,
            "stop" => StopReason::Refused(answer.refusal.clone()),
            "length" => StopReason::Limit("its answer reached max_output_tokens and is not whole"),
            "content_filter" => StopReason::Refused("the service's filter stopped it".to_owned()),
            other => StopReason::Other(other.to_owned()),
        });
    }
    Ok(None)
}

/// `prompt_tokens` includes those read from a cache. Some servers report usage repeatedly: each count is a total.
fn count(usage: &Value, answer: &mut ModelAnswer) {
    let tokens = |key: &str| usage.pointer(key).and_then(Value::as_u64).unwrap_or(0);
    let cache_read = tokens("/prompt_tokens_details/cached_tokens");
    let cache_write = tokens("/prompt_tokens_details/cache_write_tokens");
    answer.tokens.input = tokens("/prompt_tokens").saturating_sub(cache_read).saturating_sub(cache_write);
    answer.tokens.output = tokens("/completion_tokens");
    (answer.tokens.cache_read, answer.tokens.cache_write) = (cache_read, cache_write);
    answer.has_usage = true;
}
