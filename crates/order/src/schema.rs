//! JSON schemas from strangers: nothing is fetched, and patterns cannot run away.

/// Compiles a schema. It may not contain references, and its patterns match in linear time: the schema comes from a
/// repository, and the value from an agent.
pub fn schema_validator(schema: &serde_json::Value) -> Result<jsonschema::Validator, String> {
    if let Some(word) = reference(schema) {
        return Err(format!(
            "has `{word}`; write out what it stands for: references to one another can take years to check"
        ));
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

/// The first keyword in a schema that refers to another one.
fn reference(schema: &serde_json::Value) -> Option<&'static str> {
    const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
    match schema {
        serde_json::Value::Object(fields) => REFERENCES
            .into_iter()
            .find(|word| fields.contains_key(*word))
            .or_else(|| fields.values().find_map(reference)),
        serde_json::Value::Array(items) => items.iter().find_map(reference),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::schema_validator;

    #[test]
    fn a_schema_that_would_take_for_ever_is_refused() {
        let doubled = |next: usize| serde_json::json!({"anyOf": [{"$ref": format!("#/$defs/d{next}")}, {"$ref": format!("#/$defs/d{next}")}]});
        let definitions: serde_json::Map<String, serde_json::Value> =
            (0..60).map(|at| (format!("d{at}"), doubled(at + 1))).collect();
        let schema =
            serde_json::json!({"type": "object", "$defs": definitions, "properties": {"x": doubled(0)}});
        assert!(schema_validator(&schema).unwrap_err().contains("$ref"));
        assert!(schema_validator(&serde_json::json!({"type": "object"})).is_ok());
    }
}
