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

use serde_json::{Map, Value};

use crate::dependency_versions::DependencyReader;
use crate::files::{RepositoryFiles, is_named};
use crate::language::{Facts, InstalledPrograms, Language, PackageSource, PackedFiles};
use crate::planned::{PlannedTest, ProgramFolder};
use crate::project::{Detection, FoundProject};
use crate::script::ScriptCall;
use crate::stated::{StatedCommand, find as find_stated};
use crate::test_call::TestCall;
use crate::version::major;
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

struct PackageManager {
    program: &'static str,
    what: &'static str,
    locks: &'static [&'static str],
    /// Installs what a lockfile says.
    locked: &'static str,
    /// Installs without a lockfile.
    unlocked: &'static str,
    /// Runs the script test.
    test: &'static str,
}

/// In the order in which their lockfiles count.
static MANAGERS: [PackageManager; 4] = [
    PackageManager {
        program: "pnpm",
        what: "JavaScript with pnpm",
        locks: &["pnpm-lock.yaml"],
        locked: "pnpm install --frozen-lockfile",
        unlocked: "pnpm install --no-frozen-lockfile",
        test: "pnpm test",
    },
    PackageManager {
        program: "bun",
        what: "JavaScript with Bun",
        locks: &["bun.lock", "bun.lockb"],
        locked: "bun install --frozen-lockfile",
        unlocked: "bun install",
        test: "bun run test",
    },
    PackageManager {
        program: "yarn",
        what: "JavaScript with Yarn",
        locks: &["yarn.lock"],
        locked: "yarn install --frozen-lockfile --non-interactive",
        unlocked: "yarn install --non-interactive",
        test: "yarn test",
    },
    PackageManager {
        program: "npm",
        what: "JavaScript with npm",
        locks: &["package-lock.json", "npm-shrinkwrap.json"],
        // The lockfile's author may have used an npm that ignored peer conflicts. And a package's install script may
        // need the network for something that no test uses.
        locked: npm_install!("npm ci"),
        unlocked: npm_install!("npm install"),
        test: "npm test",
    },
];
/// Yarn 2 and newer.
static BERRY: PackageManager = PackageManager {
    program: "yarn",
    what: "JavaScript with Yarn 2 or newer",
    locks: &[],
    locked: "yarn install --immutable",
    unlocked: "yarn install --no-immutable",
    test: "yarn test",
};

/// The package manager, and the file that indicates it.
fn manager(files: &RepositoryFiles<'_>, manifest: &Value) -> Option<(&'static PackageManager, &'static str)> {
    let said = manifest.get("packageManager").and_then(Value::as_str).unwrap_or_default();
    let locks = MANAGERS.iter().flat_map(|manager| manager.locks.iter().map(move |lock| (manager, *lock)));
    let mut locks = locks.filter(|(manager, _)| said.is_empty() || said.starts_with(manager.program));
    let usual = if files.has("pnpm-workspace.yaml") { "pnpm" } else { "npm" };
    let named = |name: &str| MANAGERS.iter().find(|manager| manager.program == name);
    let by_name = || Some((said.split('@').next().and_then(named).or_else(|| named(usual))?, "package.json"));
    let (manager, because) = locks.find(|(_, lock)| files.has(lock)).or_else(by_name)?;
    let is_berry = || {
        let pinned = tools::YARN.wanted(files).and_then(|(_, version)| major(&version));
        pinned >= Some(2)
            || files.has(".yarnrc.yml")
            || files.text("yarn.lock").is_some_and(|lock| lock.contains("__metadata:"))
    };
    Some((if manager.program == "yarn" && is_berry() { &BERRY } else { manager }, because))
}

