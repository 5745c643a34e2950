use super::*;
use proptest::prelude::*;

type FileTable<'a> = &'a [(&'a str, &'a str)];

fn reader<'a>(tree: FileTable<'a>) -> impl Fn(&str) -> Option<Vec<u8>> + 'a {
    move |path| tree.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec())
}

fn old(command: &str, base: FileTable<'_>, after: FileTable<'_>) -> Vec<Overlay> {
    let changed: BTreeSet<String> = base.iter().chain(after).map(|(path, _)| (*path).to_owned()).collect();
    let changed: Vec<String> = changed.into_iter().collect();
    old_configuration(&changed, command, &[], &reader(base), &reader(after))
}

fn text(overlay: &Overlay) -> &str {
    match &overlay.action {
        OverlayAction::Write(bytes) => std::str::from_utf8(bytes).unwrap(),
        OverlayAction::Remove => "removed",
        OverlayAction::OfBase | OverlayAction::OfChange => unreachable!(),
    }
}

#[test]
fn files_that_configure_tests_are_known_wherever_they_lie() {
    for path in [
        "conftest.py",
        "tests/unit/conftest.py",
        "pytest.ini",
        "tox.ini",
        "tox.toml",
        ".noserc",
        "noxfile.py",
        "sitecustomize.py",
        "src/evil.pth",
        "Makefile",
        "rules.mk",
        "justfile",
        "crates/a/build.rs",
        ".cargo/config.toml",
        "a/.cargo/config",
        "rust-toolchain",
        ".config/nextest.toml",
        "jest.config.ts",
        "jest.preset.js",
        "web/jest.setup.mjs",
        "jest.setup.cjs",
        "jest.setup.tsx",
        "vitest.config.mjs",
        "babel.config.js",
        ".mocharc.yml",
        ".mocharc",
        ".nycrc.json",
        "ava.config.js",
        "go.work",
        "pom.xml",
        "Rakefile",
        "gems/a/rakefile.rb",
        "rakelib/test.rake",
        ".rspec",
        ".rspec-local",
        "phpunit.xml",
        "phpunit.xml.dist",
        "api/phpunit.dist.xml",
        "app/build.gradle.kts",
        "gradle/wrapper/gradle-wrapper.properties",
        ".env",
        ".env.test",
        "PYTEST.INI",
        "pytest.py",
        "web/node_modules/.bin/node",
        "backend/.venv/bin/python3",
    ] {
        assert_eq!(
            old("make test", &[(path, "old")], &[(path, "new")])[0].action,
            OverlayAction::Write(b"old".to_vec()),
            "{path}"
        );
        assert_eq!(old("make test", &[], &[(path, "new")])[0].action, OverlayAction::Remove, "{path}");
        assert_eq!(
            old("make test", &[(path, "old")], &[])[0].action,
            OverlayAction::Write(b"old".to_vec()),
            "{path}"
        );
        assert_eq!(old("make test", &[(path, "old")], &[(path, "old")]), []);
    }
    for path in [
        "src/lib.rs", "tests/test_a.py", "README.md", "src/a/unittest.py", "config.toml",
        "src/environment.py", "lib/tasks/import.rake",
        // What these build is part of what the tests test.
        "gulpfile.js", "Gruntfile.js", "lib/rakelib.rb", "Cargo.lock",
    ] {
        assert_eq!(old("make test", &[(path, "old")], &[(path, "new")]), [], "{path}");
    }
}

#[test]
fn a_python_that_starts_in_a_folder_finds_that_folders_files_first() {
    let command = "(cd backend && python3 -m unittest) && (cd web && npm test)";
    let new = |path: &str| old(command, &[], &[(path, "new")]);
    assert_eq!(new("backend/unittest.py")[0].action, OverlayAction::Remove);
    // Files of these names shadow standard library modules, including those that only runners import.
    for path in [
        "backend/argparse.py",
        "backend/src/unittest.py",
        "backend/_strptime.cpython-311-x86_64-linux-gnu.so",
        "backend/tests/decimal.py",
        "Tests/decimal.py",
        "backend/pluggy.py",
        "backend/evil.egg-info/entry_points.txt",
    ] {
        assert_eq!(new(path)[0].action, OverlayAction::Remove, "{path}");
        let laid_on_the_base = old(command, &[(path, "new")], &[]);
        assert_eq!(laid_on_the_base[0].action, OverlayAction::Write(b"new".to_vec()), "{path}");
    }
    for name in ["unittest", "pytest"] {
        let paths = ["__init__.py", "__main__.py"].map(|file| format!("backend/{name}/{file}"));
        let package = paths.each_ref().map(|path| (path.as_str(), "new"));
        let laid: Vec<String> = old(command, &[], &package).into_iter().map(|overlay| overlay.path).collect();
        assert_eq!(laid, paths);
    }
    // No shadowing inside a package, for names that the base already has, and where nothing starts.
    let init = ("backend/app/__init__.py", "");
    for (path, base) in [
        ("backend/app/types.py", vec![init]),
        ("backend/app/http/client.py", vec![init]),
        ("backend/queue.py", vec![("backend/queue.py", "old")]),
        ("web/types.py.txt", vec![]),
        ("backend/http/client.py", vec![]),
        ("scripts/queue.py", vec![]),
    ] {
        let after: Vec<_> =
            base.iter().copied().filter(|(known, _)| *known != path).chain([(path, "new")]).collect();
        assert_eq!(old(command, &base, &after), [], "{path}");
    }
    // Scripts come from the folder's own manifest.
    let manifest = r#"{"scripts": {"test": "sh check.sh"}}"#;
    let files = |text| [("web/package.json", manifest), ("web/check.sh", text)];
    assert_eq!(old(command, &files("old"), &files("new"))[0].path, "web/check.sh");
}

