//! The door of GraphQL: a document is parsed, its operation carried out, and of every object only the fields that
//! were asked for are told. What the objects are is in `objects`, what can be done in `mutations`;
//! both know only the few types that an App for issues and pull requests needs.

mod mutations;
mod objects;

use async_graphql_parser::types::{
    DocumentOperations, ExecutableDocument, Field, OperationDefinition, OperationType, Selection,
    SelectionSet,
};
use async_graphql_parser::{Positioned, parse_query};
use serde_json::{Map, Value, json};

use self::mutations::mutate;
use self::objects::{FieldData, GraphQlObject};
use crate::reply::{EmulatedApiError, EmulatedApiReply, EmulatedApiResult};
use crate::request::EmulatedApiRequest;
use crate::state::{EmulatorState, TokenHolder};

/// Why a field has no value.
#[derive(Debug, Clone)]
pub(crate) struct GraphQlError {
    kind: String,
    message: String,
}

impl GraphQlError {
    pub(crate) fn new(kind: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), message: message.into() }
    }

    pub(crate) fn no_node(id: &str) -> Self {
        Self::new("NOT_FOUND", format!("Could not resolve to a node with the global id of '{id}'"))
    }

    /// The whole request is refused for it.
    fn undefined(name: &str, of: &str) -> Self {
        Self::new(UNDEFINED, format!("Field '{name}' doesn't exist on type '{of}'"))
    }

    fn json(&self, path: &[Value]) -> Value {
        if self.kind == UNDEFINED {
            let extensions = json!({"code": UNDEFINED});
            return json!({"path": path, "extensions": extensions, "locations": [], "message": self.message});
        }
        json!({"type": self.kind, "path": path, "locations": [], "message": self.message})
    }
}

const UNDEFINED: &str = "undefinedField";

impl From<EmulatedApiError> for GraphQlError {
    fn from(error: EmulatedApiError) -> Self {
        let kind = match error.status {
            403 => "FORBIDDEN",
            404 => "NOT_FOUND",
            _ => "UNPROCESSABLE",
        };
        Self::new(kind, error.message)
    }
}

/// The arguments of a field, with the variables put in.
pub(crate) type FieldArguments = Map<String, Value>;

/// Who asks.
pub(crate) struct GraphQlCaller {
    pub holder: TokenHolder,
    pub by: u64,
}

/// What the selection of fields goes by.
struct FieldSelector<'a> {
    asking: &'a GraphQlCaller,
    document: &'a ExecutableDocument,
    operation: &'a OperationDefinition,
    variables: &'a Value,
}

pub(crate) fn serve(world: &mut EmulatorState, request: &EmulatedApiRequest) -> EmulatedApiResult {
    let asking = GraphQlCaller { holder: request.holder()?.clone(), by: request.actor(world)? };
    let document = match parse_query(request.text("query").unwrap_or_default()) {
        Ok(document) => document,
        Err(error) => return Ok(refused(&[json!({"message": error.to_string()})])),
    };
    let Some(operation) = operation(&document, request.text("operationName").as_deref()) else {
        return Ok(refused(&[json!({"message": "An operation name is required"})]));
    };
    let variables = request.body.get("variables").unwrap_or(&Value::Null);
    let selecting = FieldSelector { asking: &asking, document: &document, operation, variables };
    let mut errors = Vec::new();
    let data = match operation.ty {
        OperationType::Query => {
            let mut told = Map::new();
            selecting
                .select(
                    world,
                    &GraphQlObject::Query,
                    &operation.selection_set.node,
                    &mut told,
                    &mut errors,
                    &[],
                )
                .map(|()| told)
        }
        OperationType::Mutation => selecting.carry_out(world, &mut errors),
        OperationType::Subscription => {
            Err(vec![json!({"message": "Schema is not configured for subscriptions"})])
        }
    };
    match data {
        Ok(data) if errors.is_empty() => Ok(EmulatedApiReply::ok(json!({"data": data}))),
        Ok(data) => Ok(EmulatedApiReply::ok(json!({"data": data, "errors": errors}))),
        Err(errors) => Ok(refused(&errors)),
    }
}

fn refused(errors: &[Value]) -> EmulatedApiReply {
    EmulatedApiReply::ok(json!({"errors": errors}))
}

fn operation<'a>(document: &'a ExecutableDocument, name: Option<&str>) -> Option<&'a OperationDefinition> {
    match (&document.operations, name) {
        (DocumentOperations::Single(one), _) => Some(&one.node),
        (DocumentOperations::Multiple(all), Some(name)) => all.get(name).map(|one| &one.node),
        (DocumentOperations::Multiple(all), None) if all.len() == 1 => {
            all.values().next().map(|one| &one.node)
        }
        (DocumentOperations::Multiple(_), None) => None,
    }
}

/// Errors for which the whole request is refused.
type SelectionResult = Result<(), Vec<Value>>;

