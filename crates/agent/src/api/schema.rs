//! A JSON schema as a service takes it that holds answers to it.

use serde_json::{Map, Value};

/// What Anthropic's structured outputs do not take. Without it a schema allows more, which is harmless: the answer is
/// held against the whole schema afterwards.
const NOT_TAKEN: [&str; 24] = [
    "$schema",
    "$id",
    "$comment",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
];

/// The schema without what is not taken, every object closed; none when an object is meant to be open, which cannot
/// be said.
pub(super) fn strict(schema: &Value) -> Option<Value> {
    let Some(map) = schema.as_object() else {
        return Some(schema.clone());
    };
    let mut strict = Map::new();
    for (key, value) in map.iter().filter(|(key, _)| !NOT_TAKEN.contains(&key.as_str())) {
        let value = match (key.as_str(), value) {
            // Names on the left are the author's, not the language's.
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                let each = named.iter().map(|(name, schema)| Some((name.clone(), self::strict(schema)?)));
                Value::Object(each.collect::<Option<_>>()?)
            }
            ("items", schema) => self::strict(schema)?,
            ("anyOf" | "allOf" | "oneOf", Value::Array(schemas)) => {
                Value::Array(schemas.iter().map(self::strict).collect::<Option<_>>()?)
            }
            (_, value) => value.clone(),
        };
        strict.insert(key.clone(), value);
    }
    if map.get("type").is_some_and(|kind| kind == "object") {
        if map.get("properties").is_none_or(|named| named.as_object().is_none_or(Map::is_empty)) {
            return None;
        }
        strict.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    Some(Value::Object(strict))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_go_names_stay_and_objects_are_closed() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "required": ["pattern", "files"],
            "properties": {
                "pattern": { "type": "string", "pattern": "^CODE-[0-9]{3}$", "maxLength": 8 },
                "files": { "type": "array", "minItems": 1, "items": {
                    "type": "object",
                    "properties": { "kind": { "enum": ["minLength", "test"] } },
                } },
            },
        });
        let strict = strict(&schema).unwrap();
        assert_eq!(
            strict,
            json!({
                "type": "object",
                "required": ["pattern", "files"],
                "additionalProperties": false,
                "properties": {
                    "pattern": { "type": "string" },
                    "files": { "type": "array", "items": {
                        "type": "object",
                        "additionalProperties": false,
                        "properties": { "kind": { "enum": ["minLength", "test"] } },
                    } },
                },
            })
        );
    }

    #[test]
    fn an_object_with_any_keys_cannot_be_asked_for() {
        let open = json!({ "type": "object", "additionalProperties": { "type": "string" } });
        assert_eq!(strict(&open), None);
        assert_eq!(strict(&json!({ "type": "array", "items": open })), None);
    }
}
