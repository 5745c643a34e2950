//! How a language is read from the syntax trees of its files, as a row.
//!
//! May know: grammars, items with names. Must never know: which languages there are.

use crate::grammar_kind::GrammarKind;
use crate::named_item::{ItemKind, NamedItem};
use crate::syntax_tree::{NodeId, SyntaxTree};

pub(crate) struct SyntaxRules {
    /// Its grammars, each with the endings of its files.
    pub(crate) grammars: &'static [(GrammarKind, &'static [&'static str])],
    /// The item that begins at a node.
    pub(crate) item: fn(&SyntaxTree<'_>, NodeId) -> Option<NamedItem>,
    /// Whether a runner finds a test at a node inside items of these kinds.
    pub(crate) can_hold_tests: fn(&SyntaxTree<'_>, NodeId, &[ItemKind]) -> bool,
    /// Whether of two functions of a block with one name only the later one is run.
    pub(crate) is_redefined: bool,
    /// How the names of tests begin whose comments say what they have to print.
    pub(crate) example: Option<&'static str>,
}

impl SyntaxRules {
    /// Most runners find no tests inside functions. The grammars and the items are missing.
    pub(crate) const NONE: Self = Self {
        grammars: &[],
        item: |_, _| None,
        can_hold_tests: |_, _, around| around.iter().all(|kind| *kind == ItemKind::Group),
        is_redefined: false,
        example: None,
    };
}
