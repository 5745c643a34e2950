//! What a setting may be, and what was given for it as that.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::SecretString;
use url::Url;

/// What a setting may be. The kind holds the bounds, says what is expected, and decides how TOML shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SettingKind {
    /// Any text but an empty one.
    Text,
    /// A text of at most so many characters, without spaces around it.
    Name(usize),
    /// A text of at least so many characters that is shown nowhere.
    Secret(usize),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// An IP address and a port.
    Address,
    /// An address of the web.
    Url,
    /// A whole number, from and to.
    Integer(u64, u64),
    /// A number over 0, and at most this.
    Amount(f64),
    /// A number from 0 to this.
    Price(f64),
    Truth,
    /// Texts; in the environment, split at commas.
    List,
    /// The same, of absolute paths.
    Paths,
    /// A program and its arguments; in the environment, split as a shell would, quotes included.
    Command,
}

impl SettingKind {
    /// What a value has to be.
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

    /// What the environment would say, as TOML.
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

    fn fits_text(self, text: &str) -> bool {
        match self {
            Self::Name(most) => {
                text.chars().count() <= most && !text.chars().any(char::is_control) && text.trim() == text
            }
            Self::Secret(least) => text.len() >= least && (least < 2 || !is_guessable(text)),
            Self::Choice(words) => words.contains(&text),
            Self::Text | Self::Address | Self::Url => true,
            Self::Integer(..)
            | Self::Amount(_)
            | Self::Price(_)
            | Self::Truth
            | Self::List
            | Self::Paths
            | Self::Command => false,
        }
    }
}

/// Whether nobody had it made: an example that was left, such as that of journeyman.example.toml, or a key that was held down.
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
    Text(String),
    Integer(i64),
    Float(f64),
    Truth(bool),
    List(Vec<String>),
    /// From the environment: the key decides what it is.
    Variable(String),
    /// Of a kind that no key has.
    Other,
}

impl RawSetting {
    fn variable(&self) -> Option<&str> {
        if let Self::Variable(text) = self { Some(text) } else { None }
    }
}

/// What a value is read as. Nothing where it is not of its kind.
pub(super) trait SettingValue: Sized {
    fn read(kind: SettingKind, raw: &RawSetting) -> Option<Self>;
}

impl SettingValue for String {
    fn read(kind: SettingKind, raw: &RawSetting) -> Option<Self> {
        let (RawSetting::Text(text) | RawSetting::Variable(text)) = raw else { return None };
        (!text.trim().is_empty() && kind.fits_text(text)).then(|| text.clone())
    }
}

impl SettingValue for SecretString {
    fn read(kind: SettingKind, raw: &RawSetting) -> Option<Self> {
        String::read(kind, raw).map(Self::from)
    }
}

impl SettingValue for PathBuf {
    fn read(kind: SettingKind, raw: &RawSetting) -> Option<Self> {
        String::read(kind, raw).map(Self::from)
    }
}

impl SettingValue for SocketAddr {
    fn read(kind: SettingKind, raw: &RawSetting) -> Option<Self> {
        String::read(kind, raw)?.parse().ok()
    }
}

impl SettingValue for Url {
    fn read(kind: SettingKind, raw: &RawSetting) -> Option<Self> {
        let url = Self::parse(&String::read(kind, raw)?).ok()?;
        let names_nobody = url.username().is_empty() && url.password().is_none();
        (matches!(url.scheme(), "http" | "https") && names_nobody).then_some(url)
    }
}

impl SettingValue for u64 {
    fn read(kind: SettingKind, raw: &RawSetting) -> Option<Self> {
        let SettingKind::Integer(from, to) = kind else { return None };
        let number = if let RawSetting::Integer(number) = raw {
            Self::try_from(*number).ok()?
        } else {
            raw.variable()?.trim().parse().ok()?
        };
        (from..=to).contains(&number).then_some(number)
    }
}

impl SettingValue for u32 {
    fn read(kind: SettingKind, raw: &RawSetting) -> Option<Self> {
        u64::read(kind, raw)?.try_into().ok()
    }
}

impl SettingValue for usize {
    fn read(kind: SettingKind, raw: &RawSetting) -> Option<Self> {
        u64::read(kind, raw)?.try_into().ok()
    }
}

impl SettingValue for f64 {
    fn read(kind: SettingKind, raw: &RawSetting) -> Option<Self> {
        let number = if let RawSetting::Float(number) = raw {
            *number
        } else if let RawSetting::Integer(number) = raw {
            // Whole dollars need no decimal point.
            i32::try_from(*number).ok()?.into()
        } else {
            raw.variable()?.trim().parse().ok()?
        };
        let fits = matches!(kind, SettingKind::Amount(most) if number > 0.0 && number <= most)
            || matches!(kind, SettingKind::Price(most) if (0.0..=most).contains(&number));
        fits.then_some(number)
    }
}

impl SettingValue for bool {
    fn read(_: SettingKind, raw: &RawSetting) -> Option<Self> {
        if let RawSetting::Truth(truth) = raw { Some(*truth) } else { raw.variable()?.trim().parse().ok() }
    }
}

impl SettingValue for Vec<String> {
    fn read(kind: SettingKind, raw: &RawSetting) -> Option<Self> {
        let is_command = kind == SettingKind::Command;
        let words = if let RawSetting::List(items) = raw {
            items.clone()
        } else if is_command {
            shell_words::split(raw.variable()?).ok()?
        } else {
            split_list(raw.variable()?)
        };
        let names_no_program = words.first().is_none_or(String::is_empty);
        (!(is_command && names_no_program)).then_some(words)
    }
}

impl SettingValue for Vec<PathBuf> {
    fn read(kind: SettingKind, raw: &RawSetting) -> Option<Self> {
        let paths: Self = Vec::<String>::read(kind, raw)?.into_iter().map(PathBuf::from).collect();
        paths.iter().all(|path| path.is_absolute()).then_some(paths)
    }
}
