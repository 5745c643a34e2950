//! Documentation examples that runners treat as tests: `>>>` in Python, code blocks in Rust. Combines the code of one
//! version of a file with the examples of another.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::grammar_kind::GrammarKind;
use crate::syntax_tree::{NodeId, SyntaxTree};

/// The code of one version with the examples of another, if either has any. `None` if nothing differs.
pub fn with_examples_of(code: &SyntaxTree<'_>, tests: &SyntaxTree<'_>) -> Option<Vec<u8>> {
    let others = documentation(tests);
    let text = |tree: &SyntaxTree<'_>, doc: &Range<usize>| {
        String::from_utf8_lossy(tree.source().get(doc.clone()).unwrap_or_default()).into_owned()
    };
    let mark = if is_python(code) { ">>> " } else { "```" };
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (name, place) in documentation(code) {
        let Some(other) = others.get(&name).filter(|other| !other.is_empty()) else { continue };
        let (has, wanted) = (text(code, &place), text(tests, other));
        if has == wanted || !(has.contains(mark) || wanted.contains(mark)) {
            continue;
        }
        let now = match has.is_empty() {
            true => format!("{}\n{}", wanted.trim_end(), " ".repeat(column(code, place.start))),
            false => wanted,
        };
        edits.push((place, now));
    }
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    let mut grafted = code.source().to_vec();
    for (place, now) in edits {
        if grafted.get(place.clone()).is_some() {
            grafted.splice(place, now.into_bytes());
        }
    }
    Some(grafted)
}

/// Otherwise it is Rust; no other language has such examples.
fn is_python(tree: &SyntaxTree<'_>) -> bool {
    tree.grammar == GrammarKind::Python
}

/// The documentation of each item, by the item's full path. Empty where it could stand. Of equal paths, the first.
fn documentation(tree: &SyntaxTree<'_>) -> BTreeMap<String, Range<usize>> {
    let mut items = BTreeMap::new();
    for node in tree.everything() {
        let doc = if is_python(tree) { docstring(tree, node) } else { doc_comments(tree, node) };
        if let Some(doc) = doc {
            items.entry(path_of(tree, node)).or_insert(doc);
        }
    }
    items
}

fn path_of(tree: &SyntaxTree<'_>, node: NodeId) -> String {
    let own = |node: NodeId| {
        let name = match tree.field_text(node, "name") {
            "" => tree.field_text(node, "type"),
            name => name,
        };
        (!name.is_empty()).then(|| format!("{} {name}", tree.kind(node)))
    };
    let mut names: Vec<String> = std::iter::once(node).chain(tree.ancestors(node)).filter_map(own).collect();
    names.reverse();
    names.join(" > ")
}

fn column(tree: &SyntaxTree<'_>, at: usize) -> usize {
    let before = tree.source().get(..at).unwrap_or_default();
    before.iter().rev().take_while(|byte| **byte != b'\n').count()
}

/// The docstring of a module, class or function.
fn docstring(tree: &SyntaxTree<'_>, node: NodeId) -> Option<Range<usize>> {
    let body = match tree.kind(node) {
        "module" => node,
        "function_definition" | "class_definition" => tree.field(node, "body")?,
        _ => return None,
    };
    let first = tree.part(body, 0)?;
    let is_string = |part: NodeId| tree.kind(part) == "string";
    let is_doc =
        is_string(first) || tree.kind(first) == "expression_statement" && tree.parts(first).all(is_string);
    let place = tree.bytes(first);
    Some(if is_doc { place } else { place.start..place.start })
}

/// The doc comments of an item.
fn doc_comments(tree: &SyntaxTree<'_>, node: NodeId) -> Option<Range<usize>> {
    const ITEMS: [&str; 9] = [
        "function_item", "function_signature_item", "struct_item", "enum_item", "trait_item", "mod_item",
        "macro_definition", "const_item", "type_item",
    ];
    let is_doc =
        |node: NodeId, mark: &str| tree.kind(node) == "line_comment" && tree.text(node).starts_with(mark);
    if node == SyntaxTree::ROOT {
        let inner = tree.children(node).take_while(|child| is_doc(*child, "//!"));
        let doc = inner.map(|child| tree.bytes(child)).reduce(|first, last| first.start..last.end);
        return Some(doc.unwrap_or(0..0));
    }
    if !ITEMS.contains(&tree.kind(node)) {
        return None;
    }
    let above = std::iter::successors(tree.previous(node), |node| tree.previous(*node));
    let mut above = above.peekable();
    let mut start = tree.bytes(node).start;
    while let Some(attribute) = above.next_if(|node| tree.kind(*node) == "attribute_item") {
        start = tree.bytes(attribute).start;
    }
    let above = above.take_while(|node| is_doc(*node, "///")).map(|node| tree.bytes(node));
    Some(above.reduce(|last, first| first.start..last.end).unwrap_or(start..start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed(grammar: GrammarKind, code: &str, tests: &str) -> Option<String> {
        let read = |text| SyntaxTree::read(grammar, text).unwrap();
        let mixed = with_examples_of(&read(code.as_bytes()), &read(tests.as_bytes()))?;
        Some(String::from_utf8(mixed).unwrap())
    }

    #[test]
    fn examples_go_with_the_tests_and_code_stays() {
        let before = "def half(n):\n    \"\"\"Half.\n\n    >>> half(4)\n    2\n    \"\"\"\n    return n // 2\n\n\nclass A:\n    def f(self):\n        return 1\n";
        let after = "def half(n):\n    \"\"\"Half.\n\n    >>> half(5)\n    3\n    \"\"\"\n    return -(-n // 2)\n\n\nclass A:\n    def f(self):\n        '''\n        >>> A().f()\n        2\n        '''\n        return 2\n";
        let mixed_python = mixed(GrammarKind::Python, before, after).unwrap();
        assert_eq!(
            mixed_python,
            after.replace("return -(-n // 2)", "return n // 2").replace("return 2", "return 1")
        );
        assert_eq!(mixed(GrammarKind::Python, before, before), None);
        let prose = before.replace("Half.\n\n    >>> half(4)\n    2\n", "Half.\n");
        assert_eq!(
            mixed(GrammarKind::Python, &prose, &prose.replace("Half.", "A half.")),
            None,
            "no example"
        );
        let before = "/// Half.\n///\n/// ```\n/// assert_eq!(a::half(4), 2);\n/// ```\npub fn half(n: i32) -> i32 {\n    n / 2\n}\n\nimpl A {\n    #[inline]\n    pub fn f(&self) {}\n}\n";
        let after = before
            .replace("half(4), 2", "half(5), 3")
            .replace("n / 2", "(n + 1) / 2")
            .replace("    #[inline]", "    /// ```\n    /// a::A.f();\n    /// ```\n    #[inline]");
        assert_eq!(mixed(GrammarKind::Rust, before, &after).unwrap(), after.replace("(n + 1) / 2", "n / 2"));
        assert_eq!(mixed(GrammarKind::Rust, &after, before).unwrap().matches("half(4), 2").count(), 1);
    }
}
