//! Which paths an agent must not change, and which deserve a second look. Only paths are checked here.
//!
//! Three kinds: paths that are never safe to take from an agent, paths that the repository's settings can release, and
//! paths that may change with a warning.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use journeyman_languages::setups;

use super::{GitError, names};

/// Paths that no settings can release. GitHub refuses a push of the first without the App's permission; git itself
/// obeys the others.
const ALWAYS: [&str; 3] = [".github/workflows/**", ".gitmodules", "**/.lfsconfig"];

/// Paths protected by default, as globs: they control CI, code owners, other agents' instructions, programs on a
/// developer's machine, and package sources.
pub fn default_protected() -> Vec<String> {
    OF_NO_LANGUAGE.into_iter().map(str::to_owned).chain(setups::protected()).collect()
}

const OF_NO_LANGUAGE: [&str; 80] = [
    // CI and merge bots.
    ".github/**",
    ".gitlab-ci.yml",
    ".gitlab/**",
    ".gitea/**",
    ".forgejo/**",
    ".circleci/**",
    ".buildkite/**",
    ".semaphore/**",
    ".teamcity/**",
    ".tekton/**",
    ".builds/**",
    ".build.yml",
    ".woodpecker/**",
    ".woodpecker.{yml,yaml}",
    ".drone.{yml,yaml}",
    ".travis.yml",
    ".cirrus.{yml,star}",
    ".appveyor.yml",
    "appveyor.yml",
    ".azure-pipelines/**",
    "azure-pipelines*.{yml,yaml}",
    "bitbucket-pipelines.yml",
    "cloudbuild.{yml,yaml,json}",
    "buildspec.{yml,yaml}",
    "codecov.{yml,yaml}",
    ".codecov.{yml,yaml}",
    "**/Jenkinsfile",
    ".mergify.{yml,yaml}",
    ".mergify/**",
    ".kodiak.toml",
    ".bulldozer.yml",
    ".renovaterc",
    ".renovaterc.{json,json5}",
    "renovate.{json,json5}",
    // Code owners.
    "CODEOWNERS",
    "docs/CODEOWNERS",
    // Agents' instructions and settings.
    "**/AGENTS{,.*}.md",
    "**/AGENT.md",
    "**/CLAUDE{,.*}.md",
    "**/GEMINI{,.*}.md",
    "**/.claude",
    "**/.claude/**",
    "**/.codex/**",
    "**/.agents/**",
    "**/.gemini/**",
    "**/.opencode/**",
    "**/opencode.{json,jsonc}",
    "**/.cursor/**",
    "**/.cursorrules",
    "**/.cursorignore",
    "**/.windsurf/**",
    "**/.windsurfrules",
    "**/.clinerules",
    "**/.clinerules/**",
    "**/.roo/**",
    "**/.roorules",
    "**/.continue/**",
    "**/.junie/**",
    "**/.kiro/**",
    "**/.amazonq/**",
    "**/.goosehints",
    "**/.aider*",
    "**/.mcp.json",
    "**/.mcp/**",
    // Programs that run automatically on opening, committing or entering.
    "**/.husky/**",
    "**/.githooks/**",
    "**/.pre-commit-config.{yml,yaml}",
    "**/{,.}lefthook{,-local}.{yml,yaml,toml,json}",
    "**/.lefthook/**",
    "**/.overcommit.yml",
    "**/.vscode/**",
    "**/.idea/**",
    "**/.devcontainer/**",
    "**/.devcontainer.json",
    "**/.gitpod.yml",
    "**/.envrc",
    "**/.mise.toml",
    // Sources of git, and what it reads for a server.
    ".gitmodules",
    "**/.lfsconfig",
    "**/.netrc",
];

/// Paths that may change with a warning, besides those of languages: they decide which third-party code is fetched, built
/// or run.
const TOLD: [&str; 9] = [
    "**/{.tool-versions,mise.toml}",
    "**/flake.{nix,lock}",
    "**/{WORKSPACE,MODULE}{,.bazel}",
    "**/{justfile,Taskfile.yml}",
    "**/{Dockerfile,Containerfile}{,.*}",
    "**/*.{dockerfile,containerfile}",
    "**/{docker-,}compose*.{yml,yaml}",
    "**/.gitattributes",
    "**/.pre-commit-hooks.yaml",
];

/// How to treat a changed path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathProtection {
    Unprotected,
    /// It may change, with a warning.
    Reported,
    Protected,
}

/// Globs of protected paths. They ignore case and other differences that file systems ignore.
pub(super) struct ProtectedPaths {
    globs: GlobSet,
    /// For each glob: whether it protects or releases.
    protects: Vec<bool>,
    told: GlobSet,
}

impl ProtectedPaths {
    /// The last matching pattern decides; a leading `!` releases. [`ALWAYS`] comes last.
    pub(super) fn new(patterns: &[String]) -> Result<Self, GitError> {
        let (mut set, mut protects) = (GlobSetBuilder::new(), Vec::new());
        for pattern in patterns.iter().map(String::as_str).chain(ALWAYS) {
            let (pattern, protect) = pattern.strip_prefix('!').map_or((pattern, true), |free| (free, false));
            set.add(glob(pattern)?);
            protects.push(protect);
        }
        let told = TOLD.into_iter().map(str::to_owned).chain(setups::told());
        Ok(Self { globs: built(&set)?, protects, told: all(told)? })
    }

