//! A strict parser for git's trees. libgit2 accepts trees that we must refuse.

use git2::Oid;

use super::GitError;

/// The kind of a tree's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryMode {
    File,
    Executable,
    Link,
    Tree,
    Gitlink,
    /// A mode that git no longer writes, or never wrote. Old repositories have them.
    Other(u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitTreeEntry {
    pub(super) mode: EntryMode,
    pub(super) name: Vec<u8>,
    pub(super) id: Oid,
}

impl GitTreeEntry {
    /// Git sorts folders as if their names ended in a slash.
    fn sort_key(&self) -> impl Iterator<Item = u8> + '_ {
        self.name.iter().copied().chain((self.mode == EntryMode::Tree).then_some(b'/'))
    }
}

/// Parses a tree; `None` if it is malformed, unsorted or repeats a name.
pub(super) fn parse(mut bytes: &[u8]) -> Option<Vec<GitTreeEntry>> {
    let mut entries: Vec<GitTreeEntry> = Vec::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ').filter(|at| (1..=7).contains(at))?;
        let (mode, rest) = bytes.split_at(space);
        let end = rest.iter().position(|byte| *byte == 0)?;
        let name = rest.get(1..end).filter(|name| !name.is_empty())?;
        let id = rest.get(end + 1..end + 21)?;
        let entry = GitTreeEntry { mode: mode_of(mode)?, name: name.to_vec(), id: Oid::from_bytes(id).ok()? };
        if let Some(before) = entries.last()
            && !before.sort_key().lt(entry.sort_key())
        {
            return None;
        }
        entries.push(entry);
        bytes = rest.get(end + 21..)?;
    }
    // A file and a folder of the same name may not be adjacent.
    let mut names: Vec<&[u8]> = entries.iter().map(|entry| entry.name.as_slice()).collect();
    names.sort_unstable();
    let twice = names.windows(2).any(|pair| matches!(pair, [a, b] if a == b));
    if twice { None } else { Some(entries) }
}

/// A tree's entries as libgit2 sees them, in any order and with repeated names: mode, name, object.
pub(super) fn raw_entries(mut bytes: &[u8]) -> impl Iterator<Item = (u32, &[u8], Oid)> {
    std::iter::from_fn(move || {
        let space = bytes.iter().position(|byte| *byte == b' ')?;
        let (mode, rest) = bytes.split_at_checked(space)?;
        let mode = u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        let (name, id) = (rest.get(1..end)?, rest.get(end + 1..end + 21)?);
        bytes = rest.get(end + 21..)?;
        Some((mode, name, Oid::from_bytes(id).ok()?))
    })
}

/// The entry at a path, if all its parents are folders. The caller reads the trees.
pub(super) fn find(
    read: impl Fn(Oid) -> Result<Option<Vec<u8>>, GitError>,
    root: Oid,
    path: &[u8],
) -> Result<Option<(EntryMode, Oid)>, GitError> {
    let mut found = (EntryMode::Tree, root);
    for part in path.split(|byte| *byte == b'/') {
        let (EntryMode::Tree, folder) = found else { return Ok(None) };
        let entries = read(folder)?.and_then(|bytes| parse(&bytes)).unwrap_or_default();
        let Some(entry) = entries.into_iter().find(|entry| entry.name == part) else { return Ok(None) };
        found = (entry.mode, entry.id);
    }
    Ok(Some(found))
}

fn mode_of(text: &[u8]) -> Option<EntryMode> {
    Some(match text {
        b"100644" => EntryMode::File,
        b"100755" => EntryMode::Executable,
        b"120000" => EntryMode::Link,
        b"40000" => EntryMode::Tree,
        b"160000" => EntryMode::Gitlink,
        other => EntryMode::Other(u32::from_str_radix(std::str::from_utf8(other).ok()?, 8).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (mode, name) in entries {
            bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            bytes.extend_from_slice(&[7; 20]);
        }
        bytes
    }

    #[test]
    fn a_tree_is_sorted_and_names_nothing_twice() {
        let good = raw(&[("100644", "a.b"), ("40000", "a"), ("100755", "a0"), ("120000", "b")]);
        assert_eq!(parse(&good).unwrap().len(), 4);
        assert_eq!(parse(b"").unwrap(), []);
        for bad in [
            raw(&[("100644", "b"), ("100644", "a")]),
            raw(&[("100644", "a"), ("100644", "a")]),
            raw(&[("100644", "a"), ("100644", "a.b"), ("40000", "a")]),
            raw(&[("100644", "")]),
            raw(&[("", "a")]),
            raw(&[("9", "a")]),
            good[..good.len() - 1].to_vec(),
            b"100644 a".to_vec(),
        ] {
            assert_eq!(parse(&bad), None, "{:?}", String::from_utf8_lossy(&bad));
        }
        assert_eq!(parse(&raw(&[("040000", "a")])).unwrap()[0].mode, EntryMode::Other(0o40000));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_tree_or_not_but_never_a_panic(bytes in proptest::collection::vec(0_u8..=255, 0..200)) {
            parse(&bytes);
        }
    }
}
