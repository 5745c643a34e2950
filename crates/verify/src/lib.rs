//! Verification: what came of a run of a repository's tests, and what it shows of a change.
//!
//! May know: how projects are built and tested, what test runners print, JUnit reports.
//! Must never know: how a process is started or walled in, agents, what an order does next.
//!
//! Nothing here starts a process. The exit code of a process of ours decides; what a run *prints* was written by
//! the code under test and can only take away: it names failing tests, and tells that no test ran at all.

/// A pattern of ours, compiled once. One that is wrong does not come through the tests.
macro_rules! pattern {
    ($text:literal $(,)?) => {{
        static PATTERN: std::sync::LazyLock<regex::Regex> = std::sync::LazyLock::new(|| {
            regex::Regex::new($text).unwrap_or_else(|error| unreachable!("a pattern of ours: {error}"))
        });
        &*PATTERN
    }};
}

mod compare;
mod configuration;
mod counts;
mod dependencies;
pub mod examination;
pub mod examples;
pub mod experiment;
mod folders;
mod invocation;
mod missing;
mod mutants;
mod overlay;
mod reporting;
mod runs;
pub mod tamper;
mod text;

use journeyman_order::{Exit, TestCounts, TestVerdict};

pub use compare::may_be_flaky;
pub use counts::{read, read_end, reports_as_one};
pub use dependencies::{new_dependencies, unread_dependencies};
pub use invocation::{TestInvocation, reports_together};
pub use missing::{
    missing_for_tests, missing_program, not_loaded, points_elsewhere, ran_any, telling_line, unset_variable,
    untrusted_certificate, wants_credentials,
};
pub use mutants::{Mutant, changed_lines, mutants};
pub use overlay::{Overlay, OverlayAction};
pub use text::{TAIL_CHARACTERS, tail};

/// A file that differs, with its bytes on both sides as far as they were read.
#[derive(Debug, Clone, Copy)]
pub struct ChangedPath<'a> {
    pub path: &'a str,
    /// In the base; none where it is not there.
    pub before: Option<&'a [u8]>,
    /// After the change; none where it is gone.
    pub after: Option<&'a [u8]>,
}

/// Pytest, and unittest of newer Pythons, end with this when they found no test.
const PYTHON_NO_TESTS: i32 = 5;
/// Nextest ends with this when there was none to run.
const NEXTEST_NO_TESTS: i32 = 4;

/// What a run of the tests comes to.
///
/// The exit decides. Counts can only take a pass away, when they say that no test ran; a run without known
/// counts stays what its exit says. Some runners have an exit code of their own for having found no test; it
/// counts as that only where what was printed says so too, and else as the failure that it looks like.
pub fn verdict(exit: &Exit, counts: Option<&TestCounts>) -> TestVerdict {
    let none_ran = counts.is_some_and(|counts| counts.ran() == 0);
    match exit {
        Exit::Code(0) if none_ran => TestVerdict::NoTests,
        // Whatever made the runner say so, it counted a failure.
        Exit::Code(0) if counts.is_some_and(|counts| counts.failed > 0) => TestVerdict::Failed,
        Exit::Code(0) => TestVerdict::Passed,
        Exit::Code(PYTHON_NO_TESTS | NEXTEST_NO_TESTS) if none_ran => TestVerdict::NoTests,
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut => TestVerdict::Failed,
    }
}

#[cfg(test)]
mod tests;
