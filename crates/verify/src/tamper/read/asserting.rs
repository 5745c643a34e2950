//! Finds the assertions of a body, in the ways of every language.

use crate::tamper::assertion::{Assertion, AssertionStrength, claims, is_of_framework, matcher, plain};
use crate::tamper::chain::{ChainLink, arguments, chain, is_call};
use crate::tamper::language::Language;
use crate::tamper::syntax::{NodeId, Syntax};

/// Assertions of one body that are told apart.
const MOST_ASSERTIONS: usize = 400;

/// What a body asserts.
pub(super) fn assertions(syntax: &Syntax<'_>, body: NodeId) -> Vec<Assertion> {
    let mut found = Vec::new();
    let mut conditions: Vec<NodeId> = Vec::new();
    let all = syntax.all(body);
    let mut node = all.start;
    while node < all.end && found.len() < MOST_ASSERTIONS {
        let claims = match syntax.language {
            Language::Rust => rust(syntax, node),
            Language::Python => python(syntax, node),
            Language::JavaScript | Language::TypeScript | Language::Tsx => javascript(syntax, node),
            Language::Go => go(syntax, body, node, &mut conditions),
            Language::Java => java(syntax, node),
        };
        // What stands within an assertion is part of it.
        node = if claims.is_some() { syntax.all(node).end } else { node + 1 };
        found.extend(claims.into_iter().flatten());
    }
    found
}

fn rust(syntax: &Syntax<'_>, node: NodeId) -> Option<Vec<Assertion>> {
    if syntax.kind(node) != "macro_invocation" {
        return None;
    }
    let name = syntax.field_text(node, "macro").rsplit("::").next().unwrap_or_default();
    let name = name.strip_prefix("debug_").or_else(|| name.strip_prefix("prop_")).unwrap_or(name);
    let rest = name.strip_prefix("assert")?;
    let tokens = syntax.parts(node).find(|part| syntax.kind(*part) == "token_tree")?;
    let inner = syntax.text(tokens);
    let inner = inner.get(1..inner.len().checked_sub(1)?)?;
    // What stands in a macro is tokens to the grammar; as the arguments of a function it is expressions.
    let source = format!("fn f() {{ g({inner}) }}");
    let line = Syntax::read(Language::Rust, source.as_bytes()).ok()?;
    let call = line.everything().find(|node| line.kind(*node) == "call_expression")?;
    let list = line.field(call, "arguments")?;
    match rest {
        "" => Some(claims(&line, *arguments(&line, list).first()?, false)),
        "_matches" => Some(vec![Assertion::of(&line, AssertionStrength::Holds, &arguments(&line, list))]),
        _ => matcher(&line, rest.trim_start_matches('_'), None, Some(list), false),
    }
}

fn python(syntax: &Syntax<'_>, node: NodeId) -> Option<Vec<Assertion>> {
    let kind = syntax.kind(node);
    if kind == "assert_statement" {
        return Some(claims(syntax, syntax.part(node, 0)?, false));
    }
    if !is_call(kind) {
        return None;
    }
    let links = chain(syntax, node);
    let last = links.last()?;
    let first = links.first()?.name;
    if first == "assert_that" || first == "expect" {
        return fluent(syntax, &links, first);
    }
    let is_method = links.len() > 1;
    if links.len() == 2 && matches!(first, "self" | "cls") && !is_of_framework(last.name) {
        return None;
    }
    match last.name {
        "raises" | "warns" | "raises_regex" if is_method => {
            matcher(syntax, "raises", None, last.arguments, false)
        }
        "fail" if is_method => None,
        name if is_method && (name.starts_with("assert") && name.len() > 6) => {
            matcher(syntax, name, None, last.arguments, false)
        }
        _ => None,
    }
}

/// Names of assertion functions that are used without an object.
const BARE: &[&str] = &[
    "strictEqual",
    "deepStrictEqual",
    "deepEqual",
    "notStrictEqual",
    "notDeepStrictEqual",
    "throws",
    "rejects",
];

/// What a test's own context asserts with, in tap, ava, tape and node.
const OF_CONTEXT: &[&str] = &[
    "equal",
    "equals",
    "is",
    "same",
    "deepEqual",
    "strictEqual",
    "deepStrictEqual",
    "ok",
    "true",
    "false",
    "truthy",
    "falsy",
    "throws",
    "rejects",
    "not",
    "notEqual",
    "notOk",
    "match",
    "regex",
    "throwsAsync",
    "snapshot",
    "like",
];

