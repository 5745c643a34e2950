//! A source file as a flat tree: tree-sitter's nodes in one list, so that walking it never recurses and always ends.

use std::cell::Cell;
use std::num::NonZeroU16;
use std::ops::{ControlFlow, Range};

use tree_sitter::{ParseOptions, ParseState, Parser};

use crate::grammar_kind::GrammarKind;
use journeyman_order::bounds::{LARGEST_DOCUMENT, MOST_LOOKED_AT};

/// A file with more nodes is not parsed, because each takes memory.
const MOST_NODES: usize = 2_500_000;
/// A file nested deeper is not parsed: no one writes such a file by hand, and climbing it must end.
const MOST_DEPTH: usize = 2_000;
/// Limits of the parser's progress callbacks, for an empty file and for each byte. It calls back after every hundred
/// steps. Counting steps instead of time makes the result the same on every run.
const ASKED_AT_LEAST: usize = 20_000;
const ASKED_A_BYTE: usize = 2;
/// Limit of walked nodes and inspected text across all queries of a file. A file can be built so that each part queries
/// all the others. Counted rather than timed, as above.
const MOST_STEPS: usize = 100_000_000;
const TEXT_STEP: usize = 4;

pub type NodeId = usize;

#[derive(Debug)]
struct SyntaxNode {
    kind: &'static str,
    field: Option<NonZeroU16>,
    is_named: bool,
    bytes: Range<u32>,
    line: u32,
    parent: u32,
    /// The index after its last descendant.
    past: u32,
}

/// A parsed file. Node 0 is its root.
#[derive(Debug)]
pub struct SyntaxTree<'a> {
    pub grammar: GrammarKind,
    source: &'a [u8],
    nodes: Vec<SyntaxNode>,
    left: Cell<usize>,
}

/// The file is too large, too deep or too tangled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyntaxTooLarge;

impl<'a> SyntaxTree<'a> {
    /// Parses a file within limits. Syntax errors are not reported here; the parts that parse are used.
    pub fn read(grammar: GrammarKind, source: &'a [u8]) -> Result<Self, SyntaxTooLarge> {
        if source.len() > LARGEST_DOCUMENT {
            return Err(SyntaxTooLarge);
        }
        let mut parser = Parser::new();
        parser.set_language(grammar.loaded()).map_err(|_| SyntaxTooLarge)?;
        let mut left = ASKED_AT_LEAST + source.len() * ASKED_A_BYTE;
        let mut go_on = |_: &ParseState| {
            left = left.saturating_sub(1);
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut go_on);
        let tree = parser
            .parse_with_options(&mut |at, _| source.get(at..).unwrap_or_default(), None, Some(options))
            .ok_or(SyntaxTooLarge)?;
        let nodes = flatten(&tree, grammar.loaded())?;
        Ok(Self { grammar, source, nodes, left: Cell::new(MOST_STEPS) })
    }

    /// Whether queries used up the file's step limit. Answers are then incomplete and unusable, as if the file had not
    /// been parsed.
    pub fn is_exhausted(&self) -> bool {
        self.left.get() == 0
    }