#[test]
fn a_dependency_more_is_no_configuration_and_stays() {
    let base = r#"{"scripts": {"test": "jest"}, "dependencies": {}}"#;
    let honest = r#"{"scripts": {"test": "jest"}, "dependencies": {"a": "1"}}"#;
    let bent = r#"{"scripts": {"test": "true"}, "jest": {"bail": 1}, "dependencies": {"a": "1"}}"#;
    assert_eq!(old("npm test", &[("package.json", base)], &[("package.json", honest)]), []);
    let overlays = old("npm test", &[("package.json", base)], &[("package.json", bent)]);
    let restored: Value = serde_json::from_str(text(&overlays[0])).unwrap();
    assert_eq!(restored, serde_json::from_str::<Value>(honest).unwrap());
    let unread = old("npm test", &[("package.json", base)], &[("package.json", "{")]);
    assert_eq!(text(&unread[0]), base, "one that cannot be read is restored as a whole");

    let base = "[package]\nname = 'a'\n[dependencies]\n[profile.test]\nopt-level = 1\n";
    let honest = "[package]\nname = 'a'\n[dependencies]\nb = '1'\n[profile.test]\nopt-level = 1\n";
    let bent = "[package]\nname = 'a'\nautotests = false\n[lib]\ntest = false\n[dependencies]\nb = '1'\n";
    assert_eq!(old("cargo test", &[("Cargo.toml", base)], &[("Cargo.toml", honest)]), []);
    let overlays = old("cargo test", &[("Cargo.toml", base)], &[("Cargo.toml", bent)]);
    let mut restored: toml::Table = text(&overlays[0]).parse().unwrap();
    assert_eq!(restored.remove("lib"), Some(toml::Value::Table(toml::Table::new())));
    assert_eq!(restored, honest.parse::<toml::Table>().unwrap());

    let base = "[project]\nname = 'a'\n[tool.pytest.ini_options]\naddopts = '-ra'\n";
    let bent = "[project]\nname = 'b'\n[tool.pytest.ini_options]\naddopts = '--co'\n[tool.ruff]\n";
    let overlays = old("pytest", &[("pyproject.toml", base)], &[("pyproject.toml", bent)]);
    let restored: toml::Table = text(&overlays[0]).parse().unwrap();
    assert_eq!(restored, bent.replace("--co", "-ra").parse::<toml::Table>().unwrap());
    let without = bent.replace("[tool.pytest.ini_options]\naddopts = '--co'\n", "");
    assert_eq!(
        text(&old("pytest", &[], &[("pyproject.toml", bent)])[0]).parse::<toml::Table>().unwrap()["tool"]
            .as_table()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["ruff"]
    );
    assert_eq!(old("pytest", &[], &[("pyproject.toml", &without)]), []);

    for (path, base, bent) in [
        (
            "hatch.toml",
            "[envs.test]\nargs = 'tests'\n[build]\n",
            "[envs.test]\nargs = '--co'\n[build]\na = 1\n",
        ),
        ("bunfig.toml", "[test]\nroot = 'tests'\n", "[test]\nroot = 'none'\n[install]\na = 1\n"),
    ] {
        let restored: toml::Table = text(&old("make", &[(path, base)], &[(path, bent)])[0]).parse().unwrap();
        let honest = bent.replace("--co", "tests").replace("none", "tests");
        assert_eq!(restored, honest.parse::<toml::Table>().unwrap(), "{path}");
        assert_eq!(old("make", &[(path, base)], &[(path, &honest)]), [], "{path}");
    }

    let base = "[metadata]\nname = a\n[tool:pytest]\naddopts = -ra\n";
    let bent = "[metadata]\nname = b\n[tool:pytest]\naddopts = --co\n[flake8]\nx = 1\n";
    let overlays = old("pytest", &[("setup.cfg", base)], &[("setup.cfg", bent)]);
    assert_eq!(text(&overlays[0]), "[metadata]\nname = b\n[flake8]\nx = 1\n[tool:pytest]\naddopts = -ra\n");

    let base = "module a\n\nrequire b v1\n";
    let bent = "module a\n\nreplace (\n\tb => ./b\n)\n\nrequire b v2\n";
    let overlays = old("go test ./...", &[("go.mod", base)], &[("go.mod", bent)]);
    assert_eq!(text(&overlays[0]), "module a\n\n\nrequire b v2\n");
    assert_eq!(old("go test ./...", &[("go.mod", base)], &[("go.mod", "module a\n\nrequire b v2\n")]), []);
}

