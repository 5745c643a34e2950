//! What a delivery means to an order.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::ids::{CommitSha, Person, PullNumber};
use super::order_request::OrderRequest;

/// The words that command an order, for whoever mistyped one.
pub const COMMANDS: [&str; 8] =
    ["journeyman", "retry", "cancel", "approve", "examine", "status", "plan", "help"];
/// What looks like a command is at most so long; `/usr/bin/env` and the like are none.
const LONGEST_WORD: usize = 24;

/// Something that a person, or GitHub, did and that an order has to answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    pub by: Requester,
    #[serde(flatten)]
    pub kind: SignalKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Requester {
    /// Somebody who put the label on; GitHub is asked whether they may.
    Person(Person),
    /// The holder of our own API token.
    ApiToken,
}

impl std::fmt::Display for Requester {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Person(person) => &person.login,
            Self::ApiToken => "the API",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum SignalKind {
    /// A label was put on the issue. Whether it is *the* label is for whoever knows the settings to say.
    Labeled {
        label: String,
        /// The open pull request of ours for the issue, at a time when no order was at work: the work goes on there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pull: Option<PullNumber>,
        /// When, by GitHub's clock: one event can arrive in two deliveries, from two hooks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<DateTime<Utc>>,
    },
    Unlabeled {
        label: String,
    },
    /// A comment on the issue, or on its pull request, began with a command.
    Commanded {
        /// The comment's numeric id: the same comment can arrive in two deliveries, from two hooks. None when it was
        /// said through the API, or with a button of the check run.
        comment: Option<u64>,
        /// The pull request that it was said on; none on the issue.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pull: Option<PullNumber>,
        command: SlashCommand,
    },
    /// A comment began with what looks like a command and is none of ours.
    Misspoken {
        comment: u64,
        /// The pull request that it was said on; none on the issue.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pull: Option<PullNumber>,
        /// The word, of small letters and hyphens, without its slash.
        word: String,
    },
    /// The issue's title or text was changed. What the order works on is pinned.
    IssueEdited,
    IssueCommented {
        comment: u64,
        #[serde(default)]
        by_author: bool,
    },
    IssueClosed,
    IssueTransferred,
    IssueDeleted,
    IssueLocked,
    PullClosed {
        pull: PullNumber,
        merged: bool,
    },
    PullReopened {
        pull: PullNumber,
    },
    /// Somebody pushed to the pull request's branch. Our own pushes arrive like this, too.
    PullPushed {
        pull: PullNumber,
        head: CommitSha,
    },
    /// Somebody reviewed the pull request. What they wrote is read when it is answered, together with all else.
    Reviewed {
        pull: PullNumber,
        /// The review's numeric id: the same can arrive in two deliveries.
        review: u64,
        verdict: ReviewVerdict,
    },
    /// Somebody wrote a comment on the pull request's diff, or one on the pull request that names us.
    Remarked {
        pull: PullNumber,
        comment: u64,
    },
    /// Checks of others finished on a commit: a check suite, a workflow run, a commit status.
    ChecksFinished {
        head: CommitSha,
    },
    BaseMoved {
        head: CommitSha,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    Approved,
    ChangesRequested,
    Commented,
}

/// What people can say in the first line of a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum SlashCommand {
    /// `/journeyman`, or a mention of us on an issue: an order, or advice to the one that is there.
    Start {
        #[serde(flatten)]
        request: OrderRequest,
    },
    /// `/retry [guidance]`: new rounds, with this advice.
    Retry {
        /// What follows the command: the rest of its line and of the comment.
        guidance: Option<String>,
    },
    /// `/cancel`: stop, keep what is there.
    Cancel,
    /// `/approve`: what waits for a person is accepted as it is: the plan, or work that is not verified.
    Approve,
    /// `/plan [guidance]`: plan again, with this advice.
    Plan {
        guidance: Option<String>,
        /// Whether it counts wherever no code was written. It did not when older journals were written, and only while
        /// the plan waited.
        #[serde(default)]
        until_code: bool,
    },
    /// `/examine drop 2`: the examiner's second statement does not count.
    DropStatement { number: u32 },
    /// `/status`: how does it stand?
    Status,
    /// `/help`: what can be said?
    Help,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommentCommand {
    Command(SlashCommand),
    /// With what looks like a command: small letters and hyphens after a slash.
    Unknown(String),
    None,
}

impl SlashCommand {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Start { .. } => "journeyman",
            Self::Retry { .. } => "retry",
            Self::Cancel => "cancel",
            Self::Approve => "approve",
            Self::Plan { .. } => "plan",
            Self::DropStatement { .. } => "examine",
            Self::Status => "status",
            Self::Help => "help",
        }
    }
}

