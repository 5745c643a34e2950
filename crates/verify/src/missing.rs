//! What a run says of an environment in which the tests cannot run at all: the line that tells, and whether it is the
//! environment's fault rather than the code's.

use std::sync::LazyLock;

use journeyman_order::{Exit, TestReport};
use regex::Regex;

use super::text::plain;

/// Of a line that is shown.
const LONGEST: usize = 300;
/// What of the end of an output is looked at, in bytes.
const MOST_READ: usize = 256 << 10;
/// Of an output, what is taken for its end.
const LAST_LINES: usize = 5;
/// As a shell ends when a program cannot be started, or is not there.
const NOT_STARTED: [i32; 2] = [126, 127];

/// Lines that say that something is missing around the tests. A `module` may be the repository's own.
const MISSING: [&str; 28] = [
    r"^.*(?:sh|bash|env): (?:\d+: |line \d+: )?(?P<whole>\S+): (?:command )?not found$",
    r"^.*(?:sh|bash): (?:\d+: |line \d+: )?(?P<whole>\S+): Permission denied$",
    r"^.*: (?P<whole>\S+): (?:command )?not found$",
    r"^.*No module named '?(?P<module>[A-Za-z0-9_]+)[\w.]*'?.*$",
    r"^.*[Cc]annot find (?:module|package) '(?P<module>[^'./][^']*)'.*$",
    r"^.*error: no matching package named .*$",
    r"^.*error: failed to (?:get|download|load source for dependency) .*$",
    r"^.*no required module provides package .*$",
    r"^.*Could not (?:find|resolve) (?:dependencies|artifact|gem|com\.|org\.).*$",
    r"^.*Could not find gem .*$",
    r"^.*\[ERROR\].*Could not transfer artifact .*$",
    r"^.*Could not resolve all (?:files|dependencies|artifacts) .*$",
    r"^.*error NU1\d{3}: .*$",
    r"^.*Compatibility with CMake < [\d.]+ has been removed from CMake.*$",
    r"^.*CMake Error: CMAKE_\w+_COMPILER not set.*$",
    r"^.*No CMAKE_\w+_COMPILER could be found.*$",
    // With dashes before it CMake goes on: it is one of those that are not required.
    r"^(?:[^-].*)?Could NOT find (?P<whole>\w+) .*$",
    r#"^.*Could not find a package configuration file provided by .*$"#,
    r#"^.*ERROR: Dependency "[^"]+" not found.*$"#,
    r"^.*No package '[^']+' found.*$",
    r"^Package \S+ was not found in the pkg-config search path\.$",
    r"^configure: error: .*$",
    r"^.*fatal error: (?P<module>[A-Za-z0-9_]+)[\w./+-]*: No such file or directory$",
    r"^.*error: .*\[-Werror(?:=[\w+=-]+)?\]$",
    r"^go: inconsistent vendoring in .*$",
    r"^.*: error: unrecognized arguments: .*$",
    r"^INTERNALERROR> .*(?:Error|Exception)\b.*$",
    r"^fatal: ambiguous argument .*: unknown revision or path not in the working tree\.$",
];
/// Lines with which a manager of versions says that the one that is asked for is not there, or that none is.
const NO_VERSION: [&str; 10] = [
    r"^error: rustup could not choose a version of .*$",
    r"^error: no override and no default toolchain set\b.*$",
    r"^error: (?:override )?toolchain '[^']+' is not installed\b.*$",
    r"^error: '[^']+' is not installed for the (?:custom )?toolchain '[^']+'.*$",
    r"^(?:py|rb|nod|j|go|php|pl|ex|er|lua|swift|tf)env: version [`'][^'`]+' is not installed\b.*$",
    r"^(?:mise ERROR )?(?:asdf: )?No (?:preset )?version (?:is )?(?:set|installed) for (?:command|shim)\b.*$",
    // Of a task that failed it says so as well.
    r"^mise ERROR .*(?:[Nn]o version|not installed|not trusted).*$",
    r"^(?:Volta error: .*|error: (?:Node|npm|Yarn|pnpm) is not available\.)$",
    r#"^N/A: version "[^"]+" is not yet installed\.?.*$"#,
    r"^error: (?:Requested version \S+ is not currently installed|No interpreter found for Python \S+.*)$",
];

/// Compiled once, since every line of an output is held against each.
static MISSING_PATTERNS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| MISSING.iter().chain(&NO_VERSION).filter_map(|one| Regex::new(one).ok()).collect());
static NO_VERSION_PATTERNS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| NO_VERSION.iter().filter_map(|one| Regex::new(one).ok()).collect());

