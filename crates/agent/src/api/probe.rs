//! Whether a model's service takes our key, asked without spending: the list of models costs nothing.

use std::time::Duration;

use reqwest::StatusCode;

use super::{ModelApi, ModelApiKey};
use journeyman_order::model_service::Provider;

impl ModelApi {
    /// Asks for the list of models with the key. What to do about it, where the service refuses the key or there is none.
    /// Whoever has no such list, is silent, or cannot be reached says nothing that tells: trouble of that kind passes, and
    /// is waited for when it is met.
    pub async fn refused_key(&self, key: &ModelApiKey, patience: Duration) -> Option<String> {
        let headers = match self.headers(key) {
            Ok(headers) => headers,
            Err(failure) => return Some(failure.message),
        };
        if matches!(key, ModelApiKey::NotNeeded) {
            return None;
        }
        let client = self.client().ok()?;
        let path = match self.settings.provider {
            Provider::Anthropic => "v1/models",
            Provider::OpenAi => "models",
        };
        let asked = client.get(self.settings.address(path)).headers(headers).timeout(patience);
        let is_refused = asked.send().await.ok()?.status() == StatusCode::UNAUTHORIZED;
        is_refused.then(|| {
            let at = &self.settings.base_url;
            format!("the model's service at {at} refuses the key; {}", self.where_the_key_is(key))
        })
    }
}
