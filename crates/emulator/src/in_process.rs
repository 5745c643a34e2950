//! The API for callers in the same process, without sockets, signatures and faults, but with the record of calls.

use std::collections::BTreeMap;

use super::api::{RequestParts, answer, common_headers};
use super::auth::Credentials;
use super::events::{NO_SHA, RefUpdate};
use super::reply::EmulatedReplyBody;
use super::repos;
use super::state::calls::{ApiCall, Caller};
use super::state::deliveries::{DeliveryAttempt, DeliveryResult};
use super::{Emulator, EmulatorOptions};
use crate::clock;

#[derive(Debug, Clone)]
pub enum InProcessCaller {
    /// The App; no credentials needed.
    App,
    /// The holder of this token.
    Token(String),
}

/// An answer as the network would carry it.
#[derive(Debug, Clone)]
pub struct InProcessAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Emulator {
    /// An emulator without a socket: use [`Emulator::exchange`] for its API and [`Emulator::delivered`] for deliveries.
    pub fn in_process(options: EmulatorOptions) -> anyhow::Result<Self> {
        let origin = format!("http://{}", options.listen);
        Ok(Self { shared: Self::shared(options, origin)?, serving: None })
    }

    /// Answers a request of the API. `path` starts with `/api/`.
    pub fn exchange(
        &self,
        caller: InProcessCaller,
        method: &str,
        path: &str,
        body: &[u8],
    ) -> InProcessAnswer {
        let credentials = match caller {
            InProcessCaller::App => Ok(Credentials::App),
            InProcessCaller::Token(token) => {
                self.shared.lock().authenticate(Some(&format!("Bearer {token}")))
            }
        };
        let caller = credentials.as_ref().map_or(Caller::Nobody, |known| self.shared.lock().caller(known));
        let (route, query) = path.split_once('?').unwrap_or((path, ""));
        let accept = "application/vnd.github+json".to_owned();
        let parts = RequestParts { method, path: route, query, accept };
        let reply = answer(&self.shared, parts, body, credentials);
        let common = common_headers(&self.shared).map(|(name, value)| (name.to_owned(), value));
        let mut headers: Vec<(String, String)> = common.into_iter().collect();
        headers.extend(reply.link.map(|link| ("link".to_owned(), link)));
        self.shared.record(ApiCall {
            at: clock::now(),
            method: method.to_owned(),
            path: path.to_owned(),
            caller,
            user_agent: "in-process".to_owned(),
            headers: BTreeMap::new(),
            body: String::from_utf8_lossy(body).into_owned(),
            status: Some(reply.status),
        });
        let body = match reply.body {
            EmulatedReplyBody::Nothing => Vec::new(),
            EmulatedReplyBody::Json(value) => value.to_string().into_bytes(),
            EmulatedReplyBody::Redirect(location) => {
                headers.push(("location".to_owned(), location));
                Vec::new()
            }
        };
        InProcessAnswer { status: reply.status, headers, body }
    }

    /// The queued deliveries, oldest first.
    pub fn queued_deliveries(&self) -> Vec<DeliveryAttempt> {
        let world = self.shared.lock();
        world.deliveries.iter().filter(|one| one.outcome == DeliveryResult::Queued).cloned().collect()
    }

    /// Records the result of a delivery.
    pub fn delivered(&self, id: u64, outcome: DeliveryResult) {
        self.shared.change(|world| world.delivered(id, outcome));
    }

    /// Pushes an existing commit as the App, with a lease on the branch's head; `None` expects no branch. The inner
    /// error is the branch's actual head.
    pub fn push_as_app(
        &self,
        repository: &str,
        branch: &str,
        lease: Option<&str>,
        commit: &str,
    ) -> anyhow::Result<Result<(), Option<String>>> {
        self.shared.change(|world| {
            let git = world.require_repository(repository)?.git.clone();
            let at = repos::head(&git, branch);
            if at.as_deref() == Some(commit) {
                return Ok(Ok(()));
            }
            if at.as_deref() != lease {
                return Ok(Err(at));
            }
            repos::point(&git, branch, commit)?;
            let moved = RefUpdate {
                reference: format!("refs/heads/{branch}"),
                before: at.unwrap_or_else(|| NO_SHA.to_owned()),
                after: commit.to_owned(),
            };
            let bot = world.app.bot;
            world.pushed(repository, &[moved], bot);
            Ok(Ok(()))
        })
    }
}
