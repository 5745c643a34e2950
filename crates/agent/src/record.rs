//! One record of a stream of JSON lines, as Claude Code writes it.
//!
//! Every field is read separately and is optional: versions differ in fields and order, and one field of an
//! unexpected type must not lose the whole record.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::is_session_id;
use journeyman_order::AgentUsage;

/// A line of the stream, reduced to what matters here.
pub(super) enum StreamRecord {
    /// About the run itself: session start, retry, hook.
    System {
        session: Option<String>,
    },
    Result(Box<StreamResult>),
    /// Any other record: messages, progress.
    Other,
    /// Claims to be a result but cannot be parsed.
    BrokenResult,
    Noise,
}

/// The contents of a result.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct StreamResult {
    pub(super) subtype: String,
    pub(super) is_error: bool,
    pub(super) text: Option<String>,
    pub(super) errors: Vec<String>,
    pub(super) session: Option<String>,
    /// The HTTP status of the model's service.
    pub(super) api_status: Option<u64>,
    pub(super) terminal_reason: String,
    /// Usage of this result's share of the run, if reported.
    pub(super) since_last: Option<AgentUsage>,
    /// Usage of its own turns, but its dollars are the run's or the session's, depending on the version.
    pub(super) turns: AgentUsage,
    /// Number of turns, if reported.
    pub(super) turn_count: Option<u64>,
    pub(super) uuid: Option<String>,
}

impl StreamResult {
    /// Whether it is an answer, not an error or empty.
    pub(super) fn is_answer(&self) -> bool {
        !self.is_error && self.has_text()
    }

    /// Whether it is an error without text or turns. Claude Code prints one when a background task ends after the
    /// answer.
    pub(super) fn is_empty_error(&self) -> bool {
        self.is_error && !self.has_text() && self.turn_count.is_none_or(|turns| turns == 0)
    }

    fn has_text(&self) -> bool {
        self.text.as_ref().is_some_and(|text| !text.trim().is_empty())
    }
}

#[derive(Deserialize)]
struct RecordHeader<'a> {
    #[serde(borrow, default)]
    r#type: Option<Cow<'a, str>>,
}

/// Parses a line.
pub(super) fn read(line: &str) -> StreamRecord {
    if !line.starts_with('{') {
        return StreamRecord::Noise;
    }
    // Most lines are long and irrelevant: read the type first and parse only what matters.
    let Ok(RecordHeader { r#type: Some(kind) }) = serde_json::from_str::<RecordHeader<'_>>(line) else {
        return if looks_like_result(line) { StreamRecord::BrokenResult } else { StreamRecord::Noise };
    };
    match kind.as_ref() {
        "system" | "session_started" => {
            StreamRecord::System { session: parse(line).as_ref().and_then(session) }
        }
        "result" => parse(line)
            .map_or(StreamRecord::BrokenResult, |value| StreamRecord::Result(Box::new(said(&value)))),
        _ => StreamRecord::Other,
    }
}

/// Whether an unparsable line was meant as a result. Quotes inside a JSON string are escaped, so a message that
/// quotes a result does not match.
fn looks_like_result(part: &str) -> bool {
    part.contains(r#""type":"result""#) || part.contains(r#""type": "result""#)
}

fn parse(line: &str) -> Option<Value> {
    serde_json::from_str(line).or_else(|_| serde_json::from_str(&without_lone_surrogates(line))).ok()
}

fn said(value: &Value) -> StreamResult {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let subtype = text("subtype");
    StreamResult {
        is_error: value.get("is_error") == Some(&Value::Bool(true)) || subtype.starts_with("error"),
        subtype,
        // The program validated it against the schema; the text beside it may be less exact.
        text: match value.get("structured_output").filter(|form| form.is_object()).or(value.get("result")) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_))) => {
                Some(other.to_string())
            }
        },
        errors: value
            .get("errors")
            .and_then(Value::as_array)
            .map(|all| all.iter().filter_map(Value::as_str).take(10).map(String::from).collect())
            .unwrap_or_default(),
        session: session(value),
        api_status: value.get("api_error_status").and_then(Value::as_u64),
        terminal_reason: text("terminal_reason"),
        since_last: value.get("model_usage_since_last_result").and_then(Value::as_object).map(|models| {
            models.values().map(usage_of_model).fold(AgentUsage::default(), |sum, usage| sum + usage)
        }),
        turns: usage_of_turns(value),
        turn_count: value.get("num_turns").and_then(Value::as_u64),
        uuid: value.get("uuid").and_then(Value::as_str).map(String::from),
    }
}

fn session(value: &Value) -> Option<String> {
    value.get("session_id").and_then(Value::as_str).filter(|id| is_session_id(id)).map(String::from)
}

fn usage_of_model(model: &Value) -> AgentUsage {
    let names = ["inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens"];
    usage(model, names, model.get("costUSD"))
}

fn usage_of_turns(value: &Value) -> AgentUsage {
    let names = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"];
    usage(value.get("usage").unwrap_or(&Value::Null), names, value.get("total_cost_usd"))
}

fn usage(of: &Value, [input, read, created, output]: [&str; 4], usd: Option<&Value>) -> AgentUsage {
    let tokens = |key: &str| of.get(key).and_then(Value::as_u64).unwrap_or(0);
    AgentUsage {
        input_tokens: tokens(input).saturating_add(tokens(read)).saturating_add(tokens(created)),
        output_tokens: tokens(output),
        usd: dollars(usd),
    }
}

/// Finite and never negative, so that no value can reduce or break a sum of costs.
fn dollars(value: Option<&Value>) -> f64 {
    value.and_then(Value::as_f64).filter(|usd| usd.is_finite() && *usd > 0.0).unwrap_or(0.0)
}

/// Replaces every unpaired `\ud8xx` with U+FFFD: JavaScript writes half an emoji that way when it cuts a string, and a
/// Rust string cannot hold it.
fn without_lone_surrogates(line: &str) -> String {
    let mut mended = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        mended.push_str(before);
        let kept = match (surrogate(escape), escape.get(6..).and_then(surrogate)) {
            (Some(SurrogateHalf::High), Some(SurrogateHalf::Low)) => 12,
            (Some(SurrogateHalf::High | SurrogateHalf::Low), _) => {
                mended.push('\u{fffd}');
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            // Consumes two characters, so that an escaped backslash does not start another escape.
            (None, _) => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        let (escape, after) = escape.split_at_checked(kept).unwrap_or((escape, ""));
        mended.push_str(escape);
        rest = after;
    }
    mended.push_str(rest);
    mended
}

enum SurrogateHalf {
    High,
    Low,
}

fn surrogate(escape: &str) -> Option<SurrogateHalf> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(SurrogateHalf::High),
        0xdc00..=0xdfff => Some(SurrogateHalf::Low),
        0..=0xd7ff | 0xe000..=0xffff => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_emoji_costs_one_character_and_not_the_result() {
        for (line, text) in [
            (r#"{"type":"result","result":"cut \ud83d"}"#, "cut \u{fffd}"),
            (r#"{"type":"result","result":"\ud83d\ude00 whole, \ude00 half"}"#, "😀 whole, \u{fffd} half"),
            (r#"{"type":"result","result":"\\ud83d is text, \ud83dé"}"#, "\\ud83d is text, \u{fffd}é"),
        ] {
            let StreamRecord::Result(said) = read(line) else { panic!("{line}") };
            assert_eq!(said.text.as_deref(), Some(text));
        }
    }
}
