//! What was given for a key, as what the key is.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use secrecy::SecretString;
use url::Url;

use super::SettingsError;
use super::raw::{LocatedSetting, RawSetting, SettingKeys};

impl SettingKeys {
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The error for this key, wherever it stands.
    pub(super) fn wrong(&self, key: &str, expected: impl Into<String>) -> SettingsError {
        let place = self.0.get(key).map_or_else(|| "not set".to_owned(), |given| given.location.to_string());
        SettingsError::Value { key: key.to_owned(), place, expected: expected.into() }
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<String>, SettingsError> {
        match self.raw(key) {
            None => Ok(None),
            Some(RawSetting::Text(text) | RawSetting::Variable(text)) if !text.trim().is_empty() => {
                Ok(Some(text.clone()))
            }
            Some(_) => Err(self.wrong(key, "a text, and not an empty one")),
        }
    }

    pub(super) fn secret(&self, key: &str) -> Result<Option<SecretString>, SettingsError> {
        Ok(self.text(key)?.map(SecretString::from))
    }

    pub(super) fn url(&self, key: &str) -> Result<Option<Url>, SettingsError> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        match Url::parse(&text) {
            Ok(url)
                if matches!(url.scheme(), "http" | "https")
                    && url.username().is_empty()
                    && url.password().is_none() =>
            {
                Ok(Some(url))
            }
            Ok(_) | Err(_) => Err(self.wrong(key, "a URL, https://…, without a name or password in it")),
        }
    }

    pub(super) fn integer(
        &self,
        key: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, SettingsError> {
        let number = match self.raw(key) {
            None => return Ok(None),
            Some(RawSetting::Integer(number)) => u64::try_from(*number).ok(),
            Some(RawSetting::Variable(text)) => text.trim().parse().ok(),
            Some(
                RawSetting::Text(_)
                | RawSetting::Float(_)
                | RawSetting::Truth(_)
                | RawSetting::List(_)
                | RawSetting::Other,
            ) => None,
        };
        let number = number.filter(|number| range.contains(number));
        number.map(Some).ok_or_else(|| {
            self.wrong(key, format!("a whole number from {} to {}", range.start(), range.end()))
        })
    }

    /// More than nothing, at most `most`.
    pub(super) fn amount(&self, key: &str, most: f64) -> Result<Option<f64>, SettingsError> {
        let expected = || self.wrong(key, format!("a number over 0 and at most {most}"));
        self.number(key, |number| number > 0.0 && number <= most, expected)
    }

    /// Nothing or more, at most `most`.
    pub(super) fn price(&self, key: &str, most: f64) -> Result<Option<f64>, SettingsError> {
        let expected = || self.wrong(key, format!("a number from 0 to {most}"));
        self.number(key, |number| number >= 0.0 && number <= most, expected)
    }

    fn number(
        &self,
        key: &str,
        fits: impl Fn(f64) -> bool,
        expected: impl Fn() -> SettingsError,
    ) -> Result<Option<f64>, SettingsError> {
        let number = match self.raw(key) {
            None => return Ok(None),
            Some(RawSetting::Float(number)) => Some(*number),
            // Whole dollars need no decimal point.
            Some(RawSetting::Integer(number)) => i32::try_from(*number).ok().map(f64::from),
            Some(RawSetting::Variable(text)) => text.trim().parse().ok(),
            Some(RawSetting::Text(_) | RawSetting::Truth(_) | RawSetting::List(_) | RawSetting::Other) => {
                None
            }
        };
        number.filter(|number| fits(*number)).map(Some).ok_or_else(expected)
    }

    pub(super) fn truth(&self, key: &str) -> Result<Option<bool>, SettingsError> {
        match self.raw(key) {
            None => Ok(None),
            Some(RawSetting::Truth(truth)) => Ok(Some(*truth)),
            Some(RawSetting::Variable(text)) if text.trim() == "true" => Ok(Some(true)),
            Some(RawSetting::Variable(text)) if text.trim() == "false" => Ok(Some(false)),
            Some(_) => Err(self.wrong(key, "true or false")),
        }
    }

    /// In the environment a list is split at commas.
    pub(super) fn list(&self, key: &str) -> Result<Option<Vec<String>>, SettingsError> {
        match self.raw(key) {
            None => Ok(None),
            Some(RawSetting::List(items)) => Ok(Some(items.clone())),
            Some(RawSetting::Variable(text)) => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Ok(Some(items.map(str::to_owned).collect()))
            }
            Some(
                RawSetting::Text(_)
                | RawSetting::Integer(_)
                | RawSetting::Float(_)
                | RawSetting::Truth(_)
                | RawSetting::Other,
            ) => Err(self.wrong(key, "a list of texts, [\"…\", \"…\"]")),
        }
    }

    /// In the environment a command is split as a shell would, quotes included.
    pub(super) fn command(&self, key: &str) -> Result<Option<Vec<String>>, SettingsError> {
        let expected = "a program and its arguments, [\"program\", \"argument\"]";
        let words = match self.raw(key) {
            Some(RawSetting::Variable(text)) => {
                Some(shell_words::split(text).map_err(|_| self.wrong(key, expected))?)
            }
            Some(
                RawSetting::Text(_)
                | RawSetting::Integer(_)
                | RawSetting::Float(_)
                | RawSetting::Truth(_)
                | RawSetting::List(_)
                | RawSetting::Other,
            )
            | None => self.list(key).map_err(|_| self.wrong(key, expected))?,
        };
        match words {
            Some(words) if words.first().is_none_or(|program| program.is_empty()) => {
                Err(self.wrong(key, expected))
            }
            words => Ok(words),
        }
    }

    pub(super) fn absolute_paths(&self, key: &str) -> Result<Vec<PathBuf>, SettingsError> {
        let paths: Vec<PathBuf> =
            self.list(key)?.unwrap_or_default().into_iter().map(PathBuf::from).collect();
        if paths.iter().all(|path| path.is_absolute()) {
            Ok(paths)
        } else {
            Err(self.wrong(key, "a list of absolute paths"))
        }
    }

    fn raw(&self, key: &str) -> Option<&RawSetting> {
        self.0.get(key).map(|LocatedSetting { raw, .. }| raw)
    }
}
