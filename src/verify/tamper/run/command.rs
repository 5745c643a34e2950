//! Whether one command runs less than another, or hides that it failed.

/// What takes the failure from a command, or tests from a run.
const HOLES: &[&str] = &[
    "|| true",
    "||true",
    "|| :",
    "|| exit 0",
    "|| echo",
    "|| printf",
    "; true",
    ";true",
    "; :",
    "; exit 0",
    "exit 0",
    "set +e",
    "| true",
    "&& false ||",
    "--passWithNoTests",
    "--pass-with-no-tests",
    "--suppress-no-test-exit-code",
    "--bail",
    "--exitfirst",
    "--maxfail",
    "--no-run",
    "--collect-only",
    "--listTests",
    "--list-tests",
    "--dry-run",
    "--ignore",
    "--deselect",
    "--testPathIgnorePatterns",
    "--exclude",
    "--skip",
    "--updateSnapshot",
    "--update-snapshot",
    "--test-only",
    "--test-name-pattern",
    "--testNamePattern",
    "--grep",
    "--fgrep",
    "--invert",
    "--forceExit",
    "--ignore-failures",
    "--keep-going",
    "--continue-on-collection-errors",
    "-DskipTests",
    "-Dmaven.test.skip",
    "-W ignore",
    "-short",
    "INSTA_UPDATE=",
    "INSTA_FORCE_PASS",
];

/// Options of one letter that take tests from a run.
const SHORT_HOLES: &[&str] = &["-x", "-k", "-m", "-run", "-t", "-u", "--co", "-i"];

/// Programs and words that run tests.
const RUNNERS: &[&str] = &[
    "pytest",
    "unittest",
    "nose",
    "tox",
    "nox",
    "cargo",
    "nextest",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "tap",
    "node",
    "deno",
    "bun",
    "go",
    "mvn",
    "mvnw",
    "gradle",
    "gradlew",
    "npm",
    "yarn",
    "pnpm",
    "make",
    "ctest",
    "turbo",
    "nx",
    "playwright",
    "cypress",
    "karma",
    "jasmine",
    "tape",
    "uv",
    "poetry",
    "c8",
    "nyc",
    "gotestsum",
    "sbt",
    "bazel",
];

/// How much worse a command is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Worse {
    pub(super) grave: bool,
    pub(super) how: String,
}

/// Whether a command of tests became weaker; none where it only became another, or is the same.
pub(super) fn worse(before: &str, after: &str) -> Option<Worse> {
    let (before, after) = (before.trim(), after.trim());
    if before == after {
        return None;
    }
    let grave = |how: String| Some(Worse { grave: true, how });
    if let Some(hole) = hole(before, after) {
        return grave(format!("`{hole}` came in: `{after}`"));
    }
    let runs = |command: &str| words(command).any(|word| RUNNERS.contains(&base(word)));
    if runs(before) && !runs(after) {
        return grave(format!("no test runner is called any more: `{after}`"));
    }
    let now: Vec<&str> = words(after).collect();
    for word in words(before).filter(|word| is_place(word) && !now.contains(word)) {
        if now.iter().any(|other| is_place(other) && other.starts_with(word) && other.len() > word.len()) {
            return grave(format!("only a part of `{word}` is run: `{after}`"));
        }
    }
    let first =
        |command: &str| words(command).map(base).find(|word| RUNNERS.contains(word)).map(String::from);
    let narrowed = words(after).any(|word| is_place(word) && word.contains('.') && !before.contains(word))
        && first(before) == first(after)
        && !words(before).any(is_place);
    if narrowed {
        return grave(format!("only some files are run: `{after}`"));
    }
    Some(Worse { grave: false, how: format!("`{before}` became `{after}`") })
}

/// The first hole that only the second command has.
pub(super) fn hole(before: &str, after: &str) -> Option<&'static str> {
    let had: Vec<&str> = words(before).collect();
    let has: Vec<&str> = words(after).collect();
    let long = HOLES.iter().find(|hole| after.contains(**hole) && !before.contains(**hole));
    let short = SHORT_HOLES.iter().find(|hole| {
        // `python -m unittest` names a module, not a mark.
        let names_module = **hole == "-m" && has.iter().any(|word| base(word).starts_with("python"));
        let marks = has.iter().position(|word| base(word) == "pytest");
        let before_runner =
            marks.is_some_and(|at| has.iter().position(|word| word == *hole).is_some_and(|m| m < at));
        has.contains(hole) && !had.contains(hole) && !(names_module && (before_runner || marks.is_none()))
    });
    long.or(short).copied()
}

fn words(command: &str) -> impl Iterator<Item = &str> {
    command.split_whitespace().map(|word| word.trim_matches(['"', '\'', ',', '[', ']', '@', ';']))
}

/// The program's name without its folder.
fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Whether a word names files or folders.
fn is_place(word: &str) -> bool {
    !word.starts_with('-')
        && (word.contains('/')
            || word.contains(".test.")
            || matches!(word, "tests" | "test" | "spec" | "src"))
        || [".py", ".js", ".ts", ".mjs", ".cjs"].iter().any(|ending| word.ends_with(ending))
}
