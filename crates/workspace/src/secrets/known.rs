//! Searches outgoing bytes for our own secrets: whole or in pieces, plain, in base64, in hex, escaped, or split by
//! quotes, newlines and anything else that is neither letter nor digit.
//!
//! Both text and secrets are *squeezed* to letters and digits, so that `"gh" + "s_ab"` and `ghs_ab` are equal.
//! Encrypting, compressing or reversing a secret defeats this. The main protection is that none of our secrets is where
//! an agent runs.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use secrecy::{ExposeSecret, SecretString};

use journeyman_order::bounds::SHORTEST_SECRET;

/// Letters and digits in a piece of a secret: too many for an accidental match.
const PIECE: usize = 16;

/// Named secrets, prepared for the search. Cheap to clone; prints only the names.
#[derive(Clone, Default)]
pub struct SecretSet(Arc<SecretSetInner>);

#[derive(Default)]
struct SecretSetInner {
    names: Vec<String>,
    too_short: Vec<String>,
    search: Option<AhoCorasick>,
    /// The index of the secret for each piece.
    whose: Vec<usize>,
}

impl SecretSet {
    /// Secrets with their names for people, such as `the App's private key`. A PEM file is passed unchanged, as it is
    /// on disk.
    pub fn new(secrets: impl IntoIterator<Item = (String, SecretString)>) -> Self {
        Self::beside(secrets, "")
    }

    /// Like [`Self::new`], for key files with public parts: pieces of the text `public` do not count.
    pub fn beside(secrets: impl IntoIterator<Item = (String, SecretString)>, public: &str) -> Self {
        let (names, secrets): (Vec<String>, Vec<SecretString>) = secrets.into_iter().unzip();
        let mut pieces: Vec<(Vec<u8>, usize)> = Vec::new();
        for (whose, secret) in secrets.iter().enumerate() {
            pieces.extend(self::pieces(secret.expose_secret()).into_iter().map(|piece| (piece, whose)));
        }
        let public = squeezed(public.as_bytes(), EscapeReading::AsIs);
        if let Some(search) = search_for(&pieces).filter(|_| !public.is_empty()) {
            let found = search.find_overlapping_iter(&public).map(|hit| hit.pattern().as_usize());
            let in_public: BTreeSet<usize> = found.collect();
            let private = pieces.into_iter().enumerate().filter(|(number, _)| !in_public.contains(number));
            pieces = private.map(|(_, piece)| piece).collect();
        }
        let search = search_for(&pieces);
        let whose: Vec<usize> = pieces.into_iter().map(|(_, whose)| whose).collect();
        let looked_for: BTreeSet<usize> =
            if search.is_some() { whose.iter().copied().collect() } else { BTreeSet::new() };
        let too_short = (0..names.len()).filter(|whose| !looked_for.contains(whose));
        let too_short = too_short.map(|whose| names[whose].clone()).collect();
        Self(Arc::new(SecretSetInner { names, too_short, search, whose }))
    }

    /// Names of secrets too short to search for: under eight letters and digits.
    pub fn too_short(&self) -> &[String] {
        &self.0.too_short
    }

    /// The name of a secret found in a text, whole or in a piece.
    pub fn named_in(&self, text: &str) -> Option<&str> {
        self.hits(text.as_bytes(), 1).first().map(|(name, _)| *name)
    }

    /// Up to `most` secrets in these bytes, each once, with its line from 1.
    pub(super) fn hits(&self, bytes: &[u8], most: usize) -> Vec<(&str, usize)> {
        let mut hits: Vec<(&str, usize)> = Vec::new();
        let Some(search) = &self.0.search else { return hits };
        let most = most.min(self.0.names.len() - self.0.too_short.len());
        if most == 0 {
            return hits;
        }
        for reading in [EscapeReading::AsIs, EscapeReading::Unescaped] {
            if reading == EscapeReading::Unescaped
                && !bytes.iter().any(|byte| matches!(byte, b'%' | b'\\' | b'&'))
            {
                break;
            }
            let squeezed = squeezed(bytes, reading);
            for found in search.find_overlapping_iter(&squeezed) {
                let whose = self.0.whose.get(found.pattern().as_usize());
                let name = whose.and_then(|whose| self.0.names.get(*whose));
                if let Some(name) = name.filter(|name| hits.iter().all(|(hit, _)| hit != name)) {
                    hits.push((name.as_str(), line_of(bytes, reading, found.start())));
                }
                if hits.len() >= most {
                    return hits;
                }
            }
        }
        hits
    }
}

