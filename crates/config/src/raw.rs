//! Raw keys and values from the file and the environment. Unknown keys are rejected.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::{Deserialize as _, DeserializeOwned, IntoDeserializer as _};
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::SettingsError;
use super::error::SettingLocation;
use super::kind::RawSetting;
use super::known::{KNOWN_SETTINGS, KnownSetting, SettingDefault, replacement_of};
use journeyman_order::byte_order_mark;

const PREFIX: &str = "JOURNEYMAN_";

#[derive(Debug, Clone)]
pub(super) struct LocatedSetting {
    pub(super) raw: RawSetting,
    pub(super) location: SettingLocation,
}

/// Known keys, dotted, with their given values. The environment overrides the file.
#[derive(Debug, Default)]
pub(super) struct SettingKeys {
    pub(super) given: BTreeMap<String, LocatedSetting>,
    /// The settings file. Relative default paths start at its folder.
    file: Option<PathBuf>,
}

/// Sections with one table for each name.
const NAMED: [&str; 2] = ["agents", "registries"];

impl SettingKeys {
    /// The names used below this section, such as agents or models.
    pub(super) fn names(&self, section: &str) -> BTreeSet<String> {
        let name =
            |key: &String| Some(key.strip_prefix(section)?.strip_prefix('.')?.rsplit_once('.')?.0.to_owned());
        self.given.keys().filter_map(name).collect()
    }

    /// Reads the keys of this name. `name` is ignored for keys without one.
    pub(super) fn of<'a>(&'a self, name: &'a str) -> SettingReader<'a> {
        SettingReader { keys: self, name }
    }

    pub(super) fn read_file(&mut self, file: &Path) -> Result<(), SettingsError> {
        let unread = |error: std::io::Error| {
            let mends = [
                (std::io::ErrorKind::NotFound, "`journeyman setup --config` creates it"),
                (std::io::ErrorKind::IsADirectory, "name the file in it, such as journeyman.toml"),
                (std::io::ErrorKind::InvalidData, "the settings have to be TOML in UTF-8"),
            ];
            let mend = mends.iter().find(|(kind, _)| *kind == error.kind()).map(|(_, mend)| *mend);
            let mend = mend.unwrap_or("the user that runs Journeyman has to be able to read it");
            SettingsError::File { file: file.to_owned(), because: format!("{error}; {mend}") }
        };
        let text = std::fs::read_to_string(file).map_err(unread)?;
        let text = byte_order_mark::strip(&text);
        let line_at = |offset: usize| 1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count();
        // The parser's full message would quote the line, which may contain a secret.
        let document = DeTable::parse(text).map_err(|error| SettingsError::Toml {
            file: file.to_owned(),
            line: error.span().map_or(1, |span| line_at(span.start)),
            because: error.message().to_owned(),
        })?;
        self.file = Some(file.to_owned());
        let reader = TomlReader { file: file.into(), line_at: &line_at };
        reader.table(self, &[], document.get_ref())
    }

    /// Ignores variables without `__` after the prefix: they are not settings.
    pub(super) fn read_environment(
        &mut self,
        env: impl Iterator<Item = (String, String)>,
    ) -> Result<(), SettingsError> {
        for (name, value) in env {
            let Some((section, key)) = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once("__"))
            else {
                continue;
            };
            let dotted = format!("{section}.{}", key.replace("__", ".")).to_ascii_lowercase();
            let dotted = self.as_in_file(&dotted);
            self.give(dotted, RawSetting::Variable(value), SettingLocation::Variable(name))?;
        }
        Ok(())
    }

    /// Variable names cannot contain `-`, so `_` also matches a `-` in the file's agent or registry names.
    fn as_in_file(&self, dotted: &str) -> String {
        let named = |section: &'static str| Some((section, dotted.strip_prefix(section)?.strip_prefix('.')?));
        let Some((section, rest)) = NAMED.into_iter().find_map(named) else { return dotted.to_owned() };
        let Some((name, key)) = rest.rsplit_once('.') else { return dotted.to_owned() };
        let same = |other: &String| other.to_ascii_lowercase().replace('-', "_") == name;
        let name = self.names(section).into_iter().find(same).unwrap_or_else(|| name.to_owned());
        format!("{section}.{name}.{key}")
    }

    fn give(&mut self, key: String, raw: RawSetting, place: SettingLocation) -> Result<(), SettingsError> {
        // A variable's name cannot contain a model's name.
        let can_stand_here = !key.starts_with("prices.") || matches!(place, SettingLocation::File { .. });
        if !(can_stand_here && KNOWN_SETTINGS.iter().any(|known| known.is(&key))) {
            let is_section = KNOWN_SETTINGS.iter().any(|known| known.key.starts_with(&format!("{key}.")));
            if is_section && !key.contains('.') {
                let expected = format!("a section, [{key}], with its keys below it");
                return Err(SettingsError::Value { key, place: place.to_string(), expected });
            }
            if let Some(now) = replacement_of(&key) {
                return Err(SettingsError::Former { key, place: place.to_string(), now });
            }
            let nearest = nearest(&key);
            let key = key.chars().take(80).collect();
            return Err(SettingsError::Unknown { key, place: place.to_string(), nearest });
        }
        self.given.insert(key, LocatedSetting { raw, location: place });
        Ok(())
    }
}

