//! Third-party content that a change brings: packages, programs, and manifest entries. Tests do not show what is in
//! them, so they are listed for the person who decides.
//!
//! May know: the names and folders of packages in each ecosystem.
//! Must never know: files on a disk, a registry, what happens to a dependency.
//!
//! Bytes in, sentences out. An agent wrote the input: nothing recurses on it, everything is bounded, and an unreadable
//! file is reported as such.

use std::collections::{BTreeMap, BTreeSet};

use crate::ChangedPath;
use crate::experiment::is_source;
use journeyman_languages::dependencies::{is_lockfile, lists_dependencies, reader};
use journeyman_order::bounds::{LARGEST_DOCUMENT, LONGEST_LINE, LONGEST_NAME, MOST_NAMED};
use journeyman_order::byte_order_mark;
use journeyman_order::length::shorten;

const VENDORED: [&str; 5] = ["node_modules", "vendor", "third_party", "third-party", "bower_components"];
const PROGRAMS: [&str; 37] = [
    ".whl", ".egg", ".jar", ".war", ".aar", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst",
    ".zip", ".gem", ".nupkg", ".crate", ".deb", ".rpm", ".apk", ".phar", ".7z", ".pyz", ".so", ".dylib",
    ".dll", ".exe", ".a", ".lib", ".o", ".obj", ".class", ".pyc", ".pyo", ".pyd", ".wasm", ".node", ".rlib",
    ".bin",
];

/// Limit of packages that are named one by one.
const MOST_PACKAGES: usize = 20;

