//! Who we are on GitHub.

use serde::Deserialize;

use super::error::Result;
use super::service::GitHub;
use super::transport::{Name, Request, send};

/// Who we are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The App's numeric id.
    pub app: u64,
    /// The App's name in addresses: `slug[bot]` is our login, `@slug` calls us.
    pub slug: String,
}

impl GitHub {
    /// Who we are. It is asked once and remembered: whoever renames the App starts us again.
    ///
    /// # Errors
    /// As for every call; [`ErrorKind::Unauthorized`](super::ErrorKind::Unauthorized) when the key is not the App's.
    pub async fn identity(&self) -> Result<Identity> {
        self.known_identity().get_or_try_init(|| self.ask_identity()).await.cloned()
    }

    async fn ask_identity(&self) -> Result<Identity> {
        #[derive(Deserialize)]
        struct Wire {
            id: u64,
            slug: String,
        }
        let asked = self.repeating(|| async { send(self.app(), &Request::get("/app"), Name::App).await });
        let wire: Wire = asked.await?.json()?;
        Ok(Identity { app: wire.id, slug: wire.slug })
    }
}
