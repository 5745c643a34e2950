//! Python: what pytest and unittest collect.

use std::collections::{BTreeMap, BTreeSet};

use super::{MOST_TESTS, TestItem};
use crate::tamper::language::file_name;
use crate::tamper::syntax::{NodeId, Syntax};

pub(super) fn tests(path: &str, syntax: &Syntax<'_>) -> Vec<TestItem> {
    let name = file_name(path);
    let is_for_pytest = name.starts_with("test_") || name.ends_with("_test.py");
    let classes = classes(syntax);
    let replaced = replaced(syntax);
    // A later definition of the same name takes the place of an earlier one.
    let mut by_name: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    let mut found: Vec<TestItem> = Vec::new();
    for node in syntax.everything().filter(|node| syntax.kind(*node) == "function_definition") {
        let bare = syntax.field_text(node, "name");
        if !bare.starts_with("test") || found.len() >= MOST_TESTS {
            continue;
        }
        let is_nested = syntax.ancestors(node).any(|up| syntax.kind(up) == "function_definition");
        let owners: Vec<NodeId> =
            syntax.ancestors(node).filter(|up| syntax.kind(*up) == "class_definition").collect();
        let is_collected = match owners.first() {
            Some(class) => {
                classes.contains(class)
                    || (is_for_pytest && syntax.field_text(*class, "name").starts_with("Test"))
            }
            None => is_for_pytest,
        };
        if is_nested || !is_collected || replaced.contains(bare) {
            continue;
        }
        let name = owners.iter().map(|class| syntax.field_text(*class, "name")).chain([bare]).collect();
        let one = TestItem { item: with_decorators(syntax, node), body: syntax.field(node, "body") };
        match by_name.get(&name).and_then(|at| found.get_mut(*at)) {
            Some(earlier) => *earlier = one,
            None => {
                by_name.insert(name, found.len());
                found.push(one);
            }
        }
    }
    found
}

/// Classes of the file that are test cases, by their bases.
fn classes(syntax: &Syntax<'_>) -> BTreeSet<NodeId> {
    let mut known: BTreeSet<NodeId> = BTreeSet::new();
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for node in syntax.everything().filter(|node| syntax.kind(*node) == "class_definition") {
        let bases = syntax.field_text(node, "superclasses");
        let words = bases.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        if words.into_iter().any(|base| base.ends_with("TestCase") || names.contains(base)) {
            known.insert(node);
            names.insert(syntax.field_text(node, "name"));
        }
    }
    known
}

fn with_decorators(syntax: &Syntax<'_>, definition: NodeId) -> NodeId {
    syntax.parent(definition).filter(|up| syntax.kind(*up) == "decorated_definition").unwrap_or(definition)
}

/// Names of tests that the module takes away again: `test_x = None`, `del test_x`.
fn replaced<'s>(syntax: &'s Syntax<'_>) -> BTreeSet<&'s str> {
    let mut names = BTreeSet::new();
    for node in syntax.everything() {
        let gone = match syntax.kind(node) {
            "assignment" => syntax.field_text(node, "left"),
            "delete_statement" => syntax.part(node, 0).map_or("", |part| syntax.text(part)),
            _ => continue,
        };
        let inside_function = syntax.ancestors(node).any(|up| syntax.kind(up) == "function_definition");
        let last = gone.rsplit('.').next().unwrap_or(gone);
        if !inside_function && last.starts_with("test") {
            names.insert(last);
        }
    }
    names
}