impl CommentCommand {
    /// How a comment begins. Only its first line counts, and only its very beginning: not a quote, not a code block,
    /// not prose that mentions a command.
    pub fn of(comment: &str) -> Self {
        let Some(rest) = comment.strip_prefix('/') else { return Self::None };
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        let guidance = || Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
        Self::Command(match word {
            "journeyman" => SlashCommand::Start { request: OrderRequest::of(rest) },
            "retry" => SlashCommand::Retry { guidance: guidance() },
            "plan" => SlashCommand::Plan { guidance: guidance(), until_code: true },
            "cancel" => SlashCommand::Cancel,
            "approve" => SlashCommand::Approve,
            "examine" => {
                let number = rest.trim().strip_prefix("drop ").and_then(|number| number.trim().parse().ok());
                let Some(number) = number else { return Self::Unknown(word.to_owned()) };
                SlashCommand::DropStatement { number }
            }
            "status" => SlashCommand::Status,
            "help" => SlashCommand::Help,
            _ => {
                let looks_like_one = (2..=LONGEST_WORD).contains(&word.len())
                    && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
                    && word.starts_with(|c: char| c.is_ascii_lowercase());
                return if looks_like_one { Self::Unknown(word.to_owned()) } else { Self::None };
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_stands_at_the_very_beginning() {
        let retry = |guidance: &str| {
            CommentCommand::Command(SlashCommand::Retry { guidance: Some(guidance.to_owned()) })
        };
        let says = CommentCommand::Command;
        let unknown = |word: &str| CommentCommand::Unknown(word.to_owned());
        for (comment, begins) in [
            ("/retry", says(SlashCommand::Retry { guidance: None })),
            ("/retry look at parse()\nand at the tests", retry("look at parse()\nand at the tests")),
            ("/retry\r\nuse a checked sum", retry("use a checked sum")),
            ("/journeyman", says(SlashCommand::Start { request: OrderRequest::default() })),
            (
                "/journeyman\nuse a checked sum",
                says(SlashCommand::Start {
                    request: OrderRequest {
                        advice: Some("use a checked sum".to_owned()),
                        ..OrderRequest::default()
                    },
                }),
            ),
            ("/cancel", says(SlashCommand::Cancel)),
            ("/cancel please", says(SlashCommand::Cancel)),
            ("/approve", says(SlashCommand::Approve)),
            ("/examine drop 2", says(SlashCommand::DropStatement { number: 2 })),
            ("/examine", unknown("examine")),
            ("/examine drop it", unknown("examine")),
            ("/status", says(SlashCommand::Status)),
            ("/help me", says(SlashCommand::Help)),
            ("/plan", says(SlashCommand::Plan { guidance: None, until_code: true })),
            (
                "/plan in two steps",
                says(SlashCommand::Plan { guidance: Some("in two steps".to_owned()), until_code: true }),
            ),
            ("> /cancel", CommentCommand::None),
            ("```\n/cancel\n```", CommentCommand::None),
            ("    /cancel", CommentCommand::None),
            ("you could say /cancel", CommentCommand::None),
            ("/cancelled", unknown("cancelled")),
            ("/unknown", unknown("unknown")),
            ("/usr/bin/env", CommentCommand::None),
            ("/Retry", CommentCommand::None),
            ("/-", CommentCommand::None),
            ("//", CommentCommand::None),
            ("", CommentCommand::None),
        ] {
            assert_eq!(CommentCommand::of(comment), begins, "{comment:?}");
        }
    }
}