const POM: &str = "<project>
  <parent><groupId>p</groupId><artifactId>p</artifactId><version>7</version></parent>
  <properties>
    <junit.version>5.9</junit.version><surefire.version>3.0</surefire.version><java.version>17</java.version>
    <both.version>8</both.version><argLine>-Dx=${both.version}</argLine>
  </properties>
  <dependencies>
    <dependency><groupId>g</groupId><artifactId>junit</artifactId><version>${junit.version}</version><scope>test</scope></dependency>
    <dependency>
      <groupId>g</groupId>
      <artifactId>a</artifactId>
      <version>1.0</version>
    </dependency>
    <dependency><artifactId>b</artifactId><version>${both.version}</version></dependency>
  </dependencies>
  <build><plugins><plugin>
    <artifactId>surefire</artifactId><version>${surefire.version}</version>
    <configuration><junit.version>5.9</junit.version></configuration>
    <dependencies><dependency><artifactId>c</artifactId><version>2.0</version></dependency></dependencies>
  </plugin></plugins></build>
</project>";

#[test]
fn the_versions_of_a_builds_dependencies_are_no_configuration_and_all_else_is() {
    let gradle = "dependencies {\n    implementation 'g:a:1.0'\n    testImplementation(platform(\"g:b:2.0\"))\n    classpath 'g:c:3.0'\n}\n\
                  test { exclude 'slow' }\n";
    for (path, base, old, new, stays) in [
        ("pom.xml", POM, "<version>1.0<", "<version>1.1-rc.1<", true),
        (
            "web/pom.xml",
            POM,
            "<properties>\n    <junit.version>5.9<",
            "<properties>\n    <junit.version>5.10<",
            true,
        ),
        ("pom.xml", POM, "<version>1.0<", "<version>1.1</version><scope>test</scope><version>1<", false),
        ("pom.xml", POM, "<version>7<", "<version>8<", false),
        ("pom.xml", POM, "<surefire.version>3.0<", "<surefire.version>2.0<", false),
        ("pom.xml", POM, "<java.version>17<", "<java.version>21<", false),
        ("pom.xml", POM, "<both.version>8<", "<both.version>9<", false),
        ("pom.xml", POM, "<version>2.0<", "<version>2.1<", false),
        ("pom.xml", POM, "<configuration><junit.version>5.9<", "<configuration><junit.version>5.8<", false),
        ("pom.xml", POM, "<scope>test<", "<scope>provided<", false),
        ("pom.xml", POM, "<build>", "<build><x/>", false),
        ("build.gradle", gradle, "g:a:1.0", "g:a:1.1", true),
        ("app/build.gradle.kts", gradle, "g:b:2.0", "g:b:2.1", true),
        ("build.gradle", gradle, "g:c:3.0", "g:c:3.1", false),
        ("build.gradle", gradle, "g:a:1.0'", "g:a:1.0'; exclude 'x'", false),
        ("build.gradle", gradle, "g:a:1.0", "g:evil:1.0", false),
        ("build.gradle.kts", gradle, "'slow'", "'**'", false),
    ] {
        assert!(base.contains(old), "{old}");
        let after = base.replace(old, new);
        let expected = if stays { Vec::new() } else { vec![base] };
        let overlays = old_configuration(
            &[path.to_owned()],
            "make test",
            &[],
            &reader(&[(path, base)]),
            &reader(&[(path, after.as_str())]),
        );
        assert_eq!(overlays.iter().map(text).collect::<Vec<_>>(), expected, "{path}: {new}");
    }
}

