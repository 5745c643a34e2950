//! Rust: functions with a test attribute, in the modules of a file.

use std::ops::Range;

use super::{Found, MOST_TESTS, Mark, short};
use crate::verify::tamper::language::is_collected;
use crate::verify::tamper::syntax::{NodeId, Syntax};

pub(super) fn tests(path: &str, syntax: &Syntax<'_>) -> Vec<Found> {
    if !is_collected(path) {
        return Vec::new();
    }
    let of_file = of_file(syntax);
    let crate_path = crate_path(path);
    let mut found = Vec::new();
    for node in syntax.everything().filter(|node| syntax.kind(*node) == "function_item") {
        if found.len() >= MOST_TESTS {
            break;
        }
        let own = attributes(syntax, node);
        if !own.iter().any(|attribute| is_test(syntax, *attribute)) {
            continue;
        }
        let mut marks = of_file.clone();
        let mut modules = Vec::new();
        let mut all = own.clone();
        for up in syntax.ancestors(node) {
            if syntax.kind(up) == "mod_item" {
                modules.push(syntax.field_text(up, "name"));
                all.extend(attributes(syntax, up));
            }
        }
        modules.reverse();
        marks.extend(all.iter().filter_map(|attribute| mark(syntax, *attribute)));
        let bare = syntax.field_text(node, "name").to_owned();
        let name = crate_path
            .iter()
            .map(String::as_str)
            .chain(modules)
            .chain([bare.as_str()])
            .collect::<Vec<_>>()
            .join("::");
        found.push(Found { name, bare, item: node, body: syntax.field(node, "body"), marks });
    }
    found
}

/// Where the modules are that are compiled for tests only, and the tests outside them.
pub(super) fn places(syntax: &Syntax<'_>, found: &[Found]) -> Vec<Range<usize>> {
    let modules = test_modules(syntax).into_iter().map(|node| syntax.bytes(node));
    modules.chain(found.iter().map(|test| syntax.bytes(test.item))).collect()
}

/// Modules under `#[cfg(test)]` with a body, the outermost ones.
pub(in crate::verify::tamper) fn test_modules(syntax: &Syntax<'_>) -> Vec<NodeId> {
    let mut modules: Vec<NodeId> = Vec::new();
    for node in syntax.everything().filter(|node| syntax.kind(*node) == "mod_item") {
        let is_for_tests = syntax.field(node, "body").is_some()
            && attributes(syntax, node).iter().any(|attribute| {
                flat(syntax, *attribute).starts_with("#[cfg(test)]")
                    || flat(syntax, *attribute).starts_with("#[cfg(all(test")
            });
        if is_for_tests && !modules.last().is_some_and(|outer| syntax.contains(*outer, node)) {
            modules.push(node);
        }
    }
    modules
}

/// The attributes above an item.
pub(in crate::verify::tamper) fn attributes(syntax: &Syntax<'_>, item: NodeId) -> Vec<NodeId> {
    let mut above = Vec::new();
    let mut at = item;
    while let Some(sibling) = syntax.previous(at) {
        match syntax.kind(sibling) {
            "attribute_item" => above.push(sibling),
            "line_comment" | "block_comment" => {}
            _ => break,
        }
        at = sibling;
    }
    above
}

/// Whether an attribute makes an item one for tests: `#[cfg(test)]`, `#[test]` and their like.
pub(in crate::verify::tamper) fn is_for_tests(syntax: &Syntax<'_>, attribute: NodeId) -> bool {
    let flat = flat(syntax, attribute);
    flat.starts_with("#[cfg(test)]") || flat.starts_with("#[cfg(all(test") || is_test(syntax, attribute)
}

fn flat(syntax: &Syntax<'_>, node: NodeId) -> String {
    syntax.text(node).chars().filter(|c| !c.is_whitespace()).collect()
}

fn is_test(syntax: &Syntax<'_>, attribute: NodeId) -> bool {
    let flat = flat(syntax, attribute);
    let inner = flat.trim_start_matches("#[");
    let path = inner.split(['(', ']', '=']).next().unwrap_or_default();
    let last = path.rsplit("::").next().unwrap_or_default();
    last == "test"
        || last.ends_with("_test")
        || matches!(last, "rstest" | "test_case" | "quickcheck" | "gpui")
}

fn mark(syntax: &Syntax<'_>, attribute: NodeId) -> Option<Mark> {
    let flat = flat(syntax, attribute);
    let inner = flat.trim_start_matches("#![").trim_start_matches("#[");
    let word = inner.split(['(', ']', '=']).next().unwrap_or_default();
    match word {
        "ignore" => Some(Mark::Skipped(short(syntax, attribute))),
        "should_panic" => Some(Mark::ExpectedToFail("#[should_panic]".to_owned())),
        "cfg_attr" if inner.contains("ignore") => Some(Mark::Skipped(short(syntax, attribute))),
        "cfg_attr" if inner.contains("should_panic") => Some(Mark::ExpectedToFail(short(syntax, attribute))),
        "cfg" if inner != "cfg(test)]" => Some(Mark::Skipped(short(syntax, attribute))),
        _ => None,
    }
}

/// What `#![cfg(…)]` does to the whole file.
fn of_file(syntax: &Syntax<'_>) -> Vec<Mark> {
    syntax
        .children(Syntax::ROOT)
        .filter(|node| syntax.kind(*node) == "inner_attribute_item")
        .filter_map(|node| mark(syntax, node))
        .collect()
}

/// The module that a file is, from the crate's root.
fn crate_path(path: &str) -> Vec<String> {
    let inside = match path.rfind("src/") {
        Some(at) => path.get(at + 4..).unwrap_or_default(),
        None => match path.rfind("tests/") {
            // The first file below `tests/` is a crate's root.
            Some(at) => path.get(at + 6..).and_then(|rest| rest.split_once('/')).map_or("", |(_, rest)| rest),
            None => "",
        },
    };
    let inside = inside.strip_suffix(".rs").unwrap_or(inside);
    let mut parts: Vec<String> =
        inside.split('/').filter(|part| !part.is_empty()).map(String::from).collect();
    if parts.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}
