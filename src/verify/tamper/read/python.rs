//! Python: what pytest and unittest collect.

use std::collections::{BTreeMap, BTreeSet};

use super::{Found, MOST_TESTS, Mark, short, skipping_calls};
use crate::verify::tamper::chain::is_call;
use crate::verify::tamper::language::{file_name, is_collected};
use crate::verify::tamper::syntax::{NodeId, Syntax};

pub(super) fn tests(path: &str, syntax: &Syntax<'_>) -> Vec<Found> {
    if !is_collected(path) {
        return Vec::new();
    }
    let name = file_name(path);
    let is_for_pytest = name.starts_with("test_") || name.ends_with("_test.py");
    let classes = classes(syntax);
    let aliases = aliases(syntax);
    let replaced = replaced(syntax);
    let of_file = of_file(syntax);
    // A later definition of the same name takes the place of an earlier one.
    let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
    let mut found: Vec<Found> = Vec::new();
    let mut of_classes: BTreeMap<NodeId, Vec<Mark>> = BTreeMap::new();
    for node in syntax.everything().filter(|node| syntax.kind(*node) == "function_definition") {
        let bare = syntax.field_text(node, "name");
        if !bare.starts_with("test") || found.len() >= MOST_TESTS {
            continue;
        }
        let mut owners = Vec::new();
        let mut marks = of_file.clone();
        let mut is_nested = false;
        let item = with_decorators(syntax, node);
        marks.extend(decorators(syntax, item).filter_map(|decorator| mark(syntax, decorator, &aliases)));
        for up in syntax.ancestors(node) {
            match syntax.kind(up) {
                "function_definition" => is_nested = true,
                "class_definition" => {
                    owners.push(up);
                    let of_class = of_classes.entry(up).or_insert_with(|| of_class(syntax, up, &aliases));
                    marks.extend(of_class.iter().cloned());
                }
                "if_statement" if !syntax.text(up).starts_with("if __name__") => {
                    marks.push(Mark::Skipped(format!("if {}", syntax.field_text(up, "condition"))));
                }
                _ => {}
            }
        }
        owners.reverse();
        let is_collected = match owners.last() {
            Some(class) => {
                classes.contains(class)
                    || (is_for_pytest && syntax.field_text(*class, "name").starts_with("Test"))
            }
            None => is_for_pytest,
        };
        if is_nested || !is_collected || replaced.contains(bare) {
            continue;
        }
        let body = syntax.field(node, "body");
        marks.extend(body.into_iter().flat_map(|body| of_body(syntax, body)));
        let owners: Vec<&str> = owners.iter().map(|class| syntax.field_text(*class, "name")).collect();
        let name = std::iter::once(path).chain(owners).chain([bare]).collect::<Vec<_>>().join("::");
        let one = Found { name: name.clone(), bare: bare.to_owned(), item, body, marks };
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

fn decorators(syntax: &Syntax<'_>, item: NodeId) -> impl Iterator<Item = NodeId> {
    syntax.children(item).filter(|child| syntax.kind(*child) == "decorator")
}

/// What names of the module stand for, where they are given a mark.
fn aliases<'s>(syntax: &'s Syntax<'_>) -> BTreeMap<&'s str, &'s str> {
    syntax
        .everything()
        .filter(|node| syntax.kind(*node) == "assignment")
        .map(|node| (syntax.field_text(node, "left"), syntax.field_text(node, "right")))
        .filter(|(_, value)| {
            value.contains("skip") || value.contains("xfail") || value.contains("expectedFailure")
        })
        .collect()
}

fn mark(syntax: &Syntax<'_>, decorator: NodeId, aliases: &BTreeMap<&str, &str>) -> Option<Mark> {
    let text = syntax.text(decorator);
    let name = text.trim_start_matches('@').split('(').next().unwrap_or_default().trim();
    let meant = aliases.get(name).copied().unwrap_or(name);
    marked(meant, short(syntax, decorator))
}

fn marked(meant: &str, how: String) -> Option<Mark> {
    let meant = meant.to_lowercase();
    if meant.contains("xfail") || meant.contains("expectedfailure") {
        Some(Mark::ExpectedToFail(how))
    } else if meant.contains("skip") {
        Some(Mark::Skipped(how))
    } else {
        None
    }
}

/// `pytestmark`, `__test__ = False` and what skips a whole module when it is imported.
fn of_file(syntax: &Syntax<'_>) -> Vec<Mark> {
    syntax.children(Syntax::ROOT).filter_map(|statement| of_statement(syntax, statement)).collect()
}

fn of_class(syntax: &Syntax<'_>, class: NodeId, aliases: &BTreeMap<&str, &str>) -> Vec<Mark> {
    let whole = with_decorators(syntax, class);
    let mut marks: Vec<Mark> =
        decorators(syntax, whole).filter_map(|one| mark(syntax, one, aliases)).collect();
    let Some(body) = syntax.field(class, "body") else { return marks };
    marks.extend(syntax.children(body).filter_map(|statement| of_statement(syntax, statement)));
    for node in syntax.children(body) {
        let function = if syntax.kind(node) == "decorated_definition" {
            syntax.field(node, "definition").unwrap_or(node)
        } else {
            node
        };
        let name = syntax.field_text(function, "name");
        if matches!(name, "setUp" | "setUpClass" | "setup_method" | "setup_class")
            && let Some(body) = syntax.field(function, "body")
        {
            marks.extend(of_body(syntax, body));
        }
    }
    marks
}

fn of_statement(syntax: &Syntax<'_>, statement: NodeId) -> Option<Mark> {
    let text = syntax.text(statement);
    match syntax.kind(statement) {
        "expression_statement" if text.starts_with("pytestmark") => marked(text, short(syntax, statement)),
        "expression_statement" if text.starts_with("__test__") && text.contains("False") => {
            Some(Mark::Skipped(short(syntax, statement)))
        }
        "expression_statement" if text.starts_with("pytest.skip(") => {
            Some(Mark::Skipped(short(syntax, statement)))
        }
        "raise_statement" if text.contains("SkipTest") => Some(Mark::Skipped(short(syntax, statement))),
        "if_statement" if text.contains("allow_module_level") || text.contains("SkipTest") => {
            Some(Mark::Skipped(format!("if {}", syntax.field_text(statement, "condition"))))
        }
        _ => None,
    }
}

fn of_body(syntax: &Syntax<'_>, body: NodeId) -> Vec<Mark> {
    let calls = skipping_calls(syntax, body, &|names| match names {
        [.., "skipTest"] | ["pytest", "skip" | "importorskip" | "xfail"] => true,
        [one] => matches!(*one, "SkipTest"),
        [.., last] => *last == "SkipTest",
        [] => false,
    });
    let bare = syntax.all(body).filter(|node| {
        syntax.kind(*node) == "raise_statement"
            && syntax.text(*node).contains("SkipTest")
            && !syntax.all(*node).any(|inner| is_call(syntax.kind(inner)))
    });
    calls
        .into_iter()
        .chain(bare)
        .map(|node| {
            let how = short(syntax, node);
            if how.starts_with("pytest.xfail") { Mark::ExpectedToFail(how) } else { Mark::Skipped(how) }
        })
        .collect()
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
