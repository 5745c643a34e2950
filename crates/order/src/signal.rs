//! What a delivery means to an order.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::ids::{CommitSha, Person, PullNumber};
use super::order_request::OrderRequest;

/// All commands, for suggesting one after a typo.
pub const COMMANDS: [&str; 8] =
    ["journeyman", "retry", "cancel", "approve", "examine", "status", "plan", "help"];
/// Longest word that counts as a command, so that `/usr/bin/env` and the like do not.
const LONGEST_WORD: usize = 24;

/// An action of a person or of GitHub that an order has to answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    pub by: Requester,
    #[serde(flatten)]
    pub kind: SignalKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Requester {
    /// The person who added the label; their access is checked on GitHub.
    Person(Person),
    /// The holder of our API token.
    ApiToken,
    /// Nobody: by its settings, the repository has every such pull request verified.
    Repository,
}

impl std::fmt::Display for Requester {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Person(person) => &person.login,
            Self::ApiToken => "the API",
            Self::Repository => "the repository's settings",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum SignalKind {
    /// A label was added to the issue. The caller knows the settings and decides whether it is *the* label.
    Labeled {
        label: String,
        /// Our open pull request for the issue, if no order was active: the work continues there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pull: Option<PullNumber>,
        /// GitHub's timestamp: two hooks can deliver the same event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<DateTime<Utc>>,
    },
    Unlabeled {
        label: String,
    },
    /// A comment on the issue, or on its pull request, began with a command.
    Commanded {
        /// The comment's numeric id: two hooks can deliver the same comment. `None` if the command came through the API
        /// or a button of the check run.
        comment: Option<u64>,
        /// The pull request with the comment; `None` on the issue.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pull: Option<PullNumber>,
        command: SlashCommand,
    },
    /// A comment began with what looks like a command but is unknown.
    Misspoken {
        comment: u64,
        /// The pull request with the comment; `None` on the issue.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pull: Option<PullNumber>,
        /// The word without its slash, in lower-case letters and hyphens.
        word: String,
    },
    /// The issue's title or text changed. The order's own copy is pinned.
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
    /// Somebody opened a pull request, or ended its draft. No order hears of it; it may begin a verification.
    PullOpened {
        pull: PullNumber,
    },
    /// Somebody pushed to the pull request's branch. Our own pushes arrive here, too.
    PullPushed {
        pull: PullNumber,
        head: CommitSha,
    },
    /// Somebody reviewed the pull request. The text is read when we answer, with everything else.
    Reviewed {
        pull: PullNumber,
        /// The review's numeric id: it can arrive in two deliveries.
        review: u64,
        verdict: ReviewVerdict,
    },
    /// Somebody commented on the pull request's diff, or named us in a comment on the pull request.
    Remarked {
        pull: PullNumber,
        comment: u64,
    },
    /// Other apps' checks finished on a commit: a check suite, a workflow run, a commit status.
    ChecksFinished {
        head: CommitSha,
    },
    BaseMoved {
        head: CommitSha,
    },
    /// GitHub's merge queue asks for the checks of a merge group. No order hears of it; it begins a verification.
    GroupChecksRequested,
    /// The merge group is gone: GitHub merged it, made it anew on another base, or took its pull request out.
    GroupDestroyed {
        /// GitHub's word: `merged`, `invalidated` or `dequeued`.
        reason: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    Approved,
    ChangesRequested,
    Commented,
}

/// Commands in the first line of a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum SlashCommand {
    /// `/journeyman`, or a mention of us on an issue: starts an order, or advises the existing one.
    Start {
        #[serde(flatten)]
        request: OrderRequest,
    },
    /// `/retry [guidance]`: new rounds, with this advice.
    Retry {
        /// The text after the command: the rest of its line and of the comment.
        guidance: Option<String>,
    },
    /// `/cancel`: stop and keep the work so far.
    Cancel,
    /// `/approve`: accept what waits for a person, which is the plan or unverified work.
    Approve,
    /// `/plan [guidance]`: plan again, with this advice.
    Plan {
        guidance: Option<String>,
        /// Always set: without it, an older program takes the command only while the plan waits.
        #[serde(default)]
        until_code: bool,
    },
    /// `/examine drop 2`: the examiner's second statement does not count.
    DropStatement { number: u32 },
    /// `/status`: show the current state.
    Status,
    /// `/help`: list the commands.
    Help,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommentCommand {
    Command(SlashCommand),
    /// Looks like a command: lower-case letters and hyphens after a slash.
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
    /// How a comment begins. Only the very beginning of its first line counts: not a quote, a code block, or prose that
    /// mentions a command.
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
