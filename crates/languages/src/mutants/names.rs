//! The names of a file that decide whether a mutant compiles. Go rejects unused names. Text supports `+` but no other
//! arithmetic.

use std::collections::{HashMap, HashSet};

use super::MOST_CLIMB;
use super::returns::declared;
use crate::grammar_kind::GrammarKind;
use crate::syntax_tree::{NodeId, SyntaxTree, is_function, is_string};

#[derive(Debug, Default)]
pub struct NameTable<'s> {
    /// Variables that hold text, by their declaration.
    text: HashSet<&'s str>,
    /// Imported packages, by their local name.
    imported: HashSet<&'s str>,
    local: HashSet<&'s str>,
    /// Where a name is read.
    read: HashMap<&'s str, Vec<NodeId>>,
}

impl<'s> NameTable<'s> {
    pub fn of(tree: &'s SyntaxTree<'_>) -> Self {
        let mut names = Self::default();
        for node in tree.everything() {
            match tree.grammar {
                GrammarKind::Go => names.go(tree, node),
                GrammarKind::Java => names.java(tree, node),
                GrammarKind::Rust => names.rust(tree, node),
                GrammarKind::Python
                | GrammarKind::JavaScript
                | GrammarKind::TypeScript
                | GrammarKind::Tsx => break,
            }
        }
        names
    }

    fn java(&mut self, tree: &'s SyntaxTree<'_>, node: NodeId) {
        if tree.kind(node) == "formal_parameter" && tree.field_text(node, "type") == "String" {
            self.text.insert(tree.field_text(node, "name"));
        }
        if tree.kind(node) == "variable_declarator"
            && tree.parent(node).is_some_and(|of| tree.field_text(of, "type") == "String")
        {
            self.text.insert(tree.field_text(node, "name"));
        }
    }

    fn rust(&mut self, tree: &'s SyntaxTree<'_>, node: NodeId) {
        if !matches!(tree.kind(node), "parameter" | "let_declaration") {
            return;
        }
        let declared = tree.field_text(node, "type");
        let value = tree.field(node, "value");
        let bare = declared.rsplit([' ', '&']).next().unwrap_or_default();
        let is_text = matches!(bare, "String" | "str")
            || value.is_some_and(|value| {
                is_string(tree.kind(value)) || tree.text(value).starts_with("String::") || {
                    tree.kind(value) == "macro_invocation" && tree.field_text(value, "macro") == "format"
                }
            });
        if is_text {
            self.text.insert(tree.field_text(node, "pattern"));
        }
    }

    fn go(&mut self, tree: &'s SyntaxTree<'_>, node: NodeId) {
        match tree.kind(node) {
            "import_spec" => {
                let path = tree.field_text(node, "path").trim_matches(['"', '`']);
                let last = path.rsplit('/').next().unwrap_or(path);
                self.imported.insert(last);
                self.imported.insert(tree.field_text(node, "name"));
            }
            "parameter_declaration" | "var_spec" | "field_declaration"
                if tree.field_text(node, "type") == "string" =>
            {
                self.text.extend(
                    tree.children(node)
                        .filter(|child| tree.field_of(*child) == Some("name"))
                        .map(|name| tree.text(name)),
                );
            }
            "short_var_declaration" => {
                let value = tree.field(node, "right").and_then(|right| tree.part(right, 0));
                let name = tree.field(node, "left").and_then(|left| tree.part(left, 0));
                if let (Some(value), Some(name)) = (value, name)
                    && is_string(tree.kind(value))
                {
                    self.text.insert(tree.text(name));
                }
            }
            "identifier" | "package_identifier" => {
                let name = tree.text(node);
                if is_written(tree, node) {
                    self.local.insert(name);
                } else {
                    self.read.entry(name).or_default().push(node);
                }
            }
            _ => {}
        }
    }

    pub fn is_text(&self, name: &str) -> bool {
        self.text.contains(name)
    }

    /// Whether a sum is in a place that requires text.
    pub fn wants_text(&self, tree: &SyntaxTree<'_>, sum: NodeId) -> bool {
        if !matches!(tree.grammar, GrammarKind::Go | GrammarKind::Java) {
            return false;
        }
        let mut climbed = tree.ancestors(sum).take(MOST_CLIMB);
        let up = climbed.find(|up| tree.kind(*up) != "expression_list");
        let Some(up) = up else { return false };
        match tree.kind(up) {
            "return_statement" => {
                let function = tree.ancestors(up).take(MOST_CLIMB).find(|up| is_function(tree.kind(*up)));
                function.is_some_and(|function| {
                    let declared = declared(tree, function);
                    declared.contains("string") || declared == "String"
                })
            }
            "variable_declarator" => self.text.contains(tree.field_text(up, "name")),
            "assignment_expression" | "assignment_statement" | "var_spec" => {
                ["left", "name"].iter().any(|field| self.text.contains(tree.field_text(up, field)))
            }
            _ => false,
        }
    }

    /// Whether a file still compiles without a node: each name in it is also read elsewhere.
    pub fn are_used_without(&self, tree: &SyntaxTree<'_>, gone: NodeId) -> bool {
        if tree.grammar != GrammarKind::Go {
            return true;
        }
        let within = tree.all(gone);
        let function = tree.ancestors(gone).take(MOST_CLIMB).find(|up| is_function(tree.kind(*up)));
        let around = function.map_or(tree.everything(), |function| tree.all(function));
        within.clone().take(MOST_CLIMB).all(|node| {
            if !matches!(tree.kind(node), "identifier" | "package_identifier") {
                return true;
            }
            let name = tree.text(node);
            let (is_import, is_local) = (self.imported.contains(name), self.local.contains(name));
            let read = self.read.get(name).map(Vec::as_slice).unwrap_or_default();
            // Sorted, since the walk follows the order of the file.
            let is_read_in = |places: std::ops::Range<NodeId>| {
                let first = read.partition_point(|place| *place < places.start);
                read.get(first).is_some_and(|place| places.contains(place))
            };
            let place = if is_import && !is_local { tree.everything() } else { around.clone() };
            !(is_import || is_local)
                || is_read_in(place.start..within.start)
                || is_read_in(within.end..place.end)
        })
    }
}

/// Whether a name is assigned or declared here.
fn is_written(tree: &SyntaxTree<'_>, name: NodeId) -> bool {
    let Some(parent) = tree.parent(name) else { return false };
    match tree.kind(parent) {
        "var_spec" => tree.field_of(name) == Some("name"),
        "expression_list" if tree.field_of(parent) == Some("left") => {
            tree.parent(parent).is_some_and(|of| match tree.kind(of) {
                "short_var_declaration" | "range_clause" => true,
                "assignment_statement" => tree.field_text(of, "operator") == "=",
                _ => false,
            })
        }
        _ => false,
    }
}
