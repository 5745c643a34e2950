//! The store, opened. Whoever waits for a database is told which one and why: the pool says neither.

use std::time::Duration;

use secrecy::ExposeSecret as _;
use url::Url;

use super::ARTIFACTS;
use crate::config::Settings;
use crate::store::Store;

/// A database that is there has answered by then.
const SOON: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) async fn open(settings: &Settings) -> anyhow::Result<Store> {
    let url = settings.store.url.expose_secret();
    let address = PostgresAddress::of(url);
    let what = address.as_ref().map_or_else(|| "the database".to_owned(), ToString::to_string);
    let mut opening = std::pin::pin!(Store::open(url));
    loop {
        let looking = async {
            tokio::time::sleep(SOON).await;
            match &address {
                Some(address) => address.reach().await.err(),
                None => None,
            }
        };
        tokio::select! {
            opened = &mut opening => {
                let problem = match (&opened, &address) {
                    (Err(_), Some(address)) => address.reach().await.err(),
                    (Ok(_), _) | (_, None) => None,
                };
                let store = opened.map_err(|error| match &problem {
                    Some(why) => anyhow::Error::new(error)
                        .context(format!("{what} cannot be reached: {why}; start it, or change store.url")),
                    None => error.into(),
                })?;
                return Ok(store.keeping_files_in(&settings.data.dir.join(ARTIFACTS)));
            }
            found = looking => {
                let why = match (&found, &address) {
                    (Some(why), _) => why.as_str(),
                    (None, Some(_)) => "it takes connections, and does not answer yet",
                    (None, None) => "it does not answer yet",
                };
                tracing::warn!("waiting for {what} (store.url): {why}");
            }
        }
    }
}

/// Where a PostgreSQL listens, without who signs in there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PostgresAddress(String);

impl PostgresAddress {
    /// None for another database, and where it is reached by a file or as variables say.
    pub(super) fn of(url: &str) -> Option<Self> {
        let url = Url::parse(url).ok().filter(|url| url.scheme().starts_with("postgres"))?;
        if url.query_pairs().any(|(name, _)| matches!(&*name, "host" | "hostaddr" | "port")) {
            return None;
        }
        let host = url.host_str().filter(|host| !host.is_empty() && !host.contains('%'))?;
        Some(Self(format!("{host}:{}", url.port().unwrap_or(5432))))
    }

    /// Whether something takes connections there.
    ///
    /// # Errors
    /// Says why not.
    pub(super) async fn reach(&self) -> Result<(), String> {
        match tokio::time::timeout(PATIENCE, tokio::net::TcpStream::connect(&self.0)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("nothing answers there".to_owned()),
        }
    }
}

impl std::fmt::Display for PostgresAddress {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "PostgreSQL at {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_without_a_password() {
        let of = |url: &str| PostgresAddress::of(url).map(|found| found.to_string());
        let told = |text: &str| Some(format!("PostgreSQL at {text}"));
        assert_eq!(of("postgres://anna:s3cret@db.example:6543/x"), told("db.example:6543"));
        assert_eq!(of("postgresql://anna@[::1]/x"), told("[::1]:5432"));
        for other in [
            "sqlite://x.db",
            "postgres:///x?host=/run/postgresql",
            "postgres:///x",
            "postgres://%2Frun%2Fpg/x",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
