//! What surrounds the tests: who runs them, by which command, under which limits, against which recorded outputs.

mod ci;
mod collected;
mod command;
mod runners;
mod settings;
mod snapshots;
mod thresholds;

use std::collections::BTreeMap;

use super::change::Change;
use super::language::{Language, file_name, is_test_path};
use crate::order::{Weakening, WeakeningKind};

/// Larger files that are no source are not looked into.
const MOST_BYTES: usize = 1 << 20;

/// A changed file as text.
struct Text<'c> {
    path: &'c str,
    name: &'c str,
    /// None: it was not there.
    before: Option<String>,
    /// None: it is gone.
    after: Option<String>,
}

impl Text<'_> {
    fn before(&self) -> &str {
        self.before.as_deref().unwrap_or_default()
    }

    fn after(&self) -> &str {
        self.after.as_deref().unwrap_or_default()
    }

    fn is_added(&self) -> bool {
        self.before.is_none()
    }

    /// Lines that were not there, with their numbers from 1.
    fn new_lines(&self) -> Vec<(u32, &str)> {
        beyond(self.after(), self.before())
    }

    /// Lines that are no longer there.
    fn gone_lines(&self) -> Vec<&str> {
        beyond(self.before(), self.after()).into_iter().map(|(_, line)| line).collect()
    }

    fn weakening(
        &self,
        kind: WeakeningKind,
        line: Option<u32>,
        grave: bool,
        what: impl Into<String>,
    ) -> Weakening {
        let what = super::read::clipped(&what.into(), 300);
        Weakening { kind, path: self.path.to_owned(), line, test: None, what, grave }
    }
}

/// Lines of the one text that the other has not, or not as often.
fn beyond<'t>(one: &'t str, other: &str) -> Vec<(u32, &'t str)> {
    let mut there: BTreeMap<&str, usize> = BTreeMap::new();
    for line in other.lines() {
        *there.entry(line.trim()).or_default() += 1;
    }
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(one.lines()) {
        match there.get_mut(line.trim()) {
            Some(left) if *left > 0 => *left -= 1,
            Some(_) | None if line.trim().is_empty() => {}
            Some(_) | None => lines.push((number, line.trim())),
        }
    }
    lines
}

/// Everything but the tests and the code themselves.
pub(super) fn run(change: &Change<'_>, found: &mut Vec<Weakening>) {
    let texts: Vec<Text<'_>> = change.files.iter().filter(|file| file.is_changed()).map(text).collect();
    for text in &texts {
        runners::look(text, found);
        settings::look(change, text, found);
        thresholds::look(text, found);
        report(text, found);
    }
    ci::look(&texts, found);
    snapshots::look(change, &texts, found);
    thresholds::constants(change, found);
    collected::look(change, found);
}

fn text<'c>(file: &super::ChangedFile<'c>) -> Text<'c> {
    let read = |bytes: &[u8]| String::from_utf8_lossy(bytes.get(..MOST_BYTES).unwrap_or(bytes)).into_owned();
    let path = file.path();
    Text {
        path,
        name: file_name(path),
        before: file.before.map(|(_, bytes)| read(bytes)),
        after: file.after.map(|(_, bytes)| read(bytes)),
    }
}

/// A runner's report that is part of the change.
fn report(text: &Text<'_>, found: &mut Vec<Weakening>) {
    let is_report = text.name.ends_with(".xml") || text.name.ends_with(".tap") || text.name.ends_with(".trx");
    if Language::of(text.path).is_none()
        && is_report
        && super::code::is_report(text.after().as_bytes())
        && !super::code::is_report(text.before().as_bytes())
    {
        found.push(text.weakening(
            WeakeningKind::ForgedOutput,
            None,
            !is_test_path(text.path),
            "a test report is part of the change",
        ));
    }
}
