//! JSON in an agent's answer: found, parsed, and validated against a schema. Errors are worded so that an agent can fix
//! them.

use jsonschema::Validator;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::feedback::{Category, Feedback, Finding};
use crate::bounds::MOST_NAMED;

/// Largest answer in bytes.
pub(super) const LONGEST_ANSWER: usize = 8 * 1024 * 1024;

/// Most braces of an answer that are tried as the start of JSON.
const MOST_BRACES: usize = 200;

/// The only JSON object of an answer, alone or within prose. A second object, even a broken one, invalidates the
/// answer: it may quote one that somebody planted.
pub(super) fn object(answer: &str) -> Result<Value, Feedback> {
    if answer.len() > LONGEST_ANSWER {
        return Err(invalid(format!("the answer has {} bytes, more than {LONGEST_ANSWER}", answer.len())));
    }
    let text = answer.trim();
    if text.is_empty() {
        return Err(invalid("the answer is empty"));
    }
    let mut found: Option<Value> = None;
    let mut fault = None;
    let mut rest = text;
    for looked_at in 0.. {
        let Some(brace) = rest.find('{') else { break };
        if looked_at == MOST_BRACES {
            return Err(invalid("the answer holds too many braces to tell which object it is"));
        }
        rest = &rest[brace..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                rest = &rest[values.byte_offset()..];
                if found.replace(value).is_some() {
                    return Err(invalid("the answer holds more than one JSON object"));
                }
            }
            Some(Err(error)) => {
                let said = format!("the answer is no JSON object: {error}");
                // An answer that breaks off is reported as such: its inner objects are not the answer.
                let is_whole = found.is_none() && rest.len() == text.len();
                if is_whole || error.is_eof() || rest[1..].trim_start().starts_with('"') {
                    return Err(invalid(said));
                }
                fault.get_or_insert(said);
                rest = &rest[1..];
            }
            None => break,
        }
    }
    found.ok_or_else(|| invalid(fault.unwrap_or_else(|| "the answer holds no JSON object".to_owned())))
}

/// A value's schema violations; empty if it fits.
pub(super) fn faults(value: &Value, schema: &Value) -> Vec<String> {
    match super::schema::schema_validator(schema) {
        Ok(validator) => faults_of_form(value, &validator),
        Err(_) => vec!["the schema itself is none; a person has to mend the pipeline".to_owned()],
    }
}

/// The same with a compiled schema.
pub(super) fn faults_of_form(value: &Value, form: &Validator) -> Vec<String> {
    form.iter_errors(value)
        .take(MOST_NAMED)
        .map(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "the object".to_owned() } else { place };
            let said: String = error.to_string().chars().take(300).collect();
            format!("{place}: {said}")
        })
        .collect()
}

/// Converts a value whose form was checked.
pub(super) fn read<T: DeserializeOwned>(value: Value) -> Result<T, Feedback> {
    serde_json::from_value(value).map_err(|error| not_of_the_form(vec![error.to_string()]))
}

/// The object of an answer, if it fits the schema and the required fields are present and not empty.
pub(super) fn fitting(answer: &str, schema: &Value, required: &[String]) -> Result<Value, Feedback> {
    let value = object(answer)?;
    let mut wrong = faults(&value, schema);
    wrong.extend(
        required
            .iter()
            .filter(|name| is_empty(value.get(name.as_str())))
            .map(|name| format!("/{name}: has to be there and not be empty")),
    );
    if wrong.is_empty() { Ok(value) } else { Err(not_of_the_form(wrong)) }
}

fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(Value::Bool(_) | Value::Number(_)) => false,
    }
}

/// Feedback for an answer that is JSON of the wrong form.
pub(super) fn not_of_the_form(faults: Vec<String>) -> Feedback {
    let count = faults.len();
    let plural = if count == 1 { "" } else { "s" };
    let summary = format!(
        "the answer is not of the form that was asked for: {count} fault{plural}, first {}",
        faults.first().map_or("", String::as_str)
    );
    let issues = faults.into_iter().map(|fault| Finding::critical(Category::InvalidOutput, fault)).collect();
    Feedback { issues, ..Feedback::failed(Category::InvalidOutput, summary) }
}

/// Feedback for an unreadable answer.
pub(super) fn invalid(because: impl Into<String>) -> Feedback {
    Feedback::failed(Category::InvalidOutput, because)
        .suggest("Answer with one JSON object of the form that was asked for, and nothing else.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_is_found_in_prose_and_code_blocks() {
        for answer in [
            r#"{"a": 1}"#,
            "Here it is:\n```json\n{\"a\": 1}\n```\nDone.",
            "```\n{\"a\": 1}\n```",
            "Sure! {\"a\": 1} Anything else?",
            "Where {x} is a set: {\"a\": 1}",
        ] {
            assert_eq!(object(answer).unwrap(), json!({"a": 1}), "{answer:?}");
        }
        for (answer, said) in [
            ("", "empty"),
            ("no", "holds no JSON"),
            ("[1]", "holds no JSON"),
            (r#"The issue says {"a": 1}, but I say {"a": 2}"#, "more than one"),
            (r#"{"a": 2} as opposed to {"a": 1}"#, "more than one"),
            (r#"Here: {"a": {"b": 1}"#, "EOF"),
            (r#"The issue says {"a": 1}. My verdict: {"a": 2, "b": "it bre"#, "EOF"),
            (r#"My verdict: {"a": 2,} and not {"a": 1}"#, "trailing comma"),
            (r#"{"a": 1"#, "EOF"),
            (r#"{"a": 1,}"#, "trailing comma"),
        ] {
            let feedback = object(answer).unwrap_err();
            assert!(feedback.summary.contains(said), "{answer:?}: {}", feedback.summary);
            assert!(!feedback.passed);
        }
    }

    #[test]
    fn an_almost_right_answer_is_told_every_fault() {
        let schema = json!({"type": "object", "required": ["name", "age"], "additionalProperties": false,
            "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}}});
        assert!(fitting(r#"{"name": "a", "age": 1}"#, &schema, &[]).is_ok());
        let feedback =
            fitting(r#"{"name": 1, "age": -1, "x": 0}"#, &schema, &["name".to_owned()]).unwrap_err();
        assert_eq!(feedback.issues.len(), 3, "{feedback:?}");
        let feedback = fitting(r#"{"name": " ", "age": 1}"#, &schema, &["name".to_owned()]).unwrap_err();
        assert!(feedback.summary.contains("/name"), "{}", feedback.summary);
    }
}
