//! Tests that all fail in the same way, as they do for their environment rather than for the code: the line that each
//! prints.
//!
//! May know: what errors look like in an output. Must never know: which runner printed it, and what an order does next.

use journeyman_order::bounds::{LONGEST_LINE, LONGEST_TAIL};
use journeyman_order::{Exit, TestReport};

use super::text::plain;

/// Limit of lines that one test repeats.
const MOST_LINES: usize = 20;

/// The line that every test prints, if there are several and all of them fail. `output` may lack its start.
///
/// A test whose expectation fails has run the code, so it never counts. Neither does a missing module of the repository
/// itself, which a change can bring: `is_own` says whether the repository has a module of that name.
pub fn failing_alike(
    exit: Exit,
    reading: &TestReport,
    output: &str,
    is_own: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let counts = reading.counts.filter(|counts| counts.passed == 0 && counts.failed > 1)?;
    if !matches!(exit, Exit::Code(code) if code != 0) {
        return None;
    }
    let text = plain(output);
    let errors: Vec<&str> = text.lines().filter_map(error_in).collect();
    if errors.iter().any(|error| is_expectation(error) || missing_module(error).is_some_and(is_own)) {
        return None;
    }
    let kinds: Vec<String> = errors.iter().map(|error| kind_of(error)).collect();
    let of_each = match output.len() < LONGEST_TAIL {
        true => repeated_times(&kinds, usize::try_from(counts.failed).ok()?),
        false => repeated_to_the_end(&kinds),
    }?;
    let own = errors.get(..of_each).unwrap_or_default();
    // Of several, the one about the environment says most. Otherwise it is the last, which the others led to.
    let line = own.iter().find(|error| is_of_environment(error)).or(own.last())?;
    Some(line.chars().take(LONGEST_LINE).collect())
}

/// Whether an issue is about this very failure: it says that the tests fail, or what the line says.
pub fn tells_of_failure(issue: &str, line: &str) -> bool {
    let of_tests = pattern!(
        r"(?i)\b(?:all|every|each|none|no|whole|entire)\b[^.\n]{0,40}\btests?\b[^.\n]{0,60}\b(?:fail|pass|broke|red\b|error|crash|work)|\btests?\b[^.\n]{0,40}\b(?:all|always)\b[^.\n]{0,40}\b(?:fail|broke|red\b|error|crash)|\btest suite\b[^.\n]{0,60}\b(?:fail|broke|red\b|error|crash)"
    );
    let words = |text: &str| -> Vec<String> {
        let all = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        all.map(str::to_lowercase).collect()
    };
    let (class, message) = line.split_once(": ").unwrap_or((line, ""));
    let class = class.rsplit(['.', ':', ' ']).next().unwrap_or(class).to_lowercase();
    // A word such as Error is in many issues, and a name such as KeyError is in those about it.
    let is_name = class.len() > "exception".len() || class.ends_with("error") && class != "error";
    let quotes = |issue: &str, message: &str| {
        let message = words(message).join(" ");
        message.len() > 7 && words(issue).join(" ").contains(&message)
    };
    of_tests.is_match(issue)
        || is_name && words(issue).contains(&class)
        || quotes(issue, message)
        || quotes(&kind_of(issue), &kind_of(message))
}

/// The error that a line of an output reports.
fn error_in(line: &str) -> Option<&str> {
    let line = line.trim();
    // These lines sum up, or pass on an exit.
    let beside = pattern!(
        r"^(?:(?:FAILED|ERROR|FAIL:|ERROR:) |make(?:\[\d+\])?: |npm (?:ERR!|error)|error Command failed)"
    );
    if beside.is_match(line) {
        return None;
    }
    let mark = pattern!(r"^(?:E +|# +|\[ERROR\] +|Caused by: )").find(line).map_or(0, |mark| mark.end());
    let line = line.get(mark..)?;
    let named = pattern!(
        r"^(?:[A-Za-z_]\w*(?:\.|::))*(?:[A-Z]\w*)?(?:Error|Exception|Failure|Refused)(?: ?[\[(][\w: ]+[\])])?(?:: .*)?$|^(?:[A-Za-z_]\w*(?:\.|::))+[A-Z]\w+: .+$|^assert\b"
    );
    (named.is_match(line) || is_of_environment(line)).then_some(line)
}

