//! The App's permissions and events, from `app-manifest.yml`.

use std::collections::BTreeMap;

use serde::Deserialize;

const MANIFEST: &str = include_str!("../../../app-manifest.yml");

/// Permissions and events of the GitHub App.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct AppManifest {
    /// Names of permissions, each with `read` or `write`.
    #[serde(rename = "default_permissions")]
    pub permissions: BTreeMap<String, String>,
    #[serde(rename = "default_events")]
    pub events: Vec<String>,
}

impl AppManifest {
    /// The manifest compiled into this build.
    pub fn shipped() -> Self {
        serde_saphyr::from_str(MANIFEST).unwrap_or_default()
    }
}
