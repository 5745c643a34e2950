//! An agent's output in readable form: messages, tool calls and their results. Reads a stream of JSON lines, the events
//! of a model's API, or plain text.

use askama::Template;
use serde_json::Value;

use super::diff::{DiffView, ShownDiffLine};
use super::text::{beginning, count, dollars, duration, line};
use journeyman_order::bounds::{LONGEST_DOCUMENT, LONGEST_NAME};

const LONGEST_OUTPUT: usize = 6_000;
/// Maximum items of a whole transcript; of a longer one the last are shown.
pub(crate) const MOST_ITEMS: usize = 600;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TranscriptItem {
    Words {
        text: String,
        left_out: usize,
    },
    /// A piece of a model's unfinished message.
    Part {
        text: String,
    },
    Thought {
        text: String,
        left_out: usize,
    },
    Tool {
        name: String,
        about: String,
        input: String,
        left_out: usize,
        diff: Option<DiffView>,
    },
    Output {
        about: String,
        text: String,
        left_out: usize,
        is_wrong: bool,
    },
    /// Not a record: a program's own output.
    Noise {
        text: String,
        left_out: usize,
    },
    End {
        text: String,
        is_wrong: bool,
    },
}

#[derive(Template)]
#[template(path = "dashboard/transcript.html")]
struct TranscriptItems<'a> {
    items: &'a [TranscriptItem],
}

pub(crate) fn html(items: &[TranscriptItem]) -> String {
    TranscriptItems { items }.render().unwrap_or_default()
}

pub(crate) fn read(lines: &str) -> Vec<TranscriptItem> {
    let mut items = Vec::new();
    for text in lines.lines().filter(|text| !text.trim().is_empty()) {
        match serde_json::from_str::<Value>(text) {
            Ok(record) if record.is_object() => read_record(&record, &mut items),
            Ok(_) | Err(_) => noise(text, &mut items),
        }
    }
    items
}

/// Joins consecutive lines.
fn noise(text: &str, items: &mut Vec<TranscriptItem>) {
    let (text, left) = beginning(text, LONGEST_OUTPUT);
    if let Some(TranscriptItem::Noise { text: before, .. }) = items.last_mut()
        && before.len() < LONGEST_OUTPUT
    {
        before.push('\n');
        before.push_str(&text);
        return;
    }
    items.push(TranscriptItem::Noise { text, left_out: left });
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn read_record(record: &Value, items: &mut Vec<TranscriptItem>) {
    match text_of(record, "type") {
        "assistant" | "user" => {
            let content = record.pointer("/message/content");
            match content {
                Some(Value::String(text)) => words(text, items),
                Some(Value::Array(blocks)) => blocks.iter().for_each(|block| read_block(block, items)),
                Some(_) | None => {}
            }
        }
        "result" => items.push(end(record)),
        // Pieces that also arrive as a whole, and events of the stream itself.
        "stream_event" | "system" | "rate_limit_event" | "ping" => {}
        "content_block_delta" => {
            let delta = record.pointer("/delta").unwrap_or(&Value::Null);
            part(text_of(delta, "text"), items);
        }
        _ => {
            if let Some(text) = record.pointer("/choices/0/delta/content").and_then(Value::as_str) {
                part(text, items);
            }
        }
    }
}

fn words(text: &str, items: &mut Vec<TranscriptItem>) {
    let (text, left_out) = beginning(text.trim(), LONGEST_DOCUMENT);
    if !text.is_empty() {
        items.push(TranscriptItem::Words { text, left_out });
    }
}

fn part(text: &str, items: &mut Vec<TranscriptItem>) {
    let (text, _) = beginning(text, LONGEST_DOCUMENT);
    match items.last_mut() {
        Some(TranscriptItem::Part { text: before }) => before.push_str(&text),
        _ if text.is_empty() => {}
        Some(_) | None => items.push(TranscriptItem::Part { text }),
    }
}

fn read_block(block: &Value, items: &mut Vec<TranscriptItem>) {
    match text_of(block, "type") {
        "text" => words(text_of(block, "text"), items),
        "thinking" => {
            let (text, left_out) = beginning(text_of(block, "thinking").trim(), LONGEST_DOCUMENT);
            if !text.is_empty() {
                items.push(TranscriptItem::Thought { text, left_out });
            }
        }
        "tool_use" => items.push(tool(block)),
        "tool_result" => items.push(output(block)),
        _ => {}
    }
}

fn tool(block: &Value) -> TranscriptItem {
    let nothing = Value::Null;
    let input = block.get("input").unwrap_or(&nothing);
    // The most informative input of a call, by the keys of known tools.
    let about = ["command", "file_path", "path", "pattern", "url", "query", "description", "prompt"]
        .into_iter()
        .map(|key| text_of(input, key))
        .find(|text| !text.is_empty())
        .unwrap_or_default();
    let diff = edit(input);
    let only = input.as_object().filter(|fields| fields.len() == 1 && diff.is_none());
    let shown = only.and_then(|fields| fields.values().next()?.as_str()).map(str::to_owned);
    let shown = shown.unwrap_or_else(|| serde_json::to_string_pretty(input).unwrap_or_default());
    let (shown, left_out) = beginning(&shown, LONGEST_OUTPUT);
    TranscriptItem::Tool {
        name: line(text_of(block, "name"), 60),
        about: line(about, LONGEST_NAME),
        input: shown,
        left_out,
        diff,
    }
}

/// A file edit as a diff.
fn edit(input: &Value) -> Option<DiffView> {
    let (old, new) = (input.get("old_string")?.as_str()?, input.get("new_string")?.as_str()?);
    let (old, _) = beginning(old, LONGEST_OUTPUT);
    let (new, _) = beginning(new, LONGEST_OUTPUT);
    let lines = |text: &str, class: &'static str, sign: char| -> Vec<ShownDiffLine> {
        text.lines().map(|text| ShownDiffLine { class, text: format!("{sign}{text}") }).collect()
    };
    let (removed, added) = (lines(&old, "removed", '-'), lines(&new, "added", '+'));
    Some(DiffView {
        left_out: 0,
        added: added.len(),
        removed: removed.len(),
        lines: [removed, added].concat(),
    })
}

