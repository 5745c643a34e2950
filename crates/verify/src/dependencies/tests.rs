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

/// A file with its text before and after; none where it is empty.
fn sides<'a>(path: &'a str, before: &'a str, after: &'a str) -> ChangedPath<'a> {
    let bytes = |text: &'a str| Some(text.as_bytes()).filter(|bytes| !bytes.is_empty());
    ChangedPath { path, before: bytes(before), after: bytes(after) }
}

/// The packages that these files name otherwise.
fn packages(files: &[(&str, &str, &str)]) -> Vec<String> {
    let files = files.iter().map(|(path, before, after)| (sides(path, before, after), true));
    package_changes(&files.collect::<Vec<_>>())
}

fn locked(packages: &[(&str, &str)]) -> String {
    packages
        .iter()
        .map(|(name, version)| format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\n"))
        .collect()
}

#[test]
fn packages_are_named_with_the_old_and_the_new_version() {
    let before = locked(&[("a", "1.0"), ("b", "1.0"), ("b", "2.0"), ("c", "1.0"), ("same", "1.0")]);
    let after = locked(&[("a", "1.1"), ("b", "2.0"), ("b", "3.0"), ("d", "1.0"), ("same", "1.0")]);
    let expected = ["a 1.0 → 1.1", "b 1.0 → 3.0", "c 1.0, gone", "d 1.0"];
    assert_eq!(packages(&[("Cargo.lock", &before, &after)]), expected);
    assert_eq!(packages(&[("uv.lock", "", &after)]), ["a 1.1", "b 2.0, 3.0", "d 1.0", "same 1.0"]);
    assert_eq!(packages(&[("Cargo.lock", &before, &before)]), [""; 0]);
    assert_eq!(
        packages(&[
            (
                "requirements/dev.txt",
                "--index-url https://x/\nflask==2.0\nmypy\n",
                "flask==2.1\nmypy>=1, <2\n"
            ),
            ("go.mod", "require x.org/a v1.0.0\n", "require x.org/a v1.1.0\n"),
            ("go.sum", "x.org/a v1.0.0 h1:0=\n", "x.org/a v1.1.0 h1:0=\n"),
            (".github/workflows/ci.yml", "  - uses: a/b@v1\n", "  - uses: a/b@v2 # new\n"),
            ("build.gradle", "    api 'g:a:1.0'\n", "    api 'g:a:1.1'\n"),
        ]),
        ["a/b v1 → v2", "flask 2.0 → 2.1", "g:a 1.0 → 1.1", "mypy any → >=1, <2", "x.org/a v1.0.0 → v1.1.0"]
    );
}

#[test]
fn a_property_of_a_pom_is_read_as_the_version_that_it_is() {
    let pom = |version: &str| {
        format!(
            "<project><properties><a.version>{version}</a.version></properties><dependency><groupId>g</groupId>\
             <artifactId>a</artifactId><version>${{a.version}}</version></dependency></project>"
        )
    };
    assert_eq!(packages(&[("pom.xml", &pom("1.0"), &pom("1.1"))]), ["g:a 1.0 → 1.1"]);
    brings("pom.xml", &pom("1.0"), &pom("1.1"), &["`g:a` 1.1 is in pom.xml instead of 1.0"]);
}

#[test]
fn a_lockfile_says_more_than_the_range_in_a_manifest() {
    let manifest = |a: &str, b: &str| format!("[dependencies]\na = '{a}'\nb = '{b}'\n");
    let (old, new) = (manifest("1", "1"), manifest("2", "2"));
    let (lock, locked) = (locked(&[("a", "1.4")]), locked(&[("a", "2.1")]));
    let found = packages(&[("Cargo.lock", &lock, &locked), ("Cargo.toml", &old, &new)]);
    assert_eq!(found, ["a 1.4 → 2.1", "b 1 → 2"]);
}

#[test]
fn what_cannot_be_read_is_said_and_what_is_much_is_counted() {
    let many: Vec<String> = (0..54).map(|at| format!("p{at:02}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "1")).collect();
    let found = packages(&[
        ("Cargo.lock", "", &locked(&many)),
        ("web/yarn.lock", "old", "new"),
        ("mix.lock", "a", "b"),
    ]);
    assert_eq!((found.len(), found[19].as_str()), (23, "p19 1"));
    let unread = |path: &str| format!("a lockfile that cannot be read: {path}");
    assert_eq!(found[20..], ["and 34 more".to_owned(), unread("web/yarn.lock"), unread("mix.lock")]);
    let lock = locked(&[("a", "1")]);
    let half = package_changes(&[
        (sides("Cargo.lock", "", &lock), false),
        (sides("go.mod", "", "require a v1\n"), false),
    ]);
    assert_eq!(half, [unread("Cargo.lock")], "nothing is new only because the old side was not read");
    let large = lock.repeat((4 << 20) / lock.len() + 1);
    assert_eq!(packages(&[("Cargo.lock", &lock, &large)]), [unread("Cargo.lock")]);
}

#[test]
fn hostile_names_and_versions_stay_in_their_line() {
    let list =
        format!("{{\"dependencies\": {{\"a 1 → 2\\n- b\": \"{}\", \"\": \"1\"}}}}", "9\\n".repeat(500));
    let found = packages(&[("package.json", "{}", &list)]);
    assert!(
        found.len() == 1 && found[0].starts_with("a\u{fffd}1\u{fffd}→\u{fffd}2\u{fffd}-\u{fffd}b 9\u{fffd}9"),
        "{found:?}"
    );
    assert!(found[0].chars().count() <= LONGEST_LINE && !found[0].contains('\n'), "{found:?}");
}

#[test]
fn a_workflow_is_no_list_of_dependencies() {
    let old = "jobs:\n  a:\n    steps:\n      - uses: actions/checkout@v4\n      - run: make\n";
    for (path, old, new, is_one) in [
        (".github/workflows/ci.yml", old, old.replace("@v4", "@v5"), false),
        ("build.gradle.kts", "a", "b".to_owned(), true),
        ("setup.py", "a", "b".to_owned(), false),
    ] {
        assert_eq!(is_dependency_list(&sides(path, old, &new)), is_one, "{path}: {new}");
    }
}

const PATHS: &[&str] = &[
    "package.json", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "Cargo.toml", "Cargo.lock",
    "Pipfile.lock", "composer.lock", "Gemfile.lock", "build.gradle", ".github/workflows/a.yml",
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
        let found = package_changes(&[(ChangedPath { path, before, after: Some(after.as_bytes()) }, true)]);
        prop_assert!(found.len() <= 21 && found.iter().all(|one| one.len() < 1_500));
    }
}