fn is_of_environment(line: &str) -> bool {
    pattern!(
        r"(?i)connection refused|\bE(?:CONNREFUSED|NOTFOUND|NETUNREACH|ACCES|ROFS|AI_AGAIN)\b|network is unreachable|no route to host|name or service not known|name resolution|no such host|could not (?:resolve|connect to) |can't connect to |command not found|(?:^|: )\S+: not found$|executable (?:file not found|doesn't exist)|no module named|cannot find module|error while loading shared libraries|cannot open shared object file|read-only file system|no space left on device|permission denied|operation not permitted|cannot (?:open|connect to) .*display|\$DISPLAY"
    )
    .is_match(line)
}

/// Whether an error is an expectation that does not hold.
fn is_expectation(line: &str) -> bool {
    let of_tests =
        pattern!(r"^assert\b|\b(?:[\w.:]*Assert\w*|\w*Comparison\w*|Expect\w*|Failure)\b(?:: |$| ?[\[(])");
    !is_of_environment(line) && of_tests.is_match(line)
}

fn missing_module(line: &str) -> Option<&str> {
    let module =
        pattern!(r#"(?i)(?:no module named|cannot find module) ['"]?(?P<module>[^'"\s]+)"#).captures(line)?;
    module.name("module").map(|module| module.as_str())
}

/// A line without what differs between tests: numbers, paths and texts in quotes.
fn kind_of(line: &str) -> String {
    let quoted = pattern!(r#"'[^']*'|"[^"]*"|`[^`]*`"#).replace_all(line, "''");
    let path = pattern!(r"\S*[/\\]\S*").replace_all(&quoted, "/");
    pattern!(r"0x[0-9a-fA-F]+|\d+").replace_all(&path, "0").to_lowercase()
}

/// How many lines each of so many tests repeats.
fn repeated_times(kinds: &[String], tests: usize) -> Option<usize> {
    let each = kinds.len().checked_div(tests).filter(|each| (1..=MOST_LINES).contains(each))?;
    (each * tests == kinds.len() && kinds.iter().zip(kinds.iter().skip(each)).all(|(one, next)| one == next))
        .then_some(each)
}

/// The same if the lines of the first tests are missing.
fn repeated_to_the_end(kinds: &[String]) -> Option<usize> {
    let is_one = |each: &usize| kinds.iter().zip(kinds.iter().skip(*each)).all(|(one, next)| one == next);
    (1..=MOST_LINES.min(kinds.len() / 2)).find(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use journeyman_order::TestCounts;

    fn alike(failed: u64, output: &str) -> Option<String> {
        let counts = Some(TestCounts { failed, ..TestCounts::default() });
        let reading = TestReport { counts, ..TestReport::default() };
        failing_alike(Exit::Code(1), &reading, output, &|module| module.starts_with("calc"))
    }

    /// What pytest prints of a failing test.
    fn of_pytest(name: &str, error: &str) -> String {
        format!(
            "____ {name} ____\n\n    def {name}():\n>       value({name:?})\n\nhalves/settings.py:12: in value\n    raise it\nE   {error}\n\n\
             halves/settings.py:12: RuntimeError\n"
        )
    }

    #[test]
    fn tests_that_all_fail_by_one_error_are_told_with_its_line() {
        let settings = "django.core.exceptions.ImproperlyConfigured: Requested setting 'A', but settings are not configured.";
        let other = settings.replace("'A'", "'DATABASES'");
        let pytest = [of_pytest("test_a", settings), of_pytest("test_b", &other)].concat()
            + "=== short test summary info ===\nFAILED t.py::test_a - django.core\nFAILED t.py::test_b - django.core\n2 failed in 0.1s\n";
        assert_eq!(alike(2, &pytest).as_deref(), Some(settings));
        let unittest = "ERROR: test_a (t.T.test_a)\n----\nTraceback (most recent call last):\n  File \"/w/t.py\", line 3, in test_a\n    \
                        raise ConnectionError(1)\nConnectionRefusedError: [Errno 111] Connection refused\n\nDuring handling of the above \
                        exception, another exception occurred:\n\nTraceback (most recent call last):\nsqlalchemy.exc.OperationalError: (psycopg2) x\n";
        let both = format!("{unittest}\n{}", unittest.replace("test_a", "test_b").replace("111", "61"));
        assert_eq!(
            alike(2, &both).as_deref(),
            Some("ConnectionRefusedError: [Errno 111] Connection refused")
        );
        let node = "✖ a (1.2ms)\n  Error: connect ECONNREFUSED 127.0.0.1:5432\n✖ b (2ms)\n  Error: connect ECONNREFUSED 127.0.0.1:5432\n";
        let twice = format!("{node}✖ failing tests:\n{node}");
        assert_eq!(alike(2, &twice).as_deref(), Some("Error: connect ECONNREFUSED 127.0.0.1:5432"));
        let go = "--- FAIL: TestA (0.00s)\n    a_test.go:9: exec: \"git\": executable file not found in $PATH\n--- FAIL: TestB (0.00s)\n    \
                  a_test.go:19: exec: \"git\": executable file not found in $PATH\nFAIL\n";
        assert!(alike(2, go).is_some_and(|line| line.contains("executable file not found")));
        let java = "[ERROR] a.ATest.x\njava.lang.IllegalStateException: Failed to load ApplicationContext\nCaused by: \
                    java.net.ConnectException: Connection refused\n";
        assert_eq!(
            alike(3, &java.repeat(3)).as_deref(),
            Some("java.net.ConnectException: Connection refused")
        );
    }

    #[test]
    fn tests_that_fail_by_what_they_expect_or_in_several_ways_are_not() {
        let of = |errors: &[&str]| errors.iter().map(|error| of_pytest("test", error)).collect::<String>();
        let runtime = "RuntimeError: not configured";
        for (failed, output) in [
            (2, of(&["AssertionError: assert 1 == 2", "AssertionError: assert 3 == 4"])),
            (2, of(&["assert 1 == 2", "assert 1 == 2"])),
            (2, of(&[runtime, "AssertionError: assert 1 == 2"])),
            (2, of(&[runtime, "TypeError: unsupported operand"])),
            (4, of(&[runtime, runtime, "KeyError: 'a'", "KeyError: 'b'"])),
            (2, of(&["KeyError: 'a'\nE   ValueError: x", "TypeError: a\nE   TypeError: a"])),
            (3, of(&[runtime, runtime])),
            (2, of(&["ModuleNotFoundError: No module named 'calc.parse'", "ModuleNotFoundError: No module named 'calc.parse'"])),
            (2, "expected: 3\n     got: 4\nexpected: 5\n     got: 6\n".to_owned()),
            (2, "org.opentest4j.AssertionFailedError: expected: <1>\norg.opentest4j.AssertionFailedError: expected: <2>\n".to_owned()),
            (1, of(&[runtime])),
        ] {
            assert_eq!(alike(failed, &output), None, "{output}");
        }
        let all = of(&[runtime, runtime]);
        let reading = |passed| TestReport {
            counts: Some(TestCounts { passed, failed: 2, ..TestCounts::default() }),
            ..TestReport::default()
        };
        assert_eq!(failing_alike(Exit::Code(1), &reading(1), &all, &|_| false), None, "one passes");
        assert_eq!(failing_alike(Exit::Code(0), &reading(0), &all, &|_| false), None);
        assert_eq!(failing_alike(Exit::TimedOut, &reading(0), &all, &|_| false), None);
        assert!(failing_alike(Exit::Code(1), &reading(0), &all, &|_| false).is_some());
    }

    #[test]
    fn the_end_of_a_long_output_is_enough() {
        let one = of_pytest("test", "RuntimeError: settings 7 are not configured");
        let all = one.repeat(LONGEST_TAIL / one.len() + 2);
        let end = &all[all.len() - LONGEST_TAIL..];
        assert!(alike(9_000, end).is_some());
        let last = of_pytest("test", "KeyError: 'a'");
        let end = format!("{}{last}", &end[last.len()..]);
        assert_eq!(alike(9_000, &end), None);
    }

    #[test]
    fn an_issue_about_the_failure_itself_is_recognized() {
        let line = "django.core.exceptions.ImproperlyConfigured: Requested setting 'A', but settings are not configured.";
        for issue in [
            "All tests fail since the last release.",
            "Not a single thing works: every one of our tests is red",
            "None of the tests pass on Python 3.13",
            "The test suite is broken.",
            "Importing it raises `ImproperlyConfigured`.",
            "It says: requested setting \"B\", but settings are not configured",
        ] {
            assert!(tells_of_failure(issue, line), "{issue}");
        }
        for issue in [
            "",
            "half() rounds down. Add tests for odd numbers.",
            "Show the settings as a table",
            "An error is shown",
        ] {
            assert!(!tells_of_failure(issue, line), "{issue}");
        }
        assert!(!tells_of_failure(
            "There is an error in half()",
            "Error: connect ECONNREFUSED 127.0.0.1:5432"
        ));
        assert!(tells_of_failure(
            "I get connect ECONNREFUSED 127.0.0.1:80",
            "Error: connect ECONNREFUSED 127.0.0.1:5432"
        ));
    }
}
