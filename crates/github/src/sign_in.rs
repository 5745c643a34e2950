//! People who sign in with the App: GitHub asks them and sends them back with a code, exchanged once for their token.
//! The token reads who they are, and which of the App's repositories they may read and write.
//!
//! The token belongs to the person: it is sent only to GitHub and never stored here.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::{Client, Response};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::endpoints::Endpoints;
use super::error::{ErrorKind, GitHubError, Result};
use super::logs::{API_VERSION, body_of, client, refused, unreachable};
use super::service::{MOST_PAGES, PAGE};
use journeyman_order::bounds::LARGEST_DOCUMENT;
use journeyman_order::{OutgoingNetwork, Person, RepositoryId};

/// The subject of error messages.
const WHAT: &str = "signing in";

/// A client for signing in with the App, by its client ID.
pub struct SignInClient {
    endpoints: Endpoints,
    id: String,
    secret: SecretString,
    client: Client,
}

#[derive(Debug)]
pub struct PersonToken {
    pub secret: SecretString,
    /// Its lifetime, if it expires.
    pub lasts: Option<Duration>,
}

/// The repositories that both the App and a person may read, and the number of requests to find out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadableRepositories {
    /// Each with whether the person may write.
    pub repositories: BTreeMap<RepositoryId, bool>,
    pub requests: u32,
}

#[derive(Deserialize)]
struct TokenWire {
    access_token: Option<SecretString>,
    expires_in: Option<u64>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct PageWire<T> {
    #[serde(alias = "installations", alias = "repositories")]
    entries: Vec<T>,
}

#[derive(Deserialize)]
struct InstallationWire {
    id: u64,
}

#[derive(Deserialize)]
struct RepositoryWire {
    id: RepositoryId,
    permissions: Option<RightsWire>,
}

#[derive(Default, Deserialize)]
struct RightsWire {
    #[serde(default)]
    pull: bool,
    #[serde(default)]
    push: bool,
}

impl SignInClient {
    /// # Errors
    /// When the address or the network settings are invalid.
    pub fn new(api_url: &Url, outgoing: &OutgoingNetwork, id: String, secret: SecretString) -> Result<Self> {
        Ok(Self { endpoints: Endpoints::of(api_url)?, id, secret, client: client(outgoing)? })
    }

    /// GitHub's page that asks a person to sign in. It redirects to `back` with a code and this `state`; using the code
    /// requires the verifier whose SHA-256 is `challenge`.
    pub fn page(&self, back: &Url, state: &str, challenge: &str) -> Url {
        let mut page = self.login("authorize");
        page.query_pairs_mut()
            .append_pair("client_id", &self.id)
            .append_pair("redirect_uri", back.as_str())
            .append_pair("state", state)
            .append_pair("code_challenge", challenge)
            .append_pair("code_challenge_method", "S256");
        page
    }

    /// Exchanges the code that GitHub sent the person back with.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when GitHub rejects the code.
    pub async fn exchange(&self, back: &Url, code: &str, verifier: &str) -> Result<PersonToken> {
        let form = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", &self.id)
            .append_pair("client_secret", self.secret.expose_secret())
            .append_pair("code", code)
            .append_pair("redirect_uri", back.as_str())
            .append_pair("code_verifier", verifier)
            .finish();
        let request = self
            .client
            .post(self.login("access_token"))
            .header("accept", "application/json")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form);
        let answer: TokenWire = read(request.send().await).await?;
        match (answer.access_token, answer.error.as_deref()) {
            (Some(secret), None) => {
                Ok(PersonToken { secret, lasts: answer.expires_in.map(Duration::from_secs) })
            }
            (_, Some("incorrect_client_credentials")) => Err(GitHubError::new(
                ErrorKind::Unauthorized,
                "GitHub does not know the App by github.client_id and github.client_secret",
            )),
            (_, Some("redirect_uri_mismatch")) => Err(GitHubError::new(
                ErrorKind::Unauthorized,
                format!("the App's page on GitHub has to name the callback URL {back}"),
            )),
            (_, Some(_) | None) => {
                Err(GitHubError::new(ErrorKind::Invalid, "GitHub does not take the code of this sign-in"))
            }
        }
    }

    /// The owner of a token.
    ///
    /// # Errors
    /// [`ErrorKind::Unauthorized`] when the token is no longer valid.
    pub async fn person(&self, token: &SecretString) -> Result<Person> {
        self.ask(token, "/user").await
    }

