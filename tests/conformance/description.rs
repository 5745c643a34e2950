//! GitHub's OpenAPI document. It has megabytes, so it is split once into operations and components, which are parsed on
//! demand.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

type Parts<'a> = BTreeMap<String, &'a RawValue>;
/// The smallest rank is the path with the most literal segments; among equals, literals before names.
type Rank = (Reverse<usize>, Vec<bool>);

/// The document, split.
#[derive(Deserialize)]
pub(super) struct Description<'a> {
    /// By path, then by method in lower case.
    #[serde(borrow)]
    paths: BTreeMap<String, Parts<'a>>,
    /// By kind, then by name.
    #[serde(borrow)]
    components: BTreeMap<String, Parts<'a>>,
}

/// The operation of a request, and the values in its path.
#[derive(Debug)]
pub(super) struct Found {
    /// The path with names in braces.
    pub(super) template: &'static str,
    pub(super) operation: &'static RawValue,
    pub(super) in_path: BTreeMap<String, String>,
}

pub(super) fn description() -> &'static Description<'static> {
    static DESCRIPTION: OnceLock<Description<'static>> = OnceLock::new();
    DESCRIPTION.get_or_init(|| {
        let text: &'static str = Box::leak(super::fetched("openapi.json").into_boxed_str());
        serde_json::from_str(text).expect("GitHub's OpenAPI document is one")
    })
}

impl Description<'static> {
    /// The operation for a request.
    ///
    /// # Errors
    /// If the path or method is wrong, the complaint.
    pub(super) fn find(&'static self, method: &str, segments: &[String]) -> Result<Found, String> {
        let single = |_: &RawValue, _: &str| false;
        let several = |operation: &RawValue, name: &str| self.takes_several(operation, name);
        let mut others: BTreeSet<&str> = BTreeSet::new();
        for takes_several in [&single as &dyn Fn(&RawValue, &str) -> bool, &several] {
            // If several paths match, GitHub prefers literals: `/issues/comments/{id}`, not `/issues/{n}/{x}`.
            let mut best: Option<(Rank, Found)> = None;
            for (template, methods) in &self.paths {
                let Some(any) = methods.values().next() else { continue };
                let operation = methods.get(&method.to_ascii_lowercase()).copied();
                let takes = |name: &str| takes_several(operation.unwrap_or(any), name);
                let Some(in_path) = fit(template.strip_prefix('/'), segments, &takes) else { continue };
                let Some(operation) = operation else {
                    others.extend(methods.keys().map(String::as_str));
                    continue;
                };
                let rank = rank(template);
                if best.as_ref().is_none_or(|(before, _)| rank < *before) {
                    best = Some((rank, Found { template, operation, in_path }));
                }
            }
            if let Some((_, found)) = best {
                return Ok(found);
            }
        }
        Err(if others.is_empty() {
            "there is no such route".to_owned()
        } else {
            format!("there is no {method} on this route, only {others:?}")
        })
    }

    /// Whether a name in a path stands for several segments, such as a file's path.
    fn takes_several(&self, operation: &RawValue, name: &str) -> bool {
        #[derive(Deserialize)]
        struct Wire {
            #[serde(default)]
            parameters: Vec<Value>,
        }
        let wire: Wire = serde_json::from_str(operation.get()).expect("an operation");
        let mut parameters = wire.parameters.into_iter().map(|parameter| self.resolved(parameter));
        parameters.any(|one| one["in"] == "path" && one["name"] == name && one["x-multi-segment"] == true)
    }

    /// Resolves a reference, or returns the value itself.
    pub(super) fn resolved(&self, value: Value) -> Value {
        match value.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.component(reference),
            None => value,
        }
    }

    /// The component `#/components/KIND/NAME`.
    pub(super) fn component(&self, reference: &str) -> Value {
        let found = reference.strip_prefix("#/components/").and_then(|place| {
            let (kind, name) = place.split_once('/')?;
            self.components.get(kind)?.get(name)
        });
        let found =
            found.unwrap_or_else(|| panic!("the description refers to {reference}, which is not there"));
        serde_json::from_str(found.get()).expect("a component is JSON")
    }
}

fn rank(template: &str) -> Rank {
    let names: Vec<bool> = template.split('/').map(|part| part.starts_with('{')).collect();
    (Reverse(names.iter().filter(|is_name| !**is_name).count()), names)
}

/// The values for a template's names if the path matches. `None` marks the end of either.
fn fit(
    template: Option<&str>,
    segments: &[String],
    takes_several: &dyn Fn(&str) -> bool,
) -> Option<BTreeMap<String, String>> {
    let (Some(template), Some((segment, rest))) = (template, segments.split_first()) else {
        return (template.is_none() && segments.is_empty()).then(BTreeMap::new);
    };
    let (part, later) = match template.split_once('/') {
        Some((part, later)) => (part, Some(later)),
        None => (template, None),
    };
    let Some(name) = part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) else {
        return if part == segment { fit(later, rest, takes_several) } else { None };
    };
    (0..=rest.len()).find_map(|more| {
        let mut found = fit(later, &rest[more..], takes_several)?;
        // Checked last, because it is the most expensive.
        if more > 0 && !takes_several(name) {
            return None;
        }
        found.insert(name.to_owned(), segments[..=more].join("/"));
        Some(found)
    })
}
