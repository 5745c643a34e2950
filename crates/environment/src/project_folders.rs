//! The project folders of a repository, and the project that a file belongs to.
//!
//! May know: manifests, languages. Must never know: how anything is tested.

use std::collections::BTreeMap;

use crate::files::RepositoryFiles;
use crate::network::fits;
use journeyman_order::bounds::MOST_LOOKED_AT;

/// The language of a project, as far as it matters for test commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProjectLanguage {
    Rust,
    Go,
    JavaScript,
    Python,
    Jvm,
    DotNet,
    Ruby,
    Php,
    Elixir,
    Dart,
    Swift,
}

/// How to recognize a language.
struct LanguageSigns {
    language: ProjectLanguage,
    /// Files that make a folder a project. A leading star matches any prefix.
    manifests: &'static [&'static str],
    /// File extensions of its sources.
    sources: &'static [&'static str],
    /// Programs that run its tests.
    programs: &'static [&'static str],
}

const LANGUAGES: [LanguageSigns; 11] = [
    LanguageSigns {
        language: ProjectLanguage::Rust,
        manifests: &["Cargo.toml"],
        sources: &["rs"],
        programs: &["cargo"],
    },
    LanguageSigns {
        language: ProjectLanguage::Go,
        manifests: &["go.mod"],
        sources: &["go"],
        programs: &["go", "gotestsum"],
    },
    LanguageSigns {
        language: ProjectLanguage::JavaScript,
        manifests: &["package.json", "deno.json", "deno.jsonc"],
        sources: &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"],
        programs: &[
            "npm", "npx", "pnpm", "yarn", "bun", "bunx", "deno", "node", "jest", "vitest", "mocha", "ava",
            "tap", "karma",
        ],
    },
    LanguageSigns {
        language: ProjectLanguage::Python,
        manifests: &["pyproject.toml", "setup.py", "setup.cfg", "Pipfile", "requirements.txt"],
        sources: &["py", "pyi", "pyx"],
        programs: &[
            "python",
            "python3",
            "pytest",
            "py.test",
            "unittest",
            "tox",
            "nox",
            "uv",
            "poetry",
            "pdm",
            "hatch",
            "pipenv",
            "manage.py",
            "nosetests",
        ],
    },
    LanguageSigns {
        language: ProjectLanguage::Jvm,
        manifests: &["pom.xml", "build.gradle", "build.gradle.kts", "build.sbt"],
        sources: &["java", "kt", "kts", "scala", "groovy"],
        programs: &["mvn", "mvnw", "gradle", "gradlew", "sbt"],
    },
    LanguageSigns {
        language: ProjectLanguage::DotNet,
        manifests: &["*.csproj", "*.fsproj", "*.vbproj"],
        sources: &["cs", "fs", "vb"],
        programs: &["dotnet"],
    },
    LanguageSigns {
        language: ProjectLanguage::Ruby,
        manifests: &["Gemfile", "*.gemspec"],
        sources: &["rb"],
        programs: &["bundle", "rake", "rspec", "ruby", "rails"],
    },
    LanguageSigns {
        language: ProjectLanguage::Php,
        manifests: &["composer.json"],
        sources: &["php"],
        programs: &["php", "phpunit", "pest", "composer", "simple-phpunit"],
    },
    LanguageSigns {
        language: ProjectLanguage::Elixir,
        manifests: &["mix.exs"],
        sources: &["ex", "exs"],
        programs: &["mix"],
    },
    LanguageSigns {
        language: ProjectLanguage::Dart,
        manifests: &["pubspec.yaml"],
        sources: &["dart"],
        programs: &["dart", "flutter"],
    },
    LanguageSigns {
        language: ProjectLanguage::Swift,
        manifests: &["Package.swift"],
        sources: &["swift"],
        programs: &["swift", "xcodebuild"],
    },
];

impl ProjectLanguage {
    fn of_manifest(name: &str) -> Option<Self> {
        let is_one = |known: &&LanguageSigns| known.manifests.iter().any(|sign| fits(sign, name));
        LANGUAGES.iter().find(is_one).map(|known| known.language)
    }

    fn of_source(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, ending) = name.rsplit_once('.')?;
        LANGUAGES.iter().find(|known| known.sources.contains(&ending)).map(|known| known.language)
    }

    /// Whether a word of a command is a program that runs this language's tests.
    pub(crate) fn is_program(self, word: &str) -> bool {
        let name = word.rsplit('/').next().unwrap_or(word);
        LANGUAGES.iter().any(|known| known.language == self && known.programs.contains(&name))
            || self == Self::Python && name.starts_with("python3.")
    }
}

