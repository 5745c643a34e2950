//! Tells a token from other text of the same form: by checksum, randomness and content.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The alphabet of GitHub's and npm's checksums.
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Length of a checksum.
const CHECKSUM: usize = 6;
/// This many equal letters in a row are not accidental.
const RUN: usize = 7;
/// Words in placeholders only.
const MADE_UP: [&[u8]; 13] = [
    b"example", b"sample", b"dummy", b"placeholder", b"redacted", b"changeme", b"your-", b"your_", b"not-a-",
    b"fake", b"test-only", b"1234567890abcdef", b"abcdefghijklmnop",
];

/// Bits of entropy per byte, from 0 to 8.
pub(super) fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    // Tokens are far too short for this to round.
    let all = f64::from(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    let share = |count: &u32| f64::from(*count) / all;
    counts.iter().filter(|count| **count > 0).map(share).map(|share| -share * share.log2()).sum()
}

/// Whether a token looks like a placeholder.
pub(super) fn is_placeholder(token: &[u8]) -> bool {
    static SAYS: LazyLock<Option<AhoCorasick>> =
        LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(MADE_UP).ok());
    let mut run = 1;
    let same = token.windows(2).any(|pair| {
        run = if matches!(pair, [a, b] if a.eq_ignore_ascii_case(b)) { run + 1 } else { 1 };
        run >= RUN
    });
    same || SAYS.as_ref().is_some_and(|says| says.is_match(token))
}

/// The checksum of GitHub's and npm's tokens: CRC-32 of the part after the prefix, in six letters.
pub(super) fn checksum(secret: &[u8]) -> String {
    let mut crc = flate2::Crc::new();
    crc.update(secret);
    let (mut rest, mut letters) = (crc.sum(), [b'0'; CHECKSUM]);
    for letter in letters.iter_mut().rev() {
        *letter = LETTERS[(rest % 62) as usize];
        rest /= 62;
    }
    letters.iter().copied().map(char::from).collect()
}

/// Whether a token ends in the checksum of the part after its prefix.
pub(super) fn has_checksum(token: &[u8]) -> bool {
    let secret = token.iter().rposition(|byte| *byte == b'_').and_then(|at| token.get(at + 1..));
    let parts = secret.and_then(|secret| secret.split_last_chunk::<CHECKSUM>());
    parts.is_some_and(|(secret, claimed)| checksum(secret).as_bytes() == claimed)
}

/// Whether header and payload are JSON objects and the header names an algorithm.
pub(super) fn is_web_token(token: &[u8]) -> bool {
    let mut parts = token.split(|byte| *byte == b'.').map(|part| {
        let json = URL_SAFE_NO_PAD.decode(part).ok()?;
        serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&json).ok()
    });
    let head = parts.next().flatten();
    head.is_some_and(|head| head.contains_key("alg")) && parts.next().flatten().is_some()
}

/// Whether the part before the first dot is a long number in base64.
pub(super) fn begins_with_number(token: &[u8]) -> bool {
    let first = token.split(|byte| *byte == b'.').next().unwrap_or_default();
    URL_SAFE_NO_PAD
        .decode(first)
        .is_ok_and(|number| number.len() >= 17 && number.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_that_github_writes() {
        // A revoked token, published as an example of the form.
        let secret = ["zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", "0mLq17"];
        assert_eq!(checksum(secret[0].as_bytes()), secret[1]);
        let token = format!("ghp_{}{}", secret[0], secret[1]);
        assert!(has_checksum(token.as_bytes()));
        assert!(!has_checksum(token.replace('z', "y").as_bytes()));
        assert_eq!(checksum(b""), "000000");
        assert!(!has_checksum(b"") && !has_checksum(b"ghp_") && !has_checksum(b"ghp_12345"));
    }

    #[test]
    fn randomness_is_measured() {
        assert!(entropy(b"").abs() < f64::EPSILON && entropy(b"aaaa").abs() < f64::EPSILON);
        assert!((entropy(b"abcd") - 2.0).abs() < 1e-9);
        assert!(is_placeholder(b"AKIAIOSFODNN7EXAMPLE") && is_placeholder(b"ghp_xxxxxxx"));
        assert!(!is_placeholder(b"ghp_xxxxyyy"));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_have_an_answer(bytes in proptest::collection::vec(0_u8..=255, 0..80)) {
            has_checksum(&bytes);
            is_web_token(&bytes);
            begins_with_number(&bytes);
            is_placeholder(&bytes);
            proptest::prop_assert!((0.0..=8.0).contains(&entropy(&bytes)));
        }
    }
}