    /// No protection and no warnings, for people's commits.
    pub(super) fn nothing() -> Self {
        Self { globs: GlobSet::empty(), protects: Vec::new(), told: GlobSet::empty() }
    }

    pub(super) fn protection(&self, path: &str) -> PathProtection {
        let folded = names::fold_path(path);
        let last =
            |path: &str| self.globs.matches(path).last().and_then(|at| self.protects.get(*at)).copied();
        match (last(path), last(&folded)) {
            (Some(true), _) | (None, Some(true)) => PathProtection::Protected,
            (_, _) if self.told.is_match(path) || self.told.is_match(&folded) => PathProtection::Reported,
            (Some(false) | None, _) => PathProtection::Unprotected,
        }
    }

    pub(super) fn is_match(&self, path: &str) -> bool {
        self.protection(path) == PathProtection::Protected
    }
}

fn all(patterns: impl Iterator<Item = String>) -> Result<GlobSet, GitError> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(glob(&pattern)?);
    }
    built(&set)
}

fn glob(pattern: &str) -> Result<globset::Glob, GitError> {
    // On some machines `.GITHUB` is the same folder.
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .case_insensitive(true)
        .empty_alternates(true)
        .build()
        .map_err(|error| GitError::broken(format!("protected: {pattern:?} is not a glob: {error}")))
}

fn built(set: &GlobSetBuilder) -> Result<GlobSet, GitError> {
    set.build().map_err(|error| GitError::broken(format!("protected: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(more: &[&str]) -> ProtectedPaths {
        let more = more.iter().map(|glob| (*glob).to_owned());
        ProtectedPaths::new(&default_protected().into_iter().chain(more).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn what_steers_people_agents_and_machines_is_protected() {
        let protected = with(&[]);
        for path in [
            ".github/workflows/ci.yml",
            ".GitHub/Workflows/CI.yml",
            ".github/copilot-instructions.md",
            ".github/journeyman.yml",
            ".gitlab-ci.yml",
            ".circleci/config.yml",
            "azure-pipelines.yml",
            "azure-pipelines-release.yaml",
            "ci/Jenkinsfile",
            ".travis.yml",
            "bitbucket-pipelines.yml",
            ".woodpecker.yml",
            ".woodpecker/a.yml",
            ".buildkite/pipeline.yml",
            "CODEOWNERS",
            "docs/codeowners",
            "AGENTS.md",
            "agents.MD",
            "AGENT\u{17f}.md",
            "web/AGENTS.override.md",
            "CLAUDE.md",
            "CLAUDE.local.md",
            "GEMINI.md",
            "sub/.claude/settings.json",
            ".codex/config.toml",
            ".cursor/rules/a.mdc",
            ".cursorrules",
            ".mcp.json",
            "opencode.json",
            ".aider.conf.yml",
            ".husky/pre-commit",
            ".githooks/pre-push",
            ".pre-commit-config.yaml",
            "lefthook.yml",
            ".lefthook-local.yml",
            ".vscode/tasks.json",
            ".devcontainer/devcontainer.json",
            ".envrc",
            ".gitmodules",
            "deep/er/.lfsconfig",
            "web/.npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            "pip.conf",
            ".cargo/config.toml",
            ".cargo/config",
            "gradle/wrapper/gradle-wrapper.properties",
            "gradlew",
            "mvnw.cmd",
            "renovate.json",
        ] {
            assert_eq!(protected.protection(path), PathProtection::Protected, "{path}");
        }
    }

    #[test]
    fn what_fetches_builds_and_runs_is_told_and_the_rest_is_free() {
        let protected = with(&[]);
        for path in [
            "package.json", "web/package-lock.json", "Cargo.toml", "crates/a/Cargo.lock", "go.sum",
            "requirements-dev.txt", "pyproject.toml", "Dockerfile", "Dockerfile.test",
            "docker-compose.override.yml", "build.rs", "conftest.py", "scripts/postinstall.js", "MAKEFILE",
            ".gitattributes", // What decides a setup.
            ".nvmrc", ".ruby-version", "mise.toml", "global.json", "gradle/dependencies.gradle", "build.sbt",
            "Package.resolved", "app/stack.yaml", "pubspec.lock", "rules.mk",
        ] {
            assert_eq!(protected.protection(path), PathProtection::Reported, "{path}");
        }
        for path in ["src/main.rs", "docs/agents.txt", "github/a", "tests/CODEOWNERS.md", "a/.gitlab-ci.yml"]
        {
            assert_eq!(protected.protection(path), PathProtection::Unprotected, "{path}");
        }
    }

    #[test]
    fn settings_add_and_set_free_but_not_what_git_itself_obeys() {
        let protected = with(&["migrations/**", "!AGENTS.md", "!.github/**", "!.gitmodules", ".github/x"]);
        for (path, guard) in [
            ("migrations/1.sql", PathProtection::Protected),
            ("AGENTS.md", PathProtection::Unprotected),
            ("web/AGENTS.md", PathProtection::Protected),
            (".github/dependabot.yml", PathProtection::Unprotected),
            (".github/x", PathProtection::Protected),
            (".github/workflows/ci.yml", PathProtection::Protected),
            (".gitmodules", PathProtection::Protected),
        ] {
            assert_eq!(protected.protection(path), guard, "{path}");
        }
        assert!(ProtectedPaths::new(&["[".into()]).is_err());
        assert_eq!(ProtectedPaths::nothing().protection(".gitmodules"), PathProtection::Unprotected);
    }
}
