//! JavaScript and TypeScript: `it`, `test` and `describe` in their many spellings.

use super::{MOST_TESTS, TestItem};
use crate::tamper::chain::{ChainLink, chain};
use crate::tamper::syntax::{NodeId, Syntax, is_function};

const TESTS: &[&str] = &["it", "test", "specify", "xit", "xtest", "xspecify", "fit"];
const GROUPS: &[&str] = &["describe", "suite", "context", "xdescribe", "fdescribe", "xcontext"];

/// Groups within groups that are followed.
const MOST_NESTED: usize = 20;

pub(super) fn tests(syntax: &Syntax<'_>) -> Vec<TestItem> {
    // Groups and tests that what is looked at is within.
    let mut open: Vec<NodeId> = Vec::new();
    let mut found = Vec::new();
    for node in syntax.everything().filter(|node| syntax.kind(*node) == "call_expression") {
        open.retain(|outer| syntax.contains(*outer, node));
        if open.len() > MOST_NESTED || found.len() >= MOST_TESTS {
            continue;
        }
        let links = chain(syntax, node);
        let Some(role) = role(&links) else { continue };
        let Some(list) = syntax.field(node, "arguments") else { continue };
        let given: Vec<NodeId> = syntax.parts(list).collect();
        let is_titled = given.first().is_some_and(|first| !is_function(syntax.kind(*first)));
        if !is_titled {
            continue;
        }
        open.push(node);
        if role == TestCallRole::Test {
            let function = given.iter().rev().copied().find(|part| is_function(syntax.kind(*part)));
            let body = function.and_then(|function| syntax.field(function, "body"));
            found.push(TestItem { item: node, body });
        }
    }
    found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestCallRole {
    Test,
    Group,
}

fn role(links: &[ChainLink<'_>]) -> Option<TestCallRole> {
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
        return Some(TestCallRole::Group);
    }
    if TESTS.contains(&first.name) {
        if is_modified(1) {
            return Some(TestCallRole::Test);
        }
        let is_group = links.get(1).is_some_and(|link| link.name == "describe") && is_modified(2);
        return is_group.then_some(TestCallRole::Group);
    }
    // A test's own context: `t.test(…)`.
    (links.len() == 2 && last.name == "test" && matches!(first.name, "t" | "ctx" | "context" | "tap"))
        .then_some(TestCallRole::Test)
}
