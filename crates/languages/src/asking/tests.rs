use super::*;

fn asked(command: &str, files: &[(&str, &str)]) -> ReportingCommand {
    let read =
        |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec());
    reporting_command(command, None, "", &read, "/home/a b/report.xml")
}

#[test]
fn a_command_is_asked_for_names_and_tests_the_same() {
    for (command, adapted) in [
        ("cargo test", "cargo test --no-fail-fast"),
        (
            "cargo +stable test --workspace -- --test-threads=1",
            "cargo +stable test --no-fail-fast --workspace -- --test-threads=1",
        ),
        ("cargo test --no-fail-fast", "cargo test --no-fail-fast"),
        ("cargo build", "cargo build"),
        ("python3 -m unittest discover -s tests", "python3 -m unittest discover -s tests"),
        (".venv/bin/python3.12 -m unittest", ".venv/bin/python3.12 -m unittest"),
        ("uv run python -m unittest -q", "uv run python -m unittest -q"),
        ("python3 -m unittest -v", "python3 -m unittest -v"),
        ("npx vitest run", "npx vitest run"),
        ("node --test", "node --test"),
        ("bun test src", "bun test src"),
        ("make test", "make test"),
        // Each command of a chain is asked by itself.
        ("cargo test && cargo clippy", "cargo test --no-fail-fast && cargo clippy"),
        ("cargo test || cargo clippy", "cargo test || cargo clippy"),
        ("cargo test > log", "cargo test > log"),
        ("cargo test && cargo test -p b", "cargo test --no-fail-fast && cargo test --no-fail-fast -p b"),
        ("cargo test && ./more.sh", "cargo test --no-fail-fast && ./more.sh"),
    ] {
        assert_eq!(asked(command, &[]).shown(), adapted);
    }
}

