//! Where a sparse cargo index says that crates are downloaded.

use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::CARGO_DOWNLOADS;

/// The file at the root of an index that says so.
pub(super) const CONFIGURATION: &str = "config.json";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CargoDownloads {
    /// The root of the downloads, if it is on the registry's own host. Ends with a slash.
    pub(super) root: Option<Url>,
    /// The rest of the address, or the whole address on another host.
    template: String,
}

#[derive(Deserialize)]
struct IndexConfiguration {
    dl: String,
}

impl CargoDownloads {
    /// Parses a registry's configuration.
    pub(super) fn read(index: &Url, configuration: &[u8]) -> Option<Self> {
        let IndexConfiguration { dl } = serde_json::from_slice(configuration).ok()?;
        let markers = dl.find('{');
        let fixed = dl.get(..markers.unwrap_or(dl.len()))?;
        // Without markers, cargo appends crate, version and `download`.
        let fixed = match markers {
            Some(_) => fixed.get(..=fixed.rfind('/')?)?.to_owned(),
            None => format!("{}/", fixed.trim_end_matches('/')),
        };
        let root = Url::parse(&fixed).ok()?;
        let is_bare = root.username().is_empty() && root.query().is_none() && root.fragment().is_none();
        if root.origin() != index.origin() || !is_bare || root.as_str() != fixed {
            return Some(Self { root: None, template: dl });
        }
        let template = dl.get(fixed.len()..).unwrap_or_default().to_owned();
        Some(Self { root: Some(root), template })
    }

    /// The configuration that the job gets, for this gateway address. It names no publish API and no token: the gateway
    /// needs none.
    pub(super) fn told(&self, local: &str) -> String {
        let dl = match &self.root {
            Some(_) => format!("{local}{CARGO_DOWNLOADS}{}", self.template),
            None => self.template.clone(),
        };
        json!({ "dl": dl.trim_end_matches('/') }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(dl: &str) -> (Option<String>, String) {
        let index = Url::parse("https://corp.example/cargo/index/").unwrap();
        let configuration = json!({ "dl": dl, "api": "https://corp.example", "auth-required": true });
        let read = CargoDownloads::read(&index, configuration.to_string().as_bytes()).unwrap();
        (read.root.as_ref().map(ToString::to_string), read.told("http://127.0.0.1:1/registries/corp/"))
    }

    #[test]
    fn downloads_at_the_registrys_host_go_through_the_door() {
        let local = "http://127.0.0.1:1/registries/corp/+dl";
        for (dl, root, told_dl) in [
            ("https://corp.example/api/crates", Some("https://corp.example/api/crates/"), local.to_owned()),
            ("https://corp.example/api/crates/", Some("https://corp.example/api/crates/"), local.to_owned()),
            (
                "https://corp.example/dl/{crate}/{crate}-{version}.crate",
                Some("https://corp.example/dl/"),
                format!("{local}/{{crate}}/{{crate}}-{{version}}.crate"),
            ),
            (
                "https://corp.example/dl/v-{version}/x",
                Some("https://corp.example/dl/"),
                format!("{local}/v-{{version}}/x"),
            ),
            ("https://static.example/crates", None, "https://static.example/crates".to_owned()),
            ("http://corp.example/crates", None, "http://corp.example/crates".to_owned()),
            ("https://corp.example:8443/crates", None, "https://corp.example:8443/crates".to_owned()),
            ("https://corp.example/a/../b", None, "https://corp.example/a/../b".to_owned()),
        ] {
            let expected = json!({ "dl": told_dl }).to_string();
            assert_eq!(told(dl), (root.map(str::to_owned), expected), "{dl}");
        }
        let index = Url::parse("https://corp.example/").unwrap();
        for wrong in ["", "{}", r#"{"dl":7}"#, r#"{"dl":"nowhere"}"#, r#"{"dl":"{crate}"}"#] {
            assert_eq!(CargoDownloads::read(&index, wrong.as_bytes()), None, "{wrong}");
        }
    }
}
