//! Commits a code artifact to the agent's repository, as if the agent had committed and pushed it. From there on it is
//! judged like any other work.

use std::collections::BTreeSet;

use super::{EffectContext, EffectResult, never, soon};
use crate::job::{readable, writable};
use journeyman_order::artifact::CodeArtifact;
use journeyman_order::{BranchName, CommitSha, EffectError, EffectOutcome, JournalEvent, Move, MoveKey};
use journeyman_workspace::{NewFiles, OriginState, Workspaces};

const LONGEST_SUBJECT: usize = 72;

impl EffectContext {
    pub(super) async fn write_artifact(
        &self,
        answer: &MoveKey,
        branch: &BranchName,
        id: &str,
    ) -> EffectResult {
        let artifact = self.artifact_of(answer).ok_or_else(|| {
            never(format!("the answer of {answer} holds no code artifact, so nothing can be written"))
        })?;
        let start = self.start_of(answer);
        // The branch is created with the files, unless the work starts on it.
        let seen = self.ready_workspace(start.map(|_| branch), start).await?;
        let paths: Vec<&str> = artifact.files.iter().map(|file| file.file_path.as_str()).collect();
        let program = Workspaces::origin_state_command(&self.seen_dirs(), branch, &self.base()?, &paths);
        let mounts = self.origin_mounts(readable);
        let said = self.in_place(&seen.place, program, mounts, Vec::new()).await?;
        let standing = OriginState::read(&said)
            .ok_or_else(|| soon("the agent's origin does not say where the branch is"))?;
        let restored = self.restored(answer, branch, id, &paths).await?;
        let is_executable = |path: &str| standing.executable.contains(path);
        let files: Vec<(&str, &str, bool)> = artifact
            .files
            .iter()
            .map(|file| (file.file_path.as_str(), file.content.as_str(), is_executable(&file.file_path)))
            .collect();
        let message = message(&self.opened().issue.title, id, &artifact);
        let parent = &standing.parent;
        let new = NewFiles {
            parent,
            message: &message,
            date: self.journal.begun_at(&self.key).unwrap_or(self.journal.opened_at()),
            files: &files,
            restored: &restored,
        };
        let program = Workspaces::write_command(&self.seen_dirs(), branch, parent);
        let mounts = self.origin_mounts(writable);
        self.in_place(&seen.place, program, mounts, new.stream()).await?;
        Ok(EffectOutcome::ArtifactWritten)
    }

    /// An artifact is the whole change, so files that only an earlier answer had are restored.
    async fn restored(
        &self,
        answer: &MoveKey,
        branch: &BranchName,
        id: &str,
        paths: &[&str],
    ) -> Result<Vec<(String, Option<(u32, String)>)>, EffectError> {
        let mut gone = BTreeSet::new();
        for entry in self.journal.entries() {
            if let JournalEvent::Intended { r#move, .. } = &entry.event
                && let Move::WriteArtifact { answer: earlier, branch: there, artifact } = &**r#move
                && (earlier != answer && there == branch && artifact == id)
                && self.start_of(earlier) == self.start_of(answer)
            {
                let files = self.artifact_of(earlier).map(|artifact| artifact.files).unwrap_or_default();
                gone.extend(files.into_iter().map(|file| file.file_path));
            }
        }
        gone.retain(|path| !paths.contains(&path.as_str()));
        let base = self.start_of(answer).map_or_else(|| self.base(), |start| Ok(start.clone()))?;
        self.git(move |workspaces, repository| {
            gone.into_iter()
                .map(|path| workspaces.entry(repository, &base, &path).map(|before| (path, before)))
                .collect()
        })
        .await
    }

    fn artifact_of(&self, answer: &MoveKey) -> Option<CodeArtifact> {
        CodeArtifact::parse(self.answer_of(answer)?).ok()
    }

    pub(super) fn start_of(&self, run: &MoveKey) -> Option<&CommitSha> {
        self.journal
            .intended(run)
            .rev()
            .find_map(|intended| if let Move::RunAgent(task) = intended { task.start.as_ref() } else { None })
    }

    pub(super) fn answer_of(&self, run: &MoveKey) -> Option<&str> {
        self.journal.observed(run).rev().find_map(|outcome| {
            if let EffectOutcome::AgentRan(run) = outcome { run.result.as_deref() } else { None }
        })
    }
}

/// Says what the issue asks for and what the files are for. The airlock examines it like an agent's own message.
fn message(title: &str, id: &str, artifact: &CodeArtifact) -> String {
    let subject: String = title.lines().next().unwrap_or_default().chars().take(LONGEST_SUBJECT).collect();
    let files: Vec<String> = artifact
        .files
        .iter()
        .map(|file| match file.description.trim() {
            "" => format!("- {}", file.file_path),
            description => format!("- {}: {description}", file.file_path),
        })
        .collect();
    format!("{}\n\n{}\n\nCode artifact {id}.\n", subject.trim(), files.join("\n"))
}
