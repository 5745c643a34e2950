//! Which changed files configure the test run, and how to run the tests as they were configured before.

mod registered;
mod shadows;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::folders::commands_in_folders;
use crate::overlay::{Overlay, OverlayAction};
use crate::text::{json, toml_table};
use registered::{BuildFile, registers_more, with_old_registrations};

/// Files that configure a whole test run, in any folder. Lower case.
const WHOLE: [&str; 62] = [
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "tox.toml",
    ".noserc",
    "noxfile.py",
    "sitecustomize.py",
    "usercustomize.py",
    ".coveragerc",
    ".python-version",
    "makefile",
    "gnumakefile",
    "justfile",
    ".justfile",
    "taskfile.yml",
    "taskfile.yaml",
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
    "go.work",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    "gradlew",
    "mvnw",
    "mocha.opts",
    ".npmrc",
    ".proverc",
    ".rspec",
    ".rspec-local",
    "rakefile",
    "rakefile.rb",
    "phpunit.xml",
    "phpunit.xml.dist",
    "phpunit.dist.xml",
    ".nvmrc",
    ".node-version",
    ".swcrc",
    ".babelrc",
    ".nycrc",
    ".c8rc",
    ".mocharc",
    ".jestrc",
    "jest.setup.js",
    "jest.setup.ts",
    "jest.setup.mjs",
    "jest.setup.cjs",
    "jest.setup.tsx",
    "vitest.setup.js",
    "vitest.setup.ts",
    "setuptests.js",
    "setuptests.ts",
    "tsconfig.json",
    "import_map.json",
    "deno.json",
    "deno.jsonc",
];
/// Files whose name begins with one of these do too.
const BEGINNINGS: [&str; 21] = [
    "jest.config.",
    "jest.preset.",
    "vitest.config.",
    "vitest.workspace.",
    "vite.config.",
    "babel.config.",
    ".babelrc.",
    "mocha.config.",
    ".mocharc.",
    "ava.config.",
    "karma.conf.",
    "playwright.config.",
    "cypress.config.",
    ".nycrc.",
    "nyc.config.",
    ".c8rc.",
    "webpack.test",
    "rollup.test",
    ".env.",
    ".taprc",
    "tsconfig.",
];
/// Sections of package.json that decide how tests run and how their imports resolve. Dependencies are not among them.
const PACKAGE: [&str; 17] = [
    "scripts",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "nyc",
    "c8",
    "babel",
    "tap",
    "xo",
    "wireit",
    "imports",
    "exports",
    "main",
    "module",
    "browser",
    "_moduleAliases",
];
const PYPROJECT: [&[&str]; 9] = [
    &["tool", "pytest"],
    &["tool", "coverage"],
    &["tool", "tox"],
    &["tool", "nox"],
    &["tool", "poe"],
    &["tool", "taskipy"],
    &["tool", "hatch", "envs"],
    &["tool", "pdm", "scripts"],
    &["tool", "rye", "scripts"],
];
const HATCH: [&[&str]; 1] = [&["envs"]];
/// Tables of bunfig.toml that decide how `bun test` and scripts run. `install` is not among them.
const BUN: [&[&str]; 5] = [&["test"], &["preload"], &["define"], &["loader"], &["run"]];
const CARGO: [&[&str]; 15] = [
    &["lib", "test"],
    &["lib", "doctest"],
    &["lib", "harness"],
    &["lib", "path"],
    &["test"],
    &["bench"],
    &["profile"],
    &["patch"],
    &["replace"],
    &["package", "autotests"],
    &["package", "build"],
    &["workspace", "members"],
    &["workspace", "exclude"],
    &["workspace", "default-members"],
    &["workspace", "metadata", "nextest"],
];
/// Lists of targets in Cargo.toml, and what decides whether the tests in such a target run. Another target may be new.
const TARGETS: [&str; 2] = ["bin", "example"];
const OF_A_TARGET: [&str; 2] = ["test", "harness"];
/// Sections of setup.cfg, by their first words.
const SETUP: [&str; 5] = ["tool:pytest", "coverage", "aliases", "tox", "test"];

