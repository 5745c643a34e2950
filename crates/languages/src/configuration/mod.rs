//! The files that configure a test run, and how to restore what they said about tests before.
//!
//! May know: the names and forms of such files. Must never know: which files changed, what is laid over a checkout.

mod registered;
mod shadows;

use serde_json::Value;

use crate::table::all;
use crate::text::{json, toml_table};
use registered::{BuildFile, registers_more, with_old_registrations};

pub use shadows::shadows;

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

/// How a file configures the test run: as a whole, or with a part of it.
#[derive(Debug, Clone, Copy)]
pub enum ConfigurationKind {
    Whole,
    Package,
    Toml(&'static [&'static [&'static str]]),
    Setup,
    GoMod,
    Build(BuildFile),
}

/// What to lay over a file so that only what it says about tests is old.
#[derive(Debug)]
pub enum OldSettings {
    /// Its part about tests is as it was.
    AsItIs,
    /// The whole file of the base, or none if the base has none.
    Whole,
    /// These bytes: the part about tests is old.
    Part(Vec<u8>),
}

/// How a file configures the test run, whatever the command names. `starts` are the folders where commands start, in
/// lower case.
pub fn kind(path: &str, starts: &[String]) -> Option<ConfigurationKind> {
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
        "pytest.py" if folder.is_empty() || starts.iter().any(|at| at == folder) => ConfigurationKind::Whole,
        // Runners load plugins that such a folder declares.
        _ if lower.split('/').any(|part| part.ends_with(".egg-info") || part.ends_with(".dist-info"))
            // Programs in these folders take precedence over the machine's.
            || all(|facts| facts.program_folders).any(|programs| is_in(programs.folder))
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

/// Whether a file registers tests with CMake or Meson that the base does not have. Only registered tests are built.
pub fn registers_new_tests(path: &str, base: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    match kind(path, &[]) {
        Some(ConfigurationKind::Build(file)) => registers_more(file, &text(base), &text(after)),
        _ => false,
    }
}

/// The file of the change with the base's part about tests.
pub fn old_settings(kind: ConfigurationKind, base: Option<&[u8]>, after: &[u8]) -> OldSettings {
    match kind {
        ConfigurationKind::Whole => OldSettings::Whole,
        ConfigurationKind::Package => old_package(base, after),
        ConfigurationKind::Toml(keys) => old_toml(keys, base, after),
        ConfigurationKind::Setup => old_text(base, after, setup_section),
        ConfigurationKind::Build(file) => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let old = base.and_then(|base| with_old_registrations(file, &text(base), &text(after)));
            old.map_or(OldSettings::AsItIs, |old| OldSettings::Part(old.into_bytes()))
        }
        ConfigurationKind::GoMod => old_text(base, after, go_directive),
    }
}

fn old_package(base: Option<&[u8]>, after: &[u8]) -> OldSettings {
    let before = base.map_or(Some(Value::Null), json);
    let (Some(Value::Object(mut now)), Some(before)) = (json(after), before) else {
        return OldSettings::Whole;
    };
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
    match is_touched {
        true => serde_json::to_vec_pretty(&now).map_or(OldSettings::Whole, OldSettings::Part),
        false => OldSettings::AsItIs,
    }
}

fn old_toml(keys: &[&[&str]], base: Option<&[u8]>, after: &[u8]) -> OldSettings {
    let parse = |bytes: &[u8]| toml_table(std::str::from_utf8(bytes).ok()?);
    let before = base.map_or_else(|| Some(toml::Table::new()), parse);
    let (Some(mut now), Some(before)) = (parse(after), before) else { return OldSettings::Whole };
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
    match is_touched {
        true => toml::to_string(&now).map_or(OldSettings::Whole, |text| OldSettings::Part(text.into_bytes())),
        false => OldSettings::AsItIs,
    }
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
fn old_text(base: Option<&[u8]>, after: &[u8], opens: impl Fn(&str) -> Option<bool>) -> OldSettings {
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
    match old == now {
        true => OldSettings::AsItIs,
        false => OldSettings::Part(format!("{others}{old}").into_bytes()),
    }
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
