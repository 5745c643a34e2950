//! What restores in a file only what it said about tests before.
//!
//! May know: the forms of such files. Must never know: which files there are.

use crate::text::toml_table;

/// What to lay over a file so that only what it says about tests is old.
#[derive(Debug)]
pub enum OldSettings {
    /// Its part about tests is as it was.
    AsItIs,
    /// The whole file of the base, or none if the base has none.
    Whole,
    /// These bytes: the part about tests is old.
    Part(Vec<u8>),
}

/// Restores the part about tests in a file of the change, which the base may lack.
pub(crate) type OldPart = fn(Option<&[u8]>, &[u8]) -> OldSettings;

/// Restores values of a TOML file. `restore` returns whether anything differed.
pub(crate) fn old_toml(
    base: Option<&[u8]>,
    after: &[u8],
    restore: impl FnOnce(&toml::Table, &mut toml::Table) -> bool,
) -> OldSettings {
    let parse = |bytes: &[u8]| toml_table(std::str::from_utf8(bytes).ok()?);
    let before = base.map_or_else(|| Some(toml::Table::new()), parse);
    let (Some(mut now), Some(before)) = (parse(after), before) else { return OldSettings::Whole };
    match restore(&before, &mut now) {
        true => toml::to_string(&now).map_or(OldSettings::Whole, |text| OldSettings::Part(text.into_bytes())),
        false => OldSettings::AsItIs,
    }
}

/// Restores the values under these keys. Returns whether any differed.
pub(crate) fn restore_keys(keys: &[&[&str]], before: &toml::Table, now: &mut toml::Table) -> bool {
    let mut is_touched = false;
    for key in keys {
        let old = at(before, key);
        if old != at(now, key) {
            is_touched = true;
            set(now, key, old.cloned());
        }
    }
    is_touched
}

fn at<'a>(table: &'a toml::Table, key: &[&str]) -> Option<&'a toml::Value> {
    let (first, rest) = key.split_first()?;
    let value = table.get(*first)?;
    if rest.is_empty() { Some(value) } else { at(value.as_table()?, rest) }
}

fn set(table: &mut toml::Table, key: &[&str], value: Option<toml::Value>) {
    match (key, value) {
        ([], _) => {}
        ([last], Some(value)) => drop(table.insert((*last).to_owned(), value)),
        ([last], None) => drop(table.remove(*last)),
        ([first, rest @ ..], value) => {
            if value.is_some() && !table.get(*first).is_some_and(toml::Value::is_table) {
                table.insert((*first).to_owned(), toml::Value::Table(toml::Table::new()));
            }
            if let Some(inner) = table.get_mut(*first).and_then(toml::Value::as_table_mut) {
                set(inner, rest, value);
            }
        }
    }
}

/// Restores the whole file, unless what is read of it, in which something may be left out, is the same.
pub(crate) fn old_whole(base: Option<&[u8]>, after: &[u8], read: fn(&str) -> Option<String>) -> OldSettings {
    let rest = |bytes: &[u8]| read(std::str::from_utf8(bytes).ok()?);
    match base.and_then(rest).is_some_and(|old| rest(after) == Some(old)) {
        true => OldSettings::AsItIs,
        false => OldSettings::Whole,
    }
}

/// The lines about tests as they were, and all others as they are now. A line may open a section: `Some(true)` about
/// tests, `Some(false)` about something else. `None` continues the section.
pub(crate) fn old_text(
    base: Option<&[u8]>,
    after: &[u8],
    opens: impl Fn(&str) -> Option<bool>,
) -> OldSettings {
    let parted = |bytes: &[u8]| {
        let (mut of_tests, mut others, mut is_of_tests) = (String::new(), String::new(), false);
        for line in String::from_utf8_lossy(bytes).lines() {
            is_of_tests = opens(line).unwrap_or(is_of_tests);
            let part = if is_of_tests { &mut of_tests } else { &mut others };
            part.push_str(line);
            part.push('\n');
        }
        (of_tests, others)
    };
    let (old, _) = base.map(&parted).unwrap_or_default();
    let (now, others) = parted(after);
    match old == now {
        true => OldSettings::AsItIs,
        false => OldSettings::Part(format!("{others}{old}").into_bytes()),
    }
}
