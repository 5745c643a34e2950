//! What a delivery means to an order.

use serde::{Deserialize, Serialize};

use super::ids::PullNumber;
use super::journal::Requester;

/// Something that a person, or GitHub, did and that an order has to answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// Who did it.
    pub by: Requester,
    /// What was done.
    #[serde(flatten)]
    pub kind: SignalKind,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum SignalKind {
    /// A label was put on the issue. Whether it is *the* label is for whoever knows the settings to say.
    Labeled {
        /// The label's name.
        label: String,
    },
    /// A label was taken off the issue.
    Unlabeled {
        /// The label's name.
        label: String,
    },
    /// A comment on the issue, or on its pull request, began with a command.
    Commanded {
        /// The comment's numeric id: the same comment can arrive in two deliveries, from two hooks.
        #[serde(default)]
        comment: Option<u64>,
        /// The command.
        command: Command,
    },
    /// The issue was closed.
    IssueClosed,
    /// The pull request was merged or closed.
    PullClosed {
        /// Which.
        pull: PullNumber,
        /// Merged rather than turned down.
        merged: bool,
    },
}

/// What people can say in the first line of a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// `/retry [guidance]`: new rounds, with this advice.
    Retry {
        /// What follows the command: the rest of its line and of the comment.
        guidance: Option<String>,
    },
    /// `/cancel`: stop, keep what is there.
    Cancel,
    /// `/approve`: what is with a person is accepted as it is, though not verified.
    Approve,
}

impl Command {
    /// The command that a comment begins with. Only its first line counts, and only its very beginning: not a
    /// quote, not a code block, not prose that mentions one.
    pub fn parse(comment: &str) -> Option<Self> {
        let rest = comment.strip_prefix('/')?;
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        match word {
            "retry" => {
                let guidance = rest.trim();
                Some(Self::Retry { guidance: (!guidance.is_empty()).then(|| guidance.to_owned()) })
            }
            "cancel" => Some(Self::Cancel),
            "approve" => Some(Self::Approve),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_stands_at_the_very_beginning() {
        let retry = |guidance: &str| Some(Command::Retry { guidance: Some(guidance.to_owned()) });
        for (comment, command) in [
            ("/retry", Some(Command::Retry { guidance: None })),
            ("/retry look at parse()\nand at the tests", retry("look at parse()\nand at the tests")),
            ("/retry\r\nuse a checked sum", retry("use a checked sum")),
            ("/cancel", Some(Command::Cancel)),
            ("/cancel please", Some(Command::Cancel)),
            ("/approve", Some(Command::Approve)),
            ("> /cancel", None),
            ("```\n/cancel\n```", None),
            ("    /cancel", None),
            ("you could say /cancel", None),
            ("/cancelled", None),
            ("/unknown", None),
            ("", None),
        ] {
            assert_eq!(Command::parse(comment), command, "{comment:?}");
        }
    }
}
