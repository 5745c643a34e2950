//! Words in commit messages and pull requests that release tools act on: the next version, a breaking change, a
//! replaced message. No agent decides these.

use std::sync::LazyLock;

use regex::Regex;

/// What is replaced in a line, and by what. False positives are fine: the text stays readable.
const WORDS: [(&str, &str); 6] = [
    // `Release-As: 2.0.0`, of release-please.
    (r"(?i)(release)-(as)", "$1 $2"),
    // `BREAKING CHANGE: …`, of Conventional Commits. Parsers expect it at the start of a line, in any case and
    // sometimes without the colon.
    (r"(?i)^(?<before>[^\p{Alphabetic}\p{N}]*)breaking[\s-]+change", "${before}INCOMPATIBLE change"),
    (r"(?i)breaking[\s-]+change(?<after>s?\s*[:#])", "INCOMPATIBLE change$after"),
    // `feat!: …`, `feat(api)!: …`
    (r"^(?<kind>\W*[\w./-]+(?:\s*\(.*\))?\s*)!+(?<colon>\s*:)", "$kind$colon"),
    // `+semver: major` and `#major`, of GitVersion and similar tools.
    (r"(?i)(?:\++(semver\s*:)|[#\u{ff03}]+(major|minor|patch|none)\b)", "$1$2"),
    // What release-please reads in place of the message.
    (r"(?i)(begin|end)_(commit_override|nested_commit)", "$1 $2"),
];

/// Every regex compiles; a test checks that.
static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    WORDS.iter().filter_map(|(words, instead)| Some((Regex::new(words).ok()?, *instead))).collect()
});

/// The text without words that steer a release. Idempotent.
pub fn calmed(text: &str) -> String {
    text.split('\n').map(calm_line).collect::<Vec<_>>().join("\n")
}

fn calm_line(line: &str) -> String {
    RULES
        .iter()
        .fold(line.to_owned(), |line, (words, instead)| words.replace_all(&line, *instead).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_release_is_taken_apart_and_other_words_stay() {
        assert_eq!(RULES.len(), WORDS.len());
        for (text, calm) in [
            ("Release-As: 2.0.0", "Release As: 2.0.0"),
            ("| * BREAKING-CHANGE: a", "| * INCOMPATIBLE change: a"),
            ("a\nbreaking changes\nb", "a\nINCOMPATIBLE changes\nb"),
            ("and breaking changes : a", "and INCOMPATIBLE changes : a"),
            ("no breaking change here", "no breaking change here"),
            ("feat((a) b) !!: c", "feat((a) b) : c"),
            ("- fix!: b", "- fix: b"),
            ("Look here!: it is so", "Look here!: it is so"),
            ("assert!(a); b::c!()", "assert!(a); b::c!()"),
            ("++semver: breaking ##major #majority", "semver: breaking major #majority"),
            ("END_NESTED_COMMIT", "END NESTED_COMMIT"),
            ("release as before, breaking news", "release as before, breaking news"),
        ] {
            assert_eq!(calmed(text), calm);
            assert_eq!(calmed(calm), calm);
        }
    }
}
