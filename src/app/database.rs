//! Opens the store.

use anyhow::Context as _;
use secrecy::ExposeSecret as _;
use url::Url;

use super::ARTIFACTS;
use crate::config::Settings;
use crate::store::Store;

pub(super) async fn open(settings: &Settings) -> anyhow::Result<Store> {
    let url = settings.store.url.expose_secret();
    let store = match postgres_at(url) {
        Some(at) => Store::open(url)
            .await
            .with_context(|| format!("{at} cannot be used: start it, or change store.url"))?,
        None => Store::open(url).await?,
    };
    Ok(store.keeping_files_in(&settings.data.dir.join(ARTIFACTS)))
}

/// A PostgreSQL URL without its credentials; `None` for another database.
pub(super) fn postgres_at(url: &str) -> Option<String> {
    let url = Url::parse(url).ok().filter(|url| url.scheme().starts_with("postgres"))?;
    let host = url.host_str().filter(|host| !host.is_empty() && !host.contains('%'))?;
    Some(format!("PostgreSQL at {host}:{}", url.port().unwrap_or(5432)))
}
