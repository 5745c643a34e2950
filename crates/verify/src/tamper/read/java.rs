//! Java: methods that JUnit or TestNG runs.

use super::{MOST_TESTS, TestItem};
use crate::tamper::syntax::{NodeId, Syntax};

pub(super) fn tests(syntax: &Syntax<'_>) -> Vec<TestItem> {
    syntax
        .everything()
        .filter(|node| syntax.kind(*node) == "method_declaration")
        .filter(|node| is_annotated(syntax, *node) || is_old(syntax, *node))
        .take(MOST_TESTS)
        .map(|node| TestItem { item: node, body: syntax.field(node, "body") })
        .collect()
}

/// Whether a method of a test case is one by its name, as before there were annotations.
fn is_old(syntax: &Syntax<'_>, method: NodeId) -> bool {
    syntax.field_text(method, "name").starts_with("test")
        && syntax
            .ancestors(method)
            .find(|up| syntax.kind(*up) == "class_declaration")
            .is_some_and(|class| syntax.field_text(class, "superclass").contains("TestCase"))
}

fn is_annotated(syntax: &Syntax<'_>, method: NodeId) -> bool {
    let modifiers = syntax.children(method).find(|child| syntax.kind(*child) == "modifiers");
    modifiers
        .into_iter()
        .flat_map(|modifiers| syntax.children(modifiers))
        .filter(|child| matches!(syntax.kind(*child), "annotation" | "marker_annotation"))
        .any(|annotation| {
            let name = syntax.field_text(annotation, "name");
            matches!(
                name.rsplit('.').next().unwrap_or(name),
                "Test" | "ParameterizedTest" | "RepeatedTest" | "TestFactory" | "Property"
            )
        })
}
