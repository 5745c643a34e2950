//! JavaScript projects: npm, pnpm, yarn and bun, with workspaces.
//!
//! May know: package.json and the lockfiles. Must never know: other ecosystems.

mod examples;
mod items;
mod manifest;
mod not_loaded;
mod reach;
mod runners;
mod stated;
mod tools;

use std::cell::Cell;

use serde_json::Value;

use crate::dependency_versions::DependencyReader;
use crate::files::{MOST_READ, RepositoryFiles, is_named};
use crate::language::{Facts, InstalledPrograms, Language, PackageSource};
use crate::planned::{PlannedTest, ProgramFolder};
use crate::project::{Detection, FoundProject};
use crate::script::ScriptCall;
use crate::stated::{StatedCommand, TestStatement, find as find_stated};
use crate::test_call::TestCall;
use journeyman_order::bounds::MOST_LOOKED_AT;

/// Scripts that run tests, in order of preference.
const SCRIPTS: [&str; 14] = [
    "test", "test:ci", "ci:test", "test:unit", "unit", "unit-test", "test:run", "tests", "test:node",
    "test-node", "test:all", "test:js", "mocha", "jest",
];
/// Programs that only inspect sources.
const LINTERS: [&str; 22] = [
    "eslint", "standard", "xo", "prettier", "tsc", "biome", "tslint", "jshint", "oxlint", "dprint",
    "stylelint", "semistandard", "tsd", "attw", "publint", "size-limit", "knip", "markdownlint", "vue-tsc",
    "true", "echo", "lint",
];
/// Skips downloads of browsers and programs: tests that need them could not start them anyway.
const NO_DOWNLOADS: [(&str, &str); 8] = [
    ("PUPPETEER_SKIP_DOWNLOAD", "1"),
    ("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1"),
    ("CYPRESS_INSTALL_BINARY", "0"),
    ("ELECTRON_SKIP_BINARY_DOWNLOAD", "1"),
    ("HUSKY", "0"),
    ("YARN_ENABLE_TELEMETRY", "0"),
    ("COREPACK_ENABLE_DOWNLOAD_PROMPT", "0"),
    ("NO_UPDATE_NOTIFIER", "1"),
];

macro_rules! npm_install {
    ($install:literal) => {
        concat!(
            $install,
            " --no-audit --no-fund || ",
            $install,
            " --no-audit --no-fund --legacy-peer-deps || ",
            $install,
            " --no-audit --no-fund --legacy-peer-deps --ignore-scripts"
        )
    };
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PackageManager {
    Npm,
    Pnpm,
    Yarn,
    /// Yarn 2 and newer.
    Berry,
    Bun,
}

impl PackageManager {
    fn of(files: &RepositoryFiles<'_>, manifest: &Value) -> (Self, &'static str) {
        let said = manifest.get("packageManager").and_then(Value::as_str).unwrap_or_default();
        let is_berry = || {
            let pinned = tools::YARN.wanted(files).map(|(_, version)| version).unwrap_or_default();
            let is_new = pinned.starts_with(|c: char| ('2'..='9').contains(&c));
            is_new
                || files.has(".yarnrc.yml")
                || files.text("yarn.lock").is_some_and(|lock| lock.contains("__metadata:"))
        };
        let yarn = || if is_berry() { Self::Berry } else { Self::Yarn };
        for (file, manager) in [
            ("pnpm-lock.yaml", Self::Pnpm),
            ("bun.lock", Self::Bun),
            ("bun.lockb", Self::Bun),
            ("yarn.lock", Self::Yarn),
            ("package-lock.json", Self::Npm),
            ("npm-shrinkwrap.json", Self::Npm),
        ] {
            if files.has(file) && (said.is_empty() || said.starts_with(manager.program())) {
                return (if manager == Self::Yarn { yarn() } else { manager }, file);
            }
        }
        let manager = match said.split('@').next() {
            Some("pnpm") => Self::Pnpm,
            Some("yarn") => yarn(),
            Some("bun") => Self::Bun,
            _ if files.has("pnpm-workspace.yaml") => Self::Pnpm,
            _ => Self::Npm,
        };
        (manager, "package.json")
    }

    fn program(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn | Self::Berry => "yarn",
            Self::Bun => "bun",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Npm => "JavaScript with npm",
            Self::Pnpm => "JavaScript with pnpm",
            Self::Yarn => "JavaScript with Yarn",
            Self::Berry => "JavaScript with Yarn 2 or newer",
            Self::Bun => "JavaScript with Bun",
        }
    }

    fn install(self, is_locked: bool) -> &'static str {
        match (self, is_locked) {
            // The lockfile's author may have used an npm that ignored peer conflicts. And a package's install script
            // may need the network for something that no test uses.
            (Self::Npm, true) => npm_install!("npm ci"),
            (Self::Npm, false) => npm_install!("npm install"),
            (Self::Pnpm, true) => "pnpm install --frozen-lockfile",
            (Self::Pnpm, false) => "pnpm install --no-frozen-lockfile",
            (Self::Yarn, true) => "yarn install --frozen-lockfile --non-interactive",
            (Self::Yarn, false) => "yarn install --non-interactive",
            (Self::Berry, true) => "yarn install --immutable",
            (Self::Berry, false) => "yarn install --no-immutable",
            (Self::Bun, true) => "bun install --frozen-lockfile",
            (Self::Bun, false) => "bun install",
        }
    }

    fn run(self, script: &str) -> String {
        let program = self.program();
        match (self, script) {
            (Self::Npm | Self::Pnpm | Self::Yarn | Self::Berry, "test") => format!("{program} test"),
            _ => format!("{program} run {script}"),
        }
    }
}