/// Whether a word of a command is a program that runs tests of any language.
pub(crate) fn is_program_of_any(word: &str) -> bool {
    LANGUAGES.iter().any(|known| known.language.is_program(word))
}

/// A folder with a manifest of one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Project<'f> {
    /// Relative to the root. Empty for the root itself.
    pub(crate) folder: &'f str,
    pub(crate) language: ProjectLanguage,
    /// Relative to the root.
    pub(crate) manifest: &'f str,
}

/// Test data, templates and vendored code: not projects of the repository.
fn is_data(folder: &str, language: ProjectLanguage) -> bool {
    let data = [
        "testdata",
        "fixtures",
        "__fixtures__",
        "test-fixtures",
        "templates",
        "template",
        "node_modules",
        "vendor",
        "third_party",
    ];
    let parts: Vec<&str> = folder.split('/').collect();
    let is_one = |part: &&str| data.contains(part) || (part.starts_with('.') && part.len() > 1);
    let of_tests = |part: &&str| matches!(*part, "test" | "tests" | "__tests__" | "spec" | "specs");
    let above = parts.split_last().map_or(&[][..], |(_, above)| above);
    // Go ignores modules inside another module.
    parts.iter().any(is_one) || (language != ProjectLanguage::Go && above.iter().any(of_tests))
}

/// Folders that show or serve a project. They need no tests.
pub(crate) fn is_beside(folder: &str) -> bool {
    let beside = [
        "examples",
        "example",
        "_examples",
        "samples",
        "sample",
        "demo",
        "demos",
        "docs",
        "doc",
        "website",
        "benchmarks",
        "bench",
        "tools",
        "_tools",
        "tool",
        "hack",
        "testdata",
        "vendor",
    ];
    folder.split('/').any(|part| beside.contains(&part) || part.starts_with('.'))
}

pub(crate) fn contains(folder: &str, path: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

pub(crate) struct Projects<'f> {
    pub(crate) all: Vec<Project<'f>>,
}

impl<'f> Projects<'f> {
    pub(crate) fn of(files: &RepositoryFiles<'f>) -> Self {
        let mut all: BTreeMap<(&'f str, ProjectLanguage), &'f str> = BTreeMap::new();
        for path in files.all() {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let Some(language) = ProjectLanguage::of_manifest(name) else { continue };
            if !is_data(folder, language) && all.len() < MOST_LOOKED_AT {
                let known = all.entry((folder, language)).or_insert(path);
                // Any other manifest is more precise than a requirements file.
                if known.ends_with("requirements.txt") {
                    *known = path;
                }
            }
        }
        let each =
            all.into_iter().map(|((folder, language), manifest)| Project { folder, language, manifest });
        let each: Vec<Project<'f>> = each.filter(|project| is_manifest(project, files)).collect();
        let above = |project: &Project<'f>| {
            let same =
                |other: &&Project<'f>| other.language == project.language && other.folder != project.folder;
            each.iter().filter(same).any(|other| contains(other.folder, project.folder))
        };
        // Below a Python project, a requirements file is part of that project.
        let is_part =
            |project: &Project<'f>| project.manifest.ends_with("requirements.txt") && above(project);
        Self { all: each.iter().filter(|project| !is_part(project)).copied().collect() }
    }

    /// The project that a file belongs to: the nearest of its language, otherwise the nearest of any.
    pub(crate) fn owner(&self, path: &str) -> Option<&Project<'f>> {
        let language = ProjectLanguage::of_source(path)?;
        let around = || self.all.iter().filter(|project| contains(project.folder, path));
        let nearest = |project: &&Project<'f>| project.folder.len();
        around()
            .filter(|project| project.language == language)
            .max_by_key(nearest)
            .or_else(|| around().max_by_key(nearest))
    }
}

/// Whether a manifest defines a project, rather than marking a folder or configuring a tool.
fn is_manifest(project: &Project<'_>, files: &RepositoryFiles<'_>) -> bool {
    let says = |signs: &[&str]| {
        files.text(project.manifest).is_none_or(|text| signs.iter().any(|sign| text.contains(sign)))
    };
    let name = project.manifest.rsplit('/').next().unwrap_or(project.manifest);
    match name {
        "package.json" => says(&["\"scripts\"", "ependencies\"", "\"workspaces\""]),
        "pyproject.toml" => says(&["[project]", "[build-system]", "[tool.poetry", "[dependency-groups]"]),
        "setup.cfg" => says(&["[metadata]", "[options]"]),
        _ => true,
    }
}
