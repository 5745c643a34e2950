//! JSON Schemas of the receipt and of the files that people write, generated from their types and the table of
//! settings. A test keeps docs/schemas/ up to date.
//!
//! May know: [`KNOWN_SETTINGS`] and the types of `order`. Must never know: who reads the schemas.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::kind::SettingKind;
use super::known::{KNOWN_SETTINGS, KnownSetting, SettingDefault, WHOSE};
use journeyman_order::{Pipeline, Receipt, RepositorySettings, Role};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Placeholders in keys, and the pattern of the names in their place.
const NAMES: [(&str, &str); 2] = [("NAME", "^[a-z0-9_-]{1,40}$"), ("\"MODEL\"", "^\\S{1,200}$")];

/// Each schema with its file name.
pub fn json_schemas() -> Vec<(&'static str, Value)> {
    let read = || SchemaSettings::draft2020_12().for_deserialize();
    let written = SchemaSettings::draft2020_12().for_serialize();
    let repository = "A repository's settings for Journeyman, .github/journeyman.yml";
    vec![
        ("journeyman.toml.json", settings()),
        ("repository.json", titled::<RepositorySettings>(read(), repository)),
        ("pipeline.json", titled::<Pipeline>(read(), "A pipeline of Journeyman")),
        ("role.json", titled::<Role>(read(), "A role of Journeyman")),
        ("receipt.json", titled::<Receipt>(written, "A receipt of Journeyman")),
    ]
}

fn titled<T: JsonSchema>(settings: SchemaSettings, title: &str) -> Value {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}

/// The schema of `journeyman.toml`. The program is stricter if a text has to name something that exists.
fn settings() -> Value {
    let mut root = table();
    for known in KNOWN_SETTINGS {
        let each = if known.key.contains("WHOSE") { &WHOSE[..] } else { &[""] };
        for whose in each {
            let key = known.key.replace("WHOSE", whose);
            let mut place = &mut root;
            for part in key.split('.') {
                if place.is_null() {
                    *place = table();
                }
                place = match NAMES.iter().find(|(stands, _)| *stands == part) {
                    Some((_, pattern)) => &mut place["patternProperties"][*pattern],
                    None => &mut place["properties"][part],
                };
            }
            *place = setting(known);
        }
    }
    root["$schema"] = DIALECT.into();
    root["title"] = "Settings of a Journeyman server, journeyman.toml".into();
    root
}

fn table() -> Value {
    json!({ "type": "object", "additionalProperties": false })
}

fn setting(known: &KnownSetting) -> Value {
    let mut schema = of_kind(known.kind);
    schema["description"] = known.about.into();
    if let SettingDefault::Is(text) = known.default {
        schema["default"] = json!(known.kind.in_environment(text));
    }
    schema
}

fn of_kind(kind: SettingKind) -> Value {
    let texts = |least: u64| json!({ "type": "array", "items": { "type": "string" }, "minItems": least });
    match kind {
        SettingKind::Text => json!({ "type": "string", "minLength": 1 }),
        SettingKind::Name(most) => json!({ "type": "string", "minLength": 1, "maxLength": most }),
        SettingKind::Secret(least) => json!({ "type": "string", "minLength": least, "writeOnly": true }),
        SettingKind::Choice(words) => json!({ "type": "string", "enum": words }),
        SettingKind::Address => json!({ "type": "string", "pattern": ":[0-9]+$" }),
        SettingKind::Url => json!({ "type": "string", "format": "uri" }),
        SettingKind::Integer(from, to) => json!({ "type": "integer", "minimum": from, "maximum": to }),
        SettingKind::Amount(most) => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": most }),
        SettingKind::Price(most) => json!({ "type": "number", "minimum": 0, "maximum": most }),
        SettingKind::Truth => json!({ "type": "boolean" }),
        SettingKind::List => texts(0),
        SettingKind::Paths => json!({ "type": "array", "items": { "type": "string", "pattern": "^/" } }),
        SettingKind::Command => texts(1),
    }
}
