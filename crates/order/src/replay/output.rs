//! Checks a worker's answer against the form that its stage requires.

use super::escalation::WorkerOutcome;
use super::graph::{StageFields, named};
use super::judge::RoundEnd;
use super::worker::Worker;
use super::{Replay, Suspension};
use crate::agent_run::AgentRun;
use crate::answer;
use crate::artifact::{self, ArtifactRules, CodeArtifact, CodeFileType};
use crate::bounds::{LARGEST_SOURCE, LONGEST_DOCUMENT};
use crate::moves::{AgentAnswerFormat, AgentTask, EffectOutcome, Move, MoveKey};
use crate::pipeline::{Check, StageOutput};

#[expect(clippy::wildcard_enum_match_arm, reason = "only runs of agents are looked at")]
impl Replay<'_> {
    pub(crate) fn judge_output(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        run: &AgentRun,
    ) -> Result<StageFields, RoundEnd> {
        let stage = worker.stage;
        let fields = |value: &str| Ok(vec![("result".to_owned(), value.to_owned())]);
        let result = run.result.as_deref().unwrap_or_default().trim();
        let required = stage.agent.as_deref().and_then(|role| self.journal.role(role));
        let required = required.map(|role| role.required_fields.clone()).unwrap_or_default();
        let output = self.output(stage);
        let invalid = |fault| RoundEnd::invalid_output(run.fault_of(result, fault));
        // A stage's answer goes into the prompts of all later stages.
        if result.len() > LARGEST_SOURCE && output != StageOutput::CodeArtifact {
            let said = format!("the answer has {} bytes, at most {LARGEST_SOURCE} are read", result.len());
            return Err(RoundEnd::invalid(said));
        }
        match &output {
            // The push counts, not what is said about it.
            StageOutput::Text if result.is_empty() && !stage.checks.contains(&Check::PushedCommit) => {
                Err(no_result(run))
            }
            StageOutput::Text => fields(result),
            // A choice is a word or two. A longer answer would be read again at every step of the order.
            StageOutput::OneOf(_) if result.len() > LONGEST_DOCUMENT => {
                Err(RoundEnd::invalid("the answer is far too long for one word of a list"))
            }
            StageOutput::OneOf(choices)
                if says_none(result) && !choices.iter().any(|choice| says_none(choice)) =>
            {
                self.ask_which(worker, round, choices)
            }
            StageOutput::OneOf(choices) => {
                let mut named = choices.iter().filter(|choice| mentions(result, choice));
                match (named.next(), named.next()) {
                    (Some(choice), None) => fields(choice),
                    (None, _) if result.is_empty() => Err(no_result(run)),
                    (Some(_), Some(_)) | (None, _) => Err(RoundEnd::advised(
                        format!("the answer is not exactly one of {}", choices.join(", ")),
                        format!("Answer with one of {} and nothing else.", choices.join(", ")),
                    )),
                }
            }
            StageOutput::File(glob) => self.judge_file(glob, worker, round),
            StageOutput::JsonSchema(schema) => {
                let value = answer::fitting(result, schema, &required).map_err(invalid)?;
                Ok(json_fields(&value))
            }
            StageOutput::CodeArtifact => {
                let artifact = CodeArtifact::parse(result).map_err(invalid)?;
                match self.artifact_rules(worker, round).fault(&artifact) {
                    None => Ok(artifact_fields(&artifact)),
                    Some(feedback) => Err(RoundEnd::invalid_output(feedback)),
                }
            }
        }
    }

    /// The rules for a round's artifact, as its task stated them.
    fn artifact_rules(&self, worker: &Worker<'_>, round: u32) -> ArtifactRules {
        let key = worker.key(round, "agent");
        let written = self.prefix.intended(&key).find_map(|(_, intended)| match intended {
            Move::RunAgent(task) => task.artifact.as_deref().cloned(),
            _ => None,
        });
        written.unwrap_or_else(|| ArtifactRules::unwritten(&worker.task.inputs))
    }

    /// Adds the artifact's rules to a task. The id of the first readable artifact is kept.
    pub(crate) fn hold_artifact(&self, task: &mut AgentTask, id: &mut Option<String>) {
        if task.answers != AgentAnswerFormat::CodeArtifact {
            return;
        }
        if id.is_none() {
            let before = task.previous.as_ref().and_then(|key| match self.seen(key)? {
                EffectOutcome::AgentRan(run) => CodeArtifact::parse(run.result.as_deref()?).ok(),
                _ => None,
            });
            *id = before.map(|artifact| artifact.artifact_id);
        }
        if let Some(id) = id {
            task.schema = Some(artifact::schema_keeping(id));
        }
        task.artifact = Some(Box::new(ArtifactRules::of(&task.inputs, id.clone())));
    }

    /// The one file that the worker wrote. If there are several, the agent chooses.
    fn judge_file(&mut self, glob: &str, worker: &Worker<'_>, round: u32) -> Result<StageFields, RoundEnd> {
        let found = |file: &str, content: String| {
            Ok(named([("result", content.clone()), ("file", file.to_owned()), ("content", content)]))
        };
        let (files, content) = self.find_files(&worker.key(round, "files"), glob)?;
        if let (Some(file), Some(content), 1) = (files.first(), content, files.len()) {
            return found(file, content);
        }
        if files.is_empty() {
            return Err(RoundEnd::advised(
                format!("no file {glob} was written"),
                format!("Write the file so that its path matches {glob}."),
            ));
        }
        let asked = worker.asks(
            "find_plan_file",
            format!("{}/{round}/find", worker.prefix),
            "find_plan_file",
            vec![files.join("\n")],
        );
        let chosen = self.rounds(&asked, |_, _, run| {
            let answer = run.and_then(|run| run.result.as_deref()).unwrap_or_default();
            let mut named = files.iter().filter(|file| mentions(answer, file));
            match (named.next(), named.next()) {
                (Some(file), None) => Ok(file.clone()),
                (Some(_) | None, _) => Err(RoundEnd::advised(
                    "the answer is not exactly one of the files",
                    "Answer with one path of the list and nothing else.",
                )),
            }
        })?;
        match chosen {
            WorkerOutcome::Passed(file) => {
                let exact = globset::escape(&file).replace('\\', r"[\]");
                let (_, content) = self.find_files(&worker.key(round, "read"), &exact)?;
                found(&file, content.unwrap_or_default())
            }
            WorkerOutcome::Decided { .. } => {
                Err(RoundEnd::invalid("several files were written, and none was chosen"))
            }
            WorkerOutcome::GivenUp { because, .. } => Err(RoundEnd::invalid(because)),
        }
    }

    fn find_files(&mut self, key: &MoveKey, glob: &str) -> Result<(Vec<String>, Option<String>), Suspension> {
        let seen = self.observe(key, Move::FindFiles { glob: glob.to_owned() })?;
        let EffectOutcome::FilesFound { files, content } = seen.outcome else {
            return Err(self.mismatch(key));
        };
        Ok((files.clone(), content.clone()))
    }
}

