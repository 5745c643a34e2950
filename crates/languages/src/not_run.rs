//! What an output says if tests could not run.
//!
//! May know: the languages, lines of an output. Must never know: whether tests ran, what follows from it.

use std::sync::LazyLock;

use regex::Regex;

use crate::table::all;

/// Compiled once, since every line of an output is matched against each.
static MISSING: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    all(|facts| facts.missing).chain(all(|facts| facts.no_version)).map(|one| compiled(one)).collect()
});
static NO_VERSION: LazyLock<Vec<Regex>> =
    LazyLock::new(|| all(|facts| facts.no_version).map(|one| compiled(one)).collect());

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| unreachable!("a pattern of ours: {error}"))
}

/// Whether a line reports something missing around the tests that is not the repository's own.
pub fn is_missing(line: &str, is_own: &dyn Fn(&str) -> bool) -> bool {
    MISSING.iter().filter_map(|pattern| pattern.captures(line)).any(|found| {
        let module = found.name("module");
        module.is_none_or(|module| !is_own(module.as_str()))
    })
}

/// Whether a version manager reports with a line that a version is missing, or that none is set.
pub fn has_no_version(line: &str) -> bool {
    NO_VERSION.iter().any(|pattern| pattern.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The groups that no one read have no name any more, and gems are Ruby's.
    const MISSING: [&str; 28] = [
        r"^.*(?:sh|bash|env): (?:\d+: |line \d+: )?\S+: (?:command )?not found$",
        r"^.*(?:sh|bash): (?:\d+: |line \d+: )?\S+: Permission denied$",
        r"^.*: \S+: (?:command )?not found$",
        r"^.*No module named '?(?P<module>[A-Za-z0-9_]+)[\w.]*'?.*$",
        r"^.*[Cc]annot find (?:module|package) '(?P<module>[^'./][^']*)'.*$",
        r"^.*error: no matching package named .*$",
        r"^.*error: failed to (?:get|download|load source for dependency) .*$",
        r"^.*no required module provides package .*$",
        r"^.*Could not (?:find|resolve) (?:dependencies|artifact|com\.|org\.).*$",
        r"^.*Could not (?:find|resolve) gem.*$",
        r"^.*\[ERROR\].*Could not transfer artifact .*$",
        r"^.*Could not resolve all (?:files|dependencies|artifacts) .*$",
        r"^.*error NU1\d{3}: .*$",
        r"^.*Compatibility with CMake < [\d.]+ has been removed from CMake.*$",
        r"^.*CMake Error: CMAKE_\w+_COMPILER not set.*$",
        r"^.*No CMAKE_\w+_COMPILER could be found.*$",
        r"^(?:[^-].*)?Could NOT find \w+ .*$",
        r"^.*Could not find a package configuration file provided by .*$",
        r#"^.*ERROR: Dependency "[^"]+" not found.*$"#,
        r"^.*No package '[^']+' found.*$",
        r"^Package \S+ was not found in the pkg-config search path\.$",
        r"^configure: error: .*$",
        r"^.*fatal error: (?P<module>[A-Za-z0-9_]+)[\w./+-]*: No such file or directory$",
        r"^.*error: .*\[-Werror(?:=[\w+=-]+)?\]$",
        r"^go: inconsistent vendoring in .*$",
        r"^.*: error: unrecognized arguments: .*$",
        r"^INTERNALERROR> .*(?:Error|Exception)\b.*$",
        r"^fatal: ambiguous argument .*: unknown revision or path not in the working tree\.$",
    ];
    const NO_VERSION: [&str; 10] = [
        r"^error: rustup could not choose a version of .*$",
        r"^error: no override and no default toolchain set\b.*$",
        r"^error: (?:override )?toolchain '[^']+' is not installed\b.*$",
        r"^error: '[^']+' is not installed for the (?:custom )?toolchain '[^']+'.*$",
        r"^(?:py|rb|nod|j|go|php|pl|ex|er|lua|swift|tf)env: version [`'][^'`]+' is not installed\b.*$",
        r"^(?:mise ERROR )?(?:asdf: )?No (?:preset )?version (?:is )?(?:set|installed) for (?:command|shim)\b.*$",
        r"^mise ERROR .*(?:[Nn]o version|not installed|not trusted).*$",
        r"^(?:Volta error: .*|error: (?:Node|npm|Yarn|pnpm) is not available\.)$",
        r#"^N/A: version "[^"]+" is not yet installed\.?.*$"#,
        r"^error: (?:Requested version \S+ is not currently installed|No interpreter found for Python \S+.*)$",
    ];

    #[test]
    fn the_languages_know_what_was_known() {
        let missing: BTreeSet<&str> = all(|facts| facts.missing).copied().collect();
        assert_eq!(missing, MISSING.into_iter().collect());
        let no_version: BTreeSet<&str> = all(|facts| facts.no_version).copied().collect();
        assert_eq!(no_version, NO_VERSION.into_iter().collect());
    }
}
