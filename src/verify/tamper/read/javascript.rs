//! JavaScript and TypeScript: `it`, `test` and `describe` in their many spellings.

use super::{Found, MOST_TESTS, Mark, clipped, short, skipping_calls};
use crate::verify::tamper::chain::{Link, chain, is_function};
use crate::verify::tamper::language::is_collected;
use crate::verify::tamper::syntax::{NodeId, Syntax};

const TESTS: &[&str] = &["it", "test", "specify", "xit", "xtest", "xspecify", "fit"];
const GROUPS: &[&str] = &["describe", "suite", "context", "xdescribe", "fdescribe", "xcontext"];

/// Groups within groups that are followed.
const MOST_NESTED: usize = 20;

/// A call that is open while what is within it is looked at.
struct Open {
    call: NodeId,
    title: String,
    marks: Vec<Mark>,
}

pub(super) fn tests(path: &str, syntax: &Syntax<'_>, has_only: &mut bool) -> Vec<Found> {
    if !is_collected(path) {
        return Vec::new();
    }
    let mut open: Vec<Open> = Vec::new();
    let mut found = Vec::new();
    for node in syntax.everything().filter(|node| syntax.kind(*node) == "call_expression") {
        open.retain(|outer| syntax.contains(outer.call, node));
        if open.len() > MOST_NESTED || found.len() >= MOST_TESTS {
            continue;
        }
        let links = chain(syntax, node);
        let Some(role) = role(&links) else { continue };
        let Some(list) = syntax.field(node, "arguments") else { continue };
        let given: Vec<NodeId> = syntax.parts(list).collect();
        let Some(title) = given.first().copied().filter(|first| !is_function(syntax.kind(*first))) else {
            continue;
        };
        let function = given.iter().rev().copied().find(|part| is_function(syntax.kind(*part)));
        let named = given
            .iter()
            .skip(1)
            .any(|part| matches!(syntax.kind(*part), "identifier" | "call_expression" | "member_expression"));
        let title = clipped(syntax.text(title).trim_matches(['"', '\'', '`']), 200);
        let mut marks = marks(syntax, &links, &given);
        *has_only |= links.iter().any(|link| matches!(link.name, "only" | "fit" | "fdescribe"))
            || given.iter().skip(1).any(|part| option(syntax, *part, "only"));
        if function.is_none() && !named {
            marks.push(Mark::Skipped("it has no body".to_owned()));
        }
        if let Some(condition) = syntax
            .ancestors(node)
            .take_while(|up| open.last().is_none_or(|outer| *up != outer.call))
            .find(|up| syntax.kind(*up) == "if_statement")
        {
            marks.push(Mark::Skipped(format!("if {}", syntax.field_text(condition, "condition"))));
        }
        if role == Role::Group {
            open.push(Open { call: node, title, marks });
            continue;
        }
        let body = function.and_then(|function| syntax.field(function, "body"));
        if let Some(body) = body {
            marks.extend(of_body(syntax, body));
        }
        let name = open
            .iter()
            .map(|outer| outer.title.as_str())
            .chain([title.as_str()])
            .collect::<Vec<_>>()
            .join(" > ");
        marks.extend(open.iter().flat_map(|outer| outer.marks.iter().cloned()));
        found.push(Found { name, bare: title.clone(), item: node, body, marks: marks.clone() });
        open.push(Open { call: node, title, marks });
    }
    found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Test,
    Group,
}

fn role(links: &[Link<'_>]) -> Option<Role> {
    let first = links.first()?;
    let last = links.last()?;
    // Of `it.each(table)(title, run)` only the whole is the test.
    if last.name == "each" || last.name == "skipIf" || last.name == "runIf" {
        return None;
    }
    let is_modified = |from: usize| {
        links.iter().skip(from).all(|link| {
            matches!(
                link.name,
                "skip"
                    | "only"
                    | "todo"
                    | "each"
                    | "fails"
                    | "failing"
                    | "concurrent"
                    | "sequential"
                    | "serial"
                    | "skipIf"
                    | "runIf"
                    | ""
            )
        })
    };
    if GROUPS.contains(&first.name) && is_modified(1) {
        return Some(Role::Group);
    }
    if TESTS.contains(&first.name) {
        if is_modified(1) {
            return Some(Role::Test);
        }
        let is_group = links.get(1).is_some_and(|link| link.name == "describe") && is_modified(2);
        return is_group.then_some(Role::Group);
    }
    // A test's own context: `t.test(…)`.
    (links.len() == 2 && last.name == "test" && matches!(first.name, "t" | "ctx" | "context" | "tap"))
        .then_some(Role::Test)
}

fn marks(syntax: &Syntax<'_>, links: &[Link<'_>], given: &[NodeId]) -> Vec<Mark> {
    let how =
        links.iter().map(|link| link.name).filter(|name| !name.is_empty()).collect::<Vec<_>>().join(".");
    let mut marks = Vec::new();
    for link in links {
        match link.name {
            "skip" | "todo" | "skipIf" | "runIf" | "xit" | "xtest" | "xspecify" | "xdescribe"
            | "xcontext" => {
                marks.push(Mark::Skipped(how.clone()));
            }
            "fails" | "failing" => marks.push(Mark::ExpectedToFail(how.clone())),
            _ => {}
        }
    }
    for part in given.iter().skip(1).filter(|part| syntax.kind(**part) == "object") {
        for name in ["skip", "todo"] {
            if option(syntax, *part, name) {
                marks.push(Mark::Skipped(short(syntax, *part)));
            }
        }
        if option(syntax, *part, "fails") || option(syntax, *part, "expectFailure") {
            marks.push(Mark::ExpectedToFail(short(syntax, *part)));
        }
    }
    marks
}

/// Whether an object has a property that is not false.
fn option(syntax: &Syntax<'_>, object: NodeId, name: &str) -> bool {
    syntax.kind(object) == "object"
        && syntax.parts(object).any(|part| {
            syntax.field_text(part, "key").trim_matches(['"', '\'']) == name
                && syntax.field_text(part, "value") != "false"
        })
}

fn of_body(syntax: &Syntax<'_>, body: NodeId) -> Vec<Mark> {
    skipping_calls(syntax, body, &|names| {
        matches!(names, ["t" | "this" | "ctx" | "context" | "test", "skip" | "todo"])
    })
    .into_iter()
    // `test.skip(title, …)` within a test is a test of its own.
    .filter(|call| {
        let list = syntax.field(*call, "arguments");
        !list.is_some_and(|list| syntax.parts(list).any(|part| is_function(syntax.kind(part))))
    })
    .map(|node| Mark::Skipped(short(syntax, node)))
    .collect()
}
