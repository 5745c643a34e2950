//! Checks a request of the GraphQL API, document and variables, against GitHub's public schema.

use std::sync::OnceLock;

use apollo_compiler::ast::{Type, Value};
use apollo_compiler::executable::{Operation, Selection, SelectionSet};
use apollo_compiler::request::coerce_variable_values;
use apollo_compiler::response::JsonMap;
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Schema};
use journeyman::emulator::ApiCall;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Request {
    query: String,
    #[serde(default)]
    variables: JsonMap,
    operation_name: Option<String>,
}

fn schema() -> &'static Valid<Schema> {
    static SCHEMA: OnceLock<Valid<Schema>> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let text = super::fetched("schema.graphql");
        Schema::parse_and_validate(text, "schema.graphql").unwrap_or_else(|wrong| {
            // The published schema defines some fields twice, identically.
            let is_known = |error: &str| error.contains("duplicate definitions");
            let worse = wrong.errors.iter().map(|one| one.error.to_string()).find(|error| !is_known(error));
            assert_eq!(worse, None, "GitHub's GraphQL schema is none");
            Valid::assume_valid(wrong.partial)
        })
    })
}

/// What is wrong with a request, headers aside.
pub(super) fn complaints(call: &ApiCall) -> Vec<String> {
    if call.method != "POST" {
        return vec!["GraphQL is asked with POST".to_owned()];
    }
    let request: Request = match serde_json::from_str(&call.body) {
        Ok(request) => request,
        Err(error) => return vec![format!("its body is no request of GraphQL: {error}")],
    };
    let document = match ExecutableDocument::parse_and_validate(schema(), request.query.as_str(), "document")
    {
        Ok(document) => document,
        Err(wrong) => {
            let told = wrong.errors.iter().map(|one| format!("{}: {}", one.error, request.query));
            return told.collect();
        }
    };
    let operation = match document.operations.get(request.operation_name.as_deref()) {
        Ok(operation) => operation,
        Err(_) => return vec!["it does not say which of its operations is meant".to_owned()],
    };
    let mut wrong = of_variables(operation, &request.variables);
    of_usage(&document, operation, &operation.selection_set, &mut wrong);
    wrong
}

/// Checks variables inside argument objects: a nullable one must not be where null is not allowed. The validation
/// covers the arguments themselves.
fn of_usage(
    document: &ExecutableDocument,
    operation: &Operation,
    set: &SelectionSet,
    wrong: &mut Vec<String>,
) {
    for selection in &set.selections {
        let within = match selection {
            Selection::Field(field) => {
                for argument in &field.arguments {
                    if let Some(definition) = field.definition.argument_by_name(&argument.name) {
                        of_value(operation, &argument.value, &definition.ty, wrong);
                    }
                }
                &field.selection_set
            }
            Selection::InlineFragment(fragment) => &fragment.selection_set,
            Selection::FragmentSpread(spread) => match document.fragments.get(&spread.fragment_name) {
                Some(fragment) => &fragment.selection_set,
                None => continue,
            },
        };
        of_usage(document, operation, within, wrong);
    }
}

fn of_value(operation: &Operation, value: &Value, of: &Type, wrong: &mut Vec<String>) {
    if let Some(list) = value.as_list() {
        list.iter().for_each(|one| of_value(operation, one, of.item_type(), wrong));
    }
    let Some(input) = schema().get_input_object(of.inner_named_type()) else { return };
    for (name, value) in value.as_object().into_iter().flatten() {
        let Some(field) = input.fields.get(name) else { continue };
        let variable = value.as_variable();
        match operation.variables.iter().find(|one| variable == Some(&one.name)) {
            Some(one) if field.is_required() && !one.ty.is_non_null() && one.default_value.is_none() => {
                wrong
                    .push(format!("${} of type {} stands for {name} of type {}", one.name, one.ty, field.ty));
            }
            Some(_) => {}
            None => of_value(operation, value, &field.ty, wrong),
        }
    }
}

fn of_variables(operation: &Operation, given: &JsonMap) -> Vec<String> {
    let is_known = |name: &str| operation.variables.iter().any(|one| one.name == name);
    let unknown = given.keys().filter(|name| !is_known(name.as_str()));
    let mut wrong: Vec<String> =
        unknown.map(|name| format!("the document has no variable {:?}", name.as_str())).collect();
    if let Err(error) = coerce_variable_values(schema(), operation, given) {
        wrong.push(error.message().to_string());
    }
    wrong
}
