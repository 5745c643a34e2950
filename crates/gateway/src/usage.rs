//! Reads a model's usage from its answer while the bytes pass.

use serde::Deserialize;
use serde_json::Value;

use journeyman_order::bounds::LARGEST_FILE;
use journeyman_order::model_service::Provider;
use journeyman_order::network::MeteredTokens;

/// Approximate: English text and code.
pub(super) const BYTES_OF_A_TOKEN: u64 = 4;

/// Reads one answer.
#[derive(Debug)]
pub(super) struct UsageReader {
    provider: Provider,
    streams: bool,
    /// The current line or the whole answer, as far as received.
    pending: Vec<u8>,
    /// It grew too large and is skipped to its end.
    skips: bool,
    seen: u64,
    told: ReportedUsage,
}

/// The usage reported so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReportedUsage {
    pub(super) tokens: MeteredTokens,
    /// The service reported the final usage.
    pub(super) is_final: bool,
    pub(super) model: Option<String>,
    /// Bytes of text that the model wrote; all bytes if the answer is not a stream and reported nothing.
    pub(super) letters: u64,
}

impl UsageReader {
    /// For an answer with this content type.
    pub(super) fn of(provider: Provider, content_type: &str) -> Self {
        let streams = content_type.trim_start().to_ascii_lowercase().starts_with("text/event-stream");
        Self { provider, streams, pending: Vec::new(), skips: false, seen: 0, told: ReportedUsage::default() }
    }

    pub(super) fn told(&self) -> &ReportedUsage {
        &self.told
    }

    /// Reads the next bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if !self.streams {
            self.seen = self.seen.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            self.keep(bytes);
            if !self.told.is_final {
                self.told.letters = self.seen;
            }
            return;
        }
        // Every service sends an event's data on one line; data on several lines is ignored.
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            self.keep(piece);
            if piece.ends_with(b"\n") || piece.ends_with(b"\r") {
                self.line();
            }
        }
    }

    /// The answer is complete.
    pub(super) fn end(&mut self) {
        if self.streams {
            self.line();
        } else if !self.skips {
            let whole = std::mem::take(&mut self.pending);
            self.event(&whole);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.skips || self.pending.len() + bytes.len() > LARGEST_FILE {
            self.skips = true;
            self.pending = Vec::new();
        } else {
            self.pending.extend_from_slice(bytes);
        }
    }

    fn line(&mut self) {
        let line = std::mem::take(&mut self.pending);
        if !std::mem::take(&mut self.skips)
            && let Some(data) = line.strip_prefix(b"data:")
        {
            self.event(data);
        }
        // Reuses the buffer.
        self.pending = line;
        self.pending.clear();
    }

    fn event(&mut self, json: &[u8]) {
        let Ok(event) = serde_json::from_slice::<UsageEvent>(json) else { return };
        let told = &mut self.told;
        told.letters =
            told.letters.saturating_add(letters(&event.delta)).saturating_add(letters(&event.choices));
        let inner = event.message.or(event.response);
        let (model, usage) = match inner {
            Some(inner) => (inner.model.or(event.model), inner.usage.or(event.usage)),
            None => (event.model, event.usage),
        };
        if let Some(Value::String(model)) = model {
            told.model.get_or_insert(model);
        }
        let Some(usage) = usage.filter(Value::is_object) else { return };
        match self.provider {
            Provider::Anthropic => {
                raise(&mut told.tokens, of_anthropic(&usage));
                // The first event counts only the input.
                told.is_final |= event.kind.as_deref() != Some("message_start");
            }
            Provider::OpenAi => {
                raise(&mut told.tokens, of_openai(&usage));
                told.is_final = true;
            }
        }
    }
}

/// Later counts are totals, not increments, and may omit what has not changed.
fn raise(tokens: &mut MeteredTokens, told: MeteredTokens) {
    tokens.input = tokens.input.max(told.input);
    tokens.output = tokens.output.max(told.output);
    tokens.cache_read = tokens.cache_read.max(told.cache_read);
    tokens.cache_write = tokens.cache_write.max(told.cache_write);
}

fn of_anthropic(usage: &Value) -> MeteredTokens {
    let count = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
    MeteredTokens {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_read: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
    }
}

/// Completions and responses name their counts differently; both include cached tokens in the input.
fn of_openai(usage: &Value) -> MeteredTokens {
    let count =
        |keys: [&str; 2]| keys.iter().find_map(|key| usage.pointer(key).and_then(Value::as_u64)).unwrap_or(0);
    let cache_read = count(["/prompt_tokens_details/cached_tokens", "/input_tokens_details/cached_tokens"]);
    let cache_write =
        count(["/prompt_tokens_details/cache_write_tokens", "/input_tokens_details/cache_write_tokens"]);
    let read = count(["/prompt_tokens", "/input_tokens"]);
    MeteredTokens {
        input: read.saturating_sub(cache_read).saturating_sub(cache_write),
        output: count(["/completion_tokens", "/output_tokens"]),
        cache_read,
        cache_write,
    }
}

/// The relevant fields of an event or a whole answer, in both dialects.
#[derive(Deserialize)]
struct UsageEvent {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    model: Option<Value>,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(default)]
    message: Option<UsageMessage>,
    #[serde(default)]
    response: Option<UsageMessage>,
    #[serde(default)]
    delta: Value,
    #[serde(default)]
    choices: Value,
}

