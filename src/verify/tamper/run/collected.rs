//! Tests that are all there and no longer reached: by `.only` beside them, by a module that is no longer declared.

use std::collections::BTreeSet;

use crate::order::{Weakening, WeakeningKind};
use crate::verify::tamper::change::{Change, Side};
use crate::verify::tamper::language::Language;
use crate::verify::tamper::read::SourceFile;
use crate::verify::tamper::read::rust::attributes;

pub(super) fn look(change: &Change<'_>, found: &mut Vec<Weakening>) {
    for file in change.after.files.iter().filter(|file| change.is_changed(&file.path)) {
        let before = change.before.file(&file.path);
        if file.has_only && before.is_some_and(|before| !before.has_only && !before.tests.is_empty()) {
            found.push(Weakening {
                kind: WeakeningKind::TestSkipped,
                path: file.path.clone(),
                line: None,
                test: None,
                what: "only the tests that are marked so are run; those beside them are not".to_owned(),
                grave: true,
            });
        }
    }
    modules(change, found);
}

/// Modules of Rust that nothing declares any more.
fn modules(change: &Change<'_>, found: &mut Vec<Weakening>) {
    let declared: BTreeSet<String> =
        change.after.files.iter().flat_map(declarations).map(|one| one.name).collect();
    for file in change.before.files.iter().filter(|file| change.is_changed(&file.path)) {
        for one in declarations(file).into_iter().filter(|one| !declared.contains(&one.name)) {
            let is_at = |path: &str| {
                path.ends_with(&format!("/{}.rs", one.name))
                    || path.ends_with(&format!("/{}/mod.rs", one.name))
            };
            let has_tests =
                |side: &Side<'_>| side.files.iter().any(|file| is_at(&file.path) && !file.tests.is_empty());
            let is_deleted = change.before.files.iter().any(|file| is_at(&file.path))
                && !change.after.files.iter().any(|file| is_at(&file.path));
            if is_deleted || !(one.is_for_tests || has_tests(&change.before)) {
                continue;
            }
            found.push(Weakening {
                kind: WeakeningKind::TestRemoved,
                path: file.path.clone(),
                line: None,
                test: None,
                what: format!("the module `{}` is no longer compiled, and its tests are not", one.name),
                grave: true,
            });
        }
    }
}

struct Declaration {
    name: String,
    is_for_tests: bool,
}

fn declarations(file: &SourceFile<'_>) -> Vec<Declaration> {
    let syntax = &file.syntax;
    if syntax.language != Language::Rust {
        return Vec::new();
    }
    syntax
        .everything()
        .filter(|node| syntax.kind(*node) == "mod_item" && syntax.field(*node, "body").is_none())
        .map(|node| Declaration {
            name: syntax.field_text(node, "name").to_owned(),
            is_for_tests: attributes(syntax, node).iter().any(|one| syntax.text(*one).contains("test")),
        })
        .collect()
}