fn javascript(syntax: &Syntax<'_>, node: NodeId) -> Option<Vec<Assertion>> {
    let kind = syntax.kind(node);
    let is_property = kind == "member_expression"
        && syntax.parent(node).is_some_and(|parent| syntax.kind(parent) == "expression_statement");
    if !is_call(kind) && !is_property {
        return None;
    }
    let links = chain(syntax, node);
    let first = links.first()?;
    let last = links.last()?;
    match first.name {
        "expect" if links.len() > 1 => fluent(syntax, &links, "expect"),
        "assert" | "t" | "tap" | "ctx" | "test" | "should" | "chai" => {
            let is_known = first.name == "assert"
                || links.iter().any(|link| link.name == "assert")
                || OF_CONTEXT.contains(&last.name);
            if !is_known || (links.len() == 1 && first.name != "assert") {
                return None;
            }
            let name = if links.len() == 1 { "" } else { last.name };
            matcher(syntax, name, None, last.arguments, false)
        }
        name if links.len() == 1 && BARE.contains(&name) => {
            matcher(syntax, name, None, last.arguments, false)
        }
        _ if links.iter().any(|link| link.name == "should") => {
            matcher(syntax, last.name, syntax.part(node, 0), last.arguments, false)
        }
        _ => None,
    }
}

/// `expect(subject).not.matcher(arguments)` and its like.
fn fluent(syntax: &Syntax<'_>, links: &[ChainLink<'_>], root: &str) -> Option<Vec<Assertion>> {
    let start = links.iter().position(|link| link.name == root)?;
    let subject = links.get(start)?.arguments.and_then(|list| syntax.part(list, 0));
    let subject = subject?;
    let last = links.last().filter(|_| links.len() > start + 1)?;
    // What only describes the assertion is not it.
    let last = if matches!(last.name, "catch" | "then") { return None } else { last };
    let negated = links.iter().any(|link| matches!(link.name, "not" | "never"));
    let name = if last.name == "equal" || last.name.is_empty() { "equal" } else { last.name };
    matcher(syntax, name, Some(subject), last.arguments, negated)
}

/// What fails a test of Go's own package.
const GO_FAILURES: &[&str] = &["Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"];

fn go(
    syntax: &Syntax<'_>,
    body: NodeId,
    node: NodeId,
    conditions: &mut Vec<NodeId>,
) -> Option<Vec<Assertion>> {
    if !is_call(syntax.kind(node)) {
        return None;
    }
    let links = chain(syntax, node);
    let (first, last) = (links.first()?, links.last()?);
    if links.len() == 2 && matches!(first.name, "assert" | "require" | "is") {
        let list = last.arguments?;
        let given: Vec<NodeId> = arguments(syntax, list).into_iter().skip(1).collect();
        return Some(testify(syntax, last.name, &given));
    }
    if links.len() != 2 || !GO_FAILURES.contains(&last.name) {
        return None;
    }
    let condition = std::iter::once(node)
        .chain(syntax.ancestors(node))
        .take_while(|up| *up != body)
        .find(|up| syntax.kind(*up) == "if_statement");
    let Some(condition) = condition else {
        return Some(vec![Assertion {
            relation: AssertionStrength::Equal,
            operands: vec![syntax.canonical(node)],
            literals: Vec::new(),
        }]);
    };
    if conditions.contains(&condition) {
        return Some(Vec::new());
    }
    conditions.push(condition);
    let is_else = syntax.field(condition, "alternative").is_some_and(|other| syntax.contains(other, node));
    let expression = syntax.field(condition, "condition")?;
    Some(claims(syntax, expression, !is_else))
}

fn testify(syntax: &Syntax<'_>, name: &str, given: &[NodeId]) -> Vec<Assertion> {
    let two = given.get(..2).unwrap_or(given);
    let one = given.get(..1).unwrap_or(given);
    match plain(name.trim_end_matches('f')).as_str() {
        "equal" | "equalvalues" | "exactly" | "elementsmatch" | "jsoneq" | "same" | "equalerror"
        | "erroris" => {
            vec![Assertion::of(syntax, AssertionStrength::Equal, two)]
        }
        "true" => one.first().map(|node| claims(syntax, *node, false)).unwrap_or_default(),
        "false" => one.first().map(|node| claims(syntax, *node, true)).unwrap_or_default(),
        "indelta" | "inepsilon" => vec![Assertion::of(syntax, AssertionStrength::Near, two)],
        "notnil" | "notempty" => vec![Assertion::of(syntax, AssertionStrength::Exists, one)],
        "error" | "panics" => vec![Assertion::of(syntax, AssertionStrength::RaisesAny, one)],
        _ => vec![Assertion::of(syntax, AssertionStrength::Holds, given)],
    }
}

fn java(syntax: &Syntax<'_>, node: NodeId) -> Option<Vec<Assertion>> {
    if syntax.kind(node) == "assert_statement" {
        return Some(claims(syntax, syntax.part(node, 0)?, false));
    }
    if !is_call(syntax.kind(node)) {
        return None;
    }
    let links = chain(syntax, node);
    let last = links.last()?;
    if links.iter().any(|link| link.name == "assertThat") {
        return fluent(syntax, &links, "assertThat");
    }
    let rest = last.name.strip_prefix("assert").filter(|rest| !rest.is_empty())?;
    if links.len() == 1 && !is_of_framework(last.name) {
        return None;
    }
    matcher(syntax, rest, None, last.arguments, false)
}