/// The line that says why a command failed, as far as one can tell: one about a certificate, since package managers go on to
/// say that a package is not there; else the first that is an error's by its form, since others come of it; else the last that
/// speaks of one and does not only point elsewhere; else the last.
pub fn telling_line(output: &str) -> Option<String> {
    let text = end_of(output);
    if let Some(line) = certificate_line(&text) {
        return Some(line);
    }
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !points_elsewhere(line));
    let errors = regex::Regex::new(
        r"(?i)\b(?:error|err!|fatal|failed|failure|denied|refused|cannot|could not|couldn't|unable to|not found|no such|no module|no matching|unsupported|requires|conflict)\b",
    );
    let is_error = |line: &&str| errors.as_ref().is_ok_and(|errors| errors.is_match(line));
    let form = pattern!(
        r"^(?:\S+:\d+(?::\d+)?: |[\w.+-]+: |\[\w+\] ?)?(?:(?i:fatal|error|err!|npm err!|npm error|cmake error)\b(?:[:\]\[ ]|$)|(?:\w+\.)*\w*(?:Error|Exception): )|^make(?:\[\d+\])?: \*\*\* "
    );
    let has_form = |line: &&str| form.is_some_and(|form| form.is_match(line));
    let line = lines().find(has_form).or_else(|| lines().rfind(is_error)).or_else(|| lines().next_back())?;
    Some(line.chars().take(LONGEST).collect())
}

/// Whether a line of an output says nothing by itself, but where more is to be read.
pub fn points_elsewhere(line: &str) -> bool {
    pattern!(
        r"(?i)^(?:\[\w+\] *)*(?:\[help \d+\]|re-run |to see the full |for more information |hint: |npm (?:err!|error) (?:a complete log|code |errno )|a complete log |caused by:$|\[error\] *$|note: this error originates|error: subprocess-exited-with-error|error: (?:metadata-generation-failed|legacy-install-failure)|npm (?:err!|error) \d+ in most cases|(?:\[elifecycle\]|.*elifecycle) |make(?:\[\d+\])?: (?:\*\*\* \[.*\] error \d+|entering directory |leaving directory )|aborting\.$|(?:npm (?:err!|error) )?\w*Error:$|and the repository exists\.$|(?:npm|error) (?:err!|error) (?:git|path|command) |npm (?:err!|error) (?:[\w-]+ )?(?:info|http|verb|sill|warn) )"
    )
    .is_some_and(|pattern| pattern.is_match(line))
}

/// Whether the line that tells why a setup failed says that a registry did not give what it was asked for.
pub fn unanswered(output: &str) -> bool {
    let pattern = pattern!(
        r"(?i)\b(?:40[34]|50[0234])\b.*(?:https?://|not found|forbidden|bad gateway|unavailable|timed? ?out)|https?://\S+.*\b(?:40[34]|50[0234])\b|\bE40[34]\b|\bETIMEDOUT\b|\bENOTFOUND\b|\bECONNRE(?:SET|FUSED)\b|could not transfer artifact|connection (?:refused|reset|timed out)|no matching version found"
    );
    let line = telling_line(output);
    pattern.zip(line).is_some_and(|(pattern, line)| pattern.is_match(&line))
}

/// The line that says that a certificate is not trusted, if one does.
pub fn untrusted_certificate(output: &str) -> Option<String> {
    certificate_line(&end_of(output))
}

fn certificate_line(text: &str) -> Option<String> {
    let pattern = pattern!(
        r"(?i)certificate[ _]verify[ _]failed|unknownissuer|self[-_ ]signed[-_ ]cert|unable to get (?:local )?issuer certificate|unable_to_(?:get_issuer_cert|verify_leaf_signature)|certificate signed by unknown authority|pkix path building failed|ssl certificate problem"
    )?;
    let line = text.lines().map(str::trim).find(|line| pattern.is_match(line))?;
    Some(line.chars().take(LONGEST).collect())
}

/// The line that says that something is missing around the tests, where none of them ran: a program, or a package that is not
/// the repository's own. `is_own` says whether a module of that name lies in the repository. None: they can run, or what
/// fails is the repository's code, which an agent can mend.
pub fn missing_for_tests(
    exit: Exit,
    reading: &TestReport,
    output: &str,
    is_own: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let ran = reading.counts.is_some_and(|counts| counts.ran() > 0);
    if ran || exit == Exit::Code(0) || matches!(exit, Exit::Signal(_) | Exit::TimedOut) {
        return None;
    }
    let text = end_of(output);
    // A program of the repository's own was started, and ended as one does that is not there.
    if exit == Exit::Code(127) || not_started_inside(&text).is_some() {
        let own = pattern!(r"symbol lookup error: |error while loading shared libraries: ");
        if own.is_some_and(|own| own.is_match(&text)) {
            return None;
        }
    }
    let found = text.lines().map(str::trim).find(|line| {
        MISSING_PATTERNS.iter().any(|pattern| {
            let captures = pattern.captures(line);
            captures
                .is_some_and(|captures| captures.name("module").is_none_or(|module| !is_own(module.as_str())))
        })
    });
    let line = found.map(str::to_owned).or_else(|| not_started_by_make(&text));
    let line = match exit {
        Exit::Code(code) if NOT_STARTED.contains(&code) => line.or_else(|| telling_line(output)),
        Exit::Code(_) if not_started_inside(&text).is_some() => line.or_else(|| not_started_inside(&text)),
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut => line,
    };
    line.map(|line| line.chars().take(LONGEST).collect())
}

