//! Layers become a folder: read as data, checked in whole before the first file is made, and kept inside the folder.
//!
//! May know: archives and the file system below one folder. Must never know: registries, whole images.
//!
//! A layer is hostile until its digest says otherwise, and after that it is what somebody published. It is read twice:
//! [`scan`] computes its digest, counts, and gathers what it removes; [`apply`] removes that, then adds the rest. So
//! a layer's removals concern the layers below only, in whatever order they stand, and nothing is made of a layer
//! that breaks off, lies or is too large.

mod archive;
mod compression;
mod path;
mod tree;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tar::{Entry, EntryType};

use crate::reference::{ImageDigest, shown};
use crate::settings::ImageLimits;
use archive::LayerReader;
use path::EntryPath;
pub(crate) use tree::RootTree;

/// What all names of removed files of one layer may take in memory.
const MOST_REMOVED_BYTES: usize = 64 << 20;
const WHITEOUT: &[u8] = b".wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";

/// Why a layer cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LayerProblem {
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    TooLarge(String),
    /// The machine's, not the layer's.
    #[error(transparent)]
    Machine(#[from] io::Error),
    #[error("stopped")]
    Stopped,
}

impl From<rustix::io::Errno> for LayerProblem {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Machine(error.into())
    }
}

/// What all layers of one image have taken so far.
#[derive(Debug)]
pub(crate) struct LayerCounts {
    limits: ImageLimits,
    bytes: AtomicU64,
    entries: AtomicU64,
}

/// A layer that was read to its end and is what it should be.
#[derive(Debug)]
pub(crate) struct ScannedLayer {
    /// Of the archive.
    pub(crate) bytes: u64,
    removals: Vec<LayerRemoval>,
}

#[derive(Debug)]
enum LayerRemoval {
    /// One name of the layers below.
    Name { parent: EntryPath, name: Vec<u8> },
    /// Everything that the layers below have in this folder.
    Contents(EntryPath),
}

impl LayerCounts {
    pub(crate) fn new(limits: ImageLimits) -> Self {
        Self { limits, bytes: AtomicU64::new(0), entries: AtomicU64::new(0) }
    }

    fn add_bytes(&self, more: u64) -> Result<(), LayerProblem> {
        let most = self.limits.unpacked_bytes;
        if self.bytes.fetch_add(more, Ordering::Relaxed).saturating_add(more) > most {
            let what = format!("its layers unpack to more than the {most} bytes that are allowed");
            return Err(LayerProblem::TooLarge(what));
        }
        Ok(())
    }

    fn add_entry(&self, size: u64) -> Result<(), LayerProblem> {
        let (most, largest) = (self.limits.entries, self.limits.file_bytes);
        if self.entries.fetch_add(1, Ordering::Relaxed) >= most {
            let what = format!("it has more than the {most} files, folders and links that are allowed");
            return Err(LayerProblem::TooLarge(what));
        }
        if size > largest {
            let what = format!("it has a file of {size} bytes, at most {largest} are allowed");
            return Err(LayerProblem::TooLarge(what));
        }
        Ok(())
    }
}

/// Reads a layer to its end and tells whether it is the one with this digest.
pub(crate) fn scan(
    layer: &Path,
    diff_id: &ImageDigest,
    counts: &LayerCounts,
    stop: &AtomicBool,
) -> Result<ScannedLayer, LayerProblem> {
    let mut removals = Vec::new();
    let mut removed_bytes = 0_usize;
    let mut reader = LayerReader::new(File::open(layer)?, stop, Some(counts))?;
    reader.for_each(&mut |entry| {
        counts.add_entry(entry.size())?;
        if entry.header().entry_type() == EntryType::GNUSparse {
            // Its holes do not stand in the archive and are written all the same.
            counts.add_bytes(entry.size())?;
        }
        let path = EntryPath::parse(&entry.path_bytes())?;
        if let Some(removal) = removal(&path)? {
            removed_bytes = removed_bytes.saturating_add(removal.len());
            if removed_bytes > MOST_REMOVED_BYTES {
                return Err(LayerProblem::Refused("a layer removes more files than images have".to_owned()));
            }
            removals.push(removal);
        }
        Ok(())
    })?;
    let (bytes, found) = reader.finish()?;
    if found != *diff_id {
        return Err(LayerProblem::Refused(format!(
            "a layer is not the one that its configuration names ({found} instead of {diff_id})"
        )));
    }
    Ok(ScannedLayer { bytes, removals })
}

