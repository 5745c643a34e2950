//! The names of a file that decide whether a mutant compiles. Go rejects unused names. Text supports `+` but no other
//! arithmetic.

use std::collections::{HashMap, HashSet};

use super::MOST_CLIMB;
use super::returns::declared;
use crate::tamper::language::Language;
use crate::tamper::syntax::{NodeId, Syntax, is_function, is_string};

#[derive(Debug, Default)]
pub(super) struct NameTable<'s> {
    /// Variables that hold text, by their declaration.
    text: HashSet<&'s str>,
    /// Imported packages, by their local name.
    imported: HashSet<&'s str>,
    local: HashSet<&'s str>,
    /// Where a name is read.
    read: HashMap<&'s str, Vec<NodeId>>,
}

impl<'s> NameTable<'s> {
    pub(super) fn of(syntax: &'s Syntax<'_>) -> Self {
        let mut names = Self::default();
        for node in syntax.everything() {
            match syntax.language {
                Language::Go => names.go(syntax, node),
                Language::Java => names.java(syntax, node),
                Language::Rust => names.rust(syntax, node),
                Language::Python | Language::JavaScript | Language::TypeScript | Language::Tsx => break,
            }
        }
        names
    }

    fn java(&mut self, syntax: &'s Syntax<'_>, node: NodeId) {
        if syntax.kind(node) == "formal_parameter" && syntax.field_text(node, "type") == "String" {
            self.text.insert(syntax.field_text(node, "name"));
        }
        if syntax.kind(node) == "variable_declarator"
            && syntax.parent(node).is_some_and(|of| syntax.field_text(of, "type") == "String")
        {
            self.text.insert(syntax.field_text(node, "name"));
        }
    }

    fn rust(&mut self, syntax: &'s Syntax<'_>, node: NodeId) {
        if !matches!(syntax.kind(node), "parameter" | "let_declaration") {
            return;
        }
        let declared = syntax.field_text(node, "type");
        let value = syntax.field(node, "value");
        let bare = declared.rsplit([' ', '&']).next().unwrap_or_default();
        let is_text = matches!(bare, "String" | "str")
            || value.is_some_and(|value| {
                is_string(syntax.kind(value)) || syntax.text(value).starts_with("String::") || {
                    syntax.kind(value) == "macro_invocation" && syntax.field_text(value, "macro") == "format"
                }
            });
        if is_text {
            self.text.insert(syntax.field_text(node, "pattern"));
        }
    }

    fn go(&mut self, syntax: &'s Syntax<'_>, node: NodeId) {
        match syntax.kind(node) {
            "import_spec" => {
                let path = syntax.field_text(node, "path").trim_matches(['"', '`']);
                let last = path.rsplit('/').next().unwrap_or(path);
                self.imported.insert(last);
                self.imported.insert(syntax.field_text(node, "name"));
            }
            "parameter_declaration" | "var_spec" | "field_declaration"
                if syntax.field_text(node, "type") == "string" =>
            {
                self.text.extend(
                    syntax
                        .children(node)
                        .filter(|child| syntax.field_of(*child) == Some("name"))
                        .map(|name| syntax.text(name)),
                );
            }
            "short_var_declaration" => {
                let value = syntax.field(node, "right").and_then(|right| syntax.part(right, 0));
                let name = syntax.field(node, "left").and_then(|left| syntax.part(left, 0));
                if let (Some(value), Some(name)) = (value, name)
                    && is_string(syntax.kind(value))
                {
                    self.text.insert(syntax.text(name));
                }
            }
            "identifier" | "package_identifier" => {
                let name = syntax.text(node);
                if is_written(syntax, node) {
                    self.local.insert(name);
                } else {
                    self.read.entry(name).or_default().push(node);
                }
            }
            _ => {}
        }
    }

    pub(super) fn is_text(&self, name: &str) -> bool {
        self.text.contains(name)
    }

    /// Whether a sum is in a place that requires text.
    pub(super) fn wants_text(&self, syntax: &Syntax<'_>, sum: NodeId) -> bool {
        if !matches!(syntax.language, Language::Go | Language::Java) {
            return false;
        }
        let mut climbed = syntax.ancestors(sum).take(MOST_CLIMB);
        let up = climbed.find(|up| syntax.kind(*up) != "expression_list");
        let Some(up) = up else { return false };
        match syntax.kind(up) {
            "return_statement" => {
                let function = syntax.ancestors(up).take(MOST_CLIMB).find(|up| is_function(syntax.kind(*up)));
                function.is_some_and(|function| {
                    let declared = declared(syntax, function);
                    declared.contains("string") || declared == "String"
                })
            }
            "variable_declarator" => self.text.contains(syntax.field_text(up, "name")),
            "assignment_expression" | "assignment_statement" | "var_spec" => {
                ["left", "name"].iter().any(|field| self.text.contains(syntax.field_text(up, field)))
            }
            _ => false,
        }
    }

    /// Whether a file still compiles without a node: each name in it is also read elsewhere.
    pub(super) fn are_used_without(&self, syntax: &Syntax<'_>, gone: NodeId) -> bool {
        if syntax.language != Language::Go {
            return true;
        }
        let within = syntax.all(gone);
        let function = syntax.ancestors(gone).take(MOST_CLIMB).find(|up| is_function(syntax.kind(*up)));
        let around = function.map_or(syntax.everything(), |function| syntax.all(function));
        within.clone().take(MOST_CLIMB).all(|node| {
            if !matches!(syntax.kind(node), "identifier" | "package_identifier") {
                return true;
            }
            let name = syntax.text(node);
            let (is_import, is_local) = (self.imported.contains(name), self.local.contains(name));
            let read = self.read.get(name).map(Vec::as_slice).unwrap_or_default();
            // Sorted, since the walk follows the order of the file.
            let is_read_in = |places: std::ops::Range<NodeId>| {
                let first = read.partition_point(|place| *place < places.start);
                read.get(first).is_some_and(|place| places.contains(place))
            };
            let place = if is_import && !is_local { syntax.everything() } else { around.clone() };
            !(is_import || is_local)
                || is_read_in(place.start..within.start)
                || is_read_in(within.end..place.end)
        })
    }
}

/// Whether a name is assigned or declared here.
fn is_written(syntax: &Syntax<'_>, name: NodeId) -> bool {
    let Some(parent) = syntax.parent(name) else { return false };
    match syntax.kind(parent) {
        "var_spec" => syntax.field_of(name) == Some("name"),
        "expression_list" if syntax.field_of(parent) == Some("left") => {
            syntax.parent(parent).is_some_and(|of| match syntax.kind(of) {
                "short_var_declaration" | "range_clause" => true,
                "assignment_statement" => syntax.field_text(of, "operator") == "=",
                _ => false,
            })
        }
        _ => false,
    }
}
