//! What kind of failure a failing run of the tests is, by what common runners print: pytest and unittest, jest, vitest and
//! node, `go test`, `cargo test`, JUnit.
//!
//! What is read was printed by the code under test. A class decides nothing: it is a hint to whoever mends the code, and a
//! figure in a report. What fits no pattern stays unknown.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::command_run::Exit;
use super::test_run::{TestRun, TestVerdict};

/// Bytes that are looked at, from the end.
const MOST_READ: usize = 64 * 1024;
/// Characters of the line that tells.
const LONGEST_LINE: usize = 200;

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    MissingImport,
    Syntax,
    Timeout,
    Database,
    Environment,
    Async,
    ReturnType,
    EdgeCase,
    Assertion,
}

/// A class, with what speaks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassifiedFailure {
    pub class: FailureClass,
    /// Whether the message has other causes as well.
    pub is_guess: bool,
    /// The first line that tells. Foreign.
    pub line: String,
    /// How many lines tell.
    pub lines: u32,
}

impl FailureClass {
    /// As in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MissingImport => "missing_import",
            Self::Syntax => "syntax",
            Self::Timeout => "timeout",
            Self::Database => "database",
            Self::Environment => "environment",
            Self::Async => "async",
            Self::ReturnType => "return_type",
            Self::EdgeCase => "edge_case",
            Self::Assertion => "assertion",
        }
    }

    /// What it most often is, for whoever mends it.
    pub fn hint(self) -> &'static str {
        match self {
            Self::MissingImport => {
                "a module, package or name that is not there: a path, a spelling, or a file that was not committed"
            }
            Self::Syntax => "the code cannot be parsed",
            Self::Timeout => {
                "it took too long: an endless loop, a wait for what does not come, or work that is too slow"
            }
            Self::Database => {
                "the database refuses it: a table, column or migration that is missing, or a constraint"
            }
            Self::Environment => {
                "something around the code is missing: a service, a variable, a file, a right, the network"
            }
            Self::Async => "a call that must be awaited and is not, or the other way round",
            Self::ReturnType => {
                "a value of another type than its user expects, such as nothing where something was to be returned"
            }
            Self::EdgeCase => "an input at the edge: empty, zero, missing, too long, the last one",
            Self::Assertion => "the code runs, and its result is another than the test expects",
        }
    }
}

struct MessagePattern {
    class: FailureClass,
    is_guess: bool,
    regex: Regex,
}

