//! What goes wrong on purpose, and the record of every call.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::SharedEmulatorState;

/// A fault for calls that are still to come.
#[derive(Debug, Clone)]
pub struct Fault {
    /// `GET`, `POST` …; none: any method.
    pub method: Option<String>,
    /// A part of the path with its query, such as `/pulls` or `git-receive-pack`; of a call of GraphQL also of its
    /// document, such as `resolveReviewThread`. Empty: any call.
    pub path_contains: String,
    /// How many calls it strikes; the fault is gone afterwards.
    pub times: u32,
    /// What happens to them.
    pub kind: FaultKind,
}

/// What happens to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// Answered with this and not carried out.
    Status {
        code: u16,
        /// Headers, such as `Retry-After`.
        headers: Vec<(String, String)>,
        /// The body as it is.
        body: String,
    },
    /// Carried out after this time.
    Delay(Duration),
    /// Not carried out; the connection is cut without an answer.
    Lost,
    /// Carried out; then the connection is cut without an answer.
    AppliedThenLost,
    /// Carried out; then answered with this status and GitHub's error page.
    AppliedThen(u16),
}

/// Who made a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Nobody that was recognised.
    Nobody,
    /// The App, by its signed token.
    App,
    /// The installation, by an installation token.
    Installation,
    /// A person, by a token of their own.
    Person(String),
}

/// One call of the API or of git over HTTP. Credentials are not in it.
#[derive(Debug, Clone)]
pub struct ApiCall {
    pub at: DateTime<Utc>,
    pub method: String,
    /// Path and query, as they were sent.
    pub path: String,
    pub caller: Caller,
    /// The `User-Agent`; empty when there was none.
    pub user_agent: String,
    /// The other headers, by name in lower case and as they were sent; of `authorization` its scheme only.
    pub headers: BTreeMap<String, String>,
    /// The request's body; empty for git, whose objects lie in the repository.
    pub body: String,
    /// What was answered; none when the connection was cut.
    pub status: Option<u16>,
}

impl SharedEmulatorState {
    /// The fault that strikes this call, if any; it is used up by one.
    pub(crate) fn take_fault(&self, method: &str, path: &str, body: &str) -> Option<FaultKind> {
        let mut world = self.lock();
        let document = if path.ends_with("/graphql") { body } else { "" };
        let at = world.faults.iter().position(|fault| {
            fault.times > 0
                && (path.contains(&fault.path_contains) || document.contains(&fault.path_contains))
                && fault.method.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method))
        })?;
        let fault = world.faults.get_mut(at)?;
        fault.times -= 1;
        let kind = fault.kind.clone();
        if fault.times == 0 {
            world.faults.remove(at);
        }
        Some(kind)
    }

    pub(crate) fn record(&self, call: ApiCall) {
        self.change(|world| world.calls.push(call));
    }
}