/// Overlays for a checkout of the change that restore the old test configuration. In files with other content too, only
/// the part about tests is old.
///
/// `changed` are the paths that the change adds, edits or removes. The readers read the base commit and the change. A
/// file counts only if its part about tests differs; a new dependency in package.json does not count. `names` maps the
/// names under which links expose a path to that path, and each name counts for it.
pub fn old_configuration(
    changed: &[String],
    command: &str,
    names: &[(String, String)],
    read_base: &dyn Fn(&str) -> Option<Vec<u8>>,
    read_after: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> Vec<Overlay> {
    let started = StartedPrograms::of(command, read_base);
    let mut overlays = Vec::new();
    let mut names_of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, path) in names {
        names_of.entry(path).or_default().push(name);
    }
    for path in changed {
        let shadows = || shadows::shadows(path, &started.folders, read_base, read_after);
        let by_a_link =
            || names_of.get(path.as_str()).into_iter().flatten().find_map(|name| kind(name, &started));
        let kind = kind(path, &started).or_else(by_a_link);
        let Some(kind) = kind.or_else(|| shadows().then_some(ConfigurationKind::Whole)) else { continue };
        let (base, after) = (read_base(path), read_after(path));
        // A path that is unreadable on both sides still counts as different: a link, or a file above the limit.
        if base.is_some() && base == after {
            continue;
        }
        let whole = || base.clone().map_or(OverlayAction::Remove, OverlayAction::Write);
        let lay = match (kind, &after) {
            (ConfigurationKind::Whole, _) => Some(whole()),
            // Removing the whole file removes its part about tests.
            (_, None) => Some(whole()),
            (ConfigurationKind::Package, Some(after)) => old_package(base.as_deref(), after, &whole),
            (ConfigurationKind::Toml(keys), Some(after)) => old_toml(keys, base.as_deref(), after, &whole),
            (ConfigurationKind::Setup, Some(after)) => old_text(base.as_deref(), after, setup_section),
            (ConfigurationKind::Build(file), Some(after)) => base.as_deref().and_then(|base| {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let old = with_old_registrations(file, &text(base), &text(after))?;
                Some(OverlayAction::Write(old.into_bytes()))
            }),
            (ConfigurationKind::GoMod, Some(after)) => old_text(base.as_deref(), after, go_directive),
        };
        overlays.extend(lay.map(|lay| Overlay { path: path.clone(), action: lay }));
    }
    overlays
}

/// Whether a file registers tests with CMake or Meson that the base does not have. Only registered tests are built.
pub fn registers_new_tests(path: &str, base: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    match kind(path, &StartedPrograms::default()) {
        Some(ConfigurationKind::Build(file)) => registers_more(file, &text(base), &text(after)),
        _ => false,
    }
}

