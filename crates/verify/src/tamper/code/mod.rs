//! What code does that only cheats have a use for: signs, of which there may not be more after a change than before.

mod environment;
pub(super) mod hard_coded;

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::change::ParsedChange;
use super::read::{ParsedFile, clipped};
use super::syntax::NodeId;
use journeyman_order::{Weakening, WeakeningKind};

/// Signs of one file that are kept.
const MOST_SIGNS: usize = 500;

/// Something that code does, wherever it does it.
#[derive(Debug, Clone)]
struct CodeSign {
    kind: WeakeningKind,
    /// The same for the same thing in another place.
    key: String,
    line: u32,
    what: String,
    grave: bool,
}

/// Collects what is found in one file.
struct CodeSigns<'f, 'a> {
    file: &'f ParsedFile<'a>,
    found: Vec<CodeSign>,
    /// Whether the file asks for anything of its environment, once that was looked for.
    reads_environment: OnceCell<bool>,
}

impl CodeSigns<'_, '_> {
    fn add(&mut self, kind: WeakeningKind, node: NodeId, grave: bool, what: impl Into<String>) {
        if self.found.len() < MOST_SIGNS {
            self.found.push(CodeSign {
                kind,
                key: self.file.syntax.canonical(node),
                line: self.file.syntax.line(node),
                what: what.into(),
                grave,
            });
        }
    }
}

fn signs(file: &ParsedFile<'_>) -> Vec<CodeSign> {
    let mut signs = CodeSigns { file, found: Vec::new(), reads_environment: OnceCell::new() };
    for node in file.syntax.everything() {
        environment::look(&mut signs, node);
    }
    signs.found
}

/// Signs that are new.
pub(super) fn code(change: &ParsedChange<'_>, found: &mut Vec<Weakening>) {
    let mut before: BTreeMap<(WeakeningKind, String, bool), usize> = BTreeMap::new();
    for sign in change.before.files.iter().filter(|file| change.is_changed(&file.path)).flat_map(signs) {
        *before.entry((sign.kind, sign.key, sign.grave)).or_default() += 1;
    }
    for file in change.after.files.iter().filter(|file| change.is_changed(&file.path)) {
        for sign in signs(file) {
            match before.get_mut(&(sign.kind, sign.key, sign.grave)) {
                Some(left) if *left > 0 => *left -= 1,
                Some(_) | None => found.push(Weakening {
                    kind: sign.kind,
                    path: file.path.clone(),
                    line: Some(sign.line),
                    test: None,
                    what: clipped(&sign.what, 300),
                    severe: sign.grave,
                }),
            }
        }
    }
}