/// Reads settings. For settings with a name in their key, it reads those of one name.
#[derive(Debug, Clone, Copy)]
pub(super) struct SettingReader<'a> {
    keys: &'a SettingKeys,
    name: &'a str,
}

impl SettingReader<'_> {
    pub(super) fn has(self, setting: KnownSetting) -> bool {
        self.keys.given.contains_key(&setting.key_of(self.name))
    }

    /// Whether exactly this text was given.
    pub(super) fn says(self, setting: KnownSetting, text: &str) -> bool {
        let given = self.keys.given.get(&setting.key_of(self.name)).map(|given| &given.raw);
        matches!(
            given, Some(RawSetting::File(Value::String(given)) | RawSetting::Variable(given)) if given == text
        )
    }

    /// The given value, or the default. `None` if there is neither.
    pub(super) fn get<T: DeserializeOwned>(self, setting: KnownSetting) -> Result<Option<T>, SettingsError> {
        let usual = match setting.default {
            SettingDefault::Is(text) => Some(RawSetting::Variable(text.to_owned())),
            SettingDefault::Required(_) | SettingDefault::Optional(_) | SettingDefault::Depends(..) => None,
        };
        let given = self.keys.given.get(&setting.key_of(self.name)).map(|given| &given.raw);
        let Some(raw) = given.or(usual.as_ref()) else { return Ok(None) };
        setting.kind.read(raw).map(Some).ok_or_else(|| self.wrong(setting, setting.kind.expected()))
    }

    /// The given value, or the default.
    pub(super) fn need<T: DeserializeOwned>(self, setting: KnownSetting) -> Result<T, SettingsError> {
        self.get(setting)?.ok_or_else(|| self.wrong(setting, setting.kind.expected()))
    }

    /// A path. Relative paths in the file and default paths start at the file's folder, not at the working folder.
    pub(super) fn path(self, setting: KnownSetting) -> Result<Option<PathBuf>, SettingsError> {
        let path: Option<PathBuf> = self.get(setting)?;
        Ok(path.map(|path| self.beside(setting, path)))
    }

    /// Resolves a path relative to the file that sets it.
    pub(super) fn beside(self, setting: KnownSetting, path: PathBuf) -> PathBuf {
        let file = match self.keys.given.get(&setting.key_of(self.name)).map(|given| &given.location) {
            Some(SettingLocation::File { file, .. }) => Some(&**file),
            Some(SettingLocation::Variable(_)) => None,
            None => self.keys.file.as_deref(),
        };
        let Some(file) = file else { return path };
        let folder = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
        folder.parent().map_or(path.clone(), |folder| folder.join(&path))
    }

    /// The file that sets it. `None` if it is not set, or set by a variable.
    pub(super) fn file_of(self, setting: KnownSetting) -> Option<PathBuf> {
        match &self.keys.given.get(&setting.key_of(self.name))?.location {
            SettingLocation::File { file, .. } => Some(file.to_path_buf()),
            SettingLocation::Variable(_) => None,
        }
    }

    /// The error for this setting, with its location.
    pub(super) fn wrong(self, setting: KnownSetting, expected: impl Into<String>) -> SettingsError {
        let key = setting.key_of(self.name);
        let place = self.keys.given.get(&key);
        let place = place.map_or_else(|| "not set".to_owned(), |given| given.location.to_string());
        SettingsError::Value { key, place, expected: expected.into() }
    }
}

struct TomlReader<'a> {
    file: Arc<Path>,
    line_at: &'a dyn Fn(usize) -> usize,
}

impl TomlReader<'_> {
    /// Descends only as deep as known keys. A table in place of a value becomes a value of no valid kind.
    fn table(
        &self,
        keys: &mut SettingKeys,
        above: &[&str],
        table: &DeTable<'_>,
    ) -> Result<(), SettingsError> {
        for (key, value) in table {
            let path = [above, &[key.get_ref()]].concat();
            let leads_on = || above.is_empty() || KNOWN_SETTINGS.iter().any(|known| known.is_below(&path));
            if let DeValue::Table(inner) = value.get_ref()
                && leads_on()
            {
                self.table(keys, &path, inner)?;
            } else {
                let line = (self.line_at)(key.span().start);
                let place = SettingLocation::File { file: Arc::clone(&self.file), line };
                // A number that TOML's types cannot hold becomes a value of no valid kind, like a table.
                let value = Value::deserialize(value.clone().into_deserializer());
                let value = value.unwrap_or_else(|_| Table::new().into());
                keys.give(path.join("."), RawSetting::File(value), place)?;
            }
        }
        Ok(())
    }
}

fn nearest(key: &str) -> Option<String> {
    // The key may have any length, and the comparison is quadratic.
    let key: String = key.chars().take(80).collect();
    let known: Vec<String> = KNOWN_SETTINGS
        .iter()
        .flat_map(|known| known.names_in(&key).into_iter().map(|name| known.key_of(&name)))
        .collect();
    let (distance, nearest) = known
        .iter()
        .map(|known| (strsim::levenshtein(&key, known), known))
        .min_by_key(|(distance, _)| *distance)?;
    // A correct key in the wrong section counts like a typo.
    let last = |key: &str| key.rsplit_once('.').map(|(_, last)| last.to_owned()).unwrap_or(key.to_owned());
    let moved = || known.iter().find(|known| last(known) == last(&key));
    if distance <= 3 { Some(nearest.clone()) } else { moved().cloned() }
}