    fn may_go(&self, steps: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(steps));
        !self.is_exhausted()
    }

    pub fn source(&self) -> &'a [u8] {
        self.source
    }

    pub const ROOT: NodeId = 0;

    pub fn kind(&self, node: NodeId) -> &'static str {
        self.nodes.get(node).map_or("", |node| node.kind)
    }

    /// The name of the node's field in its parent.
    pub fn field_of(&self, node: NodeId) -> Option<&'static str> {
        let field = self.nodes.get(node).and_then(|node| node.field)?;
        self.grammar.loaded().field_name_for_id(field.get())
    }

    /// Counted from 1.
    pub fn line(&self, node: NodeId) -> u32 {
        self.nodes.get(node).map_or(1, |node| node.line)
    }

    pub fn bytes(&self, node: NodeId) -> Range<usize> {
        self.nodes.get(node).map_or(0..0, |node| node.bytes.start as usize..node.bytes.end as usize)
    }

    /// As written. Empty if it is not UTF-8.
    pub fn text(&self, node: NodeId) -> &str {
        let bytes = self.bytes(node);
        if !self.may_go(1 + bytes.len() / TEXT_STEP) {
            return "";
        }
        self.source.get(bytes).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }

    /// A range of the text with its whitespace normalized.
    pub fn canonical_whole(&self, bytes: Range<usize>) -> String {
        let text =
            self.source.get(bytes).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        (node != Self::ROOT).then(|| self.nodes.get(node).map(|node| node.parent as NodeId)).flatten()
    }

    pub fn ancestors(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(self.parent(node), |node| self.parent(*node).filter(|_| self.may_go(1)))
    }

    fn past(&self, node: NodeId) -> NodeId {
        self.nodes.get(node).map_or(node, |node| node.past as NodeId)
    }

    /// The node and all its descendants, in the order of the text.
    pub fn all(&self, node: NodeId) -> Range<NodeId> {
        node..self.past(node)
    }

    pub fn everything(&self) -> Range<NodeId> {
        self.all(Self::ROOT)
    }

    pub fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let past = self.past(node);
        let first = Some(node + 1).filter(|first| *first < past);
        std::iter::successors(first, move |child| {
            Some(self.past(*child)).filter(|next| *next < past && self.may_go(1))
        })
    }

    pub(crate) fn previous(&self, node: NodeId) -> Option<NodeId> {
        let parent = self.parent(node)?;
        let before = node.checked_sub(1).filter(|before| *before > parent)?;
        std::iter::once(before).chain(self.ancestors(before)).find(|up| self.parent(*up) == Some(parent))
    }

    /// Children other than punctuation and comments.
    pub fn parts(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        self.children(node).filter(|child| self.is_part(*child))
    }

    /// Whether a child is neither punctuation nor a comment.
    pub(crate) fn is_part(&self, child: NodeId) -> bool {
        self.nodes.get(child).is_some_and(|node| node.is_named) && !is_comment(self.kind(child))
    }

    pub fn part(&self, node: NodeId, at: usize) -> Option<NodeId> {
        self.parts(node).nth(at)
    }

    pub fn field(&self, node: NodeId, name: &str) -> Option<NodeId> {
        let wanted = self.grammar.loaded().field_id_for_name(name)?;
        self.children(node).find(|child| self.nodes.get(*child).and_then(|node| node.field) == Some(wanted))
    }

    pub fn field_text(&self, node: NodeId, name: &str) -> &str {
        self.field(node, name).map_or("", |child| self.text(child))
    }

    /// The tokens of a node without comments, strings whole and with the same quotes. At most a few hundred.
    pub(crate) fn tokens(&self, node: NodeId) -> Vec<String> {
        let mut tokens = Vec::new();
        let end = self.past(node);
        let mut at = node;
        while at < end && tokens.len() < MOST_LOOKED_AT {
            let kind = self.kind(at);
            if is_comment(kind) {
                at = self.past(at);
            } else if is_string(kind) {
                tokens.push(self.string(at));
                at = self.past(at);
            } else {
                let text = self.text(at);
                if self.past(at) == at + 1 && !text.trim().is_empty() && text != ";" {
                    tokens.push(text.to_owned());
                }
                at += 1;
            }
        }
        self.may_go(at - node);
        // A comma before a closing bracket is only layout.
        let layout: Vec<bool> = tokens
            .iter()
            .enumerate()
            .map(|(at, token)| {
                token == "," && tokens.get(at + 1).is_none_or(|next| matches!(next.as_str(), ")" | "]" | "}"))
            })
            .collect();
        tokens.into_iter().zip(layout).filter(|(_, layout)| !layout).map(|(token, _)| token).collect()
    }

    /// The tokens on one line: equal if only the layout differs.
    pub fn canonical(&self, node: NodeId) -> String {
        self.tokens(node).join(" ")
    }

    fn string(&self, node: NodeId) -> String {
        let text = self.text(node);
        let bare = text.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '#');
        let prefix = text.get(..text.len() - bare.len()).unwrap_or_default();
        // Interpolated strings differ from what their text shows.
        let mark = if prefix.contains(['f', 'F']) || text.starts_with('`') && text.contains("${") {
            "f"
        } else {
            ""
        };
        format!("{mark}\"{}\"", bare.trim_matches(|c| matches!(c, '"' | '\'' | '`' | '#')))
    }

    /// Strings and numbers within a node, as tokens. At most a few hundred.
    pub fn literals(&self, node: NodeId) -> Vec<String> {
        let mut literals = Vec::new();
        let end = self.past(node);
        let mut at = node;
        while at < end && literals.len() < MOST_LOOKED_AT {
            let kind = self.kind(at);
            if is_string(kind) {
                // A string statement is a comment.
                if self.parent(at).is_none_or(|up| self.kind(up) != "expression_statement") {
                    literals.push(self.string(at));
                }
                at = self.past(at);
                continue;
            }
            if is_number(kind) {
                literals.push(self.text(at).to_owned());
            } else if is_word_literal(kind) {
                literals.push(self.text(at).to_lowercase());
            }
            at += 1;
        }
        self.may_go(at - node);
        literals
    }

    /// Whether a node is one literal, including a sign.
    pub fn is_literal(&self, node: NodeId) -> bool {
        let kind = self.kind(node);
        is_string(kind)
            || is_number(kind)
            || is_word_literal(kind)
            || (matches!(kind, "unary_operator" | "unary_expression")
                && self.parts(node).all(|part| is_number(self.kind(part))))
    }
}