/// What a change brings, each in a short sentence: a limited number, and then how many more. It quotes names from the
/// change, which may be hostile.
pub fn new_dependencies(changes: &[ChangedPath<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for ChangedPath { path, before, after } in changes {
        let Some(after) = after.filter(|after| Some(*after) != *before) else { continue };
        if let Some(folder) = vendored(path) {
            found.push(format!("{} holds what others wrote, and is changed", quoted(folder)));
        } else if is_program(path, after) {
            found.push(format!("{} is a package or a program that is committed", quoted(path)));
        } else if is_lockfile(path) {
            found.push(format!("{} is changed, which says what is installed", shown(path)));
        } else {
            compare(path, *before, after, &mut found);
        }
    }
    let mut seen = BTreeSet::new();
    found.retain(|one| seen.insert(one.clone()));
    let more = found.len().saturating_sub(MOST_NAMED);
    found.truncate(MOST_NAMED);
    if more > 0 {
        found.push(format!("and {more} more"));
    }
    found
}

/// A finding about a changed manifest or lockfile whose bytes were not read. `None` for other files.
pub fn unread_dependencies(path: &str) -> Option<String> {
    let names_some = (reader(path).is_some() || is_lockfile(path)) && vendored(path).is_none();
    names_some
        .then(|| format!("{} changed, and is too large to be read: what it brings is not known", shown(path)))
}

/// Whether a file is a manifest or a lockfile, and nothing else: neither a program nor a part of what others wrote. A
/// workflow is none: no test runs it.
pub fn is_dependency_list(file: &ChangedPath<'_>) -> bool {
    let path = file.path;
    vendored(path).is_none() && lists_dependencies(path) && (!is_source(path) || reader(path).is_some())
}

/// The packages that files name otherwise than before, each as `name old → new`: a limited number, and then how many
/// more. With each file comes whether both its sides were read. It quotes names and versions, which may be hostile.
pub fn package_changes(files: &[(ChangedPath<'_>, bool)]) -> Vec<String> {
    let (mut found, mut locked, mut unread) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    let (locks, others): (Vec<_>, Vec<_>) = files.iter().partition(|(file, _)| is_lockfile(file.path));
    for (file, is_read) in locks {
        let own = differences(&file).filter(|_| is_read);
        if own.is_none() {
            unread.push(format!("a lockfile that cannot be read: {}", shown(file.path)));
        }
        locked.extend(own.iter().flatten().map(|(name, _)| name.clone()));
        found.extend(own.into_iter().flatten());
    }
    for (file, _) in others.into_iter().filter(|(_, is_read)| *is_read) {
        // A lockfile says more than the range in a manifest.
        found.extend(differences(&file).into_iter().flatten().filter(|(name, _)| !locked.contains(name)));
    }
    let more = found.len().saturating_sub(MOST_PACKAGES);
    let said = found.into_iter().take(MOST_PACKAGES);
    let said = said.map(|(name, how)| shorten(&format!("{name} {how}"), LONGEST_LINE));
    let more = (more > 0).then(|| format!("and {more} more"));
    said.chain(more).chain(unread.into_iter().take(MOST_PACKAGES)).collect()
}

/// The names of packages whose versions differ, with these versions. `None` if a side cannot be read.
fn differences(file: &ChangedPath<'_>) -> Option<Vec<(String, String)>> {
    let read = reader(file.path)?;
    let side = |bytes: Option<&[u8]>| match bytes {
        Some(bytes) if bytes.len() > LARGEST_DOCUMENT => None,
        Some(bytes) => read(byte_order_mark::strip(std::str::from_utf8(bytes).ok()?)),
        None => Some(BTreeMap::new()),
    };
    let (before, after) = (side(file.before)?, side(file.after)?);
    let none = BTreeMap::new();
    let only = |own: &BTreeMap<String, String>, others: &BTreeMap<String, String>| {
        let own = own.keys().filter(|version| !others.contains_key(*version));
        own.map(|own| if own.is_empty() { "any".to_owned() } else { shown(own) })
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut found = Vec::new();
    // A list of requirements has options as well.
    let is_name = |name: &&String| !name.is_empty() && !name.starts_with('-');
    for name in before.keys().chain(after.keys()).filter(is_name).collect::<BTreeSet<_>>() {
        let (old, new) = (before.get(name).unwrap_or(&none), after.get(name).unwrap_or(&none));
        let how = match (only(old, new), only(new, old)) {
            (old, new) if old.is_empty() => new,
            (old, new) if new.is_empty() => format!("{old}, gone"),
            (old, new) => format!("{old} → {new}"),
        };
        if !how.is_empty() {
            found.push((shown(name).replace(char::is_whitespace, "\u{fffd}"), how));
        }
    }
    let is_list = !(is_lockfile(file.path) && before.is_empty() && after.is_empty());
    is_list.then_some(found)
}

fn is_program(path: &str, bytes: &[u8]) -> bool {
    let name = path.to_ascii_lowercase();
    let is_executable = bytes.starts_with(b"\x7fELF") || bytes.starts_with(b"MZ");
    is_executable || PROGRAMS.iter().any(|ending| name.ends_with(ending)) || name.contains(".so.")
}

/// The vendored folder that contains a file.
fn vendored(path: &str) -> Option<&str> {
    let mut ends = path.match_indices('/').map(|(at, _)| at);
    let is_one = |end: &usize| {
        let folder = path.get(..*end).and_then(|folders| folders.rsplit('/').next());
        folder.is_some_and(|folder| VENDORED.contains(&folder))
    };
    path.get(..ends.find(is_one)?)
}

/// What a manifest names now but did not before.
fn compare(path: &str, before: Option<&[u8]>, after: &[u8], found: &mut Vec<String>) {
    let Some(read) = reader(path) else { return };
    let file = shown(path);
    let text = |bytes| std::str::from_utf8(bytes).ok().map(byte_order_mark::strip);
    let Some(now) = text(after).and_then(read) else {
        return found.push(format!("{file} names dependencies, and cannot be read"));
    };
    let then = before.and_then(text).and_then(read).unwrap_or_default();
    for (name, versions) in &now {
        for (version, source) in versions {
            let one = if version.is_empty() {
                quoted(name)
            } else {
                format!("{} {}", quoted(name), plain(version))
            };
            let said = match then.get(name).map(|known| (known.get(version), known)) {
                None => format!("is new in {file}"),
                Some((Some(old), _)) if old == source => continue,
                Some((Some(_), _)) => format!("is from elsewhere now in {file}"),
                Some((None, known)) => {
                    let gone: Vec<String> = known
                        .keys()
                        .filter(|old| !versions.contains_key(*old))
                        .take(3)
                        .map(|old| if old.is_empty() { "any".to_owned() } else { plain(old) })
                        .collect();
                    match gone.is_empty() {
                        true => format!("is new in {file}, beside another version"),
                        false => format!("is in {file} instead of {}", gone.join(", ")),
                    }
                }
            };
            found.push(format!("{one} {said}"));
        }
    }
}

/// A name or a command for a sentence.
fn quoted(text: &str) -> String {
    format!("`{}`", shown(text).replace('`', "'"))
}

/// A version, without quotes if it has only harmless characters.
fn plain(version: &str) -> String {
    let is_plain = version.len() <= LONGEST_NAME
        && version.chars().all(|c| c.is_ascii_alphanumeric() || ".+-".contains(c));
    if is_plain { version.to_owned() } else { quoted(version) }
}

/// One short line.
fn shown(text: &str) -> String {
    let mut characters = text.chars();
    let mut shown: String =
        characters.by_ref().take(LONGEST_NAME).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
