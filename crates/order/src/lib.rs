//! The pure core: what an order is, its journal, and what to do next.
//!
//! May know: no other crate of ours. No I/O, no clock, no async, no randomness.
//! Must never know: GitHub's wire formats, processes, databases, files.
//!
//! Every other crate either feeds the [`Journal`] or executes a [`Move`].

pub mod agent_run;
mod answer;
pub mod artifact;
pub mod backoff;
pub mod bounds;
pub mod byte_order_mark;
pub mod change_kind;
pub mod checks;
pub mod command_run;
pub mod commit_message;
pub mod comparison;
pub mod conversation;
pub mod effect_name;
pub mod environment_report;
pub mod examination;
pub mod feedback;
pub mod findings;
mod given_change;
pub mod ids;
mod inconclusive;
pub mod journal;
mod journal_entry;
mod journal_index;
mod json_schema;
pub mod json_values;
mod judge_answer;
pub mod length;
pub mod model_service;
pub mod moves;
mod mutant_tally;
pub mod names;
mod neighbour_tally;
pub mod network;
pub mod next;
pub mod order_api;
pub mod order_request;
mod order_wait;
pub mod package_registry;
pub mod pipeline;
mod plan_questions;
pub mod proof;
pub mod pull_template;
pub mod receipt;
pub mod release_words;
mod replay;
mod review_facts;
pub mod role;
mod schema;
pub mod scrutiny;
mod server_settings;
pub mod settings;
pub mod settlement;
pub mod signal;
pub mod steps;
pub mod surfaces;
pub mod task;
pub mod test_path;
pub mod test_run;
pub mod title;
pub mod toml_text;
pub mod trace;
pub mod user_place;
pub mod verdict;
mod verdict_run;
pub mod weakening;
mod words;
pub mod yaml;
mod yaml_tree;

pub use agent_run::{AgentFailure, AgentRun, AgentUsage};
pub use backoff::Backoff;
pub use command_run::{Exit, TestCounts};
pub use comparison::{
    ComparedBy, Comparison, ComparisonVerdict, TestCaseStatus, TestCases, TestList, TestProgram, TestReport,
};
pub use effect_name::{EffectPart, EffectScope, ReservedWord};
pub use environment_report::PinnedImages;
pub use examination::IssueExamination;
pub use feedback::{Category, ChangedTestReview, Feedback, Finding, Severity};
pub use findings::VerdictFinding;
pub use given_change::{GivenChange, PullContinuation, VERIFY_LABEL, VERIFY_PIPELINE};
pub use ids::{
    BranchName, CommitSha, DeliveryGuid, HeadBranch, InstallationId, IssueNumber, OrderId, Person,
    PullNumber, RepositoryId, RepositoryName, TreeSha, UserId,
};
pub use inconclusive::Inconclusive;
pub use journal::{IssueText, Journal, JournalEntry, JournalEvent, OrderInput};
pub use moves::{EffectError, EffectOutcome, Move, MoveKey};
pub use next::{NextMoves, next, projection};
pub use order_request::OrderRequest;
pub use order_wait::OrderWait;
pub use package_registry::{PackageRegistry, RegistryCredential, RegistryKind, RegistryName};
pub use pipeline::Pipeline;
pub use proof::{Proof, ProofGrade};
pub use receipt::Receipt;
pub use replay::budget::OrderBudget;
pub use replay::signal_log::{AnsweredSignal, SignalAnswer};
pub use role::{Role, Tool};
pub use scrutiny::Scrutiny;
pub use server_settings::{
    CommitSigning, CommitterIdentity, IsolationMode, JobLimits, NotificationFormat, NotificationSettings,
    OutgoingNetwork, OutgoingProxy, RequestOrigin, SignatureFormat, TelemetrySettings, TestingSettings,
    TrustedCertificates, WriteLimits, is_loopback,
};
pub use settings::{
    BudgetLimits, DayLimits, OrderLimits, ProofSettings, RepositorySettings, ServiceSettings, TestedFolder,
    VerificationPolicy, VerificationSettings,
};
pub use settlement::Settlement;
pub use signal::{CommentCommand, Requester, ReviewVerdict, Signal, SignalKind, SlashCommand};
pub use surfaces::Surfaces;
pub use task::{
    AttachmentContent, AttachmentKind, CommentRight, TaskAttachment, TaskComment, TaskComments, TaskText,
};
pub use test_run::{TestRun, TestVerdict, UnrunProject, UnrunReason};
pub use trace::OrderTrace;
pub use user_place::UserPlace;
pub use verdict::Verdict;
pub use weakening::{Weakening, WeakeningKind};
