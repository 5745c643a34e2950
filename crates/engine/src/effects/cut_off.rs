//! A run that was cut off: the server ended while its agent worked, or between the agent's last word and its record.
//! The sandbox ended with the server. The agent's output is on disk, since it is written as it arrives.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::EffectContext;
use crate::job::blocking;
use journeyman_agent::{AgentProgram, Transcript};
use journeyman_order::moves::AgentTask;
use journeyman_order::{AgentRun, EffectError, Exit, JournalEvent, Move};

pub(super) const GOES_ON: &str = "You were cut off while you worked on this, because the server that runs you was \
    ended. What you had done until then is still there. Look at it first, and go on from there. What was asked of you:";

pub(super) enum CutOffRun {
    /// The agent had finished: it is paid for and only has to be recorded.
    Ended(Box<AgentRun>),
    Session(String),
}

impl EffectContext {
    /// What an earlier start of this run left. `None` if there was none, or if its output is no help.
    pub(super) async fn cut_off(
        &self,
        program: &AgentProgram,
        task: &AgentTask,
        (folder, stream): (&Path, &str),
    ) -> Result<Option<CutOffRun>, EffectError> {
        if !self.was_asked_the_same(task) {
            return Ok(None);
        }
        let mut transcript = program.transcript();
        let stream = folder.join(stream);
        let begun: Vec<DateTime<Utc>> = self.starts().map(|(at, _)| at).collect();
        blocking(move || {
            let ended = read(&stream, &mut transcript)?;
            let took = begun.iter().rev().find_map(|at| (ended - *at).to_std().ok()).unwrap_or_default();
            let is_said = transcript.settled();
            // How it ended is unknown and not needed: the result itself says whether it failed.
            let mut run = transcript.finish(Exit::Code(0), "", if is_said { took } else { Duration::ZERO });
            if is_said {
                run.warnings.push(
                    "the server ended after its last word: this was read from its stream, and what it used is what it \
                     says itself"
                        .to_owned(),
                );
                return Some(CutOffRun::Ended(Box::new(run)));
            }
            run.session_id.map(CutOffRun::Session)
        })
        .await
    }

    /// Whether every start of this try had the same task. The remaining time differs each time.
    fn was_asked_the_same(&self, task: &AgentTask) -> bool {
        let timeout_seconds = task.timeout_seconds;
        let is_same = |earlier: &AgentTask| AgentTask { timeout_seconds, ..earlier.clone() } == *task;
        self.starts().all(|(_, r#move)| matches!(r#move, Move::RunAgent(earlier) if is_same(earlier)))
    }

    /// The starts of this effect since its last outcome.
    pub(super) fn starts(&self) -> impl Iterator<Item = (DateTime<Utc>, &Move)> {
        let entries = self.journal.entries();
        let is_of_this = |entry: &&journeyman_order::JournalEntry| !matches!(&entry.event, JournalEvent::Observed { key, .. } if *key == self.key);
        let first = entries.len() - entries.iter().rev().take_while(is_of_this).count();
        entries.iter().skip(first).filter_map(|entry| match &entry.event {
            JournalEvent::Intended { key, r#move } if *key == self.key => Some((entry.at, &**r#move)),
            JournalEvent::Opened(_)
            | JournalEvent::Signaled { .. }
            | JournalEvent::Intended { .. }
            | JournalEvent::Observed { .. } => None,
        })
    }
}

/// Reads a stream, and returns when it was last written to. `None` if no stream was kept.
fn read(stream: &Path, transcript: &mut Transcript) -> Option<DateTime<Utc>> {
    let mut file = std::fs::File::open(stream).ok()?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => break,
            length => transcript.feed(buffer.get(..length)?),
        }
    }
    Some(file.metadata().ok()?.modified().ok()?.into())
}
