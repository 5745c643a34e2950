//! The addresses of one GitHub (github.com, an Enterprise Server or the emulator), all from `github.api_url`, and of a
//! repository on it.

use url::{Host, Url};

use super::error::{ErrorKind, GitHubError, Result};
use journeyman_order::{InstallationId, RepositoryName};

/// A repository, with the installation that gives us access.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InstalledRepository {
    pub repository: RepositoryName,
    pub installation: InstallationId,
}

impl InstalledRepository {
    pub(super) fn route(&self, rest: &str) -> String {
        format!("/repos/{}/{}{rest}", self.repository.owner(), self.repository.name())
    }
}

/// The addresses derived from the API's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoints {
    /// The base of REST routes, without a trailing slash.
    pub(super) rest: String,
    /// The base of `/graphql`, without a trailing slash.
    pub(super) graphql: String,
    /// The base of `/owner/name.git`.
    pub(super) web: Url,
}

impl Endpoints {
    /// Derives them. An Enterprise Server has REST under `/api/v3` and GraphQL at `/api/graphql`; with data residency
    /// the API is at `api.NAME.ghe.com` and the rest at `NAME.ghe.com`, like on github.com.
    pub(super) fn of(api_url: &Url) -> Result<Self> {
        let wrong = |why: &str| {
            Err(GitHubError::new(
                ErrorKind::Invalid,
                format!("github.api_url {why}; use https://api.github.com or https://HOST/api/v3"),
            ))
        };
        let Some(host) = api_url.host() else { return wrong("names no host") };
        if api_url.scheme() != "https"
            && !(api_url.scheme() == "http" && journeyman_order::is_loopback(&host))
        {
            return wrong("must begin with https:// (http:// is for loopback only)");
        }
        let has_more = api_url.query().is_some() || api_url.fragment().is_some();
        if has_more || !api_url.username().is_empty() || api_url.password().is_some() {
            return wrong("must be an address only, without credentials, query or fragment");
        }
        let mut web = api_url.clone();
        let path = api_url.path().trim_end_matches('/').to_owned();
        let rest = at_path(api_url, &path);
        if let Some(above) = path.strip_suffix("/api/v3") {
            web.set_path(above);
            return Ok(Self { rest, graphql: at_path(api_url, &format!("{above}/api")), web });
        }
        let split = match &host {
            Host::Domain("api.github.com") => Some("github.com"),
            Host::Domain(name) if name.ends_with(".ghe.com") => name.strip_prefix("api."),
            Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_) => None,
        };
        if let Some(name) = split
            && web.set_host(Some(name)).is_err()
        {
            return wrong("names a host that cannot be used");
        }
        web.set_path(&path);
        Ok(Self { graphql: rest.clone(), rest, web })
    }

    pub(super) fn git(&self, repository: &RepositoryName) -> Url {
        let mut url = self.web.clone();
        let above = self.web.path().trim_end_matches('/');
        url.set_path(&format!("{above}/{}/{}.git", repository.owner(), repository.name()));
        url
    }
}

fn at_path(url: &Url, path: &str) -> String {
    let mut there = url.clone();
    there.set_path(path);
    there.as_str().trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_follows_from_the_apis() {
        let repository: RepositoryName = "octo/hello".parse().unwrap();
        for (api, rest, graphql, git) in [
            (
                "https://api.github.com",
                "https://api.github.com",
                "https://api.github.com",
                "https://github.com/octo/hello.git",
            ),
            (
                "https://git.example.org/api/v3/",
                "https://git.example.org/api/v3",
                "https://git.example.org/api",
                "https://git.example.org/octo/hello.git",
            ),
            (
                "http://127.0.0.1:4010/api/v3",
                "http://127.0.0.1:4010/api/v3",
                "http://127.0.0.1:4010/api",
                "http://127.0.0.1:4010/octo/hello.git",
            ),
            (
                "http://localhost:4010",
                "http://localhost:4010",
                "http://localhost:4010",
                "http://localhost:4010/octo/hello.git",
            ),
            (
                "https://api.octo.ghe.com",
                "https://api.octo.ghe.com",
                "https://api.octo.ghe.com",
                "https://octo.ghe.com/octo/hello.git",
            ),
        ] {
            let endpoints = Endpoints::of(&Url::parse(api).unwrap()).unwrap();
            assert_eq!(endpoints.rest, rest);
            assert_eq!(endpoints.graphql, graphql);
            assert_eq!(endpoints.git(&repository).as_str(), git);
        }
    }

    #[test]
    fn an_address_that_would_show_tokens_is_refused() {
        for bad in [
            "http://api.github.com",
            "http://10.0.0.7/api/v3",
            "ftp://api.github.com",
            "https://user:secret@host/api/v3",
            "https://host/api/v3?x=1",
        ] {
            let error = Endpoints::of(&Url::parse(bad).unwrap()).unwrap_err();
            assert!(error.message.contains("github.api_url"), "{bad}: {error}");
            assert!(!error.message.contains("secret"));
        }
    }
}