    /// The repositories that both the person and the App may currently read.
    ///
    /// # Errors
    /// [`ErrorKind::Unauthorized`] when the token is no longer valid.
    pub async fn readable(&self, token: &SecretString) -> Result<ReadableRepositories> {
        let mut readable = ReadableRepositories::default();
        let installations: Vec<InstallationWire> =
            self.all(token, "/user/installations", &mut readable.requests).await?;
        for installation in installations {
            let route = format!("/user/installations/{}/repositories", installation.id);
            let found: Vec<RepositoryWire> = match self.all(token, &route, &mut readable.requests).await {
                Ok(found) => found,
                // Removed meanwhile, suspended, or not for this person: the other installations still count.
                Err(error) if matches!(error.kind, ErrorKind::Forbidden | ErrorKind::NotFound) => continue,
                Err(error) => return Err(error),
            };
            // A missing permission counts as denied.
            let rights = found.into_iter().map(|one| (one.id, one.permissions.unwrap_or_default()));
            let rights = rights.filter(|(_, rights)| rights.pull || rights.push);
            readable.repositories.extend(rights.map(|(id, rights)| (id, rights.push)));
        }
        Ok(readable)
    }

    /// All pages of a list.
    async fn all<T: DeserializeOwned>(
        &self,
        token: &SecretString,
        route: &str,
        requests: &mut u32,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        for page in 1.. {
            *requests += 1;
            if *requests > MOST_PAGES {
                return Err(GitHubError::unexpected(format!(
                    "GitHub names more installations and repositories for one person than fit into {MOST_PAGES} answers"
                )));
            }
            let route = format!("{route}?per_page={PAGE}&page={page}");
            let PageWire { entries } = self.ask(token, &route).await?;
            let is_last = entries.len() < PAGE;
            all.extend(entries);
            if is_last {
                break;
            }
        }
        Ok(all)
    }

    async fn ask<T: DeserializeOwned>(&self, token: &SecretString, route: &str) -> Result<T> {
        let request = self
            .client
            .get(format!("{}{route}", self.endpoints.rest))
            .bearer_auth(token.expose_secret())
            .header("accept", "application/vnd.github+json")
            .header("x-github-api-version", API_VERSION);
        read(request.send().await).await
    }

    fn login(&self, rest: &str) -> Url {
        let mut url = self.endpoints.web.clone();
        url.set_path(&format!("{}/login/oauth/{rest}", self.endpoints.web.path().trim_end_matches('/')));
        url
    }
}

/// Reads an answer; its errors quote nothing, because it may contain a token.
async fn read<T: DeserializeOwned>(answer: reqwest::Result<Response>) -> Result<T> {
    let answer = answer.map_err(|error| unreachable(WHAT, &error))?;
    let status = answer.status().as_u16();
    if status != 200 {
        return Err(refused(WHAT, status));
    }
    let body = body_of(answer, LARGEST_DOCUMENT, WHAT).await?;
    let body = body.ok_or_else(|| GitHubError::unexpected("GitHub's answer is too large"))?;
    serde_json::from_slice(&body)
        .map_err(|_| GitHubError::unexpected("GitHub's answer is not what its documentation says"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tests::scripted::{ScriptedServer, ok, refused};

    #[tokio::test]
    async fn an_installation_that_does_not_answer_hides_its_own_repositories_alone() {
        for (status, hidden) in [(403, Some(1)), (404, Some(1)), (500, None), (401, None)] {
            let server = ScriptedServer::start(move |seen| match seen.call.as_str() {
                "GET /user/installations?per_page=100&page=1" => {
                    ok(json!({"installations": [{"id": 5}, {"id": 6}]}))
                }
                "GET /user/installations/6/repositories?per_page=100&page=1" => {
                    ok(json!({"repositories": [{"id": 60, "permissions": {"pull": true, "push": true}}]}))
                }
                _ => refused(status, "no"),
            })
            .await;
            let api: Url = server.origin.parse().unwrap();
            let client =
                SignInClient::new(&api, &OutgoingNetwork::default(), "Iv1.1".to_owned(), "shh".into())
                    .unwrap();
            let readable = client.readable(&"ghu_ada".into()).await;
            assert_eq!(readable.ok().map(|readable| readable.repositories.len()), hidden, "{status}");
        }
    }

    #[test]
    fn the_page_that_asks_is_on_the_github_of_the_api() {
        for (api, page) in [
            ("https://api.github.com", "https://github.com/login/oauth/authorize?"),
            ("https://git.example.org/api/v3", "https://git.example.org/login/oauth/authorize?"),
            ("https://api.octo.ghe.com", "https://octo.ghe.com/login/oauth/authorize?"),
        ] {
            let api: Url = api.parse().unwrap();
            let client =
                SignInClient::new(&api, &OutgoingNetwork::default(), "Iv1.1".to_owned(), "shh".into())
                    .unwrap();
            let back: Url = "https://bot.example.org/sign-in/github/back".parse().unwrap();
            let asked = client.page(&back, "the state", "the challenge");
            assert!(asked.as_str().starts_with(page), "{asked}");
            assert!(asked.as_str().contains(
                "redirect_uri=https%3A%2F%2Fbot.example.org%2Fsign-in%2Fgithub%2Fback&state=the+state&\
                 code_challenge=the+challenge&code_challenge_method=S256"
            ));
            assert!(!asked.as_str().contains("shh"), "{asked}");
        }
    }
}
