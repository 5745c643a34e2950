//! Verification: the result of a run of a repository's tests, and what several runs show about a change.
//!
//! May know: source code and tests of each language, parsed reports of test runs, what runners print when they break.
//! Must never know: how a process is started or sandboxed, agents, what an order does next.
//!
//! Nothing here starts a process. Of a single run, the exit code decides. The code under test wrote the output, which
//! can only revoke its pass: it names failing tests, or shows that no test ran.

#[macro_use]
extern crate journeyman_languages;

use journeyman_languages::text;

mod alike;
mod compare;
mod configuration;
mod dependencies;
pub mod examination;
pub mod examples;
pub mod experiment;
mod folders;
mod invocation;
mod missing;
mod mutants;
mod overlay;
mod surroundings;
pub mod tamper;

use journeyman_order::{Exit, TestCounts, TestVerdict};

pub use alike::{failing_alike, tells_of_failure};
pub use compare::may_be_flaky;
pub use dependencies::{is_dependency_list, new_dependencies, package_changes, unread_dependencies};
pub use invocation::{TestInvocation, reports_together};
pub use journeyman_languages::reading::{read, read_end};
pub use journeyman_languages::report::files_after;
pub use journeyman_languages::runner::Helper;
pub use journeyman_languages::text::{TAIL_CHARACTERS, failing_tail, tail};
pub use missing::{
    missing_for_tests, missing_program, not_loaded, points_elsewhere, ran_any, telling_line, unset_variable,
    untrusted_certificate, wants_credentials,
};
pub use mutants::{Mutant, changed_lines, mutants, parts_taken_back, unparsed_language};
pub use overlay::{Overlay, OverlayAction};

/// A changed file with its bytes on both sides, as far as they were read.
#[derive(Debug, Clone, Copy)]
pub struct ChangedPath<'a> {
    pub path: &'a str,
    /// In the base. `None` if the file does not exist there.
    pub before: Option<&'a [u8]>,
    /// After the change. `None` if the file was deleted.
    pub after: Option<&'a [u8]>,
}

/// The exit code of pytest, and of unittest in newer Pythons, if they found no test.
const PYTHON_NO_TESTS: i32 = 5;
/// Nextest's exit code if there was no test to run.
const NEXTEST_NO_TESTS: i32 = 4;

/// The verdict of a test run.
///
/// The exit decides. Counts can only revoke a pass, if they show a failure or that no test ran. A run without known counts keeps the
/// verdict of its exit. Some runners have a special exit code for finding no test. It counts as such only if the output
/// agrees, otherwise as a failure.
pub fn verdict(exit: &Exit, counts: Option<&TestCounts>) -> TestVerdict {
    let none_ran = counts.is_some_and(|counts| counts.ran() == 0);
    match exit {
        Exit::Code(0) if none_ran => TestVerdict::NoTests,
        // Whatever the exit code means, the runner counted a failure.
        Exit::Code(0) if counts.is_some_and(|counts| counts.failed > 0) => TestVerdict::Failed,
        Exit::Code(0) => TestVerdict::Passed,
        Exit::Code(PYTHON_NO_TESTS | NEXTEST_NO_TESTS) if none_ran => TestVerdict::NoTests,
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut => TestVerdict::Failed,
    }
}

#[cfg(test)]
mod tests;
