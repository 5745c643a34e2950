//! Lines of the product that a change adds and that ask about where they run. Honest code rarely has any: people see
//! them, and the reviewer is asked about each.

use std::collections::BTreeMap;

use super::read::clipped;
use super::{ParsedChange, cheat};
use crate::ChangedPath;
use journeyman_languages::configuration::kind;
use journeyman_languages::grammar_kind::file_name;
use journeyman_languages::roles::{is_source_path, unparsed_language};
use journeyman_languages::setups::decides;
use journeyman_languages::surroundings::asked_about;
use journeyman_order::bounds::{LONGEST_NAME, MOST_IN_A_SENTENCE};
use journeyman_order::test_path::is_of_tests;
use journeyman_order::{Weakening, WeakeningKind};

struct AskingLine<'t> {
    /// From 1.
    number: u32,
    start: usize,
    /// Without its layout, so that a moved line is the same one.
    text: &'t str,
    word: &'t str,
}

fn asking(text: &str) -> impl Iterator<Item = AskingLine<'_>> {
    let mut next = 0;
    (1..).zip(text.split_inclusive('\n')).filter_map(move |(number, line)| {
        let start = next;
        next += line.len();
        Some(AskingLine { number, start, text: line.trim(), word: asked_about(line)?.trim() })
    })
}

/// Whether a file is code of the product, and no setting of a tool, which has good reasons to ask.
fn is_product(file: &ChangedPath<'_>) -> bool {
    let name = file_name(file.path);
    let is_program = || !name.contains('.') && file.after.is_some_and(|bytes| bytes.starts_with(b"#!"));
    let is_code = is_source_path(file.path) || unparsed_language(file.path).is_some() || is_program();
    let is_setting = || name.starts_with('.') || name.contains(".config.") || kind(file.path, &[]).is_some();
    is_code && !is_of_tests(file.path) && !decides(file.path) && !is_setting()
}

pub(super) fn surroundings(files: &[ChangedPath<'_>], change: &ParsedChange<'_>, found: &mut Vec<Weakening>) {
    let changed = || files.iter().filter(|file| file.before != file.after);
    let mut old: BTreeMap<String, usize> = BTreeMap::new();
    for bytes in changed().filter_map(|file| file.before) {
        for line in asking(&String::from_utf8_lossy(bytes)) {
            *old.entry(line.text.to_owned()).or_default() += 1;
        }
    }
    let (mut named, mut more) = (Vec::new(), 0_u32);
    for file in changed().filter(|file| is_product(file)) {
        let parsed = change.after.iter().find(|parsed| parsed.path == file.path);
        for line in asking(&String::from_utf8_lossy(file.after.unwrap_or_default())) {
            match old.get_mut(line.text) {
                Some(left) if *left > 0 => *left -= 1,
                _ if parsed.is_some_and(|parsed| parsed.is_test_at(line.start)) => {}
                _ if named.len() == MOST_IN_A_SENTENCE => more += 1,
                _ => {
                    let what = format!("new code has {}", clipped(line.word, LONGEST_NAME));
                    let remark = cheat(WeakeningKind::LooksAround, file.path, line.number, what);
                    named.push(Weakening { severe: false, ..remark });
                }
            }
        }
    }
    if let Some(last) = named.last_mut().filter(|_| more > 0) {
        last.what.push_str(&format!("; more lines like that: {more}"));
    }
    found.append(&mut named);
}
