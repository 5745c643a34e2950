//! The packages that lockfiles and workflows list.
//!
//! May know: how each form writes a name and its version. Must never know: other files, what changed in them.

use regex::Regex;

use crate::dependency_versions::{DependencyReader, found};
use crate::files::fits;
use crate::grammar_kind::file_name;

macro_rules! reader {
    ($pattern:literal) => {
        |text| found(pattern!($pattern), text)
    };
}

/// The readers of lockfiles, by their names.
const LOCKFILES: &[(&[&str], DependencyReader)] = &[
    (
        &["Cargo.lock", "poetry.lock", "uv.lock", "pdm.lock", "pylock*.toml"],
        reader!(
            r#"(?m)^name = "(?<name>[^"\n]+)"\r?\n(?:[^\[\n][^\n]*\n){0,8}?version = "(?<version>[^"\n]+)""#
        ),
    ),
    (
        &["package-lock.json", "npm-shrinkwrap.json"],
        reader!(
            r#""(?:[^"\n]*node_modules/)?(?<name>[^"\n]+)":\s*\{\s*(?:"name":[^\n]*\s+)?"version":\s*"(?<version>[^"\n]+)""#
        ),
    ),
    (
        &["yarn.lock"],
        reader!(r#"(?m)^"?(?<name>@?[^@"\s]+)@[^\n]*:\r?\n  version:? "?(?<version>[^"\s]+)"?\r?$"#),
    ),
    (
        &["pnpm-lock.yaml"],
        reader!(r#"(?m)^  ['"]?/?(?<name>(?:@[^/\s]+/)?[^/@\s]+)[/@](?<version>\d[^_('":\s]*)[^\n]*:\r?$"#),
    ),
    (&["bun.lock"], reader!(r#"(?m)^    "[^"\n]+": \["(?<name>@?[^@"\n]+)@(?<version>[^"\n]+)""#)),
    (
        &["Pipfile.lock", "packages.lock.json"],
        reader!(r#""(?<name>[^"\n]+)":\s*\{[^{}]*"(?:version|resolved)":\s*"(?:==)?(?<version>[^"\n]+)""#),
    ),
    (&["composer.lock"], reader!(r#""name": "(?<name>[^"\n]+)",\s+"version": "(?<version>[^"\n]+)""#)),
    (&["Gemfile.lock"], reader!(r"(?m)^    (?<name>\S+) \((?<version>[^)\n]+)\)\r?$")),
    // Hashes of what go.mod names.
    (&["go.sum", "go.work.sum"], reader!(r"^(?<name>)(?<version>)")),
    (&["*.lockfile"], reader!(r"(?m)^(?<name>[^#:\s]+:[^:\s]+):(?<version>[^=\s]+)=")),
];

/// What reads a lockfile or a workflow.
pub(crate) fn reader(path: &str) -> Option<DependencyReader> {
    if is_workflow(path) {
        return Some(|text| found(action(), text));
    }
    let mut rows = LOCKFILES.iter();
    let row = rows.find(|(names, _)| names.iter().any(|name| fits(name, file_name(path))));
    row.map(|(_, reader)| *reader)
}

/// Whether a file is a workflow of GitHub.
pub(crate) fn is_workflow(path: &str) -> bool {
    let name = path.strip_prefix(".github/workflows/").unwrap_or_default();
    !name.contains('/') && (name.ends_with(".yml") || name.ends_with(".yaml"))
}

/// A line that uses an action. Behind a commit, a comment often names its version.
fn action() -> &'static Regex {
    pattern!(
        r#"(?m)^[ \t]*(?:- +)?uses:[ \t]*['"]?(?<name>[\w.-]+/[\w./-]+)@(?<version>[\w./-]+)['"]?(?:[ \t]+#[^\n]*)?$"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NPM: &str = r#"{
  "name": "sample", "version": "9.9.9", "lockfileVersion": 3,
  "packages": {
    "": { "name": "sample", "version": "9.9.9" },
    "node_modules/left-pad": {
      "version": "1.3.0",
      "resolved": "https://x/y.tgz"
    },
    "node_modules/a/node_modules/@b/c": {
      "name": "@real/c",
      "version": "2.0.0"
    }
  }
}"#;
    const OLD_NPM: &str = r#"{ "name": "sample", "version": "9.9.9", "lockfileVersion": 1,
  "dependencies": {
    "left-pad": {
      "version": "1.3.0",
      "requires": { "@b/c": "^2" },
      "dependencies": { "@b/c": { "version": "2.0.0" } }
    }
  }
}"#;
    const YARN: &str = "# yarn lockfile v1\n\n\n\"@b/c@^2.0.0\", \"@b/c@^2.1\":\n  version \"2.0.0\"\n  dependencies:\n    version \"^1\"\n\n\
                        left-pad@^1.3.0:\n  version \"1.3.0\"\n";
    const BERRY: &str = "__metadata:\n  version: 6\n\n\"@b/c@npm:^2.0.0\":\n  version: 2.0.0\n  resolution: \"@b/c@npm:2.0.0\"\n\n\
                         \"left-pad@npm:^1.3.0\":\n  version: 1.3.0\n";
    const PNPM: &str = "lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n    dependencies:\n      left-pad:\n        version: 1.3.0\n\n\
                        packages:\n\n  left-pad@1.3.0:\n    resolution: {integrity: sha512-a/b==}\n\n  '@b/c@2.0.0(react@18.0.0)':\n    dev: true\n";
    const OLD_PNPM: &str = "lockfileVersion: 5.4\n\npackages:\n\n  /left-pad/1.3.0:\n    dev: true\n\n  /@b/c/2.0.0_react@18.0.0:\n    dev: true\n";
    const CARGO: &str = "version = 4\n\n[[package]]\nname = \"@b/c\"\nversion = \"2.0.0\"\ndependencies = [\n \"left-pad\",\n]\n\n\
                         [[package]]\ncategory = \"main\"\nname = \"left-pad\"\noptional = false\nversion = \"1.3.0\"\n\n[metadata]\n";
    const PIPFILE: &str = r#"{"_meta": {"hash": {"sha256": "0"}}, "default": {
    "@b/c": { "hashes": ["sha256:0"], "index": "pypi", "version": "==2.0.0" },
    "left-pad": { "version": "==1.3.0" }
}}"#;
    const NUGET: &str = r#"{"version": 1, "dependencies": {"net8.0": {
    "@b/c": { "type": "Direct", "requested": "[2.0.0, )", "resolved": "2.0.0" },
    "left-pad": { "type": "Transitive", "resolved": "1.3.0", "dependencies": { "x": "1" } }
}}}"#;
    const COMPOSER: &str = "{\"packages\": [\n  {\n    \"name\": \"@b/c\",\n    \"version\": \"2.0.0\"\n  }],\n \"packages-dev\": [\n  {\n    \
                            \"name\": \"left-pad\",\n    \"version\": \"1.3.0\"\n  }\n]}";
    const GEMS: &str = "GEM\n  specs:\n    @b/c (2.0.0)\n      left-pad (>= 1)\n    left-pad (1.3.0)\n\nDEPENDENCIES\n  @b/c (~> 2)\n";
    const BUN: &str = "{\n  \"packages\": {\n    \"@b/c\": [\"@b/c@2.0.0\", \"\", {}],\n\n    \"left-pad\": [\"left-pad@1.3.0\", \"\", {}],\n  }\n}";

    #[test]
    fn each_form_lists_its_packages_with_their_versions() {
        for (path, text) in [
            ("package-lock.json", NPM),
            ("web/npm-shrinkwrap.json", OLD_NPM),
            ("yarn.lock", YARN),
            ("yarn.lock", BERRY),
            ("pnpm-lock.yaml", PNPM),
            ("pnpm-lock.yaml", OLD_PNPM),
            ("bun.lock", BUN),
            ("Cargo.lock", CARGO),
            ("api/uv.lock", CARGO),
            ("pylock.dev.toml", CARGO),
            ("Pipfile.lock", PIPFILE),
            ("src/packages.lock.json", NUGET),
            ("composer.lock", COMPOSER),
            ("Gemfile.lock", GEMS),
        ] {
            for text in [text.to_owned(), text.replace('\n', "\r\n")] {
                let found = reader(path).unwrap()(&text).unwrap();
                let found: Vec<(&str, Vec<&String>)> =
                    found.iter().map(|(name, versions)| (name.as_str(), versions.keys().collect())).collect();
                let versions = ["2.0.0", "1.3.0"].map(str::to_owned);
                assert_eq!(found, [("@b/c", vec![&versions[0]]), ("left-pad", vec![&versions[1]])], "{path}");
            }
        }
        let found =
            reader("gradle.lockfile").unwrap()("# a\norg.a:b:1.0=compileClasspath\nempty=\n").unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["org.a:b"]);
        assert!(["mix.lock", "go.mod", "README.md"].iter().all(|path| reader(path).is_none()));
    }

    #[test]
    fn the_actions_of_a_workflow_are_told_from_what_else_it_does() {
        let workflow = "steps:\n  - uses: actions/checkout@v4\n  - name: a\n    uses: \"b/c/d@11bd719\" # v4.2\n  - uses: ./own\n  - run: make\n";
        let path = ".github/workflows/ci.yml";
        let found = reader(path).unwrap()(workflow).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["actions/checkout", "b/c/d"]);
        for path in
            ["ci.yml", "a/.github/workflows/ci.yml", ".github/workflows/a/ci.yml", ".github/workflows/ci.sh"]
        {
            assert!(!is_workflow(path), "{path}");
        }
    }
}
