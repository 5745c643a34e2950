//! What each event says that somebody did. `docs/EVENTS.md` has the same as a table.

use super::mentions::mentions;
use super::payload::{CheckEvent, IssueKind, Missing, Payload};
use super::understand::{Provided, Subject, shorten};
use journeyman_order::{BranchName, Command, CommitSha, FirstWord, PullNumber, SignalKind, UserId};

/// The events that can mean something, and how each is read. The App has to subscribe to all of them.
pub(super) const READERS: [(&str, Reader); 10] = [
    ("issues", issues),
    ("issue_comment", issue_comment),
    ("pull_request", pull_request),
    ("pull_request_review", review),
    ("pull_request_review_comment", review_comment),
    ("check_suite", check_suite),
    ("check_run", check_run),
    ("workflow_run", workflow_run),
    ("status", status),
    ("push", push),
];

/// The name of our own check run.
const OUR_CHECK: &str = "journeyman";

/// What somebody did, before it is known where.
pub(super) struct Meaning {
    pub(super) subject: Subject,
    pub(super) provided: Provided,
    pub(super) kind: SignalKind,
}

/// Why there is no signal.
pub(super) enum Nothing {
    Ignored(String),
    Missing(Missing),
}

impl From<Missing> for Nothing {
    fn from(missing: Missing) -> Self {
        Self::Missing(missing)
    }
}

pub(super) type Reading = Result<Meaning, Nothing>;
type Reader = fn(&Payload) -> Reading;

fn issues(payload: &Payload) -> Reading {
    let issue = payload.issue_kind();
    if issue == IssueKind::Pull {
        return ignore("it is about a pull request, not an issue");
    }
    let kind = match payload.action() {
        Some("labeled") if issue == IssueKind::Closed => return ignore("the issue is closed"),
        Some("labeled") => SignalKind::Labeled { label: payload.label()? },
        Some("unlabeled") => SignalKind::Unlabeled { label: payload.label()? },
        Some("edited") if !payload.changed_its_words() => {
            return ignore("neither the issue's title nor its text was changed");
        }
        Some("edited") => SignalKind::IssueEdited,
        Some("closed") => SignalKind::IssueClosed,
        Some("transferred") => SignalKind::IssueTransferred,
        Some("deleted") => SignalKind::IssueDeleted,
        Some("locked") => SignalKind::IssueLocked,
        other => return other_action("issues", other),
    };
    always(Subject::Issue(payload.issue()?), kind)
}

fn issue_comment(payload: &Payload) -> Reading {
    match payload.action() {
        // An edit commands nothing: it would run again with every typing error that is mended.
        Some("created") => {}
        other => return other_action("issue_comment", other),
    }
    if !is_the_senders_own(payload, payload.comment_author()) {
        return ignore("the comment is not the sender's own");
    }
    let issue = payload.issue()?;
    let pull = match payload.issue_kind() {
        IssueKind::Pull => Some(PullNumber(issue.number.0)),
        IssueKind::Open | IssueKind::Closed => None,
    };
    let subject = pull.map_or(Subject::Issue(issue), Subject::Pull);
    let text = payload.comment()?;
    match (FirstWord::of(text), pull) {
        (FirstWord::Command(command), _) => {
            let comment = Some(payload.comment_id()?);
            always(subject, SignalKind::Commanded { comment, pull, command })
        }
        (FirstWord::Unknown(word), _) => {
            always(subject, SignalKind::Misspoken { comment: payload.comment_id()?, pull, word })
        }
        (FirstWord::None, Some(pull)) => {
            let names = mentions(text);
            if names.is_empty() {
                return ignore("the comment neither begins with a command nor names anybody");
            }
            let kind = SignalKind::Remarked { pull, comment: payload.comment_id()? };
            Ok(Meaning { subject, provided: Provided::Named(names), kind })
        }
        (FirstWord::None, None) => ignore("the comment does not begin with a command"),
    }
}

fn pull_request(payload: &Payload) -> Reading {
    let kind = match payload.action() {
        Some("closed") => SignalKind::PullClosed { pull: payload.pull()?, merged: payload.merged() },
        Some("reopened") => SignalKind::PullReopened { pull: payload.pull()? },
        Some("synchronize") => SignalKind::PullPushed { pull: payload.pull()?, head: payload.pull_head()? },
        other => return other_action("pull_request", other),
    };
    always(Subject::Pull(payload.pull()?), kind)
}

fn review(payload: &Payload) -> Reading {
    match payload.action() {
        Some("submitted") => {}
        other => return other_action("pull_request_review", other),
    }
    if !is_the_senders_own(payload, payload.review_author()) {
        return ignore("the review is not the sender's own");
    }
    let Some(verdict) = payload.review_verdict()? else {
        return ignore("the review came to nothing");
    };
    let pull = payload.pull()?;
    always(Subject::Pull(pull), SignalKind::Reviewed { pull, review: payload.review()?, verdict })
}

