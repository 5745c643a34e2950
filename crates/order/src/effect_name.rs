//! Names of effects, such as `implement/2/tests`: the only place that composes and parses them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of an effect, such as `implement/2/tests`. Derived from the order's state alone, so that the same
/// effect has the same name whatever the moment of a crash.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct MoveKey(pub String);

impl MoveKey {
    /// The name for a file or an artifact: `implement-2-tests`.
    pub fn file_name(&self) -> String {
        self.0.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
    }

    /// An effect outside the stages: `answer/1/read`.
    pub fn beside(word: ReservedWord, rest: impl fmt::Display) -> Self {
        Self(format!("{}/{rest}", word.word()))
    }

    pub(crate) fn only(word: ReservedWord) -> Self {
        Self(word.word().to_owned())
    }

    /// An effect of a stage, or of an operation within one: `implement/2/tests`.
    pub(crate) fn within(prefix: &str, rest: impl fmt::Display) -> Self {
        Self(format!("{prefix}/{rest}"))
    }

    pub fn scope(&self) -> EffectScope<'_> {
        let first = self.stage();
        ReservedWord::of(first).map_or(EffectScope::Stage(first), EffectScope::Beside)
    }

    /// The first word: a stage's name, or the reserved word that groups the effect.
    pub fn stage(&self) -> &str {
        self.0.split('/').next().unwrap_or_default()
    }

    /// The number after it, of a stage's round or of an answer.
    pub fn number(&self) -> Option<u32> {
        self.0.split('/').nth(1)?.parse().ok()
    }

    /// The common prefix of one round's effects: `implement/2` of `implement/2/tests`. An operation inside the round,
    /// such as `implement/2/message/1/agent`, has its own.
    pub fn round(&self) -> &str {
        self.0.rsplit_once('/').map_or(self.0.as_str(), |(round, _)| round)
    }

    pub fn part(&self) -> EffectPart<'_> {
        match self.0.rsplit('/').next().unwrap_or_default() {
            "agent" => EffectPart::Worker,
            last if last.starts_with("verify-") => EffectPart::Verifier,
            last if last.starts_with("diagnosis-") => EffectPart::Diagnosis,
            last => EffectPart::Other(last),
        }
    }

    /// The role, if several judge the same round: `logic_reviewer` of `review/2/verify-logic_reviewer-1`.
    pub fn verifier_role(&self) -> Option<&str> {
        let asked = self.0.rsplit('/').next()?.strip_prefix("verify-")?;
        asked.rsplit_once('-').map(|(role, _)| role)
    }

    /// Whether both are verifier runs that judge the same round in parallel.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        self.round() == other.round()
            && self.part() == EffectPart::Verifier
            && other.part() == EffectPart::Verifier
            && self.verifier_role() != other.verifier_role()
    }

    /// Whether it is a run of the stage's own worker, such as `implement/2/agent` or `answer/1/2/agent`, but not an
    /// operation like `implement/2/message/1/agent`.
    pub fn is_work_of(&self, stage: &str) -> bool {
        let mut parts = self.0.split('/').rev();
        parts.next() == Some("agent")
            && parts.next_back() == Some(stage)
            && parts.all(|part| part.bytes().all(|b| b.is_ascii_digit()))
    }
}

impl fmt::Display for MoveKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// The first word of effects outside the stages. No stage may use these names: effects would be mixed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReservedWord {
    /// Answers to people and to other apps' checks.
    Answer,
    Authorize,
    Check,
    /// Cleanup after the pull request was closed.
    Closed,
    /// The agent's run for a commit message, which is shown like a stage.
    CommitMessage,
    /// The last update of a pull request whose order has stopped.
    Ended,
    Environment,
    /// The issue, read again.
    IssueText,
    /// Checks before anything is paid for.
    Preflight,
    /// The base branch and its settings.
    Prepare,
    React,
    Say,
    Status,
}

impl ReservedWord {
    const WORDS: [(Self, &'static str); 13] = [
        (Self::Answer, "answer"),
        (Self::Authorize, "authorize"),
        (Self::Check, "check"),
        (Self::Closed, "closed"),
        (Self::CommitMessage, "commit_message"),
        (Self::Ended, "ended"),
        (Self::Environment, "environment"),
        (Self::IssueText, "issue_text"),
        (Self::Preflight, "preflight"),
        (Self::Prepare, "prepare"),
        (Self::React, "react"),
        (Self::Say, "say"),
        (Self::Status, "status"),
    ];

    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(known, _)| *known == self).map_or("", |(_, word)| *word)
    }

    pub fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(reserved, _)| *reserved)
    }
}

/// The owner of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectScope<'k> {
    Stage(&'k str),
    /// Something beside or after the stages.
    Beside(ReservedWord),
}

/// The part of an effect in its round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectPart<'k> {
    Worker,
    Verifier,
    /// A run that diagnoses a stuck stage.
    Diagnosis,
    /// Anything else, by its word.
    Other(&'k str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_made_and_stay_what_journals_hold() {
        let read = MoveKey::beside(ReservedWord::Answer, "1/read");
        assert_eq!(read.to_string(), "answer/1/read");
        assert_eq!((read.scope(), read.number()), (EffectScope::Beside(ReservedWord::Answer), Some(1)));
        let run = MoveKey::within("implement", "2/agent");
        assert_eq!(serde_json::to_string(&run).unwrap(), "\"implement/2/agent\"");
        assert_eq!((run.scope(), run.part()), (EffectScope::Stage("implement"), EffectPart::Worker));
        assert_eq!((run.round(), run.number()), ("implement/2", Some(2)));
        assert!(run.is_work_of("implement") && !run.is_work_of("answer"));
        let message = MoveKey::within("implement/2/message", "1/agent");
        assert!(!message.is_work_of("implement"));
        assert_eq!(MoveKey::within("review", "1/verify-2").part(), EffectPart::Verifier);
        let (logic, security) = ("1/verify-logic_reviewer-1", "1/verify-security-reviewer-2");
        let (logic, security) = (MoveKey::within("review", logic), MoveKey::within("review", security));
        assert_eq!((logic.part(), logic.verifier_role()), (EffectPart::Verifier, Some("logic_reviewer")));
        assert_eq!(security.verifier_role(), Some("security-reviewer"));
        assert_eq!(MoveKey::within("review", "1/verify-2").verifier_role(), None);
        assert!(logic.is_beside(&security) && !logic.is_beside(&logic));
        assert_eq!(MoveKey::within("review", "1/diagnosis-1").part(), EffectPart::Diagnosis);
        assert_eq!(MoveKey::only(ReservedWord::Prepare).stage(), "prepare");
        for (word, _) in ReservedWord::WORDS {
            assert_eq!(ReservedWord::of(word.word()), Some(word));
        }
    }
}
