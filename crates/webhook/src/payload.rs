//! GitHub's payloads, read field by field: of the published examples every ninth lacks a field that its schema
//! requires, so nothing is required here but what the asker cannot do without.

use chrono::{DateTime, Utc};
use serde_json::Value;

use journeyman_order::bounds::MOST_LISTED;
use journeyman_order::{
    BranchName, CommitSha, InstallationId, IssueNumber, IssueText, Person, PullNumber, RepositoryId,
    RepositoryName, ReviewVerdict, UserId,
};

/// A parsed body. Of keys that are twice there the last counts.
pub(super) struct WebhookPayload(Value);

/// What a payload cannot do without, and does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MissingField(pub(super) &'static str);

pub(super) struct WebhookSender {
    pub(super) person: Person,
    pub(super) kind: WebhookSenderKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WebhookSenderKind {
    Human,
    Bot,
}

/// What an issue says of itself beside its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WebhookIssueKind {
    Open,
    Closed,
    /// GitHub's issues of this kind are pull requests.
    Pull,
}

/// What somebody else found out about a commit.
pub(super) struct WebhookCheckPayload<'a> {
    pub(super) head: CommitSha,
    /// Branches of ours that it is on.
    pub(super) branches: Vec<BranchName>,
    pub(super) app: Option<u64>,
    /// Its name; empty where it has none.
    pub(super) name: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WebhookCheckEvent {
    Suite,
    Run,
    Workflow,
}

impl WebhookCheckEvent {
    /// The event, and the key of its payload.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Suite => "check_suite",
            Self::Run => "check_run",
            Self::Workflow => "workflow_run",
        }
    }
}

impl WebhookPayload {
    /// # Errors
    /// When it is not a JSON object; deeper than 128 levels counts as that.
    pub(super) fn parse(body: &[u8]) -> Result<Self, String> {
        if body.starts_with(b"payload=") {
            return Err("the body is a form: set the webhook's content type to application/json".to_owned());
        }
        match serde_json::from_slice(body) {
            Ok(value @ Value::Object(_)) => Ok(Self(value)),
            Ok(_) => Err("the body is not a JSON object".to_owned()),
            Err(error) => Err(format!("the body is not JSON: {error}")),
        }
    }

    pub(super) fn action(&self) -> Option<&str> {
        self.text("/action")
    }

    pub(super) fn repository(&self) -> Result<(RepositoryName, RepositoryId), MissingField> {
        let name = self.text("/repository/full_name").and_then(|name| name.parse().ok());
        let id = self.number("/repository/id");
        Ok((
            name.ok_or(MissingField("repository.full_name"))?,
            RepositoryId(id.ok_or(MissingField("repository.id"))?),
        ))
    }

    pub(super) fn default_branch(&self) -> Option<String> {
        let branch = self.text("/repository/default_branch")?;
        let fits = (1..=255).contains(&branch.len())
            && !branch.starts_with('-')
            && !branch.chars().any(|c| c.is_control() || c.is_whitespace());
        fits.then(|| branch.to_owned())
    }

    pub(super) fn installation(&self) -> Option<InstallationId> {
        self.number("/installation/id").map(InstallationId)
    }

    pub(super) fn sender(&self) -> Result<WebhookSender, MissingField> {
        let login = self.text("/sender/login").ok_or(MissingField("sender.login"))?;
        let id = self.number("/sender/id").ok_or(MissingField("sender.id"))?;
        let is_bot = self.text("/sender/type") == Some("Bot") || login.ends_with("[bot]");
        Ok(WebhookSender {
            person: Person { login: login.to_owned(), id: UserId(id) },
            kind: if is_bot { WebhookSenderKind::Bot } else { WebhookSenderKind::Human },
        })
    }

    pub(super) fn issue(&self) -> Result<IssueText, MissingField> {
        let owned = |pointer| self.text(pointer).unwrap_or_default().to_owned();
        Ok(IssueText {
            number: IssueNumber(self.number("/issue/number").ok_or(MissingField("issue.number"))?),
            title: owned("/issue/title"),
            body: owned("/issue/body"),
            url: owned("/issue/html_url"),
            labels: self.issue_labels(),
        })
    }

    fn issue_labels(&self) -> Vec<String> {
        let labels = self.0.pointer("/issue/labels").and_then(serde_json::Value::as_array);
        let names = labels.into_iter().flatten().filter_map(|label| label.get("name")?.as_str());
        names.take(MOST_LISTED).map(str::to_owned).collect()
    }

    pub(super) fn issue_kind(&self) -> WebhookIssueKind {
        if self.0.pointer("/issue/pull_request").is_some_and(|pull| !pull.is_null()) {
            WebhookIssueKind::Pull
        } else if self.text("/issue/state") == Some("closed") {
            WebhookIssueKind::Closed
        } else {
            WebhookIssueKind::Open
        }
    }

