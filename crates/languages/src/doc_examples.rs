//! Documentation examples that runners treat as tests: `>>>` in Python, code blocks in Rust. Combines the code of one
//! version of a file with the examples of another.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::grammar_kind::GrammarKind;
use crate::syntax_tree::{NodeId, SyntaxTree};

struct DocumentedItem {
    doc: Option<Range<usize>>,
    /// Where documentation would be inserted, and its indentation.
    at: usize,
    indent: usize,
}

/// The code of one version with the examples of another, if either has any. `None` if nothing differs.
pub fn with_examples_of(code: &SyntaxTree<'_>, tests: &SyntaxTree<'_>) -> Option<Vec<u8>> {
    let (own, others) = (items(code), items(tests));
    let text = |tree: &SyntaxTree<'_>, doc: &Range<usize>| -> String {
        String::from_utf8_lossy(tree.source().get(doc.clone()).unwrap_or_default()).into_owned()
    };
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (name, item) in &own {
        let Some(other) = others.get(name).and_then(|other| other.doc.as_ref()) else { continue };
        let wanted = text(tests, other);
        let has = item.doc.as_ref().map(|doc| text(code, doc));
        let is_example = |doc: &str| doc.contains(if is_python(code) { ">>> " } else { "```" });
        if has.as_deref() == Some(&wanted) || !(is_example(&wanted) || has.as_deref().is_some_and(is_example))
        {
            continue;
        }
        edits.push(match &item.doc {
            Some(doc) => (doc.clone(), wanted),
            None => (item.at..item.at, format!("{}\n{}", wanted.trim_end(), " ".repeat(item.indent))),
        });
    }
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    let mut grafted = code.source().to_vec();
    for (place, wanted) in edits {
        if grafted.get(place.clone()).is_some() {
            grafted.splice(place, wanted.into_bytes());
        }
    }
    Some(grafted)
}

/// Otherwise it is Rust; no other language has such examples.
fn is_python(tree: &SyntaxTree<'_>) -> bool {
    tree.grammar == GrammarKind::Python
}

/// Items that can have documentation, by their full path. Of equal paths, the first.
fn items(tree: &SyntaxTree<'_>) -> BTreeMap<String, DocumentedItem> {
    let mut items = BTreeMap::new();
    for node in tree.everything() {
        let item = if is_python(tree) { python_item(tree, node) } else { rust_item(tree, node) };
        if let Some(item) = item {
            items.entry(path_of(tree, node)).or_insert(item);
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

/// A module, class or function with its docstring.
fn python_item(tree: &SyntaxTree<'_>, node: NodeId) -> Option<DocumentedItem> {
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
    let indent = column(tree, place.start);
    Some(DocumentedItem { at: place.start, indent, doc: is_doc.then_some(place) })
}

/// An item with its doc comments.
fn rust_item(tree: &SyntaxTree<'_>, node: NodeId) -> Option<DocumentedItem> {
    const ITEMS: [&str; 9] = [
        "function_item", "function_signature_item", "struct_item", "enum_item", "trait_item", "mod_item",
        "macro_definition", "const_item", "type_item",
    ];
    let is_doc =
        |node: NodeId, mark: &str| tree.kind(node) == "line_comment" && tree.text(node).starts_with(mark);
    if node == SyntaxTree::ROOT {
        let mut doc: Option<Range<usize>> = None;
        for child in tree.children(node).take_while(|child| is_doc(*child, "//!")) {
            let place = tree.bytes(child);
            doc = Some(doc.map_or(place.start, |doc| doc.start)..place.end);
        }
        return Some(DocumentedItem { doc, at: 0, indent: 0 });
    }
    if !ITEMS.contains(&tree.kind(node)) {
        return None;
    }
    let place = tree.bytes(node);
    let (mut doc, mut at): (Option<Range<usize>>, usize) = (None, place.start);
    let mut above = tree.previous(node);
    while let Some(node) = above {
        let place = tree.bytes(node);
        if is_doc(node, "///") {
            doc = Some(place.start..doc.map_or(place.end, |doc| doc.end));
        } else if tree.kind(node) != "attribute_item" || doc.is_some() {
            break;
        }
        at = place.start;
        above = tree.previous(node);
    }
    Some(DocumentedItem { doc, at, indent: column(tree, place.start) })
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
