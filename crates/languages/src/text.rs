//! Makes the output of runs and text of repositories fit for reading.

use journeyman_order::bounds::MOST_PARTS;
use journeyman_order::byte_order_mark;

/// How many characters of an output's end are kept for people and agents.
pub const TAIL_CHARACTERS: usize = 3_000;

/// The last [`TAIL_CHARACTERS`] characters, without terminal sequences and control characters.
pub fn tail(output: &str) -> String {
    // Escape sequences are removed from the end only, since outputs can be hundreds of megabytes.
    let start = output.floor_char_boundary(output.len().saturating_sub(16 * TAIL_CHARACTERS));
    let clean = plain(output.get(start..).unwrap_or_default());
    let characters = clean.chars().count();
    clean.chars().skip(characters.saturating_sub(TAIL_CHARACTERS)).collect()
}

/// The end of a failing run's output, without the lines that only say that a test began or passed. Its last line says
/// how many those were.
pub fn failing_tail(output: &str) -> String {
    let passes = pattern!(
        r"^\s*(?:--- PASS: .*|=== (?:RUN|PAUSE|CONT)\s.*|ok\s+\S+\s+(?:[\d.]+s|\(cached\)).*|test .* \.\.\. ok|ok \d+(?: .*)?|\S+ PASSED(?: +\[.*\])?|\d+/\d+ Test +#\d+: .* Passed .*)\s*$"
    );
    let (passing, others): (Vec<&str>, Vec<&str>) = output.lines().partition(|line| passes.is_match(line));
    match passing.len() {
        0 => tail(output),
        count => {
            let left_out = format!("(lines left out that say that a test began or passed: {count})");
            tail(&format!("{}\n{left_out}\n", others.join("\n")))
        }
    }
}

/// The text as a terminal shows it, without colours. Escape sequences and control characters except newlines and tabs
/// are removed. If carriage returns overwrite a line, its last version remains.
pub fn plain(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut line_start = 0;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => match characters.next() {
                // CSI: parameters, then one final byte.
                Some('[') => skip_until(&mut characters, |c| ('\u{40}'..='\u{7e}').contains(&c)),
                // OSC, DCS and the like: up to BEL, or the backslash of a string terminator.
                Some(']' | 'P' | '^' | '_' | 'X') => {
                    skip_until(&mut characters, |c| matches!(c, '\u{7}' | '\\' | '\n'));
                }
                Some('(' | ')' | '#' | '%') => drop(characters.next()),
                Some(_) | None => {}
            },
            '\u{9b}' => skip_until(&mut characters, |c| ('\u{40}'..='\u{7e}').contains(&c)),
            '\n' => {
                clean.push('\n');
                line_start = clean.len();
            }
            '\r' => {
                if !matches!(characters.peek(), Some('\n') | None) {
                    clean.truncate(line_start);
                }
            }
            '\t' => clean.push('\t'),
            other if other.is_control() => {}
            other => clean.push(other),
        }
    }
    clean
}

/// Untrusted JSON. `None` if it is invalid, or would become too large.
pub fn json(bytes: &[u8]) -> Option<serde_json::Value> {
    let bytes = byte_order_mark::strip_bytes(bytes);
    let objects = bytes.iter().filter(|byte| **byte == b'{').count();
    (objects <= MOST_PARTS).then(|| serde_json::from_slice(bytes).ok())?
}

/// Untrusted TOML. `None` if it is invalid, or would become too large.
pub fn toml_table(text: &str) -> Option<toml::Table> {
    let text = byte_order_mark::strip(text);
    journeyman_order::toml_text::is_modest_toml(text).then(|| toml::from_str(text).ok())?
}

/// Stops before a newline: an unfinished sequence must not swallow the rest of the output.
fn skip_until(characters: &mut std::iter::Peekable<std::str::Chars<'_>>, is_last: impl Fn(char) -> bool) {
    while let Some(character) = characters.next_if(|character| *character != '\n') {
        if is_last(character) {
            return;
        }
    }
}
