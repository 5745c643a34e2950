//! Names of files that are safe on every machine that will check them out, not only on this one.

use crate::order::commit_message::is_hidden;

/// The longest name of a file, in bytes, that common file systems take.
const LONGEST: usize = 255;

/// What is wrong with the name of a tree's entry, if anything.
pub(super) fn trouble(name: &[u8]) -> Option<&'static str> {
    let Ok(text) = std::str::from_utf8(name) else { return Some("its name is not valid UTF-8") };
    if text.is_empty() || text.len() > LONGEST {
        return Some("its name is empty or longer than 255 bytes");
    }
    if matches!(text, "." | "..") || text.contains('/') {
        return Some("its name climbs out of its folder");
    }
    if is_dot_git(text) {
        return Some("its name is one that some machine takes for .git");
    }
    if text.contains('\\') {
        return Some("its name has a backslash, which is a separator on Windows");
    }
    if text.chars().any(is_hidden) {
        return Some("its name has control or invisible characters");
    }
    None
}

/// Whether some file system takes this name for `.git`: by case, by characters that HFS+ ignores, by the short name
/// that NTFS makes of it, by what NTFS cuts off.
pub(super) fn is_dot_git(name: &str) -> bool {
    let folded = fold(name);
    let folded = folded.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    folded == ".git"
        || folded.strip_prefix("git~").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// A name as a file system that knows no case sees it: two that are equal here cannot both be checked out there.
pub(super) fn fold(name: &str) -> String {
    name.chars().filter(|c| !is_hidden(*c)).flat_map(char::to_lowercase).collect()
}

/// What is wrong with where a symbolic link leads, if anything. `depth` is how many folders the link lies in.
///
/// Going up is allowed at the beginning only: behind the name of another link it would go up from there.
pub(super) fn link_trouble(target: &[u8], depth: usize) -> Option<&'static str> {
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
            ".git",
            ".GIT",
            ".Git",
            "git~1",
            "GIT~12",
            ".git.",
            ".git ",
            ".git . .",
            ".git::$INDEX_ALLOCATION",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".gi\u{200d}t",
            ".",
            "..",
            "a/b",
            "a\\b",
            "a\nb",
            "a\u{7f}",
            "a\u{202e}b",
            "",
        ];
        for name in hidden {
            assert!(trouble(name.as_bytes()).is_some(), "{name:?}");
        }
        assert!(trouble(b"caf\xe9").is_some() && trouble(&[b'a'; 256]).is_some());
        for name in [
            "a",
            ".gitignore",
            ".github",
            "git",
            "git~",
            "git~x",
            "café",
            "日本語",
            "a b",
            "-x",
            "...",
            "a:b",
        ] {
            assert_eq!(trouble(name.as_bytes()), None, "{name:?}");
        }
    }

    #[test]
    fn a_link_stays_in_the_repository() {
        for (target, depth) in
            [("a", 0), ("a/b", 0), ("./a", 0), ("../a", 1), ("../../a/b", 2), ("..", 1), (".", 0)]
        {
            assert_eq!(link_trouble(target.as_bytes(), depth), None, "{target}");
        }
        let bad = [
            "/etc/passwd",
            "..",
            "../a",
            "a/../../b",
            "a/..",
            "C:/x",
            "C:\\x",
            ".git/config",
            "x/.GIT",
            "",
            "a\nb",
        ];
        for target in bad {
            assert!(link_trouble(target.as_bytes(), 0).is_some(), "{target}");
        }
        assert!(link_trouble(b"../../../x", 2).is_some());
    }

    proptest::proptest! {
        #[test]
        fn a_name_that_passes_is_one_plain_component(name in "[.a-zA-Z~1: \u{200c}\\\\/]{0,8}") {
            if trouble(name.as_bytes()).is_none() {
                let path = std::path::Path::new(&name);
                proptest::prop_assert_eq!(path.components().count(), 1);
                proptest::prop_assert!(matches!(path.components().next(), Some(std::path::Component::Normal(_))));
                proptest::prop_assert!(!name.to_lowercase().trim_end_matches(['.', ' ']).eq(".git"));
            }
        }
    }
}