pub fn is_comment(kind: &str) -> bool {
    matches!(kind, "comment" | "line_comment" | "block_comment")
}

/// Strings of every language, including characters.
pub fn is_string(kind: &str) -> bool {
    matches!(
        kind,
        "string"
            | "string_literal"
            | "raw_string_literal"
            | "interpreted_string_literal"
            | "template_string"
            | "char_literal"
            | "character_literal"
            | "rune_literal"
    )
}

pub fn is_number(kind: &str) -> bool {
    matches!(
        kind,
        "integer"
            | "float"
            | "number"
            | "integer_literal"
            | "float_literal"
            | "int_literal"
            | "decimal_integer_literal"
            | "hex_integer_literal"
            | "decimal_floating_point_literal"
    )
}

fn is_word_literal(kind: &str) -> bool {
    matches!(
        kind,
        "true" | "false" | "none" | "null" | "nil" | "undefined" | "boolean_literal" | "null_literal"
    )
}

pub fn is_name(kind: &str) -> bool {
    matches!(
        kind,
        "identifier"
            | "property_identifier"
            | "field_identifier"
            | "type_identifier"
            | "shorthand_property_identifier"
    )
}

fn flatten(
    tree: &tree_sitter::Tree,
    grammar: &'static tree_sitter::Language,
) -> Result<Vec<SyntaxNode>, SyntaxTooLarge> {
    let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let mut nodes: Vec<SyntaxNode> = Vec::new();
    let mut open: Vec<NodeId> = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let id = nodes.len();
        if id >= MOST_NODES {
            return Err(SyntaxTooLarge);
        }
        nodes.push(SyntaxNode {
            kind: grammar.node_kind_for_id(node.kind_id()).unwrap_or_default(),
            field: cursor.field_id(),
            is_named: node.is_named(),
            bytes: small(node.start_byte())..small(node.end_byte()),
            line: small(node.start_position().row).saturating_add(1),
            parent: small(open.last().copied().unwrap_or(0)),
            past: small(id + 1),
        });
        if cursor.goto_first_child() {
            open.push(id);
            if open.len() > MOST_DEPTH {
                return Err(SyntaxTooLarge);
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                close(&mut nodes, &mut open, 0);
                return Ok(nodes);
            }
            let depth = open.len().saturating_sub(1);
            close(&mut nodes, &mut open, depth);
        }
    }
}

/// Closes the open nodes beyond a depth.
fn close(nodes: &mut [SyntaxNode], open: &mut Vec<NodeId>, depth: usize) {
    let past = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
    for id in open.drain(depth..) {
        if let Some(node) = nodes.get_mut(id) {
            node.past = past;
        }
    }
}

/// Whether a node is a function, named or anonymous.
pub fn is_function(kind: &str) -> bool {
    matches!(
        kind,
        "function_definition"
            | "lambda"
            | "function_item"
            | "closure_expression"
            | "async_block"
            | "function_declaration"
            | "function_expression"
            | "generator_function"
            | "generator_function_declaration"
            | "arrow_function"
            | "method_definition"
            | "method_declaration"
            | "constructor_declaration"
            | "func_literal"
            | "lambda_expression"
    )
}

pub fn is_loop(kind: &str) -> bool {
    matches!(
        kind,
        "for_statement"
            | "while_statement"
            | "do_statement"
            | "for_in_statement"
            | "enhanced_for_statement"
            | "for_expression"
            | "while_expression"
            | "loop_expression"
    )
}