const PROGRAMS: &[&str] = &[
    "npm", "npx", "pnpm", "yarn", "bun", "bunx", "deno", "node", "jest", "vitest", "mocha", "ava", "tap",
    "karma",
];

const BIN: &str = "node_modules/.bin";

const PACKAGES: &[PackageSource] = &[
    PackageSource {
        signs: &["package.json"],
        programs: &["npm", "npx", "pnpm", "yarn", "bun", "corepack"],
        // Native packages download Node's headers from nodejs.org.
        hosts: &[
            "registry.npmjs.org", "registry.yarnpkg.com", "repo.yarnpkg.com", "npm.jsr.io", "nodejs.org",
        ],
    },
    PackageSource {
        signs: &["deno.json", "deno.jsonc", "deno.lock"],
        programs: &["deno"],
        hosts: &["jsr.io", "npm.jsr.io", "deno.land", "registry.npmjs.org"],
    },
];

pub(crate) struct JavaScript;

impl Language for JavaScript {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                name: "JavaScript",
                sources: &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"],
                compiled: &["node", "wasm"],
                configuration: manifest::CONFIGURATION,
                settings: manifest::SETTINGS,
                manifests: &["package.json", "deno.json", "deno.jsonc"],
                programs: PROGRAMS,
                tools: tools::TOOLS,
                packages: PACKAGES,
                lockfiles: &[
                    "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock",
                    "bun.lockb", "deno.lock",
                ],
                decides: &["pnpm-workspace.yaml", "binding.gyp", "preinstall*", "postinstall*"],
                scripts: &["js", "mjs", "cjs", "ts"],
                dependency_folders: &[
                    "node_modules", "/.yarn/cache", "/.yarn/unplugged", "/.yarn/install-state.gz",
                    "/.yarn/build-state.yml", "/.pnp.cjs", "/.pnp.loader.mjs", "/.pnpm-store",
                ],
                // Whatever installs packages makes it.
                program_folders: &[InstalledPrograms { folder: BIN, made_by: &[""] }],
                token_files: &[".npmrc", ".yarnrc.yml"],
                protected: &[
                    ".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/plugins/", ".yarn/releases/", ".pnpmfile.cjs",
                    ".pnpmfile.mjs", "bunfig.toml",
                ],
                told: &["jsr.json"],
                runners: runners::RUNNERS,
                not_loaded: not_loaded::NOT_LOADED,
                syntax: Some(&items::SYNTAX),
                examples: Some(&examples::EXAMPLES),
                missing: &[r"^.*[Cc]annot find (?:module|package) '(?P<module>[^'./][^']*)'.*$"],
                no_version: &[
                    r"^(?:Volta error: .*|error: (?:Node|npm|Yarn|pnpm) is not available\.)$",
                    r#"^N/A: version "[^"]+" is not yet installed\.?.*$"#,
                ],
                ..Facts::NONE
            }
        }
    }

    fn find(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find(ask)
    }

    fn install_scripts(&self, files: &RepositoryFiles<'_>) -> Vec<String> {
        let manifest = files.json("package.json").unwrap_or_default();
        let named = |name| Some(manifest.get("scripts")?.get(name)?.as_str()?.to_owned());
        ["preinstall", "install", "postinstall", "prepare"].into_iter().filter_map(named).collect()
    }

    fn script(&self, words: &[&str], read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Option<ScriptCall> {
        runners::script(words, read)
    }

    fn unloaded(&self, lines: &[&str]) -> Vec<(usize, String)> {
        not_loaded::unloaded(lines)
    }

    fn dependencies(&self, path: &str) -> Option<DependencyReader> {
        is_named(path, "package.json").then_some(manifest::dependencies)
    }

    fn reaches(&self, call: &TestCall<'_, '_>) -> bool {
        call.below.is_empty() || reach::reaches(call)
    }
}

fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let files = ask.files;
    let manifest = files.json("package.json")?;
    let (manager, lock) = PackageManager::of(files, &manifest);
    let is_locked = lock != "package.json";
    let mut found = FoundProject {
        what: manager.what(),
        because: if is_locked { lock } else { "package.json" }.to_owned(),
        search_path: vec![ProgramFolder::Tree(BIN.into())],
        variables: NO_DOWNLOADS.to_vec(),
        ..FoundProject::default()
    };
    ask.tools.need("node", "package.json");
    ask.tools.need(manager.program(), lock);
    let has_some = |key: &str| manifest.get(key).is_some_and(|value| !is_empty(value));
    let is_workspace = has_some("workspaces") || files.has("pnpm-workspace.yaml");
    if is_workspace
        || ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"]
            .into_iter()
            .any(has_some)
    {
        found.setup(manager.install(is_locked), lock);
    }
    found.test = test(files, &manifest, (manager, is_workspace), ask.steps, &mut found.notes);
    // A manifest for a linter or a site's style is not a project.
    (found.test.is_some() || !found.setup.is_empty()).then_some(found)
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(serde_json::Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

fn test(
    files: &RepositoryFiles<'_>,
    manifest: &Value,
    (manager, is_workspace): (PackageManager, bool),
    steps: &[TestStatement],
    notes: &mut Vec<String>,
) -> Option<PlannedTest> {
    let scripts = manifest.get("scripts").and_then(Value::as_object).cloned().unwrap_or_default();
    let text =
        |name: &str| scripts.get(name).and_then(Value::as_str).map(str::trim).unwrap_or_default().to_owned();
    let left = Cell::new(MOST_LOOKED_AT);
    let is_one = |name: &str| runs_tests(&text(name), &text, 0, &left);
    // The script of that name is what the repository says. Which of the others is one, or how a runner starts without
    // a script, others say better than a guess.
    let read = |command: &StatedCommand| stated::reading(command, &is_one);
    let said = if is_one("test") { None } else { find_stated(steps, Vec::new(), files, &read) };
    let said_script = said.as_ref().and_then(|(command, _)| stated::script(command));
    let chosen = said_script.or_else(|| SCRIPTS.into_iter().find(|name| is_one(name)));
    if let Some(name) = chosen {
        if name != "test" && !text("test").is_empty() {
            notes.push(format!("the script test of package.json is not run, since it only lints or waits for changes; `{name}` is"));
        }
        let run = manager.run(name);
        let build = build_before(&scripts, manager, name, is_workspace);
        let after_build = |run: String| match &build {
            Some(build) => format!("{build} && {run}"),
            None => run,
        };
        let tests_alone = without_linters(name, &text, &left).map(after_build);
        let command = after_build(run);
        let because = match (name, &said) {
            ("test", _) => "a test script in package.json".to_owned(),
            (_, Some((_, at))) if said_script.is_some() => format!("{at}, which runs the script {name}"),
            _ => format!("a script {name} in package.json"),
        };
        let is_stated = name == "test" || said_script.is_some();
        return Some(PlannedTest { tests_alone, is_stated, ..PlannedTest::new(command, because) });
    }
    if let Some((command, at)) = said {
        return Some(PlannedTest { is_stated: true, ..PlannedTest::new(command.shell(), at) });
    }
    // Without a script, use the installed runner.
    let has = |name: &str| {
        ["devDependencies", "dependencies"]
            .iter()
            .any(|key| manifest.get(*key).is_some_and(|all| all.get(name).is_some()))
    };
    let runners =
        [("vitest", "vitest run"), ("jest", "jest"), ("mocha", "mocha"), ("ava", "ava"), ("tap", "tap")];
    let runner = runners.into_iter().find(|(name, _)| has(name));
    match runner {
        Some((name, command)) => {
            Some(PlannedTest::new(format!("npx --no-install {command}"), format!("{name} in package.json")))
        }
        None if manager == PackageManager::Bun && files.all().any(is_bun_test) => {
            Some(PlannedTest::new("bun test", "files that Bun takes for tests"))
        }
        None => {
            if let Some(command) = workspaces_test(files, manager, is_workspace) {
                return Some(PlannedTest::new(command, "test scripts of the workspaces"));
            }
            let is_missing = text("test").is_empty() || text("test").contains("no test specified");
            notes.push(match is_missing {
                true => "package.json has no script test, and asks for no runner of tests that is known".to_owned(),
                false => "the script test of package.json only lints or waits for changes, and no other was found that runs tests".to_owned(),
            });
            None
        }
    }
}

/// The tests of workspaces whose root has none.
fn workspaces_test(
    files: &RepositoryFiles<'_>,
    manager: PackageManager,
    is_workspace: bool,
) -> Option<String> {
    let manifests =
        files.all().filter(|path| path.ends_with("/package.json") && !path.contains("node_modules/"));
    let has_tests = manifests.take(MOST_READ).filter_map(|path| files.json(path)).any(|manifest| {
        let text = |name: &str| {
            let script = manifest.get("scripts").and_then(|scripts| scripts.get(name)?.as_str());
            script.map(str::trim).unwrap_or_default().to_owned()
        };
        runs_tests(&text("test"), &text, 0, &Cell::new(MOST_LOOKED_AT))
    });
    let command = match manager {
        PackageManager::Npm => "npm test --workspaces --if-present",
        PackageManager::Pnpm => "pnpm --recursive --if-present run test",
        PackageManager::Yarn | PackageManager::Berry | PackageManager::Bun => return None,
    };
    (is_workspace && has_tests).then(|| command.to_owned())
}

fn is_bun_test(path: &str) -> bool {
    [".test.ts", ".test.js", ".test.tsx", ".spec.ts"].iter().any(|end| path.ends_with(end))
        && !path.contains("node_modules/")
}

/// Whether a script runs tests: it terminates, and is not only a linter. Too many nested commands count as no.
fn runs_tests(script: &str, others: &dyn Fn(&str) -> String, depth: usize, left: &Cell<usize>) -> bool {
    // `npm init` writes a script that only prints an error.
    if script.is_empty() || script.contains("no test specified") || depth > 4 {
        return false;
    }
    let watches = script.split_whitespace().any(|word| {
        matches!(word, "--watch" | "--watchAll" | "--watch-all" | "--watch=true" | "nodemon" | "chokidar")
    });
    if watches {
        return false;
    }
    script.split("&&").flat_map(|part| part.split(';')).any(|command| {
        let Some(fewer) = left.get().checked_sub(1) else { return false };
        left.set(fewer);
        let words: Vec<&str> = command.split_whitespace().filter(|word| !word.contains('=')).collect();
        let words = match words.as_slice() {
            ["npx" | "cross-env" | "bunx" | "c8" | "nyc", rest @ ..] => rest,
            all => all,
        };
        match words {
            [] => false,
            ["npm" | "pnpm" | "yarn" | "bun", "run", name, ..] | ["yarn" | "pnpm", name, ..]
                if !name.starts_with('-') =>
            {
                let inner = others(name);
                match inner.is_empty() {
                    // Such as `pnpm -r test`, or a script of a workspace.
                    true => !LINTERS.iter().any(|linter| name.starts_with(linter)),
                    false => runs_tests(&inner, others, depth + 1, left),
                }
            }
            [program, ..] => !LINTERS.contains(program),
        }
    })
}

/// The commands of a script and its pre and post scripts, without linters. `None` if there are no linters. The folder
/// of installed programs is in the search path.
fn without_linters(name: &str, others: &dyn Fn(&str) -> String, left: &Cell<usize>) -> Option<String> {
    let scripts = [format!("pre{name}"), name.to_owned(), format!("post{name}")].map(|name| others(&name));
    let mut kept = Vec::new();
    let mut is_less = false;
    for script in scripts.iter().filter(|script| !script.is_empty()) {
        // Part of a quoted text, or of a list that continues after a failure, is not a command on its own.
        let is_one = script.contains([';', '|', '\n', '(']) || script.contains("cd ");
        let parts = if is_one { vec![script.as_str()] } else { script.split("&&").map(str::trim).collect() };
        for part in parts {
            if !is_one && part.matches(['"', '\'']).count() % 2 == 1 {
                return None;
            }
            match runs_tests(part, others, 0, left) {
                true => kept.push(part),
                false => is_less = true,
            }
        }
    }
    (is_less && !kept.is_empty()).then(|| kept.join(" && "))
}

/// The build that tests need first: workspace packages use each other in their published form.
fn build_before(
    scripts: &serde_json::Map<String, Value>,
    manager: PackageManager,
    test: &str,
    is_workspace: bool,
) -> Option<String> {
    let text = |name: &str| scripts.get(name).and_then(Value::as_str).unwrap_or_default();
    let pre = format!("pre{test}");
    let is_named = |script: &str| {
        script.contains("run build") || script.contains(&format!("{} build", manager.program()))
    };
    let builds_by_itself = is_named(text(test)) || is_named(text(&pre));
    let is_cached = text(test).contains("turbo") || text(test).contains("nx ");
    (is_workspace && !text("build").is_empty() && !builds_by_itself && !is_cached)
        .then(|| manager.run("build"))
}
