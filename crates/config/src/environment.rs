//! The environment that the server was started in.

use std::collections::BTreeMap;

use secrecy::{ExposeSecret, SecretString};

/// All its variables. Printing them shows no value.
#[derive(Debug, Default)]
pub(super) struct EnvironmentVariables(BTreeMap<String, SecretString>);

impl EnvironmentVariables {
    /// The value of one, where it is set and not empty.
    pub(super) fn get(&self, name: &str) -> Option<&SecretString> {
        self.0.get(name).filter(|value| !value.expose_secret().trim().is_empty())
    }
}

impl FromIterator<(String, SecretString)> for EnvironmentVariables {
    fn from_iter<T: IntoIterator<Item = (String, SecretString)>>(variables: T) -> Self {
        Self(variables.into_iter().collect())
    }
}
