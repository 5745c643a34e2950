//! Writes merge conflicts into files between markers, so that agents see both sides, and checks that the markers are
//! gone later.
//!
//! libgit2 merges in memory: attributes cannot bring in a work tree, a merge driver or a filter.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use git2::{Delta, ObjectType, Odb, Oid, Repository, Tree};
use git2::{DiffFindOptions, Index, IndexEntry, IndexTime, MergeFileInput, MergeFileOptions};

use super::GitError;
use super::export::MOST_OBJECT;
use super::tree::{EntryMode, find};
use journeyman_order::bounds::MOST_LOOKED_AT;

/// Labels after the markers.
const OURS: &str = "ours";
const THEIRS: &str = "the base branch";
/// A zero within these first bytes marks a file as binary, as in git.
const TOLD_BY: usize = 8_000;

#[derive(Debug, Clone, PartialEq, Eq)]
struct ConflictSide {
    path: Vec<u8>,
    id: Oid,
    mode: u32,
}

/// Conflicting versions of one file. Their paths differ if it was renamed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileConflict {
    before: Option<ConflictSide>,
    ours: Option<ConflictSide>,
    theirs: Option<ConflictSide>,
}

pub(super) struct MergeTrees<'r> {
    /// The merge base; `None` if the histories are unrelated.
    pub(super) before: Option<Tree<'r>>,
    pub(super) ours: Tree<'r>,
    pub(super) theirs: Tree<'r>,
}

/// Settles the conflicts of a merge: texts get both versions between markers, other files keep our version. Returns
/// the tree and the paths to review.
pub(super) fn mark(
    commits: &Repository,
    index: &mut Index,
    trees: &MergeTrees<'_>,
) -> Result<(Oid, BTreeSet<Vec<u8>>), GitError> {
    let mut conflicts = Vec::new();
    for conflict in index.conflicts()? {
        let conflict = conflict?;
        let side = |entry: Option<IndexEntry>| {
            entry.map(|entry| ConflictSide { path: entry.path, id: entry.id, mode: entry.mode })
        };
        conflicts.push(FileConflict {
            before: side(conflict.ancestor),
            ours: side(conflict.our),
            theirs: side(conflict.their),
        });
    }
    for conflict in &conflicts {
        for side in [&conflict.before, &conflict.ours, &conflict.theirs].into_iter().flatten() {
            // It may be gone already, removed with another side.
            drop(index.conflict_remove(path(&side.path)));
        }
    }
    let odb = commits.odb()?;
    let mut paths = BTreeSet::new();
    for conflict in joined(conflicts, commits, trees)? {
        for side in [&conflict.ours, &conflict.theirs, &conflict.before].into_iter().flatten() {
            paths.insert(side.path.clone());
        }
        if let Some(side) = settle(&conflict, &odb)? {
            let lost = in_the_way(index, &side.path);
            // If a file and a folder have the same name, ours stays.
            if conflict.ours.is_some() || lost.is_empty() {
                for path in &lost {
                    index.remove_path(self::path(path))?;
                }
                index.add(&entry(&side))?;
            }
            paths.extend(lost);
        }
    }
    let tree = index.write_tree_to(commits)?;
    Ok((tree, paths))
}

/// Joins the sides of a renamed file, which an index holds under different names.
fn joined(
    conflicts: Vec<FileConflict>,
    commits: &Repository,
    trees: &MergeTrees<'_>,
) -> Result<Vec<FileConflict>, GitError> {
    let alone = |conflict: &FileConflict| conflict.before.is_none();
    if !conflicts.iter().any(alone) {
        return Ok(conflicts);
    }
    let (by_us, by_them) = (renames(commits, trees, &trees.ours)?, renames(commits, trees, &trees.theirs)?);
    let mut by_path: BTreeMap<Vec<u8>, FileConflict> = BTreeMap::new();
    for conflict in conflicts {
        let side = conflict.before.as_ref().or(conflict.ours.as_ref()).or(conflict.theirs.as_ref());
        if let Some(path) = side.map(|side| side.path.clone()) {
            by_path.insert(path, conflict);
        }
    }
    let renamed: Vec<Vec<u8>> =
        by_path.iter().filter(|(_, conflict)| !alone(conflict)).map(|(path, _)| path.clone()).collect();
    for before in renamed {
        let Some(mut conflict) = by_path.remove(&before) else { continue };
        if conflict.ours.is_none()
            && let Some(now) = by_us.get(&before).and_then(|now| by_path.get_mut(now))
        {
            conflict.ours = now.ours.take();
        }
        if conflict.theirs.is_none()
            && let Some(now) = by_them.get(&before).and_then(|now| by_path.get_mut(now))
        {
            conflict.theirs = now.theirs.take();
        }
        by_path.insert(before, conflict);
    }
    let something = |conflict: &FileConflict| {
        conflict.before.is_some() || conflict.ours.is_some() || conflict.theirs.is_some()
    };
    Ok(by_path.into_values().filter(something).collect())
}

/// Renames on one side since the merge base: from, to.
fn renames(
    commits: &Repository,
    trees: &MergeTrees<'_>,
    side: &Tree<'_>,
) -> Result<HashMap<Vec<u8>, Vec<u8>>, GitError> {
    let mut diff = commits.diff_tree_to_tree(trees.before.as_ref(), Some(side), None)?;
    let mut options = DiffFindOptions::new();
    options.renames(true).rename_limit(MOST_LOOKED_AT);
    diff.find_similar(Some(&mut options))?;
    let renamed = diff.deltas().filter(|delta| delta.status() == Delta::Renamed);
    Ok(renamed
        .filter_map(|delta| {
            Some((delta.old_file().path_bytes()?.to_vec(), delta.new_file().path_bytes()?.to_vec()))
        })
        .collect())
}