impl FieldSelector<'_> {
    /// Every field of a mutation in turn, and then what was asked for of what came of it.
    fn carry_out(
        &self,
        world: &mut EmulatorState,
        errors: &mut Vec<Value>,
    ) -> Result<Map<String, Value>, Vec<Value>> {
        let mut told = Map::new();
        for selection in &self.operation.selection_set.node.items {
            let Selection::Field(Positioned { node: field, .. }) = &selection.node else { continue };
            let name = field.name.node.as_str();
            let path = [json!(field.response_key().node.as_str())];
            let value = match mutate(world, self.asking, name, &self.arguments(field)) {
                Ok(payload) => {
                    let mut fields = Map::new();
                    let object = GraphQlObject::Payload(&payload);
                    self.select(world, &object, &field.selection_set.node, &mut fields, errors, &path)?;
                    Value::Object(fields)
                }
                Err(refusal) if refusal.kind == UNDEFINED => return Err(vec![refusal.json(&path)]),
                Err(refusal) => {
                    errors.push(refusal.json(&path));
                    Value::Null
                }
            };
            told.insert(field.response_key().node.to_string(), value);
        }
        Ok(told)
    }

    fn select(
        &self,
        world: &EmulatorState,
        of: &GraphQlObject<'_>,
        set: &SelectionSet,
        told: &mut Map<String, Value>,
        errors: &mut Vec<Value>,
        path: &[Value],
    ) -> SelectionResult {
        for selection in &set.items {
            let (condition, within) = match &selection.node {
                Selection::Field(field) => {
                    self.field(world, of, &field.node, told, errors, path)?;
                    continue;
                }
                Selection::InlineFragment(one) => {
                    let condition = one.node.type_condition.as_ref();
                    (condition.map(|on| on.node.on.node.as_str()), &one.node.selection_set.node)
                }
                Selection::FragmentSpread(one) => {
                    let name = one.node.fragment_name.node.as_str();
                    let Some(found) = self.document.fragments.get(name) else {
                        let message = format!("Fragment {name} was used, but not defined");
                        return Err(vec![json!({"message": message})]);
                    };
                    let on = found.node.type_condition.node.on.node.as_str();
                    (Some(on), &found.node.selection_set.node)
                }
            };
            if condition.is_none_or(|on| of.is_a(world, on)) {
                self.select(world, of, within, told, errors, path)?;
            }
        }
        Ok(())
    }

    fn field(
        &self,
        world: &EmulatorState,
        of: &GraphQlObject<'_>,
        field: &Field,
        told: &mut Map<String, Value>,
        errors: &mut Vec<Value>,
        path: &[Value],
    ) -> SelectionResult {
        let (name, key) = (field.name.node.as_str(), field.response_key().node.as_str());
        let path = [path, &[json!(key)]].concat();
        let set = &field.selection_set.node;
        let value = match of.field(world, self.asking, name, &self.arguments(field)) {
            Ok(Some(FieldData::Leaf(value))) => value,
            Ok(Some(FieldData::One(object))) => {
                let mut fields = Map::new();
                self.select(world, &object, set, &mut fields, errors, &path)?;
                Value::Object(fields)
            }
            Ok(Some(FieldData::Many(objects))) => {
                let mut list = Vec::new();
                for (at, object) in objects.iter().enumerate() {
                    let mut fields = Map::new();
                    let path = [path.as_slice(), &[json!(at)]].concat();
                    self.select(world, object, set, &mut fields, errors, &path)?;
                    list.push(Value::Object(fields));
                }
                Value::Array(list)
            }
            Ok(None) => return Err(vec![GraphQlError::undefined(name, of.type_name(world)).json(&path)]),
            Err(refusal) => {
                errors.push(refusal.json(&path));
                Value::Null
            }
        };
        told.insert(key.to_owned(), value);
        Ok(())
    }

    /// The arguments of a field, with the variables put in. A variable that was not given has its default, or none.
    fn arguments(&self, field: &Field) -> FieldArguments {
        let variable = |name: &str| {
            let defined = self.operation.variable_definitions.iter().find(|one| one.node.name.node == name);
            let otherwise = defined.and_then(|one| one.node.default_value.as_ref());
            let otherwise = otherwise.and_then(|value| value.node.clone().into_json().ok());
            self.variables.get(name).cloned().or(otherwise).unwrap_or_default()
        };
        let mut known = FieldArguments::new();
        for (name, value) in &field.arguments {
            let value = value.node.clone().into_const_with(|one| variable(&one).try_into());
            if let Some(value) = value.ok().and_then(|value| value.into_json().ok()) {
                known.insert(name.node.to_string(), value);
            }
        }
        known
    }
}

pub(crate) fn undefined_mutation(name: &str) -> GraphQlError {
    GraphQlError::undefined(name, "Mutation")
}
