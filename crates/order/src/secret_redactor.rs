//! A secret that comes in pieces, in the texts of several lines of JSON: a model that repeats one says it a few letters an
//! event, and in no line it stands whole.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

/// What is shorter is too common in ordinary text to be taken out.
const SHORTEST: usize = 8;
/// A line waits for the next when it ends with so much of the secret's beginning, in bytes. With less every other line
/// would wait, and so little tells nobody the secret.
const WORTH_WAITING: usize = 4;
/// A longer line is not read.
const LONGEST_LINE: usize = 8 << 20;
/// Bytes of a line's texts with the ways to them, and of one way. A line with more is not read either.
const MOST_TEXTS: usize = 64 << 20;
const LONGEST_WAY: usize = 64 << 10;
/// Bytes of lines that wait. When there are more, what may be the secret's beginning is taken for it.
const MOST_WAITING: usize = 1 << 20;

/// Takes one secret out of lines as they come. A line is JSON, or `data:` and JSON as in server-sent events; others pass.
pub struct SecretRedactor {
    secret: SecretString,
    mask: String,
    /// A line without its end.
    begun: Vec<u8>,
    /// Lines that wait, from the line with this number on.
    waiting: VecDeque<BufferedLine>,
    first: u64,
    /// By where in a line a text stands: what of the secret's beginning the texts there ended with.
    open: BTreeMap<String, Vec<SecretFragment>>,
}

struct BufferedLine {
    raw: Vec<u8>,
    /// Where its JSON begins, and that.
    read: Option<(usize, Value)>,
    cuts: Vec<RedactedSpan>,
}

/// What is taken out of a text of a line.
struct RedactedSpan {
    pointer: String,
    range: Range<usize>,
    /// Whether the mask stands there.
    is_first: bool,
}

/// A part of a text.
struct SecretFragment {
    line: u64,
    pointer: String,
    from: usize,
    text: String,
}

impl SecretRedactor {
    /// For this secret, with the mask in its place; none where it is too short to be looked for.
    pub fn of(secret: &SecretString, mask: String) -> Option<Self> {
        (secret.expose_secret().len() >= SHORTEST).then(|| Self {
            secret: secret.clone(),
            mask,
            begun: Vec::new(),
            waiting: VecDeque::new(),
            first: 0,
            open: BTreeMap::new(),
        })
    }

