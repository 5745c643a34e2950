use proptest::prelude::*;

use super::*;

/// The findings for one file.
fn of(path: &str, before: &str, after: &str) -> Vec<String> {
    let before = Some(before).filter(|before| !before.is_empty());
    let before = before.map(str::as_bytes);
    new_dependencies(&[ChangedPath { path, before, after: Some(after.as_bytes()) }])
}

#[track_caller]
fn brings(path: &str, before: &str, after: &str, expected: &[&str]) {
    assert_eq!(of(path, before, after), expected, "{path}");
    assert!(of(path, after, after).is_empty(), "what did not change brings nothing");
}

#[test]
fn packages_and_programs_in_the_repository_are_named() {
    let new: Option<&[u8]> = Some(b"x");
    type Case<'a> = (&'a str, Option<&'a [u8]>, Option<&'a [u8]>);
    let changes: [Case<'_>; 9] = [
        ("lib/x-1.0.whl", None, new),
        ("bin/tool", None, Some(b"\x7fELF\x02")),
        ("node_modules/left-pad/index.js", None, new),
        ("node_modules/left-pad/package.json", None, Some(br#"{"dependencies":{"a":"1"}}"#)),
        ("web/node_modules/@a/b/index.js", new, Some(b"y")),
        ("old.whl", new, None),
        ("same.whl", new, new),
        ("src/vendor.rs", None, new),
        ("a/go.sum", None, new),
    ];
    let found = new_dependencies(&changes.map(|(path, before, after)| ChangedPath { path, before, after }));
    assert_eq!(
        found,
        [
            "`lib/x-1.0.whl` is a package or a program that is committed",
            "`bin/tool` is a package or a program that is committed",
            "`node_modules` holds what others wrote, and is changed",
            "`web/node_modules` holds what others wrote, and is changed",
            "a/go.sum is changed, which says what is installed",
        ]
    );
}

#[test]
fn the_lockfile_of_any_package_manager_is_named() {
    for path in [
        "package-lock.json", "web/bun.lockb", "deno.lock", "Cargo.lock", "Pipfile.lock", "pylock.dev.toml",
        "go.work.sum", "Gemfile.lock", "api/composer.lock", "gradle.lockfile", "src/packages.lock.json",
        "mix.lock", "pubspec.lock", "Package.resolved",
    ] {
        assert_eq!(of(path, "old", "new"), [format!("{path} is changed, which says what is installed")]);
    }
    assert_eq!(of("src/lock.rs", "old", "new"), [""; 0]);
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
fn a_file_that_cannot_be_read_is_named_as_that() {
    for path in ["package.json", "Cargo.toml", "pyproject.toml"] {
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
    assert_eq!(found.len(), 31);
    assert_eq!(found.last().map(String::as_str), Some("and 40 more"));
}

#[test]
fn names_stay_within_their_sentence() {
    let found = of("package.json", "", "{\"dependencies\": {\"a`\\n# b\": \"@x/<b>\"}}");
    assert_eq!(found, ["`a'\u{fffd}# b` `@x/<b>` is new in package.json"]);
    let long = of("package.json", "", &format!("{{\"dependencies\": {{\"{}\": \"1\"}}}}", "a".repeat(900)));
    assert!(long[0].len() < 200, "{long:?}");
}

const PATHS: &[&str] = &[
    "package.json", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "Cargo.toml", "Cargo.lock",
    "requirements.txt", "pyproject.toml", "go.mod", "go.sum", "pom.xml", "node_modules/", "vendor//a",
    "/a.dist-info/", "@/@.pth",
];

proptest! {
    #[test]
    fn any_file_is_read_within_limits(
        path in proptest::sample::select(PATHS),
        before in proptest::option::of("[ -~\n\t@é]{0,200}"),
        after in "([a@/:\"' \n=\\[\\]{}<>.-]|version|packages:|resolution:|<dependency>|require){0,80}",
    ) {
        let before = before.as_deref().map(str::as_bytes);
        let found = new_dependencies(&[ChangedPath { path, before, after: Some(after.as_bytes()) }]);
        prop_assert!(found.len() <= 31 && found.iter().all(|one| one.len() < 1_500));
    }
}
