//! Why tests cannot run, from outputs of real programs.

use super::*;
use journeyman_order::command_run::TestCounts;

fn missing(code: i32, output: &str, ran: Option<u64>) -> Option<String> {
    let counts = ran.map(|failed| TestCounts { failed, ..TestCounts::default() });
    let reading = TestReport { counts, ..TestReport::default() };
    missing_for_tests(Exit::Code(code), &reading, output, &|module| module == "calc")
}

#[test]
fn what_is_missing_around_the_tests_is_told_from_what_is_wrong_in_the_code() {
    for (code, output) in [
        (127, "sh: 1: pytest: not found\n"),
        (126, "sh: 2: ./test.sh: Permission denied\n"),
        (
            2,
            "nosuchrunner --all\nmake: nosuchrunner: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n",
        ),
        (2, "./test.sh\nmake: ./test.sh: Permission denied\nmake: *** [Makefile:2: test] Error 127\n"),
        (2, "/bin/sh: 1: ./test.sh: Permission denied\nmake: *** [Makefile:2: test] Error 126\n"),
        (2, "make[1]: *** [Makefile:2: test] Error 127\nmake: *** [Makefile:9: check] Error 2\n"),
        (127, "error: Recipe `test` failed on line 2 with exit code 127\n"),
        (201, "task: Failed to run task \"test\": exit status 127\n"),
        (1, "/usr/bin/python3: No module named pytest\n"),
        (
            1,
            "error: rustup could not choose a version of cargo to run, because one wasn't specified explicitly, and no default \
             is configured.\nhelp: run 'rustup default stable' to download the latest stable release of Rust.\n",
        ),
        (
            1,
            "error: toolchain '1.70.0-x86_64-unknown-linux-gnu' is not installed\nhelp: run `rustup toolchain install`\n",
        ),
        (2, "error: override toolchain 'nightly' is not installed\nmake: *** [Makefile:2: test] Error 1\n"),
        (1, "error: 'cargo-nextest' is not installed for the toolchain 'stable-x86_64-unknown-linux-gnu'.\n"),
        (1, "pyenv: version `3.9.1' is not installed (set by /work/.python-version)\n"),
        (1, "rbenv: version '2.7.0' is not installed (set by /work/.ruby-version)\n"),
        (
            2,
            "nodenv: version `14.0.0' is not installed (set by /w/.node-version)\nmake: *** [Makefile:2: test] Error 1\n",
        ),
        (
            1,
            "No version is set for command node\nConsider adding one of the following versions in your config file at\n",
        ),
        (
            1,
            "No preset version installed for command node\nPlease install a version by running one of the following:\n",
        ),
        (1, "mise ERROR No version is set for shim: node\n"),
        (1, "Volta error: Node is not available.\n\nTo run any Node command, first set a default version\n"),
        (
            3,
            "N/A: version \"v20\" is not yet installed.\n\nYou need to run `nvm install 20` to install and use it.\n",
        ),
        (1, "error: Requested version v18.x.x is not currently installed\n"),
        (2, "error: No interpreter found for Python 3.13 in managed installations or search path\n"),
        (2, "E   ModuleNotFoundError: No module named 'requests'\n1 error in 0.1s"),
        (1, "Error: Cannot find module 'vitest'\nRequire stack:"),
        (101, "error: no matching package named `serde` found\nlocation searched: index"),
        (1, "calc.go:3:8: no required module provides package github.com/a/b; to add it:"),
        (1, "[ERROR] Failed to execute goal: Could not resolve dependencies for project a:b:jar:1"),
        (1, "CMake Error at a:2:\n  Compatibility with CMake < 3.5 has been removed from CMake.\n"),
        (1, "CMake Error at a:2 (message):\n  Could NOT find ZLIB (missing: ZLIB_LIBRARY)\n"),
        (
            2,
            "a.c:3:9: error: this statement may fall through [-Werror=implicit-fallthrough=]\nmake: *** [a.o] Error 1",
        ),
    ] {
        assert!(missing(code, output, None).is_some(), "{output}");
        assert_eq!(missing(code, output, Some(3)), None, "some ran: {output}");
    }
    for (code, output) in [
        (1, "ModuleNotFoundError: No module named 'calc.parse'"),
        (1, "Error: Cannot find module './sum'"),
        (2, "SyntaxError: invalid syntax"),
        (2, "a.c:1: error: x\nmake: *** [Makefile:2: test] Error 1"),
        (2, "make: *** No rule to make target 'a.c', needed by 'test'.  Stop."),
        (2, "-- Could NOT find Doxygen (missing: DOXYGEN_EXECUTABLE)\na.c:3:9: error: expected declaration"),
        (101, "error[E0425]: cannot find value `x` in this scope"),
        (1, "AssertionError: version '3' is not installed\n"),
        (1, "[test] $ ./t\nmise ERROR sh exited with non-zero status: exit code 1\n"),
        // An output as long as the limit.
        (1, &"\n".repeat(256 << 10)),
        (
            2,
            "./t: symbol lookup error: ./t: undefined symbol: foo_init\nmake: *** [Makefile:9: test] Error 127\n",
        ),
        (2, "make: ./test.sh: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n"),
        (
            2,
            "make: nosuch: No such file or directory\nmake: [Makefile:2: test] Error 127 (ignored)\nFAILED: 3 of 9\n\
             make: *** [Makefile:3: test] Error 1\n",
        ),
        (0, "sh: pytest: not found, and all is well"),
        (1, "1 failed, 3 passed"),
    ] {
        assert_eq!(missing(code, output, None), None, "{output}");
    }
}