/// Each pattern at the beginning of a message; the first that fits a line is its class.
static PATTERNS: LazyLock<Vec<MessagePattern>> = LazyLock::new(|| {
    use FailureClass::*;
    let certain = |class, pattern| (class, false, pattern);
    let guess = |class, pattern| (class, true, pattern);
    let patterns = [
        // Compilers and loaders.
        certain(
            MissingImport,
            r"ModuleNotFoundError\b|ImportError: (?:cannot import name|No module named|attempted relative import)",
        ),
        certain(
            MissingImport,
            r"(?:Error(?: \[ERR_MODULE_NOT_FOUND\])?: |error: )*(?:Cannot find (?:module|package) ['\x22]|Failed to resolve import )",
        ),
        certain(MissingImport, r"error(?: TS2307|\[E0432\]|\[E0433\])|error\[E0463\]"),
        certain(
            MissingImport,
            r".*(?:no required module provides package|: package \S+ is not in std|cannot find package \x22)",
        ),
        certain(
            MissingImport,
            r".*error: package \S+ does not exist|java\.lang\.(?:ClassNotFoundException|NoClassDefFoundError)",
        ),
        guess(
            MissingImport,
            r"NameError: name|ReferenceError: \S+ is not defined|error\[E04(?:12|25)\]|\S+\.go:\d+:\d+: undefined: |.*error: cannot find symbol",
        ),
        certain(
            Syntax,
            r"(?:SyntaxError|IndentationError|TabError)\b|\S+\.go:\d+:\d+: (?:syntax error|expected )|error: (?:expected (?:one of|`|\w+, found)|unexpected closing delimiter|this file contains an unclosed delimiter)",
        ),
        certain(
            Syntax,
            r".*\.java:\[?\d+[,\d\]]*:? (?:error: )?(?:'.' expected|reached end of file while parsing|illegal start of )|(?:Error: )?Transform failed with ",
        ),
        // Time.
        certain(
            Timeout,
            r"(?:Error: )?(?:thrown: \x22)?Exceeded timeout of \d+|Error: Test timed out in \d+|(?:panic: )?test timed out after|Failed: Timeout >|org\.junit\S*TestTimedOutException|.*Timeout of \d+ ?ms exceeded",
        ),
        guess(
            Timeout,
            r"(?:\w+\.)*TimeoutError\b|(?:\w+\.)*TimeoutException\b|context deadline exceeded|.*execution timed out after ",
        ),
        // Data and what is around.
        certain(
            Database,
            r"(?:sqlite3|psycopg\d?|pymysql|MySQLdb|asyncpg|django\.db\.utils|sqlalchemy\.exc|pymongo\.errors)\b[\w.]*(?:Error|Exception|Violation)\w*|(?:SqliteError|SequelizeDatabaseError|SequelizeUniqueConstraintError|PrismaClient\w*Error|QueryFailedError|MongoServerError)\b|(?:java\.sql|org\.postgresql|org\.h2)\.\S*(?:Exception|Error)",
        ),
        guess(
            Database,
            r".*(?:no such (?:table|column): |relation \x22[^\x22]+\x22 does not exist|duplicate key value violates|SQLITE_(?:ERROR|BUSY|CONSTRAINT)|database is locked|(?:UNIQUE|FOREIGN KEY|NOT NULL) constraint failed)",
        ),
        certain(
            Environment,
            r"ConnectionRefusedError\b|socket\.gaierror\b|(?:Error: )?(?:connect ECONNREFUSED|getaddrinfo (?:ENOTFOUND|EAI_AGAIN)|listen EADDRINUSE)|.*: (?:\d+: |line \d+: )?\S+: (?:command )?not found$|.*dial tcp \S+ (?:connect: connection refused|i/o timeout)|.*No space left on device|java\.net\.(?:ConnectException|UnknownHostException)",
        ),
        guess(
            Environment,
            r"(?:PermissionError|FileNotFoundError|ConnectionError|OSError)\b|KeyError: '[A-Z][A-Z0-9]*_[A-Z0-9_]+'|(?:Error: )?(?:ENOENT|EACCES)\b|java\.(?:io\.FileNotFoundException|nio\.file\.NoSuchFileException)|.*(?:environment variable not found|No such file or directory|Permission denied)",
        ),
        // Calls and values.
        certain(
            Async,
            r".*coroutine '[^']*' was never awaited|TypeError: object .* can't be used in 'await' expression|RuntimeError: (?:Event loop is closed|There is no current event loop|This event loop is already running|no running event loop)|async def functions are not natively supported|(?:fatal error: )?all goroutines are asleep|.*there is no reactor running, must be called from the context of a Tokio|WARNING: DATA RACE",
        ),
        guess(
            Async,
            r"TypeError: '?coroutine'?|TypeError: .*'coroutine' object|AttributeError: 'coroutine' object|Received: +Promise \{|.*UnhandledPromiseRejection|Error: Unhandled Rejection",
        ),
        certain(
            ReturnType,
            r"error\[E0308\]|\S+\.go:\d+:\d+: cannot use |.*error: incompatible types:|error TS(?:2322|2345)|java\.lang\.ClassCastException",
        ),
        guess(
            ReturnType,
            r"AttributeError: '\w+' object has no attribute|TypeError: (?:unsupported operand|'\w+' object is not|cannot unpack non-iterable|object of type '\w+' has no len|must be \w+, not|Cannot (?:read|set) propert|.* is not (?:a function|iterable|a constructor)$)|error\[E0599\]",
        ),
        guess(
            EdgeCase,
            r"(?:IndexError|KeyError|ZeroDivisionError|OverflowError|RecursionError|StopIteration|UnicodeDecodeError|ValueError|RangeError)\b|(?:runtime error: )?(?:index out of range|slice bounds out of range|integer divide by zero|invalid memory address or nil pointer dereference)|index out of bounds: |attempt to (?:divide by zero|subtract with overflow|add with overflow|multiply with overflow)|called `(?:Option|Result)::(?:unwrap|expect)\(\)`|java\.lang\.(?:NullPointerException|ArithmeticException|NumberFormatException|\w*IndexOutOfBoundsException)|java\.util\.NoSuchElementException",
        ),
        // Last: what everything is that was compared.
        certain(
            Assertion,
            r"AssertionError\b|assert .*(?:[=!<>]=|\bin\b|\bis\b)|assertion `?.* failed|expect\(received\)|expect\(|(?:\S+Error|Error) \[ERR_ASSERTION\]|code: 'ERR_ASSERTION'|(?:org\.opentest4j|org\.junit|junit\.framework)\.\S*(?:AssertionFailedError|ComparisonFailure)|java\.lang\.AssertionError|.*expected: ?<.*> but was: ?<",
        ),
        guess(Assertion, r"\w+_test\.go:\d+: .*(?i:\b(?:got|want|expected|actual)\b)|not ok \d+"),
    ];
    let made = |(class, is_guess, pattern): (FailureClass, bool, &str)| {
        Some(MessagePattern { class, is_guess, regex: Regex::new(&format!("^(?:{pattern})")).ok()? })
    };
    patterns.into_iter().filter_map(made).collect()
});

