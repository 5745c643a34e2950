//! The tests in a file of JavaScript or TypeScript.

use crate::chain::{ChainLink, chain};
use crate::grammar_kind::GrammarKind;
use crate::named_item::{ItemKind, NamedItem, title_of, with_statement};
use crate::syntax_rules::SyntaxRules;
use crate::syntax_tree::{NodeId, SyntaxTree, is_function};

pub(super) const SYNTAX: SyntaxRules = SyntaxRules {
    grammars: &[
        (GrammarKind::JavaScript, &["js", "jsx", "mjs", "cjs"]),
        (GrammarKind::TypeScript, &["ts", "mts", "cts"]),
        (GrammarKind::Tsx, &["tsx"]),
    ],
    item,
    can_hold_tests: |_, _, _| true,
    ..SyntaxRules::NONE
};

/// A call of a runner's function: `it("adds", …)`, `t.test("adds", …)`, `describe.each(…)("adds", …)`.
fn item(tree: &SyntaxTree<'_>, call: NodeId) -> Option<NamedItem> {
    const TESTS: [&str; 6] = ["it", "test", "specify", "xit", "fit", "xtest"];
    const GROUPS: [&str; 5] = ["describe", "suite", "context", "xdescribe", "fdescribe"];
    const OTHERS: [&str; 9] =
        ["step", "use", "extend", "before", "beforeAll", "beforeEach", "after", "afterAll", "afterEach"];
    if tree.kind(call) != "call_expression" || tree.field_of(call) == Some("function") {
        return None;
    }
    let arguments = tree.field(call, "arguments")?;
    let links = chain(tree, call);
    let is_word = |link: &ChainLink<'_>| TESTS.contains(&link.name) || GROUPS.contains(&link.name);
    let words = links.get(links.iter().take(2).position(is_word)?..)?;
    // `it("adds", …).timeout(9)` calls something else last.
    let mut pairs = links.iter().zip(links.iter().skip(1));
    if pairs.any(|(link, next)| link.arguments.is_some() && !next.name.is_empty())
        || words.iter().any(|link| OTHERS.contains(&link.name))
    {
        return None;
    }
    let whole = with_statement(tree, call);
    // `pattern.test("text")` is another function.
    if whole == call && !tree.parts(arguments).any(|part| is_function(tree.kind(part))) {
        return None;
    }
    let first = tree.part(arguments, 0)?;
    let name = match tree.kind(first) {
        "object" => return None,
        kind if is_function(kind) => tree.field(first, "name")?,
        _ => first,
    };
    let kind = match words.iter().any(|link| GROUPS.contains(&link.name)) {
        true => ItemKind::Group,
        false => ItemKind::Test,
    };
    let title = title_of(tree, name);
    Some(NamedItem { kind, title, owner: None, nodes: tree.all(whole), left_out: vec![tree.all(name)] })
}
