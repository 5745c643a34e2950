//! Whether a model's service takes our key, asked without spending: the list of models costs nothing.

use std::time::Duration;

use super::{ModelApi, ModelApiKey};
use journeyman_order::model_service::Provider;

/// What a service said to the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyProbe {
    /// It takes the key.
    Accepted,
    /// It refuses the key, or there is none; what to do about it.
    Refused(String),
    /// It said nothing that tells: it has no such list, it was silent, or it could not be reached. Trouble of that
    /// kind passes, and is waited for when it is met.
    Unknown,
}

impl ModelApi {
    /// Asks for the list of models with the key.
    pub async fn probe(&self, key: &ModelApiKey, patience: Duration) -> KeyProbe {
        let headers = match self.headers(key) {
            Ok(headers) => headers,
            Err(failure) => return KeyProbe::Refused(failure.message),
        };
        if matches!(key, ModelApiKey::NotNeeded) {
            return KeyProbe::Unknown;
        }
        let Ok(client) = self.client() else { return KeyProbe::Unknown };
        let path = match self.settings.provider {
            Provider::Anthropic => "v1/models",
            Provider::OpenAi => "models",
        };
        let sent = client.get(self.settings.address(path)).headers(headers).timeout(patience).send().await;
        let Ok(answer) = sent else { return KeyProbe::Unknown };
        match answer.status().as_u16() {
            200..=299 => KeyProbe::Accepted,
            401 => KeyProbe::Refused(format!(
                "the model's service at {} refuses the key; {}",
                self.settings.base_url,
                self.where_the_key_is(key)
            )),
            _ => KeyProbe::Unknown,
        }
    }
}