#[test]
fn a_program_that_is_missing_after_tests_that_ran_is_told_from_what_a_change_can_bring() {
    let missing = |code, output: &str| missing_program(Exit::Code(code), output);
    for (code, output) in [
        (127, "3 passed\n/usr/bin/sh: 2: nosuchlinter: not found\n"),
        (127, "3 passed\nbash: line 1: nosuchlinter: command not found\n"),
        (
            2,
            "3 passed\nmake: nosuchlinter: No such file or directory\nmake: *** [Makefile:3: test] Error 127\n",
        ),
    ] {
        assert!(missing(code, output).is_some_and(|line| line.contains("nosuchlinter")), "{output}");
    }
    let pinned = "3 passed\npyenv: version `3.9.1' is not installed (set by /w/.python-version)\nmake: *** [Makefile:3: test] Error 1\n";
    assert!(missing(2, pinned).is_some_and(|line| line.contains("3.9.1")), "nor can it bring a version");
    for (code, output) in [
        (127, "3 passed\nsh: 2: ./scripts/lint.sh: not found\n"),
        (1, "sh: 2: nosuchlinter: not found\n1 failed, 3 passed\n"),
        (0, "sh: 2: nosuchlinter: not found\n"),
        (127, "sh: 2: nosuchlinter: not found\n1\n2\n3\n4\n5\n"),
    ] {
        assert_eq!(missing(code, output), None, "{output}");
    }
}