impl PackageManager {
    fn run(&self, script: &str) -> String {
        match script {
            "test" => self.test.to_owned(),
            _ => format!("{} run {script}", self.program),
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
                sources: &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"],
                unparsed: &[("Vue", &["vue"]), ("Svelte", &["svelte"])],
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
                packed: Some(PackedFiles {
                    by: "npm",
                    manifest: r"package\.json",
                    list: r#"timeout -k 1 20 npm pack --dry-run --json --ignore-scripts --offline |
                        sed -n 's/^ *"path": "\(.*\)",$/\1/p'"#,
                    installed: "node_modules",
                    below: "node_modules",
                }),
                runners: runners::RUNNERS,
                not_loaded: not_loaded::NOT_LOADED,
                surroundings: &[
                    r"\b(?:isTTY|node_modules|getActiveResourcesInfo|_getActiveHandles|npm_lifecycle_event|process\.(?:execArgv|ppid|uptime))\b|\bprocess\.argv\[1\]",
                ],
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
    let (manager, because) = manager(files, &manifest)?;
    let mut found = FoundProject {
        what: manager.what,
        because: because.to_owned(),
        search_path: vec![ProgramFolder::Tree(BIN.into())],
        variables: NO_DOWNLOADS.to_vec(),
        ..FoundProject::default()
    };
    ask.tools.need("node", "package.json");
    ask.tools.need(manager.program, because);
    let has_some = |key: &str| manifest.get(key).is_some_and(|value| !is_empty(value));
    let is_workspace = has_some("workspaces") || files.has("pnpm-workspace.yaml");
    let lists = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
    if is_workspace || lists.into_iter().any(has_some) {
        let is_locked = because != "package.json";
        found.setup(if is_locked { manager.locked } else { manager.unlocked }, because);
    }
    found.test = test(ask, &manifest, manager, is_workspace, &mut found.notes);
    // A manifest for a linter or a site's style is not a project.
    (found.test.is_some() || !found.setup.is_empty()).then_some(found)
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

fn test(
    ask: &Detection<'_, '_>,
    manifest: &Value,
    manager: &PackageManager,
    is_workspace: bool,
    notes: &mut Vec<String>,
) -> Option<PlannedTest> {
    let all = manifest.get("scripts").and_then(Value::as_object);
    let scripts = PackageScripts { all, left: Cell::new(MOST_LOOKED_AT) };
    let is_one = |name: &str| scripts.runs_tests(scripts.text(name), 0);
    // The script of that name is what the repository says. Which of the others is one, or how a runner starts without
    // a script, others say better than a guess.
    let read = |command: &StatedCommand| stated::reading(command, &is_one);
    let said = if is_one("test") { None } else { find_stated(ask.steps, Vec::new(), ask.files, &read) };
    let said_script = said.as_ref().and_then(|(command, _)| stated::script(command));
    if let Some(name) = said_script.or_else(|| SCRIPTS.into_iter().find(|name| is_one(name))) {
        if name != "test" && !scripts.text("test").is_empty() {
            notes.push(format!("the script test of package.json is not run, since it only lints or waits for changes; `{name}` is"));
        }
        let build = scripts.build_before(manager, name, is_workspace);
        let after_build = |run: String| format!("{build}{run}");
        let because = match (name, &said) {
            ("test", _) => "a test script in package.json".to_owned(),
            (_, Some((_, at))) if said_script.is_some() => format!("{at}, which runs the script {name}"),
            _ => format!("a script {name} in package.json"),
        };
        return Some(PlannedTest {
            tests_alone: scripts.without_linters(name).map(after_build),
            is_stated: name == "test" || said_script.is_some(),
            ..PlannedTest::new(after_build(manager.run(name)), because)
        });
    }
    if let Some((command, at)) = said {
        return Some(PlannedTest { is_stated: true, ..PlannedTest::new(command.shell(), at) });
    }
    // Without a script, use the installed runner.
    let has = |name: &str| {
        let lists = ["devDependencies", "dependencies"];
        lists.iter().any(|key| manifest.get(*key).is_some_and(|all| all.get(name).is_some()))
    };
    let runners =
        [("vitest", "vitest run"), ("jest", "jest"), ("mocha", "mocha"), ("ava", "ava"), ("tap", "tap")];
    if let Some((name, command)) = runners.into_iter().find(|(name, _)| has(name)) {
        let because = format!("{name} in package.json");
        return Some(PlannedTest::new(format!("npx --no-install {command}"), because));
    }
    let script = scripts.text("test");
    notes.push(match script.is_empty() || script.contains("no test specified") {
        true => "package.json has no script test, and asks for no runner of tests that is known".to_owned(),
        false => "the script test of package.json only lints or waits for changes, and no other was found that runs tests".to_owned(),
    });
    None
}

/// The scripts of package.json, and how many more of their commands may be examined.
struct PackageScripts<'m> {
    all: Option<&'m Map<String, Value>>,
    left: Cell<usize>,
}

impl<'m> PackageScripts<'m> {
    fn text(&self, name: &str) -> &'m str {
        self.all.and_then(|all| all.get(name)?.as_str()).map(str::trim).unwrap_or_default()
    }

    /// Whether a script runs tests: it terminates, and is not only a linter. Too many nested commands count as no.
    fn runs_tests(&self, script: &str, depth: usize) -> bool {
        let watches = pattern!(r"(?:^|\s)(?:--watch(?:All|-all|=true)?|nodemon|chokidar)(?:\s|$)");
        // `npm init` writes a script that only prints an error.
        if script.is_empty() || script.contains("no test specified") || depth > 4 || watches.is_match(script)
        {
            return false;
        }
        script.split("&&").flat_map(|part| part.split(';')).any(|command| {
            let Some(fewer) = self.left.get().checked_sub(1) else { return false };
            self.left.set(fewer);
            let is_before = |word: &&str| {
                word.contains('=') || matches!(*word, "npx" | "cross-env" | "bunx" | "c8" | "nyc")
            };
            let words: Vec<&str> = command.split_whitespace().skip_while(is_before).collect();
            match words.as_slice() {
                [] => false,
                ["npm" | "pnpm" | "yarn" | "bun", "run", name, ..] | ["yarn" | "pnpm", name, ..]
                    if !name.starts_with('-') =>
                {
                    match self.text(name) {
                        // Such as a script of a workspace.
                        "" => !LINTERS.iter().any(|linter| name.starts_with(linter)),
                        inner => self.runs_tests(inner, depth + 1),
                    }
                }
                [program, ..] => !LINTERS.contains(program),
            }
        })
    }

    /// The commands of a script and its pre and post scripts, without linters. `None` if there are no linters. The
    /// folder of installed programs is in the search path.
    fn without_linters(&self, name: &str) -> Option<String> {
        let scripts = ["pre", "", "post"].map(|before| self.text(&format!("{before}{name}")));
        let (mut kept, mut is_less) = (Vec::new(), false);
        for script in scripts.into_iter().filter(|script| !script.is_empty()) {
            // Part of a quoted text, or of a list that continues after a failure, is not a command on its own.
            let is_one = script.contains([';', '|', '\n', '(']) || script.contains("cd ");
            let parts = if is_one { vec![script] } else { script.split("&&").map(str::trim).collect() };
            for part in parts {
                if !is_one && part.matches(['"', '\'']).count() % 2 == 1 {
                    return None;
                }
                match self.runs_tests(part, 0) {
                    true => kept.push(part),
                    false => is_less = true,
                }
            }
        }
        (is_less && !kept.is_empty()).then(|| kept.join(" && "))
    }

    /// The build that tests need first, if any: workspace packages use each other in their published form.
    fn build_before(&self, manager: &PackageManager, test: &str, is_workspace: bool) -> String {
        let by_itself = [format!("{} build", manager.program), "run build".to_owned()];
        let has = |script: &str| by_itself.iter().any(|build| script.contains(build));
        let own = self.text(test);
        let is_cached = own.contains("turbo") || own.contains("nx ");
        let is_built = has(own) || has(self.text(&format!("pre{test}"))) || is_cached;
        match is_workspace && !self.text("build").is_empty() && !is_built {
            true => format!("{} && ", manager.run("build")),
            false => String::new(),
        }
    }
}
