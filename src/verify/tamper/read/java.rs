//! Java: methods that JUnit or TestNG runs.

use super::{Found, MOST_TESTS, Mark, short, skipping_calls};
use crate::verify::tamper::language::is_collected;
use crate::verify::tamper::syntax::{NodeId, Syntax};

pub(super) fn tests(path: &str, syntax: &Syntax<'_>) -> Vec<Found> {
    if !is_collected(path) {
        return Vec::new();
    }
    let package = syntax
        .children(Syntax::ROOT)
        .find(|node| syntax.kind(*node) == "package_declaration")
        .and_then(|node| syntax.part(node, 0))
        .map_or("", |name| syntax.text(name));
    let mut found = Vec::new();
    for node in syntax.everything().filter(|node| syntax.kind(*node) == "method_declaration") {
        let own = annotations(syntax, node);
        let bare = syntax.field_text(node, "name");
        let classes: Vec<NodeId> =
            syntax.ancestors(node).filter(|up| syntax.kind(*up) == "class_declaration").collect();
        let is_old = bare.starts_with("test")
            && classes
                .first()
                .is_some_and(|class| syntax.field_text(*class, "superclass").contains("TestCase"));
        let is_test = own.iter().any(|one| {
            matches!(
                name(syntax, *one),
                "Test" | "ParameterizedTest" | "RepeatedTest" | "TestFactory" | "Property"
            )
        });
        if (!is_test && !is_old) || found.len() >= MOST_TESTS {
            continue;
        }
        let mut marks: Vec<Mark> = own.iter().filter_map(|one| mark(syntax, *one)).collect();
        for class in &classes {
            marks.extend(annotations(syntax, *class).into_iter().filter_map(|one| mark(syntax, one)));
        }
        let body = syntax.field(node, "body");
        marks.extend(body.into_iter().flat_map(|body| of_body(syntax, body)));
        let class =
            classes.iter().rev().map(|class| syntax.field_text(*class, "name")).collect::<Vec<_>>().join("$");
        let name = [package, class.as_str(), bare]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(".");
        found.push(Found { name, bare: bare.to_owned(), item: node, body, marks });
    }
    found
}

fn annotations(syntax: &Syntax<'_>, item: NodeId) -> Vec<NodeId> {
    let modifiers = syntax.children(item).find(|child| syntax.kind(*child) == "modifiers");
    modifiers
        .into_iter()
        .flat_map(|modifiers| syntax.children(modifiers))
        .filter(|child| matches!(syntax.kind(*child), "annotation" | "marker_annotation"))
        .collect()
}

fn name<'s>(syntax: &'s Syntax<'_>, annotation: NodeId) -> &'s str {
    let name = syntax.field_text(annotation, "name");
    name.rsplit('.').next().unwrap_or(name)
}

fn mark(syntax: &Syntax<'_>, annotation: NodeId) -> Option<Mark> {
    let text: String = syntax.text(annotation).chars().filter(|c| !c.is_whitespace()).collect();
    let how = short(syntax, annotation);
    match name(syntax, annotation) {
        "Disabled" | "Ignore" => Some(Mark::Skipped(how)),
        name if name.starts_with("Disabled") || name.starts_with("Enabled") => Some(Mark::Skipped(how)),
        "Test" if text.contains("enabled=false") => Some(Mark::Skipped(how)),
        "Test" if text.contains("expected=") => Some(Mark::ExpectedToFail(how)),
        _ => None,
    }
}

fn of_body(syntax: &Syntax<'_>, body: NodeId) -> Vec<Mark> {
    skipping_calls(syntax, body, &|names| {
        names
            .last()
            .is_some_and(|last| matches!(*last, "assumeTrue" | "assumeFalse" | "assumeThat" | "abort"))
    })
    .into_iter()
    .map(|node| Mark::Skipped(short(syntax, node)))
    .collect()
}