/// The message inside an event.
#[derive(Deserialize)]
struct UsageMessage {
    #[serde(default)]
    model: Option<Value>,
    #[serde(default)]
    usage: Option<Value>,
}

/// The total length of all strings in a value.
fn letters(value: &Value) -> u64 {
    match value {
        Value::String(text) => u64::try_from(text.len()).unwrap_or(u64::MAX),
        Value::Array(all) => all.iter().map(letters).sum(),
        Value::Object(named) => named.values().map(letters).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STREAM: &str = "text/event-stream; charset=utf-8";

    fn read(provider: Provider, kind: &str, wire: &[u8]) -> ReportedUsage {
        let mut reading = UsageReader::of(provider, kind);
        reading.feed(wire);
        reading.end();
        reading.told().clone()
    }

    fn tokens(input: u64, output: u64, cache_read: u64, cache_write: u64) -> MeteredTokens {
        MeteredTokens { input, output, cache_read, cache_write }
    }

    const MESSAGES: &str = concat!(
        "event: message_start\n",
        r#"data: {"type":"message_start","message":{"id":"m","model":"claude-sonnet-5-5","usage":{"input_tokens":12,"#,
        r#""cache_read_input_tokens":300,"cache_creation_input_tokens":40,"output_tokens":1}}}"#,
        "\n\nevent: content_block_delta\r\n",
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}"#,
        "\r\n\r\n: a comment\n\n",
        r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":57}}"#,
        "\n\ndata: {\"type\":\"message_stop\"}\n\n",
    );

    #[test]
    fn every_dialect_tells_what_was_used() {
        let told = read(Provider::Anthropic, STREAM, MESSAGES.as_bytes());
        assert_eq!(told.tokens, tokens(12, 57, 300, 40));
        assert_eq!((told.is_final, told.model.as_deref()), (true, Some("claude-sonnet-5-5")));
        let whole = br#"{"type":"message","model":"claude-x","content":[{"type":"text","text":"x"}],
            "usage":{"input_tokens":7,"output_tokens":9,"cache_read_input_tokens":null}}"#;
        let told = read(Provider::Anthropic, "application/json", whole);
        assert_eq!(
            (told.tokens, told.is_final, told.model.as_deref()),
            (tokens(7, 9, 0, 0), true, Some("claude-x"))
        );

        let chunks = concat!(
            "data: {\"model\":\"gpt-5\",\"choices\":[{\"delta\":{\"content\":\"Hi!\"}}],\"usage\":null}\n\n",
            "data: {\"model\":\"gpt-5\",\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":5,",
            "\"prompt_tokens_details\":{\"cached_tokens\":60}}}\n\ndata: [DONE]\n\n",
        );
        let told = read(Provider::OpenAi, STREAM, chunks.as_bytes());
        assert_eq!((told.tokens, told.is_final, told.letters), (tokens(40, 5, 60, 0), true, 3));
        let completed = concat!(
            "event: response.output_text.delta\n",
            "data: {\"type\":\"response.output_text.delta\",\"delta\":\"Hello\"}\n\n",
            "data: {\"type\":\"response.completed\",\"response\":{\"model\":\"gpt-5.1\",\"usage\":{\"input_tokens\":11,",
            "\"input_tokens_details\":{\"cached_tokens\":1},\"output_tokens\":22}}}\n\n",
        );
        let told = read(Provider::OpenAi, STREAM, completed.as_bytes());
        assert_eq!((told.tokens, told.model.as_deref()), (tokens(10, 22, 1, 0), Some("gpt-5.1")));
        assert_eq!((told.is_final, told.letters), (true, 5));
    }

    #[test]
    fn an_answer_that_breaks_off_is_not_final() {
        let until = MESSAGES.find("message_delta").unwrap();
        let told = read(Provider::Anthropic, STREAM, &MESSAGES.as_bytes()[..until]);
        assert_eq!((told.tokens, told.is_final), (tokens(12, 1, 300, 40), false));
        assert!(told.letters >= 5);
    }

    #[test]
    fn an_event_without_end_takes_no_more_room_and_the_next_one_is_read() {
        let mut reading = UsageReader::of(Provider::Anthropic, STREAM);
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..40 {
            reading.feed(&piece);
            assert!(reading.pending.capacity() <= LARGEST_FILE * 2);
        }
        reading.feed(b"\n");
        reading.feed(MESSAGES.as_bytes());
        assert_eq!(reading.told().tokens, tokens(12, 57, 300, 40));
    }

    proptest! {
        #[test]
        fn how_the_bytes_are_cut_changes_nothing(cuts in proptest::collection::vec(0_usize..700, 0..9)) {
            let bytes = MESSAGES.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut reading = UsageReader::of(Provider::Anthropic, STREAM);
            cuts.windows(2).for_each(|cut| reading.feed(&bytes[cut[0]..cut[1]]));
            reading.end();
            prop_assert_eq!(reading.told(), &read(Provider::Anthropic, STREAM, bytes));
        }

        #[test]
        fn any_bytes_are_read_without_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            json in "(data: |\\{\"usage\":|\\{\"message\":|\\{\"delta\":|[\\[\\]{},:\"0-9e.-]|null|\n){0,20}",
        ) {
            for provider in [Provider::Anthropic, Provider::OpenAi] {
                for kind in [STREAM, "application/json", ""] {
                    read(provider, kind, &bytes);
                    read(provider, kind, json.as_bytes());
                }
            }
        }
    }
}
