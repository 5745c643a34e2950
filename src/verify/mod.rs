//! Verification: which commands install and test a repository, and what came of a run.
//!
//! May know: how projects are built and tested, what test runners print, JUnit reports.
//! Must never know: how a process is started or walled in, agents, what an order does next.
//!
//! Nothing here starts a process. The exit code of a process of ours decides; what a run *prints* was written by
//! the code under test and can only take away: it names failing tests, and tells that no test ran at all.

mod compare;
mod configuration;
mod counts;
mod discover;
mod names;
mod overlay;
mod plan;
mod red_green;
mod registries;
mod reporting;
pub mod tamper;
mod text;

use crate::order::{Counts, Exit, TestVerdict};

pub use compare::{Told, compare, judged, needs_rerun};
pub use configuration::{old_configuration, touched_configuration};
pub use counts::{read, read_end};
pub use overlay::{Lay, Overlay};
pub use plan::{TestPlan, judge_by, plan, without_own_tests};
pub use red_green::{Graft, TestFiles, new_tests_on_old_code, proof};
pub use registries::{SetupNetwork, laid, setup_network};
pub use reporting::{Reporting, reporting};
pub use text::{TAIL_CHARACTERS, tail};

/// Pytest, and unittest of newer Pythons, end with this when they found no test.
const PYTHON_NO_TESTS: i32 = 5;
/// Nextest ends with this when there was none to run.
const NEXTEST_NO_TESTS: i32 = 4;

/// What a run of the tests comes to.
///
/// The exit decides. Counts can only take a pass away, when they say that no test ran; a run without known
/// counts stays what its exit says. Some runners have an exit code of their own for having found no test; it
/// counts as that only where what was printed says so too, and else as the failure that it looks like.
pub fn verdict(exit: &Exit, counts: Option<&Counts>) -> TestVerdict {
    let none_ran = counts.is_some_and(|counts| counts.ran() == 0);
    match exit {
        Exit::Code(0) if none_ran => TestVerdict::NoTests,
        Exit::Code(0) => TestVerdict::Passed,
        Exit::Code(PYTHON_NO_TESTS | NEXTEST_NO_TESTS) if none_ran => TestVerdict::NoTests,
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut => TestVerdict::Failed,
    }
}

#[cfg(test)]
mod tests;
