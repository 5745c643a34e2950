//! What repositories of other years need on the machines of today.

use super::{FileTable, planned, planned_with};
use journeyman_order::RepositorySettings;

fn test_of(files: FileTable<'_>) -> String {
    planned(files).test.map(|test| test.command).unwrap_or_default()
}

#[test]
fn another_node_comes_from_where_the_packages_come_from() {
    let manifest =
        |range: &str| format!("{{\"engines\":{{\"node\":\"{range}\"}},\"scripts\":{{\"test\":\"ava\"}}}}");
    let there = [("node", "v20.20.2"), ("npm", "10")];
    let plan =
        |files: FileTable<'_>| planned_with(&RepositorySettings::default(), files, &there).setup_command();
    assert!(
        plan(&[("package.json", &manifest(">=22.12"))]).unwrap().contains("'node@>=22.12'"),
        "{:?}",
        plan(&[("package.json", &manifest(">=22.12"))])
    );
    assert!(plan(&[("package.json", &manifest(">=18")), (".nvmrc", "v24\n")]).unwrap().contains(" node@24 "));
    assert_eq!(plan(&[("package.json", &manifest(">=18")), (".nvmrc", "20.1.0")]), None, "of the same line");
    assert_eq!(plan(&[("package.json", &manifest("^20 || ^22"))]), None);
    let nvmrc = |version: &str| plan(&[("package.json", &manifest(">=18")), (".nvmrc", version)]);
    assert_eq!((nvmrc("lts/iron"), nvmrc("node")), (None, None));
    assert!(nvmrc("lts/Jod\n").unwrap().contains(" node@22 "), "{:?}", nvmrc("lts/Jod"));
    assert!(nvmrc("lts/*").unwrap().contains("'node@22 || 24 || 26 || 28'"), "{:?}", nvmrc("lts/*"));
    assert_eq!(nvmrc("lts/unheard-of"), None, "what is not known is not guessed");
    let pnpm = r#"{"packageManager":"pnpm@11.3.0","engines":{"node":">=12"},"scripts":{"test":"ava"}}"#;
    let setup = plan(&[("package.json", pnpm), ("pnpm-lock.yaml", "")]).unwrap();
    assert!(setup.contains("'node@>=22.13'") && setup.find("node@") < setup.find("pnpm@"), "{setup}");
}

#[test]
fn an_old_node_is_installed_with_an_npm_that_runs_on_it() {
    let there = [("node", "v20.20.2"), ("npm", "11")];
    let ci = |versions: &str| {
        format!(
            "jobs:\n  unit:\n    strategy: {{ matrix: {{ node: [{versions}] }} }}\n    steps:\n    - uses: \
             actions/setup-node@v4\n      with: {{ node-version: '${{{{ matrix.node }}}}' }}\n    - run: npm test\n"
        )
    };
    let setup = |versions: &str| {
        let files = [
            ("package.json", "{\"scripts\":{\"test\":\"ava\"}}"),
            (".github/workflows/ci.yml", &ci(versions)),
        ];
        planned_with(&RepositorySettings::default(), &files, &there).setup_command().unwrap_or_default()
    };
    for (versions, npm) in [
        ("10, 12, 14", "'node@10 || 12 || 14' npm@6 "),
        ("14, 16", "'node@14 || 16' npm@8 "),
        ("18", "node@18 npm@9 "),
    ] {
        assert!(setup(versions).contains(npm), "{versions}: {}", setup(versions));
    }
    assert!(setup("22, 24").contains("'node@22 || 24' &&"), "{}", setup("22, 24"));
    // Any is as good as what is there.
    for versions in ["12, '*'", "10, latest", "16, node"] {
        assert!(!setup(versions).contains("node@"), "{versions}: {}", setup(versions));
    }
}