enum ConfigurationKind {
    Whole,
    Package,
    Toml(&'static [&'static [&'static str]]),
    Setup,
    GoMod,
    Build(BuildFile),
}

#[derive(Default)]
struct StartedPrograms {
    /// The folders that it enters. Empty for the root.
    folders: Vec<String>,
    /// Files that it names, and files named by the scripts and rules that it may run.
    scripts: BTreeSet<String>,
}

impl StartedPrograms {
    fn of(command: &str, read_base: &dyn Fn(&str) -> Option<Vec<u8>>) -> Self {
        let mut started = Self::default();
        for one in commands_in_folders(command) {
            let own = scripts(one.command, &|name| read_base(&one.path(name)));
            started.scripts.extend(own.iter().map(|name| one.path(name)));
            started.folders.push(one.folder.to_ascii_lowercase());
        }
        started
    }
}

fn kind(path: &str, started: &StartedPrograms) -> Option<ConfigurationKind> {
    if started.scripts.contains(path) {
        return Some(ConfigurationKind::Whole);
    }
    let lower = path.to_ascii_lowercase();
    let (folder, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let is_in = |wanted: &str| folder == wanted || folder.ends_with(&format!("/{wanted}"));
    Some(match name {
        "package.json" => ConfigurationKind::Package,
        "pyproject.toml" => ConfigurationKind::Toml(&PYPROJECT),
        "hatch.toml" => ConfigurationKind::Toml(&HATCH),
        "bunfig.toml" => ConfigurationKind::Toml(&BUN),
        "cargo.toml" => ConfigurationKind::Toml(&CARGO),
        "setup.cfg" => ConfigurationKind::Setup,
        "go.mod" => ConfigurationKind::GoMod,
        "cmakelists.txt" => ConfigurationKind::Build(BuildFile::Cmake),
        "meson.build" => ConfigurationKind::Build(BuildFile::Meson),
        "config" | "config.toml" if is_in(".cargo") => ConfigurationKind::Whole,
        "nextest.toml" if is_in(".config") => ConfigurationKind::Whole,
        ".env" => ConfigurationKind::Whole,
        // It shadows the runner of that name, which is not in the standard library.
        "pytest.py" if folder.is_empty() || started.folders.iter().any(|at| at == folder) => {
            ConfigurationKind::Whole
        }
        // Runners load plugins that such a folder declares.
        _ if lower.split('/').any(|part| part.ends_with(".egg-info") || part.ends_with(".dist-info"))
            // Programs in these folders take precedence over the machine's.
            || ["node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin"].into_iter().any(is_in)
            || is_in(".mvn")
            || is_in("gradle/wrapper")
            // Rake loads these by itself. Elsewhere, such as in lib/tasks, a task is the program's own code.
            || is_in("rakelib") && name.ends_with(".rake")
            || name.ends_with(".mk")
            || name.ends_with(".pth")
            || WHOLE.contains(&name)
            || BEGINNINGS.iter().any(|start| name.starts_with(start)) =>
        {
            ConfigurationKind::Whole
        }
        _ => return None,
    })
}

/// Files that the command names, and files named by the scripts and rules that it may run.
fn scripts(command: &str, read_base: &dyn Fn(&str) -> Option<Vec<u8>>) -> BTreeSet<String> {
    let mut texts = vec![command.to_owned()];
    let text = |path: &str| read_base(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if let Some(Value::Object(scripts)) =
        text("package.json").and_then(|text| json(text.as_bytes())?.get("scripts").cloned())
    {
        texts.extend(scripts.values().filter_map(|script| Some(script.as_str()?.to_owned())));
    }
    if command.contains("make") {
        texts.extend(["GNUmakefile", "makefile", "Makefile"].into_iter().find_map(text));
    }
    texts.iter().flat_map(|text| programs(text)).filter(|word| is_script(word)).map(str::to_owned).collect()
}

/// Words that precede a program's name.
const BEFORE_A_PROGRAM: [&str; 22] = [
    "sh", "bash", "zsh", "dash", "ksh", "source", ".", "exec", "env", "time", "nice", "timeout", "command",
    "python", "python3", "node", "deno", "bun", "run", "ruby", "perl", "npx",
];

/// What a shell text runs: the first word of each command, and the file passed to an interpreter. Further arguments may
/// be the very thing under test.
fn programs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| ";&|()`\n".contains(c)).filter_map(|command| {
        command
            .split(|c: char| c.is_whitespace() || "<>\"'=".contains(c))
            .map(|word| word.trim_start_matches('@').trim_start_matches("./"))
            .find(|word| {
                let is_number = word.chars().all(|c| c.is_ascii_digit());
                let is_name = word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
                !(word.starts_with('-') || is_number || is_name || BEFORE_A_PROGRAM.contains(word))
            })
    })
}

/// Test files in a command are what is tested, not configuration.
fn is_script(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let is_test = name.starts_with("test_")
        || ["_test.", ".test.", ".spec.", "_spec."].iter().any(|mark| name.contains(mark));
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_program =
        ["", "sh", "bash", "zsh", "py", "js", "mjs", "cjs", "ts", "mts", "rb", "pl", "ps1"].contains(&ending);
    // A program in the project's own language may be under test. Checkers are recognized by name or folder.
    let checks = matches!(ending, "" | "sh" | "bash" | "zsh" | "ps1")
        || ["test", "check", "verify", "lint", "scripts/", "tools/", "bin/", "ci/", "run"]
            .iter()
            .any(|mark| word.contains(mark));
    !stem.is_empty() && is_program && checks && !is_test && !word.starts_with(['-', '/', '$'])
}

fn old_package(
    base: Option<&[u8]>,
    after: &[u8],
    whole: &dyn Fn() -> OverlayAction,
) -> Option<OverlayAction> {
    let before = base.map_or(Some(Value::Null), json);
    let (Some(Value::Object(mut now)), Some(before)) = (json(after), before) else { return Some(whole()) };
    let mut is_touched = false;
    for key in PACKAGE {
        let old = before.get(key);
        if old == now.get(key) {
            continue;
        }
        is_touched = true;
        match old {
            Some(old) => drop(now.insert(key.to_owned(), old.clone())),
            None => drop(now.remove(key)),
        }
    }
    is_touched.then(|| serde_json::to_vec_pretty(&now).map_or_else(|_| whole(), OverlayAction::Write))
}

fn old_toml(
    keys: &[&[&str]],
    base: Option<&[u8]>,
    after: &[u8],
    whole: &dyn Fn() -> OverlayAction,
) -> Option<OverlayAction> {
    let parse = |bytes: &[u8]| toml_table(std::str::from_utf8(bytes).ok()?);
    let before = base.map_or_else(|| Some(toml::Table::new()), parse);
    let (Some(mut now), Some(before)) = (parse(after), before) else { return Some(whole()) };
    let mut is_touched = false;
    for key in keys {
        let old = at(&before, key);
        if old != at(&now, key) {
            is_touched = true;
            set(&mut now, key, old.cloned());
        }
    }
    for list in TARGETS {
        is_touched |= set_old_targets(list, &before, &mut now);
    }
    is_touched.then(|| {
        toml::to_string(&now).map_or_else(|_| whole(), |text| OverlayAction::Write(text.into_bytes()))
    })
}

/// Restores how the tests in Cargo's targets run. Returns whether anything differed.
///
/// Cargo finds the programs in `src` by itself, so a target there may have been one of the base without an entry. A new
/// target elsewhere is left as it is: it may be a fuzzer, which cannot be built as a test.
fn set_old_targets(list: &str, before: &toml::Table, now: &mut toml::Table) -> bool {
    let known = before.get(list).and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut is_touched = false;
    for target in now.get_mut(list).and_then(toml::Value::as_array_mut).into_iter().flatten() {
        let Some(target) = target.as_table_mut() else { continue };
        let old = known.iter().find(|known| known.get("name") == target.get("name"));
        let is_found = list == "bin"
            && target
                .get("path")
                .is_none_or(|path| path.as_str().is_some_and(|path| path.starts_with("src/")));
        if old.is_none() && !is_found {
            continue;
        }
        for key in OF_A_TARGET {
            let value = old.and_then(|old| old.get(key)).cloned();
            if value.as_ref() != target.get(key) {
                is_touched = true;
                set(target, &[key], value);
            }
        }
    }
    is_touched
}

fn at<'a>(table: &'a toml::Table, key: &[&str]) -> Option<&'a toml::Value> {
    let (first, rest) = key.split_first()?;
    let value = table.get(*first)?;
    if rest.is_empty() { Some(value) } else { at(value.as_table()?, rest) }
}

