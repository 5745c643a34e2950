//! JSON schemas of strangers: small, without anything fetched, with patterns that cannot run away.

use super::limits::MOST_SCHEMA_BYTES;

/// Makes a schema usable. It refers to nothing outside itself, and its patterns are matched in linear time: the schema
/// comes from a repository, and what is held against it from an agent.
///
/// # Errors
/// What is wrong with the schema.
pub fn schema_validator(schema: &serde_json::Value) -> Result<jsonschema::Validator, String> {
    let bytes = schema.to_string().len();
    if bytes > MOST_SCHEMA_BYTES {
        return Err(format!("has {bytes} bytes as JSON, at most {MOST_SCHEMA_BYTES} are allowed"));
    }
    if !schema.is_object() {
        return Err("is a mapping, such as {type: object, required: [summary]}".to_owned());
    }
    jsonschema::options()
        .with_pattern_options(jsonschema::PatternOptions::regex().size_limit(1 << 20))
        .offline()
        .build(schema)
        .map_err(|error| {
            let error: String = error.to_string().chars().filter(|c| !c.is_control()).take(300).collect();
            format!("is no JSON schema that can be used: {error}")
        })
}

/// The names of its top-level properties.
pub(super) fn properties(schema: &serde_json::Value) -> impl Iterator<Item = &str> {
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    properties.into_iter().flatten().map(|(name, _)| name.as_str())
}
