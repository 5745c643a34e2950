//! Go projects: modules and workspaces.
//!
//! May know: go.mod, go.work. Must never know: other ecosystems.

mod items;

use crate::counts::go;
use crate::dependency_versions::{DependencyReader, DependencyVersions, put};
use crate::files::{RepositoryFiles, is_beside, is_named, quote};
use crate::language::{Facts, Language, PackageSource};
use crate::not_loaded::NotLoaded;
use crate::old_settings::old_text;
use crate::planned::KeptBuild;
use crate::project::{Detection, FoundProject};
use crate::runner::{
    Asked, PrintedResult, RunnerCall, SelectedRun, SummaryForm, TestRunner, TestSelection, WordsPlace,
    identifiers,
};
use crate::test_call::TestCall;
use crate::tool_facts::{SetupAction, ToolFacts};
use journeyman_order::bounds::MOST_NAMED;

pub(crate) struct Go;

impl Language for Go {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                sources: &["go"],
                configuration: &["go.work"],
                settings: &[("go.mod", |base, after| old_text(base, after, directive))],
                manifests: &["go.mod"],
                programs: &["go", "gotestsum"],
                // Go ignores modules inside another module.
                has_nested_projects: true,
                tools: &[ToolFacts {
                    name: "go",
                    version_arguments: &["version"],
                    actions: &[SetupAction::new("actions/setup-go", "go-version")],
                    any_version: &["stable"],
                    ..ToolFacts::NONE
                }],
                packages: &[PackageSource {
                    signs: &["go.mod", "go.work"],
                    programs: &["go"],
                    hosts: &["proxy.golang.org", "sum.golang.org"],
                }],
                lockfiles: &["go.sum", "go.work.sum"],
                runners: RUNNERS,
                missing: &[
                    r"^.*no required module provides package .*$",
                    r"^go: inconsistent vendoring in .*$",
                ],
                not_loaded: NOT_LOADED,
                surroundings: &[
                    r"\b(?:os\.Executable|os\.Getppid|runtime\.Callers?|debug\.Stack|flag\.Lookup|IsTerminal)\b",
                ],
                syntax: Some(&items::SYNTAX),
                ..Facts::NONE
            }
        }
    }

    fn find(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find(ask)
    }

    fn reaches(&self, call: &TestCall<'_, '_>) -> bool {
        // Other modules are not part of it.
        call.below.is_empty()
    }

    fn dependencies(&self, path: &str) -> Option<DependencyReader> {
        is_named(path, "go.mod").then_some(dependencies)
    }

    fn build_call<'w>(&self, words: &[&'w str]) -> Option<Vec<&'w str>> {
        build_call(words)
    }

    fn keep_build(&self, files: &RepositoryFiles<'_>, kept: &mut KeptBuild) -> bool {
        keep_build(files, kept)
    }
}

const NOT_LOADED: &[NotLoaded] = &[
    NotLoaded::part(r"^FAIL\t(\S+) \[(?:build|setup) failed\]$"),
    NotLoaded::base(r"\S+\.go:\d+:\d+: "),
    NotLoaded::program(r"undefined(?: \(type [^)]*\))?: (?:\w+\.)*(\w+)"),
    NotLoaded::program(r"has no field or method (\w+)"),
    NotLoaded::program(r"unknown field (\w+) in struct"),
    NotLoaded::program(r"^\S+\.go:\d+.*(?:error|syntax)"),
    NotLoaded::program(r"^# command-line-arguments"),
];

const RUNNERS: &[TestRunner] = &[TestRunner {
    name: "go",
    runs: |words| words.starts_with(&["go", "test"]),
    ask: verbose,
    behind: &["go.mod"],
    select,
    printed: Some(PrintedResult { read: go::either, form: SummaryForm::Parts }),
    ..TestRunner::NONE
}];

fn verbose(call: &RunnerCall<'_>) -> Asked {
    if (call.read)("go.mod").is_none() {
        return Asked::default();
    }
    // A variable in the command overrides the environment.
    if call.outer.iter().any(|word| word.starts_with("GOFLAGS=")) {
        return Asked { words: vec!["-v".to_owned()], place: WordsPlace::After(2), ..Asked::default() };
    }
    Asked { variables: vec![("GOFLAGS", "-v".to_owned())], ..Asked::default() }
}

fn select(selection: &TestSelection<'_>) -> Option<SelectedRun> {
    let functions = identifiers(selection.names.iter().map(|name| function(name).to_owned()))?;
    selection.with_variable("GOFLAGS", &format!(" -run=^({})$", functions.join("|")))
}

/// The function of a test, without its package and its subtests, whose names may contain anything.
fn function(name: &str) -> &str {
    let kinds = [".Test", ".Example", ".Fuzz", ".Benchmark"];
    let begins = kinds.iter().filter_map(|kind| name.find(kind)).min().map_or(0, |dot| dot + 1);
    let function = name.get(begins..).unwrap_or(name);
    function.split('/').next().unwrap_or(function)
}

fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let files = ask.files;
    let mut found = FoundProject { what: "Go", ..FoundProject::default() };
    if let Some(work) = files.text("go.work") {
        found.because = "go.work".into();
        ask.tools.need("go", "go.work");
        let packages: Vec<String> = used(&work).iter().map(|folder| quote(&in_folder(folder))).collect();
        found.setup("go mod download", "go.work");
        if !packages.is_empty() {
            tested(&mut found, |test| format!("{test} {}", packages.join(" ")), "go.work");
        }
        return Some(found);
    }
    if let Some(module) = files.text("go.mod") {
        found.because = "go.mod".into();
        ask.tools.need("go", "go.mod");
        let needs = module.lines().any(|line| line.trim_start().starts_with("require"));
        // Vendored modules need no download.
        if needs && !files.has("vendor/modules.txt") {
            found.setup("go mod download", "go.mod");
        }
        tested(&mut found, |test| format!("{test} ./..."), "go.mod");
        return Some(found);
    }
    // Modules below a root that is not a module.
    let modules: Vec<&str> =
        files.all().filter_map(|path| path.strip_suffix("/go.mod")).filter(|path| !is_beside(path)).collect();
    let first = modules.first()?;
    // A folder of examples does not make it a Go project.
    if files.has("package.json") || files.has("pyproject.toml") || modules.len() > MOST_NAMED {
        return None;
    }
    found.because = format!("{first}/go.mod");
    ask.tools.need("go", &found.because);
    let each = |command: &str| {
        let one = |folder: &&str| format!("(cd {} && {command})", quote(folder));
        modules.iter().map(one).collect::<Vec<_>>().join(" && ")
    };
    let because = found.because.clone();
    found.setup(each("go mod download"), &because);
    tested(&mut found, |test| each(&format!("{test} ./...")), &because);
    Some(found)
}

/// The tests, and an alternative without vet: a newer Go reports more in old code than its tests do.
fn tested(found: &mut FoundProject, command: impl Fn(&str) -> String, because: &str) {
    found.test(command("go test"), because);
    found.tests_alone(command("go test -vet=off"));
}

/// The folders that a workspace uses.
fn used(work: &str) -> Vec<String> {
    let mut folders = Vec::new();
    let mut is_open = false;
    for line in work.lines().map(|line| line.split("//").next().unwrap_or_default().trim()) {
        let named = match line.strip_prefix("use") {
            Some(rest) if rest.trim() == "(" => {
                is_open = true;
                continue;
            }
            Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim(),
            _ if line == ")" => {
                is_open = false;
                continue;
            }
            _ if is_open => line,
            _ => continue,
        };
        if !named.is_empty() {
            folders.push(named.trim_matches('"').trim_end_matches('/').to_owned());
        }
    }
    folders
}

fn in_folder(folder: &str) -> String {
    match folder {
        "." => "./...".to_owned(),
        other if other.starts_with('.') => format!("{other}/..."),
        other => format!("./{other}/..."),
    }
}

/// Where Go keeps what it compiled, by content.
const BUILD_CACHE: &str = ".cache/go-build";
/// C code that a package includes from another folder is not part of that content.
const C: [&str; 10] = ["c", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "inc", "m"];

/// A call that builds tests and runs none: each program is given to `true`. `None` if this is no test run of Go.
fn build_call<'w>(words: &[&'w str]) -> Option<Vec<&'w str>> {
    let ["go", "test", more @ ..] = words else { return None };
    let is_other = |word: &&str| {
        let option = word.trim_start_matches('-').split('=').next().unwrap_or_default();
        word.starts_with('-') && matches!(option, "exec" | "c" | "fuzz" | "args")
    };
    let asks_more = more.iter().any(is_other);
    (!asks_more).then(|| [["go", "test", "-exec", "true"].as_slice(), more].concat())
}

/// Returns whether anything may be kept.
fn keep_build(files: &RepositoryFiles<'_>, kept: &mut KeptBuild) -> bool {
    let is_c = |path: &str| path.rsplit_once('.').is_some_and(|(_, end)| C.contains(&end));
    if files.all().any(is_c) {
        return false;
    }
    kept.home.push(BUILD_CACHE);
    true
}

/// Whether a line starts a directive that replaces a dependency or sets the toolchain. A block ends at its bracket.
fn directive(line: &str) -> Option<bool> {
    let is_deeper = line.starts_with([' ', '\t', ')']);
    (!is_deeper).then(|| line.starts_with("replace") || line.starts_with("toolchain"))
}

fn dependencies(text: &str) -> Option<DependencyVersions> {
    let mut entries = DependencyVersions::new();
    let mut block = "";
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        if line == ")" {
            block = "";
        } else if let Some(word) = line.strip_suffix('(') {
            block = word.trim();
        } else {
            let (verb, rest) =
                if block.is_empty() { line.split_once(' ').unwrap_or_default() } else { (block, line) };
            let mut words = rest.split_whitespace();
            match (verb, words.next()) {
                ("require" | "tool", Some(name)) => {
                    put(&mut entries, name, words.next().unwrap_or_default(), "");
                }
                ("replace", Some(name)) => {
                    let by = rest.split_once("=>").map_or("", |(_, by)| by).trim();
                    put(&mut entries, name, &format!("replaced by {by}"), "");
                }
                _ => {}
            }
        }
    }
    Some(entries)
}
