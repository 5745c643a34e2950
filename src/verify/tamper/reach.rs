//! Whether an assertion can be reached, and whether anybody hears it when it fails.

use std::collections::HashMap;

use super::assertion::Hollow;
use super::chain::{chain, is_call, is_function};
use super::syntax::{NodeId, Syntax, is_name};

/// The statements of a file after which nothing of their block runs: the first of every block.
#[derive(Debug, Default)]
pub(super) struct Ends {
    first: HashMap<NodeId, NodeId>,
    /// How often a name is written in the file.
    names: HashMap<String, usize>,
}

impl Ends {
    pub(super) fn of(syntax: &Syntax<'_>) -> Self {
        let mut ends = Self::default();
        for node in syntax.everything() {
            let kind = syntax.kind(node);
            if is_name(kind) {
                *ends.names.entry(syntax.text(node).to_owned()).or_default() += 1;
            }
            if !ends_block(syntax, node) {
                continue;
            }
            let statement = match syntax.parent(node) {
                Some(parent) if syntax.kind(parent) == "expression_statement" => parent,
                Some(_) | None => node,
            };
            if let Some(block) = syntax.parent(statement) {
                ends.first.entry(block).or_insert(statement);
            }
        }
        ends
    }
}

/// Kinds of nodes that hold statements.
fn ends_block(syntax: &Syntax<'_>, node: NodeId) -> bool {
    match syntax.kind(node) {
        "return_statement" | "raise_statement" | "throw_statement" | "return_expression" => true,
        kind if is_call(kind) => {
            let links = chain(syntax, node);
            let last = links.last().map_or("", |link| link.name);
            let stands_alone =
                syntax.parent(node).is_some_and(|parent| syntax.kind(parent) == "expression_statement");
            stands_alone
                && (matches!(last, "skipTest" | "Skip" | "Skipf" | "SkipNow" | "_exit")
                    || (last == "skip" && links.first().is_some_and(|link| link.name == "pytest")))
        }
        _ => false,
    }
}

/// What becomes of an assertion within a test's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Reach {
    pub(super) hollow: Option<Hollow>,
    pub(super) is_conditional: bool,
    pub(super) repeats: bool,
}

/// Climbs from an assertion to the body. `own` is a condition that is part of the assertion itself.
pub(super) fn reach(
    syntax: &Syntax<'_>,
    ends: &Ends,
    body: NodeId,
    assertion: NodeId,
    own: Option<NodeId>,
) -> Reach {
    let mut reach = Reach::default();
    let mut below = assertion;
    for node in std::iter::once(assertion).chain(syntax.ancestors(assertion)) {
        if node != assertion && Some(node) != own {
            climb(syntax, ends, node, below, body, &mut reach);
        }
        if node == body {
            break;
        }
        below = node;
    }
    reach
}

fn climb(syntax: &Syntax<'_>, ends: &Ends, node: NodeId, below: NodeId, body: NodeId, reach: &mut Reach) {
    if ends.first.get(&node).is_some_and(|end| *end < below) {
        reach.hollow = Some(Hollow::Unreachable);
    }
    let field = syntax.field_of(below);
    match syntax.kind(node) {
        "if_statement"
        | "if_expression"
        | "conditional_expression"
        | "ternary_expression"
        | "elif_clause"
            if field != Some("condition") =>
        {
            let condition = syntax.field_text(node, "condition");
            let condition = condition.trim_matches(|c| c == '(' || c == ')');
            let is_never = field == Some("consequence")
                && matches!(condition, "False" | "false" | "0" | "None" | "null" | "not True" | "!true");
            if is_never {
                reach.hollow = Some(Hollow::Unreachable);
            }
            reach.is_conditional = true;
        }
        "while_statement" => {
            let condition = syntax.field_text(node, "condition");
            if matches!(condition.trim_matches(|c| c == '(' || c == ')'), "False" | "false" | "0") {
                reach.hollow = Some(Hollow::Unreachable);
            }
            reach.repeats = true;
        }
        "for_statement"
        | "for_expression"
        | "for_in_statement"
        | "enhanced_for_statement"
        | "while_expression" => {
            let over = syntax.field(node, "right").or_else(|| syntax.field(node, "value"));
            if over.is_some_and(|over| matches!(syntax.text(over), "[]" | "()" | "{}")) {
                reach.hollow = Some(Hollow::Unreachable);
            }
            reach.repeats = true;
        }
        "try_statement"
            if field == Some("body") && syntax.children(node).any(|child| forgets(syntax, child)) =>
        {
            reach.hollow = Some(Hollow::Swallowed);
        }
        "with_statement" => {
            let clause = syntax.part(node, 0).map_or("", |part| syntax.text(part));
            if clause.contains("suppress(")
                && ["AssertionError", "Exception"].iter().any(|name| clause.contains(name))
            {
                reach.hollow = Some(Hollow::Swallowed);
            }
        }
        kind if is_call(kind) => call(syntax, node, below, reach),
        kind if is_function(kind) && node != body && syntax.parent(body) != Some(node) => {
            // A function in a test that nothing names again is not called.
            if let Some(name) = super::chain::function_name(syntax, node)
                && ends.names.get(name).is_some_and(|count| *count == 1)
                && syntax.all(body).contains(&node)
            {
                reach.hollow = Some(Hollow::Unreachable);
            }
        }
        _ => {}
    }
}

