//! Keys and values as they were given, from the file and from the environment; only known keys get through.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use super::SettingsError;
use super::error::SettingLocation;

/// Every key outside `[agents]` and `[prices]`.
const KEYS: [&str; 40] = [
    "server.listen",
    "server.public_url",
    "server.api_token",
    "github.api_url",
    "github.app_id",
    "github.private_key_path",
    "github.webhook_secret",
    "github.webhook_secret_previous",
    "github.write_interval_ms",
    "github.writes_per_minute",
    "github.writes_per_hour",
    "store.url",
    "data.dir",
    "defaults.label",
    "defaults.agent",
    "defaults.pipeline",
    "templates.dir",
    "limits.concurrent_orders",
    "limits.order_minutes",
    "limits.order_usd",
    "limits.order_runs",
    "limits.gather_seconds",
    "limits.retry_renews",
    "limits.per_day.repository.usd",
    "limits.per_day.repository.minutes",
    "limits.per_day.repository.runs",
    "limits.per_day.sender.usd",
    "limits.per_day.sender.minutes",
    "limits.per_day.sender.runs",
    "limits.per_day.all.usd",
    "limits.per_day.all.minutes",
    "limits.per_day.all.runs",
    "limits.test_seconds",
    "limits.setup_seconds",
    "limits.mutant_seconds",
    "sandbox.mode",
    "sandbox.read",
    "sandbox.setup_network",
    "sandbox.setup_network_for_changes",
    "sandbox.test_network",
];

/// Every key of `[agents.NAME]`.
const AGENT_KEYS: [&str; 10] = [
    "runtime",
    "model",
    "program",
    "env",
    "read",
    "network",
    "provider",
    "base_url",
    "key_env",
    "max_output_tokens",
];

/// Every key of `[prices."MODEL"]`.
pub(super) const PRICE_KEYS: [&str; 4] = ["input", "output", "cache_read", "cache_write"];

const PREFIX: &str = "JOURNEYMAN_";

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

#[derive(Debug, Clone)]
pub(super) struct LocatedSetting {
    pub(super) raw: RawSetting,
    pub(super) location: SettingLocation,
}

/// Known keys, dotted, with what was given for them. The environment has gone over the file.
#[derive(Debug, Default)]
pub(super) struct SettingKeys(pub(super) BTreeMap<String, LocatedSetting>);

impl SettingKeys {
    /// The names of agents that anything was said about.
    pub(super) fn agents(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.0.keys().filter_map(|key| Some(agent_key(key)?.0.to_owned())).collect();
        names.dedup();
        names
    }

    /// The models whose prices anything was said about.
    pub(super) fn prices(&self) -> Vec<String> {
        let mut models: Vec<String> =
            self.0.keys().filter_map(|key| Some(price_key(key)?.0.to_owned())).collect();
        models.dedup();
        models
    }

    pub(super) fn read_file(&mut self, file: &Path) -> Result<(), SettingsError> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| SettingsError::File { file: file.to_owned(), because: error.to_string() })?;
        let line_at = |offset: usize| 1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count();
        // The parser's own text would show the line, and with it perhaps a secret.
        let document = DeTable::parse(&text).map_err(|error| SettingsError::Toml {
            file: file.to_owned(),
            line: error.span().map_or(1, |span| line_at(span.start)),
            because: error.message().to_owned(),
        })?;
        let reader = TomlReader { file: file.into(), line_at: &line_at };
        reader.table(self, "", document.get_ref())
    }

    /// Variables without `__` after the prefix are somebody else's.
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

    /// A variable's name has no `-`: an agent of the file whose name differs in that alone is meant.
    fn as_in_file(&self, dotted: &str) -> String {
        let Some((name, key)) = agent_key(dotted) else { return dotted.to_owned() };
        let same = |other: &String| other.to_ascii_lowercase().replace('-', "_") == name;
        let name = self.agents().into_iter().find(same).unwrap_or_else(|| name.to_owned());
        format!("agents.{name}.{key}")
    }

    fn give(&mut self, key: String, raw: RawSetting, place: SettingLocation) -> Result<(), SettingsError> {
        let is_known = match (agent_key(&key), price_key(&key)) {
            (Some((name, rest)), _) => is_agent_name(name) && AGENT_KEYS.contains(&rest),
            // In the file alone: the name of a variable cannot hold a model's.
            (None, Some((model, rest))) => {
                is_model(model) && PRICE_KEYS.contains(&rest) && matches!(place, SettingLocation::File { .. })
            }
            (None, None) => KEYS.contains(&key.as_str()),
        };
        if !is_known {
            let nearest = nearest(&key);
            let key = key.chars().take(80).collect();
            return Err(SettingsError::Unknown { key, place: place.to_string(), nearest });
        }
        self.0.insert(key, LocatedSetting { raw, location: place });
        Ok(())
    }
}

