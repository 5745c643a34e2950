//! A secret that comes in pieces, in the texts of several lines of JSON: a model that repeats one says it a few letters an
//! event, and in no line it stands whole.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::json_values::has_too_many_values;

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
/// Bytes of such beginnings, with where they stand. A stream has a few dozen; whoever makes up places is not remembered.
const MOST_OPEN: usize = 256 << 10;
/// Of each, beside its texts.
const OPEN_ONE: usize = 128;

/// Takes one secret out of lines as they come. A line is JSON, or `data:` and JSON as in server-sent events; others pass.
pub struct SecretRedactor {
    secret: SecretString,
    mask: String,
    /// What becomes of JSON that is too much to be read.
    unread: UnreadLines,
    /// A line without its end.
    begun: Vec<u8>,
    /// Bytes of a line that is left out, while it has no end.
    left_out: Option<usize>,
    /// Lines that wait, from the line with this number on.
    waiting: VecDeque<BufferedLine>,
    waiting_bytes: usize,
    first: u64,
    /// By where in a line a text stands: what of the secret's beginning the texts there ended with.
    open: BTreeMap<String, Vec<SecretFragment>>,
    open_bytes: usize,
    /// The first line that waits, as far as it is known since something was begun or ended.
    held: Option<Option<u64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnreadLines {
    Pass,
    LeaveOut,
}

struct BufferedLine {
    raw: Vec<u8>,
    /// Where its JSON begins, and that.
    read: Option<(usize, Value)>,
    cuts: Vec<RedactedSpan>,
}

/// What is taken out of a text of a line.
struct RedactedSpan {
    pointer: Arc<str>,
    range: Range<usize>,
    /// Whether the mask stands there.
    is_first: bool,
}

/// A part of a text.
struct SecretFragment {
    line: u64,
    pointer: Arc<str>,
    from: usize,
    text: String,
}

impl SecretRedactor {
    /// For this secret, with the mask in its place; none where it is too short to be looked for.
    pub fn of(secret: &SecretString, mask: String) -> Option<Self> {
        (secret.expose_secret().len() >= SHORTEST).then(|| Self {
            secret: secret.clone(),
            mask,
            unread: UnreadLines::Pass,
            begun: Vec::new(),
            left_out: None,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            first: 0,
            open: BTreeMap::new(),
            open_bytes: 0,
            held: Some(None),
        })
    }

    /// For lines that are kept or shown: of JSON that is too much to be read nobody knows what it holds, so that another
    /// line stands in its place and says so.
    #[must_use]
    pub fn leaving_out_unread(self) -> Self {
        Self { unread: UnreadLines::LeaveOut, ..self }
    }

