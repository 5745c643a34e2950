//! Separates tests and code of one file and combines them differently, in languages that keep both in one file.

use std::ops::Range;

use journeyman_languages::doc_examples::with_examples_of;
use journeyman_languages::grammar_kind::GrammarKind;
use journeyman_languages::roles::grammar_of;
use journeyman_languages::rust::tests_inside::{attributes, is_item_for_tests};
use journeyman_languages::syntax_tokens::syntax_tokens;
use journeyman_languages::syntax_tree::{NodeId, SyntaxTooLarge, SyntaxTree};

/// The code of one version of a file with the tests and documentation examples of another. `None` if they are equal, or
/// if the language keeps tests in separate files.
pub fn graft(path: &str, code: &[u8], tests: &[u8]) -> Result<Option<Vec<u8>>, SyntaxTooLarge> {
    let is_one = |grammar: &GrammarKind| matches!(grammar, GrammarKind::Rust | GrammarKind::Python);
    let Some(grammar) = grammar_of(path).filter(is_one) else { return Ok(None) };
    let has_examples = |bytes: &[u8]| bytes.windows(4).any(|window| window == b">>> ");
    if grammar == GrammarKind::Python && !has_examples(code) && !has_examples(tests) {
        return Ok(None);
    }
    let of_tests = SyntaxTree::read(grammar, tests)?;
    let mut mixed_code: Option<Vec<u8>> = None;
    for mix in [with_tests_of, with_examples_of] {
        let source = SyntaxTree::read(grammar, mixed_code.as_deref().unwrap_or(code))?;
        let mixed = mix(&source, &of_tests);
        if source.is_exhausted() || of_tests.is_exhausted() {
            return Err(SyntaxTooLarge);
        }
        mixed_code = mixed.or(mixed_code);
    }
    Ok(mixed_code)
}

fn with_tests_of(source: &SyntaxTree<'_>, of_tests: &SyntaxTree<'_>) -> Option<Vec<u8>> {
    if source.grammar != GrammarKind::Rust {
        return None;
    }
    let (code, tests) = (source.source(), of_tests.source());
    let (own, others) = (items(source), items(of_tests));
    let texts = |tree: &SyntaxTree<'_>, items: &[NodeId]| -> Vec<String> {
        items.iter().map(|item| tree.canonical_whole(whole(tree, *item))).collect()
    };
    if texts(source, &own) == texts(of_tests, &others) {
        return None;
    }
    let mut grafted = without(source, code, &own)?;
    for item in others {
        if !grafted.ends_with('\n') {
            grafted.push('\n');
        }
        grafted.push('\n');
        grafted.push_str(std::str::from_utf8(tests.get(whole(of_tests, item))?).ok()?);
        grafted.push('\n');
    }
    Some(grafted.into_bytes())
}

/// The tokens of a file's code, without comments, layout, the tests in it and items of the kinds in `without`. `None`
/// for unknown languages and unparsable files.
pub fn code_tokens(path: &str, bytes: &[u8], without: &[&str]) -> Option<Vec<String>> {
    let grammar = grammar_of(path)?;
    let tree = SyntaxTree::read(grammar, bytes).ok()?;
    let tests = if grammar == GrammarKind::Rust { items(&tree) } else { Vec::new() };
    let others = tree.children(SyntaxTree::ROOT).filter(|node| without.contains(&tree.kind(*node)));
    let left_out = tests.into_iter().chain(others);
    let mut left_out: Vec<Range<NodeId>> =
        left_out.map(|item| first_of(&tree, item)..tree.all(item).end).collect();
    left_out.sort_by_key(|part| part.start);
    let tokens = syntax_tokens(&tree, tree.everything(), &left_out);
    (!tree.is_exhausted()).then(|| tokens.into_iter().map(|token| token.text.into_owned()).collect())
}

fn without(tree: &SyntaxTree<'_>, bytes: &[u8], items: &[NodeId]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut kept = String::new();
    let mut at = 0;
    for item in items {
        let place = whole(tree, *item);
        kept.push_str(text.get(at..place.start)?);
        at = place.end;
    }
    kept.push_str(text.get(at..)?);
    Some(kept)
}

/// Top-level items that compile only for tests. Deeper ones belong to a module of the code.
fn items(tree: &SyntaxTree<'_>) -> Vec<NodeId> {
    let kinds = ["attribute_item", "line_comment", "block_comment", "inner_attribute_item"];
    tree.children(SyntaxTree::ROOT)
        .filter(|node| !kinds.contains(&tree.kind(*node)))
        .filter(|node| is_item_for_tests(tree, *node))
        .collect()
}

fn whole(tree: &SyntaxTree<'_>, item: NodeId) -> Range<usize> {
    tree.bytes(first_of(tree, item)).start..tree.bytes(item).end
}

/// The first attribute of an item, or the item itself.
fn first_of(tree: &SyntaxTree<'_>, item: NodeId) -> NodeId {
    attributes(tree, item).last().copied().unwrap_or(item)
}