    /// When the issue was changed last, which is what the delivery tells of.
    pub(super) fn issue_changed_at(&self) -> Option<DateTime<Utc>> {
        self.text("/issue/updated_at")?.parse().ok()
    }

    pub(super) fn label(&self) -> Result<String, MissingField> {
        self.text("/label/name").map(str::to_owned).ok_or(MissingField("label.name"))
    }

    /// Whether an edit changed what an issue says, and not only something that we do not read: GitHub names what was
    /// there before.
    pub(super) fn changed_its_words(&self) -> bool {
        ["title", "body"].iter().any(|field| {
            let was = self.0.pointer(&format!("/changes/{field}/from"));
            // A body that was empty is null there, and here.
            let is = self.0.pointer(&format!("/issue/{field}"));
            let empty = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
            was.is_some() && empty(was) != empty(is)
        })
    }

    pub(super) fn comment(&self) -> Result<&str, MissingField> {
        self.text("/comment/body").ok_or(MissingField("comment.body"))
    }

    pub(super) fn comment_id(&self) -> Result<u64, MissingField> {
        self.number("/comment/id").ok_or(MissingField("comment.id"))
    }

    pub(super) fn issue_author(&self) -> Option<UserId> {
        self.number("/issue/user/id").map(UserId)
    }

    pub(super) fn comment_author(&self) -> Option<UserId> {
        self.number("/comment/user/id").map(UserId)
    }

    pub(super) fn review(&self) -> Result<u64, MissingField> {
        self.number("/review/id").ok_or(MissingField("review.id"))
    }

    pub(super) fn review_author(&self) -> Option<UserId> {
        self.number("/review/user/id").map(UserId)
    }

    /// None where the review is in a state that came to nothing, such as dismissed. Deliveries write it in small
    /// letters, the REST API in capitals.
    pub(super) fn review_verdict(&self) -> Result<Option<ReviewVerdict>, MissingField> {
        let state = self.text("/review/state").ok_or(MissingField("review.state"))?;
        Ok(match state.to_ascii_lowercase().as_str() {
            "approved" => Some(ReviewVerdict::Approved),
            "changes_requested" => Some(ReviewVerdict::ChangesRequested),
            "commented" => Some(ReviewVerdict::Commented),
            _ => None,
        })
    }

    pub(super) fn pull(&self) -> Result<PullNumber, MissingField> {
        let number = self.number("/pull_request/number").or_else(|| self.number("/number"));
        number.map(PullNumber).ok_or(MissingField("pull_request.number"))
    }

    pub(super) fn merged(&self) -> bool {
        self.0.pointer("/pull_request/merged").and_then(Value::as_bool).unwrap_or(false)
    }

    pub(super) fn pull_head(&self) -> Result<CommitSha, MissingField> {
        self.sha("/pull_request/head/sha").ok_or(MissingField("pull_request.head.sha"))
    }

    /// The commit that a merged pull request became on its base.
    pub(super) fn merge_commit(&self) -> Option<CommitSha> {
        self.sha("/pull_request/merge_commit_sha")
    }

    pub(super) fn pull_base(&self) -> Option<&str> {
        self.text("/pull_request/base/ref")
    }

    pub(super) fn pull_text(&self) -> &str {
        self.text("/pull_request/body").unwrap_or_default()
    }