#[test]
fn a_cmake_that_is_installed_brings_ctest_and_takes_what_was_written_for_older_ones() {
    let lists = |version: &str| {
        format!("cmake_minimum_required(VERSION {version})\nproject(a)\nenable_testing()\nadd_test(a a)\n")
    };
    let plan = |version: &str| {
        let there = [("make", ""), ("python3", "")];
        planned_with(&RepositorySettings::default(), &[("CMakeLists.txt", &lists(version))], &there)
    };
    let setup = plan("2.8").setup_command().unwrap_or_default();
    assert!(setup.contains("/bin/cmake ") && setup.contains("/bin/ctest "), "{setup}");
    assert!(setup.contains("'cmake<4'"), "{setup}");
    // Also where only what it takes in is old.
    let inner = [("CMakeLists.txt", &*lists("3.9")), ("apps/CMakeLists.txt", &*lists("2.8"))];
    assert!(test_of(&inner).contains("export CMAKE_POLICY_VERSION_MINIMUM=3.5 "), "{}", test_of(&inner));
    for (version, is_old) in [
        ("2.8", true),
        ("3.4.3", true),
        ("3.5", false),
        ("3.1...3.20", false),
        ("3.0...3.4", true),
        ("3.28", false),
    ] {
        let test = plan(version).test.map(|test| test.command).unwrap_or_default();
        assert_eq!(test.contains("CMAKE_POLICY_VERSION_MINIMUM=3.5"), is_old, "{version}: {test}");
    }
}

#[test]
fn a_program_of_tests_that_ctest_is_not_told_of_is_built_and_run() {
    let inner = "add_executable(test-main test.cc)\n";
    let root = "cmake_minimum_required(VERSION 3.10)\nproject(a)\nadd_subdirectory(test)\n";
    let files = [("CMakeLists.txt", root), ("test/CMakeLists.txt", inner)];
    insta::assert_snapshot!(test_of(&files), @r###"cmake -S . -B build && cmake --build build --parallel "$(nproc)" && program="$(find build -type f -name test-main -perm -u+x | head -n 1)" && "${program:?CMake built no program test-main}""###);
    let named =
        format!("{inner}set_target_properties(test-main PROPERTIES CXX_STANDARD 11 OUTPUT_NAME tests)\n");
    let test = test_of(&[("CMakeLists.txt", root), ("test/CMakeLists.txt", &named)]);
    assert!(test.contains("-name tests "), "{test}");
    assert_eq!(
        test_of(&[("CMakeLists.txt", "add_executable(latest a.cc)\nadd_executable(contest b.cc)\n")]),
        ""
    );
    let beside = [files[0], files[1], ("Makefile", "test:\n\t./x\n")];
    assert_eq!(test_of(&beside), "make test");
}

#[test]
fn make_check_of_automake_without_tests_is_not_taken_for_them() {
    let ag = "SUBDIRS_NOT = x\ntest: ag\n\tcram -v tests/*.t\n";
    let files = |automake| [("configure.ac", ""), ("Makefile.am", automake)];
    assert!(test_of(&files(ag)).ends_with("make test"), "{}", test_of(&files(ag)));
    for automake in ["TESTS = a\ntest: a\n", "SUBDIRS = src test\n\ntest: all\n", ""] {
        assert!(test_of(&files(automake)).ends_with("make check"), "{automake}");
    }
}

#[test]
fn what_a_session_of_tox_needs_is_enough_for_a_package_that_requires_nothing() {
    let tox = "[tox]\nenvlist = py39\n[testenv]\ndeps = pytest\ncommands = python -m pytest\n";
    let files = [
        ("setup.py", "from setuptools import setup\nsetup(name='a', install_requires=[])\n"),
        ("tox.ini", tox),
        ("requirements.txt", "scipy\nmatplotlib\n"),
    ];
    let setup = |files: FileTable<'_>| planned(files).setup_command().unwrap_or_default();
    assert!(!setup(&files).contains("requirements.txt"), "{}", setup(&files));
    let bare = [files[0], files[2], ("tests/test_a.py", "import pytest\n")];
    assert!(setup(&bare).contains("-r requirements.txt"), "{}", setup(&bare));
}