struct TomlReader<'a> {
    file: Arc<Path>,
    line_at: &'a dyn Fn(usize) -> usize,
}

impl TomlReader<'_> {
    /// Tables are walked as deep as keys go; one in a key's place falls through as a value of no kind.
    fn table(&self, keys: &mut SettingKeys, above: &str, table: &DeTable<'_>) -> Result<(), SettingsError> {
        for (key, value) in table {
            let name = key.get_ref();
            let dotted = if above.is_empty() { name.to_string() } else { format!("{above}.{name}") };
            if let DeValue::Table(inner) = value.get_ref()
                && is_table(above, &dotted)
            {
                self.table(keys, &dotted, inner)?;
            } else {
                let line = (self.line_at)(key.span().start);
                let place = SettingLocation::File { file: Arc::clone(&self.file), line };
                keys.give(dotted, raw(value.get_ref()), place)?;
            }
        }
        Ok(())
    }
}

/// Whether keys stand below this one.
fn is_table(above: &str, dotted: &str) -> bool {
    matches!(above, "" | "agents" | "prices" | "limits.per_day") || dotted == "limits.per_day"
}

fn raw(value: &DeValue<'_>) -> RawSetting {
    match value {
        DeValue::String(text) => RawSetting::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(RawSetting::Other, RawSetting::Integer),
        DeValue::Float(number) => number.as_str().parse().map_or(RawSetting::Other, RawSetting::Float),
        DeValue::Array(array) => {
            let texts: Option<Vec<String>> =
                array.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect();
            texts.map_or(RawSetting::Other, RawSetting::List)
        }
        DeValue::Boolean(truth) => RawSetting::Truth(*truth),
        DeValue::Datetime(_) | DeValue::Table(_) => RawSetting::Other,
    }
}

/// `agents.NAME.KEY` as name and key.
fn agent_key(key: &str) -> Option<(&str, &str)> {
    key.strip_prefix("agents.")?.rsplit_once('.')
}

/// `prices.MODEL.KEY` as model, which may have dots of its own, and key.
fn price_key(key: &str) -> Option<(&str, &str)> {
    key.strip_prefix("prices.")?.rsplit_once('.')
}

fn is_model(name: &str) -> bool {
    (1..=200).contains(&name.len()) && !name.chars().any(|c| c.is_control() || c.is_whitespace())
}

fn is_agent_name(name: &str) -> bool {
    (1..=40).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'))
}

fn nearest(key: &str) -> Option<String> {
    // A text of any length may stand there; the comparison is quadratic.
    let key: String = key.chars().take(80).collect();
    let known: Vec<String> = match (agent_key(&key), price_key(&key)) {
        (Some((name, _)), _) => AGENT_KEYS.iter().map(|known| format!("agents.{name}.{known}")).collect(),
        (None, Some((model, _))) => {
            PRICE_KEYS.iter().map(|known| format!("prices.{model}.{known}")).collect()
        }
        (None, None) => KEYS.iter().map(|known| (*known).to_owned()).collect(),
    };
    let (distance, nearest) = known
        .into_iter()
        .map(|known| (strsim::levenshtein(&key, &known), known))
        .min_by_key(|(distance, _)| *distance)?;
    // A right key in the wrong section is as near as a typing error.
    let last = |key: &str| key.rsplit_once('.').map(|(_, last)| last.to_owned()).unwrap_or(key.to_owned());
    let moved = || KEYS.iter().find(|known| last(known) == last(&key)).map(|known| (*known).to_owned());
    if distance <= 3 { Some(nearest) } else { moved() }
}
