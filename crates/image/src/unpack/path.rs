//! The name of an entry of an archive, as a way down from the root.
//!
//! May know: bytes. Must never know: files. A name that is no way down is refused, not mended.

use std::fmt;

use super::LayerProblem;

/// Folders in folders. Whoever counts or removes a tree holds a descriptor for each.
pub(super) const DEEPEST: usize = 128;
/// Linux has no longer names.
const LONGEST_NAME: usize = 255;
const LONGEST_PATH: usize = 4_000;

/// Names of folders, and last the entry's own; none for the root itself. Never `.`, `..` or empty, without `/` and NUL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryPath {
    /// Joined by slashes.
    joined: Vec<u8>,
}

impl EntryPath {
    /// Reads a name as it stands in an archive. An absolute one begins at the image's root, as every tool reads it.
    pub(crate) fn parse(name: &[u8]) -> Result<Self, LayerProblem> {
        let refused = |reason: &str| {
            let name = String::from_utf8_lossy(name);
            Err(LayerProblem::Refused(format!(
                "the name `{}` in a layer {reason}",
                crate::reference::shown(&name)
            )))
        };
        if name.contains(&0) {
            return refused("holds a NUL");
        }
        let mut joined = Vec::with_capacity(name.len());
        let mut depth = 0;
        for part in name.split(|byte| *byte == b'/') {
            match part {
                b"" | b"." => continue,
                b".." => return refused("leads upwards"),
                long if long.len() > LONGEST_NAME => return refused("is longer than names of files are"),
                _ => {}
            }
            if !joined.is_empty() {
                joined.push(b'/');
            }
            joined.extend_from_slice(part);
            depth += 1;
        }
        if depth > DEEPEST || joined.len() > LONGEST_PATH {
            return refused("lies deeper than folders of images do");
        }
        Ok(Self { joined })
    }

    /// The folder, and the name in it; none for the root.
    pub(crate) fn split(&self) -> Option<(Self, &[u8])> {
        let name = self.name()?;
        let parent = self.joined.len().saturating_sub(name.len() + 1);
        Some((Self { joined: self.joined.get(..parent).unwrap_or_default().to_owned() }, name))
    }

    pub(crate) fn name(&self) -> Option<&[u8]> {
        self.joined.rsplit(|byte| *byte == b'/').next().filter(|name| !name.is_empty())
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.joined.split(|byte| *byte == b'/').filter(|part| !part.is_empty())
    }

    /// All folders above and including this, the highest first.
    pub(crate) fn ways(&self) -> impl Iterator<Item = Self> + '_ {
        let ends = self.joined.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let whole = (!self.joined.is_empty()).then_some(self.joined.len());
        ends.chain(whole).map(|end| Self { joined: self.joined.get(..end).unwrap_or_default().to_owned() })
    }

    /// For the kernel.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        if self.joined.is_empty() { b"." } else { &self.joined }
    }

    pub(crate) fn len(&self) -> usize {
        self.joined.len()
    }
}

impl fmt::Display for EntryPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", String::from_utf8_lossy(&self.joined))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(name: &str) -> Option<String> {
        EntryPath::parse(name.as_bytes()).ok().map(|path| path.to_string())
    }

    #[test]
    fn a_name_is_a_way_down_or_refused() {
        assert_eq!(parsed("usr/bin/env").as_deref(), Some("usr/bin/env"));
        assert_eq!(parsed("./usr//bin/./").as_deref(), Some("usr/bin"));
        assert_eq!(parsed("/etc/passwd").as_deref(), Some("etc/passwd"));
        assert_eq!(parsed("./").as_deref(), Some(""));
        for refused in ["..", "a/../b", "/../etc", "a/..", "a\0b"] {
            assert_eq!(parsed(refused), None, "{refused}");
        }
        assert_eq!(parsed(&"a".repeat(256)), None);
        assert_eq!(parsed(&"a/".repeat(DEEPEST + 1)), None);
    }

    #[test]
    fn a_path_is_taken_apart() {
        let path = EntryPath::parse(b"usr/lib/x").unwrap();
        let ways: Vec<String> = path.ways().map(|way| way.to_string()).collect();
        assert_eq!(ways, ["usr", "usr/lib", "usr/lib/x"]);
        let (parent, name) = path.split().unwrap();
        assert_eq!((parent.to_string().as_str(), name), ("usr/lib", b"x".as_slice()));
        let top = EntryPath::parse(b"usr").unwrap();
        assert_eq!(top.split().unwrap().0.as_bytes(), b".");
        let root = EntryPath::parse(b".").unwrap();
        assert!(root.split().is_none() && root.name().is_none() && root.ways().next().is_none());
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_only_leads_down(name in proptest::collection::vec(prop_oneof![Just(b'/'), Just(b'.'), any::<u8>()], 0..64)) {
            if let Ok(path) = EntryPath::parse(&name) {
                for part in path.as_bytes().split(|byte| *byte == b'/') {
                    prop_assert!(!part.is_empty() && part != b"..");
                    prop_assert!(part != b"." || path.len() == 0);
                    prop_assert!(!part.contains(&0));
                }
            }
        }
    }
}
