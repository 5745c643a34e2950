//! Converts an OpenAPI 3.0 schema to a closed JSON Schema: unnamed fields are errors.

use serde_json::{Map, Value, json};

use super::description::Description;

/// Whether a schema is a value's whole schema, or only part of one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Whole,
    Part,
}

/// The JSON Schema with references inlined.
pub(super) fn closed(description: &Description<'static>, schema: &Value) -> Value {
    Conversion { description, within: Vec::new() }.convert(schema, Place::Whole)
}

struct Conversion<'a> {
    description: &'a Description<'static>,
    /// References currently being resolved.
    within: Vec<String>,
}

impl Conversion<'_> {
    fn convert(&mut self, schema: &Value, place: Place) -> Value {
        let Some(fields) = schema.as_object() else { return schema.clone() };
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            return self.follow(reference, place);
        }
        let composed = ["oneOf", "anyOf", "allOf"].iter().any(|key| fields.contains_key(*key));
        let names_fields = fields.contains_key("properties") || fields.contains_key("allOf");
        let within = if names_fields { Place::Part } else { place };
        let mut made = Map::new();
        let mut all = Vec::new();
        for (key, value) in fields {
            match key.as_str() {
                "properties" => {
                    let properties = value.as_object().into_iter().flatten();
                    let properties =
                        properties.map(|(name, one)| (name.clone(), self.convert(one, Place::Whole)));
                    made.insert(key.clone(), Value::Object(properties.collect()));
                }
                // GitHub means one of these forms, but accepts a value that matches two.
                "oneOf" | "anyOf" => all.push(json!({"anyOf": self.each(value, within)})),
                "allOf" => all.extend(self.each(value, within)),
                "items" | "not" => {
                    made.insert(key.clone(), self.convert(value, Place::Whole));
                }
                "additionalProperties" if value.is_object() => {
                    made.insert(key.clone(), self.convert(value, Place::Whole));
                }
                // In a part, it allows the fields that the whole names.
                "additionalProperties" if place == Place::Part && *value == json!(true) => {}
                "type"
                | "enum"
                | "required"
                | "pattern"
                | "format"
                | "additionalProperties"
                | "uniqueItems"
                | "minimum"
                | "maximum"
                | "minLength"
                | "maxLength"
                | "minItems"
                | "maxItems"
                | "minProperties"
                | "maxProperties" => {
                    made.insert(key.clone(), value.clone());
                }
                // Only for human readers.
                _ => {}
            }
        }
        if !all.is_empty() {
            made.insert("allOf".to_owned(), Value::Array(all));
        }
        if place == Place::Whole && names_fields && !fields.contains_key("additionalProperties") {
            let rest = if composed { "unevaluatedProperties" } else { "additionalProperties" };
            made.insert(rest.to_owned(), json!(false));
        }
        if fields.get("nullable") == Some(&json!(true)) { nullable(made) } else { Value::Object(made) }
    }

    fn each(&mut self, schemas: &Value, place: Place) -> Vec<Value> {
        schemas.as_array().into_iter().flatten().map(|schema| self.convert(schema, place)).collect()
    }

    /// Recursive schemas are not followed: no request is that deep.
    fn follow(&mut self, reference: &str, place: Place) -> Value {
        if self.within.iter().any(|one| one == reference) {
            return json!(true);
        }
        self.within.push(reference.to_owned());
        let made = self.convert(&self.description.component(reference), place);
        self.within.pop();
        made
    }
}

/// The same, or null.
fn nullable(mut made: Map<String, Value>) -> Value {
    if let Some(Value::Array(words)) = made.get_mut("enum") {
        words.push(Value::Null);
    }
    match made.get("type").cloned() {
        Some(Value::String(word)) if !made.contains_key("allOf") => {
            made.insert("type".to_owned(), json!([word, "null"]));
            Value::Object(made)
        }
        _ => json!({"anyOf": [made, {"type": "null"}]}),
    }
}