    /// What may pass of what came.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(part);
            if part.ends_with(b"\n") || self.begun.len() > LONGEST_LINE {
                self.take_line();
            }
        }
        self.pass(false)
    }

    /// There is no more.
    pub fn end(&mut self) -> Vec<u8> {
        self.take_line();
        self.pass(true)
    }

    fn take_line(&mut self) {
        let raw = std::mem::take(&mut self.begun);
        if raw.is_empty() {
            return;
        }
        let number = self.next();
        let mut read = if raw.len() > LONGEST_LINE { None } else { read(&raw) };
        let mut found = LineTexts { texts: Vec::new(), left: MOST_TEXTS };
        if let Some((_, value)) = &read
            && !walk(value, &mut JsonPath::default(), &mut found)
        {
            (read, found.texts) = (None, Vec::new());
        }
        let texts = found.texts;
        self.waiting.push_back(BufferedLine { raw, read, cuts: Vec::new() });
        for (place, pointer, text) in texts {
            self.see(place, SecretFragment { line: number, pointer, from: 0, text });
        }
    }

    fn next(&self) -> u64 {
        self.first.saturating_add(u64::try_from(self.waiting.len()).unwrap_or(u64::MAX))
    }

    /// Joins a text to what the ones before it ended with.
    fn see(&mut self, place: String, piece: SecretFragment) {
        let secret = self.secret.clone();
        let secret = secret.expose_secret();
        let mut pieces = self.open.remove(&place).unwrap_or_default();
        pieces.push(piece);
        let all: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        let mut done = 0;
        for (at, _) in all.match_indices(secret) {
            self.cut(&pieces, at..at + secret.len());
            done = at + secret.len();
        }
        let rest = all.get(done..).unwrap_or_default();
        let longest = rest.len().min(secret.len() - 1);
        let ends_with =
            |length: &usize| secret.get(..*length).is_some_and(|beginning| rest.ends_with(beginning));
        if let Some(length) = (1..=longest).rev().find(ends_with) {
            self.open.insert(place, last_of(pieces, length));
        }
    }

    /// Takes a range of what these pieces are together out of their lines; of a line that is gone, nothing.
    fn cut(&mut self, pieces: &[SecretFragment], range: Range<usize>) {
        let (mut at, mut is_first) = (0, true);
        for piece in pieces {
            let (from, to) = (range.start.max(at), range.end.min(at + piece.text.len()));
            let number = piece.line.checked_sub(self.first).and_then(|number| usize::try_from(number).ok());
            if from < to
                && let Some(line) = number.and_then(|number| self.waiting.get_mut(number))
            {
                let range = piece.from + from - at..piece.from + to - at;
                line.cuts.push(RedactedSpan { pointer: piece.pointer.clone(), range, is_first });
                is_first = false;
            }
            at += piece.text.len();
        }
    }

    /// The lines that need not wait any more.
    fn pass(&mut self, all: bool) -> Vec<u8> {
        let waiting: usize = self.waiting.iter().map(|line| line.raw.len()).sum();
        if waiting > MOST_WAITING && !all {
            for pieces in
                std::mem::take(&mut self.open).into_values().filter(|pieces| is_worth_waiting(pieces))
            {
                self.cut(&pieces, 0..length(&pieces));
            }
        }
        let first = self.first;
        let held = self.open.values().filter(|pieces| is_worth_waiting(pieces)).flatten();
        let held = held.map(|piece| piece.line).filter(|line| *line >= first).min();
        let until = held.filter(|_| !all).unwrap_or_else(|| self.next());
        let mut passed = Vec::new();
        while self.first < until
            && let Some(line) = self.waiting.pop_front()
        {
            passed.extend(line.written(&self.mask));
            self.first += 1;
        }
        passed
    }
}

impl BufferedLine {
    fn written(self, mask: &str) -> Vec<u8> {
        let Some((from, mut value)) = self.read.filter(|_| !self.cuts.is_empty()) else { return self.raw };
        for cut in merged(self.cuts).iter().rev() {
            let Some(Value::String(text)) = value.pointer_mut(&cut.pointer) else { continue };
            let (from, to) = (cut.range.start, cut.range.end.min(text.len()));
            if from <= to && text.is_char_boundary(from) && text.is_char_boundary(to) {
                text.replace_range(from..to, if cut.is_first { mask } else { "" });
            }
        }
        let json = self.raw.get(from..).unwrap_or_default();
        let end = json.iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
        let end = json.get(json.len() - end..).unwrap_or_default();
        let mut written = self.raw.get(..from).unwrap_or_default().to_vec();
        written.extend(value.to_string().into_bytes());
        written.extend_from_slice(end);
        written
    }
}

/// By place, each part of a text once: one text is looked at in two ways.
fn merged(mut cuts: Vec<RedactedSpan>) -> Vec<RedactedSpan> {
    cuts.sort_by(|one, other| (&one.pointer, one.range.start).cmp(&(&other.pointer, other.range.start)));
    let mut merged: Vec<RedactedSpan> = Vec::new();
    for cut in cuts {
        match merged.last_mut() {
            Some(last) if last.pointer == cut.pointer && cut.range.start < last.range.end => {
                last.range.end = last.range.end.max(cut.range.end);
                last.is_first |= cut.is_first;
            }
            Some(_) | None => merged.push(cut),
        }
    }
    merged
}

fn length(pieces: &[SecretFragment]) -> usize {
    pieces.iter().map(|piece| piece.text.len()).sum()
}