#[test]
fn the_tests_of_a_cargo_target_run_as_they_did_and_a_new_target_stays() {
    let package = "[package]\nname = 'a'\n";
    let old_of = |base: &str, after: &str| {
        let (base, after) = (format!("{package}{base}"), format!("{package}{after}"));
        let overlays = old("cargo test", &[("Cargo.toml", &base)], &[("Cargo.toml", &after)]);
        overlays.first().map(|overlay| text(overlay).parse::<toml::Table>().unwrap())
    };
    let is = |text: &str| Some(format!("{package}{text}").parse::<toml::Table>().unwrap());
    let tool = "[[bin]]\nname = 'tool'\npath = 'tool/main.rs'\n";
    let shown = "[[example]]\nname = 'shown'\ntest = true\n";
    let own = "[[bin]]\nname = 'a'\npath = 'src/main.rs'\n";
    let fuzzer = "[[bin]]\nname = 'fuzz'\npath = 'fuzz/parse.rs'\ntest = false\n";
    assert_eq!(old_of(tool, &format!("{tool}test = false\n")), is(tool));
    assert_eq!(old_of(tool, &format!("{tool}harness = false\n")), is(tool));
    assert_eq!(old_of(shown, &shown.replace("true", "false")), is(shown));
    assert_eq!(old_of("", &format!("{own}test = false\n")), is(own), "Cargo found it by itself");
    for honest in [tool.to_owned(), format!("{tool}{fuzzer}"), format!("{tool}{own}"), String::new()] {
        assert_eq!(old_of(tool, &honest), None, "{honest}");
    }
}

#[test]
fn a_script_that_the_command_runs_is_configuration_and_a_test_that_it_names_is_not() {
    let touched = |command: &str, path: &str, base: FileTable<'_>| {
        let read = reader(base);
        let read_after = |asked: &str| if asked == path { Some(b"new".to_vec()) } else { read(asked) };
        let laid = old_configuration(&[path.to_owned()], command, &[], &read, &read_after);
        laid.into_iter().map(|overlay| overlay.path).collect::<Vec<_>>()
    };
    assert_eq!(touched("./run-tests.sh", "run-tests.sh", &[("run-tests.sh", "old")]), ["run-tests.sh"]);
    assert_eq!(touched("bash ci/check && true", "ci/check", &[]), ["ci/check"]);
    let manifest = ("package.json", r#"{"scripts": {"test": "node scripts/all.js"}}"#);
    assert_eq!(touched("npm test", "scripts/all.js", &[manifest]), ["scripts/all.js"]);
    assert_eq!(
        touched("make test", "check.py", &[("Makefile", "test:\n\tpython3 ./check.py")]),
        ["check.py"]
    );
    assert!(touched("pytest tests/test_a.py", "tests/test_a.py", &[]).is_empty());
    assert!(touched("node --test a.test.js", "a.test.js", &[]).is_empty());
    assert!(touched("cargo test", "src/run.py", &[]).is_empty());
}

#[test]
fn what_configures_and_cannot_be_read_is_changed_and_goes_for_the_bases_tests() {
    let unread = |path: &str| old_configuration(&[path.to_owned()], "pytest", &[], &|_| None, &|_| None);
    for path in ["conftest.py", "tests/conftest.py", "package.json", "argparse.py", "jest.config.js"] {
        let overlay = Overlay { path: path.to_owned(), action: OverlayAction::Remove };
        assert_eq!(unread(path), [overlay], "{path}");
    }
    assert_eq!(unread("src/a.py"), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Any content parses without a crash. After the overlays, the configuration equals the old one, so a second pass
    /// adds nothing.
    #[test]
    fn with_the_old_configuration_nothing_of_it_is_touched(
        path in prop::sample::select(vec!["package.json", "Cargo.toml", "pyproject.toml", "setup.cfg", "go.mod", "conftest.py"]),
        pieces in proptest::collection::vec((any::<bool>(), prop::sample::select(vec![
            "{\"scripts\": {\"test\": \"x\"}}", "{\"jest\": 1}", "{}", "[", "[lib]\n", "test = false\n", "[tool.pytest]\n",
            "[[bin]]\n", "name = 'a'\n", "a = 1\n", "[tool:pytest]\n", "replace a => b\n", "replace (\n", "\ta => b\n)\n", "require a v1\n", "\n", "é",
            "[profile]\n", "[tool]\npytest = 1\n", "lib = 1\n",
        ])), 0..8),
    ) {
        let of = |side: bool| pieces.iter().filter(|(of, _)| *of == side).map(|(_, piece)| *piece).collect::<String>();
        let (base, after) = (of(true), of(false));
        let overlays = old("make", &[(path, &base)], &[(path, &after)]);
        prop_assert!(overlays.len() <= 1);
        if let Some(overlay) = overlays.first() {
            prop_assert_eq!(old("make", &[(path, &base)], &[(path, text(overlay))]), []);
        }
    }
}