impl fmt::Debug for SecretSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let looked_for = self.0.names.iter().filter(|name| !self.0.too_short.contains(name));
        out.debug_tuple("Known").field(&looked_for.collect::<Vec<_>>()).finish()
    }
}

fn search_for(pieces: &[(Vec<u8>, usize)]) -> Option<AhoCorasick> {
    let texts = pieces.iter().map(|(text, _)| text);
    AhoCorasick::builder().ascii_case_insensitive(true).build(texts).ok()
}

/// The pieces to search for; empty if the secret is too short.
fn pieces(secret: &str) -> Vec<Vec<u8>> {
    let core = core(secret.trim());
    let plain = squeezed(core.as_bytes(), EscapeReading::AsIs);
    if plain.len() < SHORTEST_SECRET {
        return Vec::new();
    }
    let mut all = windows(&plain, PIECE, 1);
    for before in 0..3 {
        // After one or two other bytes, base64 encodes the same bytes as different letters.
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(core.as_bytes());
        let mut text = STANDARD_NO_PAD.encode(&bytes).into_bytes();
        if bytes.len() % 3 != 0 {
            // The last letter depends on what follows.
            text.pop();
        }
        let own = text.get([0, 2, 3][before]..).unwrap_or_default();
        all.extend(windows(&squeezed(own, EscapeReading::AsIs), PIECE, 1));
    }
    all.extend(windows(hex::encode(core.as_bytes()).as_bytes(), 2 * PIECE, 2));
    all
}

/// The secret part: the first line of a private key and the header of a web token are common to many.
fn core(secret: &str) -> String {
    if secret.starts_with("-----BEGIN") {
        let lines: Vec<&str> =
            secret.lines().map(str::trim).filter(|line| !line.starts_with("-----")).collect();
        return if lines.len() > 2 { lines[1..].join("\n") } else { lines.join("\n") };
    }
    match secret.find("eyJ").and_then(|token| secret[token..].find('.').map(|dot| token + dot + 1)) {
        Some(payload) => secret[payload..].to_owned(),
        None => secret.to_owned(),
    }
}

/// All pieces of this length that ordinary text would not contain, or the whole.
fn windows(text: &[u8], length: usize, step: usize) -> Vec<Vec<u8>> {
    if text.len() < SHORTEST_SECRET {
        return Vec::new();
    }
    let mixed =
        |piece: &[u8]| piece.iter().any(u8::is_ascii_digit) && piece.iter().any(u8::is_ascii_alphabetic);
    let pieces: Vec<Vec<u8>> =
        text.windows(length).step_by(step).filter(|piece| mixed(piece)).map(<[u8]>::to_vec).collect();
    if pieces.is_empty() { vec![text.to_vec()] } else { pieces }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EscapeReading {
    /// `%41`, `\x41` and `0x41` are the digits 41, which joins bytes listed in hex.
    AsIs,
    /// `%41`, `\x41`, `\u0041`, `\101` and `&#65;` are the letter A.
    Unescaped,
}

fn squeezed(bytes: &[u8], reading: EscapeReading) -> Vec<u8> {
    let mut left = Vec::new();
    squeeze(bytes, reading, |byte, _| {
        left.push(byte);
        true
    });
    left
}

/// The line of a byte of the squeezed text.
fn line_of(bytes: &[u8], reading: EscapeReading, index: usize) -> usize {
    let (mut seen, mut place) = (0, 0);
    squeeze(bytes, reading, |_, at| {
        place = at;
        seen += 1;
        seen <= index
    });
    1 + bytes.iter().take(place).filter(|byte| **byte == b'\n').count()
}

/// Passes each letter and digit with its position to `each`, until that returns false.
fn squeeze(bytes: &[u8], reading: EscapeReading, mut each: impl FnMut(u8, usize) -> bool) {
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at + 1..).unwrap_or_default();
        let (meant, length) = match (byte, rest) {
            (b'\\', [b'n' | b'r' | b't', ..]) => (None, 2),
            (b'%' | b'\\' | b'&', _) if reading == EscapeReading::Unescaped => {
                escape(byte, rest).map_or((None, 1), |(meant, length)| (Some(meant), length))
            }
            (b'\\' | b'0', [b'x', ..]) => (None, 2),
            _ => (Some(byte), 1),
        };
        if let Some(letter) = meant.filter(u8::is_ascii_alphanumeric)
            && !each(letter, at)
        {
            return;
        }
        at += length;
    }
}

