//! Reads GitHub's payloads field by field. One in nine published examples lacks a field that its schema requires, so
//! each reader requires only the fields that it needs.

use chrono::{DateTime, Utc};
use serde_json::Value;

use journeyman_order::bounds::MOST_LISTED;
use journeyman_order::{
    BranchName, CommitSha, IssueNumber, IssueText, OrderId, Person, PullNumber, RepositoryId, RepositoryName,
    ReviewVerdict, UserId,
};

/// A parsed body. Of duplicate keys, the last one counts.
pub(super) struct WebhookPayload(Value);

/// Why a delivery is no signal.
pub(super) enum NoSignal {
    Ignored(String),
    /// This required field is missing or has the wrong type.
    Missing(String),
}

impl NoSignal {
    /// Turns `/issue/number` into `issue.number`.
    pub(super) fn missing(pointer: &str) -> Self {
        Self::Missing(pointer.trim_start_matches('/').replace('/', "."))
    }
}

pub(super) struct WebhookSender {
    pub(super) person: Person,
    pub(super) is_bot: bool,
}

/// The state of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WebhookIssueKind {
    Open,
    Closed,
    /// GitHub also sends pull requests as issues.
    Pull,
}

/// The result of a check or a workflow for a commit.
pub(super) struct WebhookCheckPayload<'a> {
    pub(super) head: CommitSha,
    /// Our branches that contain it.
    pub(super) branches: Vec<BranchName>,
    pub(super) app: Option<u64>,
    /// Its name, or empty.
    pub(super) name: &'a str,
    /// The order that made it, if it is ours.
    pub(super) order: Option<OrderId>,
}

impl WebhookPayload {
    /// # Errors
    /// If it is not a JSON object, or is nested deeper than 128 levels.
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

    pub(super) fn repository(&self) -> Result<(RepositoryName, RepositoryId), NoSignal> {
        let name = self.text("/repository/full_name").and_then(|name| name.parse().ok());
        let name = name.ok_or_else(|| NoSignal::missing("/repository/full_name"))?;
        Ok((name, RepositoryId(self.required_number("/repository/id")?)))
    }

    pub(super) fn default_branch(&self) -> Option<String> {
        self.branch("/repository/default_branch", "")
    }

    /// The branch that a text names after this prefix.
    pub(super) fn branch(&self, pointer: &str, prefix: &str) -> Option<String> {
        let branch = self.text(pointer)?.strip_prefix(prefix)?;
        let fits = (1..=255).contains(&branch.len())
            && !branch.starts_with('-')
            && !branch.chars().any(|c| c.is_control() || c.is_whitespace());
        fits.then(|| branch.to_owned())
    }

    pub(super) fn sender(&self) -> Result<WebhookSender, NoSignal> {
        let login = self.required_text("/sender/login")?;
        let id = self.required_number("/sender/id")?;
        let is_bot = self.text("/sender/type") == Some("Bot") || login.ends_with("[bot]");
        Ok(WebhookSender { person: Person { login: login.to_owned(), id: UserId(id) }, is_bot })
    }

    pub(super) fn issue(&self) -> Result<IssueText, NoSignal> {
        let owned = |pointer| self.text(pointer).unwrap_or_default().to_owned();
        let labels = self.list("/issue/labels").filter_map(|label| label.get("name")?.as_str());
        Ok(IssueText {
            number: IssueNumber(self.required_number("/issue/number")?),
            title: owned("/issue/title"),
            body: owned("/issue/body"),
            url: owned("/issue/html_url"),
            labels: labels.take(MOST_LISTED).map(str::to_owned).collect(),
        })
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

    /// When the issue last changed, which is what the delivery reports.
    pub(super) fn issue_changed_at(&self) -> Option<DateTime<Utc>> {
        self.text("/issue/updated_at")?.parse().ok()
    }

    pub(super) fn pull_changed_at(&self) -> Option<DateTime<Utc>> {
        self.text("/pull_request/updated_at")?.parse().ok()
    }

    /// Whether an edit changed the issue's title or body. GitHub sends the previous text of changed fields.
    pub(super) fn changed_its_words(&self) -> bool {
        ["title", "body"].iter().any(|field| {
            let was = self.0.pointer(&format!("/changes/{field}/from"));
            // GitHub sends an empty body as null, in both places.
            let is = self.0.pointer(&format!("/issue/{field}"));
            let empty = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
            was.is_some() && empty(was) != empty(is)
        })
    }

    pub(super) fn comment_id(&self) -> Result<u64, NoSignal> {
        self.required_number("/comment/id")
    }

    /// `None` if the review's state has no verdict, such as dismissed. Deliveries write states in lower case, the
    /// REST API in upper case.
    pub(super) fn review_verdict(&self) -> Result<Option<ReviewVerdict>, NoSignal> {
        Ok(match self.required_text("/review/state")?.to_ascii_lowercase().as_str() {
            "approved" => Some(ReviewVerdict::Approved),
            "changes_requested" => Some(ReviewVerdict::ChangesRequested),
            "commented" => Some(ReviewVerdict::Commented),
            _ => None,
        })
    }

    pub(super) fn pull(&self) -> Result<PullNumber, NoSignal> {
        let number = self.required_number("/pull_request/number");
        number.or_else(|missing| self.number("/number").ok_or(missing)).map(PullNumber)
    }

    pub(super) fn merged(&self) -> bool {
        self.0.pointer("/pull_request/merged").and_then(Value::as_bool).unwrap_or(false)
    }

    pub(super) fn is_draft(&self) -> bool {
        self.0.pointer("/pull_request/draft").and_then(Value::as_bool).unwrap_or(false)
    }

    /// The content of a `check_suite`, `check_run` or `workflow_run`.
    pub(super) fn check(&self, event: &str) -> Result<WebhookCheckPayload<'_>, NoSignal> {
        let check = self.0.get(event).filter(|check| check.is_object());
        let check = check.ok_or_else(|| NoSignal::missing(event))?;
        let head = check.get("head_sha").and_then(Value::as_str).and_then(|sha| sha.parse().ok());
        let name = check.get("name").and_then(Value::as_str);
        Ok(WebhookCheckPayload {
            head: head.ok_or_else(|| NoSignal::missing("head_sha"))?,
            branches: self.branches_of(check),
            app: check.pointer("/app/id").and_then(as_number),
            name: name.unwrap_or_default(),
            order: check.get("external_id").and_then(Value::as_str).and_then(|id| id.parse().ok()),
        })
    }