fn review_comment(payload: &Payload) -> Reading {
    match payload.action() {
        Some("created") => {}
        other => return other_action("pull_request_review_comment", other),
    }
    if !is_the_senders_own(payload, payload.comment_author()) {
        return ignore("the comment is not the sender's own");
    }
    let pull = payload.pull()?;
    always(Subject::Pull(pull), SignalKind::Remarked { pull, comment: payload.comment_id()? })
}

fn check_suite(payload: &Payload) -> Reading {
    match payload.action() {
        Some("completed") => finished(payload, CheckEvent::Suite),
        other => other_action("check_suite", other),
    }
}

fn check_run(payload: &Payload) -> Reading {
    match payload.action() {
        Some("completed") => finished(payload, CheckEvent::Run),
        Some("requested_action") => button(payload),
        Some("rerequested") => rerun(payload),
        other => other_action("check_run", other),
    }
}

fn workflow_run(payload: &Payload) -> Reading {
    match payload.action() {
        Some("completed") => finished(payload, CheckEvent::Workflow),
        other => other_action("workflow_run", other),
    }
}

fn finished(payload: &Payload, event: CheckEvent) -> Reading {
    let check = payload.check(event)?;
    let provided = match check.app {
        Some(app) => Provided::NotOf(app),
        None if event == CheckEvent::Run && check.name == OUR_CHECK => return ignore("the check is our own"),
        None => Provided::Nothing,
    };
    on_our_branches(check.branches, check.head, provided)
}

fn button(payload: &Payload) -> Reading {
    on_our_check(payload, || match payload.requested_action()? {
        "retry" => Ok(Command::Retry { guidance: None }),
        "approve" => Ok(Command::Approve),
        other => Err(Nothing::Ignored(format!("there is no button {:?}", shorten(other)))),
    })
}

/// GitHub's own button beside a check: to run ours again is to try again.
fn rerun(payload: &Payload) -> Reading {
    on_our_check(payload, || Ok(Command::Retry { guidance: None }))
}

fn on_our_check(payload: &Payload, command: impl FnOnce() -> Result<Command, Nothing>) -> Reading {
    let check = payload.check(CheckEvent::Run)?;
    if check.name != OUR_CHECK {
        return ignore("it was asked of another check than ours");
    }
    let command = command()?;
    if check.branches.is_empty() {
        return ignore(NOT_OURS);
    }
    Ok(Meaning {
        subject: Subject::Branches(check.branches),
        provided: check.app.map_or(Provided::Nothing, Provided::Of),
        kind: SignalKind::Commanded { comment: None, pull: None, command },
    })
}

fn status(payload: &Payload) -> Reading {
    match payload.status_state()? {
        "success" | "failure" | "error" => {}
        other => return ignore(&format!("the status is {}: it is not finished", shorten(other))),
    }
    let commit = payload.status_commit()?;
    on_our_branches(payload.branches_at(&commit), commit, Provided::Nothing)
}

fn push(payload: &Payload) -> Reading {
    let Some(branch) = payload.pushed_branch()? else {
        return ignore("the push was not to a branch");
    };
    let Some(head) = payload.pushed_head()? else {
        return ignore("the push deleted the branch");
    };
    let default = payload.default_branch().ok_or(Missing("repository.default_branch"))?;
    if branch != default {
        return ignore("the push was not to the default branch");
    }
    always(Subject::Base, SignalKind::BaseMoved { head })
}

const NOT_OURS: &str = "it is not about a branch of ours";

fn on_our_branches(branches: Vec<BranchName>, head: CommitSha, provided: Provided) -> Reading {
    if branches.is_empty() {
        return ignore(NOT_OURS);
    }
    Ok(Meaning { subject: Subject::Branches(branches), provided, kind: SignalKind::ChecksFinished { head } })
}

/// Whoever is named as the sender has to be whoever wrote it: it is the sender whose rights are asked for.
fn is_the_senders_own(payload: &Payload, author: Option<UserId>) -> bool {
    author.is_none_or(|author| payload.sender().is_ok_and(|sender| sender.person.id == author))
}

fn always(subject: Subject, kind: SignalKind) -> Reading {
    Ok(Meaning { subject, provided: Provided::Nothing, kind })
}

fn ignore(because: &str) -> Reading {
    Err(Nothing::Ignored(because.to_owned()))
}

fn other_action(event: &str, action: Option<&str>) -> Reading {
    ignore(&match action {
        Some(action) => format!("we do not answer {event}.{}", shorten(action)),
        None => format!("{event} without an action"),
    })
}
