//! One operation of the REST API: what its path, query and body may contain.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use journeyman::emulator::{ApiCall, Caller};
use jsonschema::Validator;
use serde::Deserialize;
use serde_json::{Value, json};

use super::description::{Description, Found, description};
use super::schema::closed;

#[derive(Deserialize)]
struct Wire {
    #[serde(default)]
    parameters: Vec<Value>,
    #[serde(rename = "requestBody")]
    body: Option<Value>,
    #[serde(default)]
    deprecated: bool,
    #[serde(rename = "x-github")]
    github: Extension,
}

#[derive(Deserialize)]
struct Extension {
    /// Whether an installation's token can use it.
    #[serde(rename = "enabledForGitHubApps")]
    for_installations: Option<bool>,
}

/// An operation, prepared for checking.
struct Operation {
    in_path: BTreeMap<String, Parameter>,
    in_query: BTreeMap<String, Parameter>,
    body: Option<Body>,
    is_deprecated: bool,
    is_for_installations: bool,
}

struct Parameter {
    is_required: bool,
    schema: Value,
    validator: Validator,
}

struct Body {
    is_required: bool,
    /// Validates JSON; `None` if the operation accepts none.
    validator: Option<Validator>,
}

/// What is wrong with a REST request, headers aside.
pub(super) fn complaints(call: &ApiCall) -> Vec<String> {
    let (path, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
    let Some(path) = path.strip_prefix("/api/v3/") else {
        return vec!["the REST API is under /api/v3/".to_owned()];
    };
    let segments: Vec<String> = path.split('/').map(decoded).collect();
    let found = match description().find(&call.method, &segments) {
        Ok(found) => found,
        Err(complaint) => return vec![complaint],
    };
    let operation = operation(&call.method, &found);
    let mut wrong = Vec::new();
    if operation.is_deprecated {
        wrong.push("GitHub calls this operation deprecated".to_owned());
    }
    if call.caller == Caller::Installation && !operation.is_for_installations {
        wrong.push("an installation's token does not open this operation".to_owned());
    }
    wrong.extend(operation.of_path(&found.in_path));
    wrong.extend(operation.of_query(query));
    wrong.extend(operation.of_body(&call.body));
    wrong
}

/// Parsed once per process.
fn operation(method: &str, found: &Found) -> Arc<Operation> {
    type Known = Mutex<HashMap<(String, &'static str), Arc<Operation>>>;
    static KNOWN: OnceLock<Known> = OnceLock::new();
    let mut known = KNOWN.get_or_init(Known::default).lock().unwrap_or_else(PoisonError::into_inner);
    let key = (method.to_owned(), found.template);
    Arc::clone(known.entry(key).or_insert_with(|| Arc::new(Operation::read(description(), found))))
}

impl Operation {
    fn read(description: &Description<'static>, found: &Found) -> Self {
        let wire: Wire = serde_json::from_str(found.operation.get()).expect("an operation");
        let (mut in_path, mut in_query) = (BTreeMap::new(), BTreeMap::new());
        for parameter in wire.parameters {
            let parameter = description.resolved(parameter);
            let name = parameter["name"].as_str().expect("a parameter has a name").to_owned();
            let schema = closed(description, &parameter["schema"]);
            let is_required = parameter["required"] == true;
            let validator = validator(&schema);
            let place = if parameter["in"] == "path" { &mut in_path } else { &mut in_query };
            place.insert(name, Parameter { is_required, schema, validator });
        }
        let body = wire.body.map(|body| {
            let body = description.resolved(body);
            let schema = &body["content"]["application/json"]["schema"];
            let validator = schema.is_object().then(|| validator(&closed(description, schema)));
            Body { is_required: body["required"] == true, validator }
        });
        Self {
            in_path,
            in_query,
            body,
            is_deprecated: wire.deprecated,
            is_for_installations: wire.github.for_installations == Some(true),
        }
    }

    fn of_path(&self, values: &BTreeMap<String, String>) -> Vec<String> {
        let known = values.iter().filter_map(|(name, value)| Some((name, self.in_path.get(name)?, value)));
        known.flat_map(|(name, parameter, value)| parameter.complaints(name, value)).collect()
    }

    fn of_query(&self, query: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut given: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()).into_owned() {
            match self.in_query.get(&name) {
                None => wrong.push(format!("the query has no parameter {name:?}")),
                Some(parameter) => wrong.extend(parameter.complaints(&name, &value)),
            }
            if given.insert(name.clone(), value).is_some() {
                wrong.push(format!("{name:?} stands in the query twice"));
            }
        }
        let missing =
            self.in_query.iter().filter(|(name, one)| one.is_required && !given.contains_key(*name));
        wrong.extend(missing.map(|(name, _)| format!("the query lacks {name:?}")));
        wrong
    }

    fn of_body(&self, text: &str) -> Vec<String> {
        let Some(body) = &self.body else {
            return if text.is_empty() { Vec::new() } else { vec!["it takes no body".to_owned()] };
        };
        if text.is_empty() {
            return if body.is_required { vec!["it lacks a body".to_owned()] } else { Vec::new() };
        }
        let Some(validator) = &body.validator else { return vec!["its body is not JSON".to_owned()] };
        match serde_json::from_str::<Value>(text) {
            Err(error) => vec![format!("its body is not JSON: {error}")],
            Ok(value) => told(validator, &value, "the body"),
        }
    }
}

impl Parameter {
    /// Checks a text from a URL as the type that it represents.
    fn complaints(&self, name: &str, text: &str) -> Vec<String> {
        let read = || serde_json::from_str::<Value>(text).ok();
        let value = match self.schema["type"].as_str() {
            Some("integer" | "number" | "boolean") => read().unwrap_or_else(|| json!(text)),
            Some("array") => text.split(',').map(|one| json!(one)).collect(),
            Some(_) | None => json!(text),
        };
        told(&self.validator, &value, name)
    }
}

fn validator(schema: &Value) -> Validator {
    let made = jsonschema::options().should_validate_formats(true).build(schema);
    made.unwrap_or_else(|error| panic!("a schema of GitHub's is none: {error}: {schema}"))
}

/// The violations in a value.
fn told(validator: &Validator, value: &Value, what: &str) -> Vec<String> {
    let errors = validator.iter_errors(value);
    errors.map(|error| format!("{what}{}: {error}", error.instance_path())).collect()
}

/// A decoded path segment.
fn decoded(segment: &str) -> String {
    // In a path, a plus is a plus.
    let pair = format!("x={}", segment.replace('+', "%2B"));
    url::form_urlencoded::parse(pair.as_bytes()).map(|(_, value)| value.into_owned()).collect()
}