#[test]
fn the_line_that_tells_is_an_errors_and_leads_nowhere_else() {
    let output =
        "Collecting a\n\x1b[31mERROR: No matching distribution found for b==9\x1b[0m\n\nnotice: a new pip\n";
    assert_eq!(telling_line(output).unwrap(), "ERROR: No matching distribution found for b==9");
    let maven = "[FATAL] Non-resolvable parent POM: Could not find artifact a:b:pom:1\n[ERROR] \n\
                 [ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.\n\
                 [ERROR] [Help 2] http://cwiki.example.org/MAVEN/UnresolvableModelException\n\x1b[0m\x1b[0m\n";
    assert_eq!(
        telling_line(maven).unwrap(),
        "[FATAL] Non-resolvable parent POM: Could not find artifact a:b:pom:1"
    );
    for (output, told) in [
        (
            "meson.build:37:10: ERROR: Dependency \"libcap\" not found, tried pkgconfig\n\nA full log can be found at x\n",
            "meson.build:37:10: ERROR: Dependency \"libcap\" not found, tried pkgconfig",
        ),
        (
            "npm error code E403\nnpm error 403 403 Forbidden - GET https://npm.example/a\nnpm error 403 In most cases, you\n",
            "npm error 403 403 Forbidden - GET https://npm.example/a",
        ),
        (
            "error: subprocess-exited-with-error\n\n  File x\n  ConnectionError: no way to files.example\n\nnote: This error \
             originates from a subprocess\n",
            "ConnectionError: no way to files.example",
        ),
        (
            "npm error AggregateError:\nnpm error     RequestError: getaddrinfo EAI_AGAIN moz.com\n",
            "npm error     RequestError: getaddrinfo EAI_AGAIN moz.com",
        ),
        (
            "npm error prebuild-install info begin Prebuild-install version 2.1.2\nnpm error gyp ERR! no headers\n",
            "npm error gyp ERR! no headers",
        ),
        (
            "cc -c a.c\na.c:1:10: fatal error: onig.h: No such file or directory\nmake: *** [Makefile:822: all] Error 2\n",
            "a.c:1:10: fatal error: onig.h: No such file or directory",
        ),
    ] {
        assert_eq!(telling_line(output).as_deref(), Some(told));
    }
    assert_eq!(telling_line("one\ntwo\n\n").unwrap(), "two");
    let bundler = "Fetching gem metadata from https://gems.example/\n\
                   Retrying fetcher due to error (2/4): Bundler::HTTPError Net::HTTPFatalError 502\n\
                   Could not fetch specs from https://gems.example/ due to underlying error <Net::HTTPFatalError 502>\n";
    assert!(telling_line(bundler).unwrap().starts_with("Could not fetch specs from https://gems.example/"));
    let long = format!("[ERROR] {}has not been downloaded from it before.", "and an artifact ".repeat(20));
    assert_eq!(telling_line(&long), Some(long), "a long line is whole");
    assert_eq!(telling_line("\n \n"), None);
}

#[test]
fn the_first_error_is_told_and_not_what_comes_of_it() {
    for (output, told) in [
        ("sh: 1: bindgen: not found\nbuilding\ncannot open out.h\n", "sh: 1: bindgen: not found"),
        (
            "npm warn deprecated a@1: it is unsupported\nYour requirements could not be resolved.\n  Problem 1\n    - a requires b\n",
            "Your requirements could not be resolved.",
        ),
        (
            "FAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task ':a'.\n> Could not resolve all files\n",
            "> Could not resolve all files",
        ),
        (
            " ERR_PNPM_FETCH_404  GET https://npm.example/a: Not Found - 404\n\nThis error happened while installing\n",
            "ERR_PNPM_FETCH_404  GET https://npm.example/a: Not Found - 404",
        ),
        (
            "npm error ERESOLVE could not resolve\nnpm error A complete log of this run can be found in: /x\n\
             npm error gyp ERR! no headers\nnpm error A complete log of this run can be found in: /y\n",
            "npm error gyp ERR! no headers",
        ),
        (
            "➤ YN0028: │ The lockfile would have been modified by this install, which is explicitly forbidden.\n\
             ➤ YN0000: · Failed with errors in 0s 686ms\n",
            "➤ YN0028: │ The lockfile would have been modified by this install, which is explicitly forbidden.",
        ),
        (
            "cp: cannot stat 'a.env': No such file or directory\nfailed to start\n",
            "cp: cannot stat 'a.env': No such file or directory",
        ),
    ] {
        assert_eq!(telling_line(output).as_deref(), Some(told));
    }
}

#[test]
fn a_registry_that_wants_to_know_who_asks_is_told_from_one_that_has_nothing() {
    let yarn = "Usage Error: Environment variable not found (NPM_TOKEN) in /work/.yarnrc.yml (in /work/.yarnrc.yml)\n";
    assert_eq!(unset_variable(yarn).as_deref(), Some("NPM_TOKEN"));
    assert_eq!(
        unset_variable("error An unexpected error occurred: \"Failed to replace env in config: ${A_B}\".")
            .as_deref(),
        Some("A_B")
    );
    assert_eq!(unset_variable("PATH is not set"), None);
    for output in [
        "npm error code E401\nnpm error 401 Unauthorized - GET https://npm.example/a\n",
        "➤ YN0041: │ a@npm:1.0.0: Invalid authentication (as an anonymous user)\n➤ YN0000: · Failed with errors in 1s\n",
        "fatal: could not read Username for 'https://git.example': terminal prompts disabled\n",
    ] {
        assert!(wants_credentials(output), "{output}");
    }
    assert!(!wants_credentials("npm error 404 Not Found - GET https://npm.example/a\n"));
}

