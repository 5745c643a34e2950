//! Injected faults, and the record of every call.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::SharedEmulatorState;

/// A fault for future calls.
#[derive(Debug, Clone)]
pub struct Fault {
    /// `GET`, `POST` …; `None` matches any method.
    pub method: Option<String>,
    /// Part of the path with its query, such as `/pulls` or `git-receive-pack`. For GraphQL also part of the document,
    /// such as `resolveReviewThread`. Empty matches any call.
    pub path_contains: String,
    /// How many calls it affects; then the fault is removed.
    pub times: u32,
    pub kind: FaultKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// Answered with this status and not carried out.
    Status {
        code: u16,
        /// Headers, such as `Retry-After`.
        headers: Vec<(String, String)>,
        /// The raw body.
        body: String,
    },
    /// Carried out after this delay.
    Delay(Duration),
    /// Not carried out; the connection is cut without an answer.
    Lost,
    /// Carried out, then the connection is cut without an answer.
    AppliedThenLost,
    /// Carried out, then answered with this status and GitHub's error page.
    AppliedThen(u16),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// An unknown caller.
    Nobody,
    /// The App, by its signed token.
    App,
    /// The installation, by an installation token.
    Installation,
    /// A person, by their own token.
    Person(String),
}

/// One call of the API or of git over HTTP, without credentials.
#[derive(Debug, Clone)]
pub struct ApiCall {
    pub at: DateTime<Utc>,
    pub method: String,
    /// Path and query as sent.
    pub path: String,
    pub caller: Caller,
    /// The `User-Agent`; empty if missing.
    pub user_agent: String,
    /// The other headers, by name in lower case; of `authorization` only the scheme.
    pub headers: BTreeMap<String, String>,
    /// The request's body; empty for git, whose objects are in the repository.
    pub body: String,
    /// The status of the answer; `None` if the connection was cut.
    pub status: Option<u16>,
}

impl SharedEmulatorState {
    /// Takes the next fault for this call, and counts it.
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
