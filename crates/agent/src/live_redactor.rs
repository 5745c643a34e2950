//! Redacts an agent's stream while it grows.
//!
//! May know: values and their names. Must never know: where the stream is, who watches.

use secrecy::{ExposeSecret as _, SecretString};

use journeyman_order::bounds::{LARGEST_SOURCE, SHORTEST_SECRET};

/// Removes values from a stream, a line at a time.
#[derive(Default)]
pub struct LiveRedactor {
    /// Each secret with its mask.
    values: Vec<(SecretString, String)>,
    /// An incomplete line.
    begun: Vec<u8>,
    /// The current line is too long and is skipped to its end.
    skips: bool,
}

impl LiveRedactor {
    /// Redacts these values, each with its variable's name.
    pub(crate) fn of(values: impl IntoIterator<Item = (String, SecretString)>) -> Self {
        let long = values.into_iter().filter(|(_, value)| value.expose_secret().len() >= SHORTEST_SECRET);
        let values = long.map(|(name, value)| (value, format!("[{name}]"))).collect();
        Self { values, begun: Vec::new(), skips: false }
    }

    /// The complete lines in these bytes that may be shown.
    pub fn feed(&mut self, bytes: &[u8]) -> String {
        let mut lines = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = part.ends_with(b"\n");
            if !self.skips {
                self.begun.extend_from_slice(part);
            }
            if self.begun.len() > LARGEST_SOURCE {
                self.begun.clear();
                self.skips = true;
            }
            if is_whole {
                lines.append(&mut self.begun);
                self.skips = false;
            }
        }
        let clean = String::from_utf8_lossy(&lines).into_owned();
        self.values.iter().fold(clean, |clean, (value, mask)| without(&clean, value.expose_secret(), mask))
    }
}

/// Replaces a value in a text, also in its JSON spelling.
pub(crate) fn without(text: &str, value: &str, mask: &str) -> String {
    let clean = text.replace(value, mask);
    let json = serde_json::Value::from(value).to_string();
    match json.get(1..json.len() - 1) {
        Some(spelled) if spelled != value => clean.replace(spelled, mask),
        _ => clean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_gone_however_the_stream_is_cut() {
        let secret = "sk-ant-0123456789abcdef";
        let stream =
            format!("{{\"text\":\"it is {secret}\"}}\nplain {secret}\n{{\"delta\":\"and no more\"}}\n");
        for size in [1, 7, 31, 1000] {
            let mut redactor = LiveRedactor::of([("KEY".to_owned(), SecretString::from(secret))]);
            let shown: String = stream.as_bytes().chunks(size).map(|part| redactor.feed(part)).collect();
            assert!(!shown.contains("0123"), "{size}: {shown}");
            assert!(shown.contains("plain [KEY]") && shown.contains("and no more"), "{size}: {shown}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out_and_the_next_is_shown() {
        let mut redactor = LiveRedactor::default();
        let long = "x".repeat(LARGEST_SOURCE + 10);
        assert_eq!(redactor.feed(long.as_bytes()), "");
        assert_eq!(redactor.feed(b"more\nnext\n"), "next\n");
    }
}