fn is_worth_waiting(pieces: &[SecretFragment]) -> bool {
    length(pieces) >= WORTH_WAITING
}

/// The last bytes of these pieces.
fn last_of(pieces: Vec<SecretFragment>, length: usize) -> Vec<SecretFragment> {
    let mut left = length;
    let mut last: Vec<SecretFragment> = Vec::new();
    for piece in pieces.into_iter().rev() {
        let skipped = piece.text.len().saturating_sub(left);
        let text = piece.text.get(skipped..).unwrap_or_default().to_owned();
        left -= text.len();
        if !text.is_empty() {
            last.push(SecretFragment { from: piece.from + skipped, text, ..piece });
        }
    }
    last.reverse();
    last
}

/// Where the JSON of a line begins, and what it is.
fn read(raw: &[u8]) -> Option<(usize, Value)> {
    let from = if raw.starts_with(b"data:") { 5 } else { 0 };
    let from = from + raw.get(from..)?.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let json = raw.get(from..).filter(|json| json.starts_with(b"{") || json.starts_with(b"["))?;
    Some((from, serde_json::from_slice(json).ok()?))
}

/// The way to a value: by name alone, by name and the `index` that stands beside it, and as a JSON pointer.
#[derive(Clone, Default)]
struct JsonPath {
    names: String,
    numbered: String,
    pointer: String,
}

impl JsonPath {
    fn to(&self, name: &str, number: Option<&Value>) -> Self {
        let step = name.replace('~', "~0").replace('/', "~1");
        let number = number.and_then(Value::as_u64).map(|number| format!("#{number}")).unwrap_or_default();
        let is_place = name.bytes().all(|byte| byte.is_ascii_digit());
        Self {
            // A place in a list says nothing of what continues what.
            names: format!("{}/{}", self.names, if is_place { "" } else { &step }),
            numbered: format!("{}{number}/{step}", self.numbered),
            pointer: format!("{}/{step}", self.pointer),
        }
    }
}

/// The texts of a line: where each belongs, its pointer, and itself.
struct LineTexts {
    texts: Vec<(String, String, String)>,
    /// Bytes that may come yet: a long name that leads to many texts is said once for each.
    left: usize,
}

