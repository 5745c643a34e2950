//! Reads from each event what someone did. `docs/EVENTS.md` has the same as a table.

use super::meaning::{SignalCondition, SignalSubject};
use super::mentions::mentions;
use super::payload::{NoSignal, WebhookIssueKind, WebhookPayload, shorten};
use journeyman_order::{
    BranchName, CommentCommand, CommitSha, OrderRequest, PullNumber, SignalKind, SlashCommand, UserId,
};

/// The events that can mean something, each with its reader. The App must subscribe to all of them.
pub(super) const READERS: [(&str, WebhookEventReader); 11] = [
    ("issues", issues),
    ("issue_comment", issue_comment),
    ("pull_request", pull_request),
    ("pull_request_review", review),
    ("pull_request_review_comment", review_comment),
    ("check_suite", |payload| finished(payload, "check_suite")),
    ("check_run", check_run),
    ("workflow_run", |payload| finished(payload, "workflow_run")),
    ("status", status),
    ("push", push),
    ("merge_group", merge_group),
];

/// The name of our own check run.
pub(super) const OUR_CHECK: &str = "journeyman";

/// An action, before its repository is known.
pub(super) struct UnroutedSignal {
    pub(super) subject: SignalSubject,
    pub(super) condition: SignalCondition,
    pub(super) kind: SignalKind,
    /// The signal if the condition is not met.
    pub(super) otherwise: Option<SignalKind>,
}

pub(super) type WebhookEventResult = Result<UnroutedSignal, NoSignal>;
type WebhookEventReader = fn(&WebhookPayload) -> WebhookEventResult;

