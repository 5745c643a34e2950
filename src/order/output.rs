//! What a worker answered, held against the form that its stage asks for.

use super::agent_run::AgentRun;
use super::feedback::{Category, Feedback};
use super::moves::{Move, MoveKey, Outcome};
use super::pipeline::{Check, Output, Stage};
use super::rounds::{Judged, Rounds, Worker};
use super::walk::{Halt, Walk};

impl Walk<'_> {
    /// The result held against the form that the stage asks for.
    pub(super) fn judge_output(
        &mut self,
        stage: &Stage,
        worker: &Worker,
        round: u32,
        run: &AgentRun,
    ) -> Result<Judged<Vec<(&'static str, String)>>, Halt> {
        let result = run.result.as_deref().unwrap_or_default().trim();
        match stage.output.as_ref().unwrap_or(&Output::Text) {
            // What was pushed counts, not what is said about it.
            Output::Text if stage.checks.contains(&Check::PushedCommit) => {
                Ok(Judged::Passed(vec![("result", result.to_owned())]))
            }
            Output::Text if result.is_empty() => Ok(Judged::invalid_output(no_result(run))),
            Output::Text => Ok(Judged::Passed(vec![("result", result.to_owned())])),
            Output::OneOf(choices) => {
                let mut named = choices.iter().filter(|choice| mentions(result, choice));
                Ok(match (named.next(), named.next()) {
                    (Some(choice), None) => Judged::Passed(vec![("result", choice.clone())]),
                    (None, _) if result.is_empty() => Judged::invalid_output(no_result(run)),
                    (Some(_), Some(_)) | (None, _) => Judged::invalid_output(
                        Feedback::failed(
                            Category::InvalidOutput,
                            format!("the answer is not exactly one of {}", choices.join(", ")),
                        )
                        .suggest(format!("Answer with one of {} and nothing else.", choices.join(", "))),
                    ),
                })
            }
            Output::File(glob) => self.judge_file(glob, worker, round),
            Output::JsonSchema(_) | Output::CodeArtifact => {
                Ok(Judged::Passed(vec![("result", result.to_owned())]))
            }
        }
    }

    /// The one file that the worker wrote. When there are several, the agent is asked which.
    fn judge_file(
        &mut self,
        glob: &str,
        worker: &Worker,
        round: u32,
    ) -> Result<Judged<Vec<(&'static str, String)>>, Halt> {
        let (files, content) = self.find_files(&worker.key(round, "files"), glob)?;
        if let (Some(file), Some(content), 1) = (files.first(), content, files.len()) {
            return Ok(Judged::Passed(vec![
                ("result", content.clone()),
                ("file", file.clone()),
                ("content", content),
            ]));
        }
        if files.is_empty() {
            let feedback = Feedback::failed(Category::InvalidOutput, format!("no file {glob} was written"))
                .suggest(format!("Write the file so that its path matches {glob}."));
            return Ok(Judged::invalid_output(feedback));
        }
        let asked = Worker {
            name: "find_plan_file".to_owned(),
            prefix: format!("{}/{round}/find", worker.prefix),
            agent: worker.agent.clone(),
            command: "find_plan_file".to_owned(),
            arguments: vec![files.join("\n")],
            branch: worker.branch.clone(),
        };
        let chosen = self.rounds(&asked, |_, _, run| {
            let answer = run.result.as_deref().unwrap_or_default();
            let mut named = files.iter().filter(|file| mentions(answer, file));
            Ok(match (named.next(), named.next()) {
                (Some(file), None) => Judged::Passed(file.clone()),
                (Some(_) | None, _) => Judged::invalid_output(
                    Feedback::failed(Category::InvalidOutput, "the answer is not exactly one of the files")
                        .suggest("Answer with one path of the list and nothing else."),
                ),
            })
        })?;
        match chosen {
            Rounds::Passed(file) => {
                let exact = file.chars().fold(String::new(), |glob, c| match c {
                    '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!' => glob + "[" + &c.to_string() + "]",
                    c => glob + &c.to_string(),
                });
                let (_, content) = self.find_files(&worker.key(round, "read"), &exact)?;
                let content = content.unwrap_or_default();
                Ok(Judged::Passed(vec![("result", content.clone()), ("file", file), ("content", content)]))
            }
            Rounds::Exhausted { because } => {
                Ok(Judged::invalid_output(Feedback::failed(Category::InvalidOutput, because)))
            }
        }
    }

    fn find_files(&mut self, key: &MoveKey, glob: &str) -> Result<(Vec<String>, Option<String>), Halt> {
        let seen = self.observe(key, |_| Move::FindFiles { glob: glob.to_owned() })?;
        let Outcome::FilesFound { files, content } = seen.outcome else { return Err(self.mismatch(key)) };
        Ok((files.clone(), content.clone()))
    }
}

/// Whether the answer names this choice as a word of its own.
fn mentions(answer: &str, choice: &str) -> bool {
    answer.split(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | ',' | '*' | '(' | ')')).any(
        |word| word.trim_end_matches(['.', ':', ';', '!']) == choice.trim_end_matches(['.', ':', ';', '!']),
    )
}

fn no_result(run: &AgentRun) -> Feedback {
    let because = run.failure.as_ref().map_or("the answer is empty", |failure| failure.message.as_str());
    Feedback::failed(Category::InvalidOutput, format!("the agent gave no answer: {because}"))
}
