//! Go: `TestXxx`, `FuzzXxx` and `ExampleXxx` in files that end with `_test.go`.

use super::{Found, Mark, clipped, short, skipping_calls};
use crate::verify::tamper::language::is_collected;
use crate::verify::tamper::syntax::{NodeId, Syntax};

pub(super) fn tests(path: &str, syntax: &Syntax<'_>) -> Vec<Found> {
    if !is_collected(path) {
        return Vec::new();
    }
    let of_file = build_tags(syntax);
    syntax
        .children(Syntax::ROOT)
        .filter(|node| syntax.kind(*node) == "function_declaration")
        .filter(|node| is_test(syntax.field_text(*node, "name")))
        .map(|node| {
            let name = syntax.field_text(node, "name").to_owned();
            let body = syntax.field(node, "body");
            let mut marks = of_file.clone();
            marks.extend(body.into_iter().flat_map(|body| of_body(syntax, body)));
            Found { bare: name.clone(), name, item: node, body, marks }
        })
        .collect()
}

fn is_test(name: &str) -> bool {
    ["Test", "Fuzz", "Example"].iter().any(|prefix| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| !rest.starts_with(char::is_lowercase) && name != "TestMain")
    })
}

fn build_tags(syntax: &Syntax<'_>) -> Vec<Mark> {
    syntax
        .children(Syntax::ROOT)
        .take_while(|node| syntax.kind(*node) != "package_clause")
        .map(|node| syntax.text(node))
        .filter(|text| text.starts_with("//go:build") || text.starts_with("// +build"))
        .map(|text| Mark::Skipped(clipped(text, 80)))
        .collect()
}

fn of_body(syntax: &Syntax<'_>, body: NodeId) -> Vec<Mark> {
    skipping_calls(syntax, body, &|names| matches!(names, [_, "Skip" | "Skipf" | "SkipNow"]))
        .into_iter()
        .map(|node| Mark::Skipped(short(syntax, node)))
        .collect()
}
