//! How many values a text of JSON holds, counted before anybody makes values of it: one of two letters takes a hundred
//! times their memory.

/// A text with more is not made values of. A line of an agent's stream has some hundreds, its long texts are one each.
pub const MOST_JSON_VALUES: usize = 50_000;

/// Whether a text of JSON holds more values than that, or may. What stands in strings counts for nothing.
pub fn has_too_many_values(json: &[u8]) -> bool {
    let (mut values, mut is_text, mut is_escaped) = (0_usize, false, false);
    for byte in json {
        match (is_text, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => is_text = !is_text,
            // Each value stands behind one of these, or behind a name that does.
            (false, b',' | b'[' | b'{') => values += 1,
            (_, _) => {}
        }
    }
    values > MOST_JSON_VALUES
}

/// JSON that is an object or a list, indented for people; none where the text is anything else.
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
            // A text that has no end is none; nothing is made of what would follow it.
            (format!("{{\"text\":\"{many}"), false),
        ] {
            assert_eq!(has_too_many_values(json.as_bytes()), is_too_much, "{}", &json[..20]);
        }
    }
}
