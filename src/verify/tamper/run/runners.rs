//! Files that take the place of a test runner, or come before it.

use super::Text;
use crate::order::{Weakening, WeakeningKind};
use crate::verify::tamper::language::folders;

/// Programs that a run of tests calls by name.
const PROGRAMS: &[&str] = &[
    "pytest",
    "py.test",
    "cargo",
    "cargo-nextest",
    "rustc",
    "npm",
    "npx",
    "node",
    "yarn",
    "pnpm",
    "jest",
    "vitest",
    "mocha",
    "tsc",
    "python",
    "python3",
    "pip",
    "tox",
    "nox",
    "go",
    "java",
    "javac",
    "mvn",
    "gradle",
    "make",
    "sh",
    "bash",
    "env",
    "git",
    "timeout",
];

/// Modules of Python's that a file of the same name is imported before.
const MODULES: &[&str] = &["pytest", "_pytest", "unittest", "nose", "pluggy", "doctest", "coverage"];

pub(super) fn look(text: &Text<'_>, found: &mut Vec<Weakening>) {
    let mut say = |line: Option<u32>, grave: bool, what: String| {
        found.push(text.weakening(WeakeningKind::RunnerShadowed, line, grave, what));
    };
    if text.after.is_none() {
        return;
    }
    let parts: Vec<&str> = folders(text.path).collect();
    let name = text.name;
    let stem = name.strip_suffix(".py").or_else(|| name.strip_suffix(".pyc"));
    let first = parts.first().copied();
    let is_module = stem.is_some_and(|stem| MODULES.contains(&stem))
        && (parts.is_empty() || first == Some("src") || first == Some("tests"))
        || (stem.is_some() && first.is_some_and(|first| MODULES.contains(&first)));
    if text.is_added() && is_module {
        say(None, true, format!("{} is imported in the place of the test runner's own", text.path));
    }
    if matches!(name, "sitecustomize.py" | "usercustomize.py") || name.ends_with(".pth") {
        say(None, true, format!("{} runs before anything else of Python does", text.path));
    }
    if text.is_added() && parts.contains(&"node_modules") {
        say(None, true, format!("{} takes the place of an installed package", text.path));
    }
    if text.is_added() && PROGRAMS.contains(&name) {
        say(None, true, format!("{} is called like a program that runs the tests", text.path));
    }
    match name {
        "build.rs" => build_script(text, found),
        "config.toml" | "config" if parts.last() == Some(&".cargo") => cargo_settings(text, found),
        ".npmrc" | ".yarnrc" | ".yarnrc.yml" => {
            lines(text, &["script-shell", "node-options", "yarnPath", "yarn-path"], found)
        }
        ".env" | ".envrc" | ".env.test" => lines(
            text,
            &[
                "NODE_OPTIONS",
                "PYTHONPATH",
                "PYTEST_ADDOPTS",
                "PYTEST_PLUGINS",
                "RUSTC_WRAPPER",
                "PYTHONSTARTUP",
                "PATH=",
            ],
            found,
        ),
        "rust-toolchain.toml" | "rust-toolchain" => lines(text, &["path"], found),
        _ => {}
    }
}

/// New lines that begin with one of these words.
fn lines(text: &Text<'_>, words: &[&str], found: &mut Vec<Weakening>) {
    for (number, line) in text.new_lines() {
        let bare = line.trim_start_matches("export ");
        if words.iter().any(|word| bare.starts_with(word)) {
            let what = format!("what runs the tests is set to something else: `{line}`");
            found.push(text.weakening(WeakeningKind::RunnerShadowed, Some(number), true, what));
        }
    }
}

fn cargo_settings(text: &Text<'_>, found: &mut Vec<Weakening>) {
    for (number, line) in text.new_lines() {
        let key = line.split('=').next().unwrap_or_default().trim().trim_matches('"');
        let last = key.rsplit('.').next().unwrap_or(key);
        let replaces = matches!(
            last,
            "runner"
                | "rustc"
                | "rustc-wrapper"
                | "rustc-workspace-wrapper"
                | "rustdoc"
                | "test"
                | "t"
                | "nextest"
        );
        let bends = matches!(last, "rustflags" | "RUSTFLAGS")
            && ["--cfg", "panic", "--test", "cap-lints"].iter().any(|word| line.contains(word));
        if replaces || bends {
            let what = format!("cargo runs the tests otherwise: `{line}`");
            found.push(text.weakening(WeakeningKind::RunnerShadowed, Some(number), true, what));
        }
    }
}

/// A build script may write where cargo says, and nowhere else.
fn build_script(text: &Text<'_>, found: &mut Vec<Weakening>) {
    let writes = [
        "fs::write",
        "File::create",
        "OpenOptions",
        "fs::copy",
        "fs::rename",
        "fs::remove",
        "write_all",
        "hard_link",
        "symlink",
    ];
    let keeps_to_place = text.after().contains("OUT_DIR");
    for (number, line) in text.new_lines() {
        let is_writing = writes.iter().any(|word| line.contains(word));
        let at_sources = ["\"tests/", "\"src/", "\"target/", "tests/", "CARGO_MANIFEST_DIR\")).join(\"tests"]
            .iter()
            .any(|word| line.contains(word))
            && !line.contains("rerun-if-changed");
        if is_writing && (!keeps_to_place || at_sources) {
            let what = format!("the build script writes outside of its own folder: `{line}`");
            found.push(text.weakening(WeakeningKind::RunnerShadowed, Some(number), true, what));
        } else if line.contains("RUST_TEST")
            || line.contains("cargo:rustc-env=CARGO")
            || line.contains("CARGO_TARGET") && line.contains("RUNNER")
        {
            let what = format!("the build script bends the run of the tests: `{line}`");
            found.push(text.weakening(WeakeningKind::RunnerShadowed, Some(number), true, what));
        }
    }
}
