//! The kinds of settings, and reading raw values as them.

use std::collections::BTreeSet;
use std::path::Path;

use serde::de::DeserializeOwned;
use toml::Value;
use url::Url;

/// A setting's kind. It checks the bounds, words the expectation and formats the value as TOML.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SettingKind {
    /// Any text that is not empty.
    Text,
    /// A text of at most this many characters, without surrounding spaces.
    Name(usize),
    /// A text of at least this many characters, never shown.
    Secret(usize),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// An IP address and a port.
    Address,
    /// A web address.
    Url,
    /// A whole number in this range, inclusive.
    Integer(u64, u64),
    /// A number above 0, up to this.
    Amount(f64),
    /// A number from 0 to this.
    Price(f64),
    Truth,
    /// A list of texts. In the environment, split at commas.
    List,
    /// A list of absolute paths.
    Paths,
    /// A program and its arguments. In the environment, split like in a shell, quotes included.
    Command,
}

impl SettingKind {
    /// The expected value, for errors.
    pub fn expected(self) -> String {
        match self {
            Self::Text | Self::Secret(0 | 1) => "a text that is not empty".to_owned(),
            Self::Name(most) => format!("a text of at most {most} characters, without spaces around it"),
            Self::Secret(least) => {
                format!(
                    "a text that nobody can guess, at least {least} characters long, such as `openssl rand -hex 32` makes"
                )
            }
            Self::Choice(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                match quoted.split_last() {
                    Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
                    Some(_) | None => quoted.concat(),
                }
            }
            Self::Address => "an IP address and a port, such as 127.0.0.1:3000".to_owned(),
            Self::Url => "a URL, https://…, without a name or password in it".to_owned(),
            Self::Integer(from, to) => format!("a whole number from {from} to {to}"),
            Self::Amount(most) => format!("a number over 0 and at most {most}"),
            Self::Price(most) => format!("a number from 0 to {most}"),
            Self::Truth => "true or false".to_owned(),
            Self::List => "a list of texts, [\"…\", \"…\"]".to_owned(),
            Self::Paths => "a list of absolute paths".to_owned(),
            Self::Command => "a program and its arguments, [\"program\", \"argument\"]".to_owned(),
        }
    }

    /// Formats an environment value as TOML.
    pub(super) fn toml(self, text: &str) -> String {
        match self {
            Self::Text | Self::Name(_) | Self::Secret(_) | Self::Choice(_) | Self::Address | Self::Url => {
                format!("\"{text}\"")
            }
            Self::Integer(..) | Self::Amount(_) | Self::Price(_) | Self::Truth => text.to_owned(),
            Self::List | Self::Paths => format!("{:?}", split_list(text)),
            Self::Command => format!("{:?}", shell_words::split(text).unwrap_or_default()),
        }
    }

    /// The raw value as this kind. `None` if it does not fit.
    pub(super) fn read<T: DeserializeOwned>(self, raw: &RawSetting) -> Option<T> {
        let value = match raw {
            RawSetting::File(value) => value.clone(),
            RawSetting::Variable(text) => self.in_environment(text)?,
        };
        self.fits(&value).then(|| value.try_into().ok())?
    }

    /// Parses the text of a variable.
    pub(super) fn in_environment(self, text: &str) -> Option<Value> {
        Some(match self {
            Self::Text | Self::Name(_) | Self::Secret(_) | Self::Choice(_) | Self::Address | Self::Url => {
                text.into()
            }
            Self::Integer(..) => Value::Integer(text.trim().parse().ok()?),
            Self::Amount(_) | Self::Price(_) => Value::Float(text.trim().parse().ok()?),
            Self::Truth => Value::Boolean(text.trim().parse().ok()?),
            Self::List | Self::Paths => split_list(text).into(),
            Self::Command => shell_words::split(text).ok()?.into(),
        })
    }

    fn fits(self, value: &Value) -> bool {
        // Accepts whole dollars without a decimal point.
        let whole = || Some(f64::from(i32::try_from(value.as_integer()?).ok()?));
        let number = value.as_float().or_else(whole);
        let texts: Option<Vec<&str>> =
            value.as_array().and_then(|items| items.iter().map(Value::as_str).collect());
        match (self, value) {
            (_, Value::String(text)) if text.trim().is_empty() => false,
            (Self::Text | Self::Address, Value::String(_)) | (Self::Truth, Value::Boolean(_)) => true,
            (Self::Name(most), Value::String(text)) => {
                text.chars().count() <= most && !text.chars().any(char::is_control) && text.trim() == text
            }
            (Self::Secret(least), Value::String(text)) => {
                text.len() >= least && (least < 2 || !is_guessable(text))
            }
            (Self::Choice(words), Value::String(text)) => words.contains(&text.as_str()),
            (Self::Url, Value::String(text)) => Url::parse(text).is_ok_and(|url| {
                let names_nobody = url.username().is_empty() && url.password().is_none();
                matches!(url.scheme(), "http" | "https") && names_nobody
            }),
            (Self::Integer(from, to), Value::Integer(number)) => {
                u64::try_from(*number).is_ok_and(|number| (from..=to).contains(&number))
            }
            (Self::Amount(most), _) => number.is_some_and(|number| number > 0.0 && number <= most),
            (Self::Price(most), _) => number.is_some_and(|number| (0.0..=most).contains(&number)),
            (Self::List, _) => texts.is_some(),
            (Self::Paths, _) => texts.is_some_and(|all| all.iter().all(|path| Path::new(path).is_absolute())),
            (Self::Command, _) => texts.is_some_and(|all| all.first().is_some_and(|first| !first.is_empty())),
            _ => false,
        }
    }
}

/// Whether it was not generated: an example left in place, as in journeyman.example.toml, or one key held down.
fn is_guessable(secret: &str) -> bool {
    const FEWEST: usize = 6;
    let examples = ["replaceme", "changeme", "yoursecret", "yourwebhooksecret", "secretthatyougavetogithub"];
    let letters: String = secret.chars().filter(|c| c.is_alphanumeric()).collect();
    let letters = letters.to_lowercase();
    secret.chars().collect::<BTreeSet<_>>().len() < FEWEST
        || examples.iter().any(|words| letters.contains(words))
}

fn split_list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

/// A value as it was given.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RawSetting {
    File(Value),
    /// From the environment. The setting's kind decides how to parse it.
    Variable(String),
}