fn set(table: &mut toml::Table, key: &[&str], value: Option<toml::Value>) {
    match (key, value) {
        ([], _) => {}
        ([last], Some(value)) => drop(table.insert((*last).to_owned(), value)),
        ([last], None) => drop(table.remove(*last)),
        ([first, rest @ ..], value) => {
            if value.is_some() && !table.get(*first).is_some_and(toml::Value::is_table) {
                table.insert((*first).to_owned(), toml::Value::Table(toml::Table::new()));
            }
            if let Some(inner) = table.get_mut(*first).and_then(toml::Value::as_table_mut) {
                set(inner, rest, value);
            }
        }
    }
}

/// The lines about tests as they were, and all others as they are now. A line may open a section: `Some(true)` about
/// tests, `Some(false)` about something else. `None` continues the section.
fn old_text(
    base: Option<&[u8]>,
    after: &[u8],
    opens: impl Fn(&str) -> Option<bool>,
) -> Option<OverlayAction> {
    let parted = |bytes: &[u8]| {
        let (mut of_tests, mut others, mut is_of_tests) = (String::new(), String::new(), false);
        for line in String::from_utf8_lossy(bytes).lines() {
            is_of_tests = opens(line).unwrap_or(is_of_tests);
            let part = if is_of_tests { &mut of_tests } else { &mut others };
            part.push_str(line);
            part.push('\n');
        }
        (of_tests, others)
    };
    let (old, _) = base.map(&parted).unwrap_or_default();
    let (now, others) = parted(after);
    (old != now).then(|| OverlayAction::Write(format!("{others}{old}").into_bytes()))
}

fn setup_section(line: &str) -> Option<bool> {
    let name = line.strip_prefix('[')?;
    Some(SETUP.iter().any(|section| name.starts_with(section)))
}

/// Whether a line starts a directive that replaces a dependency or sets the toolchain. A block ends at its bracket.
fn go_directive(line: &str) -> Option<bool> {
    let is_deeper = line.starts_with([' ', '\t', ')']);
    (!is_deeper).then(|| line.starts_with("replace") || line.starts_with("toolchain"))
}

#[cfg(test)]
mod tests;