#[test]
fn tests_of_which_none_loads_are_told_from_tests_that_fail() {
    let none = |code, counts: Option<(u64, u64)>, unloaded: &[&str], output: &str| {
        let counts = counts.map(|(passed, failed)| TestCounts { passed, failed, skipped: 0 });
        let unloaded = unloaded.iter().map(ToString::to_string).collect();
        let reading = TestReport { counts, unloaded, ..TestReport::default() };
        not_loaded(Exit::Code(code), &reading, output)
    };
    let python = "ImportError: Failed to import test module: test_a\nModuleNotFoundError: No module named 'iniconfig'\n";
    assert!(none(1, Some((0, 1)), &["unittest.loader._FailedTest.test_a"], python).is_some());
    assert_eq!(none(1, Some((0, 2)), &["unittest.loader._FailedTest.test_a"], python), None, "one ran");
    assert_eq!(none(1, Some((1, 1)), &["unittest.loader._FailedTest.test_a"], python), None, "one passed");
    assert_eq!(none(0, None, &[], python), None);
    for output in [
        "error[E0425]: cannot find value `x` in this scope\nerror: could not compile `a` (lib)\n",
        "cc -c a.c\na.c:3:9: error: expected declaration\nmake: *** [Makefile:2: a.o] Error 1\n",
        "[ERROR] COMPILATION ERROR : \n[ERROR] /work/src/A.java:[3,9] cannot find symbol\n",
        "/work/A.cs(3,9): error CS0103: The name 'x' does not exist\n",
        "# a\n./a.go:3:9: undefined: x\n",
        "a.rb:1:in `require': cannot load such file -- rack (LoadError)\n",
        "PHP Fatal error:  Uncaught Error: Class \"A\" not found in /work/a.php:3\n",
        "Can't locate Moose.pm in @INC (you may need to install the Moose module)\n",
        "SyntaxError: invalid syntax\n",
        "# Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/work/gone.js' imported from /work/a.test.js\n",
    ] {
        assert!(none(2, None, &[], output).is_some(), "{output}");
    }
    for output in [
        "not ok\n",
        "error: Recipe `test` failed on line 2 with exit code 1\n",
        "a.rb:1:in `require': cannot load such file -- rack (LoadError)\n9 examples, 1 failure\n",
        "Error: x\n3 runs, 3 assertions, 1 failures, 0 errors, 0 skips\n",
        "  ** (SyntaxError) a.ex:1\n2 tests, 1 failure\n",
    ] {
        assert_eq!(none(1, None, &[], output), None, "{output}");
    }
}

#[test]
fn a_certificate_that_nobody_knows_is_told_before_what_comes_of_it() {
    for line in [
        "WARNING: Retrying (Retry(total=0)) after 'SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]",
        "cause: invalid peer certificate: UnknownIssuer",
        "npm error code SELF_SIGNED_CERT_IN_CHAIN",
        "npm error unable to get local issuer certificate",
        "Get \"https://proxy.golang.org\": tls: failed to verify certificate: x509: certificate signed by unknown authority",
        "Could not transfer artifact a:b:pom:1: PKIX path building failed",
        "fatal: unable to access 'https://a.example/': SSL certificate problem: self-signed certificate in chain",
    ] {
        let output = format!("Collecting uv\n{line}\nERROR: No matching distribution found for uv\n");
        assert_eq!(telling_line(&output).as_deref(), Some(line));
        assert_eq!(untrusted_certificate(&output).as_deref(), Some(line));
    }
    assert_eq!(untrusted_certificate("test certificate_is_read ... FAILED"), None);
}