    /// What `check_suite`, `check_run` or `workflow_run` is about.
    pub(super) fn check(&self, event: WebhookCheckEvent) -> Result<WebhookCheckPayload<'_>, MissingField> {
        let check =
            self.0.get(event.key()).filter(|check| check.is_object()).ok_or(MissingField(event.key()))?;
        let head = check.get("head_sha").and_then(Value::as_str).and_then(|sha| sha.parse().ok());
        let app = check.pointer("/app/id").and_then(as_number);
        let name = check.get("name").and_then(Value::as_str);
        Ok(WebhookCheckPayload {
            head: head.ok_or(MissingField("head_sha"))?,
            branches: self.branches_of(check),
            app,
            name: name.unwrap_or_default(),
        })
    }

    /// What a check came to, in GitHub's word.
    pub(super) fn check_conclusion(&self, event: WebhookCheckEvent) -> Option<&str> {
        self.0.get(event.key())?.get("conclusion")?.as_str()
    }

    /// The branch that a check is on, whosever it is; none where it is another repository's.
    pub(super) fn check_branch(&self, event: WebhookCheckEvent) -> Option<&str> {
        let check = self.0.get(event.key())?;
        let elsewhere = check.pointer("/head_repository/id").and_then(as_number);
        if elsewhere.is_some_and(|id| Some(id) != self.number("/repository/id")) {
            return None;
        }
        check.get("head_branch").or_else(|| check.pointer("/check_suite/head_branch"))?.as_str()
    }

    /// Our branches that a check is on. A fork can have a branch of any name: it is not that which counts.
    fn branches_of(&self, check: &Value) -> Vec<BranchName> {
        let here = self.number("/repository/id");
        let elsewhere =
            check.pointer("/head_repository/id").and_then(as_number).is_some_and(|id| Some(id) != here);
        if elsewhere {
            return Vec::new();
        }
        let named = check.get("head_branch").or_else(|| check.pointer("/check_suite/head_branch"));
        if let Some(named) = named.and_then(Value::as_str) {
            return named.parse().into_iter().collect();
        }
        let pulls = check.get("pull_requests").and_then(Value::as_array).into_iter().flatten();
        let of_here = pulls.filter(|pull| pull.pointer("/head/repo/id").and_then(as_number) == here);
        unique(of_here.filter_map(|pull| pull.pointer("/head/ref")?.as_str()?.parse().ok()))
    }

    pub(super) fn requested_action(&self) -> Result<&str, MissingField> {
        self.text("/requested_action/identifier").ok_or(MissingField("requested_action.identifier"))
    }

    pub(super) fn status_state(&self) -> Result<&str, MissingField> {
        self.text("/state").ok_or(MissingField("state"))
    }

    pub(super) fn status_commit(&self) -> Result<CommitSha, MissingField> {
        self.sha("/sha").ok_or(MissingField("sha"))
    }

    /// The name under which a service reports; empty where it has none.
    pub(super) fn status_context(&self) -> &str {
        self.text("/context").unwrap_or_default()
    }

    /// Branches that a commit is on of which a service reports, up to ten.
    pub(super) fn status_branches(&self) -> impl Iterator<Item = &str> {
        let branches = self.0.get("branches").and_then(Value::as_array).into_iter().flatten();
        branches.filter_map(|branch| branch.get("name")?.as_str())
    }

    /// Our branches whose head is this commit. GitHub names up to ten branches that contain it, and a commit of the
    /// base is contained in all that began from there.
    pub(super) fn branches_at(&self, commit: &CommitSha) -> Vec<BranchName> {
        let branches = self.0.get("branches").and_then(Value::as_array).into_iter().flatten();
        let at =
            |branch: &&Value| branch.pointer("/commit/sha").and_then(Value::as_str) == Some(commit.as_str());
        unique(branches.filter(at).filter_map(|branch| branch.get("name")?.as_str()?.parse().ok()))
    }

    /// The branch that a push was to; none where it was to something else, a tag.
    pub(super) fn pushed_branch(&self) -> Result<Option<&str>, MissingField> {
        Ok(self.text("/ref").ok_or(MissingField("ref"))?.strip_prefix("refs/heads/"))
    }

    /// Where a push left its branch; none where it deleted it.
    pub(super) fn pushed_head(&self) -> Result<Option<CommitSha>, MissingField> {
        let deleted = self.0.get("deleted").and_then(Value::as_bool).unwrap_or(false);
        let after = self.text("/after").ok_or(MissingField("after"))?;
        if deleted || after.bytes().all(|byte| byte == b'0') {
            return Ok(None);
        }
        after.parse().map(Some).map_err(|_| MissingField("after"))
    }

    /// The commits that a push brought, each with its message.
    pub(super) fn pushed_commits(&self) -> impl Iterator<Item = (CommitSha, &str)> {
        let commits = self.0.get("commits").and_then(Value::as_array).into_iter().flatten();
        commits.filter_map(|commit| {
            let sha = commit.get("id")?.as_str()?.parse().ok()?;
            Some((sha, commit.get("message")?.as_str()?))
        })
    }

    fn sha(&self, pointer: &str) -> Option<CommitSha> {
        self.text(pointer)?.parse().ok()
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.0.pointer(pointer)?.as_str()
    }

    /// Numbers beyond 2^63 are none of GitHub's, and none that a database keeps.
    fn number(&self, pointer: &str) -> Option<u64> {
        self.0.pointer(pointer).and_then(as_number)
    }
}

fn as_number(value: &Value) -> Option<u64> {
    value.as_u64().filter(|number| i64::try_from(*number).is_ok())
}

fn unique(branches: impl Iterator<Item = BranchName>) -> Vec<BranchName> {
    let mut unique = Vec::new();
    for branch in branches {
        if !unique.contains(&branch) {
            unique.push(branch);
        }
    }
    unique
}

/// Somebody else's word, as far as it is repeated.
pub(super) fn shorten(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}
