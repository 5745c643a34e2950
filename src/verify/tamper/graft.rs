//! New tests on old code, where both are in one file.

use super::language::Language;
use super::read::rust::{attributes, test_modules};
use super::syntax::{NodeId, Syntax};

/// The old file's code with the new file's test modules. None where the new file has no tests of its own, or where
/// its language keeps them in files of their own.
pub fn graft(path: &str, old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    if Language::of(path) != Some(Language::Rust) {
        return None;
    }
    let before = old;
    let new = Syntax::read(Language::Rust, new).ok()?;
    let old = Syntax::read(Language::Rust, old).ok()?;
    let modules = outermost(&new);
    if modules.is_empty() {
        return None;
    }
    let mut grafted = String::new();
    let text = std::str::from_utf8(before).ok()?;
    let mut at = 0;
    for module in outermost(&old) {
        let place = whole(&old, module);
        grafted.push_str(text.get(at..place.start)?);
        at = place.end;
    }
    grafted.push_str(text.get(at..)?);
    for module in modules {
        if !grafted.ends_with('\n') {
            grafted.push('\n');
        }
        grafted.push('\n');
        for attribute in attributes(&new, module).iter().rev() {
            grafted.push_str(new.text(*attribute));
            grafted.push('\n');
        }
        grafted.push_str(new.text(module));
        grafted.push('\n');
    }
    Some(grafted.into_bytes())
}

/// Test modules at the file's top: deeper ones belong to a module of the code.
fn outermost(syntax: &Syntax<'_>) -> Vec<NodeId> {
    test_modules(syntax).into_iter().filter(|module| syntax.parent(*module) == Some(Syntax::ROOT)).collect()
}

/// A module with its attributes.
fn whole(syntax: &Syntax<'_>, module: NodeId) -> std::ops::Range<usize> {
    let own = syntax.bytes(module);
    let start = attributes(syntax, module).last().map_or(own.start, |first| syntax.bytes(*first).start);
    start..own.end
}
