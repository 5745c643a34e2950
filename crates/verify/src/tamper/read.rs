//! A parsed source file, and where its tests are.

use std::ops::Range;

use journeyman_languages::grammar_kind::GrammarKind;
use journeyman_languages::roles::grammar_of;
use journeyman_languages::rust::tests_inside;
use journeyman_languages::syntax_tree::{NodeId, SyntaxTooLarge, SyntaxTree};
use journeyman_order::test_path::is_test_path;

/// Whether one of these sorted, disjoint places of a file contains a byte.
fn is_within(places: &[Range<usize>], at: usize) -> bool {
    let next = places.partition_point(|place| place.start <= at);
    next.checked_sub(1).and_then(|last| places.get(last)).is_some_and(|place| place.contains(&at))
}

#[derive(Debug)]
pub(super) struct ParsedFile<'a> {
    pub(super) path: String,
    pub(super) tree: SyntaxTree<'a>,
    /// Where tests and their helpers are in the file, sorted and disjoint.
    test_places: Vec<Range<usize>>,
}

impl<'a> ParsedFile<'a> {
    /// Parses a file with a known grammar. `None` for other files.
    pub(super) fn read(path: &str, bytes: &'a [u8]) -> Option<Result<Self, SyntaxTooLarge>> {
        let grammar = grammar_of(path)?;
        Some(SyntaxTree::read(grammar, bytes).map(|tree| Self::of(path, tree)))
    }

    fn of(path: &str, tree: SyntaxTree<'a>) -> Self {
        let test_places = if is_test_path(path) {
            std::iter::once(0..usize::MAX).collect()
        } else if tree.grammar == GrammarKind::Rust {
            tests_inside::places(&tree)
        } else {
            Vec::new()
        };
        Self { path: path.to_owned(), tree, test_places }
    }

    pub(super) fn is_in_tests(&self, node: NodeId) -> bool {
        self.is_test_at(self.tree.bytes(node).start)
    }

    pub(super) fn is_test_at(&self, at: usize) -> bool {
        is_within(&self.test_places, at)
    }
}

pub(super) fn clipped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
