//! The key to a model's service.

use secrecy::{ExposeSecret, SecretString};

use super::super::LiveRedactor;
use super::super::live_redactor::without;

/// The key that an agent's settings name, as currently in our environment. Debug output shows only its name.
#[derive(Debug, Clone)]
pub enum ModelApiKey {
    /// The settings name no key: a self-hosted service.
    NotNeeded,
    /// The variable is not set, or empty.
    Missing {
        name: String,
    },
    Given {
        name: String,
        value: SecretString,
    },
}

impl ModelApiKey {
    pub(super) fn find(name: Option<&str>, lookup_env: &dyn Fn(&str) -> Option<String>) -> Self {
        let Some(name) = name else { return Self::NotNeeded };
        let name = name.to_owned();
        // A line break, as from a file, would make the header invalid.
        let value = lookup_env(&name).map(|value| value.trim().to_owned());
        match value.filter(|value| !value.is_empty()) {
            Some(value) => Self::Given { name, value: SecretString::from(value) },
            None => Self::Missing { name },
        }
    }

    /// Replaces the key with its variable's name, in case a service or model repeats it.
    pub fn redact(&self, text: &str) -> String {
        match self {
            // A shorter value is too common in ordinary text to redact.
            Self::Given { name, value } if value.expose_secret().len() >= 8 => {
                without(text, value.expose_secret(), &format!("[{name}]"))
            }
            Self::Given { .. } | Self::Missing { .. } | Self::NotNeeded => text.to_owned(),
        }
    }

    /// Like [`Self::redact`], for a stream that is shown while it grows.
    pub fn live_redactor(&self) -> LiveRedactor {
        match self {
            Self::Given { name, value } => LiveRedactor::of([(name.clone(), value.clone())]),
            Self::Missing { .. } | Self::NotNeeded => LiveRedactor::default(),
        }
    }
}
