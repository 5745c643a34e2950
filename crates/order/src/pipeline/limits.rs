//! How much a pipeline may hold. A file that needs more is a mistake or an attack.

/// The most bytes that a pipeline's file may have.
pub const MOST_BYTES: usize = 64 * 1024;
/// The most stages that a pipeline may have.
pub const MOST_STAGES: usize = 50;
/// The most rounds of a verifier, and the most retries of a run.
pub const MOST_ROUNDS: u32 = 10;

/// How often a check may send the worker back, the first run included.
pub(crate) const MOST_RUNS: u32 = 3;
/// How often an agent is asked whose answer is of no use.
pub(crate) const MOST_QUESTIONS: u32 = 2;

/// Command templates know `$1` to `$9`, and `${10}` upwards.
pub(super) const MOST_ARGUMENTS: usize = 40;
/// Roles that judge at the same time, each in a sandbox of its own.
pub(super) const MOST_VERIFIERS: usize = 4;
pub(super) const MOST_INPUTS: usize = 20;
/// Characters of one argument or input; what is filled in does not count.
pub(super) const LONGEST_TEXT: usize = 4_000;
pub(super) const LONGEST_DESCRIPTION: usize = 2_000;
pub(super) const LONGEST_COMMAND: usize = 200;
pub(super) const LONGEST_CONDITION: usize = 500;
pub(super) const MOST_CHOICES: usize = 50;
pub(super) const LONGEST_CHOICE: usize = 200;
pub(super) const LONGEST_GLOB: usize = 200;
/// A day.
pub(super) const LONGEST_RUN_SECONDS: u64 = 24 * 3_600;
pub(super) const MOST_DOLLARS: f64 = 10_000.0;
/// Problems that are told of one file; more help nobody.
pub(super) const MOST_PROBLEMS: usize = 20;
