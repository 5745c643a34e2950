//! A client for a running server: its address, its token, its answers.
//!
//! May know: the REST API. Must never know: what is printed of an answer.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use reqwest::{Client, Method, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use url::Url;

use super::super::live::{one_line, whole};
use super::super::{UsageError, doctor, user_settings};
use crate::order::{IssueNumber, OrderId, RepositoryName};

/// The variable with the address of a server elsewhere.
const ADDRESS: &str = "JOURNEYMAN_URL";
/// The variable with the token.
const TOKEN: &str = "JOURNEYMAN_API_TOKEN";
/// The timeout for a request.
const DEADLINE: Duration = Duration::from_secs(30);

/// Where the server is.
#[derive(Debug, Args)]
pub(in crate::cli) struct ServerArguments {
    /// The server's address; JOURNEYMAN_URL when absent, and without that what the settings say.
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    server: Option<String>,
    /// The settings of a server on this machine; ~/.config/journeyman/journeyman.toml when absent.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// How people name an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum OrderName {
    Id(OrderId),
    /// The latest order of this issue.
    Issue(RepositoryName, IssueNumber),
}

impl FromStr for OrderName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((repository, number)) = text.split_once('#') {
            let number = number.parse().map_err(|_| format!("{number:?} is no issue's number"))?;
            let repository = repository.parse().map_err(|error| format!("{error}"))?;
            return Ok(Self::Issue(repository, IssueNumber(number)));
        }
        let id = text.parse().map_err(|_| "an order's id, or OWNER/NAME#ISSUE, is expected".to_owned())?;
        Ok(Self::Id(id))
    }
}

impl fmt::Display for OrderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(order) => write!(f, "{order}"),
            Self::Issue(repository, issue) => write!(f, "{repository}#{issue}"),
        }
    }
}

pub(in crate::cli) struct RunningServer {
    client: Client,
    address: String,
    token: SecretString,
}

impl RunningServer {
    pub(in crate::cli) fn find(arguments: ServerArguments) -> anyhow::Result<Self> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let token = variable(TOKEN).map(SecretString::from);
        let elsewhere = if arguments.config.is_none() { variable(ADDRESS) } else { None };
        // The settings' token is only for the settings' own server.
        let (address, token, outgoing) = match (arguments.server.or(elsewhere), token) {
            (Some(address), Some(token)) => (address, token, crate::order::OutgoingNetwork::default()),
            (Some(_), None) => {
                return Err(UsageError(format!(
                    "{TOKEN} is not set: it holds the server's server.api_token"
                ))
                .into());
            }
            (None, token) => {
                let is_named = arguments.config.is_some();
                let settings = doctor::load_without_app(user_settings(arguments.config).as_deref())?;
                let own = settings.server.api_token;
                let token = if is_named { own.or(token) } else { token.or(own) }.ok_or_else(|| {
                    UsageError(format!(
                        "server.api_token is not set, and neither is {TOKEN}: the API is closed. --config FILE names the \
                         settings of a server on this machine, --server URL another one, whose token {TOKEN} holds"
                    ))
                })?;
                let mut listen = settings.server.listen;
                if listen.ip().is_unspecified() {
                    listen.set_ip([127, 0, 0, 1].into());
                }
                (format!("http://{listen}"), token, settings.testing.outgoing)
            }
        };
        let is_address = |url: Url| matches!(url.scheme(), "https" | "http") && url.has_host();
        if !Url::parse(&address).is_ok_and(is_address) {
            let shown = one_line(&address);
            return Err(UsageError(format!(
                "{shown:?} is no server's address (--server, or {ADDRESS}): one such as https://journeyman.example.org or \
                 http://127.0.0.1:3000 is expected"
            ))
            .into());
        }
        let client = crate::outgoing::client(&outgoing, |builder| builder.timeout(DEADLINE))?;
        Ok(Self { client, address: address.trim_end_matches('/').to_owned(), token })
    }

    pub(super) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.ask(Method::GET, path, None).await
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> anyhow::Result<Value> {
        self.ask(Method::POST, path, Some(body)).await
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        let url = format!("{}{path}", self.address);
        let request = self.client.request(method, url).bearer_auth(self.token.expose_secret());
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let answered = request.send().await.map_err(|error| {
            let because = error.without_url();
            anyhow::Error::new(because)
                .context(format!("no Journeyman answers at {}: is `serve` running?", self.address))
        })?;
        let status = answered.status();
        let text = answered.text().await.with_context(|| format!("{} broke off", self.address))?;
        if status.is_success() {
            return serde_json::from_str(&text)
                .with_context(|| format!("{} does not answer as Journeyman does", self.address));
        }
        let problem: Value = serde_json::from_str(&text).unwrap_or_default();
        let detail = problem["detail"].as_str().map(whole);
        match (status, detail) {
            (StatusCode::UNAUTHORIZED, _) => bail!(
                "{} refuses the token: it has to be its server.api_token ({TOKEN}, or the settings)",
                self.address
            ),
            (_, Some(detail)) => bail!("{detail}"),
            (status, None) => bail!("{} answers {status}", self.address),
        }
    }

    /// The path of an order in the API.
    pub(super) async fn path_of(&self, order: &OrderName) -> anyhow::Result<String> {
        let id = match order {
            OrderName::Id(order) => order.to_string(),
            OrderName::Issue(repository, issue) => {
                let query = format!("/api/v1/work-orders?limit=200&repository={repository}&issue={issue}");
                let list = self.get(&query).await?;
                let orders: &[Value] = list["work_orders"].as_array().map_or(&[], Vec::as_slice);
                // A refused request from someone without permission may be newer.
                let found = orders.iter().find(|order| order["active"] == true);
                let found = found.or_else(|| orders.iter().find(|order| order["state"] != "refused"));
                let id = found.or(orders.first()).and_then(|order| order["id"].as_str()).map(str::to_owned);
                id.with_context(|| format!("{order} has no order: `journeyman orders --all` lists them"))?
            }
        };
        Ok(format!("/api/v1/work-orders/{id}"))
    }
}