    /// What may pass of what came.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = part.ends_with(b"\n");
            if let Some(left_out) = &mut self.left_out {
                *left_out += part.len();
                if is_whole {
                    self.say_left_out();
                }
                continue;
            }
            self.begun.extend_from_slice(part);
            if is_whole || self.begun.len() > LONGEST_LINE {
                self.take_line(is_whole);
            }
        }
        self.pass(false)
    }

    /// There is no more.
    pub fn end(&mut self) -> Vec<u8> {
        self.take_line(true);
        self.say_left_out();
        self.pass(true)
    }

    fn take_line(&mut self, is_whole: bool) {
        let raw = std::mem::take(&mut self.begun);
        if raw.is_empty() {
            return;
        }
        let number = self.next();
        let (read, texts) = match read(&raw) {
            LineRead::Json { from, value, texts } => (Some((from, value)), texts),
            LineRead::TooMuch if self.unread == UnreadLines::LeaveOut => {
                self.left_out = Some(raw.len());
                if is_whole {
                    self.say_left_out();
                }
                return;
            }
            LineRead::TooMuch | LineRead::Other => (None, Vec::new()),
        };
        self.wait(BufferedLine { raw, read, cuts: Vec::new() });
        for (place, pointer, text) in texts {
            self.see(place, SecretFragment { line: number, pointer, from: 0, text });
        }
    }

    fn wait(&mut self, line: BufferedLine) {
        self.waiting_bytes += line.raw.len();
        self.waiting.push_back(line);
    }

    fn say_left_out(&mut self) {
        let Some(bytes) = self.left_out.take() else { return };
        let said = json!({ "left_out": format!("a line of {bytes} bytes, which is too much to be read") });
        self.wait(BufferedLine { raw: format!("{said}\n").into_bytes(), read: None, cuts: Vec::new() });
    }

    fn next(&self) -> u64 {
        self.first.saturating_add(u64::try_from(self.waiting.len()).unwrap_or(u64::MAX))
    }

    /// Joins a text to what the ones before it ended with.
    fn see(&mut self, place: String, piece: SecretFragment) {
        let secret = self.secret.clone();
        let secret = secret.expose_secret();
        let mut pieces = self.open.remove(&place).unwrap_or_default();
        if !pieces.is_empty() {
            self.open_bytes = self.open_bytes.saturating_sub(weight(&place, &pieces));
            self.held = None;
        }
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
            let pieces = last_of(pieces, length);
            self.open_bytes += weight(&place, &pieces);
            self.held = None;
            self.open.insert(place, pieces);
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
                line.cuts.push(RedactedSpan { pointer: Arc::clone(&piece.pointer), range, is_first });
                is_first = false;
            }
            at += piece.text.len();
        }
    }

    /// The lines that need not wait any more.
    fn pass(&mut self, all: bool) -> Vec<u8> {
        if (self.waiting_bytes > MOST_WAITING || self.open_bytes > MOST_OPEN) && !all {
            for pieces in
                std::mem::take(&mut self.open).into_values().filter(|pieces| is_worth_waiting(pieces))
            {
                self.cut(&pieces, 0..length(&pieces));
            }
            (self.open_bytes, self.held) = (0, Some(None));
        }
        let held = self.held.unwrap_or_else(|| self.first_held());
        self.held = Some(held);
        let until = held.filter(|_| !all).unwrap_or_else(|| self.next());
        let mut passed = Vec::new();
        while self.first < until
            && let Some(line) = self.waiting.pop_front()
        {
            self.waiting_bytes -= line.raw.len();
            passed.extend(line.written(&self.mask));
            self.first += 1;
        }
        passed
    }

    /// The first line in which a beginning stands that is worth waiting for.
    fn first_held(&self) -> Option<u64> {
        let held = self.open.values().filter(|pieces| is_worth_waiting(pieces)).flatten();
        held.map(|piece| piece.line).filter(|line| *line >= self.first).min()
    }
}