/// Finds all texts in a value. What stands at different indexes is joined with its own, and with what comes next, whichever
/// index that has. False where they come to more than is kept at once.
fn walk(value: &Value, way: &mut JsonPath, found: &mut LineTexts) -> bool {
    if way.pointer.len() > LONGEST_WAY {
        return false;
    }
    match value {
        Value::String(text) => [&way.names, &way.numbered].into_iter().all(|place| {
            let size = place.len() + way.pointer.len() + text.len();
            let Some(left) = found.left.checked_sub(size) else { return false };
            found.left = left;
            found.texts.push((place.clone(), way.pointer.clone(), text.clone()));
            true
        }),
        Value::Array(all) => {
            all.iter().enumerate().all(|(at, one)| walk(one, &mut way.to(&at.to_string(), None), found))
        }
        Value::Object(all) => {
            all.iter().all(|(name, one)| walk(one, &mut way.to(name, all.get("index")), found))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const SECRET: &str = "aab-aab-sécret";

    #[test]
    fn a_line_whose_names_would_fill_the_memory_passes_as_it_is() {
        let long = "k".repeat(1 << 20);
        for line in [
            format!("{{\"{long}\":[{}\"\"]}}\n", "\"\",".repeat(100_000)),
            format!("{{\"{}\":[{}\"\"]}}\n", &long[..60_000], "\"\",".repeat(100_000)),
        ] {
            assert_eq!(passed(std::slice::from_ref(&line)), line);
        }
    }

    fn pieces() -> SecretRedactor {
        SecretRedactor::of(&SECRET.into(), "*".to_owned()).unwrap()
    }

    fn passed(lines: &[String]) -> String {
        let mut pieces = pieces();
        let mut passed: Vec<u8> = lines.iter().flat_map(|line| pieces.feed(line.as_bytes())).collect();
        passed.extend(pieces.end());
        String::from_utf8(passed).unwrap()
    }

    fn texts(passed: &str) -> String {
        let values = passed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        values.filter_map(|value| value.pointer("/delta/text")?.as_str().map(str::to_owned)).collect()
    }

    fn event(index: u64, text: &str) -> String {
        format!("{}\n", json!({ "type": "delta", "index": index, "delta": { "text": text } }))
    }

    proptest! {
        #[test]
        fn a_secret_is_taken_out_in_however_many_pieces_it_comes(
            text in "(aab-|aab-aab-sécret|a|x|é|aab-aab-sé){0,12}",
            cuts in proptest::collection::vec(0_usize..160, 0..9),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| text.floor_char_boundary(cut.min(text.len()))).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let lines: Vec<String> = cuts.windows(2).map(|cut| event(0, &text[cut[0]..cut[1]])).collect();
            let told = texts(&passed(&lines));
            prop_assert!(!told.contains(SECRET), "{}", told);
            // Of a beginning that was too short to wait for, a few letters may have passed.
            let bare = told.replace("*", "");
            prop_assert!(bare.len() <= text.replace(SECRET, "").len() + 3 * text.matches(SECRET).count());
        }

        #[test]
        fn whatever_does_not_hold_the_secret_passes_as_it_is(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut pieces = pieces();
            let mut passed = pieces.feed(&bytes);
            passed.extend(pieces.end());
            prop_assert_eq!(passed, bytes);
        }
    }

    #[test]
    fn what_cannot_be_the_secret_does_not_wait() {
        let mut pieces = pieces();
        for text in ["x", "aab", "aab-aax"] {
            let line = event(0, text);
            assert_eq!(pieces.feed(line.as_bytes()), line.as_bytes(), "{text}");
        }
        assert_eq!(pieces.feed(event(0, "aab-aab").as_bytes()), b"");
        assert_eq!(pieces.feed(b": ping\n\n"), b"");
        let rest = String::from_utf8(pieces.feed(event(0, "!").as_bytes())).unwrap();
        assert!(rest.starts_with(&event(0, "aab-aab")) && rest.ends_with(&event(0, "!")), "{rest}");
        assert!(SecretRedactor::of(&"short".into(), String::new()).is_none());
    }

    #[test]
    fn pieces_are_found_beside_others_and_however_they_are_written() {
        let begin = event(0, "aab-a");
        let escaped = "{\"index\":0,\"delta\":{\"text\":\"ab-s\\u00e9cret.\"}}\n".to_owned();
        let made =
            passed(&[begin.clone(), event(1, "in between"), ": ping\n".into(), "[DONE]\n".into(), escaped]);
        assert_eq!(texts(&made), "*in between.", "{made}");
        assert!(made.contains(": ping\n[DONE]\n"), "{made}");
        let other = passed(&[begin.clone(), event(1, "ab-sécret, next")]);
        assert_eq!(texts(&other), "*, next", "from one index to the next");
        let whole = passed(&[format!("data: {}\r\n", json!({ "a": [{ "~/": format!("<{SECRET}>") }] }))]);
        assert_eq!(whole, "data: {\"a\":[{\"~/\":\"<*>\"}]}\r\n");
        let stream: Vec<String> = SECRET.chars().map(|letter| event(0, &letter.to_string())).collect();
        assert_eq!(texts(&passed(&stream)), "aab*");
    }

    #[test]
    fn nobody_makes_lines_wait_for_ever() {
        let mut pieces = pieces();
        assert_eq!(pieces.feed(event(0, "aab-aab-s").as_bytes()), b"");
        let filler = format!("{}\n", "x".repeat(MOST_WAITING));
        let passed = String::from_utf8(pieces.feed(filler.as_bytes())).unwrap();
        assert_eq!(texts(&passed), "*", "what may be its beginning is taken for it");
        assert!(passed.ends_with(&filler));
    }
}