/// Colours.
static ESCAPES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\x1b\[[0-9;]*[A-Za-z]").ok());

/// What runners put before a message.
static PREFIX: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let before = r"^(?:\s|E\s{2,}|\[ERROR\]|#\s|>\s|●|×|→|⎯|\d+\)\s|panic: |Caused by: |[Uu]ncaught |(?:Unhandled )?exception: |Exception in thread \S+ |[✕✗✖]\s|(?:FAILED|ERROR) \S+ - |\S+\.py:\d+: )+";
    Regex::new(before).ok()
});

/// The classes of what a failing run printed, each once, in the order in which they are looked for.
pub fn classify(output: &str) -> Vec<ClassifiedFailure> {
    let mut found: Vec<ClassifiedFailure> = Vec::new();
    let mut begin = output.len().saturating_sub(MOST_READ);
    while !output.is_char_boundary(begin) {
        begin += 1;
    }
    for line in output.get(begin..).unwrap_or_default().lines() {
        let line = ESCAPES.as_ref().map_or(line.into(), |escapes| escapes.replace_all(line, ""));
        let line = line.as_ref();
        let message = match PREFIX.as_ref().and_then(|prefix| prefix.find(line)) {
            Some(before) => line.get(before.end()..).unwrap_or_default(),
            None => line,
        };
        let message = message.trim_end();
        let Some(pattern) = PATTERNS.iter().find(|pattern| pattern.regex.is_match(message)) else { continue };
        match found.iter_mut().find(|known| known.class == pattern.class) {
            Some(known) => {
                known.is_guess &= pattern.is_guess;
                known.lines += 1;
            }
            None => found.push(ClassifiedFailure {
                class: pattern.class,
                is_guess: pattern.is_guess,
                line: message.chars().take(LONGEST_LINE).collect(),
                lines: 1,
            }),
        }
    }
    found.sort_by_key(|failure| failure.class);
    found
}

/// The classes of a run of the tests: none for one that did not fail. How it was ended counts, whatever it printed.
pub fn of_run(run: &TestRun) -> Vec<ClassifiedFailure> {
    match run.verdict {
        TestVerdict::Passed | TestVerdict::Weakened | TestVerdict::Unmended | TestVerdict::NoTests => {
            return Vec::new();
        }
        TestVerdict::Failed | TestVerdict::SetupFailed => {}
    }
    let mut found = classify(&run.tail);
    let ended = run.test.as_ref().or(run.setup.as_ref());
    if let Some(ended) = ended.filter(|ended| ended.exit == Exit::TimedOut) {
        found.retain(|failure| failure.class != FailureClass::Timeout);
        let line = format!("the command {}", ended.exit);
        found.push(ClassifiedFailure { class: FailureClass::Timeout, is_guess: false, line, lines: 1 });
        found.sort_by_key(|failure| failure.class);
    }
    found
}

#[cfg(test)]
#[path = "failure_class_tests.rs"]
mod tests;
