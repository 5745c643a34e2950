//! Code patterns that only cheats need. A change must not add any.

mod environment;
pub(super) mod expectations;
pub(super) mod hard_coded;

use std::collections::BTreeMap;

use super::read::{ParsedFile, clipped};
use super::{ParsedChange, cheat};
use journeyman_order::bounds::MOST_LOOKED_AT;
use journeyman_order::{Weakening, WeakeningKind};

/// A suspicious pattern, independent of its location.
#[derive(Debug, Clone)]
struct CodeSign {
    /// Equal for the same pattern in another place.
    key: String,
    line: u32,
    what: String,
}

fn signs(file: &ParsedFile<'_>) -> Vec<CodeSign> {
    let tree = &file.tree;
    let reads_environment = environment::reads_environment(tree);
    let sign = |node| {
        let what = environment::asked(file, reads_environment, node)?;
        Some(CodeSign { key: tree.canonical(node), line: tree.line(node), what })
    };
    tree.everything().filter_map(sign).take(MOST_LOOKED_AT).collect()
}

pub(super) fn code(change: &ParsedChange<'_>, found: &mut Vec<Weakening>) {
    let mut before: BTreeMap<String, usize> = BTreeMap::new();
    for sign in change.before.iter().filter(|file| change.is_changed(&file.path)).flat_map(signs) {
        *before.entry(sign.key).or_default() += 1;
    }
    for file in change.after.iter().filter(|file| change.is_changed(&file.path)) {
        for sign in signs(file) {
            match before.get_mut(&sign.key) {
                Some(left) if *left > 0 => *left -= 1,
                Some(_) | None => {
                    let (kind, what) = (WeakeningKind::TestEnvironmentSpecialCased, clipped(&sign.what, 300));
                    found.push(cheat(kind, &file.path, sign.line, what));
                }
            }
        }
    }
}
