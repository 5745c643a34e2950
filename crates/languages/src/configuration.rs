//! The files that configure a test run, and how to restore what they said about tests before.
//!
//! May know: the languages. Must never know: which files changed, what is laid over a checkout.

use crate::files::fits_path;
use crate::language::FileReader;
use crate::old_settings::OldPart;
use crate::table::{LANGUAGES, all};

pub use crate::old_settings::OldSettings;

/// How a file configures the test run: as a whole, or with a part of it.
#[derive(Debug, Clone, Copy)]
pub enum ConfigurationKind {
    Whole,
    Part(OldPart),
}

/// How a file configures the test run, whatever the command names. `starts` are the folders where commands start, in
/// lower case.
pub fn kind(path: &str, starts: &[String]) -> Option<ConfigurationKind> {
    let path = path.to_ascii_lowercase();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    if let Some((_, old)) = all(|facts| facts.settings).find(|(file, _)| *file == name) {
        return Some(ConfigurationKind::Part(*old));
    }
    let is_start = folder.is_empty() || starts.iter().any(|at| at == folder);
    let at_start = all(|facts| facts.configuration_at_start).filter(|_| is_start);
    let mut signs = all(|facts| facts.configuration).chain(at_start);
    let is_in = |wanted: &str| folder == wanted || folder.ends_with(&format!("/{wanted}"));
    // Programs in these folders take precedence over the machine's.
    let mut programs = all(|facts| facts.program_folders);
    (programs.any(|programs| is_in(programs.folder)) || signs.any(|sign| fits_path(sign, &path)))
        .then_some(ConfigurationKind::Whole)
}

/// Whether a new file takes the place of a module that a language or a runner brings.
pub fn shadows(path: &str, starts: &[String], read_base: FileReader<'_>, read_after: FileReader<'_>) -> bool {
    LANGUAGES.iter().any(|language| language.shadows(path, starts, read_base, read_after))
}

/// Whether a file registers tests that the base does not have. Only registered tests are built.
pub fn registers_new_tests(path: &str, base: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    LANGUAGES.iter().any(|language| language.brings_tests(&name, base, after))
}

/// The file of the change with the base's part about tests.
pub fn old_settings(kind: ConfigurationKind, base: Option<&[u8]>, after: &[u8]) -> OldSettings {
    match kind {
        ConfigurationKind::Whole => OldSettings::Whole,
        ConfigurationKind::Part(old) => old(base, after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

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
    /// What was written out as code.
    const OTHERS: [&str; 11] = [
        ".cargo/config",
        ".cargo/config.toml",
        ".config/nextest.toml",
        ".env",
        "*.egg-info/",
        "*.dist-info/",
        ".mvn/*",
        "gradle/wrapper/*",
        "rakelib/*.rake",
        "*.mk",
        "*.pth",
    ];
    const PARTS: [&str; 9] = [
        "package.json",
        "pyproject.toml",
        "hatch.toml",
        "bunfig.toml",
        "cargo.toml",
        "setup.cfg",
        "go.mod",
        "cmakelists.txt",
        "meson.build",
    ];

    #[test]
    fn the_languages_know_what_was_known() {
        let beginnings = BEGINNINGS.map(|start| format!("{start}*"));
        let old: BTreeSet<String> =
            WHOLE.iter().chain(&OTHERS).map(|sign| (*sign).to_owned()).chain(beginnings).collect();
        let signs = all(|facts| facts.configuration);
        assert_eq!(signs.map(|sign| sign.to_lowercase()).collect::<BTreeSet<_>>(), old);
        let at_start: Vec<&str> = all(|facts| facts.configuration_at_start).copied().collect();
        assert_eq!(at_start, ["pytest.py"]);
        let parts: BTreeSet<&str> = all(|facts| facts.settings).map(|(file, _)| *file).collect();
        assert_eq!(parts, PARTS.into_iter().collect());
    }
}
