//! How the projects of each language are recognized, and the folders that only show or serve one.
//!
//! May know: names of manifests, sources, programs and folders. Must never know: how anything is tested.

use crate::files::fits;

/// The language of a project, as far as it matters for test commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProjectLanguage {
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
    pub fn of_manifest(name: &str) -> Option<Self> {
        let is_one = |known: &&LanguageSigns| known.manifests.iter().any(|sign| fits(sign, name));
        LANGUAGES.iter().find(is_one).map(|known| known.language)
    }

    pub fn of_source(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, ending) = name.rsplit_once('.')?;
        LANGUAGES.iter().find(|known| known.sources.contains(&ending)).map(|known| known.language)
    }

    /// Whether a word of a command is a program that runs this language's tests.
    pub fn is_program(self, word: &str) -> bool {
        let name = word.rsplit('/').next().unwrap_or(word);
        LANGUAGES.iter().any(|known| known.language == self && known.programs.contains(&name))
            || self == Self::Python && name.starts_with("python3.")
    }
}

/// Whether a word of a command is a program that runs tests of any language.
pub fn is_program_of_any(word: &str) -> bool {
    LANGUAGES.iter().any(|known| known.language.is_program(word))
}

/// Folders that show or serve a project. They need no tests.
pub fn is_beside(folder: &str) -> bool {
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
