//! Verification: which commands install and test a repository, and what came of a run.
//!
//! May know: how projects are built and tested, what test runners print, JUnit reports.
//! Must never know: how a process is started or walled in, agents, what an order does next.
//!
//! Nothing here starts a process. The exit code of a process of ours decides; what a run *prints* was written by
//! the code under test and can only take away: it names failing tests, and tells that no test ran at all.

mod counts;
mod discover;
mod plan;
mod text;

use crate::order::{Counts, Exit, TestVerdict};

pub use counts::{Reading, read_counts};
pub use plan::{TestPlan, plan};
pub use text::{TAIL_CHARACTERS, tail};

/// Pytest ends with this when it collected nothing.
const PYTEST_NO_TESTS: i32 = 5;

/// What a run of the tests comes to.
///
/// The exit decides. Counts can only take a pass away, when they say that no test ran; a run without known
/// counts stays what its exit says. Exit 5 is pytest's way to say that it found no tests: it counts as that only
/// where no output says otherwise.
pub fn verdict(exit: &Exit, counts: Option<&Counts>) -> TestVerdict {
    let none_ran = counts.is_some_and(|counts| counts.ran() == 0);
    match exit {
        Exit::Code(0) if none_ran => TestVerdict::NoTests,
        Exit::Code(0) => TestVerdict::Passed,
        Exit::Code(PYTEST_NO_TESTS) if none_ran => TestVerdict::NoTests,
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut => TestVerdict::Failed,
    }
}

#[cfg(test)]
mod tests;
