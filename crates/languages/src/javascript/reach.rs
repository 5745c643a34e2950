//! Which folders a JavaScript test command reaches.

use super::PROGRAMS;
use crate::test_call::{TestCall, segments, words};

/// Whether a JavaScript runner searches all folders, or a package manager runs in all packages.
pub(super) fn reaches(call: &TestCall<'_, '_>) -> bool {
    const OF_MANY: [&str; 11] = [
        "-r", "--recursive", "--workspaces", "-ws", "workspaces", "foreach", "--filter", "turbo", "nx",
        "lerna", "wireit",
    ];
    segments(call.text).any(|segment| {
        let all: Vec<&str> = words(segment).collect();
        let looks = |word: &&str| matches!(*word, "jest" | "vitest" | "ava" | "--test") || *word == "deno";
        let Some(at) = all.iter().position(looks) else {
            return all.iter().any(|word| OF_MANY.contains(word))
                && all.iter().any(|word| PROGRAMS.contains(word));
        };
        // Folders and files after it restrict the search.
        all.iter().skip(at + 1).all(|word| word.starts_with('-') || !call.is_place(word))
    })
}
