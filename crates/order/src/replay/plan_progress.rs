//! How far an order is with its plan, as it stood at an entry.

use crate::journal::{Journal, JournalEntry, JournalEvent};
use crate::journal_index::EntryKind;
use crate::moves::Move;
use crate::pipeline::{Check, Pipeline, Stage, StageOutput};

/// How far an order is with its plan.
#[derive(Clone, Copy)]
pub(super) enum PlanProgress {
    /// Its pipeline makes none.
    NoPlan,
    NoCode,
    /// Somebody was asked to write code.
    Code,
}

/// Whether there is a plan to make, and whether somebody was asked for code before this entry.
pub(super) fn plan_progress(pipeline: &Pipeline, journal: &Journal, seq: u64) -> PlanProgress {
    let plans = |stage: &Stage| matches!(stage.output, Some(StageOutput::File(_)));
    let writes = |stage: &Stage| {
        stage.checks.contains(&Check::PushedCommit) || stage.output == Some(StageOutput::CodeArtifact)
    };
    let is_code = |entry: &JournalEntry| match &entry.event {
        JournalEvent::Intended { r#move, .. } => {
            matches!(&**r#move, Move::RunAgent(task) if pipeline.stage(&task.stage).is_some_and(writes))
        }
        JournalEvent::Opened(_) | JournalEvent::Observed { .. } | JournalEvent::Signaled { .. } => false,
    };
    if !pipeline.stages.iter().any(plans) {
        PlanProgress::NoPlan
    } else if journal.whole().before(seq).of_kind(EntryKind::Start).any(is_code) {
        PlanProgress::Code
    } else {
        PlanProgress::NoCode
    }
}
