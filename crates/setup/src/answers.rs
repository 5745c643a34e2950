//! Checks a person's answers on the first page.

use std::collections::HashMap;

use journeyman_config::AppManifest;
use journeyman_github::web_address;
use serde_json::{Value, json};
use url::{Host, Url};

/// GitHub's limit for an App's name.
const LONGEST_NAME: usize = 34;
/// GitHub's limit for an account's name.
const LONGEST_OWNER: usize = 39;
/// GitHub requires a webhook address even from an App that only polls. This one can never be registered.
const NOWHERE: &str = "https://journeyman.invalid/webhook";
const HOMEPAGE: &str = "https://github.com/";

/// Where to create the App, and how GitHub reaches the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AppAnswers {
    /// `github.api_url`.
    pub(crate) api_url: Url,
    /// GitHub's web address.
    pub(crate) web: Url,
    /// The organization that will own the App. `None` means the person's own account.
    pub(crate) organization: Option<String>,
    pub(crate) name: String,
    /// `server.public_url`. `None` means that the server polls GitHub.
    pub(crate) public_url: Option<Url>,
}

impl AppAnswers {
    /// Errors are worded for the person who answered.
    pub(crate) fn parse(fields: &HashMap<String, String>) -> Result<Self, String> {
        let field = |name: &str| fields.get(name).map_or("", |value| value.trim());
        let api_url = api_of(field("github"))?;
        let web = web_address(&api_url).map_err(|error| error.to_string())?;
        let organization = Some(field("organization")).filter(|name| !name.is_empty());
        let is_login = |name: &&str| {
            name.len() <= LONGEST_OWNER
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if organization.is_some_and(|name| !is_login(&name)) {
            return Err("Organization: its name in addresses, such as octo-org".to_owned());
        }
        let name = field("name");
        if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
            return Err(format!("Name of the App: 1 to {LONGEST_NAME} characters"));
        }
        let public_url = match field("public_url") {
            "" => None,
            text => Some(public_address(text)?),
        };
        Ok(Self {
            api_url,
            web,
            organization: organization.map(str::to_owned),
            name: name.to_owned(),
            public_url,
        })
    }

    /// The address that receives the form with the manifest.
    pub(crate) fn form_address(&self, state: &str) -> Url {
        let mut address = self.web.clone();
        let above = self.web.path().trim_end_matches('/');
        let path = match &self.organization {
            Some(name) => format!("{above}/organizations/{name}/settings/apps/new"),
            None => format!("{above}/settings/apps/new"),
        };
        address.set_path(&path);
        address.query_pairs_mut().append_pair("state", state);
        address
    }

    /// The App's manifest for GitHub's form. `back` is where GitHub redirects the person.
    pub(crate) fn manifest(&self, back: &Url) -> Value {
        let shipped = AppManifest::shipped();
        let public = self.public_url.as_ref().map(|url| url.as_str().trim_end_matches('/'));
        let hook = public.map_or_else(|| NOWHERE.to_owned(), |url| format!("{url}/webhook"));
        // GitHub redirects people here when they sign in to the dashboard.
        let sign_in = public.map(|url| format!("{url}/sign-in/github/back"));
        json!({
            "name": self.name,
            "url": self.public_url.as_ref().map_or(HOMEPAGE, Url::as_str),
            "description": "Turns a labeled issue into a verified pull request.",
            "public": false,
            "redirect_url": back.as_str(),
            "callback_urls": Vec::from_iter(sign_in),
            // Active even without a public address: GitHub only records deliveries for polling if the hook is active.
            "hook_attributes": {"url": hook, "active": true},
            "default_permissions": shipped.permissions,
            "default_events": shipped.events,
        })
    }
}