impl BufferedLine {
    fn written(self, mask: &str) -> Vec<u8> {
        let Some((from, mut value)) = self.read.filter(|_| !self.cuts.is_empty()) else { return self.raw };
        for cuts in merged(self.cuts).chunk_by(|one, next| one.pointer == next.pointer) {
            let pointer = cuts.first().map(|cut| &*cut.pointer).unwrap_or_default();
            if let Some(Value::String(text)) = value.pointer_mut(pointer) {
                *text = without(text, cuts, mask);
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

/// A text without these parts, which come in their order.
fn without(text: &str, cuts: &[RedactedSpan], mask: &str) -> String {
    let (mut clean, mut at) = (String::with_capacity(text.len()), 0);
    for cut in cuts {
        let to = cut.range.end.min(text.len());
        if cut.range.start <= to
            && text.is_char_boundary(to)
            && let Some(kept) = text.get(at..cut.range.start)
        {
            clean.push_str(kept);
            clean.push_str(if cut.is_first { mask } else { "" });
            at = to;
        }
    }
    clean.push_str(text.get(at..).unwrap_or_default());
    clean
}

/// By place, each part of a text once: one text is looked at in two ways.
fn merged(mut cuts: Vec<RedactedSpan>) -> Vec<RedactedSpan> {
    cuts.sort_by(|one, other| {
        // A long way is not read again for each of many cuts.
        let is_same = Arc::ptr_eq(&one.pointer, &other.pointer);
        let by_pointer = if is_same { Ordering::Equal } else { one.pointer.cmp(&other.pointer) };
        by_pointer.then(one.range.start.cmp(&other.range.start))
    });
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

/// What a beginning takes of the memory.
fn weight(place: &str, pieces: &[SecretFragment]) -> usize {
    let pieces = pieces.iter().map(|piece| piece.pointer.len() + piece.text.len() + OPEN_ONE);
    place.len() + pieces.sum::<usize>()
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

/// What a line is.
enum LineRead {
    /// Where its JSON begins, that, and the texts in it.
    Json {
        from: usize,
        value: Value,
        texts: Vec<FoundText>,
    },
    /// It begins as JSON, and is too much to be read.
    TooMuch,
    Other,
}

fn read(raw: &[u8]) -> LineRead {
    let from = if raw.starts_with(b"data:") { 5 } else { 0 };
    let json = raw.get(from..).unwrap_or_default().trim_ascii_start();
    if !json.starts_with(b"{") && !json.starts_with(b"[") {
        return LineRead::Other;
    }
    if raw.len() > LONGEST_LINE || has_too_many_values(json) {
        return LineRead::TooMuch;
    }
    let Ok(value) = serde_json::from_slice(json) else { return LineRead::Other };
    let mut found = LineTexts { texts: Vec::new(), left: MOST_TEXTS };
    match walk(&value, &mut JsonPath::default(), &mut found) {
        true => LineRead::Json { from: raw.len() - json.len(), value, texts: found.texts },
        false => LineRead::TooMuch,
    }
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

/// A text of a line: where it belongs, its pointer, and itself.
type FoundText = (String, Arc<str>, String);

/// The texts of a line.
struct LineTexts {
    texts: Vec<FoundText>,
    /// Bytes that may come yet: a long name that leads to many values is said once for each.
    left: usize,
}

/// Finds all texts in a value. What stands at different indexes is joined with its own, and with what comes next, whichever
/// index that has. False where they come to more than is kept at once.
fn walk(value: &Value, way: &mut JsonPath, found: &mut LineTexts) -> bool {
    let size = way.pointer.len();
    if size > LONGEST_WAY || size > found.left {
        return false;
    }
    found.left -= size;
    match value {
        Value::String(text) => {
            let pointer: Arc<str> = way.pointer.as_str().into();
            [&way.names, &way.numbered].into_iter().all(|place| {
                let Some(left) = found.left.checked_sub(place.len() + text.len()) else { return false };
                found.left = left;
                found.texts.push((place.clone(), Arc::clone(&pointer), text.clone()));
                true
            })
        }
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
            let left_out = format!(
                "{{\"left_out\":\"a line of {} bytes, which is too much to be read\"}}\n",
                line.len()
            );
            assert_eq!(kept(&[&line, "[1]\n"]), format!("{left_out}[1]\n"));
        }
    }

    #[test]
    fn a_line_of_too_many_values_or_bytes_is_left_out_of_what_is_kept() {
        let values = format!("{{\"a\":[{}0]}}", "[],".repeat(60_000));
        let bytes = format!("data: {{\"a\":\"{}\"}}", "x".repeat(LONGEST_LINE));
        let plain = "x,".repeat(LONGEST_LINE / 2 + 9);
        for (line, is_kept) in [(&values, false), (&bytes, false), (&plain, true)] {
            for end in ["\n", ""] {
                let line = format!("{line}{end}");
                assert!(passed(std::slice::from_ref(&line)) == line, "whoever only passes it on does not");
                let kept = kept(&["[1]\n", &line]);
                assert_eq!(kept == format!("[1]\n{line}"), is_kept, "{}", kept.len());
                let left_out = format!("a line of {} bytes", line.len());
                assert_eq!(kept.contains(&left_out) && kept.lines().count() == 2, !is_kept);
            }
        }
    }

    #[test]
    fn whoever_makes_up_places_fills_no_memory_and_lets_no_line_wait() {
        let mut pieces = pieces();
        for number in 0..5_000 {
            let line = format!("{{\"{number}-{}\":\"a\"}}\n", "k".repeat(100));
            assert_eq!(pieces.feed(line.as_bytes()), line.as_bytes());
        }
        assert!(pieces.open_bytes <= 2 * MOST_OPEN && pieces.open.len() <= 2 * MOST_OPEN / OPEN_ONE);
        // What is worth waiting for is not forgotten for it: it is taken for the secret.
        assert_eq!(pieces.feed(event(0, "aab-aab-s").as_bytes()), b"");
        let many: String = (0..4_000).map(|number| format!("\"{number}\":\"a\",")).collect();
        let rest = pieces.feed(format!("{{{many}\"end\":0}}\n").as_bytes());
        assert!(String::from_utf8(rest).unwrap().starts_with(&event(0, "*")));
    }

    #[test]
    fn a_text_that_says_the_secret_often_is_clean_in_one_go() {
        let name = "k".repeat(60_000);
        let line = format!("{{\"{name}\":\"{}\"}}\n", SECRET.repeat(50_000));
        let clean = passed(&[line]);
        assert!(clean == format!("{{\"{name}\":\"{}\"}}\n", "*".repeat(50_000)), "{}", clean.len());
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

    /// The same of what is kept.
    fn kept(lines: &[&str]) -> String {
        let mut pieces = pieces().leaving_out_unread();
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
