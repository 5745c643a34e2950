use proptest::prelude::*;

use super::*;

/// The sentences for one file.
fn of(path: &str, before: &str, after: &str) -> Vec<String> {
    let before = Some(before).filter(|before| !before.is_empty());
    let changes = [(path, before.map(str::as_bytes), Some(after.as_bytes()))];
    new_dependencies(&changes).into_iter().map(|one| one.what).collect()
}

#[track_caller]
fn brings(path: &str, before: &str, after: &str, expected: &[&str]) {
    assert_eq!(of(path, before, after), expected, "{path}");
    assert!(of(path, after, after).is_empty(), "what did not change brings nothing");
}

#[test]
fn packages_and_programs_in_the_repository_are_named() {
    let new: Option<&[u8]> = Some(b"x");
    let changes: Vec<ChangedPair<'_>> = vec![
        ("vendor/x-1.0.whl", None, new),
        ("lib/a.jar", new, Some(b"y")),
        ("site/a.pth", None, new),
        ("bin/tool", None, Some(b"\x7fELF\x02")),
        ("node_modules/left-pad/index.js", None, new),
        ("node_modules/left-pad/package.json", None, Some(br#"{"scripts":{"install":"x"}}"#)),
        ("web/node_modules/@a/b/index.js", new, Some(b"y")),
        ("vendor/github.com/x/y/z/a.go", None, new),
        ("vendor/modules.txt", None, new),
        ("third_party/zlib/a.c", None, new),
        ("venv/a-1.0.dist-info/METADATA", None, new),
        ("old.whl", new, None),
        ("same.whl", new, new),
        ("src/vendor.rs", None, new),
    ];
    let found: Vec<String> = new_dependencies(&changes).into_iter().map(|one| one.what).collect();
    assert_eq!(
        found,
        [
            "`bin/tool` is compiled code that is committed",
            "`lib/a.jar` is a package that is committed",
            "`site/a.pth` is run at the start by every Python that finds it",
            "`vendor/x-1.0.whl` is a package that is committed",
            "`node_modules/left-pad` is a vendored package that is new (2 files)",
            "`third_party/zlib` is a vendored package that is new (1 file)",
            "`vendor` is a vendored package that is new (1 file)",
            "`vendor/github.com/x/y` is a vendored package that is new (1 file)",
            "`venv/a-1.0.dist-info` is a vendored package that is new (1 file)",
            "`web/node_modules/@a/b` is a vendored package, and was changed (1 file)",
        ]
    );
}

#[test]
fn what_runs_at_installation_is_named() {
    brings(
        "package.json",
        r#"{"scripts": {"test": "a", "prepare": "b"}}"#,
        r#"{"scripts": {"test": "c", "prepare": "b", "postinstall": "node x.js"}}"#,
        &["package.json runs `node x.js` at `postinstall`, when it is installed"],
    );
    brings(
        "setup.py",
        "",
        "setup(cmdclass={'install': I})",
        &[
            "setup.py is new, and is run when the package is installed",
            "setup.py puts steps of its own into the installation (`cmdclass`)",
        ],
    );
    brings(
        "a/build.rs",
        "fn main() {}",
        "fn main() { }",
        &["a/build.rs is changed, and is run when the crate is built"],
    );
    brings(
        "Cargo.toml",
        "[package]\nname = 'a'\n",
        "[package]\nname = 'a'\nbuild = 'b.rs'\n",
        &["Cargo.toml has `b.rs` run when the crate is built"],
    );
    brings(
        "pyproject.toml",
        "",
        "[build-system]\nbuild-backend = 'own'\nbackend-path = ['.']\n",
        &[
            "pyproject.toml has `own` build the package (`build-backend`)",
            "pyproject.toml has `[\".\"]` build the package (`backend-path`)",
        ],
    );
}

#[test]
fn entries_of_manifests_are_named() {
    brings(
        "package.json",
        r#"{"dependencies": {"a": "^1.0.0"}, "version": "1"}"#,
        r#"{"dependencies": {"a": "^2.0.0"}, "devDependencies": {"left-pad": "1.3.0"}, "version": "2"}"#,
        &["`a` `^2.0.0` is in package.json instead of `^1.0.0`", "`left-pad` 1.3.0 is new in package.json"],
    );
    brings(
        "Cargo.toml",
        "[dependencies]\na = '1'\n",
        "[dependencies]\na = { version = '1', git = 'https://x/y' }\nb = { path = '../b' }\n\
         [target.'cfg(unix)'.dev-dependencies]\nc = '3'\n[workspace.dependencies]\nd = '4'\n[patch.crates-io]\ne = { path = 'e' }\n",
        &[
            "`a` 1 is from elsewhere now in Cargo.toml",
            "`b` `path ../b` is new in Cargo.toml",
            "`c` 3 is new in Cargo.toml",
            "`d` 4 is new in Cargo.toml",
            "`e` `path e` is new in Cargo.toml",
        ],
    );
    brings(
        "requirements-dev.txt",
        "requests==2.0 # for a\n",
        "requests==2.1\n# words\nFlask[async]>=2; python_version > '3'\n--index-url https://x/\n-e ./own\nx @ https://y/x.whl\nhttps://z/z.whl\na==1 \\\n    --hash=sha256:00\n",
        &[
            "`--index-url` `https://x/` is new in requirements-dev.txt",
            "`-e` `./own` is new in requirements-dev.txt",
            "`a` 1 is new in requirements-dev.txt",
            "`flask` `>=2` is new in requirements-dev.txt",
            "`https://z/z.whl` is new in requirements-dev.txt",
            "`requests` 2.1 is in requirements-dev.txt instead of 2.0",
            "`x` `@ https://y/x.whl` is new in requirements-dev.txt",
        ],
    );
    brings(
        "pyproject.toml",
        "[project]\ndependencies = ['a']\n",
        "[project]\ndependencies = ['a', 'b>=1']\n[project.optional-dependencies]\nx = ['c']\n\
         [dependency-groups]\ndev = ['d==2']\n[tool.poetry.group.t.dependencies]\ne = '^3'\n[build-system]\nrequires = ['f']\n",
        &[
            "`b` `>=1` is new in pyproject.toml",
            "`c` is new in pyproject.toml",
            "`d` 2 is new in pyproject.toml",
            "`e` `^3` is new in pyproject.toml",
            "`f` is new in pyproject.toml",
        ],
    );
    brings(
        "go.mod",
        "module a\n\ngo 1.22\n\nrequire x.org/a v1.0.0\n",
        "module a\n\ngo 1.23\n\nrequire (\n\tx.org/a v1.1.0\n\tx.org/b v0.1.0 // indirect\n)\nreplace x.org/c => ../c\n",
        &[
            "`x.org/a` v1.1.0 is in go.mod instead of v1.0.0",
            "`x.org/b` v0.1.0 is new in go.mod",
            "`x.org/c` `replaced by ../c` is new in go.mod",
        ],
    );
    brings(
        "pom.xml",
        "<project><version>1</version></project>",
        "<project><dependency>\n <groupId>g</groupId><artifactId>a</artifactId><version>1.2</version></dependency><plugin><artifactId>p</artifactId></plugin></project>",
        &["`g:a` 1.2 is new in pom.xml", "`p` is new in pom.xml"],
    );
}

#[test]
fn entries_of_lockfiles_are_named() {
    brings(
        "package-lock.json",
        r#"{"packages": {"": {"version": "1"}, "node_modules/a": {"version": "1.0.0", "resolved": "https://r/a"}, "node_modules/c": {"version": "1.0.0"}}}"#,
        r#"{"packages": {"": {"version": "2"}, "node_modules/a": {"version": "1.0.0", "resolved": "https://evil/a"}, "node_modules/a/node_modules/@s/left-pad": {"version": "1.3.0"}, "node_modules/c": {"version": "1.0.0"}, "node_modules/a/node_modules/c": {"version": "2.0.0"}}}"#,
        &[
            "`@s/left-pad` 1.3.0 is new in package-lock.json",
            "`a` 1.0.0 is from elsewhere now in package-lock.json",
            "`c` 2.0.0 is new in package-lock.json, beside another version",
        ],
    );
    brings(
        "old/package-lock.json",
        "",
        r#"{"dependencies": {"a": {"version": "1.0.0", "dependencies": {"b": {"version": "2.0.0"}}}}}"#,
        &["`a` 1.0.0 is new in old/package-lock.json", "`b` 2.0.0 is new in old/package-lock.json"],
    );
    brings(
        "yarn.lock",
        "# yarn lockfile v1\n\n\na@^1.0.0:\n  version \"1.0.0\"\n  resolved \"https://r/a\"\n",
        "# yarn lockfile v1\n\n\na@^1.0.0, a@^1.1.0:\n  version \"1.1.0\"\n  dependencies:\n    version \"9\"\n\n\"@s/b@^2\":\n  version \"2.0.0\"\n",
        &["`@s/b` 2.0.0 is new in yarn.lock", "`a` 1.1.0 is in yarn.lock instead of 1.0.0"],
    );
    brings(
        "yarn.lock",
        "",
        "__metadata:\n  version: 8\n\n\"@s/b@npm:^2\":\n  version: 2.0.0\n  resolution: \"@s/b@npm:2.0.0\"\n",
        &["`@s/b` 2.0.0 is new in yarn.lock"],
    );
    brings(
        "pnpm-lock.yaml",
        "lockfileVersion: '9.0'\n\npackages:\n\n  a@1.0.0:\n    resolution: {integrity: x}\n",
        "lockfileVersion: '9.0'\n\npackages:\n\n  a@1.0.0:\n    resolution: {integrity: y}\n\n  '@s/b@2.0.0(c@1)':\n    engines: {}\n\n  /d/3.0.0:\n    dev: true\n\nsnapshots:\n\n  e@1.0.0: {}\n",
        &[
            "`@s/b` 2.0.0 is new in pnpm-lock.yaml",
            "`a` 1.0.0 is from elsewhere now in pnpm-lock.yaml",
            "`d` 3.0.0 is new in pnpm-lock.yaml",
        ],
    );
    for lock in ["Cargo.lock", "poetry.lock", "uv.lock"] {
        let before = "[[package]]\nname = 'a'\nversion = '1.0.0'\n";
        let after = "[[package]]\nname = 'a'\nversion = '1.0.1'\n\n[[package]]\nname = 'b'\nversion = '2.0.0'\nsource = { registry = 'https://r' }\n";
        let expected =
            [format!("`a` 1.0.1 is in {lock} instead of 1.0.0"), format!("`b` 2.0.0 is new in {lock}")];
        assert_eq!(of(lock, before, after), expected);
    }
    brings(
        "go.sum",
        "x.org/a v1.0.0 h1:aa\n",
        "x.org/a v1.0.0 h1:bb\nx.org/a v1.0.0/go.mod h1:cc\nx.org/b v1.0.0/go.mod h1:dd\nx.org/c v1.0.0 h1:dd\n",
        &["`x.org/a` v1.0.0 is from elsewhere now in go.sum", "`x.org/c` v1.0.0 is new in go.sum"],
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named_as_that() {
    for path in ["package.json", "package-lock.json", "Cargo.lock", "pyproject.toml"] {
        let expected = format!("{path} names dependencies, and cannot be read");
        assert_eq!(of(path, "", "<<<<<<< \u{0}"), [expected]);
        let deep = "[".repeat(100_000);
        assert_eq!(of(path, "", &deep).len(), 1, "{path}");
        assert_eq!(of(path, "", &format!("a = {deep}")).len(), 1, "{path}");
    }
}

#[test]
fn no_more_than_some_are_named_one_by_one() {
    let many: String = (0..70).map(|at| format!("p{at:02}==1\n")).collect();
    let found = of("requirements.txt", "", &many);
    assert_eq!(found.len(), 51);
    assert_eq!(found.last().map(String::as_str), Some("and 20 more"));
}

#[test]
fn names_stay_within_their_sentence() {
    let found = of("package.json", "", "{\"dependencies\": {\"a`\\n# b\": \"@x/<b>\"}}");
    assert_eq!(found, ["`a'\u{fffd}# b` `@x/<b>` is new in package.json"]);
    let long = of("package.json", "", &format!("{{\"dependencies\": {{\"{}\": \"1\"}}}}", "a".repeat(900)));
    assert!(long[0].len() < 150, "{long:?}");
}

const PATHS: &[&str] = &[
    "package.json",
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "Cargo.toml",
    "Cargo.lock",
    "requirements.txt",
    "pyproject.toml",
    "go.mod",
    "go.sum",
    "pom.xml",
    "node_modules/",
    "vendor//a",
    "/a.dist-info/",
    "@/@.pth",
];

proptest! {
    #[test]
    fn any_file_is_read_within_limits(
        path in proptest::sample::select(PATHS),
        before in proptest::option::of("[ -~\n\t@é]{0,200}"),
        after in "([a@/:\"' \n=\\[\\]{}<>.-]|version|packages:|resolution:|<dependency>|require){0,80}",
    ) {
        let before = before.as_deref().map(str::as_bytes);
        let found = new_dependencies(&[(path, before, Some(after.as_bytes()))]);
        prop_assert!(found.len() <= 51 && found.iter().all(|one| one.what.len() < 1_500));
    }
}