/// The last lines that say something: what came before did not end the run.
fn last_lines(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or_default().to_vec()
}

/// What make says by itself of a program that it starts without a shell, where it ended of it. A file of the repository's
/// that is not there is what a change can bring; one that is there and not executable is told.
fn not_started_by_make(text: &str) -> Option<String> {
    not_started_inside(text)?;
    let pattern =
        pattern!(r"^make(?:\[\d+\])?: (?:[^\s/]+: No such file or directory|\S+: Permission denied)$")?;
    last_lines(text).into_iter().find(|line| pattern.is_match(line)).map(str::to_owned)
}

/// The line with which a runner of commands says that one of them could not be started, where it ended of it. Where it says
/// which file is not there, and that is the repository's, a change can bring it.
fn not_started_inside(text: &str) -> Option<String> {
    let pattern = pattern!(
        r"(?i)^make(?:\[\d+\])?: \*\*\* .* Error 12[67]$|^error: recipe .* failed on line \d+ with exit code 12[67]$|^task: Failed to run task .*: exit status 12[67]$"
    )?;
    let own = pattern!(r"^make(?:\[\d+\])?: \S*/\S*: No such file or directory$")?;
    let last = last_lines(text);
    let brought = last.iter().any(|line| own.is_match(line));
    last.into_iter().find(|line| !brought && pattern.is_match(line)).map(str::to_owned)
}

/// The line that says that a program is missing which the test command names, or the version of it that is asked for, whatever
/// ran before it. What lies in the repository may come with a change, so only programs that are found by name are meant.
pub fn missing_program(exit: Exit, output: &str) -> Option<String> {
    let text = end_of(output);
    let last = last_lines(&text);
    let is_so = match exit {
        Exit::Code(127) => true,
        Exit::Code(0) | Exit::Signal(_) | Exit::TimedOut => false,
        Exit::Code(_) => last.iter().any(|line| not_started_inside(line).is_some()),
    };
    let pattern = pattern!(
        r"^(?:.*(?:sh|bash|env): (?:\d+: |line \d+: )?[^\s/]+: (?:command )?not found|make(?:\[\d+\])?: [^\s/]+: No such file or directory)$"
    )?;
    let has_no_version = |line: &str| NO_VERSION_PATTERNS.iter().any(|pattern| pattern.is_match(line));
    let is_red = matches!(exit, Exit::Code(code) if code != 0);
    let line = last.iter().rfind(|line| is_so && pattern.is_match(line) || is_red && has_no_version(line))?;
    Some(line.chars().take(LONGEST).collect())
}

/// Whether what tells why a program was not started says that it may not be: it is there.
pub fn is_forbidden_to_start(exit: Exit, line: &str) -> bool {
    let is_said = line.to_ascii_lowercase().ends_with(": permission denied");
    is_said && (exit == Exit::Code(126) || line.starts_with("make") || line.contains("sh: "))
}

fn end_of(output: &str) -> String {
    plain(
        output.get(output.floor_char_boundary(output.len().saturating_sub(MOST_READ))..).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
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
            (
                2,
                "error: override toolchain 'nightly' is not installed\nmake: *** [Makefile:2: test] Error 1\n",
            ),
            (
                1,
                "error: 'cargo-nextest' is not installed for the toolchain 'stable-x86_64-unknown-linux-gnu'.\n",
            ),
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
            (
                1,
                "Volta error: Node is not available.\n\nTo run any Node command, first set a default version\n",
            ),
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
            (
                2,
                "-- Could NOT find Doxygen (missing: DOXYGEN_EXECUTABLE)\na.c:3:9: error: expected declaration",
            ),
            (101, "error[E0425]: cannot find value `x` in this scope"),
            (1, "AssertionError: version '3' is not installed\n"),
            (1, "[test] $ ./t\nmise ERROR sh exited with non-zero status: exit code 1\n"),
            // As many lines as are looked at.
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
        let output = "Collecting a\n\x1b[31mERROR: No matching distribution found for b==9\x1b[0m\n\nnotice: a new pip\n";
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
        assert!(unanswered("npm error code E404\nnpm error 404 404 Not Found - GET https://npm.example/a\n"));
        assert!(!unanswered("error: a test of code 404 fails\n"));
        assert_eq!(telling_line("one\ntwo\n\n").unwrap(), "two");
        assert_eq!(telling_line("\n \n"), None);
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
}