fn call(syntax: &Syntax<'_>, node: NodeId, below: NodeId, reach: &mut Reach) {
    let links = chain(syntax, node);
    let Some(last) = links.last() else { return };
    match last.name {
        "catch_unwind" => {
            let statement = syntax
                .ancestors(node)
                .find(|up| matches!(syntax.kind(*up), "expression_statement" | "let_declaration" | "block"));
            let is_dropped = statement.is_some_and(|up| match syntax.kind(up) {
                "expression_statement" => true,
                "let_declaration" => syntax.field_text(up, "pattern").starts_with('_'),
                _ => false,
            });
            if is_dropped {
                reach.hollow = Some(Hollow::Swallowed);
            }
        }
        "catch" if syntax.field_of(below) == Some("function") => {
            let handler = last.arguments.and_then(|list| syntax.part(list, 0));
            if handler.is_some_and(|handler| !speaks(syntax, handler)) {
                reach.hollow = Some(Hollow::Swallowed);
            }
        }
        "forEach" | "map" | "each" | "subTest" | "for_each" => reach.repeats = true,
        _ => {}
    }
}

/// Whether a handler catches a failed assertion and goes on as if nothing was.
fn forgets(syntax: &Syntax<'_>, handler: NodeId) -> bool {
    let text = syntax.text(handler);
    let head = text.split(['{', '\n']).next().unwrap_or_default();
    match syntax.kind(handler) {
        "except_clause" => {
            let head = head.split(':').next().unwrap_or_default();
            let is_broad = head.trim() == "except"
                || ["Exception", "AssertionError"].iter().any(|name| {
                    head.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                        .any(|word| word == *name || word == "BaseException")
                });
            is_broad && !speaks(syntax, handler)
        }
        "catch_clause" => {
            let is_java = syntax.language == super::language::Language::Java;
            let is_broad =
                !is_java || ["AssertionError", "Throwable", "Error "].iter().any(|name| head.contains(name));
            is_broad && !speaks(syntax, handler)
        }
        _ => false,
    }
}

/// Whether a handler fails in its turn, or asserts something.
fn speaks(syntax: &Syntax<'_>, handler: NodeId) -> bool {
    if matches!(syntax.kind(handler), "identifier" | "member_expression") {
        return true;
    }
    syntax.all(handler).any(|node| match syntax.kind(node) {
        "raise_statement" | "throw_statement" | "assert_statement" => true,
        kind if is_call(kind) => {
            let links = chain(syntax, node);
            let names = |wanted: &[&str]| links.iter().any(|link| wanted.contains(&link.name));
            names(&["assert", "expect", "fail", "done", "reject", "Fatal", "Error", "Errorf", "Fatalf"])
                || links.last().is_some_and(|link| link.name.starts_with("assert"))
        }
        _ => false,
    })
}