/// Lays a scanned layer over what is there. Tells how many bytes of the archive were read since it was last called.
pub(crate) fn apply(
    layer: &Path,
    scanned: &ScannedLayer,
    tree: &mut RootTree,
    stop: &AtomicBool,
    read: &dyn Fn(u64),
) -> Result<(), LayerProblem> {
    for removal in &scanned.removals {
        let name = removal.describe();
        match removal {
            LayerRemoval::Name { parent, name } => tree.remove(parent, name),
            LayerRemoval::Contents(folder) => tree.remove_contents(folder),
        }
        .map_err(|problem| about(problem, &name))?;
    }
    let mut reader = LayerReader::new(File::open(layer)?, stop, None)?;
    let mut told = 0;
    reader.for_each(&mut |entry| {
        let position = entry.raw_file_position();
        read(position.saturating_sub(told));
        told = told.max(position);
        let name = entry.path_bytes().into_owned();
        add(tree, entry).map_err(|problem| about(problem, &String::from_utf8_lossy(&name)))
    })?;
    read(scanned.bytes.saturating_sub(told));
    Ok(())
}

fn about(problem: LayerProblem, name: &str) -> LayerProblem {
    match problem {
        LayerProblem::Refused(reason) => LayerProblem::Refused(format!("`{}` in it {reason}", shown(name))),
        other @ (LayerProblem::TooLarge(_) | LayerProblem::Machine(_) | LayerProblem::Stopped) => other,
    }
}

fn add(tree: &mut RootTree, entry: &mut Entry<'_, impl io::Read>) -> Result<(), LayerProblem> {
    let path = EntryPath::parse(&entry.path_bytes())?;
    if is_special(&path) {
        return Ok(());
    }
    let header = entry.header();
    let mode = header.mode().unwrap_or(0o755);
    let modified = header.mtime().unwrap_or(0);
    match header.entry_type() {
        EntryType::Directory => tree.add_folder(&path, mode),
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
            let size = entry.size();
            tree.add_file(&path, mode, modified, size, entry)
        }
        EntryType::Symlink => tree.add_symlink(&path, &link_target(entry)?),
        EntryType::Link => {
            let target = EntryPath::parse(&link_target(entry)?)?;
            tree.add_hard_link(&path, &target)
        }
        // No sandbox lets them be used, and making them needs root.
        EntryType::Char | EntryType::Block | EntryType::Fifo => Ok(()),
        // For all entries that follow: a comment, and times we do not keep.
        EntryType::XGlobalHeader => Ok(()),
        EntryType::GNULongName | EntryType::GNULongLink | EntryType::XHeader => Err(unusual()),
        _ => Err(unusual()),
    }
}

fn unusual() -> LayerProblem {
    LayerProblem::Refused("is of a kind that archives of layers do not have".to_owned())
}

fn link_target(entry: &Entry<'_, impl io::Read>) -> Result<Vec<u8>, LayerProblem> {
    let target = entry.link_name_bytes().map(|target| target.into_owned()).unwrap_or_default();
    if target.is_empty() || target.contains(&0) {
        return Err(LayerProblem::Refused("is a link to nothing".to_owned()));
    }
    Ok(target)
}

/// Whether the entry says something of others rather than being a file.
fn is_special(path: &EntryPath) -> bool {
    path.parts().any(|part| part.starts_with(WHITEOUT))
}

fn removal(path: &EntryPath) -> Result<Option<LayerRemoval>, LayerProblem> {
    let Some((parent, name)) = path.split() else { return Ok(None) };
    if name == OPAQUE {
        return Ok(Some(LayerRemoval::Contents(parent)));
    }
    match name.strip_prefix(WHITEOUT) {
        None => Ok(None),
        // Notes of a storage driver to itself.
        Some(rest) if rest.starts_with(WHITEOUT) => Ok(None),
        Some(b"" | b"." | b"..") => {
            let name = String::from_utf8_lossy(name).into_owned();
            Err(LayerProblem::Refused(format!("`{}` in it removes what no layer can remove", shown(&name))))
        }
        Some(name) => Ok(Some(LayerRemoval::Name { parent, name: name.to_owned() })),
    }
}

impl LayerRemoval {
    fn len(&self) -> usize {
        match self {
            Self::Name { parent, name } => parent.len().saturating_add(name.len()),
            Self::Contents(folder) => folder.len(),
        }
        .saturating_add(64)
    }

    fn describe(&self) -> String {
        match self {
            Self::Name { parent, name } => format!("{parent}/.wh.{}", String::from_utf8_lossy(name)),
            Self::Contents(folder) => format!("{folder}/.wh..wh..opq"),
        }
    }
}