#[test]
fn a_runner_of_javascript_is_asked_by_what_node_loads_first_also_behind_scripts_and_make() {
    for (command, script, adapted) in [
        ("npm test", "vitest run", "npm test"),
        ("npm test", "npm run unit && npm run e2e", "npm test"),
        ("npm test", "c8 mocha", "npm test"),
        ("npm run unit", "jest", "npm run unit"),
        ("pnpm test", "jest", "pnpm run test"),
        ("CI=1 pnpm t", "vitest run", "CI=1 pnpm run test"),
        ("pnpm test", "mocha", "pnpm run test"),
        ("pnpm test", "./more.sh", "pnpm test"),
        ("npm test", "jest && ./more.sh", "npm test"),
        ("npm test", "node --test", "npm test"),
        ("make test", "", "make test"),
        ("npx ava", "", "npx ava"),
    ] {
        let manifest = format!(r#"{{"scripts": {{"test": "{script}", "unit": "{script}"}}}}"#);
        let asked = asked(command, &[("package.json", &manifest)]);
        assert_eq!(asked.command, adapted, "{command}: {script}");
        let helper = &asked.helpers[0].path;
        assert!(helper.ends_with("-helper/preload.cjs"), "{helper}");
        assert_eq!(asked.environment["NODE_OPTIONS"], format!("--require=\"{helper}\""));
        let report = helper.strip_suffix("-helper/preload.cjs").unwrap();
        assert!(asked.reports.iter().any(|known| known == report), "{:?}", asked.reports);
    }
    let unknown = asked("npm test", &[("package.json", "[")]);
    assert_eq!((unknown.command.as_str(), unknown.helpers.len()), ("npm test", 7));
    assert!(asked("make test", &[]).helpers.is_empty(), "where there is no package.json, nobody is asked");
}

#[test]
fn a_script_that_sets_the_options_of_node_itself_is_asked_by_its_last_command() {
    let helper = |name: &str| format!("'/home/a b/report.xml-helper/{name}'");
    for (script, option) in [
        (
            "NODE_OPTIONS=--experimental-vm-modules jest",
            format!("--testResultsProcessor={}", helper("jest.cjs")),
        ),
        (
            "tsc && cross-env NODE_OPTIONS='--a --b' mocha spec",
            format!("--require={}", helper("preload.cjs")),
        ),
        ("NODE_OPTIONS=--a vitest run", format!("--reporter=default --reporter={}", helper("vitest.cjs"))),
        ("NODE_OPTIONS=--a vitest --reporter=dot", format!("--reporter={}", helper("vitest.cjs"))),
    ] {
        let manifest = serde_json::json!({"scripts": {"test": script}}).to_string();
        let asked = asked("npm test", &[("package.json", &manifest)]);
        assert_eq!(asked.command, format!("npm test -- {option}"));
        assert_eq!(asked.shown(), "npm test --", "people have no file of ours");
    }
    let direct = asked("NODE_OPTIONS=--a npx jest", &[]);
    assert_eq!(
        direct.command,
        format!("NODE_OPTIONS=--a npx jest --testResultsProcessor={}", helper("jest.cjs"))
    );
    assert_eq!(direct.shown(), "NODE_OPTIONS=--a npx jest");
}

#[test]
fn bun_is_asked_for_a_report_unless_it_writes_one() {
    let options = "--reporter=junit --reporter-outfile='/home/a b/report.xml'";
    assert_eq!(asked("bun test src", &[]).command, format!("bun test src {options}"));
    let manifest = r#"{"scripts": {"test": "bun test"}}"#;
    let script = asked("bun run test", &[("package.json", manifest)]);
    assert_eq!(script.command, format!("bun run test {options}"));
    let own = asked("bun test --reporter=junit --reporter-outfile=a.xml", &[]);
    assert_eq!((own.command == own.shown(), own.reports.len()), (true, 0));
}

#[test]
fn one_more_option_has_its_place() {
    for (command, script, before) in [
        ("npm test", "vitest run", Some("--")),
        ("npm test", "NODE_OPTIONS=--a vitest run", Some("")),
        ("npm test", "jest --verbose", Some("--")),
        ("npm test -- src", "jest --verbose", Some("")),
        ("yarn test", "mocha", Some("")),
        ("npm test", "tsc && mocha spec", Some("--")),
        ("npm test", "node --test", Some("--")),
        ("npm test", "node --test tests", None),
        ("npm test", "jest && ./more.sh", None),
        ("jest", "", Some("")),
        ("node --test", "", None),
        ("cargo test", "", None),
    ] {
        let manifest = format!(r#"{{"scripts": {{"test": "{script}"}}}}"#);
        let asked = asked(command, &[("package.json", &manifest)]);
        assert_eq!(asked.before_options, before, "{command}: {script}");
    }
}

#[test]
fn pytest_and_go_are_asked_through_their_variables_also_behind_make() {
    for command in ["python3 -m pytest", "pytest -q tests", "make test", "./check.sh"] {
        let asked = asked(command, &[]);
        assert_eq!(
            asked.environment["PYTEST_ADDOPTS"],
            "--continue-on-collection-errors --junitxml='/home/a b/report.xml'"
        );
        assert_eq!(
            (asked.command.as_str(), asked.reports.as_slice()),
            (command, &["/home/a b/report.xml".to_owned()][..])
        );
    }
    for command in ["go test ./...", "make test"] {
        assert_eq!(asked(command, &[("go.mod", "module a")]).environment["GOFLAGS"], "-v");
    }
    let own = asked("GOFLAGS=-tags=unit go test ./...", &[("go.mod", "module a")]);
    assert_eq!(own.command, "GOFLAGS=-tags=unit go test -v ./...", "what it sets itself is kept");
    for command in ["cargo test", "cargo build && cargo test"] {
        let asked = asked(command, &[("go.mod", "module a")]);
        assert_eq!((asked.environment.len(), asked.reports.len()), (0, 0), "{command}");
    }
}

#[test]
fn a_repositorys_own_report_is_the_one_that_is_read() {
    let command = "pytest --junitxml=out.xml";
    let asked = reporting_command(command, Some("out.xml"), "", &|_| None, "/home/report.xml");
    assert_eq!(asked.reports, ["out.xml"]);
    assert!(asked.environment.is_empty());
}

#[test]
fn a_runner_is_asked_for_some_tests() {
    let select = |command: &str, manifest: &str, by: &'static str, names: &[&str], files: &[&str]| {
        let known = [("package.json", manifest), ("go.mod", "module a")];
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        asked(command, &known).select(Some(&RunnerName::new(by)), &owned(names), &owned(files))
    };
    let of = |command: &str, script: &str, by: &'static str, names: &[&str]| {
        let manifest = format!(r#"{{"scripts": {{"test": "{script}"}}}}"#);
        select(command, &manifest, by, names, &[]).map(|selected| selected.shown())
    };
    let known = |command: &str| Some(command.to_owned());
    assert_eq!(
        of("python3 -m unittest discover", "", "unittest", &["tests.test_a.ATest.test_one"]),
        known("python3 -m unittest discover -k test_one")
    );
    let pytest = select(
        "make",
        "{}",
        "junit",
        &["tests/test_a.py::test_x[1-2]", "tests/test_a.py::test_y"],
        &["tests/test_a.py", "tests/test_b c.py"],
    );
    assert_eq!(
        pytest.unwrap().environment["PYTEST_ADDOPTS"],
        "--continue-on-collection-errors --junitxml='/home/a b/report.xml' -k 'test_x or test_y' \
         --ignore='tests/test_b c.py'"
    );
    let names = ["calc > src/lib.rs > tests::adds"];
    assert_eq!(of("cargo test", "", "libtest", &names), known("cargo test --no-fail-fast -- adds"));
    assert_eq!(of("cargo test -- --nocapture", "", "libtest", &names), None);
    assert_eq!(of("cargo test && cargo clippy", "", "libtest", &names), None);
    assert_eq!(of("cargo test", "", "libtest", &["a > two words"]), None);
    let titles = ["a.test.js > outer > adds (1 + 1)", "a.test.js > says \"no\""];
    assert_eq!(
        of("node --test tests", "", "node", &titles),
        known(r#"node --test-name-pattern='(adds\s+\(1\s+\+\s+1\)|outer|says\s+"no")$' --test tests"#),
        "a test runs only if those around it do"
    );
    assert_eq!(of("npm test", "node --test tests", "node", &titles), None, "no option can follow a file");
    assert_eq!(
        of("npx jest", "", "jest", &titles),
        known(r#"npx jest -t '(adds\s+\(1\s+\+\s+1\)|says\s+"no")$'"#)
    );
    assert_eq!(of("npm test", "mocha", "mocha", &titles[1..]), known(r#"npm test -- -g '(says\s+"no")$'"#));
    assert_eq!(
        of("npx ava", "", "ava", &["test/a.js > adds up", "test/a.js > one"]),
        known("npx ava --match='adds*up' --match='one'")
    );
    assert_eq!(of("npx ava", "", "ava", &["test/a.js > it's"]), known("npx ava --match='it*s'"));
    assert_eq!(of("npx jest", "", "jest", &["a.js > it's one"]), known(r"npx jest -t '(it'\''s\s+one)$'"));
    assert_eq!(of("bun test src", "", "bun", &titles[1..]), known(r#"bun test src -t '(says\s+"no")$'"#));
    let subtests = ["example.com/v2/a.TestCompare/1.0.0-rc.1", "example.com/v2/a.TestAll"];
    let go = select("go test ./...", "{}", "go", &subtests, &[]).unwrap();
    assert_eq!(go.environment["GOFLAGS"], "-v -run=^(TestAll|TestCompare)$");
    assert_eq!(
        of("node --test", "", "node", &["it's; rm -rf"]),
        known(r"node --test-name-pattern='(it'\''s;\s+rm\s+\-rf)$' --test"),
        "nothing of a title is a command"
    );
    assert_eq!(of("npx jest", "", "jest", &["a\nb"]), None);
    for (by, name) in [("unittest", "tests.test_a.ATest.test_one"), ("libtest", "tests::adds")] {
        assert_eq!(of("make test", "", by, &[name]), None, "make would take the words");
    }
}

#[test]
fn what_a_runner_refused_is_not_asked_again() {
    let cargo = asked("cargo test", &[]);
    let refused = "error: unexpected argument '--no-fail-fast' found\n";
    assert_eq!(cargo.unasked("cargo test", refused).unwrap().command, "cargo test");
    assert_eq!(cargo.unasked("cargo test", "unknown column in a table\n  1 failed\n"), None);
}

#[test]
fn a_helper_of_ours_stands_for_the_words_of_the_repository() {
    let asked = asked("A=b .venv/bin/python -m unittest discover && echo done", &[]);
    let helper = "/home/a b/report.xml-helper/unittest_report.py";
    assert_eq!(asked.command, format!("A=b .venv/bin/python '{helper}' discover && echo done"));
    assert_eq!(asked.shown(), "A=b .venv/bin/python -m unittest discover && echo done");
    assert_eq!(
        (asked.helpers[0].path.as_str(), asked.reports),
        (helper, vec!["/home/a b/report.xml".to_owned()])
    );
}

#[test]
fn builds_of_java_net_and_c_are_asked_for_all_tests_and_where_they_report() {
    const JUNIT: &str = "'/home/a b/report.xml'";
    let nextest = "--tool-config-file 'journeyman:/home/a b/report.xml-helper/nextest.toml'";
    let surefire: &[&str] =
        &["**/target/failsafe-reports/TEST-*.xml", "**/target/surefire-reports/TEST-*.xml"];
    let gradle: &[&str] = &["**/build/test-results/**/TEST-*.xml"];
    let trx = "--logger trx --results-directory '/home/a b/report.xml-trx'";
    let (own, trxs) = (&["/home/a b/report.xml"][..], &["/home/a b/report.xml-trx/*.trx"][..]);
    for (command, adapted, reports) in [
        ("mvn -B test", "mvn -B test -fae".to_owned(), surefire),
        (
            "sh mvnw -Dmaven.repo.local=\"$HOME/.m2\" -o verify",
            "sh mvnw -Dmaven.repo.local=\"$HOME/.m2\" -o verify -fae".to_owned(),
            surefire,
        ),
        ("./mvnw -ff package", "./mvnw -ff package".to_owned(), surefire),
        ("mvn compile", "mvn compile".to_owned(), own),
        ("sh gradlew --offline test", "sh gradlew --offline test --continue".to_owned(), gradle),
        ("gradle :app:testDebugUnitTest", "gradle :app:testDebugUnitTest --continue".to_owned(), gradle),
        ("./gradlew check --continue", "./gradlew check --continue".to_owned(), gradle),
        ("gradle assemble", "gradle assemble".to_owned(), own),
        ("dotnet test a.sln --no-restore", format!("dotnet test {trx} a.sln --no-restore"), trxs),
        ("dotnet test -- NUnit.Where=x", format!("dotnet test {trx} -- NUnit.Where=x"), trxs),
        ("dotnet test --logger:trx", "dotnet test --logger:trx".to_owned(), &[]),
        (
            "cmake --build b && ctest --test-dir b",
            format!("cmake --build b && ctest --test-dir b --output-junit {JUNIT}"),
            own,
        ),
        ("ctest -S all.cmake", "ctest -S all.cmake".to_owned(), &[]),
        ("meson test -C b", "meson test -C b".to_owned(), &["**/meson-logs/testlog*.json"]),
        (
            "RUST_LOG=debug cargo nextest run",
            format!("RUST_LOG=debug cargo nextest run --no-fail-fast {nextest}"),
            &["target/nextest/*/*.xml"],
        ),
        (
            "cargo +stable nextest run --no-fail-fast -- a",
            format!("cargo +stable nextest run {nextest} --no-fail-fast -- a"),
            &["target/nextest/*/*.xml"],
        ),
    ] {
        let asked = asked(command, &[]);
        assert_eq!(asked.command, adapted);
        assert_eq!(asked.reports, reports, "{command}");
    }
    let other = ("global.json", r#"{"test": {"runner": "Microsoft.Testing.Platform"}}"#);
    assert_eq!(asked("dotnet test", &[other]).command, "dotnet test");
    // What they write unasked is found behind make too.
    let behind = asked("make test", &[("pom.xml", ""), ("meson.build", "")]).reports;
    let mut expected = surefire.iter().chain(&["**/meson-logs/testlog*.json"]);
    assert!(expected.all(|pattern| behind.iter().any(|known| known == pattern)), "{behind:?}");
}

#[test]
fn builds_of_java_net_and_c_run_some_tests_alone() {
    let of = |command: &str, by: &'static str, names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let known = [("settings.gradle", "rootProject.name = 'a'")];
        let asked = asked(command, &known).select(Some(&RunnerName::new(by)), &names, &[])?.command;
        // Without what it is asked with.
        Some(asked.replace("'/home/a b/report.xml", "'F"))
    };
    let all = "-DfailIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false";
    let maven = |tests: &str| Some(format!("mvn -o test -fae '-Dtest={tests}' {all}"));
    assert_eq!(
        of("mvn -o test", "junit", &["a.ATest.one", "a.ATest.each[int][2]"]),
        maven("a.ATest#each*+one")
    );
    assert_eq!(of("mvn -o test", "junit", &["a.ATest$In.one", "b.BTest.one"]), maven("a.ATest$In,b.BTest"));
    assert_eq!(of("mvn -o test", "junit", &["a.ATest"]), maven("a.ATest"), "its fixture");
    for (command, name) in [
        ("mvn -o verify", "a.ATest.one"),
        ("mvn -Dtest=Some test", "a.ATest.one"),
        ("mvn -pl core test", "a.ATest.one"),
        ("mvn test && ./more.sh", "a.ATest.one"),
        ("mvn test", "a.ATest.two words"),
        ("make test", "a.ATest.one"),
    ] {
        assert!(
            !of(command, "junit", &[name]).is_some_and(|command| command.contains("-Dtest=a")),
            "{command}"
        );
    }
    assert_eq!(
        of("gradle --offline test", "junit", &["a.ATest.one", "a.ATest.each[int][1]", "a.BTest.[1] 2"]),
        Some("gradle --offline test --continue --tests 'a.ATest.each*' --tests 'a.ATest.one' --tests 'a.BTest.*'".to_owned())
    );
    assert_eq!(of("gradle check", "junit", &["a.ATest.one"]), None);
    let several = asked("gradle test", &[("settings.gradle", "include 'a', 'b'")]);
    assert_eq!(several.select(Some(&RunnerName::JUNIT), &["a.ATest.one".to_owned()], &[]), None);
    assert_eq!(
        of(
            "dotnet test --no-restore",
            "vstest",
            &["N.ATests.One", "N.ATests.Each[text: \"it's\"]", "N.B+C.Two"]
        ),
        Some(
            "dotnet test --logger trx --results-directory 'F-trx' --no-restore --filter \
             'FullyQualifiedName~N.ATests.Each|FullyQualifiedName~N.ATests.One|FullyQualifiedName~N.B+C.Two'"
                .to_owned()
        )
    );
    assert_eq!(of("dotnet test", "vstest", &["N.ATests.shows two words"]), None);
    assert_eq!(
        of("cmake --build b && ctest --test-dir b", "junit", &["one", "Group/a.b/0"]),
        Some(
            r"cmake --build b && ctest --test-dir b --output-junit 'F' -R '^(one|Group/a\.b/0)$'".to_owned()
        )
    );
    assert_eq!(of("ctest", "junit", &["it's"]), None);
    assert_eq!(
        of("meson test -C b", "meson", &["calc:one", "more - calc:two words"]),
        Some("meson test -C b 'calc:one' 'calc:two words'".to_owned())
    );
    assert_eq!(of("meson test -C b", "meson", &["calc / one"]), None);
    assert_eq!(
        of("cargo nextest run", "nextest", &["calc > tests::one", "calc::more > two"]),
        Some(
            "cargo nextest run --no-fail-fast --tool-config-file 'journeyman:F-helper/nextest.toml' -E \
             'test(=tests::one) | test(=two)'"
                .replace("'journeyman:F", "'journeyman:/home/a b/report.xml")
        )
    );
}

#[test]
fn rspec_is_asked_by_its_options_and_minitest_by_those_of_ruby() {
    let asked = |command: &str, files: &[&str]| {
        let read = |path: &str| files.contains(&path).then(Vec::new);
        reporting_command(command, None, "", &read, "/home/r")
    };
    let helper = "/home/r-helper/test_report.rb";
    let rspec = asked("bundle exec rspec", &["Gemfile"]);
    assert_eq!(rspec.environment, BTreeMap::from([("SPEC_OPTS".to_owned(), format!("--require {helper}"))]));
    assert_eq!(
        (rspec.helpers[0].path.as_str(), rspec.reports[0].as_str()),
        (helper, "/home/r-helper/*.jsonl")
    );
    let rails = asked("bin/rails test test/models", &[]);
    assert_eq!(rails.environment, BTreeMap::from([("RUBYOPT".to_owned(), format!("-r{helper}"))]));
    for command in ["bundle exec rake", "make test"] {
        let asked = asked(command, &["Rakefile"]);
        let variables: Vec<&str> = asked.environment.keys().map(String::as_str).collect();
        assert_eq!(variables, ["PYTEST_ADDOPTS", "RUBYOPT", "SPEC_OPTS"], "{command}");
        assert_ne!(asked.helpers[0].path, asked.helpers[1].path);
    }
    let spaced = reporting_command("bin/rails test", None, "", &|_| None, "/home/a b");
    assert!(spaced.environment.is_empty() && spaced.reports.is_empty(), "Ruby would split the path");

    let select = |asked: &ReportingCommand, by: &'static str, names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        asked.select(Some(&RunnerName::new(by)), &names, &[])
    };
    let names = [
        "spec/a_spec.rb > Calc#add adds",
        "spec/a_spec.rb > Calc > it { is_expected.to eq 2 }",
        "spec/a_spec.rb > Calc twice (2)",
    ];
    assert_eq!(
        select(&rspec, "rspec", &names).unwrap().environment["SPEC_OPTS"],
        format!("--require {helper} -e Calc -e 'Calc twice' -e 'Calc#add adds'")
    );
    assert_eq!(select(&rspec, "rspec", &["spec/a_spec.rb"]), None, "a file that does not load is no example");
    let names = ["test/a_test.rb > ATest > test_adds[one]", "test/b_test.rb > b::when 0 > is 1.5"];
    let option = r"--name='/(is 1\.5|test_adds)/'";
    let by_words = select(&rails, "minitest", &names).unwrap();
    assert_eq!(by_words.command, format!("bin/rails test test/models {option}"));
    let by_variable = select(&asked("rake test", &["Rakefile"]), "test-unit", &names).unwrap();
    assert_eq!(
        (by_variable.command.as_str(), by_variable.environment["TESTOPTS"].as_str()),
        ("rake test", option)
    );
    let quoted = select(&rails, "minitest", &["test/a_test.rb > A > it's"]).unwrap().command;
    assert_eq!(quoted, r"bin/rails test test/models --name='/(it'\''s)/'");
    assert_eq!(select(&rails, "minitest", &["test/a_test.rb > A > a\nb"]), None);
    assert_eq!(select(&asked("make test", &["Rakefile"]), "minitest", &names), None, "it may start no rake");
}

#[test]
fn phpunit_is_asked_by_words_also_behind_a_script() {
    let manifest = r#"{"scripts": {"test": ["@putenv A=1", "@php vendor/bin/phpunit"], "both": ["phpcs", "phpunit"],
        "filtered": "phpunit --filter Unit"}}"#;
    let asked = |command: &str| {
        let read = |path: &str| (path == "composer.json").then(|| manifest.as_bytes().to_vec());
        reporting_command(command, None, "", &read, "/home/r")
    };
    let by_method = "--filter '/::(testAdds|testOk)( .*)?$/'";
    let by_title = "--filter '/(testAdds|testOk)( .*)?$/'";
    let names =
        ["App.Tests.CalcTest.testOk", "App.Tests.CalcTest.testAdds with data set \"1.5\""].map(str::to_owned);
    for (command, reporting, filter) in [
        ("vendor/bin/phpunit tests", "vendor/bin/phpunit tests --log-junit=/home/r", Some(by_method)),
        ("php vendor/bin/phpunit", "php vendor/bin/phpunit --log-junit=/home/r", Some(by_method)),
        ("composer run-script test", "composer run-script test -- --log-junit=/home/r", Some(by_method)),
        ("composer filtered", "composer filtered -- --log-junit=/home/r", None),
        ("vendor/bin/pest", "vendor/bin/pest --log-junit=/home/r", Some(by_title)),
        ("php artisan test --parallel", "php artisan test --parallel --log-junit=/home/r", Some(by_title)),
        ("phpunit --log-junit out.xml", "phpunit --log-junit out.xml", Some(by_method)),
    ] {
        let asked = asked(command);
        assert_eq!(asked.command, reporting);
        let selected = asked.select(Some(&RunnerName::JUNIT), &names, &[]).map(|selected| selected.command);
        assert_eq!(selected, filter.map(|filter| format!("{reporting} {filter}")), "{command}");
    }
    let pest = asked("vendor/bin/pest");
    let select = |names: [&str; 2]| {
        let selected = pest.select(Some(&RunnerName::JUNIT), &names.map(str::to_owned), &[])?;
        Some(selected.command)
    };
    assert_eq!(
        select([r#"Tests.Unit.ATest.it takes with data set "(1)""#, "Tests.Unit.ATest.`a/b` → is 1.5"]),
        Some(
            r"vendor/bin/pest --log-junit=/home/r --filter '/(`a\/b` → is 1\.5|it takes)( .*)?$/'".to_owned()
        )
    );
    let sentence = "Tests.Unit.ClassicTest.Adds two";
    assert_eq!(select(["Tests.Unit.ATest.it takes", sentence]), None, "no filter finds a sentence");
    assert_eq!(asked("composer both").command, "composer both", "each of its commands would get the words");
}
