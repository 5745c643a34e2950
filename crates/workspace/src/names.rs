//! File names that are safe on every machine that will check them out, not only on this one.

use unicode_normalization::UnicodeNormalization;

use journeyman_order::commit_message::is_hidden;

/// Longest file name, in bytes, on common file systems.
const LONGEST: usize = 255;
/// Device names on Windows, with any extension.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// What is wrong with an entry's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryNameProblem {
    /// Unsafe everywhere, including here.
    Unsafe(&'static str),
    /// Some file system treats it as another file's name: adding one is refused.
    Alias(&'static str),
    /// Some file systems cannot check it out. A clone there fails, without other harm.
    Unportable(&'static str),
}

/// The worst problem of an entry's name, if any.
pub(super) fn entry_name_problem(name: &[u8]) -> Option<EntryNameProblem> {
    use EntryNameProblem::{Alias, Unportable, Unsafe};
    let Ok(text) = std::str::from_utf8(name) else { return Some(Unsafe("its name is not valid UTF-8")) };
    if text.is_empty() || text.len() > LONGEST {
        return Some(Unsafe("its name is empty or longer than 255 bytes"));
    }
    if matches!(text, "." | "..") || text.contains('/') {
        return Some(Unsafe("its name climbs out of its folder"));
    }
    if is_dot_git(text) {
        return Some(Unsafe("its name is one that some machine takes for .git"));
    }
    if text.contains('\\') {
        return Some(Unsafe("its name has a backslash, which is a separator on Windows"));
    }
    if text.chars().any(is_hidden) {
        return Some(Unsafe("its name has control or invisible characters"));
    }
    if text.ends_with(['.', ' ']) {
        return Some(Alias("its name ends in a dot or a space, which Windows cuts off"));
    }
    if text.contains(':') {
        return Some(Alias("its name has a colon, behind which Windows sees a stream of another file"));
    }
    if is_short(text) {
        return Some(Alias("its name is of the short form that Windows makes of other names"));
    }
    if is_device(text) {
        return Some(Unportable("its name is a device's on Windows"));
    }
    if text.contains(['<', '>', '"', '|', '?', '*']) {
        return Some(Unportable("its name has a character that Windows does not allow"));
    }
    None
}

/// Whether some file system treats this name as `.git`: by case, by characters that HFS+ ignores, by NTFS's short name
/// or by what NTFS cuts off.
pub(super) fn is_dot_git(name: &str) -> bool {
    let folded = fold(name.split(':').next().unwrap_or_default());
    folded == ".git"
        || folded.strip_prefix("git~").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a name looks like NTFS's short name of a long one, such as `GITMOD~1` or `GI7EBA~1`.
fn is_short(name: &str) -> bool {
    let (stem, ending) = name.split_once('.').unwrap_or((name, ""));
    let Some((front, number)) = stem.rsplit_once('~') else { return false };
    let fits = !front.is_empty() && stem.chars().count() <= 8 && ending.chars().count() <= 3;
    fits && !ending.contains('.') && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
}

fn is_device(name: &str) -> bool {
    let stem = fold(name.split('.').next().unwrap_or_default());
    let numbered = |kind: &str| {
        let number = stem
            .strip_prefix(kind)
            .and_then(|rest| rest.chars().next().filter(|_| rest.chars().count() == 1));
        number.is_some_and(|c| matches!(c, '1'..='9' | '\u{b9}' | '\u{b2}' | '\u{b3}'))
    };
    DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

/// A name as the least exact file system sees it: case and accents normalised, invisible characters and cut-off parts
/// removed. Two equal names cannot both be checked out there.
pub(super) fn fold(name: &str) -> String {
    let seen = name.chars().filter(|c| !is_hidden(*c));
    // To upper case and back, because some letters share one capital.
    let folded: String = seen.nfd().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfd().collect();
    folded.trim_end_matches(['.', ' ']).to_owned()
}

pub(super) fn fold_path(path: &str) -> String {
    path.split('/').map(fold).collect::<Vec<_>>().join("/")
}

/// What is wrong with a link's target, if anything. `depth` is the number of folders around the link.
///
/// `..` is allowed only at the beginning: after another link's name it would start from that link's target.
pub(super) fn link_problem(target: &[u8], depth: usize) -> Option<&'static str> {
    let Ok(text) = std::str::from_utf8(target) else { return Some("it leads to what is not valid UTF-8") };
    if text.is_empty() || text.len() > 1_024 || text.chars().any(|c| is_hidden(c) || c == '\\') {
        return Some("it leads nowhere, too far, or through characters that cannot be seen");
    }
    if text.starts_with('/') || text.as_bytes().get(1) == Some(&b':') {
        return Some("it leads to an absolute path");
    }
    let (mut up, mut down) = (0, false);
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." if down => return Some("it goes up again after going down"),
            ".." => up += 1,
            name if is_dot_git(name) => return Some("it leads into .git"),
            _ => down = true,
        }
    }
    (up > depth).then_some("it leads out of the repository")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_what_they_seem_are_refused() {
        let hidden = [
            ".git", ".GIT", ".Git", "git~1", "GIT~12", ".git.", ".git ", ".git . .",
            ".git::$INDEX_ALLOCATION", ".g\u{200c}it", "\u{feff}.git", ".gi\u{200d}t", ".", "..", "a/b",
            "a\\b", "a\nb", "a\u{7f}", "a\u{202e}b", "",
        ];
        for name in hidden {
            assert!(
                matches!(entry_name_problem(name.as_bytes()), Some(EntryNameProblem::Unsafe(_))),
                "{name:?}"
            );
        }
        assert!(entry_name_problem(b"caf\xe9").is_some() && entry_name_problem(&[b'a'; 256]).is_some());
        for name in [
            "a", ".gitignore", ".github", "git", "git~", "git~x", "café", "日本語", "a b", "-x", "a~1b",
            "longer-than~1", "a.~1~", "console", "com", "com10", "auxiliary.c",
        ] {
            assert_eq!(entry_name_problem(name.as_bytes()), None, "{name:?}");
        }
    }

    #[test]
    fn names_that_some_machine_takes_for_others_or_cannot_write_are_told_apart() {
        for name in [
            "AGENTS.md.", "AGENTS.md ", "...", "a:b", "AGENTS.md::$DATA", "GITMOD~1", "gi7eba~1", "GI7D29~1",
            "AGENTS~1.MD", "CODEOW~2",
        ] {
            assert!(
                matches!(entry_name_problem(name.as_bytes()), Some(EntryNameProblem::Alias(_))),
                "{name:?}"
            );
        }
        for name in
            ["CON", "nul", "aux.c", "Aux.tar.gz", "COM1", "lpt9.txt", "COM\u{b9}", "what?", "a|b", "\"x\""]
        {
            assert!(
                matches!(entry_name_problem(name.as_bytes()), Some(EntryNameProblem::Unportable(_))),
                "{name:?}"
            );
        }
    }

    #[test]
    fn names_that_one_file_system_or_another_takes_for_the_same_are_folded_to_one() {
        for (one, other) in [
            ("README.md", "readme.MD"),
            ("caf\u{e9}", "cafe\u{301}"),
            ("CAF\u{c9}", "cafe\u{301}"),
            ("AGENT\u{17f}.md", "agents.md"),
            ("\u{212a}elvin", "kelvin"),
            ("stra\u{df}e", "STRASSE"),
            ("\u{1e69}", "s\u{307}\u{323}"),
            ("a", "a. ."),
            // A mark that has its own capital, before and after another mark.
            ("\u{3b1}\u{345}\u{301}", "\u{3b1}\u{301}\u{345}"),
        ] {
            assert_eq!(fold(one), fold(other), "{one:?} {other:?}");
        }
        assert_ne!(fold("a"), fold("b"));
        assert_eq!(fold_path("A/B.\u{212a}"), "a/b.k");
    }

    #[test]
    fn a_link_stays_in_the_repository() {
        for (target, depth) in
            [("a", 0), ("a/b", 0), ("./a", 0), ("../a", 1), ("../../a/b", 2), ("..", 1), (".", 0)]
        {
            assert_eq!(link_problem(target.as_bytes(), depth), None, "{target}");
        }
        let bad = [
            "/etc/passwd", "..", "../a", "a/../../b", "a/..", "C:/x", "C:\\x", ".git/config", "x/.GIT", "",
            "a\nb",
        ];
        for target in bad {
            assert!(link_problem(target.as_bytes(), 0).is_some(), "{target}");
        }
        assert!(link_problem(b"../../../x", 2).is_some());
    }

    proptest::proptest! {
        #[test]
        fn a_name_that_passes_is_one_plain_component(name in "[.a-zA-Z~1: \u{200c}\\\\/]{0,8}") {
            if entry_name_problem(name.as_bytes()).is_none() {
                let path = std::path::Path::new(&name);
                proptest::prop_assert_eq!(path.components().count(), 1);
                proptest::prop_assert!(matches!(path.components().next(), Some(std::path::Component::Normal(_))));
                proptest::prop_assert!(!name.to_lowercase().trim_end_matches(['.', ' ']).eq(".git"));
            }
        }
    }
}
