//! The effective settings and where each comes from, for display. Secrets are only shown as set.

use std::path::Path;

use toml::Value;

use super::SettingsError;
use super::kind::{RawSetting, SettingKind};
use super::known::{KNOWN_SETTINGS, KnownSetting, SettingDefault};
use super::raw::LocatedSetting;
use super::server::read;

/// One setting with its effective value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveSetting {
    pub key: String,
    /// The effective value; `set` for a secret.
    pub value: String,
    /// The file and line, the variable, or `default`.
    pub from: String,
    /// The description from the documentation.
    pub about: &'static str,
}

/// All settings in the documentation's order. Keys with a placeholder appear once for each name that was given.
///
/// # Errors
/// Same as [`super::Settings::load`].
pub fn effective_settings(
    file: Option<&Path>,
    env: impl Iterator<Item = (String, String)>,
) -> Result<Vec<EffectiveSetting>, SettingsError> {
    let (keys, _) = read(file, env)?;
    let mut all = Vec::new();
    for known in KNOWN_SETTINGS {
        let given = keys.given.iter().filter(|(key, _)| known.is(key));
        let before = all.len();
        all.extend(given.map(|(key, given)| as_given(known, key, given)));
        if all.len() == before {
            all.extend(as_usual(known));
        }
    }
    Ok(all)
}

fn as_given(known: &KnownSetting, key: &str, given: &LocatedSetting) -> EffectiveSetting {
    let value = match (known.kind, &given.raw) {
        (SettingKind::Secret(_), _) => "set".to_owned(),
        (_, RawSetting::Variable(text) | RawSetting::File(Value::String(text))) => text.clone(),
        (_, RawSetting::File(Value::Float(number))) => number.to_string(),
        (_, RawSetting::File(Value::Array(items))) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        (_, RawSetting::File(other)) => other.to_string(),
    };
    EffectiveSetting { key: key.to_owned(), value, from: given.location.to_string(), about: known.about }
}

/// The entry for a setting that was not given. `None` if its key has a placeholder.
fn as_usual(known: &KnownSetting) -> Option<EffectiveSetting> {
    if known.key_of("") != known.key {
        return None;
    }
    let value = match known.default {
        SettingDefault::Is("") => "empty".to_owned(),
        SettingDefault::Is(text) => text.to_owned(),
        SettingDefault::Required(_) | SettingDefault::Optional(_) => "not set".to_owned(),
        SettingDefault::Depends(on, _) => on.to_owned(),
    };
    Some(EffectiveSetting {
        key: known.key.to_owned(),
        value,
        from: "default".to_owned(),
        about: known.about,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_says_where_it_comes_from_and_no_secret_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("journeyman.toml");
        std::fs::write(
            &file,
            "[server]\napi_token = \"c4nary-in-the-file-0123\"\n[defaults]\nlabel = \"bot\"\n",
        )
        .unwrap();
        let env = [
            ("JOURNEYMAN_STORE__URL", "postgres://user:c4nary@host/db"),
            ("JOURNEYMAN_LIMITS__ORDER_USD", "7"),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let all = effective_settings(Some(&file), env.into_iter()).unwrap();
        let shown = |key: &str| {
            let found = all.iter().find(|setting| setting.key == key).unwrap();
            (found.value.as_str(), found.from.replace(&file.display().to_string(), "FILE"))
        };
        assert_eq!(shown("server.api_token"), ("set", "FILE, line 2".to_owned()));
        assert_eq!(shown("store.url"), ("set", "the environment, JOURNEYMAN_STORE__URL".to_owned()));
        assert_eq!(shown("defaults.label"), ("bot", "FILE, line 4".to_owned()));
        assert_eq!(
            shown("limits.order_usd"),
            ("7", "the environment, JOURNEYMAN_LIMITS__ORDER_USD".to_owned())
        );
        assert_eq!(shown("limits.order_runs"), ("60", "default".to_owned()));
        assert!(!format!("{all:?}").contains("c4nary"), "{all:?}");
    }
}
