//! Recorded outputs: whether a change replaced more of them than its code explains.

use std::collections::{BTreeMap, BTreeSet};

use super::Text;
use crate::order::{Weakening, WeakeningKind};
use crate::verify::tamper::change::Change;
use crate::verify::tamper::language::{Language, folders, is_test_path};

/// So many that the code does not explain are more than an oversight.
const MANY: usize = 3;

pub(super) fn look(change: &Change<'_>, texts: &[Text<'_>], found: &mut Vec<Weakening>) {
    let recorded: Vec<&Text<'_>> =
        texts.iter().filter(|text| is_snapshot(text.path) && text.before.is_some()).collect();
    if recorded.is_empty() {
        return;
    }
    let explained_by = words_of_code(texts);
    let mut changed = 0;
    let mut unexplained: BTreeSet<&str> = BTreeSet::new();
    let mut count = 0;
    let mut emptied: Vec<&Text<'_>> = Vec::new();
    for text in &recorded {
        // One whose test went with it is the affair of the test.
        if text.after.is_none() {
            continue;
        }
        let (old, new) = (entries(text.before()), entries(text.after()));
        for (name, was) in &old {
            let is = new.get(name).map_or("", String::as_str);
            if was.trim() == is.trim() {
                continue;
            }
            changed += 1;
            if !is_explained(was, is, &explained_by) {
                count += 1;
                unexplained.insert(text.path);
            }
        }
        if text.after().trim().is_empty() && !text.before().trim().is_empty() {
            emptied.push(text);
        }
    }
    for text in emptied {
        found.push(text.weakening(
            WeakeningKind::SnapshotsRewritten,
            None,
            true,
            "a recorded output was emptied",
        ));
    }
    if changed == 0 {
        return;
    }
    let path =
        unexplained.first().copied().or_else(|| recorded.first().map(|text| text.path)).unwrap_or_default();
    let grave = !change.touches_code || (count >= MANY && count * 2 > changed);
    let what = if !change.touches_code {
        format!("{changed} recorded outputs were replaced, and no code was changed")
    } else if grave {
        format!(
            "{count} of {changed} recorded outputs were replaced by what the changed code does not explain"
        )
    } else {
        format!("{changed} recorded outputs were replaced along with the code")
    };
    found.push(Weakening {
        kind: WeakeningKind::SnapshotsRewritten,
        path: path.to_owned(),
        line: None,
        test: None,
        what,
        grave,
    });
}

fn is_snapshot(path: &str) -> bool {
    path.ends_with(".snap")
        || path.ends_with(".golden")
        || path.contains(".approved.")
        || (folders(path).any(|folder| {
            matches!(folder, "__snapshots__" | "snapshots" | "golden" | "goldens" | "__file_snapshots__")
        }) && Language::of(path).is_none())
}

/// The outputs of one file, by name: several in jest's files, one in others.
fn entries(text: &str) -> BTreeMap<String, String> {
    let mut entries: BTreeMap<String, String> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("exports[") {
            name = rest.split("] =").next().unwrap_or(rest).to_owned();
        }
        let entry = entries.entry(name.clone()).or_default();
        entry.push_str(line);
        entry.push('\n');
    }
    entries
}

/// Words of the code that came or went.
fn words_of_code(texts: &[Text<'_>]) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for text in texts.iter().filter(|text| !is_test_path(text.path) && !is_snapshot(text.path)) {
        for (_, line) in text.new_lines() {
            words.extend(words_in(line));
        }
        for line in text.gone_lines() {
            words.extend(words_in(line));
        }
    }
    words
}

fn words_in(line: &str) -> impl Iterator<Item = String> {
    line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Whether what came or went in an output came or went in the code as well.
fn is_explained(was: &str, is: &str, code: &BTreeSet<String>) -> bool {
    let (old, new): (BTreeSet<String>, BTreeSet<String>) = (words_in(was).collect(), words_in(is).collect());
    let mut differs = old.symmetric_difference(&new).peekable();
    // What differs in signs only follows a change of layout.
    differs.peek().is_none() || differs.any(|word| code.contains(word))
}
