//! The whole plan of one repository per ecosystem.

use super::*;

#[test]
fn python_with_uv() {
    let plan = planned(&[
        (
            "pyproject.toml",
            "[project]\nname='a'\nrequires-python='>=3.9'\n[build-system]\nrequires=['hatchling']\n[project.optional-dependencies]\ntest=['pytest']\ndocs=['sphinx']\n[dependency-groups]\ndev=['ruff']\ntests=['hypothesis']",
        ),
        ("uv.lock", ""),
        ("tests/test_a.py", ""),
    ]);
    insta::assert_snapshot!(shown(&plan), @"
        from Python with uv, found by `uv.lock`
        setup uv sync --frozen --python python3 --extra test --group tests   (uv.lock)
        test python3 -m pytest   (pytest among what is required)
        path TREE/.venv/bin:HOME/.local/bin
        ");
}

#[test]
fn python_with_poetry_whose_tests_are_an_optional_group() {
    let plan = planned(&[
        (
            "pyproject.toml",
            "[tool.poetry]\nname='a'\n[tool.poetry.dependencies]\npython='^3.9'\n[tool.poetry.group.test]\noptional=true\n[tool.poetry.group.test.dependencies]\npytest='*'\n[build-system]\nrequires=['poetry-core']",
        ),
        ("poetry.lock", ""),
        ("tests/test_a.py", ""),
    ]);
    insta::assert_snapshot!(shown(&plan), @"
        from Python with Poetry, found by `poetry.lock`
        setup python3 -m venv ~/.local/share/tools/poetry && ~/.local/share/tools/poetry/bin/python -m pip install --quiet poetry poetry-plugin-export && mkdir -p ~/.local/bin && ln -sf ~/.local/share/tools/poetry/bin/poetry ~/.local/bin/   (poetry.lock)
        setup python3 -m venv .venv && mkdir -p ~/.cache && poetry export --output ~/.cache/requirements.txt --with test   (poetry.lock)
        setup .venv/bin/python -m pip install --no-deps -r ~/.cache/requirements.txt   (poetry.lock)
        setup .venv/bin/python -m pip install --no-deps --editable .   (poetry.lock)
        test python3 -m pytest   (pytest among what is required)
        path TREE/.venv/bin:HOME/.local/bin
        ");
}

#[test]
fn python_with_extras_groups_and_requirements() {
    let build = "[build-system]\nrequires=['setuptools']\n";
    let project = "[project]\nname='a'\ndependencies=['click']\n";
    let tests = ("tests/test_a.py", "");
    let mut text = String::new();
    for (pyproject, others) in [
        ("[project.optional-dependencies]\ntest=['pytest>=7']\ndev=['black']", &[] as FileTable<'_>),
        ("[project.optional-dependencies]\ndev=['pytest','black']", &[]),
        (
            "[dependency-groups]\ntest=['pytest', {include-group='base'}]\nbase=['attrs>=1; python_version<\"4\"']",
            &[],
        ),
        ("", &[("requirements-dev.txt", "-r requirements.txt\npytest"), ("requirements.txt", "click==8")]),
        (
            "",
            &[
                ("requirements/tests.in", "pytest"),
                ("requirements/tests.txt", "pytest==8"),
                ("requirements/dev.txt", "pytest"),
            ],
        ),
        ("[tool.pytest.ini_options]", &[]),
    ] {
        let manifest = format!("{project}{build}{pyproject}");
        let mut files = vec![("pyproject.toml", manifest.as_str()), tests];
        files.extend(others);
        text.push_str(
            &shown(&planned(&files)).replace("python3 -m venv .venv && .venv/bin/python -m ", "… "),
        );
    }
    insta::assert_snapshot!(text, @r###"
    from Python with pip, found by `pyproject.toml`
    setup python3 -m venv .venv && { .venv/bin/python -m pip download --quiet --find-links ~/.cache/wheels --dest ~/.cache/wheels setuptools || true; }   (pyproject.toml)
    setup .venv/bin/python -m pip download --quiet --find-links ~/.cache/wheels --dest ~/.cache/wheels '.[test]' || true   (pyproject.toml)
    setup .venv/bin/python -m pip install --find-links ~/.cache/wheels --editable '.[test]'   (pyproject.toml)
    test python3 -m pytest   (pytest among what is required)
    path TREE/.venv/bin:HOME/.local/bin
    from Python with pip, found by `pyproject.toml`
    setup python3 -m venv .venv && { .venv/bin/python -m pip download --quiet --find-links ~/.cache/wheels --dest ~/.cache/wheels setuptools || true; }   (pyproject.toml)
    setup .venv/bin/python -m pip download --quiet --find-links ~/.cache/wheels --dest ~/.cache/wheels '.[dev]' || true   (pyproject.toml)
    setup .venv/bin/python -m pip install --find-links ~/.cache/wheels --editable '.[dev]'   (pyproject.toml)
    test python3 -m pytest   (pytest among what is required)
    path TREE/.venv/bin:HOME/.local/bin
    from Python with pip, found by `pyproject.toml`
    setup python3 -m venv .venv && { .venv/bin/python -m pip download --quiet --find-links ~/.cache/wheels --dest ~/.cache/wheels setuptools || true; }   (pyproject.toml)
    setup .venv/bin/python -m pip download --quiet --find-links ~/.cache/wheels --dest ~/.cache/wheels . pytest 'attrs>=1; python_version<"4"' || true   (pyproject.toml)
    setup .venv/bin/python -m pip install --find-links ~/.cache/wheels --editable . pytest 'attrs>=1; python_version<"4"'   (pyproject.toml)
    test python3 -m pytest   (pytest among what is required)
    path TREE/.venv/bin:HOME/.local/bin
    from Python with pip, found by `pyproject.toml`
    setup python3 -m venv .venv && { .venv/bin/python -m pip download --quiet --find-links ~/.cache/wheels --dest ~/.cache/wheels setuptools || true; }   (pyproject.toml)
    setup .venv/bin/python -m pip download --quiet --find-links ~/.cache/wheels --dest ~/.cache/wheels . -r requirements-dev.txt || true   (pyproject.toml)
    setup .venv/bin/python -m pip install --find-links ~/.cache/wheels --editable . -r requirements-dev.txt   (pyproject.toml)
    test python3 -m pytest   (pytest among what is required)
    path TREE/.venv/bin:HOME/.local/bin
    from Python with pip, found by `pyproject.toml`
    setup python3 -m venv .venv && { .venv/bin/python -m pip download --quiet --find-links ~/.cache/wheels --dest ~/.cache/wheels setuptools || true; }   (pyproject.toml)
    setup .venv/bin/python -m pip download --quiet --find-links ~/.cache/wheels --dest ~/.cache/wheels . -r requirements/tests.txt || true   (pyproject.toml)
    setup .venv/bin/python -m pip install --find-links ~/.cache/wheels --editable . -r requirements/tests.txt   (pyproject.toml)
    test python3 -m pytest   (pytest among what is required)
    path TREE/.venv/bin:HOME/.local/bin
    from Python with pip, found by `pyproject.toml`
    setup python3 -m venv .venv && { .venv/bin/python -m pip download --quiet --find-links ~/.cache/wheels --dest ~/.cache/wheels setuptools || true; }   (pyproject.toml)
    setup .venv/bin/python -m pip download --quiet --find-links ~/.cache/wheels --dest ~/.cache/wheels . pytest || true   (pyproject.toml)
    setup .venv/bin/python -m pip install --find-links ~/.cache/wheels --editable . pytest   (pyproject.toml)
    test python3 -m pytest   ([tool.pytest in pyproject.toml)
    path TREE/.venv/bin:HOME/.local/bin
    "###);
}

#[test]
fn python_with_tox() {
    let setup = ("setup.py", "from setuptools import setup\nsetup(name='a')");
    let tests = ("tests/test_a.py", "");
    let tox = (
        "tox.ini",
        "[tox]\nenvlist=py3\n[base]\ndeps=\n  pytest-asyncio\n[testenv]\nextras = x\ndeps =\n  pytest>=7\n  {[base]deps}\n  lint: ruff\n  -r{toxinidir}/requirements/extra.txt\ncommands =\n  coverage run -p -m pytest {posargs:tests} --capture=sys -k 'a b'\n",
    );
    let extra = ("requirements/extra.txt", "attrs");
    insta::assert_snapshot!(shown(&planned(&[setup, tests, tox, extra])), @r###"
    from Python with pip, found by `setup.py`
    setup python3 -m venv .venv && { .venv/bin/python -m pip download --quiet --find-links ~/.cache/wheels --dest ~/.cache/wheels setuptools wheel || true; }   (setup.py)
    setup .venv/bin/python -m pip download --quiet --find-links ~/.cache/wheels --dest ~/.cache/wheels . -r requirements/extra.txt 'pytest>=7' pytest-asyncio || true   (setup.py)
    setup .venv/bin/python -m pip install --find-links ~/.cache/wheels --editable . -r requirements/extra.txt 'pytest>=7' pytest-asyncio   (setup.py)
    test python3 -m pytest tests --capture=sys -k 'a b'   (tox.ini)
    path TREE/.venv/bin:HOME/.local/bin
    "###);
}

#[test]
fn python_with_native_code_is_built_again_before_its_tests() {
    let plan = planned(&[
        (
            "pyproject.toml",
            "[project]\nname='a'\n[build-system]\nrequires=['maturin>=1,<2']\nbuild-backend='maturin'\n[dependency-groups]\ndev=['pytest']",
        ),
        ("Cargo.toml", "[package]\nname='a'"),
        ("tests/test_a.py", ""),
    ]);
    insta::assert_snapshot!(shown(&plan), @"
        from Python with pip, found by `pyproject.toml`
        setup python3 -m venv .venv && .venv/bin/python -m pip install pip 'maturin>=1,<2'   (pyproject.toml)
        setup .venv/bin/python -m pip install --no-build-isolation --editable . pytest   (pyproject.toml)
        test python3 -m pip install --quiet --no-index --no-deps --no-build-isolation --editable . && python3 -m pytest   (pytest among what is required)
        path TREE/.venv/bin:HOME/.local/bin
        note what is compiled is compiled again before the tests
        note Cargo.toml tells of tests too, which are not run: name both as `test` in .github/journeyman.yml
        ");
    assert!(plan.required_tools.iter().any(|tool| tool.tool == "rust"));
}

#[test]
fn a_manifest_that_has_no_test_script_is_named() {
    let says = |manifest: &str| planned(&[("package.json", manifest)]).notes;
    let named = "package.json has no script test, and asks for no runner of tests that is known";
    assert_eq!(says(r#"{"scripts":{"build":"tsc"},"dependencies":{"typescript":"5"}}"#), [named]);
    assert_eq!(says(r#"{"dependencies":{"typescript":"5"},"devDependencies":{"mocha":"11"}}"#), [""; 0]);
}

#[test]
fn javascript_with_each_package_manager() {
    let manifest = r#"{"scripts":{"test":"vitest run"},"devDependencies":{"vitest":"4"}}"#;
    let mut text = String::new();
    for (lock, content) in [
        ("package-lock.json", "{}"),
        ("pnpm-lock.yaml", ""),
        ("yarn.lock", "# yarn lockfile v1"),
        ("yarn.lock", "__metadata:\n"),
        ("bun.lock", "{}"),
        ("README.md", ""),
    ] {
        text.push_str(&shown(&planned(&[("package.json", manifest), (lock, content)])));
    }
    insta::assert_snapshot!(text, @r###"
    from JavaScript with npm, found by `package-lock.json`
    setup npm ci --no-audit --no-fund || npm ci --no-audit --no-fund --legacy-peer-deps || npm ci --no-audit --no-fund --legacy-peer-deps --ignore-scripts   (package-lock.json)
    test npm test   (a test script in package.json)
    path TREE/node_modules/.bin:HOME/.local/bin
    from JavaScript with pnpm, found by `pnpm-lock.yaml`
    setup pnpm install --frozen-lockfile   (pnpm-lock.yaml)
    test pnpm test   (a test script in package.json)
    path TREE/node_modules/.bin:HOME/.local/bin
    from JavaScript with Yarn, found by `yarn.lock`
    setup yarn install --frozen-lockfile --non-interactive   (yarn.lock)
    test yarn test   (a test script in package.json)
    path TREE/node_modules/.bin:HOME/.local/bin
    from JavaScript with Yarn 2 or newer, found by `yarn.lock`
    setup yarn install --immutable   (yarn.lock)
    test yarn test   (a test script in package.json)
    path TREE/node_modules/.bin:HOME/.local/bin
    from JavaScript with Bun, found by `bun.lock`
    setup bun install --frozen-lockfile   (bun.lock)
    test bun run test   (a test script in package.json)
    path TREE/node_modules/.bin:HOME/.local/bin
    from JavaScript with npm, found by `package.json`
    setup npm install --no-audit --no-fund || npm install --no-audit --no-fund --legacy-peer-deps || npm install --no-audit --no-fund --legacy-peer-deps --ignore-scripts   (package.json)
    test npm test   (a test script in package.json)
    path TREE/node_modules/.bin:HOME/.local/bin
    "###);
}

#[test]
fn a_script_that_only_lints_or_never_ends_is_no_test() {
    for (scripts, test) in [
        (r#""test":"jest --watch","test:ci":"jest --ci""#, Some("npm run test:ci")),
        (r#""test":"jest --watchAll=false""#, Some("npm test")),
        (r#""test":"eslint . && tsc --noEmit""#, None),
        (r#""test":"npm run lint && npm run unit","lint":"eslint .","unit":"ava""#, Some("npm test")),
        (r#""test":"npm run lint","lint":"eslint .","unit":"ava""#, Some("npm run unit")),
        (r#""test":"npm run a","a":"npm run test""#, None),
        (r#""test":"NODE_ENV=test c8 mocha""#, Some("npm test")),
        (r#""test":"pnpm -r test""#, Some("npm test")),
    ] {
        let manifest = format!("{{\"scripts\":{{{scripts}}}}}");
        assert_eq!(planned(&[("package.json", &manifest)]).test_command(), test, "{scripts}");
    }
    let plan = planned(&[("package.json", r#"{"devDependencies":{"jest":"1"}}"#)]);
    assert_eq!(plan.test_command(), Some("npx --no-install jest"));
}

#[test]
fn what_has_to_be_built_before_the_tests_is_built_with_them() {
    let manifest = r#"{"scripts":{"build":"tsc","test":"ava"},"dependencies":{"a":"1"}}"#;
    assert_eq!(planned(&[("package.json", manifest)]).test_command(), Some("npm test"));
    let workspace = planned(&[("package.json", manifest), ("pnpm-workspace.yaml", "")]);
    assert_eq!(workspace.test_command(), Some("pnpm run build && pnpm test"));
}

#[test]
fn a_package_manager_that_is_missing_is_installed_as_it_is_asked_for() {
    let manifest =
        r#"{"packageManager":"pnpm@9.1.0+sha512.abc","scripts":{"test":"x"},"dependencies":{"a":"1"}}"#;
    let there = [("node", "v20.1.0"), ("npm", "10"), ("python3", "Python 3.11.2")];
    let settings = RepositorySettings::default();
    let pnpm = planned_with(&settings, &[("package.json", manifest), ("pnpm-lock.yaml", "")], &there);
    let uv = planned_with(
        &settings,
        &[("pyproject.toml", "[project]\nname='a'"), ("uv.lock", ""), (".python-version", "3.13\n")],
        &there,
    );
    insta::assert_snapshot!(format!("{}{}", shown(&pnpm), shown(&uv)), @"
        from JavaScript with pnpm, found by `pnpm-lock.yaml`
        setup npm install --global --no-audit --no-fund --prefix ~/.local/share/tools/pnpm pnpm@9.1.0 && mkdir -p ~/.local/bin && ln -sf ~/.local/share/tools/pnpm/bin/* ~/.local/bin/   (package.json)
        setup pnpm install --frozen-lockfile   (pnpm-lock.yaml)
        test pnpm test   (a test script in package.json)
        path TREE/node_modules/.bin:HOME/.local/bin
        from Python with uv, found by `uv.lock`
        setup python3 -m venv ~/.local/share/tools/uv && ~/.local/share/tools/uv/bin/python -m pip install --quiet uv && mkdir -p ~/.local/bin && ln -sf ~/.local/share/tools/uv/bin/uv ~/.local/bin/   (uv.lock)
        setup uv sync --frozen --python python3   (uv.lock)
        path TREE/.venv/bin:HOME/.local/bin
        note .python-version asks for Python 3.13, and no such interpreter is there; python3 is taken
        ");
    let tools: Vec<String> =
        pnpm.required_tools.iter().chain(&uv.required_tools).map(ToString::to_string).collect();
    insta::assert_snapshot!(tools.join("\n"), @"
        node (package.json): 20.1.0 is there
        pnpm 9.1.0 (package.json): the setup installs it
        python 3.13 (.python-version): 3.11.2 is there, which is another version
        uv (uv.lock): the setup installs it
        ");
}

#[test]
fn a_missing_toolchain_is_named_or_had_from_mise() {
    let files = [("go.mod", "module a\ngo 1.25\n")];
    let settings = RepositorySettings::default();
    let missing = planned_with(&settings, &files, &[]);
    let said = "go (go.mod): it is missing on this machine; install it";
    assert_eq!(missing.required_tools[0].to_string(), said);
    let mise = planned_with(&settings, &files, &[("mise", "")]);
    assert_eq!(mise.setup_command().as_deref(), Some("mise use --global go@latest"));
    assert_eq!(mise.search_folders("/t", "/h"), ["/h/.local/share/mise/shims", "/h/.local/bin"]);
}

#[test]
fn the_interpreter_is_one_that_fits() {
    let there =
        [("python3", "Python 3.11.2"), ("python3.13", "Python 3.13.1"), ("python3.12", "Python 3.12.9")];
    for (wanted, expected) in [
        ("'>=3.9'", "python3 "),
        ("'>=3.12,<3.13'", "python3.12 "),
        ("'>=3.12'", "python3.13 "),
        ("'>=3.14'", "python3 "),
    ] {
        let manifest =
            format!("[project]\nname='a'\nrequires-python={wanted}\n[build-system]\nrequires=['flit_core']");
        let plan = planned_with(&RepositorySettings::default(), &[("pyproject.toml", &manifest)], &there);
        assert!(plan.setup[0].command.starts_with(expected), "{wanted}: {plan:?}");
    }
}

#[test]
fn the_compiled_languages_and_the_others() {
    let mut text = String::new();
    for files in [
        &[("go.work", "go 1.22\nuse (\n\t.\n\t./b // c\n)\nuse ./c"), ("go.mod", "module a")]
            as FileTable<'_>,
        &[("server/go.mod", "module a"), ("examples/go.mod", "module e"), ("README.md", "")],
        &[("pom.xml", "<project/>"), ("mvnw", "")],
        &[("pom.xml", ""), ("mvnw", ""), (".mvn/maven.config", "-T4\n-Dmaven.repo.local=.m2")],
        &[("settings.gradle.kts", ""), ("gradlew", "")],
        &[("A.sln", "Project(\"a\") = \"a\", \"src\\a.csproj\""), ("src/a.csproj", "")],
        &[("Gemfile", "gem 'rspec'"), ("Gemfile.lock", ""), (".rspec", "")],
        &[
            ("Gemfile", ""),
            ("a.gemspec", ""),
            (
                "Rakefile",
                "require 'rake/testtask'\nRake::TestTask.new(:test) do |t|\nend\nRake::ExtensionTask.new('a')",
            ),
        ],
        &[("composer.json", r#"{"require-dev":{"phpunit/phpunit":"^10"}}"#), ("phpunit.xml.dist", "")],
        &[("CMakeLists.txt", "project(a)\nenable_testing()\n")],
        &[("CMakeLists.txt", "include(CTest)"), ("build/a", "")],
        &[("meson.build", "project('a')\nsubdir('tests')")],
        &[("meson.build", "project('a')\n# test(a)"), ("Makefile", "check:\n")],
        &[("configure.ac", ""), ("Makefile.am", ""), ("win/a.sln", "Project(\"a\") = \"a.vcxproj\"")],
        &[("configure.ac", ""), ("autogen.sh", "")],
    ] {
        text.push_str(&shown(&planned(files)));
    }
    insta::assert_snapshot!(text, @r#"
        from Go, found by `go.work`
        setup go mod download   (go.work)
        test go test ./... ./b/... ./c/...   (go.work)
        path HOME/.local/bin
        from Go, found by `server/go.mod`
        setup (cd server && go mod download)   (server/go.mod)
        test (cd server && go test ./...)   (server/go.mod)
        path HOME/.local/bin
        from Java with Maven, found by `pom.xml`
        setup sh mvnw -B -ntp -Dmaven.repo.local="$HOME/.m2/repository" '-Dtest=*#journeymanLoadsTheProvider' -DfailIfNoTests=false -Dsurefire.failIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false -Dmaven.test.failure.ignore=true test   (pom.xml)
        setup find . -name target -type d -not -path '*/src/*' -exec test -e '{}/../pom.xml' ';' -prune -exec rm -rf '{}' +   (pom.xml)
        test sh mvnw -B -ntp -Dmaven.repo.local="$HOME/.m2/repository" -o test   (pom.xml)
        path HOME/.local/bin
        from Java with Maven, found by `pom.xml`
        setup sh mvnw -B -ntp '-Dtest=*#journeymanLoadsTheProvider' -DfailIfNoTests=false -Dsurefire.failIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false -Dmaven.test.failure.ignore=true test   (pom.xml)
        setup find . -name target -type d -not -path '*/src/*' -exec test -e '{}/../pom.xml' ';' -prune -exec rm -rf '{}' +   (pom.xml)
        test sh mvnw -B -ntp -o test   (pom.xml)
        path HOME/.local/bin
        from Java with Gradle, found by `settings.gradle.kts`
        setup mkdir -p ~/.gradle
        cat > ~/.gradle/resolve.gradle <<'END'
        allprojects {
            task('resolveEachConfiguration') {
                if (it.respondsTo('notCompatibleWithConfigurationCache')) {
                    it.notCompatibleWithConfigurationCache('it looks at all configurations')
                }
                doLast {
                    configurations.findAll { it.canBeResolved }.each { found ->
                        try { found.incoming.artifactView { lenient = true }.files.each { } } catch (Exception e) { logger.info("${found.name}: ${e}") }
                    }
                    buildscript.configurations.classpath.files.each { }
                }
            }
        }
        END
        sh gradlew --no-daemon --console=plain --init-script ~/.gradle/resolve.gradle resolveEachConfiguration   (settings.gradle.kts)
        test sh gradlew --no-daemon --console=plain --offline test   (settings.gradle.kts)
        path HOME/.local/bin
        note gradlew downloads Gradle from services.gradle.org, which sends it on to github.com: where the setup cannot reach that, put Gradle on the PATH and name `setup` and `test`
        from .NET, found by `A.sln`
        setup dotnet restore   (A.sln)
        test dotnet test --no-restore   (A.sln)
        path HOME/.local/bin
        from Ruby with Bundler, found by `Gemfile`
        setup bundle install   (Gemfile.lock)
        test bundle exec rspec   (.rspec)
        path HOME/.local/bin
        from Ruby with Bundler, found by `Gemfile`
        setup bundle install   (Gemfile)
        test bundle exec rake compile && bundle exec rake test   (a task test in Rakefile)
        path HOME/.local/bin
        from PHP with Composer, found by `composer.json`
        setup composer install --no-interaction --no-progress --prefer-dist   (composer.json)
        test vendor/bin/phpunit   (phpunit.xml.dist)
        path TREE/vendor/bin:HOME/.local/bin
        note Composer downloads packages from api.github.com and codeload.github.com, which sandbox.setup_network in journeyman.toml has to name
        from C or C++ with CMake, found by `CMakeLists.txt`
        test cmake -S . -B build && cmake --build build --parallel "$(nproc)" && ctest --test-dir build --output-on-failure --no-tests=error   (CMakeLists.txt)
        from C or C++ with CMake, found by `CMakeLists.txt`
        test cmake -S . -B build-here && cmake --build build-here --parallel "$(nproc)" && ctest --test-dir build-here --output-on-failure --no-tests=error   (CMakeLists.txt)
        from C or C++ with Meson, found by `meson.build`
        test meson setup build && meson test -C build --print-errorlogs   (meson.build)
        from make, found by `Makefile`
        test make check   (a target check in Makefile)
        from C or C++ with Autotools, found by `configure.ac`
        test { [ -e Makefile ] || { autoreconf --force --install && ./configure; }; } && make -j"$(nproc)" && make check   (configure.ac)
        from C or C++ with Autotools, found by `configure.ac`
        test { [ -e Makefile ] || { NOCONFIGURE=1 sh ./autogen.sh && ./configure; }; } && make -j"$(nproc)" && make check   (configure.ac)
        "#);
}

/// Real repositories contain files besides what their tests need.
#[test]
fn the_session_that_runs_the_tests_says_what_they_need_whatever_else_there_is() {
    let project = "[build-system]\nrequires = [\"setuptools\"]\n[project]\nname = \"a\"\ndependencies = [\"b\"]\n\
                   [project.optional-dependencies]\ncrypto = [\"cryptography\"]\ndev = [\"ruff\"]\n\
                   [dependency-groups]\ntests = [\"pytest\"]\nbenchmark = [\"pytest-benchmark\"]\n";
    let tests = ("tests/test_a.py", "import pytest\n");
    let tox = "[testenv]\ndependency_groups =\n    tests\n    benchmark\nextras =\n    crypto: crypto\ndeps =\n    pytest-mock\ncommands = pytest {posargs}\n";
    let plan = planned(&[("pyproject.toml", project), ("tox.ini", tox), tests]);
    let setup = plan.setup_command().unwrap_or_default();
    for wanted in ["[crypto]", "pytest-benchmark", "pytest-mock", "pytest"] {
        assert!(setup.contains(wanted), "{wanted}: {setup}");
    }
    assert!(!setup.contains("ruff"), "{setup}");

    // The session needs no development requirements.
    let plan = planned(&[
        ("setup.py", "from setuptools import setup\nsetup(name='a')\n"),
        ("requirements-dev.txt", "black==20.8b1\npytest\npytest-flake8\n"),
        ("tox.ini", "[testenv]\ndeps =\n    pytest\n    pytest-cov\ncommands = pytest\n"),
        ("test_a.py", "def test_a(): pass\n"),
    ]);
    let setup = plan.setup_command().unwrap_or_default();
    assert!(setup.contains("pytest-cov") && !setup.contains("requirements-dev.txt"), "{setup}");
}

#[test]
fn what_lies_about_of_another_tool_decides_nothing() {
    // A stale lock of another manager.
    let plan = planned(&[
        ("pyproject.toml", "[project]\nname = \"a\"\n[tool.pdm]\n"),
        ("poetry.lock", ""),
        ("pdm.lock", ""),
        ("tests/test_a.py", "def test_a(): pass\n"),
    ]);
    assert!(plan.source.to_string().contains("PDM"), "{}", plan.source);
    // A Conan recipe beside CMake, and tests in C++.
    let cmake = "project(a)\nenable_testing()\nadd_subdirectory(test)\n";
    let plan = planned(&[
        ("CMakeLists.txt", cmake),
        ("conanfile.py", "class A: pass\n"),
        ("test/CMakeLists.txt", "add_test(NAME a COMMAND a)\n"),
        ("test/main.cpp", ""),
    ]);
    assert!(plan.source.to_string().contains("CMake"), "{}", plan.source);
    // CMake files that build and test nothing, beside a configure script that does.
    let plan = planned(&[
        ("CMakeLists.txt", "project(a)\ninclude(CTest)\n"),
        ("configure.ac", "AC_INIT\n"),
        ("test/check.c", ""),
    ]);
    assert!(plan.source.to_string().contains("Autotools"), "{}", plan.source);
}
