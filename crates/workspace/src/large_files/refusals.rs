//! What of a change to files of Git LFS cannot be published: contents that nobody has uploaded, and contents in place of
//! pointers.
//!
//! May know: the pushed tree and the base's. Must never know: who pushed it.

use std::collections::BTreeSet;

use git2::{ObjectType, Oid};

use super::attributes::{self, AttributesOverBound, TreeAttributes};
use super::pointer::{LARGEST_POINTER, LargeFilePointer};
use crate::GitError;
use crate::source::ObjectSource;
use crate::tree::{EntryMode, parse};

/// Why it is refused, and what can be done.
const NEW_CONTENT: &str = "it is a file of Git LFS, and its new content would be on no server: an agent's change moves, copies or \
    removes such files as they are, and does not make or edit them";
const AS_IT_IS: &str =
    "it is a file of Git LFS by .gitattributes, and its content was committed in place of a pointer";

/// Of the paths that differ, those that cannot be published, each with the reason. `known` are the pointers that whoever
/// made the change was given.
pub(crate) fn refused(
    source: &ObjectSource<'_>,
    tree: Oid,
    changed: &[String],
    known: &BTreeSet<LargeFilePointer>,
) -> Result<Vec<(String, &'static str)>, GitError> {
    let read = |id: Oid, kind: ObjectType| source.read(id, kind);
    let size = |id: Oid| Ok(source.header(id)?.map_or(0, |(_, size)| size));
    let untold = |AttributesOverBound(why)| Ok(vec![(attributes::NAME.to_owned(), why)]);
    let attributes = match TreeAttributes::of_tree(&read, &size, tree)? {
        Ok(attributes) => attributes,
        Err(why) => return untold(why),
    };
    let mut refused = Vec::new();
    for path in changed {
        match attributes.is_lfs(path.as_bytes()) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(why) => return untold(why),
        }
        let Some(id) = file(source, tree, path)? else { continue };
        // What was there before, it may be elsewhere now.
        if !source.is_pushed(id) {
            continue;
        }
        let size = source.header(id)?.map_or(0, |(_, size)| size);
        let bytes = match size <= LARGEST_POINTER as u64 {
            true => source.read(id, ObjectType::Blob)?.unwrap_or_default(),
            false => Vec::new(),
        };
        match LargeFilePointer::parse(&bytes) {
            Some(pointer) if known.contains(&pointer) => {}
            Some(_) => refused.push((path.clone(), NEW_CONTENT)),
            // Of nothing there is no pointer.
            None if size == 0 => {}
            None => refused.push((path.clone(), AS_IT_IS)),
        }
    }
    Ok(refused)
}

/// The object of a file of a tree.
fn file(source: &ObjectSource<'_>, tree: Oid, path: &str) -> Result<Option<Oid>, GitError> {
    let (mut tree, mut parts) = (tree, path.split('/').peekable());
    while let Some(part) = parts.next() {
        let entries =
            source.read(tree, ObjectType::Tree)?.and_then(|bytes| parse(&bytes)).unwrap_or_default();
        let found = entries.into_iter().find(|entry| entry.name == part.as_bytes());
        match (found.map(|entry| (entry.mode, entry.id)), parts.peek()) {
            (Some((EntryMode::Tree, id)), Some(_)) => tree = id,
            (Some((EntryMode::File | EntryMode::Executable, id)), None) => return Ok(Some(id)),
            _ => return Ok(None),
        }
    }
    Ok(None)
}