/// The whole object and each of its top-level fields. Strings stay as they are, the rest is JSON.
fn json_fields(value: &serde_json::Value) -> StageFields {
    let mut fields = vec![("result".to_owned(), value.to_string())];
    for (name, value) in value.as_object().into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        fields.push((name.clone(), text));
    }
    fields
}

/// What we observe in an artifact. The model's claims about its own tests or attempts are ignored.
fn artifact_fields(artifact: &CodeArtifact) -> StageFields {
    let covered: Vec<&str> = artifact.stories_covered().into_iter().collect();
    named([
        ("result", artifact.artifact_id.clone()),
        ("artifact_id", artifact.artifact_id.clone()),
        ("implementation_files", artifact.paths(CodeFileType::Implementation).join("\n")),
        ("test_files", artifact.paths(CodeFileType::Test).join("\n")),
        ("stories_covered", covered.join("\n")),
    ])
}

/// Whether the answer contains this choice as a separate word.
fn mentions(answer: &str, choice: &str) -> bool {
    answer.split(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | ',' | '*' | '(' | ')')).any(
        |word| word.trim_end_matches(['.', ':', ';', '!']) == choice.trim_end_matches(['.', ':', ';', '!']),
    )
}

/// Whether an answer starts by saying that no choice fits.
fn says_none(answer: &str) -> bool {
    let mut words = answer.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.next().is_some_and(|word| matches!(word.to_lowercase().as_str(), "none" | "neither" | "0"))
}

fn no_result(run: &AgentRun) -> RoundEnd {
    let because = run.failure.as_ref().map_or("the answer is empty", |failure| failure.message.as_str());
    RoundEnd::invalid(format!("the agent gave no answer: {because}"))
}
