//! Which build of a test command is made once, by the words of the command.
//!
//! May know: which languages can keep a build. Must never know: how one of them builds, and who runs it.
//!
//! Only a build that can never pass for one of other code is kept. So CMake, Meson, Make, Maven and .NET keep none: they
//! go by times alone, and leave behind what was made of a deleted file.

use crate::files::RepositoryFiles;
use crate::planned::KeptBuild;
use crate::table::LANGUAGES;
use crate::words::{plain_words, program_at};

/// The build of a test command. `None` if the command is more than a chain of plain calls, or if nothing may be kept.
pub fn kept_build(test: &str, files: &RepositoryFiles<'_>) -> Option<KeptBuild> {
    let (mut parts, mut used) = (Vec::new(), vec![false; LANGUAGES.len()]);
    for part in test.split("&&") {
        let is_around = |c: char| c.is_whitespace() || c == '(' || c == ')';
        let call = part.trim_matches(is_around);
        // What follows is for the tests.
        let words = plain_words(call.split(" -- ").next().unwrap_or(call))?;
        let (before, rest) = words.split_at_checked(program_at(&words))?;
        let mut languages = LANGUAGES.iter().zip(&mut used);
        let built = languages.find_map(|(language, is_used)| {
            let words = language.build_call(rest)?;
            *is_used = true;
            Some([before, words.as_slice()].concat().join(" "))
        });
        let is_folder = rest.first() == Some(&"cd");
        // Other steps are not part of the build.
        let built = built.unwrap_or_else(|| if is_folder { words.join(" ") } else { ":".to_owned() });
        let around = |group: char| part.chars().filter(|c| *c == group).collect::<String>();
        parts.push(format!("{}{built}{}", around('('), around(')')));
    }
    let mut kept = KeptBuild { command: parts.join(" && "), ..KeptBuild::default() };
    let mut used = LANGUAGES.iter().zip(used).filter(|(_, is_used)| *is_used).peekable();
    used.peek()?;
    used.all(|(language, _)| language.keep_build(files, &mut kept)).then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(test: &str, paths: &[&str]) -> Option<KeptBuild> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let read = |path: &str| {
            let name = path.strip_suffix("/Cargo.toml").unwrap_or("sample");
            Some(format!("[package]\nname = \"{name}\"\n").into_bytes())
        };
        kept_build(test, &RepositoryFiles::new(&paths, &read))
    }

    #[test]
    fn a_command_builds_its_tests_and_runs_none() {
        for (test, built) in [
            ("cargo test", "cargo test --no-run"),
            ("cargo test --workspace --all-features", "cargo test --no-run --workspace --all-features"),
            ("A=b cargo +stable t -p a -- --test-threads=1 'a b'", "A=b cargo +stable t --no-run -p a"),
            ("cargo nextest run --profile ci", "cargo nextest run --no-run --profile ci"),
            ("cargo fmt --check && cargo test", ": && cargo test --no-run"),
            ("go test ./...", "go test -exec true ./..."),
            ("go test -race -run=^TestA$ ./...", ""),
            ("go test -race -count=1 ./a/...", "go test -exec true -race -count=1 ./a/..."),
            (
                "(cd a && go test ./...) && (cd b && cargo test\n)",
                "(cd a && go test -exec true ./...) && (cd b && cargo test --no-run)",
            ),
            ("cargo test --doc", ""),
            ("cargo test --no-run", ""),
            ("cargo nextest list", ""),
            ("cargo build", ""),
            ("go test -exec qemu ./...", ""),
            ("go test --fuzz=FuzzA ./a", ""),
            ("go vet ./...", ""),
            ("make test", ""),
            ("cargo test || true", ""),
            ("cargo test; make", ""),
            ("cargo test $ARGS", ""),
            ("python3 -m pytest", ""),
        ] {
            let built = Some(built.to_owned()).filter(|built| !built.is_empty());
            assert_eq!(build(test, &[]).map(|kept| kept.command), built, "{test}");
        }
    }

    #[test]
    fn nothing_is_kept_where_a_build_tool_would_not_see_a_changes_edit() {
        let vendored = ["Cargo.toml", "vendor/semver/.cargo-checksum.json"];
        assert_eq!(build("cargo test", &vendored), None);
        assert_eq!(build("go test ./...", &["go.mod", "include/far.h"]), None);
        assert_eq!(build("go test ./... && cargo test", &vendored), None);
        let kept = build("cargo test && go test ./...", &["go.mod", "a/Cargo.toml"]).unwrap();
        assert_eq!((kept.tree.len(), kept.home), (1, vec![".cache/go-build"]));
    }

    #[test]
    fn the_repositorys_own_packages_are_known_in_a_cache() {
        let kept = build("cargo test", &["Cargo.toml", "crates/a-b/Cargo.toml", "docs/a.md"]).unwrap();
        let folder = kept.tree.first().unwrap();
        for (entry, is_own) in [
            ("sample-0123456789abcdef", true),
            ("crates/a-b-0123456789abcdef", true),
            ("sample", true),
            ("libsample-0123456789abcdef.rlib", true),
            ("libsample.so", true),
            ("crates/a_b-0123456789abcdef.d", true),
            ("sample-3xyz0123456789abc", false),
            ("samples-0123456789abcdef", false),
            ("serde-0123456789abcdef", false),
        ] {
            assert_eq!(folder.is_own(entry), is_own, "{entry}");
        }
    }
}