fn output(block: &Value) -> TranscriptItem {
    let text = match block.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().map(|part| text_of(part, "text")).collect::<Vec<_>>().join("\n")
        }
        Some(_) | None => String::new(),
    };
    let is_wrong = block.get("is_error").and_then(Value::as_bool) == Some(true);
    let (text, left_out) = beginning(text.trim_end(), LONGEST_OUTPUT);
    let lines = u64::try_from(text.lines().count()).unwrap_or(0);
    let first = line(text.lines().find(|text| !text.trim().is_empty()).unwrap_or("(nothing)"), LONGEST_NAME);
    let about = if lines > 1 { format!("{first} … ({})", count(lines, "line")) } else { first };
    TranscriptItem::Output { about, text, left_out, is_wrong }
}

fn end(record: &Value) -> TranscriptItem {
    let is_wrong = record.get("is_error").and_then(Value::as_bool) == Some(true);
    let number = |key: &str| record.get(key).and_then(Value::as_f64);
    let mut facts = vec![if is_wrong { "ended with an error" } else { "ended" }.to_owned()];
    facts.extend(number("num_turns").map(|turns| count(turns.max(0.0) as u64, "turn")));
    facts.extend(number("duration_ms").map(|millis| duration(millis / 1e3)));
    facts.extend(number("total_cost_usd").map(dollars));
    TranscriptItem::End { text: facts.join(" · "), is_wrong }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_as_what_was_said_and_done() {
        let stream = r#"{"type":"system","subtype":"init"}
a wrapper's own words
and more
{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I <b>look</b>."},{"type":"tool_use","name":"Bash","input":{"command":"ls\n-la"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"content":[{"type":"text","text":"\u001b[31mno\u001b[0m\nsuch"}]}]}}
{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Edit","input":{"file_path":"a.py","old_string":"41","new_string":"42"}}]}}
{"type":"result","is_error":false,"num_turns":1,"total_cost_usd":0.25}"#;
        let items = read(stream);
        assert_eq!(items.len(), 7, "{items:?}");
        assert_eq!(
            items[0],
            TranscriptItem::Noise { text: "a wrapper's own words\nand more".to_owned(), left_out: 0 }
        );
        let TranscriptItem::Tool { about, input, .. } = &items[3] else { panic!("{items:?}") };
        assert_eq!((about.as_str(), input.as_str()), ("ls -la", "ls\n-la"));
        let TranscriptItem::Output { about, text, is_wrong, .. } = &items[4] else { panic!("{items:?}") };
        assert_eq!((about.as_str(), text.as_str(), *is_wrong), ("no … (2 lines)", "no\nsuch", true));
        let TranscriptItem::Tool { diff: Some(diff), .. } = &items[5] else { panic!("{items:?}") };
        assert_eq!((diff.added, diff.removed), (1, 1));
        assert_eq!(
            items[6],
            TranscriptItem::End { text: "ended · 1 turn · $0.25".to_owned(), is_wrong: false }
        );
        let html = html(&items);
        assert!(html.contains("I &#60;b&#62;look&#60;/b&#62;."), "{html}");
    }

    #[test]
    fn parts_of_a_models_answer_are_one_text() {
        let stream = "{\"type\":\"content_block_delta\",\"delta\":{\"text\":\"Hel\"}}\n\
                      {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"lo\"}}\n\
                      {\"choices\":[{\"delta\":{\"content\":\"!\"}}]}\n";
        assert_eq!(read(stream), [TranscriptItem::Part { text: "Hello!".to_owned() }]);
    }
}
