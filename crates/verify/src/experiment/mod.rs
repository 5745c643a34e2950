//! The experiments that a verdict rests on: the tests of base and change on the code of base and change, and the lie
//! detector. `table.rs` says what runs and when, `judge.rs` when a commit is verified.
//!
//! May know: how projects lay out and run their tests, the parsed report of a run. Must never know: how a process is
//! started, agents, what an order does next.
//!
//! Runs decide. Reading the change says what to run, and what a result is worth: a test that the change edits proves
//! nothing, and tests of the base that cannot be put back count against it.

mod budget;
mod cell;
mod compared;
mod detector;
mod died;
mod edits;
mod example_lies;
mod family;
mod four_runs;
mod judge;
mod known;
mod lie;
mod lies;
mod loading;
mod old_answer;
mod old_code;
mod old_tests;
mod printed;
mod proof;
mod put_back;
mod reading;
mod reruns;
mod result;
mod rewording;
mod row;
mod scan;
mod sides;
mod table;
mod tellable;
mod text;
mod titles;

use journeyman_languages::names;

pub use cell::{ExperimentCell, lie_told, not_loaded};
pub use compared::{compared, passes};
pub use detector::{LieFindings, find_lies, lie_findings};
pub use died::{DeathOnOldCode, died, fatal_signal};
pub use edits::{EditedTest, defined_in, edited_tests, words_in};
pub use example_lies::{holds_examples, holds_tests};
pub use journeyman_languages::roles::{example_mark, may_hold_tests};
pub use judge::{commit_verdict, verdict};
pub use known::{ExperimentName, FinishedRun, KnownChange, KnownSoFar};
pub use lie::{Lie, lies_in};
pub use lies::TestTexts;
pub use loading::left_out;
pub(crate) use names::has_word;
pub use names::is_of;
pub use old_tests::{how_edited, may_be_flaky_there};
pub use result::ExperimentResult;
pub use row::{Edit, Experiment, PlannedRun, Side, TimeShare, WhichTests};
pub(crate) use scan::without_comments;
pub use sides::{ChangeSplit, has_words_of_tests, is_of_tests, is_source, split_change};
pub use table::{EXPERIMENTS, due, to_come, without_result, words_of};
pub use tellable::TellableLies;
