//! The end of what a GitHub Actions job printed, prepared for an agent and for the journal.

use std::sync::LazyLock;

use regex::Regex;

use journeyman_verify as verify;

/// Patterns of credentials.
static CREDENTIALS: LazyLock<Regex> = LazyLock::new(|| {
    let shapes = [
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
        r"\bgh[a-z]_[A-Za-z0-9]{16,}",
        r"\bgithub_pat_[A-Za-z0-9_]{16,}",
        r"\bglpat-[A-Za-z0-9_-]{16,}",
        r"\bnpm_[A-Za-z0-9]{30,}",
        r"\bsk-[A-Za-z0-9_-]{16,}",
        r"\bxox[a-z]-[A-Za-z0-9-]{10,}",
        r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
        r"\bAIza[0-9A-Za-z_-]{30,}",
        r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]{16,}=*",
    ];
    pattern(&shapes.join("|"))
});
static IN_ADDRESS: LazyLock<Regex> = LazyLock::new(|| pattern(r"://[^/\s:@]+:[^/\s@]+@"));
static TIME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)^\x{feff}?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ?"));

/// Marks an error in a job's log. What follows the last one is cleanup.
const ERROR: &str = "##[error]";

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| unreachable!("a pattern of ours: {error}"))
}

pub(super) fn redacted(text: &str) -> String {
    let text = CREDENTIALS.replace_all(text, "[redacted]");
    IN_ADDRESS.replace_all(&text, "://[redacted]@").into_owned()
}

/// The last 3,000 characters up to the last error, cleaned.
pub(super) fn end_of(log: &str) -> String {
    let text = redacted(&TIME.replace_all(log, ""));
    let end = text
        .rfind(ERROR)
        .map(|at| text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |line| at + line));
    verify::tail(text.get(..end.unwrap_or(text.len())).unwrap_or(&text)).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_what_led_to_the_last_error() {
        let log = "\u{feff}2024-05-06T07:08:09.1234567Z \u{1b}[36;1mpytest\u{1b}[0m\r\n\
                   2024-05-06T07:08:10.1234567Z FAILED test_add - assert 1 == 2\r\n\
                   2024-05-06T07:08:10.2234567Z ##[error]Process completed with exit code 1.\r\n\
                   2024-05-06T07:08:11.1234567Z Post job cleanup.\r\n";
        let end = end_of(log);
        assert_eq!(
            end,
            "pytest\nFAILED test_add - assert 1 == 2\n##[error]Process completed with exit code 1."
        );
        assert_eq!(end_of("2024-05-06T07:08:09.12Z no error\n"), "no error");
        let long = format!("{}##[error]x\n{}", "a".repeat(10_000), "b".repeat(10_000));
        let end = end_of(&long);
        assert!(end.ends_with("a##[error]x") && end.chars().count() <= 3_000, "{}", end.len());
    }

    #[test]
    fn credentials_do_not_come_along() {
        let model_key = format!("sk-{}-0123456789abcdef", "x");
        for secret in [
            "ghs_0123456789abcdefABCDEF",
            "github_pat_0123456789_abcdefghijk",
            model_key.as_str(),
            "AKIAIOSFODNN7EXAMPLE",
            "xoxb-123456789012-abcdef",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLWhlcmU",
            "Bearer abcdefghijklmnopqrstuvwxyz",
            "https://user:hunter22@example.org/x",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\nMIIabc cut off",
        ] {
            let end = end_of(&format!("before {secret}"));
            assert!(end.starts_with("before ") && end.contains("[redacted]"), "{secret}: {end}");
            for part in ["0123456789", "abcdef", "IOSFO", "MIIabc", "hunter22", "c2lnbmF0"] {
                assert!(!end.contains(part), "{secret}: {end}");
            }
        }
        assert_eq!(
            end_of("task-123 and skip-this-one, https://example.org:80/x"),
            "task-123 and skip-this-one, https://example.org:80/x"
        );
    }
}
