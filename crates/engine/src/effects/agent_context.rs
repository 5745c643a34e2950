//! What an agent gets besides its task, because its runtime has neither tools nor a memory.

use super::{EffectContext, EffectError};
use journeyman_agent::Runtime;
use journeyman_order::moves::{AgentAnswerFormat, AgentTask, AgentTaskWorkspace};
use journeyman_order::{CommitSha, EffectOutcome, JournalEvent, Move, byte_order_mark};
use journeyman_workspace::Outline;

const BUDGET: usize = 24_000;
const CHARACTERS_PER_TOKEN: usize = 4;

const SHORT_QUESTIONS: [&str; 4] = ["classify_issue", "generate_branch", "find_plan_file", "answer_words"];

impl EffectContext {
    pub(super) async fn with_what_it_needs(
        &self,
        mut task: AgentTask,
        runtime: &Runtime,
    ) -> Result<AgentTask, EffectError> {
        if task.session.is_none()
            && let Some(answer) = task.previous.as_ref().and_then(|previous| self.answer_of(previous))
        {
            task.inputs.insert("your previous answer".to_owned(), answer.to_owned());
        }
        if let Some(note) = self.attachments_note(&task, runtime) {
            task.inputs.insert("attachments".to_owned(), note);
        }
        if let (Runtime::Api(_), AgentAnswerFormat::CodeArtifact) = (runtime, task.answers) {
            let commit = self.stands_at(&task)?;
            let (at, named, budget) = (commit.clone(), spoken_of(&task), BUDGET * CHARACTERS_PER_TOKEN);
            let outline = self.git(move |workspaces, of| workspaces.outline(of, &at, &named, budget)).await?;
            task.inputs.insert("the repository's tree".to_owned(), tree(&commit, &outline));
            if !outline.files.is_empty() || !outline.left_out.is_empty() {
                task.inputs.insert("the repository's files".to_owned(), files(&outline));
            }
        }
        Ok(task)
    }

    /// The repository's instructions, from the default branch. Sessions remember them, and short questions need none.
    pub(super) async fn instructions(&self, task: &AgentTask) -> Result<String, EffectError> {
        if task.session.is_some() || SHORT_QUESTIONS.contains(&task.command.as_str()) {
            return Ok(String::new());
        }
        let commit = self.default_commit()?;
        self.git(move |workspaces, repository| {
            let source = workspaces.source_tree(repository, &commit)?;
            let paths: Vec<String> =
                source.paths().filter_map(|path| path.to_str().map(str::to_owned)).collect();
            // A file that cannot be read is no instruction.
            let read = |path: &str| {
                let bytes = workspaces.file(repository, &commit, path).ok()??;
                let text = String::from_utf8(bytes).ok()?;
                Some(byte_order_mark::strip(&text).to_owned())
            };
            Ok(journeyman_agent::instructions(&paths, &read))
        })
        .await
    }

    /// The commit that the work has reached: our latest since it began with this start, or the start itself.
    fn stands_at(&self, task: &AgentTask) -> Result<CommitSha, EffectError> {
        if let AgentTaskWorkspace::Checkout { commit } = &task.place {
            return Ok(commit.clone());
        }
        let mut at = task.start.clone();
        let mut begun = task.start.is_none();
        for entry in self.journal.entries() {
            match &entry.event {
                JournalEvent::Intended { r#move, .. } => {
                    if let Move::RunAgent(run) = &**r#move {
                        begun |= run.start == task.start;
                    }
                }
                JournalEvent::Observed { outcome, .. } => {
                    if let (true, EffectOutcome::Committed { commit, .. }) = (begun, &**outcome) {
                        at = Some(commit.clone());
                    }
                }
                JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
            }
        }
        at.map_or_else(|| self.base(), Ok)
    }
}

fn spoken_of(task: &AgentTask) -> String {
    let mut texts: Vec<&str> =
        task.arguments.iter().chain(task.inputs.values()).map(String::as_str).collect();
    if let Some(rework) = &task.rework {
        for feedback in &rework.feedback {
            texts.push(&feedback.summary);
            for finding in &feedback.issues {
                texts.extend(finding.location.as_deref());
                texts.push(&finding.description);
            }
        }
        texts.extend(rework.test_output.as_deref());
        texts.extend(rework.guidance.as_deref());
        if let Some(diagnosis) = &rework.diagnosis {
            texts.extend([diagnosis.diagnosis.as_str(), diagnosis.guidance.as_str()]);
        }
    }
    texts.join("\n")
}

fn tree(commit: &CommitSha, outline: &Outline) -> String {
    format!(
        "The repository at commit {}: {} files. This map and the files below have at most {BUDGET} tokens together; \
         folders stand in one line where there are too many files.\n\n{}\n",
        commit.short(),
        outline.total,
        outline.paths.join("\n")
    )
}

fn files(outline: &Outline) -> String {
    let mut text = "The files that your task names, each whole.\n".to_owned();
    for (path, content) in &outline.files {
        let end = if content.ends_with('\n') { "" } else { "\n" };
        text.push_str(&format!("\n=== {path} ===\n{content}{end}"));
    }
    if !outline.left_out.is_empty() {
        text.push_str(&format!("\nNamed, and not shown:\n{}\n", outline.left_out.join("\n")));
    }
    text
}