    /// The branch of a check. `None` if it is in another repository.
    pub(super) fn check_branch(&self, event: &str) -> Option<&str> {
        let check = self.0.get(event)?;
        if self.is_elsewhere(check) { None } else { branch_named(check) }
    }

    /// A fork can have a branch of any name, so it does not count.
    fn is_elsewhere(&self, check: &Value) -> bool {
        let head = check.pointer("/head_repository/id").and_then(as_number);
        head.is_some_and(|id| Some(id) != self.number("/repository/id"))
    }

    /// Our branches that a check ran on.
    fn branches_of(&self, check: &Value) -> Vec<BranchName> {
        if self.is_elsewhere(check) {
            return Vec::new();
        }
        if let Some(named) = branch_named(check) {
            return named.parse().into_iter().collect();
        }
        let here = self.number("/repository/id");
        let pulls = check.get("pull_requests").and_then(Value::as_array).into_iter().flatten();
        let of_here = pulls.filter(|pull| pull.pointer("/head/repo/id").and_then(as_number) == here);
        unique(of_here.filter_map(|pull| pull.pointer("/head/ref")?.as_str()?.parse().ok()))
    }

    /// Branches that contain the reported commit, at most ten.
    pub(super) fn status_branches(&self) -> impl Iterator<Item = &str> {
        self.list("/branches").filter_map(|branch| branch.get("name")?.as_str())
    }

    /// Our branches whose head is this commit. GitHub lists up to ten branches that contain it, and a commit of the
    /// base is in every branch that started there.
    pub(super) fn branches_at(&self, commit: &CommitSha) -> Vec<BranchName> {
        let at =
            |branch: &&Value| branch.pointer("/commit/sha").and_then(Value::as_str) == Some(commit.as_str());
        let branches = self.list("/branches").filter(at);
        unique(branches.filter_map(|branch| branch.get("name")?.as_str()?.parse().ok()))
    }

    /// The branch of a push. `None` if a tag was pushed.
    pub(super) fn pushed_branch(&self) -> Result<Option<&str>, NoSignal> {
        Ok(self.required_text("/ref")?.strip_prefix("refs/heads/"))
    }

    /// The branch's head after a push. `None` if the branch was deleted.
    pub(super) fn pushed_head(&self) -> Result<Option<CommitSha>, NoSignal> {
        let deleted = self.0.get("deleted").and_then(Value::as_bool).unwrap_or(false);
        let after = self.required_text("/after")?;
        if deleted || after.bytes().all(|byte| byte == b'0') {
            return Ok(None);
        }
        self.required_sha("/after").map(Some)
    }

    /// The pushed commits, each with its message.
    pub(super) fn pushed_commits(&self) -> impl Iterator<Item = (CommitSha, &str)> {
        self.list("/commits").filter_map(|commit| {
            let sha = commit.get("id")?.as_str()?.parse().ok()?;
            Some((sha, commit.get("message")?.as_str()?))
        })
    }

    /// The entries of a list. Empty if there is no list.
    fn list(&self, pointer: &'static str) -> impl Iterator<Item = &Value> {
        self.0.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
    }

    pub(super) fn sha(&self, pointer: &str) -> Option<CommitSha> {
        self.text(pointer)?.parse().ok()
    }

    pub(super) fn text(&self, pointer: &str) -> Option<&str> {
        self.0.pointer(pointer)?.as_str()
    }

    /// GitHub uses no numbers beyond 2^63, and databases cannot store them.
    pub(super) fn number(&self, pointer: &str) -> Option<u64> {
        self.0.pointer(pointer).and_then(as_number)
    }

    pub(super) fn required_sha(&self, pointer: &str) -> Result<CommitSha, NoSignal> {
        self.sha(pointer).ok_or_else(|| NoSignal::missing(pointer))
    }

    pub(super) fn required_text(&self, pointer: &str) -> Result<&str, NoSignal> {
        self.text(pointer).ok_or_else(|| NoSignal::missing(pointer))
    }

    pub(super) fn required_number(&self, pointer: &str) -> Result<u64, NoSignal> {
        self.number(pointer).ok_or_else(|| NoSignal::missing(pointer))
    }
}

fn branch_named(check: &Value) -> Option<&str> {
    check.get("head_branch").or_else(|| check.pointer("/check_suite/head_branch"))?.as_str()
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

/// Shortens foreign text for messages.
pub(super) fn shorten(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}