/// The entry that goes into the tree for a conflict; `None` for no file.
fn settle(conflict: &FileConflict, odb: &Odb<'_>) -> Result<Option<ConflictSide>, GitError> {
    let text = |side: Option<&ConflictSide>| match side {
        Some(side) => text(odb, side),
        None => Ok(Some(Vec::new())),
    };
    let FileConflict { before, ours, theirs } = conflict;
    let (before_text, our_text, their_text) =
        (text(before.as_ref())?, text(ours.as_ref())?, text(theirs.as_ref())?);
    // Only one side has it and it is new, so there is nothing to merge: it is in the way of a path of the other side.
    let lone = before.is_none() && (ours.is_none() || theirs.is_none());
    let (Some(before_text), Some(our_text), Some(their_text), false) =
        (before_text, our_text, their_text, lone)
    else {
        return Ok(ours.clone());
    };
    let content = match (ours, theirs) {
        (Some(_), Some(_)) => merged(&before_text, &our_text, &their_text)?,
        (Some(_), None) | (None, Some(_)) => against_nothing(&our_text, &their_text),
        (None, None) => return Ok(None),
    };
    let Some(place) = ours.as_ref().or(theirs.as_ref()) else { return Ok(None) };
    let was = before.as_ref().map(|side| side.mode);
    // A change of the executable bit was deliberate.
    let mode = theirs.as_ref().map(|side| side.mode).filter(|_| was == Some(place.mode));
    let id = odb.write(ObjectType::Blob, &content)?;
    Ok(Some(ConflictSide { path: place.path.clone(), id, mode: mode.unwrap_or(place.mode) }))
}

/// Both versions, with markers where they conflict.
fn merged(before: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Vec<u8>, GitError> {
    let input = |content| {
        let mut input = MergeFileInput::new();
        input.content(content);
        input
    };
    let (before, ours, theirs) = (input(before), input(ours), input(theirs));
    let mut options = MergeFileOptions::new();
    options.our_label(OURS).their_label(THEIRS).style_standard(true);
    Ok(git2::merge_file(&before, &ours, &theirs, Some(&mut options))?.content().to_vec())
}

/// Markers for a file that one side changed and the other deleted.
fn against_nothing(ours: &[u8], theirs: &[u8]) -> Vec<u8> {
    let mut content = format!("<<<<<<< {OURS}\n").into_bytes();
    for (side, end) in [(ours, "=======\n".to_owned()), (theirs, format!(">>>>>>> {THEIRS}\n"))] {
        content.extend_from_slice(side);
        if !side.is_empty() && !side.ends_with(b"\n") {
            content.push(b'\n');
        }
        content.extend_from_slice(end.as_bytes());
    }
    content
}

/// A side's bytes, if it is a text file.
fn text(odb: &Odb<'_>, side: &ConflictSide) -> Result<Option<Vec<u8>>, GitError> {
    if !matches!(side.mode, 0o100_644 | 0o100_755 | 0o100_664) {
        return Ok(None);
    }
    let (size, kind) = odb.read_header(side.id)?;
    if kind != ObjectType::Blob || size as u64 > MOST_OBJECT {
        return Ok(None);
    }
    let bytes = odb.read(side.id)?.data().to_vec();
    Ok((!bytes.iter().take(TOLD_BY).any(|byte| *byte == 0)).then_some(bytes))
}

/// Files of the merge that collide with this path: inside a folder of its name, or named like one of its folders.
fn in_the_way(index: &Index, path: &[u8]) -> Vec<Vec<u8>> {
    let below = |folder: &[u8], path: &[u8]| {
        path.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/'))
    };
    let all = index.iter().map(|entry| entry.path);
    all.filter(|other| below(path, other) || below(other, path)).collect()
}

fn path(bytes: &[u8]) -> &std::path::Path {
    use std::os::unix::ffi::OsStrExt;
    std::path::Path::new(std::ffi::OsStr::from_bytes(bytes))
}

fn entry(side: &ConflictSide) -> IndexEntry {
    let never = IndexTime::new(0, 0);
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode: side.mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id: side.id,
        flags: 0,
        flags_extended: 0,
        path: side.path.clone(),
    }
}

/// Whether a text contains one of our markers.
pub(super) fn has_markers(text: &[u8]) -> bool {
    let is_marker = |line: &[u8], marker: &[u8], label: &str| {
        line.trim_ascii_end().strip_prefix(marker) == Some(label.as_bytes())
    };
    text.split(|byte| *byte == b'\n')
        .any(|line| is_marker(line, b"<<<<<<< ", OURS) || is_marker(line, b">>>>>>> ", THEIRS))
}

/// Which of these files of a tree contain our markers. The caller reads the objects.
pub(super) fn with_markers<'p>(
    read: impl Fn(Oid, ObjectType) -> Result<Option<Vec<u8>>, GitError>,
    tree: Oid,
    paths: impl Iterator<Item = &'p [u8]>,
) -> Result<Vec<String>, GitError> {
    let mut marked = Vec::new();
    for path in paths {
        let found = find(|folder| read(folder, ObjectType::Tree), tree, path)?;
        if let Some((EntryMode::File | EntryMode::Executable, id)) = found
            && read(id, ObjectType::Blob)?.is_some_and(|text| has_markers(&text))
        {
            marked.push(String::from_utf8_lossy(path).into_owned());
        }
    }
    Ok(marked)
}