/// The API address of a GitHub, from its web address.
fn api_of(text: &str) -> Result<Url, String> {
    let wrong = || "GitHub: https://github.com, or the address of your Enterprise Server".to_owned();
    let text = if text.is_empty() { "https://github.com" } else { text };
    let whole = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let mut url = Url::parse(&whole).map_err(|_| wrong())?;
    url.set_query(None);
    url.set_fragment(None);
    match url.host() {
        Some(Host::Domain("github.com" | "www.github.com" | "api.github.com")) => {
            Url::parse("https://api.github.com").map_err(|_| wrong())
        }
        Some(Host::Domain(host)) if host.ends_with(".ghe.com") => {
            let host = format!("api.{}", host.strip_prefix("api.").unwrap_or(host));
            url.set_host(Some(&host)).map_err(|_| wrong())?;
            url.set_path("/");
            Ok(url)
        }
        Some(_) => {
            url.set_path("/api/v3");
            web_address(&url).map_err(|_| wrong())?;
            Ok(url)
        }
        None => Err(wrong()),
    }
}

fn public_address(text: &str) -> Result<Url, String> {
    let wrong = || {
        "Public address: https://…, as GitHub reaches this server; leave it empty if GitHub cannot".to_owned()
    };
    let whole = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let mut url = Url::parse(&whole).map_err(|_| wrong())?;
    let is_plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    if !matches!(url.scheme(), "https" | "http") || url.host().is_none() || !is_plain {
        return Err(wrong());
    }
    // People copy this address from the App's page.
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(path.strip_suffix("/webhook").unwrap_or(&path));
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(fields: &[(&str, &str)]) -> Result<AppAnswers, String> {
        let fields = [("name", "journeyman-octo")].iter().chain(fields);
        AppAnswers::parse(&fields.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn each_kind_of_github_is_known_by_its_address() {
        for (github, api, form) in [
            ("", "https://api.github.com/", "https://github.com/settings/apps/new?state=s"),
            ("github.com/", "https://api.github.com/", "https://github.com/settings/apps/new?state=s"),
            (
                "https://git.example.org",
                "https://git.example.org/api/v3",
                "https://git.example.org/settings/apps/new?state=s",
            ),
            (
                "https://octo.ghe.com",
                "https://api.octo.ghe.com/",
                "https://octo.ghe.com/settings/apps/new?state=s",
            ),
            (
                "http://127.0.0.1:4010",
                "http://127.0.0.1:4010/api/v3",
                "http://127.0.0.1:4010/settings/apps/new?state=s",
            ),
        ] {
            let read = answers(&[("github", github)]).unwrap();
            assert_eq!((read.api_url.as_str(), read.form_address("s").as_str()), (api, form));
        }
        let of_organization = answers(&[("organization", "octo-org")]).unwrap().form_address("s");
        assert_eq!(of_organization.path(), "/organizations/octo-org/settings/apps/new");
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (field, value, says) in [
            ("github", "http://git.example.org", "GitHub: "),
            ("github", "ftp://git.example.org", "GitHub: "),
            ("organization", "octo/org", "Organization: "),
            ("organization", "../x", "Organization: "),
            ("name", "", "Name of the App: "),
            ("name", "a name that is longer than GitHub takes", "Name of the App: "),
            ("public_url", "ftp://journeyman.example.org", "Public address: "),
            ("public_url", "https://a:b@journeyman.example.org?x", "Public address: "),
        ] {
            let error = answers(&[(field, value)]).unwrap_err();
            assert!(error.starts_with(says), "{field} = {value}: {error}");
        }
    }

    #[test]
    fn a_public_address_is_taken_as_people_write_it() {
        for (text, url) in [
            ("journeyman.example.org", "https://journeyman.example.org/"),
            ("https://journeyman.example.org/webhook", "https://journeyman.example.org/"),
            ("https://example.org/bots/journeyman/", "https://example.org/bots/journeyman"),
        ] {
            assert_eq!(answers(&[("public_url", text)]).unwrap().public_url.unwrap().as_str(), url);
        }
        assert_eq!(answers(&[]).unwrap().public_url, None);
    }
}
