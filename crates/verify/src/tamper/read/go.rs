//! Go: `TestXxx`, `FuzzXxx` and `ExampleXxx` in files that end with `_test.go`.

use super::TestItem;
use crate::tamper::syntax::Syntax;

pub(super) fn tests(syntax: &Syntax<'_>) -> Vec<TestItem> {
    syntax
        .children(Syntax::ROOT)
        .filter(|node| syntax.kind(*node) == "function_declaration")
        .filter(|node| is_test(syntax.field_text(*node, "name")))
        .map(|node| TestItem { item: node, body: syntax.field(node, "body") })
        .collect()
}

fn is_test(name: &str) -> bool {
    ["Test", "Fuzz", "Example"].iter().any(|prefix| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| !rest.starts_with(char::is_lowercase) && name != "TestMain")
    })
}
