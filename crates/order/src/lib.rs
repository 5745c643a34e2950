//! The pure heart: what an order is, what was written about it, and what to do next.
//!
//! May know: nothing of ours. No I/O, no clock, no async, no randomness.
//! Must never know: GitHub's wire formats, processes, databases, files.
//!
//! Everything else in the house either feeds the [`Journal`] or carries out a [`Move`].

pub mod agent_run;
mod answer;
pub mod artifact;
pub mod change_kind;
pub mod checks;
pub mod command_run;
pub mod commit_message;
pub mod comparison;
pub mod conversation;
pub mod desk;
pub mod effect_name;
pub mod feedback;
pub mod ids;
mod inconclusive;
pub mod journal;
mod judge_answer;
pub mod moves;
pub mod names;
pub mod network;
pub mod next;
pub mod pieces;
pub mod pipeline;
pub mod proof;
mod prove_settings;
pub mod receipt;
pub mod release_words;
mod review_facts;
pub mod role;
mod schema;
pub mod scrutiny;
pub mod settings;
pub mod settlement;
pub mod signal;
pub mod steps;
pub mod surfaces;
pub mod test_run;
pub mod title;
pub mod trace;
pub mod verdict;
mod walk;
pub mod weakening;
mod yaml;

pub use agent_run::{AgentFailure, AgentRun, Usage};
pub use command_run::{Counts, Exit};
pub use comparison::{CaseStatus, Cases, ComparedBy, Comparison, Judged, Reading, Tests};
pub use effect_name::{EffectPart, EffectScope, Reserved};
pub use feedback::{Category, Feedback, Finding, Severity};
pub use ids::{
    BranchName, CommitSha, DeliveryGuid, InstallationId, IssueNumber, OrderId, Person, PullNumber,
    RepositoryId, RepositoryName, TreeSha, UserId,
};
pub use inconclusive::Inconclusive;
pub use journal::{Entry, Event, IssueText, Journal, Opened};
pub use moves::{Move, MoveKey, Outcome, Trouble};
pub use next::{Next, next, survey};
pub use pipeline::Pipeline;
pub use proof::{Proof, ProofGrade};
pub use prove_settings::ProveSettings;
pub use receipt::Receipt;
pub use role::{Role, Tool};
pub use scrutiny::Scrutiny;
pub use settings::{Budget, DayLimits, OrderLimits, RepositorySettings};
pub use settlement::Settlement;
pub use signal::{Command, FirstWord, Requester, ReviewVerdict, Signal, SignalKind};
pub use surfaces::Surfaces;
pub use test_run::{TestRun, TestVerdict};
pub use trace::Trace;
pub use verdict::Verdict;
pub use walk::budget::OrderBudget;
pub use walk::heard::{Answer, Answered};
pub use weakening::{Weakening, WeakeningKind};
