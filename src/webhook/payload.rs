//! GitHub's payloads, read field by field: of the published examples every ninth lacks a field that its schema
//! requires, so nothing is required here but what the asker cannot do without.

use serde_json::Value;

use crate::order::{
    InstallationId, IssueNumber, IssueText, Person, PullNumber, RepositoryId, RepositoryName, UserId,
};

/// A parsed body. Of keys that are twice there the last counts.
pub(super) struct Payload(Value);

/// What a payload cannot do without, and does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Missing(pub(super) &'static str);

/// Who sent it.
pub(super) struct Sender {
    pub(super) person: Person,
    pub(super) kind: SenderKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SenderKind {
    Human,
    Bot,
}

/// What an issue says of itself beside its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IssueKind {
    Open,
    Closed,
    /// GitHub's issues of this kind are pull requests.
    Pull,
}

impl Payload {
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

    pub(super) fn repository(&self) -> Result<(RepositoryName, RepositoryId), Missing> {
        let name = self.text("/repository/full_name").and_then(|name| name.parse().ok());
        let id = self.number("/repository/id");
        Ok((name.ok_or(Missing("repository.full_name"))?, RepositoryId(id.ok_or(Missing("repository.id"))?)))
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

    pub(super) fn sender(&self) -> Result<Sender, Missing> {
        let login = self.text("/sender/login").ok_or(Missing("sender.login"))?;
        let id = self.number("/sender/id").ok_or(Missing("sender.id"))?;
        let is_bot = self.text("/sender/type") == Some("Bot") || login.ends_with("[bot]");
        Ok(Sender {
            person: Person { login: login.to_owned(), id: UserId(id) },
            kind: if is_bot { SenderKind::Bot } else { SenderKind::Human },
        })
    }

    pub(super) fn issue(&self) -> Result<IssueText, Missing> {
        let owned = |pointer| self.text(pointer).unwrap_or_default().to_owned();
        Ok(IssueText {
            number: IssueNumber(self.number("/issue/number").ok_or(Missing("issue.number"))?),
            title: owned("/issue/title"),
            body: owned("/issue/body"),
            url: owned("/issue/html_url"),
        })
    }

    pub(super) fn issue_kind(&self) -> IssueKind {
        if self.0.pointer("/issue/pull_request").is_some_and(|pull| !pull.is_null()) {
            IssueKind::Pull
        } else if self.text("/issue/state") == Some("closed") {
            IssueKind::Closed
        } else {
            IssueKind::Open
        }
    }

    pub(super) fn label(&self) -> Result<String, Missing> {
        self.text("/label/name").map(str::to_owned).ok_or(Missing("label.name"))
    }

    pub(super) fn comment(&self) -> Result<&str, Missing> {
        self.text("/comment/body").ok_or(Missing("comment.body"))
    }

    pub(super) fn comment_id(&self) -> Option<u64> {
        self.number("/comment/id")
    }

    pub(super) fn comment_author(&self) -> Option<UserId> {
        self.number("/comment/user/id").map(UserId)
    }

    pub(super) fn pull(&self) -> Result<PullNumber, Missing> {
        let number = self.number("/pull_request/number").or_else(|| self.number("/number"));
        number.map(PullNumber).ok_or(Missing("pull_request.number"))
    }

    pub(super) fn merged(&self) -> bool {
        self.0.pointer("/pull_request/merged").and_then(Value::as_bool).unwrap_or(false)
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.0.pointer(pointer)?.as_str()
    }

    /// Numbers beyond 2^63 are none of GitHub's, and none that a database keeps.
    fn number(&self, pointer: &str) -> Option<u64> {
        self.0.pointer(pointer)?.as_u64().filter(|number| i64::try_from(*number).is_ok())
    }
}
