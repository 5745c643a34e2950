//! Recognizes the files in which programs keep a session, by their names only.

use std::path::{Component, Path};

use super::is_session_id;

/// Folders in the home in which Claude Code and Codex keep their sessions.
pub const SESSION_FOLDERS: [&str; 2] = [".claude/projects", ".codex/sessions"];

/// A shorter id could be part of any name.
const SHORTEST_ID: usize = 8;
const LONGEST_PATH: usize = 512;

/// Whether a path relative to the home is a file of that session: it is in one of the folders, and the part below
/// contains the session's id.
pub fn is_session_file(path: &Path, session: &str) -> bool {
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let is_named = |below: &Path| {
        below.to_str().is_some_and(|below| below.len() <= LONGEST_PATH)
            && below.components().any(|part| part.as_os_str().to_string_lossy().contains(session))
    };
    is_plain
        && session.len() >= SHORTEST_ID
        && is_session_id(session)
        && SESSION_FOLDERS.iter().any(|folder| path.strip_prefix(folder).is_ok_and(is_named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sessions_files_are_known_by_their_names_and_nothing_else_is_one() {
        let id = "0198c0de-aaaa-bbbb";
        for path in [
            ".claude/projects/-workspace-work/0198c0de-aaaa-bbbb.jsonl",
            ".claude/projects/-workspace-work/0198c0de-aaaa-bbbb/subagents/agent-1.jsonl",
            ".codex/sessions/2026/11/25/rollout-2026-11-25T10-00-00-0198c0de-aaaa-bbbb.jsonl",
        ] {
            assert!(is_session_file(Path::new(path), id), "{path}");
        }
        let long = format!(".claude/projects/{}/{id}", "x".repeat(600));
        for path in [
            ".claude/projects/-workspace-work/another.jsonl",
            ".claude/settings.json",
            ".claude/projects/../0198c0de-aaaa-bbbb",
            "/.claude/projects/0198c0de-aaaa-bbbb",
            ".bashrc",
            "0198c0de-aaaa-bbbb",
            ".claude/0198c0de-aaaa-bbbb",
            ".claude/projects",
            "",
            long.as_str(),
        ] {
            assert!(!is_session_file(Path::new(path), id), "{path}");
        }
        for id in ["", "..", "s1", "a/b/c/d/e", "--resume-me"] {
            assert!(!is_session_file(&Path::new(".claude/projects").join(id), id), "{id}");
        }
    }
}