fn issues(payload: &WebhookPayload) -> WebhookEventResult {
    let issue = payload.issue_kind();
    if issue == WebhookIssueKind::Pull {
        return ignore("it is about a pull request, not an issue");
    }
    let kind = match payload.action() {
        Some("labeled") if issue == WebhookIssueKind::Closed => return ignore("the issue is closed"),
        Some("labeled") => {
            let label = payload.required_text("/label/name")?.to_owned();
            SignalKind::Labeled { label, pull: None, at: payload.issue_changed_at() }
        }
        Some("unlabeled") => {
            SignalKind::Unlabeled { label: payload.required_text("/label/name")?.to_owned() }
        }
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
    always(SignalSubject::Issue(payload.issue()?), kind)
}

fn issue_comment(payload: &WebhookPayload) -> WebhookEventResult {
    match payload.action() {
        // Edits command nothing: each corrected typo would run the command again.
        Some("created") => {}
        other => return other_action("issue_comment", other),
    }
    if !is_the_senders_own(payload, "/comment/user/id") {
        return ignore("the comment is not the sender's own");
    }
    let issue = payload.issue()?;
    let pull = match payload.issue_kind() {
        WebhookIssueKind::Pull => Some(PullNumber(issue.number.0)),
        WebhookIssueKind::Open | WebhookIssueKind::Closed => None,
    };
    let subject = pull.map_or(SignalSubject::Issue(issue), SignalSubject::Pull);
    let text = payload.required_text("/comment/body")?;
    let is_closed = payload.issue_kind() == WebhookIssueKind::Closed;
    match (CommentCommand::of(text), pull) {
        (CommentCommand::Command(SlashCommand::Start { .. }), None) if is_closed => {
            ignore("the issue is closed")
        }
        (CommentCommand::Command(command), _) => {
            let comment = Some(payload.comment_id()?);
            always(subject, SignalKind::Commanded { comment, pull, command })
        }
        (CommentCommand::Unknown(word), _) => {
            always(subject, SignalKind::Misspoken { comment: payload.comment_id()?, pull, word })
        }
        (CommentCommand::None, Some(pull)) => {
            let names = mentions(text);
            if names.is_empty() {
                return ignore("the comment neither begins with a command nor names anybody");
            }
            let kind = SignalKind::Remarked { pull, comment: payload.comment_id()? };
            Ok(UnroutedSignal { subject, condition: SignalCondition::Named(names), kind, otherwise: None })
        }
        (CommentCommand::None, None) => {
            let comment = payload.comment_id()?;
            let author = payload.number("/issue/user/id").map(UserId);
            let by_author = payload.sender().is_ok_and(|sender| Some(sender.person.id) == author);
            let news = SignalKind::IssueCommented { comment, by_author };
            let names = mentions(text);
            if names.is_empty() {
                return always(subject, news);
            }
            if is_closed {
                return ignore("the issue is closed");
            }
            // The text addressed to us is extracted once our own name is known.
            let request = OrderRequest { advice: Some(text.to_owned()), ..OrderRequest::default() };
            let command = SlashCommand::Start { request };
            let kind = SignalKind::Commanded { comment: Some(comment), pull: None, command };
            let condition = SignalCondition::Named(names);
            Ok(UnroutedSignal { subject, condition, kind, otherwise: Some(news) })
        }
    }
}

fn pull_request(payload: &WebhookPayload) -> WebhookEventResult {
    let kind = match payload.action() {
        Some("closed") => SignalKind::PullClosed { pull: payload.pull()?, merged: payload.merged() },
        Some("reopened") => SignalKind::PullReopened { pull: payload.pull()? },
        Some("opened") if payload.is_draft() => return ignore("the pull request is a draft"),
        Some("opened" | "ready_for_review") => SignalKind::PullOpened { pull: payload.pull()? },
        Some("labeled") => {
            let label = payload.required_text("/label/name")?.to_owned();
            SignalKind::Labeled { label, pull: None, at: payload.pull_changed_at() }
        }
        Some("synchronize") => {
            let head = payload.required_sha("/pull_request/head/sha");
            SignalKind::PullPushed { pull: payload.pull()?, head: head? }
        }
        other => return other_action("pull_request", other),
    };
    always(SignalSubject::Pull(payload.pull()?), kind)
}

fn review(payload: &WebhookPayload) -> WebhookEventResult {
    match payload.action() {
        Some("submitted") => {}
        other => return other_action("pull_request_review", other),
    }
    if !is_the_senders_own(payload, "/review/user/id") {
        return ignore("the review is not the sender's own");
    }
    let Some(verdict) = payload.review_verdict()? else {
        return ignore("the review came to nothing");
    };
    let pull = payload.pull()?;
    let review = payload.required_number("/review/id")?;
    always(SignalSubject::Pull(pull), SignalKind::Reviewed { pull, review, verdict })
}

fn review_comment(payload: &WebhookPayload) -> WebhookEventResult {
    match payload.action() {
        Some("created") => {}
        other => return other_action("pull_request_review_comment", other),
    }
    if !is_the_senders_own(payload, "/comment/user/id") {
        return ignore("the comment is not the sender's own");
    }
    let pull = payload.pull()?;
    always(SignalSubject::Pull(pull), SignalKind::Remarked { pull, comment: payload.comment_id()? })
}

fn check_run(payload: &WebhookPayload) -> WebhookEventResult {
    match payload.action() {
        Some("requested_action") => button(payload),
        Some("rerequested") => rerun(payload),
        _ => finished(payload, "check_run"),
    }
}

fn finished(payload: &WebhookPayload, event: &str) -> WebhookEventResult {
    if payload.action() != Some("completed") {
        return other_action(event, payload.action());
    }
    let check = payload.check(event)?;
    let provided = match check.app {
        Some(app) => SignalCondition::NotOf(app),
        None if event == "check_run" && check.name == OUR_CHECK => {
            return ignore("the check is our own");
        }
        None => SignalCondition::Nothing,
    };
    on_our_branches(check.branches, check.head, provided)
}

fn button(payload: &WebhookPayload) -> WebhookEventResult {
    on_our_check(payload, || match payload.required_text("/requested_action/identifier")? {
        "retry" => Ok(SlashCommand::Retry { guidance: None }),
        "approve" => Ok(SlashCommand::Approve),
        other => Err(NoSignal::Ignored(format!("there is no button {:?}", shorten(other)))),
    })
}

/// GitHub's button beside a check. Rerunning ours means a retry, or another verification.
fn rerun(payload: &WebhookPayload) -> WebhookEventResult {
    on_our_check(payload, || Ok(SlashCommand::Retry { guidance: None }))
}

fn on_our_check(
    payload: &WebhookPayload,
    command: impl FnOnce() -> Result<SlashCommand, NoSignal>,
) -> WebhookEventResult {
    let check = payload.check("check_run")?;
    if check.name != OUR_CHECK {
        return ignore("it was asked of another check than ours");
    }
    let command = command()?;
    let subject = match check.order.filter(|_| check.branches.is_empty()) {
        Some(order) => SignalSubject::Order(order),
        None if check.branches.is_empty() => return ignore(NOT_OURS),
        None => SignalSubject::Branches(check.branches),
    };
    Ok(UnroutedSignal {
        subject,
        condition: check.app.map_or(SignalCondition::Nothing, SignalCondition::Of),
        otherwise: None,
        kind: SignalKind::Commanded { comment: None, pull: None, command },
    })
}

fn status(payload: &WebhookPayload) -> WebhookEventResult {
    match payload.required_text("/state")? {
        "success" | "failure" | "error" => {}
        other => return ignore(&format!("the status is {}: it is not finished", shorten(other))),
    }
    let commit = payload.required_sha("/sha")?;
    on_our_branches(payload.branches_at(&commit), commit, SignalCondition::Nothing)
}

fn push(payload: &WebhookPayload) -> WebhookEventResult {
    let Some(branch) = payload.pushed_branch()? else {
        return ignore("the push was not to a branch");
    };
    let Some(head) = payload.pushed_head()? else {
        return ignore("the push deleted the branch");
    };
    let default = payload.default_branch();
    let default = default.ok_or_else(|| NoSignal::missing("/repository/default_branch"))?;
    if branch != default {
        return ignore("the push was not to the default branch");
    }
    always(SignalSubject::Base, SignalKind::BaseMoved { head })
}

fn merge_group(payload: &WebhookPayload) -> WebhookEventResult {
    let kind = match payload.action() {
        Some("checks_requested") => SignalKind::GroupChecksRequested,
        Some("destroyed") => {
            SignalKind::GroupDestroyed { reason: shorten(payload.text("/reason").unwrap_or("destroyed")) }
        }
        other => return other_action("merge_group", other),
    };
    let (head_ref, base_ref) = ("/merge_group/head_ref", "/merge_group/base_ref");
    // `refs/heads/gh-readonly-queue/BASE/pr-NUMBER-SHA`
    let name = payload.required_text(head_ref)?.rsplit_once("/pr-");
    let number = name.and_then(|(_, rest)| rest.split_once('-')?.0.parse::<u32>().ok());
    let pull = number.map(|number| PullNumber(number.into())).ok_or_else(|| NoSignal::missing(head_ref))?;
    let base = payload.branch(base_ref, "refs/heads/").ok_or_else(|| NoSignal::missing(base_ref))?;
    let head = payload.required_sha("/merge_group/head_sha")?;
    always(SignalSubject::MergeGroup { pull, head, base }, kind)
}

const NOT_OURS: &str = "it is not about a branch of ours";

fn on_our_branches(
    branches: Vec<BranchName>,
    head: CommitSha,
    provided: SignalCondition,
) -> WebhookEventResult {
    if branches.is_empty() {
        return ignore(NOT_OURS);
    }
    Ok(UnroutedSignal {
        subject: SignalSubject::Branches(branches),
        condition: provided,
        otherwise: None,
        kind: SignalKind::ChecksFinished { head },
    })
}

/// The sender must be the author, because the sender's rights are checked.
fn is_the_senders_own(payload: &WebhookPayload, author: &str) -> bool {
    let author = payload.number(author).map(UserId);
    author.is_none_or(|author| payload.sender().is_ok_and(|sender| sender.person.id == author))
}

fn always(subject: SignalSubject, kind: SignalKind) -> WebhookEventResult {
    Ok(UnroutedSignal { subject, condition: SignalCondition::Nothing, kind, otherwise: None })
}

fn ignore(because: &str) -> WebhookEventResult {
    Err(NoSignal::Ignored(because.to_owned()))
}

fn other_action(event: &str, action: Option<&str>) -> WebhookEventResult {
    ignore(&match action {
        Some(action) => format!("we do not answer {event}.{}", shorten(action)),
        None => format!("{event} without an action"),
    })
}
