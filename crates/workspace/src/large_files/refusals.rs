//! Changes to files of Git LFS that cannot be published: contents that no server has, and contents in place of
//! pointers.
//!
//! May know: the pushed tree and the base's. Must never know: who pushed it.

use std::collections::BTreeSet;
use std::path::Path;

use git2::{ObjectType, Oid};

use super::LargeFilePointers;
use super::pointer::{LargeFilePointer, POINTER_SIZES};
use crate::GitError;
use crate::source::ObjectSource;
use crate::tree::{EntryMode, find};

/// Why it is refused, and what to do.
const NEW_CONTENT: &str = "it is a file of Git LFS, and its new content would be on no server: an agent's change moves, copies or \
    removes such files as they are, and does not make or edit them";
const AS_IT_IS: &str = "it is a file of Git LFS, and its content was committed in place of a pointer";

/// The changed paths that cannot be published, each with the reason. `before` are the base's pointers by path, `known`
/// those that the author received.
pub(crate) fn refused(
    source: &ObjectSource<'_>,
    tree: Oid,
    changed: &[String],
    before: &LargeFilePointers,
    known: &BTreeSet<LargeFilePointer>,
) -> Result<Vec<(String, &'static str)>, GitError> {
    let mut refused = Vec::new();
    for path in changed {
        let found = find(|folder| source.read(folder, ObjectType::Tree), tree, path.as_bytes())?;
        let Some((EntryMode::File | EntryMode::Executable, id)) = found else { continue };
        // A blob that existed before may have moved.
        if !source.is_pushed(id) {
            continue;
        }
        let size = source.header(id)?.map_or(0, |(_, size)| size);
        let bytes = match usize::try_from(size).is_ok_and(|size| POINTER_SIZES.contains(&size)) {
            true => source.read(id, ObjectType::Blob)?.unwrap_or_default(),
            false => Vec::new(),
        };
        match LargeFilePointer::parse(&bytes) {
            Some(pointer) if known.contains(&pointer) => {}
            Some(_) => refused.push((path.clone(), NEW_CONTENT)),
            // An empty file has no pointer.
            None if size > 0 && before.contains_key(Path::new(path)) => {
                refused.push((path.clone(), AS_IT_IS))
            }
            None => {}
        }
    }
    Ok(refused)
}