/// The byte that an escape encodes, and the escape's length.
fn escape(first: u8, rest: &[u8]) -> Option<(u8, usize)> {
    let number = |from: usize, length: usize, radix: u32| {
        let digits = std::str::from_utf8(rest.get(from..from + length)?).ok()?;
        u32::from_str_radix(digits, radix).ok().and_then(|number| u8::try_from(number).ok())
    };
    match (first, rest) {
        (b'%', _) => number(0, 2, 16).map(|byte| (byte, 3)),
        (b'\\', [b'x', ..]) => number(1, 2, 16).map(|byte| (byte, 4)),
        (b'\\', [b'u', ..]) => number(1, 4, 16).map(|byte| (byte, 6)),
        (b'\\', [b'0'..=b'7', ..]) => number(0, 3, 8).map(|byte| (byte, 4)),
        (b'&', [b'#', tail @ ..]) => {
            let end = tail.iter().take(6).position(|byte| *byte == b';')?;
            let hex = matches!(tail.first(), Some(b'x' | b'X'));
            let found = if hex { number(2, end.checked_sub(1)?, 16) } else { number(1, end, 10) };
            found.map(|byte| (byte, end + 3))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    const TOKEN: &str = "ghs_q7Zx2Lm9Rt4Vb8Nc1Kd6Wf3Hj5Pg0Ys2Ta";
    const PEM: &str = "-----BEGIN RSA PRIVATE KEY-----\n\
        MIIEpAIBAAKCAQEAxJ4vTq0m8Zk1mR2pY7cW5uD9eF3gH6iK0lN4oQ8sT1vX2yA5\n\
        bC7dE9fG1hI3jK5lM7nO9pQ1rS3tU5vW7xY9zA1bC3dE5fG7hI9jK1lM3nO5pQ7r\n\
        S9tU1vW3xY5zA7bC9dE1fG3hI5jK7lM9nO1pQ3rS5tU7vW9xY1zA3bC5dE7fG9hI\n\
        -----END RSA PRIVATE KEY-----\n";

    fn known() -> &'static SecretSet {
        static KNOWN: std::sync::LazyLock<SecretSet> = std::sync::LazyLock::new(made);
        &KNOWN
    }

    fn made() -> SecretSet {
        let secrets = [
            ("the token", TOKEN),
            ("the key", PEM),
            ("the password", "correct horse battery staple"),
            ("the PIN", "1234"),
        ];
        SecretSet::new(secrets.map(|(name, secret)| (name.to_owned(), SecretString::from(secret))))
    }

    fn base64(text: &str) -> String {
        base64::engine::general_purpose::STANDARD.encode(text)
    }

    #[test]
    fn a_secret_is_found_however_it_is_written() {
        let known = known();
        let bytes = TOKEN.bytes();
        let listed = |before: &str, after: &str| {
            TOKEN.bytes().fold(String::new(), |mut all, byte| {
                write!(all, "{before}{byte:02x}{after}").unwrap();
                all
            })
        };
        let octal: String = bytes.clone().map(|byte| format!("\\{byte:03o}")).collect();
        let entities: String = bytes.clone().map(|byte| format!("&#{byte};")).collect();
        let utf16: String = bytes.map(|byte| format!("{}\0", char::from(byte))).collect();
        let (front, back) = TOKEN.split_at(19);
        for text in [
            TOKEN.to_owned(),
            format!("x{TOKEN}x"),
            TOKEN.to_lowercase(),
            format!("\"{front}\" + \"{back}\""),
            format!("'{front}'\n  '{back}'"),
            format!("# {front}\n# {back}"),
            format!("{front}\\n{back}"),
            format!("a = \"{front}\"; and somewhere else\n"),
            format!("b = [\"{back}\"]"),
            TOKEN.chars().map(|c| format!("'{c}', ")).collect(),
            base64(TOKEN),
            base64(&format!("a{TOKEN}")),
            base64(&format!("ab{TOKEN}cd")),
            base64(&format!("x-access-token:{TOKEN}")).replace('+', "-"),
            base64(TOKEN)
                .as_bytes()
                .chunks(7)
                .map(|c| format!("{}\n", std::str::from_utf8(c).unwrap()))
                .collect(),
            hex::encode(TOKEN),
            hex::encode_upper(format!("abc{TOKEN}")),
            listed("\\x", ""),
            listed("0x", ", "),
            listed("%", ""),
            listed("\\u00", ""),
            listed("", ":"),
            TOKEN.replace('_', "%5F").replace('9', "%39"),
            octal,
            entities,
            utf16,
        ] {
            assert_eq!(known.named_in(&text), Some("the token"), "{text:?}");
        }
    }

    #[test]
    fn a_private_key_is_found_by_each_of_its_lines_but_not_by_what_all_keys_have() {
        let known = known();
        for text in [
            PEM.to_owned(),
            PEM.replace('\n', "\\n"),
            PEM.replace('\n', "\r\n"),
            PEM.lines().nth(2).unwrap().to_owned(),
            PEM.lines().nth(3).unwrap()[20..50].to_owned(),
            base64(PEM),
            base64(&format!("{{\"key\": \"{PEM}")),
            hex::encode(PEM),
        ] {
            assert_eq!(known.named_in(&text), Some("the key"), "{text:?}");
        }
        let other = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA";
        assert_eq!(known.named_in(other), None);
        let token = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9";
        let secret = format!("ghs_17_{token}.eyJpc3MiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlLW9mLXNvbWVib2R5");
        let known = SecretSet::new([("t".to_owned(), SecretString::from(secret.as_str()))]);
        assert_eq!((known.named_in(token), known.named_in(&secret)), (None, Some("t")));
    }

    #[test]
    fn words_and_short_pieces_are_no_secret_and_what_cannot_be_looked_for_is_named() {
        let known = known();
        for text in ["", "correct horse", "a battery staple", "1234", &TOKEN[..15], "ghs_", "the token"] {
            assert_eq!(known.named_in(text), None, "{text:?}");
        }
        assert_eq!(known.named_in("correct-horse\nbattery_staple"), Some("the password"));
        assert_eq!(known.too_short(), ["the PIN"]);
        assert!(SecretSet::default().hits(TOKEN.as_bytes(), 9).is_empty());
        assert_eq!(format!("{known:?}"), r#"Known(["the token", "the key", "the password"])"#);
    }

    #[test]
    fn what_a_private_key_has_in_common_with_its_public_half_is_no_secret() {
        let (public, private) = PEM.split_at(PEM.len() / 2);
        let secret = [("the key".to_owned(), SecretString::from(PEM))];
        let known = SecretSet::beside(secret, public);
        assert_eq!((known.named_in(public), known.named_in(private)), (None, Some("the key")));
    }

    #[test]
    fn it_is_told_which_line() {
        let text = format!("a\nb\n\nx = {TOKEN}\n{PEM}");
        let known = known();
        let lines = known.hits(text.as_bytes(), 9);
        assert_eq!(lines, [("the token", 4), ("the key", 7)]);
        let text = "\n".to_owned() + &TOKEN.replace('9', "%39").replace('4', "%34");
        assert_eq!(known.hits(text.as_bytes(), 9), [("the token", 2)]);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_searched_without_a_panic(bytes in proptest::collection::vec(0_u8..=255, 0..400)) {
            known().hits(&bytes, 9);
        }

        #[test]
        fn escapes_in_any_order_are_read_without_a_panic(text in "([%\\\\&#xu0;]|[0-9a-f]){0,40}") {
            known().hits(text.as_bytes(), 9);
        }

        /// At any position and with anything mixed in.
        #[test]
        fn a_token_is_found_between_anything(
            before in "\\PC{0,40}", after in "\\PC{0,40}", strewn in "[-+'\", \n()]{0,6}", at in 1_usize..38,
        ) {
            let token = format!("{}{strewn}{}", &TOKEN[..at], &TOKEN[at..]);
            let text = format!("{before}{token}{after}");
            proptest::prop_assert_eq!(known().named_in(&text), Some("the token"));
        }
    }
}
