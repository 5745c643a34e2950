//! Counts the values in a JSON text before it is parsed: a parsed value of two characters takes a hundred times their
//! memory.

/// A text with more is not parsed. A line of an agent's stream has hundreds; a long string counts as one.
pub const MOST_JSON_VALUES: usize = 50_000;

/// Whether a JSON text may contain more values than that. Characters within strings do not count.
pub fn has_too_many_values(json: &[u8]) -> bool {
    let (mut values, mut is_text, mut is_escaped) = (0_usize, false, false);
    for byte in json {
        match (is_text, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => is_text = !is_text,
            // Each value follows one of these, or a name that does.
            (false, b',' | b'[' | b'{') => values += 1,
            (_, _) => {}
        }
    }
    values > MOST_JSON_VALUES
}

/// A JSON object or list, indented for people; `None` for any other text.
pub fn indented(text: &str) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[']) || has_too_many_values(text.as_bytes()) {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(text.trim()).ok()?;
    serde_json::to_string_pretty(&value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_what_strings_say_is_not() {
        let many = "[],".repeat(MOST_JSON_VALUES);
        for (json, is_too_much) in [
            (format!("[{many}0]"), true),
            (format!("{{\"a\":[{many}0]}}"), true),
            (format!("[{}0]", "{\"a\":1},".repeat(MOST_JSON_VALUES)), true),
            (format!("{{\"text\":\"\\\"{many}\"}}"), false),
            (format!("[{}0]", "0,".repeat(MOST_JSON_VALUES - 1)), false),
            // An unterminated string counts as one, because its rest is never parsed.
            (format!("{{\"text\":\"{many}"), false),
        ] {
            assert_eq!(has_too_many_values(json.as_bytes()), is_too_much, "{}", &json[..20]);
        }
    }
}
