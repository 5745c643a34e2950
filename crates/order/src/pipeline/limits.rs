//! How much a pipeline may hold. A file that needs more is a mistake or an attack.

/// The most stages that a pipeline may have.
pub const MOST_STAGES: usize = 50;
/// The most rounds of a verifier, and the most retries of a run.
pub const MOST_ROUNDS: u32 = 10;

/// How often a check may send the worker back, the first run included.
pub(crate) const MOST_RUNS: u32 = 3;
/// How often an agent is asked whose answer is of no use.
pub(crate) const MOST_QUESTIONS: u32 = 2;

/// A day.
pub(super) const LONGEST_RUN_SECONDS: u64 = 24 * 3_600;
pub(super) const MOST_DOLLARS: f64 = 10_000.0;
